"""``pipeline``: a model cut into stages, at some of its modules or where its code says so.

The model runs once on proxies, which records a graph of the modules and functions that it calls; each stage is a part
of that graph. What a later stage needs passes through the stages between.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

from ...fx import Graph, GraphModule, Node, Tracer
from ...fx.graph import map_arg
from ...nn.modules.module import Module
from .stage import PipelineStage

__all__ = ["Pipe", "SplitPoint", "build_stage", "pipe_split", "pipeline"]


class SplitPoint(Enum):
    """Where a stage begins: before a module, or after it."""

    BEGINNING = 1
    END = 2


class _Running(threading.local):
    tracer: Tracer | None = None


_running = _Running()


def pipe_split() -> None:
    """Say in a model's ``forward`` that a stage ends here, and the next begins; without :func:`pipeline` nothing."""
    if _running.tracer is not None:
        _running.tracer.create_node("call_function", pipe_split, (), {})


class _Tracer(Tracer):
    """Records modules as one call, but for those inside of which a stage ends."""

    def __init__(self, paths: Sequence[str]) -> None:
        super().__init__()
        self._paths = paths

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether a module is recorded as one call."""
        if self._paths:
            return not any(path.startswith(module_qualified_name + ".") for path in self._paths)
        return super().is_leaf_module(m, module_qualified_name)


class Pipe(Module):
    """A model in stages.

    Attributes:
        split_gm: the stages, as modules ``submod_pp_0``, ``submod_pp_1``, ...
        num_stages: how many there are.
    """

    def __init__(self, stages: Sequence[GraphModule]) -> None:
        super().__init__()
        self.split_gm, self.num_stages = Module(), len(stages)
        for i, stage in enumerate(stages):
            self.split_gm.add_module(f"submod_pp_{i}", stage)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """All stages, one after the other."""
        values: Any = args
        for i in range(self.num_stages):
            result = self.get_stage_module(i)(*values, **(kwargs if i == 0 else {}))
            values = result if isinstance(result, tuple) else (result,)
        return result

    def get_stage_module(self, stage_idx: int) -> GraphModule:
        """The module of a stage.

        Raises:
            ValueError: there is no such stage.
        """
        if not 0 <= stage_idx < self.num_stages:
            raise ValueError(f"Invalid stage index {stage_idx}!")
        return getattr(self.split_gm, f"submod_pp_{stage_idx}")

    def build_stage(self, stage_index: int, device: Any, group: Any = None) -> PipelineStage:
        """The stage of this rank, for a schedule."""
        return PipelineStage(self.get_stage_module(stage_index), stage_index, self.num_stages, device, group=group)


def build_stage(
    stage_module: Module, stage_index: int, pipe_info: Any, device: Any, group: Any = None
) -> PipelineStage:
    """A stage of a module; ``pipe_info`` has the number of stages."""
    return PipelineStage(stage_module, stage_index, pipe_info.num_stages, device, group=group)


def pipeline(
    module: Module,
    mb_args: tuple[Any, ...],
    mb_kwargs: dict[str, Any] | None = None,
    split_spec: dict[str, SplitPoint] | None = None,
    split_policy: Callable[..., Any] | None = None,
) -> Pipe:
    """Cut a model into stages.

    Args:
        mb_args, mb_kwargs: arguments of the model as a micro-batch has them.
        split_spec: where stages begin, by the paths of modules; else the model's code calls :func:`pipe_split`.

    Raises:
        ValueError: there is no module of such a path.
    """
    if split_policy is not None:
        raise NotImplementedError("pipeline: split_policy is not supported; give split_spec")
    points = split_spec or {}
    known = dict(module.named_modules())
    for path in points:
        if path not in known:
            raise ValueError(f"Cannot find target {path} in the module")
    tracer = _Tracer(list(points))
    before, _running.tracer = _running.tracer, tracer
    try:
        graph = tracer.trace(module)
    finally:
        _running.tracer = before
    _remove_missing(graph, len(mb_args), mb_kwargs or {})
    return Pipe([GraphModule(module, part) for part in _cut(_segments(graph, points), graph)])


def _remove_missing(graph: Graph, count: int, named: dict[str, Any]) -> None:
    """Let arguments that are not given have their defaults."""
    for i, node in enumerate(graph.find_nodes(op="placeholder")):
        if i >= count and node.target not in named:
            default = node.args[0] if node.args else None
            for user in list(node.users):
                user.args, user.kwargs = map_arg((user.args, user.kwargs), _instead(node, default))
            graph.erase_node(node)


def _instead(old: Node, new: Any) -> Callable[[Node], Any]:
    return lambda node: new if node is old else node


def _segments(graph: Graph, points: dict[str, SplitPoint]) -> list[list[Node]]:
    """The nodes of each stage, in order."""
    segments: list[list[Node]] = [[]]
    for node in graph.nodes:
        point = points.get(node.target) if node.op == "call_module" else None
        if point is SplitPoint.BEGINNING and any(n.op != "placeholder" for n in segments[-1]):
            segments.append([])
        if node.target is pipe_split:
            segments.append([])
        elif node.op not in ("placeholder", "output"):
            segments[-1].append(node)
        if point is SplitPoint.END:
            segments.append([])
    return segments


def _cut(segments: list[list[Node]], graph: Graph) -> list[Graph]:
    """The graph of each stage, which takes what the one before returns."""
    result = graph.output_node().args[0]
    passed: list[Node] = graph.find_nodes(op="placeholder")
    parts = []
    for i, segment in enumerate(segments):
        part = Graph()
        copies: dict[Node, Node] = {}
        for node in passed:
            copies[node] = part.placeholder(node.name)
        for node in segment:
            copies[node] = part.node_copy(node, copies.__getitem__)
        later = [node for other in segments[i + 1 :] for node in other]
        needed = {n for node in later for n in node.all_input_nodes} | set(graph.output_node().all_input_nodes)
        if i == len(segments) - 1:
            part.output(map_arg(result, copies.__getitem__))
        else:
            passed = [node for node in copies if node in needed]
            values = tuple(copies[node] for node in passed)
            part.output(values if len(values) > 1 else values[0])
        parts.append(part)
    return parts
