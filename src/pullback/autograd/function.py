"""``torch.autograd.Function``: a forward and a backward of the user's own, as one node of the graph."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import storage
from ..complaint import noted
from ..dtypes import FLOATING, OF_NUMPY
from ..op import wrap
from ..tensor import Tensor
from . import errors, modes
from .graph import FREED, Node, Output, clock, made_here


class FunctionCtx:
    """What ``ctx`` offers in ``forward``, ``setup_context`` and ``backward``; attributes of the user's own are welcome."""

    __slots__ = ()

    needs_input_grad: tuple[bool, ...] = ()
    materialize_grads = True
    to_save: tuple[Any, ...] = ()
    dirty_tensors: tuple[Any, ...] = ()
    non_differentiable: tuple[Any, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors for backward, where ``saved_tensors`` gives them back; later writes into them are noticed."""
        for t in tensors:
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(f"save_for_backward can only save variables, but argument is of type {type(t).__name__}")
        self.to_save = tensors  # type: ignore[misc]

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors for ``jvp``."""
        self.saved_for_forward = tensors  # type: ignore[misc]

    def mark_dirty(self, *tensors: Any) -> None:
        """Say that ``forward`` wrote into these inputs; they have to be among its outputs."""
        self.dirty_tensors = tensors  # type: ignore[misc]

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Say that these outputs have no gradient."""
        self.non_differentiable = tensors  # type: ignore[misc]

    def set_materialize_grads(self, value: bool) -> None:
        """With False, ``backward`` gets None instead of zeros for outputs that received no gradient."""
        self.materialize_grads = value  # type: ignore[misc]


class BackwardNode(FunctionCtx, Node):
    """The node of a custom Function, which is also its ``ctx``."""

    # Slots for what every call needs, and a dict: ctx takes any attribute.
    __slots__ = ("_where", "_wanted", "_input_shapes", "_outputs", "_differentiable", "_output_types", "_saved_edges", "__dict__", "__weakref__")
    _function: Any = None
    _where: list[int]  # for each argument, which edge it is, or -1
    _wanted: Sequence[Any]  # the edges whose gradients are asked for
    _input_shapes: list[Any]
    _outputs: int  # how many the forward returned,
    _differentiable: Sequence[int]  # which of them take part,
    _output_types: list[Any]  # and of what shape and type they are
    _saved_edges: Sequence[Any]  # for each saved tensor its edge, or the number of the output that it is
    _pulls = None
    _materializes = True

    def _pull(self, g: Any, saved: Any, edges: Sequence[Any]) -> Sequence[Any]:
        gs = g if g.__class__ is tuple else (g,)
        recording = any([isinstance(v, Tensor) for v in gs])
        self._wanted = edges
        if len(gs) < self._outputs or any([v is None for v in gs]):
            full: list[Any] = [None] * self._outputs
            for i, v in zip(self._differentiable, gs):
                full[i] = v
            if self.materialize_grads:
                full = [np.zeros(*t) if v is None and t is not None else v for v, t in zip(full, self._output_types)]
            gs = tuple(full)
        before = modes.is_grad_enabled()
        modes.switch(recording)
        try:
            results = self._function._backward_of()(self, *[wrap(v) if isinstance(v, np.ndarray) else v for v in gs])
        finally:
            modes.switch(before)
        return self._checked(results, edges, recording)

    def _checked(self, results: Any, edges: Sequence[Any], recording: bool) -> list[Any]:
        """What the user's backward returned, if it fits the inputs."""
        results = results if isinstance(results, (tuple, list)) else (results,)
        given = len(self._where)
        if len(results) > given and all(r is None for r in results[given:]):
            results = results[:given]
        if len(results) != given:
            raise RuntimeError(f"function {self.name()} returned an incorrect number of gradients (expected {given}, got {len(results)})")
        grads: list[Any] = []
        for i, r in enumerate(results):
            k = self._where[i]
            if k < 0:
                if r is not None:
                    raise RuntimeError(f"function {self.name()} returned a gradient different than None at position {i + 1}, but the "
                                       "corresponding forward input was not a Variable")  # fmt: skip
                continue
            if r is not None and not isinstance(r, Tensor):
                raise noted(RuntimeError(f"expected Variable or None (got {type(r).__name__})"), f"{self.name()} returned it at position {i + 1}")
            if r is not None and edges[k] is not None and r._array.shape != self._input_shapes[k]:
                raise errors.wrong_shape(self, r._array.shape, self._input_shapes[k])
            grads.append(None if r is None or edges[k] is None else r if recording else r._array)
        return grads

    @property
    def needs_input_grad(self) -> tuple[bool, ...]:  # type: ignore[override]
        """For each input, whether its gradient is asked for."""
        return tuple([k >= 0 and self._wanted[k] is not None for k in self._where])

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors given to ``save_for_backward``.

        Raises:
            RuntimeError: if they were freed, or one was written into since.
        """
        if self._saved is FREED:
            raise errors.second_time(self)
        if self._saved and self._seq < storage.last_write:
            errors.check_saved(self)
        return tuple([array if array is None else self._restored(array, e) for array, e in zip(self._saved, self._saved_edges)])

    def _restored(self, array: np.ndarray, e: Any) -> Tensor:
        if isinstance(e, Tensor):  # a leaf
            return e
        t = wrap(array)
        t._fn = self._edge_of_output(e) if e.__class__ is int else e
        return t

    saved_variables = saved_tensors

    def _edge_of_output(self, i: int) -> Any:
        if i not in self._differentiable:
            return None
        return self if len(self._differentiable) == 1 else Output(self, self._differentiable.index(i))


class FunctionMeta(type):
    """Gives each Function the class of its nodes."""

    def __init__(cls, name: str, bases: tuple[type, ...], attributes: dict[str, Any]) -> None:
        super().__init__(name, bases, attributes)
        cls._backward_cls = type(name + "Backward", (BackwardNode,), {"_function": cls, "__module__": cls.__module__})


class Function(metaclass=FunctionMeta):
    """A differentiable operation with a ``backward`` of your own.

    Subclass it with static methods ``forward(ctx, *args)`` and ``backward(ctx, *grad_outputs)``, or
    ``forward(*args)``, ``setup_context(ctx, inputs, output)`` and ``backward``; then call ``YourFunction.apply(*args)``.
    ``backward`` receives the gradient of each output and returns one for each argument (None where there is none). It
    runs on tensors: with ``create_graph=True`` what it does is recorded, so it can be differentiated again.

    >>> import pullback as torch
    >>> class Double(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     def backward(ctx, grad_output):
    ...         return grad_output * 2
    >>> x = torch.tensor([1.0], requires_grad=True)
    >>> Double.apply(x).backward(torch.tensor([3.0])); x.grad
    tensor([6.])
    """

    generate_vmap_rule = False
    _backward_cls: type[BackwardNode]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should invoke them "
                      "on the class itself: call it with .apply(...).", DeprecationWarning, stacklevel=2)  # fmt: skip

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the outputs; override this."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Save what backward needs, if ``forward`` does not take ``ctx``."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Turn gradients of the outputs into gradients of the arguments; override this (or ``vjp``)."""
        raise NotImplementedError("You must implement either the backward or vjp method for your custom autograd.Function to use it "
                                  "with backward mode AD.")  # fmt: skip

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """Turn tangents of the arguments into tangents of the outputs; override this for forward mode."""
        raise NotImplementedError("You must implement the jvp function for custom autograd.Function to use it with forward mode AD.")

    @classmethod
    def _backward_of(cls) -> Any:
        overridden = cls.vjp is not Function.vjp
        if overridden and cls.backward is not Function.backward:
            raise RuntimeError("Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement one of them.")
        return cls.vjp if overridden else cls.backward

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run the function and record it."""
        node = cls._backward_cls()
        edges: list[Any] = []
        where: list[int] = []
        shapes: list[Any] = []
        for a in args:
            if isinstance(a, Tensor):
                where.append(len(edges))
                edges.append(storage.edge_of(a))
                shapes.append(a._array.shape)
            else:
                where.append(-1)
        before = modes.is_grad_enabled()
        recording = before and any([e is not None for e in edges])
        node._edges, node._where, node._input_shapes = tuple(edges) if recording else (), where, shapes
        node._wanted, node._hooks, node._saved, node._saved_edges = edges, None, (), ()
        modes.switch(False)
        try:
            if cls.setup_context is Function.setup_context:
                output = cls.forward(node, *args, **kwargs)
            else:
                output = cls.forward(*args, **kwargs)
                cls.setup_context(node, args, output)
        finally:
            modes.switch(before)
        outputs = output if isinstance(output, tuple) else (output,)
        results = cls._placed(node, args, outputs, recording)
        return tuple(results) if isinstance(output, tuple) else results[0]

    @classmethod
    def _placed(cls, node: BackwardNode, args: tuple[Any, ...], outputs: tuple[Any, ...], recording: bool) -> list[Any]:
        """Give the outputs of ``forward`` their place in the graph."""
        constant, dirty = set(map(id, node.non_differentiable)), set(map(id, node.dirty_tensors))
        inputs = {id(a): a for a in args}
        if not dirty.issubset(map(id, outputs)):
            raise RuntimeError("Some elements marked as dirty during the forward method were not returned as output. The inputs that are "
                               "modified inplace must all be outputs of the Function.")  # fmt: skip
        results: list[Any] = []
        taking_part: list[int] = []
        for i, o in enumerate(outputs):
            result = o
            if isinstance(o, Tensor):
                given = inputs.get(id(o))
                if id(o) in dirty:
                    if recording:
                        storage.check_writable(o)
                    storage.written(o._array)
                elif recording or given is not None:
                    result = wrap(o._array)
                    source = o if given is None else given
                    if given is not None or source._view is not None:  # the input, or a view of something: not to be written into
                        result._view = (source if source._view is None else source._view[0], clock(), storage.FROM_FUNCTION)
                if recording and id(o) not in constant and OF_NUMPY[o._array.dtype].category >= FLOATING:
                    taking_part.append(i)
            results.append(result)
        if not recording:
            return results
        node._outputs, node._differentiable = len(outputs), taking_part
        types = [(o._array.shape, o._array.dtype) if isinstance(o, Tensor) else None for o in outputs]
        node._output_types = types
        if len(taking_part) == 1:
            node._shape, node._dtype = types[taking_part[0]]  # type: ignore[misc]
        else:
            node._shape, node._dtype = ([types[i][k] for i in taking_part] for k in (0, 1))  # type: ignore[index]
        made_here(node, sys._getframe(2))
        if node.to_save:
            place = {id(o): i for i, o in enumerate(outputs) if id(o) not in inputs or id(o) in dirty}
            node._saved = tuple([None if t is None else t._array for t in node.to_save])
            node._saved_edges = [None if t is None else place[id(t)] if id(t) in place else storage.edge_of(t) for t in node.to_save]
        node.__dict__.pop("to_save", None)  # what is kept is noted; hold on to nothing else
        node.__dict__.pop("dirty_tensors", None)
        node.__dict__.pop("non_differentiable", None)
        node._seq = clock()
        for k, i in enumerate(taking_part):
            e = node if len(taking_part) == 1 else Output(node, k)
            if id(outputs[i]) in dirty:
                storage.move_on(results[i], e)
            else:
                results[i]._fn = e
        return results


def once_differentiable(fn: Any) -> Any:
    """Decorates a ``backward`` that cannot itself be differentiated: trying to raises, instead of giving wrong values."""
    import functools

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any) -> Any:
        with modes.no_grad():
            outputs = fn(ctx, *args)
        if not modes.is_grad_enabled() or not any(isinstance(a, Tensor) and a.requires_grad for a in args):
            return outputs
        several = outputs if isinstance(outputs, tuple) else (outputs,)
        refused = tuple(_Refuse.apply(o, *args) if isinstance(o, Tensor) else o for o in several)
        return refused if isinstance(outputs, tuple) else refused[0]

    return wrapper


class _Refuse(Function):
    @staticmethod
    def forward(ctx: Any, value: Any, *sources: Any) -> Any:
        return value.detach()

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")
