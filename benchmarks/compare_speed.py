"""How long ``ob.compare`` takes, in seconds of processor time: natively and through R, side by side.

    python benchmarks/compare_speed.py [PPLM.csv]

1,000 simulated ratings of four systems by twelve raters, and the ratings of PPLM if their file is named. The first
comparison of a process, which starts R and loads libraries, is not counted.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
import pandas as pd

import ordbridge as ob


def simulated() -> pd.DataFrame:
    """Return 1,000 ratings: every rater rates 21 texts of each of four systems."""
    random = np.random.default_rng(1)
    people, things = random.normal(0, 0.6, 12), random.normal(0, 0.6, 25)
    rows = [
        (
            f"p{p}",
            f"i{i}",
            "ABCD"[s],
            1 + sum(0.4 * s + people[p] + things[i] + random.logistic() > np.array([-1, 0.5, 2, 3])),
        )
        for p in range(12)
        for i in random.choice(25, 21, replace=False)
        for s in range(4)
    ]
    return pd.DataFrame(rows[:1000], columns=["participant", "item", "system", "rating"])


def main() -> None:
    """Print a row for each study."""
    warnings.simplefilter("ignore")
    studies = {"1,000 simulated ratings": simulated()}
    if len(sys.argv) > 1:
        studies["PPLM"] = pd.read_csv(sys.argv[1])[["participant", "item", "system", "rating"]]
    for engine in ("fast", "r"):
        ob.compare(simulated().iloc[:200], engine=engine, force=True, draws=19)
    print("| study | ratings | native | R |\n|---|---|---|---|")
    for name, ratings in studies.items():
        seconds = {}
        for engine in ("fast", "r"):
            started = time.process_time()
            found = ob.compare(ratings, engine=engine, force=True)
            seconds[engine] = time.process_time() - started
        formula = found.models["formula"][0].as_py()
        print(f"| {name}, {formula} | {len(ratings)} | {seconds['fast']:.1f} | {seconds['r']:.1f} |", flush=True)


if __name__ == "__main__":
    main()
