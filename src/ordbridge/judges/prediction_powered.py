"""Means of systems, and their differences, from few ratings by people and many by a judge.

Prediction-powered inference: the judge's mean over all texts, corrected by what people say about the judge on the texts
that they rated. It is unbiased whatever the judge does, and the weight λ of the judge is tuned, so that a useless judge
gets none. Here the variance knows that texts of one item hang together and that people rate many texts.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa

from ordbridge.checks import choice, share
from ordbridge.errors import InputError
from ordbridge.judges.judged import Columns, Judged, read_judged
from ordbridge.reliability.jackknife import raters_as

__all__ = ["Contrast", "JudgeEstimates", "contrast", "estimate"]

SELECTED = 3.0  # standard errors between the judge's ratings of texts that people rated and of the others
FEWEST = 3  # texts of a system that people must have rated
_NUMBERS = [
    (name, pa.float64())
    for name in ("estimate", "conf_low", "conf_high", "people_only", "people_low", "people_high", "weight", "gain")
]
_COUNTS = [("n_people", pa.int64()), ("n_judge", pa.int64())]
_MEANS = pa.schema([("system", pa.string()), *_NUMBERS, *_COUNTS])
_DIFFERENCES = pa.schema(
    [("system_a", pa.string()), ("system_b", pa.string()), *_NUMBERS, ("p_value", pa.float64()), *_COUNTS]
)
_CATEGORIES = pa.schema([("system", pa.string()), ("at_least", pa.string()), *_NUMBERS, *_COUNTS])


@dataclass(frozen=True)
class JudgeEstimates:
    """Result of :func:`estimate`.

    Attributes
    ----------
    means
        One row per system: ``estimate`` with its interval from people and judge together, ``people_only`` with its
        interval, the ``weight`` λ of the judge, the ``gain`` (how many times as many ratings people alone would need
        for the same variance), and how many texts people (``n_people``) and the judge alone (``n_judge``) rated.
    differences
        The same for every two systems, with a p-value.
    categories
        The same for the share of ratings at or above each category, where there are at most ten.
    judge, raters
        The judge; whether people are a sample (random) or all there are (fixed).
    notes
        What to know about it.
    """

    means: pa.Table
    differences: pa.Table
    categories: pa.Table
    judge: str
    raters: str
    notes: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """The result in words."""
        rows = self.differences.to_pylist() or self.means.to_pylist()
        if not any(row["n_judge"] for row in rows):
            return f"People rated every text that {self.judge} rated, so that it adds nothing to means and differences."
        if len(rows) == 1 and rows[0]["conf_low"] is not None:
            row = rows[0]
            what = f"{row['system_a']} − {row['system_b']}" if "system_a" in row else f"The mean of {row['system']}"
            return (
                f"{what} is {row['estimate']:.2f} [{row['conf_low']:.2f}, {row['conf_high']:.2f}] with {self.judge} "
                f"(weight {row['weight']:.2f}), {row['people_only']:.2f} [{row['people_low']:.2f}, "
                f"{row['people_high']:.2f}] from people alone; it is worth {row['gain']:.1f} times as many ratings."
            )
        gains = sorted(row["gain"] for row in rows)
        return (
            f"With {self.judge}, people's ratings are worth {gains[0]:.1f} to {gains[-1]:.1f} times as many in "
            f"{len(rows)} {'differences' if self.differences.num_rows else 'means'}."
        )


def estimate(
    data: Any,
    judge: str | None = None,
    *,
    raters: str | None = None,
    conf_level: float = 0.95,
    **columns: Any,
) -> JudgeEstimates:
    r"""Estimate means of systems and their differences from few ratings by people and many by a judge.

    With Y the mean of people's ratings of a text and f the judge's rating, n texts that both rated and N that only the
    judge did,

    .. math:: \hat\theta = \bar Y_n - \lambda (\bar f_n - \bar f_N)

    is unbiased for any λ, if the n texts are a random choice. λ makes its estimated variance smallest: 0 for a judge
    who tells nothing. For independent texts and ratings the interval is that of Angelopoulos et al. (PPI++). Else its
    variance is over clusters of texts (those of an item) and, where people are a sample, over people, as Cameron et
    al. combine them, and the interval is Student's; one that is not narrower than that of people alone is not used.

    Parameters
    ----------
    data, judge, **columns
        See :func:`ordbridge.judges.alt_test`. Words with an order (``scale=``) are taken by their position; the shares
        at or above each category do not need distances.
    raters
        ``"random"``: other people could have rated; ``"fixed"``: these people are all there are. By default random
        where not everybody rated everything, or from ten people on.
    conf_level
        Level of the intervals.

    Returns
    -------
    JudgeEstimates

    References
    ----------
    Angelopoulos, A. N., Bates, S., Fannjiang, C., Jordan, M. I., & Zrnic, T. (2023). Prediction-powered inference.
    Science 382, 669–674. Angelopoulos, A. N., Duchi, J. C., & Zrnic, T. (2023). PPI++: efficient prediction-powered
    inference. arXiv:2311.01453. Cameron, A. C., Gelbach, J. B., & Miller, D. L. (2011). JBES 29, 238–249.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> quality = rng.normal(3, 1, 300)
    >>> people, judge = quality[:60] + rng.normal(scale=0.5, size=60), quality + 0.8 + rng.normal(scale=0.5, size=300)
    >>> table = {"item": [*range(60), *range(300)], "participant": [*map(str, range(60)), *["gpt"] * 300],
    ...          "rating": [*people, *judge], "kind": ["human"] * 60 + ["judge"] * 300}
    >>> row = estimate(table).means.to_pylist()[0]
    >>> row["conf_low"] < 3 < row["conf_high"], row["gain"] > 1.5  # the judge is 0.8 too high, and helps
    (True, True)
    """
    share("conf_level", conf_level)
    choice("raters", raters, (None, "random", "fixed"))
    read = read_judged(data, judge, Columns(**columns))
    if read.level == "nominal":
        raise InputError("means need numbers or ordered categories; for words give scale=[...], from lowest to highest")
    about = raters_as(read.humans.rated_by(1), raters)
    random = about == "random"
    notes: list[str] = []
    systems = [name for name in read.systems if _enough(read, name, notes)]
    if not systems:
        raise InputError(f"no system has {FEWEST} texts that both people and the judge rated")
    value = read.humans.points
    means = [{"system": name, **contrast(read, {name: 1.0}, value, random, conf_level).row} for name in systems]
    differences = []
    for one, other in combinations(systems, 2):
        found = contrast(read, {one: 1.0, other: -1.0}, value, random, conf_level)
        differences.append({"system_a": one, "system_b": other, **found.row, "p_value": found.p_value})
    categories = []
    if len(read.humans.categories) <= 10:
        for name in systems:
            for code in range(1, len(read.humans.categories)):
                above = (np.arange(len(value)) >= code).astype(float)
                found = contrast(read, {name: 1.0}, above, random, conf_level)
                ends = {key: _share(end) for key, end in found.row.items() if key.endswith(("_low", "_high"))}
                label = str(read.humans.categories[code])
                categories.append({"system": name, "at_least": label, **found.row, **ends})
    notes += _selection(read, systems)
    unjudged = int(((read.judge_code < 0) & (read.humans.per_item > 0)).sum())
    if unjudged:
        notes.append(f"{unjudged} texts that people rated have no rating by the judge and are left out")
    return JudgeEstimates(
        pa.Table.from_pylist(means, schema=_MEANS),
        pa.Table.from_pylist(differences, schema=_DIFFERENCES),
        pa.Table.from_pylist(categories, schema=_CATEGORIES),
        read.name,
        about,
        tuple(notes),
    )


@dataclass(frozen=True)
class Contrast:
    """A weighted sum of systems' means: with and without the judge.

    ``variance`` is that of people alone; ``explained`` the share of it that the judge's ratings of the same texts
    explain (a squared correlation).
    """

    row: dict[str, Any]
    p_value: float
    variance: float
    explained: float
    n: int
    clusters: int


def contrast(read: Judged, weights: dict[str, float], value: np.ndarray, random: bool, conf_level: float) -> Contrast:
    """Return a weighted sum of the means of systems, by people alone and with the judge.

    Parameters
    ----------
    read
        The ratings.
    weights
        Of each system.
    value
        What a rating in each category counts.
    random
        Whether people are a sample.
    conf_level
        Level of the intervals.
    """
    from scipy.stats import norm, t

    parts = _Parts(read, weights, value)
    independent = parts.independent
    lam = parts.published_weight() if independent else parts.tuned_weight(random)
    variances = [parts.variance(weight, random) for weight in (0.0, lam)]
    dfs = [parts.df(weight, random) for weight in (0.0, lam)]
    scales = [float(norm.ppf((1 + conf_level) / 2) if independent else t.ppf((1 + conf_level) / 2, df)) for df in dfs]
    errors = [float(np.sqrt(max(variance, 0.0))) for variance in variances]
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
    z = abs(estimates[1]) / errors[1] if errors[1] > 0 else np.inf
    p = float(2 * (norm.sf(z) if independent else t.sf(z, dfs[1])))
    return Contrast(row, p, alone, parts.explained(random), parts.n_people, parts.clusters)


class _Parts:
    """What each rating and each text adds to the contrast, so that its variance for any λ is a sum of squares."""

    def __init__(self, read: Judged, weights: dict[str, float], value: np.ndarray) -> None:
        humans = read.humans
        mine = np.isin(read.system_of, list(weights))
        weight = np.array([weights.get(name, 0.0) for name in read.system_of])
        judged = read.judge_code >= 0
        self.f = np.where(judged, value[read.judge_code], 0.0)
        number = humans.per_item
        both = mine & judged & (number > 0)
        only_judge = mine & judged & (number == 0)
        self._n = {name: int((both & (read.system_of == name)).sum()) for name in weights}
        self._N = {name: int((only_judge & (read.system_of == name)).sum()) for name in weights}
        n_of = np.array([self._n.get(name, 1) for name in read.system_of], dtype=float)
        N_of = np.array([max(self._N.get(name, 1), 1) for name in read.system_of], dtype=float)
        self.rows = np.flatnonzero(both[humans.row])
        text = humans.row[self.rows]
        self.text, self.rater = text, humans.column[self.rows]
        self.share = weight[text] / n_of[text] / number[text]  # of each rating
        self.y = value[humans.code[self.rows]]
        self.others = np.flatnonzero(only_judge)
        self.others_share = weight[self.others] / N_of[self.others]
        self.used = all(self._N.values())  # without texts for the judge alone there is nothing to gain
        self.system = read.system_of
        self.cluster = read.cluster
        self.n_people, self.n_judge = int(both.sum()), int(only_judge.sum())
        self.clusters = len(np.unique(self.cluster[text]))
        self.number = number
        self.weights = weights

    @property
    def independent(self) -> bool:
        """Whether this is one mean of texts of different items, with one rating each, by one person or by many."""
        people = len(np.unique(self.rater))
        alone = len(self.weights) == 1 and len(self.text) == self.n_people
        everything = np.concatenate([self.text, self.others])
        separate = len(np.unique(self.cluster[everything])) == len(everything)
        return alone and separate and people in (1, len(self.text))

    def estimate(self, lam: float) -> float:
        people = (self.share * (self.y - lam * self.f[self.text])).sum()
        return float(people + lam * (self.others_share * self.f[self.others]).sum())

    def variance(self, lam: float, random: bool) -> float:
        """Return the estimated variance: over clusters of texts, and over people if they are random."""
        rest = self.y - lam * self.f[self.text]
        inside = self.share * (rest - self._centres(rest, self.text, np.abs(self.share))[self.system_at(self.text)])
        if self.independent:
            spread = (inside**2).sum()
            spread += self._judge_only(lam) if self.used else 0.0
            return float(spread)
        groups, cluster = np.unique(
            np.concatenate([self.cluster[self.text], self.cluster[self.others]]), return_inverse=True
        )
        outside = np.zeros(0)
        if self.used and len(self.others):
            f = self.f[self.others]
            centre = self._centres(f, self.others, np.abs(self.others_share))[self.system_at(self.others)]
            outside = lam * self.others_share * (f - centre)
        else:
            cluster = cluster[: len(self.text)]
        total = np.bincount(cluster, np.concatenate([inside, outside]), minlength=len(groups))
        g = max(self.clusters, 2)
        variance = g / (g - 1) * float((total**2).sum())
        if random:
            people, rater = np.unique(self.rater, return_inverse=True)
            m = len(people)
            cell = np.unique(cluster[: len(self.text)] * m + rater, return_inverse=True)[1]
            over_people = m / max(m - 1, 1) * float((np.bincount(rater, inside) ** 2).sum())
            both = float((np.bincount(cell, inside) ** 2).sum())
            variance = max(variance + over_people - both, variance, over_people)
        return variance

    def _judge_only(self, lam: float) -> float:
        f = self.f[self.others]
        return float(lam**2 * f.var() / len(f)) if len(f) else 0.0

    def system_at(self, texts: np.ndarray) -> np.ndarray:
        return np.searchsorted(sorted(self.weights), self.system[texts].astype(str))

    def _centres(self, values: np.ndarray, texts: np.ndarray, share: np.ndarray) -> np.ndarray:
        """Return the mean of each system, every text counted once."""
        at = self.system_at(texts)
        size = len(self.weights)
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
        at = {lam: self.variance(lam, random) for lam in (-1.0, 0.0, 1.0)}
        curvature = (at[1.0] + at[-1.0]) / 2 - at[0.0]
        return float(max(0.0, (at[-1.0] - at[1.0]) / (4 * curvature))) if curvature > 0 else 0.0

    def explained(self, random: bool) -> float:
        """Return the squared correlation of people's and the judge's contributions, cluster by cluster."""
        groups, cluster = np.unique(self.cluster[self.text], return_inverse=True)

        def sums(values: np.ndarray) -> np.ndarray:
            centre = self._centres(values, self.text, np.abs(self.share))[self.system_at(self.text)]
            return np.bincount(cluster, self.share * (values - centre), minlength=len(groups))

        y, f = sums(self.y), sums(self.f[self.text])
        spread = (y**2).sum() * (f**2).sum()
        product = float((y * f).sum())
        return product**2 / float(spread) if spread > 0 and product > 0 else 0.0

    def df(self, lam: float, random: bool) -> float:
        """Return the degrees of freedom: clusters less one, or Satterthwaite's with people."""
        g = max(self.clusters - 1, 1)
        if not random:
            return float(g)
        rest = self.y - lam * self.f[self.text]
        inside = self.share * (rest - self._centres(rest, self.text, np.abs(self.share))[self.system_at(self.text)])
        _, cluster = np.unique(self.cluster[self.text], return_inverse=True)
        people, rater = np.unique(self.rater, return_inverse=True)
        over_clusters = float((np.bincount(cluster, inside) ** 2).sum())
        over_people = float((np.bincount(rater, inside) ** 2).sum())
        m = max(len(people) - 1, 1)
        if over_clusters + over_people <= 0:
            return float(g)
        return (over_clusters + over_people) ** 2 / (over_clusters**2 / g + over_people**2 / m)


def _enough(read: Judged, name: str, notes: list[str]) -> bool:
    both = (read.judge_code >= 0) & (read.humans.per_item > 0) & (read.system_of == name)
    if both.sum() < FEWEST:
        notes.append(f"{name} is left out: people and the judge rated {int(both.sum())} of its texts together")
        return False
    if not ((read.judge_code >= 0) & (read.humans.per_item == 0) & (read.system_of == name)).any():
        notes.append(f"people rated every text of {name} that the judge rated, so that the judge adds nothing")
    return True


def _selection(read: Judged, systems: list[str]) -> list[str]:
    """Say where the texts that people rated do not look like a random choice."""
    found = []
    for name in systems:
        mine = (read.judge_code >= 0) & (read.system_of == name)
        labelled, others = (
            read.judge[mine & (read.humans.per_item > 0)],
            read.judge[mine & (read.humans.per_item == 0)],
        )
        if len(others) < 2 or len(labelled) < 2:
            continue
        error = np.sqrt(labelled.var(ddof=1) / len(labelled) + others.var(ddof=1) / len(others))
        if error > 0 and abs(labelled.mean() - others.mean()) > SELECTED * error:
            found.append(
                f"{name}: the judge rates the texts that people rated {labelled.mean():.2f} and the others "
                f"{others.mean():.2f} on average; the method needs a random choice of texts"
            )
    return found


def _share(value: float | None) -> float | None:
    return None if value is None else float(min(1.0, max(0.0, value)))
