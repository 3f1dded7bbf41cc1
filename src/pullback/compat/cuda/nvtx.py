"""``torch.cuda.nvtx``: profiler ranges; refused as in a build of PyTorch without CUDA."""

from __future__ import annotations

from contextlib import ContextDecorator
from typing import Any

from ..unavailable import refusing

__all__ = ["mark", "range", "range_pop", "range_push"]

mark, range_pop, range_push = (
    refusing(name, lambda: RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?"))
    for name in ("mark", "range_pop", "range_push")
)


class range(ContextDecorator):
    """A block, or a function, that is shown as a range. Libraries decorate with it; entering it is refused."""

    def __init__(self, msg: str, *args: Any, **kwargs: Any) -> None:
        self.message = msg.format(*args, **kwargs)

    def __enter__(self) -> None:
        range_push(self.message)

    def __exit__(self, *exc: object) -> None: ...
