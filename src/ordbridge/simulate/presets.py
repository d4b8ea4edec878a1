"""Published truths as data: settings by name, and the presets of a power study."""

from __future__ import annotations

from dataclasses import dataclass

from ordbridge.errors import InputError
from ordbridge.simulate.threshold_distribution import ThresholdDistribution
from ordbridge.simulate.truth import Truth


class Settings(dict[str, Truth]):
    """The truths of a paper by the names it gives them.

    Examples
    --------
    >>> Settings(low=Truth(effects=0.0, thresholds=0.0))["lowest"]
    Traceback (most recent call last):
    ...
    ordbridge.errors.InputError: there is no setting 'lowest'; choose one of: low
    """

    def __missing__(self, name: str) -> Truth:
        """Say which settings there are."""
        raise InputError(f"there is no setting {name!r}; choose one of: {', '.join(self)}")


@dataclass(frozen=True)
class Preset:
    """A published simulation: what is true, in which sizes of study, and how its linear mixed model is fitted.

    Attributes
    ----------
    settings
        The truths, at effect 0.
    thresholds
        How the thresholds vary from study to study; the effects are shares of their mean distance.
    effects, items, ratings
        The axes of the published grid.
    REML
        Whether the published code fits ``lmer`` by REML.
    """

    settings: Settings
    thresholds: ThresholdDistribution
    effects: tuple[float, ...]
    items: tuple[int, ...]
    ratings: tuple[int, ...]
    REML: bool


def preset_named(name: str) -> Preset:
    """Return a preset.

    Examples
    --------
    >>> preset_named("howcroft2021").effects
    (0.155, 0.31, 0.465, 0.62)
    """
    if name not in PRESETS:
        raise InputError(f"there is no preset {name!r}; choose one of: {', '.join(PRESETS)}")
    return PRESETS[name]


def _howcroft2021() -> Preset:
    """Howcroft & Rieser (2021), with the numbers of the published code where the text says otherwise.

    Standard deviations are those of intercept and slope, uncorrelated, slopes on a 0/1 coding. The thresholds are those
    of the published code; its own comment says −1.79 (0.17) and 0.62 (0.20).
    """
    distance = 0.62
    thresholds = ThresholdDistribution(lowest=(-1.78, 0.19), distance=(distance, 0.18), categories=6)
    deviations = {  # of participants, of items
        "extra-low": ((0.28, 0.11), (0.29, 0.43)),
        "low": ((0.48, 0.27), (0.29, 0.63)),
        "representative": ((0.52, 0.43), (0.57, 0.77)),
        "high": ((0.56, 0.67), (0.71, 0.89)),
        "extra-high": ((0.56, 0.67), (1.09, 1.26)),
    }
    return Preset(
        settings=Settings(
            {
                name: Truth(
                    effects=(0.0,),
                    threshold_distribution=thresholds,
                    participant_sd=raters,
                    item_sd=items,
                    slope_coding="treatment",
                )
                for name, (raters, items) in deviations.items()
            }
        ),
        thresholds=thresholds,
        effects=tuple(round(share * distance, 3) for share in (0.25, 0.5, 0.75, 1.0)),
        items=(50, 100, 500),
        ratings=(3, 10),
        REML=False,
    )


HOWCROFT2021 = _howcroft2021()
PRESETS = {"howcroft2021": HOWCROFT2021}
"""By the names that ``power.Grid`` and ``planning.plan`` know them by."""
