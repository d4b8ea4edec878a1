"""Pictures. Every function returns a matplotlib Figure that belongs to no window; ``figure.savefig(path)`` keeps it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ordbridge.errors import InputError
from ordbridge.tables import column, to_arrow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ordbridge.power import Planned, Run
    from ordbridge.simulate import Truth

__all__ = ["implied_difference", "plan_contours", "power_curves", "scale_views"]

INK, GREY, BLUE, ORANGE = "#222222", "#9a9a9a", "#2166ac", "#d6604d"


def scale_views(ratings: Any, rating: str = "rating") -> Figure:
    """Show one's own ratings as counts, as interval data and as ordinal data, side by side.

    Left the share of each category; in the middle the Gaussian with the mean and the standard deviation of the ratings,
    which is what the interval view takes them for, part of it outside the scale; right the ordered probit: a standard
    normal latent quality, cut at the thresholds that give exactly the observed shares.

    Parameters
    ----------
    ratings
        Ratings in any form that :func:`ordbridge.tables.to_arrow` takes.
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

    categories, labels = _categories(column(to_arrow(ratings), rating, "rating"))
    count = np.bincount(categories, minlength=len(labels))
    shares = count / count.sum()
    place = np.arange(len(labels))
    figure = _figure(10.5, 3.4)
    counted, interval, ordinal = figure.subplots(1, 3)
    shades = _shades(len(labels))

    counted.bar(place, shares, color=shades, edgecolor=INK, linewidth=0.6, width=0.9)
    _title(counted, "What was said", f"{count.sum()} ratings")
    interval.bar(place, shares, color="#e8e8e8", edgecolor=GREY, linewidth=0.6, width=0.9)
    mean, sd = categories.mean(), categories.std(ddof=1)
    x = np.linspace(min(-1, mean - 3.2 * sd), max(len(labels), mean + 3.2 * sd), 400)
    law = stats.norm(mean, sd)
    interval.plot(x, law.pdf(x), color=ORANGE, linewidth=1.8)
    low, high = -0.5, len(labels) - 0.5
    for outside in (x <= low, x >= high):
        interval.fill_between(x[outside], law.pdf(x[outside]), color=ORANGE, alpha=0.35, linewidth=0)
    off_scale = law.cdf(low) + law.sf(high)
    _title(
        interval, "As interval data", f"mean {mean + _first(labels):.2f}, sd {sd:.2f}; {off_scale:.0%} off the scale"
    )
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
    _title(panel, "As ordinal data", "a normal quality, cut at thresholds (red)")


def implied_difference(truth: Truth) -> Figure:
    """Show why a latent effect of 0 can be a difference of mean ratings other than 0.

    Left the distribution of latent quality under both systems at effect 0, with the (mean) thresholds. With
    treatment-coded slopes the second system spreads wider: it crosses more thresholds downwards below the centre, and
    more upwards above it, and if the thresholds are not symmetric the two do not cancel. Right the difference of mean
    ratings against the latent effect, for both codings of the slopes.

    Parameters
    ----------
    truth
        A truth with two systems and thresholds.

    Examples
    --------
    >>> from ordbridge.papers import howcroft2021
    >>> len(implied_difference(howcroft2021.settings["high"]).axes)
    2
    """
    if truth.systems != 2 or truth.categories is None:
        raise InputError("the picture is about two systems and thresholds; give an ordinal truth with one effect")
    figure = _figure(10.5, 4.2)
    latent, rated = figure.subplots(1, 2)
    _latent_densities(latent, truth.shift(effect=0.0))
    _differences_of_means(rated, truth)
    return figure


def _latent_densities(panel: Axes, truth: Truth) -> None:
    from ordbridge.simulate import implied
    from ordbridge.simulate.rating_scale import latent_cdf

    x = np.linspace(-4.6, 4.6, 500)
    means = implied(truth).systems["mean"].to_pylist()
    for system, colour in enumerate((GREY, BLUE)):
        density = np.gradient(latent_cdf(truth, system)(x), x)
        name = ("first", "second")[system]
        panel.plot(x, density, color=colour, linewidth=2, label=f"{name} system: mean rating {means[system]:.2f}")
        panel.fill_between(x, density, color=colour, alpha=0.12, linewidth=0)
    distribution = truth.threshold_distribution
    thresholds = np.array(truth.thresholds) if distribution is None else distribution.expected()
    top = panel.get_ylim()[1]
    for threshold in thresholds:
        panel.plot([threshold] * 2, [0, top], color=ORANGE, linewidth=1, linestyle=(0, (4, 3)))
    for j, middle in enumerate(_middles(thresholds, x)):
        panel.text(middle, top, str(j + 1), ha="center", va="bottom", color=ORANGE, fontsize=9)
    panel.axvline(0, color=INK, linewidth=0.8)
    panel.set_ylim(0, top * 1.09)
    panel.set_xlabel("latent quality (in red: thresholds, and the ratings between them)")
    panel.set_ylabel("density")
    panel.legend(frameon=False, fontsize=8.5, loc="lower center", bbox_to_anchor=(0.5, -0.32))
    _title(panel, "Latent effect 0", "latent quality over all raters and items, and the thresholds")


def _differences_of_means(panel: Axes, truth: Truth) -> None:
    from ordbridge.simulate import implied

    effects = np.linspace(-0.62, 0.62, 25)
    panel.axhline(0, color=GREY, linewidth=0.8)
    panel.axvline(0, color=GREY, linewidth=0.8)
    for coding, colour in (("centred", GREY), ("treatment", BLUE)):
        coded = truth.shift(slope_coding=coding)
        curve = [implied(coded.shift(effect=effect)).differences["difference"][0].as_py() for effect in effects]
        panel.plot(effects, curve, color=colour, linewidth=2, label=f"slopes on a {coding} coding")
        at_zero = curve[len(curve) // 2]
        panel.plot(0, at_zero, "o", color=colour, markersize=6)
        if coding == "treatment":
            panel.annotate(
                f"{at_zero:+.2f} points at latent effect 0".replace("-", "−"),
                (0, at_zero),
                (0.03, at_zero - 0.3),
                arrowprops={"arrowstyle": "-", "color": INK, "linewidth": 0.8},
                fontsize=9,
                color=INK,
            )
    panel.set_xlabel("latent effect: what the ordinal model tests")
    panel.set_ylabel("difference of mean ratings:\nwhat the linear model tests")
    panel.legend(frameon=False, fontsize=8.5, loc="lower center", bbox_to_anchor=(0.5, -0.32))
    _title(panel, "Latent effect and mean ratings", "both models have the same null only if the curve meets the origin")


def _categories(values: pa.ChunkedArray) -> tuple[np.ndarray, list[str]]:
    """Return each rating's place on the scale, from 0, and the names of the places; missing ratings are left out."""
    values = values.drop_null()
    if pa.types.is_dictionary(values.type):
        encoded = values.unify_dictionaries().combine_chunks()
        places, labels = encoded.indices.to_numpy(), [str(label) for label in encoded.dictionary.to_pylist()]
    elif pa.types.is_integer(values.type) or pa.types.is_floating(values.type):
        numbers = values.to_numpy().astype(float)
        if not np.all(numbers == np.round(numbers)):
            raise InputError("these ratings are no whole numbers; the picture is about scales with categories")
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


def _middles(thresholds: np.ndarray, x: np.ndarray) -> np.ndarray:
    edges = np.r_[max(x[0], thresholds[0] - 1.2), thresholds, min(x[-1], thresholds[-1] + 1.2)]
    return (edges[1:] + edges[:-1]) / 2


def _shades(number: int) -> list:
    from matplotlib import colormaps

    return [colormaps["Blues"](0.15 + 0.6 * j / max(number - 1, 1)) for j in range(number)]


def _figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=150, layout="constrained")


def _title(panel: Axes, title: str, subtitle: str) -> None:
    panel.set_title(f"{title}\n", loc="left", fontsize=11, fontweight="bold", color=INK)
    panel.text(0, 1.02, subtitle, transform=panel.transAxes, fontsize=9, color="#555555", va="bottom")
    panel.spines[["top", "right"]].set_visible(False)


PAPER_COLOURS = ("#000000", "#E69F00", "#0072B2", "#56B4E9", "#009E73", "#F0E442", "#D55E00", "#CC79A7")
PAPER_NAMES = {
    "extra-low": "Extreme Low Variance",
    "low": "Low Variance",
    "representative": "General",
    "high": "High Variance",
    "extra-high": "Extreme High Variance",
}
LINES = {"clmm": "-", "lmer": "--", "clm": "-.", "lm": ":"}


def power_curves(run: Run | Sequence[Run], models: Sequence[str] | None = None) -> Figure:
    """Draw power over the effect: a row a variance setting, a column a number of ratings, a colour a number of items.

    Colours, line types and reading order are those of the paper's figures: black, orange and blue for more and more
    items, linear models dashed, ordinal ones solid (fixed-effects models dotted). Bands are exact 95 % intervals, the
    dotted level is alpha. Below stands what was run, with which engine, and how it was audited.

    Parameters
    ----------
    run
        A run of :func:`ordbridge.power.run`, finished or not; or several, with the same models and axes.
    models
        Which models to draw; default: all.

    References
    ----------
    Howcroft & Rieser (2021), Figures 2 and 3.
    """
    runs = list(run) if isinstance(run, Sequence) else [run]
    run, table = runs[0], pa.concat_tables(one.power() for one in runs)
    if models is not None:
        table = table.filter(pc.is_in(table["model"], pa.array(list(models))))
    if not table.num_rows or "effect" not in table.column_names:
        raise InputError("there is nothing to draw: the run has no fits yet, or its grid has no axis 'effect'")
    rows = table.to_pylist()
    other = [axis for axis in run.grid.axes if axis not in ("items", "ratings_per_text", "effect")]
    down = [axis for axis in other if axis == "variance" or len({str(row[axis]) for row in rows}) > 1]
    settings = sorted({tuple(row[axis] for axis in down) for row in rows}, key=_as_in_paper)
    columns, items = (
        sorted({row.get(axis) for row in rows}, key=lambda number: number or 0)
        for axis in ("ratings_per_text", "items")
    )
    drawn = [*dict.fromkeys(row["model"] for row in rows)]
    styles = {model.name: style for model, style in zip(run.models, _line_styles(run), strict=True)}
    figure = _figure(1.6 + 2.6 * len(columns), 1.5 + 1.9 * len(settings))
    panels = figure.subplots(len(settings), len(columns), sharex=True, sharey=True, squeeze=False)
    for i, setting in enumerate(settings):
        for j, ratings in enumerate(columns):
            here = [
                r for r in rows if tuple(r[axis] for axis in down) == setting and r.get("ratings_per_text") == ratings
            ]
            for colour, item in zip(_cycle(PAPER_COLOURS, len(items)), items, strict=True):
                for model in drawn:
                    curve = [r for r in here if r.get("items") == item and r["model"] == model]
                    _power_curve(panels[i, j], curve, colour, styles[model])
            panels[i, j].axhline(run.alpha, color=GREY, linewidth=0.6, linestyle=":", zorder=0)
            panels[i, j].set_ylim(-0.02, 1.02)
            panels[i, j].grid(color="#eeeeee", linewidth=0.6)
            panels[i, j].tick_params(labelsize=8)
            if i == 0 and ratings is not None:
                panels[i, j].set_title(f"# Ratings / Text: {ratings}", fontsize=9)
            if j == len(columns) - 1:
                name = ", ".join(PAPER_NAMES.get(value, str(value)) for value in setting)
                place = {"xycoords": "axes fraction", "rotation": 270, "ha": "left", "va": "center"}
                panels[i, j].annotate(name, (1.03, 0.5), **place, fontsize=9)
    for panel in panels[-1]:
        panel.set_xlabel("Difference in means (latent)", fontsize=8.5)
    for panel in panels[:, 0]:
        panel.set_ylabel("Power", fontsize=8.5)
    letters = int(18 * figure.get_figwidth())  # in a line of the caption
    caption = "\n".join(textwrap.fill(line, letters) for line in _power_caption(runs, table).split("\n"))
    inch = 1 / figure.get_figheight()
    bottom = (0.05 + 0.13 * (1 + caption.count("\n"))) * inch
    legend_rows = _power_legend(figure, items, drawn, styles, bottom)
    room = bottom + (0.1 + 0.17 * legend_rows) * inch
    figure.get_layout_engine().set(rect=(0, room, 1, 1 - room))  # type: ignore[union-attr,call-arg]
    figure.text(0.01, 0.04 * inch, caption, fontsize=6.5, color="#555555", va="bottom")
    return figure


def _as_in_paper(setting: tuple[Any, ...]) -> tuple[Any, ...]:
    """Sort the paper's settings from little to much variance, others by name after them."""
    known = list(PAPER_NAMES)
    return tuple((known.index(value), "") if value in known else (len(known), str(value)) for value in setting)


def _power_curve(axes: Axes, curve: list[dict[str, Any]], colour: str, style: Any) -> None:
    curve = sorted((r for r in curve if r["power"] is not None and r["effect"] is not None), key=lambda r: r["effect"])
    if not curve:
        return
    effect, power, low, high = ([r[name] for r in curve] for name in ("effect", "power", "conf_low", "conf_high"))
    axes.fill_between(effect, low, high, color=colour, alpha=0.08, linewidth=0)
    axes.plot(effect, power, color=colour, linestyle=style, linewidth=1.2)
    axes.plot(effect, power, "o", color=colour, alpha=0.25, markersize=3.5, markeredgewidth=0)


def _line_styles(run: Run) -> list[Any]:
    """Return a line type a model: by its kind, and for a second model of one kind dashes of another length."""
    seen: dict[str, int] = {}
    styles: list[Any] = []
    for model in run.models:
        again = seen[model.kind] = seen.get(model.kind, -1) + 1
        styles.append((0, (5 + 3 * again, 2, 1, 2)) if again else LINES[model.kind])
    return styles


def _power_legend(figure: Figure, items: list[Any], models: list[str], styles: dict[str, Any], bottom: float) -> int:
    """Put the legend above the caption and return how many rows it has."""
    from matplotlib.lines import Line2D

    handles = []
    if items != [None]:
        colours = zip(_cycle(PAPER_COLOURS, len(items)), items, strict=True)
        handles = [Line2D([], [], color=colour, label=f"{item} items") for colour, item in colours]
    handles += [Line2D([], [], color="#555555", linestyle=styles[model], label=model) for model in models]
    columns = min(len(handles), max(2, int(figure.get_figwidth() / 1.2)))
    look = {"ncols": columns, "fontsize": 8, "frameon": False, "handlelength": 3, "borderpad": 0.2}
    legend = figure.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.5, bottom), **look)
    legend.set_in_layout(False)
    return -(-len(handles) // columns)


def _power_caption(runs: list[Run], table: pa.Table) -> str:
    datasets = [*dict.fromkeys(table["n"].to_pylist())]
    count = f"{datasets[0]}" if len(datasets) == 1 else f"{min(datasets)}–{max(datasets)}"
    failed = sum(table["n_failed"].to_pylist())
    from ordbridge.power.result import audit_runs

    first = runs[0]
    line = f"{count} datasets a point, failed fits: {failed}, alpha {first.alpha:g}, engine {first.engine}"
    if share := first.manifest["audit"]:
        return f"{line}\nAudit of {share:g} of the datasets: {audit_runs(runs)}"
    return f"{line}, not audited" if first.engine == "fast" else line


def _cycle(colours: tuple[str, ...], number: int) -> list[str]:
    return [colours[i % len(colours)] for i in range(number)]


VERDICTS = {"reaches": BLUE, "undecided": GREY, "falls short": ORANGE}


def plan_contours(plan: Planned) -> Figure:
    """Draw the trade-off of a plan: power over items and ratings a text, with the contour of the target.

    Shades and contours are the curve through all simulations; dots are the designs that were simulated, by what their
    own intervals say, and the ring is the recommended one. If only one number of ratings, or one design, was asked
    for, power is drawn over the items, or over the effect.

    Parameters
    ----------
    plan
        What :func:`ordbridge.power.plan` returned.

    Examples
    --------
    >>> import ordbridge as ob
    >>> truth = ob.simulate.Truth(effects=(1.0,), thresholds=(-1, 0, 1))
    >>> vary = {"items": [10, 20, 40], "ratings_per_text": [1, 2]}
    >>> plan = ob.power.plan(truth, model="lm", vary=vary, texts_per_participant=10)
    >>> len(plan_contours(plan).axes)
    2
    """
    rows = plan.designs.to_pylist()
    figure = _figure(6.6, 4.4)
    panel = figure.subplots()
    target = plan.asked["target"]
    if len({row["ratings_per_text"] for row in rows}) > 1 and len({row["items"] for row in rows}) > 1:
        _contours(figure, panel, plan, rows)
        x, y, what = "items", "ratings_per_text", "Items and ratings"
    else:
        x, y = ("items" if len({row["items"] for row in rows}) > 1 else "effect"), "power"
        _curve_over(panel, plan, rows, x)
        what = "Power over the items" if x == "items" else "Power over the effect"
    _simulated(panel, plan, [row for row in rows if row["n"]], x, y)
    _title(panel, what, f"{plan.asked['test']}, target {target:.0%}, alpha {plan.asked['alpha']:g}")
    panel.legend(frameon=False, fontsize=8, ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.16))
    return figure


def _contours(figure: Figure, panel: Axes, plan: Planned, rows: list[dict[str, Any]]) -> None:
    items, ratings = (np.array(sorted({row[name] for row in rows})) for name in ("items", "ratings_per_text"))
    m, r = np.meshgrid(np.linspace(items[0], items[-1], 150), np.linspace(ratings[0], ratings[-1], 100))
    power = plan.curve.power(rows[0]["effect"], m, r)
    shades = panel.contourf(m, r, power, levels=np.linspace(0, 1, 11), cmap="Greys", alpha=0.4)
    figure.colorbar(shades, ax=panel, label="power (curve through all simulations)")
    if power.min() < plan.asked["target"] < power.max():
        line = panel.contour(m, r, power, levels=[plan.asked["target"]], colors=[INK], linewidths=2)
        panel.clabel(line, fmt=lambda level: f"{level:.0%}", fontsize=9)
    panel.set_yticks(ratings, [f"{number:g}" for number in ratings])
    panel.set_xlabel("items")
    panel.set_ylabel("ratings a text")


def _curve_over(panel: Axes, plan: Planned, rows: list[dict[str, Any]], axis: str) -> None:
    low, high = (edge(row[axis] for row in rows) for edge in (min, max))
    if low == high:
        low, high = 0.0, 2 * high
    x = np.linspace(low, high, 200)
    at = {"effect": rows[0]["effect"], "items": rows[0]["items"], axis: x}
    panel.plot(x, plan.curve.power(at["effect"], at["items"], rows[0]["ratings_per_text"]), color=INK, linewidth=1.2)
    panel.axhline(plan.asked["target"], color=GREY, linewidth=0.8, linestyle=":")
    panel.set_ylim(-0.02, 1.02)
    panel.set_xlabel(axis)
    panel.set_ylabel("power")


def _simulated(panel: Axes, plan: Planned, rows: list[dict[str, Any]], x: str, y: str) -> None:
    for verdict, colour in VERDICTS.items():
        here = [row for row in rows if row["verdict"] == verdict]
        if not here:
            continue
        across, up = [row[x] for row in here], [row[y] for row in here]
        hollow = verdict == "undecided"  # to be seen on the grey of the curve
        look: dict[str, Any] = {
            "edgecolor": INK if hollow else "white",
            "linewidth": 0.8,
            "zorder": 3,
            "clip_on": False,
        }
        panel.scatter(across, up, s=28, color="white" if hollow else colour, label=verdict, **look)
        if y == "power":
            panel.vlines(across, [r["conf_low"] for r in here], [r["conf_high"] for r in here], color=colour)
    if (best := plan.recommended) is not None and plan.question != "power":
        ring: dict[str, Any] = {"facecolor": "none", "edgecolor": INK, "linewidth": 1.6, "zorder": 4, "clip_on": False}
        panel.scatter([best[x]], [best[y]], s=150, label="recommended", **ring)
