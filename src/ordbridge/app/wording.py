"""Messages in the words of the page: a function names its arguments, the page its menus."""

from __future__ import annotations

import ast
import re

from ordbridge.support.writing import FULL

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
}
"""What the menus call a value."""

VALUE = r"""'[^']*'|"[^"]*"|\[[^\]]*\]|\([^)]*\)|[^\s,;:.)]*"""
NAMED = re.compile(rf"(?<![\w.\-'\"])(give )?({'|'.join(LABELS)})=(?!=)({VALUE})")


def on_page(text: str) -> str:
    """Return a message with every argument named as on the page.

    Examples
    --------
    >>> on_page("who gave a rating? name the column with participant=, or give participant='row'")
    'who gave a rating? name the column with “who rated”, or set “who rated” to “each row is another one”'
    >>> on_page("'ok' is not among levels=['good', 'bad']; add it where it belongs")
    "'ok' is not among “labels of the scale” (good, bad); add it where it belongs"
    >>> on_page("To go on all the same, give force=True")
    'To go on all the same, tick “go on all the same”'
    """
    return NAMED.sub(_menu, text)


def unforeseen(error: Exception) -> str:
    """Say what went wrong where nobody expected it: the disk, or ordbridge itself.

    Examples
    --------
    >>> import errno
    >>> unforeseen(OSError(errno.ENOSPC, "No space left on device"))
    'the disk with the temporary files is full; make room there and try again'
    >>> unforeseen(ZeroDivisionError("division by zero"))
    'something is wrong in ordbridge itself (ZeroDivisionError: division by zero)'
    """
    if isinstance(error, OSError) and error.errno in FULL:
        return "the disk with the temporary files is full; make room there and try again"
    return f"something is wrong in ordbridge itself ({type(error).__name__}: {error})"


def _menu(found: re.Match[str]) -> str:
    give, name, value = found.groups()
    label = f"“{LABELS[name]}”"
    if name == "force":
        return f"tick {label}"
    if not value:
        return f"set {label}" if give else label
    try:
        meant = ast.literal_eval(value)
    except (SyntaxError, ValueError):
        meant = value
    meant = CHOICES.get((name, str(meant)), meant)
    shown = ", ".join(map(str, meant)) if isinstance(meant, (list, tuple)) else str(meant)
    return f"set {label} to {shown}" if give else f"{label} ({shown})"
