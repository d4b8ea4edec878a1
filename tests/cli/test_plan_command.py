"""The command that plans a study."""

import re

import pyarrow.parquet as pq
import pytest

from ordbridge.cli import main
from ordbridge.design import counterbalanced
from ordbridge.reading.tables import write
from ordbridge.simulate import Truth, ratings

SMALL = ["--model", "lm", "--items", "20", "60", "120", "--ratings-per-text", "2", "3", "--texts-per-participant", "10"]
SMALL += ["--null-datasets", "100"]


@pytest.fixture
def truth(tmp_path):
    path = tmp_path / "truth.toml"
    Truth(effects=(0.5,), thresholds=(-1, 0, 1), item_sd=(0.2, 0.1)).to_toml(path)
    return str(path)


@pytest.mark.slow
def test_plan_shows_designs_and_a_sentence_and_draws(tmp_path, truth, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["plan", "--truth", truth, *SMALL, "--plot", "plan.svg", "--out", "plan.parquet", "--jobs", "1"]) == 0
    printed, progress = capsys.readouterr()
    assert "points above A (latent 0.5, B rated higher" in printed and "recommended" in printed
    assert "The test gives " in printed
    assert "datasets" in progress
    assert (tmp_path / "plan.svg").read_text().count("<svg") == 1
    table = pq.read_table(tmp_path / "plan.parquet")
    assert table.num_rows == 6
    (best,) = table.filter(table["recommended"]).to_pylist()
    assert (best["verdict"], best["size_n"]) == ("reaches", 100)
    assert f"Run {best['items']} items with {best['ratings_per_text']:g} ratings each: " in printed
    assert list((tmp_path / "runs" / "plans").glob("*/manifest.json"))


@pytest.mark.slow
def test_plan_with_the_preset(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    preset = ["--preset", "howcroft2021", "--variance", "low", "--effect", "0.62", "--texts-per-participant", "25"]
    assert (
        main(
            [
                "plan",
                *preset,
                "--items",
                "50",
                "--ratings-per-text",
                "3",
                "--max-per-design",
                "40",
                "--null-datasets",
                "40",
                "--jobs",
                "1",
                "--quiet",
            ]
        )
        == 0
    )
    printed, progress = capsys.readouterr()
    assert "50 items with 3 ratings each, 300 ratings by 12 raters." in " ".join(printed.splitlines()[:2])
    assert "vary as in howcroft2021, low" in printed
    assert progress == ""


@pytest.mark.slow
def test_plan_from_a_pilot_warns_once_and_shows_the_uncertainty(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    truth = Truth(effects=(0.9,), thresholds=(-1, 0, 1))
    write(ratings(counterbalanced(20, 2, texts_per_participant=10), truth, seed=1), "pilot.csv")
    few = ["--draws", "3", "--datasets", "400", "--max-per-design", "100", "--cost-rating", "0.1", "--jobs", "1"]
    assert main(["plan", "pilot.csv", *SMALL, *few]) == 0
    printed, said = capsys.readouterr()
    assert printed.count("! The effect is the one observed in the pilot") == 1 and "observed" not in said
    assert "! The pilot has 8 raters and 20 items" in printed
    assert re.search(r"Run \d+ items with \d ratings each: \d+(\.\d+)? for \d+ ratings", printed)  # with the price


@pytest.mark.slow
def test_plan_smallest_effect_with_three_systems(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Truth(effects=(0.2, 0.6), thresholds=(-1, 0, 1)).to_toml("three.toml")
    fixed = [
        "--model",
        "lm",
        "--items",
        "30",
        "--ratings-per-text",
        "2",
        "--texts-per-participant",
        "15",
        "--jobs",
        "1",
    ]
    asked = [
        "--effect",
        "smallest",
        "--test",
        "any",
        "--datasets",
        "500",
        "--max-per-design",
        "100",
        "--null-datasets",
        "0",
    ]
    assert main(["plan", "--truth", "three.toml", *fixed, *asked, "--quiet"]) == 0
    assert "The smallest effect found with 80% power is at most 0." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "one of FILE, --truth and --preset; none is given"),
        (["--preset", "howcroft2021", "--effect", "0.3"], "needs --variance: one of extra-low"),
        (["nowhere.csv"], "there is no file nowhere.csv"),
        (["--preset", "howcroft2021", "--variance", "low", "--effect", "much"], "--effect much is not a number"),
        (["--preset", "howcroft2021", "--variance", "low", "--test", "all"], "--test all is neither"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments, words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["plan", *arguments]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1


@pytest.mark.slow
def test_a_reliability_as_target(tmp_path, capsys):
    truth = Truth(effects=(0.5, 1.0), thresholds=(-1, 0, 1), item_sd=(1.0, 0.5, 0.5), participant_sd=(0.5, 0.0, 0.0))
    pilot = write(ratings(counterbalanced(12, 3, 3, 12), truth, seed=1), tmp_path / "pilot.csv")
    assert (
        main(["plan", str(pilot), "--reliability", "0.7", "--items", "20", "80", "--ratings-per-text", "2", "4"]) == 0
    )
    printed = capsys.readouterr().out
    assert "A system's mean has a reliability of ." in printed.replace("\n", " ")
    assert printed.count(" 80 ") >= 2
    assert main(["plan", "--reliability", "0.7"]) == 2
    assert "needs the ratings of a pilot" in capsys.readouterr().err
