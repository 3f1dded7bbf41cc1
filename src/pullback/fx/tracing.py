"""Tracing: a module is run on stand-ins, which write down what is done to them."""

from __future__ import annotations

import builtins
import dis
import inspect
import math
import operator
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

from ..core import slots
from ..core.tensor import Tensor
from ..nn.modules.container import Sequential
from ..nn.modules.module import Module
from .code import INFIX, UNARY, map_aggregate
from .graph import Graph, Node
from .module import GraphModule, Interpreter

_wrapped: dict[tuple[int, str], dict[str, Any]] = {}  # the globals of functions to be recorded whole


class TraceError(ValueError):
    """Something was asked of a stand-in that only a tensor knows."""


class Proxy:
    """Stands for what a node will give."""

    def __init__(self, node: Node, tracer: Any = None) -> None:
        self.node, self.tracer = node, tracer or GraphAppendingTracer(node.graph)

    def __getattr__(self, name: str) -> Attribute:
        if name.startswith("__"):  # Python and libraries ask what a thing is
            raise AttributeError(name)
        return Attribute(self, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __iter__(self) -> Iterator[Any]:
        frame = sys._getframe(1)
        for step in dis.get_instructions(frame.f_code):
            if step.offset == frame.f_lasti and step.opname == "UNPACK_SEQUENCE":
                return iter(
                    [
                        self.tracer.create_proxy("call_function", operator.getitem, (self, i), {})
                        for i in range(step.argval)
                    ]
                )
        return self.tracer.iter(self)

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def __len__(self) -> int:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call "
            "torch.fx.wrap('len') at module scope"
        )

    @classmethod
    def __torch_function__(cls, orig_method: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        tracer, name = _proxies_in((args, kwargs or {}))[0].tracer, orig_method.__name__
        if isinstance(args[0] if args else None, Proxy) and getattr(Tensor, name, None) is orig_method:
            return tracer.create_proxy("call_method", name, args, kwargs or {})
        return tracer.create_proxy("call_function", orig_method, args, kwargs or {})


def _proxies_in(arguments: Any) -> list[Proxy]:
    found: list[Proxy] = []
    map_aggregate(arguments, lambda x: found.append(x) if isinstance(x, Proxy) else None)
    return found


class Attribute(Proxy):
    """What ``x.name`` of a stand-in is: its call is that of a method, and until then nothing is written down."""

    def __init__(self, root: Proxy, name: str) -> None:
        self.root, self.attr, self.tracer = root, name, root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


def _operator(name: str, reflected: bool = False) -> Callable[..., Any]:
    function = getattr(operator, name)

    def method(self: Proxy, *others: Any) -> Any:
        return self.tracer.create_proxy(
            "call_function", function, (*others, self) if reflected else (self, *others), {}
        )

    return method


for _name in (*INFIX, *UNARY, "getitem", "setitem", "abs"):
    setattr(Proxy, f"__{_name.strip('_')}__", _operator(_name))
    if _name in INFIX and _name not in ("eq", "ne", "lt", "gt", "le", "ge"):
        setattr(Proxy, f"__r{_name.strip('_')}__", _operator(_name, True))
Proxy.__hash__ = object.__hash__  # type: ignore[method-assign]


class Tracer:
    """Runs a module on stand-ins. Subclasses say which modules are recorded whole, and what may be iterated over.

    Args:
        autowrap_modules: modules whose functions are recorded whole.
        autowrap_functions: functions that are.
    """

    def __init__(
        self, autowrap_modules: Any = (math,), autowrap_functions: Any = (), param_shapes_constant: bool = False
    ) -> None:
        self._whole = [f for m in autowrap_modules for f in vars(m).values() if callable(f)] + list(autowrap_functions)
        self.graph: Any = None
        self.root: Any = None

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether a module is recorded whole: ``torch.nn``'s own are, but for Sequential."""
        return (
            m.__module__.partition(".")[2].startswith("nn.")
            and m.__module__.startswith(("torch", "pullback"))
            and not isinstance(m, Sequential)
        )

    def path_of_module(self, mod: Module) -> str:
        """Where in the traced module another one is.

        Raises:
            NameError: nowhere.
        """
        for name, m in self.root.named_modules():
            if m is mod:
                return name
        raise NameError("module is not installed as a submodule")

    def create_arg(self, a: Any) -> Any:
        """An argument as nodes have it: nodes for stand-ins, parameters and buffers."""
        return map_aggregate(a, self._leaf)

    def _leaf(self, x: Any) -> Any:
        if isinstance(x, Proxy):
            return x.node
        if isinstance(x, range):
            return range(*map(self._leaf, (x.start, x.stop, x.step)))
        if isinstance(x, Tensor):
            for name, t in (*self.root.named_parameters(), *self.root.named_buffers()):
                if t is x:
                    return self.create_node("get_attr", name, (), {})
            number = 0
            while (
                hasattr(self.root, f"_tensor_constant{number}")
                and getattr(self.root, f"_tensor_constant{number}") is not x
            ):
                number += 1
            setattr(self.root, f"_tensor_constant{number}", x)
            return self.create_node("get_attr", f"_tensor_constant{number}", (), {})
        return x

    def create_node(
        self, kind: str, target: Any, args: Any, kwargs: Any, name: str | None = None, type_expr: Any = None
    ) -> Node:
        """Write a node down."""
        return self.graph.create_node(kind, target, args, kwargs, name, type_expr)

    def create_proxy(
        self,
        kind: str,
        target: Any,
        args: Any,
        kwargs: Any,
        name: str | None = None,
        type_expr: Any = None,
        proxy_factory_fn: Any = None,
    ) -> Any:
        """Write a node down whose arguments have stand-ins among them; returns the one of what it gives."""
        node = self.create_node(
            kind, target, self.create_arg(tuple(args)), self.create_arg(dict(kwargs)), name, type_expr
        )
        return proxy_factory_fn(node) if proxy_factory_fn else self.proxy(node)

    def proxy(self, node: Node) -> Proxy:
        """The stand-in for what a node gives."""
        return Proxy(node, self)

    def to_bool(self, obj: Proxy) -> bool:
        """What the truth of a stand-in is: unknown, unless a subclass knows."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """What a loop over a stand-in goes through: unknown, unless a subclass knows."""
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or "
            "**kwargs function argument. See the torch.fx docs on pytorch.org for a more detailed explanation of what "
            "types of control flow can be traced, and check out the Proxy docstring for help troubleshooting Proxy "
            "iteration errors"
        )

    def call_module(self, m: Module, forward: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """What a call of a module gives: a node's stand-in if it is a leaf, else what its ``forward`` makes of
        stand-ins.
        """
        path = self.path_of_module(m)
        if not self.is_leaf_module(m, path):
            return forward(*args, **kwargs)
        return self.create_proxy("call_module", path, args, kwargs)

    def trace(self, root: Any, concrete_args: dict[str, Any] | None = None) -> Graph:
        """The graph of a module or function.

        Args:
            concrete_args: values of arguments that are fixed.

        Raises:
            TraceError: it decides by values.
        """
        function: Any
        if isinstance(root, Module):
            self.root, function = root, type(root).forward
            given: list[Any] = [root]
        else:
            self.root, function, given = Module(), root, []
        self.graph = Graph()
        keywords: dict[str, Any] = {}
        for parameter in [*inspect.signature(function).parameters.values()][len(given) :]:
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                raise TraceError(f"{parameter} cannot be traced: name the arguments")
            name = parameter.name
            if concrete_args is not None and name in concrete_args:
                value = concrete_args[name]
            else:
                default = () if parameter.default is parameter.empty else (parameter.default,)
                value = self.create_proxy("placeholder", name, default, {})
            if parameter.kind is parameter.KEYWORD_ONLY:
                keywords[name] = value
            else:
                given.append(value)
        with ExitStack() as stack:
            self._intercept(stack)
            result = function(*given, **keywords)
        self.create_node("output", "output", (self.create_arg(result),), {})
        return self.graph

    def _intercept(self, stack: ExitStack) -> None:
        """Until the stack is closed, calls of modules and of wrapped functions come here."""
        call = Module.__call__

        def called(module: Module, *args: Any, **kwargs: Any) -> Any:
            return self.call_module(module, lambda *a, **k: call(module, *a, **k), args, kwargs)

        stack.enter_context(patch.object(Module, "__call__", called))
        for space in _spaces():  # those of which other functions are made do not know what stands for a tensor
            functions = {
                name: f
                for name, f in space.items()
                if callable(f) and not isinstance(f, type) and not name.startswith("_")
            }
            stack.enter_context(patch.dict(space, {name: self._recorded(f) for name, f in functions.items()}))
        for (_, name), space in [*_wrapped.items()]:
            function = space.get(name, getattr(builtins, name, None))
            stack.enter_context(patch.dict(space, {name: self._recorded(function)}))
        for function in self._whole:
            if function.__module__ == "math":
                stack.enter_context(patch.object(math, function.__name__, self._recorded(function)))

    def _recorded(self, function: Any) -> Callable[..., Any]:
        def record(*args: Any, **kwargs: Any) -> Any:
            traced = _proxies_in((args, kwargs))
            return self.create_proxy("call_function", function, args, kwargs) if traced else function(*args, **kwargs)

        return record


class GraphAppendingTracer(Tracer):
    """Writes what is done to stand-ins of a graph to its end: for graphs made by hand."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph, self.root = graph, Module()


def _spaces() -> list[dict[str, Any]]:
    """Where programs find functions of tensors."""
    torch = slots.namespace
    return [vars(module) for module in (torch, torch.nn.functional, torch.fft, torch.linalg, torch.special)]


def wrap(fn_or_name: Any) -> Any:
    """Let a function of this file be recorded whole: a decorator, or by name (of a builtin, too) at the top of a file.

    Raises:
        NotImplementedError: called elsewhere.
    """
    frame = sys._getframe(1)
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    _wrapped[id(frame.f_globals), name] = frame.f_globals
    return fn_or_name


def symbolic_trace(root: Any, concrete_args: dict[str, Any] | None = None) -> GraphModule:
    """A module or function as a :class:`GraphModule` that does the same; see the module.

    Raises:
        TraceError: it decides by values of tensors.
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    return GraphModule(tracer.root, graph, type(root).__name__ if isinstance(root, Module) else root.__name__)


class Transformer(Interpreter):
    """An :class:`Interpreter` whose run makes a new graph: subclasses override what becomes of a kind of node."""

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.tracer = Tracer()
        self.tracer.graph, self.tracer.root = Graph(), module

    def placeholder(self, target: str, args: Any, kwargs: Any) -> Any:
        return self.tracer.create_proxy("placeholder", target, args, {})

    def get_attr(self, target: str, args: Any, kwargs: Any) -> Any:
        return self.tracer.create_proxy("get_attr", target, (), {})

    def call_function(self, target: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def call_method(self, target: str, args: Any, kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", target, args, kwargs)

    def call_module(self, target: str, args: Any, kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_module", target, args, kwargs)

    def transform(self) -> GraphModule:
        """The new module."""
        result = self.run()
        self.tracer.graph.output(self.tracer.create_arg(result))
        return GraphModule(self.module, self.tracer.graph)
