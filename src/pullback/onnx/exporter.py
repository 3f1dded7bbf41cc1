"""``torch.onnx.export``: traces a model twice, compares the two graphs, and writes an ONNX model.

The second trace has other inputs. The two graphs have to be the same, constants included: where a constant differs,
something was computed that the tracer did not see. Sizes that are to vary do so, and so show where they go.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import with_notes
from ..serialization.save_load import replacing
from .errors import OnnxExporterError
from .graph_builder import GraphBuilder, tensor_type
from .tracer import tensors_in, trace

if TYPE_CHECKING:
    import onnx

OPSET = 20


class ONNXProgram:
    """What :func:`export` returns.

    Attributes:
        model_proto: the model, as the ``onnx`` package has it.
    """

    def __init__(self, model_proto: onnx.ModelProto) -> None:
        self.model_proto = model_proto

    def save(self, destination: str | os.PathLike[str], **options: Any) -> None:
        """Write the model into a file."""
        with replacing(destination) as file:
            file.write(self.model_proto.SerializeToString())


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
        import onnx  # noqa: F401  # deferred: optional, and slow to import
    except ModuleNotFoundError as error:
        raise with_notes(
            ModuleNotFoundError("torch.onnx.export needs the package 'onnx'", name="onnx"), "pip install onnx"
        ) from error
    if opset_version is not None and opset_version < OPSET:
        opset_version = OPSET  # what is written is of that version
    given = args if isinstance(args, tuple) else (args,)
    axes = dynamic_axes if dynamic_axes is not None else dynamic_shapes
    proto = _export(
        model, given, kwargs or {}, list(input_names or ()), list(output_names or ()), axes, opset_version or OPSET
    )
    program = ONNXProgram(proto)
    if isinstance(f, str | os.PathLike):
        program.save(f)
    elif f is not None:
        f.write(proto.SerializeToString())
    return program


# --- from traces to a model --------------------------------------------------------------------------------


def _export(
    model: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    input_names: list[str],
    output_names: list[str],
    axes: Any,
    opset: int,
) -> onnx.ModelProto:
    """The ONNX model of what `model` computes for these inputs."""
    import onnx  # deferred, as above

    arrays = [t.detach()._array for t in tensors_in((args, kwargs))]
    names = input_names + [f"input_{i}" for i in range(len(input_names), len(arrays))]
    varying = _dynamic_dims(axes, names)
    training = getattr(model, "training", False)
    if training:
        model.eval()
    try:
        first, results = trace(model, (args, kwargs), list(zip(names, [a.copy() for a in arrays])))
        other = [_perturbed(array, varying.get(name, {})) for name, array in zip(names, arrays)]
        second, again = trace(model, (args, kwargs), list(zip(names, other)))
    finally:
        if training:
            model.train()
    _check_same(first, second)
    called = output_names + [f"output_{i}" for i in range(len(output_names), len(results))]
    outputs = []
    for name, out, repeat in zip(called, results, again):
        first.nodes.append(("Identity", [first.name(out)], [name], {}))
        shape: list[Any] = list(out.shape)
        for d, (a, b) in enumerate(zip(out.shape, repeat.shape)):
            if a != b:
                shape[d] = varying.get(name, {}).get(d, f"{name}_{d}")
        outputs.append(onnx.helper.make_tensor_value_info(name, tensor_type(out._array.dtype), shape))
    return _model(first, list(zip(names, arrays)), outputs, varying, opset)


def _dynamic_dims(axes: Any, names: list[str]) -> dict[str, dict[int, str]]:
    """Which dimensions of which inputs and outputs may vary, and their names."""
    if isinstance(axes, list | tuple):
        axes = dict(zip(names, axes))
    found = {}
    for name, dims in (axes or {}).items():
        if isinstance(dims, dict):
            found[name] = {
                d: label if isinstance(label, str) else f"{name}_{d}" for d, label in dims.items() if label is not None
            }
        else:
            found[name] = {d: f"{name}_{d}" for d in dims or ()}
    return found


def _perturbed(array: np.ndarray, varying: dict[int, str]) -> np.ndarray:
    """Other values for an input, of another size where that may vary."""
    for d in varying:
        array = np.concatenate([array, array.take([0], d)], d)
    if array.dtype.kind in "fc":
        return (np.flip(array) * 0.75 + 0.125).astype(array.dtype)
    return np.flip(array).copy()


def _check_same(first: GraphBuilder, second: GraphBuilder) -> None:
    """Check that two traces are the same graph; a size that varies becomes -1 in the first."""
    if [(kind, inputs) for kind, inputs, *_ in first.nodes] != [(kind, inputs) for kind, inputs, *_ in second.nodes]:
        raise OnnxExporterError(
            "torch.onnx.export: with other inputs the model takes other steps\n"
            "  ONNX has the steps of one run. Choose by torch.where instead of `if`."
        )
    for name, value in first.constants.items():
        other = second.constants[name]
        if value.shape == other.shape and np.array_equal(value, other, equal_nan=value.dtype.kind in "fc"):
            continue
        kinds = [kind for kind, inputs, *_ in first.nodes if name in inputs]
        changed: Any = np.flatnonzero(value != other) if value.shape == other.shape else ()
        if kinds == ["Reshape"] and len(changed) == 1:
            value[changed[0]] = -1
            continue
        raise OnnxExporterError(
            f"torch.onnx.export: an input of {', '.join(kinds)} depends on the model's inputs in a way that is not "
            "recorded\n"
            "  It was made from values or sizes by Python or NumPy, or by mixing types: convert with .to() first; for "
            "a size that varies, give that dimension as -1."
        )


def _model(
    graph: GraphBuilder,
    inputs: list[tuple[str, np.ndarray]],
    outputs: list[Any],
    varying: dict[str, dict[int, str]],
    opset: int,
) -> onnx.ModelProto:
    import onnx  # deferred, as above
    from onnx import helper, numpy_helper

    nodes = [
        helper.make_node(kind, ins, outs, f"{kind}_{i}", **attributes)
        for i, (kind, ins, outs, attributes) in enumerate(graph.nodes)
    ]
    used = {name for _, ins, *_ in graph.nodes for name in ins}
    stored = [(name, array) for name, array in (graph.parameters | graph.constants).items() if name in used]
    given = [
        helper.make_tensor_value_info(
            name, tensor_type(array.dtype), [varying.get(name, {}).get(d, n) for d, n in enumerate(array.shape)]
        )
        for name, array in inputs
    ]
    proto = helper.make_graph(
        nodes, "main", given, outputs, [numpy_helper.from_array(np.array(a, order="C"), name) for name, a in stored]
    )
    model = helper.make_model(proto, producer_name="pullback", opset_imports=[helper.make_opsetid("", opset)])
    model.ir_version = min(model.ir_version, 10)  # which older runtimes read, too
    onnx.checker.check_model(model)
    return model
