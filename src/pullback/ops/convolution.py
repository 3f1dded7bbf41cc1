"""Convolutions and their transposes: ``conv1d`` to ``conv3d``, ``conv_transpose1d`` to ``conv_transpose3d``.

Tensors are laid out (batch, channels, spatial...) with one to three spatial dimensions. What PyTorch calls
a convolution is a cross-correlation: the kernel is not flipped. For one spatial dimension and one group,
with stride s, padding p and dilation d::

    convolution            y[n, o, j]             = sum over i, k of  x[n, i, j*s + k*d - p] * w[o, i, k]
    transposed             y[n, o, j*s + k*d - p] = sum over i, k of  x[n, i, j] * w[i, o, k]
    convolution_weight     w[o, i, k]             = sum over n, j of  x[n, i, j*s + k*d - p] * y[n, o, j]

All three are derivatives of one trilinear form in x, w and y, so each is the gradient of another, and the rules close
under differentiation to any order. The sizes are those of Dumoulin and Visin, "A guide to convolution arithmetic for
deep learning" (2016), relationships 1 to 14.

The computation on arrays is in :mod:`pullback.ops.conv_products`, sliding blocks in :mod:`pullback.ops.fold`.
"""

from __future__ import annotations

import functools
import math
import operator
from functools import lru_cache
from operator import index
from typing import Any

import numpy as np

from .. import kernels
from ..base import dtypes
from ..base.dtypes import OF_NUMPY
from ..base.errors import with_notes
from ..base.layout import as_contiguous, channels_inside, channels_last_copy, channels_outside, is_channels_last
from ..core import op
from ..core.tensor import Tensor
from ..kernels import gemm
from . import half
from .conv_products import (
    Col2im,
    Im2col,
    Ints,
    WindowLayout,
    as_tuples,
    correlate,
    correlate_transposed,
    correlate_weight,
    count_multiplications,
    plane_scatter_tables,
    small_col2im,
    small_im2col,
)
from .conv_taps import correlate_taps, spread_taps, weight_taps
from .matmul import MANY, products_in_double
from .reduce import is_finite, sum
from .view import permute, squeeze, unsqueeze

__all__ = [
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_tbc",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "convolution",
]
__all_functional__ = [
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_tbc",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
]


# --- the operations ---------------------------------------------------------------------------------------------


def per_dim(value: int | Ints, n: int, name: str) -> tuple[int, ...]:
    """One number for each of ``n`` spatial dimensions."""
    if isinstance(value, (int, np.integer)):
        return (int(value),) * n
    if len(value) not in (1, n):
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {n} values "
            f"to match the convolution dimensions, but got {name}={list(value)}"
        )
    return tuple(map(index, value)) * (n if len(value) == 1 else 1)


def _format_sizes(sizes: Ints) -> str:
    return f"({' x '.join(map(str, sizes))})"


def _check_options(layout: WindowLayout, transposed: bool, output_padding: Ints) -> None:
    stride, dilation = list(layout.stride), list(layout.dilation)
    if layout.groups <= 0:
        raise with_notes(RuntimeError("non-positive groups is not supported"), f"groups={layout.groups}")
    if min(stride) <= 0:
        raise with_notes(RuntimeError("non-positive stride is not supported"), f"stride={stride}")
    if min(layout.padding) < 0:
        raise with_notes(RuntimeError("negative padding is not supported"), f"padding={list(layout.padding)}")
    if min(dilation) <= 0:
        raise RuntimeError(f"dilation should be greater than zero, but got {dilation}")
    if min(output_padding) < 0:
        raise with_notes(RuntimeError("negative output_padding is not supported"), f"output_padding={output_padding}")
    if transposed and any(z >= max(s, d) for z, s, d in zip(output_padding, stride, dilation)):
        raise RuntimeError(
            "output padding must be smaller than either stride or dilation, but got output_padding: "
            f"{list(output_padding)} stride: {stride} dilation: {dilation}"
        )


def _check_shapes(x: list[int], w: list[int], bias: Ints | None, transposed: bool, groups: int) -> None:
    if len(x) != len(w):
        raise RuntimeError(
            f"Expected {len(w)}-dimensional input for {len(w)}-dimensional weight {w}, "
            f"but got {len(x)}-dimensional input of size {x} instead"
        )
    if w[0] < groups or w[0] % groups:
        wanted = f"at least {groups}" if w[0] < groups else f"divisible by {groups}"
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be {wanted} at dimension 0, but got weight of size {w} instead"
        )
    if min(w[2:]) == 0:
        raise RuntimeError(f"expected weight to have a kernel of at least one element, but got weight of size {w}")
    channels, features = (w[0], w[1] * groups) if transposed else (w[1] * groups, w[0])
    if x[1] != channels:
        raise RuntimeError(
            f"Given {'transposed=1' if transposed else f'groups={groups}'}, weight of size {w}, "
            f"expected input{x} to have {channels} channels, but got {x[1]} channels instead"
        )
    if bias is not None and tuple(bias) != (features,):
        raise RuntimeError(
            f"Given {'transposed=1, ' if transposed else ''}weight of size {w}, expected bias to be 1-dimensional with "
            f"{features} elements, but got bias of size {list(bias)} instead"
        )
    if 0 in x[2:]:
        raise RuntimeError(f"Only zero batch or zero channel inputs are supported, but got input shape: {x}")


def _refuse_types(input: np.ndarray, weight: np.ndarray, bias: np.ndarray | None) -> None:
    types = [OF_NUMPY[a.dtype] for a in (input, weight, bias) if a is not None]
    if types[0] is not types[1]:
        raise with_notes(
            RuntimeError(f"expected scalar type {dtypes.type_name(types[0])} but found {dtypes.type_name(types[1])}"),
            "The input and the weight of a convolution must be of one type.",
        )
    if types[0] is not types[-1]:
        raise RuntimeError(f"Input type ({types[0].name}) and bias type ({types[-1].name}) should be the same")
    raise NotImplementedError("convolution is not implemented for 'Bool'")


@lru_cache(512)
def _geometry(
    x: Ints,
    w: Ints,
    bias: Ints | None,
    transposed: bool,
    groups: int,
    itemsize: int,
    stride: int | Ints,
    padding: int | Ints,
    dilation: int | Ints,
    output_padding: int | Ints,
) -> tuple[WindowLayout, Ints, Im2col | Col2im | None, tuple[np.ndarray, ...] | None]:
    """The window layout, the shape of the result, and for small operands how NumPy and a kernel compute it."""
    layout, shape = layout_and_shape(x, w, bias, stride, padding, dilation, transposed, output_padding, groups)
    few: Im2col | Col2im | None = None
    if x[0] * math.prod(w) * math.prod(x[2:]) < kernels.SIZES["convolution"]:
        few = small_col2im(x, w, shape[2:], layout) if transposed else small_im2col(x, layout, itemsize)
    return layout, shape, few, plane_scatter_tables(x, w, shape[2:], layout, transposed)


def layout_and_shape(
    x: Ints,
    w: Ints,
    bias: Ints | None,
    stride: int | Ints = 1,
    padding: int | Ints = 0,
    dilation: int | Ints = 1,
    transposed: bool = False,
    output_padding: int | Ints = 0,
    groups: int = 1,
) -> tuple[WindowLayout, Ints]:
    """The window layout and the shape of the result of a convolution, from the shapes of its operands."""
    if len(w) < 3:
        raise RuntimeError(f"weight should have at least three dimensions, but got weight of size {list(w)}")
    n, spatial, kernel = len(w) - 2, x[2:], w[2:]
    stride, padding, dilation = (
        per_dim(stride, n, "stride"),
        per_dim(padding, n, "padding"),
        per_dim(dilation, n, "dilation"),
    )
    layout = WindowLayout(kernel, spatial, stride, padding, dilation, groups)
    output_padding = per_dim(output_padding, n, "output_padding")
    _check_options(layout, transposed, output_padding)
    _check_shapes(list(x), list(w), bias, transposed, groups)
    if transposed:
        size = tuple(r - 2 * p + z for r, p, z in zip(layout.reach, padding, output_padding))
        if min(size) < 0:
            raise RuntimeError(
                f"Given input size per channel: {_format_sizes(spatial)}. Calculated output size per channel: "
                f"{_format_sizes(size)}. Output size is too small"
            )
        return layout, (x[0], w[1] * groups, *size)
    padded, extent = [i + 2 * p for i, p in zip(spatial, padding)], layout._replace(size=(1,) * n).reach
    if any(e > i for e, i in zip(extent, padded)):
        raise RuntimeError(
            f"Calculated padded input size per channel: {_format_sizes(padded)}. Kernel size: {_format_sizes(extent)}. "
            "Kernel size can't be greater than actual input size"
        )
    size = tuple((i - e) // s + 1 for i, e, s in zip(padded, extent, stride))
    return layout._replace(size=size), (x[0], w[0], *size)


@half.general(alike=True, method=False, linear="input weight, bias")
def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Ints = 1,
    padding: int | Ints = 0,
    dilation: int | Ints = 1,
    transposed: bool = False,
    output_padding: int | Ints = 0,
    groups: int = 1,
) -> Tensor:
    """A convolution of any kind: what ``conv1d`` to ``conv_transpose3d`` are made of.

    Args:
        input: (N, C, spatial...).
        weight: (O, C / groups, kernel...); of a transposed convolution (C, O / groups, kernel...).
        bias: (O,). All three are of one type.
        stride, padding, dilation, output_padding: a number, or one for each spatial dimension.
        groups: the number of groups of channels, each convolved separately.

    Returns:
        (N, O, size...) with ``size = (spatial + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1``;
        transposed, ``(spatial - 1) * stride - 2 * padding + dilation * (kernel - 1) + 1 + output_padding``.

    Raises:
        RuntimeError: for shapes, types or options that do not fit together.

    Derivatives: see the module; that of ``bias`` is the sum over all dimensions but the channels.

    >>> import pullback as torch
    >>> x, w = torch.tensor([[[1.0, 2.0, 3.0]]]), torch.tensor([[[1.0, 10.0]]])
    >>> torch.convolution(x, w, None, [1], [0], [1], False, [0], 1)
    tensor([[[21., 32.]]])
    """
    options = [
        v if v.__class__ is tuple or v.__class__ is int else tuple(v) if hasattr(v, "__len__") else index(v)
        for v in (stride, padding, dilation, output_padding)
    ]
    groups = index(groups)
    layout, shape, few, tables = _geometry(
        input.shape, weight.shape, None if bias is None else bias.shape, transposed, groups, input.itemsize, *options
    )
    d = input.dtype
    if weight.dtype != d or bias is not None and bias.dtype != d or d.kind == "b":
        _refuse_types(input, weight, bias)
    if 0 in shape[2:]:
        return np.zeros(shape, d)
    if d.kind == "i" and count_multiplications(input, weight, layout) >= MANY:
        doubles = products_in_double(input, weight, weight.size)
        if doubles is not None:
            out = convolution.op.impl(*doubles, None, *options[:3], transposed, options[3], groups).astype(d)
            return out if bias is None else out + bias.reshape(-1, *[1] * (out.ndim - 2))
    out, with_bias, exact = None, True, False
    if groups == 1 and is_channels_last(input) and _is_pointwise(layout):
        out, with_bias = _product_of_channels(input, weight, transposed), False
    elif few is not None and kernels.MODE != "always":
        if tables is not None:
            out = kernels.run("conv_tables", "correlate", input.size, input, weight, bias, tables, shape)
        if out is None:
            out, with_bias = few.product(input, weight), False
            exact = transposed or not any(layout.padding)  # no padding's zeros are multiplied by anything
    elif transposed:
        out, with_bias = correlate_transposed(input, weight, shape[2:], layout), False
    else:
        out = kernels.run(
            "convolution", "correlate", count_multiplications(input, weight, layout), input, weight, layout, bias
        )
        if out is None:
            out, with_bias = correlate(input, weight, layout), False
    if not (exact or is_finite(out)):
        by_taps = spread_taps(input, weight, shape[2:], layout) if transposed else correlate_taps(input, weight, layout)
        out, with_bias = by_taps, False
    if bias is not None and not with_bias:
        out += bias.reshape(-1, *[1] * (out.ndim - 2))
    return _match_channels_last(input, weight, out)


def _is_pointwise(layout: WindowLayout) -> bool:
    """Whether each position is a window of its own."""
    return math.prod(layout.kernel) == math.prod(layout.stride) == 1 and not any(layout.padding)


def _pixels(x: np.ndarray) -> np.ndarray:
    """Images of ``channels_last`` as a matrix, a row of channels for each position."""
    return channels_inside(x).reshape(-1, x.shape[1])


def _product_of_channels(x: np.ndarray, w: np.ndarray, transposed: bool) -> np.ndarray:
    """The pointwise convolution of images of ``channels_last``: a matrix product."""
    w = w.reshape(w.shape[:2])
    rows = gemm.product(_pixels(x), w if transposed else w.T, None)
    return channels_outside(rows.reshape(len(x), *x.shape[2:], -1))


def _match_channels_last(x: np.ndarray, w: np.ndarray, out: np.ndarray) -> np.ndarray:
    """The result as ``channels_last`` if the input or the weight is, as in PyTorch; not for volumes in float64."""
    if not is_channels_last(x) and not is_channels_last(w) or x.ndim == 5 and x.dtype == np.float64:
        return out
    return out if is_channels_last(out) else channels_last_copy(out)


@half.general(method=False)
def convolution_weight(
    input: Tensor, output: Tensor, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Tensor:
    """Windows of ``input`` correlated with ``output``: the gradient of a weight, (O, C / groups, kernel...)."""
    layout, few = _weight_geometry(input.shape, output.shape, kernel, stride, padding, dilation, groups)
    if groups == 1 and is_channels_last(input) and is_channels_last(output) and _is_pointwise(layout):
        out = gemm.product(_pixels(output).T, _pixels(input), None).reshape(output.shape[1], input.shape[1], *kernel)
        return out if is_finite(out) else weight_taps(input, output, layout)
    if few is not None and kernels.MODE != "always":
        x, y = input.swapaxes(0, 1), output.swapaxes(0, 1)
        out = kernels.run("conv_tables", "correlate", x.size, x, y, None, few, (len(x), len(y), *kernel))
        if out is not None and is_finite(out):
            return as_contiguous(out.swapaxes(0, 1))
    out = correlate_weight(input, output, layout)
    return out if is_finite(out) else weight_taps(input, output, layout)


@lru_cache(512)
def _weight_geometry(
    x: Ints, y: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> tuple[WindowLayout, Any]:
    """The window layout, and a kernel's tables for few products: the weight gradient is a convolution over the batch
    with stride and dilation exchanged.
    """
    layout, turned = (
        WindowLayout(kernel, y[2:], stride, padding, dilation, groups),
        WindowLayout(y[2:], kernel, dilation, padding, stride),
    )
    return layout, plane_scatter_tables(
        (x[1], x[0], *x[2:]), (y[1], y[0], *y[2:]), kernel, turned, False
    ) if groups == 1 else None


def _convolve(x: Any, w: Any, size: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> Any:
    """The convolution, cropped to ``size``: an output_padding above the stride made x larger than necessary."""
    y = convolution(x, w, None, stride, padding, dilation, False, 0, groups)
    return y if tuple(y.shape[2:]) == tuple(size) else y[(..., *map(slice, size))]


def _convolve_transposed(y: Any, w: Any, size: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> Any:
    """The transposed convolution with a result of ``size``."""
    missing = _output_padding(w.shape[2:], y.shape[2:], stride, padding, dilation, size)
    return convolution(y, w, None, stride, padding, dilation, True, missing, groups)


@lru_cache(512)
def _output_padding(kernel: Ints, given: Ints, stride: Ints, padding: Ints, dilation: Ints, size: Ints) -> Ints:
    """The output_padding with which a transposed convolution has a result of ``size``."""
    reach = WindowLayout(kernel, given, stride, padding, dilation).reach
    return tuple([n + 2 * p - r for n, p, r in zip(size, padding, reach)])


@lru_cache(512)
def _options_per_dim(n: int, *options: Any) -> list[tuple[int, ...]]:
    """Each option as one number for each spatial dimension."""
    return [per_dim(v, n, "") for v in options]


def _input_vjp(
    g: Any, input_shape: Ints, weight: Any, stride: Any, padding: Any, dilation: Any, transposed: bool, groups: int
) -> Any:
    stride, padding, dilation = _options_per_dim(len(input_shape) - 2, *as_tuples(stride, padding, dilation)[:3])
    apply = _convolve if transposed else _convolve_transposed
    return apply(g, weight, input_shape[2:], stride, padding, dilation, groups)


def _weight_vjp(
    g: Any, input: Any, weight_shape: Ints, stride: Any, padding: Any, dilation: Any, transposed: bool, groups: int
) -> Any:
    options = _options_per_dim(len(weight_shape) - 2, *as_tuples(stride, padding, dilation)[:3])
    x, y = (g, input) if transposed else (input, g)
    return convolution_weight(x, y, weight_shape[2:], *options, groups)


convolution.vjp(input=_input_vjp, weight=_weight_vjp, bias=lambda g: sum(g, (0, *range(2, len(g.shape)))))
convolution_weight.vjp(
    input=lambda g, input_shape, output, stride, padding, dilation, groups: _convolve_transposed(
        output, g, input_shape[2:], stride, padding, dilation, groups
    ),
    output=lambda g, input, output_shape, stride, padding, dilation, groups: _convolve(
        input, g, output_shape[2:], stride, padding, dilation, groups
    ),
)


# --- by number of dimensions ------------------------------------------------------------------------------------


def _with_batch(input: Tensor, n: int, name: str) -> Tensor:
    """The input with a batch dimension."""
    rank = len(input._array.shape)
    if rank == n + 2:
        return input
    if rank != n + 1:
        raise RuntimeError(
            f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {name}, "
            f"but got input of size: {list(input.shape)}"
        )
    return unsqueeze(input, 0)


@lru_cache(256)
def _named_padding(name: str, kernel: Ints, stride: int | Ints, dilation: int | Ints) -> tuple[Ints, Any]:
    """The padding named ``"valid"`` or ``"same"``, and how to crop the result (None: not at all)."""
    n = len(kernel)
    if name == "valid":
        return (0,) * n, None
    if name != "same":
        raise with_notes(RuntimeError(f"Invalid padding string: '{name}'"), "It is 'same', 'valid', or numbers.")
    if any(s != 1 for s in per_dim(stride, n, "stride")):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    total = [d * (k - 1) for k, d in zip(kernel, per_dim(dilation, n, "dilation"))]
    # Of an odd total, the larger half is at the end.
    kept = (..., *(slice(t % 2, None) for t in total)) if any(t % 2 for t in total) else None
    return tuple(t - t // 2 for t in total), kept


def _conv(
    n: int, input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any, dilation: Any, groups: int
) -> Tensor:
    kept = None
    if isinstance(padding, str):
        padding, kept = _named_padding(*as_tuples(padding, weight._array.shape[2:], stride, dilation))
    x = _with_batch(input, n, f"conv{n}d")
    out = convolution.op.call_ordered(x, weight, bias, stride, padding, dilation, False, 0, groups)
    if kept is not None:
        out = out[kept]
    return out if x is input else squeeze(out, 0)


def _conv_transpose(
    n: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: int,
    dilation: Any,
) -> Tensor:
    x = _with_batch(input, n, f"conv_transpose{n}d")
    out = convolution.op.call_ordered(x, weight, bias, stride, padding, dilation, True, output_padding, groups)
    if 0 in out.shape[2:]:  # all of it is padding: gradients of 0, which no convolution of g can give
        nothing = [sum(v[..., :0]) for v in (x, weight, bias) if v is not None]
        out = functools.reduce(operator.add, nothing).expand(out.shape)
    return out if x is input else squeeze(out, 0)


@op.composite(method=False)
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Ints = 1,
    padding: int | Ints | str = 0,
    dilation: int | Ints = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution over one dimension; see :func:`convolution`.

    Args:
        input: (N, C, L), or (C, L).
        weight: (O, C / groups, K).
        bias: (O,).
        padding: zeros on both sides; ``"valid"`` is none, ``"same"`` keeps the size (with stride 1).

    >>> import pullback as torch
    >>> torch.conv1d(torch.tensor([[1.0, 2.0, 3.0]]), torch.tensor([[[1.0, 1.0, 1.0]]]), padding="same")
    tensor([[3., 6., 5.]])
    """
    return _conv(1, input, weight, bias, stride, padding, dilation, groups)


@op.composite(method=False)
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Ints = 1,
    padding: int | Ints | str = 0,
    dilation: int | Ints = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution over two dimensions; see :func:`convolution`.

    Args:
        input: (N, C, H, W), or (C, H, W).
        weight: (O, C / groups, KH, KW).
        bias: (O,).
        padding: zeros on both sides; ``"valid"`` is none, ``"same"`` keeps the size (with stride 1).

    >>> import pullback as torch
    >>> torch.conv2d(torch.ones(3, 4, 4), torch.ones(1, 3, 3, 3))
    tensor([[[27., 27.],
             [27., 27.]]])
    """
    return _conv(2, input, weight, bias, stride, padding, dilation, groups)


@op.composite(method=False)
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Ints = 1,
    padding: int | Ints | str = 0,
    dilation: int | Ints = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution over three dimensions; see :func:`convolution`.

    Args:
        input: (N, C, D, H, W), or (C, D, H, W).
        weight: (O, C / groups, KD, KH, KW).
        bias: (O,).
        padding: zeros on both sides; ``"valid"`` is none, ``"same"`` keeps the size (with stride 1).

    >>> import pullback as torch
    >>> torch.conv3d(torch.ones(1, 2, 3, 3, 3), torch.ones(1, 2, 3, 3, 3)).item()
    54.0
    """
    return _conv(3, input, weight, bias, stride, padding, dilation, groups)


@op.composite(method=False)
def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Ints = 1,
    padding: int | Ints = 0,
    output_padding: int | Ints = 0,
    groups: int = 1,
    dilation: int | Ints = 1,
) -> Tensor:
    """Transposed convolution over one dimension: what the gradient of ``conv1d`` is; see :func:`convolution`.

    Args:
        input: (N, C, L), or (C, L).
        weight: (C, O / groups, K).
        bias: (O,).
        output_padding: added to the size of the result, at its end: a stride gives several sizes the same result.

    >>> import pullback as torch
    >>> torch.conv_transpose1d(torch.tensor([[1.0, 2.0]]), torch.tensor([[[1.0, 10.0]]]), stride=2)
    tensor([[ 1., 10.,  2., 20.]])
    """
    return _conv_transpose(1, input, weight, bias, stride, padding, output_padding, groups, dilation)


@op.composite(method=False)
def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Ints = 1,
    padding: int | Ints = 0,
    output_padding: int | Ints = 0,
    groups: int = 1,
    dilation: int | Ints = 1,
) -> Tensor:
    """Transposed convolution over two dimensions: what the gradient of ``conv2d`` is; see :func:`convolution`.

    Args:
        input: (N, C, H, W), or (C, H, W).
        weight: (C, O / groups, KH, KW).
        bias: (O,).
        output_padding: added to the size of the result, at its end: a stride gives several sizes the same result.

    >>> import pullback as torch
    >>> torch.conv_transpose2d(torch.ones(1, 2, 2), torch.ones(1, 1, 2, 2))
    tensor([[[1., 2., 1.],
             [2., 4., 2.],
             [1., 2., 1.]]])
    """
    return _conv_transpose(2, input, weight, bias, stride, padding, output_padding, groups, dilation)


@op.composite(method=False)
def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Ints = 1,
    padding: int | Ints = 0,
    output_padding: int | Ints = 0,
    groups: int = 1,
    dilation: int | Ints = 1,
) -> Tensor:
    """Transposed convolution over three dimensions: what the gradient of ``conv3d`` is; see :func:`convolution`.

    Args:
        input: (N, C, D, H, W), or (C, D, H, W).
        weight: (C, O / groups, KD, KH, KW).
        bias: (O,).
        output_padding: added to the size of the result, at its end: a stride gives several sizes the same result.

    >>> import pullback as torch
    >>> torch.conv_transpose3d(torch.ones(1, 1, 2, 2, 2), torch.ones(1, 3, 2, 2, 2)).shape
    torch.Size([1, 3, 3, 3, 3])
    """
    return _conv_transpose(3, input, weight, bias, stride, padding, output_padding, groups, dilation)


@op.composite(method=False)
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """Convolution of sequences laid out (time, batch, channels).

    Args:
        input: (T, N, C).
        weight: (K, C, O).
        bias: (O,).
        pad: how many zeros stand before and after the sequence.

    >>> import pullback as torch
    >>> torch.conv_tbc(torch.ones(4, 1, 2), torch.ones(3, 2, 5), torch.zeros(5)).shape
    torch.Size([2, 1, 5])
    """
    return permute(conv1d(permute(input, (1, 2, 0)), permute(weight, (2, 1, 0)), bias, padding=pad), (2, 0, 1))
