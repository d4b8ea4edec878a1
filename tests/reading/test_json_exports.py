"""Exports of Argilla, doccano, Prodigy and pearmut: small files in each format, as their makers document it."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

import ordbridge as ob
from ordbridge.errors import InputError

TRUTH = {
    (w, f"t{i}", s): 1 + (len(w) + i * 2 + (s == "B")) % 5 for w in ("ann", "ben!") for i in range(4) for s in "AB"
}


def lines(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    return path


def found(ratings: ob.RatingTable) -> dict[tuple[str, str, str], int]:
    return {(row["participant"], row["item"], row["system"]): row["rating"] for row in ratings.table.to_pylist()}


def texts() -> list[tuple[str, str, dict[str, int]]]:
    keys = dict.fromkeys((item, system) for _, item, system in TRUTH)
    return [(item, system, {w: TRUTH[w, item, system] for w in ("ann", "ben!")}) for item, system in keys]


def argilla(path: Path) -> Path:
    records = []
    for n, (item, system, given) in enumerate(texts()):
        answers = [{"value": value, "user_id": who} for who, value in given.items()]
        records.append(
            {"id": f"r{n}", "status": "completed", "_server_id": f"s{n}", "fields": {"text": "a text"},
             "metadata": {"item": item, "model": system}, "suggestions": {"quality": {"value": 3}},
             "responses": {"quality": answers, "comment": [{"value": "fine", "user_id": "ann"}]}, "vectors": {}}
        )  # fmt: skip
    path.write_text(json.dumps(records), encoding="utf-8")
    return path


def argilla_flat(path: Path) -> Path:
    records = []
    for n, (item, system, given) in enumerate(texts()):
        records.append(
            {"id": f"r{n}", "status": "completed", "text": "a text", "item": item, "model": system,
             "quality.responses": list(given.values()), "quality.responses.users": list(given),
             "quality.responses.status": ["submitted"] * 2, "quality.suggestion": 3}
        )  # fmt: skip
    path.write_text(json.dumps(records), encoding="utf-8")
    return path


def prodigy(path: Path) -> Path:
    options = [{"id": str(n), "text": str(n)} for n in range(1, 6)]
    records = [
        {"text": f"{item} by {system}", "item": item, "system": system, "options": options, "accept": [str(value)],
         "answer": "accept", "_input_hash": 17, "_task_hash": 18, "_annotator_id": who, "_session_id": who}
        for (who, item, system), value in TRUTH.items()
    ]  # fmt: skip
    records.append(records[0] | {"answer": "ignore", "accept": []})
    return lines(path.with_suffix(".jsonl"), records)


def pearmut(path: Path) -> Path:
    records = []
    for who in ("ann", "ben!"):
        for i in range(4):
            scores = {s: {"score": TRUTH[who, f"t{i}", s], "error_spans": []} for s in "AB"}
            records.append({"user_id": who, "item_i": i, "annotation": [scores], "item": [{"item_id": f"t{i}"}]})
    return lines(path.with_suffix(".jsonl"), records)


@pytest.mark.parametrize("write", [argilla, argilla_flat, prodigy, pearmut])
def test_all_ratings_come_out(write: Any, tmp_path: Path) -> None:
    ratings = ob.read(write(tmp_path / "export.json"))
    assert found(ratings) == TRUTH
    assert "recognised-as" in {note.code for note in ratings.notes}


@pytest.mark.parametrize("name", ["argilla.json", "argilla-flat.json"])
def test_what_argilla_wrote(name: str) -> None:
    """Written by the package (2.8.0): eight items, two models, three users."""
    ratings = ob.read(Path(__file__).with_name("exports") / name)
    sizes = [len(ratings.table[role].unique()) for role in ("participant", "item", "system")]
    assert (ratings.table.num_rows, *sizes) == (48, 3, 8, 2)


def test_doccano_has_a_file_per_annotator(tmp_path: Path) -> None:
    files = []
    for who in ("ann", "ben"):
        records = [
            {"id": n, "text": "a text", "system": system, "label": [str(given[who if who == "ann" else "ben!"])],
             "Comments": []}
            for n, (_, system, given) in enumerate(texts())
        ]  # fmt: skip
        files.append(lines(tmp_path / f"{who}.jsonl", records))
    ratings = ob.read(files)
    assert ratings.table["participant"].unique().to_pylist() == ["ann", "ben"]
    assert ratings.table["rating"].to_pylist() == [TRUTH[w, i, s] for w in ("ann", "ben!") for i, s, _ in texts()]
    alone = ob.read(files[0])
    assert alone.table["participant"].unique().to_pylist() == ["ann"]


def test_spans_and_plain_verdicts_are_no_ratings(tmp_path: Path) -> None:
    spans = lines(tmp_path / "a.jsonl", [{"id": 1, "text": "a", "label": [[0, 1, "X"]], "Comments": []}])
    with pytest.raises(InputError, match="spans of text"):
        ob.read(spans)
    binary = lines(tmp_path / "b.jsonl", [{"text": "a", "_input_hash": 1, "answer": "reject"}])
    with pytest.raises(InputError, match="no chosen options"):
        ob.read(binary)


PEARMUT = {(w, f"d{i} s{j}", s): 50 + 7 * i + 3 * j + 10 * (s == "B") + (w == "ben")
           for w in ("ann", "ben") for i in range(3) for j in range(2) for s in "AB"}  # fmt: skip


@pytest.mark.parametrize("name", ["pearmut-esa.jsonl", "pearmut-download.json"])
def test_what_pearmut_wrote(name: str) -> None:
    """Written by its server (1.1.6): three documents of two segments, two raters, each of whom corrected a document."""
    path = Path(__file__).with_name("exports") / name
    assert found(ob.read(path)) == PEARMUT
    marked = ob.read(path, levels={"minor": 1, "major": 5})
    errors = {(i, j): (i + j) % 3 for i in range(3) for j in range(2)}
    assert found(marked) == {
        (w, item, s): errors[int(item[1]), int(item[4])] * (5 if s == "A" else 1) for w, item, s in PEARMUT
    }


def test_sliders_of_pearmut_are_criteria() -> None:
    """Written by its server (1.1.6)."""
    ratings = ob.read(Path(__file__).with_name("exports") / "pearmut-sliders.jsonl")
    given = {(r["participant"], r["item"], r["system"], r["criterion"]): r["rating"] for r in ratings.table.to_pylist()}
    assert given == {
        (*key, criterion): score - less
        for key, score in PEARMUT.items()
        for criterion, less in (("Fluency", 0), ("Adequacy", 20))
    }


def test_a_reset_of_pearmut_and_what_is_no_part_of_the_study(tmp_path: Path) -> None:
    def entry(who: str, item: Any, score: int) -> dict[str, Any]:
        scores = {s: {"score": score + (s == "B"), "error_spans": []} for s in "AB"}
        return {"user_id": who, "item_i": item, "annotation": [scores], "item": [{"item_id": f"t{item}"}]}

    records = [entry("ann", n, 10) for n in range(3)] + [{"user_id": "ann", "annotation": "__RESET__", "item_i": 0}]
    records += [entry("ben", n, 20) for n in range(3)] + [entry("ben", "welcome_0", 99), entry("ann", 1, 30)]
    assert found(ob.read(lines(tmp_path / "x.jsonl", records))) == {
        (w, f"t{n}", s): score + (s == "B")
        for w, n, score in (("ann", 1, 30), *(("ben", n, 20) for n in range(3)))
        for s in "AB"
    }


def test_the_installed_pearmut(tmp_path: Path) -> None:
    """Its own function writes the file; it needs Python 3.12."""
    import os
    import subprocess
    import sys

    if importlib.util.find_spec("pearmut") is None:
        pytest.skip("pearmut is not installed")
    code = (
        "import json, sys; from pearmut.utils import save_db_payload\n"
        "for one in json.load(open(sys.argv[1])): save_db_payload('study', one)"
    )
    records = []
    for (w, item, s), score in PEARMUT.items():
        given = {s: {"score": score, "error_spans": []}}
        records.append({"user_id": w, "item_i": f"{item} {s}", "annotation": [given], "item": [{"item_id": item}]})
    (tmp_path / "data").mkdir()
    source = tmp_path / "records.json"
    source.write_text(json.dumps(records), encoding="utf-8")
    subprocess.run(
        [sys.executable, "-c", code, str(source)], env=os.environ | {"PEARMUT_ROOT": str(tmp_path)}, check=True
    )
    assert found(ob.read(tmp_path / "data" / "annotations" / "study.jsonl")) == PEARMUT


@pytest.mark.parametrize("ending", ["jsonl", "csv"])
def test_what_doccano_wrote(ending: str) -> None:
    """Written by its exporter (1.8.4): a file per annotator, the item and the system among the metadata."""
    folder = Path(__file__).with_name("exports") / "doccano"
    ratings = ob.read([folder / f"{who}.{ending}" for who in ("ann", "ben")], item="item")
    expected = {("ben" if w == "ben!" else w, item, s): rating for (w, item, s), rating in TRUTH.items()}
    assert found(ratings) == expected
    assert labels_of(ob.read(folder / f"ann.{ending}", item="item", participant="file")) == {"ann"}


def labels_of(ratings: ob.RatingTable) -> set[str]:
    return set(ratings.table["participant"].to_pylist())
