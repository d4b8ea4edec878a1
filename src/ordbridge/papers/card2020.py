"""Card et al. (2020): the settings of their normal model.

"With little power comes great responsibility", EMNLP 2020. Every worker rates every item under both systems, coded
−1 and +1, so that ``diff`` is half the difference of the systems, and a slope's standard deviation counts double in
it. With slopes coded −½ and +½ the same model has twice the effect and twice the standard deviations.
"""

from __future__ import annotations

from ordbridge.papers.settings import Settings
from ordbridge.simulate import Truth

__all__ = ["differences", "items", "settings", "simulations", "truth", "workers"]

INTERCEPT = 0.5

differences = (0.05, 0.1, 0.15, 0.2)
items = (50, 100, 500)
workers = (3, 10)
simulations = 200


def _truth(
    item_slope: float, item_intercept: float, worker_slope: float, worker_intercept: float, sigma: float
) -> Truth:
    return Truth(
        effects=(0.0,),
        participant_sd=(worker_intercept, 2 * worker_slope),
        item_sd=(item_intercept, 2 * item_slope),
        slope_coding="centred",
        scale="interval",
        mean=INTERCEPT,
        residual_sd=sigma,
    )


settings = Settings({"high": _truth(0.14, 0.04, 0.11, 0.01, 0.26), "low": _truth(0.13, 0.01, 0.04, 0.01, 0.16)})
"""Both variance settings at no difference, with ratings on a scale of 0 to 1."""


def truth(setting: str, diff: float) -> Truth:
    """Return the truth for Card's ``diff``, the coefficient of a system coded −1 and +1.

    Examples
    --------
    >>> low = truth("low", 0.05)
    >>> low.effects, low.mean
    ((0.1,), 0.45)
    """
    return settings[setting].shift(effect=2 * diff, mean=INTERCEPT - diff)
