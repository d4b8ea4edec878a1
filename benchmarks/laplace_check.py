"""How often the check of the Laplace approximation finds a breakdown, and how often it raises a false alarm.

    python benchmarks/laplace_check.py [--datasets 500] [--jobs 2]

Null datasets only: every rejection is a mistake. *Raters who agree*: 40 texts with three ratings each, the system
between texts, and larger and larger standard deviations of the texts. *A rare category*: 220 ratings of 11 × 20 in two
categories, one of them used a few times and at random, with slopes for both factors. *Published*: the designs and
variances of Howcroft & Rieser (2021). Prints the share of datasets that are flagged, and of rejections at the 5 % level
among all, the flagged and the others. Where a fit did not converge, it counts for neither.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable

import joblib
import numpy as np
import pyarrow as pa

import ordbridge as ob
from ordbridge import design, papers, simulate

CROSSED = "rating ~ system + (system | participant) + (system | item)"
Draw = Callable[[int], pa.Table]


def agreeing(sd: float) -> Draw:
    def draw(seed: int) -> pa.Table:
        random = np.random.default_rng([1, seed])
        text = np.repeat(np.arange(40), 3)
        latent = sd * random.normal(size=40)[text] + random.normal(size=120)
        cuts = np.sqrt(1 + sd**2) * np.array([-0.84, -0.25, 0.25, 0.84])
        rating = 1 + (latent[:, None] > cuts).sum(axis=1)
        return pa.table({"rating": rating, "system": np.array(["A", "B"])[text % 2], "item": text})

    return draw


def rare(times: int) -> Draw:
    def draw(seed: int) -> pa.Table:
        random = np.random.default_rng([2, seed])
        participant, item = (index.ravel() for index in np.indices((11, 20)))
        rating = np.where(np.isin(np.arange(220), random.choice(220, times, replace=False)), 1, 2)
        system = np.array(["A", "B"])[(participant + item) % 2]
        return pa.table({"rating": rating, "system": system, "participant": participant, "item": item})

    return draw


def published(name: str, items: int, raters: int) -> Draw:
    truth = papers.howcroft2021.settings[name].shift(effects=(0.0,))

    def draw(seed: int) -> pa.Table:
        return simulate.ratings(design.counterbalanced(items, raters, seed=seed), truth, seed)

    return draw


def one(draw: Draw, formula: str, link: str, seed: int) -> tuple[bool, bool] | None:
    """Return whether the dataset was flagged and whether the null was rejected; None without convergence."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            fit = ob.clmm(formula, draw(seed), link=link, engine="fast")
        except (ob.FitError, ob.InputError):
            return None
    flagged = any("Laplace" in condition.text for condition in fit.estimates.findings)
    return (flagged, bool(fit.estimates.p_value[-1] < 0.05)) if fit.converged else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", type=int, default=500)
    parser.add_argument("--jobs", type=int, default=2)
    wanted = parser.parse_args()
    between = "rating ~ system + (1 | item)"
    cases = {f"raters who agree, SD {sd}": (agreeing(sd), between, "probit") for sd in (1, 3, 5, 8, 12)}
    cases |= {
        f"{times} rare of 220, {link}": (rare(times), CROSSED, link)
        for times in (5, 10, 20)
        for link in ("probit", "loglog")
    }
    cases |= {
        f"published: {name}, {items} × {raters}": (published(name, items, raters), CROSSED, "probit")
        for name in papers.howcroft2021.settings
        for items, raters in ((50, 3), (100, 10))
    }
    print("| null datasets | converged | flagged | rejected: all | flagged | not flagged |")
    print("|---|---|---|---|---|---|")
    with joblib.Parallel(n_jobs=wanted.jobs) as parallel:
        for title, (draw, formula, link) in cases.items():
            results = parallel(joblib.delayed(one)(draw, formula, link, seed) for seed in range(wanted.datasets))
            ends = np.array([result for result in results if result], dtype=bool).reshape(-1, 2)
            flagged, rejected = ends.T
            shares = [flagged, rejected, rejected[flagged], rejected[~flagged]]
            shown = " | ".join(f"{share.mean():.3f}" if share.size else "–" for share in shares)
            print(f"| {title} | {len(ends)} of {wanted.datasets} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
