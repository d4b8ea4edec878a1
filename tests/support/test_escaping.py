"""Text for spreadsheets and for terminals: nothing computes, nothing is lost, everything can be shown."""

from __future__ import annotations

import pyarrow as pa
import pytest

from ordbridge.reading import tables
from ordbridge.reading.opening import open_sheet
from ordbridge.support.escaping import as_in_file, for_ascii, for_spreadsheet

FORMULAS = [
    "=1+1",
    "=\n1+1",
    "=\r\nHYPERLINK(1)",
    "＝1+1",
    "\ufeff=1+1",  # in the first cell it would be the mark of UTF-8, and then a formula
    "＋1",
    "－1+2",
    "＠SUM(1)",
    "+1-1",
    "-1+cmd",
    "@a",
    "\t=1",
    "\n=1",
]
TEXTS = ["'=1", "''=1", "'＝1", "'\n=1", "'quoted'", "'", "''", "-0.5", "a=b", "=", "'-1", "it's", "-1 %", "1'=2"]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_spreadsheet_takes_none_of_these_for_a_formula(text):
    assert for_spreadsheet(text) == f"'{text}"


@pytest.mark.parametrize("text", FORMULAS + TEXTS)
def test_what_is_written_comes_back(text, tmp_path):
    assert as_in_file(for_spreadsheet(text)) == text
    path = tables.write(pa.table({"name": [text, "plain"], "rating": [1, 2]}), tmp_path / "table.csv")
    assert open_sheet(path).columns["name"][0] == text
    assert tables.read(path)["name"].to_pylist()[0] == text


def test_ascii_has_signs_letters_and_numbers_of_the_rest():
    assert for_ascii("A–B: 95 % CI ≥ 0·5 … “é” ½ ß £5") == 'A-B: 95 % CI >= 0.5 ... "e" 1/2 ss GBP 5'
    assert for_ascii("统 e\u0301") == "\\u7edf e"
    assert for_ascii("│ α │").isascii()
