"""Automatic differentiation: ``backward``, ``grad``, ``Function``, modes, and checks of gradients.

Reverse mode pulls a cotangent back. ``y.backward(gradient=v)`` evaluates ``vᵀ J`` for the Jacobian ``J`` of ``y``: the
seed ``v`` says how much each element of ``y`` counts. For a one-element ``y`` it is 1; for anything else only the
caller knows it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ..base import thread_state as grad_mode
from ..base.thread_state import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    is_multithreading_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
    zero_times_inf_is_zero,
)
from ..core.versions import _unsafe_preserve_version_counter
from ..engine.api import backward, grad
from ..engine.hooks import observe
from .gradcheck import GradcheckError, gradcheck, gradgradcheck  # noqa: F401  (of the same name as its module: not later)

__all__ = [
    "Function",
    "Variable",
    "backward",
    "detect_anomaly",
    "detect_nan",
    "enable_grad",
    "functional",
    "grad",
    "grad_mode",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
    "zero_times_inf_is_zero",
]

_LATER = {
    "Function": "function",
    "FunctionCtx": "function",
    "SavedTensor": "..engine.saved_tensors",
    "detect_anomaly": "..engine.anomaly",
    "detect_nan": "..engine.anomaly",
    "set_detect_anomaly": "..engine.anomaly",
    "function": "",
    "graph": "",
    "functional": "",
    "forward_ad": "",
    "anomaly_mode": "",
    "profiler": "",
    "variable": "",
    "_profiler_enabled": "profiler",
}

if TYPE_CHECKING:
    from ..core.tensor import Tensor as Variable
    from ..engine import anomaly as anomaly_mode
    from ..engine.anomaly import detect_anomaly, detect_nan, set_detect_anomaly
    from ..engine.saved_tensors import SavedTensor as SavedTensor
    from ..levels import forward as forward_ad
    from . import function as function
    from . import functional, graph
    from . import profiler as profiler
    from . import variable as variable
    from .function import Function
    from .function import FunctionCtx as FunctionCtx
else:

    def __getattr__(name: str) -> Any:
        if name == "Variable":
            from ..core.tensor import Tensor
            from ..engine.current_task import ImperativeEngine

            Tensor._execution_engine = ImperativeEngine
            return Tensor
        if name not in _LATER:
            from ..base.errors import no_attribute

            raise no_attribute(__name__, name)
        home = _LATER[name] or name
        module = importlib.import_module(home if home.startswith(".") else f".{home}", __name__)
        value = globals()[name] = getattr(module, name) if _LATER[name] else module
        return value
