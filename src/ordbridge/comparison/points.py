"""Differences in rating points: how much higher a new rater would rate a new item of one system than of another.

Each pair of systems is compared on its own ratings by a linear mixed model with every random effect that the design of
the two identifies, and Satterthwaite's t. A linear model estimates expected ratings without bias however ratings are
distributed, and slopes of participants and items give each pair its own spread: so the test is about the difference in
points also where systems spread differently, where an ordinal model's test answers another question. Without
participants and items that repeat, it is Welch's t test.

Expected ratings come from one linear mixed model of all systems. With three systems or more a pair has two tests, that
of its own model and that of the model of all, and the larger p-value counts: three raters cannot tell a pair's own
spread well enough for the small levels of a correction, and a spread that is common to all systems is wrong where they
differ. With more than four systems the model of all decides alone, except for pairs that spread clearly more than
systems do on average: Holm's correction over many pairs absorbs smaller differences in spread, and pairs' own models
would find a fifth less. A pair without common participants or items is compared through the other systems, in the
model of all. How
often the result finds what is not there, with 3 to 30 raters, is measured by
``benchmarks/compare_size.py`` and ``benchmarks/many_systems_size.py``; what else was tried is in ``docs/inference.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from ordbridge.comparison.exact import ExactTest, exact_test
from ordbridge.errors import FitError, FitTimeout, InputError
from ordbridge.formula import quote
from ordbridge.models.fit import Fit
from ordbridge.models.inference.marginal_means import effects
from ordbridge.support.formatting import listed

BOTH = 3  # so many levels must have both systems, for their differences to have a variance
MANY = 4  # with more systems than these the model of all systems decides
WIDER = 1.6  # mean variance of a pair over that of all systems, from which on the pair's own model counts, too
LEAST_DF = 1.0  # Satterthwaite's degrees of freedom are at least this
NO_ERROR = 1e-7  # of the range of the ratings: a standard error below it means that nothing varies
FIRST, SECOND = "first", "second"  # columns that mark the systems where nobody saw both

Fitter = Callable[[str, str, pa.Table], Fit]
"""Fits a model, ``"lmer"`` or ``"lm"``, by a formula to a table; raises FitError where it has no answer to trust."""


@dataclass(frozen=True)
class Levels:
    """What a design says about participants, or about items: terms for them, and whether the answer is about these."""

    fixed: bool = False
    bars: tuple[str, ...] = ()
    about: int | None = None
    """How many there are, where they are so few that the answer is about these."""


@dataclass(frozen=True, eq=False)
class PairTest:
    """The difference of two systems, the second's minus the first's."""

    difference: float
    std_error: float
    df: float
    test: str
    """``"t"`` of a linear mixed model, ``"welch"``, ``"exact"``; ``"none"`` if the design cannot tell them apart."""
    formula: str
    about: Mapping[str, int]
    """Participants or items so few that the answer is about these, with their number."""
    exact: ExactTest | None = None
    fit: Fit | None = None
    problem: str = ""

    @property
    def p_value(self) -> float:
        """Of the two-sided test."""
        from scipy import stats

        if self.exact is not None:
            return self.exact.p_value
        return float(2.0 * stats.t.sf(abs(self.difference / self.std_error), self.df))


@dataclass(frozen=True, eq=False)
class ExpectedRatings:
    """Expected ratings of systems, with the model they come from (none where no rating varies)."""

    estimate: np.ndarray
    std_error: np.ndarray
    df: np.ndarray
    covariance: np.ndarray
    formula: str
    fit: Fit | None
    between: Mapping[tuple[int, int], tuple[float, float, float]]
    """For each pair of systems, by place, the first's minus the second's: difference, standard error, df."""
    problem: str = ""

    def pair(self, i: int, j: int) -> PairTest | None:
        """Return the test of a pair in the model of all systems, the first's mean minus the second's."""
        sign = 1.0 if (i, j) in self.between else -1.0
        known = self.between.get((i, j)) or self.between.get((j, i))
        if known is None or not (np.isfinite(known[1]) and known[1] > 0):
            return None
        difference, error, df = known
        return PairTest(sign * difference, error, df, "t", self.formula, {}, fit=self.fit)


def levels_of(group: str, codes: np.ndarray, system: np.ndarray, *, pair: bool) -> Levels:
    """Say which terms the design identifies for the levels of one group.

    Parameters
    ----------
    group
        ``"participant"`` or ``"item"``.
    codes, system
        Of each rating, from 0 on.
    pair
        Whether two systems are compared: then groups of which nobody saw both systems have a variance for each.

    Raises
    ------
    InputError
        Two levels, and each has one system only: what is whose cannot be told.

    References
    ----------
    Barr, D. J., Levy, R., Scheepers, C. & Tily, H. J. (2013). Random effects structure for confirmatory hypothesis
    testing: keep it maximal. Journal of Memory and Language 68, 255–278.

    Examples
    --------
    >>> rater, system = np.repeat([0, 1, 2], 4), np.tile([0, 1], 6)
    >>> levels_of("participant", rater, system, pair=True).bars
    ('(system | participant)',)
    >>> levels_of("participant", np.repeat([0, 1], 6), system, pair=True)
    Levels(fixed=True, bars=(), about=2)
    """
    counts = np.zeros((codes.max() + 1, system.max() + 1), dtype=int)
    np.add.at(counts, (codes, system), 1)
    levels, seen = len(counts), counts > 0
    if levels == 1:
        return Levels(about=1)
    if counts.sum(axis=1).max() == 1:
        return Levels()  # every rating has another: nothing to be told apart
    within = seen.sum(axis=1).max() > 1
    if levels == 2:
        if within:
            return Levels(fixed=True, about=2)
        verb = "was seen under" if group == "item" else "rated"
        raise InputError(
            f"there are 2 {group}s, and each {verb} one system only, so systems and {group}s cannot be told apart"
        )
    if not within and levels == counts.shape[1]:
        raise InputError(
            f"every system has one {group} of its own, so systems and {group}s cannot be told apart. "
            f"Let {group}s share systems, or have several for each"
        )
    if not within:
        apart = pair and seen.sum(axis=0).min() > 1
        return Levels(bars=tuple(f"(0 + {name} | {group})" for name in (FIRST, SECOND)) if apart else _intercept(group))
    shared = (seen.T.astype(int) @ seen)[np.triu_indices(counts.shape[1], 1)].min()
    slopes = counts.shape[1] == 2 and shared >= BOTH and 2 * levels < counts.sum()
    if counts.max() < 2:
        return Levels(bars=_intercept(group))
    if slopes:
        return Levels(bars=(f"(system | {group})",))
    interaction = counts.shape[1] > 2 and seen.sum() < counts.sum()
    return Levels(bars=(*_intercept(group), *([f"(1 | {group}:system)"] if interaction else [])))


def _intercept(group: str) -> tuple[str, ...]:
    return (f"(1 | {group})",)


def compare_pair(
    rating: np.ndarray,
    second: np.ndarray,
    groups: Mapping[str, np.ndarray],
    widest: float,
    fitter: Fitter,
    known: PairTest | None = None,
    beside: Mapping[str, np.ndarray] | None = None,
) -> PairTest:
    """Test the difference in points of two systems, for new participants and items.

    Parameters
    ----------
    rating, second
        Ratings of the two as numbers, and which are of the second system.
    groups
        For participants and items, where there are such, a code for each rating.
    widest
        The largest difference that the scale has; an exact interval ends there.
    fitter
        Fits linear models.
    known
        A test of the pair by a formula that need not be fitted again.
    beside
        Further predictors: blocks as names, covariates as numbers.

    References
    ----------
    Satterthwaite, F. E. (1946). An approximate distribution of estimates of variance components. Biometrics Bulletin
    2, 110–114.
    Welch, B. L. (1947). The generalization of "Student's" problem when several different population variances are
    involved. Biometrika 34, 28–35.
    """
    own = {name: np.unique(codes, return_inverse=True)[1] for name, codes in groups.items()}
    if np.ptp(rating[second]) == 0 or np.ptp(rating[~second]) == 0:
        return _exactly(rating, second, own, widest)
    more = {name: values for name, values in (beside or {}).items() if len(set(values.tolist())) > 1}
    try:
        terms = {name: levels_of(name, codes, second.astype(int), pair=True) for name, codes in own.items()}
        if _confounded(terms, own, second, more):
            parts = listed(["participants and items", *more])
            raise InputError(f"systems cannot be told from their {parts}")
    except InputError as failure:
        difference = float(rating[second].mean() - rating[~second].mean())
        return PairTest(difference, np.nan, np.nan, "none", "", {}, problem=str(failure))
    about = {name: one.about for name, one in terms.items() if one.about is not None}
    fixed = [name for name, one in terms.items() if one.fixed]
    bars = [bar for one in terms.values() for bar in one.bars]
    if not fixed and not bars and not more:
        found = _welch(rating, second, about)
    else:
        formula = f"rating ~ {' + '.join(['system', *map(quote, more), *fixed, *bars])}"
        if known is not None and known.formula == formula:
            found = replace(known, about=about)
        else:
            found = _linear("lmer" if bars else "lm", formula, rating, second, own, about, fitter, more)
    usable = np.isfinite(found.std_error) and found.std_error > NO_ERROR * np.ptp(rating)
    return found if usable else _exactly(rating, second, own, widest)


def _exactly(rating: np.ndarray, second: np.ndarray, groups: Mapping[str, np.ndarray], widest: float) -> PairTest:
    several = {name: codes for name, codes in groups.items() if codes.max() > 0}
    found = exact_test(rating, second, several, widest)
    alone = {name: 1 for name in groups if name not in several}
    about = alone | {name: int(groups[name].max()) + 1 for name in found.about}
    return PairTest(found.difference, np.nan, np.inf, "exact", "", about, exact=found)


def _confounded(
    terms: Mapping[str, Levels], groups: Mapping[str, np.ndarray], second: np.ndarray, beside: Mapping[str, np.ndarray]
) -> bool:
    """Tell whether the system cannot be told from fixed effects."""
    columns = [np.ones(len(second))]
    for name, one in terms.items():
        if one.fixed:
            columns.append(groups[name].astype(float))
    for values in beside.values():
        if values.dtype.kind == "f":
            columns.append(values)
        else:
            columns += [(values == one).astype(float) for one in sorted(set(values.tolist()))[1:]]
    rank = np.linalg.matrix_rank
    return bool(rank(np.column_stack([*columns, second])) == rank(np.column_stack(columns)))


def _factor(codes: np.ndarray, first: int = 0) -> pa.DictionaryArray:
    """Return codes as a factor with the levels ``first``, ``first + 1``, …, in this order."""
    levels = [str(first + k) for k in range(int(codes.max()) + 1)]
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(levels))


def _linear(
    model: str,
    formula: str,
    rating: np.ndarray,
    second: np.ndarray,
    groups: Mapping[str, np.ndarray],
    about: Mapping[str, int],
    fitter: Fitter,
    beside: Mapping[str, np.ndarray],
) -> PairTest:
    labels = {name: _factor(codes) for name, codes in groups.items()}
    table = pa.table(
        {"rating": rating, "system": _factor(second.astype(int), first=1), FIRST: (~second).astype(float),
         SECOND: second.astype(float), **labels, **_columns(beside)}
    )  # fmt: skip
    try:
        fit = fitter(model, formula, table)
    except FitTimeout:
        raise
    except FitError:
        return PairTest(np.nan, np.nan, np.nan, "t", formula, about)
    e = fit.estimates
    place = e.position("system2")
    if place is None:
        return PairTest(np.nan, np.nan, np.nan, "t", formula, about, fit=fit)
    fewest = min((int(codes.max()) for codes in groups.values()), default=1)  # levels less one
    df = float(e.df[place]) if np.isfinite(e.df[place]) else float(fewest)
    return PairTest(
        float(e.estimate[place]), float(e.std_error[place]), max(df, LEAST_DF), "t", formula, about, fit=fit
    )


def _welch(rating: np.ndarray, second: np.ndarray, about: Mapping[str, int]) -> PairTest:
    """Compare two independent samples of unequal spread."""
    parts = [rating[~second], rating[second]]
    n = np.array([len(part) for part in parts])
    variance = np.array([part.var(ddof=1) if len(part) > 1 else np.nan for part in parts])
    variance = np.where(np.isnan(variance), np.nanmax(variance) if (n > 1).any() else np.nan, variance)
    share = variance / n
    with np.errstate(divide="ignore", invalid="ignore"):
        df = share.sum() ** 2 / (share**2 / np.maximum(n - 1, 1)).sum()
    difference = float(parts[1].mean() - parts[0].mean())
    return PairTest(
        difference, float(np.sqrt(share.sum())), max(float(df), LEAST_DF), "welch", "rating ~ system", about
    )


def _columns(beside: Mapping[str, np.ndarray]) -> dict[str, pa.Array]:
    return {name: pa.array(values.tolist()) for name, values in beside.items()}


def expected_ratings(
    rating: np.ndarray,
    system: np.ndarray,
    names: Sequence[str],
    groups: Mapping[str, np.ndarray],
    fitter: Fitter,
    beside: Mapping[str, np.ndarray] | None = None,
) -> ExpectedRatings:
    """Return the expected rating of each system, for new participants and items.

    Parameters
    ----------
    rating, system
        Ratings as numbers, and the places of their systems among ``names``.
    names
        The systems.
    groups
        For participants and items, where there are such, a code for each rating.
    fitter
        Fits linear models.

    beside
        Further predictors: blocks as names, over which means are taken with equal weights, covariates as numbers.

    Raises
    ------
    InputError
        Two participants, or items, and each has one system only.
    """
    own = {name: np.unique(codes, return_inverse=True)[1] for name, codes in groups.items()}
    terms = {name: levels_of(name, codes, system, pair=False) for name, codes in own.items()}
    fixed = [name for name, one in terms.items() if one.fixed]
    bars = [bar for one in terms.values() for bar in one.bars]
    simple = [f"(1 | {name})" for name, one in terms.items() if one.bars]
    labels = {name: _factor(codes) for name, codes in own.items()}
    more = beside or {}
    table = pa.table({"rating": rating, "system": _factor(system), **labels, **_columns(more)})
    problem = ""
    predictors = ["system", *map(quote, more), *fixed]
    for formula in dict.fromkeys(f"rating ~ {' + '.join([*predictors, *one])}" for one in (bars, simple)):
        try:
            return means_of(fitter("lmer" if "|" in formula else "lm", formula, table), formula)
        except FitTimeout:
            raise
        except (FitError, InputError, np.linalg.LinAlgError) as failure:
            problem = str(failure)
    plain = np.array([rating[system == k].mean() for k in range(len(names))])
    unknown = np.full(len(names), np.nan)
    return ExpectedRatings(plain, unknown, unknown, np.full((len(names), len(names)), np.nan), "", None, {}, problem)


def means_of(fit: Fit, formula: str) -> ExpectedRatings:
    """Return the expected ratings of a linear model's systems, in the order of its levels."""
    found = effects(fit, "system")
    if fit.estimates.dropped:
        raise InputError(
            f"some systems cannot be told from other predictors ({', '.join(fit.estimates.dropped)} was dropped as "
            "aliased); leave these out of the formula"
        )
    if not np.isfinite(found.estimate).all():
        raise FitError(f"{formula} has no finite expected ratings")
    k = len(found.cells)
    error = np.sqrt(np.maximum(np.diag(found.covariance), 0.0))
    df = np.where(np.isfinite(found.df), np.maximum(found.df, LEAST_DF), np.inf)
    between = {
        pair: (float(found.estimate[row]), float(error[row]), float(df[row])) for row, pair in enumerate(found.pairs, k)
    }
    mean_error = np.where(error[:k] > 0, error[:k], np.nan)
    return ExpectedRatings(found.estimate[:k], mean_error, df[:k], found.covariance[:k, :k], formula, fit, between)


def point_tests(
    rating: np.ndarray,
    system: np.ndarray,
    groups: Mapping[str, np.ndarray],
    pairs: Sequence[tuple[int, int]],
    means: ExpectedRatings,
    widest: float,
    fitter: Fitter,
    beside: Mapping[str, np.ndarray] | None = None,
) -> list[PairTest]:
    """Test the difference of each pair, the first's mean minus the second's.

    Parameters
    ----------
    rating, system, groups, widest, fitter
        As for :func:`expected_ratings` and :func:`compare_pair`.
    pairs
        Places of systems.
    means
        Of the model of all systems.
    """
    systems = len(set(system.tolist()))
    several = systems > 2
    spread = spreads(rating, system, groups) if systems > MANY else None
    alone = {name: int(codes.max()) + 1 for name, codes in groups.items() if codes.max() < 2}
    seen = {name: _seen(codes, system) for name, codes in groups.items()}
    found = []
    for i, j in pairs:
        rows = (system == i) | (system == j)
        own = {name: codes[rows] for name, codes in groups.items()}
        joint = means.pair(i, j)
        if spread is not None and joint is not None and 0 < min(spread[i], spread[j]) <= spread[i] + spread[j] <= (
            2 * WIDER * spread.mean()
        ):  # fmt: skip
            found.append(replace(joint, about=alone))
            continue
        more = {name: values[rows] for name, values in (beside or {}).items()}
        one = compare_pair(rating[rows], system[rows] == i, own, widest, fitter, None if several else joint, more)
        if several and joint is not None and one.test != "exact":
            crossed = [where for where in seen.values() if where.sum(axis=1).max() > 1]
            apart = any((where[:, i] & where[:, j]).sum() < BOTH for where in crossed)
            if (apart and crossed) or (one.test != "none" and joint.p_value > one.p_value):
                one = replace(joint, about=one.about)
        found.append(one)
    return found


def _seen(codes: np.ndarray, system: np.ndarray) -> np.ndarray:
    """Return which levels of a group have which systems."""
    seen = np.zeros((codes.max() + 1, system.max() + 1), dtype=bool)
    seen[codes, system] = True
    return seen


def spreads(rating: np.ndarray, system: np.ndarray, groups: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the variance of each system's ratings about the mean of the system, of its participants and its items.

    Examples
    --------
    >>> rater, system = np.repeat([0, 1, 2, 3], 2), np.tile([0, 1], 4)
    >>> rating = np.array([1.0, 5.0, 2.0, 9.0, 3.0, 1.0, 4.0, 5.0])  # 1, 2, 3, 4 and 5, 9, 1, 5
    >>> spreads(rating, system, {"participant": rater}).round(2).tolist()
    [2.81, 2.81]
    """
    from scipy.sparse import csr_array, hstack
    from scipy.sparse.linalg import lsqr

    rows = np.arange(len(rating))
    ones = np.ones(len(rating))
    X = hstack([csr_array((ones, (rows, codes))) for codes in (system, *groups.values())])
    left = rating - X @ lsqr(X, rating, atol=1e-10, btol=1e-10)[0]
    k = int(system.max()) + 1
    constant = np.array([np.ptp(rating[system == one]) == 0 for one in range(k)])
    found: np.ndarray = np.bincount(system, left**2, k) / np.bincount(system, minlength=k)
    return np.where(constant, 0.0, found)
