from __future__ import annotations

import numpy as np
import pytest

from ordbridge.power import estimates


@pytest.mark.parametrize(("k", "n"), [(0, 10), (3, 10), (10, 10), (57, 100)])
def test_clopper_pearson_is_statsmodels(k, n):
    from statsmodels.stats.proportion import proportion_confint

    assert estimates.clopper_pearson(k, n) == pytest.approx(proportion_confint(k, n, method="beta"))
    assert estimates.clopper_pearson(k, n, 0.8) == pytest.approx(proportion_confint(k, n, alpha=0.2, method="beta"))


def test_power_counts_failures_as_not_significant_and_bounds_them():
    p = np.array([0.01, 0.2, 0.04, np.nan, np.nan, 0.6, 0.05, 0.001])
    found = estimates.power(p, np.isnan(p), 0.05)
    assert (found["n"], found["n_ok"], found["n_failed"]) == (8, 6, 2)
    assert (found["power"], found["power_if_failures_significant"]) == (3 / 8, 5 / 8)
    assert found["mc_error"] == pytest.approx((3 / 8 * 5 / 8 / 8) ** 0.5)
    assert found["conf_low"] < 3 / 8 < found["conf_high"]


def test_no_power_where_everything_failed():
    found = estimates.power(np.full(3, np.nan), np.ones(3, bool), 0.05)
    assert (found["n"], found["n_ok"], found["n_failed"]) == (3, 0, 3)
    assert found["power"] is found["conf_low"] is found["power_if_failures_significant"] is None


def test_mcnemar_is_statsmodels():
    from statsmodels.stats.contingency_tables import mcnemar

    a = np.array([True] * 40 + [False] * 60)
    b = np.array([True] * 25 + [False] * 15 + [True] * 4 + [False] * 56)
    found = estimates.compare(a, b)
    assert (found["only_a"], found["only_b"], found["difference"]) == (15, 4, 0.11)
    assert found["p_value"] == pytest.approx(mcnemar([[25, 15], [4, 56]], exact=True).pvalue)


def test_matched_interval_of_the_paper():
    """Agresti & Min (2005): half a case is added to each cell of the table of pairs, then Wald's interval."""
    both, only_a, only_b, neither = 794.5, 86.5, 150.5, 570.5
    n = both + only_a + only_b + neither
    difference = (only_a - only_b) / n
    error = ((only_a + only_b) / n - difference**2) ** 0.5 / n**0.5
    a = np.repeat([True, True, False, False], [794, 86, 150, 570])
    b = np.repeat([True, False, True, False], [794, 86, 150, 570])
    found = estimates.compare(a, b)
    assert found["conf_low"] == pytest.approx(difference - 1.959964 * error, abs=1e-7)
    assert found["conf_high"] == pytest.approx(difference + 1.959964 * error, abs=1e-7)


def test_models_that_always_agree_do_not_differ():
    found = estimates.compare(np.ones(10, bool), np.ones(10, bool))
    assert found["p_value"] == 1.0 and found["conf_low"] < 0 < found["conf_high"]


def test_bias_and_coverage_of_honest_estimates():
    random = np.random.default_rng(1)
    se = np.full(20_000, 0.5)
    estimate = 0.3 + 0.5 * random.standard_normal(20_000)
    found = estimates.bias(estimate, se, np.full(20_000, np.nan), 0.3)
    assert abs(found["bias"]) < 3 * found["bias_mc_error"]
    assert found["coverage_low"] < 0.95 < found["coverage_high"]
    assert found["se_ratio"] == pytest.approx(1, abs=0.02)


def test_coverage_uses_the_degrees_of_freedom():
    random = np.random.default_rng(2)
    samples = random.standard_normal((20_000, 4))
    estimate, se = samples.mean(axis=1), samples.std(axis=1, ddof=1) / 2
    found = estimates.bias(estimate, se, np.full(20_000, 3.0), 0.0)
    assert found["coverage_low"] < 0.95 < found["coverage_high"]
    assert estimates.bias(estimate, se, np.full(20_000, np.nan), 0.0)["coverage"] < 0.9


def test_bias_without_fits_or_truth():
    none = np.empty(0)
    assert estimates.bias(none, none, none, 0.3)["bias"] is None
    one = estimates.bias(np.array([0.4]), np.array([0.1]), np.array([np.nan]), None)
    assert one["mean_estimate"] == 0.4 and one["coverage"] is None and one["sd_estimate"] is None
