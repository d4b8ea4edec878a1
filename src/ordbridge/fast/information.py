"""A cheap approximation to the Hessian of the Laplace objective, from which BFGS starts.

Thresholds and coefficients: the Hessian of h with the random effects eliminated, as if H did not depend on them.
Entries of the Cholesky factors: the expected information of the linear mixed model with the same weights, level by
level,

    1/2 sum_g tr(P_g dS_a P_g dS_b),   dS_a = dL_a L' + L dL_a',   L' P_g L = I - N_gg,

(Harville 1977, J. Am. Stat. Assoc. 72, 320-338). The two groups are uncorrelated in expectation. BFGS needs about half
the evaluations with it that it needs from a diagonal guess.
"""

from __future__ import annotations

import numpy as np

from ordbridge.fast.blocks import solve
from ordbridge.fast.compiled import kernel, part
from ordbridge.fast.laplace import L_LO, L_UP, R_LO, R_UP, D, R

__all__ = ["SMALLEST", "information", "inverse_variance_part"]

SMALLEST = 0.01  # diagonals of L below it spoil the approximation
LEAST = 0.1  # information below it counts as this much


@kernel
def information(model, state):  # type: ignore[no-untyped-def]
    """Return the approximate Hessian at the last evaluation, for parameters in the order of :class:`Model`."""
    n_alpha, n_beta = model.jacobian.shape[1], model.X.shape[1]
    mean = n_alpha + n_beta
    out = np.zeros((mean + model.factor.size, mean + model.factor.size))
    _mean_part(model, state, out)
    traces = np.zeros(model.factor.size)
    entries = np.zeros((model.factor.size, model.factor.size))
    first, second = np.flatnonzero(model.factor == 0), np.flatnonzero(model.factor == 1)
    _add_variance_part(first, model.row, model.column, state.L1, state.factors.N11, entries, traces)
    _add_variance_part(second, model.row, model.column, state.L2, state.factors.N22, entries, traces)
    out[mean:, mean:] = entries
    return out


@part
def _mean_part(model, state, out):  # type: ignore[no-untyped-def]
    graph, rows = model.graph, state.rows
    cuts, n_alpha = model.jacobian.shape
    n_beta = model.X.shape[1]
    k = cuts + n_beta
    H = np.zeros((cuts + 2 + n_beta, cuts + 2 + n_beta))  # in the cut-points, with two at infinity, and beta
    cross1 = np.zeros((cuts + 2 + n_beta, state.u1.shape[0], state.u1.shape[1]))
    cross2 = np.zeros((cuts + 2 + n_beta, state.u2.shape[0], state.u2.shape[1]))
    for g in range(state.u1.shape[0]):
        for p in range(graph.pairs_of[g], graph.pairs_of[g + 1]):
            h = graph.partner[p]
            for i in range(graph.rows_of[p], graph.rows_of[p + 1]):
                low, up = model.y[i], model.y[i] + 1
                l_up, l_lo, r = rows[L_UP, i], rows[L_LO, i], rows[R, i]
                # r_up = ga - r ra and H_uu = ra^2 - ga, with ra = -l_up; r_lo = r rb - gb and H_ll = rb^2 + gb, rb =
                # l_lo
                H[up, up] += l_up * l_up - rows[R_UP, i] + r * l_up
                H[low, low] += l_lo * l_lo - rows[R_LO, i] + r * l_lo
                H[up, low] += l_up * l_lo
                H[low, up] += l_up * l_lo
                for a in range(state.zt1.shape[1]):
                    z = state.zt1[i, a]
                    cross1[up, g, a] += rows[R_UP, i] * z
                    cross1[low, g, a] += rows[R_LO, i] * z
                for a in range(state.zt2.shape[1]):
                    z = state.zt2[i, a]
                    cross2[up, h, a] += rows[R_UP, i] * z
                    cross2[low, h, a] += rows[R_LO, i] * z
                for j in range(n_beta):
                    x = model.X[i, j]
                    if x != 0.0:
                        H[cuts + 2 + j, up] += rows[R_UP, i] * x
                        H[cuts + 2 + j, low] += rows[R_LO, i] * x
                        for m in range(j + 1):
                            H[cuts + 2 + j, cuts + 2 + m] += rows[D, i] * x * model.X[i, m]
                        for a in range(state.zt1.shape[1]):
                            cross1[cuts + 2 + j, g, a] += rows[D, i] * x * state.zt1[i, a]
                        for a in range(state.zt2.shape[1]):
                            cross2[cuts + 2 + j, h, a] += rows[D, i] * x * state.zt2[i, a]
    keep = np.empty(k, dtype=np.int64)
    for j in range(cuts):
        keep[j] = j + 1
    for j in range(n_beta):
        keep[cuts + j] = cuts + 2 + j
    x1, x2 = np.empty_like(state.u1), np.empty_like(state.u2)
    G = np.empty((k, k))
    for j in range(k):
        x1[:] = cross1[keep[j]]
        x2[:] = cross2[keep[j]]
        solve(graph, state.factors, x1, x2)
        for m in range(j + 1):
            G[j, m] = H[keep[j], keep[m]] - np.sum(x1 * cross1[keep[m]]) - np.sum(x2 * cross2[keep[m]])
            G[m, j] = G[j, m]
    J = np.zeros((k, n_alpha + n_beta))
    J[:cuts, :n_alpha] = model.jacobian
    for j in range(n_beta):
        J[cuts + j, n_alpha + j] = 1.0
    out[: n_alpha + n_beta, : n_alpha + n_beta] = np.dot(np.dot(J.T, G), J)


@kernel
def inverse_variance_part(data, room):  # type: ignore[no-untyped-def]
    """Invert the part about the entries of a linear mixed model's L, sigma profiled out, at the last evaluation."""
    size = data.factor.size
    out, traces = np.zeros((size, size)), np.zeros(size)
    first, second = np.flatnonzero(data.factor == 0), np.flatnonzero(data.factor == 1)
    _add_variance_part(first, data.row, data.column, room.L1, room.factors.N11, out, traces)
    _add_variance_part(second, data.row, data.column, room.L2, room.factors.N22, out, traces)
    values, vectors = np.linalg.eigh(out - 0.5 / data.n * np.outer(traces, traces))
    return np.dot(vectors / np.maximum(values, LEAST), vectors.T)


@kernel
def _add_variance_part(free, row, column, L, N, out, traces):  # type: ignore[no-untyped-def]
    """Add the expected information about the free entries of one factor's L, and tr(P_g dS_a) to ``traces``."""
    q = L.shape[0]
    if q == 0:
        return
    inverse = np.linalg.inv(L)
    k = free.size
    dS = np.zeros((k, q, q))
    for j in range(k):
        for b in range(q):
            dS[j, row[free[j]], b] += L[b, column[free[j]]]
            dS[j, b, row[free[j]]] += L[b, column[free[j]]]
    # in the coordinates of u: L' P L = I - N and dT = L^-1 dS L'^-1
    dT = np.empty((k, q, q))
    for j in range(k):
        dT[j] = np.dot(np.dot(inverse, dS[j]), inverse.T)
    PdS = np.empty((k, q, q))
    for g in range(N.shape[0]):
        for j in range(k):
            for a in range(q):
                for b in range(q):
                    total = dT[j, a, b]
                    for c in range(q):
                        total -= N[g, a, c] * dT[j, c, b]
                    PdS[j, a, b] = total
                traces[free[j]] += PdS[j, a, a]
        for i in range(k):
            for j in range(i + 1):
                total = 0.0
                for a in range(q):
                    for b in range(q):
                        total += PdS[i, a, b] * PdS[j, b, a]
                out[free[i], free[j]] += 0.5 * total
    for i in range(k):
        for j in range(i):
            out[free[j], free[i]] = out[free[i], free[j]]
