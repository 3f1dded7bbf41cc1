"""What a tensor holds while a function is traced: its array, and a value number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.level import LevelValue, format_level_value, wrap_value
from ..ops.fill_copy import copied, filled
from .refusal import cannot_compile

if TYPE_CHECKING:
    from .trace import Trace

ndarray = np.ndarray


def _needs_value(name: str) -> Callable[..., Any]:
    """A method of arrays that looks at their elements: refused to the traced function, not to other threads."""

    def method(self: TracedValue, *args: Any) -> Any:
        if self.level.records_here():
            self.level.refuse_value()
        return getattr(self.value, name)(*args)

    return method


class TracedValue(LevelValue):
    """An array and its value number. Other threads than the traced one see the array.

    Attributes:
        parent: of a view: what it was taken from.
        view_call: of a view: the op, its options, which of its results this is, and how many there are.
        version: of what is no view: how often its memory was written into.
        seen_version: of a view: the version of its root when its value number was found.
        input: of an input: the input.
    """

    __slots__ = ("_number", "parent", "view_call", "version", "seen_version", "input")
    outer = False
    level: Any
    input: Any

    def __init__(
        self, level: Trace, value: ndarray, number: int, parent: TracedValue | None = None, call: Any = None
    ) -> None:
        self.level, self.value, self._number, self.parent, self.view_call = level, value, number, parent, call
        self.version, self.input = 0, None
        self.seen_version = self.root.version

    def of_base(self, array: Any) -> TracedValue | None:
        return self.root if self.root.value is array else None

    @property
    def memory(self) -> ndarray:
        return self.value

    @property
    def root(self) -> TracedValue:
        """The value that owns the memory: what a view was taken from first."""
        x = self
        while x.parent is not None:
            x = x.parent
        return x

    @property
    def number(self) -> int:
        """The value number of what the memory holds now; a view of memory that was written into is taken anew."""
        version = self.root.version
        if self.parent is not None and (self.seen_version != version or self._number < self.level.first_backward_value):
            op, options, index, count = self.view_call
            program = self.level.program
            outs = tuple([program.add_value(self.value) for _ in range(count)])
            self.level.record(op, (self.level.operand(self.parent), *options), outs)
            self._number, self.seen_version = outs[index], version
        return self._number

    def __setitem__(self, key: Any, value: Any) -> None:
        level, like = self.level, wrap_value(self.value)
        if not level.records_here():
            self.value[key] = value.value if isinstance(value, TracedValue) else value
            return
        if key is not ...:
            raise cannot_compile("a write into part of an array")
        if isinstance(value, LevelValue) and value.level is not level:
            raise cannot_compile("a write of a transformed value into a tensor from outside of the transform")
        if not isinstance(value, TracedValue):
            value = (
                level.compute(filled.op, (self, value.item() if isinstance(value, np.generic) else value))
                if np.ndim(value) == 0
                else level.lift(np.asarray(value))
            )
        if value.shape != like._array.shape or value.dtype != like._array.dtype:
            value = level.compute(copied.op, (self, value))
        level.overwrite(self, value)

    def shown(self, made_by: str | None, requires_grad: bool, extra: tuple[str, ...] = ()) -> str:
        if self.level.records_here():
            self.level.refuse_value()
        return format_level_value(self.value, made_by, requires_grad, extra)

    def reshaped(self, shape: tuple[int, ...], strides: Sequence[int]) -> Any:
        raise cannot_compile("a tensor is resized")

    def reshape(self, *shape: Any) -> Any:
        return wrap_value(self).reshape(*shape)._array

    def __invert__(self) -> Any:
        return (~wrap_value(self))._array

    def item(self, *index: Any) -> Any:
        if index or not self.level.records_here():
            return _needs_value("item")(self, *index)
        return self.level.take_item(self)

    tolist, tobytes, __array__ = map(_needs_value, ("tolist", "tobytes", "__array__"))
    __bool__, __float__, __int__, __index__ = map(_needs_value, ("__bool__", "__float__", "__int__", "__index__"))
    __lt__, __le__, __gt__, __ge__ = map(_needs_value, ("__lt__", "__le__", "__gt__", "__ge__"))
    __eq__, __getitem__, __iter__ = map(_needs_value, ("__eq__", "__getitem__", "__iter__"))
    __hash__ = object.__hash__

    def numpy(self) -> ndarray:
        if self.level.records_here():
            self.level.refuse_value()
        return self.value

    def __getattr__(self, name: str) -> Any:
        """Attributes of arrays beyond shape and dtype."""
        if name.startswith("_") or name == "truth":
            raise AttributeError(name)
        if self.level.records_here():
            self.level.refuse_value()
        return getattr(self.value, name)
