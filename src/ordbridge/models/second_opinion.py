"""Where R's numbers for a mixed model may be wrong: the native engine fits the same likelihood and is compared.

Two things happen to R's searches. They end below the optimum, where variances are at zero or several optima compete;
and ``ordinal::clmm`` takes its second derivatives from differences with the fixed step 1e-4 in every coefficient, which
fail for a column that lies far from zero compared with its spread (a year), is very small or large, and where the
likelihood is not smooth. R's numbers are returned as they are; the fit says what the native engine finds instead. It
gets as much time as R has taken, which it hardly ever needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ordbridge.errors import FitError, InputError
from ordbridge.models.engines import engine_module
from ordbridge.models.problem import Estimates, Problem
from ordbridge.results.finding import Finding, found

STOPPED_SHORT = "r-stopped-short"
"""Code of the condition that R's search ended below the optimum."""

WORSE = 0.01  # in log likelihood: beyond what a search leaves that stops early
DIFFERENT = 0.01  # standard errors, relative


def second_opinion(problem: Problem, r: Estimates, seconds: float, columns: Sequence[str] = ()) -> tuple[Finding, ...]:
    """Return a warning where the native engine finds a better optimum, or other standard errors at the same one."""
    if not r.converged and not columns:
        return ()  # which is said anyway
    which = ", ".join(columns)
    try:
        native = engine_module("fast").fit(replace(problem, timeout=1.0 + seconds, start=None))
    except (InputError, FitError) as refusal:
        if not columns:
            return ()
        return (found("r-standard-error-unchecked", columns=which, reason=str(refusal)),)
    if not native.converged or native.terms != r.terms or native.loglik < r.loglik - WORSE:
        return ()
    if native.loglik > r.loglik + WORSE:
        return (_stopped_short(r, native),)
    if problem.model != "clmm":
        return ()
    worst = _worst(r.std_error, native.std_error, r)
    if worst is None:
        return ()
    ours, theirs, term = native.std_error[worst], r.std_error[worst], r.terms[worst]
    cause = (
        f"The scale of {which} is the cause: subtract the mean and divide by the standard deviation."
        if columns
        else "The differences from which R computes it fail on this likelihood: use the native engine."
    )
    return (found("r-standard-error", term=term, theirs=float(theirs), ours=float(ours), cause=cause),)


def _stopped_short(r: Estimates, native: Estimates) -> Finding:
    term, which = _worst(r.p_value, native.p_value, r), ""
    if term is not None:
        which = f" (p of {r.terms[term]} {r.p_value[term]:.3g} here, {native.p_value[term]:.3g} there)"
    return found(STOPPED_SHORT, loglik=float(r.loglik), better=float(native.loglik), which=which)


def _worst(theirs: np.ndarray, ours: np.ndarray, r: Estimates) -> int | None:
    """Return the coefficient whose two values differ most, None if none differs by more than 1%."""
    asked = zip(r.effects, r.terms, strict=True)
    fixed = np.array([effect == "fixed" and term != "(Intercept)" for effect, term in asked])
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = np.abs(np.log(theirs / ours))
    apart = np.where(fixed, np.nan_to_num(apart, nan=np.inf, posinf=np.inf), 0.0)
    worst = int(np.argmax(apart)) if apart.size else 0
    return worst if apart.size and apart[worst] >= DIFFERENT else None
