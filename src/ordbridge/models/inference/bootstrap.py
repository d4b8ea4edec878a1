"""The parametric bootstrap of the likelihood ratio: its distribution is simulated, not taken from large-sample theory.

Responses are drawn from the fitted smaller model, with new random effects, both models are fitted to each, and

    p = (k + 1) / (n + 1)

where k of the n draws have a likelihood ratio as large as the observed one (Davison & Hinkley 1997, section 4.2.5). All
fits are native, those of the data included, so that every ratio comes from the same optimiser.

Draws end early as soon as p can no longer fall to .1, even if no later draw were as large as the observed one: when
k ≥ .1 (draws + 1) of them are. What is decided at a level of .1 or below is decided as by all draws (the rule is one of
Besag & Clifford 1991).

Bartlett's correction takes only the mean of the draws: the ratio over its mean per degree of freedom is nearer to χ²
than the ratio itself. It needs fewer draws, and its p-value may be as small as the data make it, which counts when many
comparisons are corrected for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ordbridge.errors import FitError
from ordbridge.models.engines import engine_module
from ordbridge.models.inference.hypothesis import Hypothesis, on_rows
from ordbridge.models.inference.resampling import (
    FAILURES,
    DrawPlan,
    Source,
    by_likelihood,
    native,
    native_notes,
    results,
    with_response,
)
from ordbridge.models.problem import Estimates, Problem
from ordbridge.results.finding import Finding
from ordbridge.results.finding import found as noticed

if TYPE_CHECKING:
    from ordbridge.models.fit import Fit

HIGH = 0.1  # a p-value above it need not be known more exactly
SAME = 1e-6  # ratios closer than this are equal: what differs is rounding
BELOW = 1e-3  # by how much a larger model may end below a smaller one


def test(fit: Fit, tested: Hypothesis, how: DrawPlan) -> dict[str, object]:
    """Return statistic, p-value, its Monte Carlo error, and how many draws there were and could not be fitted.

    References
    ----------
    Davison, A. C. & Hinkley, D. V. (1997). Bootstrap methods and their application. Cambridge.
    Halekoh, U. & Højsgaard, S. (2014). A Kenward-Roger approximation and parametric bootstrap methods for tests in
    linear mixed models: the R package pbkrtest. Journal of Statistical Software 59(9).
    Besag, J. & Clifford, P. (1991). Sequential Monte Carlo p-values. Biometrika 78, 301–304.
    """
    draws = how.at_least(1).draws
    comparison, observed, notes = prepare(fit, tested, how.seed)
    statistics: list[float] = []
    exceeding = 0
    for (value,) in results(comparison, how):
        statistics.append(value)
        exceeding += value >= observed - SAME
        if exceeding >= HIGH * (draws + 1):
            break
    return _result(observed, tested.df, np.array(statistics)) | {"notes": (*notes, *_said(statistics, draws))}


def bartlett(fit: Fit, tested: Hypothesis, how: DrawPlan) -> dict[str, object]:
    """Return the corrected ratio, its p-value against χ² with the error that comes from the draws, and their number.

    References
    ----------
    Bartlett, M. S. (1937). Properties of sufficiency and statistical tests. Proceedings of the Royal Society A 160.
    Halekoh, U. & Højsgaard, S. (2014). A Kenward-Roger approximation and parametric bootstrap methods for tests in
    linear mixed models: the R package pbkrtest. Journal of Statistical Software 59(9), section 5.
    """
    comparison, observed, notes = prepare(fit, tested, how.at_least(19).seed)
    ratios = np.array([value for (value,) in results(comparison, how)])
    return corrected(observed, tested.df, ratios) | {"notes": (*notes, *_said(list(ratios), how.draws))}


def corrected(observed: float, df: int, ratios: np.ndarray) -> dict[str, object]:
    """Return the ratio over its mean in the draws per degree of freedom, with its p-value.

    Examples
    --------
    >>> found = corrected(6.0, 1, np.array([1.0, 2.0, np.nan]))
    >>> found["statistic"], found["failed"]
    (4.0, 1)
    """
    from scipy import stats

    known = ratios[~np.isnan(ratios)]
    if known.size < 2 or known.mean() == 0:
        raise FitError(
            f"{ratios.size - known.size} of {ratios.size} draws could not be fitted, too many for a bootstrap"
        )
    value = float(observed * df / known.mean())
    relative = known.std(ddof=1) / known.mean() / math.sqrt(known.size)
    return {
        "statistic": value,
        "df": df,
        "p_value": float(stats.chi2.sf(value, df)),
        "mc_error": float(stats.chi2.pdf(value, df) * value * relative) if value else 0.0,
        "draws": ratios.size,
        "failed": ratios.size - known.size,
        "engine": "fast",
    }


def larger_of(fit: Fit) -> tuple[Problem, Estimates]:
    """Return the problem of a fit and its native fit by maximum likelihood."""
    full = by_likelihood(on_rows(fit.problem, fit.estimates.rows))
    return full, native("the bootstrap", full, instead="lrt")


def prepare(
    fit: Fit, tested: Hypothesis, seed: int, given: tuple[Problem, Estimates] | None = None
) -> tuple[LikelihoodRatios, float, tuple[Finding, ...]]:
    """Fit both models natively by maximum likelihood; return what compares them on draws, and the observed ratio.

    ``given`` is what :func:`larger_of` returns, where many hypotheses of the same fit are tested.
    """
    full, larger = given or larger_of(fit)
    null = by_likelihood(tested.null)
    smaller = native("the bootstrap", null, instead="lrt", near=larger)
    lost = smaller.loglik - larger.loglik
    if lost > BELOW:
        raise FitError(
            f"the model ended with a log likelihood {lost:.3g} below that of the smaller one, {null.formula}. It did "
            "not reach its optimum, and there is nothing to compare"
        )
    notes = native_notes(fit, larger)
    if not (smaller.converged and larger.converged):
        notes.append(noticed("native-not-converged"))
    return LikelihoodRatios(Source.of(null, smaller, seed), full), max(0.0, -2.0 * lost), tuple(notes)


def p_value(observed: float, statistics: np.ndarray) -> float:
    """Return (k + 1)/(n + 1) over the draws that could be fitted.

    Examples
    --------
    >>> p_value(3.0, np.array([1.0, 4.0, 0.2, np.nan]))
    0.5
    """
    known = statistics[~np.isnan(statistics)]
    return (int((known >= observed - SAME).sum()) + 1) / (known.size + 1)


@dataclass(frozen=True, eq=False)
class LikelihoodRatios:
    """Draws responses from a fitted smaller model and compares both models on them."""

    null: Source
    full: Problem

    @property
    def fingerprint(self) -> str:
        """What tells the draws of this test from those of any other."""
        return self.null.fingerprint("likelihood ratio", self.full.described)

    def one(self, draw: int) -> list[float]:
        """Return the likelihood ratio of one draw; NaN if a model could not be fitted to it."""
        native = engine_module("fast")
        try:
            response = self.null.response(draw)
            models = (self.null.problem, self.full)
            near = self.null.estimates  # from which the draw is
            smaller, larger = (native.loglik(with_response(model, response), near) for model in models)
        except FAILURES:  # such as a draw in which all ratings are the same
            return [math.nan]
        ratio = 2.0 * (larger - smaller)
        return [max(0.0, ratio) if ratio > -2.0 * BELOW else math.nan]


def _result(observed: float, df: int, statistics: np.ndarray) -> dict[str, object]:
    failed = int(np.isnan(statistics).sum())
    n = statistics.size - failed
    p = p_value(observed, statistics)
    error = math.sqrt(p * (1 - p) / n) if n else math.nan
    return {
        "statistic": observed,
        "df": df,
        "p_value": p if n else math.nan,
        "mc_error": error,
        "draws": statistics.size,
        "failed": failed,
        "engine": "fast",
    }


def _said(statistics: list[float], draws: int) -> list[Finding]:
    notes = []
    if len(statistics) < draws:
        notes.append(noticed("stopped-early", done=len(statistics), draws=draws, level=HIGH))
    if failed := int(np.isnan(statistics).sum()):
        notes.append(noticed("draws-failed", failed=failed, draws=len(statistics)))
    return notes
