"""The rooms of the package stand in a row: nothing on the left imports from the right, not even inside a function."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "ordbridge"

ROOMS = (
    "errors",
    "support",
    "datasets",
    "render",
    "results",
    "reading",
    "formula",
    "bridge",
    "models",
    "_core",
    "fast",
    "bayes",
    "design",
    "simulate",
    "power",
    "planning",
    "reliability",
    "scales",
    "judges",
    "papers",
    "preferences",
    "logs",
    "comparison",
    "app",
    "cli",
    "__main__",
)
"""From left to right, as in docs/architecture.md."""

BY_NAME = {"__init__.py", "cli/__init__.py", "models/engines.py", "papers/__init__.py", "reading/__init__.py"}
"""Where modules are found by name: what is loaded at its first use, pictures and reports, and engines."""


def room_of(file: Path) -> str:
    first = file.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def files() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def imported_rooms(file: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and the room of every import that is carried out, wherever in the file it stands."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    hints = {id(one) for node in ast.walk(tree) if _only_for_types(node) for one in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) in hints:
            continue
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{file}:{node.lineno} imports relatively"
            names = [node.module or ""]
            if names == ["ordbridge"]:
                names = [f"ordbridge.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            package, _, rest = name.partition(".")
            if package == "ordbridge" and rest and rest != "__version__":
                yield node.lineno, rest.partition(".")[0]


def _only_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def test_every_module_has_a_room() -> None:
    compiled = {file.stem for file in PACKAGE.glob("*.pyi")}  # what is C++ has a stub here
    assert {room_of(file) for file in files()} | compiled == set(ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_no_arrow_points_to_the_right(room: str) -> None:
    for file in files():
        if room_of(file) == room:
            for line, other in imported_rooms(file):
                where = f"{file.relative_to(PACKAGE)}:{line}"
                assert other in ROOMS, f"{where} imports {other}, which is not a room"
                assert ROOMS.index(other) <= ROOMS.index(room), f"{where}: {room} imports from {other} on its right"


def test_the_documentation_shows_the_rooms_in_this_order() -> None:
    page = (PACKAGE.parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
    first_column = re.findall(r"^\| (`.*?`) \|", page, flags=re.MULTILINE)
    assert [room for cell in first_column for room in re.findall(r"`(\w+)/?`", cell)] == [*ROOMS[:-1]]


def test_modules_are_found_by_name_in_few_places() -> None:
    found = {
        str(file.relative_to(PACKAGE))
        for file in PACKAGE.rglob("*.py")
        if re.search(r"\b(import_module|resolve_name)\b", file.read_text(encoding="utf-8"))
    }
    assert found == BY_NAME


@pytest.mark.parametrize("package", sorted({file.parent for file in files() if file.parent != PACKAGE}))
def test_no_public_name_hides_a_module(package: Path) -> None:
    """``ordbridge.reliability.icc`` cannot be a function and a module."""
    modules = {file.stem for file in package.glob("*.py")} | {path.name for path in package.iterdir() if path.is_dir()}
    for node in ast.walk(ast.parse((package / "__init__.py").read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module != f"ordbridge.{package.name}":
            assert not modules & {alias.asname or alias.name for alias in node.names}


CLASH: set[str] = set()  # names that may be given twice


@pytest.mark.slow
def test_one_class_for_one_name() -> None:
    seen: dict[str, Path] = {}
    for file in files():
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and node.name not in CLASH:
                assert node.name not in seen, f"{node.name} is in {seen[node.name]} and in {file}"
                seen[node.name] = file
