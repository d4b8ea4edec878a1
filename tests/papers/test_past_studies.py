"""Settings from past studies: what is identified, how estimates are summarised, and that a power grid takes them."""

from itertools import product

import numpy as np
import pytest

import ordbridge as ob
from ordbridge import power, simulate
from ordbridge.cli import settings as command
from ordbridge.errors import InputError, StatisticalWarning
from ordbridge.papers import howcroft2021, past_studies
from ordbridge.papers.past_studies import identified_terms
from ordbridge.planning import Designs, Simulation
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


@pytest.mark.needs_r
def test_unidentified_terms_are_left_out_and_said(settings):
    assert set(settings.fits["formula"].to_pylist()) == {"rating ~ system + (1 | participant) + (1 | item)"}
    noticed = {(one.code, one.subject, *one.values.values()) for one in settings.findings}
    for group in ("participant", "item"):
        assert ("few-shared-levels", "one", group, 0, "A", "B") in noticed
        assert ("no-slopes-seen", "", group) in noticed


@pytest.mark.needs_r
def test_settings_are_smallest_mean_and_largest(settings):
    rows = settings.deviations.to_pylist()
    sds = [row["sd"] for row in rows if row["group"] == "item" and row["dataset"] in ("one", "two")]
    assert len(sds) == 2 and min(sds) < max(sds)
    assert settings["low"].item_sd == (min(sds), 0.0)
    assert settings["general"].item_sd == (pytest.approx(np.mean(sds)), 0.0)
    assert settings["high"].item_sd == (max(sds), 0.0)


@pytest.mark.needs_r
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
    (other,) = (one for one in settings.findings if one.code == "other-scale")
    assert (other.subject, other.values) == ("five points", {"categories": 5, "others": 4})


@pytest.mark.needs_r
def test_effect_is_the_mean_magnitude(settings):
    magnitudes = [r["magnitude"] for r in settings.effects.to_pylist() if r["dataset"] != "five points"]
    assert settings["high"].effects == (pytest.approx(np.mean(magnitudes)),)
    assert settings.effects["system"].to_pylist() == ["B", "B", "B"]


@pytest.mark.needs_r
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
        term, why = identified_terms({"system": system, "item": item}, "item")
        return term, None if why is None else (why.code, why.values["n"])

    assert of(crossed) == ("system", None)
    assert of(crossed[::2]) == ("1", ("few-repeated-under", 0))
    assert of([*crossed[:8], ("B", 0), ("B", 0), ("B", 9)]) == ("1", ("few-shared-levels", 1))
    assert of([("A", 1), ("B", 2), ("A", 3), ("B", 3)]) == (None, ("few-repeated-levels", 1))
    term, why = identified_terms({"system": ["A"], "item": [1]}, "participant")
    assert (term, why.code) == (None, "group-missing")


def test_criteria_are_datasets_of_their_own_and_numbers_name_systems():
    table = between(1).drop_columns(["dataset"])
    numbered = [0 if system == "A" else 1 for system in table["system"].to_pylist()]
    table = table.set_column(table.column_names.index("system"), "system", [numbered])
    table = table.append_column("criterion", [["x", "y"] * (table.num_rows // 2)])
    columns = {"system": "system", "item": "item", "participant": "participant", "rating": "rating"}
    parts = dict(past_studies._parts("study", table, columns))
    assert list(parts) == ["study x", "study y"]
    assert set(parts["study x"]["system"].to_pylist()) == {"0", "1"}


def test_bad_input():
    with pytest.raises(InputError, match="fewer than two systems"):
        howcroft2021.settings_from({"system": ["A"] * 3, "item": [1, 2, 3], "rating": [1, 2, 3]})
    with pytest.raises(InputError, match="two studies are called 'a'"):
        howcroft2021.settings_from(["x/a.csv", "y/a.csv"])
    with pytest.raises(InputError, match="no column 'system'"):
        howcroft2021.settings_from({"item": [1], "rating": [1]})


@pytest.mark.needs_r
def test_command(tmp_path, capsys):
    import argparse

    from ordbridge.reading.tables import write

    for seed in (1, 2):
        write(between(seed), tmp_path / f"study{seed}.csv")
    parser = argparse.ArgumentParser()
    command.add(parser)
    out = tmp_path / "settings.toml"
    args = parser.parse_args([*(str(tmp_path / f"study{n}.csv") for n in (1, 2)), "--out", str(out)])
    assert args.run(args) == 0
    said = capsys.readouterr().out
    assert "! study1, study2: the items' slopes cannot be estimated and are left out" in said
    assert "General: participants 0." in said
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


@pytest.mark.needs_r
def test_both_engines_give_the_same_settings(settings):
    native = howcroft2021.settings_from({"one": between(1)}, engine="fast")
    for table, column in (("deviations", "sd"), ("thresholds", "estimate"), ("effects", "estimate")):
        from_r = [row[column] for row in getattr(settings, table).to_pylist() if row["dataset"] == "one"]
        assert getattr(native, table)[column].to_pylist() == pytest.approx(from_r, rel=1e-3, abs=1e-3)


PAST = Truth(effects=(-0.456,), thresholds=(-1.64, -1.0, -0.37, 0.27, 0.9), participant_sd=(0.575, 0.628),
             item_sd=(0.296, 0.599), participant_corr=-0.73, item_corr=-0.02)  # fmt: skip
"""As a study of summaries: raters who like the first system like the second, which is worse, that much less."""


@pytest.fixture(scope="module")
def past():
    return simulate.ratings(ob.design.crossed(items=80, raters=60), PAST, seed=7)


@pytest.fixture(scope="module")
def from_past(past):
    return howcroft2021.settings_from({"past": past}, engine="fast")


def test_settings_keep_correlations_and_the_sign(from_past):
    """Truth, simulated study, fit, settings: the same truth, within three standard errors of its numbers."""
    found = from_past["general"]
    assert found.participant_corr == pytest.approx(-0.73, abs=3 * (1 - 0.73**2) / 60**0.5)
    assert found.item_corr == pytest.approx(-0.02, abs=3 / 80**0.5)
    assert found.effects == pytest.approx(PAST.effects, abs=3 * (0.628**2 / 60 + 0.599**2 / 80) ** 0.5)
    assert found.participant_sd == pytest.approx(PAST.participant_sd, rel=3 / (2 * 60) ** 0.5)
    assert found.item_sd == pytest.approx(PAST.item_sd, rel=3 / (2 * 80) ** 0.5)
    assert found.thresholds == pytest.approx(PAST.thresholds, abs=0.3)
    rows = {(row["group"], row["term"]): row["correlation"] for row in from_past.deviations.to_pylist()}
    assert rows["participant", "B"] == pytest.approx(found.participant_corr) and rows["item", "intercept"] is None


@pytest.mark.needs_r
def test_a_study_file_simulation_and_plan_use_them(past, from_past, tmp_path):
    from_past.to_toml(tmp_path / "settings.toml")
    study = read_study(tmp_path / "settings.toml", axes={"items": 20}, models=["lm"])
    assert study.grid.axes["effect"][0] == 0.0 and all(effect < 0 for effect in study.grid.axes["effect"][1:])
    truth = study.grid.cells[1].truth
    assert truth.participant_corr == from_past["general"].participant_corr < -0.5
    run = study.run(datasets=1, store=tmp_path / "run")
    assert run.manifest["grid"]["truths"]["general"]["participant_corr"] == truth.participant_corr
    # With a correlation of -.73 both systems spread about alike over raters; without it the second spreads wider.
    simulator = simulate.Simulator(ob.design.crossed(items=1, raters=4000), truth.shift(item_sd=(0.0, 0.0)))
    latent = simulator.draw(seed=3)[1]
    system = np.array(simulator.columns["system"].to_pylist())
    spread = {name: np.var(latent[system == name]) - 1 for name in "AB"}
    assert [spread["A"], spread["B"]] == pytest.approx(np.diag(truth.covariance("participant")), abs=0.12)
    assert spread["B"] < truth.participant_sd[0] ** 2 + truth.participant_sd[1] ** 2 - 0.2
    few = Simulation(max_per_design=20, null_datasets=0, draws=0)
    planned = ob.plan(past, effect=-0.4, designs=Designs(25, 2), simulation=few)
    assert planned.settings["truth"]["participant_corr"] == pytest.approx(truth.participant_corr, rel=1e-6)
    assert planned.settings["effect"] == [-0.4]


def test_several_studies_have_the_mean_correlation_and_the_sign_of_the_mean():
    truth = PAST.shift(thresholds=(-1.0, 0.0, 1.0))
    tables = {str(n): simulate.ratings(ob.design.crossed(30, 20), truth, seed=n) for n in range(3)}
    settings = howcroft2021.settings_from(tables, engine="fast")
    slopes = [row for row in settings.deviations.to_pylist() if row["term"] == "B" and row["group"] == "participant"]
    mean = np.mean([row["correlation"] for row in slopes])
    assert [settings[name].participant_corr for name in settings] == [pytest.approx(mean)] * 3
    assert settings["low"].effects[0] == pytest.approx(np.mean(settings.effects["estimate"].to_pylist()))
    assert settings["low"].effects[0] < 0


def test_what_is_left_out_is_warned_of(past):
    with pytest.warns(StatisticalWarning, match="the participants' slopes cannot be estimated and are left out"):
        settings = howcroft2021.settings_from({"one": between(1)}, engine="fast")
    assert [one.severity for one in settings.findings] == ["warning"] * 2 + ["note"] * 4
    session = past.append_column("session", [[f"S{i % 5}" for i in range(past.num_rows)]])
    session = session.append_column("text_id", [[f"{i} {s}" for i, s in zip(*(past[c].to_pylist() for c in ("item",
                                                "system")), strict=True)]])  # fmt: skip
    with pytest.warns(StatisticalWarning) as caught:
        howcroft2021.settings_from({"past": session}, engine="fast")
    assert [str(w.message) for w in caught if w.category is StatisticalWarning] == [
        "past: session groups the ratings, too; what varies with it is in the variances of participants and items."
    ]


def test_more_than_two_systems_are_warned_of():
    three = Truth(effects=(0.5, -0.2), thresholds=(-1, 0, 1), participant_sd=(0.6, 0.5), item_sd=(0.6, 0.0))
    table = simulate.ratings(ob.design.crossed(20, 12, systems=3), three, seed=2)
    with pytest.warns(StatisticalWarning) as caught:
        settings = howcroft2021.settings_from({"three": table}, engine="fast")
    said = {str(w.message) for w in caught if w.category is StatisticalWarning}
    (many,) = (one for one in settings.findings if one.code == "many-systems")
    assert many.values == {"systems": 3} and many.text in said
    slopes = [row for row in settings.deviations.to_pylist() if row["group"] == "participant"][1:]
    assert settings["general"].participant_corr == pytest.approx(np.mean([row["correlation"] for row in slopes]))


def test_a_correlation_at_one_is_warned_of_and_does_not_enter_a_mean():
    table = simulate.ratings(ob.design.crossed(30, 10), Truth(effects=-1.0, thresholds=(-1, 0, 1)), seed=1)
    with pytest.warns(StatisticalWarning, match=r"items' correlation of intercepts and slopes of B is -1, so not"):
        alone = howcroft2021.settings_from({"edge": table}, engine="fast")
    assert alone["general"].item_corr == -0.999
    other = simulate.ratings(ob.design.crossed(30, 20), PAST.shift(thresholds=(-1.0, 0.0, 1.0)), seed=1)
    with pytest.warns(StatisticalWarning, match="it is left out of the mean"):
        both = howcroft2021.settings_from({"edge": table, "other": other}, engine="fast")
    found = [row["correlation"] for row in both.deviations.to_pylist() if row["group"] == "item"]
    assert abs(found[1]) > 0.999 and both["general"].item_corr == pytest.approx(found[3])


def test_effects_of_both_signs_are_said():
    tables = {
        str(effect): simulate.ratings(ob.design.crossed(30, 10), Truth(effects=effect, thresholds=(-1, 0, 1)), seed=1)
        for effect in (-1.0, 0.5)
    }
    settings = howcroft2021.settings_from(tables, engine="fast")
    assert settings["general"].effects[0] == pytest.approx(-np.mean(settings.effects["magnitude"].to_pylist()))
    (signs,) = (one for one in settings.findings if one.code == "mixed-signs")
    assert signs.values == {"n": 2, "above": 1, "below": 1}
