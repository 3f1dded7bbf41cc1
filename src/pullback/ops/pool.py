"""Max pooling and its inverse: ``max_pool2d``, ``adaptive_max_pool2d``, ``fractional_max_pool2d``, ``max_unpool2d``.

Inputs are (N, C, spatial...) or, unbatched, (C, spatial...), with one to three spatial dimensions. Here are the public
functions and the checks of their options, which :mod:`pullback.ops.avg_pool` shares; the op that finds the maxima of
windows, and its rule, are in :mod:`pullback.ops.max_windows`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np

from ..base import dtypes, thread_state
from ..base.dtypes import int64
from ..base.errors import with_notes
from ..core import op, record
from ..core.level import by_example, concrete_array, traced_numpy
from ..core.tensor import Tensor
from .conv_products import WindowLayout, as_tuples
from .interpolate import place
from .max_windows import FEW, FractionalWindows, RandomWindows, SlidingWindows, adaptive_windows, maxima
from .random import rand
from .scatter import gather
from .view import reshape

__all__ = [
    "adaptive_max_pool1d",
    "max_pool1d",
    "max_pool1d_with_indices",
    "max_pool2d",
    "max_pool3d",
]
__all_functional__ = [
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "fractional_max_pool2d",
    "fractional_max_pool3d",
    "max_pool1d",
    "max_pool1d_with_indices",
    "max_pool2d",
    "max_pool2d_with_indices",
    "max_pool3d",
    "max_pool3d_with_indices",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
]

Ints = Sequence[int]


# --- options, sizes, and what is wrong with them ----------------------------------------------------------------

NUMBERS = {1: "one", 2: "two", 3: "three"}


def per_dim(value: Any, n: int, name: str, what: str, omitted: str = "") -> tuple[int, ...]:
    """One number for each spatial dimension."""
    if isinstance(value, (int, np.integer)):
        return (int(value),) * n
    if len(value) not in (1, n):
        raise with_notes(
            RuntimeError(f"{name}: {what} must either be {omitted}a single int, or a tuple of {NUMBERS[n]} ints"),
            f"{what} is {tuple(value)}",
        )
    return tuple(map(index, value)) * (n // len(value))


def _check_spatial(name: str, shape: tuple[int, ...], n: int) -> tuple[int, ...]:
    """The spatial sizes."""
    if n > 1 and len(shape) not in (n + 1, n + 2):
        raise with_notes(
            RuntimeError(f"{name}: non-empty {n + 1}D or {n + 2}D (batch mode) tensor expected for input"),
            f"its shape is {shape}",
        )
    if len(shape) not in (n + 1, n + 2) or 0 in shape[-n - 1 :]:
        raise RuntimeError(
            f"{name}: Expected {n + 1}D or {n + 2}D (batch mode) tensor with optional 0 dim batch size "
            f"for input, but got:{list(shape)}"
        )
    return shape[-n:]


def check_windows(
    name: str,
    shape: tuple[int, ...],
    n: int,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
) -> SlidingWindows:
    kernel = per_dim(kernel_size, n, name, "kernel_size")
    stride = kernel if stride in (None, ()) else per_dim(stride, n, name, "stride", "omitted, ")
    padding, dilation = per_dim(padding, n, name, "padding"), per_dim(dilation, n, name, "dilation")
    if min(kernel) <= 0:
        raise RuntimeError(f"{name}() kernel_size must be greater than zero, but got {min(kernel)}")
    if min(stride) <= 0:
        raise RuntimeError(
            f"stride should not be zero: {name}() stride must be greater than zero, but got {min(stride)}"
        )
    if min(dilation) <= 0:
        raise RuntimeError(
            f"dilation should be greater than zero: {name}() dilation must be greater than zero, "
            f"but got {min(dilation)}"
        )
    if min(padding) < 0:
        raise RuntimeError(f"pad must be non-negative, but got pad: {min(padding)}")
    if any(p > k // 2 for p, k in zip(padding, kernel)):
        raise RuntimeError(
            "pad should be at most half of effective kernel size, but got "
            f"pad={padding}, kernel_size={kernel} and dilation={dilation}"
        )
    spatial = _check_spatial(name, shape, n)
    size = []
    for i, k, s, p, d in zip(spatial, kernel, stride, padding, dilation):
        o = (i + 2 * p - d * (k - 1) - 1 + (s - 1 if ceil_mode else 0)) // s + 1
        size.append(o - 1 if ceil_mode and (o - 1) * s >= i + p else o)  # no window may start after the last element
    if min(size) < 1:
        if n == 1:
            raise RuntimeError(f"{name}() Invalid computed output size: {size[0]}")
        given, made = ("x".join(map(str, (shape[-n - 1], *each))) for each in (spatial, size))
        raise RuntimeError(f"Given input size: ({given}). Calculated output size: ({made}). Output size is too small")
    return SlidingWindows(spatial, WindowLayout(kernel, tuple(size), stride, padding, dilation))


def adaptive_sizes(name: str, shape: tuple[int, ...], n: int, output_size: Any) -> tuple[int, ...]:
    several = isinstance(output_size, tuple)
    if n > 1 and several and len(shape) <= n:
        raise ValueError(f"Input dimension should be at least {n + 1}")
    if len(shape) not in (n + 1, n + 2):
        raise RuntimeError(f"{name}(): Expected {n + 1}D or {n + 2}D tensor, but got: {list(shape)}")
    for d in range(len(shape) - n - (len(shape) == n + 1), len(shape)):
        if shape[d] == 0:
            raise RuntimeError(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, "
                f"but input has sizes {list(shape)} with dimension {d} being empty"
            )
    sizes = tuple(output_size) if several else (output_size,) * n
    if len(sizes) != n:
        raise RuntimeError(
            f"{name}(): argument 'output_size' should contain {NUMBERS[n]} int{'s' * (n > 1)} (got {len(sizes)})"
        )
    sizes = tuple(i if o is None else int(o) for o, i in zip(sizes, shape[-n:]))
    if min(sizes) < 0:
        raise RuntimeError(f"{name}: elements of output_size must be greater than or equal to 0 but received {sizes}")
    return sizes


# --- max pools --------------------------------------------------------------------------------------------------


@functools.lru_cache(256, typed=True)
def _sliding_windows(n: int, shape: tuple[int, ...], *options: Any) -> tuple[SlidingWindows, str]:
    """The windows, and the node's name."""
    return check_windows(f"max_pool{n}d", shape, n, *options), f"MaxPool{n}DWithIndicesBackward0"


def _max_pool(
    n: int,
    input: Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    return_indices: bool,
) -> Any:
    result = maxima.op.call_ordered(
        input, *_sliding_windows(n, input._array.shape, *as_tuples(kernel_size, stride, padding, dilation), ceil_mode)
    )
    return tuple(result) if return_indices else result[0]


@op.composite(method=False)
def max_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Maxima of windows; see :func:`max_pool2d`. Input: (N, C, L), or (C, L).

    >>> import pullback as torch
    >>> torch.max_pool1d(torch.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    tensor([[3., 2.]])
    """
    return _max_pool(1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@op.composite(method=False)
def max_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Maxima of windows.

    Args:
        input: (N, C, H, W), or (C, H, W); real.
        kernel_size: of the windows, a number or one for each spatial dimension; so the others.
        stride: from window to window; the kernel size if left away.
        padding: how far windows may extend beyond each border; at most half the kernel size.
        dilation: from element to element of a window.
        ceil_mode: also take a last window that is not wholly inside, if it starts inside.
        return_indices: also return where the maxima are: flat indices in the plane, int64.

    Returns:
        (N, C, H', W') with ``H' = (H + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1``, or rounded up.

    Raises:
        RuntimeError: for invalid options, or if no window fits.

    Derivative: the gradient at the maximum, which is the first of equal ones; see the module.

    >>> import pullback as torch
    >>> torch.nn.functional.max_pool2d(torch.arange(16.0).reshape(1, 4, 4), 2)
    tensor([[[ 5.,  7.],
             [13., 15.]]])
    """
    return _max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@op.composite(method=False)
def max_pool3d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Maxima of windows; see :func:`max_pool2d`. Input: (N, C, D, H, W), or (C, D, H, W).

    >>> import pullback as torch
    >>> torch.max_pool3d(torch.arange(8.0).reshape(1, 2, 2, 2), 2).item()
    7.0
    """
    return _max_pool(3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def _with_indices(n: int) -> Any:
    def max_pool(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = True,
    ) -> tuple[Tensor, Tensor]:
        return _max_pool(n, input, kernel_size, stride, padding, dilation, ceil_mode, True)

    max_pool.__name__ = max_pool.__qualname__ = f"max_pool{n}d_with_indices"
    max_pool.__doc__ = f":func:`max_pool{n}d` with ``return_indices=True``."
    return max_pool


max_pool1d_with_indices, max_pool2d_with_indices, max_pool3d_with_indices = map(_with_indices, (1, 2, 3))


@functools.lru_cache(256)
def _adaptive_windows(n: int, shape: tuple[int, ...], output_size: Any) -> tuple[Any, str]:
    """The windows, and the name of the node."""
    return adaptive_windows(
        shape[-n:], adaptive_sizes(f"adaptive_max_pool{n}d", shape, n, output_size)
    ), f"AdaptiveMaxPool{n}DBackward0"


def _adaptive_max_pool(n: int, input: Tensor, output_size: Any, return_indices: bool) -> Any:
    x, size = input._array, tuple(output_size) if output_size.__class__ is list else output_size
    result = maxima.op.call_ordered(
        input, *(_adaptive_windows if x.size < FEW else _adaptive_windows.__wrapped__)(n, x.shape, size)
    )
    return tuple(result) if return_indices else result[0]


@op.composite(method=False)
def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima of as many windows as asked for; see :func:`adaptive_max_pool2d`. Input: (N, C, L), or (C, L).

    >>> import pullback as torch
    >>> torch.nn.functional.adaptive_max_pool1d(torch.tensor([[1.0, 3.0, 2.0]]), 2)
    tensor([[3., 3.]])
    """
    return _adaptive_max_pool(1, input, output_size, return_indices)


@op.composite(method=False)
def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima of as many windows as asked for.

    Args:
        input: (N, C, H, W), or (C, H, W); real.
        output_size: (H', W'), or one number for both; None keeps a size. The i-th window of H' is
            ``[floor(i * H / H'), ceil((i + 1) * H / H'))``.
        return_indices: also return where the maxima are: numbers in the plane, int64.

    >>> import pullback as torch
    >>> torch.nn.functional.adaptive_max_pool2d(torch.arange(16.0).reshape(1, 4, 4), (1, 2))
    tensor([[[13., 15.]]])
    """
    return _adaptive_max_pool(2, input, output_size, return_indices)


@op.composite(method=False)
def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima of as many windows as asked for; see :func:`adaptive_max_pool2d`. Input: (N, C, D, H, W), or (C, D, H, W).

    >>> import pullback as torch
    >>> torch.nn.functional.adaptive_max_pool3d(torch.arange(8.0).reshape(1, 2, 2, 2), 1).item()
    7.0
    """
    return _adaptive_max_pool(3, input, output_size, return_indices)


@functools.lru_cache(256)
def _fractional_windows(
    n: int, shape: tuple[int, ...], kernel_size: Any, output_size: Any, output_ratio: Any
) -> tuple[FractionalWindows, Ints, str]:
    """The windows, the shape of the random samples that shift them, and the node's name."""
    name = f"fractional_max_pool{n}d"
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    spatial = _check_spatial(name, shape, n)
    kernel = per_dim(kernel_size, n, name, "kernel_size")
    if output_size is None:
        ratios = output_ratio if isinstance(output_ratio, tuple) else (output_ratio,) * n
        output_size = [int(i * r) for i, r in zip(spatial, ratios)]
    size = per_dim(output_size, n, name, "output_size")
    if min(kernel) < 1 or min(size) < 0:
        raise RuntimeError(f"{name}(): kernel_size must be greater than zero, and output_size not negative")
    if any(o + k - 1 > i for i, o, k in zip(spatial, size, kernel)):
        raise with_notes(
            RuntimeError(f"{name}(): pool size {kernel} too large relative to input size {spatial}"),
            f"the output size is {size}",
        )
    moved = 1 if len(shape) == n + 1 else shape[0], shape[-n - 1], n
    return FractionalWindows(spatial, kernel, size), moved, f"FractionalMaxPool{n}DBackward0"


def _fractional_max_pool(
    n: int, input: Tensor, kernel_size: Any, output_size: Any, output_ratio: Any, return_indices: bool, samples: Any
) -> Any:
    spacing, moved, node = _fractional_windows(
        n, input._array.shape, *as_tuples(kernel_size, output_size, output_ratio)[:3]
    )
    if samples is None:
        samples = rand(*moved, dtype=input.dtype)
    drawn, d = samples._array.shape, samples._array.dtype
    if drawn != moved and (len(drawn) != 3 or drawn[0] < moved[0] or drawn[1:] != moved[1:]):
        raise RuntimeError(f"Expect _random_samples of size {moved}, but got {drawn}")
    if d.itemsize == 2:
        samples = samples.float()
    return _pool_at_samples(input, samples, n, spacing, moved, node, return_indices)


@by_example(of="samples")
def _pool_at_samples(
    input: Tensor, samples: Tensor, n: int, spacing: FractionalWindows, moved: Ints, node: str, return_indices: bool
) -> Any:
    if thread_state.local.trace is None:
        at = samples._array if samples._array.__class__ is np.ndarray else samples.detach().numpy()
        result = maxima.op.call_ordered(input, RandomWindows(spacing, at), node)
        return tuple(result) if return_indices else result[0]
    spatial, size, many = spacing.spatial, spacing.size, moved[0] * moved[1]
    planes = reshape(input, (many, *spatial))
    at = traced_numpy(
        lambda x, at: RandomWindows(spacing, at).maxima(x)[1], planes.detach()._array, samples.detach()._array
    )
    chosen = reshape(record.wrap(at), (many, math.prod(size)))
    shape = (*input.shape[:-n], *size)
    values = reshape(gather(reshape(planes, (many, math.prod(spatial))), 1, chosen), shape)
    return (values, reshape(chosen, shape)) if return_indices else values


@op.composite(method=False)
def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """Maxima of windows whose starts are drawn at random, about evenly spaced.

    Args:
        input: (N, C, H, W), or (C, H, W); real.
        kernel_size: of the windows, a number or (KH, KW).
        output_size: how many windows, a number or (H', W').
        output_ratio: instead of that, (H', W') as fractions of (H, W).
        return_indices: also return where the maxima are: numbers in the plane, int64.

    >>> import pullback as torch
    >>> torch.nn.functional.fractional_max_pool2d(torch.ones(1, 5, 5), 2, output_size=3).shape
    torch.Size([1, 3, 3])
    """
    return _fractional_max_pool(2, input, kernel_size, output_size, output_ratio, return_indices, _random_samples)


@op.composite(method=False)
def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """Maxima of windows at random starts; see :func:`fractional_max_pool2d`. Input: (N, C, D, H, W), or (C, D, H, W).

    >>> import pullback as torch
    >>> torch.nn.functional.fractional_max_pool3d(torch.ones(1, 5, 5, 5), 2, output_ratio=0.5).shape
    torch.Size([1, 2, 2, 2])
    """
    return _fractional_max_pool(3, input, kernel_size, output_size, output_ratio, return_indices, _random_samples)


# --- maxima back in their places --------------------------------------------------------------------------------


@functools.lru_cache(256)
def _unpooled_size(
    n: int, shape: tuple[int, ...], kernel_size: Any, stride: Any, padding: Any, output_size: Any
) -> tuple[int, ...]:
    """The spatial sizes of the result."""
    name = f"max_unpool{n}d"
    kernel = per_dim(kernel_size, n, name, "kernel_size")
    stride = kernel if stride in (None, ()) else per_dim(stride, n, name, "stride", "omitted, ")
    padding = per_dim(padding, n, name, "padding")
    default = tuple((i - 1) * s - 2 * p + k for i, s, p, k in zip(shape[-n:], stride, padding, kernel))
    size = default if output_size is None else tuple(map(index, output_size[-n:]))
    for d, (asked, made, s) in enumerate(zip(size, default, stride)):
        if not made - s < asked < made + s:
            raise ValueError(f'invalid output_size "{size}" (dim {d} must be between {made - s} and {made + s})')
    if len(shape) not in (n + 1, n + 2):
        raise RuntimeError(
            f"Input to {name} should be a {n + 1}d or {n + 2}d Tensor, but got a tensor with {len(shape)} dimensions"
        )
    return size


def _max_unpool(
    n: int, input: Tensor, indices: Tensor, kernel_size: Any, stride: Any, padding: Any, output_size: Any
) -> Tensor:
    size = _unpooled_size(n, input._array.shape, *as_tuples(kernel_size, stride, padding, output_size))
    if indices.dtype is not int64:
        raise RuntimeError(f"elements in indices should be type int64 but got: {dtypes.type_name(indices.dtype)}")
    if indices._array.shape != input._array.shape:
        raise RuntimeError(
            "Expected shape of indices to be same as that of the input tensor "
            f"({list(input.shape)}) but got indices tensor with shape: {list(indices.shape)}"
        )

    def checked(indices: np.ndarray) -> np.ndarray:
        looked_at = concrete_array(indices, True)
        wrong = looked_at[(looked_at < 0) | (looked_at >= math.prod(size))]
        if wrong.size:
            raise RuntimeError(
                f"Found an invalid max index: {wrong[0]} (output volumes are of size {'x'.join(map(str, size))})"
            )
        return indices

    return place(input, record.wrap(traced_numpy(checked, indices._array)), size, False, f"MaxUnpool{n}DBackward0")


@op.composite(method=False)
def max_unpool1d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """Maxima back in their places; see :func:`max_unpool2d`. Input: (N, C, L), or (C, L).

    >>> import pullback as torch
    >>> torch.nn.functional.max_unpool1d(torch.tensor([[3.0, 2.0]]), torch.tensor([[1, 2]]), 2)
    tensor([[0., 3., 2., 0.]])
    """
    return _max_unpool(1, input, indices, kernel_size, stride, padding, output_size)


@op.composite(method=False)
def max_unpool2d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """Maxima back in their places among zeros: a partial inverse of :func:`max_pool2d`.

    Args:
        input: (N, C, H, W), or (C, H, W).
        indices: as ``max_pool2d`` returned them, int64, of the input's shape.
        kernel_size, stride, padding: as of that pool, from which the size of the result follows.
        output_size: another size, which differs from that by less than the stride.

    Raises:
        RuntimeError: for indices of another type or shape, or outside the result.
        ValueError: for an impossible ``output_size``.

    Derivative: the gradient at the indices.

    >>> import pullback as torch
    >>> torch.nn.functional.max_unpool2d(torch.tensor([[[5.0]]]), torch.tensor([[[2]]]), 2)
    tensor([[[0., 0.],
             [5., 0.]]])
    """
    return _max_unpool(2, input, indices, kernel_size, stride, padding, output_size)


@op.composite(method=False)
def max_unpool3d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """Maxima back in their places; see :func:`max_unpool2d`. Input: (N, C, D, H, W), or (C, D, H, W).

    >>> import pullback as torch
    >>> torch.nn.functional.max_unpool3d(torch.ones(1, 1, 1, 1), torch.tensor([[[[7]]]]), 2).sum()
    tensor(1.)
    """
    return _max_unpool(3, input, indices, kernel_size, stride, padding, output_size)
