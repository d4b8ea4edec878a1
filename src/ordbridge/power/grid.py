"""The cells of a power study: every combination of truths, designs and effects, each with its own random streams."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa

from ordbridge import design as designs
from ordbridge.design.inspect import encode
from ordbridge.errors import InputError
from ordbridge.reading.tables import to_arrow
from ordbridge.simulate import Truth
from ordbridge.simulate.presets import preset_named
from ordbridge.support.arguments import number
from ordbridge.support.naming import arg

DESIGNS = ("counterbalanced", "crossed", "howcroft2021", "latin_square")
SYNONYMS = {"crossed": {"ratings_per_text": "raters"}, "howcroft2021": {"ratings_per_text": "ratings"}}
ORDER = ("variance", "items", "ratings_per_text", "effect")


@dataclass(frozen=True)
class Cell:
    """One cell: what is true and who rates what.

    ``content`` is all of it as one line of JSON. Random streams depend on it alone, so that a cell has the same
    datasets in whatever grid and order it is run. The names of exchangeable systems in a table do not count: another
    name draws nothing else.
    """

    label: str
    axes: tuple[tuple[str, Any], ...]
    content: str

    @cached_property
    def truth(self) -> Truth:
        """The truth that its datasets come from."""
        return Truth.from_dict(json.loads(self.content)["truth"])

    @property
    def variant(self) -> str:
        """``corrected``, or ``published`` for the misplaced participant effects of the published code."""
        return str(json.loads(self.content)["variant"])

    @property
    def design(self) -> pa.Table:
        """Its design: ``participant, item, system`` (and ``order``)."""
        return build_design(json.dumps(json.loads(self.content)["design"], sort_keys=True))

    @property
    def systems(self) -> list:
        """The names of its systems, as they are coded in a model."""
        return encode(self.design["system"])[1]

    def stream(self, seed: int, replicate: int, purpose: int | None = None) -> np.random.SeedSequence:
        """Return the random stream of one replicate; ``purpose`` names a stream other than that of the ratings."""
        digest = hashlib.sha256(self._nameless.encode()).digest()
        words = [int.from_bytes(digest[i : i + 4], "little") for i in range(0, 16, 4)]
        extra = () if purpose is None else (purpose,)
        return np.random.SeedSequence(entropy=seed, spawn_key=(*words, replicate, *extra))

    @cached_property
    def _nameless(self) -> str:
        """The content, with exchangeable systems of a table numbered in the order of its rows."""
        content = json.loads(self.content)
        if "columns" not in content["design"] or self.truth.slope_coding != "exchangeable":
            return self.content
        codes, _ = encode(self.design["system"])
        order = list(dict.fromkeys(codes.tolist()))
        truth = self.truth.in_order(order).to_dict()
        columns = {**content["design"]["columns"], "system": [order.index(code) for code in codes.tolist()]}
        return json.dumps(
            {**content, "truth": _rounded(truth), "design": {"columns": columns}}, sort_keys=True, default=float
        )


class Grid:
    """All combinations of the values of some axes.

    Parameters
    ----------
    preset
        ``"howcroft2021"``: the five variance settings, the design and the default axes of Howcroft & Rieser (2021), and
        their ``lmer`` by maximum likelihood.
    truth
        A :class:`ordbridge.simulate.Truth`, or several by name, which then are the values of the axis ``variance``.
    design
        The name of a function of :mod:`ordbridge.design`, or a mapping with that name as ``kind`` and fixed arguments,
        or a table ``participant, item, system`` that all cells share.
    **axes
        One value or a list of values each. ``variance``: names of truths. ``effect``: how far the second system is
        above the first, or a list with one number for every system after the first. ``variant``: ``"corrected"``,
        ``"published"``. Any argument of the design (``items``, ``ratings_per_text``, …) and any field of a truth
        (``slope_coding``, …).

    Examples
    --------
    >>> grid = Grid(preset="howcroft2021", variance=["low", "high"], items=50, ratings_per_text=3, effect=[0, 0.31])
    >>> [cell.label for cell in grid.cells][:2]
    ['variance=low items=50 ratings_per_text=3 effect=0', 'variance=low items=50 ratings_per_text=3 effect=0.31']
    """

    def __init__(self, *, preset: str | None = None, truth: Any = None, design: Any = None, **axes: Any) -> None:
        self.preset = preset
        if preset is not None:
            truth, design, axes = _preset(preset, truth, design, axes)
        self.truths = _truths(truth)
        self.design = _design(design)
        self.axes = _axes(axes, self.truths)
        self._check_names()
        if len({cell.label for cell in self.cells}) < len(self.cells):
            raise InputError("the grid has a cell twice; give every value of an axis once")

    def __repr__(self) -> str:
        """Name the axes."""
        return f"<Grid of {len(self.cells)} cells: {', '.join(f'{k} {list(v)}' for k, v in self.axes.items())}>"

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """The cells, the last axis changing fastest."""
        return tuple(self._cell(dict(zip(self.axes, values, strict=True))) for values in product(*self.axes.values()))

    def to_dict(self) -> dict[str, Any]:
        """Return the grid as plain lists, numbers and text, for a manifest."""
        return {
            "truths": {name: truth.to_dict() for name, truth in self.truths.items()},
            "design": self.design,
            "axes": {name: [list(v) if isinstance(v, tuple) else v for v in vs] for name, vs in self.axes.items()},
            **({"preset": self.preset} if self.preset else {}),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Grid:
        """Build a grid from what :meth:`to_dict` returns."""
        truths = {name: Truth.from_dict(truth) for name, truth in values["truths"].items()}
        truth = truths.get("", truths)
        return cls(preset=values.get("preset"), truth=truth, design=values["design"], **values["axes"])

    def _cell(self, values: dict[str, Any]) -> Cell:
        truth = self.truths[values.get("variance", "")]
        truth = truth.shift(
            effect=values.get("effect"), **{name: value for name, value in values.items() if name in TRUTH_FIELDS}
        )
        design = dict(self.design)
        if "kind" in design:
            synonyms, known = SYNONYMS.get(design["kind"], {}), _parameters(design["kind"])
            renamed = {synonyms.get(name, name): value for name, value in values.items()}
            design |= {name: value for name, value in renamed.items() if name in known}
            if "systems" in known:
                design.setdefault("systems", truth.systems)
            missing = [
                name for name, default in known.items() if default is inspect.Parameter.empty and name not in design
            ]
            if missing:
                written = {argument: axis for axis, argument in synonyms.items()}.get(missing[0], missing[0])
                raise InputError(f"the design {design['kind']!r} needs {written}; give the grid {arg(written)}")
        content = {"truth": truth.to_dict(), "design": design, "variant": values.get("variant", "corrected")}
        return Cell(cell_label(values) or "all", tuple(values.items()), json.dumps(content, sort_keys=True))

    def _check_names(self) -> None:
        known = {"variance", "effect", "variant", *TRUTH_FIELDS}
        if "kind" in self.design:
            arguments = set(_parameters(self.design["kind"]))
            synonyms = SYNONYMS.get(self.design["kind"], {})
            known |= {*arguments - {"seed"} - set(synonyms.values()), *synonyms}
        for name in self.axes:
            if name not in known:
                raise InputError(
                    f"the grid has no axis {name!r} with this design; choose from: {', '.join(sorted(known))}"
                )


TRUTH_FIELDS = tuple(field.name for field in fields(Truth) if field.name != "effects")


@lru_cache(maxsize=64)
def build_design(specification: str) -> pa.Table:
    """Build the design that a line of JSON describes: a function of :mod:`ordbridge.design`, or the columns."""
    arguments = json.loads(specification)
    if "columns" in arguments:
        return pa.table(arguments["columns"])
    table: pa.Table = getattr(designs, arguments.pop("kind"))(**arguments)
    return table


def _preset(name: str, truth: Any, design: Any, axes: dict[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
    published = preset_named(name)
    defaults: dict[str, Any] = {"effect": published.effects}
    if design is None:
        design = name
        defaults |= {"items": published.items, "ratings_per_text": published.ratings}
    return published.settings if truth is None else truth, design, defaults | axes


def _truths(truth: Any) -> dict[str, Truth]:
    if isinstance(truth, Truth):
        return {"": truth}
    if not isinstance(truth, Mapping) or not truth or not all(isinstance(t, Truth) for t in truth.values()):
        raise InputError(f"the grid needs a preset, or {arg('truth')}: a Truth, or a mapping of names to Truths")
    return truth  # type: ignore[return-value]  # a paper's Settings say themselves which names there are


def _design(design: Any) -> dict[str, Any]:
    if design is None:
        raise InputError(
            f"the grid needs {arg('design')}: one of {', '.join(DESIGNS)}, or a table participant, item, system"
        )
    if isinstance(design, str) and not design.endswith((".csv", ".tsv", ".parquet")):
        design = {"kind": design}
    if isinstance(design, Mapping) and "columns" in design:
        return dict(design)
    if not (isinstance(design, Mapping) and "kind" in design):
        table = designs.from_ratings(to_arrow(design))
        return {"columns": {name: table[name].to_pylist() for name in ("participant", "item", "system", "order")}}
    if design["kind"] not in DESIGNS:
        raise InputError(f"there is no design {design['kind']!r}; choose one of: {', '.join(DESIGNS)}, or give a table")
    known = _parameters(design["kind"])
    for name in design:
        if name != "kind" and name not in known:
            raise InputError(f"the design {design['kind']!r} has no {name!r}; it has: {', '.join(known)}")
    return dict(design)


def _axes(axes: Mapping[str, Any], truths: Mapping[str, Truth]) -> dict[str, tuple[Any, ...]]:
    """Put the axes into reading order, each as a tuple of plain values."""
    given = {name: _values(name, value) for name, value in axes.items()}
    if "variance" in given and "" in truths:
        raise InputError(
            f"{arg('variance')} names one of several truths, but there is only one; give {arg('truth')} a Truth for "
            "each name"
        )
    if "" not in truths:
        given.setdefault("variance", tuple(truths))
        for name in given["variance"]:
            if not isinstance(name, str) or name not in truths:
                raise InputError(f"there is no setting {name!r}; choose one of: {', '.join(truths)}")
    return {name: given[name] for name in (*(n for n in ORDER if n in given), *(n for n in given if n not in ORDER))}


def _values(axis: str, value: Any) -> tuple[Any, ...]:
    several = isinstance(value, Iterable) and not isinstance(value, (str, Mapping))
    values = tuple(_plain(axis, v) for v in value) if several else (_plain(axis, value),)
    if not values:
        raise InputError(f"the axis {axis!r} is empty; give at least one value")
    return values


def _plain(axis: str, value: Any) -> Any:
    """Return a value as JSON keeps it; effects are floats whether written 0 or 0.0."""
    if isinstance(value, (list, tuple, np.ndarray)):
        return tuple(_plain(axis, v) for v in value)
    if isinstance(value, np.generic):
        value = value.item()
    return number("effect", value) if axis == "effect" else value


def _rounded(value: Any) -> Any:
    """Round the numbers of a truth, so that measuring them from another system and back changes nothing."""
    if isinstance(value, dict):
        return {name: _rounded(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_rounded(inner) for inner in value]
    return round(value, 9) + 0.0 if isinstance(value, float) else value


def _parameters(kind: str) -> dict[str, Any]:
    return {name: p.default for name, p in inspect.signature(getattr(designs, kind)).parameters.items()}


def cell_label(values: Mapping[str, Any]) -> str:
    """Return the name of a cell: its value on every axis."""
    return " ".join(f"{name}={_text(value)}" for name, value in values.items())


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(map(_text, value))
    if isinstance(value, float) and float(f"{value:g}") == value:
        return f"{value:g}"
    return str(value)
