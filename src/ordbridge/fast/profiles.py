"""Profile likelihoods: the highest log likelihood with one number held fixed and all others free.

What can be held is a threshold, a coefficient of any kind, a standard deviation of random effects, or that of the
residuals. With L the Cholesky factor of a covariance, the standard deviation of random effect a is the length of row a
of L: rows are then written as the length that is held times a direction that is free. Linear models have β and σ
profiled out of their deviance; there a coefficient is held by moving its column to the left-hand side, and a standard
deviation by

    ℓ(θ, σ) = ℓ(θ) − n/2 [log(σ²/σ̂²) + σ̂²/σ² − 1],   σ̂ the best for θ,

with σ at its held value, or at the held standard deviation over the length of its row of the relative factor
(Bates et al. 2015, section 5.1, whose deviance function of standard deviations this is).

References
----------
Venzon, D. J. & Moolgavkar, S. H. (1988). A method for computing profile-likelihood-based confidence intervals. Applied
Statistics 37, 87–94.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ordbridge import _core
from ordbridge.fast.clmm import EXACT, laplace_objective
from ordbridge.fast.factors import Layout
from ordbridge.fast.lmer import fit_lmer, profiled_deviance
from ordbridge.fast.ratings import Responses
from ordbridge.fast.structure import Structure

__all__ = ["ClmProfile", "ClmmProfile", "LmProfile", "LmerProfile", "Profile", "Quantity"]

Objective = Callable[[np.ndarray], tuple[float, np.ndarray]]
NOWHERE = 1e300  # stands for an infinite loss, with which no search can do anything
END_STEPS, END_CLOSE = 40, 1e-4  # the latter in standard errors; what is left after the step is of its square
RATIO_CLOSE = 3e-4  # gradient in standard errors: the log likelihood is then exact to 1e-6
STEEPEST = 1e-5  # gradient that is left at an optimum: its log likelihood is then exact to 1e-8


@dataclass(frozen=True)
class Quantity:
    """Something that can be held: a coefficient of any kind, or ``"sd"``, its estimate, and a first step from it."""

    effect: str
    group: str | None
    term: str | None
    estimate: float
    step: float


class Profile(Protocol):
    """A likelihood as a function of any one of its quantities."""

    quantities: tuple[Quantity, ...]
    loglik: float

    def at(self, k: int, value: float) -> float:
        """Return the highest log likelihood with quantity ``k`` held at a value."""


class ClmProfile:
    """The likelihood of a cumulative link model; ``x`` are all its parameters."""

    def __init__(
        self, quantities: Sequence[Quantity], ratings: Responses, x: np.ndarray, vcov: np.ndarray, loglik: float
    ) -> None:
        self.quantities, self.loglik = tuple(quantities), loglik
        self._loss, self._jacobian = _core.Ratings(**ratings.arguments()), ratings.jacobian
        self._x, self._vcov = x, vcov

    def end(self, weights: Sequence[float], side: int, limit: float) -> float:
        """Return where the log likelihood of a combination of quantities has fallen by limit² / 2, or NaN."""
        return _end(self._loss, self._x, _usable(self._vcov), np.asarray(weights), side, limit)

    def ratio(self, weights: Sequence[float]) -> float:
        """Return the likelihood ratio of the hypothesis that a combination of quantities is zero."""
        return _ratio(self._loss, self._x, _usable(self._vcov), np.asarray(weights))

    def at(self, k: int, value: float) -> float:
        """Return the highest log likelihood with quantity ``k`` held at a value."""
        start = _tangent(self._x, self._vcov, k, value)
        if not np.isfinite(self._loss(start)[0]):
            start = _shifted(self._x, k, value, self._jacobian)
        return -_held(self._loss, start, np.array([k]), value, _usable(self._vcov))


class ClmmProfile:
    """The likelihood of a cumulative link mixed model, by Laplace's approximation or quadrature.

    ``x`` are the ratings' parameters and the entries of the Cholesky factors in the caller's scales.
    """

    def __init__(
        self,
        quantities: Sequence[Quantity],
        ratings: Responses,
        structure: Structure,
        layout: Layout,
        x: np.ndarray,
        vcov: np.ndarray,
        loglik: float,
        nAGQ: int = 1,
        free: np.ndarray | None = None,
        hessian: np.ndarray | None = None,
    ) -> None:
        self.quantities, self.loglik = tuple(quantities), loglik
        own, scale = ratings.ordered(structure.order).unit()
        self._jacobian, self._mean = own.jacobian, own.size
        self._scale = np.concatenate([scale, layout.entry_scales])
        self._laplace = laplace_objective(own, structure, layout, nAGQ)
        self._laplace.closeness = EXACT
        self._x = x * self._scale
        self._vcov = vcov * np.outer(scale, scale)
        self._rows = _rows(layout)
        self._laplace(self._x)
        self._modes = self._laplace.modes
        self._inverse = np.eye(self._x.size) * 0.1
        self._inverse[: self._mean, : self._mean] = _usable(self._vcov)
        if free is not None and hessian is not None:
            places = np.ix_(free, free)
            self._inverse = np.zeros((self._x.size, self._x.size))  # what the Hessian leaves out stays where it is
            self._inverse[places] = np.linalg.inv(hessian / np.outer(self._scale[free], self._scale[free]))

    def end(self, weights: Sequence[float], side: int, limit: float) -> float:
        """Return where the log likelihood of a combination of coefficients has fallen by limit² / 2, or NaN.

        ``weights`` has a number for each quantity, zero for standard deviations.
        """
        return _end(self._laplace, self._x, self._inverse, self._whole(weights), side, limit)

    def ratio(self, weights: Sequence[float]) -> float:
        """Return the likelihood ratio of the hypothesis that a combination of coefficients is zero."""
        return _ratio(self._laplace, self._x, self._inverse, self._whole(weights))

    def _whole(self, weights: Sequence[float]) -> np.ndarray:
        """Return weights of all parameters in the objective's scales, for a search that begins at the optimum."""
        self._laplace.modes = self._modes
        whole = np.zeros(self._x.size)
        whole[: self._mean] = np.asarray(weights)[: self._mean] / self._scale[: self._mean]
        return whole

    def at(self, k: int, value: float) -> float:
        """Return the highest log likelihood with quantity ``k`` held at a value."""
        self._laplace.modes = self._modes
        if k < self._mean:
            places = np.array([k])
            start = self._x.copy()
            start[: self._mean] = _tangent(start[: self._mean], self._vcov, k, value * self._scale[k])
            if not np.isfinite(self._laplace(start)[0]):
                self._laplace.modes = self._modes
                start = _shifted(self._x, k, value * self._scale[k], self._jacobian)
        else:
            places = self._mean + self._rows[k - self._mean]
            start = self._x
        return -_held(self._laplace, start, places, value * self._scale[places[0]], self._inverse)


class LmerProfile:
    """The likelihood of a linear mixed model; quantities are coefficients, standard deviations, and the residuals'."""

    def __init__(
        self,
        quantities: Sequence[Quantity],
        y: np.ndarray,
        X: np.ndarray,
        structure: Structure,
        layout: Layout,
        entries: np.ndarray,
        sigma: float,
        loglik: float,
    ) -> None:
        self.quantities, self.loglik = tuple(quantities), loglik
        self._y, self._X, self._structure, self._layout = y, X, structure, layout
        self._theta, self._sigma = entries * layout.entry_scales, sigma
        self._rows = _rows(layout)
        Q, _ = np.linalg.qr(X)
        self._deviance = profiled_deviance(y - Q @ (Q.T @ y), Q, structure, layout, False)

    def at(self, k: int, value: float) -> float:
        """Return the highest log likelihood with quantity ``k`` held at a value."""
        p = self._X.shape[1]
        if k < p:
            return self._without(k, value)
        if k == p + len(self._rows):
            return -_smallest(lambda theta: self._loss(theta, value), self._theta) if value > 0 else -np.inf
        row = self._rows[k - p]
        held = value * self._layout.entry_scales[row[0]]
        if value == 0:
            return -_held(self._deviance, self._theta, row, 0.0, np.eye(self._theta.size))
        start = self._theta.copy()
        if not start[row].any():
            start[row[self._layout.diagonal[row]]] = held / self._sigma
        return -_smallest(lambda theta: self._loss(theta, held / max(np.linalg.norm(theta[row]), 1e-300)), start)

    def _without(self, k: int, value: float) -> float:
        y, X = self._y - value * self._X[:, k], np.delete(self._X, k, axis=1)
        if X.shape[1]:
            return fit_lmer(y, X, self._structure, self._layout, False).loglik
        deviance = profiled_deviance(y, X, self._structure, self._layout, False)
        return -_held(deviance, self._theta, np.empty(0, dtype=int), 0.0, np.eye(self._theta.size))

    def _loss(self, theta: np.ndarray, sigma: float) -> float:
        value = self._deviance(theta)[0]
        ratio = (sigma / self._deviance.sigma) ** 2
        return value + 0.5 * len(self._y) * (np.log(ratio) + 1.0 / ratio - 1.0)


class LmProfile:
    """The likelihood of a linear model, which is known in closed form."""

    def __init__(
        self, quantities: Sequence[Quantity], n: int, std_error: np.ndarray, sigma: float, loglik: float
    ) -> None:
        self.quantities, self.loglik = tuple(quantities), loglik
        self._n, self._std_error, self._sigma = n, std_error, sigma

    def at(self, k: int, value: float) -> float:
        """Return the highest log likelihood with quantity ``k`` held at a value."""
        p, n = self._std_error.size, self._n
        if k < p:  # the residual sum of squares grows by t² σ²
            t = (value - self.quantities[k].estimate) / self._std_error[k]
            return self.loglik - 0.5 * n * float(np.log1p(t * t / (n - p)))
        ratio = value**2 / (self._sigma**2 * (n - p) / n) if value > 0 else 0.0
        return -np.inf if ratio == 0 else self.loglik - 0.5 * n * float(np.log(ratio) + 1.0 / ratio - 1.0)


def _rows(layout: Layout) -> list[np.ndarray]:
    """Return for each standard deviation the positions of its row among the entries, in the order of the diagonals."""
    return [
        np.flatnonzero((layout.factor == layout.factor[d]) & (layout.row == layout.row[d]))
        for d in np.flatnonzero(layout.diagonal)
    ]


def _tangent(x: np.ndarray, vcov: np.ndarray, k: int, value: float) -> np.ndarray:
    """Return where the others go, to first order, when parameter ``k`` is moved from its estimate to a value."""
    return x + vcov[:, k] / vcov[k, k] * (value - x[k]) if np.isfinite(vcov).all() else x


def _shifted(x: np.ndarray, k: int, value: float, jacobian: np.ndarray) -> np.ndarray:
    """Move all cut-points along with the one that is held, so that they stay in order."""
    moved = x.copy()
    alike = np.linalg.lstsq(jacobian, np.ones(len(jacobian)), rcond=None)[0]
    if k < alike.size and alike[k]:
        moved[: alike.size] += alike * (value - x[k]) / alike[k]
    else:
        moved[k] = value
    return moved


def _usable(vcov: np.ndarray) -> np.ndarray:
    return vcov if np.isfinite(vcov).all() else np.eye(len(vcov))


def _held(objective: Objective, start: np.ndarray, places: np.ndarray, value: float, inverse: np.ndarray) -> float:
    """Minimise with a parameter at a value or a row at a length; ``inverse`` is about that of the Hessian."""
    from scipy.optimize import minimize

    directed = places.size > 1 and value > 0
    x = start.copy()
    if directed:
        free = np.arange(x.size)
        if not x[places].any():
            x[places[-1]] = value
    else:
        free = np.setdiff1d(np.arange(x.size), places)
        x[places] = value
    if not free.size:
        return objective(x)[0]

    def whole(z: np.ndarray) -> np.ndarray:
        full = x.copy()
        full[free] = z
        if directed:
            full[places] *= value / np.linalg.norm(full[places])
        return full

    def loss(z: np.ndarray) -> tuple[float, np.ndarray]:
        found, gradient = objective(whole(z))
        if not np.isfinite(found):
            return NOWHERE, np.zeros(free.size)
        gradient = gradient.copy()
        if directed:
            length = np.linalg.norm(z[places])
            direction, along = z[places] / length, gradient[places]
            gradient[places] = value / length * (along - direction * (direction @ along))
        return found, gradient[free]

    options = {"gtol": STEEPEST, "hess_inv0": _positive(inverse[np.ix_(free, free)])}
    done = minimize(loss, x[free], jac=True, method="BFGS", options=options)
    if np.abs(done.jac).max() > 100 * STEEPEST:  # the first idea of the Hessian may have been a bad one
        done = minimize(loss, done.x, jac=True, method="BFGS", options={"gtol": STEEPEST})
    return float(done.fun) if done.fun < NOWHERE else np.inf


def _end(
    objective: Objective, x: np.ndarray, inverse: np.ndarray, weights: np.ndarray, side: int, limit: float
) -> float:
    """Return the lowest or highest ``weights @ x`` where the loss is above its minimum by at most limit² / 2, or NaN.

    With loss f, gradient g and approximate Hessian H at x, the best step of the quadratic model is d = H⁻¹ (μ w − g),
    with μ so that the model has the wanted loss at its end (Venzon & Moolgavkar 1988, with BFGS's updates of H⁻¹).
    """
    B, z = _positive(inverse), x
    loss, gradient = objective(x)
    wanted = loss + 0.5 * limit**2
    step = side * limit * B @ weights / np.sqrt(weights @ B @ weights)
    for _ in range(END_STEPS):
        tried, new = objective(z + step)
        if not tried < wanted + limit**2 + 1.0:  # too far out, or nowhere
            step = 0.5 * step
            continue
        z, change = z + step, new - gradient
        loss, gradient = tried, new
        if (along := step @ change) > 0:
            moved = B @ change
            B = B + (along + change @ moved) / along**2 * np.outer(step, step)
            B -= (np.outer(moved, step) + np.outer(step, moved)) / along
        slope = B @ gradient
        size = 2.0 * (wanted - loss) + gradient @ slope
        if not 0 < (spread := weights @ B @ weights) < np.inf:
            return np.nan
        step = side * np.sqrt(max(size, 0.0) / spread) * (B @ weights) - slope
        try:
            far = step @ np.linalg.solve(B, step)
        except np.linalg.LinAlgError:  # the loss hardly rises: the end is never reached
            return np.nan
        if size > 0 and far < END_CLOSE**2:
            return float(weights @ (z + step))
    return np.nan


def _ratio(objective: Objective, x: np.ndarray, inverse: np.ndarray, weights: np.ndarray) -> float:
    """Return by how much twice the loss rises where ``weights @ x`` is zero instead of at its best.

    The search begins where the quadratic model with the inverse Hessian has its constrained minimum, in coordinates in
    which that model is a sphere.
    """
    from scipy.optimize import minimize

    values, vectors = np.linalg.eigh(_positive(inverse))
    root = vectors * np.sqrt(values)
    along = root.T @ weights
    start = x - root @ along * (weights @ x) / (along @ along)
    free = root @ np.linalg.qr(along[:, None], mode="complete")[0][:, 1:]
    least = objective(x)[0]

    def loss(t: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = objective(start + free @ t)
        return (value, free.T @ gradient) if np.isfinite(value) else (NOWHERE, np.zeros(t.size))

    done = minimize(loss, np.zeros(x.size - 1), jac=True, method="BFGS", options={"gtol": RATIO_CLOSE})
    return max(0.0, 2.0 * float(done.fun - least))


def _positive(matrix: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    found = (vectors * np.maximum(values, 1e-8)) @ vectors.T
    return (found + found.T) / 2


def _smallest(loss: Callable[[np.ndarray], float], start: np.ndarray) -> float:
    """Minimise a function of a few numbers without its gradient."""
    from scipy.optimize import minimize

    done = minimize(loss, start, method="BFGS", jac="3-point", options={"gtol": STEEPEST})
    again = minimize(loss, done.x, method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-9})
    return float(min(done.fun, again.fun))
