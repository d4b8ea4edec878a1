"""One file for every place where a malformed file once ended in a traceback: now each ends in one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import csv, feather

import ordbridge as ob
from ordbridge.cli import exits, main

GOOD = "participant,item,system,rating\n" + "".join(
    f"p{p},t{i},{s},{1 + (p + i) % 5}\n" for p in range(3) for i in range(4) for s in ("a", "b")
)
TASK = {"id": 1, "data": {"text": "a"}, "annotations": [{"result": []}]}
STATE = {"user_id": "anna", "instance_id_to_label_to_value": {"1": [[{"schema": "s", "name": "1"}, "1"]]}}
DEEP = "[" * 100_000
SURROGATE = '"\\ud800"'


def task(**changes: object) -> str:
    return json.dumps([TASK | changes])


def result(**changes: object) -> str:
    sound = {"from_name": "fluency", "type": "rating", "value": {"rating": 4}}
    return task(annotations=[{"result": [sound | changes]}])


def state(**changes: object) -> str:
    return json.dumps(STATE | changes)


READ = {
    # Label Studio
    "the data of a task": ("l.json", task(data=5)),
    "annotations that are no list": ("l.json", task(annotations=3)),
    "an annotation that is no object": ("l.json", task(annotations=[7])),
    "a result that is no list": ("l.json", task(annotations=[{"result": "x"}])),
    "a result that is no object": ("l.json", task(annotations=[{"result": [5]}])),
    "a value that is no object": ("l.json", result(value=5)),
    "a control that is a list": ("l.json", result(from_name=["a"])),
    # Potato
    "answers that are no object": ("p.json", state(instance_id_to_label_to_value=1.5)),
    "times that are no object": ("p.json", state(instance_id_to_behavioral_data=5)),
    "labels that are null": ("p.json", state(instance_id_to_label_to_value={"1": None})),
    "a pair that is none": ("p.json", state(instance_id_to_label_to_value={"1": [[1]]})),
    "a label that is no object": ("p.json", state(instance_id_to_label_to_value={"1": [[1, 2]]})),
    "a time of too many digits": (
        "p.json",
        state(instance_id_to_behavioral_data={"1": {"total_time_ms": 10**400}}, instance_id_to_label_to_value={}),
    ),
    # JSON
    "records without a field": ("g.json", "[{}]"),
    "a number of 5,000 digits": ("b.json", '[{"rating": ' + "9" * 5000 + "}]"),
    "a number of 5,000 digits under another name": ("b.csv", '[{"rating": ' + "9" * 5000 + "}]"),
    "half a character as a name": ("s.json", f'[{{"participant":{SURROGATE},"item":"a","system":"b","rating":1}}]'),
    "half a character beside": (
        "s.json",
        f'[{{"participant":"a","item":"a","system":"b","rating":1,"x":{SURROGATE}}}]',
    ),
    "half a character as a column": (
        "s.json",
        f'[{{"participant":"a","item":"a","system":"b","rating":1,{SURROGATE}:1}}]',
    ),
    "brackets without an end": ("d.json", DEEP),
    "nested, but sound": ("d.json", "[" * 500 + "]" * 500),
    "half a character in JSON lines": (
        "s.jsonl",
        f'{{"participant":{SURROGATE},"item":"a","system":"b","rating":1}}\n' * 2,
    ),
    # archives
    "an archive of a later version": ("x.xlsx", "PK\x05\x06" + "\x00" * 18),
}


def ends_in_one_sentence(capsys: pytest.CaptureFixture[str], *words: str | Path) -> str:
    capsys.readouterr()
    assert main(list(map(str, words))) == exits.BAD_INPUT
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and said.startswith(f"ordbridge {words[0]}: ")
    return said


@pytest.mark.parametrize(("name", "text"), READ.values(), ids=READ)
def test_a_malformed_file_of_ratings(name, text, tmp_path, capsys):
    (tmp_path / name).write_bytes(text.encode("latin-1"))
    ends_in_one_sentence(capsys, "read", tmp_path / name)


@pytest.mark.parametrize("text", ["[{}]", "[" + SURROGATE + "]", f'[{{"a":{SURROGATE}}}]'])
def test_a_malformed_table(text, tmp_path, capsys):
    (tmp_path / "t.json").write_text(text)
    ends_in_one_sentence(capsys, "fit", tmp_path / "t.json", "--model", "lm", "--formula", "y ~ x", "--engine", "fast")


def test_a_file_to_join_without_columns(tmp_path, capsys):
    (tmp_path / "good.csv").write_text(GOOD)
    (tmp_path / "people.json").write_text("[{}]")
    ends_in_one_sentence(capsys, "read", tmp_path / "good.csv", "--join", tmp_path / "people.json")


def test_a_file_to_join_to_ratings_of_nobody(tmp_path):
    (tmp_path / "nobody.csv").write_text("participant,item,system,rating\n,t1,a,1\n,t2,b,2\n")
    (tmp_path / "people.csv").write_text("participant,age\np1,30\np1,31\n")
    with pytest.raises(ob.InputError, match="name no participants to find in people"):
        ob.read(tmp_path / "nobody.csv", participant="participant", join=tmp_path / "people.csv")


def test_two_columns_of_one_name(tmp_path, capsys):
    import pyarrow.parquet as pq

    table = pa.Table.from_arrays([pa.array(["a"]), pa.array([1]), pa.array([2])], names=["rater", "rating", "rating"])
    pq.write_table(table, tmp_path / "t.parquet")
    assert "rating, rating (2) may be the rating" in ends_in_one_sentence(capsys, "read", tmp_path / "t.parquet")


BEYOND_TEXT = {
    "a year beyond 9999": lambda: pa.array([10**17] * 24, pa.timestamp("s")),
    "an unknown time zone": lambda: pa.array([1] * 24, pa.timestamp("s", tz="Foo/Bar")),
    "a duration beyond Python's": lambda: pa.array([2**62] * 24, pa.duration("s")),
    "two fields of one name": lambda: pa.StructArray.from_arrays([pa.array([1] * 24)] * 2, names=["a", "a"]),
    "categories beyond text": lambda: pa.DictionaryArray.from_arrays(
        [0] * 24, pa.array([10**17], pa.timestamp("s")), ordered=True
    ),
}


@pytest.mark.parametrize("values", BEYOND_TEXT.values(), ids=BEYOND_TEXT)
def test_a_column_that_cannot_be_text(values, tmp_path, capsys):
    path = table_with(values(), tmp_path)
    assert "column 'extra' of t.feather cannot be read as text" in ends_in_one_sentence(capsys, "read", path)


def test_the_name_of_a_field_that_is_not_text(tmp_path, capsys):
    path = table_with(pa.array([{"fieldname": 1}] * 24), tmp_path)
    path.write_bytes(path.read_bytes().replace(b"fieldname", b"field\xd0\x01me"))
    ends_in_one_sentence(capsys, "read", path)


AS_POLARS_WRITES = {
    "text as views": lambda: pa.array(["a"] * 24, pa.string_view()),
    "bytes as views": lambda: pa.array([b"a"] * 24, pa.binary_view()),
    "lists of views": lambda: pa.array([["a"]] * 24, pa.list_(pa.string_view())),
    "runs": lambda: pa.RunEndEncodedArray.from_arrays(pa.array([24], pa.int32()), pa.array(["a"])),
}


@pytest.mark.parametrize("values", AS_POLARS_WRITES.values(), ids=AS_POLARS_WRITES)
def test_columns_that_arrow_cannot_take_rows_of(values, tmp_path):
    assert ob.read(table_with(values(), tmp_path)).table.num_rows == 24


def table_with(extra: pa.Array, folder: Path) -> Path:
    table = csv.read_csv(pa.py_buffer(GOOD.encode())).append_column("extra", extra)
    feather.write_feather(table, folder / "t.feather")
    return folder / "t.feather"


def test_settings_of_a_header(tmp_path, capsys):
    (tmp_path / "h.csv").write_text("participant,item,system,rating\n")
    ends_in_one_sentence(capsys, "settings", tmp_path / "h.csv", "--engine", "fast")


@pytest.mark.parametrize("text", [b"[" * 100_000, b"\xff\xfe\x00", b"9" * 5000, b"{", b'{"kind": 1}'])
def test_a_malformed_plan(text, tmp_path, capsys):
    (tmp_path / "good.csv").write_text(GOOD)
    (tmp_path / "d.json").write_bytes(text)
    for command in ("compare", "stop"):
        ends_in_one_sentence(capsys, command, tmp_path / "good.csv", "--plan", tmp_path / "d.json")


@pytest.mark.parametrize("command", ["compare", "stop"])
def test_a_plan_that_never_ends(command, tmp_path, capsys):
    (tmp_path / "good.csv").write_text(GOOD)
    (tmp_path / "plan.json").symlink_to("/dev/zero")
    said = ends_in_one_sentence(capsys, command, tmp_path / "good.csv", "--plan", tmp_path / "plan.json")
    assert "is a device, not a file" in said


BAD_TOML = [b"\xff\xfe\x00", b"a=" + b"[" * 5000 + b"]" * 5000, b"a = " + b"9" * 5000, b"effects = 1979-02-30"]


@pytest.mark.parametrize("text", BAD_TOML)
def test_a_malformed_truth(text, tmp_path, capsys):
    (tmp_path / "t.toml").write_bytes(text)
    ends_in_one_sentence(capsys, "simulate", "--truth", tmp_path / "t.toml", "--out", tmp_path / "o.csv")


@pytest.mark.parametrize(
    "text", [*BAD_TOML, b"preset = [1]", b"[design]\ntable = 5", b'preset="howcroft2021"\n[grid]\nvariance = [{}]']
)
def test_a_malformed_study(text, tmp_path, capsys):
    (tmp_path / "n.toml").write_bytes(text)
    ends_in_one_sentence(capsys, "power", tmp_path / "n.toml", "--store", tmp_path / "store")


@pytest.mark.parametrize(
    ("name", "text"),
    [("flickr8k", "a\x8b"), ("nem", "a\x8b"), ("qgstec", "\x8b"), ("pplm", "a\x8b"), ("huse", "\x8b")],
)
def test_a_malformed_published_file(name, text, tmp_path):
    from ordbridge import reading as data
    from ordbridge.errors import InputError

    (tmp_path / "x.csv").write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match="not UTF-8"):
        getattr(data, f"read_{name}")(tmp_path / "x.csv")


def test_lists_nested_too_deeply_stay_text(tmp_path):
    path = tmp_path / "deep.csv"
    deep = "[" * 3000 + "]" * 3000
    path.write_text(f"participant,item,system,rating\na,b,{deep},3\na,c,y,4\nb,b,{deep},2\nb,c,y,5\n")
    assert deep in ob.read(path).table["system"].to_pylist()
