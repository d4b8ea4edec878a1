"""The rows of a cumulative link model as the compiled core takes them (``src/core/ratings.hpp`` has the likelihood)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ordbridge.models import thresholds
from ordbridge.models.links import LINKS

__all__ = ["Responses"]


@dataclass(frozen=True, eq=False)
class Responses:
    """Categories and model matrices; what is not in the model has no columns, or is None.

    Parameters
    ----------
    y
        Categories from 0 to ``cuts``, each of them used.
    X, nominal, scale
        Columns of effects on location, on each threshold and on the log residual spread, each without an intercept and,
        with one, of full rank.
    cuts
        Number of cut-points: categories less one.
    link, threshold
        As in ordinal::clm.
    weights, offset
        One number a row.
    """

    y: np.ndarray
    X: np.ndarray
    cuts: int
    link: str
    threshold: str
    nominal: np.ndarray
    scale: np.ndarray
    weights: np.ndarray | None = None
    offset: np.ndarray | None = None

    @classmethod
    def plain(cls, y: np.ndarray, X: np.ndarray, cuts: int, link: str, threshold: str) -> Responses:
        """Return ratings with effects on location only."""
        return cls(y, X, cuts, link, threshold, np.empty((len(y), 0)), np.empty((len(y), 0)))

    @cached_property
    def jacobian(self) -> np.ndarray:
        """Cut-points over the parameters of the thresholds."""
        return thresholds.jacobian(self.cuts, self.threshold)

    @property
    def n_alpha(self) -> int:
        """Number of the thresholds' parameters, nominal effects included."""
        return int(self.jacobian.shape[1]) * (1 + self.nominal.shape[1])

    @property
    def size(self) -> int:
        """Number of all parameters but those of random effects."""
        return self.n_alpha + self.X.shape[1] + self.scale.shape[1]

    @property
    def log_scale(self) -> slice:
        """Where the scale effects are among the parameters."""
        return slice(self.n_alpha + self.X.shape[1], self.size)

    def ordered(self, order: np.ndarray) -> Responses:
        """Return the rows in another order."""
        weights, offset = (None if value is None else value[order] for value in (self.weights, self.offset))
        nominal, scale = (value[order] if value.size else value for value in (self.nominal, self.scale))
        options = (self.cuts, self.link, self.threshold)
        return Responses(self.y[order], self.X[order], *options, nominal, scale, weights, offset)

    def unit(self) -> tuple[Responses, np.ndarray]:
        """Return the rows with columns whose largest value is one, and what that multiplies the parameters with."""
        (nominal, by_nominal), (X, by_X), (scale, by_scale) = map(_unit, (self.nominal, self.X, self.scale))
        n = self.jacobian.shape[1]
        multiplied = np.concatenate([np.ones(n), np.repeat(by_nominal, n), by_X, by_scale])
        options = (self.cuts, self.link, self.threshold)
        return Responses(self.y, X, *options, nominal, scale, self.weights, self.offset), multiplied

    def location(self) -> Responses:
        """Return the same ratings without scale and nominal effects."""
        if self.size == self.jacobian.shape[1] + self.X.shape[1]:
            return self
        none = np.empty((len(self.y), 0))
        return replace(self, nominal=none, scale=none)

    def arguments(self) -> dict[str, Any]:
        """Return what the compiled core is called with."""
        found: dict[str, Any] = {"link": LINKS[self.link].number, "y": self.y, "X": self.X, "jacobian": self.jacobian}
        for name in ("nominal", "scale"):
            if getattr(self, name).shape[1]:
                found[name] = getattr(self, name)
        return found | {name: value for name in ("weights", "offset") if (value := getattr(self, name)) is not None}


def _unit(columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Divide each column by its largest value, so that parameters are of the order of one whatever the units."""
    if not columns.size:
        return columns, np.ones(columns.shape[1])
    largest = np.abs(columns).max(axis=0)
    size = np.where(largest > 0, largest, 1.0)
    return columns / size, size
