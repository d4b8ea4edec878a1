"""Elimination by blocks against dense matrices, for connected and unconnected, sparse and full designs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from dense_reference import design_matrix

from ordbridge.fast import blocks, dense
from ordbridge.fast.blocks import allocate, cross_products, factorise, selected_inverse, transform
from ordbridge.fast.structure import Structure

CASES = {
    "two components, sparse": (
        2,
        (2, 3),
        lambda rng: [
            np.r_[rng.integers(0, 20, 60), rng.integers(20, 41, 60)],
            np.r_[rng.integers(0, 15, 60), rng.integers(15, 37, 60)],
        ],
    ),
    "one full component": (2, (2, 2), lambda rng: [np.repeat(np.arange(12), 10), np.tile(np.arange(10), 12)]),
    "scalar effects": (2, (1, 1), lambda rng: [rng.integers(0, 9, 120), rng.integers(0, 30, 120)]),
    "one factor": (1, (3,), lambda rng: [rng.integers(0, 14, 120)]),
    "repeated pairs": (2, (3, 1), lambda rng: [np.repeat(np.arange(4), 30), np.tile(np.arange(3), 40)]),
    "large component": (
        2,
        (2, 2),
        lambda rng: [rng.permutation(np.repeat(np.arange(70), 10)), rng.permutation(np.repeat(np.arange(70), 10))],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_elimination_gives_the_dense_answers(name: str) -> None:
    rng = np.random.default_rng(3)
    _, sizes, make = CASES[name]
    groups = [np.unique(g, return_inverse=True)[1] for g in make(rng)]
    n = groups[0].size
    Z = [rng.normal(size=(n, q)) for q in sizes]
    L = [np.tril(rng.normal(size=(q, q))) for q in sizes]
    d = rng.uniform(0.1, 1, n)
    Zt = design_matrix(groups, Z, L)
    H = np.eye(Zt.shape[1]) + Zt.T @ (d[:, None] * Zt)
    inverse = np.linalg.inv(H)

    structure = Structure.build(groups, Z)
    own = (L[::-1] if structure.swapped else L) + [np.empty((0, 0))]
    factors = allocate(structure)
    M = [np.empty_like(part) for part in (factors.N11, factors.N12, factors.N22)]
    cross_products(structure.graph, structure.z1, structure.z2, d[structure.order], *M)
    T = [np.empty_like(part) for part in M]
    transform(own[0], own[1], *M, *T)
    logdet = factorise(structure.graph, *T, factors)
    assert logdet == pytest.approx(np.linalg.slogdet(H)[1], rel=1e-12)

    sizes_of = [(g.max() + 1, q) for g, q in zip(groups, sizes, strict=True)]
    right = rng.normal(size=H.shape[0])
    parts, at = [], 0
    for levels, q in sizes_of:
        parts.append(right[at : at + levels * q].reshape(levels, q))
        at += levels * q
    ordered = (parts[::-1] if structure.swapped else parts) + [np.empty((0, 0))]
    x1 = np.ascontiguousarray(ordered[0][structure.level1])
    x2 = np.ascontiguousarray(ordered[1][structure.level2]) if len(parts) == 2 else np.empty((0, 0))
    blocks.solve(structure.graph, factors, x1, x2)
    found = np.concatenate([part.ravel() for part in structure.unsort(x1, x2)])
    np.testing.assert_allclose(found, np.linalg.solve(H, right), rtol=1e-9, atol=1e-11)

    selected_inverse(structure.graph, factors)
    at = 0
    offsets = []
    for (levels, q), found_blocks in zip(sizes_of, structure.unsort(factors.N11, factors.N22), strict=True):
        offsets.append(at)
        for level in range(levels):
            own_rows = slice(at + level * q, at + (level + 1) * q)
            np.testing.assert_allclose(found_blocks[level], inverse[own_rows, own_rows], rtol=1e-9, atol=1e-12)
        at += levels * q
    if len(groups) == 2:
        first, second = (1, 0) if structure.swapped else (0, 1)
        q1, q2 = sizes[first], sizes[second]
        graph = structure.graph
        for g in range(structure.levels[0]):
            for p in range(graph.pairs_of[g], graph.pairs_of[g + 1]):
                row = offsets[first] + structure.level1[g] * q1
                column = offsets[second] + structure.level2[graph.partner[p]] * q2
                expected = inverse[row : row + q1, column : column + q2]
                np.testing.assert_allclose(factors.N12[p], expected, rtol=1e-9, atol=1e-12)


def test_unconnected_designs_fall_into_components() -> None:
    raters, items = np.repeat(np.arange(6), 4), np.repeat([0, 1, 2], 8) * 2 + np.tile([0, 1], 12)
    one = np.ones((24, 1))
    structure = Structure.build([raters, items], [one, one])
    assert structure.components == 3
    assert structure.graph.dense.all()
    assert sorted(structure.order.tolist()) == list(range(24))


@pytest.mark.parametrize("m", [1, 2, 7, 40, 96, 97, 150])
def test_dense_kernels_agree_with_lapack(m: int) -> None:
    rng = np.random.default_rng(m)
    B = rng.normal(size=(m, m + 3))
    A = B @ B.T / m + np.eye(m)
    L, out, x = A.copy(), np.empty_like(A), rng.normal(size=m)
    solution = x.copy()
    assert dense.cholesky(L)
    dense.inverse(L, out)
    dense.solve(L, solution)
    np.testing.assert_allclose(np.tril(L), np.linalg.cholesky(A), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(out, np.linalg.inv(A), rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(A @ solution, x, rtol=1e-9, atol=1e-11)


def test_cholesky_says_when_a_matrix_is_not_positive_definite() -> None:
    for m in (3, 120):
        A = np.eye(m)
        A[m - 1, m - 1] = -1.0
        assert not dense.cholesky(A)


@pytest.mark.parametrize("shape", [(3, 4, 5), (300, 20, 70), (50, 700, 90), (260, 130, 270)])
def test_products_in_pieces_are_products(shape: tuple[int, int, int]) -> None:
    rng = np.random.default_rng(3)
    A, B = rng.normal(size=shape[:2]), rng.normal(size=shape[1:])
    np.testing.assert_allclose(dense.multiply(A, B), A @ B, atol=1e-12)
    np.testing.assert_allclose(dense.multiply(np.asfortranarray(A), B), A @ B, atol=1e-12)


def test_compiled_code_of_an_older_engine_is_not_used() -> None:
    """numba would only notice a change of the function's own file."""
    from ordbridge.fast import compiled

    stamp = dense.cholesky._cache._cache_file._source_stamp
    assert compiled._sources() in stamp


def twice(x: float) -> float:
    return 2 * x


def test_an_index_of_moved_classes_is_overlooked() -> None:
    """As an update leaves it behind: unpickling it fails."""
    import pickle

    from ordbridge.fast.compiled import is_cached, kernel

    first = kernel(twice)
    file = first._cache._cache_file
    Path(file._cache_path).mkdir(exist_ok=True)
    missing_class = b"cordbridge.fast.blocks\nNoSuchClass\n."
    Path(file._index_path).write_bytes(pickle.dumps(file._version) + missing_class)
    assert not is_cached(first)
    assert first(3.0) == 6.0
    assert is_cached(kernel(twice))
