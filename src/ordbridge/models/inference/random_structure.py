"""Which random effects? The maximal ones that a design can tell apart, and those of them that the data support.

A grouping factor has an intercept if it has enough levels and some of them more than one rating. It has a slope of a
predictor if the predictor varies within its levels and some level has more than one rating at one value of it; without
that a slope cannot be told from the residuals (Barr et al. 2013). For slopes of a factor every two levels must occur
together in some levels of the group, or their covariance is not identified; one variance of an interaction does not
need that. From there slopes are left out one by one, each time
the one whose likelihood ratio test has the largest p-value, until all that are left have p ≤ .2 (Matuschek et al.
2017). Intercepts stay: they are the design. A slope goes with its correlations, because for factors what is
uncorrelated depends on how levels are coded. The null hypothesis of a variance lies on the boundary, so that the test
is conservative; the high level makes up for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from ordbridge.errors import FitError, InputError
from ordbridge.formula import Bar, Binary, Formula, Name, Number, Summand, quote
from ordbridge.models.columns import Column
from ordbridge.models.engines import engine_module, engine_name
from ordbridge.models.groups import grouping
from ordbridge.models.prepare import prepare
from ordbridge.models.problem import Estimates, Problem
from ordbridge.reading.tables import to_arrow
from ordbridge.support.arguments import choice, proportion
from ordbridge.support.columns import columns

Structure = dict[str, tuple[str, ...]]  # per grouping factor the predictors with slopes
BOTH = 3  # so many levels of a group must have two levels of a factor, for their covariance to mean anything


@dataclass(frozen=True, eq=False)
class RandomEffects:
    """Two random structures, and how one led to the other.

    Attributes
    ----------
    maximal, supported
        Formulas: with all random effects that the design identifies, and with those that the data support.
    identified
        group, effect, identified, reason: what the design can tell apart.
    steps
        step, formula, left_out, loglik, edf, statistic, df, p_value, kept: every model that was tried, and which of a
        step the search went on with.
    """

    maximal: str
    supported: str
    identified: pa.Table
    steps: pa.Table

    def __str__(self) -> str:
        """Say both in two lines."""
        return f"maximal: {self.maximal}\nsupported by the data: {self.supported}"


def random_effects(
    data: Any,
    response: str = "rating",
    predictors: str | Sequence[str] = "system",
    groups: Sequence[str] = ("participant", "item"),
    model: str = "clmm",
    alpha: float = 0.2,
    *,
    engine: str = "fast",
    slopes_up_to: int | None = None,
    **options: Any,
) -> RandomEffects:
    """Find the random effects that a design identifies, and those that the data support.

    Parameters
    ----------
    data
        Ratings, in any form of table.
    response, predictors, groups
        Columns: the rating, what is compared, and whose effects are random.
    model
        ``"clmm"`` or ``"lmer"``, which is fitted by maximum likelihood.
    alpha
        A slope stays if its likelihood ratio test has a p-value of at most this.
    engine
        Which engine fits.
    slopes_up_to
        A factor with more levels than this has one variance of its interaction with the group,
        ``(1 | group) + (1 | group:factor)``, in place of slopes: of k levels these have k (k + 1)/2 variances and
        covariances, which few participants cannot tell apart and R takes long to find. ``None``: always slopes.
    options
        Options of the model, such as ``link``.

    References
    ----------
    Barr, D. J., Levy, R., Scheepers, C. & Tily, H. J. (2013). Random effects structure for confirmatory hypothesis
    testing: keep it maximal. Journal of Memory and Language 68, 255–278.
    Matuschek, H., Kliegl, R., Vasishth, S., Baayen, H. & Bates, D. (2017). Balancing Type I error and power in linear
    mixed models. Journal of Memory and Language 94, 305–315.

    Examples
    --------
    >>> import ordbridge as ob
    >>> plan = ob.design.crossed(items=10, raters=6)
    >>> truth = ob.simulate.Truth(effects=0.3, thresholds=(-1, 0, 1), item_sd=(0.8, 0))
    >>> print(ob.random_effects(ob.simulate.ratings(plan, truth, seed=1)))
    maximal: rating ~ system + (system | participant) + (system | item)
    supported by the data: rating ~ system + (1 | participant) + (1 | item)
    """
    choice("model", model, ("clmm", "lmer"))
    proportion("alpha", alpha)
    names = (predictors,) if isinstance(predictors, str) else tuple(predictors)
    defaults = {"link": "logit", "threshold": "flexible", "nAGQ": 1} if model == "clmm" else {"ddf": "Satterthwaite"}
    options = defaults | options | ({"REML": False} if model == "lmer" else {})
    if not names or not groups:
        raise InputError("give at least one predictor and one grouping factor")
    fixed = " + ".join(map(quote, names))
    bars = " + ".join(f"(1 | {quote(group)})" for group in groups)
    problem = prepare(model, f"{quote(response)} ~ {fixed} + {bars}", to_arrow(data), **options)
    crossed = frozenset(name for name in names if _levels(problem.columns[name]) > (slopes_up_to or np.inf))
    identified = _identified(problem, names, groups, crossed)
    structure: Structure = {}
    for row in identified:
        if row["identified"]:
            slopes = structure.setdefault(row["group"], ())
            if row["effect"] != "intercept":
                structure[row["group"]] = (*slopes, row["effect"])
    if not structure:
        raise InputError(f"no random effect can be told apart in this design: {identified[0]['reason']}")
    steps = _backward(problem, structure, crossed, alpha, engine_name(engine))
    kinds = {"group": pa.string(), "effect": pa.string(), "identified": pa.bool_(), "reason": pa.string()}
    return RandomEffects(
        maximal=steps[0]["formula"],
        supported=next(row["formula"] for row in reversed(steps) if row["kept"]),
        identified=pa.Table.from_pylist(identified, schema=pa.schema(kinds)),
        steps=pa.Table.from_pylist(steps, schema=pa.schema(STEP_KINDS)),
    )


STEP_KINDS = columns(
    "step: count; formula left_out: text; loglik: number; edf: count; statistic: number; df: count; "
    "p_value: number; kept: truth"
)


def _identified(
    problem: Problem, predictors: Sequence[str], groups: Sequence[str], crossed: frozenset[str]
) -> list[dict[str, Any]]:
    fewest = 3 if problem.model == "clmm" else 2
    used = ~np.any([problem.columns[name].missing for name in problem.formula.columns], axis=0)
    rows: list[dict[str, Any]] = []
    for group in groups:
        level = grouping(Name(group), problem.columns).values[used]
        levels, counts = np.unique(level, return_counts=True)
        reason = ""
        if levels.size < fewest:
            reason = f"{group} has {levels.size} levels, and at least {fewest} are needed"
        elif counts.max() < 2:
            reason = f"no level of {group} has two ratings"
        rows.append({"group": group, "effect": "intercept", "identified": not reason, "reason": reason})
        for predictor in predictors:
            why = reason or _slope_problem(
                group, level, predictor, problem.columns[predictor], used, predictor in crossed
            )
            rows.append({"group": group, "effect": predictor, "identified": not why, "reason": why})
    return rows


def _slope_problem(
    group: str, level: np.ndarray, predictor: str, column: Column, used: np.ndarray, crossed: bool
) -> str:
    """Return why a slope, or one variance of the interaction, cannot be told apart; nothing if it can."""
    _, value = np.unique(column.values[used], return_inverse=True)
    cells, counts = np.unique(np.column_stack([level, value]), axis=0, return_counts=True)
    if np.unique(cells[:, 0], return_counts=True)[1].max() < 2:
        return f"{predictor} does not vary within {group}"
    if column.kind != "numeric" and counts.max() < 2:
        return f"no level of {group} has two ratings at one level of {predictor}"
    if crossed:
        return ""
    if column.kind != "numeric" and (apart := _apart(cells, column, used)):
        return f"{apart[2]} levels of {group} have both {predictor} {apart[0]} and {apart[1]}, and {BOTH} are needed"
    columns = 2 if column.kind == "numeric" else np.unique(value).size
    if np.unique(level).size * columns > level.size:
        return f"there would be more random effects of {group} than ratings"
    return ""


def _apart(cells: np.ndarray, column: Column, used: np.ndarray) -> tuple[str, str, int] | None:
    """Return two levels of a predictor that too few levels of a group have in common, and how many have."""
    seen = np.zeros((cells[:, 0].max() + 1, cells[:, 1].max() + 1), dtype=int)
    seen[cells[:, 0], cells[:, 1]] = 1
    common = seen.T @ seen
    first, second = np.triu_indices(len(common), 1)
    worst = int(np.argmin(common[first, second]))
    i, j = int(first[worst]), int(second[worst])
    if common[i, j] >= BOTH:
        return None
    names = column.levels if column.kind == "factor" else ("FALSE", "TRUE")
    values = np.unique(column.values[used])
    return names[values[i]], names[values[j]], int(common[i, j])


def _levels(column: Column) -> int:
    """Return how many levels of a factor occur; a numeric predictor has none."""
    return 0 if column.kind == "numeric" else np.unique(column.values[~column.missing]).size


def _backward(
    problem: Problem, structure: Structure, crossed: frozenset[str], alpha: float, engine: str
) -> list[dict[str, Any]]:
    """Leave slopes out as long as one has a p-value above alpha; return every model that was tried."""
    from scipy import stats

    fits = engine_module(engine)
    current = _with(problem, structure, crossed)
    found: Estimates = fits.fit(current)
    steps = [_step(0, current, None, found) | {"kept": True}]
    step = 0
    while any(structure.values()):
        step += 1
        tried = []
        for group, slopes in structure.items():
            for slope in slopes:
                smaller = structure | {group: tuple(other for other in slopes if other != slope)}
                candidate = _with(problem, smaller, crossed)
                try:
                    less: Estimates = fits.fit(candidate)
                except FitError:
                    continue
                statistic, df = max(0.0, 2.0 * (found.loglik - less.loglik)), found.edf - less.edf
                p = float(stats.chi2.sf(statistic, df))
                row = _step(step, candidate, f"{slope} | {group}", less) | {
                    "statistic": statistic,
                    "df": df,
                    "p_value": p,
                }
                tried.append((p, row | {"kept": False}, smaller, less))
        if not tried:
            break
        best = max(range(len(tried)), key=lambda k: tried[k][0])
        p, row, smaller, less = tried[best]
        row["kept"] = p > alpha
        steps += [one[1] for one in tried]
        if p <= alpha:
            break
        structure, found = smaller, less
    return steps


def _step(step: int, problem: Problem, left_out: str | None, found: Estimates) -> dict[str, Any]:
    return {
        "step": step,
        "formula": str(problem.formula),
        "left_out": left_out,
        "loglik": found.loglik,
        "edf": found.edf,
    }


def _with(problem: Problem, structure: Mapping[str, tuple[str, ...]], crossed: frozenset[str]) -> Problem:
    """Return the problem with these slopes; those of ``crossed`` predictors are interactions with the group."""
    bars = []
    one = (Summand("+", Number("1")),)
    for group, predictors in structure.items():
        slopes = tuple(Summand("+", Name(name)) for name in predictors if name not in crossed)
        bars.append(Bar(slopes or one, Name(group)))
        bars += [Bar(one, Binary(":", Name(group), Name(name))) for name in predictors if name in crossed]
    formula = Formula(problem.formula.response, problem.formula.fixed, tuple(bars))
    return replace(problem, formula=formula)
