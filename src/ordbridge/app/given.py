"""What a job starts from and what it leaves: a file and choices, a report and files to keep, the command in a shell."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ordbridge.errors import InputError
from ordbridge.reading import RatingTable, read
from ordbridge.render.cells import columns_of
from ordbridge.render.layout import ShownTable
from ordbridge.results import Result
from ordbridge.support.naming import names_as
from ordbridge.support.progress import Progress

WORDS = ("participant", "item", "system", "criterion", "columns", "format", "sheet", "where")
LISTS = ("rating", "levels", "ignore")
MOST_SHOWN = 25  # rows of a table on the page; the report has all

Tell = Callable[[Progress | str], None]


@dataclass(frozen=True)
class Given:
    """What a job starts from; it runs in the folder of its study, where files have the names that people gave them."""

    dropped: tuple[str, ...]
    second: str | None
    """A file with one row per item or participant, whose columns are added."""
    plan: str | None
    """A plan to be followed."""
    options: Mapping[str, Any]
    """What was chosen on the page."""
    folder: Path
    """Where what is to be kept goes."""
    tell: Tell

    @property
    def files(self) -> tuple[str, ...]:
        """The files that were dropped."""
        if not self.dropped:
            raise InputError("there is no file yet; drop one")
        return self.dropped

    @property
    def source(self) -> str | list[str]:
        """The file that was dropped, or all of them."""
        return self.files[0] if len(self.files) == 1 else list(self.files)

    def reading(self) -> dict[str, Any]:
        """Return the options of :func:`ordbridge.read` that were chosen."""
        how: dict[str, Any] = {name: str(value) for name in WORDS if (value := self.options.get(name))}
        how |= {name: [str(one) for one in value] for name in LISTS if (value := self.options.get(name))}
        if weights := self.options.get("weights"):
            how["levels"] = dict(_penalty(str(one)) for one in weights)
        if ends := self.options.get("scale"):
            how["scale"] = [float(end) for end in ends]
        if direction := self.options.get("direction"):
            how["lower_is_better"] = direction == "lower"
        return how | ({"join": self.second} if self.second else {})

    def typed(self) -> dict[str, Any]:
        """Return the same options as they are typed for a command."""
        how = self.reading()
        if isinstance(levels := how.get("levels"), dict):
            how.pop("levels")
            how["weights"] = [f"{name}={number:g}" for name, number in levels.items()]
        return how


def read_given(given: Given) -> RatingTable:
    """Read the files as it was chosen."""
    return read(given.source, **given.reading())


def _penalty(text: str) -> tuple[str, float]:
    """Return a severity and its penalty, typed as ``minor=1``."""
    name, _, number = (part.strip() for part in text.partition("="))
    try:
        return name, float(number)
    except ValueError:
        raise InputError(f"{text!r} is not a severity and its penalty; write for example minor=1, major=5") from None


def keep_picture(folder: Path, figure: Any) -> None:
    """Write a picture in the formats that papers and slides take."""
    for ending in ("png", "svg", "pdf"):
        figure.savefig(folder / f"picture.{ending}")


def shown(result: Result) -> dict[str, Any]:
    """Return what the page shows of a result: its answer, tables, what to know, and what the picture is."""
    picture = result.picture()
    return {
        "headline": result.answer.partition("\n")[0],
        "more": result.answer.splitlines()[1:],
        "counted": result.counted,
        "tables": [_grid(grid) for grid in result.on_page()],
        "findings": [{"severity": one.severity, "text": one.text} for one in result.shown],
        "picture": "" if picture is None else picture.caption,
    }


def _grid(grid: ShownTable) -> dict[str, Any]:
    columns = columns_of(grid)
    n = len(columns[0].texts) if columns else 0
    return {
        "caption": grid.caption,
        "columns": [
            {"title": column.title, "number": column.numeric, "cells": column.texts[:MOST_SHOWN]}
            for column in columns[:8]
        ],
        "marked": sorted(grid.marked),
        "rest": max(0, n - MOST_SHOWN),
    }


def keep(folder: Path, result: Result, repeat: str, answered: bool = True) -> None:
    """Write the report of a result, with the command that repeats it, and what belongs into a paper."""
    with names_as(as_typed):
        result.report(folder / "report.html", repeat)
    if answered:
        (folder / "tables.tex").write_text(result.latex() + "\n", encoding="utf-8")
        (folder / "tables.md").write_text(result.markdown() + "\n", encoding="utf-8")
        (folder / "references.bib").write_text(result.bibtex() + "\n", encoding="utf-8")
    if answered and (picture := result.picture()) is not None:
        keep_picture(folder, result.figures()[picture.name])


def as_typed(name: str, *value: Any) -> str:
    """Return an argument of a function as the command has it.

    Examples
    --------
    >>> as_typed("force", True), as_typed("scale", [1, 5]), as_typed("where")
    ('--force', '--scale 1 5', '--where')
    """
    given = value[0] if value and (name == "lower_is_better" or value[0] is not True) else []
    return command(**{name: given}).removeprefix("ordbridge ")


FILES = {
    "report.html": "report (HTML)",
    "tables.tex": "table and methods (LaTeX)",
    "tables.md": "table and methods (Markdown)",
    "references.bib": "references (BibTeX)",
    "plan.json": "plan (JSON)",
    "preregistration.md": "pre-registration (Markdown)",
    "design-sheet.csv": "who rates what (CSV)",
    "sheets.zip": "a sheet for each rater (ZIP)",
    "tasks.jsonl": "tasks for Potato (JSONL)",
    "tasks.json": "tasks for Label Studio (JSON)",
    "designs.csv": "studies that were tried (CSV)",
    "differences.csv": "differences (CSV)",
    "raters.csv": "each rater (CSV)",
    "checks.csv": "what is wrong (CSV)",
    "ratings.csv": "one row per rating (CSV)",
    "pilot.csv": "the pilot (CSV)",
    "truth.toml": "what was assumed (TOML)",
    "picture.png": "picture (PNG)",
    "picture.svg": "picture (SVG)",
    "picture.pdf": "picture (PDF)",
}
"""What can be kept, in the order in which the page shows it."""


def files_in(folder: Path) -> list[dict[str, str]]:
    """Return what can be kept of a job."""
    return [{"name": name, "title": title} for name, title in FILES.items() if (folder / name).is_file()]


def command(*words: str, **options: Any) -> str:
    """Return the command that does the same in a shell.

    Examples
    --------
    >>> command("compare", "my file.csv", scale=[1.0, 5.0], force=[], html="report.html")
    "ordbridge compare 'my file.csv' --scale 1 5 --force --html report.html"
    """
    typed = ["ordbridge", *words]
    if (lower := options.pop("lower_is_better", None)) is not None:
        options["lower_is_better" if lower else "higher_is_better"] = []
    for name, value in options.items():
        several = value if isinstance(value, list) else [value]
        words_of = [f"{one:g}" if isinstance(one, float) else str(one) for one in several]
        typed += [f"--{name.replace('_', '-')}", *words_of]
    return shlex.join(typed)
