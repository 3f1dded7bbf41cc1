# Written by scripts/stubs.py.
"""``torch.fft``: discrete Fourier transforms."""

from collections.abc import Sequence
from ..base.device import Layout
from ..base.dtypes import dtype
from ..core.tensor import Tensor
from ..core.tensor_methods import Device, Dims

def fft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The Fourier transform along a dimension, ``X[k] = sum_j x[j] exp(-2πi j k / n)``."""
def fft2(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: Dims = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """`fftn` along two dimensions, which are the last two unless named."""
def fftfreq(
    n: int,
    d: float = 1.0,
    *,
    dtype: dtype | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    requires_grad: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """The frequencies of the elements of `fft`: ``[0, 1, ..., -2, -1] / (n * d)``, where ``d`` is the distance of
    samples."""
def fftn(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: Dims | None = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The Fourier transform along several dimensions."""
def fftshift(input: Tensor, dim: Dims | None = None) -> Tensor:
    """The spectrum with frequency 0 in the middle, along all dimensions or those named."""
def hfft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The Fourier transform, which is real, of a signal whose second half is the first, conjugated and mirrored."""
def hfft2(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: Dims = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """`hfftn` along two dimensions, which are the last two unless named."""
def hfftn(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: Dims | None = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """`hfft` along the last of the dimensions, after `fftn` along the others; ``s`` are the sizes of the result."""
def ifft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of `fft`; its arguments are described there."""
def ifft2(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: Dims = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """`ifftn` along two dimensions, which are the last two unless named."""
def ifftn(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: Dims | None = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of `fftn`; its arguments are described there."""
def ifftshift(input: Tensor, dim: Dims | None = None) -> Tensor:
    """The inverse of `fftshift`."""
def ihfft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of `hfft`; arguments as for `rfft`."""
def ihfft2(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: Dims = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """`ihfftn` along two dimensions, which are the last two unless named."""
def ihfftn(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: Dims | None = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of `hfftn`; arguments as for `rfftn`."""
def irfft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of `rfft`: real numbers, whose transform begins with the input."""
def irfft2(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: Dims = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """`irfftn` along two dimensions, which are the last two unless named."""
def irfftn(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: Dims | None = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of `rfftn`; ``s`` are the sizes of the result, the rest is as for `fftn`."""
def rfft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The first half, ``n // 2 + 1`` elements, of the Fourier transform of real numbers: the others are its
    conjugates."""
def rfft2(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: Dims = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """`rfftn` along two dimensions, which are the last two unless named."""
def rfftfreq(
    n: int,
    d: float = 1.0,
    *,
    dtype: dtype | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    requires_grad: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """The frequencies of the elements of `rfft`: ``[0, 1, ..., n // 2] / (n * d)``, where ``d`` is the distance of
    samples."""
def rfftn(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: Dims | None = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The Fourier transform of real numbers along several dimensions, without the redundant half of the last."""
