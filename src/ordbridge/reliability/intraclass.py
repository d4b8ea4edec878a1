"""Reliability from the analysis of variance: intraclass correlations and Cronbach's α."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from ordbridge.errors import InputError
from ordbridge.reliability.correlation import complete_items, complete_table, items_left_out
from ordbridge.reliability.jackknife import ONE_SIDED, estimate
from ordbridge.reliability.ratings import Ratings, prepare, require
from ordbridge.reliability.records import Coefficient
from ordbridge.support.arguments import proportion
from ordbridge.support.naming import arg

POINTS = 4096  # of the generalised interval; not random, so that an interval is always the same

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
    participant: str = "participant",
    rating: str = "rating",
    *,
    form: str = "2,1",
    scale: Sequence[Any] | None = None,
    raters: str | None = None,
    conf_level: float | None = 0.95,
) -> Coefficient:
    """Intraclass correlation in one of the six forms of Shrout & Fleiss.

    With n items, k raters, and mean squares between items (B), within items (W), between raters (J), residual (E)::

        1,1   (B − W) / (B + (k−1) W)                       1,k   (B − W) / B
        2,1   (B − E) / (B + (k−1) E + k (J − E) / n)       2,k   (B − E) / (B + (J − E) / n)
        3,1   (B − E) / (B + (k−1) E)                       3,k   (B − E) / B

    Only items that every rater rated enter; for designs with gaps see :func:`ordbridge.reliability.generalizability`.

    Parameters
    ----------
    data, item, participant, rating, scale
        See :func:`ordbridge.reliability.prepare`.
    form
        ``"1,1"``, ``"2,1"``, ``"3,1"``, ``"1,k"``, ``"2,k"`` or ``"3,k"``.
    raters
        ``"random"``: forms 1 and 3 have the interval of McGraw & Wong (1996), from F distributions, and form 2 the
        generalised interval of Tian & Cappelleri (2004), which holds with few raters, too; ``"fixed"``: how far other
        items would change the value for these raters. By default random for forms 1 and 2 and the F interval for form
        3, in which raters are fixed anyway.
    conf_level
        Level of the interval; ``None`` for none.

    References
    ----------
    Shrout, P. E., & Fleiss, J. L. (1979). Intraclass correlations: uses in assessing rater reliability. Psychological
    Bulletin 86, 420-428. McGraw, K. O., & Wong, S. P. (1996). Forming inferences about some intraclass correlation
    coefficients. Psychological Methods 1, 30-46. Tian, L., & Cappelleri, J. C. (2004). A new approach for interval
    estimation and hypothesis testing of a certain intraclass correlation coefficient: the generalized variable method.
    Statistics in Medicine 23, 2125-2135.

    Examples
    --------
    >>> judges = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    >>> [round(icc(judges, form=form).estimate, 2) for form in ("1,1", "2,1", "3,1", "1,k", "2,k", "3,k")]
    [0.17, 0.29, 0.71, 0.44, 0.62, 0.91]
    """
    if form not in ICC_FORMS:
        raise InputError(f"{arg('form', form)} is not a form of the ICC; use one of {', '.join(ICC_FORMS)}")
    name = f"ICC({form})"
    given, ratings = _complete(data, item, participant, rating, scale, name)
    jackknife = conf_level if raters == "fixed" else None
    found = _estimated(ratings, given, form, name, f"Shrout & Fleiss (1979), {ICC_FORMS[form]}", raters, jackknife)
    if raters == "fixed" or conf_level is None:
        return found
    about = "fixed" if form.startswith("3") else "random"
    low, high = _interval(ratings, form, proportion("conf_level", conf_level))
    above, below = _interval(ratings, form, 2 * ONE_SIDED - 1)
    found = replace(found, conf_low=low, conf_high=high, lower_bound=above, upper_bound=below)
    return replace(found, conf_level=conf_level, raters=about)


def cronbach_alpha(
    data: Any,
    item: str = "item",
    participant: str = "participant",
    rating: str = "rating",
    *,
    scale: Sequence[Any] | None = None,
    raters: str | None = None,
    conf_level: float | None = 0.95,
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
    >>> round(cronbach_alpha(judges).estimate, 3)
    0.909
    """
    name = "Cronbach's α"
    given, ratings = _complete(data, item, participant, rating, scale, name)
    definition = "raters as parts of a test: k/(k−1) · (1 − Σ var / var of sum)"
    return _estimated(ratings, given, "3,k", name, definition, raters, conf_level)


_FORMULAS: dict[str, Callable[..., float]] = {
    "1,1": lambda b, w, j, e, n, k: (b - w) / (b + (k - 1) * w),
    "2,1": lambda b, w, j, e, n, k: (b - e) / (b + (k - 1) * e + k * (j - e) / n),
    "3,1": lambda b, w, j, e, n, k: (b - e) / (b + (k - 1) * e),
    "1,k": lambda b, w, j, e, n, k: (b - w) / b,
    "2,k": lambda b, w, j, e, n, k: (b - e) / (b + (j - e) / n),
    "3,k": lambda b, w, j, e, n, k: (b - e) / b,
}


def _complete(
    data: Any, item: str, participant: str, rating: str, scale: Sequence[Any] | None, name: str
) -> tuple[Ratings, Ratings]:
    given = prepare(data, item, participant, rating, scale)
    require(given, name, "interval")
    return given, complete_items(given, name)


def _estimated(
    ratings: Ratings,
    given: Ratings,
    form: str,
    name: str,
    definition: str,
    raters: str | None,
    conf_level: float | None,
) -> Coefficient:
    def statistic(some: Ratings) -> float:
        b, *others = mean_squares(complete_table(some))
        try:
            return float(_FORMULAS[form](b, *others)) if b > 1e-12 else np.nan
        except ZeroDivisionError:  # the raters' and the items' mean squares cancel
            return np.nan

    return estimate(
        ratings,
        statistic,
        name=name,
        definition=definition,
        undefined="all items have the same mean rating",
        raters=raters,
        conf_level=conf_level,
        note=items_left_out(given, ratings),
    )


def mean_squares(x: np.ndarray) -> tuple[float, float, float, float, int, int]:
    """Return the mean squares between items, within items, between raters and residual, and both numbers."""
    n, k = x.shape
    x = x - x.mean()
    items, raters = x.mean(axis=1), x.mean(axis=0)
    residual = x - items[:, None] - raters[None, :]
    within = ((x - items[:, None]) ** 2).sum()
    return (
        float(k * (items**2).sum() / (n - 1)),
        float(within / (n * (k - 1))),
        float(n * (raters**2).sum() / (k - 1)),
        float((residual**2).sum() / ((n - 1) * (k - 1))),
        n,
        k,
    )


def _interval(ratings: Ratings, form: str, conf_level: float) -> tuple[float | None, float | None]:
    """Return the interval of a form, or none where a mean square is zero."""
    squares = mean_squares(complete_table(ratings))
    b, w, _, e, _, k = squares
    kind, size = form.split(",")
    if min(b, w if kind == "1" else e) <= 1e-12:
        return None, None
    single = _generalised(*squares, conf_level) if kind == "2" else _f_interval(*squares, kind, conf_level)
    if size == "k":  # Spearman & Brown, which the single rating's interval goes through as well
        single = single[0] * k / (1 + (k - 1) * single[0]), single[1] * k / (1 + (k - 1) * single[1])
    return single


def _f_interval(
    b: float, w: float, j: float, e: float, n: int, k: int, kind: str, conf_level: float
) -> tuple[float, float]:
    """Return the interval of McGraw & Wong (1996), table 7, of forms 1,1 and 3,1."""
    from scipy.stats import f

    error, df = (w, n * (k - 1)) if kind == "1" else (e, (n - 1) * (k - 1))
    upper = (1 + conf_level) / 2
    low, high = b / error / f.ppf(upper, n - 1, df), b / error * f.ppf(upper, df, n - 1)
    return float((low - 1) / (low + k - 1)), float((high - 1) / (high + k - 1))


def _generalised(b: float, w: float, j: float, e: float, n: int, k: int, conf_level: float) -> tuple[float, float]:
    """Return the interval of form 2,1 by Tian & Cappelleri (2004): what the mean squares' expectations may have been.

    A mean square over its expectation is χ² over its degrees of freedom. McGraw & Wong's interval takes the raters'
    share of the error for known: with 200 items and 3 raters it covers .83.
    """
    between, raters, residual = _chi_squares(n, k)
    draws = _FORMULAS["2,1"](b / between, w, j / raters, e / residual, n, k)
    low, high = np.quantile(draws, [(1 - conf_level) / 2, (1 + conf_level) / 2])
    return float(low), float(high)


@lru_cache(maxsize=8)
def _chi_squares(n: int, k: int) -> np.ndarray:
    """Return χ² over its degrees of freedom for items, raters and residual, at points that fill the cube evenly."""
    from scipy.stats import chi2, qmc

    points = qmc.Sobol(3, scramble=False).random(POINTS) + 0.5 / POINTS
    df = np.array([n - 1, k - 1, (n - 1) * (k - 1)])
    return (chi2.ppf(points, df) / df).T
