"""The file format before PyTorch 1.6 (``_use_new_zipfile_serialization=False``): pickles, then storages.

They are: a magic number, a version, facts about the machine, the object, the keys of its storages; and for each key the
number of elements and the elements. A tensor that was a window onto part of another's storage says so in its persistent
id.
"""

from __future__ import annotations

import io
import pickle
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ..ops.storage import UntypedStorage
from .archive import write_all
from .memory import Memory, checked, whole
from .pickler import Pickler
from .type_names import Table
from .unpickler import LoadError, Machine

MAGIC, VERSION = 0x1950A86A20F9469CFC6C, 1001


def pickled(obj: Any) -> Callable[..., None]:
    """What writes an object, pickled now, in the old format: given a function that takes bytes."""
    code = io.BytesIO()
    facts = {
        "protocol_version": VERSION,
        "little_endian": sys.byteorder == "little",
        "type_sizes": {"short": 2, "int": 4, "long": 4},
    }
    for value in (MAGIC, VERSION, facts):
        pickle.dump(value, code, 2)
    pickler = Pickler(code, old=True)
    pickler.dump(obj)
    kept = list(pickler.kept.values())
    pickle.dump([k.key for k in kept], code, 2)

    def write(write: Callable[[Any], Any], folder: str, rewrite: Any = None) -> None:
        write_all(write, code.getvalue())
        for k in kept:
            write_all(write, (k.data.nbytes // k.dtype.itemsize).to_bytes(8, "little"))
            write_all(write, memoryview(bytes(k.data)))

    return write


def load(code: bytes, names: Table, located: Callable[[Any, Any], None], encoding: str) -> tuple[Any, int]:
    """The object in a file of the old format, and how many bytes it takes.

    Args:
        code: all bytes of the file, from where it begins.
        names: what it may name.
        located: told each storage's memory and device, to refuse it.

    Raises:
        LoadError: if it is no such file, or a damaged one.
    """
    at = 0
    left = len(code)
    storages: dict[str, Memory] = {}
    windows: list[Memory] = []

    def storage(pid: Any) -> Any:
        nonlocal left
        if type(pid) is not tuple or len(pid) not in (4, 5, 6):
            raise LoadError("only storages can be referred to in a file")
        if pid[0] == "module" and len(pid) == 4:
            return pid[1]  # a class, with its source code, which is of no use here
        if len(pid) < 5:
            raise LoadError("only storages can be referred to in a file")
        kind, key, location, count = checked(pid[:5])
        window = pid[5:]
        if kind.dtype is None:
            raise LoadError("the file is damaged: a storage has no type")
        memory = storages.get(key)
        if memory is None:
            size = whole(count) * kind.dtype.itemsize
            left -= size
            if left < 0:
                raise LoadError(f"the file is cut off: a storage of {size} bytes is not in it")
            memory = storages[key] = Memory(UntypedStorage(size), kind.dtype)
            located(memory, location)
        if not window or window[0] is None:
            return memory
        if memory.of is not kind.dtype:
            raise LoadError("the file is damaged: a storage is said to be of two types")
        _, offset, length = window[0]
        size = kind.dtype.itemsize
        part = memory.untyped()[whole(offset) * size : (offset + whole(length)) * size]
        windows.append(Memory(part, memory.of, memory.hollow))
        return windows[-1]

    def unpickled() -> Any:
        nonlocal at
        machine = Machine(code, names, storage, at, encoding)
        value, at = machine.run(), machine.at
        return value

    if unpickled() != MAGIC:
        raise LoadError("Invalid magic number; corrupt file?")
    if unpickled() != VERSION:
        raise LoadError("Invalid protocol version")
    facts = unpickled()
    little = facts.get("little_endian", True) is not False if type(facts) is dict else True
    start = at
    unpickled()
    keys = unpickled()
    if type(keys) is not list or not all(type(key) is str for key in keys) or set(keys) != storages.keys():
        raise LoadError("the file is damaged: its list of storages is not that of its tensors")
    for key in keys:
        memory = storages[key]
        assert memory.of is not None
        size = memory.data.nbytes
        if at + 8 + size > len(code) or int.from_bytes(code[at : at + 8], "little") * memory.of.itemsize != size:
            raise LoadError("the file is damaged or cut off: a storage is not as long as it should be")
        memory.data[:] = np.frombuffer(code, np.uint8, size, at + 8) if size else 0
        memory.in_this_order(little)
        at += 8 + size
    length, at = at, start
    value = unpickled()  # once more, now that the memory holds what tensors may be computed from
    for memory in (*storages.values(), *windows):
        memory.finish()
    return value, length
