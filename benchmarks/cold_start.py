"""How long the first fit of a fresh process takes, import included, for every model, link and threshold.

    python benchmarks/cold_start.py [--python /path/to/another/python]

Every fit has a process of its own, from the start of the interpreter to the answer; printed are the wall-clock time of
the first round and the least of three, and the least processor time, which is the one to look at on a busy machine.
``--python`` names an interpreter with another version of ordbridge, whose first round then also shows what an empty
cache of compiled code costs (numba's is put into a temporary folder).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from itertools import product

LINKS = ("probit", "logit", "cloglog", "loglog", "cauchit")
THRESHOLDS = ("flexible", "symmetric", "equidistant")
CODE = """
import ordbridge as ob
n = 240
table = {{
    "rating": [1 + (7 * i * i + 3 * (i % 20) + i // 40) % 5 for i in range(n)],
    "system": ["AB"[i % 2] for i in range(n)],
    "participant": [f"p{{i // 20}}" for i in range(n)],
    "item": [f"i{{i % 20}}" for i in range(n)],
}}
import warnings
warnings.simplefilter("ignore")
ob.{model}("{formula}", table, engine="fast"{options})
"""
MIXED = "rating ~ system + (system | participant) + (system | item)"


def cases() -> list[tuple[str, str]]:
    """Return the name and the program of every case."""
    found = []
    for model, formula in (("clm", "rating ~ system"), ("clmm", MIXED)):
        for link, threshold in product(LINKS, THRESHOLDS):
            options = f', link="{link}", threshold="{threshold}"'
            found.append((f"{model} {link} {threshold}", CODE.format(model=model, formula=formula, options=options)))
    for model, formula in (("lm", "rating ~ system"), ("lmer", MIXED)):
        found.append((model, CODE.format(model=model, formula=formula, options="")))
    return found


def seconds(python: str, program: str, rounds: int, environment: dict[str, str]) -> tuple[list[float], float]:
    """Return the wall-clock time of every round, and the least processor time."""
    times, spent = [], []
    for _ in range(rounds):
        begun, before = time.perf_counter(), os.times()
        subprocess.run([python, "-c", program], check=True, env=environment, capture_output=True)
        times.append(time.perf_counter() - begun)
        after = os.times()
        spent.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return times, min(spent)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="interpreter of the installation to measure")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    worst = most = 0.0
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"NUMBA_CACHE_DIR": cache}
        print("| first fit of a process | first round, s | least, s | processor, s |\n|---|---|---|---|")
        for name, program in [("an interpreter that does nothing", "pass"), *cases()]:
            times, processor = seconds(arguments.python, program, arguments.rounds, environment)
            worst, most = max(worst, min(times)), max(most, processor)
            print(f"| {name} | {times[0]:.2f} | {min(times):.2f} | {processor:.2f} |", flush=True)
    print(f"\nThe slowest needs {worst:.2f} s, of which {most:.2f} s on a processor.")


if __name__ == "__main__":
    main()
