"""Automatic differentiation: ``backward``, ``grad``, ``Function``, modes, and checks of gradients.

Reverse mode pulls a cotangent back. ``y.backward(gradient=v)`` evaluates ``vᵀ J`` for the Jacobian ``J`` of ``y``: the
seed ``v`` says how much each element of ``y`` counts. For a one-element ``y`` it is 1; for anything else only the
caller knows it.
"""

from __future__ import annotations

import importlib
from typing import Any

from . import graph  # noqa: F401
from . import modes as grad_mode  # noqa: F401
from .modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from .engine import observe  # noqa: F401, I001  (the imports above are what the engine's own imports need)
from .entry import backward, grad

__all__ = [
    "Function", "Variable", "backward", "enable_grad", "functional", "grad", "grad_mode", "gradcheck", "gradgradcheck",
    "graph", "inference_mode", "is_grad_enabled", "is_inference_mode_enabled", "no_grad", "set_grad_enabled",
    "set_multithreading_enabled",
]  # fmt: skip

_LATER = {
    "Function": "function", "FunctionCtx": "function", "gradcheck": "gradcheck", "gradgradcheck": "gradcheck",
    "GradcheckError": "gradcheck", "function": "", "functional": "", "forward_ad": "", "anomaly_mode": "", "profiler": "",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "Variable":
        from ..tensor import Tensor

        return Tensor
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"{__name__}.{_LATER[name] or name}")
    value = globals()[name] = getattr(module, name) if _LATER[name] else module
    return value
