"""What the power runner itself costs: two jobs beside one, CPU time beside the fits', memory over 200,000 fits.

    python benchmarks/runner.py [scaling] [waiting] [cost] [memory] [--fits 200000] [--repeats 3]

Workers are started and warm before any clock starts. Scaling is wall-clock time and needs two idle cores, waiting takes
none; cost is CPU time, all of it from the same run.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ordbridge import fast
from ordbridge.cli import show
from ordbridge.models.columns import Column
from ordbridge.power import Cell, Grid, Model, Progress, api, run, worker
from ordbridge.power.backends import LokyBackend
from ordbridge.power.fit_table import table_of
from ordbridge.power.models import resolve, template
from ordbridge.power.runner import execute
from ordbridge.power.worker import Batch, BatchResult, failed_row
from ordbridge.simulate import Simulator

MODELS = ["lm", "clm", "lmer", "clmm"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=["scaling", "waiting", "cost", "memory", []], default=[])
    parser.add_argument("--fits", type=int, default=200_000)
    parser.add_argument("--datasets", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    for part, measure in (("scaling", scaling), ("waiting", waiting), ("cost", cost), ("memory", memory)):
        if not args.parts or part in args.parts:
            measure(args)


def scaling(args: argparse.Namespace) -> None:
    """Time the same equal fits with one and with two jobs, by the runner and by bare loops, turn and turn about.

    Two loops that know nothing of each other show what the machine gives two processes; the runner cannot do better.
    """
    ways = {"runner": _run_fits, "bare loops": _bare_fits}
    seconds: dict[tuple[str, int], list[float]] = {(way, jobs): [] for way in ways for jobs in (1, 2)}
    for _ in range(args.repeats):
        for (way, jobs), times in seconds.items():
            _warm(jobs)
            begun = time.perf_counter()
            ways[way](jobs, args.datasets)
            times.append(time.perf_counter() - begun)
    rows = [
        {"way": way, "jobs": jobs, "seconds_median": statistics.median(times), "seconds_best": min(times)}
        for (way, jobs), times in seconds.items()
    ]
    title = f"{args.datasets * len(MODELS)} equal fits (50 items, 3 ratings, four models)"
    show.table(pa.Table.from_pylist(rows), title=title)
    for way in ways:
        ratios = [two / one for one, two in zip(seconds[way, 1], seconds[way, 2], strict=True)]
        best = min(seconds[way, 2]) / min(seconds[way, 1])
        said = f"median of pairs {statistics.median(ratios):.3f}, best against best {best:.3f}"
        show.line(f"{way}, two jobs / one job: {said}")
    show.line("wanted of the runner: at most 0.53")


def _run_fits(jobs: int, sims: int) -> None:
    run(_grid(), MODELS, datasets=sims, seed=1, engine="fast", jobs=jobs)


def _bare_fits(jobs: int, sims: int) -> None:
    grid = _grid()
    task = (grid.cells[0], resolve(MODELS, grid.cells), sims // jobs)
    for future in [LokyBackend(jobs).submit(bare_loop, task) for _ in range(jobs)]:
        future.result()


def waiting(args: argparse.Namespace) -> None:
    """Time fits that only wait, 10 ms each: how well the runner shares them out, whatever else the machine does."""
    api.execute = lambda *arguments: execute(*arguments[:-1], _wait)
    seconds: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(args.repeats):
        for jobs in seconds:
            _warm(jobs)
            begun = time.perf_counter()
            run(_grid(), ["lm"], datasets=args.datasets, seed=1, jobs=jobs)
            seconds[jobs].append(time.perf_counter() - begun)
    api.execute = execute
    ratio = statistics.median(two / one for one, two in zip(*seconds.values(), strict=True))
    show.line(f"fits that only wait, two jobs / one job: median {ratio:.3f} (wanted: at most 0.53)")


def _wait(batch: Batch) -> BatchResult:
    time.sleep(0.01 * len(batch.fits))
    rows = [failed_row(batch.cell, fit, "ok", "", 0.01) for fit in batch.fits]
    return BatchResult(table_of(rows), 0.01 * len(batch.fits), {})


def cost(args: argparse.Namespace) -> None:
    """Compare CPU times of runs with those of bare loops, on a small and on a middling design of the paper's."""
    rows = [
        _cost_of(_grid(items, ratings), sims)
        for items, ratings, sims in ((50, 3, args.datasets), (100, 10, args.datasets // 8))
        for _ in range(args.repeats)
    ]
    show.table(pa.Table.from_pylist(rows), title="The runner's own cost in per cent: worker + main process")
    for cell in dict.fromkeys(row["cell"] for row in rows):
        share = statistics.median(row["worker"] + row["main"] for row in rows if row["cell"] == cell)
        show.line(f"{cell}: median {share:.2f} % (wanted: under 2 %)")


def _cost_of(grid: Grid, sims: int) -> dict[str, object]:
    """Account for the CPU time of a run with one worker, beside that of a bare loop in the same worker.

    ``worker``: CPU time outside simulator and engine over that inside, less the same share of a bare loop. Each part is
    measured by itself, because the difference of two whole runs is noise: other programs on the machine change either
    by ten per cent and more. ``main``: CPU time of the main process over the wall-clock time of the run, which is the
    worker's on an idle machine. The main process goes by the clock (a look twice a second, a part every two seconds),
    so on a busy machine its share of the worker's CPU time would only say how busy the machine is.
    """
    _warm(1)
    task = (grid.cells[0], resolve(MODELS, grid.cells), sims)
    loop_fits, loop_rest = _spent_by(lambda: LokyBackend(1).submit(_accounted, (bare_loop, task)).result())
    api.execute = lambda *arguments: execute(*arguments[:-1], _accounted_batch)
    main, wall = time.process_time(), time.perf_counter()
    fits, rest = _spent_by(lambda: run(grid, MODELS, datasets=sims, seed=1, engine="fast"))
    main, wall = time.process_time() - main, time.perf_counter() - wall
    api.execute = execute
    return {
        "cell": grid.cells[0].label,
        "fits": sims * len(MODELS),
        "ms_a_fit": 1000 * fits / (sims * len(MODELS)),
        "wall_over_cpu": wall / (fits + rest),
        "worker": 100 * (rest / fits - loop_rest / loop_fits),
        "main": 100 * main / wall,
    }


def _spent_by(work: Callable[[], object]) -> tuple[float, float]:
    """Return the CPU seconds that some work takes the worker inside simulator and engine, and outside."""
    fits, everything = LokyBackend(1).submit(_spent, None).result()
    work()
    fits_after, everything_after = LokyBackend(1).submit(_spent, None).result()
    return fits_after - fits, everything_after - everything - (fits_after - fits)


def _spent(_: None) -> tuple[float, float]:
    return vars(worker).get("cpu_seconds", 0.0), time.process_time()


def _accounted_batch(batch: Batch) -> BatchResult:
    return _accounted((worker.fit_batch, batch))


def _accounted(task: tuple[Callable[[Any], Any], Any]) -> Any:
    """Work as always, and note the CPU time of drawing and fitting."""
    work, argument = task
    draw, fit = Simulator.draw, fast.fit
    Simulator.draw, fast.fit = _noted(draw), _noted(fit)
    try:
        return work(argument)
    finally:
        Simulator.draw, fast.fit = draw, fit


def _noted(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the CPU time of a function to a sum that is kept in ``worker``: this file's own variables do not travel."""

    def noted(*args: Any) -> Any:
        begun = time.process_time()
        try:
            return function(*args)
        finally:
            vars(worker)["cpu_seconds"] = vars(worker).get("cpu_seconds", 0.0) + time.process_time() - begun

    return noted


def bare_loop(task: tuple[Cell, tuple[Model, ...], int]) -> float:
    """Simulate and fit, and nothing else."""
    cell, models, sims = task
    simulator = Simulator(cell.design, cell.truth)
    templates = [(model, template(cell, model, None)) for model in models]
    total = 0.0
    for i in range(sims):
        rating = simulator.draw(cell.stream(1, i))[0]
        codes = Column("factor", *_codes(rating), ordered=True)
        numbers = Column("numeric", rating.astype(float))
        for model, problem in templates:
            columns = {**problem.columns, "rating": codes if model.ordinal else numbers}
            total += fast.fit(replace(problem, columns=columns)).p_value[-1]
    return total


def _warm(jobs: int) -> None:
    """Let every worker fit something, whichever gets to it first."""
    grid, warm = _grid(), set()
    backend, models = LokyBackend(jobs), resolve(MODELS, grid.cells)
    while len(warm) < jobs:
        futures = [backend.submit(_fit_and_wait, (grid.cells[0], models, 8)) for _ in range(jobs)]
        warm |= {future.result() for future in futures}


def _fit_and_wait(task: tuple[Cell, tuple[Model, ...], int]) -> int:
    bare_loop(task)
    time.sleep(0.5)
    return os.getpid()


def _codes(rating: np.ndarray) -> tuple[np.ndarray, tuple[str, ...]]:
    used, codes = np.unique(rating, return_inverse=True)
    return codes, tuple(map(str, used))


def memory(args: argparse.Namespace) -> None:
    """Watch the memory of all processes over a long run of cheap fits."""
    grid = Grid(preset="howcroft2021", variance="low", items=20, ratings_per_text=3, effect=0.31)
    samples: list[dict[str, float]] = []

    def look(progress: Progress) -> None:
        if progress.done >= len(samples) * progress.total / 10:
            workers = [_resident(pid) for pid in _workers()]
            sample = {
                "fits": progress.done,
                "main_mb": _resident(os.getpid()),
                "largest_worker_mb": max(workers, default=0),
            }
            samples.append(sample)

    begun = time.perf_counter()
    result = run(grid, ["lm"], datasets=args.fits, seed=1, engine="fast", jobs=2, progress=look)
    seconds = time.perf_counter() - begun
    show.table(pa.Table.from_pylist(samples), title=f"Memory over {args.fits} fits ({seconds:.0f} s)")
    parts = [part.stat().st_size for part in (result.path / "fits").iterdir()]
    show.line(f"{len(parts)} parts, {sum(parts) / 1e6:.1f} MB on disk")
    early, last = samples[4], samples[-1]  # by then parts have been merged once, and all code is loaded
    show.line(
        f"from {early['fits']} fits to the end: main {last['main_mb'] - early['main_mb']:+.1f} MB, "
        f"largest worker {last['largest_worker_mb'] - early['largest_worker_mb']:+.1f} MB"
    )


def _grid(items: int = 50, ratings: int = 3) -> Grid:
    axes = {"items": items, "ratings_per_text": ratings, "effect": 0.31}
    return Grid(preset="howcroft2021", variance="representative", **axes)


def _workers() -> list[int]:
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return [int(pid) for pid in children if b"LokyProcess" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def _resident(pid: int) -> float:
    """Return the resident memory of a process in MB."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    main()
