"""JSON of any depth as rows: objects in lists, and levels whose keys are names (item → worker → criterion → number)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ordbridge.reading.vocabulary import criteria_in, label_role, name_words, numbered_role, rank_of

__all__ = ["nested_rows", "titled"]

PEOPLE = {"annotator", "rater", "worker", "participant", "judge", "user", "evaluator", "expert", "coder", "person"}
BY_PEOPLE = {
    "annotations", "annotation", "annotators", "experts", "expert", "ratings", "reviews", "responses", "judgments",
    "judgements", "votes", "evaluations", "assessments", "turkers", "turker", "workers", "raters", "crowd", "scores",
    "labels", "answers", "judges", "participants", "reviewers",
}  # fmt: skip
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
    """
    return list(_walk(value, {}, "", 1))


def _walk(value: Any, context: Record, title: str, depth: int) -> Iterator[Record]:
    if isinstance(value, list):
        for number, one in enumerate(value, 1):
            named = {*name_words(title)} & BY_PEOPLE and not _names_someone(one) and not _names_someone(context)
            extra = {"annotator": f"{title} {number}"} if named else {}
            yield from _walk(one, context | extra, title, depth)
    elif _is_level(value):
        column = title or f"key {depth}"
        for key, one in value.items():
            yield from _walk(one, context | {column: str(key)}, "", depth + 1)
    else:
        own = {key: cell for key, cell in value.items() if not _is_nest(cell)}
        nests = {key: cell for key, cell in value.items() if _is_nest(cell)}
        for key, cell in value.items():
            if isinstance(cell, list) and cell and all(_is_number(one) for one in cell):
                del own[key]
                own |= {f"{key} [{number}]": one for number, one in enumerate(cell, 1)}
        here = context | {f"{title}.{key}" if key in context else key: cell for key, cell in own.items()}
        if not nests:
            yield here
        for key, cell in nests.items():
            yield from _walk(cell, here, key, depth)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_nest(value: Any) -> bool:
    """Tell whether a value holds rows of its own: a list of objects, or objects under names."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(one, Mapping) for one in value)
    return _is_level(value)


def _is_level(value: Any) -> bool:
    """Tell whether an object has names for keys: all its values are made alike."""
    if not isinstance(value, Mapping) or not value:
        return False
    inner = list(value.values())
    if all(isinstance(one, list) and one and all(isinstance(cell, Mapping) for cell in one) for one in inner):
        return len(inner) > 1
    if not all(isinstance(one, Mapping) and one for one in inner):
        return False
    if all(_is_level(one) for one in inner):
        return True
    first = set(inner[0])
    shared = [len(first & set(one)) / len(first | set(one)) for one in inner[1:]]
    return bool(shared) and sum(shared) / len(shared) >= ALIKE


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
    if len(left) == 1 and "item" not in roles.values() and "participant" in roles.values():
        roles[left[0]] = "item"
    free = {name: role for name, role in roles.items() if role not in columns}
    return {free.get(name, name): cells for name, cells in columns.items()}


def _role_of(word: str) -> list[str]:
    return [role for role in ("participant", "system") if rank_of(role, word) in (0, 1) and not criteria_in(word)]
