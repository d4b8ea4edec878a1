"""Whether two versions of ordbridge give the same numbers: the JSON of 60 commands over all kinds of results.

    python benchmarks/same_numbers.py record FOLDER [--python EXE] [--old-names]
    python benchmarks/same_numbers.py compare FOLDER FOLDER

`record` runs the commands (native engine, small simulated studies, nothing but this file's seeds) with the Python that
is given, so that another version can be recorded from its own installation; what was recorded already stays. `compare`
prints every number that differs by more than 1e-9 of its size, and every text; its exit code is 1 for a number.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

OLD_NAMES = {"--datasets": "--sims"}
TIME = (
    "seconds",
    "time",
    "version",
    "created",
    "date",
    "store",
    "path",
    "file",
)  # keys whose values no version repeats

MIXED = "rating ~ system + (1 | participant) + (1 | item)"
COMMANDS = f"""
compare-two            compare two.csv --engine fast --json -
compare-three          compare three.csv --engine fast --json -
compare-criteria       compare criteria.csv --engine fast --json -
compare-each           compare criteria.csv --engine fast --correct none --adjust fdr --json -
compare-reference      compare three.csv --engine fast --reference A --json -
compare-tukey          compare three.csv --engine fast --adjust tukey --json -
compare-bonferroni     compare three.csv --engine fast --adjust bonferroni --conf-level 0.9 --json -
compare-sidak          compare three.csv --engine fast --adjust sidak --json -
compare-latent         compare two.csv --engine fast --estimand latent --json -
compare-wald           compare two.csv --engine fast --estimand latent --test wald --json -
compare-lrt            compare two.csv --engine fast --estimand latent --test lrt --json -
compare-bootstrap      compare two.csv --engine fast --estimand latent --test bootstrap --draws 19 --json -
compare-probit         compare two.csv --engine fast --link probit --json -
compare-clm            compare two.csv --engine fast --model clm --json -
compare-lm             compare two.csv --engine fast --model lm --json -
compare-lmer           compare two.csv --engine fast --model lmer --json -
compare-formula        compare two.csv --engine fast --formula "{MIXED}" --model clmm --json -
compare-line           compare line.csv --engine fast --json -
compare-binary         compare binary.csv --engine fast --json -
compare-few            compare few.csv --engine fast --json -
check-clean            check two.csv --json -
check-flawed           check flawed.csv --json -
read-two               read two.csv --json -
read-wide              read wide.csv --json -
fit-clmm               fit two.csv --engine fast --model clmm --formula "{MIXED}" --json -
fit-clm                fit three.csv --engine fast --model clm --formula "rating ~ system" --contrasts system --json -
fit-lm                 fit three.csv --engine fast --model lm --formula "rating ~ system" --test f --json -
fit-lmer               fit three.csv --engine fast --model lmer --formula "{MIXED}" --contrasts system --json -
fit-lrt                fit two.csv --engine fast --model clmm --formula "{MIXED}" --test lrt --json -
fit-bootstrap          fit two.csv --engine fast --model clm --formula "rating ~ system" --test bootstrap --draws 19 --json -
fit-assumptions        fit two.csv --engine fast --model clm --formula "rating ~ system" --assumptions --json -
fit-symmetric          fit two.csv --engine fast --model clm --formula "rating ~ system" --threshold symmetric --json -
reliability-two        reliability two.csv --json -
reliability-criteria   reliability criteria.csv --json -
reliability-nominal    reliability two.csv --level nominal --json -
reliability-interval   reliability line.csv --level interval --raters fixed --json -
reliability-gold       reliability two.csv --gold gold.csv --json -
reliability-few        reliability few.csv --json -
judges-judged          judges judged.csv --json -
judges-costs           judges judged.csv --cost-human 1 --cost-judge 0.01 --epsilon 0.1 --json -
judges-fixed           judges judged.csv --raters fixed --level ordinal --json -
interval-one           interval 75 --prior 80 --json -
interval-two           interval 75 85 --threshold 60 --json -
interval-several       interval 75 85 70 90 --margin 3 --json -
interval-unimodal      interval 75 --prior 80 --distribution unimodal --json -
scales-two             scales two.csv line.csv --json -
scales-holm            scales two.csv line.csv --posthoc holm --outside outside.csv --json -
settings-two           settings two.csv three.csv --engine fast --json -
power-preset           power --preset howcroft2021 --variance low --items 20 --ratings-per-text 3 --effect 0 0.5 \
                         --datasets 8 --engine fast --store OWN --quiet --json -
power-null             power --preset howcroft2021 --variance low --items 20 --ratings-per-text 3 --effect 0.5 \
                         --datasets 8 --null-datasets 20 --models lmer --engine fast --store OWN --quiet --json -
power-equivalence      power --preset howcroft2021 --variance low --items 20 --ratings-per-text 3 --effect 0 \
                         --datasets 8 --goal equivalence --margin 0.5 --models clmm --engine fast --store OWN --quiet --json -
power-counterbalanced  power --preset howcroft2021 --variance low --items 12 --ratings-per-text 3 --effect 0.5 \
                         --texts-per-participant 12 --datasets 8 --models lm clm --engine fast --store OWN --quiet --json -
plan-preset            plan --preset howcroft2021 --variance low --effect 0.6 --items 20 40 --ratings-per-text 3 --texts-per-participant 10 --datasets 60 \
                         --max-per-design 40 --null-datasets 40 --jobs 1 --store OWN --quiet --json -
plan-pilot             plan two.csv --effect-points 0.5 --items 20 40 --ratings-per-text 3 --texts-per-participant 10 --datasets 60 --draws 5 \
                         --max-per-design 40 --null-datasets 40 --jobs 1 --cost-rating 0.5 --budget 200 --store OWN --quiet --json -
plan-looks             plan two.csv --effect-points 0.5 --items 20 40 --ratings-per-text 3 --texts-per-participant 10 --datasets 60 --draws 5 --looks 3 \
                         --max-per-design 40 --null-datasets 40 --jobs 1 --store OWN --quiet --json -
plan-pairs             plan three.csv --effect-points 0.5 0.7 --test pairs --items 20 40 --ratings-per-text 3 --texts-per-participant 10 --datasets 40 \
                         --draws 5 --max-per-design 30 --null-datasets 40 --jobs 1 --store OWN --quiet --json -
plan-margin            plan two.csv --effect 0 --goal non-inferiority --margin 0.5 --items 20 40 --ratings-per-text 3 \
                         --texts-per-participant 10 --datasets 40 --draws 5 --max-per-design 30 --null-datasets 40 --jobs 1 --store OWN --quiet --json -
plan-reliability       plan two.csv --reliability 0.8 --items 20 40 --ratings-per-text 3 --json -
gladkoff               reproduce gladkoff2023 --out OWN --json -
belz                   reproduce belz2011 --out OWN --datasets 3 --json -
design                 design counterbalanced --items 12 --ratings-per-text 2 --texts-per-participant 6
simulate               simulate --preset howcroft2021 --variance low --items 20 --ratings-per-text 3 --out simulated.csv
"""  # noqa: E501


def study(systems: str, raters: int, items: int, seed: int) -> pd.DataFrame:
    """Latent ratings of a crossed study."""
    rng = np.random.default_rng(seed)
    rows = [(f"p{p}", f"i{i}", s) for p in range(raters) for i in range(items) for s in systems]
    table = pd.DataFrame(rows, columns=["participant", "item", "system"])
    of_rater = dict(zip((f"p{p}" for p in range(raters)), rng.normal(0, 0.6, raters), strict=True))
    of_item = dict(zip((f"i{i}" for i in range(items)), rng.normal(0, 0.6, items), strict=True))
    effect = {name: 0.35 * k for k, name in enumerate(systems)}
    latent = table["participant"].map(of_rater) + table["item"].map(of_item) + table["system"].map(effect)
    table["latent"] = latent + rng.normal(0, 1, len(table))
    return table


def cut(table: pd.DataFrame, points: list[float]) -> pd.DataFrame:
    """Latent ratings as categories from 1."""
    return table.assign(rating=1 + np.searchsorted(points, table["latent"])).drop(columns="latent")


def write_data(folder: Path) -> None:
    """Write the ratings that the commands read."""
    five = [-1.5, -0.5, 0.5, 1.5]
    two = cut(study("AB", 8, 12, 1), five)
    line = study("AB", 8, 12, 1)
    criteria = [
        cut(study("AB", 6, 10, seed), five).assign(criterion=name) for seed, name in ((4, "fluency"), (5, "adequacy"))
    ]
    judged = cut(study("AB", 5, 30, 7), five).assign(kind="human")
    model = cut(study("AB", 1, 60, 8), five).assign(kind="judge", participant="model")
    judged = judged[judged["item"].str[1:].astype(int) < 30]
    flawed = pd.concat([two, two.head(3)]).assign(rating=lambda t: t["rating"].where(t["item"] != "i3", 9))
    tables = {
        "two": two,
        "three": cut(study("ABC", 8, 10, 2), five),
        "line": line.assign(rating=(50 + 15 * line["latent"]).clip(0, 100).round(1)).drop(columns="latent"),
        "binary": cut(study("AB", 8, 12, 3), [0.0]),
        "few": cut(study("AB", 2, 12, 6), five),
        "criteria": pd.concat(criteria),
        "judged": pd.concat([judged, model]),
        "flawed": flawed,
        "wide": two.pivot_table(index=["item", "system"], columns="participant", values="rating").reset_index(),
        "gold": two.groupby(["item", "system"], as_index=False)["rating"]
        .median()
        .round()
        .rename(columns={"rating": "gold"}),
        "outside": pd.DataFrame({"system": ["A", "B"], "value": [0.3, 0.5]}),
    }
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv", index=False)


def commands() -> dict[str, list[str]]:
    """Every command by its name."""
    import shlex

    lines = [line for line in COMMANDS.replace("\\\n", " ").splitlines() if line.strip()]
    return {words[0]: words[1:] for words in (shlex.split(line) for line in lines)}


def record(folder: Path, python: str, old_names: bool) -> None:
    """Run the commands that this folder does not have yet."""
    folder.mkdir(parents=True, exist_ok=True)
    write_data(folder)
    for name, words in commands().items():
        result = folder / f"{name}.out"
        if result.exists():
            continue
        words = [f"stores/{name}" if word == "OWN" else word for word in words]
        words = [OLD_NAMES.get(word, word) for word in words] if old_names else words
        done = subprocess.run([python, "-m", "ordbridge", *words], cwd=folder, capture_output=True, text=True)
        extra = (folder / "simulated.csv").read_text() if name == "simulate" else ""
        result.write_text(done.stdout + extra)
        print(f"{name}: exit {done.returncode}", *([done.stderr.strip()] if done.returncode > 1 else []), flush=True)


def leaves(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Every number and text of a JSON value, by its path."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if not any(word in str(key).lower() for word in TIME):
                yield from leaves(inner, f"{path}/{key}")
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from leaves(inner, f"{path}/{place}")
    else:
        yield path, value


def content(file: Path) -> dict[str, object]:
    """Return what a command wrote: the leaves of its JSON, or its lines."""
    text = file.read_text()
    try:
        return dict(leaves(json.loads(text)))
    except json.JSONDecodeError:
        return dict(leaves(text.splitlines()))


def compare(one: Path, other: Path) -> int:
    """Print what differs between two records; return 1 if a number does."""
    numbers = differing = texts = 0
    for name in commands():
        before, after = content(one / f"{name}.out"), content(other / f"{name}.out")
        for path in sorted(before.keys() | after.keys()):
            a, b = before.get(path), after.get(path)
            number = any(isinstance(value, int | float) and not isinstance(value, bool) for value in (a, b))
            numbers += number
            if a == b or (
                number and None not in (a, b) and math.isclose(float(a), float(b), rel_tol=1e-9, abs_tol=1e-12)
            ):  # type: ignore[arg-type]
                continue
            differing += number
            texts += not number
            print(f"{'NUMBER' if number else 'text'} {name}{path}\n    {a}\n    {b}")
    print(f"{len(commands())} commands, {numbers} numbers: {differing} differ; {texts} texts differ")
    return int(differing > 0)


def main() -> int:
    """Record or compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["record", "compare"])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--old-names", action="store_true", help="the version has the options of an earlier one")
    given = parser.parse_args()
    if given.what == "compare":
        return compare(*given.folders)
    record(given.folders[0], given.python, given.old_names)
    return 0


if __name__ == "__main__":
    sys.exit(main())
