"""Thresholds that differ from study to study."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ordbridge.errors import InputError
from ordbridge.support.arguments import numbers, whole


@dataclass(frozen=True)
class ThresholdDistribution:
    """Thresholds that differ from study to study: the lowest is normal, each distance to the next is |normal|.

    Parameters
    ----------
    lowest
        Mean and standard deviation of the lowest threshold.
    distance
        Mean and standard deviation of the normal whose absolute value is the distance between two neighbours.
    categories
        How many categories the scale has: one more than thresholds.

    References
    ----------
    Howcroft & Rieser (2021), section 4.2 and their code.
    Leone, F. C., Nelson, L. S., & Nottingham, R. B. (1961). The folded normal distribution. *Technometrics* 3, 543–550.
    McNamee, J., & Stenger, F. (1967). Construction of fully symmetric numerical integration formulas. *Numerische
    Mathematik* 10, 327–344.

    Examples
    --------
    >>> ThresholdDistribution(lowest=(-1.78, 0.19), distance=(0.62, 0.18), categories=6).expected().round(2)
    array([-1.78, -1.16, -0.54,  0.08,  0.7 ])
    """

    lowest: tuple[float, float]
    distance: tuple[float, float]
    categories: int

    def __post_init__(self) -> None:
        """Check the numbers."""
        for name in ("lowest", "distance"):
            mean_and_sd = numbers(f"threshold_distribution.{name}", getattr(self, name))
            if len(mean_and_sd) != 2:
                raise InputError(
                    f"threshold_distribution.{name} has {len(mean_and_sd)} numbers; give two: mean, standard deviation"
                )
            if mean_and_sd[1] < 0:
                raise InputError(
                    f"threshold_distribution.{name} has the negative standard deviation {mean_and_sd[1]:g}"
                )
            object.__setattr__(self, name, mean_and_sd)
        if self.distance == (0.0, 0.0):
            raise InputError(
                "threshold_distribution.distance has mean and standard deviation 0: thresholds must differ"
            )
        object.__setattr__(self, "categories", whole("threshold_distribution.categories", self.categories, least=2))

    def draw(self, random: np.random.RandomState) -> np.ndarray:
        """Draw the thresholds of one study."""
        z = random.standard_normal(self.categories - 1)
        steps = np.abs(self.distance[0] + self.distance[1] * z[1:])
        return np.cumsum(np.r_[self.lowest[0] + self.lowest[1] * z[0], steps])

    def expected(self) -> np.ndarray:
        """Return the mean of each threshold."""
        return self.lowest[0] + self.folded()[0] * np.arange(self.categories - 1)

    def cubature(self) -> tuple[np.ndarray, np.ndarray]:
        """Return threshold vectors and weights whose weighted means are means over all studies.

        The rule of degree 5 of McNamee & Stenger (1967) for independent normals with the mean and the standard
        deviation of the lowest threshold and of each distance; for settings like the published ones category
        probabilities come out to about 5e-5.
        """
        n = self.categories - 1
        signs = math.sqrt(3) * np.array([1.0, -1.0])
        axes = [step * np.eye(n)[i] for i in range(n) for step in signs]
        planes = [
            first * np.eye(n)[i] + second * np.eye(n)[j]
            for i in range(n)
            for j in range(i)
            for first in signs
            for second in signs
        ]
        z = np.array([np.zeros(n), *axes, *planes])
        weights = np.r_[1 + n * (n - 7) / 18, np.full(len(axes), (4 - n) / 18), np.full(len(planes), 1 / 36)]
        mean, sd = np.array([self.lowest, *[self.folded()] * (n - 1)]).T
        return np.cumsum(mean + sd * z, axis=1), weights

    def folded(self) -> tuple[float, float]:
        """Return mean and standard deviation of a distance, the absolute value of a normal (Leone et al. 1961)."""
        mean, sd = self.distance
        if sd == 0:
            return abs(mean), 0.0
        ratio = mean / sd
        folded = sd * math.sqrt(2 / math.pi) * math.exp(-(ratio**2) / 2) + mean * math.erf(ratio / math.sqrt(2))
        return folded, math.sqrt(max(mean**2 + sd**2 - folded**2, 0.0))
