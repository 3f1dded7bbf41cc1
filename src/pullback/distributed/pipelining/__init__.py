"""``torch.distributed.pipelining``: a model in stages, one on each rank, through which parts of a batch pass."""

# ruff: noqa: F403

from .schedules import *
from .schedules import __all__ as _schedules
from .stage import PipelineStage

__all__ = ["PipelineStage", *_schedules]
