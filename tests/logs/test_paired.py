"""The numbers of the paired tests are those of scipy, statsmodels and R, to 1e-12: closed forms, no search."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy import stats

from ordbridge.logs import paired

RNG = np.random.default_rng(34)
CASES = [(RNG.normal(0.2, 1, n), RNG.integers(0, g, n)) for n, g in ((6, 3), (30, 6), (200, 40))]


@pytest.mark.parametrize(("differences", "cluster"), CASES)
def test_paired_t_is_scipys(differences, cluster):
    base = RNG.normal(size=len(differences))
    expected = stats.ttest_rel(base + differences, base)
    found = paired.paired_t(differences)
    assert found.p_value == pytest.approx(expected.pvalue, abs=1e-12)
    assert found.statistic == pytest.approx(expected.statistic, rel=1e-12) and found.df == expected.df
    ends = expected.confidence_interval(0.975)
    assert found.interval(0.025) == pytest.approx((ends.low, ends.high), abs=1e-12)


@pytest.mark.parametrize(("differences", "cluster"), CASES)
def test_clustered_standard_errors_are_those_of_statsmodels(differences, cluster):
    import statsmodels.api as sm

    fit = sm.OLS(differences, np.ones(len(differences))).fit(
        cov_type="cluster", cov_kwds={"groups": cluster}, use_t=True
    )
    found = paired.clustered(differences, cluster)
    assert found.std_error == pytest.approx(fit.bse[0], rel=1e-12)
    assert found.p_value == pytest.approx(fit.pvalues[0], abs=1e-12)
    assert found.interval(0.05) == pytest.approx(tuple(fit.conf_int()[0]), abs=1e-12)


@pytest.mark.parametrize(("one", "other"), [(0, 0), (0, 5), (1, 7), (6, 6), (30, 17)])
def test_mid_p_is_the_exact_test_without_half_of_its_own_outcome(one, other):
    from statsmodels.stats.contingency_tables import mcnemar

    both = one + other
    exact = mcnemar([[9, one], [other, 9]], exact=True).pvalue
    own = stats.binom.pmf(min(one, other), both, 0.5) if both else 0.0
    expected = 1.0 if one == other else exact - own
    assert paired.mid_p(one, other) == pytest.approx(expected, abs=1e-12)


def test_bonett_prices_interval_by_hand():
    first, second = np.array([1] * 30 + [0] * 20), np.array([1] * 21 + [0] * 9 + [1] * 4 + [0] * 16)
    a, b = 10 / 52, 5 / 52  # one more of each kind of disagreement
    half = stats.norm.ppf(0.975) * math.sqrt((a + b - (a - b) ** 2) / 52)
    found = paired.mcnemar(first, second)
    assert found.interval(0.05) == pytest.approx((a - b - half, a - b + half), abs=1e-15)
    assert found.difference == pytest.approx(5 / 50) and found.p_value == pytest.approx(paired.mid_p(9, 4))


@pytest.mark.needs_r
@pytest.mark.slow
def test_numbers_of_r(tmp_path):
    """R 4.x, base: t.test, pbinom and dbinom; the clustered standard error from its formula."""
    from ordbridge.bridge import rscript

    differences, cluster = CASES[1]
    file, out = tmp_path / "d.csv", tmp_path / "out.json"
    np.savetxt(file, np.column_stack([differences, cluster]), delimiter=",", fmt="%.17g")
    script = tmp_path / "check.R"
    script.write_text(
        "a <- commandArgs(TRUE); d <- read.csv(a[1], header = FALSE); t <- t.test(d$V1, conf.level = 0.975)\n"
        "m <- lm(V1 ~ 1, d); s <- tapply(residuals(m), d$V2, sum); g <- length(s)\n"
        "se <- sqrt(g / (g - 1) * sum(s^2)) / nrow(d)\n"
        "p <- 2 * pt(-abs(coef(m) / se), g - 1)\n"
        "x <- c(t$p.value, t$conf.int, se, p, 2 * pbinom(4, 13, .5) - dbinom(4, 13, .5))\n"
        'cat("[", paste(sprintf("%.17g", x), collapse = ","), "]", file = a[2])\n'
    )
    rscript.run(script, file, out)
    plain, clustered = paired.paired_t(differences), paired.clustered(differences, cluster)
    found = [plain.p_value, *plain.interval(0.025), clustered.std_error, clustered.p_value, paired.mid_p(9, 4)]
    assert found == pytest.approx(json.loads(out.read_text()), abs=1e-12)


def test_pass_at_k_is_the_mean_over_all_subsets():
    from itertools import combinations

    answers = [[0, 1, 0, 1, 0], [1, 1, 1, 1, 1], [0, 0, 0, 0, 0], [0, 0, 0, 0, 1]]
    expected = [np.mean([max(some) for some in combinations(one, 3)]) for one in answers]
    right = np.array([sum(one) for one in answers])
    assert paired.pass_at(3, right, np.full(4, 5)) == pytest.approx(expected, abs=1e-12)


def test_items_needed_is_where_the_difference_becomes_detectable():
    for variance, effect, alpha in ((0.16, 0.1, 0.05), (0.3, 0.02, 0.025), (4.0, 1.5, 0.05)):
        n = paired.items_needed(variance, effect, alpha)
        assert paired.detectable(math.sqrt(variance / n), n - 1, alpha) <= effect
        assert paired.detectable(math.sqrt(variance / (n - 1)), n - 2, alpha) > effect


def test_detectable_differences_are_found_with_80_percent_power():
    from statsmodels.stats.power import TTestPower

    n, alpha = 60, 0.05
    size = paired.detectable(1 / math.sqrt(n), n - 1, alpha)
    assert TTestPower().power(size, n, alpha) == pytest.approx(0.8, abs=0.005)  # not central t against two quantiles


def test_differences_that_never_vary():
    found = paired.paired_t(np.full(20, -0.1))
    assert found.test == "none" and found.p_value is None and found.interval(0.05) is None
    all_worse = paired.constant(np.full(20, -1.0))
    assert all_worse.p_value == pytest.approx(0.5**20) and all_worse.interval(0.05)[1] < -0.7
