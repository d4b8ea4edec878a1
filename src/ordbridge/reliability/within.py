"""The two other kinds of reliability: stability, raters repeating themselves, and accuracy, raters being right.

Agreement between raters is reproducibility. A rater who rates a text twice shows stability; ratings whose right answer
is known show accuracy.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from ordbridge.errors import InputError, StatisticalWarning
from ordbridge.reading import tables
from ordbridge.reliability.alpha import krippendorff_alpha
from ordbridge.reliability.correlation import test_retest
from ordbridge.reliability.ratings import Ratings, prepare, read_ratings, require
from ordbridge.reliability.records import Coefficient
from ordbridge.support.arguments import proportion
from ordbridge.support.columns import columns

ALL = "all raters"
WITHIN_RATERS = columns("participant measure: text; estimate conf_low conf_high: number; n_ratings: count; note: text")


def stability(
    data: Any,
    item: str = "item",
    participant: str = "participant",
    rating: str = "rating",
    *,
    level: str = "ordinal",
    scale: Sequence[Any] | None = None,
    system: str | None = "system",
    conf_level: float | None = 0.95,
) -> pa.Table:
    """Return how far raters repeat themselves, from texts that they rated more than once.

    A rater's first and later rating of a text are taken like the ratings of two raters: percent of equal ones,
    Krippendorff's α at the level (intra-rater α), and for numbers Pearson's r (test–retest). Where a text was rated
    more than twice, each rating is paired with the one before.

    Returns
    -------
    pyarrow.Table
        One row per rater and measure, and for all raters together; ``n_ratings`` counts pairs of ratings.

    References
    ----------
    Krippendorff, K. (2004). Content Analysis, 2nd ed., 214-216 (stability, reproducibility, accuracy).

    Examples
    --------
    >>> ratings = {"item": [*range(8)] * 2, "participant": ["a"] * 16,
    ...            "rating": [1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 3, 1, 2, 4, 4]}
    >>> stability(ratings).to_pylist()[0]["estimate"]
    0.75
    """
    ratings = read_ratings(data, item, participant, rating, scale, system=system)
    require(ratings, "stability", level, varied=False, raters=1)
    pairs = _repeated(ratings)
    if not len(pairs):
        raise InputError("nobody rated a text twice, so nothing is known about stability")
    rows = []
    for name, chosen in [
        (ALL, pairs),
        *((r, pairs[ratings.column[pairs[:, 0]] == j]) for j, r in enumerate(ratings.raters)),
    ]:
        if len(chosen):
            rows += [
                {"participant": str(name), "n_ratings": len(chosen)} | row
                for row in _of_two(ratings, chosen, level, conf_level)
            ]
    return pa.Table.from_pylist(rows, schema=pa.schema(WITHIN_RATERS))


def _repeated(ratings: Ratings) -> np.ndarray:
    """Return the positions of each rating that follows one by the same rater of the same text, and of that one."""
    cell = ratings.row * len(ratings.raters) + ratings.column
    order = np.argsort(cell, kind="stable")
    again = np.flatnonzero(np.diff(cell[order]) == 0)
    return np.column_stack([order[again], order[again + 1]])


def _of_two(ratings: Ratings, pairs: np.ndarray, level: str, conf_level: float | None) -> list[dict[str, Any]]:
    """Return equal ratings, α and r of two runs, as if two raters had made them."""
    codes = ratings.code[pairs]
    labels = {name: getattr(ratings, name) for name in ("categories", "scores", "ordered")}
    two = Ratings.from_codes(codes, **labels, items=tuple(range(len(codes))), raters=("first", "second"))
    equal = float((codes[:, 0] == codes[:, 1]).mean())
    rows = [{"measure": "equal ratings", "estimate": equal, **_binomial(equal, len(codes), conf_level)}]
    wanted: list[tuple[str, Any]] = [
        (f"α, {level}", lambda: krippendorff_alpha(two, level=level, conf_level=conf_level))
    ]
    if ratings.scores is not None and level != "nominal":
        wanted.append(("test–retest r", lambda: _pearson(two, conf_level)))
    for name, function in wanted:
        try:
            rows.append({"measure": name, **_ends(function())})
        except InputError as reason:
            rows.append({"measure": name, "note": str(reason)})
    return rows


def _pearson(two: Ratings, conf_level: float | None) -> Coefficient:
    first, second = (replace(two.of_raters([run]), raters=("rater",)) for run in two.raters)
    return test_retest(first, second, conf_level=conf_level)


def _ends(found: Coefficient) -> dict[str, Any]:
    return {
        "estimate": found.estimate,
        "conf_low": found.conf_low,
        "conf_high": found.conf_high,
        "note": found.note if found.conf_low is None else "",
    }


def accuracy(
    data: Any,
    gold: Mapping[Any, Any] | Any,
    item: str = "item",
    participant: str = "participant",
    rating: str = "rating",
    *,
    level: str = "ordinal",
    scale: Sequence[Any] | None = None,
    conf_level: float | None = 0.95,
) -> pa.Table:
    """Return how near each rater comes to a gold standard.

    Parameters
    ----------
    data, item, participant, rating, scale
        See :func:`ordbridge.reliability.prepare`.
    gold
        Mapping from item to its right rating, or a table with the columns ``item`` and ``gold`` (and ``system``, where
        a text is item × system; the keys of a mapping are then pairs).
    level
        Level of measurement.
    conf_level
        Level of the intervals: Wilson's for shares, Student's for means.

    Returns
    -------
    pyarrow.Table
        One row per rater and measure, and for all raters together: the share of right ratings and, where ratings are
        numbers, the mean error (``bias``) and the mean absolute error.

    References
    ----------
    Krippendorff, K. (2004). Content Analysis, 2nd ed., 214-216; Wilson, E. B. (1927). JASA 22, 209-212.

    Examples
    --------
    >>> ratings = {"item": [1, 2, 3, 4], "participant": ["a"] * 4, "rating": [1, 2, 3, 3]}
    >>> row = accuracy(ratings, {1: 1, 2: 2, 3: 3, 4: 4}).to_pylist()[0]
    >>> row["measure"], row["estimate"], round(row["conf_low"], 2), round(row["conf_high"], 2)
    ('right ratings', 0.75, 0.3, 0.95)
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticalWarning)
        ratings = prepare(data, item, participant, rating, scale)
    require(ratings, "accuracy", level, varied=False, raters=1)
    right = _gold_codes(ratings, gold)
    known = right[ratings.row] >= -1
    if not known.any():
        raise InputError("the gold standard has none of the rated items; check its labels")
    rows = []
    for name, chosen in [(ALL, known), *((r, known & (ratings.column == j)) for j, r in enumerate(ratings.raters))]:
        n = int(chosen.sum())
        if not n:
            continue
        given, answer = ratings.code[chosen], right[ratings.row[chosen]]
        correct = float((given == answer).mean())
        found = [{"measure": "right ratings", "estimate": correct, **_binomial(correct, n, conf_level)}]
        if ratings.scores is not None and level != "nominal" and (answer >= 0).all():
            error = ratings.scores[given] - ratings.scores[answer]
            found.append({"measure": "bias", **_student(error, conf_level)})
            found.append({"measure": "absolute error", **_student(np.abs(error), conf_level)})
        rows += [{"participant": str(name), "n_ratings": n} | row for row in found]
    return pa.Table.from_pylist(rows, schema=pa.schema(WITHIN_RATERS))


def _gold_codes(ratings: Ratings, gold: Mapping[Any, Any] | Any) -> np.ndarray:
    """Return each item's right code; −1 where no rating can be right, −2 where the gold standard is silent."""
    if not isinstance(gold, Mapping) or {"item", "gold"} <= set(gold):
        table = tables.to_arrow(gold)
        keys = tables.column(table, "item", role="item").to_pylist()
        if ratings.text != "item":
            keys = list(zip(keys, tables.column(table, "system", role="system").to_pylist(), strict=True))
        gold = dict(zip(keys, tables.column(table, "gold", role="gold standard").to_pylist(), strict=True))
    place = {category: code for code, category in enumerate(ratings.categories)}
    right = {_as_text(label): place.get(answer, -1) for label, answer in gold.items()}
    return np.array([right.get(_as_text(label), -2) for label in ratings.items])


def _as_text(label: Any) -> Any:
    """Return an item, or an item and system, as text, so that 7 and "7" are one item."""
    return tuple(map(str, label)) if isinstance(label, tuple) else str(label)


def _binomial(estimate: float, n: int, conf_level: float | None) -> dict[str, float]:
    """Return Wilson's interval of a share."""
    from scipy.stats import binomtest

    if conf_level is None:
        return {}
    found = binomtest(round(estimate * n), n).proportion_ci(proportion("conf_level", conf_level), method="wilson")
    return {"conf_low": float(found.low), "conf_high": float(found.high)}


def _student(values: np.ndarray, conf_level: float | None) -> dict[str, float]:
    """Return a mean with Student's interval."""
    from scipy.stats import t

    mean, n = float(values.mean()), len(values)
    if conf_level is None or n < 2:
        return {"estimate": mean}
    half = float(t.ppf((1 + proportion("conf_level", conf_level)) / 2, n - 1) * values.std(ddof=1) / np.sqrt(n))
    return {"estimate": mean, "conf_low": mean - half, "conf_high": mean + half}
