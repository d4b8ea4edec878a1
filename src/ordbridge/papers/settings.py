"""Settings by name, with a sentence for a name that is not there."""

from __future__ import annotations

from ordbridge.errors import InputError
from ordbridge.simulate import Truth

__all__ = ["Settings"]


class Settings(dict[str, Truth]):
    """The truths of a paper by the names it gives them.

    Examples
    --------
    >>> Settings(low=Truth(effects=0.0, thresholds=0.0))["lowest"]
    Traceback (most recent call last):
    ...
    ordbridge.errors.InputError: there is no setting 'lowest'; choose one of: low
    """

    def __missing__(self, name: str) -> Truth:
        """Say which settings there are."""
        raise InputError(f"there is no setting {name!r}; choose one of: {', '.join(self)}")
