"""Kernels beside NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from pullback import kernels
from pullback.core import fast_call, record
from pullback.core.op import REGISTRY
from pullback.engine import install_native
from pullback.kernels import thresholds


@contextmanager
def using(mode: str) -> Iterator[None]:
    """Compute with kernels ``always``, or as usual, ``on``, or with them ``off`` and each step on whole arrays."""
    if record._count >= 0:
        install_native.install()  # now, for the sizes that hold otherwise
    before = kernels.MODE, kernels.LARGE, kernels.SHARED
    machine, fast_call.native_call = fast_call.native_call, fast_call.as_it_is
    kernels.MODE = mode
    kernels.LARGE, kernels.SHARED = thresholds.of_elementwise(mode)
    _lay_out()
    try:
        if mode == "always" and not kernels.start():
            pytest.skip(f"kernels cannot run here: {kernels.info()['reason']}")
        if mode == "off":
            kernels.LARGE = kernels.SHARED = kernels.NEVER
        yield
    finally:
        kernels.MODE, kernels.LARGE, kernels.SHARED = before
        fast_call.native_call = machine
        _lay_out()


def _lay_out() -> None:
    """Let operations be called as the present machine has it."""
    for op in REGISTRY.values():
        for lay_out in op.on_saved_spec_change:
            if not isinstance(lay_out, partial):  # that takes an operator back
                lay_out()
