"""The true power of what plans recommend: 20 questions, each answered, and the answer simulated again.

    python benchmarks/plans.py STORE [--datasets 2000] [--jobs 1] [--only NAME …] [--table]

Each question is planned with the defaults of ``ob.planning.plan`` (seed 0). The recommended design is then simulated
with another seed: as many datasets with the effect as ``--datasets`` says, and as many without, which give the critical
value at which the test keeps its level. Printed are the true power with its interval, and the overshoot: how many more
ratings the recommended design has than the smallest one that truly suffices, by the closed form corrected by these
simulations. STORE keeps every plan and every fit; a run that was stopped goes on, and ``--table`` prints what is there.
"""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import pandas as pd

from ordbridge.design import counterbalanced
from ordbridge.planning import Costs, Designs, Effect, PlannedAnalysis, Simulation, plan
from ordbridge.planning.candidates import RATINGS, usual_items
from ordbridge.planning.forecast_power import forecast_power
from ordbridge.planning.hypotheses import Simulations
from ordbridge.planning.type_one_error import null_grids
from ordbridge.power import Grid
from ordbridge.power.calibration import adjusted_power, critical_value
from ordbridge.power.models import Model
from ordbridge.simulate import Truth, ratings
from ordbridge.simulate.presets import HOWCROFT2021

CHECK_SEED = 20_001


def preset(variance: str, **more: Any) -> dict[str, Any]:
    return {"truth": HOWCROFT2021.settings[variance], **more}


def pilot(variance: str, effects: tuple[float, ...], items: int, texts: int, **more: Any) -> dict[str, Any]:
    setting = HOWCROFT2021.settings[variance]
    truth = (
        setting.shift(effect=effects[0])
        if len(effects) == 1
        else setting.shift(effects=effects, residual_spread=(), participant_corr=0.0, item_corr=0.0)
    )
    design = counterbalanced(items, 3, len(effects) + 1, texts_per_participant=texts)
    return {"truth": ratings(design, truth, seed=11), "simulation": Simulation(draws=10), **more}


def three(model: str, test: Any) -> dict[str, Any]:
    return preset("low", effect=[0.6, 0.4], analysis=PlannedAnalysis(model, test=test, systems=3))


def questions() -> dict[str, dict[str, Any]]:
    """Return the questions by name, those that take least first."""
    prices = Costs(rating=0.12, participant=1.5, fee=0.25, currency="£")
    lmer = PlannedAnalysis("lmer")
    return {
        "extra-low .5": preset("extra-low", effect=0.5),
        "low .6": preset("low", effect=0.6),
        "low .6 lmer": preset("low", effect=0.6, analysis=lmer),
        "low 0.5 points": preset("low", effect=Effect(0.5, "points")),
        "low superiority .62": preset("low", effect=Effect(0.62, "superiority")),
        "low .6 90 %": preset("low", effect=0.6, target=0.9),
        "representative .6": preset("representative", effect=0.6),
        "representative .6 alpha .01": preset("representative", effect=0.6, analysis=PlannedAnalysis(alpha=0.01)),
        "high .7": preset("high", effect=0.7),
        "low .5 priced": preset("low", effect=0.5, costs=prices),
        "low .5 £300": preset("low", effect=0.5, costs=replace(prices, budget=300.0)),
        "representative .6 40 texts": preset("representative", effect=0.6, designs=Designs(texts_per_participant=40)),
        "representative .7 10 texts": preset("representative", effect=0.7, designs=Designs(texts_per_participant=10)),
        "low .6 two criteria": preset("low", effect=0.6, analysis=PlannedAnalysis(criteria=2)),
        "low .4": preset("low", effect=0.4),
        "pilot low .6": pilot("low", (0.5,), 30, 20, effect=0.6),
        "pilot representative .6 lmer": pilot("representative", (0.5,), 30, 20, effect=0.6, analysis=lmer),
        "three systems lmer pair": three("lmer", ("A", "B")),
        "three systems any": three("lmer", "any"),
        "three systems pair": three("clmm", ("A", "B")),
    }


def answered(asked: dict[str, Any], folder: Path, jobs: int) -> dict[str, Any]:
    """Return what the plan recommends, from the store if it is there."""
    file = folder / "answer.json"
    if file.exists():
        return json.loads(file.read_text())
    found = plan(**asked, jobs=jobs, store=folder / "plan")
    answer = {
        "recommended": found.recommended,
        "asked": found.settings,
        "sentence": str(found),
    }
    folder.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(answer))
    return answer


def checked(answer: dict[str, Any], folder: Path, n: int, jobs: int) -> dict[str, Any]:
    """Simulate the recommended design again."""
    best, asked = answer["recommended"], answer["asked"]
    truth = Truth.from_dict(asked["truth"])
    texts = asked["texts_per_participant"]
    design = {"kind": "counterbalanced", "texts_per_participant": texts}
    size = {"items": best["items"], "ratings_per_text": int(best["ratings_per_text"])}
    grid = Grid(truth=truth, design=design, **size)
    link = {"link": truth.link} if asked["model"] in ("clm", "clmm") else {"REML": asked["REML"]}
    model = Model(asked["model"], asked["formula"], asked["term"], name=asked["model"], **link)
    several = {"criteria": asked["criteria"], "correlation": asked["correlation"] or 0.5}
    simulations = Simulations(model, folder / "check", CHECK_SEED, "fast", jobs, asked["alpha"], **several)
    p = simulations.p_values(grid, n)
    if asked["calibrated"]:
        critical = min(
            (critical_value(simulations.p_values(null, n), asked["alpha"]) for null in null_grids(grid, simulations)),
            key=lambda c: c.value,
        )
        found = adjusted_power(p, critical)
        power, (low, high) = found.significant / found.n, found.interval()
    else:
        from ordbridge.power.estimates import clopper_pearson

        hits = int((p < asked["alpha"]).sum())
        power, (low, high) = hits / p.size, clopper_pearson(hits, p.size)
    return {
        "n": p.size,
        "power": power,
        "low": low,
        "high": high,
        "overshoot": _overshoot(answer, power, model, truth, n),
    }


def _overshoot(answer: dict[str, Any], power: float, model: Model, truth: Truth, n: int) -> float | None:
    """Return how many more ratings the recommended design has than the smallest that truly suffices."""
    asked, best = answer["asked"], answer["recommended"]
    labels = [chr(ord("A") + i) for i in range(truth.systems)]
    texts = asked["texts_per_participant"]
    closed = forecast_power(truth, model, labels, asked["alpha"], texts, asked["calibrated"])
    if closed is None or asked["criteria"] > 1:
        return None
    effect = max(map(abs, truth.effects))
    exact = closed.corrected([(effect, best["items"], best["ratings_per_text"], power * 1e6, 1e6)])
    sizes = [(m * r * truth.systems, m, r) for m in usual_items(max(10, texts)) for r in RATINGS]
    powers = exact.power(effect, [m for _, m, _ in sizes], [r for _, _, r in sizes])
    enough = [ratings for (ratings, _, _), p in zip(sizes, powers, strict=True) if p >= asked["target"]]
    return best["ratings"] / min(enough) - 1 if enough and Costs(**asked["costs"]).counted else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", type=Path)
    parser.add_argument("--datasets", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", nargs="+", metavar="NAME")
    parser.add_argument("--table", action="store_true", help="print what is there")
    args = parser.parse_args()
    rows = []
    for name, asked in questions().items():
        folder = args.store / name.replace(" ", "-").replace("%", "percent")
        result = folder / f"check-{args.datasets}.json"
        if (args.only and name not in args.only) or (args.table and not result.exists()):
            continue
        answer = answered(asked, folder, args.jobs)
        best = answer["recommended"]
        row: dict[str, Any] = {"question": name, "target": answer["asked"]["target"]}
        if best is None:
            print(pd.DataFrame([row | {"design": "none recommended"}]).to_string(index=False, header=False), flush=True)
            continue
        if not result.exists():
            result.write_text(json.dumps(checked(answer, folder, args.datasets, args.jobs)))
        true = json.loads(result.read_text())
        row |= {
            "design": f"{best['items']} × {best['ratings_per_text']:g}",
            "decided by": best["n"],
            "planned": round(best["power"], 3),
            "true power": round(true["power"], 3),
            "low": round(true["low"], 3),
            "high": round(true["high"], 3),
            "overshoot": None if true["overshoot"] is None else round(true["overshoot"], 2),
        }
        rows.append(row)
        print(pd.DataFrame([row]).to_string(index=False, header=len(rows) == 1), flush=True)
    table = pd.DataFrame(rows)
    if len(table):
        below = table[table["high"] < table["target"]]
        print(f"\n{len(table)} plans, {len(below)} surely below their target; {args.datasets} datasets each.")
        over = table["overshoot"].dropna()
        print(f"Overshoot in ratings: median {over.median():.0%}, largest {over.max():.0%}.")
        optimism = (table["planned"] - table["true power"]).mean()
        print(f"The power in the plan less the true one: {optimism:.3f} on average.")


if __name__ == "__main__":
    main()
