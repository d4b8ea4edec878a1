"""What was planned, in a file: which study, which test, which looks; so that later the same analysis is made."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any, get_type_hints

import pyarrow as pa

from ordbridge import __version__
from ordbridge.design import counterbalanced
from ordbridge.design.inspect import encode
from ordbridge.errors import InputError
from ordbridge.models.kinds import KINDS
from ordbridge.planning.evidence import everyone
from ordbridge.planning.hypotheses import ANY, PAIRS, REFERENCE, pairs_of
from ordbridge.planning.planned_test import TESTS
from ordbridge.planning.question import Question
from ordbridge.power.models import Model
from ordbridge.reading.source import json_of, text_of
from ordbridge.support.arguments import choice, fits_hint
from ordbridge.support.writing import write_text

KIND = "ordbridge plan"
FORMAT = 3
FAMILIES = ("pair", "pairs", "reference", "any")


@dataclass(frozen=True)
class Protocol:
    """A planned study and its analysis.

    Attributes
    ----------
    systems
        Their names, the first one first.
    family
        ``"pair"``, ``"pairs"`` (all, Holm), ``"reference"`` (all with one, Holm) or ``"any"`` (likelihood ratio).
    pairs
        The pairs that are tested, the system that is expected to be higher last.
    model, formula, link, REML
        What is fitted.
    test
        Which test was simulated, and is to be made: ``"z"``, ``"t"`` or ``"lrt"``
        (:mod:`ordbridge.planning.planned_test`).
    alpha, target
        The level of the test, and the power that was planned for.
    critical_value
        What the p-value, after Holm's correction where there is one, has to fall below. In a calibrated plan it keeps
        the level; otherwise it is alpha. A plan with looks has boundaries instead.
    calibrated
        Whether the critical value comes from simulated studies without a difference.
    goal, margin, on
        What is to be shown, as for :class:`ordbridge.power.Goal`.
    criteria
        How many criteria each text is rated on.
    items, ratings_per_text, participants, ratings, texts_per_participant
        The design; the number of ratings is that of one criterion.
    recruit
        How many participants to recruit, with those who will be lost.
    levels
        How many categories the scale has; None for other scales.
    looks, shape
        The looks at the data (:func:`ordbridge.planning.sequential`), and the shape of the boundary.
    answer
        That of the plan.
    """

    systems: tuple[str, ...]
    family: str
    pairs: tuple[tuple[str, str], ...]
    model: str
    formula: str
    link: str | None
    REML: bool | None
    test: str
    alpha: float
    target: float
    critical_value: float
    calibrated: bool
    goal: str
    margin: float | None
    on: str | None
    criteria: int
    items: int
    ratings_per_text: float
    participants: int
    ratings: int
    texts_per_participant: int | None
    recruit: int
    levels: int | None
    answer: str
    looks: tuple[dict[str, Any], ...] = ()
    shape: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {"kind": KIND, "format": FORMAT, "ordbridge": __version__, **asdict(self)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Protocol:
        """Read what :meth:`to_dict` returned."""
        plain = {name: values[name] for name in cls.__dataclass_fields__}
        plain["systems"] = tuple(plain["systems"])
        plain["pairs"] = tuple((low, high) for low, high in plain["pairs"])
        plain["looks"] = tuple(plain["looks"])
        for name, hint in get_type_hints(cls).items():
            if not fits_hint(plain[name], hint):
                raise TypeError(f"{name} is {plain[name]!r}")
        if plain["test"] not in TESTS:
            raise ValueError(f"test is {plain['test']!r}")
        if not 0 < plain["critical_value"] < 1:
            raise ValueError(f"critical_value is {plain['critical_value']!r}")
        choice("model", plain["model"], KINDS)
        choice("family", plain["family"], FAMILIES)
        _check_looks(plain["looks"], plain["pairs"])
        return cls(**plain)


def _check_looks(looks: tuple[dict[str, Any], ...], pairs: tuple[tuple[str, str], ...]) -> None:
    for number, row in enumerate(looks, 1):
        keys = ("participants", "critical", "normal", "share")
        whole = row.get("look") == number and all(fits_hint(row.get(key), float) for key in keys)
        if not (whole and row["participants"] >= 1 and row["critical"] > 0 and row["normal"] > 0 < row["share"] <= 1):
            raise ValueError(f"look {number} is {row!r}")
    if looks and len(pairs) != 1:
        raise ValueError("it has looks, which are for one pair of systems")


def protocol_of(question: Question, subject: Any, answer: str, sequential: Any = None) -> Protocol:
    """Return the protocol of the study that a plan is about."""
    labels = [str(label) for label in next(iter(everyone(question.rows))).grid.cells[0].systems]
    term, model, truth = question.model.term, question.model, question.truth
    family = (
        "any" if term == ANY else "pairs" if term == PAIRS else "reference" if term.startswith(REFERENCE) else "pair"
    )
    pairs = tuple((question.names[low], question.names[high]) for low, high in pairs_of(term, labels))
    return Protocol(
        systems=question.names,
        family=family,
        pairs=pairs,
        model=model.kind,
        formula=model.formula,
        link=model.link if model.ordinal else None,
        REML=model.REML if model.kind == "lmer" else None,
        test="lrt" if family == "any" else "z" if model.ordinal else "t",
        alpha=question.alpha,
        target=question.target,
        critical_value=question.alpha if subject.critical_value is None else subject.critical_value,
        calibrated=question.calibrate,
        goal=model.goal,
        margin=model.margin,
        on=model.on if model.margin is not None else None,
        criteria=question.criteria,
        items=subject.items,
        ratings_per_text=float(subject.ratings_per_text),
        participants=subject.participants,
        ratings=subject.ratings,
        texts_per_participant=question.texts_per_participant,
        recruit=question.costs.recruited(subject.participants),
        levels=None if truth.scale != "ordinal" else _categories(truth),
        answer=answer,
        looks=() if sequential is None else tuple(sequential.looks.to_pylist()),
        shape=None if sequential is None else sequential.shape,
    )


def model_of(protocol: Protocol, high: str | None = None) -> Model:
    """Return the model of the planned analysis; its term is the coefficient of ``high``."""
    options: dict[str, Any] = {}
    if protocol.link is not None:
        options["link"] = protocol.link
    if protocol.REML is not None:
        options["REML"] = protocol.REML
    return Model(protocol.model, protocol.formula, "" if high is None else f"system{high}", **options)


def sheet_of(protocol: Protocol) -> pa.Table:
    """Return who rates what in the planned study, with the names of the systems."""
    if protocol.texts_per_participant is None:
        raise InputError("this plan was made for a design of your own, so there is no other sheet than that design")
    table = counterbalanced(
        protocol.items, int(protocol.ratings_per_text), len(protocol.systems), protocol.texts_per_participant
    )
    _, labels = encode(table["system"])
    names = dict(zip(map(str, labels), protocol.systems, strict=True))
    called = pa.array([names[str(label)] for label in table["system"].to_pylist()])
    return table.set_column(table.column_names.index("system"), "system", called)


def _categories(truth: Any) -> int:
    if truth.thresholds is not None:
        return len(truth.thresholds) + 1
    return int(truth.threshold_distribution.cubature()[0].shape[1]) + 1


def write_protocol(protocol: Protocol, path: str | PathLike[str]) -> Path:
    """Write a protocol as JSON."""
    return write_text(path, json.dumps(protocol.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def read_protocol(path: str | PathLike[str]) -> Protocol:
    """Read the plan that ``ordbridge plan --json FILE`` or :func:`write_protocol` wrote.

    Raises
    ------
    InputError
        If it is not one.
    """
    if not Path(path).exists():
        raise InputError(f"there is no file {path}; ordbridge plan --json {path} writes one")
    try:
        values = json_of(text_of(path), path)
    except json.JSONDecodeError as error:
        raise InputError(f"cannot read the plan {path}: {error}") from None
    if isinstance(values, dict) and values.get("kind") == "plan":  # the whole result has the protocol in its settings
        values = values.get("settings", {}).get("protocol")
        if values is None:
            raise InputError(f"the plan {path} recommends no design, so there is no planned analysis; plan again")
    if not isinstance(values, dict) or values.get("kind") != KIND:
        raise InputError(f"{path} is not a plan; give the file that ordbridge plan --json wrote")
    if values.get("format") != FORMAT:
        raise InputError(f"{path} is a plan of another version of ordbridge ({values.get('ordbridge')}); plan again")
    try:
        return Protocol.from_dict(values)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path} is a plan with something missing or changed by hand: {error}") from None
