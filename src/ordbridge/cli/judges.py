"""``ordbridge judges``: a model's ratings beside people's."""

from __future__ import annotations

import argparse
from typing import Any

from ordbridge.cli import outputs, reading, show
from ordbridge.cli.defaults import defaults_of

__all__ = ["add", "run"]


def add(subparsers: Any) -> None:
    """Add the command to the parser."""
    from ordbridge.judges import analyse
    from ordbridge.judges.judged import Columns

    columns = defaults_of(Columns, "item", "rater", "rating", "system", "criterion", "kind")
    usual = {**defaults_of(analyse, "epsilon", "conf_level"), **columns}
    parser = subparsers.add_parser(
        "judges",
        help="can a model replace some raters?",
        description="The alternative annotator test, agreement and bias, means from few ratings by people and many by "
        "a judge, and what the judge saves. Its ratings are rows with kind = judge.",
    )
    parser.add_argument("ratings", metavar="FILE", help="CSV or Parquet file with one row per rating, or JSON (--and)")
    parser.add_argument(
        "--and",
        dest="judgements",
        metavar="FILE",
        help="with JSON files as the alternative annotator test has them: the models' annotations",
    )
    parser.add_argument("--judge", metavar="NAME", help="which judge; may be left out if there is only one")
    parser.add_argument(
        "--epsilon",
        type=float,
        metavar="E",
        help="0.2 for experts, 0.15 for skilled people, 0.1 for crowd workers (default: %(default)s)",
    )
    parser.add_argument("--item", help="column of the item (default: %(default)s)")
    parser.add_argument("--rater", help="column of the rater (default: %(default)s)")
    parser.add_argument("--rating", help="column of the rating (default: %(default)s)")
    parser.add_argument("--system", help="column of the system, if any (default: %(default)s)")
    parser.add_argument("--criterion", help="column of the criterion, if any")
    parser.add_argument("--kind", help="column that says human or judge (default: %(default)s)")
    parser.add_argument("--cluster", help="column of texts that belong together (default: the item)")
    parser.add_argument("--level", choices=["nominal", "ordinal", "interval", "ratio"], help="level of measurement")
    parser.add_argument(
        "--scale", nargs="+", metavar="POINT", type=reading.number_or_word, help="all categories in order"
    )
    parser.add_argument("--covariates", nargs="+", metavar="COLUMN", help="columns with which bias may change")
    parser.add_argument("--raters", choices=["random", "fixed"], help="people are a sample, or all there are")
    parser.add_argument("--cost-human", type=float, metavar="PRICE", help="price of a rating by a person")
    parser.add_argument("--cost-judge", type=float, metavar="PRICE", help="price of a rating by the judge")
    parser.add_argument("--conf-level", type=float, help="level of the intervals (default: %(default)s)")
    outputs.add_options(parser, plot="calibration, and whom the judge favours")
    parser.set_defaults(**usual, run=run)


def run(args: argparse.Namespace) -> int:
    """Analyse the judge, show the result, and write the report if wanted."""
    from ordbridge import judges
    from ordbridge.data import read_alttest

    prices = {"human": args.cost_human, "judge": args.cost_judge}
    result = judges.analyse(
        args.ratings if args.judgements is None else read_alttest(args.ratings, args.judgements),
        args.judge,
        args.epsilon,
        covariates=args.covariates,
        raters=args.raters,
        cost={name: price for name, price in prices.items() if price is not None} or None,
        conf_level=args.conf_level,
        **{name: getattr(args, name) for name in ("item", "rater", "rating", "system", "criterion", "kind", "cluster",
                                                  "level", "scale")},
    )  # fmt: skip
    _show(result)
    for path in outputs.keep(result, args):
        show.line(f"wrote {path}")
    return 0


def _show(result: Any) -> None:
    from ordbridge.report.html import without_empty_columns

    tables = []
    if result.alternative is not None:
        tables.append(("Alternative annotator test", result.alternative.annotators))
    if result.agreement is not None:
        tables.append(("Each person left out in turn, the judge in his place", result.agreement.footing))
        tables.append(("Whom the judge favours", result.agreement.systems))
        tables.append(("How its bias changes", result.agreement.covariates))
    if result.estimates is not None:
        tables.append(("Means", result.estimates.means))
        tables.append(("Differences", result.estimates.differences))
        tables.append(("Probability that system_a is rated above system_b", result.estimates.superiority))
    if result.plan is not None:
        tables.append((f"Ratings by people that {result.plan.goal} needs", result.plan.needed))
    for title, table in tables:
        if table.num_rows:
            show.table(without_empty_columns(table), title=title)
    show.line(f"{result.counted}.")
    for sentence in result.sentences:
        show.line(sentence)
    for note in result.notes:
        show.line(f"Note: {note}.")
