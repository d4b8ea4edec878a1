"""Blocks a point apart with systems unevenly spread over them: the answer with recognised blocks, and the naive one.

    python benchmarks/blocks.py [--studies 100]

Two systems that do not differ, then two that differ by 5 points; B has most of its texts in the harder block. An answer
is right if it finds no difference where there is none, and where there is one does not call the worse system better.
"""

from __future__ import annotations

import argparse
import os
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd

import ordbridge as ob
from ordbridge.comparison import CompareOptions


def study(seed: int, effect: float) -> pd.DataFrame:
    random = np.random.default_rng([32, 9, seed])
    rows, people = [], random.normal(0, 0.4, 10)
    for dataset, sizes in (("easy", {"A": 30, "B": 8}), ("hard", {"A": 8, "B": 30})):
        for system, items in sizes.items():
            for item in range(items):
                own = random.normal(0, 0.4)
                for rater in random.choice(10, 3, replace=False):
                    latent = effect * (system == "B") - (dataset == "hard") + own + people[rater]
                    value = round(60 + 10 * (latent + random.normal(0, 0.6)), 1)
                    rows.append((f"p{rater}", f"{dataset}{system}{item}", system, value, dataset))
    return pd.DataFrame(rows, columns=["participant", "item", "system", "rating", "dataset"])


def found(table: pd.DataFrame, blocks: str | None) -> tuple[bool, float]:
    """Return whether the systems differ, and B's difference from A."""
    options = CompareOptions(blocks=blocks)
    (row,) = ob.compare(table, engine="fast", model="lmer", force=True, options=options).pairs.to_pylist()
    return row["p_value"] < 0.05, row["difference"] * (1 if row["system_a"] == "B" else -1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=100)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| true difference | analysis | right | mean difference |\n|---|---|---|---|")
    for effect in (0.0, 0.5):
        tables = [study(seed, effect) for seed in range(asked.studies)]
        for name, blocks in (("block recognised", None), ("naive", "none")):
            answers = [found(table, blocks) for table in tables]
            right = sum(not differs if effect == 0 else not (differs and size < 0) for differs, size in answers)
            mean = np.mean([size for _, size in answers])
            print(f"| {10 * effect:g} | {name} | {right} of {asked.studies} | {mean:.2f} |", flush=True)


if __name__ == "__main__":
    main()
