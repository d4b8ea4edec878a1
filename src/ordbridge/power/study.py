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

TEMPLATE = """\
# A power study for `ordbridge power FILE`. What is commented out shows another possibility or a default.

# Either the settings and the design of a paper …
# preset = "howcroft2021"          # variance: extra-low, low, representative, high, extra-high

# … or truths of your own, one section each; the names are the values of `variance` in [grid].
[truth.careful]
effects = [0.3]                    # of each system after the first, in latent units; `effect` in [grid] replaces them
thresholds = [-1.5, -0.5, 0.5, 1.5]  # of a scale with 5 points
participant_sd = [0.4, 0.2]        # standard deviations over raters: intercept, slope
item_sd = [0.5, 0.4]               # the same over items
# participant_corr = 0.0           # correlation of intercept and slope
# slope_coding = "treatment"       # or "centred": slopes on -1/2, +1/2; three or more systems: "exchangeable"
# link = "probit"                  # or logit, cloglog, loglog, cauchit
# residual_spread = [1.5]          # how much wider the ratings of each system after the first scatter
# threshold_distribution = { lowest = [-1.78, 0.19], distance = [0.62, 0.18], categories = 6 }  # instead of thresholds

[truth.noisy]
effects = [0.3]
thresholds = [-1.5, -0.5, 0.5, 1.5]
participant_sd = [0.6, 0.5]
item_sd = [0.7, 0.8]

# Who rates what: counterbalanced, crossed, latin_square, howcroft2021; or `table = "design.csv"` with the columns
# participant, item, system (the path is relative to this file).
[design]
kind = "counterbalanced"
texts_per_participant = 25

# All combinations are run. Any argument of the design and any field of a truth can be an axis.
[grid]
variance = ["careful", "noisy"]
items = [50, 100]
ratings_per_text = [3]
effect = [0.0, 0.3]                # 0 gives the rate of false positives; [[0.3, 0.1]] with three systems

# lm, clm, lmer, clmm; formulas use rating, system, participant, item, order.
[models.lmer]                      # rating ~ system + (system | participant) + (system | item)
[models.clmm]
# formula = "rating ~ system + (system | participant) + (system | item)"
# link = "probit"                  # default: the link of the truth
# term = "systemB"                 # the tested coefficient; needed with more than two systems
# [models.simple]                  # a model under another name
# kind = "clmm"
# formula = "rating ~ system + (1 | participant) + (1 | item)"

[run]
datasets = 100                     # of each cell
seed = 42
alpha = 0.05
# null_datasets = 1000             # of each design, at effect 0: critical values, size and size-adjusted power as well
# goal = "equivalence"             # or "non-inferiority", with a margin in rating points (on = "latent": latent units)
# margin = 0.25
engine = "r"                 # R; or "fast", and then audit = 0.02 sends 2 % of the datasets through R as well
jobs = 2
# timeout = 600                    # seconds a fit may take
# store = "runs/my-study"          # the folder of the results
"""
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
                "Name one you trust on the command line or in the call (`backend`)"
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
