"""``LazyModuleMixin``: layers that infer their input size from the first input."""

from __future__ import annotations

from typing import Any

from ...base.thread_state import no_grad
from ..parameter import is_lazy
from .module import Module

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin(Module):
    """Stands before a module class, to put off making the parameters whose shape depends on the input.

    Such a class makes them :class:`~pullback.nn.UninitializedParameter`, defines
    ``initialize_parameters(*inputs)``, which materialises them, and names as ``cls_to_become`` the class that
    the module turns into then. That happens before the first ``forward``, or in part when a state dict is
    loaded.

    >>> import pullback as torch
    >>> layer = torch.nn.LazyLinear(2)
    >>> layer
    LazyLinear(in_features=0, out_features=2, bias=True)
    >>> _ = layer(torch.ones(4, 3))
    >>> layer
    Linear(in_features=3, out_features=2, bias=True)
    """

    cls_to_become: type[Module] | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Materialise the parameters for these inputs of ``forward``."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer has no shape yet."""
        return any(map(is_lazy, (*self._parameters.values(), *self._buffers.values())))

    def _infer_parameters(self, module: Any, args: Any, kwargs: Any = None) -> None:
        module.initialize_parameters(*args, **kwargs or {})
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook, module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        for name, t in self._own_state().items():
            destination[prefix + name] = t if keep_vars or is_lazy(t) else t.detach()

    def _lazy_load_hook(self, state_dict: dict[str, Any], prefix: str, *unused: Any) -> None:
        """Give what has no shape yet that of what is about to be loaded."""
        own: dict[str, Any] = {**self._parameters, **self._buffers}
        for name, t in own.items():
            loaded = state_dict.get(prefix + name)
            if loaded is not None and is_lazy(t) and not is_lazy(loaded):
                with no_grad():
                    t.materialize(loaded.shape)
