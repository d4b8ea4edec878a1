"""The fitted model: frozen, made of tables, the same whichever engine made it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ordbridge.checks import choice, share
from ordbridge.doors import picture, write_report
from ordbridge.errors import InputError, StatisticalWarning
from ordbridge.escaping import for_html
from ordbridge.formats import html_table
from ordbridge.formula import Call, Name, Summand, expand, names, quote, written
from ordbridge.models import predict as prediction
from ordbridge.models.columns import Column
from ordbridge.models.engines import engine_module
from ordbridge.models.groups import grouping
from ordbridge.models.kinds import KINDS
from ordbridge.models.prepare import encode_new
from ordbridge.models.problem import Estimates, Matrices, Problem
from ordbridge.progress import Progress

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

    from ordbridge.models.inference.laplace_cost import LaplaceCheck
    from ordbridge.models.inference.proportionality import Assumptions

__all__ = ["Fit", "anova"]

NESTED_TOLERANCE = 1e-3  # by how much an optimiser may leave a larger model below a nested one
ADJUSTMENTS = ("holm", "tukey", "bonferroni", "sidak", "fdr", "none")


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
        ``"r"`` or ``"fast"``.
    seconds
        How long the fit took.
    """

    problem: Problem
    estimates: Estimates
    engine: str
    seconds: float

    def __repr__(self) -> str:
        """Say in a line what was fitted."""
        return f"<{self.problem.model} {self.problem.described}, {self.n_obs} ratings, engine {self.engine!r}>"

    def _repr_html_(self) -> str:
        """Show what was fitted, what is wrong with it, and its coefficients in a notebook."""
        problem = self.problem
        parts = [f"<p><b>{KINDS[problem.model].title}</b>: {for_html(problem.described)}, {self.n_obs} ratings</p>"]
        if not self.converged:
            parts.append("<p><b>The fit did not converge: do not trust its numbers.</b></p>")
        parts += [f"<p>{for_html(c.text)}</p>" for c in self.estimates.conditions if c.kind == "warning"]
        rows = [row for row in self.tidy().to_pylist() if row.pop("effect") == "fixed"]
        return "".join([*parts, html_table(rows), html_table(self.varcorr().to_pylist())])

    def plot(self, thresholds: bool = False) -> Figure:
        """Draw the coefficients with their 95 % intervals; see :func:`ordbridge.figures.forest`."""
        figure: Figure = picture("forest", self, thresholds=thresholds)
        return figure

    def report(self, path: str | PathLike[str], repeat: str = "") -> Path:
        """Write the report, one HTML file; see :func:`ordbridge.report.write_report`."""
        return write_report(self, path, repeat)

    def update(self, formula: str, data: Any = None) -> Fit:
        """Fit another formula with the same model, options, engine and data.

        Parameters
        ----------
        formula
            A whole formula, or what changes: a dot is what was there, ``". ~ . + length - (1 | item)"``.
        data
            Other data. A fit holds only the columns of its model: a new predictor needs the data again.

        Examples
        --------
        >>> import ordbridge as ob
        >>> fit = ob.lm("y ~ x", {"y": [1.0, 2.1, 2.9, 4.2], "x": [1, 2, 3, 4]}, engine="fast")
        >>> fit.update(". ~ . - x").coef
        {'(Intercept)': 2.55}
        """
        from ordbridge.models.api import fit_again

        return fit_again(self, formula, data)

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the fit with its data to an Arrow file, from which :func:`ordbridge.load` reads it.

        The file holds tables and JSON, and no code.
        """
        from ordbridge.models.keeping import save

        return save(self, path)

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
        return float(np.log(self.counted) * self.estimates.edf - 2.0 * self.estimates.loglik)

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
        """What the engine reported: stage, kind (``warning`` or ``message``) and text."""
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
            effect (``threshold``, ``nominal``, ``fixed``, ``scale``), term, estimate, std_error, statistic, df (null
            for z tests), p_value, conf_low, conf_high. As in R, a scale effect, on the logarithm of the residual
            spread, has the same term as the effect of that column on location.
        """
        from scipy import stats

        share("conf_level", conf_level)
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

    def p_value(self, term: str, effect: str | None = None) -> float:
        """Return the p-value of one term.

        A predictor that has a single coefficient may be named without its level: ``"system"`` for ``systemB``. A scale
        effect is found with ``effect="scale"``.
        """
        choice("effect", effect, (None, "threshold", "nominal", "fixed", "scale"))
        return float(self.estimates.p_value[self._position(term, effect)])

    def _position(self, term: str, effect: str | None) -> int:
        e = self.estimates
        for name in (term, quote(term)):
            if (place := e.position(name, effect)) is not None:
                return place
        column = self.problem.columns.get(term)
        if column is not None:
            labels = column.levels if column.kind == "factor" else ("TRUE",)
            wanted = {prefix + label for prefix in (term, quote(term)) for label in labels}
            found = [place for name in wanted if (place := e.position(name, effect)) is not None]
            if len(found) == 1:
                return found[0]
        both = zip(e.terms, e.effects, strict=True)
        listed = [repr(own) + (" (effect='scale')" if kind == "scale" else "") for own, kind in both]
        raise InputError(f"there is no term {term!r}; the terms are {', '.join(listed)}")

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
                "scale": pa.array([_one_sided(p.scale)], pa.string()),
                "nominal": pa.array([_one_sided(p.nominal)], pa.string()),
                "weights": pa.array([p.weights], pa.string()),
                "offset": pa.array([p.offset], pa.string()),
                "n_obs": [self.n_obs],
                "n_dropped": [p.n_rows - self.n_obs],
                "n_groups": pa.array([groups or None], pa.struct({name: pa.int64() for name in groups})),
                "loglik": [e.loglik],
                "aic": [self.aic],
                "bic": [self.bic],
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

    @property
    def counted(self) -> float:
        """Number of ratings as R counts them: the sum of the weights."""
        if self.problem.weights is None:
            return float(self.n_obs)
        return float(self.problem.columns[self.problem.weights].values[self.estimates.rows].sum())

    def factors(self) -> pa.Table:
        """Return the factors of the fixed part, their levels in order, and the reference that others are set against.

        Text has its values sorted by code point, a categorical keeps its order. An ordered factor, which R codes by
        polynomials, has no reference, nor has a factor with a coefficient for every level.

        Returns
        -------
        pyarrow.Table
            factor, levels, ordered, reference.
        """
        rows: list[dict[str, Any]] = []
        for variable in expand(self.problem.formula.fixed).variables:
            match variable:
                case Name(name):
                    column = self.problem.columns[name]
                case Call("factor" | "ordered", (Name(name),)):
                    column = grouping(Name(name), self.problem.columns)
                case _:
                    continue
            if column.kind == "numeric":
                continue
            labels = column.levels if column.kind == "factor" else ("FALSE", "TRUE")
            levels = [labels[i] for i in np.unique(column.values[self.estimates.rows])]
            ordered = column.ordered or (isinstance(variable, Call) and variable.function == "ordered")
            reference = None if ordered else self._reference(str(variable), levels)
            row = {"factor": str(variable), "levels": levels, "ordered": ordered, "reference": reference}
            rows.append(row)
        kinds = {
            "factor": pa.string(),
            "levels": pa.list_(pa.string()),
            "ordered": pa.bool_(),
            "reference": pa.string(),
        }
        return pa.Table.from_pylist(rows, schema=pa.schema(kinds))

    def _reference(self, factor: str, levels: Sequence[str]) -> str | None:
        """Return the level that has no coefficient, neither alone nor in an interaction."""
        terms = [f":{term}:" for term in self.estimates.terms]
        without = [level for level in levels if not any(f":{factor}{level}:" in term for term in terms)]
        return without[0] if len(without) == 1 else None

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
        emmeans gives them. Nothing is fitted again: the differences are about this fit, whichever engine made it.

        Parameters
        ----------
        factor
            A column with levels, or a numeric one that the formula turns into a factor.
        adjust
            ``"holm"``, ``"tukey"``, ``"bonferroni"``, ``"sidak"``, ``"fdr"`` or ``"none"``.
        conf_level
            Level of the intervals.

        Returns
        -------
        pyarrow.Table
            contrast, estimate, std_error, df (null for z tests), statistic, p_value, conf_low, conf_high. What emmeans
            says of them is in the table's metadata under ``b"notes"``, one note per line.

        Warns
        -----
        StatisticalWarning
            The factor takes part in an interaction, so that the differences depend on other predictors.
        """
        from ordbridge.models import r_engine

        choice("adjust", adjust, ADJUSTMENTS)
        column = self._factor(factor)
        if column in {name for summand in self.problem.nominal for name in names(summand.term)}:
            raise InputError(
                f"{factor} moves every threshold on its own here (nominal), so that there is no single difference; "
                f"use fit.means({factor!r})"
            )
        if self.estimates.dropped:
            raise InputError(
                f"columns were dropped as aliased ({', '.join(self.estimates.dropped)}); simplify the formula"
            )
        found, notes = r_engine.contrasts(self.problem, self.estimates, column, adjust, conf_level)
        misleading = [note for note in notes if "interaction" in note]
        if misleading:
            text = f"contrasts of {factor}: {misleading[0][0].lower()}{misleading[0][1:]}"
            warnings.warn(text, StatisticalWarning, stacklevel=2)
        found["df"] = np.where(np.isinf(found["df"]), np.nan, found["df"])
        table = pa.table(
            {name: values if isinstance(values, list) else _floats(values) for name, values in found.items()}
        )
        return table.replace_schema_metadata({"notes": "\n".join(notes)})

    def test(
        self,
        term: str | Mapping[str, float] | None = None,
        method: str = "wald",
        draws: int = 999,
        seed: int = 0,
        jobs: int = 1,
        *,
        store: str | PathLike[str] | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> pa.Table:
        """Test a term with all of its coefficients, a single coefficient, or a contrast of coefficients.

        With few participants or items Wald's test, which R prints for clmm, rejects true null hypotheses far more
        often than it should, the likelihood ratio less so; the bootstrap holds (docs/inference.md).

        Parameters
        ----------
        term
            A term of the formula (``"system"``), tested together with the interactions it takes part in; a coefficient
            (``"systemB"``); a contrast (``{"systemB": 1, "systemC": -1}``); or ``None``: every term, a row each.
        method
            ``"wald"``: the estimates over their covariances, against χ². ``"lrt"``: the likelihood ratio of the model
            without what is tested, against χ². ``"bootstrap"``: the same ratio, against its distribution in responses
            simulated from the smaller model; native fits, whichever engine made this one. ``"bartlett"``: the ratio
            over its mean in such responses, against χ², for which a hundred or two are enough. ``"f"``: lm, lmer.
        draws
            Bootstrap: the largest number of simulated responses. Fewer are drawn where p can no more fall to .1, but
            not with ``"bartlett"``.
        seed
            The same seed gives the same draws, in any number of processes.
        jobs
            Bootstrap: processes; −1 for one per core.
        store
            Bootstrap: a file to which draws are added as they are done, and from which they are read again.
        progress
            Bootstrap: is called with a :class:`ordbridge.progress.Progress` after each draw.

        Returns
        -------
        pyarrow.Table
            term, method, statistic, df, den_df (``"f"``), p_value; of a bootstrap mc_error (the standard error of p),
            draws and failed (draws to which a model could not be fitted); engine. What there is to say is in the
            table's metadata under ``b"notes"``, one note per line.

        References
        ----------
        Halekoh, U. & Højsgaard, S. (2014). A Kenward-Roger approximation and parametric bootstrap methods for tests in
        linear mixed models: the R package pbkrtest. Journal of Statistical Software 59(9).

        Examples
        --------
        >>> import ordbridge as ob
        >>> ratings = {"rating": [1, 2, 1, 3, 2, 3, 3, 3, 1, 1, 2, 2, 1, 3, 2, 2], "system": list("AABB" * 4),
        ...            "participant": list("ppppqqqqrrrrssss")}
        >>> fit = ob.clmm("rating ~ system + (1 | participant)", ratings, engine="fast")
        >>> fit.test("system", method="lrt")["df"].to_pylist()
        [1]
        >>> fit.test("system", method="bootstrap", draws=19)["draws"][0].as_py() <= 19
        True
        """
        from ordbridge.models import inference

        return inference.test(self, term, method, draws, seed, jobs, store, progress)

    def confint(
        self,
        method: str = "wald",
        conf_level: float = 0.95,
        draws: int = 999,
        seed: int = 0,
        jobs: int = 1,
        *,
        store: str | PathLike[str] | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> pa.Table:
        """Return confidence intervals of thresholds, coefficients and standard deviations.

        Parameters
        ----------
        method
            ``"wald"``: as in :meth:`tidy`, none for standard deviations. ``"profile"``: the values that a likelihood
            ratio test would not reject, as R's ``confint`` of clm and lmer. ``"bootstrap"``: quantiles of estimates in
            responses simulated from the fit. The last two are native fits by maximum likelihood.
        conf_level
            Level of the intervals.
        draws, seed, jobs, store, progress
            Of the bootstrap, as for :meth:`test`; it does not stop early.

        Returns
        -------
        pyarrow.Table
            effect (``threshold``, ``fixed``, ``sd``), group (of a standard deviation), term, estimate, conf_low,
            conf_high (null where an interval has no end), method, engine; notes in the metadata.

        References
        ----------
        Venzon, D. J. & Moolgavkar, S. H. (1988). A method for computing profile-likelihood-based confidence intervals.
        Applied Statistics 37, 87–94.

        Examples
        --------
        >>> import ordbridge as ob
        >>> fit = ob.lm("y ~ x", {"y": [1.0, 2.1, 2.9, 4.2], "x": [1, 2, 3, 4]}, engine="fast")
        >>> [round(low, 2) for low in fit.confint("profile")["conf_low"].to_pylist()]
        [-0.37, 0.92, 0.06]
        """
        from ordbridge.models import inference

        return inference.confint(self, method, conf_level, draws, seed, jobs, store, progress)

    def means(
        self,
        factor: str,
        on: str = "rating",
        by: str | Sequence[str] | None = None,
        adjust: str = "holm",
        conf_level: float = 0.95,
        method: str = "delta",
        draws: int = 999,
        seed: int = 0,
        jobs: int = 1,
        *,
        store: str | PathLike[str] | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> pa.Table:
        """Return means of a factor's levels in words that people use, with all pairwise comparisons.

        Other factors are averaged over with equal weights, numeric predictors are at their means, as in emmeans;
        ratings of a clmm are those of new participants and items.

        Parameters
        ----------
        factor
            Whose levels are compared.
        on
            ``"rating"``: expected ratings and differences in points. ``"latent"``: the scale of the coefficients, from
            the mean threshold. ``"probability"``: of each category, and ``superiority``, the probability that a text of
            one level is rated above one of another, ties split.
        by
            Factors within whose levels means are taken, for interactions.
        adjust
            Of the comparisons within each level of ``by``: ``"holm"``, ``"tukey"``, ``"bonferroni"``, ``"sidak"``,
            ``"fdr"`` or ``"none"``.
        conf_level
            Level of the intervals.
        method
            ``"delta"``, or ``"bootstrap"`` for percentile intervals, which have no p-values: see :meth:`test`.
        draws, seed, jobs, store, progress
            Of the bootstrap, as for :meth:`confint`.

        Returns
        -------
        pyarrow.Table
            what (``mean``, ``difference``, ``probability``, ``superiority``), the columns of ``by``, level, category,
            estimate, std_error, df (null for z tests), statistic, p_value, conf_low, conf_high.

        Warns
        -----
        StatisticalWarning
            The factor interacts with predictors that are not in ``by``.

        References
        ----------
        Lenth, R. V. (2023). emmeans: Estimated marginal means. R package.
        Agresti, A. & Kateri, M. (2017). Ordinal probability effect measures for group comparisons in multinomial
        cumulative link models. Biometrics 73, 214–219.

        Examples
        --------
        >>> import ordbridge as ob
        >>> ratings = {"rating": [1, 2, 2, 3, 1, 3, 2, 3, 1, 2], "system": list("AABBAABBAB")}
        >>> found = ob.clm("rating ~ system", ratings, engine="fast").means("system")
        >>> found["level"].to_pylist(), [round(v, 2) for v in found["estimate"].to_pylist()]
        (['A', 'B', 'A - B'], [1.54, 2.36, -0.81])
        """
        from ordbridge.models import inference

        choice("adjust", adjust, ADJUSTMENTS)
        options = (adjust, conf_level, method, draws, seed, jobs, store, progress)
        return inference.means(self, factor, on, by, *options)

    def equivalence(
        self,
        factor: str,
        margin: float,
        on: str = "rating",
        by: str | Sequence[str] | None = None,
        alpha: float = 0.05,
    ) -> pa.Table:
        """Test whether levels of a factor differ by less than a margin: two one-sided tests of every difference.

        Parameters
        ----------
        factor, on, by
            As for :meth:`means`; ``on`` is ``"rating"`` or ``"latent"``.
        margin
            The smallest difference that matters.
        alpha
            Level of the tests; the interval has level 1 − 2 alpha, and lies within ± margin if both reject.

        Returns
        -------
        pyarrow.Table
            The columns of ``by``, contrast, estimate, std_error, df, margin, p_above (the first level is not worse by
            the margin: non-inferiority), p_below (not better by it), p_value (the larger: equivalence), equivalent,
            conf_low, conf_high. Nothing is adjusted for several comparisons.

        References
        ----------
        Schuirmann, D. J. (1987). A comparison of the two one-sided tests procedure and the power approach for assessing
        the equivalence of average bioavailability. Journal of Pharmacokinetics and Biopharmaceutics 15, 657–680.

        Examples
        --------
        >>> import ordbridge as ob
        >>> data = {"y": [3.0, 3.2, 2.9, 3.1, 3.0, 3.1], "system": list("ABABAB")}
        >>> ob.lm("y ~ system", data, engine="fast").equivalence("system", margin=0.5)["equivalent"].to_pylist()
        [True]
        """
        from ordbridge.models import inference

        return inference.equivalence(self, factor, margin, on, by, alpha)

    def assumptions(self, factor: str | None = None, conf_level: float = 0.95) -> Assumptions:
        """Test what a clm or clmm takes for granted: that thresholds move alike, and that residuals are equally wide.

        Every term gets a nominal effect (each threshold moves on its own) and then a scale effect (residuals are wider
        or narrower), and the likelihood ratio says whether the model needs it: R's ``nominal_test`` and ``scale_test``
        for clm, the same tests of native fits for clmm.

        Parameters
        ----------
        factor
            Whose thresholds and spread are reported and spoken about; default: the first factor of the model.
        conf_level
            Level of the intervals.

        Returns
        -------
        Assumptions
            ``nominal_test`` and ``scale_test``, tables with term, df, loglik, aic, statistic, p_value, note;
            ``thresholds`` and ``spread`` per level of the factor; ``sentences``. :func:`ordbridge.figures.thresholds`
            draws the thresholds.

        References
        ----------
        Christensen, R. H. B. (2019). Cumulative link models for ordinal regression with the R package ordinal.
        Brant, R. (1990). Assessing proportionality in the proportional odds model for ordinal logistic regression.
        Biometrics 46, 1171–1178.

        Examples
        --------
        >>> import ordbridge as ob
        >>> ratings = {"rating": [1, 2, 2, 3, 1, 3, 2, 3, 1, 2, 1, 3], "system": list("AABBAABBABBA")}
        >>> found = ob.clm("rating ~ system", ratings, engine="fast").assumptions()
        >>> found.nominal_test["term"].to_pylist(), found.nominal_test["df"].to_pylist()
        (['<none>', 'system'], [None, 1])
        >>> found.sentences[0][:52]
        'Does "better" mean the same at every point of the sc'
        """
        from ordbridge.models import inference

        return inference.assumptions(self, factor, conf_level)

    def check_laplace(self, draws: int = 2000, seed: int = 0) -> LaplaceCheck:
        """Say what the Laplace approximation costs: by how much the exact likelihood would move each coefficient.

        Importance sampling around the modes of the random effects, for any random effects, crossed or not; native,
        whichever engine made the fit. For one ``(1 | group)`` there is quadrature, too: ``nAGQ=10``.

        Parameters
        ----------
        draws
            Draws of the random effects, in pairs that mirror each other.
        seed
            The same seed gives the same draws.

        Returns
        -------
        LaplaceCheck
            ``table``: term, estimate, std_error, p_value, shift, shift_mc_error, std_error_shift,
            std_error_shift_mc_error, exact_p_value; ``loglik_error``, ``loglik_mc_error``; ``draws``,
            ``effective_draws``; ``sentences``, and ``print`` prints them.

        References
        ----------
        Booth, J. G. & Hobert, J. P. (1999). Maximizing generalized linear mixed model likelihoods with an automated
        Monte Carlo EM algorithm. JRSS B 61, 265–285.

        Examples
        --------
        >>> import ordbridge as ob
        >>> plan = ob.design.crossed(items=12, raters=6)
        >>> sds = {"participant_sd": (0.5, 0.0), "item_sd": (0.5, 0.0)}
        >>> truth = ob.simulate.Truth(effects=(0.5,), thresholds=(-1, 0, 1), **sds)
        >>> ratings = ob.simulate.ratings(plan, truth, seed=1)
        >>> fit = ob.clmm("rating ~ system + (1 | participant) + (1 | item)", ratings, link="probit", engine="fast")
        >>> found = fit.check_laplace()
        >>> abs(found.table["shift"][0].as_py()) < 0.1 * found.table["std_error"][0].as_py()
        True
        """
        from ordbridge.models import inference

        return inference.check_laplace(self, draws, seed)

    def _factor(self, factor: str) -> str:
        """Return the column of a factor that is not random, which may be named as it stands in the formula."""
        found = {}
        for variable in expand((*self.problem.formula.fixed, *self.problem.nominal, *self.problem.scale)).variables:
            match variable:
                case Name(name) if self.problem.columns[name].kind != "numeric":
                    found[name] = name
                case Call("factor" | "ordered", (Name(name),)):
                    found |= {str(variable): name, name: name}
        if factor not in found:
            raise InputError(
                f"{factor!r} is not a factor of this model; it has {', '.join(map(repr, found)) or 'none'}"
            )
        return found[factor]

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
            raise InputError(f"n={n!r} is not a number of simulations from 1 on")
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
        One row per model: formula, n_obs, edf, loglik, aic, statistic, df, p_value. For one lmer one row per term:
        term, num_df, den_df, statistic, p_value.
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
            "formula": [fit.problem.described for fit in both],
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
    return pa.table(r_engine.test_terms(fit.problem, fit.estimates))


def _by_likelihood(fit: Fit) -> Fit:
    if not fit.problem.REML:
        return fit
    problem = replace(fit.problem, REML=False)
    return replace(fit, problem=problem, estimates=engine_module(fit.engine).fit(problem))


def _refuse_incomparable(smaller: Fit, larger: Fit) -> None:
    if smaller.problem.ordinal != larger.problem.ordinal:
        raise InputError("an ordinal and a linear model cannot be compared by likelihood; compare models of one kind")
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
    for name in ("weights", "offset"):
        if not np.array_equal(_numbers(smaller, name), _numbers(larger, name)):
            raise InputError(f"the models differ in their {name}, so that their likelihoods cannot be compared")
    if (smaller.problem.nAGQ or 1) != (larger.problem.nAGQ or 1):
        raise InputError(
            f"the models were fitted with nAGQ={smaller.problem.nAGQ} and nAGQ={larger.problem.nAGQ}, whose "
            "likelihoods are not comparable; fit both with the same"
        )
    if smaller.estimates.edf == larger.estimates.edf:
        raise InputError(f"both models have {smaller.estimates.edf} parameters, so neither is nested in the other")
    if not _is_nested(smaller, larger):
        raise InputError(
            f"{smaller.problem.formula} is not nested in {larger.problem.formula}: it has terms that the larger model "
            "cannot express, so a likelihood ratio test of the two has no meaning"
        )
    lost = smaller.estimates.loglik - larger.estimates.loglik
    if lost > NESTED_TOLERANCE:
        raise InputError(
            f"{larger.problem.formula} ended with a log likelihood {lost:.3g} below that of the nested "
            f"{smaller.problem.formula}: it did not reach its optimum, so the comparison means nothing"
        )


def _is_nested(smaller: Fit, larger: Fit) -> bool:
    """Tell whether the larger model can express every term of the smaller one, whatever the terms are called."""
    small, large = smaller.matrices(), larger.matrices()
    ones = np.ones((smaller.n_obs, int(smaller.problem.ordinal)))  # the thresholds
    if not _spans(np.hstack([ones, large.nominal, large.X]), small.X) or not _spans(
        np.hstack([ones, large.nominal]), small.nominal
    ):
        return False
    free = ones[:, : int(smaller.problem.offset is None)]  # all can be stretched alike but for an offset
    if not _spans(np.hstack([free, large.scale]), small.scale):
        return False
    for term, Z in zip(smaller.estimates.random, small.Z, strict=True):
        others = zip(larger.estimates.random, large.Z, strict=True)
        if not any(other.group == term.group and _spans(wider, Z) for other, wider in others):
            return False
    return True


def _spans(columns: np.ndarray, others: np.ndarray) -> bool:
    """Tell whether each of the other columns is a combination of the columns."""
    if not others.size:
        return True
    rest = others - columns @ np.linalg.lstsq(columns, others, rcond=None)[0]
    return bool((np.linalg.norm(rest, axis=0) <= 1e-7 * np.linalg.norm(others, axis=0)).all())


def _numbers(fit: Fit, name: str) -> np.ndarray:
    """Return the weights or the offset of the rows; nothing where there are none."""
    column = getattr(fit.problem, name)
    return np.empty(0) if column is None else fit.problem.columns[column].values[fit.estimates.rows]


def _one_sided(summands: tuple[Summand, ...]) -> str | None:
    return f"~ {written(summands)}" if summands else None


def _same_response(a: Fit, b: Fit) -> bool:
    return all(
        np.array_equal(a.problem.columns[name].values, b.problem.columns[name].values, equal_nan=True)
        for name in names(a.problem.formula.response)
    )


def _floats(values: np.ndarray) -> pa.Array:
    """Return numbers with NaN as null, because a missing number is not a number."""
    return pa.array(values, pa.float64(), from_pandas=True)
