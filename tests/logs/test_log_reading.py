"""Logs of every harness become one table; what has no score is there and says why."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import pytest

import ordbridge as ob
from ordbridge.errors import InputError
from ordbridge.logs.table import about

sys.path.insert(0, str(Path(__file__).parent))
import made

COLUMNS = ["model", "task", "sample", "epoch", "scorer", "score", "cluster", "error"]
SAMPLES = [
    made.sample(1, 1, {"exact": "C", "judge": 4}, metadata={"passage": "p1"}),
    made.sample(1, 2, {"exact": "P", "judge": {"value": math.nan, "reason": "failed"}}, metadata={"passage": "p1"}),
    made.sample(2, 1, {"exact": {"value": "N", "reason": "refusal"}, "judge": 2.5}, metadata={"passage": "p1"}),
    made.sample(2, 2, {"exact": "I", "judge": True}, limit="message", metadata={"passage": "p1"}),
    made.sample(3, 1, {}, error="RuntimeError('503')", metadata={"passage": "p2"}),
]  # fmt: skip
EXPECTED = {
    ("1", 1, "exact"): (1.0, None), ("1", 1, "judge"): (4.0, None), ("1", 2, "exact"): (0.5, None),
    ("1", 2, "judge"): (None, "unscored"), ("2", 1, "exact"): (0.0, "no answer"), ("2", 1, "judge"): (2.5, None),
    ("2", 2, "exact"): (0.0, "limit"), ("2", 2, "judge"): (1.0, "limit"), ("3", 1, "exact"): (None, "error"),
    ("3", 1, "judge"): (None, "error"),
}  # fmt: skip


def as_dict(table):
    assert table.column_names == COLUMNS
    return {(row["sample"], row["epoch"], row["scorer"]): (row["score"], row["error"]) for row in table.to_pylist()}


@pytest.mark.parametrize("kind", ["zstd", "deflate", "json", "interrupted"])
def test_inspect_logs_of_every_kind_say_the_same(tmp_path, kind):
    head = made.header("openai/gpt", scorers=[{"name": "exact"}, {"name": "judge"}])
    if kind == "json":
        path = made.inspect_json(tmp_path / "a.json", head, SAMPLES)
    elif kind == "interrupted":
        path = made.interrupted(tmp_path / "a.eval", head, SAMPLES)
    else:
        path = made.eval_file(tmp_path / "a.eval", head, SAMPLES, {"zstd": 93, "deflate": 8}[kind])
    table = ob.logs.read(path)
    assert as_dict(table) == EXPECTED
    codes = {one.code for one in about(table)["findings"]}
    assert ("log-unfinished" in codes) == (kind == "interrupted")
    assert set(ob.logs.read(path, cluster="passage")["cluster"].to_pylist()) == {"p1", "p2"}


def test_an_old_release_has_neither_scorers_nor_metadata_in_summaries(tmp_path):
    thin = [{name: value for name, value in one.items() if name != "metadata"} for one in SAMPLES]
    members = {f"samples/{one['id']}_epoch_{one['epoch']}.json": one for one in SAMPLES}
    path = tmp_path / "a.eval"
    path.write_bytes(made.packed({**members, "summaries.json": thin, "header.json": made.header("m")}, 8))
    assert as_dict(ob.logs.read(path)) == EXPECTED
    assert set(ob.logs.read(path, cluster="passage")["cluster"].to_pylist()) == {"p1", "p2"}  # from the samples


def test_dictionaries_are_several_scorers_and_words_are_not_scores(tmp_path):
    rows = [made.sample(1, 1, {"judge": {"value": {"style": 3, "facts": "C"}}, "colour": "red"})]
    table = ob.logs.read(made.eval_file(tmp_path / "a.eval", made.header("m"), rows))
    assert as_dict(table) == {("1", 1, "judge.style"): (3.0, None), ("1", 1, "judge.facts"): (1.0, None)}
    assert [one.values["names"] for one in about(table)["findings"]] == [["colour"]]


def test_all_samples_errored_leaves_rows_without_scores(tmp_path):
    rows = [made.sample(n, 1, {}, error="boom") for n in range(3)]
    head = made.header("m", scorers=[{"name": "exact"}])
    table = ob.logs.read(made.eval_file(tmp_path / "a.eval", head, rows))
    assert set(as_dict(table).values()) == {(None, "error")} and table.num_rows == 3


def test_filters_of_lm_eval_are_scorers_and_its_directions_are_kept(tmp_path):
    rows = [made.doc(n, which, exact_match=float(n % 2), loss=0.5) for n in range(3) for which in ("none", "strict")]
    made.lm_eval(tmp_path, "org/model", rows, higher_is_better={"qa": {"exact_match": True, "loss": False}})
    table = ob.logs.read(tmp_path)
    assert {row["model"] for row in table.to_pylist()} == {"org/model"}
    assert set(table["scorer"].to_pylist()) == {"exact_match", "exact_match,strict", "loss", "loss,strict"}
    assert table.num_rows == 12 and set(table["epoch"].to_pylist()) == {1}
    assert about(table)["lower"] == ["loss", "loss,strict"]


def test_documents_that_changed_under_one_id_are_not_paired(tmp_path):
    made.lm_eval(tmp_path, "a", [made.doc(n, acc=1.0) for n in range(5)])
    made.lm_eval(tmp_path, "b", [made.doc(n, text="changed" if n == 4 else "", acc=n % 2) for n in range(5)])
    found = ob.logs.compare(tmp_path)
    assert found.pairs["items"].to_pylist() == [4]
    assert next(one for one in found.findings if one.code == "items-differ").values["n"] == 1


def test_promptfoo_repeats_are_paired_by_their_variables(tmp_path):
    def row(model, question, test, score, failure=0):
        named = {"namedScores": {"tone": score / 2}, "provider": {"id": "x", "label": model}, "promptIdx": 0}
        vary = {"vars": {"q": question}, "testIdx": test, "score": score, "success": score == 1}
        return {**named, **vary, "failureReason": failure}

    rows = [row("a", "one", 0, 1), row("a", "one", 1, 0), row("a", "two", 2, 1), row("b", "one", 0, 0, failure=2)]
    table = ob.logs.read(made.promptfoo(tmp_path / "out.json", rows))
    names = ("model", "sample", "epoch", "scorer")
    seen = {tuple(row[name] for name in names): (row["score"], row["error"]) for row in table.to_pylist()}
    assert seen[("a", "one", 1, "score")] == (1.0, None) and seen[("a", "one", 2, "score")] == (0.0, None)
    assert seen[("a", "two", 1, "tone")] == (0.5, None) and seen[("b", "one", 1, "success")] == (None, "error")


def test_promptfoo_without_variables_and_with_a_judge_that_failed(tmp_path):
    failed = {"componentResults": [{"pass": False, "metadata": {"graderError": True}}]}
    rows = [
        {"provider": "echo", "vars": {}, "testIdx": n, "promptIdx": 0, "score": 1, "success": True, "failureReason": 0}
        for n in range(3)
    ]
    rows[2] |= {"gradingResult": failed, "failureReason": 1, "success": False, "score": 0}
    table = ob.logs.read(made.promptfoo(tmp_path / "out.json", rows))
    seen = {(row["sample"], row["scorer"]): row["error"] for row in table.to_pylist()}
    assert len(seen) == 6 and seen[("test 2", "score")] == "unscored" and seen[("test 1", "score")] is None


def test_mt_bench_turns_are_clusters_and_minus_one_is_unscored(tmp_path):
    def line(question, turn, score, model="a"):
        return {"question_id": question, "turn": turn, "model": model, "judge": ["gpt-4", "single-v1"], "score": score}

    rows = [line(81, 1, 8.5), line(81, 2, -1), line(82, 1, 3), line(82, 1, 3), line(82, 1, 5)]
    table = ob.logs.read(made.lines(tmp_path / "gpt-4_single.jsonl", rows))
    assert as_dict(table) == {("81/1", 1, "gpt-4"): (8.5, None), ("81/2", 1, "gpt-4"): (None, "unscored"),
                              ("82/1", 1, "gpt-4"): (3.0, None), ("82/1", 2, "gpt-4"): (5.0, None)}  # fmt: skip
    assert table["cluster"].to_pylist() == ["81", "81", "82", "82"]
    assert about(table)["findings"][0].code == "repeated-lines"


def test_alpaca_eval_compares_with_the_reference_or_models_with_each_other(tmp_path):
    def rows(model, preferences):
        same = {"generator_1": "ref", "generator_2": model, "annotator": "w"}
        return [{"instruction": f"do {n}", "preference": one, **same} for n, one in enumerate(preferences)]

    first = tmp_path / "a.json"
    first.write_text(json.dumps(rows("a", [1.0, 2.0, 1.25, 0, 1.5])))
    alone = ob.logs.compare(first)
    assert {row["model"]: round(row["estimate"], 9) for row in alone.scores.to_pylist()} == {"a": 45.0, "ref": 55.0}
    second = tmp_path / "b.json"
    second.write_text(json.dumps(rows("b", [1.0, 2.0, 2, 2, 2])))
    both = ob.logs.compare([first, second])
    assert both.models == ("a", "b") and both.pairs["difference"].to_pylist() == [pytest.approx(-35.0)]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"PK\x05\x06", "it is not a whole log"),
        (b"nothing", "its end is missing"),
        (made.packed({"x": 1}), "neither header.json nor _journal/start.json"),
        (made.packed({"header.json": {"eval": {}}}), "does not say which model"),
        (made.packed({"header.json": made.header("m"), "summaries.json": []})[:-30], "its end is missing"),
    ],
)
def test_a_damaged_log_is_one_sentence(tmp_path, content, said):
    path = tmp_path / "a.eval"
    path.write_bytes(content)
    with pytest.raises(InputError, match=said):
        ob.logs.read(path)


def test_a_member_with_damaged_bytes_is_one_sentence(tmp_path):
    path = made.eval_file(tmp_path / "a.eval", made.header("m"), SAMPLES)
    content = bytearray(path.read_bytes())
    place = content.find(b"\x28\xb5\x2f\xfd", content.find(b"summaries.json"))
    content[place + 4 : place + 40] = b"\xff" * 36
    path.write_bytes(bytes(content))
    with pytest.raises(InputError, match=r"cannot unpack summaries\.json"):
        ob.logs.read(path)


def test_several_logs_of_one_model_and_task_are_asked_about(tmp_path):
    rows = [made.sample(n, 1, {"exact": "C"}) for n in range(3)]
    for name in "12":
        made.eval_file(tmp_path / f"{name}.eval", made.header("m"), rows)
    with pytest.raises(InputError, match="m has 2 logs of the task sums"):
        ob.logs.read(tmp_path)
    made.eval_file(tmp_path / "3.eval", made.header("other"), rows)
    with pytest.raises(InputError, match="m has 2 logs of the task sums"):
        ob.logs.read(sorted(tmp_path.glob("*.eval")))
    (tmp_path / "3.eval").unlink()
    two = ob.logs.read(sorted(tmp_path.glob("*.eval")))  # two files, or folders, of one model are two versions of it
    assert len(set(two["model"].to_pylist())) == 2
    assert ob.logs.read(tmp_path, runs="latest").num_rows == 3
    assert ob.logs.read(tmp_path, runs="epochs").num_rows == 6
    made.eval_file(
        tmp_path / "1.eval", made.header("m", status="error"), rows[:1]
    )  # a failed run beside a finished one
    table = ob.logs.read(tmp_path)
    assert table.num_rows == 3 and about(table)["findings"][0].code == "failed-runs"


def test_what_is_a_log_and_what_is_not(tmp_path):
    ratings = tmp_path / "ratings.json"
    ratings.write_text(json.dumps([{"item": 1, "rating": 2}]))
    log = made.eval_file(tmp_path / "a.eval", made.header("m"), SAMPLES)
    assert ob.logs.is_log(log) and ob.logs.is_log(tmp_path) and not ob.logs.is_log(ratings)
    assert not ob.logs.is_log({"a": [1]}) and not ob.logs.is_log([]) and not ob.logs.is_log(tmp_path / "none.csv")
    with pytest.raises(InputError, match=r"ratings\.json is not a log"):
        ob.logs.is_log([log, ratings])
    with pytest.raises(InputError, match="without the field 'chapter'; there are passage"):
        ob.logs.read(log, cluster="chapter")


@pytest.mark.parametrize(
    "samples",
    [
        [{"id": 1, "epoch": "x", "scores": {}}],
        [{"id": 1, "scores": {"a": [1]}, "metadata": [3]}],
        [{"scores": [1]}],
        [4],
    ],
)
def test_a_log_of_another_shape_is_one_sentence_or_is_read(tmp_path, samples):
    path = made.inspect_json(tmp_path / "a.json", made.header("m"), samples)
    try:
        ob.logs.read(path)
    except InputError as error:
        assert str(path) in str(error)


def test_models_have_an_order_that_file_names_do_not_change(tmp_path):
    rows = [made.sample(n, 1, {"exact": "C" if n % 2 else "I"}) for n in range(4)]
    files = [made.eval_file(tmp_path / f"{n}.eval", made.header(m), rows) for n, m in enumerate("cab")]
    assert ob.logs.compare(tmp_path).models == ob.logs.compare(files).models == ("a", "b", "c")
    assert ob.logs.compare(files[:2]).models == ("c", "a")  # the first argument first
