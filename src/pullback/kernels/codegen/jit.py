"""The JIT compiler: from LLVM IR to loaded machine code, compiled for this processor or fetched from the cache.

A kernel is a task ``void kernel(ptr slots, i64 from, i64 to)``: it does the items from .. to of a job whose arguments
lie in slots of eight bytes. How Python calls one is in :mod:`pullback.kernels.codegen.entry`.

Machine code reads the fields of Python's objects; that they are where :mod:`~pullback.kernels.codegen.object_layout`
says is checked once, here.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from ...base import forks, thread_state
from ...base.holding import holding
from . import cache, object_layout

ATTRIBUTES = 'attributes #0 = { nounwind "prefer-vector-width"="512" "no-trapping-math"="true" }\n'

lock = forks.lock(forks.Order.KERNELS)  # around what is done once for the process
# llvmlite's own, around each call of LLVM
forks.keep(getattr(getattr(llvm.ffi.lib, "_lock", None), "_lock", lock), forks.Order.LLVM)
_loaded: set[str] = set()
compiled = fetched = 0  # modules of this process: compiled, and taken from the disk


class Unsupported(ImportError):
    """This machine or interpreter can't run kernels."""


def _check() -> None:
    """Whether objects look as expected, and the interpreter can call machine code."""
    if kind := object_layout.mismatch():
        raise Unsupported(f"this interpreter lays out a {kind} in a way that machine code does not know")
    if sys.platform == "win32":
        raise Unsupported("kernels have not been tried on Windows")
    if not hasattr(ctypes.pythonapi, "PyCFunction_NewEx") or not thread_state.global_lock:
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
_files = cache.files()
_stamp, SOURCES = cache.stamp(_files), cache.sources()
TARGET = SOURCES, CPU, FEATURES, TRIPLE, WIDTH, object_layout.OFFSETS, VERSIONS  # in the cache key of every module
_machine = llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=CPU, features=FEATURES, opt=3, jit=True)
_engine = llvm.create_mcjit_compiler(llvm.parse_assembly(f'target triple = "{TRIPLE}"'), _machine)


def keep_alive(thing: Any) -> None:
    """Never free an object that machine code refers to: functions may outlive this module at the interpreter's end."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


keep_alive(_engine)  # in whose memory the code is


def add_symbol(name: str, address: int) -> None:
    """Let modules that are linked from now on refer to an address by a name."""
    llvm.add_symbol(name, address)


def load(write: Callable[[], str], *key: Any) -> Callable[[str], int]:
    """Fetch a module from the cache, or write and compile it.

    Args:
        write: gives the LLVM IR. ``$$`` in names becomes the module's own suffix, so that names of modules never clash.
        key: all that the IR depends on besides the code in ``kernels/`` and the processor: whatever can be pickled.

    Returns:
        A function from the name of one of the module's functions (with ``$$``) to its address.
    """
    return holding(lock, _load, write, key)


def _load(write: Callable[[], str], key: tuple[Any, ...]) -> Callable[[str], int]:
    global compiled, fetched
    name = cache.key(key, *TARGET)
    code = cache.read(name)
    if code is None:
        code = _compile(write().replace("$$", name))
        if cache.stamp(_files) == _stamp:  # what wrote this is what the name says
            cache.write(name, code)
        compiled += 1
    else:
        fetched += 1
    if name not in _loaded:
        _engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        _engine.finalize_object()
        _loaded.add(name)
    return lambda function: _engine.get_function_address(function.replace("$$", name))


def _compile(text: str) -> bytes:
    with _prepared(text) as module:
        return _machine.emit_object(module)


def assembly(text: str) -> str:
    """The machine code of a module as assembly, for reading."""
    with _prepared(text) as module:
        return _machine.emit_assembly(module)


@contextmanager
def _prepared(text: str) -> Iterator[llvm.ModuleRef]:
    """A module for which machine code is to be written inside."""
    module = llvm.parse_assembly(text + "\n" + ATTRIBUTES)
    module.triple, module.data_layout = TRIPLE, str(_machine.target_data)
    passes = llvm.create_pass_builder(_machine, llvm.create_pipeline_tuning_options(speed_level=1))
    manager = llvm.create_new_function_pass_manager()
    manager.add_sroa_pass()
    for function in module.functions:
        if not function.is_declaration:
            manager.run(function, passes)
    # LLVM's search for the best induction variables takes half of the time, and gains nothing measurable. The option is
    # the process's: others who use llvmlite get it back.
    llvm.set_option("pullback", "-disable-lsr=true")
    try:
        yield module
    finally:
        llvm.set_option("pullback", "-disable-lsr=false")
