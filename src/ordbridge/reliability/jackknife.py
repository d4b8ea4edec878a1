"""Intervals of coefficients: what another sample of items, and of raters, would have given.

Every coefficient is a plain function of the ratings. It is computed again without each item and without each rater
(without one group of them after the other, where there are more than 50), and the spread of these values gives the
two parts of its variance: Gwet's "unconditional" variance when raters are a sample too, the first part alone when the
question is about these raters only. The interval is Student's, with the degrees of freedom of Satterthwaite, on
Fisher's z scale. `docs/reliability.md` has its simulated coverage.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ordbridge.checks import choice, share
from ordbridge.errors import InputError
from ordbridge.reliability.ratings import Ratings
from ordbridge.reliability.records import Coefficient

__all__ = [
    "CROWD",
    "Replicates",
    "describe_raters_as",
    "estimate",
    "interval_of",
    "leave_out",
    "raters_as",
]

CROWD = 10  # from so many raters on they are taken for a sample of raters
MOST_GROUPS = 50
FEW = 20  # items that all say the same are too few to claim certainty
ONE_SIDED = 0.95  # a label holds when its lower bound is below the coefficient with this probability

Statistic = Callable[[Ratings], float]


@dataclass(frozen=True)
class Replicates:
    """A coefficient of all ratings, without single items, and without single raters; NaN where it has no value.

    Of a coefficient over pairs of raters, ``n_pairs`` have a value.
    """

    whole: float
    without_items: np.ndarray
    without_raters: np.ndarray
    n_pairs: int | None = None


def raters_as(ratings: Ratings, raters: str | None) -> str:
    """Return ``"random"`` or ``"fixed"``; by default random for gaps or from ten raters on.

    Examples
    --------
    >>> from ordbridge.reliability import prepare
    >>> raters_as(prepare([[1, 2, 2], [2, 2, 1]]), None), raters_as(prepare([[1, 2, 2], [2, None, 1]]), None)
    ('fixed', 'random')
    """
    choice("raters", raters, (None, "random", "fixed"))
    if raters is not None:
        return raters
    few = len(ratings.raters) == 2
    return "random" if not few and (not ratings.crossed or len(ratings.raters) >= CROWD) else "fixed"


def describe_raters_as(ratings: Ratings, raters: str | None) -> str:
    """Say what the intervals are about, and why."""
    if raters_as(ratings, raters) == "fixed":
        about = "about these raters only (raters fixed)"
        reason = "" if raters else ": there are only two" if len(ratings.raters) == 2 else ": few raters, no gaps"
    else:
        about = "about raters like these (raters random)"
        gaps = "not everybody rated everything" if not ratings.crossed else f"{len(ratings.raters)} raters are a crowd"
        reason = "" if raters else f": {gaps}"
    return about + reason


def leave_out(ratings: Ratings, statistic: Statistic, random: bool, seed: int = 1) -> Replicates:
    """Compute a coefficient of all ratings, without each item and, if raters are random, without each rater."""
    values = []
    with np.errstate(divide="ignore", invalid="ignore"):
        for column, size in ((ratings.row, len(ratings.items)), (ratings.column, len(ratings.raters) if random else 0)):
            groups = min(size, MOST_GROUPS)
            group = np.random.default_rng(seed).permutation(size) % max(groups, 1)
            if size <= MOST_GROUPS:
                group = np.arange(size)
            of_rating = group[column] if size else column
            values.append(np.array([statistic(ratings.only(of_rating != g)) for g in range(groups)]))
        return Replicates(float(statistic(ratings)), values[0], values[1])


def interval_of(found: Replicates, conf_level: float, random: bool) -> dict[str, Any]:
    r"""Return the interval and the one-sided bounds as fields of a :class:`Coefficient`, or a note why there is none.

    With :math:`z_g` the transformed coefficient without group g of G,
    :math:`v = \frac{G-1}{G} \sum_g (z_g - \bar z)^2`, for items and for raters; their sum has
    :math:`(v_I + v_R)^2 / (v_I^2/(n-1) + v_R^2/(m-1))` degrees of freedom.

    References
    ----------
    Gwet, K. L. (2014). Handbook of Inter-Rater Reliability, 4th ed., chapter 5: the variance over items and raters.
    Satterthwaite, F. E. (1946). Biometrics Bulletin 2, 110-114.
    """
    from scipy.stats import t

    if random and len(found.without_raters) < 3:
        return {"note": "no interval: two raters cannot tell how raters differ; raters='fixed' is about these two"}
    sources = [found.without_items] + ([found.without_raters] if random else [])
    everything = np.concatenate([[found.whole], *sources])
    if not np.isfinite(everything).all():
        lost = int((~np.isfinite(everything)).sum())
        return {
            "note": f"no interval: without single items or raters there is no value (such items and raters: {lost})"
        }
    inside = np.abs(everything).max() < 1
    to, back = (np.arctanh, np.tanh) if inside else (_as_it_is, _as_it_is)
    variances = np.array([_variance(to(values)) for values in sources])
    sizes = np.array([len(values) for values in sources])
    total = variances.sum()
    if total <= 0:
        same = {name: found.whole for name in ("conf_low", "conf_high", "surely_above", "surely_below")}
        few = len(found.without_items) < FEW
        note = "the coefficient is the same without any of the items or raters, so that the interval has no width"
        return {"note": f"no interval: {note}"} if few else same | {"note": note}
    df = total**2 / (variances**2 / (sizes - 1)).sum()
    centre, error = float(to(found.whole)), float(np.sqrt(total))

    def bound(level: float) -> float:
        return float(np.clip(back(centre + t.ppf(level, df) * error), -1, 1))

    return {
        "conf_low": bound((1 - conf_level) / 2),
        "conf_high": bound((1 + conf_level) / 2),
        "surely_above": bound(1 - ONE_SIDED),
        "surely_below": bound(ONE_SIDED),
    }


def estimate(
    ratings: Ratings,
    statistic: Statistic,
    *,
    name: str,
    definition: str,
    undefined: str,
    raters: str | None,
    conf_level: float | None,
    note: str = "",
    replicates: Callable[[bool], Replicates] | None = None,
    **test: Any,
) -> Coefficient:
    """Compute a coefficient and its interval.

    Parameters
    ----------
    ratings
        The ratings that enter.
    statistic
        The coefficient of some ratings, NaN where it has no value.
    name, definition
        For the record.
    undefined
        Why the coefficient has no value, if it has none.
    raters, conf_level
        What the interval is about (see :func:`raters_as`), and its level; ``None`` for no interval.
    note, **test
        Further fields of the record.
    replicates
        A faster way to leave out items and raters, for coefficients that have one.
    """
    if conf_level is not None:
        share("conf_level", conf_level)
    about = raters_as(ratings, raters)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = float(statistic(ratings))
    if not np.isfinite(value):
        raise InputError(f"{name} has no value here: {undefined}")
    test.setdefault("n_pairs", ratings.n_sharing)
    record = Coefficient(
        estimate=value,
        conf_low=None,
        conf_high=None,
        name=name,
        definition=definition,
        n_items=len(ratings.items),
        n_raters=len(ratings.raters),
        n_missing=ratings.n_missing,
        conf_level=conf_level,
        raters=about,
        note=note,
        **test,
    )
    if conf_level is None:
        return record
    random = about == "random"
    found = replicates(random) if replicates else leave_out(ratings, statistic, random)
    interval = interval_of(found, conf_level, random)
    interval["note"] = "; ".join(filter(None, [note, interval.get("note", "")]))
    return replace(record, **interval)


def _variance(values: np.ndarray) -> float:
    return float((len(values) - 1) / len(values) * ((values - values.mean()) ** 2).sum())


def _as_it_is(value: Any) -> Any:
    return value
