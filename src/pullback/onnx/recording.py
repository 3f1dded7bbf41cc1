"""Running a model and writing down what it computes, as a graph of ONNX's operators.

Arrays are known by their identity. A layer between operations and arithmetic (:mod:`pullback.core.interpose`) sees
every operation; while the model runs, the functions that ONNX has operators for are replaced by ones that write down
the whole function. An array that nobody computed from inputs or parameters is a constant.

The model runs twice, with other inputs the second time. The two recordings have to be the same, constants included:
where a constant differs, something was computed unseen. Sizes that are to vary do so, and so show where they go.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import nn
from ..base.thread_state import no_grad
from ..core import versions, views
from ..core.interpose import Interposer, compute_below
from ..core.record import wrap
from ..core.tensor import Tensor
from . import OnnxExporterError

if TYPE_CHECKING:
    import onnx

running: list[Recording] = []
_adopt, _written = views.write_result, versions.bump_version


class Recording(Interposer):
    """One run: its nodes, and the names of the arrays that it met."""

    def __init__(self) -> None:
        self.nodes: list[tuple[str, list[str], list[str], dict[str, Any]]] = []
        self.names: dict[int, str] = {}
        self.kept: list[Any] = []  # arrays, whose identity must not pass on to others
        self.constants: dict[str, np.ndarray] = {}
        self.parameters: dict[str, np.ndarray] = {}
        self.count = 0
        self.silent = False

    # --- names ----------------------------------------------------------------------------------------------

    def new(self, what: str = "v") -> str:
        self.count += 1
        return f"{what}_{self.count}"

    def bind(self, x: Any, name: str) -> None:
        """Know an array by a name from now on."""
        array = x._array if isinstance(x, Tensor) else x
        self.names[id(array)] = name
        self.kept.append(array)

    def name(self, x: Any, like: Any = None) -> str:
        """The name of an array or a tensor; a number, or an array that is not known, becomes a constant."""
        if isinstance(x, str):
            return x
        array = x._array if isinstance(x, Tensor) else x
        if isinstance(array, np.ndarray):
            if id(array) not in self.names:
                self.bind(array, self.constant(array))
            return self.names[id(array)]
        return self.constant(np.asarray(array, None if like is None else like.dtype))

    def constant(self, value: Any, dtype: Any = None) -> str:
        """A constant that stands in the model."""
        name = self.new("c")
        self.constants[name] = np.array(value, dtype, order="C")
        return name

    def integers(self, values: Any) -> str:
        """A constant of int64: sizes, axes."""
        return self.constant(np.array(values), np.int64)

    # --- nodes ----------------------------------------------------------------------------------------------

    def node(self, kind: str, *inputs: Any, outputs: int = 1, **attributes: Any) -> Any:
        """Add a node. Returns the name of its output, or a list of them; None as an input leaves it out."""
        names = ["" if x is None else self.name(x) for x in inputs]
        while names and not names[-1]:
            names.pop()
        made = [self.new() for _ in range(outputs)]
        self.nodes.append((kind, names, made, {k: v for k, v in attributes.items() if v is not None}))
        return made[0] if outputs == 1 else made

    def compute(self, op: Any, values: Sequence[Any]) -> Any:
        """An operation, computed and written down."""
        out = compute_below(op, values)
        if isinstance(out, np.generic):  # what NumPy makes of a 0-d array
            out = np.asarray(out)
        if not self.silent:
            from .operations import RULES

            if op.name not in RULES:
                raise OnnxExporterError(
                    f"torch.onnx.export: the operation {op.name!r} cannot be exported\n"
                    "  Pullback exports what ONNX has an operator for; detach it, or compute it after the model."
                )
            self.called(RULES[op.name](self, out, *values), out)
        return out

    def called(self, names: Any, out: Any) -> None:
        """Bind the results of an operation or a function to their names."""
        many = isinstance(names, list)
        for x, name in zip(out if many else [out], names if many else [names]):
            if name is not None:
                self.bind(x, name)

    # --- in place -------------------------------------------------------------------------------------------

    def adopt(self, x: Tensor, result: Tensor) -> Tensor:
        """What an operation in place does at its end: from now on the array is known as the result."""
        name, self.silent = self.name(result), True
        try:
            adopted = _adopt(x, result)
        finally:
            self.silent = False
        if self._seen_elsewhere(x._array):
            self._refuse_writing()
        self.bind(x, name)
        return adopted

    def written(self, *arrays: np.ndarray) -> None:
        """Writing in any other way is refused, unless what is written into is a constant so far."""
        _written(*arrays)
        for array in arrays if not self.silent else ():
            known = self.names.get(id(array), "c_")
            if not known.startswith("c_") or self._seen_elsewhere(array):
                self._refuse_writing()
            self.names.pop(id(array), None)

    def _seen_elsewhere(self, array: np.ndarray) -> bool:
        """Whether something that was recorded looks at the same memory."""
        owner = versions.owner_of(array)
        others = [a for a in self.kept if a is not array and versions.owner_of(a) is owner]
        return any(not self.names.get(id(a), "c_").startswith("c_") for a in others)

    @staticmethod
    def _refuse_writing() -> None:
        raise OnnxExporterError(
            "torch.onnx.export: writing into a part of a tensor, or into one of which there are views, cannot be "
            "exported\n"
            "  Use the form that is not in place, torch.where or torch.cat."
        )

    def whole(self, fn: Callable, rule: Callable) -> Callable:
        """A function that is written down as one."""
        signature = inspect.signature(fn)

        @functools.wraps(fn)
        def call(*args: Any, **kwargs: Any) -> Any:
            if self.silent:
                return fn(*args, **kwargs)
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            self.silent = True
            try:
                out = fn(*args, **kwargs)
            finally:
                self.silent = False
            self.called(rule(self, out, **bound.arguments), out)
            return out

        return call


@contextmanager
def _watching(recording: Recording) -> Iterator[None]:
    """Inside, functions on the list are written down as a whole."""
    from .functions import RULES

    before = {place: getattr(*place) for place in RULES}
    for (space, name), rule in RULES.items():
        setattr(space, name, recording.whole(getattr(space, name), rule))
    places = views.write_result, versions.bump_version
    views.write_result, versions.bump_version = recording.adopt, recording.written  # type: ignore[assignment]  # writes are all of arrays here
    running.append(recording)
    try:
        with recording, no_grad():
            yield
    finally:
        running.pop()
        views.write_result, versions.bump_version = places
        for (space, name), fn in before.items():
            setattr(space, name, fn)


# --- from inputs to outputs ---------------------------------------------------------------------------------


def _tensors(x: Any) -> Iterator[Tensor]:
    """The tensors in an argument or result, in order."""
    if isinstance(x, Tensor):
        yield x
    elif isinstance(x, dict):
        for value in x.values():
            yield from _tensors(value)
    elif isinstance(x, list | tuple):
        for value in x:
            yield from _tensors(value)


def _replaced(x: Any, by: Iterator[Tensor]) -> Any:
    """An argument with other tensors in the place of its own."""
    if isinstance(x, Tensor):
        return next(by)
    if isinstance(x, dict):
        return {k: _replaced(v, by) for k, v in x.items()}
    if isinstance(x, list | tuple):
        parts = [_replaced(v, by) for v in x]
        return type(x)(*parts) if hasattr(x, "_fields") else type(x)(parts)
    return x


def _run(model: Any, args: Any, inputs: list[tuple[str, np.ndarray]]) -> tuple[Recording, list[Tensor]]:
    recording = Recording()
    if isinstance(model, nn.Module):
        for name, t in [*model.named_parameters(), *model.named_buffers()]:
            recording.bind(t, name)
            recording.parameters[name] = t._array
    tensors = [wrap(array) for _, array in inputs]
    for (name, array), tensor in zip(inputs, tensors):
        recording.bind(array, name)
        recording.bind(tensor, name)
    given, options = _replaced(args, iter(tensors))
    with _watching(recording):
        outputs = list(_tensors(model(*given, **options)))
    return recording, outputs


def recorded(
    model: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    input_names: list[str],
    output_names: list[str],
    axes: Any,
    opset: int,
) -> onnx.ModelProto:
    """The model of what `model` computes for these inputs."""
    import onnx

    arrays = [t.detach()._array for t in _tensors((args, kwargs))]
    names = input_names + [f"input_{i}" for i in range(len(input_names), len(arrays))]
    varying = _varying(axes, names)
    training = getattr(model, "training", False)
    if training:
        model.eval()
    try:
        first, results = _run(model, (args, kwargs), list(zip(names, [a.copy() for a in arrays])))
        other = [_other(array, varying.get(name, {})) for name, array in zip(names, arrays)]
        second, again = _run(model, (args, kwargs), list(zip(names, other)))
    finally:
        if training:
            model.train()
    _agree(first, second)
    called = output_names + [f"output_{i}" for i in range(len(output_names), len(results))]
    outputs = []
    for name, out, repeat in zip(called, results, again):
        first.nodes.append(("Identity", [first.name(out)], [name], {}))
        shape: list[Any] = list(out.shape)
        for d, (a, b) in enumerate(zip(out.shape, repeat.shape)):
            if a != b:
                shape[d] = varying.get(name, {}).get(d, f"{name}_{d}")
        outputs.append(onnx.helper.make_tensor_value_info(name, _kind(out._array.dtype), shape))
    return _model(first, list(zip(names, arrays)), outputs, varying, opset)


def _varying(axes: Any, names: list[str]) -> dict[str, dict[int, str]]:
    """Which dimensions of which inputs and outputs may vary, and what they are called."""
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


def _other(array: np.ndarray, varying: dict[int, str]) -> np.ndarray:
    """Other values for an input, of another size where that may vary."""
    for d in varying:
        array = np.concatenate([array, array.take([0], d)], d)
    if array.dtype.kind in "fc":
        return (np.flip(array) * 0.75 + 0.125).astype(array.dtype)
    return np.flip(array).copy()


def _agree(first: Recording, second: Recording) -> None:
    """Check that two runs did the same, and let sizes that vary do so."""
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


def _kind(dtype: np.dtype) -> int:
    """ONNX's number for a type."""
    from onnx import helper

    return helper.np_dtype_to_tensor_dtype(dtype)


def _model(
    recording: Recording,
    inputs: list[tuple[str, np.ndarray]],
    outputs: list[Any],
    varying: dict[str, dict[int, str]],
    opset: int,
) -> onnx.ModelProto:
    import onnx
    from onnx import helper, numpy_helper

    nodes = [
        helper.make_node(kind, ins, outs, f"{kind}_{i}", **attributes)
        for i, (kind, ins, outs, attributes) in enumerate(recording.nodes)
    ]
    used = {name for _, ins, *_ in recording.nodes for name in ins}
    stored = [(name, array) for name, array in (recording.parameters | recording.constants).items() if name in used]
    given = [
        helper.make_tensor_value_info(
            name, _kind(array.dtype), [varying.get(name, {}).get(d, n) for d, n in enumerate(array.shape)]
        )
        for name, array in inputs
    ]
    graph = helper.make_graph(
        nodes, "main", given, outputs, [numpy_helper.from_array(np.array(a, order="C"), name) for name, a in stored]
    )
    model = helper.make_model(graph, producer_name="pullback", opset_imports=[helper.make_opsetid("", opset)])
    model.ir_version = min(model.ir_version, 10)  # which older runtimes read, too
    onnx.checker.check_model(model)
    return model
