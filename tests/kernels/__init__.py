"""Kernels beside NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from pullback import calling, kernels, outcome
from pullback.op import REGISTRY


@contextmanager
def using(mode: str) -> Iterator[None]:
    """Compute with kernels ``always``, or as usual, ``on``, or with them ``off`` and each step on whole arrays."""
    if outcome._count >= 0:
        outcome._load()  # now, for the sizes that hold otherwise
    before = kernels.MODE, kernels.LARGE, kernels.SHARED
    machine, calling.machine = calling.machine, calling.as_it_is
    kernels.MODE = mode
    kernels._set_sizes(mode)
    _lay_out()
    try:
        if mode == "always":
            assert kernels.start(), kernels.info()["reason"]
        if mode == "off":
            kernels.LARGE = kernels.SHARED = kernels.NEVER
        yield
    finally:
        kernels.MODE, kernels.LARGE, kernels.SHARED = before
        calling.machine = machine
        _lay_out()


def _lay_out() -> None:
    """Let operations be called as the present machine has it."""
    for op in REGISTRY.values():
        for lay_out in op.after_layout:
            if not isinstance(lay_out, partial):  # that takes an operator back
                lay_out()
