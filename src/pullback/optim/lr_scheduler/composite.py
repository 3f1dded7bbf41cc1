"""Schedulers made of schedulers: ``SequentialLR`` and ``ChainedScheduler``."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any

from ..optimizer import Optimizer
from .plateau import ReduceLROnPlateau
from .scheduler import LRScheduler, rates, set_option

__all__ = ["ChainedScheduler", "SequentialLR"]


class _CompositeLR(LRScheduler):
    """Base class of schedulers that step other schedulers."""

    _schedulers: Sequence[LRScheduler]

    def _check(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer) -> None:
        name = type(self).__name__
        for i, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(f"{name} at index {i} should have `optimizer` as its attribute.")
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(
                    f"{name} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to "
                    f"be specified when calling `step`, but got one at index {i} in the given schedulers sequence."
                )
            if optimizer != scheduler.optimizer:
                raise ValueError(
                    f"{name} expects all schedulers to belong to the same optimizer, but got scheduler "
                    f"{type(scheduler).__name__} at index {i} has {scheduler.optimizer}, which is different from "
                    f"{type(optimizer).__name__}."
                )

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer, as a dict; under ``_schedulers``, what the parts remember."""
        return super().state_dict() | {"_schedulers": [s.state_dict() for s in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what :meth:`state_dict` gave."""
        for scheduler, state in zip(self._schedulers, state_dict["_schedulers"]):
            scheduler.load_state_dict(state)
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "_schedulers"})


def _leaves(schedulers: Sequence[LRScheduler]) -> Iterator[LRScheduler]:
    """The schedules that composites are made of."""
    for scheduler in schedulers:
        if isinstance(scheduler, _CompositeLR):
            yield from _leaves(scheduler._schedulers)
        else:
            yield scheduler


class SequentialLR(_CompositeLR):
    """One schedule after the other; each begins at its own epoch 0.

    Args:
        optimizer: whose rates are set.
        schedulers: schedules of that optimizer.
        milestones: the epochs at which the second, the third and so on begin.
        last_epoch: the epoch at which to resume, with the rates of a schedule that came there step by step; or -1.

    Raises:
        ValueError: no schedules, of different optimizers, not one more than milestones, or one that reduces
            rates on a plateau.

    >>> import pullback as torch
    >>> schedules = torch.optim.lr_scheduler
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> warm_up = schedules.ConstantLR(optimizer, factor=0.5, total_iters=9)
    >>> decay = schedules.ExponentialLR(optimizer, gamma=0.9)
    >>> scheduler = schedules.SequentialLR(optimizer, [warm_up, decay], milestones=[2])
    >>> seen = []
    >>> for _ in range(4):
    ...     seen += scheduler.get_last_lr(); optimizer.step(); scheduler.step()
    >>> seen
    [0.5, 0.5, 1.0, 0.9]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: list[LRScheduler],
        milestones: list[int],
        last_epoch: int = -1,
    ) -> None:
        name = type(self).__name__
        if len(schedulers) < 1:
            raise ValueError(f"{name} expects at least one scheduler, but got no scheduler.")
        self._check(schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                f"milestone points, but got number of schedulers {len(schedulers)} and the number of milestones "
                f"to be equal to {len(milestones)}"
            )
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = 0
        self.optimizer = optimizer
        for group in optimizer.param_groups:  # all parts have set the rates of their first epoch
            set_option(group, "lr", group["initial_lr"])
        self.recursive_undo()
        if last_epoch >= 0:
            for part in _leaves(schedulers):  # made with a last epoch, too
                part.last_epoch = -1
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()
        while self.last_epoch < last_epoch:  # parts act on what the ones before have left
            optimizer._opt_called = True  # type: ignore[attr-defined]  # in the run that is resumed
            self.step()

    def recursive_undo(self, sched: LRScheduler | None = None) -> None:
        """Take back the first step of all parts, and of their parts."""
        scheduler = self if sched is None else sched
        if hasattr(scheduler, "_schedulers"):
            for part in scheduler._schedulers:
                self.recursive_undo(part)
        elif hasattr(scheduler, "last_epoch"):
            scheduler.last_epoch -= 1

    def step(self) -> None:  # type: ignore[override]
        """Go on to the next epoch."""
        self.last_epoch += 1
        i = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[i]
        if i > 0 and self._milestones[i - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_CompositeLR):
    """Several schedules at once, each acting on what the one before has set.

    Args:
        schedulers: schedules of one optimizer.
        optimizer: that optimizer; by default that of the first.

    Raises:
        ValueError: no schedules, of different optimizers, or one that reduces rates on a plateau.

    >>> import pullback as torch
    >>> schedules = torch.optim.lr_scheduler
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> halves = schedules.StepLR(optimizer, step_size=2, gamma=0.5)
    >>> scheduler = schedules.ChainedScheduler([halves, schedules.ExponentialLR(optimizer, gamma=0.1)])
    >>> for _ in range(2):
    ...     optimizer.step(); scheduler.step()
    >>> [round(lr, 6) for lr in scheduler.get_last_lr()]
    [0.005]
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        if len(schedulers) < 1:
            raise ValueError(
                f"{type(self).__name__} expects at least one scheduler to be chained, but got no scheduler."
            )
        optimizer = optimizer or schedulers[0].optimizer
        self._check(schedulers, optimizer)
        self._schedulers = schedulers
        self.optimizer = optimizer
        self._last_lr = rates(optimizer)

    def step(self) -> None:  # type: ignore[override]
        """Go on to the next epoch, in all parts."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = rates(self.optimizer)
