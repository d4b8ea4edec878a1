"""Intervals for one, two or a few scores of the same thing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from ordbridge.errors import InputError
from ordbridge.reliability.scores import as_scores, finite, spread_of, t_quantile, verdict_on
from ordbridge.results import Result
from ordbridge.support.arguments import choice
from ordbridge.support.formatting import interval_text
from ordbridge.support.naming import arg


@dataclass(frozen=True, repr=False)
class ArfInterval(Result):
    """Interval from one observation and one prior value: ``centre ± margin``, clamped to the scale."""

    kind: ClassVar[str] = "interval"
    title = "How sure is one score?"
    conf_low: float
    conf_high: float
    centre: float
    margin: float
    k: float
    observation: float
    prior: float
    conf_level: float
    distribution: str
    scale: tuple[float, float] | None

    @property
    def answer(self) -> str:  # type: ignore[override]
        """The interval."""
        ends = interval_text(vars(self), self.conf_level, "{:.2f}".format)
        return f"{ends}, from one score of {self.observation:g} and a prior value of {self.prior:g}."

    @property
    def counted(self) -> str:  # type: ignore[override]
        """What it is made of."""
        return (
            f"Centre {self.centre:.2f}, margin {self.margin:.2f}, k = {self.k:.4f} ({self.distribution} distribution), "
            f"{_clamped(self.scale)}."
        )

    @property
    def tables(self) -> dict[str, pa.Table]:
        """The interval as a table."""
        return {"interval": _as_table(self)}


@dataclass(frozen=True, repr=False)
class TInterval(Result):
    """Student's interval of a few scores, ``mean ± margin`` clamped to the scale, and the verdict on a threshold.

    ``relative_margin`` is the margin over the mean (``None`` for a mean that is not positive); ``agreement`` holds, for
    two positive scores, one minus their difference over the first and over the second.
    """

    kind: ClassVar[str] = "interval"
    title = "How sure is a mean of few scores?"
    conf_low: float
    conf_high: float
    mean: float
    sd: float
    margin: float
    relative_margin: float | None
    t: float
    df: int
    n: int
    conf_level: float
    scale: tuple[float, float] | None
    threshold: float | None
    verdict: str | None
    agreement: tuple[float, float] | None

    @property
    def answer(self) -> str:  # type: ignore[override]
        """The interval, and the verdict on the threshold."""
        ends = interval_text(vars(self), self.conf_level, "{:.2f}".format)
        verdict = f"\nVerdict at {self.threshold:g}: {self.verdict}." if self.verdict else ""
        return f"The mean is {self.mean:.2f} ({ends}).{verdict}"

    @property
    def counted(self) -> str:  # type: ignore[override]
        """What it is made of."""
        relative = "" if self.relative_margin is None else f" ({self.relative_margin:.2%} of the mean)"
        both = ""
        if self.agreement:
            both = " The two scores agree to {:.1%} of the first, {:.1%} of the second.".format(*self.agreement)
        return (
            f"{self.n} scores, standard deviation {self.sd:.4f}, margin {self.margin:.2f}{relative}, t = {self.t:.4f} "
            f"({self.df} df), {_clamped(self.scale)}.{both}"
        )

    @property
    def tables(self) -> dict[str, pa.Table]:
        """The interval as a table."""
        return {"interval": _as_table(self)}


def _clamped(scale: tuple[float, float] | None) -> str:
    return "not clamped to a scale" if scale is None else f"clamped to the scale {scale[0]:g} to {scale[1]:g}"


def _as_table(interval: ArfInterval | TInterval) -> pa.Table:
    row = {name: list(value) if isinstance(value, tuple) else value for name, value in vars(interval).items()}
    return pa.Table.from_pylist([row])


def arf_interval(
    observation: float,
    prior: float,
    conf_level: float = 0.8,
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
    conf_level
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
    >>> interval = arf_interval(85.2, prior=96.3, conf_level=0.8)
    >>> round(interval.conf_low, 2), interval.conf_high, round(interval.k, 4)
    (65.08, 100.0, 2.3125)
    """
    finite(observation=observation, prior=prior)
    observation, prior = float(observation), float(prior)
    if not 0.5 <= conf_level < 1:
        raise InputError(
            f"{arg('conf_level', conf_level)} must be at least 0.5 and below 1: one observation has no other interval"
        )
    choice("distribution", distribution, ("normal", "unimodal"))
    ends = _inside(scale, {"observation": observation, "prior": prior})
    if observation == prior:
        raise InputError(
            f"the observation equals the prior value ({prior:g}), so the interval would have no width. "
            "Use a prior value that was not taken from the observation, or a second observation with t_interval"
        )
    alpha = 1 - conf_level
    k = _k_normal(alpha) if distribution == "normal" else _k_unimodal(alpha)
    centre, margin = (observation + prior) / 2, k * abs(observation - prior)
    low, high = _clamp(centre - margin, centre + margin, ends)
    return ArfInterval(low, high, centre, margin, k, float(observation), float(prior), conf_level, distribution, ends)


def t_interval(
    scores: Sequence[float],
    conf_level: float = 0.8,
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
    conf_level
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
    >>> interval = t_interval([76.85, 81.99], conf_level=0.8, scale=(0, 100), threshold=80)
    >>> round(interval.conf_low, 2), round(interval.conf_high, 2), interval.verdict
    (71.51, 87.33, 'borderline FAIL')
    """
    values = as_scores(scores)
    if len(values) < 2:
        raise InputError(
            "Student's interval needs at least two scores; for one score use arf_interval with a prior value"
        )
    finite(**{f"score {position}": value for position, value in enumerate(values, 1)})
    ends = _inside(scale, {f"score {position}": value for position, value in enumerate(values, 1)})
    sd = spread_of(values)
    mean, n = float(values.mean()), len(values)
    t = t_quantile(conf_level, n)
    margin = t * sd / math.sqrt(n)
    low, high = _clamp(mean - margin, mean + margin, ends)
    if threshold is not None:
        finite(threshold=threshold)
        _inside(scale, {"threshold": threshold})
    return TInterval(
        conf_low=low,
        conf_high=high,
        mean=mean,
        sd=sd,
        margin=margin,
        relative_margin=margin / mean if mean > 0 else None,
        t=t,
        df=n - 1,
        n=n,
        conf_level=conf_level,
        scale=ends,
        threshold=threshold,
        verdict=None if threshold is None else verdict_on(low, mean, high, threshold),
        agreement=_agreement(values),
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


def _agreement(values: np.ndarray) -> tuple[float, float] | None:
    if len(values) != 2 or values.min() <= 0:
        return None
    difference = abs(values[0] - values[1])
    return float(1 - difference / values[0]), float(1 - difference / values[1])


def _inside(scale: Sequence[float] | None, numbers: dict[str, float]) -> tuple[float, float] | None:
    """Return the ends of the scale as floats, refusing numbers outside of it."""
    if scale is None:
        return None
    try:
        low, high = (float(end) for end in scale)
    except (TypeError, ValueError, OverflowError):
        low, high = math.nan, math.nan
    if not low < high:
        raise InputError(f"{arg('scale', scale)} must be (lowest, highest), two numbers")
    for name, value in numbers.items():
        if not low <= value <= high:
            raise InputError(f"the {name}, {value:g}, is outside the scale {low:g} to {high:g}; set scale to fit it")
    return low, high


def _clamp(low: float, high: float, ends: tuple[float, float] | None) -> tuple[float, float]:
    return (low, high) if ends is None else (max(low, ends[0]), min(high, ends[1]))
