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
    import pyarrow as pa

    from ordbridge.power import Run
    from ordbridge.power.study import Study

__all__ = ["add"]

CODINGS = ("treatment", "centred", "exchangeable")
AXES = ("variance", "items", "ratings_per_text", "effect", "variant", "slope_coding", "texts_per_participant")
OPTIONS = ("sims", "seed", "alpha", "term", "goal", "margin", "on", "calibrate", "engine", "audit", "timeout", "jobs",
           "store", "backend", "scheduler")  # fmt: skip


def add(subparsers: Any) -> None:
    """Add the command."""
    from ordbridge.power import run as simulate

    usual = defaults_of(simulate)  # only said, because a study file comes before them
    parser = subparsers.add_parser("power", help="simulate studies and count how often the difference is found")
    parser.add_argument("study", nargs="?", metavar="FILE", help="a study file, .toml; options override what it says")
    parser.add_argument("--init", metavar="FILE", help="write a commented study file and stop")
    parser.add_argument("--preset", choices=["howcroft2021"], help="settings and design of a paper")
    parser.add_argument(
        "--variance", nargs="+", metavar="NAME", help="settings of the preset: low, representative, high, …"
    )
    parser.add_argument("--items", nargs="+", type=int, metavar="N", help="numbers of items")
    parser.add_argument("--ratings", nargs="+", type=int, metavar="N", dest="ratings_per_text", help="ratings per text")
    parser.add_argument(
        "--effects",
        nargs="+",
        type=float,
        metavar="X",
        dest="effect",
        help="true latent effects; 0 gives the type-I error",
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
        "--calibrate",
        nargs="?",
        type=int,
        const=True,
        metavar="N",
        help="critical values from datasets without an effect on the same designs, N of each (default: as many as "
        "--sims): size and size-adjusted power beside the nominal one",
    )
    parser.add_argument("--sims", type=int, metavar="N", help=f"datasets per cell; default: {usual['sims']}")
    parser.add_argument("--seed", type=int, metavar="N", help=f"default: {usual['seed']}")
    parser.add_argument("--alpha", type=float, help=f"level of significance; default: {usual['alpha']}")
    models.add_engine(parser, usual["engine"])
    parser.add_argument("--start", choices=["fast"], help="start R's clmm at the native engine's optimum")
    parser.add_argument("--audit", type=float, metavar="SHARE", help="share of datasets that R fits as well")
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="longest time for one fit")
    parser.add_argument(
        "--jobs", type=int, metavar="N", help=f"worker processes, -1 for all cores; default: {usual['jobs']}"
    )
    parser.add_argument("--store", metavar="FOLDER", help="where results are kept; default: a folder under runs/")
    parser.add_argument("--backend", choices=["loky", "dask"], help=f"default: {usual['backend']}")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="a Dask scheduler, tcp://…; implies --backend dask")
    parser.add_argument("--out", metavar="FILE", help="write the power table to .csv or .parquet")
    outputs.add_options(parser, plot="the power curves")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run or continue a study and show its tables."""
    if args.init:
        return _init(Path(args.init))
    study = _study(args)
    if args.start:
        study = replace(study, models=_started(study.models, args.start))
    options = dict(study.options)
    if "store" not in options:
        from ordbridge.power.api import default_store
        from ordbridge.power.api import run as simulate

        usual = defaults_of(simulate) | options
        goal = {name: usual[name] for name in ("goal", "margin", "on")}
        store = default_store(study.grid, study.models, usual["seed"], usual["engine"], usual["term"], goal)
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
        _show(result)
        _keep(result, args)
    if result.missing:
        talk.tell(f"ordbridge power: {result.missing} fits are still missing. {talk.how_to_continue()}")
    return 1 if result.missing else 0


def _init(path: Path) -> int:
    from ordbridge.power.study import TEMPLATE
    from ordbridge.writing import write_text

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
    if args.scheduler and not args.backend:
        options["backend"] = "dask"
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


def _show(result: Run) -> None:
    table, common = _narrowed(result.power(), list(result.grid.axes))
    if result.calibration:
        common.append(f"critical values from {result.calibration} datasets a null")
    common += sorted({f"goal {m.goal} within {m.margin:g} ({m.on})" for m in result.models if m.margin is not None})
    common += [f"{m.name} by {'REML' if m.REML else 'maximum likelihood'}" for m in result.models if m.kind == "lmer"]
    show.table(table, title=", ".join([f"Power at alpha {result.alpha:g}", f"engine {result.engine}", *common]))
    failures = result.failures()
    if failures.num_rows:
        show.table(failures, title="Failed fits (not significant in `power`)")
    if result.manifest["audit"]:
        audit = result.audit()
        show.table(audit.summary, title=f"Audit: {audit}")
        if audit.cases.num_rows:
            show.table(audit.cases, title="p differs by more than 1 %")
    show.line(f"{result.fits.num_rows} fits in {result.path}")


def _narrowed(table: pa.Table, axes: list[str]) -> tuple[pa.Table, list[str]]:
    """Leave out columns that say nothing here, so that the rest fits on a screen; say what all rows have in common."""
    values = {name: [*dict.fromkeys(map(str, table[name].to_pylist()))] for name in table.column_names}
    same = [name for name in axes if len(values[name]) == 1 and name != "effect"]
    hidden = {"cell", "engine", *same}
    if len(values["term"]) == 1:
        hidden.add("term")
    if values["note"] == ["None"]:
        hidden.add("note")
    if values["n_failed"] == ["0"]:
        hidden.add("power_if_failures_significant")  # it is the power
    if "adjusted_power" in values:
        hidden |= {"n_ok", "mc_error", "size_n"}  # there are other columns to show
    return table.drop_columns(list(hidden)), [f"{name} {values[name][0]}" for name in same]


def _keep(result: Run, args: argparse.Namespace) -> None:
    from ordbridge.tables import write

    if args.out:
        show.line(f"wrote {write(result.power(), args.out)}")
    for path in outputs.keep(result, args):
        show.line(f"wrote {path}")
