"""Native kernels for large arrays: machine code that Python generates through LLVM, cached on disk.

    scalar expressions ─► vector LLVM IR ─► machine code      (elementwise operations and their derivative rules)
    hand-written kernels ─►                                   (softmax, convolution, recurrence, optimizers, ...)

NumPy computes what is small, unless it would take many steps, and everything where llvmlite can't be imported or
``PULLBACK_KERNELS=off``: results agree to rounding. ``PULLBACK_KERNELS=always`` uses kernels for every size and
``PULLBACK_VECTOR=16`` vectors of so many bytes, for testing. Nothing is loaded before the first kernel is asked for.

This module decides whether there are kernels and runs hand-written ones by name. Elementwise operations come through
:mod:`pullback.kernels.dispatch`, matrix products through :mod:`pullback.kernels.gemm`.

>>> import pullback as torch
>>> sorted(torch.kernels.info())
['cache', 'compiled', 'fetched', 'memory', 'processor', 'reason', 'running', 'threads', 'vector']
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from ..base import layout
from . import malloc, thresholds
from .thresholds import BLOCKED, NEVER, SIZES

__all__ = ["info", "set_num_threads", "get_num_threads"]

MODE = os.environ.get("PULLBACK_KERNELS", "on").lower()
if MODE not in ("on", "off", "always"):
    raise ValueError(f"PULLBACK_KERNELS must be on, off or always, not {MODE!r}")
# Elements from which elementwise operations ask for a kernel, or for blocks; SHARED where NumPy has a single loop.
LARGE, SHARED = thresholds.of_elementwise(MODE)
_reason = ""
_started = False
_functions: dict[tuple[str, str], Callable] = {}  # kernels asked for so far
_threads = 0  # 0: as many as there are processors


def start() -> bool:
    """Load the code generator and the compiler; whether there are kernels."""
    global _started, LARGE, SHARED
    if not _started and MODE != "off" and not _reason:
        try:
            from .codegen import memory, threads  # only now: llvmlite takes long to import

            threads.set_count(_threads or _processors())
            memory.install()
            SIZES["index"] = SIZES["random"] = (
                1  # results are NumPy's to the bit: it may depend on whether kernels are loaded
            )
            _started = True
        except Exception as error:  # no llvmlite, or not for this processor: NumPy it is
            report_failure(error)
            LARGE = SHARED = BLOCKED
            malloc.keep_freed_memory()
    return _started and MODE != "off"


def report_failure(error: Exception) -> None:
    """Keep for :func:`info` why what builds on kernels does without them."""
    global _reason
    _reason = f"{type(error).__name__}: {error}"


def run(kind: str, name: str, size: int, *args: Any) -> Any:
    """The result of a hand-written kernel; None if NumPy is to compute it.

    Args:
        kind: the module that has the kernel.
        name: the function in it, which may also decline by returning None.
        size: how many elements there are to go through.
    """
    if size < SIZES[kind] and MODE != "always" or MODE == "off" or not (_started or start()):
        return None
    function = _functions.get((kind, name))
    if function is None:
        function = _functions[kind, name] = getattr(import_module("." + kind, __name__), name)
    return function(*args)


def set_num_threads(n: int) -> None:
    """Let kernels, and the linear algebra of NumPy and SciPy, use at most so many threads.

    Raises:
        RuntimeError: unless n is a positive integer.
    """
    global _threads
    if not hasattr(n, "__index__") or isinstance(n, bool):
        raise RuntimeError(f"set_num_threads expects an int, but got {type(n).__name__}")
    if n < 1:
        raise RuntimeError("set_num_threads expects a positive integer")
    _threads = n
    if _started:
        from .codegen import threads

        threads.set_count(n)
    limit_libraries()


def limit_libraries() -> None:
    """Tell the libraries of linear algebra that are loaded how many threads to use, if a program has said."""
    if _threads and sys.platform != "emscripten":  # where there are no threads
        from threadpoolctl import threadpool_limits  # only now: most programs never ask

        threadpool_limits(_threads, user_api="blas")


def get_num_threads() -> int:
    """How many threads kernels may use."""
    if _started:
        from .codegen import threads

        return threads.count()
    return _threads or _processors()


def _processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def info() -> dict[str, Any]:
    """Whether kernels are running and, if not, why; the processor; how many modules were compiled and fetched."""
    on = start()
    result: dict[str, Any] = {"running": on, "reason": _reason or ("PULLBACK_KERNELS=off" if MODE == "off" else "")}
    result.update(
        dict.fromkeys(("processor", "vector", "compiled", "fetched", "cache", "memory")), threads=get_num_threads()
    )
    if on:
        from .codegen import cache, jit, memory

        result.update(
            processor=jit.CPU,
            vector=jit.WIDTH,
            compiled=jit.compiled,
            fetched=jit.fetched,
            cache=cache.where(),
            memory=memory.held(),
        )
    return result


layout.transposing.append(lambda x: run("transpose", "contiguous_copy", x.size, x))
if MODE == "off":
    malloc.keep_freed_memory()
