"""``torch.library``: operations of the user's own, that autograd does not look into but has a formula for.

    >>> import pullback as torch
    >>> @torch.library.custom_op("mine::cube", mutates_args=())
    ... def cube(x: torch.Tensor) -> torch.Tensor:
    ...     return torch.from_numpy(x.numpy() ** 3)
    >>> def keep(ctx, inputs, output):
    ...     ctx.save_for_backward(*inputs)
    >>> def pull(ctx, g):
    ...     return 3 * ctx.saved_tensors[0] ** 2 * g
    >>> cube.register_autograd(pull, setup_context=keep)
    >>> x = torch.tensor([2.0], requires_grad=True)
    >>> torch.ops.mine.cube(x).backward(); x.grad
    tensor([12.])

A call is one node of the graph, and one operation for whoever watches below it (selective checkpoints, dispatch modes).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import zip_longest
from types import SimpleNamespace
from typing import Any, NoReturn

import numpy as np

from . import ops
from .amp.autocast_mode import is_autocast_cpu_enabled
from .autograd import Function
from .autograd.graph import increment_version
from .base import thread_state
from .base.addresses import ROOT, home_of
from .base.errors import with_notes
from .base.pytree import tree_flatten, tree_leaves, tree_map_only, tree_unflatten
from .core import interpose, level
from .core.tensor import Tensor
from .core.versions import owner_of
from .levels.aten import OpOverload, OpOverloadPacket, unwrap_arrays

__all__ = [
    "CustomOpDef",
    "Library",
    "custom_op",
    "define",
    "get_ctx",
    "impl",
    "register_autograd",
    "impl_abstract",
    "register_fake",
    "register_kernel",
    "register_vmap",
    "triton_op",
]

OPERATIONS: dict[str, CustomOpDef] = {}  # by their full names
# the kernels that are of use here
HERE = ("cpu", "CPU", "", "CompositeExplicitAutograd", "CompositeImplicitAutograd", "default")


class CustomOpDef:
    """An operation of the user's. Called with tensors, numbers, lists of tensors; see :func:`custom_op`."""

    def __init__(self, name: str, kernel: Callable[..., Any] | None, mutates_args: Iterable[str]) -> None:
        self._qualname, self._kernel, self._mutates = name, kernel, tuple(mutates_args)
        self._backward: Callable[..., Any] | None = None
        self._setup: Callable[..., Any] | None = None
        self._vmap: Callable[..., Any] | None = None
        self._casting: Callable[..., Any] | None = None  # called in its place while autocasting
        self._opoverload = Overload(self)
        self._function: Any = type(
            f"GeneratedBackwardFor_{name.replace('::', '_')}_default", (Recorded,), {"definition": self}
        )

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def register_autograd(
        self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None
    ) -> None:
        """Say what backward does.

        Args:
            backward: ``backward(ctx, *grads)`` returns a gradient, or None, for each positional input.
            setup_context: ``setup_context(ctx, inputs, output)``, with ``keyword_only_inputs`` too if there are any,
                saves on ``ctx`` what backward needs.

        Raises:
            RuntimeError: for an operation that writes into its arguments.
        """
        if self._mutates:
            raise RuntimeError(
                f"Cannot register autograd formula for non-functional operator {self}. Please create a functional "
                "operator and register an autograd formula for that."
            )
        self._backward, self._setup = backward, setup_context

    def register_kernel(self, device_types: Any, func: Callable[..., Any] | None = None, /) -> Any:
        """Another implementation for tensors on the CPU, or, for ``"AutocastCPU"``, one that casts and is called in its
        place inside of :class:`~pullback.autocast`; those for other devices are accepted and not used.
        """

        def register(func: Callable[..., Any]) -> Callable[..., Any]:
            keys = [device_types] if device_types is None or isinstance(device_types, str) else device_types
            if any([key is None or key in HERE for key in keys]):
                self._kernel = func
            if "AutocastCPU" in keys:
                self._casting = func
            return func

        return register if func is None else register(func)

    def register_fake(self, func: Callable[..., Any], /) -> Callable[..., Any]:
        """Accepted: nothing here computes shapes without values."""
        return func

    def register_vmap(self, func: Callable[..., Any] | None = None, /) -> Any:
        """Say what :func:`~pullback.vmap` does: ``func(info, in_dims, *args)`` returns results and where their batch
        dimensions are.
        """

        def register(func: Callable[..., Any]) -> Callable[..., Any]:
            self._vmap = func
            return func

        return register if func is None else register(func)

    # Calling.

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._casting is not None and is_autocast_cpu_enabled():
            return self._casting(*args, **kwargs)
        return self.run(*args, **kwargs)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """The operation, without casts."""
        if self._kernel is None:
            raise with_notes(
                NotImplementedError(f"Could not run '{self._qualname}' with arguments from the 'CPU' backend."),
                f"Register a kernel: torch.library.impl({self._qualname!r}, 'cpu')(function).",
            )
        bound = inspect.signature(self._kernel).bind(*args, **kwargs)
        bound.apply_defaults()
        if self._mutates:
            with thread_state.no_grad():
                result = self.compute(bound.args, bound.kwargs)
            for name in self._mutates:
                increment_version(tree_leaves(bound.arguments[name]))
            return result
        leaves, structure = tree_flatten(bound.args)
        result = self._function.apply(*leaves, (structure, bound.kwargs))
        return list(result) if self.gives_list and isinstance(result, tuple) else result

    @property
    def gives_list(self) -> bool:
        return str(inspect.signature(self._kernel).return_annotation).lower().replace("typing.", "").startswith("list")  # type: ignore[arg-type]

    def compute(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """What the kernel gives, asked through this thread's layers."""
        kernel: Any = self._kernel
        if not thread_state.local.layers:
            return self.checked(kernel(*args, **keywords), args)
        as_tensors = lambda value: tree_map_only(np.ndarray, level.wrap_value, value)  # noqa: E731
        step = SimpleNamespace(
            name=self._qualname,
            node_name=self._qualname,
            kind="general",
            params=(),
            overload=self._opoverload,
            impl_any=lambda *values: unwrap_arrays(self.checked(kernel(*as_tensors(values), **keywords), args)),
        )
        result = as_tensors(interpose.interposed(step)(*map(unwrap_arrays, args)))
        return tuple(result) if isinstance(result, list) and not self.gives_list else result

    def checked(self, result: Any, args: tuple[Any, ...]) -> Any:
        """A result, if it shares no memory with the arguments.

        Raises:
            RuntimeError: if it does: gradients would go astray.
        """
        given = {id(owner_of(x._array)) for x in tree_leaves(args) if isinstance(x, Tensor)}
        if any([id(owner_of(r._array)) in given for r in tree_leaves(result) if isinstance(r, Tensor)]):
            raise with_notes(
                RuntimeError(
                    f"{self._qualname}: The output of this custom operator (1) must not also be an input to this "
                    "custom operator and (2) may not alias any inputs to this custom operator or other returns."
                ),
                "Return a copy: x.clone().",
            )
        return result


class ProvidedOp(CustomOpDef):
    """An operation that the package has: its kernel is a function made of ops, with formulas of their own.

    A formula that is registered for it is not needed and not used: theirs can be differentiated again.
    """

    def __init__(self, name: str, kernel: Callable[..., Any]) -> None:
        super().__init__(name, kernel, ())

    def run(self, *args: Any, **kwargs: Any) -> Any:
        return self._kernel(*args, **kwargs)  # type: ignore[misc]


class Recorded(Function):
    """The custom Function of an operation: its arguments, flat, and last of all how they were nested and the
    keywords.
    """

    definition: CustomOpDef

    @classmethod
    def forward(cls, *flat: Any) -> Any:
        *leaves, (structure, keywords) = flat
        result = cls.definition.compute(tree_unflatten(leaves, structure), keywords)
        return tuple(result) if isinstance(result, list) else result

    @classmethod
    def setup_context(cls, ctx: Any, inputs: Any, output: Any) -> None:
        *leaves, (structure, keywords) = inputs
        op, args = cls.definition, tree_unflatten(leaves, structure)
        ctx.lengths = [len(a) if isinstance(a, (list, tuple)) else None for a in args]
        ctx.least = max(
            [i + 1 for i, a in enumerate(args) if any([isinstance(x, Tensor) for x in tree_leaves(a)])], default=0
        )
        if op._setup is not None:
            output = list(output) if op.gives_list else output
            op._setup(ctx, inputs=args, output=output, **({"keyword_only_inputs": keywords} if keywords else {}))

    @classmethod
    def backward(cls, ctx: Any, *grads: Any) -> Any:
        op = cls.definition
        if op._backward is None:
            raise RuntimeError(
                f"Trying to backward through {op._opoverload} but no autograd formula was registered. Please use "
                "register_autograd to add one."
            )
        results = op._backward(ctx, *([list(grads)] if op.gives_list else grads))
        results = results if isinstance(results, tuple) else (results,)
        if not ctx.least <= len(results) <= len(ctx.lengths):  # numbers after the last tensor may go without
            raise with_notes(
                RuntimeError(
                    f"function {cls.__name__}Backward returned an incorrect number of gradients (expected "
                    f"{len(ctx.lengths)}, got {len(results)})"
                ),
                page="wrong-number-of-gradients",
            )
        flat: list[Any] = []
        for r, n in zip_longest(results, ctx.lengths):
            flat += [r] if n is None else [None] * n if r is None else r
        return (*flat, None)

    @classmethod
    def vmap(cls, info: Any, in_dims: Any, *flat: Any) -> Any:
        """By the registered rule, or each example in turn."""
        from .ops.concat import stack

        *leaves, (structure, keywords) = flat
        op, dims = cls.definition, in_dims[: len(leaves)]
        if op._vmap is not None:
            return op._vmap(info, tree_unflatten(dims, structure), *tree_unflatten(leaves, structure), **keywords)
        each = []
        for k in range(info.batch_size):
            example = [x if d is None else x.select(d, k) for x, d in zip(leaves, dims)]
            each.append(op(*tree_unflatten(example, structure), **keywords))
        if isinstance(each[0], Tensor):
            return stack(each), 0
        together = [stack(rs) if isinstance(rs[0], Tensor) else rs[0] for rs in zip(*each)]
        return tuple(together), tuple([0 if isinstance(r, Tensor) else None for r in together])


class Overload(OpOverload):
    """``torch.ops.NAMESPACE.NAME.default``."""

    def __init__(self, definition: CustomOpDef) -> None:
        super().__init__(definition._qualname.partition("::")[2], "default")
        self.function, self._qualname = definition, definition._qualname

    def name(self) -> str:
        return self._qualname

    def __repr__(self) -> str:
        return f"{self._qualname.replace('::', '.')}.default"

    __str__ = __repr__


class Packet(OpOverloadPacket):
    """``torch.ops.NAMESPACE.NAME``."""

    def __init__(self, definition: CustomOpDef) -> None:
        super().__init__(definition._qualname)
        self.default, self._definition = definition._opoverload, definition

    def __repr__(self) -> str:
        return self.__name__.replace("::", ".")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._definition(*args, **kwargs)


class Namespace:
    """``torch.ops.NAMESPACE``: the user's operations of that namespace."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        definition = OPERATIONS.get(f"{self._name}::{name}")
        if definition is None:
            raise AttributeError(f"'_OpNamespace' '{self._name}' object has no attribute '{name}'", name=name)
        return Packet(definition)


# --- the public functions ---------------------------------------------------------------------------------------


def _added(name: str, kernel: Callable[..., Any] | None, mutates_args: Iterable[str]) -> CustomOpDef:
    namespace, separator, rest = name.partition("::")
    if not separator or not rest:
        raise ValueError(f"{name!r} is not the name of an operation\n  It needs a namespace: 'mine::{name}'.")
    taken = vars(ops).get(namespace) or home_of(f"{ROOT}.ops.{namespace}")
    if not isinstance(taken, Namespace | None):
        raise ValueError(f"the namespace {namespace!r} is taken by operations of Pullback: choose another")
    setattr(ops, namespace, Namespace(namespace))
    definition = OPERATIONS[name] = CustomOpDef(name, kernel, mutates_args)
    return definition


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: Any,
    device_types: Any = None,
    schema: str | None = None,
    tags: Any = None,
) -> Any:
    """Make a function an operation: a decorator, or given the function, what the decorator gives.

    Args:
        name: ``"namespace::name"``; then ``torch.ops.namespace.name`` is the operation, too.
        mutates_args: the names of the arguments that it writes into.

    Raises:
        ValueError: for a parameter without an annotation, of a name without a namespace.
    """

    def make(fn: Callable[..., Any]) -> CustomOpDef:
        for parameter in inspect.signature(fn).parameters.values() if schema is None else ():
            if parameter.annotation is parameter.empty:
                raise ValueError(
                    f"infer_schema(func): Parameter {parameter.name} must have a type annotation. Got func with "
                    f"signature {inspect.signature(fn)})"
                )
        return _added(name, fn, mutates_args)

    return make if fn is None else make(fn)


def triton_op(
    name: str, fn: Callable[..., Any] | None = None, /, *, mutates_args: Any, schema: str | None = None
) -> Any:
    """:func:`custom_op`: there are no Triton kernels for it to look into here."""
    return custom_op(name, fn, mutates_args=mutates_args, schema=schema)


def provide(name: str, kernel: Callable[..., Any]) -> None:
    """Offer a function of the package as an operation."""
    OPERATIONS[name] = ProvidedOp(name, kernel)


def _operation(op: Any) -> CustomOpDef:
    if isinstance(op, CustomOpDef):
        return op
    name = op.name() if isinstance(op, OpOverload) else str(op).removesuffix(".default")
    if name not in OPERATIONS:
        raise AttributeError(
            f"'_OpNamespace' '{name.partition('::')[0]}' object has no attribute '{name.partition('::')[2]}'"
        )
    return OPERATIONS[name]


def register_autograd(
    op: Any, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None, lib: Any = None
) -> None:
    """:meth:`CustomOpDef.register_autograd` of an operation, which may be given by name."""
    _operation(op).register_autograd(backward, setup_context=setup_context)


def register_kernel(op: Any, device_types: Any, func: Callable[..., Any] | None = None, /, *, lib: Any = None) -> Any:
    """:meth:`CustomOpDef.register_kernel` of an operation, which may be given by name."""
    return _operation(op).register_kernel(device_types, func)


impl = register_kernel


def register_fake(op: Any, func: Callable[..., Any] | None = None, /, *, lib: Any = None, **ignored: Any) -> Any:
    """Accepted: nothing here computes shapes without values."""
    return _operation(op).register_fake if func is None else func


impl_abstract = register_fake  # its older name


def get_ctx() -> NoReturn:
    """Refused: it belongs in functions given to :func:`register_fake`, and none of them is ever called.

    Raises:
        RuntimeError: always.
    """
    raise RuntimeError("get_ctx() can only be called inside of a function registered by register_fake")


def register_vmap(op: Any, func: Callable[..., Any] | None = None, /, *, lib: Any = None) -> Any:
    """:meth:`CustomOpDef.register_vmap` of an operation, which may be given by name."""
    return _operation(op).register_vmap(func)


def define(qualname: str, schema: str, *, lib: Any = None, tags: Any = ()) -> None:
    """An operation whose kernel follows, by :func:`impl`; of the schema only what it writes into counts, ``Tensor(a!)
    x``.
    """
    written = [
        part.split("=")[0].split()[-1] for part in schema.partition("->")[0].strip(" ()").split(",") if "!" in part
    ]
    _added(qualname, None, written)


class Library:
    """The operations of a namespace, defined and implemented one by one."""

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """An operation by a schema such as ``"double(Tensor x) -> Tensor"``. Returns its name."""
        name, _, rest = schema.partition("(")
        define(f"{self.ns}::{name.strip()}", f"({rest}")
        return name.strip()

    def impl(self, op_name: Any, fn: Callable[..., Any], dispatch_key: str = "", *, with_keyset: bool = False) -> None:
        """The kernel of an operation, for the library's dispatch key where none is given."""
        name = op_name if isinstance(op_name, str) else op_name.name()
        register_kernel(name if "::" in name else f"{self.ns}::{name}", dispatch_key or self.dispatch_key, fn)


@contextmanager
def _scoped_library(*args: Any, **kwargs: Any) -> Iterator[Library]:
    """A namespace whose operations go when the block ends."""
    library = Library(*args, **kwargs)
    before = set(OPERATIONS)
    try:
        yield library
    finally:
        for name in [n for n in OPERATIONS if n not in before and n.startswith(f"{library.ns}::")]:
            del OPERATIONS[name]
