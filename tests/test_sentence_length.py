"""No sentence that a user reads has more than 25 words; a value in it counts as one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ordbridge.results.catalogue import CATALOGUE

PACKAGE = Path(__file__).parents[1] / "src" / "ordbridge"
ERRORS = {"InputError", "FormulaError", "FitError", "FitTimeout", "BridgeError", "ClusterError"}
WARNERS = {"warn"}
LATER = ("fast", "reading")  # rooms whose errors are not held to it yet
MOST = 25


def words(sentence: str) -> int:
    """Count words: what stands between blanks and has a letter, a digit or a value."""
    return sum(bool(re.search(r"\w", part)) for part in sentence.split())


def sentences(text: str) -> list[str]:
    """Cut a text at full stops, question marks and line breaks; a colon or a semicolon does not end a sentence."""
    return re.split(r"(?<=[^.][.?!])\s+(?=[A-Z`'])|\n", text)


def too_long(text: str) -> list[str]:
    return [part for part in sentences(text) if words(part) > MOST]


def test_a_long_sentence_is_found() -> None:
    assert too_long("Short one. Word " + "word; " * 25) and not too_long("Word " * 24 + "end? " + "Another " * 20)


@pytest.mark.parametrize("code", CATALOGUE)
def test_the_sentences_of_a_finding_are_short(code: str) -> None:
    kind = CATALOGUE[code]
    typical = re.sub(r"\{[^{}]*\}", "value", f"{kind.text}\n{kind.remedy}")
    assert not too_long(typical)


def text_of(node: ast.expr) -> str | None:
    """Return a text as written, with each value as one word."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "value" for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts = [text_of(node.left), text_of(node.right)]
        return "".join(part or "value" for part in parts)
    return None


def messages() -> Iterator[tuple[str, str]]:
    """Yield every text that is raised, warned or refused with, and where it stands."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and node.args:
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                text = text_of(node.args[0]) if name in ERRORS | WARNERS else None
                if text:
                    yield f"{path.relative_to(PACKAGE)}:{node.lineno}", text


def test_the_sentences_of_errors_are_short() -> None:
    found = [(at, part) for at, text in messages() for part in too_long(text) if not at.startswith(LATER)]
    assert sum(1 for _ in messages()) > 400
    assert not found, "\n".join(f"{where}: {part}" for where, part in found)
