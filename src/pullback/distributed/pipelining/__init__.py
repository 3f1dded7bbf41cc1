"""``torch.distributed.pipelining``: a model in stages, one on each rank, through which parts of a batch pass."""

# ruff: noqa: F403

from .schedules import *
from .schedules import __all__ as _schedules
from .split import *
from .split import __all__ as _split
from .stage import PipelineStage

__all__ = ["PipelineStage", *_schedules, *_split]
