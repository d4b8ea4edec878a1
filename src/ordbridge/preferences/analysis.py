"""One criterion: strengths, win rates for new raters and items, tests of all pairs, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
from scipy import stats

from ordbridge.errors import FitError, InputError
from ordbridge.preferences.consistency import agreement, circular_triads, intransitivity, looks_ranked
from ordbridge.preferences.fit_result import model_name
from ordbridge.preferences.fitting import NEAR, Restricted, fit_tied, restricted, runaway
from ordbridge.preferences.model import fit_table, that_fit
from ordbridge.preferences.rankings import Rankings, fit_rankings, rankings_of
from ordbridge.preferences.rows import row_terms
from ordbridge.preferences.table import (
    PairTable,
    one_sided,
    random_groupings,
    require_answers,
    require_connected,
    said_systems,
)
from ordbridge.preferences.tied import Comparisons
from ordbridge.preferences.win_rates import WinRates
from ordbridge.results.finding import Finding, found

__all__ = ["PreferenceAnalysis", "TestedContrast", "analyse"]

FEW = 10
LARGEST = 12.0  # on the latent scale: what is larger has no finite estimate
MOST_CELLS = 5_000_000  # comparisons × systems that are a dense matrix, as R needs it
PENALTY = 0.1  # chosen by simulation, see docs/howto/preferences.md


@dataclass(frozen=True)
class TestedContrast:
    """Two systems: how much stronger the first is, and how sure that is; latent scale."""

    a: int
    b: int
    estimate: float
    std_error: float
    df: float
    p_value: float
    n: int
    test: str


@dataclass(frozen=True, eq=False)
class PreferenceAnalysis:
    """What was found about one criterion; systems are places in ``table.systems``."""

    table: PairTable
    criterion: str | None
    model: str
    groups: tuple[str, ...]
    ranked: bool
    core: tuple[int, ...]
    above: tuple[int, ...]
    below: tuple[int, ...]
    fit: Restricted | None
    rates: WinRates
    strengths: np.ndarray
    """Of the systems in ``core``, in their order, mean 0."""
    tests: tuple[TestedContrast, ...]
    naive_p: np.ndarray
    """Of the same tests without raters and items, as printed by R's clm; natively where that would need too much."""
    position: dict[str, Any] | None
    consistency: dict[str, Any] | None
    triads: tuple[tuple[str, str, str], ...]
    same_pair: dict[str, Any] | None
    system_rates: tuple[tuple[float, float, float, float], ...]
    """Mean points against the others, standard error on the logit scale, degrees of freedom, and number."""
    engine: str
    findings: tuple[Finding, ...] = field(default=())


def analyse(table: PairTable, criterion: str | None, link: str, engine: str, checks: bool = True) -> PreferenceAnalysis:
    """Analyse one criterion; without ``checks`` only what the tests and intervals need."""
    if len(table.systems) < 2:
        raise InputError("there is only one system, so there is nothing to compare")
    require_answers(table)
    require_connected(table)
    ranked = looks_ranked(table)
    said: list[Finding] = [*table.findings, *_repeated(table)]
    above, core, below = one_sided(table)
    if len(core) == 1 and len(table.systems) == 2:
        return _always(table, criterion, link, ranked, engine)
    if len(core) < 2:
        raise InputError("every system always wins or always loses against the others, so no model can be fitted")
    for names, code in ((above, "always-wins"), (below, "always-loses")):
        if names:
            said.append(found(code, systems=said_systems([table.systems[k] for k in names]), n=len(names)))
    inner = table.rows(np.isin(table.first, core) & np.isin(table.second, core))
    groups, why = random_groupings(inner, ranked)
    groups, why = that_fit(inner, groups, why)
    said += why
    orders = rankings_of(inner) if ranked and link == "logit" else None
    fit, free, noticed = _fitted(inner, groups, link, ranked, orders)
    said += noticed
    robust = ranked and not groups and orders is None
    if robust:
        fit = _robust(inner, fit, link)
    rates = _rates(fit, free, link)
    tests = tuple(_tests(inner, fit, core, robust))
    engine = engine if inner.n * len(inner.systems) <= MOST_CELLS else "fast"
    naive = _naive(inner, free, link, engine) if checks else np.full(len(tests), np.nan)
    for name in groups:
        levels = len(getattr(inner, f"{name}s"))
        if levels < FEW:
            said.append(found("few-for-preferences", role=name, n=levels))
    position = _position(inner, fit, rates) if free else None
    if position and position["p_value"] < 0.05:
        said.append(found("position-bias", share=100 * position["shown_first"], p=position["p_value"]))
    consistency = intransitivity(inner, groups, link) if checks and not ranked else None
    triads = tuple(circular_triads(table))
    if consistency and consistency["p_value"] < 0.05:
        said.append(found("intransitive", p=consistency["p_value"], n=len(triads)))
    same = agreement(table)
    strengths = np.concatenate([[0.0], fit.coefficients[: len(core) - 1]])
    system_rates = _system_rates(fit, rates, strengths, inner)
    name = model_name(inner, link) if orders is None else "Plackett–Luce model"
    return PreferenceAnalysis(
        table, criterion, name, groups, ranked, tuple(core), tuple(above), tuple(below), fit, rates,
        strengths - strengths.mean(), tests, naive, position, consistency, triads, same, system_rates, engine,
        tuple(said),
    )  # fmt: skip


def _fitted(
    table: PairTable,
    groups: tuple[str, ...],
    link: str,
    ranked: bool,
    orders: tuple[np.ndarray, np.ndarray] | None,
) -> tuple[Restricted, bool, list[Finding]]:
    """Return the fit, whether it has an effect of the position, and what to say about both."""
    said = [found("exploded-rankings")] if ranked and orders is None else []
    both_ways = table.shown_both_ways() and not ranked
    fit = _with_position(table, groups, link) if both_ways else None
    if both_ways and fit is None:
        said.append(found("position-always", share=100 * float(table.points.mean())))
    elif not both_ways and not ranked:
        said.append(found("position-unknown"))
    free = fit is not None
    if orders is not None:
        fit = _ranked(table, orders, groups)
    elif fit is None:
        fit = _kept_typical(table.coded(groups, False, link))
    if fit.typical:
        said.append(found("preferences-runaway", sd=f"{fit.sd.max():.2f}"))
    if not fit.converged:
        said.append(found("preferences-not-converged"))
    return fit, free, said


def _repeated(table: PairTable) -> list[Finding]:
    """Say how often a rater judged the same pair of the same item again, and what tells these comparisons apart."""
    if table.rater is None or table.item is None:
        return []
    if (column := _told_apart(table)) is not None:
        item = table.columns["item"]
        return [found("comparisons-told-apart", item=item, column=column, both=f"{item},{column}")]
    rows = np.column_stack([table.rater, table.item, table.first, table.second, table.y])
    again = table.n - len(np.unique(rows, axis=0))
    return [found("repeated-comparisons", n=again)] if again else []


def _told_apart(table: PairTable) -> str | None:
    """Return the column, of few kinds, in which comparisons of the same rater, item and pair always differ."""
    if table.rater is None or table.item is None or table.place is None or "item" not in table.columns:
        return None
    pair = np.minimum(table.first, table.second), np.maximum(table.first, table.second)
    key = np.unique(np.column_stack([table.rater, table.item, *pair]), axis=0, return_inverse=True)[1].ravel()
    sizes = np.bincount(key)
    again = np.flatnonzero(sizes[key] > 1)
    taken = {name for names in table.columns.values() for name in names.split(", ")}
    for name, cells in table.cells.items() if len(again) else ():
        kinds: dict[Any, int] = {}
        values = cells.to_pylist() if hasattr(cells, "to_pylist") else cells
        code = [kinds.setdefault(values[int(table.place[k])], len(kinds)) for k in again]
        if (
            name not in taken
            and len(kinds) <= 2 * sizes.max()
            and len({*zip(key[again].tolist(), code, strict=True)}) == len(again)
        ):
            return name
    return None


def _with_position(table: PairTable, groups: tuple[str, ...], link: str) -> Restricted | None:
    """Return the fit with a position effect, or ``None`` where that has no finite estimate."""
    try:
        fit = _kept_typical(table.coded(groups, True, link))
    except FitError:
        return None
    return fit if np.abs(fit.coefficients).max() < LARGEST and np.isfinite(fit.covariance).all() else None


def _kept_typical(data: Comparisons) -> Restricted:
    """Fit, with standard deviations near those of real raters where the data do not say what they are."""
    fit = restricted(data, PENALTY)
    return replace(restricted(data, PENALTY, NEAR), typical=True) if runaway(data, fit.sd) else fit


def _ranked(table: PairTable, orders: tuple[np.ndarray, np.ndarray], groups: tuple[str, ...]) -> Restricted:
    """Fit rankings as rankings, and not as pairs."""
    order, row = orders
    return fit_rankings(
        Rankings(order, len(table.systems), tuple(getattr(table, name)[row] for name in groups)), PENALTY
    )


def _rates(fit: Restricted, free: bool, link: str) -> WinRates:
    edge = fit.cuts[np.isfinite(fit.cuts) & (fit.cuts > 0)]
    tie = float(edge[0]) if len(fit.cuts) % 2 == 0 and len(edge) else 0.0
    return WinRates(float(np.sqrt(2 * (fit.sd**2).sum())), tie, float(fit.coefficients[-1]) if free else 0.0, link)


def _contrast(size: int, a: int, b: int) -> np.ndarray:
    out = np.zeros(size)
    for place, sign in ((a, 1.0), (b, -1.0)):
        if place > 0:
            out[place - 1] += sign
    return out


def _tests(table: PairTable, fit: Restricted, core: Sequence[int], robust: bool) -> list[TestedContrast]:
    S = len(table.systems)
    met = np.zeros((S, S), dtype=int)
    np.add.at(met, (table.first, table.second), 1)
    met = met + met.T
    out = []
    for a, b in combinations(range(S), 2):
        estimate, error, df, p = fit.test(_contrast(len(fit.coefficients), a, b))
        out.append(
            TestedContrast(core[a], core[b], estimate, error, df, p, int(met[a, b]), "robust t" if robust else "t")
        )
    return out


def _naive(table: PairTable, free: bool, link: str, engine: str) -> np.ndarray:
    """Return p-values of all pairs without raters and items."""
    if engine == "fast":
        own = fit_tied(table.coded((), free, link))
        strengths, V = _with_first(own.coefficients, own.covariance, len(table.systems))
    else:
        fit = fit_table(table, None, free, link, "none", engine)
        strengths, V = np.array([fit.coef[name] for name in table.systems]), np.asarray(fit.covariance)
    pairs = list(combinations(range(len(table.systems)), 2))
    z = [(strengths[a] - strengths[b]) / np.sqrt(V[a, a] + V[b, b] - 2 * V[a, b]) for a, b in pairs]
    return np.asarray(2 * stats.norm.sf(np.abs(z)))


def _with_first(beta: np.ndarray, covariance: np.ndarray, systems: int) -> tuple[np.ndarray, np.ndarray]:
    strengths, V = np.zeros(systems), np.zeros((systems, systems))
    strengths[1:] = beta[: systems - 1]
    V[1:, 1:] = covariance[: systems - 1, : systems - 1]
    return strengths, V


def _robust(table: PairTable, fit: Restricted, link: str) -> Restricted:
    """Replace the covariance by one in which the comparisons of an item, or of a rater, are correlated.

    References
    ----------
    Liang, K.-Y. & Zeger, S. L. (1986). Longitudinal data analysis using generalized linear models. Biometrika 73,
    13–22.
    """
    cluster = table.item if table.item is not None else table.rater
    if cluster is None:
        return fit
    data = table.coded((), False, link)
    S = len(table.systems)
    X = np.zeros((data.n, S))
    X[np.arange(data.n), data.first] = 1.0
    X[np.arange(data.n), data.second] -= 1.0
    X = X[:, 1:]
    eta = X @ fit.coefficients
    terms = row_terms(fit.cuts[data.y + 1] - eta, fit.cuts[data.y] - eta, link)
    bread = np.linalg.inv((X * terms.weight[:, None]).T @ X)
    count = int(cluster.max()) + 1
    scores = np.zeros((count, S - 1))
    np.add.at(scores, cluster, X * terms.slope[:, None])
    V = bread @ (scores.T @ scores) @ bread * count / max(count - 1, 1)
    # χ² with count − 1 degrees of freedom: one parameter, the scale of V
    return replace(fit, covariance=V, slopes=(V,), parameter_covariance=np.array([[2.0 / max(count - 1, 1)]]))


def _position(table: PairTable, fit: Restricted, rates: WinRates) -> dict[str, Any]:
    last = np.zeros(len(fit.coefficients))
    last[-1] = 1.0
    estimate, error, df, p = fit.test(last)
    half = float(stats.t.ppf(0.975, df)) * error
    low, high = (replace(rates, position=estimate + sign * half).shown_first() for sign in (-1, 1))
    return {"estimate": estimate, "std_error": error, "df": df, "p_value": p, "shown_first": rates.shown_first(),
            "conf_low": low, "conf_high": high}  # fmt: skip


def _system_rates(
    fit: Restricted, rates: WinRates, strengths: np.ndarray, table: PairTable
) -> tuple[tuple[float, float, float, float], ...]:
    S = len(strengths)
    counts = np.bincount(np.concatenate([table.first, table.second]), minlength=S)
    out = []
    for a in range(S):
        eta = np.delete(strengths[a] - strengths, a)
        others = [b for b in range(S) if b != a]
        mean = float(rates.points(eta).mean())
        weights = rates.slope(eta) / (S - 1)
        contrast = sum(w * _contrast(len(fit.coefficients), a, b) for w, b in zip(weights, others, strict=True))
        error = float(np.sqrt(contrast @ fit.covariance @ contrast))
        out.append((mean, error / max(mean * (1 - mean), 1e-9), fit.df(contrast), float(counts[a])))
    return tuple(out)


def _always(table: PairTable, criterion: str | None, link: str, ranked: bool, engine: str) -> PreferenceAnalysis:
    """Two systems, one of which always wins: an exact sign test over raters or items, whichever are fewer."""
    wins = table.points_matrix()
    best = int(wins[1].sum() > wins[0].sum())
    units = [len(names) for names in (table.raters, table.items) if names] or [table.n]
    n = min(units)
    p = float(min(1.0, 2 * 0.5**n))
    test = TestedContrast(best, 1 - best, np.inf, np.nan, np.nan, p, table.n, "sign")
    said = (*table.findings, found("always-wins", systems=table.systems[best], n=1), found("sign-test", n=n))
    return PreferenceAnalysis(
        table, criterion, model_name(table, link), (), ranked, (best, 1 - best), (), (), None, WinRates(0.0),
        np.array([np.inf, -np.inf]), (test,), np.array([np.nan]), None, None, (), agreement(table),
        ((1.0, np.nan, np.nan, float(table.n)), (0.0, np.nan, np.nan, float(table.n))), engine, said,
    )  # fmt: skip
