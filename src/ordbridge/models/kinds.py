"""The four models in one table: what they are called, which options they take, and which packages R needs for them."""

from __future__ import annotations

from typing import NamedTuple


class Kind(NamedTuple):
    """What sets one model apart from the others."""

    title: str
    ordinal: bool
    """Whether the response is a category and not a number."""
    options: tuple[str, ...] = ()
    """In addition to formula, data, engine and timeout."""
    packages: tuple[str, ...] = ()
    """Of R, in addition to those that come with it."""

    @property
    def name(self) -> str:
        """The title inside a sentence."""
        return self.title.lower()


BEYOND_LOCATION = ("scale", "nominal", "weights", "offset")
KINDS = {
    "lm": Kind("Linear model", ordinal=False),
    "clm": Kind(
        "Cumulative Link Model",
        ordinal=True,
        options=("link", "threshold", *BEYOND_LOCATION),
        packages=("ordinal",),
    ),
    "lmer": Kind("Linear mixed model", ordinal=False, options=("REML", "ddf"), packages=("lmerTest",)),
    "clmm": Kind(
        "Cumulative Link Mixed Model",
        ordinal=True,
        options=("link", "threshold", "nAGQ", "start", *BEYOND_LOCATION),
        packages=("ordinal",),
    ),
}
"""By R's names."""
