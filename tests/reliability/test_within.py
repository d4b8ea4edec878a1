"""Stability from repeated ratings, accuracy against a gold standard."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from ordbridge import reliability as rel
from ordbridge.errors import InputError


def rated_twice(n=60, seed=1):
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=n)
    rows = []
    for run in range(2):
        for name, noise in (("steady", 0.2), ("moody", 1.5)):
            rating = np.clip(np.round(3 + quality + rng.normal(scale=noise, size=n)), 1, 5)
            rows.append(pd.DataFrame({"item": range(n), "participant": name, "rating": rating, "run": run}))
    return pd.concat(rows, ignore_index=True)


def test_stability_is_alpha_and_r_of_a_raters_two_runs():
    table = rated_twice()
    found = {(row["participant"], row["measure"]): row for row in rel.stability(table).to_pylist()}
    for name in ("steady", "moody"):
        runs = [table[(table["participant"] == name) & (table["run"] == run)]["rating"].to_numpy() for run in range(2)]
        alpha = rel.krippendorff_alpha(np.column_stack(runs))
        assert found[name, "α, ordinal"]["estimate"] == pytest.approx(alpha.estimate, abs=1e-12)
        assert found[name, "test–retest r"]["estimate"] == pytest.approx(stats.pearsonr(*runs).statistic, abs=1e-12)
        assert found[name, "equal ratings"]["estimate"] == np.mean(runs[0] == runs[1])
        assert found[name, "α, ordinal"]["conf_low"] < alpha.estimate < found[name, "α, ordinal"]["conf_high"]
    assert found["steady", "α, ordinal"]["estimate"] > found["moody", "α, ordinal"]["estimate"] + 0.3
    assert found["all raters", "equal ratings"]["n_ratings"] == 120


def test_three_ratings_are_two_pairs_and_words_have_no_correlation():
    table = {"item": [1, 1, 1, 2, 2], "participant": ["x"] * 5, "rating": ["a", "a", "b", "b", "b"]}
    rows = rel.stability(table, level="nominal").to_pylist()
    assert [row["measure"] for row in rows[:2]] == ["equal ratings", "α, nominal"]
    assert (rows[0]["n_ratings"], rows[0]["estimate"]) == (3, pytest.approx(2 / 3))


def test_nobody_rated_twice():
    with pytest.raises(InputError, match="nobody rated a text twice"):
        rel.stability({"item": [1, 2], "participant": ["x", "x"], "rating": [1, 2]})


def test_accuracy_is_the_share_of_right_ratings_with_wilsons_interval_and_the_mean_error():
    table = rated_twice()
    first = table[table["run"] == 0]
    gold = dict(zip(first["item"][:60], np.clip(first["rating"][:60], 1, 5), strict=True))
    found = {(row["participant"], row["measure"]): row for row in rel.accuracy(first, gold).to_pylist()}
    assert found["steady", "right ratings"]["estimate"] == 1
    moody = first[first["participant"] == "moody"]["rating"].to_numpy() - np.array([gold[i] for i in range(60)])
    assert found["moody", "right ratings"]["estimate"] == pytest.approx((moody == 0).mean())
    assert found["moody", "bias"]["estimate"] == pytest.approx(moody.mean())
    low, high = stats.t.interval(0.95, 59, moody.mean(), stats.sem(moody))
    assert (found["moody", "bias"]["conf_low"], found["moody", "bias"]["conf_high"]) == pytest.approx((low, high))
    wilson = stats.binomtest(int((moody == 0).sum()), 60).proportion_ci(method="wilson")
    assert found["moody", "right ratings"]["conf_low"] == pytest.approx(wilson.low)
    as_table = pd.DataFrame({"item": list(gold), "gold": list(gold.values())})
    assert rel.accuracy(first, as_table).to_pylist() == rel.accuracy(first, gold).to_pylist()


def test_a_gold_standard_of_other_items_is_refused():
    with pytest.raises(InputError, match="none of the rated items"):
        rel.accuracy({"item": [1, 2], "participant": ["x", "x"], "rating": [1, 2]}, {"a": 1})
