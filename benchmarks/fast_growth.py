"""How time and memory of the fast engine grow with the number of ratings, beside lme4 where that finishes.

    python benchmarks/fast_growth.py [--largest 1000000] [--lme4 100000] [--real FOLDER]

Participants and items are crossed: sparsely, every participant rates 20 of many items, and densely, every participant
rates half of the items. Each fit has a process of its own, whose processor time (the fit alone) and peak memory are
printed. The exponent is that of the best power law through the times of a model. ``--real`` names a folder with
pplm.csv; lme4's InstEval comes from R.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

SIZES = (1_000, 10_000, 100_000, 1_000_000)
FORMULA = "~ system + (1 | participant) + (1 | item)"
TIMEOUT = 7200


def sparse(ratings: int) -> tuple[np.ndarray, np.ndarray]:
    """Return who rates what: 20 ratings per participant, and items with about sqrt(ratings) of them in all."""
    items = max(20, int(2 * ratings**0.5))
    participants = ratings // 20
    random = np.random.default_rng(1)
    return np.repeat(np.arange(participants), 20), random.integers(0, items, 20 * participants)


def dense(ratings: int) -> tuple[np.ndarray, np.ndarray]:
    """Return who rates what: as many participants as items, every second pair."""
    levels = int((2 * ratings) ** 0.5)
    participant, item = np.divmod(np.arange(levels * levels), levels)
    keep = (participant + item) % 2 == 0
    return participant[keep], item[keep]


def study(crossing: str, ratings: int) -> pd.DataFrame:
    participant, item = {"sparse": sparse, "dense": dense}[crossing](ratings)
    random = np.random.default_rng(2)
    system = random.integers(0, 2, participant.size)
    latent = 0.3 * system + 0.7 * random.normal(size=participant.max() + 1)[participant]
    latent = latent + 0.5 * random.normal(size=item.max() + 1)[item] + random.normal(size=participant.size)
    rating = 1 + (latent[:, None] > [-1.0, -0.3, 0.4, 1.2]).sum(axis=1)
    return pd.DataFrame({"rating": rating, "system": system, "participant": participant, "item": item})


def inst_eval() -> pd.DataFrame:
    from ordbridge.bridge import rscript
    from ordbridge.bridge.session import r_folder

    file = Path("/tmp") / "ordbridge-InstEval.csv"
    rscript.run(r_folder() / "baseline.R", "--export", "lme4::InstEval", file)
    table = pd.read_csv(file)
    return table.rename(columns={"y": "rating", "s": "participant", "d": "item", "service": "system"})


def one(model: str, engine: str, what: str, ratings: str) -> None:
    """Fit one model in this process and print its seconds, peak memory and log likelihood."""
    import ordbridge as ob

    if what == "InstEval":
        table = inst_eval()
    elif what.endswith(".csv"):
        table = pd.read_csv(what)
    else:
        table = study(what, int(ratings))
    warnings.simplefilter("ignore")
    getattr(ob, model)(f"rating {FORMULA}", study("dense", 200), engine=engine)  # everything is loaded by now
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun = time.process_time()
    fit = getattr(ob, model)(f"rating {FORMULA}", table, engine=engine)
    seconds = time.process_time() - begun
    more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    said = {"rows": len(table), "seconds": seconds, "MB": more / 1024, "loglik": fit.estimates.loglik}
    print(json.dumps(said | {"evaluations": fit.estimates.evaluations}))


def measured(*arguments: str) -> dict | None:
    try:
        done = subprocess.run(
            [sys.executable, __file__, "--one", *arguments], capture_output=True, text=True, timeout=TIMEOUT, check=True
        )
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
        return None
    return json.loads(done.stdout.splitlines()[-1])


def line(name: str, model: str, fast: dict | None, r: dict | None) -> None:
    def shown(found: dict | None, key: str, form: str) -> str:
        return "–" if found is None else format(found[key], form)

    both = fast is not None and r is not None
    difference = f"{fast['loglik'] - r['loglik']:+.1e}" if both and fast and r else "–"
    print(
        f"| {name} | {model} | {shown(fast, 'rows', ',')} | {shown(fast, 'seconds', '.3g')} "
        f"| {shown(fast, 'MB', '.0f')} | {shown(fast, 'evaluations', 'd')} | {shown(r, 'seconds', '.3g')} "
        f"| {shown(r, 'MB', '.0f')} | {difference} |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--largest", type=int, default=SIZES[-1], help="most ratings")
    parser.add_argument("--lme4", type=int, default=100_000, help="most ratings for which lme4 is asked; 0: never")
    parser.add_argument("--real", type=Path, default=Path(__file__).resolve().parents[2] / "shared" / "data")
    arguments = parser.parse_args()
    if arguments.one:
        one(*arguments.one)
        return
    print("| crossing | model | ratings | fast, s | MB more | evaluations | lme4, s | MB more | logLik, fast less R |")
    print("|---|---|---|---|---|---|---|---|---|")
    exponents = []
    for crossing in ("sparse", "dense"):
        for model in ("clmm", "lmer"):
            times = []
            for ratings in (size for size in SIZES if size <= arguments.largest):
                fast = measured(model, "fast", crossing, str(ratings))
                asked = model == "lmer" and ratings <= arguments.lme4
                line(crossing, model, fast, measured(model, "r", crossing, str(ratings)) if asked else None)
                if fast:
                    times.append((np.log(fast["rows"]), np.log(fast["seconds"])))
            if len(times) > 1:
                exponents.append(f"{crossing} {model} {np.polyfit(*np.array(times).T, 1)[0]:.2f}")
    for what in ("InstEval", str(arguments.real / "pplm.csv")):
        for model in ("clmm", "lmer"):
            if what == "InstEval" or Path(what).is_file():
                r = measured(model, "r", what, "0") if model == "lmer" and arguments.lme4 else None
                line(Path(what).stem, model, measured(model, "fast", what, "0"), r)
    print(f"\nTime grows as ratings to the power of: {', '.join(exponents)}")


if __name__ == "__main__":
    main()
