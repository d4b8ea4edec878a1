"""What another version of R, ordinal, lme4 or lmerTest changes: the same fits, written so that they can be compared.

    python benchmarks/r_versions.py fit OUT.json
    python benchmarks/r_versions.py compare OLD.json NEW.json [...]

``fit`` runs the built-in cases of ``ordbridge validate`` (wine, soup, sleepstudy, carrots, ham, crossed designs), small
studies on which R has trouble, and data that no model can fit, through the R that is installed, and keeps every number
and all that R said. Run it on each machine. ``compare`` prints, in Markdown, how far the fits of each later file are
from those of the first one, and which messages differ. Data are drawn from a stream that numpy keeps from version to
version; a digest of each dataset shows that the machines had the same one.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import re
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

import ordbridge as ob
from ordbridge import design, simulate
from ordbridge.bridge import doctor
from ordbridge.models.validation import builtin, fitted
from ordbridge.simulate.presets import HOWCROFT2021

MAXIMAL = "rating ~ system + (system | participant) + (system | item)"
ONE_BAR = "rating ~ system + (1 | participant) + (1 | item)"
SETTINGS = ("low", "representative", "high")
COMPONENTS = ("R", "ordinal", "lmerTest", "lme4", "emmeans", "pbkrtest", "BLAS", "Python")
SAME = 1e-6
"""Below it two numbers are the same: R's own lmer varies by 1e-8 from run to run, and a search ends where it ends."""

UNITS = ("log likelihood", "estimate / s.e.", "std_error", "df", "p_value")
"""In which fits are compared: standard errors and df relative to their size, the others as they are."""

Job = tuple[str, str, str, Any, dict[str, Any]]
UNEVEN = [1.0, 3.0, 2.0, 5.0, 4.0, 4.5, 2.5, 1.5]
PAIRS, QUADS = [*"aabbccdd"], [*"aaaabbbbccccdddd"]
SEPARATED = {"y": [1, 1, 2, 2, 3, 3] * 3, "x": [0, 0, 1, 1, 2, 2] * 3, "g": [*"ababab", *"cdcdcd", *"efefef"]}
ALIKE = {"y": UNEVEN * 2, "x": [*range(8)] * 2, "z": [*range(0, 16, 2)] * 2, "g": PAIRS * 2}
FLAT = {"y": [1, 2, 3, 2] * 4, "x": [0, 1] * 8, "g": QUADS}
FAR = {
    "y": UNEVEN * 2,
    "x": [3e7, 1e7, 4e7, 1e7, 5e7, 9e7, 2e7, 6e7] * 2,
    "z": [2e-5, 7e-5, 1e-5, 8e-5] * 4,
    "g": PAIRS * 2,
}
TROUBLE: list[Job] = [
    ("separated", "clm", "y ~ x", SEPARATED, {}),
    ("separated", "clmm", "y ~ x + (1 | g)", SEPARATED, {}),
    ("two columns alike", "lmer", "y ~ x + z + (1 | g)", ALIKE, {}),
    ("two columns alike", "clm", "y ~ x + z", {**ALIKE, "y": [int(value) for value in ALIKE["y"]]}, {}),
    ("no variance between groups", "lmer", "y ~ x + (1 | g)", FLAT, {}),
    ("no variance between groups", "clmm", "y ~ x + (1 | g)", FLAT, {}),
    ("perfect fit", "lm", "y ~ x", {"y": [1.0, 2.0, 3.0, 4.0], "x": [1, 2, 3, 4]}, {}),
    ("as many groups as rows", "lmer", "y ~ x + (1 | g)", {"y": UNEVEN, "x": [*range(8)], "g": [*"abcdefgh"]}, {}),
    ("predictors on different scales", "lmer", "y ~ x + z + (1 | g)", FAR, {}),
]


def jobs(studies: int, ordinal: int) -> Iterator[Job]:
    """Yield small studies with their models, of which every setting of variances has its share, and what cannot be."""
    for number in range(studies):
        setting = SETTINGS[number % len(SETTINGS)]
        plan = design.crossed(items=10 + 2 * (number % 3), raters=6, systems=2)
        data = simulate.ratings(plan, HOWCROFT2021.settings[setting], seed=number)
        yield f"small study {number}, {setting}", "lmer", MAXIMAL, data, {"REML": bool(number % 2)}
        if number < ordinal:
            yield f"small study {number}, {setting}", "clmm", ONE_BAR, data, {"link": "probit"}
    yield from TROUBLE


def fit_all(studies: int, ordinal: int) -> list[dict[str, Any]]:
    """Return all fits as records."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for case in builtin(Path(folder)):
            digest = hashlib.sha256(case.file.read_bytes()).hexdigest()[:12]
            found.append(record(f"{case.name} ({case.model})", digest, lambda case=case: fitted(case)))
            print(found[-1]["name"], file=sys.stderr, flush=True)
    for name, model, formula, data, options in jobs(studies, ordinal):
        digest = hashlib.sha256(repr(pa.table(data).to_pydict()).encode()).hexdigest()[:12]
        ask = lambda: getattr(ob, model)(formula, data, engine="r", **options)  # noqa: B023, E731
        found.append(record(f"{name} ({model})", digest, ask))
        print(found[-1]["name"], file=sys.stderr, flush=True)
    return found


def record(name: str, digest: str, ask: Any) -> dict[str, Any]:
    """Fit, and return every number with all that was said."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            fit = ask()
        except (ob.FitError, ob.InputError) as error:
            return {"name": name, "data": digest, "said": [f"error: {error}"]}
    terms = fit.tidy().to_pylist()
    return {
        "name": name,
        "data": digest,
        "loglik": fit.loglik,
        "converged": fit.converged,
        "singular": fit.singular,
        **{
            what: {f"{row['effect']} {row['term']}": row[what] for row in terms}
            for what in ("estimate", "std_error", "df", "p_value")
        },
        "said": [f"{condition.severity}: {condition.text}" for condition in fit.estimates.findings],
    }


def distances(old: dict[str, Any], new: dict[str, Any]) -> dict[str, float]:
    """Return how far two fits of the same data are apart, in units that a reader can judge."""
    found = {"log likelihood": apart(old["loglik"], new["loglik"])}
    found["estimate / s.e."] = max(
        apart(value, new["estimate"].get(term)) / (old["std_error"][term] or math.inf)
        for term, value in old["estimate"].items()
    )
    for what, relative in (("std_error", True), ("df", True), ("p_value", False)):
        pairs = [(value, new[what].get(term)) for term, value in old[what].items()]
        found[what] = max((apart(a, b) / (abs(a) if relative and a else 1) for a, b in pairs), default=0.0)
    return found


def apart(a: float | None, b: float | None) -> float:
    """Return the distance of two numbers: none if both are missing, infinite if one is."""
    missing = [value is None or not math.isfinite(value) for value in (a, b)]
    if any(missing):
        return 0.0 if all(missing) else math.inf
    return abs(a - b)  # type: ignore[operator]


def kind_of(said: str) -> str:
    """Return a message without the numbers that belong to one fit."""
    return re.sub(r"-?\d+(\.\d+)?(e[+-]?\d+)?", "#", " ".join(said.split()))


def compare(files: list[Path]) -> None:
    """Print what differs."""
    first, *others = (json.loads(file.read_text()) for file in files)
    print("| | " + " | ".join(file.stem for file in files) + " |\n" + "|---" * (len(files) + 1) + "|")
    for name in COMPONENTS:
        print(f"| {name} | " + " | ".join(str(one["versions"].get(name, "")) for one in (first, *others)) + " |")
    old = {fit["name"]: fit for fit in first["fits"]}
    for file, other in zip(files[1:], others, strict=True):
        new = {fit["name"]: fit for fit in other["fits"]}
        if unlike := [name for name in old if new.get(name, {}).get("data") != old[name]["data"]]:
            print(f"\nnot the same data: {', '.join(unlike)}")
        both = [name for name in old if name in new and "loglik" in old[name] and "loglik" in new[name]]
        table = {name: distances(old[name], new[name]) for name in both if name not in unlike}
        beyond = {name: row for name, row in table.items() if max(row.values()) > SAME}
        print(
            f"\n## {files[0].stem} and {file.stem}: {len(table)} fits, "
            f"{len(table) - len(beyond)} of them the same to {SAME:g}\n"
        )
        print("| model | fits | the same | largest difference of: " + " | ".join(UNITS) + " |\n" + "|---" * 8 + "|")
        for model in ("clm", "clmm", "lm", "lmer"):
            rows = {name: row for name, row in table.items() if name.endswith(f"({model})")}
            largest = [max(row[unit] for row in rows.values()) for unit in UNITS]
            same = sum(name not in beyond for name in rows)
            print(f"| {model} | {len(rows)} | {same} | " + " | ".join(f"{value:.1e}" for value in largest) + " |")
        print()
        if beyond:
            print("| fit | log likelihood, higher in | " + " | ".join(UNITS) + " |\n" + "|---" * 7 + "|")
        for name, row in sorted(beyond.items(), key=lambda item: -item[1]["p_value"]):
            gain = new[name]["loglik"] - old[name]["loglik"]
            where = "–" if abs(gain) <= SAME else file.stem if gain > 0 else files[0].stem
            print(f"| {name} | {where} | " + " | ".join(f"{value:.1e}" for value in row.values()) + " |")
        for flag in ("converged", "singular"):
            flags = Counter((old[name][flag], new[name][flag]) for name in table)
            print(f"\n{flag}, {files[0].stem} → {file.stem}: {dict(flags)}")
        print(f"\n| fits with this message | {files[0].stem} | {file.stem} |\n|---|---|---|")
        said = [
            Counter(kind for fit in fits.values() for kind in {kind_of(text) for text in fit["said"]})
            for fits in (old, new)
        ]
        for kind in sorted(said[0] | said[1]):
            mark = "" if said[0][kind] == said[1][kind] else " **differs**"
            print(f"| {kind[:300].replace('|', chr(92) + '|')}{mark} | {said[0][kind]} | {said[1][kind]} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("fit")
    one.add_argument("out", type=Path)
    one.add_argument("--studies", type=int, default=60, help="small studies, fitted by lmer")
    one.add_argument("--ordinal", type=int, default=12, help="how many of them are also fitted by clmm")
    many = commands.add_parser("compare")
    many.add_argument("files", type=Path, nargs="+")
    args = parser.parse_args()
    if args.command == "compare":
        return compare(args.files)
    rows = {row["component"]: row["found"] for row in doctor.examine()[0].to_pylist()}
    found = {"versions": {name: rows.get(name, "") for name in COMPONENTS}, "fits": fit_all(args.studies, args.ordinal)}
    args.out.write_text(json.dumps(found, indent=1) + "\n")
    print(f"{len(found['fits'])} fits in {args.out}")


if __name__ == "__main__":
    main()
