"""Where nothing differs: the truth at which a model must not find anything."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ordbridge.power.models import Model
from ordbridge.simulate import Truth
from ordbridge.simulate.effect_units import with_points
from ordbridge.simulate.rating_scale import rating_means

ROUNDING = 1e-7  # of a latent effect that is found by search


@lru_cache(maxsize=64)
def without_difference(truth: Truth, model: Model) -> Truth:
    """Return a truth in which what the model tests is the same for all systems.

    An ordinal model tests latent quality. A linear model tests mean ratings; where systems spread differently, these
    are equal at other latent effects than 0 (:func:`ordbridge.simulate.implied`).

    Examples
    --------
    >>> from ordbridge.simulate.presets import HOWCROFT2021
    >>> truth = HOWCROFT2021.settings["representative"].shift(effect=0.5)
    >>> [round(without_difference(truth, Model(kind)).effects[0], 3) for kind in ("clmm", "lmer")]
    [0.0, 0.077]
    """
    nothing = truth.without_effects()
    if model.ordinal or truth.scale == "interval":
        return nothing
    equal = with_points(nothing, [0.0] * len(truth.effects))
    return equal.shift(effect=[0.0 if abs(effect) < ROUNDING else effect for effect in equal.effects])


@lru_cache(maxsize=64)
def nothing_differs(truth: Truth, model: Model) -> bool:
    """Tell whether a truth is one in which what the model tests is the same for all systems."""
    if model.ordinal or truth.scale == "interval":
        return not any(truth.effects)
    return bool(np.ptp(rating_means(truth)) < ROUNDING)
