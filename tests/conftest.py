"""What several tests share."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pandas as pd
import pytest

collect_ignore_glob = ["*conftest.py"]  # files of one name in several folders have no doctests
# the same cases in every run of the check of a change; at home new ones each time, which may find something
hypothesis.settings.register_profile("repeatable", derandomize=True)
if os.environ.get("CI"):
    hypothesis.settings.load_profile("repeatable")
SHARED = Path(__file__).resolve().parents[1] / ".." / "shared"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what says by its parameters that it needs R."""
    for item in items:
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        if parameters.get("engine") == "r":
            item.add_marker(pytest.mark.needs_r)


@pytest.fixture(autouse=True)
def r_only_where_marked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail where R is started without the marker, so that `make quick` stays what it says."""
    if request.node.get_closest_marker("needs_r"):
        return

    def refuse(*_: object, **__: object) -> None:
        pytest.fail("this test starts R: mark it with @pytest.mark.needs_r", pytrace=False)

    start = subprocess.Popen.__init__

    def start_other_programs(self: Any, args: Any, *rest: Any, **options: Any) -> None:
        if not isinstance(args, str) and Path(str(next(iter(args)))).name in ("R", "Rscript"):
            refuse()
        start(self, args, *rest, **options)

    monkeypatch.setattr("ordbridge.bridge.session._get_session", refuse)
    monkeypatch.setattr(subprocess.Popen, "__init__", start_other_programs)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with reference tables, which is not part of the project."""
    if not SHARED.is_dir():
        pytest.skip("the folder with reference tables is not beside the project")
    return SHARED


@pytest.fixture(scope="session")
def wine(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """Bitterness of wine (Randall 1989), from R's ordinal."""
    from ordbridge.bridge import rscript
    from ordbridge.bridge.session import r_folder

    file = tmp_path_factory.mktemp("wine") / "wine.csv"
    rscript.run(r_folder() / "baseline.R", "--export", "ordinal::wine", file)
    return pd.read_csv(file)


@pytest.fixture(scope="session")
def ratings() -> pd.DataFrame:
    """A small crossed study: 12 participants, 10 items, 2 systems, 5 categories."""
    random = np.random.default_rng(1)
    participant, item = (g.ravel() for g in np.meshgrid(range(12), range(10), indexing="ij"))
    system = (participant + item) % 2
    latent = 0.8 * system + random.normal(0, 0.7, 12)[participant] + random.normal(0, 0.4, 10)[item]
    latent = latent + random.normal(size=latent.size)
    return pd.DataFrame(
        {
            "participant": [f"p{i}" for i in participant],
            "item": [f"i{i}" for i in item],
            "system": np.array(["A", "B"])[system],
            "length": np.round(random.normal(10, 2, 10), 1)[item],
            "rating": 1 + (latent[:, None] > [-1, 0, 0.8, 1.8]).sum(axis=1),
        }
    )


CHROMIUM = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
AXE = Path(__file__).resolve().parents[1] / ".venv" / "axe" / "node_modules" / "axe-core" / "axe.min.js"


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """A Chromium of Debian, driven by Playwright; every context of it is a new, empty profile."""
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("no Chromium here: tools/browser.sh installs it on Debian")
    sync_api = pytest.importorskip("playwright.sync_api", reason="no Playwright here: pip install playwright")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=CHROMIUM)
        yield browser
        browser.close()


def _note_errors(problems: list[str]) -> Any:
    """Return what notes errors on the console; a refused request, to which the page has a sentence, is none."""

    def note(message: Any) -> None:
        if message.type == "error" and "400 (Bad Request)" not in message.text:
            problems.append(message.text)

    return note


@pytest.fixture
def tab(chromium: Any) -> Iterator[Any]:
    """An empty tab; the test fails if a page reports an error on the console or asks for anything from elsewhere."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", _note_errors(problems))
    page.on(
        "request",
        lambda request: (
            None
            if request.url.startswith(("file:", "data:", "blob:", "http://127.0.0.1:", "about:"))
            else problems.append(f"asks for {request.url}")
        ),
    )
    yield page
    context.close()
    assert not problems


@pytest.fixture
def accessible() -> Any:
    """Return what finds the violations of a page by axe-core."""
    if not AXE.exists():
        pytest.skip("no axe-core here: tools/browser.sh installs it where npm is")

    def violations(page: Any) -> list[str]:
        page.evaluate(AXE.read_text(encoding="utf-8"))
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        return [f"{v['id']}: {v['nodes'][0]['html'][:200]}" for v in found["violations"]]

    return violations
