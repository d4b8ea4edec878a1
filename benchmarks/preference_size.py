"""How often comparisons of equal systems are called different, and how often intervals of win rates are right.

    python benchmarks/preference_size.py --datasets 300 --out preference_size.csv

Raters × items are crossed, every pair of systems once in each cell, raters and items with preferences of SD 0.5. Of two
systems there are 20 items, of four 10. A false alarm is any pair with a corrected p-value below .05 among equal
systems; coverage is that of the 95 % intervals of single pairs where systems differ. Results are kept and added to.
"""

from __future__ import annotations

import argparse
import csv
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import numpy as np

from ordbridge.errors import FitError, InputError
from ordbridge.preferences.analysis import analyse
from ordbridge.preferences.answer import corrected, interval
from ordbridge.preferences.table import PairTable
from ordbridge.preferences.win_rates import WinRates

CUTS = {2: (0.0,), 3: (-0.4, 0.4), 5: (-1.8, -0.4, 0.4, 1.8)}
SD = 0.5
SYSTEMS, RATERS, CATEGORIES = (2, 4), (3, 5, 10, 20), (2, 3, 5)
FIELDS = ("systems", "raters", "categories", "effect", "seed", "alarm", "covered", "pairs")


def simulated(rng: np.random.Generator, systems: int, raters: int, categories: int, strength: np.ndarray) -> PairTable:
    """Return one study."""
    items = 20 if systems == 2 else 10
    pairs = np.array(list(combinations(range(systems), 2)))
    r, i, p = (x.ravel() for x in np.meshgrid(*map(np.arange, (raters, items, len(pairs))), indexing="ij"))
    a, b = pairs[p].T
    flip = rng.random(len(a)) < 0.5
    a, b = np.where(flip, b, a), np.where(flip, a, b)
    u, v = rng.normal(0, SD, (raters, systems)), rng.normal(0, SD, (items, systems))
    eta = strength[a] - strength[b] + u[r, a] - u[r, b] + v[i, a] - v[i, b] + rng.logistic(size=len(a))
    y = np.searchsorted(CUTS[categories], eta)
    names = [tuple(map(str, range(n))) for n in (systems, raters, items)]
    return PairTable(names[0], a, b, y, categories, r, i, names[1], names[2])


def one_study(systems: int, raters: int, categories: int, effect: float, seed: int) -> dict[str, float]:
    """Analyse one study, and say whether any pair differs and how many intervals are right."""
    rng = np.random.default_rng([systems, raters, categories, int(100 * effect), seed])
    strength = effect * np.arange(systems)
    table = simulated(rng, systems, raters, categories, strength)
    row = {"systems": systems, "raters": raters, "categories": categories, "effect": effect, "seed": seed}
    try:
        found = analyse(table, None, "logit", "fast", checks=False)
    except (FitError, InputError):
        return row | {"alarm": 0, "covered": 0, "pairs": 0}
    [pairs] = corrected([found], "holm", True, 0.05)
    tie = CUTS[categories][-1 if categories == 3 else 2] if categories % 2 else 0.0
    truth = WinRates(SD * 2.0, tie)
    covered = 0
    for pair in pairs:
        low, high = interval(found, replace(pair, level=0.95))
        right = float(truth.points(strength[pair.test.a] - strength[pair.test.b]))
        covered += low is not None and high is not None and low <= right <= high
    return row | {"alarm": int(any(pair.p_adjusted < 0.05 for pair in pairs)), "covered": covered, "pairs": len(pairs)}


def main() -> None:
    """Run what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", type=int, default=300)
    parser.add_argument("--effect", type=float, nargs="+", default=[0.0, 0.3])
    parser.add_argument("--raters", type=int, nargs="+", default=list(RATERS))
    parser.add_argument("--out", type=Path, default=Path("preference_size.csv"))
    args = parser.parse_args()
    done = list(csv.DictReader(args.out.open())) if args.out.exists() else []
    known = {tuple(float(row[name]) for name in FIELDS[:5]) for row in done}
    with args.out.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if not done:
            writer.writeheader()
        for seed, effect, systems, raters, categories in product(
            range(args.datasets), args.effect, SYSTEMS, args.raters, CATEGORIES
        ):
            if (systems, raters, categories, effect, seed) not in known:
                writer.writerow(one_study(systems, raters, categories, effect, seed))
                file.flush()
    rows = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(args.out.open())]
    print("| systems | raters | K | false alarms | covered, equal | covered, different | datasets |")
    print("|---|---|---|---|---|---|---|")
    for cell in product(SYSTEMS, args.raters, CATEGORIES):
        mine = [row for row in rows if (row["systems"], row["raters"], row["categories"]) == cell]
        null, other = ([row for row in mine if (row["effect"] == 0) == equal] for equal in (True, False))
        if null and other:
            alarm = np.mean([row["alarm"] for row in null])
            covered = [
                sum(r["covered"] for r in part) / max(1, sum(r["pairs"] for r in part)) for part in (null, other)
            ]
            print("", *cell, *(f"{x:.3f}" for x in (alarm, *covered)), len(null), "", sep=" | ")


if __name__ == "__main__":
    main()
