"""After a study has stopped: p-value, estimate and interval, against R's rpact and against simulation."""

import json
import shutil
import subprocess

import numpy as np
import pytest

from ordbridge.planning.after_stopping import adjusted
from ordbridge.planning.stopping import SHAPES, boundaries, boundary_that_spends, crossing_probabilities, spent_by

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
    "below": ((1 / 3, 2 / 3, 1.0), (-0.30, -0.50)),
    "uneven": ((0.25, 0.4, 1.0), (0.10, 0.05, 0.35)),
}


@pytest.mark.needs_r
@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("case", CASES)
def test_p_value_estimate_and_interval_are_those_of_rpact(shape, case):
    """rpact's final analysis of means in one group, 50 observations to a study's twentieth; two-sided.

    Its p-value of a study that ends with its first look is one-sided, so no case here ends there.
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


@pytest.mark.slow
@pytest.mark.parametrize("drift", [0.0, 1.5, 3.0])
def test_half_of_the_estimates_are_too_high_and_the_interval_covers(drift):
    """3000 studies with three looks: the median of estimates is the truth, coverage 95 %; the usual estimate's is not."""
    times = np.array([1, 2, 3]) / 3
    critical = np.array(boundaries(3, shape="pocock"))
    steps = np.random.default_rng(4).standard_normal((3000, 3)) * np.sqrt(1 / 3) + drift / 3
    z = np.cumsum(steps, axis=1) / np.sqrt(times)
    above = covered = small = 0
    for row in z:
        crossed = abs(row) > critical
        end = int(crossed.argmax()) if crossed.any() else 2
        found = adjusted(times[: end + 1], critical[: end + 1], row[end], 1 / np.sqrt(times[end]))
        above += found.estimate > drift
        covered += found.conf_low <= drift <= found.conf_high
        small += found.p_value < 0.05
    assert above / 3000 == pytest.approx(0.5, abs=0.03)
    assert covered / 3000 == pytest.approx(0.95, abs=0.013)
    if not drift:
        assert small / 3000 == pytest.approx(0.05, abs=0.013)
