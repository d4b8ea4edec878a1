"""From a design and a truth to ratings, and what a truth means on the rating scale."""

from ordbridge.simulate.draw import Simulator, ratings
from ordbridge.simulate.picture import implied_difference
from ordbridge.simulate.rating_scale import Implied, implied
from ordbridge.simulate.threshold_distribution import ThresholdDistribution
from ordbridge.simulate.truth import Truth

__all__ = ["Implied", "Simulator", "ThresholdDistribution", "Truth", "implied", "implied_difference", "ratings"]
