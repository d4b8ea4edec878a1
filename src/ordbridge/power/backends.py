"""Where batches are worked on: processes of this machine (loky), or the workers of a Dask cluster.

A backend is a :class:`concurrent.futures.Executor` in a context, with the number of its workers. A worker that dies
raises one of :data:`DEATHS` from the futures it takes with it.
"""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future
from contextlib import suppress
from typing import Any, ClassVar, Protocol

from ordbridge.errors import InputError
from ordbridge.power.worker import start

__all__ = ["Backend", "DaskBackend", "LokyBackend", "choose", "is_death"]

IDLE_SECONDS = 60  # workers wait that long for the next run before they end
ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")}


class Backend(Protocol):
    """What the runner needs."""

    jobs: int

    def submit(self, work: Callable[[Any], Any], batch: Any) -> Future:
        """Send one batch to a worker."""

    def renew(self) -> None:
        """Go on after a worker has died."""

    def kill(self) -> None:
        """End all work at once, whatever the workers are doing."""

    def close(self) -> None:
        """Let go of the workers after an orderly end."""


def choose(backend: str, jobs: int, scheduler: str | None) -> Backend:
    """Return the backend of that name, started."""
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs == 0:
        raise InputError(f"jobs={jobs!r} is no number of processes; give 1 or more, or -1 for all cores")
    if jobs < 0:
        import joblib

        jobs = max(1, joblib.cpu_count() + 1 + jobs)
    if scheduler is not None and backend != "dask":
        raise InputError("scheduler belongs to backend='dask'")
    if backend == "loky":
        return LokyBackend(jobs)
    if backend == "dask":
        return DaskBackend(jobs, scheduler)
    raise InputError(f"backend={backend!r} is not known; choose 'loky' or 'dask'")


def is_death(error: BaseException) -> bool:
    """Tell whether an error means that a worker process died, and not that its work went wrong."""
    return isinstance(error, BrokenExecutor) or type(error).__name__ == "KilledWorker"


class LokyBackend:
    """joblib's loky processes: each a fresh interpreter with an R of its own, kept for the next run for a while.

    The pool is ours and not loky's reusable one, which belongs to :class:`joblib.Parallel`: a user's own parallel code
    in the same program would find a pool that it cannot use.
    """

    _pool: ClassVar[Any] = None
    _pool_jobs: ClassVar[int] = 0

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        # loky replaces a worker that has grown, as one does that compiles the fast engine, and no work is lost by it.
        warnings.filterwarnings("ignore", message="A worker stopped while some jobs were given")
        self.renew()

    def renew(self) -> None:
        """Return to full strength; a broken pool is replaced."""
        from joblib.externals.loky import ProcessPoolExecutor

        if not _is_usable(LokyBackend._pool) or LokyBackend._pool_jobs != self.jobs:
            discard_workers()
            LokyBackend._pool_jobs = self.jobs
            LokyBackend._pool = ProcessPoolExecutor(
                max_workers=self.jobs,
                timeout=IDLE_SECONDS,
                initializer=start,
                initargs=(os.getpid(),),
                env=ONE_THREAD,
            )
        self._executor = LokyBackend._pool

    def submit(self, work: Callable[[Any], Any], batch: Any) -> Future:
        """Send one batch to a worker."""
        future: Future = self._executor.submit(work, batch)
        return future

    def kill(self) -> None:
        """Kill the workers: inside R they would not listen."""
        discard_workers()

    def close(self) -> None:
        """Keep the workers for the next run; they end by themselves."""


def discard_workers() -> None:
    """Kill the processes that were kept for the next run, if there are any."""
    pool, LokyBackend._pool = LokyBackend._pool, None
    if pool is not None:
        pool.shutdown(wait=True, kill_workers=True)


def _is_usable(pool: Any) -> bool:
    return pool is not None and pool._flags.broken is None and not pool._flags.shutdown


class DaskBackend:
    """The workers of a Dask scheduler, or of a cluster on this machine: one fit at a time each."""

    def __init__(self, jobs: int, scheduler: str | None) -> None:
        try:
            import distributed
        except ImportError:
            raise InputError("backend='dask' needs Dask; install it: pip install 'ordbridge[dask]'") from None
        self._cluster = None
        if scheduler is None:
            self._cluster = distributed.LocalCluster(
                n_workers=jobs,
                threads_per_worker=1,
                processes=True,
                dashboard_address=None,
                scheduler_kwargs={"allowed_failures": 0},  # a lost batch is ours to divide, not Dask's to repeat whole
            )
        try:
            self._client = distributed.Client(scheduler or self._cluster, timeout=30)
        except OSError as error:
            raise InputError(f"there is no Dask scheduler at {scheduler}: {error}") from None
        self.jobs = max(1, sum(self._client.nthreads().values()))
        # A scheduler of somebody else's sends the tasks of a dead worker to others; a nanny starts a new worker.
        self._executor = self._client.get_executor(pure=False)

    def submit(self, work: Callable[[Any], Any], batch: Any) -> Future:
        """Send one batch to a worker."""
        future: Future = self._executor.submit(work, batch)
        return future

    def renew(self) -> None:
        """Do nothing: Dask replaces its workers itself."""

    def kill(self) -> None:
        """Give up what was sent; the workers of our own cluster are killed."""
        for worker in self._cluster.workers.values() if self._cluster is not None else ():
            nanny = getattr(worker, "process", None)
            if nanny is not None and nanny.pid:
                os.kill(nanny.pid, signal.SIGKILL)
        self._leave(patience=1)

    def close(self) -> None:
        """Leave the cluster, and end it if it is ours."""
        self._executor.shutdown(wait=False)
        self._leave(patience=10)

    def _leave(self, patience: float) -> None:
        """Say goodbye; a cluster too busy to answer has done its work all the same, and ends with this process."""
        for part in (self._client, self._cluster):
            with suppress(TimeoutError):
                if part is not None:
                    part.close(timeout=patience)
