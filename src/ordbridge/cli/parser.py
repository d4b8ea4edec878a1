"""A parser that knows its commands, which argparse keeps to itself."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any


class Parser(argparse.ArgumentParser):
    """A parser of options, or of commands that have parsers of their own.

    Examples
    --------
    >>> parser = Parser()
    >>> commands = parser.add_subparsers(dest="command")
    >>> fit, design = commands.add_parser("fit"), commands.add_parser("design")
    >>> crossed = design.add_subparsers(dest="kind").add_parser("crossed")
    >>> parser.leaves() == [fit, crossed]
    True
    >>> parser.chosen(parser.parse_args(["design", "crossed"])) is crossed
    True
    """

    commands: Any = None

    def add_subparsers(self, **options: Any) -> Any:
        """Add commands, and remember them."""
        self.commands = super().add_subparsers(**options)
        return self.commands

    def leaves(self) -> list[Parser]:
        """Return the parsers that read options: this one, or those of its commands and of their commands."""
        return list(self._leaves())

    def _leaves(self) -> Iterator[Parser]:
        if self.commands is None:
            yield self
        else:
            for parser in self.commands.choices.values():
                yield from parser._leaves()

    def chosen(self, args: argparse.Namespace) -> Parser:
        """Return the parser of the command, or of the command's own command, that was typed."""
        if self.commands is None:
            return self
        inner: Parser = self.commands.choices[getattr(args, self.commands.dest)]
        return inner.chosen(args)
