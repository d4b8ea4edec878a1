"""The notebooks of the documentation run, and results, tables and progress show themselves in them."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat", reason="no nbformat here: pip install nbformat nbclient ipykernel")
pytest.importorskip("nbclient", reason="no nbclient here: pip install nbformat nbclient ipykernel")

ROOT = Path(__file__).resolve().parents[1]
NAMES = ("analyse", "plan", "raters")


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("notebooks_tool", ROOT / "tools" / "notebooks.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def kinds(notebook: Any) -> list[list[list[str]]]:
    """Return what kinds of output each cell has, without those where a bar was."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [
        [sorted(out.get("data", {})) for out in cell.outputs if out.get("data", {}).get("text/html") != ""]
        for cell in cells
    ]


NUMBER = re.compile(r"-?\d+\.?\d*(?:e[-+]?\d+)?")


def told(notebook: Any) -> tuple[str, list[float]]:
    """Return the words of all outputs, and the numbers in them."""
    texts = []
    for cell in notebook.cells:
        for out in cell.get("outputs", []):
            data = out.get("data", {})
            text = data.get("text/html") or data.get("text/plain") or out.get("text", "")
            texts += [text] if "image/png" not in data and text.strip() and out.get("name") != "stderr" else []
    whole = "\n".join(texts)
    return NUMBER.sub("#", whole), [float(number) for number in NUMBER.findall(whole)]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_runs_and_shows_what_its_page_shows(name: str, tool: ModuleType, tmp_path: Path) -> None:
    committed = nbformat.read(ROOT / "docs" / "notebooks" / f"{name}.ipynb", 4)
    page, pictures = tool.as_page(committed, name)
    assert page == (ROOT / "docs" / "notebooks" / f"{name}.md").read_text(encoding="utf-8")
    for file, content in pictures.items():
        assert (ROOT / "docs" / "notebooks" / file).read_bytes() == content
    again = tool.run(nbformat.read(ROOT / "docs" / "notebooks" / f"{name}.ipynb", 4), tmp_path)
    assert kinds(again) == kinds(committed)
    (words, numbers), (words_again, numbers_again) = told(committed), told(again)
    assert words_again == words, "python tools/notebooks.py runs the notebooks of the documentation again"
    assert numbers_again == pytest.approx(numbers, rel=0.01, abs=0.002)


@pytest.mark.slow
def test_tables_are_tables_and_long_work_has_a_bar(tool: ModuleType, tmp_path: Path) -> None:
    from nbformat.v4 import new_code_cell, new_notebook

    source = """
import pyarrow as pa, ordbridge as ob
from ordbridge.render import notebook as notebooks
drawn, draw = [], notebooks._Bar._draw
notebooks._Bar._draw = lambda self, html: (drawn.append(html), draw(self, html))
notebooks.SECONDS = 0.0
data = {"y": [1.0, 2.1, 2.9, 4.2, 3.3, 2.2], "x": [1, 2, 3, 4, 3, 2]}
fit = ob.lm("y ~ x", data, engine="fast")
found = fit.test("x", method="bootstrap", draws=19)
print(sum("<progress" in one for one in drawn), drawn[-1] == "", "of 19 draws" in drawn[0])
"""
    cells = [new_code_cell(source), new_code_cell("pa.table({'system': ['<b>']})"), new_code_cell("fit.plot()")]
    done = tool.run(new_notebook(cells=cells), tmp_path)
    said = [out for out in done.cells[0].outputs if out.output_type == "stream" and out.name == "stdout"]
    count, cleared, named = said[0].text.split()
    assert int(count) >= 19 and (cleared, named) == ("True", "True")
    assert "<td>&lt;b&gt;</td>" in done.cells[1].outputs[0].data["text/html"]
    assert "image/png" in done.cells[2].outputs[0].data


def test_outside_a_notebook_there_is_no_bar() -> None:
    from ordbridge.render.notebook import bar_in_notebook

    with bar_in_notebook(None) as tell:
        assert tell is None
    with bar_in_notebook(print) as tell:
        assert tell is print


def test_a_terminal_of_ipython_shows_rows_and_not_an_arrow_dump() -> None:
    code = "import pyarrow as pa, ordbridge as ob; display(pa.table({'system': ['A', 'B'], 'rating': [3.5, 4.0]}))"
    command = [sys.executable, "-m", "IPython", "--no-banner", "--colors=NoColor", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    shown = [line.split() for line in done.stdout.splitlines()[-3:]]
    assert shown == [["system", "rating"], ["0", "A", "3.5"], ["1", "B", "4.0"]]


def test_the_prompt_of_python_shows_rows_and_not_an_arrow_dump() -> None:
    typed = """import pyarrow as pa, ordbridge as ob
pa.table({"system": ["A", "B"], "rating": [3.5, 4.0]})
_.num_rows
ob.lm("rating ~ system", ob.datasets.summaries(), engine="fast").tidy()
"""
    done = subprocess.run([sys.executable, "-i"], input=typed, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert [line.split() for line in lines[:4]] == [["system", "rating"], ["0", "A", "3.5"], ["1", "B", "4.0"], ["2"]]
    assert "conf_low" in done.stdout and "std_error" in done.stdout and "..." not in done.stdout
    assert "pyarrow.Table" not in done.stdout
