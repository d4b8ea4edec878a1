"""Linear models by a QR decomposition, as stats::lm fits them."""

from __future__ import annotations

import math

import numpy as np

from ordbridge.errors import FitError

__all__ = ["Basis", "basis_of", "fit_lm"]

Basis = tuple[np.ndarray, np.ndarray]  # the columns X as Q R: orthonormal columns Q, and the inverse of R


def basis_of(X: np.ndarray) -> Basis:
    """Decompose columns of full rank."""
    Q, R = np.linalg.qr(X)
    return Q, np.linalg.inv(R)


def fit_lm(y: np.ndarray, X: np.ndarray, basis: Basis | None = None) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Return coefficients, their covariance matrix, the residual standard deviation and the log likelihood.

    Examples
    --------
    >>> beta, _, sigma, _ = fit_lm(np.array([1.0, 2.0, 3.5]), np.column_stack([np.ones(3), [0.0, 1.0, 2.0]]))
    >>> beta.round(4).tolist(), round(sigma, 4)
    ([0.9167, 1.25], 0.2041)
    """
    n, p = X.shape
    largest = float(np.abs(y).max(initial=0.0))
    if largest and not 1e-150 < largest < 1e150:
        raise FitError(f"the squares of the response, up to {largest:.3g}, are beyond computing; rescale the response")
    Q, R_inverse = basis or basis_of(X)
    part = Q.T @ y
    residual = y - Q @ part
    rss = float(residual @ residual)
    sigma2 = rss / (n - p)
    loglik = -0.5 * n * (math.log(2.0 * math.pi * rss / n) + 1.0) if rss > 0 else math.inf
    return R_inverse @ part, sigma2 * R_inverse @ R_inverse.T, math.sqrt(sigma2), loglik
