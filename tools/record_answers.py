"""Write down what the fast engine answers, so that a later one can be held to it.

    python tools/record_answers.py [--shared FOLDER]

The numbers in tests/fast/answers.json were written by the engine of version 0.1.0, which numba compiled. They are not
to be written again by a later engine: tests/fast/test_same_answers.py is there to compare it with that one.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from pathlib import Path

import pandas as pd

import ordbridge as ob

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "fast"))

from real_studies import real_studies  # noqa: E402
from simulated_studies import studies  # noqa: E402


def simulated() -> dict[str, list[object]]:
    """Return log likelihood, p-values and flags of every simulated study."""
    answers: dict[str, list[object]] = {}
    for study in studies():
        fit = getattr(ob, study.model)(study.formula, study.table, engine="fast", **study.options)
        p_values = [fit.p_value(effect) for effect in study.effects]
        answers[study.name] = [fit.estimates.loglik, p_values, fit.converged, fit.singular]
    return answers


def real(shared: Path) -> dict[str, list[object]]:
    """Return the same of the published tables and of real files."""
    answers: dict[str, list[object]] = {}
    for study in real_studies():
        table = study.rows(pd.read_csv(shared / study.file))
        fit = getattr(ob, study.model)(study.formula, table, engine="fast", **study.options)
        terms = [
            term for term, effect in zip(fit.estimates.terms, fit.estimates.effects, strict=True) if effect == "fixed"
        ]
        answers[study.name] = [fit.estimates.loglik, [fit.p_value(term) for term in terms], fit.converged, fit.singular]
    return answers


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=Path, default=ROOT.parent / "shared", help="folder with reference and data")
    parser.add_argument("--into", type=Path, default=ROOT / "tests" / "fast" / "answers.json")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    answers = {"simulated": simulated(), "real": real(arguments.shared)}
    lines = json.dumps(answers).replace('], "', '],\n"')
    arguments.into.write_text(lines + "\n")


if __name__ == "__main__":
    main()
