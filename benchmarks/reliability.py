"""How long all coefficients of reliability and their intervals take: the 17,466 ratings of Flickr-8k, and crowds.

Run it from the project's root: ``python benchmarks/reliability.py [flickr8k.csv]``, or with ``crowds`` for the last
part only. It prints one table; where the file is absent it makes ratings of the same size. The last column is what as
many calls of the independent implementation named there as the jackknife has values would take, estimated from single
calls.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

from ordbridge import reliability
from ordbridge.errors import StatisticalWarning
from ordbridge.reliability.analysis import coefficients_for

FLICKR = Path(__file__).resolve().parents[1] / "../shared/data/flickr8k.csv"
VALUES = 51  # of a jackknife over items: of all ratings, and without each of 50 groups of items


def made_up() -> np.ndarray:
    rng = np.random.default_rng(1)
    return np.clip(np.round(1.6 + rng.normal(size=(5822, 1)) + rng.normal(scale=0.5, size=(5822, 3))), 1, 4)


def seconds(call, *args, **options) -> float:
    start = time.perf_counter()
    call(*args, **options)
    return time.perf_counter() - start


def one_at_a_time(ratings: np.ndarray) -> dict[str, tuple[str, float]]:
    """Return, for some coefficients, the library and the time of as many calls as there are values (from three)."""
    import krippendorff
    from scipy import stats
    from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

    pairs = [(ratings[:, a], ratings[:, b]) for a, b in ((0, 1), (0, 2), (1, 2))]
    calls = {
        "Fleiss' κ": ("statsmodels", lambda: fleiss_kappa(aggregate_raters(ratings)[0])),
        "Krippendorff's α, ratio": (
            "krippendorff",
            lambda: krippendorff.alpha(ratings.T, level_of_measurement="ratio"),
        ),
        "Kendall's τ-b": ("scipy", lambda: [stats.kendalltau(a, b) for a, b in pairs]),
        "Spearman's ρ": ("scipy", lambda: [stats.spearmanr(a, b) for a, b in pairs]),
    }
    return {name: (library, min(seconds(call) for _ in range(3)) * VALUES) for name, (library, call) in calls.items()}


def crowd(items: int, raters: int, per_item: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    quality, severity = rng.normal(size=items), 0.4 * rng.normal(size=raters)
    item = np.repeat(np.arange(items), per_item)
    rater = np.concatenate([rng.choice(raters, per_item, replace=False) for _ in range(items)])
    seen = 3 + quality[item] + severity[rater] + 0.7 * rng.normal(size=len(item))
    return {"item": item, "participant": rater, "rating": np.clip(np.round(seen), 1, 5).astype(int)}


def crowds() -> None:
    """Run the whole command on crowds, each in a process of its own: processor seconds, peak memory, lines shown."""
    for items, raters, per_item in ((800, 93, 5), (40_000, 2_000, 5), (100, 2_000, 2_000)):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "crowd.csv"
            csv.write_csv(pa.table(crowd(items, raters, per_item)), file)
            command = [sys.executable, "-m", "ordbridge", "reliability", str(file)]
            with tempfile.TemporaryFile("w+") as shown:
                child = subprocess.Popen(command, stdout=shown, stderr=subprocess.DEVNULL)
                _, status, used = os.wait4(child.pid, 0)
                child.returncode = os.waitstatus_to_exitcode(status)
                shown.seek(0)
                lines = len(shown.read().splitlines())
        if child.returncode:
            raise SystemExit(f"{' '.join(command)} failed")
        took = used.ru_utime + used.ru_stime
        print(
            f"ordbridge reliability, {raters} raters, {items * per_item} ratings: {took:.1f} s of the processor, "
            f"{used.ru_maxrss / 1e6:.2f} GB, {lines} lines"
        )


def main() -> None:
    if sys.argv[1:] == ["crowds"]:
        crowds()
        return
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else FLICKR
    ratings = reliability.prepare(path if path.is_file() else made_up())
    wanted = {name: (function, options) for level in ("nominal", "ordinal", "interval", "ratio")
              for name, _, function, options in coefficients_for(level)}  # fmt: skip
    reliability.kendall_w(ratings)  # scipy's import is not what is measured
    alone = one_at_a_time(ratings.values)
    print(f"{len(ratings.items)} items, {len(ratings.raters)} raters, intervals from {VALUES} values")
    print(f"{'coefficient':32} {'seconds':>8}   {VALUES} calls of a library")
    total = 0.0
    for name, (function, options) in wanted.items():
        took = seconds(function, ratings, **options)
        total += took
        library, slow = alone.get(name, ("", 0.0))
        print(f"{name:32} {took:8.3f}   " + (f"{library}: {slow:.1f} s, {slow / took:.0f} ×" if library else ""))
    print(f"{'all ' + str(len(wanted)):32} {total:8.3f}")
    if path.is_file():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StatisticalWarning)
            took = seconds(reliability.analyse, path, level="interval")
        print(f"{'analyse(level=interval), from file':32} {took:6.3f}")
    crowds()


if __name__ == "__main__":
    main()
