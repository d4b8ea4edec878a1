"""Second derivatives of the deviance of a linear mixed model, for Satterthwaite's degrees of freedom.

With Q = Z'V^-1 Z, W = V^-1 X, e = V^-1 (y - X beta), V_a and V_ab the derivatives of V in the entries a and b of the
relative Cholesky factors, and the columns E = (W, e),

    d2 log det H = tr(V^-1 V_ab) - tr(V^-1 V_a V^-1 V_b),
    A_a  = -W'V_a W,                       A_ab = -W'V_ab W + W'V_a V^-1 V_b W + W'V_b V^-1 V_a W,
    r2_a = -e'V_a e,                       r2_ab = -e'V_ab e + 2 e'V_a V^-1 V_b e - 2 e'V_a W A^-1 W'V_b e,
    d2 log det A = tr(A^-1 A_ab) - tr(A^-1 A_a A^-1 A_b).

The traces are sums over pairs of levels (g, h) of products of two entries of the block Q_gh, so that only the
``moments`` sum Q_gh[i, j] Q_gh[k, l] are kept. Factor 1 is eliminated as in :mod:`ordbridge.fast.blocks`, but before
multiplication by L, so that everything also holds where L is singular: with D_g = L1 A_g^-1 L1', T = L2 S^-1 L2' and
M = Z'Z,

    B = M11 - M11 D M11,   Y = M12 - M11 D M12,   K = M22 - M12' D M12,
    Q11 = B - Y T Y',      Q12 = Y - Y T K,       Q22 = K - K T K.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ordbridge.fast import dense
from ordbridge.fast.blocks import fill
from ordbridge.fast.compiled import kernel
from ordbridge.fast.deviance import add_scaled, residual_sums

__all__ = ["second_derivatives"]

STRIP = 512  # rows of Q11 held at a time


class _Sums(NamedTuple):
    """What is summed over components."""

    moments11: np.ndarray  # q1 × q1 × q1 × q1
    moments12: np.ndarray
    moments22: np.ndarray
    own1: np.ndarray  # sum of the blocks Q_gg of factor 1
    own2: np.ndarray
    FQF: np.ndarray  # E'V_a V^-1 V_b E for all a and b, with V_a E = Z F_a


@kernel
def second_derivatives(data, room, reml, sigma, hessian, jacobian):  # type: ignore[no-untyped-def]
    """Fill Hessian and Jacobian at the point of the last evaluation, in (entries, sigma).

    The Hessian is that of the deviance before sigma is profiled out, the Jacobian that of sigma^2 A^-1.
    """
    p, k = room.A.shape[0], data.factor.size
    freedom = data.n - p if reml else data.n
    inverse, factor = np.empty((p, p)), room.A.copy()
    dense.cholesky(factor)
    dense.inverse(factor, inverse)
    E1, E2, C1, C2 = _residuals(data, room)
    sums = _sums(data, room, _spread(data, 0, room.L1, E1, C1), _spread(data, 1, room.L2, E2, C2))
    WVW, WVe, eVe = np.empty((k, p, p)), np.empty((k, p)), np.empty(k)
    for a in range(k):
        E, C = (E1, C1) if data.factor[a] == 0 else (E2, C2)
        WVW[a], WVe[a], eVe[a] = _split(_level_products(E, data.row[a], C, data.column[a]))
        jacobian[a] = sigma**2 * np.dot(np.dot(inverse, WVW[a]), inverse)
        hessian[a, k] = hessian[k, a] = 2.0 / sigma**3 * eVe[a]
    jacobian[k] = 2.0 * sigma * inverse
    hessian[k, k] = 6.0 * room.values[1] / sigma**4 - 2.0 * freedom / sigma**2
    for a in range(k):
        for b in range(a + 1):
            twice = np.zeros((p + 1, p + 1))
            if data.factor[a] == data.factor[b] and data.column[a] == data.column[b]:
                E = E1 if data.factor[a] == 0 else E2
                twice = _level_products(E, data.row[a], E, data.row[b])
            FQF = sums.FQF[a * (p + 1) : (a + 1) * (p + 1), b * (p + 1) : (b + 1) * (p + 1)]
            A_ab, _, r2_ab = _split(FQF - twice)
            value = _log_determinant(data, room, sums, b, a)
            value += (r2_ab - 2.0 * np.dot(np.dot(inverse, WVe[a]), WVe[b])) / sigma**2
            if reml:
                value += np.sum(inverse * A_ab)
                value -= np.sum(np.dot(inverse, WVW[a]) * np.dot(inverse, WVW[b]).T)
            hessian[a, b] = hessian[b, a] = value


@kernel
def _split(half):  # type: ignore[no-untyped-def]
    """Return the parts (W, W), (W, e) and (e, e) of ``half`` plus its transpose."""
    p = half.shape[0] - 1
    WW, We = np.empty((p, p)), np.empty(p)
    for i in range(p):
        We[i] = half[i, p] + half[p, i]
        for j in range(p):
            WW[i, j] = half[i, j] + half[j, i]
    return WW, We, 2.0 * half[p, p]


@kernel
def _residuals(data, room):  # type: ignore[no-untyped-def]
    """Return E = Z'(W, e) and C = L'E, column by column."""
    p = room.A.shape[0]
    E1, E2, C1, C2 = np.empty_like(room.C1), np.empty_like(room.C2), room.C1.copy(), room.C2.copy()
    C1[p] = room.u1
    C2[p] = room.u2
    for j in range(p + 1):
        residual_sums(data, room, j, C1[j], C2[j], E1[j], E2[j])
    for j in range(p):
        add_scaled(E1[p], -room.gamma[j], data.Zx1[j])
        add_scaled(E2[p], -room.gamma[j], data.Zx2[j])
    return E1, E2, C1, C2


@kernel
def _spread(data, factor, L, E, C):  # type: ignore[no-untyped-def]
    """Return F_a = (dL_a L' + L dL_a') E for all entries a of one factor, zero for those of the other."""
    columns, levels, q = E.shape
    F = np.zeros((levels * q, data.factor.size * columns))
    for a in range(data.factor.size):
        if data.factor[a] != factor:
            continue
        i, k = data.row[a], data.column[a]
        for g in range(levels):
            for j in range(columns):
                F[g * q + i, a * columns + j] += C[j, g, k]
                for l in range(k, q):
                    F[g * q + l, a * columns + j] += L[l, k] * E[j, g, i]
    return F


@kernel
def _level_products(X, i, Y, k):  # type: ignore[no-untyped-def]
    """Return the sum over levels of X[:, g, i] Y[:, g, k]'."""
    columns = X.shape[0]
    out = np.zeros((columns, columns))
    for j in range(columns):
        for m in range(columns):
            total = 0.0
            for g in range(X.shape[1]):
                total += X[j, g, i] * Y[m, g, k]
            out[j, m] = total
    return out


@kernel
def _log_determinant(data, room, sums, a, b):  # type: ignore[no-untyped-def]
    """Return the second derivative of log det H in the entries a and b, a not of a later factor than b."""
    i, k, j, l = data.row[a], data.column[a], data.row[b], data.column[b]
    L, R = room.L1, room.L1
    moments, own = sums.moments11, sums.own1
    if data.factor[b] == 1:
        R, own = room.L2, sums.own2
        moments = sums.moments12
        if data.factor[a] == 1:
            L, moments = room.L2, sums.moments22
    total = 0.0
    for s in range(L.shape[0]):
        for t in range(R.shape[0]):
            total -= 2.0 * L[s, k] * R[t, l] * (moments[i, t, s, j] + moments[i, j, s, t])
    if data.factor[a] == data.factor[b] and k == l:
        total += 2.0 * own[i, j]
    return total


@kernel
def _sums(data, room, F1, F2):  # type: ignore[no-untyped-def]
    """Go through the components and add up what the second derivatives need."""
    graph, q1, q2 = data.graph, room.L1.shape[0], room.L2.shape[0]
    D, MD, B = _eliminated(room.factors.A, room.L1, data.M11)
    BF = np.zeros_like(F1)
    _multiply_rows(B, 0, F1, BF)
    sums = _Sums(
        np.zeros((q1, q1, q1, q1)),
        np.zeros((q1, q2, q1, q2)),
        np.zeros((q2, q2, q2, q2)),
        np.zeros((q1, q1)),
        np.zeros((q2, q2)),
        dense.multiply(F1.T, BF),
    )
    for c in range(graph.component1.size - 1):
        first1, last1 = graph.component1[c], graph.component1[c + 1]
        first2, last2 = graph.component2[c], graph.component2[c + 1]
        if last2 == first2:  # one grouping factor: a component is a level
            _add_moments(B[first1], sums.moments11)
            _add_own(B[first1], 0, sums.own1)
        else:
            own1, own2 = F1[first1 * q1 : last1 * q1], F2[first2 * q2 : last2 * q2]
            _add_component(data, room, c, B, MD, D, own1, own2, sums)
    return sums


@kernel
def _eliminated(A, L, M):  # type: ignore[no-untyped-def]
    """Return D_g = L A_g^-1 L', M_g D_g and B_g = M_g - M_g D_g M_g, given the Cholesky factors of A_g."""
    q = L.shape[0]
    D, MD, B = np.zeros_like(A), np.zeros_like(A), M.copy()
    half = np.empty((q, q))
    for g in range(A.shape[0]):
        for b in range(q):  # half = chol(A_g)^-1 L'
            for a in range(q):
                total = L[b, a]
                for k in range(a):
                    total -= A[g, a, k] * half[k, b]
                half[a, b] = total / A[g, a, a]
        for a in range(q):
            for b in range(q):
                for k in range(q):
                    D[g, a, b] += half[k, a] * half[k, b]
        for a in range(q):
            for b in range(q):
                for k in range(q):
                    MD[g, a, b] += M[g, a, k] * D[g, k, b]
        for a in range(q):
            for b in range(q):
                for k in range(q):
                    B[g, a, b] -= MD[g, a, k] * M[g, k, b]
    return D, MD, B


@kernel
def _multiply_rows(blocks, first, X, out):  # type: ignore[no-untyped-def]
    """Add the blocks, from ``first`` on, times the rows of X that belong to their levels to the rows of ``out``."""
    q = blocks.shape[1]
    for g in range(X.shape[0] // q):
        for a in range(q):
            row = out[g * q + a]
            for k in range(q):
                factor, other = blocks[first + g, a, k], X[g * q + k]
                for j in range(X.shape[1]):
                    row[j] += factor * other[j]


@kernel
def _add_component(data, room, c, B, MD, D, F1, F2, sums):  # type: ignore[no-untyped-def]
    """Add what one component with levels of both factors contributes."""
    graph, q1, q2 = data.graph, room.L1.shape[0], room.L2.shape[0]
    first1, last1 = graph.component1[c], graph.component1[c + 1]
    first2, last2 = graph.component2[c], graph.component2[c + 1]
    m1, m2 = (last1 - first1) * q1, (last2 - first2) * q2
    M12, DM, MDM = np.zeros((m1, m2)), np.zeros((m1, m2)), np.zeros((m1, m2))
    fill(graph, c, data.M12, M12)
    _multiply_rows(D, first1, M12, DM)
    _multiply_rows(MD, first1, M12, MDM)
    Y, K = M12 - MDM, -dense.multiply(M12.T, DM)
    for h in range(first2, last2):
        at = (h - first2) * q2
        for a in range(q2):
            for b in range(q2):
                K[at + a, at + b] += data.M22[h, a, b]
    T = np.empty((m2, m2))
    dense.inverse(room.factors.S[graph.offset[c] : graph.offset[c + 1]].reshape(m2, m2), T)
    _sandwich(room.L2, T)
    YT, KT = dense.multiply(Y, T), dense.multiply(K, T)
    for top in range(0, m1, STRIP * q1):
        end = min(top + STRIP * q1, m1)
        Q11 = -dense.multiply(YT[top:end], Y.T)
        for row in range(end - top):
            for b in range(q1):
                Q11[row, top + row - row % q1 + b] += B[first1 + (top + row) // q1, row % q1, b]
        _add_moments(Q11, sums.moments11)
        _add_own(Q11, top, sums.own1)
    Q22 = K - dense.multiply(KT, K)
    _add_moments(Y - dense.multiply(YT, K), sums.moments12)
    _add_moments(Q22, sums.moments22)
    _add_own(Q22, 0, sums.own2)
    YF, KF = dense.multiply(Y.T, F1), dense.multiply(K, F2)
    both = dense.multiply(YF.T, F2)
    sums.FQF[:] += both + both.T + dense.multiply(F2.T, KF) - dense.multiply((YF + KF).T, dense.multiply(T, YF + KF))


@kernel
def _sandwich(L, N):  # type: ignore[no-untyped-def]
    """Overwrite the blocks of N with those of L N L', L lower triangular."""
    q, m = L.shape[0], N.shape[0]
    for top in range(0, m, q):
        for a in range(q - 1, -1, -1):
            row = N[top + a]
            for j in range(m):
                row[j] *= L[a, a]
            for k in range(a):
                factor, other = L[a, k], N[top + k]
                for j in range(m):
                    row[j] += factor * other[j]
    for i in range(m):
        row = N[i]
        for left in range(0, m, q):
            for a in range(q - 1, -1, -1):
                total = 0.0
                for k in range(a + 1):
                    total += row[left + k] * L[a, k]
                row[left + a] = total


@kernel
def _add_moments(Q, moments):  # type: ignore[no-untyped-def]
    """Add sum over the blocks of Q[i, j] Q[k, l]."""
    q, r = moments.shape[0], moments.shape[1]
    for top in range(0, Q.shape[0], q):
        for i in range(q):
            for k in range(i + 1):
                first, second = Q[top + i], Q[top + k]
                for j in range(r):
                    for l in range(r if k < i else j + 1):
                        total = 0.0
                        for left in range(0, Q.shape[1], r):
                            total += first[left + j] * second[left + l]
                        moments[i, j, k, l] += total
                        if k < i or l < j:
                            moments[k, l, i, j] += total


@kernel
def _add_own(Q, first, own):  # type: ignore[no-untyped-def]
    """Add the blocks that belong to one level, whose columns begin ``first`` places after the rows."""
    q = own.shape[0]
    for row in range(0, Q.shape[0], q):
        for i in range(q):
            for j in range(q):
                own[i, j] += Q[row + i, first + row + j]
