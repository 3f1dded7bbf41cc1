"""``hann_window``, ``hamming_window``, ``blackman_window``, ``bartlett_window``, ``kaiser_window``.

:mod:`pullback.signal.windows` has more. Each takes the number of values, and ``periodic``: one more value is computed
and the last one dropped (the opposite of ``sym`` there), and ``dtype``, a floating type, ``layout``, ``device`` and
``requires_grad``.
"""

from __future__ import annotations

from typing import Any

from ..base import dtypes
from ..base.dtypes import as_dtype
from ..core.tensor import Tensor
from . import signal_windows as windows
from .create import new_leaf
from .values.meta import Meta, on_meta

__all__ = ["bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window"]


def _window(
    name: str,
    make: Any,
    window_length: int,
    periodic: bool,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **options: Any,
) -> Tensor:
    kind = dtypes.get_default_dtype() if dtype is None else as_dtype(dtype)
    if not kind.is_floating_point:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {kind}")
    if window_length < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={window_length}")
    options.pop("pin_memory", None)
    if on_meta(device):
        return new_leaf(Meta((window_length,), kind.numpy), requires_grad, device=device)
    values = make(window_length, sym=not periodic, dtype=dtypes.float64, device=device, **options)
    return new_leaf(values._array.astype(kind.numpy), requires_grad)


def hann_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """``(1 - cos(2π t)) / 2``.

    >>> import pullback as torch
    >>> torch.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _window("hann_window", windows.hann, window_length, periodic, **options)


def hamming_window(
    window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, **options: Any
) -> Tensor:
    """``α - β cos(2π t)``.

    >>> import pullback as torch
    >>> torch.hamming_window(3, False)
    tensor([0.0800, 1.0000, 0.0800])
    """
    return _window("hamming_window", windows.general_cosine, window_length, periodic, a=[alpha, beta], **options)


def blackman_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """``0.42 - 0.5 cos(2π t) + 0.08 cos(4π t)``.

    >>> import pullback as torch
    >>> torch.blackman_window(5, False)[2]
    tensor(1.)
    """
    return _window("blackman_window", windows.blackman, window_length, periodic, **options)


def bartlett_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """``1 - |2 t - 1|``, a triangle.

    >>> import pullback as torch
    >>> torch.bartlett_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _window("bartlett_window", windows.bartlett, window_length, periodic, **options)


def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, **options: Any) -> Tensor:
    """``I₀(β √(1 - (2t - 1)²)) / I₀(β)``.

    >>> import pullback as torch
    >>> torch.kaiser_window(3, beta=0.0)
    tensor([1., 1., 1.])
    """
    return _window("kaiser_window", windows.kaiser, window_length, periodic, beta=beta, **options)
