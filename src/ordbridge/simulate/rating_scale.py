"""What a truth about latent quality means on the scale that people see, computed, not simulated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa

from ordbridge.design.inspect import encode, from_ratings
from ordbridge.errors import InputError
from ordbridge.models.links import LINKS
from ordbridge.simulate.draw import vas_line
from ordbridge.simulate.truth import Truth

NODES = 41
"""Gauss–Hermite nodes for what two ratings share."""


@dataclass(frozen=True)
class Implied:
    """A truth on the rating scale.

    Attributes
    ----------
    probabilities
        ``system, rating, probability`` of each category (for ``vas``: of each of the equal parts of the line that the
        thresholds bound; empty for ``interval``).
    systems
        ``system, mean, sd`` of single ratings.
    differences
        For each pair of systems ``reference, system, latent_effect, difference`` of the mean ratings, its standard
        deviation over raters (``sd_participants``) and over items (``sd_items``), and ``std_error``: the standard
        deviation of the observed difference of mean ratings over repetitions of the whole study (null without design).
    """

    probabilities: pa.Table
    systems: pa.Table
    differences: pa.Table


def implied(truth: Truth, design: Any = None) -> Implied:
    """Say what a truth means on the rating scale: category probabilities, mean ratings, and their differences.

    It matters because a difference of latent qualities is not a difference of mean ratings. With treatment-coded slopes
    the systems have unequal latent spread, and where the thresholds do not lie symmetrically, a latent effect of 0 is
    then a difference of mean ratings other than 0, which is what a linear model tests.

    Parameters
    ----------
    truth
        The truth. If it has a distribution of thresholds, everything is a mean over it (variances are meant within
        studies).
    design
        The design whose ``std_error`` is wanted, and which names the systems.

    Notes
    -----
    A rating is a step (ordinal) or broken (vas) function of latent quality, so its mean and mean square given the
    linear predictor η have the form ``top − Σ w F((z − η)/σ)`` with F the distribution function of the residual and σ
    the system's residual spread: for ordinal ratings the z are the thresholds. Normal random effects are integrated
    out, for the probit link in closed form. Two ratings that share a rater, an item or both have the covariance of
    their conditional means given what they share; it comes from the Hermite coefficients of these means (Mehler 1866),
    and all standard deviations follow from such covariances.

    References
    ----------
    Mehler, F. G. (1866). Ueber die Entwicklung einer Function von beliebig vielen Variablen nach Laplaceschen
    Functionen höherer Ordnung. *Journal für die reine und angewandte Mathematik* 66, 161–176.

    Examples
    --------
    >>> from ordbridge.papers import howcroft2021
    >>> implied(howcroft2021.settings["representative"]).differences["difference"].to_numpy().round(2)
    array([-0.08])
    """
    labels = _labels(truth, design)
    scale, eta, spread = _scale_of(truth)
    mean, within = rating_moments(truth)
    return Implied(
        probabilities=_probabilities(truth, scale, eta, spread, labels),
        systems=pa.table({"system": labels, "mean": mean, "sd": np.sqrt(np.diag(within["rating"]))}),
        differences=_differences(labels, eta, mean, within, design),
    )


def rating_means(truth: Truth) -> np.ndarray:
    """Return the mean rating of each system.

    Examples
    --------
    >>> rating_means(Truth(effects=0.0, thresholds=0.0)).tolist()
    [1.5, 1.5]
    """
    scale, eta, spread = _scale_of(truth)
    means: np.ndarray = scale.weights @ scale.mean(eta, spread)
    return means


def rating_moments(truth: Truth) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return the mean rating of each system, and covariances (system × system) of two ratings by what they share.

    ``participant``, ``item`` and ``both`` are those of two ratings with the same rater, the same item, or both;
    ``rating`` is the variance of a single rating, on the diagonal.

    Examples
    --------
    >>> mean, shared = rating_moments(Truth(effects=0.0, thresholds=0.0))
    >>> mean.tolist(), shared["rating"].diagonal().tolist()
    ([1.5, 1.5], [0.25, 0.25])
    """
    scale, eta, spread = _scale_of(truth)
    raters, items = truth.covariance("participant"), truth.covariance("item")
    means = scale.mean(eta, spread)  # study × system
    variances = scale.mean_square(eta, spread) - means**2
    shared = {
        "participant": _shared_covariance(scale, eta, raters, items),
        "item": _shared_covariance(scale, eta, items, raters),
        "both": _shared_covariance(scale, eta, raters + items, 0 * items),
        "rating": np.stack([np.diag(row) for row in variances]),
    }
    within = {name: np.einsum("m,mst->st", scale.weights, cov) for name, cov in shared.items()}
    return scale.weights @ means, within


def _scale_of(truth: Truth) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return the scale with its mean ratings, the location of each system, and its spread over raters and items."""
    spread = np.sqrt(np.diag(truth.covariance("participant") + truth.covariance("item")))
    scale = _Interval(truth) if truth.scale == "interval" else _Cut.of(truth)
    return scale, truth.mean + np.r_[0.0, truth.effects], spread


def superiority(truth: Truth) -> np.ndarray:
    """Return, for each system after the first, how probably a text of it is rated above one of the first; ties split.

    The two texts are different items, rated by different people. For ``vas`` marks within one of the equal parts of
    the line count as ties.

    References
    ----------
    Agresti, A. & Kateri, M. (2017). Ordinal probability effect measures for group comparisons in multinomial cumulative
    link models. *Biometrics* 73, 214–219.

    Examples
    --------
    >>> superiority(Truth(effects=(0.0, 1.0), thresholds=0.0)).round(3).tolist()
    [0.5, 0.671]
    """
    scale, eta, spread = _scale_of(truth)
    if truth.scale == "interval":
        total = np.sqrt(spread**2 + (truth.residual_sd * truth.spread) ** 2)
        return np.asarray(LINKS["probit"].cdf((eta[1:] - eta[0]) / np.hypot(total[1:], total[0])))
    shares = scale.shares(eta, spread)
    first = shares[:, 0]
    below = np.cumsum(first, axis=1) - first / 2  # P(first < j) + ½ P(first = j)
    return np.asarray(np.einsum("m,msj,mj->s", scale.weights, shares[:, 1:], below))


def latent_cdf(truth: Truth, system: int) -> Callable[[np.ndarray], np.ndarray]:
    """Return the distribution function of latent quality under one system, over all raters and items."""
    spread = np.sqrt((truth.covariance("participant") + truth.covariance("item"))[system, system])
    mean = np.r_[0.0, truth.effects][system]
    cdf, width = _mixed_cdf(truth.link), truth.spread[system]
    return lambda x: cdf((x - mean) / width, spread / width)


class _Interval:
    """Mean and mean square of a rating that is the latent quality itself."""

    weights = np.ones(1)

    def __init__(self, truth: Truth) -> None:
        self.residual_sd = truth.residual_sd * truth.spread

    def mean(self, eta: np.ndarray, spread: np.ndarray) -> np.ndarray:
        return np.broadcast_to(eta, np.broadcast_shapes(np.shape(eta), np.shape(spread)))[None]

    def mean_square(self, eta: np.ndarray, spread: np.ndarray) -> np.ndarray:
        return (eta**2 + spread**2 + self.residual_sd**2)[None]


@dataclass(frozen=True)
class _Cut:
    """Mean and mean square of a rating ``top − Σ w [latent ≤ z]``, for several studies, each with its thresholds."""

    cdf: Callable[[np.ndarray, np.ndarray], np.ndarray]
    width: np.ndarray  # system: the spread of its residual
    thresholds: np.ndarray  # study × threshold
    weights: np.ndarray  # study
    z: np.ndarray  # study × point
    w: np.ndarray  # study × point: how much the rating rises at z
    w_square: np.ndarray  # study × point: how much its square rises there
    top: float

    @classmethod
    def of(cls, truth: Truth) -> _Cut:
        if truth.threshold_distribution is not None:
            thresholds, weights = truth.threshold_distribution.cubature()
        else:
            thresholds, weights = np.array([truth.thresholds]), np.ones(1)
        if truth.scale == "ordinal":
            rating = np.arange(1, thresholds.shape[1] + 1)
            w, w_square = np.ones_like(thresholds), np.broadcast_to(2.0 * rating + 1, thresholds.shape)
            own = (thresholds, weights, thresholds, w, w_square, rating[-1] + 1.0)
            return cls(_mixed_cdf(truth.link), truth.spread, *own)
        z, w, mark = (np.array(parts) for parts in zip(*map(_line_points, thresholds), strict=True))
        return cls(_mixed_cdf(truth.link), truth.spread, thresholds, weights, z, w, 2 * mark * w, 100.0)

    def mean(self, eta: np.ndarray, spread: np.ndarray) -> np.ndarray:
        return self.top - self._sum(self.w, eta, spread)

    def mean_square(self, eta: np.ndarray, spread: np.ndarray) -> np.ndarray:
        return self.top**2 - self._sum(self.w_square, eta, spread)

    def shares(self, eta: np.ndarray, spread: np.ndarray) -> np.ndarray:
        """Return study × system × category: how probable each category is."""
        below = self.cdf((self.thresholds[:, :, None] - eta) / self.width, spread / self.width)
        below = np.moveaxis(below, 1, 2)
        return np.diff(below, axis=2, prepend=0.0, append=1.0)

    def _sum(self, w: np.ndarray, eta: np.ndarray, spread: np.ndarray) -> np.ndarray:
        """Return Σ w P(latent ≤ z) for each study (first axis) and each η, whose first axis are the systems."""
        eta, spread = np.broadcast_arrays(eta, spread)
        width = self.width.reshape(-1, *[1] * (eta.ndim - 1))
        total = np.zeros((len(w), *eta.shape))
        for point in range(w.shape[1]):
            column = (slice(None), point, *[None] * eta.ndim)
            total += w[column] * self.cdf((self.z[column] - eta) / width, spread / width)
        return total


def _mixed_cdf(link: str) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Return the distribution function of the residual plus a centred normal of standard deviation ``spread``."""
    cdf = LINKS[link].cdf
    if link == "probit":
        return lambda x, spread: cdf(x / np.sqrt(1 + spread**2))
    # Evenly spaced points: for distribution functions with poles near the real line they beat Gauss–Hermite nodes.
    nodes = np.arange(-8, 8.1, 0.3)
    weights = np.exp(-(nodes**2) / 2) * 0.3 / np.sqrt(2 * np.pi)

    def mixed(x: np.ndarray, spread: np.ndarray) -> np.ndarray:
        if not np.any(spread):
            return cdf(x)
        return sum(w * cdf(x - spread * node) for node, w in zip(nodes, weights, strict=True))

    return mixed


def _line_points(thresholds: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return points on the slopes of the vas line, the rise that each stands for (Gauss–Legendre), and its mark."""
    nodes, weights = np.polynomial.legendre.leggauss(6)
    latent, mark = vas_line(thresholds)
    along = (nodes + 1) / 2
    z = (latent[:-1, None] + np.diff(latent)[:, None] * along).ravel()
    rise = (np.diff(mark)[:, None] * weights / 2).ravel()
    return z, rise, np.interp(z, latent, mark)


def _shared_covariance(scale: Any, eta: np.ndarray, shared: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """Return study × system × system: the covariance of two ratings that have the ``shared`` deviations in common.

    Mehler's formula: if X and Y are standard normal with correlation ρ, and f = Σ aₙhₙ, g = Σ bₙhₙ in orthonormal
    Hermite polynomials, then cov(f(X), g(Y)) = Σ ρⁿ aₙbₙ over n ≥ 1. Here f and g are the mean ratings given what is
    shared.
    """
    nodes, weights = _hermite(NODES)
    degree = np.arange(NODES)
    factorial = np.cumprod(np.maximum(degree, 1.0))
    polynomials = np.polynomial.hermite_e.hermevander(nodes, NODES - 1) / np.sqrt(factorial)
    sd, spread = np.sqrt(np.diag(shared))[:, None], np.sqrt(np.diag(rest))[:, None]
    means = scale.mean(eta[:, None] + sd * nodes, spread)  # study × system × node
    coefficients = (means * weights) @ polynomials
    corr = np.divide(shared, sd * sd.T, out=np.zeros_like(shared), where=sd * sd.T > 0).clip(-1, 1)
    powers = corr[:, :, None] ** degree[1:]
    return np.einsum("msn,mtn,stn->mst", coefficients[:, :, 1:], coefficients[:, :, 1:], powers)


def _hermite(number: int) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights for the mean over a standard normal."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(number)
    return nodes, weights / weights.sum()


def _labels(truth: Truth, design: Any) -> list:
    if design is None:
        return list(range(truth.systems))
    labels = encode(from_ratings(design)["system"])[1]
    if len(labels) != truth.systems:
        raise InputError(f"the design has {len(labels)} systems and the truth {truth.systems}")
    return labels


def _probabilities(truth: Truth, scale: Any, eta: np.ndarray, spread: np.ndarray, labels: list) -> pa.Table:
    if truth.scale == "interval":
        return pa.table(
            {
                "system": pa.array([], pa.array(labels).type),
                "rating": pa.array([], "int64"),
                "probability": pa.array([], "float64"),
            }
        )
    probability = np.einsum("m,msj->sj", scale.weights, scale.shares(eta, spread))
    ratings = np.arange(1, probability.shape[1] + 1)
    return pa.table(
        {
            "system": [label for label in labels for _ in ratings],
            "rating": np.tile(ratings, len(labels)),
            "probability": probability.ravel(),
        }
    )


def _differences(
    labels: list, eta: np.ndarray, mean: np.ndarray, within: dict[str, np.ndarray], design: Any
) -> pa.Table:
    total = None if design is None else _covariance_of_means(from_ratings(design), within)
    rows = []
    for reference, system in combinations(range(len(labels)), 2):
        pair = np.zeros(len(labels))
        pair[[reference, system]] = -1.0, 1.0
        rows.append(
            {
                "system_a": labels[system],
                "system_b": labels[reference],
                "latent_effect": float(eta[system] - eta[reference]),
                "difference": float(pair @ mean),
                "sd_participants": _root_of(pair @ within["participant"] @ pair),
                "sd_items": _root_of(pair @ within["item"] @ pair),
                "std_error": None if total is None else _root_of(pair @ total @ pair),
            }
        )
    names = pa.array(labels).type
    numbers = ["latent_effect", "difference", "sd_participants", "sd_items", "std_error"]
    schema = [("system_a", names), ("system_b", names), *((name, pa.float64()) for name in numbers)]
    return pa.Table.from_pylist(rows, schema=pa.schema(schema))


def _covariance_of_means(design: pa.Table, within: dict[str, np.ndarray]) -> np.ndarray:
    """Return the covariance (system × system) of the observed mean ratings.

    A sum over all pairs of rows of the covariance that belongs to what the pair shares: the rating itself, rater and
    item, only the rater, only the item. The pairs are counted from the cross tables with the systems.
    """
    system, labels = encode(design["system"])
    participant, _ = encode(design["participant"])
    item, items = encode(design["item"])
    k = len(labels)

    def pairs(group: np.ndarray) -> np.ndarray:
        groups = np.unique(group, return_inverse=True)[1]
        table = np.bincount(groups * k + system, minlength=(groups.max() + 1) * k).reshape(-1, k).astype(float)
        return table.T @ table

    same_both, rows = pairs(participant * len(items) + item), np.bincount(system, minlength=k).astype(float)
    total = np.diag(rows) * within["rating"]
    total += (same_both - np.diag(rows)) * within["both"]
    total += (pairs(participant) - same_both) * within["participant"]
    total += (pairs(item) - same_both) * within["item"]
    return total / np.outer(rows, rows)


def _root_of(variance: float) -> float:
    return float(np.sqrt(max(variance, 0.0)))  # rounding can leave a zero variance at -1e-17
