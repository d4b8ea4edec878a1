"""``ordbridge plan``: how many items, how many raters; what a design finds, and the smallest effect that it finds."""

from __future__ import annotations

import argparse
import warnings
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ordbridge.cli import log_options, models, outputs, reading, talk
from ordbridge.cli.defaults import choices_of, defaults_of
from ordbridge.cli.design import add_sheets, keep_sheets
from ordbridge.errors import InputError, StatisticalWarning
from ordbridge.models.kinds import KINDS

if TYPE_CHECKING:
    from ordbridge.planning import Plan

__all__ = ["add"]

STORE = "runs/plans"
OF_COMPARISONS = ("raters", "rater_sd", "item_sd", "ties")


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    usual = {
        **defaults_of("planning.api:plan", "target"),
        **defaults_of("planning.options:PlannedAnalysis", "alpha", "model", "criteria", "correlation", "shape"),
        **defaults_of("planning.options:Designs", "texts_per_participant"),
        **defaults_of("planning.money:Costs", "currency", "fee", "loss"),
        **defaults_of("planning.options:Simulation", "draws", "engine", "seed"),
    }
    parser.add_argument("pilot", nargs="*", metavar="FILE", help="ratings of a pilot, or logs, as for compare")
    reading.add_options(parser, without=("systems",))
    parser.add_argument("--preset", choices=["howcroft2021"], help="settings of a paper, instead of a pilot")
    parser.add_argument("--variance", metavar="NAME", help="setting of the preset: low, representative, high, …")
    parser.add_argument("--truth", metavar="FILE", help="a truth in a TOML file, instead of a pilot or preset")
    _add_effect(parser)
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
    parser.add_argument(
        "--shape", choices=choices_of("planning.stopping:SHAPES"), help="of the boundary of looks; default: %(default)s"
    )
    _add_designs(parser)
    models.add_engine(parser, usual["engine"])
    _add_simulation(parser)
    parser.add_argument("--out", metavar="FILE", help="write the table of designs to .csv or .parquet")
    parser.add_argument("--plot-money", metavar="FILE", help="draw power against money, or ratings: .png, .svg or .pdf")
    parser.add_argument("--preregistration", metavar="FILE", help="write the text of a pre-registration in Markdown")
    parser.add_argument(
        "--win-rate", type=float, metavar="P", help="plan comparisons of two systems: the win rate to tell from 0.5"
    )
    parser.add_argument("--raters", nargs="+", type=int, metavar="N", help="with --win-rate: numbers of raters")
    parser.add_argument("--rater-sd", type=float, metavar="SD", help="with --win-rate: of rater:system; default: 0.5")
    parser.add_argument("--item-sd", type=float, metavar="SD", help="with --win-rate: of item:system; default: 0.5")
    parser.add_argument("--ties", type=float, metavar="SHARE", help="with --win-rate: of ties; default: 0.2")
    add_sheets(parser)
    log_options.add_options(parser, comparing=False)
    outputs.add_options(parser, plot="the trade-off")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.set_defaults(**usual, run=run, reads=("pilot", "truth", "design", "join"))


def _add_effect(parser: argparse.ArgumentParser) -> None:
    """Add the true effect in its three units."""
    parser.add_argument(
        "--effect", nargs="+", metavar="X", help="latent, one for each system after the first; or: smallest"
    )
    parser.add_argument(
        "--effect-points", nargs="+", type=float, metavar="X", help="the difference worth finding, in rating points"
    )
    parser.add_argument(
        "--superiority",
        nargs="+",
        type=float,
        metavar="P",
        help="the effect as the probability that a text is rated above one of the first system instead",
    )


def _add_designs(parser: argparse.ArgumentParser) -> None:
    """Add the designs to try, and what they cost."""
    parser.add_argument(
        "--items", nargs="+", type=int, metavar="N", help="numbers of items to try; default: 10 to 500, 4%% apart"
    )
    parser.add_argument(
        "--ratings-per-text",
        nargs="+",
        type=int,
        metavar="N",
        help="ratings of each text; default: 2 3 5 10. With one N for items and one here: the power of that design",
    )
    parser.add_argument("--design", metavar="FILE", help="a fixed design, CSV or Parquet, instead of items and ratings")
    parser.add_argument(
        "--texts-per-participant", type=int, metavar="N", help="texts that each one rates; default: %(default)s"
    )
    parser.add_argument("--cost-rating", type=float, metavar="PRICE", help="price of one rating")
    parser.add_argument("--cost-participant", type=float, metavar="PRICE", help="price of one participant")
    parser.add_argument("--fee", type=float, metavar="SHARE", help="fee of the platform, as a share: 0.25")
    parser.add_argument("--currency", metavar="SIGN", help="currency of the prices, such as £")
    parser.add_argument("--budget", type=float, metavar="MONEY", help="also find the best study that this money buys")
    parser.add_argument("--loss", type=float, metavar="SHARE", help="participants whose ratings will be lost: 0.1")
    parser.add_argument("--minutes", type=float, metavar="N", help="that one rating takes, for the hourly wage")


def _add_simulation(parser: argparse.ArgumentParser) -> None:
    """Add how much is simulated."""
    parser.add_argument("--seed", type=int, metavar="N", help="default: %(default)s")
    parser.add_argument("--datasets", type=int, metavar="N", help="simulated in all; default: 1000, or fewer")
    parser.add_argument(
        "--max-per-design", type=int, metavar="N", help="datasets of one design; default: 500, or fewer"
    )
    parser.add_argument(
        "--null-datasets",
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


def run(args: argparse.Namespace) -> int:
    """Plan, show, and keep what was asked for."""
    from ordbridge.planning import plan

    alone = [name for name in OF_COMPARISONS if getattr(args, name) is not None]
    if alone and args.win_rate is None:
        raise InputError(
            f"--{alone[0].replace('_', '-')} belongs to --win-rate, which plans comparisons of two systems"
        )
    args.also_logs = ("effect_points", "target", "alpha")
    if args.win_rate is None and log_options.are_logs(args.pilot, args):
        return log_options.plan_from_logs(args)
    args.pilot = log_options.only_file(args.pilot) if args.pilot else None
    if args.win_rate is not None:
        return _comparisons(args)
    if args.reliability is not None:
        return _by_reliability(args)
    try:
        with talk.plainly():
            warnings.simplefilter("ignore", StatisticalWarning)  # they are findings
            found = plan(**_arguments(args), progress=None if args.quiet else _tell)
    except KeyboardInterrupt as error:
        return talk.stopped(args.store, error)
    outputs.finish(found, args, *_keep(found, args))
    return 0


def _tell(line: Any) -> None:
    if isinstance(line, str):
        talk.tell(line)


def _comparisons(args: argparse.Namespace) -> int:
    """Show how many comparisons tell a win rate from one half; a pilot gives the variances and the ties."""
    from ordbridge.preferences import pilot_of, plan_comparisons
    from ordbridge.reading.tables import write

    asked: dict[str, Any] = {} if args.pilot is None else pilot_of(args.pilot, **reading.options(args))
    asked |= {name: value for name in OF_COMPARISONS if (value := getattr(args, name)) is not None}
    found = plan_comparisons(args.win_rate, items=args.items, power=args.target, alpha=args.alpha, **asked)
    outputs.finish(found, args, *([write(found.options, args.out)] if args.out else []))
    return 0


def _by_reliability(args: argparse.Namespace) -> int:
    """Show which designs are reliable enough."""
    from ordbridge import reliability
    from ordbridge.reading.tables import write

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
    outputs.finish(found, args, *([write(found.designs, args.out)] if args.out else []))
    return 0


def _arguments(args: argparse.Namespace) -> dict[str, Any]:
    from ordbridge.planning import Costs, Designs, PlannedAnalysis, Simulation
    from ordbridge.power import Goal

    def given(kind: Any, **renamed: str) -> Any:
        """Return one of the objects, made of the options that have the names of its fields."""
        names = {field.name: renamed.get(field.name, field.name) for field in fields(kind)}
        return {name: value for name, option in names.items() if (value := getattr(args, option, None)) is not None}

    goal = Goal(args.goal or "difference", args.margin, args.on or "rating")
    analysis = given(PlannedAnalysis) | {"goal": goal, "test": _test(args.test), "systems": args.names or args.systems}
    costs = given(Costs, rating="cost_rating", participant="cost_participant")
    return {
        "truth": _truth(args),
        "effect": _effect(args),
        "analysis": PlannedAnalysis(**analysis),
        "designs": Designs(**given(Designs, table="design")),
        "costs": Costs(**costs),
        "target": args.target,
        "simulation": Simulation(**given(Simulation)),
        "jobs": args.jobs,
        "store": args.store,
    }


def _truth(args: argparse.Namespace) -> Any:
    """Return the truth, or the ratings of the pilot."""
    from ordbridge.reading import read
    from ordbridge.simulate import Truth
    from ordbridge.simulate.presets import preset_named

    named = {"FILE": args.pilot, "--truth": args.truth, "--preset": args.preset}
    chosen = [name for name, value in named.items() if value is not None]
    if len(chosen) != 1:
        said = f"{' and '.join(chosen)} are given" if chosen else "none is given"
        raise InputError(f"a plan starts from one of FILE, --truth and --preset; {said}")
    if args.pilot is not None:
        return read(args.pilot, **reading.options(args))
    if args.truth is not None:
        return Truth.from_toml(args.truth)
    settings = preset_named(args.preset).settings
    if args.variance is None:
        raise InputError(f"the preset {args.preset!r} needs --variance: one of {', '.join(settings)}")
    return settings[args.variance]


def _effect(args: argparse.Namespace) -> Any:
    """Return the effect in the unit that it was typed in."""
    from ordbridge.planning import Effect

    units = {"effect": "latent", "effect_points": "points", "superiority": "superiority"}
    chosen = [name for name in units if getattr(args, name) is not None]
    if not chosen:
        return None
    if len(chosen) > 1:
        typed = [f"--{name.replace('_', '-')}" for name in chosen]
        raise InputError(f"the effect is given twice, as {typed[0]} and as {typed[1]}; leave one out")
    words = getattr(args, chosen[0])
    if words == ["smallest"]:
        return "smallest"
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        raise InputError(f"--effect {' '.join(words)} is not a number; give numbers, or: smallest") from None
    return Effect(numbers[0] if len(numbers) == 1 else numbers, units[chosen[0]])


def _test(words: list[str] | None) -> Any:
    if words is None or len(words) == 2:
        return words and tuple(words)
    if len(words) == 1 and words[0] in ("any", "pairs"):
        return words[0]
    raise InputError(f"--test {' '.join(words)} is neither two names of systems, nor any, pairs or reference NAME")


def _keep(found: Plan, args: argparse.Namespace) -> list[Path]:
    """Write what only a plan has: designs, power against money, the pre-registration and the sheets."""
    from ordbridge.planning import preregistration, sheet_of
    from ordbridge.reading.tables import write
    from ordbridge.support.writing import write_text

    written = [write(found.designs, args.out)] if args.out else []
    if args.plot_money:
        written.append(outputs.draw(found.figures()["money"], args.plot_money))
    if not (args.preregistration or args.sheets or args.texts):
        return written
    if found.protocol is None:
        talk.tell("no design is recommended, so neither pre-registration nor sheets are written")
        return written
    if args.preregistration:
        written.append(write_text(args.preregistration, preregistration(found)))
    if args.sheets or args.texts:
        written += map(Path, keep_sheets(sheet_of(found.protocol), args))
    return written
