"""``plan``: how many items and ratings reach a power, what a fixed design reaches, and what it can detect."""

from __future__ import annotations

import math
import os
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ordbridge.design import from_ratings
from ordbridge.errors import InputError, StatisticalWarning
from ordbridge.power.curve import Curve
from ordbridge.power.forecast import Look, Rows, foresee, rehearse, said
from ordbridge.power.grid import Grid
from ordbridge.power.hypotheses import Simulations, hypothesis
from ordbridge.power.pilot import A_DRAW, Pilot, over_draws, read_pilot
from ordbridge.power.planned import Planned, notes_of, sentence_of, table_of
from ordbridge.power.search import ENOUGH, Candidate, search
from ordbridge.simulate import Truth
from ordbridge.tables import to_arrow

__all__ = ["plan"]

ITEMS, RATINGS = tuple(range(25, 501, 25)), (2, 3, 5, 10)
EFFECTS = tuple(round(0.02 * step, 2) for step in range(2, 101))
KINDS = ("lm", "clm", "lmer", "clmm")
OBSERVED = (
    "the effect is the one observed in the pilot, and power at the observed effect only repeats the pilot's p-value: "
    "plan with the smallest effect that would matter (effect=…)"
)


def plan(
    truth: Truth | None = None,
    *,
    preset: str | None = None,
    variance: str | None = None,
    pilot: Any = None,
    effect: float | Sequence[float] | str | None = None,
    target: float = 0.8,
    alpha: float = 0.05,
    model: str = "clmm",
    formula: str | None = None,
    test: str | tuple[str, str] | None = None,
    vary: Mapping[str, Any] | None = None,
    design: Any = None,
    texts_per_participant: int = 25,
    cost: Mapping[str, float] | None = None,
    engine: str = "fast",
    seed: int = 0,
    budget: int = 1200,
    most: int = 400,
    draws: int = 20,
    jobs: int = 1,
    store: str | os.PathLike[str] | None = None,
    progress: Callable[[str], object] | None = None,
) -> Planned:
    """Find the smallest, or cheapest, designs that reach a power.

    Three questions, told apart by what is left open. Several designs in ``vary``: which of them reach the target. One
    design and an effect: its power. One design and ``effect="smallest"``: the smallest effect that it detects.

    Parameters
    ----------
    truth, preset, pilot
        What is true, one of three: a :class:`ordbridge.simulate.Truth`; ``"howcroft2021"`` with its ``variance``
        setting; or ratings of a pilot study (``participant, item, system, rating``), whose estimates are the truth.
    variance
        The setting of the preset: ``"low"``, ``"representative"``, ….
    effect
        How far the second system is above the first in latent units, or one number for every system after the first.
        Default: that of the truth, or of the pilot with a warning. Or ``"smallest"``.
    target, alpha
        The power to reach, and the level of the test.
    model, formula
        The model of the analysis, as in :class:`ordbridge.power.Model`.
    test
        With more than two systems: a pair of their names (A, B, …), ``"any"`` for a likelihood ratio test of any
        difference, or ``"pairs"`` for all pairs with Holm's correction (every pair that truly differs must be found).
    vary
        ``items`` and ``ratings_per_text``: a number or a list each.
    design
        A fixed design instead: a table ``participant, item, system``.
    texts_per_participant
        How many texts a participant rates in the counterbalanced designs.
    cost
        Price of a ``rating`` and of a ``participant``. The cheapest design is recommended; without it the one with the
        fewest ratings.
    engine
        ``"fast"``, or ``"ordinal"`` for R.
    seed
        The same seed gives the same plan, with any number of jobs and after any interruption.
    budget, most
        How many datasets are simulated in all, and for one design. A fixed design gets ``most``.
    draws
        From a pilot: how many draws from the sampling distribution of its estimates.
    jobs
        Worker processes; −1 for one a core.
    store
        A folder in which every fit is kept: the same call goes on where it was stopped.
    progress
        Called with a line of text now and then; ``print`` will do.

    Returns
    -------
    Planned

    Notes
    -----
    Each design is simulated until the exact interval of its power is on one side of the target or ``most`` datasets
    are spent. The interval is the usual one for a fixed number of datasets; looking at it five or six times makes it a
    little too narrow for designs whose power is very close to the target.

    References
    ----------
    Green, P. & MacLeod, C. J. (2016). SIMR: an R package for power analysis of generalized linear mixed models by
    simulation. *Methods in Ecology and Evolution* 7, 493–498.
    Hoenig, J. M. & Heisey, D. M. (2001). The abuse of power. *The American Statistician* 55, 19–24.

    Examples
    --------
    >>> truth = Truth(effects=(1.0,), thresholds=(-1, 0, 1), item_sd=(0.3, 0.1))
    >>> found = plan(truth, model="lm", vary={"items": [10, 40, 80], "ratings_per_text": 2}, texts_per_participant=10)
    >>> found.recommended["items"]
    40
    """
    _check(target, alpha, model, seed, budget=budget, most=most, draws=draws)
    study = read_pilot(pilot, model, formula, engine) if pilot is not None else None
    what = _truth(truth, preset, variance, study)
    kind, notes = _question(effect, vary, design), []
    if kind != "effect":
        what = _with_effect(what, effect)
        if study is not None and effect is None:
            warnings.warn(OBSERVED, StatisticalWarning, stacklevel=2)
            notes.append(OBSERVED[0].upper() + OBSERVED[1:] + ".")
    elif not any(what.effects):
        what = what.shift(effect=[1.0] * len(what.effects))
    rows = _candidates(kind, what, vary, design, texts_per_participant, cost)
    with tempfile.TemporaryDirectory(prefix="ordbridge-plan-") as temporary:
        simulations = Simulations(
            model=hypothesis(rows[0][0].grid.cells[0], model, formula, test),
            folder=Path(temporary if store is None else store),
            seed=seed,
            engine=engine,
            jobs=jobs,
            alpha=alpha,
        )
        tell = progress or (lambda _: None)
        limits = {"budget": most if kind == "power" else budget, "most": most}

        def simulate(candidates: Any, look: Any) -> Curve:
            if kind == "power":
                look(candidates[0][0], most)
            return search(candidates, look, target=target, alpha=alpha, **limits)

        if engine == "ordinal" and progress is not None:
            uncertain = draws if study is not None and kind != "effect" else 0
            tell(_how_long(kind, rows, simulations, simulate, limits["budget"], target, study, uncertain))
        curve = simulate(rows, _looker(simulations, tell))
        best = _recommend(kind, rows, target)
        uncertainty = pairs = None
        if study is not None and best is not None and draws and kind != "effect":
            uncertainty = over_draws(study, what, effect is None, best, simulations, draws, seed, progress)
        if best is not None and simulations.pairs:
            pairs = simulations.of_pairs(best.grid, best.n)
    asked = {
        "truth": what.to_dict(),
        "source": "pilot" if study is not None else f"{preset}, {variance}" if preset else "truth",
        "effect": effect if effect == "smallest" else list(what.effects),
        "target": target,
        "alpha": alpha,
        "model": model,
        "formula": simulations.model.formula,
        "test": simulations.question,
        "texts_per_participant": None if design is not None else texts_per_participant,
        "cost": dict(cost) if cost else None,
        "engine": engine,
        "seed": seed,
        "versions": simulations.versions,
        "datasets": sum(c.n for row in rows for c in row),
    }
    notes += notes_of(rows, best, uncertainty, target)
    table = table_of(rows, best, curve, target, cost)
    chosen = next((row for row in table.to_pylist() if row["recommended"]), None)
    sentence = sentence_of(kind, chosen, rows, asked, uncertainty)
    return Planned(kind, sentence, table, chosen, asked, curve, tuple(notes), uncertainty, pairs)


def _check(target: Any, alpha: Any, model: Any, seed: Any, **counts: Any) -> None:
    for name, value in (("target", target), ("alpha", alpha)):
        if not isinstance(value, (int, float)) or not 0 < value < 1:
            raise InputError(f"{name}={value!r} must be a number between 0 and 1")
    if target <= alpha:
        raise InputError(f"target={target:g} must be above alpha={alpha:g}, which any design reaches")
    if model not in KINDS:
        raise InputError(f"there is no model {model!r}; choose from {', '.join(KINDS)}")
    for name, value in {"seed": seed, **counts}.items():
        least = 0 if name in ("seed", "draws") else 1
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise InputError(f"{name}={value!r} must be a whole number from {least} on")


def _truth(truth: Any, preset: str | None, variance: str | None, study: Pilot | None) -> Truth:
    given = [name for name, value in (("truth", truth), ("preset", preset), ("pilot", study)) if value is not None]
    if len(given) != 1:
        said = f"{' and '.join(given)} are given" if given else "none is given"
        raise InputError(f"a plan starts from one of truth, preset and pilot; {said}")
    if study is not None:
        return study.truth
    if preset is not None:
        if preset != "howcroft2021":
            raise InputError(f"there is no preset {preset!r}; choose one of: howcroft2021")
        from ordbridge.papers.howcroft2021 import settings

        if variance is None:
            raise InputError(f"the preset {preset!r} needs variance=: one of {', '.join(settings)}")
        found: Truth = settings[variance]
        return found
    if not isinstance(truth, Truth):
        raise InputError(f"truth is a {type(truth).__name__}; give a simulate.Truth")
    return truth


def _question(effect: Any, vary: Mapping[str, Any] | None, design: Any) -> str:
    if design is not None and vary is not None:
        raise InputError("design is one fixed design; leave vary out, or design")
    for name in vary or {}:
        if name not in ("items", "ratings_per_text"):
            raise InputError(f"vary has {name!r}; it may have items and ratings_per_text")
    one = design is not None or (vary is not None and all(len(v) == 1 for v in _axes(vary)))
    if isinstance(effect, str):
        if effect != "smallest":
            raise InputError(f"effect={effect!r} is no number; give one, or 'smallest'")
        if not one:
            raise InputError(
                "the smallest effect is that of one design; give vary={'items': 100, 'ratings_per_text': 3} or design"
            )
        return "effect"
    return "power" if one else "designs"


def _axes(vary: Mapping[str, Any] | None, texts: int = 1) -> tuple[list[int], list[int]]:
    """Return the numbers of items and of ratings a text, ascending."""
    axes = []
    for name, default in (("items", {max(texts, i) for i in ITEMS}), ("ratings_per_text", RATINGS)):
        value = (vary or {}).get(name, default)
        values = [value] if isinstance(value, (int, np.integer)) else list(value)
        if not values or any(isinstance(v, bool) or not isinstance(v, (int, np.integer)) or v < 1 for v in values):
            raise InputError(f"{name}={value!r} in vary must be whole numbers from 1 on")
        axes.append(sorted({int(v) for v in values}))
    return axes[0], axes[1]


def _with_effect(truth: Truth, effect: Any) -> Truth:
    if effect is not None:
        truth = truth.shift(effect=effect)
    if not any(truth.effects):
        raise InputError("the effect is 0, and nothing has power to find it; give effect=, above or below 0")
    return truth


def _candidates(
    kind: str, truth: Truth, vary: Any, design: Any, texts: int, cost: Mapping[str, float] | None
) -> list[list[Candidate]]:
    """Return a row of designs a number of ratings, by items; or one row of effects."""
    prices = _prices(cost)
    largest = max(map(abs, truth.effects))
    if design is not None:
        table = from_ratings(to_arrow(design))
        sizes = [(len(set(table["item"].to_pylist())), 0, table)]
        rows = [sizes]
    else:
        items, ratings = _axes(vary, texts)
        rows = [[(m, r, None) for m in items] for r in ratings]
    candidates: list[list[Candidate]] = []
    for row in rows:
        candidates.append([])
        for m, r, table in row:
            scales = [level / largest for level in EFFECTS] if kind == "effect" else [1.0]
            for scale in scales:
                effects = tuple(round(scale * e, 10) for e in truth.effects)
                candidates[-1].append(_candidate(truth.shift(effect=effects), m, r, table, texts, prices))
    return candidates


def _candidate(
    truth: Truth, items: int, ratings_per_text: int, table: pa.Table | None, texts: int, prices: tuple[float, float]
) -> Candidate:
    if table is not None:
        grid = Grid(truth=truth, design=table)
        count, participants = table.num_rows, len(set(table["participant"].to_pylist()))
        ratings_a_text = count / (items * truth.systems)
    else:
        grid = Grid(
            truth=truth,
            design={"kind": "counterbalanced", "texts_per_participant": texts},
            items=items,
            ratings_per_text=ratings_per_text,
        )
        if texts > items:
            raise InputError(
                f"texts_per_participant={texts} is more than {items} items, and nobody may see an item twice; "
                f"give at least {texts} items, or texts_per_participant={items}"
            )
        count = items * truth.systems * ratings_per_text
        participants, ratings_a_text = math.ceil(count / texts), ratings_per_text
    price = prices[0] * count + prices[1] * participants
    effect = max(map(abs, truth.effects))
    return Candidate(items, ratings_a_text, participants, count, price, effect, grid)


def _prices(cost: Mapping[str, float] | None) -> tuple[float, float]:
    """Return what a rating and a participant cost; without prices the ratings are counted."""
    if cost is None:
        return 1.0, 0.0
    for name, value in cost.items():
        if name not in ("rating", "participant"):
            raise InputError(f"cost has {name!r}; it may have rating and participant")
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
            raise InputError(f"cost of a {name} is {value!r}; give a number from 0 on")
    if not any(cost.values()):
        raise InputError("cost is 0 throughout, so no design is cheaper than another; give a price")
    return float(cost.get("rating", 0.0)), float(cost.get("participant", 0.0))


def _how_long(
    kind: str,
    rows: Rows,
    simulations: Simulations,
    simulate: Callable[[Rows, Look], object],
    budget: int,
    target: float,
    study: Pilot | None,
    draws: int,
) -> str:
    """Say how long R will take, the draws from a pilot's uncertainty included."""
    rehearsed = rehearse(rows, simulations, simulate, budget)
    best = _recommend(kind, rehearsed, target)
    more, refits = [], 0.0
    if study is not None and best is not None and draws:
        more = [(best.ratings, draws * A_DRAW)]
        refits = draws * study.fit.glance()["seconds"][0].as_py()  # the pilot itself, at every draw
    seconds, timed = foresee(rehearsed, simulations, more)
    datasets = sum(c.n for row in rehearsed for c in row) + sum(n for _, n in more)
    return said(seconds + refits, timed, datasets, simulations.workers)


def _looker(simulations: Simulations, tell: Callable[[str], object]) -> Look:
    """Return the function that brings a candidate to a number of simulations, and tells."""

    def look(candidate: Candidate, n: int) -> None:
        candidate.n, candidate.significant, candidate.failed = simulations.count(candidate.grid, n)
        tell(
            f"{candidate.items} items × {candidate.ratings_per_text:g} ratings, effect {candidate.effect:g}: "
            f"power {candidate.significant / candidate.n:.2f} after {candidate.n} datasets"
        )

    return look


def _recommend(kind: str, rows: Rows, target: float) -> Candidate | None:
    """Return the cheapest candidate that reaches the target, not by its first datasets alone, or else may reach it."""
    seen = [c for row in rows for c in row if c.n]
    if kind == "power":
        return seen[0] if seen else None
    order = (lambda c: (c.effect, c.price)) if kind == "effect" else (lambda c: (c.price, c.participants))
    reaching = [c for c in seen if c.verdict(target) == "reaches"]
    shown = [c for c in reaching if c.n >= ENOUGH]
    likely = [c for c in seen if c.verdict(target) == "undecided" and c.n >= ENOUGH and c.significant / c.n >= target]
    return min(shown or reaching or likely, key=order, default=None)
