"""Autocasting: operations that gain from half precision are handed it, those that need float32 are handed that.

The lists are PyTorch's for the CPU; what is on none of them takes its operands as they come. Operations ask
whether a thread autocasts where they ask for subclasses (:func:`pullback.core.override.dispatch`). Functions that are
made of several operations are put inside a wrapper in their namespaces, when the first block is entered.
"""

from __future__ import annotations

import functools
import importlib
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..base import thread_state
from ..base.dtypes import bfloat16, dtype, float16, float32, float64
from ..core import override
from ..core.op import METHODS, REGISTRY
from ..core.override import NOT_OVERRIDDEN
from ..core.tensor import Tensor

__all__ = ["autocast", "autocast_decorator", "custom_bwd", "custom_fwd", "is_autocast_available"]

LOWER = frozenset(
    """
    addbmm addmm baddbmm convolution flash_attention linalg_vecdot linear lstm matmul prelu prelu_kernel
    scaled_dot_product_attention
""".split()
)
FLOAT32 = frozenset(
    """
    adaptive_avg_pool3d adaptive_max_pool3d avg_pool3d binary_cross_entropy binary_cross_entropy_with_logits cdist
    cholesky cholesky_inverse cholesky_solve cosine_embedding_loss cross_entropy ctc_loss elman fractional_max_pool2d
    fractional_max_pool3d geqrf grid_sample gru hinge_embedding_loss huber_loss inverse kl_div l1_loss lu_solve
    margin_ranking_loss max_pool3d max_unpool2d max_unpool3d mse_loss multi_margin_loss multilabel_margin_loss
    nanquantile nll_loss orgqr ormqr pad pinverse poisson_nll_loss polar prod qr quantile smooth_l1_loss
    soft_margin_loss stft svd trace triangular_solve triplet_margin_loss view_as_complex fft_fft fft_fft2 fft_fftn
    fft_hfft fft_hfft2 fft_hfftn fft_ifft fft_ifft2 fft_ifftn fft_ihfft fft_ihfft2 fft_ihfftn fft_irfft fft_irfft2
    fft_irfftn fft_rfft fft_rfft2 fft_rfftn linalg_cholesky linalg_cholesky_ex linalg_cond linalg_eig linalg_eigh
    linalg_eigvals linalg_eigvalsh linalg_householder_product linalg_inv linalg_inv_ex linalg_lstsq linalg_matrix_rank
    linalg_qr linalg_solve linalg_solve_ex linalg_svd linalg_svdvals linalg_tensorinv linalg_tensorsolve
""".split()
)
WIDEST = frozenset(("cat", "index_copy", "stack"))
AS_IT_IS = frozenset(("dot", "mv", "vdot", "addmv", "bilinear"))  # although made of products, which are in LOWER
DEVICES = {
    "cuda": float16,
    "xpu": float16,
    "mps": float16,
    "hpu": bfloat16,
    "xla": bfloat16,
    "ipu": float16,
    "mtia": float16,
}


class _PerThread(threading.local):
    def __init__(self) -> None:
        self.enabled: dict[str, bool] = {}
        self.dtypes: dict[str, Any] = {"cpu": bfloat16, **DEVICES}
        self.cache, self.nesting, self.counted = True, 0, False


_local = _PerThread()


# --- what becomes of an operation ---------------------------------------------------------------------------


def _cast(value: Any, to: dtype) -> Any:
    """A value with its tensors of other floating types than float64 in another type; lists, tuples and dicts, too."""
    if isinstance(value, Tensor):
        return value.to(to) if value.is_floating_point() and value.dtype not in (float64, to) else value
    if isinstance(value, list | tuple):
        parts = [_cast(v, to) for v in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, Mapping):
        return {k: _cast(v, to) for k, v in value.items()}
    return value


def _widest(args: Iterable[Any]) -> dtype:
    found = {a.dtype for a in override._flattened(args) if isinstance(a, Tensor) and a.is_floating_point()}
    if not found <= {float64, float32, _local.dtypes["cpu"]}:
        raise RuntimeError("Unexpected floating ScalarType in at::autocast::prioritize")
    if float64 in found and found & {bfloat16, float16}:
        raise RuntimeError("promote type is double in at::autocast::prioritize")
    return float32 if float32 in found else _local.dtypes["cpu"]


def _target(name: str, args: Iterable[Any]) -> dtype | None:
    """The type that a function's operands are to have, if it is on a list."""
    if name in LOWER:
        return _local.dtypes["cpu"]
    return float32 if name in FLOAT32 else _widest(args) if name in WIDEST else None


def _of_operation(fn: Callable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    to = _target(fn.__name__, (*args, *kwargs.values()))
    return NOT_OVERRIDDEN if to is None else _inside(fn, _cast(args, to), _cast(kwargs, to))


def _inside(fn: Callable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function whose parts are not to be cast."""
    before, override._modes.cast = override._modes.cast, None
    try:
        return fn(*args, **kwargs)
    finally:
        override._modes.cast = before


def _watched(fn: Callable, name: str) -> Callable:
    """A function made of operations, as autocasting has it."""

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        if override._modes.cast is None:
            return fn(*args, **kwargs)
        to = _target(name, (*args, *kwargs.values()))
        return _inside(fn, args, kwargs) if to is None else _inside(fn, _cast(args, to), _cast(kwargs, to))

    return call


@functools.cache
def _watch() -> None:
    """Wrap the functions on the lists that are no operations of their own, once."""
    names = (LOWER | FLOAT32 | WIDEST | AS_IT_IS) - REGISTRY.keys()
    for space, prefix in (("", ""), (".nn.functional", ""), (".linalg", "linalg_"), (".fft", "fft_")):
        module = importlib.import_module(__package__.rpartition(".")[0] + space)
        for name in names:
            if name.startswith(prefix):
                fn = getattr(module, name.removeprefix(prefix), None)
                if fn is not None:
                    watched = _watched(fn, name)
                    setattr(module, name.removeprefix(prefix), watched)
                    if hasattr(fn, "public"):
                        fn.public = watched  # what overrides are asked with
    for name in names & METHODS.keys():
        setattr(Tensor, name, _watched(METHODS[name], name))


# --- switching ----------------------------------------------------------------------------------------------


def is_autocast_available(device_type: str) -> bool:
    """Whether there is such a device type; only ``"cpu"`` autocasts."""
    return device_type in _local.dtypes


def _known(device_type: str) -> str:
    if not is_autocast_available(device_type):
        raise RuntimeError(
            f"unknown device type for autocast in get_autocast_dispatch_key_from_device_type: {device_type}"
        )
    return device_type


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether this thread autocasts for a device type."""
    return _local.enabled.get(_known(device_type), False)


def set_autocast_enabled(device_type: Any, enabled: bool | None = None) -> None:
    """Turn autocasting on or off in this thread; :class:`autocast` is the usual way."""
    if enabled is None:
        device_type, enabled = "cuda", device_type
    _local.enabled[_known(device_type)] = bool(enabled)
    on = _local.enabled.get("cpu", False)
    if on:
        _watch()
    override._modes.cast = _of_operation if on else None
    if on is not _local.counted:
        thread_state.add_slow_path_reason(1 if on else -1, True)
        _local.counted = on


def get_autocast_dtype(device_type: str) -> dtype:
    """The type that :class:`autocast` casts to unless told otherwise."""
    return _local.dtypes[_known(device_type)]


def set_autocast_dtype(device_type: str, dtype: dtype) -> None:
    """Set the type that :class:`autocast` casts to unless told otherwise."""
    _local.dtypes[_known(device_type)] = dtype


def is_autocast_cache_enabled() -> bool:
    """What was set; casts are not kept in any case."""
    return _local.cache


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Accepted for compatibility: casts are not kept, so a parameter that changes is cast anew."""
    _local.cache = enabled


def clear_autocast_cache() -> None:
    """Accepted for compatibility: casts are not kept."""


def autocast_increment_nesting() -> int:
    """Count one more block."""
    _local.nesting += 1
    return _local.nesting


def autocast_decrement_nesting() -> int:
    """Count one block less."""
    _local.nesting -= 1
    return _local.nesting


def _of_cpu(fn: Callable) -> Callable:
    call = functools.partial(fn, "cpu")
    call.__doc__ = f":func:`{fn.__name__}` for the CPU."
    return call


is_autocast_cpu_enabled, set_autocast_cpu_enabled = _of_cpu(is_autocast_enabled), _of_cpu(set_autocast_enabled)
get_autocast_cpu_dtype, set_autocast_cpu_dtype = _of_cpu(get_autocast_dtype), _of_cpu(set_autocast_dtype)
get_autocast_gpu_dtype = functools.partial(get_autocast_dtype, "cuda")
set_autocast_gpu_dtype = functools.partial(set_autocast_dtype, "cuda")


class autocast:
    """Inside, matrix products and convolutions compute in half precision, losses and the like in float32.

    A context manager, and a decorator for functions. Blocks nest; ``enabled=False`` turns casting off inside one.

    Args:
        device_type: ``"cpu"``. For other devices casting stays off, with a warning for ``"cuda"``.
        dtype: bfloat16 (the default) or float16.
        enabled: whether to cast.
        cache_enabled: accepted.

    Raises:
        ValueError, RuntimeError: the device type is not a string, or not one of PyTorch's.

    >>> import pullback as torch
    >>> a = torch.ones(2, 2)
    >>> with torch.autocast("cpu"): (a @ a).dtype, (a + a).dtype
    (torch.bfloat16, torch.float32)
    """

    def __init__(
        self, device_type: str, dtype: dtype | None = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        if not is_autocast_available(device_type):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
        self.device = device_type
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self._cache_enabled = _local.cache if cache_enabled is None else cache_enabled
        if enabled and device_type == "cuda":
            warnings.warn("CUDA is not available or torch_xla is imported. Disabling autocast.", stacklevel=2)
            enabled = False
        elif enabled and self.fast_dtype not in (bfloat16, float16):
            name = device_type.upper()
            warnings.warn(
                f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n"
                f"{name} Autocast only supports dtypes of torch.bfloat16, torch.float16 currently.",
                stacklevel=2,
            )
            enabled = False
        self._enabled = enabled
        self._before: list[tuple[bool, Any, bool]] = []  # one entry for each time that it is entered

    def __enter__(self) -> autocast:
        self._before.append((is_autocast_enabled(self.device), get_autocast_dtype(self.device), _local.cache))
        set_autocast_enabled(self.device, self._enabled)
        set_autocast_dtype(self.device, self.fast_dtype)
        autocast_increment_nesting()
        _local.cache = self._cache_enabled
        return self

    def __exit__(self, *exc: object) -> None:
        enabled, fast_dtype, _local.cache = self._before.pop()
        autocast_decrement_nesting()
        set_autocast_enabled(self.device, enabled)
        set_autocast_dtype(self.device, fast_dtype)

    def __call__(self, func: Callable) -> Callable:
        if not callable(func):
            raise TypeError(
                f"autocast()(func) requires a callable, but got {type(func).__name__}. Did you mean to use autocast "
                "as a context manager? For example:\n    with torch.autocast(device_type=...):\n"
                "        output = model(input)"
            )
        return autocast_decorator(self, func)


def autocast_decorator(autocast_instance: autocast, func: Callable) -> Callable:
    """``func``, run inside of an :class:`autocast`."""

    @functools.wraps(func)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        with autocast_instance:
            return func(*args, **kwargs)

    return decorated


# --- custom functions ---------------------------------------------------------------------------------------


def custom_fwd(fwd: Callable | None = None, *, device_type: str, cast_inputs: dtype | None = None) -> Any:
    """For ``forward`` of an ``autograd.Function``: remember how it was cast, for :func:`custom_bwd`.

    Args:
        fwd: the method; left out, a decorator is returned.
        device_type: such as ``"cpu"``.
        cast_inputs: cast the arguments to this type where the thread autocasts, and cast nothing inside.
    """
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorated(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        enabled = is_autocast_enabled(device_type)
        ctx._dtype, ctx._fwd_used_autocast = get_autocast_dtype(device_type), enabled and cast_inputs is None
        if not enabled or cast_inputs is None:
            return fwd(ctx, *args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(ctx, *_cast(args, cast_inputs), **_cast(kwargs, cast_inputs))

    return decorated


def custom_bwd(bwd: Callable | None = None, *, device_type: str) -> Any:
    """For ``backward`` of an ``autograd.Function``: cast as its ``forward`` did, see :func:`custom_fwd`."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorated(ctx: Any, *args: Any) -> Any:
        with autocast(device_type, enabled=ctx._fwd_used_autocast, dtype=ctx._dtype):
            return bwd(ctx, *args)

    return decorated
