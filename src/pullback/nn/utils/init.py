"""``skip_init``: construct a module without initialising its parameters."""

from __future__ import annotations

import inspect
from typing import Any

from ...ops.random import fork_rng
from ..modules.module import Module

__all__ = ["skip_init"]


def skip_init(module_cls: type[Module], *args: Any, **kwargs: Any) -> Module:
    """An instance of ``module_cls`` whose parameters are not to be relied upon, and no random number is drawn.

    Raises:
        RuntimeError: it is no module class, or does not take ``device``.

    >>> import pullback as torch
    >>> torch.nn.utils.skip_init(torch.nn.Linear, 3, 2)
    Linear(in_features=3, out_features=2, bias=True)
    """
    if not (inspect.isclass(module_cls) and issubclass(module_cls, Module)):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    with fork_rng():
        return module_cls(*args, **kwargs)
