"""The outputs of a traced function: what it returns, the tensors it writes into, the gradients it accumulates."""

from __future__ import annotations

import enum
import re
import weakref
from collections.abc import Iterable, Iterator
from types import BuiltinFunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from ..base.device import Layout, device
from ..base.dtypes import dtype
from ..base.pytree import tree_flatten
from ..core.graph import LEAF
from ..core.tensor import Tensor
from .ir import Input
from .refusal import cannot_compile
from .sym_item import SymItem
from .trace import Trace
from .traced_value import TracedValue

# objects that nobody can change
UNCHANGEABLE = (
    *(int, float, bool, complex, str, bytes, type(None), type(...), range, slice, np.generic, np.dtype),
    *(dtype, device, Layout, enum.Enum, BuiltinFunctionType, ModuleType),
)


ViewCall = tuple[Any, tuple[Any, ...], int]  # a view operation, its options, and which of its results


class Returned(NamedTuple):
    """How a call makes one leaf of its result.

    Attributes:
        kind: ``value`` of the program, ``argument``, ``gradient`` of a tensor, ``tensor`` from outside, ``result`` (of
            which this is a view), ``number`` or ``object``.
        what: which one: a place among the program's outputs, the tensor arguments or the results, an expression; else
            the thing.
        views: of a view, how it is taken; None: it is the thing itself.
        grad: ``recorded``, a ``leaf`` that requires grad, ``detached``, or ``base``, of a view made without recording.
        strides: in bytes, if not those of C order.
        cls: the class of the tensor.
    """

    kind: str
    what: Any
    views: list[ViewCall] | None = None
    grad: str = "detached"
    strides: tuple[int, ...] | None = None
    cls: type = Tensor


class Outputs:
    """Where each output of a call comes from; appends to the outputs of the program as it finds them.

    Attributes:
        returned: for each leaf of the result how it is made.
        numbers: the expressions of numbers among them.
        items: where values that these are taken from are, among the program's outputs, by value number.
        spec: the structure of the result.
        recorded: the leaves, by place, that the node of the compiled function gives a history.
        writes: pairs of a place among the program's outputs and the input whose memory is overwritten.
        grads: pairs of a tensor and how its new ``.grad`` is made; None where that is dropped.
        inner_leaves: leaves that the function made itself and gave gradients to.
    """

    def __init__(self, trace: Trace, arguments: list[Tensor], result: Any, known: Iterable[Any]) -> None:
        """
        Args:
            known: objects from outside that the function may return.
        """
        self.trace, self.program = trace, trace.program
        self.arguments, self.known = arguments, {id(x) for x in known}
        leaves, self.spec = tree_flatten(result)
        if any([id(x) in self.known for x in containers_in(result)]):
            raise cannot_compile("a list or dict from outside is returned", "Return a copy of it.")
        self.returned: list[Returned] = []
        self.numbers: list[str] = []
        for y in leaves:
            self.returned.append(self._returned(y, leaves))
        self.recorded = [k for k, y in enumerate(leaves) if self.returned[k].kind == "value" and has_history(y)]
        places = {self.program.outputs[r.what]: r.what for r in self.returned if r.kind == "value"}
        inputs = {i.number for i in self.program.inputs}
        self.items = {n: places[n] if n in places else self._add(n) for n in items_in(self.numbers) if n not in inputs}
        self.writes: list[tuple[int, Input]] = []
        for x in trace.roots:
            if x.version and x.input.kind in ("argument", "tensor", "gradient"):
                self.writes.append((self._add(x._number), x.input))
        self.grads: list[tuple[Tensor, Returned | None]] = []
        self.inner_leaves: list[weakref.ref[Tensor]] = []
        for key, leaf in {**trace.cleared_grads, **{k: x for k, (x, _) in trace.accumulated.items()}}.items():
            if key in trace.known_tensors:
                self._take_grad(leaf)
            else:
                self._take_inner_leaf(key, leaf, leaves)

    def keep(self, numbers: list[int]) -> list[Any]:
        """Where values that a backward pass needs come from: inputs, and places among the program's outputs."""
        inputs = {i.number: i for i in self.program.inputs}
        places = {self.program.outputs[r.what]: r.what for r in self.returned if r.kind == "value" and not r.strides}
        return [inputs[n] if n in inputs else places[n] if n in places else self._add(n) for n in numbers]

    def memory_of(self, numbers: list[int]) -> list[Input]:
        """The inputs whose memory a backward pass sees: what is saved are views of it, or what was written there."""
        view_of = {
            n: step.args[0].number for step in self.program.instructions if step.op.kind == "view" for n in step.outs
        }
        inputs = {i.number: i for i in self.program.inputs if i.kind in ("argument", "tensor", "gradient")}
        behind = {**{self.program.outputs[place]: i for place, i in self.writes}, **inputs}
        found: dict[int, Input] = {}
        for n in numbers:
            if n in inputs:  # which are saved themselves
                continue
            while n in view_of:
                n = view_of[n]
            if n in behind:
                found[behind[n].number] = behind[n]
        return list(found.values())

    def close(self) -> None:
        """Forget the trace, which keeps the arrays of the traced call alive."""
        del self.trace, self.program, self.arguments, self.known

    def _add(self, number: int) -> int:
        """Make a value an output of the program; returns its place."""
        self.program.outputs.append(number)
        return len(self.program.outputs) - 1

    def _traced(self, y: Tensor) -> TracedValue:
        return y._array if isinstance(y._array, TracedValue) else self.trace.lift(y._array)

    def _value(self, y: Tensor) -> Returned:
        """A tensor that the call makes."""
        x = self._traced(y)
        owner = x.root.input
        if owner is not None and owner.kind == "constant":
            if x.root is not x:
                raise cannot_compile("a view of a constant is returned", "Return a .clone().")
            owner.source = owner.source.copy("K")  # the caller may write into the first one
        if y.__dict__ or y._hooks is not None:
            raise cannot_compile("a tensor that the function made is returned, with attributes or hooks of its own")
        strides = None if x.value.flags.c_contiguous or not _is_dense(x.value) else x.value.strides
        return Returned("value", self._add(x.number), None, _grad(y), strides, y.__class__)

    def _returned(self, y: Any, leaves: list[Any]) -> Returned:
        if type(y) is SymItem:
            self.numbers.append(y.source)
            return Returned("number", y.source)
        if not isinstance(y, Tensor):
            if not isinstance(y, UNCHANGEABLE) and id(y) not in self.known:
                raise cannot_compile(
                    f"a {type(y).__name__} is returned, which would be the same object at each call",
                    "Return tensors, numbers, and lists, tuples or dicts of them.",
                )
            return Returned("object", y)
        place = next((i for i, x in enumerate(self.arguments) if x is y), None)
        if place is not None:
            return Returned("argument", place)
        before = next((k for k, z in enumerate(leaves[: len(self.returned)]) if z is y), None)
        if before is not None:
            return Returned("result", before)
        if id(y) in self.trace.known_tensors:
            return self._from_outside(y)
        changed = [x for x, _ in self.trace.accumulated.values()] + [*self.trace.cleared_grads.values()]
        leaf = next((x for x in changed if x._grad is y and id(x) in self.trace.known_tensors), None)
        if leaf is not None:
            return Returned("gradient", leaf)
        return self._view_of_known(y, leaves) or self._value(y)

    def _from_outside(self, x: Tensor, views: list[ViewCall] | None = None, grad: str = "detached") -> Returned:
        """A tensor from outside, or a view of it."""
        place = next((i for i, a in enumerate(self.arguments) if a is x), None)
        if place is not None:
            return Returned("argument", place, views, grad)
        of = next((i.source for i in self.program.inputs if i.kind == "gradient" and i.source._grad is x), None)
        return Returned("tensor" if of is None else "gradient", x if of is None else of, views, grad)

    def _view_of_known(self, y: Tensor, leaves: list[Any]) -> Returned | None:
        """A view of a tensor from outside, or of an earlier result: it shares memory with it at each call, too."""
        value = self._traced(y)
        views: list[ViewCall] = []
        while True:
            for k, z in enumerate(leaves):
                if isinstance(z, Tensor) and z is not y and self._traced(z) is value:
                    if k < len(self.returned) and self.returned[k].kind == "value":
                        if has_history(y) and not has_history(z):
                            return self._exchanged(y, k, z, views)
                        return Returned("result", k, _checked(views), _grad(y))
                    if k > len(self.returned) and views:
                        raise cannot_compile("a view is returned before what it is of", "Return them in order.")
            if value.input is not None and value.input.kind != "constant":
                tensor = next((t for t, _ in self.trace.known_tensors.values() if t._array is value), None)
                return None if tensor is None else self._from_outside(tensor, _checked(views), _grad(y))
            if value.parent is None:
                return None
            op, options, index, _ = value.view_call
            views.insert(0, (op, options, index))
            value = value.parent

    def _exchanged(self, y: Tensor, k: int, z: Tensor, views: list[ViewCall]) -> Returned:
        """A result with a history, of which an earlier one, ``z``, is a detached view: that is made of it, later on."""
        if views:
            raise cannot_compile("a view is returned after what it is of, which is detached", "Return a .clone().")
        place = len(self.returned)
        self.returned[k] = Returned("result", place, [], _grad(z))
        for i, r in enumerate(self.returned):
            if r.kind == "result" and r.what == k and r.views is not None:
                self.returned[i] = r._replace(what=place)
        return self._value(y)

    def _take_grad(self, leaf: Tensor) -> None:
        """The new gradient of a tensor from outside, unless it was accumulated in place, which is a write."""
        if leaf._grad is None:
            self.grads.append((leaf, None))
        elif id(leaf._grad) not in self.trace.known_tensors:
            self.grads.append((leaf, self._value(leaf._grad)))

    def _take_inner_leaf(self, key: int, leaf: Tensor, returned: list[Any]) -> None:
        """A leaf that the function made itself: its gradient can't be seen once the function has returned."""
        if any(leaf is y for y in returned):
            raise cannot_compile(
                "a tensor that the function made is returned with its .grad", "Return x.detach() and x.grad."
            )
        self.inner_leaves.append(weakref.ref(leaf))
        self.trace.accumulated.pop(key, None)


def containers_in(x: Any) -> Iterator[Any]:
    """Lists and dicts in a nest of them and of tuples."""
    if isinstance(x, (list, dict)):
        yield x
    for v in x.values() if isinstance(x, dict) else x if isinstance(x, (list, tuple)) else ():
        yield from containers_in(v)


def items_in(expressions: Iterable[str]) -> list[int]:
    """The numbers of the values of which items are taken in expressions."""
    return list(dict.fromkeys(int(n) for e in expressions for n in re.findall(r"\bitem(\d+)\b", e)))


def has_history(y: Any) -> bool:
    """Whether a result has a history."""
    return isinstance(y, Tensor) and y._fn is not None and y._fn is not LEAF


def _grad(y: Tensor) -> str:
    if not y.requires_grad:
        return "detached"
    return "leaf" if y._fn is LEAF else "base" if y._fn is None else "recorded"


def _checked(views: list[ViewCall]) -> list[ViewCall]:
    if any([op.kind != "view" for op, _, _ in views]):
        raise cannot_compile("a conjugated view of a tensor that is seen outside is returned", "Return a .clone().")
    return views


def _is_dense(array: np.ndarray) -> bool:
    """Whether the elements lie in memory without gaps or repetitions, in some order of the dimensions."""
    expected = array.itemsize
    for stride, n in sorted([(s, n) for s, n in zip(array.strides, array.shape) if n != 1]):
        if stride != expected:
            return False
        expected *= n
    return True
