"""The fitted model, and what can be asked of it: tests, intervals, means, assumptions; other formulas; files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from ordbridge.models import fit_words
from ordbridge.models.fitted import Fitted
from ordbridge.render.figures.coefficients import forest
from ordbridge.render.layout import Figures, Section, ShownPicture, ShownTable
from ordbridge.results.result import Result
from ordbridge.support.progress import Progress

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

    from ordbridge.models.explain import FitAnalysis
    from ordbridge.models.inference.laplace_cost import LaplaceCheck
    from ordbridge.models.inference.marginal_means import Means
    from ordbridge.models.inference.proportionality import Assumptions
    from ordbridge.results.finding import Finding


class Fit(Fitted, Result):  # type: ignore[override]
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

    kind: ClassVar[str] = "fit"

    @property
    def title(self) -> str:  # type: ignore[override]
        """What the report is called."""
        return fit_words.title(self)

    @property
    def answer(self) -> str:  # type: ignore[override]
        """Which coefficients differ from 0."""
        return fit_words.answer(self)

    @property
    def counted(self) -> str:  # type: ignore[override]
        """How many ratings were used, and by which model."""
        return fit_words.counted(self)

    @property
    def tables(self) -> dict[str, pa.Table]:
        """All tables by name."""
        return {"glance": self.glance(), "tidy": self.tidy(), "varcorr": self.varcorr()}

    def main(self) -> Sequence[ShownTable]:
        """Return the coefficients."""
        return [fit_words.coefficients(self)]

    def picture(self) -> ShownPicture | None:
        """Return the picture of the coefficients."""
        return fit_words.picture(self)

    def paper_tables(self) -> Sequence[ShownTable]:
        """Return the whole model as papers print it."""
        return [fit_words.model_table(self)]

    def results(self) -> str:
        """Return every coefficient in a sentence."""
        return " ".join(fit_words.sentences(self)) if self.converged else self.answer

    def sections(self) -> Sequence[Section]:
        """Return coefficients in words, thresholds, random effects, and the fit in numbers."""
        return fit_words.sections(self)

    def draw(self) -> dict[str, Callable[[], Figure]]:
        """Return how its pictures are drawn."""
        located = any(effect != "threshold" for effect in self.estimates.effects)
        return {"coefficients": lambda: forest(self, not located, partial(fit_words.named, self))}

    def figures(self) -> Figures:
        """Return the picture of the coefficients."""
        return Figures(self.draw())

    def plot(self, thresholds: bool = False) -> Figure:
        """Draw the coefficients with their 95% intervals, with those of the thresholds if they are asked for."""
        return forest(self, thresholds, partial(fit_words.named, self))

    def methods(self) -> str:
        """Return the methods paragraph."""
        return fit_words.methods(self)

    def references(self) -> list[str]:
        """Return the references of the methods paragraph."""
        return fit_words.references(self)

    def explain(
        self,
        contrasts: str | None = None,
        tests: pa.Table | None = None,
        assumptions: bool = True,
        conf_level: float = 0.95,
        noticed: Sequence[Finding] = (),
    ) -> FitAnalysis:
        """Compute what a full report shows: expected ratings in points, pairwise differences, assumptions.

        Parameters
        ----------
        contrasts
            A factor of which all pairs are compared.
        tests
            What :meth:`test` returned, to be shown with the rest.
        assumptions
            Whether to check those of an ordinal model, which takes some more fits.
        conf_level
            Level of the intervals.
        noticed
            Findings of :func:`ordbridge.check`, to be shown with those of the fit.

        Examples
        --------
        >>> import ordbridge as ob
        >>> fit = ob.lm("y ~ x", {"y": [1.0, 2.1, 2.9, 4.2], "x": [1, 2, 3, 4]}, engine="fast")
        >>> print(fit.explain().answer)
        x: +1.04 points of the rating (95% CI 0.76 to 1.32, p = .004).
        """
        from ordbridge.models.explain import explain

        return explain(self, contrasts, tests, assumptions, conf_level, noticed)

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
        from ordbridge.models.save_load import save

        return save(self, path)

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
            system_a, system_b (two levels of the factor), difference, std_error, df (null for z tests), statistic,
            p_value, p_adjusted, conf_low, conf_high. What emmeans says about them is among
            :func:`ordbridge.results.findings_of` the table.

        Warns
        -----
        StatisticalWarning
            The factor takes part in an interaction, so that the differences depend on other predictors.
        """
        from ordbridge.models.level_differences import pairwise_differences

        return pairwise_differences(self, factor, adjust, conf_level)

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
            (``"systemB"``); a contrast (``{"systemB": 1, "systemC": -1}``); or ``None``: every term, one row each.
        method
            ``"wald"``: the estimates over their covariances, against χ². ``"lrt"``: the likelihood ratio of the model
            without what is tested, against χ². ``"bootstrap"``: the same ratio, against its distribution in responses
            simulated from the smaller model; native fits, whichever engine made this one. ``"bartlett"``: the ratio
            over its mean in such responses, against χ², for which a hundred or two are enough. ``"f"``: lm, lmer.
        draws
            Bootstrap: the largest number of simulated responses. Fewer are drawn where p can no longer fall to .1, but
            not with ``"bartlett"``.
        seed
            The same seed gives the same draws, in any number of processes.
        jobs
            Bootstrap: processes; −1 for one per core.
        store
            Bootstrap: a folder to which draws are added as they are done, and from which they are read again.
        progress
            Bootstrap: is called with a :class:`ordbridge.support.progress.Progress` after each draw.

        Returns
        -------
        pyarrow.Table
            term, method, statistic, df, den_df (``"f"``), p_value; of a bootstrap mc_error (the standard error of p),
            draws and failed (draws to which a model could not be fitted); engine. Cautions are
            :func:`ordbridge.results.findings_of` the table.

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

        return inference.test(self, term, method, inference.DrawPlan(draws, seed, jobs, store, progress))

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

        return inference.confint(self, method, conf_level, inference.DrawPlan(draws, seed, jobs, store, progress))

    def means(
        self,
        factor: str,
        on: str = "rating",
        by: str | Sequence[str] | None = None,
        adjust: str = "holm",
        conf_level: float = 0.95,
        method: str = "delta",
        df: str = "satterthwaite",
        draws: int = 999,
        seed: int = 0,
        jobs: int = 1,
        *,
        store: str | PathLike[str] | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> Means:
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
        df
            Of a clmm: ``"satterthwaite"``, Student's t with the degrees of freedom of the linear mixed model with the
            same terms, or ``"asymptotic"``, z as R prints it, which covers too little with few participants or items.
        draws, seed, jobs, store, progress
            Of the bootstrap, as for :meth:`confint`.

        Returns
        -------
        Means
            With the tables ``means`` and ``differences``. ``table`` has both: what (``mean``, ``difference``,
            ``probability``, ``superiority``), the columns of ``by``, level (pairs: system_a and system_b), category,
            estimate, std_error, df (null for z tests), statistic, p_value, p_adjusted, conf_low, conf_high.

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
        >>> found.means["level"].to_pylist(), [round(v, 2) for v in found.means["estimate"].to_pylist()]
        (['A', 'B'], [1.54, 2.36])
        >>> [(row["system_a"], row["system_b"], round(row["estimate"], 2)) for row in found.differences.to_pylist()]
        [('A', 'B', -0.81)]
        """
        from ordbridge.models import inference

        how = inference.DrawPlan(draws, seed, jobs, store, progress)
        return inference.means(self, factor, on, by, adjust, conf_level, method, df, how)

    def equivalence(
        self,
        factor: str,
        margin: float,
        on: str = "rating",
        by: str | Sequence[str] | None = None,
        alpha: float = 0.05,
        df: str = "satterthwaite",
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
        df
            As for :meth:`means`.

        Returns
        -------
        pyarrow.Table
            The columns of ``by``, system_a, system_b, difference, std_error, df, margin, p_above (the first level is
            not worse by the margin: non-inferiority), p_below (not better by it), p_value (the larger: equivalence),
            equivalent, conf_low, conf_high. Nothing is adjusted for several comparisons.

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

        return inference.equivalence(self, factor, margin, on, by, alpha, df)

    def assumptions(self, factor: str | None = None, conf_level: float = 0.95) -> Assumptions:
        """Test what a clm or clmm takes for granted: that thresholds move alike, and that residuals are equally wide.

        Every term gets a nominal effect (each threshold moves on its own) and then a scale effect (residuals are wider
        or narrower), and the likelihood ratio says whether the model needs it: R's ``nominal_test`` and ``scale_test``
        for clm, the same tests of native fits for clmm.

        Parameters
        ----------
        factor
            Whose thresholds and spread are reported and described; default: the first factor of the model.
        conf_level
            Level of the intervals.

        Returns
        -------
        Assumptions
            ``nominal_test`` and ``scale_test``, tables with term, df, loglik, aic, statistic, p_value, note;
            ``thresholds`` and ``spread`` per level of the factor; ``sentences``. ``ob.figures.thresholds``
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
            ``table``: effect, term, estimate, std_error, p_value, shift, shift_mc_error, std_error_shift,
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
