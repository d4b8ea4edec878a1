"""Which system is better? From ratings to a ranking, all differences, and sentences (``ob.compare``)."""

from ordbridge.comparison.analysis import ESTIMANDS
from ordbridge.comparison.api import CompareOptions, compare
from ordbridge.comparison.family import ADJUSTMENTS
from ordbridge.comparison.latent import TESTS
from ordbridge.comparison.planned import PlannedComparison, compare_as_planned
from ordbridge.comparison.result import Comparison

__all__ = [
    "ADJUSTMENTS",
    "ESTIMANDS",
    "TESTS",
    "CompareOptions",
    "Comparison",
    "PlannedComparison",
    "compare",
    "compare_as_planned",
]
