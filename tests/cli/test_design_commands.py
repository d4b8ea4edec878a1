"""Assignment sheets and simulated ratings from the shell."""

import pyarrow.csv
import pytest

from ordbridge import design
from ordbridge.cli import main
from ordbridge.papers import howcroft2021
from ordbridge.simulate import Truth, ratings


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_an_assignment_sheet_is_written_in_the_order_of_rating(tmp_path, capsys):
    out = tmp_path / "design.csv"
    code, printed, _ = run(
        capsys, "design", "counterbalanced", "--items", 50, "--ratings-per-text", 3, "--texts-per-participant", 21,
        "--seed", 4, "--out", out,
    )  # fmt: skip
    assert code == 0
    sheet = pyarrow.csv.read_csv(out)
    assert sheet.column_names == ["participant", "order", "item", "system"]
    expected = design.counterbalanced(50, 3, texts_per_participant=21, seed=4)
    assert sheet.select(expected.column_names).to_pydict() == expected.to_pydict()
    assert "the last of 15 participants rates only 6" in printed
    assert "300 ratings: 15 participants, 50 items, 2 systems" in printed
    assert "nobody sees an item twice" in printed


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["latin-square", "--systems", 11, "--items", 22, "--raters", 22], design.latin_square(11, 22, 22)),
        (["crossed", "--items", 4, "--raters", 3, "--seed", 1], design.crossed(4, 3, seed=1)),
        (["howcroft2021", "--items", 50, "--ratings", 3], design.howcroft2021(50, 3)),
    ],
)
def test_every_kind_of_design(tmp_path, capsys, arguments, expected):
    out = tmp_path / "design.csv"
    code, *_ = run(capsys, "design", *arguments, "--out", out)
    assert code == 0
    columns = ["participant", "order", "item", "system"]
    by = [("participant", "ascending"), ("order", "ascending")]
    assert pyarrow.csv.read_csv(out).to_pydict() == expected.sort_by(by).select(columns).to_pydict()


def test_the_design_of_a_study_that_was_run(tmp_path, capsys):
    study = tmp_path / "study.csv"
    table = ratings(design.crossed(5, 3), howcroft2021.settings["low"], 1)
    pyarrow.csv.write_csv(table.rename_columns(["worker", "item", "system", "rating"]), study)
    code, printed, _ = run(capsys, "design", "from-ratings", study, "--participant", "worker")
    assert code == 0
    assert "in 15 of 15 cases a participant sees an item more than once, always under another system" in printed


def test_impossible_designs_are_refused_in_one_line(capsys):
    code, printed, error = run(capsys, "design", "counterbalanced", "--items", 20, "--ratings-per-text", 3)
    assert code == 2 and not printed
    assert error.count("\n") == 1 and "nearest possible: --texts-per-participant 20, or --items 25" in error


def test_simulate_from_a_preset(tmp_path, capsys):
    out, saved = tmp_path / "ratings.csv", tmp_path / "truth.toml"
    code, printed, _ = run(
        capsys, "simulate", "--preset", "howcroft2021", "--variance", "low", "--effect", 0.31, "--items", 50,
        "--ratings-per-text", 3, "--seed", 8, "--variant", "published", "--out", out, "--save-truth", saved,
    )  # fmt: skip
    assert code == 0 and "300 ratings written to" in printed and "difference" in printed
    truth = howcroft2021.settings["low"].shift(effect=0.31)
    expected = ratings(design.howcroft2021(50, 3), truth, 8, variant="published")
    assert pyarrow.csv.read_csv(out).to_pydict() == expected.to_pydict()
    assert Truth.from_toml(saved) == truth


def test_simulate_from_a_truth_and_a_design_of_ones_own(tmp_path, capsys):
    truth = Truth((0.5, 1.0), (-1, 0, 1), item_sd=(0.5, 0.2))
    truth.to_toml(tmp_path / "truth.toml")
    table = design.counterbalanced(12, 2, systems=3, texts_per_participant=6)
    pyarrow.csv.write_csv(table, tmp_path / "design.csv")
    out = tmp_path / "ratings.csv"
    code, *_ = run(
        capsys, "simulate", "--truth", tmp_path / "truth.toml", "--design", tmp_path / "design.csv", "--latent",
        "--effect", 0.5, 2, "--out", out,
    )  # fmt: skip
    assert code == 0
    found = pyarrow.csv.read_csv(out)
    assert found.column_names[-1] == "latent"
    assert found["rating"].to_pylist() == ratings(table, truth.shift(effect=(0.5, 2)), 0)["rating"].to_pylist()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["--preset", "howcroft2021", "--items", 50, "--ratings-per-text", 3],
            "needs --variance, one of: extra-low, low",
        ),
        (
            ["--preset", "howcroft2021", "--variance", "medium", "--items", 50, "--ratings-per-text", 3],
            "no setting 'medium'",
        ),
        (["--preset", "howcroft2021", "--variance", "low"], "say who rates what"),
        (["--truth", "nowhere.toml", "--design", "d.csv"], "there is no file nowhere.toml"),
    ],
)
def test_what_cannot_be_simulated_is_said_in_one_line(tmp_path, capsys, arguments, sentence):
    code, _, error = run(capsys, "simulate", *arguments, "--out", tmp_path / "ratings.csv")
    assert code == 2 and sentence in error and error.count("\n") == 1


def test_the_crossed_preset_of_card(tmp_path, capsys):
    out = tmp_path / "ratings.parquet"
    code, *_ = run(
        capsys,
        "simulate",
        "--preset",
        "card2020",
        "--variance",
        "high",
        "--items",
        5,
        "--ratings-per-text",
        3,
        "--out",
        out,
    )
    assert code == 0 and pyarrow.parquet.read_table(out).num_rows == 30
