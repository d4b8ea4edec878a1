"""How often the test of a planned design is significant where nothing differs, and what makes it keep its level."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ordbridge.planning.evidence import Candidate, Null
from ordbridge.planning.hypotheses import Simulations
from ordbridge.planning.null_truth import without_difference
from ordbridge.power.calibration import Critical, adjusted_power, critical_value, nulls_of
from ordbridge.power.grid import Grid

EACH = 2  # datasets without a difference for one with it, as long as there may be more of them
FEW = 20  # datasets that show whether the native engine can fit a model at all


@dataclass(frozen=True)
class Nulls:
    """Datasets without a difference (at the margin, where there is one) on the designs of a plan.

    Attributes
    ----------
    simulations
        The datasets of the plan itself.
    most
        How many of a design.
    calibrate
        Whether the critical value of a design is taken from them, or they only tell how often the test rejects.
    at_once
        Whether a design has all of them at once: there is only one.
    first
        A candidate on which the native engine shows whether it can fit the model.
    """

    simulations: Simulations
    most: int
    calibrate: bool
    at_once: bool
    first: Candidate

    def look(self, candidate: Candidate, n: int) -> None:
        """Bring a candidate to ``n`` datasets, and its nulls to as many as belong to them; judge it by both."""
        p = self.simulations.p_values(candidate.grid, n)
        candidate.n, candidate.failed = p.size, int(np.isnan(p).sum())
        candidate.nominal = candidate.significant = int((p < self.simulations.alpha).sum())
        if self.calibrate:
            found = adjusted_power(p, self._add(candidate, self._wanted(n)))
            candidate.significant, candidate.weight = found.significant, found.weight

    def size(self, candidate: Candidate) -> None:
        """See to it that a candidate has a null."""
        if candidate.null is None and self.most:
            self._add(candidate, self.most)
            candidate.null = candidate.null and candidate.null._replace(critical_value=None)

    def missing(self, candidate: Candidate) -> int:
        """Return how many datasets of a candidate's nulls are not there yet and will be fitted by the plan's engine."""
        if self._fitted.engine != self.simulations.engine:
            return 0
        grids = null_grids(candidate.grid, self.simulations)
        return sum(max(0, self._wanted(candidate.n) - self._fitted.stored(grid)) for grid in grids)

    def _wanted(self, n: int) -> int:
        return (
            self.most
            if self.at_once
            else min(
                self.most, max(round(EACH * n * rarer(self.simulations.alpha)), math.ceil(1 / self.simulations.alpha))
            )
        )

    def _add(self, candidate: Candidate, n: int) -> Critical:
        """Simulate the nulls of a candidate and note what they say; the least favourable one counts."""
        alpha = self.simulations.alpha
        nulls = [self._fitted.p_values(grid, n) for grid in null_grids(candidate.grid, self.simulations)]
        critical = min((critical_value(p, alpha) for p in nulls), key=lambda c: c.value)
        significant, count = max(((int((p < alpha).sum()), p.size) for p in nulls), key=lambda size: size[0] / size[1])
        candidate.null = Null(count, significant, critical.value)
        return critical

    @cached_property
    def _fitted(self) -> Simulations:
        """Who fits them: the native engine in plans by R, too, because there have to be many, if it can.

        Both engines have the same p-values.
        """
        own = self.simulations
        if own.engine == "fast":
            return own
        native = replace(own, engine="fast", versions={})
        trial = native.p_values(null_grids(self.first.grid, own)[0], FEW)
        return own if np.isnan(trial).all() else native


def rarer(alpha: float) -> float:
    """Return how many times more datasets a critical value needs at a small alpha, where fewer are beyond it.

    Examples
    --------
    >>> rarer(0.05), rarer(0.01), rarer(0.001)
    (1.0, 5.0, 5.0)
    """
    return min(5.0, max(1.0, 0.05 / alpha))


def null_grids(grid: Grid, simulations: Simulations) -> list[Grid]:
    """Return grids of one cell in which nothing differs, or systems differ by just the margin."""
    values = grid.to_dict()
    truth, model = grid.cells[0].truth, simulations.model
    if model.goal == "difference":
        nulls = [without_difference(truth, model)]
    else:
        nulls = [truth.shift(effect=null.truth.effects) for null in nulls_of(grid.cells[0], model)]
    return [Grid.from_dict({**values, "truths": {"": null.to_dict()}}) for null in nulls]
