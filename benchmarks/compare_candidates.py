"""Tests of a difference in points that ``ob.compare`` might have had: any false pair in crossed null studies.

    python benchmarks/compare_candidates.py [--datasets 300]

Studies are those of ``compare_size.py``, five categories (or 0–100) and 40 items. For each pair: the lmer of the pair's
own ratings, the lmer of all systems, the larger p-value of both (what ``compare`` has), the pair's variance with some
prior degrees of freedom of the variance of all systems, a t test over rater and item means (V = max(v_r + v_i − v_e,
v_r, v_i)), and Behrens and Fisher's distribution, √v_r t(R − 1) + √(v_i − v_e) t(I − 1). All corrected by Bonferroni.
"""

from __future__ import annotations

import argparse
from itertools import combinations

import numpy as np
from compare_size import Cell, qualities, study, truth_of
from scipy import stats

from ordbridge.comparison.fitting import linear_fitter
from ordbridge.comparison.points import compare_pair, expected_ratings

CELLS = (
    Cell(2, 3, "crossed", 5, "equal", 40),
    Cell(2, 5, "crossed", 5, "items", 40),
    Cell(3, 3, "crossed", 5, "equal", 40),
    Cell(4, 3, "crossed", 5, "equal", 40),
    Cell(4, 3, "crossed", 5, "off centre", 40),
    Cell(4, 3, "crossed", 101, "residual", 40),
    Cell(4, 5, "crossed", 5, "equal", 40),
)
PRIOR = (2, 8)
NAMES = ("pair", "all systems", "larger of both", *(f"prior df {d}" for d in PRIOR), "two-way t", "Behrens–Fisher")


def p_values(cell: Cell, dataset: int) -> list[list[float]]:
    """Return the p-values of each pair by each test."""
    truth = truth_of(cell)
    table = study(cell, truth, qualities(truth, 0.0), np.random.default_rng([7, *cell[:2], dataset]))
    codes = {
        name: np.unique(table[name].to_numpy(zero_copy_only=False), return_inverse=True)[1]
        for name in ("participant", "item", "system")
    }
    rating, system = table["rating"].to_numpy().astype(float), codes.pop("system")
    fitter = linear_fitter("fast", None, [])
    means = expected_ratings(rating, system, [f"s{k}" for k in range(cell.systems)], codes, fitter)
    ratings = np.zeros((cell.raters, cell.items, cell.systems))
    ratings[codes["participant"], codes["item"], system] = rating
    found = []
    for i, j in combinations(range(cell.systems), 2):
        rows = (system == i) | (system == j)
        own = {name: code[rows] for name, code in codes.items()}
        pair = compare_pair(rating[rows], system[rows] == i, own, float(cell.points - 1), fitter)
        joint = means.pair(i, j) or pair
        numbers = [pair.p_value, joint.p_value, max(pair.p_value, joint.p_value)]
        for prior in PRIOR:
            variance = (pair.df * pair.std_error**2 + prior * joint.std_error**2) / (pair.df + prior)
            df = min(pair.df + prior, max(joint.df, pair.df))
            numbers.append(float(2 * stats.t.sf(abs(pair.difference) / np.sqrt(variance), df)))
        found.append([*numbers, *_two_way(ratings[:, :, i] - ratings[:, :, j])])
    return found


def _two_way(D: np.ndarray) -> tuple[float, float]:
    R, I = D.shape
    rater, item = D.mean(axis=1), D.mean(axis=0)
    v_r, v_i = rater.var(ddof=1) / R, item.var(ddof=1) / I
    v_e = ((D - rater[:, None] - item + D.mean()) ** 2).sum() / ((R - 1) * (I - 1)) / (R * I)
    V = max(v_r + v_i - v_e, v_r, v_i)
    df = V**2 / (v_r**2 / (R - 1) + v_i**2 / (I - 1))
    t = 2 * stats.t.sf(abs(D.mean()) / np.sqrt(V), df)
    few = stats.t.ppf((np.arange(2000) + 0.5) / 2000, R - 1) * np.sqrt(v_r)
    rest = np.sqrt(max(v_i - v_e, 1e-12))
    return float(t), float(2 * stats.t.sf((abs(D.mean()) - few) / rest, I - 1).mean())


def main() -> None:
    """Print a row for each cell."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--datasets", type=int, default=300)
    args = parser.parse_args()
    print(f"| systems | raters | scale | spread | {' | '.join(NAMES)} |", "|---" * (4 + len(NAMES)) + "|", sep="\n")
    for cell in CELLS:
        p = np.array([p_values(cell, dataset) for dataset in range(args.datasets)])
        false = (p.min(axis=1) * p.shape[1] < 0.05).mean(axis=0)
        words = [cell.systems, cell.raters, cell.points, cell.spread, *(f"{share:.3f}" for share in false)]
        print(f"| {' | '.join(map(str, words))} |", flush=True)


if __name__ == "__main__":
    main()
