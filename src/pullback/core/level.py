"""Transform levels (JAX: tracers): the values that ``jvp``, ``vmap`` and ``compile`` put in a tensor's data slot.

A tensor holds an array. Inside a *level* it may hold a :class:`LevelValue` instead: a primal with its tangent
(:class:`pullback.levels.forward.Dual`), one value for each example of a batch (:class:`pullback.levels.vmap.Batched`),
or a traced value (:mod:`pullback.compiler.traced_value`). To everything else it looks like an array: it has a shape and
a dtype, nodes save it, the engine carries it. Only where an operation would compute, its level does, by calling the
same operation on what is inside; there a value of the level below may be found, so levels nest in any order.

Reverse mode needs no level: it is the graph. A cotangent that enters the graph of a level from outside is marked
``outer``; it leaves the level again where it reaches something made before the level began.
"""

from __future__ import annotations

import copy
import functools
import inspect
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base import thread_state
from ..base.device import CPU, Layout, device, strided
from ..base.dtypes import OF_NUMPY, get_default_dtype
from ..base.printing import format_tensor
from . import conj_views, level, slots, versions
from .geometry import copies_of, same_place
from .graph import Node, clock
from .record import bare
from .tensor import Tensor


class Level:
    """One forward-mode or ``vmap`` scope, entered with ``with``.

    Attributes:
        start: when it began, on the clock of the graph; what is older lies outside.
        counterparts: by the id of an array that owns memory, a reference to it and what stands for that memory in the
            level, since something was written into it.
    """

    live = counted = False
    batches = False

    def __enter__(self) -> Any:
        self.start = clock()
        self.live = self.counted = True
        self.counterparts: dict[int, tuple[weakref.ref[np.ndarray], np.ndarray]] = {}
        self.outer_arguments = thread_state.local.arguments
        thread_state.local.arguments = self.outer_arguments.copy()
        self.older = len(self.outer_arguments)
        self.tensors: list[weakref.ref[Tensor]] = []
        thread_state.add_slow_path_reason(1)
        return self

    def __del__(self) -> None:
        """The last value of the level is gone: a graph may keep some beyond the level's end."""
        if self.counted:
            thread_state.add_slow_path_reason(-1)

    def __exit__(self, *exc: object) -> None:
        self.live = False
        for ref in self.tensors:
            tensor = ref()
            if tensor is not None and isinstance(tensor._array, LevelValue) and tensor._array.level is self:
                self.ended(tensor)
        self.tensors.clear()
        for ref in thread_state.local.arguments[self.older :]:
            argument = ref()
            if argument is not None:
                slots.keep_as_view(argument)
        thread_state.local.arguments = self.outer_arguments

    def track(self, x: Tensor) -> Tensor:
        """Note a tensor of this level, to be told when the level ends."""
        self.tensors.append(weakref.ref(x))
        return x

    def dressed(self, x: Tensor) -> Tensor:
        """A tensor that was just made around a value of this level, of the class that it should have."""
        return x

    def ended(self, tensor: Tensor) -> None:
        """What becomes of a tensor of this level that outlives it."""

    def compute(self, op: Any, values: Sequence[Any], outer: bool) -> Any:
        """The operation on values of which some are of this level and none of a later one."""
        raise NotImplementedError

    def pull(self, pull: Callable, node: Node, g: Any, saved: tuple[Any, ...], edges: Sequence[Any]) -> Any:
        """A node's rule where it cannot run on values of this level."""
        return pull(node, g, saved, edges)

    def pull_values(self, node: Node, g: Any, saved: tuple[Any, ...], edges: Sequence[Any]) -> Sequence[Any] | None:
        """What a node's rule gives for values that nobody differentiates further, by a shorter way; None if there is
        none.
        """
        return None

    def raised(self, value: Any, in_batch: bool = False) -> LevelValue:
        """An array or a value of an earlier level, which is to be written into, as a value of this level.

        Arrays that share memory are raised to values that share memory.

        Args:
            in_batch: whether it stands inside a batch of a later level, where only inputs have memory from outside.
        """
        raise NotImplementedError

    def raised_view(self, base: LevelValue, view: Any) -> LevelValue:
        """The value of a view of a tensor that has been raised to ``base``."""
        return self.raised(view, True)

    def counterpart(self, array: np.ndarray, make: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """What stands in this level for the memory of an array: by default what ``make`` makes of its owner."""
        owner = versions.owner_of(array)
        found = self.counterparts.get(id(owner))
        if found is None:
            key, forget = id(owner), self.counterparts.pop
            found = self.counterparts[key] = weakref.ref(owner, lambda _: forget(key, None)), make(owner)
            versions.note_made(found[1])
        return found[1]

    def detached(self, value: Any) -> Any:
        """A value of this level without tangents."""
        return value

    def leave(self, x: Tensor) -> Tensor:
        """A cotangent for something outside of the level, from one marked ``outer``."""
        raise NotImplementedError

    def entered(self, g: Tensor) -> Tensor:
        """A cotangent from outside for something that was made inside, but is not of this level."""
        return g

    def inside(self, x: Tensor, f: Callable[[Tensor], Tensor]) -> Tensor:
        """``f`` applied to what stands inside."""
        raise NotImplementedError


class LevelValue:
    """A value of a level; see the module.

    Attributes:
        level: the level.
        value: the value itself, without this level; perhaps one of an earlier level.
        outer: a cotangent that came from outside of the level.
    """

    __slots__ = ("level", "value", "outer", "__weakref__")
    parts: tuple[str, ...] = ()  # what stands inside and can be written into by itself
    __array_ufunc__ = None  # NumPy's own functions shall fail, not guess
    is_sparse = False
    memory: Any = None  # the array whose memory a write would go into, where there is one
    layout: Layout = strided
    device: device = CPU
    level: Any
    value: Any
    outer: bool

    @property
    def dtype(self) -> np.dtype:
        return self.value.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape

    @property
    def strides(self) -> tuple[int, ...]:
        return self.value.strides

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        n = 1
        for k in self.shape:
            n *= k
        return n

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def flags(self) -> Any:
        return self.value.flags

    @property
    def base(self) -> Any:
        """The array at the bottom, which owns the memory or knows who does."""
        v = self.value
        while isinstance(v, LevelValue):
            v = v.value
        return v

    def __len__(self) -> int:
        return self.shape[0]

    def reshaped(self, shape: tuple[int, ...], strides: Sequence[int]) -> Any:
        """Another shape at the same place in memory, for ``resize_`` and ``out=``."""
        raise NotImplementedError(f"a tensor inside a transform can't be resized: from {self.shape} to {shape}")

    def numpy(self) -> np.ndarray:
        return self.__array__()

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        raise TypeError(f"{type(self).__name__} is not an array")

    def __add__(self, other: Any) -> Any:
        """The sum of two gradients: one that came from outside takes another with it into the level."""
        a, b = wrap_value(self), wrap_value(other)
        if self.outer and not isinstance(other, LevelValue):
            b = self.level.entered(b)
        return (a + b)._array

    __radd__ = __add__

    def __eq__(self, other: object) -> bool:
        raise TypeError(f"{type(self).__name__} is not an array: compare tensors")

    __hash__ = object.__hash__

    def copy(self) -> Any:
        return wrap_value(self).clone()._array

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        return (
            self
            if self.dtype == dtype and not copy
            else wrap_value(self).to(OF_NUMPY[np.dtype(dtype)], copy=True)._array
        )

    def __setitem__(self, key: Any, value: Any) -> None:
        """Overwrite everything (``key`` is an Ellipsis)."""
        raise NotImplementedError

    def forget_tangents(self, x: Tensor) -> None:
        """Let ``x``, which holds this value, forget its tangents of every level."""
        x._array = detached(self)
        if isinstance(x._array, LevelValue):
            x._array.level.track(x)

    def lift_for_write(self, x: Tensor) -> None:
        """Make ``x`` a tensor of this value's level, so that it can be written into it."""
        lift_for_write(x, self)

    def of_base(self, array: Any) -> LevelValue | None:
        """The value of an array that is not lifted, if this is one of a view of it."""
        return None

    def lift_view(self, view: Any) -> Any:
        """The value of a view of a tensor that holds this value."""
        return lift_like(self, view)

    @property
    def depth(self) -> int:
        """How many levels this value is lifted by."""
        return 1 + getattr(self.value, "depth", 0)

    def shown(self, made_by: str | None, requires_grad: bool, extra: tuple[str, ...] = ()) -> str:
        """The text of a tensor that holds this value, for ``repr``."""
        return f"tensor(..., size={self.shape})"


class StandingValue(LevelValue):
    """A value of a level that is always live: a reason for the slow path, as long as it lives."""

    __slots__ = ()

    def __new__(cls, *args: Any) -> Any:
        thread_state.add_slow_path_reason(1)  # before there is anything to be deleted
        return object.__new__(cls)

    def __del__(self) -> None:
        thread_state.add_slow_path_reason(-1)


def format_level_value(
    value: Any, made_by: str | None = None, requires_grad: bool = False, extra: tuple[str, ...] = ()
) -> str:
    """The text of an array or a lifted value as a tensor."""
    if isinstance(value, LevelValue):
        return value.shown(made_by, requires_grad, extra)
    return format_tensor(
        value,
        dtype=OF_NUMPY[value.dtype].name,
        default_dtype=get_default_dtype().name,
        requires_grad=requires_grad,
        grad_fn=made_by,
        extra=extra,
    )


def wrap_value(value: Any) -> Tensor:
    """A tensor without history around an array or a lifted value; tensors as they are."""
    if isinstance(value, Tensor):
        return value
    result = bare(value)
    return value.level.dressed(result) if isinstance(value, LevelValue) else result


def is_level_value(value: Any) -> bool:
    """Whether a value, or any of a list of them, is lifted."""
    if isinstance(value, (tuple, list)):
        return any([isinstance(v, LevelValue) for v in value])
    return isinstance(value, LevelValue)


def apply(op: Any, args: Sequence[Any]) -> Tensor:
    """An elementwise operation on tensors without history and on numbers, by the shortest way."""
    values = [a._array if isinstance(a, Tensor) else a for a in args]
    if needs_level(values):
        return wrap_value(compute(op, values))
    d = None
    for v in values:
        if v.__class__ is np.ndarray:
            if d is not None and v.dtype is not d or v.dtype.kind != "f" or v.dtype.itemsize < 4:
                return op.call(*args)
            d = v.dtype
        elif v.__class__ is not float and v.__class__ is not int:
            return op.call(*args)
    return wrap_value(np.asarray(op.impl(*[np.asarray(v, d) for v in values])))


def holds_level_value(g: Any) -> bool:
    """Whether a gradient, or one of a tuple of them, as a value or as a tensor, is lifted."""
    if g.__class__ is tuple:
        return any(map(holds_level_value, g))
    return isinstance(g._array if isinstance(g, Tensor) else g, LevelValue)


def holds_tensor(g: Any) -> bool:
    """Whether a gradient, or one of a tuple of them, is a tensor: then what is done with it is recorded."""
    return any([isinstance(v, Tensor) for v in g]) if g.__class__ is tuple else isinstance(g, Tensor)


def innermost_level(values: Sequence[Any]) -> Any:
    """The innermost level among these values, or None."""
    top = None
    for v in values:
        for w in v if isinstance(v, (tuple, list)) else (v,):
            if isinstance(w, LevelValue) and (top is None or w.level.start > top.start):
                top = w.level
    return top


def batches_in(value: Any) -> list[LevelValue]:
    """The values for each example of a batch that a value, or a list of them, is or holds."""
    if isinstance(value, (tuple, list)):
        return [w for v in value for w in batches_in(v)]
    if not isinstance(value, LevelValue):
        return []
    inside = [w for part in value.parts for w in batches_in(getattr(value, part))]
    return [value, *inside] if value.level.batches else inside


def traced_numpy(function: Callable, *arrays: Any) -> Any:
    """What a function of NumPy makes of arrays without derivatives, such as indices: one instruction where a trace
    records.
    """
    trace = thread_state.local.trace
    return (
        function(*arrays) if trace is None or innermost_level(arrays) is not trace else trace.opaque(function, arrays)
    )


def needs_level(values: Sequence[Any]) -> bool:
    """Whether a level has to compute: some value is lifted, or a trace records this thread."""
    return thread_state.local.trace is not None or any_level_value(values)


def any_level_value(values: Sequence[Any]) -> bool:
    """Whether any of these values is lifted, or one in a list among them."""
    for v in values:
        if isinstance(v, LevelValue) or v.__class__ in (tuple, list) and any_level_value(v):
            return True
    return False


def compute(op: Any, values: Sequence[Any]) -> Any:
    """An operation on values that concern a level: a value, or a list of them."""
    level, outer = None, False
    for v in values:
        for w in v if v.__class__ in (tuple, list) else (v,):
            if isinstance(w, LevelValue):
                if level is not w.level:
                    if level is not None and w.level.start < level.start:
                        continue
                    level, outer = w.level, False
                outer = outer or w.outer
    return (level or thread_state.local.trace).compute(op, values, outer)


def without_outer_marks(value: Any, levels: set[Level]) -> Any:
    """A cotangent that came from outside of some levels, or a list of them, as any other value; notes these levels."""
    if value.__class__ in (list, tuple):
        return value.__class__([without_outer_marks(v, levels) for v in value])
    if not isinstance(value, LevelValue):
        return value
    if value.outer:
        levels.add(value.level)
    parts = [getattr(value, part) for part in value.parts]
    inside = [without_outer_marks(part, levels) for part in parts]
    return (
        with_parts(value, False, inside) if value.outer or any([a is not b for a, b in zip(parts, inside)]) else value
    )


def with_outer_marks(value: Any, levels: set[Level]) -> Any:
    """A value as a cotangent that came from outside of these levels."""
    if not levels or not isinstance(value, LevelValue):
        return value
    return with_parts(
        value, value.level in levels, [with_outer_marks(getattr(value, part), levels) for part in value.parts]
    )


def with_parts(value: LevelValue, outer: bool, parts: Sequence[Any]) -> LevelValue:
    """A copy of a value with other parts."""
    result = copy.copy(value)
    result.outer = outer
    for name, part in zip(value.parts, parts):
        setattr(result, name, part)
    return result


def lower_to(x: Tensor, seq: int) -> Tensor:
    """A cotangent as something numbered ``seq`` wants it: out of every later level that it entered from outside."""
    a = x._array
    if not _must_lower(a, seq):
        return x
    return (
        lower_to(a.level.leave(x), seq)
        if a.outer and seq < a.level.start
        else a.level.inside(x, lambda part: lower_to(part, seq))
    )


def _must_lower(a: Any, seq: int) -> bool:
    return isinstance(a, LevelValue) and (a.outer and seq < a.level.start or _must_lower(a.value, seq))


def lift_for_write(x: Tensor, value: Any) -> None:
    """Make ``x``, and its base, tensors of the levels of ``value``, which is to be written into it."""
    base = x if x._view is None or x._view[0] is None else x._view[0]
    if isinstance(x._array, LevelValue) and not isinstance(base._array, LevelValue):
        of_base = x._array.of_base(base._array)
        if of_base is None:
            base = x  # an argument, which a trace has lifted by itself
        else:
            _replace_value(base, of_base)
    others = versions.aliases_of(base._array)
    _replace_value(base, with_room(base._array, value))
    if base is not x:
        _replace_value(x, lift_like(base._array, x._array))
    for y in others:
        if y is not base and y is not x:
            is_view = y._view is not None and y._view[0] is base
            _replace_value(y, lift_like(base._array if is_view else detached(base._array), y._array))


def _replace_value(x: Tensor, value: Any) -> None:
    if value is not x._array:
        x._array = value
        value.level.track(x)


def with_room(target: Any, value: Any, in_batch: bool = False) -> Any:
    """A value such that what is lifted as another value can be written into it, or into a part of it.

    Args:
        in_batch: whether the target stands inside a batch of a later level.
    """
    if not isinstance(value, LevelValue):
        return target
    if not isinstance(target, LevelValue) or target.level.start < value.level.start:
        target = value.level.raised(target, in_batch)
    same = target.level is value.level
    in_batch = in_batch or target.level.batches
    for part in target.parts if same else target.parts[:1]:  # what is of an earlier level stands inside
        setattr(target, part, with_room(getattr(target, part), getattr(value, part) if same else value, in_batch))
    return target


def lift_like(base: Any, view: Any) -> Any:
    """The value of a view, lifted as that of its base is by now."""
    if not isinstance(base, LevelValue):
        return view
    if isinstance(view, LevelValue) and view.level.start > base.level.start:
        view.value = lift_like(base, view.value)
        return view
    if not isinstance(view, LevelValue) or view.level.start < base.level.start:
        if conj_views.differ_in_conj(base, view):
            raise RuntimeError(
                "writing in place into a tensor from outside of a transform through its conjugate is not possible: "
                "write the conjugate into the tensor"
            )
        view = base.level.raised_view(base, view)
    for part in base.parts:
        setattr(view, part, lift_like(getattr(base, part), getattr(view, part)))
    return view


def detached(value: Any) -> Any:
    """A value without tangents of any level."""
    return value.level.detached(value) if isinstance(value, LevelValue) else value


def map_arrays(value: Any, f: Callable[[np.ndarray, int], np.ndarray], depth: int = 0) -> Any:
    """A value with ``f(array, number of batches around it)`` in place of each array in it."""
    if isinstance(value, np.ndarray):
        return f(value, depth)
    if not value.parts:
        raise RuntimeError(
            "writing in place into a tensor of an outer transform is not possible here: write into a copy, x.clone()"
        )
    depth += value.level.batches
    return with_parts(value, value.outer, [map_arrays(getattr(value, part), f, depth) for part in value.parts])


def without_tangents(x: Tensor) -> Tensor:
    """Let a tensor forget its tangents of every level. Returns it."""
    if isinstance(x._array, LevelValue):
        x._array.forget_tangents(x)
    return x


def per_example_copy(x: Tensor, result: Tensor) -> Tensor:
    """A new tensor, as one for each example if ``x`` differs from example to example; not in rules, which write into
    nothing.
    """
    levels: list[Any] = []
    value = None if thread_state.local.ruling else x._array
    while isinstance(value, LevelValue) and value.device is CPU:
        levels += [value.level] if value.level.batches else []
        value = value.value
    if levels:
        a = result._array
        result._array = same_place(a, copies_of(versions.owner_of(a), *[level.size for level in reversed(levels)]))
        note_made(result._array)
        for level in reversed(levels):
            result._array = level.lift(result._array)
    return result


def note_made(value: Any, operands: Sequence[Any] = ()) -> None:
    """If a value is an array, note that its memory was made inside of ``vmap``, unless it is that of an operand."""
    if value.__class__ is np.ndarray and id(versions.owner_of(value)) not in memory_owners(operands):
        versions.note_made(value)


def arrays_in(values: Any) -> list[np.ndarray]:
    """The arrays that a value, or a list of them, is or holds."""
    if isinstance(values, np.ndarray):
        return [values]
    if isinstance(values, (tuple, list)):
        return [a for v in values for a in arrays_in(v)]
    return [a for part in getattr(values, "parts", ()) for a in arrays_in(getattr(values, part))]


def memory_owners(values: Any) -> set[int]:
    """The ids of the arrays that own the memory of a value, or of a list of them."""
    return {id(versions.owner_of(a)) for a in arrays_in(values)}


def unbatched(words: str, *tensors: Any, error: type[Exception] = RuntimeError) -> None:
    """Refuse what ``vmap`` cannot do.

    Raises:
        RuntimeError: (or another ``error``) with these words, if any of the tensors differs from example to example.
    """
    level = innermost_level([t._array for t in tensors if isinstance(t, Tensor)])
    if level is not None and level.batches:
        raise error(words)


def concrete_array(value: Any, check: bool = False) -> np.ndarray:
    """All numbers of a value, of every example, for looking at them (not for computing).

    Args:
        check: whether only an error depends on them: then a compiled function checks its first call.
    """
    while isinstance(value, LevelValue):
        if value.level is thread_state.local.trace and not check:
            value.level.refuse_value()
        if value.device is not CPU:  # there are none
            return value.looked_at(check)  # type: ignore[attr-defined]
        # what a sparse value stores is not all: it refuses
        value = np.asarray(value) if value.is_sparse else value.value
    return value


def check_values(check: Callable[[np.ndarray], None], value: Any) -> None:
    """Let ``check`` look at the numbers of a value and raise; in a compiled function at each call."""
    trace = thread_state.local.trace
    if isinstance(value, LevelValue) and value.level is trace:
        trace.record_check(check, value)
    else:
        check(concrete_array(value, True))


def primal(value: Any) -> Any:
    """A value as rules may look at it: without tangents, but still one for each example of a batch."""
    while isinstance(value, LevelValue) and "tangent" in value.parts:
        value = value.value
    return value


def overwrite(target: Any, value: Any) -> Any:
    """An array or lifted value with everything in it overwritten; lifted by the value's level if it was not."""
    if isinstance(value, LevelValue) and not isinstance(target, LevelValue):
        target = value.level.raised(target)
    target[...] = value
    return target


def match_levels(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Two gradients to be added: if one came into a level from outside, the other goes there, too."""
    for one, other in ((a, b), (b, a)):
        if isinstance(one._array, LevelValue) and one._array.outer and not isinstance(other._array, LevelValue):
            return one, one._array.level.entered(other)
    return a, b


def check_live(x: Tensor) -> Tensor:
    """A result of a transform, if it holds no value of one that has ended.

    Raises:
        RuntimeError: if it does: it was kept from there, or an order of transforms is not supported.
    """
    value = x._array
    while isinstance(value, LevelValue):
        if not value.level.live:
            raise RuntimeError("a result depends on a tensor of a transform (vmap, jvp) that has ended")
        value = value.value
    return x


def unwrap_ended(value: Any) -> Any:
    """What remains of a value when its level has ended."""
    while isinstance(value, LevelValue) and not value.level.live:
        value = value.value
    return value


def traced_draw(make: Callable[[], np.ndarray]) -> Any:
    """Random numbers, which a compiled function draws anew whenever it is called."""
    trace = thread_state.local.trace
    return make() if trace is None else trace.random_input(make)


def traced_draw_from(parameters: Sequence[Any], draw: Callable[..., np.ndarray]) -> Any:
    """Random numbers that depend on parameters, likewise."""
    trace = thread_state.local.trace
    return (
        draw(*map(concrete_array, parameters))
        if trace is None
        else trace.record_draw([primal(p) for p in parameters], draw)
    )


def sample(shape: tuple[int, ...], draw: Callable[[tuple[int, ...]], np.ndarray]) -> Any:
    """Random numbers: what ``draw`` makes of a shape; inside ``vmap`` as that was told."""
    if not thread_state.slow_path_reasons:  # the fast path
        return draw(shape)
    if not thread_state.local.batches:
        return traced_draw(lambda: draw(shape))
    return thread_state.local.batches[-1].sample(shape, draw)


def sample_from(parameters: Sequence[Any], draw: Callable[..., np.ndarray]) -> Any:
    """Random numbers: what ``draw`` makes of arrays and numbers; inside ``vmap`` as that was told."""
    if not thread_state.local.batches:
        return traced_draw_from(parameters, draw)
    return thread_state.local.batches[-1].sample_from(parameters, draw)


def by_example(fn: Callable | None = None, *, of: str = "") -> Any:
    """For a function made of operations that looks at values: under ``vmap`` it runs for each example in turn.

    Args:
        of: the names of the arguments at which it looks, if not at all: where the examples share these, one run serves
            all.
    """
    if fn is None:
        return functools.partial(by_example, of=of)
    names = list(inspect.signature(fn).parameters)
    looked_at = [(name, names.index(name)) for name in of.split()]

    @functools.wraps(fn)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if not thread_state.slow_path_reasons:
            return fn(*args, **kwargs)
        given, n = (*args, *kwargs.values()), len(args)
        looks = [args[i] if i < n else kwargs.get(name) for name, i in looked_at] if looked_at else given
        if not batches_in([a._array for a in looks if isinstance(a, Tensor)]):
            return fn(*args, **kwargs)
        batched = batches_in([a._array for a in given if isinstance(a, Tensor)])
        level = max([value.level for value in batched], key=lambda level: level.start)
        several: list[Any] = []

        def run(node: Any, g: Any, saved: tuple[Any, ...], edges: Any) -> Any:
            out = wrapper(*saved[:n], **dict(zip(kwargs, saved[n:])))  # for the other levels
            several.append(out)
            return list(out) if isinstance(out, tuple) else [out]

        results = level.pull(run, None, (), given, ())
        out = several[0]
        if not isinstance(out, tuple):
            return results[0]
        return type(out)(*results) if hasattr(out, "_fields") else tuple(results)

    return wrapper


def sequence_number(e: Any) -> int:
    """The number on the clock of what an edge leads to; 0 for a leaf, unless it was made inside a level."""
    if e._seq == 0:
        return e._array.level.start if isinstance(e._array, level.LevelValue) else 0
    return e._seq if e._seq > 0 else e.node._seq
