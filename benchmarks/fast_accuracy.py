"""How far the fast engine agrees with R: small simulated studies through both engines.

    python benchmarks/fast_accuracy.py --store FILE.jsonl [--datasets 200] [--show | --refit]

The studies run over the five variance settings of Howcroft & Rieser (2021), two to four systems, three to seven
categories and four links. Every dataset is fitted by clmm and lmer in both engines and leaves a line in the store; a
run that was stopped goes on where it was. At the end lmerTest is asked once more about every dataset, now for its
table of coefficients at the fast engine's optimum (``lmer(start = theta, optimizer = NULL)``): that separates what the
two compute from where their searches end. ``--show`` only prints the tables, in Markdown, from the store; ``--refit``
fits the stored datasets once more with the fast engine and keeps R's fits.

A case in which a p-value differs by more than 1 % is listed with both log likelihoods and a verdict: "fast higher"
(its log likelihood is higher, by more than rounding), "boundary" (the same likelihood and a standard deviation at zero
in one of the two, or on the two sides of ordinal's 1e-3 rule), or "R HIGHER", which must not happen. For lmer every
difference over 1e-4 in p or 1e-3 in df has a verdict, and is counted by it.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import json
import subprocess
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from ordbridge import design, papers, simulate
from ordbridge.models import r_engine
from ordbridge.models.prepare import prepare

SYSTEMS = (2, 2, 2, 3, 2, 2, 3, 2, 2, 4, 2, 2, 2, 3, 2, 2, 3, *[2] * 23)
"""For five datasets each; few with many systems, over which R takes minutes."""
LINKS = ("probit", "logit", "probit", "cloglog", "probit", "loglog", "probit", "logit")
FORMULA = "rating ~ system + (system | participant) + (system | item)"
OVER = 0.01
ROUNDING = {"clmm": 1e-6, "lmer": 1e-10}  # log likelihoods closer than this are the same
LMER_P, LMER_DF = 1e-4, 1e-3

AT_THE_FAST_OPTIMUM = """
suppressMessages(library(lmerTest))
nowhere <- lmerControl(optimizer = NULL, calc.derivs = FALSE)
for (line in readLines("starts.txt")) {
  words <- strsplit(line, " ")[[1]]
  d <- read.csv(paste0(words[1], ".csv"), stringsAsFactors = TRUE)
  fit <- suppressMessages(suppressWarnings(
    lmer(as.formula(words[2]), d, REML = TRUE, start = as.numeric(words[-(1:2)]), control = nowhere)))
  t <- coef(summary(fit))[-1, , drop = FALSE]
  cat(words[1], sprintf("%.15g", c(logLik(fit), t[, "df"], t[, "Pr(>|t|)"])), "\\n")
}
"""


def dataset(index: int) -> dict[str, Any]:
    """Return one small study: what it is, and its ratings."""
    settings = papers.howcroft2021.settings
    setting = list(settings)[index % 5]
    systems = SYSTEMS[(index // 5) % len(SYSTEMS)]
    categories = 3 + (index + index // 5) % 5
    link = LINKS[(index // 3) % len(LINKS)]
    thresholds = simulate.ThresholdDistribution((-1.2, 0.19), (2.4 / (categories - 2), 0.1), categories)
    effects = tuple(np.linspace(0.0, 0.62, systems)[1:] * ((index // 7) % 3) / 2)
    truth = settings[setting].shift(threshold_distribution=thresholds, effects=effects, link=link)
    plan = design.counterbalanced(20, 3, systems=systems, texts_per_participant=12, seed=index)
    table = simulate.ratings(plan, truth, index)
    return {"setting": setting, "systems": systems, "categories": categories, "link": link, "table": table}


def compare(index: int, known: dict[str, Any] | None = None) -> dict[str, Any]:
    """Fit one dataset with both engines and return a line for the store; R's fits are taken from a known line."""
    from ordbridge import fast

    study = dataset(index)
    table = study.pop("table")
    line: dict[str, Any] = {"index": index, "rows": table.num_rows, **study}
    problems = {
        "clmm": prepare("clmm", FORMULA, table, link=study["link"], threshold="flexible", nAGQ=1),
        "lmer": prepare("lmer", FORMULA, table, REML=True, ddf="Satterthwaite"),
    }
    for model, problem in problems.items():
        for engine, module in (("r", r_engine), ("fast", fast)):
            if known and engine == "r":
                line[f"{model}_r"] = known[f"{model}_r"]
                continue
            begun = time.perf_counter()
            try:
                found = module.fit(problem)
            except Exception as error:  # a fit that fails is a result here
                line[f"{model}_{engine}"] = {"error": str(error)}
                continue
            fixed = [
                effect == "fixed" and term != "(Intercept)"
                for term, effect in zip(found.terms, found.effects, strict=True)
            ]
            sds = [float(np.sqrt(v)) for term in found.random for v in np.diag(term.covariance)]
            line[f"{model}_{engine}"] = {
                "p": found.p_value[fixed].tolist(),
                "df": found.df[fixed].tolist(),
                "loglik": found.loglik,
                "converged": found.converged,
                "singular": found.singular,
                "sds": sds,
                "seconds": time.perf_counter() - begun,
            }
    return line


def ask_lmer_there(lines: list[dict[str, Any]]) -> None:
    """Add to every line what lmerTest says at the fast engine's optimum."""
    from ordbridge import fast

    waiting = {str(line["index"]): line for line in lines if "lmer_there" not in line and "p" in line["lmer_fast"]}
    if not waiting:
        return
    with tempfile.TemporaryDirectory() as folder:
        starts = []
        for name, line in waiting.items():
            table = dataset(line["index"])["table"]
            theta = fast.start(prepare("lmer", FORMULA, table, REML=True, ddf="Satterthwaite"))
            table.to_pandas().to_csv(Path(folder, f"{name}.csv"), index=False)
            starts.append(" ".join([name, FORMULA.replace(" ", ""), *(f"{value:.17g}" for value in theta)]))
        Path(folder, "starts.txt").write_text("\n".join(starts) + "\n")
        Path(folder, "run.R").write_text(AT_THE_FAST_OPTIMUM)
        done = subprocess.run(["Rscript", "--vanilla", "run.R"], cwd=folder, capture_output=True, text=True, check=True)
    for answer in done.stdout.splitlines():
        name, loglik, *rest = answer.split()
        df, p = np.split(np.array(rest, dtype=float), 2)
        waiting[name]["lmer_there"] = {"loglik": float(loglik), "df": df.tolist(), "p": p.tolist()}


def relative(a: list[float], b: list[float]) -> float:
    """Return the largest relative difference, NaN if a number is missing."""
    x, y = np.array(a, dtype=float), np.array(b, dtype=float)
    return float(np.max(np.abs(x - y) / np.maximum(np.abs(y), 1e-300)))


def verdict(ours: dict[str, Any], theirs: dict[str, Any], model: str) -> str:
    """Say why two fits differ."""
    if "p" not in theirs or not np.isfinite(theirs["p"]).all():
        return "R gave no p-value"
    if "p" not in ours or not np.isfinite(ours["p"]).all():
        return "fast gave no p-value" + (" (flagged)" if not ours.get("converged", False) else "")
    gain, same = ours["loglik"] - theirs["loglik"], ROUNDING[model]
    if gain > same:
        return "fast higher"
    if gain < -10 * same:
        return "R HIGHER"
    return "boundary" if ours["singular"] or theirs["singular"] else "same likelihood"


def show(lines: list[dict[str, Any]]) -> None:
    """Print the tables of the docs."""
    print(f"{len(lines)} datasets; relative difference of p, largest over the terms of a dataset\n")
    print("| model | systems | datasets | median | 95 % | over 1 % | R gave no p | R seconds | fast ms |")
    print("|---|---|---|---|---|---|---|---|---|")
    for model in ("clmm", "lmer"):
        for systems in sorted({line["systems"] for line in lines}):
            group = [line for line in lines if line["systems"] == systems]
            print(f"| {model} | {systems} | {' | '.join(summary(group, model))} |")
    for model in ("clmm", "lmer"):
        show_cases(lines, model)
    show_lmer(lines)


def show_cases(lines: list[dict[str, Any]], model: str) -> None:
    """List every case over 1 %."""
    print(f"\nEvery {model} over 1 %:\n")
    print("| dataset | setting | systems | categories | link | difference | logLik fast | logLik R | verdict |")
    print("|---|---|---|---|---|---|---|---|---|")
    for line in lines:
        ours, theirs = line[f"{model}_fast"], line[f"{model}_r"]
        difference = relative(ours.get("p", [np.nan]), theirs.get("p", [np.nan]))
        if not difference <= OVER:
            values = [line["index"], line["setting"], line["systems"], line["categories"], line["link"]]
            shown = [
                f"{100 * difference:.1f} %" if np.isfinite(difference) else "",
                f"{ours.get('loglik', np.nan):.5f}",
                f"{theirs.get('loglik', np.nan):.5f}",
            ]
            print(f"| {' | '.join(map(str, values))} | {' | '.join(shown)} | {verdict(ours, theirs, model)} |")


def summary(lines: list[dict[str, Any]], model: str) -> list[str]:
    """Return one row of the first table."""
    pairs = [(line[f"{model}_fast"], line[f"{model}_r"]) for line in lines]
    both = [(a, b) for a, b in pairs if "p" in a and "p" in b and np.isfinite(b["p"]).all()]
    found = np.array([relative(a["p"], b["p"]) for a, b in both])
    r_seconds, fast_ms = (
        statistics(values) for values in ([b.get("seconds") for _, b in pairs], [a.get("seconds") for a, _ in pairs])
    )
    over = int((~(found <= OVER)).sum())
    return [
        *(str(len(lines)), f"{np.nanmedian(found):.1e}", f"{np.nanquantile(found, 0.95):.1e}"),
        *(f"{over} ({100 * over / max(len(both), 1):.1f} %)", str(len(lines) - len(both))),
        *(f"{r_seconds:.2f}", f"{1000 * fast_ms:.1f}"),
    ]


def statistics(values: list[float | None]) -> float:
    """Return the median of what is there."""
    return float(np.median([value for value in values if value is not None]))


def show_lmer(lines: list[dict[str, Any]]) -> None:
    """Say how lmer's p and df agree where R stops and at the fast optimum, and give a verdict where they do not."""
    cases = [line for line in lines if "p" in line["lmer_fast"] and "p" in line["lmer_r"]]
    regular = [line for line in cases if not line["lmer_fast"]["singular"] and not line["lmer_r"]["singular"]]
    singular = [line for line in cases if line not in regular]
    print("\n| lmer | datasets | p and df agree | at the fast optimum | fast higher | boundary | R HIGHER | other |")
    print("|---|---|---|---|---|---|---|---|")
    for name, group in (("regular fits", regular), ("singular fits", singular)):
        apart = [line for line in group if not agree(line["lmer_fast"], line["lmer_r"])]
        found = [verdict(line["lmer_fast"], line["lmer_r"], "lmer") for line in apart]
        counts = [found.count(word) for word in ("fast higher", "boundary", "R HIGHER")]
        there = [line for line in group if "lmer_there" in line]
        agreeing = f"{sum(agree(line['lmer_fast'], line['lmer_there']) for line in there)} of {len(there)}"
        numbers = [len(group), len(group) - len(apart), agreeing, *counts, len(apart) - sum(counts)]
        print(f"| {name} | {' | '.join(map(str, numbers))} |")
    print(f"\nAgree: p within {LMER_P:g} and df within {LMER_DF:g}, relative.", end="")
    there = [line for line in cases if "lmer_there" in line]
    if there:
        p = max(relative(line["lmer_fast"]["p"], line["lmer_there"]["p"]) for line in there)
        df = max(relative(line["lmer_fast"]["df"], line["lmer_there"]["df"]) for line in there)
        print(f" Largest differences at the fast optimum: {p:.1e} in p, {df:.1e} in df.")
    least = min(line["lmer_fast"]["loglik"] - line["lmer_r"]["loglik"] for line in cases)
    print(f"Smallest gain of the fast engine's log likelihood over R's: {least:.1e}.")


def agree(ours: dict[str, Any], theirs: dict[str, Any]) -> bool:
    """Tell whether p and df of two lmer fits are the same for all purposes."""
    return relative(ours["p"], theirs["p"]) <= LMER_P and relative(ours["df"], theirs["df"]) <= LMER_DF


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=Path, required=True, help="file of JSON lines, one per dataset")
    parser.add_argument("--datasets", type=int, default=200)
    parser.add_argument("--show", action="store_true", help="only print the tables")
    parser.add_argument("--refit", action="store_true", help="fit again with the fast engine only")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = [json.loads(text) for text in arguments.store.read_text().splitlines()] if arguments.store.exists() else []
    done = {line["index"] for line in lines}
    if arguments.refit:
        lines = [compare(line["index"], line) for line in lines]
    elif not arguments.show:
        for index in range(arguments.datasets):
            if index in done:
                continue
            line = compare(index)
            lines.append(line)
            with arguments.store.open("a") as file:
                file.write(json.dumps(line) + "\n")
    if not arguments.show:
        ask_lmer_there(lines)
        arguments.store.write_text("".join(json.dumps(line) + "\n" for line in lines))
    show(sorted(lines, key=lambda line: line["index"]))


if __name__ == "__main__":
    main()
