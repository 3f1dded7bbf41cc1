"""``torch.onnx``: models for other programs to run, written with the ``onnx`` package.

The model is run, and what it computes is traced (:mod:`.tracer`). Functions that ONNX has an operator for become that
operator (:mod:`.function_rules`), everything else is traced op by op (:mod:`.op_rules`); :mod:`.exporter` writes the
graph as a model.
"""

from __future__ import annotations

from typing import Any

from . import symbolic_helper as symbolic_helper
from .errors import OnnxExporterError
from .exporter import ONNXProgram, export
from .tracer import is_in_onnx_export

symbolics: dict[str, tuple[Any, int]] = {}  # what libraries registered


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Any, opset_version: int) -> None:
    """Note a library's own export function of an operation; this exporter traces what operations are made of."""
    symbolics[symbolic_name] = symbolic_fn, opset_version


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Forget it."""
    symbolics.pop(symbolic_name, None)


__all__ = ["ONNXProgram", "OnnxExporterError", "export", "is_in_onnx_export"]
