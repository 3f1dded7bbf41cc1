"""The compiled backward loop: node after node, as long as each is on the fast path, with the leaves they lead to.

The fast path is for nodes without hooks, of one output, whose gradient is a small array. Their rules are called, and
the results go to leaves and to the next node, as in :class:`pullback.engine.graph_task.GraphTask`, which goes on with
the first node that is not on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from ..codegen import object_layout as layout
from ..codegen.entry import as_function
from ..codegen.llvm_ir import I1, I32, I64, PTR, Value
from .cpython_objects import PythonFunction
from .small_arrays import SMALL

AT_LEAST = 5  # CPython's Py_GE


class BackwardLoop(PythonFunction):
    """The function being written; ``task_module`` is :mod:`pullback.engine.graph_task`, whose functions it calls."""

    def __init__(self, task_module: ModuleType, tensor_class: type) -> None:
        self.task_module, self.node_class, self.tensor_class = task_module, task_module.Node, tensor_class
        self.plain_values = task_module.graph.PLAIN_VALUES
        functions = (
            task_module.value_of,
            task_module.unbroadcast_for_edge,
            task_module.add_grads,
            task_module.deliver,
            task_module.arrive,
            task_module.apply_joint_vjp,
        )
        super().__init__(
            "run_nodes",
            [
                None,
                False,
                True,
                np.ndarray,
                tensor_class,
                *self.plain_values,
                task_module.graph.NUMBERS,
                task_module.Node,
                task_module.FREED,
                task_module.versions.__dict__,
                "last_write",
                "last_reshape",
                "_vjps",
                "_keeps",
                *functions,
            ],
        )

    def prepare(self) -> None:
        """Name the arguments, and set up variables, all of owned references."""
        given = [self.argument(i) for i in range(10)]
        self.current, self.g = (self.variable(self.incref(v)) for v in given[:2])
        self.heap, self.nodes, self.grads, self.leaves, self.borrowed, self.retain, self.context, self.observer = given[
            2:
        ]
        self.edges, self.saved, self.vjps, self.next_node, self.next_grad = (
            self.variable(self.null()) for _ in range(5)
        )
        self.observed_results = self.variable(self.null())  # a tuple, while there is an observer
        # whether the node has one rule for all its edges, as that of a custom Function
        self.has_joint_vjp = self.variable(False, I1)

    # --- small things -------------------------------------------------------------------------------------------

    def is_set(self, value: Value) -> Value:
        return value.differs(self.null())

    def of_node(self, name: str) -> Value:
        return self.slot(self.current.get(), self.node_class, name)

    def release(self, *variables: Any) -> None:
        for variable in variables:
            self.decref(variable.get())  # Py_DecRef does nothing for null
            variable.set(self.null())

    def replace_by_call(self, r: Any, fn: Callable, *arguments: Value, before: Sequence[Value] = ()) -> None:
        """Replace a result by what a function in Python returns for it."""
        new = self.call_constant(fn, *before, r.get(), *arguments)
        self.decref(r.get())
        r.set(new)
        self.branch_unless(self.is_set(new), "failed")

    def matches(self, array: Value, dtype: Value, rank: Value, size: Callable[[Value], Value]) -> Value:
        """Whether an array has this type, so many dimensions and these sizes."""
        same = self.variable(self.field(array, layout.DTYPE).equals(dtype))
        count = self.convert("sext", self.field(array, layout.RANK, I32), I64)
        same.set(same.get() & count.equals(rank))
        with self.loop(0, self.select(same.get(), count, self.constant(0, I64))) as i:
            same.set(same.get() & self.load(self.at(self.field(array, layout.SHAPE), i, I64), I64).equals(size(i)))
        return same.get()

    # --- a node -------------------------------------------------------------------------------------------------

    def guard_fast_path(self) -> None:
        """Leave the node to Python unless it is on the fast path."""
        self.branch_unless(self.of_node("_hooks").equals(self.object(None)), "leave")
        self.branch_unless(self.type_of(self.g.get()).equals(self.object(np.ndarray)), "leave")
        self.branch_unless(self.of_node("_saved").differs(self.object(self.task_module.FREED)), "leave")
        for name in ("last_write", "last_reshape"):
            last = self.api("PyDict_GetItem", self.object(self.task_module.versions.__dict__), self.object(name))
            newer = self.api(
                "PyObject_RichCompareBool", self.of_node("_seq"), last, self.constant(AT_LEAST, I32), returns=I32
            )
            self.branch_unless(newer.equals(1), "leave")
        items = self.variable(1, I64)
        with self.loop(0, self.convert("sext", self.field(self.g.get(), layout.RANK, I32), I64)) as i:
            items.set(items.get() * self.load(self.at(self.field(self.g.get(), layout.SHAPE), i, I64), I64))
        self.branch_unless(items.get() < SMALL, "leave")
        edges, vjps = self.of_node("_edges"), self.api("PyObject_GetAttr", self.current.get(), self.object("_vjps"))
        self.vjps.set(vjps)
        self.branch_unless(self.type_of(edges).equals(self.object(tuple)), "leave")
        self.has_joint_vjp.set(vjps.equals(self.object(None)))
        self.branch_unless(self.unobserved() | self.has_joint_vjp.get().equals(0), "leave")

        def check_all() -> None:
            self.branch_unless(self.type_of(vjps).equals(self.object(tuple)), "leave")
            count = self.field(edges, layout.LENGTH, I64)
            self.branch_unless(count.equals(self.field(vjps, layout.LENGTH, I64)), "leave")

        self.if_else(
            self.has_joint_vjp.get(),
            lambda: self.branch_unless(self.type_of(self.of_node("_shape")).equals(self.object(tuple)), "leave"),
            check_all,
        )
        self.edges.set(self.incref(edges))

    def free_saved(self) -> None:
        """Free what the node saved, if that is memory, unless it is to be retained."""
        saved = self.saved.get()
        with self.if_then(self.retain.equals(self.object(False)) & self.type_of(saved).equals(self.object(tuple))):
            keeps = self.api("PyObject_GetAttr", self.current.get(), self.object("_keeps"))
            self.decref(keeps)
            count, numbers = self.field(saved, layout.LENGTH, I64), self.object(self.task_module.graph.NUMBERS)
            holds_memory = self.variable(keeps.equals(numbers) & count.differs(0))
            with self.loop(0, self.select(keeps.equals(self.object(True)), count, self.constant(0, I64))) as i:
                kind = self.type_of(self.item(saved, i))
                is_memory = kind.differs(self.object(self.plain_values[0]))
                for plain in self.plain_values[1:]:
                    is_memory = is_memory & kind.differs(self.object(plain))
                holds_memory.set(holds_memory.get() | is_memory)
            with self.if_then(holds_memory.get()):
                self.init_slot(
                    self.current.get(), self.node_class, "_saved", self.incref(self.object(self.task_module.FREED))
                )
                self.decref(saved)  # the node's

    def run_joint_vjp(self) -> None:
        """Call the node's one rule for all edges, and send its results."""
        results = self.call_constant(
            self.task_module.apply_joint_vjp, self.current.get(), self.g.get(), self.edges.get(), self.context
        )
        self.branch_unless(self.is_set(results), "failed")
        self.saved.set(results)
        with self.loop(0, self.field(self.edges.get(), layout.LENGTH, I64)) as i:
            e = self.item(self.edges.get(), i)
            with self.if_then(e.differs(self.object(None))):
                r = self.api("PySequence_GetItem", results, i)
                self.branch_unless(self.is_set(r), "failed")
                self.if_else(
                    r.equals(self.object(None)), lambda: self.decref(r), lambda: self.send(e, self.variable(r), i)
                )

    def run_vjps(self) -> None:
        """Call the rule of each edge that wants a gradient, and send its result at once."""
        self.saved.set(self.incref(self.of_node("_saved")))
        self.if_else(self.unobserved(), self.free_saved, self.begin_observing)
        with self.loop(0, self.field(self.edges.get(), layout.LENGTH, I64)) as i:
            e = self.item(self.edges.get(), i)
            with self.if_then(e.differs(self.object(None))):
                room = self.stack_array(2, PTR)
                self.store(self.g.get(), room)
                self.store(self.saved.get(), self.at(room, 1, PTR))
                r = self.api(
                    "PyObject_Vectorcall", self.item(self.vjps.get(), i), room, self.constant(2, I64), self.null()
                )
                self.branch_unless(self.is_set(r), "in_rule")
                self.if_else(
                    r.equals(self.object(None)), lambda: self.decref(r), lambda: self.send(e, self.variable(r), i)
                )
        with self.if_then(self.is_set(self.observed_results.get())):
            self.notify_observer()
            self.free_saved()

    # --- observers -----------------------------------------------------------------------------------------------

    def unobserved(self) -> Value:
        return self.observer.equals(self.object(None))

    def begin_observing(self) -> None:
        count = self.field(self.edges.get(), layout.LENGTH, I64)
        self.observed_results.set(self.api("PyTuple_New", count))
        with self.loop(0, count) as i:
            self.api("PyTuple_SetItem", self.observed_results.get(), i, self.incref(self.object(None)), returns=I32)

    def observe(self, r: Any, i: Value) -> None:
        """Note the gradient that is sent along an edge."""
        with self.if_then(self.is_set(self.observed_results.get())):
            self.api("PyTuple_SetItem", self.observed_results.get(), i, self.incref(r.get()), returns=I32)

    def notify_observer(self) -> None:
        """Call ``observer(node, gradients that came in, gradients that were sent)``."""
        came, room = self.api("PyTuple_New", self.constant(1, I64)), self.stack_array(3, PTR)
        self.api("PyTuple_SetItem", came, self.constant(0, I64), self.incref(self.g.get()), returns=I32)
        for i, value in enumerate((self.current.get(), came, self.observed_results.get())):
            self.store(value, self.at(room, i, PTR))
        done = self.api("PyObject_Vectorcall", self.observer, room, self.constant(3, I64), self.null())
        self.decref(came)
        self.branch_unless(self.is_set(done), "failed")
        self.decref(done)

    # --- results ------------------------------------------------------------------------------------------------

    def send(self, e: Value, r: Any, i: Value) -> None:
        """Send a gradient along an edge: to a node, to a leaf, or (one output of several, others) by Python."""
        kind = self.type_of(e)
        with self.if_then(self.type_of(r.get()).differs(self.object(np.ndarray))):
            self.replace_by_call(r, self.task_module.value_of, e)
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
        """The slow path of :meth:`send`."""
        self.deliver_next()
        with self.if_then(self.is_set(self.observed_results.get())):
            self.replace_by_call(r, self.task_module.unbroadcast_for_edge, e, self.object(False), self.current.get())
            self.observe(r, i)
        self.replace_by_call(
            r,
            self.task_module.arrive,
            e,
            self.current.get(),
            self.heap,
            self.nodes,
            self.grads,
            self.leaves,
            self.borrowed,
        )
        self.decref(r.get())

    def to_leaf(self, e: Value, r: Any, position: Value) -> None:
        """Add a gradient to what the leaf has so far; note if its array may be shared (``borrowed``)."""
        x = self.slot(e, self.tensor_class, "_array")

        def here() -> None:
            same = self.matches(
                r.get(),
                self.field(x, layout.DTYPE),
                self.convert("sext", self.field(x, layout.RANK, I32), I64),
                lambda i: self.load(self.at(self.field(x, layout.SHAPE), i, I64), I64),
            )
            with self.if_then(same.equals(0)):
                self.replace_by_call(
                    r, self.task_module.unbroadcast_for_edge, e, self.object(False), self.current.get()
                )
            self.observe(r, position)
            before = self.api("PyDict_GetItem", self.leaves, e)
            number = self.api("PyLong_FromVoidPtr", e)

            def first() -> None:
                is_view = self.is_set(self.field(r.get(), layout.OWNER))
                shared = r.get().equals(self.g.get()) | is_view | self.has_joint_vjp.get()
                with self.if_then(shared | self.is_set(self.observed_results.get())):
                    self.api("PySet_Add", self.borrowed, number, returns=I32)

            def again() -> None:
                self.replace_by_call(r, self.task_module.add_grads, before=[before])
                self.api("PySet_Discard", self.borrowed, number, returns=I32)

            self.if_else(self.is_set(before), again, first)
            self.api("PyDict_SetItem", self.leaves, e, r.get(), returns=I32)
            self.decref(number)
            self.decref(r.get())

        self.if_else(self.type_of(x).equals(self.object(np.ndarray)), here, lambda: self.elsewhere(e, r, position))

    def to_node(self, e: Value, r: Any, position: Value) -> None:
        """Let a gradient wait for its node: in ``next_node``, past the heap, while that is the only one waiting."""
        shape = self.slot(e, self.node_class, "_shape")
        same = self.variable(False, I1)
        with self.if_then(self.type_of(shape).equals(self.object(tuple))):
            same.set(
                self.matches(
                    r.get(),
                    self.slot(e, self.node_class, "_dtype"),
                    self.field(shape, layout.LENGTH, I64),
                    lambda i: self.api("PyLong_AsSsize_t", self.item(shape, i), returns=I64),
                )
            )
        with self.if_then(same.get().equals(0)):
            self.replace_by_call(r, self.task_module.unbroadcast_for_edge, e, self.object(False), self.current.get())
        self.observe(r, position)

        def add() -> None:
            self.replace_by_call(r, self.task_module.add_grads, before=[self.next_grad.get()])
            self.decref(self.next_grad.get())
            self.next_grad.set(r.get())

        def alone() -> None:
            self.next_node.set(self.incref(e))
            self.next_grad.set(r.get())

        def among_others() -> None:
            self.deliver_next()
            self.deliver(e, r.get())
            self.decref(r.get())

        empty = self.field(self.heap, layout.LENGTH, I64).equals(0)
        self.if_else(
            e.equals(self.next_node.get()),
            add,
            lambda: self.if_else(self.next_node.get().equals(self.null()) & empty, alone, among_others),
        )

    def deliver(self, e: Value, r: Value) -> None:
        done = self.call_constant(self.task_module.deliver, e, r, self.heap, self.nodes, self.grads)
        self.branch_unless(self.is_set(done), "failed")
        self.decref(done)

    def deliver_next(self) -> None:
        """Move the next node to the heap: it is no longer the only one that waits."""
        with self.if_then(self.is_set(self.next_node.get())):
            self.deliver(self.next_node.get(), self.next_grad.get())
            self.release(self.next_node, self.next_grad)

    # --- the loop ------------------------------------------------------------------------------------------------

    def emit_all(self) -> Value:
        """Write the loop and its ways out; the value that is returned at the end."""
        self.prepare()
        everything = self.edges, self.saved, self.vjps, self.observed_results, self.next_node, self.next_grad
        # The loop: visit a node, then the next one, as long as that is the only one that waits.
        self.lines += ["br label %again", "again:"]
        self.guard_fast_path()
        self.if_else(self.has_joint_vjp.get(), self.run_joint_vjp, self.run_vjps)
        self.release(self.current, self.g, self.edges, self.saved, self.vjps, self.observed_results)
        self.branch_unless(self.is_set(self.next_node.get()), "done")
        for variable, following in ((self.current, self.next_node), (self.g, self.next_grad)):
            variable.set(following.get())
            following.set(self.null())
        # Leave to Python a node that is not on the fast path: (node, gradient), owned by the tuple.
        self.lines += ["br label %again", "leave:"]
        self.release(self.vjps, self.edges)
        pair = self.api("PyTuple_New", self.constant(2, I64))
        for i, variable in enumerate((self.current, self.g)):
            self.api("PyTuple_SetItem", pair, self.constant(i, I64), variable.get(), returns=I32)
        # An exception: if it is a rule's, note the node.
        self.lines += [f"ret ptr {pair.text}", "in_rule:"]
        self.api("PyList_SetItem", self.context, self.constant(0, I64), self.incref(self.current.get()), returns=I32)
        self.lines += ["br label %failed", "failed:"]
        self.release(self.current, self.g, *everything)
        self.lines += ["ret ptr null", "done:"]
        return self.incref(self.object(None))


def run_nodes(task_module: ModuleType, tensor_class: type) -> Callable:
    """``run_nodes(node, g, heap, nodes, grads, leaves, borrowed, retain, context, observer)``, for
    :class:`pullback.engine.graph_task.GraphTask`, whose attributes most of the arguments are.

    The function visits the node and those after it. It returns the first that is not on the fast path, with its
    gradient, or None when only the heap has nodes left. A node whose rule raises is put into ``context[0]``. The
    observer, unless it is None, is called for each node.
    """
    f = BackwardLoop(task_module, tensor_class)
    return as_function("run_nodes", f.address(f.emit_all))


def accumulate_grad(tensor_class: type, leaf_mark: Any) -> Callable:
    """``accumulate_grad(leaves, borrowed)``: steals gradients for ``.grad`` of leaves that had none.

    It takes those that nobody else may hold and whose strides are the leaf's, and returns a list of the other leaves:
    :func:`pullback.engine.accumulate.accumulate_in_leaf` is for them.

    Args:
        leaf_mark: what ``_fn`` of a leaf holds while that requires grad.
    """
    f = PythonFunction("accumulate_grad", [tensor_class, None, np.ndarray, leaf_mark])
    return as_function("accumulate_grad", f.address(lambda: _accumulate_grad(f, tensor_class, leaf_mark)))


def _accumulate_grad(f: PythonFunction, tensor_class: type, leaf_mark: Any) -> Value:
    leaves, borrowed = f.argument(0), f.argument(1)
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
        wanted = f.slot(leaf, tensor_class, "_fn").equals(f.object(leaf_mark))
        arrays = f.type_of(g).equals(f.object(np.ndarray)) & f.type_of(x).equals(f.object(np.ndarray))
        simple = f.variable(wanted & arrays & before.equals(none) & f.slot(leaf, tensor_class, "_hooks").equals(none))
        with f.if_then(simple.get()):
            number = f.api("PyLong_FromVoidPtr", leaf)
            simple.set(f.api("PySet_Contains", borrowed, number, returns=I32).equals(0))
            f.decref(number)
            with f.loop(0, f.convert("sext", f.field(g, layout.RANK, I32), I64)) as i:
                strides = [f.load(f.at(f.field(a, layout.STRIDES), i, I64), I64) for a in (g, x)]
                simple.set(simple.get() & strides[0].equals(strides[1]))

        def steal() -> None:
            f.init_slot(leaf, tensor_class, "_grad", f.bare(tensor_class, f.incref(g), f.incref(none)))
            f.decref(before)

        def leave() -> None:
            f.api("PyList_Append", rest, leaf, returns=I32)

        f.if_else(simple.get(), steal, leave)
    return rest
