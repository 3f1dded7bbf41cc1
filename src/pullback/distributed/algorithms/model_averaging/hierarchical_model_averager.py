"""Averages within small groups often, within large ones seldom (Lin and others 2020)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...process_group import ProcessGroup
from ...world import new_subgroups
from . import utils
from .averagers import ModelAverager, check_warmup

__all__ = ["HierarchicalModelAverager"]


class HierarchicalModelAverager(ModelAverager):
    """Averages in groups of several sizes, each with a period of its own.

    Args:
        period_group_size_dict: the size of the groups by the period; both grow, each a multiple of the one before. The
            last size is that of ``process_group``.
        warmup_steps: steps at first without averages.

    Raises:
        ValueError: they are not so.
    """

    def __init__(
        self, period_group_size_dict: Mapping[int, int] | None = None, warmup_steps: int = 0, process_group: Any = None
    ) -> None:
        super().__init__(process_group)
        if not period_group_size_dict:
            raise ValueError("Arg ``period_group_size_dict`` must not be empty.")
        periods, sizes = list(period_group_size_dict), list(period_group_size_dict.values())
        if periods[0] <= 0:
            raise ValueError("The minimum period in arg ``period_group_size_dict`` must be a positive value.")
        if sizes[-1] != self.process_group.size():
            raise ValueError(
                "The last value in arg ``period_process_group_dict`` must be equal to the size of arg "
                f"``process_group``, but it is {sizes[-1]}, not {self.process_group.size()}."
            )
        self._periods = periods
        self.period_process_group_dict: dict[int, ProcessGroup] = {
            period: self.process_group if size == self.process_group.size() else new_subgroups(size)[0]
            for period, size in period_group_size_dict.items()
        }
        self.warmup_steps = check_warmup(warmup_steps)

    def _find_process_group(self) -> ProcessGroup | None:
        """The largest group whose turn it is."""
        due = [period for period in self._periods if self.step % period == 0]
        return self.period_process_group_dict[due[-1]] if due else None

    def average_parameters(self, params: Iterable[Any]) -> None:
        """After a step: average in the largest group whose turn it is."""
        if self.step >= self.warmup_steps:
            group = self._find_process_group()
            if group is not None:
                utils.average_parameters_or_parameter_groups(params, group)
        self.step += 1
