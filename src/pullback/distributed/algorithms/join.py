"""``Join``: ranks that have fewer inputs than others take part in the others' collectives until all are done."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.record import wrap
from ..collectives import start_all_reduce
from ..process_group import ProcessGroup
from ..reduce_op import ReduceOp
from ..work import Work

__all__ = ["Join", "JoinHook", "Joinable"]

MANY = 1000  # steps that a rank may wait for the others before it warns


class JoinHook:
    """What a rank does for the others when it has no more inputs."""

    def main_hook(self) -> None:
        """Shadow the collectives of one step of the others."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """What comes when all have joined.

        Args:
            is_last_joiner: whether this rank was among the last.
        """


class _Config:
    def __init__(self, enable: bool, throw: bool, first: bool) -> None:
        self.enable, self.throw_on_early_termination, self.is_first_joinable = enable, throw, first

    @staticmethod
    def construct_disabled_join_config() -> _Config:
        return _Config(False, False, False)


class Joinable(ABC):
    """What has collectives in its steps, and can shadow them."""

    @abstractmethod
    def __init__(self) -> None:
        super().__init__()
        self._join_config = _Config.construct_disabled_join_config()

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """The hook of this rank; ``kwargs`` are those of :class:`Join`."""

    @property
    @abstractmethod
    def join_device(self) -> Any:
        """Where its tensors are."""

    @property
    @abstractmethod
    def join_process_group(self) -> ProcessGroup:
        """The group of its collectives."""


def count(group: ProcessGroup, number: int, op: Any = ReduceOp.SUM) -> tuple[np.ndarray, Work]:
    """Start to reduce a number over the ranks; the result is in the array."""
    array = np.array([number], np.int64)
    return array, start_all_reduce(group, [wrap(array)], op, "all_reduce")


class Join:
    """A context for training loops of different lengths on the ranks.

    Args:
        joinables: the models and optimizers whose steps have collectives; the first notifies the others.
        enable: whether anything is done.
        throw_on_early_termination: let all ranks raise as soon as one has no more inputs.
        kwargs: for the hooks, such as ``divide_by_initial_world_size``.

    Raises:
        ValueError: there are no joinables, or they are of different groups.
    """

    def __init__(
        self,
        joinables: Sequence[Joinable],
        enable: bool = True,
        throw_on_early_termination: bool = False,
        **kwargs: Any,
    ) -> None:
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        groups = {id(joinable.join_process_group) for joinable in joinables}
        if len(groups) > 1:
            raise ValueError("Using join context manager with multiple process groups")
        self._joinables = list(joinables)
        self._group = joinables[0].join_process_group
        self._enable, self._throw = enable, throw_on_early_termination
        self._hooks = [joinable.join_hook(**kwargs) for joinable in joinables]
        for i, joinable in enumerate(joinables):
            joinable._join_config = _Config(enable, throw_on_early_termination, i == 0)

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        try:
            if self._enable and kind is None:
                self._take_part()
        finally:
            for joinable in self._joinables:
                joinable._join_config = _Config.construct_disabled_join_config()

    def _take_part(self) -> None:
        steps, last = 0, True
        while True:
            working, work = count(self._group, 0)
            work.wait()
            if not working[0]:
                break
            last = False
            if self._throw:
                count(self._group, 1)[1].wait()
                raise RuntimeError(f"Rank {self._group.rank()} exhausted all inputs.")
            for hook in self._hooks:
                hook.main_hook()
            steps += 1
            if steps == MANY:
                warnings.warn(
                    f"Detected uneven input skew of greater than {MANY}. This means that rank {self._group.rank()} has "
                    f"at least {MANY} fewer inputs than other currently-active ranks.",
                    stacklevel=3,
                )
        for hook in self._hooks:
            hook.post_hook(last)

    @staticmethod
    def notify_join_context(joinable: Joinable) -> Work | None:
        """Before a step of this rank: tell the ranks that have joined that there is one.

        Returns:
            The collective that tells it, for the first of the joinables; else None.

        Raises:
            RuntimeError: a rank has no more inputs, and that is to be an error.
        """
        config = joinable._join_config
        if not config.enable or not config.is_first_joinable:
            return None
        working, work = count(joinable.join_process_group, 1)
        work.outputs = [wrap(working)]
        if config.throw_on_early_termination:
            work.wait()
            if working[0] < joinable.join_process_group.size():
                count(joinable.join_process_group, 0)[1].wait()
                raise RuntimeError("Detected at least one rank that exhausted inputs. Throwing across all ranks.")
        return work
