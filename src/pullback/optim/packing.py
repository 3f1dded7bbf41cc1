"""Parameters updated together, in flat arrays.

A NumPy call costs about half a microsecond however small its arrays are, and a method like Adam makes a dozen for
each parameter. So the state of all parameters of a group and type lives in flat arrays, one after the other, of
which each parameter's own state tensors are views; and the arithmetic runs over blocks of them:

    gradients ─► copied into the block ─► the method's formula, on whole blocks ─► subtracted from each parameter

A block holds as many whole parameters as fit, or some rows of a large one, and is small enough for all its arrays
to stay in the cache from the first operation to the last.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from operator import is_
from typing import Any

import numpy as np

from .. import dtypes
from ..op import wrap
from ..storage import written
from ..tensor import Tensor

BLOCK = 1 << 14  # elements


class Packs:
    """The packs of one optimizer, made when first asked for and remade when what they were made from has changed."""

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
        if len(fitting) == len(packs):
            return fitting
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
    """Some parameters of one type that have taken the same number of steps.

    Attributes:
        blocks: what the flat arrays are cut into.
    """

    def __init__(
        self, group: dict[str, Any], params: list[Tensor], state: defaultdict[Any, Any], names: tuple[str, ...]
    ) -> None:
        self.group, self.params, self.names = group, params, names
        dtype = params[0]._array.dtype
        sizes = [p._array.size for p in params]
        flats = {name: np.zeros(sum(sizes), dtype) for name in names}
        exact = dtypes.get_default_dtype() is dtypes.float64
        self.steps = np.zeros(len(params), np.float64 if exact else np.float32)

        self.held: list[list[Tensor]] = []  # each parameter's state tensors, in the order of its dict
        start = 0
        for i, (p, size) in enumerate(zip(params, sizes)):
            own = state[p]
            homes = {"step": self.steps[i, ...]}
            for name, flat in flats.items():
                homes[name] = flat[start : start + size].reshape(p._array.shape)
            for name, home in homes.items():
                if name in own:
                    home[...] = own[name]._array if isinstance(own[name], Tensor) else own[name]
                own[name] = wrap(home)
            self.held.append(list(own.values()))
            start += size

        self.work = _work_type(dtype)
        pieces = list(_cut(params))
        size = max((block[-1].stop - block[0].start for block in pieces), default=0)
        scratch = [np.empty(size, np.float32 if dtype.itemsize == 2 else dtype) for _ in range(2 + len(names))]
        self.blocks = [Block(block, list(flats.values()), scratch) for block in pieces]
        self.values = np.empty(16, self.work)
        self.constants = [self.values[i, ...] for i in range(16)]

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

    def constant(self, *values: float) -> list[np.ndarray]:
        """Numbers as 0-d arrays of the type of the arithmetic, with which NumPy works faster than with Python floats."""
        self.values[: len(values)] = values
        return self.constants

    def written(self) -> None:
        """Note that the parameters were written into."""
        for p in self.params:
            written(p._array)


class Piece:
    """A parameter, or some rows of it (None: all), and its place in the flat arrays."""

    __slots__ = ("param", "rows", "start", "stop", "shape")

    def __init__(self, param: Tensor, rows: slice | None, start: int, stop: int, shape: tuple[int, ...]) -> None:
        self.param, self.rows, self.start, self.stop, self.shape = param, rows, start, stop, shape


def _cut(params: list[Tensor]) -> Iterator[list[Piece]]:
    """The pieces of each block."""
    block: list[Piece] = []
    start = 0
    for p in params:
        shape = p._array.shape
        rows = shape[0] if shape else 1
        row = math.prod(shape[1:])
        many = rows if rows * row <= BLOCK else max(1, BLOCK // row)
        for first in range(0, rows if row else 0, many):
            n = min(many, rows - first)
            whole = n == rows
            piece = Piece(p, None if whole else slice(first, first + n), start, start + n * row, shape if whole else (n, *shape[1:]))
            if block and piece.stop - block[0].start > BLOCK:
                yield block
                block = []
            block.append(piece)
            start = piece.stop
    if block:
        yield block
