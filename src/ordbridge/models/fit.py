"""The fitted model: frozen, made of tables, the same whichever engine made it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa

from ordbridge.errors import InputError
from ordbridge.formula import quote
from ordbridge.models import predict as prediction
from ordbridge.models.prepare import choice, encode_new
from ordbridge.models.problem import Estimates, Matrices, Problem

__all__ = ["ENGINES", "Fit", "anova", "engine_module"]

ENGINES = ("ordinal", "fast")
ADJUSTMENTS = ("holm", "tukey", "bonferroni", "sidak", "fdr", "none")


def engine_module(engine: str) -> ModuleType:
    """Return the module that fits: ``"ordinal"`` is R, ``"fast"`` the native engine."""
    if choice("engine", engine, ENGINES) == "fast":
        from ordbridge import fast

        return fast
    from ordbridge.models import r_engine

    return r_engine


@dataclass(frozen=True, eq=False, repr=False)
class Fit:
    """A fitted clm, clmm, lm or lmer; see the methods for its tables, all of them :class:`pyarrow.Table`.

    Attributes
    ----------
    problem
        The model, its formula, options and data.
    estimates
        Everything the engine returned, as arrays.
    engine
        ``"ordinal"`` (R) or ``"fast"``.
    seconds
        How long the fit took.
    """

    problem: Problem
    estimates: Estimates
    engine: str
    seconds: float

    def __repr__(self) -> str:
        """Say in a line what was fitted."""
        return f"<{self.problem.model} {self.problem.formula}, {self.n_obs} ratings, engine {self.engine!r}>"

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
    def conditions(self) -> pa.Table:
        """What the engine had to say: stage, kind (``warning`` or ``message``) and text."""
        kinds = [("stage", pa.string()), ("kind", pa.string()), ("text", pa.string())]
        rows = [dict(condition._asdict()) for condition in self.estimates.conditions]
        return pa.Table.from_pylist(rows, schema=pa.schema(kinds))

    def tidy(self, conf_level: float = 0.95) -> pa.Table:
        """Return thresholds and coefficients with their tests and Wald intervals, one row each.

        Parameters
        ----------
        conf_level
            Level of the intervals: normal quantiles where the test is a z test, Student's t with ``df`` elsewhere.

        Returns
        -------
        pyarrow.Table
            effect, term, estimate, std_error, statistic, df (null for z tests), p_value, conf_low, conf_high.
        """
        from scipy import stats

        if not 0 < conf_level < 1:
            raise InputError(f"conf_level={conf_level!r} is not between 0 and 1")
        e = self.estimates
        upper = 0.5 + conf_level / 2
        z = np.isnan(e.df)
        quantile = np.where(z, stats.norm.ppf(upper), stats.t.ppf(upper, np.where(z, 1.0, e.df)))
        return pa.table(
            {
                "effect": pa.array(e.effects, pa.string()),
                "term": pa.array(e.terms, pa.string()),
                "estimate": _floats(e.estimate),
                "std_error": _floats(e.std_error),
                "statistic": _floats(e.statistic),
                "df": _floats(e.df),
                "p_value": _floats(e.p_value),
                "conf_low": _floats(e.estimate - quantile * e.std_error),
                "conf_high": _floats(e.estimate + quantile * e.std_error),
            }
        )

    def p_value(self, term: str) -> float:
        """Return the p-value of one term.

        A predictor that has a single coefficient may be named without its level: ``"system"`` for ``systemB``.
        """
        return float(self.estimates.p_value[self._position(term)])

    def _position(self, term: str) -> int:
        terms = self.estimates.terms
        for name in (term, quote(term)):
            if name in terms:
                return terms.index(name)
        column = self.problem.columns.get(term)
        if column is not None:
            labels = column.levels if column.kind == "factor" else ("TRUE",)
            wanted = {prefix + label for prefix in (term, quote(term)) for label in labels}
            found = [i for i, name in enumerate(terms) if name in wanted]
            if len(found) == 1:
                return found[0]
        raise InputError(f"there is no term {term!r}; the terms are {', '.join(map(repr, terms))}")

    def glance(self) -> pa.Table:
        """Return one row about the whole fit: size, likelihood, convergence, versions."""
        p, e = self.problem, self.estimates
        groups = {term.group: len(term.levels) for term in e.random}
        return pa.table(
            {
                "model": [p.model],
                "engine": [self.engine],
                "formula": [str(p.formula)],
                "link": pa.array([p.link], pa.string()),
                "threshold": pa.array([p.threshold], pa.string()),
                "n_obs": [self.n_obs],
                "n_dropped": [p.n_rows - self.n_obs],
                "n_groups": pa.array([groups or None], pa.struct({name: pa.int64() for name in groups})),
                "loglik": [e.loglik],
                "aic": [2.0 * e.edf - 2.0 * e.loglik],
                "bic": [np.log(self.n_obs) * e.edf - 2.0 * e.loglik],
                "edf": [e.edf],
                "converged": [e.converged],
                "singular": [e.singular],
                "max_gradient": pa.array([e.max_gradient], pa.float64()),
                "hessian_condition": pa.array([e.hessian_condition], pa.float64()),
                "evaluations": pa.array([e.evaluations], pa.int64()),
                "seconds": [self.seconds],
                "r_version": pa.array([e.r_version], pa.string()),
                "package_version": [e.package_version],
            }
        )

    def varcorr(self) -> pa.Table:
        """Return standard deviations, variances and correlations of the random effects.

        ``correlations`` holds, as in R's print, those with the terms above in the same group. The residual of a linear
        model is the row with group ``Residual``.
        """
        rows: list[dict[str, Any]] = []
        for random in self.estimates.random:
            sd = np.sqrt(np.diag(random.covariance))
            for i, term in enumerate(random.terms):
                with np.errstate(invalid="ignore", divide="ignore"):
                    correlations = random.covariance[i, :i] / (sd[i] * sd[:i])
                rows.append(
                    {
                        "group": random.group,
                        "term": term,
                        "sd": sd[i],
                        "variance": sd[i] ** 2,
                        "correlations": [None if np.isnan(r) else r for r in correlations],
                    }
                )
        if self.estimates.sigma is not None:
            sigma = self.estimates.sigma
            rows.append({"group": "Residual", "term": None, "sd": sigma, "variance": sigma**2, "correlations": []})
        kinds = {
            "group": pa.string(),
            "term": pa.string(),
            "sd": pa.float64(),
            "variance": pa.float64(),
            "correlations": pa.list_(pa.float64()),
        }
        return pa.Table.from_pylist(rows, schema=pa.schema(kinds))

    def ranef(self) -> pa.Table:
        """Return the conditional modes of the random effects with their conditional standard deviations."""
        kinds = {"group": pa.string(), "level": pa.string(), "term": pa.string()}
        parts = [pa.schema(kinds | {"estimate": pa.float64(), "std_error": pa.float64()}).empty_table()]
        for random in self.estimates.random:
            n, q = random.modes.shape
            parts.append(
                pa.table(
                    {
                        "group": pa.array([random.group] * (n * q), pa.string()),
                        "level": pa.array(np.repeat(np.array(random.levels, dtype=object), q), pa.string()),
                        "term": pa.array(list(random.terms) * n, pa.string()),
                        "estimate": random.modes.ravel(),
                        "std_error": random.mode_sd.ravel(),
                    }
                )
            )
        return pa.concat_tables(parts)

    def contrasts(self, factor: str, adjust: str = "holm", conf_level: float = 0.95) -> pa.Table:
        """Return all pairwise differences between the levels of a factor, through R's emmeans.

        Differences are on the latent scale for clm and clmm, averaged over the other factors with equal weights.
        Methods without simultaneous intervals of their own (``"holm"``, ``"fdr"``) have Bonferroni intervals, as
        emmeans gives them.

        Parameters
        ----------
        factor
            A column with levels.
        adjust
            ``"holm"``, ``"tukey"``, ``"bonferroni"``, ``"sidak"``, ``"fdr"`` or ``"none"``.
        conf_level
            Level of the intervals.
        """
        from ordbridge.models import r_engine

        choice("adjust", adjust, ADJUSTMENTS)
        column = self.problem.columns.get(factor)
        if column is None or column.kind == "numeric":
            factors = [name for name, c in self.problem.columns.items() if c.kind != "numeric"]
            raise InputError(f"{factor!r} is no factor of this model; it has {', '.join(map(repr, factors)) or 'none'}")
        if self.estimates.dropped:
            raise InputError(
                f"columns were dropped as aliased ({', '.join(self.estimates.dropped)}); simplify the formula"
            )
        found = r_engine.contrasts(self.problem, self.estimates, factor, adjust, conf_level)
        found["df"] = np.where(np.isinf(found["df"]), np.nan, found["df"])
        return pa.table(
            {name: values if isinstance(values, list) else _floats(values) for name, values in found.items()}
        )

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
            One column a category, named by it, or the column ``mean``; null where a predictor is missing.
        """
        choice("kind", kind, prediction.KINDS)
        matrices = self._matrices() if newdata is None else self._matrices(encode_new(self.problem, newdata))
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
            raise InputError(f"n={n!r} is not a number of simulations from 1 up")
        return prediction.simulated(self.problem, self.estimates, self._matrices(), n, seed)

    def _matrices(self, newdata: Mapping[str, Any] | None = None) -> Matrices:
        engine = engine_module(self.engine)
        if newdata is None:
            rows = self.estimates.rows
            newdata = {name: replace(c, values=c.values[rows]) for name, c in self.problem.columns.items()}
        matrices: Matrices = engine.matrices(self.problem, self.estimates, newdata)
        return matrices

    def summary(self) -> str:
        """Return the fit as text, in the manner of R's ``summary``."""
        from ordbridge.models.summary import text

        return text(self)


def anova(smaller: Fit, larger: Fit | None = None) -> pa.Table:
    """Compare two nested models on the same rows by a likelihood ratio test.

    With one lmer alone: an F test of each of its terms (type III), as R's ``anova`` of lmerTest gives it.

    Linear mixed models fitted by REML are first fitted again by maximum likelihood, as R's ``anova`` does. If the
    models differ in a variance, the χ² reference is conservative there (the null lies on the boundary).

    Parameters
    ----------
    smaller, larger
        Two fits of the same kind; the order does not matter. Or one lmer.

    Returns
    -------
    pyarrow.Table
        One row a model: formula, n_obs, edf, loglik, aic, statistic, df, p_value. For one lmer one row a term: term,
        num_df, den_df, statistic, p_value.
    """
    from scipy import stats

    if larger is None and isinstance(smaller, Fit):
        return _term_tests(smaller)
    for name, fit in (("smaller", smaller), ("larger", larger)):
        if not isinstance(fit, Fit):
            raise InputError(f"{name} is a {type(fit).__name__}, not a fit of ordbridge")
    smaller, larger = sorted((_by_likelihood(smaller), _by_likelihood(larger)), key=lambda fit: fit.estimates.edf)
    _refuse_incomparable(smaller, larger)
    df = larger.estimates.edf - smaller.estimates.edf
    statistic = max(0.0, 2.0 * (larger.estimates.loglik - smaller.estimates.loglik))
    both = (smaller, larger)
    return pa.table(
        {
            "formula": [str(fit.problem.formula) for fit in both],
            "n_obs": [fit.n_obs for fit in both],
            "edf": [fit.estimates.edf for fit in both],
            "loglik": [fit.estimates.loglik for fit in both],
            "aic": [2.0 * fit.estimates.edf - 2.0 * fit.estimates.loglik for fit in both],
            "statistic": pa.array([None, statistic], pa.float64()),
            "df": pa.array([None, df], pa.int64()),
            "p_value": pa.array([None, float(stats.chi2.sf(statistic, df))], pa.float64()),
        }
    )


def _term_tests(fit: Fit) -> pa.Table:
    from ordbridge.models import r_engine

    if fit.problem.model != "lmer":
        raise InputError(
            f"a single {fit.problem.model} has nothing to be compared with; give a smaller and a larger fit"
        )
    return pa.table(r_engine.test_terms(fit.problem))


def _by_likelihood(fit: Fit) -> Fit:
    if not fit.problem.REML:
        return fit
    problem = replace(fit.problem, REML=False)
    return replace(fit, problem=problem, estimates=engine_module(fit.engine).fit(problem))


def _refuse_incomparable(smaller: Fit, larger: Fit) -> None:
    if smaller.problem.ordinal != larger.problem.ordinal:
        raise InputError("an ordinal and a linear model have no common likelihood; compare models of one kind")
    if (smaller.problem.link, smaller.problem.threshold) != (larger.problem.link, larger.problem.threshold):
        raise InputError("the models differ in link or threshold; only their terms may differ")
    responses = [str(fit.problem.formula.response) for fit in (smaller, larger)]
    if responses[0] != responses[1]:
        raise InputError(f"the models have different responses, {responses[0]} and {responses[1]}")
    if not np.array_equal(smaller.estimates.rows, larger.estimates.rows) or not _same_response(smaller, larger):
        raise InputError(
            f"the models were not fitted on the same rows ({smaller.n_obs} and {larger.n_obs}); "
            "drop rows with missing values first"
        )
    if smaller.estimates.edf == larger.estimates.edf:
        raise InputError(f"both models have {smaller.estimates.edf} parameters, so neither is nested in the other")


def _same_response(a: Fit, b: Fit) -> bool:
    from ordbridge.formula import names

    return all(
        np.array_equal(a.problem.columns[name].values, b.problem.columns[name].values, equal_nan=True)
        for name in names(a.problem.formula.response)
    )


def _floats(values: np.ndarray) -> pa.Array:
    """Return numbers with NaN as null, because a missing number is not a number."""
    return pa.array(values, pa.float64(), from_pandas=True)
