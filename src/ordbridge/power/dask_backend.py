"""The workers of a Dask cluster: of somebody's scheduler, or of a cluster on this machine that nobody else can use."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import Any

from ordbridge.errors import ClusterError, InputError
from ordbridge.power.backends import WORKERS_ENVIRONMENT, environment, restore
from ordbridge.support.naming import arg

CONNECT_SECONDS = 30
PATIENCE = 40.0  # seconds without a scheduler, or without any worker, until a run ends
LOOK_SECONDS = 2.0
LOCAL_ENVIRONMENT = {
    **WORKERS_ENVIRONMENT,
    "DASK_DISTRIBUTED__LOGGING__DISTRIBUTED": "critical",  # of workers here, whose stderr is ours
}
LOGGERS = (
    "distributed",
    "distributed.client",
    "distributed.core",
    "distributed.comm",
    "tornado.application",
    "asyncio",
)


class DaskBackend:
    """The workers of a Dask scheduler, or of a cluster on this machine: one fit at a time each.

    A cluster of our own speaks TLS with certificates that exist in this process and its workers only: without them, any
    user of the machine could send code to its ports.
    """

    def __init__(self, jobs: int, scheduler: str | None) -> None:
        try:
            import distributed
        except ImportError:
            raise InputError(
                f"{arg('backend', 'dask')} needs Dask; install it: pip install 'ordbridge[dask]'"
            ) from None
        # what happens to the cluster is said by us, in one sentence
        self._levels = {name: logging.getLogger(name).level for name in LOGGERS}
        for name in LOGGERS:
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        self._cluster, self._address = None, scheduler or "this machine"
        # Dask's nannies change the environment of this very process whenever they start a worker, and leave it so
        self._environment = {name: os.environ.get(name) for name in (*LOCAL_ENVIRONMENT, "PYTHONHASHSEED")}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of other versions on the workers: those are in the manifest
                if scheduler is None:
                    self._cluster = _local_cluster(jobs)
                self._client = distributed.Client(scheduler or self._cluster, timeout=CONNECT_SECONDS)
        except Exception as error:  # tls:// without certificates, nobody there, or a scheduler that speaks otherwise
            self._speak()
            if isinstance(error, InputError):
                raise
            where = "no Dask cluster could be started here"
            if scheduler is not None:
                nobody = isinstance(error, OSError)  # or one of another version, whose words are not understood
                where = f"there is no Dask scheduler at {scheduler}"
                where = where if nobody else f"the Dask scheduler at {scheduler} cannot be used"
            hint = "" if scheduler else "; a program of your own needs if __name__ == '__main__': around its calls"
            raise ClusterError(f"{where} ({_first_line(error)}){hint}") from None
        # A scheduler of somebody else's sends the tasks of a dead worker to others; a nanny starts a new worker.
        self._executor = self._client.get_executor(pure=False)
        self._watch = _Watch(self._client)
        if scheduler is not None:
            try:
                self._compare_versions()
            except BaseException:
                self.close()
                raise

    def _compare_versions(self) -> None:
        """Refuse workers whose Python or ordbridge is another one: they would not understand what is sent."""
        try:
            found = self._client.get_versions(packages=["ordbridge"])
        except Exception as error:
            raise ClusterError(
                f"the Dask scheduler at {self._address} does not answer ({_first_line(error)})"
            ) from None
        here = _versions(found["client"])
        for worker, versions in found["workers"].items():
            for name, version in _versions(versions).items():
                if name != "distributed" and version != here[name]:
                    raise ClusterError(
                        f"the worker {worker} has {name} {version}, and here is {here[name]}; install the same there"
                    )
        there = _versions(found["scheduler"])["distributed"]
        if there != here["distributed"]:
            warnings.warn(
                f"the Dask scheduler at {self._address} has distributed {there} and this program "
                f"{here['distributed']}; if it does not answer, install the same",
                stacklevel=2,
            )

    @property
    def jobs(self) -> int:
        """How many threads all workers have; they may come and go."""
        return max(1, self._watch.threads)

    def submit(self, work: Callable[[Any], Any], batch: Any) -> Future:
        """Send one batch to a worker."""
        try:
            future: Future = self._executor.submit(work, batch)
        except RuntimeError:
            raise self._gone() from None
        return future

    def answer(self, future: Future) -> Any:
        """Return what the worker answered; Dask cancels what it has lost together with a scheduler."""
        try:
            result = future.result()
        except CancelledError:
            raise self._gone() from None
        except ModuleNotFoundError as error:
            raise ClusterError(
                f"the workers of {self._address} have no {error.name!r}; install ordbridge there as it is here"
            ) from None
        self._watch.see_a_worker()  # which may come and go between two looks
        return result

    def check(self) -> None:
        """Raise a ClusterError if scheduler or workers have been away for a while."""
        now = time.monotonic()
        if self._client.status == "closed" or now - self._watch.answered > PATIENCE:
            raise self._gone()
        if now - self._watch.last_worker_seen > PATIENCE:
            if self._watch.ever_had_workers:
                raise ClusterError(f"all workers of the Dask scheduler at {self._address} are gone")
            warnings.warn(f"the Dask scheduler at {self._address} has no workers yet; waiting for them", stacklevel=2)
            self._watch.last_worker_seen = float("inf")

    def stopped(self) -> list[int]:
        """Return nothing: the scheduler gives the work of a silent worker to another one."""
        return []

    def renew(self) -> None:
        """Do nothing: Dask replaces its workers itself."""

    def restart(self) -> None:
        """Replace the workers of our own cluster; those of others may have other work."""
        if self._cluster is None:
            raise ClusterError(f"the workers of the Dask scheduler at {self._address} no longer answer")
        self._client.restart(timeout=PATIENCE)

    def kill(self) -> None:
        """Give up what was sent; the workers of our own cluster are killed."""
        for worker in self._cluster.workers.values() if self._cluster is not None else ():
            nanny = getattr(worker, "process", None)
            if nanny is not None and nanny.pid:
                with suppress(ProcessLookupError):
                    os.kill(nanny.pid, signal.SIGKILL)
        self._leave(patience=1)

    def close(self) -> None:
        """Leave the cluster, and end it if it is ours."""
        self._executor.shutdown(wait=False)
        self._leave(patience=10)

    def _gone(self) -> ClusterError:
        return ClusterError(f"the Dask scheduler at {self._address} no longer answers")

    def _leave(self, patience: float) -> None:
        """Say goodbye; a cluster too busy to answer has done its work all the same, and ends with this process."""
        self._watch.ended.set()
        for part in (self._client, self._cluster):
            with suppress(Exception):
                if part is not None:
                    part.close(timeout=patience)
        if self._cluster is not None:
            self._cluster.shutdown_on_close = False  # or Dask tries once more at the end, and shows how it fails
        restore(self._environment)
        self._speak()

    def _speak(self) -> None:
        for name, level in self._levels.items():
            logging.getLogger(name).setLevel(level)


class _Watch(threading.Thread):
    """Asks the scheduler now and then who is there; the run itself must not wait for a scheduler that is silent."""

    def __init__(self, client: Any) -> None:
        super().__init__(name="ordbridge-dask", daemon=True)
        self._client = client
        self.ended = threading.Event()
        self.answered = self.last_worker_seen = time.monotonic()
        self.ever_had_workers, self.threads = False, 0
        self._look()
        self.start()

    def run(self) -> None:
        """Look until the run has ended."""
        while not self.ended.wait(LOOK_SECONDS):
            with suppress(Exception):  # what matters is how long ago the last look was
                self._look()

    def _look(self) -> None:
        self.threads = sum(self._client.nthreads().values())
        self.answered = time.monotonic()
        if self.threads:
            self.see_a_worker()

    def see_a_worker(self) -> None:
        """Remember that somebody was there just now."""
        self.last_worker_seen, self.ever_had_workers = time.monotonic(), True


def _local_cluster(jobs: int) -> Any:
    import dask
    import distributed

    try:
        security = distributed.Security.temporary()
    except ImportError:
        raise InputError(
            f"{arg('backend', 'dask')} needs the package cryptography, so that nobody else can use the cluster; "
            "install it: pip install 'ordbridge[dask]'"
        ) from None
    settings = {
        "distributed.nanny.pre-spawn-environ": LOCAL_ENVIRONMENT,
        # a web server is always started; this one has no pages
        "distributed.scheduler.http.routes": [],
        "distributed.worker.http.routes": [],
    }
    with dask.config.set(settings), environment(**LOCAL_ENVIRONMENT):
        return distributed.LocalCluster(
            n_workers=jobs,
            threads_per_worker=1,
            processes=True,
            security=security,
            dashboard_address=None,
            silence_logs=False,
            scheduler_kwargs={
                "allowed_failures": 0,  # a lost batch is ours to divide, not Dask's to repeat whole
                "dashboard": False,
                "dashboard_address": "127.0.0.1:0",
            },
        )


def _versions(told: dict[str, Any]) -> dict[str, str]:
    """Return the versions that have to agree, as Dask tells them."""
    packages = told.get("packages") or {}
    python = str((told.get("host") or {}).get("python", "unknown"))
    return {
        "Python": ".".join(python.split(".")[:2]),
        "ordbridge": str(packages.get("ordbridge") or "unknown"),
        "distributed": str(packages.get("distributed") or "unknown"),
    }


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
