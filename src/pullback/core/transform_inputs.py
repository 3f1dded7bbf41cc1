"""Inputs of transforms that share memory with tensors outside: a write into either rebases the other's history."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base import thread_state
from ..base.errors import with_notes
from . import slots, versions, views
from .graph import clock
from .level import memory_owners, sequence_number
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
