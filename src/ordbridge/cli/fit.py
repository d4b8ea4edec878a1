"""``ordbridge fit``: one model on one file of ratings."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ordbridge.cli import exits, models, outputs, reading, talk
from ordbridge.cli.defaults import defaults_of
from ordbridge.support.formatting import enumerated

if TYPE_CHECKING:
    import pyarrow as pa

    from ordbridge.models.explain import FitAnalysis
    from ordbridge.models.fit import Fit

CRITERIA = {"criterion", "criteria", "dimension", "aspect"}  # names of columns in which several criteria may stand
ALL = "all"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("file", help="ratings, as for compare")
    parser.add_argument("--model", choices=models.MODELS, required=True)
    parser.add_argument("--formula", required=True, help='such as "rating ~ system + (system | item)"')
    models.add_options(parser)
    own = ("criterion", "levels", "scale", "weights", "systems", "lower_is_better", "higher_is_better")
    reading.add_options(parser, without=own)
    parser.add_argument("--start", choices=("fast",), help="clmm: R's optimiser starts at the native optimum")
    models.add_engine(parser, defaults_of("models.api:clmm")["engine"])
    parser.add_argument(
        "--criterion",
        metavar="NAME",
        help="use the ratings of this criterion; COLUMN=NAME if its column has another name",
    )
    parser.add_argument("--numeric", metavar="COLUMN", help="this predictor is a quantity, although it has few values")
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="stop the fit after this many seconds")
    parser.add_argument("--conf-level", type=float, help="confidence level of the intervals; default: %(default)s")
    parser.add_argument(
        "--contrasts", metavar="FACTOR", help="also show all pairwise differences of this factor (Holm)"
    )
    parser.add_argument(
        "--assumptions",
        action="store_true",
        help="clm, clmm: also test whether thresholds move alike and spread is equal",
    )
    models.add_tests(parser)
    parser.add_argument(
        "--out", metavar="FILE", help="write the coefficients to .parquet or .csv, and contrasts beside it"
    )
    parser.add_argument("--levels", nargs="+", metavar="LABEL", help="labels of the ratings in order, from low to high")
    outputs.add_options(parser, plot="the coefficients")
    parser.set_defaults(
        **defaults_of("models.api:clmm", "engine"), **defaults_of("models.fitted:Fitted.tidy", "conf_level")
    )
    parser.set_defaults(
        **defaults_of("models.fit:Fit.test", "draws", "seed", "jobs", "store"), run=run, reads=("file",)
    )


def run(args: argparse.Namespace) -> int:
    """Fit and show."""
    import warnings

    from ordbridge.models import api

    data = _data(args)
    told = {"slider"} if args.model in ("clm", "clmm") else set()
    hushed = {"few-raters", "few-items"} if args.model in ("clm", "lm") else set()  # they have no random effects
    response = args.formula.partition("~")[0].strip(" `") or None
    noticed = reading.checked(args.file, told=told, hushed=hushed, rating=response)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the result shows them all
        fit = getattr(api, args.model)(
            args.formula, data, **models.options(args), engine=args.engine, timeout=args.timeout
        )
        tests = _tests(fit, args)
        result = fit.explain(args.contrasts, tests, args.assumptions or bool(args.html), args.conf_level, noticed)
    outputs.finish(result, args, *_keep(result, args))
    return _code(fit)


def _code(fit: Fit) -> int:
    return exits.OK if fit.converged else exits.NOT_CONVERGED


def _data(args: argparse.Namespace) -> pa.Table:
    """Read the file, take one criterion if there are several, and ask where the formula may not mean what it says."""
    import pyarrow.compute as pc

    from ordbridge.errors import InputError
    from ordbridge.formula import parse

    table = _table(args)
    used = set(parse(args.formula, table.column_names).columns)
    column, _, name = (args.criterion or "").rpartition("=")
    column = column or next((c for c in table.column_names if c.lower() in CRITERIA), "")
    if column and (column not in table.column_names):
        raise InputError(f"there is no column {column!r}; the table has: {enumerated(table.column_names)}")
    values = [str(v) for v in pc.unique(table[column]).drop_null().to_pylist()] if column else []
    if name and name != ALL:
        if name not in values:
            raise InputError(f"there is no criterion {name!r}; the file has {', '.join(values) or 'none'}")
        table = table.filter(pc.equal(pc.cast(table[column], "string"), name))
    elif len(values) > 1 and not name and column not in used:
        raise InputError(
            f"the column {column!r} has {len(values)} criteria ({', '.join(values[:6])}), which the formula would "
            f"pool; choose one by --criterion {values[0]}, or pool them by --criterion {ALL}"
        )
    _ask_about_codes(table, args)
    return _with_order(table, args) if args.model in ("clm", "clmm") else table


def _table(args: argparse.Namespace) -> pa.Table:
    """Return the file as it is where the formula names its columns, else as it is read, under the names of roles."""
    from ordbridge.errors import FormulaError, InputError
    from ordbridge.formula import parse

    how = reading.options(args)
    try:
        table = reading.long_table(args.file, {}, how)
        parse(args.formula, table.column_names)
    except FormulaError as unknown:
        try:
            table = reading.long_table(args.file, {"rating": "", "system": ""}, how)
            parse(args.formula, table.column_names)
        except InputError:
            raise unknown from None
    return table


def _with_order(table: pa.Table, args: argparse.Namespace) -> pa.Table:
    """Put the words of a response in order: that of --levels, or that of a known scale; other words are asked about."""
    import numpy as np
    import pyarrow as pa

    from ordbridge.formula import Name, parse
    from ordbridge.reading.values import parse_ratings

    response = parse(args.formula, table.column_names).response
    if not isinstance(response, Name) or not pa.types.is_string(table[response.name].type):
        return table
    parsed = parse_ratings(table[response.name].to_pylist(), args.levels, response.name)
    if parsed.levels is None:
        return table
    talk.tell(f"ratings are words, from low to high: {' < '.join(parsed.levels)}; for another order give --levels")
    empty = np.isnan(parsed.values)
    codes = pa.array(np.where(empty, 0, parsed.values).astype("int32"), mask=empty)
    ordered = pa.DictionaryArray.from_arrays(codes, pa.array(parsed.levels), ordered=True)
    return table.set_column(table.column_names.index(response.name), response.name, ordered)


def _ask_about_codes(table: pa.Table, args: argparse.Namespace) -> None:
    """Ask whether numbers that stand for systems are names: a model would draw a line through them."""
    import pyarrow.compute as pc
    from pyarrow import types

    from ordbridge.errors import InputError
    from ordbridge.formula import Name, expand, parse
    from ordbridge.models.api import FEW_VALUES, SYSTEMS

    for variable in expand(parse(args.formula, table.column_names).fixed).variables:
        if not isinstance(variable, Name) or variable.name.lower() not in SYSTEMS or variable.name == args.numeric:
            continue
        kind = table[variable.name].type
        values = pc.unique(table[variable.name]).drop_null()
        if (types.is_integer(kind) or types.is_floating(kind)) and 2 < len(values) <= FEW_VALUES:
            shown = ", ".join(f"{value:g}" for value in sorted(values.to_pylist()))
            raise InputError(
                f"are the values of {variable.name!r} ({shown}) names? As numbers they are a line from the lowest to "
                f"the highest; write factor({variable.name}), or --numeric {variable.name} if they are a quantity"
            )


def _keep(result: FitAnalysis, args: argparse.Namespace) -> list[Path]:
    """Write tables."""
    from ordbridge.reading.tables import write

    written = []
    if args.out:
        out = Path(args.out)
        written.append(write(result.tables["tidy"], out))
        if result.contrasts is not None:
            written.append(write(result.contrasts, out.with_name(f"{out.stem}-contrasts{out.suffix}")))
    return written


def _tests(fit: Fit, args: argparse.Namespace) -> pa.Table | None:
    """Test the terms that were asked for, or all."""
    import pyarrow as pa

    from ordbridge.results import findings_of, with_findings

    if not args.test:
        return None
    with talk.progress(quiet=args.quiet or args.test not in ("bootstrap", "bartlett")) as progress:
        options = {"draws": args.draws, "seed": args.seed, "jobs": args.jobs, "store": args.store}
        tables = [fit.test(term, args.test, **options, progress=progress) for term in args.term or [None]]
    plain = [table.replace_schema_metadata(None) for table in tables]
    return with_findings(pa.concat_tables(plain), [one for table in tables for one in findings_of(table)])
