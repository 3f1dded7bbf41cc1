"""Where CPython's and NumPy's objects hold what machine code reads: offsets in bytes, checked on live objects.

Nothing of this is promised by CPython, and it does move: since 3.14 a tuple holds its hash in front of its items. So
offsets are derived from what the interpreter says of itself where possible, and :func:`mismatch` compares all of them
with objects whose contents are known, before machine code is loaded. Arrays' is part of NumPy's binary interface.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

HEAD = object.__basicsize__
TYPE = HEAD - 8  # an object's class
LENGTH = HEAD  # the number of items of a tuple, list or bytes
TUPLE_ITEMS = tuple.__basicsize__
LIST_ITEMS = HEAD + 8  # the address of the items
BYTES = bytes.__basicsize__ - 1  # the basic size counts the zero at the end
DATA, RANK, SHAPE, STRIDES, OWNER, DTYPE, FLAGS = (HEAD + 8 * i for i in range(7))  # of an array

OFFSETS = HEAD, TUPLE_ITEMS, BYTES  # what the others depend on: part of the key of cached machine code


@cache
def slot_offset(cls: type, slot: str) -> int:
    """The offset of one of a class's ``__slots__`` in its instances: where an object that is put there shows up."""
    instance: Any = object.__new__(cls)
    mark = object()
    vars(cls)[slot].__set__(instance, mark)
    return next(at for at in range(HEAD, cls.__basicsize__, 8) if _word(id(instance) + at) == id(mark))


def mismatch() -> str:
    """What kind of object is laid out otherwise in this interpreter; empty if none is."""
    if ctypes.sizeof(ctypes.c_void_p) != 8:
        return "pointer"
    return next((kind for kind, expected, found in _samples() if expected != found), "")


def _samples() -> Iterator[tuple[str, Any, Any]]:
    """Kinds of objects, with what one is to hold and what is found where it should be.

    In this order: where the first ones are as expected, the memory that the later ones point to can be read.
    """
    a, b = object(), object()
    yield "object", id(object), _word(id(a) + TYPE)
    for kind, length in (("tuple", (a, b)), ("list", [a, b]), ("bytes", b"ab")):
        yield kind, (2, id(type(length))), (_word(id(length) + LENGTH), _word(id(length) + TYPE))
    pair, items, text = (a, b), [a, b], b"some bytes"
    yield "tuple", [id(a), id(b)], [_word(id(pair) + TUPLE_ITEMS + 8 * i) for i in range(2)]
    # An empty list has no items, another has them at some address: only then is it safe to look there.
    addresses = [_word(id(x) + LIST_ITEMS) for x in ([], items)]
    yield "list", [False, True], [address > 1 << 16 for address in addresses]
    yield "list", [id(a), id(b)], [_word(addresses[1] + 8 * i) for i in range(2)]
    yield "bytes", text, ctypes.string_at(id(text) + BYTES, len(text))

    class Slotted:
        __slots__ = ("first", "second")

    yield "instance with slots", 8, slot_offset(Slotted, "second") - slot_offset(Slotted, "first")

    owner = np.arange(12.0, dtype=np.float32)
    x = owner[:6].reshape(2, 3)
    yield "array", (x.ctypes.data, id(x.base), id(x.dtype)), tuple(_word(id(x) + at) for at in (DATA, OWNER, DTYPE))
    yield "array", (2, x.flags.num), tuple(_word(id(x) + at) & 0xFFFFFFFF for at in (RANK, FLAGS))
    sizes, strides = (_word(id(x) + at) for at in (SHAPE, STRIDES))
    yield "array", x.shape + x.strides, tuple(_word(p + 8 * i) for p in (sizes, strides) for i in range(2))


def _word(address: int) -> int:
    """The eight bytes at an address, as an integer."""
    return ctypes.c_int64.from_address(address).value
