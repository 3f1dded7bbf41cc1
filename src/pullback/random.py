"""``torch.random``: the default stream of random numbers, its seed and its state."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .ops.random import default_generator, get_rng_state, initial_seed, manual_seed, seed, set_rng_state

__all__ = ["default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]


@contextmanager
def fork_rng(devices: Any = None, enabled: bool = True, **kwargs: Any) -> Iterator[None]:
    """Let the default stream go on after the block as if nothing had been drawn inside.

    >>> import pullback as torch
    >>> _ = torch.manual_seed(0)
    >>> with torch.random.fork_rng(): _ = torch.rand(5)
    >>> torch.rand(2)
    tensor([0.4963, 0.7682])
    """
    state = get_rng_state()
    try:
        yield
    finally:
        if enabled:
            set_rng_state(state)
