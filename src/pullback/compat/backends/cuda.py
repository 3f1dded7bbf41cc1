"""``torch.backends.cuda``: unavailable; its switches are accepted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

matmul = SimpleNamespace(
    allow_tf32=False,
    allow_fp16_reduced_precision_reduction=True,
    allow_bf16_reduced_precision_reduction=True,
    allow_fp16_accumulation=False,
    fp32_precision="none",
)
cufft_plan_cache = SimpleNamespace(size=0, max_size=0, clear=lambda: None)
_allowed = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}


def is_built() -> bool:
    """False."""
    return False


def preferred_linalg_library(backend: Any = None) -> str:
    """``"default"``."""
    return "default"


preferred_blas_library = preferred_linalg_library


def _switch(kind: str) -> tuple[Callable[[bool], None], Callable[[], bool]]:
    def enable(enabled: bool) -> None:
        """Accepted, and remembered: attention is computed in one way."""
        _allowed[kind] = enabled

    return enable, lambda: _allowed[kind]


enable_flash_sdp, flash_sdp_enabled = _switch("flash")
enable_mem_efficient_sdp, mem_efficient_sdp_enabled = _switch("mem_efficient")
enable_math_sdp, math_sdp_enabled = _switch("math")
enable_cudnn_sdp, cudnn_sdp_enabled = _switch("cudnn")


@contextmanager
def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> Iterator[None]:
    """Accepted: attention is computed in one way."""
    yield
