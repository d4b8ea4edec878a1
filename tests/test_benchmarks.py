"""Scripts beside the package import what the package has."""

from __future__ import annotations

import ast
import importlib
import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = [*sorted((ROOT / "benchmarks").glob("*.py")), *sorted((ROOT / "tools").rglob("*.py"))]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_every_name_that_a_script_imports_is_there(script: Path) -> None:
    for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "ordbridge":
            if node.module.startswith("ordbridge.bridge"):  # would start R
                continue
            module = importlib.import_module(node.module)
            for name in (alias.name for alias in node.names if not hasattr(module, alias.name)):
                assert importlib.util.find_spec(f"{node.module}.{name}"), (node.module, name)
