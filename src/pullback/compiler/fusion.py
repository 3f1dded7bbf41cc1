"""From instructions to steps: loops over many elementwise operations and sums at once, matrix products, calls of
Python.

Steps stand in a list and run in its order. An elementwise operation joins the first loop of its shape from which on all
that it needs is there, so that forward, backward and the optimizer's update of one shape become few loops. A value
exists in memory only if something outside of its loop needs it. Views cost nothing: they are other strides of the same
memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from ..core.geometry import Window
from ..kernels.codegen.llvm_ir import F32, F64, I1, Type
from ..kernels.codegen.scalar import OPERATIONS, Scalar, cast, traced, with_arguments
from .ir import Instruction, Program, Ref, Value, refs
from .lowering import convolution, recurrent, rules  # noqa: F401  (which register themselves)
from .schedule import OF, Call, Check, Kernel, Loop, Memory, Product

ndarray = np.ndarray
MOST = 240  # operations in one loop
REPEATED = 4  # operations that a loop rather does once more than it stores and another one loads what they give
SIMPLE = {"abs", "add", "and", "cast", "eq", "ge", "gt", "le", "lt", "mul", "ne", "neg", "or", "select", "sub", "xor"}


class Fusion:
    """The steps of a program.

    Attributes:
        steps: in the order in which they run.
        memory: where each value is that is in memory.
        home: the step that computes a value, for roots; -1 for inputs.
    """

    def __init__(self, program: Program, fixed: dict[int, ndarray]) -> None:
        self.program = program
        self.steps: list[Any] = []
        self.memory: dict[int, Memory] = {}
        self.home: dict[int, int] = {}
        self.inside: dict[int, int] = {}  # a value that an open loop computes -> the loop's place
        # of values that are cheap to compute: expression, arguments, type
        self.simple: dict[int, tuple[Scalar, Sequence[Any], Type]] = {}
        self.known: dict[Any, Scalar | None] = {}  # what functions do to one element of operands of some types
        self.numbers = {i.number for i in program.inputs if i.kind == "number"}
        self.random = {i.number for i in program.inputs if i.kind == "random"}
        self.checks: set[tuple[Any, ...]] = set()
        self.constants = {i.number: i.what for i in program.inputs if i.kind == "constant"}
        for i in program.inputs:
            v = program.values[i.number]
            like = fixed.get(i.number)
            self._own(i.number, np.empty(v.shape, v.dtype) if like is None else like, -1)
        for step in program.instructions:
            if not self._lower(step):
                self._call(step)

    # --- memory -------------------------------------------------------------------------------------------------

    def _own(self, number: int, like: ndarray, home: int) -> Memory:
        memory = self.memory[number] = Memory(number, like, 0)
        self.home[number] = home
        return memory

    def fresh(self, shape: tuple[int, ...], dtype: np.dtype) -> int:
        """The number of a value that the steps need besides the program's."""
        self.program.values.append(Value(shape, dtype))
        return len(self.program.values) - 1

    def in_memory(self, number: int) -> Memory:
        """Where a value is; a loop that keeps it to itself is told to store it."""
        memory = self.memory.get(number)
        if memory is None:
            loop = self.steps[self.inside[number]]
            v = self.program.values[number]
            memory = self._own(number, np.empty(v.shape, v.dtype), self.inside[number])
            loop.stores.append((loop.values[number], memory))
        return memory

    def ready(self, number: int) -> int:
        """The place from which on a value can be read from memory."""
        if number in self.memory:
            return self.home[self.memory[number].root] + 1
        return self.inside[number] + 1

    def in_memory_if(self, suits: Callable[[ndarray], bool], x: Ref) -> Memory:
        """Where a value is, or a copy of it in rows, if it does not lie as something demands."""
        memory = self.in_memory(x.number)
        if suits(memory.like):
            return memory
        v = self.program.values[x.number]
        copy, like = self.fresh(v.shape, v.dtype), np.empty(v.shape, v.dtype)
        memory = Memory(copy, like, 0)
        self._own(copy, like, self.copy_into(x.number, memory))
        return memory

    def in_rows(self, x: Ref) -> Memory:
        """Where a value is, without gaps and its last dimension the innermost."""
        return self.in_memory_if(lambda like: like.flags.c_contiguous, x)

    def value(self, x: Ref | None) -> Any:
        """What is known of a value."""
        return None if x is None else self.program.values[x.number]

    def is_zero(self, x: Ref) -> bool:
        """Whether a value is known to be 0."""
        return x.number in self.constants and not self.constants[x.number].any()

    def result(self, number: int, like: ndarray | None = None) -> Memory:
        """Memory for a value that the next step computes."""
        v = self.program.values[number]
        return self._own(number, np.empty(v.shape, v.dtype) if like is None else like, len(self.steps))

    def room(self, shape: tuple[int, ...], dtype: np.dtype, like: ndarray | None = None) -> Memory:
        """Memory for something that the next step computes besides."""
        return self.result(self.fresh(shape, dtype), like)

    def filled(self, number: int, value: float) -> Memory:
        """Memory in which a loop puts a number."""
        v = self.program.values[number]
        at = self.inside[number] = self.loop_for(v.shape, OF[v.dtype], [])
        self.steps[at].values[number] = Scalar("number", (value,), OF[v.dtype])
        return self.in_memory(number)

    def column(self, x: Ref) -> Ref:
        """A row as a column."""
        memory, v = self.in_memory(x.number), self.program.values[x.number]
        number = self.fresh((*v.shape, 1), v.dtype)
        self.memory[number] = memory.showing(memory.like[:, None])
        return Ref(number)

    def turned(self, x: Ref) -> Ref:
        """The transpose of a matrix."""
        memory, v = self.in_memory(x.number), self.program.values[x.number]
        number = self.fresh(v.shape[::-1], v.dtype)
        self.memory[number] = memory.showing(memory.like.T)
        return Ref(number)

    def written_over(self, number: int) -> Memory:
        """The memory of a value, which the next step writes over with what the value is from then on."""
        memory = self.in_memory(number)
        self.home[memory.root] = len(self.steps)
        return memory

    def filled_by(self, x: Ref, target: Memory) -> None:
        """Let a part of some memory be a copy of a value."""
        self.home[target.root] = max(self.home[target.root], self.copy_into(x.number, target))

    def checked(self, function: Callable[..., None], x: Ref, below: int, *options: Any) -> None:
        """Let a function look, in each run, at integers not all of which lie in ``range(below)``, and raise if
        something is wrong.
        """
        key = function, x.number, below, options
        if x.number in self.constants:
            function(self.constants[x.number], below, *options)
        elif key not in self.checks:
            given = self.in_memory(x.number)
            self.steps.append(Check(function, given, self.room((1,), np.dtype(np.uint64)), below, *options))
        self.checks.add(key)

    def is_checked(self, function: Callable[..., None], x: Ref, below: int, *options: Any) -> bool:
        return (function, x.number, below, options) in self.checks

    def kernel(self, name: str, function: Callable, given: Sequence[Any], written: Sequence[Memory]) -> None:
        self.steps.append(Kernel(name, function, given, written))

    def _call(self, step: Instruction) -> None:
        read = {self.in_memory(n).root for n in refs(step.args) if n not in self.numbers}
        for n in step.outs:
            v = self.program.values[n]
            self._own(n, np.empty(v.shape, v.dtype), len(self.steps))
        self.steps.append(Call(step, read))

    # --- elementwise --------------------------------------------------------------------------------------------

    def loop_for(self, shape: tuple[int, ...], kind: Type, operands: Sequence[int]) -> int:
        """The place of the first loop that can compute something of this shape from these values."""
        earliest = 0
        for n in operands:
            if n in self.numbers:
                continue
            at = self.inside.get(n)
            if at is not None and self.steps[at].shape == shape and self.steps[at].kind == kind:
                earliest = max(earliest, at)
            else:
                earliest = max(earliest, self.ready(n))
        for at in range(earliest, len(self.steps)):
            loop = self.steps[at]
            if loop.__class__ is Loop and loop.shape == shape and loop.kind == kind and len(loop.values) < MOST:
                return at
        self.steps.append(Loop(shape, kind))
        return len(self.steps) - 1

    def element(self, at: int, number: int) -> Scalar:
        """A value's element, in the loop at a place."""
        loop = self.steps[at]
        if number in self.numbers:
            return loop.number(number)
        if number in loop.values:
            return loop.values[number]
        if number not in self.memory and self._repeats(at, number):
            return self._computed(at, number, *self.simple[number][:2])
        return loop.load(self.in_memory(number))

    def _computed(self, at: int, number: int, x: Scalar, args: Sequence[Any]) -> Scalar:
        """Let a loop compute a value by an expression of the arguments."""
        x = with_arguments(x, [self.element(at, a.number) if a.__class__ is Ref else a for a in args])
        x = self.steps[at].values[number] = cast(x, self.program.values[number].dtype)
        return x

    def _repeats(self, at: int, number: int) -> bool:
        """Whether a loop should compute what an earlier one has: if that takes few operations and one load at most."""
        loop, loads, count = self.steps[at], set(), 0
        todo = [number]
        while todo and count <= REPEATED:
            n = todo.pop()
            if n in self.numbers or n in loop.values:
                continue
            if n in self.memory:
                loads.add(self.memory[n].over(loop.shape).key)
                continue
            made = self.simple.get(n)
            if made is None or made[2] != loop.kind or self.program.values[n].shape != loop.shape:
                return False
            count += 1
            todo += refs(list(made[1]))
        return count <= REPEATED and len(loads - loop.loads.keys()) <= 1

    def kind_of(self, numbers: Sequence[int]) -> Type | None:
        """The type to compute in; None if there are no loops for these types."""
        types = {OF.get(self.program.values[n].dtype) for n in numbers if n not in self.numbers}
        if None in types:
            return None
        return F64 if F64 in types else F32 if F32 in types else None

    def elementwise(self, function: Any, args: Sequence[Any], out: int, compute: np.dtype | None) -> bool:
        """Let a loop compute a function of elements; False if it can't be followed."""
        operands = list(dict.fromkeys(refs(list(args))))
        v = self.program.values[out]
        kind = self.kind_of([*operands, out]) or (
            F32
            if OF.get(v.dtype) == I1
            and all(n in self.numbers or OF.get(self.program.values[n].dtype) == I1 for n in operands)
            else None
        )
        if kind is None or 0 in v.shape or math.prod(v.shape) == 0:
            return False
        x = self._expression(function, args, kind, compute)
        if x is None:
            return False
        at = self.loop_for(v.shape, kind, operands)
        self._computed(at, out, x, args)
        self.inside[out] = at
        if _operations(x) <= REPEATED:
            self.simple[out] = x, args, kind
        return True

    def _expression(self, function: Any, args: Sequence[Any], kind: Type, compute: np.dtype | None) -> Scalar | None:
        """What a function does to one element of each argument, cast before; None if it can't be followed."""
        types = [
            None
            if a.__class__ is not Ref
            else kind
            if a.number in self.numbers
            else OF[self.program.values[a.number].dtype]
            for a in args
        ]
        given = [
            a if t is None else Scalar.argument(i, t, a.number in self.numbers)
            for i, (a, t) in enumerate(zip(args, types))
        ]
        key = function, compute, *[repr(x) if t is None else (t, x.operands) for x, t in zip(given, types)]
        if key not in self.known:
            self.known[key] = traced(lambda *given: function(*_cast(given, compute)), given)
        return self.known[key]

    def sum(self, number: int, dims: Sequence[int], out: int) -> bool:
        """Let a loop sum a value over dimensions; ``out`` has them kept, or not."""
        v = self.program.values[number]
        kind = self.kind_of([number])
        if kind is None or OF[v.dtype] == I1 or 0 in v.shape:
            return False
        at = self.loop_for(v.shape, kind, [number])
        loop, o = self.steps[at], self.program.values[out]
        memory = self._own(out, np.empty(o.shape, o.dtype), at)
        kept = memory.like.reshape([1 if d in dims else n for d, n in enumerate(v.shape)])
        loop.sums.append((self.element(at, number), Memory(out, np.broadcast_to(kept, v.shape), 0)))
        loop.clears.append(out)
        return True

    def copy_into(self, number: int, target: Memory) -> int:
        """Let a loop copy a value to a place in memory; where it does."""
        at = self.loop_for(target.like.shape, self.kind_of([number]) or F32, [number])
        self.steps[at].stores.append((self.element(at, number), target))
        return at

    # --- what each operation becomes ------------------------------------------------------------------------------

    def _lower(self, step: Instruction) -> bool:
        op, args, out = step.op, step.args, step.outs[0]
        if op.kind == "elementwise":
            return len(step.outs) == 1 and self.elementwise(
                OPERATIONS.get(op.name, op.impl), args, out, _compute(op, args, self)
            )
        if op.kind == "view":
            return self._view(step)
        if op.kind == "rule":
            outs = iter(step.outs)
            return op.of is not None and rules.rule(
                self, op.of, [next(outs) if given else None for given in op.gives], *args
            )
        if op.name in rules.FORWARD:
            return rules.FORWARD[op.name](self, step.outs, *args)
        special = getattr(self, f"_{op.name}", None) if op.kind == "general" else None
        return special is not None and bool(special(out, *args))

    def _view(self, step: Instruction) -> bool:
        (source, *options) = step.args
        if source.number in self.numbers:
            return False
        if list(refs(options)):
            return False
        memory = self.in_memory(source.number)
        views = _views(step.op, memory.like, options)
        if views is None:  # no strides describe it here, though they did where it was traced: of a copy, then
            v = self.program.values[source.number]
            between = self.fresh(v.shape, v.dtype)
            if not self._same(between, source):
                return False
            memory = self.in_memory(between)
            views = _views(step.op, memory.like, options)
            if views is None:
                return False
        for n, v in zip(step.outs, views):
            self.memory[n] = memory.showing(v) if v.size else Memory(memory.root, v, memory.offset)
        return True

    def _same(self, out: int, x: Ref) -> bool:
        return self.elementwise(lambda a: a, [x], out, None)

    def _clone(self, out: int, x: Ref, *options: Any) -> bool:
        return self._same(out, x)

    def _cast(self, out: int, x: Ref, dtype: Any) -> bool:
        return self._same(out, x)

    def _copied(self, out: int, x: Ref, other: Ref) -> bool:
        return other.number not in self.numbers and self._same(out, other)

    def _unsafe_view(self, out: int, x: Ref, shape: Any) -> bool:
        memory = self.in_memory(x.number)
        if memory.like.flags.c_contiguous:
            self.memory[out] = memory.showing(memory.like.reshape(self.program.values[out].shape))
            return True
        v = self.program.values[x.number]
        between = self.fresh(v.shape, v.dtype)
        return self._same(between, x) and self._unsafe_view(out, Ref(between), shape)

    def _sum_all(self, out: int, x: Ref, dtype: Any = None) -> bool:
        return dtype is None and self.sum(x.number, range(len(self.program.values[x.number].shape)), out)

    def _sum_dims(self, out: int, x: Ref, dims: Any, keepdim: bool, dtype: Any = None) -> bool:
        return dtype is None and self.sum(x.number, dims, out)

    def _mean(self, out: int, x: Ref, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> bool:
        from ..ops.reduce import canonical_dims

        v, o = self.program.values[x.number], self.program.values[out]
        if dtype is not None:
            return False
        dims = canonical_dims(dim, len(v.shape))
        total = self.fresh(o.shape, o.dtype)
        count = math.prod([v.shape[d] for d in dims])
        return self.sum(x.number, dims, total) and self.elementwise(lambda a: a / count, [Ref(total)], out, None)

    def _mse_loss(self, out: int, x: Ref, y: Ref, reduction: str) -> bool:
        v = self.program.values[x.number]
        if reduction == "none" or self.kind_of([x.number, y.number]) is None or 0 in v.shape:
            return False
        square, total = self.fresh(v.shape, v.dtype), self.fresh((), v.dtype)
        count = math.prod(v.shape) if reduction == "mean" else 1
        return (
            self.elementwise(lambda a, b: (a - b) * (a - b), [x, y], square, None)
            and self.sum(square, range(len(v.shape)), total)
            and self.elementwise(lambda a: a / count, [Ref(total)], out, None)
        )

    def _linalg_vector_norm(
        self, out: int, x: Ref, ord: Any = 2.0, dim: Any = None, keepdim: bool = False, dtype: Any = None
    ) -> bool:
        from ..ops.reduce import canonical_dims

        v, o = self.program.values[x.number], self.program.values[out]
        if ord != 2 or dtype is not None or self.kind_of([x.number]) is None:
            return False
        square, total = self.fresh(v.shape, v.dtype), self.fresh(o.shape, o.dtype)
        return (
            self.elementwise(lambda a: a * a, [x], square, None)
            and self.sum(square, canonical_dims(dim, len(v.shape)), total)
            and self.elementwise(np.sqrt, [Ref(total)], out, None)
        )

    def _place_part(self, out: int, x: Ref, part: Any, shape: Any, name: str = "") -> bool:
        v = self.program.values[out]
        if self.kind_of([x.number]) is None or not (
            part.__class__ is tuple or isinstance(part, Window) and part.order is None
        ):
            return False
        like = np.empty(v.shape, v.dtype)
        target = part.of(like) if isinstance(part, Window) else like[part]
        if 0 in target.shape or target.shape != self.program.values[x.number].shape:
            return False
        at = self.copy_into(x.number, Memory(out, like, 0).showing(target))
        self.steps[at].clears.append(out)
        self._own(out, like, at)
        return True

    def _read_part(self, out: int, x: Ref, part: Any, name: str = "") -> bool:
        memory = self.in_memory(x.number)
        if self.kind_of([x.number]) is None or not memory.like.flags.c_contiguous:
            return False
        seen = (
            memory.like[part]
            if part.__class__ is tuple
            else part.of(memory.like)
            if isinstance(part, Window) and part.order is None
            else None
        )
        if seen is None or 0 in seen.shape:
            return False
        between = self.fresh(seen.shape, seen.dtype)
        self.memory[between] = memory.showing(seen)
        return self._same(out, Ref(between))

    def _cat(self, out: int, tensors: list[Any], dim: int = 0) -> bool:
        v = self.program.values[out]
        if self.kind_of([t.number for t in tensors]) is None or any(
            self.program.values[t.number].dtype != v.dtype for t in tensors
        ):
            return False
        if any(
            len(self.program.values[t.number].shape) != len(v.shape) or 0 in self.program.values[t.number].shape
            for t in tensors
        ):
            return False
        ends = list(accumulate([self.program.values[t.number].shape[dim] for t in tensors], initial=0))
        return self._joined(out, tensors, dim, [slice(a, b) for a, b in pairwise(ends)])

    def _stack(self, out: int, tensors: list[Any], dim: int = 0) -> bool:
        v = self.program.values[out]
        if (
            self.kind_of([t.number for t in tensors]) is None
            or any(self.program.values[t.number].dtype != v.dtype for t in tensors)
            or 0 in v.shape
        ):
            return False
        return self._joined(out, tensors, dim, range(len(tensors)))

    def _joined(self, out: int, tensors: list[Any], dim: int, places: Sequence[Any]) -> bool:
        """Let loops copy each to its place along a dimension of the result."""
        v = self.program.values[out]
        whole = Memory(out, np.empty(v.shape, v.dtype), 0)
        before = (slice(None),) * (dim % len(v.shape))
        last = max(
            [
                self.copy_into(t.number, whole.showing(whole.like[(*before, place, ...)]))
                for t, place in zip(tensors, places)
            ]
        )
        self._own(out, whole.like, last)
        return True

    def _linear(self, out: int, x: Ref, weight: Ref, bias: Any = None) -> bool:
        w, v = self.program.values[weight.number], self.program.values[out]
        if len(w.shape) != 2 or self.kind_of([x.number, weight.number]) is None:
            return False
        if bias is None:
            return self.product(out, x, self.turned(weight))
        product = self.fresh(v.shape, v.dtype)
        return self.product(product, x, self.turned(weight)) and self.elementwise(
            lambda a, b: a + b, [Ref(product), bias], out, None
        )

    def product(self, out: int, x: Ref, y: Ref) -> bool:
        values = self.program.values
        a, b, v = values[x.number], values[y.number], values[out]
        if self.kind_of([x.number]) is None or a.dtype != b.dtype or OF[a.dtype] == I1 or 0 in a.shape or 0 in b.shape:
            return False
        at_once = len(a.shape) > 2 >= len(b.shape)  # one product of all rows
        left, right = self.in_rows(x) if at_once else self.in_memory(x.number), self.in_memory(y.number)
        p, q = left.like, right.like
        if p.ndim == 1:
            p = p[None]
        if q.ndim == 1:
            q = q[:, None]
        if at_once:
            p = p.reshape(-1, p.shape[-1])
        batch = np.broadcast_shapes(p.shape[:-2], q.shape[:-2])
        p, q = np.broadcast_to(p, batch + p.shape[-2:]), np.broadcast_to(q, batch + q.shape[-2:])
        memory = self._own(out, np.empty(v.shape, v.dtype), len(self.steps))
        laid = memory.like.reshape(batch + (p.shape[-2], q.shape[-1]))
        self.steps.append(Product(left.showing(p), right.showing(q), memory.showing(laid)))
        return True

    _matmul = product


def _views(op: Any, like: ndarray, options: Sequence[Any]) -> list[ndarray] | None:
    """What a view operation shows of an array; None if not its memory."""
    try:
        seen = op.impl(like, *options)
    except RuntimeError:
        return None
    views = list(seen) if isinstance(seen, (tuple, list)) else [seen]
    return None if any(v.size and not np.may_share_memory(v, like) for v in views) else views


def _cast(values: Sequence[Any], dtype: np.dtype | None) -> list[Any]:
    if dtype is None:
        return list(values)
    return [
        cast(v, dtype) if isinstance(v, Scalar) and v.type in OF.values() and v.dtype != dtype else v for v in values
    ]


def _operations(x: Scalar) -> float:
    """How many simple operations an expression is made of; infinity if others are among them."""
    if x.op in ("argument", "number"):
        return 0
    return 1 + sum(map(_operations, x.operands)) if x.op in SIMPLE else math.inf


def _compute(op: Any, args: Sequence[Any], fusion: Fusion) -> np.dtype | None:
    """The type that an elementwise operation casts its operands to, if they differ."""
    from .ir import computed_in

    return computed_in(op, args, fusion.program, fusion.numbers)
