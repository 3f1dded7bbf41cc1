"""``torch.onnx.symbolic_helper``: decorators of libraries' own export functions, which this exporter does not call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["parse_args"]

F = TypeVar("F", bound=Callable[..., Any])


def parse_args(*arg_descriptors: str) -> Callable[[F], F]:
    """A decorator that leaves a function as it is."""
    return lambda fn: fn
