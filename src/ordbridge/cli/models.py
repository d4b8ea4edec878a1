"""The options that every command about a model shares."""

from __future__ import annotations

import argparse
from typing import Any

from ordbridge.cli.defaults import choices_of, defaults_of
from ordbridge.models.engines import ENGINES
from ordbridge.models.kinds import KINDS

MODELS = tuple(KINDS)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the models, with R's defaults."""
    r = defaults_of("models.api:clmm") | defaults_of("models.api:lmer")
    parser.add_argument("--link", choices=choices_of("models.links:LINKS"), help=f"clm, clmm; default: {r['link']}")
    parser.add_argument(
        "--threshold", choices=choices_of("models.prepare:THRESHOLDS"), help=f"clm, clmm; default: {r['threshold']}"
    )
    parser.add_argument(
        "--scale", metavar="TERMS", help='clm, clmm: terms of the log residual spread, such as "~ system"'
    )
    parser.add_argument(
        "--nominal", metavar="TERMS", help='clm, clmm: terms that move every threshold, such as "~ system"'
    )
    parser.add_argument("--weights", metavar="COLUMN", help="clm, clmm: how often each row counts")
    parser.add_argument("--offset", metavar="COLUMN", help="clm, clmm: a known part of the linear predictor")
    parser.add_argument("--nAGQ", type=int, metavar="N", help=f"clmm: quadrature points; default: {r['nAGQ']}, Laplace")
    told = f"lmer; default: {'yes' if r['REML'] else 'no'}"
    parser.add_argument("--REML", action=argparse.BooleanOptionalAction, help=told)
    parser.add_argument(
        "--ddf", choices=choices_of("models.prepare:DDF"), help=f"lmer: degrees of freedom; default: {r['ddf']}"
    )


def add_engine(parser: argparse.ArgumentParser, default: str) -> None:
    """Add --engine, without a value if it is not given."""
    told = f"r is R, fast is native; default: {default}"
    parser.add_argument("--engine", choices=ENGINES, help=told)


def add_goal(parser: argparse.ArgumentParser) -> None:
    """Add --goal, --margin and --on: what a study is to show; without a value if they are not given."""
    goals = choices_of("power.models:GOALS")
    parser.add_argument("--goal", choices=goals, help=f"what a study is to show; default: {goals[0]}")
    parser.add_argument(
        "--margin", type=float, metavar="X", help="of equivalence and non-inferiority: a difference that matters"
    )
    parser.add_argument("--on", choices=["rating", "latent"], help="the scale of the margin; default: rating")


def add_tests(parser: argparse.ArgumentParser) -> None:
    """Add --test and what belongs to it."""
    parser.add_argument(
        "--test",
        choices=choices_of("models.inference.api:METHODS"),
        help="also test terms: Wald, likelihood ratio, bootstrap, or F",
    )
    parser.add_argument(
        "--term",
        action="append",
        metavar="NAME",
        help="term or coefficient to test; may be repeated; default: all terms",
    )
    parser.add_argument(
        "--draws", type=int, metavar="N", help="bootstrap: largest number of draws; default: %(default)s"
    )
    parser.add_argument("--seed", type=int, metavar="N", help="bootstrap: of the draws; default: %(default)s")
    parser.add_argument(
        "--jobs", type=int, metavar="N", help="bootstrap: processes, -1 for all cores; default: %(default)s"
    )
    parser.add_argument("--store", metavar="FOLDER", help="bootstrap: keep draws there, and go on with those it has")
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")


def options(args: argparse.Namespace) -> dict[str, Any]:
    """Return the options that were given; one that the model does not take is refused."""
    from ordbridge.errors import InputError

    known = ("link", "threshold", "scale", "nominal", "weights", "offset", "nAGQ", "REML", "ddf", "start")
    given = {name: getattr(args, name, None) for name in known}
    given = {name: value for name, value in given.items() if value is not None}
    for name in given:
        if name not in KINDS[args.model].options:
            raise InputError(f"--{name} is not an option of {args.model}; leave it out")
    return given
