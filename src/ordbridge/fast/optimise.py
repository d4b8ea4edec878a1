"""What a search gives back, and the clock that stops it; the searches are compiled (``src/core/search.hpp``)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from ordbridge import _core
from ordbridge.errors import FitTimeout
from ordbridge.fast.factors import Layout
from ordbridge.support.naming import arg

__all__ = ["Clock", "Minimum", "minimise"]

MOVED = 0.02  # a standard deviation that is not zero
CREEPING = 25  # iterations after which a search is looked at; hardly any needs more unless it follows a bent valley


class Clock:
    """Stops a fit that runs longer than it may."""

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self.began = time.monotonic()

    @property
    def left(self) -> float | None:
        """Seconds that are left, None if there is no limit."""
        return None if self.seconds is None else self.seconds - (time.monotonic() - self.began)

    @contextmanager
    def watching(self) -> Iterator[float | None]:
        """Yield the seconds that are left; raise FitTimeout if they are over, or run out inside."""
        try:
            if self.left is not None and self.left < 0:
                raise _core.OutOfTime
            yield self.left
        except _core.OutOfTime:
            raise FitTimeout(
                f"the fit ran longer than {arg('timeout', self.seconds)} seconds and was stopped"
            ) from None


@dataclass(frozen=True, eq=False)
class Minimum:
    """Where the search ended."""

    x: np.ndarray
    value: float
    gradient: np.ndarray
    evaluations: int
    converged: bool
    inverse: np.ndarray | None = None  # of the Hessian, as far as the search knows it
    turned: bool = False  # from the end of a bent valley, so that both signs of the correlation were open to the search


def minimise(
    objective: _core.Laplace | _core.Deviance, x: np.ndarray, gain: float, layout: Layout, clock: Clock
) -> Minimum:
    """Search from x; the last entries of x are those of the Cholesky factors.

    Where the first standard deviation of a term is next to nothing, the likelihood has a valley bent like a circle
    (:meth:`Layout.turned`), along which a search creeps for hundreds of steps. After a while it is therefore put to the
    valley's ends. These lie between mirror images (the sign of a column is free), so that a standard deviation that is
    zero there stays zero; afterwards it is moved to see whether that is lower.
    """

    def search(x: np.ndarray, inverse: np.ndarray | None = None, iterations: int = 300) -> Minimum:
        with clock.watching() as seconds:
            return Minimum(*objective.minimise(x, gain, inverse, iterations=iterations, seconds=seconds))

    def go_on(found: Minimum) -> Minimum:
        return search(found.x, found.inverse)

    found = search(x, iterations=CREEPING)
    if found.converged or not np.isfinite(found.value):
        return found
    mean = x.size - layout.factor.size
    ends = [np.append(found.x[:mean], entries) for entries in layout.turned(found.x[mean:])]
    again = search(min(ends, key=lambda end: objective(end)[0])) if ends else go_on(found)
    used = found.evaluations + again.evaluations
    if ends and not again.value < found.value:  # the valley was none
        again = go_on(found)
        return replace(again, evaluations=used + again.evaluations)
    for k in mean + np.flatnonzero(layout.diagonal & (np.abs(again.x[mean:]) < MOVED)) if ends else ():
        moved = again.x.copy()
        moved[k] = MOVED
        if objective(moved)[0] < again.value - gain:
            again = search(moved)
            used += again.evaluations
    return replace(again, evaluations=used, turned=bool(ends))
