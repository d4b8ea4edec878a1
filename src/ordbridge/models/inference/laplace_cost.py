"""What Laplace's approximation costs the coefficients of a clmm, by importance sampling around the modes.

The sampling is the native engine's (``fast/laplace_shift.py``), at the native optimum, which is R's as well: both
engines maximise the same approximation. Whether it breaks down for some levels is checked for every fit
(``models/laplace_check.py``); this says by how much everything is off where it does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import erfc, sqrt
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from ordbridge.errors import InputError
from ordbridge.models.engines import engine_module
from ordbridge.support.arguments import whole
from ordbridge.support.formatting import p_text
from ordbridge.support.naming import arg

if TYPE_CHECKING:
    from ordbridge.models.fit import Fit

ENOUGH = 100  # effective draws


@dataclass(frozen=True, eq=False)
class LaplaceCheck:
    """What the exact likelihood would change.

    Attributes
    ----------
    table
        One row per coefficient: effect (``"fixed"``, ``"nominal"`` or ``"scale"``), term, estimate, std_error,
        p_value; ``shift``, what the exact maximum adds to the
        estimate, and ``std_error_shift``, what it adds to the standard error, each with its Monte Carlo standard error;
        and ``exact_p_value``, Wald's with both added.
    loglik_error, loglik_mc_error
        The exact log likelihood at the estimates less Laplace's, and its Monte Carlo standard error.
    draws
        Number of draws.
    effective_draws
        How many independent draws from the exact distribution of the random effects they are worth, at least.
    """

    table: pa.Table
    loglik_error: float
    loglik_mc_error: float
    draws: int
    effective_draws: float

    @property
    def sentences(self) -> tuple[str, ...]:
        """The same in words, one sentence per coefficient."""
        said = []
        if self.effective_draws < ENOUGH:
            said.append(
                f"The {self.draws} draws are worth {self.effective_draws:.0f} only, so these numbers are rough: "
                "take more draws, and see whether the fit has warnings."
            )
        for row in self.table.to_pylist():
            name = f"scale: {row['term']}" if row["effect"] == "scale" else row["term"]  # it may be in location, too
            if row["shift"] is None:
                said.append(f"{name}: the draws do not say where the exact maximum is.")
                continue
            moved, error = (row[name] / row["std_error"] for name in ("shift", "shift_mc_error"))
            wider = 100.0 * row["std_error_shift"] / row["std_error"]
            said.append(
                f"{name}: the exact likelihood has its maximum {abs(moved):.3f} standard errors (± {error:.3f}) "
                f"{'higher' if moved >= 0 else 'lower'}, the standard error is {abs(wider):.1f}% "
                f"{'larger' if wider >= 0 else 'smaller'}; {p_text(row['p_value'])} becomes "
                f"{p_text(row['exact_p_value'])}."
            )
        return tuple(said)

    def __str__(self) -> str:
        """Return the sentences."""
        return "\n".join(self.sentences)


def check_laplace(fit: Fit, draws: int = 2000, seed: int = 0) -> LaplaceCheck:
    """Return by how much the exact likelihood would move the coefficients; see :meth:`ordbridge.Fit.check_laplace`."""
    whole("draws", draws, 4)
    whole("seed", seed, 0)
    problem, e = fit.problem, fit.estimates
    if problem.model != "clmm":
        raise InputError(f"only clmm uses the Laplace approximation; {problem.model} has an exact likelihood")
    if problem.nAGQ != 1:
        raise InputError(
            f"this fit has {arg('nAGQ', problem.nAGQ)}, not the Laplace approximation, so there is nothing to check"
        )
    positions = [k for k, effect in enumerate(e.effects) if effect != "threshold"]
    cost = engine_module("fast").laplace_cost(problem, positions, draws // 2, seed)
    estimate, std_error = e.estimate[positions], e.std_error[positions]
    shift, shift_error, ratio, ratio_error = np.array(cost.shifts).reshape(-1, 4).T
    with np.errstate(invalid="ignore", divide="ignore"):
        statistic = (estimate + shift * std_error) / (ratio * std_error)
    table = {
        "estimate": estimate,
        "std_error": std_error,
        "p_value": e.p_value[positions],
        "shift": shift * std_error,
        "shift_mc_error": shift_error * std_error,
        "std_error_shift": (ratio - 1.0) * std_error,
        "std_error_shift_mc_error": ratio_error * std_error,
        "exact_p_value": np.array([erfc(abs(z) / sqrt(2.0)) for z in statistic]),
    }
    columns = {name: pa.array(values, from_pandas=True) for name, values in table.items()}
    labels = {"effect": [e.effects[k] for k in positions], "term": [e.terms[k] for k in positions]}
    return LaplaceCheck(
        pa.table({**labels, **columns}),
        cost.loglik,
        cost.loglik_error,
        2 * (draws // 2),
        2.0 * cost.effective,
    )
