"""What Laplace's approximation costs a clmm: importance sampling around the modes of the random effects.

With u the standardised random effects, h(u) minus the logarithm of the integrand and H its curvature at the mode u^,
draws u = u^ + H^-1/2 e with standard normal e have the weights w = exp(-h(u) + h(u^) + e'e / 2), and the likelihood is
Laplace's times the mean of w. So log L = log L_Laplace + d with d = log mean w; what is not connected through ratings
is independent and has a mean of its own. Draws come in pairs e and -e, which takes out what is odd in e.

The same draws are used for all parameters, so d is a smooth function of them. Let V be the inverse Hessian of
-log L_Laplace, with columns W of a root of it, V = W W': to first order the exact maximum is at estimates + W g, with
g the slopes of d along W. A coefficient moves along its own column of V, of the length of a standard error; with t
measured in these, log L_Laplace is -t^2 / 2 there, and

    shift = d' / (1 - d'') standard errors.

Its variance is the inverse of H - d'' at the exact maximum: what the Hessian of Laplace's approximation changes on the
way there, and what the second derivative of d along its own column adds. Derivatives are differences over half a
standard error; Monte Carlo errors follow from the weights of the draws (the delta method).

References
----------
Booth, J. G. & Hobert, J. P. (1999). Maximizing generalized linear mixed model likelihoods with an automated Monte Carlo
EM algorithm. JRSS B 61, 265-285. Skaug, H. J. & Fournier, D. A. (2006). Automatic approximation of the marginal
likelihood in non-Gaussian hierarchical models. CSDA 51, 699-709 (importance sampling around the Laplace mode).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ordbridge import _core
from ordbridge.errors import FitError
from ordbridge.fast.clmm import CLOSE, DIFFERENCE, EXACT, ClmmSolution, laplace_objective
from ordbridge.fast.factors import Layout
from ordbridge.fast.ratings import Responses
from ordbridge.fast.structure import Structure

__all__ = ["Cost", "Draws", "Shift", "laplace_cost", "missing_loglik"]

STEP = 0.5  # standard errors by which parameters are moved
FURTHEST = 0.3  # but no entry of a Cholesky factor by more than this: a flat one has a huge standard error
ON_THE_WAY = 0.1  # the same for changes of the Hessian
FLAT = 1e-9  # eigenvalues of the Hessian below this share of the largest have no direction to move along
AT_A_TIME = 2_000_000  # normal numbers in memory


class Shift(NamedTuple):
    """Where a coefficient would be, in its standard errors, and by what its standard error is multiplied."""

    shift: float
    shift_error: float
    ratio: float
    ratio_error: float


class Cost(NamedTuple):
    """What is missing in the log likelihood, what happens to each asked parameter, and what the draws were worth."""

    loglik: float
    loglik_error: float
    shifts: list[Shift]
    effective: float


class Draws:
    """The weights of all pairs of draws at one parameter vector, for each connected component."""

    def __init__(self, laplace: _core.Laplace, x: np.ndarray, pairs: int, seed: int) -> None:
        value, _ = laplace(x)
        if not np.isfinite(value):
            raise FitError("the likelihood cannot be computed near the estimates")
        effects = laplace.modes.size
        random = np.random.RandomState(np.random.PCG64(seed))
        weights = []
        for first in range(0, pairs, max(1, AT_A_TIME // effects)):
            count = min(max(1, AT_A_TIME // effects), pairs - first)
            normal = random.standard_normal((count, effects))
            weights.append(np.logaddexp(laplace.log_weights(normal), laplace.log_weights(-normal)) - np.log(2.0))
        log_weight = np.concatenate(weights)
        highest = log_weight.max(axis=0)
        weight = np.exp(log_weight - highest)
        mean = weight.mean(axis=0)
        self.total = float((highest + np.log(mean)).sum())  # d
        self.influence = weight / mean - 1.0  # of each pair on d, in each component
        self.effective = float((weight.sum(axis=0) ** 2 / (weight**2).sum(axis=0)).min())


def standard_error(influence: np.ndarray) -> float:
    """Return the standard error of a sum over components of means over pairs."""
    return float(np.sqrt((influence.var(axis=0, ddof=1) / len(influence)).sum()))


def laplace_cost(
    ratings: Responses,
    structure: Structure,
    layout: Layout,
    solution: ClmmSolution,
    positions: list[int],
    pairs: int,
    seed: int,
) -> Cost:
    """Return what the approximation costs the parameters at ``positions``.

    Parameters
    ----------
    ratings, structure, layout, solution
        A model and its fit by Laplace's approximation.
    positions
        Among the ratings' parameters.
    pairs, seed
        Number of pairs of draws, and where they begin.
    """
    own, scale = ratings.ordered(structure.order).unit()
    scale = np.concatenate([scale, layout.entry_scales])
    laplace = laplace_objective(own, structure, layout)
    x, free = solution.parameters * scale, solution.free
    likelihood = _Likelihood(laplace, x, free, pairs, seed)
    W = np.zeros((x.size, free.size))
    W[free] = _root(solution.hessian / np.outer(scale[free], scale[free]))
    V = W @ W.T
    here = likelihood.draws(x)
    moved = [likelihood.along(axis, own.size) for axis in W.T]
    slopes = np.array([line.slope for line in moved])
    widening = likelihood.widening(W, V, own.size, positions)
    found = []
    for k, own_widening in zip(positions, widening, strict=True):
        if not V[k, k] > 0:
            found.append(Shift(*[np.nan] * 4))
            continue
        line = likelihood.along(V[k] / np.sqrt(V[k, k]), own.size)
        left = 1.0 - line.bend(here)
        ratio = np.sqrt(1.0 + 2.0 * float(own_widening @ slopes) + line.bend(here))
        influence = line.bend_influence(here) / 2.0 + sum(
            own * other.influence for own, other in zip(own_widening, moved, strict=True)
        )
        known = left > 0 and np.isfinite(ratio)
        values = (line.slope / left, standard_error(line.influence) / left, ratio, standard_error(influence) / ratio)
        found.append(Shift(*values) if known else Shift(*[np.nan] * 4))
    return Cost(here.total, standard_error(here.influence), found, likelihood.effective)


def missing_loglik(
    ratings: Responses,
    structure: Structure,
    layout: Layout,
    parameters: np.ndarray,
    roots: list[list[np.ndarray]],
    pairs: int,
    seed: int,
) -> np.ndarray:
    """Return log L - log L_Laplace at other parameters than the estimates, NaN where there is no approximation.

    Parameters
    ----------
    ratings, structure, layout
        A model.
    parameters
        Points × the ratings' parameters.
    roots
        At each point the Cholesky factors of the random effects, in the caller's order of grouping factors.
    pairs, seed
        Number of pairs of draws, which are the same at every point.
    """
    own, scale = ratings.ordered(structure.order).unit()
    laplace = laplace_objective(own, structure, layout)
    laplace.closeness = EXACT
    found = np.full(len(parameters), np.nan)
    for i, (mean, L) in enumerate(zip(parameters, roots, strict=True)):
        places = zip(layout.factor, layout.row, layout.column, strict=True)
        entries = np.array([L[structure.factors[f]][a, b] for f, a, b in places]) * layout.entry_scales
        laplace.modes = np.zeros(structure.core.effects)
        try:
            found[i] = Draws(laplace, np.concatenate([mean * scale, entries]), pairs, seed).total
        except FitError:
            continue
    return found


class _Line:
    """d along a direction: its slope, with the influence of each pair on it, and its bend."""

    def __init__(self, above: Draws, below: Draws, step: float) -> None:
        self._above, self._below, self._step = above, below, step
        self.slope = (above.total - below.total) / (2.0 * step)
        self.influence = (above.influence - below.influence) / (2.0 * step)

    def bend(self, here: Draws) -> float:
        return (self._above.total - 2.0 * here.total + self._below.total) / self._step**2

    def bend_influence(self, here: Draws) -> np.ndarray:
        return (self._above.influence - 2.0 * here.influence + self._below.influence) / self._step**2


class _Likelihood:
    """Draws and Hessians around the estimates."""

    def __init__(self, laplace: _core.Laplace, x: np.ndarray, free: np.ndarray, pairs: int, seed: int) -> None:
        self._laplace, self._x, self._free, self._pairs, self._seed = laplace, x, free, pairs, seed
        laplace.closeness = EXACT
        laplace(x)
        self._modes = laplace.modes
        self.effective = np.inf

    def draws(self, x: np.ndarray) -> Draws:
        self._laplace.closeness = EXACT
        self._laplace.modes = self._modes
        found = Draws(self._laplace, x, self._pairs, self._seed)
        self.effective = min(self.effective, found.effective)
        return found

    def along(self, direction: np.ndarray, n_mean: int) -> _Line:
        step = _step(direction, n_mean, STEP)
        return _Line(self.draws(self._x + step * direction), self.draws(self._x - step * direction), step)

    def widening(self, W: np.ndarray, V: np.ndarray, n_mean: int, positions: list[int]) -> np.ndarray:
        """Return the relative change of the standard errors at ``positions`` per unit step along each column of W."""
        found = np.zeros((len(positions), W.shape[1]))
        for i, axis in enumerate(W.T):
            step = _step(axis, n_mean, ON_THE_WAY)
            ends = [self._standard_errors(self._x + sign * step * axis)[positions] for sign in (1.0, -1.0)]
            found[:, i] = (ends[0] - ends[1]) / (2.0 * step * np.sqrt(np.diag(V)[positions]))
        return np.nan_to_num(found)

    def _standard_errors(self, x: np.ndarray) -> np.ndarray:
        self._laplace.modes = self._modes
        self._laplace.closeness = EXACT
        self._laplace(x)
        self._laplace.closeness = CLOSE
        root = np.zeros((x.size, self._free.size))
        root[self._free] = _root(self._laplace.hessian(x, self._free, DIFFERENCE))
        return np.sqrt((root**2).sum(axis=1))


def _step(direction: np.ndarray, n_mean: int, step: float) -> float:
    return min(step, FURTHEST / max(np.abs(direction[n_mean:]).max(initial=0.0), 1e-12))


def _root(hessian: np.ndarray) -> np.ndarray:
    """Return a root W of the inverse of a Hessian, without its flat directions: W W'."""
    values, vectors = np.linalg.eigh(hessian)
    return vectors / np.where(values > FLAT * values[-1], np.sqrt(np.maximum(values, FLAT * values[-1])), np.inf)
