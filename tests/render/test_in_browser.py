"""Every kind of report in a real browser: three widths, light and dark, on paper, by keyboard, read aloud, copied."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest

from ordbridge.render.html import Page

ROOT = Path(__file__).resolve().parents[2]
KINDS = ("comparison", "preferences", "fit", "run", "plan", "reliability", "judge", "scales", "logs", "reproduction")
EVERY = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(scope="module")
def gallery() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gallery_tool", ROOT / "tools" / "gallery.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def files(gallery: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("reports")
    made = gallery.results()
    assert tuple(made) == KINDS
    return {name: made[name].page("ordbridge").write(folder / f"{name}.html") for name in made}


def open_all(tab: Any) -> None:
    tab.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ordbridge.errors.StatisticalWarning")
@EVERY
def test_a_report_fits_every_screen_and_has_no_barrier(
    files: dict[str, Path], kind: str, tab: Any, accessible: Any
) -> None:
    for width in (1280, 768, 390):
        tab.set_viewport_size({"width": width, "height": 900})
        tab.goto(files[kind].as_uri())
        headline = tab.locator("h1").bounding_box()
        assert headline["y"] + headline["height"] < 450  # the answer is on the first screen, also of a phone
        open_all(tab)
        assert tab.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        cut = "r => r.scrollWidth > r.clientWidth + 1 && !r.parentElement.matches('figure')"
        for region in tab.locator("div.scroll").all():
            if region.evaluate(cut):
                assert (
                    region.evaluate("r => getComputedStyle(r.nextElementSibling.querySelector('.cue')).display")
                    != "none"
                )
    for scheme in ("light", "dark"):
        tab.emulate_media(color_scheme=scheme)
        assert accessible(tab) == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ordbridge.errors.StatisticalWarning")
@EVERY
def test_no_column_is_cut_on_a4(files: dict[str, Path], kind: str, tab: Any) -> None:
    tab.set_viewport_size({"width": 688, "height": 1000})  # 210 mm without margins of 14 mm, at 96 dots per inch
    tab.goto(files[kind].as_uri())
    open_all(tab)
    tab.emulate_media(media="print")
    widths = tab.evaluate("[...document.querySelectorAll('table, svg, pre')].map(t => t.getBoundingClientRect().right)")
    assert max(widths) <= 689


def copied(tab: Any, kind: str) -> str:
    tab.evaluate("""() => { window.taken = null;
        Object.defineProperty(navigator, "clipboard", {configurable: true,
            value: {writeText: text => { window.taken = text; return Promise.resolve(); }}}); }""")
    tab.get_by_role("button", name=kind).first.click()
    tab.wait_for_function("window.taken !== null")
    return str(tab.evaluate("window.taken"))


@pytest.mark.slow
def test_tables_sort_and_copy(tab: Any, tmp_path: Path) -> None:
    values = [10.0, None, 9.0, 0.12341, -2.0, 0.12339, 0.00001]
    names = ["a_b & c%", "=1+1", "[c] *", "d|e", 'e"f', "$f$", "g, h"]
    file = Page("t").table(pa.table({"name": names, "share": values})).write(tmp_path / "t.html")
    tab.goto(file.as_uri())
    shown = "[...document.querySelectorAll('tbody tr')].map(row => row.cells[{}].textContent)"
    button = tab.get_by_role("button", name="share")
    button.focus()
    tab.keyboard.press("Enter")
    assert tab.evaluate(shown.format(1)) == ["−2", "1e-05", "0.123", "0.123", "9", "10", "–"]
    assert tab.evaluate(shown.format(0))[:4] == ['e"f', "g, h", "$f$", "d|e"]  # by the numbers in full
    assert tab.locator("th").nth(1).get_attribute("aria-sort") == "ascending"
    tab.keyboard.press("Enter")
    assert tab.evaluate(shown.format(1)) == ["10", "9", "0.123", "0.123", "1e-05", "−2", "–"]
    csv = copied(tab, "CSV").splitlines()
    assert csv[:4] == ["name,share", "a_b & c%,10.0", "[c] *,9.0", "d|e,0.12341"]
    assert "'=1+1,–" in csv and '"e""f",-2.0' in csv and '"g, h",1e-05' in csv
    assert copied(tab, "Markdown").splitlines()[:5] == [
        "| name | share |", "| :-- | --: |", "| a_b & c% | 10 |", r"| \[c\] \* | 9 |", r"| d\|e | 0.123 |",
    ]  # fmt: skip
    latex = copied(tab, "LaTeX")
    assert r"a\_b \& c\% & 10 \\" in latex and r"{[}c{]} {*} & 9 \\" in latex and r"& $-2$ \\" in latex
    assert tab.get_by_role("status").first.inner_text() == "copied"
    if shutil.which("pdflatex"):
        text = rf"\documentclass{{article}}\usepackage{{booktabs}}\begin{{document}}{latex}\end{{document}}"
        (tmp_path / "t.tex").write_text(text, encoding="utf-8")
        command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
        assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode == 0


@pytest.mark.slow
def test_without_scripts_nothing_is_missing(chromium: Any, tmp_path: Path) -> None:
    file = Page("t").table(pa.table({"name": ["a"], "n": [1]})).write(tmp_path / "t.html")
    context = chromium.new_context(java_script_enabled=False)
    tab = context.new_page()
    tab.goto(file.as_uri())
    assert tab.locator("button").count() == 0 and tab.locator("td").all_inner_texts() == ["a", "1"]
    context.close()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ordbridge.errors.StatisticalWarning")
@EVERY
def test_eight_columns_one_picture_and_no_sentence_twice(files: dict[str, Path], kind: str, tab: Any) -> None:
    tab.goto(files[kind].as_uri())
    open_all(tab)
    wide = "t => [...t.tHead.rows[0].cells].filter(cell => cell.offsetParent !== null).length"
    for table in tab.locator("table").all():
        assert table.evaluate(wide) <= 8
    order = "[...document.querySelectorAll('h1, figure, table')].map(one => one.tagName)"
    if kind != "reproduction":  # whose verdicts come first
        assert tab.evaluate(order)[:3] == ["H1", "FIGURE", "TABLE"]
    shown = tab.evaluate("""[...document.querySelectorAll('main > p, main > ul > li')].map(one => {
        let before = one.closest('ul') ?? one;
        while (before && before.tagName !== 'H2') before = before.previousElementSibling;
        return before?.textContent === 'For the paper' ? '' : one.textContent; })""")
    sentences = [one for text in shown for one in re.split(r"(?<=[.!?]) ", text) if len(one) > 30]
    assert len(sentences) == len(set(sentences)), [one for one in sentences if sentences.count(one) > 1]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ordbridge.errors.StatisticalWarning")
def test_pictures_are_saved_and_columns_shown_on_demand(files: dict[str, Path], tab: Any) -> None:
    tab.goto(files["comparison"].as_uri())
    starts = {"SVG": b"<svg", "PNG": b"\x89PNG", "PDF": b"%PDF"}
    for kind, first in starts.items():
        with tab.expect_download() as download:
            tab.locator("figure").first.locator(".save").get_by_text(kind, exact=True).click()
        assert download.value.suggested_filename == f"comparison-ratings.{kind.lower()}"
        assert Path(download.value.path()).read_bytes().startswith(first)
    open_all(tab)
    more = tab.get_by_role("button", name=re.compile("more columns")).first
    hidden = tab.locator("th.more:visible").count()
    more.click()
    assert hidden == 0 and tab.locator("th.more:visible").count() > 0
