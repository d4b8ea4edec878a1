"""A parser that knows its commands, which argparse keeps to itself."""

from __future__ import annotations

import argparse
import difflib
import os
import re
import shlex
from collections.abc import Iterator
from typing import Any, NoReturn

from ordbridge.cli import helping
from ordbridge.support.naming import Naming, in_python, words_of


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
    examples: tuple[str, ...] = ()

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

    def format_help(self) -> str:
        """Return the help, which begins with examples."""
        shown = "".join(f"  {helping.in_lines(example)}\n" for example in self.examples)
        return f"{'examples:' if shown else ''}\n{shown}\n{super().format_help()}".lstrip("\n")

    def error(self, message: str) -> NoReturn:
        """Say what is wrong in a line or two, and what may have been meant."""
        super().error(with_suggestion(message, self))

    def chosen(self, args: argparse.Namespace) -> Parser:
        """Return the parser of the command, or of the command's own command, that was typed."""
        if self.commands is None:
            return self
        inner: Parser = self.commands.choices[getattr(args, self.commands.dest)]
        return inner.chosen(args)


def with_suggestion(message: str, parser: Parser) -> str:
    r"""Return a complaint of argparse with the command or option that may have been meant.

    Examples
    --------
    >>> parser = Parser()
    >>> _ = parser.add_argument("--html")
    >>> with_suggestion("unrecognized arguments: --hmtl out.html", parser)
    'unrecognized arguments: --hmtl out.html\nDid you mean --html?'
    """
    if unknown := re.fullmatch(r"unrecognized arguments: (.*)", message):
        known = sorted({option for leaf in parser.leaves() for option in leaf._option_string_actions})
        words = [word.partition("=")[0] for word in unknown[1].split() if word.startswith("--")]
    elif unknown := re.match(r"argument COMMAND: invalid choice: '(.*?)' \(choose from", message):
        known, words = list(parser.commands.choices), [unknown[1]]
        if os.path.exists(unknown[1]):
            return f"{unknown[1]} is a file; which command? For example: ordbridge compare {unknown[1]}"
        message = f"there is no command '{unknown[1]}'; `ordbridge --help` lists all"
    else:
        return message
    meant = [close[0] for word in words if (close := difflib.get_close_matches(word, known, n=1, cutoff=0.6))]
    return f"{message}\nDid you mean {' and '.join(meant)}?" if meant else message


def named_as_typed(args: argparse.Namespace) -> Naming:
    """Return what the arguments of functions are called on the command line: options with their values.

    With a study file, what was not typed comes from the file and keeps the file's names.

    Examples
    --------
    >>> parser = Parser()
    >>> _ = parser.add_argument("--ratings", type=int, dest="ratings_per_text")
    >>> _ = parser.add_argument("--force", action="store_true")
    >>> args = parser.parse_args([])
    >>> args.parser = parser
    >>> named = named_as_typed(args)
    >>> named("ratings_per_text", 0), named("ratings_per_text"), named("force", True), named("other", 2)
    ('--ratings 0', '--ratings', '--force', 'other=2')
    """
    actions = {action.dest: action for action in args.parser._actions if action.dest != "help"}
    if getattr(args, "study", None):
        actions = {name: action for name, action in actions.items() if getattr(args, name, None) is not None}

    def named(name: str, *value: Any) -> str:
        action = next((actions[one] for one in (*_elsewhere(name, *value), name) if one in actions), None)
        if action is None:
            return in_python(name, *value)
        words = shlex.join(words_of(value[0])) if value and not isinstance(value[0], bool) else ""
        if not action.option_strings:  # a positional argument
            return words or str(action.metavar or action.dest)
        return f"{action.option_strings[-1 if value == (False,) else 0]} {words}".rstrip()

    return named


def _elsewhere(name: str, *value: Any) -> Iterator[str]:
    """Yield the options that have certain values of an argument to themselves."""
    if value and isinstance(value[0], dict):
        yield f"span_{'weights' if name == 'levels' else name}"
    elif value and isinstance(value[0], list):
        yield f"{name}s"  # --systems A B
    elif value == (False,):
        yield name.replace("lower", "higher")
