"""The page as people start it, once for all tests that look at it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest


@dataclass
class Started:
    """A running ``ordbridge app``, and where its temporary files are."""

    process: subprocess.Popen[str]
    address: str
    temporary: Path

    def working(self) -> list[int]:
        """Return the processes that compute something: they run in the folder of their study."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if Path(os.readlink(process / "cwd")).is_relative_to(self.temporary):
                    found.append(int(process.name))
            except OSError:
                continue
        return found

    def files(self) -> list[Path]:
        """Return all files that are there."""
        return [path for path in self.temporary.rglob("*") if path.is_file()]


def start(temporary: Path, *options: str) -> Started:
    """Start the page as people do."""
    command = [sys.executable, "-m", "ordbridge", "app", "--no-browser", *options]
    environment = {**os.environ, "TMPDIR": str(temporary)}
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a job in the background would not listen
    )
    assert process.stdout is not None
    return Started(process, process.stdout.readline().split()[4], temporary)


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    """A page for all tests; in the end nothing of it is left."""
    started = start(tmp_path_factory.mktemp("temporary"), "--megabytes", "1")
    yield started
    started.process.send_signal(signal.SIGINT)
    assert "nothing was kept" in started.process.communicate(timeout=30)[0]
    assert started.process.returncode == 0
    assert started.files() == [] and started.working() == []


@pytest.fixture
def app(running: Started) -> str:
    """The address of the page."""
    return running.address


@pytest.fixture
def another(tmp_path: Path) -> Iterator[Callable[..., Started]]:
    """Return what starts a page of its own, to be ended by the test."""
    opened: list[Started] = []

    def one(*options: str) -> Started:
        (tmp_path / "temporary").mkdir(exist_ok=True)
        opened.append(start(tmp_path / "temporary", *options))
        return opened[-1]

    yield one
    for page in opened:
        if page.process.poll() is None:
            page.process.kill()
        page.process.communicate()


@pytest.fixture
def drop() -> Callable[..., None]:
    """Return what drops files on the page as a mouse does."""

    def dropped(tab: Any, *files: tuple[str, bytes]) -> None:
        data = tab.evaluate_handle(
            """files => { const data = new DataTransfer();
                const bytes = text => Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
                for (const [name, text] of files) data.items.add(new File([bytes(text)], name));
                return data; }""",
            [[name, b64encode(content).decode()] for name, content in files],
        )
        tab.dispatch_event("#drop", "drop", {"dataTransfer": data})

    return dropped
