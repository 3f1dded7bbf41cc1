"""Batching of sorting and counting: results whose shape depends on values."""

from __future__ import annotations

from typing import Any

from ...ops.sort import _unique, _unique_consecutive, bincount
from .registry import batch_rule, for_each_example

batch_rule(bincount)(for_each_example)  # as in PyTorch: an error if the results differ in length

ATEN_NAMES = {_unique.op: "_unique2", _unique_consecutive.op: "unique_consecutive"}


def dynamic_shape_error(op: Any) -> RuntimeError:
    """The error for an operation without a rule whose results would have another shape for each example."""
    return RuntimeError(
        "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over "
        f"aten::{ATEN_NAMES.get(op, op.name)}. Please file an issue at https://github.com/pytorch/pytorch/issues if "
        "you need this feature."
    )
