"""A power study in a TOML file: what is true, who rates what, which cells, which models, how to run it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ordbridge.errors import InputError
from ordbridge.power.api import run
from ordbridge.power.grid import Grid
from ordbridge.power.models import Goal
from ordbridge.power.result import Run
from ordbridge.reading.source import text_of, toml_of
from ordbridge.simulate import Truth

SECTIONS = ("preset", "truth", "design", "grid", "models", "run")
OPTIONS = {
    "datasets": int,
    "seed": int,
    "alpha": float,
    "term": str,
    "goal": str,
    "margin": float,
    "on": str,
    "null_datasets": int,
    "engine": str,
    "audit": float,
    "timeout": float,
    "jobs": int,
    "store": str,
}
"""The keys of the section ``run``: arguments of :func:`ordbridge.power.run`; three of them make its goal."""

ELSEWHERE = ("backend", "scheduler")
"""Arguments that a file cannot give: a scheduler's answers are unpickled, so whoever runs it can run code here."""

TEMPLATE = Path(__file__).with_name("study_template.toml").read_text(encoding="utf-8")
"""A commented study file that runs as it is."""


@dataclass(frozen=True)
class Study:
    """What a study file asks for.

    Attributes
    ----------
    grid, models
        The cells and the models.
    options
        Other arguments of :func:`ordbridge.power.run`, with ``margin`` and ``on`` beside its ``goal``. Where work is
        sent to (``backend``) is not among them: a file may come from anybody.
    """

    grid: Grid
    models: Any
    options: dict[str, Any]

    def run(self, **changes: Any) -> Run:
        """Run the study; keyword arguments of :func:`ordbridge.power.run` replace what the file says."""
        options = {**self.options, **changes}
        goal = goal_of(options)
        return run(self.grid, self.models, **options, goal=goal)


def goal_of(options: dict[str, Any]) -> Goal:
    """Take the goal out of options that have its parts: ``goal, margin, on``.

    Examples
    --------
    >>> options = {"goal": "equivalence", "margin": 0.3, "seed": 1}
    >>> goal_of(options), options
    (Goal(show='equivalence', margin=0.3, on='rating'), {'seed': 1})
    """
    fields = {"goal": "show", "margin": "margin", "on": "on"}
    return Goal(**{field: options.pop(name) for name, field in fields.items() if name in options})


def read_study(source: str | os.PathLike[str], axes: Mapping[str, Any] | None = None, models: Any = None) -> Study:
    """Read a study file.

    Parameters
    ----------
    source
        The path of a TOML file.
    axes, models
        Replace those of the file.

    Examples
    --------
    >>> read_study("nowhere.toml")
    Traceback (most recent call last):
    ...
    ordbridge.errors.InputError: there is no file nowhere.toml
    """
    path = Path(source)
    values = toml_of(text_of(path), path)
    _known(path, "section", values, SECTIONS)
    if not isinstance(values.get("preset", ""), str):
        raise InputError(f"{path}: preset = {values['preset']!r} is not a name")
    for section in set(SECTIONS[1:]) & set(values):
        if not isinstance(values[section], dict):
            raise InputError(f"{path}: {section} must be a section [{section}]")
    try:
        grid = Grid(
            preset=values.get("preset"),
            truth=_truth(values["truth"]) if "truth" in values else None,
            design=_design(path, values["design"]) if "design" in values else None,
            **{**values.get("grid", {}), **(axes or {})},
        )
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return Study(grid, models or values.get("models") or ("lmer", "clmm"), _options(path, values.get("run", {})))


def _truth(values: dict[str, Any]) -> Truth | dict[str, Truth]:
    if "effects" in values:
        return Truth.from_dict(values)
    for name, truth in values.items():
        if not isinstance(truth, dict):
            raise InputError(
                f"[truth] has {name!r} but no effects; give effects, or one section [truth.NAME] per setting"
            )
    return {name: Truth.from_dict(truth) for name, truth in values.items()}


def _design(path: Path, values: dict[str, Any]) -> Any:
    if "table" not in values:
        if "kind" not in values:
            raise InputError("[design] needs a kind, or a table")
        return values
    if set(values) != {"table"}:
        raise InputError("[design] with a table has nothing else")
    if not isinstance(values["table"], str):
        raise InputError(f"[design] table = {values['table']!r} is not the name of a file")
    return str(path.parent / values["table"])


def _options(path: Path, values: dict[str, Any]) -> dict[str, Any]:
    for name in ELSEWHERE:
        if name in values:
            raise InputError(
                f"{path}: {name} cannot be in a study file, because a Dask scheduler can run code on this machine. "
                "Name one you trust on the command line or in the call"
            )
    _known(path, "key of [run]", values, OPTIONS)
    for name, value in values.items():
        kind = OPTIONS[name]
        if isinstance(value, bool) or not isinstance(value, (int, float) if kind is float else kind):
            raise InputError(f"{path}: {name} = {value!r} in [run] is not of type {kind.__name__}")
    return values


def _known(path: Path, what: str, values: Mapping[str, Any], known: Any) -> None:
    for name in values:
        if name not in known:
            raise InputError(f"{path}: there is no {what} {name!r}; choose from: {', '.join(known)}")
