"""Everything ordbridge can raise or warn of, each class with the situation it stands for."""

from __future__ import annotations


class _OneLine:
    """A message in one line, whatever the names in it: of columns, levels and files, which others have chosen."""

    def __init__(self, *words: object) -> None:
        super().__init__(*(one_line(word) if isinstance(word, str) else word for word in words))


def one_line(text: str, longest: int = 2000) -> str:
    r"""Spell out line breaks, control characters and lone surrogates, and leave out the middle of what is very long.

    Examples
    --------
    >>> print(one_line("column 'a\n\x1b[31mb'"))
    column 'a\n\x1b[31mb'
    """
    spelled = "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in text
    )
    return spelled if len(spelled) <= longest else f"{spelled[: longest // 2]} … {spelled[-longest // 2 :]}"


class InputError(_OneLine, ValueError):
    """An argument or a table is not usable; the message says what, where, and what to do."""


class FormulaError(InputError):
    """A formula is outside the grammar or names something that is not there; nothing was executed."""


class BridgeError(RuntimeError):
    """R or one of its packages is missing or does not fit; the message has the command that fixes it."""


class ClusterError(RuntimeError):
    """The workers of a power run cannot be reached, or are gone; the message says what is stored."""


class FitError(_OneLine, RuntimeError):
    """A model could not be fitted; the message has the engine's own sentence, the stage and the formula."""


class FitTimeout(FitError):  # noqa: N818 (the name users catch)
    """A fit ran longer than ``timeout`` seconds and was stopped; the engine can still be used."""


class ConvergenceWarning(UserWarning):
    """A fit returned numbers, but the optimiser, the Hessian or a variance at zero says not to trust them blindly."""


class StatisticalWarning(UserWarning):
    """The numbers are right but easy to misread on these data."""
