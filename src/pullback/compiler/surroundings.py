"""What a function uses without being handed it: variables of enclosing functions, globals, and what hangs on these.

A compiled function holds as long as these are what they were. So every tensor that is found is an input, and everything
that may be rebound becomes a condition, a line of Python to be checked before each call: that a variable still is
the same object, a number the same number, a module in the same mode.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

from ..autograd.graph import is_users
from ..nn.modules.module import Module
from ..optim.optimizer import Optimizer
from ..tensor import Tensor

PLAIN = (int, float, bool, complex, str, bytes, type(None))
FIXED = (types.ModuleType, type, types.BuiltinFunctionType)
MOST = 100_000  # things to look at


class Surroundings:
    """What can be reached from a function.

    Attributes:
        tensors: the tensors, in the order in which they were met, with how they are called.
        checks: pairs of an expression and what it gives now.
        names: what the expressions refer to.
    """

    def __init__(self, function: Callable) -> None:
        self.tensors: dict[int, tuple[Tensor, str]] = {}
        self.checks: list[tuple[str, Any]] = []
        self.names: dict[str, Any] = {}
        self._seen: dict[int, Any] = {}
        self._todo: list[tuple[Any, str]] = [(function, "")]
        while self._todo and len(self._seen) < MOST:
            thing, name = self._todo.pop()
            if id(thing) not in self._seen and not isinstance(thing, (*PLAIN, *FIXED)):
                self._seen[id(thing)] = thing
                self._look(thing, name)

    def _named(self, thing: Any) -> str:
        name = f"s{len(self.names)}"
        self.names[name] = thing
        return name

    def _check(self, expression: str, value: Any, name: str) -> None:
        """What is rebindable: it has to stay what it is, and is looked into."""
        if not isinstance(value, (*FIXED, types.FunctionType)):
            self.checks.append((expression, value))
        self._todo.append((value, name))

    def _look(self, x: Any, name: str) -> None:
        if isinstance(x, Tensor):
            self.tensors[id(x)] = x, name or "tensor"
            if x._grad is not None:
                self._todo.append((x._grad, f"{name}.grad"))
        elif isinstance(x, types.FunctionType):
            self._function(x)
        elif isinstance(x, types.MethodType):
            self._todo += [(x.__func__, ""), (x.__self__, name)]
        elif isinstance(x, functools.partial):
            self._todo += [(x.func, ""), (list(x.args), name), (x.keywords, name)]
        elif isinstance(x, Module):
            self._module(x, name)
        elif isinstance(x, Optimizer):
            self._todo += [(p, name) for group in x.param_groups for p in group["params"]]
        elif isinstance(x, dict):
            self._todo += [(v, f"{name}[{k!r}]") for k, v in x.items()]
        elif isinstance(x, (list, tuple, set, frozenset)):
            self._todo += [(v, f"{name}[{i}]") for i, v in enumerate(x)]
        elif hasattr(x, "__dict__") and is_users(getattr(__import__("sys").modules.get(type(x).__module__), "__file__", None) or ""):
            self._attributes(x, name, vars(x))

    def _function(self, f: types.FunctionType) -> None:
        code, users = f.__code__, is_users(f.__code__.co_filename)
        for variable, cell in zip(code.co_freevars, f.__closure__ or ()):
            try:
                value = cell.cell_contents
            except ValueError:  # not bound yet
                continue
            if isinstance(value, (*FIXED, types.FunctionType)):
                self._todo.append((value, variable))
            else:
                self._check(f"{self._named(cell)}.cell_contents", value, variable)
        self._todo += [(v, f.__name__) for v in f.__defaults__ or ()]
        if not users:
            return
        used: set[str] = set()
        codes = [code]
        while codes:
            c = codes.pop()
            used.update(c.co_names)
            codes += [k for k in c.co_consts if isinstance(k, types.CodeType)]
        scope = ""
        for variable in sorted(used):
            if variable in f.__globals__:
                value = f.__globals__[variable]
                if isinstance(value, FIXED):
                    continue
                if isinstance(value, types.FunctionType):
                    self._todo.append((value, variable))
                    continue
                scope = scope or self._named(f.__globals__)
                self._check(f"{scope}.get({variable!r})", value, variable)

    def _module(self, m: Module, name: str) -> None:
        self.checks.append((f"{self._named(m)}.training", m.training))
        for table in (m._parameters, m._buffers, m._modules):
            self._todo += [(v, f"{name}.{k}" if name else k) for k, v in table.items() if v is not None]
        users = is_users(type(m).forward.__code__.co_filename) if isinstance(type(m).forward, types.FunctionType) else False
        if users:
            self._todo.append((type(m).forward, name))
        self._attributes(m, name, {k: v for k, v in vars(m).items() if not k.startswith("_") and k != "training"}, users)

    def _attributes(self, x: Any, name: str, attributes: dict[str, Any], checked: bool = True) -> None:
        owner = ""
        for key, value in attributes.items():
            if checked and isinstance(value, (*PLAIN, Tensor)) and isinstance(key, str):
                owner = owner or self._named(x)
                self._check(f"{owner}.{key}", value, f"{name}.{key}")
            else:
                self._todo.append((value, f"{name}.{key}"))
