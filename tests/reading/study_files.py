"""One small study, written in every form in which people have such studies; reading must give back the same ratings.

Four people rate six texts of three systems on fluency and adequacy. A writer writes the file and returns it with what
``ob.read`` needs to be told and the ratings that must come out.
"""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd

PEOPLE, ITEMS, SYSTEMS = (
    ("anna", "ben", "cleo", "dan"),
    tuple(f"t{n}" for n in range(1, 7)),
    ("GPT-4", "baseline", "T5"),
)
CRITERIA = ("fluency", "adequacy")
LIKERT = ("Strongly disagree", "Disagree", "Neutral", "Agree", "Strongly agree")

Key = tuple[str | None, ...]
Written = tuple[Path, dict[str, Any], dict[Key, Any]]
WRITERS: dict[str, Callable[[Path], Written]] = {}


def _study() -> dict[tuple[str, str, str, str], int]:
    draw = random.Random(7)
    return {(p, i, s, c): draw.randint(1, 5) for p in PEOPLE for i in ITEMS for s in SYSTEMS for c in CRITERIA}


STUDY = _study()
FLUENCY = {(p, i, s): rating for (p, i, s, c), rating in STUDY.items() if c == "fluency"}


def writer(function: Callable[[Path], Written]) -> Callable[[Path], Written]:
    WRITERS[function.__name__] = function
    return function


def table(path: Path, rows: list[list[Any]], separator: str = ",", encoding: str = "utf-8") -> Path:
    text = io.StringIO()
    csv.writer(text, delimiter=separator, lineterminator="\r\n").writerows(rows)
    path.write_bytes(text.getvalue().encode(encoding))
    return path


def long_rows(header: list[str], rating: Callable[[int], Any] = lambda r: r) -> list[list[Any]]:
    return [header, *([p, i, s, rating(r)] for (p, i, s), r in FLUENCY.items())]


def both() -> dict[Key, Any]:
    return dict(STUDY)


def one() -> dict[Key, Any]:
    return dict(FLUENCY)


@writer
def comma(folder: Path) -> Written:
    return table(folder / "x.csv", long_rows(["participant", "item", "system", "rating"])), {}, one()


@writer
def tabs(folder: Path) -> Written:
    return table(folder / "x.tsv", long_rows(["rater", "text_id", "model", "score"]), "\t"), {}, one()


@writer
def semicolons_decimal_commas_latin1(folder: Path) -> Written:
    rows = long_rows(["Bewerter", "Text", "System", "Bewertung für Flüssigkeit"], lambda r: f"{r},5")
    wanted = {key: rating + 0.5 for key, rating in FLUENCY.items()}
    path = table(folder / "x.csv", rows, ";", "latin-1")
    return path, {"rating": "Bewertung für Flüssigkeit"}, wanted


@writer
def utf8_with_mark(folder: Path) -> Written:
    return table(folder / "x.csv", long_rows(["Participant", "Item", "System", "Rating"]), ",", "utf-8-sig"), {}, one()


@writer
def utf16_tabs(folder: Path) -> Written:
    rows = long_rows(["évaluateur", "texte", "système", "note"])
    return table(folder / "x.txt", rows, "\t", "utf-16"), {}, one()


@writer
def bars(folder: Path) -> Written:
    return table(folder / "x.txt", long_rows(["judge", "doc", "condition", "rating (1-5)"]), "|"), {}, one()


@writer
def excel_says_its_separator(folder: Path) -> Written:
    path = table(folder / "x.csv", long_rows(["participant", "item", "system", "rating"]), ";")
    path.write_bytes(b"sep=;\r\n" + path.read_bytes())
    return path, {}, one()


@writer
def names_that_must_be_told(folder: Path) -> Written:
    rows = long_rows(["c1", "c2", "c3", "c4"])
    return table(folder / "x.csv", rows), {"participant": "c1", "item": "c2", "system": "c3", "rating": "c4"}, one()


@writer
def codes_for_missing(folder: Path) -> Written:
    codes = iter(["N/A", "NA", "NULL", "-", "n/a", "", "Don't know"])
    rows = long_rows(["participant", "item", "system", "rating"])
    wanted = one()
    for row in rows[1:8]:
        row[3] = next(codes)
        del wanted[tuple(row[:3])]
    return table(folder / "x.csv", rows), {}, wanted


@writer
def labels(folder: Path) -> Written:
    rows = long_rows(["participant", "item", "system", "answer"], lambda r: LIKERT[r - 1])
    return table(folder / "x.csv", rows), {}, {key: LIKERT[rating - 1] for key, rating in FLUENCY.items()}


@writer
def labels_that_need_levels(folder: Path) -> Written:
    words = ("yuck", "meh", "so so", "nice", "wow")
    rows = long_rows(["participant", "item", "system", "rating"], lambda r: words[r - 1])
    wanted = {key: words[rating - 1] for key, rating in FLUENCY.items()}
    return table(folder / "x.csv", rows), {"levels": words}, wanted


@writer
def numbers_with_words(folder: Path) -> Written:
    words = ("1 - very bad", "2", "3", "4", "5 - very good")
    return table(folder / "x.csv", long_rows(["rater", "item", "system", "score"], lambda r: words[r - 1])), {}, one()


@writer
def a_column_per_criterion(folder: Path) -> Written:
    rows = [[p, i, s, *(STUDY[p, i, s, c] for c in CRITERIA)] for p, i, s in FLUENCY]
    return table(folder / "x.csv", [["worker", "doc_id", "system", *CRITERIA], *rows]), {}, both()


@writer
def criteria_in_a_column(folder: Path) -> Written:
    rows = [[*key, rating] for key, rating in STUDY.items()]
    return table(folder / "x.csv", [["worker", "doc_id", "system", "criterion", "rating"], *rows]), {}, both()


@writer
def a_column_per_rater(folder: Path) -> Written:
    names = {p: f"Rater {n}" for n, p in enumerate(PEOPLE, 1)}
    rows = [[i, s, *(FLUENCY[p, i, s] for p in PEOPLE)] for i in ITEMS for s in SYSTEMS]
    wanted = {(names[p], i, s): rating for (p, i, s), rating in FLUENCY.items()}
    return table(folder / "x.csv", [["item", "system", *names.values()], *rows]), {}, wanted


@writer
def a_column_per_rater_by_name(folder: Path) -> Written:
    rows = [[i, s, *(FLUENCY[p, i, s] for p in PEOPLE)] for i in ITEMS for s in SYSTEMS]
    return table(folder / "x.csv", [["item", "system", *PEOPLE], *rows]), {}, one()


@writer
def a_column_per_system(folder: Path) -> Written:
    rows = [[p, i, *(FLUENCY[p, i, s] for s in SYSTEMS)] for p in PEOPLE for i in ITEMS]
    return table(folder / "x.csv", [["participant", "item", *SYSTEMS], *rows]), {}, one()


@writer
def a_column_per_system_that_must_be_told(folder: Path) -> Written:
    names = dict(zip(SYSTEMS, ("foo", "bar", "baz"), strict=True))
    rows = [[p, i, *(FLUENCY[p, i, s] for s in SYSTEMS)] for p in PEOPLE for i in ITEMS]
    wanted = {(p, i, names[s]): rating for (p, i, s), rating in FLUENCY.items()}
    return table(folder / "x.csv", [["participant", "item", *names.values()], *rows]), {"columns": "system"}, wanted


@writer
def a_column_per_system_and_criterion(folder: Path) -> Written:
    header = ["rater", "item", *(f"{s} {c}" for s in SYSTEMS for c in CRITERIA)]
    rows = [[p, i, *(STUDY[p, i, s, c] for s in SYSTEMS for c in CRITERIA)] for p in PEOPLE for i in ITEMS]
    return table(folder / "x.csv", [header, *rows]), {}, both()


@writer
def a_pattern_of_names(folder: Path) -> Written:
    header = ["rater", *(f"x_{s}.{i}" for s in SYSTEMS for i in ITEMS)]
    rows = [[p, *(FLUENCY[p, i, s] for s in SYSTEMS for i in ITEMS)] for p in PEOPLE]
    return table(folder / "x.csv", [header, *rows]), {"columns": "x_{system}.{item}"}, one()


@writer
def places_say_the_system(folder: Path) -> Written:
    """Systems are shown in random order, and columns say which stood where."""
    draw, rows = random.Random(1), []
    for p in PEOPLE:
        for i in ITEMS:
            order = draw.sample(SYSTEMS, 3)
            rows.append([p, i, *order, *(FLUENCY[p, i, s] for s in order)])
    header = ["rater", "item", *(f"system_{x}" for x in "abc"), *(f"rating_{x}" for x in "abc")]
    return table(folder / "x.csv", [header, *rows]), {}, one()


@writer
def a_workbook(folder: Path) -> Written:
    rows = [[p, i, s, *(STUDY[p, i, s, c] for c in CRITERIA)] for p, i, s in FLUENCY]
    pd.DataFrame(rows, columns=["rater", "item", "system", *CRITERIA]).to_excel(folder / "x.xlsx", index=False)
    return folder / "x.xlsx", {}, both()


@writer
def an_opendocument_workbook(folder: Path) -> Written:
    rows = long_rows(["rater", "item", "system", "rating"])
    pd.DataFrame(rows[1:], columns=rows[0]).to_excel(folder / "x.ods", index=False)
    return folder / "x.ods", {}, one()


@writer
def a_sheet_per_criterion(folder: Path) -> Written:
    with pd.ExcelWriter(folder / "x.xlsx") as file:
        for c in CRITERIA:
            rows = [[i, s, *(STUDY[p, i, s, c] for p in PEOPLE)] for i in ITEMS for s in SYSTEMS]
            pd.DataFrame(rows, columns=["item", "system", *PEOPLE]).to_excel(file, sheet_name=c, index=False)
    return folder / "x.xlsx", {}, both()


@writer
def merged_headers_title_and_means(folder: Path) -> Written:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["Evaluation of summaries, March"])
    sheet.append([])
    sheet.append(["Item", "System", "Fluency", None, None, None, "Adequacy"])
    names = [f"R{n}" for n, _ in enumerate(PEOPLE, 1)]
    sheet.append([None, None, *names, *names])
    for i in ITEMS:
        for number, s in enumerate(SYSTEMS):  # the item is written once, as in merged cells
            sheet.append([None if number else i, s, *(STUDY[p, i, s, c] for c in CRITERIA for p in PEOPLE)])
    sheet.append(["Mean", None, *[3.1] * 8])
    sheet.merge_cells("C3:F3")
    sheet.merge_cells("G3:J3")
    book.save(folder / "x.xlsx")
    renamed = dict(zip(PEOPLE, names, strict=True))
    wanted: dict[Key, Any] = {(renamed[p], i, s, c.capitalize()): r for (p, i, s, c), r in STUDY.items()}
    return folder / "x.xlsx", {}, wanted


@writer
def parquet(folder: Path) -> Written:
    rows = long_rows(["rater", "item", "system", "rating"])
    pd.DataFrame(rows[1:], columns=rows[0]).to_parquet(folder / "x.parquet")
    return folder / "x.parquet", {}, one()


@writer
def feather(folder: Path) -> Written:
    rows = long_rows(["rater", "item", "system", "rating"])
    pd.DataFrame(rows[1:], columns=rows[0]).to_feather(folder / "x.feather")
    return folder / "x.feather", {}, one()


@writer
def json_records(folder: Path) -> Written:
    records = [{"annotator": p, "item": {"id": i}, "system": s, "rating": r} for (p, i, s), r in FLUENCY.items()]
    (folder / "x.json").write_text(json.dumps(records))
    return folder / "x.json", {}, one()


@writer
def json_lines_nested(folder: Path) -> Written:
    lines = [
        json.dumps({"rater": p, "item_id": i, "model": s, "ratings": {c: STUDY[p, i, s, c] for c in CRITERIA}})
        for p, i, s in FLUENCY
    ]
    (folder / "x.jsonl").write_text("\n".join(lines))
    return folder / "x.jsonl", {}, both()


@writer
def annotations_inside_of_texts(folder: Path) -> Written:
    records = [
        {"id": i, "model_id": s, "experts": [{c: STUDY[p, i, s, c] for c in CRITERIA} for p in PEOPLE]}
        for i in ITEMS
        for s in SYSTEMS
    ]
    (folder / "x.json").write_text(json.dumps(records))
    names = {p: f"experts {n}" for n, p in enumerate(PEOPLE, 1)}
    return folder / "x.json", {}, {(names[p], i, s, c): r for (p, i, s, c), r in STUDY.items()}


@writer
def google_form_grid(folder: Path) -> Written:
    header = [
        "Timestamp",
        "Email Address",
        *(f"{i} [{s}]" for i in ITEMS for s in SYSTEMS),
        "Are you a native speaker?",
    ]
    rows = [
        ["2026/05/04 10:11:12 AM GMT+2", f"{p}@x.org", *(FLUENCY[p, i, s] for i in ITEMS for s in SYSTEMS), "Yes"]
        for p in PEOPLE
    ]
    return table(folder / "form.csv", [header, *rows]), {}, {(f"{p}@x.org", *k): r for (p, *k), r in FLUENCY.items()}


@writer
def google_form_questions(folder: Path) -> Written:
    pairs = [(n, i, letter, s) for n, i in enumerate(ITEMS, 1) for letter, s in zip("ABC", SYSTEMS, strict=True)]
    header = ["Zeitstempel", *(f"Text {n}, System {x}: How fluent is it?" for n, _, x, _ in pairs), "Kommentare"]
    rows = [["04.05.2026 10:11:12", *(LIKERT[FLUENCY[p, i, s] - 1] for _, i, _, s in pairs), "ok"] for p in PEOPLE]
    wanted = {
        (f"row {row}", f"Text {n}", f"System {x}"): LIKERT[FLUENCY[p, i, s] - 1]
        for row, p in enumerate(PEOPLE, 2)
        for n, i, x, s in pairs
    }
    return table(folder / "form.csv", [header, *rows]), {}, wanted


BATCH = ["HITId", "HITTypeId", "Title", "Reward", "AssignmentId", "WorkerId", "AssignmentStatus", "WorkTimeInSeconds"]


def _assignment(p: str, number: int, status: str = "Approved") -> list[Any]:
    return [f"3HIT{number}", "3T", "Rate a text", "$0.10", f"3A{number}{p}", p, status, 40]


@writer
def mturk(folder: Path) -> Written:
    """Rows are shorter than the header, as in the real files, and one assignment was rejected."""
    header = [*BATCH, "Input.id", "Input.system", "Input.text", *(f"Answer.{c}" for c in CRITERIA), "Approve", "Reject"]
    rows = []
    for number, (i, s) in enumerate((i, s) for i in ITEMS for s in SYSTEMS):
        for p in PEOPLE:
            status = "Rejected" if (p, number) == ("dan", 0) else "Approved"
            rows.append(
                [*_assignment(p, number, status), i, s, f"Some, text {i}", *(STUDY[p, i, s, c] for c in CRITERIA)]
            )
    wanted = {key: rating for key, rating in STUDY.items() if key[:3] != ("dan", ITEMS[0], SYSTEMS[0])}
    return table(folder / "Batch_1_batch_results.csv", [header, *rows]), {}, wanted


@writer
def mturk_one_column_per_option(folder: Path) -> Written:
    header = [*BATCH, "Input.source", "Input.model", *(f"Answer.fluency.{k}" for k in range(1, 6))]
    rows = [
        [*_assignment(p, number), i, s, *(str(k == FLUENCY[p, i, s]).lower() for k in range(1, 6))]
        for number, (i, s) in enumerate((i, s) for i in ITEMS for s in SYSTEMS)
        for p in PEOPLE
    ]
    return table(folder / "batch.csv", [header, *rows]), {}, one()


@writer
def mturk_answers_as_json(folder: Path) -> Written:
    rows = []
    for number, (i, s) in enumerate((i, s) for i in ITEMS for s in SYSTEMS):
        for p in PEOPLE:
            form = {c: {str(k): k == STUDY[p, i, s, c] for k in range(1, 6)} for c in CRITERIA}
            rows.append([*_assignment(p, number), i, s, json.dumps([{**form, "comment": "fine"}])])
    return (
        table(folder / "batch.csv", [[*BATCH, "Input.source", "Input.model", "Answer.taskAnswers"], *rows]),
        {},
        both(),
    )


@writer
def potato_version_1(folder: Path) -> Written:
    """A folder per annotator with JSON lines; the scale's points are called scale_1 and so on."""
    for p in PEOPLE:
        lines = [
            {
                "id": f"{i}_{s}",
                "displayed_text": "Some text",
                "label_annotations": {c: {f"scale_{STUDY[p, i, s, c]}": "true"} for c in CRITERIA},
                "span_annotations": {},
                "behavioral_data": {"time_string": "Time spent: 0d 0h 1m 9s "},
            }
            for i in ITEMS
            for s in SYSTEMS
        ]
        (folder / p).mkdir()
        (folder / p / "annotated_instances.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return folder, {}, both()


@writer
def potato_with_the_data_it_was_given(folder: Path) -> Written:
    lines = [
        {"user_id": p, "instance_id": f"{n}", "labels": {"fluency": {str(FLUENCY[p, i, s]): str(FLUENCY[p, i, s])}}}
        for p in PEOPLE
        for n, (i, s) in enumerate((i, s) for i in ITEMS for s in SYSTEMS)
    ]
    (folder / "annotations.jsonl").write_text("\n".join(map(json.dumps, lines)))
    given = [["id", "item", "system"], *([n, i, s] for n, (i, s) in enumerate((i, s) for i in ITEMS for s in SYSTEMS))]
    return folder / "annotations.jsonl", {"join": table(folder / "data.csv", given)}, one()


@writer
def qualtrics(folder: Path) -> Written:
    meta = [
        "StartDate",
        "EndDate",
        "Status",
        "IPAddress",
        "Progress",
        "Duration (in seconds)",
        "Finished",
        "ResponseId",
    ]
    asked = [(n, i, s) for n, i in enumerate(ITEMS, 1) for s in SYSTEMS]
    names = [f"Q{n}_{k}" for n in range(1, 7) for k in range(1, 4)]
    texts = [f"Text {n}: how much do you agree that these are fluent? - {s}" for n, _, s in asked]
    head = [
        [*meta, *names],
        ["Start Date", "End Date", "Response Type", "IP Address", "Progress", "Duration", "Finished", "ID", *texts],
        [json.dumps({"ImportId": name}) for name in [*meta, *names]],
    ]
    body = [
        ["2026-05-04", "2026-05-04", "IP Address", "1.2.3.4", "100", "600", "True", f"R_{p}"]
        + [LIKERT[FLUENCY[p, i, s] - 1] for _, i, s in asked]
        for p in PEOPLE
    ]
    preview = ["2026-05-04", "2026-05-04", "Survey Preview", "1.2.3.4", "100", "600", "True", "R_test", *["Agree"] * 18]
    wanted = {(f"R_{p}", f"Text {n}", s): LIKERT[FLUENCY[p, i, s] - 1] for p in PEOPLE for n, i, s in asked}
    return table(folder / "qualtrics.csv", [*head, *body, preview], ",", "utf-8-sig"), {}, wanted


@writer
def wmt_esa(folder: Path) -> Written:
    rows = [
        [
            f"engdeu{p}",
            s,
            number,
            "TGT",
            "eng",
            "deu",
            20 * FLUENCY[p, i, s],
            "doc1",
            "False",
            "[]",
            1724876413.9,
            1724876420.0,
        ]
        for p in PEOPLE
        for number, i in enumerate(ITEMS)
        for s in SYSTEMS
    ]
    control = ["engdeuanna", "T5", 3, "BAD", "eng", "deu", 5, "doc1#bad", "False", "[]", 1724876413.9, 1724876420.0]
    tutorial = ["engdeuanna", "en-tutorial1", 9, "TGT", "eng", "deu", 5, "t", "False", "[]", 1724876413.9, 1724876420.0]
    wanted = {(f"engdeu{p}", str(ITEMS.index(i)), s): 20 * rating for (p, i, s), rating in FLUENCY.items()}
    return table(folder / "scores.csv", [tutorial, *rows, control]), {}, wanted


@writer
def wmt_direct_assessment(folder: Path) -> Written:
    rows = [
        [f"deueng{p}", s, number, "TGT", "deu", "eng", 17 * FLUENCY[p, i, s]]
        for p in PEOPLE
        for number, i in enumerate(ITEMS)
        for s in SYSTEMS
    ]
    wanted = {(f"deueng{p}", str(ITEMS.index(i)), s): 17 * rating for (p, i, s), rating in FLUENCY.items()}
    return table(folder / "scores.csv", rows), {}, wanted


@writer
def a_column_per_item(folder: Path) -> Written:
    names = {i: f"item{n}" for n, i in enumerate(ITEMS, 1)}
    rows = [[p, s, *(FLUENCY[p, i, s] for i in ITEMS)] for p in PEOPLE for s in SYSTEMS]
    wanted = {(p, names[i], s): rating for (p, i, s), rating in FLUENCY.items()}
    return table(folder / "x.csv", [["participant", "system", *names.values()], *rows]), {}, wanted


@writer
def a_sheet_per_rater(folder: Path) -> Written:
    with pd.ExcelWriter(folder / "x.xlsx") as file:
        for p in PEOPLE:
            rows = [[i, s, *(STUDY[p, i, s, c] for c in CRITERIA)] for i in ITEMS for s in SYSTEMS]
            pd.DataFrame(rows, columns=["Item", "System", *CRITERIA]).to_excel(file, sheet_name=p, index=False)
    return folder / "x.xlsx", {}, both()


@writer
def segments_counted_anew_in_documents(folder: Path) -> Written:
    place = {i: (f"d{n // 3}", str(n % 3)) for n, i in enumerate(ITEMS)}
    rows = [[p, *place[i], s, rating] for (p, i, s), rating in FLUENCY.items()]
    wanted = {(p, " ".join(place[i]), s): rating for (p, i, s), rating in FLUENCY.items()}
    return table(folder / "x.csv", [["login", "doc_id", "seg_id", "system", "score"], *rows]), {}, wanted


@writer
def a_time_stamp_does_not_make_a_form(folder: Path) -> Written:
    rows = [["2026-05-04 10:00", *row] for row in long_rows([])[1:]]
    return table(folder / "x.csv", [["Timestamp", "Rater ID", "Item ID", "System", "Rating"], *rows]), {}, one()


@writer
def a_preference_beside_ratings(folder: Path) -> Written:
    header = ["rater", "item", "model_1", "model_2", "rating_1", "rating_2", "preference"]
    pair = SYSTEMS[:2]
    rows = [[p, i, *pair, *(FLUENCY[p, i, s] for s in pair), "1"] for p in PEOPLE for i in ITEMS]
    return table(folder / "x.csv", [header, *rows]), {}, {key: r for key, r in FLUENCY.items() if key[2] in pair}


@writer
def a_column_per_system_of_unknown_name(folder: Path) -> Written:
    names = dict(zip(SYSTEMS, ("Falke", "Sperber", "Adler"), strict=False))
    rows = [[p, i, *(FLUENCY[p, i, s] for s in SYSTEMS)] for p in PEOPLE for i in ITEMS]
    wanted = {(p, i, names[s]): rating for (p, i, s), rating in FLUENCY.items()}
    return (
        table(folder / "x.csv", [["participant", "item", *(names[s] for s in SYSTEMS)], *rows]),
        {"columns": "system"},
        wanted,
    )


@writer
def a_form_with_systems_in_parentheses(folder: Path) -> Written:
    names = {s: f"sys-{word}" for s, word in zip(SYSTEMS, ("alpha", "beta", "gamma"), strict=False)}
    titles = [f"How fluent is it? [Text {n} ({names[s]})]" for n, _ in enumerate(ITEMS, 1) for s in SYSTEMS]
    rows = [["3/1/2024 10:00:00", f"{p}@x.org", *(FLUENCY[p, i, s] for i in ITEMS for s in SYSTEMS)] for p in PEOPLE]
    wanted = {(f"{p}@x.org", f"Text {ITEMS.index(i) + 1}", names[s]): r for (p, i, s), r in FLUENCY.items()}
    return table(folder / "x.csv", [["Timestamp", "Email Address", *titles], *rows]), {}, wanted


@writer
def pandas_json_by_columns(folder: Path) -> Written:
    head, *rows = long_rows(["participant", "item", "system", "rating"])
    cells = {name: {str(n): row[k] for n, row in enumerate(rows)} for k, name in enumerate(head)}
    (folder / "x.json").write_text(json.dumps(cells), encoding="utf-8")
    return folder / "x.json", {}, one()


@writer
def a_legend_before_the_ratings(folder: Path) -> Written:
    head, *rows = long_rows(["participant", "item", "system", "rating"])
    with pd.ExcelWriter(folder / "x.xlsx") as book:
        pd.DataFrame({"code": [1, 2, 3], "meaning": ["bad", "fair", "good"]}).to_excel(book, sheet_name="Legend")
        pd.DataFrame(rows, columns=head).to_excel(book, sheet_name="Ratings", index=False)
    return folder / "x.xlsx", {}, one()


@writer
def a_system_recognised_by_what_it_holds(folder: Path) -> Written:
    return table(folder / "x.csv", long_rows(["annotator", "article", "zzz", "fluency"])), {}, one()
