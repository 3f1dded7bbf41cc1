"""Native kernels for large arrays: machine code that Python generates through LLVM, cached on disk.

    scalar expressions ─► vector LLVM IR ─► machine code      (elementwise operations and their derivative rules)
    written kernels    ─►                                     (rows, products, convolution, recurrence, order,
    optimizers, ...)

NumPy computes what is small, unless it would take many steps, and everything where llvmlite can't be imported or
``PULLBACK_KERNELS=off``: results agree to rounding. ``PULLBACK_KERNELS=always`` uses kernels for every size and
``PULLBACK_VECTOR=16`` vectors of so many bytes, for testing. Nothing is loaded before the first kernel is asked for.

>>> import pullback as torch
>>> sorted(torch.kernels.info())
['cache', 'compiled', 'fetched', 'memory', 'processor', 'reason', 'running', 'threads', 'vector']
"""

from __future__ import annotations

import ctypes
import math
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from numpy import ndarray, vecdot

__all__ = ["info", "set_num_threads", "get_num_threads"]

NEVER = sys.maxsize
# From how many elements (convolution, matmul: multiplications) on kernels win against NumPy, measured on one thread
# (AVX-512).
SIZES = {
    "elementwise": 1024,
    "shared": 1 << 16,
    "reduce": 4096,
    "convolution": 1 << 18,
    "pool": 1024,
    "topk_columns": 1024,
    "random": 1024,
    "recurrent": 256,
    "matmul": 1 << 18,
    "optimizer": 2048,
    "statistics": 1024,
    "embedding": 1024,
    "outer_products": 1024,
    "index": 1024,
    **dict.fromkeys(
        ("attention", "distance", "margin", "topk", "normalization", "grid_sample", "scan", "plane_scatter"), 1
    ),
}
# Functions of so many steps that a kernel wins at any size. Whether it is used never depends on whether kernels are
# loaded already: the same call gives the same bits.
AT_ANY_SIZE = {
    "_bce_losses",
    "_soft_margin_losses",
    "above",
    "celu",
    "elu",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "logit",
    "selu",
    "silu",
    "sinc",
    "softshrink",
}

MODE = os.environ.get("PULLBACK_KERNELS", "on").lower()
if MODE not in ("on", "off", "always"):
    raise ValueError(f"PULLBACK_KERNELS must be on, off or always, not {MODE!r}")
BLOCKED = 1 << 16  # elements from which NumPy alone goes block by block
LARGE = NEVER  # elements from which elementwise operations ask for a kernel, or for blocks
SHARED = NEVER  # elements from which they do where NumPy has one loop for all: threads share the kernel's
_reason = ""
_started = False
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h
_written: dict[tuple[str, str], Callable] = {}  # kernels asked for so far
_threads = 0  # 0: as many as there are processors


def _set_sizes(mode: str) -> None:
    global LARGE, SHARED
    LARGE = {"on": SIZES["elementwise"], "off": BLOCKED, "always": 1}[mode]
    SHARED = {"on": SIZES["shared"], "off": BLOCKED, "always": 1}[mode]


_set_sizes(MODE)


def _keep_memory() -> None:
    """Let the C library keep what large arrays give back, as :mod:`pullback.kernels.codegen.memory` does where there
    are kernels.

    Else glibc returns more than about twice the largest array, and a derivative with several in between waits for fresh
    pages
    again each time: for a million elements 10 ms instead of 2.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, 32 << 20)
        mallopt(M_TRIM_THRESHOLD, 256 << 20)


def start() -> bool:
    """Load what makes kernels; whether there are any."""
    global _started, _reason, LARGE, SHARED
    if not _started and MODE != "off" and not _reason:
        try:
            native = import_module(".codegen.jit", __name__)
            threads, memory = (import_module(f".codegen.{name}", __name__) for name in ("threads", "memory"))
            threads.set_count(_threads or native.threads_available())
            memory.install()
            # which give the very bits that NumPy does, so few elements need not have kernels loaded
            SIZES["index"] = 1
            _started = True
        except Exception as error:  # no llvmlite, or not for this processor: NumPy it is
            _reason = f"{type(error).__name__}: {error}"
            LARGE = SHARED = BLOCKED
            _keep_memory()
    return _started


def run(kind: str, name: str, size: int, *args: Any) -> Any:
    """The result of a written kernel; None if NumPy is to compute it.

    Args:
        kind: the module that has the kernel.
        name: the function in it, which may also decline by returning None.
        size: how many elements there are to go through.
    """
    if size < SIZES[kind] and MODE != "always" or MODE == "off" or not (_started or start()):
        return None
    function = _written.get((kind, name))
    if function is None:
        function = _written[kind, name] = getattr(import_module("." + kind, __name__), name)
    return function(*args)


def beside(name: str, functions: Sequence[Callable], fallback: Callable, even_plain: bool = False) -> Callable:
    """A function that computes with elementwise kernels what ``fallback`` computes with NumPy; without kernels, in
    blocks.

    Args:
        name: for the machine code; an operation's, if scalars know that by its name.
        functions: of scalars as of arrays, each giving one result.
        fallback: the same on arrays.
        even_plain: use kernels also where NumPy does as well.
    """
    made: Any = None

    def call(*values: Any) -> Any:
        nonlocal made
        if made is None:
            made = fallback
            if start():
                known = import_module(".codegen.scalar", __name__).OPERATIONS
                functions_ = [known.get(name, f) for f in functions]
                made = import_module(".codegen.elementwise", __name__).Kernels(name, functions_, fallback, even_plain)
            elif not even_plain:
                made = import_module(".numpy_blocks", __name__).Blocks(fallback)
        return made(*values)

    return call


LONG, FEW = 1 << 12, 36  # numbers in each of so many products of rows


def product(a: Any, b: Any, bias: Any = None) -> Any:
    """``a @ b + bias`` of two matrices."""
    if (
        a.shape[1] > LONG
        and len(a) * b.shape[1] <= FEW
        and a.dtype.kind == "f"
        and a.flags.c_contiguous
        and b.flags.f_contiguous
    ):
        out = vecdot(a[:, None], b.T)  # BLAS takes up to six times as long for a few long rows
        return out if bias is None else add_row(out, bias)
    if a.size * b.shape[1] >= SIZES["matmul"] and len(a) > 1 < b.shape[1] or MODE == "always":
        out = run("matmul", "product", NEVER - 1, a, b, bias)
        if out is not None:
            return out
    out = a.dot(b)
    return out if bias is None else add_row(out, bias)


def add_row(out: Any, row: Any) -> Any:
    """``out += row``; machine code takes its place once :mod:`pullback.core.record` has loaded it."""
    out += row
    return out


def for_large(name: str, compute: Callable, count: int, alone: bool = False) -> Callable:
    """A function of so many arrays that asks a kernel of the operation of that name where they are large.

    Args:
        alone: only the first is an array, the others are options.
    """
    kernel = beside(name, [compute], compute)
    if name in AT_ANY_SIZE and MODE != "off":
        return kernel

    def one(x: Any) -> Any:
        return kernel(x) if x.__class__ is ndarray and x.size >= LARGE else compute(x)

    def several(x: Any, *others: Any) -> Any:
        if x.__class__ is ndarray and x.size >= LARGE:
            return kernel(x, *others)
        for y in others:
            if y.__class__ is ndarray and y.size >= LARGE:
                return kernel(x, *others)
        return compute(x, *others)

    def first(x: Any, *options: Any) -> Any:
        return kernel(x, *options) if x.__class__ is ndarray and x.size >= LARGE else compute(x, *options)

    return one if count == 1 else first if alone else several


def of_half(op: Any, values: Sequence[Any], d: Any) -> Any:
    """An elementwise operation on half precision, which is widened and rounded on the way; None if NumPy is to do it.

    Args:
        d: the type of all the arrays.
    """
    if not any(v.__class__ is ndarray and v.size >= LARGE for v in values) or not all(
        v.dtype == d if v.__class__ is ndarray else v.__class__ in (int, float) for v in values
    ):
        return None
    if op.half_kernel is None:
        op.half_kernel = beside(op.name, [op.impl], lambda *values: None, even_plain=True)
    return op.half_kernel(*values)


def fused(op: Any) -> tuple[Callable, ...]:
    """The derivative rules of an operation on arrays, one for each tensor argument, each a kernel where there can be
    one.
    """
    if op.kernel_vjps is None:
        pulls = list(op.vjps)
        onto: list[Callable | None] = [None] * len(pulls)
        if op.kind == "elementwise" or op.name in ALSO_POINTWISE:
            for k, p in enumerate(op.tensors):
                rule = op.rules.get(op.params[p])
                if rule is not None:
                    name, adding = f"{op.name}_{op.params[p]}", _adding(rule)
                    pulls[k] = _fused(op, rule, beside(name, [rule], rule))
                    onto[k] = _fused(op, rule, beside(name + "_onto", [adding], adding))
        elif op.name == "linear":
            for k, p in enumerate(op.tensors[:2]):
                pulls[k] = _fused(op, op.rules[op.params[p]], (_of_input, _of_weight)[k])
        op.accumulating_vjps, op.kernel_vjps = tuple(onto), tuple(pulls)
    return op.kernel_vjps


def _adding(rule: Callable) -> Callable:
    """The rule's gradient added onto one that is there already."""

    def onto(g: Any, *values: Any) -> Any:
        *saved, waiting = values
        r = rule(g, *saved)
        return waiting if r is None else waiting + r

    return onto


ALSO_POINTWISE = ("keep", "threshold", "between")  # beside the elementwise operations


def _fused(op: Any, rule: Callable, compute: Callable) -> Callable:
    """``compute``, which takes what the rule takes, as a function of the gradient and what a node saved (and what it is
    to add to).
    """
    at = [op.saved_names.index(n) for n in rule.__code__.co_varnames[1 : rule.__code__.co_argcount]]
    if not at:
        return lambda g, saved, *onto: compute(g, *onto)
    if len(at) == 1:
        (i,) = at
        return lambda g, saved, *onto: compute(g, saved[i], *onto)
    return lambda g, saved, *onto: compute(g, *[saved[i] for i in at], *onto)


def _of_input(g: Any, weight: Any) -> Any:
    """The gradient of a linear map's input."""
    if weight.ndim == 1:
        return g[..., None] * weight
    if g.ndim == 2:
        return product(g, weight)
    return product(g.reshape(-1, g.shape[-1]), weight).reshape(*g.shape[:-1], weight.shape[1])


def _of_weight(g: Any, input: Any, weight_shape: tuple[int, ...]) -> Any:
    """The gradient of a linear map's weight; never a view, of which a leaf would keep a copy."""
    n = weight_shape[-1]
    gradient = product(g.reshape(-1, math.prod(weight_shape[:-1])).T, input.reshape(-1, n))
    return gradient if len(weight_shape) == 2 else gradient.reshape(weight_shape)


def set_num_threads(n: int) -> None:
    """Let kernels use at most so many threads.

    Raises:
        RuntimeError: unless n is positive.
    """
    global _threads
    if n < 1:
        raise RuntimeError("set_num_threads expects a positive integer")
    _threads = n
    if _started:
        import_module(".codegen.threads", __name__).set_count(n)


def get_num_threads() -> int:
    """How many threads kernels may use."""
    if _started:
        return import_module(".codegen.threads", __name__).count()
    return (
        _threads or len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else _threads or os.cpu_count() or 1
    )


def info() -> dict[str, Any]:
    """What there is: whether kernels are running and, if not, why; the processor; modules compiled and fetched."""
    on = start()
    result: dict[str, Any] = {"running": on, "reason": _reason or ("PULLBACK_KERNELS=off" if MODE == "off" else "")}
    result.update(
        dict.fromkeys(("processor", "vector", "compiled", "fetched", "cache", "memory")), threads=get_num_threads()
    )
    if on:
        native, cache, memory = (import_module(f".codegen.{name}", __name__) for name in ("jit", "cache", "memory"))
        result.update(
            processor=native.CPU,
            vector=native.WIDTH,
            compiled=native.compiled,
            fetched=native.fetched,
            cache=None if cache.folder() is None else str(cache.folder()),
            memory=memory.held(),
        )
    return result


if MODE == "off":
    _keep_memory()
