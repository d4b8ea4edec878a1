"""One HTML page from any result: the answer, a picture, the table behind it, checks, methods, how to repeat it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ordbridge import figures, tables
from ordbridge.errors import InputError
from ordbridge.formats import as_text, listed
from ordbridge.papers.reproduction import NOT_AT_HAND, UNDECIDED
from ordbridge.report import fitted, judges, manuscript, reliability
from ordbridge.report.html import Page, cell
from ordbridge.report.manuscript import for_the_paper
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
    tables = [manuscript.latex(manuscript.main_table(result))]
    return for_the_paper(made, manuscript.methods(result), manuscript.references(result), tables, repeat)


def _run(run: Run) -> Page:
    table = run.power()
    made = Page("Power of the planned study")
    headline, more = power_answer(table, [axis for axis in run.grid.axes if axis in table.column_names])
    made.answer(headline, more)
    if "effect" in table.column_names and table.num_rows:
        made.picture(figures.power_curves(run), "Power over the effect, with exact 95 % intervals")
    hidden = ["cell"] if any(table["n_failed"].to_pylist()) else ["cell", "power_if_failures_significant"]
    said, shown = _apart(table.drop_columns(hidden))
    made.heading("Power of each study").sentence(said).table(shown)
    if run.calibration:
        made.sentence(
            "Size is how often the test is significant where nothing is to be found; adjusted power is that at a "
            "critical value at which the size is alpha. Compare models by their adjusted power."
        )
    made.heading("Checks")
    failures = run.failures()
    if failures.num_rows:
        made.warning(f"{sum(failures['n'].to_pylist())} fits failed; they count as not significant.").table(failures)
    else:
        made.sentence("No fit failed.")
    if run.manifest["audit"]:
        audit = run.audit()
        made.heading("Audit against R", 3).sentence(f"{audit}.").table(audit.summary)
    with made.folded("Estimates against the truth"):
        made.table(_apart(run.bias().drop_columns(["cell"]))[1])
    return made


ENOUGH = 0.8
"""The power that the headline of a run asks for."""


def power_answer(table: pa.Table, axes: Sequence[str]) -> tuple[str, list[str]]:
    """Say of every model from which effect and which size of study on it has the power that people ask for.

    Examples
    --------
    >>> row = {"model": "clmm", "measure": "power", "effect": 0.31, "items": 50, "conf_low": 0.8, "conf_high": 0.87}
    >>> power_answer(pa.Table.from_pylist([row | {"power": 0.84}]), ["items", "effect"])[0]
    'clmm finds an effect of 0.31 with 84 % power (80 to 87) in a study of 50 items.'
    """
    rows = [row for row in table.to_pylist() if row["measure"] == "power" and row["power"] is not None]
    rows = [row for row in rows if row.get("effect") != 0]
    if not rows:
        return "There is no power to report yet.", []
    sentences = []
    for model in dict.fromkeys(row["model"] for row in rows):
        own = [row for row in rows if row["model"] == model]
        enough = [row for row in own if row["power"] >= ENOUGH]
        if enough:
            best = min(enough, key=lambda row: (abs(row.get("effect") or 0), _ratings(row)))
            sentences.append(f"{model} finds {_with_power(best)} {_study(best, axes)}.")
        else:
            best = max(own, key=lambda row: row["power"])
            sentences.append(f"{model} finds {_with_power(best)} {_study(best, axes)}, and more nowhere.")
    return sentences[0], sentences[1:]


def _ratings(row: dict[str, Any]) -> float:
    return float(row.get("items") or 1) * float(row.get("ratings_per_text") or 1)


def _with_power(row: dict[str, Any]) -> str:
    effect = f"an effect of {row['effect']:g}" if row.get("effect") is not None else "the difference"
    interval = f"({100 * row['conf_low']:.0f} to {100 * row['conf_high']:.0f})"
    return f"{effect} with {100 * row['power']:.0f} % power {interval}"


AXES = {"items": "{} items", "ratings_per_text": "{} ratings per text", "variance": "{} variance"}


def _study(row: dict[str, Any], axes: Sequence[str]) -> str:
    told = [AXES.get(axis, axis.replace("_", " ") + " {}").format(cell(row[axis])) for axis in axes
            if axis != "effect" and row.get(axis) is not None]  # fmt: skip
    return f"in a study of {listed(told)}" if told else "in this study"


READ = ["items", "ratings_per_text", "power", "conf_low", "conf_high", "verdict", "participants",
        "ratings", "cost", "effect", "n", "n_failed"]  # fmt: skip
CALIBRATED = ["nominal_power", "critical_value", "size", "size_n"]


def _plan(plan: Plan) -> Page:
    asked = plan.asked
    made = Page("How many items, how many raters?")
    best = plan.recommended
    if best is not None and plan.question == "designs":
        made.answer(_in_short(best), [_without_options(plan.sentence)])
    else:
        made.answer(_without_options(plan.sentence))
    for note in plan.notes:
        made.warning(note)
    made.picture(figures.plan_contours(plan), "Power: the curve through all simulations, and the designs simulated")
    simulated = plan.designs.filter(plan.designs["n"].to_numpy() > 0)
    said, shown = _apart(simulated.select(READ + CALIBRATED * asked["calibrated"]))
    made.heading("Designs").sentence(said).table(shown, names={"n": "datasets"})
    if plan.pairs is not None:
        made.table(plan.pairs, "Pairs under the recommended design, after Holm's correction")
    failed = sum(plan.designs["n_failed"].to_pylist())
    made.heading("Checks").sentence(f"{failed} of {asked['datasets']} fits failed.")
    for name, caption in (("sensitivity", "If raters or items differ more, or the effect is smaller"),
                          ("uncertainty", "How uncertain the pilot is"),
                          ("units", "The effect in other units")):  # fmt: skip
        if (table := getattr(plan, name)) is not None and table.num_rows:
            with made.folded(caption):
                made.table(table)
    rest = plan.designs.filter(plan.designs["n"].to_numpy() == 0)
    if rest.num_rows and plan.question == "designs":
        with made.folded("Designs that were not simulated: what the curve predicts"):
            made.table(rest.select(["items", "ratings_per_text", "participants", "ratings", "cost", "predicted"]))
    with made.folded("What was assumed"):
        made.table(_assumed(asked["truth"]))
    return made


def _without_options(sentence: str) -> str:
    """Return a sentence without the arguments that it names in parentheses, which are for those who call."""
    return re.sub(r" \([a-z_]+=[^()]*\)", "", sentence)


def _in_short(best: dict[str, Any]) -> str:
    cost = f", {best['cost']:,.2f}" if best["cost"] is not None else ""
    return (
        f"{best['items']:,} items with {best['ratings_per_text']:g} ratings per text are enough: power "
        f"{100 * best['power']:.0f} % ({100 * best['conf_low']:.0f} to {100 * best['conf_high']:.0f}), "
        f"{best['ratings']:,} ratings by {best['participants']:,} participants{cost}."
    )


def _assumed(truth: Mapping[str, Any]) -> pa.Table:
    """Return what was assumed in words and three digits; correlations of 0 are left out."""
    rows = {}
    for name, value in truth.items():
        if value is None or value == [] or _is_identity(value):
            continue
        rows[name.replace("_", " ")] = as_text(value, "{:.3g}".format)
    return pa.table({"what": list(rows), "value": list(rows.values())})


def _is_identity(value: Any) -> bool:
    square = isinstance(value, Sequence) and len(value) > 0 and all(
        isinstance(row, Sequence) and not isinstance(row, str) and len(row) == len(value) for row in value
    )  # fmt: skip
    return square and all(number == (i == j) for i, row in enumerate(value) for j, number in enumerate(row))


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


def scales_page(comparison: ScaleComparison, names: Sequence[str]) -> Page:
    """Return the page of a comparison of rating scales."""
    made = Page("Rating scales").answer(f"How {listed([*names])} compare as rating scales")
    for caption, table in comparison.as_in_paper().items():
        made.table(table, caption=caption)
    made.sentence("* p < .05, ** p < .01").sentences(comparison.notes)
    with made.folded("Means of the systems"):
        made.table(comparison.means)
    with made.folded("Differences between systems"):
        made.table(comparison.differences)
    with made.folded("The numbers behind these tables"):
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
