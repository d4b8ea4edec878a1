"""One public vocabulary: the same thing has the same name in every function, table and command."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import pytest

import ordbridge as ob

DATA = {"y": [1.0, 2.1, 2.9, 4.2], "x": [1, 2, 3, 4]}


def public_functions() -> Iterator[tuple[str, Callable[..., object]]]:
    """Yield every function and method that a room or the package names in ``__all__``."""
    rooms = [m.name for m in pkgutil.iter_modules(ob.__path__) if m.ispkg and m.name not in ("fast", "cli", "bridge")]
    for module in (ob, *(import_module(f"ordbridge.{room}") for room in rooms)):
        for name in getattr(module, "__all__", ()):
            thing = getattr(module, name)
            if inspect.isfunction(thing):
                yield f"{module.__name__}.{name}", thing
            elif inspect.isclass(thing):
                for method, function in inspect.getmembers(thing, inspect.isfunction):
                    if not method.startswith("_"):
                        yield f"{module.__name__}.{name}.{method}", function


def test_engine_is_keyword_only_everywhere() -> None:
    found = 0
    for name, function in public_functions():
        parameter = inspect.signature(function).parameters.get("engine")
        if parameter is not None:
            found += 1
            assert parameter.kind is inspect.Parameter.KEYWORD_ONLY, name
            assert parameter.default in ("r", "fast"), name
    assert found >= 6


def test_no_public_function_has_more_than_15_parameters() -> None:
    """What is seldom changed is in a few objects, which have few fields as well."""
    from ordbridge.comparison import CompareOptions
    from ordbridge.planning import Costs, Designs, PlannedAnalysis, Simulation

    options = [(kind.__name__, kind) for kind in (CompareOptions, Costs, Designs, PlannedAnalysis, Simulation)]
    for name, function in [*public_functions(), *options]:
        assert len(set(inspect.signature(function).parameters) - {"self"}) <= 15, name


def test_every_public_name_is_on_its_page_with_one_sentence() -> None:
    root = Path(__file__).parents[1]
    spec = importlib.util.spec_from_file_location("public_names", root / "tools" / "public_names.py")
    assert spec and spec.loader
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    page = (root / "docs" / "reference" / "names.md").read_text(encoding="utf-8")
    assert page == tool.page(), "make it again: python tools/public_names.py"
    rows = [line.split(" | ", 1)[1] for line in page.splitlines() if line.startswith("| `ob.")]
    assert len(rows) > 150 and all(row.rstrip(" |").endswith(".") for row in rows)


def test_level_is_only_a_level_of_measurement() -> None:
    """A confidence level is called conf_level."""
    for name, function in public_functions():
        parameters = inspect.signature(function).parameters
        if "level" in parameters:
            assert not isinstance(parameters["level"].default, float), name
        assert "confidence" not in parameters, name


def test_the_column_of_the_rater_is_participant_by_default() -> None:
    found = 0
    for name, function in public_functions():
        for word in ("rater", "participant"):
            parameter = inspect.signature(function).parameters.get(word)
            if parameter is not None and parameter.default not in (None, inspect.Parameter.empty):
                found += 1
                assert parameter.default == "participant", f"{name}({word}=)"
    assert found >= 20


def test_dir_shows_what_all_says() -> None:
    assert set(dir(ob)) == {*ob.__all__, "__version__"}


def test_an_unknown_engine_is_named() -> None:
    with pytest.raises(ob.InputError, match=r"engine='julia' is not known; choose one of 'r', 'fast'"):
        ob.lm("y ~ x", DATA, engine="julia")


def test_commands_have_the_defaults_of_the_functions() -> None:
    """There is one copy of a default, in the signature; what a command decides itself is listed here."""
    from ordbridge.cli import COMMANDS, parser_of
    from ordbridge.models.fit import Fit
    from ordbridge.papers.past_studies import settings_from
    from ordbridge.planning import Costs, Designs, PlannedAnalysis, Simulation
    from ordbridge.reliability import intervals

    parsers = parser_of(*COMMANDS).commands.choices
    own = {("plan", "jobs"), ("plan", "store"), ("simulate", "seed"), ("scales", "again")}
    called = {
        "fit": [ob.clmm, Fit.tidy, Fit.test],
        "plan": [ob.plan, PlannedAnalysis, Costs, Designs, Simulation],
        "settings": [settings_from],
    }
    called |= {"simulate": [ob.simulate.ratings], "reliability": [ob.reliability.analyse], "compare": [ob.compare]}
    called |= {"scales": [ob.scales.compare], "interval": [intervals.arf_interval, intervals.t_interval]}
    for command, functions in called.items():
        options = {action.dest: action.default for action in parsers[command]._actions}
        for function in functions:
            shared = 0
            for name, parameter in inspect.signature(function).parameters.items():
                if options.get(name) is not None and (command, name) not in own:
                    assert options[name] == parameter.default, (command, name)
                    shared += 1
            assert shared, (command, function)


DECIDED_THERE = {"simulate --seed", "interval --assurance", "plan --jobs", "plan --store", "scales --again"}
"""Options whose defaults belong to the command: no function has one, or a command differs from a call."""


def test_commands_have_no_defaults_of_their_own() -> None:
    """A literal ``default=`` in cli/ is a copy that may go stale."""
    found = set()
    for file in (Path(ob.__file__).parent / "cli").glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "add_argument":
                copied = [
                    k for k in node.keywords if k.arg == "default" and isinstance(k.value, ast.Constant | ast.List)
                ]
                named = [a.value for a in node.args if isinstance(a, ast.Constant)]
                found |= {f"{file.stem} {named[0]}" for k in copied}
    assert found <= DECIDED_THERE
