"""How long does it take to read and to check a million ratings? Processor time of this process and all its threads.

    python benchmarks/read_million.py [rows, default 1000000] [times, default 3]

The file is a CSV of 100 raters, 2,500 items and 4 systems, every rater with every text, with names and whole numbers;
it is written once, and read and checked again and again. Prints the median of the times.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

import ordbridge as ob


def write(path: Path, rows: int) -> None:
    """Write ratings of a crossed design, the rows in random order."""
    random = np.random.default_rng(31)
    place = random.permutation(rows)
    columns = {
        "worker_id": [f"W{n:03d}" for n in place % 100],
        "doc": [f"doc {n}" for n in place // 400],
        "model": [f"sys-{'abcd'[n]}" for n in place // 100 % 4],
        "score": random.integers(1, 6, rows),
    }
    csv.write_csv(pa.table(columns), path)


def main() -> None:
    """Read and check the file, and print how much processor time both took."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    times = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ratings.csv"
        write(path, rows)
        reading, checking = [], []
        for _ in range(times):
            start = time.process_time()
            ratings = ob.read(path)
            middle = time.process_time()
            found = ob.check(ratings)
            end = time.process_time()
            reading.append(middle - start)
            checking.append(end - middle)
            shape = [len(ratings.table[role].unique()) for role in ("participant", "item", "system")]
        print(f"{ratings.table.num_rows:,} ratings of {shape} raters, items, systems; {len(found.findings)} findings")
        read, check = statistics.median(reading), statistics.median(checking)
        print(f"read {read:.2f} s, check {check:.2f} s, both {read + check:.2f} s of processor time (asked: under 5)")


if __name__ == "__main__":
    main()
