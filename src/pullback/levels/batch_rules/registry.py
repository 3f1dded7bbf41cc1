"""The table of batching rules, and what the rules are written with.

A rule is ``rule(op, size, batched, *args)``: the arguments are those of the operation, batched values with the batch as
their first dimension; ``batched`` says which they are. Values are arrays where this batch is the only level, else
tensors: rules are written with what serves both. A rule returns values with the batch first, or ``NotImplemented`` to
run the operation once for each example.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.op import OpTable
from ...ops.view import expand

batch_rule = OpTable()


def rule_for(op: Any) -> Callable[..., Any] | None:
    """The batching rule of an operation that is not elementwise, if it has one."""
    return batch_rule.get(op) or (shift_dims if op.dims else None)


class NotBatchable(RuntimeError):
    """Raised by a rule to refuse a whole batch, even if the operation would work for each example."""


# --- rules that many operations share ---------------------------------------------------------------------------


def shift_dims(op: Any, size: int, batched: list[Any], x: Any, *options: Any) -> Any:
    """The rule of operations that declare ``dims``: these shift by one; None means all dimensions."""
    ndim = len(x.shape) - 1
    if ndim == 0 and op.kind != "view":
        return NotImplemented
    args = [x, *options]
    for name in op.dims:
        i = op.params.index(name)
        whole = args[i] is None or isinstance(args[i], (list, tuple)) and not args[i]
        args[i] = tuple(range(1, ndim + 1)) if whole else shift_dim(args[i], ndim)
    return op.call(*args)


def leading_dims(op: Any, size: int, batched: list[Any], x: Any, *options: Any) -> Any:
    """The rule of operations that treat all elements, or all matrices in the last two dimensions, alike."""
    return op.call(x, *options) if not any(batched[1:]) else NotImplemented


def for_each_example(*args: Any) -> Any:
    """The rule of operations to run once for each example, though the shape of a result depends on values."""
    return NotImplemented


# --- parts of rules ---------------------------------------------------------------------------------------------


def ensure_batched(x: Any, is_batched: bool, size: int) -> Any:
    """The value with a batch dimension, repeated if it has none."""
    return x if is_batched or x is None else expand(x, (size, *x.shape))


def pad_to_rank(x: Any, rank: int) -> Any:
    """A batched value with dimensions of size 1 behind the batch, so that its examples have ``rank`` dimensions."""
    missing = rank + 1 - len(x.shape)
    return x if missing <= 0 else x.reshape((x.shape[0],) + (1,) * missing + tuple(x.shape[1:]))


def shift_dim(dim: Any, ndim: int) -> Any:
    """A dimension of an example (or a tuple of them) as one of the batch.

    Raises:
        IndexError: for one that an example with ``ndim`` dimensions does not have.
    """
    if isinstance(dim, (tuple, list)):
        return tuple([shift_dim(d, ndim) for d in dim])
    if not -max(ndim, 1) <= dim < max(ndim, 1):
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-max(ndim, 1)}, {max(ndim, 1) - 1}], but got {dim})"
        )
    return dim % ndim + 1 if ndim else 1
