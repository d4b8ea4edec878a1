r"""One panel of Howcroft & Rieser's curves through R, beside the native engine on the same datasets.

    python benchmarks/panel_through_r.py STORE_R STORE_FAST [--out FOLDER]

Both stores are folders of the same run, low variance with 3 ratings per text, by R and natively:

    ordbridge power --preset howcroft2021 --variance low --items 50 100 --ratings 3 --effects 0 0.155 0.31 0.465 0.62 \
        --models lmer clmm --sims 100 --seed 42 --engine r --start fast --store STORE_R
    ordbridge power (the same) --engine fast --store STORE_FAST

Written are ``panel_through_r.csv`` (power of each cell and model by both, and how far p-values are apart) and
``panel_through_r_cases.csv`` (every dataset whose p differs by more than 1 %, with both log likelihoods, and for lmer
what R's other search, Nelder–Mead, says of it).
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from ordbridge.bridge import rscript
from ordbridge.power import load
from ordbridge.simulate import Simulator

KEYS = ["cell", "replicate", "model"]
AXES = ["variance", "items", "ratings_per_text", "effect"]
FITTED = ["df", "p_value", "loglik", "status", "message"]
FAR = 0.01  # of p
SAME = 1e-3  # of log likelihood


def side_by_side(r: Path, fast: Path) -> pd.DataFrame:
    """Return one row per dataset and model, with what both engines say."""
    tables = []
    for store in (r, fast):
        run = load(store)
        cells = pd.DataFrame([{"cell": cell.label, **dict(cell.axes)} for cell in run.grid.cells])
        tables.append(run.fits.to_pandas()[KEYS + FITTED].merge(cells, on="cell"))
    both = tables[0].merge(tables[1], on=[*KEYS, *AXES], suffixes=("_r", "_fast"), how="outer")
    both["apart"] = (both["p_value_fast"] / both["p_value_r"] - 1).abs()
    return both


def summary(both: pd.DataFrame, alpha: float) -> pd.DataFrame:
    """Return the powers of each cell and model; a fit without a p-value is not significant."""
    found = both.assign(r=both["p_value_r"] < alpha, fast=both["p_value_fast"] < alpha)
    found["decided"] = (found["r"] != found["fast"]) & both[["p_value_r", "p_value_fast"]].notna().all(axis=1)
    return (
        found.groupby(["items", "effect", "model"])
        .agg(
            n=("r", "size"),
            power_r=("r", "mean"),
            power_fast=("fast", "mean"),
            no_p_r=("p_value_r", lambda p: int(p.isna().sum())),
            no_p_fast=("p_value_fast", lambda p: int(p.isna().sum())),
            decisions_differ=("decided", "sum"),
            median_apart=("apart", "median"),
            largest_apart=("apart", "max"),
            over_1_percent=("apart", lambda apart: int((apart > FAR).sum())),
        )
        .reset_index()
    )


def searched_again(cases: pd.DataFrame, store: Path) -> pd.DataFrame:
    """Return lmer's cases with log likelihood and p of R's other search."""
    run = load(store)
    cells = {cell.label: cell for cell in run.grid.cells}
    found = cases.assign(loglik_again=np.nan, p_value_again=np.nan)
    linear = found.index[found["model"] == "lmer"]
    with tempfile.TemporaryDirectory() as folder:
        for number, at in enumerate(linear):
            cell, replicate = cells[found.at[at, "cell"]], int(found.at[at, "replicate"])
            rating = Simulator(cell.design, cell.truth, cell.variant).draw(
                cell.stream(run.manifest["seed"], replicate)
            )[0]
            table = cell.design.to_pandas().assign(rating=rating)
            table["system"] = (table["system"] == max(cell.systems)).astype(int)
            table.to_csv(Path(folder) / f"{number:04d}.csv", index=False)
        printed = rscript.run(Path(__file__).with_name("lmer_again.R"), folder)
    found.loc[linear, ["loglik_again", "p_value_again"]] = [
        [float(word) for word in line.split()] for line in printed.splitlines()
    ]
    return found


def main() -> None:
    """Compare, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("r", type=Path, metavar="STORE_R")
    parser.add_argument("fast", type=Path, metavar="STORE_FAST")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    both = side_by_side(args.r, args.fast)
    alpha = load(args.r).alpha
    table = summary(both, alpha)
    cases = both[(both["apart"] > FAR) | both["p_value_r"].isna() | both["p_value_fast"].isna()]
    print(table.to_string(index=False, float_format=lambda x: f"{x:.3g}"))
    higher = (both["loglik_r"] - both["loglik_fast"]).groupby(both["model"]).agg(["max", "min"])
    print("\nR's log likelihood less the native one, largest and smallest:\n", higher.to_string(), sep="")
    warned = cases["status_r"].eq("warning").sum()
    print(
        f"\np differs by more than 1 %, or is missing, in {len(cases)} of {len(both)} fits; R warns in {warned} of them"
    )
    cases = searched_again(cases, args.r)
    there = (cases["loglik_again"] - cases["loglik_fast"]).abs() < SAME
    agree = (cases["p_value_again"] / cases["p_value_fast"] - 1).abs() <= FAR
    higher = (cases["loglik_again"] > cases["loglik_fast"] + SAME).sum()
    decided = ((cases["p_value_again"] < alpha) == (cases["p_value_fast"] < alpha)).sum()
    print(
        f"R's other search ends at the native maximum in {there.sum()} of them, with the native p in "
        f"{(there & agree).sum()} and the native decision in {decided}; above it in {higher}"
    )
    if args.out:
        table.to_csv(args.out / "panel_through_r.csv", index=False, float_format="%.10g")
        cases.drop(columns=["cell"]).to_csv(args.out / "panel_through_r_cases.csv", index=False, float_format="%.10g")


if __name__ == "__main__":
    main()
