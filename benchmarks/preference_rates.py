"""How often methods call equal systems different: rankings, best–worst choices, small studies of pairs; and power.

    python benchmarks/preference_rates.py [--datasets 400] [--tables rankings small ...]

*rankings*: 10 raters × 20 items, of 3 or 5 systems, raters and items without and with preferences of SD 0.5. *power*:
the same with three systems 0.35 apart. *once*: each of 10 or 20 raters ranks 20 items of their own. *ranking effects*:
three systems, where each ranking has preferences of its own, too (60 studies at most: a fit takes seconds).
*best-worst*: of four. *small*: 3 to 20 raters, two systems × 20 items or four × 10, two or three answers; maximum
likelihood with one variance for raters and one for items. What ``compare`` says of small studies is in
``preference_size.py``. Every study is kept in ``preference_rates.parquet`` and not computed again.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy import linalg, optimize, special, stats

from ordbridge.errors import FitError
from ordbridge.preferences import PairTable
from ordbridge.preferences.analysis import analyse
from ordbridge.preferences.answer import corrected
from ordbridge.preferences.fitting import fit_tied
from ordbridge.preferences.rankings import Rankings, fit_rankings
from ordbridge.preferences.tied import Comparisons, Tied, start_spacings

STORE = Path(__file__).with_suffix(".parquet")
RATERS, ITEMS, SD, LEVEL = 10, 20, 0.5, 0.05


def crossed(raters: int = RATERS, items: int = ITEMS) -> tuple[np.ndarray, np.ndarray]:
    """Return raters and items of all cells."""
    r, i = (x.ravel() for x in np.meshgrid(np.arange(raters), np.arange(items), indexing="ij"))
    return r, i


def ranked(rng: np.random.Generator, strengths: np.ndarray, sd: float, r: np.ndarray, i: np.ndarray) -> np.ndarray:
    """Return a ranking for each rater and item, the best first."""
    u, v = (rng.normal(0, sd, (int(codes.max()) + 1, len(strengths))) for codes in (r, i))
    return np.argsort(-(strengths + u[r] + v[i] + rng.gumbel(size=(len(r), len(strengths)))), axis=1)


def paired(first: np.ndarray, second: np.ndarray, systems: int, r: np.ndarray, i: np.ndarray) -> PairTable:
    """Return comparisons that ``first`` won, each in an order that says nothing."""
    flip = np.arange(len(first)) % 2 == 0
    names = [tuple(map(str, range(n))) for n in (systems, int(r.max()) + 1, int(i.max()) + 1)]
    return PairTable(names[0], np.where(flip, second, first), np.where(flip, first, second), np.where(flip, 0, 1), 2,
                     r, i, names[1], names[2])  # fmt: skip


def exploded(order: np.ndarray, r: np.ndarray, i: np.ndarray) -> PairTable:
    """Return all pairs of rankings."""
    a, b = np.array(list(combinations(range(order.shape[1]), 2))).T
    return paired(order[:, a].ravel(), order[:, b].ravel(), order.shape[1], np.repeat(r, len(a)), np.repeat(i, len(a)))


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


def maxdiff(order: np.ndarray) -> float:
    """Return the likelihood ratio of all strengths in choices of the best and the worst, with nothing random."""
    best, worst, S = order[:, 0], order[:, -1], order.shape[1]
    a, b = np.array([(a, b) for a in range(S) for b in range(S) if a != b]).T

    def loss(x: np.ndarray) -> float:
        strength = np.concatenate([[0.0], x])
        chosen = (strength[best] - strength[worst]).sum()
        return float(len(order) * np.logaddexp.reduce(strength[a] - strength[b]) - chosen)

    zero = np.zeros(S - 1)
    return 2 * (loss(zero) - float(optimize.minimize(loss, zero, method="BFGS").fun))


def bootstrap(order: np.ndarray, rng: np.random.Generator, items: bool = False) -> tuple[float, float]:
    """Return p-values (χ² and F) of equal mean ranks, with the covariance of a bootstrap of raters (and items).

    The covariance of the draws is that of n raters with divisor n; it is multiplied by n / (n − 1).
    """
    S = order.shape[1]
    place = np.argsort(order, axis=1).reshape(RATERS, ITEMS, S)[:, :, :-1]
    draws = []
    for _ in range(199):
        chosen = place[rng.integers(RATERS, size=RATERS)]
        draws.append((chosen[:, rng.integers(ITEMS, size=ITEMS)] if items else chosen).mean((0, 1)))
    drawn = np.array(draws)
    apart = place.mean((0, 1)) - (S - 1) / 2
    value = float(apart @ np.linalg.solve(np.cov(drawn.T) * RATERS / (RATERS - 1), apart))
    free = RATERS - (S - 1)
    return float(stats.chi2.sf(value, S - 1)), float(stats.f.sf(value * free / ((RATERS - 1) * (S - 1)), S - 1, free))


def two_way(points: np.ndarray) -> float:
    """Return the p-value of a mean of 0 in a table of raters × items, with Satterthwaite's degrees of freedom."""
    R, items = points.shape
    rows, columns = points.mean(axis=1), points.mean(axis=0)
    rest = points - rows[:, None] - columns + points.mean()
    parts = rows.var(ddof=1) / R, columns.var(ddof=1) / items, (rest**2).sum() / ((R - 1) * (items - 1)) / (R * items)
    variance = max(parts[0] + parts[1] - parts[2], parts[0], parts[1])
    if variance == 0:
        return float(points.mean() == 0)
    frees = R - 1, items - 1, (R - 1) * (items - 1)
    df = variance**2 / sum(part**2 / free for part, free in zip(parts, frees, strict=True))
    return float(2 * stats.t.sf(abs(points.mean()) / np.sqrt(variance), df))


def pairs_alarm(table: PairTable, groups: tuple[str, ...] = ("rater", "item")) -> bool:
    """Say whether the likelihood ratio test of pairs with these preferences rejects."""
    try:
        value = likelihood_ratio(table.coded(groups))
    except FitError:
        return False
    return value > stats.chi2.isf(LEVEL, len(table.systems) - 1)


def laplace(y: np.ndarray, mean: np.ndarray, K: np.ndarray) -> float:
    """Return Laplace's log likelihood of choices (±1) with logit ``mean + f``, f ~ N(0, K).

    Rasmussen, C. E. & Williams, C. K. I. (2006). *Gaussian processes for machine learning*, algorithm 3.1.
    """
    a, value = np.zeros(len(y)), -np.inf
    for _ in range(50):
        f = K @ a
        p = special.expit(mean + f)
        root = np.sqrt(p * (1 - p))
        factor = linalg.cho_factor(np.eye(len(y)) + root[:, None] * K * root, lower=True)
        before, value = value, float(special.log_expit(y * (mean + f)).sum() - a @ f / 2)
        if value - before < 1e-9:
            break
        b = root**2 * f + (y > 0) - p
        a = b - root * linalg.cho_solve(factor, root * (K @ b))
    return value - float(np.log(np.diag(factor[0])).sum())


def ranking_effect_alarms(sd: float, seed: int) -> dict[str, bool]:
    """Say whether pairs of three equal systems are called different where each ranking has preferences, too."""
    rng = np.random.default_rng([3, int(10 * sd), 0, seed])  # the studies of "rankings"
    r, i = crossed()
    table = exploded(ranked(rng, np.zeros(3), sd, r, i), r, i)
    signed = np.eye(3)[table.first] - np.eye(3)[table.second]
    y = np.where(table.y == 1, 1.0, -1.0)
    groups = table.rater, table.item, np.repeat(np.arange(len(r)), 3)
    kernels = [signed @ signed.T * (group[:, None] == group) for group in groups]

    def largest(strengths: int) -> float:
        def loss(x: np.ndarray) -> float:
            K = sum(np.exp(2 * log_sd) * kernel for log_sd, kernel in zip(x[:3], kernels, strict=True))
            return -laplace(y, signed[:, 1 : 1 + strengths] @ x[3:], K)

        start = np.concatenate([np.full(3, np.log(0.4)), np.zeros(strengths)])
        bounds = [(np.log(1e-2), 2.0)] * 3 + [(-5.0, 5.0)] * strengths
        return -float(optimize.minimize(loss, start, method="L-BFGS-B", bounds=bounds).fun)

    return {RANKING_EFFECTS: 2 * (largest(2) - largest(0)) > stats.chi2.isf(LEVEL, 2)}


def compare_alarm(table: PairTable) -> bool:
    """Say whether ``compare`` calls any pair different."""
    [pairs] = corrected([analyse(table, None, "logit", "fast", checks=False)], "holm", True, LEVEL)
    return any(pair.p_adjusted < LEVEL for pair in pairs)


def ranking_alarms(systems: int, sd: float, seed: int, mixed: bool = True, step: float = 0.0) -> dict[str, bool]:
    """Say which methods call systems different (equal ones where ``step`` is 0), in one study."""
    rng = np.random.default_rng([systems, int(10 * sd), int(100 * step), seed])
    r, i = crossed()
    order = ranked(rng, step * np.arange(systems), sd, r, i)
    table = exploded(order, r, i)
    naive = likelihood_ratio(table.coded())
    limit = stats.chi2.isf(LEVEL, systems - 1)
    place = np.argsort(order, axis=1)
    ahead = (place[:, 1] - place[:, 0]).reshape(RATERS, ITEMS).astype(float)
    (chi2, f), (both, _) = bootstrap(order, rng), bootstrap(order, rng, True)
    out = {
        "pairs, naive": naive > limit,
        "the same, LR × 3/(k+1)": naive * 3 / (systems + 1) > limit,
        "Plackett–Luce, naive": plackett_luce(order) > limit,
        "bootstrap of raters, χ²": chi2 < LEVEL,
        "bootstrap of raters, F": f < LEVEL,
        "bootstrap of raters and items": both < LEVEL,
        "mean rank, two-way t, one pair": two_way(ahead) < LEVEL,
    }
    if mixed:
        out |= {"pairs with raters and items": pairs_alarm(table), COMPARE: compare_alarm(table)}
    return out


def once_alarms(raters: int, seed: int) -> dict[str, bool]:
    """Say which methods call equal systems different where each item is ranked once."""
    rng = np.random.default_rng([raters, seed])
    r, i = np.repeat(np.arange(raters), ITEMS), np.arange(raters * ITEMS)
    table = exploded(ranked(rng, np.zeros(3), SD, r, i), r, i)
    return {"pairs with raters and items": pairs_alarm(table), "pairs with raters": pairs_alarm(table, ("rater",)),
            COMPARE: compare_alarm(table)}  # fmt: skip


def best_worst_alarms(sd: float, seed: int) -> dict[str, bool]:
    """Say which methods call four equal systems different, of which the best and the worst are chosen."""
    rng = np.random.default_rng([int(10 * sd), seed])
    r, i = crossed()
    order = ranked(rng, np.zeros(4), sd, r, i)
    a, b = np.array([(0, 1), (0, 2), (0, 3), (1, 3), (2, 3)]).T
    table = paired(order[:, a].ravel(), order[:, b].ravel(), 4, np.repeat(r, 5), np.repeat(i, 5))
    limit = stats.chi2.isf(LEVEL, 3)
    score = (order[:, 0] == [[0], [1]]).astype(float) - (order[:, 3] == [[0], [1]])
    return {
        "maxdiff, naive": maxdiff(order) > limit,
        "implied pairs, naive": likelihood_ratio(table.coded()) > limit,
        "implied pairs with raters and items": pairs_alarm(table),
        "best − worst, two-way t, one pair": two_way((score[0] - score[1]).reshape(RATERS, ITEMS)) < LEVEL,
    }


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
    free = systems - 1
    limit = stats.chi2.isf(LEVEL, free)
    wald = float(fit.coefficients @ np.linalg.solve(fit.covariance, fit.coefficients))
    one = (y[p == 0] / (categories - 1) - 0.5).reshape(raters, items)
    return {"likelihood ratio": 2 * (fit.loglik - without_strengths(data)) > limit, "Wald": wald > limit,
            "Wald with t": wald / free > stats.f.isf(LEVEL, free, raters - 1),
            "points, two-way t, one pair": two_way(one) < LEVEL,
            "naive": likelihood_ratio(Comparisons(a, b, y, categories, systems)) > limit}  # fmt: skip


COMPARE = "compare (Plackett–Luce, any pair)"
RANKING_EFFECTS = "pairs with raters, items and rankings"
TABLES: dict[str, dict[str, Callable[[int], dict[str, bool]]]] = {
    "rankings": {f"{k} systems, SD {sd:g}": lambda seed, k=k, sd=sd: ranking_alarms(k, sd, seed)
                 for k in (3, 5) for sd in (0.0, SD)},
    "power": {"3 systems, SD 0.5": lambda seed: ranking_alarms(3, SD, seed, step=0.35)},
    "once": {f"{raters} raters": lambda seed, raters=raters: once_alarms(raters, seed) for raters in (10, 20)},
    "ranking effects": {f"3 systems, SD {sd:g}": lambda seed, sd=sd: ranking_effect_alarms(sd, seed)
                        for sd in (0.0, SD)},
    "best-worst": {f"SD {sd:g}": lambda seed, sd=sd: best_worst_alarms(sd, seed) for sd in (0.0, SD)},
    "small": {f"{S} systems, {R} raters, {K} answers": lambda seed, S=S, R=R, K=K: small_alarms(S, R, K, seed)
              for S in (2, 4) for R in (3, 5, 10, 20) for K in (3, 2)},
}  # fmt: skip
MOST = {"ranking effects": 60}


def kept(store: Path = STORE) -> list[dict[str, Any]]:
    """Return what was computed before: table, cell, seed, method, alarm."""
    return pq.read_table(store).to_pylist() if store.exists() else []


def main() -> None:
    """Compute what is missing, and print how often there was an alarm."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", type=int, default=400)
    parser.add_argument("--tables", nargs="+", choices=list(TABLES), default=list(TABLES))
    parser.add_argument("--store", type=Path, default=STORE)
    args = parser.parse_args()
    rows = kept(args.store)
    done = {(row["table"], row["cell"], row["seed"]) for row in rows}
    for start in range(0, args.datasets, 20):  # all cells grow together
        before = len(rows)
        for name in args.tables:
            for cell, study in TABLES[name].items():
                for seed in range(start, min(start + 20, args.datasets, MOST.get(name, args.datasets))):
                    if (name, cell, seed) not in done:
                        rows += [{"table": name, "cell": cell, "seed": seed, "method": method, "alarm": bool(alarm)}
                                 for method, alarm in study(seed).items()]  # fmt: skip
        if len(rows) > before:
            part = args.store.with_suffix(".part")
            pq.write_table(pa.Table.from_pylist(rows), part, compression="zstd")
            part.replace(args.store)
    for name in args.tables:
        for cell in TABLES[name]:
            mine = [row for row in rows if (row["table"], row["cell"]) == (name, cell)]
            rates = {method: [row["alarm"] for row in mine if row["method"] == method]
                     for method in dict.fromkeys(row["method"] for row in mine)}  # fmt: skip
            said = (f"{method} {np.mean(alarms):.3f}" for method, alarms in rates.items())
            print(name, cell, len({row["seed"] for row in mine}), *said, sep=" | ")


if __name__ == "__main__":
    main()
