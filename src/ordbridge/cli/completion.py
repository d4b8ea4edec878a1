"""``ordbridge completion``: what a shell needs to complete commands, options and files."""

from __future__ import annotations

import argparse
from typing import Any

from ordbridge.cli import show

SHELLS = ("bash", "zsh", "fish")


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.description = "Prints what completes commands and options with the tabulator key. Source it, or save it."
    parser.add_argument("shell", choices=SHELLS)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    show.line(script(args.shell))
    return 0


def script(shell: str) -> str:
    """Return the script of a shell: one of bash, zsh and fish.

    Examples
    --------
    >>> "complete -c ordbridge" in script("fish")
    True
    """
    from ordbridge.cli import COMMANDS, parser_of

    parsers = parser_of(*COMMANDS).commands.choices
    options = {name: _options(parsers[name]) for name in COMMANDS}
    if shell == "fish":
        return "\n".join([*_fish_commands(), *(line for name in options for line in _fish(name, parsers[name]))])
    cases = "\n".join(f"    {name}) words='{' '.join(words)}' ;;" for name, words in options.items())
    text = BASH.replace("@COMMANDS@", " ".join(COMMANDS)).replace("@CASES@", cases)
    return f"{ZSH}\n{text}" if shell == "zsh" else text


ZSH = """(( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i }
autoload -U +X bashcompinit && bashcompinit"""


BASH = """_ordbridge() {
  local current=${COMP_WORDS[COMP_CWORD]} words=
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '@COMMANDS@ --help --version' -- "$current"))
    return
  fi
  case ${COMP_WORDS[1]} in
@CASES@
  esac
  case $current in
    -*) COMPREPLY=($(compgen -W "$words" -- "$current")) ;;
    *) COMPREPLY=($(compgen -W "$(printf '%s\\n' $words | grep -v '^-')" -- "$current") $(compgen -f -- "$current")) ;;
  esac
}
complete -o filenames -F _ordbridge ordbridge"""


def _options(parser: Any) -> list[str]:
    """Return the options of a command, and its own commands."""
    found = [] if parser.commands is None else list(parser.commands.choices)
    return list(dict.fromkeys([*found, *(word for leaf in parser.leaves() for word in leaf._option_string_actions)]))


def _fish_commands() -> list[str]:
    from ordbridge.cli import COMMANDS

    first = "complete -c ordbridge -n __fish_use_subcommand"
    return [f"{first} -f -a {name} -d {_quoted(told)}" for name, told in COMMANDS.items()]


def _fish(name: str, parser: Any) -> list[str]:
    where = f"complete -c ordbridge -n '__fish_seen_subcommand_from {name}'"
    inner = [] if parser.commands is None else [f"{where} -a '{' '.join(parser.commands.choices)}'"]
    told = {word: action.help or "" for leaf in parser.leaves() for word, action in leaf._option_string_actions.items()}
    lines = [
        f"{where} -l {word.removeprefix('--')} -d {_quoted(text.partition(';')[0])}"
        for word, text in told.items()
        if word.startswith("--")
    ]
    return [*inner, *lines]


def _quoted(text: str) -> str:
    escaped = text.replace("%(default)s", "").replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
