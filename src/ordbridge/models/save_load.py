"""A fit as a file: an Arrow file with the columns of the model, and everything else as JSON in its metadata.

Nothing in it is code: reading one from a stranger runs nothing. The formula is parsed again as if it had been typed.
"""

from __future__ import annotations

import base64
import json
import os
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import ipc

from ordbridge.errors import InputError
from ordbridge.formula import parse, parse_one_side, written
from ordbridge.models.columns import Column
from ordbridge.models.engines import ENGINES
from ordbridge.models.fit import Fit
from ordbridge.models.kinds import KINDS
from ordbridge.models.problem import Estimates, Problem, RandomTerm
from ordbridge.reading.source import regular_file
from ordbridge.results.finding import Finding
from ordbridge.support.writing import whole_file

FORMAT = 1
KEY = b"ordbridge fit"
DTYPES = ("<f8", "<i8", "<i4", "|i1", "|b1")
OPTIONS = ("link", "threshold", "nAGQ", "REML", "ddf", "timeout", "start", "weights", "offset")


def save(fit: Fit, path: str | os.PathLike[str]) -> Path:
    """Write a fit with its data to an Arrow file; see :meth:`ordbridge.Fit.save`."""
    problem, estimates = fit.problem, fit.estimates
    kept = {
        "format": FORMAT,
        "engine": fit.engine,
        "seconds": fit.seconds,
        "model": problem.model,
        "formula": str(problem.formula),
        "scale": written(problem.scale) if problem.scale else None,
        "nominal": written(problem.nominal) if problem.nominal else None,
        "options": {name: getattr(problem, name) for name in OPTIONS},
        "columns": {name: {"kind": c.kind, "levels": c.levels, "ordered": c.ordered}
                    for name, c in problem.columns.items()},
        "estimates": {one.name: _plain(getattr(estimates, one.name)) for one in fields(Estimates)},
    }  # fmt: skip
    table = table_of(problem).replace_schema_metadata({KEY: json.dumps(kept)})
    with whole_file(path) as partial, ipc.new_file(partial, table.schema) as file:
        file.write_table(table)
    return Path(path)


def load(path: str | os.PathLike[str]) -> Fit:
    """Read a fit that :meth:`ordbridge.Fit.save` has written.

    Parameters
    ----------
    path
        The file.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import ordbridge as ob
    >>> fit = ob.lm("y ~ x", {"y": [1.0, 2.1, 2.9, 4.2], "x": [1, 2, 3, 4]}, engine="fast")
    >>> with TemporaryDirectory() as folder:
    ...     again = ob.load(fit.save(f"{folder}/fit.arrow"))
    >>> again.tidy() == fit.tidy()
    True
    """
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path} is a folder; a fit is a file (a power run is read by ordbridge.power.load)")
    regular_file(path)
    try:
        with pa.memory_map(str(path)) as source, ipc.open_file(source) as file:
            table = file.read_all()
        kept = json.loads((table.schema.metadata or {})[KEY])
    except (pa.ArrowException, OSError, KeyError, ValueError, RecursionError):
        raise InputError(f"{path} is not a fit of ordbridge, or it is damaged; save the fit again") from None
    if not isinstance(kept, dict) or kept.get("format") != FORMAT:
        raise InputError(f"{path} was written by another version of ordbridge; fit the model again")
    try:
        return _fit_of(kept, table)
    except (InputError, LookupError, TypeError, ValueError, AttributeError, RecursionError, pa.ArrowException) as why:
        raise InputError(f"{path} is a damaged fit of ordbridge ({why}); fit the model again") from None


def table_of(problem: Problem) -> pa.Table:
    """Return the columns of a problem as a table from which the same problem can be made again."""
    return pa.table({name: _arrow(column) for name, column in problem.columns.items()})


def _arrow(column: Column) -> pa.Array:
    if column.whole is not None:
        return pa.array(column.whole)
    if column.kind == "numeric":
        return pa.array(column.values, from_pandas=True)
    codes = pa.array(column.values, mask=column.missing)
    if column.kind == "logical":
        return codes.cast(pa.bool_())
    return pa.DictionaryArray.from_arrays(codes.cast(pa.int32()), list(column.levels), ordered=column.ordered)


def _column(kept: dict[str, Any], array: pa.ChunkedArray) -> Column:
    kind, levels = kept["kind"], tuple(map(str, kept["levels"]))
    if kind == "numeric":
        whole = array.to_numpy() if pa.types.is_integer(array.type) else None
        numbers = array.cast(pa.float64(), safe=False).to_numpy()
        return Column(kind, np.array(numbers, dtype=float), whole=whole)
    if kind == "logical":
        codes = array.cast(pa.int8())
    elif kind == "factor":
        codes = array.combine_chunks().indices
    else:
        raise ValueError(f"a column is {kind!r}")
    values = codes.fill_null(-1).to_numpy(zero_copy_only=False) if isinstance(codes, pa.Array) else np.array(
        codes.fill_null(-1)
    )  # fmt: skip
    if values.size and values.max() >= max(len(levels), 2 if kind == "logical" else 0):
        raise ValueError("a level is missing")
    return Column(kind, np.array(values, dtype=int), levels, bool(kept["ordered"]))


def _fit_of(kept: dict[str, Any], table: pa.Table) -> Fit:
    names = table.column_names
    if kept["model"] not in KINDS or kept["engine"] not in ENGINES:
        raise ValueError("its model or engine is unknown")
    problem = Problem(
        model=kept["model"],
        formula=parse(kept["formula"], names),
        columns={name: _column(kept["columns"][name], table[name]) for name in names},
        n_rows=table.num_rows,
        scale=() if kept["scale"] is None else parse_one_side("scale", f"~ {kept['scale']}", names),
        nominal=() if kept["nominal"] is None else parse_one_side("nominal", f"~ {kept['nominal']}", names),
        **{name: kept["options"][name] for name in OPTIONS},
    )  # fmt: skip
    values = {name: _rich(value) for name, value in kept["estimates"].items()}
    values["random"] = tuple(RandomTerm(**one) for one in values["random"])
    values["findings"] = tuple(Finding(**one) for one in values["findings"])
    return Fit(problem, Estimates(**values), kept["engine"], float(kept["seconds"]))


def _plain(value: Any) -> Any:
    """Return a value as JSON can have it; arrays keep every bit."""
    if isinstance(value, np.ndarray):
        flat = np.ascontiguousarray(value)
        little = flat.astype(flat.dtype.newbyteorder("<"))
        return {"dtype": little.dtype.str, "shape": value.shape, "bytes": base64.b64encode(little.tobytes()).decode()}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (Finding, RandomTerm)):
        return {"object": {one.name: _plain(getattr(value, one.name)) for one in fields(value)}}
    if isinstance(value, dict):
        return {"object": {str(name): _plain(one) for name, one in value.items()}}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return value


def _rich(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_rich(one) for one in value)
    if not isinstance(value, dict):
        return value
    if "object" in value:
        return {name: _rich(one) for name, one in value["object"].items()}
    if value["dtype"] not in DTYPES:
        raise ValueError(f"an array has the type {value['dtype']!r}")
    array = np.frombuffer(base64.b64decode(value["bytes"], validate=True), dtype=value["dtype"])
    return array.reshape(value["shape"]).copy()
