"""The loop of a run: send batches, store answers, survive crashes."""

from __future__ import annotations

import re
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ordbridge.errors import BridgeError, ClusterError
from ordbridge.power.assignment import CRASH, DONE, FAILURE, Assignment, Stored
from ordbridge.power.backends import Backend, is_death
from ordbridge.power.faults import KILLED, cause_of_death, is_of_the_machine
from ordbridge.power.fit_table import FAILED, table_of
from ordbridge.power.parts import read_fits
from ordbridge.power.queue import Queue
from ordbridge.power.store import Store
from ordbridge.power.worker import Batch, BatchResult, failed_row, fit_batch, too_long
from ordbridge.support.progress import Progress

Work = Callable[[Batch], BatchResult]

AHEAD = 2  # batches a worker: one in work and one waiting, so that nobody waits for the main process
TICK = 0.5  # seconds between looks at the clock while all workers are busy
GRACE = 60.0  # seconds beyond its time limit until a fit is given up from outside: R may have to start first
START = 300.0  # seconds within which a worker process starts on any machine
SILENCE = 10.0  # seconds without an answer after which it is looked whether a worker has been stopped
HOPELESS = 10  # so many failed attempts, and no success yet: the fault is in the installation, not in a fit


def execute(
    assignment: Assignment,
    store: Store,
    start_backend: Callable[[], Backend],
    progress: Callable[[Progress], object] | None = None,
    work: Work = fit_batch,
) -> None:
    """Do all fits of an assignment that are not stored yet."""
    stored = Stored(assignment, read_fits(store.path, store.manifest, ["status"]))
    tally = _Tally(assignment, stored, progress or (lambda _: None))
    todo = {cell: stored.missing(cell) for cell in assignment.cells}
    crashed = [
        Batch(cell, assignment.seed, fits, assignment.timeout)
        for cell in assignment.cells
        if (fits := stored.crashed(cell))
    ]
    if not crashed and not any(count for count, _ in todo.values()):
        tally.report(None, force=True)
        return
    try:
        backend = start_backend()
        try:
            queue = Queue(todo, assignment.models, seed=assignment.seed, timeout=assignment.timeout, jobs=backend.jobs)
            _Loop(queue, store, backend, tally, work, assignment.timeout).run(crashed)
        except BaseException:  # Ctrl-C too: workers inside R do not listen, so they are killed
            backend.kill()
            with suppress(OSError):  # a full disk has been reported already
                store.flush()
            raise
    except ClusterError as error:
        raise ClusterError(f"{error}; {tally.done} of {tally.total} fits are stored in {store.path}") from None
    store.flush()
    backend.close()
    tally.report(None, force=True)


class _Failure(NamedTuple):
    """How an attempt at a single fit ended, if it did not end well."""

    status: str
    """What the fit is recorded as; nothing if the machine is to blame."""
    message: str


class _Loop:
    def __init__(
        self, queue: Queue, store: Store, backend: Backend, tally: _Tally, work: Work, timeout: float | None
    ) -> None:
        self._queue, self._store, self._backend, self._tally = queue, store, backend, tally
        self._work, self._timeout = work, timeout
        self._running: dict[Future, Batch] = {}
        self._undone: list[Batch] = []  # what living workers could not do
        self._answered = time.monotonic()
        self._causes: Counter[str] = Counter()  # why fits could not be done at all
        self._misses = 0
        self._reported: set[int] = set()

    def run(self, crashed: Iterable[Batch] = ()) -> None:
        """Do all that is in the queue, and try once more what crashed when the run was last at work."""
        self._tally.report(None, force=True)
        self._wait_for_a_worker()
        while self._send():
            done = wait(self._running, timeout=TICK, return_when=FIRST_COMPLETED).done
            lost = [batch for future in done if (batch := self._take(future))]
            if lost:
                lost += self._abandoned()
            elif self._is_overdue():
                lost = self._given_up()
            if lost:
                self._backend.renew()
                self._alone(lost)
            self._look_around()
        self._alone(self._undone)  # when nobody else needs memory
        self._alone(crashed, known=True)
        if self._causes:
            why, number = self._causes.most_common(1)[0][0], self._causes.total()
            warnings.warn(
                f"{number} of {self._tally.total} fits could not be done because of the machine ({why}) and are not in "
                "the tables; the same call tries them again",
                stacklevel=2,
            )

    def _wait_for_a_worker(self) -> None:
        """Wait until a worker has started, if there is a time limit: it is for fits, and not for a busy machine."""
        if self._timeout is not None:
            ready, begun = self._backend.submit(_nothing, None), time.monotonic()
            while not wait([ready], timeout=TICK).done and time.monotonic() - begun < START:
                self._look_around()

    def _send(self) -> bool:
        """Keep the workers busy; return whether anything is under way."""
        if not self._running:
            self._answered = time.monotonic()
        while len(self._running) < AHEAD * self._backend.jobs and (batch := self._queue.next()):
            self._running[self._backend.submit(self._work, batch)] = batch
        return bool(self._running)

    def _take(self, future: Future) -> Batch | None:
        """Store a worker's answer, or return the batch that was lost with the worker."""
        batch = self._running.pop(future)
        try:
            answer: BatchResult = self._backend.answer(future)
        except Exception as error:
            if is_death(error) or is_of_the_machine(error):
                return batch
            raise
        self._queue.learn(batch, answer.seconds)
        self._keep(answer)
        if answer.undone:
            self._undone.append(replace(batch, fits=answer.undone))
        return None

    def _keep(self, answer: BatchResult, again: bool = False) -> None:
        self._answered = time.monotonic()
        if not answer.rows.num_rows:
            return
        self._misses = 0
        self._store.add(answer.rows)
        self._tally.count(answer.rows, again)
        environments = self._store.manifest["environments"]
        if not any(answer.versions.items() <= known.items() for known in environments):
            merged = [known for known in environments if not known.items() <= answer.versions.items()]
            self._store.update(environments=[*merged, answer.versions])

    def _abandoned(self) -> Iterator[Batch]:
        """Keep what else is finished and return what is not: a dead process takes all of loky's with it."""
        for future in list(self._running):
            if not future.done() and not future.cancel():
                wait([future], timeout=TICK)
            if future.cancelled():
                yield self._running.pop(future)
            elif future.done() and (batch := self._take(future)):
                yield batch
            # else Dask: the others live on

    def _is_overdue(self) -> bool:
        """Tell whether no worker has answered for longer than any fit may take."""
        return self._timeout is not None and time.monotonic() - self._answered > 2 * self._timeout + GRACE

    def _given_up(self) -> list[Batch]:
        self._backend.restart()
        lost = list(self._running.values())
        self._running.clear()
        return lost

    def _alone(self, batches: Iterable[Batch], known: bool = False) -> None:
        """Do fits one at a time, so that the one that kills its worker is known.

        A fit gets two attempts; a ``known`` one, whose crash is stored, gets one more.
        """
        for single in [replace(batch, fits=(fit,)) for batch in batches for fit in batch.fits]:
            failure = self._attempt(single, again=known)
            if failure is not None and not known:
                failure = self._attempt(single)
            if failure is not None and not known:
                if failure.status:
                    row = failed_row(single.cell, single.fits[0], *failure)
                    self._store.add(table_of([row]))
                    self._tally.count(table_of([row]))
                else:
                    self._causes[failure.message] += 1
            self._tally.report(None)

    def _attempt(self, batch: Batch, again: bool = False) -> _Failure | None:
        """Do a single fit and store it, or return how it failed."""
        self._wait_for_a_worker()
        future, begun = self._backend.submit(self._work, batch), time.monotonic()
        self._answered = begun
        while not wait([future], timeout=TICK).done:
            self._look_around()
            if self._timeout is not None and time.monotonic() - begun > self._timeout + GRACE:
                self._backend.restart()
                return _Failure("timeout", too_long(batch.fits[0], self._timeout))
        try:
            answer: BatchResult = self._backend.answer(future)
        except Exception as error:
            if is_death(error):
                cause = cause_of_death(error)
                outside = re.search(KILLED, cause)
                return self._miss(
                    _Failure("", cause) if outside else _Failure("crashed", f"{cause}, twice on this fit")
                )
            if is_of_the_machine(error):
                return self._miss(_Failure("", _first_line(error)))
            raise
        if answer.undone:
            return self._miss(_Failure("", answer.why_undone))
        self._keep(answer, again)
        return None

    def _miss(self, failure: _Failure) -> _Failure:
        self._misses += 1
        if self._misses >= HOPELESS and self._tally.failures == self._tally.done:
            raise BridgeError(
                f"the worker processes die or fail one after the other, before any fit is done: {failure.message}"
            )
        self._backend.renew()
        return failure

    def _look_around(self) -> None:
        """Do what must not wait for the next answer, which may be minutes away."""
        self._store.keep_up()
        self._backend.check()
        if time.monotonic() - self._answered > SILENCE:
            for process in set(self._backend.stopped()) - self._reported:
                self._reported.add(process)
                warnings.warn(
                    f"the worker process {process} has been stopped (SIGSTOP) and the run waits for it; "
                    f"let it go on: kill -CONT {process}",
                    stacklevel=2,
                )
        left = self._queue.seconds_left(self._running.values())
        self._tally.report(None if left is None else left / self._backend.jobs)


def _nothing(_: object) -> None:
    """Be what a worker does that has just started."""


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


@dataclass
class _Tally:
    """Counts what is done and reports it, twice a second at most."""

    assignment: Assignment
    stored: Stored
    tell: Callable[[Progress], object]
    started: float | None = None
    told: float = float("-inf")

    def __post_init__(self) -> None:
        assignment = self.assignment
        wanted = {cell: assignment.datasets_of(cell) for cell in assignment.cells}
        datasets = sum(wanted.values())
        if assignment.audit:
            datasets += sum(assignment.audited(cell, i) for cell, n in wanted.items() for i in range(n))
        self.total = datasets * len(assignment.models)
        self.done = self.before = self.stored.count(DONE, FAILURE, CRASH)
        self.failures = self.stored.count(FAILURE, CRASH)

    def count(self, rows: pa.Table, again: bool = False) -> None:
        """Count rows; those of fits that are done ``again`` have been counted as failures before."""
        self.done += 0 if again else rows.num_rows
        if self.started is None:  # the rate is that of workers at work, without the start of their R
            self.started, self.before = time.monotonic(), self.done
        self.failures += pc.sum(pc.is_in(rows["status"], pa.array(FAILED))).as_py() or 0
        self.failures -= rows.num_rows if again else 0

    def report(self, seconds_left: float | None, force: bool = False) -> None:
        """Tell how far the run is, if it has not been told just now."""
        now = time.monotonic()
        if force or now - self.told >= TICK:
            self.told = now
            rate = 0.0 if self.started is None else (self.done - self.before) / max(now - self.started, 1e-9)
            self.tell(Progress(self.done, self.total, rate, seconds_left, self.failures))
