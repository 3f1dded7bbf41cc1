"""What an operation is: one forward function on arrays, and one derivative formula for each argument.

    @op.elementwise(result_category=FLOATING)
    def sigmoid(input: Tensor) -> Tensor:
        "Logistic function ..."
        return 1 / (1 + np.exp(-input))       # the body sees raw arrays

    sigmoid.vjp(input=lambda g, out: g * (out * (1 - out)))

    # a NumPy function that does the whole forward is called directly
    @op.elementwise(numpy_impl=np.tanh, result_category=FLOATING)
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
What happens when an operation is called is in :mod:`pullback.core.fast_call`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from .. import kernels
from ..base.errors import with_notes
from ..kernels import dispatch
from ..return_types import named
from .boundary import lift_vjp
from .call_spec import CallSpec
from .fast_call import view_call
from .general_call import elementwise_call, general_call
from .graph import Node, apply_vjps
from .inplace import assign, inplace_call, may_compute_into
from .tensor import Tensor

ndarray, asarray = np.ndarray, np.asarray
EMPTY = object()  # the default of parameters without one
REGISTRY: dict[str, Op] = {}  # every operation, by name


class Op:
    """An operation; see the module. ``call`` is its public function."""

    def __init__(
        self,
        impl: Callable,
        kind: str,
        *,
        name: str | None = None,
        node: Any = None,
        result_category: int = -1,
        holomorphic: bool = True,
        outputs: str = "",
        differentiable: str = "",
        method: Any = True,
        inplace: bool = False,
        numpy_impl: Callable | None = None,
        linear: str = "",
        check: Callable | None = None,
        check_out: Callable[[Any, Any, int], None] | None = None,
        edge_order: Mapping[str, tuple[int, ...]] | None = None,
        dims: tuple[str, ...] = (),
        random: bool = False,
        shape_depends_on_values: bool = False,
        pointwise: bool = False,
        at_any_size: bool = False,
        scalar: str = "",
    ) -> None:
        self.impl, self.check = (
            numpy_impl or impl,
            check,
        )  # `check` may refuse operands of an elementwise operation
        self.check_out = check_out  # refuses an `out=` by the types of result and tensor, see `inplace.write_out`
        self.kind, self.result_category = kind, result_category
        self.rules: dict[str, Callable] = {}
        self.array_rules: dict[str, Callable] = {}  # likewise, where something is faster on arrays than the formula
        # whether an element's gradients depend on nothing but that element of all arguments
        self.pointwise = pointwise or kind == "elementwise"
        self.at_any_size = at_any_size  # it takes so many steps that a kernel wins at any size
        self.scalar = scalar  # its form on scalars (kernels/codegen/scalar.py), where NumPy's can't be traced
        self.kernel_vjps: tuple[Callable, ...] | None = None  # the rules as kernels, once asked for,
        self.accumulating_vjps: tuple[
            Callable | None, ...
        ] = ()  # and as such that add to a gradient which is there already
        self.half_kernel: Callable | None = None  # the operation as a kernel of half precision, likewise
        linear, _, added = linear.partition(",")  # arguments it is linear in, one by one; terms that are merely added
        self.linear, self.added = tuple(linear.split()), tuple(added.split())
        self.holomorphic = holomorphic and kind != "view"  # looking elsewhere is linear: nothing to conjugate
        self.name = name or impl.__name__.rstrip("_")
        code, given, keywords = impl.__code__, impl.__defaults__ or (), impl.__kwdefaults__ or {}
        self.positional_count = code.co_argcount
        self.argument_orders: dict[tuple, Callable] = {}  # how calls with keywords give their arguments, see `bind`
        self.params = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        self.required = self.positional_count - len(given)
        # traits, which other layers read: parameters that are dimensions (a batch in front shifts them, in the forward
        # function and in the rules, and changes nothing else); draws random numbers; a result's shape depends on values
        self.dims, self.random, self.shape_depends_on_values = dims, random, shape_depends_on_values
        if not set(dims) <= set(self.params):
            raise TypeError(f"{self.name}: dims names {dims}, and its parameters are {self.params}")
        self.defaults = (
            (EMPTY,) * self.required
            + given
            + tuple(keywords.get(n, EMPTY) for n in self.params[self.positional_count :])
        )
        notes = [str(impl.__annotations__.get(n, "")) for n in self.params]
        self.tensors = tuple(i for i, note in enumerate(notes) if note.startswith("Tensor"))
        # where kernels do better; where they don't, of floats
        self.impl_large, self.impl_small = self.impl, getattr(self.impl, "of_floats", self.impl)
        self.impl_any = self.impl  # the forward function, whatever the size
        self.refuses = getattr(self.impl, "refuses", "")  # the kinds of types that only `impl` looks for
        # one loop of NumPy's is hard to beat but by several threads
        if kind == "elementwise" and isinstance(numpy_impl, np.ufunc):
            self.impl_large = dispatch.elementwise_kernel(self.name, [numpy_impl], numpy_impl, scalar=scalar)
            self.impl_any = self.of_its_size
        elif kind == "elementwise":
            self.impl = self.impl_large = self.impl_any = dispatch.kernel_if_large(
                self.name,
                self.impl,
                len(self.params),
                first_only=self.tensors == (0,),
                at_any_size=at_any_size,
                scalar=scalar,
            )
            self.impl_small = self.impl if at_any_size else self.impl_small
        self.takes_tensor_list = notes[0].startswith(
            ("list[Tensor", "Sequence[Tensor")
        )  # the first argument is a list of tensors
        # masks and index arrays
        self.index_params = {i for i, note in enumerate(notes) if note in ("np.ndarray", "list[Any]")}
        self.outputs = tuple(outputs.split())
        self.result = named(self.name, self.outputs) if self.outputs else None
        self.differentiable = tuple(self.outputs.index(o) for o in (differentiable or outputs).split())
        # how the names of nodes begin whose gradient, recorded, depends on the input with derivative 0
        self.zero_second_derivative_nodes: tuple[str, ...] = ()
        # which argument names the node, if one does
        self.node_at = self.params.index(node) if node in self.params else -1
        self.node_name: Any = (
            (lambda *args: args[self.node_at]) if node in self.params else node or camel_case(self.name) + "Backward0"
        )
        self.nodes: dict[tuple[str, bool, bool], type[Node]] = {}
        self.edge_order = edge_order or {}  # the inputs in PyTorch's order, by the node's name, where that differs
        self.saved_names: tuple[str, ...] = ()
        self.saved_spec: tuple[Any, ...] = ()
        self.fixed_saved_order: tuple[
            str, ...
        ] = ()  # saved values that stand in a fixed order, so that a call needs no loop
        self.on_saved_spec_change: list[Callable[[], None]] = []
        self.operator: Any = None  # the function as Python's operator: types it does not know may answer themselves
        self.reflected: Any = None  # that with the operands the other way round
        self.vjps: tuple[Any, ...] = (None,) * len(self.tensors)
        self.joint_vjp: Callable | None = None
        self.call_ordered: Any = None  # the function of all arguments without what puts them in order: for composites
        self.call_spec = CallSpec(self)
        call: Any = {"elementwise": elementwise_call, "view": view_call}.get(kind, general_call)(self)
        call.__module__, call.__doc__, call.__name__, call.__qualname__ = (
            impl.__module__,
            impl.__doc__,
            self.name,
            self.name,
        )
        call.__wrapped__, call.op, call.vjp, call.vjp_all = impl, self, self.vjp, self.vjp_all
        self.call = call
        REGISTRY[self.name] = self
        if method:
            add_method(call, method if isinstance(method, str) else self.name)
        if inplace:
            add_method(inplace_call(self), self.name + "_")

    def of_its_size(self, *values: Any) -> Any:
        """The forward function, in a kernel where an array is large."""
        most = max([v.size for v in values if v.__class__ is np.ndarray], default=0)
        return (self.impl if most < kernels.SHARED else self.impl_large)(*values)

    # --- rules --------------------------------------------------------------------------------------------------

    def vjp(self, **rules: Callable) -> None:
        """State the derivative formula of each argument, by its name."""
        names = list(self.fixed_saved_order)
        self.rules, self.kernel_vjps = rules, None
        for rule in rules.values():
            names += [n for n in _rule_arguments(rule) if n not in names]
        self._set_saved_spec(
            names,
            {
                n: {i for i, p in enumerate(self.tensors) if n in _rule_arguments(rules.get(self.params[p]))}
                for n in names
            },
        )
        self.install_vjps(tuple(self.bind_rule(rules.get(self.params[p]), p) for p in self.tensors))

    def vjp_all(self, rule: Callable) -> Callable:
        """State one rule for all arguments: ``rule(g, wanted, ...)`` returns a gradient (or None) for each tensor
        argument.
        """
        asked = _rule_arguments(rule)[1:]
        names = [*self.fixed_saved_order, *(n for n in asked if n not in self.fixed_saved_order)]
        self._set_saved_spec(names, {n: set(range(len(self.tensors) or 64)) if n in asked else set() for n in names})
        self.joint_vjp_at = [names.index(n) for n in asked]
        self.joint_vjp = rule
        self._install()
        return rule

    def _set_saved_spec(self, names: Sequence[str], users: dict[str, set[int]]) -> None:
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
        self.saved_spec = tuple(getters)
        for fn in self.on_saved_spec_change:
            fn()

    def bind_rule(self, rule: Callable | None, param: int) -> Callable:
        """The rule as a function of (g, saved)."""
        if rule is None:
            return missing_rule(self.name, self.params[param])
        at = [self.saved_names.index(n) for n in _rule_arguments(rule)]
        if len(at) == 0:
            return lambda g, saved: rule(g)
        if len(at) == 1:
            (i,) = at
            return lambda g, saved: rule(g, saved[i])
        if len(at) == 2:
            i, j = at
            return lambda g, saved: rule(g, saved[i], saved[j])
        return lambda g, saved: rule(g, *[saved[i] for i in at])

    def install_vjps(self, pulls: tuple[Callable, ...]) -> None:
        """Let nodes use these functions of (g, saved), one a tensor argument."""
        self.vjps = pulls
        self._install()

    def _install(self) -> None:
        for (_, is_complex, is_lifted), cls in self.nodes.items():
            self._install_on(cls, is_complex, is_lifted)

    def _install_on(self, cls: type[Node], is_complex: bool, is_lifted: bool) -> None:
        """Give a node class the operation's rules."""
        cls._vjps = self.vjps
        cls._keeps = self.takes_tensor_list or any(
            [kind != "shape" and (users > 0 or i in self.index_params) for kind, i, users in self.saved_spec]
        )
        if self.joint_vjp is not None:
            shared, at = self.joint_vjp, self.joint_vjp_at
            cls._vjps = None
            cls._vjp = lambda node, g, saved, edges: shared(g, [e is not None for e in edges], *[saved[i] for i in at])  # type: ignore[assignment]
        if is_complex and self.holomorphic:
            cls._vjp = conjugate_vjp(cls._vjp, cls._vjps)  # type: ignore[method-assign]
            cls._vjps = None
        if is_lifted:
            pulls = cls._vjps
            pull = cls._vjp if pulls is None else lambda node, g, saved, edges: apply_vjps(pulls, g, saved, edges)
            cls._vjp = lift_vjp(pull)  # type: ignore[method-assign]
            cls._vjps = None

    def node_type(self, name: str, is_complex: bool, is_lifted: bool = False) -> type[Node]:
        """The class of this operation's nodes: one a name, and others for complex results and for lifted values."""
        key = name, is_complex, is_lifted
        cls = self.nodes.get(key)
        if cls is None:
            members = {"__slots__": (), "__module__": "pullback.autograd", "_op": self}
            cls = self.nodes[key] = type(name, (Node,), {**members, "_edge_order": self.edge_order.get(name)})
            self._install_on(cls, is_complex, is_lifted)
        return cls

    # --- calling ------------------------------------------------------------------------------------------------

    def bind(self, args: tuple, kwargs: dict[str, Any]) -> tuple:
        """All arguments in the order of the signature."""
        n = len(args)
        if n > self.positional_count:
            raise TypeError(f"{self.name}() takes {self.positional_count} positional arguments but {n} were given")
        if not kwargs and n >= self.required:
            return args + self.defaults[n:]
        key = (n, *kwargs)
        order = self.argument_orders.get(key)
        if order is None:
            order = self.argument_orders[key] = self._order(n, tuple(kwargs))
        return order((*args, *kwargs.values(), *self.defaults))

    def _order(self, n: int, keywords: tuple[str, ...]) -> Callable[[tuple], tuple]:
        """What puts so many positional arguments, those with keywords and the defaults into the order of the
        signature.
        """
        params, total = self.params, len(self.params)
        places = [*range(n), *range(n + len(keywords) + n, n + len(keywords) + total)]
        for at, key in enumerate(keywords, n):
            if key not in params:
                key = NUMPY_NAMES.get(key, key)
            if key not in params:
                raise with_notes(
                    TypeError(f"{self.name}() got an unexpected keyword argument '{key}'"),
                    f"it takes: {', '.join(params)}",
                )
            i = params.index(key)
            if i < n:
                raise TypeError(f"{self.name}() got multiple values for argument '{key}'")
            places[i] = at
        for i, place in enumerate(places):
            if place >= n + len(keywords) and self.defaults[i] is EMPTY:
                raise TypeError(f'{self.name}() missing 1 required positional arguments: "{params[i]}"')
        return itemgetter(*places) if total > 1 else lambda pool: (pool[places[0]],)

    def raw(self, *args: Any, **kwargs: Any) -> Any:
        """The operation on arrays, recording nothing."""
        out = self.impl(*args, **kwargs)
        return out if out.__class__ is ndarray or self.outputs or out.__class__ in (tuple, list) else asarray(out)


# NumPy's names
NUMPY_NAMES = {"axis": "dim", "keepdims": "keepdim", "x": "input", "x1": "input", "x2": "other", "a": "input"}


class OpTable(dict[Any, Any]):
    """What a layer knows of operations, by the operation itself, so that a renamed one is an ImportError.

    >>> batch_rule = OpTable()
    >>> @batch_rule("exp")  # where code has the function itself, as in @batch_rule(softmax, log_softmax)
    ... def rule(op, size, batched, x): ...
    >>> batch_rule["exp"] is rule
    True
    """

    def __call__(self, *functions: Any) -> Callable[[Any], Any]:
        """Enter what follows, for the operations behind these public functions (composites: the functions)."""

        def enter(rule: Any) -> Any:
            for fn in functions:
                self[getattr(fn, "op", fn)] = rule
            return rule

        return enter


def camel_case(name: str) -> str:
    return "".join(part.capitalize() for part in name.strip("_").split("_"))


def _rule_arguments(rule: Callable | None) -> list[str]:
    """What a rule asks for beside ``g``."""
    return list(rule.__code__.co_varnames[1 : rule.__code__.co_argcount]) if rule is not None else []


def missing_rule(name: str, param: str) -> Callable:
    def refuse(g: Any, saved: Any) -> Any:
        raise with_notes(
            NotImplementedError(f"the derivative for '{param}' of '{name}' is not implemented."),
            f"Detach that argument, or state {name}.vjp({param}=...).",
        )

    return refuse


def conj(g: Any) -> Any:
    """The conjugate of a cotangent, an array or a tensor: new, and itself where it is real."""
    if isinstance(g, (np.ndarray, np.generic)):
        return np.conjugate(g) if g.dtype.kind == "c" else g
    return g.conj_physical()


def conjugate_vjp(pull: Callable, pulls: Sequence[Callable] | None) -> Callable:
    """The rule of a holomorphic function, for complex values, from the formula written as if for real ones."""

    def conjugated(node: Node, g: Any, saved: tuple[Any, ...], edges: Sequence[Any]) -> Any:
        g = tuple(conj(v) for v in g) if g.__class__ is tuple else conj(g)
        if pulls is None:
            results = pull(node, g, saved, edges)
        else:
            results = apply_vjps(pulls, g, saved, edges)
        return [None if r is None else conj(r) for r in results]

    return conjugated


# --- declaring --------------------------------------------------------------------------------------------------

METHODS: dict[str, Callable] = {}  # what Tensor offers as methods; tensor.py takes them over at import


def add_method(fn: Callable, name: str, says: str = "") -> None:
    """Make a function a method of Tensor; ``says`` is the docstring of one that has none."""
    if fn.__doc__ is None:
        in_place = f"In-place version of :func:`{name[:-1]}`: writes into this tensor, in its type, returns it."
        fn.__doc__ = says or (in_place if name.endswith("_") else f"PyTorch's ``Tensor.{name}``.")
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


def composite(fn: Callable | None = None, *, method: Any = True, inplace: bool | str = False) -> Any:
    """A plain function made of operations: nothing is recorded for it, only for its parts.

    Args:
        inplace: also make ``x.fn_()``; "out" where the function, given ``out=``, writes there when all else is done.
    """
    if fn is None:
        return lambda fn: composite(fn, method=method, inplace=inplace)
    if method:
        add_method(fn, method if isinstance(method, str) else fn.__name__)
    if inplace:
        name = fn.__name__ + "_"

        def call(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
            if inplace == "out" and may_compute_into(input, (*args, *kwargs.values())):
                return fn(input, *args, **kwargs, out=input)
            return assign(input, name, fn(input, *args, **kwargs))

        call.__name__ = call.__qualname__ = name
        call.__doc__ = f"In-place version of :func:`{fn.__name__}`."
        add_method(call, name)
    return fn
