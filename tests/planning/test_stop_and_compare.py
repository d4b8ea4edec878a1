"""``compare --plan`` and ``stop``: one function decides, and both say the same about every study."""

import numpy as np
import pyarrow as pa
import pytest
from planned_studies import TRUTH, first, protocol, study

import ordbridge as ob
from ordbridge.comparison import compare_as_planned
from ordbridge.design import counterbalanced
from ordbridge.planning import Ledger, decide
from ordbridge.simulate import Truth, ratings

STUDIES = 500
MODELS = ("clmm", "lmer", "clm", "lm")


@pytest.mark.slow
@pytest.mark.timeout(900)  # 500 studies with their looks, on a busy machine
def test_500_studies_have_one_answer():
    """Nulls and effects, four models, both shapes, planned and unplanned looks; each look is asked about twice."""
    random = np.random.default_rng(29)
    plans = {(model, shape): protocol(model, shape=shape, wider=1.05) for model in MODELS
             for shape in ("pocock", "obrien-fleming")}  # fmt: skip
    seen = []
    for seed in range(STUDIES):
        plan = plans[MODELS[seed % 4], ("pocock", "obrien-fleming")[seed // 4 % 2]]
        data = study(float(random.choice([0.0, 0.0, 0.5, 1.0])), seed=seed)
        stopping, comparing = Ledger(plan), Ledger(plan)
        looks = ([12], [6, 12], [7, 9, 12], [6, 8, 11])[random.integers(4)]
        for people in looks:
            part = first(data, people)
            stop = decide(part, plan, engine="fast", ledger=stopping)
            if people == looks[-1] or stop.stop:
                break
            decide(part, plan, engine="fast", ledger=comparing)
        own = compare_as_planned(part, plan, engine="fast", ledger=comparing)  # the first to look at these ratings
        assert own.decision == stop
        if seed % 10 == 0:  # after stop has looked at them
            assert compare_as_planned(part, plan, engine="fast", ledger=stopping).decision == stop
        (row,) = own.tests.to_pylist()
        assert (row["found"], row["p_adjusted"], row["estimate"]) == (stop.found, stop.p_value, stop.estimate)
        assert row["found"] == (row["p_value"] < row["critical_value"])
        assert own.answer == stop.answer
        seen.append((stop.code, stop.look))
    assert {("found", 1), ("found", 2), ("found", None), ("last", 2)} <= set(seen)


@pytest.mark.needs_r
@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_through_r_both_say_the_same_and_what_the_native_engine_says(model):
    """A null study and one with an effect, at the first look and at the end."""
    plan = protocol(model, wider=1.05)
    for effect, seed in ((0.0, 3), (1.0, 4)):
        data = study(effect, seed=seed)
        stopping, comparing, native = Ledger(plan), Ledger(plan), Ledger(plan)
        for people in (6, 12):
            part = first(data, people)
            stop = decide(part, plan, engine="r", ledger=stopping)
            own = compare_as_planned(part, plan, engine="r", ledger=comparing)
            fast = decide(part, plan, engine="fast", ledger=native)
            assert own.decision == stop and own.answer == stop.answer
            assert (stop.code, stop.look, stop.found) == (fast.code, fast.look, fast.found)
            assert stop.z == pytest.approx(fast.z, rel=1e-3)
            if stop.stop:
                break


def test_a_result_between_the_usual_limit_and_the_boundary_is_not_found():
    """Pocock's boundary is 2.18; a study with 1.96 < |z| < 2.18 is what compare used to call found."""
    plan = protocol("lm")
    between = None
    for seed in range(200):
        data = study(0.4, seed=seed)
        stop = decide(data, plan, engine="fast")
        if 1.96 < abs(stop.z) < stop.critical:
            between = data
            break
    found = compare_as_planned(between, plan, engine="fast")
    (row,) = found.tests.to_pylist()
    assert row["p_value"] < 0.05 < row["p_adjusted"] and not row["found"]
    assert found.decision.code == "last"


@pytest.mark.parametrize("model", MODELS)
def test_a_calibrated_plan_tests_at_its_own_critical_value(model):
    """The printed p-value of the model, and not alpha but the plan's value; also with few participants."""
    data = first(study(0.5, seed=11), 8)
    loose = compare_as_planned(data, protocol(model, looks=0, critical_value=0.999), engine="fast").tests.to_pylist()[0]
    p = loose["p_value"]
    options = {"link": "probit"} if model in ("clm", "clmm") else {}
    fit = getattr(ob, model)(protocol(model).formula, data, engine="fast", **options)
    assert p == pytest.approx(fit.p_value("systemB"), rel=1e-6)
    for critical, found in ((1.01 * p, True), (0.99 * p, False)):
        plan = protocol(model, looks=0, critical_value=critical, calibrated=True)
        answer = compare_as_planned(data, plan, engine="fast")
        assert answer.tests["found"].to_pylist() == [found] and answer.decision is None
        assert answer.tests["critical_value"].to_pylist() == [critical]


def test_pairs_and_any_difference_are_the_tests_that_were_simulated():
    from ordbridge.planning.hypotheses import _p_values, hypothesis
    from ordbridge.power import Grid
    from ordbridge.power.worker import FitTask

    truth = Truth(effects=(0.2, 0.7), thresholds=(-1, 0, 1), participant_sd=(0.4, 0.2), item_sd=(0.4, 0.2))
    design = counterbalanced(20, 3, 3, 10)
    (cell,) = Grid(truth=truth, design=design).cells
    data = ratings(design, truth, seed=2)
    every = (("A", "B"), ("A", "C"), ("B", "C"))
    for kind in ("clmm", "lmer"):
        own = {"systems": ("A", "B", "C"), "looks": 0, "participants": 18}
        for test, family, pairs in (("pairs", "pairs", every), ("any", "any", every), (("B", "C"), "pair", every[2:])):
            model = hypothesis(cell, kind, protocol(kind).formula, test)
            simulated = {term: p for term, (p, _) in _p_values(cell, FitTask(0, model, "fast"),
                                                               data["rating"].to_numpy(), None)}  # fmt: skip
            code = "lrt" if test == "any" else "z" if kind == "clmm" else "t"
            plan = protocol(kind, **own, family=family, pairs=pairs, test=code)
            rows = compare_as_planned(data, plan, engine="fast").tests.to_pylist()
            if test == "any":
                assert rows[0]["p_value"] == pytest.approx(simulated["any difference"], rel=1e-6)
            elif test == "pairs":
                expected = [simulated[f"{high} - {low} within all pairs"] for low, high in every]
                assert [row["p_adjusted"] for row in rows] == pytest.approx(expected, rel=1e-6)
            else:
                assert rows[0]["p_value"] == pytest.approx(simulated["C - B"], rel=1e-6)


def test_words_that_are_ratings_count_as_numbers():
    data = study(0.8, seed=6)
    words = pa.array(["poor", "fair", "good", "fine"])
    labels = pa.DictionaryArray.from_arrays(
        pa.array([value - 1 for value in data["rating"].to_pylist()], pa.int32()), words, ordered=True
    )
    named = data.set_column(data.column_names.index("rating"), "rating", labels)
    for model in ("lm", "clm"):
        numbers, labelled = (decide(table, protocol(model), engine="fast") for table in (data, named))
        assert labelled == numbers


def test_rows_that_repeat_another_and_rows_with_gaps_do_not_count():
    data, plan = study(0.8, seed=6), protocol("lm")
    gaps = data.slice(0, 2).set_column(data.column_names.index("rating"), "rating", pa.array([None, None], pa.int64()))
    assert decide(pa.concat_tables([data, data.slice(0, 5), gaps]), plan, engine="fast") == decide(
        data, plan, engine="fast"
    )


def test_the_truth_of_these_studies_has_no_slopes():
    assert TRUTH.participant_sd[1] == TRUTH.item_sd[1] == 0  # so that the models above are the right ones
