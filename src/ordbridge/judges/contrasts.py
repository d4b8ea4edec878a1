"""A mean of a system, or a difference of two, by people alone and by people and a judge together.

Every rating and every text adds something to it, so that for any weight of the judge its variance follows from sums of
squares over clusters of texts and over people.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ordbridge.judges.crossed import Crossed, Spread
from ordbridge.judges.judged import Judged


@dataclass(frozen=True)
class Contrast:
    """A weighted sum of systems' means: with and without the judge.

    ``error`` is the standard error with the judge, ``df`` its degrees of freedom; ``variance`` is that of people alone,
    and ``explained`` the share of it that the judge's ratings of the same texts explain (a squared correlation).
    """

    row: dict[str, Any]
    error: float
    df: float
    variance: float
    explained: float
    n: int
    clusters: int

    def p_value(self, difference: float) -> float | None:
        """Return the p-value of a difference from what is tested; none where the ratings do not vary."""
        from scipy.stats import t

        return float(2 * t.sf(abs(difference) / self.error, self.df)) if self.error > 0 else None


def contrast(
    read: Judged, weights: dict[str, float], values: Mapping[str, np.ndarray], random: bool, conf_level: float
) -> Contrast:
    """Return a weighted sum of the means of systems, by people alone and with the judge."""
    from scipy.stats import norm, t

    parts = _Parts(read, weights, values)
    independent = parts.independent
    lam = parts.published_weight() if independent else parts.tuned_weight(random)
    spreads = [parts.spread(weight, random) for weight in (0.0, lam)]
    rounding = 1e-20 * float((parts.y**2).max())
    variances = [spread.variance if spread.variance > rounding else 0.0 for spread in spreads]
    dfs = [spread.df for spread in spreads]
    scales = [float(norm.ppf((1 + conf_level) / 2) if independent else t.ppf((1 + conf_level) / 2, df)) for df in dfs]
    errors = [float(np.sqrt(variance)) for variance in variances]
    if not independent and scales[1] * errors[1] >= scales[0] * errors[0]:
        lam, variances[1], scales[1], errors[1], dfs[1] = 0.0, variances[0], scales[0], errors[0], dfs[0]
    (alone, together), estimates = variances, (parts.estimate(0.0), parts.estimate(lam))
    row: dict[str, Any] = {
        "estimate": estimates[1],
        "conf_low": estimates[1] - scales[1] * errors[1],
        "conf_high": estimates[1] + scales[1] * errors[1],
        "people_only": estimates[0],
        "people_low": estimates[0] - scales[0] * errors[0],
        "people_high": estimates[0] + scales[0] * errors[0],
        "weight": lam,
        "gain": alone / together if together > 0 else 1.0,
        "n_people": parts.n_people,
        "n_judge": parts.n_judge,
    }
    if alone <= 0:  # all ratings are equal: nothing is known about how much they vary
        row |= dict.fromkeys(("conf_low", "conf_high", "people_low", "people_high"))
    return Contrast(
        row, errors[1], np.inf if independent else dfs[1], alone, parts.explained(), parts.n_people, parts.clusters
    )


class _Parts:
    """What each rating and each text adds to the contrast, so that its variance for any λ is a sum of squares."""

    def __init__(self, read: Judged, weights: dict[str, float], values: Mapping[str, np.ndarray]) -> None:
        humans, number = read.humans, read.humans.per_item
        names = list(weights)
        known, place = np.unique(read.system_of.astype(str), return_inverse=True)
        self.at = np.array([names.index(name) if name in names else -1 for name in known])[place]  # of each text
        weight = np.array([weights[name] for name in names])[self.at]
        table = np.array([values[name] for name in names])
        mine, judged = self.at >= 0, read.judge_code >= 0
        self.f = np.where(judged, table[self.at, read.judge_code], 0.0)
        both = mine & judged & (number > 0)
        only_judge = mine & judged & (number == 0)
        n, N = (np.bincount(self.at[kept], minlength=len(names)) for kept in (both, only_judge))
        self.rows = np.flatnonzero(both[humans.row])
        text = humans.row[self.rows]
        self.text, self.rater = text, humans.column[self.rows]
        self.share = weight[text] / n[self.at[text]] / number[text]  # of each rating
        self.y = table[self.at[text], humans.code[self.rows]]
        self.others = np.flatnonzero(only_judge)
        self.others_share = weight[self.others] / N[self.at[self.others]]
        self.used = bool(N.all())  # without texts for the judge alone there is nothing to gain
        self.cluster = read.cluster
        self.n_people, self.n_judge = int(both.sum()), int(only_judge.sum())
        self.clusters = len(np.unique(self.cluster[text]))
        self.systems = len(names)

    @cached_property
    def _crossed(self) -> Crossed:
        return Crossed(np.abs(self.share), self.cluster[self.text], self.rater)

    @cached_property
    def independent(self) -> bool:
        """Whether this is one mean of texts of different items, with one rating each, by one person or by many."""
        people = len(np.unique(self.rater))
        alone = self.systems == 1 and len(self.text) == self.n_people
        everything = np.concatenate([self.text, self.others])
        separate = len(np.unique(self.cluster[everything])) == len(everything)
        return alone and separate and people in (1, len(self.text))

    @cached_property
    def _groups(self) -> np.ndarray:
        """The cluster of each rating and then of each text that only the judge rated, numbered without gaps."""
        return np.unique(self.cluster[np.concatenate([self.text, self.others])], return_inverse=True)[1]

    def estimate(self, lam: float) -> float:
        people = (self.share * (self.y - lam * self.f[self.text])).sum()
        return float(people + lam * (self.others_share * self.f[self.others]).sum())

    def spread(self, lam: float, random: bool) -> Spread:
        """Return the variance: over clusters of texts and, if people are a sample, over people as well."""
        rest = self.y - lam * self.f[self.text]
        inside = self.share * (rest - self._centres(rest, self.text, np.abs(self.share))[self.at[self.text]])
        g = max(self.clusters, 2)
        if self.independent:
            variance = float((inside**2).sum() + (self._judge_only(lam) if self.used else 0.0))
            return Spread(variance, g - 1.0, variance)
        over_clusters, of_judge = self._over_clusters(lam, inside)
        if not random:
            return Spread(over_clusters, g - 1.0, over_clusters)
        crossed = self._crossed.spread(inside)
        variance, unbounded = max(crossed.variance + of_judge, over_clusters), crossed.unbounded + of_judge
        if variance <= 0:
            return Spread(0.0, g - 1.0, unbounded)
        # The judge's own texts add to the part of the clusters, and are not fewer than those that people rated.
        uncertain = crossed.variance**2 / crossed.df + of_judge**2 / (g - 1)
        return Spread(variance, max(variance**2 / uncertain, 1.0) if uncertain > 0 else g - 1.0, unbounded)

    def _over_clusters(self, lam: float, inside: np.ndarray) -> tuple[float, float]:
        """Return the variance over clusters alone, and how much of it the texts are that only the judge rated."""
        outside = np.zeros(len(self.others))
        if self.used:
            f = self.f[self.others]
            centre = self._centres(f, self.others, np.abs(self.others_share))[self.at[self.others]]
            outside = lam * self.others_share * (f - centre)
        g = max(self.clusters, 2)
        both = np.bincount(self._groups, np.concatenate([inside, outside]))
        people = np.bincount(self._groups[: len(inside)], inside)
        total, alone = (g / (g - 1) * float((sums**2).sum()) for sums in (both, people))
        return total, total - alone

    def _judge_only(self, lam: float) -> float:
        f = self.f[self.others]
        return float(lam**2 * f.var() / len(f)) if len(f) else 0.0

    def _centres(self, values: np.ndarray, texts: np.ndarray, share: np.ndarray) -> np.ndarray:
        """Return the mean of each system, every text counted once."""
        at, size = self.at[texts], self.systems
        return np.bincount(at, share * values, minlength=size) / np.maximum(
            np.bincount(at, share, minlength=size), 1e-300
        )

    def published_weight(self) -> float:
        """Return λ as PPI++ tunes it: covariance over (1 + n/N) times the variance, between 0 and 1."""
        n, N = self.n_people, self.n_judge
        if not N or n < 2:
            return 0.0
        f = self.f[self.text]
        everything = np.concatenate([f, self.f[self.others]])
        spread = everything.var(ddof=1)
        covariance = ((self.y - self.y.mean()) * (f - f.mean())).mean()
        return float(np.clip(covariance / ((1 + n / N) * spread), 0.0, 1.0)) if spread > 0 else 0.0

    def tuned_weight(self, random: bool) -> float:
        """Return the λ with the smallest variance, which is a parabola in λ; not below 0."""
        if not self.used:
            return 0.0
        at = {lam: self.spread(lam, random).unbounded for lam in (-1.0, 0.0, 1.0)}
        curvature = (at[1.0] + at[-1.0]) / 2 - at[0.0]
        return float(max(0.0, (at[-1.0] - at[1.0]) / (4 * curvature))) if curvature > 0 else 0.0

    def explained(self) -> float:
        """Return the squared correlation of people's and the judge's contributions, cluster by cluster."""
        groups, cluster = np.unique(self.cluster[self.text], return_inverse=True)

        def sums(values: np.ndarray) -> np.ndarray:
            centre = self._centres(values, self.text, np.abs(self.share))[self.at[self.text]]
            return np.bincount(cluster, self.share * (values - centre), minlength=len(groups))

        y, f = sums(self.y), sums(self.f[self.text])
        spread = (y**2).sum() * (f**2).sum()
        product = float((y * f).sum())
        return product**2 / float(spread) if spread > 0 and product > 0 else 0.0
