"""When to average: each so many steps, after some first ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from ...world import resolved
from . import utils

__all__ = ["ModelAverager", "PeriodicModelAverager"]


class ModelAverager(ABC):
    """Averages parameters now and then.

    Attributes:
        step: how many steps there were.
    """

    def __init__(self, process_group: Any = None) -> None:
        self.process_group = resolved(process_group)
        self.step = 0

    @abstractmethod
    def average_parameters(self, params: Iterable[Any]) -> None:
        """After a step: average, if it is time."""


def check_warmup(steps: int) -> int:
    """The number of first steps without averages.

    Raises:
        ValueError: it is negative.
    """
    if steps < 0:
        raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
    return steps


class PeriodicModelAverager(ModelAverager):
    """Averages each ``period`` steps, from step ``warmup_steps`` on.

    Raises:
        ValueError: the period is not positive, or ``warmup_steps`` is negative.
    """

    def __init__(self, period: int, warmup_steps: int = 0, process_group: Any = None) -> None:
        super().__init__(process_group)
        self.warmup_steps = check_warmup(warmup_steps)
        if period < 1:
            raise ValueError("Arg ``period`` must be a positive value.")
        self.period = period

    def average_parameters(self, params: Iterable[Any]) -> None:
        """After a step: average, if it is time."""
        if self.step >= self.warmup_steps and (self.step - self.warmup_steps) % self.period == 0:
            utils.average_parameters_or_parameter_groups(params, self.process_group)
        self.step += 1
