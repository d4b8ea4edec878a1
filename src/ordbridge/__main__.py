"""``python -m ordbridge``: the command line."""

from ordbridge.cli import program

program()
