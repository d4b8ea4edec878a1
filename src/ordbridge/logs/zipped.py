"""One member of a zip file, also where it is compressed by zstd, which Python's zipfile before 3.14 cannot unpack."""

from __future__ import annotations

import struct
import zipfile
import zlib
from pathlib import Path

import pyarrow as pa

from ordbridge.errors import InputError
from ordbridge.reading.size_limits import limits, refuse

__all__ = ["Zipped"]

ZSTD, HEADER = 93, 30  # the method, and the length of the header before a member's name


class Zipped:
    """A zip file whose members are unpacked one by one, within the limits of all files."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with zipfile.ZipFile(path) as archive:
                self._members = {info.filename: info for info in archive.infolist()}
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, struct.error) as error:
            raise InputError(f"cannot read {path}: {error}; it is not a whole log") from None

    @property
    def names(self) -> list[str]:
        """Names of the members."""
        return list(self._members)

    def member(self, name: str) -> bytes:
        """Return the content of a member."""
        info, most = self._members[name], limits().size
        if info.file_size > most:
            refuse(f"{name} in {self.path} has {info.file_size / 1e6:,.0f} MB, more than {most / 1e6:,.0f} MB")
        try:
            if info.compress_type != ZSTD:
                with zipfile.ZipFile(self.path) as archive, archive.open(name) as stream:
                    return self._within(stream.read(most + 1), name, most)
            with open(self.path, "rb") as file:
                file.seek(info.header_offset)
                before = file.read(HEADER)
                file.seek(sum(struct.unpack("<HH", before[26:30])), 1)
                packed = file.read(info.compress_size)
            with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as unpacked:
                return self._within(unpacked.read(most + 1), name, most)
        except (
            OSError,
            zipfile.BadZipFile,
            zlib.error,
            struct.error,
            EOFError,
            NotImplementedError,
            RuntimeError,
        ) as error:
            raise InputError(f"cannot unpack {name} in {self.path}: {error}; the log is damaged") from None

    def _within(self, content: bytes, name: str, most: int) -> bytes:
        if len(content) > most:
            refuse(f"{name} in {self.path} has more than {most / 1e6:,.0f} MB")
        return content
