"""``ordbridge plan``: how many items, how many raters; what a design finds, and the smallest effect that it finds."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from ordbridge.cli import paper, show, talk
from ordbridge.errors import InputError

if TYPE_CHECKING:
    from ordbridge.power import Planned

__all__ = ["add"]

STORE = "runs/plans"


def add(subparsers: Any) -> None:
    """Add the command."""
    parser = subparsers.add_parser("plan", help="find the smallest or cheapest study that reaches a power")
    parser.add_argument("pilot", nargs="?", metavar="FILE", help="ratings of a pilot, CSV or Parquet")
    parser.add_argument("--preset", choices=["howcroft2021"], help="settings of a paper, instead of a pilot")
    parser.add_argument("--variance", metavar="NAME", help="of the preset: low, representative, high, …")
    parser.add_argument("--truth", metavar="FILE", help="a truth in a TOML file, instead of a pilot or preset")
    parser.add_argument("--effect", nargs="+", metavar="X", help="latent, one a system after the first; or: smallest")
    parser.add_argument("--target", type=float, default=0.8, metavar="POWER", help="default: 0.8")
    parser.add_argument("--alpha", type=float, default=0.05, help="level of significance; default: 0.05")
    parser.add_argument("--model", choices=["lm", "clm", "lmer", "clmm"], default="clmm", help="default: clmm")
    parser.add_argument("--formula", help='default: "rating ~ system + (system | participant) + (system | item)"')
    parser.add_argument(
        "--test", nargs="+", metavar="WHAT", help="with more than two systems: two names, or `any`, or `pairs` (Holm)"
    )
    parser.add_argument("--items", nargs="+", type=int, metavar="N", help="default: 25 50 … 500")
    parser.add_argument(
        "--ratings", nargs="+", type=int, metavar="N", help="ratings a text; default: 2 3 5 10. One N each: its power"
    )
    parser.add_argument("--design", metavar="FILE", help="a fixed design, CSV or Parquet, instead of items and ratings")
    parser.add_argument("--texts-per-participant", type=int, default=25, metavar="N", help="default: 25")
    parser.add_argument("--cost-rating", type=float, metavar="PRICE", help="of one rating")
    parser.add_argument("--cost-participant", type=float, metavar="PRICE", help="of one participant")
    parser.add_argument("--engine", choices=["fast", "ordinal"], default="fast", help="ordinal is R; default: fast")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="default: 0")
    parser.add_argument("--budget", type=int, default=1200, metavar="N", help="datasets in all; default: 1200")
    parser.add_argument("--most", type=int, default=400, metavar="N", help="datasets of one design; default: 400")
    parser.add_argument("--draws", type=int, default=20, metavar="N", help="from a pilot's uncertainty; default: 20")
    parser.add_argument("--jobs", type=int, default=-1, metavar="N", help="worker processes; default: one a core")
    parser.add_argument("--store", default=STORE, metavar="FOLDER", help=f"where fits are kept; default: {STORE}")
    parser.add_argument("--out", metavar="FILE", help="write the table of designs to .csv or .parquet")
    parser.add_argument("--plot", metavar="FILE", help="draw the trade-off: .png, .svg or .pdf")
    paper.add_options(parser)
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Plan, show, and keep what was asked for."""
    from ordbridge.power import plan

    arguments = _arguments(args)
    try:
        with talk.plainly():
            found = plan(**arguments, progress=None if args.quiet else talk.tell)
    except KeyboardInterrupt:
        talk.stopped(args.store)
        return 130
    _show(found)
    _keep(found, args)
    return 0


def _arguments(args: argparse.Namespace) -> dict[str, Any]:
    from ordbridge.simulate import Truth

    vary = {name: value for name, value in (("items", args.items), ("ratings_per_text", args.ratings)) if value}
    cost = {"rating": args.cost_rating, "participant": args.cost_participant}
    cost = {name: price for name, price in cost.items() if price is not None}
    names = ("pilot", "preset", "variance", "target", "alpha", "model", "formula", "design", "texts_per_participant",
             "engine", "seed", "budget", "most", "draws", "jobs", "store")  # fmt: skip
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
        raise InputError(f"--effect {' '.join(words)} is no number; give numbers, or: smallest") from None
    return numbers[0] if len(numbers) == 1 else numbers


def _test(words: list[str] | None) -> Any:
    if words is None or len(words) == 2:
        return words and tuple(words)
    if len(words) == 1 and words[0] in ("any", "pairs"):
        return words[0]
    raise InputError(f"--test {' '.join(words)} is neither two names of systems, nor any, nor pairs")


def _show(found: Planned) -> None:
    designs = found.designs
    seen = designs.filter(designs["n"].to_numpy() > 0)
    if found.asked["cost"] is None:
        seen = seen.drop_columns(["cost"])
    show.table(seen, title=f"{found.asked['test']}; {found.asked['datasets']} datasets, engine {found.asked['engine']}")
    if found.pairs is not None:
        show.table(found.pairs, title="Pairs under this design, after Holm's correction")
    if found.uncertainty is not None:
        show.table(found.uncertainty, title="Power over the uncertainty of the pilot")
    for note in found.notes:
        show.line(f"note: {note}")
    show.line(found.sentence)


def _keep(found: Planned, args: argparse.Namespace) -> None:
    from ordbridge.tables import write

    if args.out:
        show.line(f"wrote {write(found.designs, args.out)}")
    if args.plot:
        from ordbridge import plots

        plots.plan_contours(found).savefig(args.plot)
        show.line(f"wrote {args.plot}")
    for path in paper.keep(found, args):
        show.line(f"wrote {path}")
