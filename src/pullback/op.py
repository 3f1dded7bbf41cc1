"""What an operation is: one forward function on arrays, and one derivative formula for each argument.

    @op.elementwise(to=FLOATING)
    def sigmoid(input: Tensor) -> Tensor:
        "Logistic function ..."
        return 1 / (1 + np.exp(-input))       # the body sees raw arrays

    sigmoid.vjp(input=lambda g, out: g * (out * (1 - out)))

    @op.elementwise(by=np.tanh, to=FLOATING)  # a NumPy function that does the whole forward is called directly
    def tanh(input: Tensor) -> Tensor:
        "Hyperbolic tangent ..."

    tanh.vjp(input=lambda g, out: g * (1 - out * out))

The names in a formula's signature say what it needs, and that is all a node keeps: arguments by their names, the
result as ``out`` (several results by the names given as ``outputs=``), ``NAME_shape`` for the shape alone. ``g``
is the gradient that comes in. Formulas are written with public operations and Python's operators, so what they
are handed decides what happens: arrays compute, tensors also record (so second derivatives need no second rule).

The engine sums gradients over broadcast dimensions, casts them to the argument's type and skips formulas nobody
asked for. For complex results it conjugates around the formula, ``conj(rule(conj(g)))``, which is PyTorch's
convention for any holomorphic function; the others say ``holomorphic=False`` and write their conjugates themselves.

Kinds differ in how operands meet: :func:`elementwise` mixes types and broadcasts, :func:`view` shares memory with
its input, :func:`general` does neither. :func:`composite` marks plain functions made of other operations.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import dtypes, kernels, layers, lift, outcome, storage
from .autograd import graph, modes
from .autograd.graph import LEAF, Node, Output, clock, made_here
from .complaint import noted
from .dtypes import FLOAT32, FLOAT64, FLOATING, OF_NUMPY
from .return_types import named
from .tensor import PLAIN, Tensor

ndarray, asarray = np.ndarray, np.asarray
getframe = sys._getframe
EMPTY = object()  # the default of parameters without one
REGISTRY: dict[str, Op] = {}  # every operation, by name


class Op:
    """An operation; see the module. ``call`` is its public function."""

    def __init__(self, impl: Callable, kind: str, *, name: str | None = None, node: Any = None, to: int = -1,
                 holomorphic: bool = True, outputs: str = "", differentiable: str = "", method: Any = True,
                 inplace: bool = False, by: Callable | None = None, linear: str = "",
                 check: Callable | None = None) -> None:  # fmt: skip
        self.impl, self.check = by or impl, check  # `check` may refuse unusual operands of an elementwise operation
        self.kind, self.to = kind, to
        self.rules: dict[str, Callable] = {}
        self.fused: list[Callable] | None = None  # the rules as kernels, once asked for
        self.halves: Callable | None = None  # the operation as a kernel of half precision, likewise
        linear, _, added = linear.partition(",")  # arguments it is linear in, one by one; terms that are merely added
        self.linear, self.added = tuple(linear.split()), tuple(added.split())
        self.holomorphic = holomorphic and kind != "view"  # looking elsewhere is linear: nothing to conjugate
        self.name = name or impl.__name__.rstrip("_")
        code, given, keywords = impl.__code__, impl.__defaults__ or (), impl.__kwdefaults__ or {}
        self.positional = code.co_argcount
        self.params = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        if kind == "elementwise" and not isinstance(by, np.ufunc) or self.name == "between":  # one NumPy function is hard to beat, several are not
            self.impl = kernels.for_large(self.name, self.impl, len(self.params))
        self.required = self.positional - len(given)
        self.defaults = (EMPTY,) * self.required + given + tuple(keywords.get(n, EMPTY) for n in self.params[self.positional :])
        notes = [str(impl.__annotations__.get(n, "")) for n in self.params]
        self.tensors = tuple(i for i, note in enumerate(notes) if note.startswith("Tensor"))
        self.listed = notes[0].startswith(("list[Tensor", "Sequence[Tensor"))  # the first argument is a list of tensors
        self.indices = {i for i, note in enumerate(notes) if note in ("np.ndarray", "list[Any]")}  # masks and index arrays
        self.outputs = tuple(outputs.split())
        self.result = named(self.name, self.outputs) if self.outputs else None
        self.differentiable = tuple(self.outputs.index(o) for o in (differentiable or outputs).split())
        self.node_name: Any = node or camel(self.name) + "Backward0"
        self.nodes: dict[tuple[str, bool, bool], type[Node]] = {}
        self.saved_names: tuple[str, ...] = ()
        self.getters: tuple[Any, ...] = ()
        self.layout: tuple[str, ...] = ()  # saved values that stand in a fixed order, so that a call needs no loop
        self.after_layout: list[Callable[[], None]] = []
        self.operator: Any = None
        self.pulls: tuple[Any, ...] = (None,) * len(self.tensors)
        self.shared: Callable | None = None
        call: Any = {"elementwise": elementwise_call, "view": view_call}.get(kind, general_call)(self)
        call.__module__, call.__doc__, call.__name__, call.__qualname__ = impl.__module__, impl.__doc__, self.name, self.name
        call.__wrapped__, call.op, call.vjp, call.vjp_all = impl, self, self.vjp, self.vjp_all
        self.call = call
        REGISTRY[self.name] = self
        if method:
            offer(call, method if isinstance(method, str) else self.name)
        if inplace:
            offer(inplace_call(self), self.name + "_")

    # --- rules --------------------------------------------------------------------------------------------------

    def vjp(self, **rules: Callable) -> None:
        """State the derivative formula of each argument, by its name."""
        names = list(self.layout)
        self.rules, self.fused = rules, None
        for rule in rules.values():
            names += [n for n in _names(rule) if n not in names]
        self._lay_out(names, {n: {i for i, p in enumerate(self.tensors) if n in _names(rules.get(self.params[p]))} for n in names})
        self.pulls = tuple(self._pull(rules.get(self.params[p]), p) for p in self.tensors)
        self._spread()

    def vjp_all(self, rule: Callable) -> Callable:
        """State one rule for all arguments: ``rule(g, wanted, ...)`` returns a gradient (or None) for each tensor argument."""
        asked = _names(rule)[1:]
        names = [*self.layout, *(n for n in asked if n not in self.layout)]
        self._lay_out(names, {n: set(range(len(self.tensors) or 64)) if n in asked else set() for n in names})
        self.shared_at = [names.index(n) for n in asked]
        self.shared = rule
        self._spread()
        return rule

    def _lay_out(self, names: Sequence[str], users: dict[str, set[int]]) -> None:
        """Fix the order of a node's saved values: (how to get it, who needs it: a bit for each tensor argument)."""
        self.saved_names = tuple(names)
        getters = []
        for n in names:
            mask = sum(1 << i for i in users[n])
            if n in self.params:
                i = self.params.index(n)
                getters.append(("value", i, mask if i in self.tensors else -1))
            elif n == "out":
                getters.append(("out", -1, mask))
            elif n in self.outputs:
                getters.append(("out", self.outputs.index(n), mask))
            elif n.endswith("_shape") and n[:-6] in self.params:
                getters.append(("shape", self.params.index(n[:-6]), mask))
            else:
                raise TypeError(f"{self.name}: a rule asks for {n!r}, which is neither an argument nor a result")
        self.getters = tuple(getters)
        for fn in self.after_layout:
            fn()

    def _pull(self, rule: Callable | None, param: int) -> Callable:
        """The rule as a function of (g, saved)."""
        if rule is None:
            return missing_rule(self.name, self.params[param])
        at = [self.saved_names.index(n) for n in _names(rule)]
        if len(at) == 0:
            return lambda g, saved: rule(g)
        if len(at) == 1:
            (i,) = at
            return lambda g, saved: rule(g, saved[i])
        if len(at) == 2:
            i, j = at
            return lambda g, saved: rule(g, saved[i], saved[j])
        return lambda g, saved: rule(g, *[saved[i] for i in at])

    def _spread(self) -> None:
        for (_, is_complex, is_lifted), cls in self.nodes.items():
            self._teach(cls, is_complex, is_lifted)

    def _teach(self, cls: type[Node], is_complex: bool, is_lifted: bool) -> None:
        """Give a node class the operation's rules."""
        cls._pulls = self.pulls
        cls._keeps = self.listed or any([kind != "shape" and (users > 0 or i in self.indices) for kind, i, users in self.getters])
        if self.shared is not None:
            shared, at = self.shared, self.shared_at
            cls._pulls = None
            cls._pull = lambda node, g, saved, edges: shared(g, [e is not None for e in edges], *[saved[i] for i in at])  # type: ignore[assignment]
        if is_complex and self.holomorphic:
            cls._pull = conjugating(cls._pull, cls._pulls)  # type: ignore[method-assign]
            cls._pulls = None
        if is_lifted:
            pulls = cls._pulls
            pull = cls._pull if pulls is None else lambda node, g, saved, edges: [None if e is None else f(g, saved) for e, f in zip(edges, pulls)]
            cls._pull = lift.lifting(pull)  # type: ignore[method-assign]
            cls._pulls = None

    def node_type(self, name: str, is_complex: bool, is_lifted: bool = False) -> type[Node]:
        """The class of this operation's nodes: one a name, and others for complex results and for lifted values."""
        key = name, is_complex, is_lifted
        cls = self.nodes.get(key)
        if cls is None:
            cls = self.nodes[key] = type(name, (Node,), {"__slots__": (), "_op": self, "__module__": "pullback.autograd"})
            self._teach(cls, is_complex, is_lifted)
        return cls

    # --- calling ------------------------------------------------------------------------------------------------

    def bind(self, args: tuple, kwargs: dict[str, Any]) -> tuple:
        """All arguments in the order of the signature."""
        n, params = len(args), self.params
        if n > self.positional:
            raise TypeError(f"{self.name}() takes {self.positional} positional arguments but {n} were given")
        if not kwargs and n >= self.required:
            return args + self.defaults[n:]
        values = list(args) + list(self.defaults[n:])
        for key, value in kwargs.items():
            if key not in params:
                key = SPELLINGS.get(key, key)
            if key not in params:
                raise noted(TypeError(f"{self.name}() got an unexpected keyword argument '{key}'"), f"it takes: {', '.join(params)}")
            i = params.index(key)
            if i < n:
                raise TypeError(f"{self.name}() got multiple values for argument '{key}'")
            values[i] = value
        for i, value in enumerate(values):
            if value is EMPTY:
                raise TypeError(f"{self.name}() missing 1 required positional arguments: \"{params[i]}\"")
        return tuple(values)

    def failure(self, arrays: Sequence[Any], error: Exception) -> Exception:
        """The error to raise when the forward function failed."""
        return explained(self, arrays, error)

    def raw(self, *args: Any, **kwargs: Any) -> Any:
        """The operation on arrays, recording nothing."""
        out = self.impl(*args, **kwargs)
        return out if out.__class__ is ndarray or self.outputs or out.__class__ in (tuple, list) else asarray(out)


SPELLINGS = {"axis": "dim", "keepdims": "keepdim", "x": "input", "x1": "input", "x2": "other", "a": "input"}  # NumPy's names


def camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.strip("_").split("_"))


def _names(rule: Callable | None) -> list[str]:
    """What a rule asks for beside ``g``."""
    return list(rule.__code__.co_varnames[1 : rule.__code__.co_argcount]) if rule is not None else []


def missing_rule(name: str, param: str) -> Callable:
    def refuse(g: Any, saved: Any) -> Any:
        raise noted(NotImplementedError(f"the derivative for '{param}' of '{name}' is not implemented."),
                    f"Detach that argument, or state {name}.vjp({param}=...).")  # fmt: skip

    return refuse


def conjugating(pull: Callable, pulls: Sequence[Callable] | None) -> Callable:
    """The rule of a holomorphic function, for complex values, from the formula written as if for real ones."""

    def conjugated(node: Node, g: Any, saved: tuple[Any, ...], edges: Sequence[Any]) -> Any:
        from .ops.complex import conj

        g = tuple(conj(v) for v in g) if g.__class__ is tuple else conj(g)
        if pulls is None:
            results = pull(node, g, saved, edges)
        else:
            results = [None if e is None else f(g, saved) for e, f in zip(edges, pulls)]
        return [None if r is None else conj(r) for r in results]

    return conjugated


# --- the public functions ---------------------------------------------------------------------------------------


def elementwise_call(op: Op) -> Callable:
    if len(op.params) == 2:
        op.operator = binary_call(op, operator=True)
    return {1: unary_call, 2: binary_call}.get(len(op.params), general_call)(op)


def unary_call(op: Op) -> Callable:
    """One tensor in, one out. The usual case stands first and in full: it decides the cost of a node."""
    impl = op.impl
    Node = op.node_type(op.node_name, False)
    keep_x = keep_out = False

    def call(input: Any, *, out: Any = None) -> Any:
        c = input.__class__
        if c is not Tensor:
            if c is ndarray:
                return asarray(impl(input))
            if c not in PLAIN:
                return elementwise_slow(op, (input,), out)
        usual = True
        try:
            x = input._array
            d = x.dtype
            if not (d is FLOAT32 or d is FLOAT64) or out is not None or modes.special:
                usual = False
                return elementwise_slow(op, (input,), out)
            e = input._fn
            if input._view is not None:
                e = storage.edge_of_saved(input)
            elif e is LEAF:
                e = input
            value = impl(x)
        except Exception:
            if not usual:
                raise
            return elementwise_slow(op, (input,), out)  # whatever it was, the slow way says it better
        if value.__class__ is not ndarray:
            value = asarray(value)
        if e is None or modes.silent and not modes.is_grad_enabled():
            result = outcome.bare(value)
            if modes.silent and modes._local.made is not None:
                storage.mark(result, e, input)
            return result
        return outcome.recorded(value, Node, (e,), (x if keep_x else None, value if keep_out else None), getframe(1))

    def lay_out() -> None:
        nonlocal keep_x, keep_out
        keep_x, keep_out = (users != 0 for _, _, users in op.getters)

    op.after_layout.append(lay_out)
    op.layout = (*op.params, "out")
    return call


def binary_call(op: Op, operator: bool = False) -> Callable:
    """Two operands, either of which may be a Python number. As an operator it leaves foreign types to their own methods."""
    impl = op.impl
    Node, ScalarNode = op.node_type(op.node_name, False), op.node_type(op.node_name[:-1] + "0", False)
    need_x = need_y = need_out = 0  # which gradients need what: bit 1 for input's, bit 2 for other's

    def call(input: Any, other: Any, *, out: Any = None) -> Any:
        usual = True
        try:
            c = other.__class__
            if c is float or c is int:
                if input.__class__ is ndarray:
                    return asarray(impl(input, other))
                x, y, f = input._array, other, None
                d = x.dtype
            else:
                x, y, f = input._array, other._array, other._fn
                d = x.dtype
                if y.dtype is not d or c is not Tensor and c not in PLAIN:
                    usual = False
                    return elementwise_slow(op, (input, other), out, operator)
                if other._view is not None:
                    f = storage.edge_of_saved(other)
                elif f is LEAF:
                    f = other
            c = input.__class__
            if not (d is FLOAT32 or d is FLOAT64) or out is not None or modes.special or c is not Tensor and c not in PLAIN:
                usual = False
                return elementwise_slow(op, (input, other), out, operator)
            e = input._fn
            if input._view is not None:
                e = storage.edge_of_saved(input)
            elif e is LEAF:
                e = input
            value = impl(x, y)
        except Exception:
            if not usual:
                raise
            return elementwise_slow(op, (input, other), out, operator)
        if value.__class__ is not ndarray:
            value = asarray(value)
        if e is None and f is None or modes.silent and not modes.is_grad_enabled():
            result = outcome.bare(value)
            if modes.silent and modes._local.made is not None:
                storage.mark(result, f if e is None else e, input, other)
            return result
        needs = 1 if f is None else 2 if e is None else 3
        saved = x if need_x & needs else None, y if need_y & needs else None, value if need_out & needs else None
        return outcome.recorded(value, ScalarNode if y is other else Node, (e, f), saved, getframe(1))

    def lay_out() -> None:
        nonlocal need_x, need_y, need_out
        need_x, need_y, need_out = (users for _, _, users in op.getters)

    op.after_layout.append(lay_out)
    op.layout = (*op.params, "out")
    return call


def elementwise_slow(op: Op, args: tuple, out: Any, operator: bool = False) -> Any:
    """Every other case: mixed types, integers, half precision, complex, scalars first, arrays, errors, ``out=``."""
    if modes.intercepted or modes.overridden:
        from .overrides import NOT_OVERRIDDEN, dispatch

        result = dispatch(op.call, args, {} if out is None else {"out": out})
        if result is not NOT_OVERRIDDEN:
            return result
    tensors = [i for i in op.tensors if isinstance(args[i], Tensor)]
    if not tensors:
        if any(isinstance(a, (ndarray, np.generic)) for a in args):
            return op.raw(*args)
        return foreign(op, args)
    values = [a._array if isinstance(a, Tensor) else a for a in args]  # a mask, too, may have come as a tensor
    edges, recording = [], False
    for i in op.tensors:
        a = args[i]
        if isinstance(a, Tensor):
            edges.append(storage.edge_of(a))
            values[i] = a._array  # after the edge: a view may just have caught up with its base
            recording = recording or edges[-1] is not None
            continue
        edges.append(None)
        if not isinstance(a, (ndarray, int, float, complex, np.generic)):
            return NotImplemented if operator else foreign(op, args, i, out)
    if op.check is not None:
        op.check(*args)
    if modes.special and lift.concerned(values):
        return finished(op, args, edges, values, lift.compute(op, values), out, 2)
    operands = [values[i] for i in op.tensors]
    d = dtypes.result_type_of(operands)
    if op.to > d.category:
        d = dtypes.get_default_dtype() if op.to == FLOATING else d
    half = d.is_floating_point and d.itemsize == 2
    compute = FLOAT32 if half else d.numpy
    value = kernels.of_half(op, values, d.numpy) if half and not modes.special else None
    for i in op.tensors if value is None else ():
        v = values[i]
        values[i] = v.astype(compute, copy=False) if isinstance(v, ndarray) else np.array(v).astype(compute)
    if modes.special and modes._local.packing and recording and not half and d.category >= FLOATING:
        pack_inputs(op, args, edges, values)
    try:
        if value is None:
            value = asarray(op.impl(*values) if not modes.special else layers.through(op)(*values))
    except Exception as failure:
        raise explained(op, operands, failure) from None
    if half and value.dtype == FLOAT32:
        value = value.astype(d.numpy)
        values = [v.astype(d.numpy) if v.__class__ is ndarray and v.dtype == FLOAT32 else v for v in values]
    result = wrap(value)
    if recording and modes.is_grad_enabled() and OF_NUMPY[value.dtype].category >= FLOATING:
        scalar = op.node_name[:-1] + "0" if len(tensors) < len(op.tensors) else op.node_name
        kept = [a if a.__class__ is float or a.__class__ is int else v for a, v in zip(args, values)]  # numbers stay numbers
        record(op, scalar, tuple(edges), kept, (value,), result, 2)
        if modes.inferred:
            storage.refuse_inference(args, result._fn)
    elif modes.silent and modes._local.made is not None:
        storage.mark(result, recording or None, *args)
    return result if out is None else write_out(out, result, op.name)


def pack_inputs(op: Op, args: tuple, edges: Sequence[Any], values: Sequence[Any]) -> None:
    """Let the hooks for saved tensors have the inputs before the operation computes: they may stop it."""
    if modes.is_grad_enabled() and not op.listed:
        from .autograd import saved

        saved.pack_inputs(op, args, edges, values)


def foreign(op: Op, args: tuple, i: int = 0, out: Any = None) -> Any:
    """The argument at `i` is no tensor, array or number: it, or another, may say itself what operations do to it."""
    for a in args:
        if hasattr(a, "__pullback_op__"):
            return a.__pullback_op__(op, args)
    if hasattr(type(args[i]), "__torch_function__"):
        from .overrides import dispatch

        return dispatch(op.call, args, {} if out is None else {"out": out})
    raise TypeError(f"{op.name}(): argument '{op.params[i]}' (position {i + 1}) must be Tensor, not {type(args[i]).__name__}")


def general_call(op: Op) -> Callable:
    """Any other signature."""
    if op.tensors == (0,) and not op.listed and not op.outputs and op.kind == "general":
        return single_call(op)
    total, slow = len(op.params), elementwise_slow if op.kind == "elementwise" else general_slow

    def call(*args: Any, **kwargs: Any) -> Any:
        out = kwargs.pop("out", None) if kwargs else None
        if kwargs or len(args) != total:
            args = op.bind(args, kwargs)
        return slow(op, args, out)

    return call


def single_call(op: Op) -> Callable:
    """One tensor in, one out, with options. A node keeps the input, its shape, the result (each if a rule asks) and the options."""
    total, impl, node_name = len(op.params), op.impl, op.node_name
    Node = op.node_type(node_name, False) if node_name.__class__ is str else None
    keep_x = keep_shape = keep_out = 0

    def call(*args: Any, **kwargs: Any) -> Any:
        out = kwargs.pop("out", None) if kwargs else None
        if kwargs or len(args) != total:
            args = op.bind(args, kwargs)
        input = args[0]
        if input.__class__ is ndarray:
            return asarray(impl(*args))
        c = input.__class__
        if modes.special or out is not None or c is not Tensor and c not in PLAIN or input._view is storage.INFERENCE_TENSOR:
            return general_slow(op, args, out)
        x, options = input._array, args[1:]
        try:
            value = impl(x, *options)
        except Exception as error:
            raise explained(op, (x,), error) from None
        if value.__class__ is not ndarray:
            value = asarray(value)
        e = input._fn
        if input._view is not None:
            e = storage.edge_of(input)
        elif e is LEAF:
            e = input
        if e is None or modes.silent and not modes.is_grad_enabled():
            result = outcome.bare(value)
            if modes.silent and modes._local.made is not None:
                storage.mark(result, e, input)
            return result
        d = value.dtype
        if d is FLOAT32 or d is FLOAT64:
            node = Node if Node is not None else op.node_type(node_name(*args), False)
        elif OF_NUMPY[d].category < FLOATING:
            return outcome.bare(value)
        else:
            node = op.node_type(op.node_name if Node is not None else node_name(*args), d.kind == "c")
        saved = x if keep_x else None, x.shape if keep_shape else None, value if keep_out else None, *options
        return outcome.recorded(value, node, (e,), saved, getframe(1))

    def lay_out() -> None:
        nonlocal keep_x, keep_shape, keep_out
        keep_x, keep_shape, keep_out = (users for _, _, users in op.getters[:3])

    op.after_layout.append(lay_out)
    op.layout = (op.params[0], op.params[0] + "_shape", "out", *op.params[1:])
    return call


def view_call(op: Op) -> Callable:
    """One tensor in, another look at its memory out. The node keeps the input's shape and the options, whatever the rule asks for."""
    total, impl, node_name = len(op.params), op.impl, op.node_name
    ordinary = storage.ORDINARY
    Node = op.node_type(node_name, False) if node_name.__class__ is str else None

    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs or len(args) != total:
            args = op.bind(args, kwargs)
        input = args[0]
        if input.__class__ is ndarray:
            return impl(*args)
        c = input.__class__
        if modes.intercepted or c is not Tensor and c not in PLAIN:
            from .overrides import NOT_OVERRIDDEN, dispatch

            result = dispatch(op.call, args, {})
            if result is not NOT_OVERRIDDEN:
                return result
        if not isinstance(input, Tensor):
            if isinstance(input, np.generic):  # what NumPy makes of a 0-d array between two steps of a rule
                return impl(asarray(input), *args[1:])
            raise TypeError(f"{op.name}(): argument '{op.params[0]}' (position 1) must be Tensor, not {type(input).__name__}")
        x, options = input._array, args[1:]
        try:
            if x.__class__ is ndarray and not (modes.special and lift.concerned(())):
                value = impl(x, *options) if not modes.special else layers.through(op)(x, *options)
            else:
                value = lift.compute(op, (x, *options))
        except Exception as error:
            raise explained(op, (x,), error) from None
        base, e, kind = input, input._fn, ordinary
        if input._view is not None:
            base, e, kind = input._view[0], storage.edge_of(input), input._view[2]
        elif e is LEAF:
            e = input
        if value.__class__ in (list, tuple):
            return several(op, args, [e], value, 1)
        lifted = value.__class__ is not ndarray
        if e is None or base is None or modes.silent and not modes.is_grad_enabled():
            result = outcome.bare(value)
            storage.unrecorded_view(result, base, clock(), kind, e)
        else:
            node = Node if Node is not None else op.node_type(node_name(*args), False)
            make = outcome.recorded if not lifted else outcome.in_python
            result = make(value, node, (e,), (x.shape, *options), getframe(1))
            result._view = (base, result._fn._seq, kind)
        if lifted:
            value.level.track(result)
        return result

    op.layout = (op.params[0] + "_shape", *op.params[1:])
    return call


def general_slow(op: Op, args: tuple, out: Any) -> Any:
    """Several tensors, lists of tensors, optional tensors, several results."""
    if modes.intercepted or modes.overridden:
        from .overrides import NOT_OVERRIDDEN, dispatch

        result = dispatch(op.call, args, {} if out is None else {"out": out})
        if result is not NOT_OVERRIDDEN:
            return result
    values = list(args)
    edges: list[Any] = []
    found = False
    if op.listed:
        if not isinstance(args[0], (tuple, list)):
            raise TypeError(f"{op.name}(): argument '{op.params[0]}' (position 1) must be tuple of Tensors, not {type(args[0]).__name__}")
        values[0] = items = []
        for i, t in enumerate(args[0]):
            if not isinstance(t, (Tensor, ndarray)):
                raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(t).__name__}")
            items.append(t._array if isinstance(t, Tensor) else t)
            edges.append(storage.edge_of(t) if isinstance(t, Tensor) else None)
            found = found or isinstance(t, Tensor)
    for i in op.tensors:
        a = args[i]
        if isinstance(a, Tensor):
            edges.append(storage.edge_of(a))
            values[i], found = a._array, True
            continue
        edges.append(None)
        if not (a is None and op.defaults[i] is None or isinstance(a, (ndarray, int, float, complex, np.generic))):
            return foreign(op, args, i, out)
    if not found and (not op.listed or args[0]):
        if op.tensors and not any(isinstance(args[i], (ndarray, np.generic)) for i in op.tensors):
            return foreign(op, args)
        return op.raw(*[asarray(a) if isinstance(a, np.generic) else a for a in args])
    if modes.special and modes._local.packing:
        pack_inputs(op, args, edges, values)
    try:
        if not modes.special:
            value = op.impl(*values)
        else:
            value = lift.compute(op, values) if lift.concerned(values) else layers.through(op)(*values)
    except Exception as failure:
        raise explained(op, [v for v in values if isinstance(v, ndarray)], failure) from None
    return finished(op, args, edges, values, value, out, 2)


def finished(op: Op, args: tuple, edges: list[Any], values: list[Any], value: Any, out: Any, depth: int) -> Any:
    """Wrap and record what an operation computed."""
    if value.__class__ in (tuple, list):
        result = several(op, tuple(values), edges, value, depth + 1)
        if modes.silent and modes._local.made is not None:
            for r in result:
                storage.mark(r, next((e for e in edges if e is not None), None), *args)
    else:
        value = as_value(value)
        result = wrap(value)
        if value.__class__ is not ndarray:
            value.level.track(result)
        if any(e is not None for e in edges) and modes.is_grad_enabled() and OF_NUMPY[value.dtype].category >= FLOATING:
            name = op.node_name if isinstance(op.node_name, str) else op.node_name(*args)
            record(op, name, tuple(edges), values, (value,), result, depth + 1)
            if modes.inferred:
                storage.refuse_inference(args, result._fn)
        elif modes.silent and modes._local.made is not None:
            storage.mark(result, next((e for e in edges if e is not None), None), *args)
    if out is None:
        return result
    return write_out(out, result, op.name)


def as_value(value: Any) -> Any:
    """What a forward function returned as an array, or as the lifted value that stands for one."""
    return value if value.__class__ is ndarray or isinstance(value, lift.Lifted) else asarray(value)


def several(op: Op, args: tuple, edges: list[Any], values: Sequence[Any], depth: int) -> Any:
    """Wrap and record several results: named ones, or a list of like ones (the views of ``unbind``)."""
    results = [wrap(as_value(v)) for v in values]
    for r in results:
        if r._array.__class__ is not ndarray:
            r._array.level.track(r)
    if op.kind == "view":
        input = args[0]
        base = input if input._view is None else input._view[0]
        for r in results:
            if base is None or modes.silent and not modes.is_grad_enabled():
                storage.unrecorded_view(r, base, clock(), storage.ONE_OF_SEVERAL, edges[0])
            else:
                r._view = (base, clock(), storage.ONE_OF_SEVERAL)
        args = (input._array, *args[1:])
    if any(e is not None for e in edges) and modes.is_grad_enabled():
        taking_part = [results[i] for i in op.differentiable] if op.outputs else results
        taking_part = [r for r in taking_part if OF_NUMPY[r._array.dtype].category >= FLOATING]
        if taking_part:
            name = op.node_name if isinstance(op.node_name, str) else op.node_name(*args)
            record(op, name, tuple(edges), args if not isinstance(args[0], Tensor) else (args[0]._array, *args[1:]),
                   [r._array for r in results], taking_part, depth + 1)  # fmt: skip
    return op.result(*results) if op.result is not None else tuple(results)


def wrap(value: np.ndarray) -> Tensor:
    """A tensor without history around an array."""
    result = outcome.bare(value)
    if modes.silent and modes._local.inference:
        result._view = modes.inference_mark
    return result


def record(op: Op, name: str, edges: tuple, args: Sequence[Any], values: Sequence[np.ndarray], results: Any, depth: int) -> None:
    """Make the node that goes with a result (or a list of results) and hang it on."""
    one = results.__class__ is not list
    first = results if one else results[0]
    d = first._array.dtype
    lifted = modes.special and (any(map(lift.is_lifted, args)) or lift.is_lifted(values))
    node = op.node_type(name, not (d is FLOAT32 or d is FLOAT64) and d.kind == "c", bool(lifted))()
    node._edges = edges
    mask, bit = 0, 1
    for e in edges:
        if e is not None:
            mask += bit
        bit += bit
    if op.listed:
        mask = -1
    saved = []
    for kind, i, users in op.getters:
        if kind == "value":
            v = args[i]
            saved.append(v if users & mask else None)
        elif kind == "shape":
            v = args[i]
            saved.append(None if not users & mask else [u.shape for u in v] if v.__class__ is list else getattr(v, "shape", ()))
        elif not users & mask:
            saved.append(None)
        else:
            saved.append(values[i if op.outputs else 0])
    node._saved = tuple(saved)
    node._hooks = None
    if one:
        node._shape, node._dtype = first._array.shape, d
        first._fn = node
    elif len(results) == 1 and op.outputs:  # values beside indices: one output as far as derivatives go
        node._shape, node._dtype = first._array.shape, first._array.dtype
        first._fn = node
    else:
        node._shape, node._dtype = [r._array.shape for r in results], [r._array.dtype for r in results]
        for i, r in enumerate(results):
            r._fn = Output(node, i)
    made_here(node, getframe(depth + 1))
    node._seq = clock()
    if modes.special and modes._local.packing:
        from .autograd.saved import pack

        pack(node)


def unsaved(node: Node, name: str) -> Any:
    """What a node kept under that name, for ``grad_fn._saved_NAME``; for ``_raw_saved_NAME`` as a ``SavedTensor``."""
    from .autograd import engine, errors, saved

    raw, name = name.startswith("_raw_saved_"), name.partition("saved_")[2]
    names = node._op.saved_names if node._op is not None else ()
    public = name if name in names else PUBLIC_NAMES.get(name, name)
    if public not in names and public.endswith("_sym_sizes"):
        public = PUBLIC_NAMES.get(name[:-10], name[:-10]) + "_shape"
    if public not in names:
        raise noted(AttributeError(f"{node.name()!r} object has no attribute '_saved_{name}'"), f"it saved: {', '.join(names) or 'nothing'}")
    if raw:
        return saved.show(node, names.index(public))
    if node._saved is graph.FREED:
        raise errors.second_time(node)
    value = engine.with_history(node)[names.index(public)]
    if public == "at":
        return tuple([wrap(i) if isinstance(i, ndarray) else None for i in value])
    return tuple(value) if value.__class__ is list else wrap(value) if isinstance(value, ndarray) else value


def shown_names(node: Node) -> list[str]:
    """The names of what a node kept, for ``dir(grad_fn)``: tools that draw graphs look there."""
    names = node._op.saved_names if node._op is not None else ()
    theirs = {ours: name for name, ours in PUBLIC_NAMES.items() if ours != "other"}  # that is its name in most operations
    plain = [(n.removesuffix("_shape"), "_sym_sizes" if n.endswith("_shape") else "") for n in names if n not in ("name", "part")]
    return [f"_saved_{theirs.get(n, n)}{ending}" for n, ending in plain]


# PyTorch's names for what nodes saved
PUBLIC_NAMES = {"self": "input", "result": "out", "mat2": "other", "vec": "other", "indices": "at"}


# --- in place, out=, errors -------------------------------------------------------------------------------------


def inplace_call(op: Op) -> Callable:
    """``x.op_(...)``: the operation, whose result becomes x's value and history."""

    def call(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if modes.intercepted or modes.overridden:
            from .overrides import NOT_OVERRIDDEN, dispatch

            result = dispatch(call, (input, *args), kwargs)
            if result is not NOT_OVERRIDDEN:
                return result
        return assign(input, op.name + "_", op.call(input, *args, **kwargs))

    call.__name__ = call.__qualname__ = op.name + "_"
    call.__doc__ = f"In-place version of :func:`{op.name}`: writes the result into this tensor and returns it."
    return call


def assign(x: Tensor, name: str, result: Tensor) -> Tensor:
    """Write an operation's result into ``x``, if autograd and the types allow it."""
    storage.check_writable(x, source=result._fn)
    if result._array.shape != x._array.shape:
        raise noted(RuntimeError(f"output with shape {list(x._array.shape)} doesn't match the broadcast shape {list(result._array.shape)}"),
                    f"{name} writes into the tensor that it is called on, whose shape can't change.")  # fmt: skip
    source, target = OF_NUMPY[result._array.dtype], OF_NUMPY[x._array.dtype]
    if source is not target and not dtypes.can_cast(source, target):
        raise RuntimeError(f"result type {type_name(source)} can't be cast to the desired output type {type_name(target)}")
    return storage.adopt(x, result)


def write_out(out: Any, result: Any, name: str = "") -> Any:
    """Put results into the tensors given as ``out=``, resizing those of another shape.

    Args:
        name: of the operation; by default it is the function that calls.
    """
    name = name or getframe(1).f_code.co_name
    if isinstance(result, tuple):
        if not isinstance(out, (tuple, list)) or len(out) != len(result):
            raise TypeError(f"out= must be a tuple of {len(result)} tensors, one for each result")
        written = [write_out(o, r, name) for o, r in zip(out, result)]
        return type(result)(*written) if hasattr(result, "_fields") else tuple(written)
    if not isinstance(out, Tensor):
        raise TypeError(f"argument 'out' must be Tensor, not {type(out).__name__}")
    if result._fn is not None or out._fn is not None and modes.is_grad_enabled():
        raise noted(RuntimeError(f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
                                 "arguments requires grad."), "Leave out= away, or detach the arguments.")  # fmt: skip
    if hasattr(result._array, "tangent") or hasattr(out._array, "tangent"):
        raise noted(NotImplementedError(f"Trying to use forward AD with {name}_out that does not support it because it is an out= function"),
                    "Leave out= away.")  # fmt: skip
    source, target = OF_NUMPY[result._array.dtype], OF_NUMPY[out._array.dtype]
    if not dtypes.can_cast(source, target):
        raise RuntimeError(f"result type {type_name(source)} can't be cast to the desired output type {type_name(target)}")
    storage.check_writable(out)
    if out._array.shape != result._array.shape:
        out._array = result._array.astype(out._array.dtype)
        return out
    return storage.adopt(out, result)


TYPE_NAMES = {"bool": "Bool", "uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long",
              "float16": "Half", "bfloat16": "BFloat16", "float32": "Float", "float64": "Double",
              "complex64": "ComplexFloat", "complex128": "ComplexDouble",
              "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64"}  # fmt: skip


def type_name(d: dtypes.dtype) -> str:
    """A type as PyTorch's messages call it, such as ``Long``."""
    return TYPE_NAMES[d.name]


def explained(op: Op, arrays: Sequence[Any], error: Exception) -> Exception:
    """The error to raise when a forward function failed: PyTorch's words where NumPy's would puzzle."""
    if isinstance(error, np.exceptions.AxisError) and error.ndim is not None:
        n = error.ndim or 1
        return IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {error.axis})")
    if isinstance(error, ValueError) and "broadcast" in str(error):
        return broadcast_error(op.name, [np.shape(a) for a in arrays]) or error
    return error


def broadcast_error(name: str, shapes: Sequence[tuple[int, ...]]) -> RuntimeError | None:
    """PyTorch's message for shapes that do not broadcast, naming the dimension."""
    for k, a in enumerate(shapes):
        for b in shapes[k + 1 :]:
            for i in range(1, min(len(a), len(b)) + 1):
                if a[-i] != b[-i] and 1 not in (a[-i], b[-i]):
                    dim = max(len(a), len(b)) - i
                    return noted(RuntimeError(f"The size of tensor a ({a[-i]}) must match the size of tensor b ({b[-i]}) at non-singleton "
                                              f"dimension {dim}"), f"{name}: shapes {tuple(a)} and {tuple(b)} do not broadcast.")  # fmt: skip
    return None


# --- declaring --------------------------------------------------------------------------------------------------

METHODS: dict[str, Callable] = {}  # what Tensor offers as methods; tensor.py takes them over at import


def offer(fn: Callable, name: str) -> None:
    """Make a function a method of Tensor."""
    setattr(Tensor, name, fn)
    METHODS[name] = fn


def _kind(kind: str) -> Callable:
    def declare(impl: Callable | None = None, **options: Any) -> Any:
        if impl is None:
            return lambda impl: Op(impl, kind, **options).call
        return Op(impl, kind, **options).call

    declare.__name__ = kind
    declare.__doc__ = f"Declare an operation of the kind {kind}; see the module's text."
    return declare


elementwise, general, view = _kind("elementwise"), _kind("general"), _kind("view")


def composite(fn: Callable | None = None, *, method: Any = True, inplace: bool = False) -> Any:
    """A plain function made of operations: nothing is recorded for it, only for its parts."""
    if fn is None:
        return lambda fn: composite(fn, method=method, inplace=inplace)
    if method:
        offer(fn, method if isinstance(method, str) else fn.__name__)
    if inplace:
        name = fn.__name__ + "_"

        def call(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
            return assign(input, name, fn(input, *args, **kwargs))

        call.__name__ = call.__qualname__ = name
        call.__doc__ = f"In-place version of :func:`{fn.__name__}`."
        offer(call, name)
    return fn
