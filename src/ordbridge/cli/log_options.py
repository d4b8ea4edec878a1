"""Options of commands that also take logs of evaluations, and the commands themselves."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from ordbridge.cli import exits, outputs
from ordbridge.cli.defaults import choices_of
from ordbridge.errors import InputError

__all__ = ["add_options", "are_logs", "compare_logs", "only_file", "plan_from_logs"]

READING = ("scorer", "task", "cluster", "runs", "errors")
COMPARING = ("pass_at", "fail_if_worse")
SHARED = ("reference", "adjust", "conf_level", "model", "engine", "lower_is_better", "higher_is_better")
"""Options that ratings by people have, too."""
USUAL = (
    "command",
    "json",
    "html",
    "latex",
    "markdown",
    "plot",
    "details",
    "out",
    "quiet",
    "help",
    "ORDBRIDGE_MAX_SIZE",
)


def add_options(parser: argparse.ArgumentParser, comparing: bool) -> None:
    """Add what is said about logs; without ``comparing`` only how they are read."""
    group = parser.add_argument_group("logs of evaluations (inspect_ai, lm-eval, promptfoo, MT-bench, AlpacaEval)")
    group.add_argument("--scorer", nargs="+", metavar="NAME", help="compare by these scorers or metrics")
    group.add_argument("--task", nargs="+", metavar="NAME", help="only these tasks")
    group.add_argument("--cluster", metavar="FIELD", help="field of the samples that says which belong together")
    group.add_argument(
        "--runs",
        choices=choices_of("logs.table:RUNS"),
        help="what several logs of one model and task are; default: ask",
    )
    group.add_argument(
        "--errors", choices=choices_of("logs.tasks:ERRORS"), help="answers that ended in errors; default: omit"
    )
    if comparing:
        group.add_argument("--pass-at", type=int, metavar="K", help="compare pass@K, one of K answers is right")
        group.add_argument(
            "--fail-if-worse",
            type=float,
            metavar="POINTS",
            help="exit with 1 if the first model is worse than the second by more than this many points",
        )


def are_logs(files: Sequence[str] | str | None, args: argparse.Namespace) -> bool:
    """Tell whether the files are logs, and refuse options that are about the other kind of file."""
    from ordbridge.logs import is_log

    logs = bool(files) and is_log(files)
    mine = {*READING, *COMPARING}
    for action in args.parser._actions:
        name = action.dest
        if not action.option_strings or name in USUAL or getattr(args, name, None) == args.parser.get_default(name):
            continue
        if logs and name not in mine and name not in SHARED and name not in getattr(args, "also_logs", ()):
            raise InputError(f"{action.option_strings[0]} is about ratings by people; leave it out with logs")
        if not logs and name in mine and files:
            raise InputError(f"{action.option_strings[0]} is about logs of evaluations, and these files are not logs")
    return logs


def only_file(files: Sequence[str]) -> str:
    """Return the one file of ratings that there is."""
    if len(files) != 1:
        raise InputError(
            f"{len(files)} files are given; ratings are read from one file, and several files must be logs"
        )
    return files[0]


def compare_logs(args: argparse.Namespace) -> int:
    """Compare models of logs; return 1 if the new one is worse than allowed."""
    from ordbridge.logs import compare
    from ordbridge.reading.tables import write
    from ordbridge.results.finding import has

    if args.fail_if_worse is not None and len(args.file) != 2 and args.reference is None:
        raise InputError("--fail-if-worse needs two files or folders, the new one first, or --reference OLD")
    given = _given(args, (*READING, *COMPARING, *SHARED))
    for name in ("lower_is_better", "higher_is_better"):
        if given.get(name) == []:
            raise InputError(f"--{name.replace('_', '-')} needs the names of scorers, because the files are logs")
    found = compare(args.file, **given)
    written = [write(found.pairs, args.out)] if args.out else []
    outputs.finish(found, args, *written)
    return exits.FAILED if has(found.findings, "worse-than-margin") else exits.OK


def plan_from_logs(args: argparse.Namespace) -> int:
    """Say how many items the next run needs."""
    from ordbridge.logs import plan
    from ordbridge.reading.tables import write

    if not args.effect_points or len(args.effect_points) != 1:
        raise InputError("a plan from logs needs the difference to find: --effect-points 2")
    found = plan(args.pilot, args.effect_points[0], target=args.target, alpha=args.alpha, **_given(args, READING))
    outputs.finish(found, args, *([write(found.designs, args.out)] if args.out else []))
    return exits.OK


def _given(args: argparse.Namespace, names: Sequence[str]) -> dict[str, Any]:
    return {name: value for name in names if (value := getattr(args, name, None)) is not None}
