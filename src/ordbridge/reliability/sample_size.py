"""How many items a coefficient of agreement needs for a narrow interval."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ordbridge.errors import InputError
from ordbridge.reliability.agreement import conger_kappa
from ordbridge.reliability.alpha import krippendorff_alpha
from ordbridge.reliability.jackknife import interval_of, leave_out
from ordbridge.reliability.ratings import LEVELS, Ratings, prepare
from ordbridge.reliability.records import Coefficient
from ordbridge.support.arguments import choice, proportion, whole

PILOT_ITEMS = 4000  # of the simulated pilot: enough for the variance of one item to within a few percent


def items_needed(
    expected: float | None = None,
    margin: float = 0.1,
    *,
    pilot: Any = None,
    coefficient: str = "alpha",
    level: str = "ordinal",
    raters: int = 2,
    categories: int = 5,
    conf_level: float = 0.95,
    seed: int = 1,
) -> int:
    r"""Return how many items a coefficient's interval of ± ``margin`` needs.

    The variance of a coefficient falls with the number of items, :math:`v_1 / n`. What one item contributes,
    :math:`v_1`, comes from the jackknife over the items of a pilot study, or of one simulated with the expected
    value: raters who see the same quality with noise, so that their ratings correlate as expected (at the nominal
    level: raters who know the category with probability :math:`\sqrt{\kappa}` and guess otherwise). The interval is
    about these raters; raters who are a sample too need more raters, not more items.

    Parameters
    ----------
    expected
        The value expected; or give a pilot.
    margin
        Half the width wanted.
    pilot
        Ratings, as :func:`ordbridge.reliability.prepare` takes them, instead of an expected value.
    coefficient
        ``"alpha"`` (Krippendorff's α at the level) or ``"kappa"`` (Conger's κ, unweighted).
    level
        Level of measurement.
    raters, categories
        Of the study, when it is simulated.
    conf_level, seed
        Level of the interval; seed of the simulated pilot.

    References
    ----------
    Gwet, K. L. (2014). Handbook of Inter-Rater Reliability, 4th ed., chapter 6 (which plans by the largest variance).

    Examples
    --------
    >>> items_needed(0.6, margin=0.1, coefficient="kappa", level="nominal", categories=2) in range(200, 240)
    True
    """
    from scipy.stats import norm

    choice("coefficient", coefficient, ("alpha", "kappa"))
    choice("level", level, LEVELS)
    proportion("margin", margin)
    if (expected is None) == (pilot is None):
        raise InputError("give either the expected value or a pilot's ratings")
    if pilot is None:
        ratings = _simulated(proportion("expected", expected), level, whole("raters", raters, 2), categories, seed)
    else:
        ratings = prepare(pilot)
    function: Callable[..., Coefficient] = conger_kappa if coefficient == "kappa" else krippendorff_alpha
    options: dict[str, Any] = {} if coefficient == "kappa" else {"level": level}

    def statistic(some: Ratings) -> float:
        left = some.rated_by(1)
        return function(left, **options, conf_level=None).estimate

    found = leave_out(ratings, statistic, random=False)
    if not interval_of(found, conf_level, random=False).get("conf_low"):
        raise InputError("the pilot's items do not tell how much the coefficient varies; it needs more items")
    groups = len(found.without_items)
    variance = (groups - 1) / groups * ((found.without_items - found.without_items.mean()) ** 2).sum()
    per_item = variance * len(ratings.items)
    z = norm.ppf((1 + proportion("conf_level", conf_level)) / 2)
    return max(2, int(np.ceil(per_item * (z / margin) ** 2)))


def _simulated(expected: float, level: str, raters: int, categories: int, seed: int) -> Ratings:
    """Return ratings whose coefficient is near the expected value."""
    rng = np.random.default_rng(seed)
    categories = whole("categories", categories, 2)
    if level == "nominal":
        true = rng.integers(1, categories + 1, (PILOT_ITEMS, 1))
        guess = rng.integers(1, categories + 1, (PILOT_ITEMS, raters))
        return prepare(np.where(rng.random((PILOT_ITEMS, raters)) < np.sqrt(expected), true, guess))
    seen = np.sqrt(expected) * rng.normal(size=(PILOT_ITEMS, 1))
    seen = seen + np.sqrt(1 - expected) * rng.normal(size=(PILOT_ITEMS, raters))
    if level in ("interval", "ratio"):
        return prepare(np.round(50 + 10 * seen, 1))
    from scipy.stats import norm

    cuts = norm.ppf(np.arange(1, categories) / categories)
    return prepare(np.digitize(seen, cuts) + 1)
