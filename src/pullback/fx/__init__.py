"""``torch.fx``: symbolic tracing of a module to a graph, transforming it, and generating Python code from it.

    >>> import pullback as torch
    >>> class Net(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.fc = torch.nn.Linear(3, 2)
    ...     def forward(self, x):
    ...         return torch.relu(self.fc(x)) + 1
    >>> traced = torch.fx.symbolic_trace(Net())
    >>> [node.name for node in traced.graph.nodes]
    ['x', 'fc', 'relu', 'add', 'output']
    >>> traced(torch.zeros(1, 3)).shape
    torch.Size([1, 2])

A graph is a list of nodes of six kinds: ``placeholder`` (an argument), ``get_attr`` (a parameter or buffer),
``call_function``, ``call_method``, ``call_module`` and ``output``. Arguments of nodes are nodes and constants, nested
in any way. Control flow that depends on values of tensors can't be traced.
"""

import sys as _sys

from . import graph, module, tracing
from .code import PythonCode, map_aggregate
from .graph import Graph, Node, map_arg
from .module import GraphModule, Interpreter
from .tracing import Proxy, TraceError, Tracer, Transformer, symbolic_trace, wrap

__all__ = [
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "PythonCode",
    "TraceError",
    "Tracer",
    "Transformer",
    "map_aggregate",
    "map_arg",
    "symbolic_trace",
    "wrap",
]

for _address, _module in (
    ("node", graph),
    ("proxy", tracing),
    ("graph_module", module),
    ("interpreter", module),
    ("_symbolic_trace", tracing),
):
    globals()[_address] = _sys.modules[f"{__name__}.{_address}"] = _module
