"""``run``: a grid, models and a number of simulations in, a run out."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ordbridge import __version__
from ordbridge.errors import InputError
from ordbridge.models.fit import engine_module
from ordbridge.power.backends import choose
from ordbridge.power.grid import Grid
from ordbridge.power.models import resolve
from ordbridge.power.progress import Progress
from ordbridge.power.result import Run
from ordbridge.power.runner import Plan, execute
from ordbridge.power.store import FORMAT, Store, identity_of

__all__ = ["run"]


def run(
    grid: Grid,
    models: Any = ("lmer", "clmm"),
    sims: int = 100,
    seed: int = 0,
    *,
    engine: str = "ordinal",
    jobs: int = 1,
    store: str | os.PathLike[str] | None = None,
    alpha: float = 0.05,
    term: str | None = None,
    timeout: float | None = None,
    audit: float = 0.0,
    backend: str = "loky",
    scheduler: str | None = None,
    progress: Callable[[Progress], object] | None = None,
) -> Run:
    """Simulate every cell ``sims`` times, fit all models to each dataset, and keep every fit.

    Give the same call again to go on with a run that was stopped, with more ``sims`` to add to it.

    Parameters
    ----------
    grid
        The cells.
    models
        ``"lm"``, ``"clm"``, ``"lmer"``, ``"clmm"``; or a mapping from names to formulas, options or :class:`Model`.
    sims
        Datasets a cell.
    seed
        A whole number. Every (cell, replicate) has its own random stream: the table of fits does not depend on the
        number of jobs, the backend, interruptions, or on which other cells and replicates there are (``seconds``
        apart, and R's lmer, which repeats itself to about 1e-8 only).
    engine
        ``"ordinal"`` (R) or ``"fast"``.
    jobs
        Worker processes; −1 for one a core.
    store
        The folder of the run. Without it the run lives in a temporary folder, as long as the returned object.
    alpha
        Level of significance of the power tables.
    term
        The tested coefficient, if there are more than two systems.
    timeout
        Seconds after which a fit is given up and recorded as ``timeout``.
    audit
        Share of the datasets, drawn by the seed, that also go through R when ``engine="fast"``.
    backend, scheduler
        ``"loky"``: processes of this machine. ``"dask"``: the workers of the scheduler at that address, or of a local
        cluster.
    progress
        Called with a :class:`ordbridge.power.Progress` about twice a second; ``print`` will do.

    Returns
    -------
    Run

    Examples
    --------
    >>> grid = Grid(preset="howcroft2021", variance="low", items=20, ratings_per_text=3, effect=[0, 0.62])
    >>> result = run(grid, models=["lm"], sims=5, seed=1)
    >>> result.power().select(["effect", "measure", "n"]).to_pydict()
    {'effect': [0.0, 0.62], 'measure': ['type-I error', 'power'], 'n': [5, 5]}
    """
    _check(grid, sims, seed, alpha, timeout, audit)
    engine_module(engine)
    resolved = resolve(models, grid.cells, term)
    manifest = {
        "format": FORMAT,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "ordbridge": __version__,
        "grid": grid.to_dict(),
        "cells": {cell.label: cell.content for cell in grid.cells},
        "models": {model.name: model.to_dict() for model in resolved},
        "engine": engine,
        "seed": int(seed),
        "sims": int(sims),
        "alpha": float(alpha),
        "timeout": timeout,
        "audit": float(audit),
        "environments": [],
    }
    path = Path(tempfile.mkdtemp(prefix="ordbridge-") if store is None else store)
    folder = Store(path, manifest)
    try:
        plan = Plan(grid.cells, resolved, int(sims), int(seed), engine, float(audit), timeout)
        execute(plan, folder, lambda: choose(backend, jobs, scheduler), progress)
        result = Run(path, folder.manifest)
    except BaseException:
        if store is None:
            shutil.rmtree(path, ignore_errors=True)
        raise
    finally:
        folder.close()
    if store is None:
        weakref.finalize(result, shutil.rmtree, path, ignore_errors=True)
    return result


def default_store(grid: Grid, models: Any, seed: int, engine: str, term: str | None) -> Path:
    """Return the folder that a command without a store uses: the same for the same run, so that it can go on."""
    resolved = {model.name: model.to_dict() for model in resolve(models, grid.cells, term)}
    cells = {cell.label: cell.content for cell in grid.cells}
    return Path("runs") / identity_of({"cells": cells, "models": resolved, "seed": seed, "engine": engine})[:10]


def _check(grid: Any, sims: Any, seed: Any, alpha: Any, timeout: Any, audit: Any) -> None:
    if not isinstance(grid, Grid):
        raise InputError(f"grid is a {type(grid).__name__}; build one: power.Grid(preset='howcroft2021', items=[50])")
    for name, value, least in (("sims", sims, 1), ("seed", seed, 0)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise InputError(f"{name}={value!r} must be a whole number from {least} on")
    if not isinstance(alpha, (int, float)) or not 0 < alpha < 1:
        raise InputError(f"alpha={alpha!r} must be a number between 0 and 1")
    if not isinstance(audit, (int, float)) or not 0 <= audit <= 1:
        raise InputError(f"audit={audit!r} must be a share between 0 and 1")
    if timeout is not None and not (isinstance(timeout, (int, float)) and timeout > 0):
        raise InputError(f"timeout={timeout!r} is not a number of seconds above 0")
