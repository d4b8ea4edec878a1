"""Random effects and tests that might keep comparisons with 10 to 20 raters at their level, side by side.

    python benchmarks/compare_remedies.py STORE --datasets 100
    python benchmarks/compare_remedies.py STORE --report

Studies are those of ``compare_small_studies.py`` with 10 to 20 raters, in which no system is better. Each is fitted
with the random effects that the data support and with all that the design identifies, and all pairs are tested by
Wald's z, by Student's t with the degrees of freedom of the linear mixed model, by the likelihood ratio, and in that
linear model. Printed are the shares of studies in which the smallest p-value, corrected by Holm, is below .05. STORE is
a file of JSON lines, to which new ones are added.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from compare_small_studies import CELLS, Cell, truth_of
from scipy import stats

import ordbridge as ob
from ordbridge.comparison.student import degrees_of_freedom
from ordbridge.design import crossed
from ordbridge.models.inference.adjust import holm
from ordbridge.models.inference.marginal_means import Effects, effects
from ordbridge.simulate import Simulator

STRUCTURES, TESTS = {"sup": "supported", "max": "maximal"}, ("wald", "lrt", "t", "lmer")


def study(cell: Cell, dataset: int) -> pa.Table:
    """Return the ratings of one study."""
    plan = crossed(cell.items, cell.raters, cell.systems)
    words = [cell.raters, cell.items, cell.systems, ("low", "high").index(cell.variance), dataset]
    rating = Simulator(plan, truth_of(cell)).draw(np.random.SeedSequence(words))[0]
    return plan.append_column("rating", [rating])


def statistics(found: Effects) -> np.ndarray:
    """Return difference over standard error for every pair."""
    k = len(found.cells)
    C = np.zeros((len(found.pairs), k))
    for row, (i, j) in enumerate(found.pairs):
        C[row, i], C[row, j] = 1.0, -1.0
    spread = np.sqrt(np.diag(C @ found.covariance[:k, :k] @ C.T))
    ratios: np.ndarray = np.abs(C @ found.estimate[:k]) / spread
    return ratios


def smallest(ratings: pa.Table, formula: str) -> dict[str, float]:
    """Return the smallest corrected p-value by each test."""
    fit = ob.clmm(formula, ratings, engine="fast")
    found = effects(fit, "system")
    numbers = ratings.set_column(ratings.column_names.index("rating"), "rating", ratings["rating"].cast(pa.float64()))
    apart = np.array([found.combinations[i] - found.combinations[j] for i, j in found.pairs])
    df = degrees_of_freedom(fit, numbers, np.column_stack([np.zeros(len(apart)), apart]))
    z = statistics(found)
    linear = statistics(effects(ob.lmer(formula, numbers, engine="fast"), "system"))
    names = [name for name, kind in zip(fit.estimates.terms, fit.estimates.effects, strict=True) if kind == "fixed"]
    weights = [{name: float(w) for name, w in zip(names, row, strict=True) if w} for row in apart]
    ratios = [fit.test(one, method="lrt")["p_value"][0].as_py() for one in weights]
    p_values = {"wald": 2 * stats.norm.sf(z), "t": 2 * stats.t.sf(z, df), "lmer": 2 * stats.t.sf(linear, df)}
    return {name: float(holm(np.array(p)).min()) for name, p in (p_values | {"lrt": np.array(ratios)}).items()}


def extend(store: Path, datasets: int) -> None:
    """Add what is missing, a dataset of every cell at a time."""
    done = {tuple(row["key"]) for row in rows(store)}
    for dataset in range(datasets):
        for cell in (cell for cell in CELLS if 10 <= cell.raters <= 20 and cell.systems < 4):
            if (key := (*cell, dataset)) in done:
                continue
            ratings = study(cell, dataset)
            chosen = ob.random_effects(ratings, slopes_up_to=3)
            found = {name: smallest(ratings, getattr(chosen, which)) for name, which in STRUCTURES.items()}
            with store.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"key": key, **found}) + "\n")


def rows(store: Path) -> list[dict[str, Any]]:
    """Return what is stored."""
    return [json.loads(line) for line in store.read_text(encoding="utf-8").splitlines()] if store.exists() else []


def report(store: Path) -> None:
    """Print the table of the documentation."""
    found = rows(store)
    print(f"{len(found)} studies\n\n| random effects | {' | '.join(TESTS)} |\n|---|{'---|' * len(TESTS)}")
    for name, which in STRUCTURES.items():
        shares = [np.mean([row[name][test] < 0.05 for row in found]) for test in TESTS]
        print(f"| {which} | {' | '.join(f'{share:.3f}'.lstrip('0') for share in shares)} |")


def main() -> None:
    """Run or report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", type=Path)
    parser.add_argument("--datasets", type=int, default=100)
    parser.add_argument("--report", action="store_true")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if not args.report:
        extend(args.store, args.datasets)
    report(args.store)


if __name__ == "__main__":
    main()
