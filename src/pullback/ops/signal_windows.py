"""``torch.signal.windows``: ``hann``, ``hamming``, ``blackman``, ``gaussian``, ``kaiser``, ...

Each function takes the number of values ``M`` and

- ``sym``: a symmetric window; else one more value is computed and the last one dropped, which makes a window whose
  periodic repetition is smooth, for spectral analysis;
- ``dtype`` (float32 or float64, default the default float type), ``layout``, ``device`` and ``requires_grad``.

Below, t goes from 0 at the first value of the symmetric window to 1 at the last. Formulas: F. J. Harris, "On the use of
windows for harmonic analysis with the discrete Fourier transform" (Proc. IEEE 66, 1978).

>>> import pullback as torch
>>> torch.signal.windows.hann(5)
tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..base import dtypes
from ..base.device import check_device, strided
from ..base.dtypes import as_dtype
from ..core.tensor import Tensor
from .create import new_leaf

__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]


def _window(name: str, M: int, options: dict[str, Any], formula: Callable[[np.ndarray, int], Any]) -> Tensor:
    """A window whose values are ``formula(k, n)``, where k counts the n values of the symmetric window."""
    sym, dtype, layout, device, requires_grad = (
        options.pop(k, default)
        for k, default in (
            ("sym", True),
            ("dtype", None),
            ("layout", strided),
            ("device", None),
            ("requires_grad", False),
        )
    )
    if options:
        raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(options))}'")
    check_device(device)
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if layout is not strided:
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    kind = dtypes.get_default_dtype() if dtype is None else as_dtype(dtype)
    if kind not in (dtypes.float32, dtypes.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {kind}")
    n = M if sym or M <= 1 else M + 1
    values = np.asarray(formula(np.arange(M, dtype=np.float64), n))
    return new_leaf(values.astype(kind.numpy), requires_grad)


def general_cosine(M: int, *, a: Iterable[float], **options: Any) -> Tensor:
    """``sum_i (-1)ⁱ a[i] cos(2π i t)``.

    >>> import pullback as torch
    >>> torch.signal.windows.general_cosine(3, a=[0.5, 0.5])
    tensor([0., 1., 0.])
    """
    return _cosines("general_cosine", M, a, options)


def _cosines(name: str, M: int, a: Iterable[float], options: dict[str, Any]) -> Tensor:
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    weights = [(-1) ** i * w for i, w in enumerate(a)]
    if not weights:
        raise ValueError("Coefficients cannot be empty")

    def formula(k: np.ndarray, n: int) -> np.ndarray:
        if n == 1:
            return np.ones_like(k)
        return np.add.reduce([w * np.cos(2 * np.pi * i * k / (n - 1)) for i, w in enumerate(weights)])

    return _window(name, M, options, formula)


def general_hamming(M: int, *, alpha: float = 0.54, **options: Any) -> Tensor:
    """``α - (1 - α) cos(2π t)``.

    >>> import pullback as torch
    >>> torch.signal.windows.general_hamming(3, alpha=0.5)
    tensor([0., 1., 0.])
    """
    return _cosines("general_hamming", M, [alpha, 1 - alpha], options)


def hamming(M: int, **options: Any) -> Tensor:
    """``0.54 - 0.46 cos(2π t)``.

    >>> import pullback as torch
    >>> torch.signal.windows.hamming(3)
    tensor([0.0800, 1.0000, 0.0800])
    """
    return _cosines("hamming", M, [0.54, 0.46], options)


def hann(M: int, **options: Any) -> Tensor:
    """``(1 - cos(2π t)) / 2``.

    >>> import pullback as torch
    >>> torch.signal.windows.hann(4, sym=False)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _cosines("hann", M, [0.5, 0.5], options)


def blackman(M: int, **options: Any) -> Tensor:
    """``0.42 - 0.5 cos(2π t) + 0.08 cos(4π t)``.

    >>> import pullback as torch
    >>> torch.signal.windows.blackman(5)[2]
    tensor(1.)
    """
    return _cosines("blackman", M, [0.42, 0.5, 0.08], options)


def nuttall(M: int, **options: Any) -> Tensor:
    """The four-term window of A. H. Nuttall (IEEE Trans. ASSP 29, 1981), a sum of cosines.

    >>> import pullback as torch
    >>> torch.signal.windows.nuttall(5)[2]
    tensor(1.)
    """
    return _cosines("nuttall", M, [0.3635819, 0.4891775, 0.1365995, 0.0106411], options)


def bartlett(M: int, **options: Any) -> Tensor:
    """``1 - |2 t - 1|``, a triangle.

    >>> import pullback as torch
    >>> torch.signal.windows.bartlett(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    return _window("bartlett", M, options, lambda k, n: 1 - np.abs(2 * k / (n - 1) - 1) if n > 1 else np.ones_like(k))


def cosine(M: int, **options: Any) -> Tensor:
    """``sin(π (k + 1/2) / M)`` for the values k = 0, 1, ..., M - 1.

    >>> import pullback as torch
    >>> torch.signal.windows.cosine(3)
    tensor([0.5000, 1.0000, 0.5000])
    """
    return _window("cosine", M, options, lambda k, n: np.sin(np.pi * (k + 0.5) / n))


def gaussian(M: int, *, std: float = 1.0, **options: Any) -> Tensor:
    """``exp(-d² / (2 std²))``, with d the distance from the middle.

    Raises:
        ValueError: unless ``std`` is positive.

    >>> import pullback as torch
    >>> torch.signal.windows.gaussian(3)
    tensor([0.6065, 1.0000, 0.6065])
    """
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    return _window("gaussian", M, options, lambda k, n: np.exp(-(((k - (n - 1) / 2) / std) ** 2) / 2))


def exponential(M: int, *, center: float | None = None, tau: float = 1.0, **options: Any) -> Tensor:
    """``exp(-d / tau)``, with d the distance from ``center``, which is the middle unless given (for windows that are
    not symmetric).

    Raises:
        ValueError: unless ``tau`` is positive, and for a center of a symmetric window.

    >>> import pullback as torch
    >>> torch.signal.windows.exponential(3)
    tensor([0.3679, 1.0000, 0.3679])
    """
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if center is not None and options.get("sym", True):
        raise ValueError("Center must be None for symmetric windows")
    return _window(
        "exponential", M, options, lambda k, n: np.exp(-np.abs(k - ((n - 1) / 2 if center is None else center)) / tau)
    )


def kaiser(M: int, *, beta: float = 12.0, **options: Any) -> Tensor:
    """``I₀(β √(1 - (2t - 1)²)) / I₀(β)``.

    Raises:
        ValueError: for negative ``beta``.

    >>> import pullback as torch
    >>> torch.signal.windows.kaiser(3, beta=0)
    tensor([1., 1., 1.])
    """
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")

    def formula(k: np.ndarray, n: int) -> np.ndarray:
        if n == 1:
            return np.ones_like(k)
        return np.i0(beta * np.sqrt(np.maximum(1 - (2 * k / (n - 1) - 1) ** 2, 0))) / np.i0(beta)

    return _window("kaiser", M, options, formula)
