"""Native fits against a plain dense computation of the same likelihoods, on random models.

    python benchmarks/dense_check.py [--models 200]

Each model is drawn at random: clmm or lmer; link and thresholds, or REML; one to three grouping factors; intercepts or
slopes; the number of levels, categories and predictors; effects and variances. The fit goes through the public
functions. What it found is then put into ``tests/fast/dense_reference.py``, which builds the whole matrix of random
effects and knows nothing of the engine's shortcuts: the log likelihood must be the same number, its slope in every
parameter zero (in standard errors: what a step would still move), and the standard errors those of its curvature.
Prints the worst of each. Fits that say themselves that they did not converge or are singular are counted, and only
their likelihoods are compared.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

import ordbridge as ob

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "fast"))
from dense_reference import design_matrix, deviance, laplace

LINKS = ("probit", "logit", "cloglog", "loglog", "cauchit")
BARS = ("(1 | p)", "(x | p)", "(1 | p) + (1 | i)", "(x | p) + (1 | i)", "(x | p) + (x | i)", "(1 | p:i) + (1 | p)")
FAMILIES = ("(1 | p) + (1 | i) + (1 | p:i)", "(x | p) + (1 | i) + (1 | p:i)")
STEP = 1e-4


def study(random: np.random.Generator) -> tuple[pd.DataFrame, str]:
    people, items = random.integers(5, 12), random.integers(6, 14)
    p, i = (index.ravel() for index in np.indices((people, items)))
    kept = random.random(p.size) < random.uniform(0.6, 1.0)
    p, i = np.repeat(p[kept], 2), np.repeat(i[kept], 2)
    x, w = random.normal(size=(2, p.size))
    bars = random.choice((*BARS, *FAMILIES))
    latent = random.normal() * x + 0.5 * w + random.uniform(0.3, 1.2) * random.normal(size=people)[p]
    latent += random.uniform(0.2, 0.8) * random.normal(size=people)[p] * x + random.normal(size=p.size)
    latent += random.uniform(0.3, 1.0) * random.normal(size=items)[i]
    categories = random.integers(2, 7)
    cuts = np.quantile(latent, np.sort(random.uniform(0.1, 0.9, categories - 1)))
    rating = np.unique(1 + (latent[:, None] > cuts).sum(axis=1), return_inverse=True)[1] + 1
    data = pd.DataFrame({"p": p, "i": i, "x": x, "w": w, "z": latent, "y": rating})
    return data, f"x + w + {bars}" if random.random() < 0.7 else f"x + {bars}"


def fitted(random: np.random.Generator) -> tuple[ob.Fit, np.ndarray]:
    data, right = study(random)
    if random.random() < 0.4:
        return ob.lmer(f"z ~ {right}", data, REML=bool(random.random() < 0.5), engine="fast"), data["z"].to_numpy()
    threshold = "flexible" if data["y"].max() < 4 or random.random() < 0.6 else "equidistant"
    link = LINKS[random.integers(len(LINKS))]
    return ob.clmm(f"y ~ {right}", data, link=link, threshold=threshold, engine="fast"), data["y"].to_numpy() - 1


def roots(fit: ob.Fit) -> list[np.ndarray]:
    """Lower triangles whose products are the estimated covariances, also on the boundary."""
    found = []
    for term in fit.estimates.random:
        values, vectors = np.linalg.eigh(term.covariance)
        found.append(np.linalg.qr((vectors * np.sqrt(np.maximum(values, 0.0))).T)[1].T)
    return found


def dense_objective(fit: ob.Fit, y: np.ndarray) -> tuple[Callable[[np.ndarray], float], np.ndarray]:
    """Return minus the log likelihood in all parameters, and the parameters of the fit."""
    e, rows = fit.estimates, fit.matrices()
    groups, Z, L = list(rows.level), list(rows.Z), roots(fit)
    lower = [np.tril_indices(root.shape[0]) for root in L]
    n_mean = len(e.estimate)

    def factors(x: np.ndarray) -> list[np.ndarray]:
        matrices, at = [], n_mean
        for root, index in zip(L, lower, strict=True):
            matrix = np.zeros_like(root)
            matrix[index] = x[at : at + index[0].size]
            matrices.append(matrix)
            at += index[0].size
        return matrices

    scale = float(e.sigma or 1.0)
    start = np.concatenate([e.estimate, *(root[index] / scale for root, index in zip(L, lower, strict=True))])
    if not fit.problem.ordinal:
        reml = bool(fit.problem.REML)
        return lambda x: 0.5 * deviance(y, rows.X, design_matrix(groups, Z, factors(x)), reml), start
    alphas = sum(effect == "threshold" for effect in e.effects)
    cuts = e.cutpoints.size
    jacobian = np.eye(cuts) if alphas == cuts else np.column_stack([np.ones(cuts), np.arange(cuts)])

    modes = [np.linalg.lstsq(root, term.modes.T, rcond=None)[0].T for root, term in zip(L, e.random, strict=True)]
    start_modes = np.concatenate([u.ravel() for u in modes])

    def objective(x: np.ndarray) -> float:
        fixed = rows.X @ x[alphas:n_mean]
        Zt = design_matrix(groups, Z, factors(x))
        return laplace(y, fixed, jacobian @ x[:alphas], Zt, str(fit.problem.link), start_modes)[0]

    return objective, start


def slope(objective: Callable[[np.ndarray], float], x: np.ndarray) -> np.ndarray:
    steps = STEP * np.eye(x.size)
    return np.array([(objective(x + step) - objective(x - step)) / (2 * STEP) for step in steps])


def compare(fit: ob.Fit, y: np.ndarray) -> dict[str, float]:
    objective, x = dense_objective(fit, y)
    worst = {"log likelihood": abs(-objective(x) - fit.estimates.loglik)}
    if fit.problem.ordinal and fit.converged and not fit.singular:
        free = np.eye(x.size)
        curvature = np.array(
            [(slope(objective, x + STEP * d) - slope(objective, x - STEP * d)) / (2 * STEP) for d in free]
        )
        covariance = np.linalg.inv(0.5 * (curvature + curvature.T))
        se = np.sqrt(np.diag(covariance))
        worst["slope, in standard errors"] = float(np.abs(slope(objective, x) * se).max())
        n_mean = fit.estimates.estimate.size
        worst["standard errors, relative"] = float(np.abs(fit.estimates.std_error / se[:n_mean] - 1.0).max())
    elif fit.converged and not fit.singular:
        worst["slope, in standard errors"] = float(np.abs(slope(objective, x)[fit.estimates.estimate.size :]).max())
    return worst


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=200)
    models = parser.parse_args().models
    worst: dict[str, tuple[float, str]] = {}
    compared: dict[str, int] = {}
    said = failed = 0
    warnings.simplefilter("ignore")
    for seed in range(models):
        try:
            fit, y = fitted(np.random.default_rng([23, seed]))
        except ob.FitError:
            failed += 1
            continue
        said += not fit.converged or fit.singular
        for what, size in compare(fit, y).items():
            compared[what] = compared.get(what, 0) + 1
            words = f"model {seed}: {fit.problem.model} {fit.problem.formula}, {fit.problem.link or 'linear'}"
            worst[what] = max(worst.get(what, (0.0, "")), (size, words))
    print(f"{models} random models; {failed} refused, {said} say that they are singular or did not converge")
    for what, (size, words) in worst.items():
        print(f"{what}: at most {size:.1e} in {compared[what]} fits ({words})")


if __name__ == "__main__":
    main()
