"""What a latent effect is on the rating scale."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ordbridge.errors import InputError
from ordbridge.render.figures.style import BLUE, GREY, INK, ORANGE, empty_figure, title
from ordbridge.simulate.rating_scale import implied, latent_cdf
from ordbridge.simulate.truth import Truth

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


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
    figure = empty_figure(10.5, 4.2)
    latent, rated = figure.subplots(1, 2)
    _latent_densities(latent, truth.shift(effect=0.0))
    _differences_of_means(rated, truth)
    return figure


def _latent_densities(panel: Axes, truth: Truth) -> None:
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
    title(panel, "Latent effect 0", "latent quality over all raters and items, and the thresholds")


def _differences_of_means(panel: Axes, truth: Truth) -> None:
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
    title(panel, "Latent effect and mean ratings", "both models have the same null only if the curve meets the origin")


def _middles(thresholds: np.ndarray, x: np.ndarray) -> np.ndarray:
    edges = np.r_[max(x[0], thresholds[0] - 1.2), thresholds, min(x[-1], thresholds[-1] + 1.2)]
    return (edges[1:] + edges[:-1]) / 2
