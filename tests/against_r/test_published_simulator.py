"""The misplaced participant effects of the published simulator, against R's own index arithmetic.

Needs plain Rscript (any version: dropping index 0 and recycling are as old as the language).
"""

import shutil
import subprocess

import numpy as np
import pyarrow.csv
import pytest

from ordbridge import design
from ordbridge.simulate import Simulator, Truth

pytestmark = [pytest.mark.needs_r, pytest.mark.skipif(shutil.which("Rscript") is None, reason="there is no Rscript")]

# The line of the published simulator that matters, with the vectors given instead of drawn.
R = r"""
options(digits = 17, warn = -1)
d <- read.csv("design.csv")
d$item <- as.numeric(factor(d$item))
p <- read.csv("participant.csv")
i <- read.csv("item.csv")
noise <- read.csv("noise.csv")$noise
latent <- noise + d$system * 0.31 +
  p$intercept[d$participant] + d$system * p$slope[d$participant] +
  i$intercept[d$item] + d$system * i$slope[d$item]
rating <- as.numeric(cut(latent, breaks = c(-Inf, -1.78, -1.16, -0.54, 0.08, 0.7, Inf), labels = 1:6))
write.csv(data.frame(latent = sprintf("%.17g", latent), rating), "out.csv", row.names = FALSE, quote = FALSE)
"""
TRUTH = Truth(0.31, (-1.78, -1.16, -0.54, 0.08, 0.7))


def latent_in_r(folder, table, participant, item, noise):
    pyarrow.csv.write_csv(table, folder / "design.csv")
    for name, effects in (("participant", participant), ("item", item)):
        np.savetxt(folder / f"{name}.csv", effects, "%.17g", ",", header="intercept,slope", comments="")
    np.savetxt(folder / "noise.csv", noise, "%.17g", header="noise", comments="")
    subprocess.run(["Rscript", "--vanilla", "-e", R], cwd=folder, check=True, capture_output=True)
    out = pyarrow.csv.read_csv(folder / "out.csv")
    return out["latent"].to_numpy(), out["rating"].to_numpy()


def sizes(table):
    return len(set(table["participant"].to_pylist())), len(set(table["item"].to_pylist()))


@pytest.mark.parametrize(("items", "ratings"), [(50, 3), (50, 10), (100, 3), (500, 10)])
def test_each_row_gets_the_effect_that_r_gives_it(tmp_path, items, ratings):
    """Effects that are whole numbers, distinct even as sums, show whose effect a row carries, without rounding."""
    table = design.howcroft2021(items, ratings)
    n_participants, n_items = sizes(table)
    participant = np.c_[1000.0 * np.arange(1, n_participants + 1), 1e7 * np.arange(1, n_participants + 1)]
    item = np.zeros((n_items, 2))
    noise = np.zeros(table.num_rows)
    expected, _ = latent_in_r(tmp_path, table, participant, item, noise)
    coding = TRUTH.coding().T
    ours = Simulator(table, TRUTH, "published").latent(participant @ coding, item, noise)
    np.testing.assert_array_equal(np.round(ours), np.round(expected))
    right = Simulator(table, TRUTH, "corrected").latent(participant @ coding, item, noise)
    assert (np.round(right) != np.round(expected)).any()


@pytest.mark.parametrize("first", [0, 1])
def test_latent_quality_and_ratings_equal_those_of_r(tmp_path, first):
    """With participants counted from 1 nothing is misplaced, and R agrees with the corrected variant."""
    table = design.howcroft2021(50, 3)
    if first:
        table = table.set_column(0, "participant", [np.array(table["participant"]) + 1])
    n_participants, n_items = sizes(table)
    random = np.random.default_rng(8)
    participant, item = random.normal(size=(n_participants, 2)), random.normal(size=(n_items, 2))
    noise = random.normal(size=table.num_rows)
    expected, rating = latent_in_r(tmp_path, table, participant, item, noise)
    coding = TRUTH.coding().T
    for variant in ("published", "corrected"):
        simulator = Simulator(table, TRUTH, variant)
        latent = simulator.latent(participant @ coding, item @ coding, noise)
        same = variant == "published" or first == 1
        # Six numbers of size 1 are added up in another order here: equal to a few units in the last place.
        assert np.allclose(latent, expected, rtol=0, atol=5e-15) == same
        assert np.array_equal(simulator._rate(latent, np.array(TRUTH.thresholds)), rating) == same
