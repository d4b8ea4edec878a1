"""``ordbridge compare`` as it is typed: from a file to the table in a paper."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pandas as pd
import pytest

from ordbridge.cli import main
from ordbridge.comparison.result import TABLES


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import numpy as np

    random = np.random.default_rng(1)
    people, things = random.normal(0, 0.6, 12), random.normal(0, 0.6, 12)
    rows = [
        (
            f"p{p}",
            f"i{i}",
            system,
            1 + int(sum(quality + people[p] + things[i] + random.logistic() > np.array([-1, 0.5, 2]))),
        )
        for p in range(12)
        for i in range(12)
        for system, quality in (("base", 0.0), ("big", 1.5))
    ]
    path = tmp_path_factory.mktemp("compare") / "ratings.csv"
    pd.DataFrame(rows, columns=["participant", "item", "system", "rating"]).to_csv(path, index=False)
    return path


@pytest.mark.slow
def test_one_command_answers_and_writes_everything(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = {name: tmp_path / f"x.{name}" for name in ("html", "tex", "md", "png", "csv")}
    options = ["--html", "html", "--latex", "tex", "--markdown", "md", "--plot", "png", "--out", "csv"]
    words = [str(written[word]) if word in written else word for word in options]
    assert main(["compare", str(file), "--engine", "fast", *words]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.startswith("big is rated ") and "288 ratings" in shown and "cumulative link mixed model" in shown
    assert all(path.stat().st_size > 100 for path in written.values())
    assert main(["compare", str(file), "--engine", "fast", "--json", "-"]) == 0
    printed = json.loads(capsys.readouterr().out)
    row = printed["tables"]["pairs"][0]
    with written["csv"].open(encoding="utf-8") as kept:
        assert float(next(csv.DictReader(kept))["p_adjusted"]) == row["p_adjusted"]
    assert f"{row['difference']:.2f}" in written["md"].read_text() and f"{row['difference']:.2f}" in shown
    assert repr(row["p_adjusted"]) in written["html"].read_text()


@pytest.mark.slow
def test_all_tables_into_a_folder(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(file), "--engine", "fast", "--out", str(tmp_path / "all"), "--reference", "base"]) == 0
    names = {path.name for path in (tmp_path / "all").iterdir()}
    assert names == {f"{name}.csv" for name in (*TABLES, "findings")}
    assert "points higher than base" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--reference", "huge"], "--reference huge is not a system; the systems are 'base', 'big'"),
        (["--html", "no/such/folder/x.html"], "there is no folder no/such/folder"),
        (["--model", "clm", "--test", "t", "--estimand", "latent"], "--test t is for lm, lmer and clmm"),
        (["--draws", "2"], "--draws 2 must be an integer ≥ 19"),
    ],
)
def test_bad_input_is_one_line(file: Path, options: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(file), "--engine", "fast", *options]) == 2
    said = capsys.readouterr().err
    assert words in said and said.count("\n") == 1


def test_without_an_answer_there_is_json_and_exit_code_1(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    short = tmp_path / "short.csv"
    short.write_text("\n".join(file.read_text().splitlines()[:7]) + "\n")
    assert main(["compare", str(short), "--engine", "fast", "--json", "-", "--force", "--estimand", "latent"]) == 1
    printed = json.loads(capsys.readouterr().out)
    assert printed["tables"]["ranking"] == [] and printed["tables"]["pairs"] == []
    assert any("too few" in one["text"] for one in printed["findings"])
    report = tmp_path / "short.html"
    words = ["--engine", "fast", "--estimand", "latent", "--html", str(report)]
    assert main(["compare", str(short), *words]) == 1
    assert "<h1>There is no answer" in report.read_text()


@pytest.mark.needs_r
@pytest.mark.slow
def test_r_is_started_at_the_native_optimum_and_agrees_with_it(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers = []
    for engine in ("r", "fast"):
        assert main(["compare", str(file), "--engine", engine, "--json", "-"]) == 0
        captured = capsys.readouterr()
        answers.append(json.loads(captured.out))
        assert ("started-natively" in {one["code"] for one in answers[-1]["findings"]}) == (engine == "r")
    for by_r, native in zip(*(answer["tables"]["pairs"] for answer in answers), strict=True):
        assert by_r["difference"] == pytest.approx(native["difference"], rel=1e-3)
        assert by_r["std_error"] == pytest.approx(native["std_error"], rel=1e-3)
        # R's search for a linear model stops just before the boundary, where the degrees of freedom are other ones
        assert by_r["p_adjusted"] == pytest.approx(native["p_adjusted"], rel=0.2, abs=1e-9)
        assert by_r["latent_p_value"] == pytest.approx(native["latent_p_value"], rel=1e-2, abs=1e-9)
