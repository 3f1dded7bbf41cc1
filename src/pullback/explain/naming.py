"""Names for leaves, intermediate values and modules: the program's variables, and paths in its modules."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any

from ..core.graph import Node
from ..core.tensor import Tensor
from ..core.views import gradient_edge
from ..engine.plan import capture_key
from ..nn import Module
from .recorder import CONTAINERS, Call, Pass, followed_items


class Names:
    """The names in use for one pass.

    Attributes:
        modules: the path of each module, such as ``net.encoder.0``, by its id.
        roots: the modules at the top of these paths, by name.
        parameters: pairs of a name and a parameter, of all these modules.
    """

    def __init__(self, recorded: Pass, calls: Sequence[Call] = ()) -> None:
        variables = recorded.variables
        self.modules: dict[int, str] = {}
        self.roots: dict[str, Any] = {}
        self.parameters: list[tuple[str, Any]] = []
        self._leaves: dict[int, str] = {}
        self._values: dict[tuple[int, int], str] = {}
        by_id = {
            id(value): name
            for name, value in reversed(variables.items())
            if isinstance(value, Module) and name != "self"
        }
        called = {id(c.module): c.module for c in calls if c.outer is None}
        known = {id(v): v for v in variables.values() if isinstance(v, Module)}
        every = called | {k: v for k, v in known.items() if k not in called}
        sizes = {key: sum(1 for _ in module.modules()) if len(every) > 1 else 1 for key, module in every.items()}
        for key, module in sorted(every.items(), key=lambda entry: -sizes[entry[0]]):
            if key not in self.modules:
                self._name_module(by_id.get(key) or self._unused(type(module).__name__), module)
        for name, value in variables.items():
            if isinstance(value, Tensor):
                e = gradient_edge(value)
                if e is value:
                    self._leaves.setdefault(id(value), name)
                elif e is not None:
                    self._values.setdefault(capture_key(e), name)
        self._listed: dict[int, tuple[str, Any]] = {}
        self._spans = Spans(calls, recorded)
        self._anonymous: dict[int, str] = {}

    def _unused(self, name: str) -> str:
        taken = self.roots
        return (
            name
            if name not in taken
            else next(f"{name}{i}" for i in range(2, len(taken) + 3) if f"{name}{i}" not in taken)
        )

    def _name_module(self, name: str, root: Any) -> None:
        self.roots[name] = root
        todo = [(name, root)]
        while todo:
            path, module = todo.pop()
            if id(module) not in self.modules:
                self.modules[id(module)] = path
                for key, parameter in module._parameters.items():
                    if parameter is not None and id(parameter) not in self._leaves:
                        self._leaves[id(parameter)] = f"{path}.{key}"
                        self.parameters.append((f"{path}.{key}", parameter))
                todo += [
                    (f"{path}.{key}", child) for key, child in reversed(module._modules.items()) if child is not None
                ]

    def _name_listed(self) -> None:
        """Name modules and parameters in lists and dicts that modules hold: ``parameters()`` lacks them."""
        for root in [*self.roots.values()]:
            for module in root.modules():
                for key, value in vars(module).items():
                    if value.__class__ in CONTAINERS and not key.startswith("_"):
                        for name, item in followed_items(f"{self.modules[id(module)]}.{key}", value):
                            if isinstance(item, Module):
                                for inner, p in item.named_parameters():
                                    self._listed.setdefault(id(p), (f"{name}.{inner}", root))
                            elif isinstance(item, Tensor):
                                self._listed.setdefault(id(item), (name, root))

    def in_list(self, leaf: Any) -> Any:
        """The module that holds a parameter in a list or dict of Python's, if one does; else None."""
        return self._listed.get(id(leaf), (None, None))[1]

    def owners(self, leaf: Any) -> list[Any]:
        """The modules that have a parameter."""
        return [
            m for root in self.roots.values() for m in root.modules() if any(q is leaf for q in m._parameters.values())
        ]

    def buffer(self, buffer: Any) -> str:
        """The path of a buffer."""
        for path, root in self.roots.items():
            for name, b in root.named_buffers():
                if b is buffer:
                    return f"{path}.{name}"
        return "buffer"

    def updated_buffers(self) -> set[int]:
        """The ids of the buffers of modules that are in training mode, which may update them."""
        return {
            id(b)
            for root in self.roots.values()
            for m in root.modules()
            if m.training
            for b in m._buffers.values()
            if b is not None
        }

    def leaf(self, leaf: Any) -> str:
        """A leaf's name; leaves that no variable holds are numbered."""
        known = self._leaves.get(id(leaf))
        if known is None and not self._listed:
            self._name_listed()
        listed = self._listed.get(id(leaf))
        if known is None and listed is not None:
            return listed[0]
        return known or self._anonymous.setdefault(id(leaf), f"leaf{len(self._anonymous) + 1}")

    def owner(self, leaf: Any) -> str | None:
        """The path of the module that a parameter belongs to."""
        name = self._leaves.get(id(leaf), "")
        path = name.rpartition(".")[0]
        return path if path in self.modules.values() else None

    def value(self, key: tuple[int, int]) -> str | None:
        """The variable that holds an intermediate value."""
        return self._values.get(key)

    def module(self, node: Node) -> tuple[str | None, int | None]:
        """The module whose forward recorded a node, and the number of that call; where no call was seen, the module
        whose parameters it uses.
        """
        call = self._spans.around(node._seq)
        if call is not None:
            return self.modules.get(id(call.module), type(call.module).__name__), self._spans.ordinal(call)
        owners = {self.owner(e) for e in node._edges if e is not None and e._seq == 0} - {None}
        return (owners.pop() if len(owners) == 1 else None), None


class Spans:
    """Finds the innermost module call at a time on the clock. Only calls that recorded nodes of the pass count: a
    module runs in other passes, too, and in evaluations.
    """

    def __init__(self, calls: Sequence[Call], recorded: Pass) -> None:
        times = sorted(visit.node._seq for visit in recorded.visits)
        inside = [c for c in calls if bisect_left(times, c.start) < bisect_right(times, c.end)]
        self.calls = sorted(inside, key=lambda c: c.start)
        self.starts = [c.start for c in self.calls]
        self.ordinals: dict[int, int] = {}
        count: dict[int, int] = {}
        for c in self.calls:
            self.ordinals[id(c)] = count[id(c.module)] = count.get(id(c.module), 0) + 1

    def around(self, seq: int) -> Call | None:
        position = bisect_right(self.starts, seq) - 1
        call = self.calls[position] if position >= 0 else None
        while call is not None and call.end < seq:
            call = call.outer
        return call

    def ordinal(self, call: Call) -> int:
        return self.ordinals[id(call)]
