from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # worker processes import the stub from here

import stub

import ordbridge.power.api as api
from ordbridge.power import Grid, Run
from ordbridge.power.runner import execute


@pytest.fixture
def grid() -> Grid:
    return Grid(preset="howcroft2021", variance="low", items=[20, 30], ratings_per_text=3, effect=[0, 0.62])


@pytest.fixture
def run_stub(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Run]:
    """Return power.run with workers whose engine needs no R."""

    def run(grid: Grid, work: Callable[..., Any] = stub.work, **options: Any) -> Run:
        def with_stub(assignment: Any, store: Any, backend: Any, progress: Any, _: Any) -> None:
            execute(assignment, store, backend, progress, work)

        monkeypatch.setattr(api, "execute", with_stub)
        return api.run(grid, **{"models": ["lm", "clm"], "datasets": 10, "seed": 7, **options})

    return run
