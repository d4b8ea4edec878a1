"""Write docs/reference/findings.md from the catalogue: python tools/findings.py."""

from __future__ import annotations

import re
from pathlib import Path

from ordbridge.results.catalogue import PARTS

FILE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "findings.md"
HEAD = """# Findings

What a result should be read with: cautions, what was noticed in the ratings, what was decided on the way. Each has a
code that stays the same when its sentence changes. `result.findings` has them in Python, `--json -` on the command
line, each with `code`, `severity`, `subject` (the criterion, group or model it is about), `values` and `text`.

Severity: an **error** means that numbers cannot be used, a **warning** that they may mislead, a **note** is good to
know. In the sentences, `{…}` stands for a value of the finding.
"""


def in_call(template: str) -> str:
    """Return a sentence with its arguments as they stand in a call; on the command line they are options."""
    named = re.sub(r"\{(\w+):as (\w+)\}", r"`\2={\1}`", template)
    named = re.sub(r"\{arg:(\w+|\{\w+\})\}", r"`\1=`", named)
    named = re.sub(r"\{arg:(\w+) (True|False)\}", r"`\1=\2`", named)
    return re.sub(r"\{arg:(\w+) ([^{}]+)\}", r"`\1='\2'`", named)


def page() -> str:
    """Return the page."""
    lines = [HEAD]
    for part, kinds in PARTS.items():
        lines += [f"## {part.capitalize()}\n", "| code | severity | sentence | what to do |", "|---|---|---|---|"]
        for code, kind in sorted(kinds.items()):
            about = f" ({kind.about})" if kind.about else ""
            cells = [f"`{code}`", kind.severity, f"{kind.text}{about}", in_call(kind.remedy)]
            lines.append("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    FILE.write_text(page(), encoding="utf-8")
