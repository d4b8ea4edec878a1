"""Everything that a run has to fit, and what of it is stored already."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ordbridge import __version__
from ordbridge.power.calibration import null_cells
from ordbridge.power.fit_table import FAILED
from ordbridge.power.grid import Cell, Grid
from ordbridge.power.manifest import FORMAT
from ordbridge.power.models import Model
from ordbridge.power.worker import FitTask

PURPOSE_AUDIT = 1
MISSING, DONE, FAILURE, CRASH = range(4)


@dataclass(frozen=True)
class Assignment:
    """Everything that is to be fitted: all models to the datasets of every cell."""

    grid: Grid
    models: tuple[Model, ...]
    datasets: int
    seed: int
    engine: str
    alpha: float = 0.05
    audit: float = 0.0
    timeout: float | None = None
    calibration: int = 0
    """Datasets of each null, from which critical values are taken; 0 for none."""

    @cached_property
    def nulls(self) -> tuple[Cell, ...]:
        """The cells that critical values are taken from."""
        if not self.calibration:
            return ()
        found = null_cells(self.grid.cells, self.models)
        return tuple(dict.fromkeys(null for nulls in found.values() for null in nulls))

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """The cells of the grid, and the nulls that are not among them."""
        return tuple(dict.fromkeys((*self.grid.cells, *self.nulls)))

    def datasets_of(self, cell: Cell) -> int:
        """Return how many datasets a cell has: those of the run, those of a null, or the larger number."""
        own = self.datasets if cell in self._own else 0
        return max(own, self.calibration if cell in self.nulls else 0)

    @cached_property
    def _own(self) -> frozenset[Cell]:
        return frozenset(self.grid.cells)

    def manifest(self) -> dict[str, Any]:
        """Return all of it as plain lists, numbers and text, for the folder of the run."""
        return {
            "format": FORMAT,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "ordbridge": __version__,
            "grid": self.grid.to_dict(),
            "cells": {cell.label: cell.content for cell in self.grid.cells},
            "models": {model.name: model.to_dict() for model in self.models},
            "engine": self.engine,
            "seed": self.seed,
            "datasets": self.datasets,
            "alpha": self.alpha,
            "timeout": self.timeout,
            "audit": self.audit,
            "environments": [],
        } | self._calibrated()

    def _calibrated(self) -> dict[str, Any]:
        if not self.calibration:
            return {}
        own = [cell for cell in self.cells if cell not in self._own]
        return {"calibration": self.calibration, "null_cells": {cell.label: cell.content for cell in own}}

    def fits(self, cell: Cell, replicate: int) -> tuple[FitTask, ...]:
        """Return the fits of one dataset: every model, and for audited datasets every model in R as well."""
        engines = (self.engine, "r") if self.audited(cell, replicate) else (self.engine,)
        return tuple(FitTask(replicate, model, engine) for engine in engines for model in self.models)

    def audited(self, cell: Cell, replicate: int) -> bool:
        """Tell whether a dataset is in the random sample of the audit; the seed decides, and a larger share adds."""
        if not self.audit or self.engine == "r":
            return False
        draw = cell.stream(self.seed, replicate, PURPOSE_AUDIT).generate_state(1)[0]
        return bool(draw < self.audit * 2**32)


class Stored:
    """What of an assignment is stored: one state for each cell, model, engine and replicate.

    Parameters
    ----------
    assignment
        What is asked.
    rows
        The fits that are there, with their ``status``.
    """

    def __init__(self, assignment: Assignment, rows: pa.Table) -> None:
        self._assignment = assignment
        self._states: dict[Cell, dict[tuple[str, str], np.ndarray]] = {cell: {} for cell in assignment.cells}
        labels = {cell.label: cell for cell in assignment.cells}
        replicate, failed = rows["replicate"].to_numpy(), pc.is_in(rows["status"], pa.array(FAILED)).to_numpy()
        state = np.where(pc.equal(rows["status"], "crashed").to_numpy(), CRASH, np.where(failed, FAILURE, DONE))
        keys = rows.select(["cell", "model", "engine"]).append_column("row", pa.array(np.arange(rows.num_rows)))
        for group in keys.group_by(["cell", "model", "engine"]).aggregate([("row", "list")]).to_batches():
            for one in range(group.num_rows):
                cell = labels.get(group["cell"][one].as_py())
                if cell is None:  # a null of an earlier call, which this one does not ask for
                    continue
                index = group["row_list"][one].values.to_numpy()
                number = max(assignment.datasets_of(cell), int(replicate[index].max()) + 1)
                states = np.full(number, MISSING, dtype=np.int8)
                states[replicate[index]] = state[index]
                self._states[cell][group["model"][one].as_py(), group["engine"][one].as_py()] = states

    def count(self, *states: int) -> int:
        """Return how many of the fits that are asked for now have one of these states."""
        found = [one[: self._assignment.datasets_of(c)] for c, own in self._states.items() for one in own.values()]
        return sum(int(np.isin(one, states).sum()) for one in found)

    def missing(self, cell: Cell) -> tuple[int, Iterator[tuple[FitTask, ...]]]:
        """Return how many replicates of a cell still lack a fit, and, lazily, which fits they lack."""
        replicates = range(self._assignment.datasets_of(cell))
        if not self._states[cell]:
            return len(replicates), (self._assignment.fits(cell, replicate) for replicate in replicates)

        def lacking(replicate: int) -> tuple[FitTask, ...]:
            return self._with_state(cell, replicate, MISSING)

        count = sum(bool(lacking(replicate)) for replicate in replicates)
        return count, (fits for replicate in replicates if (fits := lacking(replicate)))

    def crashed(self, cell: Cell) -> tuple[FitTask, ...]:
        """Return the fits whose worker died: what killed it may have been the machine, so that they are tried again."""
        number = self._assignment.datasets_of(cell)
        found = [np.flatnonzero(one[:number] == CRASH) for one in self._states[cell].values()]
        replicates = sorted({int(replicate) for one in found for replicate in one})
        return tuple(fit for replicate in replicates for fit in self._with_state(cell, replicate, CRASH))

    def _with_state(self, cell: Cell, replicate: int, state: int) -> tuple[FitTask, ...]:
        stored = self._states[cell]
        return tuple(
            fit
            for fit in self._assignment.fits(cell, replicate)
            if (stored[key][replicate] if (key := (fit.model.name, fit.engine)) in stored else MISSING) == state
        )
