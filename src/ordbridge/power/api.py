"""``run``: a grid, models and a number of simulations in, a run out."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ordbridge.errors import InputError
from ordbridge.models.engines import engine_name
from ordbridge.power.assignment import Assignment
from ordbridge.power.backends import Backend, choose
from ordbridge.power.grid import Grid
from ordbridge.power.manifest import identity_of
from ordbridge.power.models import Goal, resolve
from ordbridge.power.result import Run
from ordbridge.power.runner import execute
from ordbridge.power.store import Store, folder_of
from ordbridge.power.worker import Batch, BatchResult, fit_batch
from ordbridge.render.notebook import bar_in_notebook
from ordbridge.support import temp_cleanup
from ordbridge.support.arguments import proportion, seconds, whole
from ordbridge.support.progress import Progress


def run(
    grid: Grid,
    models: Any = ("lmer", "clmm"),
    datasets: int = 100,
    seed: int = 0,
    *,
    engine: str = "r",
    jobs: int = 1,
    store: str | os.PathLike[str] | None = None,
    alpha: float = 0.05,
    term: str | None = None,
    goal: Goal = Goal(),  # noqa: B008 - it cannot be changed
    null_datasets: int = 0,
    timeout: float | None = None,
    audit: float = 0.0,
    backend: str = "loky",
    progress: Callable[[Progress], object] | None = None,
) -> Run:
    """Simulate ``datasets`` of every cell, fit all models to each, and keep every fit.

    Give the same call again to continue a run that was stopped, with more ``datasets`` to add to it.

    Parameters
    ----------
    grid
        The cells.
    models
        ``"lm"``, ``"clm"``, ``"lmer"``, ``"clmm"``; or a mapping from names to formulas, options or :class:`Model`.
        ``lmer`` is fitted by REML, as :func:`ordbridge.lmer` does, but by maximum likelihood, as published, where the
        grid has ``preset="howcroft2021"``; ``{"lmer": {"REML": True}}`` says otherwise.
    datasets
        Of each cell.
    seed
        A whole number. Every (cell, replicate) has its own random stream: the table of fits does not depend on the
        number of jobs, the backend, interruptions, or on which other cells and replicates there are (``seconds``
        apart, and R's lmer, which repeats itself to about 1e-8 only).
    engine
        ``"r"`` or ``"fast"``.
    jobs
        Worker processes; −1 for one per core.
    store
        The folder of the run. Without it the run lives in a temporary folder, as long as the returned object.
    alpha
        Level of significance of the power tables.
    term
        The tested coefficient, if there are more than two systems.
    goal
        What a study is to show: a difference, or equivalence or non-inferiority with a margin.
    null_datasets
        How many datasets without an effect (at the margin, for the other goals) are simulated on the same designs. From
        them come critical values at which every test keeps its level: :meth:`Run.power` then has size, nominal and
        size-adjusted power side by side. Cells of the grid without an effect serve as such. 1000 and more make
        critical values exact enough. They can be added to a run that is there.
    timeout
        Seconds after which a fit is given up and recorded as ``timeout``.
    audit
        Share of the datasets, drawn by the seed, that also go through R when ``engine="fast"``.
    backend
        ``"loky"``: processes of this machine. ``"dask"``: a local cluster; or the address of a Dask scheduler,
        ``"tcp://…"``, whose workers are used.
    progress
        Called with a :class:`ordbridge.power.Progress` about twice a second; ``print`` will do.

    Returns
    -------
    Run

    Examples
    --------
    >>> grid = Grid(preset="howcroft2021", variance="low", items=20, ratings_per_text=3, effect=[0, 0.62])
    >>> result = run(grid, models=["lm"], datasets=5, seed=1)
    >>> result.power().select(["effect", "measure", "n"]).to_pydict()
    {'effect': [0.0, 0.62], 'measure': ['type-I error', 'power'], 'n': [5, 5]}
    """
    if not isinstance(grid, Grid):
        raise InputError(f"grid is a {type(grid).__name__}; build one: power.Grid(preset='howcroft2021', items=[50])")
    engines = {engine_name(engine), *(["r"] if audit else [])}
    assignment = Assignment(
        grid,
        resolve(models, grid.cells, term, grid.preset, goal, engines),
        datasets=whole("datasets", datasets, least=1),
        calibration=whole("null_datasets", null_datasets, least=0),
        seed=whole("seed", seed, least=0),
        engine=engine_name(engine),
        alpha=proportion("alpha", alpha),
        audit=proportion("audit", audit, ends=True),
        timeout=seconds("timeout", timeout),
    )
    path = temp_cleanup.temporary_folder() if store is None else folder_of(store)
    try:
        with bar_in_notebook(progress) as tell:
            result = carry_out(assignment, path, lambda: choose(backend, jobs), tell)
    except BaseException:
        if store is None:
            temp_cleanup.remove(path)
        raise
    if store is None:
        weakref.finalize(result, temp_cleanup.remove, path)
    return result


def carry_out(
    assignment: Assignment,
    path: Path,
    start_backend: Callable[[], Backend],
    progress: Callable[[Progress], object] | None = None,
    work: Callable[[Batch], BatchResult] = fit_batch,
) -> Run:
    """Do what is still to do of an assignment, keep it in a folder, and return the run that is there."""
    folder = Store(path, assignment.manifest())
    try:
        execute(assignment, folder, start_backend, progress, work)
        return _asked_for(assignment, Run(path, folder.manifest | {"datasets": assignment.datasets}))
    finally:
        folder.close()


def _asked_for(assignment: Assignment, run: Run) -> Run:
    """Return of a folder that has more what was asked for now, and critical values of an earlier call if complete."""
    if assignment.calibration == run.calibration or not (assignment.calibration or run.missing):
        return run
    return Run(run.path, run.manifest | {"calibration": assignment.calibration})


def default_store(grid: Grid, models: Any, seed: int, engine: str, term: str | None, goal: Goal | None = None) -> Path:
    """Return the folder that a command without a store uses: the same for the same run, so that it can be continued."""
    resolved = resolve(models, grid.cells, term, grid.preset, goal)
    return (
        Path("runs")
        / identity_of(Assignment(grid, resolved, datasets=1, seed=seed, engine=engine_name(engine)).manifest())[:10]
    )
