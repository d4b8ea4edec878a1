"""What a result shows, as data: sentences, tables, pictures, and sections of them. Renderers decide how it looks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class ShownTable:
    """A table to be read: its columns under readable names, some cells bold, some with a raised mark.

    Rows in ``marked`` stand out; cells of ``verdict_column`` are coloured by ``verdicts``, which says whether a word is
    ``"good"``, ``"edge"`` (to be looked at), ``"bad"`` or ``"none"``.
    """

    table: pa.Table
    caption: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    bold: frozenset[tuple[int, str]] = frozenset()
    raised: Mapping[tuple[int, str], str] = field(default_factory=dict)
    marked: frozenset[int] = frozenset()
    verdict_column: str = ""
    verdicts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ShownPicture:
    """One of the result's figures, by its name."""

    name: str
    caption: str


@dataclass(frozen=True)
class Bullets:
    """Sentences, one per line."""

    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Verbatim:
    """Text to be copied as it is: a command, a formula."""

    text: str


@dataclass(frozen=True)
class OpenQuestion:
    """Something that only the authors know, with room for their answer."""

    text: str


Block = str | ShownTable | ShownPicture | Bullets | Verbatim | OpenQuestion
"""A string is a sentence or a paragraph."""


@dataclass(frozen=True)
class Section:
    """Blocks under a title; what is folded is there for those who ask."""

    title: str
    blocks: tuple[Block, ...]
    folded: bool = False


class Figures(Mapping[str, Any]):
    """The pictures of a result by name; each is drawn when it is asked for.

    Examples
    --------
    >>> pictures = Figures({"ratings": lambda: "drawn"})
    >>> list(pictures), pictures["ratings"]
    (['ratings'], 'drawn')
    """

    def __init__(self, draw: Mapping[str, Callable[[], Figure]] | None = None) -> None:
        self._draw = dict(draw or {})

    def __getitem__(self, name: str) -> Any:
        """Draw one of them."""
        return self._draw[name]()

    def __iter__(self) -> Iterator[str]:
        """Yield their names, the most important first."""
        return iter(self._draw)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._draw)
