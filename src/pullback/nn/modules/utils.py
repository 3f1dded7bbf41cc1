"""``torch.nn.modules.utils``: sizes given as one number or several, and the prefix helper of state dicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any

__all__ = ["consume_prefix_in_state_dict_if_present"]


def _ntuple(n: int) -> Callable[[Any], tuple[Any, ...]]:
    """The function that makes a tuple of what can be iterated over, and repeats anything else ``n`` times."""
    return lambda x: tuple(x) if isinstance(x, Iterable) else tuple(repeat(x, n))


_single, _pair, _triple, _quadruple = map(_ntuple, (1, 2, 3, 4))


def _reverse_repeat_tuple(sizes: Iterable[int], n: int) -> tuple[int, ...]:
    """The sizes from last to first, each ``n`` times: a padding for each dimension, as ``F.pad`` takes it."""
    return tuple(size for size in reversed(tuple(sizes)) for _ in range(n))


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Take a prefix such as ``"module."`` off the keys that begin with it, in place.

    >>> import pullback as torch
    >>> state = {"module.weight": torch.ones(1), "step": torch.zeros(1)}
    >>> torch.nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    >>> list(state)
    ['step', 'weight']
    """
    for key in [key for key in state_dict if key.startswith(prefix)]:
        state_dict[key[len(prefix) :]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", {})
    for key in [key for key in metadata if key == prefix.replace(".", "") or key.startswith(prefix)]:
        metadata[key[len(prefix) :]] = metadata.pop(key)
