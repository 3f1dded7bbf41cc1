"""``CyclicLR`` and ``OneCycleLR``, which may cycle the momentum too (Smith 2017; Smith and Topin 2019)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

from ..optimizer import Optimizer
from .scheduler import LRScheduler, Rate, check_optimizer, for_each_group, of_function, set_option

__all__ = ["CyclicLR", "OneCycleLR"]


class _Cycle(LRScheduler):
    """Schedules that may move the momentum: the option ``momentum``, or the first of the ``betas``."""

    def _prepare_momentum(self, base: Any, largest: Any, last_epoch: int) -> tuple[list[Any], list[Any]]:
        """Set the momenta at which to begin. Returns the lowest and the highest, one for each group."""
        optimizer = self.optimizer
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.use_beta1 = "betas" in optimizer.defaults
        bases = for_each_group("base_momentum", optimizer, base)
        largest = for_each_group("max_momentum", optimizer, largest)
        if last_epoch == -1:
            for least, most, group in zip(bases, largest, optimizer.param_groups):
                self._set_momentum(group, most)
                group["max_momentum"] = most
                group["base_momentum"] = least
        return bases, largest

    def _set_momentum(self, group: dict[str, Any], momentum: float) -> None:
        if self.use_beta1:
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum


class CyclicLR(_Cycle):
    """Up linearly from ``base_lr`` to ``max_lr`` and down again, over and over.

    Args:
        optimizer: whose rates are set. A step of this schedule is a batch.
        base_lr, max_lr: the lowest and the highest rate, or a list of one for each group.
        step_size_up, step_size_down: batches of the way up and of the way down, which is by default as long.
        mode: how high the peaks are: ``"triangular"``, all the same; ``"triangular2"``, each half of the one
            before; ``"exp_range"``, lower by ``gamma`` each batch.
        gamma: the factor of ``"exp_range"``.
        scale_fn: your own factor on the height, in place of ``mode``.
        scale_mode: what it is a function of: the number of the ``"cycle"``, from 1, or ``"iterations"``.
        cycle_momentum: move the momentum too, down where the rate goes up.
        base_momentum, max_momentum: its lowest and its highest value, or a list of one for each group.
        last_epoch: the last batch when resuming, or -1.

    >>> import pullback as torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0, momentum=0.9)
    >>> scheduler = torch.optim.lr_scheduler.CyclicLR(optimizer, base_lr=1.0, max_lr=2.0, step_size_up=2)
    >>> seen = []
    >>> for _ in range(5):
    ...     seen += scheduler.get_last_lr(); optimizer.step(); scheduler.step()
    >>> seen
    [1.0, 1.5, 2.0, 1.5, 1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: Literal["triangular", "triangular2", "exp_range"] = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: Literal["cycle", "iterations"] = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float = 0.8,
        max_momentum: float = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = for_each_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for lr, group in zip(base_lrs, optimizer.param_groups):
                set_option(group, "lr", lr)
        self.max_lrs = for_each_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        self.total_size = up + (float(step_size_down) if step_size_down is not None else up)
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode
        if scale_fn is None:
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            bounds = self._prepare_momentum(base_momentum, max_momentum, last_epoch)
            self.base_momentums, self.max_momentums = bounds
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """The factor on the height of a cycle, or of an iteration, as ``scale_mode`` says."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular":
            return 1.0
        return 1 / 2.0 ** (x - 1) if self.mode == "triangular2" else self.gamma**x

    def get_lr(self) -> list[Rate]:
        """The rates at ``last_epoch``, for :meth:`step` to call; sets the momentum."""
        self._warn_outside_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            bounds = zip(self.base_momentums, self.max_momentums, strict=True)
            for group, (least, most) in zip(self.optimizer.param_groups, bounds, strict=True):
                self._set_momentum(group, most - (most - least) * height * scale)
        bounds = zip(self.base_lrs, self.max_lrs, strict=True)
        return [least + (most - least) * height * scale for least, most in bounds]

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer, as a dict; of ``scale_fn``, the attributes of a callable object."""
        function = self._scale_fn_custom
        return super().state_dict() | {"_scale_fn_custom": None if function is None else of_function(function)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what :meth:`state_dict` gave; a ``scale_fn`` stays that which the schedule has."""
        attributes = state_dict["_scale_fn_custom"]
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "_scale_fn_custom"})
        if attributes is not None:
            self._scale_fn_custom.__dict__.update(attributes)


class OneCycleLR(_Cycle):
    """Once up from ``max_lr / div_factor`` to ``max_lr``, and then far down.

    Args:
        optimizer: whose rates are set. A step of this schedule is a batch.
        max_lr: the highest rate, or a list of one for each group.
        total_steps: batches in all; or else both
        epochs, steps_per_epoch: their number, and batches in each.
        pct_start: the part of the batches on which the rate goes up.
        anneal_strategy: the shape of the ways up and down, ``"cos"`` or ``"linear"``.
        cycle_momentum: move the momentum too, down where the rate goes up.
        base_momentum, max_momentum: its lowest and its highest value, or a list of one for each group.
        div_factor: ``max_lr`` over the first rate.
        final_div_factor: the first rate over the last.
        three_phase: go down in two phases, to the first rate in as many batches as it took up.
        last_epoch: the last batch when resuming, or -1.

    >>> import pullback as torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0, momentum=0.9)
    >>> scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=10)
    >>> for _ in range(2):
    ...     optimizer.step(); scheduler.step()
    >>> scheduler.get_last_lr()
    [1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        if total_steps is not None:
            self.total_steps = _count("total_steps", total_steps)
        elif epochs is not None and steps_per_epoch is not None:
            self.total_steps = _count("epochs", epochs) * _count("steps_per_epoch", steps_per_epoch)
        else:
            raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
        rise = float(pct_start * self.total_steps)
        ends = [rise - 1, float(2 * pct_start * self.total_steps) - 2, self.total_steps - 1]
        rates = ["initial_lr", "max_lr", "initial_lr", "min_lr"]
        momenta = ["max_momentum", "base_momentum", "max_momentum", "max_momentum"]
        if not three_phase:
            del ends[1], rates[2], momenta[2]
        self._schedule_phases: list[dict[str, Any]] = [
            {
                "end_step": end,
                "start_lr": rates[i],
                "end_lr": rates[i + 1],
                "start_momentum": momenta[i],
                "end_momentum": momenta[i + 1],
            }
            for i, end in enumerate(ends)
        ]
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_func_type = anneal_strategy
        max_lrs = for_each_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for most, group in zip(max_lrs, optimizer.param_groups):
                group["initial_lr"] = most / div_factor
                group["max_lr"] = most
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._prepare_momentum(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def _anneal_func(self, start: Any, end: Any, part: float) -> Any:
        if self._anneal_func_type == "linear":
            return (end - start) * part + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)

    def get_lr(self) -> list[Rate]:
        """The rates at ``last_epoch``, for :meth:`step` to call; sets the momentum."""
        self._warn_outside_step()
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"Tried to step {step} times. The specified number of total steps is {self.total_steps}")
        start = 0.0
        for phase in self._schedule_phases:
            end = phase["end_step"]
            if step <= end or phase is self._schedule_phases[-1]:
                break
            start = end
        part = (step - start) / (end - start)
        if self.cycle_momentum:
            for group in self.optimizer.param_groups:
                bounds = group[phase["start_momentum"]], group[phase["end_momentum"]]
                self._set_momentum(group, self._anneal_func(*bounds, part))
        return [
            self._anneal_func(group[phase["start_lr"]], group[phase["end_lr"]], part)
            for group in self.optimizer.param_groups
        ]


def _count(name: str, value: Any) -> int:
    if not isinstance(value, int) or value <= 0:
        raise ValueError(f"Expected positive integer {name}, but got {value}")
    return value
