"""Let glibc keep the memory of large arrays, where there is no allocator of our own.

Without this it returns more than about twice the largest array to the system, and a derivative with several arrays in
between waits for fresh pages again each time: for a million elements 10 ms instead of 2. Where there are kernels,
:mod:`pullback.kernels.codegen.memory` does better.
"""

from __future__ import annotations

import ctypes
import sys

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of malloc.h


def keep_freed_memory() -> None:
    """Raise the sizes from which freed memory goes back to the system."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, 32 << 20)
        mallopt(M_TRIM_THRESHOLD, 256 << 20)
