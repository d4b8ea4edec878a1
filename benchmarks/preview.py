"""The power that a plan previews in closed form, beside simulated power.

    python benchmarks/preview.py STORE [--datasets 400] [--null 1000] [--models clmm lmer]

Designs: the five settings of Howcroft & Rieser (2021) × 30, 60, 120, 240 items × 2, 3, 5 ratings per text, 25 texts per
participant (60 designs), with treatment and with centred slopes in turn. The effect of each is the one that a normal
test with known variances would find in 40, 60 or 80 % of studies, in turn, so that differences can show. STORE keeps
every fit; a run that was stopped goes on. As many datasets without a difference as ``--null`` says give each design
the size of the printed test and the critical value that keeps the level; with ``--null 0`` only the printed test is
compared.
"""

from __future__ import annotations

import argparse
import math
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from scipy.stats import norm

from ordbridge.planning.closed_form import preview, sources_of
from ordbridge.power import Grid, run
from ordbridge.simulate import Truth
from ordbridge.simulate.presets import HOWCROFT2021

AIMS = (0.4, 0.6, 0.8)
MODELS: dict[str, dict[str, bool]] = {"clmm": {}, "lmer": {"REML": True}}


def designs() -> list[tuple[str, Truth, int, int]]:
    """Return setting, truth with its effect, items and ratings of each design."""
    rows = []
    for name, setting in HOWCROFT2021.settings.items():
        for items in (30, 60, 120, 240):
            for ratings in (2, 3, 5):
                number = len(rows)
                truth = setting.shift(slope_coding=("treatment", "centred")[number % 2])

                _, raters, texts, noise = sources_of(truth).of_pair(0, 1)
                error = math.sqrt(raters * 25 / (2 * items * ratings) + texts / items + noise / (items * ratings))
                effect = round((norm.ppf(AIMS[number % 3]) + norm.ppf(0.975)) * error, 2)
                rows.append((name, truth.shift(effect=effect), items, ratings))
    return rows


def _preview(truth: Truth, items: int, ratings: int, model: str) -> dict[str, float]:
    return preview(truth, items, ratings, model=model).to_pylist()[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store")
    parser.add_argument("--datasets", type=int, default=400)
    parser.add_argument("--null", type=int, default=1000)
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    args = parser.parse_args()
    rows = []
    for number, (setting, truth, items, ratings) in enumerate(designs()):
        design = {"kind": "counterbalanced", "texts_per_participant": 25}
        grid = Grid(truth=truth, design=design, items=items, ratings_per_text=ratings)
        models = {name: MODELS[name] for name in args.models}
        found = run(grid, models, args.datasets, engine="fast", store=f"{args.store}/{number}", null_datasets=args.null)
        for row in found.power().to_pylist():
            said = _preview(truth, items, ratings, row["model"])
            rows.append(
                {
                    "setting": setting,
                    "slopes": truth.slope_coding,
                    "items": items,
                    "ratings": ratings,
                    "raters": said["participants"],
                    "effect": truth.effects[0],
                    "model": row["model"],
                    "preview": said["power"],
                    "simulated": row["power"],
                    "difference": said["power"] - row["power"],
                    "adjusted preview": said["adjusted"],
                    "adjusted": (adjusted := row.get("adjusted_power", math.nan)),
                    "adjusted difference": said["adjusted"] - adjusted,
                    "size preview": said["size"],
                    "size": row.get("size", math.nan),
                }
            )
        print(pd.DataFrame(rows[-len(models) :]).round(3).to_string(index=False, header=number == 0), flush=True)
    table = pd.DataFrame(rows)
    print()
    for model, mine in table.groupby("model"):
        for words, simulated, column in (
            ("printed test", "simulated", "difference"),
            ("at a critical value that keeps the level", "adjusted", "adjusted difference"),
        ):
            off = mine[column].dropna()
            if off.empty:
                continue
            noise = np.sqrt((mine[simulated] * (1 - mine[simulated])).mean() / args.datasets)
            true = np.sqrt(max(off.var() - noise**2, 0))
            print(
                f"{model}, {words}: {len(mine)} designs, bias {off.mean():+.3f}, largest {off.abs().max():.3f}, "
                f"{(off.abs() <= 0.05 + 2 * noise).mean():.0%} within .05 and two Monte Carlo errors ({noise:.3f}); "
                f"standard deviation of the differences beyond Monte Carlo error {true:.3f}"
            )
        size = (mine["size preview"] - mine["size"]).dropna()
        if size.empty:
            continue
        print(f"{model}, size of the printed test: bias {size.mean():+.4f}, largest {size.abs().max():.3f}")


if __name__ == "__main__":
    main()
