"""Runs tensor, node and observer hooks during a backward pass."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..base import thread_state
from ..core import graph, level
from ..core.graph import Node
from . import messages
from .accumulate import accumulate_grad, as_array, as_tensor

Observer = Callable[[Node, tuple[Any, ...], tuple], None]
Begin = Callable[[Any], tuple[Observer | None, Callable[[], None]]]
observers: list[Observer] = []
begin_observers: list[Begin] = []
beginnings: list[Callable[[Any], None]] = []  # told of the roots of each backward and of nothing else: all paths stay


@contextmanager
def observe(callback: Observer | None = None, begin: Begin | None = None) -> Iterator[None]:
    """Call ``callback(node, grad_outputs, grad_inputs)`` after each node, in the order of the visit.

    The gradients are tuples of arrays, with None where there is none; leaves come as ``AccumulateGrad`` nodes.
    ``begin(roots)`` is called before each backward. It returns a callback for this backward alone, or None, and a
    function that is called after it.
    """
    lists: list[tuple[list[Any], Any]] = [(observers, callback), (begin_observers, begin)]
    for those, one in lists:
        if one is not None:
            those.append(one)
    try:
        yield
    finally:
        for those, one in lists:
            if one is not None:
                those.remove(one)


def begin_backward(roots: Any) -> tuple[Observer | None, list[Callable[[], None]]]:
    """Whom a backward that begins is to tell of each node, as one function, and what is to be called after it."""
    callbacks, endings = [*observers], []
    for begin in begin_observers:
        callback, end = begin(roots)
        endings.append(end)
        if callback is not None:
            callbacks.append(callback)
    if len(callbacks) < 2:
        return (callbacks[0] if callbacks else None), endings

    def tell_all(node: Node, came: tuple[Any, ...], left: tuple) -> None:
        for callback in callbacks:
            callback(node, came, left)

    return tell_all, endings


class user_code(thread_state.set_grad_enabled):
    """Around calls into code of the user's, which may run backward itself.

    What it enters and does not leave (a grad mode, hooks on saved tensors) ends with it.
    """

    def __enter__(self) -> None:
        super().__enter__()
        self.packing = thread_state.local.packing
        thread_state.local.nested += 1

    def __exit__(self, *exc: object) -> None:
        thread_state.local.nested -= 1
        if thread_state.local.packing is not self.packing:
            thread_state.add_slow_path_reason(len(self.packing) - len(thread_state.local.packing))
            thread_state.local.packing = self.packing
        super().__exit__(*exc)


class Shown:
    """The gradients that one backward has shown to hooks and custom Functions.

    The engine passes arrays on. Whoever is shown one of them again gets the tensor that others were shown, as PyTorch
    passes on tensors: what was set on it is there.

    Attributes:
        seen: the tensors, by the identity of their arrays, for as long as anyone holds them.
        marked: those that hooks have set attributes on, which have to last as long as the pass.
    """

    def __init__(self) -> None:
        self.seen: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        self.marked: list[Any] = []

    def tensor(self, g: Any) -> Any:
        t = self.seen.get(id(g))
        if t is None or t._array is not g:
            self.seen[id(g)] = t = as_tensor(g)
        return t


def shown(g: Any) -> Any:
    """A gradient as the tensor that a program is shown; None stays None."""
    if g is None or isinstance(g, level.Tensor):
        return g
    task = thread_state.local.graph_task
    if task is None:
        return as_tensor(g)
    if task.shown is None:
        task.shown = Shown()
    return task.shown.tensor(g)


def note(t: Any) -> None:
    """A hook or Function has had this tensor, or returned it: what it set on it has to be there for the next."""
    task = thread_state.local.graph_task
    if t.__dict__ and task is not None:
        if task.shown is None:
            task.shown = Shown()
        task.shown.seen[id(t._array)] = t
        task.shown.marked.append(t)


def taken_back(given: Sequence[Any], create: bool) -> list[Any]:
    """What the engine passes on of tensors that a program was shown, or that it returned."""
    if create:
        return list(given)
    for t in given:
        if t is not None:
            note(t)
    return [None if t is None else t._array for t in given]


def before_node(hooks: graph.Hooks, g: Any, create: bool) -> Any:
    """Tensor hooks of a node's outputs, and the outputs that keep their gradient."""
    several = g.__class__ is list
    gs = g if several else [g]
    for index, g_i in enumerate(gs):
        if g_i is None:
            continue
        gs[index] = run_tensor_hooks(hooks.tensor.get(index), g_i, create)
        tensor = hooks.retain[index]() if index in hooks.retain else None
        if tensor is not None:
            if tensor._grad is not None and not create:  # the sum is a new tensor, which nothing was recorded of
                tensor._grad = tensor._grad.detach().clone()
            accumulate_grad(tensor, gs[index], False, create)
    return gs if several else gs[0]


def run_tensor_hooks(hooks: dict[int, Callable[..., Any]] | None, g: Any, create: bool) -> Any:
    if hooks:
        with user_code(create):
            for fn in list(hooks.values()):
                given = shown(g)
                result = fn(given)
                if result is not None:
                    result = messages.checked_hook_result(fn, result, given)
                (g,) = taken_back((given if result is None else result,), create)
    return g


def run_prehooks(hooks: dict[int, Callable[..., Any]], gs: Sequence[Any], create: bool) -> Sequence[Any]:
    with user_code(create):
        for fn in list(hooks.values()):
            given = tuple(map(shown, gs))
            result = fn(given)
            if result is not None and not isinstance(result, tuple):
                result = (result,)
            gs = taken_back(given if result is None else result, create)
    return gs


def after_node(
    node: Node, hooks: graph.Hooks | None, results: Sequence[Any], g: Any, create: bool, tell: Observer | None = None
) -> Sequence[Any]:
    """Post hooks, and whoever watches the engine."""
    gs = g if g.__class__ is tuple else (g,)
    if node._hooks is not None and node._hooks.post:
        # A hook that was put on while the rule ran is shown none of what came in, as in PyTorch.
        came_in = () if hooks is None else tuple(map(shown, gs))
        with user_code(create):
            for fn in list(node._hooks.post.values()):
                given = tuple(map(shown, results))
                changed = fn(given, came_in)
                if changed is not None:
                    changed = changed if isinstance(changed, tuple) else (changed,)
                    if len(changed) != len(results):
                        raise RuntimeError(
                            f"hook '{getattr(fn, '__name__', 'hook')}' has returned an incorrect number of values "
                            f"(got {len(changed)}, but expected {len(results)})"
                        )
                results = taken_back(given if changed is None else changed, create)
    if tell is not None:
        came, left = (map(as_array, gs), map(as_array, results)) if create else (gs, results)
        tell(node, tuple(came), tuple(left))
    return results
