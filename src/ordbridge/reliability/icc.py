"""Reliability from the analysis of variance: intraclass correlations and Cronbach's α."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ordbridge.errors import InputError
from ordbridge.reliability.bootstrap import estimate
from ordbridge.reliability.correlation import complete_items, items_left_out
from ordbridge.reliability.ratings import prepare, require
from ordbridge.reliability.records import Coefficient

__all__ = ["ICC_FORMS", "cronbach_alpha", "icc"]

ICC_FORMS = {
    "1,1": "one-way random, single rating: each item has raters of its own",
    "2,1": "two-way random, absolute agreement, single rating: raters are a sample of raters",
    "3,1": "two-way mixed, consistency, single rating: these raters and no others",
    "1,k": "one-way random, mean of k ratings",
    "2,k": "two-way random, absolute agreement, mean of k raters",
    "3,k": "two-way mixed, consistency, mean of k raters (Cronbach's α)",
}


def icc(
    data: Any,
    item: str = "item",
    rater: str = "participant",
    rating: str = "rating",
    *,
    form: str = "2,1",
    scale: Sequence[Any] | None = None,
    draws: int = 1000,
    seed: int = 1,
    confidence: float = 0.95,
) -> Coefficient:
    """Intraclass correlation in one of the six forms of Shrout & Fleiss.

    With n items, k raters, and mean squares between items (B), within items (W), between raters (J), residual (E)::

        1,1   (B − W) / (B + (k−1) W)                       1,k   (B − W) / B
        2,1   (B − E) / (B + (k−1) E + k (J − E) / n)       2,k   (B − E) / (B + (J − E) / n)
        3,1   (B − E) / (B + (k−1) E)                       3,k   (B − E) / B

    Only items that every rater rated enter.

    Parameters
    ----------
    data, item, rater, rating, scale
        See :func:`ordbridge.reliability.prepare`.
    form
        ``"1,1"``, ``"2,1"``, ``"3,1"``, ``"1,k"``, ``"2,k"`` or ``"3,k"``.
    draws, seed, confidence
        Resamples of items for the interval, their seed, the interval's level.

    References
    ----------
    Shrout, P. E., & Fleiss, J. L. (1979). Intraclass correlations: uses in assessing rater reliability. Psychological
    Bulletin 86, 420-428.

    Examples
    --------
    >>> judges = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    >>> [round(icc(judges, form=form, draws=0).value, 2) for form in ("1,1", "2,1", "3,1", "1,k", "2,k", "3,k")]
    [0.17, 0.29, 0.71, 0.44, 0.62, 0.91]
    """
    if form not in ICC_FORMS:
        raise InputError(f"form={form!r} is not a form of the ICC; use one of {', '.join(ICC_FORMS)}")
    return _from_mean_squares(
        data,
        (item, rater, rating, scale),
        _FORMULAS[form],
        f"ICC({form})",
        f"Shrout & Fleiss (1979), {ICC_FORMS[form]}",
        (draws, seed, confidence),
    )


def cronbach_alpha(
    data: Any,
    item: str = "item",
    rater: str = "participant",
    rating: str = "rating",
    *,
    scale: Sequence[Any] | None = None,
    draws: int = 1000,
    seed: int = 1,
    confidence: float = 0.95,
) -> Coefficient:
    r"""Cronbach's α of the sum over raters: how consistent the mean rating of these raters is.

    .. math:: \alpha = \frac{k}{k-1} \left(1 - \frac{\sum_j s_j^2}{s_{sum}^2}\right)

    which is ICC(3,k), (B − E) / B in the mean squares of :func:`icc` (Hoyt 1941). Only items that every rater rated
    enter.

    References
    ----------
    Cronbach, L. J. (1951). Coefficient alpha and the internal structure of tests. Psychometrika 16, 297-334.

    Examples
    --------
    >>> judges = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    >>> round(cronbach_alpha(judges, draws=0).value, 3)
    0.909
    """
    return _from_mean_squares(
        data,
        (item, rater, rating, scale),
        _FORMULAS["3,k"],
        "Cronbach's α",
        "raters as parts of a test: k/(k−1) · (1 − Σ var / var of sum)",
        (draws, seed, confidence),
    )


_FORMULAS: dict[str, Callable[..., np.ndarray]] = {
    "1,1": lambda b, w, j, e, n, k: (b - w) / (b + (k - 1) * w),
    "2,1": lambda b, w, j, e, n, k: (b - e) / (b + (k - 1) * e + k * (j - e) / n),
    "3,1": lambda b, w, j, e, n, k: (b - e) / (b + (k - 1) * e),
    "1,k": lambda b, w, j, e, n, k: (b - w) / b,
    "2,k": lambda b, w, j, e, n, k: (b - e) / (b + (j - e) / n),
    "3,k": lambda b, w, j, e, n, k: (b - e) / b,
}


def _from_mean_squares(
    data: Any,
    columns: tuple[str, str, str, Sequence[Any] | None],
    formula: Callable[..., np.ndarray],
    name: str,
    definition: str,
    options: tuple[int, int, float],
) -> Coefficient:
    given = prepare(data, *columns)
    require(given, name, "interval")
    ratings = complete_items(given, name)
    n, k = len(ratings.items), len(ratings.raters)
    scores = ratings.centred

    def statistic(codes: np.ndarray, counts: np.ndarray) -> np.ndarray:
        x = scores[codes]
        means = x.mean(axis=1)
        grand = counts @ means / n
        between = k * (counts * (means - grand[:, None]) ** 2).sum(axis=1)
        within = counts @ ((x - means[:, None]) ** 2).sum(axis=1)
        raters = n * ((counts @ x / n - grand[:, None]) ** 2).sum(axis=1)
        residual = np.maximum(within - raters, 0)  # below zero by rounding only
        b, w, j = between / (n - 1), within / (n * (k - 1)), raters / (k - 1)
        value = formula(b, w, j, residual / ((n - 1) * (k - 1)), n, k)
        return np.where(between > 1e-12, value, np.nan)

    draws, seed, confidence = options
    return estimate(
        ratings,
        statistic,
        name=name,
        definition=definition,
        undefined="all items have the same mean rating",
        draws=draws,
        seed=seed,
        confidence=confidence,
        note=items_left_out(given, ratings),
    )
