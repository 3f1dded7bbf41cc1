"""Cosine annealing, with and without warm restarts (Loshchilov and Hutter 2017)."""

from __future__ import annotations

import math

from ..optimizer import Optimizer
from .scheduler import LRScheduler, Rate, rates

__all__ = ["CosineAnnealingLR", "CosineAnnealingWarmRestarts"]


class CosineAnnealingLR(LRScheduler):
    """From the first rate down to ``eta_min`` along half a wave of a cosine, and up again.

    ``eta_min + (first - eta_min) (1 + cos(π epoch / T_max)) / 2``, unless something else changes the rates too:
    it multiplies their distance from ``eta_min`` by what the formula's changes by.

    Args:
        optimizer: whose rates are set.
        T_max: epochs of half a wave.
        eta_min: the lowest rate.
        last_epoch: the last epoch when resuming, or -1.

    >>> import pullback as torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4)
    >>> for _ in range(2):
    ...     optimizer.step(); scheduler.step()
    >>> [round(lr, 6) for lr in scheduler.get_last_lr()]
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Rate]:
        """The rates at ``last_epoch``; for :meth:`step` to call."""
        self._warn_outside_step()
        groups, least = self.optimizer.param_groups, self.eta_min
        if self._is_initial:
            return rates(self.optimizer)
        if self._step_count == 1 and self.last_epoch > 0:
            return self._get_closed_form_lr()
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # just at the bottom: no ratio there
            rise = 1 - math.cos(math.pi / self.T_max)
            pairs = zip(self.base_lrs, groups, strict=True)
            return [group["lr"] + (base - least) * rise / 2 for base, group in pairs]
        now, before = (1 + math.cos(math.pi * epoch / self.T_max) for epoch in (self.last_epoch, self.last_epoch - 1))
        return [now / before * (group["lr"] - least) + least for group in groups]

    def _get_closed_form_lr(self) -> list[Rate]:
        height = 1 + math.cos(math.pi * self.last_epoch / self.T_max)
        return [self.eta_min + (base - self.eta_min) * height / 2 for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """From the first rate down to ``eta_min`` along half a wave of a cosine, and again from the top.

    Args:
        optimizer: whose rates are set.
        T_0: epochs to the first restart.
        T_mult: how many times longer each run is than the one before.
        eta_min: the lowest rate.
        last_epoch: the last epoch when resuming, or -1.

    Attributes:
        T_cur: epochs since the latest restart.
        T_i: epochs of the present run.

    >>> import pullback as torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
    >>> seen = []
    >>> for _ in range(4):
    ...     seen += scheduler.get_last_lr(); optimizer.step(); scheduler.step()
    >>> [round(lr, 6) for lr in seen]
    [1.0, 0.5, 1.0, 0.5]
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Rate]:
        """The rates at ``T_cur``; for :meth:`step` to call."""
        self._warn_outside_step()
        height = 1 + math.cos(math.pi * self.T_cur / self.T_i)
        return [self.eta_min + (base - self.eta_min) * height / 2 for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Go on to the next epoch, or to any ``epoch``, which may be a fraction: ``epoch + batch / batches``."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        elif epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        elif epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            runs = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**runs - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**runs
        self.last_epoch = math.floor(epoch)
        self._set(self.get_lr)
