"""What the bridge costs: the same fit through ordbridge and in plain R, side by side in one run.

    python benchmarks/bridge_tax.py [--cell FILE] [--rounds 8]

Both sides run in this process and take turns, so that they share the machine's noise: "plain R" is a closure that
calls ordinal::clmm and summary on a data frame that already lies in R; "ordbridge" is the whole call, from a pandas
table to a Fit. Times are processor time, which a busy machine blurs less; ratios are of the medians.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ordbridge.models.problem import Problem

CELL = Path(__file__).resolve().parents[2] / "shared" / "reference" / "cells" / "cell1.csv"
FORMULA = "y ~ model + (model | participant) + (model | item)"
PLAIN = """
function(formula, columns) {{
  data <- as_frame(columns)
  formula <- as_formula(formula)
  function() summary({call})
}}
"""


def plain_r(call: str, problem: Problem) -> Callable[[], object]:
    """Return a function that fits in R without anything of ordbridge around it."""
    from rpy2.rinterface import evalr

    from ordbridge.bridge.session import _get_session
    from ordbridge.bridge.values import to_r
    from ordbridge.models.r_engine import _columns

    evaluate: Any = evalr
    bound = evaluate("function(f, env) {environment(f) <- env; f}")
    make = bound(evaluate(PLAIN.format(call=call)), _get_session().functions)
    return make(to_r(str(problem.formula)), to_r(_columns(problem.columns)))


def simulated() -> pd.DataFrame:
    """Return a table like the published cell of 50 items and 3 ratings, where the file is not there."""
    from ordbridge import design, papers, simulate

    plan = design.howcroft2021(50, 3)
    truth = papers.howcroft2021.settings["low"].shift(effect=0.31)
    table = simulate.ratings(plan, truth, 1).to_pandas()
    return table.rename(columns={"rating": "y", "system": "model"})


def median_seconds(functions: list[Callable[[], object]], rounds: int) -> list[float]:
    """Time functions in turns."""
    times: list[list[float]] = [[] for _ in functions]
    for _ in range(rounds):
        for function, taken in zip(functions, times, strict=True):
            started = time.process_time()
            function()
            taken.append(time.process_time() - started)
    return [statistics.median(taken) for taken in times]


def import_seconds() -> float:
    code = "import time; t = time.perf_counter(); import ordbridge; print(time.perf_counter() - t)"
    command = [sys.executable, "-c", code]
    return min(float(subprocess.run(command, capture_output=True, text=True).stdout) for _ in range(5))


def main() -> None:
    import ordbridge as ob
    from ordbridge.models.prepare import prepare

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cell", type=Path, default=CELL)
    parser.add_argument("--rounds", type=int, default=8)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    data = pd.read_csv(args.cell) if args.cell.is_file() else simulated()
    random = np.random.default_rng(0)
    tiny = pd.DataFrame({"y": random.normal(size=30), "x": random.normal(size=30)})
    ob.lm("y ~ x", tiny)  # R is started

    big_r = plain_r('ordinal::clmm(formula, data = data, link = "probit")', prepare("clmm", FORMULA, data))
    big = median_seconds([big_r, lambda: ob.clmm(FORMULA, data, link="probit")], args.rounds)
    small_r = plain_r("lm(formula, data = data)", prepare("lm", "y ~ x", tiny))
    small = median_seconds([small_r, lambda: ob.lm("y ~ x", tiny)], 200)

    print("| what | plain R | ordbridge | |")
    print("|---|---|---|---|")
    print(f"| clmm, {len(data)} ratings | {big[0]:.2f} s | {big[1]:.2f} s | ratio {big[1] / big[0]:.3f} |")
    tax = 1000 * (small[1] - small[0])
    print(f"| lm, 30 rows | {1000 * small[0]:.1f} ms | {1000 * small[1]:.1f} ms | {tax:.1f} ms more |")
    print(f"| import ordbridge | | {import_seconds():.2f} s | without R |")


if __name__ == "__main__":
    main()
