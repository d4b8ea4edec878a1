"""Sliders with piles at an end: size and power of the linear mixed model and of a cumulative model on grid points.

    python benchmarks/piled_sliders.py [--studies 120]

Two systems, crossed, ratings from 0 to 100 of which a share is 100. In the first null studies both systems have the
same distribution; in the second the same expected rating, but B spreads half as much again. Power is for a shift on the
latent scale. lmer: the test of ``ob.compare`` in points. cumulative: a clmm whose categories are the values that occur,
with slopes of raters and items and Student's t. ``points`` is the true difference of expected ratings.
"""

from __future__ import annotations

import argparse
import os
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
import pyarrow as pa
from scipy import optimize, stats

import ordbridge as ob

ITEMS = 30
FORMULA = "rating ~ system + (system | participant) + (system | item)"
SHARES = (0.2, 0.9)
SPREAD = 1.5
RATER, ITEM, SLOPE, NOISE = 0.5, 0.4, 0.2, 0.8
TOTAL = float(np.sqrt(RATER**2 + ITEM**2 + 2 * SLOPE**2 + NOISE**2))


def mean(centre: float, spread: float, nodes: np.ndarray) -> float:
    """Return the expected rating of a system whose latent quality is normal."""
    return float(np.clip(np.round(25 * (centre + spread * nodes)), 0, 100).mean())


NODES = np.random.default_rng(1).standard_normal(200_000) * TOTAL


def study(seed: int, people: int, centre: tuple[float, float], spread: float) -> pd.DataFrame:
    random = np.random.default_rng([19, seed])
    p, i, s = (one.ravel() for one in np.indices((people, ITEMS, 2)))
    y = random.normal(0, RATER, people)[p] + random.normal(0, ITEM, ITEMS)[i] + random.normal(0, NOISE, len(s))
    y += random.normal(0, SLOPE, (people, 2))[p, s] + random.normal(0, SLOPE, (ITEMS, 2))[i, s]
    rating = np.clip(np.round(25 * (np.array(centre)[s] + np.where(s == 1, spread, 1.0) * y)), 0, 100)
    names = {"participant": [f"p{n}" for n in p], "item": [f"i{n}" for n in i], "system": np.array(["A", "B"])[s]}
    return pd.DataFrame({**names, "rating": rating})


def p_values(table: pd.DataFrame) -> tuple[float, float]:
    """Return the p-values of both models, as ``ob.compare`` has them."""
    data = pa.table({name: pa.array(table[name]).dictionary_encode() for name in ("participant", "item", "system")})
    linear = ob.lmer(FORMULA, data.append_column("rating", pa.array(table.rating)), engine="fast")
    codes = np.unique(table.rating, return_inverse=True)[1]
    e = linear.estimates
    place = e.position("systemB")
    by_points = float(2 * stats.t.sf(abs(e.estimate[place] / e.std_error[place]), max(e.df[place], 1.0)))
    try:
        fit = ob.clmm(FORMULA, data.append_column("rating", pa.array(codes)), engine="fast").estimates
        at = fit.position("systemB")
        z = fit.estimate[at] / fit.std_error[at]
    except (ob.errors.FitError, ob.errors.InputError):
        z = np.nan
    return by_points, float(2 * stats.t.sf(abs(z), max(e.df[place], 1.0)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=120)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| at 100 | raters | studies | points | lmer | cumulative | no answer |\n|---|---|---|---|---|---|---|")
    for share in SHARES:
        centre = 4 + TOTAL * float(-optimize.brentq(lambda z, share=share: 0.5 * (1 + _erf(z)) - (1 - share), -4, 4))
        wide = optimize.brentq(lambda c, centre=centre: mean(c, SPREAD, NODES) - mean(centre, 1.0, NODES), 0, 14)
        for people in (6, 20):
            for what, both, spread in (
                ("null", (centre, centre), 1.0),
                ("null, B spreads more", (centre, wide), SPREAD),
                ("shift", (centre, centre - 0.3), 1.0),
            ):
                found = np.array([p_values(study(seed, people, both, spread)) for seed in range(asked.studies)], float)
                points = mean(both[1], spread, NODES) - mean(both[0], 1.0, NODES)
                shares = " | ".join(
                    f"{one:.3f}" for one in np.nanmean(np.where(np.isnan(found), np.nan, found < 0.05), axis=0)
                )
                lost = int(np.isnan(found[:, 1]).sum())
                print(f"| {share:.0%} | {people} | {what} | {points:.1f} | {shares} | {lost} |", flush=True)


def _erf(z: float) -> float:
    from math import erf

    return erf(z / 2**0.5)


if __name__ == "__main__":
    main()
