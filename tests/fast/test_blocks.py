"""Elimination by blocks against dense matrices, for connected and unconnected, sparse and full designs."""

from __future__ import annotations

import numpy as np
import pytest
from dense_reference import design_matrix

from ordbridge import _core
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
    "three crossed": (3, (2, 1, 2), lambda rng: [rng.integers(0, k, 150) for k in (12, 20, 5)]),
    "three sparse": (3, (1, 2, 1), lambda rng: [rng.integers(0, k, 150) for k in (60, 50, 40)]),
    "nested in a chain": (
        4,
        (1, 2, 1, 1),
        lambda rng: [np.arange(160) // 2, np.arange(160) // 8, np.arange(160) // 40, rng.integers(0, 6, 160)],
    ),
    "nested alone": (3, (1, 1, 2), lambda rng: [np.arange(160) // 4, np.arange(160) // 16, np.arange(160) // 80]),
    "two interactions": (
        4,
        (1, 1, 1, 1),
        lambda rng: [
            (rater := rng.integers(0, 9, 200)),
            (item := rng.integers(0, 14, 200)),
            3 * rater + (system := rng.integers(0, 3, 200)),
            3 * item + system,
        ],
    ),
    "many levels of both": (2, (2, 2), lambda rng: [rng.integers(0, 200, 900), rng.integers(0, 180, 900)]),
    "two components of three": (
        3,
        (1, 2, 1),
        lambda rng: [np.arange(200) // 100 * k + rng.integers(0, k, 200) for k in (15, 12, 7)],
    ),
    "large component": (
        2,
        (2, 2),
        lambda rng: [rng.permutation(np.repeat(np.arange(70), 10)), rng.permutation(np.repeat(np.arange(70), 10))],
    ),
}


@pytest.mark.parametrize("one_by_one", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_elimination_gives_the_dense_answers(name: str, one_by_one: bool) -> None:
    rng = np.random.default_rng(3)
    _, sizes, make = CASES[name]
    groups = [np.unique(g, return_inverse=True)[1] for g in make(rng)]
    n = groups[0].size
    Z = [np.ones((n, q)) if name == "two interactions" else rng.normal(size=(n, q)) for q in sizes]
    L = [np.tril(rng.normal(size=(q, q))) for q in sizes]
    d = rng.uniform(0.1, 1, n)
    Zt = design_matrix(groups, Z, L)
    H = np.eye(Zt.shape[1]) + Zt.T @ (d[:, None] * Zt)
    inverse = np.linalg.inv(H)

    structure = Structure.build(groups, Z)
    scaled = [L[f] / 1.0 for f in structure.factors]
    for own, scale in zip(scaled, structure.scales, strict=True):
        own *= scale[:, None]  # the core's columns are divided by their scales
    structure.core.one_by_one = one_by_one
    found = _core.Elimination(structure.core, scaled, d[structure.order])
    assert found.log_determinant == pytest.approx(np.linalg.slogdet(H)[1], rel=1e-12)

    begin = np.concatenate([[0], np.cumsum([(g.max() + 1) * q for g, q in zip(groups, sizes, strict=True)])])
    place = [  # where an effect of the core is in H
        begin[f] + level * sizes[f] + a
        for f, levels in zip(structure.factors, structure.level, strict=True)
        for level in levels
        for a in range(sizes[f])
    ]
    right = rng.normal(size=H.shape[0])
    np.testing.assert_allclose(found.solve(right[place]), np.linalg.solve(H, right)[place], rtol=1e-9, atol=1e-11)

    own = inverse[np.ix_(place, place)]
    start = np.concatenate(
        [[0], np.cumsum([levels.size * sizes[f] for f, levels in zip(structure.factors, structure.level, strict=True)])]
    )
    for diagonal in (False, True):
        blocks, cross = found.inverse_blocks(diagonal)
        for f, block in enumerate(blocks):
            q = block.shape[1]
            for g, part in enumerate(block):
                at = slice(start[f] + g * q, start[f] + (g + 1) * q)
                np.testing.assert_allclose(part, own[at, at], rtol=1e-9, atol=1e-12)
        for first, second, left, right_level, block in [] if diagonal else cross:
            p, q = block.shape[1:]
            for g, h, part in zip(left, right_level, block, strict=True):
                rows, columns = start[first] + g * p, start[second] + h * q
                np.testing.assert_allclose(part, own[rows : rows + p, columns : columns + q], rtol=1e-9, atol=1e-12)


def test_unconnected_designs_fall_into_components() -> None:
    raters, items = np.repeat(np.arange(6), 4), np.repeat([0, 1, 2], 8) * 2 + np.tile([0, 1], 12)
    one = np.ones((24, 1))
    structure = Structure.build([raters, items], [one, one])
    assert structure.components == 3
    assert sorted(structure.order.tolist()) == list(range(24))


@pytest.mark.parametrize("m", [1, 2, 7, 40, 96, 97, 150])
def test_dense_kernels_agree_with_lapack(m: int) -> None:
    rng = np.random.default_rng(m)
    B = rng.normal(size=(m, m + 3))
    A = B @ B.T / m + np.eye(m)
    x = rng.normal(size=m)
    found = _core.cholesky_inverse(A, x)
    assert found is not None
    L, inverse, solution = found
    np.testing.assert_allclose(np.tril(L), np.linalg.cholesky(A), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(inverse, np.linalg.inv(A), rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(A @ solution, x, rtol=1e-9, atol=1e-11)


def test_cholesky_says_when_a_matrix_is_not_positive_definite() -> None:
    for m in (3, 120):
        A = np.eye(m)
        A[m - 1, m - 1] = -1.0
        assert _core.cholesky_inverse(A, np.ones(m)) is None


@pytest.mark.parametrize("shape", [(3, 4, 5), (300, 20, 70), (50, 700, 90), (260, 130, 270), (7, 1, 2100)])
def test_products_in_pieces_are_products(shape: tuple[int, int, int]) -> None:
    rng = np.random.default_rng(3)
    A, B = rng.normal(size=shape[:2]), rng.normal(size=shape[1:])
    np.testing.assert_allclose(_core.product(A, B), A @ B, atol=1e-12)
    np.testing.assert_allclose(_core.product(np.asfortranarray(A), B), A @ B, atol=1e-12)
