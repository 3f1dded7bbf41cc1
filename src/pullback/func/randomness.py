"""Random numbers inside ``vmap``: an error, different ones for each example, or the same for all.

For different ones there is one draw of the whole batch's shape, with the batch in front, as in PyTorch; so the numbers
are PyTorch's for a seed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..autograd import modes
from ..lift import drawn, drawn_by, held, without_tangents
from ..tensor import Tensor
from .batched import Batch, Batched


def _refuse_errors(level: Batch) -> None:
    if level.randomness == "unsupported":
        raise RuntimeError(
            "vmap: We do not yet support calling random operations inside of vmap. Please perform random operations "
            "outside "
            "of vmap as a workaround"
        )
    if level.randomness == "error":
        raise RuntimeError(
            "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
            "randomness flags on vmap or perform the randomness operation out of vmap"
        )


def _lifted(value: Any, levels: Sequence[Batch]) -> Any:
    """Numbers whose first dimensions are the batches of these levels, the innermost of which comes first in the
    list.
    """
    for level in reversed(levels):
        value = Batched(level, value)
    return value


def sampled(shape: tuple[int, ...], draw: Callable[[tuple[int, ...]], np.ndarray]) -> Any:
    """What ``draw`` makes of a shape, for the examples of every ``vmap`` of this thread."""
    different: list[Batch] = []
    for level in reversed(modes._local.batches):
        _refuse_errors(level)
        if level.randomness == "different":
            shape, different = (level.size, *shape), [*different, level]
    return _lifted(drawn(lambda: draw(shape)), different)


def sampled_by(parameters: Sequence[Any], draw: Callable[..., np.ndarray]) -> Any:
    """What ``draw`` makes of parameters (arrays that broadcast, and numbers), for the examples of every ``vmap``.

    Raises:
        RuntimeError: for parameters that differ from example to example where random numbers shall not.
    """
    tensors = [without_tangents(held(p)) if hasattr(p, "shape") else p for p in parameters]
    shape = np.broadcast_shapes(*[t._array.shape for t in tensors if isinstance(t, Tensor)])
    tensors = [t.expand(shape) if isinstance(t, Tensor) and t._array.shape != shape else t for t in tensors]
    different: list[Batch] = []
    for level in reversed(modes._local.batches):
        _refuse_errors(level)
        batched = [isinstance(t, Tensor) and isinstance(t._array, Batched) and t._array.level is level for t in tensors]
        if level.randomness == "different":
            tensors = [level.unwrap(t) if isinstance(t, Tensor) else t for t in tensors]
            different.append(level)
        elif any(batched):
            raise RuntimeError(
                "Vmap does not currently support same randomness with a batched tensor input. Please file an issue "
                "with "
                "functorch"
            )
    return _lifted(drawn_by([t._array if isinstance(t, Tensor) else t for t in tensors], draw), different)


def sampled_into(x: Tensor, draw: Callable[[tuple[int, ...]], np.ndarray]) -> Any:
    """What ``draw`` gives to be written into ``x``.

    Raises:
        RuntimeError: if examples shall get different numbers, but share ``x``.
    """
    value = x._array
    for level in reversed(modes._local.batches):
        _refuse_errors(level)
        own = isinstance(value, Batched) and value.level is level
        if level.randomness == "different" and not own:
            raise RuntimeError(
                "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same "
                "randomness. If this is necessary for your usage, please file an issue with functorch."
            )
        value = value.value if own else value
    return sampled(x._array.shape, draw)
