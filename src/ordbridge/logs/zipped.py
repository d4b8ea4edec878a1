"""Members of a zip file, also those compressed by zstd, which Python's zipfile before 3.14 cannot unpack.

The directory is read here because a log has a member for each sample: zipfile makes an object of every one, which takes
as long as all the rest.
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from ordbridge.errors import InputError
from ordbridge.reading.size_limits import limits, refuse
from ordbridge.reading.source import regular_file

__all__ = ["Zipped"]

END, END64, LOCATOR, ENTRY = b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07", b"PK\x01\x02"
TAIL = 22 + 65_535  # the record at the end, and the longest comment after it
STORED, DEFLATED, ZSTD = 0, 8, 93
BIG = 0xFFFFFFFF  # stands for a number in the extra field
_ENTRY = struct.Struct("<4s4xHH8xIIHHH8xI")  # flags, method, sizes, lengths, place


class Zipped:
    """A zip file whose members are unpacked one by one, within the limits of all files."""

    def __init__(self, path: Path) -> None:
        self.path = regular_file(path)
        try:
            with open(path, "rb") as file:
                self._members = dict(_directory(file))
        except (OSError, struct.error, ValueError) as error:
            raise InputError(f"cannot read {path}: {error}; it is not a whole log") from None

    @property
    def names(self) -> list[str]:
        """Names of the members."""
        return list(self._members)

    def member(self, name: str) -> bytes:
        """Return the content of a member."""
        method, packed_size, size, place = self._members[name]
        most = limits().size
        if max(size, packed_size) > most:
            refuse(f"{name} in {self.path} has {size / 1e6:,.0f} MB, more than {most / 1e6:,.0f} MB")
        try:
            with open(self.path, "rb") as file:
                file.seek(place)
                before = file.read(30)
                file.seek(sum(struct.unpack("<HH", before[26:30])), 1)
                content = _unpacked(file.read(packed_size), method, most + 1)
        except (OSError, zlib.error, struct.error, ValueError, OverflowError) as error:
            raise InputError(f"cannot unpack {name} in {self.path}: {error}; the log is damaged") from None
        if len(content) > most:
            refuse(f"{name} in {self.path} has more than {most / 1e6:,.0f} MB")
        return content


def _directory(file: BinaryIO) -> list[tuple[str, tuple[int, int, int, int]]]:
    """Return name, and method, sizes and place, of every member."""
    size = file.seek(0, 2)
    file.seek(max(0, size - TAIL))
    tail = file.read()
    end = tail.rfind(END)
    if end < 0:
        raise ValueError("its end is missing")
    length, start = struct.unpack("<II", tail[end + 12 : end + 20])
    if tail[end - 20 : end - 16] == LOCATOR:
        file.seek(struct.unpack("<Q", tail[end - 12 : end - 4])[0])
        record = file.read(56)
        if record[:4] == END64:
            length, start = struct.unpack("<QQ", record[40:56])
    if start + length > size:
        raise ValueError("its end is missing")
    file.seek(start)
    directory, place, found = file.read(length), 0, []
    while place < length:
        mark, _, method, packed, whole, named, extra, comment, offset = _ENTRY.unpack_from(directory, place)
        if mark != ENTRY:
            raise ValueError("its directory is damaged")
        after = place + 46 + named
        if BIG in (packed, whole, offset):
            packed, whole, offset = _large(directory[after : after + extra], packed, whole, offset)
        name = directory[place + 46 : after].decode("utf-8", "replace")
        found.append((name, (method, packed, whole, offset)))
        place = after + extra + comment
    return found


def _large(extra: bytes, packed: int, whole: int, offset: int) -> tuple[int, int, int]:
    """Return sizes and place of a member that needs 64 bits for one of them."""
    while len(extra) >= 4:
        kind, length = struct.unpack("<HH", extra[:4])
        if kind == 1:
            numbers = iter(struct.unpack(f"<{length // 8}Q", extra[4 : 4 + length // 8 * 8]))
            whole, packed, offset = (next(numbers, one) if one == BIG else one for one in (whole, packed, offset))
        extra = extra[4 + length :]
    return packed, whole, offset


def _unpacked(content: bytes, method: int, most: int) -> bytes:
    if method == STORED:
        return content
    if method == DEFLATED:
        return zlib.decompressobj(-15).decompress(content, most)
    if method == ZSTD:
        with pa.CompressedInputStream(pa.BufferReader(content), "zstd") as stream:
            return bytes(stream.read(most))
    raise ValueError(f"compression method {method} is not known")
