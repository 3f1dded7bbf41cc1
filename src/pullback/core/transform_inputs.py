"""Inputs and results of transforms that share memory with tensors outside: a write into either rebases the other's
history.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base import thread_state
from ..base.errors import with_notes
from . import slots, versions, views
from .conj_views import address
from .graph import LEAF, clock
from .level import LevelValue, arrays_in, memory_owners, sequence_number
from .tensor import Tensor


def register_input(
    x: Tensor, start: int, enter: Callable[..., Tensor] | None, *outsides: tuple[Tensor, Callable[[Tensor], Tensor]]
) -> Tensor:
    """Note for an argument of a transform, which began at ``start``, the tensors outside that share its memory, each
    with the way out.

    Args:
        enter: makes the argument of them. None where a write into them while the transform runs has to be refused.
    """
    known = []
    for outside, leave in outsides:
        e, number = views.gradient_edge(outside), 0
        if e is not None:
            number = sequence_number(e)
        known.append((outside, leave, number, start))
    x.__dict__["_outsides"] = known
    x.__dict__["_enter"] = enter
    arguments = thread_state.local.arguments
    arguments.append(weakref.ref(x, arguments.remove))
    return x


def outer_tensors(x: Tensor, left: Sequence[Any] = ()) -> list[tuple[Tensor, Tensor, Sequence[Any]]]:
    """Tensors outside of a transform that still share the memory of its argument ``x``, each with its value as ``x``
    has it.

    The last is which batches the history of that value has come out of; ``left``, those that the history of ``x`` has.
    """
    found: list[tuple[Tensor, Tensor, Sequence[Any]]] = []
    for outside, leave, number, start in x.__dict__["_outsides"]:
        batches = [
            batch for batch in reversed(thread_state.local.batches) if batch.start > number and batch not in left
        ]
        value = x
        for batch in batches:
            value = batch.shared(value) if batch.start > start else value
        value = leave(value)
        for batch in batches:
            value = batch.shared(value) if batch.start < start else value
        if versions.owner_of(value._array) is versions.owner_of(outside._array):
            found.append((outside, value, (*left, *batches)))
    return found


def rebase_outer_tensors(x: Tensor, left: Sequence[Any] = ()) -> None:
    """Give tensors outside of a transform the history of ``x``, through which their memory was just written into."""
    for outside, value, batches in outer_tensors(x, left):
        e = views.gradient_edge(value)
        if e is not None:
            views.rebase_tensor(outside, e, batches)


def keep_as_view(x: Tensor) -> None:
    """Let an argument of a transform that has ended follow the tensor outside whose memory it shares, and the other way
    round.
    """
    for outside, *_ in x.__dict__.pop("_outsides"):
        base = outside if outside._view is None else outside._view[0]
        plain = base is not None and base._array.__class__ is x._array.__class__ is np.ndarray
        if plain and versions.owner_of(x._array) is versions.owner_of(base._array):
            x._view = (base, clock(), views.ORDINARY)


class Leaving:
    """The results of a transform on their way out: what is a view inside is one outside, of what lies there.

    Attributes:
        start: when the transform began.
        leave: the way out of any other tensor.
        bases: by their ids, tensors that results are views of, and what they are outside.
    """

    def __init__(self, start: int, leave: Callable[[Tensor], Tensor]) -> None:
        self.start, self.leave = start, leave
        self.bases: dict[int, tuple[Tensor, Tensor]] = {}

    def outside(self, x: Tensor, shows: Any) -> Tensor:
        """What ``x`` is outside: for an argument, that of the given tensors which shares the memory of ``shows``."""
        for given, _, _, start in x.__dict__.get("_outsides", ()):
            if start >= self.start and same_memory(given._array, shows):
                return given
        if id(x) not in self.bases:
            self.bases[id(x)] = x, self.leave(x)
        return self.bases[id(x)][1]

    def is_own(self, x: Tensor) -> bool:
        """Whether a tensor holds a value of the transform's level."""
        return isinstance(x._array, LevelValue) and x._array.level.start == self.start

    def linked(self, x: Tensor, result: Tensor) -> Tensor:
        """``result``, which is ``x`` outside, as a view of what ``x`` is a view of, or is; that itself if they are
        alike.
        """
        inside, kind = x, views.ORDINARY
        if x._view is not None:
            inside, kind = x._view[0], x._view[2]
        elif "_outsides" not in x.__dict__ and id(x) not in self.bases and self.is_own(x):  # the usual case
            self.bases[id(x)] = x, result if result._view is None else result._view[0]
            return result
        if inside is None or result is inside:
            return result
        base, a = self.outside(inside, result._array), result._array
        b = base._array
        if base is result or not same_memory(a, b):
            return result
        if inside is x and a.shape == b.shape and a.strides == b.strides and address(a) == address(b):
            return base
        if base._view is not None:
            kind, base = (base._view[2] if kind == views.ORDINARY else kind), base._view[0]
        if x._fn is LEAF:  # a view that was made where nothing is recorded
            result._fn = LEAF
        if result._fn is None or base is None:
            views.unrecorded_view(result, base, clock(), kind, views.gradient_edge(x))
        else:
            result._view = (base, clock(), kind)
        return result


def same_memory(a: Any, b: Any) -> bool:
    """Whether two values, of primals if they have tangents, lie in one piece of memory."""
    some, others = arrays_in(a), arrays_in(b)
    return bool(some and others) and versions.owner_of(some[0]) is versions.owner_of(others[0])


def is_memory_of_input(array: np.ndarray) -> bool:
    """Whether an argument of a transform that is running was made of something in the array's memory."""
    owner, arguments = id(versions.owner_of(array)), [ref() for ref in thread_state.local.arguments]
    return any(
        [
            owner in memory_owners(outside._array)
            for argument in arguments
            if argument is not None
            for outside, *_ in argument.__dict__["_outsides"]
        ]
    )


def inputs_sharing_memory(x: Tensor) -> list[tuple[Tensor, list[bool]]]:
    """The arguments of transforms that share the memory of ``x``, which lies outside of these, each with which of its
    tensors outside do.
    """
    memory = memory_owners(x._array)
    seen: set[int] = set()  # what ``x`` was made of or lies in
    todo = [x]
    while todo:
        y = todo.pop()
        seen.add(id(y))
        todo += [outside for outside, *_ in y.__dict__.get("_outsides", ())]
        if y._view is not None and y._view[0] is not None:
            todo.append(y._view[0])
    found = []
    for argument in [ref() for ref in thread_state.local.arguments]:
        if argument is not None and id(argument) not in seen:
            concerned = [
                not memory.isdisjoint(memory_owners(outside._array)) for outside, *_ in argument.__dict__["_outsides"]
            ]
            if any(concerned):
                found.append((argument, concerned))
    return found


def refuse_captured(x: Tensor) -> None:
    """Refuse to write into what lies outside of ``grad`` or ``vjp`` where that would change an argument: by what to
    differentiate then?

    Raises:
        RuntimeError: with PyTorch's words.
    """
    if any([argument.__dict__["_enter"] is None for argument, _ in inputs_sharing_memory(x)]):
        raise with_notes(
            RuntimeError(
                "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call in-place "
                "operation that would mutate a captured Tensor. This is not supported; please rewrite the function "
                "being transformed to explicitly accept the mutated Tensor(s) as inputs."
            ),
            "It shares its memory with an argument that is differentiated by. Write into the argument.",
        )


def rebase_inputs(x: Tensor) -> None:
    """Let arguments of transforms follow ``x``, which lies outside of them, and whose memory, which is theirs, was just
    written into.
    """
    for argument, concerned in inputs_sharing_memory(x):
        fn = argument.__dict__["_enter"](argument, *concerned)._fn
        views.move_retain_grad(argument, fn)
        argument._fn = fn


slots.fill(
    keep_as_view=keep_as_view,
    outer_tensors=outer_tensors,
    rebase_inputs=rebase_inputs,
    rebase_outer_tensors=rebase_outer_tensors,
    refuse_captured=refuse_captured,
)
