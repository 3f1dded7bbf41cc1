"""Selective activation checkpointing: a policy says which operations' results are saved, the others are recomputed."""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from ..core.tensor import Tensor
from ..levels.aten import OpOverload, OpOverloadPacket
from ._python_dispatch import TorchDispatchMode


class CheckpointPolicy(enum.Enum):
    """The decision of a policy about an operation: save its result, or recompute it. (MUST and PREFER make no
    difference here.)
    """

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


RECOMPUTED = (CheckpointPolicy.MUST_RECOMPUTE, CheckpointPolicy.PREFER_RECOMPUTE)
AGAIN, CONSUMED = object(), object()  # instead of a result: to be computed again; given out already


class SelectiveCheckpointContext:
    """The context that a policy is called with, besides the operation and its arguments.

    Attributes:
        is_recompute: whether this is the repeated call. (The policy is asked in the first.)
        op_output: what the operation gave.
    """

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute, self.op_output = is_recompute, op_output


class Result:
    """A kept result, and how often its memory had been written into."""

    def __init__(self, value: Any) -> None:
        self.val = value.detach() if isinstance(value, Tensor) else value
        self.version = self.val._version if isinstance(value, Tensor) else None

    def get(self, mutation_allowed: bool) -> Any:
        if self.version is not None and not mutation_allowed and self.val._version != self.version:
            raise RuntimeError("Tensor cached during selective activation checkpoint has been mutated")
        return self.val


def _each(fn: Callable[[Any], Any], value: Any) -> Any:
    return type(value)([fn(v) for v in value]) if isinstance(value, (list, tuple)) else fn(value)


class _CachingTorchDispatchMode(TorchDispatchMode):
    """Around the first call: asks the policy, and keeps."""

    def __init__(self, policy: Callable[..., Any], storage: dict[Any, dict[int, Any]]) -> None:
        self.policy, self.storage = policy, storage

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        verdict = self.policy(
            SelectiveCheckpointContext(is_recompute=False, op_output=out), func, *args, **(kwargs or {})
        )
        if isinstance(verdict, bool):
            verdict = CheckpointPolicy.MUST_SAVE if verdict else CheckpointPolicy.PREFER_RECOMPUTE
        kept = self.storage[func]
        kept[len(kept)] = AGAIN if verdict in RECOMPUTED else _each(Result, out)
        return out


class _CachedTorchDispatchMode(TorchDispatchMode):
    """Around the repeated call: answers from what was kept."""

    def __init__(
        self, policy: Any, storage: dict[Any, dict[int, Any]], allow_cache_entry_mutation: bool = False
    ) -> None:
        self.storage, self.mutation_allowed = storage, allow_cache_entry_mutation

    def __enter__(self) -> Any:
        self.seen: dict[Any, int] = defaultdict(int)
        return super().__enter__()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        number = self.seen[func]
        self.seen[func] += 1
        kept = self.storage.get(func, {}).get(number)
        if kept is None:
            raise RuntimeError(
                f"{func} invocation index {number} encountered during backward but not found in storage: the "
                "checkpointed function did something else when it ran again."
            )
        if kept is CONSUMED:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any region computed under "
                "selective activation checkpoint."
            )
        if kept is AGAIN:
            return func(*args, **(kwargs or {}))
        self.storage[func][number] = CONSUMED
        return _each(lambda r: r.get(self.mutation_allowed), kept)


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False
) -> tuple[Any, Any]:
    """The two contexts that :func:`~pullback.utils.checkpoint.checkpoint` wants of its ``context_fn``.

    Args:
        policy_fn_or_list: ``policy(ctx, op, *args, **kwargs)`` returns a :class:`CheckpointPolicy` (or whether to
            keep); or the list of operations to keep, such as ``[torch.ops.aten.mm.default]``.
        allow_cache_entry_mutation: do not check whether kept results were written into.

    >>> import functools
    >>> import pullback as torch
    >>> from pullback.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
    >>> keep = functools.partial(create_selective_checkpoint_contexts, [torch.ops.aten.exp.default])
    >>> x = torch.ones(1, requires_grad=True)
    >>> checkpoint(lambda x: x.exp().sin(), x, use_reentrant=False, context_fn=keep).backward(); x.grad
    tensor([-2.4784])
    """
    if isinstance(policy_fn_or_list, list):
        for op in policy_fn_or_list:
            if not isinstance(op, OpOverload):
                hint = (
                    (
                        "Please update the OpOverloadPacket to a specific OpOverload. For example, if you have "
                        "`torch.ops.aten.mm`, change it to `torch.ops.aten.mm.default`."
                    )
                    if isinstance(op, OpOverloadPacket)
                    else ""
                )
                raise ValueError(
                    f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}. {hint}"
                )
        kept = set(policy_fn_or_list)

        def policy(ctx: Any, op: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
            return CheckpointPolicy.MUST_SAVE if op in kept else CheckpointPolicy.PREFER_RECOMPUTE
    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    storage: dict[Any, dict[int, Any]] = defaultdict(dict)
    return _CachingTorchDispatchMode(policy, storage), _CachedTorchDispatchMode(
        None, storage, allow_cache_entry_mutation
    )
