"""Responses drawn from a fitted model, and work on many of them: in processes, with a file to go on from.

A draw depends on the seed and its own number only, so that results do not depend on the number of processes or on
interruptions. All fits are native.
"""

from __future__ import annotations

import hashlib
import math
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from ordbridge.errors import FitError, InputError
from ordbridge.formula import Name
from ordbridge.models import predict as prediction
from ordbridge.models.columns import Column, encode_response
from ordbridge.models.engines import engine_module
from ordbridge.models.problem import Estimates, Matrices, Problem
from ordbridge.reading.source import text_of
from ordbridge.render.notebook import bar_in_notebook
from ordbridge.results.finding import Finding, found
from ordbridge.support.arguments import file_to_write, number_of_workers, whole
from ordbridge.support.child_processes import deaf_workers
from ordbridge.support.naming import arg
from ordbridge.support.progress import Progress

if TYPE_CHECKING:
    from ordbridge.models.fit import Fit

BATCH = 20  # draws that a process does at a time
FAILURES = (InputError, FitError, np.linalg.LinAlgError)  # what a draw may do to a fit: it is then counted as failed
LINE = re.compile(r"[0-9a-f]{16},[0-9]{1,12}(,(nan|-?inf|-?[0-9]+(\.[0-9]+)?(e[+-][0-9]+)?))+")  # of a store
UNFINISHED = re.compile(r"[0-9a-f]{0,16}|[0-9a-f]{16},[0-9naife,.+-]*")
FAR = 0.01  # log likelihoods of two engines that differ by more have different optima


@dataclass(frozen=True, eq=False)
class Source:
    """A fitted model that responses are drawn from."""

    problem: Problem
    estimates: Estimates
    rows: Matrices
    seed: int

    @classmethod
    def of(cls, problem: Problem, estimates: Estimates, seed: int) -> Source:
        """Make a natively fitted problem ready."""
        if problem.weights is not None:
            raise InputError(
                "a bootstrap draws one rating per row, and with weights a row may stand for several; write these out "
                "as rows, or use another method"
            )
        here = {name: column.take(estimates.rows) for name, column in problem.columns.items()}
        return cls(problem, estimates, engine_module("fast").matrices(problem, estimates, here), seed)

    def response(self, draw: int) -> Column:
        """Return new responses on the rows of the fit, missing elsewhere."""
        drawn = prediction.simulated(self.problem, self.estimates, self.rows, 1, (self.seed, draw))["sim_1"]
        if self.problem.ordinal:
            column = encode_response("response", drawn)
            values = np.full(self.problem.n_rows, -1)
        else:
            column = Column("numeric", drawn.to_numpy())
            values = np.full(self.problem.n_rows, np.nan)
        values[self.estimates.rows] = column.values
        return replace(column, values=values)

    def fingerprint(self, *words: str) -> str:
        """Return what tells work on these draws from any other; ``words`` say what the work is."""
        p = self.problem
        parts = [*words, p.described, p.model, str(p.link), str(p.threshold), str(self.seed)]
        told = hashlib.sha256("\n".join(parts).encode())
        own = (self.rows.X, *self.rows.Z, *self.rows.level, self.rows.nominal, self.rows.scale, self.rows.offset)
        for values in (*own, self.estimates.estimate, self.estimates.rows):
            told.update(np.ascontiguousarray(values).tobytes())
        return told.hexdigest()[:16]


class Work(Protocol):
    """What is done with each draw."""

    @property
    def fingerprint(self) -> str:
        """What tells this work from any other."""

    def one(self, draw: int) -> list[float]:
        """Return the numbers of one draw, NaN if there are none."""


class DrawPlan(NamedTuple):
    """How a bootstrap draws: how often at most, from which seed, in how many processes, kept where, told to whom."""

    draws: int
    seed: int = 0
    jobs: int = 1
    store: str | PathLike[str] | None = None
    progress: Callable[[Progress], None] | None = None

    def at_least(self, least: int) -> DrawPlan:
        """Return it, if there are enough draws for what is asked."""
        whole("draws", self.draws, least=least)
        whole("seed", self.seed, least=0)
        return self


def results(work: Work, how: DrawPlan) -> Iterator[list[float]]:
    """Yield the numbers of the draws in their order: first those that are stored, then new ones."""
    failures, pace = 0, _Pace()
    with bar_in_notebook(how.progress) as tell:
        for done, values in enumerate(_results(work, how, pace), start=1):
            failures += math.isnan(values[0])
            if tell is not None:
                left = (how.draws - done) / pace.rate if pace.rate else None
                tell(Progress(done, how.draws, pace.rate, left, failures, "draws"))
            yield values


class Together:
    """Draws of several works, made in the same processes."""

    def __init__(self, works: Sequence[Work], how: DrawPlan) -> None:
        self.works, self.how = works, how
        self.stores = [_Store(work.fingerprint, how.store) for work in works]
        self.pace = _Pace()

    def until(self, draws: Sequence[int]) -> list[list[list[float]]]:
        """Return the numbers of the first draws of every work, as many as are wanted of each."""
        from joblib import Parallel, delayed

        known = [store.values for store in self.stores]
        tasks = [
            (k, range(begin, min(begin + BATCH, n)))
            for k, n in enumerate(draws)
            for begin in range(len(known[k]), n, BATCH)
        ]
        jobs, total = number_of_workers(self.how.jobs), sum(draws)
        with bar_in_notebook(self.how.progress) as tell, Parallel(n_jobs=jobs, return_as="generator") as pool:
            began = time.perf_counter()
            with deaf_workers():  # the processes start here
                making = pool(delayed(_batch)(self.works[k], batch) for k, batch in tasks)
            for (k, _), made in zip(tasks, making, strict=True):
                self.stores[k].add(made)
                self.pace.made += len(made)
                self.pace.seconds += time.perf_counter() - began
                began = time.perf_counter()
                if tell is not None:
                    done = sum(min(len(own), n) for own, n in zip(known, draws, strict=True))
                    failures = sum(math.isnan(values[0]) for own in known for values in own)
                    left = (total - done) / self.pace.rate if self.pace.rate else None
                    tell(Progress(done, total, self.pace.rate, left, failures, "draws"))
        return [own[:n] for own, n in zip(known, draws, strict=True)]


@dataclass
class _Pace:
    """How many draws were made in how many seconds: not those that were stored, nor while others were waited for."""

    made: int = 0
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        return self.made / max(self.seconds, 1e-9)


def _results(work: Work, how: DrawPlan, pace: _Pace) -> Iterator[list[float]]:
    from joblib import Parallel, delayed

    draws, jobs = how.draws, number_of_workers(how.jobs)
    known = _Store(work.fingerprint, how.store)
    yield from known.values[:draws]
    begins = range(len(known.values), draws, BATCH)
    with Parallel(n_jobs=jobs, return_as="generator") as pool:
        for k in range(0, len(begins), jobs):
            batches = [range(begin, min(begin + BATCH, draws)) for begin in begins[k : k + jobs]]
            began = time.perf_counter()
            with deaf_workers():  # the processes start here
                making = pool(delayed(_batch)(work, batch) for batch in batches)
            made = list(making)
            pace.seconds += time.perf_counter() - began
            pace.made += sum(map(len, made))
            for found in made:
                known.add(found)
                yield from found


def _batch(work: Work, draws: range) -> list[list[float]]:
    return [work.one(draw) for draw in draws]


class _Store:
    """Results in the file ``draws.csv`` of a folder, in lines ``work,draw,number,…``; several works may share it."""

    def __init__(self, work: str, folder: str | PathLike[str] | None) -> None:
        self.work, self.path = work, None if folder is None else _file_in(folder)
        self.values: list[list[float]] = []
        if self.path is None or not self.path.exists():
            return
        *lines, unfinished = text_of(self.path).split("\n")
        if not all(map(LINE.fullmatch, lines)) or not UNFINISHED.fullmatch(unfinished):
            raise InputError(f"{self.path} holds something other than draws; name another folder")
        if unfinished:  # what was being written when the machine stopped
            self.path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        rows = [line.split(",") for line in lines if line.startswith(f"{work},")]
        found = {int(draw): list(map(float, numbers)) for _, draw, *numbers in rows}
        if len(set(map(len, found.values()))) > 1:
            raise InputError(f"{self.path} is damaged: its draws have different numbers of values; delete it")
        while len(self.values) in found:
            self.values.append(found[len(self.values)])

    def add(self, values: list[list[float]]) -> None:
        first = len(self.values)
        self.values += values
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as file:
                for draw, numbers in enumerate(values, start=first):
                    file.write(",".join([self.work, str(draw), *map(repr, map(float, numbers))]) + "\n")


def _file_in(folder: str | PathLike[str]) -> Path:
    """Return the file of draws in a folder, which is made if it is not there."""
    place = file_to_write(folder)
    if place.exists() and not place.is_dir():
        raise InputError(f"{place} is not a folder; draws are kept in one: name a folder")
    place.mkdir(exist_ok=True)
    return place / "draws.csv"


def percentiles(drawn: np.ndarray, conf_level: float, notes: list[Finding]) -> tuple[np.ndarray, np.ndarray]:
    """Return percentile limits of each column; the order statistics (n + 1) α/2 and (n + 1)(1 − α/2).

    References
    ----------
    Davison, A. C. & Hinkley, D. V. (1997). Bootstrap methods and their application. Cambridge, section 5.3.1.

    Examples
    --------
    >>> low, high = percentiles(np.arange(1.0, 40.0)[:, None], 0.95, [])
    >>> low.round(6).tolist(), high.round(6).tolist()
    ([1.0], [39.0])
    """
    known = drawn[~np.isnan(drawn[:, 0])]
    if failed := len(drawn) - len(known):
        notes.append(found("draws-failed", failed=failed, draws=len(drawn)))
    if len(known) < 2 / (1 - conf_level) - 1:
        raise InputError(f"{len(known)} draws are too few for intervals of {conf_level:.0%}; use more draws")
    low, high = np.quantile(known, [(1 - conf_level) / 2, (1 + conf_level) / 2], axis=0, method="weibull")
    return low, high


def by_likelihood(problem: Problem) -> Problem:
    """Return the problem as the native engine can fit it by maximum likelihood; degrees of freedom play no part."""
    if problem.model != "lmer":
        return problem
    return replace(problem, REML=False, ddf="Satterthwaite")


def native(what: str, problem: Problem, instead: str, near: Estimates | None = None) -> Estimates:
    """Fit natively, or say that ``what`` needs it and which method does not."""
    try:
        estimates: Estimates = engine_module("fast").fit(problem, near)
    except InputError as refusal:
        reason = str(refusal).split(";")[0]
        raise InputError(f"{what} needs native fits, and {reason}; use {arg('method', instead)}") from None
    return estimates


def native_notes(fit: Fit, estimates: Estimates) -> list[Finding]:
    """Say that a fit was made again natively, and whether it has another optimum."""
    if fit.engine == "fast":
        return []
    notes = [found("refitted-natively")]
    if not fit.problem.REML and abs(estimates.loglik - fit.estimates.loglik) > FAR:
        notes.append(found("other-optimum", loglik=float(estimates.loglik), other=float(fit.estimates.loglik)))
    return notes


def with_response(problem: Problem, response: Column) -> Problem:
    """Return the problem with another response."""
    name = "drawn response"
    formula = replace(problem.formula, response=Name(name))
    return replace(problem, formula=formula, columns={**problem.columns, name: response})
