"""``stft`` and ``istft``: the short-time Fourier transform and its inverse.

D. W. Griffin and J. S. Lim, "Signal estimation from modified short-time Fourier transform" (IEEE Trans. ASSP 32, 1984):
the frames, each times the window, are added up again and divided by the sum of the squared windows.
"""

from __future__ import annotations

import warnings
from math import sqrt
from typing import Any

import numpy as np

from ..base import dtypes
from ..base.dtypes import FLOATING
from ..base.errors import with_notes
from ..core import op, record
from ..core.tensor import Tensor
from .complex import is_complex, view_as_real
from .fft import fft, ifft, irfft, rfft
from .pad import constant_pad_nd, pad
from .slicing_views import narrow, unfold, unfold_backward
from .view import expand, reshape, transpose, unsqueeze

__all__ = ["istft", "stft"]


def _padded_window(window: Tensor | None, like: Tensor, win_length: int, n_fft: int) -> Any:
    """The window (or ones), zero-padded on both sides to ``n_fft``; None if it is all ones."""
    if window is None:
        if win_length == n_fft:
            return None
        window = record.wrap(np.ones(win_length, like.dtype.to_real().numpy))
    left = (n_fft - win_length) // 2
    return window if win_length == n_fft else constant_pad_nd(window, (left, n_fft - win_length - left))


@op.composite
def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """Fourier transforms of overlapping frames, ``X[k, t] = sum_j window[j] input[t hop_length + j] exp(-2πi j k /
    n_fft)``.

    Args:
        input: real or complex, ``(L,)`` or ``(B, L)``.
        n_fft: how long a frame is.
        hop_length: the distance of frames; default ``n_fft // 4``.
        win_length: how long the window is (in the middle of a frame); default ``n_fft``.
        window: ``(win_length,)``; default ones.
        center: frame t has ``input[t hop_length]`` in its middle; the ends are padded as ``pad_mode`` says.
        normalized: divide by the root of ``n_fft``.
        onesided: leave out the redundant half; default if input and window are real.
        return_complex: must be given for real input; False (deprecated) returns pairs of real numbers, in a last
            dimension.
        align_to_window: without ``center``, pad so that the first window, not the first frame, begins with the input.

    Returns:
        ``(B, n, T)`` with ``n = n_fft // 2 + 1`` (or ``n_fft``) and T frames.

    Raises:
        RuntimeError: for other shapes, and lengths that do not fit.

    >>> import pullback as torch
    >>> torch.stft(torch.ones(8), 4, window=torch.hann_window(4), return_complex=True).shape
    torch.Size([3, 9])
    """
    if center:
        if align_to_window is not None:
            raise RuntimeError("stft align_to_window should only be set when center = false")
        shape = input._array.shape
        padded = pad(reshape(input, (1,) * (3 - len(shape)) + shape), (n_fft // 2, n_fft // 2), pad_mode)
        input = reshape(padded, padded._array.shape[-len(shape) :])
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    n = input._array.shape[-1] if input.ndim else 0
    complex = is_complex(input) or window is not None and is_complex(window)
    if return_complex is None and not complex:
        raise with_notes(
            RuntimeError(
                "stft requires the return_complex parameter be given for real inputs, and will further require that "
                "return_complex=True in a future PyTorch release."
            ),
            "Say return_complex=True.",
        )
    wrong = ""
    if input.dtype.category < FLOATING:
        wrong = "a tensor of floating point or complex values"
    elif input.ndim not in (1, 2):
        wrong = "a 1D or 2D tensor"
    elif not 0 < n_fft <= n:
        wrong = f"0 < n_fft < {n}, but got n_fft={n_fft}"
    elif hop <= 0:
        wrong = f"hop_length > 0, but got hop_length={hop}"
    elif not 0 < length <= n_fft:
        wrong = f"0 < win_length <= n_fft, but got win_length={length}"
    elif window is not None and window._array.shape != (length,):
        wrong = (
            f"a 1D window tensor of size equal to win_length={length}, but got window with size {list(window.shape)}"
        )
    if wrong:
        raise RuntimeError(
            f"stft(torch.{dtypes.type_name(input.dtype)}Tensor{list(input.shape)}, n_fft={n_fft}, hop_length={hop}, "
            f"win_length={length}, window={None if window is None else list(window.shape)}, "
            f"normalized={int(normalized)}, onesided={onesided}, return_complex={return_complex}) : expected {wrong}"
        )
    if onesided and complex:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    if align_to_window:
        input = constant_pad_nd(input, [(n_fft - length) // 2] * 2)
    frames, centered = unfold(input, -1, n_fft, hop), _padded_window(window, input, length, n_fft)
    if centered is not None:
        frames = frames * centered
    norm = "ortho" if normalized else None
    half = not complex if onesided is None else onesided
    result = transpose(rfft(frames, norm=norm) if half else fft(frames, norm=norm), -1, -2)
    return view_as_real(result) if return_complex is False else result


@op.composite
def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The inverse of :func:`stft`: the signal whose frames are nearest to these in the least squares sense.

    Args:
        input: complex, ``(n, T)`` or ``(B, n, T)``, with ``n = n_fft // 2 + 1`` if ``onesided``, else ``n_fft``.
        onesided: default if ``n`` is not ``n_fft``.
        length: of the result, which is cut off or padded with zeros; default what the frames cover, without the padding
            of ``center``.
        return_complex: for a complex signal. The others are as for :func:`stft`, and must be the same.

    Returns:
        ``(length,)`` or ``(B, length)``.

    Raises:
        RuntimeError: if the windows are all zero at some element, and for shapes and lengths that do not fit.

    >>> import pullback as torch
    >>> x, window = torch.arange(8.0), torch.hann_window(4)
    >>> torch.istft(torch.stft(x, 4, window=window, return_complex=True), 4, window=window).round()
    tensor([0., 1., 2., 3., 4., 5., 6., 7.])
    """
    hop = n_fft // 4 if hop_length is None else hop_length
    size = n_fft if win_length is None else win_length
    kind = f"{dtypes.type_name(input.dtype)}{list(input.shape)}"
    call = f"istft({kind}, n_fft={n_fft}, hop_length={hop}, win_length={size}) : "
    if not is_complex(input):
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True."
        )
    if not input.numel():
        raise RuntimeError(call + "input tensor cannot be empty.")
    if input.ndim not in (2, 3):
        raise RuntimeError(call + f"expected a tensor with 3 or 4 dimensions, but got {input.ndim + 1}")
    bins, frames = input.shape[-2:]
    onesided = bins != n_fft if onesided is None else onesided
    if onesided and bins != n_fft // 2 + 1:
        raise RuntimeError(
            call
            + f"expected the frequency dimension (3rd to the last) of the input tensor to match n_fft / 2 + 1 when "
            f"onesided=True, but got {bins}"
        )
    if not onesided and bins != n_fft:
        raise RuntimeError(
            call + f"expected the frequency dimension (3rd to the last) of the input tensor to match n_fft when "
            f"onesided=False, but got {bins}"
        )
    if not 0 < hop <= size:
        raise RuntimeError(call + "expected 0 < hop_length <= win_length")
    if not 0 < size <= n_fft:
        raise RuntimeError(call + "expected 0 < win_length <= n_fft")
    if window is not None and tuple(window.shape) != (size,):
        raise RuntimeError(call + "Invalid window shape. window has to be 1D and length of `win_length`")
    if return_complex and onesided:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    if not return_complex and window is not None and is_complex(window):
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    spectra = transpose(input, -1, -2)
    if normalized:
        spectra = spectra * sqrt(n_fft)
    if return_complex:
        pieces = ifft(spectra)
    else:
        pieces = irfft(spectra if onesided else narrow(spectra, -1, 0, n_fft // 2 + 1), n_fft)
    centered = _padded_window(window, input, size, n_fft)
    if centered is None:
        centered = record.wrap(np.ones(n_fft, pieces.dtype.to_real().numpy))
    covered = n_fft + hop * (frames - 1)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else covered - start
    kept = min(end, covered) - start
    signal = narrow(unfold_backward(pieces * centered, (*input.shape[:-2], covered), -1, n_fft, hop), -1, start, kept)
    weights = narrow(
        unfold_backward(expand(unsqueeze(centered * centered, 0), (frames, n_fft)), (covered,), -1, n_fft, hop),
        0,
        start,
        kept,
    )
    if kept and bool(abs(weights).min() < 1e-11):
        raise with_notes(
            RuntimeError(call + "window overlap add min: 1"), "The windows do not cover every element of the signal."
        )
    signal = signal / weights
    if end > covered:
        warnings.warn(
            "The length of signal is shorter than the length parameter. Result is being padded with zeros in the tail. "
            "Please check your center and hop_length settings.",
            stacklevel=2,
        )
        signal = constant_pad_nd(signal, (0, end - covered))
    return signal
