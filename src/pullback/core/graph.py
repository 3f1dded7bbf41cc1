"""The recorded graph: nodes, where they came from, and the hooks that hang on them.

A tensor that requires grad points to the node that made it (``_fn``); a node points to where its gradients
go (``edges``). An edge is

- a :class:`Node`, for the one output of an operation,
- an :class:`Output`, for one of several outputs,
- a leaf :class:`~pullback.Tensor` itself, whose ``.grad`` accumulates,
- ``None``, where no gradient is wanted.

Nothing points back from a node to the tensors it made, so graphs are freed as soon as they are dropped.

A node's sequence number is larger than those of all the nodes it consumed. That is what lets the engine visit
every consumer before its producer without counting dependencies. Writes to memory are numbered by the same
clock, so "was this saved value overwritten?" is one comparison (see :mod:`pullback.core.versions`).
"""

from __future__ import annotations

import functools
import itertools
import linecache
import os
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from types import CodeType, FrameType
from typing import Any, NamedTuple

from ..base import forks, thread_state
from ..base.handles import RemovableHandle
from ..base.holding import holding
from . import slots

counting = forks.lock(forks.Order.STATE)
clock = itertools.count(1).__next__  # numbers nodes and writes; atomic where the interpreter has its global lock
if not thread_state.global_lock:
    clock = functools.partial(holding, counting, clock)

# Source files of the user's, as met so far; a node names the line of the user's code that made it, not the package's
# own.
USER_FILES: set[str] = set()
PACKAGE_FILES: set[str] = set()
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def is_users(filename: str) -> bool:
    """Whether a source file is the user's (as the package's demo programs are)."""
    if filename in USER_FILES:
        return True
    if filename in PACKAGE_FILES:
        return False
    ours = filename.startswith(ROOT) and not filename.startswith(os.path.join(ROOT, "cli", "demos"))
    (PACKAGE_FILES if ours else USER_FILES).add(filename)
    return not ours


def user_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame from here outwards that is the user's."""
    while frame is not None:
        name = frame.f_code.co_filename
        if name in USER_FILES or name not in PACKAGE_FILES and is_users(name):
            return frame
        frame = frame.f_back
    return None


def source_line(code: CodeType | None, lasti: int) -> tuple[str, int] | None:
    """File and line of an instruction."""
    if code is None:
        return None
    for start, end, line in code.co_lines():
        if start <= lasti < end and line is not None:
            return code.co_filename, line
    return code.co_filename, code.co_firstlineno


class Leaf:
    """What ``_fn`` of a leaf that requires grad holds: the edge is the tensor itself, which must not hold itself."""

    def __repr__(self) -> str:
        return "LEAF"


LEAF: Any = Leaf()
FREED: Any = ("freed",)  # what `saved` holds after backward has run without retain_graph
# classes of saved values that need not be let go after backward: options, shapes
PLAIN_VALUES = type(None), bool, int, float, complex, str, tuple
NUMBERS = "numbers"


def holds_memory(node: Node) -> bool:
    """Whether any value that a node saved has to be let go after backward."""
    if node._keeps is NUMBERS:
        return bool(node._saved)
    for v in node._saved:
        if v.__class__ not in PLAIN_VALUES:
            return True
    return False


class Hooks:
    """The hooks of a node, or of a leaf tensor. Every dict maps a handle's id to a hook."""

    __slots__ = ("tensor", "pre", "post", "accumulated", "retain", "metadata")

    def __init__(self) -> None:
        self.tensor: dict[
            int, dict[int, Callable[..., Any]]
        ] = {}  # output number -> hooks on the gradient of that output
        self.pre: dict[int, Callable[..., Any]] = (
            OrderedDict()
        )  # plain dicts have no weak references, which handles want
        self.post: dict[int, Callable[..., Any]] = OrderedDict()
        self.accumulated: dict[int, Callable[..., Any]] = OrderedDict()
        self.retain: dict[int, weakref.ref] = {}  # output number -> the tensor whose .grad is kept
        self.metadata: dict[str, Any] = {}


class Node:
    """One recorded operation: ``tensor.grad_fn``.

    Attributes:
        edges: where the gradients go, one an input of the operation.
        saved: what the rules need, in the order of the operation's ``saved_names``.
        shape, dtype: of the output (a list each, where there are several outputs).
        _seq: its number on the clock.
        code, lasti: the instruction of the user's program that ran the operation.
    """

    __slots__ = ("_edges", "_saved", "_seq", "_shape", "_dtype", "_code", "_lasti", "_hooks")
    _edges: Any
    _saved: Any
    _seq: int
    _shape: Any
    _dtype: Any
    _code: CodeType | None
    _lasti: int
    _hooks: Any
    _op: Any = None  # set by the subclass of each operation
    # whether it may hold arrays for its rules, to be let go after backward; NUMBERS if numbers are, too
    _keeps: bool | str = True
    _packs = False  # whether what it saved is packed, see :mod:`pullback.engine.saved_tensors`
    _unpack: Any = None  # what unpacks it, if so
    _materializes = False  # whether `_vjp` itself replaces missing gradients, of several outputs, by zeros
    _edge_order: tuple[int, ...] | None = None  # of a linear map: its inputs as PyTorch's node of this name has them
    _vjps: Any = None  # the rule for each edge as a function of (g, saved); None where `_vjp` is overridden

    def _vjp(self, g: Any, saved: tuple[Any, ...], edges: Sequence[Any]) -> Sequence[Any]:
        """The gradients for those edges that are not None.

        Args:
            g: the gradient for the output (a tuple, where there are several outputs).
            saved: the node's saved values, as arrays or as tensors.
            edges: the node's edges, those that nobody asked for replaced by None.
        """
        return apply_vjps(self._vjps, g, saved, edges)

    @classmethod
    def name(cls) -> str:
        """The operation's name as PyTorch has it, such as ``'MulBackward0'``."""
        return cls.__name__

    @property
    def location(self) -> tuple[str, int] | None:
        """File and line of the user's code that ran the operation."""
        return source_line(self._code, self._lasti)

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """The nodes that the gradients go to, each with the number of its output."""
        if self._edge_order is None:
            return tuple(next_function(e) for e in self._edges)
        return tuple(
            next_function(self._edges[i]) if i != 1 or self._edges[1] is None else (TBackward0(self), 0)
            for i in self._edge_order
        )

    @property
    def metadata(self) -> dict[str, Any]:
        """A dict for whatever the user wants to note on this node."""
        return self._own_hooks().metadata

    def _sequence_nr(self) -> int:
        """The node's number, by which the engine orders nodes, or what :meth:`_set_sequence_nr` made of it."""
        return self._seq if self._hooks is None else self._hooks.metadata.get("sequence_nr", self._seq)

    def _set_sequence_nr(self, number: int) -> None:
        """Let :meth:`_sequence_nr` say another number; the order of the engine stays."""
        self._own_hooks().metadata["sequence_nr"] = number

    def _own_hooks(self) -> Hooks:
        if self._hooks is None:
            self._hooks = Hooks()
        return self._hooks

    def register_hook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call ``fn(grad_inputs, grad_outputs)`` after this node has run; it may return new ``grad_inputs``."""
        return RemovableHandle.add(self._own_hooks().post, fn)

    def register_prehook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call ``fn(grad_outputs)`` before this node runs; it may return new ``grad_outputs``."""
        return RemovableHandle.add(self._own_hooks().pre, fn)

    @property
    def _input_metadata(self) -> tuple[InputMetadata, ...]:
        """Shape and type of the gradient of each output."""
        if self._shape.__class__ is list:
            return tuple([InputMetadata(s, d) for s, d in zip(self._shape, self._dtype)])
        return (InputMetadata(self._shape, self._dtype),)

    @property
    def _output_count(self) -> int:
        """How many outputs take part in differentiation."""
        return len(self._shape) if self._shape.__class__ is list else 1

    def __getattr__(self, name: str) -> Any:
        """``_saved_self`` and the like: what the operation saved for backward."""
        if not name.startswith(("_saved_", "_raw_saved_")):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return slots.saved_value(self, name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *slots.saved_names(self)]

    def __call__(self, *grads: Any) -> Any:
        """Run this one node's rule on tensors."""
        return slots.run_node(self, grads)

    def __repr__(self) -> str:
        return f"<{self.name()} object at {id(self):#x}>"


def apply_vjps(pulls: Sequence[Any], g: Any, saved: tuple[Any, ...], edges: Sequence[Any]) -> list[Any]:
    """What rules give, each for its edge, where there is one."""
    return [None if e is None else f(g, saved) for e, f in zip(edges, pulls)]


class Output:
    """One of several outputs of a node, as an edge."""

    __slots__ = ("node", "index")
    _seq = -1

    def __init__(self, node: Node, index: int) -> None:
        self.node, self.index = node, index


class InputMetadata:
    """What a node knows of the gradient of one of its outputs."""

    __slots__ = ("shape", "dtype")
    is_nested_tensor = is_cpp_nested_tensor = False

    def __init__(self, shape: tuple[int, ...] | None, dtype: Any) -> None:
        from ..base.dtypes import OF_NUMPY
        from ..base.shape import Size

        self.shape, self.dtype = None if shape is None else Size(shape), OF_NUMPY.get(dtype)

    @property
    def device(self) -> Any:
        from ..base.device import CPU

        return CPU


class AccumulateGrad(Node):
    """The end of the graph at a leaf, as a node: a handle on the leaf, made when asked for."""

    __slots__ = ("variable", "__weakref__")
    location = None
    _edges = ()
    _saved = ()
    __module__ = "torch.autograd"

    @property
    def _shape(self) -> Any:
        return self.variable._array.shape

    @property
    def _dtype(self) -> Any:
        return self.variable._array.dtype

    def _sequence_nr(self) -> int:
        return 2**64 - 1  # runs as soon as it can

    def __init__(self, variable: Any) -> None:
        self.variable = variable

    @staticmethod
    def of(leaf: Any) -> AccumulateGrad:
        """The same handle for the same leaf, while somebody holds it."""
        ref = leaf.__dict__.get("_accumulate")
        node = ref and ref()
        if node is None:
            node = AccumulateGrad(leaf)
            leaf.__dict__["_accumulate"] = weakref.ref(node)
        return node

    @staticmethod
    def name() -> str:
        return "torch::autograd::AccumulateGrad"

    def _own_hooks(self) -> Hooks:
        return leaf_hooks(self.variable)


class TBackward0(Node):
    """The node that PyTorch has between a linear map and its weight, which is transposed there; here it is only shown.

    Its hooks are called after those of the linear map's own node, with the gradient that goes to the weight.
    """

    __slots__ = ("linear",)
    _saved = ()
    __module__ = "pullback.autograd"

    def __init__(self, linear: Node) -> None:
        self.linear = linear
        self._edges, self._hooks, self._code, self._lasti, self._seq = (
            (linear._edges[1],),
            None,
            linear._code,
            linear._lasti,
            linear._seq,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TBackward0) and self.linear is other.linear

    def __hash__(self) -> int:
        return hash((TBackward0, id(self.linear)))

    @property
    def metadata(self) -> dict[str, Any]:
        return self.linear.metadata.setdefault("weight_", {})

    def register_hook(self, fn: Callable[..., Any]) -> RemovableHandle:
        return self.linear.register_hook(self._with(lambda g: fn((g,), (g.T,)), lambda new: new))

    def register_prehook(self, fn: Callable[..., Any]) -> RemovableHandle:
        return self.linear.register_hook(self._with(lambda g: fn((g.T,)), lambda new: new.T))

    @staticmethod
    def _with(call: Callable[..., Any], back: Callable[..., Any]) -> Callable[..., Any]:
        """A hook on the linear map's node that changes the gradient of the weight, its second input."""

        def hook(grads: tuple[Any, ...], outputs: Any) -> Any:
            if grads[1] is None:
                return None
            changed = call(grads[1])
            if changed is None:
                return None
            (new,) = changed if isinstance(changed, tuple) else (changed,)
            return grads[0], None if new is None else back(new), *grads[2:]

        return hook


grad_dtypes = False  # set once any leaf asks for gradients of another type than its own
# an entry for each leaf with hooks: while there is any, the engine visits leaves in PyTorch's order
hooked_leaves: list[None] = []


class LeafHooks(Hooks):
    """The hooks of a leaf, counted as long as it lives."""

    __slots__ = ()

    def __new__(cls) -> LeafHooks:
        hooked_leaves.append(None)  # before there is an object to be deleted
        return super().__new__(cls)

    def __del__(self) -> None:
        hooked_leaves.pop()


def leaf_hooks(leaf: Any) -> Hooks:
    """The hooks of a leaf, made on first need."""
    if leaf._hooks is None:
        leaf._hooks = LeafHooks()
    return leaf._hooks


def next_function(edge: Any) -> tuple[Any, int]:
    """An edge as PyTorch shows it: a node and the number of its output."""
    if edge is None:
        return None, 0
    if edge.__class__ is Output:
        return edge.node, edge.index
    return (edge, 0) if isinstance(edge, Node) else (AccumulateGrad.of(edge), 0)


def note_user_line(node: Node, frame: FrameType | None) -> None:
    """Note the user's line: in this frame or the nearest outside of it."""
    frame = user_frame(frame)
    node._code, node._lasti = (None, 0) if frame is None else (frame.f_code, frame.f_lasti)


def finish_node(
    node: Any, edges: tuple[Any, ...], saved: tuple[Any, ...], shape: Any, dtype: Any, frame: FrameType | None = None
) -> Any:
    """Fill in a new node and number it: what all nodes of operations go through, but for the inlined copy of
    :func:`pullback.core.record.with_node`. Returns the node.

    Args:
        edges: where gradients go, one an input.
        saved: what the rules ask for.
        shape, dtype: of the output; lists, of several outputs.
        frame: where the search for the user's line begins; None: there is no line.
    """
    node._edges, node._saved, node._hooks = edges, saved, None
    node._shape, node._dtype = shape, dtype
    note_user_line(node, frame)
    node._seq = clock()
    return node


def note_parent(node: Node, results: Sequence[Any], began: int) -> None:
    """Note on the nodes that a recorded backward has made since ``began`` whose backward that was."""
    todo = [r._fn for r in results if r is not None]
    while todo:
        e = todo.pop()
        made = e.node if e.__class__ is Output else e
        if isinstance(made, Node) and made._seq > began and "parent_" not in made.metadata:
            made.metadata["parent_"] = node
            todo.extend(made._edges)


def parents(node: Node) -> Iterator[Node]:
    """The node in whose backward this one was made, if that was in anomaly mode; then the one in whose backward that
    was.
    """
    while node._hooks is not None and "parent_" in node._hooks.metadata:
        node = node._hooks.metadata["parent_"]
        yield node


class GradientEdge(NamedTuple):
    """A place in the graph, without its values: usable as an output or an input of ``autograd.grad`` and ``backward``.

    Attributes:
        node: the node.
        output_nr: which of its outputs.
        ownership_token: kept alive with the edge.
    """

    node: Any
    output_nr: int
    ownership_token: Any = None

    @property
    def edge(self) -> Any:
        """As the engine has it."""
        if isinstance(self.node, AccumulateGrad):
            return self.node.variable
        return Output(self.node, self.output_nr) if self.node._shape.__class__ is list else self.node

    @property
    def shape(self) -> tuple[int, ...]:
        return self.node._input_metadata[self.output_nr].shape

    @property
    def dtype(self) -> Any:
        return self.node._input_metadata[self.output_nr].dtype

    @property
    def requires_grad(self) -> bool:
        return True


def format_line(location: tuple[str, int] | None) -> str:
    """A line of the user's program, with its text where it can be read."""
    if location is None:
        return "an unknown line"
    text = linecache.getline(*location).strip()
    return f"{location[0]}:{location[1]}" + (f"  {text}" if text else "")
