"""A run that was made, or is being made: its fits and what they say."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ordbridge.errors import InputError
from ordbridge.power import estimates, wording
from ordbridge.power.audit import Audit, audit
from ordbridge.power.calibration import COLUMNS, calibrated, calibrated_difference, critical_value, null_cells
from ordbridge.power.fit_table import FAILED, FITS
from ordbridge.power.grid import Cell, Grid
from ordbridge.power.manifest import read_manifest
from ordbridge.power.models import Model, system_terms
from ordbridge.power.parts import read_fits
from ordbridge.power.store import folder_of
from ordbridge.render import figures
from ordbridge.render.layout import Figures, Section, ShownPicture
from ordbridge.render.layout import ShownTable as Shown
from ordbridge.results import Finding, Result, worst_first
from ordbridge.support.arguments import proportion
from ordbridge.support.naming import arg

BEHIND = ("cell", "n_ok", "mc_error")
"""Columns that a reader does not need: the interval says what they say."""
COUNTS = [("n", pa.int64()), ("n_ok", pa.int64()), ("n_failed", pa.int64())]


def load(path: str | os.PathLike[str]) -> Run:
    """Return the run of a folder, finished or not.

    Examples
    --------
    >>> load("runs/none")
    Traceback (most recent call last):
    ...
    ordbridge.errors.InputError: there is no power run in runs/none: it has no manifest.json
    """
    folder = folder_of(path)
    return Run(folder, read_manifest(folder))


@dataclass(frozen=True, eq=False, repr=False)
class Run(Result):
    """A power run; its tables are read from its folder when they are asked for.

    Attributes
    ----------
    path
        The folder.
    manifest
        What was asked, and the versions of everything that ran.
    """

    kind: ClassVar[str] = "power"
    title = "Power of the planned study"
    path: Path
    manifest: dict[str, Any]

    def __repr__(self) -> str:
        """Name the folder."""
        return f"<Run of {len(self.grid.cells)} cells in {self.path}>"

    @property
    def answer(self) -> str:  # type: ignore[override]
        """For every model, which difference which size of study finds often enough."""
        return wording.answer(self, self._power)

    @property
    def counted(self) -> str:  # type: ignore[override]
        """How many studies were simulated, and how they were analysed."""
        return wording.counted(self, self._power)

    @cached_property
    def findings(self) -> tuple[Finding, ...]:  # type: ignore[override]
        """Failed and missing fits, tests that do not keep their level, and what an audit found."""
        return worst_first(wording.findings(self, self._power))

    @property
    def settings(self) -> dict[str, Any]:  # type: ignore[override]
        """What was asked."""
        asked = ("grid", "models", "datasets", "calibration", "seed", "engine", "alpha", "audit")
        named = {"calibration": "null_datasets"}
        return {named.get(name, name): self.manifest.get(name) for name in asked} | {"store": str(self.path)}

    @property
    def tables(self) -> dict[str, pa.Table]:
        """Power, failures, estimates against the truth, and the audit."""
        found = {"power": self._power, "failures": self.failures(), "bias": self.bias()}
        return found | ({"audit": self.audit().summary} if self.manifest["audit"] else {})

    def main(self) -> Sequence[Shown]:
        """Return the power of each study."""
        rows = sorted(range(self._power.num_rows), key=self._place)
        table = self._power.take(pa.array(rows, pa.int64()))
        return [Shown(wording.main_columns(self, table), names=wording.NAMES)] if rows else []

    def _place(self, row: int) -> tuple[int, int]:
        """Return where a row stands: cells in their order, in each the ordinal models first."""
        cells = list(dict.fromkeys(self._power["cell"].to_pylist()))
        kinds = {model.name: wording.ORDER.index(model.kind) for model in self.models}
        return cells.index(self._power["cell"][row].as_py()), kinds[self._power["model"][row].as_py()]

    def paper_tables(self) -> Sequence[Shown]:
        """Return the power of each study."""
        return self.main()

    def sections(self) -> Sequence[Section]:
        """Return power curves, the whole table, failures and audit; folded, estimates against the truth."""
        table = self._power
        failed = any(table["n_failed"].to_pylist())
        hidden = [*BEHIND, *([] if failed else ["power_if_failures_significant"])]
        said, shown = wording.said_once(table.drop_columns(hidden))
        sections = [Section("Power in numbers", (said, Shown(shown, names=wording.NAMES)), folded=True)]
        if self.calibration:
            words = (
                "Size is how often the test is significant where nothing is to be found. Adjusted power is that at a "
                "critical value at which the size is alpha. Compare models by their adjusted power."
            )
            sections.append(Section("Size and adjusted power", (words,)))
        failures = self.failures()
        if failures.num_rows:
            sections.append(Section("Failed fits", (Shown(failures),)))
        if self.manifest["audit"]:
            audit = self.audit()
            cases = [Shown(audit.cases, "p differs by more than 1%")] if audit.cases.num_rows else []
            sections.append(Section("Audit against R", (f"{audit}.", Shown(audit.summary), *cases)))
        bias = wording.said_once(self.bias().drop_columns(["cell"]))[1]
        return [*sections, Section("Estimates against the truth", (Shown(bias, names=wording.NAMES),), folded=True)]

    def picture(self) -> ShownPicture | None:
        """Return the picture of power over the effect."""
        if not self.figures():
            return None
        n = sorted(set(self._power["n"].to_pylist()))
        each = f"{n[0]:,}" if len(n) == 1 else f"{n[0]:,} to {n[-1]:,}"
        failed = sum(self._power["n_failed"].to_pylist())
        return ShownPicture(
            "power",
            f"Power over the difference between the systems, with exact 95% intervals ({each} datasets per point, "
            f"{failed:,} failed fits); dotted: 80% and alpha = {self.alpha:g}",
        )

    def figures(self) -> Figures:
        """Return power over the effect, where the grid has one."""
        drawable = "effect" in self._power.column_names and self._power.num_rows
        return Figures({"power": lambda: figures.power_curves(self)} if drawable else {})

    def methods(self) -> str:
        """Return the methods paragraph."""
        return wording.methods(self, self._power)

    def references(self) -> list[str]:
        """Return the references of the methods paragraph."""
        return wording.references(self)

    @cached_property
    def _power(self) -> pa.Table:
        return self.power()

    @property
    def versions(self) -> dict[str, str]:
        """Of R and the packages that fitted; none if it was the native engine."""
        return r_versions(self.manifest["environments"])

    @cached_property
    def grid(self) -> Grid:
        """The grid."""
        return Grid.from_dict(self.manifest["grid"])

    @cached_property
    def models(self) -> tuple[Model, ...]:
        """The models."""
        return tuple(Model(**options, name=name) for name, options in self.manifest["models"].items())

    @property
    def engine(self) -> str:
        """The engine whose fits count; an audit adds fits of R."""
        return str(self.manifest["engine"])

    @property
    def alpha(self) -> float:
        """The level of significance."""
        return float(self.manifest["alpha"])

    @property
    def calibration(self) -> int:
        """How many datasets the critical values are taken from; 0 if there are none."""
        return int(self.manifest.get("calibration", 0))

    @property
    def missing(self) -> int:
        """How many of the fits that were asked for are not there: of a run that goes on or was stopped."""
        there = pc.equal(self._read(["engine"])["engine"], self.engine).to_numpy()
        return sum(self._wanted.values()) * len(self.models) - int(there.sum())

    @cached_property
    def _wanted(self) -> dict[str, int]:
        """How many datasets of each cell were asked for."""
        wanted = {cell.label: int(self.manifest["datasets"]) for cell in self.grid.cells}
        if self.calibration:
            nulls = {null.label for own in null_cells(self.grid.cells, self.models).values() for null in own}
            wanted |= {label: max(wanted.get(label, 0), self.calibration) for label in nulls}
        return wanted

    @property
    def cells(self) -> pa.Table:
        """One row per cell: its name and its value on each axis."""
        return pa.Table.from_pylist([{"cell": cell.label, **_axes(cell)} for cell in self.grid.cells])

    @property
    def fits(self) -> pa.Table:
        """One row per (cell, replicate, model, engine): numbers of the tested term, status, message, seconds.

        Cells whose name begins with ``null:`` are not of the grid; critical values are taken from them.
        """
        return self._read(FITS.names)

    def power(self, alpha: float | None = None, conf_level: float = 0.95) -> pa.Table:
        """Return the power of each model in each cell.

        Columns: the cell and its axes, ``model, engine, term, measure`` ("power"; "type-I error" where the tested
        effect is 0), ``n, n_ok, n_failed, power`` (significant among all; failures are not significant),
        ``power_if_failures_significant``, ``conf_low, conf_high`` (Clopper–Pearson), ``mc_error`` (Monte Carlo standard
        error) and ``note``, which says so if every fit failed; there is no power then.

        A calibrated run also has ``size, size_low, size_high``, the share of significant datasets without an effect (at
        the margin, for equivalence and non-inferiority, the larger of two) and its Clopper–Pearson interval;
        ``critical_value``, which p has to fall below so that the size is alpha; ``adjusted_power``, the share that is
        significant by it, and its interval ``adjusted_low, adjusted_high``, which has the error of the critical value
        in it (:mod:`ordbridge.power.calibration`); and ``size_n``, the datasets without an effect. A cell that is its
        own null has no adjusted power: that would be alpha.

        Parameters
        ----------
        alpha
            Level of significance; default: that of the run.
        conf_level
            Level of the interval.
        """
        alpha = self.alpha if alpha is None else proportion("alpha", alpha)
        proportion("conf_level", conf_level)
        rows = []
        nulls = self._null_p_values()
        for cell, model, fits in self._groups(["p_value", "status", "message"]):
            failed = _failed(fits)
            null = model.goal == "difference" and latent_effect(cell, model) == 0
            row = self._keys(cell, model) | {"measure": "type-I error" if null else "power"}
            row |= estimates.power(fits["p_value"].to_numpy(), failed, alpha, conf_level)
            row["note"] = f"every fit failed: {_commonest(fits['message'])}" if failed.all() else None
            if self.calibration:
                own = nulls[cell, model.name]
                row |= calibrated(_p_values(fits), list(own.values()), alpha, conf_level)
                row["size_n"] = min(map(len, own.values()))
                if cell.label in own:
                    row |= dict.fromkeys(("adjusted_power", "adjusted_low", "adjusted_high"))
            rows.append(row)
        names = ("power", "power_if_failures_significant", "conf_low", "conf_high", "mc_error")
        extra = [("measure", pa.string()), *COUNTS, *((name, pa.float64()) for name in names)]
        if self.calibration:
            extra += [*((name, pa.float64()) for name in COLUMNS), ("size_n", pa.int64())]
        extra.append(("note", pa.string()))
        table = pa.Table.from_pylist(rows, schema=self._schema(extra))
        audit = self.manifest["audit"]
        said = {
            "engine": self.engine,
            "alpha": f"{alpha:g}",
            "seed": str(self.manifest["seed"]),
            "audit": f"{audit:g} of the datasets: {self.audit(alpha)}" if audit else "none",
            "calibration": f"{self.calibration} datasets without an effect per design" if self.calibration else "none",
        }
        return table.replace_schema_metadata(said)

    def compare(
        self, a: str, b: str, alpha: float | None = None, conf_level: float = 0.95, calibrated: bool = False
    ) -> pa.Table:
        """Compare two models on the same datasets: difference of power, its interval, and McNemar's exact test.

        Columns: the cell and its axes, ``model_a, model_b, n, power_a, power_b, difference`` (a − b), ``conf_low,
        conf_high`` (Agresti & Min), ``only_a, only_b`` (datasets on which only one is significant), ``p_value``,
        ``n_failed_a, n_failed_b``. A failed fit is not significant.

        With ``calibrated=True``, in a calibrated run, size-adjusted powers are compared: each model has its own
        critical value, so that neither profits from false alarms. The error of the critical values, which both models
        have from the same datasets, is in the interval (bootstrap of these datasets); McNemar's test would take them as
        known, and ``p_value`` is null. Cells that are their own null are left out.
        """
        if calibrated and not self.calibration:
            raise InputError(
                f"this run has no critical values; run it again with {arg('null_datasets')}, which adds to it"
            )
        names = [model.name for model in self.models]
        for name in (a, b):
            if name not in names:
                raise InputError(f"the run has no model {name!r}; it has: {', '.join(names)}")
        if a == b:
            raise InputError(f"{a!r} cannot be compared with itself; name two models")
        alpha = self.alpha if alpha is None else proportion("alpha", alpha)
        found = {(cell, model.name): fits for cell, model, fits in self._groups(["p_value", "status"])}
        nulls = self._null_p_values() if calibrated else {}
        rows = []
        for cell in self.grid.cells:
            if (cell, a) not in found or (cell, b) not in found:
                continue
            first, second = found[cell, a], found[cell, b]
            common, i, j = np.intersect1d(first["replicate"], second["replicate"], return_indices=True)
            if not common.size:
                continue
            failed_a, failed_b = _failed(first)[i], _failed(second)[j]
            p_a, p_b = _p_values(first)[i], _p_values(second)[j]
            critical = (alpha, alpha)
            if calibrated:
                own = nulls[cell, a], nulls[cell, b]
                if cell.label in own[0] or own[0].keys() != own[1].keys() or not _complete(own):
                    continue
                critical = _critical(own[0], alpha), _critical(own[1], alpha)
            hit_a, hit_b = p_a < critical[0], p_b < critical[1]
            row = {"cell": cell.label, **_axes(cell), "model_a": a, "model_b": b}
            row |= {"power_a": float(hit_a.mean()), "power_b": float(hit_b.mean())}
            row |= estimates.compare(hit_a, hit_b, conf_level)
            if calibrated:
                pairs = [(own[0][label], own[1][label]) for label in own[0]]
                row |= calibrated_difference(p_a, p_b, pairs, alpha, row) | {"p_value": None}
            rows.append(row | {"n_failed_a": int(failed_a.sum()), "n_failed_b": int(failed_b.sum())})
        floats = ("power_a", "power_b", "difference", "conf_low", "conf_high")
        schema = pa.schema(
            [
                *self.cells.schema,
                ("model_a", pa.string()),
                ("model_b", pa.string()),
                ("n", pa.int64()),
                *((name, pa.float64()) for name in floats),
                ("only_a", pa.int64()),
                ("only_b", pa.int64()),
                ("p_value", pa.float64()),
                ("n_failed_a", pa.int64()),
                ("n_failed_b", pa.int64()),
            ]
        )
        return pa.Table.from_pylist(rows, schema=schema)

    def failures(self, warnings: bool = False) -> pa.Table:
        """Return the failed fits grouped by message, commonest first, each with one example to look into.

        Parameters
        ----------
        warnings
            Whether fits that only warned are listed too.
        """
        fits = self._read(["cell", "replicate", "model", "engine", "status", "message"])
        wanted = (*FAILED, "warning") if warnings else FAILED
        fits = fits.filter(pc.is_in(fits["status"], pa.array(wanted)))
        grouped = fits.group_by(["model", "engine", "status", "message"], use_threads=False).aggregate(
            [("cell", "count"), ("cell", "first"), ("replicate", "first")]
        )
        grouped = grouped.rename_columns(
            ["model", "engine", "status", "message", "n", "example_cell", "example_replicate"]
        )
        return grouped.sort_by([("n", "descending"), ("model", "ascending"), ("message", "ascending")])

    def bias(self, conf_level: float = 0.95) -> pa.Table:
        """Compare estimates with the truth, over the fits that did not fail.

        For ``clm`` and ``clmm`` with the link of the truth the true value is the latent effect, for ``lm`` and ``lmer``
        the difference of mean ratings that the truth implies (:func:`ordbridge.simulate.implied`); it is null for
        terms that do not belong to a system. Columns: the cell and its axes, ``model, engine, term, n_ok, truth,
        mean_estimate, bias, bias_mc_error, coverage`` of the confidence intervals with its own interval ``coverage_low,
        coverage_high``, ``mean_std_error, sd_estimate`` and ``se_ratio``, the first over the second.
        """
        rows = []
        for cell, model, fits in self._groups(["estimate", "std_error", "df", "status"]):
            fits = fits.filter(pa.array(~_failed(fits)))
            estimate, std_error, df = (fits[name].to_numpy() for name in ("estimate", "std_error", "df"))
            found = estimates.bias(estimate, std_error, df, true_value(cell, model), conf_level)
            rows.append(self._keys(cell, model) | found)
        floats = [(name, pa.float64()) for name in estimates.BIAS]
        return pa.Table.from_pylist(rows, schema=self._schema([("n_ok", pa.int64()), *floats]))

    def audit(self, alpha: float | None = None, also: Sequence[Run] = ()) -> Audit:
        """Compare the datasets that went through both engines, here and in other runs with the same models and level.

        See :class:`ordbridge.power.Audit`.
        """
        runs = (self, *also)
        columns = ["cell", "replicate", "model", "engine", "p_value", "loglik", "message"]
        fits = pa.concat_tables(run._read(columns) for run in runs)
        models = [model.name for model in self.models]
        return audit(fits, models, self.alpha if alpha is None else proportion("alpha", alpha))

    def _read(self, columns: list[str]) -> pa.Table:
        """Read columns of the fits that were asked for, in the order of the grid, replicates, models, engines."""
        table = read_fits(self.path, self.manifest, columns)
        wanted = self._wanted
        place = pc.fill_null(pc.index_in(table["cell"], pa.array(list(wanted), pa.string())), len(wanted)).to_numpy()
        asked = np.array([*wanted.values(), 0])[place]  # the folder may have more, and nulls of an earlier call
        table = table.filter(pa.array(table["replicate"].to_numpy() < asked))
        order = {
            "cell": pa.array([*(cell.label for cell in self.grid.cells), *self.manifest.get("null_cells", ())]),
            "model": pa.array([model.name for model in self.models], pa.string()),
            "engine": pa.array([self.engine, *({"r", "fast"} - {self.engine})], pa.string()),
        }
        codes = {name: pc.index_in(table[name], value_set=values).to_numpy() for name, values in order.items()}
        rows = np.lexsort((codes["engine"], codes["model"], table["replicate"].to_numpy(), codes["cell"]))
        return table.take(pa.array(rows)).select(columns).combine_chunks()

    def _groups(self, columns: list[str]) -> Iterator[tuple[Cell, Model, pa.Table]]:
        """Go through the fits of each cell and model by the run's own engine, replicates in order."""
        fits = self._read(["cell", "replicate", "model", "engine", *columns])
        fits = fits.filter(pc.equal(fits["engine"], self.engine))
        labels, names = fits["cell"].to_numpy(zero_copy_only=False), fits["model"].to_numpy(zero_copy_only=False)
        for cell in self.grid.cells:
            mine = labels == cell.label
            for model in self.models:
                rows = np.flatnonzero(mine & (names == model.name))
                if rows.size:
                    yield cell, model, fits.take(pa.array(rows))

    def _null_p_values(self) -> dict[tuple[Cell, str], dict[str, np.ndarray]]:
        """Return, for each cell and model, the p-values of its nulls by their names, replicates in order."""
        if not self.calibration:
            return {}
        fits = self._read(["cell", "replicate", "model", "engine", "p_value", "status"])
        fits = fits.filter(pc.equal(fits["engine"], self.engine))
        labels, names = (fits[name].to_numpy(zero_copy_only=False) for name in ("cell", "model"))
        p_value, found = _p_values(fits), null_cells(self.grid.cells, self.models)

        def of(null: Cell, model: str) -> np.ndarray:
            return p_value[(labels == null.label) & (names == model)]

        return {
            (cell, model): {null.label: of(null, model) for null in nulls} for (cell, model), nulls in found.items()
        }

    def _keys(self, cell: Cell, model: Model) -> dict[str, Any]:
        effect = latent_effect(cell, model)
        axes = _axes(cell) | ({"effect": effect} if "effect" in dict(cell.axes) else {})
        return {"cell": cell.label, **axes, "model": model.name, "engine": self.engine, "term": model.term}

    def _schema(self, extra: list[tuple[str, pa.DataType]]) -> pa.Schema:
        cells = self.cells.schema
        if "effect" in cells.names:
            cells = cells.set(cells.get_field_index("effect"), pa.field("effect", pa.float64()))
        return pa.schema([*cells, *((name, pa.string()) for name in ("model", "engine", "term")), *extra])


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


def latent_effect(cell: Cell, model: Model) -> float | None:
    """Return the true latent effect behind the tested term; None if the term does not belong to a system."""
    found = system_terms(cell).get(model.term)
    return None if found is None else cell.truth.effects[found[0]] / found[1]


def true_value(cell: Cell, model: Model) -> float | None:
    """Return what the tested coefficient estimates in truth: a latent effect, or a difference of mean ratings."""
    found = system_terms(cell).get(model.term)
    if found is None:
        return None
    if model.ordinal and (model.goal == "difference" or model.on == "latent"):
        return latent_effect(cell, model) if model.link == cell.truth.link else None
    return _mean_difference(json.dumps(cell.truth.to_dict()), found[0]) / found[1]


def _mean_difference(truth: str, system: int) -> float:
    from ordbridge.simulate import Truth, implied

    differences = implied(Truth.from_dict(json.loads(truth))).differences.to_pylist()
    return next(d["difference"] for d in differences if d["system_b"] == 0 and d["system_a"] == system + 1)


def _axes(cell: Cell) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in cell.axes}


def _failed(fits: pa.Table) -> np.ndarray:
    return pc.is_in(fits["status"], pa.array(FAILED)).to_numpy()


def _p_values(fits: pa.Table) -> np.ndarray:
    """Return the p-values, 1 where a fit failed: it is not significant."""
    p_value = fits["p_value"].to_numpy()
    return np.where(_failed(fits) | np.isnan(p_value), 1.0, p_value)


def _critical(nulls: dict[str, np.ndarray], alpha: float) -> float:
    return min(critical_value(p, alpha).value for p in nulls.values())


def _complete(nulls: tuple[dict[str, np.ndarray], ...]) -> bool:
    """Tell whether models have been fitted to the same nulls, so far."""
    return all(
        len({p.size for p in same}) == 1 and same[0].size for same in zip(*(n.values() for n in nulls), strict=True)
    )


def _commonest(messages: pa.ChunkedArray) -> str:
    counts = pc.value_counts(messages).to_pylist()
    return max(counts, key=lambda c: c["counts"])["values"] or "no message"
