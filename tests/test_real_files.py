"""Rating files exactly as their authors published them: read right, or asked about; never wrong in silence.

The files stand beside the project (``shared/data/real``, with their sources and right answers); shapes of the same
kinds as small files of our own are in ``tests/reading/test_shapes.py``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest

import ordbridge as ob
from ordbridge.errors import InputError
from ordbridge.reading.preferences import Preferences, PreferencesFound


@pytest.fixture(scope="module")
def real(shared: Path) -> Path:
    folder = shared / "data" / "real"
    if not folder.is_dir():
        pytest.skip("the real files are not there")
    return folder


def counts(ratings: ob.RatingTable) -> dict[str, int]:
    roles = [role for role in ("participant", "item", "system", "criterion") if role in ratings.table.column_names]
    return {"ratings": ratings.table.num_rows} | {role: len(ratings.table[role].unique()) for role in roles}


def means(ratings: ob.RatingTable, criterion: str | None = None) -> dict[str, float]:
    table = ratings.table
    if criterion is not None:
        table = table.filter(pc.equal(table["criterion"], criterion))
    by = table.select(["system", "rating"]).group_by("system").aggregate([("rating", "mean")])
    return dict(zip(by["system"].to_pylist(), by["rating_mean"].to_pylist(), strict=True))


def codes(ratings: ob.RatingTable) -> set[str]:
    return {one.code for one in ratings.findings}


READ: dict[str, tuple[dict[str, Any], dict[str, int]]] = {
    "rankme_stp1_likert.csv": ({}, {"ratings": 2742, "participant": 16, "item": 100, "system": 3, "criterion": 3}),
    "rankme_stp1_rankME.csv": ({}, {"ratings": 2700, "participant": 16, "item": 100, "system": 3, "criterion": 3}),
    "reprohum_defcomplex_results.xlsx": ({}, {"ratings": 1920, "participant": 10, "item": 50, "system": 6}),
    "asset_human_ratings.csv": ({}, {"ratings": 4500, "participant": 31, "item": 100, "criterion": 3}),
    "qags_cnndm.jsonl": ({}, {"ratings": 2142, "participant": 162, "item": 714}),
    "mqm_ted_ende.tsv": ({}, {"ratings": 7406, "participant": 4, "item": 529, "system": 14}),
    "mqm_ted_ende_avg.tsv": ({}, {"ratings": 7406, "item": 529, "system": 14}),
    "frank_human_annotations.json": ({"rating": "Factuality"}, {"ratings": 2246, "item": 499, "system": 9}),
    "cvssp_ratings.csv": (
        {"item": "page", "system": "sound", "criterion": "experiment"},
        {"ratings": 6528, "participant": 24, "item": 16, "system": 24, "criterion": 2},
    ),
    "reprogen_qader_reformatted.csv": (
        {"item": "index", "criterion": "name"},
        {"ratings": 760, "participant": 19, "item": 30, "system": 7, "criterion": 4},
    ),
    "affecteventgen_human_eval.csv": (
        {"participant": "none", "rating": ["Fluent", "Coherence"]},
        {"ratings": 1920, "item": 294, "system": 3, "criterion": 2},
    ),
    "deadpan_annotations.csv": (
        {"participant": "expID,participant", "item": "composer,pieceID", "rating": ["arousal"]},
        {"ratings": 2880, "participant": 120, "item": 48, "system": 2},
    ),
    "mslr_A1.tsv": ({}, {"ratings": 1012, "item": 119, "system": 6, "criterion": 4}),  # one row is empty
    "mathwell_eval_annotations.csv": (
        {"item": "row", "participant": "none", "rating": ["solvability", "accuracy", "appropriateness"]},
        {"ratings": 3958, "item": 1500, "system": 6, "criterion": 3},
    ),
    "webnlg2020_bt5.json": ({}, {"participant": 71, "item": 178, "criterion": 5, "ratings": 2445}),
}


@pytest.mark.parametrize("name", READ)
def test_it_is_read_right(real: Path, name: str) -> None:
    options, expected = READ[name]
    found = counts(ob.read(real / name, **options))
    assert {role: found.get(role) for role in expected} == expected
    if "system" not in expected:
        assert "system" not in found


ASKED = {
    "cvssp_ratings.csv": "item",
    "reprogen_qader_reformatted.csv": "item|criterion",
    "affecteventgen_human_eval.csv": "participant|rating",
    "deadpan_annotations.csv": "participant|item|rating|composite",
    "mathwell_eval_annotations.csv": "participant|rating|item",
    "reprohum_defcomplex_qualtrics.csv": "system|join",
    "reprogen22_bme_qualtrics.csv": "columns|rating|system",
    "realsumm_bart_Batch.csv": "participant|rating",
    "hanna_user_study.csv": "participant|columns",
    "rdata_soup.csv": "rating|columns|system",
    "rdata_wine.csv": "item|system",
}


@pytest.mark.parametrize("name", ASKED)
def test_the_bare_command_asks(real: Path, name: str) -> None:
    import re

    with pytest.raises(InputError) as caught:
        ob.compare(real / name, engine="fast")
    message = str(caught.value)
    assert re.search(rf"\b({ASKED[name]})", message), message
    assert "levels=[" not in message
    assert not isinstance(caught.value, PreferencesFound)


def test_fillers_and_bookkeeping_are_no_ratings(real: Path) -> None:
    ratings = ob.read(real / "rankme_stp1_likert.csv")
    found = means(ratings, "informativeness")
    assert {name: round(mean, 3) for name, mean in found.items()} == {
        "slug2slug": 5.717, "baseline": 5.462, "sheffield_v2": 2.892,
    }  # fmt: skip


def test_magnitudes_of_several_systems_in_a_row(real: Path) -> None:
    found = means(ob.read(real / "rankme_stp1_rankME.csv"), "informativeness")
    assert {name: round(mean, 2) for name, mean in found.items()} == {
        "slug2slug": 98.55, "baseline": 97.43, "sheffield_v2": 81.50,
    }  # fmt: skip


def test_broken_rows_are_refused_by_number(real: Path) -> None:
    with pytest.raises(InputError, match=r"row 2 of wmt21_ad-latest\.csv has 8 cells.*12"):
        ob.read(real / "wmt21_ad-latest.csv")


PREFERENCES = {
    "jfleg_pairwise.csv": (1629, "CAMB"),
    "wmt16it_eng-bul.csv": (1769, None),
    "asset_pairwise.csv": (2154, "asset"),
    "twostage_human_eval.csv": (540, "claude-v1"),
    "reprohumD2T_Coherence.xlsx": (600, "sys1"),
}


def pairs_of(path: Path) -> Preferences:
    with pytest.raises(PreferencesFound) as caught:
        ob.read(path)
    return caught.value.preferences


@pytest.mark.parametrize("name", PREFERENCES)
def test_preferences_are_recognised_and_never_rated(real: Path, name: str) -> None:
    found = pairs_of(real / name)
    rows, system = PREFERENCES[name]
    assert found.table.num_rows == rows
    assert set(found.table["outcome"].to_pylist()) <= {"a", "b", "tie", None}
    systems = {*found.table["system_a"].to_pylist(), *found.table["system_b"].to_pylist()}
    assert {system or min(systems)} <= systems


def wins(found: Preferences, **where: str) -> dict[str, float]:
    """Return how often a system wins of its comparisons without ties."""
    rows = [row for row in found.table.to_pylist() if all(row[name] == value for name, value in where.items())]
    won: dict[str, list[bool]] = {}
    for row in rows:
        if row["outcome"] in ("a", "b"):
            won.setdefault(row["system_a"], []).append(row["outcome"] == "a")
            won.setdefault(row["system_b"], []).append(row["outcome"] == "b")
    return {system: sum(of) / len(of) for system, of in won.items()}


def test_who_wins(real: Path) -> None:
    found = wins(pairs_of(real / "jfleg_pairwise.csv"))
    expected = {"turk": 0.890, "NMT": 0.577, "NUS": 0.485, "AMU": 0.386, "CAMB": 0.373, "orig": 0.142}
    assert {name: round(share, 3) for name, share in found.items()} == expected
    moses = pairs_of(real / "wmt16it_eng-bul.csv").table.to_pylist()
    winners = [row[f"system_{row['outcome']}"] for row in moses if row["outcome"] != "tie"]
    assert sum("qtl-Moses" in name for name in winners) == 1153
    assert sum("DeepFMoses" in name for name in winners) == 154
    judged = wins(pairs_of(real / "twostage_human_eval.csv"))
    assert sorted(judged, key=lambda name: -judged[name])[0] == "claude-v1"
    asset = pairs_of(real / "asset_pairwise.csv").table.to_pylist()
    simple = [row for row in asset if row["criterion"] == "simplicity" and row["system_b"] == "hsplit"]
    assert round(sum(row["outcome"] == "a" for row in simple) / len(simple), 2) == 0.59
    assert round(sum(row["outcome"] == "b" for row in simple) / len(simple), 2) == 0.15


def test_without_a_system_reliability_is_named_and_works(real: Path) -> None:
    with pytest.raises(InputError, match="reliability"):
        ob.compare(real / "asset_human_ratings.csv", engine="fast")
    from ordbridge.reliability import analyse

    assert analyse(real / "qags_cnndm.jsonl").tables


def test_segment_scores_of_mqm_are_the_published_ones(real: Path) -> None:
    plain = ob.read(real / "mqm_ted_ende.tsv", levels={"minor": 1, "major": 5})
    assert [round(means(plain)[name], 3) for name in ("ref", "Facebook-AI", "Nemo")] == [0.966, 1.066, 2.166]
    own = ob.read(real / "mqm_ted_ende.tsv", levels={"minor": 1, "major": 5, "minor/punctuation": 0.1})
    assert own.lower_is_better == ("",)
    assert "spans-scored" in codes(own)
    published = ob.read(real / "mqm_ted_ende_avg.tsv")
    mine = {(row["system"], row["item"]): row["rating"] for row in own.table.to_pylist()}
    names = {"ref-A": "ref"}
    theirs = {
        (names.get(row["system"], row["system"]), row["item"]): row["rating"] for row in published.table.to_pylist()
    }
    assert mine.keys() == theirs.keys()
    assert max(abs(mine[key] + theirs[key]) for key in mine) < 1e-6


def test_systems_without_common_items_are_not_compared(real: Path) -> None:
    found = ob.compare(ob.read(real / "frank_human_annotations.json", rating="Factuality"), engine="fast")
    assert found.criteria == ("bbc", "cnndm")
    assert "separate-systems" in {one.code for one in found.findings}
    one = ob.read(real / "frank_human_annotations.json", rating="Factuality", where="dataset == cnndm")
    assert {name: round(mean, 3) for name, mean in means(one).items()} == {
        "bart": 0.933, "pgn": 0.899, "bert_sum": 0.895, "bus": 0.708, "s2s": 0.486,
    }  # fmt: skip
    assert "no-raters" in codes(one)


def test_the_shared_source_is_the_item(real: Path) -> None:
    ratings = ob.read(real / "reprohum_defcomplex_results.xlsx")
    assert ratings.recognised["item"] == "column 'term_id'"
    assert round(means(ratings)["SVM-RERANK-NEWS"], 2) == 3.51


def test_several_files_are_read_together(real: Path) -> None:
    one = ob.read(real / "webnlg2020_bt5.json", system="file")
    assert one.table["system"].unique().to_pylist() == ["webnlg2020_bt5"]


def test_a_magnitude_above_100_does_not_stop_the_answer(real: Path) -> None:
    """RankME's 199 is legal: it is said, and compare answers."""
    found = {one.code for one in ob.check(real / "rankme_stp1_rankME.csv").findings}
    assert "beyond-scale" in found and "outside-scale" not in found


def test_a_latent_difference_without_an_end(real: Path) -> None:
    """A system whose every summary is fluent: the likelihood hardly falls however much better it is said to be."""
    found = ob.compare(real / "mslr_A1.tsv", estimand="latent", engine="fast")
    assert found.pairs.num_rows == 4 * 15
    assert "latent-separated" in {one.code for one in found.findings}
