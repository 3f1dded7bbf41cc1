"""Saved tensors: hooks that pack and unpack what nodes save for backward, and ``grad_fn._saved_NAME``.

While such hooks are on, every operation takes the slow path, where :func:`pack` replaces each array that a new node
saved by a :class:`SavedTensor`: what the pack hook returned. The node then changes its class to a twin whose rule
unpacks first, so nodes without hooks, and the engine, know nothing of this.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..base import thread_state
from ..base.errors import with_notes
from ..core import versions, views
from ..core.graph import FREED, Node
from ..core.record import wrap
from ..core.tensor import Tensor
from .accumulate import saved_as_tensor, saved_as_tensors
from .hooks import user_code
from .messages import backward_twice_error

ndarray = np.ndarray


class SavedTensor:
    """One value that a node saved, as ``grad_fn._raw_saved_NAME`` shows it.

    Attributes:
        data: what the pack hook returned; without hooks the tensor itself.
        unpack_hook: what turns it into a tensor again, or None.
    """

    __slots__ = ("data", "unpack_hook", "_node", "_position", "_within")
    data: Any
    unpack_hook: Callable[..., Any] | None
    _node: Any
    _position: int
    _within: int | None  # which value of a list that stands at that position

    def __init__(self, *args: Any) -> None:
        raise with_notes(
            RuntimeError("Trying to create a SavedTensor object from Python is forbidden."),
            "Nodes make them: y.grad_fn._raw_saved_self.",
        )

    @classmethod
    def of(
        cls,
        data: Any,
        unpack_hook: Callable[..., Any] | None,
        node: Node | None = None,
        position: int = -1,
        within: int | None = None,
    ) -> SavedTensor:
        self = object.__new__(cls)
        self.data, self.unpack_hook = data, unpack_hook
        # only in what the user is shown: a node must not hold itself
        self._node, self._position, self._within = node, position, within
        return self

    def unpack(self) -> Tensor:
        """The tensor, unpacked by the hook."""
        if self.unpack_hook is None:
            return self.data
        with user_code(False):
            result = self.unpack_hook(self.data)
        if not isinstance(result, Tensor):
            raise TypeError(
                f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                f"{type(result).__name__}"
            )
        return result

    def register_hooks(
        self, pack_hook: Callable[..., Any] | None = None, unpack_hook: Callable[..., Any] | None = None
    ) -> None:
        """Pack this value now, and unpack it whenever backward needs it.

        Raises:
            RuntimeError: if it is None, was freed, or has hooks already.
            TypeError: unless both hooks are given and can be called.
        """
        if not callable(pack_hook) or not callable(unpack_hook):
            raise TypeError(
                "register_hooks(): incompatible function arguments: pack_hook and unpack_hook must be callable"
            )
        node, i, k = self._node, self._position, self._within
        if node is None or node._saved is FREED:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the "
                "graph are "
                "freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward "
                "through the graph a second time or if you need to access saved variables after calling backward."
            )
        value = node._saved[i] if k is None else node._saved[i][k]
        if self.unpack_hook is not None or value.__class__ is SavedTensor:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set is not supported."
            )
        if self.data is None:
            raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden")
        if node._op is None:
            kept = node._pack(i, pack_hook, unpack_hook)
        else:
            kept = packed(wrap(value), pack_hook, unpack_hook)
            new = kept if k is None else [*node._saved[i][:k], kept, *node._saved[i][k + 1 :]]
            node._saved = (*node._saved[:i], new, *node._saved[i + 1 :])
            use_twin(node)
        self.data, self.unpack_hook = kept.data, unpack_hook


def packed(tensor: Tensor, pack_hook: Callable[..., Any], unpack_hook: Callable[..., Any]) -> SavedTensor:
    """A tensor, packed.

    Raises:
        RuntimeError: if the hook wrote into it.
    """
    before = versions.version(tensor._array)
    with thread_state.no_grad():
        data = pack_hook(tensor)
    if versions.version(tensor._array) != before:
        raise with_notes(
            RuntimeError(
                "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook can "
                "not be modified by in-place operations as this can lead to unexpected side-effects. Please open an "
                "issue if you need to perform in-place operations on the input to a pack hook."
            ),
            "Let it work on a .clone().",
        )
    return SavedTensor.of(data, unpack_hook)


def pack_inputs(op: Any, args: Sequence[Any], edges: Sequence[Any], values: Sequence[Any]) -> None:
    """Pack those inputs that the node of an operation will save, before it computes; :func:`pack` finds them."""
    mask = sum(1 << k for k, e in enumerate(edges) if e is not None)
    ready: dict[int, tuple[ndarray, SavedTensor]] = {}
    for n, (kind, i, users) in enumerate(op.saved_spec):
        if (
            kind == "value"
            and i in op.tensors
            and users & mask
            and isinstance(args[i], Tensor)
            and values[i].__class__ is ndarray
        ):
            input = saved_as_tensor(values[i], edges[op.tensors.index(i)])
            ready[n] = values[i], packed(input, *thread_state.local.packing[-1])
    thread_state.local.packed_inputs = op, ready


def pack(node: Node) -> None:
    """Pack what a new node of an operation saved, with the innermost hooks of this thread."""
    op, hooks = node._op, thread_state.local.packing[-1]
    saved = list(node._saved)
    of, ready = thread_state.local.packed_inputs
    thread_state.local.packed_inputs = None, {}
    if of is op:
        for n, (array, s) in ready.items():
            if saved[n] is array:  # else they were of a call that failed
                saved[n] = s
    first = len(node._edges) - len(op.tensors) if op.takes_tensor_list else 0  # after the edges of a list of tensors
    for n, ((kind, i, _), value) in enumerate(zip(op.saved_spec, saved)):
        if value.__class__ is ndarray and (kind == "out" or i in op.tensors):
            edge = node._edges[first + op.tensors.index(i)] if kind == "value" else None
            saved[n] = packed(saved_as_tensor(value, edge), *hooks)
        elif value.__class__ is list and op.takes_tensor_list and i == 0 and kind == "value":
            saved[n] = [packed(saved_as_tensor(v, e), *hooks) for v, e in zip(value, node._edges)]
    node._saved = tuple(saved)
    if any([v.__class__ is SavedTensor or v.__class__ is list for v in saved]):
        use_twin(node)


def unpacked(saved: Sequence[Any]) -> tuple[Any, ...]:
    """Saved values, those that are packed as arrays again."""
    return tuple(
        [
            v.unpack()._array
            if v.__class__ is SavedTensor
            else [u.unpack()._array if u.__class__ is SavedTensor else u for u in v]
            if v.__class__ is list
            else v
            for v in saved
        ]
    )


twins: dict[type[Node], type[Node]] = {}  # for a class of nodes, the one that unpacks


def use_twin(node: Node) -> None:
    """Let a node unpack what it saved before its rule sees it."""
    cls = type(node)
    if cls._packs or node._op is None:  # custom Functions unpack in ``ctx.saved_tensors``
        return
    if cls not in twins:
        pulls = cls._vjps
        pull: Any = cls._vjp
        if pulls is not None:
            pull = lambda node, g, saved, edges: [None if e is None else f(g, saved) for e, f in zip(edges, pulls)]  # noqa: E731
        twins[cls] = type(
            cls.__name__,
            (cls,),
            {
                "__slots__": (),
                "_packs": True,
                "_unpack": staticmethod(unpacked),
                "_vjps": None,
                "__module__": cls.__module__,
                "_vjp": lambda node, g, saved, edges: pull(node, g, unpacked(saved), edges),
            },
        )
    node.__class__ = twins[cls]


def show(node: Node, position: int) -> SavedTensor | tuple[SavedTensor, ...]:
    """One saved value, or each of a list, for the user to look at, and to put hooks on."""
    if node._saved is FREED:
        return SavedTensor.of(None, None, node, position)
    value = node._saved[position]
    if value.__class__ is SavedTensor:
        return SavedTensor.of(value.data, value.unpack_hook, node, position)
    if value.__class__ is not list:
        return SavedTensor.of(saved_as_tensors(node)[position], None, node, position)
    shown: list[SavedTensor] = []
    for k, v in enumerate(value):
        data, hook = (
            (v.data, v.unpack_hook)
            if v.__class__ is SavedTensor
            else (wrap(v) if isinstance(v, ndarray) else None, None)
        )
        shown.append(SavedTensor.of(data, hook, node, position, k))
    return tuple(shown)


# --- contexts -----------------------------------------------------------------------------------------------------


class saved_tensors_hooks:
    """Inside, what operations save for backward is kept as ``pack_hook(tensor)``; backward sees ``unpack_hook`` of
    that.

    Args:
        pack_hook: takes the tensor, which it must not change; returns anything.
        unpack_hook: takes that; returns a tensor of the same shape and type.

    >>> import pullback as torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> with torch.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), lambda v: torch.tensor(v)):
    ...     y = (x * x).sum()
    >>> y.backward(); x.grad
    tensor([2., 4.])
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        if thread_state.local.packing_refused is not None:
            raise RuntimeError(thread_state.local.packing_refused)
        thread_state.local.packing = (*thread_state.local.packing, (self.pack_hook, self.unpack_hook))
        thread_state.add_slow_path_reason(1)

    def __exit__(self, *exc: object) -> None:
        if thread_state.local.packing:
            thread_state.local.packing = thread_state.local.packing[:-1]
            thread_state.add_slow_path_reason(-1)


class save_on_cpu(saved_tensors_hooks):
    """Keep what is saved on the CPU, where everything is in any case: a copy for each saved tensor.

    >>> import pullback as torch
    >>> with torch.autograd.graph.save_on_cpu(): y = torch.ones(2, requires_grad=True).exp()
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda t: t.detach().clone(), lambda t: t)


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Inside, :class:`saved_tensors_hooks` raise ``RuntimeError(error_message)``."""
    if thread_state.local.packing:
        raise RuntimeError(error_message)
    before, thread_state.local.packing_refused = thread_state.local.packing_refused, error_message
    try:
        yield
    finally:
        thread_state.local.packing_refused = before


# --- writing into what was saved ----------------------------------------------------------------------------------


class Handle:
    """A saved value that survives writes: copied at the last moment before one."""

    __slots__ = ("array", "__weakref__")

    def __init__(self, array: ndarray) -> None:
        self.array = array

    def apart(self) -> Handle:
        """A handle of its own for the operation that wrote, which packed the old value, too."""
        return Handle(self.array)


class MutationContext:
    """What :func:`allow_mutation_on_saved_tensors` gives.

    Attributes:
        cloned: for each saved value that was copied, the copy.
        tid_to_weakhandle: the saved values that are watched.
    """

    def __init__(self) -> None:
        self.cloned: weakref.WeakKeyDictionary[Handle, Tensor] = weakref.WeakKeyDictionary()
        self.tid_to_weakhandle: weakref.WeakValueDictionary[Any, Handle] = weakref.WeakValueDictionary()
        self.open = True

    def clear(self) -> None:
        """Watch nothing any more."""
        self.cloned.clear()
        self.tid_to_weakhandle.clear()

    def keep(self, tensor: Tensor) -> Handle:
        a = tensor._array
        key = id(versions.owner_of(a)), a.__array_interface__["data"][0], a.shape, a.strides, versions.version(a)
        handle = self.tid_to_weakhandle.get(key)
        if handle is None or handle in self.cloned:
            handle = self.tid_to_weakhandle[key] = Handle(a)
        return handle

    def give(self, handle: Handle) -> Tensor:
        if not self.open:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context"
                "in which the graph was originally recorded."
            )
        return wrap(handle.array)

    def before_write(self, array: ndarray) -> None:
        owner = versions.memory_root(array)
        for handle in list(self.tid_to_weakhandle.values()):
            if handle not in self.cloned and versions.memory_root(handle.array) is owner:
                handle.array = handle.array.copy()
                self.cloned[handle] = wrap(handle.array)


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[MutationContext]:
    """Inside, tensors may be written into though backward needs them: it gets the old values, copied before the write.

    Backward has to run inside, too.

    >>> import pullback as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.autograd.graph.allow_mutation_on_saved_tensors():
    ...     y = x.clone()
    ...     z = (y * y).sum()
    ...     _ = y.sin_()
    ...     z.backward()
    >>> x.grad
    tensor([2., 2.])
    """
    if any([isinstance(getattr(w, "__self__", None), MutationContext) for w in views.before_write]):
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    context = MutationContext()
    views.before_write.append(context.before_write)
    try:
        with saved_tensors_hooks(context.keep, context.give):
            yield context
    finally:
        views.before_write.remove(context.before_write)
        context.open = False
        context.clear()


# --- by name ----------------------------------------------------------------------------------------------------


def unsaved(node: Node, name: str) -> Any:
    """What a node kept under that name, for ``grad_fn._saved_NAME``; for ``_raw_saved_NAME`` as a ``SavedTensor``."""
    raw, name = name.startswith("_raw_saved_"), name.partition("saved_")[2]
    names = node._op.saved_names if node._op is not None else ()
    public = name if name in names else PUBLIC_NAMES.get(name, name)
    if public not in names and public.endswith("_sym_sizes"):
        public = PUBLIC_NAMES.get(name[:-10], name[:-10]) + "_shape"
    if public not in names:
        raise with_notes(
            AttributeError(f"{node.name()!r} object has no attribute '_saved_{name}'"),
            f"it saved: {', '.join(names) or 'nothing'}",
        )
    if raw:
        return show(node, names.index(public))
    if node._saved is FREED:
        raise backward_twice_error(node)
    value = saved_as_tensors(node)[names.index(public)]
    if public == "at":
        return tuple([wrap(i) if isinstance(i, ndarray) else None for i in value])
    return tuple(value) if value.__class__ is list else wrap(value) if isinstance(value, ndarray) else value


def shown_names(node: Node) -> list[str]:
    """The names of what a node kept, for ``dir(grad_fn)``: tools that draw graphs look there."""
    names = node._op.saved_names if node._op is not None else ()
    # that is its name in most operations
    theirs = {ours: name for name, ours in PUBLIC_NAMES.items() if ours != "other"}
    plain = [
        (n.removesuffix("_shape"), "_sym_sizes" if n.endswith("_shape") else "")
        for n in names
        if n not in ("name", "part")
    ]
    return [f"_saved_{theirs.get(n, n)}{ending}" for n, ending in plain]


# PyTorch's names for what nodes saved
PUBLIC_NAMES = {"self": "input", "result": "out", "mat2": "other", "vec": "other", "indices": "at"}
