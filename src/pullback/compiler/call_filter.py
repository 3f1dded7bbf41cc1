"""A profile function in machine code, in front of one in Python.

CPython calls a profile function at each call and return, of which there are tens of thousands while a training step is
traced, nearly all in the package: one in Python takes more time than all else. This one drops returns, and the calls of
functions that are known and all that these call in C, and hands on the rest.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from types import CodeType
from typing import Any

import numpy as np

from ..kernels.codegen import jit, object_layout
from ..kernels.codegen.entry import as_function
from ..kernels.codegen.llvm_ir import I32, I64, PTR, Function, Value, module

CALL, C_CALL = 0, 4  # PyTrace_CALL, PyTrace_C_CALL
WAYS, SETS = 4, 1 << 12  # a set of the table has so many places
HASH = 0x9E3779B97F4A7C15  # Fibonacci hashing: D. E. Knuth, The Art of Computer Programming, vol. 3, 6.4
SHIFT = 64 - 12


class CallFilter:
    """Hands on calls to a function of ``(frame, event, function)``, as :func:`sys.setprofile` does, but not those of
    code that is ignored, and by it. The caller keeps that code alive.
    """

    def __init__(self, handler: Callable[..., None]) -> None:
        self._places = np.zeros((SETS, WAYS), np.int64)
        # what the profile function is given
        self._told = self._places, handler, "call", "c_call"

    def start(self) -> None:
        """Set the profile function of this thread."""
        _starter()(self._told)

    def ignore(self, code: CodeType) -> None:
        address = id(code)
        places = self._places[(address * HASH >> SHIFT) % SETS]  # bits 52 to 63 of the product
        # the oldest gives way: its calls are handed on again
        places[:] = [*places[1:], address]


@cache
def _starter() -> Callable[[Any], Any]:
    for name in ("PyEval_SetProfile", "PyFrame_GetCode", "PyObject_Vectorcall", "Py_DecRef", "Py_IncRef"):
        jit.add_symbol(name, ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0)
    return as_function("start", jit.load(lambda: module(_emit_profile_function(), _emit_start()), "calls")("start.$$"))


def _emit_start() -> tuple[Function, Value]:
    f = Function("start.$$", [("self", PTR), ("args", PTR), ("count", I64)], returns=PTR)
    told = f.load(f["args"], PTR)
    f.call("PyEval_SetProfile", f.symbol("called.$$"), told, external=True)
    f.call("Py_IncRef", told, external=True)
    return f, told


def _emit_profile_function() -> tuple[Function, Value]:
    """A ``Py_tracefunc``: it returns -1 with an exception set, and the interpreter raises it."""
    f = Function("called.$$", [("told", PTR), ("frame", PTR), ("event", I32), ("function", PTR)], returns=I32)
    status = f.variable(0, I32)
    is_python = f["event"].equals(CALL)
    with f.if_then(is_python | f["event"].equals(C_CALL)):
        code = f.call("PyFrame_GetCode", f["frame"], returns=PTR, external=True)
        f.call("Py_DecRef", code, external=True)  # the frame has it, too
        address = f.convert("ptrtoint", code, I64)
        places = f.load(f.at(_item(f, 0), object_layout.DATA // 8, I64), PTR)
        first = f.binary("lshr", address * HASH, SHIFT) * WAYS
        found = [f.load(f.at(places, first + k, I64), I64).equals(address) for k in range(WAYS)]
        with f.if_then(~(found[0] | found[1] | found[2] | found[3])):
            given = f.stack_array(3, I64)
            for k, value in enumerate((f["frame"], f.select(is_python, _item(f, 2), _item(f, 3)), f["function"])):
                f.store(value, f.at(given, k, I64))
            nothing = f.convert("inttoptr", f.constant(0, I64), PTR)
            result = f.call(
                "PyObject_Vectorcall", _item(f, 1), given, f.constant(3, I64), nothing, returns=PTR, external=True
            )

            def fail() -> None:
                f.call("PyEval_SetProfile", nothing, nothing, external=True)
                status.set(-1)

            failed = f.convert("ptrtoint", result, I64).equals(0)
            f.if_else(failed, fail, lambda: f.call("Py_DecRef", result, external=True))
    return f, status.get()


def _item(f: Function, i: int) -> Value:
    """An item of the tuple that the profile function is given."""
    return f.load(f.at(f["told"], object_layout.TUPLE_ITEMS // 8 + i, I64), PTR)
