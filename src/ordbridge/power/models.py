"""Which models a study fits, with which formula, and which term is tested."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np
import pyarrow as pa

from ordbridge.errors import InputError
from ordbridge.models.prepare import prepare
from ordbridge.models.problem import Problem
from ordbridge.power.grid import Cell

__all__ = ["Model", "dataset_columns", "resolve", "template"]

FIXED, MAXIMAL = "rating ~ system", "rating ~ system + (system | participant) + (system | item)"
FORMULAS = {"lm": FIXED, "clm": FIXED, "lmer": MAXIMAL, "clmm": MAXIMAL}
OPTIONS = {
    "lm": (),
    "clm": ("link", "threshold"),
    "lmer": ("REML", "ddf"),
    "clmm": ("link", "threshold", "nAGQ", "start"),
}


@dataclass(frozen=True)
class Model:
    """A model of a study; what is left out is as published by Howcroft & Rieser (2021).

    Parameters
    ----------
    kind
        ``"lm"``, ``"clm"``, ``"lmer"`` or ``"clmm"``.
    formula
        With the columns ``rating, system, participant, item, order``. Default: ``rating ~ system``, for mixed models
        with ``(system | participant) + (system | item)``.
    term
        The coefficient that is tested, by R's name of it. With two systems it need not be said.
    link
        Default: the link of the truth.
    threshold, REML, ddf, nAGQ, start
        As for :func:`ordbridge.clmm` and :func:`ordbridge.lmer`.
    name
        What the model is called in tables; default: its kind.
    """

    kind: str
    formula: str = ""
    term: str = ""
    link: str = ""
    threshold: str = "flexible"
    REML: bool = False
    ddf: str = "Satterthwaite"
    nAGQ: int = 1
    start: str | None = None
    name: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return what belongs to this kind of model, for a manifest."""
        kept = ("kind", "formula", "term", *OPTIONS[self.kind])
        return {name: value for name, value in asdict(self).items() if name in kept}

    @property
    def ordinal(self) -> bool:
        """Whether the response is a category."""
        return self.kind in ("clm", "clmm")


def resolve(models: Any, cells: Iterable[Cell], term: str | None = None) -> tuple[Model, ...]:
    """Fill in what was not said and check every formula against the data it will meet.

    Parameters
    ----------
    models
        Names of kinds; or a mapping from names to formulas, mappings of options, or :class:`Model`.
    cells
        The cells of the grid.
    term
        The tested term of the models that name none.
    """
    cells = tuple(cells)
    named = {model: {} for model in models} if not isinstance(models, Mapping) else dict(models)
    if isinstance(models, str) or not named:
        raise InputError(f"models={models!r} is no list of models; choose from {', '.join(FORMULAS)}")
    resolved = tuple(_complete(_read(name, value), cells, term) for name, value in named.items())
    for cell in {tuple(map(str, cell.systems)): cell for cell in cells}.values():  # one for each kind of table
        for model in resolved:
            template(cell, model, None)
    return resolved


def template(cell: Cell, model: Model, timeout: float | None) -> Problem:
    """Return the checked problem of a model on a cell's design; only its ratings are still to be put in."""
    columns = dataset_columns(cell)
    categories = 2.0 if cell.truth.scale == "interval" else 2
    columns["rating"] = pa.array(1 + np.arange(cell.design.num_rows) % categories)
    options = {name: getattr(model, name) for name in OPTIONS[model.kind]}
    return prepare(model.kind, model.formula, pa.table(columns), **options, timeout=timeout)


def dataset_columns(cell: Cell) -> dict[str, Any]:
    """Return the predictors; more than two systems are a factor, even if they are numbered."""
    design = cell.design
    columns = {name: design[name] for name in ("participant", "item", "system", "order") if name in design.column_names}
    if pa.types.is_integer(design["system"].type) and len(cell.systems) > 2:
        columns["system"] = design["system"].cast(pa.string())
    return columns


def system_terms(cell: Cell) -> dict[str, tuple[int, float]]:
    """Return, for each coefficient of a system, which effect of the truth it is, and per how many units of it."""
    labels = cell.systems
    if len(labels) == 2 and not isinstance(labels[0], str):
        return {"system": (0, float(labels[1] - labels[0]))}
    return {f"system{label}": (i, 1.0) for i, label in enumerate(labels[1:])}


def _read(name: Any, value: Any) -> Model:
    if isinstance(name, Model):
        name, value = name.name or name.kind, name
    if isinstance(value, str):
        value = {"formula": value}
    if isinstance(value, Mapping):
        known = [field.name for field in fields(Model)]
        for option in value:
            if option not in known:
                raise InputError(f"the model {name!r} has no option {option!r}; it has: {', '.join(known)}")
        value = Model(**{"kind": name, **value})
    if not isinstance(value, Model):
        raise InputError(f"the model {name!r} is a {type(value).__name__}; give a formula, options or a power.Model")
    if value.kind not in FORMULAS:
        raise InputError(f"there is no model {value.kind!r}; choose from {', '.join(FORMULAS)}")
    return replace(value, name=name)


def _complete(model: Model, cells: tuple[Cell, ...], term: str | None) -> Model:
    truths = {cell.truth for cell in cells}
    if model.ordinal and (scales := {t.scale for t in truths} - {"ordinal"}):
        raise InputError(f"{model.kind} needs categories, but the truth has scale={scales.pop()!r}; use lm or lmer")
    links = sorted({t.link for t in truths})
    if model.ordinal and not model.link and len(links) > 1:
        raise InputError(f"the truths have the links {', '.join(links)}; say which one {model.name} is fitted with")
    terms = list(system_terms(cells[0]))
    chosen = model.term or term or (terms[0] if len(terms) == 1 else "")
    if not chosen:
        raise InputError(f"there are {len(terms) + 1} systems; name the tested term: {' or '.join(terms)}")
    return replace(model, formula=model.formula or FORMULAS[model.kind], term=chosen, link=model.link or links[0])
