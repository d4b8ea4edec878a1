"""The power that the closed form of ``plan --win-rate`` promises, simulated.

    python benchmarks/preference_plans.py [--datasets 100]

For six designs that should find a win rate of 55 % with 80 % power: studies are simulated with as many comparisons as
planned, raters and items as even as possible, and analysed as ``compare`` does.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse

import numpy as np
from scipy import optimize

from ordbridge.preferences import PairTable, plan_comparisons
from ordbridge.preferences.analysis import analyse
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


def main() -> None:
    """Print planned comparisons and simulated power."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", type=int, default=100)
    args = parser.parse_args()
    print("| SD | ties | raters | items | comparisons | power |", "|---|---|---|---|---|---|", sep="\n")
    for sd, ties, raters, items in CASES:
        plan = plan_comparisons(WIN_RATE, raters=raters, items=items, rater_sd=sd, item_sd=sd, ties=ties)
        n = plan.options["comparisons"][0].as_py()
        rng = np.random.default_rng(1)
        power = np.mean([found(rng, n, sd, ties, raters, items) for _ in range(args.datasets)])
        print("", sd, ties, raters or "–", items or "–", n, f"{power:.3f}", "", sep=" | ", flush=True)


if __name__ == "__main__":
    main()
