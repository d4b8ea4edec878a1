"""How often methods call equal systems different: rankings as pairs and as rankings, Wald's and likelihood ratio tests.

    python benchmarks/preference_rates.py [--datasets 100] [--small]

*Rankings*: 10 raters × 20 items, of 3 or 5 systems, raters and items without and with preferences of SD 0.5. *Small
studies* (``--small``): 3 to 20 raters, two systems × 20 items or four × 10, two or three answers; maximum likelihood
with one variance for raters and one for items. What ``compare`` says of these is in ``preference_size.py``.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
from itertools import combinations, product

import numpy as np
from scipy import optimize, stats

from ordbridge.preferences import PairTable
from ordbridge.preferences.analysis import analyse
from ordbridge.preferences.answer import corrected
from ordbridge.preferences.fitting import fit_tied
from ordbridge.preferences.rankings import Rankings, fit_rankings
from ordbridge.preferences.tied import Comparisons, Tied, start_spacings

RATERS, ITEMS, SD, LEVEL = 10, 20, 0.5, 0.05


def ranked(rng: np.random.Generator, systems: int, sd: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rankings of equal systems (the best first), raters and items."""
    r, i = (x.ravel() for x in np.meshgrid(np.arange(RATERS), np.arange(ITEMS), indexing="ij"))
    u, v = rng.normal(0, sd, (RATERS, systems)), rng.normal(0, sd, (ITEMS, systems))
    return np.argsort(-(u[r] + v[i] + rng.gumbel(size=(len(r), systems))), axis=1), r, i


def exploded(order: np.ndarray, r: np.ndarray, i: np.ndarray) -> PairTable:
    """Return all pairs of rankings, each in an order that says nothing."""
    S = order.shape[1]
    a, b = np.array(list(combinations(range(S), 2))).T
    first, second = order[:, a].ravel(), order[:, b].ravel()
    flip = np.arange(len(first)) % 2 == 0
    names = [tuple(map(str, range(n))) for n in (S, RATERS, ITEMS)]
    return PairTable(names[0], np.where(flip, second, first), np.where(flip, first, second), np.where(flip, 0, 1), 2,
                     np.repeat(r, len(a)), np.repeat(i, len(a)), names[1], names[2])  # fmt: skip


def without_strengths(data: Comparisons) -> float:
    """Return the largest log likelihood where all systems are equal."""
    model = Tied(data)
    outer = model.spacings + model.sds
    zeros = np.zeros(data.coefficients)

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        found = model.mode(np.concatenate([x, zeros]))
        return found.value, found.gradient[:outer]

    start = np.concatenate([start_spacings(data), np.full(model.sds, np.log(0.5))])
    if not outer:
        return -float(model.mode(zeros).value)
    bounds = [(-9.0, 4.0)] * model.spacings + [(np.log(1e-3), 3.0)] * model.sds
    return -float(optimize.minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).fun)


def likelihood_ratio(data: Comparisons) -> float:
    """Return the likelihood ratio of all strengths."""
    return max(0.0, 2 * (fit_tied(data).loglik - without_strengths(data)))


def plackett_luce(order: np.ndarray) -> float:
    """Return the likelihood ratio of all strengths in rankings, with nothing random."""
    S = order.shape[1]
    strength = np.concatenate([[0.0], fit_rankings(Rankings(order, S)).coefficients])[order]
    value = sum(float((strength[:, k] - np.logaddexp.reduce(strength[:, k:], axis=1)).sum()) for k in range(S - 1))
    return 2 * (value + len(order) * float(np.log(np.arange(2, S + 1)).sum()))


def bootstrap(order: np.ndarray, r: np.ndarray, rng: np.random.Generator) -> tuple[float, float]:
    """Return p-values (χ² and F) of equal mean ranks, with the covariance of a bootstrap of raters."""
    S = order.shape[1]
    means = np.array([np.argsort(order[r == k], axis=1).mean(axis=0) for k in range(RATERS)])[:, :-1]
    drawn = means[rng.integers(RATERS, size=(199, RATERS))].mean(axis=1)
    apart = means.mean(axis=0) - (S - 1) / 2
    value = float(apart @ np.linalg.solve(np.cov(drawn.T), apart))
    free = RATERS - (S - 1)
    return float(stats.chi2.sf(value, S - 1)), float(stats.f.sf(value * free / ((RATERS - 1) * (S - 1)), S - 1, free))


def two_way(points: np.ndarray) -> float:
    """Return the p-value of a mean of 0 in a table of raters × items, with Satterthwaite's degrees of freedom."""
    R, items = points.shape
    rows, columns = points.mean(axis=1), points.mean(axis=0)
    rest = points - rows[:, None] - columns + points.mean()
    parts = rows.var(ddof=1) / R, columns.var(ddof=1) / items, (rest**2).sum() / ((R - 1) * (items - 1)) / (R * items)
    variance = max(parts[0] + parts[1] - parts[2], parts[0], parts[1])
    frees = R - 1, items - 1, (R - 1) * (items - 1)
    df = variance**2 / sum(part**2 / free for part, free in zip(parts, frees, strict=True))
    return float(2 * stats.t.sf(abs(points.mean()) / np.sqrt(variance), df))


def ranking_alarms(systems: int, sd: float, seed: int, mixed: bool = True) -> dict[str, bool]:
    """Say which methods call equal systems different, in one study."""
    rng = np.random.default_rng([systems, int(10 * sd), seed])
    order, r, i = ranked(rng, systems, sd)
    table = exploded(order, r, i)
    naive = likelihood_ratio(table.coded())
    limit = stats.chi2.isf(LEVEL, systems - 1)
    place = np.argsort(order, axis=1)
    ahead = (place[:, 1] - place[:, 0]).reshape(RATERS, ITEMS).astype(float)
    chi2, f = bootstrap(order, r, rng)
    out = {
        "pairs, naive": naive > limit,
        "the same, LR × 3/(k+1)": naive * 3 / (systems + 1) > limit,
        "Plackett–Luce, naive": plackett_luce(order) > limit,
        "bootstrap of raters, χ²": chi2 < LEVEL,
        "bootstrap of raters, F": f < LEVEL,
        "mean rank, two-way t, one pair": two_way(ahead) < LEVEL,
    }
    if mixed:
        [pairs] = corrected([analyse(table, None, "logit", "fast", checks=False)], "holm", True, LEVEL)
        out |= {
            "pairs with raters and items": likelihood_ratio(table.coded(("rater", "item"))) > limit,
            "compare (Plackett–Luce with both, any pair)": any(pair.p_adjusted < LEVEL for pair in pairs),
        }
    return out


def small_alarms(systems: int, raters: int, categories: int, seed: int) -> dict[str, bool]:
    """Say whether Wald's and the likelihood ratio test call equal systems different, in one small study."""
    rng = np.random.default_rng([systems, raters, categories, seed])
    items = 20 if systems == 2 else 10
    pairs = np.array(list(combinations(range(systems), 2)))
    r, i, p = (x.ravel() for x in np.meshgrid(*map(np.arange, (raters, items, len(pairs))), indexing="ij"))
    a, b = pairs[p].T
    u, v = rng.normal(0, SD, (raters, systems)), rng.normal(0, SD, (items, systems))
    latent = u[r, a] - u[r, b] + v[i, a] - v[i, b] + rng.logistic(size=len(a))
    y = np.searchsorted([-0.5, 0.5] if categories == 3 else [0.0], latent)
    data = Comparisons(a, b, y, categories, systems, (r, i))
    fit = fit_tied(data)
    limit = stats.chi2.isf(LEVEL, systems - 1)
    return {"likelihood ratio": 2 * (fit.loglik - without_strengths(data)) > limit,
            "Wald": float(fit.coefficients @ np.linalg.solve(fit.covariance, fit.coefficients)) > limit,
            "naive": likelihood_ratio(Comparisons(a, b, y, categories, systems)) > limit}  # fmt: skip


def main() -> None:
    """Print the share of studies with a false alarm."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", type=int, default=100)
    parser.add_argument("--small", action="store_true")
    args = parser.parse_args()
    seeds = range(args.datasets)
    cells = list(product((2, 4), (3, 5, 10, 20), (3, 2)) if args.small else product((3, 5), (0.0, SD)))
    print("systems, raters, answers" if args.small else "systems, SD", f"{args.datasets} studies each", sep=": ")
    for cell in cells:
        each = [small_alarms(*cell, seed) if args.small else ranking_alarms(*cell, seed) for seed in seeds]
        rates = {name: np.mean([one[name] for one in each]) for name in each[0]}
        print(*cell, *(f"{name} {rate:.3f}" for name, rate in rates.items()), sep=" | ", flush=True)


if __name__ == "__main__":
    main()
