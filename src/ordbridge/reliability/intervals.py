"""Intervals for one, two or a few scores of the same thing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ordbridge.errors import InputError

__all__ = ["ArfInterval", "TInterval", "arf_interval", "margins", "raters_needed", "t_interval"]


@dataclass(frozen=True)
class ArfInterval:
    """Interval from one observation and one prior value: ``centre ± margin``, clamped to the scale."""

    low: float
    high: float
    centre: float
    margin: float
    k: float
    observation: float
    prior: float
    level: float
    distribution: str
    scale: tuple[float, float] | None


@dataclass(frozen=True)
class TInterval:
    """Student's interval of a few scores, ``mean ± margin`` clamped to the scale, and the verdict on a threshold.

    ``relative_margin`` is the margin over the mean (``None`` for a mean that is not positive); ``agreement`` holds, for
    two positive scores, one minus their difference over the first and over the second.
    """

    low: float
    high: float
    mean: float
    sd: float
    margin: float
    relative_margin: float | None
    t: float
    df: int
    n: int
    level: float
    scale: tuple[float, float] | None
    threshold: float | None
    verdict: str | None
    agreement: tuple[float, float] | None


def arf_interval(
    observation: float,
    prior: float,
    level: float = 0.8,
    distribution: str = "normal",
    scale: tuple[float, float] | None = (0, 100),
) -> ArfInterval:
    r"""Interval for a mean from a single observation: :math:`(y + \mu_0)/2 \pm k\,|y - \mu_0|`.

    The prior value μ0 must have been fixed before and without the observation; the interval is narrow when both agree.
    With α = 1 − level, k is solved, not looked up:

    * ``"normal"``: with :math:`r = (2k-1)/(2k+1)`, the solution of
      :math:`\max_\delta \Phi(\delta/r) - \Phi(\delta r) = \alpha`, whose maximum is at
      :math:`\delta^2 = 4 \ln(1/r) / (r^{-2} - r^2)`.
    * ``"unimodal"``: :math:`k = (1 - \alpha + \sqrt{1 - 2\alpha}) / (2\alpha)`. The paper calls it the interval for
      an unknown distribution; it is exact for symmetric unimodal ones (a uniform distribution attains it) and does
      not hold for arbitrary ones: a symmetric two-point distribution can be missed half of the time.

    Parameters
    ----------
    observation, prior
        The score, and the value known before it.
    level
        Confidence level, from 0.5 up to but not including 1.
    distribution
        ``"normal"`` or ``"unimodal"``.
    scale
        Ends of the scale, to which the interval is clamped; ``None`` for no clamping.

    Returns
    -------
    ArfInterval

    References
    ----------
    Abbott, J. H., & Rosenblatt, J. (1962). Two stage estimation with one observation on the first stage. Annals of the
    Institute of Statistical Mathematics 14, 229-235; Furnival, G. M., Gregoire, T. G., & Valentine, H. T. (1989);
    Gladkoff, S., Han, L., & Nenadic, G. (2023). Student's t-distribution: on measuring the inter-rater reliability
    when the observations are scarce.

    Examples
    --------
    >>> interval = arf_interval(85.2, prior=96.3, level=0.8)
    >>> round(interval.low, 2), interval.high, round(interval.k, 4)
    (65.08, 100.0, 2.3125)
    """
    _finite(observation=observation, prior=prior)
    if not 0.5 <= level < 1:
        raise InputError(f"level={level!r} must be at least 0.5 and below 1: one observation carries no other interval")
    if distribution not in ("normal", "unimodal"):
        raise InputError(f"distribution={distribution!r} is not known; use 'normal' or 'unimodal'")
    ends = _inside(scale, {"observation": observation, "prior": prior})
    if observation == prior:
        raise InputError(
            f"the observation equals the prior value ({prior:g}), so the interval would have no width: "
            "use a prior value that was not taken from the observation, or a second observation with t_interval"
        )
    alpha = 1 - level
    k = _k_normal(alpha) if distribution == "normal" else _k_unimodal(alpha)
    centre, margin = (observation + prior) / 2, k * abs(observation - prior)
    low, high = _clamp(centre - margin, centre + margin, ends)
    return ArfInterval(low, high, centre, margin, k, float(observation), float(prior), level, distribution, ends)


def t_interval(
    scores: Sequence[float],
    level: float = 0.8,
    scale: tuple[float, float] | None = None,
    threshold: float | None = None,
) -> TInterval:
    r"""Student's interval of two or more scores: :math:`\bar x \pm t_{\alpha/2,\,n-1}\, s/\sqrt n`.

    With a threshold the verdict is PASS or FAIL when the whole interval lies on one side of it, and borderline PASS or
    borderline FAIL, after the mean, when the interval contains it.

    Parameters
    ----------
    scores
        Scores that different raters gave the same thing.
    level
        Confidence level.
    scale
        Ends of the scale, to which the interval is clamped.
    threshold
        Lowest score that passes.

    Returns
    -------
    TInterval

    References
    ----------
    Student (1908). The probable error of a mean. Biometrika 6, 1-25; Gladkoff, Han & Nenadic (2023).

    Examples
    --------
    >>> interval = t_interval([76.85, 81.99], level=0.8, scale=(0, 100), threshold=80)
    >>> round(interval.low, 2), round(interval.high, 2), interval.verdict
    (71.51, 87.33, 'borderline FAIL')
    """
    values = np.asarray(scores, dtype=float).ravel()
    if len(values) < 2:
        raise InputError(
            "Student's interval needs at least two scores; for one score use arf_interval with a prior value"
        )
    _finite(**{f"score {position}": value for position, value in enumerate(values, 1)})
    ends = _inside(scale, {f"score {position}": value for position, value in enumerate(values, 1)})
    sd = _spread(values)
    mean, n = float(values.mean()), len(values)
    t = _t_quantile(level, n)
    margin = t * sd / math.sqrt(n)
    low, high = _clamp(mean - margin, mean + margin, ends)
    if threshold is not None:
        _finite(threshold=threshold)
        _inside(scale, {"threshold": threshold})
    return TInterval(
        low=low,
        high=high,
        mean=mean,
        sd=sd,
        margin=margin,
        relative_margin=margin / mean if mean > 0 else None,
        t=t,
        df=n - 1,
        n=n,
        level=level,
        scale=ends,
        threshold=threshold,
        verdict=None if threshold is None else _verdict(low, mean, high, threshold),
        agreement=_agreement(values),
    )


def raters_needed(
    scores: Sequence[float] | float | None = None,
    margin: float | None = None,
    level: float = 0.8,
    *,
    sd: float | None = None,
) -> int:
    r"""Smallest number of raters whose interval is expected to be no wider than ± ``margin``.

    The smallest n ≥ 2 with :math:`t_{\alpha/2,\,n-1}\, s/\sqrt n \le` margin, s being the standard deviation of
    ``scores`` (or ``sd``), taken as what further raters will show.

    Parameters
    ----------
    scores
        Scores at hand, or a single number: their standard deviation.
    margin
        Half the width wanted.
    level
        Confidence level.
    sd
        Standard deviation, instead of ``scores``.

    Examples
    --------
    >>> raters_needed([76.85, 81.99], margin=3, level=0.8)
    4
    >>> raters_needed(sd=3.6345, margin=3, level=0.8)
    4
    """
    spread = _given_spread(scores, sd)
    if margin is None or not (margin > 0 and math.isfinite(margin)):
        raise InputError(f"margin={margin!r} must be a positive number, in points of the scale")
    enough, too_few = 2, 1
    while _margin_of(spread, level, enough) > margin:  # doubling, then halving: the margin falls with every rater
        too_few, enough = enough, 2 * enough
    while enough - too_few > 1:
        middle = (enough + too_few) // 2
        too_few, enough = (middle, enough) if _margin_of(spread, level, middle) > margin else (too_few, middle)
    return enough


def margins(
    scores: Sequence[float] | float | None = None, level: float = 0.8, up_to: int = 10, *, sd: float | None = None
) -> pa.Table:
    """Return how the margin shrinks with more raters: columns ``raters``, ``df``, ``t``, ``margin``.

    Examples
    --------
    >>> [round(m, 2) for m in margins([76.85, 81.99], level=0.8, up_to=5)["margin"].to_pylist()]
    [7.91, 3.96, 2.98, 2.49]
    """
    spread = _given_spread(scores, sd)
    if up_to < 2:
        raise InputError(f"up_to={up_to!r} must be at least 2 raters")
    raters = list(range(2, int(up_to) + 1))
    return pa.table(
        {
            "raters": raters,
            "df": [n - 1 for n in raters],
            "t": [_t_quantile(level, n) for n in raters],
            "margin": [_margin_of(spread, level, n) for n in raters],
        }
    )


def _k_unimodal(alpha: float) -> float:
    return (1 - alpha + math.sqrt(max(1 - 2 * alpha, 0))) / (2 * alpha)


def _k_normal(alpha: float) -> float:
    from scipy.optimize import brentq
    from scipy.stats import norm

    if alpha > 0.5 - 1e-9:  # the limit: r = 0
        return 0.5

    def largest_miss(r: float) -> float:
        delta = math.sqrt(4 * math.log(1 / r) / (r**-2 - r**2))
        return float(norm.cdf(delta / r) - norm.cdf(delta * r))

    r = brentq(lambda r: largest_miss(r) - alpha, 1e-9, 1 - 1e-9, xtol=1e-15, rtol=1e-14)
    return float((1 + r) / (2 * (1 - r)))


def _t_quantile(level: float, n: int) -> float:
    from scipy.stats import t

    if not 0 < level < 1:
        raise InputError(f"level={level!r} must lie between 0 and 1, as 0.8 does")
    return float(t.ppf((1 + level) / 2, n - 1))


def _margin_of(sd: float, level: float, n: int) -> float:
    return _t_quantile(level, n) * sd / math.sqrt(n)


def _given_spread(scores: Sequence[float] | float | None, sd: float | None) -> float:
    if (scores is None) == (sd is None):
        raise InputError("give either scores or their standard deviation sd")
    given = sd if scores is None else scores
    if not isinstance(given, (int, float, np.number)):
        values = np.asarray(given, dtype=float).ravel()
        if len(values) < 2:
            raise InputError("one score has no spread; give at least two scores, or their standard deviation sd")
        return _spread(values)
    if not (given > 0 and math.isfinite(given)):
        raise InputError(f"the standard deviation must be a positive number, not {given:g}")
    return float(given)


def _spread(values: np.ndarray) -> float:
    sd = float(values.std(ddof=1))
    if sd == 0:
        raise InputError(
            f"all {len(values)} scores are {values[0]:g}: without any spread the interval would have no width and "
            "claim a certainty that so few scores cannot have; add raters"
        )
    return sd


def _verdict(low: float, mean: float, high: float, threshold: float) -> str:
    if low >= threshold:
        return "PASS"
    if high < threshold:
        return "FAIL"
    return "borderline PASS" if mean >= threshold else "borderline FAIL"


def _agreement(values: np.ndarray) -> tuple[float, float] | None:
    if len(values) != 2 or values.min() <= 0:
        return None
    difference = abs(values[0] - values[1])
    return float(1 - difference / values[0]), float(1 - difference / values[1])


def _finite(**numbers: float) -> None:
    for name, value in numbers.items():
        if not math.isfinite(value):
            raise InputError(f"the {name} is {value}; give a finite number")


def _inside(scale: Sequence[float] | None, numbers: dict[str, float]) -> tuple[float, float] | None:
    """Return the ends of the scale as floats, refusing numbers outside of it."""
    if scale is None:
        return None
    if len(scale) != 2 or not scale[0] < scale[1]:
        raise InputError(f"scale={tuple(scale)!r} must be (lowest, highest)")
    low, high = float(scale[0]), float(scale[1])
    for name, value in numbers.items():
        if not low <= value <= high:
            raise InputError(f"the {name}, {value:g}, is outside the scale {low:g} to {high:g}; set scale to fit it")
    return low, high


def _clamp(low: float, high: float, ends: tuple[float, float] | None) -> tuple[float, float]:
    return (low, high) if ends is None else (max(low, ends[0]), min(high, ends[1]))
