"""Seconds of processor time for models with many random terms, many systems and crowds of raters.

    python benchmarks/many_factors.py [--r] [--peers PYTHON] [--large] [--only NAME ...]

Every fit has a process of its own and is charged its processor time: the best of several for those below a second. With
``--r`` lme4 fits the linear models of the same data, with lmerTest's degrees of freedom, and the log likelihoods are
compared; with ``--peers`` a Python that has mixedlm or gpboost fits InstEval's three crossed factors. ``--large`` adds
the 200,000 ratings. InstEval comes with lme4.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import json
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from ordbridge.bridge import rscript
from ordbridge.bridge.session import r_folder

FOUR = "rating ~ system + (1|participant) + (1|item) + (1|participant:system) + (1|item:system)"
SLOPES = "rating ~ system + (system|participant) + (system|item)"
THREE = "rating ~ service + (1|participant) + (1|item) + (1|dept)"
BATCH = "rating ~ system + (system|participant) + (system|item) + (1|batch)"
TWO = "rating ~ system + (1|participant) + (1|item)"
RATERS = "rating ~ system + (system|participant) + (1|item)"
CASES = {  # name: data, model, formula, whether it is large
    "four terms, clmm": ("study", "clmm", FOUR, False),
    "four terms, lmer": ("study", "lmer", FOUR, False),
    "slopes of four systems, clmm": ("study", "clmm", SLOPES, False),
    "slopes of four systems, lmer": ("study", "lmer", SLOPES, False),
    "(50, 3) and batches, clmm": ("cell", "clmm", BATCH, False),
    "(50, 3) and batches, lmer": ("cell", "lmer", BATCH, False),
    "InstEval, two factors, lmer": ("inst", "lmer", THREE.replace(" + (1|dept)", ""), False),
    "InstEval, three factors, lmer": ("inst", "lmer", THREE, False),
    "InstEval, three factors, clmm": ("inst", "clmm", THREE, False),
    "200,000 ratings, two intercepts, clmm": ("crowd", "clmm", TWO, True),
    "200,000 ratings, slopes of raters, clmm": ("crowd", "clmm", RATERS, True),
}
ROUNDS = 7  # of fits below a second


def ratings(participant: np.ndarray, item: np.ndarray, system: np.ndarray) -> pd.DataFrame:
    """Return five-point ratings with effects of all, and of systems within participants and items."""
    random = np.random.default_rng(3)
    people, items, systems = participant.max() + 1, item.max() + 1, system.max() + 1
    latent = 0.25 * system + 0.7 * random.normal(size=people)[participant] + 0.5 * random.normal(size=items)[item]
    latent = latent + 0.4 * random.normal(size=(people, systems))[participant, system]
    latent = latent + 0.5 * random.normal(size=(items, systems))[item, system] + random.normal(size=latent.size)
    rating = 1 + (latent[:, None] > [-1.0, -0.3, 0.4, 1.2]).sum(axis=1)
    columns = {"rating": rating, "participant": participant, "item": item, "system": [f"s{k}" for k in system]}
    return pd.DataFrame(columns)


def study() -> pd.DataFrame:
    """Return 1,440 ratings: 120 items of 4 systems, each rated by 3 of 72 participants, 20 ratings each."""
    item, system, rater = (index.ravel() for index in np.indices((120, 4, 3)))
    return ratings((item + 7 * system + 13 * rater) % 72, item, system)


def cell() -> pd.DataFrame:
    """Return a dataset of the published design with 50 items and 3 ratings, and six batches."""
    from ordbridge import design, papers, simulate

    truth = papers.howcroft2021.settings["representative"].shift(effect=0.31)
    table = simulate.ratings(design.howcroft2021(50, 3), truth, 1).to_pandas()
    return table.assign(batch=[f"b{i % 6}" for i in range(len(table))])


def inst() -> pd.DataFrame:
    """Return lme4's InstEval: 73,421 ratings of 1,128 lecturers by 2,972 students in 14 departments."""
    file = Path("/tmp") / "ordbridge-InstEval.csv"
    if not file.is_file():
        rscript.run(r_folder() / "baseline.R", "--export", "lme4::InstEval", file)
    table = pd.read_csv(file).rename(columns={"y": "rating", "s": "participant", "d": "item"})
    return table.astype({"service": str, "dept": str})


def crowd() -> pd.DataFrame:
    """Return 200,000 ratings of 10,000 items of 3 systems by 2,000 raters."""
    random = np.random.default_rng(5)
    item, system = np.arange(200_000) % 10_000, random.integers(0, 3, 200_000)
    return ratings(random.integers(0, 2_000, 200_000), item, system)


DATA = {"study": study, "cell": cell, "inst": inst, "crowd": crowd}


def one(name: str, engine: str) -> None:
    """Fit one model in this process and print its seconds and log likelihood."""
    import ordbridge as ob

    warnings.simplefilter("ignore")
    data, model, formula, _ = CASES[name]
    table = DATA[data]()
    options = {"link": "probit"} if model == "clmm" else {"REML": data == "inst"}
    fit = getattr(ob, model)
    fit("rating ~ system + (1|participant)", study(), engine=engine, **options)  # everything is loaded by now
    seconds: list[float] = []
    while not seconds or (sum(seconds) < 2.0 and len(seconds) < ROUNDS and min(seconds) < 1.0):
        begun = time.process_time()
        found = fit(formula, table, engine=engine, **options).estimates
        seconds.append(time.process_time() - begun)
    df = None if found.df is None else float(found.df[-1])
    said = {"seconds": min(seconds), "loglik": found.loglik, "df": df, "p": float(found.p_value[-1])}
    print(json.dumps(said | {"evaluations": found.evaluations, "converged": found.converged}))


PEER = """
import sys, time, warnings, pandas as pd
warnings.simplefilter("ignore")
table = pd.read_csv(sys.argv[2]).rename(columns={"y": "rating", "s": "participant", "d": "item"}).astype({"service": str})
if sys.argv[1] == "mixedlm":
    import mixedlm
    begun = time.process_time()
    fit = mixedlm.lmer("rating ~ service + (1|participant) + (1|item) + (1|dept)", table)
    print(time.process_time() - begun, float(fit.logLik().value if hasattr(fit.logLik(), "value") else fit.logLik()))
else:
    import gpboost, numpy as np
    X = np.column_stack([np.ones(len(table)), (table["service"] == "1").to_numpy(float)])
    begun = time.process_time()
    model = gpboost.GPModel(group_data=table[["participant", "item", "dept"]].to_numpy(), likelihood="gaussian", num_parallel_threads=1)
    model.fit(y=table["rating"].to_numpy(float), X=X)
    print(time.process_time() - begun, -float(model.get_current_neg_log_likelihood()))
"""


def peers(python: str) -> None:
    inst()
    for name in ("mixedlm", "gpboost"):
        done = subprocess.run(
            [python, "-c", PEER, name, "/tmp/ordbridge-InstEval.csv"], capture_output=True, text=True, check=False
        )
        said = done.stdout.split() if not done.returncode else None
        print(f"{name}: " + (f"{float(said[0]):.2f} s, log likelihood {said[1]}" if said else done.stderr[-300:]))


def measured(name: str, engine: str) -> dict:
    command = [sys.executable, __file__, "--one", name, engine]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--r", action="store_true", help="lme4 beside the linear models")
    parser.add_argument("--peers", help="a Python with mixedlm or gpboost")
    parser.add_argument("--large", action="store_true", help="200,000 ratings, too")
    parser.add_argument("--only", nargs="+", help="names of fits, or parts of them")
    arguments = parser.parse_args()
    if arguments.one:
        one(*arguments.one)
        return
    print("| fit | fast, s | log likelihood | df | evaluations | lme4, s | ratio | logLik, fast less R | df, R |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, (_, model, _, large) in CASES.items():
        if (large and not arguments.large) or (arguments.only and not any(part in name for part in arguments.only)):
            continue
        fast = measured(name, "fast")
        df = "–" if fast["df"] is None else f"{fast['df']:.4f}"
        text = f"| {name} | {fast['seconds']:.4f} | {fast['loglik']:.8f} | {df} | {fast['evaluations']} "
        if arguments.r and model == "lmer":
            r = measured(name, "r")
            ratio = f"{r['seconds'] / fast['seconds']:.0f}"
            text += f"| {r['seconds']:.3f} | {ratio} | {fast['loglik'] - r['loglik']:+.1e} | {r['df']:.4f} |"
        else:
            text += "| – | – | – | – |"
        print(text, flush=True)
    if arguments.peers:
        peers(arguments.peers)


if __name__ == "__main__":
    main()
