"""A judge beside people: calibration, and bias by system."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ordbridge.errors import InputError
from ordbridge.render.figures.style import BLUE, GREY, INK, ORANGE, empty_figure, title
from ordbridge.support.escaping import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ordbridge.judges.judge_agreement import JudgeAgreement


MOST_TEXTS = 1500  # that are drawn; of more every second, third and so on


def judge_against_people(found: JudgeAgreement) -> Figure:
    """Draw people's mean rating for each rating by the judge, and how much the judge favours each system.

    Parameters
    ----------
    found
        What :func:`ordbridge.judges.agreement` returned.

    Examples
    --------
    >>> import numpy as np
    >>> from ordbridge.judges import agreement
    >>> rng = np.random.default_rng(1)
    >>> true = rng.normal(3, 1, 40)
    >>> seen = np.concatenate([np.clip(np.round(true + rng.normal(scale=0.5, size=40)), 1, 5) for _ in range(3)])
    >>> table = {"item": [*range(40)] * 3, "participant": ["a"] * 40 + ["b"] * 40 + ["gpt"] * 40, "rating": seen}
    >>> len(judge_against_people(agreement(table, "gpt")).axes)
    1
    """
    calibrated, systems = found.calibration.num_rows > 0, found.systems.num_rows > 0
    if not (calibrated or systems):
        raise InputError("there is neither a calibration nor a bias by system to draw")
    figure = empty_figure(4.2 * (calibrated + systems), 3.6)
    panels = list(figure.subplots(1, calibrated + systems, squeeze=False)[0])
    if calibrated:
        panel = panels.pop(0)
        rows = found.calibration.to_pylist()
        texts = found.texts
        at = [float(k) for k in range(len(rows))]
        if texts is not None:
            at = sorted(set(texts["judge"].to_pylist()))
            _each_text(panel, texts["judge"].to_numpy(), texts["people"].to_numpy(), at)
        most = max(row["n_texts"] for row in rows)
        panel.scatter(at, [row["people"] for row in rows], color=BLUE, zorder=3,
                      s=[16 + 50 * row["n_texts"] / most for row in rows], label="mean of people")  # fmt: skip
        if rows[0]["expected"] is not None:
            panel.plot(at, [row["expected"] for row in rows], color=ORANGE, zorder=2, label="model")
        panel.legend(frameon=False, fontsize=8, loc="upper left", handlelength=1.4)
        panel.set_xticks(at, [shortened(str(row["judge"]), 16) for row in rows])
        panel.set_xlabel(f"rating by {shortened(found.judge)}")
        panel.set_ylabel("people's mean rating")
        title(panel, "Calibration", "small: one text each; dashed: judge and people alike")
    if systems:
        panel = panels.pop(0)
        rows = found.systems.to_pylist()
        for place, row in enumerate(rows):
            panel.plot([row["conf_low"], row["conf_high"]], [place, place], color=GREY, zorder=1)
            panel.plot(row["favours"], place, "o", color=BLUE if row["p_value"] >= 0.05 else ORANGE, zorder=2)
        panel.axvline(0, color=GREY, linewidth=0.8)
        panel.set_yticks(range(len(rows)), [shortened(row["system"], 30) for row in rows])
        panel.set_ylim(len(rows) - 0.5, -0.5)
        panel.tick_params(axis="y", length=0)
        panel.set_xlabel("judge above people, against the other systems")
        title(panel, "Whom it favours", "95% intervals; orange: p < .05")
    return figure


def _each_text(panel: Axes, judge: np.ndarray, people: np.ndarray, at: Sequence[float]) -> None:
    """Draw every text, moved a little to the side so that none hides another, and the line of equal ratings."""
    step = min(np.diff(at), default=1.0)
    shown = slice(None, None, -(-len(judge) // MOST_TEXTS))
    aside = step * np.random.default_rng(0).uniform(-0.28, 0.28, len(judge))
    panel.scatter((judge + aside)[shown], people[shown], s=7, color=GREY, alpha=0.55, linewidths=0, zorder=1)
    low, high = min(judge.min(), people.min()), max(judge.max(), people.max())
    panel.plot([low, high], [low, high], color=INK, linewidth=0.8, linestyle="--", zorder=1, label="alike (y = x)")
