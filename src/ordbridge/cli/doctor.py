"""``ordbridge doctor``: what is installed, and what to type where something is missing."""

from __future__ import annotations

import argparse

from ordbridge.cli import show


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Show what was found; the exit code is 1 if fits cannot run."""
    from ordbridge.bridge.doctor import examine

    found, can_fit = examine()
    show.table(found.drop_columns("fix"))
    same_fix: dict[tuple[str, str], list[str]] = {}
    for row in found.to_pylist():
        if row["fix"]:
            same_fix.setdefault((row["status"], row["fix"]), []).append(row["component"])
    for (status, fix), components in same_fix.items():
        show.line(f"{', '.join(components)}: {status}. {fix}")
    show.line("fits can run" if can_fit else 'fits through R cannot run yet; those with engine="fast" can')
    return 0 if can_fit else 1
