"""``ordbridge judges``: a model's ratings beside people's."""

from __future__ import annotations

import argparse
from typing import Any

from ordbridge.cli import outputs, reading
from ordbridge.cli.defaults import defaults_of
from ordbridge.errors import InputError


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.description = (
        "The alternative annotator test, agreement and bias, means from few ratings by people and many by a "
        "judge, and what the judge saves. Its ratings are rows with kind = judge."
    )
    reading.add_files(parser)
    parser.add_argument(
        "--and",
        dest="judgements",
        metavar="FILE",
        help="with JSON files as the alternative annotator test has them: the models' annotations",
    )
    parser.add_argument("--judge", metavar="NAME", help="which judge; optional if there is only one")
    parser.add_argument("--people", nargs="+", metavar="SCORER", help="in logs: scorers that hold people's scores")
    parser.add_argument(
        "--epsilon",
        type=float,
        metavar="E",
        help="0.2 for experts, 0.15 for skilled people, 0.1 for crowd workers (default: %(default)s)",
    )
    reading.add_options(parser)
    parser.add_argument("--kind", metavar="COLUMN", help="column that says human or judge (default: %(default)s)")
    parser.add_argument("--cluster", metavar="COLUMN", help="column of texts that belong together (default: the item)")
    parser.add_argument("--level", choices=["nominal", "ordinal", "interval", "ratio"], help="level of measurement")
    parser.add_argument("--covariates", nargs="+", metavar="COLUMN", help="columns with which bias may change")
    parser.add_argument(
        "--lengths",
        nargs=2,
        metavar=("FIRST", "SECOND"),
        help="with comparisons: columns of the lengths of both texts, or of the texts: does the judge like long ones?",
    )
    parser.add_argument("--raters", choices=["random", "fixed"], help="people are a sample, or all there are")
    parser.add_argument("--cost-human", type=float, metavar="PRICE", help="price of a rating by a person")
    parser.add_argument("--cost-judge", type=float, metavar="PRICE", help="price of a rating by the judge")
    parser.add_argument("--conf-level", type=float, help="level of the intervals (default: %(default)s)")
    outputs.add_options(parser, plot="calibration, and whom the judge favours")
    parser.set_defaults(
        **defaults_of("judges.analysis:analyse", "epsilon", "conf_level"),
        **defaults_of("judges.judged:Columns", "kind"),
        run=run,
        reads=("file", "judgements"),
    )


def run(args: argparse.Namespace) -> int:
    """Analyse the judge, show the result, and write the report if wanted."""
    from ordbridge import judges, logs
    from ordbridge.preferences import judge_preferences
    from ordbridge.reading import read_alttest
    from ordbridge.reading.preferences import PreferencesFound
    from ordbridge.reliability.ratings import read_for

    outputs.require_writable(args)
    if logs.is_log(args.file):
        source: Any = logs.ratings(args.file, args.judge, args.people)
        args.cluster = args.cluster or "sample"
    else:
        source = reading.files(args) if args.judgements is None else read_alttest(args.file[0], args.judgements)
    try:
        study = read_for(source, args.level, None, reading.options(args))
    except PreferencesFound as recognised:
        if recognised.preferences is None:
            raise
        if args.judge is None:
            raise InputError("these are comparisons: name the judge among the raters with --judge") from None
        found = judge_preferences(
            recognised.preferences, args.judge, epsilon=args.epsilon, conf_level=args.conf_level, lengths=args.lengths
        )
        outputs.finish(found, args)
        return 0
    if args.lengths is not None:
        raise InputError(
            "--lengths is for comparisons of two texts; with ratings give --covariates a column of lengths"
        )
    prices = {"human": args.cost_human, "judge": args.cost_judge}
    asked = {name: getattr(args, name) for name in ("covariates", "raters", "conf_level", "kind", "cluster", "level")}
    cost = {name: price for name, price in prices.items() if price is not None} or None
    outputs.finish(judges.analyse(study, args.judge, args.epsilon, cost=cost, **asked), args)
    return 0
