"""One HTML page from any result: the answer, a picture, the table behind it, checks, methods, how to repeat it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ordbridge import tables
from ordbridge.errors import InputError
from ordbridge.papers.reproduction import NOT_AT_HAND, UNDECIDED
from ordbridge.report import fitted, judges, manuscript, plans, reliability, runs, scales
from ordbridge.report.html import Page
from ordbridge.report.manuscript import for_the_paper
from ordbridge.writing import whole_file

if TYPE_CHECKING:
    from ordbridge.papers.reproduction import Reproduction

__all__ = ["page", "write_folder", "write_report"]


def write_report(result: Any, path: str | os.PathLike[str], repeat: str = "") -> Path:
    """Write any result to one self-contained HTML file.

    Parameters
    ----------
    result
        A fit, a comparison, a power run, a plan, an analysis of reliability or of a judge, or a reproduction.
    path
        The file, ``.html``.
    repeat
        The command that made the result.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import ordbridge as ob
    >>> fit = ob.lm("y ~ x", {"y": [1.0, 2.1, 2.9, 4.2], "x": [1, 2, 3, 4]}, engine="fast")
    >>> with TemporaryDirectory() as folder:
    ...     write_report(fit, f"{folder}/report.html").name
    'report.html'
    """
    return page(result, repeat).write(path)


def write_folder(reproduction: Reproduction, folder: str | os.PathLike[str], repeat: str = "") -> list[Path]:
    """Write a reproduction: tables as Parquet and CSV, figures as PNG, and ``report.html``; return the files.

    Parameters
    ----------
    reproduction
        What ``reproduce()`` of a paper returned.
    folder
        Where to; it is made if it is not there.
    repeat
        The command that made the result, for the report.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from ordbridge.papers.reproduction import Part, Reproduction, claims_table
    >>> counts = Part("counts", "Counts", pa.table({"n": [1]}))
    >>> with TemporaryDirectory() as folder:
    ...     written = write_folder(Reproduction("A title", "A paper", (), claims_table([]), (counts,)), folder)
    >>> [path.name for path in written]
    ['counts.parquet', 'counts.csv', 'report.html']
    """
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"cannot write to {folder}: it is a file; name a folder")
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, table in reproduction.tables.items():
        written += [tables.write(table, folder / f"{name}{ending}") for ending in (".parquet", ".csv")]
    for name, picture in reproduction.figures.items():
        with whole_file(folder / f"{name}.png") as partial:
            picture.savefig(partial, dpi=150)
        written.append(folder / f"{name}.png")
    return [*written, write_report(reproduction, folder / "report.html", repeat)]


def page(result: Any, repeat: str = "") -> Page:
    """Return the page of :func:`write_report`."""
    if isinstance(result, manuscript.Described):
        return result.page(repeat)
    build: dict[str, Callable[[Any], Page]] = {
        "fit": fitted.build,
        "run": runs.build,
        "plan": plans.build,
        "reliability": reliability.build,
        "judge": judges.build,
        "scales": scales.build,
        "reproduction": _reproduction,
    }
    made = build[manuscript.kind_of(result)](result)
    tables = [manuscript.latex(manuscript.main_table(result))]
    return for_the_paper(made, manuscript.methods(result), manuscript.references(result), tables, repeat)


def _reproduction(result: Reproduction) -> Page:
    made = Page(result.title).answer(result.answer, [result.reference])
    for warning in result.warnings:
        made.warning(warning)
    first = next((part for part in result.parts if not isinstance(part.content, pa.Table)), None)
    if first is not None:
        made.picture(first.content, first.caption)
    made.sentences(result.summary or ())
    if result.claims.num_rows:
        made.heading("What the paper says, and what we find").table(result.claims)
    if result.left_open.num_rows:
        made.heading("What the paper leaves open").table(result.left_open)
    open_ = [row for row in result.claims.to_pylist() if row["verdict"] in (UNDECIDED, NOT_AT_HAND)]
    made.heading("Checks").sentence(f"{len(open_)} of {result.claims.num_rows} claims could not be judged.")
    made.sentences(f"{row['claim']}: {row['reason'] or row['verdict']}" for row in open_)
    for part in result.parts:
        with made.folded(part.caption):
            for sentence in part.text:
                made.sentence(sentence)
            if isinstance(part.content, pa.Table):
                made.table(part.content)
            elif part is not first:
                made.picture(part.content, part.caption)
    return made
