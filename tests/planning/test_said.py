"""What plans, decisions, power runs and reproductions say: short sentences, narrow tables, no names of arguments."""

import json
import re
import warnings

import pytest
from planned_studies import first, planned, protocol, study

import ordbridge as ob
from ordbridge.design import counterbalanced
from ordbridge.papers import gladkoff2023, howcroft2021
from ordbridge.planning import Ledger, decide, read_protocol, sequential
from ordbridge.power import Goal, Grid, Model, run
from ordbridge.simulate import Truth, ratings

TRUTH = Truth(effects=(0.8,), thresholds=(-1, 0, 1), participant_sd=(0.4, 0.0), item_sd=(0.4, 0.0))
DESIGN = {"kind": "counterbalanced", "texts_per_participant": 10}
WORDS = 25  # of a sentence


def _plan(**options):
    costs = {"cost_rating": 0.1, "cost_currency": "£", "cost_budget": 30.0, "cost_loss": 0.1, "cost_minutes": 0.5}
    few = {"datasets": 500, "max_per_design": 200, "null_datasets": 100, "texts_per_participant": 10}
    return planned(TRUTH, items=[20, 60], ratings_per_text=[2, 3], model="clm", **few, **costs, **options)


def _pilot():
    table = ratings(counterbalanced(20, 2, texts_per_participant=10), TRUTH, seed=1)
    one = {"items": 30, "ratings_per_text": 2, "texts_per_participant": 10, "max_per_design": 30, "null_datasets": 60}
    return planned(table, model="clm", draws=3, calibrate=True, **one)


def _run():
    grid = Grid(truth=TRUTH, design=DESIGN, items=[20, 80], ratings_per_text=2, effect=[0.0, 0.8])
    return run(grid, ["lm", "clm"], datasets=20, engine="fast", null_datasets=40)


def _looks():
    table = counterbalanced(items=20, ratings_per_text=2, texts_per_participant=10)
    return sequential(table, TRUTH, Model("clm", "rating ~ system", "systemB", link="probit"), looks=2, datasets=20,
                      null=99)  # fmt: skip


def _decision():
    plan = protocol("lm")
    return decide(first(study(3.0, seed=3), 7), plan, engine="fast", ledger=Ledger(plan))


def _settings():
    return howcroft2021.settings_from({"past": study(0.5)}, engine="fast")


MADE = {"plan": _plan, "pilot": _pilot, "run": _run, "looks": _looks, "decision": _decision,
        "reproduction": gladkoff2023.reproduce, "settings": _settings}  # fmt: skip


@pytest.fixture(scope="module", params=list(MADE))
def result(request):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MADE[request.param]()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_sentences_are_short_and_main_tables_narrow(result):
    texts = [*result.answer.splitlines(), *(one.text for one in result.findings)]
    for sentence in (part for text in texts for part in re.split(r"(?<=[.!?]) (?=[A-Z])", text)):
        assert len(sentence.split()) <= WORDS, sentence
    assert all(grid.table.num_columns <= 8 for grid in result.main())
    assert not re.search(r" --[a-z]", " ".join(texts))  # no options of the command in Python


@pytest.mark.slow
def test_a_plan_as_json_is_the_plan_for_compare_and_stop(tmp_path):
    found = _plan()
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(found.to_dict()))
    assert read_protocol(path) == found.protocol
    options = found.options["option"].to_pylist()
    assert options[0] == "recommended" and "£30 buys" in options
    assert {"recruit-more", "hourly-wage", "assumed-variances"} <= {one.code for one in found.findings}


@pytest.mark.slow
def test_a_run_names_systems_size_and_study():
    grid = Grid(truth=TRUTH, design=DESIGN, items=[20, 80], ratings_per_text=2, effect=[0.0, 0.8])
    enough = run(grid, ["clm"], datasets=40, engine="fast").answer
    words = r"Power \d+% \(\d+ to \d+%\) to find 0\.\d+ points between B and A with (20|80) items and 2 "
    assert re.fullmatch(rf"{words}ratings per text\.", enough)
    small = Grid(truth=TRUTH, design=DESIGN, items=10, ratings_per_text=1, effect=0.1)
    lines = run(small, ["lm", "clm"], datasets=20, engine="fast").answer.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["clm", "lm"]  # the ordinal model first
    assert all("no study reaches 80% power. The best has " in line for line in lines)
    equal = run(small, ["lm"], datasets=20, engine="fast", goal=Goal("equivalence", 0.4)).answer
    assert "to show equivalence of B and A within 0.4 points" in equal


def test_plan_is_at_the_top():
    assert ob.plan is ob.planning.plan
