"""A file as bytes, text, JSON or TOML: only files, not devices or pipes, and within the limits."""

from __future__ import annotations

import gzip
import json
import os
import re
import stat
import tomllib
import zlib
from pathlib import Path
from typing import Any

from ordbridge.errors import InputError
from ordbridge.reading.size_limits import Limits, limits, refuse

__all__ = ["contents", "is_nested_beyond", "json_of", "regular_file", "text_of", "toml_of"]

CHUNK = 2**20
SPECIAL = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")


def regular_file(path: str | os.PathLike[str]) -> Path:
    """Return the path of a file that can be read to its end, wherever a link leads.

    Examples
    --------
    >>> regular_file("/dev/null")
    Traceback (most recent call last):
    ...
    ordbridge.errors.InputError: /dev/null is a device, not a file; save what it gives in a file first
    """
    try:
        file = Path(path)
        mode = os.stat(file).st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"there is no file {path}") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    except (TypeError, ValueError):  # a NUL character in a name
        raise InputError(f"{path!r} is not the name of a file") from None
    if stat.S_ISDIR(mode):
        raise InputError(f"{path} is a folder; give a file")
    if not stat.S_ISREG(mode):
        kind = next((said for is_kind, said in SPECIAL if is_kind(mode)), "something else")
        raise InputError(f"{path} is {kind}, not a file; save what it gives in a file first")
    return file


def contents(path: str | os.PathLike[str], table: bool = False) -> bytes:
    """Return the bytes of a file, unpacked if it is compressed by gzip; of a ``table``, lines have a limit, too."""
    file, allowed = regular_file(path), limits()
    try:
        size = file.stat().st_size
        if size > allowed.size:
            refuse(f"{path} has {size / 1e6:,.0f} MB, more than {allowed.size / 1e6:,.0f} MB")
        with open(file, "rb") as stream:
            packed = stream.read(2) == b"\x1f\x8b"
            stream.seek(0)
            most = max(allowed.small, size * allowed.ratio) if packed else allowed.size
            with gzip.GzipFile(fileobj=stream) if packed else stream as source:
                return _within(source, path, most, allowed, table)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"cannot read {path}: {_reason(error)}") from None


def _within(source: Any, path: str | os.PathLike[str], most: int, allowed: Limits, table: bool) -> bytes:
    parts: list[bytes] = []
    size = rows = line = 0
    while chunk := source.read(CHUNK):
        size += len(chunk)
        if size > allowed.size:
            refuse(f"{path} has more than {allowed.size / 1e6:,.0f} MB")
        if size > most:
            refuse(f"{path} unpacks to more than {allowed.ratio} times its size")
        if table and (parts or not chunk.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"[", b"{"))):
            first, *others = chunk.split(b"\n")
            rows += len(others)
            if max(line + len(first), *map(len, others), 0) > allowed.line:
                refuse(f"{path} has a line of more than {allowed.line:,} bytes")
            if rows > allowed.rows:
                refuse(f"{path} has more than {allowed.rows:,} rows")
            line = len(others[-1]) if others else line + len(first)
        else:
            table = False  # JSON, whatever the file is called
        parts.append(chunk)
    return b"".join(parts)


def _reason(error: BaseException) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def text_of(path: str | os.PathLike[str]) -> str:
    """Return a file of UTF-8 text."""
    try:
        return contents(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text (byte {error.start}); save it as UTF-8") from None


def json_of(text: str, name: str | os.PathLike[str]) -> Any:
    """Return what a JSON text holds.

    Raises
    ------
    json.JSONDecodeError
        It is not JSON; the caller says what to do.
    InputError
        It is JSON, but nothing that can be data.

    Examples
    --------
    >>> json_of('["' + chr(92) + 'ud800"]', "x.json")
    Traceback (most recent call last):
    ...
    ordbridge.errors.InputError: x.json holds text that is not valid Unicode (half of a character); correct it
    """
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        raise
    except RecursionError:
        raise InputError(f"{name} is nested too deeply to be data") from None
    except ValueError:  # a number of thousands of digits
        raise InputError(f"{name} holds a number of more than 4,000 digits; correct it") from None
    if is_nested_beyond(value, limits().nesting):
        raise InputError(f"{name} is nested too deeply to be data")
    if _SURROGATE.search(text):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise InputError(f"{name} holds text that is not valid Unicode (half of a character); correct it") from None
    return value


def is_nested_beyond(value: Any, levels: int) -> bool:
    """Tell whether objects and lists stand inside each other on more than so many levels.

    Examples
    --------
    >>> is_nested_beyond([[1]], 1), is_nested_beyond({"a": [1]}, 2)
    (True, False)
    """
    level = [value]
    for _ in range(levels):
        level = [
            inner
            for one in level
            if isinstance(one, (dict, list))
            for inner in (one.values() if isinstance(one, dict) else one)
            if isinstance(inner, (dict, list))
        ]
        if not level:
            return False
    return True


def toml_of(text: str, name: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what a TOML text holds.

    Examples
    --------
    >>> toml_of("a = [", "x.toml")
    Traceback (most recent call last):
    ...
    ordbridge.errors.InputError: x.toml is not valid TOML: Invalid value (at end of document)
    """
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise InputError(f"{name} is nested too deeply to be TOML that anybody wrote") from None
    except ValueError as error:  # also a number of thousands of digits, and a date that no calendar has
        raise InputError(f"{name} is not valid TOML: {error}") from None
