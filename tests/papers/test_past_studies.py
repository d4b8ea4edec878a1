"""Settings from past studies: what is identified, how estimates are summarised, and that a power grid takes them."""

from itertools import product

import numpy as np
import pytest

from ordbridge import power, simulate
from ordbridge.cli import settings as command
from ordbridge.errors import InputError
from ordbridge.papers import howcroft2021, past_studies
from ordbridge.papers.past_studies import identified_terms
from ordbridge.power.study import read_study
from ordbridge.simulate import Truth


def between(seed, categories=4, item_sd=1.0, items=16, raters=4):
    """Ratings of two systems whose items are not the same, by raters who see one system only: no slopes."""
    rows = [
        (f"{system}{rater}", f"{system}{item}", system)
        for system, item, rater in product("AB", range(items), range(raters))
    ]
    participant, item, system = map(list, zip(*rows, strict=True))
    truth = Truth(effects=0.8, thresholds=tuple(np.linspace(-1, 1, categories - 1)), item_sd=(item_sd, 0))
    ratings = simulate.ratings({"participant": participant, "item": item, "system": system}, truth, seed=seed)
    return ratings.append_column("dataset", [["x"] * ratings.num_rows])


@pytest.fixture(scope="module")
def settings():
    tables = {"one": between(1), "two": between(2, item_sd=0.3), "five points": between(3, categories=5)}
    return howcroft2021.settings_from(tables)


def test_unidentified_terms_are_left_out_and_said(settings):
    assert set(settings.fits["formula"].to_pylist()) == {"rating ~ system + (1 | participant) + (1 | item)"}
    for group in ("participant", "item"):
        assert (
            f"one: the {group}s' slopes are not identified and left out, because no {group} occurs under both A and B"
            in settings.notes
        )
        assert any("it is 0 here" in note and f"effect between {group}s" in note for note in settings.notes)


def test_settings_are_smallest_mean_and_largest(settings):
    rows = settings.deviations.to_pylist()
    sds = [row["sd"] for row in rows if row["group"] == "item" and row["dataset"] in ("one", "two")]
    assert len(sds) == 2 and min(sds) < max(sds)
    assert settings["low"].item_sd == (min(sds), 0.0)
    assert settings["general"].item_sd == (pytest.approx(np.mean(sds)), 0.0)
    assert settings["high"].item_sd == (max(sds), 0.0)


def test_thresholds_vary_as_between_the_studies_of_one_scale(settings):
    rows = [row for row in settings.thresholds.to_pylist() if row["dataset"] in ("one", "two")]
    lowest = [row["estimate"] for row in rows if row["threshold"] == 1]
    distances = [row["distance_to_next"] for row in rows if row["distance_to_next"] is not None]
    assert len(distances) == 4
    drawn = settings["low"].threshold_distribution
    assert drawn.categories == 4
    assert drawn.lowest == pytest.approx((np.mean(lowest), np.std(lowest, ddof=1)))
    assert drawn.distance == pytest.approx((np.mean(distances), np.std(distances, ddof=1)))
    assert settings.fits["used"].to_pylist() == [True, True, False]
    assert any(note.startswith("five points has 5 categories and the settings are for 4") for note in settings.notes)


def test_effect_is_the_mean_magnitude(settings):
    magnitudes = [r["magnitude"] for r in settings.effects.to_pylist() if r["dataset"] != "five points"]
    assert settings["high"].effects == (pytest.approx(np.mean(magnitudes)),)
    assert settings.effects["system"].to_pylist() == ["B", "B", "B"]


def test_a_power_grid_takes_them_and_the_file_is_a_study(settings, tmp_path):
    grid = power.Grid(truth=settings, design="counterbalanced", items=20, ratings_per_text=3, effect=[0, 0.5])
    assert len(grid.cells) == 6
    assert [cell.truth.item_sd for cell in grid.cells[::2]] == [settings[name].item_sd for name in settings]
    settings.to_toml(tmp_path / "settings.toml")
    study = read_study(tmp_path / "settings.toml")
    assert study.grid.truths == dict(settings)
    assert study.grid.axes["variance"] == ("low", "general", "high")
    assert study.grid.axes["effect"][0] == 0.0


def test_what_is_identified():
    crossed = [("A", i) for i in range(4) for _ in "xx"] + [("B", i) for i in range(4) for _ in "xx"]

    def of(rows):
        system, item = zip(*rows, strict=True)
        return identified_terms({"system": system, "item": item}, "item")

    assert of(crossed) == ("system", "")
    assert of(crossed[::2]) == ("1", "only 0 items have two or more ratings under A")
    assert of([*crossed[:8], ("B", 0), ("B", 0), ("B", 9)]) == ("1", "only 1 item occurs under both A and B")
    assert of([("A", 1), ("B", 2), ("A", 3), ("B", 3)])[0] is None
    assert identified_terms({"system": ["A"], "item": [1]}, "participant") == (
        None,
        "there is no participant for every rating",
    )


def test_criteria_are_datasets_of_their_own_and_numbers_name_systems():
    table = between(1).drop_columns(["dataset"])
    numbered = [0 if system == "A" else 1 for system in table["system"].to_pylist()]
    table = table.set_column(table.column_names.index("system"), "system", [numbered])
    table = table.append_column("criterion", [["x", "y"] * (table.num_rows // 2)])
    columns = {"system": "system", "item": "item", "participant": "participant", "rating": "rating"}
    parts = dict(past_studies._datasets({"study": table}, columns))
    assert list(parts) == ["study x", "study y"]
    assert set(parts["study x"]["system"].to_pylist()) == {"0", "1"}


def test_bad_input():
    with pytest.raises(InputError, match="fewer than two systems"):
        howcroft2021.settings_from({"system": ["A"] * 3, "item": [1, 2, 3], "rating": [1, 2, 3]})
    with pytest.raises(InputError, match="two studies are called 'a'"):
        howcroft2021.settings_from(["x/a.csv", "y/a.csv"])
    with pytest.raises(InputError, match="no column 'system'"):
        howcroft2021.settings_from({"item": [1], "rating": [1]})


def test_command(tmp_path, capsys):
    import argparse

    from ordbridge.tables import write

    for seed in (1, 2):
        write(between(seed), tmp_path / f"study{seed}.csv")
    parser = argparse.ArgumentParser()
    command.add(parser.add_subparsers())
    out = tmp_path / "settings.toml"
    args = parser.parse_args(["settings", *(str(tmp_path / f"study{n}.csv") for n in (1, 2)), "--out", str(out)])
    assert args.run(args) == 0
    said = capsys.readouterr().out
    assert "not identified and left out" in said and "general: standard deviations" in said
    assert len(read_study(out).grid.truths) == 3
    args.out = str(tmp_path / "settings.csv")
    with pytest.raises(InputError, match=r"ends in \.toml"):
        args.run(args)


def test_maximal_model_recovers_the_truth():
    from ordbridge import design

    truth = howcroft2021.settings["high"].shift(effect=0.62)
    tables = {str(n): simulate.ratings(design.crossed(60, 30), truth, seed=n) for n in range(3)}
    settings = howcroft2021.settings_from(tables, engine="fast")
    assert settings.fits["formula"].to_pylist()[0] == "rating ~ system + (system | participant) + (system | item)"
    assert settings["general"].participant_sd == pytest.approx(truth.participant_sd, abs=0.15)
    assert settings["general"].item_sd == pytest.approx(truth.item_sd, abs=0.15)
    assert settings["general"].effects[0] == pytest.approx(0.62, abs=0.25)
    assert settings["low"].item_sd < settings["general"].item_sd < settings["high"].item_sd


def test_both_engines_give_the_same_settings(settings):
    native = howcroft2021.settings_from({"one": between(1)}, engine="fast")
    for table, column in (("deviations", "sd"), ("thresholds", "estimate"), ("effects", "estimate")):
        from_r = [row[column] for row in getattr(settings, table).to_pylist() if row["dataset"] == "one"]
        assert getattr(native, table)[column].to_pylist() == pytest.approx(from_r, rel=1e-3, abs=1e-3)
