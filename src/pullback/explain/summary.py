"""``summary(model, input)``: layers, shapes, parameters, memory and arithmetic, from one forward pass that is looked at."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np

from ..autograd.engine import reachable
from ..autograd.graph import Node, clock
from ..autograd.modes import enable_grad
from ..storage import edge_of, owner_of
from ..tensor import Tensor
from .recorder import replaced


@dataclass(frozen=True, slots=True)
class Row:
    """One module.

    Attributes:
        path: its path in the model, ``""`` for the model itself.
        kind: its class.
        depth: how deep it lies.
        outputs: the shapes of what it returned, at its last call.
        parameters, trainable: how many numbers its own parameters have, without those of modules in it.
        forward, backward: floating-point operations of its own, over all its calls (see :func:`summary`).
        kept: bytes that its own operations keep for backward, parameters apart.
        calls: how often it was called.
    """

    path: str
    kind: str
    depth: int
    outputs: list[tuple[int, ...]]
    parameters: int
    trainable: int
    forward: int
    backward: int
    kept: int
    calls: int


@dataclass(frozen=True)
class Summary:
    """What :func:`summary` found: a row a module, outermost first, and sums over all."""

    rows: list[Row]
    parameters: int
    trainable: int
    forward: int
    backward: int
    kept: int

    def __str__(self) -> str:
        from .text import rendered, summary_text

        return rendered(summary_text(self))

    def __repr__(self) -> str:
        return str(self)

    def print(self) -> None:
        """Print it as a table."""
        from rich.console import Console

        from .text import summary_text

        Console().print(summary_text(self))


class _Seen:
    """What was seen of one module."""

    def __init__(self) -> None:
        self.outputs: list[tuple[int, ...]] = []
        self.calls = self.forward = self.backward = self.kept = 0


def summary(model: Any, *inputs: Any, **options: Any) -> Summary:
    """Run a model's forward pass once and tell what it consists of. The model is left as it was.

    Operations are counted as usual: a product of matrices takes 2 n m k, a convolution two for each weight and output position,
    an elementwise operation or a reduction one an element, a view none. Backward counts each operation once for each input that
    takes part. A module's figures are those of the operations outside of the modules in it.

    Args:
        model: an ``nn.Module``.
        inputs, options: what to call it with.

    >>> import pullback as torch
    >>> net = torch.nn.Sequential(torch.nn.Linear(10, 4), torch.nn.ReLU())
    >>> s = torch.summary(net, torch.zeros(2, 10))
    >>> s.parameters, s.forward, [row.outputs for row in s.rows]
    (44, 176, [[(2, 4)], [(2, 4)], [(2, 4)]])
    """
    from ..nn import Module

    seen: dict[int, _Seen] = {id(m): _Seen() for m in model.modules()}
    spans: list[tuple[int, int, Any]] = []  # innermost calls end first
    buffers = [(b, b._array.copy()) for b in model.buffers()]

    def noting(original: Callable) -> Callable:
        @wraps(original)
        def __call__(module: Any, *args: Any, **kwargs: Any) -> Any:
            start = clock()
            result = original(module, *args, **kwargs)
            spans.append((start, clock(), module))
            if id(module) in seen:
                seen[id(module)].calls += 1
                seen[id(module)].outputs = [t._array.shape for t in tensors_in(result)]
            return result

        return __call__

    try:
        with enable_grad(), replaced(Module, "__call__", noting(Module.__call__)):
            result = model(*map(asking, inputs), **{k: asking(v) for k, v in options.items()})
    finally:
        for buffer, before in buffers:  # running averages of batch norm
            buffer._array[...] = before
    own = {id(owner_of(p._array)) for p in model.parameters()}
    counted: set[int] = set()
    for node in reachable([e for t in tensors_in(result) if (e := edge_of(t)) is not None]):
        module = next((m for start, end, m in spans if start < node._seq < end and id(m) in seen), model)
        entry = seen[id(module)]
        operations = forward_operations(node)
        entry.forward += operations
        taking_part = sum(e is not None for e in node._edges)
        entry.backward += operations * min(taking_part, 2 if node._op is not None and node._op.name in PRODUCTS else 64)
        for value in node._saved:
            for a in value if value.__class__ in (list, tuple) else (value,):
                if isinstance(a, np.ndarray) and id(owner_of(a)) not in own | counted:
                    counted.add(id(owner_of(a)))
                    entry.kept += a.nbytes
    rows = []
    for path, module in model.named_modules():
        entry = seen[id(module)]
        ps = [p for p in module._parameters.values() if p is not None]
        rows.append(Row(path, type(module).__name__, path.count(".") + 1 if path else 0, entry.outputs, sum(p.numel() for p in ps),
                        sum(p.numel() for p in ps if p._fn is not None), entry.forward, entry.backward, entry.kept, entry.calls))  # fmt: skip
    ps = list(model.parameters())
    return Summary(rows, sum(p.numel() for p in ps), sum(p.numel() for p in ps if p._fn is not None), sum(r.forward for r in rows),
                   sum(r.backward for r in rows), sum(r.kept for r in rows))  # fmt: skip


def asking(value: Any) -> Any:
    """An input that asks for its gradient, so that every operation is recorded; frozen models are, too."""
    if isinstance(value, Tensor) and value.is_floating_point() and not value.requires_grad:
        return copy.copy(value.detach()).requires_grad_()
    return value


def tensors_in(value: Any) -> list[Tensor]:
    """The tensors in what a module returned."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [t for v in value for t in tensors_in(v)] if isinstance(value, list | tuple) else []


PRODUCTS = {"linear", "convolution", "elman", "gru", "lstm", "matmul", "addmm", "addmv", "addbmm", "baddbmm"}  # a bias costs next to nothing


def forward_operations(node: Node) -> int:
    """How many floating-point operations a node's forward took."""
    op = node._op
    shapes = node._shape if node._shape.__class__ is list else [node._shape]
    out = sum(math.prod(s) for s in shapes)
    if op is None:
        return out
    if op.kind == "view" or op.name in ("clone", "cast", "cat", "stack", "index", "embedding", "identity"):
        return 0
    name = op.name
    if name in ("linear", "convolution", "elman", "gru", "lstm"):
        weight = operand(node, "weight")
        if weight is None:
            return out
        if name == "linear":
            return out * 2 * weight[-1] + (out if node._edges[-1] is not None else 0)
        if name == "convolution":
            return out // max(1, shapes[0][1]) * 2 * math.prod(weight)
        rows = operand(node, "hidden") or (1, weight[-1])
        return out // rows[-1] * 2 * math.prod(weight)
    if name in ("matmul", "addmm", "addmv", "addbmm", "baddbmm"):
        inner = operand(node, op.params[op.tensors[-2]])
        return out * 2 * (inner[-1] if inner else 1)
    first = operand(node, op.params[op.tensors[0]]) if op.tensors and not op.listed else None
    return max(out, math.prod(first)) if first is not None else out


def operand(node: Node, name: str) -> tuple[int, ...] | None:
    """The shape of an operation's argument, from where its gradient goes or from what was kept."""
    op = node._op
    if name in op.params and op.params.index(name) in op.tensors and not op.listed:
        e = node._edges[op.tensors.index(op.params.index(name))]
        if e is not None:
            return e._array.shape if e._seq == 0 else e._shape if e._seq > 0 else e.node._shape[e.index]
    for saved, value in zip(op.saved_names, node._saved):
        if saved == name and isinstance(value, np.ndarray):
            return value.shape
        if saved == name + "_shape" and value is not None:
            return value
    return None
