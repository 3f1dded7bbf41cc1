"""Reader and writer of PyTorch's zip archives: entries are stored uncompressed, aligned to 64 bytes.

An archive that is read comes from anywhere: whatever it says of itself is checked against the size of the file, and no
more bytes are handed out than the file has, however many entries claim the same ones.
"""

from __future__ import annotations

import errno
import io
import mmap
import struct
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .unpickler import LoadError

ALIGNMENT = 64
BLOCK = 1 << 22  # bytes of a large entry that are copied, and so the same to checksum and file, at a time
PIECE = 1 << 30  # bytes of a write: systems write less than 2**31 of what an unbuffered file is given
# an entry's own header: signature, version, flags, method, time, date, crc, sizes, lengths
LOCAL = struct.Struct("<4s5H3L2H")
CRC_AT = 14  # in the header
CENTRAL = struct.Struct("<4s6H3L5H2L")  # its line in the directory, which adds comment, disk, attributes and offset
END = struct.Struct("<4s4H2LH")
END64 = struct.Struct("<4sQ2H2L4Q")
LOCATOR64 = struct.Struct("<4sLQL")
FULL = 0xFFFFFFFF  # "too large, see the 64-bit field"
UTF8, JANUARY_1980 = 0x800, 0x21
FAILED = "PytorchStreamReader failed reading zip archive"


class Entry(NamedTuple):
    start: int  # of its header
    size: int
    crc: int


class Reader:
    """The entries of an archive.

    Args:
        file: open for reading, and seekable; the archive begins where it is, and ends with it.
        mapped: whether to map the file into memory, copy-on-write, rather than to read it; it must be a real one then.

    Raises:
        LoadError: if it is no such archive, or not all of one.
    """

    def __init__(self, file: Any, mapped: bool = False) -> None:
        self._file, self._begins = file, file.tell()
        file.seek(0, 2)
        self._size = self._left = file.tell() - self._begins
        self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) if mapped else None
        found = self._directory()
        pickles = [name for name in found if name.endswith("/data.pkl") and name.count("/") == 1]
        if len(pickles) != 1:
            raise LoadError(f"{FAILED}: there is {'more than one' if pickles else 'no'} data.pkl in it")
        folder = pickles[0].removesuffix("data.pkl")
        self._entries = {name.removeprefix(folder): entry for name, entry in found.items() if name.startswith(folder)}

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def read(self, name: str) -> np.ndarray:
        """The bytes of an entry as a new array, 1-d, checked against the entry's checksum.

        Mapped ones are not read here, and so not checked.
        """
        start, size = self._place(name)
        if self._map is not None and size:
            return np.frombuffer(self._map, np.uint8, size, self._begins + start)
        self._left -= size
        if self._left < 0:
            raise LoadError(f"{FAILED}: entries overlap")
        data = np.empty(size, np.uint8)
        self._file.seek(self._begins + start)
        if size and self._file.readinto(data) != size:
            raise LoadError(f"{FAILED}: it ends inside {name}")
        if zlib.crc32(data.data) != self._entries[name].crc:
            raise LoadError(f"{FAILED}: {name} does not have the checksum that was stored with it")
        return data

    def size(self, name: str) -> int:
        """How many bytes an entry has."""
        if name not in self._entries:
            raise LoadError(f"{FAILED}: file not found: {name}")
        return self._entries[name].size

    def _place(self, name: str) -> tuple[int, int]:
        size = self.size(name)
        start = self._entries[name].start
        signature, *_, names, extras = LOCAL.unpack(self._at(start, LOCAL.size))
        start += LOCAL.size + names + extras
        if signature != b"PK\3\4" or start + size > self._size:
            raise LoadError(f"{FAILED}: {name} is not where the directory says")
        return start, size

    def _at(self, start: int, count: int) -> bytes:
        if start < 0 or start + count > self._size:
            raise LoadError(f"{FAILED}: it points to a place outside of the file")
        self._file.seek(self._begins + start)
        data = self._file.read(count)
        if len(data) != count:
            raise LoadError(f"{FAILED}: it ends early")
        return data

    def _directory(self) -> dict[str, Entry]:
        tail = self._at(max(0, self._size - END.size - 0xFFFF), min(self._size, END.size + 0xFFFF))
        end = tail.rfind(b"PK\5\6")
        if end < 0 or len(tail) - end < END.size:
            raise LoadError(
                f"{FAILED}: failed finding central directory\n  The file is cut off, or is no archive at all."
            )
        _, _, _, _, count, length, start, _ = END.unpack_from(tail, end)
        if FULL in (length, start) or count == 0xFFFF:
            signature, _, at, _ = LOCATOR64.unpack(
                self._at(self._size - len(tail) + end - LOCATOR64.size, LOCATOR64.size)
            )
            if signature == b"PK\6\7":
                *_, count, length, start = END64.unpack(self._at(at, END64.size))
        directory = self._at(start, length)
        entries, at = {}, 0
        for _ in range(count):
            if at + CENTRAL.size > length:
                raise LoadError(f"{FAILED}: its directory ends early")
            (signature, _, _, flags, method, _, _, crc, packed, size, names, extras, comments, _, _, _, offset) = (
                CENTRAL.unpack_from(directory, at)
            )
            at += CENTRAL.size
            name = directory[at : at + names].decode("utf-8", "replace")
            fields = directory[at + names : at + names + extras]
            at += names + extras + comments
            if signature != b"PK\1\2" or name in entries:
                raise LoadError(f"{FAILED}: its directory is damaged")
            size, packed, offset = _wide(fields, [size, packed, offset])
            if method or flags & 1 or packed != size:
                raise LoadError(f"{FAILED}: {name} is compressed or encrypted, which PyTorch never does")
            entries[name] = Entry(offset, size, crc)
        return entries


def _wide(fields: bytes, values: list[int]) -> list[int]:
    """The values, where they were too large for 32 bits from the entry's 64-bit field."""
    while len(fields) >= 4:
        kind, length = struct.unpack_from("<2H", fields)
        field, fields = fields[4 : 4 + length], fields[4 + length :]
        if kind == 1:
            wide = list(struct.unpack(f"<{len(field) // 8}Q", field[: len(field) // 8 * 8]))
            return [wide.pop(0) if v == FULL and wide else v for v in values]
    return values


def write_all(write: Callable[[Any], Any], data: Any) -> None:
    """Write bytes.

    Raises:
        OSError: if not all were written.
    """
    for start in range(0, len(data), PIECE):
        piece = data[start : start + PIECE]
        written = write(piece)
        if written is None and isinstance(getattr(write, "__self__", None), io.RawIOBase):
            written = 0  # it would have had to wait
        if isinstance(written, int) and written != len(piece):  # other libraries' files return what they like
            raise OSError(
                errno.EIO, f"PytorchStreamWriter failed writing file: {written} of {len(piece)} bytes were written"
            )


class Writer:
    """Writes an archive from front to back.

    Args:
        write: takes bytes.
        folder: in which all entries are.
        rewrite: writes bytes at a place in what was written, if that can be done.
    """

    def __init__(
        self, write: Callable[[Any], Any], folder: str, rewrite: Callable[[int, bytes], None] | None = None
    ) -> None:
        self._write, self._folder, self._rewrite = write, folder, rewrite
        self._at = self._count = 0
        self._directory = bytearray()

    def _put(self, data: Any) -> None:
        write_all(self._write, data)
        self._at += len(data)

    def add(self, name: str, data: Any) -> None:
        """Write an entry: bytes, or a 1-d array of them, which other threads may write into meanwhile."""
        path, size, start = f"{self._folder}/{name}".encode(), len(data), self._at
        in_blocks = size > BLOCK and self._rewrite is not None
        data = data if in_blocks else bytes(data)  # checksum and file get the same
        crc = 0 if in_blocks else zlib.crc32(data)
        field = struct.pack("<2H2Q", 1, 16, size, size) if size >= FULL else b""
        narrow = min(size, FULL)
        used = start + LOCAL.size + len(path) + len(field) + 4
        padding = b"\0" * (-used % ALIGNMENT)
        extra = field + b"FB" + struct.pack("<H", len(padding)) + padding
        self._put(
            LOCAL.pack(b"PK\3\4", 45, UTF8, 0, 0, JANUARY_1980, crc, narrow, narrow, len(path), len(extra))
            + path
            + extra
        )
        if in_blocks:
            for at in range(0, size, BLOCK):
                block = bytes(data[at : at + BLOCK])
                crc = zlib.crc32(block, crc)
                self._put(block)
            self._rewrite(start + CRC_AT, struct.pack("<L", crc))  # type: ignore[misc]
        elif size:
            self._put(memoryview(data))

        wide = [size, size] * (size >= FULL) + [start] * (start >= FULL)
        extra = struct.pack(f"<2H{len(wide)}Q", 1, 8 * len(wide), *wide) if wide else b""
        self._directory += (
            CENTRAL.pack(
                b"PK\1\2",
                45,
                45,
                UTF8,
                0,
                0,
                JANUARY_1980,
                crc,
                narrow,
                narrow,
                len(path),
                len(extra),
                0,
                0,
                0,
                0,
                min(start, FULL),
            )
            + path
            + extra
        )
        self._count += 1

    def close(self) -> None:
        """Write the directory."""
        start, length = self._at, len(self._directory)
        self._put(self._directory)
        if start + length >= FULL or self._count >= 0xFFFF:
            self._put(
                END64.pack(b"PK\6\6", END64.size - 12, 45, 45, 0, 0, self._count, self._count, length, start)
                + LOCATOR64.pack(b"PK\6\7", 0, start + length, 1)
            )
        count = min(self._count, 0xFFFF)
        self._put(END.pack(b"PK\5\6", 0, 0, count, count, min(length, FULL), min(start, FULL), 0))
