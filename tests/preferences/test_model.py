"""Models of comparisons: the numbers of R, BradleyTerry2, choix, evalica and TMB, both engines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import ordbridge as ob
from ordbridge.preferences.fitting import fit_tied, restricted
from ordbridge.preferences.tied import Comparisons, Tied

ENGINES = [pytest.param("fast"), pytest.param("r", marks=[pytest.mark.needs_r, pytest.mark.slow])]
COLUMNS = {"first": "first", "second": "second"}

# BradleyTerry2 1.1.2, glm, choix 0.4.1, evalica 0.4.2, ordinal 2022.11-16, TMB 1.9.2: log likelihood, B, C, D, position
PLAIN: list[tuple[str, dict[str, Any], float | None, tuple[float, ...], float | None]] = [
    ("y2", {}, -237.3157626, (0.1781801, 0.6641020, -0.4400837), None),
    ("y2", {"position": True}, -235.687614, (0.1885036, 0.6823661, -0.4476326), 0.1987465),
    ("y2", {"position": True, "link": "probit"}, None, (0.1182821, 0.4216605, -0.2730072), None),
    ("y3", {}, -371.9936012, (0.2906483, 0.6437735, -0.3922598), None),
    ("y4", {}, -458.1101647, (0.2685763, 0.6947506, -0.3858323), None),
    ("y5", {}, -561.2849042, (0.3206821, 0.6741923, -0.3655432), None),
    ("y5", {"position": True}, -560.420722, (0.3181925, 0.6751219, -0.3752407), (0.6019740 - 0.3561766) / 2),
]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("outcome", "options", "loglik", "estimates", "position"), PLAIN)
def test_plain_models(
    engine: str, outcome: str, options: dict[str, Any], loglik: float | None, estimates: tuple[float, ...],
    position: float | None, pairs: pd.DataFrame,
) -> None:  # fmt: skip
    fit = ob.prefer(pairs, outcome=outcome, engine=engine, **COLUMNS, **options)
    assert list(fit.coef.values())[1:] == pytest.approx(estimates, abs=2e-7)
    if loglik is not None:
        assert fit.loglik == pytest.approx(loglik, abs=1e-6)
    if position is not None:
        assert fit.terms.to_pylist()[-1]["estimate"] == pytest.approx(position, abs=1e-6)
    assert fit.converged


def test_the_answer_names_the_next_best(pairs: pd.DataFrame) -> None:
    fit = ob.prefer(pairs, outcome="y3", reference="C", engine="fast", **COLUMNS)
    assert fit.answer == "C is preferred most: log odds 0.35 above B."


def test_names_of_the_models(pairs: pd.DataFrame) -> None:
    named = {k: ob.prefer(pairs, outcome=f"y{k}", engine="fast", **COLUMNS).settings["model"] for k in (2, 3, 5)}
    assert named == {2: "Bradley–Terry model", 3: "Rao–Kupper model", 5: "graded Bradley–Terry model"}


def test_tie_width_is_rao_and_kuppers(pairs: pd.DataFrame) -> None:
    fit = ob.prefer(pairs, outcome="y3", engine="fast", **COLUMNS)
    assert fit.terms["estimate"][0].as_py() == pytest.approx(0.4775870, abs=1e-6)


@pytest.mark.parametrize("engine", ENGINES)
def test_random_slopes(engine: str, pairs: pd.DataFrame) -> None:
    one = ob.prefer(pairs, outcome="y5", rater="rater", random="slopes", engine=engine, **COLUMNS)
    assert one.loglik == pytest.approx(-549.405549, abs=1e-6)
    assert list(one.coef.values())[1:] == pytest.approx((0.4117559, 0.8722321, -0.3241084), abs=1e-5)
    two = ob.prefer(pairs, outcome="y3", rater="rater", item="item", random="slopes", engine=engine, **COLUMNS)
    assert two.loglik == pytest.approx(-360.412593, abs=1e-6)
    assert list(two.coef.values())[1:] == pytest.approx((0.39739, 0.87226, -0.39508), abs=2e-5)


def test_tied_variances_as_in_tmb(pairs: pd.DataFrame) -> None:
    fit = ob.prefer(pairs, outcome="y5", rater="rater", item="item", random="tied", engine="fast", **COLUMNS)
    assert fit.loglik == pytest.approx(-546.9765979, abs=1e-7)
    assert list(fit.coef.values())[1:] == pytest.approx((0.4497470, 0.9190583, -0.3578672), abs=2e-6)
    assert fit.variances["std_dev"].to_pylist() == pytest.approx((0.4977065, 0.4241853), abs=2e-6)
    assert fit.terms["estimate"].to_pylist() == pytest.approx((0.5536543, 2.1376924), abs=2e-6)


def coded(pairs: pd.DataFrame, outcome: str, categories: int, **options: Any) -> Comparisons:
    names = {name: k for k, name in enumerate("ABCD")}
    groups = tuple(pd.factorize(pairs[name])[0] for name in ("rater", "item"))
    first, second = (pairs[name].map(names).to_numpy() for name in ("first", "second"))
    return Comparisons(first, second, pairs[outcome].to_numpy() - 1, categories, 4, groups, **options)


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("integrate", [False, True])
def test_gradient_is_that_of_the_likelihood(integrate: bool, link: str, pairs: pd.DataFrame) -> None:
    low, high = np.minimum(pairs["first"], pairs["second"]), np.maximum(pairs["first"], pairs["second"])
    extra = np.where((low == "A") & (high == "B"), 0, np.where(low == "C", 1, -1))
    data = coded(pairs, "y5", 5, position=True, link=link, extra=extra)
    model = Tied(data, integrate, penalty=0.3, widest=1.5)
    x = np.linspace(-0.6, 0.5, model.size)
    h = 1e-5
    slopes = [(model.mode(x + step, False).value - model.mode(x - step, False).value) / (2 * h)
              for step in h * np.eye(model.size)]  # fmt: skip
    assert model.mode(x).gradient == pytest.approx(slopes, rel=1e-5, abs=1e-5)


def test_tied_with_two_systems_is_a_random_slope(pairs: pd.DataFrame) -> None:
    """Of two systems the difference alone varies, with √2 times the SD: the native clmm must agree."""
    two = pairs[pairs["first"].isin(["A", "B"]) & pairs["second"].isin(["A", "B"])]
    options = {"outcome": "y3", "rater": "rater", "item": "item", "engine": "fast", **COLUMNS}
    tied, slopes = (ob.prefer(two, random=kind, **options) for kind in ("tied", "slopes"))
    assert tied.loglik == pytest.approx(slopes.loglik, abs=1e-5)
    assert tied.coef["B"] == pytest.approx(slopes.coef["B"], abs=1e-3)


def test_nothing_random_is_the_plain_model(pairs: pd.DataFrame) -> None:
    data = coded(pairs, "y3", 3)
    plain = fit_tied(Comparisons(data.first, data.second, data.y, 3, 4))
    assert plain.loglik == pytest.approx(-371.9936012, abs=1e-6)


def test_restricted_variances_are_larger(pairs: pd.DataFrame) -> None:
    data = coded(pairs, "y5", 5)
    assert (restricted(data).sd > fit_tied(data).sd).all()


def _errors(covariance: np.ndarray) -> list[float]:
    return np.sqrt(np.diag(covariance)).tolist()


@pytest.mark.slow
def test_arena_as_in_tmb(folder: Path) -> None:
    """8,931 votes on 59 systems; TMB needed 340 s for the same optimum."""
    votes = pd.read_csv(folder / "llmfao_crowd_pairs.csv")
    names = pd.read_csv(folder / "llmfao_systems.csv")["system"]
    table = pd.read_csv(folder / "scores_llmfao.csv").set_index("system")
    scores = table["score"]
    fit = ob.prefer(votes, outcome="y3", rater="rater", item="item", engine="fast", **COLUMNS)
    found = pd.Series({names[int(name)]: value for name, value in fit.coef.items()})
    assert (found - found.mean() - scores).abs().max() < 2e-4
    assert fit.variances["std_dev"].to_pylist() == pytest.approx([0.788, 0.914], abs=1e-3)
    V = np.asarray(fit.covariance)
    centred = np.eye(59) - 1 / 59
    own = {
        names[int(name)]: error for name, error in zip(sorted(fit.coef), _errors(centred @ V @ centred), strict=True)
    }
    assert (pd.Series(own) / table["se"]).to_numpy() == pytest.approx(1.0, abs=2e-3)
    by_code = np.array([fit.coef[name] for name in sorted(fit.coef)])
    a, b = np.triu_indices(59, 1)
    z = (by_code[a] - by_code[b]) / np.sqrt(V[a, a] + V[b, b] - 2 * V[a, b])
    assert (2 * stats.norm.sf(np.abs(z)) * len(a) < 0.05).sum() == 118  # Bonferroni; TMB's Wald tests say the same


@pytest.mark.parametrize("engine", ENGINES)
def test_asset_one_system_always_first(engine: str, folder: Path) -> None:
    """Columns add up to a constant, for which ordinal drops a system: mirrored rows do not."""
    table = pd.read_csv(folder / "asset_pairs.csv")
    scores = pd.read_csv(folder / "scores_asset.csv")
    for row in scores.itertuples():
        mine = table[(table["aspect"] == row.aspect) & (table["second"] == row.other)]
        options = {"outcome": "y3", "reference": row.other, "engine": engine, **COLUMNS}
        plain = ob.prefer(mine, random="none", **options)
        assert plain.coef["asset"] == pytest.approx(row.naive, abs=1e-5)
        mixed = ob.prefer(mine, rater="rater", random="slopes", **options)
        assert mixed.loglik == pytest.approx(row.random_ll, abs=1e-5)
        assert mixed.coef["asset"] == pytest.approx(row.random, abs=1e-4)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"plus": [5, 1]}, "no such column"),
        ({"block": [1, 0]}, "sorted by block"),
        ({"rest_column": [3, 0]}, "no such column in the rest"),
        ({"minus": [1]}, "different numbers of rows"),
    ],
)
def test_the_core_checks_what_it_gets(changed: dict[str, list[int]], sentence: str) -> None:
    from ordbridge import _core

    given = {"block": [0, 1], "plus": [0, 2], "minus": [1, 3], "rest_column": [0, -1]} | changed
    arrays = {name: np.array(value, dtype=np.int64) for name, value in given.items()}
    with pytest.raises(ValueError, match=sentence):
        _core.TiedSolver(**arrays, rest_value=np.ones(2), own=4, rest=1, random_rest=0)
