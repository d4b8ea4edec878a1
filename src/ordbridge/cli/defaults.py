"""Defaults and choices of options, read from the source of what a command calls: one copy, and nothing is loaded."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parents[1]


def defaults_of(where: str, *names: str) -> dict[str, Any]:
    """Return the defaults of a function's arguments, or of a class's fields; all that are literals, if none is named.

    Examples
    --------
    >>> defaults_of("planning.api:plan", "target")
    {'target': 0.8}
    """
    module, _, function = where.partition(":")
    tree: Any = _source(module)
    for name in function.split("."):
        tree = next(node for node in tree.body if getattr(node, "name", None) == name)
    if isinstance(tree, ast.ClassDef):
        pairs = [(line.target.id, line.value) for line in tree.body if isinstance(line, ast.AnnAssign) and line.value]  # type: ignore[union-attr]
    else:
        plain = [*tree.args.posonlyargs, *tree.args.args]
        pairs = list(zip((argument.arg for argument in plain[::-1]), tree.args.defaults[::-1], strict=False))[::-1]
        keyword = zip((argument.arg for argument in tree.args.kwonlyargs), tree.args.kw_defaults, strict=True)
        pairs += [(name, node) for name, node in keyword if node is not None]
    nodes = dict(pairs)
    found = {}
    for name in names or nodes:
        try:
            found[name] = _value(module, nodes[name])
        except ValueError:
            if names:
                raise
    return found


def choices_of(where: str) -> tuple[str, ...]:
    """Return the values of a constant; of a mapping, its keys.

    Examples
    --------
    >>> choices_of("planning.stopping:SHAPES"), choices_of("models.links:LINKS")[:2]
    (('obrien-fleming', 'pocock'), ('logit', 'probit'))
    """
    module, _, name = where.partition(":")
    return tuple(_value(module, ast.Name(name)))


@cache
def _source(module: str) -> ast.Module:
    return ast.parse(PACKAGE.joinpath(*module.split(".")).with_suffix(".py").read_text(encoding="utf-8"))


def _value(module: str, node: ast.expr) -> Any:
    if isinstance(node, ast.Name):
        for line in _source(module).body:
            targets = line.targets if isinstance(line, ast.Assign) else [getattr(line, "target", None)]
            if [getattr(target, "id", None) for target in targets] == [node.id]:
                return _value(module, line.value)  # type: ignore[attr-defined]
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "tuple":  # tuple(OTHER)
        return tuple(_value(module, node.args[0]))
    if isinstance(node, ast.Dict):
        return tuple(ast.literal_eval(key) for key in node.keys if key)
    return ast.literal_eval(node)
