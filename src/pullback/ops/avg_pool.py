"""Average pooling: ``avg_pool2d``, ``adaptive_avg_pool2d``, ``lp_pool2d``, for one to three spatial dimensions.

A mean of windows is a :class:`~pullback.ops.interpolate.SeparableMap`, applied by the op ``resample``, which has the
rule.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ..core import inplace, op
from ..core.tensor import Tensor
from .activation import relu
from .arithmetic import pow
from .complex import abs
from .conv_products import as_tuples
from .interpolate import LinearMap, SeparableMap, adaptive_mean_and_node, resample
from .pointwise import sign
from .pool import adaptive_sizes, check_windows, per_dim
from .reduce import mean

__all__ = ["adaptive_avg_pool1d", "avg_pool1d"]
__all_functional__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
]


@functools.lru_cache(256)
def _window_sum_map(spatial: int, kernel: int, size: int, stride: int, padding: int) -> LinearMap:
    """The sums of windows along one dimension."""
    columns = np.arange(size) * stride - padding + np.arange(kernel)[:, None]
    rows = np.broadcast_to(np.arange(size), columns.shape)
    inside = (columns >= 0) & (columns < spatial)
    return LinearMap((size, spatial), rows[inside], columns[inside], np.ones(np.count_nonzero(inside)))


@functools.lru_cache(64, typed=True)
def _mean_map(
    n: int,
    shape: tuple[int, ...],
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: int | None,
) -> tuple[SeparableMap, str]:
    """The map to the means of windows, or to their sums over ``divisor``, and the node's name."""
    if divisor == 0:
        raise RuntimeError("divisor must be not zero")
    windows = check_windows(f"avg_pool{n}d", shape, n, kernel_size, stride, padding, dilation, ceil_mode)
    spatial, layout, lengths = windows.spatial, windows.layout, []
    for i, k, o, s, p in zip(spatial, *layout[:4]):
        border = p if count_include_pad else 0
        start = np.arange(o) * s - p
        lengths.append(np.minimum(start + k, i + border) - np.maximum(start, -border))
    count = functools.reduce(np.multiply.outer, lengths, np.ones(()))
    if divisor is not None or np.all(count == count.flat[0]):
        count = np.array(divisor or count.flat[0], float)
    return SeparableMap([*map(_window_sum_map, spatial, *layout[:4])], after=count), f"AvgPool{n}DBackward0"


def _avg_pool(
    n: int,
    input: Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Tensor:
    sizes = as_tuples(kernel_size, stride, padding, 1)
    return resample.op.call_ordered(
        input, *_mean_map(n, input._array.shape, *sizes, ceil_mode, count_include_pad, divisor_override)
    )


@op.composite(method=False)
def avg_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """Means of windows; see :func:`avg_pool2d`. Input: (N, C, L), or (C, L).

    >>> import pullback as torch
    >>> torch.avg_pool1d(torch.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    tensor([[2., 1.]])
    """
    return _avg_pool(1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


@op.composite(method=False)
def avg_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    out: Any = None,
) -> Tensor:
    """Means of windows.

    Args:
        input: (N, C, H, W), or (C, H, W).
        kernel_size, stride, padding, ceil_mode: as of :func:`max_pool2d`.
        count_include_pad: divide by the number of elements and padding in a window; False leaves the padding out.
        divisor_override: divide by this.

    >>> import pullback as torch
    >>> torch.nn.functional.avg_pool2d(torch.arange(16.0).reshape(1, 4, 4), 2)
    tensor([[[ 2.5000,  4.5000],
             [10.5000, 12.5000]]])
    """
    result = _avg_pool(2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    return result if out is None else inplace.write_out(out, result)


@op.composite(method=False)
def avg_pool3d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    out: Any = None,
) -> Tensor:
    """Means of windows; see :func:`avg_pool2d`. Input: (N, C, D, H, W), or (C, D, H, W).

    >>> import pullback as torch
    >>> torch.nn.functional.avg_pool3d(torch.arange(8.0).reshape(1, 2, 2, 2), 2).item()
    3.5
    """
    result = _avg_pool(3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    return result if out is None else inplace.write_out(out, result)


@functools.lru_cache(64)
def _adaptive_mean_map(n: int, shape: tuple[int, ...], output_size: Any) -> tuple[SeparableMap, str] | None:
    """The map to the means and the node's name; None for an output of size 1, the mean of all."""
    size = adaptive_sizes(f"adaptive_avg_pool{n}d", shape, n, output_size)
    return None if size == (1,) * n else adaptive_mean_and_node(shape, size)


def _adaptive_avg_pool(n: int, input: Tensor, output_size: Any) -> Tensor:
    means = _adaptive_mean_map(
        n, input._array.shape, tuple(output_size) if output_size.__class__ is list else output_size
    )
    return mean(input, tuple(range(-n, 0)), True) if means is None else resample.op.call_ordered(input, *means)


@op.composite(method=False)
def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """Means of as many windows as asked for, those of :func:`adaptive_max_pool1d`. Input: (N, C, L), or (C, L).

    >>> import pullback as torch
    >>> torch.adaptive_avg_pool1d(torch.tensor([[1.0, 3.0, 2.0]]), 2)
    tensor([[2.0000, 2.5000]])
    """
    return _adaptive_avg_pool(1, input, output_size)


@op.composite(method=False)
def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Means of as many windows as asked for, those of :func:`adaptive_max_pool2d`.

    Input: (N, C, H, W), or (C, H, W).

    >>> import pullback as torch
    >>> torch.nn.functional.adaptive_avg_pool2d(torch.arange(16.0).reshape(1, 4, 4), (1, 2))
    tensor([[[6.5000, 8.5000]]])
    """
    return _adaptive_avg_pool(2, input, output_size)


@op.composite(method=False)
def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """Means of as many windows as asked for, those of :func:`adaptive_max_pool3d`.

    Input: (N, C, D, H, W), or (C, D, H, W).

    >>> import pullback as torch
    >>> torch.nn.functional.adaptive_avg_pool3d(torch.arange(8.0).reshape(1, 2, 2, 2), 1).item()
    3.5
    """
    return _adaptive_avg_pool(3, input, output_size)


# --- power-average pools ----------------------------------------------------------------------------------------


def _lp_pool(n: int, input: Tensor, norm_type: float, kernel_size: Any, stride: Any, ceil_mode: bool) -> Tensor:
    sums = _avg_pool(n, pow(input, norm_type), kernel_size, stride, 0, ceil_mode, True, None)
    sums = sign(sums) * relu(abs(sums)) * math.prod(per_dim(kernel_size, n, f"lp_pool{n}d", "kernel_size"))
    return pow(sums, 1.0 / norm_type)


@op.composite(method=False)
def lp_pool1d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """Norms of windows; see :func:`lp_pool2d`. Input: (N, C, L), or (C, L).

    >>> import pullback as torch
    >>> torch.nn.functional.lp_pool1d(torch.tensor([[3.0, 4.0]]), 2, 2)
    tensor([[5.]])
    """
    return _lp_pool(1, input, norm_type, kernel_size, stride, ceil_mode)


@op.composite(method=False)
def lp_pool2d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """Norms of windows: ``sum(x ** p) ** (1 / p)``, where p is ``norm_type``.

    Elements missing from a last window that ``ceil_mode`` cuts short count as the mean of the others, as in PyTorch.

    Args:
        input: (N, C, H, W), or (C, H, W).
        kernel_size, stride, ceil_mode: as of :func:`max_pool2d`.

    >>> import pullback as torch
    >>> torch.nn.functional.lp_pool2d(torch.tensor([[[3.0, 4.0]]]), 2, (1, 2))
    tensor([[[5.]]])
    """
    return _lp_pool(2, input, norm_type, kernel_size, stride, ceil_mode)


@op.composite(method=False)
def lp_pool3d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """Norms of windows; see :func:`lp_pool2d`. Input: (N, C, D, H, W), or (C, D, H, W).

    >>> import pullback as torch
    >>> torch.nn.functional.lp_pool3d(torch.tensor([[[[3.0, 4.0]]]]), 2, (1, 1, 2))
    tensor([[[[5.]]]])
    """
    return _lp_pool(3, input, norm_type, kernel_size, stride, ceil_mode)
