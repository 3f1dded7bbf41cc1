"""``torch.backends.cudnn``: unavailable; ``cudnn.benchmark = True`` and other settings are accepted."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from . import flags as _flags

enabled, benchmark, deterministic, allow_tf32 = True, False, False, True
benchmark_limit: int | None = None
CUDNN_TENSOR_DTYPES: dict[Any, int] = {}
conv, rnn = SimpleNamespace(fp32_precision="tf32"), SimpleNamespace(fp32_precision="tf32")
set_flags, flags = _flags.of(globals(), "enabled", "benchmark", "benchmark_limit", "deterministic", "allow_tf32")


def is_available() -> bool:
    """False."""
    return False


def version() -> int | None:
    """None."""
    return None


def is_acceptable(tensor: Any) -> bool:
    """False."""
    return False
