"""Ratings by people and by one judge of the same texts, read from a long table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ordbridge.errors import InputError
from ordbridge.reading import tables
from ordbridge.reading.rating_table import ROLES
from ordbridge.reliability.ratings import GAP, LEVELS, Ratings, prepare, read_for, require
from ordbridge.results import Finding
from ordbridge.support.arguments import choice
from ordbridge.support.naming import arg

JUDGE = "judge"
_THE_JUDGE = "\x00judge"  # no person has this name


@dataclass(frozen=True)
class Columns:
    """Names of the columns of a long table, and what its ratings are.

    Attributes
    ----------
    participant, item, system, rating, criterion
        Columns, where :func:`ordbridge.read` does not recognise them. A text is item × system × criterion.
    kind
        Column that is ``"judge"`` in rows of a judge.
    cluster
        Column of texts that belong together, by default the item: several texts of one item are not independent.
    level
        ``"nominal"``, ``"ordinal"``, ``"interval"`` or ``"ratio"``; by default nominal for words, else ordinal.
    scale
        See :func:`ordbridge.reliability.prepare`.
    """

    participant: str | None = None
    item: str | None = None
    system: str | None = None
    rating: str | None = None
    criterion: str | None = None
    kind: str = "kind"
    cluster: str | None = None
    level: str | None = None
    scale: Sequence[Any] | None = None


@dataclass(frozen=True)
class Judged:
    """People's ratings of texts, and the judge's rating of each.

    Attributes
    ----------
    humans
        People's ratings; its items are numbers of texts.
    judge_code
        The judge's category of each text, ``GAP`` where it gave none.
    name, level
        Of the judge; level of measurement.
    cluster
        The cluster of each text: those that belong together.
    labels
        Of each text: its item, system and criterion, in words, where there are such columns.
    extras
        Of each text: its value in every other column that has one value for each text.
    findings
        How the ratings were read.
    """

    humans: Ratings
    judge_code: np.ndarray
    name: str
    level: str
    cluster: np.ndarray
    labels: dict[str, np.ndarray]
    extras: dict[str, np.ndarray]
    findings: tuple[Finding, ...] = ()

    @property
    def judge(self) -> np.ndarray:
        """The judge's rating of each text as a number, NaN where it gave none."""
        return np.where(self.judge_code == GAP, np.nan, self.humans.points[self.judge_code])

    @property
    def people(self) -> np.ndarray:
        """The mean of people's ratings of each text, NaN where there are none."""
        number = self.humans.per_item
        total = np.bincount(self.humans.row, weights=self.values, minlength=len(number))
        with np.errstate(invalid="ignore", divide="ignore"):
            return total / number

    @property
    def values(self) -> np.ndarray:
        """People's ratings as numbers."""
        return self.humans.points[self.humans.code]

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems; one that stands for all texts where there are none."""
        return tuple(dict.fromkeys(sorted(self.system_of.tolist())))

    @property
    def system_of(self) -> np.ndarray:
        """The system of each text."""
        return self.labels.get("system", np.full(len(self.cluster), "all texts", dtype=object))


def judges_in(data: Any, columns: Columns | None = None) -> list[str]:
    """Return the names of the judges in a table.

    Examples
    --------
    >>> judges_in({"participant": ["a", "gpt"], "kind": ["human", "judge"]})
    ['gpt']
    """
    columns = columns or Columns()
    table = tables.to_arrow(data)
    if columns.kind not in table.column_names:
        return []
    rows = table.filter(pc.equal(_words(table[columns.kind]), JUDGE))
    return sorted(
        set(_words(tables.column(rows, columns.participant or "participant", role="participant")).to_pylist())
    )


def read_judged(data: Any, judge: str | None, columns: Columns) -> Judged:
    """Return the ratings of people and of one judge; see :class:`Columns`."""
    if isinstance(data, Judged):
        return data
    roles = {role: getattr(columns, role) for role in ROLES}
    study = read_for(data, columns.level, columns.scale, roles)
    table = study.table
    names = _words(tables.column(table, "participant", role="participant"))
    name, is_judge, is_person = _who(table, names, judge, columns)
    table = table.filter(pa.array(is_judge | is_person))
    raters = np.where(is_judge, _THE_JUDGE, np.array(names.to_pylist(), dtype=object))[is_judge | is_person]
    keys = ["item"] + [key for key in ("system", "criterion") if key in table.column_names]
    parts = {key: _words(tables.column(table, key, role="item")).to_pylist() for key in keys}
    _no_gaps(parts)
    codes = [np.unique(np.array(values, dtype=object).astype(str), return_inverse=True) for values in parts.values()]
    text = np.unique(np.column_stack([code for _, code in codes]), axis=0, return_inverse=True)[1].ravel()
    given = tables.column(table, "rating", role="rating")
    plain = pa.table({"text": text, "rater": [str(name) for name in raters], "rating": given})
    scale = study.ends if columns.scale is None else columns.scale
    ratings = prepare(plain, "text", "rater", "rating", scale, system=None)
    level = columns.level or ("ordinal" if ratings.ordered else "nominal")
    require(ratings, "a judge's comparison with people", choice("level", level, LEVELS), varied=False)
    rows = np.array([int(label) for label in ratings.items])
    first = np.unique(text, return_index=True)[1][rows]
    labels = {role: np.array(parts[role], dtype=object)[first] for role in keys}
    cluster = labels["item"]
    if columns.cluster is not None and columns.cluster != columns.item:
        cluster = np.array(_words(tables.column(table, columns.cluster, role="cluster")).to_pylist(), dtype=object)
        cluster = cluster[first]
    by_judge = ratings.column == ratings.raters.index(_THE_JUDGE)
    judge_code = np.full(len(ratings.items), GAP)
    judge_code[ratings.row[by_judge]] = ratings.code[by_judge]
    people = [rater for rater in ratings.raters if rater != _THE_JUDGE]
    humans = _only_people(ratings, ~by_judge, people)
    used = {*keys, "participant", "rating", columns.kind, columns.cluster}
    extras = {
        column: np.array(table[column].to_pylist(), dtype=object)[first]
        for column in table.column_names
        if column not in used and _one_per_text(table[column], text)
    }
    groups = np.unique(cluster.astype(str), return_inverse=True)[1]
    return Judged(humans, judge_code, name, level, groups, labels, extras, study.findings)


def _who(
    table: pa.Table, names: pa.ChunkedArray, judge: str | None, columns: Columns
) -> tuple[str, np.ndarray, np.ndarray]:
    """Return the judge's name, and which rows are its ratings and which are people's."""
    everyone = np.array(names.to_pylist(), dtype=object)
    if columns.kind in table.column_names:
        kinds = np.array(_words(table[columns.kind]).to_pylist(), dtype=object)
        judges = sorted(set(everyone[kinds == JUDGE]))
        if not judges:
            raise InputError(f"no row has {columns.kind} = {JUDGE!r}: there is no judge to compare with people")
        if judge is None and len(judges) > 1:
            raise InputError(f"there are several judges ({', '.join(judges)}); name one ({arg('judge')})")
        name = judges[0] if judge is None else str(judge)
        if name not in judges:
            raise InputError(f"there is no judge {name!r}; the table has {', '.join(judges)}")
        is_judge, is_person = (kinds == JUDGE) & (everyone == name), kinds != JUDGE
    else:
        if judge is None:
            raise InputError(f"the table has no column {columns.kind!r}, so the judge must be named ({arg('judge')})")
        name = str(judge)
        is_judge = everyone == name
        is_person = ~is_judge
        if not is_judge.any():
            raise InputError(f"no participant is called {name!r}")
    if not is_person.any():
        raise InputError("all ratings are the judge's: there are no people to compare it with")
    return name, is_judge, is_person


def _only_people(ratings: Ratings, mine: np.ndarray, people: list[Any]) -> Ratings:
    """Return people's ratings, keeping the texts that only the judge rated."""
    place = {label: number for number, label in enumerate(people)}
    column = np.array([place.get(label, -1) for label in ratings.raters])[ratings.column[mine]]
    return Ratings(
        ratings.row[mine], column, ratings.code[mine], ratings.categories, ratings.scores, ratings.ordered,
        ratings.items, tuple(people), "text",
    )  # fmt: skip


def _one_per_text(column: pa.ChunkedArray, text: np.ndarray) -> bool:
    values = np.array([str(value) for value in column.to_pylist()], dtype=object)
    return len(set(zip(text.tolist(), values.tolist(), strict=True))) == len(np.unique(text))


def _no_gaps(parts: dict[str, list[Any]]) -> None:
    for key, values in parts.items():
        if None in values:
            raise InputError(f"column {key!r} is empty in row {values.index(None) + 1}; fill it in or drop the row")


def _words(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_dictionary(column.type):
        column = tables.decode_dictionary(column)
    return column.cast(pa.string())
