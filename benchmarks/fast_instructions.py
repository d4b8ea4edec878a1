"""How many instructions a fit of the fast engine takes, and where: the core, Python, NumPy, the rest.

    python benchmarks/fast_instructions.py [--fits 5] [--cells FOLDER]

Callgrind (valgrind) counts instructions, which no other program on the machine changes; what it leaves out is how long
each takes. It runs the code for AVX2, whatever the machine has. The first fit of a process is not counted.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import fast_speed

PARTS = {"_core": "core", "libpython": "Python", "python3": "Python", "multiarray": "NumPy", "linalg": "NumPy"}
PARTS |= {"openblas": "NumPy", "libc.so": "C library"}
CASES = ["lmer 1", "lmer 2", "lmer 3", "lmer 6", "clmm 1", "clmm 6", "clmm connected", "four models"]


def case(name: str, folder: Path) -> Callable[[], object]:
    """Return what is counted: a fit, or simulation and the four models of one dataset."""
    if name == "four models":
        grid = fast_speed.power.Grid(preset="howcroft2021", items=50, ratings_per_text=3, effect=0.31)
        models = fast_speed.resolve(("lm", "clm", "lmer", "clmm"), grid.cells, preset=grid.preset)
        tasks = tuple(fast_speed.FitTask(0, model, "fast") for model in models)
        return lambda: fast_speed.fit_batch(fast_speed.Batch(grid.cells[0], 1, tasks))
    model, which = name.split()
    if which == "connected":
        table = fast_speed.simulated(fast_speed.design.counterbalanced(500, 3, texts_per_participant=20, seed=1))
    else:
        table = fast_speed.cell(int(which), folder)
    problem = {"lmer": fast_speed.lmer_problem, "clmm": fast_speed.clmm_problem}[model](table)
    return lambda: fast_speed.fast.fit(problem)


def counted(name: str, fits: int, folder: Path) -> None:
    """Run the case under callgrind, which is told when to begin."""
    run = case(name, folder)
    run()
    control = ["callgrind_control", "-i"]
    subprocess.run([*control, "on", str(os.getpid())], check=True, capture_output=True)
    for _ in range(fits):
        run()
    subprocess.run([*control, "off", str(os.getpid())], check=True, capture_output=True)


def instructions(file: Path) -> Counter[str]:
    """Add up the instructions of every library in callgrind's file."""
    names: dict[str, str] = {}
    found: Counter[str] = Counter()
    library, called = "", False
    for line in file.read_text(errors="replace").splitlines():
        if match := re.match(r"(c?ob)=\((\d+)\)(?: (.*))?", line):
            kind, number, name = match.groups()
            if name:
                names[number] = name
            if kind == "ob":
                library = names[number]
        elif line.startswith("calls="):
            called = True  # the next line has the cost of the call, which the called function counts itself
        elif match := re.match(r"[+\-*\d]\S* (\d+)$", line):
            if not called:
                part = next((part for key, part in PARTS.items() if key in Path(library).name), "other")
                found[part] += int(match.group(1))
            called = False
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fits", type=int, default=5)
    parser.add_argument("--cells", type=Path, default=fast_speed.CELLS, help="folder with cell1.csv … cell6.csv")
    parser.add_argument("--only", choices=CASES, action="append", help="these cases instead of all")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    wanted = parser.parse_args()
    if wanted.one:
        counted(wanted.one, wanted.fits, wanted.cells)
        return
    shown = list(dict.fromkeys([*PARTS.values(), "other"]))
    print("| millions of instructions per fit | all | " + " | ".join(shown) + " |\n|---|---|" + "---|" * len(shown))
    for name in wanted.only or CASES:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "counts"
            command = ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={file}"]
            program = [sys.executable, __file__, "--one", name]
            options = ["--fits", str(wanted.fits), "--cells", str(wanted.cells)]
            fixed = os.environ | {"PYTHONHASHSEED": "0"}
            subprocess.run([*command, *program, *options], check=True, capture_output=True, env=fixed)
            found = instructions(file)
        millions = [found[part] / wanted.fits / 1e6 for part in shown]
        print(
            f"| {name} | {sum(millions):.2f} | " + " | ".join(f"{value:.2f}" for value in millions) + " |", flush=True
        )


if __name__ == "__main__":
    main()
