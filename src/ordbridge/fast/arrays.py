"""Fits on plain arrays, for many datasets on one design: prepare once, fit every response."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ordbridge.errors import InputError
from ordbridge.fast import thresholds
from ordbridge.fast.flags import clm_conditions, clmm_conditions, lmer_conditions
from ordbridge.fast.matrix import rank_kept

__all__ = ["ArrayFit", "Prepared", "prepare"]


class ArrayFit(NamedTuple):
    """Coefficients of the columns of X (without thresholds or intercept) and how the fit went."""

    estimate: np.ndarray
    std_error: np.ndarray
    statistic: np.ndarray
    df: np.ndarray
    p_value: np.ndarray
    loglik: float
    converged: bool
    singular: bool


@dataclass(frozen=True, eq=False)
class Prepared:
    """A design made ready by :func:`prepare`."""

    model: str
    X: np.ndarray
    structure: Any
    layout: Any
    link: str
    threshold: str
    REML: bool

    def fit(self, y: np.ndarray, timeout: float | None = None) -> ArrayFit:
        """Fit the model to one response, given in the order of the rows of X."""
        if self.model in ("clm", "clmm"):
            return self._fit_ordinal(y, timeout)
        return self._fit_linear(np.asarray(y, dtype=float), timeout)

    def _fit_ordinal(self, y: np.ndarray, timeout: float | None) -> ArrayFit:
        used, codes = np.unique(y, return_inverse=True)
        cuts = used.size - 1
        if cuts < 1:
            raise InputError(f"all responses are {used[0]}; two or more categories are needed")
        jacobian = thresholds.jacobian(cuts, self.threshold)
        if self.model == "clm":
            from ordbridge.fast.clm import fit_clm

            plain = fit_clm(codes, self.X, cuts, self.link, self.threshold)
            _, vcov, converged = clm_conditions(plain, self.X, jacobian)
            parameters, loglik, singular = plain.parameters, plain.loglik, False
        else:
            from ordbridge.fast.clmm import fit_clmm

            mixed = fit_clmm(codes, self.X, self.structure, self.layout, cuts, self.link, self.threshold, timeout)
            n_mean = mixed.parameters.size - self.layout.factor.size
            _, vcov, converged, singular = clmm_conditions(mixed, self.X, jacobian)
            parameters, loglik = mixed.parameters[:n_mean], mixed.loglik
        own = slice(parameters.size - self.X.shape[1], None)
        return _answer(parameters[own], vcov[own, own], None, loglik, converged, singular)

    def _fit_linear(self, y: np.ndarray, timeout: float | None) -> ArrayFit:
        own = slice(1, None)
        if self.model == "lm":
            from ordbridge.fast.lm import fit_lm

            beta, vcov, _, loglik = fit_lm(y, self.X)
            df = np.full(beta.size, float(y.size - beta.size))
            return _answer(beta[own], vcov[own, own], df[own], loglik, True, False)
        from ordbridge.fast.lmer import fit_lmer

        found = fit_lmer(y, self.X, self.structure, self.layout, self.REML, timeout)
        _, converged = lmer_conditions(found)
        return _answer(found.beta[own], found.vcov[own, own], found.df[own], found.loglik, converged, found.singular)


def prepare(
    model: str,
    X: np.ndarray,
    groups: Sequence[np.ndarray] = (),
    Z: Sequence[np.ndarray] = (),
    *,
    link: str = "logit",
    threshold: str = "flexible",
    REML: bool = True,
) -> Prepared:
    """Make a design ready for many responses.

    Parameters
    ----------
    model
        ``"clm"``, ``"clmm"``, ``"lm"`` or ``"lmer"``.
    X
        Columns of the fixed effects, without an intercept: thresholds stand for it, or it is added.
    groups
        For mixed models one or two arrays with each row's group, any values.
    Z
        For every grouping factor the columns of its random effects, the intercept among them.
    link, threshold, REML
        As for :func:`ordbridge.clmm` and :func:`ordbridge.lmer`.

    Examples
    --------
    >>> rater, system = np.repeat(np.arange(6), 4), np.tile([0.0, 1.0], 12)
    >>> ready = prepare("lmer", system[:, None], [rater], [np.ones((24, 1))])
    >>> ready.fit(np.arange(24) % 5 + system + 4 * (rater % 2)).df.round(3).tolist()
    [17.0]
    """
    X = np.ascontiguousarray(X, dtype=float)
    if model not in ("clm", "clmm", "lm", "lmer"):
        raise InputError(f"there is no model {model!r}; choose clm, clmm, lm or lmer")
    if not np.isfinite(X).all():
        raise InputError("X holds values that are missing or infinite")
    whole = np.column_stack([np.ones(X.shape[0]), X])
    if rank_kept(whole).size < whole.shape[1]:
        raise InputError("the columns of X and an intercept are linearly dependent; leave some out")
    structure = layout = None
    if model in ("clmm", "lmer"):
        structure, layout = _crossed(groups, Z, X.shape[0])
    return Prepared(
        model, X if model in ("clm", "clmm") else whole, structure, layout, link=link, threshold=threshold, REML=REML
    )


def _crossed(groups: Sequence[np.ndarray], Z: Sequence[np.ndarray], n: int) -> tuple[Any, Any]:
    from ordbridge.fast.factors import Layout
    from ordbridge.fast.structure import Structure

    if len(groups) not in (1, 2) or len(Z) != len(groups):
        raise InputError(
            f"{len(groups)} grouping factors and {len(Z)} matrices Z; give one or two of both, or use engine='ordinal'"
        )
    if any(len(part) != n for part in (*groups, *Z)):
        raise InputError(f"groups and Z need {n} rows, as X has")
    codes = [np.unique(group, return_inverse=True)[1] for group in groups]
    columns = [np.asarray(z, dtype=float).reshape(n, -1) for z in Z]
    structure = Structure.build(codes, columns)
    return structure, Layout.build(structure, [(z.shape[1],) for z in columns])


def _answer(
    estimate: np.ndarray,
    vcov: np.ndarray,
    df: np.ndarray | None,
    loglik: float,
    converged: bool,
    singular: bool,
) -> ArrayFit:
    from scipy.special import ndtr, stdtr

    with np.errstate(invalid="ignore", divide="ignore"):
        std_error = np.sqrt(np.diag(vcov))
        statistic = estimate / std_error
    tail = ndtr(-np.abs(statistic)) if df is None else stdtr(df, -np.abs(statistic))
    freedom = np.full(estimate.size, np.nan) if df is None else df
    return ArrayFit(estimate, std_error, statistic, freedom, 2.0 * tail, loglik, converged, singular)
