"""From strengths to win rates, ties split, for new raters and items: averages over what these prefer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

__all__ = ["WinRates"]

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(41)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


@dataclass(frozen=True)
class WinRates:
    """Expected points, wins and ties of a system that is stronger by η.

    Attributes
    ----------
    spread
        SD of what a new rater and a new item add to η: √(2σ_r² + 2σ_i²).
    tie
        Upper edge of the tie on the latent scale; 0 without ties.
    position
        What being shown first adds; both orders count the same.
    link
        ``"logit"`` or ``"probit"``.

    Examples
    --------
    >>> rates = WinRates(spread=0.0, tie=0.0)
    >>> round(float(rates.points(np.log(3.0))), 6)
    0.75
    >>> round(float(WinRates(spread=2.0, tie=0.0).points(np.log(3.0))), 3)  # new raters differ
    0.661
    """

    spread: float
    tie: float = 0.0
    position: float = 0.0
    link: str = "logit"

    def _mean(self, eta: np.ndarray | float, edges: tuple[float, ...]) -> np.ndarray:
        cdf = special.expit if self.link == "logit" else special.ndtr
        eta = np.asarray(eta, dtype=float)[..., None]
        shifted = [eta + sign * self.position + self.spread * NODES for sign in (1.0, -1.0)]
        value = sum(cdf(one + edge) for one in shifted for edge in edges) / (2 * len(edges))
        return np.asarray(value @ WEIGHTS)

    def points(self, eta: np.ndarray | float) -> np.ndarray:
        """Return the win rate with ties split."""
        return self._mean(eta, (-self.tie, self.tie))

    def win(self, eta: np.ndarray | float) -> np.ndarray:
        """Return the probability of a win."""
        return self._mean(eta, (-self.tie,))

    def ties(self, eta: np.ndarray | float) -> np.ndarray:
        """Return the probability of a tie."""
        return self._mean(eta, (self.tie,)) - self._mean(eta, (-self.tie,))

    def slope(self, eta: np.ndarray | float) -> np.ndarray:
        """Return the derivative of the points."""
        h = 1e-4
        return (self.points(np.asarray(eta) + h) - self.points(np.asarray(eta) - h)) / (2 * h)

    def shown_first(self) -> float:
        """Return the win rate of what is shown first where nobody prefers either."""
        return float(WinRates(self.spread, self.tie, 0.0, self.link).points(self.position))
