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
from ordbridge.models.fit import engine_module
from ordbridge.models.problem import Estimates, Problem
from ordbridge.power.grid import Cell
from ordbridge.power.models import Model, template
from ordbridge.power.store import FITS
from ordbridge.simulate import Simulator

__all__ = ["Answer", "Batch", "Fit", "failed_row", "fit_batch", "start", "to_table"]

LIBRARIES = ("ordbridge", "numpy", "scipy", "numba", "pyarrow", "joblib", "rpy2")


class Fit(NamedTuple):
    """One fit to do."""

    replicate: int
    model: Model
    engine: str


@dataclass(frozen=True)
class Batch:
    """Some fits of one cell, those of a replicate next to each other: what a worker is sent at a time."""

    cell: Cell
    seed: int
    fits: tuple[Fit, ...]
    timeout: float | None = None


class Answer(NamedTuple):
    """What a worker returns: the rows, how long it took, and the versions of what it ran."""

    rows: pa.Table
    seconds: float
    versions: dict[str, str]


def start(parent: int) -> None:
    """Prepare a worker process: Ctrl-C is the business of the main process ``parent``, and no worker outlives it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, name="ordbridge-parent", daemon=True).start()


def fit_batch(batch: Batch) -> Answer:
    """Do all fits of a batch. Whatever a fit does, it leaves a row; only a missing R stops the run."""
    bench = _bench(batch.cell, batch.timeout)
    for fit in batch.fits:
        _warm(fit.engine, fit.model, bench)
    engines = {name: engine_module(name) for name in {fit.engine for fit in batch.fits}}
    started = time.perf_counter()
    rows: list[tuple[Any, ...]] = []
    versions: dict[str, str] = {}
    replicate, ratings = -1, bench.any_ratings
    for fit in batch.fits:
        if fit.replicate != replicate:
            replicate = fit.replicate
            ratings = _Ratings(bench.simulator.draw(batch.cell.stream(batch.seed, replicate))[0])
        row, found = _fit(bench, fit, engines[fit.engine], ratings)
        rows.append(row)
        versions |= found
    return Answer(to_table(rows), time.perf_counter() - started, _versions() | versions)


def to_table(rows: list[tuple[Any, ...]]) -> pa.Table:
    """Return rows as a table; a number that is not there (NaN) is null."""
    columns = [
        pa.array(values, field.type, from_pandas=True)
        for values, field in zip(zip(*rows, strict=True), FITS, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=FITS)


def failed_row(cell: Cell, fit: Fit, status: str, message: str, seconds: float | None = None) -> tuple[Any, ...]:
    """Return the row of a fit that gave nothing."""
    return (*_key(cell, fit), *[None] * 8, status, message, seconds)


class _Ratings:
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
        self.any_ratings = _Ratings(1 + np.arange(cell.design.num_rows) % 2)
        self._problems: dict[Model, Problem] = {}

    def problem(self, model: Model, ratings: _Ratings) -> Problem:
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
    if engine == "ordinal":
        from ordbridge import bridge
        from ordbridge.models.r_engine import PACKAGES

        bridge.require(*PACKAGES[model.kind])
    if engine == "fast" or model.start == "fast":
        with suppress(Exception):
            engine_module("fast").fit(bench.problem(model, bench.any_ratings))


@lru_cache(maxsize=4)
def _bench(cell: Cell, timeout: float | None) -> _Bench:
    return _Bench(cell, timeout)


def _fit(bench: _Bench, fit: Fit, engine: ModuleType, ratings: _Ratings) -> tuple[tuple[Any, ...], Mapping[str, str]]:
    begun = time.perf_counter()
    try:
        estimates = engine.fit(bench.problem(fit.model, ratings))
    except BridgeError:
        raise
    except FitTimeout as error:
        return failed_row(bench.cell, fit, "timeout", str(error), time.perf_counter() - begun), {}
    except Exception as error:  # whatever goes wrong in one fit is data about that fit
        message = str(error) or type(error).__name__
        return failed_row(bench.cell, fit, "error", message, time.perf_counter() - begun), {}
    seconds = time.perf_counter() - begun
    if bench.timeout is not None and seconds > bench.timeout:
        message = f"{fit.model.kind} ran longer than {bench.timeout:g} seconds: {fit.model.formula}"
        return failed_row(bench.cell, fit, "timeout", message, seconds), {}
    return _row(bench.cell, fit, estimates, seconds), _engine_versions(fit, estimates)


def _row(cell: Cell, fit: Fit, found: Estimates, seconds: float) -> tuple[Any, ...]:
    said = "; ".join(c.text.strip() for c in found.conditions if c.kind == "warning") if found.conditions else ""
    if fit.model.term not in found.terms:
        message = f"the term {fit.model.term!r} is not in the fit, which has: {', '.join(found.terms)}"
        return failed_row(cell, fit, "error", message, seconds)
    i = found.terms.index(fit.model.term)
    columns = (found.estimate, found.std_error, found.statistic, found.df, found.p_value)
    numbers = tuple(column.item(i) for column in columns)
    status = "ok"
    if not math.isfinite(numbers[-1]):
        status, said = "error", f"no p-value{': ' + said if said else ''}"
    elif said or not found.converged:
        status, said = "warning", said or "did not converge"
    flags = (float(found.loglik), bool(found.converged), bool(found.singular))
    return (*_key(cell, fit), *numbers, *flags, status, said or None, seconds)


def _key(cell: Cell, fit: Fit) -> tuple[Any, ...]:
    return (cell.label, fit.replicate, fit.model.name, fit.engine, fit.model.term)


def _engine_versions(fit: Fit, found: Estimates) -> dict[str, str]:
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
