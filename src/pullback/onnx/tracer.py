"""Traces a model for export: runs it, and adds an ONNX node for each op or function that it calls.

A :class:`Tracer` is an interposer below autograd (:mod:`pullback.core.interpose`), so it sees every op that
computes. While the model runs, functions that have an ONNX operator of their own (:mod:`.function_rules`) are replaced
by wrappers that add that operator's node, and the ops inside them are not traced.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from .. import nn
from ..base.thread_state import no_grad
from ..core import versions, views
from ..core.interpose import Interposer, compute_below
from ..core.record import wrap
from ..core.tensor import Tensor
from .errors import OnnxExporterError
from .function_rules import PATCHED, onnx_function_rule
from .graph_builder import GraphBuilder
from .op_rules import onnx_rule

running: list[Tracer] = []
_write_result, _bump_version = views.write_result, versions.bump_version


def is_in_onnx_export() -> bool:
    """Whether :func:`pullback.onnx.export` is running a model."""
    return bool(running)


class Tracer(GraphBuilder, Interposer):
    """One run of a model, as a graph.

    Attributes:
        paused: whether the ops that run now are not traced: they are part of a function that is traced as a whole.
    """

    def __init__(self) -> None:
        super().__init__()
        self.paused = False

    def compute(self, op: Any, values: Sequence[Any]) -> Any:
        """Compute an op, and add its node."""
        out = compute_below(op, values)
        if isinstance(out, np.generic):  # what NumPy makes of a 0-d array
            out = np.asarray(out)
        if not self.paused:
            rule = onnx_rule.get(op)
            if rule is None:
                raise OnnxExporterError(
                    f"torch.onnx.export: the operation {op.name!r} cannot be exported\n"
                    "  Pullback exports what ONNX has an operator for; detach it, or compute it after the model."
                )
            self.bind_results(rule(self, out, *values), out)
        return out

    def wrap_function(self, fn: Callable, rule: Callable) -> Callable:
        """A function that is traced as a whole, by its own rule."""
        signature = inspect.signature(fn)

        @functools.wraps(fn)
        def call(*args: Any, **kwargs: Any) -> Any:
            if self.paused:
                return fn(*args, **kwargs)
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            self.paused = True
            try:
                out = fn(*args, **kwargs)
            finally:
                self.paused = False
            self.bind_results(rule(self, out, **bound.arguments), out)
            return out

        return call

    # --- in place -------------------------------------------------------------------------------------------

    def write_result(self, x: Tensor, result: Tensor) -> Tensor:
        """The end of an op in place: from now on the array goes by the name of the result."""
        name, self.paused = self.name(result), True
        try:
            written = _write_result(x, result)
        finally:
            self.paused = False
        if self._has_traced_alias(x._array):
            self._refuse_writing()
        self.bind(x, name)
        return written

    def bump_version(self, *arrays: np.ndarray) -> None:
        """Refuse any other write, unless it is into a constant."""
        _bump_version(*arrays)
        for array in arrays if not self.paused else ():
            known = self.names.get(id(array), "c_")
            if not known.startswith("c_") or self._has_traced_alias(array):
                self._refuse_writing()
            self.names.pop(id(array), None)

    def _has_traced_alias(self, array: np.ndarray) -> bool:
        """Whether another array that was traced shares this one's memory."""
        owner = versions.owner_of(array)
        others = [a for a in self.named if a is not array and versions.owner_of(a) is owner]
        return any(not self.names.get(id(a), "c_").startswith("c_") for a in others)

    @staticmethod
    def _refuse_writing() -> None:
        raise OnnxExporterError(
            "torch.onnx.export: writing into a part of a tensor, or into one of which there are views, cannot be "
            "exported\n"
            "  Use the form that is not in place, torch.where or torch.cat."
        )


@contextmanager
def _tracing(tracer: Tracer) -> Iterator[None]:
    """Trace what runs inside."""
    before = {place: getattr(*place) for place in PATCHED}
    for (space, name), fn in before.items():
        setattr(space, name, tracer.wrap_function(fn, onnx_function_rule[PATCHED[space, name]]))
    before_writes = views.write_result, versions.bump_version
    views.write_result, versions.bump_version = tracer.write_result, tracer.bump_version  # type: ignore[assignment]  # writes are all of arrays here
    running.append(tracer)
    try:
        with tracer, no_grad():
            yield
    finally:
        running.pop()
        views.write_result, versions.bump_version = before_writes
        for (space, name), fn in before.items():
            setattr(space, name, fn)


def tensors_in(x: Any) -> Iterator[Tensor]:
    """The tensors in an argument or result, in order."""
    if isinstance(x, Tensor):
        yield x
    elif isinstance(x, dict):
        for value in x.values():
            yield from tensors_in(value)
    elif isinstance(x, list | tuple):
        for value in x:
            yield from tensors_in(value)


def _with_tensors(x: Any, tensors: Iterator[Tensor]) -> Any:
    """An argument whose tensors are replaced, in order."""
    if isinstance(x, Tensor):
        return next(tensors)
    if isinstance(x, dict):
        return {k: _with_tensors(v, tensors) for k, v in x.items()}
    if isinstance(x, list | tuple):
        items = [_with_tensors(v, tensors) for v in x]
        return type(x)(*items) if hasattr(x, "_fields") else type(x)(items)
    return x


def trace(model: Any, args: Any, inputs: list[tuple[str, np.ndarray]]) -> tuple[Tracer, list[Tensor]]:
    """Run a model on these inputs. Returns its graph and its outputs.

    Args:
        model: a module or a function.
        args: (positional arguments, keyword arguments), whose tensors the inputs replace.
        inputs: names and values of the inputs.
    """
    tracer = Tracer()
    if isinstance(model, nn.Module):
        for name, t in [*model.named_parameters(), *model.named_buffers()]:
            tracer.bind(t, name)
            tracer.parameters[name] = t._array
    tensors = [wrap(array) for _, array in inputs]
    for (name, array), tensor in zip(inputs, tensors):
        tracer.bind(array, name)
        tracer.bind(tensor, name)
    given, options = _with_tensors(args, iter(tensors))
    with _tracing(tracer):
        outputs = list(tensors_in(model(*given, **options)))
    return tracer, outputs
