"""``embedding``, ``embedding_bag``, ``embedding_renorm_``: rows of a table by index; and ``one_hot``."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..base import dtypes, thread_state
from ..base.dtypes import INT64, INT64_MAX, int32, int64
from ..base.errors import with_notes
from ..core import op, record, versions
from ..core.level import by_example, concrete_array, is_level_value, traced_numpy, unbatched
from ..core.tensor import Tensor
from .index import all_in_range, index_array, out_of_range, sum_at, take_at
from .reduce import sum
from .sparse import coo_value
from .values.meta import Meta
from .view import reshape, unsqueeze
from .where import where

__all__ = ["embedding_renorm_"]
__all_functional__ = ["embedding", "embedding_bag", "one_hot"]


@op.general(name="embedding", method=False, linear="weight")
def _embedding(
    weight: Tensor, indices: Tensor, padding_idx: int = -1, by_frequency: bool = False, sparse: bool = False
) -> Tensor:
    check_rows(indices, len(weight))
    return weight.take(indices, 0)


def check_rows(indices: np.ndarray, count: int) -> None:
    """Refuse indices out of bounds."""
    if not all_in_range(indices, count):
        raise out_of_range(f"indices lie between {indices.min()} and {indices.max()}; the table has {count} rows")


def _embedding_vjp(
    g: Any, weight_shape: tuple[int, ...], indices: Any, padding_idx: int, by_frequency: bool, sparse: bool
) -> Any:
    at = index_array(indices)
    if sparse:
        if by_frequency:
            raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")
        rows, g = at.reshape(1, -1).astype(np.int64), reshape(g, (at.size, weight_shape[1]))
        counted = rows[0] != padding_idx
        return (
            coo_value(g, rows, weight_shape) if counted.all() else coo_value(g[counted], rows[:, counted], weight_shape)
        )
    if by_frequency:
        g = g / np.bincount(at.reshape(-1), minlength=weight_shape[0])[at][..., None].astype(np.float32)
    if padding_idx >= 0:
        g = where((at != padding_idx)[..., None], g, 0)
    return sum_at(g, [at], weight_shape)


_embedding.vjp(weight=_embedding_vjp)


def _padding_row(padding_idx: int | None, count: int) -> int:
    """``padding_idx`` as a non-negative index; -1 for None."""
    if padding_idx is None:
        return -1
    if not -count <= padding_idx < count:
        raise AssertionError("Padding_idx must be within num_embeddings")
    return padding_idx % count


def _check_table(indices: Tensor, weight: Tensor, name: str) -> None:
    if weight._array.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    d = indices._array.dtype
    if d.kind != "i" or d.itemsize < 4:
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"torch.{dtypes.type_name(indices.dtype)}Tensor instead (while checking arguments for {name})"
        )


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Rows of a table.

    Args:
        input: row numbers, int64 or int32, any shape.
        weight: the table, ``(rows, n)``.
        padding_idx: a row that has no gradient.
        max_norm: first scale rows of a larger norm down to it, in the table itself, which must be writable.
        norm_type: the exponent of that norm.
        scale_grad_by_freq: divide the gradient of a row by how often it occurs in ``input``.
        sparse: whether the table's gradient is a sparse tensor, with the rows that were looked up and no others.

    Returns:
        ``(*input.shape, n)``.

    Raises:
        IndexError: for a row that is not there.

    >>> import pullback as torch
    >>> torch.nn.functional.embedding(torch.tensor([1, 0]), torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[3., 4.],
            [1., 2.]])
    """
    _check_table(input, weight, "embedding")
    padding = _padding_row(padding_idx, weight._array.shape[0])
    if max_norm is not None:
        embedding_renorm_(weight, input, max_norm, norm_type)
    return _embedding(weight, input, padding, scale_grad_by_freq, sparse)


def embedding_renorm_(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float = 2.0) -> Tensor:
    """Scale the rows of a table at ``indices`` whose norm is larger down to ``max_norm``, in place.

    >>> import pullback as torch
    >>> torch.embedding_renorm_(torch.tensor([[3.0, 4.0], [30.0, 40.0]]), torch.tensor([0]), 1.0)
    tensor([[ 0.6000,  0.8000],
            [30.0000, 40.0000]])
    """
    at = np.unique(indices._array)
    rows = weight._array[at]
    norms = np.linalg.norm(rows.astype(np.float64), norm_type, 1, keepdims=True)
    if (norms > max_norm).any():
        weight._array[at] = np.where(norms > max_norm, rows * (max_norm / (norms + 1e-7)), rows)
        versions.bump_version(weight._array)
    return weight


@by_example
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Sums, means or maxima of bags of rows of a table.

    Args:
        input: row numbers: ``(bags, length)``, or ``(n,)`` with ``offsets``.
        weight: the table, ``(rows, n)``.
        offsets: where each bag starts in ``input``.
        mode: ``"sum"``, ``"mean"`` or ``"max"``; of an empty bag, 0.
        per_sample_weights: factors of the rows, for ``"sum"``.
        include_last_offset: the last offset is the end of the last bag.
        padding_idx: a row that does not count.
        max_norm, norm_type, scale_grad_by_freq, sparse: see :func:`embedding`.

    Returns:
        ``(bags, n)``.

    >>> import pullback as torch
    >>> table = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> torch.nn.functional.embedding_bag(torch.tensor([0, 1, 1]), table, torch.tensor([0, 2]), mode="sum")
    tensor([[4., 6.],
            [3., 4.]])
    """
    if weight.dtype in (int32, int64) and input.is_floating_point():
        warnings.warn(
            "Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, ...)` is "
            "deprecated, and should now be `embedding_bag(input, weight, ...)`.",
            stacklevel=3,
        )
        weight, input = input, weight
    if per_sample_weights is not None and per_sample_weights.shape != input.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must have the "
            f"same shape as the input ({input.shape})"
        )
    if len(weight.shape) != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {len(weight.shape)}")
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and (scale_grad_by_freq or sparse):
        what = "scaling the gradient by the frequency" if scale_grad_by_freq else "sparse weights"
        raise ValueError(f"max mode does not support {what}")
    bags, count = _bag_of_rows(input, offsets, include_last_offset)
    _check_table(input, weight, "embedding_bag")
    if weight.is_meta:
        rows = _embedding(weight, reshape(input, [-1]), -1, False, sparse)
        if per_sample_weights is not None:
            rows = rows * unsqueeze(reshape(per_sample_weights, [-1]), 1)
        return sum_at(rows, [bags], (count, weight.shape[1]))
    flat = record.wrap(input._array.reshape(-1))
    if max_norm is not None:
        embedding_renorm_(weight, flat, max_norm, norm_type)
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' "
            f"(got mode='{mode}'). Please open a feature request on GitHub."
        )
    padding = _padding_row(padding_idx, weight._array.shape[0])
    rows = _embedding(weight, flat, padding, scale_grad_by_freq, sparse)
    kept = traced_numpy(lambda flat: flat != padding, flat._array)
    if mode == "max":
        return _bag_maxima(rows, bags, kept, count)
    if per_sample_weights is not None:
        rows = rows * unsqueeze(reshape(per_sample_weights, [-1]), 1)
    if padding >= 0:
        rows = where(unsqueeze(record.wrap(kept), 1), rows, 0)
    if input.ndim == 2:
        result = sum(reshape(rows, (*input.shape, weight.shape[1])), 1)
    else:
        result = sum_at(rows, [bags], (count, weight.shape[1]))
    if mode == "sum":
        return result
    dtype = weight._array.dtype
    sizes = traced_numpy(
        lambda bags, kept: np.maximum(np.bincount(bags[kept], minlength=count), 1).astype(dtype)[:, None], bags, kept
    )
    return result / record.wrap(sizes)


def _bag_of_rows(input: Tensor, offsets: Tensor | None, include_last_offset: bool) -> tuple[Any, int]:
    """The bag that each index belongs to, and the number of bags."""
    if len(input.shape) == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
                f"sequences. However, found offsets of type {type(offsets)}"
            )
        if input.is_meta:
            return Meta((input.numel(),), INT64), input.shape[0]
        return np.repeat(np.arange(input.shape[0]), input.shape[1]), input.shape[0]
    if len(input.shape) != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {len(input.shape)}")
    if offsets is None or len(offsets.shape) != 1:
        raise ValueError("offsets has to be a 1D Tensor" + (" but got None" if offsets is None else ""))
    n = input.shape[0]

    def bag_of_each(starts: np.ndarray) -> np.ndarray:
        if len(starts) and starts[0] != 0:
            raise RuntimeError(
                "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. "
                f"However, got {starts[0]}"
            )
        if len(starts) and starts[-1] > n:
            raise RuntimeError(
                f"offsets[-1] can not be greater than input's length {n} but got offsets[-1] of {starts[-1]}"
            )
        if (starts[1:] < starts[:-1]).any():
            raise with_notes(RuntimeError("offsets has to be in ascending order"), f"got {starts.tolist()}")
        return np.searchsorted(starts[: len(starts) - include_last_offset], np.arange(n), side="right") - 1

    count = max(0, offsets.shape[0] - include_last_offset)
    return Meta((n,), INT64) if input.is_meta else traced_numpy(bag_of_each, offsets._array), count


def _bag_maxima(rows: Tensor, bags: np.ndarray, kept: np.ndarray, count: int) -> Tensor:
    """The maximum of each bag, column by column; 0 for an empty one."""
    width = rows.shape[1]

    def places(rows: np.ndarray, bags: np.ndarray, kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        at = np.zeros((count, width), np.intp)
        for bag in range(count):
            members = np.flatnonzero((bags == bag) & kept)
            if len(members):
                at[bag] = members[rows[members].argmax(0)]
        return at, np.isin(np.arange(count), bags[kept])[:, None]

    if not rows.shape[0]:
        return sum_at(rows, [bags], (count, width))
    at, full = traced_numpy(places, rows.detach()._array, bags, kept)
    return where(record.wrap(full), take_at(rows, [at, np.broadcast_to(np.arange(width), (count, width))]), 0)


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """1 at the index of each class, 0 elsewhere.

    Args:
        tensor: class indices, int64, any shape.
        num_classes: how many classes; by default as many as needed.

    Returns:
        ``(*shape, num_classes)``, int64.

    Raises:
        RuntimeError: for other types, and indices that are no class.

    >>> import pullback as torch
    >>> torch.nn.functional.one_hot(torch.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    if num_classes < 1:
        unbatched(
            "When vmap-ing torch.nn.functional.one_hot, please provide an explicit positive num_classes argument.",
            tensor,
        )
    classes = concrete_array(tensor._array, num_classes > 0)
    if classes.dtype != np.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if not classes.size and num_classes <= 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    if num_classes == -1 and classes.size and classes.min() >= 0:
        num_classes = int(classes.max()) + 1
    if num_classes > INT64_MAX // 8:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={[*classes.shape, num_classes]}")

    def checked(classes: np.ndarray) -> np.ndarray:
        if classes.size and classes.min() < 0:
            raise RuntimeError("Class values must be non-negative.")
        if classes.size and classes.max() >= num_classes:
            raise RuntimeError("Class values must be smaller than num_classes.")
        return classes

    checked(classes)
    if is_level_value(tensor._array):
        if thread_state.local.trace is not None:
            tensor = record.wrap(traced_numpy(checked, tensor._array))
        return (tensor.unsqueeze(-1) == record.wrap(np.arange(num_classes))).to(tensor.dtype)
    return record.wrap((classes[..., None] == np.arange(num_classes)).astype(np.int64))
