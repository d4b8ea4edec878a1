"""LaTeX and BibTeX of every kind of result, through pdflatex and bibtex."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from ordbridge.logs.result import CHEN, HOLM
from ordbridge.logs.result import REFERENCES as OF_LOGS
from ordbridge.models.explain import LENTH
from ordbridge.render import bibtex, latex
from ordbridge.render.layout import ShownTable
from ordbridge.results import citations

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = r"\usepackage[T1]{fontenc}\usepackage{booktabs,graphicx,textcomp}"
NEEDS_LATEX = pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex here")
EVERY = [text.format(version="4.2.2") for part in citations._REFERENCES.values() for text in part.values()]
EVERY += [*citations.PREFERENCES.values(), *(one for several in OF_LOGS.values() for one in several), HOLM, CHEN, LENTH]


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    spec = importlib.util.spec_from_file_location("gallery_tool", ROOT / "tools" / "gallery.py")
    assert spec and spec.loader
    gallery = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(gallery)
    return gallery.results()  # type: ignore[no-any-return]


def compiled(body: str, columns: str, folder: Path) -> str:
    text = rf"\documentclass[{columns}]{{article}}{PACKAGES}\begin{{document}}" + f"\n{body}\n" + r"\end{document}"
    (folder / "t.tex").write_text(text, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-no-shell-escape", "t.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    log = (folder / "t.log").read_text(encoding="latin-1")
    assert done.returncode == 0, re.findall(r"^! .*", log, flags=re.M)
    return log


@NEEDS_LATEX
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ordbridge.errors.StatisticalWarning")
@pytest.mark.parametrize("columns", ["onecolumn", "twocolumn"])
def test_no_kind_of_result_is_too_wide_for_an_article(results: dict[str, Any], columns: str, tmp_path: Path) -> None:
    body = "\n\\clearpage\n".join(result.latex() for result in results.values())
    log = compiled(body, columns, tmp_path)
    assert re.findall(r"(?:Overfull|Float too large).*", log) == []


@NEEDS_LATEX
@pytest.mark.slow
def test_what_is_wide_or_long_still_fits(tmp_path: Path) -> None:
    wide = pa.table({f"column number {k}": ["a_system_with_quite_a_long_name/v1.2-final" * 2, "b"] for k in range(8)})
    long = pa.table({"pair": [f"a{k} – b{k}" for k in range(91)], "estimate": [k / 7 - 3 for k in range(91)]})
    body = latex.table(ShownTable(wide), "Wide", "tab:w") + "\n\n" + latex.table(ShownTable(long), "Long", "tab:l")
    log = compiled(body, "twocolumn", tmp_path)
    assert re.findall(r"(?:Overfull|Float too large).*", log) == []
    assert "and 46 more rows" in body


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ordbridge.errors.StatisticalWarning")
def test_caption_and_label_are_those_that_were_asked_for(results: dict[str, Any]) -> None:
    for result in results.values():
        text = result.latex(caption="Our 5 % table", label="tab:mine")
        assert text.count(r"\caption{Our 5 \% table}") == 1 and text.count(r"\label{tab:mine}") == 1
        assert text.startswith("% \\usepackage") and "graphicx" in text.partition("\\begin")[0]


def test_every_reference_becomes_an_entry_with_all_that_it_says() -> None:
    for reference in EVERY:
        kind, fields = bibtex._parsed(reference)
        assert fields["title"] and "author" in fields, reference
        letters = re.sub(r"\W", "", "".join(fields.values()))
        left = [
            word
            for word in re.findall(r"\w+", reference)
            if word not in letters and word not in ("version", "et", "al")
        ]
        assert set(left) <= {"R", "package"}, (reference, left)
        if "arXiv" not in reference and re.search(r"\d+–\d+\.$", reference):
            assert kind in ("article", "inproceedings") and "–" in fields["pages"], reference


@pytest.mark.skipif(shutil.which("bibtex") is None, reason="no bibtex here")
def test_bibtex_has_nothing_to_complain_about(tmp_path: Path) -> None:
    (tmp_path / "t.bib").write_text(bibtex.entries(EVERY), encoding="utf-8")
    (tmp_path / "t.aux").write_text("\\citation{*}\n\\bibstyle{plain}\n\\bibdata{t}\n", encoding="utf-8")
    done = subprocess.run(["bibtex", "t"], cwd=tmp_path, capture_output=True, text=True, check=False)
    complaints = [line for line in done.stdout.splitlines() if "Warning" in line or "error" in line]
    assert [line for line in complaints if "can't use both" not in line and "to sort, need" not in line] == []
    assert (tmp_path / "t.bbl").read_text(encoding="utf-8").count("\\bibitem") == len(set(EVERY))
