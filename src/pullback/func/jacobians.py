"""``jacrev`` and ``hessian``: all rows of a Jacobian at once, by one backward pass with a batch of seeds."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec

import numpy as np

from ..base import thread_state
from ..base.pytree import tree_flatten, tree_map, tree_unflatten
from ..core.level import wrap_value
from ..core.tensor import Tensor
from ..levels import multi_seed_vjp
from ..levels.api import check_argnums, check_real, jacfwd, standard_basis, vmap
from .transforms import Inputs, pull_back, record_call, roots_and_seeds

__all__ = ["hessian", "jacrev"]

P = ParamSpec("P")


def jacrev(
    func: Callable[P, Any],
    argnums: int | tuple[int, ...] = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[P, Any]:
    """The Jacobian of ``func`` by reverse mode: one vjp for each element of the output, all at once.

    >>> import pullback as torch
    >>> torch.func.jacrev(torch.sin)(torch.tensor([0.0, 1.0]))
    tensor([[1.0000, 0.0000],
            [0.0000, 0.5403]])
    """

    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")
    return _jacrev(func, argnums, has_aux, chunk_size)


def _jacrev(
    func: Callable[..., Any],
    argnums: int | tuple[int, ...],
    has_aux: bool = False,
    chunk_size: int | None = None,
    fast_only: bool = False,
) -> Callable[..., Any]:
    """:func:`jacrev`; with ``fast_only`` it returns None where it would need ``vmap``, or where ``func`` computed
    something without recording, which forward mode differentiates all the same.
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        chosen = check_argnums(argnums, args)

        def partial(*picked: Any) -> Any:
            given = list(args)
            for i, p in zip(chosen, picked):
                given[i] = p
            return func(*given, **kwargs)

        picked = [args[i] for i in chosen]
        check_real("jacrev", "inputs", tree_flatten(picked)[0])
        before = thread_state.local.times_off
        inputs, _, outputs, out_spec, aux = record_call(partial, picked, has_aux)
        if fast_only and thread_state.local.times_off > before:
            return None
        check_real("jacrev", "outputs", outputs)
        by_input = _vjp_rows(outputs, inputs, chunk_size, fast_only)
        if by_input is None:
            return None
        start, results = 0, []
        for y in outputs:
            n = y._array.size
            blocks = inputs.unflatten([_block(r, start, n, y._array.shape) for r in by_input])
            results.append(blocks[0] if isinstance(argnums, int) else tuple(blocks))
            start += n
        jacobian = tree_unflatten(results, out_spec)
        return (jacobian, tree_map(inputs.returned, aux)) if has_aux else jacobian

    return wrapper


def _block(rows: Tensor, start: int, count: int, shape: tuple[int, ...]) -> Tensor:
    """The rows that belong to an output of this shape."""
    given = rows._array.shape
    part = rows if count == given[0] else rows.narrow(0, start, count)
    return part if shape == given[:1] else part.reshape((*shape, *given[1:]))


def _vjp_rows(
    outputs: Sequence[Tensor], inputs: Inputs, chunk_size: int | None, fast_only: bool
) -> Sequence[Tensor] | None:
    """For each input, the gradients of every element of the outputs, one a row; None if ``fast_only`` and the fast path
    does not support the graph.
    """
    seeds, record = standard_basis(outputs), thread_state.is_grad_enabled()
    count = len(seeds[0]._array)
    if count == 1:  # one row needs no batch
        return [g.unsqueeze(0) for g in pull_back(outputs, [s[0] for s in seeds], inputs, True, record)]
    if chunk_size is None and not thread_state.slow_path_reasons:
        roots, create, _ = roots_and_seeds(outputs, seeds, inputs, record)
        with thread_state.set_grad_enabled(create):
            found = multi_seed_vjp.vjp_rows(roots, inputs.edges, create)
        if found is not None:
            return [
                wrap_value(np.zeros((count, *shape), dtype)) if g is None else wrap_value(g)
                for g, (shape, dtype) in zip(found, inputs.types)
            ]
    if fast_only:
        return None
    return vmap(lambda *seeds: tuple(pull_back(outputs, seeds, inputs, True, record)), chunk_size=chunk_size)(*seeds)


def hessian(func: Callable[P, Any], argnums: int | tuple[int, ...] = 0) -> Callable[P, Any]:
    """The Hessian of ``func``: the Jacobian of its gradient, by reverse mode where that gives all rows at once without
    ``vmap``, else by forward mode.

    >>> import pullback as torch
    >>> torch.func.hessian(lambda x: (x ** 3).sum())(torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    gradient = jacrev(func, argnums)
    reverse, forward_over_reverse = _jacrev(gradient, argnums, fast_only=True), jacfwd(gradient, argnums)

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        by = tree_flatten([args[i] for i in check_argnums(argnums, args)])[0]
        integers = any([x._array.dtype.kind in "iub" for x in by if isinstance(x, Tensor)])  # forward mode refuses them
        found = None if thread_state.slow_path_reasons or integers else reverse(*args, **kwargs)
        return forward_over_reverse(*args, **kwargs) if found is None else found

    return wrapper
