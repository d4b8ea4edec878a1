"""The command judges, as typed."""

import json

import numpy as np
import pandas as pd
import pytest

from ordbridge.cli import main


@pytest.fixture
def ratings_file(tmp_path):
    rng = np.random.default_rng(1)
    rows = []
    for item in range(80):
        for system in "AB":
            quality = 3 + rng.normal()
            for who in ("P1", "P2", "P3", "gpt"):
                if who == "gpt" or item < 40:
                    rating = int(
                        np.clip(np.round(quality + 0.6 * rng.normal() + (who == "gpt" and system == "B")), 1, 5)
                    )
                    rows.append((f"I{item}", system, who, rating, "judge" if who == "gpt" else "human"))
    path = tmp_path / "ratings.csv"
    pd.DataFrame(rows, columns=["item", "system", "participant", "rating", "kind"]).to_csv(path, index=False)
    return str(path)


@pytest.mark.slow
def test_everything_about_a_judge(ratings_file, tmp_path, capsys):
    page, text = tmp_path / "report.html", tmp_path / "methods.md"
    code = main(["judges", ratings_file, "--judge", "gpt", "--epsilon", "0.1", "--cost-human", "0.5", "--cost-judge",
                 "0.01", "--html", str(page), "--markdown", str(text)])  # fmt: skip
    assert code == 0
    out = capsys.readouterr().out.replace("\n", " ")
    assert out.startswith("No: gpt fails the alternative annotator test (ε = 0.1): it wins against 0 of 3 people")
    assert "gpt agrees with people less than they agree with each other: .43 against .60" in out
    for said in (
        "the alternative annotator test (ε = 0.1)",
        "! The judge favours B by 0.53 points over the others (p < .001).",
        "A − B is",
        "120 human ratings per system, or 63 plus the judge on 266 texts, which saves 48%",
        "may not hold for other texts",
    ):
        assert said in out, said
    html = page.read_text(encoding="utf-8")
    for heading in (
        "Can gpt replace some raters?",
        "Can gpt stand in for a person?",
        "Where it fails",
        "What does the judge save?",
        "For the paper",
        "Calderon",
        "PPI++",
    ):
        assert heading in html, heading
    assert html.count("<figure ") == 1
    methods = text.read_text(encoding="utf-8")
    assert "prediction-powered inference" in methods
    assert "3 people gave 240 ratings of 80 texts, and gpt rated 160 texts, 80 of them alone." in methods


def test_json_files_of_the_alternative_annotator_test(tmp_path, capsys):
    rng = np.random.default_rng(2)
    words = np.array(["yes", "no", "partly"])
    true = rng.integers(0, 3, 50)
    people = {f"w{p}": {f"t{i}": str(words[t if rng.random() < 0.7 else rng.integers(3)]) for i, t in enumerate(true)}
              for p in range(3)}  # fmt: skip
    (tmp_path / "human.json").write_text(json.dumps(people))
    (tmp_path / "llm.json").write_text(json.dumps({"gpt": {f"t{i}": str(words[t]) for i, t in enumerate(true)}}))
    assert main(["judges", str(tmp_path / "human.json"), "--and", str(tmp_path / "llm.json"), "--epsilon", "0.1"]) == 0
    out = capsys.readouterr().out
    assert "gpt passes the alternative annotator test" in out
    assert "No means: the ratings are words without an order." in out


def test_a_judge_that_is_not_there(ratings_file, capsys):
    assert main(["judges", ratings_file, "--judge", "llama"]) == 2
    assert "there is no judge 'llama'; the table has gpt" in capsys.readouterr().err
