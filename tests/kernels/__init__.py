"""Kernels beside NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pullback import kernels


@contextmanager
def using(mode: str) -> Iterator[None]:
    """Compute with kernels ``always``, or as usual, ``on``, or with them ``off`` and each step on whole arrays."""
    before = kernels.MODE, kernels.LARGE, kernels.SHARED
    kernels.MODE = mode
    kernels._set_sizes(mode)
    try:
        if mode == "always":
            assert kernels.start(), kernels.info()["reason"]
        if mode == "off":
            kernels.LARGE = kernels.SHARED = kernels.NEVER
        yield
    finally:
        kernels.MODE, kernels.LARGE, kernels.SHARED = before
