"""What the power runner itself costs: two jobs beside one, the runner beside a bare loop, memory over 200,000 fits.

    python benchmarks/runner.py [scaling] [waiting] [cost] [memory] [--fits 200000] [--repeats 3]

Workers are started and warm before any clock starts. Scaling is wall-clock time and needs two idle cores; cost is CPU
time of main process and worker, which other programs on the machine disturb less.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from ordbridge import fast
from ordbridge.cli import show
from ordbridge.models.columns import Column
from ordbridge.power import Cell, Grid, Model, Progress, api, run
from ordbridge.power.backends import LokyBackend
from ordbridge.power.models import resolve, template
from ordbridge.power.runner import execute
from ordbridge.power.worker import Answer, Batch, failed_row, to_table
from ordbridge.simulate import Simulator

MODELS = ["lm", "clm", "lmer", "clmm"]
TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=["scaling", "waiting", "cost", "memory", []], default=[])
    parser.add_argument("--fits", type=int, default=200_000)
    parser.add_argument("--sims", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    for part, measure in (("scaling", scaling), ("waiting", waiting), ("cost", cost), ("memory", memory)):
        if not args.parts or part in args.parts:
            measure(args)


def scaling(args: argparse.Namespace) -> None:
    """Time the same equal fits with one and with two jobs, turn and turn about."""
    seconds: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(args.repeats):
        for jobs in seconds:
            _warm(jobs)
            begun = time.perf_counter()
            run(_grid(), MODELS, sims=args.sims, seed=1, engine="fast", jobs=jobs)
            seconds[jobs].append(time.perf_counter() - begun)
    ratios = [two / one for one, two in zip(*seconds.values(), strict=True)]
    rows = [
        {"jobs": jobs, "fits": args.sims * len(MODELS), "seconds_median": statistics.median(s), "seconds_best": min(s)}
        for jobs, s in seconds.items()
    ]
    show.table(pa.Table.from_pylist(rows), title="One and two jobs on equal fits (50 items, 3 ratings, four models)")
    show.line(
        f"two jobs / one job: median {statistics.median(ratios):.3f}, best {min(ratios):.3f} (wanted: at most 0.53)"
    )


def waiting(args: argparse.Namespace) -> None:
    """Time fits that only wait, 10 ms each: how well the runner shares them out, whatever else the machine does."""
    api.execute = lambda plan, store, backend, progress: execute(plan, store, backend, progress, _wait)
    seconds: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(args.repeats):
        for jobs in seconds:
            _warm(jobs)
            begun = time.perf_counter()
            run(_grid(), ["lm"], sims=args.sims, seed=1, jobs=jobs)
            seconds[jobs].append(time.perf_counter() - begun)
    api.execute = execute
    ratio = statistics.median(two / one for one, two in zip(*seconds.values(), strict=True))
    show.line(f"fits that only wait, two jobs / one job: median {ratio:.3f} (wanted: at most 0.53)")


def _wait(batch: Batch) -> Answer:
    time.sleep(0.01 * len(batch.fits))
    rows = [failed_row(batch.cell, fit, "ok", "", 0.01) for fit in batch.fits]
    return Answer(to_table(rows), 0.01 * len(batch.fits), {})


def cost(args: argparse.Namespace) -> None:
    """Compare the CPU time of a run, main process and worker, with that of a bare loop in the same worker."""
    grid = _grid()
    models = resolve(MODELS, grid.cells)
    rows = []
    for _ in range(args.repeats):
        run(grid, MODELS, sims=8, seed=9, engine="fast")
        begun = sum(map(_cpu, _workers()))
        LokyBackend(1).submit(bare_loop, (grid.cells[0], models, args.sims)).result()
        bare = sum(map(_cpu, _workers())) - begun
        begun, main = sum(map(_cpu, _workers())), time.process_time()
        run(grid, MODELS, sims=args.sims, seed=1, engine="fast")
        main, worker = time.process_time() - main, sum(map(_cpu, _workers())) - begun
        rows.append({"bare_loop": bare, "run_worker": worker, "run_main": main})
    show.table(pa.Table.from_pylist(rows), title=f"CPU seconds for {args.sims * len(MODELS)} fits")
    best = {name: min(row[name] for row in rows) for name in rows[0]}
    share = 100 * ((best["run_worker"] + best["run_main"]) / best["bare_loop"] - 1)
    show.line(f"the runner's own cost, best against best: {share:.2f} % (wanted: under 2 %)")
    show.line(f"of which the main process: {100 * best['run_main'] / best['bare_loop']:.2f} %")


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
    result = run(grid, ["lm"], sims=args.fits, seed=1, engine="fast", jobs=2, progress=look)
    seconds = time.perf_counter() - begun
    show.table(pa.Table.from_pylist(samples), title=f"Memory over {args.fits} fits ({seconds:.0f} s)")
    parts = [part.stat().st_size for part in (result.path / "fits").iterdir()]
    show.line(f"{len(parts)} parts, {sum(parts) / 1e6:.1f} MB on disk")
    early, last = samples[4], samples[-1]  # by then parts have been merged once, and all code is loaded
    show.line(
        f"from {early['fits']} fits to the end: main {last['main_mb'] - early['main_mb']:+.1f} MB, "
        f"largest worker {last['largest_worker_mb'] - early['largest_worker_mb']:+.1f} MB"
    )


def _grid() -> Grid:
    return Grid(preset="howcroft2021", variance="representative", items=50, ratings_per_text=3, effect=0.31)


def _workers() -> list[int]:
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return [int(pid) for pid in children if b"LokyProcess" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def _cpu(pid: int) -> float:
    """Return the CPU seconds that a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def _resident(pid: int) -> float:
    """Return the resident memory of a process in MB."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    main()
