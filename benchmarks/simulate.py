"""How long one simulated dataset of 10,000 ratings takes, here and in R, in one run on the same design.

    python benchmarks/simulate.py

R does what the published simulator does for each dataset: draw the effects, look them up, add them, cut. The design is
ready on both sides, and each time is the median over many datasets.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from ordbridge import design
from ordbridge.cli import show
from ordbridge.papers import howcroft2021
from ordbridge.reading.tables import write
from ordbridge.simulate import Simulator, ratings

DATASETS = 300
LIMIT_MS = 2.0

R = r"""
d <- read.csv("design.csv")
d$item <- as.numeric(factor(d$item))
d$participant <- d$participant + 1
participants <- length(unique(d$participant)); items <- length(unique(d$item))
dataset <- function() {
  thresholds <- c(-Inf, rnorm(1, -1.78, 0.19) + c(0, cumsum(abs(rnorm(4, 0.62, 0.18)))), Inf)
  ii <- rnorm(items, 0, 0.57); is <- rnorm(items, 0, 0.77)
  pi <- rnorm(participants, 0, 0.52); ps <- rnorm(participants, 0, 0.43)
  latent <- rnorm(nrow(d)) + d$system * 0.31 + pi[d$participant] + d$system * ps[d$participant] +
    ii[d$item] + d$system * is[d$item]
  as.numeric(cut(latent, breaks = thresholds, labels = 1:6))
}
set.seed(1)
for (i in 1:20) dataset()
seconds <- replicate(DATASETS, { before <- proc.time()[["elapsed"]]; for (j in 1:5) dataset();
  (proc.time()[["elapsed"]] - before) / 5 })
cat(median(seconds) * 1000)
"""


def milliseconds(draw: Callable[[int], object]) -> float:
    for seed in range(20):
        draw(seed)
    times = []
    for seed in range(DATASETS):
        before = time.perf_counter()
        draw(seed)
        times.append(time.perf_counter() - before)
    return 1000 * statistics.median(times)


def milliseconds_in_r(table: pa.Table) -> float | None:
    if shutil.which("Rscript") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        write(table, Path(folder) / "design.csv")
        code = R.replace("DATASETS", str(DATASETS))
        done = subprocess.run(
            ["Rscript", "--vanilla", "-e", code], cwd=folder, check=True, capture_output=True, text=True
        )
    return float(done.stdout)


def main() -> None:
    table = design.howcroft2021(500, 10)
    truth = howcroft2021.settings["representative"].shift(effect=0.31)
    simulator = Simulator(table, truth)
    r = milliseconds_in_r(table)
    rows = [
        ("Simulator.draw: arrays, design prepared once", milliseconds(simulator.draw)),
        ("ratings: Arrow table to Arrow table", milliseconds(lambda seed: ratings(table, truth, seed))),
        ("R, the published simulator's steps", r),
    ]
    show.table(
        pa.table(
            {
                "10,000 ratings": [name for name, _ in rows],
                "median_ms": pa.array([ms for _, ms in rows], pa.float64()),
                "times_faster_than_r": pa.array([r / ms if r and ms else None for _, ms in rows], pa.float64()),
                f"under_{LIMIT_MS:g}_ms": [None if ms is None else ms < LIMIT_MS for _, ms in rows],
            }
        )
    )


if __name__ == "__main__":
    main()
