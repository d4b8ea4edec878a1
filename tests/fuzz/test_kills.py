"""A few of the kills of ``kills.py``."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import kills
import pytest

pytestmark = [
    pytest.mark.needs_r,
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are looked for in /proc"),
    pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals"),
]


@pytest.mark.parametrize(
    ("name", "number", "group", "after"),
    [
        ("fit", signal.SIGTERM, False, 12.0),
        ("fit", signal.SIGINT, True, 3.0),
        ("compare, bootstrap", signal.SIGINT, True, 15.0),
        ("power", signal.SIGTERM, False, 12.0),
    ],
)
def test_a_command_that_is_ended_at_work(
    name: str, number: signal.Signals, group: bool, after: float, tmp_path: Path
) -> None:
    kills.prepare(tmp_path)
    command = next(one for one in kills.commands(tmp_path) if one.name == name)
    ended = kills.killed(command, tmp_path, after, number, group)
    assert kills.wrong(ended, number, command, tmp_path) == [], ended.said
