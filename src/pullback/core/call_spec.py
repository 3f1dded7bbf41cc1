"""``CallSpec``: the facts about an operation's signature that a call needs, computed once.

The fast path in Python, its batched form and its machine code read the same one: what may stand in an argument's place,
and what the node saves when certain gradients are wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .op import Op

# What may stand in an argument's place. Options of elementwise operations are plain values.
TENSOR, NUMBER, NONE, OPTION, MASK = 1, 2, 4, 8, 16
Source = tuple[str, int] | None  # of a saved value: ("value", argument), ("shape", argument), ("out", result), or not


class CallSpec:
    """What a call of an operation has to know.

    Attributes:
        places: for each argument what may stand there, flags of the above; 0: anything.
    """

    def __init__(self, op: Op) -> None:
        self.op = op
        elementwise = op.kind == "elementwise"
        places = [(MASK if i in op.index_params else OPTION) if elementwise else 0 for i in range(len(op.params))]
        for i in op.tensors:
            number = op.kind != "view" and (i or elementwise)
            optional = i != op.tensors[0] and op.defaults[i] is None
            places[i] = TENSOR | (NUMBER if number else 0) | (NONE if optional and op.kind != "view" else 0)
        self.places = tuple(places)
        self._sources: dict[int, tuple[Source, ...]] = {}
        self._savers: dict[int, Callable[[Sequence[Any], Sequence[Any]], tuple[Any, ...]]] = {}
        op.on_saved_spec_change.append(self._forget)

    def _forget(self) -> None:
        self._sources.clear()
        self._savers.clear()

    def sources(self, wanted: int) -> tuple[Source, ...]:
        """Where what a node saves comes from, in the order of the operation's ``saved_names``.

        Args:
            wanted: bit i: the gradient of the i-th tensor argument is wanted.
        """
        found = self._sources.get(wanted)
        if found is None:
            found = self._sources[wanted] = tuple(
                [(kind, max(i, 0)) if users & wanted else None for kind, i, users in self.op.saved_spec]
            )
        return found

    def saver(self, wanted: int) -> Callable[[Sequence[Any], Sequence[Any]], tuple[Any, ...]]:
        """``save(values, results)``: what a node saves of the arguments' values and of the results."""
        save = self._savers.get(wanted)
        if save is None:
            save = self._savers[wanted] = self._make_saver(self.sources(wanted))
        return save

    def _make_saver(self, sources: tuple[Source, ...]) -> Callable[[Sequence[Any], Sequence[Any]], tuple[Any, ...]]:
        """All are taken by one ``itemgetter`` from a pool: None, shapes that are asked for, all values, all results."""
        shaped = [i for kind, i in filter(None, sources) if kind == "shape"]
        first = {"shape": 1, "value": 1 + len(shaped), "out": 1 + len(shaped) + len(self.op.params)}
        places = []
        for source in sources:
            kind, i = source or ("", 0)
            places.append(0 if source is None else first[kind] + (shaped.index(i) if kind == "shape" else i))
        take = itemgetter(*places) if len(places) > 1 else lambda pool: tuple([pool[i] for i in places])
        if not shaped:
            return lambda values, results: take((None, *values, *results))
        return lambda values, results: take((None, *[shape_of(values[i]) for i in shaped], *values, *results))


def shape_of(value: Any) -> Any:
    """The shape that a node saves of an argument: of a list of arrays each; () of a number."""
    return [v.shape for v in value] if value.__class__ is list else getattr(value, "shape", ())
