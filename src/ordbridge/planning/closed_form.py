"""Power in closed form: what a design would find, in milliseconds and before anything is simulated.

The estimated difference of two systems has three sources of variance in a design in which everyone rates all systems
equally often and every text has the same number of ratings (Westfall, Kenny & Judd 2014): how differently raters see
the difference, how differently it turns out from item to item, and the noise of single ratings,

    V = D_raters / P + D_items / m + (s_a + s_b) / (m r),

with ``P`` raters, ``m`` items and ``r`` ratings per text. For ``lmer`` all terms are those of the ratings themselves
(:func:`ordbridge.simulate.rating_scale.rating_moments`). For ``clmm`` they are latent, and a rating is worth as much
as a measurement of the latent quality with variance ``s = 1 / I``, where ``I`` is the information of one rating about
its location, averaged over raters and items. The systems may differ in spread: ``D`` and ``s`` come from the truth.
That information takes all other parameters as known. A study of ``n`` ratings estimates ``k`` parameters (thresholds,
differences, variances and covariances), and ``V`` is larger by ``n / (n − k)``, as in any regression.

The test divides the difference by a standard error that the study estimates too: with few raters or items it is often
too small, and where a source of variance is small, it is often too large, because estimates below 0 are set to 0. Both
are in the distribution of the mean squares, over which power is averaged. Power at the printed critical value is what
R's test reaches, also by its false alarms; size-adjusted power is what remains at a critical value that keeps the
level.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ordbridge.models.links import LINKS
from ordbridge.planning.families import any_power, every_power
from ordbridge.simulate import Truth
from ordbridge.simulate.rating_scale import rating_moments
from ordbridge.support.arguments import choice

NODES = 31
STEP = 1e-4  # for the derivative of category probabilities
LEAST = 1e-12
QUANTILES = 10
STEPS = 6


@dataclass(frozen=True)
class Sources:
    """What makes the estimated differences of systems vary: covariances (system × system) from each source."""

    location: np.ndarray
    """What the model compares: latent locations, or mean ratings."""
    raters: np.ndarray
    items: np.ndarray
    residual: np.ndarray
    """The variance of a single rating given its rater and item, one number per system."""

    def of_pair(self, low: int, high: int) -> tuple[float, float, float, float]:
        """Return the difference of two systems, and its variance over raters, over items, and of single ratings."""
        pair = np.zeros(len(self.location))
        pair[[low, high]] = -1.0, 1.0
        raters, items = (float(max(pair @ cov @ pair, 0.0)) for cov in (self.raters, self.items))
        return float(pair @ self.location), raters, items, float(self.residual[low] + self.residual[high])


def sources_of(truth: Truth, model: str = "clmm") -> Sources:
    """Return the sources of variance as a mixed model sees them: latent (``clmm``), or of the ratings (``lmer``).

    Examples
    --------
    >>> truth = Truth(effects=0.5, thresholds=(-1, 0, 1), participant_sd=(0.5, 0.2), item_sd=(0.6, 0.4))
    >>> [round(variance, 2) for variance in sources_of(truth).of_pair(0, 1)[1:3]]  # those of the slopes
    [0.04, 0.16]
    """
    choice("model", model, ("clmm", "lmer"))
    if model == "lmer" or truth.scale == "interval":
        mean, shared = rating_moments(truth)
        residual = np.diag(shared["rating"]) - np.diag(shared["participant"]) - np.diag(shared["item"])
        return Sources(mean, shared["participant"], shared["item"], residual)
    raters, items = truth.covariance("participant"), truth.covariance("item")
    location = np.r_[0.0, truth.effects]
    return Sources(location, raters, items, 1 / _information(truth, location, np.sqrt(np.diag(raters + items))))


def preview(
    truth: Truth,
    items: npt.ArrayLike,
    ratings_per_text: npt.ArrayLike,
    *,
    participants: npt.ArrayLike | None = None,
    texts_per_participant: int = 25,
    model: str = "clmm",
    alpha: float = 0.05,
    pairs: Sequence[tuple[int, int]] | None = None,
    test: str = "hardest",
) -> pa.Table:
    """Compute the power of designs without simulating.

    Parameters
    ----------
    truth
        What is true.
    items, ratings_per_text
        Sizes of the designs, one number or an array each; arrays are paired as NumPy broadcasts them.
    participants
        How many raters each design has. Default: as many as the ratings need at ``texts_per_participant``.
    texts_per_participant
        How many texts one rater rates.
    model
        ``"clmm"``, or ``"lmer"`` fitted by REML with Satterthwaite's degrees of freedom.
    alpha
        The level of the test.
    pairs
        Which pairs of systems are tested, by their numbers. Default: every system with the first one.
    test
        What counts: the pair that is ``"hardest"`` to find, tested alone; ``"every"`` pair that truly differs, after
        Holm's correction; or ``"any"`` difference of systems, by a likelihood ratio test. The last two take the
        variances as known, so that their size is the level.

    Returns
    -------
    pyarrow.Table
        One row per design: ``items, ratings_per_text, participants, power`` at the nominal critical value of the test
        that R prints, ``adjusted`` (the power at a critical value that keeps the level), ``size`` (how often the
        printed test rejects where nothing differs), and the ``std_error`` of the difference.

    Notes
    -----
    Compared with simulation in ``docs/planning.md``. Rough with fewer than five raters, and with random effects or
    categories for which the Laplace approximation fails.

    References
    ----------
    Westfall, J., Kenny, D. A. & Judd, C. M. (2014). Statistical power and optimal design in experiments in which
    samples of participants respond to samples of stimuli. *Journal of Experimental Psychology: General* 143,
    2020–2045.

    Satterthwaite, F. E. (1946). An approximate distribution of estimates of variance components. *Biometrics
    Bulletin* 2, 110–114.

    Examples
    --------
    >>> from ordbridge.simulate.presets import HOWCROFT2021
    >>> truth = HOWCROFT2021.settings["low"].shift(effect=0.31)
    >>> preview(truth, items=[50, 100, 200], ratings_per_text=3)["power"].to_numpy().round(1)
    array([0.4, 0.7, 0.9])
    """
    sources = sources_of(truth, model)
    m, r = (np.asarray(values, dtype=float) for values in (items, ratings_per_text))
    m, r = np.broadcast_arrays(m, r)
    texts = m * truth.systems
    raters = np.ceil(texts * r / texts_per_participant) if participants is None else np.asarray(participants, float)
    raters = np.broadcast_to(raters, m.shape)
    tested = [(0, s) for s in range(1, truth.systems)] if pairs is None else list(pairs)
    choice("test", test, ("hardest", "every", "any"))
    left = _left(truth, model, texts * r)
    found = [_of_pair(sources.of_pair(*pair), m, r, raters, left, alpha, model) for pair in tested]
    hardest = np.argmin([power for power, *_ in found], axis=0)
    power, adjusted, size, error = (np.choose(hardest, column) for column in zip(*found, strict=True))
    if test != "hardest":
        power = (
            any_power(sources, m, r, raters, left, alpha)
            if test == "any"
            else every_power(sources, tested, m, r, raters, left, alpha)
        )
        adjusted, size = power, np.full_like(size, alpha)
    return pa.table(
        {
            "items": m.astype(int).ravel(),
            "ratings_per_text": r.ravel(),
            "participants": raters.astype(int).ravel(),
            "power": power.ravel(),
            "adjusted": adjusted.ravel(),
            "size": size.ravel(),
            "std_error": error.ravel(),
        }
    )


def _left(truth: Truth, model: str, n: np.ndarray) -> np.ndarray:
    """Return the share of ``n`` ratings that the parameters leave; REML leaves them all to the differences."""
    if model == "lmer" or truth.categories is None:
        return np.ones_like(n)
    systems = truth.systems
    parameters = (truth.categories - 1) + (systems - 1) + systems * (systems + 1)
    return np.maximum(1 - parameters / n, LEAST)


def _of_pair(
    pair: tuple[float, float, float, float],
    m: np.ndarray,
    r: np.ndarray,
    raters: np.ndarray,
    left: np.ndarray,
    alpha: float,
    model: str,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return power, size-adjusted power, size and standard error for designs."""
    from scipy.special import ndtr

    difference, of_raters, of_items, of_ratings = pair
    noise = of_ratings / (m * r)
    variance = of_raters / raters + of_items / m + noise
    spread = _EstimatedVariance.of(of_raters / raters, of_items / m, noise, raters, m, m * r)
    error = np.sqrt(variance / left)
    ratio = np.sqrt(spread.estimated / variance[..., None, None])  # of estimated to true standard error

    printed = spread.critical(alpha, model) * ratio
    true = (abs(difference) / error)[..., None, None]

    def beyond(limit: np.ndarray) -> np.ndarray:
        return np.asarray((ndtr(true - limit) + ndtr(-true - limit)).mean((-1, -2)))

    size = 2 * ndtr(-printed).mean((-1, -2))
    return beyond(printed), beyond(printed * _stretch(printed, alpha)[..., None, None]), size, error


def _stretch(limits: np.ndarray, alpha: float) -> np.ndarray:
    """Return by what all limits of a design are multiplied so that a true null is beyond them in ``alpha``.

    Newton's steps for the logarithm of the size, which is nearly a straight line.
    """
    from scipy.special import ndtr

    stretch = np.ones(limits.shape[:-2])
    for _ in range(STEPS):
        at = limits * stretch[..., None, None]
        size = 2 * ndtr(-at).mean((-1, -2))
        slope = -(2 * limits * np.exp(-(at**2) / 2) / math.sqrt(2 * math.pi)).mean((-1, -2)) / size
        stretch = np.clip(stretch - np.log(size / alpha) / slope, 0.5 * stretch, 2 * stretch)
    return stretch


@dataclass(frozen=True)
class _EstimatedVariance:
    """The variance of the difference as a study estimates it, over quantiles of both mean squares.

    The mean square of raters × systems is ``(D_raters / P + noise) χ² / (P − 1)``, that of items × systems likewise,
    and what they have beyond the noise is the estimate of either source, or 0 where they have less.
    """

    estimated: np.ndarray
    """Design × quantile × quantile."""
    df: np.ndarray

    @classmethod
    def of(
        cls,
        raters: np.ndarray,
        items: np.ndarray,
        noise: np.ndarray,
        n_raters: np.ndarray,
        n_items: np.ndarray,
        n_noise: np.ndarray,
    ) -> _EstimatedVariance:
        from scipy.special import chdtri

        quantile = (np.arange(QUANTILES) + 0.5) / QUANTILES
        squares, shares = [], []
        for source, n in ((raters, n_raters), (items, n_items)):
            free = np.maximum(n - 1, 1)[..., None]
            # Maximum likelihood divides by n, REML by n − 1; simulated sizes of clmm are nearer to the second.
            squares.append((source + noise)[..., None] * chdtri(free, 1 - quantile) / free)
            shares.append(free)
        of_raters, of_items = squares[0][..., :, None], squares[1][..., None, :]
        base = noise[..., None, None]
        beyond_raters, beyond_items = (np.maximum(square - base, 0) for square in (of_raters, of_items))
        estimated = beyond_raters + beyond_items + base
        counted = (beyond_raters > 0).astype(float) + (beyond_items > 0)
        uncertain = (
            np.where(beyond_raters > 0, of_raters, 0) ** 2 / shares[0][..., None]
            + np.where(beyond_items > 0, of_items, 0) ** 2 / shares[1][..., None]
            + (base * (1 - counted)) ** 2 / n_noise[..., None, None]
        )
        return cls(estimated, np.maximum(estimated**2 / uncertain, 1.0))

    def critical(self, alpha: float, model: str) -> np.ndarray:
        """Return the printed test's critical value: normal (clmm), or t with Satterthwaite's degrees of freedom."""
        from scipy.special import ndtri, stdtrit

        if model == "clmm":
            return np.full_like(self.df, ndtri(1 - alpha / 2))
        return np.asarray(stdtrit(self.df, 1 - alpha / 2))


def _information(truth: Truth, location: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Return the mean information of one rating about its location, for each system.

    Given the location η, category j has probability π(η) and the information is Σ π′(η)² / π(η).
    """
    if truth.threshold_distribution is not None:
        thresholds, weights = truth.threshold_distribution.cubature()
    else:
        thresholds, weights = np.array([truth.thresholds]), np.ones(1)
    nodes, node_weights = np.polynomial.hermite_e.hermegauss(NODES)
    eta = location[:, None] + spread[:, None] * nodes  # system × node
    cdf = LINKS[truth.link].cdf

    width = truth.spread[:, None, None]

    def shares(shift: float) -> np.ndarray:
        below = cdf((thresholds[:, None, None, :] - (eta[None, :, :, None] + shift)) / width)
        return np.diff(below, axis=-1, prepend=0.0, append=1.0)

    slope = (shares(STEP) - shares(-STEP)) / (2 * STEP)
    of_one = (slope**2 / np.maximum(shares(0.0), LEAST)).sum(axis=-1)  # study × system × node
    return np.asarray(np.einsum("m,msn,n->s", weights, of_one, node_weights / node_weights.sum()))
