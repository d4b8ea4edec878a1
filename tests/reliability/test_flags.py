"""Flags: exchangeable raters are left alone, planted ones are found, and the two numbers mean what they say."""

import numpy as np
import pytest
from scipy import stats

from ordbridge import reliability as rel
from ordbridge.reliability.flags import _p_values, standing


def rated(rng, n=100, m=8, severity=0.0, noise=0.7):
    seen = rng.normal(size=(n, 1)) + rng.normal(scale=severity, size=m) + rng.normal(scale=noise, size=(n, m))
    return np.digitize(seen, [-1.2, -0.4, 0.4, 1.2]) + 1.0


def flagged(ratings, level="ordinal"):
    found = standing(rel.prepare(ratings), level)
    return found.flagged_leniency | found.flagged_consistency


@pytest.mark.parametrize(
    ("n", "m", "severity"), [(900, 3, 0.3), (80, 4, 0.0), (80, 4, 0.5), (100, 8, 0.0), (100, 8, 0.5), (60, 40, 0.5)]
)
def test_of_exchangeable_raters_at_most_five_percent_are_flagged(n, m, severity):
    rng = np.random.default_rng(1)
    assert np.mean([flagged(rated(rng, n, m, severity)).mean() for _ in range(60)]) <= 0.05


@pytest.mark.parametrize("m", [8, 12])
def test_without_noise_a_rater_is_compared_with_the_others_by_a_t_test(m):
    """One value against m − 1 others, m − 2 degrees of freedom: scipy's t test of two samples, one of size 1."""
    own = np.random.default_rng(m).normal(size=m)
    p = _p_values(own, np.zeros(m), np.ones(m, dtype=bool), 0.0, two_sided=True)
    assert p == pytest.approx([stats.ttest_ind([own[j]], np.delete(own, j)).pvalue for j in range(m)], rel=1e-9)
    lower = _p_values(own, np.zeros(m), np.ones(m, dtype=bool), 0.0, two_sided=False)
    assert lower[0] == pytest.approx(stats.ttest_ind([own[0]], own[1:], alternative="less").pvalue, rel=1e-9)


def test_words_too():
    rng = np.random.default_rng(1)
    assert np.mean([flagged(rated(rng), "nominal").mean() for _ in range(60)]) <= 0.05


@pytest.mark.parametrize("kind", ["random", "constant", "reversed", "one step up"])
def test_planted_spammers_are_found(kind):
    rng = np.random.default_rng(2)
    found = []
    for _ in range(30):
        ratings = rated(rng)
        ratings[:, 0] = {
            "random": rng.integers(1, 6, 100),
            "constant": 3,
            "reversed": 6 - ratings[:, 0],
            "one step up": np.minimum(ratings[:, 0] + 1, 5),
        }[kind]
        found.append(flagged(ratings)[0])
    assert np.mean(found) >= 0.9


def test_a_crowd_with_gaps_and_many_spammers():
    rng = np.random.default_rng(3)
    ratings = rated(rng, n=600, m=60, severity=0.3)
    ratings[:, :9] = rng.integers(1, 6, (600, 9))
    keep = np.argsort(rng.random(ratings.shape), axis=1)[:, :6]
    sparse = np.full(ratings.shape, np.nan)
    np.put_along_axis(sparse, keep, np.take_along_axis(ratings, keep, axis=1), axis=1)
    found = flagged(sparse)
    assert found[:9].mean() >= 0.8
    assert found[9:].mean() <= 0.05


def test_leniency_and_consistency_are_two_numbers():
    rng = np.random.default_rng(4)
    ratings = rng.normal(size=(200, 1)) + rng.normal(scale=0.3, size=(200, 5))
    ratings[:, 0] += 2
    found = standing(rel.prepare(np.round(ratings, 2)), "interval")
    assert found.leniency[0] == pytest.approx(2, abs=0.1)
    assert found.leniency[1:] == pytest.approx(-0.5, abs=0.1)
    assert np.ptp(found.consistency) < 0.03
    assert found.reasons(0) == ["milder"]


def test_reasons_name_the_kind():
    rng = np.random.default_rng(5)
    constant, reverse = rated(rng), rated(rng)
    constant[:, 0], reverse[:, 1] = 3, 6 - reverse[:, 1]
    found = standing(rel.prepare(constant), "ordinal")
    assert (found.reasons(0), found.reasons(2)) == (["constant"], [])
    assert standing(rel.prepare(reverse), "ordinal").reasons(1) == ["reversed"]
