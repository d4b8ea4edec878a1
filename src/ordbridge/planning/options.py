"""What one says to a plan: the effect, the analysis, the designs to try, and how much is simulated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ordbridge.power.models import Goal
from ordbridge.support.arguments import choice

UNITS = ("latent", "points", "superiority")


@dataclass(frozen=True)
class Effect:
    """An effect in the unit that one thinks in.

    Parameters
    ----------
    value
        How far the second system is above the first, or one number for every system after the first.
    unit
        ``"latent"``; rating ``"points"``; or ``"superiority"``, the probability that a text of the system is rated
        above one of the first (ties split). It is converted through the truth
        (:mod:`ordbridge.simulate.effect_units`).

    Examples
    --------
    >>> Effect(0.3, "points")
    Effect(value=0.3, unit='points')
    """

    value: float | Sequence[float]
    unit: str = "latent"

    def __post_init__(self) -> None:
        """Check the unit."""
        choice("unit", self.unit, UNITS)


@dataclass(frozen=True)
class PlannedAnalysis:
    """The analysis that a study is planned for.

    Parameters
    ----------
    model, formula
        The model, as in :class:`ordbridge.power.Model`.
    test
        With more than two systems: a pair of their names, ``"any"`` for a likelihood ratio test of any difference,
        ``"pairs"`` for all pairs with Holm's correction (every pair that truly differs must be found), or
        ``("reference", name)`` for every system against one, with Holm's correction.
    systems
        The names of the systems, the first one first, or how many there are. More than in the truth all vary like its
        second one. Default: the names of the pilot, or A, B, ….
    alpha
        The level of the test.
    goal
        What the study is to show: a difference; or of two systems equivalence or non-inferiority, at a true effect
        within the margin, such as 0 (:class:`ordbridge.power.Goal`).
    criteria, correlation
        How many criteria every text is rated on, each with this effect; and how the tests of two of them are assumed
        to correlate. Power is the share of studies that find the difference on every criterion after Holm's correction
        over criteria (:mod:`ordbridge.planning.criteria`).
    looks, shape
        How often the data are looked at in the course of the study, which may stop at each look, and the shape of the
        boundary, ``"obrien-fleming"`` or ``"pocock"`` (:func:`ordbridge.planning.sequential`).
    """

    model: str = "clmm"
    formula: str | None = None
    test: str | tuple[str, str] | None = None
    systems: int | Sequence[str] | None = None
    alpha: float = 0.05
    goal: Goal = field(default_factory=Goal)
    criteria: int = 1
    correlation: float = 0.5
    looks: int | None = None
    shape: str = "obrien-fleming"


@dataclass(frozen=True)
class Designs:
    """Which designs are tried.

    Parameters
    ----------
    items, ratings_per_text
        A number or a list each. One number of each is one design, whose power is asked for. Default: 10 to 500 items,
        4% apart, and 2, 3, 5 and 10 ratings.
    texts_per_participant
        How many texts a participant rates in these counterbalanced designs.
    table
        A fixed design instead: a table ``participant, item, system``.
    """

    items: int | Sequence[int] | None = None
    ratings_per_text: int | Sequence[int] | None = None
    texts_per_participant: int = 25
    table: Any = None

    @property
    def vary(self) -> dict[str, Any]:
        """The numbers that were given."""
        given = {"items": self.items, "ratings_per_text": self.ratings_per_text}
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True)
class Simulation:
    """How much is simulated, by what.

    Parameters
    ----------
    datasets, max_per_design
        How many datasets are simulated in all, and for one design. One design gets ``max_per_design``. Default: 1000
        and 500; 400 and 200 for mixed models of more than two systems, which take much longer to fit.
    null_datasets
        How many datasets without any difference are simulated besides, of a design: for the type-I error of the test,
        and for its critical value. Default: 800, for mixed models of more than two systems 400; up to five times as
        many at an alpha below .05; 0 for none. They are fitted by the native engine, whose p-values are R's, unless it
        cannot fit the model.
    calibrate
        Whether power is that of a test that keeps its level: p has to fall below a critical value, which each design
        has from twice as many datasets without a difference as with one, ``null_datasets`` at most
        (:mod:`ordbridge.power.calibration`). Default: yes, unless ``null_datasets`` is below 200. A linear model whose
        mean ratings differ at latent effect 0 is taken at alpha.
    draws
        From a pilot: how many draws from the sampling distribution of its estimates.
    engine
        ``"fast"``, or ``"r"``.
    seed
        The same seed gives the same plan, with any number of jobs and after any interruption.
    """

    datasets: int | None = None
    max_per_design: int | None = None
    null_datasets: int | None = None
    calibrate: bool | None = None
    draws: int = 40
    engine: str = "fast"
    seed: int = 0
