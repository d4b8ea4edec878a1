"""Whatever is handed to the compiled core, it answers or refuses with a reason; it never crashes the process.

The same cases were run once with AddressSanitizer and UBSan (``tools/sanitise.sh``).
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from ordbridge import _core

REFUSED = (ValueError, TypeError, RuntimeError, IndexError, OverflowError)
ODD_NUMBERS = [0.0, -0.0, 1e-320, 1e-160, 1e150, 1e308, math.inf, -math.inf, math.nan, -1e9, 745.2, -708.5, 38.6]


def design(n: int = 24, factors: int = 2, size: int = 1) -> _core.Design:
    level = [np.arange(n) % (3 + f) for f in range(factors)]
    component = [np.array([0, 3 + f]) for f in range(factors)]
    return _core.Design(level, [np.ones((n, size)) for _ in range(factors)], component)


def laplace(**changed: object) -> _core.Laplace:
    given: dict = {
        "design": design(),
        "link": 0,
        "y": np.arange(24) % 3,
        "X": np.sin(np.arange(24.0))[:, None],
        "jacobian": np.eye(2),
        "factor": np.array([0, 1]),
        "row": np.array([0, 0]),
        "column": np.array([0, 0]),
    }
    return _core.Laplace(**(given | changed))


@pytest.mark.parametrize("link", range(5))
def test_links_at_odd_numbers(link: int) -> None:
    """Log probabilities are never positive or NaN for ordered finite ends, and rows agree with single intervals."""
    for a in ODD_NUMBERS:
        for b in ODD_NUMBERS:
            terms = _core.interval_terms(link, a, b)
            if not a > b:
                assert terms[0] == -math.inf
            else:
                assert terms[0] <= 1e-15
    grid = np.array([(a, b) for a in np.linspace(-60, 60, 41) for b in np.linspace(-61, 59, 37) if a > b])
    rows = _core.row_derivatives(link, grid[:, 0], grid[:, 1])
    single = np.array([_core.interval_terms(link, a, b) for a, b in grid])
    possible = single[:, 0] > -1e4
    np.testing.assert_allclose(rows[0][possible], single[possible, 0], rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(rows[4][possible], -single[possible, 1], rtol=1e-12, atol=1e-300)
    with pytest.raises(ValueError, match="different numbers of rows"):
        _core.row_derivatives(link, grid[:, 0], grid[:-1, 1])


@pytest.mark.parametrize(
    ("level", "z", "component"),
    [
        ([], [], []),
        ([[]], [np.ones((0, 1))], [[0, 0]]),
        ([[0, 1]], [np.ones((3, 1))], [[0, 2]]),
        ([[0, 5]], [np.ones((2, 1))], [[0, 2]]),
        ([[0, -1]], [np.ones((2, 1))], [[0, 2]]),
        ([[0, 0]], [np.ones((2, 1))], [[0, 2]]),
        ([[0, 2**62]], [np.ones((2, 1))], [[0, 2]]),
        ([[0, 1]], [np.ones((2, 0))], [[0, 2]]),
        ([[0, 1]], [np.full((2, 1), np.nan)], [[0, 2]]),
        ([[0, 1]], [np.ones((2, 1))], [[0, -1, 2]]),
        ([[0, 1]], [np.ones((2, 1))], [[2]]),
        ([[0, 1]], [np.ones((2, 1))], [[0, 2**40]]),
        ([[0, 1], [0, 1]], [np.ones((2, 1))], [[0, 2], [0, 2]]),
        ([[0, 1], [0]], [np.ones((2, 1)), np.ones((1, 1))], [[0, 2], [0, 1]]),
        ([[0, 1], [1, 0]], [np.ones((2, 1))] * 2, [[0, 1, 2], [0, 1, 2]]),
    ],
)
def test_designs_that_are_none(level: list, z: list, component: list) -> None:
    with pytest.raises(REFUSED):
        _core.Design([np.array(part, dtype=np.int64) for part in level], z, [np.array(part) for part in component])


@pytest.mark.parametrize(
    "changed",
    [
        {"link": 9},
        {"link": -1},
        {"y": np.arange(24) % 4},
        {"y": -np.ones(24, dtype=int)},
        {"y": np.arange(23) % 3},
        {"y": np.full(24, 2**60)},
        {"X": np.ones((23, 1))},
        {"X": np.full((24, 1), np.inf)},
        {"X": np.ones(24)},
        {"jacobian": np.empty((0, 0))},
        {"jacobian": np.empty((2, 0))},
        {"factor": np.array([0, 2])},
        {"row": np.array([0, 1])},
        {"column": np.array([0, -1])},
        {"row": np.array([0])},
        {"y": "ratings"},
        {"design": None},
    ],
)
def test_models_that_are_none(changed: dict) -> None:
    with pytest.raises(REFUSED):
        laplace(**changed)


@pytest.mark.parametrize("factors", [1, 2, 3])
def test_a_model_that_is_asked_odd_things(factors: int) -> None:
    own = {
        "design": design(factors=factors),
        "factor": np.arange(factors),
        "row": np.zeros(factors, dtype=int),
        "column": np.zeros(factors, dtype=int),
    }
    model = laplace(**own)
    start = np.r_[-1.0, 1.0, 0.0, np.full(factors, 0.5)]
    assert math.isfinite(model(start)[0])
    for k in range(start.size):
        for value in ODD_NUMBERS:
            changed = start.copy()
            changed[k] = value
            found, gradient = laplace(**own)(changed)
            assert gradient.size == start.size and not math.isnan(found)
    for wrong in (np.zeros(0), np.zeros(99), np.zeros((2, 2))):
        with pytest.raises(REFUSED):
            model(wrong)
        with pytest.raises(REFUSED):
            model.tangent(wrong)
    for wrong in (np.zeros(0), np.zeros(4000)):
        with pytest.raises(REFUSED):
            model.modes = wrong
    effects = model.modes.size
    for wrong in (np.zeros(effects), np.zeros((2, effects + 1)), np.zeros((2, 0)), np.zeros((1, 1, effects))):
        with pytest.raises(REFUSED):
            model.log_weights(wrong)
    assert model.log_weights(np.zeros((0, effects))).shape[0] == 0
    for value in ODD_NUMBERS:
        assert model.log_weights(np.full((1, effects), value)).shape[0] == 1
    nodes = np.array([-1.0, 0.0, 1.0])
    for x, w in ((nodes, nodes[:2]), (nodes, np.zeros(3)), (nodes * np.nan, np.ones(3)), (nodes[:, None], np.ones(3))):
        with pytest.raises(REFUSED):
            model.set_quadrature(x, w)
    if factors > 1:
        with pytest.raises(REFUSED):
            model.set_quadrature(nodes, np.ones(3))
    with pytest.raises(REFUSED):
        model.hessian(start, np.array([99]), 1e-5)
    with pytest.raises(REFUSED):
        model.minimise(start, 1e-9, np.eye(2))
    with pytest.raises(_core.OutOfTime):
        model.minimise(start, 1e-9, seconds=0.0)
    model.modes = np.full(model.modes.size, np.nan)
    assert math.isfinite(model(start)[0])


@pytest.mark.parametrize("factors", [1, 2, 3])
def test_a_deviance_that_is_asked_odd_things(factors: int) -> None:
    column = np.full(24, 24**-0.5)
    y = np.sin(np.arange(24.0))
    y -= column * (column @ y)
    entries = [np.arange(factors), np.zeros(factors, dtype=int), np.zeros(factors, dtype=int)]
    deviance = _core.Deviance(design(factors=factors), np.column_stack([column, y]), *entries, True)
    start = np.full(factors, 0.5)
    with pytest.raises(REFUSED):
        deviance.second_derivatives()
    assert math.isfinite(deviance(start)[0])
    for value in ODD_NUMBERS:
        found, _ = deviance(np.full(factors, value))
        assert not math.isnan(found)
    deviance(start)
    assert all(np.isfinite(part).all() for part in deviance.second_derivatives())
    for wrong in (np.zeros(0), np.zeros(9)):
        with pytest.raises(REFUSED):
            deviance(wrong)
        with pytest.raises(REFUSED):
            deviance.newton(wrong, 1e-9)
    for columns in (np.ones((23, 2)), np.ones((24, 0)), np.full((24, 2), np.nan), np.ones((24, 30))):
        with pytest.raises(REFUSED):
            _core.Deviance(design(factors=factors), columns, *entries, True)


def test_clm_that_is_none() -> None:
    good = (1, np.arange(9) % 3, np.sin(np.arange(9.0))[:, None], np.eye(2), np.array([-1.0, 1.0, 0.0]))
    assert _core.fit_clm(*good)[-1]
    for position, wrong in (
        (0, 7),
        (1, np.arange(9) % 4),
        (1, np.arange(8) % 3),
        (1, np.empty(0, dtype=int)),
        (2, np.full((9, 1), np.nan)),
        (2, np.ones((9, 2))),
        (3, np.empty((0, 2))),
        (4, np.zeros(2)),
    ):
        with pytest.raises(REFUSED):
            _core.fit_clm(*good[:position], wrong, *good[position + 1 :])
    for start in ODD_NUMBERS:
        _core.fit_clm(*good[:4], np.full(3, start))


BEYOND = {
    "nominal": np.cos(np.arange(24.0))[:, None],
    "scale": np.sin(np.arange(24.0))[:, None],
    "weights": np.ones(24),
    "offset": np.zeros(24),
}


@pytest.mark.parametrize("name", BEYOND)
def test_rows_beyond_location_that_are_none(name: str) -> None:
    """Wrong lengths and values are refused by everything that takes them."""
    rows = {"link": 0, "y": np.arange(24) % 3, "X": np.sin(np.arange(24.0))[:, None], "jacobian": np.eye(2)}
    wrong = [BEYOND[name][:-1], np.full_like(BEYOND[name], np.nan), np.full_like(BEYOND[name], np.inf)]
    wrong += [-np.ones(24)] if name == "weights" else []
    for value in wrong:
        for make in (
            lambda value=value: laplace(**{name: value}),
            lambda value=value: _core.Ratings(**rows, **{name: value}),
            lambda value=value: _core.fit_clm(**rows, start=np.array([-1.0, 1.0, 0.0]), **{name: value}),
        ):
            with pytest.raises(REFUSED):
                make()


def test_ratings_at_odd_numbers() -> None:
    """A finite loss with a finite gradient, or an infinite loss; never a crash, never NaN."""
    rows = {"link": 0, "y": np.arange(24) % 3, "X": np.sin(np.arange(24.0))[:, None], "jacobian": np.eye(2)}
    for link in range(5):
        ratings = _core.Ratings(**(rows | {"link": link}), **BEYOND)
        for value in ODD_NUMBERS:
            for place in range(6):
                x = np.array([-1.0, 1.0, 0.1, 0.2, 0.3, 0.4])
                x[place] = value
                loss, gradient = ratings(x)
                assert not math.isnan(loss) and (math.isinf(loss) or np.isfinite(gradient).all())
        with pytest.raises(REFUSED):
            ratings(np.zeros(5))


def test_arrays_of_any_order_and_type() -> None:
    X = np.sin(np.arange(48.0)).reshape(2, 24).T  # not contiguous
    entries = {"factor": np.array([0, 1], dtype=np.int32), "y": (np.arange(48) % 3)[::2].astype(np.int8)}
    strided, plain = laplace(X=X, **entries), laplace(X=np.ascontiguousarray(X), y=np.ascontiguousarray(entries["y"]))
    x = np.array([-1.0, 1.0, 0.2, -0.3, 0.5, 0.5])
    assert strided(x)[0] == plain(np.repeat(x, 2)[::2])[0]


def test_components_of_odd_levels() -> None:
    for level in ([], [np.array([0, -3])], [np.array([0, 2**61])], [np.array([0, 1]), np.array([0])]):
        with pytest.raises(REFUSED):
            _core.components([np.asarray(part, dtype=np.int64) for part in level])
    assert _core.components([np.array([0, 1, 1]), np.array([0, 1, 2])]).tolist() == [0, 1, 1]


@pytest.mark.parametrize("seed", range(20))
def test_random_designs(seed: int) -> None:
    """Any sizes, any number of factors, any values: a number or infinity comes out, the same twice."""
    random = np.random.default_rng(seed)
    n, factors = int(random.integers(1, 60)), int(random.integers(1, 5))
    from ordbridge.fast.structure import Structure

    groups = [
        np.unique(random.integers(0, random.integers(1, n + 1), n), return_inverse=True)[1] for _ in range(factors)
    ]
    sizes = random.integers(1, 5, factors)
    Z = [random.normal(size=(n, q)) * 10.0 ** random.integers(-8, 8) for q in sizes]
    structure = Structure.build(groups, Z)
    own = [sizes[f] for f in structure.factors]
    spots = [(f, a, b) for f, q in enumerate(own) for a in range(q) for b in range(a + 1)]
    factor, row, column = (np.array(part) for part in zip(*spots, strict=True))
    cuts = int(random.integers(1, 5))
    y = random.integers(0, cuts + 1, n)
    x = np.r_[np.sort(random.normal(size=cuts)), random.normal(size=2 + factor.size)]
    found = []
    for _ in range(2):
        model = _core.Laplace(
            structure.core, seed % 5, y, random.normal(size=(n, 2)) * 0 + 1, np.eye(cuts), factor, row, column
        )
        found.append(model(x)[0])
        model.minimise(x, 1e-6, iterations=5)
    assert found[0] == found[1] and not math.isnan(found[0])
