"""In a real browser: from dropping each kind of file to the report, which is the one that the command line writes."""

from __future__ import annotations

import io
import json
import re
import shlex
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dropped_files
import pandas as pd
import pytest

from ordbridge import cli
from ordbridge.planning import read_protocol

pytestmark = pytest.mark.slow
HOSTILE = "<img src=x onerror=alert(1)>"
PATIENT = 240_000  # milliseconds, on a machine that does many other things


def ready(tab: Any) -> None:
    tab.wait_for_selector("#compare:not([hidden])", timeout=PATIENT)


def answered(tab: Any, step: str) -> str:
    """Press the button of a step, wait for what it says, and return its headline."""
    tab.click(f"[data-job={step}]")
    return said(tab, step)


def said(tab: Any, step: str = "compare") -> str:
    """Wait for an answer and return its headline; the comparison comes by itself."""
    tab.wait_for_selector(f"[data-of={step}] :is(.headline, .error, .good)", timeout=PATIENT)
    return str(tab.inner_text(f"[data-of={step}] :is(.headline, .error, .good)"))


def kept(tab: Any, step: str, name: str) -> bytes:
    """Download a file by its link."""
    tab.wait_for_timeout(500)  # Chromium leaves out the eleventh of many downloads at once
    with tab.expect_download(timeout=PATIENT) as download:
        tab.click(f"[data-of={step}] a[download='{name}']")
    return Path(download.value.path()).read_bytes()


def by_command(tab: Any, step: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the command that the page shows for a step, in a folder with the files that it names."""
    words = shlex.split(tab.locator(f"[data-of={step}] code").text_content())
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.argv", words)
    assert cli.main(words[1:]) == 0


@pytest.mark.parametrize("kind", dropped_files.KINDS)
def test_from_dropping_a_file_to_the_report(
    app: str, kind: str, tab: Any, tmp_path: Path, drop: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, second = dropped_files.write(tmp_path, kind)
    tab.goto(app)
    drop(tab, (file.name, file.read_bytes()))
    tab.wait_for_selector("#recognised:not([hidden])", timeout=PATIENT)
    if second is not None:
        tab.click("#more summary")
        tab.set_input_files("#second", second)
        tab.wait_for_selector("#counted:has-text('3 systems')", timeout=PATIENT)
    ready(tab)
    assert "540 ratings: 12 participants, 15 items, 3 systems" in tab.inner_text("#counted")
    assert re.match(r"(system)?C is rated highest", said(tab))
    assert tab.locator("[data-of=compare] tr").count() == 4 and tab.locator("iframe").count() == 0
    assert "xpected ratings" in tab.get_attribute("[data-of=compare] img", "alt")
    report = kept(tab, "compare", "report.html")
    assert report.startswith(b"<!DOCTYPE html>") and b"For the paper" in report
    if kind in ("csv", "potato", "qualtrics"):  # one of each way: a table, with a second file, labels
        by_command(tab, "compare", tmp_path, monkeypatch)
        assert (tmp_path / "report.html").read_bytes() == report


def test_check_and_raters_are_those_of_the_command_line(
    app: str, tab: Any, tmp_path: Path, drop: Callable[..., None], monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    data = dropped_files.one_criterion()
    data.loc[data.index[7], "rating"] = 99
    data.to_csv(tmp_path / "ratings.csv", index=False)
    tab.goto(app)
    drop(tab, ("ratings.csv", (tmp_path / "ratings.csv").read_bytes()))
    ready(tab)
    shown = tab.locator("#checks p").all_inner_texts()
    assert "1 rating outside the scale 1 to 5: 99 (row 9)" in shown[0]
    words = shlex.split(tab.locator("#check-files code").text_content())
    monkeypatch.chdir(tmp_path)
    assert cli.main(words[1:]) == 1
    printed = " ".join(capsys.readouterr().out.split())
    found = [line.partition(": ")[2].partition(". ")[0] for line in shown]  # the rest names a menu, or an option
    assert found and all(what[1:] in printed for what in found)  # a sentence begins with a capital
    assert "no answer" in said(tab)
    tab.check("#force")
    tab.wait_for_selector("[data-of=compare] .headline:not(:has-text('no answer'))", timeout=PATIENT)
    answered(tab, "raters")
    report = kept(tab, "raters", "report.html")
    assert b"agree" in report
    by_command(tab, "raters", tmp_path, monkeypatch)
    assert (tmp_path / "report.html").read_bytes() == report


def test_every_download_of_a_comparison(app: str, tab: Any, accessible: Any) -> None:
    tab.goto(app)
    tab.click("#demo")
    said(tab)
    names = [link.get_attribute("download") for link in tab.locator("[data-of=compare] a[download]").all()]
    starts = {
        "report.html": b"<!DOCTYPE html>",
        "tables.tex": b"",
        "tables.md": b"",
        "references.bib": b"@misc",
        "differences.csv": b"",
        "picture.png": b"\x89PNG",
        "picture.svg": b"<?xml",
        "picture.pdf": b"%PDF",
    }
    assert names == list(starts)
    files = {name: kept(tab, "compare", name) for name in names}
    assert all(files[name].startswith(first) for name, first in starts.items())
    assert rb"\begin{tabular}" in files["tables.tex"] and b"| with retrieval" in files["tables.md"]
    assert pd.read_csv(io.BytesIO(files["differences.csv"])).shape[0] == 3
    assert accessible(tab) == []
    tab.set_viewport_size({"width": 390, "height": 800})
    tab.emulate_media(color_scheme="dark")
    assert accessible(tab) == []
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_plan_from_the_dropped_file_is_that_of_the_command_line(
    app: str, tab: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tab.goto(app)
    tab.click("#demo")
    said(tab)
    tab.click("#tab-next")
    tab.select_option("#setting", "pilot")
    tab.wait_for_selector("#pilot-status:has-text('which may be chance')", timeout=PATIENT)
    tab.select_option("#pilot-second", "with retrieval")
    tab.wait_for_selector("#pilot-status:has-text('with retrieval and baseline')", timeout=PATIENT)
    for slider, value in {"items": "25", "ratings": "2", "points": "0.3"}.items():
        tab.fill(f"#{slider}", value)
    tab.select_option("#currency", "£")
    tab.wait_for_selector("#power:has-text('for £10')")
    assert "25 items with 2 ratings each" in answered(tab, "confirm")
    names = [link.get_attribute("download") for link in tab.locator("[data-of=confirm] a[download]").all()]
    files = {name: kept(tab, "confirm", name) for name in names}
    assert list(files)[:10] == [
        "report.html", "tables.tex", "tables.md", "references.bib", "plan.json", "preregistration.md",
        "design-sheet.csv", "sheets.zip", "tasks.jsonl", "tasks.json",
    ]  # fmt: skip
    (tmp_path / "pilot.csv").write_bytes(files["pilot.csv"])
    by_command(tab, "confirm", tmp_path, monkeypatch)
    for name in ("report.html", "plan.json"):
        assert (tmp_path / name).read_bytes() == files[name]
    (tmp_path / "kept.json").write_bytes(files["plan.json"])
    protocol = read_protocol(tmp_path / "kept.json")
    assert protocol.systems == ("baseline", "with retrieval") and protocol.items == 25
    sheet = pd.read_csv(io.BytesIO(files["design-sheet.csv"]))
    assert len(sheet) == 100 and set(sheet.system) == set(protocol.systems)
    archive = zipfile.ZipFile(io.BytesIO(files["sheets.zip"]))
    assert len(archive.namelist()) == protocol.participants + 1
    for name in archive.namelist():
        assert archive.read(name) == (tmp_path / name).read_bytes()
    assert len(files["tasks.jsonl"].splitlines()) == len(json.loads(files["tasks.json"])) == 100
    assert tab.locator("#curve circle.seen").count() == 1


def test_what_is_not_clear_can_be_chosen(app: str, tab: Any, drop: Callable[..., None], accessible: Any) -> None:
    data = dropped_files.one_criterion()
    words = data.rating.map({1: "zig", 2: "zag", 3: "zog", 4: "zug", 5: "zeg"})
    odd = pd.DataFrame({"q1": data.participant, "q2": data.item, "q3": data.system, "q4": words})
    tab.goto(app)
    drop(tab, ("odd.csv", odd.to_csv(index=False).encode()))
    tab.wait_for_selector("#file-status .error", timeout=PATIENT)
    for role, column in {"participant": "q1", "item": "q2", "system": "q3", "rating": "q4"}.items():
        tab.select_option(f"#role-{role}", column)
        tab.wait_for_selector("#file-status :is(.error, .good)", timeout=PATIENT)
    tab.wait_for_selector("#file-status .error:has-text('order is not known')", timeout=PATIENT)  # of the last choice
    asked = tab.inner_text("#file-status .error")
    assert "order is not known" in asked and "with these labels from low to high" in asked
    assert accessible(tab) == []
    tab.fill("#levels", "zig, zag, zog, zug, zeg")
    tab.press("#levels", "Tab")
    ready(tab)
    assert "540 ratings: 12 participants, 15 items, 3 systems" in tab.inner_text("#counted")
    assert "zig < zag < zog < zug < zeg" in tab.inner_text("#notes")


def test_names_are_nothing_but_text(app: str, tab: Any, drop: Callable[..., None]) -> None:
    data = dropped_files.one_criterion().replace({"system": {"A": HOSTILE}})
    tab.goto(app)
    drop(tab, (f"{HOSTILE}.csv", data.to_csv(index=False).encode()))
    ready(tab)
    tab.click("#first summary")
    assert HOSTILE in tab.inner_text("#rows")
    said(tab)
    tab.select_option("#reference", HOSTILE)
    tab.wait_for_selector("[data-of=compare] caption:has-text('Differences from')", timeout=PATIENT)
    assert HOSTILE in said(tab) and HOSTILE in tab.inner_text("[data-of=compare] table")
    assert tab.locator("main img").count() == 1  # the picture, in which nothing can run
    assert tab.get_attribute("main img", "src").startswith("data:image/svg+xml,")


@pytest.mark.needs_r
def test_the_native_answer_comes_at_once_and_r_confirms_it(
    app: str, tab: Any, tmp_path: Path, drop: Callable[..., None]
) -> None:
    file, _ = dropped_files.write(tmp_path, "semicolons")
    tab.goto(app)
    drop(tab, (file.name, file.read_bytes()))
    assert "C is rated highest" in said(tab)
    assert "--engine fast" in tab.locator("[data-of=compare] code").text_content()
    tab.wait_for_selector("#engine-note:has-text('is here to confirm it')", timeout=PATIENT)
    assert answered(tab, "confirm-r").startswith("R confirms it: differences agree within 0.0")
    assert tab.evaluate("document.activeElement.dataset.job") == "confirm-r"  # the focus stays where it was
    assert "--engine r" in tab.locator("[data-of=confirm-r] code").text_content()
    assert b"--engine r" in kept(tab, "confirm-r", "report.html")
    tab.select_option("#reference", "A")  # another question: what R has confirmed is gone
    tab.wait_for_selector("[data-of=confirm-r]:empty", state="attached")


def test_without_r_the_native_engine_answers_and_the_page_says_so(app: str, tab: Any) -> None:
    missing = {"r": False, "version": "", "why": "R: missing"}
    tab.route("**/engines", lambda route: route.fulfill(json=missing))
    tab.goto(app)
    tab.click("#demo")
    said(tab)
    tab.wait_for_selector("#engine-note:has-text('R cannot be used on this machine (R: missing)')")
    assert not tab.is_visible("[data-job=confirm-r]")


def test_preferences_are_compared(app: str, tab: Any, drop: Callable[..., None]) -> None:
    votes = pd.DataFrame({
        "rater": [f"r{k % 6}" for k in range(120)], "item": [f"t{k // 6}" for k in range(120)],
        "model_a": ["B", "C", "C"] * 40, "model_b": ["A", "A", "B"] * 40,
        "winner": ["model_a", "model_a", "model_b", "tie"] * 30,
    })  # fmt: skip
    tab.goto(app)
    drop(tab, ("votes.csv", votes.to_csv(index=False).encode()))
    assert "is preferred most" in said(tab)
    assert "120 comparisons: 6 participants, 20 items, 3 systems" in tab.inner_text("#counted")
    assert not tab.is_visible("#raters") and not tab.is_visible("#reference")


def test_a_plan_is_followed(
    app: str, tab: Any, tmp_path: Path, drop: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = dropped_files.one_criterion()
    data[data.system != "C"].to_csv(tmp_path / "ratings.csv", index=False)
    words = (
        "plan --preset howcroft2021 --variance low --effect-points 1 --items 15 --ratings-per-text 12 --datasets 200"
    )
    more = "--texts-per-participant 15 --engine fast --max-per-design 200 --json plan.json --quiet"
    monkeypatch.chdir(tmp_path)
    assert cli.main([*words.split(), *more.split()]) == 0
    tab.goto(app)
    drop(tab, ("ratings.csv", (tmp_path / "ratings.csv").read_bytes()))
    said(tab)
    tab.set_input_files("#planfile", tmp_path / "plan.json")
    tab.wait_for_selector("[data-of=compare] code:has-text('--plan plan.json')", state="attached", timeout=PATIENT)
    assert tab.is_disabled("#reference")
    tab.click("#no-plan")
    tab.wait_for_selector("[data-of=compare] code:not(:has-text('--plan'))", state="attached", timeout=PATIENT)


def test_files_are_dropped_anywhere_and_nothing_stale_stays(app: str, tab: Any, tmp_path: Path) -> None:
    (tmp_path / "odd.csv").write_text("a,b\n1,2\n")
    good, _ = dropped_files.write(tmp_path, "csv")
    tab.goto(app)
    tab.set_input_files("#file", tmp_path / "odd.csv")
    tab.wait_for_selector("#file-status .error", timeout=PATIENT)
    content = good.read_text()
    data = tab.evaluate_handle(
        "text => { const d = new DataTransfer(); d.items.add(new File([text], 'good.csv')); return d; }", content
    )
    tab.dispatch_event("footer, header", "dragover", {"dataTransfer": data})
    assert tab.is_visible("#over")
    tab.dispatch_event("header", "drop", {"dataTransfer": data})
    assert not tab.is_visible("#over")
    tab.wait_for_selector("#file-status .good:has-text('Read good.csv')", timeout=PATIENT)
    assert tab.input_value("#file") == "" and tab.locator("#file-status .error").count() == 0


def test_the_tabs_are_worked_by_keyboard(app: str, tab: Any, accessible: Any) -> None:
    tab.goto(app)
    tab.focus("#tab-analyse")
    tab.keyboard.press("ArrowRight")
    assert tab.is_visible("#plan") and not tab.is_visible("#analyse")
    assert tab.evaluate("document.activeElement.id") == "tab-next"
    tab.wait_for_selector("#curve polyline")
    assert accessible(tab) == []
    tab.keyboard.press("ArrowLeft")
    assert tab.is_visible("#drop")
    tab.goto(f"{tab.url}#plan")
    tab.reload()
    assert tab.is_visible("#plan")
