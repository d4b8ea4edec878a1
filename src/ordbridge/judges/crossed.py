"""The variance of a weighted mean of ratings when both texts and people are samples.

What a rating adds to the mean has a part of its cluster of texts, one of the person who gave it, and one of its own.
Their variances follow from three sums of squares: over clusters, over people, and over single cells.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Spread:
    """A variance, its degrees of freedom by Satterthwaite, and the variance before its lower bounds were kept."""

    variance: float
    df: float
    unbounded: float


class Crossed:
    r"""People × clusters of texts, complete or not, with the weight that each rating has in a mean.

    In each cell of a cluster i and a person j, :math:`c_{ij} = w_{ij} (u_{ij} - \bar u)` is what it adds to the mean,
    with :math:`u_{ij} = a_i + b_j + e_{ij}` and weights that sum to 1. The sums of squares of :math:`c` over clusters,
    over people and over cells have expectations that are linear in the three variances, which are solved for; the
    variance of the mean is :math:`\sigma_a^2 \sum_i w_i^2 + \sigma_b^2 \sum_j w_j^2 + \sigma_e^2 \sum w_{ij}^2`.
    Where everybody rated everything these are the mean squares of the analysis of variance, and the variance is
    :math:`(MS_a + MS_b - MS_e)/nm`. It is at least that over clusters alone and that over people alone.

    Parameters
    ----------
    weight
        The size of each rating's weight.
    cluster, person
        What it is about and who gave it, numbered from 0.

    References
    ----------
    Henderson, C. R. (1953). Estimation of variance and covariance components. Biometrics 9, 226–252. Satterthwaite, F.
    E. (1946). An approximate distribution of estimates of variance components. Biometrics Bulletin 2, 110–114.

    Examples
    --------
    >>> x = np.array([[1.0, 2.0], [3.0, 5.0], [2.0, 2.0]])
    >>> cluster, person = (side.ravel() for side in np.indices(x.shape))
    >>> found = Crossed(np.full(6, 1 / 6), cluster, person).spread((x - x.mean()).ravel() / 6)
    >>> round(found.variance, 4)  # (MS of rows 3.5, of columns 1.5, of the rest 0.5) / 6
    0.75
    """

    def __init__(self, weight: np.ndarray, cluster: np.ndarray, person: np.ndarray) -> None:
        people = int(person.max()) + 1
        cells, self._cell = np.unique(cluster * people + person, return_inverse=True)
        _, self._i = np.unique(cells // people, return_inverse=True)
        _, self._j = np.unique(cells % people, return_inverse=True)
        w = np.bincount(self._cell, weight)
        w = w / w.sum()
        self._wi, self._wj = np.bincount(self._i, w), np.bincount(self._j, w)
        self._sizes = np.array([(one**2).sum() for one in (self._wi, self._wj, w)])
        self._solve = np.linalg.pinv(self._expected(w), rcond=1e-10)

    def spread(self, added: np.ndarray) -> Spread:
        """Return the variance of the mean, from what each rating adds to it, centred."""
        c = np.bincount(self._cell, added)
        squares = np.array([(sums**2).sum() for sums in (np.bincount(self._i, c), np.bincount(self._j, c), c)])
        parts = (self._solve @ squares) * self._sizes
        unbounded = float(parts.sum())
        one_way = [_alone(total, one) for total, one in zip(squares, (self._wi, self._wj), strict=False)]
        variance = max(unbounded, *one_way)
        dfs = [max(1 / size - 1, 1.0) for size in self._sizes[:2]]
        if variance <= 0:
            return Spread(0.0, float(dfs[0]), unbounded)
        uncertain = sum(v**2 / df for v, df in zip(one_way, dfs, strict=True)) + parts[2] ** 2 / (dfs[0] * dfs[1])
        return Spread(variance, float(max(variance**2 / uncertain, 1.0)), unbounded)

    def _expected(self, w: np.ndarray) -> np.ndarray:
        """Return what each variance adds to the sums of squares over clusters, people and cells (one row each)."""
        wi, wj, at_i, at_j = self._wi, self._wj, self._wi[self._i], self._wj[self._j]
        si, sj, s = self._sizes
        i_and_j = s - 2 * (w * at_i * at_j).sum() + si * sj
        i_and_cell, j_and_cell = (s - 2 * (w**2 * at).sum() + size * s for at, size in ((at_i, si), (at_j, sj)))
        return np.array(
            [
                [si - 2 * (wi**3).sum() + si**2, i_and_j, i_and_cell],
                [i_and_j, sj - 2 * (wj**3).sum() + sj**2, j_and_cell],
                [i_and_cell, j_and_cell, s - 2 * (w**3).sum() + s**2],
            ]
        )


def _alone(total: float, weight: np.ndarray) -> float:
    """Return the variance of the mean if nothing but these groups mattered; of one group nothing is known."""
    size = float((weight**2).sum())
    left = 1 - 2 * float((weight**3).sum()) / size + size
    return float(total) / left if left > 1e-9 else 0.0
