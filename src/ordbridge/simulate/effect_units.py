"""Effects in the units that people think in: rating points, the probability of being rated higher, latent units."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from ordbridge.errors import InputError
from ordbridge.simulate.rating_scale import rating_means, superiority
from ordbridge.simulate.truth import Truth
from ordbridge.support.arguments import numbers
from ordbridge.support.naming import arg

FARTHEST = 12.0  # latent units: beyond that a system has every rating at one end of the scale


def effect_units(truth: Truth, names: Sequence[str] | None = None) -> pa.Table:
    """Say how far each system is from the first one, in all units.

    Parameters
    ----------
    truth
        The truth.
    names
        What the systems are called. Default: A, B, ….

    Returns
    -------
    pyarrow.Table
        ``system_a, system_b, latent`` (units of the latent quality, in which the noise of a rating has the standard
        deviation of the link), ``points`` (difference of mean ratings) and ``superiority`` (how probably a text of the
        system is rated above one of ``system_b``, ties split).

    Examples
    --------
    >>> truth = Truth(effects=0.5, thresholds=(-1, 0, 1), item_sd=(0.5, 0))
    >>> effect_units(truth).to_pandas().round(2)
      system_a system_b  latent  points  superiority
    0        B        A     0.5    0.41         0.61
    """
    labels = list(names) if names is not None else [chr(ord("A") + i) for i in range(truth.systems)]
    if len(labels) != truth.systems:
        raise InputError(f"there are {len(labels)} names for {truth.systems} systems")
    return pa.table(
        {
            "system_a": labels[1:],
            "system_b": [labels[0]] * (truth.systems - 1),
            "latent": np.array(truth.effects),
            "points": _points(truth),
            "superiority": superiority(truth),
        }
    )


def with_points(truth: Truth, points: float | Sequence[float]) -> Truth:
    """Return the truth with the latent effects that make these differences of mean ratings.

    Parameters
    ----------
    truth
        The truth.
    points
        How many rating points each system after the first is above the first one on average.

    Examples
    --------
    >>> truth = with_points(Truth(effects=0.0, thresholds=(-1, 0, 1), item_sd=(0.5, 0)), 0.41)
    >>> round(truth.effects[0], 2)
    0.5
    """
    return _solved(truth, "effect_points", points, _points, "rating points apart")


def with_superiority(truth: Truth, probability: float | Sequence[float]) -> Truth:
    """Return the truth with the latent effects that make these probabilities of being rated above the first system.

    Examples
    --------
    >>> truth = with_superiority(Truth(effects=0.0, thresholds=(-1, 0, 1), item_sd=(0.5, 0)), 0.61)
    >>> round(truth.effects[0], 1)
    0.5
    """
    for value in numbers("superiority", probability):
        if not 0 < value < 1:
            raise InputError(
                f"{arg('superiority', value)} is not a probability between 0 and 1; 0.5 means no difference"
            )
    return _solved(truth, "superiority", probability, superiority, "as the probability of being rated higher")


def _points(truth: Truth) -> np.ndarray:
    mean = rating_means(truth)
    return mean[1:] - mean[0]


def _solved(
    truth: Truth, name: str, wanted: float | Sequence[float], measure: Callable[[Truth], np.ndarray], words: str
) -> Truth:
    """Find the latent effects at which ``measure`` has the wanted values; each depends on its own effect only."""
    from scipy.optimize import brentq

    values = numbers(name, wanted)
    if len(values) != len(truth.effects):
        raise InputError(
            f"{name} has {len(values)} number{'s' if len(values) > 1 else ''}; give {len(truth.effects)}, one for each "
            "system after the first"
        )
    effects = []
    for place, value in enumerate(values):

        def off(effect: float, place: int = place, value: float = value) -> float:
            moved = [0.0] * len(values)
            moved[place] = effect
            return float(measure(truth.shift(effect=moved))[place] - value)

        low, high = off(-FARTHEST), off(FARTHEST)
        if not low < 0 < high:
            raise InputError(
                f"{arg(name, value)} is out of reach: on this scale two systems can be from {low + value:.3g} to "
                f"{high + value:.3g} {words}"
            )
        effects.append(round(float(brentq(off, -FARTHEST, FARTHEST, xtol=1e-9)), 9))
    return truth.shift(effect=effects)
