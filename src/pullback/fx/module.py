"""``GraphModule``, a module generated from a graph, and ``Interpreter``, which runs one node by node."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from ..core.tensor import Tensor
from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from .code import get_target
from .graph import Graph, Node, map_arg


class GraphModule(Module):
    """A module that computes what a graph says.

    Args:
        root: where the graph's modules and tensors are found, by their paths: a module, or a dict.
        graph: what to compute.
        class_name: what to print.
    """

    def __new__(cls, root: Any = None, graph: Any = None, class_name: str = "GraphModule") -> GraphModule:
        # A class for each: what programs set on the class of one, they do not set on others.
        base = next(c for c in cls.__mro__ if "_of_one" not in vars(c))
        return super().__new__(type(class_name, (base,), {"_of_one": True, "__module__": base.__module__}))

    _code: str

    def __init__(self, root: Any, graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        self._name = class_name
        if hasattr(root, "training"):
            self.training = root.training
        for node in graph.nodes:
            if node.op in ("call_module", "get_attr"):
                value = root[node.target] if isinstance(root, dict) else get_target(root, node.target)
                self._set_target(node.target, value)
        self.graph: Graph = graph

    def _set_target(self, path: str, value: Any) -> None:
        """Set a module or tensor at a path, and modules on the way where there are none."""
        place: Module = self
        *folders, last = path.split(".")
        for name in folders:
            if not isinstance(getattr(place, name, None), Module):
                setattr(place, name, Module())
            place = getattr(place, name)
        if isinstance(value, Tensor) and last not in place._parameters and type(value) is Tensor:
            place.register_buffer(last, value)
        else:
            setattr(place, last, value)

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "graph":
            super().__setattr__(name, value)
            return
        value.owning_module = self
        self.__dict__["graph"] = value
        self.recompile()

    @property
    def code(self) -> str:
        """The graph as source text."""
        return self._code

    def recompile(self) -> Any:
        """Generate ``forward`` anew after the graph has changed."""
        made = self.graph.python_code("self")
        space = dict(made.globals)
        exec(compile(made.src, f"<graph of {self._name}>", "exec"), space)
        self.__dict__.update(_code=f"\n\n\n{made.src}\n    ", forward=space["forward"].__get__(self))
        return made

    def add_submodule(self, target: str, m: Module) -> bool:
        """Put a module at a path; returns True."""
        self._set_target(target, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Remove the module at a path; returns whether there was one."""
        *folders, last = target.split(".")
        owner = get_target(self, ".".join(folders)) if folders else self
        if last not in owner._modules:
            return False
        delattr(owner, last)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Remove the modules that no node calls or takes something from."""
        used = [node.target for node in self.graph.nodes if node.op in ("call_module", "get_attr")]
        for name, _ in [*self.named_modules()]:
            if name and not any(f"{u}.".startswith(f"{name}.") or f"{name}.".startswith(f"{u}.") for u in used):
                self.delete_submodule(name)

    def print_readable(self, print_output: bool = True, **kwargs: Any) -> str:
        """The module as source text, printed by default."""
        text = f"class {self._name}(torch.nn.Module):\n    " + self.code.strip().replace("\n", "\n    ")
        if print_output:
            print(text)
        return text

    def _get_name(self) -> str:
        return self._name

    def __deepcopy__(self, memo: Any) -> GraphModule:
        parts = {
            node.target: copy.deepcopy(get_target(self, node.target), memo)
            for node in self.graph.nodes
            if node.op in ("call_module", "get_attr")
        }
        made = GraphModule(parts, copy.deepcopy(self.graph), self._name)
        made.training = self.training
        return made

    def __reduce__(self) -> Any:
        paths = {node.target for node in self.graph.nodes if node.op in ("call_module", "get_attr")}
        parts = {path: get_target(self, path) for path in sorted(paths)}
        return _restored, (parts, self.graph, self._name, self.training)

    def __str__(self) -> str:
        return (
            f"{super().__str__()}\n{self._code}\n# To see more debug info, please use `graph_module.print_readable()`"
        )


def _restored(parts: dict[str, Any], graph: Graph, name: str, training: bool) -> GraphModule:
    """A pickled :class:`GraphModule`."""
    made = GraphModule(parts, graph, name)
    made.train(training)
    return made


def _copy_attr(from_module: Module, to_module: Module, target: str) -> None:
    """Copy the module or tensor at a path into another module, with modules on the way where there are none."""
    value = get_target(from_module, target)
    *folders, last = target.split(".")
    for name in folders:
        if not isinstance(getattr(to_module, name, None), Module):
            setattr(to_module, name, Module())
        to_module = getattr(to_module, name)
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        to_module.register_buffer(last, value)
    else:
        setattr(to_module, last, value)


class Interpreter:
    """Runs a graph node by node; subclasses override what a kind of node does.

    >>> import pullback as torch
    >>> traced = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(2, 1)))
    >>> torch.fx.Interpreter(traced).run(torch.zeros(1, 2)).shape
    torch.Size([1, 1])
    """

    def __init__(self, module: Any, garbage_collect_values: bool = True, graph: Graph | None = None) -> None:
        self.module = module
        self.graph: Graph = graph if graph is not None else module.graph
        self.submodules = dict(module.named_modules())
        self.env: dict[Node, Any] = {}

    def run(self, *args: Any, initial_env: dict[Node, Any] | None = None, enable_io_processing: bool = True) -> Any:
        """Run the graph for these arguments.

        Args:
            initial_env: values of nodes that need not run.
            enable_io_processing: accepted.

        Raises:
            RuntimeError: an argument without a default is missing.
        """
        self.env = dict(initial_env or {})
        self.args_iter = iter(args)
        for node in self.graph.nodes:
            if node not in self.env:
                self.env[node] = self.run_node(node)
            if node.op == "output":
                return self.env[node]
        return None

    def run_node(self, n: Node) -> Any:
        """The result of a node, from those of its arguments."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        return getattr(self, n.op)(n.target, args, kwargs)

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[Any, Any]:
        """A node's arguments as values."""
        return self.map_nodes_to_values((n.args, n.kwargs), n)

    def map_nodes_to_values(self, args: Any, n: Node) -> Any:
        """Arguments with values for nodes."""
        return map_arg(args, self.env.__getitem__)

    def fetch_attr(self, target: str) -> Any:
        """The module or tensor at a path."""
        return get_target(self.module, target)

    def placeholder(self, target: str, args: Any, kwargs: Any) -> Any:
        if target.startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise RuntimeError(
                f"Expected positional argument for parameter {target}, but one was not passed in!"
            ) from None

    def get_attr(self, target: str, args: Any, kwargs: Any) -> Any:
        return self.fetch_attr(target)

    def call_function(self, target: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        return target(*args, **kwargs)

    def call_method(self, target: str, args: Any, kwargs: Any) -> Any:
        return getattr(args[0], target)(*args[1:], **kwargs)

    def call_module(self, target: str, args: Any, kwargs: Any) -> Any:
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target: str, args: Any, kwargs: Any) -> Any:
        return args[0]
