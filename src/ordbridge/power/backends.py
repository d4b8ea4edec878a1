"""Where batches are worked on: processes of this machine (loky), or the workers of a Dask cluster.

A backend takes batches and gives futures, and knows how to go on when workers die. A worker that dies raises an error
that :func:`is_death` knows from the futures it takes with it.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import BrokenExecutor, Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Protocol

from ordbridge.power.worker import start
from ordbridge.support.arguments import choice, number_of_workers
from ordbridge.support.child_processes import deaf_workers
from ordbridge.support.temp_cleanup import claim_semaphores, sweep

IDLE_SECONDS = 60  # workers wait that long for the next run before they end
WORKERS_ENVIRONMENT = {
    **{name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")},
    "PYTHONSAFEPATH": "1",  # a random.py in the folder where a run is started is not to be imported by its workers
}


class Backend(Protocol):
    """What the runner needs."""

    @property
    def jobs(self) -> int:
        """How many workers there are."""

    def submit(self, work: Callable[[Any], Any], batch: Any) -> Future:
        """Send one batch to a worker."""

    def answer(self, future: Future) -> Any:
        """Return what the worker answered, or raise what went wrong."""

    def check(self) -> None:
        """Raise a ClusterError if nobody is there; to be called now and then."""

    def stopped(self) -> list[int]:
        """Return the numbers of worker processes that somebody has stopped, as far as that can be known."""
        return []

    def renew(self) -> None:
        """Go on after a worker has died."""

    def restart(self) -> None:
        """Replace all workers, whatever they are doing."""

    def kill(self) -> None:
        """End all work at once, whatever the workers are doing."""

    def close(self) -> None:
        """Let go of the workers after an orderly end."""


def choose(backend: str, jobs: int) -> Backend:
    """Return the backend of that name, or of the Dask scheduler at that address, started."""
    workers = number_of_workers(jobs)
    scheduler = backend if "://" in str(backend) else None
    if scheduler or choice("backend", backend, ("loky", "dask")) == "dask":
        from ordbridge.power.dask_backend import DaskBackend

        return DaskBackend(workers, scheduler)
    return LokyBackend(workers)


def is_death(error: BaseException) -> bool:
    """Tell whether an error means that a worker process died, and not that its work went wrong."""
    return isinstance(error, BrokenExecutor) or type(error).__name__ == "KilledWorker"


@contextmanager
def environment(**changes: str) -> Iterator[None]:
    """Change the environment for processes that are started meanwhile."""
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        restore(before)


def restore(before: Mapping[str, str | None]) -> None:
    """Give variables of the environment back the values they had; None for those that were not there."""
    for name, value in before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


class LokyBackend:
    """joblib's loky processes: each a fresh interpreter with an R of its own, kept for the next run for a while.

    The pool is ours and not loky's reusable one, which belongs to :class:`joblib.Parallel`: a user's own parallel code
    in the same program would find a pool that it cannot use.
    """

    _pool: ClassVar[Any] = None
    _pool_jobs: ClassVar[int] = 0

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        # loky replaces a worker that has grown, and no work is lost by it.
        warnings.filterwarnings("ignore", message="A worker stopped while some jobs were given")
        self.renew()

    def renew(self) -> None:
        """Return to full strength; a broken pool is replaced."""
        from joblib.externals.loky import ProcessPoolExecutor

        if not _is_usable(LokyBackend._pool) or LokyBackend._pool_jobs != self.jobs:
            discard_workers()
            LokyBackend._pool_jobs = self.jobs
            with environment(PYTHONSAFEPATH="1"):  # also for the process by which loky looks after its semaphores
                LokyBackend._pool = ProcessPoolExecutor(
                    max_workers=self.jobs,
                    timeout=IDLE_SECONDS,
                    initializer=start,
                    initargs=(os.getpid(),),
                    env=WORKERS_ENVIRONMENT,
                )
        self._executor = LokyBackend._pool

    def submit(self, work: Callable[[Any], Any], batch: Any) -> Future:
        """Send one batch to a worker."""
        with environment(PYTHONSAFEPATH="1"), deaf_workers():
            first = not self._executor._processes
            try:
                future: Future = self._executor.submit(work, batch)
            except BrokenExecutor as death:  # a worker died since the last batch: this one is lost like that one
                future = Future()
                future.set_exception(death)
        if first:
            claim_semaphores()
        return future

    def answer(self, future: Future) -> Any:
        """Return what the worker answered."""
        return future.result()

    def check(self) -> None:
        """Do nothing: a worker that dies is noticed at once."""

    def stopped(self) -> list[int]:
        """Return the processes that wait for SIGCONT, where the system shows them as files."""
        return [pid for pid in list(self._executor._processes or ()) if _state(pid) == "T"]

    def restart(self) -> None:
        """Replace all workers."""
        discard_workers()
        self.renew()

    def kill(self) -> None:
        """Kill the workers: inside R they would not listen."""
        discard_workers()

    def close(self) -> None:
        """Keep the workers for the next run; they end by themselves."""


def discard_workers() -> None:
    """Kill the processes that were kept for the next run, if there are any, and clear what they leave behind."""
    pool, LokyBackend._pool = LokyBackend._pool, None
    if pool is not None:
        pool.shutdown(wait=True, kill_workers=True)
    sweep()


def _is_usable(pool: Any) -> bool:
    return pool is not None and pool._flags.broken is None and not pool._flags.shutdown


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""
