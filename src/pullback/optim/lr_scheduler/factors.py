"""Schedulers that multiply rates by a factor: lambda, step, constant, linear, exponential, polynomial."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from ..optimizer import Optimizer
from .scheduler import Factor, LRScheduler, Rate, of_function, rates

__all__ = [
    "ConstantLR",
    "ExponentialLR",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "PolynomialLR",
    "StepLR",
]

Function = Callable[[int], float]


class _Functions(LRScheduler):
    """Schedules given as functions of the epoch, one or one for each group."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Function | list[Function], last_epoch: int = -1) -> None:
        count = len(optimizer.param_groups)
        if isinstance(lr_lambda, (list, tuple)):
            if len(lr_lambda) != count:
                raise ValueError(f"Expected {count} lr_lambdas, but got {len(lr_lambda)}")
            self.lr_lambdas = list(lr_lambda)
        else:
            self.lr_lambdas = [lr_lambda] * count
        self._check()
        super().__init__(optimizer, last_epoch)

    def _check(self) -> None:
        """Refuse functions that are none."""

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer, as a dict.

        Of functions and lambdas nothing is kept; of callable objects, their attributes.
        """
        return super().state_dict() | {"lr_lambdas": [of_function(f) for f in self.lr_lambdas]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what :meth:`state_dict` gave; functions stay those that the schedule has."""
        for function, attributes in zip(self.lr_lambdas, state_dict["lr_lambdas"]):
            if attributes is not None:
                function.__dict__.update(attributes)
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "lr_lambdas"})


class LambdaLR(_Functions):
    """The first rate times a function of the epoch.

    Args:
        optimizer: whose rates are set.
        lr_lambda: a function of the epoch, or a list of one for each group.
        last_epoch: the last epoch when resuming, or -1.

    >>> import pullback as torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.5**epoch)
    >>> optimizer.step(); scheduler.step(); scheduler.get_last_lr()
    [0.5]
    """

    def get_lr(self) -> list[Rate]:
        """The rates at ``last_epoch``; for :meth:`step` to call."""
        self._warn_outside_step()
        return [base * f(self.last_epoch) for base, f in zip(self.base_lrs, self.lr_lambdas, strict=True)]


class MultiplicativeLR(_Functions):
    """The present rate times a function of the epoch, at every epoch.

    Args:
        optimizer: whose rates are set.
        lr_lambda: a function of the epoch, or a list of one for each group.
        last_epoch: the last epoch when resuming, or -1.

    >>> import pullback as torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda epoch: 0.5)
    >>> for _ in range(3):
    ...     optimizer.step(); scheduler.step()
    >>> scheduler.get_last_lr()
    [0.125]
    """

    def _check(self) -> None:
        for function in self.lr_lambdas:
            if not callable(function):
                raise TypeError(f"lr_lambda should be a function, but got {type(function).__name__}")

    def get_lr(self) -> list[Rate]:
        """The rates at ``last_epoch``; for :meth:`step` to call."""
        self._warn_outside_step()
        if self._is_initial:
            return rates(self.optimizer)
        groups = self.optimizer.param_groups
        return [group["lr"] * f(self.last_epoch) for group, f in zip(groups, self.lr_lambdas, strict=True)]


class StepLR(Factor):
    """Times ``gamma`` every ``step_size`` epochs.

    Args:
        optimizer: whose rates are set.
        step_size: epochs from one drop to the next.
        gamma: the factor.
        last_epoch: the last epoch when resuming, or -1.

    >>> import pullback as torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    >>> seen = []
    >>> for _ in range(4):
    ...     seen += scheduler.get_last_lr(); optimizer.step(); scheduler.step()
    >>> seen
    [1.0, 1.0, 0.5, 0.5]
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        return None if self.last_epoch == 0 or self.last_epoch % self.step_size != 0 else self.gamma

    def _share(self) -> float:
        return self.gamma ** (self.last_epoch // self.step_size)


class MultiStepLR(Factor):
    """Times ``gamma`` at given epochs.

    Args:
        optimizer: whose rates are set.
        milestones: the epochs, in any order; one that is listed twice counts twice.
        gamma: the factor.
        last_epoch: the last epoch when resuming, or -1.

    >>> import pullback as torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[1, 3], gamma=0.5)
    >>> for _ in range(3):
    ...     optimizer.step(); scheduler.step()
    >>> scheduler.get_last_lr()
    [0.25]
    """

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        times = self.milestones[self.last_epoch]
        return self.gamma**times if times else None

    def _share(self) -> float:
        return self.gamma ** bisect_right(sorted(self.milestones.elements()), self.last_epoch)


class ConstantLR(Factor):
    """Times ``factor`` for the first epochs.

    Args:
        optimizer: whose rates are set.
        factor: between 0 and 1.
        total_iters: for how many epochs.
        last_epoch: the last epoch when resuming, or -1.

    >>> import pullback as torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2)
    >>> seen = []
    >>> for _ in range(3):
    ...     seen += scheduler.get_last_lr(); optimizer.step(); scheduler.step()
    >>> seen
    [0.5, 0.5, 1.0]
    """

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if factor > 1.0 or factor < 0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        if self.last_epoch == 0:
            return self.factor
        return 1.0 / self.factor if self.last_epoch == self.total_iters else None

    def _share(self) -> float:
        return self.factor + (self.last_epoch >= self.total_iters) * (1 - self.factor)


class LinearLR(Factor):
    """Times a factor that goes linearly from ``start_factor`` to ``end_factor``: a warm-up.

    Args:
        optimizer: whose rates are set.
        start_factor: above 0, at most 1.
        end_factor: between 0 and 1.
        total_iters: in how many epochs.
        last_epoch: the last epoch when resuming, or -1.

    >>> import pullback as torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.5, total_iters=2)
    >>> seen = []
    >>> for _ in range(3):
    ...     seen += scheduler.get_last_lr(); optimizer.step(); scheduler.step()
    >>> seen
    [0.5, 0.75, 1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        if self.last_epoch == 0:
            return self.start_factor
        if self._is_initial or self.last_epoch > self.total_iters:
            return None
        change = self.end_factor - self.start_factor
        before = self.total_iters * self.start_factor + (self.last_epoch - 1) * change
        return 1.0 + change / before

    def _share(self) -> float:
        change = self.end_factor - self.start_factor
        return self.start_factor + change * min(self.total_iters, self.last_epoch) / self.total_iters


class ExponentialLR(Factor):
    """Times ``gamma`` every epoch.

    Args:
        optimizer: whose rates are set.
        gamma: the factor.
        last_epoch: the last epoch when resuming, or -1.

    >>> import pullback as torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> for _ in range(3):
    ...     optimizer.step(); scheduler.step()
    >>> scheduler.get_last_lr()
    [0.125]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        return None if self._is_initial else self.gamma

    def _share(self) -> float:
        return self.gamma**self.last_epoch


class PolynomialLR(Factor):
    """The first rate times ``(1 - epoch / total_iters) ** power``, down to 0.

    Args:
        optimizer: whose rates are set.
        total_iters: in how many epochs.
        power: the exponent; 1 is linear.
        last_epoch: the last epoch when resuming, or -1.

    >>> import pullback as torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=4)
    >>> optimizer.step(); scheduler.step(); scheduler.get_last_lr()
    [0.75]
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        if self._is_initial or self.last_epoch > self.total_iters:
            return None
        now, before = (1.0 - epoch / self.total_iters for epoch in (self.last_epoch, self.last_epoch - 1))
        return (now / before) ** self.power

    def _share(self) -> float:
        return (1.0 - min(self.total_iters, self.last_epoch) / self.total_iters) ** self.power
