"""Studies to compare systems in."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import pytest

Study = Callable[..., pd.DataFrame]


@pytest.fixture(scope="session")
def study() -> Study:
    """Ratings of systems whose latent quality is known; everyone rates every item under every system."""

    def make(
        quality: Sequence[float] = (0.0, 1.0, 2.0),
        raters: int = 12,
        items: int = 15,
        seed: int = 1,
        thresholds: Sequence[float] = (-1.0, 0.5, 2.0, 3.5),
        slope: float = 0.0,
    ) -> pd.DataFrame:
        random = np.random.default_rng(seed)
        k = len(quality)
        p, i, s = (g.ravel() for g in np.meshgrid(range(raters), range(items), range(k), indexing="ij"))
        latent = np.asarray(quality)[s] + random.normal(0, 0.6, raters)[p] + random.normal(0, 0.6, items)[i]
        latent = latent + random.normal(0, slope, (raters, k))[p, s] + random.logistic(size=latent.size)
        return pd.DataFrame(
            {
                "participant": [f"p{n}" for n in p],
                "item": [f"i{n}" for n in i],
                "system": np.array(list("ABCDEFGH"))[s],
                "rating": 1 + (latent[:, None] > np.asarray(thresholds)).sum(axis=1),
            }
        )

    return make
