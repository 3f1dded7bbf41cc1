"""Parameters replaced by their averages over the ranks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ....core.tensor import Tensor
from ...collectives import start_all_reduce
from ...reduce_op import ReduceOp
from ...world import is_outside, resolved

__all__ = ["average_parameters", "average_parameters_or_parameter_groups", "get_params_to_average"]


def average_parameters(params: Iterable[Tensor], process_group: Any) -> None:
    """Replace parameters by their averages; those of one type travel together."""
    if is_outside(process_group, "average_parameters"):
        return
    group = resolved(process_group)
    kinds: dict[Any, list[Tensor]] = {}
    for p in params:
        kinds.setdefault(p.dtype, []).append(p.detach())
    for alike in kinds.values():
        start_all_reduce(group, alike, ReduceOp.SUM, "all_reduce").wait()
        for p in alike:
            p.div_(group.size())


def get_params_to_average(params: Iterable[Any]) -> list[Tensor]:
    """The parameters that have gradients, of parameters or of an optimizer's groups of them."""
    return [p for p in _parameters(params) if p.grad is not None]


def _parameters(params: Iterable[Any]) -> Iterator[Tensor]:
    for item in params:
        if isinstance(item, Tensor):
            yield item
        elif isinstance(item, dict):
            yield from item["params"]
        else:
            raise NotImplementedError(f"Parameter input of type {type(item)} is not supported")


def average_parameters_or_parameter_groups(params: Iterable[Any], process_group: Any) -> None:
    """:func:`average_parameters` of those that have gradients."""
    average_parameters(get_params_to_average(params), process_group)
