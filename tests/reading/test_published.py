"""Published files in small: each made here in the format that its source has."""

import csv
import zipfile
from pathlib import Path

import pytest

from ordbridge import reading as data
from ordbridge.errors import InputError
from ordbridge.reading import published

DATA = Path(__file__).resolve().parents[2] / "../shared/data"
TABLE_COLUMNS = ["dataset", "system", "item", "text_id", "participant", "criterion", "rating"]


def write(path, rows, delimiter=","):
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows(rows)
    return path


@pytest.mark.skipif(not (DATA / "pplm.csv").is_file(), reason="the real ratings are not here")
def test_the_row_of_pplm_in_the_paper():
    (row,) = data.describe(DATA / "pplm.csv").to_pylist()
    assert row == {
        "dataset": "PPLM",
        "criterion": "fluency",
        "scale": 5,
        "systems": 4,
        "items": 1361,
        "texts": 1361,
        "participants": 14,
        "ratings": 19486,
        "ratings_per_text": 9,
        "per_text_is": "mode",
        "ratings_per_participant": 1356,
        "per_participant_is": "median",
    }


def test_description_of_each_group_and_of_unknown_people():
    table = {
        "criterion": ["x"] * 4 + ["y"],
        "system": ["a", "b", "b", "b", "a"],
        "item": [1, 1, 1, 1, 2],
        "participant": [None] * 5,
        "rating": [1, 2, 3, None, 4],
    }
    x, y = data.describe(table).to_pylist()
    assert (x["ratings"], x["texts"], x["scale"], y["ratings"]) == (3, 2, 3, 1)
    assert x["participants"] is None and x["ratings_per_participant"] is None
    assert data.describe(table, by=()).to_pylist()[0]["ratings"] == 4
    assert data.describe(table, by=(), typical="median")["per_text_is"].to_pylist() == ["median"]


def test_mode_needs_more_than_half_of_the_texts():
    table = {"system": ["a"] * 6, "item": [1, 2, 3, 3, 3, 3], "rating": [1] * 6}  # counts 1, 1, 4
    assert data.describe(table)["per_text_is"].to_pylist() == ["mode"]
    table = {"system": ["a"] * 8, "item": [1, 2, 3, 3, 3, 4, 4, 4], "rating": [1] * 8}  # counts 1, 1, 3, 3
    (row,) = data.describe(table).to_pylist()
    assert (row["ratings_per_text"], row["per_text_is"]) == (2, "median")


def huse(path, system_column="Input.TYPE"):
    inputs = [f"{name}{n}" for n in range(2) for name in ("Input.IDX", "Input.CTX", "Input.TYPE", "Input.OUT")]
    name = ["Input.NAME"] if system_column == "Input.NAME" else []
    header = ["HITId", "WorkerId", *name, *inputs, "Answer.0", "Answer.1", "Approve", "Reject"]

    def line(worker, system, *answers):
        known = [system] if name else []
        return ["H", worker, *known, "0", "ctx, one", system, "out 1", "1", "ctx two", system, "out 2", *answers]

    rows = [header, line("A2LMQ", "SUM", "Very Typical", "Invalid"), line("A21RQ", "HUMAN", "Average", "Rare")]
    return write(path, rows)  # as in the file, the lines end before Approve and Reject


@pytest.mark.parametrize("system_column", ["Input.TYPE", "Input.NAME"])
def test_huse(tmp_path, system_column):
    table = data.read_huse(huse(tmp_path / "raw.csv", system_column), texts=2)
    assert table.column_names == TABLE_COLUMNS
    assert table["rating"].to_pylist() == [6, 1, 4, 2]
    assert table["system"].to_pylist() == ["SUM", "SUM", "HUMAN", "HUMAN"]
    assert table["item"].to_pylist() == ["I0001", "I0002"] * 2
    assert table["participant"].to_pylist() == ["P001", "P001", "P002", "P002"]
    assert "A2LMQ" not in str(table.to_pydict())
    with pytest.raises(InputError, match=r"no column Answer.2; .* texts=2"):
        data.read_huse(tmp_path / "raw.csv")


def pplm(path, names, first_line=False):
    question, a, b = "Which passage is more topic relevant?", published.PPLM_HEADER, "How fluent is the passage of B?"
    header = ["From files: x_R.p", ""] if not first_line else ["A", "B"]
    for name in names:
        header += [question, a, b, name]
    rows = [[*header, ""]]
    if first_line:
        rows.insert(0, ["From files: x_R.p, y", *[""] * 14])
    rows.append(
        ["one\n\ntext", "other", "A", "4", "3", "", "both", "5.0", "3", "*", "neither", "2", "", "", "19_131_633"]
    )
    rows.append([""] * 15)
    return write(path, rows)


def test_pplm(tmp_path):
    pplm(tmp_path / "legal.csv", ["Donnie", "ben", ""])
    pplm(tmp_path / "positive.csv", ["Ben", "Gabe", ""], first_line=True)
    table = data.read_pplm(tmp_path)
    assert table.column_names == [*TABLE_COLUMNS, "topic"]
    legal = table.slice(0, 5)
    assert legal["system"].to_pylist() == ["BCR", "BCR", "BCR", "BC", "BC"]  # 131 % 4 = 3, 633 % 4 = 1
    assert legal["rating"].to_pylist() == [4, 5, 2, 3, 3]
    assert legal["text_id"].to_pylist() == [1, 1, 1, 2, 2]
    people = table["participant"].to_pylist()
    assert people == ["P001", "P002", "P003", "P001", "P002", "P002", "P004", "P003", "P002", "P004"]
    assert "Donnie" not in str(table.to_pydict())
    apart = data.read_pplm([tmp_path / "legal.csv", tmp_path / "positive.csv"], one_unnamed=False)
    assert len(set(apart["participant"].to_pylist())) == 5


@pytest.mark.parametrize("text", ["sys_ref", "system_ref"])
def test_nem(tmp_path, text):
    header = ["dataset", "system", "mr", text, "judge", "informativeness", "naturalness", "quality"]
    rows = [
        header,
        ["BAGEL", "LOLS", "inform(x)", "x is.", "1", "6", "5", "4"],
        ["SFHOT", "WEN", "y", "z", "2", "1", "", "3"],
    ]
    table = data.read_nem(write(tmp_path / "scores.csv", rows))
    assert table["dataset"].to_pylist() == ["BAGEL"] * 3 + ["SFHOT"] * 2
    assert table["rating"].to_pylist() == [6, 5, 4, 1, 3]
    assert table["criterion"].to_pylist() == ["informativeness", "naturalness", "quality", "informativeness", "quality"]
    assert table["participant"].null_count == 5  # a judge's number is no person
    assert table["judge"].to_pylist() == ["1", "1", "1", "2", "2"]
    assert data.describe(table)["participants"].to_pylist() == [None] * 5


def test_flickr8k(tmp_path):
    rows = [
        ["id", "j1", "j2", "j3", "imageid", "textid", "refid"],
        ["0", "1", "1", "2", "105.jpg", "254.jpg#2", "105.jpg#0"],
        ["1", "3", "4", "4", "105.jpg", "271.jpg#2", "105.jpg#1"],
    ]
    table = data.read_flickr8k(write(tmp_path / "judgements", rows))
    assert table["rating"].to_pylist() == [1, 1, 2, 3, 4, 4]
    assert table["participant"].to_pylist() == ["P001", "P002", "P003"] * 2
    assert (table["item"].to_pylist()[3], table["text_id"].to_pylist()[3]) == ("I0002", 2)
    assert table["image_id"].to_pylist() == [1] * 6


XML = """<?xml version="1.0" encoding="utf-8"?>
<dataset><instance id="7"><text>T.</text><targetQuestionType>what</targetQuestionType>
<submission id="a"><question type="what">What is it? <rating ambiguity="2" correctness="3" questionType="1" rater="CP"
 relevance="4" variety="2"/><rating ambiguity="1" correctness="3" questionType="1" rater="KD" relevance="1"
 variety="2"/></question></submission></instance></dataset>"""


def test_qgstec_xml(tmp_path):
    (tmp_path / "data.xml").write_text(XML)
    table = data.read_qgstec(tmp_path / "data.xml")
    assert table.column_names == [*TABLE_COLUMNS, "target_type"]
    assert table["rating"].to_pylist() == [4, 1, 3, 2, 2, 1, 1, 3, 1, 2]
    assert table["criterion"].to_pylist()[:5] == list(published.QGSTEC_CRITERIA)
    assert set(table["participant"].to_pylist()) == {"P001", "P002"}
    (tmp_path / "bad.xml").write_text("<dataset>")
    with pytest.raises(InputError, match="is not well-formed XML"):
        data.read_qgstec(tmp_path / "bad.xml")


def test_two_systems_with_the_same_question_have_two_texts(tmp_path):
    again = XML.replace("</instance>", XML[XML.index("<submission") : XML.index("</instance>")] + "</instance>")
    (tmp_path / "data.xml").write_text(again.replace('id="a"', 'id="b"', 1))
    table = data.read_qgstec(tmp_path / "data.xml")
    assert set(zip(table["system"].to_pylist(), table["text_id"].to_pylist(), strict=True)) == {("b", 1), ("a", 2)}


def test_qgstec_spreadsheet(tmp_path):
    prefixes = [prefix for _, prefix in published.QGSTEC_CRITERIA.values()]
    header = ["uid", "Statement Number", "Submitter", "Target", "Generated Question"]
    header += [f"{prefix}_{n}" for prefix in prefixes for n in (1, 2, 3)]
    rows = [header, ["1", "3", "a", "what", "What? ", *map(str, range(1, 16))]]
    table = data.read_qgstec(write(tmp_path / "QG-STEC_R.csv", rows, delimiter="\t"))
    assert table["rating"].to_pylist() == list(range(1, 16))
    assert table["participant"].to_pylist() == ["P001", "P002", "P003"] * 5


def test_qgstec_matrices_of_judges(tmp_path):
    with zipfile.ZipFile(tmp_path / "Export-Subsets.zip", "w") as archive:
        archive.writestr("sub/STEC_Source_Relevance.csv", "NA\t2\t1\n3\t\t4\n")
        archive.writestr("sub/STEC_Source_Variety.csv", "1\t1\tNA\n")
        archive.writestr("sub/STEC_ReEval_Relevance.csv", "4\t4\t4\n")
        archive.writestr("sub/STEC_ReEval_Heilman_Relevance.csv", "3\t3\t3\n")
    table = data.read_qgstec(tmp_path / "Export-Subsets.zip")
    assert table["rating"].to_pylist() == [2, 1, 3, 4, 1, 1]
    assert table["participant"].to_pylist() == ["P002", "P003", "P001", "P003", "P001", "P002"]  # as the columns
    assert table["item"].to_pylist() == ["I0001", "I0001", "I0002", "I0002", "I0001", "I0001"]
    assert data.read_qgstec(tmp_path / "Export-Subsets.zip", source="ReEval")["rating"].to_pylist() == [4, 4, 4]
    alone = tmp_path / "STEC_Source_Relevance.csv"
    alone.write_text("1\t2\tNA\n")
    assert data.read_qgstec(alone)["rating"].to_pylist() == [1, 2]


@pytest.mark.parametrize("reader", ["huse", "pplm", "nem", "flickr8k", "qgstec"])
def test_other_files_are_refused_in_one_sentence(tmp_path, reader):
    read = getattr(data, f"read_{reader}")
    with pytest.raises(InputError, match=r"has no column|is not a known file of QG-STEC"):
        read(write(tmp_path / "other.csv", [["a", "b"], ["1", "2"]]))
    with pytest.raises(InputError, match="there is no file"):
        read(tmp_path / "nowhere.csv")


def test_a_rating_that_is_no_whole_number(tmp_path):
    rows = [["id", "j1", "j2", "j3", "imageid", "textid", "refid"], ["0", "1", "1.5", "2", "i", "t", "r"]]
    with pytest.raises(InputError, match=r"the rating '1.5' is not a whole number"):
        data.read_flickr8k(write(tmp_path / "judgements", rows))


def test_alttest(tmp_path):
    (tmp_path / "human.json").write_text('{"w7": {"a__fluency": 4, "b__fluency": 2}, "w9": {"a__fluency": 5}}')
    (tmp_path / "llm.json").write_text('{"gpt": {"a__fluency": 4, "b__fluency": 3}, "llama": {"a__fluency": 1}}')
    table = data.read_alttest(tmp_path / "human.json", tmp_path / "llm.json", "demo")
    assert table["participant"].to_pylist() == ["P001", "P001", "P002", "gpt", "gpt", "llama"]
    assert table["kind"].to_pylist() == ["human"] * 3 + ["judge"] * 3
    assert table["item"].to_pylist()[:2] == ["a__fluency", "b__fluency"]
    assert table["text_id"].to_pylist()[:2] == ["a", "b"]
    assert table["rating"].to_pylist() == [4, 2, 5, 4, 3, 1]
    (tmp_path / "llm.json").write_text('{"gpt": {"a__fluency": "good"}}')
    with pytest.raises(InputError, match="mix words and numbers"):
        data.read_alttest(tmp_path / "human.json", tmp_path / "llm.json")
    (tmp_path / "llm.json").write_text('["gpt"]')
    with pytest.raises(InputError, match="does not map each annotator"):
        data.read_alttest(tmp_path / "human.json", tmp_path / "llm.json")
    (tmp_path / "llm.json").write_text("gpt")
    with pytest.raises(InputError, match="is not a JSON file"):
        data.read_alttest(tmp_path / "human.json", tmp_path / "llm.json")
    with pytest.raises(InputError, match="there is no file"):
        data.read_alttest(tmp_path / "nobody.json", tmp_path / "llm.json")
