"""What ``ob.compare`` does in small studies: differences that are not there, and what intervals cover.

    python benchmarks/compare_small_studies.py STORE --datasets 100 [--draws 99] [--raters 3 5]
    python benchmarks/compare_small_studies.py STORE --report

Everyone rates every item under every system, with the truths of Howcroft & Rieser (2021) and slopes centred on the
systems; no system is better. Counted are studies in which any pair is called different (which may happen in 5 %), and
expected ratings and differences that lie in their 95 % intervals. With fewer than ten raters the test is the bootstrap,
with fewer than thirty raters or items Student's t, with more Wald's z. STORE is a CSV file to which rows are added;
what it has is not computed again.
"""

from __future__ import annotations

import argparse
import os
import warnings
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd

import ordbridge as ob
from ordbridge.design import crossed
from ordbridge.simulate import Simulator
from ordbridge.simulate.presets import HOWCROFT2021


class Cell(NamedTuple):
    """One kind of study."""

    raters: int
    items: int
    variance: str
    systems: int


CELLS = tuple(Cell(raters, 20, variance, 2) for raters in (3, 5, 10, 20) for variance in ("low", "high"))
CELLS += (Cell(5, 20, "high", 3), Cell(12, 20, "high", 3), Cell(12, 20, "high", 4))
CELLS += (Cell(10, 100, "high", 2), Cell(30, 50, "high", 2))  # few raters decide; and the fewest for Wald's z
THRESHOLDS = (-0.93, -0.31, 0.31, 0.93)  # the same in every study, so that the expected rating is known
COLUMNS = (*Cell._fields, "dataset", "draws", "test", "different", "means_covered", "pairs_covered", "slopes")


def truth_of(cell: Cell) -> ob.simulate.Truth:
    """Return a truth without an effect of any system, on a scale from 1 to 5."""
    truth = HOWCROFT2021.settings[cell.variance].shift(effects=(0.0,) * (cell.systems - 1), slope_coding="centred")
    return replace(truth, thresholds=THRESHOLDS, threshold_distribution=None)


def expected(cell: Cell) -> float:
    """Return the mean rating that new people give new items."""
    return float(ob.simulate.implied(truth_of(cell)).systems["mean"][0].as_py())


def one(cell: Cell, dataset: int, draws: int, mean: float) -> dict[str, object]:
    """Compare the systems of one study."""
    plan = crossed(cell.items, cell.raters, cell.systems)
    words = [cell.raters, cell.items, cell.systems, ("low", "high").index(cell.variance), dataset]
    rating = Simulator(plan, truth_of(cell)).draw(np.random.SeedSequence(words))[0]
    found = ob.compare(plan.append_column("rating", [rating]), engine="fast", draws=draws, anyway=True)
    pairs, ranking = found.pairs.to_pylist(), found.ranking.to_pylist()
    return {
        "test": found.models["test"][0].as_py() if pairs else "none",
        "different": any(row["adjusted"] < found.alpha for row in pairs),
        "means_covered": np.mean([row["conf_low"] <= mean <= row["conf_high"] for row in ranking]),
        "pairs_covered": np.mean([row["conf_low"] <= 0 <= row["conf_high"] for row in pairs]),
        "slopes": "system | participant" in found.models["formula"][0].as_py() if pairs else False,
    }


def extend(store: Path, datasets: int, draws: int, raters: list[int]) -> None:
    """Add what is missing, a dataset of every cell at a time."""
    done = set()
    if store.exists():
        done = {tuple(row) for row in pd.read_csv(store)[[*Cell._fields, "dataset"]].itertuples(index=False)}
    else:
        store.write_text(",".join(COLUMNS) + "\n", encoding="utf-8")
    wanted = [cell for cell in CELLS if cell.raters in raters]
    means = {cell: expected(cell) for cell in wanted if any((*cell, k) not in done for k in range(datasets))}
    for dataset in range(datasets):
        for cell in means:
            if (*cell, dataset) in done:
                continue
            row = {**cell._asdict(), "dataset": dataset, "draws": draws, **one(cell, dataset, draws, means[cell])}
            with store.open("a", encoding="utf-8") as file:
                file.write(",".join(str(row[name]) for name in COLUMNS) + "\n")


def report(store: Path) -> None:
    """Print the table of the documentation."""
    table = pd.read_csv(store)
    print("| raters | items | variance | systems | n | test | any pair different | expected ratings covered |")
    print("|---|---|---|---|---|---|---|---|")
    for key, own in table.groupby([*Cell._fields]):
        test = ", ".join(sorted(set(own.test)))
        shares = [f"{own[name].mean():.3f}".lstrip("0") for name in ("different", "means_covered")]
        print("|", " | ".join(map(str, [*key, len(own), test, *shares])), "|")


def main() -> None:
    """Run or report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", type=Path)
    parser.add_argument("--datasets", type=int, default=100)
    parser.add_argument("--draws", type=int, default=99)
    parser.add_argument("--raters", type=int, nargs="+", default=sorted({cell.raters for cell in CELLS}))
    parser.add_argument("--report", action="store_true")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if not args.report:
        extend(args.store, args.datasets, args.draws, args.raters)
    report(args.store)


if __name__ == "__main__":
    main()
