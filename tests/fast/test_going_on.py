"""A search that was stopped goes on as if it had not been."""

import numpy as np
import pytest

from ordbridge.design import crossed
from ordbridge.fast.clmm import GAIN, SEARCH, _start, laplace_objective
from ordbridge.fast.solving import ratings_of, with_response
from ordbridge.models.prepare import prepare
from ordbridge.simulate import Truth, ratings

TRUTH = Truth(
    effects=(0.3, 0.6, 0.4), thresholds=(-1, 0, 1), participant_sd=(0.4, 0.2, 0.2, 0.2), item_sd=(0.5, 0.3, 0.3, 0.3)
)
MAXIMAL = "rating ~ system + (system | participant) + (system | item)"


def objective(seed):
    table = ratings(crossed(items=20, raters=5, systems=4), TRUTH, seed=seed)
    problem = prepare("clmm", MAXIMAL, table, link="probit", threshold="flexible", nAGQ=1)
    ready, value = with_response(problem)
    structure, layout = ready.crossed
    own, _ = ratings_of(problem, ready, value)[0].ordered(structure.order).unit()
    laplace = laplace_objective(own, structure, layout)
    laplace.closeness = SEARCH
    return laplace, _start(own, layout)(1.0, 0.0)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_with_its_inverse_hessian_it_takes_no_longer(seed):
    laplace, start = objective(seed)
    _, lowest, _, at_once, _, _ = laplace.minimise(start, GAIN)
    laplace, start = objective(seed)
    x, _, _, first, converged, inverse = laplace.minimise(start, GAIN, iterations=12)
    assert not converged and np.linalg.eigvalsh((inverse + inverse.T) / 2).min() > 0
    _, value, _, more, converged, _ = laplace.minimise(x, GAIN, inverse)
    assert converged and value == pytest.approx(lowest, abs=1e-6)
    assert first + more <= at_once + 10
    laplace.modes = np.zeros(laplace.modes.size)
    _, _, _, anew, _, _ = laplace.minimise(x, GAIN)
    assert more < anew
