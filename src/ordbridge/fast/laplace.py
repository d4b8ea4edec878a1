"""The Laplace approximation to the likelihood of a cumulative link mixed model, with its exact gradient.

With u the standardised random effects (b = L u per level), l_i = -log pi_i the loss of row i and eta_i = x_i' beta +
z1_i' L1 u1 + z2_i' L2 u2, the objective is

    f = h(u^) + 1/2 log det H,   h(u) = sum l_i + 1/2 u'u,   u^ = argmin h,   H = I + Z~' D Z~,   D = diag(d_i),

where r_i, d_i, c_i are the first, second and third derivative of l_i in eta_i (Pinheiro & Bates 1995; Christensen 2019
for ordinal::clmm, which minimises the same f). Total derivatives go through u^; with s_i = z~_i' H^-1 z~_i,

    df = sum (r_i + s_i c_i / 2 - v_i d_i) d eta_i                                    (explicit change of eta)
       + sum (dl_i + s_i dd_i / 2 - v_i dr_i) / d cut-point                           (thresholds)
       + sum_i z1_i' dL1 (d_i (N z~_i)_1 - r_i a_g)                                   (change of Z~; L2 alike)

with a = N Z~' (s c / 2), v = Z~ a, and N = H^-1 where :mod:`ordbridge.fast.blocks` has it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ordbridge.fast.blocks import (
    Factors,
    allocate,
    cross_products,
    factorise,
    selected_inverse,
    solve,
)
from ordbridge.fast.compiled import kernel, part
from ordbridge.fast.links import interval_terms
from ordbridge.fast.structure import Graph, Structure

__all__ = ["Model", "State", "evaluate", "new_state", "tangent", "unpack"]


NEWTON_STEPS = 60
HALVINGS = 40


class Model(NamedTuple):
    """The data of one fit, rows sorted as the structure sorts them.

    The parameters are, in this order: the thresholds' parameters alpha (cut-points = jacobian @ alpha), beta, and the
    free entries of L1 and L2, listed by factor (0, 1), row and column.
    """

    graph: Graph
    link: int
    y: np.ndarray  # category of each row, from 0
    X: np.ndarray
    z1: np.ndarray
    z2: np.ndarray
    jacobian: np.ndarray
    factor: np.ndarray
    row: np.ndarray
    column: np.ndarray


class State(NamedTuple):
    """Room for everything that an evaluation leaves behind; ``u1`` and ``u2`` are the modes, and the next start."""

    factors: Factors
    u1: np.ndarray
    u2: np.ndarray
    du1: np.ndarray
    du2: np.ndarray
    L1: np.ndarray
    L2: np.ndarray
    zt1: np.ndarray  # rows L1' z1_i
    zt2: np.ndarray
    M11: np.ndarray
    M12: np.ndarray
    M22: np.ndarray
    rows: np.ndarray  # 10 × n, named below


# rows of State.rows: X beta; derivatives of the loss in eta; of loss, r and d in the upper and lower cut-point
FIXED, R, D, C, L_UP, L_LO, R_UP, R_LO, D_UP, D_LO = range(10)


def new_state(structure: Structure) -> State:
    """Room for evaluations on this structure, with modes at zero."""
    J1, J2 = structure.levels
    q1, q2 = structure.z1.shape[1], structure.z2.shape[1]
    return State(
        factors=allocate(structure),
        u1=np.zeros((J1, q1)),
        u2=np.zeros((J2, q2)),
        du1=np.zeros((J1, q1)),
        du2=np.zeros((J2, q2)),
        L1=np.zeros((q1, q1)),
        L2=np.zeros((q2, q2)),
        zt1=np.empty_like(structure.z1),
        zt2=np.empty_like(structure.z2),
        M11=np.empty((J1, q1, q1)),
        M12=np.empty((structure.graph.partner.size, q1, q2)),
        M22=np.empty((J2, q2, q2)),
        rows=np.empty((10, structure.order.size)),
    )


@kernel
def unpack(model, parameters, L1, L2):  # type: ignore[no-untyped-def]
    """Set L1 and L2; return the cut-points between -inf and inf, and X beta."""
    cuts, n_alpha = model.jacobian.shape
    edges = np.empty(cuts + 2)
    edges[0], edges[cuts + 1] = -math.inf, math.inf
    for k in range(cuts):
        edges[k + 1] = 0.0
        for a in range(n_alpha):
            edges[k + 1] += model.jacobian[k, a] * parameters[a]
    n, p = model.X.shape
    fixed = np.zeros(n)
    for j in range(p):
        beta = parameters[n_alpha + j]
        for i in range(n):
            fixed[i] += model.X[i, j] * beta
    L1[:] = 0.0
    L2[:] = 0.0
    for k in range(model.factor.size):
        value = parameters[n_alpha + p + k]
        if model.factor[k] == 0:
            L1[model.row[k], model.column[k]] = value
        else:
            L2[model.row[k], model.column[k]] = value
    return edges, fixed


@kernel
def _transposed_times(L, z, out):  # type: ignore[no-untyped-def]
    """Fill ``out`` with L' z_i for every row i."""
    q = L.shape[0]
    for i in range(z.shape[0]):
        for a in range(q):
            total = 0.0
            for k in range(a, q):
                total += L[k, a] * z[i, k]
            out[i, a] = total


@kernel
def _losses(model, state, edges):  # type: ignore[no-untyped-def]
    """Fill the rows' derivatives at u and return h(u); inf where a rating is impossible."""
    graph, rows, u1, u2, zt1, zt2 = model.graph, state.rows, state.u1, state.u2, state.zt1, state.zt2
    value = 0.5 * (np.sum(u1 * u1) + np.sum(u2 * u2))
    for g in range(u1.shape[0]):
        for p in range(graph.pairs_of[g], graph.pairs_of[g + 1]):
            h = graph.partner[p]
            for i in range(graph.rows_of[p], graph.rows_of[p + 1]):
                eta = rows[FIXED, i]
                for a in range(zt1.shape[1]):
                    eta += zt1[i, a] * u1[g, a]
                for a in range(zt2.shape[1]):
                    eta += zt2[i, a] * u2[h, a]
                upper, lower = edges[model.y[i] + 1] - eta, edges[model.y[i]] - eta
                log_pi, ra, rb, ga, gb, ha, hb = interval_terms(model.link, upper, lower)
                if not log_pi > -math.inf:
                    return math.inf
                value -= log_pi
                r, g_, h_ = ra - rb, ga - gb, ha - hb
                r_up, r_lo = ga - r * ra, r * rb - gb
                rows[R, i] = r
                rows[D, i] = r * r - g_
                rows[C, i] = 2.0 * r * r * r - 3.0 * r * g_ + h_
                rows[L_UP, i] = -ra
                rows[L_LO, i] = rb
                rows[R_UP, i] = r_up
                rows[R_LO, i] = r_lo
                rows[D_UP, i] = 2.0 * r * r_up - ha + g_ * ra
                rows[D_LO, i] = 2.0 * r * r_lo + hb - g_ * rb
    return value


@kernel
def _row_sums(graph, z1, z2, weights, sum1, sum2):  # type: ignore[no-untyped-def]
    """Add each level's sum of weights_i z_i to ``sum1`` and ``sum2``."""
    for g in range(sum1.shape[0]):
        for p in range(graph.pairs_of[g], graph.pairs_of[g + 1]):
            h = graph.partner[p]
            for i in range(graph.rows_of[p], graph.rows_of[p + 1]):
                for a in range(z1.shape[1]):
                    sum1[g, a] += weights[i] * z1[i, a]
                for a in range(z2.shape[1]):
                    sum2[h, a] += weights[i] * z2[i, a]


@part
def _factorise_at(model, state):  # type: ignore[no-untyped-def]
    cross_products(model.graph, state.zt1, state.zt2, state.rows[D], state.M11, state.M12, state.M22)
    return factorise(model.graph, state.M11, state.M12, state.M22, state.factors)


@part
def _largest(x1, x2):  # type: ignore[no-untyped-def]
    size = 0.0
    for value in x1.flat:
        size = max(size, abs(value))
    for value in x2.flat:
        size = max(size, abs(value))
    return size


@part
def _find_modes(model, state, edges, settled):  # type: ignore[no-untyped-def]
    """Newton's method for u^ from the present u; return f, inf if there is no mode, with H factored there.

    A step shorter than ``settled`` is the last one (what then remains is of the order of its square); one shorter than
    ``settled`` squared is not taken but left in (du1, du2), for a correction of first order.
    """
    u1, u2, step1, step2 = state.u1, state.u2, state.du1, state.du2
    value = _losses(model, state, edges)
    if not value < math.inf:  # the start was too far out for this parameter vector
        u1[:] = 0.0
        u2[:] = 0.0
        value = _losses(model, state, edges)
        if not value < math.inf:
            return math.inf
    for _ in range(NEWTON_STEPS):
        logdet = _factorise_at(model, state)
        if logdet != logdet:  # far from the mode of a link that is not log-concave: leave out negative curvature
            for i in range(state.rows.shape[1]):
                state.rows[D, i] = max(state.rows[D, i], 0.0)
            _factorise_at(model, state)
        step1[:] = u1
        step2[:] = u2
        _row_sums(model.graph, state.zt1, state.zt2, state.rows[R], step1, step2)
        solve(model.graph, state.factors, step1, step2)
        size = _largest(step1, step2)
        if size < settled * settled and logdet == logdet:
            return value + 0.5 * logdet
        u1 -= step1
        u2 -= step2
        tried = _losses(model, state, edges)
        shrink, halvings = 1.0, 0
        while not tried <= value + 1e-11 * abs(value) and halvings < HALVINGS:
            shrink *= 0.5
            u1 += shrink * step1
            u2 += shrink * step2
            tried = _losses(model, state, edges)
            halvings += 1
        if not tried < math.inf:
            return math.inf
        value = tried
        if size < settled:
            step1[:] = 0.0
            step2[:] = 0.0
            logdet = _factorise_at(model, state)
            return value + 0.5 * logdet if logdet == logdet else math.inf
    return math.inf


@kernel
def _leverages(model, state, s, G1, G2):  # type: ignore[no-untyped-def]
    """Set s_i = z~_i' N z~_i and add sum d_i z_i (N z~_i)' to G1 and G2: the part of the gradient through Z~."""
    graph, f, zt1, zt2 = model.graph, state.factors, state.zt1, state.zt2
    q1, q2 = zt1.shape[1], zt2.shape[1]
    k1, k2 = np.empty(q1), np.empty(q2)
    for g in range(f.N11.shape[0]):
        for p in range(graph.pairs_of[g], graph.pairs_of[g + 1]):
            h = graph.partner[p]
            for i in range(graph.rows_of[p], graph.rows_of[p + 1]):
                total = 0.0
                for a in range(q1):
                    k1[a] = 0.0
                    for b in range(q1):
                        k1[a] += f.N11[g, a, b] * zt1[i, b]
                    for b in range(q2):
                        k1[a] += f.N12[p, a, b] * zt2[i, b]
                    total += zt1[i, a] * k1[a]
                for a in range(q2):
                    k2[a] = 0.0
                    for b in range(q1):
                        k2[a] += f.N12[p, b, a] * zt1[i, b]
                    for b in range(q2):
                        k2[a] += f.N22[h, a, b] * zt2[i, b]
                    total += zt2[i, a] * k2[a]
                s[i] = total
                for a in range(q1):
                    w = state.rows[D, i] * model.z1[i, a]
                    for b in range(a + 1):
                        G1[a, b] += w * k1[b]
                for a in range(q2):
                    w = state.rows[D, i] * model.z2[i, a]
                    for b in range(a + 1):
                        G2[a, b] += w * k2[b]


@part
def _gradient(model, state, gradient):  # type: ignore[no-untyped-def]
    """Fill the gradient; return the change of 1/2 log det H over the Newton step that was not taken."""
    graph, rows, zt1, zt2, u1, u2 = model.graph, state.rows, state.zt1, state.zt2, state.u1, state.u2
    n, n_beta = model.X.shape
    cuts, n_alpha = model.jacobian.shape
    G1, G2 = np.zeros_like(state.L1), np.zeros_like(state.L2)
    s = np.empty(n)
    selected_inverse(graph, state.factors)
    _leverages(model, state, s, G1, G2)
    a1, a2 = np.zeros_like(u1), np.zeros_like(u2)
    _row_sums(graph, zt1, zt2, 0.5 * s * rows[C], a1, a2)
    untaken = -np.sum(a1 * state.du1) - np.sum(a2 * state.du2)
    solve(graph, state.factors, a1, a2)
    edge = np.zeros(cuts + 2)
    gradient[:] = 0.0
    for g in range(u1.shape[0]):
        for p in range(graph.pairs_of[g], graph.pairs_of[g + 1]):
            h = graph.partner[p]
            for i in range(graph.rows_of[p], graph.rows_of[p + 1]):
                v = 0.0
                for a in range(zt1.shape[1]):
                    v += zt1[i, a] * a1[g, a]
                for a in range(zt2.shape[1]):
                    v += zt2[i, a] * a2[h, a]
                half, r = 0.5 * s[i], rows[R, i]
                e = r + half * rows[C, i] - v * rows[D, i]
                edge[model.y[i] + 1] += rows[L_UP, i] + half * rows[D_UP, i] - v * rows[R_UP, i]
                edge[model.y[i]] += rows[L_LO, i] + half * rows[D_LO, i] - v * rows[R_LO, i]
                for j in range(n_beta):
                    gradient[n_alpha + j] += e * model.X[i, j]
                for a in range(zt1.shape[1]):
                    z = model.z1[i, a]
                    for b in range(a + 1):
                        G1[a, b] += z * (e * u1[g, b] - r * a1[g, b])
                for a in range(zt2.shape[1]):
                    z = model.z2[i, a]
                    for b in range(a + 1):
                        G2[a, b] += z * (e * u2[h, b] - r * a2[h, b])
    for a in range(n_alpha):
        for k in range(cuts):
            gradient[a] += model.jacobian[k, a] * edge[k + 1]
    for k in range(model.factor.size):
        G = G1 if model.factor[k] == 0 else G2
        gradient[n_alpha + n_beta + k] = G[model.row[k], model.column[k]]
    return untaken


@kernel
def evaluate(model, state, parameters, gradient, settled):  # type: ignore[no-untyped-def]
    """Return f and fill its gradient; inf (and no gradient) where the parameters allow no likelihood.

    ``settled`` says how closely the modes are found: to its square.
    """
    edges, fixed = unpack(model, parameters, state.L1, state.L2)
    for k in range(1, edges.size - 2):
        if not edges[k + 1] > edges[k]:
            return math.inf
    state.rows[FIXED] = fixed
    _transposed_times(state.L1, model.z1, state.zt1)
    _transposed_times(state.L2, model.z2, state.zt2)
    value = _find_modes(model, state, edges, settled)
    if not value < math.inf:
        return math.inf
    return value + _gradient(model, state, gradient)


@kernel
def tangent(model, state, direction):  # type: ignore[no-untyped-def]
    """Set (du1, du2) to the change of the modes per unit step along ``direction``, from the last evaluation.

    Differentiating u^ + Z~' r = 0 gives H du = -(Z~' dr + dZ~' r) with dr_i = d_i d eta_i + (dr_i / d cut-point) d
    cut-point.
    """
    dL1, dL2 = np.empty_like(state.L1), np.empty_like(state.L2)
    edges, change = unpack(model, direction, dL1, dL2)
    edges[0], edges[edges.size - 1] = 0.0, 0.0
    graph, rows, du1, du2 = model.graph, state.rows, state.du1, state.du2
    dz1, dz2 = np.empty_like(state.zt1), np.empty_like(state.zt2)
    _transposed_times(dL1, model.z1, dz1)
    _transposed_times(dL2, model.z2, dz2)
    for g in range(du1.shape[0]):
        for p in range(graph.pairs_of[g], graph.pairs_of[g + 1]):
            h = graph.partner[p]
            for i in range(graph.rows_of[p], graph.rows_of[p + 1]):
                eta = change[i]
                for a in range(dz1.shape[1]):
                    eta += dz1[i, a] * state.u1[g, a]
                for a in range(dz2.shape[1]):
                    eta += dz2[i, a] * state.u2[h, a]
                upper, lower = edges[model.y[i] + 1], edges[model.y[i]]
                change[i] = -(rows[D, i] * eta + rows[R_UP, i] * upper + rows[R_LO, i] * lower)
    du1[:] = 0.0
    du2[:] = 0.0
    _row_sums(graph, state.zt1, state.zt2, change, du1, du2)
    _row_sums(graph, dz1, dz2, -rows[R], du1, du2)
    solve(graph, state.factors, du1, du2)
