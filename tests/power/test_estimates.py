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


def test_power_has_the_interval_of_its_level_and_ignores_p_values_of_failures():
    """Of ten fits eight are significant: 44.39 to 97.48 % (Clopper & Pearson), at 90 % 49.31 to 96.32 %."""
    p = np.array([0.001] * 8 + [0.5, 0.0001])
    failed = np.array([False] * 9 + [True])
    found = estimates.power(p, failed, 0.01)
    assert (found["power"], found["power_if_failures_significant"]) == (0.8, 0.9)
    assert (found["conf_low"], found["conf_high"]) == pytest.approx((0.4439, 0.9748), abs=5e-5)
    narrower = estimates.power(p, failed, 0.01, 0.9)
    assert (narrower["conf_low"], narrower["conf_high"]) == pytest.approx((0.4931, 0.9632), abs=5e-5)
    assert estimates.power(p, failed, 0.001)["power"] == 0  # p < α, not p ≤ α


@pytest.mark.parametrize("n", [3, 1000])
def test_no_power_where_everything_failed(n):
    found = estimates.power(np.full(n, np.nan), np.ones(n, bool), 0.05)
    assert (found["n"], found["n_ok"], found["n_failed"]) == (n, 0, n)
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


def test_matched_interval_of_another_level_and_at_the_ends():
    """The same as above by hand: of 8 pairs 5 are (yes, no), 1 is (no, yes); z of 80 % is 1.2816."""
    a = np.array([True] * 5 + [False] + [True, False])
    b = np.array([False] * 5 + [True] + [True, False])
    found = estimates.compare(a, b, 0.8)
    error = ((5.5 + 1.5) / 10 - 0.4**2) ** 0.5 / 10**0.5  # 0.2324
    assert (found["n"], found["difference"]) == (8, 0.5)
    assert (found["conf_low"], found["conf_high"]) == pytest.approx(
        (0.4 - 1.28155 * error, 0.4 + 1.28155 * error), 1e-5
    )
    assert found["p_value"] == pytest.approx(2 * (1 + 6) / 2**6)  # at most one of six tosses falls on the rare side
    always, never = np.ones(3, bool), np.zeros(3, bool)
    assert estimates.compare(always, never)["conf_high"] == 1.0  # Wald's interval goes beyond
    assert estimates.compare(never, always)["conf_low"] == -1.0
    assert estimates.compare(never, always)["difference"] == -1.0
    assert estimates.compare(always, never)["p_value"] == 0.25  # 2 / 2³


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


FOUR = np.array([0.1, 0.4, 0.7, 0.8]), np.array([0.1, 0.2, 0.2, 0.3])  # estimates and standard errors; truth 0.3


def test_bias_of_four_estimates_by_hand():
    """Mean 0.5, squared deviations 0.16 + 0.01 + 0.04 + 0.09 = 0.3; the second and fourth interval hold 0.3."""
    found = estimates.bias(*FOUR, np.full(4, np.nan), 0.3)
    assert found == pytest.approx(
        {
            "n_ok": 4,
            "truth": 0.3,
            "mean_estimate": 0.5,
            "bias": 0.2,
            "bias_mc_error": (0.3 / 3) ** 0.5 / 2,
            "coverage": 0.5,
            "coverage_low": 0.0676,
            "coverage_high": 0.9324,
            "mean_std_error": 0.2,
            "sd_estimate": (0.3 / 3) ** 0.5,
            "se_ratio": 0.2 / (0.3 / 3) ** 0.5,
        },
        abs=5e-5,
    )
    assert tuple(found) == ("n_ok", *estimates.BIAS)


@pytest.mark.parametrize(
    ("df", "conf_level", "covered"),
    [
        (np.full(4, 3.0), 0.95, 4),  # t of 3 df is 3.182
        (np.array([np.nan, np.nan, 3.0, np.nan]), 0.95, 3),
        (np.full(4, np.nan), 0.8, 1),  # z is 1.282: 0.128, 0.256, 0.256, 0.384 against 0.2, 0.1, 0.4, 0.5
        (np.full(4, 3.0), 0.8, 1),  # t is 1.638: 0.164, 0.328, 0.328, 0.491
        (np.array([3.0, 3.0, np.nan, 3.0]), 0.9, 3),  # t is 2.353, z 1.645: 0.235, 0.471, 0.329, 0.706
    ],
)
def test_coverage_by_hand(df, conf_level, covered):
    found = estimates.bias(*FOUR, df, 0.3, conf_level)
    assert found["coverage"] == covered / 4
    limits = estimates.clopper_pearson(covered, 4, conf_level)
    assert (found["coverage_low"], found["coverage_high"]) == limits


def test_spread_of_two_estimates_and_of_equal_ones():
    two = estimates.bias(np.array([0.2, 0.6]), np.array([0.1, 0.3]), np.full(2, np.nan), 0.0)
    assert two["sd_estimate"] == pytest.approx(0.4 / 2**0.5)
    assert two["bias_mc_error"] == pytest.approx(0.2)
    assert two["se_ratio"] == pytest.approx(0.5 * 2**0.5)
    equal = estimates.bias(np.full(3, 0.25), np.zeros(3), np.full(3, np.nan), 0.25)
    assert equal["se_ratio"] is None and equal["bias_mc_error"] == 0  # no ratio to a spread of nothing
    assert equal["coverage"] == 1  # an interval without length holds the point that it is
    one = estimates.bias(np.array([0.4]), np.array([0.1]), np.array([np.nan]), 0.3)
    assert one["bias_mc_error"] is None and one["coverage"] == 1 and one["bias"] == pytest.approx(0.1)


def test_bias_without_fits_or_truth():
    none = np.empty(0)
    empty = estimates.bias(none, none, none, 0.3)
    assert empty == {"n_ok": 0} | dict.fromkeys(estimates.BIAS) | {"truth": 0.3}
    one = estimates.bias(np.array([0.4]), np.array([0.1]), np.array([np.nan]), None)
    assert one["mean_estimate"] == 0.4 and one["coverage"] is None and one["sd_estimate"] is None
