"""Moving memory that tensors share to another place, with all of these tensors.

Nothing lists the tensors on a piece of memory, so the garbage collector is asked for them. Counting references tells
whether anything else looks at the memory (NumPy, a graph, an optimizer), which would stay behind: then nothing moves.
"""

from __future__ import annotations

import gc
import sys
from collections import Counter
from typing import Any

import numpy as np

from . import versions
from .conj_views import address
from .tensor import Tensor


def relocate(storage: Any, memory: np.ndarray) -> bool:
    """Let a storage and the tensors on it look at other memory, which holds the same bytes; whether nothing else looks.

    Args:
        storage: its ``_owner`` is the array that owns the memory.
        memory: bytes, at least as many.
    """
    tensors = [t for t in gc.get_objects() if issubclass(type(t), Tensor) and _is_on(t, storage)]
    chains: list[np.ndarray] = [storage._owner]  # the arrays of the tensors, and what lies between them and the owner
    for t in tensors:
        array = t._array
        while not any([array is known for known in chains]):
            chains.append(array)
            array = array.base
        del array
    holders = Counter([id(t._array) for t in tensors] + [id(array.base) for array in chains[1:]])
    holders[id(chains[0])] += 1
    *counts, unheld = [sys.getrefcount(array) for array in [*chains, np.empty(0)]]
    if [n - unheld - 1 for n in counts] != [holders[id(array)] for array in chains]:
        return False
    moved = {}
    for t in tensors:
        old = t._array
        if id(old) not in moved:
            begin = address(old) - address(storage._owner)
            place: Any = (memory, begin, old.strides) if old.size else ()
            moved[id(old)] = np.ndarray(old.shape, old.dtype, *place)
        t._array = moved[id(old)]
    versions.move_counter(storage._owner, memory)
    return True


def _is_on(t: Any, storage: Any) -> bool:
    array = getattr(t, "_array", None)  # tensors that are being made have none
    return isinstance(array, np.ndarray) and versions.owner_of(array) is storage._owner
