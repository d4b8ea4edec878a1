"""Grouping factors: what stands to the right of a bar, as one factor.

They are made here, for every engine, so that labels are exact: R would turn whole numbers into text with 15 digits.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ordbridge.errors import InputError
from ordbridge.formula import Binary, Name, Node, names
from ordbridge.models.columns import Column, labelled, number_text


def grouping(node: Node, columns: Mapping[str, Column]) -> Column:
    """Return a grouping factor on all rows: a column as a factor, or the combinations of several.

    Examples
    --------
    >>> from ordbridge.formula import parse
    >>> x = Column("numeric", np.array([2.0, 1.0, np.nan]))
    >>> grouping(parse("y ~ 1 + (1 | x)").random[0].group, {"x": x})
    Column(kind='factor', values=array([ 1,  0, -1]), levels=('1', '2'), ordered=False, whole=None)
    """
    if isinstance(node, Binary):
        left, right = grouping(node.left, columns), grouping(node.right, columns)
        codes = left.values * len(right.levels) + right.values
        codes = np.where(left.missing | right.missing, -1, codes)
        used = np.unique(codes[codes >= 0])  # all combinations may be far too many to write down
        levels = tuple(f"{left.levels[k // len(right.levels)]}:{right.levels[k % len(right.levels)]}" for k in used)
        _refuse_same_labels(node, levels)
        return Column("factor", np.where(codes < 0, -1, np.searchsorted(used, codes)), levels)
    if not isinstance(node, Name):
        raise InputError(f"the grouping factor {node} is not a column")
    column = columns[node.name]
    if column.kind == "factor":
        return Column("factor", column.values, column.levels)
    if column.kind == "logical":
        return Column("factor", column.values, ("FALSE", "TRUE"))
    if column.whole is None:
        codes, levels = labelled(column, _label)
        return Column("factor", codes, levels)
    known = np.unique(column.whole[~column.missing])
    codes = np.where(column.missing, -1, np.searchsorted(known, column.whole))
    return Column("factor", codes, tuple(map(str, known)))


def _label(value: float) -> str:
    """Write a whole number with all its digits, a fraction as R does."""
    return str(int(value)) if value == int(value) else number_text(value)


def _refuse_same_labels(node: Node, levels: tuple[str, ...]) -> None:
    """Refuse combinations of different levels that read alike, such as a of b:c and a:b of c."""
    if len(set(levels)) < len(levels):
        twice = next(level for level in levels if levels.count(level) > 1)
        raise InputError(f"{twice!r} stands for two different combinations in {node}; rename the levels with a colon")


def positions(node: Node, levels: tuple[str, ...], columns: Mapping[str, Column], n: int) -> np.ndarray:
    """Return where the levels of new rows stand among those of a fit, −1 where the fit has never seen them."""
    if not all(name in columns for name in names(node)):
        return np.full(n, -1)
    new = grouping(node, columns)
    known = {level: i for i, level in enumerate(levels)}
    return np.array([known.get(level, -1) for level in new.levels] + [-1])[new.values]
