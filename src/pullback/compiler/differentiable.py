"""Autograd through a compiled function: one node, whose vjp recomputes the forward pass (as in checkpointing).

The vjp is a compiled function, too: the function once more, followed by its backward pass. Under ``create_graph=True``
the function runs uncompiled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base import thread_state
from ..base.pytree import tree_flatten
from ..core import versions, views
from ..core.graph import LEAF, Node, Output, finish_node
from ..core.level import wrap_value
from ..core.tensor import Tensor
from ..engine import api
from ..ops.random import default_generator


class CompiledFunctionBackward(Node):
    """The node of a call of a compiled function.

    Attributes:
        call: the arguments and keywords.
        derivative: what all calls of the version share.
        state: the state of the random generator before the call, if it drew.
    """

    __slots__ = ("call", "derivative", "state")
    _keeps = False
    _materializes = False
    call: Any
    derivative: Derivative
    state: Any

    def _vjp(self, g: Any, saved: tuple[Any, ...], edges: Sequence[Any]) -> Sequence[Any]:
        for x in self.derivative.ends(*self.call):
            if versions.write_after(x._array, self._seq) is not None:
                raise RuntimeError(
                    "one of the variables needed for gradient computation has been modified by an inplace operation: "
                    f"a tensor of shape {list(x._array.shape)} that a compiled function was computed from.\n"
                    "  Call backward() before it is written into, such as by optimizer.step()."
                )
        g = g if g.__class__ is tuple else (g,)
        create = any(isinstance(v, Tensor) for v in g)
        # recompute with the random numbers of the call, and leave no effects
        contents = [(a, a.copy()) for a in self.derivative.written]
        state = default_generator.get_state() if self.state is not None else None
        if self.state is not None:
            default_generator.set_state(self.state)
        try:
            args, kwargs = self.call
            seeds = [v if isinstance(v, Tensor) else wrap_value(v) for v in g]
            with thread_state.enable_grad():
                found = (self.derivative.eager_vjp if create else self.derivative.compiled_vjp)(args, kwargs, seeds)
        finally:
            for array, before in contents:
                array[...] = before
            if state is not None:
                default_generator.set_state(state)
        return [None if e is None or r is None else r if create else r._array for e, r in zip(edges, found)]


class Derivative:
    """The vjp of one version, shared by the nodes of all its calls.

    Attributes:
        leaves: where gradients go: a tensor, or a place among the arguments that are tensors.
        written: arrays that the function writes into; the recomputation in backward puts them back.
    """

    def __init__(
        self, function: Callable, leaves: list[Any], written: list[np.ndarray], is_random: bool, compile: Callable
    ) -> None:
        self.function, self.leaves, self.written, self.is_random = function, leaves, written, is_random

        def vjp(
            args: Any, kwargs: Any, seeds: list[Tensor], function: Callable = function, ends: list[Any] = leaves
        ) -> tuple[Any, ...]:
            return self._grads(args, kwargs, seeds, False)

        self.compiled_vjp = compile(vjp)

    def _grads(self, args: Any, kwargs: Any, seeds: list[Tensor], create: bool) -> tuple[Any, ...]:
        given = {id(x) for x in tree_flatten((args, kwargs))[0]}  # arguments that are returned have their own history
        results = [y for y in tree_flatten(self.function(*args, **kwargs))[0] if has_history(y) and id(y) not in given]
        return api.grad(results, self.ends(args, kwargs), seeds, create_graph=create, allow_unused=True)

    def eager_vjp(self, args: Any, kwargs: Any, seeds: list[Tensor]) -> tuple[Any, ...]:
        return self._grads(args, kwargs, seeds, True)

    def ends(self, args: Any, kwargs: Any) -> list[Tensor]:
        given = [x for x in tree_flatten((args, kwargs))[0] if isinstance(x, Tensor)]
        return [given[leaf] if leaf.__class__ is int else leaf for leaf in self.leaves]

    def state(self) -> Any:
        """The state of the random generator, if the function draws."""
        return default_generator.get_state() if self.is_random else None

    def attach(self, args: Any, kwargs: Any, state: Any, results: Sequence[Tensor]) -> None:
        """Let results have a node of this function."""
        node = CompiledFunctionBackward()
        node.call, node.derivative, node.state = (args, kwargs), self, state
        edges, arrays = tuple(map(views.gradient_edge, self.ends(args, kwargs))), [y._array for y in results]
        if len(results) == 1:
            results[0]._fn = finish_node(node, edges, (), arrays[0].shape, arrays[0].dtype)
            return
        finish_node(node, edges, (), [a.shape for a in arrays], [a.dtype for a in arrays])
        for i, y in enumerate(results):
            y._fn = Output(node, i)


def has_history(y: Any) -> bool:
    """Whether a result has a history."""
    return isinstance(y, Tensor) and y._fn is not None and y._fn is not LEAF


def leaves_behind(results: Sequence[Tensor]) -> list[Tensor]:
    """The leaves that gradients of results reach."""
    found: dict[int, Tensor] = {}
    seen: set[int] = set()
    todo = [views.gradient_edge(y) for y in results]
    while todo:
        e = todo.pop()
        if e is None or id(e) in seen:
            continue
        seen.add(id(e))
        if e._seq == 0:
            found[id(e)] = e
        else:
            todo.extend((e.node if e.__class__ is Output else e)._edges)
    return list(found.values())
