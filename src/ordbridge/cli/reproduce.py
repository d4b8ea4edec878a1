"""``ordbridge reproduce``: recompute what a paper claims, and say which claims hold."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ordbridge.cli import models, outputs, talk
from ordbridge.cli.defaults import defaults_of

if TYPE_CHECKING:
    from ordbridge.papers.reproduction import Reproduction


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    papers = parser.add_subparsers(dest="paper", metavar="PAPER", required=True)
    _howcroft_options(_paper(papers, "howcroft2021", "power of ordinal and linear models of ratings", _howcroft))
    _paper(papers, "gladkoff2023", "intervals from one, two or a few scores", _gladkoff)
    parser = _paper(papers, "card2020", "the table of 48 powers, number for number, through R", _card)
    parser.add_argument("--setting", nargs="+", choices=("low", "high"), help="default: both")
    parser.add_argument("--diff", nargs="+", type=float, metavar="X", help="any of 0.05 0.1 0.15 0.2; default: all")
    parser.add_argument("--items", nargs="+", type=int, metavar="N", help="any of 50 100 500; default: all")
    parser.add_argument("--workers", nargs="+", type=int, metavar="N", help="3, 10 or both; default: both")
    parser.add_argument("--store", metavar="FOLDER", help="keep fits here, and continue from them; default: DIR/fits")
    parser.add_argument("--jobs", type=int, metavar="N", help="worker processes; default: %(default)s")
    parser.set_defaults(**defaults_of("papers.card2020:reproduce", "jobs"))
    parser.add_argument("--no-false-positives", action="store_true", help="leave out the runs without a difference")
    parser = _paper(papers, "amidei2019", "agreement and correlation, from your copies of the ratings", _amidei)
    parser.add_argument("--qgstec", metavar="FILE", help="of QG-STEC-plus: Export-Subsets.zip, .xml or QG-STEC_R.csv")
    parser.add_argument("--flickr", metavar="FILE", help="flickr8k/judgements of compareImageDescriptionMeasures")
    parser.add_argument(
        "--printed",
        metavar="FILE",
        help="CSV of Tables 6 and 7: criterion, participant_a, participant_b, kappa, gamma",
    )
    parser = _paper(papers, "belz2011", "a scale of seven categories and a line from 0 to 100, simulated", _belz)
    parser.add_argument("--datasets", type=int, metavar="N", help="simulated experiments; default: %(default)s")
    parser.add_argument("--seed", type=int, metavar="N", help="default: %(default)s")
    parser.set_defaults(**defaults_of("papers.belz2011:reproduce"))


def _howcroft_options(parser: Any) -> None:
    usual = defaults_of("papers.howcroft2021:reproduce", "figure", "datasets", "engine", "audit", "seed", "jobs")
    variants = defaults_of("papers.howcroft2021:reproduce")["variants"]
    parser.set_defaults(**usual, variant=list(variants))
    told = f"of the published simulator; default: {' '.join(variants)}"
    parser.add_argument("--variant", nargs="+", choices=("corrected", "published"), help=told)
    parser.add_argument("--figure", choices=("2", "3", "all"), help="default: %(default)s")
    parser.add_argument(
        "--datasets", type=int, metavar="N", help="datasets per cell; default: %(default)s, as published"
    )
    parser.add_argument(
        "--questions",
        type=int,
        metavar="N",
        help="datasets per cell where something is decided; default: as many, 0: none",
    )
    parser.add_argument("--both-signs", action="store_true", help="also run negative effects, with the first variant")
    models.add_engine(parser, usual["engine"])
    parser.add_argument(
        "--start", choices=("fast",), help="let R's clmm start at the native optimum: four times faster"
    )
    parser.add_argument(
        "--audit", type=float, metavar="SHARE", help="share of datasets that R fits, too; default: %(default)s"
    )
    parser.add_argument("--seed", type=int, metavar="N", help="default: %(default)s")
    parser.add_argument(
        "--jobs", type=int, metavar="N", help="worker processes, -1 for all cores; default: %(default)s"
    )
    parser.add_argument("--store", metavar="FOLDER", help="keep fits here, and continue from them; default: DIR/fits")
    parser.add_argument("--quiet", action="store_true", help="show no progress")


def _paper(papers: Any, name: str, text: str, reproduce: Callable[[argparse.Namespace], Reproduction]) -> Any:
    """Add one paper, with the folder that every paper writes to."""
    parser = papers.add_parser(name, help=text)
    parser.add_argument("--out", metavar="DIR", required=True, help="folder for tables, figures and report.html")
    outputs.add_options(parser, plot="the first picture of the report")
    parser.set_defaults(run=lambda args: _run(args, reproduce))
    return parser


def _run(args: argparse.Namespace, reproduce: Callable[[argparse.Namespace], Reproduction]) -> int:
    """Reproduce, show the verdicts, write everything."""
    try:
        with talk.plainly():
            result = reproduce(args)
    except KeyboardInterrupt as error:
        if "store" not in args:
            raise
        return talk.stopped(_store(args), error)
    outputs.finish(result, args, *result.write(args.out, outputs.command()))
    return 0


def _store(args: argparse.Namespace) -> str:
    return args.store or f"{args.out}/fits"


def _howcroft(args: argparse.Namespace) -> Reproduction:
    from ordbridge.papers import howcroft2021

    with talk.progress(args.quiet) as progress:
        return howcroft2021.reproduce(
            args.variant,
            args.figure,
            datasets=args.datasets,
            questions=args.questions,
            both_signs=args.both_signs,
            engine=args.engine,
            start=args.start,
            audit=args.audit,
            seed=args.seed,
            jobs=args.jobs,
            store=_store(args),
            progress=progress,
            tell=None if args.quiet else talk.tell,
        )


def _gladkoff(args: argparse.Namespace) -> Reproduction:
    from ordbridge.papers import gladkoff2023

    return gladkoff2023.reproduce()


def _card(args: argparse.Namespace) -> Reproduction:
    from ordbridge.papers import card2020

    chosen = list(
        card2020.cells(
            args.setting or list(card2020.PARAMETERS),
            args.diff or card2020.differences,
            args.items or card2020.items,
            args.workers or card2020.workers,
        )
    )
    return card2020.reproduce(
        chosen,
        store=_store(args),
        jobs=args.jobs,
        false_positives=not args.no_false_positives,
        progress=talk.tell,
    )


def _amidei(args: argparse.Namespace) -> Reproduction:
    from ordbridge.papers import amidei2019

    return amidei2019.reproduce(args.qgstec, args.flickr, printed=args.printed)


def _belz(args: argparse.Namespace) -> Reproduction:
    from ordbridge.papers import belz2011

    return belz2011.reproduce(datasets=args.datasets, seed=args.seed)
