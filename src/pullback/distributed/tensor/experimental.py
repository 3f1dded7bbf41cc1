"""``torch.distributed.tensor.experimental``: functions of parts, and plain tensors among distributed ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ...core.tensor import Tensor
from ..device_mesh import DeviceMesh
from .dtensor import DTensor, implicit

__all__ = ["implicit_replication", "local_map"]


@contextmanager
def implicit_replication() -> Iterator[None]:
    """Inside, plain tensors among the operands of an operation count as whole on each rank."""
    before, implicit.replication = implicit.replication, True
    try:
        yield
    finally:
        implicit.replication = before


def _all(placements: Any, count: int) -> Sequence[Any]:
    """Placements of each of several values, of those that are given for each, or for all."""
    each = placements and (placements[0] is None or isinstance(placements[0], (list, tuple)))
    return placements if each else [placements] * count


def local_map(
    func: Callable[..., Any] | None = None,
    out_placements: Any = None,
    in_placements: Any = None,
    in_grad_placements: Any = None,
    device_mesh: DeviceMesh | None = None,
    *,
    redistribute_inputs: bool = False,
) -> Callable[..., Any]:
    """A function that is called with the parts of distributed tensors, and whose results are parts of such.

    Args:
        out_placements: how the results lie: of one, or of each.
        in_placements: how the arguments have to lie, each; None: as they do.
        redistribute_inputs: whether arguments that lie otherwise are changed, or refused.

    Raises:
        ValueError: an argument lies otherwise.
    """
    if func is None:
        return lambda f: local_map(
            f, out_placements, in_placements, in_grad_placements, device_mesh, redistribute_inputs=redistribute_inputs
        )

    def part(x: Any, wanted: Any) -> Any:
        if not isinstance(x, DTensor):
            return x
        if wanted is not None and tuple(wanted) != x.placements:
            if not redistribute_inputs:
                raise ValueError(
                    f"arg {x} in local_map has a mismatched placements: arg placements is {x.placements} but the input "
                    f"placements is {tuple(wanted)}! If redistribute_inputs is wanted, set redistribute_inputs=True to "
                    "local_map."
                )
            x = x.redistribute(placements=wanted)
        return x.to_local()

    def mapped(*args: Any, **kwargs: Any) -> Any:
        mesh = device_mesh or next((x.device_mesh for x in args if isinstance(x, DTensor)), None)
        wanted = [None] * len(args) if in_placements is None else in_placements
        result = func(*(part(x, w) for x, w in zip(args, wanted)), **kwargs)
        if mesh is None:
            return result
        several = isinstance(result, (list, tuple))
        values = list(result) if several else [result]
        made = [
            DTensor.from_local(x, mesh, p) if isinstance(x, Tensor) and p is not None else x
            for x, p in zip(values, _all(out_placements, len(values)))
        ]
        return type(result)(made) if several else made[0]

    return mapped
