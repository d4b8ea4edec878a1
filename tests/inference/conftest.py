"""Ratings of four systems by few raters, as many studies have them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="session")
def four() -> pd.DataFrame:
    """6 participants rate 8 items under 4 systems, 5 categories; ``wide`` is long or short by item."""
    random = np.random.default_rng(16)
    p, i, s = (g.ravel() for g in np.meshgrid(range(6), range(8), range(4), indexing="ij"))
    latent = np.array([0.0, 0.3, -0.2, 0.6])[s] + random.normal(0, 0.8, 6)[p] + random.normal(0, 0.5, 8)[i]
    latent = latent + random.normal(0, 0.4, (6, 4))[p, s] + random.normal(size=latent.size)
    return pd.DataFrame(
        {
            "participant": [f"p{k}" for k in p],
            "item": [f"i{k}" for k in i],
            "system": np.array(list("ABCD"))[s],
            "wide": np.array(["short", "long"])[i % 2],
            "length": np.round(random.normal(10, 2, 8), 1)[i],
            "score": np.round(3 + latent, 2),
            "rating": 1 + (latent[:, None] > [-1, 0, 0.8, 1.8]).sum(axis=1),
        }
    )
