"""Operations on tensors of which each rank has a part: where the operands should lie, the call, where the results lie.

For each dimension of the mesh the names of an operation's dimensions (:mod:`.names`) give the ways in which it can be
done; the one is taken for which the least has to travel. Without names, operands are made whole first.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

from ...base import thread_state
from ...core.tensor import Tensor
from .layouts import Average, Terms, entered
from .names import Names, names_of
from .placement_types import Partial, Placement, Replicate, Shard

__all__ = ["distributed_call", "flattened", "mapped"]

IMPOSSIBLE = float("inf")
Way = tuple[list[Placement], Placement, Any]  # where the operands lie, where the result does, what is cut


def mapped(value: Any, kind: type, f: Callable[[Any], Any]) -> Any:
    """Arguments after the objects of a class in them have been replaced."""
    if isinstance(value, kind):
        return f(value)
    if isinstance(value, (list, tuple)):
        items = [mapped(item, kind, f) for item in value]
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, dict):
        return {key: mapped(item, kind, f) for key, item in value.items()}
    return value


def flattened(value: Any) -> Iterator[Any]:
    """What is in arguments, in order."""
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from flattened(item)
    elif isinstance(value, dict):
        yield from flattened(list(value.values()))
    else:
        yield value


@cache
def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def _names(function: Callable[..., Any], args: Any, kwargs: Any, operands: Sequence[Any]) -> Names | None:
    signature = _signature(function)
    if signature is None or kwargs.get("out") is not None:
        return None
    bound = signature.bind(*args, **kwargs).arguments
    bound |= bound.pop("kwargs", {}) | bound.pop("named", {})
    names = names_of(getattr(function, "__name__", ""), bound, [tuple(x.shape) for x in operands])
    return names if names is not None and len(names.operands) == len(operands) else None


# --- how it can be done -------------------------------------------------------------------------------------------


def _ways(names: Names, now: Sequence[Placement], differentiable: bool) -> Iterator[Way]:
    """The ways to do an operation along a dimension of the mesh."""
    count = len(now)
    yield [Replicate()] * count, Replicate(), None
    for name in dict.fromkeys(name for row in names.operands for name in row if name is not None):
        operands: list[Placement] = [
            Shard(row.index(name)) if name in row else Partial() if i in names.addends else Replicate()
            for i, row in enumerate(names.operands)
        ]
        if name in names.result:
            yield [o if o.is_shard() else Replicate() for o in operands], Shard(names.result.index(name)), name
        elif (how := names.reduced.get(name)) is not None and (how in ("sum", "avg") or not differentiable):
            yield operands, Partial(how), name
    terms = [p for p in now if isinstance(p, Partial)]
    movable = names.terms == "any" or names.terms and terms and terms[0].reduce_op in ("sum", "avg")
    if len(terms) == count and len(set(terms)) == 1 and movable:
        yield list(terms), terms[0], None
    elif len(terms) == 1 and names.terms == "one" and movable:
        yield [p if isinstance(p, Partial) else Replicate() for p in now], terms[0], None


def _cost(now: Placement, wanted: Placement, size: int) -> float:
    """How much travels to change how a tensor lies."""
    if now == wanted:
        return 0
    if isinstance(wanted, Partial):
        return 0 if isinstance(now, Replicate) and wanted.reduce_op == "sum" else IMPOSSIBLE
    if isinstance(now, Replicate):
        return 0
    if isinstance(now, Partial):
        return 2 * size + isinstance(wanted, Shard)
    return size if isinstance(wanted, Replicate) else size + 1


class _Plan:
    """Where operands and results lie along all dimensions of the mesh.

    Attributes:
        cut: the names that are cut, each with the number of ranks that share it.
    """

    def __init__(self, names: Names, operands: Sequence[Any], target: Any, differentiable: bool) -> None:
        self.names, self.mesh = names, operands[0].device_mesh
        self.cut: dict[Any, int] = {}
        self.possible = True
        self.wanted: list[list[Placement]] = []  # for each dimension of the mesh, of each operand
        self.result: list[Placement] = []
        for dim in range(self.mesh.ndim):
            way = self._best(operands, dim, target, differentiable)
            if way is None:
                self.possible = False
                return
            self.wanted.append(way[0])
            self.result.append(way[1])
            if way[2] is not None:
                self.cut[way[2]] = self.cut.get(way[2], 1) * self.mesh.size(dim)

    def _best(self, operands: Sequence[Any], dim: int, target: Any, differentiable: bool) -> Way | None:
        now = [x.placements[dim] for x in operands]
        best, least = None, IMPOSSIBLE
        for way in _ways(self.names, now, differentiable):
            if target is not None and way[1] != target.placements[dim] or not self._divides(way, operands, dim):
                continue
            cost = sum(_cost(a, b, x.numel()) for a, b, x in zip(now, way[0], operands))
            if cost < least:
                best, least = way, cost
        return best

    def _divides(self, way: Way, operands: Sequence[Any], dim: int) -> bool:
        """Whether all ranks get parts of one size, where these have to be."""
        _, result, name = way
        ranks = self.mesh.size(dim) * self.cut.get(name, 1)
        if name in self.names.lengths:
            return self.names.lengths[name] % ranks == 0
        if isinstance(result, Partial) and result.reduce_op == "avg" and name is not None:
            return self.length(name, operands) % ranks == 0
        return True

    def length(self, name: Any, operands: Sequence[Any]) -> int:
        """That of the dimensions of a name."""
        return next(x.shape[row.index(name)] for x, row in zip(operands, self.names.operands) if name in row)


# --- doing it -----------------------------------------------------------------------------------------------------


def _moved(x: Any, i: int, plan: _Plan) -> Tensor:
    """What this rank has of an operand, lying as is planned."""
    wanted = [ways[i] for ways in plan.wanted]
    terms = [a != b and isinstance(b, Partial) for a, b in zip(x.placements, wanted)]
    local = x.redistribute(placements=[Replicate() if t else p for t, p in zip(terms, wanted)]).to_local()
    for dim, (placement, result) in enumerate(zip(wanted, plan.result)):
        if terms[dim]:
            local = Terms.apply(local, plan.mesh.get_group(dim))
        elif isinstance(placement, Replicate) and not isinstance(result, Replicate) and local.requires_grad:
            local = entered(local, plan.mesh.get_group(dim))
    return local


def _call(function: Callable[..., Any], args: Any, kwargs: Any, parts: list[Tensor], kind: Any, plan: _Plan) -> Any:
    names = plan.names
    if names.sizes is not None:  # a shape is given, which here is that of a part
        shape, row = list(names.sizes), names.operands[0]
        whole = next(x for x in flattened((args, kwargs)) if isinstance(x, kind)).shape
        for i, name in enumerate(names.result):
            if name in plan.cut:
                at = row.index(name)
                shape[i] = shape[i] * parts[0].shape[at] // whole[at] if whole[at] else 0
        if names.resize is not None:
            return names.resize(parts[0], shape)
        rest = args[2:] if isinstance(args[1], (list, tuple)) else ()
        return function(parts[0], shape, *rest, **kwargs)
    if names.dims is not None:
        return function(parts[0], names.dims)
    given = iter(parts)
    local_args, local_kwargs = mapped((args, kwargs), kind, lambda _: next(given))
    return function(*local_args, **local_kwargs)


def distributed_call(function: Callable[..., Any], args: Any, kwargs: Any, kind: Any, in_place: bool) -> Any:
    """Call a function with the parts of tensors, or ``NotImplemented`` where it needs wholes.

    Args:
        kind: the class of the tensors.
        in_place: whether the first operand is written into.
    """
    operands = [x for x in flattened((args, kwargs)) if isinstance(x, kind)]
    if any(x.device_mesh != operands[0].device_mesh for x in operands):
        raise ValueError(f"{function.__name__}: the tensors lie on different meshes")
    names = _names(function, args, kwargs, operands)
    if names is None:
        return NotImplemented
    differentiable = thread_state.is_grad_enabled() and any(x.requires_grad for x in operands)
    plan = _Plan(names, operands, operands[0] if in_place else None, differentiable)
    if not plan.possible:
        return NotImplemented
    parts = [_moved(x, i, plan) for i, x in enumerate(operands)]
    result = _call(function, args, kwargs, parts, kind, plan)
    return operands[0] if in_place else _wrapped(result, plan, operands, kind)


def _wrapped(value: Any, plan: _Plan, operands: Sequence[Any], kind: Any) -> Any:
    if isinstance(value, Tensor):
        shape = list(value.shape if plan.names.sizes is None else plan.names.sizes)
        for placement in plan.result:
            if isinstance(placement, Shard) and plan.names.sizes is None:
                shape[placement.dim] = plan.length(plan.names.result[placement.dim], operands)
        for dim, placement in enumerate(plan.result):
            averaged = isinstance(placement, Partial) and placement.reduce_op == "avg"
            if averaged and not all(isinstance(p, Partial) for p in plan.wanted[dim]):
                value = Average.apply(value, plan.mesh.size(dim))
        return kind(value, plan.mesh, plan.result, shape)
    if isinstance(value, (list, tuple)):
        items = [_wrapped(item, plan, operands, kind) for item in value]
        return items if isinstance(value, list) else type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return value
