"""Which models a study fits, with which formula, and which term is tested."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np
import pyarrow as pa

from ordbridge.errors import InputError
from ordbridge.formula import names
from ordbridge.models.engines import engine_module
from ordbridge.models.kinds import BEYOND_LOCATION, KINDS
from ordbridge.models.prepare import prepare
from ordbridge.models.problem import Problem
from ordbridge.power.grid import Cell
from ordbridge.simulate.presets import preset_named
from ordbridge.support.arguments import choice, number
from ordbridge.support.naming import arg

FIXED, MAXIMAL = "rating ~ system", "rating ~ system + (system | participant) + (system | item)"
GOALS = ("difference", "equivalence", "non-inferiority")
FORMULAS = {"lm": FIXED, "clm": FIXED, "lmer": MAXIMAL, "clmm": MAXIMAL}


@dataclass(frozen=True)
class Goal:
    """What a study is to show.

    Parameters
    ----------
    show
        A ``"difference"``; ``"equivalence"``, that two systems differ by less than the margin (two one-sided tests,
        :meth:`ordbridge.Fit.equivalence`); or ``"non-inferiority"``, that the tested one is not worse than the first by
        the margin or more.
    margin, on
        Of equivalence and non-inferiority, ``on`` the ``"rating"`` or the ``"latent"`` scale (ordinal models).

    Examples
    --------
    >>> Goal("equivalence", margin=0.3)
    Goal(show='equivalence', margin=0.3, on='rating')
    """

    show: str = "difference"
    margin: float | None = None
    on: str = "rating"


@dataclass(frozen=True)
class Model:
    """A model of a study; what is left out is as for :func:`ordbridge.clmm` and :func:`ordbridge.lmer`.

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
    REML
        Of an ``lmer``. Default: True, as for :func:`ordbridge.lmer`; False on a grid with ``preset="howcroft2021"``,
        whose published code fits by maximum likelihood.
    threshold, ddf, nAGQ, start, scale, nominal, weights, offset
        As for :func:`ordbridge.clmm` and :func:`ordbridge.lmer`.
    goal, margin, on
        What is to be shown of the tested system and the first, as for :class:`Goal`.
    name
        What the model is called in tables; default: its kind.
    """

    kind: str
    formula: str = ""
    term: str = ""
    link: str = ""
    threshold: str = "flexible"
    REML: bool | None = None
    ddf: str = "Satterthwaite"
    nAGQ: int = 1
    start: str | None = None
    scale: str | None = None
    nominal: str | None = None
    weights: str | None = None
    offset: str | None = None
    goal: str = "difference"
    margin: float | None = None
    on: str = "rating"
    name: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return what belongs to this kind of model, for a manifest."""
        goal = ("goal", "margin", "on") if self.goal != "difference" else ()
        own = [name for name in KINDS[self.kind].options if name not in BEYOND_LOCATION or getattr(self, name)]
        kept = ("kind", "formula", "term", *goal, *own)
        return {name: value for name, value in asdict(self).items() if name in kept}

    def __str__(self) -> str:
        """Return the formula, with whatever else the model has."""
        beyond = (f"{name} {getattr(self, name)}" for name in BEYOND_LOCATION if getattr(self, name))
        return "; ".join([self.formula, *beyond])

    @property
    def options(self) -> dict[str, Any]:
        """What the model is prepared with, besides formula and data."""
        own = {field.name for field in fields(self)}
        return {name: getattr(self, name) for name in KINDS[self.kind].options if name in own}

    @property
    def ordinal(self) -> bool:
        """Whether the response is a category."""
        return KINDS[self.kind].ordinal


def resolve(
    models: Any,
    cells: Iterable[Cell],
    term: str | None = None,
    preset: str | None = None,
    goal: Goal | None = None,
    engines: Iterable[str] = (),
) -> tuple[Model, ...]:
    """Fill in what was not said and check every formula against the data it will meet."""
    cells = tuple(cells)
    named = {model: {} for model in models} if not isinstance(models, Mapping) else dict(models)
    if isinstance(models, str) or not named:
        raise InputError(f"{arg('models', models)} is not a list of models; choose from {', '.join(FORMULAS)}")
    read = (_read(name, value) for name, value in named.items())
    if goal is not None:
        shown: dict[str, Any] = {"goal": goal.show, "margin": goal.margin, "on": goal.on}
        read = (replace(model, **shown) if model.goal == "difference" else model for model in read)
    resolved = tuple(_complete(model, cells, term, preset) for model in read)
    for cell in {tuple(map(str, cell.systems)): cell for cell in cells}.values():  # one for each kind of table
        for model in resolved:
            problem = template(cell, model, None)
            _check_term(model, problem, cell)
            for engine in engines:
                engine_module(engine).refuse(problem)
    return resolved


def _check_term(model: Model, problem: Problem, cell: Cell) -> None:
    moved = {name for summand in problem.nominal for name in names(summand.term)}
    if "system" in moved and model.term in system_terms(cell):
        raise InputError(
            f"{model.name}: with {arg('nominal', model.nominal)} a system moves every threshold on its own, so "
            f"{model.term!r} is not estimated. Test one such as '1|2.{model.term}' with {arg('term')}, or use "
            f"{arg('scale')}"
        )


def template(cell: Cell, model: Model, timeout: float | None) -> Problem:
    """Return the checked problem of a model on a cell's design; only its ratings are still to be put in."""
    columns = dataset_columns(cell, model)
    categories = 2.0 if cell.truth.scale == "interval" else 2
    columns["rating"] = pa.array(1 + np.arange(cell.design.num_rows) % categories)
    return prepare(model.kind, model.formula, pa.table(columns), **model.options, timeout=timeout)


def dataset_columns(cell: Cell, model: Model) -> dict[str, Any]:
    """Return the predictors; more than two systems are a factor, even if they are numbered, and so are means of two."""
    design = cell.design
    columns = {name: design[name] for name in ("participant", "item", "system", "order") if name in design.column_names}
    means = model.goal != "difference"
    if pa.types.is_integer(design["system"].type) and (means or len(cell.systems) > 2):
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


def _complete(model: Model, cells: tuple[Cell, ...], term: str | None, preset: str | None) -> Model:
    _check_goal(model)
    truths = {cell.truth for cell in cells}
    if model.ordinal and (scales := {t.scale for t in truths} - {"ordinal"}):
        raise InputError(
            f"{model.kind} needs categories, but the truth has {arg('scale', scales.pop())}; use lm or lmer"
        )
    links = sorted({t.link for t in truths})
    if model.ordinal and not model.link and len(links) > 1:
        raise InputError(f"the truths have the links {', '.join(links)}; say which one {model.name} is fitted with")
    terms = list(system_terms(cells[0]))
    chosen = model.term or term or (terms[0] if len(terms) == 1 else "")
    if not chosen:
        raise InputError(
            f"there are {len(terms) + 1} systems; name the tested coefficient with {arg('term')}: {' or '.join(terms)}"
        )
    reml = (preset is None or preset_named(preset).REML) if model.REML is None else model.REML
    formula = model.formula or FORMULAS[model.kind]
    return replace(model, formula=formula, term=chosen, link=model.link or links[0], REML=reml)


def _check_goal(model: Model) -> None:
    if choice("goal", model.goal, GOALS) == "difference":
        if model.margin is not None:
            raise InputError(f"a margin belongs to equivalence or non-inferiority ({arg('goal')})")
        return
    if model.margin is None or number("margin", model.margin) <= 0:
        raise InputError(f"{model.goal} needs {arg('margin')} above 0: how large a difference would still not matter")
    if choice("on", model.on, ("rating", "latent")) == "latent" and not model.ordinal:
        raise InputError(f"{model.name} has no latent scale; give the margin in rating points")
