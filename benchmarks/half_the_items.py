"""Whether clmm with 50 items is about as powerful as lmer with 100, at representative variance with 3 ratings per text.

    python benchmarks/half_the_items.py STORE [--datasets 100000] [--write]

With 1000 datasets per cell, ``ordbridge reproduce howcroft2021 --questions 1000`` leaves this one of the six cases of
Figure 2 undecided: the difference is close to the margin of .05. Here are a hundred times as many, of which those are
the first (the same seed and cells). It prints the verdict; ``--write`` puts the powers into ``deciding.csv`` in
docs/reproduction/howcroft2021, where ``tools/judge_committed_run.py`` judges them. STORE is a folder of power runs: the
same command goes on where it was.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pyarrow as pa
from pyarrow import csv

from ordbridge.papers import howcroft2021 as paper
from ordbridge.papers import power_verdicts as judge
from ordbridge.power import Grid, run

SETTING, RATINGS = "representative", 3
COMPARED = {"clmm": 50, "lmer": 100}  # items
DECIDING = Path(__file__).resolve().parents[1] / "docs" / "reproduction" / "howcroft2021" / "deciding.csv"


def powers(model: str, store: Path, sims: int, jobs: int) -> pa.Table:
    """Run what is missing and return the power of a model at each effect, with its own number of items."""
    grid = Grid(
        preset="howcroft2021",
        variance=SETTING,
        items=COMPARED[model],
        ratings_per_text=RATINGS,
        effect=paper.effects,
        variant="corrected",
    )
    found = run(grid, {model: paper.models[model]}, sims, seed=42, engine="fast", jobs=jobs, store=store / model)
    return found.power().replace_schema_metadata(None).drop_columns(["cell", "term", "note"])


def written(tables: dict[str, pa.Table]) -> pa.Table:
    """Return the committed table with these rows in place of its own."""
    committed = csv.read_csv(DECIDING)
    for model, table in tables.items():
        own = {"variance": SETTING, "items": COMPARED[model], "ratings_per_text": RATINGS, "model": model}
        other = pa.array([any(row[name] != value for name, value in own.items()) for row in committed.to_pylist()])
        committed = pa.concat_tables(
            [committed.filter(other), table.select(committed.column_names).cast(committed.schema)]
        )
    return committed


def main() -> None:
    """Run, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", type=Path)
    parser.add_argument("--datasets", type=int, default=100_000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    tables = {model: powers(model, args.store, args.datasets, args.jobs) for model in COMPARED}
    for table in tables.values():
        print(table.select(["items", "effect", "model", "n", "power", "mc_error"]).to_pandas().to_string(index=False))
    print(*judge.not_below(judge.gap(*(table.to_pylist() for table in tables.values()))), sep="\n")
    if args.write:
        csv.write_csv(written(tables), DECIDING)


if __name__ == "__main__":
    main()
