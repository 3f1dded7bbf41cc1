"""``torch._vmap_internals``: ``vmap`` at its address before ``torch.func``."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from .. import func


def _vmap(function: Callable, in_dims: Any = 0, out_dims: Any = 0, allow_none_pass_through: bool = False) -> Callable:
    """:func:`torch.vmap`."""
    return func.vmap(function, in_dims, out_dims)


def vmap(function: Callable, in_dims: Any = 0, out_dims: Any = 0) -> Callable:
    """:func:`torch.vmap`.

    >>> import pullback as torch
    >>> torch._vmap_internals._vmap(torch.sum)(torch.ones(2, 3))
    tensor([3., 3.])
    """
    warnings.warn("Please use torch.vmap instead of torch._vmap_internals.vmap.", FutureWarning, stacklevel=2)
    return _vmap(function, in_dims, out_dims)
