"""Comparisons with known answers."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest


@pytest.fixture(scope="session")
def folder(shared: Path) -> Path:
    return shared / "reference" / "preferences"


@pytest.fixture(scope="session")
def pairs(folder: Path) -> pd.DataFrame:
    return pd.read_csv(folder / "simulated_pairs.csv")
