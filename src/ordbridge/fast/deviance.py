"""The profiled deviance of a linear mixed model with one or two crossed grouping factors, with its exact gradient.

With V = I + Z L L' Z' (relative to sigma^2), H = I + L' Z'Z L, A = X' V^-1 X and r^2 = min over beta, u of
|y - X beta - Z L u|^2 + |u|^2, the criteria are (Bates, Maechler, Bolker & Walker 2015, eq. 39 and 42)

    ML:    log det H + n (1 + log(2 pi r^2 / n))
    REML:  log det H + log det A + (n - p) (1 + log(2 pi r^2 / (n - p))).

Everything depends on the data through cross-products of Z, X and y, so an evaluation costs the same for any number of
rows. Derivatives in L, with u the minimiser, e = y - X beta - Z L u, C = H^-1 L' Z' X and W = V^-1 X = X - Z L C:

    d log det H = 2 <Z'Z L H^-1, dL>,   d r^2 = -2 <Z'e u', dL>,   d log det A = -2 <sum over j, k of A^-1_jk Z'W_j
    C_k', dL>.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ordbridge.fast import dense
from ordbridge.fast.blocks import (
    Factors,
    allocate,
    cross_products,
    diagonal_inverse,
    factorise,
    selected_inverse,
    solve,
    transform,
)
from ordbridge.fast.compiled import kernel, part
from ordbridge.fast.structure import Graph, Structure

__all__ = ["CrossProducts", "Room", "add_scaled", "cross_products_of", "deviance", "new_room", "residual_sums"]

REGULAR = 1e-3  # diagonals of L above it allow a shorter way to the gradient


class CrossProducts(NamedTuple):
    """All that the deviance needs of the data; X has orthonormal columns and y is orthogonal to them."""

    graph: Graph
    M11: np.ndarray
    M12: np.ndarray
    M22: np.ndarray
    Zx1: np.ndarray  # (p + 1) × levels × q: Z'X column by column, and Z'y last
    Zx2: np.ndarray
    n: int
    yy: float
    factor: np.ndarray  # where the free entries of L1 and L2 are
    row: np.ndarray
    column: np.ndarray


class Room(NamedTuple):
    """Room for what an evaluation leaves behind."""

    factors: Factors
    L1: np.ndarray
    L2: np.ndarray
    T11: np.ndarray  # L' Z'Z L
    T12: np.ndarray
    T22: np.ndarray
    C1: np.ndarray  # H^-1 L' Z' (X, y)
    C2: np.ndarray
    u1: np.ndarray
    u2: np.ndarray
    A: np.ndarray
    gamma: np.ndarray  # coefficients of the orthonormal columns
    parts: np.ndarray  # gradients of log det H, r^2 and log det A in the free entries
    values: np.ndarray  # log det H, r^2, log det A


def new_room(structure: Structure, data: CrossProducts) -> Room:
    """Room for evaluations on these cross-products."""
    J1, J2 = structure.levels
    q1, q2, columns = structure.z1.shape[1], structure.z2.shape[1], data.Zx1.shape[0]
    return Room(
        factors=allocate(structure),
        L1=np.zeros((q1, q1)),
        L2=np.zeros((q2, q2)),
        T11=np.empty_like(data.M11),
        T12=np.empty_like(data.M12),
        T22=np.empty_like(data.M22),
        C1=np.empty((columns, J1, q1)),
        C2=np.empty((columns, J2, q2)),
        u1=np.zeros((J1, q1)),
        u2=np.zeros((J2, q2)),
        A=np.empty((columns - 1, columns - 1)),
        gamma=np.empty(columns - 1),
        parts=np.zeros((3, data.factor.size)),
        values=np.zeros(3),
    )


@kernel
def cross_products_of(graph, z1, z2, columns, Zx1, Zx2, M11, M12, M22):  # type: ignore[no-untyped-def]
    """Fill the cross-products of the sorted rows; ``columns`` (n × (p + 1)) holds X and y."""
    cross_products(graph, z1, z2, np.ones(z1.shape[0]), M11, M12, M22)
    Zx1[:] = 0.0
    Zx2[:] = 0.0
    for g in range(M11.shape[0]):
        for p in range(graph.pairs_of[g], graph.pairs_of[g + 1]):
            h = graph.partner[p]
            for i in range(graph.rows_of[p], graph.rows_of[p + 1]):
                for j in range(columns.shape[1]):
                    w = columns[i, j]
                    for a in range(z1.shape[1]):
                        Zx1[j, g, a] += w * z1[i, a]
                    for a in range(z2.shape[1]):
                        Zx2[j, h, a] += w * z2[i, a]


@kernel
def _transposed(L, x, out):  # type: ignore[no-untyped-def]
    q = L.shape[0]
    for g in range(x.shape[0]):
        for a in range(q):
            total = 0.0
            for k in range(a, q):
                total += L[k, a] * x[g, k]
            out[g, a] = total


@kernel
def residual_sums(data, room, j, c1, c2, out1, out2):  # type: ignore[no-untyped-def]
    """Set ``out`` to Z'(x - Z L c) for the column whose cross-product is Zx[j], given Z L c through c."""
    graph = data.graph
    b1, b2 = np.dot(c1, room.L1.T), np.dot(c2, room.L2.T)
    for g in range(b1.shape[0]):
        for a in range(b1.shape[1]):
            total = data.Zx1[j, g, a]
            for k in range(b1.shape[1]):
                total -= data.M11[g, a, k] * b1[g, k]
            for p in range(graph.pairs_of[g], graph.pairs_of[g + 1]):
                for k in range(b2.shape[1]):
                    total -= data.M12[p, a, k] * b2[graph.partner[p], k]
            out1[g, a] = total
    for h in range(b2.shape[0]):
        for a in range(b2.shape[1]):
            total = data.Zx2[j, h, a]
            for k in range(b2.shape[1]):
                total -= data.M22[h, a, k] * b2[h, k]
            out2[h, a] = total
    for g in range(b1.shape[0]):
        for p in range(graph.pairs_of[g], graph.pairs_of[g + 1]):
            for a in range(b2.shape[1]):
                for k in range(b1.shape[1]):
                    out2[graph.partner[p], a] -= data.M12[p, k, a] * b1[g, k]


@part
def _summed_products(M, N):  # type: ignore[no-untyped-def]
    """Return sum over blocks of M[a, b] N[k, l], from which products M L N are made for any L."""
    q, r = M.shape[1], M.shape[2]
    return dense.multiply(M.reshape(-1, q * r).T, N.reshape(-1, q * r)).reshape(q, r, q, r)


@kernel
def _invertible(L):  # type: ignore[no-untyped-def]
    smallest = math.inf
    for a in range(L.shape[0]):
        smallest = min(smallest, abs(L[a, a]))
    return smallest > REGULAR


@kernel
def _add_identity_less(N, G):  # type: ignore[no-untyped-def]
    """Add sum over levels of I - N_g to G."""
    for g in range(N.shape[0]):
        for a in range(N.shape[1]):
            for b in range(N.shape[1]):
                G[a, b] -= N[g, a, b]
            G[a, a] += 1.0


@kernel
def _solve_transposed(L, G):  # type: ignore[no-untyped-def]
    """Overwrite G with L'^-1 G."""
    q = L.shape[0]
    for a in range(q - 1, -1, -1):
        for b in range(q):
            for k in range(a + 1, q):
                G[a, b] -= L[k, a] * G[k, b]
            G[a, b] /= L[a, a]


@part
def _log_determinant_gradient(data, room, G1, G2):  # type: ignore[no-untyped-def]
    """Add sum of M L N over levels and pairs, half the gradient of log det H in L1 and L2, to G1 and G2."""
    f, L1, L2 = room.factors, room.L1, room.L2
    q1, q2 = L1.shape[0], L2.shape[0]
    own1 = _summed_products(data.M11, f.N11)
    if q2 > 0:
        both, own2 = _summed_products(data.M12, f.N12), _summed_products(data.M22, f.N22)
    else:
        both, own2 = np.empty((q1, 0, q1, 0)), np.empty((0, 0, 0, 0))
    for a in range(q1):
        for k in range(q1):
            for b in range(q1):
                for l in range(q1):
                    G1[a, l] += own1[a, b, k, l] * L1[b, k]
            for b in range(q2):
                for l in range(q2):
                    G1[a, k] += both[a, b, k, l] * L2[b, l]
                    G2[b, l] += both[a, b, k, l] * L1[a, k]
    for a in range(q2):
        for k in range(q2):
            for b in range(q2):
                for l in range(q2):
                    G2[a, l] += own2[a, b, k, l] * L2[b, k]


@part
def _store(data, G1, G2, out):  # type: ignore[no-untyped-def]
    for k in range(data.factor.size):
        if data.factor[k] == 0:
            out[k] = 2.0 * G1[data.row[k], data.column[k]]
        else:
            out[k] = 2.0 * G2[data.row[k], data.column[k]]


@kernel
def _inner(a, b):  # type: ignore[no-untyped-def]
    total = 0.0
    for g in range(a.shape[0]):
        for k in range(a.shape[1]):
            total += a[g, k] * b[g, k]
    return total


@kernel
def add_scaled(a, factor, b):  # type: ignore[no-untyped-def]
    """Add factor * b to a, in place."""
    for g in range(a.shape[0]):
        for k in range(a.shape[1]):
            a[g, k] += factor * b[g, k]


@kernel
def deviance(data, room, entries, reml, gradient):  # type: ignore[no-untyped-def]
    """Return half the profiled deviance and fill its gradient; inf where V is numerically singular."""
    L1, L2, f, A = room.L1, room.L2, room.factors, room.A
    p = data.Zx1.shape[0] - 1
    for k in range(entries.size):
        if data.factor[k] == 0:
            L1[data.row[k], data.column[k]] = entries[k]
        else:
            L2[data.row[k], data.column[k]] = entries[k]
    transform(L1, L2, data.M11, data.M12, data.M22, room.T11, room.T12, room.T22)
    logdet = factorise(data.graph, room.T11, room.T12, room.T22, f)
    if logdet != logdet:
        return math.inf
    right1, right2 = np.empty_like(room.C1), np.empty_like(room.C2)
    for j in range(p + 1):
        _transposed(L1, data.Zx1[j], right1[j])
        _transposed(L2, data.Zx2[j], right2[j])
        _transposed(L1, data.Zx1[j], room.C1[j])
        _transposed(L2, data.Zx2[j], room.C2[j])
        solve(data.graph, f, room.C1[j], room.C2[j])
    b, inverse, factor = np.empty(p), np.empty((p, p)), np.empty((p, p))
    for j in range(p):
        for k in range(p):
            A[j, k] = -_inner(right1[j], room.C1[k]) - _inner(right2[j], room.C2[k])
        A[j, j] += 1.0
        b[j] = -_inner(right1[j], room.C1[p]) - _inner(right2[j], room.C2[p])
    factor[:] = A
    if not dense.cholesky(factor):
        return math.inf
    dense.inverse(factor, inverse)
    r2 = data.yy - _inner(right1[p], room.C1[p]) - _inner(right2[p], room.C2[p])
    logdet_A = 0.0
    room.u1[:] = room.C1[p]
    room.u2[:] = room.C2[p]
    for j in range(p):
        logdet_A += 2.0 * math.log(factor[j, j])
        gamma = 0.0
        for k in range(p):
            gamma += inverse[j, k] * b[k]
        room.gamma[j] = gamma
        r2 -= gamma * b[j]
        add_scaled(room.u1, -gamma, room.C1[j])
        add_scaled(room.u2, -gamma, room.C2[j])
    if not r2 > 0.0:
        return math.inf
    _gradients(data, room, inverse, reml)
    room.values[0], room.values[1], room.values[2] = logdet, r2, logdet_A
    freedom = data.n - p if reml else data.n
    value = logdet + freedom * (1.0 + math.log(2.0 * math.pi * r2 / freedom))
    for k in range(entries.size):
        gradient[k] = 0.5 * (room.parts[0, k] + freedom / r2 * room.parts[1, k])
        if reml:
            gradient[k] += 0.5 * room.parts[2, k]
    return 0.5 * (value + logdet_A if reml else value)


@kernel
def _add_outer(e, u, factor, out):  # type: ignore[no-untyped-def]
    """Add factor * sum over levels of e_g u_g' to ``out``."""
    for g in range(e.shape[0]):
        for a in range(e.shape[1]):
            for b in range(u.shape[1]):
                out[a, b] += factor * e[g, a] * u[g, b]


@part
def _gradients(data, room, inverse, reml):  # type: ignore[no-untyped-def]
    """Fill the gradients of log det H, r^2 and log det A in the free entries.

    Where L can be inverted, L'Z'Z L N = I - N, L'Z'e = u and L'Z'W = C give them without the cross-products of Z.
    """
    regular = _invertible(room.L1) and _invertible(room.L2)
    p = inverse.shape[0]
    e1, e2 = np.empty_like(room.u1), np.empty_like(room.u2)
    for which in range(3 if reml else 2):
        G1, G2 = np.zeros_like(room.L1), np.zeros_like(room.L2)
        if which == 0 and regular:
            diagonal_inverse(data.graph, room.factors)
            _add_identity_less(room.factors.N11, G1)
            _add_identity_less(room.factors.N22, G2)
        elif which == 0:
            selected_inverse(data.graph, room.factors)
            _log_determinant_gradient(data, room, G1, G2)
        elif which == 1:
            e1[:] = room.u1
            e2[:] = room.u2
            if not regular:
                residual_sums(data, room, p, room.u1, room.u2, e1, e2)
                for j in range(p):  # y - X gamma
                    add_scaled(e1, -room.gamma[j], data.Zx1[j])
                    add_scaled(e2, -room.gamma[j], data.Zx2[j])
            _add_outer(e1, room.u1, -1.0, G1)
            _add_outer(e2, room.u2, -1.0, G2)
        else:
            for j in range(p):
                e1[:] = room.C1[j]
                e2[:] = room.C2[j]
                if not regular:
                    residual_sums(data, room, j, room.C1[j], room.C2[j], e1, e2)
                for k in range(p):
                    _add_outer(e1, room.C1[k], -inverse[j, k], G1)
                    _add_outer(e2, room.C2[k], -inverse[j, k], G2)
        if regular:
            _solve_transposed(room.L1, G1)
            _solve_transposed(room.L2, G2)
        _store(data, G1, G2, room.parts[which])
