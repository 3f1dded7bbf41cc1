"""``torch.utils.flop_counter``: counts the floating-point operations of matrix products and convolutions.

Forward they are counted where they compute, backward where the engine visits their nodes; each in all modules that are
being called, or that recorded the node.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from ..core.graph import AccumulateGrad, Node, clock
from ..core.interpose import Interposer
from ..engine.hooks import observe
from ..levels import aten
from ..nn.modules.hooks import watchers
from ..ops import convolution, linear, matmul
from ..ops.values.sparse_coo import Coo
from .summary import operand_shape

__all__ = ["FlopCounterMode"]

GLOBAL = "Global"  # everything, be it in a module or not


def _product(op: Any, shapes: Sequence[Any]) -> tuple[str, int]:
    """Which kernel a product is, and what it takes."""
    if op is linear._linear.op:
        x, weight = shapes[0], shapes[1]
        return ("mm" if len(shapes) < 3 or shapes[2] is None else "addmm"), 2 * math.prod(x) * math.prod(weight[:-1])
    a, b = (shapes if op is matmul._matmul.op else shapes[1:])[:2]
    if len(a) < 2 or len(b) < 2:
        return "", 0
    name = {2: "mm"}.get(max(len(a), len(b)), "bmm") if op is matmul._matmul.op else op.name
    batch = math.prod(max(a[:-2], b[:-2], key=math.prod))
    return name, 2 * batch * a[-2] * a[-1] * b[-1]


PRODUCTS = {linear._linear.op, matmul._matmul.op, matmul.addmm.op, matmul.baddbmm.op}


class FlopCounterMode:
    """Counts inside of its block.

    Args:
        mods: accepted; modules are found as they are called.
        depth: how many levels of modules the table shows.
        display: print it at the end of the block.

    >>> import pullback as torch
    >>> from pullback.utils.flop_counter import FlopCounterMode
    >>> with FlopCounterMode(display=False) as counter:
    ...     _ = torch.nn.Linear(3, 4)(torch.ones(2, 3))
    >>> counter.get_total_flops(), str(*counter.get_flop_counts()["Linear"])
    (48, 'aten.addmm')
    """

    def __init__(self, mods: Any = None, depth: int = 2, display: bool = True, custom_mapping: Any = None) -> None:
        if custom_mapping:
            raise NotImplementedError("FlopCounterMode: custom_mapping has formulas for PyTorch's kernels")
        self.depth, self.display = depth, display
        self.flop_counts: defaultdict[str, defaultdict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self._names: dict[int, str] = {}
        self._inside: list[str] = []  # the modules that are being called
        self._spans: list[tuple[int, int, str]] = []  # of numbers of nodes, and the module that recorded them

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        self._stack = ExitStack()
        self._stack.enter_context(_Counter(self))
        self._stack.enter_context(observe(self._visited))
        watcher = _Watcher(self)
        watchers.append(watcher)
        self._stack.callback(watchers.remove, watcher)
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()
        if self.display:
            print(self.get_table(self.depth))

    def count(self, kernel: str, flops: int, modules: Sequence[str]) -> None:
        if flops:
            for name in dict.fromkeys((GLOBAL, *modules)):
                self.flop_counts[name][getattr(aten, kernel)] += flops

    def _visited(self, node: Node, came: tuple[Any, ...], left: tuple[Any, ...]) -> None:
        """A node of the backward pass: each gradient that it computed took what the forward product did."""
        if isinstance(node, AccumulateGrad):
            return
        op, gradients = node._op, [g for g in left if g is not None and len(g.shape) > 1]
        modules = [name for start, end, name in self._spans if start < node._seq < end]
        if op is convolution.convolution.op:
            (_, input), (_, weight), *_ = shapes = [(g, operand_shape(node, p)) for p, g in zip(op.params, left)]
            transposed = node._saved[op.saved_names.index("transposed")]
            positions = input if transposed else came[0].shape
            if weight and positions and positions[1]:
                each = 2 * math.prod(positions) // positions[1] * math.prod(weight)
                self.count("convolution_backward", each * len([g for g, _ in shapes[:2] if g is not None]), modules)
        elif op in PRODUCTS and gradients:
            g = came[0].shape
            a, b = left[-3:-1] if op is linear._linear.op and len(left) > 2 else left[-2:]
            inner = a.shape[-1] if a is not None else b.shape[-1 if op is linear._linear.op else -2]
            if len(g) > 1:
                kernel = "mm" if op is linear._linear.op or len(g) == 2 else "bmm"
                of_matrices = [x for x in (a, b) if x is not None]
                self.count(kernel, 2 * math.prod(g) * inner * len(of_matrices), modules)

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """For each module and for all together: how many operations each kernel took."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_total_flops(self) -> int:
        """How many there were in all."""
        return sum(self.flop_counts[GLOBAL].values())

    def get_table(self, depth: int | None = None) -> str:
        """A line for each module, and one for each kernel in it."""
        depth = self.depth if depth is None else depth
        total = max(self.get_total_flops(), 1)
        rows = [("Module", "FLOP", "% Total")]
        for name in sorted(self.flop_counts, key=lambda name: (name != GLOBAL, name)):
            level = 0 if name == GLOBAL else name.count(".") + 1
            if level > depth:
                continue
            counts = self.flop_counts[name]
            for text, n in ((name, sum(counts.values())), *[(f" - {kernel}", n) for kernel, n in counts.items()]):
                rows.append((" " * level + text, f"{n:,}", f"{100 * n / total:.2f}%"))
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        lines = [f"{a:<{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}".rstrip() for a, b, c in rows]
        return "\n".join([lines[0], "  ".join(["-" * w for w in widths]), *lines[1:]])


class _Counter(Interposer):
    """Counts what computes."""

    def __init__(self, mode: FlopCounterMode) -> None:
        self.mode = mode

    def compute(self, op: Any, values: Sequence[Any]) -> Any:
        result = super().compute(op, values)
        if not any([isinstance(v, Coo) for v in values]):
            if op in PRODUCTS:
                self.mode.count(*_product(op, [getattr(v, "shape", None) for v in values]), self.mode._inside)
            elif op is convolution.convolution.op:
                x, weight = values[:2]
                positions = x.shape if values[op.params.index("transposed")] else result.shape
                each = math.prod(positions) // positions[1] if positions[1] else 0
                self.mode.count("convolution", 2 * each * math.prod(weight.shape), self.mode._inside)
        return result


class _Watcher:
    """Follows which modules are being called."""

    def __init__(self, mode: FlopCounterMode) -> None:
        self.mode, self.starts = mode, list[int]()

    def enter(self, module: Any, frame: Any) -> None:
        mode = self.mode
        if id(module) not in mode._names:
            kind = type(module).__name__
            for path, part in module.named_modules():
                mode._names.setdefault(id(part), f"{kind}.{path}" if path else kind)
        mode._inside.append(mode._names[id(module)])
        self.starts.append(clock())

    def leave(self, module: Any, result: Any) -> None:
        self.mode._spans.append((self.starts.pop(), clock(), self.mode._inside.pop()))
