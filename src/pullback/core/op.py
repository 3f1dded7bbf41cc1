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

from collections.abc import Callable, Mapping
from math import inf
from typing import Any

import numpy as np

from ..base import dtypes
from .call_spec import CallSpec
from .fast_call import view_call
from .general_call import elementwise_call, general_call
from .implementations import Implementations
from .inplace import assign, castable, inplace_call, may_compute_into, refuse_overlap, same_dtypes
from .rules import Rules
from .signature import Signature
from .tensor import Tensor

ndarray, asarray = np.ndarray, np.asarray
REGISTRY: dict[str, Op] = {}  # every operation, by name


class Op(Rules, Implementations):
    """An operation: its signature, its rules, and what computes it.

    Attributes:
        call: the public function.
        kind: "elementwise", "general" or "view".
        result_category: the lowest category of dtypes that results have: integers become floats where it is FLOATING.
        check: refuses operands of an elementwise operation.
        number: makes a Python number an operand of a type: its low bits, the number exactly, or an error where it does
            not fit (:func:`dtypes.wrap_number`, ``exact_number``, ``cast_number``).
        check_out: refuses an ``out=`` by the types of result and tensor, see :func:`pullback.core.inplace.write_out`;
            by default an elementwise operation's result is cast, and others have to agree.
        typed_by_out: from this category on, of both input and ``out=``, it computes in the type of ``out`` where
            ``dtype``, the last argument, is None.
        dims: traits, which other layers read: the parameters that are dimensions (a batch in front shifts them, in the
            forward function and in the rules, and changes nothing else),
        random: whether it draws random numbers,
        shape_depends_on_values: whether a result's shape depends on values.
        narrow_types: which types of ``NARROW`` it takes; see :mod:`pullback.ops.narrow_types`.
        takes_numbers: whether it computes of Python numbers alone, and gives a tensor.
        operator, reflected: the function as Python's operator, which leaves foreign types to their own methods; that
            with the operands exchanged.
        call_ordered: the function of all arguments in the signature's order, for composites.
        call_spec: what calls have to know of it.
    """

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
        number: Callable[[Any, np.dtype], Any] = dtypes.wrap_number,
        check_out: Callable[[Any, Any, int], None] | None = None,
        typed_by_out: float = inf,
        edge_order: Mapping[str, tuple[int, ...]] | None = None,
        dims: tuple[str, ...] = (),
        random: bool = False,
        shape_depends_on_values: bool = False,
        saves_numbers: bool = False,
        pointwise: bool = False,
        at_any_size: bool = False,
        scalar: str = "",
    ) -> None:
        self.kind, self.result_category, self.check, self.number = kind, result_category, check, number
        self.check_out = check_out or (castable if kind == "elementwise" else same_dtypes)
        self.typed_by_out = typed_by_out
        Signature.__init__(self, impl, name or impl.__name__.rstrip("_"), outputs, differentiable)
        Implementations.__init__(
            self, numpy_impl or impl, self.name, kind, len(self.params), self.tensors == (0,), scalar, at_any_size
        )
        # Looking at memory in another way is linear: there is nothing to conjugate.
        Rules.__init__(
            self,
            node,
            holomorphic and kind != "view",
            pointwise or kind == "elementwise",
            linear,
            edge_order,
            saves_numbers,
        )
        self.dims, self.random, self.shape_depends_on_values = dims, random, shape_depends_on_values
        self.narrow_types = dtypes.NARROW if kind == "view" else frozenset()
        self.takes_numbers = False
        if not set(dims) <= set(self.params):
            raise TypeError(f"{self.name}: dims names {dims}, and its parameters are {self.params}")
        self.operator: Any = None
        self.reflected: Any = None
        self.call_ordered: Any = None
        self.call_spec = CallSpec(self)
        call: Any = {"elementwise": elementwise_call, "view": view_call}.get(kind, general_call)(self)
        call.__module__, call.__doc__, call.__name__ = impl.__module__, impl.__doc__, self.name
        call.__qualname__, call.__wrapped__ = self.name, impl
        call.op, call.vjp, call.vjp_all = self, self.vjp, self.vjp_all
        self.call = call
        if self.name in REGISTRY:
            raise ValueError(f"there is an operation of the name {self.name} already")
        REGISTRY[self.name] = self
        if method:
            add_method(call, method if isinstance(method, str) else self.name)
        if inplace:
            add_method(inplace_call(self), self.name + "_")

    def raw(self, *args: Any, **kwargs: Any) -> Any:
        """The operation on arrays, recording nothing."""
        out = self.impl(*args, **kwargs)
        return out if out.__class__ is ndarray or self.outputs or out.__class__ in (tuple, list) else asarray(out)


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


# --- declaring --------------------------------------------------------------------------------------------------

METHODS: dict[str, Callable] = {}  # what Tensor offers as methods; tensor.py takes them over at import


def add_method(fn: Callable, name: str, says: str = "") -> None:
    """Make a function a method of Tensor; ``says`` is the docstring of one that has none."""
    if fn.__doc__ is None:
        in_place = f"In-place version of :func:`{name[:-1]}`: writes into this tensor, in its type, returns it."
        is_inplace = name.endswith("_") and not name.endswith("__")
        fn.__doc__ = says or (in_place if is_inplace else f"PyTorch's ``Tensor.{name}``.")
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


# declared, so that a type checker knows a decorated function's type where it is named in a rule above it
elementwise: Any = _kind("elementwise")
general: Any = _kind("general")
view: Any = _kind("view")


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
            refuse_overlap(input, *args, partial=True)
            if inplace == "out" and may_compute_into(input, args, kwargs.values()):
                return fn(input, *args, **kwargs, out=input)
            return assign(input, name, fn(input, *args, **kwargs))

        call.__name__ = call.__qualname__ = name
        call.__doc__ = f"In-place version of :func:`{fn.__name__}`."
        add_method(call, name)
    return fn
