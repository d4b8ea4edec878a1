"""Each person left out in turn, the judge in that person's place: both against the same people, on the same texts.

This is the footing on which a judge and people are compared, in the alternative annotator test and in agreement.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ordbridge.errors import InputError
from ordbridge.judges.judged import Judged
from ordbridge.reliability.ratings import GAP
from ordbridge.support.naming import arg

Score = Callable[[Any, list[Any]], float]
"""How well an annotation fits those of the other people, higher is better."""
TIE = 1e-9  # scores that differ by rounding only are equal


@dataclass(frozen=True)
class LeftOut:
    """One entry for each person and each text rated by that person beside others and the judge.

    Attributes
    ----------
    text, rater, cluster
        Position of the text and of the person who is left out; the cluster of the text.
    person, judge
        Their ratings: codes of categories.
    others
        How many people remain.
    total, squares
        Sum of the others' ratings as numbers, and of their squares.
    person_equal, judge_equal
        How many of the others chose the same category as the person, and as the judge.
    """

    text: np.ndarray
    rater: np.ndarray
    cluster: np.ndarray
    person: np.ndarray
    judge: np.ndarray
    others: np.ndarray
    total: np.ndarray
    squares: np.ndarray
    person_equal: np.ndarray
    judge_equal: np.ndarray

    def only(self, keep: np.ndarray) -> LeftOut:
        """Return some of the entries."""
        return LeftOut(**{name: values[keep] for name, values in vars(self).items()})


def leave_each_out(data: Judged, min_raters: int = 2) -> LeftOut:
    """Return the comparisons of texts that the judge and at least ``min_raters`` people rated."""
    humans = data.humans
    number = humans.per_item
    used = (number >= min_raters) & (data.judge_code != GAP)
    if not used.any():
        raise InputError(f"no text was rated by the judge and by {min_raters} people; there is nothing to compare")
    kept = used[humans.row]
    text, rater, code = humans.row[kept], humans.column[kept], humans.code[kept]
    q, value = len(humans.categories), humans.points
    cells, count = np.unique(humans.row * q + humans.code, return_counts=True)

    def chosen(codes: np.ndarray) -> np.ndarray:
        at = np.minimum(np.searchsorted(cells, text * q + codes), len(cells) - 1)
        return np.where(cells[at] == text * q + codes, count[at], 0)

    judge = data.judge_code[text]
    own = value[code]
    total = np.bincount(humans.row, weights=value[humans.code], minlength=len(number))[text] - own
    squares = np.bincount(humans.row, weights=value[humans.code] ** 2, minlength=len(number))[text] - own**2
    return LeftOut(
        text=text,
        rater=rater,
        cluster=data.cluster[text],
        person=code,
        judge=judge,
        others=number[text] - 1,
        total=total,
        squares=squares,
        person_equal=chosen(code) - 1,
        judge_equal=chosen(judge) - (judge == code),
    )


def indicators(data: Judged, pairs: LeftOut, score: str | Score) -> tuple[np.ndarray, np.ndarray]:
    """Return whether the judge does at least as well as the person, and whether the person does as the judge."""
    if score == "accuracy":
        judge, person = pairs.judge_equal.astype(float), pairs.person_equal.astype(float)
    elif score == "rmse":
        judge, person = (
            -(pairs.others * x**2 - 2 * x * pairs.total + pairs.squares)
            for x in (data.humans.points[pairs.judge], data.humans.points[pairs.person])
        )
    else:
        judge, person = _scored(data, pairs, score)
    margin = TIE * np.maximum(1.0, np.abs(judge) + np.abs(person))
    return (judge >= person - margin).astype(float), (person >= judge - margin).astype(float)


def _scored(data: Judged, pairs: LeftOut, score: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the user's scores of the judge and of the person."""
    humans = data.humans
    by_text: dict[int, list[tuple[int, Any]]] = {}
    for text, rater, code in zip(humans.row.tolist(), humans.column.tolist(), humans.code.tolist(), strict=True):
        by_text.setdefault(text, []).append((rater, humans.categories[code]))
    found = np.empty((2, len(pairs.text)))
    for at, (text, rater) in enumerate(zip(pairs.text.tolist(), pairs.rater.tolist(), strict=True)):
        others = [given for who, given in by_text[text] if who != rater]
        for side, code in enumerate((pairs.judge[at], pairs.person[at])):
            found[side, at] = float(score(humans.categories[code], others))
    if not np.isfinite(found).all():
        raise InputError(f"{arg('score')} returned something that is not a finite number")
    return found[0], found[1]
