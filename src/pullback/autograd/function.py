"""``torch.autograd.Function``: a forward and a backward of the user's own, as one node of the graph."""

from __future__ import annotations

import functools
import inspect
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..base import thread_state
from ..base.dtypes import FLOATING, OF_NUMPY
from ..base.errors import with_notes
from ..core import slots, versions, views
from ..core.graph import FREED, LEAF, USER_FILES, Node, Output, clock, note_user_line
from ..core.record import wrap
from ..core.tensor import Tensor
from ..engine import messages
from ..engine.accumulate import broadcasts, saved_as_tensor
from ..engine.hooks import note, shown
from ..engine.not_differentiable import has_intermediate, refusing_derivative
from ..engine.not_differentiable import once_differentiable as once_differentiable
from ..engine.saved_tensors import SavedTensor, packed

ndarray = np.ndarray


class FunctionCtx:
    """What ``ctx`` offers in ``forward``, ``setup_context`` and ``backward``; attributes of the user's own are
    welcome.
    """

    __slots__ = ()

    needs_input_grad: tuple[bool, ...] = ()
    materialize_grads = True
    to_save: tuple[Any, ...] = ()
    dirty_tensors: tuple[Any, ...] = ()
    non_differentiable: tuple[Any, ...] = ()
    _materialize_non_diff_grads = True
    _is_pure_view = False

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors for backward, where ``saved_tensors`` gives them back; later writes into them are noticed.

        Save inputs and outputs: what is computed from them again in backward has derivatives, intermediate values have
        none (differentiating twice through one is an error).
        """
        for i, t in enumerate(tensors):
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {i} is of type {type(t).__name__}"
                )
        self.to_save = tensors  # type: ignore[misc]

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors for ``jvp``."""
        self.saved_for_forward = tensors  # type: ignore[misc]

    def mark_dirty(self, *tensors: Any) -> None:
        """Say that ``forward`` wrote into these inputs; they have to be among its outputs."""
        self.dirty_tensors = tensors  # type: ignore[misc]

    def mark_shared_storage(self, *pairs: Any) -> None:
        warnings.warn(
            "mark_shared_storage is deprecated. Tensors with shared storages are automatically tracked. Note that "
            "calls to `set_()` are not tracked",
            FutureWarning,
            stacklevel=2,
        )

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Say that these outputs have no gradient."""
        self.non_differentiable = tensors  # type: ignore[misc]

    def set_materialize_grads(self, value: bool) -> None:
        """With False, ``backward`` gets None instead of zeros for outputs that received no gradient."""
        self.materialize_grads = value  # type: ignore[misc]


class Kept:
    """A saved value that is not simply a tensor: an output (its array), or what hooks made of a tensor.

    ``edge`` is where a gradient for the value goes: for an output its number, since a node must not hold itself.
    """

    __slots__ = ("value", "edge")

    def __init__(self, value: Any, edge: Any) -> None:
        self.value, self.edge = value, edge


class BackwardNode(FunctionCtx, Node):
    """The node of a custom Function, which is also its ``ctx``."""

    # Slots for what every call needs, and a dict: ctx takes any attribute.
    __slots__ = ("_where", "_wanted", "_plain", "__dict__", "__weakref__")
    _function: Any = None
    _where: Any  # for each argument, which edge it is, or -1; None if every argument is a tensor
    _wanted: Sequence[Any]  # the edges whose gradients are asked for
    _plain: bool  # whether what was saved can be given out as it is, while nothing is written into or recorded
    _intermediates: tuple[str, ...] = ()  # attributes whose derivative is not known
    _vjps = None
    _materializes = True

    def _vjp(self, g: Any, saved: Any, edges: Sequence[Any]) -> Sequence[Any]:
        gs: tuple[Any, ...]
        task = thread_state.local.graph_task
        show = wrap if task is None or task.shown is None else shown
        if g.__class__ is ndarray:
            recording, gs = False, (show(g),)
        elif g.__class__ is not tuple:
            recording, gs = isinstance(g, Tensor), (g if isinstance(g, Tensor) else show(g),)
        else:
            recording = any([isinstance(v, Tensor) for v in g])
            gs = g if None not in map(type_of_gradient, g) else self._materialized(g)
            gs = tuple([show(v) if isinstance(v, ndarray) else v for v in gs])
        self._wanted = edges
        function, local = self._function, thread_state.local
        before = local.grad
        if before is not recording:
            thread_state.set_grad(recording)
        local.nested += 1
        try:
            if recording and self._intermediates:
                results = self._refusing_intermediates(gs)
            else:
                results = (function._pulls_back or function._backward_of())(self, *gs)
        finally:
            local.nested -= 1
            if local.grad is not before:
                thread_state.set_grad(before)
        if results.__class__ is Tensor and len(edges) == 1 and self._where is None:  # the usual case
            e, r = edges[0], results
            if e is not None and e._seq >= 0 and r._array.shape == (e._shape if e._seq > 0 else e._array.shape):
                if r.__dict__ and not recording:
                    note(r)
                return (r if recording else r._array,)
        return self._checked(results, edges, recording)

    def _materialized(self, g: tuple[Any, ...]) -> tuple[Any, ...]:
        """Zeros for missing gradients, unless ``set_materialize_grads(False)``."""
        if not self.materialize_grads:
            return g
        skipped = () if self._materialize_non_diff_grads else self._constant
        return tuple(
            [
                np.zeros(s, d) if v is None and s is not None and i not in skipped else v
                for i, (v, s, d) in enumerate(zip(g, self._shape, self._dtype))
            ]
        )

    def _refusing_intermediates(self, gs: tuple[Any, ...]) -> Any:
        """Run backward, recorded, with intermediates of forward on ctx replaced by tensors that refuse to be
        differentiated.
        """
        attributes = self.__dict__
        kept = {name: attributes[name] for name in self._intermediates if name in attributes}
        try:
            for name, value in kept.items():
                attributes[name] = refusing_derivative(value, self, f"ctx.{name}")
            return self._function._backward_of()(self, *gs)
        finally:
            attributes.update(kept)

    def _checked(self, results: Any, edges: Sequence[Any], recording: bool) -> list[Any]:
        """What the user's backward returned, if it fits the inputs."""
        results = results if isinstance(results, (tuple, list)) else (results,)
        where = range(len(edges)) if self._where is None else self._where
        given = len(where)
        if len(results) > given and all(r is None for r in results[given:]):
            results = results[:given]
        if len(results) != given:
            raise with_notes(
                RuntimeError(
                    f"function {self.name()} returned an incorrect number of gradients (expected {given}, got "
                    f"{len(results)})"
                ),
                page="wrong-number-of-gradients",
            )
        grads: list[Any] = []
        for i, (r, k) in enumerate(zip(results, where)):
            if k < 0:
                if r is not None:
                    raise RuntimeError(
                        f"function {self.name()} returned a gradient different than None at position {i + 1}, but the "
                        "corresponding forward input was not a Variable"
                    )
                continue
            if r is not None and not isinstance(r, Tensor):
                raise with_notes(
                    RuntimeError(f"expected Variable or None (got {type(r).__name__})"),
                    f"{self.name()} returned it at position {i + 1}",
                )
            e = edges[k]
            if r is not None and e is not None:
                shape = e._array.shape if e._seq == 0 else e._shape if e._seq > 0 else e.node._shape[e.index]
                if r._array.shape != shape:
                    r = self._summed(r, shape, i)
            if r is not None and not recording:
                note(r)
            grads.append(None if r is None or e is None else r if recording else r._array)
        return grads

    def _summed(self, r: Tensor, shape: tuple[int, ...], index: int) -> Tensor:
        """A gradient of another shape: unmodified programs have it summed, as PyTorch does; all else is refused."""
        from ..ops.reduce import sum_to

        if not thread_state.as_torch or not broadcasts(shape, r._array.shape):
            raise messages.wrong_shape_error(self, r._array.shape, shape, index)
        return sum_to(r, shape)

    @property
    def needs_input_grad(self) -> tuple[bool, ...]:  # type: ignore[override]
        """For each input, whether its gradient is asked for."""
        if self._where is None:
            return tuple([e is not None for e in self._wanted])
        return tuple([k >= 0 and self._wanted[k] is not None for k in self._where])

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors given to ``save_for_backward``.

        Raises:
            RuntimeError: if they were freed, or one was written into since.
        """
        saved = self._saved
        if saved.__class__ is list and self._plain and self._seq >= versions.last_write and not thread_state.local.grad:
            return tuple(saved)
        if saved is FREED:
            raise messages.backward_twice_error(self)
        if saved is ONCE:
            raise RuntimeError(
                "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is set on the "
                "autograd.Function. Either access saved_tensors only once, or set clear_saved_tensors_on_access=False."
            )
        written, recording = self._seq < versions.last_write, thread_state.is_grad_enabled()
        task = thread_state.local.graph_task
        tensors = []
        for i, s in enumerate(saved):
            if s.__class__ is Kept:
                s = self._restored(s, i)
            elif s is not None:
                if written:
                    self._refuse_overwritten(s._array, i)
                if recording and s._hooks is views.INSIDE_FUNCTION:
                    s = refusing_derivative(s, self, f"saved_tensors[{i}]")
            if recording and task is not None and task.as_saved is not None:
                s = task.as_saved(s)
            tensors.append(s)
        if self._function.clear_saved_tensors_on_access and saved:
            saved.clear()
            self._saved = ONCE
        return tuple(tensors)

    def _refuse_overwritten(self, array: ndarray, position: int) -> None:
        write = versions.write_after(array, self._seq)
        if write is not None:
            raise messages.overwritten(self, position, array, write)

    def _restored(self, kept: Kept, position: int) -> Tensor:
        e = kept.edge
        if kept.value.__class__ is SavedTensor:
            t = kept.value.unpack()
            if e is None or t is e:
                return t
            array = t._array
        else:
            array = kept.value
            self._refuse_overwritten(array, position)
        if e.__class__ is not int:
            return saved_as_tensor(array, e)
        result = wrap(array)
        result._fn = None if e in self._constant else self if self._shape.__class__ is not list else Output(self, e)
        return result

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """An old name of :attr:`saved_tensors`."""
        warnings.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2)
        return self.saved_tensors

    @property
    def _raw_saved_tensors(self) -> tuple[SavedTensor, ...]:
        if self._saved is FREED:
            raise messages.backward_twice_error(self)
        shown = []
        for i, s in enumerate(self._saved):
            value = s.value if s.__class__ is Kept else s
            hook = value.unpack_hook if value.__class__ is SavedTensor else None
            data = (
                value.data if value.__class__ is SavedTensor else wrap(value) if value.__class__ is ndarray else value
            )
            shown.append(SavedTensor.of(data, hook, self, i))
        return tuple(shown)

    def _pack(self, position: int, pack_hook: Any, unpack_hook: Any) -> SavedTensor:
        """Replace one saved tensor by what the hook makes of it."""
        s = self._saved[position]
        edge = s.edge if s.__class__ is Kept else views.gradient_edge(s)
        kept = packed(wrap(s.value) if s.__class__ is Kept else s.detach(), pack_hook, unpack_hook)
        self._saved[position] = Kept(kept, edge)
        self._plain = False
        return kept

    _constant: tuple[int, ...] = ()  # the numbers of outputs that do not take part in differentiation


ONCE: Any = ("once",)  # what ``_saved`` holds after ``saved_tensors`` was read, where that is allowed only once


def type_of_gradient(g: Any) -> Any:
    return None if g is None else True


class BackwardCFunction(BackwardNode):
    """PyTorch's name for what the nodes of all custom Functions are."""

    def __repr__(self) -> str:
        return f"<torch.autograd.function.{self.name()} object at {id(self):#x}>"


class FunctionMeta(type):
    """Gives each Function the class of its nodes."""

    def __init__(cls, name: str, bases: tuple[type, ...], attributes: dict[str, Any]) -> None:
        super().__init__(name, bases, attributes)
        cls._backward_cls = type(
            name + "Backward", (BackwardCFunction,), {"_function": cls, "__module__": "torch.autograd.function"}
        )
        cls._pulls_back: Any = None  # backward, or vjp, once it was looked up

    def __setattr__(cls, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name in ("backward", "vjp"):
            for c in [cls, *cls.__subclasses__()]:
                c._pulls_back = None  # type: ignore[attr-defined]


class Function(metaclass=FunctionMeta):
    """A differentiable operation with a ``backward`` of your own.

    Subclass it with static methods ``forward(ctx, *args)`` and ``backward(ctx, *grad_outputs)``, or
    ``forward(*args)``, ``setup_context(ctx, inputs, output)`` and ``backward``; then call
    ``YourFunction.apply(*args)``. ``backward`` receives the gradient of each output and returns one for each argument
    (None where there is none). It
    runs on tensors: with ``create_graph=True`` what it does is recorded, so it can be differentiated again.

    >>> import pullback as torch
    >>> class Double(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     def backward(ctx, grad_output):
    ...         return grad_output * 2
    >>> x = torch.tensor([1.0], requires_grad=True)
    >>> Double.apply(x).backward(torch.tensor([3.0])); x.grad
    tensor([6.])
    """

    generate_vmap_rule = False
    clear_saved_tensors_on_access = False
    _backward_cls: type[BackwardNode]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should "
            "invoke them on the class itself. Instantiating an autograd function will raise an error in a future "
            "version of PyTorch.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd "
            "function with static forward method. (Example: "
            "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the outputs; override this."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    if TYPE_CHECKING:  # subclasses name the parameters
        setup_context: ClassVar[Callable[..., Any]]
        backward: ClassVar[Callable[..., Any]]
        vjp: ClassVar[Callable[..., Any]]
        jvp: ClassVar[Callable[..., Any]]
        vmap: ClassVar[Callable[..., Any]]
    else:

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
            """Save what backward needs, if ``forward`` does not take ``ctx``."""
            raise NotImplementedError("setup_context is not implemented.")

        @staticmethod
        def backward(ctx: Any, *grad_outputs: Any) -> Any:
            """Turn gradients of the outputs into gradients of the arguments; override this (or ``vjp``)."""
            raise NotImplementedError(
                "You must implement either the backward or vjp method for your custom autograd.Function to use it "
                "with backward mode AD."
            )

        vjp = backward

        @staticmethod
        def jvp(ctx: Any, *grad_inputs: Any) -> Any:
            """Turn tangents of the arguments into tangents of the outputs; override this for forward mode."""
            raise NotImplementedError(
                "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
            )

        @staticmethod
        def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
            """Compute for a whole batch at once; override this, or set ``generate_vmap_rule = True``."""
            raise NotImplementedError(
                "To use autograd.Function with vmap, you must either override the vmap static method or set "
                "generate_vmap_rule=True."
            )

    @classmethod
    def _backward_of(cls) -> Any:
        if cls.vjp is not Function.vjp and cls.backward is not Function.backward:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only "
                "implement one of them."
            )
        cls._pulls_back = cls.backward if cls.vjp is Function.vjp else cls.vjp
        return cls._pulls_back

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run the function and record it."""
        if thread_state.slow_path_reasons:
            output = slots.function_in_levels(cls, args, kwargs)
            if output is not NotImplemented:
                return output
        node = cls._backward_cls()
        edges: list[Any] = []
        where: list[int] | None = None
        wanted = False
        for a in args:
            if isinstance(a, Tensor):
                if where is not None:
                    where.append(len(edges))
                e = a._fn
                if a._view is not None:
                    e = views.gradient_edge(a)
                elif e is LEAF:
                    e = a
                edges.append(e)
                wanted = wanted or e is not None
            else:
                if where is None:
                    where = list(range(len(edges)))
                where.append(-1)
        local = thread_state.local
        before, made = local.grad, local.made
        recording = before and wanted
        node._where, node._wanted, node._hooks, node._saved = where, edges, None, ()
        node._edges = tuple(edges) if recording else ()
        if before:
            thread_state.set_grad(False)
            if wanted and made is None:
                local.made = views.INSIDE_FUNCTION
        try:
            if cls.setup_context is Function.setup_context:
                output = cls.forward(node, *args, **kwargs)
            else:
                output = cls.forward(*args, **kwargs)
                cls.setup_context(node, args if len(args) >= _arity(cls) else _with_defaults(cls, args, kwargs), output)
        finally:
            if before:
                thread_state.set_grad(True)
                local.made = made
        several = isinstance(output, tuple)
        usual = (
            not several
            and isinstance(output, Tensor)
            and output._view is None
            and output._fn is None
            and not node.dirty_tensors
            and not node.non_differentiable
        )
        for a in args:
            usual = usual and output is not a
        if usual:
            a = output._array
            if not recording or OF_NUMPY[a.dtype].category < FLOATING:
                if local.made is not None:
                    views.mark_unrecorded(output, next((e for e in edges if e is not None), None), *args)
                return output
            output._hooks = None
            node._shape, node._dtype = a.shape, a.dtype
            output._fn = node
            outputs: tuple[Any, ...] = (output,)
        else:
            outputs = output if several else (output,)
            results = cls._placed(node, args, outputs, recording)
            output = tuple(results) if several else results[0]
            if not recording:
                return output
        attributes = node.__dict__
        if attributes:
            cls._keep(node, attributes, args, outputs)
        frame = sys._getframe(1)
        code = frame.f_code
        if code.co_filename in USER_FILES:
            node._code, node._lasti = code, frame.f_lasti
        else:
            note_user_line(node, frame)
        node._seq = clock()
        return output

    @classmethod
    def _placed(cls, node: BackwardNode, args: tuple[Any, ...], outputs: tuple[Any, ...], recording: bool) -> list[Any]:
        """Give the outputs of ``forward`` their place in the graph."""
        constant, dirty = set(map(id, node.non_differentiable)), set(map(id, node.dirty_tensors))
        inputs = {id(a) for a in args if isinstance(a, Tensor)}
        if dirty:
            _check_dirty(node.dirty_tensors, inputs, outputs)
        if node._is_pure_view and (len(outputs) > 1 or sum(isinstance(a, Tensor) for a in args) > 1):
            raise RuntimeError(
                "Pure view custom Function can only have one input Tensor and one output Tensor. Open an issue if you "
                "need to support more."
            )
        differentiable = [
            recording
            and isinstance(o, Tensor)
            and id(o) not in constant
            and OF_NUMPY[o._array.dtype].category >= FLOATING
            for o in outputs
        ]
        if len(outputs) == 1:
            o = outputs[0]
            node._shape, node._dtype = (o._array.shape, o._array.dtype) if isinstance(o, Tensor) else ((), None)
        else:
            node._shape = [o._array.shape if isinstance(o, Tensor) else None for o in outputs]
            node._dtype = [o._array.dtype if isinstance(o, Tensor) else None for o in outputs]
        if not all(differentiable):
            node._constant = tuple(i for i, d in enumerate(differentiable) if not d)
        kind = views.FROM_FUNCTION if sum(differentiable) < 2 else views.ONE_OF_SEVERAL
        placed: dict[int, Any] = {}  # an output given twice is one tensor
        for i, (o, d) in enumerate(zip(outputs, differentiable)):
            if isinstance(o, Tensor) and id(o) not in placed:
                place = _place_dirty if id(o) in dirty else _place
                placed[id(o)] = place(
                    node, o, i, d, id(o) in inputs, recording, ORDINARY_VIEW if node._is_pure_view else kind
                )
        return [placed[id(o)] if isinstance(o, Tensor) else o for o in outputs]

    @classmethod
    def _keep(
        cls, node: BackwardNode, attributes: dict[str, Any], args: tuple[Any, ...], outputs: tuple[Any, ...]
    ) -> None:
        """Keep for backward what ``forward`` asked for, which stands in the node's attributes."""
        to_save = attributes.pop("to_save", ())
        if attributes:
            attributes.pop("dirty_tensors", None)
            attributes.pop("non_differentiable", None)
        if to_save:
            node._saved = saved = []
            node._plain = not cls.clear_saved_tensors_on_access
            packing = thread_state.slow_path_reasons and thread_state.local.packing
            for t in to_save:
                if packing or len(outputs) != 1 or t is outputs[0]:
                    t = cls._entry(node, t, args, outputs)
                    node._plain = node._plain and t.__class__ is not Kept
                saved.append(t)
        if attributes:
            held = [name for name, value in attributes.items() if has_intermediate(value)]
            if held:
                node._intermediates = tuple(held)

    @classmethod
    def _entry(cls, node: BackwardNode, t: Any, args: tuple[Any, ...], outputs: tuple[Any, ...]) -> Any:
        """What to keep of one tensor: itself; of an output only its array, so that the node does not hold itself."""
        if t is None:
            return None
        number = -1
        for i, o in enumerate(outputs):
            if o is t:
                number = i
                break
        if number >= 0 and any([t is a for a in args]) and getattr(t._fn, "node", t._fn) is not node:
            number = -1  # an input that is returned as it is
        if thread_state.slow_path_reasons and thread_state.local.packing:
            edge = number if number >= 0 else views.gradient_edge(t)
            return Kept(packed(wrap(t._array) if number >= 0 else t, *thread_state.local.packing[-1]), edge)
        return t if number < 0 else Kept(t._array, number)


ORDINARY_VIEW = views.ORDINARY


def _check_dirty(dirty: Sequence[Any], inputs: set[int], outputs: tuple[Any, ...]) -> None:
    """Refuse a wrong use of ``mark_dirty``.

    Raises:
        RuntimeError: for tensors that are not returned, or cannot have been written into.
    """
    returned = set(map(id, outputs))
    for t in dirty:
        if id(t) not in returned:
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as output. The inputs that "
                "are modified inplace must all be outputs of the Function."
            )
        if id(t) not in inputs:
            message = (
                "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated "
                "should be passed to ctx.mark_dirty()."
            )
            if t._is_view():
                raise RuntimeError(message)
            warnings.warn(message, UserWarning, stacklevel=4)


def _place_dirty(
    node: BackwardNode, o: Any, i: int, differentiable: bool, is_input: bool, recording: bool, kind: int
) -> Any:
    """An input that was written into stays the same tensor, with a new history."""
    if not is_input:
        return _place(node, o, i, differentiable, is_input, recording, kind)
    if recording and views.wants_grad(o) and views.gradient_edge(o) is o and not o._is_view():
        raise with_notes(
            RuntimeError("a leaf Variable that requires grad has been used in an in-place operation."),
            page="leaf-in-place",
        )
    if recording:
        views.check_writable(o, source=node)
    if differentiable and o._is_view() and node._shape.__class__ is list:
        raise RuntimeError(
            "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return "
            "more than one Tensor. This is not supported by the current autograd engine. You should either make sure "
            "the input is not a view (using .clone() for example) or make your Function only return one Tensor "
            "(potentially splitting it into two Functions: one doing the inplace that returns a single Tensor and a "
            "second one that does the other operations). You can ask on the forum https://discuss.pytorch.org/ if you "
            "need help to do this change."
        )
    versions.bump_tensor_version(o)
    if differentiable:
        node._seq = clock()
        views.rebase_history(o, _edge(node, i))
    return o


def _place(node: BackwardNode, o: Any, i: int, differentiable: bool, is_input: bool, recording: bool, kind: int) -> Any:
    """An output that is new, or an input returned as it is: that becomes a new tensor, a view of the input."""
    result = o
    if is_input or o._fn is LEAF and not o._is_view():
        if recording and not differentiable and not views.wants_grad(o):
            return o
        result = wrap(o._array) if type(o) is Tensor or is_plain(o) else o.as_subclass(type(o))
        if is_input:
            result._view = (
                o._view if o._view is views.INFERENCE_TENSOR else (o._view[0] if o._is_view() else o, clock(), kind)
            )
    elif o._is_view():
        o._view = (o._view[0], clock(), kind)
    result._hooks = result._fn = None
    if not recording and result._is_view():
        views.unrecorded_view(result, result._view[0], clock(), kind, views.gradient_edge(o) if is_input else None)
    if differentiable:
        result._fn = _edge(node, i)
    return result


def is_plain(x: Any) -> bool:
    from ..core.tensor import PLAIN_TENSOR_TYPES

    return type(x) in PLAIN_TENSOR_TYPES


def _edge(node: BackwardNode, i: int) -> Any:
    return Output(node, i) if node._shape.__class__ is list else node


@functools.cache
def _arity(cls: type[Function]) -> int:
    """How many positional arguments the forward takes, counting those with a default."""
    parameters = inspect.signature(cls.forward).parameters.values()
    return sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)


def _with_defaults(cls: type[Function], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    bound = inspect.signature(cls.forward).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.args


class InplaceFunction(Function):
    """A Function that may be asked to work in place; PyTorch keeps it for old programs."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


_SingleLevelFunction = Function
