"""Planning from a pilot study: its estimates as the truth, and how uncertain they are."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ordbridge.design import from_ratings
from ordbridge.design.inspect import encode
from ordbridge.errors import ConvergenceWarning, FitError, InputError, StatisticalWarning
from ordbridge.models import api
from ordbridge.models.fit import Fit
from ordbridge.power.models import FORMULAS
from ordbridge.reading import RatingTable, read
from ordbridge.simulate import Simulator, Truth
from ordbridge.support.naming import arg

TRIES = 3  # bootstrap datasets that one draw may use up before the pilot is called too small


@dataclass(frozen=True)
class Pilot:
    """A fitted pilot: its ratings and design, its fit, and the truth they make."""

    ratings: RatingTable
    design: pa.Table
    fit: Fit
    truth: Truth
    refit: Callable[[pa.Table], Fit]

    @property
    def systems(self) -> tuple[str, ...]:
        """The names of the systems, in the order of the truth."""
        return tuple(map(str, encode(self.design["system"])[1]))

    def draw(self, seed: np.random.SeedSequence) -> Truth:
        """Return one draw from the sampling distribution of all estimates, by parametric bootstrap.

        A pilot is simulated from the estimates on the pilot's own design and fitted like the pilot (Efron &
        Tibshirani 1993, chapter 6); the estimates of effects, thresholds and deviations then vary together, as those
        of pilots do.
        """
        simulator = Simulator(self.design, self.truth)
        for attempt in seed.spawn(TRIES):
            columns = {**simulator.columns, "rating": simulator.draw(attempt)[0]}
            try:
                with warnings.catch_warnings():
                    for kind in (ConvergenceWarning, StatisticalWarning):  # a draw at the edge is a draw, too
                        warnings.simplefilter("ignore", kind)
                    return Truth.from_fit(self.refit(pa.table(columns)))
            except (FitError, InputError):
                continue
        raise InputError("pilots simulated from this pilot's estimates cannot be fitted; the pilot is too small")


def read_pilot(
    ratings: Any, model: str, formula: str | None, engine: str, roles: Mapping[str, Any] | None = None
) -> Pilot:
    """Fit a pilot with the model of the plan (probit for ordinal models); ``roles`` says which column is what."""
    given = read(ratings, **(roles or {}))
    table = given.table
    for name in ("participant", "item", "system"):
        if name not in table.column_names:
            raise InputError(f"the pilot has no column of the {name}; say which one it is ({arg(name)})")
    if "criterion" in table.column_names and (count := len(table["criterion"].unique())) > 1:
        raise InputError(f"the pilot has {count} criteria; plan from the ratings of one of them")
    options: dict[str, Any] = {"engine": engine}
    if model in ("clm", "clmm"):
        options["link"] = "probit"

    def refit(data: pa.Table) -> Fit:
        fit: Fit = getattr(api, model)(formula or FORMULAS[model], data, **options)
        return fit

    fit = refit(table)
    return Pilot(given, from_ratings(table), fit, Truth.from_fit(fit), refit)


def over_draws(
    study: Pilot,
    planned: Truth,
    effect_too: bool,
    power: Callable[[Truth], dict[str, Any]],
    draws: int,
    seed: int,
    progress: Callable[[str], object] | None,
) -> pa.Table:
    """Return the power of a design at draws from the sampling distribution of the pilot's estimates."""
    rows = []
    for number, stream in enumerate(np.random.SeedSequence(seed, spawn_key=(8,)).spawn(draws)):
        truth = study.draw(stream)
        if truth.systems < planned.systems:
            truth = truth.with_systems(planned.systems)
        if not effect_too:
            truth = truth.shift(effect=planned.effects)
        found = power(truth)
        rows.append(
            {
                "draw": number + 1,
                "effect": max(truth.effects, key=abs),
                "participant_sd": list(truth.participant_sd),
                "item_sd": list(truth.item_sd),
                **{name: found[name] for name in ("n", "n_failed", "power")},
            }
        )
        if progress:
            progress(f"draw {number + 1} of {draws} from the pilot's uncertainty: power {found['power']:.2f}")
    return pa.Table.from_pylist(rows, schema=DRAWS)


DRAWS = pa.schema(
    [
        ("draw", pa.int64()),
        ("effect", pa.float64()),
        *((name, pa.list_(pa.float64())) for name in ("participant_sd", "item_sd")),
        *((name, pa.int64()) for name in ("n", "n_failed")),
        ("power", pa.float64()),
    ]
)
