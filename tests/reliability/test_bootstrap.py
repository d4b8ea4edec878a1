"""The interval: seeded, over items, honest about resamples without a value, and covering."""

import numpy as np
import pytest

from ordbridge import reliability as rel
from ordbridge.errors import InputError


def two_raters(n, rng):
    quality = rng.integers(0, 2, n)
    wrong = rng.random((n, 2)) < 0.2
    return np.where(wrong, 1 - quality[:, None], quality[:, None])


def test_the_seed_repeats_the_interval():
    ratings = two_raters(50, np.random.default_rng(1))
    first, again, other = (rel.cohen_kappa(ratings, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert (first.low, first.high) != (other.low, other.high)
    assert first.value == other.value


def test_the_order_of_rows_does_not_matter():
    ratings = two_raters(50, np.random.default_rng(1))
    assert rel.cohen_kappa(ratings) == rel.cohen_kappa(ratings[::-1])


def test_the_interval_covers():
    """κ of the simulated population is known: 0.68 observed, 0.5 by chance, so 0.36."""
    rng = np.random.default_rng(6)
    covered = 0
    for _ in range(300):
        kappa = rel.cohen_kappa(two_raters(150, rng), draws=300)
        covered += kappa.low <= 0.36 <= kappa.high
    assert 0.90 <= covered / 300 <= 0.985


def test_resamples_without_a_value_are_counted():
    ratings = [[1, 1], [1, 1], [1, 1], [1, 1], [2, 2]]  # a resample without the last item has no κ: (4/5)^5 = 0.33
    kappa = rel.cohen_kappa(ratings)
    assert 250 < kappa.degenerate < 400
    assert f"{kappa.degenerate} of 1000 resamples had no value" in kappa.note
    assert kappa.low == kappa.high == 1


def test_no_interval_when_most_resamples_have_no_value():
    """Only the first two items tell anything, and a resample of twelve has both of them four times in ten."""
    ratings = [[1, 1, None, None], [2, 2, None, None]] + [[None, None, 1, 1]] * 10
    kappa = rel.cohen_kappa(ratings)
    assert kappa.value == 1
    assert kappa.degenerate > 500
    assert (kappa.low, kappa.high) == (None, None)
    assert f"no interval: {kappa.degenerate} of 1000 resamples" in kappa.note


def test_portions_do_not_change_the_result(monkeypatch):
    from ordbridge.reliability import bootstrap

    ratings = two_raters(50, np.random.default_rng(1))
    whole = rel.goodman_kruskal_gamma(ratings)
    monkeypatch.setattr(bootstrap, "CELLS_AT_ONCE", 20)
    assert rel.goodman_kruskal_gamma(ratings) == whole


def test_options_are_checked():
    with pytest.raises(InputError, match="draws=-1"):
        rel.pearson([[1, 2], [2, 4]], draws=-1)
    with pytest.raises(InputError, match="confidence=95"):
        rel.pearson([[1, 2], [2, 4]], confidence=95)
    assert rel.pearson([[1, 2], [2, 4], [2, 3]], draws=0).low is None
