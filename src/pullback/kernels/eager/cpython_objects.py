"""Results as machine code: the tensor around an array and the node that recorded it, made without the interpreter.

What :mod:`pullback.core.record` does in Python, attribute by attribute, takes CPython about as long as NumPy takes for
a small product. Here the same is written with CPython's own functions: objects are allocated as ``object.__new__`` does
it, and their slots filled at the offsets that the classes' descriptors say. Only slots of objects made here are
written.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from types import MemberDescriptorType
from typing import Any

import numpy as np

from ..codegen import jit
from ..codegen.entry import as_function
from ..codegen.llvm_ir import I32, I64, PTR, Function, Type, Value, module

TYPE_OF_ARRAY = jit.STRIDES + 16  # where an array holds its dtype: behind its strides and the owner of its memory
OF_TUPLE = tuple.__basicsize__  # where its items begin
HOPS = 64  # frames of the package's between an operation and the user's line


class PythonFunction(Function):
    """A function called by Python that makes objects.

    Args:
        name: of the function.
        params: its parameters.
        known: Python objects that it refers to. They stand in a table of the module's, so that the code itself has no
            addresses in it and can be kept on disk.
    """

    def __init__(
        self,
        name: str,
        known: Sequence[Any],
        params: Sequence[tuple[str, Type]] = (("self", PTR), ("args", PTR), ("count", I64)),
    ) -> None:
        super().__init__(f"{name}.$$", params, returns=PTR)
        self.constants = list(known)

    def argument(self, i: int) -> Value:
        """The argument at i, borrowed."""
        return self.load(self.at(self["args"], i, PTR), PTR)

    def object(self, known: Any) -> Value:
        """One of the objects known beforehand, borrowed."""
        return self.load(self.at(self.symbol("table.$$"), self._index(known), PTR), PTR)

    def _index(self, known: Any) -> int:
        return next(i for i, o in enumerate(self.constants) if o is known)

    def api(self, function: str, *args: Value, returns: Type | None = PTR) -> Any:
        """Call a function of CPython's."""
        return self.call(function, *args, returns=returns, external=True)

    def call_constant(self, known: Any, *arguments: Value) -> Value:
        """What one of the objects known beforehand gives when called."""
        room = self.stack_array(len(arguments), PTR)
        for i, argument in enumerate(arguments):
            self.store(argument, self.at(room, i, PTR))
        return self.api(
            "PyObject_Vectorcall", self.object(known), room, self.constant(len(arguments), I64), self.null()
        )

    def field(self, instance: Value, at: int, type: Type = PTR) -> Value:
        return self.load(self.at(instance, at * 8 // type.bits, type), type)

    def type_of(self, instance: Value) -> Value:
        """An object's class."""
        return self.field(instance, object.__basicsize__ - 8)

    def branch_unless(self, condition: Value, label: str) -> None:
        """Go on if a condition holds; else at a label."""
        (go_on,) = self._labels(1)
        self.lines += [f"br i1 {condition.text}, label %{go_on}, label %{label}", f"{go_on}:"]

    def incref(self, value: Value) -> Value:
        """A reference of our own to a borrowed object."""
        self.call("Py_IncRef", value, external=True)
        return value

    def decref(self, value: Value) -> None:
        self.call("Py_DecRef", value, external=True)

    def null(self) -> Value:
        return self.convert("inttoptr", self.constant(0, I64), PTR)

    def allocate(self, cls: Value) -> Value:
        return self.api("PyType_GenericAlloc", cls, self.constant(0, I64))

    def slot(self, instance: Value, cls: type, name: str) -> Value:
        """What a slot holds, borrowed."""
        return self.load(self._slot(instance, cls, name), PTR)

    def init_slot(self, instance: Value, cls: type, name: str, value: Value) -> None:
        """Fill a slot that is still empty, with a reference that becomes the instance's."""
        self.store(value, self._slot(instance, cls, name))

    def _slot(self, instance: Value, cls: type, name: str) -> Value:
        """Where a slot is; of a class that is known beforehand, as :meth:`address` says."""
        self._index(cls)
        return self.at(instance, offset(cls, name) // 8, PTR)

    def item(self, of_tuple: Value, i: Any) -> Value:
        """An item of a tuple, borrowed."""
        return self.load(self.at(of_tuple, OF_TUPLE // 8 + i, PTR), PTR)

    def init_item(self, of_tuple: Value, i: Any, value: Value) -> None:
        """Fill a place of a new tuple with a reference that becomes the tuple's."""
        self.store(value, self.at(of_tuple, OF_TUPLE // 8 + i, PTR))

    def bare(self, tensor_class: type, array: Value, fn: Value, view: Value | None = None) -> Value:
        """A tensor around an array; the references become the tensor's."""
        tensor, none = self.allocate(self.object(tensor_class)), self.object(None)
        self.init_slot(tensor, tensor_class, "_array", array)
        self.init_slot(tensor, tensor_class, "_fn", fn)
        self.init_slot(tensor, tensor_class, "_view", self.incref(none) if view is None else view)
        for name in ("_grad", "_hooks"):
            self.init_slot(tensor, tensor_class, name, self.incref(none))
        return tensor

    def node(
        self, recording: Recording, node_type: Value, edges: Value, saved: Value, array: Value, frame: Value
    ) -> Value:
        """A node; references to the edges and what is saved become the node's."""
        node = self.allocate(node_type)

        def put(name: str, value: Value) -> None:
            self.init_slot(node, recording.node_class, name, value)

        put("_edges", edges)
        put("_saved", saved)
        put("_shape", self.api("PyObject_GetAttr", array, self.object("shape")))
        put("_dtype", self.incref(self.load(self.at(array, TYPE_OF_ARRAY // 8, PTR), PTR)))
        put("_hooks", self.incref(self.object(None)))
        self._note_line(recording, node, frame)
        put("_seq", self.api("PyIter_Next", self.object(recording.counter)))
        return node

    def _note_line(self, recording: Recording, node: Value, frame: Value) -> None:
        """Note the user's line: in this frame or the nearest outside of it. What is in files not met so far is left to
        Python.
        """
        current, searching = self.variable(self.incref(frame)), self.variable(1, I64)
        with self.loop(0, HOPS), self.if_then(searching.get().equals(1)):
            code = self.api("PyFrame_GetCode", current.get())
            filename = self.api("PyObject_GetAttr", code, self.object("co_filename"))
            self.decref(filename)  # the code holds it

            def among(names: set[str], filename: Value = filename) -> Value:
                return self.api("PySet_Contains", self.object(names), filename, returns=I32).equals(1)

            def here() -> None:
                self.init_slot(node, recording.node_class, "_code", self.incref(code))
                last = self.api("PyFrame_GetLasti", current.get(), returns=I32)
                self.init_slot(
                    node, recording.node_class, "_lasti", self.api("PyLong_FromLong", self.convert("sext", last, I64))
                )
                searching.set(0)

            def outwards() -> None:
                outer = self.api("PyFrame_GetBack", current.get())
                with self.if_then(outer.differs(self.null())):
                    self.decref(current.get())
                    current.set(outer)

            self.if_else(
                among(recording.users), here, lambda: self.if_else(among(recording.ours), outwards, lambda: None)
            )
            self.decref(code)
        with self.if_then(searching.get().equals(1)):
            self.decref(self.call_constant(recording.made_here, node, current.get()))
        self.decref(current.get())

    def address(self, write: Callable[[], Value], *key: Any) -> int:
        """The address of the function.

        Args:
            write: writes it and gives the result; that is left out where the function is found in the cache.
            told: what decides, together with the code in this folder and where objects have their slots, what is
                written.
        """

        def text() -> str:
            table = f"@table.$$ = internal global [{len(self.constants)} x ptr] zeroinitializer"
            where = "define ptr @where.$$() #0 {\nret ptr @table.$$\n}"
            return module((self, write()), also=[table, where])

        slots = [
            (i, slot, offset(c, slot))
            for i, c in enumerate(self.constants)
            if isinstance(c, type)
            for slot in vars(c).get("__slots__", ())
            if isinstance(vars(c)[slot], MemberDescriptorType)
        ]
        places = [self._index(known) for known in self.constants]
        address = jit.load(text, self.name, slots, places, *key)
        jit.keep_alive(self.constants)
        start = ctypes.CFUNCTYPE(ctypes.c_void_p)(address("where.$$"))()
        (ctypes.c_void_p * len(self.constants)).from_address(start)[:] = [*map(id, self.constants)]
        return address(self.name)


class Recording:
    """What recording an operation refers to.

    Args:
        tensor_class, node_class: the classes of tensors and nodes.
        clock: numbers nodes; the method of an iterator.
        users, ours: names of source files that are the user's, and the package's.
        made_here: ``made_here(node, frame)`` notes where a node was made by a function that is not the user's.
    """

    def __init__(
        self,
        tensor_class: type,
        node_class: type,
        clock: Callable,
        users: set[str],
        ours: set[str],
        made_here: Callable,
    ) -> None:
        self.tensor_class, self.node_class, self.users, self.ours, self.made_here = (
            tensor_class,
            node_class,
            users,
            ours,
            made_here,
        )
        self.counter = clock.__self__  # type: ignore[attr-defined]
        self.constants = [tensor_class, node_class, None, "shape", "co_filename", self.counter, users, ours, made_here]

    def bare(self) -> Callable:
        """The function of that name in :mod:`pullback.core.record`."""
        f = PythonFunction("bare", self.constants)
        return as_function(
            "bare", f.address(lambda: f.bare(self.tensor_class, f.incref(f.argument(0)), f.incref(f.object(None))))
        )

    def with_node(self) -> Callable:
        """The function of that name in :mod:`pullback.core.record`."""
        f = PythonFunction("with_node", self.constants)

        def write() -> Value:
            array, node_type, edges, saved, frame = (f.argument(i) for i in range(5))
            node = f.node(self, node_type, f.incref(edges), f.incref(saved), array, frame)
            return f.bare(self.tensor_class, f.incref(array), node)

        return as_function("with_node", f.address(write))


def offset(cls: type, slot: str) -> int:
    """Where instances of a class hold one of its ``__slots__``: its descriptor refers to CPython's ``PyMemberDef``,
    which says so.
    """
    member = ctypes.c_void_p.from_address(id(cls.__dict__[slot]) + object.__basicsize__ + 24).value or 0
    return ctypes.c_ssize_t.from_address(member + 16).value


def _check() -> None:
    """Whether objects lie in memory as expected."""

    class Slotted:
        __slots__ = ("a", "b")
        a: Any
        b: Any

    it, a = Slotted(), np.ones(2, np.float32)
    it.a, it.b = a, "b"
    at = ctypes.c_void_p.from_address
    found = (
        at(id(it) + offset(Slotted, "a")).value,
        at(id(it) + offset(Slotted, "b")).value,
        at(id(a) + TYPE_OF_ARRAY).value,
    )
    if found != (id(it.a), id(it.b), id(a.dtype)):
        raise jit.Unsupported("objects have another layout than expected")


_check()
