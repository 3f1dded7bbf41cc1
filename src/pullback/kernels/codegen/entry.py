"""Entry points of machine code: built-in functions and methods that CPython calls with Python's objects.

:func:`entry_point` writes a function around a kernel that the interpreter calls like one of its own, without the detour
through ctypes: it takes arrays, integers and floats, puts the addresses of the arrays' data and the numbers into the
task's slots, and runs its items, on several threads if there are many.

Such functions refer to the thread pool and to the allocator, so both modules are imported, and thereby linked, here.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from . import jit, memory, threads  # noqa: F401  (linked before code that refers to them)
from .jit import keep_alive
from .llvm_ir import F64, I64, PTR, Function, Value
from .object_layout import DATA

for _name in (
    "PyLong_AsSsize_t",
    "PyNumber_AsSsize_t",
    "PyFloat_AsDouble",
    "Py_IncRef",
    "PyEval_SaveThread",
    "PyEval_RestoreThread",
):
    jit.add_symbol(_name, ctypes.cast(getattr(ctypes.pythonapi, _name), ctypes.c_void_p).value or 0)


class _Definition(ctypes.Structure):
    """CPython's ``PyMethodDef``."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


ONE_ARGUMENT, FASTCALL = 0x08, 0x80
_new_function, _new_method = ctypes.pythonapi.PyCFunction_NewEx, ctypes.pythonapi.PyDescr_NewMethod
_new_function.restype, _new_function.argtypes = ctypes.py_object, [ctypes.c_void_p] * 3
_new_method.restype, _new_method.argtypes = ctypes.py_object, [ctypes.py_object, ctypes.c_void_p]


def as_function(name: str, address: int) -> Callable:
    """A built-in function (``METH_FASTCALL``) from the address of machine code, such as an entry point's."""
    definition = _Definition(name.encode(), address, FASTCALL, None)
    keep_alive(definition)
    return _new_function(ctypes.addressof(definition), None, None)


def function_factory(name: str, address: int) -> Callable[[Any], Callable]:
    """A factory of built-in functions that share machine code: each is bound to an object, its ``self``."""
    definition = _Definition(name.encode(), address, FASTCALL, None)
    keep_alive(definition)
    return lambda thing: _new_function(ctypes.addressof(definition), id(thing), None)


def as_method(cls: type, name: str, address: int) -> Any:
    """A method descriptor (``METH_O``) of a class from the address of a function of the instance and one argument."""
    definition = _Definition(name.encode(), address, ONE_ARGUMENT, None)
    keep_alive(definition)
    return _new_method(cls, ctypes.addressof(definition))


ENTRY = "entry.$$"  # the name of a module's entry point


def entry_point(kernel: str, kinds: str, grain: int) -> tuple[Function, Value]:
    """The entry point of a kernel, and the value that it returns.

    Python calls it with the number of items and then the arguments, and gets the last of those; or the number of items,
    if the task has refused an array for what is in it, which it says in a slot of its own. What is no number where
    one belongs is a TypeError.

    Args:
        kernel: the name of the task.
        kinds: a letter for each argument: ``a`` an array (the slot holds the address of its data), ``i`` an
            integer, ``f`` a float; ``r`` at the end: the slot behind them says whether the task refused.
        grain: the fewest items worth handing to another thread.
    """
    f = Function(ENTRY, [("self", PTR), ("args", PTR), ("count", I64)], returns=PTR)
    slots, refuses, kinds = f.stack_array(max(1, len(kinds)), I64), kinds.endswith("r"), kinds.rstrip("r")
    refused = f.at(slots, len(kinds), I64)
    if refuses:
        f.store(f.constant(0, I64), refused)

    def argument(i: int) -> Any:
        return f.load(f.at(f["args"], i, PTR), PTR)

    def integer(value: Any) -> Any:
        """The value of Python's or NumPy's integer."""
        return f.call("PyNumber_AsSsize_t", value, nothing, returns=I64, external=True)

    nothing = f.convert("inttoptr", f.constant(0, I64), PTR)
    for i, kind in enumerate(kinds):
        slot, value = f.at(slots, i, I64), argument(i + 1)
        if kind == "a":
            f.store(f.load(f.at(value, DATA // 8, I64), I64), slot)
        elif kind == "i":
            f.store(integer(value), slot)
        else:
            f.store(f.call("PyFloat_AsDouble", value, returns=F64, external=True), slot)
    n = integer(argument(0))

    def serial() -> None:
        f.call(kernel, slots, f.constant(0, I64), n)

    def parallel() -> None:
        # Threads compute without the GIL: another Python thread may run meanwhile.
        state = f.call("PyEval_SaveThread", returns=PTR, external=True)
        f.call("pullback_share", f.symbol(kernel), slots, n, f.constant(grain, I64), external=True)
        f.call("PyEval_RestoreThread", state, external=True)

    def compute() -> None:
        f.if_else(n <= 2 * grain, serial, parallel)
        last = argument(len(kinds))
        if refuses:
            last = f.select(f.load(refused, I64).differs(0), argument(0), last)
        f.call("Py_IncRef", last, external=True)
        result.set(last)

    result = f.variable(nothing)
    f.if_else(f.call("PyErr_Occurred", returns=PTR, external=True).equals(nothing), compute, lambda: None)
    return f, result.get()


def load_function(name: str, write: Callable[[], str], *key: Any) -> Callable:
    """The entry point of a module, compiled or from the cache; see :func:`pullback.kernels.codegen.jit.load` for the
    arguments.
    """
    return as_function(name, jit.load(write, name, *key)(ENTRY))
