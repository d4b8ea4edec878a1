"""Spreadsheets: the sheets of .xlsx and .ods as grids of text."""

from __future__ import annotations

import datetime
import math
import warnings
from pathlib import Path
from typing import Any

from ordbridge.errors import InputError
from ordbridge.reading.cell_count import refuse_large_workbook
from ordbridge.reading.sheet import CellGrid, Row

__all__ = ["cell_text", "grids_of_workbook"]

INSTALL = "pip install 'ordbridge[excel]'"


def grids_of_workbook(path: Path, name: str, kind: str) -> dict[str, CellGrid]:
    """Return the sheets that hold anything, by name."""
    engine = "openpyxl" if kind == "xlsx" else "odf"
    try:
        refuse_large_workbook(path, name, kind)
        import pandas as pd  # later, because it takes as long as the rest

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of openpyxl, about styles and validation, which do not matter here
            frames = pd.read_excel(
                path, sheet_name=None, header=None, dtype=object, na_filter=False, engine=engine, keep_default_na=False
            )
    except ImportError:
        package = "openpyxl" if kind == "xlsx" else "odfpy"
        raise InputError(f"to read {name}, install {package}: {INSTALL}; or save it as .csv") from None
    except Exception as error:  # damaged archives fail in many ways inside these libraries
        if isinstance(error, (InputError, MemoryError)):
            raise
        raise InputError(f"cannot read {name}: it is damaged or protected ({type(error).__name__}: {error})") from None
    grids = {}
    for sheet, frame in frames.items():
        rows: list[Row] = [[cell_text(value) for value in row] for row in frame.itertuples(index=False, name=None)]
        while rows and not any(cell is not None for cell in rows[-1]):
            rows.pop()
        if rows:
            grids[str(sheet)] = CellGrid(rows, name)
    if not grids:
        raise InputError(f"{name} is empty")
    return grids


def cell_text(value: Any) -> str | None:
    """Return a cell's value as text, whole numbers without a decimal point.

    Examples
    --------
    >>> cell_text(3.0), cell_text(3.5), cell_text("  "), cell_text(True)
    ('3', '3.5', None, 'True')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
        return str(int(value))
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return text if text.strip() and text not in ("NaT", "<NA>") else None
