"""Card's settings in our coding are the model of Card's code in theirs."""

import numpy as np
import pytest

from ordbridge import design
from ordbridge.papers import card2020
from ordbridge.simulate import Simulator

# item slope, item intercept, worker slope, worker intercept, residual: for a system coded -1 and +1
PUBLISHED = {"low": (0.13, 0.01, 0.04, 0.01, 0.16), "high": (0.14, 0.04, 0.11, 0.01, 0.26)}


@pytest.mark.parametrize("setting", PUBLISHED)
def test_moments_equal_those_of_a_system_coded_minus_one_and_one(setting):
    item_slope, item, worker_slope, worker, sigma = PUBLISHED[setting]
    truth = card2020.truth(setting, 0.15)
    coded = np.array([[1, -1], [1, 1]])
    means = truth.mean + np.array([0.0, *truth.effects])
    np.testing.assert_allclose(means, coded @ [0.5, 0.15])
    np.testing.assert_allclose(truth.covariance("item"), coded @ np.diag([item**2, item_slope**2]) @ coded.T)
    np.testing.assert_allclose(truth.covariance("participant"), coded @ np.diag([worker**2, worker_slope**2]) @ coded.T)
    assert truth.residual_sd == sigma


def test_ratings_are_numbers_around_the_middle_of_the_scale():
    rating, _ = Simulator(design.crossed(500, 10), card2020.truth("low", 0.2)).draw(1)
    assert rating.mean() == pytest.approx(0.5, abs=0.05)
    assert rating.std() > 0.2


def test_the_grid():
    assert len(card2020.differences) * len(card2020.items) * len(card2020.workers) * len(card2020.settings) == 48
