"""Running a function once while writing down what it computes.

A :class:`Trace` is a level (:mod:`pullback.core.level`) that every operation of its thread goes through. A tensor that
it knows holds a :class:`Traced` value: the array itself, with which everything goes on as ever, and the number of the
value in the program that is being written. So shapes and types, and what the function decides by them, need no rules of
their own; what is decided by the numbers in a tensor would be wrong the next time, and is refused.

Memory becomes values: a write gives the tensor the number of its new contents, and views look up what they show when
they are next used.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from os.path import dirname
from typing import Any

import numpy as np

from ..base import thread_state
from ..core import conj_views, versions, views
from ..core.graph import source_line, user_frame
from ..core.level import Level, LevelValue, wrap_value
from ..core.tensor import Tensor
from ..ops import slices
from ..ops.complex import conj_view, elementwise_conj, paired, view_as_real
from ..ops.fill_copy import copied, filled
from .ir import DRAWS, Input, Instruction, Program, Ref, Value, refs, replaced

ndarray = np.ndarray
NUMPY = dirname(np.__file__)


class CannotCompile(RuntimeError):
    """Something in a function that can't be written down once and for all."""


def refuse(what: str, way_out: str = "") -> CannotCompile:
    """The error, naming the user's line."""
    frame = user_frame(sys._getframe(1))
    while frame is not None and frame.f_code.co_filename.startswith(NUMPY):
        frame = user_frame(frame.f_back)
    where = "" if frame is None else f" at {frame.f_code.co_filename}:{frame.f_lineno}"
    error = CannotCompile(f"compile: {what}{where}")
    error.add_note(
        "  " + (way_out or "Move it out of the compiled function, or run it as it is: compile(fn, fallback=True).")
    )
    return error


class Traced(LevelValue):
    """An array and its number in the program.

    Attributes:
        parent, how: of a view: what it was taken from, and the operation, its options and which of its results this is.
        writes: of what is no view: how often it was written into.
        seen: of a view: the writes into the memory at its bottom when its number was found.
        source: of an input: the input.
    """

    __slots__ = ("_number", "parent", "how", "writes", "seen", "source")
    outer = False
    level: Any
    source: Any

    def __init__(
        self, level: Trace, value: ndarray, number: int, parent: Traced | None = None, how: Any = None
    ) -> None:
        self.level, self.value, self._number, self.parent, self.how = level, value, number, parent, how
        self.writes, self.source = 0, None
        self.seen = self.bottom.writes

    @property
    def bottom(self) -> Traced:
        x = self
        while x.parent is not None:
            x = x.parent
        return x

    @property
    def number(self) -> int:
        """The number of what the memory holds now."""
        writes = self.bottom.writes
        if self.parent is not None and self.seen != writes:
            op, options, index, count = self.how
            program = self.level.program
            outs = tuple([program.new(self.value) for _ in range(count)])
            self.level.write_down(op, (Ref(self.parent.number), *options), outs)
            self._number, self.seen = outs[index], writes
        return self._number

    def __setitem__(self, key: Any, value: Any) -> None:
        if key is not ...:
            raise refuse("a write into part of an array")
        level, like = self.level, wrap_value(self.value)
        if isinstance(value, LevelValue) and value.level is not level:
            raise refuse("a write of a transformed value into a tensor from outside of the transform")
        if not isinstance(value, Traced):
            value = (
                level.compute(filled.op, (self, value.item() if isinstance(value, np.generic) else value))
                if np.ndim(value) == 0
                else level.known(np.asarray(value))
            )
        if value.shape != like._array.shape or value.dtype != like._array.dtype:
            value = level.compute(copied.op, (self, value))
        level.overwrite(self, value)

    def _needs_value(self, *args: Any, **kwargs: Any) -> Any:
        self.level.refuse_value()

    def reshape(self, *shape: Any) -> Any:
        return wrap_value(self).reshape(*shape)._array

    def __invert__(self) -> Any:
        return (~wrap_value(self))._array

    item = tolist = tobytes = numpy = __array__ = __bool__ = __float__ = __int__ = __index__ = _needs_value
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __getitem__ = __iter__ = _needs_value
    __hash__ = object.__hash__

    def __getattr__(self, name: str) -> Any:
        """What arrays have beyond shapes and types."""
        if name.startswith("_"):
            raise AttributeError(name)
        return self._needs_value()


class Number(float):
    """A number that is another one at every call: a learning rate, and what is computed from it.

    Attributes:
        source: the expression in Python that gives it.
    """

    source: str
    trace: Trace

    @staticmethod
    def of(trace: Trace, value: float, source: str) -> Number:
        self = Number(value)
        self.trace, self.source = trace, source
        return self

    def __neg__(self) -> Number:
        return Number.of(self.trace, -float(self), f"(-{self.source})")

    def __bool__(self) -> bool:
        return self != 0

    __hash__ = float.__hash__


def _source(x: Any) -> str:
    return x.source if isinstance(x, Number) else repr(x)


def _arithmetic(name: str, sign: str) -> None:
    plain = getattr(float, name)

    def forward(self: Number, other: Any) -> Any:
        value = plain(self, other) if isinstance(other, (int, float)) else NotImplemented
        return (
            value
            if value is NotImplemented
            else Number.of(self.trace, value, f"({self.source} {sign} {_source(other)})")
        )

    reflected = getattr(float, f"__r{name[2:]}")

    def backward(self: Number, other: Any) -> Any:
        value = reflected(self, other) if isinstance(other, (int, float)) else NotImplemented
        return (
            value
            if value is NotImplemented
            else Number.of(self.trace, value, f"({_source(other)} {sign} {self.source})")
        )

    setattr(Number, name, forward)
    setattr(Number, f"__r{name[2:]}", backward)


def _comparison(name: str, sign: str) -> None:
    plain = getattr(float, name)

    def compare(self: Number, other: Any) -> Any:
        value = plain(self, other)
        if value is not NotImplemented:
            self.trace.conditions.append(f"({self.source} {sign} {_source(other)}) is {value}")
        return value

    setattr(Number, name, compare)


for _name, _sign in {"__add__": "+", "__sub__": "-", "__mul__": "*", "__truediv__": "/", "__pow__": "**"}.items():
    _arithmetic(_name, _sign)
for _name, _sign in {
    "__lt__": "<",
    "__le__": "<=",
    "__gt__": ">",
    "__ge__": ">=",
    "__eq__": "==",
    "__ne__": "!=",
}.items():
    _comparison(_name, _sign)


# Operations whose rules are kernels of their own, on arrays.
WITH_KERNELS = {
    "cross_entropy",
    "elman",
    "flash_attention",
    "gru",
    "log_softmax",
    "lstm",
    "scaled_dot_product_attention",
    "softmax",
    "standardize",
}


class Rule:
    """A derivative rule as an operation.

    Attributes:
        of: the operation whose rule it is, if one's.
        gives: for each gradient that the rule is about, whether there is one.
    """

    kind, listed = "rule", False

    def __init__(self, name: str, impl: Callable, of: Any, gives: Sequence[bool]) -> None:
        self.name, self.impl, self.of, self.gives = name, impl, of, gives


def values_of(x: Any) -> Any:
    """What tensors hold, alone or in tuples and lists."""
    if x.__class__ in (tuple, list):
        return x.__class__([values_of(v) for v in x])
    return x._array if isinstance(x, Tensor) else x


# What computes another shape for other numbers of the same shape.
SHAPED_BY_VALUES = {
    "nonzero",
    "masked_select",
    "unique",
    "unique_consecutive",
    "argwhere",
    "bincount",
    "repeat_interleave",
}


class Trace(Level):
    """The writing down of one run.

    Attributes:
        program: what was written.
        tensors_known: the tensors from outside that the function may use, and the arrays they held.
        conditions: expressions in Python that have to be true for the program to hold.
        names: what these refer to. name_of: the names, by identity.
        cleared: tensors whose ``.grad`` was dropped.
        without: tensors of which the function saw that ``.grad`` is None.
        leaves: tensors into whose ``.grad`` the function accumulated, in order.
        once: why the program does not serve a second time, if so.
        seeded: whether a generator of random numbers was set.
        in_order: whether random numbers are drawn in between, as all after them have to be.
    """

    def __init__(self) -> None:
        self.program = Program()
        self.roots: list[Traced] = []
        self.of_array: dict[int, tuple[ndarray, Traced]] = {}
        self.tensors_known: dict[int, tuple[Tensor, ndarray]] = {}
        self.conditions: list[str] = []
        self.names: dict[str, Any] = {}
        self.name_of: dict[int, str] = {}
        self.cleared: dict[int, Tensor] = {}
        self.leaves: dict[int, tuple[Tensor, Any]] = {}
        self.without: dict[int, Tensor] = {}
        self.numbers: dict[str, int] = {}
        self.advances: list[Any] = []
        self.settings: list[tuple[dict[str, Any], dict[str, Any]]] = []  # optimizers' groups, and their options before
        self.before: dict[int, tuple[ndarray, ndarray]] = {}
        self.once, self.seeded, self.in_order = "", False, False

    def __enter__(self) -> Trace:
        super().__enter__()
        thread_state.local.trace = self
        views.before_write.append(self._before_write)
        return self

    def __exit__(self, *exc: object) -> None:
        thread_state.local.trace = None
        views.before_write.remove(self._before_write)
        super().__exit__(*exc)
        for tensor, array in self.tensors_known.values():
            tensor._array = array

    def ended(self, tensor: Tensor) -> None:
        tensor._array = tensor._array.value

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Inside, operations compute and are not written down."""
        with thread_state.no_grad():
            thread_state.local.trace = None
            try:
                yield
            finally:
                thread_state.local.trace = self

    def refuse_value(self) -> None:
        """Somebody wants to know what is in a tensor."""
        raise refuse(
            "the value of a tensor is asked for, which is not the same at every call",
            "Choose between values by torch.where, and return what is to be looked at.",
        )

    # --- inputs -------------------------------------------------------------------------------------------------

    def input(self, array: ndarray, kind: str, what: Any, name: str) -> Traced:
        """An array as an input of the program."""
        x = Traced(self, array, self.program.new(array))
        x.source = Input(x._number, kind, what, name)
        self.program.inputs.append(x.source)
        for other in self.roots:
            if other.writes:
                self.apart(other, x)
        self.roots.append(x)
        self.of_array[id(array)] = array, x
        return x

    def keep_state(self, optimizer: Any, tensor: Tensor, names: Iterable[str], counters: Iterable[str] = ()) -> None:
        """What an optimizer remembers of a tensor has to be the same objects at later calls; the tensors in it are
        inputs.
        """
        own = optimizer.state[tensor]
        own_name = self.name(own, "own")
        self.conditions.append(
            f"{self.name(optimizer.state, 'state')}.get({self.name(tensor, 'tensor')}) is {own_name}"
        )
        self.conditions += [f"{own_name}[{name!r}] is {self.name(own[name], 'kept')}" for name in (*names, *counters)]
        for name in names:
            self.know(own[name], "tensor", own[name], name)

    def know(self, tensor: Tensor, kind: str, what: Any, name: str) -> None:
        """Let a tensor from outside hold a traced value until the trace ends."""
        array = tensor._array
        if id(tensor) in self.tensors_known or not isinstance(array, ndarray):
            return
        self.tensors_known[id(tensor)] = tensor, array
        known = self.of_array.get(id(array))
        tensor._array = self.input(array, kind, what, name) if known is None else known[1]

    def known(self, array: ndarray) -> Traced:
        """An array that turned up: a constant, unless it is an input's."""
        found = self.of_array.get(id(array))
        return found[1] if found is not None else self.input(array, "constant", array, "constant")

    def drawn(self, make: Callable[[], ndarray]) -> Traced:
        """Random numbers, drawn anew at every call: before all else, unless others come before them that can't be."""
        if self.in_order:
            return self.drawn_by([], make)
        self.draws()
        with self.paused():
            array = make()
        return self.input(array, "random", make, "random")

    def drawn_by(self, parameters: Sequence[Any], draw: Callable[..., ndarray]) -> Traced:
        """Random numbers that depend on values, drawn anew at every call."""
        self.draws(in_between=True)
        with self.paused():
            array = draw(*self.concrete(list(parameters)))
        out = self.program.new(array)
        self.write_down(Rule("draw", draw, None, [True]), self.operand(tuple(parameters)), (out,))
        return Traced(self, array.copy("K"), out)

    def draws(self, in_between: bool = False) -> None:
        """Random numbers are drawn, perhaps in between instructions."""
        if self.seeded:
            raise refuse("random numbers are drawn after their generator was set")
        self.in_order |= in_between

    def seed(self) -> None:
        """A generator of random numbers is set, from which nothing may come."""
        self.seeded = True
        if self.program.draws():
            raise refuse("a generator is set that random numbers were drawn from")

    def number_of(self, number: Number) -> int:
        found = self.numbers.get(number.source)
        if found is None:
            array = np.array(float(number))
            found = self.numbers[number.source] = self.program.new(array)
            self.program.inputs.append(Input(found, "number", number.source, f"number {number.source}"))
        return found

    # --- instructions -------------------------------------------------------------------------------------------

    def write_down(self, op: Any, args: tuple[Any, ...], outs: tuple[int, ...]) -> None:
        frame = user_frame(sys._getframe(1))
        line = None if frame is None else source_line(frame.f_code, frame.f_lasti)
        self.program.instructions.append(Instruction(op, args, outs, line))

    def operand(self, v: Any) -> Any:
        """An argument as it is written down."""
        if isinstance(v, Traced):
            return Ref(v.number)
        if isinstance(v, ndarray):
            return Ref(self.known(v).number)
        if isinstance(v, Number):
            return Ref(self.number_of(v))
        if v.__class__ in (list, tuple):
            return v.__class__([self.operand(w) for w in v])
        return v

    def concrete(self, v: Any) -> Any:
        """An argument to compute with."""
        if isinstance(v, Traced):
            return v.value
        if isinstance(v, Number):
            return float(v)
        if v.__class__ in (list, tuple):
            return v.__class__([self.concrete(w) for w in v])
        return v

    def compute(self, op: Any, values: Sequence[Any], outer: bool = False) -> Any:
        if (
            op.name in SHAPED_BY_VALUES
            or op.name == "index"
            and any([i.dtype.kind == "b" for i in values[1] if not isinstance(i, slice)])
        ):
            raise refuse(f"the shape of what {op.name} gives depends on values")
        if op.name in DRAWS:
            self.draws(in_between=True)
        given = [self.concrete(v) for v in values]
        args = tuple([self.operand(v) for v in values])
        with self.paused():
            out = op.call(
                *[
                    [wrap_value(w) for w in v]
                    if i == 0 and op.takes_tensor_list
                    else wrap_value(v)
                    if isinstance(v, ndarray) and i in op.tensors
                    else v
                    for i, v in enumerate(given)
                ]
            )
        several = isinstance(out, (tuple, list))
        arrays = [o._array for o in (out if several else [out])]
        if op.kind != "view":  # results that are an operand's own memory would not be another tensor's
            owners = {id(versions.owner_of(v)) for v in given if isinstance(v, ndarray)}
            arrays = [a.copy("K") if id(versions.owner_of(a)) in owners else a for a in arrays]
        outs = tuple([self.program.new(a) for a in arrays])
        written = elementwise_conj.op if op is conj_view.op else op  # values share no memory
        self.write_down(written, args, outs)
        parent = None
        if op.kind == "view":
            parent = values[0] if isinstance(values[0], Traced) else self.known(values[0])
        results = [
            Traced(self, a, n, parent, (written, args[1:], i, len(outs))) for i, (a, n) in enumerate(zip(arrays, outs))
        ]
        return results if several else results[0]

    def takes_whole(self, node: Any, g: Any, saved: tuple[Any, ...]) -> bool:
        """Whether a rule is better one instruction, for it is a kernel of its own: in first derivatives, which are
        arrays.
        """
        values = [*(g if g.__class__ is tuple else (g,)), *saved]
        lifted = [v for v in values if isinstance(v, LevelValue)]
        return (
            getattr(node._op, "name", "") in WITH_KERNELS
            and not any([isinstance(v, Tensor) for v in values])
            and len(lifted) > 0
            and all([v.level is self for v in lifted])
        )

    def pull(self, pull: Callable, node: Any, g: Any, saved: tuple[Any, ...], edges: Sequence[Any]) -> Any:
        """A node's rule that looks at values: one instruction."""
        several = g.__class__ is tuple
        g, saved, pull = values_of(g), values_of(saved), getattr(pull, "on_arrays", pull)

        def on_arrays(*given: Any) -> list[Any]:
            g, saved = given
            return [r for r in pull(node, g, saved, edges) if r is not None]

        args = (list(g) if several else g, list(saved))
        with self.paused():
            concrete = self.concrete(args)
            concrete = (tuple(concrete[0]) if several else concrete[0], tuple(concrete[1]))
            found = pull(node, *concrete, edges)
            arrays = [np.asarray(r._array if isinstance(r, Tensor) else r) for r in found if r is not None]
        outs = tuple([self.program.new(a) for a in arrays])
        rule = Rule(
            node.name(),
            lambda g, saved: on_arrays(tuple(g) if several else g, tuple(saved)),
            node._op,
            [r is not None for r in found],
        )
        self.write_down(rule, self.operand(args), outs)
        results = iter([wrap_value(Traced(self, a.copy("K"), n)) for a, n in zip(arrays, outs)])
        return [None if r is None else next(results) for r in found]

    def derive(self, function: Callable, arrays: Sequence[Any]) -> Any:
        """Write down, as one instruction, a function of arrays."""
        out = function(*self.concrete(list(arrays)))
        found = list(out) if out.__class__ in (list, tuple) else [out]
        outs = tuple([self.program.new(a) for a in found])
        self.write_down(Rule(function.__name__, function, None, [True] * len(outs)), self.operand(tuple(arrays)), outs)
        results = [Traced(self, a.copy("K"), n) for a, n in zip(found, outs)]
        return out.__class__(results) if out.__class__ in (list, tuple) else results[0]

    def change(self, name: str, change: Callable, written: Sequence[Tensor], *given: Any) -> None:
        """Write down, as one instruction, a function that changes some arrays, by others and numbers."""

        def changed(before: Sequence[ndarray], given: Sequence[Any]) -> list[ndarray]:
            arrays = [a.copy("K") for a in before]
            change(*arrays, *given)
            return arrays

        args = ([t._array for t in written], values_of(list(given)))
        after = changed(*self.concrete(args))
        outs = tuple([self.program.new(a) for a in after])
        self.write_down(Rule(name, changed, None, [True] * len(outs)), self.operand(args), outs)
        for t, array, number in zip(written, after, outs):
            self.overwrite(t._array, Traced(self, array, number))

    def for_each(
        self,
        given: Sequence[Sequence[Tensor]],
        record: Callable[[int], None],
        compute: Callable[[Sequence[Sequence[ndarray]]], bool | None],
    ) -> None:
        """Write down what is done, element by element, to each of several lists of tensors: as it is to the first, with
        other numbers.

        Args:
            record: does it to one of the lists.
            compute: does it to arrays in the place of some lists, and says whether it could.
        """
        arrays = [[t._array for t in own] for own in given]
        every = [x for own in arrays for x in own]
        apart = len({*map(id, every)}) == len(every) and all([isinstance(x, Traced) for x in every])
        numbers = [[x.number for x in own] for own in arrays] if apart else []
        start = len(self.program.instructions)
        record(0)
        steps = self.program.instructions[start:]
        if apart and len(given) > 1 and self._is_of_elements(steps, numbers[0]):
            after = {k: x.number for k, x in enumerate(arrays[0]) if x.number != numbers[0][k]}
            changed = [own[k] for own in arrays[1:] for k in after]
            jobs = [
                [x.value if k in after else np.ascontiguousarray(x.value) for k, x in enumerate(own)]
                for own in arrays[1:]
            ]
            for x in changed:
                self.remember(x.value)
            if all([x.parent is None for x in changed]) and compute(jobs):
                for own, mine in zip(arrays[1:], numbers[1:]):
                    made = self._again(steps, dict(zip(numbers[0], mine)))
                    for k, n in after.items():
                        own[k]._number, own[k].writes = made[n], own[k].writes + 1
                versions.bump_version(*[x.value for x in changed])
                return
        for i in range(1, len(given)):
            record(i)

    def _is_of_elements(self, steps: Sequence[Instruction], given: Sequence[int]) -> bool:
        """Whether instructions take nothing but some values, numbers, and what they gave, all of one shape."""
        values, outs = self.program.values, [n for step in steps for n in step.outs]
        known, shape = {*given, *outs, *self.numbers.values()}, values[given[0]].shape
        return (
            len({*given}) == len(given)
            and all([values[n].shape == shape for n in (*given, *outs)])
            and all([n in known for step in steps for n in refs(step.args)])
        )

    def _again(self, steps: Sequence[Instruction], numbers: dict[int, int]) -> dict[int, int]:
        """Write instructions down once more, with other values in the place of some; the numbers with those of
        results.
        """
        values = self.program.values
        shape = values[next(iter(numbers.values()))].shape
        for step in steps:
            args = tuple([replaced(a, lambda n: Ref(numbers.get(n, n))) for a in step.args])
            outs = tuple(range(len(values), len(values) + len(step.outs)))
            values += [Value(shape, values[n].dtype) for n in step.outs]
            numbers.update(zip(step.outs, outs))
            self.program.instructions.append(Instruction(step.op, args, outs, step.line))
        return numbers

    # --- writes -------------------------------------------------------------------------------------------------

    def overwrite(self, x: Traced, value: Traced) -> None:
        """Give the memory of ``x`` the contents ``value``."""
        bottom = x.bottom
        if not bottom.writes:
            for other in self.roots:
                self.apart(other, bottom)
        self.remember(bottom.value)
        number = value.number
        if x is bottom:
            bottom._number = number
        else:
            before, turned = bottom, conj_views.differ_in_conj(bottom.value, x.value)
            if turned:
                before = self.same(bottom.value, elementwise_conj.op, before)
            pairs = bottom.value.dtype.kind == "c" != x.value.dtype.kind
            if pairs:
                before = self.same(view_as_real.op.impl(bottom.value), view_as_real.op, before)
            where = slices.part_of_view(before.value, x.value)
            after = self.same(before.value, slices.write_part.op, before, Ref(number), where, "CopySlices")
            if pairs:
                after = self.same(bottom.value, paired.op, after)
            bottom._number = (self.same(bottom.value, elementwise_conj.op, after) if turned else after).number
        bottom.writes += 1
        x.value[...] = value.value

    def apart(self, one: Traced, other: Traced) -> None:
        """Two inputs, of which one is written into, must not lie in the same memory."""
        if one is not other and np.may_share_memory(one.value, other.value):
            raise refuse("a tensor is written into that shares memory with another")

    def same(self, value: ndarray, op: Any, x: Traced, *options: Any) -> Traced:
        """Write down an operation on ``x``, whose result is said to lie where ``value`` does."""
        out = self.program.new(value)
        self.write_down(op, (Ref(x.number), *options), (out,))
        return Traced(self, value, out)

    def remember(self, array: ndarray) -> None:
        """Keep the contents of memory that is about to be written into, to put it back should the run fail."""
        owner = versions.owner_of(array)
        if id(owner) not in self.before:
            self.before[id(owner)] = owner, owner.copy("K")

    def undo(self) -> None:
        """Put everything back as it was."""
        for owner, copy in self.before.values():
            owner[...] = copy

    def forget(self) -> None:
        """Let go of the values of the run, which refer back: while a level has values, every operation takes the slow
        path.
        """
        for values in (self.roots, self.of_array, self.leaves, self.cleared, self.without, self.numbers):
            values.clear()

    def _before_write(self, array: Any) -> None:
        """A constant is about to be written into: the program keeps what it was."""
        if isinstance(array, ndarray):
            found = self.of_array.get(id(array))
            if found is not None:
                for i in self.program.inputs:
                    if i.what is array and i.kind == "constant":
                        i.what = array.copy("K")
                del self.of_array[id(array)]

    def raised(self, array: ndarray) -> Traced:
        """A tensor made during the run, which is to be written into, as a value."""
        return self.input(array, "constant", array.copy("K"), "constant")

    def raised_view(self, base: Tensor, view: ndarray) -> Traced:
        base._array = self.raised(base._array)
        where = slices.part_of_view(base._array.value, view)
        how = slices.read_part.op, (where, "AsStridedBackward0"), 0, 1
        out = self.program.new(view)
        self.write_down(how[0], (Ref(base._array.number), *how[1]), (out,))
        return Traced(self, view, out, base._array, how)

    # --- gradients ----------------------------------------------------------------------------------------------

    def accumulate(self, leaf: Tensor, g: Traced) -> None:
        """Add to ``leaf.grad``."""
        old = leaf._grad
        self.leaves.setdefault(id(leaf), (leaf, old))
        if old is None:
            leaf._grad = self.track(wrap_value(Traced(self, g.value.copy("K"), g.number)))
        else:
            with thread_state.no_grad():
                old.add_(wrap_value(g))

    def looked_at(self, leaf: Tensor) -> None:
        """Whether there is a ``leaf.grad`` is decided upon."""
        if leaf._grad is None and id(leaf) in self.tensors_known and id(leaf) not in self.cleared:
            self.without[id(leaf)] = leaf

    # --- numbers ------------------------------------------------------------------------------------------------

    def name(self, thing: Any, stem: str) -> str:
        """A name for something that expressions refer to."""
        name = self.name_of.setdefault(id(thing), f"{stem}{len(self.names)}")
        self.names[name] = thing
        return name

    def options(self, optimizer: Any, group: dict[str, Any]) -> dict[str, Any]:
        """The options of a group, whose numbers may change from call to call."""
        group_name, found = self.name(group, "group"), {}
        place = next(i for i, g in enumerate(optimizer.param_groups) if g is group)
        name = self.name(optimizer, "optimizer")
        self.conditions.append(
            f"{name}.state is {self.name(optimizer.state, 'state')} and {name}.param_groups[{place}] is {group_name}"
        )
        for p in group["params"]:
            self.looked_at(p)
        self.settings.append((group, {k: v for k, v in group.items() if k != "params"}))
        for key, value in group.items():
            if value.__class__ is float or value.__class__ is int:
                value = Number.of(self, value, f"{group_name}[{key!r}]")
            elif value.__class__ is tuple and all(v.__class__ is float for v in value):
                value = tuple([Number.of(self, v, f"{group_name}[{key!r}][{i}]") for i, v in enumerate(value)])
            elif isinstance(value, (bool, str, type(None))):
                self.conditions.append(f"{group_name}[{key!r}] is {self.name(value, 'option')}")
            found[key] = value
        return found

    def counting(self, count: Callable[[], tuple[tuple[Any, ...], Callable[[], None]]]) -> tuple[Any, ...]:
        """Numbers that a function gives anew for each call, with what to call when that has succeeded."""
        name = f"counted{len(self.advances)}"
        values, taken = count()
        self.advances.append((name, count, taken))
        return tuple(
            [Number.of(self, v, f"{name}[{i}]") if isinstance(v, (int, float)) else v for i, v in enumerate(values)]
        )

    def clear(self, leaf: Tensor) -> None:
        """``leaf.grad`` is about to be dropped."""
        if id(leaf) not in self.leaves:
            self.cleared[id(leaf)] = leaf
