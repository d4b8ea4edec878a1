"""Write what the commands of a page print below them: python tools/readme.py README.md docs/tutorial.md.

Every ``sh`` block with one command of ordbridge gets its output, up to the end of the first table. All run in one
folder, into which ``ordbridge examples .`` has written its files.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

LEAST = 7
BLOCK = re.compile(r"(```sh\n(ordbridge [^\n]*)\n```\n)(\n*```text\n.*?```\n)?", re.DOTALL)


def main() -> None:
    """Rewrite the pages that are named."""
    program = Path(sys.executable).with_name("ordbridge")
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"PATH": f"{program.parent}:{os.environ['PATH']}"}
        subprocess.run([program, "examples", "."], cwd=folder, check=True, capture_output=True)

        def run(found: re.Match[str]) -> str:
            done = subprocess.run(
                found[2], shell=True, cwd=folder, check=True, capture_output=True, text=True, env=environment
            )
            lines = done.stdout.splitlines()
            end = next((k for k, line in enumerate(lines) if k >= LEAST and not line), len(lines))
            shown = lines if end == len(lines) else [*lines[:end], "  …"]
            return f"{found[1]}```text\n{chr(10).join(shown)}\n```\n"

        for name in sys.argv[1:]:
            page = Path(name)
            page.write_text(BLOCK.sub(run, page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
