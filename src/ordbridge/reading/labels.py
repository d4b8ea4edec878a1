"""Labels of common rating scales in English, French, German and Spanish (``scales.txt``), and their order."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path

__all__ = ["NON_ANSWERS", "is_known_label", "normal", "order_of_labels", "scales_with"]

FILE = Path(__file__).with_name("scales.txt")
NOT_ANSWERS = "[not an answer]"


@functools.lru_cache(maxsize=2**14)  # a column has few labels, and many rows
def normal(label: str) -> str:
    """Return a label without differences of case, blanks, quotation marks and final points.

    Examples
    --------
    >>> normal(" Strongly  AGREE. ") == normal("strongly agree")
    True
    """
    text = unicodedata.normalize("NFKC", label).casefold().replace("’", "'").replace("‘", "'").replace("ß", "ss")
    return re.sub(r"\s+", " ", text).strip().strip('.!"').strip()


def _scales() -> tuple[list[dict[str, int]], frozenset[str]]:
    """Return the known scales, each as label → place, and the answers that are not ratings."""
    text = re.sub(r"^#.*\n", "", FILE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    known, _, refusals = text.partition(NOT_ANSWERS)
    scales = []
    for block in re.split(r"\n\s*\n", known.strip()):
        points = enumerate(block.splitlines())
        scales.append({normal(word): place for place, line in points for word in line.split("|")})
    return scales, frozenset(normal(line) for line in refusals.strip().splitlines())


_KNOWN, NON_ANSWERS = _scales()


def order_of_labels(labels: Iterable[str]) -> tuple[str, ...] | None:
    """Return labels from low to high where they belong to a known scale, else ``None``.

    Parameters
    ----------
    labels
        The labels, each once; they may differ from the known ones by case and blanks.

    Examples
    --------
    >>> order_of_labels(["Agree", "Neutral", "Strongly disagree"])
    ('Strongly disagree', 'Neutral', 'Agree')
    >>> order_of_labels(["gut", "sehr gut", "schlecht"])
    ('schlecht', 'gut', 'sehr gut')
    >>> order_of_labels(["blue", "red"])
    """
    by_name = {normal(label): label for label in labels}
    orders = {order for scale in _KNOWN if (order := _within(scale, list(by_name)))}
    if len(orders) != 1:
        return None  # unknown, or known in two orders
    return tuple(by_name[name] for name in orders.pop())


def scales_with(labels: Iterable[str]) -> frozenset[int]:
    """Return which of the known scales have all of these labels, by their number."""
    names = {normal(label) for label in labels}
    return frozenset(number for number, scale in enumerate(_KNOWN) if names and names <= scale.keys())


def is_known_label(label: str) -> bool:
    """Tell whether a label belongs to any of the known scales."""
    return any(normal(label) in scale for scale in _KNOWN)


def _within(scale: dict[str, int], names: Sequence[str]) -> tuple[str, ...] | None:
    places = [scale.get(name) for name in names]
    if len(names) < 2 or None in places or len(set(places)) < len(places):
        return None
    return tuple(sorted(names, key=lambda name: scale[name]))
