"""Which column of a sheet is what: recognised by name and content, and said."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

from ordbridge.errors import InputError
from ordbridge.reading.cell_types import is_missing
from ordbridge.reading.column_content import item_among, refuse_two_scales, system_among
from ordbridge.reading.column_labels import MANY, labelled
from ordbridge.reading.headers import PATTERN, decompose, from_pattern
from ordbridge.reading.parts import (
    IDS,
    NONE,
    ROW,
    Asked,
    Hints,
    RatingColumn,
    SheetLayout,
    listed,
    options_of,
    short_name,
)
from ordbridge.reading.properties import LONG, may_name_items, may_name_raters, shared_source
from ordbridge.reading.rating_columns import RatingColumns, is_counter
from ordbridge.reading.sheet import Sheet
from ordbridge.reading.values import looks_like_ratings, without_missing
from ordbridge.reading.vocabulary import (
    criteria_in,
    is_aside,
    is_criterion,
    is_summary,
    label_role,
    name_words,
    plain,
    rank_of,
    says_rating,
    words_of,
)
from ordbridge.results.finding import Finding
from ordbridge.results.finding import found as noticed
from ordbridge.support.naming import arg

__all__ = ["recognise"]

DOCUMENT = re.compile(r"doc|article|story|dialog|conversation|text|topic", re.IGNORECASE)
FEWEST_ROWS = 8  # before a column that always holds the same is called a filler
NUMBERING = {"id", "no", "nr", "num", "number", "index", "idx", "ix"}
MOSTLY_ONCE = 0.95  # so large a share of texts with one row are texts that nobody rated twice
PROSE = 8  # words of a cell on average; so long cells are texts
SOME_REPEATS = 0.05  # share of rows by somebody who rated the same before
SEGMENT = re.compile(r"seg|sent|line|turn|utt|paragraph", re.IGNORECASE)


def recognise(sheet: Sheet, asked: Asked, hints: Hints) -> SheetLayout:
    """Find out what each column is; raise one sentence with what can be typed where that cannot be known."""
    finder = _Finder(sheet, asked, hints)
    return finder.layout()


class _Finder:
    def __init__(self, sheet: Sheet, asked: Asked, hints: Hints) -> None:
        self.sheet, self.asked, self.hints = sheet, asked, hints
        self.notes: list[Finding] = []
        self.ids: dict[str, str] = {}
        self.free = [name for name in sheet.header if not is_summary(name)]
        self.left_out = [name for name in sheet.header if name not in self.free]
        if self.left_out:
            self.notes.append(noticed("summary-columns-left-out", columns=", ".join(self.left_out)))

    def layout(self) -> SheetLayout:
        for role in IDS:
            given = getattr(self.asked, role)
            if given is not None:
                self.ids[role] = given if given in (ROW, NONE) and given not in self.free else self.column(given, role)
            elif role in self.hints.ids and self.hints.ids[role] in self.sheet.columns:
                self.ids[role] = self.hints.ids[role]
        patterned = self.of_pattern()
        columns = list(patterned) if patterned else self.rating_columns()
        for role in ("participant", "system", "criterion", "item"):
            if role not in self.ids:
                self.find(role, columns)
        self.find_parts(columns)
        self.find_by_content(columns)
        self.find_within(columns)
        self.find_source(columns)
        if patterned:
            ratings = [RatingColumn(name, labels) for name, labels in patterned.items()]
        else:
            ratings, notes = labelled(self.sheet, columns, self.ids, self.hints, self.free, self.asked.columns)
            self.notes += notes
        if not self.asked.rating:
            refuse_two_scales(self.sheet, ratings)
        said = self.split_items(ratings)
        self.complete(ratings)
        return SheetLayout(
            self.sheet, self.used(), tuple(ratings), self.said(ratings) | said, tuple(self.notes), tuple(self.left_out)
        )

    def used(self) -> dict[str, str]:
        return {role: column for role, column in self.ids.items() if column != NONE}

    def column(self, name: str, role: str) -> str:
        """Return the column that a user means, whose case and blanks need not be exact."""
        for same in (lambda a: a == name, lambda a: plain(a) == plain(name), lambda a: short_name(a) == name):
            found = [column for column in self.sheet.header if same(column)]
            if len(found) == 1:
                return found[0]
        near = difflib.get_close_matches(name, self.sheet.header, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        has = listed(self.sheet.header, most=30)
        raise InputError(f"there is no column {name!r} for the {role}; {self.sheet.name} has: {has}{hint}")

    # -- the columns of ratings

    def of_pattern(self) -> dict[str, dict[str, str]]:
        pattern = self.asked.columns
        if not pattern or not PATTERN.search(pattern):
            if pattern and pattern not in IDS:
                raise InputError(
                    f"{arg('columns', pattern)} is not known; give participant, item, system or criterion, or a "
                    "pattern such as '{system}_{criterion}'"
                )
            return {}
        unknown = set(PATTERN.findall(pattern)) - set(IDS)
        if unknown:
            raise InputError(f"{arg('columns', pattern)}: {unknown.pop()!r} is not one of {', '.join(IDS)}")
        found = from_pattern(pattern, [name for name in self.free if name not in self.ids.values()])
        chosen = [self.column(name, "rating") for name in self.asked.rating]
        found = {name: labels for name, labels in found.items() if not chosen or name in chosen}
        found = {
            name: labels for name, labels in found.items() if chosen or looks_like_ratings(self.sheet.columns[name])
        }
        if not found:
            raise InputError(f"no column of {self.sheet.name} has a name like {pattern!r}; it has: {listed(self.free)}")
        return found

    def rating_columns(self) -> list[str]:
        """Return the columns that the user or the format names, else those that are recognised."""
        if self.asked.rating:
            return [self.column(name, "rating") for name in self.asked.rating]
        chooser = RatingColumns(self.sheet, self.free, self.asked, self.hints)
        columns = chooser.without_others(chooser.chosen(self.ids))
        self.notes += chooser.notes
        return columns

    # -- the columns of roles

    def find(self, role: str, ratings: Sequence[str]) -> None:
        """Find the column of a role by its name, and where several have such a name, by what they hold."""
        free = [name for name in self.free if name not in ratings and name not in self.ids.values()]
        ranked = {name: rank for name in free if (rank := rank_of(role, short_name(name))) is not None}
        ranked = {name: rank for name, rank in ranked.items() if self.fits(role, name, rank, ratings)}
        ranked = self.one_of_equals(ranked)
        if role == "item" and 0 not in ranked.values():
            best = self.best_items(ranked)
        else:
            best = [name for name, rank in ranked.items() if rank == min(ranked.values())]
        if role == "item" and len(best) > 1:
            best = self.finest(best)
        if len(best) > 1:
            raise InputError(
                f"{listed(best)} of {self.sheet.name} may be the {role}; say which: {options_of(role, best)}"
            )
        if best:
            self.ids[role] = best[0]
        elif self.hints.fallback.get(role) in self.sheet.columns:
            self.ids[role] = self.hints.fallback[role]

    def find_by_content(self, ratings: Sequence[str]) -> None:
        """Find item or system by what columns hold, where their names do not say it, and say why."""
        if len(ratings) > 1 and not all(says_what(short_name(name)) for name in ratings):
            return
        used = {*ratings, *self.ids.values(), self.sheet.parts}
        free = {name: self.sheet.columns[name] for name in self.free if name not in used}
        free = {name: cells for name, cells in free.items() if not is_aside(short_name(name))}
        known = {role: self.sheet.columns[name] for role, name in self.ids.items() if name in self.sheet.columns}
        for role, find, why in (
            ("item", item_among, "with it alone a participant has one rating of each system"),
            ("system", system_among, "it alone has few names that differ within items and participants"),
        ):
            named = any(rank_of(role, short_name(name)) in (0, 1) for name in free)  # if only one label stands in it
            found = find(free, known) if role not in self.ids and not (role == "system" and named) else None
            if found is not None:
                self.ids[role] = found
                known[role] = free.pop(found)
                self.notes.append(noticed("taken-by-content", column=found, role=role, why=why))

    def find_source(self, ratings: Sequence[str]) -> None:
        """Take what all systems share for the item, where every item belongs to one system only."""
        item, system = (self.ids.get(role) for role in ("item", "system"))
        if self.asked.item is not None or item not in self.sheet.columns or system not in self.sheet.columns:
            return
        used = {*ratings, *self.ids.values()}
        free = [name for name in self.free if name not in used and not is_counter(self.sheet, name)]
        source = shared_source(self.sheet, str(item), str(system), free)
        if source is None:
            return
        if rank_of("item", short_name(source)) is None and name_words(source)[-1:] != ["id"]:
            self.notes.append(noticed("shared-source-proposed", column=source, old=item))
            return
        self.ids["item"] = source
        self.notes.append(noticed("shared-source", column=source, old=item))

    def find_parts(self, ratings: Sequence[str]) -> None:
        """Say what the sheets of a workbook are, which were read together."""
        column = self.sheet.parts
        if column is None or column in self.ids.values():
            return
        labels = [label for label in dict.fromkeys(self.sheet.columns[column]) if label is not None]
        roles = [self.ids.get(role) for role in ("participant", "item", "system")]
        keys = [name for name in (*roles, self.ids.get("criterion")) if name in self.sheet.columns]
        if None not in roles and self.repeats([str(name) for name in keys]) < 0.01:
            self.notes.append(noticed("parts-are-batches", column=column))
            return
        role = label_role(labels)
        of_one = len(ratings) == 1 or all(is_criterion(short_name(name)) for name in ratings)
        if role is None and of_one and "participant" not in self.ids:
            role = "participant"
            self.notes.append(noticed("parts-are-participants", column=column))
        if role is None or role in self.ids:
            ways = ", ".join(arg(role, column) for role in IDS if role not in self.ids)
            raise InputError(
                f"the {column}s {listed(labels)} of {self.sheet.name} have the same columns, but their names do not "
                f"say what they are; give {ways}"
                + (f", or {arg('sheet', labels[0])} to read one" if column == "sheet" else "")
            )
        self.ids[role] = column

    def fits(self, role: str, name: str, rank: int, ratings: Sequence[str]) -> bool:
        cells = [cell for cell in without_missing(self.sheet.columns[name])[0] if cell is not None]
        labels = list(dict.fromkeys(cells))
        if not labels:
            return False
        initials = {word[0] for word in name_words(short_name(name))}  # S1 of a column "subject" is not a system
        short = all(label[:1].casefold() in initials and label[1:].isdigit() for label in labels)
        stands_for = None if short else label_role(labels[:50])
        named = role == "criterion" and rank < 2
        if stands_for is not None and stands_for != role and rank > 0 and role != "item" and not named:
            return False
        alone = len(labels) == len(self.sheet)
        if role == "criterion":
            return rank < 2 or (stands_for == "criterion" and len(labels) <= MANY)
        if role == "system" and len(labels) == 1 and rank > 0 and len(ratings) > 1:
            return False  # the columns differ in the system
        if role == "participant" and rank == 2 and not alone and self.names_texts(name, labels):
            return False
        if role == "system" and rank > 0 and sum(len(label.split()) for label in labels) > PROSE * len(labels):
            return False  # what a model wrote, not its name
        if role == "system":
            return rank < 2 or 2 <= len(labels) <= 20
        if role == "item" and rank == 2 and stands_for == "criterion":
            return False
        if role == "item" and rank == 2 and alone:  # the number of a row is not the name of an item
            return "participant" not in self.ids and len(ratings) > 1
        return True

    def names_texts(self, name: str, labels: Sequence[str]) -> bool:
        """Tell whether each name stands for a long text of its own: then it is that of a text, not of a person."""
        for other in self.free:
            cells = self.sheet.columns[other]
            if other == name or is_aside(short_name(other)) or any(is_missing(cell) for cell in cells):
                continue
            pairs = {*zip(self.sheet.columns[name], cells, strict=True)}
            texts = {str(cell) for _, cell in pairs}
            if len(pairs) == len(texts) == len(labels) > 2 and sum(map(len, texts)) > LONG * len(texts):
                return True
        return False

    def best_items(self, ranked: dict[str, int]) -> list[str]:
        """Prefer what occurs under several systems, then what its name says more surely."""
        column = self.ids.get("system")
        systems = self.sheet.columns.get(column or "", [None] * len(self.sheet))
        scores = {}
        for name, rank in ranked.items():
            seen: dict[str, set[str | None]] = {}
            for label, system in zip(self.sheet.columns[name], systems, strict=True):
                if label is not None:
                    seen.setdefault(label, set()).add(system)
            several = sum(len(found) > 1 for found in seen.values()) / max(len(seen), 1)
            scores[name] = (several > 0.5, len(seen) > 1, -rank)
        return [name for name in ranked if scores[name] == max(scores.values())]

    def finest(self, names: list[str]) -> list[str]:
        """Of an item's document and its segment, keep the segment, or both where segments are counted anew."""
        for name in names:
            cells = self.sheet.columns[name]
            pairs = [set(zip(cells, self.sheet.columns[other], strict=True)) for other in names if other != name]
            if all(len({mine for mine, _ in found}) == len(found) for found in pairs):
                return [name]
        coarse = [name for name in names if DOCUMENT.search(name)]
        fine = [name for name in names if SEGMENT.search(name)]
        if len(names) != 2 or len(coarse) != 1 or len(fine) != 1 or coarse == fine:
            return names
        return [self.composite(coarse[0], fine[0])]

    def composite(self, coarse: str, fine: str) -> str:
        """Put two columns together, which name an item only both."""
        both = f"{coarse} and {fine}"
        cells = [
            None if a is None or b is None else f"{a} {b}"
            for a, b in zip(self.sheet.columns[coarse], self.sheet.columns[fine], strict=True)
        ]
        self.sheet = self.sheet.with_columns({**self.sheet.columns, both: cells})
        self.notes.append(noticed("composite-item", coarse=coarse, fine=fine))
        return both

    def find_within(self, ratings: Sequence[str]) -> None:
        """Put a question, turn or sentence to the item, where the item alone was rated again and again without it."""
        item = self.ids.get("item")
        if self.asked.item is not None or item not in self.sheet.columns or "participant" not in self.ids:
            return
        keys = [name for name in self.ids.values() if name in self.sheet.columns]
        if self.repeats(keys) <= SOME_REPEATS:
            return
        used = {*ratings, *self.ids.values()}
        if "system" not in self.ids and (finer := self.finer_items(keys, used)):
            self.notes.append(noticed("taken-by-content", column=finer, role="item", why=f"{item!r} comes again"))
            self.ids["item"] = finer
            return
        free = [name for name in self.free if name not in used and self.counts_parts(name)]
        fine = [name for name in free if self.repeats([*keys, name]) < 0.01]
        fine = list(self.one_of_equals(dict.fromkeys(fine, 0)))
        if len(fine) == 1:
            self.ids["item"] = self.composite(str(item), fine[0])

    def finer_items(self, keys: Sequence[str], used: set[str]) -> str | None:
        """Return the only other column of items with which nobody rated the same again, where no system is named."""
        others = [key for key in keys if key != self.ids["item"]]
        named = [name for name in self.free if name not in used and rank_of("item", short_name(name)) is not None]
        found = [name for name in named if self.repeats([*others, name]) < 0.01 and self.repeats([name]) > 0.3]
        found = list(self.one_of_equals(dict.fromkeys(found, 0)))
        return found[0] if len(found) == 1 else None

    def counts_parts(self, name: str) -> bool:
        """Tell whether a column numbers the parts of something, such as its questions or turns."""
        words = {*name_words(short_name(name))}
        numbers = all(is_missing(cell) or str(cell).strip().isdigit() for cell in self.sheet.columns[name])
        return numbers and bool(words & words_of("within")) and words <= words_of("within") | NUMBERING

    def repeats(self, names: Sequence[str]) -> float:
        """Return the share of rows whose cells under some columns stood in a row before."""
        rows = [*zip(*(self.sheet.columns[name] for name in names), strict=True)]
        return 1.0 - len({*rows}) / len(rows)

    def one_of_equals(self, ranked: dict[str, int]) -> dict[str, int]:
        """Of columns that name the same things, such as an item's number and its text, keep the surest or shortest."""
        kept: dict[str, int] = {}
        length = {name: sum(len(cell or "") for cell in self.sheet.columns[name]) for name in ranked}
        for name in sorted(ranked, key=lambda name: (ranked[name] > 0, length[name])):
            cells = self.sheet.columns[name]
            equal = [other for other in kept if _one_to_one(set(zip(self.sheet.columns[other], cells, strict=True)))]
            for other in equal:
                kept[other] = min(kept[other], ranked[name])
            if not equal:
                kept[name] = ranked[name]
        return kept

    def split_items(self, ratings: list[RatingColumn]) -> dict[str, str]:
        """Take a system out of the names of items such as item3_gpt, where nothing else says the system."""
        column = self.ids.get("item")
        if (
            column not in self.sheet.columns
            or "system" in self.ids
            or any("system" in {*r.labels, *r.sources} for r in ratings)
        ):
            return {}
        cells = self.sheet.columns[column]
        labels = [label for label in dict.fromkeys(cells) if label is not None]
        factors = decompose(labels, any_way=True) if len(labels) > 3 else []
        if len(factors) != 2:
            return {}
        few = min((0, 1), key=lambda place: len(set(factors[place])))
        role = label_role(list(dict.fromkeys(factors[few])))
        words = not any(label.isdigit() for label in factors[few])
        if role not in ("system", None if words else "system") or len(set(factors[few])) >= len(set(factors[1 - few])):
            return {}
        part = {label: (factors[few][n], factors[1 - few][n]) for n, label in enumerate(labels)}
        made = dict(self.sheet.columns)
        for place, name in ((0, "system"), (1, "item")):
            title = f"{name} of {column}"
            made[title] = [None if cell is None else part[cell][place] for cell in cells]
            self.ids[name] = title
        self.sheet = self.sheet.with_columns(made)
        systems = listed(list(dict.fromkeys(factors[few])))
        self.notes.append(noticed("names-taken-apart", column=column, example=labels[0], systems=systems))
        return {name: f"part of column {column!r}" for name in ("item", "system")}

    # -- what is missing

    def complete(self, ratings: list[RatingColumn]) -> None:
        """Let rows name people or items where nothing else does, or ask."""
        in_columns = {role for one in ratings for role in (*one.labels, *one.sources)}
        has = {*self.ids, *in_columns}
        if not {"participant", "item", "criterion"} & {*self.ids} and "item" not in in_columns:
            self.refuse_results()
        if "participant" not in has:
            if self.hints.respondents or ("item" in in_columns and "item" not in self.ids):
                self.ids["participant"] = ROW
                has.add("participant")
            elif self.one_score_per_text(ratings, has):
                self.ids["participant"] = NONE
                has.add("participant")
                self.notes.append(noticed("no-raters"))
            else:
                options = [name for name in self.unused(ratings) if may_name_raters(self.sheet, name)]
                raise InputError(
                    f"nothing in {self.sheet.name} says who gave a rating; name the column with "
                    f"{arg('participant')}{', which may be ' + listed(options) if options else ''}; or give "
                    f"{arg('participant', 'none')} if nobody knows, {arg('participant', 'row')} if every row is "
                    "another person"
                )
        elif self.ids.get("participant") == NONE:
            alone = self.one_score_per_text(ratings, has)
            self.notes.append(noticed("no-raters" if alone else "raters-unknown"))
        if "item" not in has:
            if "participant" in in_columns:
                self.ids["item"] = ROW
            elif self.hints.respondents and "system" in in_columns:
                pass
            else:
                options = [name for name in self.unused(ratings) if may_name_items(self.sheet, name)]
                raise InputError(
                    f"nothing in {self.sheet.name} says which item was rated; name the column with "
                    f"{arg('item')}{', which may be ' + listed(options) if options else ''}, or give "
                    f"{arg('item', 'none')} if there is none"
                )
        if "system" not in has:
            self.notes.append(noticed("no-system-column"))

    def refuse_results(self) -> None:
        """Refuse a table of results, which has one row per system: nothing in it was rated twice."""
        cells = self.sheet.columns.get(self.ids.get("system", ""))
        if cells is not None and len({*cells}) == len(cells) > 1:
            raise InputError(
                f"{self.sheet.name} has one row per system: these are results, whose differences cannot be tested; "
                "give the file with the ratings, or at least with a score for each text"
            )

    def one_score_per_text(self, ratings: list[RatingColumn], has: Iterable[str]) -> bool:
        """Tell whether an item and a system (and a criterion) have one row each, as means per text have."""
        in_columns = {role for one in ratings for role in (*one.labels, *one.sources)}
        keys = [self.ids[role] for role in ("item", "system", "criterion") if self.ids.get(role) in self.sheet.columns]
        if not {"item", "system"} <= {*has} or "item" in in_columns or not keys:
            return False
        rows = [*zip(*(self.sheet.columns[name] for name in keys), strict=True)]
        return len(rows) > 1 and len({*rows}) >= MOSTLY_ONCE * len(rows)

    def unused(self, ratings: list[RatingColumn]) -> list[str]:
        used = {
            *self.ids.values(),
            *(one.column for one in ratings),
            *(c for one in ratings for c in one.sources.values()),
        }
        return [name for name in self.free if name not in used and not is_aside(short_name(name))]

    # -- words

    def said(self, ratings: list[RatingColumn]) -> dict[str, str]:
        found: dict[str, str] = {}
        for role in IDS:
            labels = list(dict.fromkeys(one.labels[role] for one in ratings if role in one.labels))
            sources = list(dict.fromkeys(one.sources[role] for one in ratings if role in one.sources))
            if labels:
                found[role] = f"column names ({listed(labels)})"
            elif sources:
                found[role] = f"columns {listed(sources)}"
            elif self.ids.get(role) == ROW:
                found[role] = "the number of the row"
            elif role in self.used():
                found[role] = f"column {self.ids[role]!r}"
        columns = [one.column for one in ratings]
        found["rating"] = f"column {columns[0]!r}" if len(columns) == 1 else f"columns {listed(columns)}"
        return found


def says_what(name: str) -> bool:
    """Tell whether a column of ratings is named after what was rated, and is not one of several places.

    Examples
    --------
    >>> says_what("Overall DA Score"), says_what("rating_2"), says_what("score_a")
    (True, False, False)
    """
    words = name_words(name)
    counted = words[-1:] != [] and (words[-1].isdigit() or len(words[-1]) == 1)
    return is_criterion(name) or (not counted and (bool(criteria_in(name)) or says_rating(name)))


def _one_to_one(pairs: Iterable[tuple[str | None, str | None]]) -> bool:
    pairs = list(pairs)
    return len({a for a, _ in pairs}) == len(pairs) == len({b for _, b in pairs})
