"""Names that write over a terminal, Python files in the working folder, and disks that are full."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from ordbridge.cli import main

SIMULATE = ["simulate", "--preset", "howcroft2021", "--variance", "low", "--effect", "0.62"]


def test_escapes_in_names_do_not_reach_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        f"{rating},{system}" for rating, system in zip([1, 2, 3, 2, 3, 1, 2, 3], ["\x1b[31mA", "B"] * 4, strict=True)
    ]
    (tmp_path / "ratings.csv").write_text("rating,sys\x1b]0;tem\n" + "\n".join(rows) + "\n")
    for formula in ("rating ~ `nothing`", "rating ~ 1"):
        main(["fit", str(tmp_path / "ratings.csv"), "--model", "clm", "--formula", formula, "--engine", "fast"])
    main(["check", str(tmp_path / "ratings.csv")])
    said = capsys.readouterr()
    assert "\x1b" not in said.out + said.err
    assert "\\x1b]0;tem" in said.err


@pytest.mark.parametrize(
    "command",
    [
        [*SIMULATE, "--items", "40", "--ratings-per-text", "4", "--out", "RATINGS"],
        ["fit", "ratings.csv", "--model", "lm", "--formula", "rating ~ system", "--engine", "fast", "--html", "PAGE"],
    ],
)
@pytest.mark.slow
def test_a_full_disk_is_a_sentence_and_leaves_nothing(tmp_path: Path, command: list[str]) -> None:
    main([*SIMULATE, "--items", "20", "--ratings-per-text", "3", "--out", str(tmp_path / "ratings.csv")])
    before = sorted(tmp_path.iterdir())
    words = [{"RATINGS": "more.csv", "PAGE": "page.html"}.get(word, word) for word in command]
    done = subprocess.run(
        [sys.executable, "-m", "ordbridge", *words],
        **{"cwd": tmp_path, "capture_output": True, "text": True},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000)),
    )
    assert done.returncode in (1, 2)
    assert "Traceback" not in done.stderr and done.stderr.strip().splitlines()[-1].startswith("ordbridge ")
    assert sorted(tmp_path.iterdir()) == before


TRAPS = ("random", "numpy", "queue", "socket", "selectors", "joblib", "pyarrow", "distributed", "rpy2")


@pytest.fixture
def trapped(tmp_path: Path) -> Path:
    """Return a folder with files called as modules are, which leave a mark when somebody imports them."""
    folder = tmp_path / "work"
    folder.mkdir()
    for name in TRAPS:
        (folder / f"{name}.py").write_text(f"open({str(folder / 'PWNED')!r}, 'a').write({name!r})\nraise ImportError\n")
    return folder


def in_folder(folder: Path, *words: str | Path) -> str:
    """Run a program there, as people do, whose own folder is another one; return what it prints."""
    done = subprocess.run([*map(str, words)], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


ORDBRIDGE = Path(sys.executable).with_name("ordbridge")


@pytest.mark.parametrize("backend", ["loky", "dask"])
@pytest.mark.slow
def test_workers_import_nothing_from_the_working_folder(trapped: Path, backend: str) -> None:
    if backend == "dask":
        pytest.importorskip("distributed")
    words = [
        "--preset",
        "howcroft2021",
        "--variance",
        "low",
        "--items",
        "20",
        "--ratings-per-text",
        "3",
        "--effect",
        "0.62",
    ]
    words += ["--models", "lm", "--engine", "fast", "--datasets", "4", "--jobs", "2", "--backend", backend, "--quiet"]
    assert "4 fits in run" in in_folder(trapped, ORDBRIDGE, "power", *words, "--store", "run")
    assert not (trapped / "PWNED").exists()


@pytest.mark.needs_r
def test_doctor_imports_nothing_from_the_working_folder(trapped: Path) -> None:
    assert "fits can run" in in_folder(trapped, ORDBRIDGE, "doctor")
    assert not (trapped / "PWNED").exists()


APP = """
import time
from ordbridge.app.jobs import Jobs

if __name__ == "__main__":
    jobs = Jobs()
    study = jobs.new()
    job = jobs.start(study, "recognise", {})
    while jobs.job(study, job).snapshot()["state"] == "running":
        time.sleep(0.1)
    print(jobs.job(study, job).snapshot())
    jobs.close()
"""


@pytest.mark.slow
def test_the_page_imports_nothing_from_the_working_folder(trapped: Path, tmp_path: Path) -> None:
    (tmp_path / "program").mkdir()
    (tmp_path / "program" / "app.py").write_text(APP)
    assert "'state'" in in_folder(trapped, sys.executable, tmp_path / "program" / "app.py")
    assert not (trapped / "PWNED").exists()
