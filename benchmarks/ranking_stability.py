"""How often true places lie in their intervals, and how well the probabilities of a repetition hold.

    python benchmarks/ranking_stability.py [--studies 500]

Each study has 3, 6 or 10 systems whose true differences are nothing, small, or large beside the errors, crossed or
incomplete, ratings in five categories or from 0 to 100, and interactions of systems with raters and with items. It is
analysed by ``ob.compare``; then the same systems are rated again by new raters on new items. Printed are the share of
studies with the true places of all systems in their intervals, and by what was predicted how often the repetition kept
the order of all pairs that differed, of all systems, and the best system.
"""

from __future__ import annotations

import argparse
import os
import warnings
from itertools import pairwise

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd

import ordbridge as ob
from ordbridge.planning.stability import stability_of
from ordbridge.simulate import Truth

EDGES = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)


def ratings(random: np.random.Generator, true: np.ndarray, people: int, items: int, full: bool, five: bool):
    """Return a study of systems with these expected latent qualities."""
    k = len(true)
    p, i, s = (one.ravel() for one in np.indices((people, items, k)))
    if not full:
        kept = random.random(len(s)) < 0.5
        p, i, s = p[kept], i[kept], s[kept]
    y = true[s] + random.normal(0, 0.5, people)[p] + random.normal(0, 0.4, items)[i] + random.normal(0, 0.8, len(s))
    y += random.normal(0, 0.2, (people, k))[p, s] + random.normal(0, 0.3, (items, k))[i, s]
    value = np.clip(np.round(3 + y), 1, 5).astype(int) if five else np.round(50 + 10 * y, 1)
    names = {"participant": [f"p{n}" for n in p], "item": [f"i{n}" for n in i], "system": [f"s{n}" for n in s]}
    return pd.DataFrame({**names, "rating": value})


def study(seed: int) -> dict[str, float]:
    random = np.random.default_rng([32, seed])
    k, people, items = (int(random.choice(one)) for one in ((3, 6, 10), (5, 10, 20), (12, 25)))
    full, five, apart = random.random() < 0.6, random.random() < 0.5, float(random.choice([0.0, 0.1, 0.3, 0.6]))
    true = random.normal(0, apart, k)
    found = ob.compare(ratings(random, true, people, items, full, five), engine="fast", model="lmer", force=True)
    again = ratings(random, true, people, items, full, five)
    repeated = ob.compare(again, engine="fast", model="lmer", force=True)
    first, second = ({row["system"]: row["estimate"] for row in one.ranking.to_pylist()} for one in (found, repeated))
    rows = {row["system"]: row for row in found.ranking.to_pylist()}
    names = [f"s{n}" for n in range(k)]
    places = {name: (1 + int((true > true[n]).sum()), k - int((true < true[n]).sum())) for n, name in enumerate(names)}
    inside = all(rows[one]["rank_low"] <= b and a <= rows[one]["rank_high"] for one, (a, b) in places.items())
    different = [row for row in found.pairs.to_pylist() if row["p_adjusted"] < 0.05]
    kept = all((second[row["system_a"]] - second[row["system_b"]]) * row["difference"] > 0 for row in different)
    (stability,) = found.stability.to_pylist()
    return {
        "inside": inside,
        "predicted_kept": np.nan if not different else stability["stable_ranking"],
        "kept": kept,
        "predicted_same": stability["same_order"],
        "same": sorted(first, key=first.get) == sorted(second, key=second.get),
        "predicted_best": stability["same_best"],
        "best": max(first, key=first.get) == max(second, key=second.get),
        "systems": k,
        "apart": apart,
    }


def planned(pairs: int) -> None:
    """Print the probability that two studies of a design have the same order, in closed form and simulated."""
    print("| systems | items × raters | points | closed form | simulated |\n|---|---|---|---|---|")
    for effects in ((0.3, 0.6), (0.2, 0.5, 0.6, 1.0)):
        k = 1 + len(effects)
        sd = {"participant_sd": (0.5, *[0.2] * (k - 1)), "item_sd": (0.5, *[0.3] * (k - 1))}
        for points, thresholds in ((5, (-1.5, -0.5, 0.5, 1.5)), (7, (-2, -1.2, -0.4, 0.4, 1.2, 2))):
            truth = Truth(effects=effects, thresholds=thresholds, **sd)
            for items, raters in ((20, 6), (80, 12)):
                design = ob.design.crossed(items=items, raters=raters, systems=k)
                agree = []
                for seed in range(pairs):
                    orders = []
                    for half in (0, 1):
                        table = ob.simulate.ratings(design, truth, seed=2 * seed + half).to_pandas()
                        orders.append(list(table.groupby("system").rating.mean().sort_values().index))
                    agree.append(orders[0] == orders[1])
                said = stability_of(truth, items, float(raters), raters).same_order
                print(f"| {k} | {items} × {raters} | {points} | {said:.3f} | {np.mean(agree):.3f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=500)
    parser.add_argument("--planned", action="store_true")
    asked = parser.parse_args()
    if asked.planned:
        planned(300)
        return
    warnings.simplefilter("ignore")
    table = pd.DataFrame([study(seed) for seed in range(asked.studies)])
    print(f"{len(table)} studies; all true places in their intervals: {table.inside.mean():.3f}")
    print("| predicted | pairs that differ | kept | all systems | same order | best | same best |")
    print("|---|---|---|---|---|---|---|")
    for low, high in pairwise(EDGES):
        cells = []
        for name in ("kept", "same", "best"):
            predicted = table[f"predicted_{name}"]
            chosen = (predicted >= low) & ((predicted < high) | (high == 1.0))
            n = int(chosen.sum())
            cells += [f"{predicted[chosen].mean():.2f} ({n})", f"{table[name][chosen].mean():.2f}"] if n else ["–", "–"]
        print(f"| {low:g} to {high:g} | {' | '.join(cells)} |")
    for name in ("kept", "same", "best"):
        known = table[table[f"predicted_{name}"].notna()]
        print(f"{name}: predicted {known[f'predicted_{name}'].mean():.3f}, found {known[name].mean():.3f}")


if __name__ == "__main__":
    main()
