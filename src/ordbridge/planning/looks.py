"""Studies that may stop early: critical values, power and expected length of the very design that is planned.

Participants come in batches, and after each batch the planned model is fitted to all ratings so far. The boundary has
the shape of O'Brien & Fleming or of Pocock (:mod:`ordbridge.planning.stopping`); its constant comes from studies of
this design that were simulated without any difference, because a mixed model with few participants does not follow the
normal theory. Where it does, both agree.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from ordbridge.errors import InputError
from ordbridge.models.engines import engine_module, engine_name
from ordbridge.models.inference.resampling import FAILURES, DrawPlan, results
from ordbridge.models.prepare import prepare
from ordbridge.planning.null_truth import without_difference
from ordbridge.planning.planned_test import Score, with_systems_in_order
from ordbridge.planning.stopping import SHAPES, boundaries, shape_of, shares_of_looks
from ordbridge.power.estimates import clopper_pearson
from ordbridge.power.models import Model
from ordbridge.power.wording import percent
from ordbridge.render.layout import ShownTable
from ordbridge.results import Result
from ordbridge.simulate import Simulator, Truth
from ordbridge.support.arguments import choice, proportion, whole
from ordbridge.support.progress import Progress

NAMES = {"participants": "raters", "critical": "critical |z|", "p_value": "p below", "stops_null": "stop, no effect",
         "stops": "stop, effect"}  # fmt: skip
EARLIEST = 3  # participants at the first look: fewer cannot tell how participants differ


@dataclass(frozen=True, repr=False)
class Sequential(Result):
    """A plan with several looks.

    Attributes
    ----------
    shape, alpha
        The kind of boundary, and the level of the whole study.
    looks
        One row per look: ``look, share`` of the participants, ``participants, ratings, critical`` (of |z|, from
        simulated studies), ``normal`` (the same by normal theory), ``p_value`` (below which the study stops),
        ``stops_null`` and ``stops`` (share of studies that stop at this look, without and with the effect).
    power, conf_low, conf_high
        Share of studies with the effect that cross the boundary at any look.
    single
        The share with one look at the end, at a critical value that keeps the level.
    expected_ratings
        How many ratings a study with the effect has on average when it ends.
    datasets, null_datasets
        How many studies were simulated with and without the effect.
    """

    kind: ClassVar[str] = "looks"
    title = "A study that may stop early"
    shape: str
    alpha: float
    looks: pa.Table
    power: float
    conf_low: float
    conf_high: float
    single: float
    expected_ratings: float
    datasets: int
    null_datasets: int

    @property
    def answer(self) -> str:  # type: ignore[override]
        """What the looks buy."""
        last = self.looks.num_rows - 1
        return (
            f"With {last + 1} looks: power {percent(self.power, self.conf_low, self.conf_high)}, "
            f"{self.expected_ratings:,.0f} ratings on average instead of {self.looks['ratings'][last].as_py():,}; with "
            f"one look at the end {self.single:.0%}."
        )

    @property
    def counted(self) -> str:  # type: ignore[override]
        """How many studies were simulated."""
        return (
            f"{self.datasets:,} simulated studies with the effect and {self.null_datasets:,} without; {self.shape} "
            f"boundary, alpha {self.alpha:g}."
        )

    @property
    def tables(self) -> dict[str, pa.Table]:
        """The looks."""
        return {"looks": self.looks}

    def main(self) -> Sequence[ShownTable]:
        """Return the looks: when, and what |z| has to exceed."""
        columns = ["look", "participants", "ratings", "critical", "p_value", "stops_null", "stops"]
        return [ShownTable(self.looks.select(columns), names=NAMES)]


def sequential(
    design: Any,
    truth: Truth,
    model: Model,
    *,
    looks: int | Sequence[float] = 3,
    shape: str = "obrien-fleming",
    alpha: float = 0.05,
    datasets: int = 400,
    null: int = 1000,
    reference: str | None = None,
    engine: str = "fast",
    seed: int = 0,
    jobs: int = 1,
    store: str | PathLike[str] | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Sequential:
    """Simulate a design with several looks.

    Parameters
    ----------
    design, truth
        Who rates what (participants come in the order of the table), and what is true.
    model
        What is fitted at each look; its ``term`` is the coefficient that is tested.
    looks, shape, alpha
        As for :func:`ordbridge.planning.stopping.boundaries`; shares are shares of the participants.
    datasets, null
        How many studies are simulated with the effect and without it.
    reference
        The system that the tested one is compared with. Default: the first one.
    engine, seed, jobs, store, progress
        As for :func:`ordbridge.plan`; ``store`` is a folder.

    Notes
    -----
    The critical constant is the (1 − alpha) quantile, over studies without any difference, of the largest |z| of a
    study in units of the boundary's shape; its Monte Carlo error is that of ``null`` datasets. A look whose model
    cannot be fitted does not stop the study.

    Examples
    --------
    >>> from ordbridge.design import counterbalanced
    >>> truth = Truth(effects=1.0, thresholds=(-1, 0, 1), item_sd=(0.3, 0.1))
    >>> model = Model("clm", "rating ~ system", "systemB", link="probit")
    >>> table = counterbalanced(items=20, ratings_per_text=2, texts_per_participant=10)
    >>> found = sequential(table, truth, model, looks=2, datasets=20, null=99)
    >>> found.looks["participants"].to_pylist()
    [4, 8]
    """
    times = shares_of_looks(looks)
    choice("shape", shape, SHAPES)
    proportion("alpha", alpha)
    for name, value in (("datasets", datasets), ("null", null)):
        whole(name, value, least=10)
    study = _Study.of(design, truth, model, times, engine_name(engine), seed, reference)
    nothing = replace(study, truth=without_difference(truth, model))
    under_null = np.array(list(results(nothing, DrawPlan(null, seed, jobs, store, progress))))
    with_effect = np.array(list(results(study, DrawPlan(datasets, seed, jobs, store, progress))))
    form = shape_of(times, shape)
    critical = _quantile((abs(under_null) / form).max(axis=1), alpha) * form
    single = _quantile(abs(under_null[:, -1]), alpha)
    return _told(study, shape, alpha, critical, single, under_null, with_effect)


@dataclass(frozen=True)
class _Study:
    """One simulated study, looked at several times."""

    design: pa.Table
    truth: Truth
    model: Model
    rows: tuple[int, ...]
    """How many ratings each look has."""
    participants: tuple[int, ...]
    times: tuple[float, ...]
    engine: str
    seed: int
    reference: str | None = None

    @classmethod
    def of(
        cls,
        design: Any,
        truth: Truth,
        model: Model,
        times: np.ndarray,
        engine: str,
        seed: int,
        reference: str | None = None,
    ) -> _Study:
        columns = Simulator(design, truth).columns
        code = columns["participant"].combine_chunks().dictionary_encode().indices.to_numpy()
        order = np.argsort(code, kind="stable")
        code = code[order]
        participants = [round(float(time) * (code[-1] + 1)) for time in times]
        if participants[0] < EARLIEST or len(set(participants)) < len(participants):
            raise InputError(
                f"{code[-1] + 1} participants cannot be looked at {len(times)} times; the first look needs at least "
                f"{EARLIEST} participants, and every look more than the one before"
            )
        rows = tuple(int(np.searchsorted(code, n)) for n in participants)
        table = pa.table({name: column.take(pa.array(order)) for name, column in columns.items()})
        return cls(table, truth, model, rows, tuple(participants), tuple(map(float, times)), engine, seed, reference)

    @cached_property
    def _simulator(self) -> Simulator:
        return Simulator(self.design, self.truth)

    @property
    def fingerprint(self) -> str:
        parts = (self.truth.to_dict(), self.model.to_dict(), self.rows, self.engine, self.seed, self.reference)
        told = hashlib.sha256(repr(parts).encode())
        told.update(repr(self.design.to_pydict()).encode())
        return told.hexdigest()[:16]

    def one(self, draw: int) -> list[float]:
        """Return z at each look, 0 where there is none."""
        stream = np.random.SeedSequence(self.seed, spawn_key=(9, draw))
        table = self.design.append_column("rating", pa.array(self._simulator.draw(stream)[0]))
        found = (score_of(self.model, table.slice(0, rows), self.engine, self.reference) for rows in self.rows)
        return [0.0 if score is None else score.z for score in found]


def score_of(model: Model, table: pa.Table, engine: str, reference: str | None = None) -> Score | None:
    """Return what the tested coefficient says, with this system as the first one; None if the model cannot be fitted.

    The other systems are in the order of their names.
    """
    if reference is not None:
        others = set(map(str, table["system"].to_pylist())) - {reference}
        table = with_systems_in_order(table, [reference, *sorted(others)])
    try:
        problem = prepare(model.kind, model.formula, table, **model.options, timeout=None)
        found = engine_module(engine).fit(problem)
    except FAILURES:
        return None
    if model.term not in found.terms:
        raise InputError(
            f"the planned formula has no term {model.term!r} with these ratings; is this plan of another study?"
        )
    score = Score.of(found, model.term)
    return score if np.isfinite(score.p_value) else None


def _quantile(largest: np.ndarray, alpha: float) -> float:
    """Return the value that ``alpha`` of the studies exceed; the order statistic of Davison & Hinkley (1997)."""
    return float(np.quantile(largest, 1 - alpha, method="weibull"))


def _told(
    study: _Study,
    shape: str,
    alpha: float,
    critical: np.ndarray,
    single: float,
    under_null: np.ndarray,
    with_effect: np.ndarray,
) -> Sequential:
    from scipy.stats import norm

    first = [_stops(z, critical) for z in (under_null, with_effect)]
    shares = [[float((stopped == look).mean()) for look in range(len(critical))] for stopped in first]
    found = int((first[1] < len(critical)).sum())
    low, high = clopper_pearson(found, len(with_effect))
    rows = np.array(study.rows)
    ends = rows[np.minimum(first[1], len(critical) - 1)]
    looks = pa.table(
        {
            "look": np.arange(1, len(critical) + 1),
            "share": study.times,
            "participants": study.participants,
            "ratings": rows,
            "critical": critical,
            "normal": boundaries(study.times, alpha=alpha, shape=shape),
            "p_value": 2 * norm.sf(critical),
            "stops_null": shares[0],
            "stops": shares[1],
        }
    )
    return Sequential(
        shape=shape,
        alpha=alpha,
        looks=looks,
        power=found / len(with_effect),
        conf_low=low,
        conf_high=high,
        single=float((abs(with_effect[:, -1]) > single).mean()),
        expected_ratings=float(ends.mean()),
        datasets=len(with_effect),
        null_datasets=len(under_null),
    )


def _stops(z: np.ndarray, critical: np.ndarray) -> np.ndarray:
    """Return at which look each study stops; the number of looks if at none."""
    crossed = abs(z) > critical
    return np.where(crossed.any(axis=1), crossed.argmax(axis=1), len(critical))
