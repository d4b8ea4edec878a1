"""Kinds of published files that were once read wrongly or asked about without need: each as a small file of our own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import ordbridge as ob
from ordbridge.cli import main
from ordbridge.errors import InputError
from ordbridge.reading.preferences import PreferencesFound

ROWS = [(w, f"t{i}", s, 1 + (w * 3 + i * 2 + (s == "B")) % 5) for w in range(1, 7) for i in range(8) for s in "AB"]


def csv(path: Path, header: str, rows: Any, separator: str = ",") -> Path:
    lines = [header.replace(",", separator)] if header else []
    lines += [separator.join(map(str, row)) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def made(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def codes(ratings: ob.RatingTable) -> set[str]:
    return {one.code for one in ratings.findings}


def labels(ratings: ob.RatingTable, role: str) -> set[str]:
    return set(ratings.table[role].to_pylist())


# -- WMT's scores


def campaign(path: Path, rows: list[tuple[str, str, int, str, int, list[dict[str, Any]]]]) -> Path:
    """Write what Appraise exports: annotator, system, number, document, score, errors."""
    lines = []
    for who, system, number, document, score, errors in rows:
        quoted = '"' + json.dumps(errors).replace('"', '""') + '"'
        cells = [who, system, number, "TGT", "eng", "deu", score, f"{document}#{system}", "False", quoted, 1.5, 2.5]
        lines.append(",".join(map(str, cells)))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_segments_that_are_numbered_within_tasks(tmp_path: Path) -> None:
    rows = []
    for task in range(3):
        number = 10
        for system in "AB":
            for document, length in (("news", 3), ("shop", 2)) if task else (("shop", 2), ("news", 3)):
                rows += [(f"w{task}", system, number + n, document, 60 + n, []) for n in range(length)]
                number += length
    rows += [("w9", "C", 40, "news", 50, []), ("w9", "C", 41, "news", 50, [])]  # the third was never rated
    ratings = ob.read(campaign(tmp_path / "esa.csv", rows))
    whole = {"news 1", "news 2", "news 3", "shop 1", "shop 2"}
    assert labels(ratings, "item") == whole | {"news 1 (w9 C)", "news 2 (w9 C)"}
    by = {(r["participant"], r["system"], r["item"]): r["rating"] for r in ratings.table.to_pylist()}
    assert all(by[f"w{t}", s, f"news {n + 1}"] == 60 + n for t in range(3) for s in "AB" for n in range(3))
    assert "segments-of-tasks" in codes(ratings)


def test_segments_that_are_numbered_within_documents(tmp_path: Path) -> None:
    rows = [
        (f"w{w}", s, n, d, 50 + n, []) for w in range(2) for s in "AB" for d in ("news#1-3", "shop") for n in (1, 2)
    ]
    ratings = ob.read(campaign(tmp_path / "da.csv", rows))
    assert labels(ratings, "item") == {"news#1-3 1", "news#1-3 2", "shop 1", "shop 2"}


MINOR, MAJOR = {"severity": "minor", "error_type": None}, {"severity": "major", "error_type": ["Accuracy", "Omission"]}
COMMA = {"severity": "minor", "error_type": ["Fluency", "Punctuation"]}


def test_controls_of_direct_assessment_are_not_scores_of_systems(tmp_path: Path) -> None:
    """Worse references and repeated texts stand under the names of systems: typed as advised, they were averaged."""
    rows = [
        ("H1", f"M{w}", "uk", "en", f"Online-{s}.1", kind, i, score)
        for w in range(4)
        for i in range(6)
        for s in "ABC"
        for kind, score in (("SYSTEM", 0.25 * (w + i) % 1.7), ("BAD_REF", -4.5), ("REPEAT", 0.3), ("REF", 1.1))
    ]
    header = "HITId,WorkerId,Input.src,Input.trg,sys_id,type,sid,score"
    ratings = ob.read(csv(tmp_path / "scores.csv", header, rows))
    assert ratings.table.num_rows == 4 * 6 * 3 and min(ratings.table["rating"].to_pylist()) >= 0
    assert [labels(ratings, role) for role in ("item", "system")] == [set("012345"), {f"Online-{s}.1" for s in "ABC"}]
    assert {one.values["n"] for one in ratings.notes if one.code == "controls-left-out"} == {216}


def test_campaigns_without_documents_have_times_in_their_place(tmp_path: Path) -> None:
    """The start was taken for the document: each rating had an item of its own, and one language was lost."""
    keys = [
        (who, pair, system, number)
        for who in range(3)
        for pair in ("eng-liv", "liv-eng")
        for system in "AB"
        for number in range(1, 7)
    ]
    rows = [
        (who, f"{pair}.{system}", number, "TGT", *pair.split("-"), 40 + 7 * number + who, 1665e6 + k, 1665e6 + k + 0.4)
        for k, (who, pair, system, number) in enumerate(keys)
    ]
    ratings = ob.read(csv(tmp_path / "scores.csv", "", rows))
    assert labels(ratings, "item") == {f"{pair} {number}" for pair in ("eng-liv", "liv-eng") for number in range(1, 7)}
    assert len(labels(ratings, "system")) == 4


@pytest.mark.parametrize(
    ("weights", "expected"),
    [(None, [0, 1, 6, 1]), ({"minor": 1, "major": 5, "minor/punctuation": 0.1}, [0, 1, 6, 0.1])],
)
def test_marked_errors_are_the_ratings_where_nothing_else_was_rated(
    tmp_path: Path, weights: dict[str, float] | None, expected: list[float]
) -> None:
    errors = [[], [MINOR], [MINOR, MAJOR], [COMMA]]
    rows = [(f"w{w}", s, n, "d", 0, marks) for w in range(2) for s in "AB" for n, marks in enumerate(errors)]
    ratings = ob.read(campaign(tmp_path / "mqm.csv", rows), levels=weights)
    assert ratings.table["rating"].to_pylist()[:4] == pytest.approx(expected)
    assert {"spans-scored", "lower-is-better"} & codes(ratings) >= {"spans-scored"}
    assert ratings.recognised["rating"] == "column 'penalty'"


def test_scores_beside_marked_errors_stay_the_ratings_unless_weights_are_given(tmp_path: Path) -> None:
    rows = [(f"w{w}", s, n, "d", 80 + n, [MAJOR] * n) for w in range(2) for s in "AB" for n in range(3)]
    path = campaign(tmp_path / "esa.csv", rows)
    assert ob.read(path).table["rating"].to_pylist()[:3] == [80, 81, 82]
    assert "marks-not-used" in codes(ob.read(path))
    assert ob.read(path, levels={"minor": 1, "major": 4}).table["rating"].to_pylist()[:3] == [0, 4, 8]
    with pytest.raises(InputError, match="no penalty for the severity major"):
        ob.read(path, levels={"minor": 1})


# -- columns


def test_columns_computed_from_others_are_no_ratings(tmp_path: Path) -> None:
    first = [row[1:] for row in ROWS if row[0] == 1]
    rows = [(i, s, 50 + r, (r - 3) / 1.5, 40 + r, (r - 2) / 1.5, ["low", "high"][r > 2]) for i, s, r in first]
    header = "text,model,fluency,fluency_zscore,meaning,z_meaning,fluency_bin2"
    ratings = ob.read(csv(tmp_path / "x.csv", header, rows))
    assert labels(ratings, "criterion") == {"fluency", "meaning"}
    rows = [(i, s, (r - 3) / 1.5) for i, s, r in first]
    assert ob.read(csv(tmp_path / "z.csv", "text,model,fluency_zscore", rows)).table.num_rows == 16


def test_texts_of_which_few_come_twice_have_one_score_each(tmp_path: Path) -> None:
    rows = [(f"t{i % 98}", s, 1 + (i + (s == "B")) % 5, ["good", "bad"][i % 2]) for i in range(100) for s in "AB"]
    ratings = ob.read(csv(tmp_path / "medians.csv", "text,model,quality,domain", rows))
    assert "participant" not in ratings.table.column_names and "no-raters" in codes(ratings)


def test_only_columns_that_may_name_them_are_proposed(tmp_path: Path) -> None:
    rows = [(w, s, 1 + (r + n) % 5, r / 7, 1 + r % 3, i, len(i) + w % 3) for w, i, s, r in ROWS for n in range(2)]
    with pytest.raises(InputError) as caught:
        ob.read(csv(tmp_path / "x.csv", "worker_id_anon,model,human_score,nll,gm,ref_id,words", rows))
    assert "which may be ref_id, or" in str(caught.value)
    ratings = ob.read(tmp_path / "x.csv", item="ref_id")
    assert ratings.recognised["participant"] == "column 'worker_id_anon'"


def test_results_of_systems_are_refused(tmp_path: Path) -> None:
    rows = [(s, 3 + n / 10, 3.5 - n / 10) for n, s in enumerate("ABCDE")]
    for header in ("model,coherence,fluency", "System,Score,Wins"):
        with pytest.raises(InputError, match="one row per system: these are results"):
            ob.read(csv(tmp_path / "x.csv", header, rows))
    ranked = csv(tmp_path / "r.csv", "System,Score,Rank", [(*row[:2], n + 1) for n, row in enumerate(rows)])
    with pytest.raises(InputError, match="these are results"):
        ob.read(ranked)


def test_a_crowd_each_of_whom_saw_little_does_not_hide_the_system(tmp_path: Path) -> None:
    rows = [(f"p{n * 7 % 50}", f"i{n % 6}", ["human", "webp"][n // 6 % 2], 1 + n % 7) for n in range(240)]
    ratings = ob.read(csv(tmp_path / "x.csv", "WorkerID,image,compressor,rating", rows))
    assert ratings.recognised["system"] == "column 'compressor'" and "taken-by-content" in codes(ratings)
    own = [(f"p{n}", f"i{n % 6}", ["f", "m"][n // 6 % 2], 1 + n % 7) for n in range(240)]  # a property of people
    assert "system" not in ob.read(csv(tmp_path / "y.csv", "WorkerID,image,sex,rating", own)).table.column_names


def test_numbers_of_models_are_found_beside_several_criteria(tmp_path: Path) -> None:
    rows = [(w, i[1:], f"{float(s == 'B')}", r, 20 * r, n) for n, (w, i, s, r) in enumerate(ROWS)]
    ratings = ob.read(csv(tmp_path / "x.csv", "user_id,question_id,mid,Fluency,Overall DA Score,number", rows))
    assert ratings.recognised["system"] == "column 'mid'" and labels(ratings, "system") == {"0.0", "1.0"}


def test_columns_that_have_known_systems_in_their_names_are_systems(tmp_path: Path) -> None:
    header = "WorkerId,story,GOLD,LONGEST_3,PGN,Transformer,MV_BART,S_BART"
    rows = [(w, i, *(1 + (r + k) % 5 for k in range(6))) for w, i, s, r in ROWS if s == "A"]
    ratings = ob.read(csv(tmp_path / "x.csv", header, rows))
    assert labels(ratings, "system") == {*header.split(",")[2:]}


def test_raters_in_the_names_of_columns_are_no_systems(tmp_path: Path) -> None:
    rows = [("c", i, r, 1 + r % 5) for w, i, s, r in ROWS if w == 1 and s == "A"]
    with pytest.raises(InputError, match="say raters, but 'user_id' names raters, too"):
        ob.read(csv(tmp_path / "x.csv", "user_id,text,annotator_1,annotator_2", rows))
    ratings = ob.read(tmp_path / "x.csv", ignore="user_id")
    assert labels(ratings, "participant") == {"annotator_1", "annotator_2"}


def test_the_text_is_no_item_where_it_comes_again(tmp_path: Path) -> None:
    rows = [(f"annotator_{w}", n, f"a sentence {n // 2}", 1 + (n + w) % 5) for n in range(40) for w in range(3)]
    ratings = ob.read(csv(tmp_path / "x.csv", "annotator,id,source,fluency", rows))
    assert len(labels(ratings, "item")) == 40


def test_questions_are_named_by_their_kind_are_no_items(tmp_path: Path) -> None:
    rows = [(*row, kind) for row in ROWS for kind in ("form", "content")]
    ratings = ob.read(csv(tmp_path / "x.csv", "participant,item,system,rating,kind_of_question", rows))
    assert len(labels(ratings, "item")) == 8
    assert "criteria-in-one-column" in {one.code for one in ob.check(ratings).findings}


# -- scales


def test_a_scale_round_zero_is_one(tmp_path: Path) -> None:
    values = [2] * 60 + [1] * 40 + [0] * 20 + [-1] * 3 + [-2] * 2
    rows = [(n % 5, f"t{n // 5}", "AB"[n % 2], values[n * 7 % 125]) for n in range(125)]
    path = csv(tmp_path / "x.csv", "worker,text,model,simplicity", rows)
    assert "outside-scale" not in {one.code for one in ob.check(path).findings}
    coded = [(*row[:3], -1 if row[3] < 0 else row[3]) for row in rows]
    coded = csv(tmp_path / "y.csv", "worker,text,model,simplicity", coded)
    assert "outside-scale" in {one.code for one in ob.check(coded).findings}


@pytest.mark.parametrize(("value", "code"), [(199, "beyond-scale"), (999, "outside-scale"), (-1, "outside-scale")])
def test_a_magnitude_is_said_and_a_code_is_refused(tmp_path: Path, value: int, code: str) -> None:
    rows = [(n % 5, f"t{n // 10}", "AB"[n // 5 % 2], 20 + 5 * (n * 7 % 17)) for n in range(200)]
    rows[3] = (*rows[3][:3], value)
    path = csv(tmp_path / "x.csv", "worker,text,model,quality", rows)
    assert {"beyond-scale", "outside-scale"} & {one.code for one in ob.check(path).findings} == {code}
    assert ob.check(path).table.num_rows >= 1


# -- JSON


def test_questions_within_passages(tmp_path: Path) -> None:
    def reviews(system: str, n: int) -> dict[str, Any]:
        given = [
            {"annotations": [{"annotation": ["no"], "selection": "a part"}] * (w % 2), "worker_id": str(w),
             "correctness-rating": 10 * ((w + n) % 7), "overall-rating": 10 * ((w * n) % 9), "overall-rank": 1 + w % 2}
            for w in range(3)
        ]  # fmt: skip
        means = {"correctness-rating": 20 + n / 3, "overall-rating": 30 + n / 7, "overall-ranking": 1}
        return {"response": f"{system} said {n}", "reviews": given, "overall": means}

    passages = [
        {"passage-id": str(p),
         "questions": {str(q): {s: reviews(s, 7 * p + q) for s in ("bart", "human")} for q in range(4)}}
        for p in range(5)
    ]  # fmt: skip
    path = tmp_path / "all.jsonl"
    path.write_text("\n".join(map(json.dumps, passages)), encoding="utf-8")
    ratings = ob.read(path)
    sizes = {role: len(labels(ratings, role)) for role in ("participant", "item", "system", "criterion")}
    assert sizes == {"participant": 3, "item": 20, "system": 2, "criterion": 2}
    assert ratings.table.num_rows == 5 * 4 * 2 * 3 * 2


def test_texts_that_say_their_system_inside(tmp_path: Path) -> None:
    names = ["chatgpt", "bart", "ref"]
    files = []
    for who in ("a1", "a2"):
        texts: dict[str, Any] = {}
        for n in range(10):
            given = [{"text": ["x"], "score": 1 + (n + k) % 5, "model": names[(k + n) % 3]} for k in range(3)]
            texts[f"d{n}"] = {"document": ["a", "b"]} | {f"summary {k}": one for k, one in enumerate(given, 1)}
        files.append(made(tmp_path / f"{who}.json", texts))
    ratings = ob.read(files)
    assert labels(ratings, "system") == {*names} and len(labels(ratings, "item")) == 10
    assert labels(ratings, "participant") == {"a1", "a2"} and ratings.table.num_rows == 60


def test_raters_by_name_inside_a_record(tmp_path: Path) -> None:
    records = []
    for n in range(20):
        given = {f"annotator_{w}": {"fluency": 1 + (n + w) % 3, "simplicity": 1 + n * w % 3} for w in (1, 2, 3)}
        records.append({"id": n, "model": "ab"[n % 2], "source": f"text {n // 2}", "label_annotations": given})
    ratings = ob.read(made(tmp_path / "likert.json", records))
    assert labels(ratings, "participant") == {"annotator_1", "annotator_2", "annotator_3"}
    assert labels(ratings, "system") == {"a", "b"} and labels(ratings, "criterion") == {"fluency", "simplicity"}


def test_marked_places_are_no_rows(tmp_path: Path) -> None:
    records = [
        {"source": f"t{n % 10}", "text1": "x", "text2": "y", "text1_tag": "abc"[n % 3], "text2_tag": "abc"[(n + 1) % 3],
         "choice": f"text{1 + n // 2 % 2}",
         "annotations": {"text1": [{"start": 0, "end": 3, "label": "x"}] * (n % 4), "text2": [{"start": 1, "end": 2}]}}
        for n in range(30)
    ]  # fmt: skip
    with pytest.raises(PreferencesFound, match="30 comparisons of 3 systems") as caught:
        ob.read(made(tmp_path / "x.json", records))
    assert caught.value.preferences is not None


# -- comparisons


def test_better_than_the_other_or_not(tmp_path: Path) -> None:
    verdicts = ["True", "False", "Equally Good"]
    rows = [(f"t{n % 9}", f"p{n % 4}", "a", "b", verdicts[n % 3], verdicts[n % 2]) for n in range(36)]
    header = (
        "article_id,evaluator_id,writer_summary,davinci-002_summary,overall_writer_better,informative_writer_better"
    )
    with pytest.raises(PreferencesFound) as caught:
        ob.read(csv(tmp_path / "x.csv", header, rows))
    found = caught.value.preferences
    assert found is not None and set(found.systems) == {"writer", "davinci-002"}
    assert found.table["criterion"].unique().to_pylist() == ["overall", "informative"]
    assert found.table["outcome"].to_pylist()[:3] == ["a", "b", "tie"]


def test_left_and_right(tmp_path: Path) -> None:
    rows = [("abc"[n % 3], "abc"[(n + 1) % 3], ["left", "right", "tie"][n % 3], n) for n in range(30)]
    with pytest.raises(PreferencesFound, match="30 comparisons of 3 systems"):
        ob.read(csv(tmp_path / "x.csv", "left,right,winner,prompt", rows))


def test_systems_without_names_are_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = [
        {"q_id": f"q{n}", "question_text": f"why {n}?", "answer1": "x", "answer2": "y", "annotator": 12, "id": n,
         "BetterAnswer": f"Answer {'AB'[n % 2]}", "annotation_id": n, "lead_time": 3.5, "DifficultToChoose": "No."}
        for n in range(20)
    ]  # fmt: skip
    path = made(tmp_path / "x.json", records)
    assert main(["compare", str(path)]) == 2
    assert "name them: --systems A B" in capsys.readouterr().err
    with pytest.raises(PreferencesFound, match="20 comparisons of 2 systems") as caught:
        ob.read(path, system=["human", "gpt"])
    assert caught.value.preferences is not None
    assert caught.value.preferences.table["criterion"].null_count == 20


def test_yes_and_one_do_not_say_which(tmp_path: Path) -> None:
    header = ",".join(f"{name}{n}" for n in range(3) for name in ("systema", "systemb", "meaning"))
    rows = [[x for k in range(3) for x in ("ab"[n % 2], "ba"[n % 2], str((n * k) % 2 == 0))] for n in range(12)]
    rows[0] = ["a", "b", "False"] * 3
    with pytest.raises(InputError, match="say yes or no and not which system is meant"):
        ob.read(csv(tmp_path / "x.csv", f"worker_id,{header}", [(f"p{n}", *row) for n, row in enumerate(rows)]))
    rows = [(f"p{n % 5}", f"t{n}", "ab"[n % 2], "ba"[n % 2], 1 + n // 3 % 2) for n in range(40)]
    with pytest.raises(InputError, match="if these say which is better, call the column winner"):
        ob.read(csv(tmp_path / "y.csv", "worker,text,system_a,system_b,category", rows))
    with pytest.raises(PreferencesFound, match="40 comparisons of 2 systems"):
        ob.read(csv(tmp_path / "z.csv", "worker,text,system_a,system_b,winner", rows))


# -- exports and files


def test_toloka(tmp_path: Path) -> None:
    rows = [
        (i, s, r, "", f"as-{n}", f"w{w}", "REJECTED" if n < 3 else "APPROVED") for n, (w, i, s, r) in enumerate(ROWS)
    ]
    rows += [("t0", "A", 5, 5, "as-x", "w1", "APPROVED")]  # a control
    header = "INPUT:text,INPUT:system,OUTPUT:category,GOLDEN:category"
    header += "".join(f",ASSIGNMENT:{name}" for name in ("assignment_id", "worker_id", "status"))
    ratings = ob.read(csv(tmp_path / "x.tsv", header, rows, "\t"))
    assert ratings.table.num_rows == len(ROWS) - 3
    assert ratings.recognised["rating"] == "column 'OUTPUT:category'"
    assert {"recognised-as", "controls-left-out", "rejected-left-out"} <= codes(ratings)


def test_answers_on_no_known_scale_are_shown(tmp_path: Path) -> None:
    ids = [f"3HIT{n // 2}" for n in range(12)]
    rows = [(h, f"3A{n}", f"w{n % 4}", "Approved", "pn"[n % 2], "pn"[n // 2 % 2], "n") for n, h in enumerate(ids)]
    header = "HITId,AssignmentId,WorkerId,AssignmentStatus,Answer.S1,Answer.S2,Answer.S3"
    with pytest.raises(InputError) as caught:
        ob.read(csv(tmp_path / "x.csv", header, rows))
    assert "Answer.S1, Answer.S2 of x.csv are n, p: an unknown scale" in str(caught.value)
    named = [(*row[:4], ["gpt", "bart"][n % 2], "x") for n, row in enumerate(rows)]
    with pytest.raises(InputError) as caught:  # names of systems are no answers
        ob.read(csv(tmp_path / "y.csv", "HITId,AssignmentId,WorkerId,AssignmentStatus,Answer.task,Input.u", named))
    named = [(*row[:-1], row[-2]) for row in named]
    with pytest.raises(InputError) as caught:
        ob.read(csv(tmp_path / "y.csv", "HITId,AssignmentId,WorkerId,AssignmentStatus,Answer.task,Input.u", named))
    assert "levels" not in str(caught.value)


def test_lists_of_ratings(tmp_path: Path) -> None:
    def record(n: int, **more: Any) -> dict[str, Any]:
        return {
            "ID": n,
            "DialogModel": "ab"[n % 2],
            "Context": f"c {n // 2}",
            "HumanScores": f"[{n % 5}, 3, {n % 3}]",
        } | more

    ratings = ob.read(made(tmp_path / "few.json", [record(n) for n in range(40)]), participant="none")
    assert ratings.table.num_rows == 120 and "lists-taken-apart" in codes(ratings)
    assert ratings.table["rating"].to_pylist()[:3] == [0, 3, 0]
    with pytest.raises(InputError, match=r"stand in a list \(HumanScores\) .* without the names of raters"):
        ob.read(made(tmp_path / "many.json", [record(n) for n in range(400)]))
    workers = [record(n, worker_ids="['w1', 'w2', 'w3']", judged="[0, 1]") for n in range(400)]
    named = ob.read(made(tmp_path / "named.json", workers))
    assert labels(named, "participant") == {"w1", "w2", "w3"} and named.table.num_rows == 1200


def test_a_pointer_of_git_lfs(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:59\nsize 7\n", encoding="utf-8")
    with pytest.raises(InputError, match="only points to a file that Git LFS keeps"):
        ob.read(path)


def test_a_header_that_ends_in_a_separator_shifts_nothing(tmp_path: Path) -> None:
    path = csv(tmp_path / "x.csv", "worker,text,model,score,", [(*row, "a remark") for row in ROWS])
    ratings = ob.read(path)
    assert labels(ratings, "system") == {"A", "B"} and ratings.recognised["participant"] == "column 'worker'"
    path = csv(tmp_path / "r.csv", "worker,text,model,score", [(n, *row) for n, row in enumerate(ROWS)])
    assert ob.read(path).recognised["participant"] == "column 'worker'"  # as R writes the names of rows


def test_batches_of_one_study_need_no_role(tmp_path: Path) -> None:
    files = [csv(tmp_path / f"batch_{n}.csv", "worker,text,model,score", ROWS[n::3]) for n in range(3)]
    ratings = ob.read(files)
    assert ratings.table.num_rows == len(ROWS) and "parts-are-batches" in codes(ratings)
    assert not {"criterion", "row"} & {*ratings.recognised}


def test_one_rater_in_some_records_is_a_rater_as_in_others(tmp_path: Path) -> None:
    records = []
    for n in range(12):
        given = {f"annotator_{w}": {"fluency": 1 + (n + w) % 5} for w in range(1 + n % 3)}
        records.append({"id": n // 2, "model": "ab"[n % 2], "labels": given})
    ratings = ob.read(made(tmp_path / "x.json", records))
    assert ratings.table.num_rows == 24 and labels(ratings, "participant") == {f"annotator_{w}" for w in range(3)}


def test_two_lists_of_raters_are_not_mixed_and_a_mean_of_the_text_is_no_rating(tmp_path: Path) -> None:
    def given(n: int, k: int) -> list[dict[str, int]]:
        return [{"coherence": 1 + (n + w) % 5, "fluency": 1 + (n * w + k) % 5} for w in range(k)]

    records = [
        {"id": f"s{n // 2}", "model_id": "ab"[n % 2], "human_score": 2.5 + n / 7, "coherence": 3 + n / 9,
         "fluency": 4 - n / 11, "expert_annotations": given(n, 3), "turker_annotations": given(n, 5)}
        for n in range(40)
    ]  # fmt: skip
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    with pytest.raises(InputError, match=r"several lists in x\.jsonl: expert_annotations, turker_annotations"):
        ob.read(path)
    ratings = ob.read(path, where="list == expert_annotations")
    assert ratings.table.num_rows == 40 * 3 * 2
    assert ratings.table["rating"].to_pylist()[:6] == [1, 4, 2, 4, 3, 4]


def test_a_constant_system_is_not_replaced_by_a_guess(tmp_path: Path) -> None:
    rows = [
        (f"r{w}", f"i{n % 10}", "t5", ["news", "wiki"][n // 10], 1 + (n + w) % 5) for w in range(4) for n in range(20)
    ]
    ratings = ob.read(csv(tmp_path / "x.csv", "rater,source,model,origin_file,fluency", rows), criterion=None)
    assert ratings.recognised.get("system") != "column 'origin_file'"


def test_answers_that_say_better_are_preferences(tmp_path: Path) -> None:
    words = ["IIW is better", "DCI is better", "Neutral"]
    rows = [(f"i{n}", *(words[(n + k) % 3] for k in range(3))) for n in range(12)]
    with pytest.raises(InputError, match="which of two is better"):
        ob.read(csv(tmp_path / "x.csv", "image,completeness_q,style_q,detail_q", rows))


# -- choices whose answers name a place


PAIRS = [(f"w{w}", f"t{i}", "AB"[i % 2], "BA"[i % 2], (w + i) % 3) for w in range(6) for i in range(8)]


def test_sentence_a_and_sentence_b_say_which_is_better(tmp_path: Path) -> None:
    rows = [(w, i, a, b, "Sentence A" if won else "Sentence B") for w, i, a, b, won in PAIRS]
    header = "WorkerId,Input.id,Input.model1,Input.model2,Answer.Selection.label"
    with pytest.raises(PreferencesFound) as found:
        ob.read(csv(tmp_path / "batch.csv", header, rows))
    preferences = found.value.preferences
    assert preferences is not None and preferences.systems == ("A", "B")
    assert preferences.table["outcome"].to_pylist() == ["a" if won else "b" for *_, won in PAIRS]


def test_a_and_b_beside_two_systems_are_asked_about(tmp_path: Path) -> None:
    rows = [(w, i, a, b, "A" if won else "B") for w, i, a, b, won in PAIRS]
    with pytest.raises(PreferencesFound, match="holds A, B; if these say which is better, call the column winner"):
        ob.read(csv(tmp_path / "pairs.csv", "worker,item,model1,model2,given", rows))


def test_answers_a_and_b_are_no_scale(tmp_path: Path) -> None:
    rows = [(f"w{w}", *("AB"[(w * k + w // 2 + k) % 3 % 2] for k in range(1, 7))) for w in range(9)]
    header = "prolific_id," + ",".join(f"meaning_{k}" for k in range(6))
    with pytest.raises(InputError, match="say which of two is better") as said:
        ob.read(csv(tmp_path / "meaning.csv", header, rows))
    assert "levels" not in str(said.value)


@pytest.mark.parametrize(
    "labels",
    [
        ("A1 better", "A2 better", "equal"),
        ("Audio 1 ist deutlich besser als Audio 2", "Audio 2 ist deutlich besser als Audio 1", "beide gleich gut"),
    ],
)
def test_places_that_are_better_name_no_systems(tmp_path: Path, labels: tuple[str, ...]) -> None:
    rows = [(w, q, f"m{q % 2}", labels[(w + q) % 3], (w * q) % 2) for w in range(9) for q in range(6)]
    with pytest.raises(PreferencesFound, match="no two columns name the systems") as found:
        ob.read(csv(tmp_path / "form.csv", "Person,Question,Method,Preference,Response", rows))
    assert found.value.preferences is None


def test_two_names_and_a_tie_are_not_put_in_order(tmp_path: Path) -> None:
    rows = [(f"w{w}", f"t{i}", ("mt", "tie", "human")[(w + i) % 3]) for w in range(6) for i in range(8)]
    with pytest.raises(InputError, match="call the column winner"):
        ob.read(csv(tmp_path / "parity.csv", "participant_id,item,rating", rows))
    with pytest.raises(PreferencesFound, match="of 2 systems"):
        ob.read(csv(tmp_path / "winner.csv", "participant_id,item,winner", rows))


# -- roles


def test_what_all_systems_share_is_the_item_if_it_is_called_an_id(tmp_path: Path) -> None:
    rows = [(f"text {i}{s}", s, i, f"w{w}", 1 + (w + i) % 4) for w in range(4) for i in range(8) for s in "AB"]
    ratings = ob.read(csv(tmp_path / "stories.csv", "story,system,content_plan_id,worker_id,rating", rows))
    assert ratings.recognised["item"] == "column 'content_plan_id'"


@pytest.mark.parametrize("name", ["listener", "IDListener", "listener_pseudonym"])
def test_listeners_are_participants(tmp_path: Path, name: str) -> None:
    ratings = ob.read(csv(tmp_path / "mos.csv", f"{name},item,system,MOS", ROWS))
    assert ratings.recognised["participant"] == f"column '{name}'"


def test_numbers_of_duplicates_are_no_criterion(tmp_path: Path) -> None:
    rows = [
        (w, i, "A", "B", 40 + 9 * ((w * i) % 6), 50 + (w + i) % 40, *((2 + w % 4, 3 + i % 3) if w % 2 else ("", "")))
        for w in range(6)
        for i in range(8)
    ]
    header = "worker_id,mr_id,sys1,sys2,natur1,natur2,dupl_ref1,dupl_ref2"
    ratings = ob.read(csv(tmp_path / "crowd.csv", header, rows))
    assert "criterion" not in ratings.table.column_names and len(ratings.table) == 2 * len(rows)


@pytest.mark.parametrize("name", ["subject", "worker"])
def test_letters_that_stand_for_the_name_of_their_column(tmp_path: Path, name: str) -> None:
    rows = [(i, s, f"{name[0].upper()}{w}", rating) for w, i, s, rating in ROWS]
    ratings = ob.read(csv(tmp_path / "quality.csv", f"pvs_id,model,{name},rating", rows))
    assert ratings.recognised["participant"] == f"column '{name}'"


def test_boxes_that_were_ticked_are_no_verdicts(tmp_path: Path) -> None:
    rows = [(w, *(("Unchecked", "Checked")[(w + k) % 2] for k in (0, 1)), "Checked", 3 + w % 5, 1 + w % 4)
            for w in range(30)]  # fmt: skip
    with pytest.raises(InputError) as said:
        ob.read(
            csv(tmp_path / "form.csv", "Record ID,At (choice=A),At (choice=B),At (choice=C),How sure,How far", rows)
        )
    assert not isinstance(said.value, PreferencesFound)


def test_a_name_with_a_text_of_its_own_is_not_that_of_a_person(tmp_path: Path) -> None:
    rows = [
        (f"Adult {n}", s, n % 4, f"A man with the number {n} looks down at his chest where his heart is depicted.", r)
        for n in range(12)
        for s, r in (("A", n // 3), ("B", (n * n + n // 5) % 4))
    ]
    path = csv(tmp_path / "images.csv", "name,model,id,description,correctness", rows)
    for item in (None, "id"):
        with pytest.raises(InputError, match="says who gave a rating"):
            ob.read(path, item=item)


def test_one_known_slider_among_many_does_not_hide_the_others(tmp_path: Path) -> None:
    rows = [
        (f"w{w}", f"v{i}", *((w * (7 + 4 * k) + i * (13 + 2 * k) + 9 * k) % 101 for k in range(5)))
        for w in range(8)
        for i in range(12)
    ]
    with pytest.raises(InputError, match="on one scale, but not all names say that they are ratings"):
        ob.read(csv(tmp_path / "voices.csv", "rater,item,natuerlich,hell,warm,klanglos,stockend", rows))


def test_what_a_model_wrote_is_not_its_name(tmp_path: Path) -> None:
    texts = [f"This is what the model said about the question number {i}." for i in range(3)]
    rows = [(f"MED{w}", f"q{i}", texts[i], 1 + (w + i) % 5) for w in range(4) for i in range(3)]
    with pytest.raises(InputError, match="which system made a text"):
        ob.compare(csv(tmp_path / "f.csv", "Evaluator ID,Prompt,Model Response,Safety Score (1-5)", rows))


def test_scores_that_were_computed_are_no_slips(tmp_path: Path) -> None:
    """Penalties and z-scores have a long tail; a code such as -999 among them is still one."""
    rows = [
        (f"t{i}", s, round(-((i * 7 + k) % 13) / 3 - (20 if i == 5 else 0), 4))
        for i in range(40)
        for k, s in enumerate("AB")
    ]
    fine = ob.check(csv(tmp_path / "f.csv", "seg_id,system,score", rows), participant="none")
    assert "outside-scale" not in {one.code for one in fine.findings}
    rows[3] = ("t1", "B", -999)
    coded = ob.check(csv(tmp_path / "g.csv", "seg_id,system,score", rows), participant="none")
    assert "outside-scale" in {one.code for one in coded.findings}


def test_none_among_numbers_is_a_missing_number(tmp_path: Path) -> None:
    rows = [(f"t{i}", s, "None" if i % 9 == 0 else -((i * 7 + k) % 25)) for i in range(40) for k, s in enumerate("AB")]
    found = ob.check(csv(tmp_path / "f.csv", "seg_id,system,score", rows), participant="none")
    assert not {one.code for one in found.findings if one.severity == "error"}


def test_which_criterion_may_be_better_when_low_is_said_so_that_it_can_be_typed(tmp_path: Path) -> None:
    """Who reads the answer sees it: it was among the notes, and its advice turned all criteria round."""
    rows = [(rater, item, system, rating, rating % 2) for rater, item, system, rating in ROWS]
    found = ob.read(csv(tmp_path / "f.csv", "rater,item,system,fluency,hallucination", rows))
    (said,) = (one for one in found.notes if one.code == "higher-taken-for-better")
    assert said.severity == "warning" and "lower_is_better='hallucination'" in said.text
    turned = ob.read(tmp_path / "f.csv", lower_is_better="hallucination")
    assert turned.lower_is_better == ("hallucination",)


@pytest.mark.parametrize(
    ("systems", "code"),
    [
        (["3", "5", "35", "3 5", "3 35", "5 35"], "several-systems-in-cell"),
        (["Claude few shot", "Claude zero shot", "Llama few shot", "Llama zero shot"], None),
        (["0.7", "1.0", "10", "v1.1", "v11"], None),
        (["GPT 4", "GPT4"], "labels-differ"),
    ],
)
def test_several_systems_in_a_cell_are_not_one(tmp_path: Path, systems: list[str], code: str | None) -> None:
    """3 5 was said to be 35 with a blank in it, and 1.0 like 10."""
    rows = [(w, f"t{i}", s, 1 + (w + i + k) % 5) for w in range(3) for i in range(5) for k, s in enumerate(systems)]
    found = ob.check(csv(tmp_path / "f.csv", "rater,item,system,rating", rows)).findings
    about = {"several-systems-in-cell", "labels-differ", "similar-labels"}
    assert {one.code for one in found} & about == ({code} if code else set())


@pytest.mark.parametrize(("codes_of", "errors"), [((-1, 1, 2, 3, 4, 5), 1), ((-1, 0, 1, 2), 0), ((-2, -1, 1, 2), 0)])
def test_one_negative_number_without_a_zero_is_a_code(tmp_path: Path, codes_of: tuple[int, ...], errors: int) -> None:
    """With 5% or more of -1 beside 1 to 5, it was a rating."""
    rows = [
        (w, f"t{i}", s, codes_of[(w * 7 + i * 3 + k) % len(codes_of)])
        for w in range(5)
        for i in range(12)
        for k, s in enumerate("AB")
    ]
    found = ob.check(csv(tmp_path / "f.csv", "rater,item,system,rating", rows)).findings
    assert sum(one.code == "outside-scale" for one in found) == errors
