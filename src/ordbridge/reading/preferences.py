"""Pairs, ranks and best–worst choices: recognised, and kept apart from ratings as comparisons of two systems."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import pyarrow as pa

from ordbridge.errors import InputError
from ordbridge.reading.best_worst import best_worst_sets
from ordbridge.reading.cell_types import is_missing
from ordbridge.reading.pair_column import pairs_by_name
from ordbridge.reading.parts import FILE, NONE, ROW, Asked, listed, short_name
from ordbridge.reading.properties import is_constant, property_of
from ordbridge.reading.selecting import column_named
from ordbridge.reading.sheet import Sheet
from ordbridge.reading.values import as_numbers, looks_like_ratings
from ordbridge.reading.verdicts import SIDES, grades, names_places, refuse_undirected
from ordbridge.reading.vocabulary import is_aside, is_criterion, name_words, plain, rank_of, says_rating, words_of
from ordbridge.reading.winners import LOST, NO, NOT, TAGS, YES, flag_outcomes, names_the_worse, winner_and_loser
from ordbridge.support.formatting import enumerated
from ordbridge.support.naming import arg

__all__ = ["Preferences", "PreferencesFound", "preferences_in", "refuse_preferences"]

SCHEMA = pa.schema([(name, pa.string()) for name in ("rater", "item", "system_a", "system_b", "outcome", "criterion")])
VERDICTS = words_of("verdicts")
RANKS = words_of("ranks")
TIES = words_of("ties")
BEST, WORST, BETTER = words_of("best"), words_of("worst"), words_of("better")
TEXTS = words_of("outputs")
ANSWERS = {"comparison", "result", "judgment", "judgement", "annotation", "label", "decision", "selection", "answer"}
SOURCES = {
    "article",
    "source",
    "src",
    "input",
    "original",
    "context",
    "document",
    "prompt",
    "question",
    "reference",
    "ref",
}
TEXT_AT = re.compile(rf"(?:system|model|option|{'|'.join(sorted(TEXTS))})?([ab12])")  # sentencea, a, text1
MOST_CRITERIA = 20  # a column with more names is not what was judged
MOSTLY = 0.9  # share of verdicts that must be understood
TURNED = {"a": "b", "b": "a"}
SAID = {*LOST, *NOT, *TAGS, *ANSWERS, *TEXTS}  # words of a verdict that name no criterion

Cells = Sequence[str | None]


@dataclass(frozen=True, eq=False)
class Preferences:
    """Comparisons of two systems, one per row.

    Attributes
    ----------
    table
        ``rater``, ``item``, ``system_a``, ``system_b``, ``outcome`` (``"a"``, ``"b"``, ``"tie"``, or null) and
        ``criterion``; what the file does not say is null. A ranking of k systems is k (k − 1) / 2 rows.
    kind
        ``"pairs"``, ``"ranks"``, ``"best-worst"`` (of two) or ``"best-worst sets"`` (of more; the implied pairs).
    source
        The name of the file.
    columns
        From which columns systems, outcome, participant, item and criterion were taken.
    grades
        Of graded verdicts how much better a is in each row, from 1, or b, from −1 down; otherwise empty.
    cells
        All columns of the file.
    """

    table: pa.Table
    kind: str
    source: str
    columns: Mapping[str, str]
    grades: tuple[int | None, ...] = ()
    cells: Mapping[str, Cells] = field(default_factory=dict)
    rows: tuple[int, ...] = ()
    """For each comparison its place in ``cells``, where a row is one comparison and says who was first."""

    @property
    def systems(self) -> tuple[str, ...]:
        """The systems, in the order of the file."""
        both = [*self.table["system_a"].to_pylist(), *self.table["system_b"].to_pylist()]
        return tuple(dict.fromkeys(str(name) for name in both if name is not None))


class PreferencesFound(InputError):  # noqa: N818 (it says what the file is)
    """A file holds comparisons and not ratings; ``preferences`` has them, or ``None`` where systems have no names."""

    def __init__(self, message: str, preferences: Preferences | None = None) -> None:
        super().__init__(message)
        self.preferences = preferences


@dataclass(frozen=True)
class _Found:
    """What was found in the columns: for each comparison in a row, its systems, verdicts and labels."""

    kind: str
    systems: tuple[Cells, ...]
    outcomes: tuple[Cells, ...]
    """One column of outcomes ``a``, ``b``, ``tie`` for two systems, or a column of ranks for each system."""
    columns: dict[str, str]
    rater: str | None = None
    criterion: str | None = None
    grades: tuple[int | None, ...] = ()
    in_order: bool = True
    """Whether the first system is that of the first column."""


def refuse_preferences(
    sheet: Sheet,
    asked: Asked,
    systems: Sequence[str] | None = None,
    lower_is_better: bool | str | Sequence[str] | None = None,
    unused: Mapping[str, Any] | None = None,
) -> None:
    """Raise :class:`PreferencesFound` where a sheet holds comparisons and the user did not name other ratings.

    Ranks are turned round where a high one is better; other options of ratings, and columns that are not there, are
    refused.
    """
    found = preferences_in(sheet, asked, systems)
    if found is None:
        return
    for role in ("participant", "item", "criterion"):
        given = getattr(asked, role)
        if given is not None and given not in (ROW, NONE, FILE):
            column_named(sheet, given, arg(role))
    said = {name: value for name, value in (unused or {}).items() if value is not None}
    ranked = all({*_words(name)} & RANKS for name in found.columns["outcome"].split(", "))
    if lower_is_better is not None and not ranked:
        said["lower_is_better"] = lower_is_better
    if said:
        raise InputError(
            f"{arg(next(iter(said)))} is for ratings, and {sheet.name} compares systems "
            f"({found.columns['outcome']}); leave it out"
        )
    if lower_is_better is False:
        outcome = [None if one is None else TURNED.get(one, one) for one in found.table["outcome"].to_pylist()]
        place = SCHEMA.get_field_index("outcome")
        found = replace(found, table=found.table.set_column(place, SCHEMA.field(place), pa.array(outcome, pa.string())))
    word = {"pairs": "compares two systems in each row", "ranks": "ranks systems against each other",
            "best-worst": "says which text is best and which is worst",
            "best-worst sets": "says which text is best and which is worst"}[found.kind]  # fmt: skip
    n, k = found.table.num_rows, len(found.systems)
    told = f"{sheet.name} {word} ({found.columns['outcome']})"
    if not k:
        raise PreferencesFound(
            f"{told}, and no column names the systems. These are preferences and not ratings; if the same two systems "
            f"stand on the same side in every row, name them: {arg('system', ['A', 'B'])}. Otherwise add two columns, "
            "system_a "
            "and system_b"
        )
    raise PreferencesFound(
        f"{told}: {n:,} comparison{'' if n == 1 else 's'} of {k} systems. These are preferences and not ratings: "
        "`ordbridge compare` and `ob.prefer` analyse them",
        found,
    )


def preferences_in(sheet: Sheet, asked: Asked, systems: Sequence[str] | None = None) -> Preferences | None:
    """Return the comparisons in a sheet, or ``None`` where it has none.

    Examples
    --------
    >>> import numpy as np
    >>> columns = {"model_a": ["x", "x"], "model_b": ["y", "y"], "winner": ["model_b", "tie"]}
    >>> preferences_in(Sheet(columns, np.array([2, 3]), "x.csv"), Asked()).table["outcome"].to_pylist()
    ['b', 'tie']
    """
    finder = _PreferenceFinder(sheet, asked, systems)
    found = finder.found()
    if not found:
        return None
    used = {name for one in found for name in one.columns["outcome"].split(", ")}
    if asked.rating and not used & {*asked.rating}:
        return None  # the user knows ratings beside the comparisons
    graded = all(one.grades for one in found)
    degrees = tuple(grade for one in found for grade in one.grades) if graded else ()
    table = finder.table(found)
    rows = tuple(finder.rows) if len(finder.rows) == table.num_rows else ()
    return Preferences(table, found[0].kind, sheet.name, finder.taken(found), degrees, sheet.columns, rows)


class _PreferenceFinder:
    def __init__(self, sheet: Sheet, asked: Asked, systems: Sequence[str] | None) -> None:
        self.sheet, self.asked, self.given = sheet, asked, systems
        self.words = {name: _words(name) for name in sheet.header}
        self.shown: set[str] = set()  # columns of what best and worst were chosen from
        self.misunderstood: list[str] = []
        self.systems: list[Cells] = []
        self.roles: dict[str, str | None] = {}
        self.rows: list[int] = []  # of comparisons whose systems stand in the order of two columns

    def best_worst(self) -> list[_Found]:
        """Find choices of the best and the worst of three systems or more; several are criteria."""
        found = []
        for names, ranks, best, worst in best_worst_sets(self.sheet, self.words):
            self.shown |= {*names, best, worst}
            said = {"systems": ", ".join(names), "outcome": f"{best}, {worst}"}
            extra = " ".join(word for word in self.words[best] if word not in BEST)
            cells = tuple(self.sheet.columns[name] for name in names)
            kind = "best-worst sets" if len(names) > 2 else "best-worst"
            found.append(_Found(kind, cells, ranks, said, criterion=extra or None))
        return [replace(one, criterion=None) for one in found] if len(found) == 1 else found

    def found(self) -> list[_Found]:
        if sets := self.best_worst():
            return sets
        if systems := self.indexed_systems() or self.tagged_systems() or self.named_systems():
            if ranked := self.ranked(systems):
                return ranked
            if flags := self.side_flags(systems):
                return flags
            self.refuse_unsaid(systems)
            if self.is_rated():
                self.refuse_numbers_about(systems)
                return []
            found = self.judged(systems)
            if not found and self.misunderstood:
                raise InputError(self.misunderstood[0])
            if not found:
                self.refuse_numbered(systems)
                self.refuse_numbers_about(systems)
            return found
        self.refuse_nameless()
        if self.is_rated():
            return []
        return (
            self.chosen()
            or self.flagged()
            or self.one_column()
            or self.by_name()
            or self.ranks_by_system()
            or self.long_ranks()
        )

    def by_name(self) -> list[_Found]:
        """Find verdicts that are names of systems, without a column for each of both."""
        found = pairs_by_name(self.sheet, self.words, {*SIDES, *YES, *NO})
        self.shown |= {name for *_, systems, verdict in found for name in (systems, verdict)}
        return [
            _Found("pairs", (a, b), (said,), {"systems": systems, "outcome": verdict},
                   criterion=verdict if len(found) > 1 else None)
            for a, b, said, systems, verdict in found
        ]  # fmt: skip

    def is_rated(self) -> bool:
        """Tell whether something else in the sheet is called a rating and looks like one."""
        for name, words in self.words.items():
            called = says_rating(short_name(name)) or rank_of("rating", short_name(name)) in (0, 1)
            if not called or is_aside(short_name(name)) or {*words} & {*VERDICTS, *RANKS, *BEST, *WORST}:
                continue
            cells = self.sheet.columns[name]
            labels = {plain(str(cell)) for cell in cells if not is_missing(cell)}
            rated = len(labels) > 1 and looks_like_ratings(cells) and not labels <= {*SIDES, *TIES}
            if rated and property_of(self.sheet, name) is None:
                return True
        return False

    # -- the systems of a row

    def indexed_systems(self) -> list[dict[str, str]]:
        """Return groups of columns that name the systems at the places a, b or 1, 2, 3 of a row."""
        groups: dict[tuple[str, ...], dict[str, str]] = {}
        for name, words in self.words.items():
            for place, word in enumerate(words):
                others = [*words[:place], *words[place + 1 :]]
                if (word in SIDES or word.isdigit()) and any(rank_of("system", w) in (0, 1, 2) for w in others):
                    if {*others} & {*RANKS, *VERDICTS, *TEXTS, "number", "length", "text", "output", "score", "rating"}:
                        continue
                    groups.setdefault((*words[:place], "*", *words[place + 1 :]), {}).setdefault(word, name)
                    if word in SIDES and not word.isdigit():
                        break
        found = []
        for group in groups.values():
            if len(group) < 2 or not self.names_systems(group.values()):
                continue
            if set(group) <= {*SIDES} and {SIDES[side] for side in group} == {0, 1}:
                found.append(dict(sorted(group.items(), key=lambda pair: SIDES[pair[0]])))
            elif all(side.isdigit() for side in group):
                found.append(group)
        return found

    def tagged_systems(self) -> list[dict[str, str]]:
        """Return the only two columns that hold few names for the texts 1 and 2, beside a verdict on them."""
        if not any({*words} & VERDICTS for words in self.words.values()):
            return []
        groups: dict[tuple[str, ...], dict[str, str]] = {}
        for name, words in self.words.items():
            for place, word in enumerate(words):
                if word in SIDES and ({*words} & TAGS or words in (["left"], ["right"], ["first"], ["second"])):
                    groups.setdefault((*words[:place], "*", *words[place + 1 :]), {})[word] = name
        found = []
        for group in groups.values():
            if {SIDES[side] for side in group} != {0, 1} or len(group) != 2 or not self.names_systems(group.values()):
                continue
            first, second = (self.sheet.columns[group[side]] for side in sorted(group, key=lambda s: SIDES[s]))
            if sum(a == b for a, b in zip(first, second, strict=True)) < 0.1 * len(first):
                found.append(dict(sorted(group.items(), key=lambda pair: SIDES[pair[0]])))
        return found if len(found) == 1 else []

    def named_systems(self) -> list[dict[str, str]]:
        """Return the only two columns, alike but for a side, of which every verdict says one again.

        Without verdicts they have the same names, and never one twice in a row.
        """
        groups: dict[tuple[str, ...], dict[str, str]] = {}
        for name, words in self.words.items():
            for place, word in enumerate(words):
                if word in SIDES and not {*words} & VERDICTS:
                    groups.setdefault((*words[:place], "*", *words[place + 1 :]), {})[word] = name
        verdicts = [name for name, words in self.words.items() if {*words} & VERDICTS]
        found = []
        for group in groups.values():
            if {SIDES[side] for side in group} != {0, 1} or len(group) != 2 or not self.names_systems(group.values()):
                continue
            group = dict(sorted(group.items(), key=lambda pair: SIDES[pair[0]]))
            a, b = (self.sheet.columns[name] for name in group.values())
            if any(self.names_of_row(name, (a, b)) for name in verdicts) or self.always_differ(a, b):
                found.append(group)
        return found if len(found) == 1 else []

    def always_differ(self, a: Cells, b: Cells) -> bool:
        """Tell whether two columns hold the same few names, different ones in every row."""
        return {*a} == {*b} and not any(map(str.isdigit, map(str, {*a}))) and all(map(operator.ne, a, b))

    def names_systems(self, columns: Iterable[str]) -> bool:
        """Tell whether columns hold names from one set, and not texts or numbers that are all different."""
        labels = [{cell for cell in self.sheet.columns[name] if not is_missing(cell)} for name in columns]
        everything = set().union(*labels)
        n = len(self.sheet)
        few = len(everything) <= max(4, n // 2) and not any(len(str(cell)) > 80 for cell in everything)
        return few and len(everything) > 1

    # -- outcomes

    def ranked(self, groups: list[dict[str, str]]) -> list[_Found]:
        """Find a rank for every system of a row."""
        found = []
        for group in groups:
            by_side: dict[str, str] = {}
            for name, words in self.words.items():
                sides = [word for word in words if word in group]
                if {*words} & RANKS and len(sides) == 1:
                    by_side.setdefault(sides[0], name)
            if set(by_side) == set(group):
                systems = tuple(self.sheet.columns[name] for name in group.values())
                ranks = tuple(self.sheet.columns[by_side[side]] for side in group)
                said = ", ".join(by_side[side] for side in group)
                found.append(_Found("pairs" if len(group) == 2 else "ranks", systems, ranks,
                                    {"systems": ", ".join(group.values()), "outcome": said}))  # fmt: skip
        return found

    def side_flags(self, groups: list[dict[str, str]]) -> list[_Found]:
        """Find yes or no to one of two systems being better: winner_model_a, is_A_selected."""
        pairs = [group for group in groups if len(group) == 2]
        if len(pairs) != 1:
            return []
        (side_a, a), (side_b, b) = pairs[0].items()
        said = flag_outcomes(self.sheet, self.words, (side_a, side_b), (a, b))
        if said is None:
            return []
        both = (self.sheet.columns[a], self.sheet.columns[b])
        return [_Found("pairs", both, (said[1],), {"systems": f"{a}, {b}", "outcome": said[0]})]

    def chosen(self) -> list[_Found]:
        """Find a column of winners beside one of losers: chosen and not chosen."""
        pair = winner_and_loser(self.sheet, self.words)
        if pair is None:
            return []
        winner, loser, a, b, outcome = pair
        self.shown |= {winner, loser}
        both = f"{winner}, {loser}"
        return [_Found("pairs", (a, b), (outcome,), {"systems": both, "outcome": both}, in_order=False)]

    def judged(self, groups: list[dict[str, str]]) -> list[_Found]:
        """Find a verdict about two systems of a row; several verdicts are raters, criteria, or pairs of their own."""
        systems = {name for group in groups for name in group.values()}
        verdicts = {
            name: [word for word in words if word not in VERDICTS and word not in BEST]
            for name, words in self.words.items()
            if ({*words} & (VERDICTS | BEST) or names_the_worse(words)) and not {*words} & WORST and name not in systems
        }
        found = []
        pairs = [group for group in groups if len(group) == 2]
        others = [name for name in self.sheet.header if name not in systems and name not in verdicts]
        verdicts |= {name: self.words[name] for name in others if self.says_side(name, len(pairs) > 1)}
        for group in pairs:
            (side_a, a), (side_b, b) = group.items()
            number = [word for word in self.words[a] if word.isdigit() and word not in (side_a, side_b)]
            own = {name: rest for name, rest in verdicts.items() if len(pairs) == 1 or rest[-1:] == number[-1:]}
            for name, rest in own.items():
                columns = (self.sheet.columns[a], self.sheet.columns[b])
                if {*self.words[name]} & VERDICTS and not self.names_of_row(name, columns):
                    refuse_undirected(name, self.sheet.columns[name], self.sheet.name)
                degrees = grades(self.sheet.columns[name])
                cells = self.outcome(name, (a, b), (side_a, side_b)) if degrees is None else _winners(degrees)
                if cells is None:
                    continue
                if names_the_worse(self.words[name]):
                    cells, degrees = (
                        [TURNED.get(str(cell), cell) for cell in cells],
                        degrees and [None if one is None else -one for one in degrees],
                    )
                plain_words = {*number, *SAID}
                extra = " ".join(word for word in rest if word not in plain_words) if len(own) > 1 or rest else ""
                kind = "best-worst" if {*self.words[name]} & BEST else "pairs"
                names = {"systems": f"{a}, {b}", "outcome": name}
                who = {"rater": extra} if extra.isdigit() else {"criterion": extra or None}
                both = (self.sheet.columns[a], self.sheet.columns[b])
                found.append(_Found(kind, both, (cells,), names, **who, grades=tuple(degrees or ())))
        return found

    def refuse_unsaid(self, groups: list[dict[str, str]]) -> None:
        """Refuse yes and no as the answers about numbered pairs: they do not say which system is meant."""
        pairs = [group for group in groups if len(group) == 2]
        numbers = {word for group in pairs for name in group.values() for word in self.words[name] if word.isdigit()}
        if len(pairs) < 2 or len(numbers) < 2:
            return
        said = [name for name, words in self.words.items()
                if words[-1:] != [] and words[-1] in numbers and not any(name in group.values() for group in pairs)
                and {plain(str(c)) for c in self.sheet.columns[name] if not is_missing(c)} <= {*YES, *NO} - {"0", "1"}
                and not is_constant(self.sheet.columns[name])]  # fmt: skip
        if len(said) == len(pairs):
            first = [*pairs[0].values()]
            raise PreferencesFound(
                f"{', '.join(first)} and so on name two systems for {said[0]} and so on of {self.sheet.name}, which "
                "say yes or no and not which system is meant; write a or b instead, or the name of the system"
            )

    def refuse_numbered(self, groups: list[dict[str, str]]) -> None:
        """Ask whether 1 and 2, or A and B, say which of two systems is better, where no name says so."""
        named = {name for group in groups for name in group.values()}
        said = [name for name in self.sheet.header if name not in named and not is_aside(short_name(name))
                and names_places(self.sheet.columns[name])]  # fmt: skip
        if len(groups) == 1 and len(groups[0]) == 2 and len(said) == 1:
            a, b = groups[0].values()
            labels = listed(sorted({str(c).strip() for c in self.sheet.columns[said[0]] if not is_missing(c)}))
            raise PreferencesFound(
                f"{a} and {b} of {self.sheet.name} name two systems, and {said[0]} holds {labels}; if these say which "
                "is better, call the column winner, or write the names of the systems into it"
            )

    def refuse_numbers_about(self, groups: list[dict[str, str]]) -> None:
        """Ask which end of a scale prefers the first of two systems (CMOS), unless each of them has its own numbers."""
        if len(groups) != 1 or len(groups[0]) != 2 or self.asked.rating or self.asked.system or self.asked.columns:
            return
        a, b = groups[0].values()
        cells = self.sheet.columns
        if not all(map(operator.ne, cells[a], cells[b])):
            return
        numbers = [name for name in self.sheet.header if name not in (a, b) and looks_like_ratings(cells[name])
                   and not is_aside(short_name(name)) and not is_constant(cells[name])]  # fmt: skip
        sided = any(word in SIDES for name in numbers for word in self.words[name])
        for name in () if sided else numbers:
            signed = {cell[0] for cell in cells[name] if cell} & {"-", "−"}
            if signed or says_rating(short_name(name)) or rank_of("rating", short_name(name)) in (0, 1):
                refuse_undirected(name, cells[name], self.sheet.name)

    def refuse_nameless(self) -> None:
        """Refuse answers such as "A1 better" and "A2 better" where no column names the systems."""
        for name, words in self.words.items():
            if self.asked.rating or not {*words} & (VERDICTS | BETTER):
                continue
            labels = {str(cell).strip() for cell in self.sheet.columns[name] if not is_missing(cell)}
            said = {label: name_words(label) for label in labels} if 2 <= len(labels) <= 7 else {}
            better = [tuple(w for w in own if w not in BETTER) for own in said.values() if {*own} & BETTER]
            ties = sum(not {*own} & BETTER and bool({plain(label), *own} & TIES) for label, own in said.items())
            places = [{w for w in own if w[-1:] in SIDES or w in SIDES} for own in better]
            if len({*better}) >= 2 and len(better) + ties == len(said) and all(places):
                raise PreferencesFound(
                    f"{name} of {self.sheet.name} says which of two is better ({listed(sorted(labels))}), and no two "
                    "columns name the systems. These are preferences and not ratings: add two columns, system_a and "
                    "system_b, and call the column with a, b or tie winner"
                )

    def says_side(self, name: str, several: bool) -> bool:
        """Tell whether a column that is called a criterion, or is one of several, holds only sides and ties."""
        words = self.words[name]
        stem = words[:-1] if words[-1:] != [] and words[-1].isdigit() else words
        alike = [other for other, theirs in self.words.items() if other == name or (several and theirs[:-1] == stem)]
        labels = {plain(str(cell)) for other in alike for cell in self.sheet.columns[other] if not is_missing(cell)}
        sides = {_side(label) for label in labels if label not in TIES}
        if not (2 <= len(labels) <= 6 and sides == {0, 1}) or {*words} & (VERDICTS | BEST | WORST):
            return False
        called = any(is_criterion(word) for word in words) and not all(label.isdigit() for label in labels)
        plainly = all(len(label) > 1 and TEXT_AT.fullmatch(label) for label in labels - TIES)  # "sentence A" and not A
        called = called or plainly or (bool({*words} & ANSWERS) and not any(len(label) == 1 for label in labels - TIES))
        return called or (several and words[-1:] != [] and words[-1].isdigit())

    def outcome(self, name: str, columns: tuple[str, str], sides: tuple[str, str]) -> Cells | None:
        """Return verdicts as a, b and tie, or ``None`` where they are something else."""
        a, b = (self.sheet.columns[column] for column in columns)
        cells: list[str | None] = []
        understood = present = 0
        names = self.names_of_row(name, (a, b))
        for place, cell in enumerate(self.sheet.columns[name]):
            said = None if is_missing(cell) else plain(str(cell))
            found = None
            if said is not None:
                present += 1
                first = {plain(columns[0]), plain(short_name(columns[0])), sides[0], plain(a[place] or "a")}
                second = {plain(columns[1]), plain(short_name(columns[1])), sides[1], plain(b[place] or "b")}
                if names:
                    first, second = {plain(a[place] or "a")}, {plain(b[place] or "b")}
                elif said in (plain(a[place] or ""), plain(b[place] or "")) and said in first & second:
                    raise InputError(
                        f"{name} says {cell!r} in row {place + 1}, which may be a system or the place of the other "
                        "one; rename the systems, or write left and right"
                    )
                found = "a" if said in first else "b" if said in second else "tie" if said in TIES else None
                if found is None and (side := _side(said)) is not None:
                    found = "ab"[side]
                understood += found is not None
            cells.append(found)
        if present and MOSTLY * present > understood >= present / 2 and {*self.words[name]} & VERDICTS:
            pairs = zip(self.sheet.columns[name], cells, strict=True)
            odd = sorted({repr(cell) for cell, said in pairs if said is None and not is_missing(cell)})
            self.misunderstood.append(
                f"{name} of {self.sheet.name} says {enumerated(odd, 3)} in {present - understood} of {present} rows, "
                "no system of the row and not a, b or tie; correct these"
            )
        return cells if present and understood >= MOSTLY * present else None

    def names_of_row(self, name: str, systems: tuple[Cells, Cells]) -> bool:
        """Tell whether every verdict names one of the two systems of its row, and some of them no place."""
        elsewhere = False
        for said, a, b in zip(self.sheet.columns[name], *systems, strict=True):
            if is_missing(said) or (word := plain(str(said))) in TIES:
                continue
            if word not in (plain(a or ""), plain(b or "")):
                return False
            elsewhere = elsewhere or _side(word) is None
        return elsewhere

    def flagged(self) -> list[_Found]:
        """Find columns that say yes or no to one of two systems being better: writer_better beside writer_summary."""
        outputs = {tuple(w for w in words if w not in TEXTS): name for name, words in self.words.items()
                   if {*words} & TEXTS and len(words) > 1}  # fmt: skip
        found = []
        for name, words in self.words.items():
            if words[-1:] != ["better"] or len(words) < 2:
                continue
            labels = {plain(str(cell)) for cell in self.sheet.columns[name] if not is_missing(cell)}
            mine = [stem for stem in outputs if stem == tuple(words[-1 - len(stem) : -1])]
            others = [stem for stem in outputs if stem not in mine and not {*stem} & SOURCES]
            if not (2 <= len(labels) <= 6 and labels <= {*YES, *NO, *TIES}) or len(mine) != 1 or len(others) != 1:
                continue
            cells = [None if is_missing(c) else plain(str(c)) for c in self.sheet.columns[name]]
            outcome = [None if c is None else "a" if c in YES else "b" if c in NO else "tie" for c in cells]
            systems = [self.stem_of(outputs[stem]) for stem in (*mine, *others)]
            names = {"systems": ", ".join(outputs[stem] for stem in (*mine, *others)), "outcome": name}
            criterion = " ".join(words[: -1 - len(mine[0])]) or None
            both = tuple([system] * len(self.sheet) for system in systems)
            found.append(_Found("pairs", both, (outcome,), names, criterion=criterion))
        return found

    def stem_of(self, name: str) -> str:
        """Return the name of a column of texts without the word for a text: text-davinci-002_summary."""
        last = re.sub(rf"[ _.\-]+({'|'.join(TEXTS)})$", "", name, flags=re.IGNORECASE)
        return re.sub(rf"^({'|'.join(TEXTS)})[ _.\-]+", "", name, flags=re.IGNORECASE) if last == name else last

    def one_column(self) -> list[_Found]:
        """Find a verdict without columns for both systems: one of them has a column, or the user names both."""
        names = {plain(short_name(name)): name for name in self.sheet.header}
        if {"chosen", "rejected"} <= names.keys():
            empty = [None] * len(self.sheet)
            return [_Found("pairs", (empty, empty), (["a"] * len(self.sheet),),
                           {"systems": "chosen, rejected", "outcome": names["chosen"]})]  # fmt: skip
        verdicts = [name for name, words in self.words.items() if {*words} & VERDICTS]
        for name in verdicts:
            labels = {cell for cell in self.sheet.columns[name] if not is_missing(cell)}
            if not 2 <= len(labels) <= 40:
                continue
            if other := self.against_one(name, labels):
                return [other]
            said = {plain(str(cell)) for cell in labels}
            if all(one in TIES or _side(one) is not None for one in said) and any(_side(one) == 1 for one in said):
                words = [word for word in said if not word.isdigit()]
                if not words and not {*self.words[name]} & (VERDICTS - {"choice", "vote", "outcome"}):
                    continue  # choices 1 and 2 may be points of a scale
                both = self.given or (None, None)
                if len(both) != 2:
                    raise InputError(f"{list(both)!r} must be two names: those of the systems a and b")
                cells = [None if is_missing(c) else plain(str(c)) for c in self.sheet.columns[name]]
                outcome = [None if c is None else "tie" if c in TIES else "ab"[_side(c) or 0] for c in cells]
                systems = tuple([one] * len(self.sheet) for one in both)
                return [_Found("pairs", systems, (outcome,), {"systems": "the names given", "outcome": name})]
        return []

    def against_one(self, name: str, labels: set[str | None]) -> _Found | None:
        """Find a column that names the other system, where one system is in every comparison."""
        cells = self.sheet.columns[name]
        plain_labels = {plain(str(label)): str(label) for label in labels if plain(str(label)) not in TIES}
        if plain_labels.keys() <= {*YES, *NO, "checked", "unchecked"}:
            return None
        for other, theirs in self.sheet.columns.items():
            names = {plain(str(cell)) for cell in theirs if not is_missing(cell)}
            left = [label for key, label in plain_labels.items() if key not in names]
            if other == name or len(left) != 1 or not 1 <= len(names) <= 40 or not names & plain_labels.keys():
                continue
            one = left[0]
            outcome = ["tie" if plain(str(cell)) in TIES else "a" if cell == one else
                       "b" if plain(str(cell)) == plain(str(their)) else None
                       for cell, their in zip(cells, theirs, strict=True)]  # fmt: skip
            present = sum(not is_missing(cell) for cell in cells)
            if sum(cell is not None for cell in outcome) >= MOSTLY * present:
                return _Found("pairs", ([one] * len(self.sheet), theirs), (outcome,),
                              {"systems": f"{one}, {other}", "outcome": name})  # fmt: skip
        return None

    def ranks_by_system(self) -> list[_Found]:
        """Find a column of ranks for each system: rank_A, rank_B, rank_C, different in every row."""
        columns = {name: [w for w in words if w not in RANKS] for name, words in self.words.items() if {*words} & RANKS}
        columns = {name: rest for name, rest in columns.items() if rest and rest != ["id"]}
        if len(columns) < 2 or not self.are_ranks([self.sheet.columns[name] for name in columns]):
            return []
        systems = tuple([" ".join(rest)] * len(self.sheet) for rest in columns.values())
        ranks = tuple(self.sheet.columns[name] for name in columns)
        return [_Found("ranks", systems, ranks, {"systems": ", ".join(columns), "outcome": ", ".join(columns)})]

    def are_ranks(self, columns: Sequence[Cells]) -> bool:
        numbers = [as_numbers(cells)[0] for cells in columns]
        k = len(columns)
        rows = list(zip(*numbers, strict=True))
        return sum(min(row) == 1 and max(row) <= k for row in rows) >= MOSTLY * len(rows)

    def long_ranks(self) -> list[_Found]:
        """Find a rank beside each system, one system per row: systems of an item and rater are compared."""
        ranks = [name for name, words in self.words.items() if {*words} & RANKS and words != ["id"]]
        ranks = [name for name in ranks if self.are_whole(name)]
        system = self.role("system")
        if len(ranks) != 1 or system is None:
            return []
        keys = [self.sheet.columns[name] for role in ("participant", "item") if (name := self.role(role))]
        groups: dict[tuple[str | None, ...], list[int]] = {}
        for place, key in enumerate(zip(*keys, strict=True) if keys else [()] * len(self.sheet)):
            groups.setdefault(key, []).append(place)
        cells, number = self.sheet.columns[system], as_numbers(self.sheet.columns[ranks[0]])[0]
        if len(groups) == 1 and len({*cells}) == len(cells):
            return []  # a table of results
        whole = [min(number[places]) == 1 and max(number[places]) <= len(places) for places in groups.values()]
        if sum(whole) < MOSTLY * len(whole) or max(map(len, groups.values())) < 2:
            return []
        self.long = [(i, j) for places in groups.values() for i, j in combinations(places, 2)]
        names = {"systems": system, "outcome": ranks[0]}
        return [_Found("ranks", (cells,), (self.sheet.columns[ranks[0]],), names)]

    def are_whole(self, name: str) -> bool:
        numbers = as_numbers(self.sheet.columns[name])[0]
        return bool(((numbers >= 1) & (numbers == numbers.round())).mean() >= MOSTLY)

    # -- the table

    def role(self, role: str) -> str | None:
        """Return the column of a role: the one that was named, or the surest by name, the finest of equals."""
        if (given := getattr(self.asked, role)) is not None:
            same = [name for name in self.sheet.header if name == given]
            same = same or [name for name in self.sheet.header if plain(name) == plain(given)]
            return same[0] if same else None
        header = [name for name in self.sheet.header if name not in self.shown]
        ranks = {n: r for n in header if (r := rank_of(role, short_name(n))) is not None}
        kinds = {name: len(set(self.sheet.columns[name])) for name in ranks}
        ranks = {name: rank for name, rank in ranks.items() if kinds[name] > 1 or role == "participant"}
        ranks = {name: rank for name, rank in ranks.items() if role != "item" or not self.names_output(name)}
        return min(ranks, key=lambda name: (ranks[name], -kinds[name])) if ranks else None

    def asked_for(self) -> set[str]:
        return {
            name for role in ("participant", "item", "criterion") if (name := getattr(self.asked, role)) is not None
        }

    def names_output(self, name: str) -> bool:
        """Tell whether a column is another name of the system at one place, such as its text."""
        labels = self.sheet.columns[name]
        return any(
            1 < len({*systems}) == len({*labels}) == len({*zip(systems, labels, strict=True)})
            for systems in self.systems
        )

    def taken(self, found: list[_Found]) -> dict[str, str]:
        """Return which columns were taken for what, after :meth:`table`."""
        said = {what: ", ".join(dict.fromkeys(name for one in found for name in one.columns[what].split(", ")))
                for what in found[0].columns}  # fmt: skip
        if any(one.rater for one in found) and not self.roles["rater"]:
            said["participant"] = said["outcome"]  # a column for each
        named = {"participant": self.roles["rater"], "item": self.roles["item"], "criterion": self.roles["criterion"]}
        return said | {role: name for role, name in named.items() if name}

    def table(self, found: list[_Found]) -> pa.Table:
        self.systems = [cells for one in found for cells in one.systems]
        self.shown |= {
            name for one in found for said in one.columns.values() for name in said.split(", ")
        } - self.asked_for()
        roles = {"rater": self.role("participant"), "item": self.role("item"), "criterion": self.role("criterion")}
        kind = roles["criterion"] if self.asked.criterion is None else None
        if kind is not None and (kind == roles["item"] or len(set(self.sheet.columns[kind])) > MOST_CRITERIA):
            roles["criterion"] = None
        self.roles = roles
        labels = {
            name: self.sheet.columns[column] if column else [None] * len(self.sheet) for name, column in roles.items()
        }
        out: dict[str, list[str | None]] = {name: [] for name in SCHEMA.names}
        for one in found:
            own = {name: value for name, value in (("rater", one.rater), ("criterion", one.criterion)) if value}
            if one.rater and roles["rater"]:
                del own["rater"]
            for places_a, a, places_b, b, winner in self.compared(one):
                if len(one.systems) == 2 and one.in_order:
                    self.rows += places_a
                for name, cells in labels.items():
                    out[name] += [own[name]] * len(places_a) if name in own else [cells[i] for i in places_a]
                out["system_a"] += [a[i] for i in places_a]
                out["system_b"] += [b[i] for i in places_b]
                out["outcome"] += winner
        if found[0].kind == "best-worst sets":  # nothing is said of those between best and worst
            keep = [k for k, cell in enumerate(out["outcome"]) if cell in ("a", "b")]
            out = {name: [cells[k] for k in keep] for name, cells in out.items()}
        elif len(found) == 1 and len(found[0].systems) > 2:  # pairs of a ranking stand together
            n, pairs = len(self.sheet), len(out["outcome"]) // max(1, len(self.sheet))
            order = [k * n + i for i in range(n) for k in range(pairs)]
            out = {name: [cells[k] for k in order] for name, cells in out.items()}
        return pa.table(out, schema=SCHEMA)

    def compared(self, one: _Found) -> Iterable[tuple[Sequence[int], Cells, Sequence[int], Cells, list[str | None]]]:
        """Return for each two places their rows, the cells with the systems, and who won."""
        every = range(len(self.sheet))
        if len(one.systems) == 2 and len(one.outcomes) == 1:
            return [(every, one.systems[0], every, one.systems[1], list(one.outcomes[0]))]
        ranks = [as_numbers(cells)[0].tolist() for cells in one.outcomes]
        if len(one.systems) == 1:
            [cells] = one.systems
            places = [i for i, _ in self.long], [j for _, j in self.long]
            winner = [_better(ranks[0][i], ranks[0][j]) for i, j in self.long]
            return [(places[0], cells, places[1], cells, winner)]
        both = combinations(range(len(one.systems)), 2)
        return [(every, one.systems[a], every, one.systems[b], list(map(_better, ranks[a], ranks[b]))) for a, b in both]


def _better(first: float, second: float) -> str | None:
    """Return who has the lower rank."""
    return "a" if first < second else "b" if second < first else "tie" if first == second else None


def _words(name: str) -> list[str]:
    """Return the words of a name: system1Id is system, 1, id; systema3 is system, a, 3."""
    words: list[str] = []
    for word in name_words(short_name(name)):
        if word[-1:] in ("a", "b") and len(word) > 3 and rank_of("system", word[:-1]) in (0, 1):
            words += [word[:-1], word[-1]]
        else:
            words.append(word)
    return words


def _winners(degrees: Sequence[int | None]) -> Cells:
    return [None if one is None else "a" if one > 0 else "b" if one < 0 else "tie" for one in degrees]


def _side(said: str) -> int | None:
    """Return which of two a verdict names: A, model_b, system 1, "left is better"."""
    words = name_words(said) or [said]
    sides = {SIDES[word] for word in words if word in SIDES}
    if len(sides) != 1:
        found = TEXT_AT.fullmatch(said)
        return SIDES[found[1]] if found else None
    known = {*SIDES, *TEXTS, *VERDICTS, "is", "better", "system", "model", "option", "the", "much", "slightly", "text"}
    return sides.pop() if all(word in known for word in words) else None
