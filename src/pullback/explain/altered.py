"""Runs a program as it would be without a ``detach()``, or with other learning rates: what replaying the rules of one
pass cannot tell, since what a rule needs was not kept there, or since the parameters would have been others.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..core.graph import user_frame
from ..core.tensor import Tensor, on_detach
from ..optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

Lines = int | str | Sequence[int | str]


@contextmanager
def attached(lines: Lines) -> Iterator[None]:
    """Context manager in which calls of ``detach()`` and ``detach_()`` at these lines of the program cut nothing.

    Args:
        lines: numbers, or texts such as ``"train.py:12"``.
    """
    those = {lines} if isinstance(lines, (int, str)) else {*lines}

    def keep(tensor: Tensor, how: str) -> Tensor | None:
        frame = user_frame(sys._getframe(1))
        if frame is None or how == ".data" or tensor._fn is None:
            return None
        line, file = frame.f_lineno, frame.f_code.co_filename
        here = {line, f"{file}:{line}", f"{Path(file).name}:{line}"}
        return None if those.isdisjoint(here) else tensor.view_as(tensor)

    on_detach.insert(0, keep)
    try:
        yield
    finally:
        on_detach.remove(keep)


@contextmanager
def other_rates(factor: float) -> Iterator[None]:
    """Context manager in which every optimizer steps with so many times its learning rates. Schedulers, and the program
    between steps, see the rates that they set.
    """
    held: list[tuple[dict[str, Any], Any]] = []

    def change(optimizer: Any, args: Any, kwargs: Any) -> None:
        restore()  # after a step that raised
        for group in optimizer.param_groups:
            if group.get("lr") is not None:
                held.append((group, group["lr"]))
                group["lr"] = group["lr"] * factor

    def restore(*_: Any) -> None:
        while held:
            group, rate = held.pop()
            group["lr"] = rate

    hooks = register_optimizer_step_pre_hook(change), register_optimizer_step_post_hook(restore)
    try:
        yield
    finally:
        restore()
        for hook in hooks:
            hook.remove()
