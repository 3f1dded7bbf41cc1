"""``torch.distributed.algorithms.ddp_comm_hooks``: functions that reduce the buckets of ``DistributedDataParallel``."""

from __future__ import annotations

from enum import Enum
from functools import partial
from typing import Any

from . import default_hooks, post_localSGD_hook, powerSGD_hook

__all__ = ["DDPCommHookType", "default_hooks", "post_localSGD_hook", "powerSGD_hook", "register_ddp_comm_hook"]


class DDPCommHookType(Enum):
    """The hooks by name."""

    ALLREDUCE = partial(default_hooks.allreduce_hook)
    FP16_COMPRESS = partial(default_hooks.fp16_compress_hook)
    BF16_COMPRESS = partial(default_hooks.bf16_compress_hook)
    POWER_SGD = partial(powerSGD_hook.powerSGD_hook)
    POST_LOCAL_SGD = partial(post_localSGD_hook.post_localSGD_hook)
    NOOP = partial(default_hooks.noop_hook)


def register_ddp_comm_hook(comm_hook_type: DDPCommHookType, model: Any, state: Any = None) -> None:
    """Let a hook of that name reduce the buckets of a model."""
    model.register_comm_hook(state, comm_hook_type.value)
