"""What the fast engine refuses, and what it says about fits that should not be trusted blindly."""

from __future__ import annotations

import gc
import time
import warnings

import numpy as np
import pandas as pd
import pytest

import ordbridge as ob
from ordbridge.errors import FitTimeout, InputError
from ordbridge.fast import memory
from ordbridge.fast.factors import Layout
from ordbridge.fast.structure import Structure

REFUSED = [
    (ob.clmm, "rating ~ system + (1 | participant)", {"nAGQ": -5}),
    (ob.lmer, "rating ~ system + (1 | participant)", {"ddf": "Kenward-Roger"}),
]


@pytest.mark.parametrize(("fit", "formula", "options"), REFUSED)
def test_what_it_cannot_do_it_sends_to_r(fit, formula: str, options: dict, ratings: pd.DataFrame) -> None:
    with pytest.raises(InputError, match="use engine='r'"):
        fit(formula, ratings, engine="fast", **options)


def test_too_few_levels_and_too_many_effects_are_refused(ratings: pd.DataFrame) -> None:
    with pytest.raises(InputError, match="has 2 levels; random effects need at least 3"):
        ob.clmm("rating ~ 1 + (1 | system)", ratings, engine="fast")
    with pytest.raises(InputError, match="random effects for 120 observations"):
        ob.lmer("rating ~ 1 + (x | row)", ratings.assign(row=np.arange(120), x=np.arange(120.0)), engine="fast")


def test_no_complete_row(ratings: pd.DataFrame) -> None:
    table = ratings.assign(a=np.where(ratings.index % 2, 1.0, np.nan), b=np.where(ratings.index % 2, np.nan, 2.0))
    table.loc[0, "b"], table.loc[1, "a"] = np.nan, np.nan
    table.loc[3, "a"], table.loc[2, "b"] = 3.0, 4.0
    with pytest.raises(InputError, match="no row is complete"):
        ob.clm("rating ~ a + b", table, engine="fast")


def fit_quietly(*arguments, **options):  # type: ignore[no-untyped-def]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ob.clmm(*arguments, engine="fast", **options)


def texts(fit: ob.Fit) -> str:
    return " | ".join([one.what for one in fit.estimates.findings])


def test_a_variance_at_zero_is_flagged() -> None:
    rng = np.random.default_rng(8)
    table = pd.DataFrame(
        {"rating": rng.integers(1, 5, 120), "x": np.tile([0.0, 1.0], 60), "g": np.repeat(np.arange(10), 12)}
    )
    table["rating"] = np.tile([1, 2, 3, 4, 4, 3, 2, 1, 2, 3, 1, 4], 10)  # every group alike: no variance between them
    with pytest.warns(ob.ConvergenceWarning):
        fit = ob.clmm("rating ~ x + (1 | g)", table, engine="fast")
    assert fit.singular and "boundary (singular) fit" in texts(fit)
    plain = ob.clm("rating ~ x", table, engine="fast")
    assert fit.p_value("x") == pytest.approx(plain.p_value("x"), rel=1e-4)
    assert fit.estimates.loglik == pytest.approx(plain.estimates.loglik, abs=1e-7)


def test_perfect_correlation_is_flagged(ratings: pd.DataFrame) -> None:
    rng = np.random.default_rng(3)
    group = np.repeat(np.arange(12), 10)
    x = np.tile([0.0, 1.0], 60)
    effect = rng.normal(size=12)[group]
    latent = effect * (1 + 2 * x) + rng.normal(0, 1, 120)
    table = pd.DataFrame({"rating": np.digitize(latent, [-1, 0, 1]), "x": x, "g": group})
    fit = fit_quietly("rating ~ x + (x | g)", table, link="probit")
    correlation = fit.varcorr()["correlations"].to_pylist()[1][0]
    assert (abs(correlation) > 0.999) == fit.singular


def test_separation_is_flagged() -> None:
    table = pd.DataFrame({"rating": [1] * 20 + [2] * 20, "x": [0.0] * 20 + [1.0] * 20, "g": np.tile(np.arange(5), 8)})
    with pytest.warns(ob.ConvergenceWarning):
        fit = ob.clmm("rating ~ x + (1 | g)", table, engine="fast")
    assert not fit.converged
    assert "run away" in texts(fit)
    with pytest.warns(ob.ConvergenceWarning):
        plain = ob.clm("rating ~ x", table, engine="fast")
    assert not plain.converged


def test_a_level_with_a_single_category_is_flagged() -> None:
    rng = np.random.default_rng(0)
    system = np.repeat(["A", "B", "C"], 30)
    rating = rng.integers(1, 4, 90)
    rating[system == "C"] = 3
    table = pd.DataFrame({"rating": rating, "system": system, "g": np.tile(np.arange(9), 10)})
    fit = fit_quietly("rating ~ system + (1 | g)", table)
    assert not fit.converged and "run away" in texts(fit)


def test_an_empty_category_between_others_is_said() -> None:
    rng = np.random.default_rng(1)
    rating = rng.choice([1, 2, 4, 5], 100)
    fit = ob.clm("rating ~ x", {"rating": rating, "x": rng.normal(size=100)}, engine="fast")
    assert fit.estimates.levels == ("1", "2", "4", "5")
    assert "no rating is 3" in texts(fit)


def test_a_category_that_only_incomplete_rows_have_drops_out() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=60)
    rating = rng.integers(1, 4, 60)
    rating[:3], x[:3] = 9, np.nan
    fit = ob.clm("rating ~ x", {"rating": rating, "x": x}, engine="fast")
    assert fit.estimates.levels == ("1", "2", "3")
    assert fit.glance()["n_dropped"].to_pylist() == [3]


def test_an_infinite_predictor_is_a_sentence() -> None:
    x = np.r_[0.0, np.arange(1.0, 20.0)]
    with pytest.raises(ob.FitError, match=r"log\(x\) is infinite in row 1"):
        ob.lm("y ~ log(x)", {"y": np.arange(20.0), "x": x}, engine="fast")


def test_a_time_limit_stops_the_fit(ratings: pd.DataFrame) -> None:
    ob.clmm("rating ~ system + (1 | item)", ratings, engine="fast")  # compiled by now
    begun = time.perf_counter()
    with pytest.raises(FitTimeout, match="timeout=1e-06"):
        ob.clmm("rating ~ system + (system | participant) + (1 | item)", ratings, engine="fast", timeout=1e-6)
    assert time.perf_counter() - begun < 2


def test_units_do_not_matter(ratings: pd.DataFrame) -> None:
    base = fit_quietly("rating ~ length + (length | participant)", ratings, link="probit")
    scaled = fit_quietly(
        "rating ~ length + (length | participant)", ratings.assign(length=ratings["length"] * 1e4), link="probit"
    )
    assert scaled.estimates.loglik == pytest.approx(base.estimates.loglik, abs=1e-6)
    assert scaled.p_value("length") == pytest.approx(base.p_value("length"), rel=1e-3)


def test_fits_run_side_by_side_in_threads(ratings: pd.DataFrame) -> None:
    from concurrent.futures import ThreadPoolExecutor

    formula = "rating ~ system + (1 | participant) + (1 | item)"
    alone = ob.clmm(formula, ratings, engine="fast").estimates.loglik
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: ob.clmm(formula, ratings, engine="fast").estimates.loglik, range(8)))
    assert found == [alone] * 8


@pytest.mark.filterwarnings("ignore::ordbridge.ConvergenceWarning")
@pytest.mark.parametrize("model", ["lmer", "clmm"])
def test_a_slope_that_no_item_can_show_is_said_not_to_be_identified(model: str) -> None:
    """No item occurs under both systems, so only the variance of its sum of intercept and slope can be known."""
    random = np.random.default_rng(4)
    item, participant = (g.ravel() for g in np.meshgrid(range(60), range(8), indexing="ij"))
    system = item % 2
    latent = random.normal(0, 1.0, 60)[item] + 0.7 * system * random.normal(size=60)[item] + 0.5 * system
    latent = latent + 0.6 * random.normal(size=8)[participant] + random.normal(size=item.size)
    data = pd.DataFrame({"item": item, "participant": participant, "system": np.array(["A", "B"])[system]})
    data["rating"] = 1 + (latent[:, None] > [-1, 0, 1]).sum(axis=1)
    fit = getattr(ob, model)("rating ~ system + (system | item) + (1 | participant)", data, engine="fast")
    said = " ".join(condition.what for condition in fit.estimates.findings)
    assert "the data do not identify the model" in said and "zero" not in said
    assert not fit.converged and not fit.singular
    smaller = getattr(ob, model)("rating ~ system + (1 | item) + (1 | participant)", data, engine="fast")
    assert smaller.converged and not smaller.estimates.findings


@pytest.mark.filterwarnings("ignore::ordbridge.ConvergenceWarning")
@pytest.mark.parametrize("formula", ["rating ~ system", "rating ~ system + (1 | participant)"])
@pytest.mark.parametrize(
    ("rated", "words"),
    [
        ([1, 2, 3, 2, 5, 5, 5, 5], "system B is always rated 5"),
        ([1, 1, 1, 1, 2, 5, 3, 1], "system A is always rated 1"),
        ([1, 2, 2, 1, 3, 4, 5, 2], "system A is never rated higher than anything else"),
    ],
)
def test_separation_is_named(formula: str, rated: list[int], words: str) -> None:
    data = pd.DataFrame(
        {"rating": rated * 8, "system": list("AAAABBBB") * 8, "participant": [i // 8 for i in range(64)]}
    )
    fit = getattr(ob, "clmm" if "|" in formula else "clm")(formula, data, engine="fast")
    said = [condition.what for condition in fit.estimates.findings]
    assert any(f"estimates run away: {words}" in text for text in said)
    assert not fit.converged


def large_study(levels: int, slopes: int) -> tuple[Structure, Layout]:
    """Every level of two factors meets two of the other, so that all are connected."""
    group = np.repeat(np.arange(levels), 2)
    other = (group + np.tile([0, 1], levels)) % levels
    Z = np.ones((group.size, slopes))
    structure = Structure.build([group, other], [Z, Z])
    return structure, Layout.build(structure, [(slopes,), (slopes,)])


def test_a_model_that_needs_too_much_memory_is_refused_before_it_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_of_the_machine", lambda: 8e9)
    memory.check_memory(*large_study(1000, 1), predictors=2)
    memory.check_memory(*large_study(8000, 1))
    with pytest.raises(ob.InputError, match=r"this model needs about .* GB of memory, more than half of the 8 GB"):
        memory.check_memory(*large_study(20000, 1))
    with pytest.raises(ob.InputError, match="use random effects with fewer columns"):
        memory.check_memory(*large_study(20, 130), predictors=130)
    monkeypatch.setattr(memory, "_of_the_machine", lambda: 1e3)
    data = pd.DataFrame({"y": np.arange(40) % 7, "g": np.arange(40) % 5, "h": np.arange(40) % 4})
    for model in ("lmer", "clmm"):
        with pytest.raises(ob.InputError, match="GB of memory"):
            getattr(ob, model)("y ~ 1 + (1 | g) + (1 | h)", data, engine="fast")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ordbridge.ConvergenceWarning")
def test_designs_of_past_fits_do_not_pile_up() -> None:
    """The last sixteen are kept for fits of the same formula to new ratings; older ones are let go."""

    def alive() -> int:
        gc.collect()
        return sum(isinstance(one, Structure) for one in gc.get_objects())

    data, before = pd.DataFrame({"y": np.arange(40) % 7, "g": np.arange(40) % 5}), alive()  # other tests keep some
    for shift in range(60):
        ob.lmer("y ~ x + (1 | g)", data.assign(x=np.sin(np.arange(40.0) + shift)), engine="fast")
    assert 0 < alive() <= before + 16
