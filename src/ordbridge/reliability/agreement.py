"""Agreement: whether raters give the same item the same category.

All coefficients but the first correct for chance, (observed − expected) / (1 − expected), and differ in what they
expect of chance. No library computes them for a thousand resamples of the items at once, so the formulas are written
out here; the tests hold them against statsmodels, krippendorff and published tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ordbridge.errors import InputError
from ordbridge.reliability.bootstrap import each_pair, estimate, margin, mean_defined
from ordbridge.reliability.ratings import GAP, Ratings, prepare, require
from ordbridge.reliability.records import Coefficient

__all__ = [
    "agreement_ratings",
    "cohen_kappa",
    "davies_fleiss_kappa",
    "fleiss_kappa",
    "gwet_ac",
    "kappa_of_pair",
    "percent_agreement",
    "tally_of",
]

CHANCE_LEAVES_NOTHING = (
    "all ratings that can be compared are in one category, so agreement by chance is already perfect"
)
NO_COMMON_ITEMS = "no two raters rated a common item"


def percent_agreement(
    data: Any,
    item: str = "item",
    rater: str = "participant",
    rating: str = "rating",
    *,
    scale: Sequence[Any] | None = None,
    draws: int = 1000,
    seed: int = 1,
    confidence: float = 0.95,
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
    >>> percent_agreement([[1, 1], [2, 2], [3, 1], [2, 2]], draws=0).value
    0.75
    """
    ratings = agreement_ratings(data, item, rater, rating, scale, "percent agreement", varied=False)
    weights = np.eye(len(ratings.categories))

    def statistic(codes: np.ndarray, counts: np.ndarray) -> np.ndarray:
        return _mean(counts, _agreement_within(tally_of(codes, len(weights)), weights))

    return estimate(
        ratings.rated_by(2),
        statistic,
        name="percent agreement",
        definition="mean over items of the share of equal pairs of ratings; not corrected for chance",
        undefined=NO_COMMON_ITEMS,
        draws=draws,
        seed=seed,
        confidence=confidence,
    )


def cohen_kappa(
    data: Any,
    item: str = "item",
    rater: str = "participant",
    rating: str = "rating",
    *,
    weights: str | None = None,
    scale: Sequence[Any] | None = None,
    draws: int = 1000,
    seed: int = 1,
    confidence: float = 0.95,
) -> Coefficient:
    r"""Cohen's κ, or weighted κ, of two raters; of more than two, the mean over pairs (Light's κ).

    Chance is two raters who keep their own distributions: :math:`p_e = \sum_{kl} w_{kl}\, p_{ak}\, p_{bl}`. Both
    distributions are taken from the items that the two have in common, so gaps are allowed.

    Parameters
    ----------
    data, item, rater, rating, scale
        See :func:`ordbridge.reliability.prepare`.
    weights
        ``None`` (only equal categories agree), ``"linear"`` or ``"quadratic"``: agreement falls with the distance of
        the categories' values, or of their positions where they are words.
    draws, seed, confidence
        Resamples of items for the interval, their seed, the interval's level.

    References
    ----------
    Cohen, J. (1960). Educational and Psychological Measurement 20, 37-46; Cohen, J. (1968). Psychological Bulletin 70,
    213-220; Light, R. J. (1971). Psychological Bulletin 76, 365-377.

    Examples
    --------
    >>> round(cohen_kappa([[1, 1], [2, 2], [3, 1], [2, 2]], draws=0).value, 4)
    0.6
    """
    _known_weights(weights, (None, "linear", "quadratic"))
    ratings = agreement_ratings(
        data, item, rater, rating, scale, "Cohen's κ", "nominal" if weights is None else "ordinal"
    )
    w = _weights(ratings, weights)

    def statistic(a: np.ndarray, b: np.ndarray, counts: np.ndarray) -> np.ndarray:
        return kappa_of_pair(a, b, counts, w)

    kind = "unweighted" if weights is None else f"{weights} weights"
    return estimate(
        ratings.rated_by(2),
        each_pair(statistic),
        name="Cohen's κ" if weights is None else f"Cohen's κ, {weights} weights",
        definition=f"Cohen's κ ({kind}), chance from each rater's own distribution{_over_pairs(ratings)}",
        undefined=f"{CHANCE_LEAVES_NOTHING}, or {NO_COMMON_ITEMS}",
        draws=draws,
        seed=seed,
        confidence=confidence,
    )


def fleiss_kappa(
    data: Any,
    item: str = "item",
    rater: str = "participant",
    rating: str = "rating",
    *,
    scale: Sequence[Any] | None = None,
    draws: int = 1000,
    seed: int = 1,
    confidence: float = 0.95,
) -> Coefficient:
    r"""Fleiss' κ of 1971: raters are interchangeable, chance is the distribution of all ratings together.

    Observed agreement is that of :func:`percent_agreement`; :math:`p_e = \sum_k \pi_k^2` with :math:`\pi_k` the mean
    over items of the share of category k. Gaps are allowed (Gwet's extension: items with one rating enter
    :math:`\pi_k` only); with as many ratings for each item it is exactly the coefficient of 1971, which for two
    raters is Scott's π, not Cohen's κ. The "Fleiss' κ" of nltk's ``multi_kappa`` is another coefficient:
    :func:`davies_fleiss_kappa`.

    References
    ----------
    Fleiss, J. L. (1971). Measuring nominal scale agreement among many raters. Psychological Bulletin 76, 378-382.
    Gwet, K. L. (2014). Handbook of Inter-Rater Reliability, 4th ed., chapter 2.

    Examples
    --------
    >>> round(fleiss_kappa([[1, 1, 1], [2, 2, 1], [3, 3, 3], [2, 2, 2]], draws=0).value, 4)
    0.7447
    """
    ratings = agreement_ratings(data, item, rater, rating, scale, "Fleiss' κ")
    weights = np.eye(len(ratings.categories))

    def statistic(codes: np.ndarray, counts: np.ndarray) -> np.ndarray:
        tally = tally_of(codes, len(weights))
        share = _shares(tally, counts)
        return _beyond_chance(_mean(counts, _agreement_within(tally, weights)), (share**2).sum(axis=1))

    return estimate(
        ratings,
        statistic,
        name="Fleiss' κ",
        definition="Fleiss (1971), chance from the distribution of all ratings together",
        undefined=f"{CHANCE_LEAVES_NOTHING}, or {NO_COMMON_ITEMS}",
        draws=draws,
        seed=seed,
        confidence=confidence,
    )


def davies_fleiss_kappa(
    data: Any,
    item: str = "item",
    rater: str = "participant",
    rating: str = "rating",
    *,
    scale: Sequence[Any] | None = None,
    draws: int = 1000,
    seed: int = 1,
    confidence: float = 0.95,
) -> Coefficient:
    r"""κ of Davies & Fleiss (1982), which nltk computes as ``multi_kappa`` and papers often call Fleiss' κ.

    Observed and expected agreement are those of Cohen's κ, averaged over pairs of raters before they are put into
    :math:`(\bar p_o - \bar p_e)/(1 - \bar p_e)`. It differs from Fleiss (1971), where all raters share one
    distribution (:func:`fleiss_kappa`), and from the mean of the pairs' κ (:func:`cohen_kappa`). For two raters it
    is Cohen's κ; for complete data it is also Conger's κ. Each pair counts once, on the items that it has in common.

    References
    ----------
    Davies, M., & Fleiss, J. L. (1982). Measuring agreement for multinomial data. Biometrics 38, 1047-1051.

    Examples
    --------
    >>> round(davies_fleiss_kappa([[1, 1, 1], [2, 2, 1], [3, 3, 3], [2, 2, 2]], draws=0).value, 4)
    0.75
    """
    ratings = agreement_ratings(data, item, rater, rating, scale, "Davies & Fleiss' κ")
    weights = np.eye(len(ratings.categories))

    def statistic(codes: np.ndarray, counts: np.ndarray) -> np.ndarray:
        def both(a: np.ndarray, b: np.ndarray, counts: np.ndarray) -> np.ndarray:
            return np.stack(_observed_and_expected(a, b, counts, weights), axis=1)

        pairs = each_pair(both)(codes, counts)  # observed, expected, observed, expected, …
        return _beyond_chance(mean_defined(pairs[:, 0::2]), mean_defined(pairs[:, 1::2]))

    return estimate(
        ratings.rated_by(2),
        statistic,
        name="Davies & Fleiss' κ",
        definition="Davies & Fleiss (1982), nltk's multi_kappa: observed and expected agreement averaged over pairs of "
        "raters, chance from each rater's own distribution",
        undefined=f"{CHANCE_LEAVES_NOTHING}, or {NO_COMMON_ITEMS}",
        draws=draws,
        seed=seed,
        confidence=confidence,
    )


def gwet_ac(
    data: Any,
    item: str = "item",
    rater: str = "participant",
    rating: str = "rating",
    *,
    weights: str | None = None,
    scale: Sequence[Any] | None = None,
    draws: int = 1000,
    seed: int = 1,
    confidence: float = 0.95,
) -> Coefficient:
    r"""Gwet's AC1 (no weights) or AC2 (weights): less fooled by one dominant category than κ.

    .. math:: p_e = \frac{\sum_{kl} w_{kl}}{q(q-1)} \sum_k \pi_k (1 - \pi_k)

    with q categories and :math:`\pi_k` as in :func:`fleiss_kappa`. Gaps are allowed. q counts every category that
    the raters could have chosen: give ``scale`` when some were never used.

    Parameters
    ----------
    data, item, rater, rating, scale
        See :func:`ordbridge.reliability.prepare`.
    weights
        ``None``, ``"linear"``, ``"quadratic"`` (distances of values) or ``"ordinal"`` (distances of positions,
        :math:`1 - \binom{|k-l|+1}{2} / \binom{q}{2}`).
    draws, seed, confidence
        Resamples of items for the interval, their seed, the interval's level.

    References
    ----------
    Gwet, K. L. (2008). Computing inter-rater reliability and its variance in the presence of high agreement. British
    Journal of Mathematical and Statistical Psychology 61, 29-48; (2014) Handbook of Inter-Rater Reliability, 4th ed.

    Examples
    --------
    >>> round(gwet_ac([[1, 1], [2, 2], [3, 1], [2, 2]], draws=0).value, 4)
    0.6444
    """
    _known_weights(weights, (None, "linear", "quadratic", "ordinal"))
    name = "Gwet's AC1" if weights is None else f"Gwet's AC2, {weights} weights"
    ratings = agreement_ratings(data, item, rater, rating, scale, name, "nominal" if weights is None else "ordinal")
    w = _weights(ratings, weights)
    q = len(w)

    def statistic(codes: np.ndarray, counts: np.ndarray) -> np.ndarray:
        tally = tally_of(codes, q)
        share = _shares(tally, counts)
        expected = w.sum() / (q * (q - 1)) * (share * (1 - share)).sum(axis=1)
        return _beyond_chance(_mean(counts, _agreement_within(tally, w)), expected)

    return estimate(
        ratings,
        statistic,
        name=name,
        definition=f"Gwet (2008, 2014), {'unweighted' if weights is None else weights + ' weights'}, "
        "over all categories of the scale or, where it is not given, those used",
        undefined=NO_COMMON_ITEMS,
        draws=draws,
        seed=seed,
        confidence=confidence,
    )


def agreement_ratings(
    data: Any,
    item: str,
    rater: str,
    rating: str,
    scale: Sequence[Any] | None,
    what: str,
    level: str = "nominal",
    varied: bool = True,
) -> Ratings:
    """Return the ratings, refusing those on which ``what`` is not defined."""
    ratings = prepare(data, item, rater, rating, scale)
    require(ratings, what, level, varied=varied)
    if not ((ratings.codes != GAP).sum(axis=1) > 1).any():
        raise InputError(f"{what} has no value here: {NO_COMMON_ITEMS}")
    return ratings


def _known_weights(weights: str | None, known: tuple[str | None, ...]) -> None:
    if weights not in known:
        raise InputError(f"weights={weights!r} is not known; use one of {', '.join(map(repr, known))}")


def _weights(ratings: Ratings, kind: str | None) -> np.ndarray:
    """Return categories × categories: 1 for equal categories, falling to 0 for the most distant ones."""
    q = len(ratings.categories)
    if kind is None:
        return np.eye(q)
    position = np.arange(q, dtype=float)
    at = position if kind == "ordinal" or ratings.scores is None else ratings.scores
    distance = np.abs(at[:, None] - at[None, :])
    if kind == "ordinal":
        distance = distance * (distance + 1)
    elif kind == "quadratic":
        distance = distance**2
    return 1 - distance / distance.max()


def tally_of(codes: np.ndarray, n_categories: int) -> np.ndarray:
    """Return items × categories: how many raters chose each category."""
    tally = np.zeros((len(codes), n_categories))
    rows, columns = np.nonzero(codes != GAP)
    np.add.at(tally, (rows, codes[rows, columns]), 1)
    return tally


def _agreement_within(tally: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the mean weight over pairs of ratings of each item, NaN for items with one rating."""
    size = tally.sum(axis=1)
    return (((tally @ weights) * tally).sum(axis=1) - size) / (size * (size - 1))


def _mean(counts: np.ndarray, contribution: np.ndarray) -> np.ndarray:
    """Return the mean over items that have a contribution, for every line of counts."""
    has = np.isfinite(contribution)
    return counts[:, has] @ contribution[has] / counts[:, has].sum(axis=1)


def _shares(tally: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the mean over items of each category's share, for every line of counts."""
    return counts @ (tally / tally.sum(axis=1, keepdims=True)) / counts.sum(axis=1, keepdims=True)


def kappa_of_pair(a: np.ndarray, b: np.ndarray, counts: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return Cohen's κ of two raters for every line of counts, NaN where chance leaves no room."""
    return _beyond_chance(*_observed_and_expected(a, b, counts, weights))


def _observed_and_expected(
    a: np.ndarray, b: np.ndarray, counts: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return Cohen's observed and expected agreement of two raters, for every line of counts."""
    n = counts.sum(axis=1)
    share_a, share_b = margin(a, counts) / n[:, None], margin(b, counts) / n[:, None]
    between_used = weights[np.ix_(np.unique(a), np.unique(b))]
    return counts @ weights[a, b] / n, ((share_a @ between_used) * share_b).sum(axis=1)


def _beyond_chance(observed: np.ndarray, expected: np.ndarray) -> np.ndarray:
    room = 1 - expected
    return (observed - expected) / np.where(room > 1e-12, room, np.nan)


def _over_pairs(ratings: Ratings) -> str:
    return "" if len(ratings.raters) == 2 else "; mean over pairs of raters"
