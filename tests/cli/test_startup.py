"""Commands load what they need: counted in modules, because seconds depend on the machine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ordbridge.cli import COMMANDS, parser_of

COUNT = """
import sys
from ordbridge.cli import main
try:
    code = main(sys.argv[1:])
except SystemExit as end:
    code = end.code
ours = sorted(name for name in sys.modules if name.partition(".")[0] == "ordbridge")
print(code, len(ours), *(name for name in sys.modules if name in ("numpy", "pyarrow")))
"""
MISSING = {
    "compare": ["no.csv"],
    "fit": ["no.csv", "--model", "clmm", "--formula", "rating ~ system"],
    "reliability": ["no.csv"],
    "judges": ["no.csv"],
    "scales": ["no.csv", "nothing.csv"],
    "plan": ["no.csv"],
    "power": ["no.csv"],
    "check": ["no.csv"],
    "settings": ["no.csv"],
    "stop": ["no.csv", "--plan", "no.json"],
    "design": ["from-ratings", "no.csv"],
}


def loaded(folder: Path, *words: str) -> tuple[int, int, list[str], str]:
    """Run a command in a process of its own; return its exit code, how many of our modules it loaded, and stderr."""
    done = subprocess.run([sys.executable, "-c", COUNT, *words], capture_output=True, text=True, cwd=folder, check=True)
    code, count, *others = done.stdout.splitlines()[-1].split()
    return int(code), int(count), others, done.stderr


@pytest.mark.parametrize("words", [("--version",), ("--help",)])
def test_version_and_help_load_neither_numbers_nor_commands(words: tuple[str, ...], tmp_path: Path) -> None:
    code, count, others, _ = loaded(tmp_path, *words)
    assert (code, others) == (0, [])
    assert count < 15


@pytest.mark.slow
@pytest.mark.parametrize("command", MISSING)
def test_a_missing_file_is_said_before_anything_is_loaded(command: str, tmp_path: Path) -> None:
    code, count, _, err = loaded(tmp_path, command, *MISSING[command])
    assert code == 2 and err.splitlines()[-1] == f"ordbridge {command}: there is no file no.csv"
    assert count < 60


def test_help_lists_all_commands_without_their_options(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser_of().parse_args(["--help"])
    out = " ".join(capsys.readouterr().out.split())
    for name, told in COMMANDS.items():
        assert f"{name} {told}" in out
        assert (Path(sys.modules["ordbridge.cli"].__file__).parent / f"{name}.py").is_file()
