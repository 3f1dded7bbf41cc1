"""``torch.cuda`` without CUDA: ``is_available()`` is False, and what needs a device raises.

Queries, seeds and ``empty_cache`` do what PyTorch does on a machine without one.
"""

from __future__ import annotations

from collections import OrderedDict
from importlib import import_module
from typing import Any

from ...base.device import placeholder_class
from ..tensor_types import __all__ as _TENSOR_TYPES
from ..tensor_types import make as _tensor_type
from ..unavailable import NothingToSelect, refusing


class CudaError(RuntimeError):
    """CUDA's errors; never raised here."""


class OutOfMemoryError(RuntimeError):
    """A device has no memory left; never raised here."""


class DeferredCudaCallError(Exception):
    """A call put off until CUDA starts has failed; never raised here."""


Event, Stream, ExternalStream, CUDAGraph, MemPool = (
    placeholder_class(name, "torch.cuda") for name in ("Event", "Stream", "ExternalStream", "CUDAGraph", "MemPool")
)


class device(NothingToSelect):
    """Accepted: with no device there is nothing to select."""


class device_of(NothingToSelect):
    """Accepted: with no device there is nothing to select."""


class StreamContext(NothingToSelect):
    """Accepted: with no device there is nothing to select."""


stream = StreamContext
default_generators: tuple[()] = ()
has_half = has_magma = _initialized = False


def is_available() -> bool:
    """False: Pullback computes on the CPU.

    >>> import pullback as torch
    >>> torch.device("cuda" if torch.cuda.is_available() else "cpu")
    device(type='cpu')
    """
    return False


def device_count() -> int:
    """0."""
    return 0


def is_initialized() -> bool:
    """False."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False."""
    return False


is_tf32_supported = is_initialized


def get_arch_list() -> list[str]:
    """Empty."""
    return []


def get_gencode_flags() -> str:
    """Empty."""
    return ""


def get_rng_state_all() -> list[Any]:
    """Empty."""
    return []


def memory_allocated(device: Any = None) -> int:
    """0, as for all questions about a device's memory."""
    return 0


max_memory_allocated = memory_reserved = max_memory_reserved = memory_cached = max_memory_cached = memory_allocated


def memory_stats(device: Any = None) -> OrderedDict[str, Any]:
    """Empty."""
    return OrderedDict()


memory_stats_as_nested_dict = memory_stats


def manual_seed(seed: int) -> None:
    """Does nothing: there are no generators to seed. ``torch.manual_seed`` seeds that of the CPU."""
    int(seed)


manual_seed_all = manual_seed


def empty_cache() -> None:
    """Does nothing, as do all that seed, reset or empty what is not there."""


seed = seed_all = empty_cache


def reset_peak_memory_stats(device: Any = None) -> None:
    """Does nothing."""


reset_max_memory_allocated = reset_max_memory_cached = reset_accumulated_memory_stats = reset_peak_memory_stats


def set_rng_state_all(new_states: Any) -> None:
    """Does nothing for an empty list, which is what :func:`get_rng_state_all` gives."""
    if len(new_states):
        globals()["set_rng_state"](new_states[0])


def set_sync_debug_mode(debug_mode: Any) -> None:
    """Does nothing."""


_REFUSED = """
    can_device_access_peer current_blas_handle current_device current_stream default_stream get_device_capability
    get_device_name get_device_properties get_rng_state init initial_seed ipc_collect is_current_stream_capturing
    list_gpu_processes mem_get_info memory_snapshot memory_summary memory_usage power_draw set_device
    set_per_process_memory_fraction set_rng_state set_stream synchronize temperature utilization clock_rate
    get_sync_debug_mode graph graph_pool_handle make_graphed_callables cudart caching_allocator_alloc
    caching_allocator_delete
""".split()

globals().update({n: refusing(n, lambda: AssertionError("Torch not compiled with CUDA enabled")) for n in _REFUSED})
globals().update({name: _tensor_type(name, "torch.cuda") for name in _TENSOR_TYPES})


def __getattr__(name: str) -> Any:
    if name in ("amp", "memory", "nccl", "nvtx", "random"):
        return import_module(f".{name}", __name__)
    from ...base.errors import no_attribute

    raise no_attribute("torch.cuda", name)
