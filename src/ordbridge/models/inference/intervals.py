"""Confidence intervals of thresholds, coefficients and standard deviations.

``wald``
    estimate ± quantile × standard error, as ``tidy()`` has it; there is none for standard deviations.
``profile``
    All values that a likelihood ratio test would not reject: with ℓ(v) the highest log likelihood with the number held
    at v, those with 2 (ℓ̂ − ℓ(v)) below the quantile of χ²(1). A standard deviation may have 0 as its lower end.
``bootstrap``
    Quantiles of the estimates in responses drawn from the fit (percentile intervals, Davison & Hinkley 1997, 5.3.1).

Profile and bootstrap come from native fits by maximum likelihood, as R's ``confint`` of an lmer fitted by REML does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ordbridge.errors import FitError
from ordbridge.models.engines import engine_module
from ordbridge.models.inference.hypothesis import on_rows
from ordbridge.models.inference.resampling import (
    FAILURES,
    DrawPlan,
    Source,
    by_likelihood,
    native,
    native_notes,
    percentiles,
    results,
    with_response,
)
from ordbridge.models.problem import Estimates
from ordbridge.results.finding import Finding, with_findings
from ordbridge.results.finding import found as noticed
from ordbridge.support.arguments import choice, proportion
from ordbridge.support.columns import columns
from ordbridge.support.naming import arg

if TYPE_CHECKING:
    from ordbridge.models.fit import Fit

METHODS = ("wald", "profile", "bootstrap")
Key = tuple[str, str | None, str | None]  # effect, group, term
COLUMNS = columns("effect group term: text; estimate conf_low conf_high: number; method engine: text")
BETTER = 1e-3  # log likelihood by which a held value may beat the optimum: rounding
STEPS = 40  # after which an end that has not come is infinitely far away


def confint(
    fit: Fit,
    method: str,
    conf_level: float,
    how: DrawPlan,
) -> pa.Table:
    """Return an interval for every parameter; see :meth:`ordbridge.Fit.confint`."""
    choice("method", method, METHODS)
    proportion("conf_level", conf_level)
    engine, notes = fit.engine, list[Finding]()
    if method == "wald":
        columns = ("effect", "term", "conf_low", "conf_high")
        rows = zip(*(fit.tidy(conf_level)[name].to_pylist() for name in columns), strict=True)
        ends: dict[Key, tuple[float, float]] = {(effect, None, term): (low, high) for effect, term, low, high in rows}
    else:
        engine = "fast"
        problem = by_likelihood(on_rows(fit.problem, fit.estimates.rows))
        found = native(arg("method", method), problem, instead="wald")
        notes += native_notes(fit, found)
        if method == "profile":
            ends = _profile_ends(engine_module("fast").profile(problem), conf_level, notes)
        else:
            work = Estimation(Source.of(problem, found, how.at_least(19).seed), tuple(_estimates(found)))
            drawn = np.array(list(results(work, how)))
            limits = zip(*percentiles(drawn, conf_level, notes), strict=True)
            ends = {key: (float(low), float(high)) for key, (low, high) in zip(work.keys, limits, strict=True)}
    rows_out = [
        dict(zip(COLUMNS, (*key, estimate, *map(_finite, ends[key]), method, engine), strict=True))
        for key, estimate in _estimates(fit.estimates).items()
        if key in ends
    ]
    table = pa.Table.from_pylist(rows_out, schema=pa.schema(COLUMNS))
    return with_findings(table, notes)


def _estimates(e: Estimates) -> dict[Key, float]:
    """Return everything that has an interval: thresholds, coefficients, standard deviations."""
    found: dict[Key, float] = {}
    for effect, term, value in zip(e.effects, e.terms, e.estimate, strict=True):
        found[effect, None, term] = float(value)
    for random in e.random:
        for term, variance in zip(random.terms, np.diag(random.covariance), strict=True):
            found["sd", random.group, term] = math.sqrt(variance)
    if e.sigma is not None:
        found["sd", "Residual", None] = e.sigma
    return found


def _profile_ends(profile: Any, conf_level: float, notes: list[Finding]) -> dict[Key, tuple[float, float]]:
    from scipy import stats

    limit = float(stats.norm.ppf(0.5 + conf_level / 2))
    ends: dict[Key, tuple[float, float]] = {}
    for k, one in enumerate(profile.quantities):
        low, high = (profile_end(profile, k, side, limit) for side in (-1, 1))
        ends[one.effect, one.group, one.term] = (low, high)
        if not (math.isfinite(low) and math.isfinite(high)):
            notes.append(noticed("no-end", term=one.term or one.group))
    return ends


def profile_end(profile: Any, k: int, side: int, limit: float) -> float:
    """Return where the signed root of the likelihood ratio reaches the limit; it is close to linear in the value."""
    from scipy.optimize import brentq

    one = profile.quantities[k]

    def root(value: float) -> float:
        ratio = 2.0 * (profile.loglik - profile.at(k, value))
        if ratio < -2.0 * BETTER:
            raise FitError(
                f"with {one.term or one.group} held at {value:.4g} the log likelihood is higher than that of the fit, "
                "which did not reach its optimum"
            )
        return math.sqrt(min(max(ratio, 0.0), 1e6)) - limit

    least = 0.0 if one.effect == "sd" else -math.inf
    if side < 0 and one.effect == "sd" and root(0.0) <= 0:
        return 0.0
    inside, distance = one.estimate, limit * one.step
    for _ in range(STEPS):
        value = max(one.estimate + side * distance, least)
        found = root(value)
        if found > 0:
            return float(brentq(root, inside, value, xtol=1e-7 * max(one.step, 1e-12), rtol=1e-10))
        inside = value
        distance *= min(max(1.1 * limit / max(found + limit, 1e-6), 1.1), 3.0)
    return side * math.inf


@dataclass(frozen=True, eq=False)
class Estimation:
    """Draws responses from a fitted model and fits it to them."""

    source: Source
    keys: tuple[Key, ...]

    @property
    def fingerprint(self) -> str:
        """What tells these draws from any other."""
        return self.source.fingerprint("estimates")

    def one(self, draw: int) -> list[float]:
        """Return the estimates of one draw; NaN where it could not be fitted, or lacks a category."""
        try:
            problem = with_response(self.source.problem, self.source.response(draw))
            found = _estimates(engine_module("fast").fit(problem))
        except FAILURES:
            found = {}
        return [found[key] for key in self.keys] if set(self.keys) <= found.keys() else [math.nan] * len(self.keys)


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value
