"""Seconds and memory of the tied model at the size of an arena.

    python benchmarks/preference_speed.py [--votes 9000 --systems 60 --raters 124 --items 13] [--restricted]

Simulated votes with ties, raters and items with preferences of SD 0.6. Without ``--items`` there are no items. By
default maximum likelihood; ``--restricted`` fits what ``compare`` tests with.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import resource
import time

import numpy as np

from ordbridge.preferences.fitting import fit_tied, restricted
from ordbridge.preferences.tied import Comparisons


def main() -> None:
    """Simulate, fit, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, usual in (("votes", 9000), ("systems", 60), ("raters", 124), ("items", 0)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--restricted", action="store_true")
    args = parser.parse_args()
    rng = np.random.default_rng(1)
    n, S = args.votes, args.systems
    a = rng.integers(0, S, n)
    b = (a + 1 + rng.integers(0, S - 1, n)) % S
    strength = rng.normal(0, 0.7, S)
    eta = strength[a] - strength[b] + 0.1
    groups = []
    for levels in (args.raters, args.items):
        if levels:
            level = rng.integers(0, levels, n)
            own = rng.normal(0, 0.6, (levels, S)).astype(np.float32)
            eta += own[level, a] - own[level, b]
            groups.append(level)
    y = np.searchsorted([-0.4, 0.4], eta + rng.logistic(size=n))
    data = Comparisons(a, b, y, 3, S, tuple(groups), position=True)
    wall, busy = time.perf_counter(), time.process_time()
    fit = restricted(data, 0.1) if args.restricted else fit_tied(data)
    wall, busy = time.perf_counter() - wall, time.process_time() - busy
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    right = np.corrcoef(np.append(0.0, fit.coefficients[: S - 1]), strength)[0, 1]
    print(f"{n:,} votes, {S} systems, {args.raters:,} raters, {args.items:,} items")
    print(f"{wall:.1f} s, {busy:.1f} s of processor time, {memory:.1f} GB; converged: {fit.converged}")
    print(f"SDs {np.round(fit.sd, 3).tolist()}, correlation of strengths with the truth {right:.4f}")


if __name__ == "__main__":
    main()
