"""Hooks on several tensors at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from ..base import forks
from ..base.handles import RemovableHandle
from ..core.views import get_gradient_edge
from .current_task import task_id, will_execute


class _MultiHandle(RemovableHandle):
    """Removes the hooks that :func:`register_multi_grad_hook` put on each tensor."""

    def __init__(self, handles: Sequence[RemovableHandle]) -> None:
        self.handles = tuple(handles)

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()

    def __getstate__(self) -> Any:
        return self.handles

    def __setstate__(self, state: Any) -> None:
        self.handles = state


def register_multi_grad_hook(
    tensors: Sequence[Any], fn: Callable[..., Any], *, mode: Literal["all", "any"] = "all"
) -> RemovableHandle:
    """Call a hook when gradients of several tensors have been computed in one backward.

    Args:
        tensors: those that require grad count.
        fn: with ``mode="all"``, takes the list of gradients, in the order of ``tensors``, once the last of those that
            this backward computes is there (None for the others). With ``"any"``, takes the first gradient.

    Returns:
        A handle that removes it.

    >>> import pullback as torch
    >>> a, b = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    >>> handle = torch.autograd.graph.register_multi_grad_hook((a, b), lambda grads: print(grads))
    >>> (a + 2 * b).backward()
    [tensor([1.]), tensor([2.])]
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    lock = forks.lock(forks.Order.STATE)  # backward may run in several threads at once
    if mode == "any":
        fired: set[int] = set()

        def first(grad: Any) -> None:
            with lock:
                task = task_id()
                if task in fired:
                    return
                fired.add(task)
            fn(grad)

        return _MultiHandle([t.register_hook(first) for t in tensors if t.requires_grad])

    nodes = [get_gradient_edge(t).node if t.requires_grad else None for t in tensors]
    # for each backward: how many gradients are still to come, and those there are
    waiting: dict[int, tuple[int, list[Any]]] = {}

    def hook_of(position: int) -> Callable[[Any], None]:
        def arrived(grad: Any) -> None:
            task = task_id()
            with lock:
                missing, grads = waiting.get(task) or (
                    sum(n is not None and will_execute(n) for n in nodes),
                    [None] * len(nodes),
                )
                grads[position] = grad
                missing -= 1
                waiting[task] = missing, grads
                if missing == 0:
                    del waiting[task]
            if missing == 0:
                fn(grads)

        return arrived

    return _MultiHandle([t.register_hook(hook_of(i)) for i, t in enumerate(tensors) if t.requires_grad])
