"""Elimination by blocks: what one or two crossed grouping factors make of H = I + Z~' D Z~.

Z~ holds, for row i, the vectors z~1_i = L1' z1_i and z~2_i = L2' z2_i in the columns of its levels g of factor 1 and h
of factor 2. With the weighted cross-products of the rows

    M~11_g = sum d_i z~1_i z~1_i',  M~22_h = sum d_i z~2_i z~2_i',  M~12_p = sum d_i z~1_i z~2_i' over the pair (g, h),

the blocks of H are A_g = I + M~11_g (block diagonal), C_p = M~12_p and B_h = I + M~22_h. Factor 1, the larger one, is
eliminated: S = B - C' A^-1 C is dense within each connected component of the graph of levels and zero between
components, so every component is handled on its own. With W_p = A_g^-1 C_p the inverse N of H, where it is needed, is

    N22 = S^-1,   N12_p = -sum over the pairs p' of g of W_p' N22[h', h],   N11_g = A_g^-1 - sum N12_p W_p'.

See Bates, Maechler, Bolker & Walker (2015), J. Stat. Software 67(1), for the same elimination by sparse factorisation.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ordbridge.fast import dense
from ordbridge.fast.compiled import kernel
from ordbridge.fast.structure import Structure

__all__ = [
    "Factors",
    "allocate",
    "cross_products",
    "diagonal_inverse",
    "factorise",
    "fill",
    "selected_inverse",
    "solve",
    "transform",
]


class Factors(NamedTuple):
    """H in factored form, and the parts of its inverse that gradients need."""

    A: np.ndarray  # J1 × q1 × q1: Cholesky factor of A_g
    U: np.ndarray  # pairs × q1 × q2: chol(A_g)^-1 C_p, in components that are not dense
    full: np.ndarray  # the same in dense ones, one matrix (levels of factor 1 × levels of factor 2) after the other
    S: np.ndarray  # Cholesky factors of all S, one after the other
    N: np.ndarray  # their inverses
    N11: np.ndarray
    N12: np.ndarray
    N22: np.ndarray


def allocate(structure: Structure) -> Factors:
    """Room for the factors of one H; a fit has its own, so that fits can run side by side."""
    J1, J2 = structure.levels
    q1, q2 = structure.z1.shape[1], structure.z2.shape[1]
    P, total = structure.graph.partner.size, int(structure.graph.offset[-1])
    return Factors(
        A=np.empty((J1, q1, q1)),
        U=np.empty((P, q1, q2)),
        full=np.empty(int(structure.graph.full[-1])),
        S=np.empty(total),
        N=np.empty(total),
        N11=np.empty((J1, q1, q1)),
        N12=np.empty((P, q1, q2)),
        N22=np.empty((J2, q2, q2)),
    )


@kernel
def cross_products(graph, z1, z2, d, M11, M12, M22):  # type: ignore[no-untyped-def]
    """Fill M11, M12, M22 with the cross-products of the rows of z1 and z2, weighted by d."""
    q1, q2 = z1.shape[1], z2.shape[1]
    M11[:] = 0.0
    M12[:] = 0.0
    M22[:] = 0.0
    for g in range(M11.shape[0]):
        for p in range(graph.pairs_of[g], graph.pairs_of[g + 1]):
            h = graph.partner[p]
            for i in range(graph.rows_of[p], graph.rows_of[p + 1]):
                for a in range(q1):
                    w = d[i] * z1[i, a]
                    for b in range(a + 1):
                        M11[g, a, b] += w * z1[i, b]
                    for b in range(q2):
                        M12[p, a, b] += w * z2[i, b]
                for a in range(q2):
                    w = d[i] * z2[i, a]
                    for b in range(a + 1):
                        M22[h, a, b] += w * z2[i, b]
    _mirror(M11)
    _mirror(M22)


@kernel
def _mirror(M):  # type: ignore[no-untyped-def]
    for g in range(M.shape[0]):
        for a in range(M.shape[1]):
            for b in range(a):
                M[g, b, a] = M[g, a, b]


@kernel
def _kronecker(L, R):  # type: ignore[no-untyped-def]
    q, r = L.shape[0], R.shape[0]
    K = np.empty((q * r, q * r))
    for a in range(q):
        for b in range(r):
            for c in range(q):
                for d in range(r):
                    K[a * r + b, c * r + d] = L[a, c] * R[b, d]
    return K


@kernel
def transform(L1, L2, M11, M12, M22, out11, out12, out22):  # type: ignore[no-untyped-def]
    """Fill the last three with the blocks of L' M L: what cross-products of the rows L' z would be."""
    q1, q2 = L1.shape[0], L2.shape[0]
    out11[:] = dense.multiply(M11.reshape(-1, q1 * q1), _kronecker(L1, L1)).reshape(out11.shape)
    if q2 > 0:
        out12[:] = dense.multiply(M12.reshape(-1, q1 * q2), _kronecker(L1, L2)).reshape(out12.shape)
        out22[:] = dense.multiply(M22.reshape(-1, q2 * q2), _kronecker(L2, L2)).reshape(out22.shape)


@kernel
def factorise(graph, M11, M12, M22, factors):  # type: ignore[no-untyped-def]
    """Factor H = I + (the blocks M of Z~' D Z~); return log det H, NaN if it is not positive definite."""
    q1, q2 = M11.shape[1], M22.shape[1]
    logdet = _factorise_first(M11, factors.A)
    if logdet != logdet:
        return logdet
    for c in range(graph.component1.size - 1):
        first1, last1, first2, last2 = _levels(graph, c)
        m = (last2 - first2) * q2
        if m == 0:
            continue
        S = factors.S[graph.offset[c] : graph.offset[c + 1]].reshape(m, m)
        if graph.dense[c]:
            U = factors.full[graph.full[c] : graph.full[c + 1]].reshape((last1 - first1) * q1, m)
            fill(graph, c, M12, U)
            for g in range(first1, last1):
                _forward(factors.A, g, U[(g - first1) * q1 : (g - first1 + 1) * q1])
            S[:] = -dense.multiply(U.T, U)
        else:
            S[:] = 0.0
            for g in range(first1, last1):
                for p in range(graph.pairs_of[g], graph.pairs_of[g + 1]):
                    factors.U[p] = M12[p]
                    _forward(factors.A, g, factors.U[p])
            _subtract_squares(graph, factors.U, c, S)
        for h in range(first2, last2):
            at = (h - first2) * q2
            for a in range(q2):
                for b in range(q2):
                    S[at + a, at + b] += M22[h, a, b]
                S[at + a, at + a] += 1.0
        if not dense.cholesky(S):
            return np.nan
        for a in range(m):
            logdet += 2.0 * math.log(S[a, a])
    return logdet


@kernel
def _levels(graph, c):  # type: ignore[no-untyped-def]
    """Return where the levels of factor 1 and of factor 2 in a component begin and end."""
    return graph.component1[c], graph.component1[c + 1], graph.component2[c], graph.component2[c + 1]


@kernel
def _factorise_first(M11, A):  # type: ignore[no-untyped-def]
    """Set A to the Cholesky factors of I + M11; return the log determinant of all."""
    q1 = A.shape[1]
    logdet = 0.0
    for g in range(A.shape[0]):
        determinant = 1.0
        for a in range(q1):
            for b in range(a):
                total = M11[g, a, b]
                for k in range(b):
                    total -= A[g, a, k] * A[g, b, k]
                A[g, a, b] = total / A[g, b, b]
            total = 1.0 + M11[g, a, a]
            for k in range(a):
                total -= A[g, a, k] * A[g, a, k]
            if not total > 0.0:
                return np.nan
            determinant *= total
            A[g, a, a] = math.sqrt(total)
        logdet += math.log(determinant)
    return logdet


@kernel
def _forward(A, g, U):  # type: ignore[no-untyped-def]
    """Overwrite the q1 rows of U with A_g^-1 U, A_g lower triangular."""
    for a in range(U.shape[0]):
        for k in range(a):
            factor = A[g, a, k]
            for b in range(U.shape[1]):
                U[a, b] -= factor * U[k, b]
        scale = 1.0 / A[g, a, a]
        for b in range(U.shape[1]):
            U[a, b] *= scale


@kernel
def _backward(A, g, U):  # type: ignore[no-untyped-def]
    """Overwrite the q1 rows of U with A_g'^-1 U."""
    for a in range(U.shape[0] - 1, -1, -1):
        for k in range(a + 1, U.shape[0]):
            factor = A[g, k, a]
            for b in range(U.shape[1]):
                U[a, b] -= factor * U[k, b]
        scale = 1.0 / A[g, a, a]
        for b in range(U.shape[1]):
            U[a, b] *= scale


@kernel
def fill(graph, c, blocks, out):  # type: ignore[no-untyped-def]
    """Write the pairs' blocks of one component into a matrix: levels of factor 1 down, levels of factor 2 across."""
    q1, q2 = blocks.shape[1], blocks.shape[2]
    first1, last1, first2, last2 = _levels(graph, c)
    if graph.pairs_of[last1] - graph.pairs_of[first1] < (last1 - first1) * (last2 - first2):
        out[:] = 0.0
    for g in range(first1, last1):
        top = (g - first1) * q1
        for p in range(graph.pairs_of[g], graph.pairs_of[g + 1]):
            left = (graph.partner[p] - first2) * q2
            for a in range(q1):
                for b in range(q2):
                    out[top + a, left + b] = blocks[p, a, b]


@kernel
def _subtract_squares(graph, U, c, S):  # type: ignore[no-untyped-def]
    """S -= sum over the levels g of U_g' U_g, lower triangle (partners are sorted), where few pairs are in the data."""
    q1, q2 = U.shape[1], U.shape[2]
    first2 = graph.component2[c]
    for g in range(graph.component1[c], graph.component1[c + 1]):
        for p in range(graph.pairs_of[g], graph.pairs_of[g + 1]):
            at = (graph.partner[p] - first2) * q2
            for other in range(graph.pairs_of[g], p + 1):
                there = (graph.partner[other] - first2) * q2
                for a in range(q2):
                    for b in range(q2):
                        total = 0.0
                        for k in range(q1):
                            total += U[p, k, a] * U[other, k, b]
                        S[at + a, there + b] -= total


@kernel
def solve(graph, factors, x1, x2):  # type: ignore[no-untyped-def]
    """Overwrite (x1, x2), levels × q each, with the solution of H x = (x1, x2)."""
    q1, q2 = x1.shape[1], x2.shape[1]
    A = factors.A
    for g in range(x1.shape[0]):
        for a in range(q1):
            total = x1[g, a]
            for k in range(a):
                total -= A[g, a, k] * x1[g, k]
            x1[g, a] = total / A[g, a, a]
    for c in range(graph.component1.size - 1):
        first1, last1, first2, last2 = _levels(graph, c)
        rows, m = (last1 - first1) * q1, (last2 - first2) * q2
        if m == 0:
            continue
        S = factors.S[graph.offset[c] : graph.offset[c + 1]].reshape(m, m)
        own1, own2 = x1[first1:last1].reshape(rows), x2[first2:last2].reshape(m)
        if graph.dense[c]:
            U = factors.full[graph.full[c] : graph.full[c + 1]].reshape(rows, m)
            some = max(1, dense.VECTOR_AT_ONCE // m)
            for i in range(0, rows, some):
                own2 -= np.dot(U[i : i + some].T, own1[i : i + some])
            dense.solve(S, own2)
            for i in range(0, rows, some):
                own1[i : i + some] -= np.dot(U[i : i + some], own2)
            continue
        for g in range(first1, last1):
            for p in range(graph.pairs_of[g], graph.pairs_of[g + 1]):
                for b in range(q2):
                    for k in range(q1):
                        x2[graph.partner[p], b] -= factors.U[p, k, b] * x1[g, k]
        dense.solve(S, own2)
        for g in range(first1, last1):
            for p in range(graph.pairs_of[g], graph.pairs_of[g + 1]):
                for k in range(q1):
                    for b in range(q2):
                        x1[g, k] -= factors.U[p, k, b] * x2[graph.partner[p], b]
    for g in range(x1.shape[0]):
        for a in range(q1 - 1, -1, -1):
            total = x1[g, a]
            for k in range(a + 1, q1):
                total -= A[g, k, a] * x1[g, k]
            x1[g, a] = total / A[g, a, a]


@kernel
def selected_inverse(graph, factors):  # type: ignore[no-untyped-def]
    """Fill N11, N12, N22 with the blocks of the inverse of H that belong to levels and pairs in the data."""
    q2 = factors.U.shape[2]
    for g in range(factors.A.shape[0]):
        _inverse_block(factors.A, factors.N11, g)
    for c in range(graph.component1.size - 1):
        first2, last2 = graph.component2[c], graph.component2[c + 1]
        m = (last2 - first2) * q2
        if m == 0:
            continue
        N = factors.N[graph.offset[c] : graph.offset[c + 1]].reshape(m, m)
        dense.inverse(factors.S[graph.offset[c] : graph.offset[c + 1]].reshape(m, m), N)
        for h in range(first2, last2):
            at = (h - first2) * q2
            for a in range(q2):
                for b in range(q2):
                    factors.N22[h, a, b] = N[at + a, at + b]
        if graph.dense[c]:
            _inverse_dense(graph, c, factors, N)
        else:
            _inverse_sparse(graph, c, factors, N)
    _mirror(factors.N11)


@kernel
def diagonal_inverse(graph, factors):  # type: ignore[no-untyped-def]
    """Fill N11 and N22, and N12 only where it comes for free: for dense components it is left as it was."""
    q1, q2 = factors.A.shape[1], factors.U.shape[2]
    for g in range(factors.A.shape[0]):
        _inverse_block(factors.A, factors.N11, g)
    for c in range(graph.component1.size - 1):
        first1, last1, first2, last2 = _levels(graph, c)
        rows, m = (last1 - first1) * q1, (last2 - first2) * q2
        if m == 0:
            continue
        S = factors.S[graph.offset[c] : graph.offset[c + 1]].reshape(m, m)
        N = factors.N[graph.offset[c] : graph.offset[c + 1]].reshape(m, m)
        if graph.dense[c]:  # with X = chol(S)^-1: N22 = X' X and W N22 W' = (W X')(W X')'
            dense.invert_lower(S, N)
            X = np.ascontiguousarray(N.T)
            W = factors.full[graph.full[c] : graph.full[c + 1]].reshape(rows, m).copy()
            for g in range(first1, last1):
                _backward(factors.A, g, W[(g - first1) * q1 : (g - first1 + 1) * q1])
            _add_row_products(dense.multiply(W, X), first1, factors.N11)
            factors.N22[first2:last2] = 0.0
            _add_row_products(X, first2, factors.N22)
        else:
            dense.inverse(S, N)
            for h in range(first2, last2):
                at = (h - first2) * q2
                for a in range(q2):
                    for b in range(q2):
                        factors.N22[h, a, b] = N[at + a, at + b]
            _inverse_sparse(graph, c, factors, N)
    _mirror(factors.N11)
    _mirror(factors.N22)


@kernel
def _add_row_products(Y, first, out):  # type: ignore[no-untyped-def]
    """Add the products of rows of the same level, from level ``first`` on, to the lower triangles of ``out``."""
    q = out.shape[1]
    for g in range(Y.shape[0] // q):
        for a in range(q):
            for b in range(a + 1):
                out[first + g, a, b] += _dot(Y, g * q + a, Y, g * q + b)


@kernel
def _dot(X, i, Y, j):  # type: ignore[no-untyped-def]
    """Return the product of row i of X and row j of Y, in four sums at once (a call of BLAS costs more)."""
    m = X.shape[1]
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    for k in range(0, m - 3, 4):
        s0 += X[i, k] * Y[j, k]
        s1 += X[i, k + 1] * Y[j, k + 1]
        s2 += X[i, k + 2] * Y[j, k + 2]
        s3 += X[i, k + 3] * Y[j, k + 3]
    for k in range(m - m % 4, m):
        s0 += X[i, k] * Y[j, k]
    return (s0 + s1) + (s2 + s3)


@kernel
def _inverse_dense(graph, c, factors, N):  # type: ignore[no-untyped-def]
    """Fill N12 = -W N22 and complete N11 = A^-1 - N12 W' for one component, with full matrices."""
    q1, q2, m = factors.A.shape[1], factors.U.shape[2], N.shape[0]
    first1, last1, first2, _ = _levels(graph, c)
    W = factors.full[graph.full[c] : graph.full[c + 1]].reshape((last1 - first1) * q1, m).copy()
    for g in range(first1, last1):
        _backward(factors.A, g, W[(g - first1) * q1 : (g - first1 + 1) * q1])
    product = dense.multiply(W, N)
    for g in range(first1, last1):
        top = (g - first1) * q1
        for a in range(q1):
            for b in range(a + 1):
                factors.N11[g, a, b] += _dot(product, top + a, W, top + b)
        for p in range(graph.pairs_of[g], graph.pairs_of[g + 1]):
            left = (graph.partner[p] - first2) * q2
            for a in range(q1):
                for b in range(q2):
                    factors.N12[p, a, b] = -product[top + a, left + b]


@kernel
def _inverse_sparse(graph, c, factors, N):  # type: ignore[no-untyped-def]
    """Fill N12 = -W N22 and complete N11 = A^-1 - N12 W' for one component, pair by pair."""
    q1, q2, N11, N12 = factors.A.shape[1], factors.U.shape[2], factors.N11, factors.N12
    first1, last1, first2, _ = _levels(graph, c)
    W = factors.U[graph.pairs_of[first1] : graph.pairs_of[last1]].copy()
    begin = graph.pairs_of[first1]
    for g in range(first1, last1):
        for p in range(graph.pairs_of[g], graph.pairs_of[g + 1]):
            _backward(factors.A, g, W[p - begin])
        for p in range(graph.pairs_of[g], graph.pairs_of[g + 1]):
            at = (graph.partner[p] - first2) * q2
            for a in range(q1):
                for b in range(q2):
                    N12[p, a, b] = 0.0
            for other in range(graph.pairs_of[g], graph.pairs_of[g + 1]):
                there = (graph.partner[other] - first2) * q2
                for k in range(q2):
                    for b in range(q2):
                        n = N[there + k, at + b]
                        for a in range(q1):
                            N12[p, a, b] -= W[other - begin, a, k] * n
            for a in range(q1):
                for b in range(a + 1):
                    for k in range(q2):
                        N11[g, a, b] -= N12[p, a, k] * W[p - begin, b, k]


@kernel
def _inverse_block(A, N11, g):  # type: ignore[no-untyped-def]
    """Set the lower triangle of N11[g] to the inverse of A[g] A[g]'."""
    q = A.shape[1]
    for a in range(q):  # column by column: first A^-1 e_a, then A'^-1 of it
        for b in range(a, q):
            total = 1.0 if a == b else 0.0
            for k in range(a, b):
                total -= A[g, b, k] * N11[g, k, a]
            N11[g, b, a] = total / A[g, b, b]
        for b in range(q - 1, a - 1, -1):
            total = N11[g, b, a]
            for k in range(b + 1, q):
                total -= A[g, k, b] * N11[g, k, a]
            N11[g, b, a] = total / A[g, b, b]
