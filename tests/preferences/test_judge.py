"""A judge's choices beside people's: bias of position and length, the alternative annotator test, win rates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest

import ordbridge as ob
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


def test_questions_without_an_answer() -> None:
    with pytest.raises(ob.InputError, match="no rater is called 'claude'"):
        judge_preferences(choices(), "claude", **COLUMNS)
    with pytest.raises(ob.InputError, match="give rater= and item="):
        judge_preferences(choices(), "gpt", first="first", second="second", outcome="outcome", item="item")
