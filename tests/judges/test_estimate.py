"""Prediction-powered estimates: ppi_python's interval, clusters by hand, coverage, and a judge who tells nothing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import ordbridge as ob
from ordbridge.errors import InputError
from ordbridge.judges.crossed import Crossed
from ordbridge.results import has


def independent(n, N, slope, seed):
    rng = np.random.default_rng(seed)
    quality = rng.normal(3, 1, n + N)
    people = quality[:n] + rng.normal(scale=0.5, size=n)
    judge = slope * quality + rng.normal(scale=0.7, size=n + N)
    table = {
        "item": [*range(n), *range(n + N)],
        "participant": [*map(str, range(n)), *["gpt"] * (n + N)],
        "rating": [*people, *judge],
        "kind": ["human"] * n + ["judge"] * (n + N),
    }
    return table, people, judge


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "N", "slope"), [(30, 200, 1.0), (15, 400, 0.3), (80, 60, 2.0), (50, 100, -1.0), (40, 90, 0)]
)
def test_the_interval_of_independent_ratings_is_ppi_pythons(n, N, slope):
    ppi_py = pytest.importorskip("ppi_py")
    for one_person in (False, True):
        table, people, judge = independent(n, N, slope, seed=n)
        if one_person:
            table["participant"] = ["a"] * n + ["gpt"] * (n + N)
        for level in (0.8, 0.95):
            row = ob.judges.estimate(table, conf_level=level).means.to_pylist()[0]
            low, high = ppi_py.ppi_mean_ci(people, judge[:n], judge[n:], alpha=1 - level)
            assert (row["conf_low"], row["conf_high"]) == pytest.approx((low[0], high[0]), abs=1e-12)
            classical = ppi_py.classical_mean_ci(people, alpha=1 - level)
            assert (row["people_low"], row["people_high"]) == pytest.approx(classical, abs=1e-12)


def test_a_choice_that_is_not_random_is_told_by_welchs_t():
    """Of 4 texts that people rated and 5 others: noted from three standard errors on, those of Welch's t test."""
    rng = np.random.default_rng(4)
    labelled, others = rng.normal(size=4), rng.normal(size=5)
    apart = others.mean() - labelled.mean() + 3 * np.sqrt(stats.sem(labelled) ** 2 + stats.sem(others) ** 2)
    for shift in (apart - 1e-6, apart + 1e-6):
        judge = np.concatenate([labelled + shift, others])
        table = {
            "item": [*range(4), *range(9)],
            "participant": [*"abcd", *["gpt"] * 9],
            "rating": [*rng.normal(size=4), *judge],
            "kind": ["human"] * 4 + ["judge"] * 9,
        }
        noted = has(ob.judges.estimate(table).findings, "texts-not-random")
        assert noted == (stats.ttest_ind(judge[:4], judge[4:], equal_var=False).statistic > 3)


def crossed(items=120, by_people=40, people=5, kind="good", seed=1):
    rng = np.random.default_rng(seed)
    severity = 0.4 * rng.normal(size=people)
    rows = []
    for item in range(items):
        shared = rng.normal()
        for system in range(2):
            quality = shared + 0.4 * system + 0.5 * rng.normal()
            judge = {"good": quality, "biased": quality + 1.5 * system, "adversarial": -quality, "noise": 0.0}[kind]
            rows.append((item, "AB"[system], "gpt", judge + 0.5 * rng.normal(), "judge"))
            if item < by_people:
                rows += [
                    (item, "AB"[system], f"P{p}", quality + severity[p] + 0.7 * rng.normal(), "human")
                    for p in range(people)
                ]
    return pd.DataFrame(rows, columns=["item", "system", "participant", "rating", "kind"])


def test_a_difference_by_hand():
    """People fixed: the estimate is a regression adjustment, and its variance that of sums over items."""
    table = crossed()
    row = ob.judges.estimate(table, raters="fixed").differences.to_pylist()[0]
    people = table[table["kind"] == "human"].groupby(["item", "system"])["rating"].mean().unstack()
    judge = table[table["kind"] == "judge"].pivot(index="item", columns="system", values="rating")
    y = (people["A"] - people["B"]).to_numpy()
    f = (judge["A"] - judge["B"]).to_numpy()
    n, N = 40, 80
    assert row["people_only"] == pytest.approx(y.mean(), abs=1e-12)
    covariance = ((y - y.mean()) * (f[:n] - f[:n].mean())).sum() / n**2
    curvature = ((f[:n] - f[:n].mean()) ** 2).sum() / n**2 + ((f[n:] - f[n:].mean()) ** 2).sum() / N**2
    lam = covariance / curvature
    assert row["weight"] == pytest.approx(lam, rel=1e-9)
    assert row["estimate"] == pytest.approx(y.mean() - lam * (f[:n].mean() - f[n:].mean()), abs=1e-10)
    rest = y - lam * f[:n]
    variance = (
        n / (n - 1) * (((rest - rest.mean()) ** 2).sum() / n**2 + lam**2 * ((f[n:] - f[n:].mean()) ** 2).sum() / N**2)
    )
    from scipy.stats import t

    half = t.ppf(0.975, n - 1) * np.sqrt(variance)
    assert row["conf_high"] - row["conf_low"] == pytest.approx(2 * half, rel=1e-9)


def two_way(x):
    """The variance of the mean of a complete table and Satterthwaite's df, from its analysis of variance."""
    n, m = x.shape
    rows, columns = x.mean(axis=1, keepdims=True), x.mean(axis=0, keepdims=True)
    of_rows, of_columns = m * rows.var(ddof=1), n * columns.var(ddof=1)
    rest = ((x - rows - columns + x.mean()) ** 2).sum() / ((n - 1) * (m - 1))
    variance = of_rows + of_columns - rest
    df = variance**2 / (of_rows**2 / (n - 1) + of_columns**2 / (m - 1) + rest**2 / ((n - 1) * (m - 1)))
    return variance / (n * m), df


def test_people_as_a_sample_by_hand():
    """Of a crossed table: the mean squares of items, plus those of people, less those of the rest."""
    from scipy.stats import t

    table = crossed()
    found = ob.judges.estimate(table, raters="random")
    people = table[table["kind"] == "human"].pivot(index="item", columns=["system", "participant"], values="rating")
    for row, x in (
        (found.means.to_pylist()[0], people["A"].to_numpy()),
        (found.differences.to_pylist()[0], (people["A"] - people["B"]).to_numpy()),
    ):
        variance, df = two_way(x)
        width = 2 * t.ppf(0.975, df) * np.sqrt(variance)
        assert row["people_high"] - row["people_low"] == pytest.approx(width, rel=1e-9)
    expected = 2 * t.sf(abs(row["people_only"]) / np.sqrt(variance), df)
    alone = ob.judges.estimate(table[table["item"] < 40], raters="random").differences.to_pylist()[0]
    assert alone["p_value"] == pytest.approx(expected, rel=1e-9)


def test_components_of_an_incomplete_design_are_unbiased():
    """Means of two random people of eight per text: the estimated variance is on average the true one."""
    rng = np.random.default_rng(4)
    n, m, per = 30, 8, 2
    who = np.array([rng.permutation(m)[:per] for _ in range(n)])
    cluster, person = np.repeat(np.arange(n), per), who.ravel()
    weight = np.full(n * per, 1 / (n * per))
    design = Crossed(weight, cluster, person)
    means, variances = [], []
    for _ in range(4000):
        y = rng.normal(size=n)[cluster] + 0.7 * rng.normal(size=m)[person] + 0.5 * rng.normal(size=n * per)
        means.append(y.mean())
        variances.append(design.spread(weight * (y - y.mean())).unbounded)
    assert np.mean(variances) == pytest.approx(np.var(means), rel=0.07)  # three standard errors of the variance


def test_three_people_as_a_sample_cover():
    """The mean of a system depends on who the three people are; its interval knows how little they tell about that."""
    kept = []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        y = rng.normal(size=(30, 1)) + 0.5 * rng.normal(size=(1, 3)) + 0.8 * rng.normal(size=(30, 3))
        cluster, person = (side.ravel() for side in np.indices(y.shape))
        found = Crossed(np.full(90, 1 / 90), cluster, person).spread((y - y.mean()).ravel() / 90)
        kept.append(abs(y.mean()) <= t_quantile(found.df) * np.sqrt(found.variance))
    assert np.mean(kept) >= 0.9


def t_quantile(df):
    from scipy.stats import t

    return t.ppf(0.975, df)


def ordinal(**how):
    table = crossed(**how)
    return table.assign(rating=np.clip(np.round(3 + table["rating"]), 1, 5).astype(int))


def test_superiority_is_mann_whitneys_and_needs_no_distances():
    from scipy.stats import mannwhitneyu

    table = ordinal()
    row = ob.judges.estimate(table).superiority.to_pylist()[0]
    people = table[table["kind"] == "human"]
    a, b = (people.loc[people["system"] == name, "rating"] for name in "AB")
    assert row["people_only"] == pytest.approx(mannwhitneyu(a, b).statistic / len(a) / len(b), abs=1e-12)
    stretched = table.assign(rating=table["rating"] ** 3)
    again = ob.judges.estimate(stretched).superiority.to_pylist()[0]
    for name in ("estimate", "conf_low", "conf_high", "weight", "p_value"):
        assert again[name] == pytest.approx(row[name], rel=1e-9)
    assert row["conf_low"] < row["estimate"] < row["conf_high"]
    assert (row["p_value"] < 0.05) == (not row["conf_low"] <= 0.5 <= row["conf_high"])


def test_the_error_of_superiority_is_that_of_independent_samples():
    """One rating per text, a person and an item of its own: Brunner & Munzel's standard error, up to n / (n - 1)."""
    rng = np.random.default_rng(8)
    n = 60
    a, b = rng.integers(1, 5, n), rng.integers(1, 6, n)
    table = {
        "item": np.tile(np.arange(2 * n), 2),
        "system": np.tile(np.repeat(["A", "B"], n), 2),
        "participant": [*(f"P{k}" for k in range(2 * n)), *["gpt"] * (2 * n)],
        "rating": np.concatenate([a, b, rng.integers(1, 6, 2 * n)]),
        "kind": ["human"] * (2 * n) + ["judge"] * (2 * n),
    }
    from scipy.stats import t

    row = ob.judges.estimate(table, raters="fixed").superiority.to_pylist()[0]
    beats = (a[:, None] > b) + 0.5 * (a[:, None] == b)
    variance = beats.mean(axis=1).var() / n + beats.mean(axis=0).var() / n
    expected = 2 * t.ppf(0.975, 2 * n - 1) * np.sqrt(variance * 2 * n / (2 * n - 1))
    assert row["people_high"] - row["people_low"] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("kind", ["good", "biased", "adversarial", "noise"])
def test_never_wider_than_people_alone_and_unbiased(kind):
    off = []
    for seed in range(25):
        row = ob.judges.estimate(crossed(items=80, by_people=25, kind=kind, seed=seed)).differences.to_pylist()[0]
        assert row["conf_high"] - row["conf_low"] <= row["people_high"] - row["people_low"] + 1e-12
        off.append((row["conf_low"] <= -0.4 <= row["conf_high"], row["estimate"] + 0.4))
        if kind == "adversarial":
            assert row["weight"] == 0
    kept, error = np.mean(off, axis=0)
    assert kept >= 0.84
    assert abs(error) < 4 * 0.14 / 5


def test_a_good_judge_is_worth_many_ratings():
    row = ob.judges.estimate(crossed(items=400, by_people=40), raters="fixed").differences.to_pylist()[0]
    assert row["gain"] > 1.3
    assert 0 < row["weight"] < 1.2


def test_shares_of_categories():
    table = ordinal()
    found = ob.judges.estimate(table)
    rows = [row for row in found.categories.to_pylist() if row["system"] == "A"]
    assert [row["at_least"] for row in rows] == ["2", "3", "4", "5"]
    # The mean is one plus the sum of the shares: exactly so for people alone, who have no weight to tune.
    assert 1 + sum(row["people_only"] for row in rows) == pytest.approx(found.means.to_pylist()[0]["people_only"])
    assert all(0 <= row["conf_low"] <= row["conf_high"] <= 1 for row in rows)
    words = table.assign(rating=table["rating"].map(dict(zip(range(1, 6), "vwxyz", strict=True))))
    again = ob.judges.estimate(words, scale=list("vwxyz"))
    assert again.categories["estimate"].to_pylist() == pytest.approx(found.categories["estimate"].to_pylist())


def test_what_is_wrong_is_said():
    table = crossed()
    chosen = table[(table["kind"] == "judge") | (table["rating"] > 0.5)]
    assert has(ob.judges.estimate(chosen).findings, "texts-not-random")
    everything = table[table["item"] < 40]
    found = ob.judges.estimate(everything)
    assert has(found.findings, "judge-adds-nothing")
    assert found.differences["weight"].to_pylist() == [0.0]
    assert "adds nothing" in found.answer
    with pytest.raises(InputError, match="means need numbers"):
        ob.judges.estimate(table.assign(rating=np.where(table["rating"] > 0, "yes", "no")))
    with pytest.raises(InputError, match="no system has 3 texts"):
        ob.judges.estimate(table[(table["kind"] == "judge") | (table["item"] < 2)])


def test_ratings_that_do_not_vary_have_no_p_value():
    table = crossed(items=20, by_people=8)
    row = ob.judges.estimate(table.assign(rating=3)).differences.to_pylist()[0]
    assert (row["estimate"], row["conf_low"], row["p_value"]) == (0.0, None, None)


def test_what_it_saves():
    found = ob.judges.plan(sd=1.0, correlation=0.8, width=0.2, texts=10_000)
    row = found.needed.to_pylist()[0]
    assert row["people_only"] == 385  # (1.96 · 2 / 0.2)²
    variance = (0.1 / 1.959964) ** 2
    assert (
        (1 - 0.64) / row["with_judge"] + 0.64 / 10_000
        <= variance
        < (1 - 0.64) / (row["with_judge"] - 1) + 0.64 / 10_000
    )
    power = ob.judges.plan(sd=1.0, correlation=0.8, effect=0.2, texts=10_000).needed.to_pylist()[0]
    assert power["people_only"] == 197  # ((1.96 + 0.84) / 0.2)²
    cheap = ob.judges.plan(sd=1.0, correlation=0.8, width=0.2, cost={"human": 1.0, "judge": 0.02}).needed.to_pylist()[0]
    best = min(
        (n * 1.0 + t * 0.02)
        for t in range(50, 5000, 10)
        for n in [np.ceil((1 - 0.64) / (variance - 0.64 / t))]
        if variance > 0.64 / t
    )
    assert cheap["cost_with_judge"] == pytest.approx(best, rel=0.01)
    assert cheap["texts_for_judge"] == pytest.approx(
        np.sqrt(0.64 / 0.02) / np.sqrt(0.36) * cheap["with_judge"], rel=0.02
    )
    assert cheap["cost_saved"] == pytest.approx(cheap["cost_people_only"] - cheap["cost_with_judge"])


def test_a_plan_from_a_pilot_has_the_width_of_a_study_of_that_size():
    table = crossed(items=400, by_people=60)
    row = ob.judges.plan(table, raters="fixed").needed.to_pylist()[0]
    assert row["with_judge_low"] <= row["with_judge"] <= row["with_judge_high"] <= row["people_only"]
    got = ob.judges.estimate(table, raters="fixed").differences.to_pylist()[0]
    # With n texts for people the gain is n / (n that is needed with the judge for the width of people alone), roughly.
    assert row["people_only"] == 300  # 60 texts, 5 ratings each
    assert row["people_only"] / row["with_judge"] == pytest.approx(got["gain"], rel=0.25)
    with pytest.raises(InputError, match="give the ratings of a pilot, or both"):
        ob.judges.plan(width=0.2)
    with pytest.raises(InputError, match="say how many texts the judge can rate"):
        ob.judges.plan(sd=1.0, correlation=0.5, width=0.2)
    with pytest.raises(InputError, match="prices of a rating by"):
        ob.judges.plan(sd=1.0, correlation=0.5, width=0.2, cost={"robot": 1})
