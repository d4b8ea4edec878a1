"""Shapes of published files, each as a small file of our own; and files drawn from a grammar with the truth known."""

from __future__ import annotations

import importlib.util
import json
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import ordbridge as ob
from ordbridge.cli import main
from ordbridge.errors import InputError
from ordbridge.reading import large_files
from ordbridge.reading.preferences import PreferencesFound

ROWS = [(w, f"t{i}", s, 1 + (w * 3 + i * 2 + (s == "B")) % 5) for w in range(1, 7) for i in range(8) for s in "AB"]


def csv(path: Path, header: str, rows: Any, separator: str = ",") -> Path:
    lines = [header.replace(",", separator), *(separator.join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def codes(ratings: ob.RatingTable) -> set[str]:
    return {one.code for one in ratings.findings}


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    path = Path(__file__).parents[2] / "benchmarks" / "read_files.py"
    spec = importlib.util.spec_from_file_location("read_files", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules["read_files"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_no_file_of_the_grammar_is_read_wrongly(generator: ModuleType, tmp_path: Path) -> None:
    counts: Counter[str] = Counter()
    shapes = set()
    for seed in range(20_000, 20_150):
        shape, path, study, expected = generator.draw(seed, tmp_path)
        verdict, why = generator.outcome(path, study, expected)
        assert verdict != "wrong", f"seed {seed}, {shape}: {why}"
        counts[verdict] += 1
        shapes.add(shape)
    assert counts["right"] >= 0.8 * counts.total()
    assert len(shapes) > 20


# -- parts of files


def test_rows_and_columns_are_chosen(tmp_path: Path) -> None:
    rows = [(*row, "test" if row[1] < "t4" else "dev", 1 + row[3] % 2) for row in ROWS]
    path = csv(tmp_path / "x.csv", "worker,text,model,score,split,overall_score", rows)
    with pytest.raises(InputError, match="may be the rating"):
        ob.read(path)
    ratings = ob.read(path, ignore="overall_score", where="split == test")
    assert ratings.table.num_rows == 48 and "rows-chosen" in codes(ratings)
    assert "overall_score" not in ratings.table.column_names
    with pytest.raises(InputError, match=r"no row of x\.csv has split == train"):
        ob.read(path, ignore="overall_score", where="split == train")
    with pytest.raises(InputError, match="is not a condition"):
        ob.read(path, where="split")


def test_names_of_two_columns(tmp_path: Path) -> None:
    rows = [(w, int(i[1:]) // 4, int(i[1:]) % 4, s, r) for w, i, s, r in ROWS]
    path = csv(tmp_path / "x.csv", "worker,chapter,part,model,score", rows)
    ratings = ob.read(path, item="chapter,part")
    assert len(ratings.table["item"].unique()) == 8
    assert ratings.recognised["item"] == "column 'chapter + part'"


def test_participants_that_are_counted_anew(tmp_path: Path) -> None:
    rows = [(1 + (w - 1) % 3, "e1" if w < 4 else "e2", i, s, r) for w, i, s, r in ROWS]
    path = csv(tmp_path / "x.csv", "participant,expID,text,model,score", rows)
    with pytest.raises(InputError, match="give participant='expID,participant'"):
        ob.read(path)
    assert len(ob.read(path, participant="expID,participant").table["participant"].unique()) == 6


def test_most_ratings_cannot_repeat(tmp_path: Path) -> None:
    rows = [(1 + w % 2, i, "AB"[w % 2], r) for w, i, _, r in ROWS]
    with pytest.raises(InputError, match="had already rated the same text, which cannot be"):
        ob.read(csv(tmp_path / "x.csv", "worker,text,model,score", rows))


def test_raters_that_are_places(tmp_path: Path) -> None:
    rows = [(n, f"text {i}", "AB"[i % 2], 1 + (n + i) % 5) for i in range(120) for n in range(3)]
    path = csv(tmp_path / "x.csv", "Annotator,Text,Architecture,Fluency", rows)
    with pytest.raises(InputError, match="are these the same 3 people throughout"):
        ob.read(path)
    assert "participant" not in ob.read(path, participant="none").table.column_names


def test_several_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = []
    for w in range(1, 7):
        files.append(csv(tmp_path / f"a{w}.tsv", "text,model,score", [row[1:] for row in ROWS if row[0] == w], "\t"))
    together = ob.read(files)
    assert together.table.num_rows == len(ROWS)
    assert together.table["participant"].unique().to_pylist() == [f"a{w}" for w in range(1, 7)]
    assert main(["read", *map(str, files)]) == 0
    assert "Read 96 ratings from 6 files." in capsys.readouterr().out
    other = csv(tmp_path / "b.tsv", "text,model,points", [("a", "b", 1)], "\t")
    with pytest.raises(InputError, match="different columns"):
        ob.read([files[0], other])
    named = ob.read(csv(tmp_path / "bart.csv", "worker,text,score", [(w, i, r) for w, i, s, r in ROWS if s == "A"]),
                    system="file")  # fmt: skip
    assert named.table["system"].unique().to_pylist() == ["bart"]


# -- broken files


def test_broken_rows_are_named(tmp_path: Path) -> None:
    path = csv(tmp_path / "x.csv", "worker,text,model,score", [*ROWS[:5], ROWS[5][:3], *ROWS[6:]])
    with pytest.raises(InputError, match=r"row 7 of x\.csv has 3 cells, but the header in row 1 has 4"):
        ob.read(path)
    path = tmp_path / "y.tsv"
    path.write_text("system score seg_id\n" + "".join(f"{s}\t{r}.5 {i}\n" for w, i, s, r in ROWS if w == 1))
    assert "mixed-separators" in codes(ob.read(path))
    trailing = csv(tmp_path / "z.csv", "worker,text,model,score,", [(*row, "") for row in ROWS])
    assert ob.read(trailing).table.num_rows == 96


# -- direction


def test_the_direction_is_known_and_said(tmp_path: Path) -> None:
    rows = [(w, i, s, r + 5 * (s == "A"), 6 - r) for w, i, s, r in ROWS]
    path = csv(tmp_path / "x.csv", "worker,text,model,errors", [row[:4] for row in rows])
    found = ob.compare(path, engine="fast")
    assert found.ranking["system"].to_pylist() == ["B", "A"]
    assert found.pairs["difference"].to_pylist()[0] < 0 and "lower than A" in found.answer
    high = ob.compare(ob.read(path, lower_is_better=False), engine="fast")
    assert high.ranking["system"].to_pylist() == ["A", "B"]
    both = csv(tmp_path / "y.csv", "worker,text,model,num_errors,fluency", rows)
    mixed = ob.read(both, rating=["num_errors", "fluency"])
    assert mixed.lower_is_better == ("num_errors",)
    assert ob.read(both, rating=["num_errors", "fluency"], lower_is_better=["fluency"]).lower_is_better == ("fluency",)
    with pytest.raises(InputError, match="has the criteria num_errors, fluency"):
        ob.read(both, rating=["num_errors", "fluency"], lower_is_better=["zest"])


# -- preferences, spans, scores without raters


def test_verdicts_get_the_names_of_systems(tmp_path: Path) -> None:
    path = csv(tmp_path / "x.csv", "worker,text,preference", [(w, i, "AB"[r % 2]) for w, i, s, r in ROWS if s == "A"])
    with pytest.raises(PreferencesFound) as bare:
        ob.read(path)
    assert bare.value.preferences is None
    with pytest.raises(PreferencesFound) as named:
        ob.read(path, system=["gpt", "human"])
    assert named.value.preferences is not None and named.value.preferences.systems == ("gpt", "human")


def test_verdicts_named_by_their_criterion(tmp_path: Path) -> None:
    rows = [(w, "x", "y", "a" if w % 2 else "b", "y", "z", "b", "x", "z", "tie" if w % 3 else "a") for w in range(12)]
    header = "worker," + ",".join(f"systema{n},systemb{n},meaning{n}" for n in (1, 2, 3))
    with pytest.raises(PreferencesFound) as caught:
        ob.read(csv(tmp_path / "x.csv", header, rows))
    assert caught.value.preferences is not None and caught.value.preferences.table.num_rows == 36


def test_systems_on_other_datasets_are_named(tmp_path: Path) -> None:
    rows = [(w, i, s, r, "news" if i < "t4" else "web") for w, i, s, r in ROWS if s == "A" or i < "t4"]
    checks = ob.check(csv(tmp_path / "x.csv", "worker,text,model,score,dataset", rows))
    assert "systems-differ-in-block" in checks.table["code"].to_pylist()


def test_spans_become_scores(tmp_path: Path) -> None:
    rows = [("A", 1, "r1", "Accuracy", "Major"), ("A", 1, "r1", "Fluency/Punctuation", "Minor"),
            ("B", 1, "r1", "No-error", "No-error")]  # fmt: skip
    path = csv(tmp_path / "x.tsv", "system,seg_id,rater,category,severity", rows, "\t")
    assert ob.read(path).table["rating"].to_pylist() == [6, 0]
    weights = {"minor": 1, "major": 5, "minor/punctuation": 0.1}
    assert ob.read(path, levels=weights).table["rating"].to_pylist() == [5.1, 0]
    with pytest.raises(InputError, match="no penalty for the severity major"):
        ob.read(path, levels={"minor": 1})


def test_scores_without_raters_are_compared_with_a_sentence(tmp_path: Path) -> None:
    rows = [(i, s, r + 0.25) for w, i, s, r in ROWS if w == 1]
    found = ob.compare(csv(tmp_path / "x.csv", "text,model,quality", rows), engine="fast")
    assert "no-raters" in {one.code for one in found.findings} and found.criteria


def test_documents_with_parts_in_json(tmp_path: Path) -> None:
    """Passage → questions → system → reviews, with remarks inside a review and ranks beside the ratings."""
    passages = []
    for p in range(5):
        questions = []
        for q in range(3):
            one: dict[str, Any] = {"question_number": q}
            for s in ("bart", "gpt", "human"):
                reviews = [{"worker_id": str(w), "annotations": [{"a": 1}] * w, "overall-rating": 1 + (p + q + w) % 5,
                            "overall-rank": 1 + w} for w in range(3)]  # fmt: skip
                one[s] = {"response": "text", "reviews": reviews}
            questions.append(one)
        passages.append({"passage-id": 70 + p, "questions": questions})
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join(map(json.dumps, passages)))
    table = ob.read(path).table
    sizes = [len(table[role].unique()) for role in ("participant", "item", "system")]
    assert (table.num_rows, *sizes) == (135, 3, 15, 3)


# -- speed and evidence


def test_large_files_are_read_as_small_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(*row, "x y", 6 - row[3], 0.5) for row in ROWS]
    for name, header in (
        ("a.csv", "worker,text,model,score,remark,n,weight"),
        ("b.csv", "w_id,text,model,fluency,c,adequacy,z"),
    ):
        path = csv(tmp_path / name, header.replace("w_id", "worker_id"), rows, ";" if name == "b.csv" else ",")
        small = ob.read(path)
        monkeypatch.setattr(large_files, "LARGE", 0)
        assert large_files.large_file(path, large_files.Asked(), None) is not None
        large = ob.read(path)
        monkeypatch.undo()
        assert large.table.equals(small.table) and large.recognised == small.recognised
        assert [note.text for note in large.notes] == [note.text for note in small.notes]
        assert large.rows.tolist() == small.rows.tolist()


def test_large_files_of_comparisons_are_read_to_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And not only the rows on which columns are recognised."""
    rows = [(f"j{n % 5}", f"q{n % 7}", "old", "new", "model_a" if n % 3 else "model_b") for n in range(90)]
    path = csv(tmp_path / "votes.csv", "judge,question,model_a,model_b,winner", rows)
    monkeypatch.setattr(large_files, "LARGE", 0)
    monkeypatch.setattr(large_files, "SAMPLE", 20)
    with pytest.raises(PreferencesFound, match="90 comparisons of 2 systems") as refusal:
        ob.read(path)
    assert refusal.value.preferences is not None
    assert refusal.value.preferences.table["outcome"].to_pylist() == ["a" if n % 3 else "b" for n in range(90)]


def test_every_column_has_its_evidence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = csv(tmp_path / "x.csv", "worker,text,model,score,filler", [(*row, -1) for row in ROWS])
    assert main(["read", str(path), "--explain"]) == 0
    said = capsys.readouterr().out
    assert "'worker' is the participant: its name is usual for it" in said
    assert "'filler' has no role: it always holds the same" in said


@pytest.mark.parametrize("command", [["check"], ["reliability"], ["read"], ["settings", "--engine", "fast"]])
def test_every_command_reads_the_same_file(command: list[str], tmp_path: Path) -> None:
    path = csv(tmp_path / "x.csv", "worker,text,model,score", ROWS)
    assert main([command[0], str(path), *command[1:]]) == 0


def test_a_system_that_always_gets_one_rating_is_asked_about(tmp_path: Path) -> None:
    rows = [(w, i, 1, 1 + (w + i) % 2, 1 + (w * i) % 2) for w in range(4) for i in range(5)]
    path = csv(tmp_path / "x.csv", "WorkerId,article_id,T5,Pegasus,BART", rows)
    with pytest.raises(InputError, match=r"T5 of x\.csv always hold one rating of the scale of Pegasus, BART"):
        ob.read(path)


def test_several_systems_in_a_row_whose_ratings_are_not_placed_are_asked_about(tmp_path: Path) -> None:
    rows = [(w, i, *(("a", "b", "c") if i % 2 else ("c", "a", "b")), 1 + i % 5, 1 + w, 2 + i % 3, 3)
            for w in range(4) for i in range(6)]  # fmt: skip
    names = "judge,zin,team1,team2,team3,Verständlichkeit3,Verständlichkeit2,Verständlichkeit1,target_difficulty"
    with pytest.raises(InputError):
        ob.read(csv(tmp_path / "x.csv", names, rows), rating=names.split(",")[5:])
