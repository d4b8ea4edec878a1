"""Messages in the words of the command line: a function names its arguments, a command its options."""

from __future__ import annotations

import argparse
import ast
import re
import shlex

VALUE = r"""'[^']*'|"[^"]*"|\[[^\]]*\]|\([^)]*\)|[^\s,;:)]*"""


def as_typed(text: str, args: argparse.Namespace) -> str:
    """Return a message with every argument that is an option of this command named as it is typed.

    ``raters=0 must be …`` becomes ``--raters 0 must be …``, ``give effect=`` becomes ``give --effect``. With a study
    file, what was not typed comes from the file and keeps the file's names.

    Examples
    --------
    >>> parser = argparse.ArgumentParser()
    >>> _ = parser.add_argument("--ratings", type=int, dest="ratings_per_text")
    >>> args = parser.parse_args(["--ratings", "0"])
    >>> args.parser = parser
    >>> as_typed("ratings_per_text=0 must be an integer ≥ 1", args)
    '--ratings 0 must be an integer ≥ 1'
    """
    actions = {action.dest: action for action in args.parser._actions if action.dest != "help"}
    if getattr(args, "study", None):
        actions = {name: action for name, action in actions.items() if getattr(args, name, None) is not None}
    if not actions:
        return text
    text = in_backticks(text, args)
    named = re.compile(rf"(?<![\w.\-'\"])({'|'.join(map(re.escape, actions))})=(?!=)({VALUE})")

    def option(name: str, value: str) -> argparse.Action:
        several = actions.get(f"{name}s")  # --systems A B, which Python writes as system=['A', 'B']
        return several if value.startswith("[") and several is not None else actions[name]

    return named.sub(lambda found: _typed(option(found[1], found[2]), found[2]), text)


def in_backticks(text: str, args: argparse.Namespace) -> str:
    """Return a text with every argument in backticks that is an option of this command as it is typed.

    Examples
    --------
    >>> parser = argparse.ArgumentParser()
    >>> _ = parser.add_argument("--max-size")
    >>> in_backticks("more of them (`max_size`, `other`)", argparse.Namespace(parser=parser))
    'more of them (`--max-size`, `other`)'
    """
    if getattr(args, "study", None):
        return text
    options = {action.dest: action.option_strings for action in args.parser._actions}
    return re.sub(r"`(\w+)`", lambda found: f"`{(options.get(found[1]) or [found[1]])[0]}`", text)


def _words(value: str) -> str:
    """Return a Python value as words of a command, quoted where blanks make it necessary."""
    try:
        meant = ast.literal_eval(value)
    except (SyntaxError, ValueError):
        meant = None
    if isinstance(meant, str):
        return shlex.quote(meant) if " " in meant else meant
    if isinstance(meant, (list, tuple)) and any(isinstance(word, str) for word in meant):
        return shlex.join(map(str, meant))
    return re.sub(r"[\[\]()'\",]", "", value)


def _typed(action: argparse.Action, value: str) -> str:
    """Return an option with its value, or a positional argument as its value or its name in the help."""
    words = _words(value)
    if not action.option_strings:
        return words or str(action.metavar or action.dest)
    if action.nargs == 0:  # a switch, such as --REML and --no-REML
        return action.option_strings[-1 if value == "False" else 0]
    return f"{action.option_strings[0]} {words}".rstrip()
