"""What goes into an engine and what comes out: the small interface that every engine serves.

An engine is a module with two functions::

    fit(problem: Problem) -> Estimates
    matrices(problem: Problem, estimates: Estimates, newdata: Mapping[str, Column]) -> Matrices
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ordbridge.formula import Formula, Summand, names, quote, written
from ordbridge.models.columns import Column
from ordbridge.models.kinds import KINDS
from ordbridge.results.finding import Finding


@dataclass(frozen=True, eq=False)
class Problem:
    """A checked model on checked data, ready for any engine.

    ``columns`` holds exactly the columns that the model needs, all rows, missing values included; engines drop
    incomplete rows themselves, as R does, because a row may become incomplete only inside the formula (``log(x)``).
    """

    model: str  # "clm", "clmm", "lm" or "lmer"
    formula: Formula
    columns: Mapping[str, Column]
    n_rows: int
    link: str | None = None
    threshold: str | None = None
    nAGQ: int | None = None
    REML: bool | None = None
    ddf: str | None = None
    timeout: float | None = None
    start: str | None = None  # "fast": R's optimiser starts at the fast engine's optimum
    scale: tuple[Summand, ...] = ()  # clm, clmm: terms of the logarithm of the residual spread
    nominal: tuple[Summand, ...] = ()  # clm, clmm: terms that move every threshold on its own
    weights: str | None = None  # clm, clmm: a column
    offset: str | None = None  # clm, clmm: a column

    @property
    def ordinal(self) -> bool:
        """Whether the response is a category (clm, clmm) and not a number (lm, lmer)."""
        return KINDS[self.model].ordinal

    @property
    def described(self) -> str:
        """The formula, with whatever of scale, nominal, weights and offset the model has."""
        parts = [f"{name} ~ {written(getattr(self, name))}" for name in ("scale", "nominal") if getattr(self, name)]
        parts += [f"{name} {quote(getattr(self, name))}" for name in ("weights", "offset") if getattr(self, name)]
        return "; ".join([str(self.formula), *parts])

    @property
    def predictors(self) -> tuple[str, ...]:
        """The columns of the fixed part, of scale and nominal effects, and of the offset: what a prediction needs."""
        summands = (*self.formula.fixed, *self.scale, *self.nominal)
        found = [name for summand in summands for name in names(summand.term)]
        return tuple(dict.fromkeys([*found, *([self.offset] if self.offset else [])]))


@dataclass(frozen=True, eq=False)
class RandomTerm:
    """The random effects of one term ``(terms | group)``."""

    group: str
    terms: tuple[str, ...]  # R's names of the q columns: "(Intercept)", "systemB"
    levels: tuple[str, ...]
    covariance: np.ndarray  # q × q
    modes: np.ndarray  # levels × q: conditional modes
    mode_sd: np.ndarray  # levels × q: their conditional standard deviations


@dataclass(frozen=True, eq=False)
class Estimates:
    """Everything an engine found out about a problem.

    The arrays run over thresholds first, then coefficients, in R's order and with R's names; ``vcov`` is their joint
    covariance matrix. Columns that R drops as aliased are named in ``dropped`` and appear nowhere else. A scale effect
    has the same name as the effect of the same column on location.
    """

    terms: tuple[str, ...]
    effects: tuple[str, ...]  # "threshold", "nominal", "fixed", "scale", in this order
    estimate: np.ndarray
    std_error: np.ndarray
    df: np.ndarray  # NaN for z tests
    statistic: np.ndarray
    p_value: np.ndarray
    vcov: np.ndarray
    random: tuple[RandomTerm, ...]
    rows: np.ndarray  # indices, from 0, of the rows that were used
    loglik: float
    edf: int
    converged: bool
    singular: bool
    package_version: str
    dropped: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()  # categories of an ordinal response
    cutpoints: np.ndarray = field(default_factory=lambda: np.empty(0))  # one fewer; from the thresholds' parameters
    cutpoint_shifts: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))  # nominal columns × cut-points
    sigma: float | None = None  # residual standard deviation (lm, lmer)
    theta: np.ndarray | None = (
        None  # lmer: relative Cholesky factors as lme4 orders them, where the fit has its optimum
    )
    max_gradient: float | None = None
    hessian_condition: float | None = None
    evaluations: int | None = None
    r_version: str | None = None
    findings: tuple[Finding, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)  # an engine's own diagnostics, for tests and reports

    def position(self, term: str, effect: str | None = None) -> int | None:
        """Return where a term is, None if nowhere; a scale effect only if it is asked for, because of its name."""
        for i, (own, kind) in enumerate(zip(self.terms, self.effects, strict=True)):
            if own == term and (kind == effect if effect else kind != "scale"):
                return i
        return None

    def having(self, effect: str) -> np.ndarray:
        """Mark the parameters with an effect."""
        return np.array([own == effect for own in self.effects], dtype=bool)


@dataclass(frozen=True, eq=False)
class Matrices:
    """The rows of a prediction: fixed-effect columns, and per random term its columns and the levels' positions.

    ``complete`` marks the rows without missing predictors; the others carry zeros and get no prediction. A level is
    −1 where the fit has never seen it (or it is missing): it then has the population's random effect, zero.
    """

    X: np.ndarray  # n × coefficients, in the order of the fixed terms of Estimates
    Z: tuple[np.ndarray, ...]  # per random term n × q
    level: tuple[np.ndarray, ...]  # per random term n
    complete: np.ndarray  # n booleans
    nominal: np.ndarray  # n × columns that move each threshold on its own
    scale: np.ndarray  # n × columns of the log residual spread
    offset: np.ndarray  # n
