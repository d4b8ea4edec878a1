"""A smoke test in Firefox, which is driven by its own WebDriver BiDi; no driver beside it is needed."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import threading
import time
from collections.abc import Coroutine, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from ordbridge.render.figures.style import empty_figure
from ordbridge.render.html import Page

pytest.importorskip("tornado", reason="no client of WebSockets here")
FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(FIREFOX is None, reason="no Firefox here")]
PATIENT = 240.0  # seconds, on a machine that does many other things
QUIET = {"browser.shell.checkDefaultBrowser": False, "datareporting.policy.dataSubmissionEnabled": False,
         "app.update.enabled": False, "network.captive-portal-service.enabled": False,
         "network.connectivity-service.enabled": False}  # fmt: skip


class Firefox:
    """One tab of a browser without a window."""

    def __init__(self, address: str) -> None:
        from tornado.websocket import websocket_connect

        self._loop, self._ids = asyncio.new_event_loop(), count(1)  # in a thread: Playwright's own may run in this one
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        self._socket = self._wait(self._connect(websocket_connect, f"{address}/session"))
        self._ask("session.new", capabilities={})
        self._tab = self._ask("browsingContext.getTree")["contexts"][0]["context"]

    def _wait(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(PATIENT)

    @staticmethod
    async def _connect(connect: Any, address: str) -> Any:
        return await connect(address)

    def _ask(self, method: str, **words: Any) -> dict[str, Any]:
        number = next(self._ids)
        self._wait(self._send(json.dumps({"id": number, "method": method, "params": words})))
        while True:
            answer = json.loads(self._wait(self._receive()))
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return dict(answer["result"])

    async def _send(self, text: str) -> None:
        await self._socket.write_message(text)

    async def _receive(self) -> str:
        return str(await self._socket.read_message())

    async def _close(self) -> None:
        self._socket.close()

    def close(self) -> None:
        """Let go of the browser."""
        self._wait(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)

    def open(self, address: str) -> None:
        """Load a page."""
        self._ask("browsingContext.navigate", context=self._tab, url=address, wait="complete")

    def run(self, script: str) -> Any:
        """Return what a script on the page says."""
        done = self._ask("script.evaluate", expression=script, target={"context": self._tab}, awaitPromise=True)
        assert done["type"] == "success", done
        return done["result"].get("value")

    def wait(self, script: str) -> None:
        """Wait until a script says yes."""
        end = time.monotonic() + PATIENT
        while not self.run(script):
            assert time.monotonic() < end, script
            time.sleep(0.2)


@pytest.fixture
def firefox(tmp_path: Path) -> Iterator[Firefox]:
    """Firefox with a profile of its own."""
    profile = tmp_path / "profile"
    profile.mkdir()
    lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in QUIET.items()]
    (profile / "user.js").write_text("\n".join(lines), encoding="utf-8")
    command = [str(FIREFOX), "--headless", "--no-remote", "--profile", str(profile), "--remote-debugging-port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    try:
        assert process.stderr is not None
        said = next(line for line in process.stderr if "BiDi listening on" in line)
        browser = Firefox(said.rpartition(" ")[2].strip())
        yield browser
        browser.close()
    finally:
        process.kill()
        process.communicate()


def test_the_demo_is_compared_and_a_report_can_be_read(firefox: Firefox, app: str, tmp_path: Path) -> None:
    firefox.open(app)
    firefox.run("document.querySelector('#demo').click()")
    firefox.wait("document.querySelector('[data-of=compare] .headline') !== null")
    headline = firefox.run("document.querySelector('[data-of=compare] .headline').textContent")
    assert "with retrieval is rated highest" in headline
    firefox.wait("document.querySelector('[data-of=compare] img')?.naturalWidth > 300")  # its policy allows the picture
    firefox.run("document.querySelector('#tab-next').click()")
    firefox.wait("document.querySelector('#curve polyline') !== null")
    assert firefox.run("document.querySelector('#power').textContent").startswith("about ")
    assert firefox.run("document.documentElement.scrollWidth <= innerWidth")
    figure = empty_figure(6, 3)
    figure.subplots().plot([1, 2])
    page = Page("A report").table(pa.table({"a": [3, 1, 2]})).picture(figure, "a line")
    file = page.write(tmp_path / "r.html")
    firefox.open(file.as_uri())
    firefox.run("document.querySelector('th button').click()")
    assert firefox.run("[...document.querySelectorAll('tbody td')].map(c => c.textContent).join()") == "1,2,3"
    assert firefox.run("document.querySelectorAll('.save button').length") == 2
