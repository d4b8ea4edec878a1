"""The effects of a plan in words: which differences are there to be found, in the units that people think in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ordbridge.planning.hypotheses import ANY, pairs_of
from ordbridge.simulate import Truth
from ordbridge.simulate.effect_units import effect_units

__all__ = ["aimed", "smallest"]


def aimed(asked: Mapping[str, Any]) -> str:
    """Say what a study does, as in "a difference of +0.3 rating points between new and base (…) is found"."""
    if asked.get("margin") is not None:
        return f"{asked['test']} is shown at {_difference(asked)}"
    if "points" not in asked or len(_pairs(asked)) == 1:
        return f"{_difference(asked)} is found"
    what = "that the systems differ" if asked["term"] == ANY else "every difference that there is"
    return f"{what} ({_distances(asked)}) is found"


def smallest(effect: float, asked: Mapping[str, Any], whole: bool = True) -> str:
    """Say an effect of which the smallest is looked for, in all units or in one; ``effect`` is latent."""
    latent = f"{effect:g}"
    if "truth" not in asked or len(asked["names"]) > 2:
        return latent
    units = effect_units(Truth.from_dict(asked["truth"]).shift(effect=effect), asked["names"]).to_pylist()[0]
    points = f"{units['points']:+.2g} rating points"
    higher = f"a text of {units['system']} is rated above one of {units['reference']} in {units['superiority']:.0%}"
    return f"{points} ({higher}; latent effect {latent})" if whole else points


def _difference(asked: Mapping[str, Any]) -> str:
    """Name the difference of one pair, in points and as a probability of being rated higher where that is known."""
    effects = asked["effect"]
    if "points" not in asked:
        return f"an effect of {', '.join(f'{e:.3g}' for e in effects)}"
    ((low, high),) = _pairs(asked)
    latent, points = (values[high] - values[low] for values in ([0.0, *effects], [0.0, *asked["points"]]))
    first, second = asked["names"][low], asked["names"][high]
    higher = f"a text of {second} is rated higher in {asked['superiority'][high - 1]:.0%}; " if low == 0 else ""
    return (
        f"a difference of {points:+.2g} rating points between {second} and {first} ({higher}latent effect {latent:.3g})"
    )


def _distances(asked: Mapping[str, Any]) -> str:
    """Say how far all systems are from the first one."""
    first, *others = asked["names"]
    points = ", ".join(f"{name} {value:+.2g}" for name, value in zip(others, asked["points"], strict=True))
    latent = ", ".join(f"{effect:.3g}" for effect in asked["effect"])
    return f"rating points against {first}: {points}; latent effects {latent}"


def _pairs(asked: Mapping[str, Any]) -> tuple[tuple[int, int], ...]:
    """Return the pairs that are tested; two systems have only one, whatever its coefficient is called."""
    return ((0, 1),) if len(asked["names"]) == 2 else pairs_of(asked["term"], asked["systems"])
