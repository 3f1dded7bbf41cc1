"""``LRScheduler``: the base class of learning rate schedulers."""

from __future__ import annotations

import functools
import types
import warnings
import weakref
from collections.abc import Callable
from typing import Any

from ...core.tensor import Tensor
from ..optimizer import Optimizer

__all__ = ["Factor", "LRScheduler"]

Rate = float | Tensor

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. "
    "Please use `scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from "
    "None, the closed form is used instead of the new chainable form, where available. Please open an issue if "
    "you are unable to replicate your use case: https://github.com/pytorch/pytorch/issues/new/choose."
)
_SEE = "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"


class LRScheduler:
    """Base class of schedules. A subclass says in :meth:`get_lr` what the rates are at ``last_epoch``.

    Args:
        optimizer: whose learning rates are set, those of the first epoch at once.
        last_epoch: -1 for a new start; to resume, the number of the epoch that was last, and the groups must
            have their ``"initial_lr"``.

    Attributes:
        last_epoch: the number of the epoch whose rates are set, from 0.
        base_lrs: the rates that the groups had at first.

    >>> import pullback as torch
    >>> class Halving(torch.optim.lr_scheduler.LRScheduler):
    ...     def get_lr(self):
    ...         return [base / 2**self.last_epoch for base in self.base_lrs]
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = Halving(optimizer)
    >>> for epoch in range(3):
    ...     optimizer.step(); scheduler.step()
    >>> scheduler.get_last_lr()
    [0.125]
    """

    _get_lr_called_within_step = False
    _is_initial = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with "
                    "last_epoch >= 0.\nThis typically happens when:\n1. You're trying to resume training from a "
                    "checkpoint but haven't properly loaded the optimizer state\n2. You're using last_epoch >= 0 "
                    "for a fresh training run (not recommended)"
                )
        self.base_lrs = rates(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _note_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer, as a dict."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what :meth:`state_dict` gave. The optimizer's own state is loaded separately."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Rate]:
        """The rates that were last set, one for each group."""
        return self._last_lr

    def get_lr(self) -> list[Rate]:
        """The rates at ``last_epoch``; for :meth:`step` to call."""
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Go on to the next epoch and set its rates. Call it after the optimizer's step."""
        if self._step_count == 1:
            if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
                warnings.warn(
                    "Seems like `optimizer.step()` has been overridden after learning rate scheduler "
                    "initialization. Please, make sure to call `optimizer.step()` before `lr_scheduler.step()`. "
                    + _SEE,
                    UserWarning,
                    stacklevel=2,
                )
            elif not getattr(self.optimizer, "_opt_called", False):
                warnings.warn(
                    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and "
                    "later, you should call them in the opposite order: `optimizer.step()` before "
                    "`lr_scheduler.step()`.  Failure to do this will result in PyTorch skipping the first value "
                    "of the learning rate schedule. " + _SEE,
                    UserWarning,
                    stacklevel=2,
                )
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        closed = None if epoch is None else getattr(self, "_get_closed_form_lr", None)
        self._set(closed or self.get_lr)

    def _set(self, get_lr: Callable[[], list[Rate]]) -> None:
        self._get_lr_called_within_step = True
        try:
            values = get_lr()
        finally:
            self._get_lr_called_within_step = False
        for group, value in zip(self.optimizer.param_groups, values, strict=True):
            set_option(group, "lr", value)
        self._last_lr = rates(self.optimizer)

    def _warn_outside_step(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                UserWarning,
                stacklevel=3,
            )


class _LRScheduler(LRScheduler):
    """The base class's old name, to derive from."""


class Factor(LRScheduler):
    """Schedules that multiply whatever the rates are: several can act on one optimizer.

    A subclass says what the factor is, in :meth:`_factor`; and in :meth:`_share` the product of all factors so
    far, for ``step(epoch)``.
    """

    def get_lr(self) -> list[Rate]:
        """The rates at ``last_epoch``; for :meth:`step` to call."""
        self._warn_outside_step()
        factor = self._factor()
        if factor is None:
            return rates(self.optimizer)
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def _factor(self) -> float | None:
        """The rate at ``last_epoch`` over that of the epoch before; None: the same."""
        raise NotImplementedError

    def _share(self) -> float:
        """The rate at ``last_epoch`` over that at the beginning."""
        raise NotImplementedError

    def _get_closed_form_lr(self) -> list[Rate]:
        return [base * self._share() for base in self.base_lrs]


def check_optimizer(optimizer: Any) -> None:
    """Refuse what is no optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def copied(value: Any) -> Any:
    """A rate that later changes in place do not reach."""
    return value.clone() if isinstance(value, Tensor) else value


def rates(optimizer: Optimizer, key: str = "lr") -> list[Rate]:
    """An option of every group, by default the learning rate."""
    return [copied(group[key]) for group in optimizer.param_groups]


def set_option(group: dict[str, Any], key: str, value: Any) -> None:
    """Set a group's option; a tensor is written into."""
    if isinstance(group[key], Tensor):
        group[key].fill_(value.squeeze() if isinstance(value, Tensor) else value)
    else:
        group[key] = value


def for_each_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """An argument that may be given as one value or as one for each group."""
    count = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        value = [value] * count
    elif len(value) != count:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. "
            f"{name} has {len(value)} values, param_groups has {count}."
        )
    return [copied(v) for v in value]


def of_function(function: Any) -> dict[str, Any] | None:
    """What state dicts keep of a callable: an object's attributes, and of a function nothing."""
    return None if isinstance(function, types.FunctionType) else function.__dict__.copy()


def _note_steps(optimizer: Optimizer) -> None:
    """Let the optimizer note when it has made a step."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    step: Callable[..., Any] = optimizer.step.__func__  # type: ignore[attr-defined]
    ref = weakref.ref(optimizer)

    @functools.wraps(step)
    def noting(*args: Any, **kwargs: Any) -> Any:
        this: Any = ref()
        this._opt_called = True
        return step(this, *args, **kwargs)

    noting._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer.step = noting  # type: ignore[method-assign]
