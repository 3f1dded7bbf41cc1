"""Convolutions, their transposes, and sliding blocks (``unfold``, ``fold``).

Tensors are laid out (batch, channels, \\*spatial) with one to three spatial dimensions; what PyTorch calls a
convolution is a cross-correlation, the kernel is not flipped. Written for one spatial dimension and one group, with
stride s, padding p and dilation d::

    convolution             y[n, o, j]         = sum over i, k of  x[n, i, j*s + k*d - p] * w[o, i, k]
    the same, transposed    y[n, o, j*s+k*d-p] = sum over i, k of  x[n, i, j] * w[i, o, k]
    convolution_weight      w[o, i, k]         = sum over n, j of  x[n, i, j*s + k*d - p] * y[n, o, j]

All three come from the form <y, x * w>, linear in each of x, w and y: each is the gradient of another, so the three
rules below close under differentiation to any order (Dumoulin and Visin, "A guide to convolution arithmetic for deep
learning", 2016, chapters 2 to 4, for the sizes).

Each is computed as matrix products with the windows of x laid out as columns ("im2col"), one block of outputs after
another in a scratch buffer that stays in the processor's cache. Copying windows for whole batches costs more in
memory traffic than the products themselves. Grouped and depthwise convolutions are batches of such products.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from .. import op
from ..dtypes import OF_NUMPY
from ..tensor import Tensor
from .reduce import sum
from .view import squeeze, unsqueeze

__all__ = ["conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "convolution"]
__all_functional__ = ["conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
                      "fold", "unfold"]  # fmt: skip

BLOCK = 1 << 20  # bytes of columns at a time: about what a core's own cache holds

Ints = Sequence[int]


# --- windows of arrays ------------------------------------------------------------------------------------------


def framed(x: np.ndarray, offset: Ints, size: Ints, fill: Any = 0) -> np.ndarray:
    """``x`` at ``offset`` (which may be negative) in a frame of ``size`` over the last dimensions; not copied where nothing is added."""
    have = x.shape[len(x.shape) - len(size) :]
    part = x[(..., *(slice(max(0, -o), max(0, min(h, f - o))) for o, h, f in zip(offset, have, size)))]
    have = part.shape[len(x.shape) - len(size) :]
    if have == tuple(size):
        return part
    frame = np.full((*x.shape[: len(x.shape) - len(size)], *size), fill, x.dtype)
    frame[(..., *(slice(max(0, o), max(0, o) + h) for o, h in zip(offset, have)))] = part
    return frame


def windows(x: np.ndarray, kernel: Ints, size: Ints, stride: Ints, dilation: Ints) -> np.ndarray:
    """A view (\\*lead, \\*kernel, \\*size) of (\\*lead, \\*spatial): element [.., k, j] is x[.., j * stride + k * dilation]."""
    at = x.ndim - len(kernel)
    steps = x.strides[at:]
    return as_strided(x, (*x.shape[:at], *kernel, *size),
                      (*x.strides[:at], *map(math.prod, zip(steps, dilation)), *map(math.prod, zip(steps, stride))))  # fmt: skip


def reach(size: Ints, kernel: Ints, stride: Ints, dilation: Ints) -> list[int]:
    """How many elements ``size`` windows cover, in each dimension."""
    return [(j - 1) * s + d * (k - 1) + 1 for j, k, s, d in zip(size, kernel, stride, dilation)]


def _blocks(images: int, rows: int, row_bytes: int) -> Iterator[tuple[slice, slice]]:
    """Cut a batch into several images at a time, or into rows of one image, of about ``BLOCK`` bytes."""
    at_once = max(1, BLOCK // max(1, row_bytes))
    if at_once >= rows:
        step = max(1, at_once // max(1, rows))
        yield from ((slice(n, min(n + step, images)), slice(0, rows)) for n in range(0, images, step))
    else:
        yield from ((slice(n, n + 1), slice(r, min(r + at_once, rows))) for n in range(images) for r in range(0, rows, at_once))


def _columns(x: np.ndarray, kernel: Ints, size: Ints, stride: Ints, padding: Ints, dilation: Ints,
             groups: int) -> Iterator[tuple[slice, slice, np.ndarray]]:  # fmt: skip
    """The windows as matrices (groups, channels * kernel, images, positions), for a block of outputs at a time.

    The matrix is overwritten by the next one.
    """
    view = windows(framed(x, padding, reach(size, kernel, stride, dilation)), kernel, size, stride, dilation)
    view = np.moveaxis(view, 0, len(kernel) + 1)  # (channels, *kernel, images, *size)
    depth = x.shape[1] // groups * math.prod(kernel)
    row = groups * depth * math.prod(size[1:])
    scratch = np.empty(0, x.dtype)
    for images, rows in _blocks(x.shape[0], size[0], row * x.itemsize):
        part = view[(*[slice(None)] * (len(kernel) + 1), images, rows)]
        if part.size != depth * groups * part[0].size or math.prod(kernel) > 1:
            if scratch.size < part.size:
                scratch = np.empty(part.size, x.dtype)
            columns = scratch[: part.size].reshape(part.shape)
            np.copyto(columns, part)
            part = columns
        yield images, rows, part.reshape(groups, depth, images.stop - images.start, -1)


# --- the three products on arrays -------------------------------------------------------------------------------


def _correlate(x: np.ndarray, w: np.ndarray, size: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> np.ndarray:
    channels, kernel = w.shape[0], w.shape[2:]
    out = np.empty((x.shape[0], channels, *size), x.dtype)
    w = w.reshape(groups, channels // groups, -1)
    for images, rows, columns in _columns(x, kernel, size, stride, padding, dilation, groups):
        block = out[images, :, rows]
        np.matmul(w, np.moveaxis(columns, 2, 0), out=block.reshape(len(block), groups, channels // groups, -1))
    return out


def _correlate_weight(x: np.ndarray, y: np.ndarray, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> np.ndarray:
    channels, size = y.shape[1], y.shape[2:]
    total = np.zeros((groups, x.shape[1] // groups * math.prod(kernel), channels // groups), x.dtype)
    for images, rows, columns in _columns(x, kernel, size, stride, padding, dilation, groups):
        block = y[images, :, rows].reshape(columns.shape[2], groups, channels // groups, -1)
        block = np.moveaxis(block, 0, 2).reshape(groups, channels // groups, -1)
        total += np.matmul(columns.reshape(*columns.shape[:2], -1), block.swapaxes(1, 2))
    return np.ascontiguousarray(total.swapaxes(1, 2)).reshape(channels, x.shape[1] // groups, *kernel)


def _spread(x: np.ndarray, w: np.ndarray, size: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> np.ndarray:
    """The transposed convolution, with a result of the given size."""
    each, kernel = w.shape[1], w.shape[2:]
    w = w.reshape(groups, -1, each, *kernel)
    # With stride 1 it is a convolution with the flipped kernel, which reads windows of x. The other way, adding to
    # windows of the result, costs about three times as much an element, and touches as many as the result has channels.
    if all(s == 1 for s in stride) and x.shape[1] * math.prod(size) <= 3 * each * groups * math.prod(x.shape[2:]):
        w = np.flip(w, tuple(range(3, w.ndim))).swapaxes(1, 2).reshape(groups * each, -1, *kernel)
        return _correlate(x, w, size, stride, [d * (k - 1) - p for k, d, p in zip(kernel, dilation, padding)], dilation, groups)
    covered = reach(x.shape[2:], kernel, stride, dilation)
    frame = np.zeros((len(x), groups * each, *(max(c, p + n) for c, p, n in zip(covered, padding, size))), x.dtype)
    targets = windows(frame, kernel, x.shape[2:], stride, dilation)
    w = np.ascontiguousarray(w.reshape(*w.shape[:2], -1).swapaxes(1, 2))
    scratch = np.empty(0, x.dtype)
    for images, rows in _blocks(len(x), x.shape[2], w.shape[0] * w.shape[1] * math.prod(x.shape[3:]) * x.itemsize):
        block = x[images, :, rows]
        shape = (len(block), *w.shape[:2], math.prod(block.shape[2:]))
        if scratch.size < math.prod(shape):
            scratch = np.empty(math.prod(shape), x.dtype)
        columns = scratch[: math.prod(shape)].reshape(shape)
        np.matmul(w, block.reshape(len(block), groups, w.shape[2], -1), out=columns)
        columns = columns.reshape(len(block), groups * each, *kernel, *block.shape[2:])
        for tap in np.ndindex(*kernel):
            target = targets[(images, slice(None), *tap, rows)]
            np.add(target, columns[(slice(None), slice(None), *tap)], out=target)
    return framed(frame, [-p for p in padding], size)


# --- the operations ---------------------------------------------------------------------------------------------


def each(value: int | Ints, n: int, name: str) -> tuple[int, ...]:
    """One number for each of ``n`` spatial dimensions."""
    if isinstance(value, (int, np.integer)):
        return (int(value),) * n
    if len(value) not in (1, n):
        raise RuntimeError(f"expected {name} to be a single integer value or a list of {n} values to match the convolution dimensions, "
                           f"but got {name}={list(value)}")  # fmt: skip
    return tuple(map(int, value)) * (n if len(value) == 1 else 1)


def _refuse_unless_meaningful(input: np.ndarray, weight: np.ndarray, bias: np.ndarray | None, stride: Ints, padding: Ints,
                              dilation: Ints, transposed: bool, output_padding: Ints, groups: int) -> None:  # fmt: skip
    kernel, w, x = weight.shape[2:], list(weight.shape), list(input.shape)
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if min(stride) <= 0:
        raise RuntimeError("non-positive stride is not supported")
    if min(padding) < 0:
        raise RuntimeError("negative padding is not supported")
    if min(dilation) <= 0:
        raise RuntimeError(f"dilation should be greater than zero, but got {list(dilation)}")
    if min(output_padding) < 0:
        raise RuntimeError("negative output_padding is not supported")
    if min(kernel) == 0:
        raise RuntimeError(f"weight should have at least one element in each spatial dimension, but got weight of size {w}")
    if input.ndim != weight.ndim:
        raise RuntimeError(f"Expected {weight.ndim}-dimensional input for {weight.ndim}-dimensional weight {w}, "
                           f"but got {input.ndim}-dimensional input of size {x} instead")  # fmt: skip
    if w[0] < groups:
        raise RuntimeError(f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size {w} instead")
    if w[0] % groups:
        raise RuntimeError(f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, "
                           f"but got weight of size [{w}] instead")  # fmt: skip
    given = "transposed=1" if transposed else f"groups={groups}"
    channels = w[0] if transposed else w[1] * groups
    if x[1] != channels:
        raise RuntimeError(f"Given {given}, weight of size {w}, expected input{x} to have {channels} channels, but got {x[1]} channels instead")
    features = w[1] * groups if transposed else w[0]
    if bias is not None and bias.shape != (features,):
        raise RuntimeError(f"Given {'transposed=1, ' if transposed else ''}weight of size {w}, expected bias to be 1-dimensional with "
                           f"{features} elements, but got bias of size {list(bias.shape)} instead")  # fmt: skip
    kinds = [op.type_name(OF_NUMPY[a.dtype]) for a in (input, weight)]
    if kinds[0] != kinds[1]:
        raise RuntimeError(f"expected scalar type {kinds[0]} but found {kinds[1]}\n  The input and the weight of a convolution must have one type.")
    if bias is not None and bias.dtype != input.dtype:
        raise RuntimeError(f"Input type ({input.dtype}) and bias type ({bias.dtype}) should be the same")
    if input.dtype == bool:
        raise NotImplementedError("convolution is not implemented for 'Bool'")
    if transposed and any(z >= max(s, d) for z, s, d in zip(output_padding, stride, dilation)):
        raise RuntimeError("output padding must be smaller than either stride or dilation, but got "
                           f"output_padding={list(output_padding)}, stride={list(stride)}, dilation={list(dilation)}")  # fmt: skip


def _by(sizes: Ints) -> str:
    return f"({' x '.join(map(str, sizes))})"


@op.general(method=False)
def convolution(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | Ints = 1, padding: int | Ints = 0,
                dilation: int | Ints = 1, transposed: bool = False, output_padding: int | Ints = 0, groups: int = 1) -> Tensor:  # fmt: skip
    """A convolution of any kind: what ``conv1d`` to ``conv_transpose3d`` call.

    Args:
        input: (N, C, \\*spatial).
        weight: (O, C / groups, \\*kernel); where ``transposed`` (C, O / groups, \\*kernel).
        bias: (O,).
        stride, padding, dilation, output_padding: a number, or one for each spatial dimension.
        groups: into how many parts, unaware of each other, the channels fall.

    Returns:
        (N, O, \\*size), where size is ``(spatial + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1``;
        where ``transposed`` it is ``(spatial - 1) * stride - 2 * padding + dilation * (kernel - 1) + 1 + output_padding``.

    Raises:
        RuntimeError: for shapes, types or options that do not fit together.

    Derivatives: see the module; that of ``bias`` is the sum over all but the channels.

    >>> import pullback as torch
    >>> x, w = torch.tensor([[[1.0, 2.0, 3.0]]]), torch.tensor([[[1.0, 10.0]]])
    >>> torch.convolution(x, w, None, [1], [0], [1], False, [0], 1)
    tensor([[[21., 32.]]])
    """
    n = weight.ndim - 2
    stride, padding, dilation = each(stride, n, "stride"), each(padding, n, "padding"), each(dilation, n, "dilation")
    output_padding = each(output_padding, n, "output_padding")
    _refuse_unless_meaningful(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
    spatial, kernel, dtype = input.shape[2:], weight.shape[2:], input.dtype
    extent = reach((1,) * n, kernel, stride, dilation)
    if transposed:
        size = [(i - 1) * s - 2 * p + e + z for i, s, p, e, z in zip(spatial, stride, padding, extent, output_padding)]
        if min(size) < 0:
            raise RuntimeError(f"Given input size per channel: {_by(spatial)}. Calculated output size per channel: {_by(size)}. "
                               "Output size is too small")  # fmt: skip
    else:
        padded = [i + 2 * p for i, p in zip(spatial, padding)]
        if any(e > i for e, i in zip(extent, padded)):
            raise RuntimeError(f"Calculated padded input size per channel: {_by(padded)}. Kernel size: {_by(extent)}. "
                               "Kernel size can't be greater than actual input size")  # fmt: skip
        size = [(i - e) // s + 1 for i, e, s in zip(padded, extent, stride)]
    if OF_NUMPY[dtype].is_floating_point and dtype.itemsize == 2:  # summed in float32
        input, weight = input.astype(np.float32), weight.astype(np.float32)
    out = (_spread if transposed else _correlate)(input, weight, size, stride, padding, dilation, groups)
    if bias is not None:
        out += bias.reshape(-1, *[1] * n)
    return out.astype(dtype, copy=False)


@op.general(method=False)
def convolution_weight(input: Tensor, output: Tensor, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> Tensor:
    """The gradient of a convolution's weight: windows of ``input`` correlated with ``output``, (O, C / groups, \\*kernel)."""
    dtype = input.dtype
    if OF_NUMPY[dtype].is_floating_point and dtype.itemsize == 2:
        input, output = input.astype(np.float32), output.astype(np.float32)
    return _correlate_weight(input, output, kernel, stride, padding, dilation, groups).astype(dtype, copy=False)


def _convolved(x: Any, w: Any, size: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> Any:
    """A convolution, cut to ``size`` (it is larger where an output_padding exceeded the stride)."""
    y = convolution(x, w, None, stride, padding, dilation, False, 0, groups)
    return y if y.shape[2:] == tuple(size) else y[(..., *map(slice, size))]


def _transposed(y: Any, w: Any, size: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> Any:
    """The transposed convolution with a result of ``size``."""
    smallest = [n - 2 * p for n, p in zip(reach(y.shape[2:], w.shape[2:], stride, dilation), padding)]
    return convolution(y, w, None, stride, padding, dilation, True, [n - m for n, m in zip(size, smallest)], groups)


def _of_input(g: Any, input_shape: Ints, weight: Any, stride: Any, padding: Any, dilation: Any, transposed: bool, groups: int) -> Any:
    n = len(input_shape) - 2
    options = each(stride, n, ""), each(padding, n, ""), each(dilation, n, ""), groups
    return (_convolved if transposed else _transposed)(g, weight, input_shape[2:], *options)


def _of_weight(g: Any, input: Any, weight_shape: Ints, stride: Any, padding: Any, dilation: Any, transposed: bool, groups: int) -> Any:
    n = len(weight_shape) - 2
    x, y = (g, input) if transposed else (input, g)
    return convolution_weight(x, y, weight_shape[2:], each(stride, n, ""), each(padding, n, ""), each(dilation, n, ""), groups)


convolution.vjp(input=_of_input, weight=_of_weight, bias=lambda g: sum(g, (0, *range(2, len(g.shape)))))
convolution_weight.vjp(
    input=lambda g, output, input_shape, stride, padding, dilation, groups: _transposed(
        output, g, input_shape[2:], stride, padding, dilation, groups),
    output=lambda g, input, output_shape, stride, padding, dilation, groups: _convolved(
        input, g, output_shape[2:], stride, padding, dilation, groups),
)  # fmt: skip


# --- by number of dimensions ------------------------------------------------------------------------------------


def _batched(name: str, input: Tensor, n: int) -> tuple[Tensor, bool]:
    """The input with a batch dimension, and whether it came without."""
    if len(input.shape) not in (n + 1, n + 2):
        raise RuntimeError(f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {name}, but got input of size: {list(input.shape)}")
    alone = len(input.shape) == n + 1
    return (unsqueeze(input, 0) if alone else input), alone


def _conv(n: int, input: Tensor, weight: Tensor, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Tensor:
    input, alone = _batched(f"conv{n}d", input, n)
    extra = [0] * n
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise RuntimeError(f"Invalid padding string: '{padding}'\n  It is 'same', 'valid', a number, or one for each dimension.")
        if padding == "same" and any(s != 1 for s in each(stride, n, "stride")):
            raise RuntimeError("padding='same' is not supported for strided convolutions")
        total = [d * (k - 1) if padding == "same" else 0 for k, d in zip(weight.shape[2:], each(dilation, n, "dilation"))]
        padding, extra = [(t + 1) // 2 for t in total], [t % 2 for t in total]
    out = convolution(input, weight, bias, stride, padding, dilation, False, 0, groups)
    if any(extra):  # an odd padding puts its larger half behind
        out = out[(..., *(slice(e, None) for e in extra))]
    return squeeze(out, 0) if alone else out


def _conv_transpose(n: int, input: Tensor, weight: Tensor, bias: Any, stride: Any, padding: Any, output_padding: Any, groups: int,
                    dilation: Any) -> Tensor:  # fmt: skip
    input, alone = _batched(f"conv_transpose{n}d", input, n)
    out = convolution(input, weight, bias, stride, padding, dilation, True, output_padding, groups)
    return squeeze(out, 0) if alone else out


@op.composite(method=False)
def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | Ints = 1, padding: int | Ints | str = 0,
           dilation: int | Ints = 1, groups: int = 1) -> Tensor:  # fmt: skip
    """Convolution over one dimension; see :func:`convolution`.

    Args:
        input: (N, C, L), or (C, L).
        weight: (O, C / groups, K).
        bias: (O,).
        padding: zeros on both sides; ``"valid"`` is none, ``"same"`` keeps the size (for stride 1).

    >>> import pullback as torch
    >>> torch.conv1d(torch.tensor([[1.0, 2.0, 3.0]]), torch.tensor([[[1.0, 1.0, 1.0]]]), padding="same")
    tensor([[3., 6., 5.]])
    """
    return _conv(1, input, weight, bias, stride, padding, dilation, groups)


@op.composite(method=False)
def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | Ints = 1, padding: int | Ints | str = 0,
           dilation: int | Ints = 1, groups: int = 1) -> Tensor:  # fmt: skip
    """Convolution over two dimensions; see :func:`convolution`.

    Args:
        input: (N, C, H, W), or (C, H, W).
        weight: (O, C / groups, KH, KW).
        bias: (O,).
        padding: zeros on both sides; ``"valid"`` is none, ``"same"`` keeps the size (for stride 1).

    >>> import pullback as torch
    >>> torch.conv2d(torch.ones(1, 3, 4, 4), torch.ones(2, 3, 3, 3))
    tensor([[[[27., 27.],
              [27., 27.]],
    <BLANKLINE>
             [[27., 27.],
              [27., 27.]]]])
    """
    return _conv(2, input, weight, bias, stride, padding, dilation, groups)


@op.composite(method=False)
def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | Ints = 1, padding: int | Ints | str = 0,
           dilation: int | Ints = 1, groups: int = 1) -> Tensor:  # fmt: skip
    """Convolution over three dimensions; see :func:`convolution`.

    Args:
        input: (N, C, D, H, W), or (C, D, H, W).
        weight: (O, C / groups, KD, KH, KW).
        bias: (O,).
        padding: zeros on both sides; ``"valid"`` is none, ``"same"`` keeps the size (for stride 1).

    >>> import pullback as torch
    >>> torch.conv3d(torch.ones(1, 2, 3, 3, 3), torch.ones(1, 2, 3, 3, 3)).item()
    54.0
    """
    return _conv(3, input, weight, bias, stride, padding, dilation, groups)


@op.composite(method=False)
def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | Ints = 1, padding: int | Ints = 0,
                     output_padding: int | Ints = 0, groups: int = 1, dilation: int | Ints = 1) -> Tensor:  # fmt: skip
    """Transposed convolution over one dimension: the gradient of ``conv1d`` as a function; see :func:`convolution`.

    Args:
        input: (N, C, L), or (C, L).
        weight: (C, O / groups, K).
        bias: (O,).
        output_padding: added to the size of the result, at the end: several input sizes give one output size.

    >>> import pullback as torch
    >>> torch.conv_transpose1d(torch.tensor([[1.0, 2.0]]), torch.tensor([[[1.0, 10.0]]]), stride=2)
    tensor([[ 1., 10.,  2., 20.]])
    """
    return _conv_transpose(1, input, weight, bias, stride, padding, output_padding, groups, dilation)


@op.composite(method=False)
def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | Ints = 1, padding: int | Ints = 0,
                     output_padding: int | Ints = 0, groups: int = 1, dilation: int | Ints = 1) -> Tensor:  # fmt: skip
    """Transposed convolution over two dimensions: the gradient of ``conv2d`` as a function; see :func:`convolution`.

    Args:
        input: (N, C, H, W), or (C, H, W).
        weight: (C, O / groups, KH, KW).
        bias: (O,).
        output_padding: added to the size of the result, at the end: several input sizes give one output size.

    >>> import pullback as torch
    >>> torch.conv_transpose2d(torch.ones(1, 1, 2, 2), torch.ones(1, 1, 2, 2))
    tensor([[[[1., 2., 1.],
              [2., 4., 2.],
              [1., 2., 1.]]]])
    """
    return _conv_transpose(2, input, weight, bias, stride, padding, output_padding, groups, dilation)


@op.composite(method=False)
def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | Ints = 1, padding: int | Ints = 0,
                     output_padding: int | Ints = 0, groups: int = 1, dilation: int | Ints = 1) -> Tensor:  # fmt: skip
    """Transposed convolution over three dimensions: the gradient of ``conv3d`` as a function; see :func:`convolution`.

    Args:
        input: (N, C, D, H, W), or (C, D, H, W).
        weight: (C, O / groups, KD, KH, KW).
        bias: (O,).
        output_padding: added to the size of the result, at the end: several input sizes give one output size.

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
        pad: zeros before and after the sequence.

    >>> import pullback as torch
    >>> torch.conv_tbc(torch.ones(4, 1, 2), torch.ones(3, 2, 5), torch.zeros(5)).shape
    torch.Size([2, 1, 5])
    """
    return permute(conv1d(permute(input, (1, 2, 0)), permute(weight, (2, 1, 0)), bias, padding=pad), (2, 0, 1))
