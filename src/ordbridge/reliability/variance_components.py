"""Generalizability theory: how much of a rating is the text, the rater, the system, and what more raters would buy.

The variance of ratings is split into components by a mixed model in which everything is a random effect, so that gaps
are allowed. From the components follow the reliability of a single rating and of means over any numbers of raters and
items (the D-study), and the intraclass correlations of incomplete designs.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from ordbridge.errors import FitError, InputError
from ordbridge.models.api import clmm, lmer
from ordbridge.models.columns import Column
from ordbridge.models.engines import engine_module
from ordbridge.models.inference.resampling import with_response
from ordbridge.models.problem import Estimates, Problem
from ordbridge.reliability.intraclass import ICC_FORMS
from ordbridge.reliability.ratings import Ratings, prepare, require
from ordbridge.render import figures
from ordbridge.render.layout import Figures, Section, ShownPicture, ShownTable
from ordbridge.results import Finding, Result, found
from ordbridge.support.arguments import choice, proportion, whole
from ordbridge.support.formatting import interval_text, r_text

LATENT_RESIDUAL = np.pi**2 / 3  # variance of the logistic distribution, the residual of a cumulative logit model
MOST_RATINGS = 20_000  # that a model of items and raters takes in seconds; with systems:
MOST_WITH_SYSTEMS = 5_000
FEWEST_DRAWS = 20
LATENT_SIZE = 2  # times the size at which the spread of a latent reliability hardly depends on its value; by simulation
QUICK_DRAWS, QUICK_RATINGS, QUICK_WITH_SYSTEMS = 50, 20_000, 1_500  # a bootstrap in passing, and of how many ratings
ITEM, RATER, SYSTEM, TEXT, RESIDUAL = "item", "participant", "system", "text", "residual"


@dataclass(frozen=True, repr=False)
class Generalizability(Result):
    """Components of variance and the reliabilities that follow from them; see :func:`generalizability`.

    Attributes
    ----------
    components
        ``component``, ``variance``, ``share`` of the total. What one rating per text cannot tell apart from error is
        in the residual.
    reliability
        The D-study: ``object`` (what is to be told apart: texts or systems), ``kind`` (relative: their order;
        absolute: their level too), ``n_raters`` of each text, ``n_items``, ``estimate`` with its interval.
    icc
        The six intraclass correlations of a text's ratings, gaps or not: ``form``, ``estimate`` with its interval.
        Means are over as many ratings as a text has (their harmonic mean).
    draws
        One row per simulated set of ratings, one column per component: what intervals are made of.
    conf_level, per_text, n_items
        Level of the intervals; ratings that a text has (harmonic mean) and items, of the study itself.
    latent
        Whether the components are of the latent quality (clmm).
    """

    kind: ClassVar[str] = "generalizability"
    title = "Where does the variance of the ratings come from?"
    components: pa.Table
    reliability: pa.Table
    icc: pa.Table | None = None
    draws: pa.Table | None = None
    conf_level: float = 0.95
    per_text: float = 1.0
    n_items: int = 1
    latent: bool = False
    findings: tuple[Finding, ...] = ()

    def of(self, what: str, kind: str, n_raters: float, n_items: int = 1) -> float:
        """Return one reliability, for any numbers of raters and items.

        Examples
        --------
        >>> table = pa.table({"component": ["item", "participant", "residual"], "variance": [1.0, 0.5, 0.5]})
        >>> Generalizability(table, table).of("item", "absolute", n_raters=4)
        0.8
        """
        names, variances = (self.components[name].to_pylist() for name in ("component", "variance"))
        found = _reliability(dict(zip(names, map(np.asarray, variances), strict=True)), what, kind, n_raters, n_items)
        return float(found)

    def interval(self, what: str, kind: str, n_raters: float, n_items: int = 1) -> tuple[float, float] | None:
        """Return the interval of :meth:`of`, or ``None`` without draws."""
        if self.draws is None or self.draws.num_rows < FEWEST_DRAWS:
            return None
        drawn = {name: self.draws[name].to_numpy() for name in self.draws.column_names}
        size = self.per_text / n_raters * (self.n_items / n_items if what == SYSTEM else 1)
        size *= LATENT_SIZE if self.latent else 1
        estimate = self.of(what, kind, n_raters, n_items)
        return _ends(estimate, _reliability(drawn, what, kind, n_raters, n_items), size, self.conf_level)

    @property
    def answer(self) -> str:  # type: ignore[override]
        """What five raters of each text would reach."""
        rows = self.reliability.to_pylist()
        what = SYSTEM if any(row["object"] == SYSTEM for row in rows) else rows[0]["object"]
        row = next(r for r in rows if r["object"] == what and r["kind"] == "relative" and r["n_raters"] == 5)
        ends = "" if row["conf_low"] is None else f" ({interval_text(row, self.conf_level)})"
        mean = f"system means over {row['n_items']} items" if what == SYSTEM else f"{what} means"
        return f"With 5 raters of each text, {mean} have a reliability of {r_text(row['estimate'])}{ends}."

    @property
    def tables(self) -> dict[str, pa.Table]:
        """The components, the D-study and the intraclass correlations."""
        found = {"components": self.components, "reliability": self.reliability}
        return found if self.icc is None else found | {"icc": self.icc}

    def main(self) -> Sequence[ShownTable]:
        """Return the components of variance."""
        return [ShownTable(self.components, "Components of variance")]

    def sections(self) -> Sequence[Section]:
        """Return the D-study, and the intraclass correlations."""
        grown = ShownPicture("d-study", "How reliability grows with raters (relative: order; absolute: level)")
        grids = [ShownTable(table, caption) for table, caption in (
            (self.reliability, "Reliability of means"),
            (self.icc, "Intraclass correlations from these components (all ratings, gaps or not)"),
        ) if table is not None and table.num_rows]  # fmt: skip
        return [Section("What more raters would buy", (grown, *grids))]

    def figures(self) -> Figures:
        """Return the picture of the D-study."""
        return Figures({"d-study": lambda: figures.d_study(self)})


def generalizability(
    data: Any,
    item: str = "item",
    participant: str = "participant",
    rating: str = "rating",
    *,
    system: str | None = "system",
    scale: Sequence[Any] | None = None,
    model: str = "lmer",
    raters: Sequence[int] = (1, 2, 3, 5, 10),
    items: Sequence[int] | None = None,
    draws: int = 100,
    seed: int = 1,
    conf_level: float = 0.95,
    engine: str = "fast",
) -> Generalizability:
    r"""Split the variance of ratings into components, and say how reliable means over raters and items are.

    With :math:`\sigma^2_i, \sigma^2_p, \sigma^2_e` of items, raters and residual, the mean of n ratings of an item has
    the relative reliability :math:`\sigma^2_i / (\sigma^2_i + \sigma^2_e/n)` and the absolute one
    :math:`\sigma^2_i / (\sigma^2_i + (\sigma^2_p + \sigma^2_e)/n)`; for n = 1 and complete data these are ICC(3,1) and
    ICC(2,1). With systems, what is to be told apart is either a text (item × system), rated by n raters, or a system,
    whose mean is over m items with n raters of each text, all of them the same: its error has
    :math:`\sigma^2_{si}/m + \sigma^2_{sp}/n + \sigma^2_e/(nm)` and, if levels count,
    :math:`\sigma^2_i/m + \sigma^2_p/n + \sigma^2_{ip}/(nm)`.

    Parameters
    ----------
    data, item, participant, rating, system, scale
        See :func:`ordbridge.reliability.prepare`.
    model
        ``"lmer"``: components of the ratings as numbers; ``"clmm"``: of the latent quality behind ordinal ratings.
    raters, items
        Numbers for the D-study; items by default as many as there are.
    draws, seed, conf_level
        Intervals by parametric bootstrap: ratings are simulated from the fitted model on the same design (of a clmm,
        in categories) and split again by the same model, natively. 0 draws for no interval.
    engine
        ``"fast"`` or ``"r"``.

    References
    ----------
    Brennan, R. L. (2001). Generalizability Theory. Springer. Bayerl, P. S., & Paul, K. I. (2007). Identifying sources
    of disagreement: generalizability theory in manual annotation studies. Computational Linguistics 33, 3-8.

    Examples
    --------
    >>> judges = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    >>> found = generalizability(judges, draws=0)
    >>> round(found.of("item", "absolute", 1), 2), round(found.of("item", "relative", 4), 2)  # ICC(2,1), ICC(3,k)
    (0.29, 0.91)
    """
    choice("model", model, ("lmer", "clmm"))
    whole("draws", draws, least=0)
    proportion("conf_level", conf_level)
    ratings = prepare(data, item, participant, rating, scale, system=system)
    require(ratings, "generalizability", "interval" if model == "lmer" else "ordinal")
    ratings, findings = _not_too_many(ratings, seed)
    factors = _factors(ratings)
    text = {TEXT: ratings.row}
    response = ratings.points[ratings.code]
    split, alone = (_Split.of(by, response, model, engine) for by in (factors, text))
    components, one_way = split.variances, alone.variances
    drawn = _drawn(split, alone, draws, seed)
    total = sum(components.values())
    table = pa.table(
        {
            "component": list(components),
            "variance": list(components.values()),
            "share": [variance / total for variance in components.values()],
        }
    )
    enough = len(drawn[RESIDUAL]) >= max(FEWEST_DRAWS, draws // 2)
    result = Generalizability(
        table,
        table,
        draws=pa.table({name: drawn[name] for name in components}) if enough else None,
        conf_level=conf_level,
        per_text=len(ratings.items) / float((1 / ratings.per_item).sum()),
        n_items=len(np.unique(factors[ITEM])),
        latent=model == "clmm",
        findings=findings,
    )
    cells = [
        (what, kind, n, m)
        for what in ([SYSTEM, TEXT] if SYSTEM in factors else [ITEM])
        for kind in ("relative", "absolute")
        for m in ((items or (result.n_items,)) if what == SYSTEM else (1,))
        for n in sorted({*(whole("raters", n, least=1) for n in raters), 5})
    ]
    names = ("object", "kind", "n_raters", "n_items")
    rows = [
        {**dict(zip(names, cell, strict=True)), "estimate": result.of(*cell), **_columns(result.interval(*cell))}
        for cell in cells
    ]
    everything: dict[str, Any] = {**components, **{f"one-way {name}": value for name, value in one_way.items()}}
    forms = []
    for form in ICC_FORMS:
        value = float(_intraclass(everything, form, result.per_text))
        size = (result.per_text if form.endswith("1") else 1.0) * (LATENT_SIZE if result.latent else 1)
        if np.isfinite(value):
            drawn_value = _intraclass(drawn, form, result.per_text) if enough else None
            ends = None if drawn_value is None else _ends(value, drawn_value, size, conf_level)
            forms.append({"form": form, "estimate": value, **_columns(ends)})
    numbers = [(name, pa.float64()) for name in ("estimate", "conf_low", "conf_high")]
    labels = [("object", pa.string()), ("kind", pa.string()), ("n_raters", pa.int64()), ("n_items", pa.int64())]
    return replace(
        result,
        reliability=pa.Table.from_pylist(rows, schema=pa.schema([*labels, *numbers])),
        icc=pa.Table.from_pylist(forms, schema=pa.schema([("form", pa.string()), *numbers])),
    )


def _columns(ends: tuple[float, float] | None) -> dict[str, float]:
    return {} if ends is None else {"conf_low": ends[0], "conf_high": ends[1]}


def _ends(estimate: float, drawn: np.ndarray, size: float, conf_level: float) -> tuple[float, float]:
    """Return the bootstrap interval of a reliability R, normal on the scale log(1 + size R / (1 − R)).

    That is the logarithm of the F ratio of a study of this size, whose spread hardly depends on its value. The median
    of the draws tells the bias, which is taken off; what lies above it in the draws is how far the interval reaches
    down, and the other way round. Draws below may have been cut off at 0, so that their spread is at least the other.
    """
    from scipy.stats import t

    def to(value: Any) -> Any:
        value = np.minimum(value, 1 - 1e-9)
        return np.log1p(size * value / (1 - value))

    draws = to(drawn[np.isfinite(drawn)])
    middle = np.median(draws)
    above, below = (
        np.sqrt((part**2).mean()) for part in (np.maximum(draws - middle, 0), np.minimum(draws - middle, 0))
    )
    spread = np.sqrt(2) * np.array([-above, max(above, below)])
    ends = 2 * to(estimate) - middle + t.ppf((1 + conf_level) / 2, len(draws) - 1) * spread
    ratio = np.expm1(np.maximum(ends, 0.0)) / size
    low, high = ratio / (1 + ratio)
    return float(low), float(high)


def quick_draws(ratings: Ratings) -> int:
    """Return how many draws take about a second, or 0 where none do."""
    most = QUICK_RATINGS if ratings.text == "item" else QUICK_WITH_SYSTEMS
    return QUICK_DRAWS if len(ratings.code) <= most else 0


def _factors(ratings: Ratings) -> dict[str, np.ndarray]:
    """Return the label of item, rater and system of every rating."""
    labels = list(ratings.items)
    factors = {RATER: ratings.column}
    if ratings.text == "item":
        return {ITEM: ratings.row, **factors}
    pairs = [(str(one), str(other)) for one, other in labels]
    for at, name in enumerate((ITEM, SYSTEM)):
        factors[name] = np.unique([pair[at] for pair in pairs], return_inverse=True)[1][ratings.row]
    return factors


def _groups(factors: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the grouping factors of the model: all factors and the pairs of them that are not the residual.

    Examples
    --------
    >>> list(_groups({"item": np.array([0, 0, 1, 1]), "participant": np.array([0, 1, 0, 1])}))
    ['item', 'participant']
    """
    n = len(next(iter(factors.values())))
    groups = dict(factors)
    for one, other in combinations(factors, 2):
        both = np.unique(np.column_stack([factors[one], factors[other]]), axis=0, return_inverse=True)[1].ravel()
        levels = both.max() + 1
        if levels < n and all(levels > factors[side].max() + 1 for side in (one, other)):
            groups[f"{one}:{other}"] = both
    return groups


@dataclass(frozen=True)
class _Split:
    """A fitted model of variances: the groups of its components, their variances, and the thresholds of a clmm."""

    groups: dict[str, np.ndarray]
    problem: Problem | None
    variances: dict[str, float]
    thresholds: np.ndarray | None

    @classmethod
    def of(cls, factors: Mapping[str, np.ndarray], response: np.ndarray, model: str, engine: str) -> _Split:
        groups = _groups(factors)
        if list(factors) == [TEXT] and factors[TEXT].max() + 1 == len(response):  # a rating each: nothing to compare
            return cls(groups, None, {TEXT: float("nan"), RESIDUAL: float("nan")}, None)
        data: dict[str, Any] = {
            f"g{number}": [f"l{level}" for level in labels] for number, labels in enumerate(groups.values())
        }
        formula = "y ~ 1 + " + " + ".join(f"(1 | {column})" for column in data)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # singular fits are variances of zero, which the table shows
            if model == "lmer":
                fit = lmer(formula, data | {"y": response - response.mean()}, engine=engine)
                return cls(groups, fit.problem, _variances(fit.estimates, list(groups)), None)
            levels, codes = np.unique(response, return_inverse=True)
            categories = pa.DictionaryArray.from_arrays(codes, [str(level) for level in levels], ordered=True)
            fit = clmm(formula, pa.table(data | {"y": categories}), engine=engine)
        e = fit.estimates
        return cls(groups, fit.problem, _variances(e, list(groups)), e.estimate[e.having("threshold")])

    def draw(self, rng: np.random.Generator) -> Column:
        """Return ratings that this model could have given: numbers, or categories of a clmm."""
        n = len(next(iter(self.groups.values())))
        value = rng.normal(size=n) * np.sqrt(self.variances[RESIDUAL])
        if self.thresholds is not None:
            value = rng.logistic(size=n)
        for name, labels in self.groups.items():
            value = value + np.sqrt(self.variances[name]) * rng.normal(size=labels.max() + 1)[labels]
        if self.thresholds is None:
            return Column("numeric", value)
        levels = tuple(str(k) for k in range(len(self.thresholds) + 1))
        return Column("factor", np.searchsorted(self.thresholds, value), levels, ordered=True)

    def again(self, response: Column, fit: Callable[[Problem], Estimates]) -> dict[str, float]:
        """Return the variances of other ratings on the same design."""
        if self.problem is None:
            return self.variances
        return _variances(fit(with_response(self.problem, response)), list(self.groups))


def _variances(found: Estimates, names: list[str]) -> dict[str, float]:
    by_column = {term.group: float(term.covariance[0, 0]) for term in found.random}
    residual = LATENT_RESIDUAL if found.sigma is None else found.sigma**2
    return {name: by_column[f"g{number}"] for number, name in enumerate(names)} | {RESIDUAL: float(residual)}


def _reliability(components: Mapping[str, Any], what: str, kind: str, n_raters: float, n_items: int) -> np.ndarray:
    """Return the share of variance between the objects in that of their means."""
    variance = {frozenset(name.split(":")): value for name, value in components.items()}

    def of(*factors: str) -> Any:
        return variance.get(frozenset(factors), 0.0)

    residual = of(RESIDUAL)
    if what == SYSTEM:
        objects = of(SYSTEM)
        error = of(SYSTEM, ITEM) / n_items + of(SYSTEM, RATER) / n_raters + residual / (n_raters * n_items)
        level = of(ITEM) / n_items + of(RATER) / n_raters + of(ITEM, RATER) / (n_raters * n_items)
    else:  # a text: an item, or an item of a system
        objects = of(ITEM) + of(SYSTEM) + of(SYSTEM, ITEM)
        error = (of(SYSTEM, RATER) + of(ITEM, RATER) + residual) / n_raters
        level = of(RATER) / n_raters
    return _share(objects, error + (level if kind == "absolute" else 0.0))


def _intraclass(components: Mapping[str, Any], form: str, k: float) -> np.ndarray:
    """Return an intraclass correlation: forms 2 and 3 are the reliabilities of a text, form 1 ignores who rated."""
    way, size = form.split(",")
    n = 1.0 if size == "1" else k
    if way == "1":
        return _share(components[f"one-way {TEXT}"], components[f"one-way {RESIDUAL}"] / n)
    return _reliability(components, TEXT, "absolute" if way == "2" else "relative", n, 1)


def _share(objects: Any, error: Any) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return np.asarray(objects) / (np.asarray(objects) + error)


def _drawn(split: _Split, one_way: _Split, draws: int, seed: int) -> dict[str, np.ndarray]:
    """Return the components of ratings that are simulated with these components on the same design."""
    rng = np.random.default_rng(seed)
    fit = engine_module("fast").fit
    found = []
    for _ in range(draws):
        response = split.draw(rng)
        try:
            again, alone = split.again(response, fit), one_way.again(response, fit)
        except (FitError, InputError):  # a simulated set that cannot be fitted, such as one with a single category
            continue
        found.append({**again, **{f"one-way {name}": value for name, value in alone.items()}})
    names = found[0] if found else {RESIDUAL: 0.0}
    return {name: np.array([one[name] for one in found]) for name in names}


def _not_too_many(ratings: Ratings, seed: int) -> tuple[Ratings, tuple[Finding, ...]]:
    """Return a random choice of items where there are more ratings than a model takes in seconds."""
    most = MOST_RATINGS if ratings.text == "item" else MOST_WITH_SYSTEMS
    if len(ratings.code) <= most:
        return ratings, ()
    order = np.random.default_rng(seed).permutation(len(ratings.items))
    kept = order[: max(2, int(np.searchsorted(np.cumsum(ratings.per_item[order]), most)))]
    some = ratings.only(np.isin(ratings.row, kept)).rated_by(1)
    raters = [r for r, number in zip(some.raters, some.per_rater, strict=True) if number]
    chosen = found("components-of-some-items", n=len(kept), of=len(ratings.items), texts=ratings.texts)
    return some.of_raters(raters), (chosen,)
