"""The page to drop a file on, in a real browser: from each kind of file to the report that is kept; and attacked."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pandas as pd
import pytest

from ordbridge.app import work

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a page that was started as people start it; in the end nothing of it is left."""
    temporary = tmp_path_factory.mktemp("temporary")
    command = [sys.executable, "-m", "ordbridge", "app", "--no-browser", "--megabytes", "1"]
    started = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(temporary)})
    assert started.stdout is not None
    address = started.stdout.readline().split()[4]
    yield address
    started.send_signal(signal.SIGINT)
    assert "nothing was kept" in started.communicate(timeout=20)[0]
    assert started.returncode == 0
    assert not [path for path in temporary.rglob("*") if path.is_file() and path.suffix in (".csv", ".html", ".xlsx")]


@pytest.fixture(scope="module")
def study() -> pd.DataFrame:
    random = np.random.default_rng(2)
    p, i, s = (g.ravel() for g in np.meshgrid(range(10), range(8), range(2), indexing="ij"))
    latent = 1.2 * s + random.normal(0, 0.5, 10)[p] + random.logistic(size=p.size)
    system = np.array(["baseline", HOSTILE])[s]
    rating = 1 + (latent[:, None] > [-1, 0.5, 2]).sum(axis=1)
    return pd.DataFrame(
        {"annotator": [f"r{k}" for k in p], "text": [f"i{k}" for k in i], "model": system, "score": rating}
    )


WRITE = {
    "csv": lambda data, path: data.to_csv(path, index=False),
    "xlsx": lambda data, path: data.to_excel(path, index=False),
    "parquet": lambda data, path: data.to_parquet(path),
    "json": lambda data, path: data.to_json(path, orient="records"),
}


def drop(tab: Any, name: str, content: bytes) -> None:
    """Drop a file as a mouse does."""
    data = tab.evaluate_handle(
        """([name, bytes]) => { const data = new DataTransfer();
            data.items.add(new File([Uint8Array.from(bytes)], name)); return data; }""",
        [name, list(content)],
    )
    tab.dispatch_event("#drop", "drop", {"dataTransfer": data})


@pytest.mark.slow
@pytest.mark.parametrize("kind", WRITE)
def test_from_dropping_a_file_to_the_report(
    app: str, kind: str, study: pd.DataFrame, tab: Any, tmp_path: Path, accessible: Any
) -> None:
    file = tmp_path / f"ratings.{kind}"
    WRITE[kind](study, file)
    tab.goto(app)
    drop(tab, file.name, file.read_bytes())
    tab.wait_for_selector("#compare:not([hidden])", timeout=60000)
    assert "160 ratings" in tab.inner_text("#counted")
    assert "column 'model'" in tab.inner_text("#role-system option:first-child")
    assert HOSTILE in tab.inner_text("#rows")
    assert tab.locator("main img").count() == 0
    if kind != "csv":
        return
    tab.select_option("#role-participant", "annotator")
    tab.wait_for_selector("#file-status:text-is('read')", timeout=60000)
    assert tab.input_value("#role-participant") == "annotator"
    tab.select_option("#engine", "fast")
    tab.click("[data-job=compare]")
    tab.wait_for_selector("[data-of=compare] iframe", timeout=120000)
    assert "rated" in tab.inner_text("[data-of=compare] .headline")
    report = tab.frame_locator("[data-of=compare] iframe")
    assert HOSTILE in report.locator("h1").inner_text(timeout=30000)
    assert "ordbridge compare ratings.csv --participant annotator" in report.locator("body").inner_text()
    with tab.expect_download() as kept:
        tab.click("text=report.html")
    html = Path(kept.value.path()).read_text(encoding="utf-8")
    assert html.startswith("<!DOCTYPE html>") and "For the paper" in html
    links = tab.locator("[data-of=compare] .files a").all_inner_texts()
    assert links == [
        "differences.csv",
        "picture.pdf",
        "picture.png",
        "picture.svg",
        "report.html",
        "tables.md",
        "tables.tex",
    ]
    tab.click("[data-job=raters]")
    tab.wait_for_selector("[data-of=raters] iframe", timeout=120000)
    assert accessible(tab) == []


@pytest.mark.slow
def test_sliders_answer_at_once_and_a_simulation_confirms(app: str, tab: Any, chromium: Any) -> None:
    tab.goto(app)
    paint = tab.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0")
    assert paint < 2000
    tab.wait_for_selector("#power:has-text('% power')")
    tab.fill("#items", "400")
    tab.wait_for_selector("#power:has-text('cost 240.00')")
    assert tab.locator("#curve polyline").count() == 1
    tab.fill("#items", "600")
    tab.fill("#ratings", "12")
    tab.click("[data-job=confirm]")
    tab.wait_for_selector("[data-of=confirm] progress")
    tab.wait_for_selector("[data-of=confirm] [role=status]:has-text('left')", timeout=60000)
    other = chromium.new_context().new_page()  # a second tab while the first one computes
    other.goto(app)
    other.click("#demo")
    other.wait_for_selector("#compare:not([hidden])", timeout=60000)
    assert tab.locator("[data-of=confirm] progress").count() == 1
    tab.click("[data-of=confirm] >> text=cancel")
    tab.wait_for_selector("[data-of=confirm] .error")
    assert tab.inner_text("[data-of=confirm] .error") == "cancelled"
    tab.wait_for_selector("[data-job=confirm]:not([disabled])")
    other.context.close()
    tab.fill("#items", "30")
    tab.fill("#ratings", "2")
    tab.click("[data-job=confirm]")
    tab.wait_for_selector("[data-of=confirm] iframe", timeout=120000)
    assert "from 400 simulated studies" in tab.inner_text("[data-of=confirm] .headline")
    assert "design-sheet.csv" in tab.locator("[data-of=confirm] .files a").all_inner_texts()


@pytest.mark.slow
def test_broken_and_large_files_get_a_sentence(app: str, tab: Any) -> None:
    tab.goto(app)
    for name, content, said in (
        ("x.xlsx", b"PK\x03\x04 nothing", "x.xlsx"),
        ("x.csv", b"", "empty"),
        ("x.parquet", b"PAR1" + b"\x00" * 50, "x.parquet"),
        ("../../etc/passwd.csv", b"a,b\n1", ""),
        ("large.csv", b"a" * (2**20 + 10), "larger than 1 MB"),
    ):
        drop(tab, name, content)
        tab.wait_for_selector("#file-status .error", timeout=60000)
        assert said in tab.inner_text("#file-status .error") and "Traceback" not in tab.inner_text("#file-status")
        assert "wrong in ordbridge" not in tab.inner_text("#file-status"), name
        tab.evaluate("document.querySelector('#file-status').replaceChildren()")
    tab.click("#demo")
    tab.wait_for_selector("#compare:not([hidden])", timeout=60000)


def request(app: str, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, dict[str, Any]]:
    where = urlsplit(app)
    connection = http.client.HTTPConnection("127.0.0.1", where.port, timeout=30)
    connection.request(method, path, body, {"Host": where.netloc, **headers})
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, json.loads(content) if content.startswith(b"{") else {"text": content.decode()}


def token_of(app: str) -> str:
    page = request(app, "GET", "/")[1]["text"]
    return str(page.partition('data-token="')[2].partition('"')[0])


@pytest.mark.slow
def test_strangers_get_nothing(app: str) -> None:
    token = token_of(app)
    assert app.startswith("http://127.0.0.1:")
    assert request(app, "POST", "/studies", b"")[0] == 403
    assert request(app, "POST", "/studies", b"", **{"X-Token": "x" * 32})[0] == 403
    assert request(app, "GET", "/", **{"Host": "evil.example"})[0] == 403  # a name that was pointed here
    mine = {"X-Token": token}
    status, said = request(app, "POST", "/studies?name=demo", b"", **mine)
    assert status == 200
    study = said["study"]
    for path in (
        f"/studies/{study}/jobs/x/files/..%2F..%2Fdemo.csv",
        f"/studies/{study}/jobs/x",
        "/studies/none/jobs/x",
    ):
        assert request(app, "GET", path, **mine)[0] == 400
    for body in (b"[]", b"{", b"[" * 5000, b"{" + b" " * 70000 + b"}"):
        assert request(app, "POST", f"/studies/{study}/jobs", body, **mine)[0] == 400
    assert "nothing called" in request(app, "POST", f"/studies/{study}/jobs", b'{"kind": "eval"}', **mine)[1]["error"]
    assert request(app, "POST", "/power", b'{"items": "many"}', **mine)[0] == 400
    assert request(app, "POST", f"/studies/{study}/forget", b"{}", **mine)[0] == 200
    assert "no longer open" in request(app, "GET", f"/studies/{study}/jobs/x", **mine)[1]["error"]
    assert request(app, "GET", "/")[0] == 200


def test_the_closed_form_answers_at_once() -> None:
    asked = {"setting": "representative", "spread": 1.0, "points": 0.4, "items": 100, "ratings": 3, "price": 0.1}
    first = work.power_at_once(asked)
    powers = [p for _, p in first["curve"]]
    assert powers == sorted(powers) and 0 < first["power"] < 1 and first["cost"] == 60.0
    spent = []
    for k in range(1, 6):
        began = time.process_time()
        found = work.power_at_once({**asked, "points": 0.4 + 0.05 * k, "spread": 1 + 0.1 * k})
        spent.append(time.process_time() - began)
        assert found["power"] > 0
    # processor time of a step that was never asked before: below 0.1 s, unless the machine is busy or lines are counted
    assert min(spent) < 0.3


@pytest.mark.slow
def test_a_closed_tab_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    from ordbridge.app.jobs import Jobs

    jobs = Jobs()
    name = jobs.new()
    study = jobs.study(name)
    study.file = work.write_demo(study.folder)
    job = jobs.start(name, "recognise", {})
    running = jobs.job(name, job)
    jobs.forget(name)
    assert not study.folder.exists()
    assert running.snapshot()["state"] in ("cancelled", "done")
    jobs.close()
