"""Every finding in words: its code, how bad it is, its sentence, and what to do. One file per part of the package.

Sentences are Python formats over the values of a finding; ``{n:of rating}`` counts, ``{names:list}`` lists, ``{p:p}``
writes a p-value. ``docs/reference/findings.md`` is made from this table.
"""

from __future__ import annotations

from ordbridge.results.catalogue.comparison import KINDS as COMPARISON
from ordbridge.results.catalogue.judges import KINDS as JUDGES
from ordbridge.results.catalogue.kind import FindingKind
from ordbridge.results.catalogue.models import KINDS as MODELS
from ordbridge.results.catalogue.planning import KINDS as PLANNING
from ordbridge.results.catalogue.power import KINDS as POWER
from ordbridge.results.catalogue.preferences import KINDS as PREFERENCES
from ordbridge.results.catalogue.reading import KINDS as READING
from ordbridge.results.catalogue.reliability import KINDS as RELIABILITY

__all__ = ["CATALOGUE", "PARTS", "FindingKind"]

PARTS = {
    "comparison": COMPARISON,
    "judges": JUDGES,
    "models": MODELS,
    "planning": PLANNING,
    "power": POWER,
    "preferences": PREFERENCES,
    "reading": READING,
    "reliability": RELIABILITY,
}
CATALOGUE: dict[str, FindingKind] = {code: kind for part in PARTS.values() for code, kind in part.items()}
