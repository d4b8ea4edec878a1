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


def without_r(code: str) -> subprocess.CompletedProcess[str]:
    """Run Python where neither R nor Rscript can be found."""
    environment = {key: value for key, value in os.environ.items() if key not in ("R_HOME", "LD_LIBRARY_PATH")}
    environment["PATH"] = str(Path(sys.executable).parent)
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, env=environment
    )


def test_r_is_missing() -> None:
    code = """
        import ordbridge as ob
        try:
            ob.lm("y ~ x", {"y": [1.0, 2.0, 4.0], "x": [1, 2, 3]})
        except ob.BridgeError as error:
            print(error)
    """
    said = without_r(code).stdout
    assert said.startswith("there is no R on this machine; install it: sudo apt-get install r-base-core")
    assert "conda install" in said and "macOS" in said


def test_doctor_without_r() -> None:
    done = without_r("from ordbridge.cli import main; raise SystemExit(main(['doctor']))")
    assert done.returncode == 1, done.stderr
    assert "fits cannot run yet" in done.stdout
    assert "sudo apt-get install r-base-core" in done.stdout


@pytest.mark.needs_r
def test_a_package_of_r_is_missing() -> None:
    with pytest.raises(ob.BridgeError, match=r"R has no package 'no.such.package'; install it: sudo apt-get install"):
        require("no.such.package")


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


@pytest.mark.needs_r
def test_doctor_here() -> None:
    table, can_fit = doctor.examine()
    assert can_fit
    assert {"Python", "rpy2", "rpy2-rinterface", "R home", "R", "BLAS", *remedies.PACKAGES} <= set(
        table["component"].to_pylist()
    )
    assert set(table["status"].to_pylist()) == {"ok"}
