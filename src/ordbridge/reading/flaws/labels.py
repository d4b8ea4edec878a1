"""Names of people, items, systems and criteria: the same thing under two names, or under a number."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

import numpy as np

from ordbridge.reading.coded_ratings import Names, RatedStudy
from ordbridge.results.finding import Finding
from ordbridge.results.finding import found as noticed

__all__ = ["label_flaws"]

_FORMULA = re.compile(r"\s*[=@]|\s*[+\-]\D*\(")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b-\u200f\u202a-\u202e\ufeff]")
_LISTED = re.compile(r"[\s,;|]+")
LISTS = 0.3  # share of the names of systems from which on they are lists of systems
_NUMBER = re.compile(r"\s*[+-]?\d+([.,]\d+)?\s*")


def label_flaws(study: RatedStudy) -> Iterator[Finding]:
    """Yield what is wrong with names."""
    for role, names in study.names.items():
        yield from _same_but_for(study, role, names)
        yield from _strange(study, role, names)
    if "system" in study.names:
        yield from _numeric_systems(study, study.names["system"])
        yield from _several_in_a_cell(study, study.names["system"])


def _same_but_for(study: RatedStudy, role: str, names: Names) -> Iterator[Finding]:
    """Find names that differ by case, blanks or punctuation only."""
    exact = [_folded(label, r"\s") for label in names.labels]
    loose = [_folded(label, r"[\s_\-.]") for label in names.labels]
    for problem, folded in (("labels-differ", exact), ("similar-labels", loose)):
        groups: dict[str, list[int]] = {}
        for place, key in enumerate(folded):
            groups.setdefault(key, []).append(place)
        twins = [
            sorted(group, key=lambda place: -names.counts[place])  # the usual spelling first
            for group in groups.values()
            if len({exact[p] if problem == "similar-labels" else p for p in group}) > 1
        ]
        if not twins or (problem == "similar-labels" and role in ("participant", "item")):
            continue
        rare = {place for group in twins for place in group[1:]}
        shown = "; ".join(" and ".join(repr(names.labels[place]) for place in group[:3]) for group in twins[:3])
        more = f" and {len(twins) - 3} more" if len(twins) > 3 else ""
        severe = "error" if problem == "labels-differ" and role in ("system", "criterion") else "warning"
        rows = study.rows_of(np.isin(names.code, list(rare)))
        yield noticed(problem, severity=severe, role=role, shown=f"{shown}{more}", rows=rows)


def _folded(label: str, ignored: str) -> str:
    """Return a name without its blanks or signs, but for those between digits: 3 5 is not 35, nor 1.0 10."""
    return re.sub(rf"(?<!\d){ignored}+|{ignored}+(?!\d)", "", unicodedata.normalize("NFKC", label.strip()).casefold())


def _strange(study: RatedStudy, role: str, names: Names) -> Iterator[Finding]:
    """Find names that a spreadsheet would run as formulas, and characters that cannot be seen."""
    for problem, pattern in (("formula-cells", _FORMULA), ("hidden-characters", _CONTROL)):
        found = [
            place
            for place, label in enumerate(names.labels)
            if pattern.match(label) or (pattern is _CONTROL and pattern.search(label))
        ]
        if found:
            shown = ", ".join(repr(names.labels[place]) for place in found[:3])
            yield noticed(problem, role=role, shown=shown, rows=study.rows_of(np.isin(names.code, found)))


def _numeric_systems(study: RatedStudy, names: Names) -> Iterator[Finding]:
    if names.labels and all(_NUMBER.fullmatch(label) for label in names.labels):
        yield noticed("numeric-systems", shown=", ".join(sorted(names.labels)[:6]))


def _several_in_a_cell(study: RatedStudy, names: Names) -> Iterator[Finding]:
    """Find cells that list systems, which others name alone or in other lists: "3 10 16" beside "3" and "10 16"."""
    parts = [[one for one in _LISTED.split(label.strip()) if one] for label in names.labels]
    alone = {own[0] for own in parts if len(own) == 1}
    lists = [place for place, own in enumerate(parts) if len(own) > 1]
    listed = {one for place in lists for one in parts[place]}
    if len(lists) > 2 and len(lists) > LISTS * len(parts) and 2 * len(listed & alone) >= len(listed):
        shown = ", ".join(repr(names.labels[place]) for place in lists[:3])
        yield noticed("several-systems-in-cell", shown=shown, rows=study.rows_of(np.isin(names.code, lists)))
