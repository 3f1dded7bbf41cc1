"""The backward pass that is running in this thread, as hooks and backward functions may ask about it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from ..base import thread_state
from ..core.graph import AccumulateGrad, Node
from .graph_task import GraphTask
from .plan import reachable, ready_after

_ids = itertools.count().__next__


def current_task() -> GraphTask | None:
    """The innermost backward that is running; None outside of any."""
    return thread_state.local.graph_task


def task_id() -> int:
    """A number for the backward that runs, another for each; -1 outside."""
    task = current_task()
    if task is None:
        return -1
    if task.number is None:
        task.number = _ids()
    return task.number


def current_node() -> Any:
    """The node whose rule, or hook, is running; None outside."""
    task = current_task()
    return None if task is None else task.node


def keeps_graph() -> bool:
    """Whether the backward that runs was asked to retain the graph."""
    task = current_task()
    return task is None or task.retain


def queue_callback(fn: Callable[[], None]) -> None:
    """Call ``fn`` when the backward that runs is done.

    Raises:
        RuntimeError: if none is running.
    """
    task = current_task()
    if task is None:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    task.callbacks.append(fn)


def will_execute(node: Any) -> bool:
    """Whether the backward that runs has run this node, or will.

    Raises:
        RuntimeError: outside of backward, for what is no node, and for a leaf while gradients are returned.
    """
    if not isinstance(node, (Node, AccumulateGrad)):
        raise RuntimeError(f"_will_engine_execute_node expects an grad_fn, but got {type(node).__name__}")
    task = current_task()
    if task is None:
        raise RuntimeError("_get_should_execute_nodes should only be called during the backward pass")
    plan = task.plan
    leaf = isinstance(node, AccumulateGrad)
    if leaf and not task.accumulate:
        raise RuntimeError(
            "A leaf node was passed to _will_engine_execute_node but we are currently running autograd.grad(). This is "
            "currently not supported."
        )
    if plan is not None:
        if not leaf:
            return -node._seq in plan.running or -node._seq in plan.catch
        if (0, id(node.variable)) not in plan.live:
            return False
    nodes, leaves = task.reach()
    return id(node.variable) in leaves if leaf else node._seq in nodes


def execution_order() -> list[Any]:
    """The nodes of the backward that runs, in the order in which they run.

    Raises:
        RuntimeError: outside of backward, and unless ``set_multithreading_enabled(False)`` is on.
    """
    task = current_task()
    if task is None:
        raise RuntimeError("_current_graph_task_execution_order should only be called during the backward pass")
    if thread_state.local.multithreading:
        raise RuntimeError(
            "get_current_graph_task_execution_order expects the current backward to be executed with multithreading "
            "disabled, "
            "e.g. by running:\n\n>>> with torch.autograd.set_multithreading_enabled(False):\n...     "
            "torch.autograd.grad(...)\n"
        )
    roots, plan = task.roots, task.plan
    due = ready_after(roots, plan)
    order: list[Any] = []
    for node in reversed(reachable([e for e, _ in roots])):
        if plan is None or -node._seq in plan.running or -node._seq in plan.catch:
            order.append(node)
            order += [
                AccumulateGrad.of(leaf)
                for leaf in due.get(-node._seq, ())
                if plan is None or (0, id(leaf)) in plan.live
            ]
    return order


class ImperativeEngine:
    """What PyTorch programs reach as ``Variable._execution_engine``."""

    @staticmethod
    def queue_callback(fn: Callable[[], None]) -> None:
        """See :func:`queue_callback`."""
        queue_callback(fn)
