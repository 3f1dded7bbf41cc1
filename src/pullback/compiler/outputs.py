"""The outputs of a traced function: what it returns, the tensors it writes into, the gradients it accumulates."""

from __future__ import annotations

import weakref
from typing import Any

from ..base.pytree import tree_flatten
from ..core.tensor import Tensor
from .differentiable import has_history
from .ir import Input
from .trace import Trace, TracedValue, cannot_compile


class Outputs:
    """Where each output of a call comes from; appends to the outputs of the program as it finds them.

    Attributes:
        returned: a pair for each leaf of the result: ``"value"`` and a place among the program's outputs,
            ``"argument"`` and a place among the tensor arguments, ``"gradient"`` and the tensor whose ``.grad`` it is,
            or ``"constant"`` and the object.
        spec: the structure of the result.
        has_history: for each leaf of the result, whether it requires grad.
        writes: pairs of a place among the program's outputs and the input whose memory is overwritten.
        grads: pairs of a tensor and the place of its new ``.grad``; None where that is dropped.
        inner_leaves: leaves that the function made itself and gave gradients to.
    """

    def __init__(self, trace: Trace, arguments: list[Tensor], result: Any) -> None:
        self.trace, self.program = trace, trace.program
        leaves, self.spec = tree_flatten(result)
        self.returned = [self._returned(y, arguments) for y in leaves]
        self.has_history = [has_history(y) for y in leaves]
        self.writes: list[tuple[int, Input]] = []
        for x in trace.roots:
            if x.version and x.input.kind in ("argument", "tensor", "gradient"):
                self.writes.append((self._add(x._number), x.input))
        self.grads: list[tuple[Tensor, int | None]] = []
        self.inner_leaves: list[weakref.ref[Tensor]] = []
        for key, leaf in {**trace.cleared_grads, **{k: x for k, (x, _) in trace.accumulated.items()}}.items():
            if key in trace.known_tensors:
                self._take_grad(leaf)
            else:
                self._take_inner_leaf(key, leaf, leaves)
        del self.trace, self.program  # which keep the arrays of the traced call alive

    def _add(self, number: int) -> int:
        """Make a value an output of the program; returns its place."""
        self.program.outputs.append(number)
        return len(self.program.outputs) - 1

    def _add_tensor(self, x: Tensor) -> int:
        return self._add((x._array if isinstance(x._array, TracedValue) else self.trace.lift(x._array)).number)

    def _returned(self, y: Any, arguments: list[Tensor]) -> tuple[str, Any]:
        if not isinstance(y, Tensor):
            return "constant", y
        place = next((i for i, x in enumerate(arguments) if x is y), None)
        if place is not None:
            return "argument", place
        if id(y) in self.trace.known_tensors:
            of = next((i.source for i in self.program.inputs if i.kind == "gradient" and i.source._grad is y), None)
            return ("constant", y) if of is None else ("gradient", of)
        return "value", self._add_tensor(y)

    def _take_grad(self, leaf: Tensor) -> None:
        """The new gradient of a tensor from outside, unless it was accumulated in place, which is a write."""
        if leaf._grad is None:
            self.grads.append((leaf, None))
        elif id(leaf._grad) not in self.trace.known_tensors:
            self.grads.append((leaf, self._add_tensor(leaf._grad)))

    def _take_inner_leaf(self, key: int, leaf: Tensor, returned: list[Any]) -> None:
        """A leaf that the function made itself: its gradient can't be seen once the function has returned."""
        if any(leaf is y for y in returned):
            raise cannot_compile(
                "a tensor that the function made is returned with its .grad", "Return x.detach() and x.grad."
            )
        self.inner_leaves.append(weakref.ref(leaf))
        self.trace.accumulated.pop(key, None)
