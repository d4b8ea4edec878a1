"""What an engine has found about a model: frozen, and as tables, the same whichever engine it was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ordbridge.errors import InputError
from ordbridge.models import fit_tables
from ordbridge.models import predict as prediction
from ordbridge.models.columns import Column
from ordbridge.models.engines import engine_module
from ordbridge.models.fit_factors import factor_table
from ordbridge.models.prepare import encode_new
from ordbridge.models.problem import Estimates, Matrices, Problem
from ordbridge.results.finding import Finding, found, worst_first
from ordbridge.support.arguments import choice
from ordbridge.support.naming import arg


@dataclass(frozen=True, eq=False, repr=False)
class Fitted:
    """What was found: tables, predictions and simulated responses; :class:`ordbridge.Fit` adds tests and intervals."""

    problem: Problem
    estimates: Estimates
    engine: str
    seconds: float

    def __repr__(self) -> str:
        """Say in one line what was fitted."""
        return f"<{self.problem.model} {self.problem.described}, {self.n_obs} ratings, engine {self.engine!r}>"

    @property
    def coef(self) -> dict[str, float]:
        """Thresholds and coefficients by their names in R; a scale effect has ``scale: `` before its name."""
        e = self.estimates
        names = [f"scale: {t}" if kind == "scale" else t for t, kind in zip(e.terms, e.effects, strict=True)]
        return dict(zip(names, map(float, e.estimate), strict=True))

    @property
    def loglik(self) -> float:
        """The log likelihood."""
        return float(self.estimates.loglik)

    @property
    def aic(self) -> float:
        """Akaike's information criterion."""
        return float(2.0 * self.estimates.edf - 2.0 * self.estimates.loglik)

    @property
    def bic(self) -> float:
        """The Bayesian information criterion."""
        return float(np.log(self.n_weighted) * self.estimates.edf - 2.0 * self.estimates.loglik)

    @property
    def n_obs(self) -> int:
        """Number of rows that were used."""
        return len(self.estimates.rows)

    @property
    def converged(self) -> bool:
        """Whether the optimiser and the Hessian report a proper optimum."""
        return self.estimates.converged

    @property
    def singular(self) -> bool:
        """Whether a variance is estimated at zero, or a correlation at ±1."""
        return self.estimates.singular

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What to know about the fit: whether it converged, what the engine said, and doubts about its tests."""
        said = [] if self.converged else [found("not-converged")]
        said += [found("fit-singular")] if self.singular and self.converged else []
        said += self.estimates.findings
        if dropped := self.problem.n_rows - self.n_obs:
            said.append(found("rows-dropped", n=dropped))
        if self.estimates.dropped:
            said.append(found("aliased", columns=", ".join(self.estimates.dropped)))
        return worst_first(said)

    def tidy(self, conf_level: float = 0.95) -> pa.Table:
        """Return thresholds and coefficients with their tests and Wald intervals, one row each.

        Parameters
        ----------
        conf_level
            Level of the intervals: normal quantiles where the test is a z test, Student's t with ``df`` elsewhere.

        Returns
        -------
        pyarrow.Table
            effect (``threshold``, ``nominal``, ``fixed``, ``scale``), term, estimate, std_error, statistic, df (null
            for z tests), p_value, conf_low, conf_high. As in R, a scale effect, on the logarithm of the residual
            spread, has the same term as the effect of that column on location.
        """
        return fit_tables.coefficients(self.estimates, conf_level)

    def p_value(self, term: str, effect: str | None = None) -> float:
        """Return the p-value of one term.

        A predictor that has a single coefficient may be named without its level: ``"system"`` for ``systemB``. A scale
        effect is found with ``effect="scale"``.
        """
        choice("effect", effect, (None, "threshold", "nominal", "fixed", "scale"))
        return float(self.estimates.p_value[fit_tables.place_of(self, term, effect)])

    def glance(self) -> pa.Table:
        """Return one row about the whole fit: size, likelihood, convergence, versions."""
        return fit_tables.one_row(self)

    @property
    def n_weighted(self) -> float:
        """Number of ratings as R counts them: the sum of the weights."""
        if self.problem.weights is None:
            return float(self.n_obs)
        return float(self.problem.columns[self.problem.weights].values[self.estimates.rows].sum())

    def factors(self) -> pa.Table:
        """Return the factors of the fixed part, their levels in order, and the reference that others are set against.

        Text has its values sorted by code point, a categorical keeps its order. An ordered factor, which R codes by
        polynomials, has no reference, and neither has a factor with a coefficient for every level.

        Returns
        -------
        pyarrow.Table
            factor, levels, ordered, reference.
        """
        return factor_table(self)

    def varcorr(self) -> pa.Table:
        """Return standard deviations, variances and correlations of the random effects.

        ``correlations`` holds, as in R's print, those with the terms above in the same group. The residual of a linear
        model is the row with group ``Residual``.
        """
        return fit_tables.variances(self.estimates)

    def ranef(self) -> pa.Table:
        """Return the conditional modes of the random effects with their conditional standard deviations."""
        return fit_tables.modes(self.estimates)

    def predict(self, newdata: Any = None, kind: str = "conditional") -> pa.Table:
        """Return the probability of every category (clm, clmm) or the mean (lm, lmer) for each row.

        Parameters
        ----------
        newdata
            Rows to predict, in any form of table; ``None`` for the rows of the fit.
        kind
            ``"conditional"`` on the estimated random effects of each row's participant, item, …, where levels that
            the fit has never seen have the population's; ``"population"`` with all random effects at zero; or
            ``"marginal"``: averaged over random effects of new participants, items, ….

        Returns
        -------
        pyarrow.Table
            One column per category, named by it, or the column ``mean``; null where a predictor is missing.
        """
        choice("kind", kind, prediction.KINDS)
        matrices = self.matrices() if newdata is None else self.matrices(encode_new(self.problem, newdata, kind))
        return prediction.table(self.problem, self.estimates, matrices, kind)

    def simulate(self, n: int = 1, seed: int = 0) -> pa.Table:
        """Return new responses from the fitted model on the same rows, with new random effects in every draw.

        Parameters
        ----------
        n
            Number of draws; they are the columns ``sim_1``, ``sim_2``, ….
        seed
            The same seed gives the same responses.
        """
        if not isinstance(n, int) or n < 1:
            raise InputError(f"{arg('n', n)} is not a number of simulations from 1 on")
        return prediction.simulated(self.problem, self.estimates, self.matrices(), n, seed)

    def matrices(self, newdata: Mapping[str, Column] | None = None) -> Matrices:
        """Return the model matrices of encoded new rows, or of the rows that were used."""
        engine = engine_module(self.engine)
        if newdata is None:
            rows = self.estimates.rows
            newdata = {name: column.take(rows) for name, column in self.problem.columns.items()}
        matrices: Matrices = engine.matrices(self.problem, self.estimates, newdata)
        return matrices

    def summary(self) -> str:
        """Return the fit as text, in the manner of R's ``summary``."""
        from ordbridge.models.summary import text

        return text(self)
