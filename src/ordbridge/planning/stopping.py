"""Group-sequential boundaries: how extreme a result must be to stop a study before its end.

Looking at the data several times at the usual critical value rejects a true null too often. O'Brien and Fleming (1979)
ask for much at first and for nearly the usual value at the end, ``c / √t`` after a share ``t`` of the information;
Pocock (1977) asks for the same at every look. The constant makes the probability of crossing at any look equal to the
level where nothing differs, for statistics that grow like a Brownian motion.

A look that was not planned has no such boundary. It may use what a spending function of Lan and DeMets (1983) allows up
to this share of the information, less what the looks before have used.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from ordbridge.errors import InputError
from ordbridge.support.arguments import choice, numbers, proportion, whole
from ordbridge.support.naming import arg

SHAPES = ("obrien-fleming", "pocock")
POINTS, MOST_POINTS = 201, 4001  # of the grid on which the density of the statistic is carried from look to look
FINE = 0.1  # of the standard deviation of a step: how far apart they are at most
FARTHEST = 8.0  # standard deviations, where a look has no boundary


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
    proportion("alpha", alpha)
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
        raise InputError(
            f"{arg('looks', list(times))} must rise from above 0 to 1: the share of the study at each look"
        )
    return times


def shape_of(times: np.ndarray, shape: str) -> np.ndarray:
    """Return the boundary up to its constant."""
    return 1 / np.sqrt(times) if shape == "obrien-fleming" else np.ones_like(times)


def spent_by(time: float, *, alpha: float = 0.05, shape: str = "obrien-fleming") -> float:
    """Return how much of the level may be used up to a share of the information, both sides together.

    ``"obrien-fleming"``: 4 (1 − Φ(z / √t)) with z the (1 − alpha/4) quantile of the normal distribution, which is the
    O'Brien–Fleming-type function on each side; ``"pocock"``: alpha log(1 + (e − 1) t).

    References
    ----------
    Lan, K. K. G. & DeMets, D. L. (1983). Discrete sequential boundaries for clinical trials. *Biometrika* 70, 659–663.

    Examples
    --------
    >>> round(spent_by(0.5), 5), round(spent_by(0.5, shape="pocock"), 4), spent_by(1)
    (0.00305, 0.031, 0.05)
    """
    from scipy.special import ndtr, ndtri

    choice("shape", shape, SHAPES)
    if time <= 0:
        return 0.0
    if time >= 1:
        return alpha
    if shape == "pocock":
        return alpha * math.log1p((math.e - 1) * time)
    return float(4 * ndtr(ndtri(alpha / 4) / math.sqrt(time)))


def boundary_that_spends(spend: float, times: Sequence[float], critical: Sequence[float]) -> float:
    """Return the critical value of |z| at the last of ``times`` that is first crossed there with this probability.

    Parameters
    ----------
    spend
        The probability, where nothing differs; with 0 there is no boundary, and the value is infinite.
    times
        The share of the information at each look, that of the last one included.
    critical
        The critical values of the looks before it.

    Examples
    --------
    >>> first, second = boundaries(2)
    >>> spend = 0.05 - crossing_probabilities(np.array([0.5]), np.array([first])).sum()
    >>> round(boundary_that_spends(spend, (0.5, 1.0), (first,)), 6) == round(second, 6)
    True
    """
    from scipy.optimize import brentq
    from scipy.special import ndtr

    if spend <= 0:
        return math.inf
    *_, (moved, sd, mass) = _walk(times, (*critical, math.inf), 0.0)
    root = math.sqrt(times[-1])

    def beyond(z: float) -> float:
        return float(mass @ (ndtr((-z * root - moved) / sd) + ndtr((moved - z * root) / sd)))

    if beyond(0.0) <= spend:
        return 0.0
    if beyond(2 * FARTHEST) >= spend:
        return math.inf
    return float(brentq(lambda z: beyond(z) - spend, 0.0, 2 * FARTHEST, xtol=1e-9))


def crossing_probabilities(
    times: Sequence[float] | np.ndarray, critical: Sequence[float] | np.ndarray, drift: float = 0.0
) -> np.ndarray:
    """Return the probability of first crossing ``±critical`` at each look, of a Brownian motion with that drift.

    ``drift`` is the expected z at the end of the study. The density of the statistic among studies that went on is
    carried from look to look by numerical integration (Armitage, McPherson & Rowe 1969).

    Examples
    --------
    >>> crossing_probabilities(np.array([1.0]), np.array([1.959964])).round(4)
    array([0.05])
    """
    from scipy.special import ndtr

    limits = np.asarray(critical) * np.sqrt(np.asarray(times))
    return np.array(
        [
            float(mass @ (ndtr((-limit - moved) / sd) + ndtr((moved - limit) / sd)))
            for limit, (moved, sd, mass) in zip(limits, _walk(times, critical, drift), strict=True)
        ]
    )


def upper_tail(times: Sequence[float], critical: Sequence[float], z: float, drift: float = 0.0) -> float:
    """Return the probability of a result at least as high as ``z`` at the last look, in the stage-wise ordering.

    Higher is what crosses the upper boundary at an earlier look, and what has a larger z at the same look; what crosses
    the lower boundary is lower the earlier it does (Tsiatis, Rosner & Mehta 1984). The boundary of the last look itself
    does not matter.

    References
    ----------
    Tsiatis, A. A., Rosner, G. L. & Mehta, C. R. (1984). Exact confidence intervals following a group sequential test.
    *Biometrics* 40, 797–803.

    Examples
    --------
    >>> round(upper_tail([1.0], [1.96], 1.96), 3)
    0.025
    """
    from scipy.special import ndtr

    limits = [c * math.sqrt(t) for c, t in zip(critical, times, strict=True)]
    limits[-1] = z * math.sqrt(times[-1])
    return math.fsum(
        float(mass @ ndtr((moved - limit) / sd))
        for limit, (moved, sd, mass) in zip(limits, _walk(times, critical, drift), strict=True)
    )


def _walk(
    times: Sequence[float] | np.ndarray, critical: Sequence[float] | np.ndarray, drift: float
) -> Iterator[tuple[np.ndarray, float, np.ndarray]]:
    """Yield for each look where studies that went on are expected, how they scatter around it, and how many they are.

    B(t) = z(t) √t has independent normal increments with mean drift · Δt and variance Δt.
    """
    steps = np.diff(np.asarray(times, dtype=float), prepend=0.0)
    start, mass = np.zeros(1), np.ones(1)
    for place, (time, step) in enumerate(zip(times, steps, strict=True)):
        moved, sd = start + drift * step, math.sqrt(step)
        yield moved, sd, mass
        if place + 1 == len(steps):
            return
        limit = min(critical[place] * math.sqrt(time), FARTHEST * math.sqrt(time) + abs(drift) * time)
        nodes, simpson = _simpson(limit, min(sd, math.sqrt(steps[place + 1])))
        density = np.exp(-(((nodes[:, None] - moved) / sd) ** 2) / 2) @ mass / (sd * math.sqrt(2 * math.pi))
        start, mass = nodes, density * simpson


def _simpson(limit: float, sd: float) -> tuple[np.ndarray, np.ndarray]:
    """Return points from −limit to limit, and Simpson's weights."""
    points = min(MOST_POINTS, max(POINTS, 2 * math.ceil(limit / (FINE * sd)) + 1))
    nodes = np.linspace(-limit, limit, points)
    weights = np.ones(points)
    weights[1:-1:2], weights[2:-1:2] = 4, 2
    return nodes, weights * (nodes[1] - nodes[0]) / 3
