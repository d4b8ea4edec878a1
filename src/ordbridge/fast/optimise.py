"""BFGS and Newton's method without bounds, for objectives whose every evaluation gives the gradient as well.

scipy's BFGS would do the same, but its bookkeeping costs more than an evaluation here, and it has no place for the
modes that are carried along a search line (Nocedal & Wright 2006, chapters 3 and 6).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ordbridge.errors import FitTimeout
from ordbridge.fast.compiled import kernel

__all__ = ["Clock", "Minimum", "Objective", "between", "direction_of", "minimise", "newton", "update"]

SUFFICIENT, CURVATURE = 1e-4, 0.9  # the constants of Wolfe's conditions
LONGEST = 1.5  # no parameter of these models moves further in one step
GUESSES = 2  # how many steps the objective's own guess is asked for again
FLAT = 1e-7  # curvatures below it, relative to the largest one, count as this much
NEGATIVE = 1e-5  # a curvature below minus this, relative to the largest one, makes a point a saddle


class Objective(Protocol):
    """A function of a parameter vector that remembers where it was last evaluated."""

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return value and gradient; an infinite value where the function is not defined."""

    def prepare(self, direction: np.ndarray) -> None:
        """Get ready for evaluations along a direction from the point of the last evaluation."""

    def moved(self, step: float) -> None:
        """Say that the next evaluation is ``step`` times the direction away from where it was prepared."""

    def inverse(self) -> np.ndarray | None:
        """Return a guess of the inverse Hessian at the point of the last evaluation, None if there is no good one."""


class Clock:
    """Stops a fit that runs longer than it may."""

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self.began = time.monotonic()

    def check(self) -> None:
        """Raise FitTimeout if the time is over."""
        if self.seconds is not None and time.monotonic() - self.began > self.seconds:
            raise FitTimeout(f"the fit ran longer than timeout={self.seconds:g} seconds and was stopped")


@dataclass(frozen=True, eq=False)
class Minimum:
    """Where the search ended."""

    x: np.ndarray
    value: float
    gradient: np.ndarray
    evaluations: int
    converged: bool


def minimise(
    objective: Objective,
    x: np.ndarray,
    clock: Clock,
    gain: float = 1e-9,
    inverse: np.ndarray | None = None,
    iterations: int = 300,
) -> Minimum:
    """Minimise from ``x`` until a step promises to gain less than ``gain``.

    The first steps go by the objective's own guess of the inverse Hessian, corrected by the last step; from then on
    BFGS keeps it up to date. A given ``inverse`` takes the place of all guesses.

    Examples
    --------
    >>> class Bowl:
    ...     def __call__(self, x): return float(x @ x), 2 * x
    ...     def prepare(self, direction): pass
    ...     def moved(self, step): pass
    ...     def inverse(self): return np.eye(2)
    >>> found = minimise(Bowl(), np.array([3.0, 4.0]), Clock(None))
    >>> bool(abs(found.x).max() < 1e-6)
    True
    """
    value, gradient = objective(x)
    evaluations = 1
    guess = objective.inverse() if inverse is None else inverse
    guess = np.eye(x.size) if guess is None else guess
    B = guess.copy()
    for iteration in range(iterations):
        clock.check()
        direction, slope, longest = direction_of(B, gradient)
        if not slope < 0:  # rounding has spoiled the approximation: start it again
            B = guess.copy()
            direction, slope, longest = direction_of(B, gradient)
        if -slope < gain:
            return Minimum(x, value, gradient, evaluations, True)
        objective.prepare(direction)
        first = min(1.0, LONGEST / longest)
        step, new_value, new_gradient, used = _search(objective, x, value, gradient, direction, slope, first)
        evaluations += used
        if step == 0.0:
            settled = -slope < max(1e3 * gain, 1e-12 * abs(value))
            return Minimum(x, value, gradient, evaluations, settled)
        s = step * direction
        if inverse is None and iteration < GUESSES and used == 1:
            again = objective.inverse()
            B = B if again is None else again
        update(B, s, new_gradient - gradient)
        x, value, gradient = x + s, new_value, new_gradient
    return Minimum(x, value, gradient, evaluations, False)


def newton(
    objective: Objective,
    x: np.ndarray,
    hessian: Callable[[], np.ndarray],
    clock: Clock,
    gain: float = 1e-13,
    iterations: int = 100,
) -> Minimum:
    """Minimise from ``x`` by Newton's method until a step promises to gain less than ``gain``.

    ``hessian`` gives the Hessian at the point of the last evaluation, which at the end is the minimum. Where it is not
    positive definite the steps go by the absolute values of the curvatures, which leads away from saddles.

    Examples
    --------
    >>> class Valley:
    ...     def __call__(self, x): return float(np.cosh(x).sum()), np.sinh(x)
    ...     def prepare(self, direction): pass
    ...     def moved(self, step): pass
    >>> x = np.array([1.0, -2.0])
    >>> bool(abs(newton(Valley(), x, lambda: np.diag(np.cosh(x)), Clock(None)).x).max() < 1e-6)
    True
    """
    evaluations = 1
    settled = False
    for _ in range(iterations):
        clock.check()
        value, gradient = objective(x)
        values, vectors = np.linalg.eigh(hessian())
        steepness = np.maximum(np.abs(values), FLAT * np.abs(values).max())
        direction = -(vectors @ ((vectors.T @ gradient) / steepness))
        slope = float(gradient @ direction)
        if -slope < gain:
            beyond = _off_saddle(objective, x, value, values, vectors)
            if beyond is None:
                settled = True
                break
            x = beyond
            continue
        objective.prepare(direction)
        first = min(1.0, LONGEST / float(np.abs(direction).max()))
        step, _, _, used = _search(objective, x, value, gradient, direction, slope, first)
        evaluations += used
        if step == 0.0:
            settled = -slope < max(1e3 * gain, 1e-12 * abs(value))
            break
        x = x + step * direction
    value, gradient = objective(x)
    return Minimum(x, value, gradient, evaluations, settled)


def _off_saddle(
    objective: Objective, x: np.ndarray, value: float, values: np.ndarray, vectors: np.ndarray
) -> np.ndarray | None:
    """Return a lower point along the direction of the most negative curvature, None if there is none."""
    if values[0] < -NEGATIVE * values[-1]:
        for step in (0.1, -0.1):
            if objective(x + step * vectors[:, 0])[0] < value:
                return x + step * vectors[:, 0]
    return None


@kernel
def direction_of(B, gradient):  # type: ignore[no-untyped-def]
    """Return -B g, its slope along g, and its largest entry."""
    direction = np.empty_like(gradient)
    slope, longest = 0.0, 0.0
    for i in range(gradient.size):
        total = 0.0
        for j in range(gradient.size):
            total -= B[i, j] * gradient[j]
        direction[i] = total
        slope += total * gradient[i]
        longest = max(longest, abs(total))
    return direction, slope, longest


@kernel
def update(B, s, y):  # type: ignore[no-untyped-def]
    """Update the inverse Hessian B in place with a step s and the change y of the gradient."""
    n = s.size
    sy, ss, yy, yBy = 0.0, 0.0, 0.0, 0.0
    By = np.zeros(n)
    for i in range(n):
        sy += s[i] * y[i]
        ss += s[i] * s[i]
        yy += y[i] * y[i]
        for j in range(n):
            By[i] += B[i, j] * y[j]
        yBy += y[i] * By[i]
    if not sy > 1e-12 * math.sqrt(ss * yy):
        return
    factor = (1.0 + yBy / sy) / sy
    for i in range(n):
        for j in range(n):
            B[i, j] += factor * s[i] * s[j] - (By[i] * s[j] + s[i] * By[j]) / sy


def _search(
    objective: Objective,
    x: np.ndarray,
    value: float,
    gradient: np.ndarray,
    direction: np.ndarray,
    slope: float,
    first: float,
) -> tuple[float, float, np.ndarray, int]:
    """Find a step that meets Wolfe's conditions; 0 if no step lowers the value."""
    low, low_value, low_slope = 0.0, value, slope
    high: float | None = None
    high_value = high_slope = math.inf
    best = (0.0, value, gradient)
    step = first
    for used in range(1, 41):
        objective.moved(step)
        tried, tried_gradient = objective(x + step * direction)
        tried_slope = float(tried_gradient @ direction) if math.isfinite(tried) else math.inf
        rounding = 1e-13 * abs(value)
        if math.isfinite(tried) and tried < best[1]:
            best = (step, tried, tried_gradient)
        if not tried <= value + SUFFICIENT * step * slope + rounding or (tried >= low_value + rounding and low > 0):
            high, high_value, high_slope = step, tried, tried_slope
        elif abs(tried_slope) <= -CURVATURE * slope:
            return step, tried, tried_gradient, used
        elif tried_slope > 0:
            high, high_value, high_slope = step, tried, tried_slope
        else:
            low, low_value, low_slope = step, tried, tried_slope
        if high is None:
            step *= 2.5
        else:
            if abs(high - low) < 1e-10 * max(1.0, abs(high)):
                break
            step = between(low, low_value, low_slope, high, high_value, high_slope)
    return (*best, used)


@kernel
def between(a, fa, ga, b, fb, gb):  # type: ignore[no-untyped-def]
    """Return the minimum of the cubic through both ends, kept away from the ends."""
    width = b - a
    if not math.isfinite(fb):
        return a + 0.25 * width
    d1 = ga + gb - 3.0 * (fb - fa) / width
    square = d1 * d1 - ga * gb
    if square < 0.0 or not math.isfinite(square):
        return a + 0.5 * width
    d2 = math.sqrt(square)
    step = b - width * (gb + d2 - d1) / (gb - ga + 2.0 * d2)
    return min(max(step, a + 0.1 * width), b - 0.1 * width)
