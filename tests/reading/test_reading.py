"""Every form in which people have ratings gives back the same ratings, and says what was taken for what."""

from __future__ import annotations

from pathlib import Path

import found_files  # noqa: F401 (adds forms of the study)
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import study_files
from study_files import FLUENCY, ITEMS, LIKERT, PEOPLE, SYSTEMS, WRITERS, table

import ordbridge as ob
from ordbridge.errors import InputError
from ordbridge.reading import tables
from ordbridge.results import has

EXPORTS = Path(__file__).parent / "exports"


def ratings_of(found: ob.reading.RatingTable) -> dict[tuple[str, ...], object]:
    """Return what came out as name → rating; nothing may come twice."""
    names = [role for role in ("participant", "item", "system", "criterion") if role in found.recognised]
    rows = found.table.to_pylist()
    result = {tuple(row[name] for name in names): row["rating"] for row in rows}
    assert len(result) == len(rows)
    return result


@pytest.mark.parametrize("kind", WRITERS)
def test_the_same_ratings_come_out(kind: str, tmp_path: Path) -> None:
    path, options, wanted = WRITERS[kind](tmp_path)
    found = ob.read(path, **options)
    assert ratings_of(found) == wanted
    assert {*found.recognised} - {"criterion"} == {"participant", "item", "system", "rating"}
    assert len(found.rows) == found.table.num_rows


@pytest.mark.parametrize("file", sorted(EXPORTS.glob("label-studio*")), ids=lambda path: path.name)
def test_what_label_studio_wrote(file: Path) -> None:
    """Exports of a server of Label Studio 1.23: three annotators, eight texts, one annotation skipped."""
    found = ob.read(file)
    assert found.table.num_rows == 2 * (3 * 8 - 1)
    first = [
        row
        for row in found.table.to_pylist()
        if (row["participant"], row["item"], row["system"]) == ("1", "doc1", "baseline")
    ]
    assert {row["criterion"]: row["rating"] for row in first} == {"fluency": 5, "adequacy": 3}
    assert {*found.table["system"].to_pylist()} == {"baseline", "GPT-4"}
    assert any("Label Studio" in note.text for note in found.notes)


def test_label_studio_choices_can_be_read_by_name() -> None:
    found = ob.read(EXPORTS / "label-studio.json", rating="acceptable")
    assert found.levels == ("No", "Yes") and found.table.num_rows == 23


@pytest.mark.parametrize("file", sorted(EXPORTS.glob("potato*")), ids=lambda path: path.name)
def test_what_potato_wrote(file: Path) -> None:
    """Output of Potato 2.12, by its own classes: three annotators, three items of two systems, two scales."""
    found = ob.read(file)
    given = {"anna": [4, 2, 5, 3, 4, 1], "ben": [5, 3, 4, 2, 5, 2], "cleo": [3, 1, 4, 2, 4, 2]}
    wanted = {}
    for who, values in given.items():
        for value, (item, system) in zip(
            values, ((f"item{n}", s) for n in (1, 2, 3) for s in ("gpt", "baseline")), strict=True
        ):
            wanted |= {(who, item, system, "fluency"): value, (who, item, system, "adequacy"): 6 - value}
    assert ratings_of(found) == wanted


def test_seconds_of_potato_are_kept() -> None:
    assert ob.read(EXPORTS / "potato").table["seconds"][0].as_py() == 4.6


def test_first_lines_say_what_was_taken_for_what(tmp_path: Path) -> None:
    path, _, _ = study_files.utf16_tabs(tmp_path)
    found = ob.read(path)
    assert found.answer == "Read 72 ratings from x.txt."
    assert found.counted.startswith("Columns: participant: column 'évaluateur'; item: column 'texte'; system: column")
    assert [note.what for note in found.notes][:2] == ["encoding: UTF-16", "columns are separated by tabs"]


def test_missing_codes_are_counted(tmp_path: Path) -> None:
    path, _, _ = study_files.codes_for_missing(tmp_path)
    (note,) = [note for note in ob.read(path).notes if note.code == "ratings-left-out"]
    assert note.what == (
        "7 of 72 ratings are missing ('N/A': 1, 'NA': 1, 'NULL': 1, '-': 1, 'n/a': 1, \"Don't know\": 1, empty: 1) and "
        "were left out"
    )


def test_rows_are_those_of_the_file(tmp_path: Path) -> None:
    path, _, _ = study_files.merged_headers_title_and_means(tmp_path)
    assert ob.read(path).rows[[0, -1]].tolist() == [5, 22]  # as a spreadsheet counts them


def test_labels_become_an_ordered_column(tmp_path: Path) -> None:
    path, _, _ = study_files.labels(tmp_path)
    found = ob.read(path)
    assert found.levels == study_files.LIKERT
    kind = found.table["rating"].type
    assert pa.types.is_dictionary(kind) and kind.ordered
    assert found.to_pandas()["rating"].cat.categories.tolist() == list(study_files.LIKERT)


def test_the_package_takes_what_was_read(tmp_path: Path) -> None:
    path, _, _ = study_files.labels(tmp_path)
    found = ob.read(path)
    fit = ob.clm("rating ~ system", found, engine="fast")
    assert [row["term"] for row in fit.tidy().to_pylist()][:2] == ["Strongly disagree|Disagree", "Disagree|Neutral"]
    assert ob.reading.describe(found)["systems"].to_pylist() == [3]


def test_numeric_systems_are_names(tmp_path: Path) -> None:
    rows = [
        ["participant", "item", "system", "rating"],
        *([p, i, 1 + SYSTEMS.index(s), r] for (p, i, s), r in FLUENCY.items()),
    ]
    found = ob.read(table(tmp_path / "x.csv", rows))
    assert pa.types.is_string(found.table["system"].type)
    assert any(note.what.startswith("systems are numbers (1, 2, 3)") for note in found.notes)


def test_names_stay_as_they_are(tmp_path: Path) -> None:
    huge = [str(10**25 + n) for n in range(4)]
    rows = [
        ["rater", "item", "system", "rating"],
        *([huge[PEOPLE.index(p)], f"00{ITEMS.index(i)}", s, r] for (p, i, s), r in FLUENCY.items()),
    ]
    found = ob.read(table(tmp_path / "x.csv", rows))
    assert {*found.table["participant"].to_pylist()} == {*huge}
    assert {*found.table["item"].to_pylist()} == {f"00{n}" for n in range(6)}


def test_other_columns_are_kept_with_their_types() -> None:
    frame = pd.DataFrame(
        {"rater": ["a", "b"], "item": [1, 2], "system": ["x", "y"], "rating": [3, 4], "length": [2.5, 3.0]}
    )
    frame["shown"] = [True, False]
    found = ob.read(frame).table
    assert found.schema.field("length").type == pa.float64() and found.schema.field("shown").type == pa.bool_()
    assert found["item"].to_pylist() == ["1", "2"]


def test_prolific_is_joined_by_participant(tmp_path: Path) -> None:
    ratings = table(tmp_path / "x.csv", study_files.long_rows(["PROLIFIC_PID", "item", "system", "rating"]))
    header = ["Submission id", "Participant id", "Status", "Started at", "Completed at", "Time taken", "Age", "Sex"]
    people = [
        [f"s{p}", p, "RETURNED" if p == "dan" else "APPROVED", "", "", 300, 30 + n, "Female"]
        for n, p in enumerate(PEOPLE)
    ]
    demographics = table(
        tmp_path / "prolific_export.csv", [header, *people, ["s9", "nobody", "APPROVED", "", "", 1, 99, "Male"]]
    )
    found = ob.read(ratings, join=demographics)
    ages = {row["participant"]: row["Age"] for row in found.table.to_pylist()}
    assert ages == {p: 30 + n for n, p in enumerate(PEOPLE)}
    assert "4 of 4 participants" in found.notes[-1].what
    (flaw,) = found.flaws
    assert flaw.code == "refused-submissions" and len(flaw.values["rows"]) == 18
    with pytest.raises(
        InputError, match=r"Prolific's list of participants and has no ratings; .* add this one with join="
    ):
        ob.read(demographics)


def test_a_read_table_is_returned_as_it_is(tmp_path: Path) -> None:
    found = ob.read(study_files.comma(tmp_path)[0])
    assert ob.read(found) is found
    with pytest.raises(InputError, match="read already"):
        ob.read(found, rating="x")


ASKED = {
    "columns whose names say nothing": (
        [["participant", "foo", "bar"], ["a", 1, 2], ["b", 3, 4]],
        r"the columns foo, bar .* give columns='item' if each is an item, columns='system' if each is a system",
    ),
    "columns that may be raters or systems": (
        [["item", "A", "B"], ["x", 1, 2], ["y", 3, 4]],
        r"give columns='participant' if each is a rater, columns='system' if each is a system",
    ),
    "two factors of which one is unknown": (
        [["participant", "sysA_1", "sysA_2", "sysB_1", "sysB_2"], ["a", 1, 2, 3, 4], ["b", 1, 2, 3, 4]],
        r"give columns='\{system\}_\{item\}' if each is an item",
    ),
    "two columns that may be the system": (
        [
            ["rater", "item", "model", "method", "rating"],
            ["a", "x", "m1", "u", 1],
            ["a", "y", "m2", "u", 2],
            ["b", "x", "m2", "v", 3],
        ],
        r"method, model of .* may be the system; say which: system='method' or system='model'",
    ),
    "labels of no known scale": (
        [["rater", "item", "system", "rating"], ["a", "x", "s", "meh"], ["b", "x", "t", "very wow"]],
        r"order is not known: 'meh', 'very wow'; give levels= with these labels from low to high",
    ),
    "nobody rated": (
        [["item", "system", "rating"], ["x", "s", 1], ["y", "t", 2], ["y", "t", 3]],
        r"says who gave a rating; name the column with participant=; or give participant='none' if nobody knows",
    ),
    "nothing was rated": (
        [["rater", "system", "rating"], ["a", "s", 1], ["b", "t", 2]],
        r"says which item was rated; name the column with item=, or give item='none'",
    ),
    "a rating beside criteria": (
        [
            ["rater", "item", "system", "fluency", "adequacy", "score"],
            ["a", "x", "s", 1, 2, 3],
            ["b", "x", "t", 4, 5, 3],
        ],
        r"'score' and fluency, adequacy may hold ratings; give rating='score', or rating=\['fluency', 'adequacy'\]",
    ),
    "criteria with different scales": (
        [["rater", "item", "system", "fluency", "correctness"], ["a", "x", "s", 1, "yes"], ["b", "x", "t", 4, "no"]],
        r"different scales \(fluency: 1 to 4; correctness: no < yes\); read them one at a time",
    ),
    "comparisons": (
        [["question_id", "model_a", "model_b", "winner"], ["1", "x", "y", "model_a"]],
        r"compares two systems in each row \(winner\): 1 comparison of 2 systems\. These are preferences",
    ),
    "no ratings at all": (
        [["a", "b"], ["some text", "other text"]],
        r"no column of x.csv looks like ratings .* it has: a, b",
    ),
    "a long row": (
        [["rater", "item", "rating"], ["a", "x", 1], ["b", "x", 2, "left", "over"]],
        r"row 3 of x.csv has 5 cells, but the header in row 1 has 3; put texts that contain the separator",
    ),
    "grades by letters": (
        [["rater", "essay", "system", "grade"], ["a", "x", "s", "B"], ["b", "x", "t", "A"], ["b", "x", "s", "F"]],
        r"order is not known: 'B', 'A', 'F'; give levels= with these labels",
    ),
    "answers that a spreadsheet made dates": (
        [["rater", "item", "system", "score"], ["a", "x", "s", "2026-04-05"], ["b", "x", "t", "2026-03-05"]],
        r"column 'score' are dates, such as '2026-04-05': a spreadsheet has made them of answers such as 4/5",
    ),
    "columns on two scales": (
        [
            ["rater", "item", "Falke-1", "Adler-2", "Gewicht"],
            ["a", "x", 1, 2, 71],
            ["b", "x", 3, 4, 55],
            ["b", "y", 3, 4, 80],
        ],
        r"Falke-1, Adler-2 of x.csv go up to 4, but Gewicht up to 80; say which are ratings, such as rating=\['Falke",
    ),
    "two factors of which none is known": (
        [
            ["rater", *(f"{a}_Q5_{b}" for a in (1, 2, 3) for b in (1, 2))],
            ["a", 1, 2, 3, 4, 5, 1],
            ["b", 1, 2, 3, 4, 5, 1],
        ],
        r"differ in 1, 2, 3 and in 1, 2, but .* give a pattern of their names such as columns='\{item\}_Q5_\{system\}'",
    ),
    "a form that asks the same of every text": (
        [["Timestamp", *["How fluent is it?"] * 4], ["2026/05/04", 1, 2, 3, 4]],
        r"How fluent is it\? \(2\), .* their names do not say what they differ in",
    ),
    "two columns of one name": (
        [["rater", "item", "rating", "rating"], ["a", "x", 1, 2]],
        r"rating, rating \(2\) may be the rating; say which",
    ),
}


@pytest.mark.parametrize("case", ASKED)
def test_what_is_open_is_asked_in_one_sentence(case: str, tmp_path: Path) -> None:
    rows, sentence = ASKED[case]
    with pytest.raises(InputError, match=sentence) as said:
        ob.read(table(tmp_path / "x.csv", rows))
    assert "\n" not in str(said.value)


def test_a_column_that_is_not_there_is_named_with_the_nearest(tmp_path: Path) -> None:
    path = study_files.comma(tmp_path)[0]
    with pytest.raises(
        InputError,
        match=r"there is no column 'sistem' for the system; x.csv has: participant, .* did you mean 'system'\?",
    ):
        ob.read(path, system="sistem")


def test_rows_and_nothing_can_name(tmp_path: Path) -> None:
    path = table(tmp_path / "x.csv", [["system", "rating"], ["s", 1], ["t", 2], ["s", 3]])
    found = ob.read(path, participant="row", item="none")
    assert found.table["participant"].to_pylist() == ["row 2", "row 3", "row 4"]
    assert "item" not in found.table.column_names


def test_cells_that_are_not_ratings_become_flaws(tmp_path: Path) -> None:
    rows = study_files.long_rows(["participant", "item", "system", "rating"])
    rows[3][3], rows[9][3] = "2023-04-05", "4?"
    found = ob.read(table(tmp_path / "x.csv", rows))
    (flaw,) = found.flaws
    assert (flaw.code, flaw.values["rows"]) == ("not-a-rating", [4, 10])
    assert found.table.num_rows == 70


def test_a_scale_whose_low_numbers_are_good_is_turned_round(tmp_path: Path) -> None:
    words = ("5 (strongly disagree)", "4", "3", "2", "1 (strongly agree)")
    rows = study_files.long_rows(["rater", "item", "system", "fluency"], lambda r: words[r - 1])
    found = ob.read(table(tmp_path / "x.csv", rows))
    assert found.levels == words
    assert has(found.notes, "scale-turned-round")
    usual = ("1 (strongly disagree)", "2", "3", "4", "5 (strongly agree)")
    rows = study_files.long_rows(["rater", "item", "system", "fluency"], lambda r: usual[r - 1])
    assert ob.read(table(tmp_path / "y.csv", rows)).levels is None


def test_grades_can_be_turned_round(tmp_path: Path) -> None:
    path = table(tmp_path / "x.csv", study_files.long_rows(["Bewerter", "Text", "System", "Note"], lambda r: 6 - r))
    (note,) = [note for note in ob.read(path).notes if note.code == "grades"]
    assert "If 1 is the best grade, give levels=['5', '4', '3', '2', '1']." in note.text
    assert ob.read(path, levels=["5", "4", "3", "2", "1"]).levels == ("5", "4", "3", "2", "1")


def test_a_slip_among_labels_is_named_with_its_row(tmp_path: Path) -> None:
    rows = study_files.long_rows(["participant", "item", "system", "answer"], lambda r: LIKERT[r - 1])
    rows[5][3] = "Agre"
    found = ob.read(table(tmp_path / "x.csv", rows))
    (flaw,) = found.flaws
    assert (flaw.code, flaw.values["rows"], found.levels) == ("not-a-rating", [6], LIKERT)


def test_a_code_in_one_column_is_left_to_the_check(tmp_path: Path) -> None:
    """99 among the ratings of one rater does not make that column another scale."""
    rows = [[i, s, *(FLUENCY[p, i, s] for p in PEOPLE)] for i in ITEMS for s in SYSTEMS]
    rows[3][4] = 99
    found = ob.read(table(tmp_path / "x.csv", [["item", "system", *PEOPLE], *rows]))
    assert found.table.num_rows == 72 and "outside-scale" in ob.check(found).table["code"].to_pylist()


DAMAGED = {
    "empty.csv": (b"", r"is empty"),
    "header.csv": (b"rater,item,rating\n", r"has no rows"),
    "quote.csv": (b'rater,item,rating\na,"x,1\nb,y,2\n', r"a quotation mark is opened and never closed"),
    "nul.csv": (b"rater,item,rating\na\x00,x,1\n", r"contains NUL characters"),
    "picture.csv": (bytes(range(256)) * 4, r"is not a text file"),
    "x.json": (b'[{"a": 1}', r"is not JSON"),
    "x.jsonl": (b'{"a": 1}\n{"a": \n', r"line 2 of x.jsonl is not JSON"),
    "deep.json": (b"[" * 100_000, r"is not JSON|nested too deeply"),
    "x.xlsx": (b"no zip", r"ends in .xlsx but is not such a file"),
    "y.xlsx": (b"PK\x03\x04broken", r"is damaged"),
    "x.parquet": (b"PAR1 broken", r"cannot read"),
    "x.xls": (b"\xd0\xcf\x11\xe0", r"is an old Excel file; save it as .xlsx or .csv"),
    "x.html": (b"<!DOCTYPE html><table>", r"is a web page or XML"),
    "half.txt": ("\ufeffrater".encode("utf-16-le")[:-1], r"begins as UTF-16 but is damaged"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_files_are_refused_in_one_sentence(name: str, tmp_path: Path) -> None:
    content, sentence = DAMAGED[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=sentence) as said:
        ob.read(tmp_path / name)
    assert "\n" not in str(said.value)


def test_formulas_that_were_never_computed_are_refused(tmp_path: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    for row in (["rater", "item", "system", "rating"], ["a", "x", "s", "=1+2"], ["b", "x", "t", 4]):
        book.active.append(row)
    book.save(tmp_path / "x.xlsx")
    with pytest.raises(InputError, match=r"cell D2 of x.xlsx has a formula without a saved result; open the file"):
        ob.read(tmp_path / "x.xlsx")


def test_sheets_that_need_a_word(tmp_path: Path) -> None:
    frame = pd.DataFrame({"rater": ["a", "b"], "item": ["x", "y"], "system": ["s", "t"], "rating": [1, 2]})
    with pd.ExcelWriter(tmp_path / "x.xlsx") as file:
        for name in ("March", "April"):
            frame.to_excel(file, sheet_name=name, index=False)
    with pytest.raises(
        InputError, match=r"the sheets March, April .* give criterion='sheet', or sheet='March' to read one"
    ):
        ob.read(tmp_path / "x.xlsx", participant="rater", item="item", system="system")
    assert ob.read(tmp_path / "x.xlsx", sheet="April").table.num_rows == 2
    with pytest.raises(InputError, match="has no sheet 'May'; it has: March, April"):
        ob.read(tmp_path / "x.xlsx", sheet="May")


def test_without_openpyxl_the_command_that_installs_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = study_files.a_workbook(tmp_path)[0]

    def missing(*_: object, **__: object) -> None:
        raise ImportError("openpyxl")

    monkeypatch.setattr(pd, "read_excel", missing)
    with pytest.raises(InputError, match=r"install openpyxl: pip install 'ordbridge\[excel\]'; or save it as .csv"):
        ob.read(path)


def test_the_format_can_be_named(tmp_path: Path) -> None:
    path = study_files.mturk(tmp_path)[0]
    with pytest.raises(InputError, match=r"format='mtruk' is not known; choose one of 'wmt', 'qualtrics', 'mturk'"):
        ob.read(path, format="mtruk")
    with pytest.raises(InputError, match="is not an export of Qualtrics"):
        ob.read(path, format="qualtrics")
    plain = ob.read(
        path, format="table", participant="WorkerId", item="Input.id", rating=["Answer.fluency", "Answer.adequacy"]
    )
    assert plain.table.num_rows == 144  # with the rejected assignment


def test_models_read_such_files_too(tmp_path: Path) -> None:
    """``ob.clmm(formula, path)`` takes semicolons, decimal commas, Latin-1 and workbooks, under their own names."""
    path, _, wanted = study_files.semicolons_decimal_commas_latin1(tmp_path)
    read = tables.read(path)
    assert read.column_names[-1] == "Bewertung für Flüssigkeit"
    assert sorted(read["Bewertung für Flüssigkeit"].to_pylist()) == sorted(wanted.values())
    book = study_files.a_workbook(tmp_path)[0]
    assert ob.lm("fluency ~ system", book, engine="fast").glance()["n_obs"].to_pylist() == [72]


@pytest.mark.slow
def test_reading_is_linear_enough(tmp_path: Path) -> None:
    """Nothing in reading is quadratic: 40,000 ratings of 2,000 items are read and checked."""
    draw = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "rater": [f"r{n % 200}" for n in range(40_000)],
            "item": [f"i{n // 20}" for n in range(40_000)],
            "system": [f"s{n % 4}" for n in range(40_000)],
            "rating": draw.integers(1, 6, 40_000),
        }
    )
    frame.to_csv(tmp_path / "x.csv", index=False)
    found = ob.read(tmp_path / "x.csv")
    assert found.table.num_rows == 40_000
    assert ob.check(found).table.num_rows < 5
