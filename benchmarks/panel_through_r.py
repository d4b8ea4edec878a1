r"""One panel of Howcroft & Rieser's curves through R, beside the native engine on the same datasets.

    python benchmarks/panel_through_r.py STORE_R STORE_FAST [--out FOLDER]

Both stores are folders of the same run, low variance with 3 ratings per text, by R and natively:

    ordbridge power --preset howcroft2021 --variance low --items 50 100 --ratings-per-text 3 \
        --effect 0 0.155 0.31 0.465 0.62 --models lmer clmm --datasets 100 --seed 42 --engine r --start fast \
        --store STORE_R
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
from pyarrow import csv

from ordbridge.bridge import rscript
from ordbridge.power import load
from ordbridge.simulate import ratings

KEYS = ["cell", "replicate", "model"]
AXES = ["variance", "items", "ratings_per_text", "effect"]
FITTED = ["df", "p_value", "loglik", "status", "message", "seconds"]
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
            table = ratings(cell.design, cell.truth, cell.stream(run.manifest["seed"], replicate), cell.variant)
            csv.write_csv(table, Path(folder) / f"{number:04d}.csv")
        printed = rscript.run(Path(__file__).with_name("lmer_again.R"), folder)
    found.loc[linear, ["loglik_again", "p_value_again"]] = [
        [float(word) for word in line.split()] for line in printed.splitlines()
    ]
    return found


def words(both: pd.DataFrame, cases: pd.DataFrame, alpha: float) -> list[str]:
    """Return what the page says of the panel, in sentences."""
    short = cases["loglik_fast"] - cases["loglik_r"]
    r, fast, again = (cases[f"p_value_{name}"] < alpha for name in ("r", "fast", "again"))
    there = (cases["loglik_again"] - cases["loglik_fast"]).abs() < SAME
    agree = there & ((cases["p_value_again"] / cases["p_value_fast"] - 1).abs() <= FAR)
    unfinished = cases["message_r"].str.contains("failed to converge")
    ordinal = both.loc[both["model"] == "clmm", "apart"].nlargest(2).to_list()
    return [
        f"clmm's p differs by {ordinal[0]:.2%} at most, next {ordinal[1]:.3%}",
        f"p differs by more than {FAR:.0%}, or is missing, in {len(cases)} of {len(both)} fits; R warns in "
        f"{cases['status_r'].eq('warning').sum()} of them, in {unfinished.sum()} that it failed to converge",
        f"there R's log likelihood is lower by {short.median():.1f} in the median, by {short.min():.1g} to "
        f"{short.max():.1f}; by less than .02 in {(short < 0.02).sum()}",
        f"significant by R alone: {(r & ~fast).sum()}, natively alone: {(fast & ~r).sum()}",
        f"R's other search ends at the native maximum in {there.sum()} of them, with the native p in {agree.sum()}; "
        f"above it in {(cases['loglik_again'] > cases['loglik_fast'] + SAME).sum()}; with the native decision in "
        f"{(again == fast).sum()}",
        *(f"hours of fitting, {name}: {both[f'seconds_{name}'].sum() / 3600:.2g}" for name in ("r", "fast")),
    ]


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
    cases = searched_again(cases, args.r)
    print(table.to_string(index=False, float_format=lambda x: f"{x:.3g}"))
    print(*words(both, cases, alpha), sep="\n")
    if args.out:
        cases = cases.drop(columns=["cell", "seconds_r", "seconds_fast"])
        table.to_csv(args.out / "panel_through_r.csv", index=False, float_format="%.10g")
        cases.to_csv(args.out / "panel_through_r_cases.csv", index=False, float_format="%.10g")


if __name__ == "__main__":
    main()
