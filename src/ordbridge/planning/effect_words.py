"""The effects of a plan in words: which differences are there to be found, in the units that people think in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ordbridge.planning.hypotheses import ANY, pairs_of
from ordbridge.simulate import Truth
from ordbridge.simulate.effect_units import effect_units


def aimed(asked: Mapping[str, Any]) -> str:
    """Say what a study is to find, as in "Power to find new 0.3 points above base (…)"."""
    if asked["effect"] == "smallest":
        return ""
    if asked["margin"] is not None:
        return f"Power to show {asked['test']} with {_difference(asked)}"
    if not several(asked):
        return f"Power to find {_difference(asked)}"
    what = "any difference" if asked["term"] == ANY else "every difference that there is"
    return f"Power to find {what} ({_distances(asked)})"


def several(asked: Mapping[str, Any]) -> bool:
    """Tell whether several pairs are tested."""
    return len(_pairs(asked)) > 1


def smallest(effect: float, asked: Mapping[str, Any], whole: bool = True) -> str:
    """Say an effect of which the smallest is looked for, in all units or in one; ``effect`` is latent."""
    latent = f"{effect:g}"
    if len(asked["names"]) > 2:
        return f"{latent} latent units"
    units = effect_units(Truth.from_dict(asked["truth"]).shift(effect=effect), asked["names"]).to_pylist()[0]
    points = f"{units['points']:+.2g} rating points"
    return f"{points} (latent {latent}, {_higher(units['system_a'], units['superiority'])})" if whole else points


def _difference(asked: Mapping[str, Any]) -> str:
    """Name the difference of one pair, in points and as a probability of being rated higher where that is known."""
    ((low, high),) = _pairs(asked)
    latent, points = (values[high] - values[low] for values in ([0.0, *asked["effect"]], [0.0, *asked["points"]]))
    first, second = asked["names"][low], asked["names"][high]
    higher = f", {_higher(second, asked['superiority'][high - 1])}" if low == 0 else ""
    side = "below" if points < 0 else "above"
    return f"{second} {abs(points):.2g} points {side} {first} (latent {latent:.3g}{higher})"


def _higher(system: str, probability: float) -> str:
    return f"{system} rated higher {probability:.0%} of the time"


def _distances(asked: Mapping[str, Any]) -> str:
    """Say how far all systems are from the first one."""
    first, *others = asked["names"]
    points = ", ".join(f"{name} {value:+.2g}" for name, value in zip(others, asked["points"], strict=True))
    latent = ", ".join(f"{effect:.3g}" for effect in asked["effect"])
    return f"points above {first}: {points}; latent {latent}"


def _pairs(asked: Mapping[str, Any]) -> tuple[tuple[int, int], ...]:
    """Return the pairs that are tested; two systems have only one, whatever its coefficient is called."""
    return ((0, 1),) if len(asked["names"]) == 2 else pairs_of(asked["term"], asked["systems"])
