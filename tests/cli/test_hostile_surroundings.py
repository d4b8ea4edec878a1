"""Names that write over a terminal, Python files in the working folder, and disks that are full."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from ordbridge.bridge import doctor
from ordbridge.cli import main
from ordbridge.power import backends

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
        [*SIMULATE, "--items", "40", "--ratings", "4", "--out", "RATINGS"],
        ["fit", "ratings.csv", "--model", "lm", "--formula", "rating ~ system", "--engine", "fast", "--html", "PAGE"],
    ],
)
@pytest.mark.slow
def test_a_full_disk_is_a_sentence_and_leaves_nothing(tmp_path: Path, command: list[str]) -> None:
    main([*SIMULATE, "--items", "20", "--ratings", "3", "--out", str(tmp_path / "ratings.csv")])
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


def test_workers_and_doctor_import_nothing_from_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert backends.WORKERS_ENVIRONMENT["PYTHONSAFEPATH"] == "1"
    (tmp_path / "rpy2").mkdir()
    (tmp_path / "rpy2" / "__init__.py").write_text("open('PWNED', 'w')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(doctor, "START", "import rpy2")
    doctor._start_row("3.6.5", "4.2.2", "")
    assert not (tmp_path / "PWNED").exists()
