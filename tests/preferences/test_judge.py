"""A judge's choices beside people's: bias of position and length, the alternative annotator test, win rates."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest

import ordbridge as ob
from ordbridge.bridge import rscript
from ordbridge.cli import main
from ordbridge.preferences import judge_preferences

STRENGTH = {"A": 0.0, "B": 0.8}
COLUMNS = {"first": "first", "second": "second", "outcome": "outcome", "rater": "rater", "item": "item"}


def choices(position: float = 0.0, length: float = 0.0, random: bool = False) -> dict[str, list[Any]]:
    """Return the choices of six people on 60 items, and of a judge on 300 in both orders."""
    rng = np.random.default_rng(3)
    rows = []
    for rater, items in [(f"p{k}", range(60)) for k in range(6)] + [("gpt", range(300))]:
        for item in items:
            for order in ("AB", "BA") if rater == "gpt" else (rng.choice(["AB", "BA"]),):
                a, b = order
                lengths = rng.integers(50, 150, 2)
                eta = 0.0 if random and rater == "gpt" else STRENGTH[a] - STRENGTH[b]
                if rater == "gpt":
                    eta += position + length * (lengths[0] - lengths[1]) / 40
                won = a if eta + rng.logistic() > 0 else b
                rows.append((rater, f"i{item}", a, b, won, int(lengths[0]), int(lengths[1])))
    names = ("rater", "item", "first", "second", "outcome", "length_a", "length_b")
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def test_a_judge_like_people_passes_and_helps() -> None:
    found = judge_preferences(choices(), "gpt", **COLUMNS)
    assert found.test is not None and found.test.passed
    assert found.rates is not None
    [row] = found.rates.means.to_pylist()
    assert row["system"] == "A – B" and row["n_judge"] == 240
    assert row["estimate"] == pytest.approx(1 - 1 / (1 + np.exp(-0.8)), abs=0.08)
    assert not [one for one in found.bias.to_pylist() if one["p_value"] < 0.01]


def test_a_judge_that_guesses_is_worse() -> None:
    good, bad = (judge_preferences(choices(random=wrong), "gpt", **COLUMNS).test for wrong in (False, True))
    assert good is not None and bad is not None
    assert bad.advantage_probability < good.advantage_probability


def test_bias_of_position_and_length_is_found() -> None:
    found = judge_preferences(choices(0.9, 0.8), "gpt", lengths=("length_a", "length_b"), **COLUMNS)
    bias = {row["bias"]: row for row in found.bias.to_pylist()}
    assert bias["position"]["estimate"] == pytest.approx(0.8, abs=0.3)
    assert bias["length"]["estimate"] == pytest.approx(0.8, abs=0.3)
    assert "gpt prefers the first text (p < .001)." in found.answer and "longer text" in found.answer
    assert "Bias of the judge" in str(found)


def test_a_judge_that_always_takes_the_first() -> None:
    votes = choices()
    votes["outcome"] = [a if rater == "gpt" else won for rater, a, won in
                        zip(votes["rater"], votes["first"], votes["outcome"], strict=True)]  # fmt: skip
    found = judge_preferences(votes, "gpt", **COLUMNS)
    [row] = found.bias.to_pylist()
    assert row["estimate"] is None and row["share"] == 1.0 and row["p_value"] < 1e-9
    assert "gpt prefers the first text" in found.answer


def test_command(tmp_path, capsys) -> None:
    votes = choices(0.9)
    called = {"A": "alpha", "B": "beta"}
    systems = {new: [called[one] for one in votes[old]] for new, old in
               (("system_a", "first"), ("system_b", "second"), ("winner", "outcome"))}  # fmt: skip
    table = {"rater": votes["rater"], "item": votes["item"], **systems}
    file = tmp_path / "votes.csv"
    pacsv.write_csv(pa.table(table), file)
    assert main(["judges", str(file), "--judge", "gpt"]) == 0
    assert "gpt prefers the first text" in capsys.readouterr().out
    assert main(["judges", str(file)]) == 2
    assert "--judge" in capsys.readouterr().err


def written(votes: dict[str, list[Any]], file: Any) -> str:
    """Write choices of systems whose names are no sides, with texts as long as was said."""
    called = {"A": "alpha", "B": "beta"}
    systems = {new: [called[one] for one in votes[old]] for new, old in
               (("system_a", "first"), ("system_b", "second"), ("winner", "outcome"))}  # fmt: skip
    lengths = {name: votes[name] for name in ("length_a", "length_b")}
    texts = {name.replace("length", "text"): ["x" * n for n in lengths[name]] for name in lengths}
    pacsv.write_csv(pa.table({"rater": votes["rater"], "item": votes["item"], **systems, **lengths, **texts}), file)
    return str(file)


@pytest.mark.needs_r
def test_length_on_the_command_line(tmp_path, capsys) -> None:
    """Of columns of lengths or of texts; the estimate is that of R's logistic regression without an intercept."""
    votes = choices(length=0.8)
    file = written(votes, tmp_path / "votes.csv")
    estimates = []
    for names in (("length_a", "length_b"), ("text_a", "text_b")):
        out = tmp_path / "answer.json"
        assert main(["judges", file, "--judge", "gpt", "--lengths", *names, "--json", str(out)]) == 0
        said = capsys.readouterr().out
        assert "gpt prefers the longer text (p < .001)." in said
        assert ("characters of text_a, text_b" in said) == (names[0] == "text_a")
        bias = json.loads(out.read_text())["tables"]["bias"]
        estimates.append(next((row["estimate"], row["std_error"]) for row in bias if row["bias"] == "length"))
    assert estimates[0] == estimates[1]
    own = np.array(votes["rater"]) == "gpt"
    extra = np.array(votes["length_a"], dtype=float) - np.array(votes["length_b"])
    first, won = (np.array(votes[name])[own] for name in ("first", "outcome"))
    r = {"won": won == first, "b": np.where(first == "B", 1, -1), "extra": (extra / extra.std())[own]}
    pacsv.write_csv(pa.table({name: np.asarray(column, float) for name, column in r.items()}), tmp_path / "r.csv")
    (tmp_path / "r.R").write_text(
        f'm <- glm(won ~ 0 + b + extra, binomial, read.csv("{tmp_path / "r.csv"}"), epsilon = 1e-14)\n'
        'cat(format(coef(summary(m))["extra", 1:2], digits = 12))'
    )
    estimate, error = map(float, rscript.run(tmp_path / "r.R").split())
    assert estimates[0] == pytest.approx((estimate, error), abs=2e-6)


def test_lengths_that_cannot_be_used(tmp_path, capsys) -> None:
    file = written(choices(), tmp_path / "votes.csv")
    assert main(["judges", file, "--judge", "gpt", "--lengths", "length_a", "words_b"]) == 2
    assert "no column is called 'words_b'" in capsys.readouterr().err
    assert main(["judges", file, "--judge", "gpt", "--lengths", "length_a", "length_a"]) == 2
    assert "is the same in all rows" in capsys.readouterr().err
    votes = choices()
    votes["length_a"][5] = None
    with pytest.raises(ob.InputError, match="are empty in 1 places"):
        judge_preferences(votes, "gpt", lengths=("length_a", "length_b"), **COLUMNS)


def test_lengths_of_rows_with_an_answer() -> None:
    """Rows without an answer are left out together with their lengths."""
    votes = choices(length=0.8)
    holes = {name: [*column] for name, column in votes.items()}
    for name, more in (("rater", "gpt"), ("item", "i0"), ("first", "A"), ("second", "B"), ("outcome", None),
                       ("length_a", 9999), ("length_b", 1)):  # fmt: skip
        holes[name].insert(0, more)
    both = [judge_preferences(one, "gpt", lengths=("length_a", "length_b"), **COLUMNS).bias for one in (votes, holes)]
    assert both[0].equals(both[1])


def test_questions_without_an_answer() -> None:
    with pytest.raises(ob.InputError, match="no rater is called 'claude'"):
        judge_preferences(choices(), "claude", **COLUMNS)
    with pytest.raises(ob.InputError, match="give rater= and item="):
        judge_preferences(choices(), "gpt", first="first", second="second", outcome="outcome", item="item")
