"""``Graph`` and ``Node``: a program as a list of calls."""

from __future__ import annotations

import builtins
import inspect
import keyword
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .code import PythonCode, SourceText, get_target, map_aggregate, qualified_name, to_source

Target = Callable[..., Any] | str  # what a node calls


def map_arg(arg: Any, fn: Callable[[Node], Any]) -> Any:
    """An argument with ``fn(node)`` for each node in it."""
    return map_aggregate(arg, lambda x: fn(x) if isinstance(x, Node) else x)


class Node:
    """One step of a graph.

    Attributes:
        op: its kind; see the module.
        target: the function, the name of the method, or the path of the module or tensor.
        args, kwargs: what it is called with.
        users: the nodes that have it for an argument (a dict, for its order).
        meta: for users of the graph.
    """

    def __init__(
        self, graph: Graph, name: str, op: str, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self.graph, self.name, self.op, self.target = graph, name, op, target
        self.users: dict[Node, None] = {}
        self.meta: dict[str, Any] = {}
        self.type: Any = None
        self._args: tuple[Any, ...] = ()
        self._kwargs: dict[str, Any] = {}
        self._set(args, kwargs)

    def _set(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        for node in self.all_input_nodes:
            node.users.pop(self, None)
        self._args, self._kwargs = args, kwargs
        for node in self.all_input_nodes:
            node.users[self] = None

    args = property(lambda self: self._args, lambda self, args: self._set(tuple(args), self._kwargs))
    kwargs = property(lambda self: self._kwargs, lambda self, kwargs: self._set(self._args, dict(kwargs)))

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes among its arguments, each once."""
        found: dict[Node, None] = {}
        map_arg((self._args, self._kwargs), lambda node: found.setdefault(node))
        return list(found)

    @property
    def next(self) -> Node:
        """The node behind it."""
        return self.graph._nodes[self.graph._nodes.index(self) + 1]

    @property
    def prev(self) -> Node:
        """The node before it."""
        return self.graph._nodes[self.graph._nodes.index(self) - 1]

    def update_arg(self, idx: int, arg: Any) -> None:
        """Replace a positional argument."""
        self.args = (*self._args[:idx], arg, *self._args[idx + 1 :])

    def update_kwarg(self, key: str, arg: Any) -> None:
        """Set an argument by name."""
        self.kwargs = {**self._kwargs, key: arg}

    def replace_all_uses_with(
        self, replacement: Node, delete_user_cb: Callable[[Node], bool] = lambda user: True
    ) -> list[Node]:
        """Replace this node by another one in the arguments of its users; returns these."""
        changed = [user for user in self.users if delete_user_cb(user)]
        for user in changed:
            user._set(*map_arg((user._args, user._kwargs), lambda node: replacement if node is self else node))
        return changed

    def replace_input_with(self, old: Node, new: Node) -> None:
        """Replace a node by another one in the arguments."""
        self._set(*map_arg((self._args, self._kwargs), lambda node: new if node is old else node))

    def prepend(self, node: Node) -> None:
        """Move another node to right before this one."""
        self.graph._nodes.remove(node)
        self.graph._nodes.insert(self.graph._nodes.index(self), node)

    def append(self, node: Node) -> None:
        """Move another node to right behind this one."""
        self.graph._nodes.remove(node)
        self.graph._nodes.insert(self.graph._nodes.index(self) + 1, node)

    def is_impure(self) -> bool:
        """Whether it has effects, so that dead code elimination keeps it."""
        return self.op in ("placeholder", "output") or self.op == "call_method" and self.target.endswith("_")

    def format_node(self) -> str:
        """Its line in the text of a graph."""
        if self.op == "output":
            return f"return {to_source(self._args[0])}"
        of = f"%{self.name} : [num_users={len(self.users)}] = {self.op}[target={self._target()}]"
        if self.op in ("placeholder", "get_attr"):
            return of + (f"(default={self._args[0]!r})" if self._args else "")
        args, kwargs = map_aggregate((self._args, self._kwargs), _plain)
        return f"{of}(args = {args}, kwargs = {{{', '.join([f'{key}: {value!r}' for key, value in kwargs.items()])}}})"

    def _target(self) -> str:
        return self.target if isinstance(self.target, str) else qualified_name(self.target)

    def __repr__(self) -> str:
        return self.name


def _plain(x: Any) -> Any:
    return SourceText(f"%{x.name}") if isinstance(x, Node) else SourceText(x) if isinstance(x, str) else x


class _InsertPoint:
    """Sets where a graph puts new nodes; leaving its ``with`` restores the place before."""

    def __init__(self, graph: Graph, place: Callable[[], int] | None) -> None:
        self.graph, self.before = graph, graph._place
        graph._place = place

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        self.graph._place = self.before


class Graph:
    """Nodes in the order in which they run."""

    def __init__(self, owning_module: Any = None, tracer_cls: type | None = None) -> None:
        self._nodes: list[Node] = []
        self._place: Callable[[], int] | None = None  # the index of the next new node, if not the end
        self._names: set[str] = set()
        self.owning_module = owning_module

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "owning_module": None, "_place": None}

    @property
    def nodes(self) -> _Nodes:
        """The nodes in order; the graph may change during an iteration."""
        return _Nodes(self._nodes)

    def _unique_name(self, candidate: str) -> str:
        candidate = re.sub(r"[^0-9a-zA-Z_]+", "_", candidate)
        candidate = "_" + candidate if candidate[:1].isdigit() else candidate or "node"
        base, _, number = candidate.rpartition("_")
        count = int(number) if base and number.isdecimal() and not number.startswith("0") else 0
        base = base if count else candidate
        name = candidate
        while name in self._names or keyword.iskeyword(name) or hasattr(builtins, name) or name in ("self", "torch"):
            count += 1
            name = f"{base}_{count}"
        self._names.add(name)
        return name

    def create_node(
        self,
        op: str,
        target: Any,
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add a node, at the end or at the place that :meth:`inserting_before` sets."""
        if name is None:
            name = target if isinstance(target, str) else getattr(target, "__name__", type(target).__name__)
            name = name[2:-2] if name.startswith("__") and name.endswith("__") else name
            name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.replace(".", "_")).lower()
        node = Node(self, self._unique_name(name), op, target, args or (), kwargs or {})
        node.type = type_expr
        self._nodes.insert(len(self._nodes) if self._place is None else self._place(), node)
        return node

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = inspect.Parameter.empty) -> Node:
        """Add an argument of the graph."""
        return self.create_node(
            "placeholder", name, () if default_value is inspect.Parameter.empty else (default_value,)
        )

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """Add a parameter or buffer, by its path."""
        return self.create_node("get_attr", qualified_name)

    def call_function(
        self, the_function: Callable[..., Any], args: Any = None, kwargs: Any = None, type_expr: Any = None
    ) -> Node:
        """Add a call of a function."""
        return self.create_node("call_function", the_function, args, kwargs)

    def call_method(self, method_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None) -> Node:
        """Add a call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs)

    def call_module(self, module_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None) -> Node:
        """Add a call of a module, by its path."""
        return self.create_node("call_module", module_name, args, kwargs)

    def output(self, result: Any, type_expr: Any = None) -> Node:
        """Add what the graph returns."""
        return self.create_node("output", "output", (result,))

    def output_node(self) -> Node:
        """The node of what it returns."""
        return next(node for node in reversed(self._nodes) if node.op == "output")

    def find_nodes(self, *, op: str, target: Any = None, sort: bool = True) -> list[Node]:
        """The nodes of a kind, and of a target if one is given, in order."""
        return [node for node in self._nodes if node.op == op and target in (None, node.target)]

    def inserting_before(self, n: Node | None = None) -> _InsertPoint:
        """From now on, or inside of a ``with``, each new node goes right before this one (None: to the beginning)."""
        return _InsertPoint(self, (lambda: 0) if n is None else lambda: self._nodes.index(n))

    def inserting_after(self, n: Node | None = None) -> _InsertPoint:
        """From now on, or inside of a ``with``, each new node goes right behind this one (None: to the end)."""
        return _InsertPoint(self, None if n is None else lambda: self._nodes.index(n) + 1)

    def erase_node(self, to_erase: Node) -> None:
        """Remove a node that has no users.

        Raises:
            RuntimeError: it has.
        """
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: "
                f"{to_erase.users}!"
            )
        to_erase._set((), {})
        self._nodes.remove(to_erase)

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] = Node.is_impure) -> bool:
        """Remove nodes that nothing uses; returns whether there were any."""
        before = len(self._nodes)
        for node in reversed(self._nodes[:]):
            if not node.users and not is_impure_node(node):
                self.erase_node(node)
        return len(self._nodes) < before

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Any] = lambda node: node) -> Node:
        """A copy of a node, of another graph perhaps."""
        args, kwargs = map_arg((node._args, node._kwargs), arg_transform)
        made = self.create_node(node.op, node.target, args, kwargs, node.name)
        made.meta = dict(node.meta)
        return made

    def graph_copy(self, g: Graph, val_map: dict[Node, Node]) -> Any:
        """Copy another graph's nodes to here; returns what its output is."""
        for node in g._nodes:
            if node.op == "output":
                return map_arg(node._args[0], val_map.__getitem__)
            if node not in val_map:
                val_map[node] = self.node_copy(node, val_map.__getitem__)
        return None

    def __deepcopy__(self, memo: Any) -> Graph:
        made = Graph()
        result = made.graph_copy(self, {})
        if any(node.op == "output" for node in self._nodes):
            made.output(result)
        return made

    def lint(self) -> None:
        """Check that nodes come behind their arguments, and that their targets exist.

        Raises:
            RuntimeError: one does not.
        """
        seen: set[Node] = set()
        for node in self._nodes:
            for argument in node.all_input_nodes:
                if argument not in seen:
                    raise RuntimeError(
                        f"Argument '{argument}' of Node '{node}' was used before it has been defined! Please check "
                        "that Nodes in the graph are topologically ordered"
                    )
            seen.add(node)
            if self.owning_module is not None and node.op in ("call_module", "get_attr"):
                get_target(self.owning_module, node.target)

    def python_code(self, root_module: str = "self") -> PythonCode:
        """The graph as the source of a function."""
        return PythonCode(self, root_module)

    def print_tabular(self) -> None:
        """Print the nodes as a table."""
        rows = [["opcode", "name", "target", "args", "kwargs"]]
        rows += [[node.op, node.name, str(node.target), str(node.args), str(node.kwargs)] for node in self._nodes]
        widths = [max(map(len, column)) for column in zip(*rows)]
        for i, row in enumerate(rows):
            print("  ".join([cell.ljust(width) for cell, width in zip(row, widths)]).rstrip())
            if not i:
                print("  ".join(["-" * width for width in widths]))

    def __str__(self) -> str:
        return "graph():" + "".join([f"\n    {node.format_node()}" for node in self._nodes])


class _Nodes(Sequence):
    """A view of the nodes of a graph; an iteration goes over those there are at its start."""

    def __init__(self, nodes: list[Node]) -> None:
        self._list = nodes

    def __iter__(self) -> Iterator[Node]:
        return iter(self._list[:])

    def __reversed__(self) -> Iterator[Node]:
        return iter(self._list[::-1])

    def __len__(self) -> int:
        return len(self._list)

    def __getitem__(self, at: Any) -> Any:
        return self._list[at]
