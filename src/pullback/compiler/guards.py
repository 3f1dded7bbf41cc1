"""Guards (as in TorchDynamo): the variables, attributes and items that a function reads, and what they have to be.

A version of a compiled function holds as long as they are what they were. The environment of a function is all that it
can reach without being handed it: variables of enclosing functions, globals, and what these refer to. Every tensor
found there is an input of the program; everything that may be rebound gets a guard, a Python expression that is checked
before each call: the object is the same, the number is equal. Of users' objects only those attributes count whose names
occur in the code that runs.
"""

from __future__ import annotations

import dis
import functools
import os
import random
import sys
import types
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from io import IOBase
from operator import is_
from typing import Any, NamedTuple

import numpy as np

from ..core.graph import Hooks, is_users
from ..core.public import function_of
from ..core.tensor import Tensor
from ..distributions.distribution import Distribution
from ..nn.modules import hooks
from ..nn.modules.module import Module
from ..optim.lr_scheduler.scheduler import LRScheduler
from ..optim.optimizer import Optimizer

SCALARS = (int, float, bool, complex, str, bytes, type(None), np.generic)
METHOD_TYPES = (staticmethod, classmethod)
# methods that count though no code of the user's names them; so do special methods, but for a few
CALLED_BY_PACKAGE = {"forward", "backward", "setup_context", "jvp", "vmap"}
UNREAD = {"__init__", "__new__", "__repr__", "__str__"}
MAX_VISITED = 100_000  # objects
MAX_ARRAY_BYTES = 4096  # of NumPy arrays whose contents are guarded
STDLIB = os.path.dirname(os.__file__)
HOOK_ATTRIBUTES = "_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks"
GLOBAL_HOOKS = tuple([getattr(hooks, f"_global{name}") for name in HOOK_ATTRIBUTES])


class Guard(NamedTuple):
    """An expression that has to give the same value: an attribute, an item or a number of items.

    Attributes:
        owner: the object that it is of.
        expression: in terms of ``{}``, the owner's name.
        value: what it gave.
        name: how users call it.
    """

    owner: Any
    expression: str
    value: Any
    name: str

    def now(self) -> Any:
        """The present value; the class itself, which differs from all, if there is none."""
        try:
            return eval(self.expression.format("owner"), {"owner": self.owner})  # noqa: S307
        except (AttributeError, IndexError, KeyError, ValueError):
            return Guard


def differs(now: Any, value: Any) -> bool:
    """Whether a guarded value is another one: by ``repr``, which tells 0.0 from -0.0, and for which NaN is NaN."""
    return now is not value and (
        now.__class__ is not value.__class__ or not isinstance(value, SCALARS) or repr(now) != repr(value)
    )


def equals_copy(x: Any, copy: Any) -> bool:
    """Whether a container, or a NumPy array, holds what it did when the copy was made."""
    if isinstance(x, np.ndarray):
        return x.shape == copy.shape and x.tobytes() == copy.tobytes()
    if isinstance(x, dict):
        return x.keys() == copy.keys() and _all_same(x.values(), copy.values())
    return x == copy if isinstance(x, set) else len(x) == len(copy) and _all_same(x, copy)


def _all_same(now: Iterable[Any], before: Iterable[Any]) -> bool:
    return all(map(is_, now, before)) or not any(map(differs, now, before))


def random_states() -> tuple[Any, ...]:
    """The states of Python's and NumPy's global generators, from which a compiled function would draw only once."""
    name, words, *rest = np.random.get_state()
    return random.getstate(), (name, tuple(words), *rest)


def _is_read(filename: str) -> bool:
    """Whether code in a file is a user's or a library's, neither the package's nor Python's own."""
    return is_users(filename) and ("site-packages" in filename or not filename.startswith((STDLIB, "<frozen")))


def _file_of(x: Any) -> str:
    return (
        getattr(sys.modules.get(type(x).__module__ if not isinstance(x, type) else x.__module__), "__file__", None)
        or ""
    )


class Environment:
    """All that can be reached from a function, and from arguments that are no tensors.

    Attributes:
        tensors: the tensors, in the order in which they were met, and their names.
        guards: what has to stay as it is.
        copies: containers and small NumPy arrays, with copies and names.
        options, states: pairs of an optimizer's group or state, and what was in it.
        iterator: the name of an iterator, if there is one.
        random: the states of generators that are not the package's.
    """

    def __init__(self, *roots: Any) -> None:
        self.tensors: dict[int, tuple[Tensor, str]] = {}
        self.guards: list[Guard] = []
        self.copies: list[tuple[Any, Any, str]] = []
        self.options: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self.states: list[tuple[dict[Any, Any], dict[Any, Any]]] = []
        self.iterator, self.random = "", random_states()
        self._visited: dict[int, Any] = {}
        self._code_names = set(CALLED_BY_PACKAGE)  # names in code that has been read
        # dicts of users' attributes, their names, and the keys that are guarded
        self._namespaces: list[tuple[Any, str, set[str]]] = []
        self._worklist: list[tuple[Any, str]] = [(x, "") for x in (*roots, *GLOBAL_HOOKS)]
        while self._worklist:
            while self._worklist:
                x, name = self._worklist.pop()
                if id(x) not in self._visited and len(self._visited) < MAX_VISITED and not isinstance(x, SCALARS):
                    self._visited[id(x)] = x
                    self._visit(x, name)
            # names found in code may be attributes of objects met before
            for space, name, guarded in self._namespaces:
                for key in self._read_names(space, guarded):
                    guarded.add(key)
                    self._guard(space, f"{{}}[{key!r}]", space[key], f"{name}.{key}" if name else key)

    def _read_names(self, space: Any, guarded: set[str]) -> list[str]:
        """The attributes that code reads and that are not guarded yet."""
        return [
            k
            for k in space
            if k not in guarded
            and (
                k in self._code_names
                or k[:2] == "__" == k[-2:]
                and k not in UNREAD
                and isinstance(space[k], types.FunctionType)
            )
        ]

    def _new_attributes(self) -> list[tuple[Any, str, str]]:
        """Attributes that the function made: their dict, key and name."""
        return [
            (space, key, f"{name}.{key}")
            for space, name, guarded in self._namespaces
            for key in self._read_names(space, guarded)
            if not any(
                key in table
                for table in map(space.get, ("_parameters", "_buffers", "_modules"))
                if isinstance(table, dict)
            )
        ]

    def changes(self) -> list[str]:
        """Descriptions of what the function changed."""
        rebound = [g for g in self.guards if differs(g.now(), g.value)]
        return [
            *[f"{g.name}: {g.value!r:.40} became {g.now()!r:.40}" for g in rebound],
            *[name for x, copy, name in self.copies if not equals_copy(x, copy)],
            *[name for _, _, name in self._new_attributes()],
        ]

    def restore(self) -> None:
        """Undo the changes, as far as they can be assigned."""
        for g in self.guards:
            if differs(g.now(), g.value):
                with suppress(AttributeError, SyntaxError, TypeError):  # numbers of items, and attributes of classes
                    exec(f"{g.expression.format('owner')} = value", {"owner": g.owner, "value": g.value})  # noqa: S102
        for x, copy, _ in self.copies:
            if isinstance(x, np.ndarray):
                x[...] = copy
            elif not equals_copy(x, copy):
                x.clear()
                (x.update if isinstance(x, (dict, set)) else x.extend)(copy)
        for space, key, _ in self._new_attributes():
            del space[key]
        for mapping, before in (*self.options, *self.states):
            mapping.clear()
            mapping.update(before)
        random.setstate(self.random[0])
        np.random.set_state(self.random[1])

    def _guard(self, owner: Any, expression: str, value: Any, name: str) -> None:
        """Guard something that can be rebound, and visit its value."""
        self.guards.append(Guard(owner, expression, value, name))
        self._worklist.append((value, name))

    def _guard_items(self, x: Any, name: str) -> None:
        """Guard what is in a container, and visit it."""
        self.copies.append((x, x.copy(), name))
        for key, value in x.items() if isinstance(x, dict) else enumerate(x):
            self._worklist += [(key, name), (value, f"{name}[{key!r}]")]

    def _visit(self, x: Any, name: str) -> None:
        if isinstance(x, Tensor):
            self.tensors[id(x)] = x, name or "tensor"
            if x._hooks is not None:
                self._worklist.append((x._hooks, f"{name}'s hooks"))
        elif isinstance(x := function_of(x), types.FunctionType):
            self._visit_function(x, name)
        elif isinstance(x, types.MethodType):
            self._worklist += [(x.__func__, ""), (x.__self__, name)]
        elif isinstance(x, functools.partial):
            self._worklist += [(x.func, ""), (x.args, name), (x.keywords, name)]
        elif isinstance(x, METHOD_TYPES):
            self._worklist.append((x.__func__, name))
        elif isinstance(x, property):
            self._worklist.append((x.fget, name))
        elif isinstance(x, type):
            self._visit_class(x, name)
        elif isinstance(x, types.ModuleType):
            if x.__name__.partition(".")[0] not in (*sys.stdlib_module_names, "numpy", __package__.partition(".")[0]):
                self._namespaces.append((vars(x), name, set()))
        elif isinstance(x, Module):
            self._visit_module(x, name)
        elif isinstance(x, Optimizer) and not is_users(_file_of(x)):
            self.options += [(group, dict(group)) for group in x.param_groups]
            self.states += [(state, dict(state)) for state in (x.state, *x.state.values())]
            self.guards.append(Guard(x.param_groups, "len({})", len(x.param_groups), f"{name}.param_groups"))
            for group in x.param_groups:
                self._guard_items(group["params"], name)
            self._worklist += [(x.param_groups, f"{name}.param_groups")] if "param_groups" in self._code_names else []
        elif isinstance(x, Hooks):
            self._worklist += [(d, name) for d in (x.pre, x.post, x.accumulated, x.tensor)]
        elif isinstance(x, (dict, list, deque, set)):
            self._guard_items(x, name)
        elif isinstance(x, (tuple, frozenset)):
            self._worklist += [(v, f"{name}[{i}]") for i, v in enumerate(x)]
        elif isinstance(x, np.ndarray):
            self.copies += [(x, x.copy(), name)] if x.nbytes <= MAX_ARRAY_BYTES else []
        elif isinstance(x, (np.random.Generator, random.Random)):
            state = "repr({}.bit_generator.state)" if isinstance(x, np.random.Generator) else "repr({}.getstate())"
            self.guards.append(Guard(x, state, eval(state.format("x")), name))  # noqa: S307
        elif isinstance(x, Iterator) and not isinstance(x, IOBase):
            self.iterator = name
        elif hasattr(x, "__wrapped__"):
            self._worklist.append((x.__wrapped__, name))
        elif is_users(_file_of(x)):
            self._visit_object(x, name)
        elif isinstance(x, (Distribution, LRScheduler)):
            self._guard_items(vars(x), name)

    def _visit_function(self, f: types.FunctionType, name: str) -> None:
        if hasattr(f, "op"):  # an operation, which may come to be machine code
            return
        code = f.__code__
        for variable, cell in zip(code.co_freevars, f.__closure__ or ()):
            try:
                value = cell.cell_contents
            except ValueError:  # not bound yet
                continue
            if variable != "__class__":
                self._guard(cell, "{}.cell_contents", value, variable)
        if not _is_read(code.co_filename):
            self._worklist += [(v, f.__name__) for v in f.__defaults__ or ()]
            return
        for defaults in ("__defaults__", "__kwdefaults__"):
            if getattr(f, defaults):
                self._guard(f, f"{{}}.{defaults}", getattr(f, defaults), f.__name__)
        if f.__dict__:
            self._namespaces.append((f.__dict__, name, set()))
        used: set[str] = set()
        codes = [code]
        while codes:
            c = codes.pop()
            used.update(
                [i.argval for i in dis.get_instructions(c) if i.opname.endswith("_GLOBAL") or i.opname == "LOAD_NAME"]
            )
            codes += [k for k in c.co_consts if isinstance(k, types.CodeType)]
            self._code_names.update(c.co_names, [k for k in c.co_consts if isinstance(k, str)])
        for variable in sorted(used):
            if variable in f.__globals__:
                self._guard(f.__globals__, f"{{}}[{variable!r}]", f.__globals__[variable], variable)

    def _visit_class(self, kind: type, name: str) -> None:
        """A class: attributes of users' classes among its bases, methods too, count if code names them."""
        for cls in kind.__mro__:
            if id(cls) not in self._visited or cls is kind:
                self._visited[id(cls)] = cls
                if _is_read(_file_of(cls)):
                    self._namespaces.append((vars(cls), cls.__name__, set()))

    def _visit_object(self, x: Any, name: str) -> None:
        self._worklist.append((type(x), name))
        if hasattr(x, "__dict__"):
            self._namespaces.append((vars(x), name, set()))
        for slot in [s for cls in type(x).__mro__ for s in getattr(cls, "__slots__", ()) if hasattr(x, s)]:
            self._guard(x, f"{{}}.{slot}", getattr(x, slot), f"{name}.{slot}")

    def _visit_module(self, m: Module, name: str) -> None:
        attributes, tables = vars(m), (m._parameters, m._buffers, m._modules)
        self._guard(attributes, "{}['training']", m.training, f"{name}.training")
        self._worklist += [(attributes[hooks], f"{name}.{hooks}") for hooks in HOOK_ATTRIBUTES]
        for table in tables:
            self.guards.append(Guard(table, "len({})", len(table), name))
            for key, value in table.items():
                self._guard(table, f"{{}}[{key!r}]", value, f"{name}.{key}" if name else key)
        if is_users(_file_of(m)):
            self._worklist.append((type(m), name))
        guarded = {"training"}.union(*tables)
        self._namespaces.append((attributes, name, guarded))
        if any(not is_users(_file_of(cls)) for cls in type(m).__mro__ if issubclass(cls, Module) and cls is not Module):
            # a layer's, whose code is the package's
            for key in [k for k in attributes if k not in guarded and k[0] != "_"]:
                guarded.add(key)
                self._guard(attributes, f"{{}}[{key!r}]", attributes[key], f"{name}.{key}")
