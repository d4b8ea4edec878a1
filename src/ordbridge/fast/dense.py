"""Cholesky factors, solutions and inverses of dense matrices, in place, from a few rows to a thousand.

Small matrices are handled by plain loops whose innermost one runs along a row, large ones block by block so that nearly
all work is done by BLAS. LAPACK itself would do for the large ones, but numba cannot call ``dpotri`` from cached code.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

__all__ = ["cholesky", "inverse", "solve"]

BLOCK = 48  # rows handled at a time where BLAS does the work
SMALL = 96  # up to here plain loops are faster than BLAS

_jit = njit(cache=True, nogil=True, error_model="numpy")


@_jit
def _cholesky_small(A: np.ndarray) -> bool:
    m = A.shape[0]
    column = np.empty(m)
    for k in range(m):
        if not A[k, k] > 0.0:
            return False
        pivot = math.sqrt(A[k, k])
        A[k, k] = pivot
        for i in range(k + 1, m):
            A[i, k] /= pivot
            column[i] = A[i, k]
        for i in range(k + 1, m):
            l = A[i, k]
            if l != 0.0:
                for j in range(k + 1, i + 1):
                    A[i, j] -= l * column[j]
    return True


@_jit
def _invert_lower_small(L: np.ndarray, X: np.ndarray) -> None:
    """Fill the lower triangle of X with the inverse of the lower triangle of L."""
    m = L.shape[0]
    for i in range(m):
        for j in range(i + 1):
            X[i, j] = 0.0
        for k in range(i):
            l = L[i, k]
            if l != 0.0:
                for j in range(k + 1):
                    X[i, j] -= l * X[k, j]
        d = 1.0 / L[i, i]
        for j in range(i):
            X[i, j] *= d
        X[i, i] = d


@_jit
def cholesky(A: np.ndarray) -> bool:
    """Overwrite the lower triangle of A with its Cholesky factor; False if A is not positive definite."""
    m = A.shape[0]
    if m <= SMALL:
        return _cholesky_small(A)
    for start in range(0, m, BLOCK):
        stop = min(start + BLOCK, m)
        diagonal = np.ascontiguousarray(A[start:stop, start:stop])
        if not _cholesky_small(diagonal):
            return False
        A[start:stop, start:stop] = diagonal
        if stop == m:
            break
        inverse_diagonal = np.zeros_like(diagonal)
        _invert_lower_small(diagonal, inverse_diagonal)
        below = np.dot(np.ascontiguousarray(A[stop:, start:stop]), inverse_diagonal.T)
        A[stop:, start:stop] = below
        for i in range(stop, m, BLOCK):  # the trailing lower triangle, one block row at a time
            end = min(i + BLOCK, m)
            left = below[i - stop : end - stop]
            A[i:end, stop:end] -= np.dot(left, below[: end - stop].T)
    return True


@_jit
def solve(L: np.ndarray, x: np.ndarray) -> None:
    """Overwrite the vector x with the solution of L L' x = x."""
    m = L.shape[0]
    for i in range(m):
        total = x[i]
        for k in range(i):
            total -= L[i, k] * x[k]
        x[i] = total / L[i, i]
    for i in range(m - 1, -1, -1):
        value = x[i] / L[i, i]
        x[i] = value
        for k in range(i):
            x[k] -= L[i, k] * value


@_jit
def inverse(L: np.ndarray, out: np.ndarray) -> None:
    """Fill ``out`` with the inverse of L L', both triangles."""
    m = L.shape[0]
    if m <= SMALL:
        _inverse_small(L, out)
        return
    X = np.zeros((m, m))  # the inverse of L, block row by block row
    for i in range(0, m, BLOCK):
        end = min(i + BLOCK, m)
        diagonal = np.ascontiguousarray(L[i:end, i:end])
        inverse_diagonal = np.zeros_like(diagonal)
        _invert_lower_small(diagonal, inverse_diagonal)
        X[i:end, i:end] = inverse_diagonal
        if i > 0:
            above = np.ascontiguousarray(X[:i, :i])
            X[i:end, :i] = -np.dot(inverse_diagonal, np.dot(np.ascontiguousarray(L[i:end, :i]), above))
    for i in range(0, m, 4 * BLOCK):  # X' X: rows above the diagonal block of X are zero
        end = min(i + 4 * BLOCK, m)
        strip = np.dot(np.ascontiguousarray(X[i:, i:end]).T, np.ascontiguousarray(X[i:, :end]))
        out[i:end, :end] = strip
        out[:end, i:end] = strip.T


@_jit
def _inverse_small(L: np.ndarray, out: np.ndarray) -> None:
    m = L.shape[0]
    X = np.empty((m, m))
    _invert_lower_small(L, X)
    for i in range(m):
        for j in range(i + 1):
            out[i, j] = 0.0
    for k in range(m):
        for i in range(k + 1):
            x = X[k, i]
            for j in range(i + 1):
                out[i, j] += x * X[k, j]
    for i in range(m):
        for j in range(i):
            out[j, i] = out[i, j]
