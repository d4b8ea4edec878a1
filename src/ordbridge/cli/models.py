"""The options that every command about a model shares."""

from __future__ import annotations

import argparse
from typing import Any

from ordbridge.models.prepare import DDF, LINKS, THRESHOLDS

__all__ = ["MODELS", "add_options", "options"]

MODELS = ("clm", "clmm", "lm", "lmer")
TAKES = {
    "clm": ("link", "threshold"),
    "clmm": ("link", "threshold", "nAGQ"),
    "lm": (),
    "lmer": ("REML", "ddf"),
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add --link, --threshold, --nAGQ, --REML and --ddf, with R's defaults."""
    parser.add_argument("--link", choices=LINKS, help="clm, clmm (default: logit)")
    parser.add_argument("--threshold", choices=THRESHOLDS, help="clm, clmm (default: flexible)")
    parser.add_argument("--nAGQ", type=int, metavar="N", help="clmm: quadrature points (default: 1, Laplace)")
    parser.add_argument("--REML", action=argparse.BooleanOptionalAction, help="lmer (default: yes)")
    parser.add_argument("--ddf", choices=DDF, help="lmer: degrees of freedom (default: Satterthwaite)")


def options(args: argparse.Namespace) -> dict[str, Any]:
    """Return the options that were given; one that the model does not take is refused."""
    from ordbridge.errors import InputError

    given = {name: getattr(args, name) for name in ("link", "threshold", "nAGQ", "REML", "ddf")}
    given = {name: value for name, value in given.items() if value is not None}
    for name in given:
        if name not in TAKES[args.model]:
            raise InputError(f"--{name} is not an option of {args.model}; leave it out")
    return given
