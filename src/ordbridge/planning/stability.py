"""How probably two studies of a planned design put the systems in one order, in closed form."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from ordbridge.planning.closed_form import sources_of
from ordbridge.planning.evidence import Candidate
from ordbridge.simulate import Truth
from ordbridge.support.ranks import Stability, planned_stability


def stability_of(
    truth: Truth, items: int, ratings_per_text: float, participants: int, alpha: float = 0.05
) -> Stability:
    """Return how probably two studies of a design agree about the order of expected ratings.

    Parameters
    ----------
    truth
        What is true.
    items, ratings_per_text, participants
        Sizes of the design.
    alpha
        Of the tests that say which pairs of the first study differ, with Holm's correction.

    References
    ----------
    Riley, P., Deutsch, D., Foster, G., Ratnakar, V., Dabirmoghaddam, A. & Freitag, M. (2024). Finding replicable human
    evaluations via stable ranking probability. NAACL 2024, 4908–4919.

    Examples
    --------
    >>> from ordbridge.simulate.presets import HOWCROFT2021
    >>> truth = HOWCROFT2021.settings["low"].shift(effect=0.3)
    >>> [round(stability_of(truth, items, 3, 20).same_order, 1) for items in (20, 200)]
    [0.7, 1.0]
    """
    sources = sources_of(truth, "lmer")
    noise = np.diag(sources.residual / (items * ratings_per_text))
    covariance = sources.raters / participants + sources.items / items + noise
    return planned_stability(sources.location, covariance, alpha)


def with_stability(options: pa.Table, chosen: Mapping[str, Candidate], alpha: float) -> pa.Table:
    """Return the designs to choose from with ``stable_ranking`` and ``same_order``; ``chosen`` has them by name."""
    found = [
        stability_of(c.grid.cells[0].truth, c.items, c.ratings_per_text, c.participants, alpha)
        for c in (chosen[name] for name in options["option"].to_pylist())
    ]
    for name in ("stable_ranking", "same_order"):
        values = pa.array([getattr(one, name) for one in found], pa.float64())
        options = options.append_column(name, values)
    return options
