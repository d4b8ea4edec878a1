"""Fits that a comparison can rest on: R's where they can be trusted, native ones where R's search fell short."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from ordbridge.comparison.points import Fitter
from ordbridge.errors import ConvergenceWarning, FitError, FitTimeout, InputError
from ordbridge.models import api
from ordbridge.models.fit import Fit
from ordbridge.models.kinds import KINDS
from ordbridge.models.second_opinion import STOPPED_SHORT
from ordbridge.results.finding import Finding, has
from ordbridge.results.finding import found as noticed

PER_PARAMETER = 2  # ratings, at least


def native_instead(fit: Fit) -> bool:
    """Tell whether R's search ended below the optimum, so that the native fit takes its place."""
    return has(fit.estimates.findings, STOPPED_SHORT)


def linear_fitter(engine: str, timeout: float | None, notes: list[Finding]) -> Fitter:
    """Return what fits linear models with an engine, and notes where the native engine took R's place."""

    def fitted(model: str, formula: str, table: pa.Table) -> Fit:
        fit = _fit(model, formula, table, {"engine": engine, "timeout": timeout})
        if engine == "r" and (native_instead(fit) or not fit.converged):
            fit = _fit(model, formula, table, {"engine": "fast", "timeout": timeout})
            notes.append(noticed("native-linear-fit"))
        if not fit.converged:
            raise FitError(f"{formula} did not converge")
        return fit

    return fitted


def _fit(model: str, formula: str, table: pa.Table, options: dict[str, Any]) -> Fit:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found: Fit = getattr(api, model)(formula, table, **options)
        return found


def first_to_trust(
    model: str,
    formulas: Sequence[str],
    data: pa.Table,
    *,
    engine: str,
    link: str,
    timeout: float | None,
    separated: bool = False,
) -> tuple[Fit, list[Finding]]:
    """Fit the first formula that can be fitted; return what happened on the way."""
    options: dict[str, Any] = {"engine": engine, "timeout": timeout}
    if KINDS[model].ordinal:
        options["link"] = link
    notes: list[Finding] = []
    for formula in formulas:
        fit, problem, said = _try(model, formula, data, options, separated)
        notes += said
        if fit is not None:
            return fit, notes
        notes.append(noticed("model-given-up", formula=formula, problem=problem))
    raise FitError(
        f"no model could be fitted that can be trusted: {'; '.join(one.what for one in notes)}. "
        "Look for a system, participant or category with hardly any rating, merge rare categories, or try another "
        "model (lmer, or clm without random effects)"
    )


def _try(
    model: str, formula: str, data: pa.Table, options: dict[str, Any], separated: bool
) -> tuple[Fit | None, str, list[Finding]]:
    """Return a fit that can be trusted, or what is wrong with it, and what to say of a good one."""
    starts: list[dict[str, Any]] = [{}]
    if model == "clmm" and options["engine"] == "r":
        starts = [{"start": "fast"}, {}]
    problem = "could not be fitted"
    for start in starts:
        try:
            fit = _fit(model, formula, data, options | start)
        except FitTimeout:
            raise
        except FitError as failure:
            problem = f"could not be fitted ({failure})"
            continue
        except InputError as refusal:
            if not start:
                raise
            problem = f"could not be fitted ({refusal})"
            continue
        short = native_instead(fit)
        if short:
            fit = _fit(model, formula, data, options | {"engine": "fast"})
        if fit.n_obs < PER_PARAMETER * fit.estimates.edf:
            return None, f"has {fit.estimates.edf} parameters for {fit.n_obs} ratings, which are too few", []
        if fit.converged or separated:
            said = [noticed("started-natively")] if start else []
            said += [noticed("native-fit")] if short else []
            return fit, "", said
        words = "; ".join(one.what for one in fit.estimates.findings if one.severity == "warning")
        problem = f"did not converge ({words})" if words else "did not converge"
    return None, problem, []
