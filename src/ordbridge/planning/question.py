"""Asking: what a plan is to find out, checked and complete before anything is simulated."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ordbridge.errors import InputError, StatisticalWarning
from ordbridge.models.engines import engine_name
from ordbridge.models.kinds import KINDS
from ordbridge.planning.candidates import candidates_of, is_one_design
from ordbridge.planning.evidence import ENOUGH, Rows
from ordbridge.planning.hypotheses import ANY, PAIRS, REFERENCE, hypothesis
from ordbridge.planning.money import Costs
from ordbridge.planning.options import Designs, Effect, PlannedAnalysis, Simulation
from ordbridge.planning.pilot import Pilot, read_pilot
from ordbridge.planning.stopping import SHAPES
from ordbridge.planning.type_one_error import rarer
from ordbridge.power.grid import Cell
from ordbridge.power.margins import effects_at_margin
from ordbridge.power.models import Model
from ordbridge.results import found
from ordbridge.simulate import Truth
from ordbridge.simulate.effect_units import with_points, with_superiority
from ordbridge.simulate.presets import PRESETS
from ordbridge.support.arguments import choice, numbers, proportion, whole
from ordbridge.support.naming import arg

# A size of 5% is then known to 1.5 points to either side. Mixed models of more systems take twenty times as long.
USUAL = {"datasets": 1000, "max_per_design": 500, "null_datasets": 800}
SLOW = {"datasets": 400, "max_per_design": 200, "null_datasets": 400}
CALIBRATES = 200  # with fewer a critical value says less than alpha, unless it is asked for


@dataclass(frozen=True)
class Question:
    """What a plan is to find out; the arguments of :func:`ordbridge.plan`, complete."""

    kind: str
    """``"designs"`` (which reach the target), ``"power"`` (of one design) or ``"effect"`` (the smallest it detects)."""
    truth: Truth
    names: tuple[str, ...]
    """What the systems are called, in the order of the truth."""
    source: str
    """Where the truth comes from, in words."""
    pilot: Pilot | None
    effect_observed: bool
    """Whether the effect is the pilot's own, and so as uncertain as the rest of it."""
    rows: Rows
    """The candidates."""
    model: Model
    """The model of the analysis; its term is what is tested."""
    target: float
    alpha: float
    engine: str
    seed: int
    budget: int
    most: int
    null: int
    calibrate: bool
    """Whether each design has a critical value of its own, from datasets without a difference."""
    draws: int
    texts_per_participant: int | None
    costs: Costs
    criteria: int
    correlation: float
    """How many criteria texts are rated on, and how their tests are assumed to correlate."""
    looks: int | None
    shape: str
    """How often the data are looked at, and the shape of the boundary (:mod:`ordbridge.planning.stopping`)."""

    @property
    def enough(self) -> int:
        """The fewest simulations that show that a design reaches the target."""
        return min(ENOUGH, self.most)

    @property
    def limits(self) -> dict[str, int]:
        """How many datasets may be simulated in all, and for one candidate."""
        return {"budget": self.most if self.kind == "power" else self.budget, "most": self.most}

    @property
    def pilots_drawn(self) -> int:
        """How many draws from the sampling distribution of a pilot's estimates belong to the answer."""
        return self.draws if self.pilot is not None and self.kind != "effect" else 0


def ask(
    truth: Any,
    roles: Mapping[str, Any],
    effect: Any,
    analysis: PlannedAnalysis,
    designs: Designs,
    costs: Costs,
    target: Any,
    simulation: Simulation,
) -> Question:
    """Check what is asked of :func:`ordbridge.plan`, and complete it."""
    engine, alpha, goal = engine_name(simulation.engine), analysis.alpha, analysis.goal
    model, names = analysis.model, None if isinstance(analysis.systems, int) else analysis.systems
    given = {name: count for name in USUAL if (count := getattr(simulation, name)) is not None}
    _check(target, alpha, model, simulation.seed, draws=simulation.draws, **given)
    study = None if isinstance(truth, Truth) else read_pilot(truth, model, analysis.formula, engine, roles)
    what = _with_systems(truth if study is None else study.truth, analysis.systems)
    counts = {**_usual_counts(what.systems, model, alpha), **given}
    calibrate = _calibrate(simulation.calibrate, counts["null_datasets"], alpha)
    called = _names(names, what, study)
    kind = _kind(effect, is_one_design(designs))
    if kind != "effect":
        what = _with_effect(what, effect, goal.show)
        if study is not None and effect is None:
            warnings.warn(found("observed-effect").text, StatisticalWarning, stacklevel=3)
    elif goal.show != "difference":
        raise InputError(f"the smallest effect is that of a difference; for {goal.show} give the true effect")
    elif not any(what.effects):
        what = what.shift(effect=[1.0] * len(what.effects))
    rows = candidates_of(kind, what, designs, costs)
    _check_budget(costs, rows, kind)
    tested = hypothesis(rows[0][0].grid.cells[0], model, analysis.formula, analysis.test, goal, called)
    if goal.show != "difference":
        rows = [[replace(c, reach=_inside_margin(c.grid.cells[0], tested)) for c in row] for row in rows]
    _check_more(analysis, kind, tested)
    return Question(
        kind=kind,
        truth=what,
        names=called,
        source="pilot" if study is not None else _source(what),
        pilot=study,
        effect_observed=effect is None and study is not None,
        rows=rows,
        model=tested,
        target=target,
        alpha=alpha,
        engine=engine,
        seed=simulation.seed,
        budget=counts["datasets"],
        most=counts["max_per_design"],
        null=counts["null_datasets"],
        calibrate=calibrate,
        draws=simulation.draws,
        texts_per_participant=None if designs.table is not None else designs.texts_per_participant,
        costs=costs,
        criteria=analysis.criteria,
        correlation=float(analysis.correlation),
        looks=analysis.looks,
        shape=analysis.shape,
    )


def _check(target: Any, alpha: Any, model: Any, seed: Any, **counts: Any) -> None:
    if proportion("target", target) <= proportion("alpha", alpha):
        raise InputError(f"the target, {target:g}, must be above alpha, {alpha:g}, which any design reaches")
    if model not in KINDS:
        raise InputError(f"there is no model {model!r}; choose from {', '.join(KINDS)}")
    for name, value in {"seed": seed, **counts}.items():
        whole(name, value, least=0 if name in ("seed", "draws", "null_datasets") else 1)


def _check_more(analysis: PlannedAnalysis, kind: str, tested: Model) -> None:
    """Check what belongs to several criteria, and to looks at the data."""
    several, goal = whole("criteria", analysis.criteria, least=1) > 1, analysis.goal.show
    proportion("correlation", analysis.correlation, ends=True)
    choice("shape", analysis.shape, SHAPES)
    family = tested.term == PAIRS or tested.term.startswith(REFERENCE)
    if several and goal != "difference":
        raise InputError(f"several criteria are planned for differences; plan {goal} one criterion at a time")
    if several and family:
        raise InputError("a plan of several criteria tests each of them once; choose one pair, or any difference")
    if analysis.looks is None:
        return
    whole("looks", analysis.looks, least=2)
    if several or kind == "effect" or goal != "difference" or tested.term == ANY or family:
        raise InputError("looks are planned for one pair of systems, one criterion and a difference; leave them out")


def _usual_counts(systems: int, model: str, alpha: float) -> dict[str, int]:
    """Return how many datasets a plan has unless one says otherwise."""
    usual = SLOW if systems > 2 and model in ("clmm", "lmer") else USUAL
    return {**usual, "null_datasets": round(usual["null_datasets"] * rarer(alpha))}


def _source(truth: Truth) -> str:
    """Return where a truth comes from: the name of a preset and of its setting, or nothing."""
    for name, preset in PRESETS.items():
        for setting, other in preset.settings.items():
            if truth.systems == 2 and other.shift(effect=truth.effects) == truth:
                return f"{name}, {setting}"
    return "truth"


def _with_systems(truth: Truth, systems: Any) -> Truth:
    """Return a truth of two systems as one of more that vary alike, whose effects are still to be said."""
    count = systems if systems is None or isinstance(systems, int) else len(systems)
    if count is None or whole("systems", count, least=2) == truth.systems:
        return truth
    if truth.systems != 2:
        raise InputError(f"{count} systems are named, but the truth has {truth.systems}")
    return truth.with_systems(count)


def _names(names: Sequence[str] | None, truth: Truth, study: Pilot | None) -> tuple[str, ...]:
    """Return what the systems are called: as the user says, or as in the pilot, or A, B, …."""
    if names is None:
        letters = tuple(chr(ord("A") + i) if truth.systems <= 26 else f"S{i + 1}" for i in range(truth.systems))
        return letters if study is None else study.systems
    called = tuple(map(str, names))
    if len(called) != truth.systems or len(set(called)) < len(called):
        raise InputError(f"{arg('systems', list(called))} must be {truth.systems} different names, one for each system")
    return called


def _check_budget(costs: Costs, rows: Rows, kind: str) -> None:
    """Check that the money buys something."""
    if costs.budget is None:
        return
    if kind != "designs":
        raise InputError("a budget chooses among designs; leave items or ratings per text open, or leave it out")
    cheapest = min(c.price for row in rows for c in row)
    if costs.budget < cheapest:
        raise InputError(
            f"a budget of {costs.say(costs.budget)} buys no design: the cheapest one costs {costs.say(cheapest)}; "
            "spend more, or try fewer items"
        )


def _kind(effect: Any, one_design: bool) -> str:
    if isinstance(effect, str):
        if effect != "smallest":
            raise InputError(f"the effect {effect!r} is not a number; give one, or 'smallest'")
        if not one_design:
            raise InputError(
                "the smallest effect is that of one design; give one number of items and one of ratings per text, or a "
                "table"
            )
        return "effect"
    return "power" if one_design else "designs"


def _calibrate(calibrate: bool | None, null: int, alpha: float) -> bool:
    if calibrate is None:
        calibrate = null >= CALIBRATES
    if calibrate and null < (least := math.ceil(1 / alpha - 1)):
        raise InputError(
            f"{null} datasets without a difference ({arg('null_datasets')}) are too few for a critical value at alpha "
            f"{alpha:g}. Give at least {least}, better 1000, or do not calibrate"
        )
    return calibrate


def _inside_margin(cell: Cell, model: Model) -> float:
    """Return how far the true effect lies inside the margin, in latent units."""
    (effect,) = cell.truth.effects
    edges = [effects[0] for effects in effects_at_margin(cell, model)]
    inside = min(abs(effect - edge) for edge in edges)
    if effect <= edges[0] or effect >= max(edges[1:], default=math.inf):
        raise InputError(
            f"the true effect, {effect:g}, is not within the margin ({', '.join(f'{e:g}' for e in edges)} in latent "
            "units), so no study should show it. Give a smaller effect or a larger margin"
        )
    return inside


def _with_effect(truth: Truth, effect: Any, goal: str) -> Truth:
    if effect is not None:
        effect = effect if isinstance(effect, Effect) else Effect(effect)
        values = numbers("effect", effect.value)
        values = values * len(truth.effects) if len(values) == 1 else values
        set_to = {"points": with_points, "superiority": with_superiority}.get(effect.unit)
        truth = truth.shift(effect=values) if set_to is None else set_to(truth, values)
    if not any(truth.effects) and goal == "difference":
        raise InputError("the effect is 0, which no study can find; give one above or below 0")
    return truth
