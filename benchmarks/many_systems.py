"""Seconds that a comparison of many systems takes, in points and on the latent scale with its bootstrap.

    python benchmarks/many_systems.py [--systems 14] [--items 155] [--raters 40] [--draws 199] [--jobs 2]
        [--estimand points latent]

Every item of every system is rated three times, by raters who have about as many ratings each. Prints wall-clock and
processor time, that of ended worker processes included.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import time
import warnings

import numpy as np
import pandas as pd
from joblib.externals.loky import get_reusable_executor

import ordbridge as ob
from ordbridge.comparison.api import CompareOptions


def study(systems: int, items: int, raters: int) -> pd.DataFrame:
    random = np.random.default_rng(7)
    item, system, repeat = (index.ravel() for index in np.indices((items, systems, 3)))
    participant = (item + 7 * system + 13 * repeat) % raters
    latent = 0.05 * system + 0.7 * random.normal(size=raters)[participant] + 0.5 * random.normal(size=items)[item]
    latent = latent + 0.3 * random.normal(size=(raters, systems))[participant, system]
    latent = latent + 0.4 * random.normal(size=(items, systems))[item, system] + random.normal(size=latent.size)
    rating = 1 + (latent[:, None] > [-1.0, -0.3, 0.4, 1.2]).sum(axis=1)
    names = [f"s{k:02d}" for k in system]
    return pd.DataFrame({"rating": rating, "system": names, "participant": participant, "item": item})


def spent() -> float:
    """Return seconds of this process and of its workers, which are counted once they have ended."""
    get_reusable_executor().shutdown(wait=True)
    own = os.times()
    return own.user + own.system + own.children_user + own.children_system


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", type=int, default=14)
    parser.add_argument("--items", type=int, default=155)
    parser.add_argument("--raters", type=int, default=40)
    parser.add_argument("--draws", type=int, default=199)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--estimand", nargs="+", default=["points", "latent"], choices=["points", "latent"])
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    table = study(arguments.systems, arguments.items, arguments.raters)
    print(f"{arguments.systems} systems, {len(table)} ratings, {arguments.raters} raters")
    for estimand in arguments.estimand:
        options = CompareOptions(test="bootstrap", draws=arguments.draws, jobs=arguments.jobs)
        more = {"options": options} if estimand == "latent" else {}
        begun, before = time.perf_counter(), spent()
        ob.compare(table, estimand=estimand, engine="fast", **more)
        seconds, load = time.perf_counter() - begun, os.getloadavg()[1]
        print(f"{estimand}: {seconds:.1f} s, {spent() - before:.1f} s of processor time, load {load:.1f}", flush=True)


if __name__ == "__main__":
    main()
