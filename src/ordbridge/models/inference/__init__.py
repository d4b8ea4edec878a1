"""Tests and intervals of a fitted model beyond the printed ones (docs/inference.md).

A term becomes a :class:`~ordbridge.models.inference.hypothesis.Hypothesis`, which every method tests in its own way;
intervals are in :mod:`~ordbridge.models.inference.intervals`.
"""

from ordbridge.models.inference.api import METHODS, test
from ordbridge.models.inference.intervals import confint
from ordbridge.models.inference.laplace_cost import LaplaceCheck, check_laplace
from ordbridge.models.inference.marginal_means import equivalence, means
from ordbridge.models.inference.proportionality import Assumptions, assumptions
from ordbridge.models.inference.resampling import DrawPlan

__all__ = [
    "METHODS",
    "Assumptions",
    "DrawPlan",
    "LaplaceCheck",
    "assumptions",
    "check_laplace",
    "confint",
    "equivalence",
    "means",
    "test",
]
