"""Differences between systems in rating points: their tests, and intervals that say the same as the tests.

Wald's test and t tests divide a difference by its standard error s, and the interval is d ± q s. A likelihood ratio Λ
has no standard error of its own; the one that belongs to it is |d|/√Λ, and the interval d ± √c |d|/√Λ, with c the value
that Λ has to exceed, excludes 0 exactly where the test rejects (a test-based interval, Miettinen 1976). The bootstrap
is the likelihood ratio after Bartlett's correction by simulated ratings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from ordbridge.models.inference import bootstrap, likelihood_ratio
from ordbridge.models.inference.hypothesis import Hypothesis, hypothesis
from ordbridge.models.inference.marginal_means import Effects
from ordbridge.progress import Progress

if TYPE_CHECKING:
    from ordbridge.models.fit import Fit

__all__ = ["TESTS", "Differences", "differences"]

TESTS = ("auto", "wald", "t", "lrt", "bootstrap")
FIRST = 49  # draws of a bootstrap, after which those are left out that cannot change a decision
SURE = 3.0  # standard errors
STABLE = 1.0  # below this ratio |d|/√Λ is the quotient of two small numbers


@dataclass(frozen=True, eq=False)
class Differences:
    """Differences of pairs of systems, with their tests."""

    pairs: tuple[tuple[int, int], ...]
    estimate: np.ndarray
    error: np.ndarray
    """Standard errors that belong to the tests."""
    delta_error: np.ndarray
    """Standard errors by the delta method."""
    p_value: np.ndarray
    df: np.ndarray
    """Degrees of freedom, infinite for z."""
    correlation: np.ndarray
    notes: tuple[str, ...] = ()
    draws: int | None = None
    """Of the bootstrap: those of the pair that has most."""

    def half_width(self, alpha: np.ndarray) -> np.ndarray:
        """Return half the length of each interval of level 1 − α."""
        from scipy import stats

        return np.asarray(stats.t.isf(alpha / 2, self.df) * self.error)


def differences(
    fit: Fit,
    found: Effects,
    pairs: Sequence[tuple[int, int]],
    method: str,
    student: np.ndarray,
    *,
    pooled: bool,
    draws: int,
    levels: tuple[float, float] | None,
    seed: int,
    jobs: int,
    store: str | PathLike[str] | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Differences:
    """Compare pairs of systems, given by their places among the levels of the factor.

    ``student`` has the degrees of freedom of each pair for the method ``"t"``.
    The draws of a bootstrap are for each pair, or, where Bartlett's correction is the same for all of them
    (``pooled``), for all pairs together. With ``levels``, the lowest and the highest at which a pair may be tested
    after a correction, draws end after :data:`FIRST` where the others cannot change what is decided.

    References
    ----------
    Miettinen, O. (1976). Estimability and estimation in case-referent studies. American Journal of Epidemiology 103,
    226–235.
    """
    from scipy import stats

    C = np.zeros((len(pairs), len(found.cells)))
    for row, (i, j) in enumerate(pairs):
        C[row, i], C[row, j] = 1.0, -1.0
    k = len(found.cells)
    estimate = C @ found.estimate[:k]
    covariance = C @ found.covariance[:k, :k] @ C.T
    error = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    correlation = _correlation(covariance)
    if method in ("wald", "t"):
        df = student if method == "t" else np.full(len(pairs), np.inf)
        with np.errstate(divide="ignore", invalid="ignore"):
            p_value = 2.0 * stats.t.sf(np.abs(estimate / error), df)
        return Differences(tuple(pairs), estimate, error, error, p_value, df, correlation)
    tested = [_hypothesis(fit, found.combinations[i] - found.combinations[j]) for i, j in pairs]
    answers: list[dict[str, Any]]
    if method == "lrt":
        answers = [likelihood_ratio.test(fit, one) for one in tested]
    else:
        options: dict[str, Any] = {"seed": seed, "jobs": jobs, "store": store, "progress": progress}
        answers = _bootstrap(fit, tested, draws, pooled, levels, options)
    ratio = np.array([answer["statistic"] for answer in answers], dtype=float)
    return Differences(
        pairs=tuple(pairs),
        estimate=estimate,
        error=_belonging(estimate, ratio, error),
        delta_error=error,
        p_value=np.array([answer["p_value"] for answer in answers], dtype=float),
        df=np.full(len(pairs), np.inf),
        correlation=correlation,
        notes=tuple(dict.fromkeys(note for answer in answers for note in answer["notes"])),
        draws=max(answer["draws"] for answer in answers) if method == "bootstrap" else None,
    )


def _bootstrap(
    fit: Fit,
    tested: Sequence[Hypothesis],
    draws: int,
    pooled: bool,
    levels: tuple[float, float] | None,
    options: dict[str, Any],
) -> list[dict[str, Any]]:
    """Return the answer for each pair, from its own draws or from those of all pairs."""
    progress, pairs = options.pop("progress"), len(tested)
    first, every = ((-(-n // pairs) if pooled else n) for n in (min(FIRST, draws), draws))
    begun = [
        bootstrap.ratios_of(fit, one, every, **options, progress=tell)
        for one, tell in zip(tested, _over_all(progress, pairs), strict=True)
    ]
    ratios = [list(islice(drawn, first if levels else every)) for _, drawn, _ in begun]

    def answers() -> list[dict[str, Any]]:
        together = np.concatenate([np.array(own) for own in ratios])
        return [
            bootstrap.corrected(observed, 1, together if pooled else np.array(own)) | {"notes": notes}
            for (observed, _, notes), own in zip(begun, ratios, strict=True)
        ]

    found = answers()
    clear = [levels is None or _is_clear(answer, levels) for answer in found]
    if all(clear):
        return found
    for place, (_, drawn, _) in enumerate(begun):
        if pooled or not clear[place]:
            ratios[place] += drawn
    return answers()


def _is_clear(answer: dict[str, Any], levels: tuple[float, float]) -> bool:
    """Tell whether a p-value is on one side of all levels even if its ratio is three standard errors off."""
    from scipy import stats

    off = SURE * math.sqrt(2.0 / (answer["draws"] - answer["failed"]))  # a χ² of one degree has twice its mean squared
    low, high = (float(stats.chi2.sf(answer["statistic"] * (1 + sign * off), 1)) for sign in (1, -1))
    return high < levels[0] or low > levels[1]


def _over_all(progress: Callable[[Progress], None] | None, pairs: int) -> list[Callable[[Progress], None] | None]:
    """Return for each pair what is told its progress and tells that of all; pairs take turns."""
    if progress is None:
        return [None] * pairs
    done, failed = [0] * pairs, [0] * pairs

    def of(pair: int) -> Callable[[Progress], None]:
        def told(one: Progress) -> None:
            done[pair], failed[pair] = one.done, one.failures
            left = pairs * one.total - sum(done)
            seconds = left / one.rate if one.rate else None
            progress(replace(one, done=sum(done), total=pairs * one.total, seconds_left=seconds, failures=sum(failed)))

        return told

    return [of(pair) for pair in range(pairs)]


def _belonging(estimate: np.ndarray, ratio: np.ndarray, error: np.ndarray) -> np.ndarray:
    """Return the standard errors that belong to likelihood ratios."""
    with np.errstate(divide="ignore", invalid="ignore"):
        own = np.abs(estimate) / np.sqrt(ratio)
    usable = np.isfinite(error) & (error > 0)
    larger = np.where(np.isfinite(own), np.fmax(own, error), error)
    return np.where((ratio > STABLE) | ~usable, own, larger)


def _hypothesis(fit: Fit, weights: np.ndarray) -> Hypothesis:
    e = fit.estimates
    names = [term for term, effect in zip(e.terms, e.effects, strict=True) if effect == "fixed"]
    return hypothesis(fit, {name: float(w) for name, w in zip(names, weights, strict=True) if abs(w) > 1e-12})


def _correlation(covariance: np.ndarray) -> np.ndarray:
    sd = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    correlation = covariance / sd[:, None] / sd
    np.fill_diagonal(correlation, 1.0)
    return correlation
