"""From how many elements on kernels win against NumPy, measured on one thread (AVX-512)."""

from __future__ import annotations

import sys

NEVER = sys.maxsize
BLOCKED = 1 << 16  # elements from which NumPy alone goes block by block

# By kind of kernel: elements; for convolution and matmul multiplications.
SIZES = {
    "elementwise": 1024,
    "shared": 1 << 16,  # elementwise, where NumPy has a single loop for it all: only several threads are faster
    "reduce": 4096,
    "convolution": 1 << 18,
    "max_pool": 1024,
    "minmax": 1024,
    "searchsorted": 1024,
    "recurrent": 256,
    "matmul": 1 << 18,
    "optimizer": 2048,
    "summary": 1024,
    "embedding": 1024,
    "outer_products": 1024,
    "convert": 256,
    "transpose": 4096,
    "cross": 256,
    "pad": 2048,
    "index": 1024,  # until kernels are loaded
    "random": 1024,  # likewise
    **dict.fromkeys(
        (
            "attention",
            "channels_last",
            "conv_tables",
            "cross_entropy",
            "ctc",
            "distance",
            "grid_sample",
            "interpolate",
            "margin",
            "max_windows",
            "norm",
            "normalization",
            "scan",
            "softmax",
            "statistics",
            "topk",
        ),
        1,
    ),
}


def of_elementwise(mode: str) -> tuple[int, int]:
    """(LARGE, SHARED): elements from which elementwise operations do more than call NumPy on whole arrays; the second
    if NumPy has a single loop for the operation.

    Args:
        mode: as in ``PULLBACK_KERNELS``.
    """
    return {"on": (SIZES["elementwise"], SIZES["shared"]), "off": (BLOCKED, BLOCKED), "always": (1, 1)}[mode]
