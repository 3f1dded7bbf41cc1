"""The backward that is running, as hooks and backward functions may ask about it.

The engine keeps no record of where it is, since that would cost every node something. Its frame on the stack does.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from typing import Any

from ..base import thread_state
from ..core.graph import AccumulateGrad, Node
from . import engine
from .plan import reachable, ready_after

_ids = itertools.count().__next__


def backward(*inside: Callable) -> dict[str, Any] | None:
    """The local variables of the innermost backward that runs in this thread, or of a function inside of it; None
    outside of any.
    """
    frame: Any = sys._getframe(1)
    codes = [fn.__code__ for fn in (engine.run, *inside)]
    while frame is not None:
        if frame.f_code in codes:
            return frame.f_locals
        frame = frame.f_back
    return None


def task_id() -> int:
    """A number for the backward that runs, another for each; -1 outside."""
    run = backward()
    if run is None:
        return -1
    extras = run["extras"]
    if "id" not in extras:
        extras["id"] = _ids()
    return extras["id"]


def current_node() -> Any:
    """The node whose rule, or hook, is running; None outside."""
    at = backward(engine.apply_joint_vjp)
    return None if at is None else at.get("node")


def keeps_graph() -> bool:
    """Whether the backward that runs was asked to retain the graph."""
    run = backward()
    return run is None or run["retain"]


def queue_callback(fn: Callable[[], None]) -> None:
    """Call ``fn`` when the backward that runs is done.

    Raises:
        RuntimeError: if none is running.
    """
    run = backward()
    if run is None:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    run["extras"].setdefault("callbacks", []).append(fn)


def will_execute(node: Any) -> bool:
    """Whether the backward that runs has run this node, or will.

    Raises:
        RuntimeError: outside of backward, for what is no node, and for a leaf while gradients are returned.
    """
    if not isinstance(node, (Node, AccumulateGrad)):
        raise RuntimeError(f"_will_engine_execute_node expects an grad_fn, but got {type(node).__name__}")
    run = backward()
    if run is None:
        raise RuntimeError("_get_should_execute_nodes should only be called during the backward pass")
    plan = run["plan"]
    leaf = isinstance(node, AccumulateGrad)
    if leaf and not run["accumulate"]:
        raise RuntimeError(
            "A leaf node was passed to _will_engine_execute_node but we are currently running autograd.grad(). This is "
            "currently not supported."
        )
    if plan is not None:
        if not leaf:
            return -node._seq in plan.running or -node._seq in plan.catch
        if (0, id(node.variable)) not in plan.live:
            return False
    extras = run["extras"]
    if "nodes" not in extras:
        found = reachable([e for e, _ in run["roots"]])
        extras["nodes"] = {n._seq for n in found}
        extras["leaves"] = {id(e) for n in found for e in n._edges if e is not None and e._seq == 0}
        extras["leaves"].update(id(e) for e, _ in run["roots"] if e._seq == 0)
    return id(node.variable) in extras["leaves"] if leaf else node._seq in extras["nodes"]


def execution_order() -> list[Any]:
    """The nodes of the backward that runs, in the order in which they run.

    Raises:
        RuntimeError: outside of backward, and unless ``set_multithreading_enabled(False)`` is on.
    """
    run = backward()
    if run is None:
        raise RuntimeError("_current_graph_task_execution_order should only be called during the backward pass")
    if thread_state.local.multithreading:
        raise RuntimeError(
            "get_current_graph_task_execution_order expects the current backward to be executed with multithreading "
            "disabled, "
            "e.g. by running:\n\n>>> with torch.autograd.set_multithreading_enabled(False):\n...     "
            "torch.autograd.grad(...)\n"
        )
    roots, plan = run["roots"], run["plan"]
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
