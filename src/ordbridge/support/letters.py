"""Letters for a table: systems that share one cannot be told apart."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def letters(systems: Sequence[str], different: Collection[frozenset[str]]) -> dict[str, str]:
    """Return a compact letter display, with ``a`` for the first of the systems.

    Two systems share a letter exactly if they are not different. Columns of letters are split for each pair that
    differs and absorbed where they are part of another.

    Parameters
    ----------
    systems
        In the order of the table.
    different
        The pairs that differ.

    References
    ----------
    Piepho, H.-P. (2004). An algorithm for a letter-based representation of all-pairwise comparisons. Journal of
    Computational and Graphical Statistics 13, 456–466.

    Examples
    --------
    >>> letters(["A", "B", "C"], [frozenset("AC")])
    {'A': 'a', 'B': 'ab', 'C': 'b'}
    """
    columns = [frozenset(systems)]
    for pair in different:
        split = [column - {one} for column in columns if pair <= column for one in pair]
        whole = [column for column in columns if not pair <= column]
        columns = _absorbed([*whole, *split])
    place = {system: k for k, system in enumerate(systems)}
    columns.sort(key=lambda column: sorted(place[system] for system in column))
    return {system: "".join(_letter(k) for k, column in enumerate(columns) if system in column) for system in systems}


def _absorbed(columns: Sequence[frozenset[str]]) -> list[frozenset[str]]:
    """Leave out columns that are part of another, and repeated ones."""
    unique = list(dict.fromkeys(columns))
    return [column for column in unique if not any(column < other for other in unique)]


def _letter(k: int) -> str:
    """Return a, b, …, z, A, …, Z, and numbers in brackets for the most patient readers."""
    alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return alphabet[k] if k < len(alphabet) else f"({k + 1})"
