"""``fit.check_laplace()``: importance sampling against quadrature, for one factor and for two crossed ones."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.stats import norm

import ordbridge as ob
from ordbridge.errors import InputError
from ordbridge.fast.clmm import laplace_objective
from ordbridge.fast.factors import Layout
from ordbridge.fast.laplace_shift import Draws, standard_error
from ordbridge.fast.ratings import Responses
from ordbridge.fast.structure import Structure


def one_factor() -> pd.DataFrame:
    """Return four ratings of each of 40 texts, half of them of each system."""
    random = np.random.default_rng(8)
    text = np.repeat(np.arange(40), 4)
    latent = 0.8 * (text % 2) + 1.5 * random.normal(size=40)[text] + random.logistic(size=160)
    return pd.DataFrame({"rating": np.digitize(latent, [-1, 0.5, 2]), "system": text % 2, "text": text})


def test_one_factor_as_by_quadrature() -> None:
    """The shift and the change of the standard error are of first order: a tenth of themselves beside the draws."""
    data = one_factor()
    fit = ob.clmm("rating ~ system + (1 | text)", data, engine="fast")
    exact = ob.clmm("rating ~ system + (1 | text)", data, nAGQ=30, engine="fast").estimates
    found = fit.check_laplace(draws=4000)
    e, [row] = fit.estimates, found.table.to_pylist()
    moved, wider = exact.estimate[-1] - e.estimate[-1], exact.std_error[-1] - e.std_error[-1]
    assert abs(moved) > 5 * row["shift_mc_error"] and abs(wider) > 5 * row["std_error_shift_mc_error"]
    assert row["shift"] == pytest.approx(moved, abs=4 * row["shift_mc_error"] + 0.1 * abs(moved))
    assert row["std_error_shift"] == pytest.approx(wider, abs=4 * row["std_error_shift_mc_error"] + 0.1 * abs(wider))
    z = (row["estimate"] + row["shift"]) / (row["std_error"] + row["std_error_shift"])
    assert row["exact_p_value"] == pytest.approx(2 * norm.sf(abs(z)), rel=1e-9)
    assert found.draws == 4000 and 1000 < found.effective_draws <= 4000


@pytest.mark.slow
def test_crossed_factors_as_by_a_sum_over_a_grid() -> None:
    """Three levels of one factor and three of another: six integrals, 25 points each."""
    random = np.random.default_rng(1)
    participant, item = (index.ravel() for index in np.indices((3, 3)))
    y, x = random.integers(0, 3, 9), random.normal(size=(9, 1))
    y[:3] = 0, 1, 2
    structure = Structure.build([participant, item], [np.ones((9, 1))] * 2)
    layout = Layout.build(structure, [(1,), (1,)])
    rows = Responses.plain(y, x, 2, "probit", "flexible").ordered(structure.order)
    laplace = laplace_objective(rows, structure, layout)
    laplace.closeness = 1e-7
    sd = 1.3
    parameters = np.array([-0.5, 0.6, 0.4, sd, sd])
    draws = Draws(laplace, parameters, 20_000, 0)
    nodes, weights = np.polynomial.hermite_e.hermegauss(25)
    weights = weights / weights.sum()
    edges = np.array([-np.inf, -0.5, 0.6, np.inf])
    u = np.array(list(itertools.product(nodes, repeat=3)))  # of the participants; given these, items are independent
    eta = 0.4 * x[:, 0] + sd * u[:, participant]
    eta = eta[:, :, None] + sd * nodes
    probability = norm.cdf(edges[y + 1][:, None] - eta) - norm.cdf(edges[y][:, None] - eta)
    of_items = [np.prod(probability[:, item == i], axis=1) @ weights for i in range(3)]
    w = np.prod(np.array(list(itertools.product(weights, repeat=3))), axis=1)
    likelihood = np.prod(of_items, axis=0)
    error = np.log(w @ likelihood) + laplace(parameters)[0]
    assert standard_error(draws.influence) < 0.002 < abs(error) / 5
    assert draws.total == pytest.approx(error, abs=4 * standard_error(draws.influence))


@pytest.mark.slow
def test_parts_that_are_not_connected_have_weights_of_their_own(ratings: pd.DataFrame) -> None:
    """The same study twice, with other names: twice what is missing in the log likelihood, in two parts."""
    twice = pd.concat(
        [
            ratings,
            ratings.assign(
                participant="x" + ratings["participant"].astype(str), item="x" + ratings["item"].astype(str)
            ),
        ]
    )
    formula = "rating ~ system + (1 | participant) + (1 | item)"
    one, two = (
        ob.clmm(formula, table, link="probit", engine="fast").check_laplace(draws=4000) for table in (ratings, twice)
    )
    assert two.loglik_error == pytest.approx(2 * one.loglik_error, abs=5 * two.loglik_mc_error)
    assert two.effective_draws > 0.8 * one.effective_draws


def test_the_same_seed_gives_the_same_answer_in_words_and_numbers(ratings: pd.DataFrame) -> None:
    fit = ob.clmm("rating ~ system + (1 | participant) + (1 | item)", ratings, link="probit", engine="fast")
    one, same, other = (fit.check_laplace(draws=400, seed=seed) for seed in (1, 1, 2))
    assert one.table.equals(same.table) and not one.table.equals(other.table)
    assert isinstance(one.table, pa.Table)
    [sentence] = one.sentences
    assert sentence.startswith("systemB: the exact likelihood has its maximum ") and "standard errors (± " in sentence
    assert str(one) == sentence


def test_a_term_in_location_and_in_scale_has_two_names(ratings: pd.DataFrame) -> None:
    fit = ob.clmm("rating ~ system + (1 | participant)", ratings, scale="~ system", engine="fast")
    found = fit.check_laplace(draws=40)
    named = [sentence.partition(": the ")[0] for sentence in found.sentences if ": the " in sentence]
    assert named == ["systemB", "scale: systemB"]
    assert found.table["effect"].to_pylist() == ["fixed", "scale"]


def test_few_effective_draws_are_said() -> None:
    """Raters who nearly always agree: the normal density around the mode is a bad one."""
    random = np.random.default_rng(1)
    text = np.repeat(np.arange(40), 3)
    latent = 12 * random.normal(size=40)[text] + random.normal(size=120)
    data = pd.DataFrame({"rating": np.digitize(latent, [-10, -3, 3, 10]), "system": text % 2, "text": text})
    with pytest.warns(ob.ConvergenceWarning):
        fit = ob.clmm("rating ~ system + (1 | text)", data, link="probit", engine="fast")
    found = fit.check_laplace(draws=60)
    assert found.effective_draws < 60
    assert "are worth" in found.sentences[0]


@pytest.mark.parametrize(
    ("model", "options", "arguments", "words"),
    [
        (ob.lmer, {}, {}, "only clmm uses the Laplace approximation"),
        (ob.clmm, {"nAGQ": 5}, {}, "nothing to check"),
        (ob.clmm, {}, {"draws": 2}, "draws"),
        (ob.clmm, {}, {"seed": -1}, "seed"),
    ],
)
def test_what_cannot_be_checked(model, options: dict, arguments: dict, words: str, ratings: pd.DataFrame) -> None:
    fit = model("rating ~ system + (1 | participant)", ratings, engine="fast", **options)
    with pytest.raises(InputError, match=words):
        fit.check_laplace(**arguments)
