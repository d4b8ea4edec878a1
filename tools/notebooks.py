"""Run the notebooks of the documentation, and write each as a page: python tools/notebooks.py [NAME …]."""

from __future__ import annotations

import base64
import re
import sys
from pathlib import Path
from typing import Any

import nbformat

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "notebooks"


def run(notebook: Any, folder: Path) -> Any:
    """Run all cells in a folder and return the notebook with what they show."""
    from nbclient import NotebookClient

    for cell in notebook.cells:
        cell.metadata = {}
    NotebookClient(
        notebook, timeout=240, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    ).execute()
    notebook.metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"  # the same notebook gives the same file
        cell.metadata = {}
    return notebook


def as_page(notebook: Any, name: str) -> tuple[str, dict[str, bytes]]:
    """Return a notebook as Markdown, and its pictures."""
    parts, pictures = [], {}
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        for output in cell.outputs:
            data = output.get("data", {})
            if "image/png" in data:
                file = f"{name}-{len(pictures) + 1}.png"
                pictures[file] = base64.b64decode(data["image/png"])
                parts.append(f"![what the cell above draws]({file})")
            elif "text/html" in data and not data["text/html"].strip():
                continue  # where a bar was
            elif "text/html" in data:
                parts.append(f'<div class="output">{_one_line(data["text/html"])}</div>')
            elif "text/plain" in data or output.get("text"):
                parts.append(f"```text\n{(data.get('text/plain') or output['text']).rstrip()}\n```")
    parts.append(f"[This page as a notebook]({name}.ipynb)")
    return "\n\n".join(parts) + "\n", pictures


def _one_line(html: str) -> str:
    return re.sub(r"\s*\n\s*", " ", html)


def main() -> None:
    """Run and write the notebooks that are named, or all."""
    names = sys.argv[1:] or sorted(path.stem for path in FOLDER.glob("*.ipynb"))
    from tempfile import TemporaryDirectory

    for name in names:
        with TemporaryDirectory() as folder:
            notebook = run(nbformat.read(FOLDER / f"{name}.ipynb", 4), Path(folder))
        nbformat.write(notebook, FOLDER / f"{name}.ipynb")
        page, pictures = as_page(notebook, name)
        (FOLDER / f"{name}.md").write_text(page, encoding="utf-8")
        for file, content in pictures.items():
            (FOLDER / file).write_bytes(content)
        print(f"{name}: {len(notebook.cells)} cells, {len(pictures)} pictures")


if __name__ == "__main__":
    main()
