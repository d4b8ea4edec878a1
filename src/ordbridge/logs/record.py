"""One log as rows: what a reader of a harness returns, and what the values of scores mean."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ordbridge.errors import InputError

__all__ = ["TROUBLES", "EvalLog", "as_number", "numbers_in", "well_formed"]

TROUBLES = ("error", "limit", "no answer", "unscored")
"""What the column ``error`` can say: no score because of an error; scored at a limit; refused or no answer, which
harnesses count as wrong; answered, but without a score."""

WORDS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
"""As inspect_ai's ``value_to_float`` reads them."""


@dataclass(eq=False)
class EvalLog:
    """The answers of one model in one task, one row per sample, epoch and scorer.

    Attributes
    ----------
    source, argument
        The file, and the argument of the command that it belongs to.
    harness, version
        What wrote it.
    model, task, status
        As the log has them; status is ``"success"`` unless the log says otherwise.
    judges
        The model that gave the scores, for each scorer that is a judge.
    lower
        Scorers of which lower is better, where the log says so; ``higher`` where it says the opposite.
    percent
        Scorers whose scores from 0 to 1 are shown in per cent, although they are not only right or wrong.
    sample, epoch, scorer, score, cluster, trouble
        Columns. ``score`` is NaN where there is none.
    content
        A key of what each sample asked, to find out whether two logs mean the same sample.
    fields
        Values of other fields of each sample that could be clusters.
    skipped
        Scorers that are not numbers, with the reason.
    notes
        Counts of what was noticed, by code of a finding.
    """

    source: str
    harness: str
    model: str
    task: str
    argument: str = ""
    version: str = ""
    status: str = "success"
    judges: dict[str, str] = field(default_factory=dict)
    lower: set[str] = field(default_factory=set)
    higher: set[str] = field(default_factory=set)
    percent: set[str] = field(default_factory=set)
    sample: list[str] = field(default_factory=list)
    epoch: list[int] = field(default_factory=list)
    scorer: list[str] = field(default_factory=list)
    score: list[float] = field(default_factory=list)
    cluster: list[str | None] = field(default_factory=list)
    trouble: list[str | None] = field(default_factory=list)
    content: dict[str, int] = field(default_factory=dict)
    fields: dict[str, set[str]] = field(default_factory=dict)
    skipped: set[str] = field(default_factory=set)
    notes: dict[str, int] = field(default_factory=dict)

    @property
    def folder(self) -> str:
        """The folder that was named, or that of the file."""
        return self.argument if Path(self.argument).is_dir() else str(Path(self.source).parent)

    def add(self, sample: str, epoch: int, scorer: str, score: float, cluster: str | None, trouble: str | None) -> None:
        """Add one row."""
        self.sample.append(sample)
        self.epoch.append(epoch)
        self.scorer.append(scorer)
        self.score.append(score)
        self.cluster.append(cluster)
        self.trouble.append(trouble)

    def note(self, code: str, n: int = 1) -> None:
        """Count something for a finding."""
        self.notes[code] = self.notes.get(code, 0) + n

    def asked(self, sample: str, content: Any, metadata: Mapping[str, Any] | None, cluster: str | None) -> str | None:
        """Remember what a sample asked and return its cluster, the field of its metadata that was named."""
        if isinstance(content, str) and sample not in self.content:
            self.content[sample] = zlib.crc32(content.encode("utf-8", "replace"))
        for name, value in (metadata or {}).items():
            if isinstance(value, (str, int)) and not isinstance(value, bool):
                seen = self.fields.setdefault(str(name), set())
                seen.add(str(value))
        if cluster is None:
            return None
        value = (metadata or {}).get(cluster)
        return None if value is None else str(value)


@contextmanager
def well_formed(path: object) -> Iterator[None]:
    """Say in one sentence that a log is not as its harness writes it, whatever its parts are."""
    try:
        yield
    except InputError:
        raise
    except (AttributeError, TypeError, KeyError, ValueError, IndexError, OverflowError) as error:
        raise InputError(f"{path} is not a log as its harness writes it ({type(error).__name__}: {error})") from None


def as_number(value: Any) -> float | None:
    """Return a score as a number, NaN if there is none, or None if it is not a number.

    Examples
    --------
    >>> [as_number(value) for value in ("C", "P", True, 3, "0.5", None, "red")]
    [1.0, 0.5, 1.0, 3.0, 0.5, nan, None]
    """
    if value is None:
        return math.nan
    if isinstance(value, (bool, int, float)):
        try:
            number = float(value)
        except OverflowError:
            return None
        return number if math.isfinite(number) else math.nan
    if isinstance(value, str):
        if value in WORDS or value.lower() in WORDS:
            return WORDS.get(value, WORDS.get(value.lower()))
        try:
            number = float(value)
        except ValueError:
            return None
        return number if math.isfinite(number) else math.nan
    return None


def numbers_in(name: str, value: Any) -> Iterator[tuple[str, float | None]]:
    """Yield the numbers of one score: itself, or those of a dictionary under the names of its keys.

    Examples
    --------
    >>> list(numbers_in("judge", {"style": 3, "facts": "C"}))
    [('judge.style', 3.0), ('judge.facts', 1.0)]
    """
    if isinstance(value, dict):
        for key, inner in value.items():
            yield f"{name}.{key}", as_number(inner)
    else:
        yield name, as_number(value)
