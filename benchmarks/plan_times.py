"""How long plans take, on all cores: python benchmarks/plan_times.py [--holm].

Three plans for two systems, one for a pair of four systems from a pilot of 480 ratings, and with ``--holm`` one for all
pairs with the first of them, each without anything stored before.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ordbridge.design import counterbalanced
from ordbridge.planning import Effect, PlannedAnalysis, plan
from ordbridge.simulate import ratings
from ordbridge.simulate.presets import HOWCROFT2021

POINTS = [0.3, 0.6, 0.4]


def questions(holm: bool) -> dict[str, dict[str, Any]]:
    """Return the questions by name."""
    truth = HOWCROFT2021.settings["low"].shift(
        effects=(0.3, 0.6, 0.4), residual_spread=(), participant_corr=0.0, item_corr=0.0
    )
    pilot = ratings(counterbalanced(40, 3, 4, texts_per_participant=20), truth, seed=11)
    points = Effect(POINTS, "points")
    asked: dict[str, dict[str, Any]] = {
        f"two systems, {name}": {"truth": HOWCROFT2021.settings[name], "effect": 0.6}
        for name in ("low", "representative", "high")
    }
    asked["four systems, one pair"] = {"truth": pilot, "effect": points, "analysis": PlannedAnalysis(test=("A", "C"))}
    if holm:
        asked["four systems, all with the first"] = {
            "truth": pilot,
            "effect": points,
            "analysis": PlannedAnalysis(test=("reference", "A")),
        }
    return asked


def main() -> None:
    """Time every plan."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--holm", action="store_true")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    for name, asked in questions(args.holm).items():
        with TemporaryDirectory() as folder:
            began = time.perf_counter()
            found = plan(**asked, jobs=-1, store=Path(folder) / "plan")
            best = found.recommended
            design = "no answer" if best is None else f"{best['items']} × {best['ratings_per_text']:g}"
            print(f"{name}: {design}, {time.perf_counter() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
