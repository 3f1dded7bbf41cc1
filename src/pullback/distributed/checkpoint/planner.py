"""Planners: what of a state is loaded, and what may be missing."""

from __future__ import annotations

from typing import Any

__all__ = ["DefaultLoadPlanner", "DefaultSavePlanner"]


class DefaultSavePlanner:
    """Saves the whole state. The options are PyTorch's; nothing depends on them here."""

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        dedup_replicated_tensors: bool | None = None,
        dedup_save_to_lowest_rank: bool = False,
        enable_plan_caching: bool = False,
    ) -> None: ...


class DefaultLoadPlanner:
    """Loads the whole state.

    Args:
        allow_partial_load: whether what the checkpoint lacks is left as it is; otherwise that is an error.
    """

    def __init__(
        self, flatten_state_dict: bool = True, flatten_sharded_tensors: bool = True, allow_partial_load: bool = False
    ) -> None:
        self.allow_partial_load = allow_partial_load


def may_be_missing(planner: Any) -> bool:
    """Whether a planner leaves what a checkpoint lacks as it is.

    Raises:
        NotImplementedError: it is one of a program's own.
    """
    if planner is None or type(planner) is DefaultSavePlanner:
        return False
    if type(planner) is not DefaultLoadPlanner:
        raise NotImplementedError(f"checkpoint: planner={planner!r} is not supported")
    return planner.allow_partial_load
