"""Without R, without a package, or with an rpy2 that does not fit: a sentence with the command."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import ordbridge as ob
from ordbridge.bridge import doctor, remedies, require


def without_r(code: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run Python where neither R nor Rscript can be found."""
    environment = {key: value for key, value in os.environ.items() if key not in ("R_HOME", "LD_LIBRARY_PATH")}
    environment["PATH"] = str(Path(sys.executable).parent)
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        **{"capture_output": True, "text": True, "env": environment},
    )


@pytest.mark.slow
def test_r_is_missing() -> None:
    code = """
        import ordbridge as ob
        try:
            ob.lm("y ~ x", {"y": [1.0, 2.0, 4.0], "x": [1, 2, 3]})
        except ob.BridgeError as error:
            print(error)
    """
    done = without_r(code)
    assert done.stdout.startswith("there is no R on this machine; install it: sudo apt-get install r-base-core")
    assert "conda install" in done.stdout and "macOS" in done.stdout and 'engine="fast"' in done.stdout
    assert not done.stderr


@pytest.mark.slow
def test_everything_else_works_without_r(tmp_path: Path) -> None:
    """Designs, simulation, native fits, comparison, reliability, power, plans and their reports."""
    jobs = (Path(__file__).parent / "jobs_without_r.py").read_text()
    done = without_r(jobs, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith("with R: there is no R on this machine; install it: ")
    reports = {"clm", "lm", "clmm", "lmer", "compare", "reliability", "power", "plan"}
    assert {file.stem for file in tmp_path.glob("*.html")} == reports


@pytest.mark.slow
def test_doctor_without_r() -> None:
    done = without_r("from ordbridge.cli import main; raise SystemExit(main(['doctor']))")
    assert done.returncode == 1, done.stderr
    assert "fits through R cannot run yet" in done.stdout
    assert done.stdout.count("R home, R, ordinal, lmerTest, lme4, emmeans, pbkrtest: missing. ") == 1
    assert "sudo apt-get install r-base-core" in done.stdout


@pytest.mark.needs_r
def test_a_package_of_r_is_missing() -> None:
    with pytest.raises(ob.BridgeError, match=r"R has no package 'no.such.package'; install it: sudo apt-get install"):
        require("no.such.package")


@pytest.mark.slow
def test_the_mismatch_of_rpy2_and_r_is_recognised(tmp_path: Path) -> None:
    (tmp_path / "rpy2").mkdir()
    (tmp_path / "rpy2" / "__init__.py").write_text("")
    (tmp_path / "rpy2" / "rinterface.py").write_text("raise ImportError('libR.so: undefined symbol: R_getVar')")
    code = "from ordbridge.cli import main; raise SystemExit(main(['doctor']))"
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.returncode == 1
    assert "needs R 4.5 or later and the R here is older" in done.stdout
    assert remedies.RPY2 in done.stdout


@pytest.mark.parametrize(
    ("rinterface", "r", "starts", "status", "said"),
    [
        ("3.6.5", "4.2.2", True, "ok", ""),
        ("3.6.0", "4.6.1", True, "ok", ""),
        ("3.6.7", "4.5.0", True, "ok", ""),
        ("3.6.7", "4.2.2", False, "does not fit", f"needs R 4.5 or later, and this is R 4.2.2; type: {remedies.RPY2}"),
        ("3.6.10", "4.4.3", False, "does not fit", f"needs R 4.5 or later, and this is R 4.4.3; type: {remedies.RPY2}"),
        (
            "3.5.17",
            "4.5.0",
            True,
            "does not fit",
            f"is needed, and this is 3.5.17; type: {remedies.RPY2}",
        ),
        (
            "3.6.5",
            "4.0.4",
            False,
            "does not fit",
            "4.2 or later is needed, and this is R 4.0.4; install it: ",
        ),
        ("3.6.5", "4.7.0", False, "ok", f"was tried with; type: {remedies.NEWEST_RPY2}"),
        ("3.6.5", "4.5.0", False, "ok", f"install rpy2 again, for this R: {remedies.RPY2}"),
    ],
)
def test_doctor_knows_which_rpy2_runs_on_which_r(
    monkeypatch: pytest.MonkeyPatch, rinterface: str, r: str, starts: bool, status: str, said: str
) -> None:
    found = {"R": r, "R home": "/usr/lib/R", "BLAS": "x", **dict.fromkeys(remedies.PACKAGES, "1.0")}
    answer = subprocess.CompletedProcess([], 0 if starts else 1, "", "ordbridge.errors.BridgeError: it did not start")
    monkeypatch.setattr(doctor, "_installed", lambda name: rinterface)
    monkeypatch.setattr(doctor, "_probe", lambda: found)
    monkeypatch.setattr(doctor.subprocess, "run", lambda *_, **__: answer)
    table, can_fit = doctor.examine()
    rows = {row["component"]: row for row in table.to_pylist()}
    assert rows["rpy2-rinterface"]["status"] == status
    assert said in rows["rpy2-rinterface"]["fix"] + rows["R through rpy2"]["fix"]
    assert can_fit == (starts and status == "ok")


def test_the_installer_refuses_an_old_r_before_it_installs_anything(tmp_path: Path) -> None:
    script = Path(__file__).resolve().parents[2] / "tools" / "install.sh"
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "install.sh").write_text(script.read_text())
    (tmp_path / "Rscript").write_text("#!/bin/sh\necho 4.1.2\n")
    (tmp_path / "Rscript").chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHON": sys.executable}
    done = subprocess.run(
        ["bash", str(tmp_path / "tools" / "install.sh")], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 1
    assert "R 4.2 or later is needed, and this is R 4.1.2" in done.stderr
    assert not (tmp_path / ".venv").exists()


@pytest.mark.needs_r
def test_doctor_here() -> None:
    table, can_fit = doctor.examine()
    assert can_fit
    assert {"Python", "rpy2", "rpy2-rinterface", "R home", "R", "BLAS", *remedies.PACKAGES} <= set(
        table["component"].to_pylist()
    )
    assert set(table["status"].to_pylist()) == {"ok"}
