"""A few scores of the same thing: as numbers, their spread, Student's quantile, the verdict on a threshold."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ordbridge.errors import InputError
from ordbridge.support.arguments import proportion


def as_scores(given: Any) -> np.ndarray:
    """Return the scores as floats, in one row."""
    try:
        values = np.asarray(given)
        if values.dtype.kind in "cmM":  # which numpy would turn into some number
            raise TypeError
        return values.astype(float).ravel()
    except (TypeError, ValueError, OverflowError):
        raise InputError("the scores are not all numbers; give one number for each score") from None


def finite(**numbers: float) -> None:
    """Refuse what is not a finite number, by its name."""
    for name, value in numbers.items():
        try:
            finite = math.isfinite(value)
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"the {name} is {value!r}; give a number") from None
        if not finite:
            raise InputError(f"the {name} is {value}; give a finite number")


def spread_of(values: np.ndarray) -> float:
    """Return the standard deviation of scores, of which some must differ."""
    sd = float(values.std(ddof=1))
    if sd == 0:
        raise InputError(
            f"all {len(values)} scores are {values[0]:g}: without any spread the interval would have no width. "
            "So few scores cannot give that certainty; add raters"
        )
    return sd


def t_quantile(conf_level: float, n: int) -> float:
    """Return Student's quantile for the interval of n scores."""
    from scipy.stats import t

    return float(t.ppf((1 + proportion("conf_level", conf_level)) / 2, n - 1))


def verdict_on(low: float, mean: float, high: float, threshold: float) -> str:
    """Return the verdict of an interval on a threshold."""
    if low >= threshold:
        return "PASS"
    if high < threshold:
        return "FAIL"
    return "borderline PASS" if mean >= threshold else "borderline FAIL"
