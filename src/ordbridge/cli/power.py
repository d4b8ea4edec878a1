"""``ordbridge power``: simulate a grid of studies, fit the models, show the power; stop and continue at any time."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ordbridge.cli import models, outputs, show, talk
from ordbridge.cli.defaults import defaults_of
from ordbridge.errors import ClusterError, InputError

if TYPE_CHECKING:
    from ordbridge.power.study import Study

CODINGS = ("treatment", "centred", "exchangeable")
AXES = ("variance", "items", "ratings_per_text", "effect", "variant", "slope_coding", "texts_per_participant")
OPTIONS = ("datasets", "seed", "alpha", "term", "goal", "margin", "on", "null_datasets", "engine", "audit", "timeout",
           "jobs", "store", "backend")  # fmt: skip


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    usual = defaults_of("power.api:run")  # only said, because a study file comes before them
    parser.add_argument("study", nargs="?", metavar="FILE", help="a study file, .toml; options override what it says")
    parser.add_argument("--init", metavar="FILE", help="write a commented study file and stop")
    parser.add_argument("--preset", choices=["howcroft2021"], help="settings and design of a paper")
    parser.add_argument(
        "--variance", nargs="+", metavar="NAME", help="settings of the preset: low, representative, high, …"
    )
    parser.add_argument("--items", nargs="+", type=int, metavar="N", help="numbers of items")
    parser.add_argument("--ratings-per-text", nargs="+", type=int, metavar="N", help="ratings of each text")
    parser.add_argument(
        "--effect", nargs="+", type=float, metavar="X", help="true latent effects; 0 gives the type-I error"
    )
    parser.add_argument("--variant", nargs="+", choices=["corrected", "published"], help="of the paper's simulator")
    parser.add_argument("--slope-coding", nargs="+", choices=CODINGS, help="of random slopes")
    parser.add_argument(
        "--texts-per-participant",
        nargs="+",
        type=int,
        metavar="N",
        help="texts that each participant rates; uses a counterbalanced design",
    )
    parser.add_argument(
        "--models", nargs="+", metavar="MODEL", help=f"lm clm lmer clmm; default: {' '.join(usual['models'])}"
    )
    parser.add_argument("--term", help="the coefficient to test, if there are more than two systems")
    models.add_goal(parser)
    parser.add_argument(
        "--null-datasets",
        type=int,
        metavar="N",
        help="critical values from this many datasets without an effect, of each design: size and size-adjusted power "
        "beside the nominal one",
    )
    parser.add_argument("--datasets", type=int, metavar="N", help=f"of each cell; default: {usual['datasets']}")
    parser.add_argument("--seed", type=int, metavar="N", help=f"default: {usual['seed']}")
    parser.add_argument("--alpha", type=float, help=f"level of significance; default: {usual['alpha']}")
    models.add_engine(parser, usual["engine"])
    parser.add_argument("--start", choices=["fast"], help="start R's clmm at the native engine's optimum")
    parser.add_argument("--audit", type=float, metavar="SHARE", help="share of datasets that R fits, too")
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="longest time for one fit")
    parser.add_argument(
        "--jobs", type=int, metavar="N", help=f"worker processes, -1 for all cores; default: {usual['jobs']}"
    )
    parser.add_argument("--store", metavar="FOLDER", help="where results are kept; default: a folder under runs/")
    parser.add_argument(
        "--backend",
        metavar="NAME",
        help=f"loky, dask, or the address of a Dask scheduler, tcp://…; default: {usual['backend']}",
    )
    parser.add_argument("--out", metavar="FILE", help="write the power table to .csv or .parquet")
    outputs.add_options(parser, plot="the power curves")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.set_defaults(run=run, reads=("study",))


def run(args: argparse.Namespace) -> int:
    """Run or continue a study and show its tables."""
    from ordbridge.reading.tables import write

    if args.init:
        return _init(Path(args.init))
    study = _study(args)
    if args.start:
        study = replace(study, models=_started(study.models, args.start))
    options = dict(study.options)
    if "store" not in options:
        from ordbridge.power.api import default_store
        from ordbridge.power.study import goal_of

        usual = defaults_of("power.api:run") | options
        store = default_store(
            study.grid, study.models, usual["seed"], usual["engine"], usual["term"], goal_of(dict(options))
        )
        options["store"] = str(store)
    try:
        with talk.plainly(), talk.progress(args.quiet) as report:
            result = study.run(**options, progress=report)
    except KeyboardInterrupt as error:
        return talk.stopped(options["store"], error)
    except ClusterError as error:
        talk.tell(f"ordbridge power: {error}. {talk.how_to_continue(', with a cluster that answers or without one')}")
        return 1
    with talk.plainly():
        outputs.finish(result, args, *([write(result.power(), args.out)] if args.out else []))
    if result.missing:
        talk.tell(talk.how_to_continue())
    return 1 if result.missing else 0


def _init(path: Path) -> int:
    from ordbridge.power.study import TEMPLATE
    from ordbridge.support.writing import write_text

    if path.exists():
        raise InputError(f"{path} is already there; name another file")
    write_text(path, TEMPLATE)
    show.line(f"wrote {path}; change it, then: ordbridge power {shlex.quote(str(path))}")
    return 0


def _study(args: argparse.Namespace) -> Study:
    """Put file and options together; options win."""
    from ordbridge.power import Grid
    from ordbridge.power.study import Study, read_study

    axes = {name: getattr(args, name) for name in AXES if getattr(args, name) is not None}
    options = {name: getattr(args, name) for name in OPTIONS if getattr(args, name) is not None}
    if args.study:
        if args.preset:
            raise InputError("a study file names its own preset; leave out --preset")
        study = read_study(args.study, axes, args.models)
        return Study(study.grid, study.models, {**study.options, **options})
    if not args.preset:
        raise InputError("nothing to run: name a study file (--init FILE writes one) or --preset howcroft2021")
    design = "counterbalanced" if args.texts_per_participant else None
    return Study(Grid(preset=args.preset, design=design, **axes), args.models or ("lmer", "clmm"), options)


def _started(models: Any, start: str) -> dict[str, Any]:
    """Return the models with a start for every clmm."""
    named = dict(models) if isinstance(models, Mapping) else {name: {} for name in models}
    options = {name: {"formula": value} if isinstance(value, str) else dict(value) for name, value in named.items()}
    for name, option in options.items():
        if option.get("kind", name) == "clmm":
            option["start"] = start
    return options
