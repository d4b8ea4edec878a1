"""How often a study rejects a true null if somebody runs ``ordbridge stop`` after every participant.

    python benchmarks/looks_size.py STORE [--studies 1000] [--models clmm lmer] [--jobs 1]

Studies without a difference (24 participants who rate 10 texts each, planned looks after 12 and 24) are fitted with all
ratings so far after each participant from the first planned look on. Printed is the share that crosses a boundary at
any look: by the rule of ordbridge 0.2.0, which compared each look with the boundary of the last planned one; by the
ledger, in which looks that were not planned spend alpha (Lan & DeMets 1983); and with the planned looks only. The
plan's boundaries are those of normal theory times the factor that half of the studies give at the planned looks, for
the other half, and the other way round. STORE keeps every study, and a run goes on where it was stopped. ``--studies
0`` prints the first rows only: 400,000 studies whose z follows a Brownian motion.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from ordbridge.design import counterbalanced
from ordbridge.models.inference.resampling import results
from ordbridge.planning.interim import NEAR, next_boundary
from ordbridge.planning.ledger import TakenLook
from ordbridge.planning.looks import _Study
from ordbridge.planning.protocol import Protocol
from ordbridge.planning.stopping import SHAPES, boundaries
from ordbridge.power.models import Model
from ordbridge.simulate import Truth

PEOPLE, FIRST = 24, 12
NORMAL = 400_000
MIXED = "rating ~ system + (1 | participant) + (1 | item)"
TRUTH = Truth(effects=0.0, thresholds=(-1, 0, 1), participant_sd=(0.5, 0.0), item_sd=(0.5, 0.0))
MODELS = {"clmm": Model("clmm", MIXED, "systemB", link="probit"), "lmer": Model("lmer", MIXED, "systemB", REML=True)}


def plan_of(shape: str) -> Protocol:
    """Return a plan with two looks; of its fields only those about looks matter here."""
    looks = tuple(
        {"look": k + 1, "share": (k + 1) / 2, "participants": (k + 1) * FIRST, "critical": value, "normal": value}
        for k, value in enumerate(boundaries(2, shape=shape))
    )
    nothing = dict.fromkeys(Protocol.__dataclass_fields__)
    return Protocol(**{**nothing, "alpha": 0.05, "looks": looks, "shape": shape})  # type: ignore[arg-type]


def rules(plan: Protocol, people: list[int]) -> dict[str, np.ndarray]:
    """Return the boundary at each number of participants, by each rule."""
    critical = [row["normal"] for row in plan.looks]
    before, ledger = None, []
    for n in people:
        at = next_boundary(plan, before, n)
        values = tuple(None if np.isinf(value) else value for value in at.critical)
        before = TakenLook("", "", "", at.planned, at.as_planned, at.times, values, {"stop": False})
        ledger.append(at.value)
    last = [n >= (1 - NEAR) * PEOPLE for n in people]
    return {
        "0.2.0": np.where(last, critical[1], critical[0]),
        "ledger": np.array(ledger),
        "planned looks only": np.where(
            np.isin(people, [FIRST, PEOPLE]), np.where(last, critical[1], critical[0]), np.inf
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", type=Path)
    parser.add_argument("--studies", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    args = parser.parse_args()
    args.store.mkdir(parents=True, exist_ok=True)
    people = list(range(FIRST, PEOPLE + 1))
    print("| model | boundary | rule | rejected | studies |\n|---|---|---|---|---|")
    steps = np.random.default_rng(1).standard_normal((NORMAL, PEOPLE))
    show("z alone", abs(np.cumsum(steps, axis=1)[:, FIRST - 1 :] / np.sqrt(people)), people, simulated=False)
    design = counterbalanced(60, 2, texts_per_participant=10)
    for name in args.models if args.studies else ():
        model = MODELS[name]
        study = _Study.of(design, TRUTH, model, np.array(people) / PEOPLE, "fast", 0)
        z = abs(np.array(list(results(study, args.studies, args.jobs, args.store / f"{name}.txt"))))
        show(name, z, people, simulated=True)


def show(name: str, z: np.ndarray, people: list[int], *, simulated: bool) -> None:
    """Print how often each rule rejects, with the boundaries of normal theory or with simulated ones."""
    stops = int(np.argmax([n >= (1 - NEAR) * PEOPLE for n in people])) + 1  # the ledger's last look
    for shape in SHAPES:
        plan = plan_of(shape)
        folds = [(z[::2], factor_of(z[1::2], plan)), (z[1::2], factor_of(z[::2], plan))] if simulated else [(z, 1.0)]
        for rule, critical in rules(plan, people).items():
            seen = slice(None, stops) if rule == "ledger" else slice(None)
            crossed = [(held[:, seen] > factor * critical[seen]).any(axis=1) for held, factor in folds]
            print(f"| {name} | {shape} | {rule} | {np.concatenate(crossed).mean():.3f} | {len(z)} |", flush=True)


def factor_of(z: np.ndarray, plan: Protocol) -> float:
    """Return how many times the boundaries of normal theory those are that 5 % of these studies cross when planned."""
    planned = z[:, [0, -1]] / [row["normal"] for row in plan.looks]
    return float(np.quantile(planned.max(axis=1), 0.95, method="weibull"))


if __name__ == "__main__":
    main()
