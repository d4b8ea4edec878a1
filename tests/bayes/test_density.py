"""The likelihood and the priors of the Bayesian opinion, without its sampler."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import ordbridge as ob
from ordbridge import _core
from ordbridge.bayes.density import RatedRows, log_below, log_between, log_likelihood, rows_of
from ordbridge.bayes.priors import priors_of
from ordbridge.cli import main
from ordbridge.errors import InputError
from ordbridge.models.inference import laplace_cost
from ordbridge.models.links import LINKS

CROSSED = "rating ~ system * length + (system | participant) + (1 | item)"


@pytest.mark.filterwarnings("ignore::ordbridge.ConvergenceWarning")
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.slow
def test_likelihood_given_random_effects_as_in_the_compiled_core(link: str, ratings: pd.DataFrame) -> None:
    """Any parameters and random effects, weights and an offset; the core has formulas of its own, hence 1e-10."""
    random = np.random.default_rng(3)
    data = ratings.assign(times=random.integers(0, 3, len(ratings)), known=random.normal(size=len(ratings)))
    fit = ob.clmm(CROSSED, data, link=link, weights="times", offset="known", engine="fast")
    rows = rows_of(fit)
    cutpoints, beta = np.array([-1.3, 0.1, 0.9, 2.2]), np.array([0.7, -0.05, 0.02])
    effects = [random.normal(size=(levels, Z.shape[1])) for levels, Z in zip(rows.levels, rows.Z, strict=True)]
    known = rows.offset + sum(
        (Z * b[level]).sum(axis=1) for Z, b, level in zip(rows.Z, effects, rows.level, strict=True)
    )
    core = _core.Ratings(LINKS[link].number, rows.y, rows.X, np.eye(4), weights=rows.weights, offset=known)
    loss, _ = core(np.concatenate([cutpoints, beta]))
    assert len(rows.y) == (data["times"] > 0).sum() and rows.cuts == 4
    assert log_likelihood(rows, cutpoints, rows.X @ beta + known) == pytest.approx(-loss, rel=1e-10)


DISTRIBUTIONS = {
    "logit": stats.logistic,
    "probit": stats.norm,
    "cauchit": stats.cauchy,
    "cloglog": stats.gumbel_l,
    "loglog": stats.gumbel_r,
}


@pytest.mark.parametrize("link", DISTRIBUTIONS)
@pytest.mark.parametrize(("lower", "upper"), [(-0.4, 0.3), (-3.0, -2.5), (2.5, 3.0), (-8.0, 2.0)])
def test_links_as_in_scipy(link: str, lower: float, upper: float) -> None:
    own = DISTRIBUTIONS[link]
    tail = own.sf(lower) - own.sf(upper) if lower > 0 else own.cdf(upper) - own.cdf(lower)
    assert log_between(link, upper, lower) == pytest.approx(np.log(tail), rel=1e-9)
    assert log_below(link, upper) == pytest.approx(own.logcdf(upper), rel=1e-9)


@pytest.mark.parametrize("link", LINKS)
def test_far_away_there_is_still_a_likelihood_and_a_slope(link: str) -> None:
    """The sampler starts anywhere: neither values nor derivatives may be infinite or not numbers."""
    jax = pytest.importorskip("jax", reason="needs pip install 'ordbridge[bayes]'")
    rows = RatedRows(link, np.arange(3), 2, np.empty((3, 0)), (), (), (), np.ones(3), np.zeros(3))
    with jax.enable_x64(True):
        slope = jax.grad(lambda eta: log_likelihood(rows, np.array([-1.0, 1.0]), eta, jax.numpy))
        for eta in (-6.0, -4.0, 0.0, 4.0, 6.0):
            here = jax.numpy.full(3, eta)
            value, change = log_likelihood(rows, np.array([-1.0, 1.0]), here, jax.numpy), np.asarray(slope(here))
            assert float(value) == pytest.approx(
                log_likelihood(rows, np.array([-1.0, 1.0]), np.full(3, eta)), rel=1e-10
            )
            step = np.eye(3) * 1e-5
            moved = [log_likelihood(rows, np.array([-1.0, 1.0]), eta + s) for s in (step[0], step[1], step[2])]
            back = [log_likelihood(rows, np.array([-1.0, 1.0]), eta - s) for s in (step[0], step[1], step[2])]
            assert change == pytest.approx((np.array(moved) - back) / 2e-5, rel=1e-4, abs=1e-4)


def test_priors_do_not_depend_on_units(ratings: pd.DataFrame) -> None:
    """With a predictor in other units the prior of its effect has these units, and the others stay."""
    formula = "rating ~ system + length + (0 + length | participant)"
    one, other = (
        priors_of(rows_of(ob.clmm(formula, data, engine="fast")))
        for data in (ratings, ratings.assign(length=8 * ratings["length"]))
    )
    assert other.coefficients == pytest.approx(one.coefficients / [1, 8])
    assert other.deviations[0] == pytest.approx(one.deviations[0] / 8)
    assert one.cutpoints == other.cutpoints == pytest.approx(2.5 * stats.logistic.std())


@pytest.mark.parametrize(
    ("model", "options", "words"),
    [
        (ob.lmer, {}, "a third opinion is for clmm and clm"),
        (ob.clmm, {"threshold": "symmetric"}, "needs threshold='flexible'"),
        (ob.clmm, {"scale": "~ system"}, "leave scale= out"),
    ],
)
def test_what_has_no_third_opinion(model, options: dict, words: str, ratings: pd.DataFrame) -> None:
    fit = model("rating ~ system + (1 | participant)", ratings, engine="fast", **options)
    with pytest.raises(InputError, match=words):
        ob.bayes.third_opinion(fit)


def test_without_the_extra_one_sentence_says_what_to_install(ratings: pd.DataFrame, monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(sys.modules, "numpyro", None)
    fit = ob.clm("rating ~ system", ratings, engine="fast")
    with pytest.raises(InputError, match=r"pip install 'ordbridge\[bayes\]'"):
        ob.bayes.third_opinion(fit)
    ratings.to_csv(tmp_path / "ratings.csv")
    command = ["validate", str(tmp_path / "ratings.csv"), "--model", "clm", "--formula", "rating ~ system", "--bayes"]
    assert main(command) == 2
    said = capsys.readouterr()
    assert "pip install 'ordbridge[bayes]'" in said.err and said.err.count("\n") == 1 and not said.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--bayes"], "--bayes needs a file"),
        ([__file__, "--draws", "100"], "--draws is for --bayes"),
    ],
)
def test_options_that_go_together(words: list[str], said: str, capsys) -> None:
    assert main(["validate", *words]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore::ordbridge.ConvergenceWarning")
def test_what_laplace_leaves_out_is_the_same_as_at_the_estimates(ratings: pd.DataFrame) -> None:
    """Two factors, one with two terms; at the estimates fit.check_laplace() has it from the same draws."""
    formula = "rating ~ system + (1 | participant) + (0 + length | participant) + (system | item)"
    fit = ob.clmm(formula, ratings.assign(length=ratings["length"] / 10), link="probit", engine="fast")
    e = fit.estimates
    roots = [np.linalg.cholesky(term.covariance + 1e-14 * np.eye(len(term.terms)))[None] for term in e.random]
    [found] = ob.fast.missing_loglik(fit.problem, e.estimate[None], roots, 200, 5)
    expected = laplace_cost.check_laplace(fit, draws=400, seed=5).loglik_error
    assert found == pytest.approx(expected, abs=1e-5) and abs(found) > 1e-3
