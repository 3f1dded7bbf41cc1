"""``torch.fft``: ``fft``, ``rfft``, ``irfft``, ``hfft``, ``fftn``, ``fftfreq``, ``fftshift``, ...

All transforms are made of three linear operations, each in both directions: ``fft_c2c`` (complex to complex),
``fft_r2c`` (real to half spectrum) and ``fft_c2r`` (half spectrum to real). The derivative of each is its adjoint, one
of the three in the other direction: c2c has itself; r2c and c2r have each other, but for elements of the half spectrum
that represent two and count twice. Values come from SciPy's pocketfft, in the precision of the input.

``norm`` decides where the factor ``1 / n`` is: ``"backward"`` (the default) puts it into the inverse transform,
``"forward"`` into the other, and ``"ortho"`` puts its root into both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from operator import index as integer
from os import cpu_count
from typing import Any

import numpy as np

from ..base import dtypes
from ..base.dtypes import FLOATING, OF_NUMPY, as_dtype
from ..core import inplace, op
from ..core.tensor import Tensor
from .complex import is_complex
from .convert import cast
from .create import kind_given, new_leaf, strided_only, write_made
from .flip_roll import roll
from .linalg_checks import numpy_dtype
from .pad import constant_pad_nd
from .view import wrap_dim

# --- the three transforms ---------------------------------------------------------------------------------------

FACTORS = ("one", "root", "n")  # 1, 1 / √n and 1 / n, as pocketfft numbers them


@cache
def _pocketfft() -> Any:
    """SciPy's pocketfft, whose functions take ``(input, axes, forward, factor, out, threads)``.

    Called directly: SciPy's dispatch takes four times as long as a small transform. Without that module (another
    SciPy), :class:`_PublicFFT`.
    """
    try:
        from scipy.fft._pocketfft import pypocketfft
    except ImportError:
        return _PublicFFT
    return pypocketfft


class _PublicFFT:
    """pocketfft's functions in terms of the public ``scipy.fft``."""

    NORMS = ("backward", "ortho", "forward")  # SciPy's names of the factors, forward; inverse: reversed

    @classmethod
    def c2c(cls, x: Any, axes: Any, forward: bool, factor: int, out: None, threads: int) -> Any:
        from scipy.fft import fftn, ifftn

        return (
            fftn(x, None, axes, cls.NORMS[factor], workers=threads)
            if forward
            else ifftn(x, None, axes, cls.NORMS[2 - factor], workers=threads)
        )

    @classmethod
    def r2c(cls, x: Any, axes: Any, forward: bool, factor: int, out: None, threads: int) -> Any:
        from scipy.fft import rfftn

        return rfftn(x, None, axes, cls.NORMS[factor], workers=threads)

    @classmethod
    def c2r(cls, x: Any, axes: Any, last: int, forward: bool, factor: int, out: None, threads: int) -> Any:
        from scipy.fft import hfftn, irfftn

        s = [*(x.shape[d] for d in axes[:-1]), last]
        return (
            hfftn(x, s, axes, cls.NORMS[factor], workers=threads)
            if forward
            else irfftn(x, s, axes, cls.NORMS[2 - factor], workers=threads)
        )


def _node(input: Any, *options: Any) -> str:
    return "FftC2CBackward0" if is_complex(input) else "FftR2CBackward0"


def _threads(x: np.ndarray) -> int:
    """The number of threads for a large array. Each transforms whole lines, so results do not depend on it."""
    return cpu_count() or 1 if x.size >= 2**17 else 1


@op.general(method=False, holomorphic=False, node=_node, linear="input")
def fft_c2c(input: Tensor, dim: Sequence[int], factor: str, forward: bool) -> Tensor:
    """The transform over some dimensions, or its inverse up to the factor; complex, also for real input."""
    if not dim:
        return input.astype(OF_NUMPY[input.dtype].to_complex().numpy)
    return _pocketfft().c2c(input, dim, forward, FACTORS.index(factor), None, _threads(input))


fft_c2c.vjp(input=lambda g, dim, factor, forward: fft_c2c(g, dim, factor, not forward))  # the adjoint


@op.general(method=False, holomorphic=False, linear="input")
def fft_r2c(input: Tensor, dim: Sequence[int], factor: str, forward: bool) -> Tensor:
    """:func:`fft_c2c` of real numbers: only the first ``n // 2 + 1`` elements of the last dimension of ``dim``."""
    if forward:
        return _pocketfft().r2c(input, dim, True, FACTORS.index(factor), None, _threads(input))
    half = fft_r2c.op.impl(input, dim[-1:], factor, True)
    np.conjugate(half, out=half)
    return fft_c2c.op.impl(half, dim[:-1], factor, False) if len(dim) > 1 else half


@op.general(method=False, holomorphic=False, linear="input")
def fft_c2r(input: Tensor, dim: Sequence[int], factor: str, forward: bool, n: int) -> Tensor:
    """The inverse of :func:`fft_r2c` in the other direction, up to the factor, with ``n`` real numbers in the last
    dimension of ``dim``.
    """
    return _pocketfft().c2r(input, dim, n, forward, FACTORS.index(factor), None, _threads(input))


def _weight_halves(spectrum: Any, dim: int, n: int, weight: float) -> Any:
    """Half a spectrum, with a weight for the elements that represent two: all but frequencies 0 and n / 2."""
    return spectrum * _half_weights(numpy_dtype(spectrum), n, weight, len(spectrum.shape) - 1 - dim)


@lru_cache(64)
def _half_weights(spectrum: np.dtype, n: int, weight: float, after: int) -> np.ndarray:
    """The weights of :func:`_weight_halves`, to broadcast with ``after`` trailing dimensions."""
    weights = np.full(n // 2 + 1, weight, OF_NUMPY[spectrum].to_real().numpy)
    weights[0] = 1
    if n % 2 == 0:
        weights[-1] = 1
    return weights.reshape(-1, *(1,) * after)


def _r2c_vjp(g: Any, input_shape: Sequence[int], dim: Sequence[int], factor: str, forward: bool) -> Any:
    n = input_shape[dim[-1]]
    return fft_c2r(_weight_halves(g, dim[-1], n, 0.5), dim, factor, not forward, n)


fft_r2c.vjp(input=_r2c_vjp)
fft_c2r.vjp(
    input=lambda g, dim, factor, forward, n: _weight_halves(fft_r2c(g, dim, factor, not forward), dim[-1], n, 2.0)
)


# --- arguments --------------------------------------------------------------------------------------------------


def _norm_factor(norm: str | None, forward: bool) -> str:
    if norm == "ortho":
        return "root"
    if norm in (None, "backward", "forward"):
        return "n" if forward is (norm == "forward") else "one"
    raise RuntimeError(f'Invalid normalization mode: "{norm}"\n  It is one of "backward", "ortho" and "forward".')


def _as_floating(input: Tensor) -> Tensor:
    """Integers as floats; half precision is refused."""
    if not isinstance(input, Tensor):
        raise TypeError(f"argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    kind = OF_NUMPY[input._array.dtype]
    if kind.category < FLOATING:
        return cast(input, dtypes.get_default_dtype().numpy)
    if kind.itemsize == 2:
        raise RuntimeError(f"Unsupported dtype {dtypes.type_name(kind)}\n  Convert first: x.float().")
    return input


def _require_real(input: Tensor, name: str, what: str) -> Tensor:
    input = _as_floating(input)
    if is_complex(input):
        raise RuntimeError(f"{name} expects a real{what} input tensor, but got {dtypes.type_name(input.dtype)}")
    return input


def _as_complex(input: Tensor) -> Tensor:
    input = _as_floating(input)
    return input if is_complex(input) else cast(input, input.dtype.to_complex().numpy)


def _wrap_dim(input: Tensor, dim: int, name: str) -> int:
    if dim.__class__ is not int:
        raise TypeError(f"fft_{name}(): argument 'dim' must be int, not {type(dim).__name__}")
    ndim = input._array.ndim
    if not ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return wrap_dim(dim, ndim)


def _check_length(n: int, name: str) -> None:
    if n.__class__ is not int:
        raise TypeError(f"fft_{name}(): argument 'n' (position 2) must be int, not {type(n).__name__}")
    if n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")


def _sizes_and_dims(input: Tensor, s: Any, dim: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The dimensions to transform, and the sizes to crop or pad them to."""
    return _parse_sizes_and_dims(
        input._array.shape, *[v if v is None else (v,) if v.__class__ is int else tuple(v) for v in (s, dim)]
    )


@lru_cache(256)
def _parse_sizes_and_dims(shape: tuple[int, ...], s: Any, dim: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    rank = len(shape)
    if dim is not None:
        dims = tuple([wrap_dim(d, rank) for d in dim])
        if len(set(dims)) < len(dims):
            raise RuntimeError("FFT dims must be unique")
        if s is not None and len(s) != len(dims):
            raise RuntimeError("When given, dim and shape arguments must have the same length")
    elif s is not None:
        if len(s) > rank:
            raise RuntimeError(f"Got shape with {len(s)} values but input tensor only has {rank} dimensions.")
        dims = tuple(range(rank - len(s), rank))
    else:
        dims = tuple(range(rank))
    return tuple([shape[d] if n == -1 else integer(n) for d, n in zip(dims, s or [-1] * len(dims))]), dims


def _crop_or_pad(input: Tensor, dims: tuple[int, ...], sizes: tuple[int, ...]) -> Tensor:
    """The input, cropped or zero-padded at the end to these sizes."""
    sides = _padding_to(input._array.shape, dims, sizes)
    return input if sides is None else constant_pad_nd(input, sides)


@lru_cache(256)
def _padding_to(shape: tuple[int, ...], dims: tuple[int, ...], sizes: tuple[int, ...]) -> tuple[int, ...] | None:
    """The ``pad`` argument of that; None if nothing changes."""
    sides = [0] * (2 * len(shape))
    for d, n in zip(dims, sizes):
        _check_length(n, "fft")
        sides[2 * (len(shape) - d) - 1] = n - shape[d]
    return tuple(sides) if any(sides) else None


def _into_out(result: Tensor, out: Any, name: str) -> Tensor:
    """The result, in ``out`` if there is one."""
    if out is None:
        return result
    inplace.check_target(out, f"fft_{name}")
    for kind, test in (("complex", is_complex), ("floating point", lambda x: not is_complex(x))):
        if test(result) and not test(out):
            raise RuntimeError(f"{name} expects a {kind} output tensor, but got {dtypes.type_name(out.dtype)}")
    return inplace.write_out(out, result, check=inplace.castable)


# --- one dimension ----------------------------------------------------------------------------------------------


def _fft_1d(input: Tensor, n: int | None, dim: int, norm: str | None, out: Any, forward: bool, name: str) -> Tensor:
    input = _as_floating(input)
    d = _wrap_dim(input, dim, name)
    if n is not None:
        _check_length(n, name)
    input = _crop_or_pad(input, (d,), (input._array.shape[d] if n is None else n,))
    return _into_out(fft_c2c(input, (d,), _norm_factor(norm, forward), forward), out, name)


def fft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Any = None) -> Tensor:
    """The Fourier transform along a dimension, ``X[k] = sum_j x[j] exp(-2πi j k / n)``.

    Args:
        input: real or complex.
        n: how many elements to transform: the input is cut off or padded with zeros; default all.
        dim: along which.
        norm: None or "backward": as above; "forward": divided by n; "ortho": divided by its root.

    Returns:
        Complex, of the input's precision and shape, but for n elements along ``dim``.

    Raises:
        RuntimeError: for half precision, and for no elements.

    >>> import pullback as torch
    >>> torch.fft.fft(torch.tensor([1.0, 0.0, 1.0, 0.0])).real
    tensor([2., 0., 2., 0.])
    """
    return _fft_1d(input, n, dim, norm, out, True, "fft")


def ifft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Any = None) -> Tensor:
    """The inverse of :func:`fft`; its arguments are described there.

    >>> import pullback as torch
    >>> torch.fft.ifft(torch.tensor([2.0, 0.0, 2.0, 0.0])).real
    tensor([1., 0., 1., 0.])
    """
    return _fft_1d(input, n, dim, norm, out, False, "ifft")


def _rfft_1d(input: Tensor, n: int | None, dim: int, norm: str | None, forward: bool, name: str) -> Tensor:
    input = _require_real(input, name, "")
    d = _wrap_dim(input, dim, name)
    if n is not None:
        _check_length(n, name)
    return fft_r2c(
        _crop_or_pad(input, (d,), (input._array.shape[d] if n is None else n,)),
        (d,),
        _norm_factor(norm, forward),
        forward,
    )


def _irfft_1d(input: Tensor, n: int | None, dim: int, norm: str | None, forward: bool, name: str) -> Tensor:
    input = _as_complex(input)
    d = _wrap_dim(input, dim, name)
    n = 2 * (input._array.shape[d] - 1) if n is None else n
    _check_length(n, name)
    return fft_c2r(_crop_or_pad(input, (d,), (n // 2 + 1,)), (d,), _norm_factor(norm, forward), forward, n)


def rfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Any = None) -> Tensor:
    """The first half, ``n // 2 + 1`` elements, of the Fourier transform of real numbers: the others are its conjugates.

    Arguments as for :func:`fft`, but for the input, which must be real.

    >>> import pullback as torch
    >>> torch.fft.rfft(torch.tensor([1.0, 0.0, 1.0, 0.0]))
    tensor([2.+0.j, 0.+0.j, 2.+0.j])
    """
    return _into_out(_rfft_1d(input, n, dim, norm, True, "rfft"), out, "rfft")


def irfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Any = None) -> Tensor:
    """The inverse of :func:`rfft`: real numbers, whose transform begins with the input.

    Args:
        n: how many numbers the result has; default the even number that is possible. The rest is as for :func:`fft`.

    >>> import pullback as torch
    >>> torch.fft.irfft(torch.tensor([2.0, 0.0, 2.0]))
    tensor([1., 0., 1., 0.])
    """
    return _into_out(_irfft_1d(input, n, dim, norm, False, "irfft"), out, "irfft")


def hfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Any = None) -> Tensor:
    """The Fourier transform, which is real, of a signal whose second half is the first, conjugated and mirrored.

    Args:
        input: the first ``n // 2 + 1`` elements of the signal.
        n: how many numbers the result has; default the even number that is possible. The rest is as for :func:`fft`.

    >>> import pullback as torch
    >>> torch.fft.hfft(torch.tensor([1.0, 0.0, 1.0]))
    tensor([2., 0., 2., 0.])
    """
    return _into_out(_irfft_1d(input, n, dim, norm, True, "hfft"), out, "hfft")


def ihfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Any = None) -> Tensor:
    """The inverse of :func:`hfft`; arguments as for :func:`rfft`.

    >>> import pullback as torch
    >>> torch.fft.ihfft(torch.tensor([2.0, 0.0, 2.0, 0.0]))
    tensor([1.-0.j, 0.-0.j, 1.-0.j])
    """
    return _into_out(_rfft_1d(input, n, dim, norm, False, "ihfft"), out, "ihfft")


# --- several dimensions -----------------------------------------------------------------------------------------


def fftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Any = None) -> Tensor:
    """The Fourier transform along several dimensions.

    Args:
        input: real or complex.
        s: how many elements of each dimension to transform: the input is cut off or padded with zeros; -1 for all.
        dim: along which; default the last ones if there is ``s``, else all.
        norm: as for :func:`fft`, with n the number of all elements that are transformed together.

    >>> import pullback as torch
    >>> torch.fft.fftn(torch.ones(2, 2)).real
    tensor([[4., 0.],
            [0., 0.]])
    """
    return _fft_nd(input, s, dim, norm, out, True, "fftn")


def ifftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Any = None) -> Tensor:
    """The inverse of :func:`fftn`; its arguments are described there.

    >>> import pullback as torch
    >>> torch.fft.ifftn(torch.ones(2, 2)).real
    tensor([[1., 0.],
            [0., 0.]])
    """
    return _fft_nd(input, s, dim, norm, out, False, "ifftn")


def _fft_nd(input: Tensor, s: Any, dim: Any, norm: str | None, out: Any, forward: bool, name: str) -> Tensor:
    input = _as_floating(input)
    sizes, dims = _sizes_and_dims(input, s, dim)
    return _into_out(fft_c2c(_crop_or_pad(input, dims, sizes), dims, _norm_factor(norm, forward), forward), out, name)


def _rfft_nd(input: Tensor, s: Any, dim: Any, norm: str | None, out: Any, forward: bool, name: str) -> Tensor:
    input = _require_real(input, name, "-valued")
    sizes, dims = _sizes_and_dims(input, s, dim)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    return _into_out(fft_r2c(_crop_or_pad(input, dims, sizes), dims, _norm_factor(norm, forward), forward), out, name)


def _irfft_nd(input: Tensor, s: Any, dim: Any, norm: str | None, out: Any, forward: bool, name: str) -> Tensor:
    input = _as_complex(input)
    sizes, dims = _sizes_and_dims(input, s, dim)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    n = sizes[-1]
    if s is None or (s if s.__class__ is int else s[-1]) == -1:
        n = 2 * (n - 1)
    _check_length(n, name)
    return _into_out(
        fft_c2r(_crop_or_pad(input, dims, (*sizes[:-1], n // 2 + 1)), dims, _norm_factor(norm, forward), forward, n),
        out,
        name,
    )


def rfftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Any = None) -> Tensor:
    """The Fourier transform of real numbers along several dimensions, without the redundant half of the last.

    Arguments as for :func:`fftn`, but for the input, which must be real.

    >>> import pullback as torch
    >>> torch.fft.rfftn(torch.ones(2, 4)).shape
    torch.Size([2, 3])
    """
    return _rfft_nd(input, s, dim, norm, out, True, "rfftn")


def irfftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Any = None) -> Tensor:
    """The inverse of :func:`rfftn`; ``s`` are the sizes of the result, the rest is as for :func:`fftn`.

    >>> import pullback as torch
    >>> torch.fft.irfftn(torch.ones(2, 3), s=(2, 5)).shape
    torch.Size([2, 5])
    """
    return _irfft_nd(input, s, dim, norm, out, False, "irfftn")


def hfftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Any = None) -> Tensor:
    """:func:`hfft` along the last of the dimensions, after :func:`fftn` along the others; ``s`` are the sizes of the
    result.

    >>> import pullback as torch
    >>> torch.fft.hfftn(torch.ones(2, 3)).shape
    torch.Size([2, 4])
    """
    return _irfft_nd(input, s, dim, norm, out, True, "hfftn")


def ihfftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Any = None) -> Tensor:
    """The inverse of :func:`hfftn`; arguments as for :func:`rfftn`.

    >>> import pullback as torch
    >>> torch.fft.ihfftn(torch.ones(2, 4)).shape
    torch.Size([2, 3])
    """
    return _rfft_nd(input, s, dim, norm, out, False, "ihfftn")


def _two_dim_variant(several: Callable) -> Callable:
    """The variant of ``several`` that transforms the last two dimensions by default."""

    def transform(
        input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None, *, out: Any = None
    ) -> Tensor:
        return several(input, s, dim, norm, out=out)

    transform.__name__ = transform.__qualname__ = several.__name__[:-1] + "2"
    transform.__doc__ = f":func:`{several.__name__}` along two dimensions, which are the last two unless named."
    return transform


fft2, ifft2, rfft2, irfft2, hfft2, ihfft2 = map(_two_dim_variant, (fftn, ifftn, rfftn, irfftn, hfftn, ihfftn))


# --- frequencies ------------------------------------------------------------------------------------------------


def _frequencies(
    name: str, n: int, d: float, dtype: Any, requires_grad: bool, out: Any, layout: Any, ordered: Any
) -> Tensor:
    strided_only(layout, "arange.start_out")
    dtype, _ = kind_given(out, dtype, None)
    kind = dtypes.get_default_dtype() if dtype is None else as_dtype(dtype)
    if kind.category < FLOATING:
        raise RuntimeError(f"{name} requires a floating point or complex dtype")
    if kind.is_complex:
        raise NotImplementedError(f"\"arange_cpu\" not implemented for '{dtypes.type_name(kind)}'")
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    result = new_leaf((ordered / (n * d)).astype(kind.numpy), requires_grad)
    return result if out is None else write_made(out, result, name)


def fftfreq(
    n: int,
    d: float = 1.0,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    out: Any = None,
) -> Tensor:
    """The frequencies of the elements of :func:`fft`: ``[0, 1, ..., -2, -1] / (n * d)``, where ``d`` is the distance of
    samples.

    >>> import pullback as torch
    >>> torch.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    k = np.arange(n)
    return _frequencies("fftfreq", n, d, dtype, requires_grad, out, layout, np.where(k < (n + 1) // 2, k, k - n))


def rfftfreq(
    n: int,
    d: float = 1.0,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    out: Any = None,
) -> Tensor:
    """The frequencies of the elements of :func:`rfft`: ``[0, 1, ..., n // 2] / (n * d)``, where ``d`` is the distance
    of samples.

    >>> import pullback as torch
    >>> torch.fft.rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])
    """
    return _frequencies("rfftfreq", n, d, dtype, requires_grad, out, layout, np.arange(n // 2 + 1))


def _roll_by_half(input: Tensor, dim: Any, up: int) -> Tensor:
    return roll(input, *_half_sizes(input._array.shape, dim if dim is None or dim.__class__ is int else tuple(dim), up))


@lru_cache(64)
def _half_sizes(shape: tuple[int, ...], dim: Any, up: int) -> tuple[list[int], list[int]]:
    """Half of the sizes of dimensions, rounded down or up; and the dimensions."""
    dims = list(range(len(shape))) if dim is None else [dim] if dim.__class__ is int else list(dim)
    return [(shape[wrap_dim(d, len(shape))] + up) // 2 for d in dims], dims


def fftshift(input: Tensor, dim: Any = None) -> Tensor:
    """The spectrum with frequency 0 in the middle, along all dimensions or those named.

    >>> import pullback as torch
    >>> torch.fft.fftshift(torch.fft.fftfreq(4))
    tensor([-0.5000, -0.2500,  0.0000,  0.2500])
    """
    return _roll_by_half(input, dim, 0)


def ifftshift(input: Tensor, dim: Any = None) -> Tensor:
    """The inverse of :func:`fftshift`.

    >>> import pullback as torch
    >>> torch.fft.ifftshift(torch.tensor([-2, -1, 0, 1]))
    tensor([ 0,  1, -2, -1])
    """
    return _roll_by_half(input, dim, 1)
