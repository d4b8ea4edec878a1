"""How often equivalence is claimed of systems that differ by just the margin: the size of two one-sided tests.

    python benchmarks/equivalence_size.py STORE [--datasets 1000]

Everyone rates 50 items under both systems, in the setting "representative" of Howcroft & Rieser (2021) with centred
slopes; margins of .5 rating points; models with maximal random effects. The systems differ by the margin to either side
(``power.run`` with ``Goal("equivalence", …)`` and ``null_datasets``), and the larger of the two sizes is shown, beside
the power where they do not differ. STORE is a folder of power runs: the same command goes on where it was.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from ordbridge.power import Goal, Grid, run
from ordbridge.simulate.presets import HOWCROFT2021

TRUTH = HOWCROFT2021.settings["representative"].shift(slope_coding="centred")


def main() -> None:
    """Run what is missing and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("store", type=Path)
    parser.add_argument("--datasets", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    grid = Grid(truth=TRUTH, design="crossed", items=50, ratings_per_text=[3, 5, 10, 20], effect=0.0)
    goal = {"goal": Goal("equivalence", margin=0.5), "null_datasets": args.datasets}
    found = run(
        grid, {"clmm": {}, "lmer": {}}, args.datasets, seed=7, engine="fast", jobs=args.jobs, store=args.store, **goal
    )
    print("| raters | model | n | size at the margin | power | size-adjusted power |", "|---" * 6 + "|", sep="\n")
    for row in found.power().to_pylist():
        size = f"{row['size']:.3f} [{row['size_low']:.3f}, {row['size_high']:.3f}]"
        words = [row["ratings_per_text"], row["model"], row["size_n"], size, f"{row['power']:.3f}"]
        print(f"| {' | '.join(map(str, [*words, round(row['adjusted_power'], 3)]))} |")


if __name__ == "__main__":
    main()
