"""After a study has stopped: p-value, estimate and interval, against R's rpact and against simulation."""

import json
import shutil
import subprocess

import numpy as np
import pytest

from ordbridge.planning.after_stopping import adjusted
from ordbridge.planning.stopping import (
    SHAPES,
    boundaries,
    boundary_that_spends,
    crossing_probabilities,
    spent_by,
    upper_tail,
)

SPENDING = {"obrien-fleming": "asOF", "pocock": "asP"}
DESIGN = (
    "d <- rpact::getDesignGroupSequential(informationRates = c({rates}), alpha = 0.05, sided = 2, "
    "typeOfDesign = '{kind}', twoSidedPower = TRUE);"
)


def rpact(code):
    """Return what R says, as numbers."""
    if not shutil.which("Rscript"):
        pytest.skip("there is no R")
    told = subprocess.run(["Rscript", "--vanilla", "-e", code], capture_output=True, text=True, check=False)
    if told.returncode:
        pytest.skip("R's package rpact is not installed (Debian: r-cran-rpact)")
    return json.loads(told.stdout.strip().splitlines()[-1])


def by_spending(times, shape):
    critical = []
    for place, time in enumerate(times):
        spent = crossing_probabilities(times[:place], critical).sum() if place else 0.0
        critical.append(boundary_that_spends(spent_by(time, shape=shape) - spent, times[: place + 1], critical))
    return critical


@pytest.mark.needs_r
@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("times", [(0.2, 0.5, 1.0), (0.35, 0.4, 0.7, 1.0), (0.15, 0.3, 0.45, 0.6, 0.8, 1.0)])
def test_spending_is_that_of_rpact(shape, times):
    code = DESIGN.format(rates=", ".join(map(str, times)), kind=SPENDING[shape])
    code += "cat('[', paste(sprintf('%.9f', c(d$criticalValues, d$alphaSpent)), collapse = ','), ']')"
    expected = rpact(code)
    np.testing.assert_allclose(by_spending(times, shape), expected[: len(times)], atol=2e-5)
    np.testing.assert_allclose([spent_by(t, shape=shape) for t in times], expected[len(times) :], atol=1e-6)


CASES = {
    "at the last of three looks, found": ((1 / 3, 2 / 3, 1.0), (0.10, 0.30, 0.35)),
    "at the last of three looks, not found": ((1 / 3, 2 / 3, 1.0), (0.10, 0.20, 0.05)),
    "at the second look": ((1 / 3, 2 / 3, 1.0), (0.30, 0.50)),
    "uneven": ((0.25, 0.4, 1.0), (0.10, 0.05, 0.35)),
}


@pytest.mark.needs_r
@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("case", CASES)
def test_p_value_estimate_and_interval_are_those_of_rpact(shape, case):
    """rpact's final analysis of means in one group, 50 observations to a study's twentieth; two-sided.

    Its p-value of a study that ends with its first look is one-sided, and its interval of one that ends at the lower
    boundary forgets the looks before, so no case here does; :func:`test_below_is_the_mirror_of_above` has them.
    """
    times, means = CASES[case]
    n = [round(300 * step) for step in np.diff(times, prepend=0.0)][: len(means)]
    code = DESIGN.format(rates=", ".join(map(str, times)), kind=SPENDING[shape])
    code += (
        f"x <- rpact::getDataset(n = c({', '.join(map(str, n))}), means = c({', '.join(map(str, means))}), "
        f"stDevs = rep(1.7, {len(n)}));"
        f"r <- suppressMessages(rpact::getAnalysisResults(d, x, normalApproximation = TRUE, stage = {len(n)}));"
        "k <- r$finalStage; s <- r$.stageResults;"
        "if (is.na(k)) cat('[]') else cat('[', paste(sprintf('%.9f', c(s$overallTestStatistics[k], s$effectSizes[k], "
        "r$finalPValues[k], r$medianUnbiasedEstimates[k], r$finalConfidenceIntervalLowerBounds[k], "
        "r$finalConfidenceIntervalUpperBounds[k])), collapse = ','), ']')"
    )
    told = rpact(code)
    if not told:
        pytest.skip("rpact has no final analysis of a study that goes on")
    z, estimate, *expected = told
    critical = by_spending(times, shape)[: len(n)]
    ours = adjusted(times[: len(n)], critical, z, estimate / z)
    np.testing.assert_allclose((ours.p_value, ours.estimate, ours.conf_low, ours.conf_high), expected, atol=2e-4)


def test_below_is_the_mirror_of_above():
    times, critical = (1 / 3, 2 / 3), boundaries(3, shape="pocock")[:2]
    above, below = (adjusted(times, critical, z, 0.1) for z in (2.6, -2.6))
    assert below.p_value == pytest.approx(above.p_value, abs=1e-9)
    assert (below.estimate, below.conf_low) == pytest.approx((-above.estimate, -above.conf_high), abs=1e-6)
    once = adjusted((1 / 3,), critical[:1], 2.6, 0.1)
    assert (once.p_value, once.estimate) == pytest.approx((0.009322376, 0.26), abs=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("drift", [0.0, 1.5, 3.0])
def test_half_of_the_estimates_are_too_high_and_the_interval_covers(drift):
    """1000 studies with three looks; an estimate is too high, and the interval misses, by the tail at the truth."""
    times = np.array([1, 2, 3]) / 3
    critical = np.array(boundaries(3, shape="pocock"))
    steps = np.random.default_rng(4).standard_normal((1000, 3)) * np.sqrt(1 / 3) + drift / 3
    tails = []
    for row in np.cumsum(steps, axis=1) / np.sqrt(times):
        crossed = abs(row) > critical
        end = int(crossed.argmax()) + 1 if crossed.any() else 3
        tails.append(upper_tail(times[:end], critical[:end], row[end - 1], drift))
        if len(tails) <= 20:
            found = adjusted(times[:end], critical[:end], row[end - 1], 1 / np.sqrt(times[end - 1]))
            assert (found.estimate > drift) == (tails[-1] < 0.5)
            assert (found.conf_low <= drift <= found.conf_high) == (0.025 <= tails[-1] <= 0.975)
    tails = np.array(tails)
    assert (tails < 0.5).mean() == pytest.approx(0.5, abs=0.05)
    assert ((tails >= 0.025) & (tails <= 0.975)).mean() == pytest.approx(0.95, abs=0.021)
