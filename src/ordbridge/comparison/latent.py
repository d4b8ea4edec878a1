"""The other question: differences on the latent scale of a cumulative link model, whose test R prints.

``estimand="latent"`` rests on it alone; beside differences in points it is shown as R's own result, Wald's z. Where the
two disagree, systems spread differently on the rating scale, or so few raters are behind the test that Wald's z rejects
too often.

For ``estimand="latent"`` Wald's test and t tests divide a difference by its standard error. The likelihood ratio and
its bootstrap (Bartlett's correction by simulated ratings) have the interval that belongs to them: all differences that
the same test does not reject, from the profile of the likelihood.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from os import PathLike
from typing import Any

import numpy as np

from ordbridge.comparison.differences import Differences, Interval, correlation
from ordbridge.comparison.student import StudentDf, needs_student
from ordbridge.errors import FitError, InputError
from ordbridge.models import predict as prediction
from ordbridge.models.engines import engine_module
from ordbridge.models.few_levels import FEW_LEVELS
from ordbridge.models.fit import Fit
from ordbridge.models.inference import bootstrap, likelihood_ratio
from ordbridge.models.inference.hypothesis import Hypothesis, hypothesis, on_rows
from ordbridge.models.inference.marginal_means import Effects
from ordbridge.models.inference.reference_rows import reference_grid
from ordbridge.models.inference.resampling import DrawPlan, Together
from ordbridge.results.finding import Finding, has
from ordbridge.support.naming import arg
from ordbridge.support.progress import Progress

TESTS = ("auto", "wald", "t", "lrt", "bootstrap")
DRAWS, FEWEST_DRAWS = 199, 49
WORK = 6000  # ratings, over all pairs and criteria, up to which a bootstrap has all of its draws
FIRST = 49  # draws of a bootstrap, after which those are left out that cannot change a decision
SOURCES = 25  # pairs from whose null models draws are made, at most, where all pairs have the same correction
SURE = 3.0  # standard errors
RESIDUAL = {"probit": 1.0, "logit": math.pi**2 / 3, "cloglog": math.pi**2 / 6, "loglog": math.pi**2 / 6}


@dataclass(frozen=True)
class Resampling:
    """How a bootstrap is made."""

    draws: int | None
    levels: tuple[float, float]
    """The lowest and the highest level at which a pair may be tested after a correction."""
    pooled: bool
    """Whether Bartlett's correction is the same for all pairs."""
    families: int
    seed: int
    jobs: int
    store: str | PathLike[str] | None
    progress: Callable[[Progress], None] | None


def latent_test(fit: Fit, few: bool, separated: bool, wanted: str) -> str:
    """Choose the test that holds for this model and design (docs/inference.md)."""
    if wanted == "t" and fit.problem.model == "clm":
        raise InputError(f"{arg('test', 't')} is for lm, lmer and clmm; for clm use 'lrt' or 'wald'")
    if wanted != "auto":
        return wanted
    if few or has(fit.estimates.findings, FEW_LEVELS):
        return "bootstrap"
    if separated:
        return "lrt"
    return "t" if needs_student(fit) else "wald"


def draws_for(work: int) -> int:
    """Return how many draws a bootstrap has: fewer where more ratings have to be fitted, for about two minutes.

    Examples
    --------
    >>> draws_for(500), draws_for(12_000), draws_for(10**9)
    (199, 99, 49)
    """
    return int(np.clip(DRAWS * WORK / work, FEWEST_DRAWS, DRAWS))


def latent_spread(fit: Fit) -> np.ndarray:
    """Return the variance of the latent quality of each system's texts, for new participants and items."""
    grid = reference_grid(fit, ["system"])
    variance = prediction.marginal_variance(fit.estimates, fit.matrices(grid.columns))
    residual = RESIDUAL.get(str(fit.problem.link), RESIDUAL["logit"])
    return residual + np.array([variance[own].mean() for _, _, own in grid.cells])


def latent_differences(
    fit: Fit,
    found: Effects,
    pairs: Sequence[tuple[int, int]],
    test: str,
    student: StudentDf | None = None,
    resampling: Resampling | None = None,
) -> tuple[Differences, tuple[Finding, ...], int | None]:
    """Compare pairs of systems on the latent scale.

    Parameters
    ----------
    fit, found
        A clm or clmm, and its means on the latent scale.
    pairs
        Places of systems.
    test
        One of :data:`TESTS`, not ``"auto"``.
    student
        Degrees of freedom of each pair, for ``"t"``.
    resampling
        For ``"bootstrap"``.

    Returns
    -------
    tuple
        The differences, what there is to say, and the number of draws of a bootstrap.

    References
    ----------
    Venzon, D. J. & Moolgavkar, S. H. (1988). A method for computing profile-likelihood-based confidence intervals.
    Applied Statistics 37, 87–94.
    """
    from scipy import stats

    k = len(found.cells)
    C = np.zeros((len(pairs), k))
    for row, (i, j) in enumerate(pairs):
        C[row, i], C[row, j] = 1.0, -1.0
    estimate = C @ found.estimate[:k]
    error = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", C, found.covariance[:k, :k], C), 0.0))
    df = student.df if test == "t" and student is not None else np.full(len(pairs), np.inf)
    parts: dict[str, Any] = {
        "pairs": tuple(pairs), "estimate": estimate, "correlation": correlation(found.covariance[:k, :k], pairs),
        "tests": (test,) * len(pairs), "df": df,
    }  # fmt: skip
    if test in ("wald", "t"):
        with np.errstate(divide="ignore", invalid="ignore"):
            p_value = 2.0 * stats.t.sf(np.abs(estimate / error), df)
        return Differences(error=error, p_value=p_value, **parts), student.notes if student else (), None
    weights = [_weights(fit, found.combinations[i] - found.combinations[j]) for i, j in pairs]
    tested = [hypothesis(fit, own) for own in weights]
    profile = cache(lambda: engine_module("fast").profile(on_rows(fit.problem, fit.estimates.rows)))

    def over(own: dict[str, float]) -> list[float]:
        return [own.get(one.term, 0.0) if one.effect == "fixed" else 0.0 for one in profile().quantities]

    draws: int | None = None
    answers: list[dict[str, Any]]
    if test == "lrt":
        answers = [likelihood_ratio.test(fit, one) | {"factor": 1.0} for one in tested]
    else:
        if resampling is None:
            raise FitError("a bootstrap needs to know how to draw")
        answers = _bootstrap(fit, tested, resampling, lambda k: float(profile().ratio(over(weights[k]))))
        draws = max(answer["draws"] for answer in answers)
    intervals = [
        _profile_interval(profile, over, own, answer["factor"]) for own, answer in zip(weights, answers, strict=True)
    ]
    p_value = np.array([answer["p_value"] for answer in answers], dtype=float)
    notes = tuple(dict.fromkeys(note for answer in answers for note in answer["notes"]))
    return Differences(error=error, p_value=p_value, intervals=tuple(intervals), **parts), notes, draws


def _profile_interval(
    profile: Callable[[], Any],
    over: Callable[[dict[str, float]], list[float]],
    weights: dict[str, float],
    factor: float,
) -> Interval:
    """Return the interval of a pair as a function of α: where the likelihood ratio reaches factor × quantile of χ²."""
    from scipy import stats

    def limits(alpha: float) -> tuple[float, float]:
        own, limit = over(weights), math.sqrt(factor * stats.chi2.isf(alpha, 1))
        return profile().end(own, -1, limit), profile().end(own, 1, limit)

    return limits


def _bootstrap(
    fit: Fit, tested: Sequence[Hypothesis], how: Resampling, ratio: Callable[[int], float]
) -> list[dict[str, Any]]:
    """Return the answer for each pair, from its own draws or from those of all pairs.

    Where pairs share their draws, these are made from the null models of some of them, and of the others only the
    likelihood ratio is needed.
    """
    wanted = how.draws or draws_for(fit.n_obs * how.families)
    early = how.draws is None
    sources = _spread(len(tested), SOURCES) if how.pooled else range(len(tested))
    first, every = ((-(-n // len(sources)) if how.pooled else n) for n in (min(FIRST, wanted), wanted))
    given = bootstrap.larger_of(fit)
    begun = {
        k: bootstrap.prepare(fit, tested[k], seed_of(how.seed, k) if how.pooled else how.seed, given) for k in sources
    }
    plan = DrawPlan(every, how.seed, how.jobs, how.store, how.progress)
    drawn = Together([comparison for comparison, _, _ in begun.values()], plan)
    ratios = drawn.until([first if early else every] * len(sources))
    known = [begun[k][1:] if k in begun else (ratio(k), ()) for k in range(len(tested))]

    def answers() -> list[dict[str, Any]]:
        together = [np.concatenate(ratios).ravel()] * len(tested) if how.pooled else [np.ravel(own) for own in ratios]
        return [
            bootstrap.corrected(observed, 1, used) | {"notes": notes, "factor": float(np.nanmean(used))}
            for (observed, notes), used in zip(known, together, strict=True)
        ]

    found = answers()
    clear = [not early or _is_clear(answer, how.levels) for answer in found]
    if all(clear):
        return found
    ratios = drawn.until([every] * len(sources) if how.pooled else [first if sure else every for sure in clear])
    return answers()


def seed_of(seed: int, pair: int) -> int:
    """Return the seed of a pair's draws: those that are taken together must not come from the same random numbers."""
    return int(np.random.SeedSequence((seed, pair)).generate_state(1)[0])


def _spread(pairs: int, most: int) -> list[int]:
    """Return at most so many places of pairs, evenly spread.

    Examples
    --------
    >>> _spread(3, 25), _spread(10, 4)
    ([0, 1, 2], [0, 3, 6, 9])
    """
    return np.unique(np.linspace(0, pairs - 1, min(pairs, most)).round().astype(int)).tolist()


def _is_clear(answer: dict[str, Any], levels: tuple[float, float]) -> bool:
    """Tell whether a p-value is on one side of all levels even if its ratio is three standard errors off."""
    from scipy import stats

    off = SURE * math.sqrt(2.0 / (answer["draws"] - answer["failed"]))  # a χ² of one degree has twice its mean squared
    low, high = (float(stats.chi2.sf(answer["statistic"] * (1 + sign * off), 1)) for sign in (1, -1))
    return high < levels[0] or low > levels[1]


def _weights(fit: Fit, combination: np.ndarray) -> dict[str, float]:
    """Return the coefficients that make up a difference, with their weights."""
    e = fit.estimates
    names = [term for term, effect in zip(e.terms, e.effects, strict=True) if effect == "fixed"]
    return {name: float(w) for name, w in zip(names, combination, strict=True) if abs(w) > 1e-12}
