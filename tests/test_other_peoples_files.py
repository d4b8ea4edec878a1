"""Python files in the folder where a command is called are not imported: not by workers, not by doctor."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

NAMES = ("random", "queue", "numpy", "joblib", "rpy2", "ordbridge", "multiprocessing", "distributed", "pyarrow")
POWER = [
    "power",
    "--preset",
    "howcroft2021",
    "--variance",
    "low",
    "--items",
    "20",
    "--ratings-per-text",
    "3",
    "--effect",
    "0",
]
POWER += ["--models", "lm", "--engine", "fast", "--datasets", "2", "--jobs", "2", "--quiet"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with modules that leave a mark when they are imported."""
    folder = tmp_path / "downloads"
    folder.mkdir()
    mark = tmp_path / "mark"
    for name in NAMES:
        code = f"open({str(mark)!r}, 'a').write({name!r})\nraise ImportError('imported {name} of the folder')\n"
        (folder / f"{name}.py").write_text(code)
    # the command as it is installed: a script, so that its own path is not that of the folder
    (tmp_path / "bin").mkdir()
    script = "import sys\nfrom ordbridge.cli import main\nif __name__ == '__main__':\n    sys.exit(main())\n"
    (tmp_path / "bin" / "ordbridge").write_text(script)
    return folder


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    script = folder.parent / "bin" / "ordbridge"
    return subprocess.run([sys.executable, script, *arguments], cwd=folder, capture_output=True, text=True)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "dask"])
def test_workers_do_not_import_them(folder: Path, backend: str) -> None:
    if backend == "dask":
        pytest.importorskip("distributed")
    done = command(folder, *POWER, "--backend", backend)
    assert done.returncode == 0, done.stderr
    assert "2 fits in" in done.stdout
    assert not (folder.parent / "mark").exists(), (folder.parent / "mark").read_text()


@pytest.mark.slow
@pytest.mark.needs_r
def test_doctor_does_not_import_them(folder: Path) -> None:
    done = command(folder, "doctor")
    assert done.returncode == 0, done.stdout + done.stderr
    assert not (folder.parent / "mark").exists()
