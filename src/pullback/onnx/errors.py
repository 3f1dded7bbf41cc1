"""``torch.onnx.errors``: what an export raises."""

from __future__ import annotations


class OnnxExporterError(RuntimeError):
    """The model does something that cannot be written as ONNX, or not yet."""
