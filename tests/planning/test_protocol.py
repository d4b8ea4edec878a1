"""From a plan to its file, its pre-registration, its looks and its analysis."""

import json

import numpy as np
import pyarrow as pa
import pytest
from planned_studies import planned

import ordbridge as ob
from ordbridge.cli import main
from ordbridge.comparison import compare_as_planned
from ordbridge.design import counterbalanced
from ordbridge.errors import InputError
from ordbridge.planning import decide, preregistration, read_protocol, sheet_of, write_protocol
from ordbridge.reading.tables import write
from ordbridge.simulate import Truth, ratings

pytestmark = pytest.mark.slow
MIXED = "rating ~ system + (1 | participant) + (1 | item)"
TRUTH = Truth(effects=(0.9,), thresholds=(-1, 0, 1), participant_sd=(0.4, 0.0), item_sd=(0.4, 0.0))
SIZE = {"items": 24, "ratings_per_text": 2, "texts_per_participant": 8}
FEW = {"max_per_design": 40, "null_datasets": 100, "calibrate": False, "systems": ["base", "ours"]}


@pytest.fixture(scope="module")
def plan():
    return planned(TRUTH, model="clmm", formula=MIXED, looks=2, **SIZE, **FEW)


def study(effect=0.9, seed=3, items=24):
    table = ratings(counterbalanced(items, 2, texts_per_participant=8), TRUTH.shift(effect=effect), seed=seed)
    names = pa.array([{"A": "base", "B": "ours"}[str(name)] for name in table["system"].to_pylist()])
    return table.set_column(table.column_names.index("system"), "system", names)


def test_the_file_has_the_whole_plan(plan, tmp_path):
    path = write_protocol(plan.protocol, tmp_path / "plan.json")
    assert read_protocol(path) == plan.protocol
    assert plan.protocol.pairs == (("base", "ours"),) and plan.protocol.participants == 12
    assert [row["participants"] for row in plan.protocol.looks] == [6, 12]
    sheet = sheet_of(plan.protocol)
    assert sheet.num_rows == plan.protocol.ratings and set(sheet["system"].to_pylist()) == {"base", "ours"}
    values = json.loads(path.read_text())
    for change, words in (
        (("kind", "x"), "is not a plan"),
        (("format", 0), "another version"),
        (("looks", 3), "by hand"),
    ):
        path.write_text(json.dumps(values | dict([change])))
        with pytest.raises(InputError, match=words):
            read_protocol(path)
    with pytest.raises(InputError, match="there is no file"):
        read_protocol(tmp_path / "nowhere.json")


def test_the_pre_registration_has_everything_that_was_planned(plan):
    text = preregistration(plan)
    for heading in ("Hypothesis", "Sample size and its reason", "Model", "Test", "Stopping rule", "Exclusions"):
        assert f"\n## {heading}\n" in text
    assert "Ratings differ between ours and base. The tests are two-sided." in text
    assert f"`clmm`: `{MIXED}`, link probit" in text and "alpha = 0.05" in text
    assert "12 participants, 96 ratings." in text and plan.protocol.answer in text
    assert all(f"| {row['participants']} | {row['ratings']} |" in text for row in plan.protocol.looks)


def test_the_planned_test_is_the_one_that_was_simulated(plan):
    data = study()
    found = compare_as_planned(data, plan.protocol, engine="fast")
    fit = ob.clmm(MIXED, data, link="probit", engine="fast")
    (row,) = found.tests.to_pylist()
    assert row["p_value"] == pytest.approx(fit.p_value("systemours"), rel=1e-6)
    assert row["found"] and row["difference"] > 0
    assert found.departures == ()
    assert found.answer.startswith("Stop: ours is rated higher than base")


def test_a_linear_pair_has_satterthwaites_test():
    linear = planned(TRUTH, model="lmer", formula=MIXED, **SIZE, **FEW).protocol
    data = study(seed=5)
    (row,) = compare_as_planned(data, linear, engine="fast").tests.to_pylist()
    assert row["p_value"] == pytest.approx(ob.lmer(MIXED, data, engine="fast").p_value("systemours"), rel=1e-6)


def test_departures_are_said(plan):
    data = study(items=16)
    extra = pa.array(["third" if i < 4 else name for i, name in enumerate(data["system"].to_pylist())])
    data = data.set_column(data.column_names.index("system"), "system", extra)
    said = " ".join(one.text for one in compare_as_planned(data, plan.protocol, engine="fast").departures)
    for words in ("The plan has no system third.", "24 items were planned, there are 16.",
                  "12 participants were planned, there are 8.", "96 ratings were planned, there are 64."):  # fmt: skip
        assert words in said
    with pytest.raises(InputError, match="the plan tests base"):
        other = pa.array(["other" if name == "base" else name for name in data["system"].to_pylist()])
        compare_as_planned(data.set_column(data.column_names.index("system"), "system", other), plan.protocol)


def first(data, people):
    names = list(dict.fromkeys(data["participant"].to_pylist()))[:people]
    return data.filter(pa.array([name in names for name in data["participant"].to_pylist()]))


def test_stop_or_go_on(plan):
    strong, none = study(effect=3.0), study(effect=0.0)
    assert decide(first(strong, 4), plan.protocol, engine="fast").answer.startswith("Go on: the first look is at 6")
    early = decide(first(strong, 6), plan.protocol, engine="fast")
    assert early.stop and early.found and early.look == 1 and "Stop: ours is rated higher than base" in early.answer
    on = decide(first(none, 6), plan.protocol, engine="fast")
    assert not on.stop and on.answer.startswith("Go on to 12 participants")
    last = decide(none, plan.protocol, engine="fast")
    assert last.stop and not last.found and "no clear difference between ours and base at the last look" in last.answer
    late = decide(first(none, 7), plan.protocol, engine="fast")
    assert late.look is None and [one.code for one in late.findings] == ["unplanned-look"]
    near = decide(first(none, 11), plan.protocol, engine="fast")
    (differs,) = near.findings
    assert near.look == 2 and differs.code == "look-size-differs"
    assert differs.values == {"look": 2, "planned": 12, "participants": 11}
    fit = ob.clmm(MIXED, first(none, 6), link="probit", engine="fast").tidy().to_pylist()[-1]
    assert abs(on.z) == pytest.approx(abs(fit["estimate"] / fit["std_error"]), rel=1e-4)


def test_the_commands_from_plan_to_stop(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    TRUTH.to_toml("truth.toml")
    asked = [
        "--items",
        "24",
        "--ratings-per-text",
        "2",
        "--texts-per-participant",
        "8",
        "--formula",
        MIXED,
        "--names",
        "base",
    ]
    asked += [
        "ours",
        "--max-per-design",
        "40",
        "--null-datasets",
        "100",
        "--no-calibrate",
        "--looks",
        "2",
        "--shape",
        "pocock",
        "--jobs",
        "1",
    ]
    files = ["--json", "plan.json", "--preregistration", "prereg.md", "--sheets", "tasks.jsonl"]
    assert main(["plan", "--truth", "truth.toml", *asked, *files, "--quiet"]) == 0
    assert "With 2 looks: power" in capsys.readouterr().out and (tmp_path / "prereg.md").read_text().startswith(
        "# Pre-registration"
    )
    critical = [row["critical"] for row in read_protocol("plan.json").looks]
    assert critical[0] == pytest.approx(critical[1])  # Pocock's is the same at every look
    write(study(), "all.csv")
    assert main(["compare", "all.csv", "--plan", "plan.json", "--engine", "fast", "--quiet"]) == 0
    printed = capsys.readouterr().out.replace("\n", " ")
    assert printed.startswith("Stop: ours is rated higher than base") and "The data are as planned." in printed
    assert main(["compare", "all.csv", "--plan", "plan.json", "--model", "lmer"]) == 2
    assert "--model would change the planned analysis" in capsys.readouterr().err
    assert main(["stop", "all.csv", "--plan", "plan.json", "--engine", "fast"]) == 0
    assert capsys.readouterr().out.startswith("Stop: ")


def test_several_criteria_need_more_and_the_correlation_is_said():
    options = {**SIZE, "model": "lm", "max_per_design": 200, "null_datasets": 0}
    truth = TRUTH.shift(effect=0.6)
    one, two = (planned(truth, criteria=n, **options) for n in (1, 2))
    assert two.designs["power"][0].as_py() < one.designs["power"][0].as_py()
    (together,) = (one for one in two.findings if one.code == "all-criteria")
    assert together.values == {"criteria": 2, "correlation": 0.5}
    with pytest.raises(InputError, match="one pair of systems, one criterion"):
        planned(truth, criteria=2, looks=2, **options)


def test_power_against_money_is_drawn():
    vary = {"items": [10, 20, 40], "ratings_per_text": [1, 2]}
    cost = {"cost_rating": 0.1, "cost_currency": "£", "cost_budget": 12.0}
    found = planned(TRUTH, model="lm", **vary, texts_per_participant=10, max_per_design=60, null_datasets=0, **cost)
    panel = ob.figures.plan_money(found).axes[0]
    assert panel.get_xlabel() == "cost (£)"
    assert any(np.allclose(line.get_xdata(), 12.0) for line in panel.lines)
