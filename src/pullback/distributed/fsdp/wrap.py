"""``torch.distributed.fsdp.wrap``: which inner modules become units of their own."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ...nn.modules.module import Module

__all__ = [
    "CustomPolicy",
    "ModuleWrapPolicy",
    "always_wrap_policy",
    "enable_wrap",
    "lambda_auto_wrap_policy",
    "size_based_auto_wrap_policy",
    "transformer_auto_wrap_policy",
    "wrap",
]

LARGE = 10**8  # elements
_wrapping: list[tuple[Callable[..., Any], dict[str, Any]]] = []


def always_wrap_policy(*args: Any, **kwargs: Any) -> bool:
    """Every module."""
    return True


def size_based_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, min_num_params: int = LARGE, **kwargs: Any
) -> bool:
    """Modules with at least ``min_num_params`` elements that are in no unit yet."""
    return nonwrapped_numel >= min_num_params


def transformer_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, transformer_layer_cls: Iterable[type]
) -> bool:
    """Modules of these classes."""
    return recurse or isinstance(module, tuple(transformer_layer_cls))


def lambda_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable[[Module], bool]
) -> bool:
    """Modules of which the function says so."""
    return recurse or lambda_fn(module)


class ModuleWrapPolicy:
    """Modules of these classes."""

    def __init__(self, module_classes: Iterable[type]) -> None:
        self._classes = tuple(module_classes)

    def __call__(self, module: Module, recurse: bool, *args: Any, **kwargs: Any) -> bool:
        return recurse or isinstance(module, self._classes)


class CustomPolicy:
    """Modules of which the function says so, by True or by options for them."""

    def __init__(self, lambda_fn: Callable[[Module], bool | dict[str, Any]]) -> None:
        self._fn = lambda_fn

    def __call__(self, module: Module, recurse: bool, *args: Any, **kwargs: Any) -> bool:
        return recurse or bool(self._fn(module))


def wrap_inside(module: Module, policy: Callable[..., bool], make: Callable[[Module], Module], kind: type) -> int:
    """Replace inner modules that a policy names by units, from the inside out; the elements left outside of them."""
    left = sum(p.numel() for p in module._parameters.values() if p is not None)
    for name, child in list(module.named_children()):
        if isinstance(child, kind):
            continue
        inside = wrap_inside(child, policy, make, kind)
        if policy(module=child, recurse=False, nonwrapped_numel=inside):
            setattr(module, name, make(child))
        else:
            left += inside
    return left


@contextlib.contextmanager
def enable_wrap(*, wrapper_cls: Callable[..., Any], **wrapper_kwargs: Any) -> Iterator[None]:
    """Inside, :func:`wrap` makes units, by ``wrapper_cls(module, **wrapper_kwargs)``."""
    _wrapping.append((wrapper_cls, wrapper_kwargs))
    try:
        yield
    finally:
        _wrapping.pop()


def wrap(module: Module, **wrap_overrides: Any) -> Any:
    """A unit around a module inside of :func:`enable_wrap`, the module itself outside."""
    if not _wrapping:
        return module
    make, options = _wrapping[-1]
    return make(module, **{**options, **wrap_overrides})
