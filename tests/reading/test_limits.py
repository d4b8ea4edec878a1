"""Small files that ask for much: refused in one sentence, before the memory is gone."""

from __future__ import annotations

import gzip
import os
import socket
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from ordbridge.errors import InputError
from ordbridge.reading import read, tables
from ordbridge.reading.size_limits import VARIABLE, Limits, limits, size_in_bytes

REAL = Path(__file__).resolve().parents[3] / "shared" / "data" / "real"
SECONDS, BYTES = 2.0, 300 * 10**6

ODS = """<?xml version="1.0"?><office:document-content
 xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"
 xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"
 xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body><office:spreadsheet>
<table:table table:name="a">{rows}</table:table></office:spreadsheet></office:body></office:document-content>"""
FILLED = '<table:table-cell office:value-type="string"><text:p>a</text:p></table:table-cell>'
SHEET = (
    '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{rows}</sheetData>'
    "</worksheet>"
)


def workbook(path: Path, part: str, xml: str) -> Path:
    """Put other cells into a sound workbook."""
    engine = "openpyxl" if path.suffix == ".xlsx" else "odf"
    sound = path.with_name(f"sound{path.suffix}")
    pd.DataFrame({"rater": ["a"], "rating": [1]}).to_excel(sound, index=False, engine=engine)
    with zipfile.ZipFile(sound) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, xml if name == part else old.read(name))
    return path


def ods(folder: Path, rows: str) -> Path:
    return workbook(folder / "bomb.ods", "content.xml", ODS.format(rows=rows))


def xlsx(folder: Path, rows: str) -> Path:
    return workbook(folder / "bomb.xlsx", "xl/worksheets/sheet1.xml", SHEET.format(rows=rows))


def repeated_rows(folder: Path) -> Path:
    return ods(folder, f'<table:table-row table:number-rows-repeated="100000000">{FILLED}</table:table-row>')


def cells_far_apart(folder: Path) -> Path:
    return xlsx(folder, '<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>1</v></c></row>')


def gzip_of_zeros(folder: Path) -> Path:
    path = folder / "bomb.csv.gz"
    member = gzip.compress(b"0" * 10**8, 9, mtime=0)
    path.write_bytes(member * 80)
    return path


def one_line(folder: Path) -> Path:
    path = folder / "line.csv"
    with open(path, "wb") as file:
        file.truncate(500 * 10**6)  # takes no room on most disks
        file.write(b"a,b")
    return path


def columns(number: int) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        path = folder / "wide.csv"
        with open(path, "w") as file:
            for start in range(0, number, 1000):
                file.write("," * bool(start) + ",".join(f"c{n}" for n in range(start, start + 1000)))
            file.write("\n" + "1," * (number - 1) + "1\n")
        return path

    return write


BOMBS = {
    "rows of an .ods that are repeated": repeated_rows,
    "two cells of an .xlsx far apart": cells_far_apart,
    "8 MB of gzip": gzip_of_zeros,
    "one line of 500 MB": one_line,
    "16,000 columns": columns(16_000),
    "10,000,000 columns": columns(10_000_000),
}
PROGRAM = """
import re, resource, sys
from ordbridge.cli import main

code = main(sys.argv[2:])
used = resource.getrusage(resource.RUSAGE_SELF)
memory = re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]  # not ru_maxrss: it has the parent's
open(sys.argv[1], "w").write(f"{used.ru_utime + used.ru_stime} {memory}")
sys.exit(code)
"""


def refused(folder: Path, *words: str) -> tuple[str, float, int]:
    """Return what a command says, its seconds of the processor, and its bytes."""
    command = [sys.executable, "-c", PROGRAM, str(folder / "used"), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 2, done.stderr
    seconds, memory = (folder / "used").read_text().split()
    return done.stderr, float(seconds), int(memory) * 1024


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is not shown here")
@pytest.mark.parametrize("command", ["read", "fit"])
@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
def test_a_bomb_is_refused_within_two_seconds_and_300_mb(bomb, command, tmp_path):
    path = bomb(tmp_path)
    options = ["--model", "clm", "--formula", "c1 ~ c2", "--engine", "fast"] if command == "fit" else []
    (tmp_path / "empty.csv").touch()
    _, start, _ = refused(tmp_path, command, str(tmp_path / "empty.csv"), *options)
    said, seconds, memory = refused(tmp_path, command, str(path), *options)
    assert said.count("\n") == 1 and "--max-size" in said
    assert seconds - start < SECONDS  # of the processor: other tests may run beside this one
    assert memory < BYTES


@pytest.mark.slow
def test_a_command_loads_no_other_one(tmp_path):
    """Loading all commands took longer than refusing a bomb may take."""
    (tmp_path / "empty.csv").touch()
    code = "import sys; from ordbridge.cli import main; main(sys.argv[1:]); print(*sys.modules)"
    command = [sys.executable, "-c", code, "read", str(tmp_path / "empty.csv")]
    loaded = subprocess.run(command, capture_output=True, text=True, timeout=100).stdout.split()
    assert "ordbridge.cli.read" in loaded and "ordbridge.comparison" not in loaded


def test_empty_rows_that_an_office_program_repeats_are_no_rows(tmp_path):
    nothing = '<table:table-cell table:number-columns-repeated="16384"/>'
    end = f'<table:table-row table:number-rows-repeated="1048574">{nothing}</table:table-row>'
    rows = "".join(
        f'<table:table-row>{cells}<table:table-cell table:number-columns-repeated="16380"/></table:table-row>'
        for cells in (
            FILLED.replace(">a<", ">rater<") + FILLED.replace(">a<", ">rating<"),
            FILLED + FILLED.replace(">a<", ">4<"),
        )
    )
    assert tables.read(ods(tmp_path, rows + end)).to_pylist() == [{"rater": "a", "rating": 4}]


@pytest.mark.parametrize(
    "rows",
    [
        '<row r="1"><c r="A1"><v>1</v></c></row><row r="99999999999"><c><v>1</v></c></row>',
        '<row r="1"><c r="A1"><v>1</v></c><c r="ZZZ1"><v>1</v></c></row>',
        '<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="CZZ1048576"><v>1</v></c></row>',
    ],
)
def test_a_cell_beyond_every_sheet_is_refused(rows, tmp_path):
    with pytest.raises(InputError, match=r"it is damaged|cells, more than"):
        read(xlsx(tmp_path, rows))


def test_entities_in_a_workbook_are_refused(tmp_path):
    laughs = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]>' + SHEET.format(rows="")
    with pytest.raises(InputError, match="declares XML entities"):
        read(workbook(tmp_path / "laughs.xlsx", "xl/worksheets/sheet1.xml", laughs))


def test_blanks_that_are_only_counted_are_refused(tmp_path):
    cell = FILLED.replace(">a<", '>a<text:s text:c="2000000000"/><')
    with pytest.raises(InputError, match="blanks"):
        read(ods(tmp_path, f"<table:table-row>{cell}</table:table-row>"))


def test_records_that_each_have_their_own_columns_are_refused(tmp_path):
    path = tmp_path / "sparse.json"
    path.write_text("[" + ",".join(f'{{"c{n}": 1}}' for n in range(5000)) + "]")
    with pytest.raises(InputError, match="5,000 columns"):
        read(path)


def test_a_line_of_json_may_be_long_and_a_line_of_a_table_may_not(tmp_path):
    path = tmp_path / "one.csv"
    row = '{"participant":"a","item":"b","system":"c","rating":1,"text":"' + "x" * 1000 + '"}'
    path.write_text("[" + ",".join([row] * 5000) + "]")
    assert tables.read(path).num_rows == 5000
    path.write_text("rater,rating\n" + "a" * 5_000_000 + ",1\n")
    with pytest.raises(InputError, match="a line of more than 4,000,000 bytes"):
        tables.read(path)


def test_the_limits_are_raised_by_one_size(tmp_path, monkeypatch):
    path = columns(5000)(tmp_path)
    with pytest.raises(InputError, match="5,000 columns, more than 4,000"):
        tables.read(path)
    monkeypatch.setenv(VARIABLE, "1GB")
    assert tables.read(path).num_columns == 5000
    assert limits().columns == int(4000 * 1000 / 256)
    monkeypatch.setenv(VARIABLE, "many")
    with pytest.raises(InputError, match="is not a size"):
        tables.read(path)
    assert [size_in_bytes(text) for text in ("12", "3 kB", "1.5gb")] == [12, 3000, 1_500_000_000]


def test_a_smaller_size_limits_the_size_only(monkeypatch, tmp_path):
    monkeypatch.setenv(VARIABLE, "1kB")
    assert limits().columns == Limits().columns
    (tmp_path / "a.csv").write_text("a,b\n" * 300)
    with pytest.raises(InputError, match="MB"):
        tables.read(tmp_path / "a.csv")


@pytest.mark.skipif(not REAL.is_dir(), reason="the real files are not here")
@pytest.mark.parametrize("name", sorted(file.name for file in REAL.glob("*.*")) if REAL.is_dir() else [])
def test_no_real_file_comes_near_a_limit(name, monkeypatch):
    near = Limits(**{part: getattr(Limits(), part) // 10 for part in ("size", "rows", "columns", "cells", "line")})
    monkeypatch.setattr("ordbridge.reading.size_limits.Limits", lambda: near)
    try:
        read(REAL / name)
    except InputError as error:
        assert VARIABLE not in str(error)


def fifo(path: Path) -> None:
    os.mkfifo(path)


def bound_socket(path: Path) -> None:
    socket.socket(socket.AF_UNIX).bind(str(path))


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize(("make", "kind"), [(fifo, "pipe"), (bound_socket, "socket"), (endless, "device")])
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_is_not_a_file_is_refused_by_every_reader(make, kind, tmp_path, monkeypatch):
    from ordbridge.models.save_load import load
    from ordbridge.planning import read_protocol
    from ordbridge.power.manifest import read_manifest
    from ordbridge.power.study import read_study
    from ordbridge.simulate import Truth

    monkeypatch.chdir(tmp_path)  # names of sockets are short
    path = Path("manifest.json")
    make(path)
    for reader in (read, tables.read, read_protocol, read_study, Truth.from_toml, load):
        with pytest.raises(InputError, match=f"is a {kind}, not a file"):
            reader(path)
    with pytest.raises(InputError):
        read_manifest(".")
