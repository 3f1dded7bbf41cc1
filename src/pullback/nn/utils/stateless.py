"""Calling a module with other parameters than its own."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...tensor import Tensor
from ..modules.module import Module
from ..parallel import DataParallel

__all__ = ["functional_call"]

_ABSENT: Any = object()


def _call(module: Module, parameters_and_buffers: dict[str, Tensor], args: Any = None,
          kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True, strict: bool = False) -> Any:  # fmt: skip
    """``torch.func.functional_call`` for one dictionary."""
    if isinstance(module, DataParallel):
        raise RuntimeError("The stateless API can't be used with nn.DataParallel module")
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _reparametrize_module(module, parameters_and_buffers, tie_weights=tie_weights, strict=strict):
        return module(*args, **kwargs or {})


def functional_call(module: Module, parameters_and_buffers: dict[str, Tensor], args: Any = None,
                    kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True,
                    strict: bool = False) -> Any:  # fmt: skip
    """``module(*args, **kwargs)`` with other tensors in the place of its parameters and buffers.

    Args:
        module: it is as before afterwards. parameters_and_buffers: tensors by dotted name; what buffers were set to
            meanwhile is in it afterwards.
        args: one argument or a tuple of them. kwargs: arguments by name.
        tie_weights: a tensor that stands in several places of the module is replaced in all of them.
        strict: refuse missing and unknown names.

    Raises:
        RuntimeError: names are missing or unknown, and ``strict``.
        ValueError: tied tensors are given different values.
    """
    warnings.warn("`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a "
                  "future version of PyTorch. Please use `torch.func.functional_call` instead which is a drop-in "
                  "replacement.", FutureWarning, stacklevel=2)  # fmt: skip
    return _call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)


@contextmanager
def _reparametrize_module(module: Module, tensors: dict[str, Tensor], tie_weights: bool = False,
                          strict: bool = False) -> Iterator[None]:  # fmt: skip
    """Inside, the module has these tensors."""
    replaced = _tied(module, tensors) if tie_weights else dict(tensors)
    if strict:
        _check_names(module, replaced)
    before: dict[str, Any] = {}
    try:
        for name, tensor in replaced.items():
            before[name] = _swap(module, name, tensor)
        yield
    finally:
        for name, tensor in before.items():
            after = _swap(module, name, tensor)
            if name in tensors:
                tensors[name] = after


def _swap(module: Module, path: str, tensor: Any) -> Any:
    """Put a tensor at a dotted path (or nothing, if it is ``_ABSENT``). Returns what was there."""
    parent, _, name = path.rpartition(".")
    owner = module.get_submodule(parent)
    if tensor is not _ABSENT and tensor is not None and not isinstance(tensor, Tensor):
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    for kind in (owner._parameters, owner._buffers):
        if name in kind:
            old = kind[name]
            kind[name] = tensor
            return old
    old = getattr(owner, name, _ABSENT)
    if tensor is not _ABSENT:
        setattr(owner, name, tensor)
    elif old is not _ABSENT:
        delattr(owner, name)
    return old


def _own(module: Module) -> dict[str, Any]:
    members = module.named_parameters(remove_duplicate=False), module.named_buffers(remove_duplicate=False)
    return {name: tensor for kind in members for name, tensor in kind}


def _tied(module: Module, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors, also under the other names of those that they replace."""
    names: dict[int, list[str]] = {}
    for name, tensor in _own(module).items():
        names.setdefault(id(tensor), []).append(name)
    result = dict(tensors)
    for tied in names.values():
        given = [name for name in tied if name in tensors]
        if len({id(tensors[name]) for name in given}) > 1:
            raise ValueError(f"functional_call got multiple values for keys {sorted(tied)}, which are tied. "
                             "Consider using tie_weights=False")  # fmt: skip
        if given:
            result.update(dict.fromkeys(tied, tensors[given[0]]))
    return result


def _check_names(module: Module, tensors: dict[str, Tensor]) -> None:
    own = _own(module)
    complaints = []
    for kind, names in (("Unexpected", tensors.keys() - own.keys()), ("Missing", own.keys() - tensors.keys())):
        if names:
            complaints.append(f"{kind} key(s): {', '.join(map(repr, sorted(names)))}.")
    if complaints:
        raise RuntimeError(f"Error(s) in reparametrizing for {module._get_name()}:\n\t" + "\n\t".join(complaints))
