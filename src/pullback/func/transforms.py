"""Transforms that record a function and go backward through it: ``grad`` and ``vjp``; also ``linearize``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Literal, ParamSpec, TypeVar, overload

import numpy as np

from ..base import thread_state
from ..base.dtypes import FLOATING, OF_NUMPY
from ..base.errors import with_notes
from ..base.pytree import tree_flatten, tree_map, tree_unflatten
from ..core import views
from ..core.boundary import cross_boundary, identity_vjp, no_vjp
from ..core.graph import Node, Output, clock
from ..core.level import LevelValue, check_live, sequence_number, wrap_value
from ..core.tensor import Tensor
from ..core.transform_inputs import Leaving, register_input
from ..engine import engine
from ..levels.api import SINK, check_argnums, check_outputs, differentiating, jvp
from . import per_example

__all__ = ["functionalize", "grad", "grad_and_value", "linearize", "vjp"]

P = ParamSpec("P")
R = TypeVar("R")
A = TypeVar("A")


class recording(differentiating):
    """The scope in which ``grad`` or ``vjp`` records a function, in any case for itself.

    Attributes:
        is_cut: grad mode was off around it: then nothing that is computed inside has a history outside.
        start: when it began, on the clock of the graph.
        end: the leaf at which the graph of inputs without a history ends.
        around: such leaves of the transforms around this one.
    """

    def __enter__(self) -> Any:
        super().__enter__()
        self.is_cut, self.start = not thread_state.is_grad_enabled(), clock()
        *self.around, self.end = thread_state.local.ends
        thread_state.set_grad(True)
        return self

    def __exit__(self, *exc: object) -> None:
        super().__exit__(*exc)
        thread_state.set_grad(not self.is_cut)


def fresh_input(x: Any, scope: recording) -> Any:
    """A new tensor with the same values to differentiate with respect to, connected to the history of the given one.

    Raises:
        ValueError: for what is no tensor.
        RuntimeError: for integers.
    """
    if not isinstance(x, Tensor):
        raise ValueError(f"Thing passed to transform API must be Tensor, got {type(x)}")
    if OF_NUMPY[x._array.dtype].category < FLOATING:
        raise with_notes(
            RuntimeError("only Tensors of floating point dtype can require gradients"),
            f"this one is {x.dtype}",
            page="integer-grad",
        )
    e = None if scope.is_cut else views.gradient_edge(x)
    step = cross_boundary(x._array, (scope.end,), no_vjp) if e is None else cross_boundary(x._array, (e,), identity_vjp)
    return register_input(step, clock(), None, (x, lambda y: left(y, scope)))


class Inputs:
    """The arguments to differentiate with respect to; edges are kept at once, for the function may write in place."""

    def __init__(self, trees: Sequence[Any], scope: recording) -> None:
        flats = [tree_flatten(t) for t in trees]
        self.scope = scope
        self.specs = [spec for _, spec in flats]
        self.outside = [x for flat, _ in flats for x in flat]
        self.flat = [[fresh_input(x, scope) for x in flat] for flat, _ in flats]
        self.given = [tree_unflatten(flat, spec) for flat, spec in zip(self.flat, self.specs)]
        tensors = [x for flat in self.flat for x in flat]
        self.edges = [x._fn for x in tensors]
        self.types = [(x._array.shape, x._array.dtype) for x in tensors]

    def unflatten(self, grads: Sequence[Any]) -> list[Any]:
        """Gradients in the structure of the arguments."""
        rest = iter(grads)
        return [tree_unflatten([next(rest) for _ in flat], spec) for flat, spec in zip(self.flat, self.specs)]

    def left(self, x: Any) -> Any:
        """A result of the function, as it is outside of the scope: an input is what was given."""
        for given, e in zip(self.outside, self.edges):
            if isinstance(x, Tensor) and x._fn is e:
                return given
        return left(x, self.scope)

    def returned(self, x: Any) -> Any:
        """A result likewise, for the user; a view of an input is one of what was given."""
        result = self.left(x)
        if not isinstance(x, Tensor) or x._view is None and "_outsides" not in x.__dict__:
            return result
        if result is x:  # what the pullback begins at stays as it is
            result = wrap_value(x._array)
            result._fn = views.gradient_edge(x)
        return Leaving(self.scope.start, lambda y: y).linked(x, result)


def pull_back(outputs: Sequence[Tensor], seeds: Sequence[Any], inputs: Inputs, retain: bool, record: bool) -> list[Any]:
    """Gradients for ``inputs``, zeros where nothing arrives; recorded if that is asked for and something outside could
    use it.
    """
    roots, create, nodes = roots_and_seeds(outputs, seeds, inputs, record)
    found: list[Any] = [None] * len(inputs.edges)
    if roots:
        batches = thread_state.local.batches
        inside = (
            None
            if create or nodes is None or not batches
            else per_example.gradients(batches[-1], nodes, roots, inputs.edges, retain)
        )
        if inside is not None:
            found = inside
        else:
            with thread_state.set_grad_enabled(create):
                found = engine.run(
                    roots,
                    retain=retain or create,
                    create=create,
                    wanted=inputs.edges,
                    accumulate=False,
                    as_saved=inputs.left if inputs.scope.is_cut else None,
                )
    return [
        wrap_value(np.zeros(*kind)) if g is None else check_live(wrap_value(g)) for g, kind in zip(found, inputs.types)
    ]


def roots_and_seeds(
    outputs: Sequence[Tensor], seeds: Sequence[Any], inputs: Inputs, record: bool
) -> tuple[list[tuple[Any, Any]], bool, list[Node] | None]:
    """The roots with their seeds, whether to record the backward pass, and its nodes if they lead nowhere but to
    ``inputs``.
    """
    edges = [(views.gradient_edge(y), seed) for y, seed in zip(outputs, seeds)]
    roots = [(e, seed) for e, seed in edges if e is not None]
    nodes = closed_subgraph(roots, inputs.edges, thread_state.local.ends)
    given = inputs.outside if inputs.scope.is_cut else ()  # saved inputs count as what was given
    create = record and (
        nodes is None
        or any([s._fn is not None for _, s in roots])
        or any([views.gradient_edge(x) is not None for x in given])
    )
    return roots if create else [(e, s._array) for e, s in roots], create, nodes


def closed_subgraph(
    roots: Sequence[tuple[Any, Any]], wanted: Sequence[Any], around: Sequence[Any]
) -> list[Node] | None:
    """The nodes between roots and inputs; None if the graph leads to anything else, on which gradients depend, too.

    Args:
        around: the ends of the transforms that are running.
    """
    own = {id(e) for e in wanted}
    seen: dict[int, Node] = {}
    todo = [e for e, _ in roots]
    while todo:
        e = todo.pop()
        if e is None or id(e) in seen:
            continue
        if e._seq == 0:
            if e._array is not SINK or any([e is end for end in around]):
                return None
            continue
        node = e.node if e.__class__ is Output else e
        if id(node) in own:
            if node._edges[0]._seq or node._edges[0]._array is not SINK:
                return None
        elif id(node) not in seen:
            seen[id(node)] = node
            todo.extend(node._edges)
    return list(seen.values())


def grad_and_value(
    func: Callable[P, Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[P, Any]:
    """A function that returns the gradient of ``func``, whose output is one element, and its value.

    Args:
        func: takes tensors and nests of tensors, returns a tensor without dimensions.
        argnums: by which arguments to differentiate.
        has_aux: ``func`` returns ``(output, aux)``; then ``(gradient, (value, aux))`` is returned.

    >>> import pullback as torch
    >>> torch.func.grad_and_value(lambda x: x ** 2)(torch.tensor(3.0))
    (tensor(6.), tensor(9.))
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        gradient, value, aux = _grad_and_value(func, argnums, has_aux, args, kwargs)
        return (gradient, (value, aux)) if has_aux else (gradient, value)

    return wrapper


def _grad_and_value(
    func: Callable[..., Any],
    argnums: int | tuple[int, ...],
    has_aux: bool,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """The gradient of ``func``, its value and ``aux``."""
    chosen = check_argnums(argnums, args)
    with recording() as scope:
        given = list(args)
        inputs = Inputs([args[i] for i in chosen], scope)
        for i, x in zip(chosen, inputs.given):
            given[i] = x
        output = func(*given, **kwargs)
        aux = None
        if has_aux:
            if not (isinstance(output, tuple) and len(output) == 2):
                raise RuntimeError(
                    "grad_and_value(f)(*args): output of function f should be a tuple: (output, aux) if has_aux is True"
                )
            output, aux = output
        if not isinstance(output, Tensor):
            raise RuntimeError(f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type(output)}")
        if len(output._array.shape):
            raise RuntimeError(
                "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with "
                f"{len(output._array.shape)} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
            )
        seed = wrap_value(np.ones((), output._array.dtype))
        results = inputs.unflatten(pull_back([output], [seed], inputs, False, not scope.is_cut))
    gradient = results[0] if isinstance(argnums, int) else tuple(results)
    return gradient, inputs.returned(output), tree_map(inputs.returned, aux)


def left(x: Any, scope: recording) -> Any:
    """A result, as it is outside of the scope where it was computed: without its graph, if that is cut off there or
    leads only to inputs of transforms that have ended.
    """
    if not isinstance(x, Tensor) or x._fn is None:
        return x
    e = views.gradient_edge(x)
    if e._seq == 0:
        return x
    is_inside = sequence_number(e) > scope.start
    if not (scope.is_cut and is_inside) and closed_subgraph([(e, None)], (), scope.around) is None:
        return x
    y = wrap_value(x._array)
    return y._array.level.track(y) if isinstance(y._array, LevelValue) else y


def grad(func: Callable[P, Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable[P, Any]:
    """The gradient of ``func``, as a function; see :func:`grad_and_value`.

    >>> import pullback as torch
    >>> torch.func.grad(torch.func.grad(torch.sin))(torch.tensor(1.0))
    tensor(-0.8415)
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        gradient, _, aux = _grad_and_value(func, argnums, has_aux, args, kwargs)
        return (gradient, aux) if has_aux else gradient

    return wrapper


def record_call(
    func: Callable[..., Any], primals: Sequence[Any], has_aux: bool
) -> tuple[Inputs, Any, list[Tensor], Any, Any]:
    """Record a call of ``func``: its inputs, its output, that flattened, the structure, and ``aux``."""
    with recording() as scope:
        inputs = Inputs(primals, scope)
        output = func(*inputs.given)
        aux = None
        if has_aux:
            if not (isinstance(output, tuple) and len(output) == 2):
                raise RuntimeError(
                    "vjp(f, *primals): output of function f should be a tuple: (output, aux) if has_aux is True"
                )
            output, aux = output
    flat, spec = tree_flatten(output)
    check_outputs(flat, "vjp(f, *primals)")
    for y in flat:
        if OF_NUMPY[y._array.dtype].category < FLOATING:
            raise with_notes(
                RuntimeError(
                    f"vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype "
                    f"{y.dtype}"
                ),
                "Return what has no derivative as aux, with has_aux=True.",
            )
    return inputs, output, flat, spec, aux


@overload
def vjp(
    func: Callable[..., R], *primals: Any, has_aux: Literal[False] = False
) -> tuple[R, Callable[..., tuple[Any, ...]]]: ...
@overload
def vjp(
    func: Callable[..., tuple[R, A]], *primals: Any, has_aux: Literal[True]
) -> tuple[R, Callable[..., tuple[Any, ...]], A]: ...
def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The value of ``func`` and a function that pulls cotangents of it back to cotangents of ``primals``.

    >>> import pullback as torch
    >>> y, pull = torch.func.vjp(torch.sin, torch.tensor([0.0, 1.0]))
    >>> pull(torch.tensor([1.0, 2.0]))
    (tensor([1.0000, 1.0806]),)
    """
    inputs, output, flat_outputs, out_spec, aux = record_call(func, primals, has_aux)

    def pull(*cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        seeds, seed_spec = tree_flatten(
            cotangents[0]
            if len(cotangents) == 1 and not isinstance(output, (tuple, list))
            else cotangents[0]
            if len(cotangents) == 1
            else tuple(cotangents)
        )
        if len(seeds) != len(flat_outputs) or len(cotangents) == 1 and seed_spec != out_spec:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the "
                f"function. cotangents: {seed_spec}, primal output: {out_spec}"
            )
        for i, (s, y) in enumerate(zip(seeds, flat_outputs)):
            if not isinstance(s, Tensor):
                raise TypeError(f"gradients can be either Tensors or None, but got {type(s).__name__}")
            if s._array.shape != y._array.shape:
                raise with_notes(
                    RuntimeError(
                        f"Mismatch in shape: grad_output[{i}] has a shape of {s.shape} and output[{i}] has a shape of "
                        f"{y.shape}."
                    ),
                    page="gradient-shape",
                )
        record = thread_state.is_grad_enabled() if create_graph is None else create_graph
        return tuple(inputs.unflatten(pull_back(flat_outputs, seeds, inputs, retain_graph, record)))

    value = tree_map(inputs.returned, output)
    return (value, pull, tree_map(inputs.returned, aux)) if has_aux else (value, pull)


def linearize(func: Callable[..., R], *primals: Any) -> tuple[R, Callable[..., R]]:
    """The value of ``func`` and the linear function that maps tangents of ``primals`` to tangents of it.

    >>> import pullback as torch
    >>> y, push = torch.func.linearize(torch.sin, torch.tensor(0.0))
    >>> push(torch.tensor(3.0))
    tensor(3.)
    """
    value = func(*primals)
    flat, spec = tree_flatten(primals)

    def push(*tangents: Any) -> Any:
        flat_tangents, tangent_spec = tree_flatten(tangents)
        if tangent_spec != spec:
            raise RuntimeError(f"Expected the tangents {tangent_spec} to have the same argspec as the primals {spec}")
        for i, (p, t) in enumerate(zip(flat, flat_tangents)):
            for what, of_p, of_t in (("shape", p.shape, t.shape), ("dtype", p.dtype, t.dtype)):
                if of_p != of_t:
                    raise RuntimeError(
                        f"tangent:{i} with {what} {of_t} in flattened pytree doesn't match the {what} {of_p} of the "
                        "corresponding primal."
                    )
        return jvp(func, primals, tangents)[1]

    return value, push


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """``func`` itself: writes in place are traced as they are."""
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options are:\n"
            "     remove='mutations' and remove='mutations_and_views'"
        )
    return func
