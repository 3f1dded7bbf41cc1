"""Chunking options of PyTorch's fused linear cross entropy: accepted for programs that pass them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

__all__ = ["LinearCrossEntropyOptions"]


@dataclass(slots=True, frozen=True)
class LinearCrossEntropyOptions:
    """Options of :class:`LinearCrossEntropyLoss`: checked, and without effect, since it works in one part."""

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None

    def __post_init__(self) -> None:
        if self.acc_policy not in ("auto", "accurate", "balanced", "compact"):
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        method = self.chunking_method
        if method not in (None, "auto", "aspect_ratio") and not re.fullmatch("aspect_ratio:0*[1-9][0-9]*", method):
            raise ValueError(f"invalid chunking_method: {self.chunking_method!r}")
        size = self.batch_chunk_size
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size!r}")
