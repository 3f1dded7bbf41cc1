"""``functional_call``: run a module with other parameters and buffers than its own."""

from __future__ import annotations

import warnings
from typing import Any

from ...core.tensor import Tensor
from ..data_parallel import DataParallel
from ..modules.module import Module

__all__ = ["functional_call"]

_ABSENT: Any = object()


def _call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """``torch.func.functional_call`` for one dictionary."""
    if isinstance(module, DataParallel):
        raise RuntimeError("The stateless API can't be used with nn.DataParallel module")
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _reparametrize_module(module, parameters_and_buffers, tie_weights=tie_weights, strict=strict):
        return module(*args, **kwargs or {})


def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
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
    warnings.warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a future "
        "version of PyTorch. Please use `torch.func.functional_call` instead which is a drop-in replacement.",
        FutureWarning,
        stacklevel=2,
    )
    return _call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)


class _reparametrize_module:
    """Context manager in which a module has these tensors."""

    def __init__(
        self, module: Module, tensors: dict[str, Tensor], tie_weights: bool = False, strict: bool = False
    ) -> None:
        if not isinstance(module, Module):
            raise AttributeError(f"{type(module).__name__!r} object has no attribute 'named_parameters'")
        self.module, self.tensors, self.places = module, tensors, _owners(module)
        self.replaced = _with_tied_names(self.places, tensors) if tie_weights else dict(tensors)
        if strict:
            _check_names(module, self.places, self.replaced)
        self.before: list[tuple[str, Any]] = []

    def __enter__(self) -> None:
        try:
            for name, tensor in self.replaced.items():
                self.before.append((name, self._swap(name, tensor)))
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *exc: object) -> None:
        for name, tensor in self.before:
            after = self._swap(name, tensor)
            if name in self.tensors:
                self.tensors[name] = after

    def _swap(self, path: str, tensor: Any) -> Any:
        """Put a tensor at a dotted path (or nothing, if it is ``_ABSENT``). Returns what was there."""
        if tensor is not None and tensor is not _ABSENT and not isinstance(tensor, Tensor):
            raise TypeError(f"{tensor} is not an instance of torch.Tensor")
        members, name = self.places.get(path, ((), ""))
        if name in members:  # still
            old = members[name]
            members[name] = tensor
            return old
        parent, _, name = path.rpartition(".")
        owner = self.module.get_submodule(parent)
        old = getattr(owner, name, _ABSENT)
        if tensor is not _ABSENT:
            setattr(owner, name, tensor)
        elif old is not _ABSENT:
            delattr(owner, name)
        return old


def _owners(module: Module, prefix: str = "") -> dict[str, tuple[Any, str]]:
    """The dict that holds each parameter or buffer, and its key there, by dotted name."""
    found = {prefix + name: (members, name) for members in (module._buffers, module._parameters) for name in members}
    for name, child in module._modules.items():
        if child is not None:
            found.update(_owners(child, f"{prefix}{name}."))
    return found


def _with_tied_names(places: dict[str, tuple[Any, str]], tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors, also under the other names of tied ones that they replace."""
    names: dict[int, list[str]] = {}
    for path, (members, name) in places.items():
        tensor = members[name]
        if tensor is not None:
            names.setdefault(id(tensor), []).append(path)
    result = dict(tensors)
    if len(names) == len(places):  # each has one name
        return result
    for tied in names.values():
        given = [name for name in tied if name in tensors]
        if len({id(tensors[name]) for name in given}) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(tied)}, which are tied. "
                "Consider using tie_weights=False"
            )
        if given:
            result.update(dict.fromkeys(tied, tensors[given[0]]))
    return result


def _check_names(module: Module, places: dict[str, tuple[Any, str]], tensors: dict[str, Tensor]) -> None:
    own = {path for path, (members, name) in places.items() if members[name] is not None}
    complaints = []
    for kind, names in (("Unexpected", tensors.keys() - own), ("Missing", own - tensors.keys())):
        if names:
            complaints.append(f"{kind} key(s): {', '.join(map(repr, sorted(names)))}.")
    if complaints:
        raise RuntimeError(f"Error(s) in reparametrizing for {module._get_name()}:\n\t" + "\n\t".join(complaints))
