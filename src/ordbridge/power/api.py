"""``run``: a grid, models and a number of simulations in, a run out."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ordbridge import leftovers
from ordbridge.checks import seconds, share, whole
from ordbridge.errors import InputError
from ordbridge.models.engines import engine_name
from ordbridge.notebooks import bar_in_notebook
from ordbridge.power.assignment import Assignment
from ordbridge.power.backends import Backend, choose
from ordbridge.power.grid import Grid
from ordbridge.power.manifest import identity_of
from ordbridge.power.models import resolve
from ordbridge.power.result import Run
from ordbridge.power.runner import execute
from ordbridge.power.store import Store, folder_of
from ordbridge.power.worker import Batch, BatchResult, fit_batch
from ordbridge.progress import Progress

__all__ = ["carry_out", "default_store", "run"]


def run(
    grid: Grid,
    models: Any = ("lmer", "clmm"),
    sims: int = 100,
    seed: int = 0,
    *,
    engine: str = "r",
    jobs: int = 1,
    store: str | os.PathLike[str] | None = None,
    alpha: float = 0.05,
    term: str | None = None,
    goal: str = "difference",
    margin: float | None = None,
    on: str = "rating",
    calibrate: bool | int = False,
    timeout: float | None = None,
    audit: float = 0.0,
    backend: str = "loky",
    scheduler: str | None = None,
    progress: Callable[[Progress], object] | None = None,
) -> Run:
    """Simulate every cell ``sims`` times, fit all models to each dataset, and keep every fit.

    Give the same call again to continue a run that was stopped, with more ``sims`` to add to it.

    Parameters
    ----------
    grid
        The cells.
    models
        ``"lm"``, ``"clm"``, ``"lmer"``, ``"clmm"``; or a mapping from names to formulas, options or :class:`Model`.
        ``lmer`` is fitted by REML, as :func:`ordbridge.lmer` does, but by maximum likelihood, as published, where the
        grid has ``preset="howcroft2021"``; ``{"lmer": {"REML": True}}`` says otherwise.
    sims
        Datasets a cell.
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
    goal, margin, on
        What a study is to show: a ``"difference"``, ``"equivalence"`` or ``"non-inferiority"``, the latter two with a
        ``margin`` on the ``"rating"`` or the ``"latent"`` scale; see :class:`ordbridge.power.Model`.
    calibrate
        Whether critical values are taken from datasets without an effect (at the margin, for the other goals),
        simulated on the same designs, so that every test keeps its level: :meth:`Run.power` then has size, nominal and
        size-adjusted power side by side. Cells of the grid without an effect serve as such. True for ``sims`` datasets
        of each null, or their number; 1000 and more make critical values exact enough. They can be added to a run
        that is there.
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
    if not isinstance(grid, Grid):
        raise InputError(f"grid is a {type(grid).__name__}; build one: power.Grid(preset='howcroft2021', items=[50])")
    sims = whole("sims", sims, least=1)
    engines = {engine_name(engine), *(["r"] if audit else [])}
    assignment = Assignment(
        grid,
        resolve(models, grid.cells, term, grid.preset, {"goal": goal, "margin": margin, "on": on}, engines),
        sims=sims,
        calibration=sims * calibrate if isinstance(calibrate, bool) else whole("calibrate", calibrate, least=0),
        seed=whole("seed", seed, least=0),
        engine=engine_name(engine),
        alpha=share("alpha", alpha),
        audit=share("audit", audit, ends=True),
        timeout=seconds("timeout", timeout),
    )
    path = leftovers.temporary_folder() if store is None else folder_of(store)
    try:
        with bar_in_notebook(progress) as tell:
            result = carry_out(assignment, path, lambda: choose(backend, jobs, scheduler), tell)
    except BaseException:
        if store is None:
            leftovers.remove(path)
        raise
    if store is None:
        weakref.finalize(result, leftovers.remove, path)
    return result


def carry_out(
    assignment: Assignment,
    path: Path,
    start_backend: Callable[[], Backend],
    progress: Callable[[Progress], object] | None = None,
    work: Callable[[Batch], BatchResult] = fit_batch,
) -> Run:
    """Do what is still to do of an assignment, keep it in a folder, and return the run that is there.

    Parameters
    ----------
    assignment, path
        What to fit, and the folder.
    start_backend, progress, work
        As for :func:`ordbridge.power.runner.execute`.
    """
    folder = Store(path, assignment.manifest())
    try:
        execute(assignment, folder, start_backend, progress, work)
        return _asked_for(assignment, Run(path, folder.manifest | {"sims": assignment.sims}))
    finally:
        folder.close()


def _asked_for(assignment: Assignment, run: Run) -> Run:
    """Return of a folder that has more what was asked for now, and critical values of an earlier call if complete."""
    if assignment.calibration == run.calibration or not (assignment.calibration or run.missing):
        return run
    return Run(run.path, run.manifest | {"calibration": assignment.calibration})


def default_store(
    grid: Grid, models: Any, seed: int, engine: str, term: str | None, goal: dict[str, Any] | None = None
) -> Path:
    """Return the folder that a command without a store uses: the same for the same run, so that it can be continued."""
    resolved = resolve(models, grid.cells, term, grid.preset, goal)
    return (
        Path("runs")
        / identity_of(Assignment(grid, resolved, sims=1, seed=seed, engine=engine_name(engine)).manifest())[:10]
    )
