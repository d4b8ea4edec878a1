"""Which tests of pairs hold their level in an arena: maximum likelihood with Wald's z, and what ``compare`` does.

    python benchmarks/preference_level.py --datasets 100 --out preference_level.csv

60 equal systems, 9,000 votes with ties by 124 raters on 13 items, SDs of rater:system .79 and item:system .91, as in a
public arena of that size. Of all 1,770 pairs: the share with p < .05, and whether any is significant after Bonferroni's
or Holm's correction. Results are kept and added to.
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

SYSTEMS, VOTES, RATERS, ITEMS, SDS = 60, 9000, 124, 13, (0.79, 0.91)
FIELDS = ("seed", "method", "rejected", "any", "significant")


def simulated(seed: int) -> Comparisons:
    """Return votes on equal systems."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, SYSTEMS, VOTES)
    b = (a + 1 + rng.integers(0, SYSTEMS - 1, VOTES)) % SYSTEMS
    eta = rng.logistic(size=VOTES) + 0.1
    groups = []
    for levels, sd in zip((RATERS, ITEMS), SDS, strict=True):
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


def one_study(seed: int) -> list[tuple[str, float, int, int]]:
    """Return for both methods the share of p < .05, whether any pair is significant, and how many."""
    data = simulated(seed)
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
    parser.add_argument("--out", type=Path, default=Path("preference_level.csv"))
    args = parser.parse_args()
    with args.out.open("a", newline="") as file:
        if not file.tell():
            csv.writer(file).writerow(FIELDS)
    known = {int(row["seed"]) for row in csv.DictReader(args.out.open())}
    for seed in set(range(args.datasets)) - known:
        found = one_study(seed)
        with args.out.open("a", newline="") as file:
            csv.writer(file).writerows((seed, *row) for row in found)
    rows = list(csv.DictReader(args.out.open()))
    for method in dict.fromkeys(row["method"] for row in rows):
        mine = [row for row in rows if row["method"] == method]
        means = (np.mean([float(row[name]) for row in mine]) for name in FIELDS[2:])
        print(method, len(mine), *(f"{name} {mean:.4f}" for name, mean in zip(FIELDS[2:], means, strict=True)))


if __name__ == "__main__":
    main()
