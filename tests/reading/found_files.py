"""More forms of the study, each of which was read wrongly or refused once; importing this adds them to the others."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import openpyxl
from study_files import (
    BATCH,
    CRITERIA,
    FLUENCY,
    ITEMS,
    LIKERT,
    PEOPLE,
    STUDY,
    SYSTEMS,
    Written,
    long_rows,
    one,
    table,
    writer,
)

PAIRS = [(i, s) for i in ITEMS for s in SYSTEMS]
NUMBER = {i: n for n, i in enumerate(ITEMS, 1)}
META = ["StartDate", "EndDate", "Status", "IPAddress", "Finished", "LocationLatitude", "ResponseId"]


def workbook(path: Path, rows: list[list[Any]]) -> Path:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


def survey(
    path: Path, names: list[str], questions: list[str], rows: dict[str, list[Any]], import_ids: bool = True
) -> Path:
    """Write Qualtrics' export, with or without its third header row."""
    head = [
        [*META, *names],
        [
            "Start Date",
            "End Date",
            "Response Type",
            "IP Address",
            "Finished",
            "Location Latitude",
            "Response ID",
            *questions,
        ],
    ]
    head += [[json.dumps({"ImportId": name}) for name in [*META, *names]]] if import_ids else []
    body = [["2026-05-04", "2026-05-04", "IP Address", "1.2.3.4", "True", 48.1, p, *row] for p, row in rows.items()]
    return table(path, [*head, *body])


@writer
def a_test_of_attention_among_the_questions(folder: Path) -> Written:
    asked = [f"{i} [{s}]" for i, s in PAIRS]
    header = ["Timestamp", "Prolific ID", *asked[:7], "Attention check: please select 3 [This row]", *asked[7:]]
    rows = []
    for p in PEOPLE:
        given = [FLUENCY[p, i, s] for i, s in PAIRS]
        rows.append(["2026/05/04 10:11:12", p, *given[:7], 3, *given[7:]])
    return table(folder / "form.csv", [header, *rows]), {}, one()


@writer
def questions_about_people_among_the_ratings(folder: Path) -> Written:
    """The age is a number, "Yes" is a label, and a slider must be moved to its end."""
    names = ["Q1", "Q2", *(f"x{n}" for n, _ in enumerate(PAIRS)), "attn1"]
    questions = ["What is your age?", "How good is your English?"]
    questions += [f"Clip {NUMBER[i]} ({s}): How natural does the voice sound? - Naturalness" for i, s in PAIRS]
    questions += ["Please move the slider to 100 - Slider"]
    rows = {f"R_{p}": [30, 5, *(18 * FLUENCY[p, i, s] for i, s in PAIRS), 100] for p in PEOPLE}
    wanted = {(f"R_{p}", f"Clip {NUMBER[i]}", s): 18 * rating for (p, i, s), rating in FLUENCY.items()}
    return survey(folder / "q.csv", names, questions, rows), {}, wanted


@writer
def yes_beside_agreement(folder: Path) -> Written:
    names = [*(f"story{NUMBER[i]}_{s}" for i, s in PAIRS), "Q99"]
    questions = [*(f"Story {NUMBER[i]} - {s}: I enjoyed it." for i, s in PAIRS), "Are you a native speaker?"]
    rows = {f"R_{p}": [*(LIKERT[FLUENCY[p, i, s] - 1] for i, s in PAIRS), "Yes"] for p in PEOPLE}
    wanted = {(f"R_{p}", f"Story {NUMBER[i]}", s): LIKERT[rating - 1] for (p, i, s), rating in FLUENCY.items()}
    return survey(folder / "q.csv", names, questions, rows), {}, wanted


@writer
def qualtrics_without_import_ids(folder: Path) -> Written:
    names = [f"Q{n}" for n, _ in enumerate(PAIRS)]
    rows = {f"R_{p}": [FLUENCY[p, i, s] for i, s in PAIRS] for p in PEOPLE}
    path = survey(folder / "q.csv", names, [f"Text {NUMBER[i]} - {s}" for i, s in PAIRS], rows, import_ids=False)
    return path, {}, {(f"R_{p}", f"Text {NUMBER[i]}", s): rating for (p, i, s), rating in FLUENCY.items()}


@writer
def qualtrics_loops(folder: Path) -> Written:
    """Questions of a loop have the same words; the names of their columns begin with the round."""
    names = [f"{NUMBER[i]}_Q5_{SYSTEMS.index(s) + 1}" for i, s in PAIRS]
    questions = [f"How coherent is it? - Version {SYSTEMS.index(s) + 1}" for _, s in PAIRS]
    rows = {f"R_{p}": [FLUENCY[p, i, s] for i, s in PAIRS] for p in PEOPLE}
    wanted = {
        (f"R_{p}", f"Item {NUMBER[i]}", f"Version {SYSTEMS.index(s) + 1}"): rating
        for (p, i, s), rating in FLUENCY.items()
    }
    return survey(folder / "q.csv", names, questions, rows), {}, wanted


@writer
def yes_and_no_in_parentheses(folder: Path) -> Written:
    header = ["Zeitstempel", *(f"Text {NUMBER[i]} ({s}): Ist er verständlich?" for i, s in PAIRS), "Muttersprachler?"]
    rows = [["4.5.2026", *("Ja" if FLUENCY[p, i, s] > 2 else "Nein" for i, s in PAIRS), "Ja"] for p in PEOPLE]
    wanted = {
        (f"row {PEOPLE.index(p) + 2}", f"Text {NUMBER[i]}", s): "Ja" if rating > 2 else "Nein"
        for (p, i, s), rating in FLUENCY.items()
    }
    return table(folder / "form.csv", [header, *rows]), {}, wanted


@writer
def a_form_for_each_text(folder: Path) -> Written:
    header = ["Timestamp", "Email Address", "Which text did you read?", "Which system is it from?"]
    header += ["How fluent is it?", "How adequate is it?", "What is your age?"]
    rows = [["2026/05/04 10:11", p, i, s, *(STUDY[p, i, s, c] for c in CRITERIA), 31] for p, i, s in FLUENCY]
    asked = dict(zip(CRITERIA, header[4:6], strict=True))
    return table(folder / "form.csv", [header, *rows]), {}, {(*key, asked[c]): r for (*key, c), r in STUDY.items()}


def assignment(p: str, number: int) -> list[Any]:
    return [f"3HIT{number}", "3T", "Rate texts", "$0.10", f"3A{number}{p}", p, "Approved", 40]


@writer
def mturk_several_texts_in_a_task(folder: Path) -> Written:
    """Which item and which system stood at each place is in Input.id1 and Input.model1."""
    places = range(1, 4)
    header = [*BATCH, *(f"Input.{name}{n}" for n in places for name in ("id", "model", "text"))]
    header += [*(f"Answer.Q{n}" for n in places), "Answer.feedback"]
    shuffled = random.Random(1).sample(PAIRS, len(PAIRS))
    rows = []
    for number in range(0, len(PAIRS), 3):
        shown = shuffled[number : number + 3]
        told = [cell for i, s in shown for cell in (i, s, f"A text of {s} about {i}")]
        rows += [[*assignment(p, number), *told, *(FLUENCY[p, i, s] for i, s in shown), "fine"] for p in PEOPLE]
    return table(folder / "batch.csv", [header, *rows]), {}, one()


@writer
def mturk_a_question_called_agreement(folder: Path) -> Written:
    header = [*BATCH, "Input.image_url", "Input.caption_system", "Input.caption", "Answer.agreement", "Answer.opted_in"]
    rows = [
        [*assignment(p, number), i, s, "a cat, a dog", LIKERT[FLUENCY[p, i, s] - 1], "TRUE"]
        for number, (i, s) in enumerate(PAIRS)
        for p in PEOPLE
    ]
    return table(folder / "batch.csv", [header, *rows]), {}, {key: LIKERT[r - 1] for key, r in FLUENCY.items()}


@writer
def potato_with_data_whose_text_is_long(folder: Path) -> Written:
    names = {pair: f"{n:03d}" for n, pair in enumerate(PAIRS)}
    lines = [
        {
            "user_id": p,
            "instance_id": names[i, s],
            "displayed_text": "x",
            "label_annotations": {"fluency": {str(r): "on"}},
        }
        for (p, i, s), r in FLUENCY.items()
    ]
    (folder / "annotated_instances.jsonl").write_text("\n".join(map(json.dumps, lines)))
    given = [{"id": names[i, s], "text": f"{s} on {i}", "source_doc": i, "system": s} for i, s in PAIRS]
    (folder / "data.jsonl").write_text("\n".join(map(json.dumps, given)))
    return folder / "annotated_instances.jsonl", {"join": folder / "data.jsonl"}, one()


@writer
def names_of_texts_that_look_like_versions(folder: Path) -> Written:
    """bart_1 may be a version of BART, but among the names of texts it is its first one."""
    known = dict(zip(SYSTEMS, ("bart", "t5", "gpt"), strict=True))
    rows = [[p, f"{known[s]}_{NUMBER[i]}", r, "hm, ok"] for (p, i, s), r in FLUENCY.items()]
    wanted = {(p, str(NUMBER[i]), known[s]): r for (p, i, s), r in FLUENCY.items()}
    return table(folder / "x.csv", [["user_id", "instance_id", "quality", "comment"], *rows]), {}, wanted


@writer
def measures_and_votes_beside_raters(folder: Path) -> Written:
    names = {p: f"Rater {n}" for n, p in enumerate(PEOPLE, 1)}
    header = ["item", "system", "Word count", "Reading level", *names.values(), "Majority", "Ø"]
    rows = [[i, s, 17, 3, *(FLUENCY[p, i, s] for p in PEOPLE), 4, 3.2] for i, s in PAIRS]
    return table(folder / "x.csv", [header, *rows]), {}, {(names[p], i, s): r for (p, i, s), r in FLUENCY.items()}


@writer
def a_length_beside_systems(folder: Path) -> Written:
    rows = [[p, i, 9, *(FLUENCY[p, i, s] for s in SYSTEMS)] for p in PEOPLE for i in ITEMS]
    return table(folder / "x.csv", [["annotator", "sentence", "sentence length", *SYSTEMS], *rows]), {}, one()


@writer
def a_person_beside_numbered_systems(folder: Path) -> Written:
    """Human is a system, too, although its name is not made like the others."""
    names = dict(zip(SYSTEMS, ("System A", "System B", "Human"), strict=True))
    rows = [[p, i, *(FLUENCY[p, i, s] for s in SYSTEMS)] for p in PEOPLE for i in ITEMS]
    wanted = {(p, i, names[s]): r for (p, i, s), r in FLUENCY.items()}
    return table(folder / "x.csv", [["annotator", "sentence", *names.values()], *rows]), {}, wanted


@writer
def names_of_raters_under_systems(folder: Path) -> Written:
    """The upper of two header rows begins with a gap, above the items."""
    upper = [None, *(cell for s in SYSTEMS for cell in (s, None, None, None))]
    rows = [[i, *(FLUENCY[p, i, s] for s in SYSTEMS for p in PEOPLE)] for i in ITEMS]
    return workbook(folder / "x.xlsx", [upper, ["Item", *PEOPLE, *PEOPLE, *PEOPLE], *rows]), {}, one()


@writer
def a_table_for_each_system_below_the_other(folder: Path) -> Written:
    rows: list[list[Any]] = []
    for s in SYSTEMS:
        rows += [[s], ["Item", *PEOPLE], *([i, *(FLUENCY[p, i, s] for p in PEOPLE)] for i in ITEMS), []]
    return workbook(folder / "x.xlsx", rows), {}, one()


@writer
def a_header_that_comes_again(folder: Path) -> Written:
    header, *rows = long_rows(["rater", "item", "system", "rating"])
    return table(folder / "x.csv", [header, *rows[:30], header, *rows[30:]]), {}, one()


@writer
def rows_of_attention_checks(folder: Path) -> Written:
    """But a system may be called after its attention."""
    renamed = {"T5": "LSTM + attention"}
    header, *rows = long_rows(["rater", "item", "system", "rating"])
    rows = [[p, i, renamed.get(s, s), r] for p, i, s, r in rows]
    wanted = {(p, i, renamed.get(s, s)): r for (p, i, s), r in FLUENCY.items()}
    return table(folder / "x.csv", [header, *rows, *([p, "x", "attention_check", 1] for p in PEOPLE)]), {}, wanted


@writer
def an_item_recognised_by_what_it_holds(folder: Path) -> Written:
    return table(folder / "x.csv", long_rows(["annotator", "zzz", "system", "fluency"])), {}, one()


@writer
def a_numeric_version(folder: Path) -> Written:
    number = {s: str(n) for n, s in enumerate(SYSTEMS, 3)}
    rows = [[p, i, number[s], r] for (p, i, s), r in FLUENCY.items()]
    wanted = {(p, i, number[s]): r for (p, i, s), r in FLUENCY.items()}
    return table(folder / "x.csv", [["participant", "prompt", "gpt_version", "rating"], *rows]), {}, wanted


@writer
def questions_in_a_column(folder: Path) -> Written:
    asked = dict(zip(CRITERIA, ("Wie flüssig ist der Text?", "Wie verständlich ist der Text?"), strict=True))
    rows = [[p, i, s, asked[c], r] for (p, i, s, c), r in STUDY.items()]
    header = ["Teilnehmer-ID", "Text-ID", "Modell", "Frage", "Antwort"]
    return table(folder / "x.csv", [header, *rows], ";"), {}, {(*k, asked[c]): r for (*k, c), r in STUDY.items()}


@writer
def signs_of_typography(folder: Path) -> Written:
    rows = long_rows(["rater", "caption", "system", "score"], lambda r: f"−{3 - r}" if r < 3 else f"+{r - 3}")
    return table(folder / "x.csv", rows), {}, {key: r - 3 for key, r in FLUENCY.items()}


@writer
def one_is_excellent(folder: Path) -> Written:
    words = ("5 - poor", "4 - fair", "3 - good", "2 - very good", "1 - excellent")
    rows = long_rows(["rater", "item", "system", "quality"], lambda r: words[r - 1])
    return table(folder / "x.csv", rows), {}, {key: words[r - 1] for key, r in FLUENCY.items()}
