"""``dropout``, ``alpha_dropout``, ``feature_dropout``, ``dropout1d`` to ``dropout3d``.

Masks are drawn from the default generator as PyTorch draws them, so that the same seed drops the same elements.
"""

from __future__ import annotations

import math
import warnings

import numpy as np

from ..base import dtypes, thread_state
from ..base.dtypes import FLOATING, OF_NUMPY
from ..core import record
from ..core.inplace import assign
from ..core.level import concrete_array, sample, traced_draw
from ..core.tensor import Tensor
from .create import empty, ones_like, zeros_like
from .random import default_generator
from .view import squeeze, unsqueeze

__all__ = ["feature_dropout", "native_dropout"]
__all_functional__ = [
    "alpha_dropout",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "feature_alpha_dropout",
]

SELU_FLOOR = 1.7580993408473766  # how far below 0 selu goes: scale * alpha


def _dropout(
    input: Tensor, p: float, training: bool, inplace: bool, name: str, *, features: bool = False, alpha: bool = False
) -> Tensor:
    """Elements (or whole features, the first two dimensions) dropped with probability p, the others scaled up.

    With ``alpha``, dropped elements become selu's lowest value, and all are scaled and shifted so that mean and
    variance stay (Klambauer et al. 2017).
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
        noise = _kept(input, p, features)
        if alpha:
            a = 1 / math.sqrt((SELU_FLOOR**2 * p + 1) * (1 - p))
            shift = (noise - 1) * (SELU_FLOOR * a) + SELU_FLOOR * a * p
            result = input * (noise * a) + shift
        else:
            result = input * (noise / (1 - p))
    return assign(input, name, result) if inplace else result


def _kept(input: Tensor, p: float, features: bool) -> Tensor:
    """1 for elements (or features) that are kept, 0 for dropped ones."""
    x = input._array
    if input.is_meta:
        return empty([*x.shape[:2], *[1] * (x.ndim - 2)] if features else x.shape, dtype=input.dtype, device="meta")
    order = "C" if 0 in x.strides else "K"
    like = (
        np.empty((*x.shape[:2], *[1] * (x.ndim - 2)), x.dtype)
        if features
        else np.empty_like(concrete_array(x, True), x.dtype, order, shape=x.shape)
    )

    def draw() -> np.ndarray:
        noise = np.empty_like(like)
        kept = noise.ravel("K")  # in the order of memory
        kept[...] = default_generator.bernoulli(1 - p, kept.shape, np.float32)
        return noise

    if thread_state.local.batches:
        draw_all = lambda shape: default_generator.bernoulli(1 - p, shape, np.float32).astype(x.dtype)  # noqa: E731
        return record.wrap(sample(like.shape, draw_all))
    return record.wrap(traced_draw(draw))


def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """:func:`dropout`, and where elements were kept.

    >>> import pullback as torch
    >>> torch.native_dropout(torch.ones(2), 0.5, False)
    (tensor([1., 1.]), tensor([True, True]))
    """
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if train is False or not input._array.size:
        return input.clone(), ones_like(input, dtype=dtypes.bool_)
    if p == 1:
        return input * 0.0, zeros_like(input, dtype=dtypes.bool_)
    kept = _kept(input, p, False)
    return input * (kept / (1 - p)), kept.bool()


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """In training, zeroes each element with probability ``p`` and multiplies the others by ``1 / (1 - p)``.

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
    return _dropout(input, p, training, inplace, "dropout_")


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout for self-normalizing networks: keeps mean 0 and variance 1.

    >>> import pullback as torch
    >>> torch.alpha_dropout(torch.ones(3), 0.0, True)
    tensor([1., 1., 1.])
    """
    return _dropout(input, p, training, inplace, "alpha_dropout_", alpha=True)


def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Dropout of whole features: the trailing dimensions of ``(batch, channels, ...)`` together.

    >>> import pullback as torch
    >>> torch.feature_dropout(torch.ones(1, 1, 2), 1.0, True)
    tensor([[[0., 0.]]])
    """
    return _dropout(input, p, train, False, "feature_dropout_", features=True)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """:func:`alpha_dropout` of whole features.

    >>> import pullback as torch
    >>> torch.feature_alpha_dropout(torch.ones(1, 1, 2), 0.0, True)
    tensor([[[1., 1.]]])
    """
    return _dropout(input, p, training, inplace, "feature_alpha_dropout_", features=True, alpha=True)


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
    result = _dropout(unsqueeze(input, 0) if unbatched else input, p, training, inplace, name + "_", features=True)
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
