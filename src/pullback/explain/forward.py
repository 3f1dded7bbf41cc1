"""The values of a forward pass, as far as its nodes kept them: for numbers in formulas, and for the origin of a NaN."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..core.graph import Node
from ..core.versions import write_after
from ..engine.plan import capture_key, reachable
from .recorder import Pass


class Operand(NamedTuple):
    """One operand of a node: its name, its value if that is known, and whether it is known at all."""

    name: str
    value: Any
    edge: Any
    known: bool


class Forward:
    """What is known of the values of a forward pass: saved operands and results, leaves, and what can be computed of
    them again.
    """

    def __init__(self, recorded: Pass) -> None:
        self.recorded = recorded
        self.nodes = sorted(reachable([e for e, _ in recorded.roots]), key=lambda node: node._seq)
        self.kept: dict[int, Any] = {t.node._seq: t.saved for t in recorded.visits}
        self.results: dict[tuple[int, int], Any] = {}
        if len(recorded.outputs) == len(recorded.roots):
            for (e, _), array in zip(recorded.roots, recorded.outputs):
                self.results[capture_key(e)] = array
        self.values: dict[int, dict[str, Any]] = {}  # by node: saved operands, by name
        for node in self.nodes:
            self._read(node)
        for node in self.nodes:
            if node._shape.__class__ is not list and (-node._seq, -1) not in self.results:
                out = self._computed(node)
                if out is not None:
                    self.results[-node._seq, -1] = out

    def _read(self, node: Node) -> None:
        op, values = node._op, self.kept.get(node._seq)
        if op is None or values is None or op.takes_tensor_list:
            return
        for (kind, i, _), name, value in zip(op.saved_spec, op.saved_names, values):
            if kind == "value" and i in op.tensors and isinstance(value, (int, float)):  # a number: x ** 0.5
                self.values.setdefault(node._seq, {})[name] = value
            if not isinstance(value, np.ndarray):
                continue
            if kind == "value" and i in op.tensors:
                self.values.setdefault(node._seq, {})[name] = value
                slot = op.tensors.index(i)
                e = node._edges[slot] if slot < len(node._edges) else None
                if e is not None and e._seq != 0:
                    self.results[capture_key(e)] = value
            elif kind == "out" and value.shape == node._shape:  # other results serve the rule alone
                self.results.setdefault((-node._seq, -1), value)

    def operands(self, node: Node) -> list[Operand]:
        """The tensor operands of a node. What it did not save, a leaf, its producer or other consumers may have."""
        op = node._op
        if op is None or op.takes_tensor_list:
            return [Operand(f"input{i}", *self._behind(e, node)) for i, e in enumerate(node._edges) if e is not None]
        kept, found = self.values.get(node._seq, {}), []
        for slot, i in enumerate(op.tensors):
            name, e = op.params[i], node._edges[slot] if slot < len(node._edges) else None
            if name in kept:
                found.append(Operand(name, kept[name], e, True))
            elif e is not None:
                found.append(Operand(name, *self._behind(e, node)))
            elif op.kind == "elementwise" and len(op.tensors) == 2:
                found.append(Operand(name, None, None, False))
        return found

    def _behind(self, e: Any, node: Node) -> tuple[Any, Any, bool]:
        if e._seq == 0:
            if e in self.recorded.values:
                return self.recorded.values[e], e, True
            sound = write_after(e._array, node._seq) is None
            return (e._array if sound else None), e, sound
        value = self.results.get(capture_key(e))
        return value, e, value is not None

    def _computed(self, node: Node) -> Any:
        """The result of a node, computed again where all its arguments are known."""
        op, values = node._op, self.kept.get(node._seq)
        if op is None or values is None or op.takes_tensor_list or op.random or node._packs:
            return None
        known = {o.name: o.value for o in self.operands(node) if o.known}
        known |= {
            name: value
            for name, value in zip(op.saved_names, values)
            if value is not None and name in op.params and op.params.index(name) not in op.tensors
        }
        if any(name not in known for name in op.params):
            return None
        try:
            with np.errstate(all="ignore"):
                out = op.impl(*[known[name] for name in op.params])
        except Exception:  # it may need more than arrays
            return None
        return out if isinstance(out, (np.ndarray, np.generic)) and np.shape(out) == tuple(node._shape) else None


def is_float(a: Any) -> bool:
    return isinstance(a, np.ndarray) and a.dtype.kind in "fc"
