"""Linear models by a QR decomposition, as stats::lm fits them."""

from __future__ import annotations

import numpy as np

__all__ = ["fit_lm"]


def fit_lm(y: np.ndarray, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Return coefficients, their covariance matrix, the residual standard deviation and the log likelihood.

    Examples
    --------
    >>> beta, _, sigma, _ = fit_lm(np.array([1.0, 2.0, 3.5]), np.column_stack([np.ones(3), [0.0, 1.0, 2.0]]))
    >>> beta.round(4).tolist(), round(sigma, 4)
    ([0.9167, 1.25], 0.2041)
    """
    n, p = X.shape
    Q, R = np.linalg.qr(X)
    beta = np.linalg.solve(R, Q.T @ y)
    residual = y - X @ beta
    rss = float(residual @ residual)
    R_inverse = np.linalg.inv(R)
    sigma2 = rss / (n - p)
    with np.errstate(divide="ignore"):
        loglik = -0.5 * n * (np.log(2.0 * np.pi) + np.log(rss / n) + 1.0)
    return beta, sigma2 * R_inverse @ R_inverse.T, float(np.sqrt(sigma2)), float(loglik)
