"""One entry of the catalogue of findings."""

from __future__ import annotations

from typing import NamedTuple


class FindingKind(NamedTuple):
    """How bad a finding is, its sentence, what to do about it, and what it means where the sentence does not say."""

    severity: str
    text: str
    remedy: str = ""
    about: str = ""
