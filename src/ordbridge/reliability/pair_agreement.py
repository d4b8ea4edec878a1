"""Agreement of pairs of raters, averaged: Cohen's κ, and the κ that nltk computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ordbridge.reliability import pairs
from ordbridge.reliability.agreement import CHANCE_LEAVES_NOTHING, NO_COMMON_ITEMS, agreement_ratings, weight_matrix
from ordbridge.reliability.correlation import over_pairs
from ordbridge.reliability.jackknife import estimate
from ordbridge.reliability.pairs import CommonItems, common_items
from ordbridge.reliability.ratings import Ratings
from ordbridge.reliability.records import Coefficient
from ordbridge.support.arguments import choice


def cohen_kappa(
    data: Any,
    item: str = "item",
    participant: str = "participant",
    rating: str = "rating",
    *,
    weights: str | None = None,
    min_common: int | None = None,
    scale: Sequence[Any] | None = None,
    raters: str | None = None,
    conf_level: float | None = 0.95,
) -> Coefficient:
    r"""Cohen's κ, or weighted κ, of two raters; of more than two, the mean over pairs (Light's κ).

    Chance is two raters who keep their own distributions: :math:`p_e = \sum_{kl} w_{kl}\, p_{ak}\, p_{bl}`. Both
    distributions are taken from the items that the two have in common, and pairs are weighted by how many these are.
    Where raters share few items, κ of a pair says little and is biased towards 0: a pair needs ``min_common`` items,
    and :func:`ordbridge.reliability.conger_kappa` is the coefficient for such data.

    Parameters
    ----------
    data, item, participant, rating, scale
        See :func:`ordbridge.reliability.prepare`.
    weights
        ``None`` (only equal categories agree), ``"linear"`` or ``"quadratic"``: agreement falls with the distance of
        the categories' values, or of their positions where they are words.
    min_common
        Common items that a pair needs to enter; by default 10 where raters saw different items, else any number.
    raters, conf_level
        See :func:`ordbridge.reliability.fleiss_kappa`.

    References
    ----------
    Cohen, J. (1960). Educational and Psychological Measurement 20, 37-46; Cohen, J. (1968). Psychological Bulletin 70,
    213-220; Light, R. J. (1971). Psychological Bulletin 76, 365-377.

    Examples
    --------
    >>> round(cohen_kappa([[1, 1], [2, 2], [3, 1], [2, 2]]).estimate, 4)
    0.6
    """
    choice("weights", weights, (None, "linear", "quadratic"))
    level = "nominal" if weights is None else "ordinal"
    ratings = agreement_ratings(data, item, participant, rating, scale, "Cohen's κ", level)
    w = weight_matrix(ratings, weights)
    kind = "unweighted" if weights is None else f"{weights} weights"
    return over_pairs(
        ratings,
        lambda common: pairs.weighted_mean(common, *pairs.kappa(common, w)),
        "Cohen's κ" if weights is None else f"Cohen's κ, {weights} weights",
        f"Cohen's κ ({kind}), chance from each rater's own distribution",
        min_common,
        raters,
        conf_level,
    )


def davies_fleiss_kappa(
    data: Any,
    item: str = "item",
    participant: str = "participant",
    rating: str = "rating",
    *,
    scale: Sequence[Any] | None = None,
    raters: str | None = None,
    conf_level: float | None = 0.95,
) -> Coefficient:
    r"""κ of Davies & Fleiss (1982), which nltk computes as ``multi_kappa`` and papers often call Fleiss' κ.

    Observed and expected agreement are those of Cohen's κ, averaged over pairs of raters before they are put into
    :math:`(\bar p_o - \bar p_e)/(1 - \bar p_e)`. It differs from Fleiss (1971), where all raters share one
    distribution (:func:`ordbridge.reliability.fleiss_kappa`), and from the mean of the pairs' κ
    (:func:`cohen_kappa`). For two raters it is Cohen's κ; for complete data it is also Conger's κ. Each pair counts
    once, on the items that it has in common: where these are few, use :func:`ordbridge.reliability.conger_kappa`.

    References
    ----------
    Davies, M., & Fleiss, J. L. (1982). Measuring agreement for multinomial data. Biometrics 38, 1047-1051.

    Examples
    --------
    >>> round(davies_fleiss_kappa([[1, 1, 1], [2, 2, 1], [3, 3, 3], [2, 2, 2]]).estimate, 4)
    0.75
    """
    ratings = agreement_ratings(data, item, participant, rating, scale, "Davies & Fleiss' κ")

    def mean_of(common: CommonItems) -> float:
        observed, expected, *_ = pairs.observed_and_expected(common, None)
        return float(pairs.beyond_chance(observed.mean(), expected.mean())) if len(common.a) else np.nan

    def statistic(some: Ratings) -> float:
        return mean_of(common_items(some, least=1))

    return estimate(
        ratings.rated_by(2),
        statistic,
        name="Davies & Fleiss' κ",
        definition="Davies & Fleiss (1982), nltk's multi_kappa: observed and expected agreement averaged over pairs of "
        "raters, chance from each rater's own distribution",
        undefined=f"{CHANCE_LEAVES_NOTHING}, or {NO_COMMON_ITEMS}",
        raters=raters,
        conf_level=conf_level,
    )
