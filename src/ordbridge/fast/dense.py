"""Cholesky factors, solutions and inverses of dense matrices, in place, from a few rows to a thousand.

Small matrices are handled by plain loops whose innermost one runs along a row, large ones block by block so that nearly
all work is done by BLAS, in one thread. LAPACK itself would do for the large ones, but numba cannot call ``dpotri``
from cached code.
"""

from __future__ import annotations

import math

import numpy as np

from ordbridge.fast.compiled import kernel

__all__ = ["VECTOR_AT_ONCE", "cholesky", "inverse", "invert_lower", "multiply", "solve"]

BLOCK = 48  # rows handled at a time where BLAS does the work
PANEL = 4
SMALL = 64  # up to here plain loops are faster than BLAS
AT_ONCE = 1 << 18  # a product of matrices with up to so many multiplications is done in one thread by OpenBLAS,
VECTOR_AT_ONCE = 9000  # and one with a vector up to so many entries of the matrix
TILE = 128


@kernel
def _cholesky_small(A: np.ndarray) -> bool:
    """Factor A in place, four columns at a time: then every pass over the rest does four updates."""
    m = A.shape[0]
    c = np.empty((PANEL, m))
    for start in range(0, m, PANEL):
        stop = min(start + PANEL, m)
        for k in range(start, stop):
            if not A[k, k] > 0.0:
                return False
            pivot = math.sqrt(A[k, k])
            A[k, k] = pivot
            for i in range(k + 1, m):
                A[i, k] /= pivot
                c[k - start, i] = A[i, k]
            for j in range(k + 1, stop):
                for i in range(j, m):
                    A[i, j] -= A[i, k] * c[k - start, j]
        if stop - start < PANEL:
            break
        c0, c1, c2, c3 = c[0], c[1], c[2], c[3]
        for i in range(stop, m):
            a0, a1, a2, a3 = A[i, start], A[i, start + 1], A[i, start + 2], A[i, start + 3]
            row = A[i]
            for j in range(stop, i + 1):
                row[j] -= a0 * c0[j] + a1 * c1[j] + a2 * c2[j] + a3 * c3[j]
    return True


@kernel
def _invert_lower_small(L: np.ndarray, X: np.ndarray) -> None:
    """Fill X with the inverse of the lower triangle of L, and zeros above."""
    m = L.shape[0]
    X[:] = 0.0
    for i in range(m):
        row = X[i]
        whole = i - i % PANEL
        for k in range(0, whole, PANEL):
            l0, l1, l2, l3 = L[i, k], L[i, k + 1], L[i, k + 2], L[i, k + 3]
            x0, x1, x2, x3 = X[k], X[k + 1], X[k + 2], X[k + 3]
            for j in range(k + PANEL):  # rows of X are zero beyond their diagonal
                row[j] -= l0 * x0[j] + l1 * x1[j] + l2 * x2[j] + l3 * x3[j]
        for k in range(whole, i):
            l0 = L[i, k]
            x0 = X[k]
            for j in range(k + 1):
                row[j] -= l0 * x0[j]
        scale = 1.0 / L[i, i]
        for j in range(i):
            row[j] *= scale
        row[i] = scale


@kernel
def multiply(A, B):  # type: ignore[no-untyped-def]
    """Return A B, in pieces that OpenBLAS handles in one thread.

    A fit is too short for threads to gain anything, and on a busy machine they wait for each other: a connected design
    of 500 items took forty times as long with two threads.
    """
    m, k, n = A.shape[0], A.shape[1], B.shape[1]
    if m * k * n <= AT_ONCE:
        return np.dot(A, B)
    left, right = np.ascontiguousarray(A), np.ascontiguousarray(B)
    out = np.zeros((m, n))
    for i in range(0, k, TILE):
        strip = np.ascontiguousarray(left[:, i : i + TILE])
        for j in range(0, n, TILE):
            tile = np.ascontiguousarray(right[i : i + TILE, j : j + TILE])
            rows = AT_ONCE // tile.size
            for top in range(0, m, rows):
                out[top : top + rows, j : j + TILE] += np.dot(strip[top : top + rows], tile)
    return out


@kernel
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
        inverse_diagonal = np.empty_like(diagonal)
        _invert_lower_small(diagonal, inverse_diagonal)
        below = multiply(np.ascontiguousarray(A[stop:, start:stop]), inverse_diagonal.T)
        A[stop:, start:stop] = below
        for i in range(stop, m, BLOCK):  # the trailing lower triangle, one block row at a time
            end = min(i + BLOCK, m)
            left = below[i - stop : end - stop]
            A[i:end, stop:end] -= multiply(left, below[: end - stop].T)
    return True


@kernel
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


@kernel
def invert_lower(L: np.ndarray, X: np.ndarray) -> None:
    """Fill X with the inverse of the lower triangle of L, and zeros above."""
    m = L.shape[0]
    if m <= SMALL:
        _invert_lower_small(L, X)
        return
    X[:] = 0.0
    for i in range(0, m, BLOCK):  # block row by block row
        end = min(i + BLOCK, m)
        diagonal = np.ascontiguousarray(L[i:end, i:end])
        inverse_diagonal = np.empty_like(diagonal)
        _invert_lower_small(diagonal, inverse_diagonal)
        X[i:end, i:end] = inverse_diagonal
        if i > 0:
            above = np.ascontiguousarray(X[:i, :i])
            X[i:end, :i] = -multiply(inverse_diagonal, multiply(np.ascontiguousarray(L[i:end, :i]), above))


@kernel
def inverse(L: np.ndarray, out: np.ndarray) -> None:
    """Fill ``out`` with the inverse of L L', both triangles."""
    m = L.shape[0]
    if m <= SMALL:
        _inverse_small(L, out)
        return
    X = np.empty((m, m))
    invert_lower(L, X)
    for i in range(0, m, 4 * BLOCK):  # X' X: rows above the diagonal block of X are zero
        end = min(i + 4 * BLOCK, m)
        strip = multiply(np.ascontiguousarray(X[i:, i:end]).T, np.ascontiguousarray(X[i:, :end]))
        out[i:end, :end] = strip
        out[:end, i:end] = strip.T


@kernel
def _inverse_small(L: np.ndarray, out: np.ndarray) -> None:
    m = L.shape[0]
    rows = m + (-m) % PANEL  # rows of zeros at the end, so that all come in fours
    X = np.zeros((rows, m))
    _invert_lower_small(L, X[:m])
    out[:] = 0.0
    for k in range(0, rows, PANEL):
        x0, x1, x2, x3 = X[k], X[k + 1], X[k + 2], X[k + 3]
        for i in range(min(k + PANEL, m)):
            a0, a1, a2, a3 = x0[i], x1[i], x2[i], x3[i]
            row = out[i]
            for j in range(i + 1):
                row[j] += a0 * x0[j] + a1 * x1[j] + a2 * x2[j] + a3 * x3[j]
    for i in range(m):
        for j in range(i):
            out[j, i] = out[i, j]
