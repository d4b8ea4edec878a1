"""``ordbridge compare``: from a file to which system is rated higher."""

from __future__ import annotations

import argparse
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ordbridge.checks import file_to_write
from ordbridge.cli import models, outputs, reading, show, talk, wording
from ordbridge.cli.defaults import defaults_of
from ordbridge.errors import InputError

if TYPE_CHECKING:
    from ordbridge.comparison import Comparison

__all__ = ["add"]

SETTINGS = ("estimand", "reference", "adjust", "correct", "model", "formula", "link", "engine", "test", "conf_level",
            "draws", "seed", "jobs", "store", "timeout", "anyway")  # fmt: skip
TABLES = ("ranking", "pairs", "shares", "design", "models", "checks")


def add(subparsers: Any) -> None:
    """Add the command."""
    from ordbridge.comparison import ADJUSTMENTS, ESTIMANDS, TESTS, compare
    from ordbridge.comparison.api import CORRECT
    from ordbridge.models.prepare import LINKS

    defaults = defaults_of(compare)
    parser = subparsers.add_parser("compare", help="say which system is rated higher, from any file of ratings")
    parser.add_argument("file", help="ratings: CSV, Excel, JSON, Parquet, or the export of a survey or annotation tool")
    reading.add_options(parser)
    parser.add_argument("--scale", nargs=2, type=float, metavar=("LOWEST", "HIGHEST"), help="ends of the scale")
    parser.add_argument("--plan", metavar="FILE", help="make the analysis that ordbridge plan --json FILE planned")
    parser.add_argument(
        "--estimand",
        choices=ESTIMANDS,
        help="what is compared: rating points, or R's latent scale; default: %(default)s",
    )
    parser.add_argument("--reference", metavar="SYSTEM", help="compare all others with this system (Dunnett)")
    parser.add_argument("--adjust", choices=ADJUSTMENTS, help="correction; default: holm, with a reference dunnett")
    parser.add_argument(
        "--correct", choices=CORRECT, help="correct over all criteria, or each by itself; default: %(default)s"
    )
    parser.add_argument("--model", choices=models.MODELS, help="default: by the kind of ratings, and said")
    parser.add_argument("--formula", help='such as "rating ~ system + (1 | item)"; default: by the design, and said')
    parser.add_argument("--link", choices=LINKS, help="of ordinal models; default: %(default)s")
    models.add_engine(parser, defaults["engine"])
    parser.add_argument("--test", choices=TESTS, help="of the latent scale; default: by the design, and said")
    parser.add_argument("--conf-level", type=float, help="confidence level of the intervals; default: %(default)s")
    parser.add_argument("--draws", type=int, metavar="N", help="bootstrap: number of draws; default: 199, or fewer")
    parser.add_argument("--seed", type=int, metavar="N", help="bootstrap: of the draws; default: %(default)s")
    parser.add_argument(
        "--jobs", type=int, metavar="N", help="bootstrap: processes, -1 for all cores; default: %(default)s"
    )
    parser.add_argument("--store", metavar="FILE", help="bootstrap: keep draws there, and go on with those it has")
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="stop a fit after this many seconds")
    parser.add_argument("--anyway", action="store_true", help="go on although the ratings have errors")
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")
    outputs.add_options(parser, plot="shares and expected ratings")
    parser.add_argument(
        "--out", metavar="FILE", help="write the differences to .csv or .parquet, or all tables into a folder"
    )
    parser.add_argument("--json", action="store_true", help="print ranking, pairs, recognised and checks as JSON")
    parser.set_defaults(**{name: defaults[name] for name in SETTINGS}, run=run)


def run(args: argparse.Namespace) -> int:
    """Compare and show; return 1 if there is no answer."""
    from ordbridge.comparison import compare

    for name in ("html", "latex", "markdown", "plot"):
        if target := getattr(args, name):
            file_to_write(target)
    if args.plan:
        return _as_planned(args)
    settings = {name: getattr(args, name) for name in SETTINGS}
    with warnings.catch_warnings(), talk.progress(args.quiet) as progress:
        warnings.simplefilter("ignore")  # what they say is in the notes
        found = compare(args.file, **reading.options(args), scale=args.scale, **settings, progress=progress)
    written = _keep(found, args)
    if args.json:
        show.data(found.to_dict())
        for note in found.notes:
            talk.tell(wording.as_typed(note, args))
    else:
        _show(found, args)
        for path in written:
            show.line(f"written: {path}")
    unanswered = {"no-answer", "not-usable"} & set(found.checks["problem"].to_pylist())
    return 1 if unanswered or not found.criteria else 0


def _as_planned(args: argparse.Namespace) -> int:
    """Make the planned analysis, record the look, and say where the data differ from the plan."""
    from ordbridge.comparison import compare_as_planned
    from ordbridge.planning import Ledger, ledger_beside, read_protocol

    usual = defaults_of(compare_as_planned, "engine") | {"link": "logit", "test": "auto", "correct": "criteria"}
    given = [f"--{name}" for name in ("model", "formula", "reference", "adjust") if getattr(args, name) is not None]
    given += [f"--{name}" for name in ("link", "test", "correct") if getattr(args, name) != usual[name]]
    if given:
        raise InputError(f"{' and '.join(given)} would change the planned analysis; leave it out, or leave out --plan")
    protocol = read_protocol(args.plan)
    how = {"engine": args.engine, "ledger": Ledger(protocol, ledger_beside(args.plan)), **reading.options(args)}
    with warnings.catch_warnings(), talk.progress(args.quiet) as progress:
        warnings.simplefilter("ignore")  # what they say is in the notes
        found = compare_as_planned(args.file, protocol, progress=progress, **how)
    if args.json:
        told = {"tests": found.tests.to_pylist(), "departures": list(found.departures)}
        told["decision"] = None if found.decision is None else asdict(found.decision)
        show.data(told | found.comparison.to_dict())
        return 0
    show.line("As planned:")
    for line in found.sentences:
        show.line(line)
    show.line("The data are as planned." if not found.departures else "Where the data differ from the plan:")
    for line in found.departures:
        show.line(f"- {line}")
    show.line()
    show.line("Beyond the plan, without its boundaries and critical values:")
    _show(found.comparison, args)
    for path in _keep(found.comparison, args):
        show.line(f"written: {path}")
    return 0


def _show(found: Comparison, args: argparse.Namespace) -> None:
    """Print what was read, what is wrong, then the answer, and both tables."""
    for note in found.notes:
        show.line(wording.as_typed(note, args))
    for row in found.checks.to_pylist():
        where = f" (row{'s' if row['count'] != 1 else ''} {row['rows']})" if row["rows"] else ""
        show.line(wording.as_typed(f"{row['severity']}: {row['what']}{where}. {row['remedy']}", args))
    if not found.criteria:
        return
    show.line()
    for line in found.sentences:
        show.line(line)
    show.line()
    hidden = ["criterion"] if found.criteria == (None,) else []
    show.table(found.ranking.drop_columns([*hidden, "std_error", "always"]), title="Expected ratings")
    title = "Differences in rating points, corrected" if found.asked["estimand"] == "points" else "Latent differences"
    hidden += ["p_value", "test", "std_error", "df", "latent_agrees"]
    show.table(found.pairs.drop_columns(hidden), title=title)


def _keep(found: Comparison, args: argparse.Namespace) -> list[Path]:
    """Write what was asked for; without an answer there is a report only."""
    from ordbridge.tables import write

    if not found.criteria:
        return [found.report(args.html, outputs.command())] if args.html else []
    written = outputs.keep(found, args)
    if args.out and Path(args.out).suffix:
        written.append(write(found.pairs, args.out))
    elif args.out:
        folder = Path(args.out)
        folder.mkdir(parents=True, exist_ok=True)
        written += [write(getattr(found, name), folder / f"{name}.csv") for name in TABLES]
    return written
