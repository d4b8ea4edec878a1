"""JSON of any depth as rows: objects in lists, and levels whose keys are names (item → worker → criterion → number)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ordbridge.errors import InputError
from ordbridge.reading.vocabulary import criteria_in, label_role, name_words, numbered_role, rank_of
from ordbridge.support.naming import arg

__all__ = ["nested_rows", "refuse_lists", "titled"]

PEOPLE = {"annotator", "rater", "worker", "participant", "judge", "user", "evaluator", "expert", "coder", "person"}
BY_PEOPLE = {
    "annotations", "annotation", "annotators", "experts", "expert", "ratings", "reviews", "responses", "judgments",
    "judgements", "votes", "evaluations", "assessments", "turkers", "turker", "workers", "raters", "crowd", "scores",
    "labels", "answers", "judges", "participants", "reviewers",
}  # fmt: skip
TURN = {"role", "from", "speaker"}, {"content", "value", "text"}, {"id", "name", "weight", "type"}
"""Keys of a turn of a conversation: who speaks, what is said, and what may stand beside."""
PART = "\0part"
LIST = "list"  # the column that says in which list a rating stands
ALIKE = 0.5  # share of keys that objects under names have in common

Record = dict[str, Any]


def nested_rows(value: Any) -> list[Record]:
    """Return one flat record per innermost object.

    Examples
    --------
    >>> nested_rows({"t1": {"anna": {"fluency": 4}, "ben": {"fluency": 5}}, "t2": {"anna": {"fluency": 1}}})[0]
    {'key 1': 't1', 'key 2': 'anna', 'fluency': 4}
    >>> nested_rows([{"text": "a", "responses": [{"worker_id": 1, "response": "yes"}]}])
    [{'text': 'a', 'worker_id': 1, 'response': 'yes'}]
    >>> len(nested_rows([{"chosen": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}]))
    1
    """
    rows: list[Record] = []
    known = frozenset(_levels(value))
    for number, one in enumerate(value if isinstance(value, list) else [value], 1):
        for row in _walk(one, {}, "", 1, known=known):
            part = row.pop(PART, None)
            rows.append(row if part is None else {"item": f"{number}.{part}", **row})
    return rows


def _levels(value: Any) -> Iterator[str]:
    """Yield the keys under which some record has an object of people: in others there may be one person only."""
    if isinstance(value, list):
        for one in value:
            yield from _levels(one)
    elif isinstance(value, Mapping):
        for key, one in value.items():
            if _is_level(one) and label_role([str(name) for name in one]) == "participant":
                yield str(key)
            yield from _levels(one)


def _walk(
    value: Any, context: Record, title: str, depth: int, named: bool = False, known: frozenset[str] = frozenset()
) -> Iterator[Record]:
    """Yield the records inside a value; ``named`` where its neighbours say that its keys are names."""
    if isinstance(value, list):
        for number, one in enumerate(value, 1):
            counted = {*name_words(title)} & BY_PEOPLE and not _names_someone(one) and not _names_someone(context)
            extra = {"annotator": f"{title} {number}", LIST: title} if counted else {}
            if not counted and _is_part(title, one):  # of a document: a sentence, a question
                extra = {PART: f"{context.get(PART, '')}.{number}".strip(".")}
            yield from _walk(one, context | extra, title, depth, known=known)
    elif named or _is_level(value):
        people = label_role([str(key) for key in value]) == "participant" and "annotator" not in context
        column = "annotator" if people else title or f"key {depth}"
        below = _have_levels(list(value.values()))
        for key, one in value.items():
            yield from _walk(one, context | {column: str(key)}, "", depth + 1, below, known)
    else:
        alone = {key for key in known & value.keys() if isinstance(value[key], Mapping) and value[key]}
        own = {key: cell for key, cell in value.items() if not _is_nest(cell) and key not in alone}
        nests = {key: cell for key, cell in value.items() if key not in own}
        if _names_someone(value) and not any(_holds_people(cell) for cell in nests.values()):
            own, nests = dict(value), {}  # what somebody said, with remarks inside
        alike = {key: cell for key, cell in own.items() if isinstance(cell, Mapping) and _has_nests(cell)}
        if alike and (len(alike) == 1 or _is_level(alike)):
            own = {key: cell for key, cell in own.items() if key not in alike}
            nests |= {"": alike} if len(alike) > 1 else alike
        if outputs := _outputs(own):  # summary 1, summary 2, each of which says its system
            own = {key: cell for key, cell in own.items() if key not in outputs}
            nests |= {"": list(outputs.values())}
        for key, cell in value.items():
            if key in own and isinstance(cell, list) and cell and all(_is_number(one) for one in cell):
                del own[key]
                own |= {f"{key} [{number}]": one for number, one in enumerate(cell, 1)}
        here = context | {f"{title}.{key}" if key in context else key: cell for key, cell in own.items()}
        if not nests:
            yield here
        for key, cell in nests.items():
            yield from _walk(cell, here, key, depth, named=key in alone, known=known)


def _outputs(own: Record) -> Record:
    """Return objects under one name with numbers or letters, each of which says which system made it."""
    groups: dict[str, Record] = {}
    for key, cell in own.items():
        stem = re.sub(r"[ _.\-]*(\d+|(?<=[ _.\-])[a-zA-Z])$", "", key)
        if stem != key and isinstance(cell, Mapping) and any(rank_of("system", one) in (0, 1) for one in cell):
            groups.setdefault(stem, {})[key] = cell
    found = [group for group in groups.values() if len(group) > 1]
    return found[0] if len(found) == 1 else {}


def refuse_lists(columns: Mapping[str, list[str | None]], name: str) -> None:
    """Ask which of several lists of ratings is meant: experts and a crowd are not raters of one kind."""
    lists = [one for one in dict.fromkeys(columns.get(LIST, ())) if one is not None]
    places = {str(cell).rpartition(" ")[0] for cell in columns.get("annotator", ()) if cell is not None}
    if len(lists) > 1 and {*lists} == places:
        raise InputError(
            f"the ratings of a text stand in several lists in {name}: {', '.join(lists)}. Choose one, "
            f"as {arg('where', f'{LIST} == {lists[0]}')}"
        )


def _is_part(title: str, one: Any) -> bool:
    """Tell whether an object in a list is a part of what holds the list: people or systems are inside it."""
    if not title or not isinstance(one, Mapping) or _names_someone(one):
        return False
    made_by = any(rank_of("system", key) in (0, 1) for key in one) or "item" in one
    inside = _has_nests(one) or any(isinstance(cell, Mapping) and _has_nests(cell) for cell in one.values())
    return inside and not made_by


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_nest(value: Any) -> bool:
    """Tell whether a value holds rows of its own: a list of objects, or objects under names."""
    if _are_remarks(value) or _is_conversation(value):
        return False
    if isinstance(value, list):
        return bool(value) and all(isinstance(one, Mapping) for one in value)
    return _is_level(value)


def _is_conversation(value: Any) -> bool:
    """Tell whether a value is a text in turns, without anything that somebody said of a turn."""
    speaker, said, beside = TURN
    return isinstance(value, list) and all(
        isinstance(one, Mapping) and {*one} & speaker and {*one} & said and {*one} <= speaker | said | beside
        for one in value
    )


def _are_remarks(value: Any) -> bool:
    """Tell whether all objects inside a value are marked places of a text without a severity: not ratings."""
    if isinstance(value, Mapping) and not _is_place(value):
        return bool(value) and any(value.values()) and all(one == [] or _are_remarks(one) for one in value.values())
    places = value if isinstance(value, list) else [value]
    return bool(places) and all(isinstance(one, Mapping) and _is_place(one) for one in places)


def _is_place(value: Mapping[str, Any]) -> bool:
    words = {word for key in value for word in name_words(key)}
    return {"start", "end"} <= words and "severity" not in words


def _is_level(value: Any) -> bool:
    """Tell whether an object has names for keys: all its values are made alike."""
    if not isinstance(value, Mapping) or not value:
        return False
    inner = list(value.values())
    if all(isinstance(one, list) and one and all(isinstance(cell, Mapping) for cell in one) for one in inner):
        return len(inner) > 1
    if not all(isinstance(one, Mapping) and one for one in inner):
        return False
    if _have_levels(inner):
        return True
    first = set(inner[0])
    shared = [len(first & set(one)) / len(first | set(one)) for one in inner[1:]]
    return bool(shared) and sum(shared) / len(shared) >= ALIKE


def _has_nests(value: Mapping[str, Any]) -> bool:
    return any(_is_nest(cell) for cell in value.values())


def _holds_people(value: Any) -> bool:
    """Tell whether objects inside a value name somebody."""
    inner = value if isinstance(value, list) else list(value.values())
    return any(_names_someone(one) or (isinstance(one, list) and any(map(_names_someone, one))) for one in inner)


def _have_levels(inner: list[Any]) -> bool:
    """Tell whether most of several objects have names for keys, and the others may: one name says nothing."""
    if not all(isinstance(one, Mapping) and all(isinstance(cell, Mapping) for cell in one.values()) for one in inner):
        return False
    return sum(_is_level(one) for one in inner) > 0.5 * len(inner)


def _names_someone(record: Any) -> bool:
    return isinstance(record, Mapping) and any(
        key.casefold().removesuffix("_id").removesuffix("id") in PEOPLE for key in record
    )


def titled(columns: dict[str, list[str | None]]) -> dict[str, list[str | None]]:
    """Give columns of keys the name of their role, where their names or what is left say it.

    Examples
    --------
    >>> list(titled({"key 1": ["t1", "t2"], "key 2": ["worker_1", "worker_2"], "fluency": ["4", "5"]}))
    ['item', 'participant', 'fluency']
    """
    keys = [name for name in columns if name.startswith("key ")]
    roles: dict[str, str] = {}
    for name in keys:
        labels = [label for label in dict.fromkeys(columns[name]) if label is not None]
        role = label_role(labels[:50]) or numbered_role(labels[0]) if labels else None
        if role is None:
            words = [{one for word in name_words(label) for one in _role_of(word)} for label in labels[:50]]
            common = set.intersection(*words) if words else set()
            role = common.pop() if len(common) == 1 else None
        if role is not None and role not in roles.values():
            roles[name] = role
    left = [name for name in keys if name not in roles]
    others = "participant" in roles.values() or any(rank_of("system", name) in (0, 1) for name in columns)
    if len(left) == 1 and "item" not in roles.values() and others:
        roles[left[0]] = "item"
    free = {name: role for name, role in roles.items() if role not in columns}
    return {free.get(name, name): cells for name, cells in columns.items()}


def _role_of(word: str) -> list[str]:
    return [role for role in ("participant", "system") if rank_of(role, word) in (0, 1) and not criteria_in(word)]
