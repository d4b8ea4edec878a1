"""Write docs/reference/names.md, every public name with one sentence: python tools/public_names.py."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path

import ordbridge as ob

FILE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "names.md"
HEAD = """# Public names

Everything that `import ordbridge as ob` offers, with one sentence each. Names that are not here may change at any time.
This page is written by `python tools/public_names.py`; a test compares it with the code.
"""


def public() -> dict[str, list[str]]:
    """Return the public names by the room that offers them; the package itself comes first."""
    rooms = [name for name in ob.__all__ if inspect.ismodule(getattr(ob, name)) or name == "reliability"]
    return {"ob": [name for name in ob.__all__ if name not in rooms]} | {
        f"ob.{room}": list(import_module(getattr(ob, room).__name__).__all__) for room in rooms
    }


def sentence(thing: object) -> str:
    """Return the first sentence of a docstring, or what a constant is."""
    if not (callable(thing) or inspect.ismodule(thing)):
        return f"A constant: a {type(thing).__name__}."
    text = inspect.getdoc(thing) or ""
    first = " ".join(text.split("\n\n")[0].split())
    return re.sub(r":\w+:(?=`)", "", first).replace("|", "\\|").replace("``", "`")


def page() -> str:
    """Return the page."""
    parts = [HEAD]
    for room, names in public().items():
        module = ob if room == "ob" else getattr(ob, room.removeprefix("ob."))
        about = "The package itself." if module is ob else sentence(import_module(module.__name__))
        rows = [f"| `{room}.{name}` | {sentence(getattr(module, name))} |" for name in names]
        parts.append("\n".join([f"## `{room}`\n\n{about}\n\n| name | what it is |\n|---|---|", *rows]) + "\n")
    return "\n".join(parts)


if __name__ == "__main__":
    FILE.write_text(page(), encoding="utf-8")
