"""``ordbridge read`` and ``ordbridge check`` as they are typed, and the checks inside other commands."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import ordbridge as ob
from ordbridge.cli import main
from ordbridge.planning import Designs, PlannedAnalysis, Simulation


@pytest.fixture
def study() -> pd.DataFrame:
    design = ob.design.crossed(items=12, raters=12, systems=2, seed=1)
    truth = ob.simulate.Truth(
        effects=0.4, thresholds=(-1.5, -0.5, 0.5, 1.5), participant_sd=(0.4, 0.1), item_sd=(0.5, 0.1)
    )
    return ob.simulate.ratings(design, truth, seed=2).to_pandas()


def written(frame: pd.DataFrame, path: Path, **options: object) -> str:
    frame.to_csv(path, index=False, **options)
    return str(path)


def test_read_says_what_it_took_and_writes_one_row_per_rating(
    study: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wide = study.pivot(index=["item", "system"], columns="participant", values="rating").reset_index()
    out = tmp_path / "ratings.csv"
    assert main(["read", written(wide, tmp_path / "wide.csv", sep=";"), "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Read 288 ratings from wide.csv.\n")
    assert "Columns: participant: column names (P01, P02," in shown
    assert "Columns are separated by semicolons" in shown and f"wrote {out}" in shown
    again = ob.read(out)
    key = ["participant", "item", "system"]
    assert (
        again.to_pandas()
        .sort_values(key, ignore_index=True)[[*key, "rating"]]
        .equals(study.sort_values(key, ignore_index=True)[[*key, "rating"]])
    )


def test_questions_are_asked_in_the_words_of_the_command(
    study: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = study.assign(rating=study.rating.map({1: "no way", 2: "meh", 3: "so so", 4: "fine", 5: "wow"}))
    file = written(words, tmp_path / "words.csv")
    assert main(["read", file]) == 2
    said = capsys.readouterr().err
    assert said.startswith("ordbridge read: the ratings in column 'rating' are words whose order is not known: ")
    assert said.count("\n") == 1 and "--levels " in said and "'no way'" in said and "levels=" not in said
    assert (
        main(["read", file, "--levels", "no way", "meh", "so so", "fine", "wow", "--out", str(tmp_path / "x.csv")]) == 0
    )
    printed = capsys.readouterr()
    assert "no way < meh < so so < fine < wow" in printed.out and "give --levels when it is read" in printed.err


def test_check_returns_1_on_errors_only(
    study: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", written(study, tmp_path / "clean.csv")]) == 0
    assert "No problems found." in capsys.readouterr().out
    assert main(["check", written(study[study.participant < "P06"], tmp_path / "few.csv")]) == 0
    assert "! 5 raters only: conclusions about other raters are weak" in capsys.readouterr().out
    study.loc[4, "rating"] = 44
    assert main(["check", written(study, tmp_path / "slip.csv")]) == 1
    assert "! 1 rating outside the scale 1 to 5: 44 (row 6). Make codes" in capsys.readouterr().out
    assert main(["check", str(tmp_path / "slip.csv"), "--scale", "1", "100"]) == 0


def test_check_as_json_and_as_a_file(study: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study.loc[4, "rating"] = 44
    out = tmp_path / "checks.csv"
    file = written(study, tmp_path / "slip.csv")
    assert main(["check", file, "--json", "-", "--out", str(out)]) == 1
    printed = json.loads(capsys.readouterr().out)
    assert "participant: column 'participant'" in printed["counted"]
    (shown,) = printed["tables"]["checks"]
    assert shown.pop("remedy").endswith("with --scale.")
    assert shown.items() <= ob.check(file).table.to_pylist()[0].items()
    assert pd.read_csv(out)["code"].tolist() == ["outside-scale"]


def test_fit_warns_and_computes_the_same(
    study: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    formula = "rating ~ system + (1 | participant)"
    twice = pd.concat([study, study.iloc[:3]], ignore_index=True)
    file = written(twice, tmp_path / "x.csv")
    assert main(["fit", file, "--model", "clmm", "--formula", formula, "--engine", "fast", "--json", "-"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["findings"][0]["code"] == "duplicated-rows" and printed["findings"][0]["values"]["rows"] == [
        290,
        291,
        292,
    ]
    assert printed["tables"]["tidy"] == ob.clmm(formula, twice, engine="fast").tidy().to_pylist()
    assert (
        main(["fit", written(study, tmp_path / "y.csv"), "--model", "clmm", "--formula", formula, "--engine", "fast"])
        == 0
    )
    assert capsys.readouterr().err == ""


@pytest.mark.slow
def test_reliability_warns_too(study: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    renamed = study.rename(columns={"participant": "judge", "item": "doc"})
    renamed.loc[renamed.judge == "P03", "rating"] = 2
    file = written(renamed, tmp_path / "x.csv")
    assert main(["reliability", file, "--participant", "judge", "--item", "doc"]) == 0
    assert "! Participant 'P03' gave all texts the same rating" in capsys.readouterr().out


def test_a_plan_says_what_is_wrong_with_its_pilot(study: pd.DataFrame) -> None:
    study.loc[4, "rating"] = 44
    few = Simulation(max_per_design=10, null_datasets=0, draws=0)
    found = ob.plan(study, effect=0.3, analysis=PlannedAnalysis("lm"), designs=Designs(25, 2), simulation=few)
    (outside,) = (one for one in found.findings if one.severity == "error")
    assert "44 (row 5)" in outside.text and outside.text in str(found).replace("\n    ", " ")
