"""Published rating files, read as they are into one long table, and the description of a dataset.

Nothing is downloaded: every reader says where its file comes from. All return one row a rating with the columns
``dataset, system, item, text_id, participant, criterion, rating`` and the extras that they name; people are renumbered
P001, P002, … in the order in which they appear, and texts become numbers.
"""

from __future__ import annotations

import csv
import os
import zipfile
from collections.abc import Hashable, Iterable, Iterator, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ordbridge import tables
from ordbridge.errors import InputError

__all__ = ["describe", "read_flickr8k", "read_huse", "read_nem", "read_pplm", "read_qgstec"]

HUSE_CATEGORIES = ("Invalid", "Rare", "Specific", "Average", "Typical", "Very Typical")
PPLM_SYSTEMS = ("B", "BC", "BR", "BCR")
PPLM_HEADER = "How fluent is the passage of A?"
PPLM_RATERS = ((3, 4, 5), (7, 8, 9), (11, 12, 13))
"""Where a file of PPLM has each rater's fluency of A, fluency of B, and name (in the header)."""
NEM_CRITERIA = ("informativeness", "naturalness", "quality")
QGSTEC_CRITERIA = {
    "Relevance": ("relevance", "Rel"),
    "QuestionType": ("questionType", "QT"),
    "Correctness": ("correctness", "Cor"),
    "Ambiguity": ("ambiguity", "Amb"),
    "Variety": ("variety", "Var"),
}
"""Criteria of QG-STEC: the attribute in the XML file, and what columns of the spreadsheet begin with."""

_COLUMNS = ("dataset", "system", "item", "text_id", "participant", "criterion", "rating")
File = str | os.PathLike[str]


def describe(
    table: Any,
    *,
    by: Sequence[str] | None = None,
    typical: str = "auto",
    system: str = "system",
    item: str = "item",
    text: str = "text_id",
    participant: str = "participant",
    rating: str = "rating",
) -> pa.Table:
    """Describe a dataset by a row as in Table 1 of Howcroft & Rieser.

    Parameters
    ----------
    table
        One row a rating.
    by
        Columns whose combinations get a row each; by default ``dataset`` and ``criterion``, where they exist.
    typical
        How the number of ratings per text and per participant is summarised: ``"mode"``, ``"median"``, or ``"auto"``:
        the mode if more than half have exactly that number, else the median.
    system, item, text, participant, rating
        Columns. Without a column for texts a text is a system and an item; a column of people that is missing or empty
        leaves their number open.

    Returns
    -------
    pyarrow.Table
        ``scale`` is the number of categories used; beside each typical number stands what it is.

    References
    ----------
    Howcroft & Rieser (2021), Table 1.

    Examples
    --------
    >>> ratings = {"system": ["a", "a", "b"], "item": [1, 1, 1], "participant": ["p", "q", "p"], "rating": [1, 5, 4]}
    >>> row = describe(ratings).to_pylist()[0]
    >>> row["systems"], row["texts"], row["ratings"], row["ratings_per_participant"]
    (2, 2, 3, 1.5)
    """
    if typical not in {"auto", "mode", "median"}:
        raise InputError(f"typical={typical!r} is unknown; choose one of: auto, mode, median")
    arrow = tables.to_arrow(table)
    arrow = arrow.filter(tables.column(arrow, rating, role="rating").is_valid())
    if not arrow.num_rows:
        raise InputError("the table has no ratings")
    if by is None:
        by = [name for name in ("dataset", "criterion") if name in arrow.column_names]
    labels = list(zip(*(tables.column(arrow, name, role="groups").to_pylist() for name in by), strict=True))
    codes, groups = _numbered(labels or [()] * arrow.num_rows)
    columns = {"system": system, "item": item, "text": text, "participant": participant, "rating": rating}
    rows = []
    for code, group in enumerate(groups):
        part = arrow.filter(pa.array(codes == code))
        rows.append(dict(zip(by, group, strict=True)) | _description(part, columns, typical))
    return pa.Table.from_pylist(rows)


def _description(table: pa.Table, columns: dict[str, str], typical: str) -> dict[str, Any]:
    systems = tables.column(table, columns["system"], role="system").to_pylist()
    items = tables.column(table, columns["item"], role="item").to_pylist()
    ratings = tables.column(table, columns["rating"], role="rating")
    has_texts = columns["text"] in table.column_names
    texts = table[columns["text"]].to_pylist() if has_texts else list(zip(systems, items, strict=True))
    people = table[columns["participant"]].to_pylist() if columns["participant"] in table.column_names else [None]
    known = None not in people
    per_text, text_statistic = _typical(texts, typical)
    per_person, person_statistic = _typical(people, typical) if known else (None, None)
    return {
        "scale": len(ratings.unique()),
        "systems": len({*systems} - {None}),
        "items": len({*items}),
        "texts": len({*texts}),
        "participants": len({*people}) if known else None,
        "ratings": len(ratings),
        "ratings_per_text": per_text,
        "per_text_is": text_statistic,
        "ratings_per_participant": per_person,
        "per_participant_is": person_statistic,
    }


def _typical(labels: Sequence[Hashable], statistic: str) -> tuple[float, str]:
    """Return how many ratings one of the labels has: the mode or the median, and which of the two."""
    counts = np.bincount(_numbered(labels)[0])
    values, frequency = np.unique(counts, return_counts=True)
    if statistic == "mode" or (statistic == "auto" and 2 * frequency.max() > len(counts)):
        return float(values[frequency.argmax()]), "mode"
    return float(np.median(counts)), "median"


def read_huse(path: File, dataset: str = "HUSE", texts: int = 25) -> pa.Table:
    """Read an export of Mechanical Turk from HUSE: each assignment has ``texts`` outputs, rated in six words.

    From https://github.com/hughbzhang/HUSE: ``data/summarization_raw_outputs.csv`` (HUSE2 in Howcroft & Rieser's Table
    1). The language model's and Reddit's exports (HUSE1, HUSE3) have the same columns, but Reddit's names the system
    once an assignment (``Input.NAME``) and has 26 outputs, of which HUSE's own code reads the first 25, as does this.

    An item is what was given to the systems (``Input.CTX``). "Invalid" is 1, "Very Typical" 6. Verified against the
    first file, and against the columns of the other two as Card et al. (2020) print them.
    """
    lines = _lines(path)
    header = {name: position for position, name in enumerate(next(lines, []))}
    _need(path, header, "HITId", "WorkerId", "Input.CTX0", "Input.OUT0", "Answer.0")
    rating = {word: number for number, word in enumerate(HUSE_CATEGORIES, 1)}
    rows = []
    for line in lines:
        for n in range(texts):
            if f"Answer.{n}" not in header:
                raise InputError(f"{path} has no column Answer.{n}; say how many outputs an assignment has: texts={n}")
            # Rows are shorter than the header: the last columns, Approve and Reject, are left out where empty.
            given = {key: _cell(line, header.get(f"{key}{n}")) for key in ("Input.CTX", "Input.OUT", "Answer.")}
            system = _cell(line, header.get("Input.NAME")) or _cell(line, header.get(f"Input.TYPE{n}"))
            word = given["Answer."]
            if word == "":
                continue
            if word not in rating:
                raise InputError(f"{path}: {word!r} is none of the answers {', '.join(HUSE_CATEGORIES)}")
            worker = _cell(line, header["WorkerId"])
            rows.append((system, given["Input.CTX"], given["Input.OUT"], worker, "typicality", rating[word]))
    return _long(path, dataset, rows)


def read_pplm(paths: File | Iterable[File], dataset: str = "PPLM", *, one_unnamed: bool = True) -> pa.Table:
    """Read the fluency ratings of PPLM: one file a topic, pairs of passages, three raters a file.

    From https://github.com/uber-research/PPLM: the ten files of ``human_annotation/pplm_labeled_csvs``; give that
    folder, one file, or several. A line has passages A and B, for each rater a preference and two fluencies, and last a
    code like ``19_131_633`` whose second and third number, modulo 4, are the systems B, BC, BR, BCR of A and B. The
    rater's name stands in the header, in capitals or not; three files have a line above it.

    Items are texts, as in Howcroft & Rieser. Two files leave a name empty; both are taken for one person, which gives
    the published 14 participants; with ``one_unnamed=False`` for two. Extra column: ``topic``. The format was verified
    against two of the files and the code that Dathathri et al. and Card et al. read them with.
    """
    rows = []
    for path in _files(paths):
        lines = _lines(path)
        header = next((line for line in lines if PPLM_HEADER in line), None)
        if header is None:
            raise InputError(f"{path} has no column {PPLM_HEADER!r}; give a file of pplm_labeled_csvs")
        topic = Path(path).stem
        nobody = "unnamed" if one_unnamed else f"unnamed in {topic}"
        for line in lines:
            code = line[-1].split("_") if line else []
            if len(code) != 3 or not all(number.isdigit() for number in code):
                continue  # empty lines at the end, and remarks
            for side in (0, 1):
                system, passage = PPLM_SYSTEMS[int(code[1 + side]) % 4], line[side]
                for *fluency, name in PPLM_RATERS:
                    if given := _cell(line, fluency[side]):
                        rater = _cell(header, name).strip().title() or nobody
                        rows.append((system, passage, passage, rater, "fluency", _rating(path, given), topic))
    return _long(", ".join(map(str, _files(paths))), dataset, rows, extra="topic")


def read_nem(path: File, dataset: str = "NEM") -> pa.Table:
    """Read the single scores behind Novikova et al. (2017), "Why we need new evaluation metrics for NLG".

    From https://github.com/jeknov/EMNLP_17_submission: ``emnlp_data_individual_hum_scores.csv``, one row a judge and
    text with ``dataset, system, mr, sys_ref, judge, informativeness, naturalness, quality``; each row becomes three. An
    item is a meaning representation (``mr``). ``judge`` counts the ratings of a text and names no person, so
    ``participant`` is empty and ``judge`` an extra column. NEM1 of Howcroft & Rieser is dataset BAGEL with the
    criterion quality, NEM2 SFHOT and SFRES together.

    **Not verified against the file**, which could not be seen: the columns are those that two public R scripts use
    (that repository's own, and Howcroft & Rieser's). Where ``dataset`` or ``judge`` is missing, or the text is called
    ``system_ref``, as in the later ratings that Howcroft & Rieser call reNEM, that is taken too.
    """
    lines = _lines(path)
    header = {name: position for position, name in enumerate(next(lines, []))}
    if "sys_ref" not in header and "system_ref" in header:
        header["sys_ref"] = header["system_ref"]
    _need(path, header, "system", "mr", "sys_ref", "quality")
    rows, names = [], []
    for line in lines:
        for criterion in (name for name in NEM_CRITERIA if name in header):
            if given := _cell(line, header[criterion]):
                system, mr, text = (_cell(line, header[name]) for name in ("system", "mr", "sys_ref"))
                judge = _cell(line, header.get("judge")) or None
                rows.append((system, mr, text, None, criterion, _rating(path, given), judge))
                names.append(_cell(line, header.get("dataset")) or dataset)
    table = _long(path, dataset, rows, extra="judge")
    return table.set_column(0, "dataset", pa.array(names, pa.string()))


def read_flickr8k(path: File, dataset: str = "Flickr-8k") -> pa.Table:
    r"""Read the judgements of Flickr-8k captions: three ratings from 1 to 4 of how well a caption fits an image.

    From https://github.com/elliottd/compareImageDescriptionMeasures: ``flickr8k/judgements`` (a CSV file without
    ending), with ``id, j1, j2, j3, imageid, textid, refid``. An item is a line, a text a caption. The format was
    checked against the opening of the file.

    The file has j1 ≤ j2 ≤ j3 in every line: ratings are sorted, so participants are rank positions and no people, and
    correlations between them mean nothing (:func:`ordbridge.reliability.analyse` warns). Extra column: ``image_id``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w") as file:
    ...     _ = file.write("id,j1,j2,j3,imageid,textid,refid\n0,1,1,2,a.jpg,b.jpg#2,a.jpg#0\n")
    ...     file.flush()
    ...     table = read_flickr8k(file.name)
    >>> table["participant"].to_pylist(), table["rating"].to_pylist()
    (['P001', 'P002', 'P003'], [1, 1, 2])
    """
    lines = _lines(path)
    header = {name: position for position, name in enumerate(next(lines, []))}
    judges = ("j1", "j2", "j3")
    _need(path, header, "id", *judges, "imageid", "textid")
    rows = []
    for line in lines:
        number, image, text = (_cell(line, header[name]) for name in ("id", "imageid", "textid"))
        for judge in judges:
            if given := _cell(line, header[judge]):
                rating = _rating(path, given)
                rows.append(("retrieved caption", number, text, judge, "semantic correctness", rating, image))
    table = _long(path, dataset, rows, extra="image_id")
    images = _numbered(table["image_id"].to_pylist())[0] + 1
    return table.set_column(table.column_names.index("image_id"), "image_id", pa.array(images))


def read_qgstec(path: File, dataset: str = "QG-STEC", source: str = "Source") -> pa.Table:
    """Read ratings of QG-STEC, generated questions rated on five criteria, from any of its files.

    From https://github.com/Keith-Godwin/QG-STEC-plus, told apart by what they are:

    ``ReEvaluated-data.xml`` (and the challenge's own XML, which has the same elements)
        Instances, submissions, questions, ratings. Checked against the opening of the file.
    ``QG-STEC_R.csv``
        A line a question, separated by tabs, with ``Rel_1 … Rel_3, QT_1 … Var_3`` of three raters. Verified.
    ``Export-Subsets.zip``, or ``STEC_Source_Relevance.csv`` and so on out of it
        A line a question, a column a judge, no header, NA where the judge did not rate: the six judges of the original
        challenge are ``source="Source"``. Of a zip only the files of that source are read. **Not verified**: known
        only from the R script there that reads them. System and text are unknown in these files, so an item is a line.

    An item is an input sentence, a text a question, also where two systems made the same one. Extra column:
    ``target_type``, the type of question asked for.
    """
    if not Path(path).is_file():
        raise InputError(f"there is no file {path}")
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            members = [name for name in archive.namelist() if Path(name).name.startswith(f"STEC_{source}_")]
            parts = {Path(name).stem: archive.read(name).decode("utf-8-sig") for name in members}
        parts = {name: text for name, text in parts.items() if name.count("_") == source.count("_") + 2}
        if not parts:
            raise InputError(f"{path} has no files STEC_{source}_….csv")
        return _long(path, dataset, [row for name in sorted(parts) for row in _matrix(path, name, parts[name])], _TYPE)
    text = Path(path).read_text(encoding="utf-8-sig")
    if text.lstrip().startswith("<"):
        rows = _from_xml(path, text)
    elif "Rel_1" in text.partition("\n")[0]:
        rows = _from_spreadsheet(path, text)
    else:
        rows = _matrix(path, Path(path).stem, text)
    return _long(path, dataset, list(rows), _TYPE)


_TYPE = "target_type"


def _from_xml(path: File, text: str) -> Iterator[tuple[Any, ...]]:
    from xml.etree import ElementTree

    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise InputError(f"{path} is no well-formed XML: {error}") from None
    for instance in root.iter("instance"):
        for submission in instance.iter("submission"):
            for number, question in enumerate(submission.iter("question")):
                for rating in question.iter("rating"):
                    for criterion, (attribute, _) in QGSTEC_CRITERIA.items():
                        if given := rating.get(attribute):
                            system, item = submission.get("id"), instance.get("id")
                            who, value = rating.get("rater"), _rating(path, given)
                            yield system, item, (item, system, number), who, criterion, value, question.get("type")


def _from_spreadsheet(path: File, text: str) -> Iterator[tuple[Any, ...]]:
    for line in csv.DictReader(StringIO(text), delimiter="\t"):
        for criterion, (_, prefix) in QGSTEC_CRITERIA.items():
            for rater in ("1", "2", "3"):
                if given := line.get(f"{prefix}_{rater}"):
                    where = (line["Submitter"], line["Statement Number"], line["uid"])
                    yield *where, rater, criterion, _rating(path, given), line["Target"]


def _matrix(path: File, name: str, text: str) -> Iterator[tuple[Any, ...]]:
    criterion = next((known for known in QGSTEC_CRITERIA if name.endswith(known)), None)
    if criterion is None:
        raise InputError(f"{path} is no file of QG-STEC that is known here, and its name ends in no criterion")
    for number, line in enumerate(csv.reader(StringIO(text), delimiter="\t"), 1):
        for judge, given in enumerate(line, 1):
            if given not in {"", "NA"}:
                yield None, str(number), str(number), str(judge), criterion, _rating(path, given), None


def _long(path: Any, dataset: str, rows: Sequence[tuple[Any, ...]], extra: str | None = None) -> pa.Table:
    """Turn rows (system, item, text, person, criterion, rating, extra) into the long table, nobody by name."""
    if not rows:
        raise InputError(f"{path} has no ratings")
    system, item, text, person, criterion, rating, *more = zip(*rows, strict=True)
    items, texts = _numbered(item)[0] + 1, _numbered(text)[0] + 1
    people = _numbered(person)[0] + 1
    if all(str(label).isdigit() for label in person):  # columns of judges: keep their order
        people = np.unique(np.array(person, dtype=np.int64), return_inverse=True)[1] + 1
    values = (
        [dataset] * len(rows),
        pa.array(system, pa.string()),
        [f"I{n:04d}" for n in items],
        texts,
        pa.array([None if p is None else f"P{n:03d}" for p, n in zip(person, people, strict=True)], pa.string()),
        criterion,
        rating,
    )
    columns = dict(zip(_COLUMNS, values, strict=True))
    return pa.table(columns | ({extra: pa.array(more[0], pa.string())} if extra else {}))


def _numbered(labels: Sequence[Hashable]) -> tuple[np.ndarray, list[Any]]:
    """Return the number of each label, from 0 on in the order of first appearance, and the labels in that order."""
    order: dict[Hashable, int] = {}
    numbers = np.array([order.setdefault(label, len(order)) for label in labels], dtype=np.int64)
    return numbers, list(order)


def _lines(path: File) -> Iterator[list[str]]:
    if not Path(path).is_file():
        raise InputError(f"there is no file {path}")
    with open(path, encoding="utf-8-sig", newline="") as file:
        yield from csv.reader(file)


def _files(paths: File | Iterable[File]) -> list[Path]:
    if isinstance(paths, (str, os.PathLike)):
        folder = Path(paths)
        return sorted(folder.glob("*.csv")) if folder.is_dir() else [folder]
    return [Path(path) for path in paths]


def _cell(line: Sequence[str], position: int | None) -> str:
    return "" if position is None or position >= len(line) else line[position]


def _need(path: File, header: dict[str, int], *names: str) -> None:
    for name in names:
        if name not in header:
            raise InputError(f"{path} has no column {name!r}, so it is another kind of file")


def _rating(path: File, given: str) -> int:
    try:
        value = float(given)
    except ValueError:
        value = float("nan")
    if not value.is_integer():
        raise InputError(f"{path}: the rating {given!r} is no whole number")
    return int(value)
