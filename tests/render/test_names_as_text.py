r"""Names with markup, quotes, ``$``, ``\input``, line breaks: text on pages, in pictures, LaTeX, Markdown and CSV."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import ordbridge as ob
from ordbridge import figures
from ordbridge.planning import Designs, PlannedAnalysis, Simulation
from ordbridge.reading import tables
from ordbridge.render import latex, markdown
from ordbridge.render.layout import ShownTable
from ordbridge.support.escaping import for_latex, for_markdown, join_lines

MARKUP = "<script>attacked = 1</script><img src=x onerror='attacked = 1'>"
HOSTILE = {
    "markup": MARKUP,
    "quotes": "\"><svg onload=attacked=1>'`",
    "mathematics": r"$\unknown$ 50% {a}_b^c & #1 ~",
    "macros": r"\input{/etc/passwd}\end{document}",
    "options": "[2cm] * ** 1_000",
    "long": "word" * 75,
    "right to left": "\u202eמערכת العربية",
    "line breaks": "two\n\nlines\tand a tab \x1b[31m",
    "formula": "=HYPERLINK(1)|+x",
    "markdown": "**bold** [link](http://x.y) `code` <b>",
    "letters": "统一 Ŧĸħ ½ «ö» – “q”",
}
NAMES = list(HOSTILE.values())


def ratings(systems: list[str]) -> pa.Table:
    """Return ratings of these systems by raters, on items, with hostile names."""
    random = np.random.default_rng(1)
    p, i, s = (g.ravel() for g in np.meshgrid(range(11), range(11), range(len(systems)), indexing="ij"))
    latent = 0.6 * s + random.normal(0, 0.5, 11)[p] + random.normal(0, 0.5, 11)[i] + random.logistic(size=p.size)
    return pa.table(
        {
            "participant": [NAMES[k] for k in p],
            "item": [NAMES[k] for k in i],
            "system": [systems[k] for k in s],
            "rating": 1 + (latent[:, None] > [-1, 0.5, 2]).sum(axis=1),
        }
    )


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    data = ratings([MARKUP, HOSTILE["mathematics"], HOSTILE["macros"]])
    odd = HOSTILE["markup"].replace("`", "")
    renamed = data.rename_columns(["participant", "item", odd, "rating"])
    return {
        "comparison": ob.compare(data, engine="fast"),
        "fit": ob.clmm(f"rating ~ `{odd}` + (1 | participant)", renamed, engine="fast"),
        "reliability": ob.reliability.analyse(data, conf_level=None),
        "scales": ob.scales.compare({MARKUP: data, HOSTILE["macros"]: data}, conf_level=None),
    }


EVERY = pytest.mark.parametrize("kind", ["comparison", "fit", "reliability", "scales"])


@EVERY
@pytest.mark.slow
def test_a_page_shows_them_as_text(results: dict[str, Any], kind: str, tab: Any, tmp_path: Path) -> None:
    file = results[kind].page(repeat=f"ordbridge '{MARKUP}'").write(tmp_path / "page.html")
    tab.goto(file.as_uri())
    assert tab.evaluate("typeof attacked") == "undefined"
    assert tab.evaluate("document.querySelectorAll('img, iframe, link, b, main script').length") == 0
    tab.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    shown = " ".join(tab.evaluate("document.body.innerText").split())
    names = NAMES if kind == "reliability" else [MARKUP]
    for name in names:
        assert join_lines(name) in shown
    assert tab.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.filterwarnings("ignore:Glyph")
def test_a_name_may_be_anything_in_a_picture() -> None:
    r"""``$\unknown$`` was read as mathematics, and stopped the whole report."""
    ranking = [
        {"system": name, "estimate": 3.2, "conf_low": 3.0, "conf_high": 3.4, "letters": "a", "n": 9} for name in NAMES
    ]
    shares = [
        {"system": name, "category": category, "share": 0.5} for name in NAMES for category in ("$\\unknown$", "$a$")
    ]
    drawn = figures.systems([figures.SystemRatings("$\\unknown$", ranking, shares, (1, 5))])
    drawn.savefig(io.BytesIO(), format="png")
    labels = [label.get_text() for label in drawn.axes[0].get_yticklabels()]
    assert max(map(len, labels)) <= 30 and not any("\n" in label for label in labels)


PREAMBLE = r"\documentclass{article}\usepackage[utf8]{inputenc}\usepackage[T1]{fontenc}\usepackage{booktabs,graphicx}"
TEX = pytest.mark.skipif(not shutil.which("pdflatex"), reason="no LaTeX here: apt-get install texlive-latex-base")


def typeset(body: str, folder: Path) -> str:
    """Compile a document and return what pdflatex says."""
    (folder / "t.tex").write_text(rf"{PREAMBLE}\begin{{document}}{body}\end{{document}}", encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "t.tex"]
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True)
    said = done.stdout.decode("latin-1")
    assert done.returncode == 0, said[-1500:]
    return said


@TEX
def test_latex_compiles_whatever_the_names_are(results: dict[str, Any], tmp_path: Path) -> None:
    everything = pa.table({"name": [*NAMES, "a_b & c%"], "other": [*NAMES[::-1], "1_000"]})
    latin = "".join(chr(code) for code in range(0xA0, 0x180))
    parts = [
        latex.table(ShownTable(everything), caption=MARKUP),
        for_latex(latin),
        *(result.latex() for result in results.values()),
    ]
    said = typeset("\n\n".join(parts), tmp_path)
    assert "(/etc/passwd" not in said  # which is how TeX says that it opens a file
    assert "undefined" not in said


@TEX
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ordbridge.errors.StatisticalWarning")
def test_latex_compiles_with_systems_called_a_b_and_c_per_cent(tmp_path: Path) -> None:
    names = ["a_b & c%", "100% {#1} ~$"]
    data = ratings(names)
    judged = {name: data[name].to_pylist() for name in data.column_names}
    judged["kind"] = ["judge" if person == MARKUP else "human" for person in judged["participant"]]
    truth = ob.simulate.Truth(effects=(1.0,), thresholds=(-1, 0, 1))
    fit = ob.clm("rating ~ system", data, engine="fast")
    found = [
        ob.compare(data, engine="fast"),
        fit,
        fit.explain(),
        ob.reliability.analyse(data, conf_level=None),
        ob.judges.analyse(judged, MARKUP),
        ob.scales.compare({name: data for name in names}, conf_level=None),
        ob.plan(
            truth,
            analysis=PlannedAnalysis("lm", systems=names),
            designs=Designs([20, 40], texts_per_participant=10),
            simulation=Simulation(null_datasets=0),
        ),
    ]
    said = typeset("\n\n".join(one.latex() for one in found), tmp_path)
    assert "undefined" not in said
    assert sum(r"a\_b \& c\%" in one.latex() for one in found) >= 6


def test_numbers_are_numbers_and_names_are_not() -> None:
    """``float("1_000")`` is a number to Python."""
    table = pa.table({"name": ["1_000", "nan", "-5"], "x": [-1.5, 2.0, 1e-7]})
    rows = latex.table(ShownTable(table)).splitlines()[4:7]
    assert rows == [r"1\_000 & $-1.50$ \\", r"nan & 2 \\", r"$-5$ & 1e-07 \\"]


def test_markdown_has_no_markup_of_a_name(results: dict[str, Any]) -> None:
    from markdown import markdown as rendered

    for result in results.values():
        html = rendered(result.markdown(), extensions=["tables"])
        assert "<script" not in html and "<img" not in html and "<a " not in html
        assert html.count("<table>") >= 1
    html = rendered("\n\n".join(for_markdown(name) for name in NAMES))
    assert not re.search("<(?!/?p>)", html)
    table = rendered(
        markdown.table(ShownTable(pa.table({"name": NAMES, "n": range(len(NAMES))}))), extensions=["tables"]
    )
    assert table.count("<tr>") == 1 + len(NAMES)
    assert table.count("<td") == 2 * len(NAMES)


def test_a_spreadsheet_computes_nothing_and_reading_gives_the_same_names(tmp_path: Path) -> None:
    names = ["=1+1", "+x", "-b", "@c", "-0.5", "plain", "'quoted'", "\tx", "a,b", None]
    table = pa.table({"=name": names, "number": [float(-k) for k in range(len(names))]})
    file = tables.write(table, tmp_path / "t.csv")
    cells = [line.split(",")[0].strip('"') for line in file.read_text(encoding="utf-8").splitlines()]
    assert cells[:6] == ["'=name", "'=1+1", "'+x", "'-b", "'@c", "-0.5"]
    assert tables.read(file).to_pydict() == table.to_pydict()
    long = pa.table({"participant": ["a", "b"] * 2, "item": ["i", "i", "j", "j"], "system": ["=A", "-B"] * 2,
                     "rating": [1, 2, 3, 4]})  # fmt: skip
    tables.write(long, tmp_path / "long.csv")
    assert ob.read(tmp_path / "long.csv").table["system"].to_pylist() == ["=A", "-B"] * 2
    categories = pa.table({"level": pa.array(["=A", "B"]).dictionary_encode()})
    tables.write(categories, tmp_path / "c.csv")
    assert "'=A" in (tmp_path / "c.csv").read_text(encoding="utf-8")
