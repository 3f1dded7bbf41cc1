"""``torch.export``: names of sizes that vary; programs themselves are exported by ``torch.onnx``."""

from __future__ import annotations

from typing import Any, NoReturn

from ..base.errors import with_notes

__all__ = ["Dim", "export"]


class Dim:
    """The name of a size that varies, for ``dynamic_shapes``.

    Args:
        name: what it is called.
        min, max: its bounds.

    >>> import pullback as torch
    >>> torch.export.Dim("batch", max=64)
    Dim('batch', min=0, max=64)
    """

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:
        self.min, self.max = 0 if min is None else min, max
        if not name.isidentifier():
            raise ValueError(f"Dim name must be a valid identifier, got {name}")
        if max is not None and max <= self.min:
            raise ValueError(f"Cannot create Dim with inconsistent min={self.min}, max={max}")
        self.__name__ = name

    def __repr__(self) -> str:
        return f"Dim('{self.__name__}', min={self.min}, max={'int_oo' if self.max is None else self.max})"


def export(*args: Any, **kwargs: Any) -> NoReturn:
    """Refused."""
    raise with_notes(
        NotImplementedError("torch.export.export: there are no exported programs of PyTorch's kind here"),
        "torch.onnx.export writes a model that other programs run; torch.fx.symbolic_trace gives a graph.",
    )
