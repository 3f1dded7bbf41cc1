"""The two ways into the engine: ``backward`` accumulates gradients in leaves, ``grad`` returns them."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from math import prod
from typing import Any

import numpy as np

from ..base import thread_state
from ..base.dtypes import FLOAT32, FLOAT64
from ..base.errors import with_notes
from ..base.layout import contiguous_copy
from ..base.thread_state import enable_grad
from ..core import slots
from ..core.graph import GradientEdge, format_line, user_frame
from ..core.record import wrap
from ..core.tensor import Tensor
from ..core.versions import owner_of
from ..core.views import gradient_edge
from ..ops.values.meta import Meta
from .accumulate import as_tensor, may_alias, zeros
from .engine import run


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Pull gradients from ``tensors`` back to the leaves, which accumulate them in ``.grad``.

    Args:
        tensors: one tensor or several, of any shapes.
        grad_tensors: the seeds, one for each, of the same shapes; None where a tensor has one element or needs no grad.
        retain_graph, create_graph: see :meth:`Tensor.backward`.
        inputs: accumulate into these tensors only (leaves or not).

    >>> import pullback as torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> torch.autograd.backward([x.sum(), (x * x).sum()]); x.grad
    tensor([3., 5.])
    """
    if thread_state.overridden:
        from ..core.override import NOT_OVERRIDDEN, dispatch

        given = {
            "retain_graph": retain_graph,
            "create_graph": create_graph,
            "grad_variables": grad_variables,
            "inputs": inputs,
        }
        result = dispatch(backward, (tensors, grad_tensors), given)
        if result is not NOT_OVERRIDDEN:
            return
    if thread_state.local.transforms:
        raise RuntimeError(
            "backward() called inside a functorch transform. This is not supported, please use functorch.grad or "
            "functorch.vjp instead or call backward() outside of functorch transforms."
        )
    outputs = _as_tuple(tensors)
    targets = None if inputs is None else _as_tuple(inputs)
    if targets is not None and not targets:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    seeds = _as_tuple(grad_variables if grad_tensors is None else grad_tensors, len(outputs))
    for t in targets or ():
        if not t.requires_grad:
            raise with_notes(
                RuntimeError("can't retain_grad on Tensor that has requires_grad=False"),
                f"one of `inputs`, of shape {list(t.shape)}, has no gradient to accumulate",
            )
    wanted = None if targets is None else [_edge_of_input(t) for t in targets]
    roots = _roots(outputs, seeds, create_graph)
    for t in targets or ():
        if isinstance(t, Tensor):  # an input that is no leaf accumulates what arrives there, now and later
            t.retain_grad()
    retain = bool(create_graph if retain_graph is None else retain_graph)
    if not create_graph:
        run(roots, retain=retain, create=False, wanted=wanted)
    else:
        warnings.warn(
            "Using backward() with create_graph=True will create a reference cycle between the parameter and its "
            "gradient which can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid "
            "this. If you have to use this function, make sure to reset the .grad fields of your parameters to None "
            "after use to break the cycle and avoid the leak.",
            stacklevel=_user_stacklevel(),
        )
        thread_state.local.recorded_backwards += 1
        with enable_grad():
            run(roots, retain=retain, create=True, wanted=wanted)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor, ...]:
    """Gradients of ``outputs`` with respect to ``inputs``, returned and accumulated nowhere.

    Args:
        outputs: one tensor or several.
        inputs: one tensor or several, leaves or not.
        grad_outputs: the seeds, one for each output, of its shape.
        retain_graph: keep what the graph saved; default: ``create_graph``.
        create_graph: record the computation of the gradients, so that they can be differentiated.
        allow_unused: give None for inputs that the outputs do not depend on, instead of raising.
        is_grads_batched: seeds have one more dimension in front: a vector-Jacobian product for each entry.
        materialize_grads: give zeros for such inputs.

    Returns:
        A tuple: one gradient for each input.

    >>> import pullback as torch
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> g, = torch.autograd.grad(x ** 3, x, create_graph=True); g
    tensor(27., grad_fn=<MulBackward0>)
    >>> torch.autograd.grad(g, x)
    (tensor(18.),)
    """
    outs, ins = _as_tuple(outputs), _as_tuple(inputs)
    if not ins:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    if only_inputs is False:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for "
            "other parts of the graph, please use torch.autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    seeds = _as_tuple(grad_outputs, len(outs))
    if is_grads_batched:
        return slots.batched_grad(outs, ins, seeds, retain_graph, create_graph, allow_unused, materialize_grads)
    roots = _roots(outs, seeds, create_graph)
    for i, t in enumerate(ins):
        if not t.requires_grad:
            raise with_notes(
                RuntimeError("One of the differentiated Tensors does not require grad"),
                f"inputs[{i}], of shape {list(t.shape)}",
            )
    wanted = [_edge_of_input(t) for t in ins]
    retain = bool(create_graph if retain_graph is None else retain_graph)
    if create_graph:
        thread_state.local.recorded_backwards += 1
        with enable_grad():
            grads = run(roots, retain=retain, create=True, wanted=wanted, accumulate=False)
    else:
        grads = run(roots, retain=retain, create=False, wanted=wanted, accumulate=False)
    results: list[Any] = []
    for i, (t, g) in enumerate(zip(ins, grads)):
        if g is not None:
            g = as_tensor(g)
        elif materialize_grads:
            if isinstance(t, GradientEdge):
                raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
            g = as_tensor(zeros(t._array.shape, t._array.dtype, create_graph))
            if create_graph:
                g.requires_grad = True
        elif not allow_unused:
            raise with_notes(
                RuntimeError(
                    f"The differentiated Tensor at index {i} appears to not have been used in the graph. Set "
                    "allow_unused=True if this is the desired behavior."
                ),
                f"its shape is {list(t.shape)}",
                page="unused-input",
            )
        results.append(g)
    if not create_graph:  # results of one call must not share memory with each other, or within themselves
        held: set[int] = set()
        for i, r in enumerate(results):
            if r is not None:
                memory = id(owner_of(r._array))
                if memory in held or may_alias(r._array):
                    a = r._array  # the copy is laid out likewise, where that is without gaps
                    results[i] = r = as_tensor(
                        a.copy()
                        if a.__class__ is not np.ndarray
                        else contiguous_copy(a)
                        if 0 in a.strides
                        else a.copy("K")
                    )
                    memory = id(r._array)
                held.add(memory)
    return tuple(results)


def _user_stacklevel() -> int:
    """The stacklevel at which a warning names the user's line."""
    frame, target, level = sys._getframe(1), user_frame(sys._getframe(1)), 1
    while frame is not None and frame is not target:
        frame, level = frame.f_back, level + 1  # type: ignore[assignment]
    return level


def _as_tuple(given: Any, length: int = 1) -> tuple[Any, ...]:
    if given.__class__ is tuple:
        return given
    if given is None:
        return (None,) * length
    if isinstance(given, (Tensor, GradientEdge)):
        return (given,)
    return tuple(given) if isinstance(given, Iterable) else (given,)  # a list, dict.values(), a generator


def _edge_of_input(t: Any) -> Any:
    if isinstance(t, GradientEdge):
        return t.edge
    e = gradient_edge(t)
    if e is None:
        raise with_notes(
            RuntimeError("One of the differentiated Tensors does not require grad"), f"it has shape {list(t.shape)}"
        )
    return e


def edge_name(e: Any) -> str:
    return getattr(e, "node", e).name()


def edge_line(e: Any) -> Any:
    return getattr(e, "node", e).location


def _roots(outputs: tuple[Any, ...], seeds: tuple, create: bool) -> list[tuple[Any, Any]]:
    """Pairs of an edge and its seed, after every check: nothing has been changed when this raises."""
    for y, seed in zip(outputs, seeds):
        if not (seed is None or isinstance(seed, Tensor)):
            raise with_notes(
                TypeError(f"gradients can be either Tensors or None, but got {type(seed).__name__}"),
                f"Give a tensor of shape {list(y.shape)}, such as torch.full_like(y, {seed!r}).",
            )
    if len(outputs) != len(seeds):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(seeds)} gradients")
    roots = []
    for i, (y, seed) in enumerate(zip(outputs, seeds)):
        e = gradient_edge(y) if isinstance(y, Tensor) else y.edge
        if e is None:
            raise with_notes(
                RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn"),
                f"its shape is {list(y.shape)}. Nothing on the way to it required grad: was it made under no_grad(), "
                "from .detach(), .item() or .data, or from integers?",
                page="does-not-require-grad",
            )
        shape, dtype = tuple(y.shape), y.dtype
        if seed is None:
            if prod(shape) != 1:
                raise with_notes(
                    RuntimeError("grad can be implicitly created only for scalar outputs"),
                    f"this one has shape {list(shape)}"
                    + ("" if e._seq == 0 else f", made by {edge_name(e)} at {format_line(edge_line(e))}"),
                    "Say what each element counts, y.backward(gradient=torch.ones_like(y)) for equally, or reduce "
                    "first: y.sum().backward()",
                    page="scalar-outputs",
                )
            if dtype.is_complex:
                raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {dtype}")
            g: Any = (
                Meta(shape, dtype.numpy)
                if getattr(y, "_array", None).__class__ is Meta
                else np.ones(shape, dtype.numpy)
            )
            roots.append((e, wrap(g) if create else g))
            continue
        if seed._array.shape != shape:
            raise with_notes(
                RuntimeError(
                    f"Mismatch in shape: grad_output[{i}] has a shape of {seed.shape} and output[{i}] has a shape of "
                    f"{y.shape}."
                ),
                "The seed says how much each element of the output counts: it needs the output's shape, and is never "
                "stretched.",
                page="gradient-shape",
            )
        if seed.dtype.is_complex != dtype.is_complex:
            raise RuntimeError(
                "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in "
                f"dtype: grad_output[{i}] has a dtype of {seed.dtype} and output[{i}] has a dtype of {dtype}."
            )
        if seed.dtype is not dtype:
            seed = seed.to(dtype)
        roots.append((e, seed if create else seed._array))
    return roots


ONES = {d: np.ones((), d) for d in (FLOAT32, FLOAT64)}  # the seeds of scalars


def tensor_backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Pull ``gradient`` back through the graph; leaves accumulate what reaches them in ``.grad``.

    Args:
        gradient: the seed: the derivative of the final quantity with respect to this tensor, of this tensor's shape.
            May be left out for one-element tensors, where it is 1.
        retain_graph: keep what the graph saved, for another backward; default: ``create_graph``.
        create_graph: record the backward pass, for higher derivatives.
        inputs: accumulate into these tensors only.

    Raises:
        RuntimeError: for a seed that is missing or of the wrong shape, a graph freed already, a saved value
            overwritten.

    >>> import pullback as torch
    >>> x = torch.tensor([2.0, 3.0], requires_grad=True)
    >>> (x * x).backward(gradient=torch.tensor([1.0, 0.5])); x.grad
    tensor([4., 3.])
    """
    if inputs is None and not create_graph and self.__class__ is Tensor:  # fast path
        a, e, seed = self._array, gradient_edge(self), None
        if gradient is None:
            seed = ONES.get(a.dtype) if a.ndim == 0 and e is not None and a.__class__ is not Meta else None
        elif gradient.__class__ is Tensor and e is not None:
            seed = gradient._array
            if (
                seed.__class__ is not a.__class__
                or seed.__class__ is not np.ndarray
                or seed.shape != a.shape
                or seed.dtype != a.dtype
            ):
                seed = None
        if seed is not None and not thread_state.local.transforms:
            run(((e, seed),), retain=bool(retain_graph), create=False)
            return
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)


tensor_backward.__name__ = "backward"
Tensor.backward = tensor_backward  # type: ignore[assignment, method-assign]
