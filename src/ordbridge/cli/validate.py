"""``ordbridge validate``: the same model through ordbridge and through plain R, side by side."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ordbridge.cli import models, reading, show
from ordbridge.cli.defaults import defaults_of

if TYPE_CHECKING:
    from ordbridge.models.validation import Case

BAYES_ONLY = ("draws", "seed")


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "file", nargs="?", help="ratings, as for compare; without a file the built-in datasets are used"
    )
    parser.add_argument("--model", choices=models.MODELS)
    parser.add_argument("--formula")
    models.add_options(parser)
    taken = ("criterion", "levels", "scale", "weights", "systems", "lower_is_better", "higher_is_better")
    reading.add_options(parser, without=taken)
    parser.add_argument(
        "--bayes",
        action="store_true",
        help="clm, clmm: also the posterior under weak priors, and what the Laplace approximation costs; "
        "needs pip install 'ordbridge[bayes]', and minutes",
    )
    own = defaults_of("bayes.opinion:third_opinion")
    parser.add_argument("--draws", type=int, metavar="N", help=f"--bayes: from the posterior; default: {own['draws']}")
    parser.add_argument("--seed", type=int, metavar="N", help=f"--bayes: of the draws; default: {own['seed']}")
    parser.set_defaults(run=run, reads=("file",))


def run(args: argparse.Namespace) -> int:
    """Compare and show; the exit code is 1 if anything differs."""
    import pyarrow as pa

    from ordbridge.errors import InputError
    from ordbridge.models.validation import TOLERANCE, Case, builtin, validate

    if args.bayes:
        _refuse_bayes(args)
    for name in BAYES_ONLY:
        if getattr(args, name) is not None and not args.bayes:
            raise InputError(f"--{name} is for --bayes; give both or neither")
    if args.file:
        if not (args.model and args.formula):
            raise InputError("a file needs --model and --formula")
        cases = [Case(Path(args.file).name, _csv(args), args.model, args.formula, models.options(args))]
    else:
        cases = list(builtin())
    rows = [validate(case) for case in cases]
    show.table(pa.Table.from_pylist(rows), title="ordbridge compared with plain R: largest relative differences")
    differing = [row["case"] for row in rows if not row["same"]]
    show.line(f"differs: {', '.join(differing)}" if differing else f"no difference beyond {TOLERANCE:g}")
    if args.bayes:
        _show_third_opinion(cases[0], {name: getattr(args, name) for name in BAYES_ONLY})
    return 1 if differing else 0


def _csv(args: argparse.Namespace) -> Path:
    """Return a CSV file for plain R: the file itself where the formula names its columns, else what is read of it."""
    from ordbridge.errors import FormulaError
    from ordbridge.formula import parse
    from ordbridge.reading.tables import to_arrow, write
    from ordbridge.support.temp_cleanup import private_folder

    path, how = Path(args.file), reading.options(args)
    if path.suffix.lower() == ".csv" and not how:
        table = to_arrow(path)
        try:
            parse(args.formula, table.column_names)
            return path
        except FormulaError:
            pass
    return write(reading.long_table(args.file, {"rating": ""}, how), private_folder() / "ratings.csv")


def _refuse_bayes(args: argparse.Namespace) -> None:
    """Refuse before anything is computed."""
    from ordbridge.bayes.sampling import need_numpyro
    from ordbridge.errors import InputError

    if not args.file:
        raise InputError("--bayes needs a file of ratings, with --model and --formula")
    need_numpyro()


def _show_third_opinion(case: Case, options: dict[str, int | None]) -> None:
    from ordbridge.bayes import third_opinion
    from ordbridge.models.validation import fitted

    found = third_opinion(fitted(case), **{name: value for name, value in options.items() if value is not None})
    interval = f"{100 * found.conf_level:g}% interval"
    engines = ["effect", "group", "term", "r", "r_std_error", "fast", "fast_std_error", "exact"]
    posterior = ["mean", "sd", "low", "high", "laplace_cost", "laplace_cost_mc_error"]
    show.table(
        found.table.select(engines + posterior),
        title=f"Both engines, the maximum of the exact likelihood, and the posterior with its {interval}",
    )
    for sentence in found.sentences:
        show.line(sentence)
