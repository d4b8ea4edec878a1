"""Files of ratings drawn from a grammar, with the truth known: which are read right, asked about, read wrongly.

    python benchmarks/read_files.py 2000 [first seed]

A file is a design (who rated what), a shape (one row per rating, a column per rater, nested JSON, pairs, spans …),
names of columns in six languages and several styles, distractor columns, and flaws. "right" is the same ratings of the
same raters, items, systems and criteria, or comparisons and broken files refused as such; "asked" is one sentence with
a question; "wrong" is anything else that is read without an error.
"""

from __future__ import annotations

import csv
import json
import random
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ordbridge as ob
from ordbridge.errors import InputError
from ordbridge.reading.preferences import PreferencesFound

NAMES: dict[str, list[str]] = {  # English, German, French, Spanish, Italian, Dutch
    "participant": ["rater", "annotator", "worker_id", "WorkerId", "judge", "participant", "evaluator", "subject",
                    "coder", "Teilnehmer", "Bewerter", "annotateur", "juge", "evaluador", "participante", "valutatore",
                    "annotatore", "beoordelaar", "deelnemer", "RaterID", "annotator_id", "user_id", "rater_no"],
    "item": ["item", "text_id", "docId", "sentence_id", "prompt", "segment", "story", "stimulus", "item_no", "Satz",
             "Text", "texte", "phrase", "texto", "oracion", "testo", "frase", "tekst", "zin", "ItemID", "article_id",
             "source_id", "doc_id"],
    "system": ["system", "model", "method", "condition", "sys", "model_name", "systemName", "architecture", "Modell",
               "Verfahren", "systeme", "modele", "sistema", "modelo", "modello", "systeem", "SystemID", "variant"],
    "criterion": ["criterion", "dimension", "aspect", "Kriterium", "critere", "criterio", "aspetto", "attribute"],
    "rating": ["rating", "score", "Rating", "human_score", "Bewertung", "note", "puntuacion", "punteggio",
               "beoordeling", "likert", "grade", "ratingValue", "stars", "judgment"],
}  # fmt: skip
CRITERIA = [["fluency", "adequacy", "coherence"], ["informativeness", "naturalness", "quality"],
            ["Verständlichkeit", "Kohärenz", "Relevanz"], ["fluidité", "cohérence", "clarté"],
            ["fluidez", "coherencia", "claridad"], ["scorrevolezza", "coerenza", "chiarezza"],
            ["vloeiendheid", "samenhang", "duidelijkheid"], ["Grammaticality", "Readability", "Overall"],
            ["crispness", "zest", "bounce"], ["Q1", "Q2", "Q3"], ["syntax", "guidelines", "punch"]]  # fmt: skip
SYSTEMS = [["gpt-4", "llama-2", "human"], ["A", "B", "C"], ["baseline", "ours", "reference"], ["T5", "BART", "Pegasus"],
           ["sys1", "sys2", "sys3"], ["marian", "deepl", "google"], ["Nematus", "NUS-3", "CAMB"]]  # fmt: skip
SCALES: list[list[Any]] = [[1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 6, 7], list(range(0, 101)), [0, 1], [1, 2, 3, 4],
                           list(range(0, 1001, 10)), ["poor", "fair", "good", "excellent"],
                           ["strongly disagree", "disagree", "neutral", "agree", "strongly agree"]]  # fmt: skip
TEXTS = [
    "the",
    "cat",
    "sat",
    "on",
    "a",
    "mat",
    "while",
    "it",
    "rained",
    "and",
    "nobody",
    "knew",
    "why",
    "this",
    "was",
    "so",
    "at",
    "all",
    "today",
]

Row = dict[str, Any]


@dataclass
class Study:
    """The truth: one row per rating."""

    rows: list[Row]
    criteria: list[str]
    systems: list[str]
    raters: list[str]
    items: list[str]
    names: dict[str, str]
    rng: random.Random
    scale: list[Any]
    extra: dict[str, Callable[[Row], Any]] = field(default_factory=dict)


def styled(name: str, rng: random.Random) -> str:
    way = rng.choice(["as it is"] * 4 + ["upper", "title", "camel", "prefix"])
    if way == "upper":
        return name.upper()
    if way == "title":
        return name[:1].upper() + name[1:]
    if way == "camel":
        first, *rest = name.split("_")
        return first + "".join(part.title() for part in rest)
    return rng.choice(["", "", "Input."]) + name if way == "prefix" else name


def study(rng: random.Random) -> Study:
    """Draw a design, its names and its distractors."""
    systems = rng.choice(SYSTEMS)[: rng.choice([2, 3, 3])]
    criteria = rng.choice(CRITERIA)[: rng.choice([1, 1, 2, 3])]
    style = rng.choice(["{}", "w{:02d}", "A{}XQ7", "anno_{}", "p{}", "{}"])
    people = list(range(1, rng.choice([3, 4, 6, 12]) + 1))
    raters = [style.format(rng.randint(10_000, 99_999) if style == "A{}XQ7" else n) for n in people]
    things = rng.choice(["{}", "t{}", "doc{:03d}", "item_{}", "{}"])
    items = [things.format(n + rng.choice([0, 0])) for n in range(1, rng.choice([8, 12, 20]) + 1)]
    scale = rng.choice(SCALES)
    level = {system: rng.random() for system in systems}
    rows = []
    share = rng.choice([1.0, 1.0, 0.6])
    for rater in raters:
        for item in items:
            for system in systems:
                if rng.random() > share:
                    continue
                for criterion in criteria:
                    place = min(len(scale) - 1, max(0, round(rng.gauss(level[system], 0.3) * (len(scale) - 1))))
                    rows.append({"participant": rater, "item": item, "system": system, "criterion": criterion,
                                 "rating": scale[place]})  # fmt: skip
    if any(len({row["rating"] for row in rows if row["criterion"] == one}) < 2 for one in criteria):
        return study(rng)
    names = {role: styled(rng.choice(words), rng) for role, words in NAMES.items()}
    return Study(rows, criteria, systems, raters, items, names, rng, scale, distractors(rng, items, raters))


def distractors(rng: random.Random, items: list[str], raters: list[str]) -> dict[str, Callable[[Row], Any]]:
    sentence = {item: " ".join(rng.choices(TEXTS, k=rng.randint(5, 12))) for item in items}
    age = {rater: rng.randint(19, 70) for rater in raters}
    trust = {rater: round(rng.random(), 3) for rater in raters}
    topic = {item: rng.choice(["news", "sport", "science"]) for item in items}
    known: dict[str, Callable[[Row], Any]] = {
        "_trust": lambda row: trust[row["participant"]],
        "age": lambda row: age[row["participant"]],
        "time_ms": lambda row: rng.randint(900, 90_000),
        "WorkTimeInSeconds": lambda row: rng.randint(5, 400),
        "timestamp": lambda row: f"2026-03-{rng.randint(10, 28)} 1{rng.randint(0, 9)}:22",
        "filler": lambda row: -1,
        "output_text": lambda row: f"{row['system']} {sentence[row['item']]}",
        "comment": lambda row: rng.choice(["", "", "ok", "odd wording"]),
        "source_length": lambda row: len(sentence[row["item"]]),
        "topic_label": lambda row: topic[row["item"]],
        "native_speaker": lambda row: "yes" if age[row["participant"]] % 3 else "no",
        "batch": lambda row: int(age[row["participant"]] % 2) + 1,
        "language": lambda row: "en",
        "n_words": lambda row: len(sentence[row["item"]].split()),
        "consent": lambda row: "yes",
        "split": lambda row: "test",
        "order": lambda row: rng.randint(1, 9),
        "rownames": lambda row: None,
        "familiarity": lambda row: age[row["participant"]] % 5 + 1,
        "target_difficulty": lambda row: len(sentence[row["item"]]) % 5 + 1,
        "intended_emotion": lambda row: ["joy", "fear", "anger"][len(sentence[row["item"]]) % 3],
        "bleu": lambda row: round(rng.random(), 4),
        "comet": lambda row: round(rng.gauss(0.7, 0.1), 4),
        "minutes": lambda row: rng.randint(1, 9),
        "confidence": lambda row: rng.randint(1, 5),
        "unit_id": lambda row: 10_000 + zlib.crc32(f"{row['item']} {row['system']}".encode()) % 997,
        "is_replicate": lambda row: "False",
        "temperature": lambda row: 0.7,
        "seed": lambda row: age[row["participant"]] % 4,
        "gold": lambda row: "",
        "expected_label": lambda row: len(sentence[row["item"]]) % 2,
    }
    chosen = rng.sample(sorted(known), rng.choice([0, 1, 2, 3, 4, 6]))
    return {name: known[name] for name in chosen}


# -- shapes: each returns the table, and what must come out

Table = tuple[list[str], list[list[Any]]]


def table_of(rows: list[Row], rng: random.Random, shuffle: bool = True) -> Table:
    header = list(dict.fromkeys(name for row in rows for name in row))
    if shuffle and rng.random() < 0.5:
        rng.shuffle(header)
    for place, row in enumerate(rows, 1):
        if "rownames" in row:
            row["rownames"] = place
    return header, [[row.get(name, "") for name in header] for row in rows]


def with_extra(s: Study, row: Row, shared: dict[str, Any]) -> Row:
    return {**shared, **{name: make(row) for name, make in s.extra.items()}}


def long(s: Study) -> tuple[Table, set[Any]]:
    several = len(s.criteria) > 1
    rows = []
    for row in s.rows:
        named = {s.names[role]: row[role] for role in ("participant", "item", "system", "rating")}
        if several:
            named[s.names["criterion"]] = row["criterion"]
        rows.append(with_extra(s, row, named))
    return table_of(rows, s.rng), truth(s, several)


def truth(s: Study, several: bool = True, roles: tuple[str, ...] = ("participant", "item", "system")) -> set[Any]:
    return {(*(str(row[role]) for role in roles), str(row["rating"])) for row in s.rows}


def grouped(s: Study, roles: tuple[str, ...]) -> dict[tuple[str, ...], list[Row]]:
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in s.rows:
        groups.setdefault(tuple(row[role] for role in roles), []).append(row)
    return groups


def wide_criteria(s: Study) -> tuple[Table, set[Any]]:
    mark = s.rng.choice(["{}", "{}", "{}_score", "rating_{}", "{} (1-5)" if s.scale == [1, 2, 3, 4, 5] else "{}"])
    rows = []
    for rated in grouped(s, ("participant", "item", "system")).values():
        named = {s.names[role]: rated[0][role] for role in ("participant", "item", "system")}
        named |= {mark.format(row["criterion"]): row["rating"] for row in rated}
        rows.append(with_extra(s, rated[0], named))
    return table_of(rows, s.rng), truth(s)


def wide_raters(s: Study) -> tuple[Table, set[Any]]:
    s.rows = [row for row in s.rows if row["criterion"] == s.criteria[0]]
    s.criteria = s.criteria[:1]
    mark = s.rng.choice(["Rater {}", "annotator{}", "judge_{}", "R{}", "Annotator_{}", "rating_annotator{}"])
    new = {rater: mark.format(place) for place, rater in enumerate(s.raters, 1)}
    rows = []
    for rated in grouped(s, ("item", "system")).values():
        named = {s.names[role]: rated[0][role] for role in ("item", "system")}
        rows.append(named | {new[row["participant"]]: row["rating"] for row in rated})
    for row in s.rows:
        row["participant"] = new[row["participant"]].removeprefix("rating_")
    return table_of(rows, s.rng, shuffle=False), truth(s)


def wide_systems(s: Study) -> tuple[Table, set[Any]]:
    s.rows = [row for row in s.rows if row["criterion"] == s.criteria[0]]
    s.criteria = s.criteria[:1]
    rows = []
    for rated in grouped(s, ("participant", "item")).values():
        named = {s.names[role]: rated[0][role] for role in ("participant", "item")}
        rows.append(named | {row["system"]: row["rating"] for row in rated})
    return table_of(rows, s.rng, shuffle=False), truth(s)


def wide_both(s: Study) -> tuple[Table, set[Any]]:
    sign = s.rng.choice(["_", " - ", "."])
    first = s.rng.random() < 0.5
    rows = []
    for rated in grouped(s, ("participant", "item")).values():
        named = {s.names[role]: rated[0][role] for role in ("participant", "item")}
        for row in rated:
            pair = (row["criterion"], row["system"]) if first else (row["system"], row["criterion"])
            named[sign.join(pair)] = row["rating"]
        rows.append(named)
    return table_of(rows, s.rng, shuffle=False), truth(s)


def several_per_row(s: Study) -> tuple[Table, set[Any]]:
    word = s.rng.choice(["system", "model", "team", "method"])
    rows = []
    kept = []
    for rated in grouped(s, ("participant", "item")).values():
        systems = list(dict.fromkeys(row["system"] for row in rated))
        if len(systems) < len(s.systems):
            continue
        kept += rated
        s.rng.shuffle(systems)
        named = {s.names[role]: rated[0][role] for role in ("participant", "item")}
        named |= {f"{word}{n}": system for n, system in enumerate(systems, 1)}
        for row in rated:
            named[f"{row['criterion']}{systems.index(row['system']) + 1}"] = row["rating"]
        rows.append(with_extra(s, rated[0], named))
    s.rows = kept
    for name in ("output_text",):
        s.extra.pop(name, None)
    return table_of(rows, s.rng, shuffle=False), truth(s)


def means(s: Study) -> tuple[Table, set[Any]]:
    if isinstance(s.scale[0], str):
        raise Redraw
    rows = []
    s.extra = {n: f for n, f in s.extra.items() if n in ("filler", "source_length", "topic_label", "split", "language")}
    for rated in grouped(s, ("item", "system")).values():
        named = {s.names[role]: rated[0][role] for role in ("item", "system")}
        for criterion in s.criteria:
            own = [row["rating"] for row in rated if row["criterion"] == criterion]
            named[criterion] = round(sum(own) / len(own), 3) + 0.0005
        rows.append(with_extra(s, rated[0], named))
    s.rows = [{"item": row[s.names["item"]], "system": row[s.names["system"]], "criterion": criterion,
               "rating": row[criterion]} for row in rows for criterion in s.criteria]  # fmt: skip
    return table_of(rows, s.rng), truth(s, roles=("item", "system"))


def no_system(s: Study) -> tuple[Table, set[Any]]:
    s.rows = [row | {"system": s.systems[0]} for row in s.rows if row["system"] == s.systems[0]]
    rows = []
    for rated in grouped(s, ("participant", "item")).values():
        named = {s.names[role]: rated[0][role] for role in ("participant", "item")}
        rows.append(named | {row["criterion"]: row["rating"] for row in rated})
    return table_of(rows, s.rng), truth(s, roles=("participant", "item"))


def dummies(s: Study) -> tuple[Table, set[Any]]:
    rows = []
    for rated in grouped(s, ("participant", "item", "system")).values():
        named = {s.names[role]: rated[0][role] for role in ("participant", "item")}
        named |= {system: int(system == rated[0]["system"]) for system in s.systems}
        rows.append(named | {row["criterion"]: row["rating"] for row in rated})
    return table_of(rows, s.rng, shuffle=False), truth(s)


def errors(s: Study) -> tuple[Table, set[Any]]:
    word = s.rng.choice(["errors", "num_errors", "penalty", "Fehler", "erreurs", "errores", "mistakes", "error_count"])
    s.rows = [row | {"rating": s.rng.randint(0, 9)} for row in s.rows if row["criterion"] == s.criteria[0]]
    s.criteria = [word]
    rows = [{s.names[role]: row[role] for role in ("participant", "item", "system")} | {word: row["rating"]}
            for row in s.rows]  # fmt: skip
    return table_of(rows, s.rng), truth(s) | {"lower"}


def pairs(s: Study) -> tuple[Table, set[Any]]:
    a, b = s.rng.choice(
        [("model_a", "model_b"), ("system1", "system2"), ("system1Id", "system2Id"), ("model_1", "model_2")]
    )
    verdict = s.rng.choice(["winner", "preference", "choice", "better", "vote"])
    words = s.rng.choice([(a, b, "tie"), ("A", "B", "tie"), ("left", "right", "equal"), ("names", "", "tie")])
    rows = []
    for rated in grouped(s, ("participant", "item")).values():
        one, two = s.rng.sample(s.systems, 2)
        said = s.rng.choice([0, 1, 2])
        outcome = (one, two, "tie")[said] if words[0] == "names" else words[said]
        shared = {s.names[role]: rated[0][role] for role in ("participant", "item")}
        extra = {name: value for name, value in with_extra(s, rated[0], {}).items() if name != "output_text"}
        if s.rng.random() < 0.5 or "rank" in a:
            pass
        rows.append(shared | {a: one, b: two, verdict: outcome} | extra)
    return table_of(rows, s.rng), {"pairs", len(rows)}


def ranked_pairs(s: Study) -> tuple[Table, set[Any]]:
    rows = []
    for rated in grouped(s, ("participant", "item")).values():
        one, two = s.rng.sample(s.systems, 2)
        x, y = s.rng.choice([(1, 2), (2, 1), (1, 1), (3, 5)])
        shared = {s.names[role]: rated[0][role] for role in ("participant", "item")}
        rows.append(shared | {"system1Id": one, "system2Id": two, "system1rank": x, "system2rank": y, "x": -1})
    return table_of(rows, s.rng), {"pairs", len(rows)}


def ranks(s: Study) -> tuple[Table, set[Any]]:
    rows = []
    for rated in grouped(s, ("participant", "item")).values():
        order = list(range(1, len(s.systems) + 1))
        s.rng.shuffle(order)
        for system, place in zip(s.systems, order, strict=True):
            rows.append({s.names["participant"]: rated[0]["participant"], s.names["item"]: rated[0]["item"],
                         s.names["system"]: system, s.rng.choice(["rank"]): place})  # fmt: skip
    return table_of(rows, s.rng), {"pairs", None}


def spans(s: Study) -> tuple[Table, set[Any]]:
    weight = {"Minor": 1, "Major": 5}
    rows, sums = [], []
    for rated in grouped(s, ("participant", "item", "system")).values():
        found = [s.rng.choice(["Minor", "Major"]) for _ in range(s.rng.choice([0, 0, 1, 2, 3]))]
        for severity in found or ["No-error"]:
            rows.append({"system": rated[0]["system"], "seg_id": rated[0]["item"], "rater": rated[0]["participant"],
                         "category": "Accuracy", "severity": severity})  # fmt: skip
        sums.append({**rated[0], "rating": sum(weight[one] for one in found)})
    s.rows, s.criteria = sums, ["penalty"]
    return table_of(rows, s.rng), truth(s) | {"lower"}


def nested(s: Study) -> tuple[Any, set[Any]]:
    s.rows = [row for row in s.rows if row["system"] == s.systems[0]]
    if any(len({row["rating"] for row in s.rows if row["criterion"] == one}) < 2 for one in s.criteria):
        raise Redraw
    tree: dict[str, Any] = {}
    for row in s.rows:
        person = f"worker_{row['participant']}"
        tree.setdefault(row["item"], {}).setdefault(person, {})[row["criterion"]] = row["rating"]
        row["participant"] = person
    return tree, truth(s, roles=("participant", "item"))


def records(s: Study) -> tuple[Any, set[Any]]:
    found = []
    for (item, system), rated in grouped(s, ("item", "system")).items():
        people: dict[str, dict[str, Any]] = {}
        for row in rated:
            people.setdefault(row["participant"], {"annotator": row["participant"]})[row["criterion"]] = row["rating"]
        found.append({"id": item, "model": system, "text": " ".join(s.rng.choices(TEXTS, k=8)),
                      "annotations": list(people.values())})  # fmt: skip
    return found, truth(s)


def two_studies(s: Study) -> tuple[Table, set[Any]]:
    """Participants are counted anew in each experiment: must be asked about, or read as different people."""
    if len(s.raters) < 4:
        raise Redraw
    half = len(s.raters) // 2
    number = {rater: (f"e{place // half}", str(place % half + 1)) for place, rater in enumerate(s.raters[: 2 * half])}
    s.rows = [row for row in s.rows if row["participant"] in number]
    rows = []
    for rated in grouped(s, ("participant", "item", "system")).values():
        study_of, n = number[rated[0]["participant"]]
        named = {"participant": n, "expID": study_of}
        named |= {s.names[role]: rated[0][role] for role in ("item", "system")}
        rows.append(named | {row["criterion"]: row["rating"] for row in rated})
    for row in s.rows:
        row["participant"] = " ".join(number[row["participant"]])
    return table_of(rows, s.rng), truth(s)


def short_row(s: Study) -> tuple[Table, set[Any]]:
    (header, rows), _ = long(s)
    place = s.rng.randrange(len(rows))
    rows[place] = rows[place][: len(header) - s.rng.choice([1, 2])]
    return (header, rows), {"broken"}


def nested_items(s: Study) -> tuple[Table, set[Any]]:
    """Texts have names of their own; what all systems worked on stands in another column."""
    text = {(item, system): f"{s.rng.randrange(16**10):010x}" for item in s.items for system in s.systems}
    source = s.rng.choice(["source_id", "term_id", "prompt_id", "input_id"])
    rows = []
    for rated in grouped(s, ("participant", "item", "system")).values():
        one = rated[0]
        named = {s.names["participant"]: one["participant"], s.names["system"]: one["system"],
                 "item": text[one["item"], one["system"]], source: one["item"]}  # fmt: skip
        rows.append(named | {row["criterion"]: row["rating"] for row in rated})
    return table_of(rows, s.rng), truth(s)


def segments(s: Study) -> tuple[Table, set[Any]]:
    """Segments are counted anew in each document."""
    half = len(s.items) // 2
    place = {item: (f"d{n // half}", str(n % half + 1)) for n, item in enumerate(s.items[: 2 * half])}
    s.rows = [row for row in s.rows if row["item"] in place]
    rows = []
    for rated in grouped(s, ("participant", "item", "system")).values():
        doc, seg = place[rated[0]["item"]]
        named = {s.names[role]: rated[0][role] for role in ("participant", "system")} | {"doc_id": doc, "seg_id": seg}
        rows.append(named | {row["criterion"]: row["rating"] for row in rated})
    for row in s.rows:
        row["item"] = " ".join(place[row["item"]])
    return table_of(rows, s.rng), truth(s)


def several_verdicts(s: Study) -> tuple[Table, set[Any]]:
    k = s.rng.choice([2, 3])
    rows = []
    for item in s.items * 3:
        one, two = s.rng.sample(s.systems, 2)
        verdicts = {f"winner{n}": s.rng.choice(["model_1", "model_2", "tie"]) for n in range(1, k + 1)}
        rows.append({s.names["item"]: item, "model_1": one, "model_2": two, **verdicts})
    return table_of(rows, s.rng), {"pairs", len(rows) * k}


def wide_pairs(s: Study) -> tuple[Table, set[Any]]:
    rows = []
    for rater in s.raters * 5:
        row: Row = {s.names["participant"]: rater}
        for n in (1, 2, 3):
            one, two = s.rng.sample(s.systems, 2)
            row |= {f"systema{n}": one, f"systemb{n}": two, f"choice{n}": s.rng.choice("ab")}
        rows.append(row)
    return table_of(rows, s.rng, shuffle=False), {"pairs", len(rows) * 3}


def best_worst(s: Study) -> tuple[Table, set[Any]]:
    rows = []
    for rated in grouped(s, ("participant", "item")).values():
        one, two = s.rng.sample(s.systems, 2)
        best = s.rng.choice("AB")
        rows.append({"WorkerId": rated[0]["participant"], "HITId": rated[0]["item"], "Input.system1": one,
                     "Input.system2": two, "Answer.best": best, "Answer.worst": "BA"["AB".index(best)],
                     "Answer.english": "1"})  # fmt: skip
    return table_of(rows, s.rng), {"pairs", len(rows)}


def against_one(s: Study) -> tuple[Table, set[Any]]:
    ours, *others = s.systems
    rows = []
    for rated in grouped(s, ("participant", "item")).values():
        other = s.rng.choice(others)
        rows.append({s.names["participant"]: rated[0]["participant"], s.names["item"]: rated[0]["item"],
                     "other_system": other, "winner": s.rng.choice([ours, other, "similar"])})  # fmt: skip
    return table_of(rows, s.rng), {"pairs", len(rows)}


def lone_verdicts(s: Study) -> tuple[Table, set[Any]]:
    rows = []
    for rated in grouped(s, ("participant", "item")).values():
        shared = {s.names[role]: rated[0][role] for role in ("participant", "item")}
        rows.append(shared | {"preference": s.rng.choice(["A", "B", "tie"])})
    return table_of(rows, s.rng), {"pairs"}


@dataclass
class Files:
    """Several files that belong together."""

    tables: dict[str, Table]


def a_file_each(s: Study, role: str) -> tuple[Files, set[Any]]:
    """Write a file per rater or per system, whose name is the only place where the role is said."""
    people = {str(row[role]) for row in s.rows}
    if len(people) < 2:
        raise Redraw
    roles = [one for one in ("participant", "item", "system") if one != role]
    rows: dict[str, list[Row]] = {}
    for rated in grouped(s, ("participant", "item", "system")).values():
        named = {s.names[one]: rated[0][one] for one in roles}
        named |= {row["criterion"]: row["rating"] for row in rated}
        rows.setdefault(str(rated[0][role]), []).append(named)
    if len({tuple(sorted({key for row in one for key in row})) for one in rows.values()}) > 1:
        raise Redraw  # somebody was not asked everything
    return Files({name: table_of(one, s.rng) for name, one in rows.items()}), truth(s)


def batches(s: Study) -> tuple[Files, set[Any]]:
    """Write two or three files with the same columns, which share raters, items and systems."""
    (header, rows), expected = wide_criteria(s)
    if len(rows) < 12:
        raise Redraw
    k = s.rng.choice([2, 3])
    return Files({f"batch_{n}": (header, rows[n::k]) for n in range(k)}), expected


def computed(s: Study) -> tuple[Table, set[Any]]:
    """Write ratings beside what was computed from them."""
    if not all(isinstance(one, int) for one in s.scale) or s.scale == [0, 1]:
        raise Redraw
    (header, rows), expected = wide_criteria(s)
    mark = s.rng.choice(["{}_zscore", "{}_z", "z_{}", "{}_normalized", "{} (z)"])
    places = {name: header.index(name) for name in header if name in s.criteria}
    if not places:
        raise Redraw
    values = {name: [float(row[at]) for row in rows if row[at] not in (None, "")] for name, at in places.items()}
    mean = {name: sum(one) / len(one) for name, one in values.items()}

    def scores(row: Any) -> list[str]:
        cells = [(row[at], mean[name]) for name, at in places.items()]
        return ["" if cell in (None, "") else f"{(float(cell) - centre) / 1.7:.5f}" for cell, centre in cells]

    more = [scores(row) for row in rows]
    return (
        [*header, *(mark.format(name) for name in places)],
        [[*row, *add] for row, add in zip(rows, more, strict=True)],
    ), expected


def other_names(s: Study) -> tuple[Table, set[Any]]:
    """Write systems under a name that says nothing."""
    s.names["system"] = s.rng.choice(["compressor", "flavour", "kind", "arm_of_study", "Fassung", "produit", "qqq"])
    return wide_criteria(s)


def raters_as_keys(s: Study) -> tuple[Any, set[Any]]:
    """Write records that have an object of raters, and ratings under criteria."""
    s.rows = [row | {"participant": f"annotator_{row['participant']}"} for row in s.rows]
    found = []
    for (item, system), rated in grouped(s, ("item", "system")).items():
        people: dict[str, Row] = {}
        for row in rated:
            people.setdefault(row["participant"], {})[row["criterion"]] = row["rating"]
        found.append({"id": item, "model": system, "text": " ".join(s.rng.choices(TEXTS, k=8)), "labels": people})
    return found, truth(s)


class Redraw(Exception):  # noqa: N818
    """The shape does not fit the design that was drawn."""


SHAPES: dict[str, tuple[int, Callable[[Study], tuple[Any, set[Any]]]]] = {
    "one row per rating": (6, long), "a column per criterion": (6, wide_criteria),
    "a column per rater": (2, wide_raters), "a column per system": (2, wide_systems),
    "criterion × system": (2, wide_both),
    "several systems per row": (2, several_per_row), "means without raters": (2, means), "no system": (1, no_system),
    "dummy-coded systems": (1, dummies), "counts of errors": (1, errors), "pairs with a verdict": (2, pairs),
    "pairs with ranks": (1, ranked_pairs), "ranks": (1, ranks), "error spans": (1, spans), "nested JSON": (1, nested),
    "records with annotations": (1, records), "participants counted anew": (1, two_studies),
    "short rows": (1, short_row),
    "items within systems": (1, nested_items), "segments within documents": (1, segments),
    "several verdicts": (1, several_verdicts), "pairs side by side": (1, wide_pairs), "best and worst": (1, best_worst),
    "pairs against one system": (1, against_one), "verdicts without systems": (1, lone_verdicts),
    "a file per rater": (1, lambda s: a_file_each(s, "participant")),
    "a file per system": (1, lambda s: a_file_each(s, "system")), "batches": (1, batches),
    "computed columns": (1, computed), "unknown names of systems": (1, other_names),
    "raters as keys": (1, raters_as_keys),
}  # fmt: skip
FLAWS = ("none", "none", "none", "missing", "semicolons", "tabs", "latin", "bom", "trailing", "excel row")


def write(
    folder: Path, found: Any, s: Study, rng: random.Random, expected: set[Any], stem: str = "study"
) -> Path | list[Path]:
    """Write a table, several or JSON, with a flaw that does not change what it says."""
    if isinstance(found, Files):
        state = rng.getstate()
        paths = []
        for name, table in found.tables.items():
            rng.setstate(state)  # the same flaw in all files
            paths.append(write(folder, table, s, rng, expected, name))
        return [path for path in paths if isinstance(path, Path)]
    if not (isinstance(found, tuple) and len(found) == 2 and isinstance(found[0], list)):
        path = folder / "study.json"
        path.write_text(json.dumps(found, ensure_ascii=False), encoding="utf-8")
        return path
    header, rows = found
    flaw = rng.choice(FLAWS)
    separator = {"semicolons": ";", "tabs": "\t"}.get(flaw, ",")
    path = folder / f"{stem}.{'tsv' if flaw == 'tabs' else 'csv'}"
    encoding = {"latin": "latin-1", "bom": "utf-8-sig"}.get(flaw, "utf-8")
    with path.open("w", encoding=encoding, errors="replace", newline="") as stream:
        writer = csv.writer(stream, delimiter=separator)
        tail = [""] if flaw == "trailing" and "broken" not in expected else []
        writer.writerow([*header, *tail])
        writer.writerows([[*row, *tail] if len(row) == len(header) else row for row in rows])
    return path


def outcome(path: Path | list[Path], s: Study, expected: set[Any]) -> tuple[str, str]:
    """Read a file and compare it with the truth."""
    try:
        ratings = ob.read(path)
    except PreferencesFound as refused:
        if "pairs" in expected:
            n = 0 if refused.preferences is None else refused.preferences.table.num_rows
            right = not (counts := [one for one in expected if isinstance(one, int)]) or counts == [n]
            return ("right", "") if right else ("wrong", f"{n} comparisons")
        return "asked", str(refused)
    except InputError as refused:
        return ("right" if "broken" in expected else "asked"), str(refused)
    if {"pairs", "broken"} & expected:
        return "wrong", ratings.counted
    lower = "lower" in expected
    rows = {one for one in expected if isinstance(one, tuple)}
    roles = {4: ("participant", "item", "system"), 3: ("participant", "item")}[len(next(iter(rows)))]
    if "participant" not in ratings.table.column_names:
        roles = ("item", "system")
    if not set(roles) <= set(ratings.table.column_names):
        return "wrong", ratings.counted
    got = {(*(str(row[role]) for role in roles), plain(row["rating"])) for row in ratings.table.to_pylist()}
    want = {(*row[:-1], plain(row[-1])) for row in rows}
    n = len(ratings.table["criterion"].unique()) if "criterion" in ratings.table.column_names else 1
    if got != want or n != len(s.criteria) or ratings.table.num_rows != len(s.rows):
        return "wrong", f"{ratings.counted} {ratings.table.num_rows} of {len(s.rows)} {sorted(want - got)[:2]}"
    if lower != bool(ratings.lower_is_better):
        return "wrong", "the direction"
    return "right", ""


def plain(value: Any) -> str:
    try:
        return f"{float(value):g}"
    except ValueError:
        return str(value)


def draw(seed: int, folder: Path) -> tuple[str, Path | list[Path], Study, set[Any]]:
    """Write the file of a seed; return its shape, its path and the truth."""
    rng = random.Random(seed)
    names = [name for name, (weight, _) in SHAPES.items() for _ in range(weight)]
    while True:
        shape = rng.choice(names)
        s = study(rng)
        try:
            found, expected = SHAPES[shape][1](s)
        except Redraw:
            continue
        return shape, write(folder, found, s, rng, expected), s, expected


def main(n: int, first: int = 0) -> int:
    """Draw, read and count; print the table and every file that was read wrongly."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in SHAPES}
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + n):
            shape, path, s, expected = draw(seed, Path(folder))
            verdict, why = outcome(path, s, expected)
            counts[shape][verdict] += 1
            if (verdict != "right" and "-v" in sys.argv) or verdict == "wrong":
                print(f"{verdict} {seed} ({shape}): {why[:400]}", file=sys.stderr)
    print("| shape | files | right | asked | wrong |\n|---|---|---|---|---|")
    total: Counter[str] = Counter()
    for shape, found in counts.items():
        total += found
        print(f"| {shape} | {found.total()} | {found['right']} | {found['asked']} | {found['wrong']} |")
    print(f"| **all** | {total.total()} | {total['right']} | {total['asked']} | {total['wrong']} |")
    return int(total["wrong"] > 0)


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    sys.exit(main(*(numbers or [2000])))
