"""What a planned study tests: a coefficient, a pair of systems, any difference, or all pairs with Holm's correction."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import combinations, groupby
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ordbridge import __version__
from ordbridge.errors import InputError
from ordbridge.models.inference.adjust import adjusted_p
from ordbridge.models.problem import Estimates
from ordbridge.planning.criteria import of_criteria
from ordbridge.planning.null_truth import nothing_differs
from ordbridge.planning.planned_test import PlannedTest, pair_name
from ordbridge.power.api import carry_out, run
from ordbridge.power.assignment import Assignment
from ordbridge.power.backends import choose
from ordbridge.power.faults import MachineFault
from ordbridge.power.fit_table import FAILED, FitRow, table_of
from ordbridge.power.grid import Cell, Grid
from ordbridge.power.models import FORMULAS, Goal, Model, dataset_columns, resolve, system_terms
from ordbridge.power.result import load, r_versions
from ordbridge.power.worker import Batch, BatchResult, FitTask, failed_row, failure_of, key_of
from ordbridge.simulate import Simulator
from ordbridge.support.arguments import number_of_workers
from ordbridge.support.naming import arg
from ordbridge.support.progress import Progress

ANY, PAIRS, REFERENCE = "any difference", "all pairs", "all against "
WITHIN = " within "  # between a pair and the family of pairs that it is corrected with


def hypothesis(
    cell: Cell,
    kind: str,
    formula: str | None,
    test: Any,
    goal: Goal | None = None,
    names: Sequence[str] | None = None,
) -> Model:
    """Return the model of a plan; its term is the coefficient, pair or family that is tested.

    ``test`` speaks of the systems by ``names``; simulated studies call them by the letters of their design.
    """
    if goal and goal.show != "difference" and (test is not None or len(cell.systems) > 2):
        raise InputError(f"{goal.show} is planned for two systems, and without a test; plan the pair that matters")
    labels = [str(label) for label in cell.systems]
    called = list(names) if names is not None else labels
    if test is None:
        terms = list(system_terms(cell))
        if len(terms) > 1:
            raise InputError(
                f"there are {len(labels)} systems. Say what is tested ({arg('test')}): {called[0]} {called[-1]} for a "
                f"pair, reference {called[0]} for all pairs with it, pairs for all pairs, any for any difference"
            )
        term = terms[0]
    elif isinstance(test, str) and test in ("any", "pairs"):
        term = ANY if test == "any" else PAIRS
    else:
        words = [] if isinstance(test, str) else [str(word) for word in test]
        if len(words) == 2 and words[0] == "reference" and "reference" not in called and words[1] in called:
            term = f"{REFERENCE}{labels[called.index(words[1])]}"
        elif len(words) == 2 and len({*words}) == 2 and {*words} <= {*called}:
            low, high = sorted(called.index(word) for word in words)
            term = pair_name(labels[low], labels[high])
        else:
            raise InputError(
                f"the test {test!r} is not a pair of the systems {', '.join(called)}; give two of them, reference and "
                "one of them, pairs or any"
            )
    (model,) = resolve({kind: {"formula": formula or FORMULAS[kind], "term": term}}, [cell], goal=goal)
    return model


def aim_in_words(model: Model) -> str:
    """Say what is to be shown, if it is not a difference."""
    if model.goal == "difference":
        return ""
    points = "rating points" if model.on == "rating" else "latent units"
    return f"{model.goal} within {model.margin:g} {points}"


def in_words(term: str, names: Sequence[str], labels: Sequence[str]) -> str:
    """Say what is tested, with the names of the systems.

    Examples
    --------
    >>> in_words("systemB", ["base", "new"], ["A", "B"])
    'new against base'
    >>> in_words("C - B", ["x", "y", "z"], ["A", "B", "C"]), in_words("all pairs", ["x", "y", "z"], ["A", "B", "C"])
    ('z against y', 'all pairs, Holm')
    """
    called = dict(zip(labels, names, strict=True))
    if term == ANY:
        return "any difference, likelihood ratio test"
    if term == PAIRS:
        return "all pairs, Holm"
    if term.startswith(REFERENCE):
        return f"every system against {called[term.removeprefix(REFERENCE)]}, Holm"
    if term.startswith("system"):
        return f"{called.get(term.removeprefix('system'), names[-1])} against {names[0]}"
    high, _, low = term.partition(" - ")
    return f"{called[high]} against {called[low]}"


@dataclass(frozen=True)
class Simulations:
    """The simulated studies of a plan: each design has a store of its own, which grows look by look."""

    model: Model
    folder: Path
    seed: int
    engine: str
    jobs: int
    alpha: float
    criteria: int = 1
    correlation: float = 0.5
    """How many criteria there are, and how their tests are assumed to correlate."""
    versions: dict[str, str] = field(default_factory=dict)
    """Of R and its packages, as the workers report them."""
    progress: Callable[[Progress], object] | None = None
    """Told how far the datasets of a design are."""

    @property
    def pairs(self) -> bool:
        """Whether several pairs are tested."""
        return self.model.term == PAIRS or self.model.term.startswith(REFERENCE)

    @property
    def workers(self) -> int:
        """How many processes work."""
        return number_of_workers(self.jobs)

    def p_values(self, grid: Grid, n: int) -> np.ndarray:
        """Bring a design to ``n`` datasets and return their p-values, NaN where a fit failed."""
        fits = self._fits(grid, n)
        fits = fits.filter(pc.and_(pc.equal(fits["model"], self.model.name), pc.less(fits["replicate"], n)))
        failed = pc.is_in(fits["status"], pa.array(FAILED)).to_numpy()
        p = np.where(failed, np.nan, fits["p_value"].to_numpy())
        nothing = nothing_differs(grid.cells[0].truth, self.model)
        return of_criteria(p, self.criteria, self.correlation, differ=not nothing)

    def count(self, grid: Grid, n: int, critical: float | None = None) -> tuple[int, int, int]:
        """Bring a design to ``n`` datasets; return how many there are, are significant (at alpha), and failed."""
        p = self.p_values(grid, n)
        return p.size, int((p < (self.alpha if critical is None else critical)).sum()), int(np.isnan(p).sum())

    def seconds(self, grid: Grid) -> float:
        """Return how long a dataset of this design took on average, of those that are there."""
        fits = self._fits(grid, 1)
        return float(np.sum(fits["seconds"].to_numpy()) / len(set(fits["replicate"].to_pylist())))

    def stored(self, grid: Grid) -> int:
        """Return how many datasets of this design are there already."""
        path = self._path(grid)
        return len(set(load(path).fits["replicate"].to_pylist())) if (path / "manifest.json").exists() else 0

    def of_pairs(self, grid: Grid, n: int, names: Sequence[str], critical: float | None = None) -> pa.Table:
        """Return the power of each pair after Holm's correction, at alpha or a critical value."""
        from ordbridge.power.estimates import power

        fits = self._fits(grid, n)
        rows = []
        for model in self._models(grid.cells[0])[1:]:
            mine = fits.filter(pc.equal(fits["model"], model.name))
            failed = pc.is_in(mine["status"], pa.array(FAILED)).to_numpy()
            found = power(mine["p_value"].to_numpy(), failed, self.alpha if critical is None else critical)
            kept = {name: found[name] for name in ("n", "n_failed", "power", "conf_low", "conf_high")}
            called = dict(zip(map(str, grid.cells[0].systems), names, strict=True))
            high, _, low = model.name.partition(" - ")
            pair = {"system_a": called[high], "system_b": called[low]}
            rows.append(pair | {"difference": _difference(grid.cells[0], model.name)} | kept)
        return pa.Table.from_pylist(rows)

    def _models(self, cell: Cell) -> tuple[Model, ...]:
        if not self.pairs:
            return (self.model,)
        family = self.model.term
        named = _family(family, [str(label) for label in cell.systems])
        return (self.model, *(replace(self.model, name=name, term=f"{name}{WITHIN}{family}") for name in named))

    def _path(self, grid: Grid) -> Path:
        (cell,) = grid.cells
        key = f"{cell.content}|{self.engine}|{self.seed}|{[m.to_dict() for m in self._models(cell)]}"
        return self.folder / hashlib.sha256(key.encode()).hexdigest()[:16]

    def _fits(self, grid: Grid, n: int) -> pa.Table:
        (cell,) = grid.cells
        models, path = self._models(cell), self._path(grid)
        if self.model.term in system_terms(cell):
            known = {m.name: m for m in models}
            how: dict[str, Any] = {"engine": self.engine, "jobs": self.jobs, "store": path, "alpha": self.alpha}
            done = run(grid, known, n, self.seed, **how, progress=self._counting(cell))
        else:
            assignment = Assignment(grid, models, n, self.seed, self.engine, self.alpha)
            done = carry_out(
                assignment, path, lambda: choose("loky", self.jobs), self._counting(cell), work=fit_hypotheses
            )
        self.versions.update(r_versions(done.manifest["environments"]))
        return done.fits

    def _counting(self, cell: Cell) -> Callable[[Progress], object] | None:
        """Return what tells how far the datasets of a design are, and says of which one."""
        tell = self.progress
        if tell is None:
            return None
        design = cell.design
        words = f"fits to studies of {len(design['item'].unique())} items and {design.num_rows} ratings"
        words += " without a difference" if nothing_differs(cell.truth, self.model) else ""
        return lambda progress: tell(replace(progress, what=words))


def fit_hypotheses(batch: Batch) -> BatchResult:
    """Do the fits of a batch in a worker: one dataset is fitted once, whatever is asked about it."""
    started = time.perf_counter()
    simulator, versions = _simulator(batch.cell), {"ordbridge": __version__}
    rows: list[FitRow] = []
    undone: list[FitTask] = []
    why = ""
    for replicate, fits in groupby(batch.fits, key=lambda fit: fit.replicate):
        asked = list(fits)
        rating = simulator.draw(batch.cell.stream(batch.seed, replicate))[0]
        try:
            rows += _tested(batch.cell, asked, rating, batch.timeout, versions)
        except MachineFault as fault:
            undone += asked
            why = str(fault)
    return BatchResult(table_of(rows), time.perf_counter() - started, versions, tuple(undone), why)


@lru_cache(maxsize=4)
def _simulator(cell: Cell) -> Simulator:
    return Simulator(cell.design, cell.truth, cell.variant)


def _tested(
    cell: Cell, asked: list[FitTask], rating: np.ndarray, timeout: float | None, versions: dict[str, str]
) -> list[FitRow]:
    begun = time.perf_counter()
    try:
        found = dict(_p_values(cell, asked[0], rating, timeout))
    except Exception as error:
        failure = failure_of(error)
        return [failed_row(cell, fit, *failure, time.perf_counter() - begun) for fit in asked]
    seconds = (time.perf_counter() - begun) / len(asked)
    rows: list[FitRow] = []
    for fit in asked:
        p, e = found[fit.model.term]
        if e.r_version is not None:
            versions |= {"R": e.r_version, f"R engine of {fit.model.kind}": e.package_version}
        status = "error" if not np.isfinite(p) else "ok" if e.converged else "warning"
        rows.append(
            FitRow(
                *key_of(cell, fit),
                p_value=p,
                loglik=float(e.loglik),
                converged=bool(e.converged),
                singular=bool(e.singular),
                status=status,
                message={"error": "no p-value", "warning": "did not converge"}.get(status),
                seconds=seconds,
            )
        )
    return rows


def _p_values(
    cell: Cell, fit: FitTask, rating: np.ndarray, timeout: float | None
) -> Iterator[tuple[str, tuple[float, Estimates]]]:
    """Yield the p-value of everything that can be asked about one dataset, by its term."""
    labels, term = [str(label) for label in cell.systems], fit.model.term
    table = pa.table({**dataset_columns(cell, fit.model), "rating": rating})
    tested = PlannedTest(fit.model, table, labels, fit.engine, timeout)
    if term == ANY:
        yield term, tested.any_difference()
        return
    for pair in combinations(labels, 2):
        if term == pair_name(*pair):
            yield term, (tested.pair(*pair).p_value, tested.full)
            return
    single, full = tested.pairs(), tested.full
    family = term.partition(WITHIN)[2] or term
    pairs = _family(family, labels)
    adjusted = dict(zip(pairs, adjusted_p(np.array([single[name] for name in pairs]), "holm").tolist(), strict=True))
    nothing = nothing_differs(cell.truth, fit.model)
    differ = [p for name, p in adjusted.items() if not nothing and _difference(cell, name) != 0]
    yield family, (max(differ) if differ else min(adjusted.values()), full)
    for name, p in adjusted.items():
        yield f"{name}{WITHIN}{family}", (p, full)


def pairs_of(term: str, labels: list[str]) -> tuple[tuple[int, int], ...]:
    """Return the pairs of systems that a term tests, by their numbers.

    Examples
    --------
    >>> pairs_of("systemB", ["A", "B", "C"]), pairs_of("C - B", ["A", "B", "C"])
    (((0, 1),), ((1, 2),))
    >>> pairs_of("all pairs", ["A", "B", "C"])
    ((0, 1), (0, 2), (1, 2))
    """
    every = tuple(combinations(range(len(labels)), 2))
    if term in (ANY, PAIRS):
        return every
    if term.startswith(REFERENCE):
        one = labels.index(term.removeprefix(REFERENCE))
        return tuple(pair for pair in every if one in pair)
    return tuple(
        (i, j)
        for i, j in every
        if term == pair_name(labels[i], labels[j]) or (i == 0 and term in (f"system{labels[j]}", "system"))
    )


def _family(term: str, labels: list[str]) -> list[str]:
    """Return the pairs that are tested together: all, or those with one system."""
    one = term.removeprefix(REFERENCE) if term.startswith(REFERENCE) else None
    return [pair_name(*pair) for pair in combinations(labels, 2) if one is None or one in pair]


def _difference(cell: Cell, pair: str) -> float:
    """Return the true latent difference behind a pair, ``"B - A"``."""
    labels = [str(label) for label in cell.systems]
    effects = dict(zip(labels, (0.0, *cell.truth.effects), strict=True))
    return next(effects[high] - effects[low] for low, high in combinations(labels, 2) if pair_name(low, high) == pair)
