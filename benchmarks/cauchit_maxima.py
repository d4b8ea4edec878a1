"""Whether native cauchit fits end below smaller models, or claim a maximum where another start reaches more.

    python benchmarks/cauchit_maxima.py [--studies 144] [--from 0] [--starts 12]

Studies of ten raters and twelve items with Cauchy noise are fitted by six models, of which five pairs are nested. Every
fit that claims to have converged is then searched again from random starts (standard deviations from 0.05 to 30, any
correlation, thresholds and coefficients moved), by the same likelihood. Printed are the pairs whose larger model ends
lower, and the claims that another start refutes: where its search converged higher, and where it went higher without
converging, towards a place where a mode of the random effects vanishes.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import pandas as pd

import ordbridge as ob
from ordbridge.fast import solving
from ordbridge.fast.clmm import DISTINCT, GAIN, laplace_objective

MODELS = ("1 + (1 | g)", "x + (1 | g)", "1 + (x | g)", "x + (x | g)", "1 + (1 | g) + (1 | h)", "x + (1 | g) + (1 | h)")
NESTED = [(0, 1), (1, 3), (2, 3), (1, 5), (4, 5)]


def study(seed: int) -> pd.DataFrame:
    random = np.random.default_rng([9, seed])
    g, h = np.repeat(np.arange(10), 12), np.tile(np.arange(12), 10)
    x = random.normal(size=120)
    latent = 0.5 * x + random.choice([0.3, 1, 3]) * random.normal(size=10)[g] + 0.5 * random.normal(size=12)[h]
    latent += random.standard_cauchy(120) * random.choice([0.3, 1.0])
    cuts = np.quantile(latent, np.linspace(0, 1, random.integers(2, 6) + 1)[1:-1])
    return pd.DataFrame({"y": 1 + (latent[:, None] > cuts).sum(axis=1), "x": x, "g": g, "h": h})


def refuted(fit: ob.Fit, starts: int, random: np.random.Generator) -> tuple[float, float]:
    """Return how much higher searches from random starts ended, converged and not."""
    ready, value = solving.with_response(fit.problem)
    ratings, _ = solving.ratings_of(fit.problem, ready, value)
    structure, layout = ready.crossed
    own, scale = ratings.ordered(structure.order).unit()
    estimates = fit.estimates.estimate * scale
    gains = {True: 0.0, False: 0.0}
    for _ in range(starts):
        entries = np.exp(random.uniform(np.log(0.05), np.log(30), layout.factor.size))
        entries[~layout.diagonal] *= random.uniform(-1, 1, int((~layout.diagonal).sum()))
        mean = estimates * np.exp(random.normal(0, 0.5)) + random.normal(0, 0.1, estimates.size)
        mean[: own.n_alpha].sort()
        objective = laplace_objective(own, structure, layout)
        objective.closeness = 1e-6
        _, end, _, _, converged, _ = objective.minimise(np.append(mean, entries), GAIN)
        if np.isfinite(end):
            gains[converged] = max(gains[converged], -end - fit.estimates.loglik)
    return gains[True], gains[False]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=144)
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first study")
    parser.add_argument("--starts", type=int, default=12, help="random starts per fit that claims to have converged")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    pairs = below = claimed_below = fits = claims = higher = unsettled = 0
    for seed in range(arguments.first, arguments.first + arguments.studies):
        data = study(seed)
        found = [ob.clmm(f"y ~ {terms}", data, link="cauchit", engine="fast") for terms in MODELS]
        for small, large in NESTED:
            pairs += 1
            if found[large].estimates.loglik < found[small].estimates.loglik - DISTINCT:
                below += 1
                claimed_below += found[large].converged
        fits += len(found)
        for fit in found:
            if fit.converged and arguments.starts:
                claims += 1
                converged, not_converged = refuted(fit, arguments.starts, np.random.default_rng([7, seed]))
                higher += converged > DISTINCT
                unsettled += not_converged > DISTINCT
                if converged > DISTINCT or not_converged > DISTINCT:
                    print(f"study {seed}, {fit.problem.formula}: {converged:+.3f} {not_converged:+.3f}", flush=True)
    print(f"{pairs} pairs: the larger model ended lower in {below}, of which {claimed_below} claimed convergence")
    print(f"{fits} fits, of which {claims} claimed convergence; from {arguments.starts} random starts each a search")
    print(f"converged higher in {higher} of them, and went higher without converging in {unsettled}")


if __name__ == "__main__":
    main()
