"""Which fits are still to do, in which order, and how many a worker gets at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from ordbridge.power.grid import Cell
from ordbridge.power.models import Model
from ordbridge.power.worker import Batch, FitTask

__all__ = ["Queue"]

BATCH_SECONDS = 2.0  # long compared with the cost of sending a batch, short compared with a run
LEAST_SECONDS = 0.05  # towards the end batches shrink to this, by which one worker may end before the other
COST = {"lm": 1.0, "clm": 1.5, "lmer": 30.0, "clmm": 300.0}  # roughly, in R; only the order of the cells depends on it


class Queue:
    """The fits that are not stored yet, small cells first: through R a big one can keep a worker for minutes.

    Batches grow to about two seconds of work, measured on the cell's own batches or, before there are any, on those of
    others in proportion to their size; towards the end they shrink, so that all workers end together.

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
        self._pace: float | None = None  # seconds per unit of size, over all cells

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
        pace = self._seconds[batch.cell] / self._size[batch.cell]
        self._pace = pace if self._pace is None else 0.5 * (self._pace + pace)

    def seconds_left(self, under_way: Iterable[Batch] = ()) -> float | None:
        """Return how long one worker would need for all that is still here, and for batches that are under way.

        None before the first answer.
        """
        if self._pace is None:
            return None
        left = sum(left * self._expected(cell) for cell, left in self._left.items())
        return left + sum(
            self._expected(batch.cell) * len({fit.replicate for fit in batch.fits}) for batch in under_way
        )

    def _expected(self, cell: Cell) -> float:
        return self._seconds.get(cell, (self._pace or 0.0) * self._size[cell])

    def _how_many(self, cell: Cell) -> int:
        if self._pace is None:
            return 1
        seconds = BATCH_SECONDS
        if self._jobs > 1:
            share = (self.seconds_left() or 0.0) / (4 * self._jobs)
            seconds = min(BATCH_SECONDS, max(LEAST_SECONDS, share))
        return max(1, int(seconds / max(self._expected(cell), 1e-6)))
