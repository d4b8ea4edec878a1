"""A worker whose engine is a few lines of NumPy, so that runner and store are tested without waiting for R."""

from __future__ import annotations

import math
import os
import signal
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa

from ordbridge.errors import BridgeError, FitTimeout
from ordbridge.models.problem import Estimates, Problem
from ordbridge.power import Run, worker
from ordbridge.power.worker import Batch, BatchResult
from ordbridge.results import found


def fit(problem: Problem) -> Estimates:
    """Compare two means, with a normal test."""
    y = problem.columns["rating"].values.astype(float)
    x = problem.columns["system"].values.astype(float)
    a, b = y[x == 0], y[x == 1]
    difference = b.mean() - a.mean()
    error = math.sqrt(a.var(ddof=1) / a.size + b.var(ddof=1) / b.size)
    z = difference / error
    numbers = {"estimate": difference, "std_error": error, "df": np.nan, "statistic": z}
    numbers["p_value"] = math.erfc(abs(z) / math.sqrt(2))
    return Estimates(
        terms=("system",),
        effects=("fixed",),
        **{name: np.array([value]) for name, value in numbers.items()},
        vcov=np.eye(1),
        random=(),
        rows=np.arange(y.size),
        loglik=-float(y.sum()),
        edf=2,
        converged=True,
        singular=False,
        package_version="stub 1",
        findings=(found("r-warning", stage="fit", text="odd"),) if int(y.sum()) % 7 == 0 else (),
    )


def work(batch: Batch, fit=fit) -> BatchResult:
    real = worker.engine_module, worker._warm
    worker.engine_module, worker._warm = lambda engine: SimpleNamespace(fit=fit), lambda *_: None
    try:
        return worker.fit_batch(batch)
    finally:  # the process may serve another test next, with the real engines
        worker.engine_module, worker._warm = real


def slow(batch: Batch) -> BatchResult:
    time.sleep(0.02 * len(batch.fits))
    return work(batch)


def stalls(batch: Batch) -> BatchResult:
    """Answer at once to the first two batches, which hold one replicate each, and then no longer."""
    if any(f.replicate > 1 for f in batch.fits):
        time.sleep(1.5)
    return work(batch)


def poisoned(batch: Batch) -> BatchResult:
    """Die of a segmentation fault at replicate 3 of lm, every time; note every attempt."""
    for f in batch.fits:
        if f.replicate == 3 and f.model.name == "lm":
            with open(os.environ["STUB_ATTEMPTS"], "a") as attempts:
                attempts.write(f"{len(batch.fits)}\n")
            os.kill(os.getpid(), signal.SIGSEGV)
    return work(batch)


def hopeless(batch: Batch) -> BatchResult:
    os._exit(1)


def dies_once(batch: Batch) -> BatchResult:
    """Be killed at replicate 3, but only the first time."""
    mark = Path(os.environ["STUB_ATTEMPTS"])
    if any(f.replicate == 3 for f in batch.fits) and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return slow(batch)


def late(problem: Problem) -> Estimates:
    raise FitTimeout("lm ran longer than 5 seconds and was stopped: rating ~ system")


def wrong(problem: Problem) -> Estimates:
    raise ZeroDivisionError("division by zero")


def times_out(batch: Batch) -> BatchResult:
    return work(batch, late)


def goes_wrong(batch: Batch) -> BatchResult:
    return work(batch, wrong)


def no_r(batch: Batch) -> BatchResult:
    raise BridgeError("there is no R on this machine")


def same(a: Run, b: Run) -> bool:
    """Tell whether two runs have the same fits; how long they took is another matter."""
    left, right = (run.fits.drop_columns(["seconds"]) for run in (a, b))
    return bool(pa.Table.equals(left, right))


def _is_the_fourth(batch: Batch) -> bool:
    return any(f.replicate == 3 and f.model.name == "lm" for f in batch.fits)


def _without_memory(batch: Batch, until: int) -> BatchResult:
    """Have no memory for lm at replicate 3, so many times."""
    attempts = Path(os.environ["STUB_ATTEMPTS"])

    def fit_or_not(problem: Problem) -> Estimates:
        mine = batch.fits[len(asked)]
        asked.append(mine)
        before = len(attempts.read_text()) if attempts.exists() else 0
        if mine.replicate == 3 and mine.model.name == "lm" and before < until:
            attempts.write_text("x" * (before + 1))
            raise MemoryError
        return fit(problem)

    asked: list = []
    return work(batch, fit_or_not)


def without_memory(batch: Batch) -> BatchResult:
    return _without_memory(batch, 99)


def without_memory_once(batch: Batch) -> BatchResult:
    return _without_memory(batch, 1)


def killed(batch: Batch) -> BatchResult:
    """Be killed from outside at replicate 3 of lm, every time."""
    if _is_the_fourth(batch):
        os.kill(os.getpid(), signal.SIGKILL)
    return work(batch)


def stopped_once(batch: Batch) -> BatchResult:
    mark = Path(os.environ["STUB_ATTEMPTS"])
    if _is_the_fourth(batch) and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGSTOP)
    return work(batch)


def hangs(batch: Batch) -> BatchResult:
    if _is_the_fourth(batch):
        time.sleep(600)
    return work(batch)
