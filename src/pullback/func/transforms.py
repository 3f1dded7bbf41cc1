"""``grad``, ``vjp``, ``jvp`` and ``vmap`` of functions, composable in any order."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base import thread_state
from ..base.dtypes import FLOATING, OF_NUMPY
from ..base.errors import with_notes
from ..base.pytree import tree_flatten, tree_map, tree_unflatten
from ..core import views
from ..core.boundary import cross_boundary, identity_vjp, no_vjp
from ..core.graph import Node, Output, clock
from ..core.level import LevelValue, check_live, wrap_value
from ..core.tensor import Tensor
from ..core.transform_inputs import register_input
from ..engine import engine
from ..levels.forward import Forward, _set_fwd_grad_enabled, check_size
from ..levels.vmap import Batch
from . import per_example

__all__ = ["functionalize", "grad", "grad_and_value", "jvp", "linearize", "vjp", "vmap"]


def make_inputs(x: Any, end: Any, around: Sequence[Any]) -> Any:
    """The same values as an input to differentiate by: connected to its history, and an end of its own for gradients.

    Args:
        end: where the history of what has none leads to.
        around: the ends of transforms around this one.

    Raises:
        ValueError: for what is no tensor.
        RuntimeError: for integers.
    """
    if not isinstance(x, Tensor):
        raise ValueError(f"Thing passed to transform API must be Tensor, got {type(x)}")
    if OF_NUMPY[x._array.dtype].category < FLOATING:
        raise with_notes(
            RuntimeError("only Tensors of floating point dtype can require gradients"), f"this one is {x.dtype}"
        )
    e = views.gradient_edge(x)
    step = cross_boundary(x._array, (end,), no_vjp) if e is None else cross_boundary(x._array, (e,), identity_vjp)
    return register_input(step, clock(), None, (x, lambda y: close_over(y, around)))


class transforming:
    """While the function that a transform was given runs. Its inputs that have no history get an end of their own."""

    def __enter__(self) -> None:
        thread_state.local.transforms += 1
        self.outer_ends = thread_state.local.ends
        thread_state.local.ends += (wrap_value(_NOTHING),)
        self.outer_arguments = thread_state.local.arguments
        thread_state.local.arguments = self.outer_arguments.copy()

    def __exit__(self, *exc: object) -> None:
        thread_state.local.transforms -= 1
        thread_state.local.ends = self.outer_ends
        thread_state.local.arguments = self.outer_arguments


class Inputs:
    """The arguments to differentiate by, fresh; edges are noted at once, for the function may write into them."""

    def __init__(self, trees: Sequence[Any]) -> None:
        flats = [tree_flatten(t) for t in trees]
        self.specs = [spec for _, spec in flats]
        *around, end = thread_state.local.ends
        self.flat = [[make_inputs(x, end, around) for x in flat] for flat, _ in flats]
        self.given = [tree_unflatten(flat, spec) for flat, spec in zip(self.flat, self.specs)]
        tensors = [x for flat in self.flat for x in flat]
        self.edges = [x._fn for x in tensors]
        self.types = [(x._array.shape, x._array.dtype) for x in tensors]

    def nests(self, grads: Sequence[Any]) -> list[Any]:
        """Gradients in the structure of the arguments."""
        rest = iter(grads)
        return [tree_unflatten([next(rest) for _ in flat], spec) for flat, spec in zip(self.flat, self.specs)]


_NOTHING = np.zeros(())  # of leaves of nobody's, which receive nothing: where the graph of a transform's inputs ends


def pull_back(outputs: Sequence[Tensor], seeds: Sequence[Any], inputs: Inputs, retain: bool) -> list[Any]:
    """Gradients for ``inputs``, zeros where nothing arrives; recorded only if something outside could ask for it."""
    roots, create, nodes = roots_and_seeds(outputs, seeds, inputs)
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
                found = engine.run(roots, retain=retain or create, create=create, wanted=inputs.edges, accumulate=False)
    return [
        wrap_value(np.zeros(*kind)) if g is None else check_live(wrap_value(g)) for g, kind in zip(found, inputs.types)
    ]


def roots_and_seeds(
    outputs: Sequence[Tensor], seeds: Sequence[Any], inputs: Inputs
) -> tuple[list[tuple[Any, Any]], bool, list[Node] | None]:
    """Where gradients enter the graph, whether their way is to be recorded, and its nodes if it leads nowhere else."""
    edges = [(views.gradient_edge(y), seed) for y, seed in zip(outputs, seeds)]
    roots = [(e, seed) for e, seed in edges if e is not None]
    nodes = _closed_in(roots, inputs.edges, thread_state.local.ends)
    create = thread_state.is_grad_enabled() and (nodes is None or any([s._fn is not None for _, s in roots]))
    return roots if create else [(e, s._array) for e, s in roots], create, nodes


def _closed_in(roots: Sequence[tuple[Any, Any]], wanted: Sequence[Any], around: Sequence[Any]) -> list[Node] | None:
    """The nodes of the graph but for the inputs; None if it leads to anything else: then the gradients, too, depend on
    it.

    Args:
        around: the ends of transforms that are running, whose inputs are something else.
    """
    own = {id(e) for e in wanted}
    seen: dict[int, Node] = {}
    todo = [e for e, _ in roots]
    while todo:
        e = todo.pop()
        if e is None or id(e) in seen:
            continue
        if e._seq == 0:
            if e._array is not _NOTHING or any([e is end for end in around]):
                return None
            continue
        node = e.node if e.__class__ is Output else e
        if id(node) in own:
            if node._edges[0]._seq or node._edges[0]._array is not _NOTHING:
                return None
        elif id(node) not in seen:
            seen[id(node)] = node
            todo.extend(node._edges)
    return list(seen.values())


def chosen_of(argnums: int | tuple[int, ...], args: Sequence[Any]) -> tuple[int, ...]:
    if not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    given = (argnums,) if isinstance(argnums, int) else argnums
    if not given:
        raise RuntimeError("argnums must be non-empty")
    for i in given:
        if not isinstance(i, int):
            raise RuntimeError(f"argnum must be int, got: {type(i)}")
        if not -len(args) <= i < len(args):
            raise RuntimeError(f"Got argnum={i}, but only {len(args)} positional inputs")
    positive = tuple(i % len(args) for i in given)
    if len(set(positive)) < len(positive):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    return positive


def check_real(name: str, what: str, tensors: Sequence[Any]) -> None:
    """Refuse a Jacobian of complex numbers, which would have two parts.

    Raises:
        RuntimeError: naming the first.
    """
    for i, x in enumerate(tensors):
        if isinstance(x, Tensor) and x._array.dtype.kind == "c":
            raise RuntimeError(
                f"{name}: Expected all {what} to be real but received complex tensor at flattened input idx: {i}"
            )


def grad_and_value(func: Callable, argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable:
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
        gradient, value, aux = _differentiated(func, argnums, has_aux, args, kwargs)
        value = close_over(value)
        return (gradient, (value, tree_map(close_over, aux))) if has_aux else (gradient, value)

    return wrapper


def _differentiated(
    func: Callable, argnums: int | tuple[int, ...], has_aux: bool, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """The gradient of ``func``, its value and what else it returned, these two with their history."""
    chosen = chosen_of(argnums, args)
    with thread_state.enable_grad(), transforming():
        given = list(args)
        inputs = Inputs([args[i] for i in chosen])
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
        results = inputs.nests(pull_back([output], [wrap_value(np.ones((), output._array.dtype))], inputs, False))
    return results[0] if isinstance(argnums, int) else tuple(results), output, aux


def close_over(x: Any, around: Sequence[Any] | None = None) -> Any:
    """A result without the way back to inputs that nobody outside can ask for: no transform that is running or of these
    ends.
    """
    if not isinstance(x, Tensor) or x._fn is None:
        return x
    e = views.gradient_edge(x)
    if e._seq == 0 or _closed_in([(e, None)], (), thread_state.local.ends if around is None else around) is None:
        return x
    y = wrap_value(x._array)
    return y._array.level.track(y) if isinstance(y._array, LevelValue) else y


def grad(func: Callable, argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable:
    """The gradient of ``func``, as a function; see :func:`grad_and_value`.

    >>> import pullback as torch
    >>> torch.func.grad(torch.func.grad(torch.sin))(torch.tensor(1.0))
    tensor(-0.8415)
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        gradient, _, aux = _differentiated(func, argnums, has_aux, args, kwargs)
        return (gradient, tree_map(close_over, aux)) if has_aux else gradient

    return wrapper


def recorded(func: Callable, primals: Sequence[Any], has_aux: bool) -> tuple[Inputs, Any, list[Tensor], Any, Any]:
    """A call of ``func``: its inputs, its output, that flat and its structure, and what else it returned."""
    with thread_state.enable_grad(), transforming():
        inputs = Inputs(primals)
        output = func(*inputs.given)
        aux = None
        if has_aux:
            if not (isinstance(output, tuple) and len(output) == 2):
                raise RuntimeError(
                    "vjp(f, *primals): output of function f should be a tuple: (output, aux) if has_aux is True"
                )
            output, aux = output
    flat, spec = tree_flatten(output)
    _check_not_empty(flat, "vjp(f, *primals)")
    for y in flat:
        if not isinstance(y, Tensor):
            raise RuntimeError(
                f"vjp(f, *primals): expected f(*primals) to return only tensors, got unsupported type {type(y)}"
            )
    return inputs, output, flat, spec, aux


def vjp(func: Callable, *primals: Any, has_aux: bool = False) -> Any:
    """The value of ``func`` and a function that pulls cotangents of it back to cotangents of ``primals``.

    >>> import pullback as torch
    >>> y, pull = torch.func.vjp(torch.sin, torch.tensor([0.0, 1.0]))
    >>> pull(torch.tensor([1.0, 2.0]))
    (tensor([1.0000, 1.0806]),)
    """
    inputs, output, flat_outputs, out_spec, aux = recorded(func, primals, has_aux)

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
                raise RuntimeError(
                    f"Mismatch in shape: grad_output[{i}] has a shape of {s.shape} and output[{i}] has a shape of "
                    f"{y.shape}."
                )
        with thread_state.enable_grad():
            return tuple(inputs.nests(pull_back(flat_outputs, seeds, inputs, retain_graph)))

    value = tree_map(close_over, output)
    return (value, pull, tree_map(close_over, aux)) if has_aux else (value, pull)


def _check_not_empty(outputs: list[Any], where: str) -> None:
    if not outputs or len(outputs) == 1 and outputs[0] is None:
        raise RuntimeError(f"{where}: Expected f to be a function that has non-empty output (got output = {outputs})")


def jvp(func: Callable, primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """The value of ``func`` at ``primals`` and its derivative along ``tangents``.

    >>> import pullback as torch
    >>> torch.func.jvp(torch.sin, (torch.tensor(0.0),), (torch.tensor(2.0),))
    (tensor(0.), tensor(2.))
    """
    if not isinstance(primals, tuple):
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
        )
    flat, spec = tree_flatten(primals)
    flat_tangents, tangent_spec = tree_flatten(tangents)
    if len(flat) != len(flat_tangents) or spec != tangent_spec:
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals and tangents to have the same python structure. For example, "
            f"if primals is a tuple of 3 tensors, tangents also must be. Got primals with structure {spec} and "
            f"tangents with structure {tangent_spec}"
        )
    for name, values in (("primals", flat), ("tangents", flat_tangents)):
        if not values:
            raise RuntimeError(f"jvp(f, primals, tangents): Expected {name} to contain at least one Tensor.")
        for x in values:
            if not isinstance(x, Tensor):
                raise RuntimeError(f"jvp(f, primals, tangents): Expected {name} to only contain Tensors, got {type(x)}")
    for p, t in zip(flat, flat_tangents):
        check_size(p, t)
    with Forward() as level, _set_fwd_grad_enabled(True), transforming():
        duals = [level.make(p, t) for p, t in zip(flat, flat_tangents)]
        output = func(*tree_unflatten(duals, spec))
        aux = None
        if has_aux:
            if not (isinstance(output, tuple) and len(output) == 2):
                raise RuntimeError(
                    "jvp(f, primals, tangents): output of function f should be a tuple: (output, aux) if has_aux is "
                    "True"
                )
            output, aux = output
            aux = tree_map(lambda x: level.part(x, False) if isinstance(x, Tensor) else x, aux)
        flat_out, out_spec = tree_flatten(output)
        _check_not_empty(flat_out, "jvp(f, primals, tangents)")
        for y in flat_out:
            if not isinstance(y, Tensor):
                raise RuntimeError(
                    f"jvp(f, primals, tangents): expected f(*primals) to return only tensors, got unsupported type "
                    f"{type(y)}"
                )
        if strict and not all([isinstance(y._array, LevelValue) and y._array.level is level for y in flat_out]):
            raise RuntimeError(
                "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not "
                "allowed with strict=True."
            )
        values = [level.part(y, False) for y in flat_out]
        along = [level.part(y, True) for y in flat_out]
    results = tree_unflatten(values, out_spec), tree_unflatten(along, out_spec)
    return (*results, aux) if has_aux else results


def linearize(func: Callable, *primals: Any) -> tuple[Any, Callable]:
    """The value of ``func`` and the linear function that maps tangents of ``primals`` to tangents of it.

    >>> import pullback as torch
    >>> y, push = torch.func.linearize(torch.sin, torch.tensor(0.0))
    >>> push(torch.tensor(3.0))
    tensor(3.)
    """
    value = tree_map(lambda x: x.detach() if isinstance(x, Tensor) else x, func(*primals))
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


# --- batches ----------------------------------------------------------------------------------------------------


def vmap(
    func: Callable, in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *, chunk_size: int | None = None
) -> Callable:
    """``func``, which is written for one example, for a batch of them.

    Args:
        in_dims: for each argument the dimension of its batch, None where all examples share it; nests allowed.
        out_dims: where the batch goes in the outputs.
        randomness: what random operations do: ``'error'``, ``'different'`` numbers for each example, or the ``'same'``.
        chunk_size: do so many examples at a time.

    >>> import pullback as torch
    >>> torch.vmap(torch.dot)(torch.ones(3, 2), torch.ones(3, 2))
    tensor([2., 2., 2.])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        flat, spec = tree_flatten(args)
        dims = _in_dims(in_dims, args, flat, func)
        sizes = {x._array.shape[d] for x, d in zip(flat, dims) if d is not None}
        if len(sizes) != 1:
            if not sizes:
                raise ValueError("vmap: Expected at least one Tensor to vmap over")
            raise ValueError(
                "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
                f"{[x.shape[d] for x, d in zip(flat, dims) if d is not None]} for the mapped dimension"
            )
        (size,) = sizes
        if chunk_size is not None and chunk_size < size:
            parts = []
            for start in range(0, size, chunk_size):
                n = min(chunk_size, size - start)
                piece = [x if d is None else x.narrow(d, start, n) for x, d in zip(flat, dims)]
                parts.append(_run(func, piece, dims, spec, kwargs, n, out_dims, randomness))
            return _joined(parts, out_dims)
        return _run(func, flat, dims, spec, kwargs, size, out_dims, randomness)

    return wrapper


def name_of(func: Callable) -> str:
    return getattr(func, "__name__", repr(func))


def _run(
    func: Callable, flat: list[Any], dims: list[Any], spec: Any, kwargs: dict, size: int, out_dims: Any, randomness: str
) -> Any:
    with Batch(size, randomness) as level, transforming():
        given = [x if d is None else level.wrap(x, d % max(len(x._array.shape), 1)) for x, d in zip(flat, dims)]
        output = func(*tree_unflatten(given, spec), **kwargs)
        flat_out, out_spec = tree_flatten(output)
        for y in flat_out:
            if not isinstance(y, Tensor):
                raise ValueError(
                    f"vmap({name_of(func)}, ...): `{name_of(func)}` must only return Tensors, got type {type(y)}. Did "
                    "you mean to set out_dims= to None for output?"
                )
        if not isinstance(out_dims, int) and not all(
            [d is None or isinstance(d, int) for d in tree_flatten(out_dims)[0]]
        ):
            raise ValueError(
                f"vmap({name_of(func)}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python "
                "collection of ints representing where in the outputs the vmapped dimension should appear."
            )
        single = isinstance(output, Tensor) and isinstance(out_dims, tuple) and len(out_dims) == 1
        where = (
            [out_dims] * len(flat_out)
            if isinstance(out_dims, int)
            else broadcast_dims(out_dims[0] if single else out_dims, output)
        )
        if where is None:
            raise ValueError(
                f"vmap({name_of(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the "
                f"structure of "
                f"`outputs`. out_dims has structure {tree_flatten(out_dims)[1]} but outputs has structure {out_spec}."
            )
        results = []
        for y, d in zip(flat_out, where):
            if d is None:
                if isinstance(y._array, LevelValue) and y._array.level is level:
                    raise ValueError(
                        f"vmap({name_of(func)}, ...): `{name_of(func)}` can not return a BatchedTensor when out_dim "
                        f"is None"
                    )
                results.append(level.shared(y))
                continue
            ndim = len(y._array.shape) + 1
            if not -ndim <= d < ndim:
                raise IndexError(
                    f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {d})"
                )
            results.append(check_live(level.unwrap(y, d % ndim)))
    return tree_unflatten(results, out_spec)


def _in_dims(in_dims: Any, args: tuple[Any, ...], flat: list[Any], func: Callable) -> list[Any]:
    def where() -> str:
        return f"vmap({name_of(func)}, in_dims={in_dims}, ...)(<inputs>): "

    if not isinstance(in_dims, int) and not isinstance(in_dims, tuple):
        raise ValueError(
            f"{where()}expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, "
            f"got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({name_of(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to "
            "vmap over a function with no inputs. The latter is unsupported."
        )
    dims = broadcast_dims(in_dims, args)
    if dims is None:
        raise ValueError(
            f"{where()}in_dims is not compatible with the structure of `inputs`. in_dims has structure "
            f"{tree_flatten(in_dims)[1]} but inputs has structure {tree_flatten(args)[1]}."
        )
    for x, d in zip(flat, dims):
        if d is None:
            continue
        if not isinstance(d, int):
            raise ValueError(
                f"{where()}Got in_dim={d} for an input but in_dim must be either an integer dimension or None."
            )
        if not isinstance(x, Tensor):
            raise ValueError(
                f"{where()}Got in_dim={d} for an input but the input is of type {type(x)}. We cannot vmap over "
                "non-Tensor arguments, please use None as the respective in_dim"
            )
        n = len(x._array.shape)
        if not -n <= d < n:
            raise ValueError(
                f"{where()}Got in_dim={d} for some input, but that input is a Tensor of dimensionality {n} so expected "
                f"in_dim to satisfy -{n} <= in_dim < {n}."
            )
    return dims


def broadcast_dims(dims: Any, tree: Any) -> list[Any] | None:
    """A dimension for each tensor of ``tree``: one for all of a subtree, or a nest of the same structure."""
    if dims is None or isinstance(dims, int):
        return [dims] * (1 if isinstance(tree, Tensor) else len(tree_flatten(tree)[0]))
    if isinstance(tree, (tuple, list)) and isinstance(dims, (tuple, list)) and len(tree) == len(dims):
        parts = [broadcast_dims(d, t) for d, t in zip(dims, tree)]
    elif isinstance(tree, dict) and isinstance(dims, dict) and tree.keys() == dims.keys():
        parts = [broadcast_dims(dims[k], tree[k]) for k in tree]
    else:
        return None
    return None if any(p is None for p in parts) else [d for p in parts for d in p]  # type: ignore[union-attr]


def _joined(parts: list[Any], out_dims: Any) -> Any:
    from ..ops.concat import cat

    flats = [tree_flatten(p)[0] for p in parts]
    spec = tree_flatten(parts[0])[1]
    where = broadcast_dims(out_dims, parts[0]) or []
    return tree_unflatten(
        [column[0] if d is None else cat(list(column), d) for column, d in zip(zip(*flats), where)], spec
    )


def functionalize(func: Callable, *, remove: str = "mutations") -> Callable:
    """``func`` itself: writes in place are traced as they are."""
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options are:\n"
            "     remove='mutations' and remove='mutations_and_views'"
        )
    return func
