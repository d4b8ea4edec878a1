"""The main jobs, each without R; run where R cannot be found, by test_without_r.py or by hand in a bare root.

    python tests/bridge/jobs_without_r.py FOLDER

Every job leaves its files in FOLDER. A job that needs R after all ends the program with its sentence.
"""

from __future__ import annotations

import shutil
import sys
import warnings
from pathlib import Path

import ordbridge as ob
from ordbridge.cli import main

MAXIMAL = "rating ~ system + (system | participant) + (1 | item)"
PRESET = ("--preset", "howcroft2021", "--variance", "low")


def command(*words: str) -> None:
    """Run a command of the command line; it must end well."""
    code = main(words)
    if code:
        sys.exit(f"ordbridge {' '.join(words)}: exit code {code}")


def do(folder: Path) -> None:
    """Run all of them."""
    ratings = str(folder / "ratings.csv")
    command("design", "crossed", "--items", "8", "--raters", "6", "--systems", "2", "--out", str(folder / "design.csv"))
    command("simulate", *PRESET, "--effect", "0.62", "--items", "20", "--ratings-per-text", "4", "--out", ratings)
    command("check", ratings)
    for model, formula in (("clm", "rating ~ system"), ("lm", "rating ~ system"), ("clmm", MAXIMAL), ("lmer", MAXIMAL)):
        command(
            *("fit", ratings, "--model", model, "--formula", formula, "--engine", "fast"),
            *("--html", str(folder / f"{model}.html"), "--latex", str(folder / f"{model}.tex")),
        )
    command(
        *("compare", ratings, "--engine", "fast", "--html", str(folder / "compare.html")),
        *("--markdown", str(folder / "compare.md"), "--plot", str(folder / "compare.png"), "--quiet"),
    )
    command("reliability", ratings, "--html", str(folder / "reliability.html"))
    command(
        *(
            "power",
            *PRESET,
            "--items",
            "20",
            "--ratings-per-text",
            "3",
            "--effect",
            "0",
            "0.62",
            "--models",
            "clmm",
            "lmer",
        ),
        *("--engine", "fast", "--datasets", "4", "--jobs", "1", "--store", str(folder / "power")),
        *("--html", str(folder / "power.html"), "--quiet"),
    )
    command(
        *("plan", *PRESET, "--effect", "1.5", "--items", "30", "--ratings-per-text", "3", "--model", "lm"),
        *("--formula", "rating ~ system", "--datasets", "20", "--null-datasets", "20", "--jobs", "1", "--quiet"),
        *("--html", str(folder / "plan.html")),
    )
    fit = ob.clmm(MAXIMAL, ratings, engine="fast")
    fit.predict()
    fit.confint()
    fit.simulate(2)
    ob.random_effects(ratings, model="lmer")


def answer_of_r() -> str:
    """Return what somebody is told who asks for R."""
    try:
        ob.lm("y ~ x", {"y": [1.0, 2.0, 4.0], "x": [1, 2, 3]}, engine="r")
    except ob.BridgeError as error:
        return str(error)
    return "R was found"


if __name__ == "__main__":
    if shutil.which("R") or shutil.which("Rscript"):
        sys.exit("there is an R on the PATH")
    warnings.simplefilter("ignore")
    do(Path(sys.argv[1]))
    print("with R:", answer_of_r())
