"""One criterion: the model that was fitted, expected ratings, and differences with their tests."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ordbridge.comparison.differences import Differences, differences
from ordbridge.comparison.scale import Scale, read_scale
from ordbridge.comparison.structure import FEW, ChosenModel, choose
from ordbridge.comparison.student import degrees_of_freedom, needs_student
from ordbridge.errors import ConvergenceWarning, FitError, FitTimeout, InputError
from ordbridge.fast.flags import separated_levels
from ordbridge.formula import parse
from ordbridge.models import api
from ordbridge.models.fit import Fit
from ordbridge.models.inference.marginal_means import Effects, effects
from ordbridge.models.kinds import KINDS
from ordbridge.progress import Progress

__all__ = ["Analysis", "Request", "analyse"]

PER_PARAMETER = 2  # ratings, at least
DRAWS, FEWEST_DRAWS = 199, 49
WORK = 6000  # ratings, over all pairs and criteria, up to which a bootstrap has all of its draws
SHORT = "R's search stopped at"
LAPLACE = "the Laplace approximation does not hold"


@dataclass(frozen=True)
class Request:
    """What was asked, of every criterion alike."""

    reference: str | None
    model: str | None
    formula: str | None
    link: str
    engine: str
    test: str
    conf_level: float
    draws: int | None
    seed: int
    jobs: int
    timeout: float | None
    store: str | PathLike[str] | None = None
    progress: Callable[[Progress], None] | None = None
    criteria: int = 1


@dataclass(frozen=True, eq=False)
class Analysis:
    """What was found out about one criterion, before the correction for several comparisons."""

    criterion: str | None
    ratings: pa.Table
    scale: Scale
    fit: Fit
    systems: tuple[str, ...]
    """As the model orders them."""
    mean: np.ndarray
    mean_error: np.ndarray
    mean_low: np.ndarray
    mean_high: np.ndarray
    differences: Differences
    superiority: np.ndarray
    superiority_error: np.ndarray
    test: str
    draws: int | None
    """Of the bootstrap."""
    few: tuple[str, ...]
    """Groups with so few levels that the test had to be a bootstrap, in words."""
    notes: tuple[str, ...]

    @property
    def order(self) -> list[int]:
        """The places of the systems, the one with the highest expected rating first."""
        return [int(k) for k in np.argsort(-self.mean, kind="stable")]


def analyse(ratings: pa.Table, criterion: str | None, levels: Sequence[str], asked: Request) -> Analysis:
    """Fit a model to the ratings of one criterion and compare the systems.

    Parameters
    ----------
    ratings
        The columns rating and system, participant and item where there are such, and those of a formula.
    criterion
        Its name, if there are several.
    levels
        Labels of the scale, lowest first, where the ratings are labels.
    asked
        What to do with them.

    Raises
    ------
    InputError
        There is nothing to compare.
    FitError
        No model could be fitted that can be trusted.
    """
    for name in ("rating", "system", "participant", "item"):
        if name in ratings.column_names:
            ratings = ratings.filter(pc.is_valid(ratings[name]))
    if not ratings.num_rows:
        raise InputError("there is no rating of which system, participant and item are known")
    scale, response = read_scale(ratings["rating"], levels)
    _check_systems(ratings["system"], asked.reference)
    ready = _with_rating(ratings, response)
    structure = _structure(ready, scale, asked)
    separated = _separated(ready, scale) if KINDS[structure.model].ordinal else []
    free = asked.model is None and asked.formula is None
    if separated and structure.model == "clmm" and free:
        reason = f"{separated[0]}, which no finite coefficient of an ordinal model describes"
        structure, separated = _linear(ready, scale, reason), []
    fit, notes = _fitted(ready, scale, structure, asked, bool(separated))
    laplace = [c.text for c in fit.estimates.conditions if c.text.startswith(LAPLACE)]
    if laplace and free:
        structure = _linear(ready, scale, laplace[0].partition(". ")[0])
        fit, notes = _fitted(ready, scale, structure, asked, False)
    elif laplace:
        notes += laplace
    if separated:
        notes.append(f"{separated[0]}, which no finite coefficient describes: differences have likelihood ratio tests")
    test = _test(fit, structure, separated, asked.test)
    found = effects(fit, "system")
    _check_estimable(fit, found)
    pairs = _pairs(found, asked.reference)
    families = asked.criteria * (1 if structure.balanced else len(pairs))
    draws = asked.draws or _draws(fit.n_obs * families)
    options: dict[str, Any] = {name: getattr(asked, name) for name in ("seed", "jobs", "store", "progress")}
    df = _degrees(ready, scale, fit, found, pairs)
    k = len(found.cells)
    alpha = 1.0 - asked.conf_level
    options["levels"] = None if asked.draws else (alpha / (asked.criteria * len(pairs)), alpha)
    compared = differences(fit, found, pairs, test, df[k:], pooled=structure.balanced, draws=draws, **options)
    above, above_error = _superiority(fit, found, compared)
    low, high, error = _mean_intervals(scale, found, df[:k], asked.conf_level)
    return Analysis(
        criterion=criterion,
        ratings=ready,
        scale=scale,
        fit=fit,
        systems=found.cells,
        mean=found.estimate[: len(found.cells)],
        mean_error=error,
        mean_low=low,
        mean_high=high,
        differences=compared,
        superiority=above,
        superiority_error=above_error,
        test=test,
        draws=compared.draws,
        few=_few(fit, structure),
        notes=tuple(dict.fromkeys((*structure.notes, *notes, *compared.notes))),
    )


def _check_systems(column: pa.ChunkedArray, reference: str | None) -> None:
    systems = sorted(set(column.to_pylist()))
    if len(systems) < 2:
        raise InputError(f"there is one system only, {systems[0]!r}, and nothing to compare it with")
    if reference is not None and reference not in systems:
        raise InputError(f"reference={reference!r} is not a system; the systems are {', '.join(map(repr, systems))}")


def _with_rating(ratings: pa.Table, response: pa.Array) -> pa.Table:
    return ratings.set_column(ratings.column_names.index("rating"), "rating", response)


def _as_numbers(ratings: pa.Table, scale: Scale) -> pa.Table:
    """Return the ratings as the numbers that they count as."""
    column = ratings["rating"].combine_chunks()
    if isinstance(column, pa.DictionaryArray):
        column = column.cast(pa.string())
    return _with_rating(ratings, pc.cast(column, pa.float64()))


def _structure(ready: pa.Table, scale: Scale, asked: Request) -> ChosenModel:
    """Return the model that the user wants, or the one that the design asks for."""
    if asked.formula is not None:
        parsed = parse(asked.formula, ready.column_names)
        if "system" not in parsed.columns:
            raise InputError(f"formula={asked.formula!r} does not name the column 'system', which is to be compared")
        mixed = bool(parsed.random)
        usual = ("clmm" if mixed else "clm") if scale.ordinal else ("lmer" if mixed else "lm")
        return ChosenModel(asked.model or usual, (asked.formula,))
    if asked.model is None:
        return choose(ready, scale)
    kind = KINDS[asked.model]
    if asked.model in ("clm", "lm"):
        return ChosenModel(asked.model, ("rating ~ system",))
    chosen = choose(ready if kind.ordinal else _as_numbers(ready, scale), scale if kind.ordinal == scale.ordinal else
                    replace(scale, kind="ordinal" if kind.ordinal else "slider"))  # fmt: skip
    if chosen.model != asked.model:
        raise InputError(
            f"model={asked.model!r} needs participants or items with several ratings each, of which there are none; "
            f"use {chosen.model!r}"
        )
    return chosen


def _linear(ready: pa.Table, scale: Scale, reason: str) -> ChosenModel:
    """Return the linear mixed model that takes the place of an ordinal one, and say why."""
    chosen = choose(_as_numbers(ready, scale), replace(scale, kind="slider"))
    return replace(chosen, notes=(f"{reason[0].upper()}{reason[1:]}: so the model is linear", *chosen.notes))


def _fitted(
    ready: pa.Table, scale: Scale, structure: ChosenModel, asked: Request, separated: bool
) -> tuple[Fit, list[str]]:
    """Fit the first formula that can be fitted; return what happened on the way."""
    data = ready if KINDS[structure.model].ordinal else _as_numbers(ready, scale)
    notes: list[str] = []
    for formula in structure.formulas:
        fit, problem, said = _try(structure.model, formula, data, asked, separated)
        notes += said
        if fit is not None:
            return fit, notes
        notes.append(f"{formula} {problem}")
    raise FitError(
        f"no model could be fitted that can be trusted: {'; '.join(notes)}. Look for a system, participant or category "
        "with hardly any rating, merge rare categories, or try another model (lmer, or clm without random effects)"
    )


def _try(
    model: str, formula: str, data: pa.Table, asked: Request, separated: bool
) -> tuple[Fit | None, str, list[str]]:
    """Return a fit that can be trusted, or what is wrong with it, and what to say of a good one."""
    options: dict[str, Any] = {"engine": asked.engine, "timeout": asked.timeout}
    if KINDS[model].ordinal:
        options["link"] = asked.link
    starts: list[dict[str, Any]] = [{}]
    if model == "clmm" and asked.engine == "r":
        starts = [{"start": "fast"}, {}]
    problem = "could not be fitted"
    for start in starts:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                fit: Fit = getattr(api, model)(formula, data, **options, **start)
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
        short = [c.text for c in fit.estimates.conditions if c.text.startswith(SHORT)]
        if short and asked.engine == "r":
            fit = getattr(api, model)(formula, data, **options | {"engine": "fast"})
        if fit.n_obs < PER_PARAMETER * fit.estimates.edf:
            return None, f"has {fit.estimates.edf} parameters for {fit.n_obs} ratings, which are too few", []
        if fit.converged or separated:
            said = ["R's optimiser was started at the optimum of the native engine"] if start else []
            said += [f"{short[0].partition(': ')[0]}: so the native fit was used"] if short else []
            return fit, "", said
        words = "; ".join(c.text for c in fit.estimates.conditions if c.kind == "warning")
        problem = f"did not converge ({words})" if words else "did not converge"
    return None, problem, []


def _separated(ready: pa.Table, scale: Scale) -> list[str]:
    """Say which system is rated in such a way that no finite coefficient describes it."""
    used, codes = np.unique(_as_numbers(ready, scale)["rating"].to_numpy(), return_inverse=True)
    labels = dict(zip(scale.scores, scale.labels, strict=False))
    names = [labels.get(float(score), f"{score:g}") for score in used]
    systems = np.array(ready["system"].to_pylist(), dtype=object)
    counts = {
        str(system): np.bincount(codes[systems == system], minlength=len(used)).tolist()
        for system in dict.fromkeys(systems)
    }
    return separated_levels(names, counts, np.bincount(codes).tolist())


def _test(fit: Fit, structure: ChosenModel, separated: Sequence[str], wanted: str) -> str:
    """Choose the test that holds for this model and design (docs/inference.md)."""
    if wanted == "t" and fit.problem.model == "clm":
        raise InputError("test='t' is for lm, lmer and clmm; for clm use 'lrt' or 'wald'")
    if wanted != "auto":
        return wanted
    if not fit.problem.ordinal:
        return "t"
    if structure.few or any("method='bootstrap'" in condition.text for condition in fit.estimates.conditions):
        return "bootstrap"
    if separated:
        return "lrt"
    return "t" if needs_student(fit) else "wald"


def _draws(work: int) -> int:
    """Return how many draws a bootstrap has: fewer where more ratings have to be fitted, for about two minutes."""
    return int(np.clip(DRAWS * WORK / work, FEWEST_DRAWS, DRAWS))


def _few(fit: Fit, structure: ChosenModel) -> tuple[str, ...]:
    """Return the groups with few levels, with their numbers."""
    sizes = {term.group: len(term.levels) for term in fit.estimates.random if ":" not in term.group}
    few = structure.few or [group for group, levels in sizes.items() if levels < FEW]
    return tuple(f"{sizes[group]} {group}s" for group in few if group in sizes)


def _check_estimable(fit: Fit, found: Effects) -> None:
    if fit.estimates.dropped:
        raise InputError(
            f"some systems cannot be told from other predictors ({', '.join(fit.estimates.dropped)} was dropped as "
            "aliased); leave these out of the formula"
        )
    if not np.isfinite(found.estimate).all():
        raise FitError(f"{fit.problem.formula} has no finite expected ratings")


def _pairs(found: Effects, reference: str | None) -> list[tuple[int, int]]:
    """Return the pairs to compare, the higher mean first, or every other system with the reference."""
    if reference is not None:
        base = found.cells.index(reference)
        return [(k, base) for k in _ranked(found) if k != base]
    order = _ranked(found)
    return [(i, j) for n, i in enumerate(order) for j in order[n + 1 :]]


def _ranked(found: Effects) -> list[int]:
    return [int(k) for k in np.argsort(-found.estimate[: len(found.cells)], kind="stable")]


def _superiority(fit: Fit, found: Effects, compared: Differences) -> tuple[np.ndarray, np.ndarray]:
    """Return the probability that a rating of the first system is above one of the second, ties split, and its error.

    In a linear model that is Φ(d/√(v₁ + v₂)), with v the variances of ratings by new participants of new items.
    """
    from scipy import stats

    if not fit.problem.ordinal:
        spread = np.sqrt([found.variance[i] + found.variance[j] for i, j in compared.pairs])
        z = compared.estimate / spread
        return stats.norm.cdf(z), stats.norm.pdf(z) / spread * compared.error
    chances = effects(fit, "system", on="probability")
    first = len(chances.lines) - len(chances.pairs)
    error = np.sqrt(np.maximum(np.diag(chances.covariance)[first:], 0.0))
    place = {pair: k for k, pair in enumerate(chances.pairs)}
    value, its_error = np.empty((2, len(compared.pairs)))
    for row, (i, j) in enumerate(compared.pairs):
        k = place.get((i, j), place.get((j, i), 0))
        chance = chances.estimate[first + k]
        value[row] = chance if (i, j) in place else 1.0 - chance
        its_error[row] = error[k]
    return value, its_error


def _degrees(ready: pa.Table, scale: Scale, fit: Fit, found: Effects, pairs: Sequence[tuple[int, int]]) -> np.ndarray:
    """Return the degrees of freedom of expected ratings, then of the pairs; infinite for z."""
    k = len(found.cells)
    if fit.problem.model == "clmm":
        between = np.array([found.combinations[i] - found.combinations[j] for i, j in pairs])
        L = np.vstack([found.combinations, between])
        L = np.column_stack([np.repeat([1.0, 0.0], [k, len(pairs)]), L])
        return degrees_of_freedom(fit, _as_numbers(ready, scale), L) if needs_student(fit) else np.full(len(L), np.inf)
    place = {frozenset(pair): k + row for row, pair in enumerate(found.pairs)}
    rows = [*range(k), *(place[frozenset(pair)] for pair in pairs)]
    return np.where(np.isnan(found.df[rows]), np.inf, found.df[rows])


def _mean_intervals(
    scale: Scale, found: Effects, df: np.ndarray, conf_level: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the intervals of expected ratings, and their standard errors."""
    from scipy import stats

    k = len(found.cells)
    error = np.sqrt(np.maximum(np.diag(found.covariance)[:k], 0.0))
    error = np.where(error > 0, error, np.nan)
    width = stats.t.ppf(0.5 + conf_level / 2, df) * error
    mean = found.estimate[:k]
    low, high = scale.scores[0], scale.scores[-1]
    if scale.ordinal:  # no interval leaves the scale
        return np.maximum(mean - width, low), np.minimum(mean + width, high), error
    return mean - width, mean + width, error
