"""``DataParallel``: a module on several devices of one process, of which there is one."""

from __future__ import annotations

from typing import Any

from .modules.module import Module

__all__ = ["DataParallel"]


class DataParallel(Module):
    """Calls ``module``, as PyTorch does where it has but the CPU; parameters are named ``module.*``.

    >>> import pullback as torch
    >>> list(torch.nn.DataParallel(torch.nn.Linear(1, 1)).state_dict())
    ['module.weight', 'module.bias']
    """

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list[Any] = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)
