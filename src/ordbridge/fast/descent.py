"""The search of :func:`ordbridge.fast.optimise.minimise`, compiled together with the deviance of a linear mixed model.

On a small dataset an evaluation of the deviance costs less than the Python around it would.
"""

from __future__ import annotations

import math

import numpy as np

from ordbridge.fast.compiled import kernel
from ordbridge.fast.deviance import deviance
from ordbridge.fast.information import SMALLEST, inverse_variance_part
from ordbridge.fast.optimise import CURVATURE, GUESSES, LONGEST, SUFFICIENT, between, direction_of, update

__all__ = ["ARRIVED", "STUCK", "UNDERWAY", "descend"]

UNDERWAY, ARRIVED, STUCK = 0, 1, 2


@kernel
def descend(data, room, reml, x, gradient, B, value, done, steps, gain):  # type: ignore[no-untyped-def]
    """Make up to ``steps`` more steps of BFGS from x, ``done`` steps after the start, and overwrite x, gradient and B.

    Returns the value, the number of evaluations, and whether a step promises less than ``gain`` (ARRIVED) or none
    lowers the value (STUCK). The last evaluation was at x.
    """
    used = 0
    if done == 0:
        value = deviance(data, room, x, reml, gradient)
        used = 1
        B[:] = _guess(data, room, np.eye(x.size))
    for iteration in range(done, done + steps):
        direction, slope, longest = direction_of(B, gradient)
        if not slope < 0.0:  # rounding has spoiled the approximation: start it again
            B[:] = np.eye(x.size)
            direction, slope, longest = direction_of(B, gradient)
        if -slope < gain:
            return value, used, ARRIVED
        before = gradient.copy()
        step, value, tried = _line(data, room, reml, x, value, direction, slope, min(1.0, LONGEST / longest), gradient)
        used += tried
        if step == 0.0:
            return value, used, ARRIVED if -slope < max(1e3 * gain, 1e-12 * abs(value)) else STUCK
        if iteration < GUESSES and tried == 1:
            B[:] = _guess(data, room, B)
        for k in range(x.size):
            direction[k] *= step
            x[k] += direction[k]
            before[k] = gradient[k] - before[k]
        update(B, direction, before)
    return value, used, UNDERWAY


@kernel
def _guess(data, room, otherwise):  # type: ignore[no-untyped-def]
    """Return the inverse of the expected information at the last evaluation, ``otherwise`` if L is near singular."""
    for L in (room.L1, room.L2):
        for a in range(L.shape[0]):
            if abs(L[a, a]) < SMALLEST:
                return otherwise
    return inverse_variance_part(data, room)


@kernel
def _line(data, room, reml, x, value, direction, slope, first, gradient):  # type: ignore[no-untyped-def]
    """Find a step that meets Wolfe's conditions, leave the gradient there; 0 if no step lowers the value."""
    low, low_value, low_slope = 0.0, value, slope
    high, high_value, high_slope = math.inf, math.inf, math.inf
    best, best_value = 0.0, value
    tried_gradient = np.empty_like(gradient)
    step = first
    rounding = 1e-13 * abs(value)
    used = 0
    while used < 40:
        used += 1
        tried = deviance(data, room, x + step * direction, reml, tried_gradient)
        tried_slope = np.dot(tried_gradient, direction) if math.isfinite(tried) else math.inf
        if tried < best_value:
            best, best_value = step, tried
        if not tried <= value + SUFFICIENT * step * slope + rounding or (tried >= low_value + rounding and low > 0.0):
            high, high_value, high_slope = step, tried, tried_slope
        elif abs(tried_slope) <= -CURVATURE * slope:
            gradient[:] = tried_gradient
            return step, tried, used
        elif tried_slope > 0.0:
            high, high_value, high_slope = step, tried, tried_slope
        else:
            low, low_value, low_slope = step, tried, tried_slope
        if not math.isfinite(high):
            step *= 2.5
        elif abs(high - low) < 1e-10 * max(1.0, abs(high)):
            break
        else:
            step = between(low, low_value, low_slope, high, high_value, high_slope)
    best_value = deviance(data, room, x + best * direction, reml, gradient)  # what it leaves behind belongs to this end
    return best, best_value, used + 1
