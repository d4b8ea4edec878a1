"""Which tests of pairs hold their level in an arena: maximum likelihood with Wald's z, and what ``compare`` does.

    python benchmarks/preference_level.py --datasets 100 --sds 0.79 0.91 --out preference_level.csv

60 equal systems, 9,000 votes with ties by 124 raters on 13 items. A public arena of that size has estimated SDs of .79
(rater:system) and .91 (item:system); Laplace's method estimates about that where they are 1.35 and 1.05. Of all 1,770
pairs: the share with p < .05, and whether any is significant after Bonferroni's correction. Results are kept and added
to.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import csv
from itertools import combinations
from pathlib import Path

import numpy as np
from scipy import stats

from ordbridge.preferences.fitting import fit_tied, restricted
from ordbridge.preferences.tied import Comparisons

SYSTEMS, VOTES, RATERS, ITEMS = 60, 9000, 124, 13
FIELDS = ("rater_sd", "item_sd", "seed", "method", "rejected", "any", "significant")


def simulated(seed: int, sds: tuple[float, float]) -> Comparisons:
    """Return votes on equal systems."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, SYSTEMS, VOTES)
    b = (a + 1 + rng.integers(0, SYSTEMS - 1, VOTES)) % SYSTEMS
    eta = rng.logistic(size=VOTES) + 0.1
    groups = []
    for levels, sd in zip((RATERS, ITEMS), sds, strict=True):
        level = rng.integers(0, levels, VOTES)
        own = rng.normal(0, sd, (levels, SYSTEMS))
        eta += own[level, a] - own[level, b]
        groups.append(level)
    return Comparisons(a, b, np.searchsorted([-0.4, 0.4], eta), 3, SYSTEMS, tuple(groups), position=True)


def contrasts(size: int) -> np.ndarray:
    """Return a row for each pair of systems, of which the first is the reference."""
    rows = np.zeros((SYSTEMS * (SYSTEMS - 1) // 2, size + 1))
    for row, (a, b) in zip(rows, combinations(range(SYSTEMS), 2), strict=True):
        row[a], row[b] = 1.0, -1.0
    return rows[:, 1:]


def one_study(seed: int, sds: tuple[float, float]) -> list[tuple[str, float, int, int]]:
    """Return for both methods the share of p < .05, whether any pair is significant, and how many."""
    data = simulated(seed, sds)
    ours, most = restricted(data, 0.1), fit_tied(data)
    rows = contrasts(data.coefficients)
    z = rows @ most.coefficients / np.sqrt(np.einsum("ij,jk,ik->i", rows, most.covariance, rows))
    p = {"maximum likelihood, z": 2 * stats.norm.sf(np.abs(z)),
         "compare": np.array([ours.test(row)[3] for row in rows])}  # fmt: skip
    n = len(rows)
    return [(name, float((own < 0.05).mean()), int(own.min() < 0.05 / n), int((own < 0.05 / n).sum()))
            for name, own in p.items()]  # fmt: skip


def main() -> None:
    """Run what is missing, and print both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", type=int, default=100)
    parser.add_argument("--sds", type=float, nargs=2, default=(0.79, 0.91))
    parser.add_argument("--out", type=Path, default=Path("preference_level.csv"))
    args = parser.parse_args()
    sds = float(args.sds[0]), float(args.sds[1])
    with args.out.open("a", newline="") as file:
        if not file.tell():
            csv.writer(file).writerow(FIELDS)
    rows = list(csv.DictReader(args.out.open()))
    known = {int(row["seed"]) for row in rows if (float(row["rater_sd"]), float(row["item_sd"])) == sds}
    for seed in set(range(args.datasets)) - known:
        found = one_study(seed, sds)
        with args.out.open("a", newline="") as file:
            csv.writer(file).writerows((*sds, seed, *row) for row in found)
    rows = list(csv.DictReader(args.out.open()))
    for cell in dict.fromkeys((row["rater_sd"], row["item_sd"], row["method"]) for row in rows):
        mine = [row for row in rows if (row["rater_sd"], row["item_sd"], row["method"]) == cell]
        means = (np.mean([float(row[name]) for row in mine]) for name in FIELDS[4:])
        print(*cell, len(mine), *(f"{name} {mean:.4f}" for name, mean in zip(FIELDS[4:], means, strict=True)))


if __name__ == "__main__":
    main()
