"""Settings for a power study from the ratings of past studies, as in section 4.2 of Howcroft & Rieser (2021)."""

from __future__ import annotations

import math
import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
import tomli_w

from ordbridge.design.inspect import encode
from ordbridge.errors import FitError, InputError, StatisticalWarning
from ordbridge.reading import tables
from ordbridge.render.layout import Section, ShownTable
from ordbridge.results import Finding, Result, found, worst_first
from ordbridge.simulate import ThresholdDistribution, Truth
from ordbridge.simulate.presets import Settings
from ordbridge.support.writing import write_text

if TYPE_CHECKING:
    from ordbridge.models.fit import Fit

LEAST_LEVELS = 3  # as many as clmm asks of a grouping factor
LIMIT = 0.999  # a correlation beyond this is at ±1: the ratings do not identify it
SUMMARIES: dict[str, Callable[[Sequence[float]], float]] = {
    "low": min,
    "general": lambda x: float(np.mean(x)),
    "high": max,
}


class EstimatedSettings(Settings, Result):
    """The settings ``low``, ``general`` and ``high``, each a truth, with the estimates they come from.

    Attributes
    ----------
    fits
        One row per dataset: formula, size, log-likelihood, whether it converged, whether its numbers entered.
    thresholds
        One row per dataset and threshold: its estimate, and the distance to the next.
    effects
        One row per dataset and system after the first: coefficient and absolute value.
    deviations
        One row per dataset, group (participant, item) and term (intercept, or the system of a slope): standard
        deviation, and of a slope its correlation with the intercept.
    findings
        What the settings do not have of the studies, and why, of which :func:`settings_from` warns; then what else to
        know.
    """

    kind: ClassVar[str] = "settings"
    title = "Settings for a power study, from past studies"
    fits: pa.Table
    thresholds: pa.Table
    effects: pa.Table
    deviations: pa.Table

    @property
    def answer(self) -> str:  # type: ignore[override]
        """The standard deviations of each setting."""
        return "\n".join(
            f"{name.capitalize()}: participants {_said(truth.participant_sd, truth.participant_corr)}; items "
            f"{_said(truth.item_sd, truth.item_corr)}; effect {truth.effects[0]:.2f}."
            for name, truth in self.items()
        )

    @property
    def counted(self) -> str:  # type: ignore[override]
        """What was fitted."""
        used = sum(self.fits["used"].to_pylist())
        return (
            f"Standard deviations of intercept and slope, and their correlation; from {used} of {self.fits.num_rows} "
            f"datasets, {sum(self.fits['n_obs'].to_pylist()):,} ratings."
        )

    @property
    def settings(self) -> dict[str, Any]:  # type: ignore[override]
        """The settings as plain values."""
        return {name: truth.to_dict() for name, truth in self.items()}

    @property
    def tables(self) -> dict[str, pa.Table]:
        """The estimates behind the settings."""
        found = {name: getattr(self, name) for name in ("fits", "thresholds", "effects", "deviations")}
        return {name: table for name, table in found.items() if table.num_rows}

    def main(self) -> Sequence[ShownTable]:
        """Return the models that were fitted."""
        return [
            ShownTable(self.fits.select(["dataset", "categories", "n_obs", "formula", "converged", "singular", "used"]))
        ]

    def sections(self) -> Sequence[Section]:
        """Return the estimates."""
        titles = {"thresholds": "Thresholds", "effects": "Effects (latent, from the first system)",
                  "deviations": "Standard deviations, and correlations of slopes with the intercept"}  # fmt: skip
        return [
            Section(title, (ShownTable(self.tables[name]),)) for name, title in titles.items() if name in self.tables
        ]

    def to_toml(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return a study file for ``ordbridge power`` with these settings, and write it if there is a path."""
        distance = math.copysign(_mean_distance(self), self["general"].effects[0])
        effects = [0.0, *(round(share * distance, 3) for share in (0.25, 0.5, 0.75, 1.0))]
        distinct = [name for name in self if name == "general" or self[name] != self["general"]]
        study = {
            "truth": {name: self[name].to_dict() for name in distinct},
            "design": {"kind": "counterbalanced", "texts_per_participant": 20},
            "grid": {"variance": distinct, "items": [50, 100], "ratings_per_text": [3], "effect": effects},
        }
        said = (
            "Settings from past studies, ready for: ordbridge power FILE",
            *(" ".join(one.text.split()) for one in self.findings),
            "Effects: 0, and quarters of the mean distance between thresholds; sign: that of the studies.",
        )
        text = "".join(f"# {line}\n" for line in said) + "\n" + tomli_w.dumps(study)
        if path is not None:
            write_text(path, text)
        return text


def settings_from(
    studies: Any,
    *,
    engine: str = "r",
    link: str = "probit",
    system: str = "system",
    item: str = "item",
    participant: str = "participant",
    rating: str = "rating",
    timeout: float | None = None,
) -> EstimatedSettings:
    """Fit the maximal model to each past study and summarise what is needed to simulate the next one.

    ``clmm(rating ~ system + (system | participant) + (system | item))`` is fitted to each dataset, without the terms
    that it cannot identify (see :func:`identified_terms`). The settings are the smallest, mean and largest standard
    deviation over datasets, of intercepts and of slopes apart; thresholds vary from study to study as the lowest
    threshold and the distances between neighbours do. The correlation of intercepts and slopes is the mean of the
    estimates: it decides how much wider the second system's ratings spread, and with it the power of both signs of the
    effect. The effect is the mean absolute coefficient with the sign of the mean; a power grid replaces it by its own.
    :class:`ordbridge.errors.StatisticalWarning` says what of the studies the settings leave out.

    Parameters
    ----------
    studies
        A table or file of ratings, several of them, or a mapping from names to them. Where a table has the columns
        ``dataset`` or ``criterion``, each of their combinations is a dataset of its own.
    engine, link, timeout
        As for :func:`ordbridge.clmm`.
    system, item, participant, rating
        Columns. A table without participants is fitted without their terms.

    Returns
    -------
    EstimatedSettings
        Takes a place as ``truth`` of :class:`ordbridge.power.ShownTable` as it is.

    References
    ----------
    Howcroft & Rieser (2021), section 4.2 and their code.

    Examples
    --------
    >>> study = {"system": list("AABB") * 6, "item": [f"I{i // 2}" for i in range(24)],
    ...          "rating": [1, 2, 2, 3, 3, 3, 2, 3, 1, 1, 1, 2, 2, 2, 3, 3, 1, 2, 2, 3, 3, 2, 3, 3]}
    >>> settings = settings_from({"pilot": study})
    >>> list(settings), settings["general"].item_sd[1]
    (['low', 'general', 'high'], 0.0)
    >>> settings.findings[1].text
    "pilot: the items' slopes cannot be estimated and are left out: 0 items occur under both A and B."
    """
    columns = {"system": system, "item": item, "participant": participant, "rating": rating}
    findings: list[Finding] = []
    estimates: dict[str, Truth] = {}
    rows: dict[str, list[dict[str, Any]]] = {"fits": [], "thresholds": [], "effects": [], "deviations": []}
    for name, table in _named(studies, rating):
        for part, ratings in _parts(name, table, columns):
            formula, left_out = _formula(part, ratings)
            findings += left_out
            fit = _fitted(part, formula, ratings, findings, engine=engine, link=link, timeout=timeout)
            if fit is not None:
                estimates[part] = _truth_of(fit)
                _record(rows, part, fit, estimates[part], encode(ratings["system"])[1])
        findings += _other_groups(name, table, columns)
    if not estimates:
        raise FitError(f"no dataset could be fitted: {findings[-1].text}")
    settings = _summarised(_one_scale(estimates, findings), rows, findings, link)
    for one in settings.findings:
        if one.severity == "warning":
            warnings.warn(one.text, StatisticalWarning, stacklevel=2)
    return settings


def identified_terms(ratings: Any, group: str, name: str = "") -> tuple[str | None, Finding | None]:
    """Say which random term of ``group`` ratings can identify: ``"system"``, ``"1"`` or None, and why not more.

    An intercept needs three levels with two ratings or more. Slopes need, besides, three levels that occur under both
    systems of every pair, or nothing is known of the correlation between a level's deviations under the two; and for
    every system three levels with two ratings or more under it, or a deviation cannot be told from residual noise.

    Parameters
    ----------
    ratings
        Table with the columns ``system`` and ``group``.
    group
        ``"participant"`` or ``"item"``.
    name
        Of the dataset, for the finding.

    Examples
    --------
    >>> texts = {"system": ["a", "a", "b", "b"] * 3, "item": [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]}
    >>> term, why = identified_terms(texts, "item")
    >>> term, why.code, why.values["n"]
    ('1', 'few-shared-levels', 0)
    """
    table = tables.to_arrow(ratings)
    if group not in table.column_names or table[group].null_count:
        return None, found("group-missing", name, group=group)
    level, levels = encode(table[group])
    system, systems = encode(table["system"])
    counts = np.zeros((len(levels), len(systems)), dtype=np.int64)
    np.add.at(counts, (level, system), 1)
    repeated = int((counts.sum(axis=1) >= 2).sum())
    if repeated < LEAST_LEVELS:
        return None, found("few-repeated-levels", name, group=group, n=repeated, needed=LEAST_LEVELS)
    for a, b in combinations(range(len(systems)), 2):
        shared = int(((counts[:, a] > 0) & (counts[:, b] > 0)).sum())
        if shared < LEAST_LEVELS:
            pair = {"system_a": str(systems[a]), "system_b": str(systems[b])}
            return "1", found("few-shared-levels", name, group=group, n=shared, **pair)
    for s, system_name in enumerate(systems):
        repeated = int((counts[:, s] >= 2).sum())
        if repeated < LEAST_LEVELS:
            return "1", found("few-repeated-under", name, group=group, n=repeated, system=str(system_name))
    return "system", None


def _named(studies: Any, rating: str) -> Iterator[tuple[str, pa.Table]]:
    """Yield name and table of every study."""
    if isinstance(studies, Mapping) and rating not in studies:
        named = list(studies.items())
    elif isinstance(studies, (list, tuple)):
        named = [(Path(s).stem if isinstance(s, (str, os.PathLike)) else None, s) for s in studies]
        named = [(name or f"dataset {number}", study) for number, (name, study) in enumerate(named, 1)]
    else:
        named = [(Path(studies).stem if isinstance(studies, (str, os.PathLike)) else "dataset", studies)]
    if twice := [name for name, count in Counter(name for name, _ in named).items() if count > 1]:
        raise InputError(f"two studies are called {twice[0]!r}; give a mapping with a name for each")
    for name, study in named:
        yield str(name), tables.to_arrow(study)


def _parts(name: str, table: pa.Table, columns: Mapping[str, str]) -> Iterator[tuple[str, pa.Table]]:
    """Yield name and ratings of every dataset in a table, with columns called system, item, participant, rating."""
    needed = {role: tables.column(table, columns[role], role=role) for role in ("system", "item", "rating")}
    if columns["participant"] in table.column_names:
        needed["participant"] = table[columns["participant"]]
    ratings = pa.table(needed)
    # As text, so that systems named by numbers are systems and no trend.
    ratings = ratings.set_column(0, "system", pa.array([_text(s) for s in ratings["system"].to_pylist()], pa.string()))
    if not ratings.num_rows:
        raise InputError(f"{name} has no rows")
    keep = np.array([s is not None for s in ratings["system"].to_pylist()]) & ~ratings["rating"].is_null().to_numpy()
    splitting = [column for column in ("dataset", "criterion") if column in table.column_names]
    splitting = [column for column in splitting if len(table[column].unique()) > 1]
    labels = list(zip(*(table[column].to_pylist() for column in splitting), strict=True)) or [()] * table.num_rows
    for label in dict.fromkeys(labels):
        rows = keep & np.array([other == label for other in labels], dtype=bool)
        part = ratings.filter(pa.array(rows))
        called = " ".join([name, *map(str, label)])
        if len(part["system"].unique()) < 2:
            raise InputError(f"{called} has ratings of fewer than two systems, so there is no effect to estimate")
        yield called, part


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _said(sd: tuple[float, ...], correlation: Any) -> str:
    return f"{sd[0]:.2f}, {sd[1]:.2f} ({correlation:.2f})"


def _formula(name: str, ratings: pa.Table) -> tuple[str, list[Finding]]:
    """Return the maximal formula that the ratings identify, and what was left out."""
    formula, left_out = "rating ~ system", []
    for group in ("participant", "item"):
        term, why = identified_terms(ratings, group, name)
        if term is not None:
            formula += f" + ({term} | {group})"
        left_out += [] if why is None else [why]
    return formula, left_out


def _other_groups(name: str, table: pa.Table, columns: Mapping[str, str]) -> Iterator[Finding]:
    """Yield which other columns group the ratings: three levels or more, each many times, no other names for texts."""
    known = {*columns.values(), "dataset", "criterion", "order"}
    keys = [[columns["item"]], [columns["participant"]], [columns["item"], columns["system"]]]
    roles = [
        list(zip(*(table[c].to_pylist() for c in key), strict=True)) for key in keys if {*key} <= {*table.schema.names}
    ]
    for column in table.column_names:
        if column in known or pa.types.is_floating(table[column].type) or pa.types.is_nested(table[column].type):
            continue
        values = table[column].to_pylist()
        levels = len(set(values))
        renamed = any(len(set(role)) == levels == len(set(zip(role, values, strict=True))) for role in roles)
        if LEAST_LEVELS <= levels <= len(values) / 2 and not renamed:
            yield found("other-grouping", name, column=column)


def _fitted(name: str, formula: str, ratings: pa.Table, findings: list[Finding], **options: Any) -> Fit | None:
    from ordbridge.models import api

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they are findings
            fit = (api.clmm if "|" in formula else api.clm)(formula, ratings, **options)
    except FitError as error:
        findings.append(found("study-not-fitted", name, text=str(error)))
        return None
    if not fit.converged:
        findings.append(found("study-not-converged", name, formula=formula))
    elif fit.singular:
        findings.append(found("study-singular", name, formula=formula))
    return fit


def _truth_of(fit: Fit) -> Truth:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of correlations at ±1, which the settings say themselves
        return Truth.from_fit(fit)


def _record(rows: dict[str, list[dict[str, Any]]], name: str, fit: Fit, truth: Truth, systems: list[str]) -> None:
    """Add the estimates of one dataset to the tables."""
    glance = fit.glance().to_pylist()[0]
    kept = ("formula", "n_obs", "loglik", "converged", "singular", "seconds")
    rows["fits"].append({"dataset": name, "categories": truth.categories} | {key: glance[key] for key in kept})
    cut = np.array(truth.thresholds)
    for number, (estimate, distance) in enumerate(zip(cut, [*np.diff(cut), None], strict=True), 1):
        rows["thresholds"].append(
            {"dataset": name, "threshold": number, "estimate": float(estimate), "distance_to_next": distance}
        )
    for system, effect in zip(systems[1:], truth.effects, strict=True):
        rows["effects"].append({"dataset": name, "system": system, "estimate": effect, "magnitude": abs(effect)})
    terms = {"(Intercept)": "intercept"} | {f"system{system}": system for system in systems[1:]}
    for row in fit.varcorr().to_pylist():
        with_intercept = row["correlations"][0] if row["correlations"] else None  # the intercept comes first
        rows["deviations"].append(
            {
                "dataset": name,
                "group": row["group"],
                "term": terms[row["term"]],
                "sd": row["sd"],
                "correlation": with_intercept,
            }
        )


def _one_scale(estimates: dict[str, Truth], findings: list[Finding]) -> dict[str, Truth]:
    """Keep the datasets with the most common number of categories, the larger one if there are two."""
    counts = Counter(truth.categories for truth in estimates.values())
    categories = max(counts, key=lambda k: (counts[k], k or 0))
    for name, truth in estimates.items():
        if truth.categories != categories:
            findings.append(found("other-scale", name, categories=truth.categories, others=categories))
    return {name: truth for name, truth in estimates.items() if truth.categories == categories}


def _summarised(
    used: dict[str, Truth],
    rows: dict[str, list[dict[str, Any]]],
    findings: list[Finding],
    link: str,
) -> EstimatedSettings:
    for fit in rows["fits"]:
        fit["used"] = fit["dataset"] in used
    shared: dict[str, Any] = {"effects": (_effect(used, findings),), "link": link, **_thresholds(list(used.values()))}
    deviations: dict[str, list[list[float]]] = {}
    for group in ("participant", "item"):
        own = [row for row in rows["deviations"] if row["group"] == group and row["dataset"] in used]
        intercepts = [row["sd"] for row in own if row["term"] == "intercept"]
        slopes = [row["sd"] for row in own if row["term"] != "intercept"]
        for code, values in (("no-intercepts-seen", intercepts), ("no-slopes-seen", slopes)):
            if not values:
                findings.append(found(code, group=group))
        deviations[f"{group}_sd"] = [intercepts or [0.0], slopes or [0.0]]
        shared[f"{group}_corr"] = _correlation(group, own, findings)
    for name, truth in used.items():
        if truth.systems > 2:
            findings.append(found("many-systems", name, systems=truth.systems))
    if len(used) == 1:
        findings.append(found("one-dataset"))
    settings = EstimatedSettings()
    for name, summary in SUMMARIES.items():
        sds: dict[str, Any] = {key: tuple(float(summary(v)) for v in both) for key, both in deviations.items()}
        settings[name] = Truth(**shared, **sds)
    for name, table in rows.items():
        setattr(settings, name, pa.Table.from_pylist(table) if table else pa.table({}))
    settings.findings = worst_first(findings)
    return settings


def _effect(used: dict[str, Truth], findings: list[Finding]) -> float:
    """Return the mean magnitude of all effects, with the sign of their mean."""
    effects = [effect for truth in used.values() for effect in truth.effects]
    above, below = sum(e > 0 for e in effects), sum(e < 0 for e in effects)
    if above and below:
        findings.append(found("mixed-signs", n=len(effects), above=above, below=below))
    return math.copysign(float(np.mean(np.abs(effects))), float(np.mean(effects)))


def _correlation(group: str, rows: list[dict[str, Any]], findings: list[Finding]) -> float:
    """Return the mean correlation of intercepts and slopes; one at ±1 counts only if there is no other."""
    known = [row for row in rows if row["correlation"] is not None]
    inside = [row["correlation"] for row in known if abs(row["correlation"]) <= LIMIT]
    for row in known:
        if abs(row["correlation"]) > LIMIT:
            values = {"group": group, "term": row["term"], "correlation": row["correlation"]}
            code = "correlation-left-out" if inside else "correlation-at-limit"
            findings.append(found(code, row["dataset"], **values, limit=math.copysign(LIMIT, row["correlation"])))
    if inside:
        return float(np.mean(inside))
    return float(np.mean([math.copysign(LIMIT, row["correlation"]) for row in known])) if known else 0.0


def _thresholds(truths: list[Truth]) -> dict[str, Any]:
    """Return the thresholds of one study, or the distribution of several studies' thresholds."""
    cut = np.array([truth.thresholds for truth in truths])
    if len(truths) == 1:
        return {"thresholds": tuple(map(float, cut[0]))}
    lowest, distances = cut[:, 0], np.diff(cut, axis=1).ravel()
    if not len(distances):
        return {"thresholds": (float(lowest.mean()),)}
    distribution = ThresholdDistribution(
        lowest=(float(lowest.mean()), float(lowest.std(ddof=1))),
        distance=(float(distances.mean()), float(distances.std(ddof=1))),
        categories=cut.shape[1] + 1,
    )
    return {"threshold_distribution": distribution}


def _mean_distance(settings: EstimatedSettings) -> float:
    used = {row["dataset"] for row in settings.fits.to_pylist() if row["used"]}
    rows = [row for row in settings.thresholds.to_pylist() if row["dataset"] in used]
    distances = [row["distance_to_next"] for row in rows if row["distance_to_next"] is not None]
    return float(np.mean(distances)) if distances else 1.0
