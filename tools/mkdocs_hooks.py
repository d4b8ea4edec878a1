"""What mkdocs does besides: the help of every command, links in docstrings, and pages that reproductions leave."""

from __future__ import annotations

import os
import re
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

HELP = re.compile(r"^<!-- help: (.*) -->$", re.MULTILINE)
ROLE = re.compile(r":(?:func|class|meth|mod|attr):<code>~?([\w.]+)</code>")


def on_config(config: Any) -> Any:
    """Add findings and reproductions to the navigation where they have been written."""
    folder = Path(config["docs_dir"])
    found = [*folder.glob("findings.md"), *folder.glob("findings-tables.md"), *sorted(folder.glob("reproduction/*.md"))]
    if found:
        pages = [{_title(path): path.relative_to(folder).as_posix()} for path in found]
        config["nav"].insert(-1, {"Findings": pages})
    return config


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put what a command says about itself in the place of its comment."""
    return HELP.sub(lambda found: f"```text\n{_help(found[1].split())}```", markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Make links of the names that docstrings mention in Sphinx's way."""
    return ROLE.sub(r'<autoref identifier="\1" optional><code>\1</code></autoref>', html)


def _help(command: list[str]) -> str:
    from ordbridge.cli import main

    os.environ["COLUMNS"] = "80"
    sys.argv[0] = "ordbridge"
    said = StringIO()
    try:
        with redirect_stdout(said):
            main([*command, "--help"])
    except SystemExit:
        pass
    return said.getvalue()


def _title(path: Path) -> str:
    return path.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")
