"""``torch.onnx``: models for other programs to run, written with the ``onnx`` package.

The model is run, and what it computes is recorded (:mod:`.recording`). Layers become the operators that ONNX has for
them (:mod:`.functions`), everything else is recorded operation by operation (:mod:`.operations`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..base.errors import with_notes

if TYPE_CHECKING:
    import onnx

__all__ = ["ONNXProgram", "OnnxExporterError", "export", "is_in_onnx_export"]

OPSET = 20


class OnnxExporterError(RuntimeError):
    """The model does something that cannot be written as ONNX, or not yet."""


class ONNXProgram:
    """What :func:`export` returns.

    Attributes:
        model_proto: the model, as the ``onnx`` package has it.
    """

    def __init__(self, model_proto: onnx.ModelProto) -> None:
        self.model_proto = model_proto

    def save(self, destination: str | os.PathLike[str], **options: Any) -> None:
        """Write the model into a file."""
        with open(destination, "wb") as file:
            file.write(self.model_proto.SerializeToString())


def is_in_onnx_export() -> bool:
    """Whether :func:`export` is running a model."""
    from .recording import running

    return bool(running)


def export(
    model: Any,
    args: Any = (),
    f: Any = None,
    *,
    kwargs: dict[str, Any] | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    opset_version: int | None = None,
    dynamic_axes: Any = None,
    dynamic_shapes: Any = None,
    verbose: bool | None = None,
    **options: Any,
) -> ONNXProgram:
    """Write a module, or a function of tensors, as an ONNX model.

    Args:
        model: it is run in evaluation mode, twice: what a second run with other inputs computes differently, and was
            not recorded, is an error rather than a constant.
        args: the inputs to run it with: a tensor, or a tuple of arguments; ``None`` and numbers stay as they are.
        f: the file to write, by its path or open. kwargs: more inputs, by name.
        input_names, output_names: what to call them.
        opset_version: the version of ONNX's operators, at least 20.
        dynamic_axes: ``{input: {dimension: name}}`` or ``{input: [dimension]}``: sizes that may vary. What the model
            makes of such a size may be one dimension of a reshape, no more.
        dynamic_shapes: the same, as newer versions of PyTorch have it.
        verbose, options: accepted.

    Returns:
        the program, whose ``model_proto`` is the model.

    Raises:
        ModuleNotFoundError: the ``onnx`` package is not installed.
        OnnxExporterError: the model does something that cannot be exported; it says what.
    """
    try:
        import onnx  # noqa: F401
    except ModuleNotFoundError as error:
        raise with_notes(
            ModuleNotFoundError("torch.onnx.export needs the package 'onnx'", name="onnx"), "pip install onnx"
        ) from error
    from .recording import recorded

    if opset_version is not None and opset_version < OPSET:
        opset_version = OPSET  # what is written is of that version
    given = args if isinstance(args, tuple) else (args,)
    axes = dynamic_axes if dynamic_axes is not None else dynamic_shapes
    proto = recorded(
        model, given, kwargs or {}, list(input_names or ()), list(output_names or ()), axes, opset_version or OPSET
    )
    program = ONNXProgram(proto)
    if isinstance(f, str | os.PathLike):
        program.save(f)
    elif f is not None:
        f.write(proto.SerializeToString())
    return program
