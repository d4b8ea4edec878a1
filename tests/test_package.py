"""The package as others get it: the wheel, the environment file, the layout of the code."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "ordbridge"


def requirements(lines: list[str]) -> dict[str, str]:
    found = {}
    for line in lines:
        name, rest = re.fullmatch(r"([\w-]+)(.*)", line).groups()  # type: ignore[union-attr]
        found[name.lower()] = rest
    return found


def test_environment_yml_has_the_packages_of_pyproject() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = requirements(project["dependencies"]) | {"python": project["requires-python"]}
    listed = re.findall(r"^\s*- ([\w-]+(?:[=<>]=[\w.]+)?)$", (ROOT / "environment.yml").read_text(), flags=re.M)
    conda = requirements(listed)
    for_r = {"r-base", "r-ordinal", "r-lmertest", "r-lme4", "r-emmeans", "r-pbkrtest"}
    assert for_r <= conda.keys()
    assert {
        name: v for name, v in conda.items() if name not in for_r | {"conda-forge", "pip", "cxx-compiler"}
    } == wanted


@pytest.mark.needs_r
def test_the_wheel_fits_from_another_folder(tmp_path: Path) -> None:
    """Build the wheel, install it beside this environment's packages, and fit elsewhere."""
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("ordbridge-*.whl")
    assert wheel.stat().st_size < 3e6
    assert {"ordbridge/render/page.css", "ordbridge/render/page.js"} <= set(zipfile.ZipFile(wheel).namelist())
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", wheel], check=True, capture_output=True)
    # what ordbridge depends on comes from here, ordbridge itself must not
    site = next(Path(p) for p in sys.path if p.endswith("site-packages"))
    (own,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    for entry in site.iterdir():
        if "ordbridge" not in entry.name and not (own / entry.name).exists():
            (own / entry.name).symlink_to(entry)
    code = (
        "import ordbridge as ob; print(ob.__file__);"
        "print(ob.lm('y ~ x', {'y': [1.0, 2.0, 4.0], 'x': [1, 2, 3]}).estimates.estimate[1]);"
        "print(ob.clm('y ~ 1', {'y': [1, 1, 1, 2]}, engine='fast').estimates.estimate[0])"
    )
    done = subprocess.run([python, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    where, slope, cut = done.stdout.split()
    assert where.startswith(str(own)) and float(slope) == pytest.approx(1.5)
    assert float(cut) == pytest.approx(np.log(3.0))


@pytest.mark.slow
def test_no_test_asserts_one_thing_or_another() -> None:
    """Such a test cannot say which of the two it means."""
    for file in (ROOT / "tests").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Assert) and isinstance(node.test, ast.BoolOp):
                assert not isinstance(node.test.op, ast.Or), f"{file.relative_to(ROOT)}:{node.lineno}"


def test_only_the_bridge_knows_rpy2_and_only_the_command_line_prints() -> None:
    for file in SOURCE.rglob("*.py"):
        text, place = file.read_text(), file.relative_to(SOURCE).parts[0]
        if place != "bridge":
            assert not re.search(r"^\s*(import|from) rpy2", text, flags=re.M), file
        if place != "cli":
            assert not re.search(r"^\s*print\(", text, flags=re.M), file
        assert not re.search(r"^\s*assert ", text, flags=re.M), file


def test_every_file_of_the_release_has_one_version() -> None:
    import json

    from ordbridge import __version__

    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    dated = re.search(r"^## ([\d.]+) \((\d{4}-\d\d-\d\d)\)", changes, flags=re.M)
    assert dated
    meta = json.loads((ROOT / "codemeta.json").read_text(encoding="utf-8"))
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    recipe = (ROOT / "recipe" / "meta.yaml").read_text(encoding="utf-8")
    assert {__version__} == {dated[1], meta["version"], re.search(r"^version: (.*)$", cited, flags=re.M)[1]}  # type: ignore[index]
    assert {dated[2]} == {meta["datePublished"], re.search(r"^date-released: (.*)$", cited, flags=re.M)[1]}  # type: ignore[index]
    assert f'set version = "{__version__}"' in recipe
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    names = {re.match(r"[\w-]+", line)[0] for line in wanted} - {"rpy2-rinterface", "matplotlib"}  # type: ignore[index]
    assert all(f"    - {name} " in recipe for name in names)


def test_the_paper_cites_what_its_bibliography_has() -> None:
    cited = set(re.findall(r"@(\w+\d*)", (ROOT / "paper.md").read_text(encoding="utf-8")))
    assert cited == set(re.findall(r"^@\w+\{(\w+),", (ROOT / "paper.bib").read_text(encoding="utf-8"), flags=re.M))
    assert len((ROOT / "paper.md").read_text(encoding="utf-8").split()) < 500
