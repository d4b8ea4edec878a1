"""Corrections for several comparisons at once, against statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from ordbridge.comparison.family import correct
from ordbridge.models.inference.adjust import adjusted, quantile

STATISTIC = np.array([2.0, 3.0, 0.5, -2.4, 1.1])
NAMES = {"bonferroni": "bonferroni", "sidak": "sidak", "holm": "holm", "fdr": "fdr_bh"}


@pytest.mark.parametrize("method", NAMES)
def test_p_values_are_those_of_statsmodels(method: str) -> None:
    df = np.full(5, 12.0)
    p = 2 * stats.t.sf(np.abs(STATISTIC), df)
    expected = multipletests(p, method=NAMES[method])[1]
    assert adjusted(STATISTIC, df, method, 4) == pytest.approx(expected, rel=1e-10)
    [found] = correct([p], method, 0.05, False, [], [], [])
    assert found.p_value == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("method", ["bonferroni", "sidak"])
def test_intervals_have_the_level_of_statsmodels(method: str) -> None:
    _, _, sidak, bonferroni = multipletests(np.full(5, 0.5), alpha=0.05)
    alpha = sidak if method == "sidak" else bonferroni
    assert quantile(0.95, np.full(5, 12.0), method, 4) == pytest.approx(np.full(5, stats.t.isf(alpha / 2, 12)))
    [found] = correct([np.full(5, 0.5)], method, 0.05, False, [], [], [])
    assert found.alpha == pytest.approx(np.full(5, alpha), rel=1e-10)
