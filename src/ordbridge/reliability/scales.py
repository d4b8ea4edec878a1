"""Two rating scales for the same texts: which of them is more reliable, stable, sensitive, valid.

The measures are those of Belz & Kow (2011), who compared seven named categories with a slider from 0 to 100. Tables
take one row a rating, with columns for system, item, rater and rating.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa

from ordbridge import tables
from ordbridge.errors import InputError
from ordbridge.reliability.correlation import kendall_w, test_retest
from ordbridge.reliability.interpretation import stars
from ordbridge.reliability.records import Coefficient
from ordbridge.reliability.scale_power import power

__all__ = ["POSTHOC", "ScaleComparison", "SystemCorrelation", "compare", "power", "stability", "validity"]

POSTHOC = {
    "tukey": "Tukey's HSD (Tukey–Kramer for unequal numbers)",
    "holm": "t tests with pooled variance, Holm's correction",
    "bonferroni": "t tests with pooled variance, Bonferroni's correction",
}


@dataclass(frozen=True)
class ScaleComparison:
    """Two scales side by side; see :func:`compare`.

    Attributes
    ----------
    means
        One row a system: its mean on either scale.
    reliability
        Kendall's W over raters of each scale, with its test; ``over`` says what was ranked.
    interchangeability
        Pearson's r and Spearman's ρ between the systems' means on the two scales.
    sensitivity
        Significant differences between systems, of all k(k − 1)/2, after the analysis of variance.
    factors
        F of one-way analyses of variance with system, rater and text type: high is wanted for the system only.
    differences
        Every pair of systems on each scale: difference of means and p-value of the post-hoc test.
    """

    means: pa.Table
    reliability: pa.Table
    interchangeability: pa.Table
    sensitivity: pa.Table
    factors: pa.Table
    differences: pa.Table

    def as_in_paper(self) -> dict[str, pa.Table]:
        """Return the tables of the paper, by caption: one row a scale, stars beside the numbers."""
        reliability, factors = self.reliability.to_pylist(), self.factors.to_pylist()
        names = [row["scale"] for row in reliability]
        f_ratios: dict[str, list[str]] = {"scale": names}
        for row in factors:
            f_ratios.setdefault(row["factor"], []).append(f"{row['F']:.2f}{row['stars']}")
        return {
            "Reliability (Kendall's W)": pa.table(
                {
                    "scale": names,
                    "W": [f"{row['kendall_w']:.3f}{row['stars']}" for row in reliability],
                    "over": [f"{row['n_ranked']} {row['over']}, {row['n_raters']} raters" for row in reliability],
                }
            ),
            "Interchangeability (correlation of the systems' means)": pa.table(
                {
                    "scales": [self.interchangeability["scales"][0].as_py()],
                    **{
                        row["coefficient"]: [f"{row['estimate']:.3f}{row['stars']}"]
                        for row in self.interchangeability.to_pylist()
                    },
                }
            ),
            "Sensitivity (significant differences between systems)": pa.table(
                {
                    "scale": names,
                    "significant": [f"{row['significant']}/{row['of']}" for row in self.sensitivity.to_pylist()],
                    "test": self.sensitivity["posthoc"].to_pylist(),
                }
            ),
            "Effect of factors (F of one-way analyses of variance)": pa.table(f_ratios),
        }


@dataclass(frozen=True)
class SystemCorrelation:
    """Pearson's r between the systems' mean ratings and an outside measure, with its p-value and stars."""

    value: float
    p_value: float
    stars: str
    n_systems: int


@dataclass(frozen=True)
class _Ratings:
    """The columns of one table: labels as arrays of strings, ratings as numbers."""

    system: np.ndarray
    item: np.ndarray
    rater: np.ndarray
    text_type: np.ndarray | None
    rating: np.ndarray

    def by(self, factor: np.ndarray) -> dict[str, np.ndarray]:
        return {str(level): self.rating[factor == level] for level in np.unique(factor)}


def compare(
    a: Any,
    b: Any,
    system: str = "system",
    item: str = "item",
    rater: str = "rater",
    rating: str = "rating",
    *,
    text_type: str | None = None,
    posthoc: str = "tukey",
    alpha: float = 0.05,
    names: tuple[str, str] = ("a", "b"),
    draws: int = 1000,
    seed: int = 1,
) -> ScaleComparison:
    """Compare two scales on which the same systems were rated, with the measures of Belz & Kow.

    Reliability is Kendall's W over the texts (system and item) that all raters rated; where fewer than half of the
    texts were rated by all, as in a Latin square, over each rater's means of the systems. Sensitivity counts
    differences between systems only after a significant analysis of variance.

    Parameters
    ----------
    a, b
        Long tables of the two scales.
    system, item, rater, rating, text_type
        Their columns; the text type is optional.
    posthoc
        Test of pairs of systems: ``"tukey"``, ``"holm"`` or ``"bonferroni"``.
    alpha
        Level of significance.
    names
        What the scales are called.
    draws, seed
        Resamples for the intervals of W, and their seed.

    Returns
    -------
    ScaleComparison

    References
    ----------
    Belz, A., & Kow, E. (2011). Discrete vs. continuous rating scales for language evaluation in NLP. ACL 2011, 230-235.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> cells = [(s, i, r) for s in range(4) for i in range(10) for r in range(5)]
    >>> quality = np.array([s + rng.normal() for s, i, r in cells])
    >>> columns = dict(zip(("system", "item", "rater"), map(list, zip(*cells))))
    >>> seven, slider = {**columns, "rating": (quality + 2).round()}, {**columns, "rating": 20 + 10 * quality}
    >>> comparison = compare(seven, slider, names=("VDS-7", "VAS"), draws=0)
    >>> [row["significant"] for row in comparison.sensitivity.to_pylist()]
    [6, 6]
    """
    if posthoc not in POSTHOC:
        raise InputError(f"posthoc={posthoc!r} is not known; use one of {', '.join(POSTHOC)}")
    if not 0 < alpha < 1:
        raise InputError(f"alpha={alpha!r} must lie between 0 and 1, as 0.05 does")
    if len(names) != 2 or names[0] == names[1]:
        raise InputError("names must be two different names for the two scales")
    columns = {"system": system, "item": item, "rater": rater, "rating": rating, "text_type": text_type}
    scales = {name: _columns(table, columns, f"scale {name!r}") for name, table in zip(names, (a, b), strict=True)}
    means = {
        name: {level: float(r.mean()) for level, r in scale.by(scale.system).items()} for name, scale in scales.items()
    }
    factors = [row for name, scale in scales.items() for row in _factors(name, scale)]
    differences = [row for name, scale in scales.items() for row in _differences(name, scale, posthoc)]
    return ScaleComparison(
        means=_means_table(means),
        reliability=pa.Table.from_pylist([_reliability(name, scale, draws, seed) for name, scale in scales.items()]),
        interchangeability=pa.Table.from_pylist(_interchangeability(means)),
        sensitivity=pa.Table.from_pylist([_sensitivity(name, factors, differences, alpha, posthoc) for name in names]),
        factors=pa.Table.from_pylist(factors),
        differences=pa.Table.from_pylist(differences),
    )


def stability(
    run1: Any,
    run2: Any,
    system: str = "system",
    item: str = "item",
    rater: str = "rater",
    rating: str = "rating",
    *,
    draws: int = 1000,
    seed: int = 1,
) -> Coefficient:
    """Pearson's r between the single ratings that the same raters gave the same texts in two runs.

    Texts are pairs of system and item; ratings given only once are left out.

    Examples
    --------
    >>> run1 = {"system": ["x", "y", "x", "y"], "item": [1, 1, 2, 2], "rater": ["p"] * 4, "rating": [1, 3, 2, 5]}
    >>> run2 = {**run1, "rating": [2, 3, 2, 4]}
    >>> round(stability(run1, run2, draws=0).value, 3)
    0.968
    """
    columns = {"system": system, "item": item, "rater": rater, "rating": rating, "text_type": None}
    first, second = (_as_texts(_columns(run, columns, name)) for name, run in (("run 1", run1), ("run 2", run2)))
    return test_retest(first, second, "text", "rater", "rating", draws=draws, seed=seed)


def validity(
    ratings: Any,
    outside_measure: Mapping[Any, float] | Any,
    system: str = "system",
    rating: str = "rating",
    *,
    value: str = "value",
) -> SystemCorrelation:
    """Pearson's r between the systems' mean ratings and an outside measure of the same systems.

    Parameters
    ----------
    ratings
        Long table with a column for the system and one for the rating.
    outside_measure
        Mapping from system to number, or a table with the columns ``system`` and ``value``.
    system, rating, value
        Names of the columns.

    Examples
    --------
    >>> ratings = {"system": ["x", "x", "y", "y", "z"], "rating": [1, 2, 3, 4, 5]}
    >>> result = validity(ratings, {"x": 0.2, "y": 0.5, "z": 0.7})
    >>> round(result.value, 3), result.n_systems, result.stars
    (0.999, 3, '*')
    """
    table = tables.to_arrow(ratings)
    levels = np.array([str(label) for label in tables.column(table, system, role="system").to_pylist()])
    scores = _numbers(tables.column(table, rating, role="rating"), rating, "the table")
    means = {str(level): float(scores[levels == level].mean()) for level in np.unique(levels)}
    if isinstance(outside_measure, Mapping) and not {system, value} <= set(outside_measure):
        outside = {str(name): float(number) for name, number in outside_measure.items()}
    else:
        other = tables.to_arrow(outside_measure)
        names = [str(label) for label in tables.column(other, system, role="system").to_pylist()]
        numbers = _numbers(tables.column(other, value, role="outside measure"), value, "the outside measure")
        if len(set(names)) < len(names):
            raise InputError("the outside measure has more than one value for a system; average them first")
        outside = dict(zip(names, numbers.tolist(), strict=True))
    r, p = _correlate(means, outside, "pearson", "the ratings and the outside measure")
    return SystemCorrelation(r, p, stars(p), len(set(means) & set(outside)))


def _columns(data: Any, names: dict[str, str | None], where: str) -> _Ratings:
    table = tables.to_arrow(data)
    labels: dict[str, np.ndarray | None] = {}
    for role in ("system", "item", "rater", "text_type"):
        name = names[role]
        if name is None:
            labels[role] = None
            continue
        column = tables.column(table, name, role=role.replace("_", " "))
        if column.null_count:
            raise InputError(f"column {name!r} of {where} has empty cells; fill them in or drop the rows")
        labels[role] = np.array([str(label) for label in column.to_pylist()])
    rating = _numbers(tables.column(table, str(names["rating"]), role="rating"), str(names["rating"]), where)
    return _Ratings(**labels, rating=rating)  # type: ignore[arg-type]


def _numbers(column: pa.ChunkedArray, name: str, where: str) -> np.ndarray:
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise InputError(f"column {name!r} of {where} must be numbers, but it is {column.type}")
    values = np.asarray(column.cast(pa.float64()).to_numpy(), dtype=float)
    if not len(values) or not np.isfinite(values).all():
        raise InputError(f"column {name!r} of {where} has missing or infinite values; drop those rows first")
    return values


def _as_texts(scale: _Ratings) -> dict[str, Any]:
    text = np.array([f"{system} · {item}" for system, item in zip(scale.system, scale.item, strict=True)])
    return {"text": text.tolist(), "rater": scale.rater.tolist(), "rating": scale.rating.tolist()}


def _reliability(name: str, scale: _Ratings, draws: int, seed: int) -> dict[str, Any]:
    """Return Kendall's W over the texts that all raters rated or, where most texts were not, over systems."""
    raters = np.unique(scale.rater)
    texts = _as_texts(scale)
    seen = Counter(texts["text"])
    if 2 * sum(count >= len(raters) for count in seen.values()) >= len(seen):
        over, w = "texts", kendall_w(texts, "text", "rater", "rating", draws=draws, seed=seed)
    else:
        levels = np.unique(scale.system)
        cells = [[scale.rating[(scale.system == s) & (scale.rater == r)] for r in raters] for s in levels]
        grid = [[float(cell.mean()) if len(cell) else None for cell in row] for row in cells]
        over, w = "systems", kendall_w(grid, draws=draws, seed=seed)
    return {
        "scale": name,
        "kendall_w": w.value,
        "stars": stars(w.p_value if w.p_value is not None else 1.0),
        "conf_low": w.low,
        "conf_high": w.high,
        "statistic": w.statistic,
        "df": w.df,
        "p_value": w.p_value,
        "over": over,
        "n_ranked": w.n_items,
        "n_raters": w.n_raters,
    }


def _interchangeability(means: dict[str, dict[str, float]]) -> list[dict[str, Any]]:
    (name_a, a), (name_b, b) = means.items()
    rows = []
    for method, label in (("pearson", "Pearson's r"), ("spearman", "Spearman's ρ")):
        value, p = _correlate(a, b, method, f"scales {name_a!r} and {name_b!r}")
        rows.append(
            {
                "scales": f"{name_a} and {name_b}",
                "coefficient": label,
                "estimate": value,
                "stars": stars(p),
                "p_value": p,
                "n_systems": len(set(a) & set(b)),
            }
        )
    return rows


def _correlate(a: Mapping[str, float], b: Mapping[str, float], method: str, what: str) -> tuple[float, float]:
    from scipy import stats

    common = sorted(set(a) & set(b))
    if len(common) < 3:
        raise InputError(f"{what} have {len(common)} systems in common; a correlation of means needs at least 3")
    x, y = (np.array([side[name] for name in common]) for side in (a, b))
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        raise InputError(f"the systems' means do not differ, so there is no correlation between {what}")
    result = stats.pearsonr(x, y) if method == "pearson" else stats.spearmanr(x, y)
    return float(result.statistic), float(result.pvalue)


def _factors(name: str, scale: _Ratings) -> list[dict[str, Any]]:
    """Return the F of a one-way analysis of variance for each factor."""
    from scipy.stats import f_oneway

    rows = []
    for factor, labels in (("system", scale.system), ("rater", scale.rater), ("text type", scale.text_type)):
        if labels is None:
            continue
        groups = list(scale.by(labels).values())
        df2 = len(scale.rating) - len(groups)
        if len(groups) < 2 or df2 < 1:
            raise InputError(f"scale {name!r}: the {factor} needs at least two levels and more ratings than levels")
        if all(np.ptp(group) == 0 for group in groups):
            raise InputError(f"scale {name!r}: all ratings within each {factor} are equal, so there is no F")
        f, p = f_oneway(*groups)
        rows.append(
            {
                "scale": name,
                "factor": factor,
                "F": float(f),
                "stars": stars(p),
                "df1": len(groups) - 1,
                "df2": df2,
                "p_value": float(p),
            }
        )
    return rows


def _differences(name: str, scale: _Ratings, posthoc: str) -> list[dict[str, Any]]:
    """Return every pair of systems with the difference of their means and the post-hoc test's p-value."""
    groups = scale.by(scale.system)
    systems = list(groups)
    pairs = list(combinations(range(len(systems)), 2))
    p_values = (
        _tukey(list(groups.values()), pairs) if posthoc == "tukey" else _t_tests(list(groups.values()), pairs, posthoc)
    )
    return [
        {
            "scale": name,
            "system_a": systems[i],
            "system_b": systems[j],
            "difference": float(groups[systems[i]].mean() - groups[systems[j]].mean()),
            "p_value": float(p),
            "stars": stars(p),
        }
        for (i, j), p in zip(pairs, p_values, strict=True)
    ]


def _tukey(groups: list[np.ndarray], pairs: list[tuple[int, int]]) -> list[float]:
    from scipy.stats import tukey_hsd

    table = tukey_hsd(*groups).pvalue
    return [float(table[i, j]) for i, j in pairs]


def _t_tests(groups: list[np.ndarray], pairs: list[tuple[int, int]], correction: str) -> Sequence[float]:
    """Return corrected p-values of pairwise t tests whose variance is pooled over all systems."""
    from scipy.stats import t
    from statsmodels.stats.multitest import multipletests

    df = sum(len(group) - 1 for group in groups)
    variance = sum(((group - group.mean()) ** 2).sum() for group in groups) / df
    raw = []
    for i, j in pairs:
        error = np.sqrt(variance * (1 / len(groups[i]) + 1 / len(groups[j])))
        raw.append(2 * t.sf(abs(groups[i].mean() - groups[j].mean()) / error, df))
    return [float(p) for p in multipletests(raw, method=correction)[1]]


def _sensitivity(
    name: str, factors: list[dict[str, Any]], differences: list[dict[str, Any]], alpha: float, posthoc: str
) -> dict[str, Any]:
    anova = next(row for row in factors if row["scale"] == name and row["factor"] == "system")
    own = [row for row in differences if row["scale"] == name]
    protected = anova["p_value"] < alpha
    return {
        "scale": name,
        "significant": sum(row["p_value"] < alpha for row in own) if protected else 0,
        "of": len(own),
        "alpha": alpha,
        "posthoc": POSTHOC[posthoc],
        "F": anova["F"],
        "p_value": anova["p_value"],
        "note": "" if protected else "the analysis of variance is not significant, so no difference is counted",
    }


def _means_table(means: dict[str, dict[str, float]]) -> pa.Table:
    systems = sorted(set().union(*means.values()))
    columns = {f"mean_{name}": [by_system.get(system) for system in systems] for name, by_system in means.items()}
    return pa.table({"system": systems, **columns})
