"""What a study says that could have stopped earlier: its p-value, and an estimate that is not too large.

A study that stops because its result is extreme overestimates the effect, and its printed p-value does not know of the
looks before. Both are corrected in the stage-wise ordering (:func:`ordbridge.planning.stopping.upper_tail`): the
p-value is the probability, where nothing differs, of a result at least as extreme; the median-unbiased estimate is the
effect under which results as high as this one have probability ½, and the ends of the interval those under which they
have alpha/2 and 1 − alpha/2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ordbridge.planning.stopping import upper_tail

WIDER = 1.0  # by how much z is varied at first in the search for an end of the interval


@dataclass(frozen=True)
class AfterStopping:
    """What a stopped study found, corrected for its looks.

    Attributes
    ----------
    p_value
        Two-sided.
    estimate, conf_low, conf_high
        Median-unbiased, and its interval.
    """

    p_value: float
    estimate: float
    conf_low: float
    conf_high: float


def adjusted(
    times: Sequence[float], critical: Sequence[float], z: float, std_error: float, alpha: float = 0.05
) -> AfterStopping:
    """Correct the result of the last look for those before it.

    Parameters
    ----------
    times, critical
        The share of the information at each look, and the critical value of |z| there; the last ones are those of the
        look at which the study ended.
    z, std_error
        The statistic at that look, and the standard error of its estimate, which is their product.
    alpha
        One less the level of the interval.

    References
    ----------
    Jennison, C. & Turnbull, B. W. (2000). *Group sequential methods with applications to clinical trials*. Chapman &
    Hall, sections 8.3 to 8.5.

    Examples
    --------
    >>> adjusted([1.0], [1.96], 1.96, 0.1).p_value
    0.04999579...
    >>> later = adjusted([0.5, 1.0], [2.797, 1.977], 2.2, 0.1)
    >>> round(later.p_value, 4), round(later.estimate, 3)
    (0.0304, 0.219)
    """
    upper = upper_tail(times, critical, z)
    scale = std_error * times[-1] ** 0.5  # of the estimate, per unit of drift
    ends = [_drift(times, critical, z, share) * scale for share in (0.5, alpha / 2, 1 - alpha / 2)]
    return AfterStopping(min(1.0, 2 * min(upper, 1 - upper)), *ends)


def _drift(times: Sequence[float], critical: Sequence[float], z: float, share: float) -> float:
    """Return the drift under which a result as high as this one has the probability ``share``."""
    from scipy.optimize import brentq
    from scipy.special import ndtri

    def over(drift: float) -> float:
        return upper_tail(times, critical, z, drift) - share

    naive = (z + ndtri(share)) / times[-1] ** 0.5  # that of a study with this look only
    low, high = naive - WIDER, naive + WIDER
    while over(low) > 0:
        low -= 2 * (naive - low)
    while over(high) < 0:
        high += 2 * (high - naive)
    return float(brentq(over, low, high, xtol=1e-7))
