"""From LLVM IR to functions that Python calls: compile or fetch from the cache, link, and wrap.

A kernel is a task ``void kernel(ptr slots, i64 from, i64 to)``: it does the items from .. to of a job whose arguments
lie in slots of eight bytes. :func:`entry` writes a function around it that the interpreter calls like one of its own
built-in functions, without the detour through ctypes: it takes arrays, integers and floats, puts the addresses of the
arrays' data and the numbers into slots, and runs the items, on several threads if there are many.

The addresses are read from the array objects, whose layout is part of NumPy's binary interface; it is checked once.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
import threading
from collections.abc import Callable
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numpy as np

from . import cache
from .llvm_ir import F64, I64, PTR, Function, Value

ATTRIBUTES = 'attributes #0 = { nounwind "prefer-vector-width"="512" "no-trapping-math"="true" }\n'
HEAD = object.__basicsize__  # the array's data pointer comes right behind the object's head
DATA, RANK, SHAPE, STRIDES = HEAD, HEAD + 8, HEAD + 16, HEAD + 24

lock = threading.RLock()  # around what is done once for the process
if hasattr(os, "register_at_fork"):  # a child must not inherit it locked by a thread that it lacks
    os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)
_loaded: set[str] = set()
compiled = fetched = 0  # modules of this process: compiled, and taken from the disk


class Unsupported(Exception):
    """This machine or interpreter can't run kernels."""


def _check() -> None:
    """Whether arrays look as expected, and the processor can do what kernels ask of it."""
    a = np.arange(6.0).reshape(2, 3)
    found = ctypes.c_void_p.from_address(id(a) + DATA).value, ctypes.c_int.from_address(id(a) + RANK).value
    shape = ctypes.c_void_p.from_address(id(a) + SHAPE).value
    if (
        ctypes.sizeof(ctypes.c_void_p) != 8
        or found != (a.ctypes.data, 2)
        or ctypes.c_int64.from_address(shape or 0).value != 2
    ):
        raise Unsupported("arrays have another layout than expected")
    if sys.platform == "win32":
        raise Unsupported("kernels have not been tried on Windows")
    if not hasattr(ctypes.pythonapi, "PyCFunction_NewEx") or not getattr(sys, "_is_gil_enabled", lambda: True)():
        raise Unsupported("the interpreter is not CPython with its global lock")


_check()
llvm.initialize_native_target()
llvm.initialize_native_asmprinter()
TRIPLE = llvm.get_process_triple()
CPU = llvm.get_host_cpu_name()
_features = llvm.get_host_cpu_features()
FEATURES = _features.flatten()
if TRIPLE.startswith("x86") and not (_features.get("fma") and _features.get("avx2")):
    raise Unsupported(f"the processor ({CPU}) lacks AVX2 or FMA")
WIDTH = 64 if _features.get("avx512f") else 32 if TRIPLE.startswith("x86") else 16  # bytes in a vector
REGISTERS = 32 if WIDTH != 32 else 16
WIDTH = min(WIDTH, int(os.environ.get("PULLBACK_VECTOR", WIDTH)))  # narrower ones, to test
VERSIONS = f"{llvmlite.__version__} {'.'.join(map(str, llvm.llvm_version_info))} {platform.python_version()}"
SOURCES = cache.sources()
AROUND = SOURCES, CPU, FEATURES, TRIPLE, WIDTH, HEAD, VERSIONS  # what decides about all machine code
_machine = llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=CPU, features=FEATURES, opt=3, jit=True)
_engine = llvm.create_mcjit_compiler(llvm.parse_assembly(f'target triple = "{TRIPLE}"'), _machine)


def keep(thing: Any) -> None:
    """Let something that machine code refers to stay where it is, for ever: functions may outlive this module at the
    interpreter's end.
    """
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


keep(_engine)  # in whose memory the code is


def provide(name: str, address: int) -> None:
    """Make an address known to kernels by a name."""
    llvm.add_symbol(name, address)


def load(write: Callable[[], str], *told: Any) -> Callable[[str], int]:
    """Fetch a module from the cache, or have it written and compile it.

    Args:
        write: gives LLVM IR. ``$$`` in names stands for the module's own suffix, which keeps those of modules apart.
        told: what decides, together with the code in this folder and the processor, what is written: whatever can be
            pickled.

    Returns:
        A function from the name of one of the module's functions (with ``$$``) to its address.
    """
    global compiled, fetched
    with lock:
        name = cache.key(told, *AROUND)
        code = cache.read(name)
        if code is None:
            code = _compile(write().replace("$$", name))
            if cache.sources() == SOURCES:  # what wrote this is what the name says
                cache.write(name, code)
            compiled += 1
        else:
            fetched += 1
        if name not in _loaded:
            _loaded.add(name)
            _engine.add_object_file(llvm.ObjectFileRef.from_data(code))
            _engine.finalize_object()
        return lambda function: _engine.get_function_address(function.replace("$$", name))


def _compile(text: str) -> bytes:
    module = llvm.parse_assembly(text + "\n" + ATTRIBUTES)
    module.triple, module.data_layout = TRIPLE, str(_machine.target_data)
    passes = llvm.create_pass_builder(_machine, llvm.create_pipeline_tuning_options(speed_level=1))
    manager = llvm.create_new_function_pass_manager()
    manager.add_sroa_pass()
    for function in module.functions:
        if not function.is_declaration:
            manager.run(function, passes)
    return _machine.emit_object(module)


def assembly(text: str) -> str:
    """The machine code of a module as assembly, for reading."""
    module = llvm.parse_assembly(text + "\n" + ATTRIBUTES)
    module.triple, module.data_layout = TRIPLE, str(_machine.target_data)
    return _machine.emit_assembly(module)


# --- functions for Python ---------------------------------------------------------------------------------------

for _name in (
    "PyLong_AsSsize_t",
    "PyNumber_AsSsize_t",
    "PyFloat_AsDouble",
    "Py_IncRef",
    "PyEval_SaveThread",
    "PyEval_RestoreThread",
):
    provide(_name, ctypes.cast(getattr(ctypes.pythonapi, _name), ctypes.c_void_p).value or 0)


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
    """A built-in function of Python's from the address of one written by :func:`entry`, or likewise."""
    definition = _Definition(name.encode(), address, FASTCALL, None)
    keep(definition)
    return _new_function(ctypes.addressof(definition), None, None)


def bound(name: str, address: int) -> Callable[[Any], Callable]:
    """What makes built-in functions from one address, each bound to an object that the function finds as its
    ``self``.
    """
    definition = _Definition(name.encode(), address, FASTCALL, None)
    keep(definition)
    return lambda thing: _new_function(ctypes.addressof(definition), id(thing), None)


def as_method(cls: type, name: str, address: int) -> Any:
    """A method of a class from the address of a function of the instance and one argument."""
    definition = _Definition(name.encode(), address, ONE_ARGUMENT, None)
    keep(definition)
    return _new_method(cls, ctypes.addressof(definition))


ENTRY = "entry.$$"  # the name of a module's function for Python


def entry(kernel: str, kinds: str, grain: int) -> tuple[Function, Value]:
    """The function around a kernel that Python calls, and what it returns.

    It is called with the number of items and then the arguments, and returns the last of those; or the number, if the
    task has refused something that it found in an array, by writing into a slot for that.

    Args:
        kernel: the name of the task.
        kinds: a letter for each argument: ``a`` an array (the slot holds the address of its data), ``i`` an
            integer, ``f`` a float; ``r`` at the end: the slot behind them is one to refuse by.
        grain: how many items are worth a thread's while.
    """
    f = Function(ENTRY, [("self", PTR), ("args", PTR), ("count", I64)], returns=PTR)
    slots, refuses, kinds = f.room(max(1, len(kinds)), I64), kinds.endswith("r"), kinds.rstrip("r")
    refused = f.at(slots, len(kinds), I64)
    if refuses:
        f.store(f.constant(0, I64), refused)

    def given(i: int) -> Any:
        return f.load(f.at(f["args"], i, PTR), PTR)

    def integer(value: Any) -> Any:
        """Of Python's or NumPy's integers."""
        return f.call("PyNumber_AsSsize_t", value, nothing, returns=I64, outside=True)

    nothing = f.convert("inttoptr", f.constant(0, I64), PTR)
    for i, kind in enumerate(kinds):
        slot, value = f.at(slots, i, I64), given(i + 1)
        if kind == "a":
            f.store(f.load(f.at(value, DATA // 8, I64), I64), slot)
        elif kind == "i":
            f.store(integer(value), slot)
        else:
            f.store(f.call("PyFloat_AsDouble", value, returns=F64, outside=True), slot)
    n = integer(given(0))

    def alone() -> None:
        f.call(kernel, slots, f.constant(0, I64), n)

    def together() -> None:
        state = f.call("PyEval_SaveThread", returns=PTR, outside=True)
        f.call("pullback_share", f.symbol(kernel), slots, n, f.constant(grain, I64), outside=True)
        f.call("PyEval_RestoreThread", state, outside=True)

    f.choose(n <= 2 * grain, alone, together)
    last = given(len(kinds))
    if refuses:
        last = f.select(f.load(refused, I64).differs(0), given(0), last)
    f.call("Py_IncRef", last, outside=True)
    return f, last


def function(name: str, write: Callable[[], str], *told: Any) -> Callable:
    """The function for Python of a module that is loaded as by :func:`load`, which is told its name, too."""
    from . import memory, threads  # noqa: F401  (what they provide has to be there before it is referred to)

    return as_function(name, load(write, name, *told)(ENTRY))


def threads_available() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
