"""Looks at a study: what each may use of the level, that they are counted, and what is said after the last one."""

import json
import multiprocessing
import os

import numpy as np
import pyarrow as pa
import pytest
from planned_studies import TRUTH, first, protocol, study

from ordbridge.cli import main
from ordbridge.errors import InputError
from ordbridge.planning import Ledger, decide, ledger_beside, write_protocol
from ordbridge.planning.interim import next_boundary
from ordbridge.planning.ledger import TakenLook
from ordbridge.planning.stopping import SHAPES, crossing_probabilities, spent_by
from ordbridge.reading.tables import write


def walk(plan, numbers):
    """Return the boundary of each look of a study that is looked at with these numbers of participants."""
    before, found = None, []
    for people in numbers:
        at = next_boundary(plan, before, people)
        critical = tuple(None if np.isinf(value) else value for value in at.critical)
        before = TakenLook(str(people), "", "", at.planned, at.as_planned, at.times, critical, {"stop": False})
        found.append(at)
    return found


@pytest.mark.parametrize("shape", SHAPES)
def test_planned_looks_have_the_boundaries_of_the_plan(shape):
    plan = protocol(looks=4, shape=shape, people=40)
    normal = [row["normal"] for row in plan.looks]
    assert [at.value for at in walk(plan, (10, 20, 30, 40))] == normal
    assert [at.look for at in walk(plan, (10, 21, 29, 37))] == [1, 2, 3, 4]  # about as many participants
    assert walk(plan, (40,))[0].value == normal[-1]  # nobody recorded the others, and they were taken all the same
    assert walk(plan, (20, 40))[1].critical == tuple(normal)


@pytest.mark.parametrize("shape", SHAPES)
def test_unplanned_looks_spend_by_lan_and_demets_and_the_last_one_has_the_rest(shape):
    plan = protocol(looks=2, shape=shape, people=40)
    found = walk(plan, (26, 30, 40))
    assert [at.look for at in found] == [None, None, 2]
    assert found[0].times == (0.5, 0.65)  # the planned look before it counts
    spent = [crossing_probabilities(at.times, at.critical).sum() for at in found]
    assert spent[:2] == pytest.approx([spent_by(t, shape=shape) for t in (0.65, 0.75)], abs=1e-7)
    assert spent[2] == pytest.approx(0.05, abs=1e-7)
    assert found[2].value > plan.looks[1]["normal"]


def test_a_look_with_no_more_participants_uses_nothing():
    plan = protocol(looks=2, people=40)
    found = walk(plan, (26, 25, 26, 40))
    assert np.isinf(found[1].value) and np.isinf(found[2].value)
    assert found[3].value == walk(plan, (26, 40))[1].value


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_looking_after_every_participant_keeps_the_level(shape):
    """200,000 studies of z statistics, which follow a Brownian motion; nominal p-values at .05 would reject .14."""
    plan = protocol(looks=2, shape=shape, people=40)
    people = np.arange(18, 37)  # from the first look that counts to the last
    found = walk(plan, people.tolist())
    random = np.random.default_rng(1)
    increments = random.standard_normal((200_000, 40))
    z = np.cumsum(increments, axis=1)[:, people - 1] / np.sqrt(people)
    rejected = (abs(z) > [at.value for at in found]).any(axis=1).mean()
    assert rejected <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200_000)
    assert rejected > 0.04


def test_the_same_ratings_have_the_same_answer_in_any_order_and_from_any_engine():
    plan, ledger, data = protocol("lm"), None, study(0.9, seed=5)
    ledger = Ledger(plan)
    once = decide(first(data, 6), plan, engine="fast", ledger=ledger)
    turned = first(data, 6).take(pa.array(range(first(data, 6).num_rows))[::-1])
    turned = turned.set_column(turned.column_names.index("rating"), "rating", turned["rating"].cast(pa.float64()))
    assert decide(turned, plan, engine="none such", ledger=ledger) == once
    assert len(ledger.looks()) == 1


def test_a_study_that_has_stopped_stays_stopped():
    plan = protocol("lm")
    ledger, strong = Ledger(plan), study(3.0, seed=3)
    end = decide(first(strong, 6), plan, engine="fast", ledger=ledger)
    assert (end.code, end.look, end.stop, end.found) == ("found", 1, True, True)
    after = decide(strong, plan, engine="fast", ledger=ledger)
    assert (after.code, after.stop, after.found, after.p_value) == ("ended", True, True, end.p_value)
    (ended,) = after.findings
    assert (ended.code, ended.values["ended"]) == ("study-ended", 6) and len(ledger.looks()) == 1


def test_before_the_first_look_nothing_is_fitted_or_recorded():
    plan = protocol("lm")
    ledger = Ledger(plan)
    found = decide(first(study(), 5), plan, engine="none such", ledger=ledger)
    assert (found.code, found.look, found.z) == ("early", 0, None) and ledger.looks() == ()


@pytest.mark.parametrize("shape", SHAPES)
def test_the_adjusted_p_value_says_the_same_as_the_boundary(shape):
    """At every end of a study, whatever looks there were: below alpha if and only if the boundary was crossed."""
    plan = protocol("lm", looks=2, shape=shape, wider=1.1)
    seen = set()
    for seed in range(60):
        ledger, data = Ledger(plan), study(0.4 * (seed % 3), seed=seed)
        for people in (6, 8, 9, 11):
            found = decide(first(data, people), plan, engine="fast", ledger=ledger)
            if not found.stop:
                assert (found.p_value, found.estimate) == (None, None)
                continue
            assert (found.p_value < plan.alpha) == found.found
            assert found.conf_low < found.estimate < found.conf_high
            assert (found.conf_low > 0 or found.conf_high < 0) == found.found
            seen.add((found.code, found.look))
            break
    assert {("found", 1), ("last", 2)} <= seen and {code for code, _ in seen} == {"found", "last"}


def test_one_look_is_the_usual_estimate():
    """A study that ends with its first look has its own estimate, and the interval of its own standard error."""
    import ordbridge as ob

    plan = protocol("clm", shape="obrien-fleming")
    data = first(study(1.6, seed=2), 6)
    found = decide(data, plan, engine="fast")
    assert found.code == "found" and found.look == 1
    fit = ob.clm("rating ~ system", data, link="probit", engine="fast").tidy().to_pylist()[-1]
    assert found.estimate == pytest.approx(fit["estimate"], abs=1e-5)
    assert found.conf_high - found.conf_low == pytest.approx(2 * 1.959964 * fit["std_error"], rel=1e-4)


def test_a_fit_that_ran_away_is_said():
    """B is always rated 4: Wald's z is then near 0, and the look says that it means little."""
    found = decide(first(study(3.0, seed=2), 6), protocol("clm"), engine="fast")
    assert abs(found.z) < 1 and found.findings[0].code == "planned-model-not-converged"


def test_several_criteria_get_one_sentence():
    data = study()
    two = pa.concat_tables([data.append_column("criterion", pa.array([c] * data.num_rows)) for c in "xy"])
    with pytest.raises(InputError, match="for one criterion, and the ratings have 2"):
        decide(two, protocol("lm"), engine="fast")


def ask(folder, people):
    plan = protocol("lm", people=12)
    ledger = Ledger(plan, folder / "plan.ledger.json")
    return decide(first(study(seed=1), people), plan, engine="fast", ledger=ledger)


@pytest.mark.slow
def test_looks_at_the_same_time_are_all_counted(tmp_path):
    """Eight processes at once, four different sets of ratings: every one is recorded once, each with one answer."""
    spawn = multiprocessing.get_context("spawn")
    with spawn.Pool(4) as pool:
        answers = pool.starmap(ask, [(tmp_path, people) for people in (6, 7, 8, 9) * 2])
    looks = json.loads((tmp_path / "plan.ledger.json").read_text())["looks"]
    assert sorted(look["decision"]["participants"] for look in looks) == [6, 7, 8, 9]
    assert answers[:4] == answers[4:]
    spent = [crossing_probabilities(look["times"], [np.inf if c is None else c for c in look["critical"]]).sum()
             for look in looks]  # fmt: skip
    assert spent == sorted(spent) and spent[-1] < 0.05


def test_a_ledger_of_another_plan_and_a_broken_one_get_one_sentence(tmp_path):
    path = tmp_path / "plan.ledger.json"
    decide(first(study(), 6), protocol("lm"), engine="fast", ledger=Ledger(protocol("lm"), path))
    with pytest.raises(InputError, match="belongs to another plan"):
        other = protocol("lm", shape="obrien-fleming")
        decide(first(study(), 6), other, engine="fast", ledger=Ledger(other, path))
    ledger = json.loads(path.read_text())
    del ledger["plan"]
    path.write_text(json.dumps(ledger))
    with pytest.raises(InputError, match="belongs to another plan"):
        Ledger(protocol("lm"), path).looks()
    path.write_text("{")
    with pytest.raises(InputError, match="cannot read the ledger"):
        decide(first(study(), 6), protocol("lm"), engine="fast", ledger=Ledger(protocol("lm"), path))


@pytest.mark.parametrize(
    "change",
    [
        {"times": ["x"]},
        {"times": [float("nan")]},
        {"times": []},
        {"critical": [-1]},
        {"planned": None},
        {"decision": 5},
        {"decision": {}},
        {"decision": {"stop": True}},
        {"decision": {"stop": True, "notes": 5}},
        {"decision": {"stop": False, "notes": [], "unknown": 1}},
    ],
    ids=str,
)
def test_a_look_that_was_changed_by_hand_is_one_sentence(change, tmp_path):
    path, plan = tmp_path / "plan.ledger.json", protocol("lm")
    decide(first(study(), 6), plan, engine="fast", ledger=Ledger(plan, path))
    ledger = json.loads(path.read_text())
    ledger["looks"][0] |= change
    path.write_text(json.dumps(ledger))
    with pytest.raises(InputError, match="ledger"):
        decide(first(study(), 6), plan, engine="fast", ledger=Ledger(plan, path))


@pytest.mark.parametrize("kind", ["a pipe", "brackets"])
def test_a_ledger_that_cannot_be_one_is_one_sentence(kind, tmp_path):
    path, plan = tmp_path / "plan.ledger.json", protocol("lm")
    os.mkfifo(path) if kind == "a pipe" else path.write_text("[" * 100_000)
    with pytest.raises(InputError, match="cannot read the ledger"):
        Ledger(plan, path).looks()


def test_a_look_that_cannot_be_recorded_is_not_answered(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be recorded"):
        plan = protocol("lm")
        decide(first(study(), 6), plan, engine="fast", ledger=Ledger(plan, tmp_path / "file" / "plan.ledger.json"))


def test_stop_and_compare_write_and_read_one_ledger(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plan = protocol("lm", shape="obrien-fleming")
    write_protocol(plan, "plan.json")
    data = study(0.0, seed=4)
    write(first(data, 6), "half.csv")
    write(first(data, 9), "more.csv")
    write(data, "all.csv")
    for file in ("half.csv", "half.csv", "more.csv"):
        assert main(["stop", file, "--plan", "plan.json", "--engine", "fast", "--json", "-"]) == 0
    told = [json.loads(text + "}") for text in capsys.readouterr().out.split("\n}\n") if text.strip()]
    assert told[0] == told[1] and told[2]["tables"]["decision"][0]["look"] is None
    assert told[2]["findings"][0]["code"] == "unplanned-look"
    assert main(["compare", "all.csv", "--plan", "plan.json", "--engine", "fast", "--json", "-", "--quiet"]) == 0
    compared = json.loads(capsys.readouterr().out)
    assert main(["stop", "all.csv", "--plan", "plan.json", "--engine", "fast", "--json", "-"]) == 0
    answer = json.loads(capsys.readouterr().out)
    (stopped,) = answer["tables"]["decision"]
    assert compared["answer"] == answer["answer"] and stopped["stop"]
    row = compared["tables"]["tests"][0]
    assert (row["p_adjusted"], row["estimate"], row["conf_low"]) == tuple(
        stopped[name] for name in ("p_value", "estimate", "conf_low")
    )
    looks = json.loads(ledger_beside("plan.json").read_text())["looks"]
    assert [look["decision"]["participants"] for look in looks] == [6, 9, 12]
    assert stopped["critical"] > plan.looks[1]["critical"]  # the unplanned look has used some of the level


@pytest.mark.slow
def test_stop_after_every_participant_with_real_fits_keeps_the_level():
    """150 studies without a difference, a clm at each of up to six looks; benchmarks/looks_size.py has many more."""
    plan, found = protocol("clm"), 0
    for seed in range(150):
        ledger, data = Ledger(plan), study(0.0, seed=seed, truth=TRUTH.shift(participant_sd=(0, 0), item_sd=(0, 0)))
        for people in range(6, 13):
            decision = decide(first(data, people), plan, engine="fast", ledger=ledger)
            if decision.stop:
                break
        assert decision.stop
        found += decision.found
    assert found <= 15  # of 150 at 5 %: 7.5 expected, more than 15 in 0.4 % of runs
