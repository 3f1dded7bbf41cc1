"""``summary(model, input)``: layers, shapes, parameters, memory and FLOPs, from one observed forward pass."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.thread_state import enable_grad
from ..core.graph import Node, clock
from ..core.level import sequence_number
from ..core.tensor import Tensor, on_detach
from ..core.versions import owner_of
from ..core.views import gradient_edge
from ..engine.plan import reachable
from ..nn.modules.hooks import watchers
from ..ops import (
    attention,
    concat,
    convert,
    embedding,
    flip_roll,
    index,
    linear,
    matmul,
    memory,
    pad,
    recurrent,
    view,
)
from ..ops.convolution import convolution


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
        # deferred: rich is slow to import
        from .text import rendered, summary_text

        return rendered(summary_text(self))

    def __repr__(self) -> str:
        return str(self)

    def print(self) -> None:
        """Print it as a table."""
        # deferred: rich is slow to import
        from rich.console import Console

        from .text import summary_text

        Console().print(summary_text(self))


class _ModuleStats:
    """The counts for one module."""

    def __init__(self) -> None:
        self.outputs: list[tuple[int, ...]] = []
        self.calls = self.forward = self.backward = self.kept = 0


class _CallWatcher:
    """Observes module calls.

    Attributes:
        spans: the numbers on the clock between which each ran, and the module; innermost calls end first.
        cuts: where the model itself detached something.
    """

    def __init__(self, seen: dict[int, _ModuleStats]) -> None:
        self.seen, self.running = seen, list[int]()
        self.spans: list[tuple[int, int, Any]] = []
        self.detaches: list[Any] = []

    def enter(self, module: Any, frame: Any) -> None:
        self.running.append(clock())

    def leave(self, module: Any, result: Any) -> None:
        self.spans.append((self.running.pop(), clock(), module))
        if id(module) in self.seen:
            self.seen[id(module)].calls += 1
            self.seen[id(module)].outputs = [t._array.shape for t in tensors_in(result)]

    def cut(self, tensor: Tensor, how: str) -> None:
        self.detaches.append(gradient_edge(tensor))


def summary(model: Any, *inputs: Any, **options: Any) -> Summary:
    """Run a model's forward pass once and tell what it consists of. The model is left as it was.

    Operations are counted as usual: a product of matrices takes 2 n m k, a convolution two for each weight and output
    position, a recurrent layer its products and one a gate, attention its two products and one a weight, an elementwise
    operation or a reduction one an element, a view none. Backward counts each of these once for each of its operands
    whose gradient training would compute: of parameters that are not frozen, of what depends on them, and of inputs
    that require grad. A module's figures are those of the operations outside of the modules in it. What runs under
    ``no_grad()`` is not seen.

    Args:
        model: an ``nn.Module``.
        inputs, options: what to call it with.

    >>> import pullback as torch
    >>> net = torch.nn.Sequential(torch.nn.Linear(10, 4), torch.nn.ReLU())
    >>> s = torch.summary(net, torch.zeros(2, 10))
    >>> s.parameters, s.forward, [row.outputs for row in s.rows]
    (44, 176, [[(2, 4)], [(2, 4)], [(2, 4)]])
    """
    seen: dict[int, _ModuleStats] = {id(m): _ModuleStats() for m in model.modules()}
    calls = _CallWatcher(seen)
    buffers = [(b, b._array.copy()) for b in model.buffers()]
    ps = list(model.parameters())
    frozen = [p for p in ps if p._fn is None and p.is_floating_point()]
    lent: dict[int, Tensor] = {}  # inputs made to require grad, so that every op is recorded

    def requiring_grad(value: Any) -> Any:
        if isinstance(value, Tensor) and value.is_floating_point() and not value.requires_grad:
            value = copy.copy(value.detach()).requires_grad_()
            lent[id(value)] = value
        return value

    given = [*map(requiring_grad, inputs)], {k: requiring_grad(v) for k, v in options.items()}
    for p in frozen:
        p.requires_grad_()
    watchers.append(calls)
    on_detach.append(calls.cut)
    try:
        with enable_grad():
            result = model(*given[0], **given[1])
    finally:
        watchers.remove(calls)
        on_detach.remove(calls.cut)
        for p in frozen:
            p.requires_grad_(False)
        for buffer, before in buffers:  # running averages of batch norm
            buffer._array[...] = before
    own = {id(owner_of(p._array)) for p in ps}
    still = {*lent, *map(id, frozen)}  # leaves that training computes no gradient for
    trained: set[int] = set()  # the numbers of nodes that training runs
    known: set[int] = set()  # arrays that are counted already
    for node in reachable([*map(gradient_edge, tensors_in(result)), *calls.detaches]):
        module = next((m for start, end, m in calls.spans if start < node._seq < end and id(m) in seen), model)
        entry = seen[id(module)]
        wanted = [
            slot
            for slot, e in enumerate(node._edges)
            if e is not None and (id(e) not in still if e._seq == 0 else sequence_number(e) in trained)
        ]
        if wanted:
            trained.add(node._seq)
        forward, backward = flops(node, wanted)
        entry.forward += forward
        entry.backward += backward
        for value in node._saved:
            for a in value if value.__class__ in (list, tuple) else (value,):
                if isinstance(a, np.ndarray) and id(owner_of(a)) not in own | known:
                    known.add(id(owner_of(a)))
                    entry.kept += a.nbytes
    rows = []
    for path, module in model.named_modules():
        entry = seen[id(module)]
        mine = [p for p in module._parameters.values() if p is not None]
        rows.append(
            Row(
                path,
                type(module).__name__,
                path.count(".") + 1 if path else 0,
                entry.outputs,
                sum(p.numel() for p in mine),
                sum(p.numel() for p in mine if p._fn is not None),
                entry.forward,
                entry.backward,
                entry.kept,
                entry.calls,
            )
        )
    return Summary(
        rows,
        sum(p.numel() for p in ps),
        sum(p.numel() for p in ps if p._fn is not None),
        sum(r.forward for r in rows),
        sum(r.backward for r in rows),
        sum(r.kept for r in rows),
    )


def tensors_in(value: Any) -> list[Tensor]:
    """The tensors in what a module returned."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [t for v in value for t in tensors_in(v)] if isinstance(value, list | tuple) else []


RECURRENT = {fn.op for fn in (recurrent.elman, recurrent.gru, recurrent.lstm)}
PRODUCTS = {fn.op for fn in (matmul._matmul, matmul.addmm, matmul.addmv, matmul.addbmm, matmul.baddbmm)}
ATTENTION = {attention._attention.op, attention._flash.op}
MOVES = {  # ops that only move data
    fn.op
    for fn in (
        memory.clone,
        convert.cast,
        concat.cat,
        concat.stack,
        concat.repeat,
        concat._repeated,
        index.take_at,
        embedding._embedding,
        view._unsafe_view,
        flip_roll.flip,
        flip_roll.roll,
        pad._pad_with_copies,
        pad.constant_pad_nd,
    )
}
ANY = "any"  # inner values, which depend on every argument


def flops(node: Node, wanted: Sequence[int]) -> tuple[int, int]:
    """A node's floating-point operations: forward, and backward for the gradients along these edges."""
    parts = flop_terms(node)
    forward = sum(n for n, _ in parts)
    if node._op is None or parts and not parts[0][1]:
        return forward, forward * len(wanted)
    names = {node._op.params[node._op.tensors[slot]] for slot in wanted} if parts else set()
    names |= {ANY} if names else set()
    names |= {"weights"} if names & {"query", "key"} else set()
    return forward, sum(n * sum(name in names for name in needed) for n, needed in parts)


def flop_terms(node: Node) -> list[tuple[int, tuple[str, ...]]]:
    """A node's forward FLOPs in terms, each with the arguments whose gradients repeat it; () for all alike."""
    op = node._op
    shapes = node._shape if node._shape.__class__ is list else [node._shape]
    out = sum(map(math.prod, shapes))
    if op is None:
        return [(out, ())]
    if op.kind == "view" or op in MOVES:
        return []
    weight = operand_shape(node, "weight")
    if op is linear._linear.op and weight:
        return [(out * 2 * weight[-1], ("input", "weight")), (out if operand_shape(node, "bias") else 0, ("bias",))]
    if op is convolution.op and weight:
        positions = operand_shape(node, "input") if node._saved[op.saved_names.index("transposed")] else shapes[0]
        return [
            (
                math.prod(positions) // positions[1] * 2 * math.prod(weight) if positions and positions[1] else 0,
                ("input", "weight"),
            )
        ]
    if op in RECURRENT:
        rows, width = math.prod(shapes[0][:-1]), (operand_shape(node, "w_ih") or (0,))[0]
        sides = {"w_ih": "input", "w_hh": ANY, "projection": ANY}
        products = [
            (rows * 2 * math.prod(shape), (other, n)) for n, other in sides.items() if (shape := operand_shape(node, n))
        ]
        return [*products, (rows * width, (ANY,)), (rows * width if operand_shape(node, "b_ih") else 0, ("b_ih",))]
    if op in ATTENTION:
        query, key, value = (operand_shape(node, n) for n in ("query", "key", "value"))
        if query and key and value:
            weights = math.prod(query[:-1]) * key[-2]
            return [
                (weights * 2 * query[-1], ("query", "key")),
                (weights, ("weights",)),
                (weights * 2 * value[-1], ("weights", "value")),
            ]
    if op in PRODUCTS:
        first, second = (op.params[i] for i in op.tensors[-2:])
        return [(out * 2 * (operand_shape(node, first) or (1,))[-1], (first, second))]
    first_operand = operand_shape(node, op.params[op.tensors[0]]) if op.tensors and not op.takes_tensor_list else None
    return [(max(out, math.prod(first_operand)) if first_operand is not None else out, ())]


def operand_shape(node: Node, name: str) -> tuple[int, ...] | None:
    """The shape of an argument, from its edge or from what was saved."""
    op = node._op
    if name in op.params and op.params.index(name) in op.tensors and not op.takes_tensor_list:
        e = node._edges[op.tensors.index(op.params.index(name))]
        if e is not None:
            return e._array.shape if e._seq == 0 else e._shape if e._seq > 0 else e.node._shape[e.index]
    for saved, value in zip(op.saved_names, node._saved):
        if saved == name and isinstance(value, np.ndarray):
            return value.shape
        if saved == name + "_shape" and value is not None:
            return value
    return None
