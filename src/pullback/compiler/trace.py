"""Tracing: a function runs once on concrete values, and every op it calls is recorded as an instruction.

A :class:`Trace` is a level (:mod:`pullback.core.level`) that every op of its thread goes through. A tensor that it
knows holds a :class:`TracedValue` (JAX: tracer): the array itself, with which everything goes on as ever, and its value
number in the program. So shapes and types, and control flow that depends on them, need no rules of their own. Control
flow that depends on the contents of a tensor would be wrong at the next call, and is refused.

Programs are functional: a write into memory gives the tensor a new value number, and views of that memory are taken
anew when they are next used.
"""

from __future__ import annotations

import sys
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import get_ident
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from ..base import thread_state
from ..base.dtypes import COMPLEX_KINDS
from ..core import conj_views, versions, views
from ..core.graph import source_line, user_frame
from ..core.level import Level, LevelValue, wrap_value
from ..core.tensor import Tensor
from ..ops import attention, cross_entropy, normalization, recurrent, slices, slicing_views, softmax
from ..ops.arithmetic import neg
from ..ops.complex import conj_view, elementwise_conj, neg_view, paired, view_as_real
from .foreach import trace_foreach
from .ir import Cut, Input, Instruction, OpaqueOp, Program, Ref, has_shape_by_values
from .refusal import CannotCompile, cannot_compile, users_place
from .sym_float import SymFloat
from .sym_item import SymItem
from .traced_value import TracedValue

ndarray = np.ndarray

# Ops whose vjps have kernels of their own, and are recorded as one opaque instruction. Most have a `vjp_lowering`; that
# table can't be asked, as lowerings need llvmlite.
TURNED = {conj_view.op: elementwise_conj.op, neg_view.op: neg.op}  # views of another sign, as values
OPAQUE_VJPS = {
    fn.op
    for fn in (
        attention._attention,
        attention._flash,
        cross_entropy._cross_entropy,
        normalization._standardize,
        recurrent.elman,
        recurrent.gru,
        recurrent.lstm,
        softmax._log_softmax,
        softmax._softmax,
    )
}


def values_of(x: Any) -> Any:
    """The arrays and level values of tensors, alone or in tuples and lists."""
    if x.__class__ in (tuple, list):
        return x.__class__([values_of(v) for v in x])
    return x._array if isinstance(x, Tensor) else x


class MemoryRanges:
    """Values by where in memory they begin and end, to find those that share some."""

    def __init__(self) -> None:
        self._starts: list[int] = []  # sorted, as are:
        self._ranges: list[tuple[int, TracedValue]] = []  # where each ends, and the value
        self._longest = 0

    def add(self, low: int, high: int, x: TracedValue) -> None:
        at = bisect_right(self._starts, low)
        self._starts.insert(at, low)
        self._ranges.insert(at, (high, x))
        self._longest = max(self._longest, high - low)

    def refuse_overlap(self, low: int, high: int, x: TracedValue) -> None:
        """Raise if ``x`` shares memory with another, and one of them is written into: their order would matter."""
        first, last = bisect_left(self._starts, low - self._longest), bisect_left(self._starts, high)
        if any([low < end and other is not x for end, other in self._ranges[first:last]]):
            raise cannot_compile("a tensor is written into that shares memory with another")


class Trace(Level):
    """Records one run of a function.

    Attributes:
        program: what was recorded.
        roots: values that own memory from outside of the trace, and constants.
        bounds: where in memory roots, and what was written into, begin and end, by identity.
        memory: the same, by address. written: of those that were written into.
        known_tensors: the tensors from outside that the function may use, and the arrays they held.
        guards: Python expressions that have to be true for the program to hold.
        names: the objects that these refer to. name_of: the names, by identity.
        cleared_grads: tensors whose ``.grad`` was dropped. cleared_first: those where that came before all else.
        absent_grads, present_grads: tensors of which the function saw that ``.grad`` is None, or is not.
        accumulated: tensors into whose ``.grad`` the function accumulated, in order, with the gradients before.
        sym_floats: the numbers of inputs that are symbolic floats, by expression.
        per_call: for each set of numbers computed anew at each call: a name, what computes them, and what to call when
            the call has succeeded.
        group: the group of parameters whose update is traced.
        counting: the ids of groups that have computed such numbers.
        option_snapshots: optimizers' groups, and their options when they were read.
        saved_contents: memory that was written into, and what was in it before (0: nothing else).
        single_use: why the program does not hold for a second call, if so.
        seeded: whether a generator of random numbers was set.
        draws_in_order: whether random numbers are drawn by an instruction, so that later draws have to come after it.
        refusal: why it can't be compiled, if something was refused.
        first_backward_value: while the backward pass of the results is traced: values with lower numbers are saved.
        saved: those of them that it uses, by number: traced values and numbers.
        thread: whose calls are recorded.
        outside: the ids of objects that are there before the call.
        hidden: the ids of arguments that have a history, which the function does not see.
        may_cut: whether the program may hold for certain values in tensors only.
        cuts: where numbers decide what comes after, in order.
        items: the expressions of numbers taken out of tensors, by value number.
        branches: the user's line at which the program first came to depend on values.
        last_c_function: says which function in C was called last.
        types_are_read: says whether code names ``type``, to which symbolic numbers are no floats.
    """

    def __init__(self, may_cut: bool = False, any_size: bool = False) -> None:
        self.may_cut = may_cut
        self.cuts: list[Cut] = []
        self.items: dict[int, str] = {}
        self.branches = ""
        self.last_c_function: Callable[[], Any] = lambda: None
        self.types_are_read: Callable[[], bool] = lambda: False
        self.program = Program(any_size=any_size)
        self.roots: list[TracedValue] = []
        self.bounds: dict[int, tuple[int, int, TracedValue]] = {}
        self.memory, self.written = MemoryRanges(), MemoryRanges()
        self.value_of_array: dict[int, tuple[ndarray, TracedValue]] = {}
        self.known_tensors: dict[int, tuple[Tensor, ndarray]] = {}
        self.guards: list[str] = []
        self.names: dict[str, Any] = {}
        self.name_of: dict[int, str] = {}
        self.cleared_grads: dict[int, Tensor] = {}
        self.cleared_first: list[Tensor] = []
        self.accumulated: dict[int, tuple[Tensor, Any]] = {}
        self.absent_grads: dict[int, Tensor] = {}
        self.present_grads: dict[int, Tensor] = {}
        self.sym_floats: dict[str, int] = {}
        self.per_call: list[Any] = []
        self.group: Any = None
        self.counting: set[int] = set()
        self.option_snapshots: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self.saved_contents: dict[int, tuple[ndarray, Any]] = {}
        self.single_use, self.seeded, self.draws_in_order = "", False, False
        self.refusal: CannotCompile | None = None
        self.first_backward_value = 0
        self.saved: dict[int, Any] = {}
        self.thread = get_ident()
        self.hidden: set[int] = set()
        self.outside: set[int] = set()

    def records_here(self) -> bool:
        """Whether what runs is the traced function: the trace goes on, in this thread."""
        return self.live and self.thread == get_ident()

    def __enter__(self) -> Trace:
        super().__enter__()
        thread_state.local.trace = self
        views.before_write.append(self._before_write)
        return self

    def __exit__(self, *exc: object) -> None:
        thread_state.local.trace = None
        views.before_write.remove(self._before_write)
        super().__exit__(*exc)
        for tensor, array in self.known_tensors.values():
            tensor._array = array

    def ended(self, tensor: Tensor) -> None:
        tensor._array = tensor._array.value

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Inside, ops compute and are not recorded."""
        with thread_state.no_grad():
            thread_state.local.trace = None
            try:
                yield
            finally:
                thread_state.local.trace = self

    def has_hidden_history(self, x: Tensor) -> bool:
        """Whether ``x`` is an argument that has a history, which is not shown to the function."""
        return id(x) in self.hidden

    def refuse(self, what: str) -> None:
        """Raise the error of code that depends on what is another at every call."""
        raise cannot_compile(what)

    def refuse_value(self) -> None:
        """Raise the error of code that depends on what is in a tensor."""
        raise cannot_compile(
            "the value of a tensor is asked for, which is not the same at every call",
            "Choose between values by torch.where, and return what is to be looked at.",
        )

    # --- numbers that are looked at ---------------------------------------------------------------------------------

    def take_item(self, x: TracedValue) -> Any:
        """The one number in ``x``: symbolic, but for a bool, by which the program goes on."""
        value = x.value.item()
        if type(value) not in (bool, int, float):
            self.refuse_value()
        self._check_may_cut()
        source = self.items.setdefault(x.number, f"item{x.number}")
        if type(value) is bool:
            self.expect(f"{source} is {value}")
            return value
        item = SymItem(value, source, self)
        return item.asked() if self.types_are_read() else item

    def expect(self, condition: str) -> None:
        """Let the program hold only where a condition on numbers is true, which is asked before what follows runs."""
        if any([condition in c.conditions for c in self.cuts]):
            return
        self._check_may_cut()
        self._cut().conditions.append(condition)
        self.branches = self.branches or users_place()

    def bound(self, value: Any, source: str) -> SymItem:
        """A symbolic number whose expression may raise: computed before what follows runs."""
        if type(value) not in (int, float):
            self.refuse_value()
        self._check_may_cut()
        name = f"sym{sum([len(c.bindings) for c in self.cuts])}"
        self._cut().bindings.append((name, source))
        return SymItem(value, name, self)

    def skip(self) -> None:
        """Let this call run as it is, and compile others."""
        error = cannot_compile("an exception depends on the value of a tensor")
        error.this_call_only = True
        raise error

    def _cut(self) -> Cut:
        """The cut at the end of what has been recorded."""
        at = len(self.program.instructions), len(self.program.inputs)
        if not self.cuts or (self.cuts[-1].instructions, self.cuts[-1].inputs) != at or self.cuts[-1].conditions:
            self.cuts.append(Cut(*at, users_place()))
        return self.cuts[-1]

    def _check_may_cut(self) -> None:
        if not self.may_cut or thread_state.local.ruling or self.first_backward_value:
            self.refuse_value()

    # --- inputs -------------------------------------------------------------------------------------------------

    def add_input(self, array: ndarray, kind: str, source: Any, name: str) -> TracedValue:
        """Make an array an input of the program; see :class:`.ir.Input`."""
        x = TracedValue(self, array, self.program.add_value(array))
        x.input = Input(x._number, kind, source, name)
        self.program.inputs.append(x.input)
        self.written.refuse_overlap(*self._find_bounds(x))
        self.roots.append(x)
        self.value_of_array[id(array)] = array, x
        return x

    def _find_bounds(self, x: TracedValue) -> tuple[int, int, TracedValue]:
        low, high = byte_bounds(x.value) if x.value.size else (0, 0)
        self.memory.add(low, high, x)
        self.bounds[id(x)] = low, high, x
        return low, high, x

    def lift_tensor(self, tensor: Tensor, kind: str, source: Any, name: str) -> None:
        """Let a tensor from outside hold a traced value until the trace ends."""
        array = tensor._array
        if id(tensor) in self.known_tensors or not isinstance(array, ndarray):
            return
        self.known_tensors[id(tensor)] = tensor, array
        known = self.value_of_array.get(id(array))
        tensor._array = self.add_input(array, kind, source, name) if known is None else known[1]

    def lift(self, array: ndarray) -> TracedValue:
        """An array as a traced value: an input's if it is one, else a constant."""
        found = self.value_of_array.get(id(array))
        return found[1] if found is not None else self.add_input(array, "constant", array, "constant")

    def random_input(self, make: Callable[[], ndarray]) -> TracedValue:
        """Random numbers as an input, drawn at the start of each call, unless an instruction draws before them."""
        if self.draws_in_order:
            return self.record_draw([], make)
        self.check_draw()
        with self.paused():
            array = make()
        return self.add_input(array, "random", make, "random")

    def record_draw(self, parameters: Sequence[Any], draw: Callable[..., ndarray]) -> TracedValue:
        """Random numbers that depend on values: an instruction draws them."""
        self.check_draw(in_between=True)
        with self.paused():
            array = draw(*self.concrete(list(parameters)))
        out = self.program.add_value(array)
        self.record(OpaqueOp("draw", draw, None, [True], random=True), self.operand(tuple(parameters)), (out,))
        return TracedValue(self, array.copy("K"), out)

    def check_draw(self, in_between: bool = False) -> None:
        """Note that random numbers are drawn, perhaps by an instruction."""
        if self.seeded:
            raise cannot_compile("random numbers are drawn after their generator was set")
        self.draws_in_order |= in_between

    def seed(self) -> None:
        """Note that a generator of random numbers is set, from which then nothing may be drawn."""
        self.seeded = True
        if self.program.has_random_values():
            raise cannot_compile("a generator is set that random numbers were drawn from")

    def sym_float_input(self, number: SymFloat | SymItem) -> int:
        """The value number of a symbolic number, an input."""
        found = self.sym_floats.get(number.source)
        if found is None:
            value = number.value if type(number) is SymItem else float(number)
            source = self.bound(value, number.source).source if type(number) is SymItem else number.source
            found = self.sym_floats[number.source] = self.program.add_value(np.array(value))
            self.program.inputs.append(Input(found, "number", source, f"number {number.source}"))
        return found

    # --- instructions -------------------------------------------------------------------------------------------

    def record(self, op: Any, args: tuple[Any, ...], outs: tuple[int, ...]) -> None:
        """Append an instruction, with the user's line."""
        frame = user_frame(sys._getframe(1))
        line = None if frame is None else source_line(frame.f_code, frame.f_lasti)
        self.program.instructions.append(Instruction(op, args, outs, line))

    def operand(self, v: Any) -> Any:
        """An argument as instructions have it: value numbers for arrays and symbolic floats."""
        if isinstance(v, ndarray):
            v = self.lift(v)
        if isinstance(v, TracedValue):
            number = v.number
            if number < self.first_backward_value:
                self.saved[number] = v
            return Ref(number)
        if type(v) is SymItem and type(v.value) is int:
            return v.asked()
        if type(v) in (SymFloat, SymItem):
            number = self.sym_float_input(v)
            if number < self.first_backward_value:
                self.saved[number] = float(self.concrete(v))
            return Ref(number)
        if v.__class__ in (list, tuple):
            return v.__class__([self.operand(w) for w in v])
        return v

    def concrete(self, v: Any) -> Any:
        """An argument to compute with."""
        if isinstance(v, TracedValue):
            return v.value
        if type(v) is SymItem:
            return v.value
        if isinstance(v, SymFloat):
            return float(v)
        if v.__class__ in (list, tuple):
            return v.__class__([self.concrete(w) for w in v])
        return v

    def compute(self, op: Any, values: Sequence[Any], outer: bool = False) -> Any:
        """Call an op on concrete values, and record the call."""
        if not self.records_here():
            return op.raw(*[self.concrete(v) for v in values])
        if op is slicing_views._as_strided.op:
            values = self._from_row_major(*values)
        given = [self.concrete(v) for v in values]
        args = tuple([self.operand(v) for v in values])
        # what would not hold at the next call
        if has_shape_by_values(op, args, self.program.values):
            if not self.may_cut or thread_state.local.ruling or self.first_backward_value:
                raise cannot_compile(f"the shape of what {op.name} gives depends on values")
            self.branches = self.branches or users_place()
        if op.random:
            self.check_draw(in_between=True)
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
        if op.kind != "view":  # a result may be an operand's own array: as another value it needs memory of its own
            owners = {id(versions.owner_of(v)) for v in given if isinstance(v, ndarray)}
            arrays = [a.copy("K") if id(versions.owner_of(a)) in owners else a for a in arrays]

        outs = tuple([self.program.add_value(a) for a in arrays])
        recorded = TURNED.get(op, op)  # values share no memory
        self.record(recorded, args, outs)
        parent = None
        if op.kind == "view":
            parent = values[0] if isinstance(values[0], TracedValue) else self.lift(values[0])
        results = [
            TracedValue(self, a, n, parent, (recorded, args[1:], i, len(outs)))
            for i, (a, n) in enumerate(zip(arrays, outs))
        ]
        return results if several else results[0]

    def _from_row_major(self, x: Any, geometry: tuple[Any, ...]) -> tuple[TracedValue, tuple[Any, ...]]:
        """The arguments of ``as_strided``, from the nearest value that holds all it reads in C order, as plans do."""
        _, itemsize, shape, strides, offset = geometry
        base: TracedValue | None = x if isinstance(x, TracedValue) else self.lift(x)
        begin = conj_views.address(self.concrete(x)) + offset
        end = begin + (0 if 0 in shape else sum([(n - 1) * s for n, s in zip(shape, strides)]) + itemsize)
        while base is not None:
            array, start = base.value, conj_views.address(base.value)
            if array.flags.c_contiguous and start <= begin and end <= start + array.nbytes:
                return base, (array.strides, itemsize, shape, strides, begin - start)
            base = base.parent
        raise cannot_compile("as_strided takes elements of memory that is not in C order")

    def is_opaque_vjp(self, node: Any, g: Any, saved: tuple[Any, ...]) -> bool:
        """Whether a node's vjp is recorded as one instruction: a first derivative, whose op has a kernel for it."""
        values = [*(g if g.__class__ is tuple else (g,)), *saved]
        lifted = [v for v in values if isinstance(v, LevelValue)]
        return (
            node._op in OPAQUE_VJPS
            and not any([isinstance(v, Tensor) for v in values])
            and len(lifted) > 0
            and all([v.level is self for v in lifted])
        )

    def pull(self, pull: Callable, node: Any, g: Any, saved: tuple[Any, ...], edges: Sequence[Any]) -> Any:
        """Record a node's vjp, which has a kernel of its own or looks at values, as one instruction."""
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
        outs = tuple([self.program.add_value(a) for a in arrays])
        vjp = OpaqueOp(
            node.name(),
            lambda g, saved: on_arrays(tuple(g) if several else g, tuple(saved)),
            node._op,
            [r is not None for r in found],
        )
        self.record(vjp, self.operand(args), outs)
        results = iter([wrap_value(TracedValue(self, a.copy("K"), n)) for a, n in zip(arrays, outs)])
        return [None if r is None else next(results) for r in found]

    def opaque(self, function: Callable, arrays: Sequence[Any]) -> Any:
        """Record a NumPy function of arrays as one instruction."""
        out = function(*self.concrete(list(arrays)))
        found = list(out) if out.__class__ in (list, tuple) else [out]
        outs = tuple([self.program.add_value(a) for a in found])
        self.record(OpaqueOp(function.__name__, function, None, [True] * len(outs)), self.operand(tuple(arrays)), outs)
        results = [TracedValue(self, a.copy("K"), n) for a, n in zip(found, outs)]
        return out.__class__(results) if out.__class__ in (list, tuple) else results[0]

    def record_check(self, check: Callable[[ndarray], None], value: Any) -> None:
        """Record, as an instruction that is never dropped, a function that looks at numbers and may raise."""
        check(self.concrete(value))

        def checked(array: ndarray) -> ndarray:
            check(array)
            return np.zeros(())

        out = self.program.add_value(np.zeros(()))
        self.record(OpaqueOp("check", checked, None, [True], random=True), (self.operand(value),), (out,))

    def record_update(self, name: str, update: Callable, written: Sequence[Tensor], *given: Any) -> None:
        """Record, as one instruction, a function that writes into some arrays, by others and numbers."""

        def changed(before: Sequence[ndarray], given: Sequence[Any]) -> list[ndarray]:
            arrays = [a.copy("K") for a in before]
            update(*arrays, *given)
            return arrays

        args = ([t._array for t in written], values_of(list(given)))
        after = changed(*self.concrete(args))
        outs = tuple([self.program.add_value(a) for a in after])
        self.record(OpaqueOp(name, changed, None, [True] * len(outs)), self.operand(args), outs)
        for t, array, number in zip(written, after, outs):
            self.overwrite(t._array, TracedValue(self, array, number))

    # --- writes, as new values ----------------------------------------------------------------------------------

    def overwrite(self, x: TracedValue, value: TracedValue) -> None:
        """Give the memory of ``x`` the contents ``value``."""
        root = x.root
        if not root.version:
            bounds = self.bounds.get(id(root)) or self._find_bounds(root)
            self.written.add(*bounds)
            self.memory.refuse_overlap(*bounds)
        self.save_contents(root.value)
        if root.input is not None and root.input.source is root.value:  # a constant
            root.input.source = root.value.copy("K")
        number = value.number
        root._number = number if x is root else self._written_through(x, root, number)
        root.version += 1
        x.value[...] = value.value

    def _written_through(self, x: TracedValue, root: TracedValue, number: int) -> int:
        """The contents of ``root`` with a value written at the elements that its view ``x`` shows."""
        before, (is_conj, is_neg) = root, conj_views.turns(root.value, x.value)
        if is_conj:
            before = self.record_on(root.value, elementwise_conj.op, before)
        is_real_view = root.value.dtype.kind in COMPLEX_KINDS and x.value.dtype.kind not in COMPLEX_KINDS
        if is_real_view:
            before = self.record_on(view_as_real.op.impl(root.value), view_as_real.op, before)
        if is_neg:
            before = self.record_on(before.value, neg.op, before)
        where = slices.part_of_view(before.value, x.value)
        after = self.record_on(before.value, slices.write_part.op, before, Ref(number), where, "CopySlices")
        if is_neg:
            after = self.record_on(after.value, neg.op, after)
        if is_real_view:
            after = self.record_on(root.value, paired.op, after)
        return (self.record_on(root.value, elementwise_conj.op, after) if is_conj else after).number

    def record_on(self, value: ndarray, op: Any, x: TracedValue, *options: Any) -> TracedValue:
        """Record an op on ``x`` whose result has the memory of ``value``."""
        out = self.program.add_value(value)
        self.record(op, (self.operand(x), *options), (out,))
        return TracedValue(self, value, out)

    def save_contents(self, array: ndarray) -> None:
        """Keep the contents of memory that is about to be written into, to restore it if the trace fails."""
        owner = versions.owner_of(array)
        if id(owner) not in self.saved_contents:
            # an optimizer's first step writes into much that is zero
            is_zero = owner.flags.c_contiguous and not owner.reshape(-1).view(np.uint8).any()
            self.saved_contents[id(owner)] = owner, 0 if is_zero else owner.copy("K")

    def restore_contents(self) -> None:
        """Undo all writes."""
        for owner, copy in self.saved_contents.values():
            owner[...] = copy

    def release(self) -> None:
        """Drop the traced values, which refer back: while a level has values, every op takes the slow path."""
        grads = (self.accumulated, self.cleared_grads, self.absent_grads, self.present_grads)
        held = (
            self.roots,
            self.bounds,
            self.cleared_first,
            self.value_of_array,
            self.sym_floats,
            self.saved,
        )
        for values in (*held, *grads):
            values.clear()
        self.memory, self.written = MemoryRanges(), MemoryRanges()
        self.refusal = None

    def _before_write(self, array: Any) -> None:
        """If a constant is about to be written into, let the program have a copy."""
        if isinstance(array, ndarray):
            found = self.value_of_array.get(id(array))
            if found is not None:
                for i in self.program.inputs:
                    if i.source is array and i.kind == "constant":
                        i.source = array.copy("K")
                del self.value_of_array[id(array)]

    def raised(self, array: ndarray, in_batch: bool = False) -> TracedValue:
        """A tensor made during the run, and perhaps read, which is to be written into, as a traced value."""
        for x in self.roots:
            if x.value is array and x.input.kind == "constant":
                return x
        return self.add_input(array, "constant", array.copy("K"), "constant")

    def raised_view(self, base: TracedValue, view: ndarray) -> TracedValue:  # type: ignore[override]
        where = slices.part_of_view(base.value, view)
        op, options = slices.read_part.op, (where, "AsStridedBackward0")
        out = self.program.add_value(view)
        self.record(op, (self.operand(base), *options), (out,))
        return TracedValue(self, view, out, base, (op, options, 0, 1))

    # --- gradients ----------------------------------------------------------------------------------------------

    def accumulate(self, leaf: Tensor, g: TracedValue) -> None:
        """Add to ``leaf.grad``."""
        old = leaf._grad
        self.accumulated.setdefault(id(leaf), (leaf, old))
        if old is None:
            leaf._grad = self.track(wrap_value(TracedValue(self, g.value.copy("K"), g.number)))
        else:
            with thread_state.no_grad():
                old.add_(wrap_value(g))

    def guard_grad(self, leaf: Tensor) -> None:
        """Guard whether there is a ``leaf.grad``, which the function saw."""
        if id(leaf) in self.known_tensors and id(leaf) not in self.cleared_grads and id(leaf) not in self.accumulated:
            (self.absent_grads if leaf._grad is None else self.present_grads)[id(leaf)] = leaf

    def replace_grad(self, leaf: Tensor, g: Tensor | None) -> None:
        """Note that ``leaf.grad`` is about to be assigned."""
        if g is not None and (id(leaf) not in self.known_tensors or id(g) in self.known_tensors):
            raise cannot_compile("a tensor becomes the gradient of another")
        self.clear_grad(leaf)
        if g is not None:
            self.track(g)

    def clear_grad(self, leaf: Tensor) -> None:
        """Note that ``leaf.grad`` is about to be dropped."""
        if id(leaf) not in self.accumulated:
            self.cleared_grads[id(leaf)] = leaf
            seen = id(leaf) in self.present_grads or id(leaf) in self.absent_grads
            if not (self.program.instructions or seen):
                self.cleared_first.append(leaf)

    # --- optimizers ---------------------------------------------------------------------------------------------

    def name(self, thing: Any, stem: str) -> str:
        """A name for an object that guards refer to."""
        name = self.name_of.setdefault(id(thing), f"{stem}{len(self.names)}")
        self.names[name] = thing
        return name

    def options(self, optimizer: Any, group: dict[str, Any]) -> dict[str, Any]:
        """The options of a group: numbers as symbolic floats, others guarded."""
        if id(group) in self.counting:
            raise cannot_compile(
                "an optimizer that counts its steps takes two in one call", "Compile a function that takes one."
            )
        if id(optimizer) not in self.outside:
            raise cannot_compile("an optimizer is made inside, whose state would go on")
        self.group = group
        group_name, found = self.name(group, "group"), {}
        place = next(i for i, g in enumerate(optimizer.param_groups) if g is group)
        name = self.name(optimizer, "optimizer")
        self.guards.append(
            f"{name}.state is {self.name(optimizer.state, 'state')} and {name}.param_groups[{place}] is {group_name}"
        )
        for p in group["params"]:
            self.guard_grad(p)
        self.option_snapshots.append((group, {k: v for k, v in group.items() if k != "params"}))
        for key, value in group.items():
            if value.__class__ is float or value.__class__ is int:
                value = SymFloat.of(value, f"{group_name}[{key!r}]", self.guards)
            elif value.__class__ is tuple and all(v.__class__ is float for v in value):
                value = tuple([SymFloat.of(v, f"{group_name}[{key!r}][{i}]", self.guards) for i, v in enumerate(value)])
            elif isinstance(value, (bool, str, type(None))):
                self.guards.append(f"{group_name}[{key!r}] is {self.name(value, 'option')}")
            found[key] = value
        return found

    def guard_state(self, optimizer: Any, tensor: Tensor, names: Iterable[str], counters: Iterable[str] = ()) -> None:
        """Guard that an optimizer's state of a tensor holds the same objects; the tensors in it become inputs."""
        own = optimizer.state[tensor]
        own_name = self.name(own, "own")
        self.guards.append(f"{self.name(optimizer.state, 'state')}.get({self.name(tensor, 'tensor')}) is {own_name}")
        self.guards += [f"{own_name}[{name!r}] is {self.name(own[name], 'kept')}" for name in (*names, *counters)]
        for name in names:
            self.lift_tensor(own[name], "tensor", own[name], name)

    def compute_per_call(self, compute: Callable[[], tuple[tuple[Any, ...], Callable[[], None]]]) -> tuple[Any, ...]:
        """Symbolic floats that a function computes anew for each call, and bools, which are guarded.

        Args:
            compute: returns numbers, and what to call when the call has succeeded.
        """
        self.counting.add(id(self.group))
        name = f"counted{len(self.per_call)}"
        values, commit = compute()
        self.per_call.append((name, compute, commit))
        self.guards += [f"{name}[{i}] is {v}" for i, v in enumerate(values) if isinstance(v, bool)]
        return tuple(
            [v if isinstance(v, bool) else SymFloat.of(v, f"{name}[{i}]", self.guards) for i, v in enumerate(values)]
        )

    def foreach(
        self,
        lists: Sequence[Sequence[Tensor]],
        record: Callable[[int], None],
        compute: Callable[[Sequence[Sequence[ndarray]]], bool | None],
    ) -> None:
        """Record an elementwise update of several lists of tensors; see :func:`.foreach.trace_foreach`."""
        trace_foreach(self, lists, record, compute)
