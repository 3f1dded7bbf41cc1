"""Graphs as the source text of a function."""

from __future__ import annotations

import keyword
import operator
import re
from collections.abc import Callable
from typing import Any

from ..core import slots

INFIX = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "truediv": "/",
    "floordiv": "//",
    "mod": "%",
    "pow": "**",
    "matmul": "@",
    "lshift": "<<",
    "rshift": ">>",
    "and_": "&",
    "or_": "|",
    "xor": "^",
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "gt": ">",
    "le": "<=",
    "ge": ">=",
}
UNARY = {"neg": "-", "pos": "+", "invert": "~"}


def map_aggregate(arg: Any, fn: Callable[[Any], Any]) -> Any:
    """A nest of tuples, lists, dicts and slices with ``fn`` of each of its leaves."""
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


class Text(str):
    """What is source text already."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def path_of(function: Any) -> str:
    """Where a function is found, as a program would write it."""
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
        if found(slots.namespace, path) is function:
            return path
    return f"torch.{name}"


def shown(arg: Any) -> str:
    """An argument as source text."""
    if isinstance(arg, float) and (arg != arg or arg in (float("inf"), -float("inf"))):
        return f"float('{arg}')"
    if isinstance(arg, tuple) and not hasattr(arg, "_fields"):
        return f"({', '.join(map(shown, arg))}{',' * (len(arg) == 1)})"
    if isinstance(arg, list):
        return f"[{', '.join(map(shown, arg))}]"
    if isinstance(arg, dict):
        return f"{{{', '.join([f'{shown(k)}: {shown(v)}' for k, v in arg.items()])}}}"
    if isinstance(arg, slice):
        return f"slice({shown(arg.start)}, {shown(arg.stop)}, {shown(arg.step)})"
    return repr(arg)


class PythonCode:
    """Source text of a function, and the objects that it names.

    Attributes:
        src: the text.
        globals: what to execute it with.
    """

    def __init__(self, graph: Any, root: str) -> None:
        self.globals: dict[str, Any] = {
            "torch": slots.namespace,
            "operator": operator,
            "inf": float("inf"),
            "nan": float("nan"),
            "device": slots.namespace.device,
        }
        last = {argument: node for node in graph._nodes for argument in node.all_input_nodes}
        parameters, lines = [], []
        for node in graph._nodes:
            if node.op == "placeholder":
                default = f" = {shown(node.args[0])}" if node.args else ""
                parameters.append(f"{node.target}{default}")
                if node.target != node.name:
                    lines.append(f"{node.name} = {node.target.lstrip('*')}")
            elif node.op == "output":
                lines.append(f"return {self._text(node.args[0])}")
            else:
                done = [a.name for a in node.all_input_nodes if last[a] is node]
                done += [] if node.users else [node.name]
                forget = f";  {' = '.join(done)} = None" if done else ""
                lines.append(f"{node.name} = {self._call(node, root)}{forget}")
        body = "\n    ".join(lines) or "pass"
        self.src = f"def forward({', '.join([root, *parameters])}):\n    {body}"

    def _text(self, arg: Any) -> str:
        return shown(map_aggregate(arg, self._constant))

    def _constant(self, x: Any) -> Any:
        if x is None or hasattr(x, "graph") or isinstance(x, (int, float, complex, str, bytes)) or x is Ellipsis:
            return x
        if (
            type(x).__module__.partition(".")[0] in ("pullback", "torch")
            and repr(x).startswith("torch.")
            and "(" not in repr(x)
        ):
            return x  # a dtype or the like
        return Text(self._name(x, getattr(x, "__name__", type(x).__name__)))

    def _name(self, thing: Any, name: str) -> str:
        """A name for an object in the text."""
        name = re.sub(r"\W", "_", name)
        while self.globals.setdefault(name, thing) is not thing:
            name += "_"
        return name

    def _call(self, node: Any, root: str) -> str:
        args = [self._text(a) for a in node.args]
        given = ", ".join(args + [f"{key} = {self._text(a)}" for key, a in node.kwargs.items()])
        if node.op == "call_module":
            return f"{_attribute(root, node.target)}({given})"
        if node.op == "get_attr":
            return _attribute(root, node.target)
        if node.op == "call_method":
            return f"{args[0]}.{node.target}({', '.join([given.removeprefix(args[0]).removeprefix(', ')])})"
        name, module = getattr(node.target, "__name__", ""), getattr(node.target, "__module__", "")
        if module == "_operator" and not node.kwargs:
            if name in INFIX:
                return f"{args[0]} {INFIX[name]} {args[1]}"
            if name in UNARY:
                return f"{UNARY[name]}{args[0]}"
            if name == "getitem":
                return f"{args[0]}[{args[1]}]"
        if node.target is getattr and len(args) == 2 and node.args[1].isidentifier():
            return f"{args[0]}.{node.args[1]}"
        path = path_of(node.target)
        if path.startswith("torch.") and found(self.globals["torch"], path) is node.target:
            return f"{path}({given})"
        called = f"{module}_{name}" if module not in ("", "builtins") else name or "function"
        return f"{self._name(node.target, called)}({given})"


def _attribute(root: str, path: str) -> str:
    """An attribute of an attribute, as source text; numbers need ``getattr``."""
    for name in path.split("."):
        root = f"{root}.{name}" if name.isidentifier() and not keyword.iskeyword(name) else f'getattr({root}, "{name}")'
    return root


def found(torch: Any, path: str) -> Any:
    """What ``torch.path`` is; None if nothing."""
    for name in path.split(".")[1:]:
        torch = getattr(torch, name, None)
    return torch


def reach(module: Any, path: str) -> Any:
    """The module or tensor at a path.

    Raises:
        RuntimeError: there is none.
    """
    for name in path.split("."):
        if not hasattr(module, name):
            raise RuntimeError(f"Node referenced nonexistent target {path}")
        module = getattr(module, name)
    return module
