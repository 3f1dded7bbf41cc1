"""Machine code that makes Python objects: tensors and autograd nodes, without running the interpreter.

Recording an operation in Python (:mod:`pullback.core.record`), attribute by attribute, takes CPython about as long as
NumPy takes for a small product. Here the same is compiled, on CPython's C API: objects are allocated as
``object.__new__`` does it, and their ``__slots__`` are filled. Only slots of objects made here are written.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from types import MemberDescriptorType
from typing import Any

from ..codegen import jit
from ..codegen import object_layout as layout
from ..codegen.entry import as_function
from ..codegen.llvm_ir import I32, I64, PTR, Function, Type, Value, module

HOPS = 64  # frames of the package's between an operation and the user's line


class PythonFunction(Function):
    """A function being written that CPython calls and that handles Python objects.

    Args:
        name: of the function.
        constants: Python objects that it refers to. They are in a table of the module, filled when it is loaded, so
            that the code has no addresses in it and can be cached on disk.
        params: its parameters.
    """

    def __init__(
        self,
        name: str,
        constants: Sequence[Any],
        params: Sequence[tuple[str, Type]] = (("self", PTR), ("args", PTR), ("count", I64)),
    ) -> None:
        super().__init__(f"{name}.$$", params, returns=PTR)
        self.constants = list(constants)

    def argument(self, i: int) -> Value:
        """The argument at i, a borrowed reference."""
        return self.load(self.at(self["args"], i, PTR), PTR)

    def object(self, constant: Any) -> Value:
        """One of the constants, a borrowed reference."""
        return self.load(self.at(self.symbol("table.$$"), self._index(constant), PTR), PTR)

    def _index(self, constant: Any) -> int:
        return next(i for i, o in enumerate(self.constants) if o is constant)

    def api(self, function: str, *args: Value, returns: Type | None = PTR) -> Any:
        """Call a function of CPython's C API."""
        return self.call(function, *args, returns=returns, external=True)

    def call_constant(self, constant: Any, *arguments: Value) -> Value:
        """The result of calling one of the constants."""
        room = self.stack_array(len(arguments), PTR)
        for i, argument in enumerate(arguments):
            self.store(argument, self.at(room, i, PTR))
        return self.api(
            "PyObject_Vectorcall", self.object(constant), room, self.constant(len(arguments), I64), self.null()
        )

    def field(self, instance: Value, at: int, type: Type = PTR) -> Value:
        return self.load(self.at(instance, at * 8 // type.bits, type), type)

    def type_of(self, instance: Value) -> Value:
        """An object's class (``Py_TYPE``), borrowed."""
        return self.field(instance, layout.TYPE)

    def branch_unless(self, condition: Value, label: str) -> None:
        """Go on if a condition holds; else branch to a label."""
        (go_on,) = self._labels(1)
        self.lines += [f"br i1 {condition.text}, label %{go_on}, label %{label}", f"{go_on}:"]

    def incref(self, value: Value) -> Value:
        """Turn a borrowed reference into an owned one."""
        self.call("Py_IncRef", value, external=True)
        return value

    def decref(self, value: Value) -> None:
        self.call("Py_DecRef", value, external=True)

    def null(self) -> Value:
        return self.convert("inttoptr", self.constant(0, I64), PTR)

    def allocate(self, cls: Value) -> Value:
        return self.api("PyType_GenericAlloc", cls, self.constant(0, I64))

    def slot(self, instance: Value, cls: type, name: str) -> Value:
        """The value of a slot, borrowed."""
        return self.load(self._slot(instance, cls, name), PTR)

    def init_slot(self, instance: Value, cls: type, name: str, value: Value) -> None:
        """Fill an empty slot; steals the reference."""
        self.store(value, self._slot(instance, cls, name))

    def _slot(self, instance: Value, cls: type, name: str) -> Value:
        """The address of a slot. Its class has to be a constant, as :meth:`address` puts offsets into the cache key."""
        self._index(cls)
        return self.at(instance, layout.slot_offset(cls, name) // 8, PTR)

    def item(self, of_tuple: Value, i: Any) -> Value:
        """An item of a tuple, borrowed."""
        return self.load(self.at(of_tuple, layout.TUPLE_ITEMS // 8 + i, PTR), PTR)

    def init_item(self, of_tuple: Value, i: Any, value: Value) -> None:
        """Fill an item of a new tuple; steals the reference."""
        self.store(value, self.at(of_tuple, layout.TUPLE_ITEMS // 8 + i, PTR))

    def bare(self, tensor_class: type, array: Value, fn: Value, view: Value | None = None) -> Value:
        """A tensor around an array; steals the references."""
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
        """A node; steals the references to the edges and to what is saved."""
        node = self.allocate(node_type)

        def put(name: str, value: Value) -> None:
            self.init_slot(node, recording.node_class, name, value)

        put("_edges", edges)
        put("_saved", saved)
        put("_shape", self.api("PyObject_GetAttr", array, self.object("shape")))
        put("_dtype", self.incref(self.load(self.at(array, layout.DTYPE // 8, PTR), PTR)))
        put("_hooks", self.incref(self.object(None)))
        self._note_line(recording, node, frame)
        put("_seq", self.api("PyIter_Next", self.object(recording.counter)))
        return node

    def _note_line(self, recording: Recording, node: Value, frame: Value) -> None:
        """Note the user's line: in this frame or the nearest one outside. Files not met so far are left to Python."""
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
        """The address of the compiled function.

        Args:
            write: writes it and gives the result; not called if the function is in the cache.
            key: all that the code depends on besides the code in ``kernels/`` and where objects have their slots.
        """

        def text() -> str:
            table = f"@table.$$ = internal global [{len(self.constants)} x ptr] zeroinitializer"
            where = "define ptr @where.$$() #0 {\nret ptr @table.$$\n}"
            return module((self, write()), also=[table, where])

        slots = [
            (i, slot, layout.slot_offset(c, slot))
            for i, c in enumerate(self.constants)
            if isinstance(c, type)
            for slot in vars(c).get("__slots__", ())
            if isinstance(vars(c)[slot], MemberDescriptorType)
        ]
        places = [self._index(constant) for constant in self.constants]
        address = jit.load(text, self.name, slots, places, *key)
        jit.keep_alive(self.constants)
        start = ctypes.CFUNCTYPE(ctypes.c_void_p)(address("where.$$"))()
        (ctypes.c_void_p * len(self.constants)).from_address(start)[:] = [*map(id, self.constants)]
        return address(self.name)


class Recording:
    """The objects that recording an operation refers to.

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
