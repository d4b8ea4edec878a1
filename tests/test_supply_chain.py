"""What is installed and run to build, test and release ordbridge is named exactly."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
LOCKS = sorted((ROOT / "tools" / "locks").glob("*.txt"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def locked(name: str) -> list[Requirement]:
    """Return the packages of a lock file."""
    text = (ROOT / "tools" / "locks" / f"{name}.txt").read_text(encoding="utf-8")
    return [Requirement(line.partition(" \\")[0]) for line in text.splitlines() if re.match(r"\w", line)]


def wanted(extra: str = "") -> list[Requirement]:
    """Return what ordbridge asks for, with what its extras ask for in turn."""
    project = PROJECT["project"]
    listed = project["optional-dependencies"][extra] if extra else project["dependencies"]
    found = []
    for one in map(Requirement, listed):
        if one.name == "ordbridge":
            found += [inner for name in one.extras for inner in wanted(name)]
        else:
            found.append(one)
    return found


@pytest.mark.parametrize("file", LOCKS, ids=lambda file: file.stem)
def test_every_package_is_locked_with_hashes_and_without_an_index(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert not re.search(r"://|index|find-links|file:|@ ", text)
    entries = re.split(r"^(?=\w)", text, flags=re.M)[1:]
    assert entries
    for entry in entries:
        first, *rest = entry.strip().splitlines()
        assert re.fullmatch(r"[\w.-]+==[\w.]+( ; [^;]+)? \\", first), first
        assert rest and all(re.fullmatch(r" +--hash=sha256:[0-9a-f]{64}( \\)?", line) for line in rest), first


@pytest.mark.parametrize(("lock", "extras"), [("runtime", ("",)), ("dev", ("", "dev"))])
def test_the_locks_are_of_this_pyproject(lock: str, extras: tuple[str, ...]) -> None:
    versions: dict[str, list[Requirement]] = {}
    for one in locked(lock):
        versions.setdefault(one.name.lower().replace("_", "-"), []).append(one)
    for extra in extras:
        for need in wanted(extra):
            found = versions[need.name.lower()]
            assert all(need.specifier.contains(next(iter(one.specifier)).version) for one in found), need


def test_what_builds_is_pinned_as_it_is_locked() -> None:
    build = {one.name: str(one.specifier) for one in locked("build")}
    for one in map(Requirement, PROJECT["build-system"]["requires"]):
        assert str(one.specifier) == build[one.name]


def test_actions_are_pinned_by_commit() -> None:
    used = [
        line.strip()
        for file in (ROOT / ".github" / "workflows").glob("*.yml")
        for line in file.read_text(encoding="utf-8").splitlines()
        if "uses:" in line
    ]
    assert used
    for line in used:
        assert re.fullmatch(r"- uses: [\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line
