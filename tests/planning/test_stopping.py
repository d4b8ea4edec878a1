"""Critical values for several looks at a study."""

import shutil
import subprocess

import numpy as np
import pytest

from ordbridge.errors import InputError
from ordbridge.planning.stopping import SHAPES, boundaries, crossing_probabilities

RPACT = {"obrien-fleming": "OF", "pocock": "P"}


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("times", [(1.0,), (0.5, 1.0), (0.2, 0.4, 0.6, 0.8, 1.0), (0.3, 0.5, 1.0)])
def test_the_level_is_that_of_all_looks_together(shape, times):
    critical = boundaries(times, shape=shape)
    random = np.random.default_rng(1)
    steps = random.normal(size=(200_000, len(times))) * np.sqrt(np.diff(times, prepend=0))
    z = np.cumsum(steps, axis=1) / np.sqrt(times)
    rejected = (abs(z) > critical).any(axis=1).mean()
    assert rejected == pytest.approx(0.05, abs=4 * np.sqrt(0.05 * 0.95 / 200_000))


def test_one_look_is_the_usual_test():
    assert boundaries(1)[0] == pytest.approx(1.959964, abs=1e-6)


def test_a_drift_crosses_earlier():
    times = np.array([0.5, 1.0])
    critical = np.array(boundaries(2))
    strong, weak = (crossing_probabilities(times, critical, drift) for drift in (4.0, 1.0))
    assert strong[0] > weak[0] and strong.sum() > weak.sum()


@pytest.mark.needs_r
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("looks", [2, 3, 5])
def test_boundaries_are_those_of_rpact(shape, looks):
    """R's rpact computes two-sided boundaries by its own integration; both agree to 1e-3, and in fact to 1e-6."""
    code = (
        f'cat(rpact::getDesignGroupSequential(kMax = {looks}, alpha = 0.05, sided = 2, typeOfDesign = "{RPACT[shape]}",'
        " twoSidedPower = TRUE)$criticalValues, sep = ',')"
    )
    if not shutil.which("Rscript"):
        pytest.skip("there is no R")
    told = subprocess.run(["Rscript", "--vanilla", "-e", code], capture_output=True, text=True, check=False)
    if told.returncode:
        pytest.skip("R's package rpact is not installed (Debian: r-cran-rpact)")
    expected = [float(value) for value in told.stdout.split(",")]
    np.testing.assert_allclose(boundaries(looks, shape=shape), expected, atol=1e-3)


@pytest.mark.parametrize("looks", [0, (0.5, 0.4, 1.0), (0.5, 0.9), (0.0, 1.0)])
def test_impossible_looks_get_one_sentence(looks):
    with pytest.raises(InputError, match="looks"):
        boundaries(looks)
