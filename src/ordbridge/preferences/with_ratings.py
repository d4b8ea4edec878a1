"""``ob.prefer(pairs, ratings=…)``: ratings are read, coded beside the comparisons, and fitted with them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import stats

from ordbridge.errors import InputError
from ordbridge.preferences.fit_result import PreferenceFit, made
from ordbridge.preferences.joint import Rated, fit_joint
from ordbridge.preferences.table import FEWEST_LEVELS, PairTable, random_groupings, require_answers
from ordbridge.preferences.tied import Comparisons
from ordbridge.reading import read
from ordbridge.results.finding import Finding, found
from ordbridge.support.formatting import enumerated
from ordbridge.support.linked import linked
from ordbridge.support.naming import arg

__all__ = ["fit_with_ratings"]

MOST_CATEGORIES = 25
LARGEST = 15.0  # on the latent scale: what is larger has no finite estimate
FEW_LEVELS = 10
ROLES = {"rater": "participant", "item": "item"}


def fit_with_ratings(
    table: PairTable, ratings: Any, reference: str | None, position: bool, link: str, random: str
) -> PreferenceFit:
    """Fit comparisons and ratings together; arguments as of :func:`ordbridge.prefer`."""
    if random == "slopes":
        raise InputError(
            f"with {arg('ratings')} random effects are tied: give {arg('random', 'tied')} or {arg('random', 'none')}"
        )
    require_answers(table)
    if position and not table.position_identified():
        raise InputError("one system is always shown first, so position and strength cannot be told apart")
    rows = _rows(ratings)
    systems = tuple(sorted({*table.systems, *rows["system"]}))
    if reference is not None and reference not in systems:
        raise InputError(f"there is no system {reference!r}; there are {', '.join(systems)}")
    _require_common(table, rows["system"])
    place = {name: k for k, name in enumerate(systems)}
    moved = np.array([place[name] for name in table.systems])
    both = replace(table, systems=systems, first=moved[table.first], second=moved[table.second])
    rated = np.array([place[name] for name in rows["system"]])
    _require_connected(both, np.unique(rated))
    used, y = np.unique(rows["rating"], return_inverse=True)
    names, groups, said = _groups(table, rows) if random != "none" else ((), (), ())
    plain = both.coded((), position, link)
    pairs: Comparisons = replace(plain, groups=tuple(of_pairs for of_pairs, _ in groups))
    coded = Rated(rated, y, len(used), tuple(of_ratings for _, of_ratings in groups))
    fit = fit_joint(pairs, coded)
    S = len(systems)
    if np.abs(fit.coefficients).max() > LARGEST or not np.isfinite(fit.coefficients).all():
        raise InputError("a system always wins or loses, and has only the lowest or highest rating: leave it out")
    # three systems or more that are in both: do they say the same of them?
    apart = fit_joint(pairs, coded, apart=True) if {*table.systems} == {*rows["system"]} else None
    if apart is not None:
        ratio = max(0.0, 2 * (apart.loglik - fit.loglik))
        p = float(stats.chi2.sf(ratio, S - 1))
        said = (*said, found("ratings-disagree" if p < 0.05 else "ratings-agree", p=p))
    if not fit.converged:
        said = (*said, found("preferences-not-converged"))
    V = np.zeros((S, S))
    V[1:, 1:] = fit.covariance[: S - 1, : S - 1]
    upper = fit.cuts[np.isfinite(fit.cuts) & (fit.cuts > 0)]
    terms = [{"term": f"threshold {k + 1}", "estimate": float(cut), "std_error": None} for k, cut in enumerate(upper)]
    labels = [rows["labels"][k] for k in used]
    terms += [{"term": f"ratings {low}|{high}", "estimate": float(cut), "std_error": None}
              for low, high, cut in zip(labels[:-1], labels[1:], fit.thresholds[1:-1], strict=True)]  # fmt: skip
    if position:
        error = float(np.sqrt(fit.covariance[-1, -1]))
        terms.append({"term": "position", "estimate": float(fit.coefficients[-1]), "std_error": error})
    variances = [{"grouping": f"{name}:system", "std_dev": float(sd)} for name, sd in zip(names, fit.sd, strict=True)]
    variances += [{"grouping": f"{name}, in ratings", "std_dev": float(sd)}
                  for name, sd in zip(names, fit.own_sd, strict=True)]  # fmt: skip
    settings = {"engine": "fast", "link": link, "random": "tied" if names else "none", "groups": names,
                "position": position, "ratings": len(y)}  # fmt: skip
    strengths = np.concatenate([[0.0], fit.coefficients[: S - 1]])
    said = (*said, *rows["findings"])
    few = [n for pair in groups if (n := int(max(map(np.max, pair))) + 1) < FEW_LEVELS]
    df = min(few) - 1 if few else None  # Wald's z would reject too often
    return made(both, reference, strengths, V, terms, variances, fit.loglik, fit.converged, said, settings, None, df)


def _rows(ratings: Any) -> dict[str, Any]:
    """Return systems, answers from 0 (worst), their labels, and raters and items where the ratings have them."""
    try:
        read_in = read(ratings)
    except InputError as why:
        raise InputError(f"ratings: {why}. Read them with ob.read and these options") from why
    table = read_in.table
    if "system" not in table.column_names:
        raise InputError(
            f"{read_in.source} does not say which system was rated; read them with ob.read and {arg('system')}"
        )
    criteria = pa.compute.unique(table["criterion"]).to_pylist() if "criterion" in table.column_names else []
    if len(criteria) > 1:
        raise InputError(
            f"the ratings have {len(criteria)} criteria ({enumerated(criteria, 4)}); read those of one: ob.read with "
            f"{arg('where', f'criterion == {criteria[0]}')}, or with {arg('rating')} and its column"
        )
    column = table["rating"].combine_chunks()
    if pa.types.is_dictionary(column.type):
        labels = [str(one) for one in column.dictionary.to_pylist()]
        codes = column.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    else:
        values = column.to_numpy(zero_copy_only=False).astype(float)
        levels, codes = np.unique(values, return_inverse=True)
        labels = [f"{one:g}" for one in levels]
    if len(labels) < 2:
        raise InputError("all ratings are the same, so they say nothing about the systems")
    if len(labels) > MOST_CATEGORIES:
        raise InputError(
            f"the ratings have {len(labels)} different values; thresholds are for at most {MOST_CATEGORIES}: "
            "put values together first"
        )
    if read_in.lower_is_better:
        labels, codes = labels[::-1], len(labels) - 1 - codes
    out: dict[str, Any] = {"system": table["system"].to_pylist(), "rating": codes, "labels": labels,
                           "findings": tuple(one for one in read_in.findings if one.severity == "warning")}  # fmt: skip
    for role, name in ROLES.items():
        out[role] = table[name].to_pylist() if name in table.column_names else None
    return out


def _require_common(table: PairTable, rated: list[str]) -> None:
    if not {*table.systems} & {*rated}:
        raise InputError(
            f"no system has both: compared were {enumerated(sorted(table.systems), 4)}, rated "
            f"{enumerated(sorted({*rated}), 4)}; give them the same names"
        )


def _require_connected(table: PairTable, rated: np.ndarray) -> None:
    """Refuse systems that neither comparisons nor ratings connect; all that are rated are connected."""
    first = np.concatenate([table.first, np.full(len(rated), rated[0])])
    second = np.concatenate([table.second, rated])
    part = linked(first, second, len(table.systems))
    if part.any():
        apart = [table.systems[k] for k in np.flatnonzero(part != part[rated[0]])]
        raise InputError(
            f"{enumerated(apart, 4)}: neither rated nor compared with a system that was; leave them out, or "
            "compare them with others"
        )


def _groups(
    table: PairTable, rows: dict[str, Any]
) -> tuple[tuple[str, ...], tuple[tuple[np.ndarray, np.ndarray], ...], tuple[Finding, ...]]:
    """Return random groupings with the levels of comparisons and of ratings; the same name is the same level."""
    _, said = random_groupings(table, table.in_sets)
    out: list[Finding] = [one for one in said if one.code == "preferences-no-column"]
    names, groups = [], []
    for role in ROLES:
        mine, theirs = getattr(table, f"{role}s"), rows[role]
        if theirs is None:
            out.append(found("ratings-no-column", role=role))
        levels = list(dict.fromkeys([*mine, *(theirs or [])]))
        if not levels:
            continue
        if len(levels) < FEWEST_LEVELS:
            out.append(found("preferences-few-levels", role=role, n=len(levels)))
            continue
        if table.n + len(rows["system"]) < 1.2 * len(levels):
            out.append(found("preferences-once", role=role))
            continue
        if common := len({*mine} & {*(theirs or [])}):
            out.append(found("same-names", role=role, n=common, all=len(levels)))
        if len(levels) < FEW_LEVELS:
            out.append(found("few-for-preferences", role=role, n=len(levels)))
        place = {name: k for k, name in enumerate(levels)}
        codes = getattr(table, role)
        of_pairs = np.full(table.n, -1) if codes is None else np.array([place[one] for one in mine])[codes]
        of_ratings = np.full(len(rows["system"]), -1) if theirs is None else np.array([place[one] for one in theirs])
        names.append(role)
        groups.append((of_pairs, of_ratings))
    return tuple(names), tuple(groups), tuple(out)
