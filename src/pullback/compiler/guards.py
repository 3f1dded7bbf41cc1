"""Guards (as in TorchDynamo): the variables, attributes and items that a function reads, and what they have to be.

A version of a compiled function holds as long as they are what they were. The environment of a function is all that it
can reach without being handed it: variables of enclosing functions, globals, and what these refer to. Every tensor
found there is an input of the program; everything that may be rebound gets a guard, a Python expression that is checked
before each call: the object is the same, the number is equal. Of users' objects only those attributes count whose names
occur in the code that runs, and how each is found: in the object itself, which class it has, what that class holds.
What can't be guarded is refused.
"""

from __future__ import annotations

import array
import contextvars
import copy
import dis
import functools
import operator
import os
import random
import re
import sys
import threading
import types
import weakref
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from io import IOBase
from itertools import chain
from operator import is_
from types import (
    BuiltinFunctionType,
    CodeType,
    FrameType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    WrapperDescriptorType,
)
from typing import Any, NamedTuple

import numpy as np

from ..base.device import Layout, device
from ..base.dtypes import dtype
from ..core.graph import Hooks, is_users
from ..core.op import Op
from ..core.public import function_of
from ..core.tensor import Tensor
from ..nn.modules import hooks
from ..nn.modules.module import Module
from ..nn.parameter import UninitializedTensorMixin
from ..ops.random import Generator
from ..optim.optimizer import Optimizer
from .calls import LIBRARY_MODULES, CallWatcher, has_effects, is_pure, is_read
from .outputs import containers_in

PACKAGE = __name__.partition(".")[0]
SCALARS = (int, float, bool, complex, str, bytes, type(None), np.generic)
METHOD_TYPES = (staticmethod, classmethod)
BYTES_TYPES = (bytearray, array.array, memoryview)
# what nobody can change, and what only calls read, which are watched; operations fill their caches
INERT = (
    *(BuiltinFunctionType, MethodDescriptorType, WrapperDescriptorType, GetSetDescriptorType, MemberDescriptorType),
    *(CodeType, FrameType, Ellipsis.__class__, range, slice, np.ufunc, np.dtype, dtype, device, Layout, IOBase, Op),
)
# methods that count though no code of the user's names them; so do special methods, but for a few
CALLED_BY_PACKAGE = {"forward", "backward", "setup_context", "jvp", "vmap"}
UNREAD = {"__class__", "__subclasshook__", "__init_subclass__", "__annotate__", "__annotate_func__"}
MAKERS = {"__init__", "__new__", "__post_init__", "__setattr__", "__repr__", "__str__"}  # of objects made by the call
STORES = {"STORE_ATTR", "STORE_SUBSCR", "STORE_GLOBAL", "STORE_SLICE", "DELETE_ATTR", "DELETE_SUBSCR", "DELETE_GLOBAL"}
MAX_VISITED = 100_000  # objects
MAX_ARRAY_BYTES = 1 << 26  # of NumPy arrays whose contents are guarded
ABSENT: Any = Ellipsis  # what guards see where nothing is
READ_ALL = {"__dict__", "__getattribute__", "vars", "dir"}  # code with these names may read any attribute
LOOKUPS = {"getattr", "hasattr", "setattr", "delattr"}
LOOKUP_FUNCTIONS = getattr, hasattr, setattr, delattr, vars, dir, operator.attrgetter, operator.methodcaller
MEMBER_TABLES = "_parameters", "_buffers", "_modules"
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
            return eval(self.expression.replace("{}", "owner", 1), {"owner": self.owner})  # noqa: S307
        except (AttributeError, IndexError, KeyError, ValueError):
            return Guard


def differs(now: Any, value: Any) -> bool:
    """Whether a guarded value is another one: by ``repr``, which tells 0.0 from -0.0, and for which NaN is NaN."""
    if now is value:
        return False
    if isinstance(value, frozenset):
        return now != value
    return now.__class__ is not value.__class__ or not isinstance(value, SCALARS) or repr(now) != repr(value)


def copy_of(x: Any) -> Any:
    """A copy of a container or an array, to compare it with later."""
    if isinstance(x, BYTES_TYPES):
        return bytes(x)
    if isinstance(x, set):
        return list(x)
    if isinstance(x, (dict, types.MappingProxyType)):
        return dict(x)
    return list(x) if isinstance(x, (list, deque)) else x.copy()


def equals_copy(x: Any, before: Any) -> bool:
    """Whether a container, or an array, holds what it did when the copy was made."""
    if isinstance(x, np.ndarray):
        if x.shape != before.shape or x.dtype != before.dtype:
            return False
        if x.dtype.hasobject or not x.size:
            return bool(x.tolist() == before.tolist())
        now, before = (np.ascontiguousarray(v).reshape(-1).view(np.uint8) for v in (x, before))
        return np.array_equal(now, before)
    if isinstance(x, BYTES_TYPES):
        return bytes(x) == before
    if len(x) != len(before) or not _all_same(x, before):  # in order
        return False
    return not isinstance(before, dict) or _all_same(
        dict.values(x) if isinstance(x, dict) else x.values(), before.values()
    )


def _all_same(now: Iterable[Any], before: Iterable[Any]) -> bool:
    return all(map(is_, now, before)) or not any(map(differs, now, before))


def random_states() -> tuple[Any, ...]:
    """The states of Python's and NumPy's global generators, from which a compiled function would draw only once."""
    name, words, *rest = np.random.get_state()
    return random.getstate(), (name, tuple(words), *rest)


def _home(kind: type) -> str:
    """The module that a class is from; Cython has classes whose ``__module__`` is a descriptor."""
    return kind.__module__ if isinstance(kind.__module__, str) else ""


def _file_of(x: Any) -> str:
    """Where an object's class, or a class, is from; nowhere, if that is what was typed."""
    module = _home(x if isinstance(x, type) else type(x))
    if module in sys.builtin_module_names:
        return "<frozen>"
    return getattr(sys.modules.get(module), "__file__", None) or ""


def _is_objects(space: Any) -> bool:
    """Whether a namespace is that of an object, not that of a class or module."""
    return isinstance(space, dict) and "__builtins__" not in space


def _words(constants: Iterable[Any]) -> set[str]:
    """The names in the strings among constants, also within strings (formats) and tuples (patterns of ``match``)."""
    found: set[str] = set()
    for k in constants:
        if isinstance(k, str):
            found.update(re.findall(r"\w+", k) if "{" in k or "." in k and " " not in k else (k,))
        elif isinstance(k, (tuple, frozenset)):
            found |= _words(k)
    return found


def _names_attribute(following: Sequence[dis.Instruction]) -> bool:
    """Whether the instructions after a ``getattr`` hand it a name that stands in the code, and nothing computed."""
    name = None
    for i in following:
        if i.opname.startswith(("CALL", "PRECALL")):
            break
        if not i.opname.startswith(("LOAD_", "PUSH_NULL", "COPY_FREE", "KW_NAMES")):
            return False
        name = i.argval if name is None and i.opname == "LOAD_CONST" else name
    return isinstance(name, str)


class Environment:
    """All that can be reached from a function, and from arguments that are no tensors.

    Attributes:
        tensors: the tensors, in the order in which they were met, and their names.
        guards: what has to stay as it is.
        copies: containers and small NumPy arrays, with copies and names.
        options, states: pairs of an optimizer's group or state, and what was in it.
        unguarded: what can't be guarded, if there is something.
        random: the states of generators that are not the package's.
    """

    def __init__(self, arguments: Any, *roots: Any) -> None:
        """
        Args:
            arguments: the tuple of arguments and the dict of keywords, of which others come at the next call.
            roots: the function, and those arguments that are neither tensors nor numbers.
        """
        self._own: list[Any] = []  # containers among the arguments
        self.tensors: dict[int, tuple[Tensor, str]] = {}
        self.guards: list[Guard] = []
        self.copies: list[tuple[Any, Any, str]] = []
        self.options: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self.states: list[tuple[dict[Any, Any], dict[Any, Any]]] = []
        self.unguarded, self.random = "", random_states()
        self.codes: set[CodeType] = set()  # that has been read
        self._variables: set[tuple[int, str]] = set()  # those of modules, by the id of their dict and their name
        self._before: list[tuple[Any, dict[str, Any], str]] = []  # attributes, as they were
        self._classes: dict[int, type] = {}  # by the id of what shows their attributes
        self._unbound: list[tuple[dict[str, Any], str]] = []  # global variables that are not there
        self._states: list[tuple[Any, Any]] = []  # generators of random numbers, and what they were
        self._slots: list[tuple[Any, str, Any]] = []
        self._caches: list[tuple[Any, str]] = []  # of functools
        self._visited: dict[int, Any] = {}
        self._code_names = set(CALLED_BY_PACKAGE)  # names in code that has been read
        # dicts of users' attributes, their names, and the keys that are guarded
        self._namespaces: list[tuple[Any, str, set[str]]] = []
        self._worklist: list[tuple[Any, str]] = [(x, "") for x in (*roots, *GLOBAL_HOOKS)]
        for x in containers_in(arguments):  # which the function may write into; their items are arguments themselves
            self.copies.append((x, copy_of(x), "an argument"))
            self._own.append(x)
        self._visit_all()
        self._before += [
            (space, dict(space), name)
            for space, name, _ in self._namespaces
            if _is_objects(space) or isinstance(space, types.MappingProxyType)
        ]
        for space, name, guarded in self._namespaces:  # what is not there may come to be found first
            if _is_objects(space):
                keys = all([k in guarded or k[0] == "_" for k in space])
                self.guards.append(
                    Guard(space, "len({})", len(space), name)
                    if keys
                    else Guard(space, "frozenset({})", frozenset(space), name)
                )
            elif isinstance(space, types.MappingProxyType):
                self.guards.append(Guard(space, "len({})", len(space), name))

    def _visit_all(self) -> None:
        while self._worklist:
            while self._worklist:
                x, name = self._worklist.pop()
                if id(x) in self._visited or isinstance(x, SCALARS) and not is_read(_file_of(x)):
                    continue
                if len(self._visited) >= MAX_VISITED:
                    self.unguarded = self.unguarded or f"all of {name or 'its surroundings'}"
                    return
                self._visited[id(x)] = x
                self._visit(x, name)
            # names found in code may be attributes of objects met before
            for space, name, guarded in self._namespaces:
                for key in self._read_names(space, guarded):
                    guarded.add(key)
                    guard = Guard(space, f"{{}}[{key!r}]", space[key], f"{name}.{key}" if name else key)
                    self.guards.append(guard)
                    if key not in MAKERS or key in self._code_names:  # what they read counts if they run
                        self._worklist.append((guard.value, guard.name))

    def _read_names(self, space: Any, guarded: set[str]) -> list[str]:
        """The attributes that code reads and that are not guarded yet."""
        every = _is_objects(space) and not READ_ALL.isdisjoint(self._code_names)
        return [
            k
            for k in space
            if k not in guarded
            and (every or k in self._code_names or k[:2] == "__" == k[-2:] and k not in UNREAD and callable(space[k]))
        ]

    def add_calls(self, calls: CallWatcher) -> None:
        """Guard what the call turned out to read: variables of the operating system, tables of ``lru_cache``, and what
        code reads that was reached in another way than by its name.
        """
        if calls.reads_environ:
            self._worklist.append((os.environ._data, "os.environ"))  # type: ignore[attr-defined]
        known = {c.co_filename + c.co_qualname for c in self.codes}
        for code, variables in calls.executed.items():
            if code in self.codes or code.co_filename + code.co_qualname in known:
                continue
            if code.co_name not in MAKERS and any([i.opname in STORES for i in dis.get_instructions(code)]):
                self.unguarded = self.unguarded or f"what {code.co_qualname}() changes"
            self._read_code(code, variables)
        self._visit_all()
        for cached, name in self._caches:
            self.guards.append(Guard(cached, "str({}.cache_info()[1:])", str(cached.cache_info()[1:]), name))

    def reads_types(self) -> bool:
        """Whether code asks for the ``type`` of things."""
        return "type" in self._code_names

    def objects(self) -> Iterable[Any]:
        """All objects that were met."""
        return chain(self._visited.values(), self._own)

    def names(self) -> list[str]:
        """The names of what is guarded and can be named."""
        found = [g.name for g in self.guards if isinstance(g.name, str)] + [name for _, name in self.tensors.values()]
        return sorted({n for n in found if n and n[0] != "<"})

    def changes(self) -> list[str]:
        """Descriptions of what the function changed."""
        rebound = [g for g in self.guards if differs(g.now(), g.value)]
        return [
            *[f"{g.name}: {g.value!r:.40} became {g.now()!r:.40}" for g in rebound],
            *[name for x, before, name in self.copies if not equals_copy(x, before)],
            *[f"{name}.{key}" for _, _, name, key in self._changed_attributes()],
            *[key for variables, key in self._unbound if key in variables],
        ]

    def _changed_attributes(self) -> list[tuple[Any, dict[str, Any], str, str]]:
        """Attributes of objects and classes that the function has bound, or deleted."""
        return [
            (space, before, name, key)
            for space, before, name in self._before
            for key in {**space, **before}
            if differs(space.get(key, ABSENT), before.get(key, ABSENT))
            and not (key[:2] == "__" and id(space) in self._classes)
            and not any([key in space[table] for table in MEMBER_TABLES if isinstance(space.get(table), dict)])
        ]

    def restore(self) -> None:
        """Undo the changes, as far as they can be assigned."""
        for g in self.guards:
            if differs(g.now(), g.value):
                with suppress(AttributeError, SyntaxError, TypeError):  # numbers of items, and attributes of classes
                    statement = g.expression.replace("{}", "owner", 1) + " = value"
                    exec(statement, {"owner": g.owner, "value": g.value})  # noqa: S102
        for x, before, _ in self.copies:
            if isinstance(x, np.ndarray):
                x[...] = before
            elif isinstance(x, BYTES_TYPES):
                x[:] = array.array(x.typecode, before) if isinstance(x, array.array) else before
            elif not equals_copy(x, before) and not isinstance(x, types.MappingProxyType):
                x.clear()
                (x.update if isinstance(x, (dict, set)) else x.extend)(before)
        for space, before, _, key in self._changed_attributes():
            if id(space) in self._classes:
                cls = self._classes[id(space)]
                setattr(cls, key, before[key]) if key in before else delattr(cls, key)
            elif key in before:
                space[key] = before[key]
            else:
                del space[key]
        for variables, key in self._unbound:
            variables.pop(key, None)
        for x, state in self._states:
            if isinstance(x, Generator):
                x.set_state(state)
            elif isinstance(x, random.Random):
                x.setstate(state.getstate())
            else:
                x.bit_generator.state = state.bit_generator.state
        for x, slot, value in self._slots:
            if differs(getattr(x, slot, ABSENT), value):
                delattr(x, slot) if value is ABSENT else setattr(x, slot, value)
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
        self.copies.append((x, copy_of(x), name))
        for key, value in x.items() if hasattr(x, "items") else enumerate(x):
            self._worklist += [(key, name), (value, f"{name}[{key!r}]")]

    def _visit(self, x: Any, name: str) -> None:
        if isinstance(x, (dict, list, deque, set, tuple, np.ndarray, *SCALARS)) and is_read(_file_of(x)):
            self._visit_object(x, name)
        if isinstance(x, SCALARS):
            return
        if isinstance(x, Tensor):
            self.tensors[id(x)] = x, name or "tensor"
            if isinstance(x, UninitializedTensorMixin):
                self.unguarded = self.unguarded or f"{name}, which has no shape yet"
            if x.__dict__:
                self._namespaces.append((x.__dict__, name, set()))
            else:
                self.guards.append(Guard(x, "len({}.__dict__)", 0, name))
            if x._hooks is not None:
                self._worklist.append((x._hooks, f"{name}'s hooks"))
        elif isinstance(x := function_of(x), types.FunctionType):
            self._visit_function(x, name)
        elif isinstance(x, BuiltinFunctionType) and not isinstance(x.__self__, types.ModuleType):
            self._worklist.append((x.__self__, name))
        elif isinstance(x, INERT):
            return
        elif isinstance(x, types.MethodType):
            self._worklist += [(x.__func__, ""), (x.__self__, name)]
        elif isinstance(x, functools.partial):
            if isinstance(x.func, BuiltinFunctionType) and has_effects(x.func):
                self.unguarded = self.unguarded or f"{name}, which calls {x.func.__name__}()"
            self._worklist += [(x.func, ""), (x.args, name), (x.keywords, name)]
        elif isinstance(x, METHOD_TYPES):
            self._worklist.append((x.__func__, name))
        elif isinstance(x, property):
            self._worklist.append((x.fget, name))
        elif isinstance(x, type):
            self._visit_class(x, name)
        elif isinstance(x, types.ModuleType):
            if x.__name__.partition(".")[0] not in LIBRARY_MODULES:
                self._namespaces.append((vars(x), name, set()))
        elif isinstance(x, Module):
            self._visit_module(x, name)
        elif isinstance(x, Optimizer) and not is_users(_file_of(x)):
            self.options += [(group, dict(group)) for group in x.param_groups]
            self.states += [(state, dict(state)) for state in (x.state, *x.state.values())]
            self.guards.append(Guard(x.param_groups, "len({})", len(x.param_groups), f"{name}.param_groups"))
            self._worklist += [(v, f"{name}.{k}") for k, v in vars(x).items() if "_step_" in k and k.endswith("_hooks")]
            for method in ("step", "zero_grad"):  # schedulers of others wrap them
                self._guard(vars(x), f"{{}}.get({method!r})", vars(x).get(method), f"{name}.{method}")
            for group in x.param_groups:
                self.guards.append(Guard(group, "{}['params']", group["params"], f"{name}.param_groups"))
                self._guard_items(group["params"], name)
            self._worklist += [(x.param_groups, f"{name}.param_groups")] if "param_groups" in self._code_names else []
        elif isinstance(x, Hooks):
            self._worklist += [(d, name) for d in (x.pre, x.post, x.accumulated, x.tensor)]
        elif x is sys.modules:
            self.unguarded = self.unguarded or "sys.modules"
        elif isinstance(x, (dict, list, deque, set, types.MappingProxyType)):
            self._guard_items(x, name)
        elif isinstance(x, (tuple, frozenset)):
            self._worklist += [(v, f"{name}[{i}]") for i, v in enumerate(x)]
        elif isinstance(x, (np.ndarray, *BYTES_TYPES)):
            size = x.nbytes if isinstance(x, np.ndarray) else len(bytes(x))
            if size > MAX_ARRAY_BYTES:
                self.unguarded = self.unguarded or f"{name}, of {size >> 20} MB"
            else:
                self.copies.append((x, copy_of(x), name))
        elif isinstance(x, weakref.ReferenceType):
            self._guard(x, "{}()", x(), name)
        elif isinstance(x, contextvars.ContextVar):
            self._guard(x, "{}.get(...)", x.get(ABSENT), name)
            self._worklist += [(x.get(), name)] if x.get(ABSENT) is ABSENT and x.get(None) is not None else []
        elif isinstance(x, (operator.attrgetter, operator.methodcaller)):
            self._code_names.update(*[n.split(".") for n in x.__reduce__()[1] if isinstance(n, str)])
        elif hasattr(type(x), "cache_info") and isinstance(getattr(x, "__wrapped__", None), types.FunctionType):
            self._caches.append((x, name))
            self._worklist.append((x.__wrapped__, name))
        elif isinstance(x, (np.random.Generator, random.Random)):
            state = "repr({}.bit_generator.state)" if isinstance(x, np.random.Generator) else "repr({}.getstate())"
            self.guards.append(Guard(x, state, eval(state.format("x")), name))  # noqa: S307
            self._states.append((x, copy.deepcopy(x)))
        elif isinstance(x, Generator):
            self._states.append((x, x.get_state()))
        elif isinstance(x, Iterator):
            self.unguarded = self.unguarded or f"an iterator ({name}), which would go on in the first call only"
        elif isinstance(space := getattr(x, "__dict__", None), dict) and "__wrapped__" in space:
            self._worklist.append((x.__wrapped__, name))
        elif is_users(_file_of(x)):
            self._visit_object(x, name)
        elif isinstance(space, dict) and _home(type(x)).startswith(f"{PACKAGE}."):
            self._guard_items(space, name)
        elif not hasattr(x, "__dict__") and _home(type(x)).partition(".")[0] not in LIBRARY_MODULES:
            self.unguarded = self.unguarded or f"{name}, a {type(x).__name__}"

    def _visit_function(self, f: types.FunctionType, name: str) -> None:
        if isinstance(getattr(f, "op", None), Op):  # an operation, which may come to be machine code
            return
        code = f.__code__
        for variable, cell in zip(code.co_freevars, f.__closure__ or ()):
            try:
                value = cell.cell_contents
            except ValueError:  # not bound yet
                continue
            if variable != "__class__":
                self._guard(cell, "{}.cell_contents", value, variable)
        if not is_read(code.co_filename):
            self._worklist += [(v, f.__name__) for v in f.__defaults__ or ()]
            return
        self.guards.append(Guard(f, "{}.__code__", code, f.__name__))
        for defaults in ("__defaults__", "__kwdefaults__"):
            if getattr(f, defaults):
                self._guard(f, f"{{}}.{defaults}", getattr(f, defaults), f.__name__)
        if f.__dict__:
            self._namespaces.append((f.__dict__, name, set()))
        self._read_code(code, f.__globals__, dict(zip(code.co_freevars, f.__closure__ or ())))

    def _read_code(self, code: CodeType, variables: dict[str, Any], cells: dict[str, Any] | None = None) -> None:
        """The names in code, and the global variables that it reads, with those of modules that it reaches by them."""
        codes = [code]
        while codes:
            c = codes.pop()
            self.codes.add(c)
            codes += [k for k in c.co_consts if isinstance(k, CodeType)]
            self._code_names.update(c.co_names, _words(c.co_consts))
            thing: Any = ABSENT
            path, instructions = "", list(dis.get_instructions(c))
            for at, i in enumerate(instructions):
                if i.opname.endswith("_GLOBAL") or i.opname == "LOAD_NAME":
                    path, thing = i.argval, variables.get(i.argval, ABSENT)
                    if thing is not ABSENT:
                        self._guard_variable(variables, path, thing, path)
                    elif (id(variables), path) not in self._variables:
                        self._variables.add((id(variables), path))
                        self._unbound.append((variables, path))
                        self.guards.append(Guard(variables, f"{{}}.get({path!r}, ...)", ABSENT, path))
                    if any([thing is f for f in LOOKUP_FUNCTIONS]):  # by another name
                        self._code_names.add("__dict__")
                    if thing is ABSENT and i.argval in LOOKUPS and not _names_attribute(instructions[at + 1 : at + 8]):
                        self._code_names.add("__dict__")
                elif i.opname == "LOAD_DEREF" and cells and i.argval in cells:
                    path = i.argval
                    with suppress(ValueError):  # not bound yet
                        thing = cells[path].cell_contents
                elif i.opname in ("LOAD_ATTR", "LOAD_METHOD") and isinstance(thing, types.ModuleType):
                    path, space = f"{path}.{i.argval}", vars(thing)
                    thing = space.get(i.argval, ABSENT)
                    if thing is not ABSENT and not (isinstance(thing, types.ModuleType) and i.argval in sys.modules):
                        self._guard_variable(space, i.argval, thing, path)
                elif i.opname == "IMPORT_NAME" and i.argval in sys.modules:
                    thing, path = sys.modules[i.argval], i.argval
                    self._worklist.append((thing, path))
                elif i.opname not in ("PUSH_NULL", "CACHE", "EXTENDED_ARG", "PRECALL"):
                    thing = ABSENT

    def _guard_variable(self, space: dict[str, Any], key: str, value: Any, name: str) -> None:
        if (id(space), key) not in self._variables:
            self._variables.add((id(space), key))
            self._guard(space, f"{{}}[{key!r}]", value, name)

    def _visit_class(self, kind: type, name: str) -> None:
        """A class: attributes of users' classes among its bases, methods too, count if code names them."""
        if type(kind) is not type:
            self._worklist.append((type(kind), name))
        for cls in kind.__mro__:
            if id(cls) not in self._visited or cls is kind:
                self._visited[id(cls)] = cls
                if is_read(_file_of(cls)):
                    space = vars(cls)
                    self._classes[id(space)] = cls
                    self._namespaces.append((space, cls.__name__, set()))

    def _visit_object(self, x: Any, name: str) -> None:
        self.guards.append(Guard(x, "{}.__class__", type(x), name))
        self._worklist.append((type(x), name))
        if isinstance(x, threading.local):
            self.unguarded = self.unguarded or f"{name}, which each thread sees otherwise"
        elif isinstance(space := getattr(x, "__dict__", None), dict):
            self._namespaces.append((space, name, set()))
            homes = set(map(_home, type(x).__mro__)) - {"builtins", "typing", "abc", "enum"}
            # Python's own code reads it
            if any([home.partition(".")[0] in sys.stdlib_module_names and is_pure(home) for home in homes]):
                for key in space:
                    self._guard(space, f"{{}}[{key!r}]", space[key], f"{name}.{key}")
        for cls in type(x).__mro__:
            for slot, member in vars(cls).items():
                if isinstance(member, MemberDescriptorType) and is_read(_file_of(cls)):
                    value = getattr(x, slot, ABSENT)
                    self._slots.append((x, slot, value))
                    self._guard(x, f"getattr({{}}, {slot!r}, ...)", value, f"{name}.{slot}")

    def _visit_module(self, m: Module, name: str) -> None:
        attributes, tables = vars(m), (m._parameters, m._buffers, m._modules)
        for key in chain(*tables):  # reading a member may put it among the attributes
            getattr(m, key)
        self.guards.append(Guard(m, "{}.__class__", type(m), name))
        self.guards += [Guard(type(m), f"{{}}.{f}", getattr(type(m), f), name) for f in ("__call__", "forward")]
        self._guard(attributes, "{}['training']", m.training, f"{name}.training")
        self._worklist += [(attributes[hooks], f"{name}.{hooks}") for hooks in HOOK_ATTRIBUTES]
        for table in tables:
            self._before.append((table, dict(table), name))
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
