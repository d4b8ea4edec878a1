"""How much of the ordinal model's advantage over the linear one is size? Both at critical values of their own.

    python benchmarks/calibrated_findings.py STORE [--datasets 1000]

The deciding cells of docs/findings.md (100 items with 3 ratings per text, 50 with 10), and studies in which 3 or 5
raters rate 50 items under both systems; the settings low, representative and high of Howcroft & Rieser (2021); three
kinds of slopes: 0/1 as published, 0/1 with the matched correlation (−½ sd(slope)/sd(intercept), at which both systems
spread alike), and −½/+½. Of each cell ``sims`` datasets at an effect of .31, and as many at 0, from which critical
values are taken (``power.run(…, null_datasets=…)``). clmm's test is Wald's, as printed; lmer has REML and
Satterthwaite's degrees of freedom. STORE is a folder of power runs: the same command goes on where it was.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import replace
from pathlib import Path

import pandas as pd
from real_correlations import with_correlations

from ordbridge.power import Grid, Run, run
from ordbridge.simulate import Truth
from ordbridge.simulate.presets import HOWCROFT2021

MODELS = {"lmer": {"REML": True}, "clmm": {}}
SETTINGS = ("low", "representative", "high")
EFFECT = 0.31
STUDIES = {
    "3 raters × 50 items": {"design": "crossed", "items": 50, "ratings_per_text": 3},
    "5 raters × 50 items": {"design": "crossed", "items": 50, "ratings_per_text": 5},
    "100 items, 3 ratings": {"design": "howcroft2021", "items": 100, "ratings_per_text": 3},
    "50 items, 10 ratings": {"design": "howcroft2021", "items": 50, "ratings_per_text": 10},
}


def slopes(setting: Truth) -> dict[str, Truth]:
    """Return the setting with three kinds of slopes."""
    centred = replace(setting, slope_coding="centred")
    return {"0/1": setting, "0/1, matched": with_correlations(setting, None), "−½/+½": centred}


def runs(store: Path, sims: int, jobs: int) -> dict[tuple[str, str], Run]:
    """Run everything; a run has the three settings."""
    found = {}
    for study, axes in STUDIES.items():
        truths = {name: slopes(HOWCROFT2021.settings[name]) for name in SETTINGS}
        for kind in ("−½/+½", "0/1, matched", "0/1"):
            grid = Grid(truth={name: truths[name][kind] for name in SETTINGS}, effect=EFFECT, **axes)
            folder = store / f"{study} {kind}".replace("/", "-").replace(" ", "_")
            print(study, kind, flush=True)
            found[study, kind] = run(
                grid, MODELS, sims, seed=2026, engine="fast", jobs=jobs, store=folder, null_datasets=sims
            )
    return found


def report(found: dict[tuple[str, str], Run]) -> str:
    """Return a Markdown table: size, power and size-adjusted power, means over the settings."""
    head = "| study | slopes | size lmer / clmm | power lmer / clmm | adjusted lmer / clmm | clmm − lmer | adjusted |"
    lines = [head, "|---" * 7 + "|"]
    for (study, kind), one in found.items():
        power = one.power().to_pandas().groupby("model")[["size", "power", "adjusted_power"]].mean()
        differences = [_mean(one.compare("clmm", "lmer", calibrated=held).to_pandas()) for held in (False, True)]
        pairs = [f"{power.loc['lmer', name]:.3f} / {power.loc['clmm', name]:.3f}" for name in power.columns]
        lines.append(f"| {' | '.join([study, kind, *pairs, *differences])} |")
    return "\n".join(lines)


def _mean(rows: pd.DataFrame) -> str:
    """Return the mean difference over the settings, which are independent, with its interval."""
    mean = rows["difference"].mean()
    low, high = (
        math.sqrt(((rows["difference"] - rows[edge]) ** 2).sum()) / len(rows) for edge in ("conf_low", "conf_high")
    )
    return f"{mean:+.3f} [{mean - low:+.3f}, {mean + high:+.3f}]"


def main() -> None:
    """Run what is missing and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("store", type=Path)
    parser.add_argument("--datasets", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    print(report(runs(args.store, args.datasets, args.jobs)))


if __name__ == "__main__":
    main()
