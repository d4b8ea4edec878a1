"""The functions that users call: scales compared, a second run, an outside measure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from ordbridge.errors import InputError
from ordbridge.reading import tables
from ordbridge.reliability.correlation import test_retest
from ordbridge.reliability.reading import ALL_RATINGS
from ordbridge.reliability.records import Coefficient
from ordbridge.results import Finding, found, worst_first
from ordbridge.scales.columns import OnScale, as_texts, numbers, read_outside, read_scale
from ordbridge.scales.factors import POSTHOC, difference_rows, factor_rows, sensitivity_row
from ordbridge.scales.result import SCHEMAS, TEXT, ScaleComparison
from ordbridge.scales.systems import (
    interchangeability_rows,
    reliability_row,
    stability_row,
    validity_row,
)
from ordbridge.support.arguments import choice, proportion


@dataclass(frozen=True)
class SystemCorrelation:
    """Pearson's r between the systems' mean ratings and an outside measure, with its p-value and stars."""

    estimate: float
    p_value: float
    stars: str
    n_systems: int


def compare(
    a: Any,
    b: Any = None,
    system: str = "system",
    item: str = "item",
    participant: str = "participant",
    rating: str = "rating",
    *,
    criterion: str | None = None,
    text_type: str | None = None,
    again: Mapping[str, Any] | None = None,
    outside: Mapping[Any, float] | Any = None,
    posthoc: str = "tukey",
    alpha: float = 0.05,
    names: tuple[str, str] = ("a", "b"),
    conf_level: float | None = 0.95,
) -> ScaleComparison:
    """Compare scales on which the same systems were rated, with the measures of Belz & Kow.

    Reliability is Kendall's W over the texts (system and item) that all raters rated; where fewer than half of the
    texts were rated by all, as in a Latin square, over each rater's means of the systems. Sensitivity counts
    differences between systems only after a significant analysis of variance. Where something cannot be
    computed, a finding says why and the rest goes on.

    Parameters
    ----------
    a, b
        Long tables of two scales; or ``a`` is a mapping from the name of an experiment to its table, for two or more.
    system, item, participant, rating, text_type
        Their columns; the text type is optional.
    criterion
        Column of the criterion; each is compared separately.
    again
        Mapping from the name of a scale to a second run of the same raters: stability.
    outside
        Another measure of the systems: a mapping, or a table with the columns ``system`` and ``value``: validity.
    posthoc
        Test of pairs of systems: ``"tukey"``, ``"holm"`` or ``"bonferroni"``.
    alpha
        Level of significance.
    names
        What two scales are called.
    conf_level
        Level of the intervals of W and of stability; ``None`` for none.

    Returns
    -------
    ScaleComparison

    References
    ----------
    Belz, A., & Kow, E. (2011). Discrete vs. continuous rating scales for language evaluation in NLP. ACL 2011, 230-235.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> cells = [(s, i, r) for s in range(4) for i in range(10) for r in range(5)]
    >>> quality = np.array([s + rng.normal() for s, i, r in cells])
    >>> columns = dict(zip(("system", "item", "participant"), map(list, zip(*cells))))
    >>> seven, slider = {**columns, "rating": (quality + 2).round()}, {**columns, "rating": 20 + 10 * quality}
    >>> comparison = compare(seven, slider, names=("VDS-7", "VAS"))
    >>> [row["significant"] for row in comparison.sensitivity.to_pylist()]
    [6, 6]
    """
    choice("posthoc", posthoc, POSTHOC)
    proportion("alpha", alpha)
    columns = {"system": system, "item": item, "participant": participant, "rating": rating, "text_type": text_type}
    columns["criterion"] = criterion
    scales = {name: read_scale(table, columns, f"scale {name!r}") for name, table in _experiments(a, b, names).items()}
    runs = {name: read_scale(table, columns, f"the second run of {name!r}") for name, table in (again or {}).items()}
    if unknown := runs.keys() - scales.keys():
        raise InputError(f"there is no scale {min(unknown)!r} to be used again; there are: {', '.join(scales)}")
    measure = None if outside is None else read_outside(outside, system, "value")
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in SCHEMAS}
    findings = _lonely_criteria(scales)
    for name, criterion_rows, noticed in _by_criterion(scales, runs, measure, posthoc, alpha, conf_level):
        for table, own in criterion_rows.items():
            rows[table] += [{"criterion": name} | row for row in own]
        findings += [one if name == ALL_RATINGS else replace(one, subject=f"{name}, {one.subject}") for one in noticed]
    return ScaleComparison(
        **{
            name: pa.Table.from_pylist(rows[name], schema=pa.schema({"criterion": TEXT, **schema}))
            for name, schema in SCHEMAS.items()
        },
        findings=worst_first(findings),
        conf_level=conf_level,
        settings={"posthoc": posthoc, "alpha": alpha, "conf_level": conf_level, "criterion": criterion},
    )


def _experiments(a: Any, b: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return the tables by name."""
    if b is None:
        if not isinstance(a, Mapping) or len(a) < 2:
            raise InputError("give two tables, or a mapping from the names of two or more experiments to their tables")
        return dict(a)
    if len(names) != 2 or names[0] == names[1]:
        raise InputError("names must be two different names for the two scales")
    return dict(zip(names, (a, b), strict=True))


def _criteria(scales: dict[str, OnScale]) -> list[str]:
    """Return the criteria that all scales have; one that stands for all ratings where there are none."""
    own = [set(np.unique(scale.criterion).tolist()) for scale in scales.values() if scale.criterion is not None]
    if not own:
        return [ALL_RATINGS]
    if not set.intersection(*own):
        raise InputError(f"the scales have no criterion in common; there are: {', '.join(sorted(set.union(*own)))}")
    return sorted(set.intersection(*own))


def _lonely_criteria(scales: dict[str, OnScale]) -> list[Finding]:
    """Return which criteria are left out because some scale lacks them."""
    common = set(_criteria(scales))
    return [
        found("criteria-left-out", name, criteria=lonely)
        for name, scale in scales.items()
        if scale.criterion is not None and (lonely := sorted(set(np.unique(scale.criterion).tolist()) - common))
    ]


def _validity(name: str, means: dict[str, float], outside: dict[str, float]) -> tuple[dict[str, Any], list[Finding]]:
    try:
        row = validity_row(name, means, outside)
    except InputError as reason:
        row = {"scale": name, "stars": "", "n_systems": len(set(means) & set(outside))}
        return row, [found("no-validity", name, text=str(reason))]
    only = sorted(set(means) ^ set(outside))
    return row, [found("systems-not-in-measure", name, systems=only)] if only else []


def _by_criterion(
    scales: dict[str, OnScale],
    runs: dict[str, OnScale],
    outside: dict[str, float] | None,
    posthoc: str,
    alpha: float,
    conf_level: float | None,
) -> Iterator[tuple[str, dict[str, list[dict[str, Any]]], list[Finding]]]:
    """Yield each criterion with its rows of all tables and its findings."""
    for criterion in _criteria(scales):
        here = {name: scale.on(criterion) for name, scale in scales.items()}
        means = {name: scale.means() for name, scale in here.items()}
        factors = [row for name, scale in here.items() for row in factor_rows(name, scale)]
        differences = [row for name, scale in here.items() for row in difference_rows(name, scale, posthoc)]
        reliability = [reliability_row(name, scale, conf_level) for name, scale in here.items()]
        interchangeability, noticed = interchangeability_rows(means)
        validity = [] if outside is None else [_validity(name, own, outside) for name, own in means.items()]
        sensitivity = [sensitivity_row(name, factors, differences, alpha, posthoc) for name in here]
        noticed = [one for _, own in (*reliability, *validity) for one in own] + noticed
        noticed += [
            found("unbalanced-factor", row["scale"], factor=row["factor"], adjusted=row["F_partial"], F=row["F"])
            for row in factors
            if not row["balanced"] and row["F_partial"] is not None
        ]
        noticed += [
            found("anova-not-significant", row["scale"], p=row["p_value"])
            for row in sensitivity
            if row["p_value"] >= alpha
        ]
        yield (
            criterion,
            {
                "means": [
                    {"scale": name, "system": level, "mean": float(r.mean()), "n_ratings": len(r)}
                    for name, scale in here.items()
                    for level, r in scale.by(scale.system).items()
                ],
                "reliability": [row for row, _ in reliability],
                "interchangeability": interchangeability,
                "sensitivity": sensitivity,
                "factors": factors,
                "differences": differences,
                "stability": [
                    stability_row(name, here[name], run.on(criterion), conf_level) for name, run in runs.items()
                ],
                "validity": [row for row, _ in validity],
            },
            noticed,
        )


def stability(
    run1: Any,
    run2: Any,
    system: str = "system",
    item: str = "item",
    participant: str = "participant",
    rating: str = "rating",
    *,
    conf_level: float | None = 0.95,
) -> Coefficient:
    """Pearson's r between the single ratings that the same raters gave the same texts in two runs.

    Texts are pairs of system and item; ratings given only once are left out.

    Examples
    --------
    >>> run1 = {"system": ["x", "y", "x", "y"], "item": [1, 1, 2, 2], "participant": ["p"] * 4,
    ...         "rating": [1, 3, 2, 5]}
    >>> run2 = {**run1, "rating": [2, 3, 2, 4]}
    >>> round(stability(run1, run2).estimate, 3)
    0.968
    """
    columns = {
        "system": system,
        "item": item,
        "participant": participant,
        "rating": rating,
        "text_type": None,
        "criterion": None,
    }
    first, second = (as_texts(read_scale(run, columns, name)) for name, run in (("run 1", run1), ("run 2", run2)))
    return test_retest(first, second, "text", "participant", "rating", conf_level=conf_level)


def validity(
    ratings: Any,
    outside_measure: Mapping[Any, float] | Any,
    system: str = "system",
    rating: str = "rating",
    *,
    value: str = "value",
) -> SystemCorrelation:
    """Pearson's r between the systems' mean ratings and an outside measure of the same systems.

    Parameters
    ----------
    ratings
        Long table with a column for the system and one for the rating.
    outside_measure
        Mapping from system to number, or a table with the columns ``system`` and ``value``.
    system, rating, value
        Names of the columns.

    Examples
    --------
    >>> ratings = {"system": ["x", "x", "y", "y", "z"], "rating": [1, 2, 3, 4, 5]}
    >>> result = validity(ratings, {"x": 0.2, "y": 0.5, "z": 0.7})
    >>> round(result.estimate, 3), result.n_systems, result.stars
    (0.999, 3, '*')
    """
    table = tables.to_arrow(ratings)
    levels = np.array([str(label) for label in tables.column(table, system, role="system").to_pylist()])
    scores = numbers(tables.column(table, rating, role="rating"), rating, "the table")
    means = {str(level): float(scores[levels == level].mean()) for level in np.unique(levels)}
    row = validity_row("the ratings", means, read_outside(outside_measure, system, value))
    return SystemCorrelation(row["estimate"], row["p_value"], row["stars"], row["n_systems"])
