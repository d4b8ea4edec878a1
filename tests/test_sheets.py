"""Sheets for annotators, read by the tools themselves where these are installed."""

import csv
import json
import os
import subprocess
import sys

import pyarrow as pa
import pytest

from ordbridge import design
from ordbridge.cli import main
from ordbridge.errors import InputError
from ordbridge.reading import tables

TABLE = design.counterbalanced(12, 2, texts_per_participant=12)
TEXTS = {
    "item": [str(item) for item in sorted(set(TABLE["item"].to_pylist())) for _ in "AB"],
    "system": [system for _ in set(TABLE["item"].to_pylist()) for system in "AB"],
}
TEXTS["text"] = [f"“{item}” — {system}, 1" for item, system in zip(TEXTS["item"], TEXTS["system"], strict=True)]


def python_with(package):
    """Return the interpreter that has a tool: the one in ORDBRIDGE_TOOLS_PYTHON (several with :), or this one."""
    for python in [*os.environ.get("ORDBRIDGE_TOOLS_PYTHON", "").split(":"), sys.executable]:
        found = python and subprocess.run([python, "-c", f"import {package}"], capture_output=True, check=False)
        if found and found.returncode == 0:
            return python
    pytest.skip(f"{package} is not installed; its package on PyPI has it")
    return None


def test_every_participant_has_a_sheet_without_systems_and_the_key_has_them(tmp_path):
    written = design.sheets(TABLE, tmp_path / "sheets", texts=TEXTS)
    people = list(dict.fromkeys(TABLE["participant"].to_pylist()))
    assert sorted(path.stem for path in written[:-1]) == sorted(map(str, people))
    key = {row["task"]: row for row in csv.DictReader(written[-1].read_text().splitlines())}
    seen = set()
    for path in written[:-1]:
        rows = list(csv.DictReader(path.read_text().splitlines()))
        assert list(rows[0]) == ["order", "task", "item", "text", "rating"]
        assert [int(row["order"]) for row in rows] == list(range(1, 13))
        seen |= {(path.stem, key[row["task"]]["item"], key[row["task"]]["system"]) for row in rows}
        assert all(f"— {key[row['task']]['system']}," in row["text"] for row in rows)
    rows = zip(*(map(str, TABLE[name].to_pylist()) for name in ("participant", "item", "system")), strict=True)
    assert seen == set(rows)


def test_a_text_that_looks_like_a_formula_is_text_in_the_annotators_spreadsheet(tmp_path):
    hostile = {"item": TEXTS["item"], "system": TEXTS["system"], "text": ["=HYPERLINK(1)"] * len(TEXTS["text"])}
    *sheets, key = design.sheets(TABLE, tmp_path / "sheets", texts=hostile)
    for sheet in sheets:
        assert {row["text"] for row in csv.DictReader(sheet.read_text().splitlines())} == {"'=HYPERLINK(1)"}
        assert set(tables.read(sheet)["text"].to_pylist()) == {"=HYPERLINK(1)"}
    renamed = TABLE.set_column(
        TABLE.column_names.index("system"), "system", pa.array([f"@{s}" for s in TABLE["system"].to_pylist()])
    )
    *_, key = design.sheets(renamed, tmp_path / "others")
    assert {row["system"] for row in csv.DictReader(key.read_text().splitlines())} == {"'@A", "'@B"}


def test_potato_reads_the_lines(tmp_path):
    (path,) = design.sheets(TABLE, tmp_path / "tasks.jsonl", texts=TEXTS)
    python = python_with("potato.data_sources.parsing")
    code = (
        "import json, sys; from potato.data_sources.parsing import read_text, parse_json_records; "
        "print(json.dumps(parse_json_records(read_text(sys.argv[1]), sys.argv[1], json_array=False)))"
    )
    said = subprocess.run([python, "-c", code, str(path)], capture_output=True, text=True, check=True).stdout
    items = json.loads(said)
    assert len(items) == TABLE.num_rows == len({item["id"] for item in items})
    assert items == [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


LABEL_STUDIO = """
import json, os, sys, types
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "label_studio.core.settings.label_studio")
import label_studio
sys.path.insert(0, os.path.dirname(label_studio.__file__))
os.environ["DJANGO_SETTINGS_MODULE"] = "core.settings.label_studio"
import django
django.setup()
from data_import.models import FileUpload
from io_storages.utils import load_tasks_json
lines = [task.task_data for task in load_tasks_json(open(sys.argv[1], "rb").read(), sys.argv[1])]
upload = types.SimpleNamespace(content=open(sys.argv[2], "rb").read(), filepath=sys.argv[2])
print("TASKS" + json.dumps([lines, FileUpload.read_tasks_list_from_json(upload)]))
"""


@pytest.mark.slow
def test_label_studio_reads_both_files(tmp_path):
    (lines,), (listed,) = (design.sheets(TABLE, tmp_path / name) for name in ("tasks.jsonl", "tasks.json"))
    python = python_with("label_studio")
    environment = {**os.environ, "LABEL_STUDIO_BASE_DATA_DIR": str(tmp_path)}
    done = subprocess.run(
        [python, "-c", LABEL_STUDIO, str(lines), str(listed)],
        capture_output=True, text=True, check=True, env=environment,
    )  # fmt: skip
    stored, uploaded = json.loads(done.stdout.partition("TASKS")[2])
    assert len(stored) == len(uploaded) == TABLE.num_rows
    assert [task["data"] for task in uploaded] == stored


def test_the_command_writes_sheets(tmp_path, capsys):
    arguments = ["design", "latin-square", "--items", "4", "--raters", "2", "--systems", "2"]
    assert main([*arguments, "--sheets", str(tmp_path / "s")]) == 0
    assert "3 files in" in capsys.readouterr().out
    assert main([*arguments, "--sheets", str(tmp_path / "s.txt")]) == 2
    assert "name a folder, or a file that ends in .jsonl or .json" in capsys.readouterr().err
    with pytest.raises(InputError, match="no text for item"):
        design.sheets(TABLE, tmp_path / "t.json", texts={"item": ["1"], "system": ["A"], "text": ["x"]})
