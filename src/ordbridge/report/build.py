"""One HTML page from any result: the question, the answer, tables, pictures, failures, methods, how to repeat it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ordbridge import figures, tables
from ordbridge.errors import InputError
from ordbridge.papers.reproduction import NOT_AT_HAND, UNDECIDED
from ordbridge.report import fitted, judges, manuscript, reliability
from ordbridge.report.html import Page, cell
from ordbridge.writing import whole_file

if TYPE_CHECKING:
    from ordbridge.papers.reproduction import Reproduction
    from ordbridge.planning import Plan
    from ordbridge.power import Run
    from ordbridge.reliability.scales import ScaleComparison

__all__ = ["page", "scales_page", "write_folder", "write_report"]


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
        "run": _run,
        "plan": _plan,
        "reliability": reliability.build,
        "judge": judges.build,
        "reproduction": _reproduction,
    }
    made = build[manuscript.kind_of(result)](result)
    made.heading("For the paper").sentence(manuscript.methods(result)).sentences(manuscript.references(result))
    made.heading("The table in LaTeX", 3).verbatim(manuscript.latex(manuscript.main_table(result)))
    if repeat:
        made.heading("How to repeat it").verbatim(repeat)
    return made


def _run(run: Run) -> Page:
    table = run.power()
    made = Page("Power of the planned study")
    failures = run.failures()
    made.heading("Question")
    made.sentence(
        f"How often do {', '.join(m.name for m in run.models)} find the difference, at alpha {run.alpha:g}, in "
        f"{len(run.grid.cells)} kinds of study?"
    )
    made.heading("Answer").sentence(_range(table))
    if "effect" in table.column_names:
        made.picture(figures.power_curves(run), "Power over the effect, with exact 95 % intervals")
    hidden = ["cell"] if any(table["n_failed"].to_pylist()) else ["cell", "power_if_failures_significant"]
    said, shown = _apart(table.drop_columns(hidden))
    made.heading("Power").sentence(said).table(shown)
    if run.calibration:
        made.sentence(
            "Size is how often the test is significant where nothing is to be found; adjusted power is that at a "
            "critical value at which the size is alpha. Compare models by their adjusted power."
        )
    made.heading("Diagnostics and failures")
    if failures.num_rows:
        made.warning(f"{sum(failures['n'].to_pylist())} fits failed; they count as not significant.").table(failures)
    else:
        made.sentence("No fit failed.")
    made.table(_apart(run.bias().drop_columns(["cell"]))[1], "Estimates against the truth")
    if run.manifest["audit"]:
        audit = run.audit()
        made.heading("Audit against R", 3).sentence(f"{audit}.").table(audit.summary)
    return made


def _range(table: Any) -> str:
    rows = [row for row in table.to_pylist() if row["measure"] == "power" and row["power"] is not None]
    if not rows:
        return "There is no power to report yet."
    low, high = (edge(rows, key=lambda row: row["power"]) for edge in (min, max))
    return (
        f"Power runs from {low['power']:.0%} ({low['model']}, {low['cell']}) to {high['power']:.0%} "
        f"({high['model']}, {high['cell']})."
    )


READ = ["items", "ratings_per_text", "power", "conf_low", "conf_high", "verdict", "recommended", "participants",
        "ratings", "cost", "effect", "n", "n_failed"]  # fmt: skip
CALIBRATED = ["nominal_power", "critical_value", "size", "size_n"]


def _plan(plan: Plan) -> Page:
    made = Page("How many items, how many raters?")
    for note in plan.notes:
        made.warning(note)
    asked = plan.asked
    question = {
        "designs": f"Which is the smallest, or cheapest, study with {asked['target']:.0%} power?",
        "power": "What is the power of this study?",
        "effect": f"What is the smallest effect that this study finds with {asked['target']:.0%} power?",
    }[plan.question]
    made.heading("Question").sentence(question)
    made.heading("Answer").sentence(plan.sentence)
    made.picture(figures.plan_contours(plan), "Power: the curve through all simulations, and the designs simulated")
    said, shown = _apart(
        plan.designs.filter(plan.designs["n"].to_numpy() > 0).select(READ + CALIBRATED * asked["calibrated"])
    )
    made.heading("Designs").sentence(said).table(shown, "Simulated")
    if plan.pairs is not None:
        made.table(plan.pairs, "Pairs under the recommended design, after Holm's correction")
    if plan.uncertainty is not None:
        made.heading("How uncertain the pilot is").table(plan.uncertainty)
    rest = plan.designs.filter(plan.designs["n"].to_numpy() == 0)
    if rest.num_rows and plan.question == "designs":
        columns = ["items", "ratings_per_text", "participants", "ratings", "cost", "predicted"]
        made.table(rest.select(columns), "Not simulated: what the curve predicts", closed=True)
    made.heading("What was assumed").verbatim("\n".join(f"{name}: {value}" for name, value in asked["truth"].items()))
    failed = sum(plan.designs["n_failed"].to_pylist())
    made.heading("Diagnostics and failures").sentence(f"{failed} of {asked['datasets']} fits failed.")
    return made


def _reproduction(result: Reproduction) -> Page:
    made = Page(result.title)
    for warning in result.warnings:
        made.warning(warning)
    made.heading("Question").sentence("Do the claims of this paper hold when they are computed again?").sentence(
        result.reference
    )
    made.heading("Answer").sentence(result.answer)
    if result.summary:
        made.sentences(result.summary)
    if result.claims.num_rows:
        made.heading("What the paper says, and what we find").table(result.claims)
    if result.left_open.num_rows:
        made.heading("What the paper leaves open").table(result.left_open)
    for part in result.parts:
        made.heading(part.caption)
        for sentence in part.text:
            made.sentence(sentence)
        if isinstance(part.content, pa.Table):
            made.table(part.content)
        else:
            made.picture(part.content, part.caption)
    open_ = [row for row in result.claims.to_pylist() if row["verdict"] in (UNDECIDED, NOT_AT_HAND)]
    made.heading("Diagnostics and failures")
    made.sentence(f"{len(open_)} of {result.claims.num_rows} claims could not be judged.")
    made.sentences(f"{row['claim']}: {row['reason'] or row['verdict']}" for row in open_)
    return made


def scales_page(comparison: ScaleComparison, names: Sequence[str]) -> Page:
    """Return the page of a comparison of rating scales."""
    made = Page(f"Rating scales: {', '.join(names[:-1])} and {names[-1]}")
    for caption, table in comparison.as_in_paper().items():
        made.table(table, caption=caption)
    made.sentence("* p < .05, ** p < .01").sentences(comparison.notes)
    made.heading("Means of the systems").table(comparison.means)
    made.heading("Differences between systems").table(comparison.differences)
    made.heading("The numbers behind these tables")
    for name in ("reliability", "interchangeability", "sensitivity", "factors"):
        made.table(getattr(comparison, name), caption=name)
    return made


def _apart(table: pa.Table) -> tuple[str, pa.Table]:
    """Return a sentence about the columns that say the same in every row, and the table without them."""
    same = {}
    if table.num_rows > 1:
        values = {name: table[name].to_pylist() for name in table.column_names}
        same = {name: column[0] for name, column in values.items() if all(v == column[0] for v in column)}
    words = [f"{name.replace('_', ' ')} {cell(v, name)}" for name, v in same.items() if v not in (None, "")]
    return (f"In all rows: {', '.join(words)}." if words else ""), table.drop_columns(list(same))
