"""A fitted model as the truth of the next study."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from ordbridge.errors import InputError, StatisticalWarning
from ordbridge.formula import names, quote
from ordbridge.simulate.truth import Truth
from ordbridge.support.naming import arg

if TYPE_CHECKING:
    from ordbridge.models.fit import Fit

NUDGE = 1e-4
"""How far a singular correlation matrix is moved towards independence, so that it has an inverse."""


def truth_from_fit(fit: Fit, participant: str, item: str) -> Truth:
    """Return the estimates of ``fit`` as a truth; see :meth:`ordbridge.simulate.Truth.from_fit`."""
    _refuse(fit)
    fixed = {row["term"]: row["estimate"] for row in fit.tidy().to_pylist() if row["effect"] == "fixed"}
    intercept = fixed.pop("(Intercept)", 0.0)
    recode = _recoding(fit, list(fixed))
    log_spread = recode @ [0.0, *_log_spread(fit, list(fixed))]
    unit = np.exp(log_spread[0])  # the first system's residual, which a truth measures everything by
    intercept, *effects = recode @ [intercept, *fixed.values()]
    groups = {row["group"] for row in fit.varcorr().to_pylist()} - {"Residual"}
    if extra := sorted(groups - {participant, item}):
        raise InputError(
            f"the fit has the grouping factor {extra[0]!r}, which is neither {participant!r} nor {item!r}; name those "
            f"for raters and items with {arg('participant')} and {arg('item')}"
        )
    deviations: dict[str, Any] = {}
    for role, group in (("participant", participant), ("item", item)):
        covariance = recode @ _covariance(fit, group, list(fixed)) @ recode.T / unit**2
        deviations[f"{role}_sd"], deviations[f"{role}_corr"] = _split(covariance, group)
    if fit.problem.ordinal:
        return Truth(
            effects=tuple(np.array(effects) / unit),
            thresholds=tuple((fit.estimates.cutpoints - intercept) / unit),
            link=str(fit.problem.link),
            residual_spread=tuple(np.exp(log_spread[1:])),
            **deviations,
        )
    (residual,) = (row["sd"] for row in fit.varcorr().to_pylist() if row["group"] == "Residual")
    return Truth(effects=tuple(effects), scale="interval", mean=intercept, residual_sd=residual, **deviations)


def _refuse(fit: Fit) -> None:
    """Refuse what a truth cannot say."""
    if fit.problem.nominal:
        raise InputError("a truth has the same thresholds for every system; fit the model without nominal effects")
    if fit.problem.offset is not None:
        raise InputError("a truth has no offset; fit the model without it")


def _log_spread(fit: Fit, terms: list[str]) -> list[float]:
    """Return the scale effect of each coefficient of the system, 0 where the model has none."""
    found = {row["term"]: row["estimate"] for row in fit.tidy().to_pylist() if row["effect"] == "scale"}
    if extra := [term for term in found if term not in terms]:
        raise InputError(f"the scale effect {extra[0]!r} is not one of the system; fit the model without it")
    return [found.get(term, 0.0) for term in terms]


def _recoding(fit: Fit, terms: list[str]) -> np.ndarray:
    """Return the matrix that turns the fit's intercept and coefficients into those of a 0/1 coding.

    For a factor with treatment contrasts that is the identity. A numeric predictor with the values ``low`` and ``high``
    is ``low + (high - low) x`` with ``x`` 0 or 1: the intercept becomes ``b0 + low b1``, the slope ``(high - low) b1``.
    """
    predictors = sorted({name for summand in fit.problem.formula.fixed for name in names(summand.term)})
    if len(predictors) != 1:
        raise InputError(
            "a truth has no predictors but the system; fit a model with exactly one fixed effect "
            f"(this one has: {', '.join(predictors) or 'none'})"
        )
    column, name = fit.problem.columns[predictors[0]], quote(predictors[0])
    labels = {"factor": column.levels[1:], "logical": ("TRUE",), "numeric": ("",)}[column.kind]
    if terms != [name + label for label in labels]:
        raise InputError(
            f"the coefficients {', '.join(terms)} are not differences from a first system; "
            f"fit {predictors[0]} as a factor with treatment contrasts, or as a number with two values"
        )
    if column.kind != "numeric":
        return np.eye(len(terms) + 1)
    values = np.unique(column.values[fit.estimates.rows])
    if len(values) != 2:
        raise InputError(
            f"{predictors[0]} is a number with {len(values)} values, so its coefficient is a trend and not an effect. "
            "Turn it into text and fit it as a factor"
        )
    low, high = values
    return np.array([[1.0, low], [0.0, high - low]])


def _covariance(fit: Fit, group: str, slopes: list[str]) -> np.ndarray:
    """Return the covariance of intercept and slopes of one grouping factor; what the model lacks is zero."""
    order = ["(Intercept)", *slopes]
    covariance = np.zeros((len(order), len(order)))
    block: list[tuple[int, float]] = []
    for row in fit.varcorr().to_pylist():
        if row["group"] != group:
            continue
        if row["term"] not in order:
            raise InputError(
                f"the random effect {row['term']!r} of {group} is neither an intercept nor a slope of a fixed effect; "
                f"fit (1 + {' + '.join(slopes)} | {group}) or (1 | {group})"
            )
        # An empty list of correlations opens a new block: uncorrelated terms of one group come as several.
        block = block[: len(row["correlations"])]
        here = order.index(row["term"])
        covariance[here, here] = row["variance"]
        for (there, sd), corr in zip(block, row["correlations"], strict=True):
            covariance[here, there] = covariance[there, here] = (corr or 0.0) * sd * row["sd"]
        block.append((here, row["sd"]))
    return covariance


def _split(covariance: np.ndarray, group: str) -> tuple[tuple[float, ...], float | tuple[tuple[float, ...], ...]]:
    """Return standard deviations and correlations, the latter one number if there is one slope."""
    sd = np.sqrt(np.diag(covariance))
    scale = np.where(sd > 0, sd, 1.0)
    corr = covariance / np.outer(scale, scale)
    np.fill_diagonal(corr, 1.0)
    if np.linalg.eigvalsh(corr).min() < NUDGE / 10:
        warnings.warn(
            f"the random effects of {group} are perfectly correlated in this fit (singular); "
            f"the truth has their correlations reduced by {NUDGE:g}",
            StatisticalWarning,
            stacklevel=4,
        )
        corr = (1 - NUDGE) * corr + NUDGE * np.eye(len(corr))
    corr = (corr + corr.T) / 2
    np.fill_diagonal(corr, 1.0)
    if len(sd) == 2:
        return tuple(map(float, sd)), float(corr[0, 1])
    return tuple(map(float, sd)), tuple(tuple(map(float, row)) for row in corr)
