"""Agreement: whether raters give the same item the same category, or a near one.

All coefficients but the first correct for chance, (observed − expected) / (1 − expected), and differ in what they
expect of chance. They need two tables of counts only: how often each item, and each rater, had each category. No
library takes gaps, weights and intervals over raters together, so the formulas are written out here; the tests hold
them against irrCAC, statsmodels, krippendorff and published tables. Mean of κ over pairs of raters: see ``pairs``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ordbridge.errors import InputError
from ordbridge.reliability.jackknife import estimate, leave_out_sums
from ordbridge.reliability.ratings import Ratings, prepare, require
from ordbridge.reliability.records import Coefficient
from ordbridge.support.arguments import choice

CHANCE_LEAVES_NOTHING = (
    "all ratings that can be compared are in one category, so agreement by chance is already perfect"
)
NO_COMMON_ITEMS = "no two raters rated a common item"
WEIGHTS = (None, "linear", "quadratic", "ordinal")


def percent_agreement(
    data: Any,
    item: str = "item",
    participant: str = "participant",
    rating: str = "rating",
    *,
    scale: Sequence[Any] | None = None,
    raters: str | None = None,
    conf_level: float | None = 0.95,
) -> Coefficient:
    r"""Share of pairs of ratings of an item that are equal, averaged over items: no correction for chance.

    .. math:: \frac1n \sum_i \sum_k \frac{n_{ik}(n_{ik}-1)}{n_i(n_i-1)}

    over the items with at least two ratings, with :math:`n_{ik}` raters of item i in category k. For complete data it
    is also the mean over pairs of raters. Gaps are allowed.

    References
    ----------
    Fleiss, J. L. (1971). Measuring nominal scale agreement among many raters. Psychological Bulletin 76, 378-382.

    Examples
    --------
    >>> percent_agreement([[1, 1], [2, 2], [3, 1], [2, 2]]).estimate
    0.75
    """
    ratings = agreement_ratings(data, item, participant, rating, scale, "percent agreement", varied=False)
    twice = ratings.rated_by(2)
    return estimate(
        twice,
        lambda some: _observed(some, None),
        name="percent agreement",
        definition="mean over items of the share of equal pairs of ratings; not corrected for chance",
        undefined=NO_COMMON_ITEMS,
        raters=raters,
        conf_level=conf_level,
        replicates=lambda random: leave_out_sums(
            twice, lambda tally: _agreeing(tally, None), lambda sums: sums[..., 0] / sums[..., 1], random, means=True
        ),
    )


def fleiss_kappa(
    data: Any,
    item: str = "item",
    participant: str = "participant",
    rating: str = "rating",
    *,
    weights: str | None = None,
    scale: Sequence[Any] | None = None,
    raters: str | None = None,
    conf_level: float | None = 0.95,
) -> Coefficient:
    r"""Fleiss' κ of 1971: raters are interchangeable, chance is the distribution of all ratings together.

    Observed agreement is that of :func:`percent_agreement`; :math:`p_e = \sum_{kl} w_{kl} \pi_k \pi_l` with
    :math:`\pi_k` the mean over items of the share of category k. Gaps are allowed (Gwet's extension: items with one
    rating enter :math:`\pi_k` only); with as many ratings for each item and no weights it is exactly the coefficient
    of 1971, which for two raters is Scott's π, not Cohen's κ. The "Fleiss' κ" of nltk's ``multi_kappa`` is another
    coefficient: :func:`ordbridge.reliability.davies_fleiss_kappa`.

    Parameters
    ----------
    data, item, participant, rating, scale
        See :func:`ordbridge.reliability.prepare`.
    weights
        See :func:`conger_kappa`.
    raters, conf_level
        ``"random"``: the interval is about raters like these; ``"fixed"``: about these only; by default random, of
        two raters fixed. Level of the interval; ``None`` for none.

    References
    ----------
    Fleiss, J. L. (1971). Measuring nominal scale agreement among many raters. Psychological Bulletin 76, 378-382.
    Gwet, K. L. (2014). Handbook of Inter-Rater Reliability, 4th ed., chapters 2 and 3.

    Examples
    --------
    >>> round(fleiss_kappa([[1, 1, 1], [2, 2, 1], [3, 3, 3], [2, 2, 2]]).estimate, 4)
    0.7447
    """
    return _corrected(
        (data, item, participant, rating, scale),
        "Fleiss' κ",
        "Fleiss (1971), chance from the distribution of all ratings together",
        weights,
        None,
        raters,
        conf_level,
        lambda share, w: (_weighted(share, w) * share).sum(axis=-1),
    )


def conger_kappa(
    data: Any,
    item: str = "item",
    participant: str = "participant",
    rating: str = "rating",
    *,
    weights: str | None = None,
    scale: Sequence[Any] | None = None,
    raters: str | None = None,
    conf_level: float | None = 0.95,
) -> Coefficient:
    r"""Conger's κ: Cohen's κ for any number of raters, with gaps and weights.

    Observed agreement is that of :func:`percent_agreement`, with weights. Chance is two raters who keep their own
    distributions :math:`p_{gk}` over all that they rated, averaged over all pairs of raters:

    .. math:: p_e = \sum_{kl} w_{kl} \frac{r^2 \bar p_k \bar p_l - \sum_g p_{gk} p_{gl}}{r (r - 1)}

    For two raters without gaps it is Cohen's κ; without gaps it is also Davies & Fleiss' κ. With gaps no pair of
    raters has to have many items in common, which makes it the κ for crowds.

    Parameters
    ----------
    data, item, participant, rating, scale
        See :func:`ordbridge.reliability.prepare`.
    weights
        ``None`` (only equal categories agree), ``"linear"`` or ``"quadratic"`` (agreement falls with the distance of
        the categories' values, or of their positions where they are words), or ``"ordinal"`` (distances of positions,
        :math:`1 - \binom{|k-l|+1}{2} / \binom{q}{2}`).
    raters, conf_level
        See :func:`fleiss_kappa`.

    References
    ----------
    Conger, A. J. (1980). Integration and generalization of kappas for multiple raters. Psychological Bulletin 88,
    322-328; Gwet, K. L. (2014), chapters 2 and 3, for gaps and weights.

    Examples
    --------
    >>> round(conger_kappa([[1, 1, 1], [2, 2, 1], [3, 3, 3], [2, 2, 2]]).estimate, 4)
    0.75
    >>> round(conger_kappa([[1, 1, None], [2, 2, 1], [3, 3, 3], [2, None, 1]]).estimate, 4)
    0.4
    """

    def chance(some: Ratings, w: np.ndarray | None) -> float:
        own = _tally(some.column, some)
        own = own[own.sum(axis=1) > 0]
        own = own / own.sum(axis=1, keepdims=True)
        r, total = len(own), own.sum(axis=0)
        return float((_weighted(total, w) @ total - (_weighted(own, w) * own).sum()) / (r * (r - 1)))

    return _corrected(
        (data, item, participant, rating, scale),
        "Conger's κ",
        "Conger (1980), with gaps as Gwet (2014): chance from each rater's own distribution",
        weights,
        chance,
        raters,
        conf_level,
    )


def brennan_prediger(
    data: Any,
    item: str = "item",
    participant: str = "participant",
    rating: str = "rating",
    *,
    weights: str | None = None,
    scale: Sequence[Any] | None = None,
    raters: str | None = None,
    conf_level: float | None = 0.95,
) -> Coefficient:
    r"""Brennan & Prediger's coefficient: chance is every category equally often, :math:`p_e = \sum_{kl} w_{kl}/q^2`.

    q counts every category that the raters could have chosen: give ``scale`` when some were never used.

    References
    ----------
    Brennan, R. L., & Prediger, D. J. (1981). Coefficient kappa: some uses, misuses, and alternatives. Educational and
    Psychological Measurement 41, 687-699.

    Examples
    --------
    >>> round(brennan_prediger([[1, 1], [2, 2], [3, 1], [2, 2]]).estimate, 4)
    0.625
    """
    return _corrected(
        (data, item, participant, rating, scale),
        "Brennan & Prediger's coefficient",
        "Brennan & Prediger (1981), chance is every category of the scale equally often",
        weights,
        None,
        raters,
        conf_level,
        lambda share, w: np.asarray(1 / share.shape[-1] if w is None else w.mean()),
    )


def gwet_ac(
    data: Any,
    item: str = "item",
    participant: str = "participant",
    rating: str = "rating",
    *,
    weights: str | None = None,
    scale: Sequence[Any] | None = None,
    raters: str | None = None,
    conf_level: float | None = 0.95,
) -> Coefficient:
    r"""Gwet's AC1 (no weights) or AC2 (weights): less fooled by one dominant category than κ.

    .. math:: p_e = \frac{\sum_{kl} w_{kl}}{q(q-1)} \sum_k \pi_k (1 - \pi_k)

    with q categories and :math:`\pi_k` as in :func:`fleiss_kappa`. Gaps are allowed. q counts every category that
    the raters could have chosen: give ``scale`` when some were never used.

    References
    ----------
    Gwet, K. L. (2008). Computing inter-rater reliability and its variance in the presence of high agreement. British
    Journal of Mathematical and Statistical Psychology 61, 29-48; (2014) Handbook of Inter-Rater Reliability, 4th ed.

    Examples
    --------
    >>> round(gwet_ac([[1, 1], [2, 2], [3, 1], [2, 2]]).estimate, 4)
    0.6444
    """

    def chance(share: np.ndarray, w: np.ndarray | None) -> np.ndarray:
        q = share.shape[-1]
        return (q if w is None else w.sum()) / (q * (q - 1)) * (share * (1 - share)).sum(axis=-1)

    return _corrected(
        (data, item, participant, rating, scale),
        "Gwet's AC1" if weights is None else "Gwet's AC2",
        "Gwet (2008, 2014), over all categories of the scale or, where it is not given, those used",
        weights,
        None,
        raters,
        conf_level,
        chance,
    )


def agreement_ratings(
    data: Any,
    item: str,
    participant: str,
    rating: str,
    scale: Sequence[Any] | None,
    what: str,
    level: str = "nominal",
    varied: bool = True,
) -> Ratings:
    """Return the ratings, refusing those on which ``what`` is not defined."""
    ratings = prepare(data, item, participant, rating, scale)
    require(ratings, what, level, varied=varied)
    if ratings.per_item.max() < 2:
        raise InputError(f"{what} has no value here: {NO_COMMON_ITEMS}")
    return ratings


def weight_matrix(ratings: Ratings, kind: str | None) -> np.ndarray | None:
    """Return categories × categories: 1 for equal categories, falling to 0 for the most distant ones.

    Without weights there is no matrix: only equal categories agree.
    """
    q = len(ratings.categories)
    if kind is None:
        return None
    at = np.arange(q, dtype=float) if kind == "ordinal" else ratings.points
    distance = np.abs(at[:, None] - at[None, :])
    if kind == "ordinal":
        distance = distance * (distance + 1)
    elif kind == "quadratic":
        distance = distance**2
    return 1 - distance / distance.max()


def item_tally(ratings: Ratings) -> np.ndarray:
    """Return items × categories: how many raters chose each category; items without ratings are left out."""
    tally = _tally(ratings.row, ratings)
    return tally[tally.any(axis=1)]


def _tally(side: np.ndarray, ratings: Ratings) -> np.ndarray:
    q = len(ratings.categories)
    size = max(len(ratings.items), len(ratings.raters))
    return np.bincount(side * q + ratings.code, minlength=size * q).reshape(-1, q).astype(float)


def _corrected(
    given: tuple[Any, str, str, str, Sequence[Any] | None],
    name: str,
    definition: str,
    weights: str | None,
    chance: Callable[[Ratings, np.ndarray | None], float] | None,
    raters: str | None,
    conf_level: float | None,
    chance_of_shares: Callable[[np.ndarray, np.ndarray | None], np.ndarray] | None = None,
) -> Coefficient:
    """Return (observed − expected) / (1 − expected), with the agreement that is expected by chance.

    That follows from the ratings (``chance``) or from the mean over items of each category's share, which is quicker.
    """
    choice("weights", weights, WEIGHTS)
    name = name if weights is None else f"{name}, {weights} weights"
    ratings = agreement_ratings(*given, name, "nominal" if weights is None else "ordinal")
    w = weight_matrix(ratings, weights)

    def corrected(observed: Any, expected: Any) -> np.ndarray:
        observed, expected = np.asarray(observed), np.asarray(expected)
        return np.where(expected < 1 - 1e-12, (observed - expected) / (1 - expected), np.nan)

    def per_item(tally: np.ndarray) -> np.ndarray:
        size = tally.sum(axis=1, keepdims=True)
        return np.hstack([_agreeing(tally, w), size > 0, tally / np.maximum(size, 1)])

    def value(sums: np.ndarray) -> np.ndarray:
        expected = chance_of_shares(sums[..., 3:] / sums[..., 2:3], w)  # type: ignore[misc]  # given where this is used
        return corrected(sums[..., 0] / sums[..., 1], expected)

    def statistic(some: Ratings) -> float:
        if chance is None:
            return float(value(per_item(item_tally(some)).sum(axis=0)))
        return float(corrected(_observed(some, w), chance(some, w)))

    return estimate(
        ratings,
        statistic,
        name=name,
        definition=definition + ("" if weights is None else f"; {weights} weights"),
        undefined=f"{CHANCE_LEAVES_NOTHING}, or {NO_COMMON_ITEMS}",
        raters=raters,
        conf_level=conf_level,
        replicates=None if chance else lambda random: leave_out_sums(ratings, per_item, value, random, means=True),
    )


def _observed(ratings: Ratings, w: np.ndarray | None) -> float:
    """Return the mean weight over pairs of ratings of an item, averaged over the items with two or more."""
    agreeing, items = _agreeing(item_tally(ratings), w).sum(axis=0)
    return float(agreeing / items) if items else np.nan


def _agreeing(tally: np.ndarray, w: np.ndarray | None) -> np.ndarray:
    """Return, of each item, the mean weight over pairs of its ratings, and whether there are any; else 0 and 0."""
    size = tally.sum(axis=1)
    some = size > 1
    pairs = ((_weighted(tally, w) * tally).sum(axis=1) - size) / np.where(some, size * (size - 1), 1.0)
    return np.column_stack([np.where(some, pairs, 0.0), some])


def _weighted(counts: np.ndarray, w: np.ndarray | None) -> np.ndarray:
    """Return counts of categories, each with all that agree with it, by their weights."""
    return counts if w is None else counts @ w
