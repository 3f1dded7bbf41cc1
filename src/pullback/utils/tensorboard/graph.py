"""The graph of a model as TensorBoard shows it: what autograd recorded (``tensorflow/core/framework/graph.proto``)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from ...base import thread_state
from ...base.pytree import tree_leaves, tree_map
from ...core.tensor import Tensor
from .records import message, whole

PRODUCER = 22  # the version of the format


def recorded_graph(model: Any, inputs: Any) -> bytes:
    """The nodes of a model's computation for these inputs, which runs once, in evaluation mode: its operations, inputs
    and parameters. Slashes in the names of parameters make TensorBoard group them by module.
    """
    inputs = tree_map(_recorded, inputs if isinstance(inputs, (tuple, list)) else (inputs,))
    training = model.training
    with thread_state.enable_grad():
        try:
            outputs = model.eval()(*inputs)
        finally:
            model.train(training)
    leaves = {id(p): (name.replace(".", "/"), "Parameter") for name, p in model.named_parameters()}
    leaves |= {id(x): (f"input/{i}", "IO Node") for i, x in enumerate(_tensors(inputs))}
    names = _Names(leaves)
    ends = [(x, names.of(x.grad_fn) if x.grad_fn is not None else None) for x in _tensors(outputs)]
    nodes = [_node(f"output/{i}", "IO Node", [name] if name else [], x.shape) for i, (x, name) in enumerate(ends)]
    for fn in _reachable([x.grad_fn for x, _ in ends]):
        before = [names.of(f) for f, _ in fn.next_functions if f is not None]
        leaf = getattr(fn, "variable", None)
        nodes.append(_node(names.of(fn), names.kind(fn), before, None if leaf is None else leaf.shape))
    return message(4, *nodes, message(4, whole(1, PRODUCER)))


def _recorded(x: Any) -> Any:
    """A tensor whose use is recorded, if its type allows."""
    return x.detach().requires_grad_() if isinstance(x, Tensor) and x.dtype.is_floating_point else x


def _tensors(tree: Any) -> list[Tensor]:
    return [x for x in tree_leaves(tree) if isinstance(x, Tensor)]


def _reachable(ends: Iterable[Any]) -> Iterator[Any]:
    """All nodes of the graph behind some, each once."""
    waiting, seen = list(ends), set()
    while waiting:
        fn = waiting.pop()
        if fn is not None and fn not in seen:
            seen.add(fn)
            yield fn
            waiting += [f for f, _ in fn.next_functions]


class _Names:
    """A name for each node of the graph: that of its leaf, or that of its operation with a number."""

    def __init__(self, leaves: dict[int, tuple[str, str]]) -> None:
        self.leaves = leaves
        self.given: dict[Any, str] = {}

    def kind(self, fn: Any) -> str:
        if not hasattr(fn, "variable"):
            return re.sub(r"Backward\d*$", "", fn.name())
        return self.leaves.get(id(fn.variable), ("", "Constant"))[1]

    def of(self, fn: Any) -> str:
        if fn not in self.given:
            name, kind = self.leaves.get(id(getattr(fn, "variable", None)), ("", self.kind(fn)))
            self.given[fn] = name or f"{kind}_{len(self.given)}"
        return self.given[fn]


def _node(name: str, kind: str, before: list[str], shape: Any) -> bytes:
    if shape is None:
        attributes = b""
    else:
        sizes = message(7, *[message(2, whole(1, n)) for n in shape])
        attributes = message(5, message(1, "_output_shapes"), message(2, message(1, sizes)))
    return message(1, message(1, name), message(2, kind), *[message(3, b) for b in before], attributes)
