"""Published rating files, read as they are into one long table.

Nothing is downloaded: every reader says where its file comes from. All return one row per rating with the columns
``dataset, system, item, text_id, participant, criterion, rating`` and the extras that they name; people are renumbered
P001, P002, … in the order in which they appear, and texts become numbers.
"""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ordbridge.errors import InputError
from ordbridge.reading.description import numbered
from ordbridge.reading.size_limits import limits, refuse
from ordbridge.reading.source import json_of, regular_file, text_of
from ordbridge.reading.text_files import rows_of
from ordbridge.support.naming import arg

__all__ = ["read_alttest", "read_flickr8k", "read_huse", "read_nem", "read_pplm", "read_qgstec"]

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


def read_huse(path: File, dataset: str = "HUSE", texts: int = 25) -> pa.Table:
    """Read an export of Mechanical Turk from HUSE: each assignment has ``texts`` outputs, rated in six words.

    From https://github.com/hughbzhang/HUSE: ``data/summarization_raw_outputs.csv``, with the system SUM, 198 texts and
    93 workers. It is not the file behind HUSE2 in Howcroft & Rieser's Table 1, which has 197 texts and 96 workers: Card
    et al. (2020) read another one, with the system SUM09. The language model's and Reddit's exports (HUSE1, HUSE3) have
    the same columns, but Reddit's names the system once per assignment (``Input.NAME``) and has 26 outputs, of which
    HUSE's own code reads the first 25, as does this.

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
                raise InputError(
                    f"{path} has no column Answer.{n}; say how many outputs an assignment has: {arg('texts', n)}"
                )
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
    """Read the fluency ratings of PPLM: one file per topic, pairs of passages, three raters per file.

    From https://github.com/uber-research/PPLM: the ten files of ``human_annotation/pplm_labeled_csvs``; give that
    folder, one file, or several. A line has passages A and B, for each rater a preference and two fluencies, and last a
    code like ``19_131_633`` whose second and third number, modulo 4, are the systems B, BC, BR, BCR of A and B. The
    rater's name stands in the header, in capitals or not; three files have a line above it.

    Items are texts, as in Howcroft & Rieser. Two files leave a name empty; both are taken for one person, which gives
    the published 14 participants; with ``one_unnamed=False`` for two. Extra column: ``topic``. From all ten files the
    row of Howcroft & Rieser's Table 1 comes out.
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
            if len(code) != 3 or not all(number.isdecimal() and len(number) < 19 for number in code):
                continue  # empty lines at the end, and remarks
            for side in (0, 1):
                system, passage = PPLM_SYSTEMS[int(code[1 + side]) % 4], _cell(line, side)
                for *fluency, name in PPLM_RATERS:
                    if given := _cell(line, fluency[side]):
                        rater = _cell(header, name).strip().title() or nobody
                        rows.append((system, passage, passage, rater, "fluency", _rating(path, given), topic))
    return _long(", ".join(map(str, _files(paths))), dataset, rows, extra="topic")


def read_nem(path: File, dataset: str = "NEM") -> pa.Table:
    """Read the single scores behind Novikova et al. (2017), "Why we need new evaluation metrics for NLG".

    From https://github.com/jeknov/EMNLP_17_submission: ``emnlp_data_individual_hum_scores.csv``, one row per judge and
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
    ending), with ``id, j1, j2, j3, imageid, textid, refid``. An item is a line and a text is a caption. Checked
    against the whole file: 17,466 ratings, 5,822 items, 977 texts.

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
    images = numbered(table["image_id"].to_pylist())[0] + 1
    return table.set_column(table.column_names.index("image_id"), "image_id", pa.array(images))


def read_qgstec(path: File, dataset: str = "QG-STEC", source: str = "Source") -> pa.Table:
    """Read ratings of QG-STEC, generated questions rated on five criteria, from any of its files.

    From https://github.com/Keith-Godwin/QG-STEC-plus, recognised by their content:

    ``ReEvaluated-data.xml`` (and the challenge's own XML, which has the same elements)
        Instances, submissions, questions, ratings. Checked against the opening of the file.
    ``QG-STEC_R.csv``
        A line per question, separated by tabs, with ``Rel_1 … Rel_3, QT_1 … Var_3`` of three raters. Verified.
    ``Export-Subsets.zip``, or ``STEC_Source_Relevance.csv`` and so on out of it
        A line per question, a column per judge, no header, NA where the judge did not rate: the six judges of the
        original challenge are ``source="Source"``. Of a zip only the files of that source are read. Checked
        against the whole zip: the original has 896 items, 6 judges and 1,791 ratings per criterion. System and text are
        unknown in these files, so an item is a line.

    An item is an input sentence and a text is a question, also where two systems made the same one. Extra column:
    ``target_type``, the type of question asked for.
    """
    if zipfile.is_zipfile(regular_file(path)):
        parts = _members(path, f"STEC_{source}_")
        parts = {name: text for name, text in parts.items() if name.count("_") == source.count("_") + 2}
        if not parts:
            raise InputError(f"{path} has no files STEC_{source}_….csv")
        return _long(path, dataset, [row for name in sorted(parts) for row in _matrix(path, name, parts[name])], _TYPE)
    text = text_of(path)
    if text.lstrip().startswith("<"):
        rows = _from_xml(path, text)
    elif "Rel_1" in text.partition("\n")[0]:
        rows = _from_spreadsheet(path, text)
    else:
        rows = _matrix(path, Path(path).stem, text)
    return _long(path, dataset, list(rows), _TYPE)


_TYPE = "target_type"


def _members(path: File, begin: str) -> dict[str, str]:
    """Return the texts in an archive whose names begin so."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [part for part in archive.infolist() if Path(part.filename).name.startswith(begin)]
            if sum(part.file_size for part in members) > limits().size:
                refuse(f"{path} unpacks to more than {limits().size / 1e6:,.0f} MB")
            return {Path(part.filename).stem: archive.read(part).decode("utf-8-sig") for part in members}
    except InputError:
        raise
    except (zipfile.BadZipFile, OSError, EOFError, ValueError, RuntimeError, zlib.error):
        raise InputError(f"cannot read {path}: it is damaged or protected") from None


def _from_xml(path: File, text: str) -> Iterator[tuple[Any, ...]]:
    from xml.etree import ElementTree

    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise InputError(f"{path} is not well-formed XML: {error}") from None
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
    lines = _cells(path, text, "\t")
    header = next(lines, [])
    _need(path, dict.fromkeys(header, 0), "Submitter", "Statement Number", "uid", "Target")
    for cells in lines:
        line = dict(zip(header, cells, strict=False))
        for criterion, (_, prefix) in QGSTEC_CRITERIA.items():
            for rater in ("1", "2", "3"):
                if given := line.get(f"{prefix}_{rater}"):
                    where = (line.get("Submitter"), line.get("Statement Number"), line.get("uid"))
                    yield *where, rater, criterion, _rating(path, given), line.get("Target")


def _matrix(path: File, name: str, text: str) -> Iterator[tuple[Any, ...]]:
    criterion = next((known for known in QGSTEC_CRITERIA if name.endswith(known)), None)
    if criterion is None:
        raise InputError(f"{path} is not a known file of QG-STEC, and its name does not end in a criterion")
    for number, line in enumerate(_cells(path, text, "\t"), 1):
        for judge, given in enumerate(line, 1):
            if given not in {"", "NA"}:
                yield None, str(number), str(number), str(judge), criterion, _rating(path, given), None


def read_alttest(human: File, judges: File, dataset: str = "alt-test") -> pa.Table:
    r"""Read human and model annotations as the alternative annotator test keeps them: two JSON files.

    From https://github.com/nitaytech/AltTest: ``human_annotations.json`` (annotator → instance → annotation) and
    ``llm_annotations.json`` (model → instance → annotation). The result has one row per annotation with ``kind``
    (human or judge) and ``participant``: people are renumbered, models keep their names. An item is an instance;
    ``text_id`` is the part of its name before the first ``__``, so that instances of one text (criteria, systems) can
    be found again. The format was checked against three of the datasets.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "h.json").write_text('{"w7": {"a__flu": 4, "b__flu": 2}, "w9": {"a__flu": 5}}')
    ...     _ = (Path(folder) / "j.json").write_text('{"gpt": {"a__flu": 4, "b__flu": 3}}')
    ...     table = read_alttest(f"{folder}/h.json", f"{folder}/j.json")
    >>> table["participant"].to_pylist(), table["kind"].to_pylist()[-1], table["text_id"].to_pylist()[-1]
    (['P001', 'P001', 'P002', 'gpt', 'gpt'], 'judge', 'b')
    """
    columns: dict[str, list[Any]] = {name: [] for name in ("item", "text_id", "participant", "kind", "rating")}
    for path, kind in ((human, "human"), (judges, "judge")):
        for number, (who, given) in enumerate(_annotations(path).items(), 1):
            values = (
                list(given),
                [str(name).partition("__")[0] for name in given],
                [f"P{number:03d}" if kind == "human" else str(who)] * len(given),
                [kind] * len(given),
                list(given.values()),
            )
            for name, value in zip(columns, values, strict=True):
                columns[name] += value
    try:
        return pa.table({"dataset": [dataset] * len(columns["item"]), **columns})
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        raise InputError(f"{human} and {judges} mix words and numbers; annotations must be of one kind") from None


def _annotations(path: File) -> dict[str, dict[str, Any]]:
    try:
        found = json_of(text_of(path), path)
    except json.JSONDecodeError:
        raise InputError(f"{path} is not a JSON file") from None
    if not isinstance(found, dict) or not found or not all(isinstance(given, dict) for given in found.values()):
        raise InputError(f"{path} does not map each annotator to instances with their annotations")
    return found


def _long(path: Any, dataset: str, rows: Sequence[tuple[Any, ...]], extra: str | None = None) -> pa.Table:
    """Turn rows (system, item, text, person, criterion, rating, extra) into the long table, nobody by name."""
    if not rows:
        raise InputError(f"{path} has no ratings")
    system, item, text, person, criterion, rating, *more = zip(*rows, strict=True)
    items, texts = numbered(item)[0] + 1, numbered(text)[0] + 1
    people = numbered(person)[0] + 1
    if all(str(label).isdecimal() and len(str(label)) < 19 for label in person):  # columns of judges: keep their order
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


def _lines(path: File) -> Iterator[list[str]]:
    return _cells(path, text_of(path))


def _cells(path: File, text: str, separator: str = ",") -> Iterator[list[str]]:
    return ([cell or "" for cell in row] for row in rows_of(text, separator, str(path)))


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
    if not value.is_integer() or abs(value) > 1e6:
        raise InputError(f"{path}: the rating {given!r} is not a whole number of a scale")
    return int(value)
