"""Graphs as modules, and running them node by node."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from ..core.tensor import Tensor
from ..nn.modules.module import Module
from .code import reach
from .graph import Graph, Node, map_arg


class GraphModule(Module):
    """A module that computes what a graph says.

    Args:
        root: where the graph's modules and tensors are found, by their paths: a module, or a dict.
        graph: what to compute.
        class_name: what to print.
    """

    def __init__(self, root: Any, graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        self._name = class_name
        if hasattr(root, "training"):
            self.training = root.training
        for node in graph.nodes:
            if node.op in ("call_module", "get_attr"):
                self._take(node.target, root[node.target] if isinstance(root, dict) else reach(root, node.target))
        self.graph: Graph = graph

    def _take(self, path: str, what: Any) -> None:
        """Put something at a path, with plain modules on the way."""
        place: Module = self
        *folders, last = path.split(".")
        for name in folders:
            if not isinstance(getattr(place, name, None), Module):
                setattr(place, name, Module())
            place = getattr(place, name)
        if isinstance(what, Tensor) and last not in place._parameters and type(what) is Tensor:
            place.register_buffer(last, what)
        else:
            setattr(place, last, what)

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
        """Take changes of the graph over."""
        made = self.graph.python_code("self")
        space = dict(made.globals)
        exec(compile(made.src, f"<graph of {self._name}>", "exec"), space)
        self.__dict__.update(_code=f"\n\n\n{made.src}\n    ", forward=space["forward"].__get__(self))
        return made

    def add_submodule(self, target: str, m: Module) -> bool:
        """Put a module at a path; returns True."""
        self._take(target, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Remove the module at a path; returns whether there was one."""
        *folders, last = target.split(".")
        owner = reach(self, ".".join(folders)) if folders else self
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
            node.target: copy.deepcopy(reach(self, node.target), memo)
            for node in self.graph.nodes
            if node.op in ("call_module", "get_attr")
        }
        made = GraphModule(parts, copy.deepcopy(self.graph), self._name)
        made.training = self.training
        return made

    def __reduce__(self) -> Any:
        raise TypeError("a GraphModule cannot be pickled: save its state_dict, and trace the module again")

    def __str__(self) -> str:
        return (
            f"{super().__str__()}\n{self._code}\n# To see more debug info, please use `graph_module.print_readable()`"
        )


class Interpreter:
    """Runs a graph node by node; subclasses override what a kind of node does.

    >>> import pullback as torch
    >>> traced = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(2, 1)))
    >>> torch.fx.Interpreter(traced).run(torch.zeros(1, 2)).shape
    torch.Size([1, 1])
    """

    def __init__(self, module: Module, garbage_collect_values: bool = True, graph: Graph | None = None) -> None:
        self.module: Any = module
        self.graph = graph if graph is not None else module.graph
        self.submodules = dict(module.named_modules())
        self.env: dict[Node, Any] = {}

    def run(self, *args: Any, initial_env: dict[Node, Any] | None = None, enable_io_processing: bool = True) -> Any:
        """What the graph returns for these arguments.

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
        """What a node gives, from values of those before it."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        return getattr(self, n.op)(n.target, args, kwargs)

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[Any, Any]:
        """A node's arguments as values."""
        return self.map_nodes_to_values((n.args, n.kwargs), n)

    def map_nodes_to_values(self, args: Any, n: Node) -> Any:
        """Arguments with values in the place of nodes."""
        return map_arg(args, self.env.__getitem__)

    def fetch_attr(self, target: str) -> Any:
        """The module or tensor at a path."""
        return reach(self.module, target)

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
