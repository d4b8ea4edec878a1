"""Planted flaws are found where they are, clean ratings raise none; the whole run is benchmarks/planted_flaws.py."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

import ordbridge as ob
from ordbridge.errors import InputError

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "planted_flaws.py"


def _script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("planted_flaws", SCRIPT)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


planted_flaws = _script()


@pytest.mark.parametrize("kind", planted_flaws.PLANTS)
@pytest.mark.slow
def test_a_planted_flaw_is_found(kind: str, tmp_path: Path) -> None:
    assert planted_flaws.found(kind, seed=31, folder=tmp_path)


def test_the_kinds_are_many() -> None:
    assert len(planted_flaws.PLANTS) >= 30 and len({problem for problem, _ in planted_flaws.PLANTS.values()}) >= 30


@pytest.mark.parametrize("seed", range(5000, 5012))
def test_clean_ratings_raise_nothing(seed: int, tmp_path: Path) -> None:
    assert planted_flaws.problems(planted_flaws.clean(seed), tmp_path) == []


@pytest.fixture
def study() -> pd.DataFrame:
    """A clean study with 20 participants, 20 items and 2 systems, crossed."""
    design = ob.design.crossed(items=20, raters=20, systems=2, seed=1)
    truth = ob.simulate.Truth(
        effects=0.4, thresholds=(-1.5, -0.5, 0.5, 1.5), participant_sd=(0.4, 0.1), item_sd=(0.5, 0.1)
    )
    frame: pd.DataFrame = ob.simulate.ratings(design, truth, seed=1).to_pandas()
    assert not len(ob.check(frame))
    return frame


def found(frame: object, **options: object) -> dict[str, dict[str, object]]:
    return {row["code"]: row for row in ob.check(frame, **options).table.to_pylist()}


def test_rows_are_counted_as_in_the_file(study: pd.DataFrame, tmp_path: Path) -> None:
    study.loc[[3, 17, 20, 41, 42], "rating"] = 99
    study.to_csv(tmp_path / "x.csv", index=False)
    row = found(tmp_path / "x.csv")["outside-scale"]
    assert (row["severity"], row["rows"], row["count"]) == ("error", "5, 19, 22 and 2 more", 5)  # the header is row 1
    assert row["what"] == "5 ratings outside the scale 1 to 5: 99"
    assert found(study)["outside-scale"]["rows"] == "4, 18, 21 and 2 more"  # a table in memory has no header


def test_copies_are_errors_and_repetitions_warnings(study: pd.DataFrame) -> None:
    copied = pd.concat([study, study.iloc[[5, 9]]], ignore_index=True)
    row = found(copied)["duplicated-rows"]
    assert (row["severity"], row["rows"], row["count"]) == ("error", "801, 802", 2)
    again = study.iloc[[5, 9]].assign(rating=[1, 5])
    row = found(pd.concat([study, again], ignore_index=True))["repeated-ratings"]
    assert (row["severity"], row["rows"]) == ("warning", "801, 802")


def test_a_text_with_a_name_of_its_own_is_not_rated_twice(study: pd.DataFrame) -> None:
    two = pd.concat([study.assign(text_id=1), study.assign(text_id=2, rating=6 - study.rating)], ignore_index=True)
    two["text_id"] = two.item + two.system + two.text_id.astype(str)
    assert "repeated-ratings" not in found(two, item="item") and "repeated-ratings" in found(
        two.drop(columns="text_id")
    )


def test_the_scale_can_be_told(study: pd.DataFrame) -> None:
    assert found(study, scale=(1, 7))["unused-categories"]["what"] == "nobody chose 6, 7"
    assert found(study, scale=(1, 4))["outside-scale"]["what"].endswith("outside the scale 1 to 4: 5")
    with pytest.raises(InputError, match="scale needs the lowest and the highest"):
        ob.check(study, scale=(5,))


@pytest.mark.parametrize(("rating", "alarm"), [(0, False), (-1, True), (7, False), (9, True), (44, True)])
def test_neighbours_of_the_scale_are_not_codes(study: pd.DataFrame, rating: int, alarm: bool) -> None:
    """A rare 0 or 7 beside 1 to 5 may belong to a longer scale; −1, 9 and 44 do not."""
    study.loc[7, "rating"] = rating
    assert ("outside-scale" in found(study)) == alarm


def test_a_slider_has_its_own_ends(study: pd.DataFrame) -> None:
    slider = study.assign(rating=(study.rating * 19 + np.arange(len(study)) % 7).clip(0, 100))
    assert [*found(slider)] == ["slider"]
    slider.loc[[1, 2], "rating"] = [-1, 999]
    assert found(slider)["outside-scale"]["what"] == "2 ratings outside the scale 19 to 100: -1, 999"


def test_systems_written_in_two_ways(study: pd.DataFrame) -> None:
    study.loc[study.index[study.system == "B"][:3], "system"] = ["b", "B ", " B"]
    row = found(study)["labels-differ"]
    assert row["severity"] == "error" and row["count"] == 3
    assert row["what"] == "names of the system differ only in case or spaces: 'B' and 'b' and 'B '"


def test_alternation_that_follows_the_systems_is_no_pattern(study: pd.DataFrame) -> None:
    ordered = study.sort_values(["participant", "item", "system"], ignore_index=True)
    mine = ordered.participant == ordered.participant[0]
    ordered.loc[mine, "rating"] = np.where(ordered.system[mine] == "A", 2, 4)
    assert "alternating-rater" not in found(ordered)
    ordered.loc[mine, "rating"] = np.where(np.arange(mine.sum()) // 2 % 2, 2, 4)
    assert "alternating-rater" in found(ordered)


def test_ceiling_makes_constant_raters_unremarkable(study: pd.DataFrame) -> None:
    high = study.assign(rating=np.where(np.arange(len(study)) % 20 == 0, 4, 5))
    high.loc[high.participant == "P01", "rating"] = 5
    assert "constant-rater" not in found(high) and "ceiling" in found(high)


def test_criteria_are_looked_at_one_by_one(study: pd.DataFrame) -> None:
    two = pd.concat([study.assign(criterion="fluency"), study.assign(criterion="adequacy")], ignore_index=True)
    assert [*found(two)] == ["several-criteria"]
    two.loc[(two.criterion == "adequacy") & (two.system == "B"), "rating"] = 5
    assert found(two)["ceiling"]["what"].startswith("ratings pile up at the highest value, 5: 100% of B")


def test_words_are_checked_by_their_labels(study: pd.DataFrame) -> None:
    words = {1: "Strongly disagree", 2: "Disagree", 3: "Neutral", 4: "Agree", 5: "Strongly agree"}
    worded = study.assign(rating=study.rating.map(words))
    assert not found(worded)
    levels = [*words.values(), "Beyond all doubt"]
    assert found(worded, levels=levels)["unused-categories"]["what"] == "nobody chose 'Beyond all doubt'"


def test_sentences_and_tables(study: pd.DataFrame) -> None:
    checks = ob.check(study.assign(system="A").drop_duplicates(["participant", "item"]))
    assert not checks.errors and len(checks) == 1
    assert checks.answer == "1 warning in the table." and "! There is only one system, 'A'." in str(checks)
    assert checks.table.column_names == ["severity", "code", "subject", "what", "rows", "count", "remedy"]
    assert ob.check(study).answer == "No problems found." and not ob.check(study).errors
    assert checks.to_pandas()["code"].tolist() == ["one-system"]


def test_the_worst_comes_first(study: pd.DataFrame) -> None:
    bad = study.assign(system=study.system.map({"A": "1", "B": "2"}))
    bad.loc[0, "rating"] = 99
    bad = bad[bad.participant.isin(bad.participant.unique()[:5])]
    assert ob.check(bad).table["severity"].to_pylist() == ["error", "warning", "note"]


@pytest.mark.slow
def test_real_ratings(shared: Path) -> None:
    """PPLM: texts rated several times, items mostly under one system; nothing that makes an analysis wrong."""
    checks = ob.check(shared / "data" / "pplm.csv")
    assert checks.table["code"].to_pylist() == ["repeated-ratings", "item-under-one-system"]
    questions = ob.check(shared / "data" / "qgstec_reeval3.csv")
    assert not questions.errors and "floor" in questions.table["code"].to_pylist()


def test_ratings_cannot_name_their_own_groups(study: pd.DataFrame) -> None:
    with pytest.raises(InputError, match="'rating' is the response and also names the groups of a random effect"):
        ob.clmm("rating ~ system + (1 | rating)", study, engine="fast")


def test_ranks_are_not_ratings() -> None:
    """Every participant puts the systems of every item into an order; one tie, and these may be ratings."""
    random = np.random.default_rng(1)
    rows = [
        {"participant": f"p{p}", "item": f"i{i}", "system": system, "rating": int(rank)}
        for p in range(10)
        for i in range(10)
        for system, rank in zip("ABC", random.permutation(3) + 1, strict=True)
    ]
    found = ob.check(pd.DataFrame(rows))
    assert found.errors and "ranks" in found.table["code"].to_pylist()
    rows[0]["rating"] = rows[1]["rating"]
    assert "ranks" not in ob.check(pd.DataFrame(rows)).table["code"].to_pylist()
