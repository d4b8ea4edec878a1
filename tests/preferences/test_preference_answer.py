"""The answer: win rates for new raters and items, tests, checks, and the real files from the bare command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from simulated_study import study

import ordbridge as ob
from ordbridge.preferences import PairTable, PreferenceComparison, compare_preferences
from ordbridge.preferences.consistency import agreement, circular_triads, intransitivity, looks_ranked
from ordbridge.preferences.win_rates import WinRates
from ordbridge.results.finding import has

REAL = {  # file: criterion -> systems from best to worst, from the README of the files
    "jfleg_pairwise.csv": {None: ["turk", "NMT", "NUS", "AMU", "CAMB", "orig"]},
    "twostage_human_eval.csv": {None: ["claude-v1", "gpt-3.5-turbo", "vicuna-13b-v1.3"]},
    "wmt16it_eng-bul.csv": {
        None: ["it-test2016.qtl-Moses.4395.en-bg", "it-test2016.qtl-DeepFMoses.4477.en-bg"],
    },
    "asset_pairwise.csv": {
        "simplicity": ["asset", "turkcorpus", "hsplit"],
        "fluency": ["asset", "turkcorpus", "hsplit"],
        "meaning": ["hsplit", "turkcorpus", "asset"],
    },
}


@pytest.fixture(scope="module")
def found() -> PreferenceComparison:
    return compare_preferences(study(), engine="fast")


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
def test_real_files_from_the_bare_function(name: str, shared: Path) -> None:
    path = shared / "data" / "real" / name
    if not path.exists():
        pytest.skip("the real files are not here")
    result = ob.compare(path, engine="fast")
    assert isinstance(result, PreferenceComparison)
    for criterion, systems in REAL[name].items():
        assert [row["system"] for row in result.rows("ranking", criterion)] == systems


@pytest.mark.slow
@pytest.mark.needs_r
def test_real_file_from_the_bare_command(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from ordbridge.cli import main

    path = shared / "data" / "real" / "jfleg_pairwise.csv"
    if not path.exists():
        pytest.skip("the real files are not here")
    assert main(["compare", str(path), "--json", "-", "--quiet"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["answer"].startswith("turk is preferred most: it wins 83% against the others")
    differ = [row["p_adjusted"] < 0.05 for row in told["tables"]["pairs"]]
    assert sum(differ) == 11 and len(differ) == 15  # as a bootstrap of the items says


def test_win_rates_are_those_of_a_simulation() -> None:
    rates = WinRates(spread=1.0, tie=0.4, position=0.3)
    rng = np.random.default_rng(1)
    order = np.where(rng.random(400_000) < 0.5, 1, -1)
    latent = 0.5 + 0.3 * order + rng.normal(size=order.size) + rng.logistic(size=order.size)
    assert float(rates.win(0.5)) == pytest.approx((latent > 0.4).mean(), abs=0.003)
    assert float(rates.ties(0.5)) == pytest.approx((abs(latent) < 0.4).mean(), abs=0.003)
    assert float(rates.points(0.5)) == pytest.approx(float(rates.win(0.5) + rates.ties(0.5) / 2))
    assert float(rates.points(0.5) + rates.points(-0.5)) == pytest.approx(1.0)


def test_probabilities_add_up(found: PreferenceComparison) -> None:
    for row in found.pairs.to_pylist():
        assert row["win"] + row["tie"] / 2 == pytest.approx(row["win_rate"])
        assert row["win_rate"] >= 0.5 and row["conf_low"] < row["win_rate"] < row["conf_high"]


@pytest.mark.slow
def test_intervals_exclude_a_half_exactly_where_pairs_differ() -> None:
    both = set()
    for seed in range(6):
        for row in compare_preferences(study(seed, raters=8), engine="fast").pairs.to_pylist():
            differs = row["p_adjusted"] < 0.05
            assert differs == (row["conf_low"] > 0.5)
            both.add(differs)
    assert both == {True, False}


def test_letters_and_ranks_follow_from_the_pairs(found: PreferenceComparison) -> None:
    rows = {row["system"]: row for row in found.ranking.to_pylist()}
    for pair in found.pairs.to_pylist():
        share = set(rows[pair["system_a"]]["letters"]) & set(rows[pair["system_b"]]["letters"])
        assert bool(share) == (pair["p_adjusted"] >= 0.05)
    for row in rows.values():
        assert row["rank_low"] <= row["rank"] <= row["rank_high"]


def test_sentences_are_short_and_say_for_whom(found: PreferenceComparison) -> None:
    assert "for new raters and items" in found.answer
    for sentence in (
        *found.answer.replace("\n", " ").split(". "),
        *found.sentences,
        *(one.text for one in found.findings),
    ):
        assert len(sentence.split()) <= 25, sentence


def test_raters_widen_the_intervals_of_a_plain_analysis() -> None:
    table = study(5, raters=5, items=30, strength=(0.0, 0.5), sd=0.9)
    [row] = compare_preferences(table, engine="fast").pairs.to_pylist()
    assert row["df"] < 60 and row["p_value"] > 3 * row["naive_p_value"]


@pytest.mark.slow
def test_every_surface(found: PreferenceComparison, tmp_path: Path) -> None:
    head = found.answer.splitlines()[0]
    assert head in found.markdown() and head in found.to_dict()["answer"]
    page = found.report(tmp_path / "r.html").read_text()
    assert "win rate" in page.lower() and "Satterthwaite" in page
    assert "tabular" in found.latex() and "preferred most" in str(found)
    assert {name: len(found.figures()[name].axes) for name in found.figures()} == {"win_rates": 1, "pairs": 1}


def test_criteria_are_one_family() -> None:
    one = study(2)
    twice = PairTable(
        one.systems, *(np.concatenate([x, x]) for x in (one.first, one.second, one.y)), 3,
        *(np.concatenate([x, x]) for x in (one.rater, one.item)), one.raters, one.items,
        np.repeat([0, 1], one.n), ("clear", "short"),
    )  # fmt: skip
    both = compare_preferences(twice, engine="fast").pairs["p_adjusted"].to_pylist()
    each = compare_preferences(twice, engine="fast", correct="none").pairs["p_adjusted"].to_pylist()
    assert len(both) == 6 and all(a >= b - 1e-9 for a, b in zip(both, each, strict=True)) and both != each


def circle(strong: bool, n: int = 60) -> PairTable:
    """A beats B, B beats C, C beats A in 70 %; or all are equal."""
    rng = np.random.default_rng(4)
    a, b = np.tile([0, 1, 2], n), np.tile([1, 2, 0], n)
    y = (rng.random(3 * n) < (0.7 if strong else 0.5)).astype(int)
    flip = rng.random(3 * n) < 0.5
    return PairTable(("A", "B", "C"), np.where(flip, b, a), np.where(flip, a, b), np.where(flip, 1 - y, y), 2)


def test_circles_are_found() -> None:
    found = intransitivity(circle(True), ())
    assert found is not None and found["df"] == 1 and found["p_value"] < 1e-4
    assert circular_triads(circle(True)) == [("A", "B", "C")]
    assert has(compare_preferences(circle(True), engine="fast").findings, "intransitive")
    even = intransitivity(circle(False), ())
    assert even is not None and even["p_value"] > 0.01


def test_intransitivity_is_the_likelihood_ratio_of_one_column_per_pair(pairs: pd.DataFrame) -> None:
    """The saturated model as a clm with a signed column for each of six pairs."""
    table = ob.preferences.pair_table(pairs, first="first", second="second", outcome="y3")
    got = intransitivity(table, ())
    low, high = np.minimum(pairs["first"], pairs["second"]), np.maximum(pairs["first"], pairs["second"])
    frame = pairs.copy()
    names = []
    for pair in sorted(set(low + high)):
        frame[f"p{pair}"] = np.where(low + high == pair, np.where(pairs["first"] == low, 1.0, -1.0), 0.0)
        names.append(f"p{pair}")
    full = ob.clm(f"y3 ~ {' + '.join(names)}", frame, threshold="symmetric2", engine="fast")
    assert got is not None and got["df"] == 3
    assert got["statistic"] == pytest.approx(2 * (full.loglik + 371.9936012), abs=1e-4)


def test_agreement_on_the_same_pair() -> None:
    # item 1: two of three agree (1 of 3 pairs of raters), whichever way round the pair is written; item 2: one rater
    table = PairTable(
        ("A", "B"), np.array([0, 1, 0, 0]), np.array([1, 0, 1, 1]), np.array([2, 0, 1, 2]), 3,
        np.array([0, 1, 2, 0]), np.array([0, 0, 0, 1]), ("x", "y", "z"), ("1", "2"),
    )  # fmt: skip
    got = agreement(table)
    assert got is not None and got["agreement"] == pytest.approx(1 / 3) and got["cells"] == 1
    assert got["chance"] == pytest.approx((2 / 3) ** 2 / 2 + (1 / 3) ** 2)


def test_pairs_from_rankings_are_recognised() -> None:
    rng = np.random.default_rng(2)
    rows = []
    for rater in range(5):
        for item in range(12):
            ranks = rng.permutation(4)
            rows += [(rater, item, a, b, 1 if ranks[a] < ranks[b] else 0) for a in range(4) for b in range(a + 1, 4)]
    rater, item, a, b, y = np.array(rows).T
    names = [tuple(map(str, range(n))) for n in (4, 5, 12)]
    ranked = PairTable(names[0], a, b, y, 2, rater, item, names[1], names[2])
    assert looks_ranked(ranked) and not looks_ranked(study())
    assert compare_preferences(ranked, engine="fast").models["model"].to_pylist() == ["Plackett–Luce model"]
    free = PairTable(names[0], a, b, rng.integers(0, 2, len(y)), 2, rater, item, names[1], names[2])
    assert not looks_ranked(free)


def test_repeated_rows_are_said() -> None:
    one = study(1)
    twice = one.rows(np.append(np.arange(one.n), [0, 1, 2]))
    found = compare_preferences(twice, engine="fast")
    [said] = [f for f in found.findings if f.code == "repeated-comparisons"]
    assert said.values["n"] >= 3


def test_position_is_free_only_where_both_orders_were_shown() -> None:
    one = study(1)
    same = np.minimum(one.first, one.second), np.maximum(one.first, one.second)
    y = np.where(one.first > one.second, 2 - one.y, one.y)
    fixed = PairTable(one.systems, *same, y, 3, one.rater, one.item, one.raters, one.items)
    assert has(compare_preferences(fixed, engine="fast").findings, "position-unknown")
    assert "shown first" in compare_preferences(one, engine="fast").checks["check"].to_pylist()[0]


def test_options_of_ratings_are_refused() -> None:
    table = {
        "model_a": ["x", "x", "y"] * 4,
        "model_b": ["y", "y", "x"] * 4,
        "winner": ["model_a", "model_b", "tie"] * 4,
    }
    for name, value in {"adjust": "tukey", "reference": "x", "formula": "a ~ b", "estimand": "latent"}.items():
        with pytest.raises(ob.InputError, match=f"{name}= is for ratings"):
            ob.compare(table, engine="fast", **{name: value})
    assert ob.compare(table, engine="fast").kind == "preferences"


@pytest.mark.needs_r
def test_naive_p_values_of_arenas_are_native_and_those_of_r(monkeypatch: pytest.MonkeyPatch) -> None:
    """R needs a dense matrix of comparisons × systems, which a million votes on 200 systems do not leave room for."""
    from ordbridge.preferences import analysis

    table = study(1)
    by_r = analysis.analyse(table, None, "logit", "r")
    monkeypatch.setattr(analysis, "MOST_CELLS", 0)
    native = analysis.analyse(table, None, "logit", "r")
    assert (by_r.engine, native.engine) == ("r", "fast")
    assert native.naive_p == pytest.approx(by_r.naive_p, rel=1e-4, abs=1e-9)


@pytest.mark.parametrize("sd", [0.0, 0.6])
def test_a_spread_that_cannot_be_estimated_does_not_pull_win_rates_to_one_half(sd: float) -> None:
    """Many systems, few comparisons of each, no rater who sees a system often: the SD had run to 5 and above."""
    from ordbridge.preferences.analysis import analyse
    from ordbridge.preferences.fitting import restricted

    rng = np.random.default_rng(0)
    S, R, n = 114, 22, 1200
    said, slopes, wild = [], [], []
    for _ in range(3):
        strength, own = rng.normal(0, 1, S), rng.normal(0, sd, (R, S))
        a, r = rng.integers(0, S, n), np.arange(n) % R
        b = (a + 1 + rng.integers(0, S - 1, n)) % S
        y = (strength[a] - strength[b] + own[r, a] - own[r, b] + rng.logistic(size=n) > 0).astype(int)
        names = [tuple(f"{k:03d}" for k in range(count)) for count in (S, R)]
        table = PairTable(names[0], a, b, y, 2, r, None, names[1])
        found = analyse(table, None, "logit", "fast", checks=False)
        left = strength[list(found.core)]
        rates = WinRates(np.sqrt(2) * sd, 0.0)
        true = [rates.points(np.delete(one - left, k)).mean() for k, one in enumerate(left)]
        slopes.append(np.polyfit(true, [row[0] for row in found.system_rates], 1)[0])
        said.append("preferences-runaway" in [one.code for one in found.findings])
        inner = table.rows(np.isin(a, found.core) & np.isin(b, found.core))
        wild.append(restricted(inner.coded(("rater",))).sd[0] > 3)
        assert found.fit is not None and found.fit.sd[0] < 1.5
    assert np.mean(slopes) > 0.85
    assert said == wild and any(said)
