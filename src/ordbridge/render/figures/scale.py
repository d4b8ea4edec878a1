"""One scale seen three ways: counts, interval data, ordinal data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ordbridge.errors import InputError
from ordbridge.render.figures.style import GREY, INK, ORANGE, PALE, empty_figure, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def scale_views(ratings: Any, rating: str = "rating") -> Figure:
    """Show one's own ratings as counts, as interval data and as ordinal data, side by side.

    Left the share of each category; in the middle the Gaussian with the mean and the standard deviation of the ratings,
    which is what the interval view takes them for, part of it outside the scale; right the ordered probit: a standard
    normal latent quality, cut at the thresholds that give exactly the observed shares.

    Parameters
    ----------
    ratings
        A table, a data frame or a dictionary of columns.
    rating
        The column with the ratings: whole numbers (the scale runs from the lowest to the highest one observed) or a
        categorical, whose levels are the scale.

    References
    ----------
    Howcroft & Rieser (2021), Figure 1.

    Examples
    --------
    >>> len(scale_views({"rating": [1, 2, 2, 3, 4, 4, 5, 5, 5]}).axes)
    3
    """
    from scipy import stats

    categories, labels = _categories(_column(ratings, rating))
    count = np.bincount(categories, minlength=len(labels))
    shares = count / count.sum()
    place = np.arange(len(labels))
    figure = empty_figure(10.5, 3.4)
    counted, interval, ordinal = figure.subplots(1, 3)
    shades = _shades(len(labels))

    counted.bar(place, shares, color=shades, edgecolor=INK, linewidth=0.6, width=0.9)
    title(counted, "What the raters answered", f"{count.sum()} ratings")
    interval.bar(place, shares, color=PALE, edgecolor=GREY, linewidth=0.6, width=0.9)
    mean, sd = categories.mean(), categories.std(ddof=1)
    x = np.linspace(min(-1, mean - 3.2 * sd), max(len(labels), mean + 3.2 * sd), 400)
    law = stats.norm(mean, sd)
    interval.plot(x, law.pdf(x), color=ORANGE, linewidth=1.8)
    low, high = -0.5, len(labels) - 0.5
    for outside in (x <= low, x >= high):
        interval.fill_between(x[outside], law.pdf(x[outside]), color=ORANGE, alpha=0.35, linewidth=0)
    off_scale = law.cdf(low) + law.sf(high)
    title(interval, "As interval data", f"mean {mean + _first(labels):.2f}, sd {sd:.2f}; {off_scale:.0%} off the scale")
    for panel in (counted, interval):
        panel.set_xticks(place, labels)
        panel.set_xlabel("rating")
        panel.set_ylabel("share" if panel is counted else "share, density")
    _cut_normal(ordinal, shares, labels, shades)
    return figure


def _cut_normal(panel: Axes, shares: np.ndarray, labels: list[str], shades: list) -> None:
    from scipy import stats

    thresholds = stats.norm.ppf(np.cumsum(shares)[:-1].clip(0, 1))
    edges = np.r_[-np.inf, thresholds, np.inf]
    for j, label in enumerate(labels):
        low, high = np.clip(edges[j : j + 2], -3.4, 3.4)
        x = np.linspace(low, high, 60)
        panel.fill_between(x, stats.norm.pdf(x), color=shades[j], linewidth=0)
        if high - low > 0.2:  # room for its name
            middle = stats.norm.ppf(np.cumsum(shares)[j] - shares[j] / 2)
            panel.text(middle, -0.012, label, ha="center", va="top", fontsize=8.5, color=INK)
    x = np.linspace(-3.4, 3.4, 300)
    panel.plot(x, stats.norm.pdf(x), color=INK, linewidth=1.2)
    for threshold in np.unique(thresholds[np.isfinite(thresholds)]):
        panel.plot([threshold] * 2, [0, stats.norm.pdf(threshold) + 0.03], color=ORANGE, linewidth=1.3)
    panel.set_xticks(range(-3, 4))
    panel.tick_params(axis="x", pad=14)
    panel.set_xlabel("latent quality (standard deviations)")
    panel.set_ylabel("density")
    panel.set_ylim(0, 0.46)
    title(panel, "As ordinal data", "a normal quality, cut at thresholds (red)")


def _column(ratings: Any, name: str) -> pa.ChunkedArray:
    table = ratings if isinstance(ratings, pa.Table) else pa.table(ratings)
    if name not in table.column_names:
        raise InputError(f"there is no column {name!r}; the table has: {', '.join(table.column_names)}")
    return table[name]


def _categories(values: pa.ChunkedArray) -> tuple[np.ndarray, list[str]]:
    """Return each rating's place on the scale, from 0, and the names of the places; missing ratings are left out."""
    values = values.drop_null()
    if pa.types.is_dictionary(values.type):
        encoded = values.unify_dictionaries().combine_chunks()
        places, labels = encoded.indices.to_numpy(), [str(label) for label in encoded.dictionary.to_pylist()]
    elif pa.types.is_integer(values.type) or pa.types.is_floating(values.type):
        numbers = values.to_numpy().astype(float)
        if not np.all(numbers == np.round(numbers)):
            raise InputError("these ratings are not whole numbers; the picture is about scales with categories")
        low, high = (int(numbers.min()), int(numbers.max())) if len(numbers) else (0, 0)
        places, labels = (numbers - low).astype(int), [str(number) for number in range(low, high + 1)]
    else:
        raise InputError(f"ratings of type {values.type} have no order; give whole numbers or an ordered categorical")
    if len(set(places.tolist())) < 2 or len(labels) > 30:
        raise InputError(
            f"the picture needs 2 to 30 categories in use; there are {len(set(places.tolist()))} "
            f"on a scale of {len(labels)}"
        )
    return places, labels


def _first(labels: list[str]) -> int:
    """Return what to add to a place to get the number that users know it by."""
    return int(labels[0]) if labels[0].lstrip("-").isdigit() else 1


def _shades(number: int) -> list:
    from matplotlib import colormaps

    return [colormaps["Blues"](0.15 + 0.6 * j / max(number - 1, 1)) for j in range(number)]
