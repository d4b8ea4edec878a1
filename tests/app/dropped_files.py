"""One small study in every kind of file that ``ob.read`` takes, to be dropped on the page.

``write(folder, kind)`` writes one and returns it, with a second file where the first does not say the system.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from ordbridge.datasets import formats as raw_files


def one_criterion() -> pd.DataFrame:
    """Return the ratings of one criterion: 12 people, 15 items, systems A, B and C."""
    both = raw_files.study()
    return both[both.criterion == "fluency"].drop(columns="criterion")


def wmt(folder: Path, ratings: pd.DataFrame) -> tuple[Path, list[str]]:
    """Scores as Appraise writes them, without a header."""
    rows = [
        (
            r.participant,
            f"system{r.system}",
            int(r.item[-2:]),
            "TGT",
            "eng",
            "deu",
            20 * r.rating,
            "doc",
            "False",
            1.0,
            9.0,
        )
        for r in ratings.itertuples()
    ]
    pd.DataFrame(rows).to_csv(folder / "wave.csv", index=False, header=False)
    return folder / "wave.csv", []


def _long(name: str, write: Callable[[pd.DataFrame, Path], object]) -> Callable[..., tuple[Path, list[str]]]:
    def maker(folder: Path, ratings: pd.DataFrame) -> tuple[Path, list[str]]:
        write(ratings.reset_index(drop=True), folder / name)
        return folder / name, []

    return maker


KINDS: dict[str, Callable[[Path, pd.DataFrame], tuple[Path, list[str]]]] = {
    "csv": _long("ratings.csv", lambda data, path: data.to_csv(path, index=False)),
    "tsv": _long("ratings.tsv", lambda data, path: data.to_csv(path, index=False, sep="\t")),
    "parquet": _long("ratings.parquet", lambda data, path: data.to_parquet(path)),
    "feather": _long("ratings.feather", lambda data, path: data.to_feather(path)),
    "json": _long("ratings.json", lambda data, path: data.to_json(path, orient="records")),
    "jsonl": _long("ratings.jsonl", lambda data, path: data.to_json(path, orient="records", lines=True)),
    "xlsx": _long("ratings.xlsx", lambda data, path: data.to_excel(path, index=False)),
    "ods": _long("ratings.ods", lambda data, path: data.to_excel(path, index=False, engine="odf")),
    "semicolons": raw_files.semicolons,
    "wide": raw_files.wide,
    "google_forms": raw_files.google_forms,
    "mturk": raw_files.mturk,
    "label_studio": raw_files.label_studio,
    "potato": raw_files.potato,
    "qualtrics": raw_files.qualtrics,
    "wmt": wmt,
}


def write(folder: Path, kind: str) -> tuple[Path, Path | None]:
    """Write the study as one kind of file."""
    path, options = KINDS[kind](folder, one_criterion())
    return path, Path(options[1]) if options else None
