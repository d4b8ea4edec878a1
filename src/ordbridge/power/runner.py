"""The loop of a run: send batches, store answers, survive what dies."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ordbridge.errors import BridgeError
from ordbridge.power.backends import Backend, is_death
from ordbridge.power.batches import Queue
from ordbridge.power.grid import Cell
from ordbridge.power.models import Model
from ordbridge.power.progress import Progress
from ordbridge.power.store import Store, read_fits
from ordbridge.power.worker import Answer, Batch, Fit, failed_row, fit_batch, to_table

__all__ = ["FAILED", "Plan", "execute"]

FAILED = ("error", "timeout", "crashed")
AHEAD = 2  # batches a worker: one in work and one waiting, so that nobody waits for the main process
TICK = 0.5  # seconds between looks at the clock while all workers are busy
PURPOSE_AUDIT = 1
HOPELESS = 10  # so many failures, a death among them, and no success yet: not a fit is ill, but the installation


@dataclass(frozen=True)
class Plan:
    """Everything that is to be fitted."""

    cells: tuple[Cell, ...]
    models: tuple[Model, ...]
    sims: int
    seed: int
    engine: str
    audit: float = 0.0
    timeout: float | None = None

    def fits(self, cell: Cell, replicate: int) -> tuple[Fit, ...]:
        """Return the fits of one dataset: every model, and for audited datasets every model in R as well."""
        engines = (self.engine, "ordinal") if self.audited(cell, replicate) else (self.engine,)
        return tuple(Fit(replicate, model, engine) for engine in engines for model in self.models)

    def audited(self, cell: Cell, replicate: int) -> bool:
        """Tell whether a dataset is in the random sample of the audit; the seed decides, and a larger share adds."""
        if not self.audit or self.engine == "ordinal":
            return False
        draw = cell.stream(self.seed, replicate, PURPOSE_AUDIT).generate_state(1)[0]
        return bool(draw < self.audit * 2**32)


def execute(
    plan: Plan,
    store: Store,
    start_backend: Callable[[], Backend],
    progress: Callable[[Progress], object] | None = None,
    work: Callable[[Batch], Answer] = fit_batch,
) -> None:
    """Do all fits of the plan that are not stored yet.

    Parameters
    ----------
    plan, store
        What to fit, and where the rows go.
    start_backend
        Called if there is anything to do.
    progress
        Called with a :class:`Progress` at the start, about twice a second, and at the end.
    work
        What a worker does with a batch.
    """
    done = _stored(plan, store)
    tally = _Tally(plan, done, progress or (lambda _: None))
    todo = {cell: _remaining(plan, cell, done[cell]) for cell in plan.cells}
    if not any(count for count, _ in todo.values()):
        tally.report(None, force=True)
        return
    backend = start_backend()
    try:
        queue = Queue(todo, plan.models, seed=plan.seed, timeout=plan.timeout, jobs=backend.jobs)
        _loop(queue, store, backend, tally, work)
    except BaseException:  # Ctrl-C too: workers inside R do not listen, so they are killed
        backend.kill()
        with suppress(OSError):  # a full disk has already been spoken of
            store.flush()
        raise
    store.flush()
    backend.close()
    tally.report(None, force=True)


def _loop(queue: Queue, store: Store, backend: Backend, tally: _Tally, work: Callable[[Batch], Answer]) -> None:
    running: dict[Future, Batch] = {}
    tally.report(None, force=True)
    while True:
        while len(running) < AHEAD * backend.jobs and (batch := queue.next()):
            running[backend.submit(work, batch)] = batch
        if not running:
            return
        lost = []
        for future in wait(running, timeout=TICK, return_when=FIRST_COMPLETED).done:
            batch = running.pop(future)
            try:
                _take(future.result(), batch, queue, store, tally)
            except Exception as error:
                if not is_death(error):
                    raise
                lost.append(batch)
        if lost:
            _isolate([*lost, *_abandoned(running, queue, store, tally)], queue, store, backend, tally, work)
        store.keep_up()  # rows must not wait for the next answer, which may be minutes away
        left = queue.seconds_left(running.values())
        tally.report(None if left is None else left / backend.jobs)


def _take(answer: Answer, batch: Batch, queue: Queue, store: Store, tally: _Tally) -> None:
    queue.learn(batch, answer.seconds)
    store.add(answer.rows)
    tally.count(answer.rows)
    environments = store.manifest["environments"]
    if not any(answer.versions.items() <= known.items() for known in environments):
        merged = [known for known in environments if not known.items() <= answer.versions.items()]
        store.update(environments=[*merged, answer.versions])


def _abandoned(running: dict[Future, Batch], queue: Queue, store: Store, tally: _Tally) -> Iterator[Batch]:
    """Keep what else is finished and return what is not: a dead process takes all of loky's with it."""
    for future, batch in list(running.items()):
        if not future.done() and not future.cancel():
            wait([future], timeout=TICK)
        if not future.done():
            continue  # Dask: the others live on
        del running[future]
        try:
            _take(future.result(), batch, queue, store, tally)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            yield batch


def _isolate(
    lost: list[Batch],
    queue: Queue,
    store: Store,
    backend: Backend,
    tally: _Tally,
    work: Callable[[Batch], Answer],
) -> None:
    """Do the fits of lost batches once more, one at a time, so that the one that kills its worker is known."""
    backend.renew()
    single = deque(replace(batch, fits=(fit,)) for batch in lost for fit in batch.fits)
    while single:
        batch = single.popleft()
        future = backend.submit(work, batch)
        while not wait([future], timeout=TICK).done:
            store.keep_up()
        try:
            answer = future.result()
            store.add(answer.rows)
            tally.count(answer.rows)
        except Exception as error:
            if not is_death(error):
                raise
            rows = to_table([failed_row(batch.cell, batch.fits[0], "crashed", _cause(error))])
            store.add(rows)
            tally.count(rows)
            if tally.failures == tally.done >= HOPELESS:
                raise BridgeError(
                    f"the worker processes die one after the other, before any fit is done: {error}"
                ) from None
            backend.renew()
        tally.report(None)


def _cause(error: BaseException) -> str:
    """Say what killed a worker, without process numbers, so that equal causes have equal messages."""
    signal = re.search(r"SIG[A-Z]+", str(error))
    return f"the worker process died{f' ({signal.group()})' if signal else ''}, twice on this fit"


def _stored(plan: Plan, store: Store) -> dict[Cell, dict[tuple[str, str], np.ndarray]]:
    """Return, for each cell and (model, engine), which replicates are stored."""
    rows = read_fits(store.path, store.identity, ["status"])
    done: dict[Cell, dict[tuple[str, str], np.ndarray]] = {cell: {} for cell in plan.cells}
    labels = {cell.label: cell for cell in plan.cells}
    replicate, failed = rows["replicate"].to_numpy(), pc.is_in(rows["status"], pa.array(FAILED)).to_numpy()
    keys = rows.select(["cell", "model", "engine"]).append_column("row", pa.array(np.arange(rows.num_rows)))
    for group in keys.group_by(["cell", "model", "engine"]).aggregate([("row", "list")]).to_batches():
        for one in range(group.num_rows):
            key = (group["model"][one].as_py(), group["engine"][one].as_py())
            index = group["row_list"][one].values.to_numpy()
            state = np.zeros(max(plan.sims, int(replicate[index].max()) + 1), dtype=np.int8)
            state[replicate[index]] = 1 + failed[index]  # 1 stored, 2 stored as failed
            done[labels[group["cell"][one].as_py()]][key] = state
    return done


def _remaining(
    plan: Plan, cell: Cell, stored: dict[tuple[str, str], np.ndarray]
) -> tuple[int, Iterator[tuple[Fit, ...]]]:
    """Return how many replicates of a cell still lack a fit, and, lazily, which fits they lack."""

    def lacking(replicate: int) -> tuple[Fit, ...]:
        return tuple(
            fit
            for fit in plan.fits(cell, replicate)
            if (fit.model.name, fit.engine) not in stored or not stored[fit.model.name, fit.engine][replicate]
        )

    if not stored:
        return plan.sims, (plan.fits(cell, replicate) for replicate in range(plan.sims))
    count = sum(bool(lacking(replicate)) for replicate in range(plan.sims))
    return count, (fits for replicate in range(plan.sims) if (fits := lacking(replicate)))


@dataclass
class _Tally:
    """Counts what is done and reports it, twice a second at most."""

    plan: Plan
    stored: dict[Cell, dict[tuple[str, str], np.ndarray]]
    tell: Callable[[Progress], object]
    started: float | None = None
    told: float = float("-inf")

    def __post_init__(self) -> None:
        plan = self.plan
        datasets = len(plan.cells) * plan.sims
        if plan.audit:
            datasets += sum(plan.audited(cell, i) for cell in plan.cells for i in range(plan.sims))
        self.total = datasets * len(plan.models)
        states = [state[: plan.sims] for cells in self.stored.values() for state in cells.values()]
        self.done = self.before = sum(int((state > 0).sum()) for state in states)
        self.failures = sum(int((state == 2).sum()) for state in states)

    def count(self, rows: pa.Table) -> None:
        self.done += rows.num_rows
        if self.started is None:  # the rate is that of workers at work, without the start of their R
            self.started, self.before = time.monotonic(), self.done
        self.failures += pc.sum(pc.is_in(rows["status"], pa.array(FAILED))).as_py() or 0

    def report(self, seconds_left: float | None, force: bool = False) -> None:
        now = time.monotonic()
        if force or now - self.told >= TICK:
            self.told = now
            rate = 0.0 if self.started is None else (self.done - self.before) / max(now - self.started, 1e-9)
            self.tell(Progress(self.done, self.total, rate, seconds_left, self.failures))
