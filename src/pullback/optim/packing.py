"""Parameters updated together, in flat arrays.

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

from .. import dtypes
from ..op import wrap
from ..storage import written
from ..tensor import Tensor

BLOCK = 1 << 15  # elements


class Packs:
    """The packs of one optimizer, made when first asked for, and anew when what is in them has changed."""

    def __init__(self) -> None:
        self._of: dict[Tensor, Pack] = {}

    def of(self, group: dict[str, Any], state: defaultdict[Any, Any], names: tuple[str, ...]) -> list[Pack]:
        """Packs of all parameters of a group that have a gradient.

        Args:
            group: the group.
            state: the optimizer's; new parameters get ``"step"`` 0 and zeros under ``names``.
            names: the state that the method keeps for each parameter, of the parameter's shape.
        """
        params = dict.fromkeys(p for p in group["params"] if p._grad is not None)
        packs = dict.fromkeys(map(self._of.get, params))
        fitting = [pack for pack in packs if pack is not None and pack.fits(group, state, names)]
        if len(fitting) == len(packs) and sum(len(pack.params) for pack in fitting) == len(params):
            return fitting
        # Some parameters may have left the group.
        fitting = [pack for pack in fitting if all(p in params for p in pack.params)]
        loose = defaultdict(list)
        for p in params:
            if self._of.get(p) not in fitting:
                loose[p._array.dtype, float(state[p].get("step", 0))].append(p)
        for together in loose.values():
            pack = Pack(group, together, state, names)
            self._of.update(dict.fromkeys(together, pack))
            fitting.append(pack)
        return fitting


class Pack:
    """Parameters of one type that have taken the same number of steps, and their state.

    Attributes:
        blocks: what the flat arrays are cut into.
    """

    def __init__(
        self,
        group: dict[str, Any],
        params: list[Tensor],
        state: defaultdict[Any, Any],
        names: tuple[str, ...],
    ) -> None:
        self.group, self.params, self.names = group, params, names
        dtype = params[0]._array.dtype
        flats = {name: np.zeros(sum(p._array.size for p in params), dtype) for name in names}
        exact = dtypes.get_default_dtype() is dtypes.float64
        self.steps: Any = np.zeros(len(params), np.float64 if exact else np.float32)
        self.held: list[list[Tensor]] = []  # each parameter's state tensors, in the order of its dict
        start = 0
        for i, p in enumerate(params):
            shape, stop = p._array.shape, start + p._array.size
            own, homes = state[p], {name: flat[start:stop].reshape(shape) for name, flat in flats.items()}
            for name, home in {"step": self.steps[i, ...], **homes}.items():
                if name in own:
                    home[...] = own[name]._array if isinstance(own[name], Tensor) else own[name]
                own[name] = wrap(home)
            self.held.append(list(own.values()))
            start = stop

        cuts = list(_cut(params))
        size = max((cut[-1].stop - cut[0].start for cut in cuts), default=0)
        # 16-bit types are too coarse to compute in.
        work = np.dtype(np.float32) if dtype.itemsize == 2 else dtype
        scratch = [np.empty(size, work) for _ in range(2 if work == dtype else 2 + len(names))]
        self.blocks = [Block(cut, list(flats.values()), scratch) for cut in cuts]
        self._constants = np.empty(12, _real(np.empty(0, work)).dtype)
        self._constant_views = [self._constants[i, ...] for i in range(12)]

    def fits(self, group: dict[str, Any], state: defaultdict[Any, Any], names: tuple[str, ...]) -> bool:
        """Whether all the parameters have gradients, and everything else is still as it was made."""
        if self.group is not group or self.names != names:
            return False
        for p, held in zip(self.params, self.held):
            if p._grad is None or len(own := state[p]) < len(held) or not all(map(is_, own.values(), held)):
                return False
        steps = self.steps.tolist()
        return steps.count(steps[0]) == len(steps)

    def advance(self) -> float:
        """Count a step. Returns its number."""
        self.steps += 1
        return self.steps.item(0)

    def constants(self, *values: float) -> list[np.ndarray]:
        """Numbers as 0-d arrays of the arithmetic's type, which NumPy takes faster than Python floats."""
        self._constants[: len(values)] = values
        return self._constant_views[: len(values)]

    def written(self) -> None:
        """Note that the parameters were written into."""
        written(*[p._array for p in self.params])


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
    """A stretch of the flat arrays, with the pieces of parameters that belong to it."""

    def __init__(self, cut: list[Piece], flats: list[np.ndarray], scratch: list[np.ndarray]) -> None:
        first, last = cut[0].start, cut[-1].stop
        grad, update, *wide = (s[: last - first] for s in scratch)
        self.stored = [flat[first:last] for flat in flats]
        self.wide = bool(wide)
        self.grad, self.update = _real(grad), _real(update)
        self.state = [_real(s) for s in wide or self.stored]
        self.pieces = []
        for param, rows, shape, start, stop in cut:
            place = slice(start - first, stop - first)
            self.pieces.append((param, rows, grad[place].reshape(shape), update[place].reshape(shape)))

    def load(self) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
        """Collect the gradients. Returns arrays to work in: the gradient, room for the update, the state."""
        for param, rows, grad, _ in self.pieces:
            g = param._grad._array
            grad[...] = g if rows is None else g[rows]
        if self.wide:
            for state, stored in zip(self.state, self.stored):
                state[...] = stored
        return self.grad, self.update, self.state

    def values(self) -> np.ndarray:
        """The parameters' values, in the room for the update."""
        for param, rows, _, update in self.pieces:
            update[...] = param._array if rows is None else param._array[rows]
        return self.update

    def store(self, shrink: np.ndarray | None = None) -> None:
        """Multiply the parameters by ``shrink`` and subtract the update from them."""
        for param, rows, _, update in self.pieces:
            p = param._array if rows is None else param._array[rows]
            if shrink is not None:
                np.multiply(p, shrink, p)
            np.subtract(p, update, p)
        if self.wide:
            for state, stored in zip(self.state, self.stored):
                stored[...] = state


def _real(array: np.ndarray) -> np.ndarray:
    """Complex numbers as pairs of real ones, in the same memory: the methods treat both parts alike."""
    return array.view(array.real.dtype) if array.dtype.kind == "c" else array
