"""The catalogue of operations, a family a file."""

from typing import Any


def __getattr__(name: str) -> Any:
    if name == "aten":  # PyTorch's ``torch.ops.aten``
        from importlib import import_module

        return import_module(".aten", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
