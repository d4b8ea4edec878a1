"""``ordbridge simulate``: a file of ratings from a truth and a design."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ordbridge.cli import show
from ordbridge.cli.defaults import defaults_of
from ordbridge.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from ordbridge.simulate import Truth

PRESETS = ("howcroft2021", "card2020")


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    truth = parser.add_mutually_exclusive_group(required=True)
    truth.add_argument("--preset", choices=PRESETS, help="the truth of a paper, and its design")
    truth.add_argument("--truth", metavar="FILE", help="a truth of your own, .toml")
    parser.add_argument("--variance", metavar="SETTING", help="which setting of the preset, such as low")
    parser.add_argument(
        "--effect", type=float, nargs="+", help="effect of each system after the first, instead of the truth's"
    )
    parser.add_argument("--design", metavar="FILE", help="who rates what: participant, item, system; .csv or .parquet")
    parser.add_argument("--items", type=int, metavar="N", help="items of the preset's design")
    parser.add_argument("--ratings-per-text", type=int, metavar="N", help="ratings per text of the preset's design")
    parser.add_argument("--variant", choices=("corrected", "published"), help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=0, help="default: %(default)s")
    parser.add_argument("--latent", action="store_true", help="add the latent quality behind each rating")
    parser.add_argument("--out", metavar="FILE", required=True, help="where to write the ratings, .csv or .parquet")
    parser.add_argument("--save-truth", metavar="FILE", help="also write the truth that was used, .toml")
    parser.set_defaults(**defaults_of("simulate.draw:ratings", "variant"), run=run, reads=("truth", "design"))


def run(args: argparse.Namespace) -> int:
    """Draw the ratings, write them, and say what the truth means for mean ratings."""
    from ordbridge.reading.tables import write
    from ordbridge.simulate import implied, ratings

    truth, design = _truth(args), _design(args)
    table = ratings(design, truth, args.seed, args.variant, args.latent)
    show.line(f"{table.num_rows} ratings written to {write(table, args.out)}")
    if args.save_truth:
        truth.to_toml(args.save_truth)
        show.line(f"the truth written to {args.save_truth}")
    show.table(implied(truth, design).differences, title="What this truth means for differences of mean ratings")
    return 0


def _truth(args: argparse.Namespace) -> Truth:
    from ordbridge import papers
    from ordbridge.simulate import Truth

    if args.truth:
        truth = Truth.from_toml(args.truth)
    elif args.variance:
        truth = getattr(papers, args.preset).settings[args.variance]
    else:
        names = ", ".join(getattr(papers, args.preset).settings)
        raise InputError(f"--preset {args.preset} needs --variance, one of: {names}")
    return truth if args.effect is None else truth.shift(effect=args.effect)


def _design(args: argparse.Namespace) -> pa.Table:
    from ordbridge import design

    if args.design:
        return design.from_ratings(args.design)
    if not (args.preset and args.items and args.ratings_per_text):
        raise InputError("say who rates what: --design FILE, or with --preset both --items and --ratings-per-text")
    if args.preset == "card2020":
        return design.crossed(args.items, raters=args.ratings_per_text, seed=args.seed)
    return design.howcroft2021(args.items, args.ratings_per_text)
