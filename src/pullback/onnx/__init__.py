"""``torch.onnx``: models for other programs to run, written with the ``onnx`` package.

The model is run, and what it computes is traced (:mod:`.tracer`). Functions that ONNX has an operator for become that
operator (:mod:`.function_rules`), everything else is traced op by op (:mod:`.op_rules`); :mod:`.exporter` writes the
graph as a model.
"""

from __future__ import annotations

from .errors import OnnxExporterError
from .exporter import ONNXProgram, export
from .tracer import is_in_onnx_export

__all__ = ["ONNXProgram", "OnnxExporterError", "export", "is_in_onnx_export"]
