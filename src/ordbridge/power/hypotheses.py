"""What a planned study tests: a coefficient, a pair of systems, any difference, or all pairs with Holm's correction."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from itertools import combinations, groupby
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ordbridge import __version__
from ordbridge.errors import BridgeError, FitTimeout, InputError
from ordbridge.formula import Number, Summand, names, parse
from ordbridge.models.fit import engine_module
from ordbridge.models.prepare import prepare
from ordbridge.models.problem import Estimates
from ordbridge.power.api import run
from ordbridge.power.backends import choose
from ordbridge.power.grid import Cell, Grid
from ordbridge.power.models import FORMULAS, OPTIONS, Model, dataset_columns, resolve, system_terms
from ordbridge.power.result import Run, load
from ordbridge.power.runner import FAILED, Plan, execute
from ordbridge.power.store import FORMAT, Store
from ordbridge.power.worker import Answer, Batch, Fit, failed_row, to_table
from ordbridge.simulate import Simulator

__all__ = ["Simulations", "fit_hypotheses", "holm", "hypothesis", "r_versions"]

ANY, PAIRS = "any difference", "all pairs"


def hypothesis(cell: Cell, kind: str, formula: str | None, test: str | tuple[str, str] | None) -> Model:
    """Return the model of a plan; its term is the coefficient, pair or family that is tested."""
    labels = [str(label) for label in cell.systems]
    if test is None:
        terms = list(system_terms(cell))
        if len(terms) > 1:
            raise InputError(
                f"there are {len(labels)} systems; say what is tested: "
                f"test=('{labels[0]}', '{labels[-1]}'), 'any' or 'pairs'"
            )
        term = terms[0]
    elif test in ("any", "pairs"):
        term = ANY if test == "any" else PAIRS
    else:
        if isinstance(test, str) or len(test) != 2 or len({*test}) < 2 or not {*map(str, test)} <= {*labels}:
            raise InputError(f"test={test!r} is no pair of the systems {', '.join(labels)}; nor is it 'any' or 'pairs'")
        low, high = sorted(labels.index(str(name)) for name in test)
        term = _pair_name(labels, low, high)
    (model,) = resolve({kind: {"formula": formula or FORMULAS[kind], "term": term}}, [cell])
    return model


@dataclass(frozen=True)
class Simulations:
    """The simulated studies of a plan: each design has a store of its own, which grows look by look."""

    model: Model
    folder: Path
    seed: int
    engine: str
    jobs: int
    alpha: float
    versions: dict[str, str] = field(default_factory=dict)
    """Of R and its packages, as the workers report them."""

    @property
    def question(self) -> str:
        """What is tested, in words."""
        return {ANY: "any difference, likelihood ratio test", PAIRS: "all pairs, Holm"}.get(
            self.model.term, f"test of {self.model.term}"
        )

    @property
    def pairs(self) -> bool:
        """Whether all pairs are tested."""
        return self.model.term == PAIRS

    @property
    def workers(self) -> int:
        """How many processes work."""
        return self.jobs if self.jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + self.jobs)

    def count(self, grid: Grid, n: int) -> tuple[int, int, int]:
        """Bring a design to ``n`` datasets and return how many there are, are significant, and failed."""
        fits = self._fits(grid, n)
        fits = fits.filter(pc.and_(pc.equal(fits["model"], self.model.name), pc.less(fits["replicate"], n)))
        failed = pc.is_in(fits["status"], pa.array(FAILED)).to_numpy()
        p = fits["p_value"].to_numpy()
        return fits.num_rows, int(((p < self.alpha) & ~failed).sum()), int(failed.sum())

    def seconds(self, grid: Grid) -> float:
        """Return how long a dataset of this design took on average, of those that are there."""
        fits = self._fits(grid, 1)
        return float(np.sum(fits["seconds"].to_numpy()) / len(set(fits["replicate"].to_pylist())))

    def stored(self, grid: Grid) -> int:
        """Return how many datasets of this design are there already."""
        path = self._path(grid)
        return len(set(load(path).fits["replicate"].to_pylist())) if (path / "manifest.json").exists() else 0

    def of_pairs(self, grid: Grid, n: int) -> pa.Table:
        """Return the power of each pair after Holm's correction."""
        from ordbridge.power.estimates import power

        fits = self._fits(grid, n)
        rows = []
        for model in self._models(grid.cells[0])[1:]:
            mine = fits.filter(pc.equal(fits["model"], model.name))
            failed = pc.is_in(mine["status"], pa.array(FAILED)).to_numpy()
            found = power(mine["p_value"].to_numpy(), failed, self.alpha)
            kept = {name: found[name] for name in ("n", "n_failed", "power", "conf_low", "conf_high")}
            rows.append({"pair": model.name, "difference": _difference(grid.cells[0], model.name)} | kept)
        return pa.Table.from_pylist(rows)

    def _models(self, cell: Cell) -> tuple[Model, ...]:
        if not self.pairs:
            return (self.model,)
        labels = [str(label) for label in cell.systems]
        named = [_pair_name(labels, i, j) for i, j in combinations(range(len(labels)), 2)]
        return (self.model, *(replace(self.model, name=name, term=f"{name} (Holm)") for name in named))

    def _path(self, grid: Grid) -> Path:
        (cell,) = grid.cells
        key = f"{cell.content}|{self.engine}|{self.seed}|{[m.to_dict() for m in self._models(cell)]}"
        return self.folder / hashlib.sha256(key.encode()).hexdigest()[:16]

    def _fits(self, grid: Grid, n: int) -> pa.Table:
        (cell,) = grid.cells
        models, path = self._models(cell), self._path(grid)
        if self.model.term in system_terms(cell):
            known = {m.name: m for m in models}
            done = run(grid, known, n, self.seed, engine=self.engine, jobs=self.jobs, store=path, alpha=self.alpha)
        else:
            done = _run(grid, models, n, path, self)
        self.versions.update(r_versions(done.manifest["environments"]))
        return done.fits


def r_versions(environments: list[dict[str, str]]) -> dict[str, str]:
    """Return the versions of R and of the packages that fitted, from a run's manifest.

    Examples
    --------
    >>> r_versions([{"python": "3.11", "R": "4.2.2", "R engine of clmm": "ordinal 2022.11.16"}])
    {'R': '4.2.2', 'ordinal': '2022.11.16'}
    """
    found = {}
    for environment in environments:
        for name, value in environment.items():
            if name == "R":
                found["R"] = value
            elif name.startswith("R engine of "):
                package, _, number = value.partition(" ")
                found[package] = number
    return found


def _run(grid: Grid, models: tuple[Model, ...], sims: int, path: Path, asked: Simulations) -> Run:
    """Do what :func:`ordbridge.power.run` does, with workers that test hypotheses."""
    manifest = {
        "format": FORMAT,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "ordbridge": __version__,
        "grid": grid.to_dict(),
        "cells": {cell.label: cell.content for cell in grid.cells},
        "models": {model.name: model.to_dict() for model in models},
        "engine": asked.engine,
        "seed": asked.seed,
        "sims": sims,
        "alpha": asked.alpha,
        "timeout": None,
        "audit": 0.0,
        "environments": [],
    }
    store = Store(path, manifest)
    try:
        plan = Plan(grid.cells, models, sims, asked.seed, asked.engine)
        execute(plan, store, lambda: choose("loky", asked.jobs, None), None, fit_hypotheses)
        return Run(path, store.manifest)
    finally:
        store.close()


def fit_hypotheses(batch: Batch) -> Answer:
    """Do the fits of a batch in a worker: one dataset is fitted once, whatever is asked about it."""
    started = time.perf_counter()
    simulator, versions = _simulator(batch.cell), {"ordbridge": __version__}
    rows: list[tuple[Any, ...]] = []
    for replicate, fits in groupby(batch.fits, key=lambda fit: fit.replicate):
        asked = list(fits)
        rating = simulator.draw(batch.cell.stream(batch.seed, replicate))[0]
        rows += _tested(batch.cell, asked, rating, batch.timeout, versions)
    return Answer(to_table(rows), time.perf_counter() - started, versions)


@lru_cache(maxsize=4)
def _simulator(cell: Cell) -> Simulator:
    return Simulator(cell.design, cell.truth, cell.variant)


def _tested(
    cell: Cell, asked: list[Fit], rating: np.ndarray, timeout: float | None, versions: dict[str, str]
) -> list[tuple[Any, ...]]:
    begun = time.perf_counter()
    try:
        found = dict(_p_values(cell, asked[0], rating, timeout))
    except BridgeError:
        raise
    except FitTimeout as error:
        return [failed_row(cell, fit, "timeout", str(error), time.perf_counter() - begun) for fit in asked]
    except Exception as error:  # whatever goes wrong in one fit is data about that fit
        message = str(error) or type(error).__name__
        return [failed_row(cell, fit, "error", message, time.perf_counter() - begun) for fit in asked]
    seconds = (time.perf_counter() - begun) / len(asked)
    rows: list[tuple[Any, ...]] = []
    for fit in asked:
        p, e = found[fit.model.term]
        if e.r_version is not None:
            versions |= {"R": e.r_version, f"R engine of {fit.model.kind}": e.package_version}
        status = "ok" if np.isfinite(p) else "error"
        key = (cell.label, fit.replicate, fit.model.name, fit.engine, fit.model.term)
        flags = (float(e.loglik), bool(e.converged), bool(e.singular))
        if status == "ok" and not e.converged:
            status = "warning"
        said = {"error": "no p-value", "warning": "did not converge"}.get(status)
        rows.append((*key, None, None, None, None, p, *flags, status, said, seconds))
    return rows


def _p_values(
    cell: Cell, fit: Fit, rating: np.ndarray, timeout: float | None
) -> Iterator[tuple[str, tuple[float, Estimates]]]:
    """Yield the p-value of everything that can be asked about one dataset, by its term."""
    labels, term = [str(label) for label in cell.systems], fit.model.term
    full = _fit(cell, fit, rating, timeout)
    if term == ANY:
        yield term, (_likelihood_ratio(full, _fit(cell, fit, rating, timeout, without_system=True)), full)
        return
    single = _pair_p_values(cell, fit, rating, timeout, full)
    if not term.startswith(PAIRS) and not term.endswith("(Holm)"):
        yield term, (single[term], full)
        return
    adjusted = dict(zip(single, holm(list(single.values())), strict=True))
    differ = [p for name, p in adjusted.items() if _difference(cell, name) != 0]
    yield PAIRS, (max(differ) if differ else min(adjusted.values()), full)
    for name in (_pair_name(labels, i, j) for i, j in combinations(range(len(labels)), 2)):
        yield f"{name} (Holm)", (adjusted[name], full)


def _fit(
    cell: Cell,
    fit: Fit,
    rating: np.ndarray,
    timeout: float | None,
    *,
    without_system: bool = False,
    reference: int = 0,
) -> Estimates:
    columns = dataset_columns(cell)
    labels = [str(label) for label in cell.systems]
    order = [labels[reference], *labels[:reference], *labels[reference + 1 :]]
    codes = pc.index_in(columns["system"].cast(pa.string()), value_set=pa.array(order))
    columns["system"] = pa.DictionaryArray.from_arrays(codes.combine_chunks(), pa.array(order))
    table = pa.table({**columns, "rating": rating})
    formula = fit.model.formula
    if without_system:
        formula = _without_system(formula, table.column_names)
    options = {name: getattr(fit.model, name) for name in OPTIONS[fit.model.kind]}
    problem = prepare(fit.model.kind, formula, table, **options, timeout=timeout)
    found: Estimates = engine_module(fit.engine).fit(problem)
    return found


def _without_system(formula: str, columns: list[str]) -> str:
    """Return the formula without the fixed effects of the systems; their random slopes stay."""
    parsed = parse(formula, columns)
    kept = tuple(summand for summand in parsed.fixed if "system" not in set(names(summand.term)))
    return str(replace(parsed, fixed=kept or (Summand("+", Number("1")),)))


def _likelihood_ratio(full: Estimates, null: Estimates) -> float:
    from scipy.stats import chi2

    return float(chi2.sf(max(0.0, 2 * (full.loglik - null.loglik)), full.edf - null.edf))


def _pair_p_values(
    cell: Cell, fit: Fit, rating: np.ndarray, timeout: float | None, full: Estimates
) -> dict[str, float]:
    """Return the p-value of every pair: Wald tests of differences of coefficients.

    Satterthwaite's degrees of freedom belong to one contrast, so an lmer is fitted again with each system as the first.
    """
    from scipy.stats import norm, t

    labels = [str(label) for label in cell.systems]
    found = {}
    for i, j in combinations(range(len(labels)), 2):
        name = _pair_name(labels, i, j)
        if i == 0 or fit.model.kind == "lmer":
            e = full if i == 0 else _fit(cell, fit, rating, timeout, reference=i)
            found[name] = float(e.p_value[e.terms.index(f"system{labels[j]}")])
            continue
        weights = np.zeros(len(full.terms))
        weights[full.terms.index(f"system{labels[j]}")] = 1.0
        weights[full.terms.index(f"system{labels[i]}")] = -1.0
        statistic = weights @ full.estimate / np.sqrt(weights @ full.vcov @ weights)
        df = full.df[full.terms.index(f"system{labels[j]}")]
        found[name] = float(2 * (norm.sf(abs(statistic)) if np.isnan(df) else t.sf(abs(statistic), df)))
    return found


def holm(p_values: list[float]) -> list[float]:
    """Adjust p-values for their number (Holm 1979).

    References
    ----------
    Holm, S. (1979). A simple sequentially rejective multiple test procedure. *Scandinavian Journal of Statistics* 6,
    65–70.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    from statsmodels.stats.multitest import multipletests

    return [float(p) for p in multipletests(p_values, method="holm")[1]]


def _difference(cell: Cell, pair: str) -> float:
    """Return the true latent difference behind a pair, ``"B - A"``."""
    labels = [str(label) for label in cell.systems]
    effects = dict(zip(labels, (0.0, *cell.truth.effects), strict=True))
    return next(
        effects[labels[j]] - effects[labels[i]]
        for i, j in combinations(range(len(labels)), 2)
        if _pair_name(labels, i, j) == pair
    )


def _pair_name(labels: list[str], low: int, high: int) -> str:
    return f"{labels[high]} - {labels[low]}"
