"""How the time of a clmm grows with the number of ratings: R from its own start, R from the native optimum, natively.

    python benchmarks/growth.py [--cells FOLDER]

On the six published cells, 300 to 10,000 ratings (simulated alike if the folder is not there); about five minutes of
processor time. The power is the slope of log time on log size. Forecasts of power runs rest on it
(``GROWTH`` in power/queue.py).
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import fast_speed
import numpy as np

import ordbridge as ob

WAYS = {
    "R, its own start": {"engine": "r"},
    "R, start='fast'": {"engine": "r", "start": "fast"},
    "natively": {"engine": "fast"},
}


def seconds(number: int, cells: Path, options: dict[str, str]) -> tuple[int, float]:
    """Return the size of a published cell and the processor time of its fit."""
    table = fast_speed.cell(number, cells)
    begun = time.process_time()
    ob.clmm(fast_speed.FORMULA, table, link="probit", **options)
    return len(table), time.process_time() - begun


def main() -> None:
    """Print a row per way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=Path, default=fast_speed.CELLS, help="folder with cell1.csv … cell6.csv")
    cells = parser.parse_args().cells
    warnings.simplefilter("ignore")
    for options in WAYS.values():
        seconds(1, cells, options)  # the first fit of an engine pays for its start
    numbers = range(1, len(fast_speed.GRID) + 1)
    for way, options in WAYS.items():
        times = sorted(seconds(number, cells, options) for number in numbers)
        power = np.polyfit(*np.log(times).T, 1)[0]
        told = ", ".join(f"{size} ratings {spent:.3g} s" for size, spent in times)
        print(f"{way}: power {power:.2f} ({told})", flush=True)


if __name__ == "__main__":
    main()
