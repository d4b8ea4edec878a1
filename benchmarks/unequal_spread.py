"""What ``fit.assumptions()`` finds: an example with its picture, and how often its tests reject.

    python benchmarks/unequal_spread.py [--datasets 500] [--picture docs/thresholds.png]

The example: 40 items, 12 raters, three systems, of which the second scatters 1.6 times and the third 0.7 times as much
as the first. The table: two systems rated by 6 or 12 raters on 20 or 50 items each, five categories, a clmm with
crossed random intercepts; shares of datasets in which each test rejects at the 5 % level where the model holds, where
the second system scatters 1.5 times as much, and where it moves only the lowest threshold (by 0.8). The last column is
the share in which the location effect, 0 in truth, has p < .05 in the model that ignores all this.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import pyarrow as pa

import ordbridge as ob

FORMULA = "rating ~ system + (1 | participant) + (1 | item)"
CUTS = (-1.4, -0.5, 0.4, 1.4)


def example() -> ob.Fit:
    """Fit the study of the example."""
    truth = ob.simulate.Truth(
        effects=(0.4, 0.7),
        thresholds=CUTS,
        participant_sd=(0.6, 0.4),
        item_sd=(0.8, 0.3),
        residual_spread=(1.6, 0.7),
    )
    ratings = ob.simulate.ratings(ob.design.crossed(items=40, raters=12, systems=3), truth, 1)
    return ob.clmm(FORMULA, ratings, engine="fast", link="probit")


def study(items: int, raters: int, spread: float, lowest: float, seed: int) -> pa.Table:
    """Simulate a study in which system B has another residual spread, or another lowest threshold."""
    plan = ob.design.crossed(items=items, raters=raters)
    truth = ob.simulate.Truth(
        effects=0.0, thresholds=CUTS, participant_sd=(0.5, 0.0), item_sd=(0.6, 0.0), residual_spread=spread
    )
    drawn = ob.simulate.ratings(plan, truth, seed, latent=True)
    second = np.array(drawn["system"].to_pylist()) == "B"
    cuts = np.where(second[:, None], [CUTS[0] - lowest, *CUTS[1:]], [CUTS])
    rating = 1 + (drawn["latent"].to_numpy()[:, None] > cuts).sum(axis=1)
    return drawn.set_column(drawn.column_names.index("rating"), "rating", pa.array(rating))


def rejections(items: int, raters: int, spread: float, lowest: float, datasets: int) -> np.ndarray:
    """Return the shares of datasets in which the tests of nominal and scale effects and of location reject."""
    found = []
    for seed in range(datasets):
        fit = ob.clmm(FORMULA, study(items, raters, spread, lowest, seed), engine="fast", link="probit")
        tests = fit.assumptions()
        p = [table["p_value"][1].as_py() for table in (tests.nominal_test, tests.scale_test)]
        found.append([np.nan if value is None else value < 0.05 for value in (*p, fit.p_value("system"))])
    return np.nanmean(np.array(found, dtype=float), axis=0)


def main() -> None:
    """Print the sentences and the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", type=int, default=500)
    parser.add_argument("--picture", help="where to save the picture of the example")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    tests = example().assumptions()
    print(tests, "\n")
    if args.picture:
        ob.figures.thresholds(tests).savefig(args.picture)
    print("| raters | items | what is true | nominal test | scale test | location |\n|---|---|---|---|---|---|")
    for raters, items in ((6, 20), (12, 20), (12, 50)):
        for words, spread, lowest in (
            ("the model", 1.0, 0.0),
            ("spread 1.5", 1.5, 0.0),
            ("one threshold moves", 1.0, 0.8),
        ):
            shares = " | ".join(f"{share:.3f}" for share in rejections(items, raters, spread, lowest, args.datasets))
            print(f"| {raters} | {items} | {words} | {shares} |", flush=True)


if __name__ == "__main__":
    main()
