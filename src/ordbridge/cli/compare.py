"""``ordbridge compare``: from a file to which system is rated higher."""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ordbridge.cli import log_options, models, outputs, reading, talk
from ordbridge.cli.defaults import choices_of, defaults_of
from ordbridge.errors import InputError
from ordbridge.results.finding import has

if TYPE_CHECKING:
    from ordbridge.comparison import Comparison
    from ordbridge.preferences import PreferenceComparison

__all__ = ["add"]

SETTINGS = ("estimand", "reference", "adjust", "model", "formula", "engine", "conf_level", "force")
SELDOM = (
    "correct",
    "link",
    "test",
    "timeout",
    "draws",
    "seed",
    "jobs",
    "store",
    "by",
    "blocks",
    "covariates",
    "magnitude",
    "quick",
    "overall",
)


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    defaults = defaults_of("comparison.api:compare")
    reading.add_files(parser)
    reading.add_options(parser)
    parser.add_argument("--plan", metavar="FILE", help="make the analysis that ordbridge plan --json FILE planned")
    parser.add_argument(
        "--estimand",
        choices=choices_of("comparison.analysis:ESTIMANDS"),
        help="what is compared: rating points, or R's latent scale; default: %(default)s",
    )
    _add_beside(parser)
    parser.add_argument("--reference", metavar="SYSTEM", help="compare all others with this system (Dunnett)")
    parser.add_argument(
        "--adjust",
        choices=choices_of("comparison.family:ADJUSTMENTS"),
        help="correction; default: holm, with a reference dunnett",
    )
    parser.add_argument(
        "--correct",
        choices=choices_of("comparison.api:CORRECT"),
        help="correct over all criteria, or each by itself; default: %(default)s",
    )
    parser.add_argument("--model", choices=models.MODELS, help="default: by the kind of ratings")
    parser.add_argument("--formula", help='such as "rating ~ system + (1 | item)"; default: by the design')
    parser.add_argument(
        "--link", choices=choices_of("models.links:LINKS"), help="of ordinal models; default: %(default)s"
    )
    models.add_engine(parser, defaults["engine"])
    parser.add_argument(
        "--test",
        choices=choices_of("comparison.latent:TESTS"),
        help="of the latent scale; default: by the design",
    )
    parser.add_argument("--conf-level", type=float, help="confidence level of the intervals; default: %(default)s")
    _add_bootstrap(parser)
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="stop a fit after this many seconds")
    parser.add_argument("--force", action="store_true", help="go on despite errors in the ratings")
    parser.add_argument(
        "--quick", action="store_true", help="the answer without ordinal model and bootstrap; says what is still open"
    )
    parser.add_argument(
        "--overall",
        nargs="*",
        metavar="CRITERION=WEIGHT",
        help="one ranking over all criteria, too; default: equal weights",
    )
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")
    log_options.add_options(parser, comparing=True)
    parser.add_argument("--pairs", action="store_true", help="also print the differences between all pairs")
    parser.add_argument("--explain", action="store_true", help="also print every pair, notes, methods and references")
    parser.set_defaults(notes_on_request=True)
    outputs.add_options(parser, plot="shares and expected ratings")
    parser.add_argument(
        "--out", metavar="FILE", help="write the differences to .csv or .parquet, or all tables into a folder"
    )
    parser.set_defaults(**{name: defaults[name] for name in SETTINGS}, run=run, reads=("file", "plan", "join"))
    parser.set_defaults(**defaults_of("comparison.api:CompareOptions", *SELDOM))


def _add_beside(parser: argparse.ArgumentParser) -> None:
    """Add what stands in the model beside the system, and what ratings are."""
    parser.add_argument("--by", metavar="COLUMN", help="an answer for each value of this column, corrected over all")
    parser.add_argument(
        "--block",
        dest="blocks",
        nargs="+",
        metavar="COLUMN",
        help="datasets, languages, sessions: in the model, tested; none: not even those that are recognised",
    )
    parser.add_argument(
        "--covariates",
        nargs="+",
        metavar="COLUMN",
        help="numbers such as length, or trial_order: in the model, centred",
    )
    parser.add_argument(
        "--magnitude",
        action="store_true",
        help="ratings are magnitudes: compared as logarithms, differences are ratios",
    )


def _add_bootstrap(parser: argparse.ArgumentParser) -> None:
    """Add how many draws a bootstrap has, and where they are made and kept."""
    parser.add_argument("--draws", type=int, metavar="N", help="bootstrap: number of draws; default: 199, or fewer")
    parser.add_argument("--seed", type=int, metavar="N", help="bootstrap: of the draws; default: %(default)s")
    parser.add_argument(
        "--jobs", type=int, metavar="N", help="bootstrap: processes, -1 for all cores; default: %(default)s"
    )
    parser.add_argument("--store", metavar="FOLDER", help="bootstrap: keep draws there, and go on with those it has")


def run(args: argparse.Namespace) -> int:
    """Compare and show; return 1 if there is no answer."""
    from ordbridge.comparison import CompareOptions, compare
    from ordbridge.reading import read
    from ordbridge.reading.preferences import PreferencesFound

    outputs.require_writable(args)
    if log_options.are_logs(args.file, args):
        del args.notes_on_request
        return log_options.compare_logs(args)
    if args.plan:
        return _as_planned(args)
    try:
        ratings: Any = read(reading.files(args), **reading.options(args))
    except PreferencesFound as recognised:
        if recognised.preferences is None:
            raise
        ratings = recognised.preferences
    settings = {name: getattr(args, name) for name in SETTINGS}
    with warnings.catch_warnings(), talk.progress(args.quiet) as progress:
        warnings.simplefilter("ignore")  # what they say is in the findings
        options = CompareOptions(**{name: getattr(args, name) for name in SELDOM}, progress=progress)
        found = compare(ratings, **settings, options=options)
    outputs.finish(found, args, *_keep(found, args))
    return 1 if has(found.findings, "no-answer", "not-usable", "ratings-have-errors") else 0


def _as_planned(args: argparse.Namespace) -> int:
    """Make the planned analysis, record the look, and say where the data differ from the plan."""
    from ordbridge.comparison import compare_as_planned
    from ordbridge.planning import Ledger, ledger_beside, read_protocol

    usual = {"link": "logit", "test": "auto", "correct": "criteria"}
    given = [f"--{name}" for name in ("model", "formula", "reference", "adjust") if getattr(args, name) is not None]
    given += [f"--{name}" for name in ("link", "test", "correct") if getattr(args, name) != usual[name]]
    if given:
        raise InputError(f"{' and '.join(given)} would change the planned analysis; leave it out, or leave out --plan")
    protocol = read_protocol(args.plan)
    how = {"engine": args.engine, "ledger": Ledger(protocol, ledger_beside(args.plan)), **reading.options(args)}
    with warnings.catch_warnings(), talk.progress(args.quiet) as progress:
        warnings.simplefilter("ignore")  # what they say is in the findings
        found = compare_as_planned(reading.files(args), protocol, progress=progress, **how)
    outputs.finish(found, args, *_keep(found.comparison, args))
    return 0


def _keep(found: Comparison | PreferenceComparison, args: argparse.Namespace) -> list[Path]:
    """Write the differences, or all tables into a folder."""
    from ordbridge.reading.tables import write
    from ordbridge.results import findings_table

    if not args.out or not found.criteria:
        return []
    if Path(args.out).suffix:
        return [write(found.pairs, args.out)]
    folder = Path(args.out)
    folder.mkdir(parents=True, exist_ok=True)
    tables = {**found.tables, "findings": findings_table(found.findings)}
    return [write(table, folder / f"{name}.csv") for name, table in tables.items()]
