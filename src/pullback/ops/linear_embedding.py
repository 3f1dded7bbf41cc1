"""What layers compute: affine maps, embeddings, dropout.

Dropout draws its masks from the default generator as PyTorch does, so that the same seed drops the same elements.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from ..base import dtypes, thread_state
from ..base.dtypes import FLOAT32, FLOAT64, FLOATING, OF_NUMPY, int32, int64
from ..base.errors import with_notes
from ..core import op, record, versions
from ..core.inplace import assign
from ..core.level import by_example, concrete_array, is_level_value, sample, traced_draw, traced_numpy, unbatched
from ..core.tensor import PLAIN_TENSOR_TYPES, Tensor
from ..core.views import gradient_edge, gradient_edge_for_saving
from ..kernels import gemm
from .half import HALVES
from .index import all_inside, index_array, sum_at, take_at
from .matmul import product, recorded, shapes_differ, types_differ
from .random import default_generator
from .sparse import place
from .view import expand, reshape, squeeze, unsqueeze
from .where import where

__all__ = ["embedding_renorm_", "feature_dropout"]
__all_functional__ = [
    "alpha_dropout",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "embedding",
    "embedding_bag",
    "feature_alpha_dropout",
    "linear",
    "one_hot",
]


# --- linear -----------------------------------------------------------------------------------------------------


def _linear_node(input: Any, weight: Any, bias: Any) -> str:
    return "LinearBackward0" if input.ndim != 2 else "MmBackward0" if bias is None else "AddmmBackward0"


BIAS_FIRST = (2, 0, 1)  # as PyTorch's addmm has them, of input, weight, bias


@op.general(
    name="linear",
    node=_linear_node,
    method=False,
    linear="input weight, bias",
    edge_order={"AddmmBackward0": BIAS_FIRST, "MmBackward0": (0, 1)},
)
def _linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    if weight.dtype != input.dtype or bias is not None and bias.dtype != input.dtype:
        if bias is None:
            raise types_differ(input, weight)
        a, b = (dtypes.type_name(OF_NUMPY[x.dtype]) for x in (bias, weight if weight.dtype != bias.dtype else input))
        raise RuntimeError(f"self and mat2 must have the same dtype, but got {a} and {b}")
    if weight.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {weight.ndim}D")
    if input.dtype in HALVES:
        wide = (None if x is None else x.astype(FLOAT32) for x in (input, weight, bias))
        return _linear.op.impl(*wide).astype(input.dtype)
    at_once = bias is not None and weight.ndim == 2 and bias.shape == weight.shape[:1]
    try:
        out = np.asarray(product(input, weight.T, bias if at_once else None))
    except ValueError:
        raise shapes_differ(input, weight.T) from None
    return out if bias is None or at_once else np.add(out, expand(bias, out.shape), out=out)


def _of_weight(g: Any, input: Any, weight_shape: tuple[int, ...]) -> Any:
    if len(input.shape) != 2:
        # behind rows of gradients, if there are some
        count, behind = math.prod(input.shape[:-1]), len(input.shape) + len(weight_shape) - 2
        g = reshape(g, (*g.shape[: len(g.shape) - behind], count, *weight_shape[:-1]))
        input = reshape(input, (count, weight_shape[-1]))
    if len(weight_shape) == 1:
        return g @ input
    return g.mT * input if input.shape[0] == 1 else g.mT @ input  # an outer product, for one sample


_linear.vjp(
    input=lambda g, weight: g @ weight if len(weight.shape) == 2 else unsqueeze(g, -1) * weight,
    weight=_of_weight,
    bias=lambda g: g,
)


def _input_gradient(g: Any, weight: Any) -> Any:
    if weight.ndim == 1:
        return g[..., None] * weight
    if g.ndim == 2:
        return gemm.product(g, weight)
    return gemm.product(g.reshape(-1, g.shape[-1]), weight).reshape(*g.shape[:-1], weight.shape[1])


def _weight_gradient(g: Any, input: Any, weight_shape: tuple[int, ...]) -> Any:
    """Never a view, of which a leaf would keep a copy."""
    n = weight_shape[-1]
    gradient = gemm.product(g.reshape(-1, math.prod(weight_shape[:-1])).T, input.reshape(-1, n))
    return gradient if len(weight_shape) == 2 else gradient.reshape(weight_shape)


_linear.op.array_rules = {"input": _input_gradient, "weight": _weight_gradient}
NODES = {name: _linear.op.node_type(name, False) for name in ("LinearBackward0", "MmBackward0", "AddmmBackward0")}


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input @ weight.T + bias``.

    Args:
        input: ``(..., n)``.
        weight: ``(m, n)``, or ``(n,)``.
        bias: ``(m,)``.

    Returns:
        ``(..., m)``.

    Raises:
        RuntimeError: for shapes that do not fit and differing dtypes.

    >>> import pullback as torch
    >>> weight, bias = torch.tensor([[1.0, 0.0], [1.0, 1.0]]), torch.tensor([0.5, 0.0])
    >>> torch.nn.functional.linear(torch.tensor([[1.0, 2.0]]), weight, bias)
    tensor([[1.5000, 3.0000]])
    """
    # The usual case in full: it decides the cost of a small network's layer.
    try:
        x, w = input._array, weight._array
        d = x.dtype
        if (
            not (d is FLOAT32 or d is FLOAT64)
            or w.dtype is not d
            or w.ndim != 2
            or thread_state.slow_path_reasons
            or thread_state.no_grad_threads
            and thread_state.marking()
        ):
            return _linear(input, weight, bias)
        if input.__class__ not in PLAIN_TENSOR_TYPES or weight.__class__ not in PLAIN_TENSOR_TYPES:
            return _linear(input, weight, bias)
        b = None if bias is None else bias._array
        if b is not None and b.dtype is not d:
            return _linear(input, weight, bias)
        out = gemm.product(x, w.T, b) if x.ndim == 2 else product(x, w.T, b)
        e, f, h = (
            gradient_edge_for_saving(input),
            gradient_edge_for_saving(weight),
            None if bias is None else gradient_edge(bias),
        )
    except (AttributeError, ValueError, RuntimeError):
        return _linear(input, weight, bias)
    saved = (None if e is None else w, None if f is None else x, w.shape)
    return recorded(NODES[_linear_node(x, w, bias)], out, (e, f, h), saved)


# --- embedding --------------------------------------------------------------------------------------------------


@op.general(name="embedding", method=False, linear="weight")
def _embedding(
    weight: Tensor, indices: Tensor, padding_idx: int = -1, by_frequency: bool = False, sparse: bool = False
) -> Tensor:
    check_rows(indices, len(weight))
    return weight.take(indices, 0)


def check_rows(indices: np.ndarray, count: int) -> None:
    """Refuse numbers of rows that are not there."""
    if not all_inside(indices, count):
        raise with_notes(
            IndexError("index out of range in self"),
            f"indices lie between {indices.min()} and {indices.max()}; the table has {count} rows",
        )


def _of_table(
    g: Any, weight_shape: tuple[int, ...], indices: Any, padding_idx: int, by_frequency: bool, sparse: bool
) -> Any:
    at = index_array(indices)
    if sparse:
        if by_frequency:
            raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")
        rows, g = at.reshape(1, -1).astype(np.int64), reshape(g, (at.size, weight_shape[1]))
        counted = rows[0] != padding_idx
        return place(g, rows, weight_shape) if counted.all() else place(g[counted], rows[:, counted], weight_shape)
    if by_frequency:
        g = g / np.bincount(at.reshape(-1), minlength=weight_shape[0])[at][..., None].astype(np.float32)
    if padding_idx >= 0:
        g = where((at != padding_idx)[..., None], g, 0)
    return sum_at(g, [at], weight_shape)


_embedding.vjp(weight=_of_table)


def _row(padding_idx: int | None, count: int) -> int:
    """The row of a padding index; -1 for none."""
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
        sparse: whether the table's gradient is a sparse tensor, which holds the rows asked for and nothing else.

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
    padding = _row(padding_idx, weight._array.shape[0])
    if max_norm is not None:
        embedding_renorm_(weight, input, max_norm, norm_type)
    return _embedding(weight, input, padding, scale_grad_by_freq, sparse)


def embedding_renorm_(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float = 2.0) -> Tensor:
    """Scale the rows of a table that are asked for and have a larger norm down to ``max_norm``, in place.

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
    bags, count = _bags(input, offsets, include_last_offset)
    _check_table(input, weight, "embedding_bag")
    flat = record.wrap(input._array.reshape(-1))
    if max_norm is not None:
        embedding_renorm_(weight, flat, max_norm, norm_type)
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' "
            f"(got mode='{mode}'). Please open a feature request on GitHub."
        )
    padding = _row(padding_idx, weight._array.shape[0])
    rows = _embedding(weight, flat, padding, scale_grad_by_freq, sparse)
    kept = traced_numpy(lambda flat: flat != padding, flat._array)
    if mode == "max":
        return _largest(rows, bags, kept, count)
    if per_sample_weights is not None:
        rows = rows * unsqueeze(reshape(per_sample_weights, [-1]), 1)
    if padding >= 0:
        rows = where(unsqueeze(record.wrap(kept), 1), rows, 0)
    result = sum_at(rows, [bags], (count, weight.shape[1]))
    if mode == "sum":
        return result
    dtype = weight._array.dtype
    sizes = traced_numpy(
        lambda bags, kept: np.maximum(np.bincount(bags[kept], minlength=count), 1).astype(dtype)[:, None], bags, kept
    )
    return result / record.wrap(sizes)


def _bags(input: Tensor, offsets: Tensor | None, include_last_offset: bool) -> tuple[np.ndarray, int]:
    """The bag of each row number, and how many bags there are."""
    if len(input.shape) == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
                f"sequences. However, found offsets of type {type(offsets)}"
            )
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

    return traced_numpy(bag_of_each, offsets._array), max(0, offsets.shape[0] - include_last_offset)


def _largest(rows: Tensor, bags: np.ndarray, kept: np.ndarray, count: int) -> Tensor:
    """The maximum of each bag, column by column; of an empty one 0."""
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
    """1 at the place of each class, 0 elsewhere.

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
    if classes.size and classes.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    if num_classes == -1:
        num_classes = int(classes.max()) + 1

    def checked(classes: np.ndarray) -> np.ndarray:
        if classes.size and classes.max() >= num_classes:
            raise RuntimeError("Class values must be smaller than num_classes.")
        return classes

    checked(classes)
    if is_level_value(tensor._array):
        if thread_state.local.trace is not None:
            tensor = record.wrap(traced_numpy(checked, tensor._array))
        return (tensor.unsqueeze(-1) == record.wrap(np.arange(num_classes))).to(tensor.dtype)
    return record.wrap((classes[..., None] == np.arange(num_classes)).astype(np.int64))


# --- dropout ----------------------------------------------------------------------------------------------------

SELU_FLOOR = 1.7580993408473766  # how far below 0 selu goes: scale * alpha


def _dropped(
    input: Tensor, p: float, training: bool, inplace: bool, name: str, *, features: bool = False, alpha: bool = False
) -> Tensor:
    """Elements (or whole features, the first two dimensions) dropped with probability p, the others scaled up.

    With ``alpha``, what is dropped becomes selu's lowest value, and all is scaled and shifted so that mean and variance
    stay (Klambauer et al. 2017).
    """
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    x = input._array
    if p == 0 or not training or not x.size:
        return input
    if OF_NUMPY[x.dtype].category < FLOATING:
        raise RuntimeError(
            f"result type Float can't be cast to the desired output type {dtypes.type_name(input.dtype)}"
        )
    if p == 1:
        result = input * 0.0
    else:
        if features and x.ndim < 2:
            raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
        order = "C" if 0 in x.strides else "K"
        like = (
            np.empty((*x.shape[:2], *[1] * (x.ndim - 2)), x.dtype)
            if features
            else np.empty_like(concrete_array(x, True), x.dtype, order, shape=x.shape)
        )

        def draw() -> np.ndarray:
            """1 for what stays."""
            noise = np.empty_like(like)
            kept = noise.ravel("K")  # in the order of memory
            kept[...] = default_generator.bernoulli(1 - p, kept.shape, np.float32)
            return noise

        if thread_state.local.batches:
            noise = record.wrap(
                sample(like.shape, lambda shape: default_generator.bernoulli(1 - p, shape, np.float32).astype(x.dtype))
            )
        else:
            noise = record.wrap(traced_draw(draw))
        if alpha:
            a = 1 / math.sqrt((SELU_FLOOR**2 * p + 1) * (1 - p))
            shift = (noise - 1) * (SELU_FLOOR * a) + SELU_FLOOR * a * p
            result = input * (noise * a) + shift
        else:
            result = input * (noise / (1 - p))
    return assign(input, name, result) if inplace else result


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """In training, zeros in the place of elements with probability ``p``, and the others times ``1 / (1 - p)``.

    Args:
        input: floating-point, any shape.
        p: in ``[0, 1]``.
        training: False gives the input back.
        inplace: write into the input.

    Raises:
        ValueError: for another ``p``.

    >>> import pullback as torch
    >>> torch.nn.functional.dropout(torch.ones(3), 1.0), torch.nn.functional.dropout(torch.ones(3), training=False)
    (tensor([0., 0., 0.]), tensor([1., 1., 1.]))
    """
    return _dropped(input, p, training, inplace, "dropout_")


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout for self-normalizing networks: keeps mean 0 and variance 1.

    >>> import pullback as torch
    >>> torch.alpha_dropout(torch.ones(3), 0.0, True)
    tensor([1., 1., 1.])
    """
    return _dropped(input, p, training, inplace, "alpha_dropout_", alpha=True)


def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Dropout of whole features: the trailing dimensions of ``(batch, channels, ...)`` together.

    >>> import pullback as torch
    >>> torch.feature_dropout(torch.ones(1, 1, 2), 1.0, True)
    tensor([[[0., 0.]]])
    """
    return _dropped(input, p, train, False, "feature_dropout_", features=True)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """:func:`alpha_dropout` of whole features.

    >>> import pullback as torch
    >>> torch.feature_alpha_dropout(torch.ones(1, 1, 2), 0.0, True)
    tensor([[[1., 1.]]])
    """
    return _dropped(input, p, training, inplace, "feature_alpha_dropout_", features=True, alpha=True)


def _dropout_nd(input: Tensor, p: float, training: bool, inplace: bool, spatial: int) -> Tensor:
    """Feature dropout for so many spatial dimensions."""
    rank, name = len(input.shape), f"dropout{spatial}d"
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if rank not in (spatial + 1, spatial + 2):
        meant = (
            f"Note that {name} exists to provide channel-wise dropout on inputs with {spatial} spatial "
            f"dimension{'s'[: spatial > 1]}, "
            f"a channel dimension, and an optional batch dimension (i.e. {spatial + 1}D or {spatial + 2}D inputs)."
        )
        if spatial == 1:
            raise RuntimeError(f"dropout1d: Expected 2D or 3D input, but received a {rank}D input. {meant}")
        warnings.warn(
            f"{name}: Received a {rank}-D input to {name}, which is deprecated and will result in an error in a future "
            f"release. To retain the behavior and silence this warning, please use dropout instead. {meant}",
            UserWarning,
            stacklevel=3,
        )
    if spatial == 2 and rank == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is "
            "desired - input is interpreted as shape (N, C, L), where C is the channel dim. This behavior will change "
            "in a future release to interpret the input as one without a batch dimension, i.e. shape (C, H, W). To "
            "maintain the 1D channel-wise dropout behavior, please switch to using dropout1d instead.",
            UserWarning,
            stacklevel=3,
        )
    unbatched = rank == spatial + 1 and spatial != 2 or spatial == 3 and rank != 5
    result = _dropped(unsqueeze(input, 0) if unbatched else input, p, training, inplace, name + "_", features=True)
    return squeeze(result, 0) if unbatched else result


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Dropout of whole channels of ``(batch, channels, length)`` or ``(channels, length)``.

    >>> import pullback as torch
    >>> torch.nn.functional.dropout1d(torch.ones(1, 2), 1.0)
    tensor([[0., 0.]])
    """
    return _dropout_nd(input, p, training, inplace, 1)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Dropout of whole channels of ``(batch, channels, height, width)``.

    A 3-d input is taken for ``(batch, channels, length)``, with a warning.

    >>> import pullback as torch
    >>> torch.nn.functional.dropout2d(torch.ones(1, 1, 1, 2), 1.0)
    tensor([[[[0., 0.]]]])
    """
    return _dropout_nd(input, p, training, inplace, 2)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Dropout of whole channels of ``(batch, channels, depth, height, width)``, or without the batch.

    >>> import pullback as torch
    >>> torch.nn.functional.dropout3d(torch.ones(1, 1, 1, 1, 2), 1.0)
    tensor([[[[[0., 0.]]]]])
    """
    return _dropout_nd(input, p, training, inplace, 3)
