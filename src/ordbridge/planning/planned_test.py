"""The test of a plan on a table of ratings: the same for simulated studies and for the real one.

``"z"``
    Wald's z of an ordinal model (clm, clmm) for the difference of two systems.
``"t"``
    Student's t of a linear model, of a mixed one with Satterthwaite's degrees of freedom for this very pair.
``"lrt"``
    The likelihood ratio test of any difference between systems, by maximum likelihood.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ordbridge.errors import InputError
from ordbridge.formula import Number, Summand, names, parse
from ordbridge.models.engines import engine_module
from ordbridge.models.prepare import prepare
from ordbridge.models.problem import Estimates
from ordbridge.power.models import Model
from ordbridge.support.formatting import listed
from ordbridge.support.naming import arg

TESTS = ("z", "t", "lrt")
ROLES = ("participant", "item", "system", "rating", "criterion")
SMALLEST = 1e-300  # p-value: beyond it there is no normal score


class Score(NamedTuple):
    """What the test of a pair of systems says: how far the second is above the first."""

    estimate: float
    std_error: float
    p_value: float
    converged: bool = True

    @classmethod
    def of(cls, found: Estimates, term: str) -> Score:
        """Return what a coefficient says."""
        at = found.terms.index(term)
        estimate, error, p = (float(values[at]) for values in (found.estimate, found.std_error, found.p_value))
        return cls(estimate, error, p, bool(found.converged))

    @property
    def z(self) -> float:
        """The normal score of the p-value, with the sign of the estimate."""
        from scipy.stats import norm

        return float(np.sign(self.estimate) * norm.isf(max(self.p_value, SMALLEST) / 2))

    @property
    def error_of_z(self) -> float:
        """The standard error that a normal statistic of this size would have."""
        return self.estimate / self.z if abs(self.z) > 1e-6 else self.std_error


@dataclass(frozen=True, eq=False)
class PlannedTest:
    """Ratings and the model that tests their systems.

    Parameters
    ----------
    model
        What is fitted; its term does not matter.
    ratings
        One row per rating, with the columns of the formula.
    systems
        Their names, in the order of the model.
    engine, timeout
        Who fits, and for how long at most.
    """

    model: Model
    ratings: pa.Table
    systems: Sequence[str]
    engine: str
    timeout: float | None = None

    @cached_property
    def full(self) -> Estimates:
        """The fit with the first system as the reference."""
        return self._fit(self.model)

    def any_difference(self) -> tuple[float, Estimates]:
        """Return the p-value of the likelihood ratio test of any difference, and the larger fit.

        REML likelihoods of different fixed effects cannot be compared, so a linear mixed model is fitted by maximum
        likelihood, as R's ``anova`` does.
        """
        from scipy.stats import chi2

        model = replace(self.model, REML=False)
        full = self._fit(model)
        null = self._fit(replace(model, formula=_without_system(model.formula, self.ratings.column_names)))
        return float(chi2.sf(max(0.0, 2 * (full.loglik - null.loglik)), full.edf - null.edf)), full

    def pair(self, low: str, high: str) -> Score:
        """Return the test of a pair: how far ``high`` is above ``low``.

        Satterthwaite's degrees of freedom belong to one contrast, so an lmer is fitted again with another reference.
        """
        from scipy.stats import norm, t

        first = self.systems[0]
        if low == first or self.model.kind == "lmer":
            found = self.full if low == first else self._fit(self.model, reference=low)
            return Score.of(found, f"system{high}")
        full = self.full
        weights = np.zeros(len(full.terms))
        weights[full.terms.index(f"system{low}")] = -1.0
        if high != first:
            weights[full.terms.index(f"system{high}")] = 1.0
        estimate, error = float(weights @ full.estimate), math.sqrt(weights @ full.vcov @ weights)
        df = full.df[full.terms.index(f"system{low}")]
        p = 2 * (norm.sf(abs(estimate / error)) if np.isnan(df) else t.sf(abs(estimate / error), df))
        return Score(estimate, error, float(p), bool(full.converged))

    def pairs(self) -> dict[str, float]:
        """Return the p-value of every pair by its name."""
        return {pair_name(low, high): self.pair(low, high).p_value for low, high in combinations(self.systems, 2)}

    def _fit(self, model: Model, reference: str | None = None) -> Estimates:
        order = [reference, *(name for name in self.systems if name != reference)] if reference else list(self.systems)
        table = with_systems_in_order(self.ratings, order)
        problem = prepare(model.kind, model.formula, table, **model.options, timeout=self.timeout)
        found: Estimates = engine_module(self.engine).fit(problem)
        return found


def pair_name(low: str, high: str) -> str:
    """Return what a pair is called.

    Examples
    --------
    >>> pair_name("A", "B")
    'B - A'
    """
    return f"{high} - {low}"


def with_systems_in_order(table: pa.Table, order: Sequence[str]) -> pa.Table:
    """Return ratings whose systems are a factor with these levels."""
    systems = table["system"].cast(pa.string())
    codes = pc.index_in(systems, value_set=pa.array(order)).combine_chunks()
    place = table.column_names.index("system")
    return table.set_column(place, "system", pa.DictionaryArray.from_arrays(codes, pa.array(order)))


def usable(ratings: pa.Table, tested: Sequence[str]) -> pa.Table:
    """Return the ratings that the planned analysis counts.

    What has no participant, item, system or rating, and rows that repeat another in every column, are left out. Ratings
    that are words become numbers from 1 on.
    """
    there = [name for name in ROLES if name in ratings.column_names]
    if missing := [name for name in ("system", "rating") if name not in there]:
        raise InputError(f"the ratings have no column {missing[0]}; say which one it is with {arg(missing[0])}")
    rating = ratings["rating"]
    if pa.types.is_dictionary(rating.type):
        codes = rating.unify_dictionaries().combine_chunks().indices.cast(pa.int64())
        ratings = ratings.set_column(ratings.column_names.index("rating"), "rating", pc.add(codes, 1))
    for name in there:
        if name != "criterion":
            ratings = ratings.filter(pc.is_valid(ratings[name]))
    seen: set[str] = set()
    first = []
    for row in zip(*(ratings[name].to_pylist() for name in ratings.column_names), strict=True):
        first.append(repr(row) not in seen)
        seen.add(repr(row))
    ratings = ratings.filter(pa.array(first, pa.bool_()))
    systems = sorted(set(map(str, ratings["system"].to_pylist())))
    if missing := sorted(set(tested) - set(systems)):
        raise InputError(
            f"the plan tests {listed(missing)}, but the ratings have only {listed(systems)}; rename the systems in the "
            f"file, or plan with {arg('names')} as in the file"
        )
    return ratings


def _without_system(formula: str, columns: Sequence[str]) -> str:
    """Return the formula without the fixed effects of the systems; their random slopes stay."""
    parsed = parse(formula, columns)
    kept = tuple(summand for summand in parsed.fixed if "system" not in set(names(summand.term)))
    return str(replace(parsed, fixed=kept or (Summand("+", Number("1")),)))
