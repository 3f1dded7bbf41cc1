"""The engine's way along the graph as machine code: node after node, as long as each is usual, and then the leaves.

Usual are nodes without hooks, of one output, whose gradient is a small array. Their rules are called, and what these
return goes to leaves and to the next node, as in :func:`pullback.engine.engine.run`, which takes over wherever
anything is unusual.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from ..codegen import jit
from ..codegen.entry import as_function
from ..codegen.llvm_ir import I1, I32, I64, PTR, Value
from .cpython_objects import TYPE_OF_ARRAY, Maker
from .small_operators import SMALL

OWNER = TYPE_OF_ARRAY - 8  # where an array holds what owns its memory
LENGTH, ITEMS = object.__basicsize__, object.__basicsize__ + 8  # of a tuple, and a list's length
AT_LEAST = 5  # CPython's Py_GE


class Walk(Maker):
    """The function being written; ``engine`` is the module that it stands beside."""

    def __init__(self, engine: ModuleType, tensor_class: type) -> None:
        self.engine, self.node_class, self.tensor_class = engine, engine.Node, tensor_class
        functions = (
            engine.value_of,
            engine.unbroadcast_for_edge,
            engine.add_grads,
            engine.deliver,
            engine.arrive,
            engine.apply_joint_vjp,
        )
        super().__init__(
            "walk",
            [
                None,
                False,
                True,
                tuple,
                np.ndarray,
                tensor_class,
                engine.Node,
                engine.FREED,
                engine.versions.__dict__,
                "last_write",
                "last_reshape",
                "_vjps",
                "_keeps",
                *functions,
            ],
        )

    def prepare(self) -> None:
        given = [self.given(i) for i in range(10)]
        self.current, self.g = (self.variable(self.own(v)) for v in given[:2])
        self.heap, self.nodes, self.grads, self.waiting, self.borrowed, self.retain, self.failing, self.tell = given[2:]
        self.edges, self.saved, self.pulls, self.next, self.next_g = (self.variable(self.nothing()) for _ in range(5))
        self.handed = self.variable(self.nothing())  # while somebody observes, what this node gives
        # whether the node has one rule for all its edges, such as a custom Function's
        self.alone = self.variable(False, I1)

    # --- small things -------------------------------------------------------------------------------------------

    def there(self, value: Value) -> Value:
        return value.differs(self.nothing())

    def item(self, a_tuple: Value, i: Any) -> Value:
        return self.load(self.at(a_tuple, self.constant(i, I64) + ITEMS // 8, PTR), PTR)

    def of_node(self, name: str) -> Value:
        return self.slot(self.current.get(), self.node_class, name)

    def forget(self, *variables: Any) -> None:
        for variable in variables:
            self.drop(variable.get())  # of nothing: does nothing
            variable.set(self.nothing())

    def replaced(self, r: Any, fn: Callable, *arguments: Value, before: Sequence[Value] = ()) -> None:
        """Let what a function of Python's makes of a result take its place."""
        new = self.call_object(fn, *before, r.get(), *arguments)
        self.drop(r.get())
        r.set(new)
        self.unless(self.there(new), "failed")

    def alike(self, array: Value, dtype: Value, rank: Value, size: Callable[[Value], Value]) -> Value:
        """Whether an array has this type, so many dimensions and these sizes."""
        same = self.variable(self.field(array, TYPE_OF_ARRAY).equals(dtype))
        count = self.convert("sext", self.field(array, jit.RANK, I32), I64)
        same.set(same.get() & count.equals(rank))
        with self.loop(0, self.select(same.get(), count, self.constant(0, I64))) as i:
            same.set(same.get() & self.load(self.at(self.field(array, jit.SHAPE), i, I64), I64).equals(size(i)))
        return same.get()

    # --- a node -------------------------------------------------------------------------------------------------

    def check_usual(self) -> None:
        """Leave to Python what is not."""
        self.unless(self.of_node("_hooks").equals(self.object(None)), "leave")
        self.unless(self.kind(self.g.get()).equals(self.object(np.ndarray)), "leave")
        self.unless(self.of_node("_saved").differs(self.object(self.engine.FREED)), "leave")
        for name in ("last_write", "last_reshape"):
            last = self.api("PyDict_GetItem", self.object(self.engine.versions.__dict__), self.object(name))
            newer = self.api(
                "PyObject_RichCompareBool", self.of_node("_seq"), last, self.constant(AT_LEAST, I32), returns=I32
            )
            self.unless(newer.equals(1), "leave")
        items = self.variable(1, I64)
        with self.loop(0, self.convert("sext", self.field(self.g.get(), jit.RANK, I32), I64)) as i:
            items.set(items.get() * self.load(self.at(self.field(self.g.get(), jit.SHAPE), i, I64), I64))
        self.unless(items.get() < SMALL, "leave")
        edges, pulls = self.of_node("_edges"), self.api("PyObject_GetAttr", self.current.get(), self.object("_vjps"))
        self.pulls.set(pulls)
        self.unless(self.kind(edges).equals(self.object(tuple)), "leave")
        self.alone.set(pulls.equals(self.object(None)))
        self.unless(self.unobserved() | self.alone.get().equals(0), "leave")

        def check_all() -> None:
            self.unless(self.kind(pulls).equals(self.object(tuple)), "leave")
            self.unless(self.field(edges, LENGTH, I64).equals(self.field(pulls, LENGTH, I64)), "leave")

        self.if_else(
            self.alone.get(),
            lambda: self.unless(self.kind(self.of_node("_shape")).equals(self.object(tuple)), "leave"),
            check_all,
        )
        self.edges.set(self.own(edges))

    def let_go(self) -> None:
        """The node lets go what it saved, unless it is to be retained."""
        saved = self.saved.get()
        with self.if_then(self.retain.equals(self.object(False)) & self.kind(saved).equals(self.object(tuple))):
            keeps = self.api("PyObject_GetAttr", self.current.get(), self.object("_keeps"))
            self.drop(keeps)
            with self.if_then(keeps.equals(self.object(True)) & self.field(saved, LENGTH, I64).differs(0)):
                self.put(self.current.get(), self.node_class, "_saved", self.own(self.object(self.engine.FREED)))
                self.drop(saved)  # the node's

    def run_one_rule(self) -> None:
        results = self.call_object(
            self.engine.apply_joint_vjp, self.current.get(), self.g.get(), self.edges.get(), self.failing
        )
        self.unless(self.there(results), "failed")
        self.saved.set(results)
        with self.loop(0, self.field(self.edges.get(), LENGTH, I64)) as i:
            e = self.item(self.edges.get(), i)
            with self.if_then(e.differs(self.object(None))):
                r = self.api("PySequence_GetItem", results, i)
                self.unless(self.there(r), "failed")
                self.if_else(
                    r.equals(self.object(None)), lambda: self.drop(r), lambda: self.send(e, self.variable(r), i)
                )

    def run_rules(self) -> None:
        self.saved.set(self.own(self.of_node("_saved")))
        self.if_else(self.unobserved(), self.let_go, self.expect_results)
        with self.loop(0, self.field(self.edges.get(), LENGTH, I64)) as i:
            e = self.item(self.edges.get(), i)
            with self.if_then(e.differs(self.object(None))):
                room = self.stack_array(2, PTR)
                self.store(self.g.get(), room)
                self.store(self.saved.get(), self.at(room, 1, PTR))
                r = self.api(
                    "PyObject_Vectorcall", self.item(self.pulls.get(), i), room, self.constant(2, I64), self.nothing()
                )
                self.unless(self.there(r), "in_rule")
                self.if_else(
                    r.equals(self.object(None)), lambda: self.drop(r), lambda: self.send(e, self.variable(r), i)
                )
        with self.if_then(self.there(self.handed.get())):
            self.tell_observers()
            self.let_go()

    # --- those who observe --------------------------------------------------------------------------------------

    def unobserved(self) -> Value:
        return self.tell.equals(self.object(None))

    def expect_results(self) -> None:
        count = self.field(self.edges.get(), LENGTH, I64)
        self.handed.set(self.api("PyTuple_New", count))
        with self.loop(0, count) as i:
            self.api("PyTuple_SetItem", self.handed.get(), i, self.own(self.object(None)), returns=I32)

    def note(self, r: Any, i: Value) -> None:
        """Note what is handed on along an edge."""
        with self.if_then(self.there(self.handed.get())):
            self.api("PyTuple_SetItem", self.handed.get(), i, self.own(r.get()), returns=I32)

    def tell_observers(self) -> None:
        came, room = self.api("PyTuple_New", self.constant(1, I64)), self.stack_array(3, PTR)
        self.api("PyTuple_SetItem", came, self.constant(0, I64), self.own(self.g.get()), returns=I32)
        for i, value in enumerate((self.current.get(), came, self.handed.get())):
            self.store(value, self.at(room, i, PTR))
        done = self.api("PyObject_Vectorcall", self.tell, room, self.constant(3, I64), self.nothing())
        self.drop(came)
        self.unless(self.there(done), "failed")
        self.drop(done)

    # --- results ------------------------------------------------------------------------------------------------

    def send(self, e: Value, r: Any, i: Value) -> None:
        """Let a result arrive where an edge leads."""
        kind = self.kind(e)
        with self.if_then(self.kind(r.get()).differs(self.object(np.ndarray))):
            self.replaced(r, self.engine.value_of, e)
        is_node, is_leaf = (
            self.api("PyType_IsSubtype", kind, self.object(c), returns=I32).equals(1)
            for c in (self.node_class, self.tensor_class)
        )
        self.if_else(
            is_node,
            lambda: self.to_node(e, r, i),
            lambda: self.if_else(is_leaf, lambda: self.to_leaf(e, r, i), lambda: self.elsewhere(e, r, i)),
        )

    def elsewhere(self, e: Value, r: Any, i: Value) -> None:
        self.deliver_next()
        with self.if_then(self.there(self.handed.get())):
            self.replaced(r, self.engine.unbroadcast_for_edge, e, self.object(False), self.current.get())
            self.note(r, i)
        self.replaced(
            r, self.engine.arrive, e, self.current.get(), self.heap, self.nodes, self.grads, self.waiting, self.borrowed
        )
        self.drop(r.get())

    def to_leaf(self, e: Value, r: Any, position: Value) -> None:
        x = self.slot(e, self.tensor_class, "_array")

        def here() -> None:
            same = self.alike(
                r.get(),
                self.field(x, TYPE_OF_ARRAY),
                self.convert("sext", self.field(x, jit.RANK, I32), I64),
                lambda i: self.load(self.at(self.field(x, jit.SHAPE), i, I64), I64),
            )
            with self.if_then(same.equals(0)):
                self.replaced(r, self.engine.unbroadcast_for_edge, e, self.object(False), self.current.get())
            self.note(r, position)
            before = self.api("PyDict_GetItem", self.waiting, e)
            number = self.api("PyLong_FromVoidPtr", e)

            def first() -> None:
                shared = r.get().equals(self.g.get()) | self.there(self.field(r.get(), OWNER)) | self.alone.get()
                with self.if_then(shared | self.there(self.handed.get())):
                    self.api("PySet_Add", self.borrowed, number, returns=I32)

            def again() -> None:
                self.replaced(r, self.engine.add_grads, before=[before])
                self.api("PySet_Discard", self.borrowed, number, returns=I32)

            self.if_else(self.there(before), again, first)
            self.api("PyDict_SetItem", self.waiting, e, r.get(), returns=I32)
            self.drop(number)
            self.drop(r.get())

        self.if_else(self.kind(x).equals(self.object(np.ndarray)), here, lambda: self.elsewhere(e, r, position))

    def to_node(self, e: Value, r: Any, position: Value) -> None:
        shape = self.slot(e, self.node_class, "_shape")
        same = self.variable(False, I1)
        with self.if_then(self.kind(shape).equals(self.object(tuple))):
            same.set(
                self.alike(
                    r.get(),
                    self.slot(e, self.node_class, "_dtype"),
                    self.field(shape, LENGTH, I64),
                    lambda i: self.api("PyLong_AsSsize_t", self.item(shape, i), returns=I64),
                )
            )
        with self.if_then(same.get().equals(0)):
            self.replaced(r, self.engine.unbroadcast_for_edge, e, self.object(False), self.current.get())
        self.note(r, position)

        def add() -> None:
            self.replaced(r, self.engine.add_grads, before=[self.next_g.get()])
            self.drop(self.next_g.get())
            self.next_g.set(r.get())

        def only() -> None:
            self.next.set(self.own(e))
            self.next_g.set(r.get())

        def one_of_many() -> None:
            self.deliver_next()
            self.deliver(e, r.get())
            self.drop(r.get())

        empty = self.field(self.heap, LENGTH, I64).equals(0)
        self.if_else(
            e.equals(self.next.get()),
            add,
            lambda: self.if_else(self.next.get().equals(self.nothing()) & empty, only, one_of_many),
        )

    def deliver(self, e: Value, r: Value) -> None:
        done = self.call_object(self.engine.deliver, e, r, self.heap, self.nodes, self.grads)
        self.unless(self.there(done), "failed")
        self.drop(done)

    def deliver_next(self) -> None:
        """The next node is no longer the only one that waits."""
        with self.if_then(self.there(self.next.get())):
            self.deliver(self.next.get(), self.next_g.get())
            self.forget(self.next, self.next_g)

    # --- all ----------------------------------------------------------------------------------------------------

    def written(self) -> Value:
        """The function's end: (node, gradient) where Python is to go on, or None."""
        self.prepare()
        everything = self.edges, self.saved, self.pulls, self.handed, self.next, self.next_g
        self.lines += ["br label %again", "again:"]
        self.check_usual()
        self.if_else(self.alone.get(), self.run_one_rule, self.run_rules)
        self.forget(self.current, self.g, self.edges, self.saved, self.pulls, self.handed)
        self.unless(self.there(self.next.get()), "done")
        for variable, following in ((self.current, self.next), (self.g, self.next_g)):
            variable.set(following.get())
            following.set(self.nothing())
        self.lines += ["br label %again", "leave:"]
        self.forget(self.pulls, self.edges)
        pair = self.api("PyTuple_New", self.constant(2, I64))
        for i, variable in enumerate((self.current, self.g)):
            self.api("PyTuple_SetItem", pair, self.constant(i, I64), variable.get(), returns=I32)
        self.lines += [f"ret ptr {pair.text}", "in_rule:"]
        self.api("PyList_SetItem", self.failing, self.constant(0, I64), self.own(self.current.get()), returns=I32)
        self.lines += ["br label %failed", "failed:"]
        self.forget(self.current, self.g, *everything)
        self.lines += ["ret ptr null", "done:"]
        return self.own(self.object(None))


def walk(engine: ModuleType, tensor_class: type) -> Callable:
    """``walk(node, g, heap, nodes, grads, leaves, borrowed, retain, failing, tell)`` for
    :func:`pullback.engine.engine.run`.

    The function runs the node and those after it. It returns the first that is not usual, with its gradient, or None if
    nothing is ahead but what is in the heap. A node whose rule raises is put into the list ``failing``. Unless ``tell``
    is None, it is called for each node as observers are.
    """
    f = Walk(engine, tensor_class)
    return as_function("walk", f.address(f.written))


def keep(tensor_class: type) -> Callable:
    """``keep(leaves, borrowed)``: gradients that are new and lie as their leaves do become these leaves' ``.grad``,
    which was None.

    The function returns a list of the leaves for which :func:`pullback.engine.engine.keep` has to do it.
    """
    f = Maker("keep", [tensor_class, None, np.ndarray])
    return as_function("keep", f.address(lambda: _keep(f, tensor_class)))


def _keep(f: Maker, tensor_class: type) -> Value:
    leaves, borrowed = f.given(0), f.given(1)
    none, rest, at, pair = (
        f.object(None),
        f.api("PyList_New", f.constant(0, I64)),
        f.stack_array(1, I64),
        f.stack_array(2, PTR),
    )
    f.store(f.constant(0, I64), at)
    with f.loop(0, f.api("PyDict_Size", leaves, returns=I64)):
        f.api("PyDict_Next", leaves, at, pair, f.at(pair, 1, PTR), returns=I32)
        leaf, g = (f.load(f.at(pair, i, PTR), PTR) for i in range(2))
        x, before = (f.slot(leaf, tensor_class, name) for name in ("_array", "_grad"))
        arrays = f.kind(g).equals(f.object(np.ndarray)) & f.kind(x).equals(f.object(np.ndarray))
        usual = f.variable(arrays & before.equals(none) & f.slot(leaf, tensor_class, "_hooks").equals(none))
        with f.if_then(usual.get()):
            number = f.api("PyLong_FromVoidPtr", leaf)
            usual.set(f.api("PySet_Contains", borrowed, number, returns=I32).equals(0))
            f.drop(number)
            with f.loop(0, f.convert("sext", f.field(g, jit.RANK, I32), I64)) as i:
                strides = [f.load(f.at(f.field(a, jit.STRIDES), i, I64), I64) for a in (g, x)]
                usual.set(usual.get() & strides[0].equals(strides[1]))

        def is_kept() -> None:
            f.put(leaf, tensor_class, "_grad", f.bare(tensor_class, f.own(g), f.own(none)))
            f.drop(before)

        def is_left() -> None:
            f.api("PyList_Append", rest, leaf, returns=I32)

        f.if_else(usual.get(), is_kept, is_left)
    return rest
