"""An ONNX graph under construction: its nodes, its constants, and the names of the arrays met so far.

This is the ``g`` that the rules in :mod:`.op_rules` and :mod:`.function_rules` add nodes to, as PyTorch's symbolic
functions do. Arrays are known by their identity; one that nobody computed from inputs or parameters is a constant.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.tensor import Tensor


class GraphBuilder:
    """Nodes, and names of arrays.

    Attributes:
        nodes: (operator, inputs, outputs, attributes) of each node, in order; inputs and outputs by name.
        names: the name of each array, by its id.
        constants, parameters: arrays that the model stores, by name.
    """

    def __init__(self) -> None:
        self.nodes: list[tuple[str, list[str], list[str], dict[str, Any]]] = []
        self.names: dict[int, str] = {}
        self.named: list[Any] = []  # keeps named arrays alive, so that no other array gets their id
        self.constants: dict[str, np.ndarray] = {}
        self.parameters: dict[str, np.ndarray] = {}
        self.count = 0

    # --- names ----------------------------------------------------------------------------------------------

    def fresh(self, prefix: str = "v") -> str:
        """A name that is not taken."""
        self.count += 1
        return f"{prefix}_{self.count}"

    def bind(self, x: Any, name: str) -> None:
        """Know an array by a name from now on."""
        array = x._array if isinstance(x, Tensor) else x
        self.names[id(array)] = name
        self.named.append(array)

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
        """Store a constant in the model."""
        name = self.fresh("c")
        self.constants[name] = np.array(value, dtype, order="C")
        return name

    def integers(self, values: Any) -> str:
        """A constant of int64: sizes, axes."""
        return self.constant(np.array(values), np.int64)

    # --- nodes ----------------------------------------------------------------------------------------------

    def node(self, operator: str, *inputs: Any, outputs: int = 1, **attributes: Any) -> Any:
        """Add a node. Returns the name of its output, or a list of them; None as an input leaves it out."""
        names = ["" if x is None else self.name(x) for x in inputs]
        while names and not names[-1]:
            names.pop()
        made = [self.fresh() for _ in range(outputs)]
        self.nodes.append((operator, names, made, {k: v for k, v in attributes.items() if v is not None}))
        return made[0] if outputs == 1 else made

    def bind_results(self, names: Any, out: Any) -> None:
        """Bind the results of an operation or a function to the names that its rule returned."""
        many = isinstance(names, list)
        for x, name in zip(out if many else [out], names if many else [names]):
            if name is not None:
                self.bind(x, name)


def tensor_type(dtype: np.dtype) -> int:
    """ONNX's number for a dtype."""
    from onnx import helper  # deferred: only an export needs the onnx package

    return helper.np_dtype_to_tensor_dtype(dtype)
