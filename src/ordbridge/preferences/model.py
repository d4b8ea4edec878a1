"""``ob.prefer``: the model of comparisons, by R's ``ordinal`` or natively."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ordbridge.errors import ConvergenceWarning, FitError, InputError
from ordbridge.models.api import clm, clmm
from ordbridge.models.engines import engine_name
from ordbridge.models.fit import Fit
from ordbridge.preferences.fit_result import PreferenceFit, made
from ordbridge.preferences.fitting import fit_tied, runaway
from ordbridge.preferences.rows import LINKS
from ordbridge.preferences.table import (
    PairTable,
    one_sided,
    pair_table,
    random_groupings,
    require_answers,
    require_connected,
    said_systems,
    used_categories,
)
from ordbridge.preferences.tied import LARGEST_REST
from ordbridge.preferences.with_ratings import fit_with_ratings
from ordbridge.results.finding import Finding, found
from ordbridge.support.arguments import choice

__all__ = ["prefer"]

RANDOM = ("auto", "none", "slopes", "tied")
FEW_SYSTEMS = 4  # for which R's clmm has full slopes
FEW_LEVELS = 10


def prefer(
    data: Any,
    *,
    first: str | None = None,
    second: str | None = None,
    outcome: str | None = None,
    rater: str | None = None,
    item: str | None = None,
    categories: int | None = None,
    reference: str | None = None,
    position: bool = False,
    link: str = "logit",
    random: str = "auto",
    engine: str = "r",
    timeout: float | None = None,
    ratings: Any = None,
) -> PreferenceFit:
    """Fit the model of comparisons of two systems (a or b, ties, grades).

    P(answer ≤ j) = F(θ_j − η), η = β_a − β_b (+ position), with thresholds symmetric about zero. Two answers:
    Bradley–Terry; three: Rao–Kupper; more: graded. With the probit link, Thurstone–Mosteller.

    Parameters
    ----------
    data
        A file that is recognised as comparisons, what the reader found, or a table with the columns below.
    first, second, outcome
        Columns of the system shown first, of the one shown second, and of the answer: ``a``, ``b``, ``tie``, the name
        of the better system, or integers from 1 (second much better) to K (first much better).
    rater, item
        Columns whose preferences are random.
    categories
        How many answers the scale has, where integers do not say it.
    reference
        The system whose strength is 0; by default the first in the alphabet.
    position
        Whether what is shown first may be preferred for that.
    link
        ``"logit"`` or ``"probit"``.
    random
        ``"none"``; ``"slopes"``: raters and items differ in every system, with all correlations (R's clmm);
        ``"tied"``: one variance per rater:system and item:system, natively; ``"auto"``: slopes for up to four systems
        with R, tied otherwise.
    engine
        ``"r"``: ordinal's clm or clmm where they can fit the model. ``"fast"``: the native engine.
    timeout
        Seconds that one fit may take.
    ratings
        Ratings of the same systems, as :func:`ordbridge.read` takes or returns them: strengths are shared, thresholds
        are their own. Raters and items of the same name are the same. Natively, with random effects tied or none.

    References
    ----------
    Bradley, R. A. & Terry, M. E. (1952). Rank analysis of incomplete block designs. Biometrika 39, 324–345.
    Rao, P. V. & Kupper, L. L. (1967). Ties in paired-comparison experiments. JASA 62, 194–204.
    Agresti, A. (1992). Analysis of ordinal paired comparison data. Applied Statistics 41, 287–297.

    Examples
    --------
    >>> votes = {"left": list("AABBCCAB"), "right": list("BCCAABBC"), "vote": list("abbatbab")}
    >>> votes["vote"][4] = "tie"
    >>> fit = prefer(votes, first="left", second="right", outcome="vote", engine="fast")
    >>> fit.settings["model"], [round(value, 2) for value in fit.coef.values()]
    ('Rao–Kupper model', [0.0, -0.54, 0.54])
    """
    choice("link", link, LINKS)
    choice("random", random, RANDOM)
    engine = engine_name(engine)
    table = pair_table(data, first, second, outcome, rater, item, categories)
    if table.criterion is not None and len(table.criteria) > 1:
        raise InputError(f"there are {len(table.criteria)} criteria; fit them one by one, or use compare")
    if ratings is not None:
        return fit_with_ratings(table, ratings, reference, position, link, random)
    return fit_table(table, reference, position, link, random, engine, timeout)


def fit_table(
    table: PairTable,
    reference: str | None = None,
    position: bool = False,
    link: str = "logit",
    random: str = "auto",
    engine: str = "r",
    timeout: float | None = None,
) -> PreferenceFit:
    """Fit comparisons that are coded already; arguments as of :func:`prefer`."""
    require_answers(table)
    require_connected(table)
    above, _, below = one_sided(table)
    if above or below:
        which = said_systems([table.systems[k] for k in (*above, *below)])
        raise InputError(
            f"{which}: no points against the others, or all of them, so no strength is finite; leave them "
            "out, or use compare"
        )
    if position and not table.position_identified():
        raise InputError("one system is always shown first, so position and strength cannot be told apart")
    if reference is not None and reference not in table.systems:
        raise InputError(f"there is no system {reference!r}; there are {', '.join(table.systems)}")
    groups, said = ((), ()) if random == "none" else random_groupings(table, table.in_sets)
    groups, said = that_fit(table, groups, said)
    said = (*said, *(found("preferences-wald", role=name, n=n) for name in groups
                     if (n := len(getattr(table, f"{name}s"))) < FEW_LEVELS))  # fmt: skip
    few = len(table.systems) <= FEW_SYSTEMS
    tied = bool(groups) and (random == "tied" or (random == "auto" and (engine == "fast" or not few)))
    if tied:
        return _tied(table, reference, position, link, groups, engine, said)
    return _ordinal(table, reference, position, link, groups, engine, timeout, said)


def that_fit(
    table: PairTable, groups: tuple[str, ...], said: tuple[Finding, ...]
) -> tuple[tuple[str, ...], tuple[Finding, ...]]:
    """Leave out a second grouping with more level:system pairs than can be handled."""
    if len(groups) < 2:
        return groups, said
    levels = {name: getattr(table, name) for name in groups}
    S = len(table.systems)
    pairs = {
        name: len(np.unique(np.concatenate([codes * S + table.first, codes * S + table.second])))
        for name, codes in levels.items()
    }
    dropped = min(groups, key=lambda name: len(getattr(table, f"{name}s")))
    if pairs[dropped] <= LARGEST_REST:
        return groups, said
    dropped = "item"
    return ("rater",), (*said, found("preferences-too-many", role=dropped, n=pairs[dropped]))


def _tied(
    table: PairTable,
    reference: str | None,
    position: bool,
    link: str,
    groups: tuple[str, ...],
    engine: str,
    said: tuple[Finding, ...],
) -> PreferenceFit:
    data = table.coded(groups, position, link)
    solution = fit_tied(data)
    if runaway(data, solution.sd):
        said = (*said, found("preferences-made-up"))
    if not solution.converged:
        said = (*said, found("preferences-not-converged"))
    if engine == "r":
        said = (*said, found("tied-natively"))
    S = len(table.systems)
    strengths, V = np.zeros(S), np.zeros((S, S))
    strengths[1:] = solution.coefficients[: S - 1]
    V[1:, 1:] = solution.covariance[: S - 1, : S - 1]
    upper = solution.cuts[np.isfinite(solution.cuts) & (solution.cuts > 0)]
    terms = [{"term": f"threshold {k + 1}", "estimate": float(cut), "std_error": None} for k, cut in enumerate(upper)]
    if position:
        error = float(np.sqrt(solution.covariance[-1, -1]))
        terms.append({"term": "position", "estimate": float(solution.coefficients[-1]), "std_error": error})
    variances = [
        {"grouping": f"{name}:system", "std_dev": float(sd)} for name, sd in zip(groups, solution.sd, strict=True)
    ]
    settings = {"engine": "fast", "link": link, "random": "tied", "groups": groups, "position": position}
    return made(
        table, reference, strengths, V, terms, variances, solution.loglik, solution.converged, said, settings, None
    )


def _ordinal(
    table: PairTable,
    reference: str | None,
    position: bool,
    link: str,
    groups: tuple[str, ...],
    engine: str,
    timeout: float | None,
    said: tuple[Finding, ...],
) -> PreferenceFit:
    """Fit with ordinal::clm or clmm, or the same likelihood natively."""
    S = len(table.systems)
    y, count = used_categories(table.y, table.categories)
    complete = len(np.unique(y)) == count
    X = np.zeros((table.n, S))
    X[np.arange(table.n), table.first] = 1.0
    X[np.arange(table.n), table.second] -= 1.0
    columns = {f"x{k}": X[:, k] for k in range(1, S)}
    names = list(columns)
    frame: dict[str, Any] = {"y": y + 1, **columns} | {name: getattr(table, name) for name in groups}
    # ordinal drops answers that nobody gave, and a system where columns add up to a constant: mirrored rows keep both
    constant = not table.position_identified()
    mirrored = not complete or constant or (count == 2 and not position and engine == "r")
    options: dict[str, Any] = {"link": link, "engine": engine, "timeout": timeout}
    if mirrored:
        if position:
            frame["shown"] = np.ones(table.n)
            names.append("shown")
        frame = _mirror(frame, names, count)
        options |= {"threshold": "flexible", "weights": "w"}
    elif position:
        options["threshold"] = "flexible" if count == 2 else "symmetric"
    else:
        options["threshold"] = "symmetric2"
    fixed = " + ".join(names)
    slopes = " + ".join(f"x{k}" for k in range(1, S))
    formula = f"y ~ {fixed}" + "".join(f" + (0 + {slopes} | {name})" for name in groups)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if groups:
            fit = clmm(formula, frame, start="fast" if engine == "r" else None, **options)
        else:
            fit = clm(formula, frame, **options)
    if not fit.converged:
        said = (*said, found("preferences-not-converged"))
    coef, terms_of = fit.coef, list(fit.estimates.terms)
    strengths, V = np.zeros(S), np.zeros((S, S))
    places = [terms_of.index(f"x{k}") for k in range(1, S)]
    strengths[1:] = [coef[f"x{k}"] for k in range(1, S)]
    V[1:, 1:] = np.asarray(fit.estimates.vcov)[np.ix_(places, places)]
    if not np.isfinite(strengths).all():
        raise FitError("a system has no estimate; use compare, which says why")
    terms = _other_terms(fit, position, mirrored)
    variances = _variances(table, fit)
    settings = {"engine": engine, "link": link, "random": "slopes" if groups else "none", "groups": groups,
                "position": position, "mirrored": mirrored}  # fmt: skip
    return made(table, reference, strengths, V, terms, variances, fit.loglik, fit.converged, said, settings, fit)


def _mirror(frame: dict[str, Any], signed: list[str], categories: int) -> dict[str, Any]:
    """Return every row twice with half the weight: as it is, and from the other side."""
    both = {name: np.concatenate([column, column]) for name, column in frame.items()}
    n = len(frame["y"])
    for name in signed:
        both[name][n:] *= -1.0
    both["y"][n:] = categories + 1 - both["y"][n:]
    both["w"] = np.full(2 * n, 0.5)
    return both


def _other_terms(fit: Fit, position: bool, mirrored: bool) -> list[dict[str, Any]]:
    cuts = np.asarray(fit.estimates.cutpoints, dtype=float).ravel()
    rows: list[dict[str, Any]] = []
    if not position:
        centre, error = 0.0, None
    elif mirrored:
        k = list(fit.estimates.terms).index("shown")
        centre, error = 0.0, float(np.sqrt(fit.estimates.vcov[k, k]))
        rows.append({"term": "position", "estimate": fit.coef["shown"], "std_error": error})
    else:
        # the centre of the cut-points is minus the position effect
        names = list(fit.estimates.terms)
        inner = [names.index(name) for name in ("central", "central.1", "central.2", "1|2") if name in names]
        weight = np.full(len(inner), 1 / len(inner))
        centre = float(weight @ np.asarray(fit.estimates.estimate)[inner])
        error = float(np.sqrt(weight @ np.asarray(fit.estimates.vcov)[np.ix_(inner, inner)] @ weight))
        rows.append({"term": "position", "estimate": -centre, "std_error": error})
    upper = (cuts - centre)[cuts - centre > 1e-9]
    return [
        {"term": f"threshold {k + 1}", "estimate": float(cut), "std_error": None} for k, cut in enumerate(upper)
    ] + rows


def _variances(table: PairTable, fit: Fit) -> list[dict[str, Any]]:
    if fit.problem.model != "clmm":
        return []
    rows = []
    for row in fit.varcorr().to_pylist():
        name = row["term"]
        if str(name).startswith("x") and str(name)[1:].isdigit():
            system = table.systems[int(str(name)[1:])]
            rows.append({"grouping": f"{row['group']}: {system} − {table.systems[0]}", "std_dev": row["sd"]})
    return rows
