"""What intervals of ``fit.means`` of a clmm cover with few raters: Student's t beside z.

    python benchmarks/means_coverage.py [--datasets 150]

Two systems, crossed, 30 items, five categories, with the truths of ``compare_size.py`` and an effect of .3 on the
latent scale; random slopes of participants and items.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from compare_size import Cell, expected, qualities, study, truth_of

import ordbridge as ob

FORMULA = "rating ~ system + (system | participant) + (system | item)"


def covered(cell: Cell, dataset: int) -> list[list[bool]]:
    """Tell for t and for z which of both means and the difference lie in their intervals."""
    truth = truth_of(cell)
    quality = qualities(truth, 0.3)
    first, second = expected(truth, quality) + 1
    fit = ob.clmm(FORMULA, study(cell, truth, quality, np.random.default_rng([cell.raters, dataset])), engine="fast")
    found = []
    for df in ("satterthwaite", "asymptotic"):
        rows = fit.means("system", adjust="none", df=df).table.to_pylist()
        true = (first, second, first - second)
        found.append([row["conf_low"] <= value <= row["conf_high"] for row, value in zip(rows, true, strict=True)])
    return found


def main() -> None:
    """Print a row for each kind of study."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--datasets", type=int, default=150)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| raters | spread | n | t: means | difference | z: means | difference |", "|---" * 7 + "|", sep="\n")
    for raters in (3, 5, 20):
        for spread in ("equal", "off centre"):
            cell = Cell(2, raters, "crossed", 5, spread, 30)
            kept = []
            for dataset in range(args.datasets):
                try:
                    kept.append(covered(cell, dataset))
                except ob.FitError:  # a draw that clmm cannot fit
                    continue
            t, z = np.array(kept).mean(axis=0)
            numbers = [f"{t[:2].mean():.3f}", f"{t[2]:.3f}", f"{z[:2].mean():.3f}", f"{z[2]:.3f}"]
            print(f"| {raters} | {spread} | {len(kept)} | {' | '.join(numbers)} |", flush=True)


if __name__ == "__main__":
    main()
