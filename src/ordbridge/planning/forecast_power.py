"""What the closed form says about the designs of a plan, corrected by what has been simulated.

The closed form proposes: it says where the target is reached, before anything is simulated. Its error is much the same
for designs next to each other, so one number corrects it,

    power = Φ(Φ⁻¹(power in closed form) + shift),

the maximum a posteriori estimate from all simulated counts, with a prior as wide as the errors that
``benchmarks/preview.py`` has found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import numpy.typing as npt

from ordbridge.planning.closed_form import preview
from ordbridge.planning.criteria import every_criterion
from ordbridge.planning.curve import Curve
from ordbridge.planning.evidence import Candidate
from ordbridge.planning.hypotheses import ANY, REFERENCE, pairs_of
from ordbridge.power.models import FORMULAS, Model
from ordbridge.simulate import Truth

PRIOR_SD = {"hardest": 0.1, "every": 0.25, "any": 0.25}  # of the shift: .03 and .07 in a power of .8
NEAR = 0.05  # how far below the target a corrected power has to be to be believed without a simulation
INSIDE = 1e-6


@dataclass(frozen=True)
class PowerForecast:
    """The closed form for one question, with its correction; a curve like :class:`ordbridge.planning.curve.Curve`."""

    truth: Truth
    model: str
    pairs: tuple[tuple[int, int], ...]
    test: str
    """As for :func:`ordbridge.planning.closed_form.preview`."""
    alpha: float
    texts_per_participant: int
    adjusted: bool
    """Whether power is that of a test that keeps its level."""
    criteria: int = 1
    correlation: float = 0.5
    shift: float = 0.0

    def power(self, effect: npt.ArrayLike, items: npt.ArrayLike, ratings_per_text: npt.ArrayLike) -> np.ndarray:
        """Return the power of designs; ``effect`` is the largest of the effects, which keep their proportions."""
        from scipy.special import ndtr, ndtri

        sizes, m, r = np.broadcast_arrays(*(np.asarray(v, dtype=float) for v in (effect, items, ratings_per_text)))
        found = np.empty(sizes.shape)
        for size in np.unique(sizes):
            here = sizes == size
            found[here] = self._closed_form(float(size), m[here], r[here])
        return np.asarray(ndtr(ndtri(found.clip(INSIDE, 1 - INSIDE)) + self.shift))

    def at(self, truth: Truth) -> PowerForecast:
        """Return the same for another truth, with the same correction."""
        return replace(self, truth=truth)

    def corrected(self, rows: Sequence[tuple[float, float, float, float, float]]) -> PowerForecast:
        """Return the forecast that fits rows ``(effect, items, ratings_per_text, significant, n)`` best."""
        from scipy.optimize import minimize_scalar
        from scipy.special import log_ndtr, ndtri

        if not rows:
            return self
        effect, m, r, hits, n = np.array(rows, dtype=float).T
        expected = ndtri(replace(self, shift=0.0).power(effect, m, r))

        def loss(shift: float) -> float:
            loglik = hits @ log_ndtr(expected + shift) + (n - hits) @ log_ndtr(-expected - shift)
            return float(-loglik + (shift / PRIOR_SD[self.test]) ** 2 / 2)

        return replace(self, shift=float(minimize_scalar(loss, bounds=(-2.0, 2.0), method="bounded").x))

    def _closed_form(self, size: float, items: np.ndarray, ratings: np.ndarray) -> np.ndarray:
        largest = max(map(abs, self.truth.effects))
        truth = self.truth.shift(effect=[e * abs(size) / largest for e in self.truth.effects])
        table = preview(
            truth,
            items,
            ratings,
            texts_per_participant=self.texts_per_participant,
            model=self.model,
            alpha=self.alpha,
            pairs=self.pairs,
            test=self.test,
        )
        power = table["adjusted" if self.adjusted else "power"].to_numpy()
        return every_criterion(power, self.criteria, self.correlation, self.alpha)


Powers = Curve | PowerForecast
"""What predicts the power of designs that were not simulated."""


def predictions(powers: Powers, candidates: Sequence[Candidate]) -> list[float]:
    """Return the predicted power of candidates."""
    if not candidates:
        return []
    sizes = zip(*((c.distance, c.items, c.ratings_per_text) for c in candidates), strict=True)
    return [float(power) for power in powers.power(*sizes)]


def ruled_out(powers: Powers, candidates: Sequence[Candidate], target: float) -> list[bool]:
    """Tell which candidates are so far below the target in closed form that no simulation is needed to say so."""
    known = isinstance(powers, PowerForecast)
    return [known and power < target - NEAR for power in predictions(powers, candidates)]


def forecast_power(
    truth: Truth, model: Model, labels: Sequence[str], alpha: float, texts: int | None, adjusted: bool
) -> PowerForecast | None:
    """Return the closed form for what a plan tests; None where there is none.

    There is one for differences tested by ``clmm`` and ``lmer`` with all random slopes, on counterbalanced designs.
    """
    if model.kind not in ("clmm", "lmer") or model.formula != FORMULAS[model.kind] or texts is None:
        return None
    if model.goal != "difference" or truth.scale == "vas" or not any(truth.effects):
        return None
    if model.kind == "clmm" and truth.scale != "ordinal":
        return None
    names = list(labels)
    tested = pairs_of(model.term, names)
    several = model.term == ANY or len(tested) > 1 or model.term.startswith(REFERENCE)
    test = "any" if model.term == ANY else "every" if several else "hardest"
    pairs = tuple(combinations(range(len(names)), 2)) if model.term == ANY else tested
    return PowerForecast(truth, model.kind, pairs, test, alpha, texts, adjusted)
