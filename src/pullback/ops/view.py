"""Views: other shapes, orders and cuts of the same memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import op
from ..tensor import Tensor


@op.view(method=False)
def reshape(input: Tensor, shape: Sequence[int]) -> Tensor:
    """The same elements in another shape; a view where the memory allows."""
    return input.reshape(shape)


reshape.vjp(input=lambda g, input_shape: reshape(g, input_shape))


@op.view(method=False)
def expand(input: Tensor, size: Sequence[int]) -> Tensor:
    """Dimensions of size 1 stretched, without copying."""
    return np.broadcast_to(input, size)


expand.vjp(input=lambda g, input_shape: sum_to(g, input_shape))


def sum_to(g: Any, shape: Any) -> Any:
    from .reduce import sum_to

    return sum_to(g, shape)
