"""``torch.distributed.tensor.parallel``: layers spread over the ranks of a mesh."""

# ruff: noqa: F403

from __future__ import annotations

import fnmatch
from typing import Any

from ....nn.modules.module import Module
from ...device_mesh import DeviceMesh, init_device_mesh
from ...world import get_world_size
from ..class_parallel import loss_parallel
from .styles import *
from .styles import ParallelStyle
from .styles import __all__ as _styles

__all__ = ["loss_parallel", "parallelize_module", *_styles]


def parallelize_module(
    module: Module,
    device_mesh: DeviceMesh | None = None,
    parallelize_plan: Any = None,
    *,
    src_data_rank: int | None = 0,
) -> Module:
    """Spread a module over the ranks of a mesh of one dimension.

    Args:
        parallelize_plan: a style, or styles by the names of inner modules, in which ``*`` stands for anything.
        src_data_rank: the rank whose parameters count; None: each has the same.

    Returns:
        The module, changed in place.

    Example::

        plan = {"up": ColwiseParallel(), "down": RowwiseParallel()}
        model = parallelize_module(model, init_device_mesh("cpu", (4,)), plan)
    """
    mesh = init_device_mesh("cpu", (get_world_size(),)) if device_mesh is None else device_mesh
    if mesh.ndim > 1:
        raise ValueError(
            f"parallelize_module takes a mesh of one dimension, not {mesh}\n  mesh['tp'] is a part of one."
        )
    if parallelize_plan is None:
        return module
    if isinstance(parallelize_plan, ParallelStyle):
        parallelize_plan.src_data_rank = src_data_rank
        return parallelize_plan._apply(module, mesh)
    for pattern, style in parallelize_plan.items():
        head, _, rest = pattern.partition(".")
        if not pattern:
            parallelize_module(module, mesh, style, src_data_rank=src_data_rank)
            continue
        for name, child in list(module.named_children()):
            if fnmatch.fnmatch(name, head):
                parallelize_module(child, mesh, {rest: style} if rest else style, src_data_rank=src_data_rank)
    return module
