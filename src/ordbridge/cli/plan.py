"""``ordbridge plan``: how many items, how many raters; what a design finds, and the smallest effect that it finds."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from ordbridge.cli import models, outputs, reading, show, talk, wording
from ordbridge.cli.defaults import defaults_of
from ordbridge.cli.design import add_sheets, keep_sheets
from ordbridge.errors import InputError
from ordbridge.models.kinds import KINDS
from ordbridge.planning.stopping import SHAPES

if TYPE_CHECKING:
    from ordbridge.planning import Plan

__all__ = ["add"]

STORE = "runs/plans"
USUAL = ("target", "alpha", "model", "texts_per_participant", "currency", "loss", "engine", "seed", "draws",
         "goal", "on", "criteria", "correlation", "shape")  # fmt: skip


def add(subparsers: Any) -> None:
    """Add the command."""
    from ordbridge.planning import plan

    usual = defaults_of(plan, *USUAL)
    parser = subparsers.add_parser("plan", help="find the smallest or cheapest study that reaches a power")
    parser.add_argument("pilot", nargs="?", metavar="FILE", help="ratings of a pilot, CSV or Parquet")
    parser.add_argument("--preset", choices=["howcroft2021"], help="settings of a paper, instead of a pilot")
    parser.add_argument("--variance", metavar="NAME", help="setting of the preset: low, representative, high, …")
    parser.add_argument("--truth", metavar="FILE", help="a truth in a TOML file, instead of a pilot or preset")
    parser.add_argument(
        "--effect", nargs="+", metavar="X", help="latent, one for each system after the first; or: smallest"
    )
    parser.add_argument(
        "--effect-points", nargs="+", type=float, metavar="X", help="the effect in rating points instead"
    )
    parser.add_argument(
        "--superiority",
        nargs="+",
        type=float,
        metavar="P",
        help="the effect as the probability that a text is rated above one of the first system instead",
    )
    parser.add_argument("--systems", type=int, metavar="N", help="how many systems the study has")
    parser.add_argument("--names", nargs="+", metavar="NAME", help="what the systems are called, the first one first")
    parser.add_argument("--target", type=float, metavar="POWER", help="power to reach; default: %(default)s")
    parser.add_argument(
        "--reliability",
        type=float,
        metavar="R",
        help="reliability of the systems' means to reach, instead of a power; needs a pilot",
    )
    parser.add_argument("--alpha", type=float, help="level of significance; default: %(default)s")
    parser.add_argument("--model", choices=list(KINDS), help="default: %(default)s")
    parser.add_argument("--formula", help='default: "rating ~ system + (system | participant) + (system | item)"')
    parser.add_argument(
        "--test",
        nargs="+",
        metavar="WHAT",
        help="with more than two systems: two names, or `any`, or `pairs` (Holm), or `reference NAME` (Holm)",
    )
    models.add_goal(parser)
    parser.add_argument("--criteria", type=int, metavar="N", help="criteria that each text is rated on; default: 1")
    parser.add_argument(
        "--correlation", type=float, metavar="R", help="assumed between the tests of criteria; default: %(default)s"
    )
    parser.add_argument(
        "--looks", type=int, metavar="N", help="look at the data this many times, and stop early if the answer is clear"
    )
    parser.add_argument("--shape", choices=SHAPES, help="of the boundary of looks; default: %(default)s")
    parser.add_argument(
        "--items", nargs="+", type=int, metavar="N", help="numbers of items to try; default: 10 to 500, 4 %% apart"
    )
    parser.add_argument(
        "--ratings",
        nargs="+",
        type=int,
        metavar="N",
        dest="ratings_per_text",
        help="ratings per text; default: 2 3 5 10. With one N for items and one here: the power of that design",
    )
    parser.add_argument("--design", metavar="FILE", help="a fixed design, CSV or Parquet, instead of items and ratings")
    parser.add_argument(
        "--texts-per-participant", type=int, metavar="N", help="texts that each one rates; default: %(default)s"
    )
    parser.add_argument("--cost-rating", type=float, metavar="PRICE", help="price of one rating")
    parser.add_argument("--cost-participant", type=float, metavar="PRICE", help="price of one participant")
    parser.add_argument("--fee", type=float, metavar="SHARE", help="of the platform, as a share of all payments: 0.25")
    parser.add_argument("--currency", metavar="SIGN", help="what prices are in: £")
    parser.add_argument(
        "--spend", type=float, metavar="MONEY", help="money that there is: also find the best study that it buys"
    )
    parser.add_argument("--loss", type=float, metavar="SHARE", help="of participants whose ratings will be lost: 0.1")
    parser.add_argument("--minutes", type=float, metavar="N", help="that one rating takes, for the hourly wage")
    models.add_engine(parser, usual["engine"])
    parser.add_argument("--seed", type=int, metavar="N", help="default: %(default)s")
    parser.add_argument("--datasets", type=int, metavar="N", help="simulated in all; default: 1000, or fewer")
    parser.add_argument("--budget", help=argparse.SUPPRESS)
    parser.add_argument("--most", type=int, metavar="N", help="most datasets of one design; default: 500, or fewer")
    parser.add_argument(
        "--null",
        type=int,
        metavar="N",
        help="most datasets of a design without a difference, for critical value and size; default: 800, or fewer",
    )
    parser.add_argument(
        "--calibrate",
        action=argparse.BooleanOptionalAction,
        help="power at critical values from datasets without a difference, so that the test keeps its level; "
        "default: yes",
    )
    parser.add_argument(
        "--draws", type=int, metavar="N", help="draws from the pilot's uncertainty; default: %(default)s"
    )
    parser.add_argument("--jobs", type=int, default=-1, metavar="N", help="worker processes; default: one per core")
    parser.add_argument("--store", default=STORE, metavar="FOLDER", help=f"where fits are kept; default: {STORE}")
    parser.add_argument("--out", metavar="FILE", help="write the table of designs to .csv or .parquet")
    parser.add_argument("--plot-money", metavar="FILE", help="draw power against money, or ratings: .png, .svg or .pdf")
    parser.add_argument("--json", metavar="FILE", help="write the plan, for ordbridge compare and stop --plan FILE")
    parser.add_argument("--preregistration", metavar="FILE", help="write the text of a pre-registration in Markdown")
    add_sheets(parser)
    outputs.add_options(parser, plot="the trade-off")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.set_defaults(**usual, run=run)


def run(args: argparse.Namespace) -> int:
    """Plan, show, and keep what was asked for."""
    from ordbridge.planning import plan

    if args.budget is not None:
        raise InputError("--budget could be money or simulations; say --spend for money, --datasets for simulations")
    if args.reliability is not None:
        return _by_reliability(args)
    arguments = _arguments(args)
    if args.pilot:
        reading.warn(args, args.pilot, participant="participant", item="item", system="system", rating="rating")
    try:
        with talk.plainly():
            found = plan(**arguments, progress=None if args.quiet else talk.tell)
    except KeyboardInterrupt as error:
        return talk.stopped(args.store, error)
    _show(found, args)
    _keep(found, args)
    return 0


def _by_reliability(args: argparse.Namespace) -> int:
    """Show which designs are reliable enough."""
    from ordbridge import reliability
    from ordbridge.tables import write

    if args.pilot is None:
        raise InputError("--reliability needs the ratings of a pilot: ordbridge plan FILE --reliability 0.8")
    found = reliability.plan(
        args.pilot,
        args.reliability,
        items=args.items,
        ratings_per_text=args.ratings_per_text,
        seed=args.seed,
        engine=args.engine,
    )
    show.table(found.designs, title="Reliability of means, from the components of variance of the pilot")
    show.line(found.sentence)
    if args.out:
        show.line(f"wrote {write(found.designs, args.out)}")
    return 0


def _arguments(args: argparse.Namespace) -> dict[str, Any]:
    from ordbridge.simulate import Truth

    vary = {
        name: value for name, value in (("items", args.items), ("ratings_per_text", args.ratings_per_text)) if value
    }
    cost = {"rating": args.cost_rating, "participant": args.cost_participant, "fee": args.fee}
    cost = {name: price for name, price in cost.items() if price is not None}
    names = ("pilot", "preset", "variance", "target", "alpha", "model", "formula", "design", "texts_per_participant",
             "effect_points", "superiority", "systems", "names", "currency", "spend", "loss", "minutes",
             "engine", "seed", "datasets", "most", "null", "calibrate", "goal", "margin", "on",
             "criteria", "correlation", "looks", "shape", "draws", "jobs", "store")  # fmt: skip
    return {name: getattr(args, name) for name in names} | {
        "truth": Truth.from_toml(args.truth) if args.truth else None,
        "effect": _effect(args.effect),
        "test": _test(args.test),
        "vary": vary or None,
        "cost": cost or None,
    }


def _effect(words: list[str] | None) -> Any:
    if words is None or words == ["smallest"]:
        return words and "smallest"
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        raise InputError(f"--effect {' '.join(words)} is not a number; give numbers, or: smallest") from None
    return numbers[0] if len(numbers) == 1 else numbers


def _test(words: list[str] | None) -> Any:
    if words is None or len(words) == 2:
        return words and tuple(words)
    if len(words) == 1 and words[0] in ("any", "pairs"):
        return words[0]
    raise InputError(f"--test {' '.join(words)} is neither two names of systems, nor any, pairs or reference NAME")


def _show(found: Plan, args: argparse.Namespace) -> None:
    designs = found.designs
    seen = designs.filter(designs["n"].to_numpy() > 0)
    hidden = ["size_low", "size_high", "size_n"]
    if not found.asked["calibrated"]:
        hidden += ["nominal_power", "critical_value", "size"]  # of one design, and in the sentence
    seen = seen.drop_columns(hidden)
    if found.asked["cost"] is None:
        seen = seen.drop_columns(["cost"])
    show.table(seen, title=f"{found.asked['test']}; {found.asked['datasets']} datasets, engine {found.asked['engine']}")
    if found.pairs is not None:
        show.table(found.pairs, title="Pairs under this design, after Holm's correction")
    if found.sensitivity is not None:
        show.table(found.sensitivity, title="Power of this design if things are otherwise than assumed")
    if found.units is not None:
        show.table(found.units, title="The effect in all units")
    if found.uncertainty is not None:
        show.table(found.uncertainty, title="Power over the uncertainty of the pilot")
    for note in found.notes:
        show.line(f"note: {wording.as_typed(note, args)}")
    if found.looks is not None:
        show.table(found.looks.looks, title=f"Looks at the data, {found.looks.shape} boundary")
    show.line(wording.as_typed(found.sentence, args))
    for line in found.details:
        show.line(wording.as_typed(line, args))


def _keep(found: Plan, args: argparse.Namespace) -> None:
    from ordbridge.tables import write

    if args.out:
        show.line(f"wrote {write(found.designs, args.out)}")
    if args.plot_money:
        from ordbridge import figures

        show.line(f"wrote {outputs.draw(figures.plan_money(found), args.plot_money)}")
    _keep_protocol(found, args)
    for path in outputs.keep(found, args):
        show.line(f"wrote {path}")


def _keep_protocol(found: Plan, args: argparse.Namespace) -> None:
    """Write the plan, the pre-registration and the sheets, if there is a study to write about."""
    from ordbridge.planning import preregistration, sheet_of, write_protocol
    from ordbridge.writing import write_text

    if not (args.json or args.preregistration or args.sheets or args.texts):
        return
    if found.protocol is None:
        talk.tell("no design is recommended, so neither plan nor pre-registration nor sheets are written")
        return
    if args.json:
        show.line(f"wrote {write_protocol(found.protocol, args.json)}")
    if args.preregistration:
        show.line(f"wrote {write_text(args.preregistration, preregistration(found))}")
    if args.sheets or args.texts:
        for where in keep_sheets(sheet_of(found.protocol), args):
            show.line(f"wrote {where}")
