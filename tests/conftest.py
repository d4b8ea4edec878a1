"""What several tests share."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

SHARED = Path(__file__).resolve().parents[1] / ".." / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with reference tables, which is not part of the project."""
    if not SHARED.is_dir():
        pytest.skip("the folder with reference tables is not beside the project")
    return SHARED


@pytest.fixture(scope="session")
def wine(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """Bitterness of wine (Randall 1989), from R's ordinal."""
    from ordbridge.bridge import rscript
    from ordbridge.bridge.session import r_folder

    file = tmp_path_factory.mktemp("wine") / "wine.csv"
    rscript.run(r_folder() / "baseline.R", "--export", "ordinal::wine", file)
    return pd.read_csv(file)


@pytest.fixture(scope="session")
def ratings() -> pd.DataFrame:
    """A small crossed study: 12 participants, 10 items, 2 systems, 5 categories."""
    random = np.random.default_rng(1)
    participant, item = (g.ravel() for g in np.meshgrid(range(12), range(10), indexing="ij"))
    system = (participant + item) % 2
    latent = 0.8 * system + random.normal(0, 0.7, 12)[participant] + random.normal(0, 0.4, 10)[item]
    latent = latent + random.normal(size=latent.size)
    return pd.DataFrame(
        {
            "participant": [f"p{i}" for i in participant],
            "item": [f"i{i}" for i in item],
            "system": np.array(["A", "B"])[system],
            "length": np.round(random.normal(10, 2, 10), 1)[item],
            "rating": 1 + (latent[:, None] > [-1, 0, 0.8, 1.8]).sum(axis=1),
        }
    )
