"""The commands about fits, as a user types them."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

import ordbridge as ob
from ordbridge.cli import exits, main

FORMULA = "rating ~ system + (1 | participant)"


@pytest.fixture
def file(ratings: pd.DataFrame, tmp_path: Path) -> str:
    ratings.to_csv(tmp_path / "ratings.csv", index=False)
    return str(tmp_path / "ratings.csv")


@pytest.mark.needs_r
def test_a_readable_table(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(
            [
                "fit",
                file,
                "--model",
                "clmm",
                "--formula",
                FORMULA,
                "--link",
                "probit",
                "--contrasts",
                "system",
                "--details",
            ]
        )
        == 0
    )
    shown = capsys.readouterr().out
    assert "Cumulative Link Mixed Model" in shown and "systemB" in shown and "difference" in shown


@pytest.mark.needs_r
def test_json_and_parquet(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "fit.parquet"
    assert (
        main(["fit", file, "--model", "lmer", "--formula", FORMULA, "--no-REML", "--json", "-", "--out", str(out)]) == 0
    )
    found = json.loads(capsys.readouterr().out)["tables"]
    fit = ob.lmer(FORMULA, file, REML=False)
    assert found["tidy"] == fit.tidy().to_pylist()
    assert found["glance"][0]["n_groups"] == {"participant": 12}
    assert pq.read_table(out).equals(fit.tidy())


@pytest.mark.needs_r
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


def test_scale_nominal_weights_offset_and_assumptions(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--model", "clm", "--formula", "rating ~ system", "--engine", "fast", "--weights", "length"]
    beyond = ["--scale", "~ system", "--nominal", "~ item", "--offset", "length"]
    assert main(["fit", file, *asked, "--assumptions", "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)["tables"]
    fit = ob.clm("rating ~ system", file, weights="length", engine="fast")
    assert found["nominal_test"] == fit.assumptions().nominal_test.to_pylist()
    assert found["glance"][0]["weights"] == "length"
    assert found["scale_test"] and found["nominal_test"] and found["thresholds"]
    assert main(["fit", file, *asked, *beyond[:2], *beyond[4:], "--assumptions", "--details"]) == 0
    shown = capsys.readouterr().out
    assert "log-scale coefficients" in shown and 'Does "better" mean the same' in shown and "offset: length" in shown
    assert main(["fit", file, *asked, "--nominal", "~ sistem"]) == 2
    assert "nominal, position 3: there is no column 'sistem'" in capsys.readouterr().err


@pytest.mark.needs_r
def test_timeout_is_a_failure(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cell = str(shared / "reference" / "cells" / "cell6.csv")
    formula = "y ~ model + (model | participant) + (model | item)"
    assert main(["fit", cell, "--model", "clmm", "--formula", formula, "--timeout", "1"]) == 1
    assert "ran longer than 1 seconds" in capsys.readouterr().err


@pytest.fixture
def three(tmp_path: Path) -> Path:
    """Three systems, called A, B, C and 1, 2, 3, on two criteria."""
    import numpy as np

    random = np.random.default_rng(4)
    p, i, s, c = (g.ravel() for g in np.meshgrid(range(8), range(6), range(3), range(2), indexing="ij"))
    latent = np.array([0.0, 0.45, 1.2])[s] + random.normal(0, 0.5, 8)[p] + random.normal(0, 0.5, 6)[i]
    table = pd.DataFrame(
        {
            "participant": [f"p{k}" for k in p],
            "item": [f"i{k}" for k in i],
            "system": np.array(list("ABC"))[s],
            "method": s + 1,
            "criterion": np.array(["fluency", "adequacy"])[c],
            "rating": 1 + (latent + random.normal(size=latent.size) > np.array([[-0.5], [0.5], [1.5]])).sum(axis=0),
        }
    )
    table.to_csv(tmp_path / "three.csv", index=False)
    return tmp_path / "three.csv"


@pytest.mark.needs_r
def test_contrasts_are_in_every_output_with_corrected_p_values(
    three: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {name: tmp_path / f"fit.{name}" for name in ("html", "tex", "md", "csv", "png")}
    options = ["--criterion", "fluency", "--contrasts", "system", "--engine", "fast", "--html", str(files["html"])]
    options += ["--latex", str(files["tex"]), "--markdown", str(files["md"]), "--out", str(files["csv"])]
    options += ["--plot", str(files["png"])]
    assert main(["fit", str(three), "--model", "clm", "--formula", "rating ~ system", *options]) == 0
    shown = capsys.readouterr().out
    data = pd.read_csv(three)
    fit = ob.clm("rating ~ system", data[data.criterion == "fluency"], engine="fast")
    rows = fit.contrasts("system").to_pylist()
    plain = fit.contrasts("system", adjust="none").to_pylist()
    assert any(row["p_adjusted"] > 1.5 * other["p_value"] for row, other in zip(rows, plain, strict=True))
    kept = pd.read_csv(tmp_path / "fit-contrasts.csv")
    assert kept["p_adjusted"].tolist() == pytest.approx([row["p_adjusted"] for row in rows])
    for name in ("html", "tex", "md"):
        text = files[name].read_text(encoding="utf-8")
        for row in rows:
            p = ".001" if row["p_adjusted"] < 0.001 else f"{row['p_adjusted']:.3f}".removeprefix("0")
            assert row["system_a"] in text and row["system_b"] in text and p in text
    html = files["html"].read_text(encoding="utf-8")
    differ = sum(row["p_adjusted"] < 0.05 for row in rows)
    assert differ == 3 and "(Holm)" in html
    assert files["png"].stat().st_size > 0 and f"wrote {tmp_path / 'fit-contrasts.csv'}" in shown


@pytest.mark.parametrize(
    ("formula", "options", "sentence"),
    [
        (
            "rating ~ system",
            [],
            "the column 'criterion' has 2 criteria (fluency, adequacy), which the formula would pool",
        ),
        ("rating ~ system", ["--criterion", "speed"], "there is no criterion 'speed'; the file has fluency, adequacy"),
        ("rating ~ system", ["--criterion", "kind=speed"], "there is no column 'kind'"),
        ("rating ~ method", ["--criterion", "all"], "are the values of 'method' (1, 2, 3) names?"),
    ],
)
def test_what_a_formula_may_not_mean_is_asked(
    three: Path, formula: str, options: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fit", str(three), "--model", "clm", "--engine", "fast", "--formula", formula, *options]) == 2
    said = capsys.readouterr().err
    assert sentence in said and said.count("\n") == 1


@pytest.mark.parametrize(
    ("formula", "options", "n"),
    [
        ("rating ~ system", ["--criterion", "fluency"], 144),
        ("rating ~ system", ["--criterion", "criterion=adequacy"], 144),
        ("rating ~ system", ["--criterion", "all"], 288),
        ("rating ~ system * criterion", [], 288),
        ("rating ~ factor(method)", ["--criterion", "all"], 288),
        ("rating ~ method", ["--criterion", "all", "--numeric", "method"], 288),
    ],
)
def test_answers_to_these_questions(
    three: Path, formula: str, options: list[str], n: int, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["fit", str(three), "--model", "clm", "--engine", "fast", "--formula", formula, *options, "--json", "-"]
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["tables"]["glance"][0]["n_obs"] == n


def test_no_answer_above_a_fit_that_did_not_converge(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """System B is always rated 3: the likelihood has no maximum."""
    file, report = tmp_path / "tiny.csv", tmp_path / "tiny.html"
    file.write_text("system,rating\n" + "A,1\nA,2\nA,3\nA,2\nB,3\nB,3\nB,3\n")
    words = [
        "fit",
        str(file),
        "--model",
        "clm",
        "--formula",
        "rating ~ system",
        "--engine",
        "fast",
        "--html",
        str(report),
    ]
    assert main(words) == exits.NOT_CONVERGED
    html = report.read_text(encoding="utf-8")
    assert "<h1>There is no answer: the fit did not converge.</h1>" in html
    assert "differ from 0" not in html and "<svg" not in html
    assert "--start fast" in html and "is always rated 3" in html
    assert "! The fit did not converge" in capsys.readouterr().out


@pytest.mark.needs_r
def test_r_can_start_at_the_native_optimum(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["fit", file, "--model", "clmm", "--formula", FORMULA, "--start", "fast", "--json", "-"]
    assert main(words) == 0
    found = json.loads(capsys.readouterr().out)["tables"]
    native = ob.clmm(FORMULA, file, engine="fast")
    assert found["glance"][0]["loglik"] == pytest.approx(native.estimates.loglik, abs=1e-2)
    assert main(["fit", file, "--model", "lm", "--formula", "rating ~ system", "--start", "fast"]) == 2
    assert "--start is not an option of lm" in capsys.readouterr().err


def test_words_of_a_known_scale_have_their_order_and_others_are_asked_about(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["Strongly disagree", "Agree", "Neutral", "Disagree", "Agree", "Strongly agree"]
    rows = [f"{'AB'[n % 2]},{words[(n + n // 6) % 6]}" for n in range(36)]
    (tmp_path / "x.csv").write_text("\n".join(["system,rating", *rows]), encoding="utf-8")
    command = ["fit", str(tmp_path / "x.csv"), "--model", "clm", "--formula", "rating ~ system", "--engine", "fast"]
    assert main(command) == 0
    assert "Strongly disagree < Disagree < Neutral" in capsys.readouterr().err
    other = (tmp_path / "x.csv").read_text(encoding="utf-8").replace("Agree", "zing").replace("Neutral", "meh")
    (tmp_path / "x.csv").write_text(other, encoding="utf-8")
    assert main(command) == 2
    assert "give --levels with these labels from low to high" in capsys.readouterr().err


def test_fit_says_what_concerns_its_model(
    ratings: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Few raters matter where they are a random effect, and a slider where it is taken for categories."""
    few, slider = tmp_path / "few.csv", tmp_path / "slider.csv"
    ratings[ratings.participant < sorted(ratings.participant.unique())[5]].to_csv(few, index=False)
    ratings.assign(rating=[18 * r + k % 9 for k, r in enumerate(ratings.rating)]).to_csv(slider, index=False)

    def said(file: Path, model: str, formula: str) -> str:
        assert main(["fit", str(file), "--model", model, "--formula", formula, "--engine", "fast"]) == 0
        return " ".join(capsys.readouterr().out.split())

    assert "5 raters only: conclusions about other raters are weak" in said(few, "clmm", FORMULA)
    assert "raters only" not in said(few, "clm", "rating ~ system")
    note = "different values, as from a slider. Fit a linear model (lmer), not an ordinal one."
    assert note in said(slider, "clm", "rating ~ system")
    assert note not in said(slider, "lmer", FORMULA)


@pytest.mark.needs_r
def test_contrasts_of_a_system_that_the_formula_makes_a_factor(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """``factor(system)`` is the system, so that ``--contrasts system`` compares its levels."""
    tables = []
    for formula in (FORMULA, FORMULA.replace("system", "factor(system)")):
        words = ["fit", file, "--model", "clmm", "--formula", formula, "--engine", "fast", "--contrasts", "system"]
        assert main([*words, "--json", "-"]) == 0
        tables.append(json.loads(capsys.readouterr().out)["tables"]["contrasts"])
    assert [row["system_a"] for row in tables[1]] == [row["system_a"] for row in tables[0]]
    assert tables[1][0]["p_value"] == pytest.approx(tables[0][0]["p_value"], rel=1e-8)
