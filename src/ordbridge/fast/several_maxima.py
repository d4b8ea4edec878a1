"""The search for links whose Laplace likelihood has several maxima: the cauchit, which is not log-concave.

Two things make one start too few. A random effect can have several modes, so that there are several maxima of the
likelihood. And where a mode vanishes as parameters change, H is singular and the approximate likelihood, which has
-log det H / 2, grows without bound: towards such a place a search never converges, and what it finds means nothing.

So the search goes through the models with fewer random effects and those without predictors, smallest first. Each
starts where those with one of these less ended, besides the usual start, and an end at which a search did not converge
is never taken, only remembered. Then a larger model does not end below a smaller one, and it is known whether a search
reached more without converging.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ordbridge import _core
from ordbridge.fast.factors import Layout
from ordbridge.fast.optimise import Clock, Minimum

__all__ = ["End", "Found", "Start", "search_nested_models"]

LATTICE = 2  # with so many random effects all smaller models are searched; of more the last is left out first
ENTRANCE = (0.02, 0.3, 1.0)  # standard deviations, over that of the usual start, at which a new effect comes in
OTHER_SPREADS = (0.1, 4.0, 20.0, 35.0)  # the same for all standard deviations of a model
AGAIN = 2  # searches that did not converge are begun anew so often: their approximate Hessian may have been spoiled
GAIN = 1e-9  # a step that promises less ends a search
CLOSENESS = 1e-6  # of modes: next to where they vanish, loose ones give a likelihood that there is not
PREDICTORS = -1  # stands for all predictors among the parts of a model

End = tuple[Minimum, np.ndarray]  # where a search ended, with the modes there
Parts = frozenset[int]  # of a model: positions of standard deviations among the entries of L, and PREDICTORS
Start = Callable[[float, float], np.ndarray]
Objective = Callable[[np.ndarray, bool], _core.Laplace]


@dataclass(frozen=True)
class Found:
    """The ends to choose from, best first, after how many searches; the lowest value at which one did not converge."""

    ends: list[End]
    starts: int
    evaluations: int = 0
    unsettled: float = np.inf


def search_nested_models(objective: Objective, start: Start, predictors: slice, layout: Layout, clock: Clock) -> Found:
    """Search a model and the smaller ones in it.

    Parameters
    ----------
    objective
        Gives the likelihood in which only some entries of the Cholesky factors, by position, are free, with or without
        predictors.
    start
        Gives the usual start of all parameters, from a factor of its standard deviations and a correlation.
    predictors
        Where the predictors' coefficients are among the parameters.
    layout
        Which entries there are.
    clock
        Stops the search when the time is over.
    """
    return _NestedModels(objective, start, predictors, layout, clock).found()


class _NestedModels:
    def __init__(self, objective: Objective, start: Start, predictors: slice, layout: Layout, clock: Clock) -> None:
        self.objective, self.start, self.layout, self.clock = objective, start, layout, clock
        self.usual = start(1.0, 0.0)
        self.mean = self.usual.size - layout.factor.size
        self.predictors = np.arange(self.mean)[predictors]
        self.best: dict[Parts, End] = {}
        self.starts, self.evaluations, self.unsettled = 0, 0, np.inf
        self.no_modes = np.zeros(layout.structure.core.effects)

    def found(self) -> Found:
        whole = frozenset(map(int, np.flatnonzero(self.layout.diagonal)))
        ends = self.ends_of(whole | {PREDICTORS} if self.predictors.size else whole)
        # ends that agree to 1e-7 are the same optimum: the first of them is kept, so that rounding decides nothing
        ends.sort(key=lambda end: round(end[0].value, 7))
        return Found(ends, self.starts, self.evaluations, self.unsettled)

    def ends_of(self, parts: Parts) -> list[End]:
        """Return where the searches of a model with these parts converged, and the best of the smaller models."""
        if not parts - {PREDICTORS}:
            return self.search(parts, self.start(0.0, 0.0), self.no_modes, whether_converged=True)
        correlations = (0.0, 0.6, -0.6) if self.layout.has_correlations else (0.0,)
        usual = [(1.0, correlation) for correlation in correlations] + [(spread, 0.0) for spread in OTHER_SPREADS]
        ends = [end for one in usual for end in self.search(parts, self.start(*one), self.no_modes)]
        for part in sorted(parts) if len(parts - {PREDICTORS}) <= LATTICE else {max(parts), PREDICTORS} & parts:
            minimum, modes = self.best_of(parts - {part})
            for x in self.entrances(minimum.x, part):
                ends += self.search(parts, x, modes)
            ends.append((minimum, modes))
        return ends

    def best_of(self, parts: Parts) -> End:
        if parts not in self.best:
            self.best[parts] = min(self.ends_of(parts), key=lambda end: round(end[0].value, 7))
        return self.best[parts]

    def entrances(self, x: np.ndarray, part: int) -> list[np.ndarray]:
        """Return a smaller model's parameters with those of a new part beside them."""
        new = self.predictors if part == PREDICTORS else self.mean + part
        found = []
        for factor in (0.0, 1.0) if part == PREDICTORS else ENTRANCE:
            entered = x.copy()
            entered[new] = factor * self.usual[new]
            found.append(entered)
        return found

    def search(self, parts: Parts, x: np.ndarray, modes: np.ndarray, whether_converged: bool = False) -> list[End]:
        """Search from x; return the end if it converged, or in any case."""
        layout = self.layout
        kept = {(layout.factor[k], layout.row[k]) for k in parts - {PREDICTORS}}
        places = zip(layout.factor, layout.row, layout.column, strict=True)
        entries = np.array([(f, a) in kept and (f, b) in kept for f, a, b in places], dtype=bool)
        free = np.append(np.ones(self.mean, dtype=bool), entries)
        free[self.predictors] = PREDICTORS in parts
        laplace = self.objective(np.flatnonzero(entries), PREDICTORS in parts)
        laplace.closeness, laplace.modes = CLOSENESS, modes
        own = x[free]
        for _ in range(1 + AGAIN):
            with self.clock.watching() as seconds:
                found = Minimum(*laplace.minimise(own, GAIN, seconds=seconds))
            self.evaluations += found.evaluations
            if found.converged or not np.isfinite(found.value):
                break
            own = found.x
        self.starts += 1
        if not (found.converged or whether_converged):
            self.unsettled = min(self.unsettled, found.value)
            return []
        full, gradient = np.zeros(x.size), np.zeros(x.size)
        full[free], gradient[free] = found.x, found.gradient
        return [(replace(found, x=full, gradient=gradient), laplace.modes)]
