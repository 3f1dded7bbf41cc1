"""Weight averaging over training: ``AveragedModel`` (SWA, EMA), ``SWALR``, ``update_bn``."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any, Literal

from ..base import dtypes
from ..base.thread_state import no_grad
from ..core.tensor import Tensor
from ..nn.modules.batchnorm import _BatchNorm
from ..nn.modules.module import Module
from ..ops.create import tensor
from .lr_scheduler.scheduler import LRScheduler, Rate, for_each_group
from .optimizer import Optimizer, number

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]

Average = Callable[[Tensor, Tensor, Any], Tensor]
MultiAverage = Callable[[list[Tensor], list[Tensor], Any], None]


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """The rule of an exponential moving average, ``decay * average + (1 - decay) * current``.

    >>> import pullback as torch
    >>> ema = torch.optim.swa_utils.get_ema_avg_fn(0.75)
    >>> ema(torch.tensor(1.0), torch.tensor(5.0), 1)
    tensor(2.)
    """
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Average:
    """The rule of the mean of all so far, ``average + (current - average) / (num_averaged + 1)``.

    >>> import pullback as torch
    >>> mean = torch.optim.swa_utils.get_swa_avg_fn()
    >>> mean(torch.tensor(1.0), torch.tensor(5.0), 3)
    tensor(2.)
    """

    @no_grad()
    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


def get_ema_multi_avg_fn(decay: float = 0.999) -> MultiAverage:
    """:func:`get_ema_avg_fn` for lists of tensors, in place.

    >>> import pullback as torch
    >>> averages = [torch.tensor(1.0)]
    >>> torch.optim.swa_utils.get_ema_multi_avg_fn(0.75)(averages, [torch.tensor(5.0)], 1); averages
    [tensor(2.)]
    """
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param_list: list[Tensor], current_param_list: list[Tensor], _: Any) -> None:
        _move(ema_param_list, current_param_list, 1 - decay)

    return ema_update


def get_swa_multi_avg_fn() -> MultiAverage:
    """:func:`get_swa_avg_fn` for lists of tensors, in place."""

    @no_grad()
    def swa_update(averaged_param_list: list[Tensor], current_param_list: list[Tensor], num_averaged: Any) -> None:
        _move(averaged_param_list, current_param_list, 1 / (number(num_averaged) + 1))

    return swa_update


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def _move(averages: list[Tensor], current: list[Tensor], weight: float) -> None:
    for average, new in zip(averages, current, strict=True):
        if average.is_floating_point() or average.is_complex():
            average.lerp_(new, weight)
        else:
            average.copy_(average * (1 - weight) + new * weight)


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of the model's.

    By default the mean (Izmailov et al. 2018); :func:`get_ema_multi_avg_fn` makes it an exponential moving average.

    Args:
        model: the model; it is copied.
        device: accepted for compatibility.
        avg_fn: the rule for one tensor, ``avg_fn(average, current, num_averaged)``.
        multi_avg_fn: the rule for lists of tensors of one type, in place; instead of ``avg_fn``.
        use_buffers: average buffers too, such as running statistics; otherwise they are copied.

    Attributes:
        module: the copy.
        n_averaged: how many have been averaged, a 0-d tensor of int64.

    >>> import pullback as torch
    >>> model = torch.nn.Linear(1, 1)
    >>> averaged = torch.optim.swa_utils.AveragedModel(model)
    >>> for value in (1.0, 2.0, 6.0):
    ...     _ = torch.nn.init.constant_(model.weight, value); averaged.update_parameters(model)
    >>> averaged.module.weight.item(), averaged.n_averaged
    (3.0, tensor(3))
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Average | None = None,
        multi_avg_fn: MultiAverage | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, dtype=dtypes.int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the copy."""
        return self.module(*args, **kwargs)

    @no_grad()
    def update_parameters(self, model: Module) -> None:
        """Take the model's parameters into the average; the first time, copy them."""
        averages, current = (
            [t.detach() for t in itertools.chain(m.parameters(), m.buffers() if self.use_buffers else ())]
            for m in (self.module, model)
        )
        if self.n_averaged == 0:
            for average, new in zip(averages, current):
                average.copy_(new)
        elif self.avg_fn is None:
            rule = self.multi_avg_fn or get_swa_multi_avg_fn()
            alike: defaultdict[Any, tuple[list[Tensor], list[Tensor]]] = defaultdict(lambda: ([], []))
            for average, new in zip(averages, current):
                alike[average.dtype][0].append(average)
                alike[average.dtype][1].append(new)
            for pair in alike.values():
                rule(*pair, self.n_averaged)
        else:
            for average, new in zip(averages, current):
                average.copy_(self.avg_fn(average, new, self.n_averaged))
        if not self.use_buffers:
            for kept, new in zip(self.module.buffers(), model.buffers(), strict=True):
                kept.detach().copy_(new.detach())
        self.n_averaged += 1


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Compute the running statistics of a model's batch norm layers anew, by one pass over the data.

    Averaged parameters need their own: the copied ones belong to others.

    Args:
        loader: gives batches; of tuples and lists, the first element is the model's input.
        model: in whichever mode; that stays.
        device: where inputs are moved to.

    >>> import pullback as torch
    >>> model = torch.nn.BatchNorm1d(1)
    >>> torch.optim.swa_utils.update_bn([torch.tensor([[1.0], [3.0]]), torch.tensor([[4.0], [8.0]])], model)
    >>> model.running_mean
    tensor([4.])
    """
    momenta = {}
    for module in model.modules():
        if isinstance(module, _BatchNorm):
            module.reset_running_stats()
            momenta[module] = module.momentum
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta:
        module.momentum = None  # the mean over all batches, instead of the latest
    for batch in loader:
        if isinstance(batch, (list, tuple)):
            batch = batch[0]
        model(batch if device is None else batch.to(device))
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """From whatever the rates are to constant ones, at which averaging makes sense.

    Args:
        optimizer: whose rates are set.
        swa_lr: the final rate, or a list of one for each group.
        anneal_epochs: in how many epochs.
        anneal_strategy: the shape of the way there, ``"cos"`` or ``"linear"``.
        last_epoch: the last epoch when resuming, or -1.

    >>> import pullback as torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.swa_utils.SWALR(optimizer, 0.5, anneal_epochs=2, anneal_strategy="linear")
    >>> seen = []
    >>> for _ in range(4):
    ...     seen += scheduler.get_last_lr(); optimizer.step(); scheduler.step()
    >>> seen
    [1.0, 0.75, 0.5, 0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        last_epoch: int = -1,
    ) -> None:
        for rate, group in zip(for_each_group("swa_lr", optimizer, swa_lr), optimizer.param_groups):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_strategy = anneal_strategy
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def anneal_func(self, t: float) -> float:
        """The part of the way gone after the part ``t`` of the time."""
        return t if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * t)) / 2

    def get_lr(self) -> list[Rate]:
        """The rates at ``last_epoch``; for :meth:`step` to call."""
        self._warn_outside_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = (self.anneal_func(max(0, min(1, i / max(1, self.anneal_epochs)))) for i in (step - 1, step))
        return [self._rate(group["lr"], group["swa_lr"], before, now) for group in self.optimizer.param_groups]

    @staticmethod
    def _rate(lr: Any, final: Any, before: float, now: float) -> Any:
        """Where the way leads that was at ``lr`` the part ``before`` of the way."""
        start = final if before == 1 else (lr - before * final) / (1 - before)
        return final * now + start * (1 - now)
