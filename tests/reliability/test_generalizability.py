"""Components of variance against ANOVA, the ICCs and lme4; reliabilities of means against simulation."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import ordbridge as ob
from ordbridge import reliability as rel
from ordbridge.errors import InputError
from ordbridge.reliability.intraclass import mean_squares
from ordbridge.reliability.variance_components import _ends

JUDGES = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]


def simulated(n_items=40, n_raters=8, gaps=0.4, seed=1):
    rng = np.random.default_rng(seed)
    ratings = (
        rng.normal(size=(n_items, 1)) + 0.5 * rng.normal(size=n_raters) + 0.8 * rng.normal(size=(n_items, n_raters))
    )
    return np.where(rng.random(ratings.shape) < gaps, np.nan, np.round(ratings, 3))


def test_complete_data_have_the_components_of_anova_and_the_six_iccs():
    """REML of a balanced design is ANOVA when no component is negative; the optimiser stops at 1e-6 or so."""
    found = rel.generalizability(JUDGES, draws=0)
    b, _, j, e, n, k = mean_squares(np.array(JUDGES, dtype=float))
    variance = dict(
        zip(found.components["component"].to_pylist(), found.components["variance"].to_pylist(), strict=True)
    )
    assert variance["item"] == pytest.approx((b - e) / k, rel=1e-5)
    assert variance["participant"] == pytest.approx((j - e) / n, rel=1e-5)
    assert variance["residual"] == pytest.approx(e, rel=1e-5)
    assert found.of("item", "absolute", 1) == pytest.approx(rel.icc(JUDGES, form="2,1").estimate, abs=1e-6)
    assert found.of("item", "relative", 4) == pytest.approx(rel.icc(JUDGES, form="3,k").estimate, abs=1e-6)
    assert found.icc["form"].to_pylist() == ["1,1", "2,1", "3,1", "1,k", "2,k", "3,k"]
    for form, value in zip(found.icc["form"].to_pylist(), found.icc["estimate"].to_pylist(), strict=True):
        assert value == pytest.approx(rel.icc(JUDGES, form=form).estimate, abs=1e-6)


@pytest.mark.needs_r
def test_gaps_are_no_obstacle_and_lme4_says_the_same():
    ratings = simulated()
    fast = rel.generalizability(ratings, draws=0)
    through_r = rel.generalizability(ratings, draws=0, engine="r")
    assert fast.components["variance"].to_pylist() == pytest.approx(
        through_r.components["variance"].to_pylist(), rel=1e-3
    )
    long = pd.DataFrame(
        [(f"i{i}", f"p{j}", y) for (i, j), y in np.ndenumerate(ratings) if np.isfinite(y)], columns=["i", "p", "y"]
    )
    fit = ob.lmer("y ~ 1 + (1 | i) + (1 | p)", long, engine="fast")
    sds = {row["group"]: row["variance"] for row in fit.varcorr().to_pylist()}
    found = dict(zip(fast.components["component"].to_pylist(), fast.components["variance"].to_pylist(), strict=True))
    assert found["item"] == pytest.approx(sds["i"], rel=1e-6)
    assert found["participant"] == pytest.approx(sds["p"], rel=1e-6)


def test_reliability_of_a_systems_mean_by_simulation():
    """The D-study's formula is the squared correlation of simulated means with the systems' true values."""
    components = {
        "item": 0.5, "participant": 0.4, "system": 0.6, "item:participant": 0.2, "participant:system": 0.3,
        "item:system": 0.4, "residual": 0.7,
    }  # fmt: skip
    table = rel.generalizability(JUDGES, draws=0).components.slice(0, 0)
    table = type(table).from_pylist(
        [{"component": c, "variance": v, "share": 0.0} for c, v in components.items()], table.schema
    )
    found = rel.Generalizability(table, table)
    rng = np.random.default_rng(3)
    n, m, sims = 3, 4, 40_000
    sd = {name: np.sqrt(value) for name, value in components.items()}
    true = sd["system"] * rng.normal(size=sims)
    mean = true + sum(
        sd[name] * rng.normal(size=(sims, number)).mean(axis=1)
        for name, number in (("item:system", m), ("participant:system", n), ("residual", n * m))
    )
    assert found.of("system", "relative", n, m) == pytest.approx(np.corrcoef(true, mean)[0, 1] ** 2, abs=0.01)
    level = sum(
        sd[name] * rng.normal(size=(sims, number)).mean(axis=1)
        for name, number in (("item", m), ("participant", n), ("item:participant", n * m))
    )
    assert found.of("system", "absolute", n, m) == pytest.approx(np.corrcoef(true, mean + level)[0, 1] ** 2, abs=0.01)


def test_systems_and_texts_are_told_apart_and_the_answer_has_an_interval():
    rng = np.random.default_rng(2)
    rows = [
        (f"I{i}", f"S{s}", f"P{p}", s + q + rng.normal(scale=0.7))
        for i, q in enumerate(rng.normal(size=8)) for s in range(4) for p in range(3)
    ]  # fmt: skip
    table = pd.DataFrame(rows, columns=["item", "system", "participant", "rating"])
    found = rel.generalizability(table, draws=30)
    assert set(found.reliability["object"].to_pylist()) == {"system", "text"}
    assert found.answer.startswith("With 5 raters of each text, system means over 8 items have a reliability of .9")
    row = found.reliability.to_pylist()[0]
    assert row["conf_low"] <= row["estimate"] <= row["conf_high"] + 0.05
    grows = [r["estimate"] for r in found.reliability.to_pylist() if (r["object"], r["kind"]) == ("text", "absolute")]
    assert grows == sorted(grows)


def test_latent_components_have_the_logistic_residual():
    ratings = np.clip(np.round(3 + simulated(gaps=0.0)), 1, 5)
    found = rel.generalizability(ratings, model="clmm", draws=0)
    assert found.components.to_pylist()[-1]["variance"] == pytest.approx(np.pi**2 / 3)
    assert 0.2 < found.of("item", "relative", 1) < 0.9


def test_latent_components_are_drawn_and_split_again_by_the_clmm():
    """The draws are ratings in categories: their residual is that of the logit, and their spread the clmm's own."""
    ratings = (simulated(gaps=0.0) > 0).astype(int)
    found = rel.generalizability(ratings, model="clmm", draws=25)
    assert found.draws["residual"].to_pylist() == pytest.approx([np.pi**2 / 3] * 25)
    assert len(set(found.draws["item"].to_pylist())) == 25
    low, high = found.interval("item", "relative", 1)
    assert low < found.of("item", "relative", 1) < high


def test_what_draws_are_off_by_is_taken_off_the_interval():
    """On the scale of log F: draws 0.3 above the estimate put the interval 0.3 below it, with Student's width."""
    size, estimate, n = 4.0, 0.6, 99
    off = np.sqrt(0.04) * stats.norm.ppf(np.arange(1, n + 1) / (n + 1))
    at = np.log1p(size * estimate / (1 - estimate))
    ratio = np.expm1(at + 0.3 + off) / size
    low, high = _ends(estimate, ratio / (1 + ratio), size, 0.9)
    ends = np.log1p(size * np.array([low, high]) / (1 - np.array([low, high])))
    half = stats.t.ppf(0.95, n - 1) * np.sqrt((off**2).mean())
    assert ends == pytest.approx([at - 0.3 - half, at - 0.3 + half], rel=1e-9)


@pytest.mark.parametrize(("n", "k", "ratio"), [(20, 5, 1.5), (60, 3, 0.5), (20, 3, 0.1)])
def test_intervals_keep_their_promise(n, k, ratio):
    """One-way studies need no fit: their F ratio is 1 + kλ times an F variable, and R = λ/(1 + λ) for one rating."""
    rng, size = np.random.default_rng(1), (400, 60)
    df = n - 1, n * (k - 1)
    kept = []
    for f in (1 + k * ratio) * rng.f(*df, size[0]):
        found, drawn = (np.maximum(x - 1, 0) / k for x in (f, max(f, 1) * rng.f(*df, size[1])))
        low, high = _ends(found / (1 + found), drawn / (1 + drawn), k, 0.95)
        kept.append(low <= ratio / (1 + ratio) <= high)
    assert np.mean(kept) >= 0.92


def test_a_rating_for_each_text_leaves_out_the_one_way_form():
    rng = np.random.default_rng(5)
    rows = [(i, (i + p) % 4, p, (i + p) % 4 + rng.normal()) for i in range(16) for p in range(8) if (i + p) % 2 == 0]
    table = pd.DataFrame(rows, columns=["item", "system", "participant", "rating"])
    table = table.drop_duplicates(["item", "system"])
    found = rel.generalizability(table, draws=0)
    assert found.icc["form"].to_pylist() == ["2,1", "3,1", "2,k", "3,k"]


def test_a_plan_reaches_the_reliability_that_it_is_asked_for():
    rng = np.random.default_rng(7)
    quality, level = rng.normal(size=(12, 4)), rng.normal(scale=0.5, size=4)
    rows = [
        (f"I{i}", f"S{s}", f"P{p}", round(level[s] + quality[i, s] + rng.normal(scale=0.9), 2))
        for i in range(12) for s in range(4) for p in range(3)
    ]  # fmt: skip
    table = pd.DataFrame(rows, columns=["item", "system", "participant", "rating"])
    found = rel.plan(table, 0.85, items=[10, 40, 160], draws=0)
    best = found.recommended
    assert found.components.of("system", "relative", best["ratings_per_text"], best["items"]) >= 0.85
    assert best["ratings"] == best["items"] * 4 * best["ratings_per_text"]
    assert best["ratings"] == min(row["ratings"] for row in found.designs.to_pylist() if row["reaches"])
    assert f"with {best['items']} items and {best['ratings_per_text']} rating" in found.answer
    nothing = rel.plan(table, 0.999, items=[2], draws=0)
    assert nothing.recommended is None
    assert nothing.answer.startswith(
        "No design that was tried reaches 0.999. At most a system's mean has a reliability of"
    )
    with pytest.raises(InputError, match="no systems to tell apart"):
        rel.plan(JUDGES, 0.8, what="system")
