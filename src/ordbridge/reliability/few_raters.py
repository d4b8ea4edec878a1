"""How many raters an interval of their scores needs, and which verdicts few of them give."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from ordbridge.errors import InputError
from ordbridge.reliability.intervals import TInterval, t_interval
from ordbridge.reliability.scores import as_scores, finite, spread_of, t_quantile, verdict_on
from ordbridge.render.layout import ShownTable
from ordbridge.results import Finding, Result, found
from ordbridge.support.arguments import proportion, whole
from ordbridge.support.naming import arg

VERDICTS = ("PASS", "borderline PASS", "borderline FAIL", "FAIL")
MOST_RATERS = 10_000_000


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
        The scores that there are, or a single number: their standard deviation.
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
        raise InputError(f"{arg('margin', margin)} must be a positive number, in points of the scale")
    wanted = float(margin)
    n_scores = None if scores is None or isinstance(scores, (int, float, np.number)) else len(np.ravel(scores))

    def reached(n: int) -> bool:
        if assurance is None:
            return _margin_of(spread, conf_level, n) <= wanted
        return _chance_of_margin(spread, n_scores, wanted, conf_level, n) >= proportion("assurance", assurance)

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

    ratio = (margin * math.sqrt(n) / (t_quantile(conf_level, n) * spread)) ** 2
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
    verdict of :func:`ordbridge.reliability.t_interval`. Clear verdicts (PASS, FAIL) on the wrong side are ``wrong``;
    so are, in ``wrong_by_mean``, the borderline ones when they are taken as they stand.

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
        As for :func:`ordbridge.reliability.t_interval`.
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
    finite(threshold=threshold)
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
            half = t_quantile(conf_level, n) * scores.std(axis=1, ddof=1) / math.sqrt(n)
            said = [verdict_on(low, middle, high, threshold) for low, middle, high in zip(
                centre - half, centre, centre + half, strict=True)]  # fmt: skip
            share_of = {verdict: said.count(verdict) / evaluations for verdict in VERDICTS}
            passes = mean >= threshold
            wrong = share_of["FAIL" if passes else "PASS"]
            rows.append(
                {"raters": n, "mean": float(mean), **share_of, "wrong": wrong}
                | {"wrong_by_mean": wrong + share_of["borderline FAIL" if passes else "borderline PASS"]}
            )
    return pa.Table.from_pylist(rows)


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
        raise InputError(f"{arg('up_to', up_to)} must be at least 2 raters")
    raters = list(range(2, int(up_to) + 1))
    return pa.table(
        {
            "raters": raters,
            "df": [n - 1 for n in raters],
            "t": [t_quantile(conf_level, n) for n in raters],
            "margin": [_margin_of(spread, conf_level, n) for n in raters],
        }
    )


def _margin_of(sd: float, conf_level: float, n: int) -> float:
    return t_quantile(conf_level, n) * sd / math.sqrt(n)


def _given_spread(scores: Sequence[float] | float | None, sd: float | None) -> float:
    if (scores is None) == (sd is None):
        raise InputError("give either scores or their standard deviation sd")
    given = sd if scores is None else scores
    if not isinstance(given, (int, float, np.number)):
        values = as_scores(given)
        finite(**{f"score {position}": value for position, value in enumerate(values, 1)})
        if len(values) < 2:
            raise InputError("one score has no spread; give at least two scores, or their standard deviation sd")
        return spread_of(values)
    if not (given > 0 and math.isfinite(given)):
        raise InputError(f"the standard deviation must be a positive number, not {given:g}")
    return float(given)


@dataclass(frozen=True, repr=False)
class FewScores(Result):
    """Student's interval of a few scores, and what more raters would give; see :func:`few_scores`.

    Attributes
    ----------
    interval
        The interval of these scores.
    margins
        How the margin shrinks with more raters.
    rates
        Verdicts on the threshold in a series of simulated evaluations; ``None`` without a threshold.
    """

    kind: ClassVar[str] = "few-scores"
    title = "How sure is a mean of few scores?"
    interval: TInterval
    margins: pa.Table
    rates: pa.Table | None = None
    findings: tuple[Finding, ...] = ()

    @property
    def answer(self) -> str:  # type: ignore[override]
        """The interval, and the verdict on the threshold."""
        return self.interval.answer

    @property
    def counted(self) -> str:  # type: ignore[override]
        """What the interval is made of."""
        return self.interval.counted

    @property
    def tables(self) -> dict[str, pa.Table]:
        """The interval, margins and rates."""
        own = {**self.interval.tables, "margins": self.margins}
        return own if self.rates is None else own | {"rates": self.rates}

    def main(self) -> Sequence[ShownTable]:
        """Return margins, and rates of verdicts."""
        found = [ShownTable(self.margins, "Margin with more raters")]
        if self.rates is not None:
            sd = self.interval.sd
            found.append(
                ShownTable(self.rates, f"Verdicts in a series of simulated evaluations (standard deviation {sd:.2f})")
            )
        return found


def few_scores(
    scores: Sequence[float],
    conf_level: float = 0.8,
    scale: tuple[float, float] | None = None,
    threshold: float | None = None,
    *,
    margin: float | None = None,
    assurance: float = 0.8,
) -> FewScores:
    """Return the interval of a few scores, and what more raters would give.

    Parameters
    ----------
    scores, conf_level, scale, threshold
        See :func:`ordbridge.reliability.t_interval`.
    margin, assurance
        See :func:`raters_needed`.

    Examples
    --------
    >>> few_scores([76.85, 81.99], margin=3).findings[0].text
    'A margin of 3 needs 4 raters, if others differ as much as these.'
    """
    interval = t_interval(scores, conf_level, scale, threshold)
    noticed = []
    if margin is not None:
        noticed.append(found("raters-for-margin", margin=margin, n=raters_needed(scores, margin, conf_level)))
        try:
            n = raters_needed(scores, margin, conf_level, assurance=assurance)
            noticed.append(found("raters-for-sure-margin", assurance=assurance, margin=margin, n=n))
        except InputError as reason:
            noticed.append(found("no-sure-margin", assurance=assurance, text=str(reason)))
    rates = None
    if threshold is not None:
        sizes = sorted({interval.n, 2, 3, 5})
        rates = verdict_rates(interval.sd, threshold, sizes, scale=scale, conf_level=conf_level)
    return FewScores(interval, margins(scores, conf_level), rates, tuple(noticed))
