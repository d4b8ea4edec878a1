"""Studies that are to show that systems do not differ: their test, and the truths at which they must not succeed."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from ordbridge.errors import InputError
from ordbridge.models.fit import Fit
from ordbridge.models.problem import Estimates, Problem
from ordbridge.power.grid import Cell
from ordbridge.power.models import Model, system_terms
from ordbridge.simulate import Truth, implied
from ordbridge.support.naming import arg

FARTHEST = 8.0  # a latent effect at which practically every rating is at the end of the scale


class WithinMargin(NamedTuple):
    """The difference of the tested system and the first, and the p-value of its lying within the margin."""

    estimate: float
    std_error: float
    df: float
    p_value: float


def system_tested(cell: Cell, model: Model) -> int:
    """Return the place of the tested system among the effects of the truth."""
    found = system_terms(cell).get(model.term)
    if found is None:
        terms = " or ".join(system_terms(cell))
        raise InputError(f"{arg('goal', model.goal)} compares systems: {arg('term', model.term)} must be {terms}")
    return found[0]


def within_margin(problem: Problem, found: Estimates, engine: str, cell: Cell, model: Model) -> WithinMargin:
    """Test one fit, as :meth:`ordbridge.Fit.equivalence` does.

    References
    ----------
    Schuirmann, D. J. (1987). A comparison of the two one-sided tests procedure and the power approach for assessing the
    equivalence of average bioavailability. Journal of Pharmacokinetics and Biopharmaceutics 15, 657–680.
    """
    first, *others = (str(label) for label in cell.systems)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the formula's interactions were the user's to choose
        table = Fit(problem, found, engine, 0.0).equivalence("system", float(model.margin or 0.0), on=model.on)
    pair = first, others[system_tested(cell, model)]
    row = next(row for row in table.to_pylist() if (row["system_a"], row["system_b"]) == pair)
    # the contrast is first − tested, so that the tested one is not worse where it lies below the margin
    p_value = row["p_value"] if model.goal == "equivalence" else row["p_below"]
    df = np.nan if row["df"] is None else row["df"]
    return WithinMargin(-row["difference"], row["std_error"], df, p_value)


def effects_at_margin(cell: Cell, model: Model) -> list[tuple[float, ...]]:
    """Return the effects at which the tested system differs from the first by just the margin, others as they are.

    There a study must not succeed in more than a share alpha: below the first system (equivalence and
    non-inferiority), and above it (equivalence).
    """
    signs = (-1.0, 1.0) if model.goal == "equivalence" else (-1.0,)
    system = system_tested(cell, model)
    found = []
    for sign in signs:
        effects = list(cell.truth.effects)
        effects[system] = latent_effect_of(cell.truth, system, sign * float(model.margin or 0.0), model.on)
        found.append(tuple(effects))
    return found


def latent_effect_of(truth: Truth, system: int, difference: float, on: str) -> float:
    """Return the latent effect that is a difference of mean ratings, rounded to six digits.

    Examples
    --------
    >>> truth = Truth(effects=(0.0,), thresholds=(-1, 0, 1))
    >>> effect = latent_effect_of(truth, 0, 0.25, "rating")
    >>> effect, round(implied(truth.shift(effect=effect)).differences["difference"][0].as_py(), 4)
    (0.2849, 0.25)
    """
    from scipy.optimize import brentq

    if on == "latent" or truth.scale == "interval":
        return difference

    def gap(effect: float) -> float:
        effects = list(truth.effects)
        effects[system] = effect
        rows = implied(truth.shift(effect=effects)).differences.to_pylist()
        own = next(row for row in rows if row["system_b"] == 0 and row["system_a"] == system + 1)
        return float(own["difference"]) - difference

    if gap(-FARTHEST) * gap(FARTHEST) > 0:
        raise InputError(
            f"no effect makes mean ratings differ by {arg('margin', abs(difference))} points; give a smaller one"
        )
    return round(float(brentq(gap, -FARTHEST, FARTHEST, xtol=1e-8)), 6)
