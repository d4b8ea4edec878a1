"""What an analysis noticed: a stable code, how bad it is, what it is about, and the numbers; wording comes last.

Programs look at :attr:`Finding.code` and :attr:`Finding.values`. The sentence is made from the catalogue
(:mod:`ordbridge.results.catalogue`) when somebody wants to read it, so that no decision can depend on it.
"""

from __future__ import annotations

import json
import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from ordbridge.results.catalogue import CATALOGUE
from ordbridge.support.columns import columns
from ordbridge.support.formatting import listed, p_text, r_text
from ordbridge.support.naming import arg

SEVERITIES = ("error", "warning", "note")
SHOWN_ROWS = 3  # row numbers; the others are counted


@dataclass(frozen=True)
class Finding:
    """Something that a reader of a result should know.

    Attributes
    ----------
    code
        What it is, one of ``docs/reference/findings.md``. Codes stay when sentences change.
    severity
        ``"error"``: the numbers cannot be used. ``"warning"``: they may mislead. ``"note"``: good to know.
    subject
        What it is about where that is not the whole result: a criterion, a group of raters, a model.
    values
        The numbers and names in its sentence; ``rows`` are row numbers of the file.

    Examples
    --------
    >>> noticed = found("few-shared-items", n=3)
    >>> noticed.severity, noticed.text
    ('warning', 'Only 3 items have two or more ratings: coefficients and intervals are rough.')
    """

    code: str
    severity: str
    subject: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)

    def __hash__(self) -> int:
        """Let equal findings be found once."""
        return hash((self.code, self.subject, repr(sorted(self.values.items()))))

    @property
    def what(self) -> str:
        """What was noticed, without where and what to do."""
        return _FORMATTER.vformat(CATALOGUE[self.code].text, (), self.values).removesuffix(".")

    @property
    def remedy(self) -> str:
        """What to do about it; may be empty."""
        return _FORMATTER.vformat(CATALOGUE[self.code].remedy, (), self.values)

    @property
    def text(self) -> str:
        """The whole in words."""
        what = self.what
        rows: Sequence[int] = self.values.get("rows", ())
        if rows:
            what = f"{what} (row{'s' if len(rows) > 1 else ''} {some_rows(rows)})"
        said = f"{self.subject}: {what}" if self.subject else f"{what[:1].upper()}{what[1:]}"
        return f"{said}{'' if said.endswith(('?', '!', '…')) else '.'} {self.remedy}".rstrip()


def found(code: str, subject: str | None = "", *, severity: str | None = None, **values: Any) -> Finding:
    """Return a finding; its severity is the catalogue's unless another is given."""
    return Finding(code, severity or CATALOGUE[code].severity, subject or "", values)


def has(findings: Iterable[Finding], *codes: str) -> bool:
    """Tell whether one of these codes is among the findings.

    Examples
    --------
    >>> has([found("few-shared-items", n=3)], "few-shared-items", "dominant-category")
    True
    """
    return any(finding.code in codes for finding in findings)


def worst_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return each finding once, errors first, otherwise in their order."""
    return tuple(sorted(dict.fromkeys(findings), key=lambda finding: SEVERITIES.index(finding.severity)))


def together(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings as they are read: what is true of several criteria is said once.

    Examples
    --------
    >>> three = [found("few-shared-items", criterion, n=3) for criterion in ("fluency", "clarity")]
    >>> [one.subject for one in together([*three, found("few-shared-items", "style", n=9)])]
    ['fluency, clarity', 'style']
    """
    kept: dict[Any, list[Finding]] = {}
    for one in dict.fromkeys(findings):
        what = (one.code, one.severity, repr(sorted(one.values.items())))
        kept.setdefault(what if one.subject else one, []).append(one)
    return tuple(replace(same[0], subject=_subjects([one.subject for one in same])) for same in kept.values())


def _subjects(names: Sequence[str], most: int = 4) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ("; " if any("," in name for name in names) else ", ").join(names[:most]) + more


def with_findings(table: pa.Table, findings: Iterable[Finding]) -> pa.Table:
    """Return a table that carries findings in its metadata; :func:`findings_of` gets them back.

    Examples
    --------
    >>> [finding.code for finding in findings_of(with_findings(pa.table({}), [found("few-shared-items", n=3)]))]
    ['few-shared-items']
    """
    kept = [[one.code, one.severity, one.subject, dict(one.values)] for one in dict.fromkeys(findings)]
    return table.replace_schema_metadata({"findings": json.dumps(kept, default=float)})


def findings_of(table: pa.Table) -> tuple[Finding, ...]:
    """Return the findings that a table carries."""
    kept = (table.schema.metadata or {}).get(b"findings", b"[]")
    return tuple(Finding(*one) for one in json.loads(kept))


def findings_table(findings: Iterable[Finding]) -> pa.Table:
    """Return findings as a table: code, severity, subject, text, rows (the first ones), count, remedy."""
    rows = []
    for one in findings:
        of_file = one.values.get("rows", ())
        rows.append(
            {"severity": one.severity, "code": one.code, "subject": one.subject or None, "what": one.what,
             "rows": some_rows(of_file), "count": len(of_file), "remedy": one.remedy}
        )  # fmt: skip
    return pa.Table.from_pylist(rows, schema=_SCHEMA)


_SCHEMA = pa.schema(columns("severity code subject what rows: text; count: count; remedy: text"))


def some_rows(rows: Sequence[int]) -> str:
    """Return the first row numbers as text.

    Examples
    --------
    >>> some_rows([3, 17, 20, 21, 22]), some_rows([3, 4, 5, 6])
    ('3, 17, 20 and 2 more', '3, 4, 5, 6')
    """
    numbers = [int(row) for row in rows]
    if len(numbers) <= SHOWN_ROWS + 1:
        return ", ".join(map(str, numbers))
    return f"{', '.join(map(str, numbers[:SHOWN_ROWS]))} and {len(numbers) - SHOWN_ROWS} more"


class _Formatter(string.Formatter):
    """Formats of Python, and ``{n:of rating}`` (3 ratings), ``{names:list}`` (A, B and C), ``{p:p}``, ``{x:r}``.

    ``{arg:scale}`` and ``{arg:test wald}`` name an argument, ``{column:as item}`` one that has this value.
    """

    def get_value(self, key: int | str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        return _ARGUMENT if key == "arg" else super().get_value(key, args, kwargs)

    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec.startswith("of "):
            return f"{value:,} {format_spec[3:]}{'' if value == 1 else 's'}"
        if format_spec == "list":
            return listed([str(one) for one in value])
        if format_spec.startswith("as "):
            return arg(format_spec[3:], value)
        if value is _ARGUMENT:
            name, _, given = format_spec.partition(" ")
            return arg(name, {"True": True, "False": False}.get(given, given)) if given else arg(name)
        if format_spec == "p":
            return p_text(value)
        if format_spec == "r":
            return r_text(value)
        return str(super().format_field(value, format_spec))


_ARGUMENT = object()
_FORMATTER = _Formatter()
