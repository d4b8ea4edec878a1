"""From logs to an answer: the right test, common items only, corrected over tasks, direction, and the gate."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import ordbridge as ob
from ordbridge.cli import main
from ordbridge.errors import InputError
from ordbridge.logs import paired
from ordbridge.results.finding import has

sys.path.insert(0, str(Path(__file__).parent))
import made

RNG = np.random.default_rng(3)
A, B = (RNG.random((40, 3)) < share for share in (0.45, 0.7))


@pytest.fixture
def three_epochs(tmp_path):
    return made.two_models(tmp_path, {"new": A.astype(int).tolist(), "old": B.astype(int).tolist()})


@pytest.fixture
def one_epoch(tmp_path):
    return made.two_models(tmp_path, {"new": A[:, :1].astype(int).tolist(), "old": B[:, :1].astype(int).tolist()})


def test_one_epoch_of_right_and_wrong_is_mcnemars_test(one_epoch):
    row = ob.logs.compare(one_epoch).pairs.to_pylist()[0]
    only = int((A[:, 0] & ~B[:, 0]).sum()), int((~A[:, 0] & B[:, 0]).sum())
    assert row["test"] == "mcnemar" and (row["only_a"], row["only_b"]) == only
    assert row["p_value"] == pytest.approx(paired.mid_p(*only), abs=1e-12)
    assert row["difference"] == pytest.approx(100 * (only[0] - only[1]) / 40)
    assert row["run_noise"] is None


def test_epochs_are_averaged_so_that_the_item_is_the_unit(three_epochs):
    found = ob.logs.compare(three_epochs)
    row, expected = found.pairs.to_pylist()[0], stats.ttest_rel(A.mean(axis=1), B.mean(axis=1))
    assert row["test"] == "t" and row["df"] == 39 and row["p_value"] == pytest.approx(expected.pvalue, abs=1e-12)
    ends = expected.confidence_interval()
    assert (row["conf_low"], row["conf_high"]) == pytest.approx((100 * ends.low, 100 * ends.high), abs=1e-10)
    assert row["better"] == "old"
    noise = (A.var(axis=1, ddof=1).mean() + B.var(axis=1, ddof=1).mean()) / 3
    assert row["run_noise"] == pytest.approx(min(1, noise / (A.mean(axis=1) - B.mean(axis=1)).var(ddof=1)))
    assert "old is better: +" in found.answer.splitlines()[0]
    assert "240 of 240 answers scored." in found.counted


def test_no_word_about_raters(three_epochs):
    found = ob.logs.compare(three_epochs)
    shown = f"{found}{found.markdown()}{found.methods()}{ob.logs.plan(three_epochs, 2)}".lower()
    assert not any(word in shown for word in ("rater", "participant", "rated", "rating"))


def test_errors_are_left_out_on_both_sides_and_said(tmp_path):
    right = {"a": [1, 1, 0, 1, 0], "b": [0, 1, 0, 0, 1]}
    for model, answers in right.items():
        rows = [made.sample(n, 1, {"exact": "C" if one else "I"}) for n, one in enumerate(answers)]
        if model == "b":
            rows[0] = made.sample(0, 1, {}, error="503")
        made.eval_file(tmp_path / f"{model}.eval", made.header(model), rows)
    found = ob.logs.compare(tmp_path)
    own = {row["model"]: row for row in found.scores.to_pylist()}
    assert own["a"]["estimate"] == pytest.approx(50.0) and own["a"]["reported"] == pytest.approx(60.0)
    assert found.pairs["items"].to_pylist() == [4] and own["b"]["errors"] == 1
    assert "9 of 10 answers scored (1 error)" in found.counted
    wrong = next(one for one in found.findings if one.code == "errors-as-wrong").values
    counted = ob.logs.compare(tmp_path, errors="wrong").pairs.to_pylist()[0]
    assert counted["items"] == 5 and counted["difference"] == pytest.approx(wrong["difference"]) == pytest.approx(20.0)


def test_tasks_and_pairs_are_one_family_of_holm(tmp_path):
    for task in ("t1", "t2"):
        shares = {"a": 0.3, "b": 0.5, "c": 0.8}
        made.two_models(tmp_path, {m: (RNG.random((30, 2)) < s).astype(int).tolist() for m, s in shares.items()}, task)
    found = ob.logs.compare(tmp_path)
    p = np.array(found.pairs["p_value"].to_pylist())
    from statsmodels.stats.multitest import multipletests

    assert len(p) == 6 and found.pairs["p_adjusted"].to_pylist() == pytest.approx(multipletests(p, method="holm")[1])
    for row in found.pairs.to_pylist():
        assert (row["conf_low"] > 0 or row["conf_high"] < 0) == (row["better"] is not None)
    assert len(ob.logs.compare(tmp_path, reference="a").pairs) == 4
    assert found.answer.splitlines()[1].startswith("t1: c is better than")


def test_graded_scores_clusters_and_directions(tmp_path):
    values = {"a": RNG.integers(1, 6, 30), "b": RNG.integers(2, 7, 30)}
    for model, each in values.items():
        rows = [
            made.sample(n, 1, {"mean_error": float(v)}, metadata={"passage": f"p{n // 3}"}) for n, v in enumerate(each)
        ]
        made.eval_file(tmp_path / f"{model}.eval", made.header(model), rows)
    plain = ob.logs.compare(tmp_path)
    assert has(plain.findings, "direction-by-name") and has(plain.findings, "clusters-possible")
    row = plain.pairs.to_pylist()[0]
    assert (
        row["lower_is_better"]
        and not row["percent"]
        and row["difference"] == pytest.approx((values["a"] - values["b"]).mean())
    )
    assert re.search(r"a (is better: )?−[\d.]+ points", plain.answer)
    higher = ob.logs.compare(tmp_path, higher_is_better="mean_error")
    assert not higher.pairs["lower_is_better"].to_pylist()[0] and not has(higher.findings, "direction-by-name")
    grouped = ob.logs.compare(tmp_path, cluster="passage").pairs.to_pylist()[0]
    expected = paired.clustered((values["a"] - values["b"]).astype(float), np.arange(30) // 3)
    assert grouped["clusters"] == 10 and grouped["p_value"] == pytest.approx(expected.p_value, abs=1e-12)


def test_scorers_are_chosen_or_asked_for(tmp_path):
    for model in "ab":
        rows = [made.sample(n, 1, {"exact": "C" if n % 2 else "I", "judge": n % 5 + len(model)}) for n in range(6)]
        made.eval_file(tmp_path / f"{model}1.eval", made.header(model, "t1"), rows)
        rows = [made.sample(n, 1, {"exact": "C" if n % 3 else "I"}) for n in range(6)]
        made.eval_file(tmp_path / f"{model}2.eval", made.header(model, "t2"), rows)
    assert ob.logs.compare(tmp_path).settings["scorer"] == ["exact"]
    with pytest.raises(InputError, match="several scorers"):
        ob.logs.compare(tmp_path, task="t1")
    with pytest.raises(InputError, match="no log has the scorer 'x'; there are exact, judge"):
        ob.logs.compare(tmp_path, scorer="x")
    with pytest.raises(InputError, match="no log has the task 'x'"):
        ob.logs.compare(tmp_path, task="x")


def test_both_models_perfect_has_an_interval_and_no_traceback(tmp_path):
    found = ob.logs.compare(made.two_models(tmp_path, {"a": [[1, 1]] * 30, "b": [[1, 1]] * 30}))
    row = found.pairs.to_pylist()[0]
    assert row["p_value"] == 1.0 and row["conf_low"] < 0 < row["conf_high"]


def test_a_constant_loss_is_not_passed_by_the_gate(tmp_path):
    graded = {"a": 2, "b": 3}
    for model, value in graded.items():
        rows = [made.sample(n, 1, {"judge": value + n}) for n in range(5)]
        made.eval_file(tmp_path / f"{model}.eval", made.header(model), rows)
    found = ob.logs.compare(tmp_path, fail_if_worse=0.5)
    assert has(found.findings, "worse-than-margin") and has(found.findings, "constant-difference")


def test_pass_at_k(three_epochs):
    found = ob.logs.compare(three_epochs, pass_at=2)
    own = [paired.pass_at(2, right.sum(axis=1), np.full(40, 3)) for right in (A, B)]
    assert found.scores["estimate"].to_pylist() == pytest.approx([100 * one.mean() for one in own])
    interval = stats.ttest_1samp(own[0], 0).confidence_interval()
    row = found.scores.to_pylist()[0]
    assert (row["conf_low"], row["conf_high"]) == pytest.approx((100 * interval.low, 100 * interval.high))
    assert found.pairs["p_value"].to_pylist()[0] == pytest.approx(stats.ttest_rel(*own).pvalue, abs=1e-12)
    with pytest.raises(InputError, match="pass@4 needs 4 answers"):
        ob.logs.compare(three_epochs, pass_at=4)


def test_a_plan_from_logs(three_epochs):
    plan = ob.logs.plan(three_epochs, 5)
    rows = {row["epochs"]: row for row in plan.designs.to_pylist()}
    d = A.mean(axis=1) - B.mean(axis=1)
    assert rows[3]["items"] == paired.items_needed(d.var(ddof=1), 0.05, 0.05) and rows[3]["now"]
    noise = A.var(axis=1, ddof=1).mean() + B.var(axis=1, ddof=1).mean()
    expected = max(d.var(ddof=1) - noise / 3, 0) + min(noise, 3 * d.var(ddof=1)) / 8
    assert rows[8]["items"] == paired.items_needed(expected, 0.05, 0.05)
    assert rows[1]["items"] > rows[3]["items"] > rows[8]["items"]
    assert rows[3]["items_low"] < rows[3]["items"] < rows[3]["items_high"]
    with pytest.raises(InputError, match="effect_points=0 must be above 0"):
        ob.logs.plan(three_epochs, 0)


def test_ob_compare_knows_logs(three_epochs):
    assert ob.compare(str(three_epochs)).pairs.equals(ob.logs.compare(three_epochs).pairs)
    with pytest.raises(InputError, match="item= is about ratings by people"):
        ob.compare(str(three_epochs), item="x")


def test_the_gate_of_the_command_line(tmp_path, capsys):
    for name, right in (("new", A), ("old", B)):
        (tmp_path / name).mkdir()
        made.two_models(tmp_path / name, {"same/model": right.astype(int).tolist()})
    new, old = str(tmp_path / "new"), str(tmp_path / "old")
    assert main(["compare", new, old, "--fail-if-worse", "1.0", "--json", "-"]) == 1
    written = json.loads(capsys.readouterr().out)
    assert written["kind"] == "log-comparison" and set(written["tables"]) == {"pairs", "scores", "logs"}
    assert written["findings"][0]["code"] == "worse-than-margin"
    assert written["tables"]["pairs"][0]["system_a"].startswith("same/model (")
    assert main(["compare", old, new, "--fail-if-worse", "1.0"]) == 0
    assert main(["compare", new, old, "--fail-if-worse", "99"]) == 0
    assert main(["compare", new, old]) == 0
    assert main(["compare", str(tmp_path), "--fail-if-worse", "1"]) == 2
    capsys.readouterr()
    assert main(["compare", new, old, "--participant", "x"]) == 2
    assert "--participant is about ratings by people" in capsys.readouterr().err
    assert main(["plan", new, old, "--effect-points", "5"]) == 0
    assert "5 points need" in " ".join(capsys.readouterr().out.split())
    assert main(["plan", new, old]) == 2
    assert "--effect-points 2" in capsys.readouterr().err


def test_options_of_logs_are_refused_with_ratings(tmp_path, capsys):
    file = tmp_path / "ratings.csv"
    file.write_text("participant,item,system,rating\na,1,x,2\n")
    assert main(["compare", str(file), "--scorer", "x"]) == 2
    assert "--scorer is about logs" in capsys.readouterr().err
    assert main(["compare", str(file), str(file)]) == 2


@pytest.mark.slow
def test_every_surface_shows_it(three_epochs, tmp_path):
    found = ob.logs.compare(three_epochs)
    assert found.report(tmp_path / "a.html").exists() and "\\begin" in found.latex()
    assert found.plot().axes[0].get_xlabel() == "percentage points"
    assert ob.logs.plan(three_epochs, 2).markdown()


@pytest.mark.needs_r
@pytest.mark.slow
def test_an_ordinal_model_on_request(tmp_path):
    skill = RNG.normal(size=25)
    for model, shift in (("a", 0.0), ("b", 1.2)):
        rows = [
            made.sample(n, e, {"judge": int(np.clip(round(3 + skill[n] + shift + RNG.normal()), 1, 5))})
            for n in range(25)
            for e in (1, 2, 3)
        ]
        made.eval_file(tmp_path / f"{model}.eval", made.header(model), rows)
    table = ob.logs.read(tmp_path)
    latent = next(one for one in ob.logs.compare(table, model="clmm").findings if one.code == "latent-model").values
    frame = table.to_pandas()
    fit = ob.clmm("score ~ model + (model | sample)", frame[["score", "model", "sample"]])
    row = next(one for one in fit.tidy().to_pylist() if one["term"] == "modelb")
    assert latent["estimate"] == pytest.approx(-row["estimate"], abs=1e-3)  # a – b; another level first
    assert latent["p"] == pytest.approx(row["p_value"], rel=0.05, abs=1e-6)


def test_the_gate_is_not_passed_by_a_task_that_is_missing(tmp_path, capsys):
    for name, tasks in (("new", ["t1"]), ("old", ["t1", "t2"])):
        (tmp_path / name).mkdir()
        for task in tasks:
            made.two_models(tmp_path / name, {"m": A.astype(int).tolist()}, task)
    new, old = str(tmp_path / "new"), str(tmp_path / "old")
    assert main(["compare", new, old, "--fail-if-worse", "1"]) == 2
    assert "only one model has the task t2" in capsys.readouterr().err
    assert main(["compare", new, old, "--fail-if-worse", "1", "--task", "t1"]) == 0
    assert main(["compare", new, old]) == 0
    assert "because only one model has them: t2" in capsys.readouterr().out


def test_the_reference_is_the_old_model(one_epoch):
    assert has(ob.logs.compare(one_epoch, fail_if_worse=0, reference="old").findings, "worse-than-margin")
    assert has(ob.logs.compare(one_epoch, fail_if_worse=0, reference="new").findings, "not-clearly-worse")
