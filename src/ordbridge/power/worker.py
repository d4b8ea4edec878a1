"""One task of a run, done in a worker process: simulate a dataset, fit all models to it, return rows."""

from __future__ import annotations

import math
import os
import platform
import signal
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ordbridge.errors import BridgeError, FitTimeout, InputError
from ordbridge.models.columns import Column
from ordbridge.models.engines import engine_module
from ordbridge.models.kinds import KINDS
from ordbridge.models.problem import Estimates, Problem
from ordbridge.power.faults import MachineFault, is_of_the_machine
from ordbridge.power.fit_table import FitRow, table_of
from ordbridge.power.grid import Cell
from ordbridge.power.margins import within_margin
from ordbridge.power.models import Model, template
from ordbridge.simulate import Simulator

LIBRARIES = ("ordbridge", "numpy", "scipy", "pyarrow", "joblib", "rpy2")


class FitTask(NamedTuple):
    """One fit to do."""

    replicate: int
    model: Model
    engine: str


@dataclass(frozen=True)
class Batch:
    """Some fits of one cell, those of a replicate next to each other: what a worker is sent at a time."""

    cell: Cell
    seed: int
    fits: tuple[FitTask, ...]
    timeout: float | None = None


class BatchResult(NamedTuple):
    """What a worker returns: the rows, how long it took, and the versions of what it ran."""

    rows: pa.Table
    seconds: float
    versions: dict[str, str]
    undone: tuple[FitTask, ...] = ()
    """Fits that the machine could not do, and that leave no row."""
    why_undone: str = ""


def start(parent: int) -> None:
    """Prepare a worker process: Ctrl-C is the business of the main process ``parent``, and no worker outlives it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, name="ordbridge-parent", daemon=True).start()


def fit_batch(batch: Batch) -> BatchResult:
    """Do all fits of a batch.

    Whatever a fit does, it leaves a row, unless the machine is to blame; only a missing R stops the run.
    """
    bench = _bench(batch.cell, batch.timeout)
    for fit in batch.fits:
        _warm(fit.engine, fit.model, bench)
    engines = {name: engine_module(name) for name in {fit.engine for fit in batch.fits}}
    started = time.perf_counter()
    rows: list[FitRow] = []
    versions: dict[str, str] = {}
    undone: list[FitTask] = []
    why = ""
    replicate, ratings = -1, bench.any_ratings
    for fit in batch.fits:
        if fit.replicate != replicate:
            replicate = fit.replicate
            ratings = _Response(bench.simulator.draw(batch.cell.stream(batch.seed, replicate))[0])
        try:
            row, found = _fit(bench, fit, engines[fit.engine], ratings)
        except MachineFault as fault:
            undone.append(fit)
            why = str(fault)
            continue
        rows.append(row)
        versions |= found
    seconds = time.perf_counter() - started
    return BatchResult(table_of(rows), seconds, _versions() | versions, tuple(undone), why)


def failure_of(error: Exception) -> tuple[str, str]:
    """Return the status and the message of a fit that raised an error, which is data about that fit.

    What is not about the fit is raised: a missing R, and faults of the machine.
    """
    if isinstance(error, BridgeError):
        raise error
    if isinstance(error, FitTimeout):
        return "timeout", str(error)
    message = str(error) or type(error).__name__
    if is_of_the_machine(error):
        raise MachineFault(message.splitlines()[0])
    return "error", message


def too_long(fit: FitTask, timeout: float) -> str:
    """Say that a fit took longer than it may."""
    return f"{fit.model.kind} ran longer than {timeout:g} seconds: {fit.model}"


def failed_row(cell: Cell, fit: FitTask, status: str, message: str, seconds: float | None = None) -> FitRow:
    """Return the row of a fit that gave nothing."""
    return FitRow(*key_of(cell, fit), status=status, message=message, seconds=seconds)


class _Response:
    """The ratings of one dataset, as all its models see them."""

    def __init__(self, rating: np.ndarray) -> None:
        self._rating = rating

    @cached_property
    def numbers(self) -> Column:
        return Column("numeric", self._rating.astype(float))

    @cached_property
    def categories(self) -> Column:
        used, codes = np.unique(self._rating, return_inverse=True)  # categories that nobody used drop out, as in R
        if used.size < 2:
            raise InputError(f"all ratings are {used[0]}; two or more categories are needed")
        return Column("factor", codes, tuple(map(str, used)), ordered=True)


class _Bench:
    """A cell made ready: its simulator, and each model's problem without the ratings."""

    def __init__(self, cell: Cell, timeout: float | None) -> None:
        self.cell, self.timeout = cell, timeout
        self.simulator = Simulator(cell.design, cell.truth, cell.variant)
        self.any_ratings = _Response(1 + np.arange(cell.design.num_rows) % 2)
        self._problems: dict[Model, Problem] = {}

    def problem(self, model: Model, ratings: _Response) -> Problem:
        if model not in self._problems:
            self._problems[model] = template(self.cell, model, self.timeout)
        problem = self._problems[model]
        rating = ratings.categories if model.ordinal else ratings.numbers
        return replace(problem, columns={**problem.columns, "rating": rating})


_warmed: set[tuple[str, str]] = set()


def _warm(engine: str, model: Model, bench: _Bench) -> None:
    """Start R or load compiled code before the clock starts, so that no fit is charged for it."""
    if (engine, model.kind) in _warmed:
        return
    _warmed.add((engine, model.kind))
    if engine == "r":
        from ordbridge import bridge

        bridge.require(*KINDS[model.kind].packages)
    if engine == "fast" or model.start == "fast":
        with suppress(Exception):
            engine_module("fast").fit(bench.problem(model, bench.any_ratings))


@lru_cache(maxsize=4)
def _bench(cell: Cell, timeout: float | None) -> _Bench:
    return _Bench(cell, timeout)


def _fit(bench: _Bench, fit: FitTask, engine: ModuleType, ratings: _Response) -> tuple[FitRow, Mapping[str, str]]:
    begun = time.perf_counter()
    try:
        problem = bench.problem(fit.model, ratings)
        estimates = engine.fit(problem)
        tested = _tested(bench.cell, fit, problem, estimates)
    except Exception as error:
        return failed_row(bench.cell, fit, *failure_of(error), time.perf_counter() - begun), {}
    seconds = time.perf_counter() - begun
    if bench.timeout is not None and seconds > bench.timeout:
        return failed_row(bench.cell, fit, "timeout", too_long(fit, bench.timeout), seconds), {}
    return _row(bench.cell, fit, estimates, tested, seconds), _engine_versions(fit, estimates)


def _tested(cell: Cell, fit: FitTask, problem: Problem, found: Estimates) -> dict[str, Any]:
    """Return the numbers of the tested term."""
    if fit.model.goal != "difference":
        return within_margin(problem, found, fit.engine, cell, fit.model)._asdict()
    i = found.position(fit.model.term)
    if i is None:
        raise InputError(f"the term {fit.model.term!r} is not in the fit, which has: {', '.join(found.terms)}")
    names = ("estimate", "std_error", "statistic", "df", "p_value")
    return {name: getattr(found, name).item(i) for name in names}


def _row(cell: Cell, fit: FitTask, found: Estimates, tested: dict[str, Any], seconds: float) -> FitRow:
    said = "; ".join(one.text.strip() for one in found.findings if one.severity == "warning") if found.findings else ""
    status = "ok"
    if not math.isfinite(tested["p_value"]):
        status, said = "error", f"no p-value{': ' + said if said else ''}"
    elif said or not found.converged:
        status, said = "warning", said or "did not converge"
    return FitRow(
        *key_of(cell, fit),
        **tested,
        loglik=float(found.loglik),
        converged=bool(found.converged),
        singular=bool(found.singular),
        status=status,
        message=said or None,
        seconds=seconds,
    )


def key_of(cell: Cell, fit: FitTask) -> tuple[str, int, str, str, str]:
    """Return the first columns of a fit's row, which say what was fitted."""
    return (cell.label, fit.replicate, fit.model.name, fit.engine, fit.model.term)


def _engine_versions(fit: FitTask, found: Estimates) -> dict[str, str]:
    if fit.engine == "fast" or found.r_version is None:
        return {}
    return {"R": found.r_version, f"R engine of {fit.model.kind}": found.package_version}


@lru_cache(maxsize=1)
def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version(), "platform": sys.platform}
    for package in LIBRARIES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions
