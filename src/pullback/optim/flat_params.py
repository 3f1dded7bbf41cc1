"""Parameters packed into flat arrays, to be updated together.

A NumPy call costs about half a microsecond however small its arrays are, and a method like Adam makes a dozen
for each parameter. So the state of all parameters of a group and type lives in flat arrays, one after the
other, of which each parameter's own state tensors are views; and the arithmetic runs over blocks of them:

    gradients ─► copied into a block ─► the method's formula on the block ─► subtracted from each parameter

A block holds as many whole parameters as fit, or some rows of a large one, and is small enough for all its
arrays to stay in the cache from the first operation to the last.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from operator import is_
from typing import Any, NamedTuple

import numpy as np

from ..base import dtypes
from ..core.record import wrap
from ..core.tensor import Tensor
from ..core.versions import bump_version
from .optimizer import number

BLOCK = 1 << 14  # elements

Start = dict[str, float]


class Packs:
    """The packs of one optimizer: created lazily, and rebuilt when parameters or state have changed."""

    def __init__(self) -> None:
        self._of: dict[Tensor, Pack] = {}

    def of(
        self,
        params: dict[Tensor, None],
        group: dict[str, Any],
        state: defaultdict[Any, Any],
        counters: Start,
        memory: Start,
    ) -> list[Pack]:
        """Packs of some parameters of a group.

        Args:
            params: the parameters, as the keys of a dict; all have gradients.
            group: their group.
            state: the optimizer's. What a parameter lacks of the following is added there.
            counters: the numbers that the method keeps for each parameter, by name, and where they start.
            memory: the same for the tensors it keeps, of the parameter's shape.
        """
        packs = dict.fromkeys(map(self._of.get, params))
        fitting = [pack for pack in packs if pack is not None and pack.fits(group, state, memory)]
        if len(fitting) == len(packs) and sum(len(pack.params) for pack in fitting) == len(params):
            return fitting
        # Some parameters may have left the group, or are not asked for.
        fitting = [pack for pack in fitting if all(p in params for p in pack.params)]
        loose = defaultdict(list)
        for p in params:
            if self._of.get(p) not in fitting:
                known = [state[p].get(name, start) for name, start in counters.items()]
                loose[p._array.dtype, *map(_type, known), *map(number, known)].append(p)
        for together in loose.values():
            pack = Pack(together, group, state, counters, memory)
            self._of.update(dict.fromkeys(together, pack))
            fitting.append(pack)
        return fitting


class Pack:
    """Parameters of one type whose counters agree, and their state.

    Attributes:
        counters: the counters of all parameters, an array for each name.
        blocks: what the flat arrays are cut into.
        size: how many elements the parameters have together.
    """

    def __init__(
        self,
        params: list[Tensor],
        group: dict[str, Any],
        state: defaultdict[Any, Any],
        counters: Start,
        memory: Start,
    ) -> None:
        self.params, self.group, self.names = params, group, list(memory)
        dtype = params[0]._array.dtype
        self.size = size = sum(p._array.size for p in params)
        known = state[params[0]]
        self.counters = {name: np.full(len(params), start, _type(known.get(name))) for name, start in counters.items()}
        flats = {name: np.empty(size, dtype) for name in memory}
        self.held: list[list[Tensor]] = []  # each parameter's state tensors, in the order of its dict
        # state that other processes write into, too, and where it is worked on
        self.shared: list[tuple[np.ndarray, np.ndarray]] = []
        first = 0
        for i, p in enumerate(params):
            shape, last = p._array.shape, first + p._array.size
            own = state[p]
            homes = {name: array[i, ...] for name, array in self.counters.items()}
            for name, flat in flats.items():
                real(flat[first:last])[...] = memory[name]
                homes[name] = flat[first:last].reshape(shape)
            for name, home in homes.items():
                if name in own:
                    home[...] = own[name]._array if isinstance(own[name], Tensor) else own[name]
                if isinstance(own.get(name), Tensor) and own[name].is_shared():
                    self.shared.append((own[name]._array, home))
                else:
                    own[name] = wrap(home)
            self.held.append(list(own.values()))
            first = last

        cuts = list(_cut(params))
        room = max((cut[-1].stop - cut[0].start for cut in cuts), default=0)
        scratch = [np.empty(room, work_type(dtype)) for _ in range(3)]
        alone = dtype.kind == "f" and scratch[0].dtype == dtype
        self.blocks = [Slab(cut[0], flats) if alone and len(cut) == 1 else Block(cut, flats, scratch) for cut in cuts]

    def fits(self, group: dict[str, Any], state: defaultdict[Any, Any], memory: Start) -> bool:
        """Whether all the parameters have gradients, and everything else is still as it was made."""
        if self.group is not group or self.names != list(memory):
            return False
        for p, held in zip(self.params, self.held):
            if p._grad is None or len(own := state[p]) < len(held) or not all(map(is_, own.values(), held)):
                return False
        for shared, home in self.shared:
            home[...] = shared
        counters = [array.tolist() for array in self.counters.values()]
        return all(values.count(values[0]) == len(values) for values in counters)

    def written(self) -> None:
        """Note that the parameters were written into, and show shared state to the other processes."""
        for shared, home in self.shared:
            shared[...] = home
        bump_version(*[p._array for p in self.params])


class Piece(NamedTuple):
    """A parameter, or some rows of it (None: all), and its place in the flat arrays."""

    param: Tensor
    rows: slice | None
    shape: tuple[int, ...]
    start: int
    stop: int


def _cut(params: list[Tensor]) -> Iterator[list[Piece]]:
    """The pieces of each block, in order."""
    block: list[Piece] = []
    start = 0
    for p in params:
        rows, *rest = p._array.shape or (1,)
        row = math.prod(rest)
        many = max(1, min(rows, BLOCK // max(1, row)))
        for first in range(0, rows if row else 0, many):
            n = min(many, rows - first)
            stop = start + n * row
            if block and stop - block[0].start > BLOCK:
                yield block
                block = []
            if n == rows:
                block.append(Piece(p, None, p._array.shape, start, stop))
            else:
                block.append(Piece(p, slice(first, first + n), (n, *rest), start, stop))
            start = stop
    if block:
        yield block


class Block:
    """A stretch of the flat arrays, with the pieces of parameters that belong to it, worked on together."""

    def __init__(self, cut: list[Piece], flats: dict[str, np.ndarray], scratch: list[np.ndarray]) -> None:
        first, last = cut[0].start, cut[-1].stop
        self.stored = {name: real(flat[first:last]) for name, flat in flats.items()}
        self.wide = scratch[0].dtype != cut[0].param._array.dtype
        self.grad, self.value, self.update = (real(s[: last - first]) for s in scratch)
        self.pieces = []
        for param, rows, shape, start, stop in cut:
            grad, value, update = (s[start - first : stop - first].reshape(shape) for s in scratch)
            self.pieces.append((param, rows, grad, value, update))

    def gradients(self) -> np.ndarray:
        """The parameters' gradients, to read."""
        for param, rows, grad, _, _ in self.pieces:
            g = param._grad._array
            grad[...] = g if rows is None else g[rows]
        return self.grad

    def values(self) -> np.ndarray:
        """The parameters' values, to read."""
        for param, rows, _, value, _ in self.pieces:
            value[...] = param._array if rows is None else param._array[rows]
        return self.value

    def state(self) -> dict[str, np.ndarray]:
        """The state, in the arithmetic's type."""
        if self.wide:
            return {name: a.astype(np.float32) for name, a in self.stored.items()}
        return self.stored.copy()

    def store(self, update: np.ndarray, state: dict[str, np.ndarray], shrink: float | None) -> None:
        """Multiply the parameters by ``shrink``, subtract the update, and put away what is new in the state."""
        self.subtract(update, shrink)
        for name, stored in self.stored.items():
            if state[name] is not stored:
                stored[...] = state[name]

    def subtract(self, update: np.ndarray, shrink: float | None) -> None:
        np.copyto(self.update, update)
        for param, rows, _, _, piece in self.pieces:
            p = param._array if rows is None else param._array[rows]
            if shrink is not None:
                np.multiply(p, shrink, p, casting="unsafe")
            np.subtract(p, piece, p, casting="unsafe")


class Slab(Block):
    """A block of one piece, updated in place without copies."""

    def __init__(self, piece: Piece, flats: dict[str, np.ndarray]) -> None:
        self.param, rows, shape, start, stop = piece
        self.rows: Any = ... if rows is None else rows
        self.stored = {name: flat[start:stop].reshape(shape) for name, flat in flats.items()}
        self.wide = False

    def gradients(self) -> np.ndarray:
        return self.param._grad._array[self.rows]

    def values(self) -> np.ndarray:
        return self.param._array[self.rows]

    def subtract(self, update: np.ndarray, shrink: float | None) -> None:
        p = self.values()
        if shrink is not None:
            np.multiply(p, shrink, p)
        np.subtract(p, update, p)


def real(array: np.ndarray) -> np.ndarray:
    """Complex numbers as pairs of real ones, in the same memory: the methods treat both parts alike."""
    return (
        array.view(dtypes.OF_NUMPY[array.dtype].to_real().numpy) if array.dtype.kind in dtypes.COMPLEX_KINDS else array
    )


def _type(counter: Any) -> Any:
    """The type of a counter: that in which it was loaded, or the default."""
    return counter._array.dtype if isinstance(counter, Tensor) else np.dtype(counting())


def work_type(dtype: np.dtype) -> np.dtype:
    """The type to compute in: 16 bits are too coarse."""
    return dtypes.WIDE.get(dtype, dtype)


def counting() -> type[np.floating]:
    """The type of counters."""
    return np.float64 if dtypes.get_default_dtype() is dtypes.float64 else np.float32
