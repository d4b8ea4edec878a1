"""Asking: what a plan is to find out, checked and complete before anything is simulated."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ordbridge.checks import choice, number, numbers, share, whole
from ordbridge.errors import InputError, StatisticalWarning
from ordbridge.models.engines import engine_name
from ordbridge.models.kinds import KINDS
from ordbridge.planning.candidates import candidates_of, is_one_design
from ordbridge.planning.evidence import ENOUGH, Rows
from ordbridge.planning.hypotheses import ANY, PAIRS, REFERENCE, hypothesis
from ordbridge.planning.money import Prices, prices_of
from ordbridge.planning.pilot import Pilot, read_pilot
from ordbridge.planning.stopping import SHAPES
from ordbridge.planning.type_one_error import rarer
from ordbridge.power.grid import Cell
from ordbridge.power.margins import effects_at_margin
from ordbridge.power.models import Model
from ordbridge.simulate import Truth
from ordbridge.simulate.effect_units import with_points, with_superiority
from ordbridge.simulate.presets import preset_named

__all__ = ["OBSERVED", "Question", "ask"]

USUAL = {"datasets": 1000, "most": 500, "null": 800}  # a size of 5 % is then known to 1.5 points to either side
SLOW = {"datasets": 400, "most": 200, "null": 400}  # mixed models of more systems take twenty times as long to fit
CALIBRATES = 200  # with fewer a critical value says less than alpha, unless it is asked for
OBSERVED = (
    "the effect is the one observed in the pilot, and power at the observed effect only repeats the pilot's p-value: "
    "plan with the smallest effect that would matter (effect=…)"
)


@dataclass(frozen=True)
class Question:
    """What a plan is to find out; the arguments of :func:`ordbridge.planning.plan`, complete."""

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
    prices: Prices
    criteria: int
    correlation: float
    """How many criteria texts are rated on, and how their tests are assumed to correlate."""
    looks: int | None
    shape: str
    """How often the data are looked at, and the shape of the boundary (:mod:`ordbridge.planning.stopping`)."""
    spend: float | None
    """How much money there is; the best that it buys belongs to the answer."""

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
    *,
    truth: Any,
    preset: str | None,
    variance: str | None,
    pilot: Any,
    effect: Any,
    effect_points: Any,
    superiority: Any,
    systems: Any,
    names: Any,
    target: Any,
    alpha: Any,
    model: str,
    formula: str | None,
    test: str | tuple[str, str] | None,
    vary: Mapping[str, Any] | None,
    design: Any,
    texts_per_participant: int,
    cost: Mapping[str, float] | None,
    currency: str,
    spend: Any,
    loss: Any,
    minutes: Any,
    engine: str,
    seed: Any,
    datasets: Any,
    most: Any,
    null: Any,
    calibrate: bool | None,
    goal: str,
    margin: float | None,
    on: str,
    draws: Any,
    criteria: Any,
    correlation: Any,
    looks: Any,
    shape: str,
) -> Question:
    """Check the arguments of :func:`ordbridge.planning.plan` and complete them."""
    engine = engine_name(engine)
    given = {name: count for name, count in (("datasets", datasets), ("most", most), ("null", null))
             if count is not None}  # fmt: skip
    _check(target, alpha, model, seed, draws=draws, **given)
    aim = {"goal": goal, "margin": margin, "on": on}
    study = read_pilot(pilot, model, formula, engine) if pilot is not None else None
    effect = _one_unit(effect, effect_points, superiority)
    what = _with_systems(_truth(truth, preset, variance, study), systems, names)
    counts = {**_usual_counts(what.systems, model, alpha), **given}
    calibrate = _calibrate(calibrate, counts["null"], alpha)
    called = _names(names, what, study)
    kind = _kind(effect, is_one_design(vary, design))
    if kind != "effect":
        what = _with_effect(what, effect, goal)
        if study is not None and effect is None:
            warnings.warn(OBSERVED, StatisticalWarning, stacklevel=3)
    elif goal != "difference":
        raise InputError(f"effect='smallest' belongs to goal='difference'; for goal={goal!r} give the true effect")
    elif not any(what.effects):
        what = what.shift(effect=[1.0] * len(what.effects))
    prices = prices_of(cost, currency, loss, minutes)
    rows = candidates_of(kind, what, vary, design, texts_per_participant, prices)
    money = _money(spend, prices, rows, kind)
    tested = hypothesis(rows[0][0].grid.cells[0], model, formula, test, aim, called)
    if goal != "difference":
        rows = [[replace(c, reach=_inside_margin(c.grid.cells[0], tested)) for c in row] for row in rows]
    _check_more(criteria, correlation, looks, shape, kind, goal, tested)
    return Question(
        kind=kind,
        truth=what,
        names=called,
        source="pilot" if study is not None else f"{preset}, {variance}" if preset else "truth",
        pilot=study,
        effect_observed=effect is None and study is not None,
        rows=rows,
        model=tested,
        target=target,
        alpha=alpha,
        engine=engine,
        seed=seed,
        budget=counts["datasets"],
        most=counts["most"],
        null=counts["null"],
        calibrate=calibrate,
        draws=draws,
        texts_per_participant=None if design is not None else texts_per_participant,
        prices=prices,
        criteria=criteria,
        correlation=float(correlation),
        looks=looks,
        shape=shape,
        spend=money,
    )


def _check(target: Any, alpha: Any, model: Any, seed: Any, **counts: Any) -> None:
    if share("target", target) <= share("alpha", alpha):
        raise InputError(f"target={target:g} must be above alpha={alpha:g}, which any design reaches")
    if model not in KINDS:
        raise InputError(f"there is no model {model!r}; choose from {', '.join(KINDS)}")
    for name, value in {"seed": seed, **counts}.items():
        whole(name, value, least=0 if name in ("seed", "draws", "null") else 1)


def _check_more(criteria: Any, correlation: Any, looks: Any, shape: str, kind: str, goal: str, tested: Model) -> None:
    """Check what belongs to several criteria, and to looks at the data."""
    several = whole("criteria", criteria, least=1) > 1
    share("correlation", correlation, ends=True)
    choice("shape", shape, SHAPES)
    if several and goal != "difference":
        raise InputError(f"criteria={criteria} are planned for differences; plan goal={goal!r} one criterion at a time")
    if several and (tested.term == PAIRS or tested.term.startswith(REFERENCE)):
        raise InputError(f"criteria={criteria} are planned for one test per criterion; give test= as a pair or 'any'")
    if looks is None:
        return
    whole("looks", looks, least=2)
    if several or kind == "effect" or goal != "difference" or tested.term in (ANY, PAIRS) or REFERENCE in tested.term:
        raise InputError("looks= are planned for one pair of systems, one criterion and a difference; leave it out")


def _usual_counts(systems: int, model: str, alpha: float) -> dict[str, int]:
    """Return how many datasets a plan has unless one says otherwise."""
    usual = SLOW if systems > 2 and model in ("clmm", "lmer") else USUAL
    return {**usual, "null": round(usual["null"] * rarer(alpha))}


def _truth(truth: Any, preset: str | None, variance: str | None, study: Pilot | None) -> Truth:
    given = [name for name, value in (("truth=", truth), ("preset=", preset), ("pilot=", study)) if value is not None]
    if len(given) != 1:
        said = f"{' and '.join(given)} are given" if given else "none is given"
        raise InputError(f"a plan starts from one of truth=, preset= and pilot=; {said}")
    if study is not None:
        return study.truth
    if preset is not None:
        settings = preset_named(preset).settings
        if variance is None:
            raise InputError(f"the preset {preset!r} needs variance=: one of {', '.join(settings)}")
        return settings[variance]
    if not isinstance(truth, Truth):
        raise InputError(f"truth= is a {type(truth).__name__}; give a simulate.Truth")
    return truth


def _one_unit(effect: Any, points: Any, superiority: Any) -> Any:
    """Return the effect in the unit that it was given in: a number, or a pair (how to set it, value)."""
    given = [(name, value) for name, value in (("effect", effect), ("effect_points", points),
             ("superiority", superiority)) if value is not None]  # fmt: skip
    if len(given) > 1:
        raise InputError(f"the effect is given twice, as {given[0][0]}= and as {given[1][0]}=; leave one out")
    if not given or given[0][0] == "effect":
        return effect
    return {"effect_points": with_points, "superiority": with_superiority}[given[0][0]], given[0][1]


def _with_systems(truth: Truth, systems: Any, names: Any) -> Truth:
    """Return a truth of two systems as one of more that vary alike, whose effects are still to be said."""
    count = len(names) if systems is None and names is not None else systems
    if count is None or whole("systems", count, least=2) == truth.systems:
        return truth
    if truth.systems != 2:
        raise InputError(f"systems={count}, but the truth has {truth.systems}")
    return truth.with_systems(count)


def _names(names: Sequence[str] | None, truth: Truth, study: Pilot | None) -> tuple[str, ...]:
    """Return what the systems are called: as the user says, or as in the pilot, or A, B, …."""
    if names is None:
        letters = tuple(chr(ord("A") + i) if truth.systems <= 26 else f"S{i + 1}" for i in range(truth.systems))
        return letters if study is None else study.systems
    called = tuple(map(str, names))
    if len(called) != truth.systems or len(set(called)) < len(called):
        raise InputError(f"names={list(called)} must be {truth.systems} different names, one for each system")
    return called


def _money(spend: Any, prices: Prices, rows: Rows, kind: str) -> float | None:
    """Check how much money there is."""
    if spend is None:
        return None
    amount = number("spend", spend)
    if prices.counted:
        raise InputError("spend= needs prices: cost={'rating': …, 'participant': …}")
    if kind != "designs":
        raise InputError("spend= chooses among designs; leave items= and ratings_per_text= open, or leave it out")
    cheapest = min(c.price for row in rows for c in row)
    if amount < cheapest:
        raise InputError(
            f"spend={amount:g} buys no design: the cheapest one costs {cheapest:.2f}; spend more, or try fewer items"
        )
    return amount


def _kind(effect: Any, one_design: bool) -> str:
    if isinstance(effect, str):
        if effect != "smallest":
            raise InputError(f"effect={effect!r} is not a number; give one, or 'smallest'")
        if not one_design:
            raise InputError(
                "the smallest effect is that of one design; give one number for items= and one for ratings_per_text=, "
                "or design="
            )
        return "effect"
    return "power" if one_design else "designs"


def _calibrate(calibrate: bool | None, null: int, alpha: float) -> bool:
    if calibrate is None:
        calibrate = null >= CALIBRATES
    if calibrate and null < (least := math.ceil(1 / alpha - 1)):
        raise InputError(
            f"null={null} datasets without a difference are too few for a critical value at alpha={alpha:g}; give at "
            f"least {least}, better 1000, or calibrate=False"
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
            "units), so that no study should show it; give a smaller effect= or a larger margin="
        )
    return inside


def _with_effect(truth: Truth, effect: Any, goal: str) -> Truth:
    if isinstance(effect, tuple) and callable(effect[0]):
        set_to, value = effect
        values = numbers("effect", value)
        truth = set_to(truth, values * len(truth.effects) if len(values) == 1 else values)
    elif effect is not None:
        values = numbers("effect", effect)
        truth = truth.shift(effect=values * len(truth.effects) if len(values) == 1 else values)
    if not any(truth.effects) and goal == "difference":
        raise InputError("the effect is 0, which no study can find; give effect=, above or below 0")
    return truth
