"""What goes into an engine and what comes out: the small interface that every engine serves.

An engine is a module with two functions::

    fit(problem: Problem) -> Estimates
    matrices(problem: Problem, estimates: Estimates, newdata: Mapping[str, Column]) -> Matrices
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ordbridge.formula import Formula
from ordbridge.models.columns import Column

__all__ = ["Condition", "Estimates", "Matrices", "Problem", "RandomTerm"]


@dataclass(frozen=True, eq=False)
class Problem:
    """A checked model on checked data, ready for any engine.

    ``columns`` holds exactly the columns of the formula, all rows, missing values included; engines drop incomplete
    rows themselves, as R does, because a row may become incomplete only inside the formula (``log(x)``).
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

    @property
    def ordinal(self) -> bool:
        """Whether the response is a category (clm, clmm) and not a number (lm, lmer)."""
        return self.model in ("clm", "clmm")


class Condition(NamedTuple):
    """Something the engine had to say: in which stage, ``"warning"`` or ``"message"``, and its words."""

    stage: str
    kind: str
    text: str


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
    covariance matrix. Columns that R drops as aliased are named in ``dropped`` and appear nowhere else.
    """

    terms: tuple[str, ...]
    effects: tuple[str, ...]  # "threshold" or "fixed"
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
    sigma: float | None = None  # residual standard deviation (lm, lmer)
    max_gradient: float | None = None
    hessian_condition: float | None = None
    evaluations: int | None = None
    r_version: str | None = None
    conditions: tuple[Condition, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)  # an engine's own diagnostics, for tests and reports


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
