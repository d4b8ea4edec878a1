r"""One panel of Howcroft & Rieser's curves through R, beside the native engine on the same datasets.

    python benchmarks/panel_through_r.py STORE_R STORE_FAST [--out FOLDER]

Both stores are folders of the same run, low variance with 3 ratings per text, by R and natively:

    ordbridge power --preset howcroft2021 --variance low --items 50 100 --ratings 3 --effects 0 0.155 0.31 0.465 0.62 \
        --models lmer clmm --sims 100 --seed 42 --engine r --start fast --store STORE_R
    ordbridge power (the same) --engine fast --store STORE_FAST

Written are ``panel_through_r.csv`` (power of each cell and model by both, and how far p-values are apart) and
``panel_through_r_cases.csv`` (every dataset whose p differs by more than 1 %, with both log likelihoods).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd

from ordbridge.power import load

KEYS = ["cell", "replicate", "model"]
AXES = ["variance", "items", "ratings_per_text", "effect"]
FITTED = ["p_value", "loglik", "status", "message"]
FAR = 0.01  # of p


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


def main() -> None:
    """Compare, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("r", type=Path, metavar="STORE_R")
    parser.add_argument("fast", type=Path, metavar="STORE_FAST")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    both = side_by_side(args.r, args.fast)
    table = summary(both, load(args.r).alpha)
    cases = both[(both["apart"] > FAR) | both["p_value_r"].isna() | both["p_value_fast"].isna()]
    print(table.to_string(index=False, float_format=lambda x: f"{x:.3g}"))
    higher = (both["loglik_r"] - both["loglik_fast"]).groupby(both["model"]).agg(["max", "min"])
    print("\nR's log likelihood less the native one, largest and smallest:\n", higher.to_string(), sep="")
    print("\np differs by more than 1 %, or is missing:\n", cases.to_string(index=False), sep="")
    if args.out:
        table.to_csv(args.out / "panel_through_r.csv", index=False, float_format="%.6g")
        cases.drop(columns=["cell"]).to_csv(args.out / "panel_through_r_cases.csv", index=False, float_format="%.6g")


if __name__ == "__main__":
    main()
