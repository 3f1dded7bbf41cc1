"""What a function uses without being handed it: variables of enclosing functions, globals, and what hangs on these.

A compiled function holds as long as these are what they were. So every tensor that is found is an input, and everything
that may be rebound becomes a condition, a line of Python to be checked before each call: that a variable, an attribute
or an item still is the same object, a number the same number. Of users' objects only those attributes count whose names
stand in the code that runs.
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
from ..core.tensor import Tensor
from ..distributions.distribution import Distribution
from ..nn.modules import hooks
from ..nn.modules.module import Module
from ..optim.lr_scheduler.scheduler import LRScheduler
from ..optim.optimizer import Optimizer

PLAIN = (int, float, bool, complex, str, bytes, type(None), np.generic)
METHODS = (staticmethod, classmethod)
WITHOUT_NAME = {"forward", "backward", "setup_context", "jvp", "vmap"}  # methods that are called by the package
# special methods that are not looked into: all others need no name either
UNREAD = {"__init__", "__new__", "__repr__", "__str__"}
MOST = 100_000  # things to look at
SMALL = 4096  # bytes of an array of NumPy's whose values are looked at
STANDARD = os.path.dirname(os.__file__)
HOOKS = "_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks"
ALL_MODULES = tuple([getattr(hooks, f"_global{name}") for name in HOOKS])


class Check(NamedTuple):
    """That an attribute, an item or a number of items is what it was.

    Attributes:
        how: the expression, in terms of ``{}``, the owner's name.
        value: what it gave.
        name: how users call it.
    """

    owner: Any
    how: str
    value: Any
    name: str

    def now(self) -> Any:
        """What it gives now."""
        try:
            return eval(self.how.format("owner"), {"owner": self.owner})  # noqa: S307
        except (AttributeError, IndexError, KeyError, ValueError):
            return Check


def differs(now: Any, value: Any) -> bool:
    """Whether a value is another one than it was: the text of numbers tells 0.0 from -0.0, and NaN is NaN."""
    return now is not value and (
        now.__class__ is not value.__class__ or not isinstance(value, PLAIN) or repr(now) != repr(value)
    )


def same(x: Any, copy: Any) -> bool:
    """Whether in a container, or in an array of NumPy's, is what was there when the copy was made."""
    if isinstance(x, np.ndarray):
        return x.shape == copy.shape and x.tobytes() == copy.tobytes()
    if isinstance(x, dict):
        return x.keys() == copy.keys() and _alike(x.values(), copy.values())
    return x == copy if isinstance(x, set) else len(x) == len(copy) and _alike(x, copy)


def _alike(now: Iterable[Any], before: Iterable[Any]) -> bool:
    return all(map(is_, now, before)) or not any(map(differs, now, before))


def random_states() -> tuple[Any, ...]:
    """Where Python's and NumPy's random numbers are, which a compiled function would not draw anew."""
    name, words, *rest = np.random.get_state()
    return random.getstate(), (name, tuple(words), *rest)


def _is_read(filename: str) -> bool:
    """Whether code in a file is looked into: neither the package's nor Python's own."""
    return is_users(filename) and ("site-packages" in filename or not filename.startswith((STANDARD, "<frozen")))


def _file_of(x: Any) -> str:
    return (
        getattr(sys.modules.get(type(x).__module__ if not isinstance(x, type) else x.__module__), "__file__", None)
        or ""
    )


class Surroundings:
    """What can be reached from a function, and other things.

    Attributes:
        tensors: the tensors, in the order in which they were met, with how they are called.
        checks: what has to stay as it is.
        copies: containers and small arrays of NumPy's, with copies and names.
        options, states: pairs of an optimizer's group or state, and what was in it.
        iterator: the name of an iterator, if there is one.
        random: where random numbers are that are not the package's.
    """

    def __init__(self, *roots: Any) -> None:
        self.tensors: dict[int, tuple[Tensor, str]] = {}
        self.checks: list[Check] = []
        self.copies: list[tuple[Any, Any, str]] = []
        self.options: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self.states: list[tuple[dict[Any, Any], dict[Any, Any]]] = []
        self.iterator, self.random = "", random_states()
        self._seen: dict[int, Any] = {}
        self._names = set(WITHOUT_NAME)  # in code that has been read
        # attributes of users' things, and which of them are looked at
        self._spaces: list[tuple[Any, str, set[str]]] = []
        self._todo: list[tuple[Any, str]] = [(x, "") for x in (*roots, *ALL_MODULES)]
        while self._todo:
            while self._todo:
                thing, name = self._todo.pop()
                if id(thing) not in self._seen and len(self._seen) < MOST and not isinstance(thing, PLAIN):
                    self._seen[id(thing)] = thing
                    self._look(thing, name)
            for space, name, taken in self._spaces:
                for key in self._mentioned(space, taken):
                    taken.add(key)
                    self._check(space, f"{{}}[{key!r}]", space[key], f"{name}.{key}" if name else key)

    def _mentioned(self, space: Any, taken: set[str]) -> list[str]:
        return [
            k
            for k in space
            if k not in taken
            and (
                k in self._names
                or k[:2] == "__" == k[-2:]
                and k not in UNREAD
                and isinstance(space[k], types.FunctionType)
            )
        ]

    def _made(self) -> list[tuple[Any, str, str]]:
        """Attributes that are new: where they are, and two names."""
        return [
            (space, key, f"{name}.{key}")
            for space, name, taken in self._spaces
            for key in self._mentioned(space, taken)
            if not any(
                key in table
                for table in map(space.get, ("_parameters", "_buffers", "_modules"))
                if isinstance(table, dict)
            )
        ]

    def changed(self) -> list[str]:
        """What is not what it was."""
        found = [f"{c.name}: {c.value!r:.40} became {c.now()!r:.40}" for c in self.checks if differs(c.now(), c.value)]
        return (
            found + [name for x, copy, name in self.copies if not same(x, copy)] + [name for _, _, name in self._made()]
        )

    def restore(self) -> None:
        """Let everything be again what it was, as far as it can be assigned."""
        for c in self.checks:
            if differs(c.now(), c.value):
                with suppress(AttributeError, SyntaxError, TypeError):  # numbers of items, and attributes of classes
                    exec(f"{c.how.format('owner')} = value", {"owner": c.owner, "value": c.value})  # noqa: S102
        for x, copy, _ in self.copies:
            if isinstance(x, np.ndarray):
                x[...] = copy
            elif not same(x, copy):
                x.clear()
                (x.update if isinstance(x, (dict, set)) else x.extend)(copy)
        for space, key, _ in self._made():
            del space[key]
        for known, before in (*self.options, *self.states):
            known.clear()
            known.update(before)
        random.setstate(self.random[0])
        np.random.set_state(self.random[1])

    def _check(self, owner: Any, how: str, value: Any, name: str) -> None:
        """What is rebindable: it has to stay what it is, and is looked into."""
        self.checks.append(Check(owner, how, value, name))
        self._todo.append((value, name))

    def _copy(self, x: Any, name: str) -> None:
        """A container: the same things have to be in it."""
        self.copies.append((x, x.copy(), name))
        for key, value in x.items() if isinstance(x, dict) else enumerate(x):
            self._todo += [(key, name), (value, f"{name}[{key!r}]")]

    def _look(self, x: Any, name: str) -> None:
        if isinstance(x, Tensor):
            self.tensors[id(x)] = x, name or "tensor"
            if x._hooks is not None:
                self._todo.append((x._hooks, f"{name}'s hooks"))
        elif isinstance(x, types.FunctionType):
            self._function(x, name)
        elif isinstance(x, types.MethodType):
            self._todo += [(x.__func__, ""), (x.__self__, name)]
        elif isinstance(x, functools.partial):
            self._todo += [(x.func, ""), (x.args, name), (x.keywords, name)]
        elif isinstance(x, METHODS):
            self._todo.append((x.__func__, name))
        elif isinstance(x, property):
            self._todo.append((x.fget, name))
        elif isinstance(x, type):
            self._class(x, name)
        elif isinstance(x, types.ModuleType):
            if x.__name__.partition(".")[0] not in (*sys.stdlib_module_names, "numpy", __package__.partition(".")[0]):
                self._spaces.append((vars(x), name, set()))
        elif isinstance(x, Module):
            self._module(x, name)
        elif isinstance(x, Optimizer) and not is_users(_file_of(x)):
            self.options += [(group, dict(group)) for group in x.param_groups]
            self.states += [(known, dict(known)) for known in (x.state, *x.state.values())]
            self.checks.append(Check(x.param_groups, "len({})", len(x.param_groups), f"{name}.param_groups"))
            for group in x.param_groups:
                self._copy(group["params"], name)
            self._todo += [(x.param_groups, f"{name}.param_groups")] if "param_groups" in self._names else []
        elif isinstance(x, Hooks):
            self._todo += [(d, name) for d in (x.pre, x.post, x.accumulated, x.tensor)]
        elif isinstance(x, (dict, list, deque, set)):
            self._copy(x, name)
        elif isinstance(x, (tuple, frozenset)):
            self._todo += [(v, f"{name}[{i}]") for i, v in enumerate(x)]
        elif isinstance(x, np.ndarray):
            self.copies += [(x, x.copy(), name)] if x.nbytes <= SMALL else []
        elif isinstance(x, (np.random.Generator, random.Random)):
            state = "repr({}.bit_generator.state)" if isinstance(x, np.random.Generator) else "repr({}.getstate())"
            self.checks.append(Check(x, state, eval(state.format("x")), name))  # noqa: S307
        elif isinstance(x, Iterator) and not isinstance(x, IOBase):
            self.iterator = name
        elif hasattr(x, "__wrapped__"):
            self._todo.append((x.__wrapped__, name))
        elif is_users(_file_of(x)):
            self._object(x, name)
        elif isinstance(x, (Distribution, LRScheduler)):
            self._copy(vars(x), name)

    def _function(self, f: types.FunctionType, name: str) -> None:
        if hasattr(f, "op"):  # an operation, which may come to be machine code
            return
        code = f.__code__
        for variable, cell in zip(code.co_freevars, f.__closure__ or ()):
            try:
                value = cell.cell_contents
            except ValueError:  # not bound yet
                continue
            if variable != "__class__":
                self._check(cell, "{}.cell_contents", value, variable)
        if not _is_read(code.co_filename):
            self._todo += [(v, f.__name__) for v in f.__defaults__ or ()]
            return
        for defaults in ("__defaults__", "__kwdefaults__"):
            if getattr(f, defaults):
                self._check(f, f"{{}}.{defaults}", getattr(f, defaults), f.__name__)
        if f.__dict__:
            self._spaces.append((f.__dict__, name, set()))
        used: set[str] = set()
        codes = [code]
        while codes:
            c = codes.pop()
            used.update(
                [i.argval for i in dis.get_instructions(c) if i.opname.endswith("_GLOBAL") or i.opname == "LOAD_NAME"]
            )
            codes += [k for k in c.co_consts if isinstance(k, types.CodeType)]
            self._names.update(c.co_names, [k for k in c.co_consts if isinstance(k, str)])
        for variable in sorted(used):
            if variable in f.__globals__:
                self._check(f.__globals__, f"{{}}[{variable!r}]", f.__globals__[variable], variable)

    def _class(self, kind: type, name: str) -> None:
        """Attributes of users' classes, methods among them."""
        for cls in kind.__mro__:
            if id(cls) not in self._seen or cls is kind:
                self._seen[id(cls)] = cls
                if _is_read(_file_of(cls)):
                    self._spaces.append((vars(cls), cls.__name__, set()))

    def _object(self, x: Any, name: str) -> None:
        self._todo.append((type(x), name))
        if hasattr(x, "__dict__"):
            self._spaces.append((vars(x), name, set()))
        for slot in [s for cls in type(x).__mro__ for s in getattr(cls, "__slots__", ()) if hasattr(x, s)]:
            self._check(x, f"{{}}.{slot}", getattr(x, slot), f"{name}.{slot}")

    def _module(self, m: Module, name: str) -> None:
        attributes, tables = vars(m), (m._parameters, m._buffers, m._modules)
        self._check(attributes, "{}['training']", m.training, f"{name}.training")
        self._todo += [(attributes[hooks], f"{name}.{hooks}") for hooks in HOOKS]
        for table in tables:
            self.checks.append(Check(table, "len({})", len(table), name))
            for key, value in table.items():
                self._check(table, f"{{}}[{key!r}]", value, f"{name}.{key}" if name else key)
        if is_users(_file_of(m)):
            self._todo.append((type(m), name))
        known = {"training"}.union(*tables)
        self._spaces.append((attributes, name, known))
        if any(not is_users(_file_of(cls)) for cls in type(m).__mro__ if issubclass(cls, Module) and cls is not Module):
            # a layer's, whose code is the package's
            for key in [k for k in attributes if k not in known and k[0] != "_"]:
                known.add(key)
                self._check(attributes, f"{{}}[{key!r}]", attributes[key], f"{name}.{key}")
