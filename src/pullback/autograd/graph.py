"""PyTorch's address of the recorded graph: nodes and edges, hooks on several tensors, hooks for saved tensors."""

from __future__ import annotations

from typing import Any

from ..core.graph import AccumulateGrad, GradientEdge, InputMetadata, Node
from ..core.versions import bump_version
from ..core.views import INFERENCE_TENSOR, get_gradient_edge
from ..engine.multi_grad_hook import _MultiHandle, register_multi_grad_hook
from ..engine.saved_tensors import (
    allow_mutation_on_saved_tensors,
    disable_saved_tensors_hooks,
    save_on_cpu,
    saved_tensors_hooks,
)

__all__ = [
    "AccumulateGrad",
    "GradientEdge",
    "InputMetadata",
    "Node",
    "_MultiHandle",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
    "set_warn_on_accumulate_grad_stream_mismatch",
]


def increment_version(tensor: Any) -> None:
    """Note a write into a tensor (or several) that went past Pullback, so that backward notices it."""
    for t in (tensor,) if hasattr(tensor, "_array") else tensor:
        if t._view is not INFERENCE_TENSOR:
            bump_version(t._array)


def set_warn_on_accumulate_grad_stream_mismatch(enabled: bool) -> None:
    """Accepted for compatibility: there are no streams."""
