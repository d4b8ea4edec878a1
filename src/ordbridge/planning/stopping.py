"""Group-sequential boundaries: how extreme a result must be to stop a study before its end.

Looking at the data several times at the usual critical value rejects a true null too often. O'Brien and Fleming (1979)
ask for much at first and for nearly the usual value at the end, ``c / √t`` after a share ``t`` of the information;
Pocock (1977) asks for the same at every look. The constant makes the probability of crossing at any look equal to the
level where nothing differs, for statistics that grow like a Brownian motion.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ordbridge.checks import choice, numbers, share, whole
from ordbridge.errors import InputError

__all__ = ["SHAPES", "boundaries", "crossing_probabilities"]

SHAPES = ("obrien-fleming", "pocock")
POINTS = 801  # of the grid on which the density of the statistic is carried from look to look


def boundaries(
    looks: int | Sequence[float], *, alpha: float = 0.05, shape: str = "obrien-fleming"
) -> tuple[float, ...]:
    """Return the critical value of |z| at each look, two-sided.

    Parameters
    ----------
    looks
        How many looks there are, evenly spaced; or the share of the information at each look, the last one 1.
    alpha
        The level of the whole study.
    shape
        ``"obrien-fleming"`` or ``"pocock"``.

    References
    ----------
    O'Brien, P. C. & Fleming, T. R. (1979). A multiple testing procedure for clinical trials. *Biometrics* 35, 549–556.

    Pocock, S. J. (1977). Group sequential methods in the design and analysis of clinical trials. *Biometrika* 64,
    191–199.

    Armitage, P., McPherson, C. K. & Rowe, B. C. (1969). Repeated significance tests on accumulating data. *Journal of
    the Royal Statistical Society A* 132, 235–244.

    Examples
    --------
    >>> [round(value, 3) for value in boundaries(3)]
    [3.471, 2.454, 2.004]
    >>> [round(value, 3) for value in boundaries(3, shape="pocock")]
    [2.289, 2.289, 2.289]
    """
    from scipy.optimize import brentq

    times = shares_of_looks(looks)
    choice("shape", shape, SHAPES)
    share("alpha", alpha)
    form = shape_of(times, shape)
    constant = brentq(lambda c: crossing_probabilities(times, c * form).sum() - alpha, 0.1, 20.0, xtol=1e-8)
    return tuple(float(value) for value in constant * form)


def shares_of_looks(looks: int | Sequence[float]) -> np.ndarray:
    """Return the share of the study that each look has, ascending to 1."""
    if isinstance(looks, (int, np.integer)) and not isinstance(looks, bool):
        count = whole("looks", looks, least=1)
        return np.arange(1, count + 1) / count
    times = np.array(numbers("looks", looks))
    if times[0] <= 0 or abs(times[-1] - 1) > 1e-12 or (np.diff(times) <= 0).any():
        raise InputError(f"looks={list(times)} must rise from above 0 to 1: the share of the study at each look")
    return times


def shape_of(times: np.ndarray, shape: str) -> np.ndarray:
    """Return the boundary up to its constant."""
    return 1 / np.sqrt(times) if shape == "obrien-fleming" else np.ones_like(times)


def crossing_probabilities(times: np.ndarray, critical: np.ndarray, drift: float = 0.0) -> np.ndarray:
    """Return the probability of first crossing ``±critical`` at each look, of a Brownian motion with that drift.

    ``drift`` is the expected z at the end of the study. The density of the statistic among studies that went on is
    carried from look to look by numerical integration (Armitage, McPherson & Rowe 1969).

    Examples
    --------
    >>> crossing_probabilities(np.array([1.0]), np.array([1.959964])).round(4)
    array([0.05])
    """
    from scipy.special import ndtr

    # B(t) = z(t) √t has independent normal increments with mean drift · Δt and variance Δt.
    found, start, mass, before = [], np.zeros(1), np.ones(1), 0.0
    for time, limit in zip(times, critical * np.sqrt(times), strict=True):
        moved, sd = start + drift * (time - before), np.sqrt(time - before)
        found.append(float(mass @ (ndtr((-limit - moved) / sd) + ndtr((moved - limit) / sd))))
        nodes, simpson = _simpson(limit)
        density = np.exp(-(((nodes[:, None] - moved) / sd) ** 2) / 2) @ mass / (sd * np.sqrt(2 * np.pi))
        start, mass, before = nodes, density * simpson, time
    return np.array(found)


def _simpson(limit: float) -> tuple[np.ndarray, np.ndarray]:
    """Return points from −limit to limit, and Simpson's weights."""
    nodes = np.linspace(-limit, limit, POINTS)
    weights = np.ones(POINTS)
    weights[1:-1:2], weights[2:-1:2] = 4, 2
    return nodes, weights * (nodes[1] - nodes[0]) / 3
