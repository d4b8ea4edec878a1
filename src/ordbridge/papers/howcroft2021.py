"""Howcroft & Rieser (2021): the settings of their simulation.

"What happens if you treat ordinal ratings as interval data? Human evaluations in NLP are even more under-powered than
you think", EMNLP 2021, with the numbers of the published code where the text says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np

from ordbridge.papers.past_studies import settings_from
from ordbridge.papers.settings import Settings
from ordbridge.simulate import ThresholdDistribution, Truth
from ordbridge.simulate.draw import Seed, stream

__all__ = [
    "Cell",
    "cells",
    "effects",
    "items",
    "ratings",
    "settings",
    "settings_from",
    "simulations",
    "threshold_distribution",
    "thresholds",
]

MEAN_THRESHOLD_DISTANCE = 0.62

threshold_distribution = ThresholdDistribution(
    lowest=(-1.78, 0.19), distance=(MEAN_THRESHOLD_DISTANCE, 0.18), categories=6
)
"""As in the published code; its own comment says −1.79 (0.17) and 0.62 (0.20)."""

effects = tuple(round(share * MEAN_THRESHOLD_DISTANCE, 3) for share in (0.25, 0.5, 0.75, 1.0))
items = (50, 100, 500)
ratings = (3, 10)
simulations = 100


def _truth(participant_sd: tuple[float, float], item_sd: tuple[float, float]) -> Truth:
    return Truth(
        effects=(0.0,),
        threshold_distribution=threshold_distribution,
        participant_sd=participant_sd,
        item_sd=item_sd,
    )


settings = Settings(
    {
        "extra-low": _truth((0.28, 0.11), (0.29, 0.43)),
        "low": _truth((0.48, 0.27), (0.29, 0.63)),
        "representative": _truth((0.52, 0.43), (0.57, 0.77)),
        "high": _truth((0.56, 0.67), (0.71, 0.89)),
        "extra-high": _truth((0.56, 0.67), (1.09, 1.26)),
    }
)
"""The five variance settings at effect 0: ``settings["low"].shift(effect=0.31)`` is the truth of a cell.

Standard deviations of intercept and slope, uncorrelated, slopes on a 0/1 coding; "representative" is "General" in the
paper's figures.
"""


class Cell(NamedTuple):
    """One cell of the published grid."""

    setting: str
    items: int
    ratings: int
    effect: float

    @property
    def truth(self) -> Truth:
        """The truth that its datasets come from."""
        return settings[self.setting].shift(effect=self.effect)


def cells(*names: str) -> Iterator[Cell]:
    """Go through the 24 cells of each of the settings named, or of all five.

    Examples
    --------
    >>> len(list(cells())), next(cells("low"))
    (120, Cell(setting='low', items=50, ratings=3, effect=0.155))
    """
    for name in names or settings:
        settings[name]
        yield from (Cell(name, *rest) for rest in product(items, ratings, effects))


def thresholds(replicates: int, seed: Seed) -> np.ndarray:
    """Draw the thresholds of a run, one row a replicate: as published, all cells of a run share them.

    Hand row ``i`` to :meth:`ordbridge.simulate.Simulator.draw` for replicate ``i`` of every cell.

    Examples
    --------
    >>> thresholds(100, seed=42).shape
    (100, 5)
    """
    random = stream(seed)
    return np.array([threshold_distribution.draw(random) for _ in range(replicates)])
