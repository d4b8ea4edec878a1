"""Intervals for one, two or a few scores of the same thing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ordbridge.checks import choice, share, whole
from ordbridge.deprecated import renamed_arguments, warn_renamed
from ordbridge.errors import InputError

__all__ = ["ArfInterval", "TInterval", "arf_interval", "margins", "raters_needed", "t_interval", "verdict_rates"]

VERDICTS = ("PASS", "borderline PASS", "borderline FAIL", "FAIL")
MOST_RATERS = 10_000_000


@dataclass(frozen=True)
class ArfInterval:
    """Interval from one observation and one prior value: ``centre ± margin``, clamped to the scale."""

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

    def __getattr__(self, name: str) -> Any:
        """Find old names of the attributes, for one release."""
        return _old_attribute(self, name)


@dataclass(frozen=True)
class TInterval:
    """Student's interval of a few scores, ``mean ± margin`` clamped to the scale, and the verdict on a threshold.

    ``relative_margin`` is the margin over the mean (``None`` for a mean that is not positive); ``agreement`` holds, for
    two positive scores, one minus their difference over the first and over the second.
    """

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

    def __getattr__(self, name: str) -> Any:
        """Find old names of the attributes, for one release."""
        return _old_attribute(self, name)


def _old_attribute(interval: Any, name: str) -> Any:
    new = {"low": "conf_low", "high": "conf_high", "level": "conf_level"}.get(name)
    kind = type(interval).__name__
    if new is None:
        raise AttributeError(f"{kind} has no attribute {name!r}")
    warn_renamed(f"{kind}.{name}", f"{kind}.{new}")
    return getattr(interval, new)


@renamed_arguments(level="conf_level")
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
    _finite(observation=observation, prior=prior)
    observation, prior = float(observation), float(prior)
    if not 0.5 <= conf_level < 1:
        raise InputError(
            f"conf_level={conf_level!r} must be at least 0.5 and below 1: one observation has no other interval"
        )
    choice("distribution", distribution, ("normal", "unimodal"))
    ends = _inside(scale, {"observation": observation, "prior": prior})
    if observation == prior:
        raise InputError(
            f"the observation equals the prior value ({prior:g}), so the interval would have no width: "
            "use a prior value that was not taken from the observation, or a second observation with t_interval"
        )
    alpha = 1 - conf_level
    k = _k_normal(alpha) if distribution == "normal" else _k_unimodal(alpha)
    centre, margin = (observation + prior) / 2, k * abs(observation - prior)
    low, high = _clamp(centre - margin, centre + margin, ends)
    return ArfInterval(low, high, centre, margin, k, float(observation), float(prior), conf_level, distribution, ends)


@renamed_arguments(level="conf_level")
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
    values = _scores(scores)
    if len(values) < 2:
        raise InputError(
            "Student's interval needs at least two scores; for one score use arf_interval with a prior value"
        )
    _finite(**{f"score {position}": value for position, value in enumerate(values, 1)})
    ends = _inside(scale, {f"score {position}": value for position, value in enumerate(values, 1)})
    sd = _spread(values)
    mean, n = float(values.mean()), len(values)
    t = _t_quantile(conf_level, n)
    margin = t * sd / math.sqrt(n)
    low, high = _clamp(mean - margin, mean + margin, ends)
    if threshold is not None:
        _finite(threshold=threshold)
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
        verdict=None if threshold is None else _verdict(low, mean, high, threshold),
        agreement=_agreement(values),
    )


@renamed_arguments(level="conf_level")
def raters_needed(
    scores: Sequence[float] | float | None = None,
    margin: float | None = None,
    conf_level: float = 0.8,
    *,
    sd: float | None = None,
    assurance: float | None = None,
) -> int:
    r"""Smallest number of raters whose interval is no wider than ± ``margin``, as expected or with assurance.

    As expected: the smallest n ≥ 2 with :math:`t_{\alpha/2,\,n-1}\, s/\sqrt n \le` margin, s being the standard
    deviation of ``scores`` (or ``sd``), taken as what further raters will show. They will show more about as often as
    less, so that the margin is reached about half of the time. With an assurance of 0.8 it is reached with a
    probability of 0.8: the standard deviation S of n new raters varies, and s of :math:`n_0` scores is itself only an
    estimate, :math:`S^2/s^2 \sim F(n-1, n_0-1)` (with ``sd``, which is taken as known,
    :math:`(n-1) S^2/\sigma^2 \sim \chi^2_{n-1}`).

    Parameters
    ----------
    scores
        Scores at hand, or a single number: their standard deviation.
    margin
        Half the width wanted.
    conf_level
        Confidence level.
    sd
        Standard deviation, instead of ``scores``.
    assurance
        Probability with which n new raters' interval has the margin; ``None`` for the plug-in number.

    References
    ----------
    Kupper, L. L., & Hafner, K. B. (1989). How appropriate are popular sample size formulas? American Statistician 43,
    101-105.

    Examples
    --------
    >>> raters_needed([76.85, 81.99], margin=3)
    4
    >>> raters_needed([76.85, 81.99, 79.1, 83.4], margin=3, assurance=0.8)
    7
    """
    spread = _given_spread(scores, sd)
    if margin is None or not (margin > 0 and math.isfinite(margin)):
        raise InputError(f"margin={margin!r} must be a positive number, in points of the scale")
    wanted = float(margin)
    n_scores = None if scores is None or isinstance(scores, (int, float, np.number)) else len(np.ravel(scores))

    def reached(n: int) -> bool:
        if assurance is None:
            return _margin_of(spread, conf_level, n) <= wanted
        return _chance_of_margin(spread, n_scores, wanted, conf_level, n) >= share("assurance", assurance)

    enough, too_few = 2, 1
    while not reached(enough):  # doubling, then halving: the margin falls with every rater
        too_few, enough = enough, 2 * enough
        if enough > MOST_RATERS:
            raise InputError(
                f"a margin of {wanted:g} would need more than {MOST_RATERS} raters"
                + ("" if assurance is None else ", because so few scores leave the spread open; get more scores first")
            )
    while enough - too_few > 1:
        middle = (enough + too_few) // 2
        too_few, enough = (too_few, middle) if reached(middle) else (middle, enough)
    return enough


def _chance_of_margin(spread: float, n_scores: int | None, margin: float, conf_level: float, n: int) -> float:
    """Return the probability that the interval of n new raters is no wider than the margin."""
    from scipy.stats import chi2, f

    ratio = (margin * math.sqrt(n) / (_t_quantile(conf_level, n) * spread)) ** 2
    if n_scores is None:
        return float(chi2.cdf((n - 1) * ratio, n - 1))
    return float(f.cdf(ratio, n - 1, n_scores - 1))


def verdict_rates(
    sd: float,
    threshold: float,
    raters: Sequence[int] | int = (2, 3, 4, 5),
    means: Sequence[float] | None = None,
    conf_level: float = 0.8,
    *,
    scale: tuple[float, float] | None = None,
    evaluations: int = 10_000,
    seed: int = 1,
) -> pa.Table:
    """Return how often a series of evaluations with few raters gives which verdict, by simulation.

    Each evaluation has so many raters, whose scores are normal around the true mean and clamped to the scale, and the
    verdict of :func:`t_interval`. Clear verdicts (PASS, FAIL) on the wrong side are ``wrong``; so are, in
    ``wrong_by_mean``, the borderline ones when they are taken as they stand.

    Parameters
    ----------
    sd
        Standard deviation of raters' scores of the same thing.
    threshold
        Lowest score that passes.
    raters
        Numbers of raters to compare.
    means
        True means; by default the threshold ± 0.5, 1 and 2 standard deviations.
    conf_level, scale
        As for :func:`t_interval`.
    evaluations, seed
        How many evaluations are simulated, and their seed.

    References
    ----------
    Gladkoff, S., Han, L., & Nenadic, G. (2023), who give the verdict of one evaluation.

    Examples
    --------
    >>> rates = verdict_rates(sd=3.6, threshold=80, raters=2, means=[78], evaluations=4000)
    >>> {name: round(rates[name][0].as_py(), 1) for name in ("PASS", "FAIL", "wrong", "wrong_by_mean")}
    {'PASS': 0.0, 'FAIL': 0.2, 'wrong': 0.0, 'wrong_by_mean': 0.2}
    """
    spread = _given_spread(None, sd)
    _finite(threshold=threshold)
    evaluations = whole("evaluations", evaluations, least=1)
    true = [threshold + step * spread for step in (-2, -1, -0.5, 0.5, 1, 2)] if means is None else list(means)
    rows = []
    for n in [raters] if isinstance(raters, int) else raters:
        n = whole("raters", n, least=2)
        for mean in true:
            rng = np.random.default_rng([seed, n])  # the same raters for every mean
            scores = mean + spread * rng.normal(size=(evaluations, n))
            if scale is not None:
                scores = np.clip(scores, *scale)
            centre = scores.mean(axis=1)
            half = _t_quantile(conf_level, n) * scores.std(axis=1, ddof=1) / math.sqrt(n)
            said = [_verdict(low, middle, high, threshold) for low, middle, high in zip(
                centre - half, centre, centre + half, strict=True)]  # fmt: skip
            share_of = {verdict: said.count(verdict) / evaluations for verdict in VERDICTS}
            passes = mean >= threshold
            wrong = share_of["FAIL" if passes else "PASS"]
            rows.append(
                {"raters": n, "mean": float(mean), **share_of, "wrong": wrong}
                | {"wrong_by_mean": wrong + share_of["borderline FAIL" if passes else "borderline PASS"]}
            )
    return pa.Table.from_pylist(rows)


@renamed_arguments(level="conf_level")
def margins(
    scores: Sequence[float] | float | None = None, conf_level: float = 0.8, up_to: int = 10, *, sd: float | None = None
) -> pa.Table:
    """Return how the margin shrinks with more raters: columns ``raters``, ``df``, ``t``, ``margin``.

    Examples
    --------
    >>> [round(m, 2) for m in margins([76.85, 81.99], conf_level=0.8, up_to=5)["margin"].to_pylist()]
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
            "t": [_t_quantile(conf_level, n) for n in raters],
            "margin": [_margin_of(spread, conf_level, n) for n in raters],
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


def _t_quantile(conf_level: float, n: int) -> float:
    from scipy.stats import t

    return float(t.ppf((1 + share("conf_level", conf_level)) / 2, n - 1))


def _margin_of(sd: float, conf_level: float, n: int) -> float:
    return _t_quantile(conf_level, n) * sd / math.sqrt(n)


def _given_spread(scores: Sequence[float] | float | None, sd: float | None) -> float:
    if (scores is None) == (sd is None):
        raise InputError("give either scores or their standard deviation sd")
    given = sd if scores is None else scores
    if not isinstance(given, (int, float, np.number)):
        values = _scores(given)
        _finite(**{f"score {position}": value for position, value in enumerate(values, 1)})
        if len(values) < 2:
            raise InputError("one score has no spread; give at least two scores, or their standard deviation sd")
        return _spread(values)
    if not (given > 0 and math.isfinite(given)):
        raise InputError(f"the standard deviation must be a positive number, not {given:g}")
    return float(given)


def _scores(given: Any) -> np.ndarray:
    """Return the scores as floats, in one row."""
    try:
        values = np.asarray(given)
        if values.dtype.kind in "cmM":  # which numpy would turn into some number
            raise TypeError
        return values.astype(float).ravel()
    except (TypeError, ValueError, OverflowError):
        raise InputError("the scores are not all numbers; give one number for each score") from None


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
        try:
            finite = math.isfinite(value)
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"the {name} is {value!r}; give a number") from None
        if not finite:
            raise InputError(f"the {name} is {value}; give a finite number")


def _inside(scale: Sequence[float] | None, numbers: dict[str, float]) -> tuple[float, float] | None:
    """Return the ends of the scale as floats, refusing numbers outside of it."""
    if scale is None:
        return None
    try:
        low, high = (float(end) for end in scale)
    except (TypeError, ValueError, OverflowError):
        low, high = math.nan, math.nan
    if not low < high:
        raise InputError(f"scale={scale!r} must be (lowest, highest), two numbers")
    for name, value in numbers.items():
        if not low <= value <= high:
            raise InputError(f"the {name}, {value:g}, is outside the scale {low:g} to {high:g}; set scale to fit it")
    return low, high


def _clamp(low: float, high: float, ends: tuple[float, float] | None) -> tuple[float, float]:
    return (low, high) if ends is None else (max(low, ends[0]), min(high, ends[1]))
