"""One small study, simulated, in the nine kinds of file in which people have such studies.

Twelve people rate the texts of three systems, A below B below C, for fifteen items; ``write_all(folder)`` writes every
file and returns it with the options that its command needs.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Collection
from pathlib import Path

import numpy as np
import pandas as pd

QUALITY = {"A": 0.0, "B": 1.2, "C": 2.4}
AGREEMENT = ("Strongly disagree", "Disagree", "Neither agree nor disagree", "Agree", "Strongly agree")


def study(seed: int = 3, raters: int = 12, items: int = 15) -> pd.DataFrame:
    """Return one row per rating, on two criteria that rank the systems alike."""
    random = np.random.default_rng(seed)
    people, things = random.normal(0, 0.6, raters), random.normal(0, 0.6, items)
    rows = []
    for p in range(raters):
        for i in range(items):
            for system, quality in QUALITY.items():
                for criterion in ("fluency", "adequacy"):
                    latent = quality + people[p] + things[i] + random.logistic()
                    rating = 1 + int(sum(latent > edge for edge in (-1.0, 0.5, 2.0, 3.5)))
                    rows.append((f"rater{p + 1:02d}", f"item{i + 1:02d}", system, criterion, rating))
    return pd.DataFrame(rows, columns=["participant", "item", "system", "criterion", "rating"])


def write_all(folder: Path, without: Collection[str] = ()) -> dict[str, tuple[Path, list[str]]]:
    """Write every file; return each with the options of its command."""
    both = study()
    one = both[both.criterion == "fluency"].drop(columns="criterion")
    writers = (wide, workbook, google_forms, mturk, label_studio, potato, qualtrics, semicolons, numeric_systems)
    chosen = [writer for writer in writers if writer.__name__ not in without]
    return {writer.__name__: writer(folder, both if writer is workbook else one) for writer in chosen}


def wide(folder: Path, ratings: pd.DataFrame) -> tuple[Path, list[str]]:
    """Write a column per rater, as in a spreadsheet that was passed around."""
    table = ratings.pivot(index=["item", "system"], columns="participant", values="rating").reset_index()
    table.to_csv(folder / "wide.csv", index=False)
    return folder / "wide.csv", []


def workbook(folder: Path, ratings: pd.DataFrame) -> tuple[Path, list[str]]:
    """Write Excel with a column for each of two criteria."""
    keys = ["participant", "item", "system"]
    table = ratings.pivot(index=keys, columns="criterion", values="rating").reset_index()
    table.to_excel(folder / "two_criteria.xlsx", index=False)
    return folder / "two_criteria.xlsx", []


def google_forms(folder: Path, ratings: pd.DataFrame) -> tuple[Path, list[str]]:
    """Write a grid question per item, a row of the grid per system."""
    rows = []
    for person, own in ratings.groupby("participant"):
        row = {"Timestamp": "2026/05/04 10:11:12 AM GMT+2", "What is your name?": person}
        for entry in own.to_dict("records"):
            row[f"How fluent are these texts? {entry['item']} [{entry['system']}]"] = entry["rating"]
        rows.append(row)
    pd.DataFrame(rows).to_csv(folder / "form.csv", index=False)
    return folder / "form.csv", []


def mturk(folder: Path, ratings: pd.DataFrame) -> tuple[Path, list[str]]:
    """Write the results of a batch on Mechanical Turk."""
    table = pd.DataFrame(
        {
            "HITId": [f"3HIT{k // 12:05d}" for k in range(len(ratings))],
            "HITTypeId": "3TYPE",
            "Title": "Rate a text",
            "AssignmentId": [f"3ASG{k:05d}" for k in range(len(ratings))],
            "WorkerId": ratings.participant.str.upper().str.replace("RATER", "A1WORKER"),
            "AssignmentStatus": "Approved",
            "AcceptTime": "Mon May 04 10:11:12 PDT 2026",
            "SubmitTime": "Mon May 04 10:12:02 PDT 2026",
            "WorkTimeInSeconds": 50,
            "Input.item": ratings.item,
            "Input.system": ratings.system,
            "Input.text": "Some text, with a comma",
            "Answer.fluency": ratings.rating,
        }
    )
    table.to_csv(folder / "Batch_123_batch_results.csv", index=False, quoting=csv.QUOTE_ALL)
    return folder / "Batch_123_batch_results.csv", []


def label_studio(folder: Path, ratings: pd.DataFrame) -> tuple[Path, list[str]]:
    """Write the JSON export of Label Studio: a task per text, an annotation per rater."""
    tasks = []
    for number, ((item, system), own) in enumerate(ratings.groupby(["item", "system"]), start=1):
        annotations = [
            {
                "id": 1000 * number + k,
                "completed_by": {"id": k, "email": f"{entry['participant']}@example.org"},
                "was_cancelled": False,
                "lead_time": 12.5,
                "result": [
                    {
                        "id": "x",
                        "type": "rating",
                        "from_name": "fluency",
                        "to_name": "text",
                        "value": {"rating": entry["rating"]},
                    }
                ],
            }
            for k, entry in enumerate(own.to_dict("records"), start=1)
        ]
        data = {"text": f"A text about {item}", "item": item, "system": system}
        tasks.append({"id": number, "data": data, "annotations": annotations, "predictions": []})
    (folder / "project-1.json").write_text(json.dumps(tasks), encoding="utf-8")
    return folder / "project-1.json", []


def potato(folder: Path, ratings: pd.DataFrame) -> tuple[Path, list[str]]:
    """Write what Potato collects, a line per text and annotator; the table of texts has the systems."""
    lines = [
        {
            "user_id": entry["participant"],
            "instance_id": f"{entry['item']}_{entry['system']}",
            "displayed_text": "Some text",
            "label_annotations": {"fluency": {str(entry["rating"]): str(entry["rating"])}},
            "span_annotations": [],
            "behavioral_data": {"time_string": "Time spent: 0d 0h 0m 9s "},
        }
        for entry in ratings.to_dict("records")
    ]
    path = folder / "annotated_instances.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    texts = ratings[["item", "system"]].drop_duplicates()
    texts.insert(0, "instance_id", texts.item + "_" + texts.system)
    texts.to_csv(folder / "texts.csv", index=False)
    return path, ["--join", str(folder / "texts.csv")]


def qualtrics(folder: Path, ratings: pd.DataFrame) -> tuple[Path, list[str]]:
    """Write Qualtrics with its three header rows, and labels of agreement."""
    columns = [f"{item}_{system}" for item in sorted(set(ratings.item)) for system in QUALITY]
    meta = ["StartDate", "EndDate", "Status", "Progress", "Finished", "ResponseId"]
    words = ["Start Date", "End Date", "Response Type", "Progress", "Finished", "Response ID"]
    head = [
        [*meta, *columns],
        [*words, *(f"This text is fluent. - {column.replace('_', ' - ')}" for column in columns)],
        [
            *(json.dumps({"ImportId": name}) for name in meta),
            *(json.dumps({"ImportId": f"QID{k}"}) for k in range(len(columns))),
        ],
    ]
    body = []
    for number, (_, own) in enumerate(ratings.groupby("participant")):
        given = {f"{e['item']}_{e['system']}": AGREEMENT[e["rating"] - 1] for e in own.to_dict("records")}
        start = ["2026-05-04 10:00:00", "2026-05-04 10:20:00", "IP Address", "100", "True", f"R_{number:05d}"]
        body.append([*start, *(given[column] for column in columns)])
    with (folder / "qualtrics.csv").open("w", newline="", encoding="utf-8-sig") as file:
        csv.writer(file).writerows([*head, *body])
    return folder / "qualtrics.csv", []


def semicolons(folder: Path, ratings: pd.DataFrame) -> tuple[Path, list[str]]:
    """Write a German spreadsheet: semicolons, decimal commas, Latin-1, a slider."""
    random = np.random.default_rng(1)
    slider = (20 * ratings.rating - 10 + random.normal(0, 4, len(ratings))).clip(0, 100).round(1)
    table = pd.DataFrame(
        {"Teilnehmer": ratings.participant, "Text": ratings.item, "System": ratings.system, "Bewertung": slider}
    )
    table.to_csv(folder / "noten.csv", index=False, sep=";", decimal=",", encoding="latin-1")
    return folder / "noten.csv", []


def numeric_systems(folder: Path, ratings: pd.DataFrame) -> tuple[Path, list[str]]:
    """Write systems that are called 1, 2 and 3."""
    codes = ratings.assign(system=ratings.system.map({"A": 1, "B": 2, "C": 3}))
    codes.to_csv(folder / "codes.csv", index=False)
    return folder / "codes.csv", []
