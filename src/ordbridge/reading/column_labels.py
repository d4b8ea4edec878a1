"""Several columns of ratings: what they differ in, by their names, by columns beside them, or by what is left."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ordbridge.errors import InputError
from ordbridge.reading.headers import decompose, made_alike
from ordbridge.reading.parts import IDS, Hints, RatingColumn, listed, short_name
from ordbridge.reading.sheet import Sheet
from ordbridge.reading.vocabulary import criterion_name, label_role, name_words, names_system, plain, rank_of, words_of
from ordbridge.results.finding import Finding, found
from ordbridge.support.naming import arg

__all__ = ["alike", "labelled"]

MANY = 12  # so many columns that cannot be told apart by name are items rather than criteria or systems
LONG = 25  # letters; so long labels are texts
FEW_LETTERS = 6  # A to F may be systems
WHAT = {"participant": "a rater", "item": "an item", "system": "a system", "criterion": "a criterion"}
PLURAL = {"participant": "participants", "item": "items", "system": "systems", "criterion": "criteria"}
_INDEXED = re.compile(r"(.*?[^\W\d_])[ _.\-]*(\d+|(?<=[ _.\-])[A-Za-z]|(?<=[a-z])[A-Z])")
_INITIALS = re.compile(r"[A-Z]\.? ?[A-Z]\.?|[a-z]{2}")  # A. B., jd
_QUESTION = re.compile(r"(q|question|frage|item)?[ _.-]?\d+([ _.-]?\d+)*", re.IGNORECASE)
_OF_A_SYSTEM = re.compile(
    r".*[A-Za-z].*\d.*|.*\d.*[A-Za-z].*|.*[a-z][A-Z].*|[A-Z]{2,}.*|.*[-+].*|[A-Z]"
)  # T5, BERTScore
FIRST_NAMES = words_of("first_names")
Blocks = dict[tuple[str, int], dict[str, str]]
"""A role and the factor that counts its places: for each label of the factor the column that has the name."""


def labelled(
    sheet: Sheet,
    columns: Sequence[str],
    ids: dict[str, str],
    hints: Hints,
    beside: Sequence[str],
    differ_in: str | None,
) -> tuple[list[RatingColumn], list[Finding]]:
    """Return columns of ratings with what their names say, and notes on what was concluded.

    Parameters
    ----------
    sheet, columns
        The sheet, and its columns of ratings.
    ids
        The columns of roles that are known.
    hints
        What the format says.
    beside
        Other columns, which may say what stood at the places 1, 2, … of the ratings.
    differ_in
        The role in which the columns differ, where the user says it.
    """
    titles = _titles(columns, hints)
    if differ_in:
        return [RatingColumn(name, {differ_in: title}) for name, title in zip(columns, titles, strict=True)], []
    if len(columns) == 1:
        return [RatingColumn(columns[0])], []
    factors = decompose(titles)
    others = [name for name in beside if name not in columns]
    open_roles = [role for role in ("system", "item") if ids.get(role) in (None, hints.fallback.get(role))]
    blocks = _blocks(sheet, factors, open_roles, others)
    if "system" in open_roles and not any(role == "system" for role, _ in blocks):
        _refuse_unplaced(sheet, columns, others)
    roles, notes = _roles(sheet, columns, factors, blocks, ids, hints)
    ratings = []
    for place, column in enumerate(columns):
        labels = {role: _label(role, factor[place]) for factor, role in zip(factors, roles, strict=True) if role}
        sources = {role: by[factors[at][place]] for (role, at), by in blocks.items()}
        ratings.append(RatingColumn(column, labels, sources))
    return ratings, notes


def alike(columns: Sequence[str], hints: Hints) -> list[str]:
    """Return columns of ratings without the few whose names, or questions, are not made like the others."""
    for titles in (_titles(columns, hints), [short_name(name) for name in columns]):
        if len(kept := made_alike(titles)) < len(columns):
            return [columns[place] for place in kept]
    return list(columns)


def _label(role: str, label: str) -> str:
    return criterion_name(label) if role == "criterion" else label


def _titles(columns: Sequence[str], hints: Hints) -> list[str]:
    """Return the questions that were asked, if they differ and say more than the names of the columns."""
    names = [short_name(name) for name in columns]
    titles = [hints.titles.get(name, short_name(name)) for name in columns]
    if len(set(titles)) < len(titles):
        return names

    def known(labels: list[str]) -> int:
        return sum(label_role(list(dict.fromkeys(factor))) is not None for factor in decompose(labels))

    return names if known(names) > known(titles) else titles


def _blocks(sheet: Sheet, factors: list[list[str]], roles: list[str], beside: Sequence[str]) -> Blocks:
    """Find columns such as system_1, system_2 that say what stood at the places 1, 2 of the ratings."""
    found: Blocks = {}
    for role in roles:
        by_stem: dict[str, dict[str, str]] = {}
        ranks: dict[str, int] = {}
        for name in beside:
            match = _INDEXED.fullmatch(short_name(name))
            rank = rank_of(role, match[1]) if match else None
            if match and rank is not None:
                by_stem.setdefault(plain(match[1]), {})[match[2].casefold()] = name
                ranks[plain(match[1])] = rank
        for place, factor in enumerate(factors):
            if label_role(list(dict.fromkeys(factor))) not in (None, role, "item"):
                continue
            places = {label: _index(label) for label in factor}
            fitting = [stem for stem, by in by_stem.items() if all(index in by for index in places.values())]
            if systems := found.get(("system", place)):  # items have several systems, which the texts of systems do not
                pairs = {
                    stem: [(by[places[x]], column) for x, column in systems.items()] for stem, by in by_stem.items()
                }
                fitting = [stem for stem in fitting if _is_shared(sheet, pairs[stem])]
            if fitting and len(set(places.values())) == len(set(factor)):
                names = {stem: {n for by in by_stem[stem].values() for n in sheet.columns[by]} for stem in fitting}
                best = by_stem[min(fitting, key=lambda stem: (len(names[stem]) < 2, ranks[stem]))]
                found[role, place] = {label: best[index] for label, index in places.items()}
                break
    return found


def _refuse_unplaced(sheet: Sheet, columns: Sequence[str], beside: Sequence[str]) -> None:
    """Ask where several columns name the systems of a row, but do not say which ratings are theirs."""
    matches = {name: _INDEXED.fullmatch(short_name(name)) for name in beside}
    named = [name for name, match in matches.items() if match and rank_of("system", match[1]) is not None]
    few = [name for name in named if 1 < len(set(sheet.columns[name])) <= max(2, len(sheet) // 2)]
    if len(few) > 1:
        raise InputError(
            f"{listed(few)} of {sheet.name} name systems, but the names of {listed(columns)} do not say which of them "
            f"was rated; rename the ratings like {few[0]!r}, such as rating1, or name the columns with {arg('rating')}"
        )


def _is_shared(sheet: Sheet, pairs: Sequence[tuple[str, str]]) -> bool:
    """Tell whether most of the names in the first columns occur with several of the names in the second ones."""
    seen: dict[str | None, set[str | None]] = {}
    for first, second in pairs:
        for name, other in zip(sheet.columns[first], sheet.columns[second], strict=True):
            seen.setdefault(name, set()).add(other)
    return sum(len(others) > 1 for others in seen.values()) > 0.5 * len(seen)


def _index(label: str) -> str:
    match = re.search(r"(\d+|[A-Za-z])$", label)
    return match[1].casefold() if match else label.casefold()


def _roles(
    sheet: Sheet, columns: Sequence[str], factors: list[list[str]], blocks: Blocks, ids: dict[str, str], hints: Hints
) -> tuple[list[str | None], list[Finding]]:
    """Return the role of each factor: by its words, else because no other role is left."""
    taken = {*ids, *(role for role, _ in blocks)}
    counting = {place for _, place in blocks}
    roles: list[str | None] = [None] * len(factors)
    for place, factor in enumerate(factors):
        role = None if place in counting else label_role(list(dict.fromkeys(factor)))
        if role == "participant" and role in ids and ids[role] in sheet.columns:
            raise InputError(
                f"the names of {listed(columns)} of {sheet.name} say raters, but {ids[role]!r} names raters, too; "
                f"leave it out with {arg('ignore', ids[role])} if it is something else, or name the ratings with "
                f"{arg('rating')}"
            )
        if role is not None and role not in taken:
            roles[place] = role
            taken.add(role)
    notes = []
    unknown = [place for place in range(len(factors)) if roles[place] is None and place not in counting]
    for place in sorted(unknown, key=lambda place: not _are_letters(factors[place])):
        factor = factors[place]
        labels = list(dict.fromkeys(factor))
        left = [role for role in IDS if role not in taken and not (role == "participant" and hints.respondents)]
        role = _left(labels, left)
        if role is None:
            titles = _titles(columns, hints)
            known = {roles[other]: factors[other][0] for other in range(len(factors)) if roles[other]}
            if len(unknown) > 1:
                raise InputError(_several_unknown(sheet, columns, titles, factors, roles, left))
            left = [role for role in left if role != "participant"] or left if "participant" in taken else left
            ways = "".join(
                f"{arg('columns', _pattern(titles[0], {**known, role: factor[0]}))} if each is {WHAT[role]}, "
                for role in left
            )
            raise InputError(
                f"the columns {listed(columns)} of {sheet.name} hold ratings, but their names do not say what they "
                f"differ in ({listed(labels)}); give {ways}{'or ' if ways else ''}{arg('rating')} with "
                "those that are ratings"
            )
        roles[place] = role
        taken.add(role)
        notes.append(found("labels-taken-for", labels=listed(labels), plural=PLURAL[role], role=role))
    return roles, notes


def _several_unknown(
    sheet: Sheet,
    columns: Sequence[str],
    titles: list[str],
    factors: list[list[str]],
    roles: list[str | None],
    left: Sequence[str],
) -> str:
    """Ask what the parts of names are, with a pattern to start from."""
    names = iter(left)
    guess: dict[str | None, str] = {
        role or next(names, "item"): factor[0] for role, factor in zip(roles, factors, strict=True)
    }
    parts = " and in ".join(listed(list(dict.fromkeys(factor)), most=4) for factor in factors)
    return (
        f"the names of the columns {listed(columns)} of {sheet.name} differ in {parts}, but do not say what that is; "
        f"give a pattern of their names such as {arg('columns', _pattern(titles[0], guess))}, with "
        f"{', '.join(f'{{{role}}}' for role in IDS)} where they stand"
    )


def _pattern(title: str, labels: dict[str | None, str]) -> str:
    """Return a role, or the pattern of names that has several: sysA_1 is {system}_{item}."""
    if len(labels) == 1:
        return str(next(iter(labels)))
    for role, label in sorted(labels.items(), key=lambda pair: -len(pair[1])):
        title = title.replace(label, f"{{{role}}}", 1)
    return title


def _are_letters(labels: Sequence[str]) -> bool:
    """Tell whether labels are few capital letters, which may be systems."""
    return len(set(labels)) <= FEW_LETTERS and all(re.fullmatch(r"[A-Z]", label) for label in labels)


def _names_a_person(label: str) -> bool:
    """Tell whether a label is a first name, initials, or letters with a number."""
    first = name_words(label)[:1]
    return _INITIALS.fullmatch(label.strip()) is not None or (first[:1] != [] and first[0] in FIRST_NAMES)


def _name_systems(labels: Sequence[str]) -> bool:
    """Tell whether most labels are made as names of systems are: with digits, inner capitals, or hyphens."""
    made = [
        label_role([label]) == "system" or (bool(_OF_A_SYSTEM.fullmatch(label)) and not _QUESTION.fullmatch(label))
        for label in labels
    ]
    return sum(made) * 2 >= len(made)


def _left(labels: list[str], left: list[str]) -> str | None:
    """Return which of the roles that are left labels have whose words say nothing, if it can be concluded."""
    if len(left) == 1:
        return left[0] if left != ["system"] or _name_systems(labels) else None
    if "participant" in left:  # a rater is always needed; items and systems are there
        if left != ["participant", "criterion"]:
            return None
        if all(len(label.split()) > 2 for label in labels):
            return "criterion"  # questions
        return "participant" if all(_names_a_person(label) for label in labels) else None
    if "system" in left and (_are_letters(labels) or sum(map(names_system, labels)) * 2 >= len(labels)):
        return "system"
    if left == ["system", "criterion"]:
        return "system" if _name_systems(labels) else None
    if "item" in left:
        long = sum(map(len, labels)) / len(labels) > LONG and len(labels) > 3
        return "item" if long or len(labels) > MANY else None
    return None
