"""Intervals of coefficients: what another sample of items, and of raters, would have given.

Every coefficient is a plain function of the ratings. It is computed again without each item and without each rater
(without one group of them after the other, where there are more than 50), and the spread of these values gives the
two parts of its variance: Gwet's "unconditional" variance when raters are a sample too, the first part alone when the
question is about these raters only. The noise of single ratings is in both parts; how large it is tell the values
without an item and a rater together, and it is counted once. The interval is Student's, with the degrees of freedom of
Satterthwaite, on Fisher's z scale, corrected for skewness over items and for few raters as BCa intervals are.
`docs/reliability.md` has its simulated coverage.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ordbridge.errors import InputError
from ordbridge.reliability.between_raters import SingleRatings, between_raters
from ordbridge.reliability.ratings import Ratings
from ordbridge.reliability.records import Coefficient
from ordbridge.support.arguments import choice, proportion
from ordbridge.support.naming import arg

MOST_GROUPS = 50
AT_ONCE = 50_000  # ratings that are left out, one by one, at the same time
TOGETHER = 20  # groups of items, and of raters, that are left out together
MOST_ACCELERATION, MOST_BIAS = 0.1, 0.5  # the latter in standard errors: beyond, both are noise of small studies
FEW = 20  # items that all say the same are too few to claim certainty
ONE_SIDED = 0.95  # a label holds when its lower bound is below the coefficient with this probability

Statistic = Callable[[Ratings], float]


@dataclass(frozen=True)
class Replicates:
    """A coefficient of all ratings, without single items, and without single raters; NaN where it has no value.

    Of a coefficient over pairs of raters, ``n_pairs`` have a value. ``together`` has the coefficient without each of
    some groups of items, without each of some groups of raters, and (items × raters) without both; ``single`` the
    coefficient without each rating, which tells more about raters who saw different items.
    """

    whole: float
    without_items: np.ndarray
    without_raters: np.ndarray
    n_pairs: int | None = None
    together: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None
    single: SingleRatings | None = None


def raters_as(ratings: Ratings, raters: str | None) -> str:
    """Return ``"random"`` or ``"fixed"``; by default random, of two raters fixed: two cannot tell how raters differ.

    Examples
    --------
    >>> from ordbridge.reliability import prepare
    >>> raters_as(prepare([[1, 2, 2], [2, 2, 1]]), None), raters_as(prepare([[1, 2], [2, 2]]), None)
    ('random', 'fixed')
    """
    choice("raters", raters, (None, "random", "fixed"))
    if raters is not None:
        return raters
    return "random" if len(ratings.raters) > 2 else "fixed"


def describe_raters_as(ratings: Ratings, raters: str | None) -> str:
    """Say what the intervals are about, and why."""
    if raters_as(ratings, raters) == "random":
        return "about raters like these (raters random)"
    reason = "" if raters else ", as two cannot tell how raters differ"
    return f"about these {len(ratings.raters)} raters only (raters fixed){reason}"


def leave_out(ratings: Ratings, statistic: Statistic, random: bool, seed: int = 1) -> Replicates:
    """Compute a coefficient of all ratings, without each item and, if raters are random, without each rater."""

    def without(left_out: np.ndarray) -> float:
        return statistic(ratings.only(~left_out))

    n, m = len(ratings.items), len(ratings.raters)
    with np.errstate(divide="ignore", invalid="ignore"):
        whole = float(statistic(ratings))
        item = group_of(n, MOST_GROUPS, seed)[ratings.row]
        items = np.array([without(item == g) for g in range(min(n, MOST_GROUPS))])
        if not random:
            return Replicates(whole, items, np.empty(0))
        rater = group_of(m, MOST_GROUPS, seed)[ratings.column]
        raters = np.array([without(rater == h) for h in range(min(m, MOST_GROUPS))])
        item, rater = group_of(n, TOGETHER, seed)[ratings.row], group_of(m, TOGETHER, seed)[ratings.column]
        some_items, some_raters = (range(min(size, TOGETHER)) for size in (n, m))
        together = (
            np.array([without(item == g) for g in some_items]),
            np.array([without(rater == h) for h in some_raters]),
            np.array([[without((item == g) | (rater == h)) for h in some_raters] for g in some_items]),
        )
        return Replicates(whole, items, raters, together=together)


def leave_out_sums(
    ratings: Ratings,
    per_item: Callable[[np.ndarray], np.ndarray],
    value: Callable[[np.ndarray], np.ndarray],
    random: bool,
    seed: int = 1,
    *,
    means: bool = False,
) -> Replicates:
    """Do what :func:`leave_out` does, for a coefficient that is a function of sums over items.

    Parameters
    ----------
    ratings, random, seed
        As there.
    per_item
        From counts, items × categories, to what each item adds to the sums, items × sums.
    value
        From sums (last axis) to the coefficient.
    means
        Whether the sums are of items' means over their ratings and pairs of ratings, whatever their number: single
        ratings are left out then.
    """
    n, m, q = len(ratings.items), len(ratings.raters), len(ratings.categories)
    cell = ratings.row * q + ratings.code
    tally = np.bincount(cell, minlength=n * q).reshape(n, q).astype(float)

    def sums(counts: np.ndarray, group: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums of all items, and without each group of them."""
        added = per_item(counts)
        by_group = np.zeros((int(group.max()) + 1, added.shape[1]))
        np.add.at(by_group, group, added)
        return added.sum(axis=0), added.sum(axis=0) - by_group

    def without(groups: np.ndarray, items: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the coefficient without each group of raters, and without groups of items as well."""
        found = []
        for h in range(int(groups.max()) + 1):
            theirs = np.bincount(cell[groups[ratings.column] == h], minlength=n * q).reshape(n, q)
            found.append(sums(tally - theirs, items))
        return value(np.array([whole for whole, _ in found])), value(np.array([rest for _, rest in found])).T

    with np.errstate(divide="ignore", invalid="ignore"):
        whole, without_items = sums(tally, group_of(n, MOST_GROUPS, seed))
        known = float(value(whole)), value(without_items)
        if not random:
            return Replicates(*known, np.empty(0))
        if means:
            raters = without(group_of(m, MOST_GROUPS, seed), np.zeros(n, int))[0]
            return Replicates(*known, raters, single=_without_ratings(ratings, tally, per_item, value))
        items = group_of(n, TOGETHER, seed)
        some_raters, both = without(group_of(m, TOGETHER, seed), items)
        raters = some_raters if m <= TOGETHER else without(group_of(m, MOST_GROUPS, seed), items)[0]
        return Replicates(*known, raters, together=(value(sums(tally, items)[1]), some_raters, both))


def _without_ratings(
    ratings: Ratings,
    tally: np.ndarray,
    per_item: Callable[[np.ndarray], np.ndarray],
    value: Callable[[np.ndarray], np.ndarray],
) -> SingleRatings:
    """Return the coefficient without each item and without each rating; the arguments are :func:`leave_out_sums`'s."""
    added = per_item(tally)
    rest = added.sum(axis=0) - added
    found = []
    for start in range(0, len(ratings.row), AT_ONCE):
        row, code = (values[start : start + AT_ONCE] for values in (ratings.row, ratings.code))
        left = tally[row]
        left[np.arange(len(row)), code] -= 1
        found.append(value(rest[row] + per_item(left)))
    return SingleRatings(value(rest), np.concatenate(found), ratings.row, ratings.column)


def group_of(size: int, most: int, seed: int = 1) -> np.ndarray:
    """Return the group of each of so many items or raters: each alone, or a random one of ``most`` groups of a size.

    Examples
    --------
    >>> group_of(3, 5).tolist(), np.bincount(group_of(9, 3)).tolist()
    ([0, 1, 2], [3, 3, 3])
    """
    return np.arange(size) if size <= most else np.random.default_rng(seed).permutation(size) % most


def interval_of(found: Replicates, conf_level: float, random: bool) -> dict[str, Any]:
    r"""Return the interval and the one-sided bounds as fields of a :class:`Coefficient`, or a note why there is none.

    With :math:`z_g` the transformed coefficient without group g of G,
    :math:`v_I = \frac{G-1}{G} \sum_g (z_g - \bar z)^2` for items, and :math:`v_R` likewise for H raters. Both have the
    noise of single ratings in them, which is

    .. math:: v_{IR} = \frac{(G-1)(H-1)}{GH} \sum_{gh} (z - z_g - z_h + z_{gh})^2

    with :math:`z_{gh}` the coefficient without both. Coefficients that are made of items' means have v_R and v_IR from
    single ratings, see :func:`ordbridge.reliability.between_raters.between_raters`. The variance is
    :math:`v_I + \max(v_R - v_{IR}, 0)`, σ²; for its degrees of freedom see :func:`combined`.

    The interval is second-order correct: few items that stand out make the coefficient skewed, and its standard error
    small whenever it is small itself. With the quantile t, the acceleration a of the items (:func:`acceleration`)
    and :math:`w = a + (a + t)/(1 - a(a + t))`, an end is :math:`z - \hat b + \sigma (w + a(w^2 - 1))`, where
    :math:`\hat b = (H-1)(\bar z - z)` is the jackknife's bias from a small number of raters.

    References
    ----------
    Efron, B. (1987). Better bootstrap confidence intervals. JASA 82, 171-185. DiCiccio, T., & Efron, B. (1992). More
    accurate confidence intervals in exponential families. Biometrika 79, 231-245: without a bootstrap.
    Gwet, K. L. (2014). Handbook of Inter-Rater Reliability, 4th ed., chapter 5: the variance over items and raters.
    Owen, A. B. (2007). The pigeonhole bootstrap. Annals of Applied Statistics 1, 386-411. Cameron, A. C., Gelbach, J.
    B., & Miller, D. L. (2011). Robust inference with multiway clustering. J. Business & Economic Statistics 29,
    238-249. Satterthwaite, F. E. (1946). Biometrics Bulletin 2, 110-114.
    """
    from scipy.stats import t

    if random and len(found.without_raters) < 3:
        return {
            "note": f"no interval: two raters cannot tell how raters differ; {arg('raters', 'fixed')} is about these "
            "two"
        }
    sources = [found.without_items] + ([found.without_raters] if random else [])
    everything = np.concatenate([[found.whole], *sources])
    if not np.isfinite(everything).all():
        lost = int((~np.isfinite(everything)).sum())
        return {
            "note": f"no interval: without single items or raters there is no value (such items and raters: {lost})"
        }
    inside = np.abs(everything).max() < 1
    to, back = (np.arctanh, np.tanh) if inside else (_as_it_is, _as_it_is)
    total, df = _variance(to(found.without_items)), len(found.without_items) - 1.0
    if random:
        total, df = combined(total, *_of_raters(found, to), len(found.without_items), len(found.without_raters))
    if total <= 0:
        same = {name: found.whole for name in ("conf_low", "conf_high", "lower_bound", "upper_bound")}
        few = len(found.without_items) < FEW
        note = "the coefficient is the same without any of the items or raters, so the interval has no width"
        return {"note": f"no interval: {note}"} if few else same | {"note": note}
    centre, error = float(to(found.whole)), float(np.sqrt(total))
    if random:
        bias = (len(found.without_raters) - 1) * (to(found.without_raters).mean() - centre)
        centre -= float(np.clip(bias, -MOST_BIAS * error, MOST_BIAS * error))
    a = acceleration(to(found.without_items), error)

    def bound(level: float) -> float:
        u = a + t.ppf(level, df)
        w = a + u / (1 - min(a * u, 0.9))
        return float(np.clip(back(centre + error * (w + a * (w**2 - 1))), -1, 1))

    return {
        "conf_low": bound((1 - conf_level) / 2),
        "conf_high": bound((1 + conf_level) / 2),
        "lower_bound": bound(1 - ONE_SIDED),
        "upper_bound": bound(ONE_SIDED),
    }


def estimate(
    ratings: Ratings,
    statistic: Statistic,
    *,
    name: str,
    definition: str,
    undefined: str,
    raters: str | None,
    conf_level: float | None,
    note: str = "",
    replicates: Callable[[bool], Replicates] | None = None,
    **test: Any,
) -> Coefficient:
    """Compute a coefficient and its interval.

    Parameters
    ----------
    ratings
        The ratings that enter.
    statistic
        The coefficient of some ratings, NaN where it has no value.
    name, definition
        For the record.
    undefined
        Why the coefficient has no value, if it has none.
    raters, conf_level
        What the interval is about (see :func:`raters_as`), and its level; ``None`` for no interval.
    note, **test
        Further fields of the record.
    replicates
        A faster way to leave out items and raters, for coefficients that have one.
    """
    if conf_level is not None:
        proportion("conf_level", conf_level)
    about = raters_as(ratings, raters)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = float(statistic(ratings))
    if not np.isfinite(value):
        raise InputError(f"{name} has no value here: {undefined}")
    test.setdefault("n_pairs", ratings.n_sharing)
    record = Coefficient(
        estimate=value,
        conf_low=None,
        conf_high=None,
        name=name,
        definition=definition,
        n_items=len(ratings.items),
        n_raters=len(ratings.raters),
        n_missing=ratings.n_missing,
        conf_level=conf_level,
        raters=about,
        note=note,
        **test,
    )
    if conf_level is None:
        return record
    random = about == "random"
    found = replicates(random) if replicates else leave_out(ratings, statistic, random)
    interval = interval_of(found, conf_level, random)
    interval["note"] = "; ".join(filter(None, [note, interval.get("note", "")]))
    return replace(record, **interval)


def _of_raters(found: Replicates, to: Callable[[Any], Any]) -> tuple[float, float]:
    """Return v_R and v_IR; v_IR is 0, which is on the safe side, where leaving out both leaves no value."""
    noise = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        if found.single is not None:
            items, ratings = to(found.single.without_items), to(found.single.without_ratings)
            parts = between_raters(to(found.whole), replace(found.single, without_items=items, without_ratings=ratings))
            if np.isfinite(parts).all():
                return parts
        if found.together is not None:
            items, raters, both = (to(values) for values in found.together)
            noise = float(variance_together(to(found.whole), items, raters, both))
    return _variance(to(found.without_raters)), noise if np.isfinite(noise) else 0.0


def variance_together(whole: Any, items: np.ndarray, raters: np.ndarray, both: np.ndarray) -> Any:
    """Return v_IR of one statistic, or of several (last axis); see :func:`interval_of`.

    Examples
    --------
    >>> x = np.array([[1.0, 2.0], [3.0, 5.0], [2.0, 2.0]])  # a mean; mean square of the rest 0.5, over 6
    >>> items, raters = (x.sum() - x.sum(axis=1)) / 4, (x.sum() - x.sum(axis=0)) / 3
    >>> both = (x.sum() - x.sum(axis=1)[:, None] - x.sum(axis=0) + x) / 2
    >>> round(float(variance_together(x.mean(), items, raters, both)), 4)
    0.0833
    """
    g, h = both.shape[:2]
    rest = whole - items[:, None] - raters[None, :] + both
    return (g - 1) * (h - 1) / (g * h) * (rest**2).sum(axis=(0, 1))


def combined(v_items: Any, v_raters: Any, v_single: Any, n: int, m: int) -> tuple[Any, Any]:
    """Return v_I + v_R − v_IR, but at least v_I, and its degrees of freedom.

    They are Satterthwaite's of two parts: v_I with n − 1, and b = max(v_R − v_IR, 0) with (m − 1) b / v_R: the less of
    the spread between raters is their own, the less is known about it. `docs/reliability.md` says what else was tried.

    Examples
    --------
    >>> total, df = combined(0.3, 0.2, 0.1, 21, 5)
    >>> round(float(total), 4), round(float(df), 2)
    (0.4, 16.84)
    """
    between = np.maximum(v_raters - v_single, 0.0)
    total = v_items + between
    with np.errstate(divide="ignore", invalid="ignore"):
        return total, total**2 / (v_items**2 / (n - 1) + between * v_raters / (m - 1))


def acceleration(without: np.ndarray, error: float) -> float:
    r"""Return how fast a standard error grows with its estimate: a sixth of the skewness, from values without items.

    .. math:: a = \frac{1}{6\sigma^3} \left(\frac{G-1}{G}\right)^{3/2} \sum_g (\bar z - z_g)^3,

    kept within ±0.1. Raters are too few to show the skewness of theirs.

    References
    ----------
    Efron, B. (1987). Better bootstrap confidence intervals. JASA 82, 171-185, section 7.

    Examples
    --------
    >>> mean = lambda x: (x.sum() - x) / (len(x) - 1)  # without each
    >>> x = np.array([0.0, 0.0, 0.0, 1.0, 5.0])
    >>> round(acceleration(mean(x), x.std(ddof=1) / 5**0.5), 3), acceleration(mean(x[:3]), 1.0)
    (0.1, 0.0)
    """
    size, without = len(without), np.sort(without)  # so that the order of items changes nothing, not even rounding
    third = ((size - 1) / size) ** 1.5 * float(((without.mean() - without) ** 3).sum())
    return float(np.clip(third / (6 * error**3), -MOST_ACCELERATION, MOST_ACCELERATION))


def _variance(values: np.ndarray) -> float:
    return float((len(values) - 1) / len(values) * ((values - values.mean()) ** 2).sum())


def _as_it_is(value: Any) -> Any:
    return value
