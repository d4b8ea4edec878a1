"""How many times faster the fast engine is than R, on the same data in one run.

    python benchmarks/fast_speed.py [--quick] [--cells FOLDER]

R is called through ordbridge and fits every dataset once by clmm (its fits take up to minutes) and five times by lmer,
the fast engine several times more, of which the median counts; both are charged processor time, which a busy machine
blurs less. ``--quick`` leaves out
what takes R more than half a minute. The cells are those of the published design, from the folder of reference tables
if it is there, otherwise simulated alike.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import statistics
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from ordbridge import design, fast, papers, power, simulate
from ordbridge.models import r_engine
from ordbridge.models.prepare import prepare
from ordbridge.models.problem import Estimates, Problem
from ordbridge.power.models import resolve
from ordbridge.power.worker import Batch, FitTask, fit_batch

CELLS = Path(__file__).resolve().parents[2] / "shared" / "reference" / "cells"
GRID = [(50, 3), (50, 10), (100, 3), (100, 10), (500, 3), (500, 10)]
FORMULA = "y ~ model + (model | participant) + (model | item)"


def cell(number: int, folder: Path) -> pd.DataFrame:
    """Return one dataset on the published design."""
    file = folder / f"cell{number}.csv"
    if file.is_file():
        return pd.read_csv(file)
    return simulated(design.howcroft2021(*GRID[number - 1]))


def simulated(plan: object) -> pd.DataFrame:
    """Return ratings of two systems on a design."""
    truth = papers.howcroft2021.settings["representative"].shift(effect=0.31)
    table = simulate.ratings(plan, truth, 1).to_pandas()
    model = (table["system"] == sorted(table["system"].unique())[-1]).astype(float)
    return table.rename(columns={"rating": "y"}).assign(model=model)


def clmm_problem(table: pd.DataFrame, start: str | None = None, formula: str = FORMULA) -> Problem:
    return prepare("clmm", formula, table, link="probit", threshold="flexible", nAGQ=1, start=start)


def lmer_problem(table: pd.DataFrame, formula: str = FORMULA) -> Problem:
    return prepare("lmer", formula, table, REML=False, ddf="Satterthwaite")


def seconds(fit: Callable[[], Estimates], rounds: int) -> tuple[float, Estimates]:
    """Return the median processor time of a fit, and its result."""
    times = []
    for _ in range(rounds):
        begun = time.process_time()
        found = fit()
        times.append(time.process_time() - begun)
    return statistics.median(times), found


def side_by_side(name: str, problem: Problem, term: str = "model") -> None:
    """Print one line: R's seconds, the fast engine's milliseconds, their ratio, and both p-values and likelihoods."""
    fast.fit(problem)
    fast_time, ours = seconds(lambda: fast.fit(problem), 25 if problem.model == "lmer" else 7)
    r_time, theirs = seconds(lambda: r_engine.fit(problem), 5 if problem.model == "lmer" else 1)
    p = [found.p_value[found.terms.index(term)] for found in (theirs, ours)]
    print(
        f"| {name} | {r_time:.2f} | {1000 * fast_time:.2f} | {r_time / fast_time:.0f} | {p[0]:.6g} | {p[1]:.6g} "
        f"| {ours.loglik - theirs.loglik:+.1e} |",
        flush=True,
    )


def four_models(rounds: int = 300) -> None:
    """Print what all four models of one (50, 3) dataset cost, simulation included, and what the grid would take."""
    ms = {size: four_models_of(*size, rounds if size[0] < 500 else 10) for size in GRID}
    print("\n| items, ratings | " + " | ".join(f"{i}, {r}" for i, r in ms) + " |")
    print("|---|" + "---|" * len(ms))
    print("| simulation, four models, ms per dataset | " + " | ".join(f"{value:.1f}" for value in ms.values()) + " |")
    again = [four_models_of(50, 3, rounds) for _ in range(4)]  # a shared machine: how much does it vary?
    print(f"\n(50, 3) four times more: {', '.join(f'{value:.1f}' for value in again)} ms per dataset")
    alone = {kind: four_models_of(50, 3, rounds, (kind,)) for kind in ("lm", "clm", "lmer", "clmm")}
    print(f"(50, 3), simulation and one model: {', '.join(f'{kind} {ms:.1f}' for kind, ms in alone.items())} ms")
    minutes = 5 * 4 * 100 * sum(ms.values()) / 1000 / 60 / 2
    print(f"\nThe published grid (5 settings × 24 cells × 100 datasets × 4 models): {minutes:.1f} minutes on 2 cores")


def four_models_of(
    items: int, ratings: int, rounds: int, kinds: tuple[str, ...] = ("lm", "clm", "lmer", "clmm")
) -> float:
    """Return milliseconds of processor time a dataset, as the worker of a power run spends them."""
    grid = power.Grid(preset="howcroft2021", items=items, ratings_per_text=ratings, effect=0.31)  # all five settings
    models = resolve(kinds, grid.cells, preset=grid.preset)
    datasets, seconds = max(1, rounds // 5), 0.0
    for cell in grid.cells:
        for count in (1, datasets):  # the first loads what is compiled and makes the cell ready, as a worker does once
            tasks = tuple(FitTask(i, model, "fast") for i in range(count) for model in models)
            begun = time.process_time()
            fit_batch(Batch(cell, 1, tasks))
            spent = time.process_time() - begun
        seconds += spent
    return 1000 * seconds / (datasets * len(grid.cells))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="leave out what takes R more than half a minute")
    parser.add_argument("--cells", type=Path, default=CELLS, help="folder with cell1.csv … cell6.csv")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    four_models()
    print("\n| fit | R, s | fast, ms | ratio | p, R | p, fast | logLik, fast less R |")
    print("|---|---|---|---|---|---|---|")
    tables = [cell(number, arguments.cells) for number in range(1, 7)]
    r_engine.fit(lmer_problem(tables[0]))  # R has started and loaded its packages
    r_engine.fit(prepare("clm", "y ~ model", tables[0], link="probit", threshold="flexible"))
    for size, table in zip(GRID, tables, strict=True):
        side_by_side(f"lmer {size}", lmer_problem(table))
    for size, table in zip(GRID, tables, strict=True):
        if not arguments.quick or size in ((50, 3), (100, 3)):
            side_by_side(f"clmm {size}", clmm_problem(table))
    if not arguments.quick:
        connected = simulated(design.counterbalanced(500, 3, texts_per_participant=20, seed=1))
        side_by_side("clmm (500, 3), connected", clmm_problem(connected))
    three = tables[0].assign(batch=[f"b{i % 6}" for i in range(len(tables[0]))])
    formula = f"{FORMULA} + (1 | batch)"
    side_by_side("lmer (50, 3), three factors", lmer_problem(three, formula))
    if not arguments.quick:
        side_by_side("clmm (50, 3), three factors", clmm_problem(three, formula=formula))
    started(tables[0])


def started(table: pd.DataFrame) -> None:
    """Print how much faster R's own clmm is when it starts at the fast optimum."""
    plain_time, plain = seconds(lambda: r_engine.fit(clmm_problem(table)), 1)
    fast_time, began = seconds(lambda: r_engine.fit(clmm_problem(table, start="fast")), 1)
    print(
        f"\nR's clmm (50, 3) from its own start: {plain_time:.1f} s, {plain.evaluations} evaluations; "
        f'with start="fast": {fast_time:.1f} s, {began.evaluations} evaluations: '
        f"{plain_time / fast_time:.1f} times faster, "
        f"p {plain.p_value[plain.terms.index('model')]:.6g} and {began.p_value[began.terms.index('model')]:.6g}"
    )


if __name__ == "__main__":
    main()
