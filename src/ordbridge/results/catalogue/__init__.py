"""Every finding in words: its code, how bad it is, its sentence, and what to do. One TOML file per part of the package.

Sentences are Python formats over the values of a finding; ``{n:of rating}`` counts, ``{names:list}`` lists, ``{p:p}``
writes a p-value. ``docs/reference/findings.md`` is made from this table.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import NamedTuple

__all__ = ["CATALOGUE", "PARTS", "FindingKind"]


class FindingKind(NamedTuple):
    """How bad a finding is, its sentence, what to do about it, and what it means where the sentence does not say."""

    severity: str
    text: str
    remedy: str = ""
    about: str = ""


def _part(file: Path) -> dict[str, FindingKind]:
    return {code: FindingKind(**kind) for code, kind in tomllib.loads(file.read_text(encoding="utf-8")).items()}


PARTS = {file.stem: _part(file) for file in sorted(Path(__file__).parent.glob("*.toml"))}
CATALOGUE: dict[str, FindingKind] = {code: kind for part in PARTS.values() for code, kind in part.items()}
