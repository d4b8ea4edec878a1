"""What the page calls the arguments of functions: its menus, fields and boxes."""

from __future__ import annotations

from typing import Any

from ordbridge.support.naming import in_python, words_of

LABELS = {
    "participant": "who rated",
    "item": "what was rated",
    "system": "which system made it",
    "rating": "the rating",
    "criterion": "what was asked",
    "levels": "labels of the scale",
    "columns": "what the columns of ratings differ in",
    "format": "kind of file",
    "sheet": "sheet",
    "join": "a second file",
    "scale": "ends of the scale",
    "where": "rows to use",
    "ignore": "columns to leave out",
    "lower_is_better": "which rating is better",
    "force": "go on all the same",
    "reference": "compare with",
}
"""What the page calls an argument of :func:`ordbridge.read` and :func:`ordbridge.compare`."""

CHOICES = {
    ("participant", "row"): "“each row is another one”",
    ("item", "row"): "“each row is another one”",
    ("participant", "none"): "“nobody knows”",
    ("item", "none"): "“items have no names”",
    ("lower_is_better", "True"): "“a low one”",
    ("lower_is_better", "False"): "“a high one”",
}
"""What the menus call a value."""


def labelled(name: str, *value: Any) -> str:
    """Return an argument, or an argument and its value, as the page has them.

    Examples
    --------
    >>> labelled("participant"), labelled("participant", "row"), labelled("force", True)
    ('“who rated”', '“who rated”: “each row is another one”', '“go on all the same”')
    >>> labelled("levels", ["good", "bad"])
    '“labels of the scale”: good, bad'
    """
    if name not in LABELS:
        return in_python(name, *value)
    shown = CHOICES.get((name, str(value[0])), ", ".join(words_of(value[0]))) if value and name != "force" else ""
    return f"“{LABELS[name]}”{': ' if shown else ''}{shown}"
