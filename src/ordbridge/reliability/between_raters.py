"""How much raters add to the variance of a coefficient that is made of pairs of ratings, also where few saw the same.

Leaving a rater out shows what that rater does, and the noise of all pairs he or she is in. In a crowd, where every item
has other raters, that noise is most of it. So each rating is given what its own pairs say, and raters are compared by
what their ratings of different items have in common: noise of different items has nothing in common.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class SingleRatings:
    """A coefficient without each item, and without each rating; whose item (``row``) and rater (``column``) that is."""

    without_items: np.ndarray
    without_ratings: np.ndarray
    row: np.ndarray
    column: np.ndarray


def between_raters(whole: Any, found: SingleRatings) -> tuple[float, float]:
    r"""Return v_R, the variance of a coefficient over raters with the noise of single ratings, and v_IR, that noise.

    Of item i with k ratings, the coefficient z and its values :math:`z_{-i}` without the item and :math:`z_{-ih}`
    without rater h's rating of it give

    .. math:: u_{ih} = (z - z_{-i}) + \frac{k-2}{2}\,(z - z_{-ih}),

    what the pairs with that rating say: with :math:`\bar a_i` the mean over the pairs of an item and :math:`g_{ih}`
    over those with rater h, :math:`k \bar a_i - (k-2)\,\bar a_{i(-h)} = 2 g_{ih}`. If raters have effects ρ that add
    up, :math:`g_{ih} = \rho_h + \sum_{s \neq h} \rho_s/(k-1) + \ldots`, then
    :math:`Q = \sum_h \sum_{i \neq j} u_{ih} u_{jh}` has an expectation that is σ²_ρ times a number T which the design
    gives, and what raters add to the variance of z over that within items is
    :math:`\hat\sigma^2_\rho \sum_h \sum_{i \neq j} \frac{2}{k_i} \frac{2}{k_j}`. Of a complete design it is
    v_R − v_IR of :func:`ordbridge.reliability.jackknife.variance_together`.

    References
    ----------
    Searle, S. R., Casella, G., & McCulloch, C. E. (1992). Variance Components, chapter 5: quadratic forms and their
    expectations in unbalanced designs.

    Examples
    --------
    >>> row, column = np.divmod(np.arange(12), 3)  # 4 items, 3 raters; the first rater agrees less
    >>> single = SingleRatings(np.array([0.51, 0.5, 0.49, 0.5]), 0.5 + 0.01 * (column == 0), row, column)
    >>> raters, noise = between_raters(0.5, single)
    >>> raters > noise
    True
    """
    from scipy import sparse

    n, m, ratings = len(found.without_items), int(found.column.max()) + 1, len(found.row)
    k = np.bincount(found.row, minlength=n)
    item = whole - found.without_items
    item = item - item.mean()
    u = item[found.row] + np.maximum(k[found.row] - 2, 0) / 2 * (whole - found.without_ratings)
    # Items' effects are centred, so that products of different items have an expectation of −(variance of items)/n.
    rated = np.bincount(found.column, minlength=m).astype(float)
    centring = float((rated * (rated - 1)).sum()) / n
    of_raters = float((np.bincount(found.column, weights=u, minlength=m) ** 2).sum())
    noise = float((u**2).sum()) - centring * float((item**2).sum()) / (n - 1)
    # T: the same sums, for an effect of 1 of one rater after the other
    share = (2 / k)[found.row]
    own = np.bincount(found.column, weights=share, minlength=m)
    mean = own / n
    others = np.where(k > 1, 1 / np.maximum(k - 1, 1), 0.0)
    seen = sparse.csr_array((np.ones(ratings), (found.row, found.column)), shape=(n, m))
    shared = seen.T @ sparse.dia_array((others[None, :], [0]), shape=(n, n)) @ seen
    shared = (shared - sparse.dia_array((shared.diagonal()[None, :], [0]), shape=(m, m))).tocsr()
    squares = (rated**2).sum() * (1 + (mean**2).sum()) - 2 * (rated**2 * mean).sum()
    squares += shared.multiply(shared).sum() - 2 * rated @ (shared @ mean)
    alone = ratings + others[found.row].sum() - 4 * rated @ mean + ratings * (mean**2).sum()
    expected = squares - alone + centring * ((share**2).sum() - n * (mean**2).sum()) / (n - 1)
    weight = (own**2).sum() - (share**2).sum()
    if expected <= 1e-9 * ratings or weight <= 0:  # no rater has rated two items
        return 0.0, 0.0
    scale = (n - 1) / n * weight / expected
    return float(of_raters * scale), float(noise * scale)
