"""Global settings of ``torch``: default device, threads, determinism, matmul precision.

Most have nothing to switch: Pullback has one device, and the same program gives the same bits every run. They
remember what they were told.
"""

from __future__ import annotations

import sys
import warnings
from types import ModuleType
from typing import Any

from ..base import dtypes, thread_state
from ..base.device import CPU, check_device
from ..base.device import device as Device
from ..kernels import get_num_threads, set_num_threads

__all__ = [
    "are_deterministic_algorithms_enabled",
    "compiled_with_cxx11_abi",
    "get_default_device",
    "get_deterministic_debug_mode",
    "get_device_module",
    "get_float32_matmul_precision",
    "get_num_interop_threads",
    "get_num_threads",
    "init_num_threads",
    "is_deterministic_algorithms_warn_only_enabled",
    "is_warn_always_enabled",
    "set_default_device",
    "set_default_tensor_type",
    "set_deterministic",
    "set_deterministic_debug_mode",
    "set_float32_matmul_precision",
    "set_flush_denormal",
    "set_num_interop_threads",
    "set_num_threads",
    "set_warn_always",
    "use_deterministic_algorithms",
]

has_cuda = has_cudnn = has_mkl = has_mkldnn = has_mps = has_openmp = False  # what PyTorch is built with
has_lapack = has_spectral = True
_deterministic, _warn_only, _warn_always, _precision, _interop = False, False, False, "highest", 1


# --- the default device -------------------------------------------------------------------------------------


def set_default_device(device: Any) -> None:
    """Make new tensors, in this thread, on the CPU (None is the same) or without values on ``meta``.

    Raises:
        AssertionError, RuntimeError: there is no such device.
    """
    check_device(device)
    thread_state.set_default_devices((None if device is None else Device(device), *thread_state.local.devices[1:]))


def get_default_device() -> Device:
    """The device of new tensors: the CPU, unless :func:`set_default_device` or a device's block says otherwise."""
    return thread_state.local.devices[-1] or CPU


def get_device_module(device: Any = None) -> ModuleType:
    """``torch.cpu`` for the CPU, ``torch.cuda`` for ``"cuda"`` and so on."""
    from importlib import import_module

    kind = CPU.type if device is None else Device(device).type
    try:
        return import_module(f".{kind}", __package__)
    except ModuleNotFoundError:
        raise RuntimeError(
            f"Device '{kind}' does not have a corresponding module registered as 'torch.{kind}'."
        ) from None


def set_default_tensor_type(t: Any) -> None:
    """Set the type of new floating-point tensors by its old name, such as ``torch.DoubleTensor``.

    Raises:
        TypeError: it is no floating type, or one of another device.
    """
    from . import tensor_types

    if isinstance(t, str):
        t = tensor_types.by_name(t)
    if not isinstance(t, tensor_types.TensorType):
        raise TypeError(f"invalid type object: {t}")
    if t.is_cuda:
        raise tensor_types.unavailable(t)
    dtypes.set_default_dtype(t.dtype)


# --- threads ------------------------------------------------------------------------------------------------


def get_num_interop_threads() -> int:
    """The value given to :func:`set_num_interop_threads`; operations run one after the other."""
    return _interop


def set_num_interop_threads(n: int) -> None:
    """Accepted for compatibility: operations run one after the other."""
    global _interop
    if n <= 0:
        raise RuntimeError("Expected positive number of threads to set")
    _interop = n


def init_num_threads() -> None:
    """Accepted for compatibility."""


# --- determinism and precision ------------------------------------------------------------------------------


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Accepted, and remembered: results are the same every run in any case."""
    global _deterministic, _warn_only
    _deterministic, _warn_only = bool(mode), bool(warn_only)


set_deterministic = use_deterministic_algorithms


def are_deterministic_algorithms_enabled() -> bool:
    """The value given to :func:`use_deterministic_algorithms`."""
    return _deterministic


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """The value given to :func:`use_deterministic_algorithms`."""
    return _warn_only


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """:func:`use_deterministic_algorithms` by a name or number: ``"default"`` 0, ``"warn"`` 1, ``"error"`` 2."""
    modes = ("default", "warn", "error")
    if isinstance(debug_mode, str):
        if debug_mode not in modes:
            raise RuntimeError(
                f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got {debug_mode}"
            )
        debug_mode = modes.index(debug_mode)
    if not 0 <= debug_mode <= 2:
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}")
    use_deterministic_algorithms(debug_mode > 0, warn_only=debug_mode == 1)


def get_deterministic_debug_mode() -> int:
    """See :func:`set_deterministic_debug_mode`."""
    return (1 if _warn_only else 2) if _deterministic else 0


def set_float32_matmul_precision(precision: str) -> None:
    """Accepted, and remembered: products of float32 are of float32, which is ``"highest"``."""
    global _precision
    if precision not in ("highest", "high", "medium"):
        warnings.warn(
            f"{precision} is not one of 'highest', 'high', or 'medium'; the current setFloat32MatmulPrecision "
            "call has no effect.",
            stacklevel=2,
        )
        return
    _precision = precision


def get_float32_matmul_precision() -> str:
    """The value given to :func:`set_float32_matmul_precision`."""
    return _precision


def set_flush_denormal(mode: bool) -> bool:
    """Whether tiny numbers can be made zero: they are computed with instead, so False."""
    return False


def set_warn_always(b: bool, /) -> None:
    """Accepted, and remembered: Python's filters decide which warnings are seen."""
    global _warn_always
    _warn_always = bool(b)


def is_warn_always_enabled() -> bool:
    """The value given to :func:`set_warn_always`."""
    return _warn_always


def compiled_with_cxx11_abi() -> bool:
    """True, as for PyTorch's builds. There is nothing compiled."""
    return sys.platform != "win32"
