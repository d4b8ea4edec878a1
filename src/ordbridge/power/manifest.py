"""What a run was asked to do, in the file ``manifest.json`` of its folder: written, read, and never believed unread."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, NoReturn

from ordbridge.errors import InputError
from ordbridge.models.engines import engine_name
from ordbridge.models.kinds import KINDS
from ordbridge.power.calibration import NULL
from ordbridge.power.grid import Grid
from ordbridge.power.models import Model
from ordbridge.reading.source import json_of, text_of
from ordbridge.support.arguments import proportion, seconds, whole
from ordbridge.support.naming import arg
from ordbridge.support.writing import FULL, sync_file, sync_folder

FORMAT = 1
FILE = "manifest.json"
MOST_DATASETS = 2**31 - 1  # replicates are numbered by 32 bits
TEXT_OF_MODELS = ("kind", "formula", "term", "link", "threshold", "ddf")


def identity_of(manifest: Mapping[str, Any]) -> str:
    """Return what a run is recognised by: cells, seed, models and engine, in whatever order they were written."""
    parts = {name: manifest[name] for name in ("cells", "seed", "models", "engine")}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def read_manifest(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read what a folder's run was asked to do; a manifest that is damaged or contradicts itself is refused."""
    file = Path(path) / FILE
    if not file.is_file():
        raise InputError(f"there is no power run in {path}: it has no {FILE}")
    try:
        manifest = json_of(text_of(file), FILE)
        if not isinstance(manifest, dict):
            raise InputError("it is not an object")
        if manifest["format"] != FORMAT:
            raise InputError(f"it has format {manifest['format']}; this ordbridge reads format {FORMAT}")
        manifest["engine"] = engine_name(manifest["engine"])
        _check(manifest)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        reason = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
        if isinstance(error, RecursionError):
            reason = "it is nested too deeply"
        reason = " ".join(reason.split())  # in one line, and not endless
        reason = reason if len(reason) < 200 else f"{reason[:197]}..."
        raise InputError(
            f"{file} is damaged ({reason}); its parts may be sound: restore the manifest, or start a new run"
        ) from None
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from None
    return manifest


def asked_meanwhile(path: Path, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a manifest has grown since it was read, because another process has asked for more."""
    try:
        if json.loads((path / FILE).read_text(encoding="utf-8")) == manifest:
            return {}
        now = read_manifest(path)
    except (InputError, OSError, RecursionError, ValueError):
        return {}
    if identity_of(now) != identity_of(manifest):
        return {}
    more = {name: max(manifest.get(name, 0), now.get(name, 0)) for name in ("datasets", "calibration")}
    return {**more, "null_cells": {**manifest.get("null_cells", {}), **now.get("null_cells", {})}}


def write_manifest(path: Path, values: Mapping[str, Any]) -> None:
    """Write the manifest of a folder; it is there whole, the old or the new one, whatever happens."""
    partial = path / f".manifest-{os.getpid()}.tmp"
    try:
        with open(partial, "w", encoding="utf-8") as text:
            json.dump(values, text, indent=1, ensure_ascii=False)
        sync_file(partial)
        os.replace(partial, path / FILE)
        sync_folder(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink()
        explain_failed_write(error, path)


def explain_failed_write(error: OSError, path: Path) -> NoReturn:
    """Say what to do if there is no room left, or if the file system does not do what it is asked."""
    if error.errno not in FULL:
        why = error.strerror or str(error)
        raise OSError(
            error.errno or errno.EIO,
            f"cannot write to {path} ({why}): what was stored stays readable; give the same command again, or name a "
            "folder on another disk",
        ) from None
    raise OSError(
        error.errno or errno.ENOSPC,
        f"no space left for {path}: what was stored stays readable; free some space and give the same command again",
    ) from None


def _check(manifest: dict[str, Any]) -> None:
    """Raise an error where a manifest has something that no run can have asked for."""
    whole("seed", manifest["seed"], least=0)
    if whole("datasets", manifest["datasets"], least=1) > MOST_DATASETS:
        raise InputError(f"{arg('datasets', manifest['datasets'])} is more than {MOST_DATASETS}")
    if whole("calibration", manifest.get("calibration", 0), least=0) > MOST_DATASETS:
        raise InputError(f"{arg('calibration', manifest['calibration'])} is more than {MOST_DATASETS}")
    for label, content in _is("null_cells", manifest.get("null_cells", {}), dict).items():
        if not label.startswith(NULL) or label in manifest["cells"]:
            raise InputError(f"{label!r} is not the name of a null")
        _is(label, content, str)
    proportion("alpha", manifest["alpha"])
    proportion("audit", manifest["audit"], ends=True)
    if not math.isfinite(seconds("timeout", manifest["timeout"]) or 0):
        raise InputError("timeout is not finite")
    _is("created", manifest["created"], str)
    for environment in _is("environments", manifest["environments"], list):
        for name, version in _is("an environment", environment, dict).items():
            _is(name, version, str)
    models = _is("models", manifest["models"], dict)
    if not models:
        raise InputError("it has no models")
    for name, options in models.items():
        _check_model(name, _is(f"the model {name}", options, dict))
    _check_cells(_is("grid", manifest["grid"], dict), _is("cells", manifest["cells"], dict))
    if manifest.get("identity", identity := identity_of(manifest)) != identity:
        raise InputError("its cells, seed, models or engine are not those it was written with")


def _check_model(name: str, options: dict[str, Any]) -> None:
    unknown = set(options) - {field.name for field in fields(Model)} | ({"name"} & set(options))
    if unknown:
        raise InputError(f"the model {name} has an unknown option {min(unknown)!r}")
    for option in TEXT_OF_MODELS:
        _is(f"{option} of {name}", options.get(option, ""), str)
    if options["kind"] not in KINDS:
        raise InputError(f"there is no model {options['kind']!r}")
    if not (options["formula"] and options["term"]):
        raise InputError(f"the model {name} has no formula or no term")


def _check_cells(grid: dict[str, Any], cells: dict[str, Any]) -> None:
    """See that the grid and the cells are the same: tables are made by the one, fits belong to the other."""
    axes = _is("the axes", grid["axes"], dict)
    if math.prod(len(_is(f"the axis {name}", values, list)) for name, values in axes.items()) != len(cells):
        raise InputError("its grid and its cells differ")
    if {cell.label: cell.content for cell in Grid.from_dict(grid).cells} != cells:
        raise InputError("its grid and its cells differ")


def _is(name: str, value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise InputError(f"{name} is of type {type(value).__name__}")
    return value


def differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> Iterator[str]:
    """Say in words what makes two runs different."""
    for name in ("seed", "engine"):
        if there[name] != here[name]:
            yield f"{name} is {there[name]} there and {here[name]} here"
    for name in sorted({*there["models"], *here["models"]}):
        old, new = there["models"].get(name), here["models"].get(name)
        if old is None or new is None:
            yield f"the model {name} is only {'here' if old is None else 'there'}"
        elif old != new:
            yield from (f"{option} of {name} is {old.get(option)!r} there and {new.get(option)!r} here"
                        for option in sorted({*old, *new}) if old.get(option) != new.get(option))  # fmt: skip
    if there["cells"] != here["cells"]:
        yield from _grid_differences(there, here)


def _grid_differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> Iterator[str]:
    old, new = there["grid"]["axes"], here["grid"]["axes"]
    named = False
    for axis in dict.fromkeys([*old, *new]):
        if sorted(map(str, old.get(axis, ()))) != sorted(map(str, new.get(axis, ()))):
            named = True
            yield f"{axis} is {_list(old.get(axis))} there and {_list(new.get(axis))} here"
    if not named:
        cell = next(label for label in there["cells"] if there["cells"][label] != here["cells"].get(label))
        yield f"the truth or the design of cell '{cell}' is another"


def _list(values: list[Any] | None) -> str:
    return "no axis" if values is None else ", ".join(map(str, values))
