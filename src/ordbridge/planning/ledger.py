"""The ledger of a plan: every look that was taken at the data, in a file beside the plan.

It makes sure that looks are counted. Who asks again about the same ratings gets the same answer, and what a look has
used of the level is not there for the next one. Ratings are recognised by a digest that depends neither on the order of
the rows nor on the format of the file.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa
from filelock import FileLock, Timeout

from ordbridge.errors import InputError
from ordbridge.planning.planned_test import ROLES
from ordbridge.planning.protocol import Protocol
from ordbridge.reading.source import json_of, text_of
from ordbridge.support.writing import write_text

KIND = "ordbridge ledger"
FORMAT = 2
PATIENCE = 60.0  # seconds that another process may take to write its look


@dataclass(frozen=True)
class TakenLook:
    """A look that was taken.

    Attributes
    ----------
    digest
        Of the ratings that were looked at.
    when, engine
        At what time, and who fitted the model.
    planned
        How many planned looks have been passed by now.
    as_planned
        Whether all looks up to this one were planned.
    times, critical
        The share of the information at this look and those before it, and the boundary of |z| there by normal theory;
        None where a look had none.
    decision
        The answer, as plain values.
    """

    digest: str
    when: str
    engine: str
    planned: int
    as_planned: bool
    times: tuple[float, ...]
    critical: tuple[float | None, ...]
    decision: dict[str, Any]

    @property
    def boundaries(self) -> tuple[float, ...]:
        """The boundaries, infinite where there is none."""
        return tuple(math.inf if value is None else value for value in self.critical)

    @property
    def stopped(self) -> bool:
        """Whether the study ended with this look."""
        return bool(self.decision["stop"])


class Ledger:
    """The looks of one plan.

    Parameters
    ----------
    protocol
        The plan.
    path
        The file; None keeps the looks in memory, for as long as this object lives.

    Examples
    --------
    >>> ledger_beside("study/plan.json").name
    'plan.ledger.json'
    """

    def __init__(self, protocol: Protocol, path: str | PathLike[str] | None = None) -> None:
        self._plan = _digest(json.dumps(asdict(protocol), sort_keys=True))
        self._path = None if path is None else Path(path)
        self._looks: tuple[TakenLook, ...] = ()

    def looks(self) -> tuple[TakenLook, ...]:
        """Return the looks so far, the first one first."""
        if self._path is None or not self._path.exists():
            return self._looks
        return self._read(self._path)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Let nobody else write while a look is added."""
        if self._path is None:
            yield
            return
        lock = FileLock(self._path.with_name(f".{self._path.name}.lock"), timeout=PATIENCE)
        try:
            lock.acquire()
        except Timeout:
            raise InputError(f"another command has been writing {self._path} for a minute; try again later") from None
        except OSError as error:
            raise InputError(f"the look cannot be recorded in {self._path}: {error.strerror or error}") from None
        try:
            yield
        finally:
            lock.release()

    def add(self, look: TakenLook) -> None:
        """Record a look; the file is written whole or not at all."""
        looks = (*self.looks(), look)
        if self._path is None:
            self._looks = looks
            return
        values = {"kind": KIND, "format": FORMAT, "plan": self._plan, "looks": [asdict(one) for one in looks]}
        write_text(self._path, json.dumps(values, indent=2, ensure_ascii=False, allow_nan=False) + "\n")

    def _read(self, path: Path) -> tuple[TakenLook, ...]:
        try:
            values = json_of(text_of(path), path)
            if values["kind"] != KIND or values["format"] != FORMAT:
                raise ValueError("it is none of this version")
            looks = tuple(map(_look, values["looks"]))
        except (InputError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"cannot read the ledger {path}: {error}; restore it, for it counts the looks") from None
        if values.get("plan") != self._plan:
            raise InputError(f"the ledger {path} belongs to another plan; move it away if this is a new study")
        return looks


def _look(values: dict[str, Any]) -> TakenLook:
    """Return a look as it was written; a file can be changed by hand."""
    look = TakenLook(**{**values, "times": tuple(values["times"]), "critical": tuple(values["critical"])})
    numbers = [*look.times, *(value for value in look.critical if value is not None)]
    if not (
        isinstance(look.digest, str)
        and isinstance(look.planned, int)
        and isinstance(look.as_planned, bool)
        and isinstance(look.decision, dict)
        and isinstance(look.decision.get("stop"), bool)
        and len(look.times) == len(look.critical)
        and all(isinstance(value, (int, float)) and 0 < value < math.inf for value in numbers)
        and list(look.times) == sorted(set(look.times))
    ):
        raise ValueError("a look in it is damaged")
    return look


def ledger_beside(plan: str | PathLike[str]) -> Path:
    """Return where the ledger of a plan's file is."""
    return Path(plan).with_suffix(".ledger.json")


def digest_of(ratings: pa.Table) -> str:
    """Return a digest of ratings, the same for any order of the rows and for any type of the columns.

    Examples
    --------
    >>> one = pa.table({"participant": ["P1", "P2"], "system": ["A", "B"], "rating": [4, 2]})
    >>> other = pa.table({"rating": [2.0, 4.0], "system": ["B", "A"], "participant": ["P2", "P1"]})
    >>> digest_of(one) == digest_of(other)
    True
    """
    names = [name for name in ROLES if name in ratings.column_names]
    columns = [
        [repr(float(value)) if name == "rating" else str(value) for value in ratings[name].to_pylist()]
        for name in names
    ]
    rows = sorted(zip(*columns, strict=True))
    return _digest(json.dumps([names, rows]))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
