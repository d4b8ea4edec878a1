"""The commands about fits, as a user types them."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

import ordbridge as ob
from ordbridge.cli import main

FORMULA = "rating ~ system + (1 | participant)"


@pytest.fixture
def file(ratings: pd.DataFrame, tmp_path: Path) -> str:
    ratings.to_csv(tmp_path / "ratings.csv", index=False)
    return str(tmp_path / "ratings.csv")


def test_a_readable_table(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["fit", file, "--model", "clmm", "--formula", FORMULA, "--link", "probit", "--contrasts", "system"]) == 0
    )
    shown = capsys.readouterr().out
    assert "Cumulative Link Mixed Model" in shown and "systemB" in shown and "A - B" in shown


def test_json_and_parquet(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "fit.parquet"
    assert main(["fit", file, "--model", "lmer", "--formula", FORMULA, "--no-REML", "--json", "--out", str(out)]) == 0
    found = json.loads(capsys.readouterr().out)
    fit = ob.lmer(FORMULA, file, REML=False)
    assert found["tidy"] == fit.tidy().to_pylist()
    assert found["glance"][0]["n_groups"] == {"participant": 12}
    assert pq.read_table(out).equals(fit.tidy())


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["--model", "clm", "--formula", "rating ~ sistem"], 2, "there is no column 'sistem'"),
        (["--model", "lm", "--formula", "rating ~ system", "--link", "probit"], 2, "--link is not an option of lm"),
        (["--model", "lm", "--formula", "rating ~ system", "--out", "x.xlsx"], 2, "name a file that ends in .csv"),
    ],
)
def test_complaints_are_one_line(
    file: str, arguments: list[str], code: int, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fit", file, *arguments]) == code
    said = capsys.readouterr().err
    assert sentence in said and said.count("\n") == 1


def test_timeout_is_a_failure(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cell = str(shared / "reference" / "cells" / "cell6.csv")
    formula = "y ~ model + (model | participant) + (model | item)"
    assert main(["fit", cell, "--model", "clmm", "--formula", formula, "--timeout", "1"]) == 1
    assert "ran longer than 1 seconds" in capsys.readouterr().err


@pytest.mark.parametrize(("compiled", "engine", "said"), [(False, "fast", 1), (True, "fast", 0), (False, "ordinal", 0)])
def test_compiling_is_announced(
    file: str,
    compiled: bool,
    engine: str,
    said: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("ordbridge.fast.is_compiled", lambda: compiled)
    monkeypatch.setattr("ordbridge.cli.talk.PATIENCE", 0.0)
    assert main(["fit", file, "--model", "lm", "--formula", "rating ~ system", "--engine", engine]) == 0
    assert capsys.readouterr().err.count("compiles itself now") == said


def test_bad_input_is_refused_before_compiling_is_spoken_of(
    file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("ordbridge.fast.is_compiled", lambda: False)
    assert main(["fit", file, "--model", "clmm", "--formula", "rating ~ sistem", "--engine", "fast"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
