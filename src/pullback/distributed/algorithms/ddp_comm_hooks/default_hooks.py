"""Hooks that reduce a bucket as it is, or with half the bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....base.dtypes import bfloat16, dtype, float16
from ....compat.futures import Future
from ...collectives import start_all_reduce
from ...gradient_buckets import GradBucket
from ...reduce_op import ReduceOp
from ...world import resolved

__all__ = [
    "allreduce_hook",
    "bf16_compress_hook",
    "bf16_compress_wrapper",
    "fp16_compress_hook",
    "fp16_compress_wrapper",
    "noop_hook",
]

Hook = Callable[[Any, GradBucket], Future]


def averaged(group: Any, tensor: Any) -> Future:
    """The future of a tensor's average over the ranks, computed in its own memory."""
    found = resolved(group)
    tensor.div_(found.size())
    work = start_all_reduce(found, [tensor], ReduceOp.SUM, "all_reduce")
    return work.get_future().then(lambda future: future.value()[0])


def allreduce_hook(process_group: Any, bucket: GradBucket) -> Future:
    """Average the gradients: what is done without a hook, too."""
    return averaged(process_group, bucket.buffer())


def _compressed(kind: dtype, process_group: Any, bucket: GradBucket) -> Future:
    small, buffer = bucket.buffer().to(kind), bucket.buffer()

    def restore(future: Future) -> Any:
        buffer.copy_(future.value())
        return buffer

    return averaged(process_group, small).then(restore)


def fp16_compress_hook(process_group: Any, bucket: GradBucket) -> Future:
    """Average the gradients in float16."""
    return _compressed(float16, process_group, bucket)


def bf16_compress_hook(process_group: Any, bucket: GradBucket) -> Future:
    """Average the gradients in bfloat16."""
    return _compressed(bfloat16, process_group, bucket)


def _wrapper(kind: dtype, hook: Hook) -> Hook:
    def compressed(state: Any, bucket: GradBucket) -> Future:
        original = bucket.buffer()
        bucket.set_buffer(original.to(kind))

        def restore(future: Future) -> Any:
            value = future.value()
            original.copy_(value[0] if isinstance(value, (list, tuple)) else value)
            return original

        return hook(state, bucket).then(restore)

    return compressed


def fp16_compress_wrapper(hook: Hook) -> Hook:
    """A hook that hands another the gradients in float16."""
    return _wrapper(float16, hook)


def bf16_compress_wrapper(hook: Hook) -> Hook:
    """A hook that hands another the gradients in bfloat16."""
    return _wrapper(bfloat16, hook)


def noop_hook(_: Any, bucket: GradBucket) -> Future:
    """Leave the gradients as they are, to measure what reducing them costs."""
    future = Future()
    future.set_result(bucket.buffer())
    return future
