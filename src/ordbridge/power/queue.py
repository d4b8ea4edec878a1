"""Which fits are still to do, in which order, and how many a worker gets at a time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from ordbridge.power.grid import Cell
from ordbridge.power.models import Model
from ordbridge.power.worker import Batch, FitTask

BATCH_SECONDS = 2.0  # long compared with the cost of sending a batch, short compared with a run
LEAST_SECONDS = 0.05  # towards the end batches shrink to this, by which one worker may end before the other
GROWTH = 0.6
"""Power of a cell's size with which its fits take longer, before two sizes are known (benchmarks/growth.py)."""
LEAST_GROWTH, MOST_GROWTH = 0.3, 2.0
COST = {"lm": 1.0, "clm": 1.5, "lmer": 30.0, "clmm": 300.0}  # roughly, in R; only the order of the cells depends on it


class Queue:
    """The fits that are not stored yet, small cells first: through R a big one can keep a worker for minutes.

    Batches grow to about two seconds of work, measured on the cell's own batches or, before there are any, on those of
    the cell nearest in size, by how time has grown with size so far; towards the end they shrink, so that all workers
    end together.

    Parameters
    ----------
    todo
        For each cell how many replicates are left, and an iterator over the fits of each.
    models, seed, timeout, jobs
        Those of the run.
    """

    def __init__(
        self,
        todo: Mapping[Cell, tuple[int, Iterator[tuple[FitTask, ...]]]],
        models: Iterable[Model],
        *,
        seed: int,
        timeout: float | None,
        jobs: int,
    ) -> None:
        weight = sum(COST[model.kind] for model in models)
        self._size = {cell: cell.design.num_rows * weight for cell in todo}
        self._left = {cell: todo[cell][0] for cell in sorted(todo, key=lambda c: self._size[c]) if todo[cell][0]}
        self._todo = {cell: todo[cell][1] for cell in self._left}
        self._seed, self._timeout, self._jobs = seed, timeout, jobs
        self._seconds: dict[Cell, float] = {}  # of one replicate with all its models

    def next(self) -> Batch | None:
        """Return the next batch, or None if there is no more."""
        if not self._todo:
            return None
        cell = next(iter(self._todo))
        replicates = list(islice(self._todo[cell], self._how_many(cell)))
        self._left[cell] -= len(replicates)
        if not self._left[cell]:
            del self._todo[cell], self._left[cell]
        return Batch(cell, self._seed, tuple(fit for fits in replicates for fit in fits), self._timeout)

    def learn(self, batch: Batch, seconds: float) -> None:
        """Take note of how long a batch took."""
        one = seconds / len({fit.replicate for fit in batch.fits})
        # The first batch of a process pays for starting R or compiling; newer batches soon outweigh it.
        before = self._seconds.get(batch.cell, one)
        self._seconds[batch.cell] = min(one, 0.5 * (before + one))

    def seconds_left(self, under_way: Iterable[Batch] = ()) -> float | None:
        """Return how long one worker would need for all that is still here, and for batches that are under way.

        None before the first answer.
        """
        if not self._seconds:
            return None
        left = sum(left * self._expected(cell) for cell, left in self._left.items())
        return left + sum(
            self._expected(batch.cell) * len({fit.replicate for fit in batch.fits}) for batch in under_way
        )

    def _expected(self, cell: Cell) -> float:
        if cell in self._seconds:
            return self._seconds[cell]
        known: dict[float, list[float]] = {}
        for other, seconds in self._seconds.items():
            known.setdefault(self._size[other], []).append(max(seconds, 1e-9))
        usual = {size: sum(seconds) / len(seconds) for size, seconds in known.items()}
        if not usual:
            return 0.0
        size = self._size[cell]
        near = min(usual, key=lambda other: abs(math.log(size / other)))
        return usual[near] * (size / near) ** _growth(usual)

    def _how_many(self, cell: Cell) -> int:
        if not self._seconds:
            return 1
        seconds = BATCH_SECONDS
        if self._jobs > 1:
            share = (self.seconds_left() or 0.0) / (4 * self._jobs)
            seconds = min(BATCH_SECONDS, max(LEAST_SECONDS, share))
        return max(1, int(seconds / max(self._expected(cell), 1e-6)))


def _growth(seconds: Mapping[float, float]) -> float:
    """Return the power of the size with which time grows, by the two largest sizes that are known."""
    if len(seconds) < 2:
        return GROWTH
    smaller, larger = sorted(seconds)[-2:]
    return min(
        max(math.log(seconds[larger] / seconds[smaller]) / math.log(larger / smaller), LEAST_GROWTH), MOST_GROWTH
    )
