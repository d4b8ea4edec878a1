"""Whether the findings survive the correlations of intercepts and slopes that real studies have.

    python benchmarks/real_correlations.py fit ../shared/data/pplm.csv ../shared/data/qgstec_reeval3.csv
    python benchmarks/real_correlations.py run STORE [--datasets 1000]

``fit`` estimates them, natively, from ratings with the columns participant, item, system, criterion, rating: of every
system with the first one, for participants where there are at least ten, for items where at least ten occur under both
systems. ``run`` simulates the deciding cells of docs/findings.md (100 items with 3 ratings per text, 50 with 10; the
settings low, representative and high of Howcroft & Rieser 2021; effects −.31, 0, .31) with the correlations of
``KINDS``, and ends with HUSE's own truth. STORE is a folder of power runs: the same command goes on where it was.
"""

from __future__ import annotations

import argparse
import math
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

import ordbridge as ob
from ordbridge.papers.howcroft_evidence import mean_difference
from ordbridge.papers.power_verdicts import advantage
from ordbridge.power import Grid, Run, run
from ordbridge.simulate import Truth
from ordbridge.simulate.presets import HOWCROFT2021

ENOUGH = 10  # levels of a grouping factor, for a correlation to be worth printing
EFFECTS = (-0.31, 0.0, 0.31)
SIZES = ((100, 3), (50, 10))
MODELS = {"lmer": {"REML": False}, "clmm": {}}
KINDS = {
    "none, as published": (0.0, 0.0),
    "HUSE (−.73, −.02)": (-0.73, -0.02),
    "PPLM and QG-STEC (.24, −.60)": (0.24, -0.60),
    "matched": None,
}
"""Correlation of intercept and slope of participants and of items; None: the one at which both systems spread alike."""

HUSE = Truth(
    effects=(0.317,),
    thresholds=tuple(np.round(-1.64 + 0.634 * np.arange(5), 3)),
    participant_sd=(0.575, 0.628),
    item_sd=(0.296, 0.599),
)
"""HUSE's summaries, the repository's file: standard deviations, lowest threshold and mean distance as estimated."""


def with_correlations(truth: Truth, pair: tuple[float, float] | None) -> Truth:
    """Return a truth with these correlations, or with the matched ones."""
    changes: dict[str, object] = {}
    for number, group in enumerate(("participant", "item")):
        intercept, slope = getattr(truth, f"{group}_sd")
        if pair is None and slope >= 2 * intercept:  # too large to be matched: what centred slopes have instead
            intercept = math.hypot(intercept, slope / 2)
        rho = -slope / (2 * intercept) if pair is None else pair[number]
        changes |= {f"{group}_sd": (intercept, slope), f"{group}_corr": rho}
    return replace(truth, **changes)


def estimates(path: Path) -> list[str]:
    """Return rows of Markdown: standard deviations, correlation and matched correlation of each pair of systems."""
    ratings, rows = pd.read_csv(path), []
    for criterion, own in ratings.groupby("criterion"):
        first, *others = sorted(own["system"].unique())
        for other in others:
            pair = own[own["system"].isin([first, other])]
            both = pair.groupby("item")["system"].nunique().eq(2).sum()
            slopes = {"participant": pair["participant"].nunique() >= ENOUGH, "item": both >= ENOUGH}
            terms = [f"({'system' if varies else '1'} | {group})" for group, varies in slopes.items()]
            fit = ob.clmm(f"rating ~ system + {' + '.join(terms)}", pair, link="probit", engine="fast")
            trusted = fit.converged and not fit.estimates.findings
            for group, varies in slopes.items():
                if varies:
                    sd, (slope, rho) = _of(fit, group)
                    what = (f"{path.stem}, {criterion}", f"{first}, {other}", group, f"{sd:.2f}", f"{slope:.2f}")
                    said = f"{rho:+.2f}", f"{-slope / (2 * sd):+.2f}", "" if trusted else "fit with warnings"
                    rows.append(f"| {' | '.join((*what, *said))} |")
    return rows


def _of(fit: ob.Fit, group: str) -> tuple[float, tuple[float, float]]:
    intercept, slope = (row for row in fit.varcorr().to_pylist() if row["group"] == group)
    return intercept["sd"], (slope["sd"], slope["correlations"][0])


def runs(store: Path, sims: int, jobs: int) -> dict[tuple[str, str], Run]:
    """Run everything."""
    found = {}
    chosen = {name: HOWCROFT2021.settings[name] for name in ("low", "representative", "high")}
    for kind, pair in KINDS.items():
        for items, ratings in SIZES:
            found[kind, f"{items}, {ratings}"] = _run(
                {name: with_correlations(truth, pair) for name, truth in chosen.items()},
                EFFECTS,
                items,
                ratings,
                (store / f"{kind} {items}x{ratings}", sims, jobs),
            )
    truths = {
        "HUSE itself, 0": with_correlations(HUSE, (0.0, 0.0)),
        "HUSE itself, its own (−.73, −.02)": with_correlations(HUSE, (-0.73, -0.02)),
        "HUSE itself, centred slopes": replace(HUSE, slope_coding="centred"),
    }
    for kind, truth in truths.items():
        found[kind, "100, 3"] = _run({"HUSE": truth}, (-0.317, 0.0, 0.317), 100, 3, (store / kind, sims, jobs))
    return found


def _run(
    truths: dict[str, Truth], effects: tuple[float, ...], items: int, ratings: int, place: tuple[Path, int, int]
) -> Run:
    folder, sims, jobs = place
    grid = Grid(truth=truths, design="howcroft2021", items=items, ratings_per_text=ratings, effect=effects)
    folder = folder.with_name(folder.name.replace(" ", "_"))
    print(folder.name, flush=True)
    return run(grid, MODELS, sims, seed=42, engine="fast", jobs=jobs, store=folder)


def report(found: dict[tuple[str, str], Run]) -> str:
    """Return Markdown: a row per correlations, size and effect, with means over the settings."""
    lines = ["| correlations | items, ratings | effect | difference of mean ratings | lmer / clmm | clmm − lmer |"]
    lines.append("|---" * 6 + "|")
    for (kind, size), one in found.items():
        rows = one.compare("clmm", "lmer").to_pylist()
        truths = {cell.label: cell.truth for cell in one.grid.cells}
        for effect in sorted({row["effect"] for row in rows}, reverse=True):
            own = [row for row in rows if row["effect"] == effect]
            points = np.mean([mean_difference(truths[row["cell"]], effect) for row in own])
            powers = " / ".join(f"{np.mean([row[name] for row in own]):.3f}" for name in ("power_b", "power_a"))
            lines.append(f"| {kind} | {size} | {effect:+g} | {points:+.3f} | {powers} | {advantage(own)} |")
    return "\n".join(lines)


def main() -> None:
    """Fit, or run what is missing and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    fitting = commands.add_parser("fit")
    fitting.add_argument("files", nargs="+", type=Path)
    running = commands.add_parser("run")
    running.add_argument("store", type=Path)
    running.add_argument("--datasets", type=int, default=1000)
    running.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    if args.command == "run":
        print(report(runs(args.store, args.datasets, args.jobs)))
        return
    warnings.simplefilter("ignore")
    print("| ratings | systems | of | SD intercept | SD slope | correlation | matched | |\n" + "|---" * 8 + "|")
    for path in args.files:
        print("\n".join(estimates(path)))


if __name__ == "__main__":
    main()
