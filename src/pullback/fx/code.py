"""Code generation: the Python source of a graph."""

from __future__ import annotations

import keyword
import operator
import re
from collections.abc import Callable
from typing import Any

from ..core import slots

INFIX: dict[Callable[..., Any], str] = {
    operator.add: "+",
    operator.sub: "-",
    operator.mul: "*",
    operator.truediv: "/",
    operator.floordiv: "//",
    operator.mod: "%",
    operator.pow: "**",
    operator.matmul: "@",
    operator.lshift: "<<",
    operator.rshift: ">>",
    operator.and_: "&",
    operator.or_: "|",
    operator.xor: "^",
    operator.eq: "==",
    operator.ne: "!=",
    operator.lt: "<",
    operator.gt: ">",
    operator.le: "<=",
    operator.ge: ">=",
}
UNARY: dict[Callable[..., Any], str] = {operator.neg: "-", operator.pos: "+", operator.invert: "~"}


def map_aggregate(arg: Any, fn: Callable[[Any], Any]) -> Any:
    """Apply ``fn`` to each leaf of nested tuples, lists, dicts and slices."""
    if isinstance(arg, tuple):
        parts = [map_aggregate(a, fn) for a in arg]
        return type(arg)(*parts) if hasattr(arg, "_fields") else tuple(parts)
    if isinstance(arg, list):
        return [map_aggregate(a, fn) for a in arg]
    if isinstance(arg, dict):
        return {key: map_aggregate(a, fn) for key, a in arg.items()}
    if isinstance(arg, slice):
        return slice(*[map_aggregate(a, fn) for a in (arg.start, arg.stop, arg.step)])
    return fn(arg)


class SourceText(str):
    """Source text, whose ``repr`` is itself."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def qualified_name(function: Any) -> str:
    """The qualified name of a function, as a program would write it."""
    module, name = getattr(function, "__module__", None) or "", getattr(function, "__name__", repr(function))
    if module.partition(".")[0] not in ("pullback", "torch"):
        return f"{module.replace('_operator', 'operator')}.{name}"
    for path in (
        f"torch.{name}",
        f"torch.nn.functional.{name}",
        f"torch.linalg.{name}",
        f"torch.special.{name}",
        f"torch.fft.{name}",
    ):
        if lookup(slots.namespace, path) is function:
            return path
    return f"torch.{name}"


def to_source(arg: Any) -> str:
    """The source of an argument."""
    if isinstance(arg, float) and (arg != arg or arg in (float("inf"), -float("inf"))):
        return f"float('{arg}')"
    if isinstance(arg, tuple) and not hasattr(arg, "_fields"):
        return f"({', '.join(map(to_source, arg))}{',' * (len(arg) == 1)})"
    if isinstance(arg, list):
        return f"[{', '.join(map(to_source, arg))}]"
    if isinstance(arg, dict):
        return f"{{{', '.join([f'{to_source(k)}: {to_source(v)}' for k, v in arg.items()])}}}"
    if isinstance(arg, slice):
        return f"slice({to_source(arg.start)}, {to_source(arg.stop)}, {to_source(arg.step)})"
    return repr(arg)


class PythonCode:
    """The source of a graph's ``forward``, and the objects that it names.

    Attributes:
        src: the source.
        globals: the namespace to execute it in.
    """

    def __init__(self, graph: Any, root: str) -> None:
        self.globals: dict[str, Any] = {
            "torch": slots.namespace,
            "operator": operator,
            "inf": float("inf"),
            "nan": float("nan"),
            "device": slots.namespace.device,
        }
        last_user = {argument: node for node in graph._nodes for argument in node.all_input_nodes}
        parameters, lines = [], []
        for node in graph._nodes:
            if node.op == "placeholder":
                default = f" = {to_source(node.args[0])}" if node.args else ""
                parameters.append(f"{node.target}{default}")
                if node.target != node.name:
                    lines.append(f"{node.name} = {node.target.lstrip('*')}")
            elif node.op == "output":
                lines.append(f"return {self._source(node.args[0])}")
            else:
                # as PyTorch does, values are released after their last use
                unused = [a.name for a in node.all_input_nodes if last_user[a] is node]
                unused += [] if node.users else [node.name]
                release = f";  {' = '.join(unused)} = None" if unused else ""
                lines.append(f"{node.name} = {self._call_source(node, root)}{release}")
        body = "\n    ".join(lines) or "pass"
        self.src = f"def forward({', '.join([root, *parameters])}):\n    {body}"

    def _source(self, arg: Any) -> str:
        return to_source(map_aggregate(arg, self._constant))

    def _constant(self, x: Any) -> Any:
        if x is None or hasattr(x, "graph") or isinstance(x, (int, float, complex, str, bytes)) or x is Ellipsis:
            return x
        if (
            type(x).__module__.partition(".")[0] in ("pullback", "torch")
            and repr(x).startswith("torch.")
            and "(" not in repr(x)
        ):
            return x  # a dtype or the like
        return SourceText(self._global_name(x, getattr(x, "__name__", type(x).__name__)))

    def _global_name(self, thing: Any, name: str) -> str:
        """A name for an object that the source refers to."""
        name = re.sub(r"\W", "_", name)
        while self.globals.setdefault(name, thing) is not thing:
            name += "_"
        return name

    def _call_source(self, node: Any, root: str) -> str:
        args = [self._source(a) for a in node.args]
        given = ", ".join(args + [f"{key} = {self._source(a)}" for key, a in node.kwargs.items()])
        if node.op == "call_module":
            return f"{_attribute(root, node.target)}({given})"
        if node.op == "get_attr":
            return _attribute(root, node.target)
        if node.op == "call_method":
            return f"{args[0]}.{node.target}({', '.join([given.removeprefix(args[0]).removeprefix(', ')])})"
        name, module = getattr(node.target, "__name__", ""), getattr(node.target, "__module__", "")
        if module == "_operator" and not node.kwargs:
            if node.target in INFIX:
                return f"{args[0]} {INFIX[node.target]} {args[1]}"
            if node.target in UNARY:
                return f"{UNARY[node.target]}{args[0]}"
            if node.target is operator.getitem:
                return f"{args[0]}[{args[1]}]"
        if node.target is getattr and len(args) == 2 and node.args[1].isidentifier():
            return f"{args[0]}.{node.args[1]}"
        path = qualified_name(node.target)
        if path.startswith("torch.") and lookup(self.globals["torch"], path) is node.target:
            return f"{path}({given})"
        called = f"{module}_{name}" if module not in ("", "builtins") else name or "function"
        return f"{self._global_name(node.target, called)}({given})"


def _attribute(root: str, path: str) -> str:
    """The source of a path of attributes; numbers and keywords need ``getattr``."""
    for name in path.split("."):
        root = f"{root}.{name}" if name.isidentifier() and not keyword.iskeyword(name) else f'getattr({root}, "{name}")'
    return root


def lookup(torch: Any, path: str) -> Any:
    """The object at ``torch.path``; None if there is none."""
    for name in path.split(".")[1:]:
        torch = getattr(torch, name, None)
    return torch


def get_target(module: Any, path: str) -> Any:
    """The module or tensor at a path.

    Raises:
        RuntimeError: there is none.
    """
    for name in path.split("."):
        if not hasattr(module, name):
            raise RuntimeError(f"Node referenced nonexistent target {path}")
        module = getattr(module, name)
    return module
