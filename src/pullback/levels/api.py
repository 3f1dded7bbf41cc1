"""``vmap``, ``jvp`` and ``jacfwd``: the transforms that run a function inside a level.

Those that go backward through what a function recorded, ``grad``, ``vjp`` and ``jacrev``, are in :mod:`pullback.func`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

import numpy as np

from ..base import thread_state
from ..base.dtypes import COMPLEX_KINDS
from ..base.pytree import tree_flatten, tree_map, tree_unflatten
from ..core.level import LevelValue, check_live, wrap_value
from ..core.tensor import Tensor
from ..core.transform_inputs import Leaving
from ..ops.concat import cat
from ..ops.random import default_generator
from .forward import Forward, check_size, check_types
from .vmap import Batch

P = ParamSpec("P")
R = TypeVar("R")
SINK = np.zeros(())  # held by the leaves at which the graph of a transform's inputs ends: nothing accumulates there


class transforming:
    """The scope in which a transform runs the given function; inputs without a history end in a leaf of the scope."""

    def __enter__(self) -> Any:
        local = thread_state.local
        self.outer_ends, self.outer_arguments = local.ends, local.arguments
        ends, arguments = (*local.ends, wrap_value(SINK)), local.arguments.copy()
        # at once, when nothing more can fail: what raises here would leave the scope open
        local.transforms, local.ends, local.arguments = local.transforms + 1, ends, arguments
        return self

    def __exit__(self, *exc: object) -> None:
        local = thread_state.local
        local.transforms, local.ends, local.arguments = local.transforms - 1, self.outer_ends, self.outer_arguments


class differentiating(transforming):
    """The scope of a transform that differentiates: it does so in inference mode, too, which is off inside."""

    def __enter__(self) -> Any:
        super().__enter__()
        self.in_inference = thread_state.local.inference
        if self.in_inference:
            thread_state.set_inference(False)
        return self

    def __exit__(self, *exc: object) -> None:
        super().__exit__(*exc)
        if self.in_inference:
            thread_state.set_inference(True)


class pushing_forward(differentiating):
    """The scope of ``jvp``: its own level computes tangents in any case; those around it only if they did so there."""

    def __init__(self, level: Forward) -> None:
        self.level = level

    def __enter__(self) -> Any:
        super().__enter__()
        local = thread_state.local
        self.outer_tangents = local.tangents, local.tangents_since
        if not local.tangents:
            local.tangents, local.tangents_since = True, self.level.start
        return self

    def __exit__(self, *exc: object) -> None:
        super().__exit__(*exc)
        thread_state.local.tangents, thread_state.local.tangents_since = self.outer_tangents


def check_argnums(argnums: int | tuple[int, ...], args: Sequence[Any]) -> tuple[int, ...]:
    """``argnums`` as numbers from 0.

    Raises:
        RuntimeError: if they are no numbers, out of range, or repeated.
    """
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
        if isinstance(x, Tensor) and x._array.dtype.kind in COMPLEX_KINDS:
            raise RuntimeError(
                f"{name}: Expected all {what} to be real but received complex tensor at flattened input idx: {i}"
            )


# --- vmap ---


def vmap(
    func: Callable[P, R],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[P, R]:
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
        dims = _flat_in_dims(in_dims, args, flat, func)
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
            drawn = default_generator.get_state() if randomness == "same" else None
            for start in range(0, size, chunk_size):
                if drawn is not None:
                    default_generator.set_state(drawn)
                n = min(chunk_size, size - start)
                piece = [x if d is None else x.narrow(d, start, n) for x, d in zip(flat, dims)]
                parts.append(_run_batch(func, piece, dims, spec, kwargs, n, out_dims, randomness))
            return _concat_chunks(parts, out_dims)
        return _run_batch(func, flat, dims, spec, kwargs, size, out_dims, randomness)

    return wrapper


def chunk_vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", chunks: int = 2
) -> Callable[..., Any]:
    """:func:`vmap`, so many chunks of the batch one after the other.

    >>> import pullback as torch
    >>> from pullback.functorch.experimental import chunk_vmap
    >>> chunk_vmap(torch.dot, chunks=2)(torch.ones(3, 2), torch.ones(3, 2))
    tensor([2., 2., 2.])
    """

    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        flat = tree_flatten(args)[0]
        sizes = [x._array.shape[d] for x, d in zip(flat, _flat_in_dims(in_dims, args, flat, func)) if d is not None]
        size = -(-sizes[0] // chunks) or None if sizes else None
        return vmap(func, in_dims, out_dims, randomness, chunk_size=size)(*args, **kwargs)

    return wrapper


def restore_vmap(func: Callable[..., Any], in_dims: Any, batch_size: int, randomness: str) -> Callable[..., Any]:
    """:func:`vmap` of a function whose outputs may be anything; they come with the dimensions of their batch, None
    where they have none.
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        flat, spec = tree_flatten(args)
        with Batch(batch_size, randomness) as level, transforming():
            given = [x if d is None else level.wrap(x, d) for x, d in zip(flat, broadcast_dims(in_dims, args) or ())]
            outputs, out_spec = tree_flatten(func(*tree_unflatten(given, spec), **kwargs))
            values, dims = [], []
            for y in outputs:
                batched = isinstance(y, Tensor) and isinstance(y._array, LevelValue) and y._array.level is level
                dims.append(y._array.dim if batched else None)
                values.append(
                    level.unwrap(y, y._array.dim) if batched else level.shared(y) if isinstance(y, Tensor) else y
                )
        return tree_unflatten(values, out_spec), tree_unflatten(dims, out_spec)

    return wrapper


def name_of(func: Callable[..., Any]) -> str:
    return getattr(func, "__name__", repr(func))


def _run_batch(
    func: Callable[..., Any],
    flat: list[Any],
    dims: list[Any],
    spec: Any,
    kwargs: dict[Any, Any],
    size: int,
    out_dims: Any,
    randomness: str,
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
        results, leaving = [], Leaving(level.start, level.left)
        for y, d in zip(flat_out, where):
            if d is None:
                if isinstance(y._array, LevelValue) and y._array.level is level:
                    raise ValueError(
                        f"vmap({name_of(func)}, ...): `{name_of(func)}` can not return a BatchedTensor when out_dim "
                        f"is None"
                    )
                results.append(leaving.linked(y, level.shared(y)))
                continue
            ndim = len(y._array.shape) + 1
            if not -ndim <= d < ndim:
                raise IndexError(
                    f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {d})"
                )
            results.append(leaving.linked(y, check_live(level.unwrap(y, d % ndim))))
    return tree_unflatten(results, out_spec)


def _flat_in_dims(in_dims: Any, args: tuple[Any, ...], flat: list[Any], func: Callable[..., Any]) -> list[Any]:
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


def _concat_chunks(parts: list[Any], out_dims: Any) -> Any:
    flats = [tree_flatten(p)[0] for p in parts]
    spec = tree_flatten(parts[0])[1]
    where = broadcast_dims(out_dims, parts[0]) or []
    return tree_unflatten(
        [column[0] if d is None else cat(list(column), d) for column, d in zip(zip(*flats), where)], spec
    )


# --- forward mode ---


def check_outputs(outputs: list[Any], where: str) -> None:
    """Refuse a function that returns nothing, or something else than tensors.

    Raises:
        RuntimeError: with the transform that was asked for.
    """
    if not outputs or len(outputs) == 1 and outputs[0] is None:
        raise RuntimeError(f"{where}: Expected f to be a function that has non-empty output (got output = {outputs})")
    for y in outputs:
        if not isinstance(y, Tensor):
            raise RuntimeError(f"{where}: expected f(*primals) to return only tensors, got unsupported type {type(y)}")


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
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
        check_types(p, t)
        check_size(p, t)
    with Forward() as level, pushing_forward(level):
        duals = [level.make_dual(p, t) for p, t in zip(flat, flat_tangents)]
        output = func(*tree_unflatten(duals, spec))
        primal_out = Leaving(level.start, lambda x: level.part(x, False))
        tangent_out = Leaving(level.start, lambda x: level.part(x, True))
        aux = None
        if has_aux:
            if not (isinstance(output, tuple) and len(output) == 2):
                raise RuntimeError(
                    "jvp(f, primals, tangents): output of function f should be a tuple: (output, aux) if has_aux is "
                    "True"
                )
            output, aux = output
            aux = tree_map(lambda x: primal_out.linked(x, level.part(x, False)) if isinstance(x, Tensor) else x, aux)
        flat_out, out_spec = tree_flatten(output)
        check_outputs(flat_out, "jvp(f, primals, tangents)")
        if strict and not all([isinstance(y._array, LevelValue) and y._array.level is level for y in flat_out]):
            raise RuntimeError(
                "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not "
                "allowed with strict=True."
            )
        values = [primal_out.linked(y, level.part(y, False)) for y in flat_out]
        along = [level.part(y, True) for y in flat_out]
        along = [tangent_out.linked(y, t) if tangent_out.is_own(y) else t for y, t in zip(flat_out, along)]
    results = tree_unflatten(values, out_spec), tree_unflatten(along, out_spec)
    return (*results, aux) if has_aux else results


def jacfwd(
    func: Callable[P, Any],
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
    chunk_size: int | None = None,
) -> Callable[P, Any]:
    """The Jacobian of ``func`` by forward mode: one jvp for each element of the inputs, all at once.

    >>> import pullback as torch
    >>> torch.func.jacfwd(torch.sin)(torch.tensor([0.0, 1.0]))
    tensor([[1.0000, 0.0000],
            [0.0000, 0.5403]])
    """

    return _jacfwd(func, argnums, has_aux, randomness, chunk_size, check_real)


def _jacfwd(
    func: Callable[..., Any],
    argnums: int | tuple[int, ...],
    has_aux: bool,
    randomness: str,
    chunk_size: int | None,
    check: Callable[..., Any],
) -> Callable[..., Any]:
    """:func:`jacfwd`, with the check of inputs and outputs."""

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        chosen = check_argnums(argnums, args)
        primals = tuple(args[i] for i in chosen)
        flat, in_spec = tree_flatten(primals)
        check("jacfwd", "inputs", flat)

        def partial(*picked: Any) -> Any:
            given = list(args)
            for i, p in zip(chosen, picked):
                given[i] = p
            return func(*given, **kwargs)

        def push(*directions: Tensor) -> Any:
            return jvp(partial, primals, tree_unflatten(list(directions), in_spec), has_aux=has_aux)[1:]

        out_dims: Any = (0, None) if has_aux else (0,)
        pushed = vmap(push, out_dims=out_dims, randomness=randomness, chunk_size=chunk_size)(*standard_basis(flat))
        flat_out, out_spec = tree_flatten(pushed[0])
        check("jacfwd", "outputs", flat_out)
        columns = []
        for y in flat_out:  # [inputs, *output] to [*output, *each input]
            moved = y.movedim(0, -1)
            start, blocks = 0, []
            for x in flat:
                n = x._array.size
                blocks.append(moved.narrow(-1, start, n).reshape((*y._array.shape[1:], *x._array.shape)))
                start += n
            nest = tree_unflatten(blocks, in_spec)
            columns.append(nest[0] if isinstance(argnums, int) else nest)
        jacobian = tree_unflatten(columns, out_spec)
        return (jacobian, pushed[1]) if has_aux else jacobian

    return wrapper


def jacobian_of_any(func: Callable[..., Any], argnums: int | tuple[int, ...]) -> Callable[..., Any]:
    """:func:`jacfwd`, also of complex numbers: the derivatives along 1."""
    return _jacfwd(func, argnums, False, "error", None, lambda *_: None)


def standard_basis(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The unit vectors of the space of these tensors together: for each tensor, its part of all of them, stacked."""
    total, start, parts = sum(x._array.size for x in tensors), 0, []
    for x in tensors:
        n = x._array.size
        part = np.zeros((total, n), x._array.dtype)
        part[np.arange(start, start + n), np.arange(n)] = 1
        parts.append(wrap_value(part.reshape(total, *x._array.shape)))
        start += n
    return tuple(parts)
