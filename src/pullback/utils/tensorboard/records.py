"""TensorBoard's file format: TFRecords with checksums, each a protocol buffer message.

A message is a sequence of fields: a key (the field's number and how it is encoded), then the value. Sources:
protobuf.dev "Encoding", and TensorFlow's ``record_writer`` for the records.
"""

from __future__ import annotations

import os
import socket
import struct
import time
from collections.abc import Iterable

# --- messages -----------------------------------------------------------------------------------------------


def varint(n: int) -> bytes:
    """A whole number, seven bits a byte, low ones first; negative ones as 64 bits."""
    n &= (1 << 64) - 1
    out = bytearray()
    while n >= 128:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes([*out, n])


def whole(field: int, value: int) -> bytes:
    """A field of an integral type, or an enumeration's."""
    return varint(field << 3) + varint(value)


def double(field: int, value: float) -> bytes:
    """A field of type double."""
    return varint(field << 3 | 1) + struct.pack("<d", value)


def single(field: int, value: float) -> bytes:
    """A field of type float."""
    return varint(field << 3 | 5) + struct.pack("<f", value)


def message(field: int, *parts: bytes | str) -> bytes:
    """A field that is a message of such fields, or a string, or bytes."""
    content = b"".join(p.encode() if isinstance(p, str) else p for p in parts)
    return varint(field << 3 | 2) + varint(len(content)) + content


def doubles(field: int, values: Iterable[float]) -> bytes:
    """A repeated field of type double."""
    values = list(values)
    return message(field, struct.pack(f"<{len(values)}d", *values))


# --- records ------------------------------------------------------------------------------------------------


def _table() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_CRC = _table()


def checksum(data: bytes) -> int:
    """CRC-32C, rotated and shifted as the format wants it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _CRC[(crc ^ byte) & 255]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


class EventFile:
    """An event file in a folder, which is created: events are appended to it."""

    _made = 0  # files of this process, so that each has a name of its own

    def __init__(self, folder: str, suffix: str = "") -> None:
        EventFile._made += 1
        os.makedirs(folder, exist_ok=True)
        source = f"{socket.gethostname()}.{os.getpid()}.{EventFile._made - 1}"
        name = f"events.out.tfevents.{int(time.time()):010d}.{source}{suffix}"
        self.folder = folder
        self.file = open(os.path.join(folder, name), "wb")  # noqa: SIM115  (as long as the writer is open)
        self.add(message(3, "brain.Event:2"))
        self.file.flush()

    def add(self, what: bytes, step: int | None = None, walltime: float | None = None) -> None:
        """Write an event: when, at which step, and the field that says what."""
        event = (
            double(1, time.time() if walltime is None else walltime) + (b"" if step is None else whole(2, step)) + what
        )
        length = struct.pack("<Q", len(event))
        self.file.write(length + struct.pack("<I", checksum(length)) + event + struct.pack("<I", checksum(event)))
