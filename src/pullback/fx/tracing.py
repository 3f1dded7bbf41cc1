"""Symbolic tracing: a module runs on proxies, which record what is done to them as nodes."""

from __future__ import annotations

import builtins
import dis
import functools
import inspect
import math
import operator
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from types import FunctionType as FunctionType  # tracers of libraries find it here
from typing import Any
from unittest.mock import patch

from ..base.torchscript import ScriptObject as ScriptObject
from ..core import slots
from ..core.override import as_recorded
from ..core.tensor import Tensor
from ..nn.modules.container import Sequential
from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from ..overrides import watch
from ._compatibility import compatibility as compatibility
from .code import INFIX, UNARY, map_aggregate
from .graph import Graph, Node
from .module import GraphModule, Interpreter
from .patching import _orig_module_call as _orig_module_call
from .patching import _orig_module_getattr as _orig_module_getattr
from .patching import _Patcher as _Patcher

# globals of files, by id and the name of a function there that is recorded as one call
_wrapped_functions: dict[tuple[int, str], dict[str, Any]] = {}


watch()  # functions handed a proxy record it, in a trace or not


class TraceError(ValueError):
    """A proxy was asked for something that only a tensor knows."""


class Proxy:
    """The symbolic result of a node."""

    def __init__(self, node: Node, tracer: Any = None) -> None:
        self.node, self.tracer = node, tracer or GraphAppendingTracer(node.graph)

    def __getattr__(self, name: str) -> Attribute:
        if name.startswith("__") or name in Tensor.__slots__:  # Python, libraries and ops ask what a thing is
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
    """The attribute of a proxy: a call of it is a method call, and until it is used no node is recorded."""

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


def _operator(function: Callable[..., Any], reflected: bool = False) -> Callable[..., Any]:
    def method(self: Proxy, *others: Any) -> Any:
        return self.tracer.create_proxy(
            "call_function", function, (*others, self) if reflected else (self, *others), {}
        )

    return method


COMPARISONS = {operator.eq, operator.ne, operator.lt, operator.gt, operator.le, operator.ge}
OPERATORS: list[Any] = [*INFIX, *UNARY, operator.getitem, operator.setitem, operator.abs]
for _function in OPERATORS:
    _name = _function.__name__.strip("_")
    setattr(Proxy, f"__{_name}__", _operator(_function))
    if _function in INFIX and _function not in COMPARISONS:
        setattr(Proxy, f"__r{_name}__", _operator(_function, True))
Proxy.__hash__ = object.__hash__  # type: ignore[method-assign]


class Tracer:
    """Runs a module on proxies. Subclasses decide which modules are leaves, and what may be iterated over.

    Args:
        autowrap_modules: Python modules whose functions are recorded as one call.
        autowrap_functions: functions that are.
    """

    def __init__(
        self, autowrap_modules: Any = (math,), autowrap_functions: Any = (), param_shapes_constant: bool = False
    ) -> None:
        functions = [f for m in autowrap_modules for f in vars(m).values() if callable(f)]
        self._autowrapped = [*functions, *autowrap_functions]
        self._autowrap_function_ids = {id(f) for f in self._autowrapped}
        self._autowrap_search = list(autowrap_modules)
        self.submodule_paths: dict[Module, str] | None = None
        self.graph: Any = None
        self.root: Any = None

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether a module is recorded as one call: ``torch.nn``'s own are, but for Sequential."""
        return (
            m.__module__.partition(".")[2].startswith("nn.")
            and m.__module__.startswith(("torch", "pullback"))
            and not isinstance(m, Sequential)
        )

    def path_of_module(self, mod: Module) -> str:
        """The path of a module in the traced one.

        Raises:
            NameError: it is not in there.
        """
        for name, m in self.root.named_modules():
            if m is mod:
                return name
        raise NameError("module is not installed as a submodule")

    def create_arg(self, a: Any) -> Any:
        """An argument as nodes have it: with nodes for proxies, parameters and buffers."""
        return map_aggregate(a, self._create_leaf_arg)

    def _create_leaf_arg(self, x: Any) -> Any:
        if isinstance(x, Proxy):
            return x.node
        if isinstance(x, range):
            return range(*map(self._create_leaf_arg, (x.start, x.stop, x.step)))
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
        """Add a node to the graph."""
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
        """Add a node whose arguments contain proxies; returns the proxy of its result."""
        node = self.create_node(
            kind, target, self.create_arg(tuple(args)), self.create_arg(dict(kwargs)), name, type_expr
        )
        return proxy_factory_fn(node) if proxy_factory_fn else self.proxy(node)

    def proxy(self, node: Node) -> Proxy:
        """The proxy of a node's result."""
        return Proxy(node, self)

    def to_bool(self, obj: Proxy) -> bool:
        """``bool(proxy)``: unknown, unless a subclass knows."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """``iter(proxy)``: unknown, unless a subclass knows."""
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or "
            "**kwargs function argument. See the torch.fx docs on pytorch.org for a more detailed explanation of what "
            "types of control flow can be traced, and check out the Proxy docstring for help troubleshooting Proxy "
            "iteration errors"
        )

    def call_module(self, m: Module, forward: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Call a module: one node if it is a leaf, else its ``forward`` is traced."""
        path = self.path_of_module(m)
        if not self.is_leaf_module(m, path):
            return forward(*args, **kwargs)
        return self.create_proxy("call_module", path, args, kwargs)

    def trace(self, root: Any, concrete_args: dict[str, Any] | None = None) -> Graph:
        """The graph of a module or function.

        Args:
            concrete_args: values of arguments that are fixed.

        Raises:
            TraceError: its control flow depends on values.
        """
        function: Any
        if isinstance(root, Module):
            self.root, function = root, type(root).forward
            given: list[Any] = [root]
        else:
            self.root, function, given = Module(), root, []
        self.graph = Graph()
        proxies, keywords = self._arguments(function, len(given), concrete_args)
        with ExitStack() as stack:
            self._intercept(stack)
            result = function(*given, *proxies, **keywords)
        self.create_node("output", "output", (self.create_arg(result),), {})
        return self.graph

    def create_args_for_root(
        self, root_fn: Callable[..., Any], is_module: bool, concrete_args: dict[str, Any] | None = None
    ) -> tuple[Callable[..., Any], list[Any]]:
        """A function, and what to call it with: the module, if it is a method, and proxies."""
        given = [self.root] if is_module else []
        proxies, keywords = self._arguments(root_fn, len(given), concrete_args)
        return functools.partial(root_fn, **keywords) if keywords else root_fn, [*given, *proxies]

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """What a module's attribute is in a trace: a parameter is its proxy."""
        if isinstance(attr_val, Parameter):
            for name, p in self.root.named_parameters():
                if p is attr_val:
                    if name not in parameter_proxy_cache:
                        parameter_proxy_cache[name] = self.create_proxy("get_attr", name, (), {})
                    return parameter_proxy_cache[name]
        return attr_val

    _module_getattr = getattr

    def _arguments(
        self, function: Callable[..., Any], taken: int, concrete_args: dict[str, Any] | None
    ) -> tuple[list[Any], dict[str, Any]]:
        """Proxies, or given values, for the parameters of a function after those that are taken."""
        proxies: list[Any] = []
        keywords: dict[str, Any] = {}
        for parameter in [*inspect.signature(function).parameters.values()][taken:]:
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
                proxies.append(value)
        return proxies, keywords

    def _intercept(self, stack: ExitStack) -> None:
        """Patch calls of modules and of wrapped functions, until the stack is closed."""
        call = Module.__call__

        def called(module: Module, *args: Any, **kwargs: Any) -> Any:
            return self.call_module(module, lambda *a, **k: call(module, *a, **k), args, kwargs)

        stack.enter_context(patch.object(Module, "__call__", called))
        for space in _namespaces():  # composite functions would look into a proxy
            functions = {
                name: f
                for name, f in space.items()
                if callable(f) and not isinstance(f, type) and not name.startswith("_")
            }
            stack.enter_context(patch.dict(space, {name: recorded(f) for name, f in functions.items()}))
        for (_, name), space in [*_wrapped_functions.items()]:
            function = space.get(name, getattr(builtins, name, None))
            stack.enter_context(patch.dict(space, {name: recorded(function)}))
        for function in self._autowrapped:
            if function.__module__ == "math":
                stack.enter_context(patch.object(math, function.__name__, recorded(function)))


class GraphAppendingTracer(Tracer):
    """Records what is done to a graph's proxies at its end: for graphs made by hand."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph, self.root = graph, Module()


def recorded(function: Any) -> Callable[..., Any]:
    """A function that records, with the tracer of a proxy that it is handed."""

    @functools.wraps(function)
    def record(*args: Any, **kwargs: Any) -> Any:
        traced = _proxies_in((args, kwargs))
        if not traced:
            return function(*args, **kwargs)
        return traced[0].tracer.create_proxy("call_function", function, as_recorded(function, args), kwargs)

    return record


def _namespaces() -> list[dict[str, Any]]:
    """The namespaces where programs find functions of tensors."""
    torch = slots.namespace
    return [vars(module) for module in (torch, torch.nn.functional, torch.fft, torch.linalg, torch.special)]


def wrap(fn_or_name: Any) -> Any:
    """Let a function of this file be recorded as one call: a decorator, or called with a name, even of a builtin.

    Raises:
        NotImplementedError: called elsewhere.
    """
    frame = sys._getframe(1)
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    _wrapped_functions[id(frame.f_globals), name] = frame.f_globals
    return fn_or_name


def symbolic_trace(root: Any, concrete_args: dict[str, Any] | None = None) -> GraphModule:
    """A module or function as a :class:`GraphModule` that does the same; see the module.

    Raises:
        TraceError: its control flow depends on values of tensors.
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    return GraphModule(tracer.root, graph, type(root).__name__ if isinstance(root, Module) else root.__name__)


class Transformer(Interpreter):
    """An :class:`Interpreter` that runs on proxies and so makes a new graph: subclasses override kinds of nodes."""

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


def _patch_wrapped_functions(patcher: _Patcher) -> None:
    """Let calls of functions given to ``fx.wrap`` be recorded, and those of torch: as in a trace."""
    for space in _namespaces():
        for name, function in [*space.items()]:
            if callable(function) and not isinstance(function, type) and not name.startswith("_"):
                patcher.patch(space, name, recorded(function))
    for (_, name), space in [*_wrapped_functions.items()]:
        patcher.patch(space, name, recorded(space.get(name, getattr(builtins, name, None))))


def _autowrap_check(patcher: _Patcher, frame_dict: dict[str, Any], function_ids: set[int]) -> None:
    """Let calls of the functions with these identities be recorded where a namespace has them."""
    if patcher.visit_once(frame_dict):
        for name, value in [*frame_dict.items()]:
            if not name.startswith("_") and callable(value) and id(value) in function_ids:
                patcher.patch(frame_dict, name, recorded(value))
