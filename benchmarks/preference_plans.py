"""The power that the closed form of ``plan --win-rate`` promises, simulated.

    python benchmarks/preference_plans.py --datasets 600 --out preference_plans.csv

For six designs that should find a win rate of 55 % with 80 % power: studies are simulated with as many comparisons as
planned, raters and items as even as possible, and analysed as ``compare`` does. The closed form takes variances for
known; with Student's t and Satterthwaite's degrees of freedom it says what that leaves out. Results are kept and added
to.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import csv
from pathlib import Path

import numpy as np
from scipy import optimize, stats

from ordbridge.preferences import PairTable, plan_comparisons
from ordbridge.preferences.analysis import analyse
from ordbridge.preferences.sample_size import points_variances
from ordbridge.preferences.win_rates import WinRates

CASES = ((0.0, 0.0, None, None), (0.0, 0.29, None, None), (0.3, 0.0, 60, 100), (0.3, 0.27, 60, 100),
         (0.5, 0.24, 150, 150), (0.5, 0.24, 100, 400))  # fmt: skip
WIN_RATE = 0.55


def truth(sd: float, ties: float) -> tuple[float, float]:
    """Return the difference of strengths and the edge of the tie that give win rate and ties."""

    def of(tie: float) -> tuple[float, WinRates]:
        rates = WinRates(2 * sd, tie)
        return float(optimize.brentq(lambda eta: float(rates.points(eta)) - WIN_RATE, -9, 9)), rates

    def missing(tie: float) -> float:
        eta, rates = of(tie)
        return float(rates.ties(eta)) - ties

    tie = float(optimize.brentq(missing, 1e-9, 9)) if ties else 0.0
    return of(tie)[0], tie


def found(rng: np.random.Generator, n: int, sd: float, ties: float, raters: int | None, items: int | None) -> bool:
    """Simulate one study and say whether it finds the difference."""
    eta, tie = truth(sd, ties)
    first = np.tile([0, 1], n // 2 + 1)[:n]
    sign = np.where(first == 0, 1.0, -1.0)
    latent = sign * eta + rng.logistic(size=n)
    levels: list[np.ndarray | None] = []
    for count in (raters, items):
        if count is None:
            levels.append(None)
            continue
        level = rng.permutation(np.arange(n) % count)
        latent += sign * rng.normal(0, np.sqrt(2) * sd, count)[level]
        levels.append(level)
    y = np.searchsorted([-tie, tie] if tie else [0.0], latent)
    names = [() if count is None else tuple(map(str, range(count))) for count in (raters, items)]
    table = PairTable(("A", "B"), first, 1 - first, y, 3 if tie else 2, *levels, *names)
    return analyse(table, None, "logit", "fast", checks=False).tests[0].p_value < 0.05


def with_t(n: int, sd: float, ties: float, raters: int | None, items: int | None) -> float:
    """Return the power of the two-way t test of mean points, with Satterthwaite's degrees of freedom."""
    found = points_variances(WIN_RATE, sd, sd, ties)
    each = [(found.rater, raters), (found.item, items), (found.rest, n)]
    parts = [(variance / count, count - 1) for variance, count in each if count is not None]
    variance = sum(part for part, _ in parts)
    df = variance**2 / sum(part**2 / free for part, free in parts)
    return float(stats.nct.sf(stats.t.isf(0.025, df), df, (WIN_RATE - 0.5) / np.sqrt(variance)))


def main() -> None:
    """Run what is missing, and print planned comparisons and power."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", type=int, default=600)
    parser.add_argument("--out", type=Path, default=Path("preference_plans.csv"))
    args = parser.parse_args()
    with args.out.open("a", newline="") as file:
        if not file.tell():
            file.write("case,comparisons,seed,found\n")
    table = [tuple(map(int, row.values())) for row in csv.DictReader(args.out.open())]
    print("| SD | ties | raters | items | comparisons | closed form with t | power |", "|---|---|---|---|---|---|---|",
          sep="\n")  # fmt: skip
    for case, (sd, ties, raters, items) in enumerate(CASES):
        plan = plan_comparisons(WIN_RATE, raters=raters, items=items, rater_sd=sd, item_sd=sd, ties=ties)
        n = plan.options["comparisons"][0].as_py()
        done = {seed: hit for one, count, seed, hit in table if (one, count) == (case, n)}
        with args.out.open("a", newline="") as file:
            for seed in set(range(args.datasets)) - done.keys():
                done[seed] = int(found(np.random.default_rng([case, seed]), n, sd, ties, raters, items))
                csv.writer(file).writerow((case, n, seed, done[seed]))
                file.flush()
        power, expected = np.mean(list(done.values())), with_t(n, sd, ties, raters, items)
        error = np.sqrt(power * (1 - power) / len(done))
        row = (sd, ties, raters or "–", items or "–", n, f"{expected:.3f}", f"{power:.3f} ± {error:.3f}")
        print("", *row, "", sep=" | ", flush=True)


if __name__ == "__main__":
    main()
