"""Two-sided p-values of z and t statistics."""

from __future__ import annotations

import math

import numpy as np

__all__ = ["normal_p_value", "t_p_value"]


def normal_p_value(z: np.ndarray) -> np.ndarray:
    """Return P(|Z| > |z|) for a standard normal Z: erfc(|z| / sqrt 2), which needs no scipy.

    Examples
    --------
    >>> normal_p_value(np.array([0.0, 1.959963984540054])).round(12).tolist()
    [1.0, 0.05]
    """
    return np.array([math.erfc(abs(value) / math.sqrt(2.0)) for value in z])


def t_p_value(t: np.ndarray, df: np.ndarray) -> np.ndarray:
    """Return P(|T| > |t|) for T with Student's distribution with ``df`` degrees of freedom.

    Examples
    --------
    >>> t_p_value(np.array([1.0]), np.array([1.0])).round(12).tolist()
    [0.5]
    """
    from scipy.special import stdtr

    return np.asarray(2.0 * stdtr(df, -np.abs(t)))
