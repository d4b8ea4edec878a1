"""Which columns of a sheet hold ratings: by their names and by what they hold."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from ordbridge.errors import InputError
from ordbridge.reading.cell_types import is_missing
from ordbridge.reading.column_labels import alike
from ordbridge.reading.parts import IDS, Asked, Hints, listed, options_of, short_name
from ordbridge.reading.properties import is_constant, property_of, refuse_unknown
from ordbridge.reading.sheet import Sheet
from ordbridge.reading.values import MOST_LABELS, as_numbers, looks_like_ratings
from ordbridge.reading.verdicts import names_places
from ordbridge.reading.vocabulary import (
    criteria_in,
    is_aside,
    is_criterion,
    name_words,
    rank_of,
    says_rating,
    words_of,
)
from ordbridge.results.finding import Finding
from ordbridge.results.finding import found as noticed
from ordbridge.support.naming import arg

__all__ = ["RatingColumns", "is_counter"]

MANY_POINTS = 15  # of a slider
FEWEST_ROWS = 8  # before a column that always holds the same is called a filler


class RatingColumns:
    """Choose the columns of ratings of a sheet; ``notes`` say what was left out."""

    def __init__(self, sheet: Sheet, free: Sequence[str], asked: Asked, hints: Hints) -> None:
        self.sheet, self.free, self.asked, self.hints = sheet, free, asked, hints
        self.notes: list[Finding] = []

    def chosen(self, ids: Mapping[str, str]) -> list[str]:
        """Return the columns of ratings beside the columns of roles that are known, or ask."""
        if self.hints.ratings:
            return list(self.hints.ratings)
        free = [name for name in self.free if name not in ids.values() and not is_aside(short_name(name))]
        likely = [name for name in free if self.may_be_rating(name) and not is_counter(self.sheet, name)]
        likely = self.without_derived(self.without_properties(likely))
        named = {name: rank for name in likely if (rank := self.rank("rating", name)) is not None}
        criteria = [name for name in likely if is_criterion(short_name(name))]
        if self.asked.columns:
            return [name for name in likely if not self.is_id(name)] or likely
        sure = [name for name, rank in named.items() if rank == min(named.values()) and rank < 2]
        if sure and not any(name not in sure for name in criteria):
            if len(sure) == 1:
                return sure
            raise InputError(f"{listed(sure)} may be the rating; say which: {options_of('rating', sure)}")
        if sure and len(criteria) > 1 and not {*sure} <= {*criteria}:
            raise InputError(
                f"{sure[0]!r} and {listed(criteria)} may hold ratings; give {arg('rating', sure[0])}, or "
                f"{arg('rating', criteria)}"
            )
        if criteria:
            return self.with_other_questions(criteria, likely)
        others = [name for name in likely if not self.is_id(name)]
        weak = [name for name in named if name in others]
        if len(weak) == 1 and (len(others) == 1 or self.rank("rating", weak[0]) == 2):
            return weak
        if others:
            answers = [cell for name in others for cell in self.sheet.columns[name] if not is_missing(cell)]
            if len(others) > 2 and names_places(answers) and not any(str(cell).isdigit() for cell in answers):
                refuse_unknown(self.sheet, others)  # they name two texts
            said = [name for name in others if says_rating(short_name(name))]
            chosen = [name for name in others if name in said or self.is_asked_like(name, said)] or others
            beyond = [name for name in free if name not in likely and self.is_beyond(name)]
            unsaid = beyond if not said else [name for name in others if name not in chosen]
            if unsaid and (not said or len(unsaid) > len(chosen)):
                raise InputError(
                    f"{listed([*chosen, *unsaid])} of {self.sheet.name} may hold ratings; name those that do: "
                    f"{arg('rating')}"
                )
            return chosen
        if "rating" in free:  # words without an order
            return ["rating"]
        refuse_unknown(self.sheet, [name for name in free if not self.is_id(name)], fewest=3)
        raise InputError(
            f"no column of {self.sheet.name} looks like ratings (numbers or labels of a scale); name it with "
            f"{arg('rating')}; it has: {listed(self.sheet.header)}"
        )

    def without_properties(self, likely: list[str]) -> list[str]:
        """Leave out fillers, properties of texts and raters, and words without an order beside other ratings."""
        sure = [name for name in likely if (rank := self.rank("rating", name)) is not None and rank < 2]
        others = [name for name in likely if name not in sure]
        fixed = [name for name in others if len(self.sheet) >= FEWEST_ROWS and is_constant(self.sheet.columns[name])]
        left = {name for name in fixed if not is_criterion(short_name(name))}
        left |= {name for name in others if name not in left and property_of(self.sheet, name) is not None}
        varied = [n for n in others if n not in left and is_criterion(short_name(n).rpartition(".")[2])]
        if len(varied) > 1:  # a score of the text stands beside what each rater gave
            left |= {name for name in sure if not is_constant(self.sheet.columns[name])
                     and property_of(self.sheet, name) is not None}  # fmt: skip
        ordered = [name for name in likely if name not in left and looks_like_ratings(self.sheet.columns[name])]
        if ordered:
            left |= {name for name in others if not looks_like_ratings(self.sheet.columns[name])
                     and not self.is_numeric(name)}  # fmt: skip
        left |= {name for name in others if {*name_words(short_name(name))} & words_of("ranks")}
        stems = {_stem(name) for name in likely if name not in left}
        left = {name for name in left if _stem(name) not in stems}  # one of Rater 1, Rater 2, Rater 3 is constant
        kept = [name for name in likely if name not in left]
        named = [name for name in kept if not self.is_id(name)]
        apart = len({_stem(name) for name in named}) == len(named) > 1
        if apart and not any(name in sure or is_criterion(short_name(name)) for name in named):
            self.refuse_constant([name for name in fixed if name in left], named)
        if said := [name for name in likely if name in left and not self.is_id(name)]:
            self.notes.append(noticed("not-taken-as-ratings", columns=listed(said)))
        return kept

    def without_derived(self, likely: list[str]) -> list[str]:
        """Leave out what was computed from another column: fluency_zscore beside fluency."""
        derived, raw = words_of("derived"), {"raw", "original", "orig"}
        bases = {tuple(w for w in name_words(short_name(name)) if w not in raw) for name in likely}
        plain_names = {*likely}
        left = [name for name in likely if "." in name and name.partition(".")[2] in plain_names]
        left += [
            name
            for name in likely
            if (rest := _without(name_words(short_name(name)), derived)) in bases
            and len(rest) < len(name_words(short_name(name)))
        ]
        if left:
            self.notes.append(noticed("not-taken-as-ratings", columns=listed(left)))
        return [name for name in likely if name not in left]

    def refuse_constant(self, fixed: list[str], kept: list[str]) -> None:
        """Ask about a column that always holds one rating of the others' scale: a system may always get it."""
        scale = {cell for name in kept for cell in self.sheet.columns[name] if not is_missing(cell)}
        same = [name for name in fixed if {c for c in self.sheet.columns[name] if not is_missing(c)} <= scale]
        if same:
            raise InputError(
                f"{listed(same)} of {self.sheet.name} always hold one rating of the scale of {listed(kept)}; name all "
                f"columns of ratings with {arg('rating')}"
            )

    def is_numeric(self, name: str) -> bool:
        """Tell whether most cells are numbers."""
        cells = [cell for cell in self.sheet.columns[name] if not is_missing(cell)]
        return bool(cells) and bool(np.isfinite(as_numbers(cells)[0]).mean() >= 0.8)

    def without_others(self, columns: list[str]) -> list[str]:
        """Leave out columns whose names are not made like the others, such as Word count beside Rater 1, Rater 2."""
        if self.asked.rating or self.asked.columns or len(columns) < 3:
            return columns
        kept = alike(columns, self.hints)
        if others := [name for name in columns if name not in kept]:
            self.notes.append(noticed("not-taken-as-ratings", columns=listed(others)))
        return kept

    def with_other_questions(self, criteria: list[str], likely: list[str]) -> list[str]:
        """Return criteria and other questions that were answered beside them; say which columns may be ratings, too."""
        others = [name for name in likely if name not in criteria and not self.is_id(name)]
        said = [name for name in others if name.rstrip().endswith("?") or says_rating(short_name(name))]
        asked = [name for name in others if criteria_in(name) or name in said]
        scale = {cell for name in criteria for cell in self.sheet.columns[name] if not is_missing(cell)}
        unsure = [name for name in others if name not in asked]
        same = [name for name in unsure if {c for c in self.sheet.columns[name] if not is_missing(c)} <= scale]
        same = same or [name for name in unsure if self.on_slider(name, scale)]
        if len(same) > len(criteria) + len(asked):
            raise InputError(
                f"{listed([*criteria, *same])} of {self.sheet.name} are on one scale, but not all names say that they "
                f"are ratings; name those that are with {arg('rating')}"
            )
        if unsure:
            self.notes.append(noticed("not-taken-as-ratings", columns=listed(unsure)))
        return [name for name in likely if name in criteria or name in asked]

    def on_slider(self, name: str, scale: Collection[str | None]) -> bool:
        """Tell whether a column holds whole numbers from one end to the other of a scale of many."""
        mine, theirs = (as_numbers([*cells])[0] for cells in (self.sheet.columns[name], scale))
        mine, theirs = mine[np.isfinite(mine)], theirs[np.isfinite(theirs)]
        if len(theirs) < MANY_POINTS or len(np.unique(mine)) < MANY_POINTS or np.any(mine % 1):
            return False
        width = theirs.max() - theirs.min()
        return bool(abs(mine.min() - theirs.min()) < width / 5 and abs(mine.max() - theirs.max()) < width / 5)

    def is_beyond(self, name: str) -> bool:
        """Tell whether a column has numbers that may be ratings on a scale with more than 100 points."""
        return (
            not self.is_id(name)
            and self.is_numeric(name)
            and not is_counter(self.sheet, name)
            and not is_constant(self.sheet.columns[name])
            and property_of(self.sheet, name) is None
            and len(set(self.sheet.columns[name])) < 0.9 * len(self.sheet)
        )

    def is_asked_like(self, name: str, questions: Sequence[str]) -> bool:
        """Tell whether a question begins like others that name a criterion, as "Is the outcome …?" does."""
        if not name.rstrip().endswith("?"):
            return False
        return any(one.rstrip().endswith("?") and one.split()[:2] == name.split()[:2] for one in questions)

    def may_be_rating(self, name: str) -> bool:
        """Tell whether a column holds ratings, or is called a rating and holds few different words."""
        cells = self.sheet.columns[name]
        if looks_like_ratings(cells):
            return True
        rank = self.rank("rating", name)
        stem = re.sub(r"[\s_\-.]*\d+$", "", short_name(name))
        called = is_criterion(stem) or (rank is not None and rank < 2)
        if not called and not self.is_id(name) and says_rating(short_name(name)) and self.is_numeric(name):
            return True
        if called and self.is_numeric(name):
            return True
        return called and 1 < len({cell.strip().casefold() for cell in cells if cell}) <= MOST_LABELS

    def is_id(self, name: str) -> bool:
        """Tell whether the name of a column says that it names people, items, systems or criteria."""
        return any(self.rank(role, name) is not None for role in IDS)

    def rank(self, role: str, name: str) -> int | None:
        """Return how surely the name of a column says a role."""
        return rank_of(role, short_name(name))


def is_counter(sheet: Sheet, name: str) -> bool:
    """Tell whether a column counts the rows and is not called a rating.

    Examples
    --------
    >>> is_counter(Sheet({"n": ["1", "2", "3"]}, np.arange(3), "x.csv"), "n")
    True
    """
    cells = sheet.columns[name]
    return (
        len(cells) > 2
        and rank_of("rating", short_name(name)) is None
        and any(cells == [str(n + first) for n in range(len(cells))] for first in (0, 1))
    )


def _stem(name: str) -> tuple[str, ...]:
    """Return a name without its number, or where it has none, the name: Rater 1 and Rater 2 are alike."""
    words = name_words(short_name(name))
    return tuple(words[:-1]) if len(words) > 1 and (words[-1].isdigit() or len(words[-1]) == 1) else (name,)


def _without(words: Sequence[str], derived: frozenset[str]) -> tuple[str, ...]:
    """Return the words of a name without those that say how it was computed, and without their numbers, as in bin2."""
    before = ["", *words]
    return tuple(
        w for w, b in zip(words, before, strict=False) if w not in derived and not (w.isdigit() and b in derived)
    )
