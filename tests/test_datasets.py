"""The studies that come with the package: where they come from, and what a new user types first."""

from __future__ import annotations

import importlib.util
import io
from pathlib import Path

import pandas as pd
import pytest

import ordbridge as ob
from ordbridge.cli import main

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("name", list(ob.datasets.STUDIES))
def test_a_study_is_what_its_script_draws(name: str) -> None:
    spec = importlib.util.spec_from_file_location("make_datasets", ROOT / "benchmarks" / "make_datasets.py")
    assert spec and spec.loader
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    drawn = io.StringIO(script.STUDIES[name]().to_csv(index=False))
    pd.testing.assert_frame_equal(getattr(ob.datasets, name)(), pd.read_csv(drawn))


def test_what_is_in_them_is_what_their_descriptions_say() -> None:
    summaries, dialogue = ob.datasets.summaries(), ob.datasets.dialogue()
    assert summaries.nunique().to_dict() == {"worker_id": 8, "doc": 40, "system": 4, "rating": 5}
    assert (summaries.groupby("doc")["worker_id"].nunique() == 4).all()
    assert dialogue["participant"].nunique() == 10 and 2 * len(dialogue) == 720
    pairs = ob.datasets.preferences()
    assert len(pairs) == 240 and set(pairs["winner"]) == {"small", "medium", "large", "tie"}
    assert {name: text.count(str(len(getattr(ob.datasets, name)()))) for name, text in ob.datasets.STUDIES.items()} == {
        "summaries": 1, "judged": 1, "dialogue": 0, "preferences": 1,
    }  # fmt: skip


@pytest.mark.slow
def test_the_analyses_find_the_truth() -> None:
    """Human is best and worker w08 strict; retrieval is least relevant; small loses."""
    best = ob.compare(ob.datasets.summaries(), engine="fast")
    assert best.ranking["system"][0].as_py() == "human"
    relevance = ob.compare(ob.datasets.dialogue(), engine="fast").rows("ranking", "relevance")
    assert relevance[-1]["system"] == "retrieval"
    assert ob.compare(ob.datasets.preferences(), engine="fast").ranking["system"].to_pylist()[-1] == "small"
    raters = ob.reliability.analyse(ob.reading.read(ob.datasets.summaries()).table).raters.to_pylist()
    assert min(raters, key=lambda row: row["leniency"])["participant"] == "w08"


def test_the_command_writes_all_files_and_says_what_is_next(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["examples", str(tmp_path / "new")]) == 0
    said = capsys.readouterr().out
    files = {path.name for path in (tmp_path / "new").iterdir()}
    assert files >= {"summaries.csv", "wide.csv", "two_criteria.xlsx", "qualtrics.csv", "texts.csv"}
    assert len(files) == 14
    assert all(name in said for name in files)
    assert f"Next: ordbridge compare {tmp_path / 'new' / 'summaries.csv'}" in said
    (tmp_path / "file").write_text("x", encoding="utf-8")
    assert main(["examples", str(tmp_path / "file")]) == 2
    assert "is a file; name a folder" in capsys.readouterr().err


def test_without_openpyxl_the_workbook_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("ordbridge.datasets.studies.find_spec", lambda name: None)
    assert main(["examples", str(tmp_path)]) == 0
    assert not (tmp_path / "two_criteria.xlsx").exists()
    assert "needs openpyxl" in capsys.readouterr().out


def test_an_unknown_study_is_named() -> None:
    with pytest.raises(ob.InputError, match="no dataset 'wine'; there are summaries, judged, dialogue, preferences"):
        ob.datasets.path("wine")


def test_a_judge_among_the_raters_is_said_before_people_believe_it() -> None:
    everything = ob.compare(ob.datasets.judged(), engine="fast")
    (said,) = [one for one in everything.findings if one.code == "judge-among-raters"]
    assert said.severity == "warning" and "(gpt)" in said.text and "kind == human" in said.text
    people = ob.datasets.judged().query("kind == 'human'")
    assert not ob.results.has(ob.compare(people, engine="fast").findings, "judge-among-raters")
