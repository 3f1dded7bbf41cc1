"""Gradients averaged over all ranks at first, later within small groups only (Lin and others 2020)."""

from __future__ import annotations

from typing import Any

from ....compat.futures import Future
from ...gradient_buckets import GradBucket
from ...world import new_subgroups
from .default_hooks import allreduce_hook, noop_hook

__all__ = ["PostLocalSGDState", "post_localSGD_hook"]


class PostLocalSGDState:
    """What the hook knows.

    Args:
        process_group: the ranks, all by default.
        subgroup: those that go on together; by default the ranks of a machine.
        start_localSGD_iter: from which step on.
        post_local_gradient_allreduce: whether gradients are averaged within the subgroup then, or left.
    """

    def __init__(
        self,
        process_group: Any,
        subgroup: Any,
        start_localSGD_iter: int,
        post_local_gradient_allreduce: bool = True,
    ) -> None:
        self.process_group, self.start_localSGD_iter = process_group, start_localSGD_iter
        self.post_local_gradient_allreduce = post_local_gradient_allreduce
        self.subgroup = new_subgroups()[0] if subgroup is None and post_local_gradient_allreduce else subgroup
        self.iter = 0

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        """Count the step, at its last bucket."""
        if bucket.is_last():
            self.iter += 1


def post_localSGD_hook(state: PostLocalSGDState, bucket: GradBucket) -> Future:
    """Average the gradients: over all ranks at first, then over the subgroup; to be used with an averager."""
    everyone = state.iter < state.start_localSGD_iter
    state.maybe_increase_iter(bucket)
    if everyone:
        return allreduce_hook(state.process_group, bucket)
    if not state.post_local_gradient_allreduce:
        return noop_hook(None, bucket)
    return allreduce_hook(state.subgroup, bucket)
