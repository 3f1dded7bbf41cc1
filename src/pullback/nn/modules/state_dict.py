"""``state_dict`` and ``load_state_dict`` of modules.

Both walk the tree of modules and hand each one its part: ``_save_to_state_dict`` and
``_load_from_state_dict``, which a subclass may override. The keys are dotted paths; ``_metadata`` on the
dictionary holds the ``_version`` of every module by the same paths.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ...base.errors import with_notes
from ...base.handles import RemovableHandle
from ...base.thread_state import no_grad
from ...core.tensor import Tensor
from ..parameter import Parameter
from .hooks import Hooks, WrappedHook, _add

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"


class _Keys(NamedTuple):
    missing_keys: list[str]
    unexpected_keys: list[str]


class _IncompatibleKeys(_Keys):
    """What ``load_state_dict`` returns: the keys that only one side had."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


class Stateful:
    """Mixin of :class:`~pullback.nn.Module`: saving and loading."""

    _version: int = 1  # of the layout of this class's entries, saved beside them
    dump_patches: bool = False

    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _non_persistent_buffers_set: set[str]
    _modules: dict[str, Any]
    _state_dict_hooks: Hooks
    _state_dict_pre_hooks: Hooks
    _load_state_dict_pre_hooks: Hooks
    _load_state_dict_post_hooks: Hooks

    def get_extra_state(self) -> Any:
        """Whatever else ``state_dict`` shall hold of this module; goes with :meth:`set_extra_state`."""
        raise with_notes(
            RuntimeError("Reached a code path in Module.get_extra_state() that should never be called."),
            f"{type(self).__name__} overrides set_extra_state: it has to override get_extra_state, too.",
        )

    def set_extra_state(self, state: Any) -> None:
        """Take back what `get_extra_state` gave."""
        raise with_notes(
            RuntimeError("Reached a code path in Module.set_extra_state() that should never be called."),
            f"{type(self).__name__} overrides get_extra_state: it has to override set_extra_state, too.",
        )

    # --- saving ---------------------------------------------------------------------------------------------

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """Parameters and persistent buffers of this module and all below it, by dotted name.

        Args:
            destination: a mapping to fill, returned; a new ``OrderedDict`` if left out.
            prefix: put before every name.
            keep_vars: give the tensors themselves, rather than detached ones that share their memory.

        Returns:
            the dictionary; entries that are None are left out.

        >>> import pullback as torch
        >>> {name: tuple(t.shape) for name, t in torch.nn.Linear(3, 2).state_dict().items()}
        {'weight': (2, 3), 'bias': (2,)}
        """
        if args:
            warnings.warn(
                "Positional args are being deprecated, use kwargs instead.",
                category=FutureWarning,
                stacklevel=2,
            )
            given = dict(zip(("destination", "prefix", "keep_vars"), args))
            destination = given["destination"] if destination is None else destination
            prefix, keep_vars = prefix or given.get("prefix", ""), keep_vars or given.get("keep_vars", False)
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata

        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            result = hook(self, destination, prefix, local_metadata)
            if result is not None:
                if getattr(hook, "_from_public_api", False):
                    raise RuntimeError("state_dict post-hook must return None")
                destination = result
        return destination

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        """Write this module's own entries, not those of its children, into ``destination``."""
        for name, t in self._own_state().items():
            destination[prefix + name] = t if keep_vars else t.detach()
        if type(self).get_extra_state is not Stateful.get_extra_state:
            destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    def _own_state(self) -> dict[str, Tensor]:
        kept = {k: v for k, v in self._buffers.items() if k not in self._non_persistent_buffers_set}
        return {k: v for k, v in (self._parameters | kept).items() if v is not None}

    def register_state_dict_pre_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call ``hook(module, prefix, keep_vars)`` before this module's part is saved."""
        return _add(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata)`` after this module's part was saved.

        The hook may change the dictionary, and must return None.
        """
        hook._from_public_api = True  # type: ignore[attr-defined]
        return _add(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """A post-hook whose result, on the outermost module, replaces the dictionary."""
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously "
                "registered via register_state_dict_post_hook"
            )
        return _add(self._state_dict_hooks, hook)

    # --- loading --------------------------------------------------------------------------------------------

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy values into the parameters and buffers of this module and all below it.

        Args:
            state_dict: tensors by dotted name, as :meth:`state_dict` gives them.
            strict: refuse names that only one side has.
            assign: put the given tensors in place of the module's own (which keeps only ``requires_grad``),
                instead of copying their values.

        Returns:
            named tuple ``(missing_keys, unexpected_keys)``.

        Raises:
            RuntimeError: names (if ``strict``) or shapes differ. All differences are listed; what matched has
                been copied nevertheless, as in PyTorch.
            TypeError: ``state_dict`` is no mapping.

        >>> import pullback as torch
        >>> a, b = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
        >>> b.load_state_dict(a.state_dict())
        <All keys matched successfully>
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        metadata = getattr(state_dict, "_metadata", None)
        entries: Any = OrderedDict(state_dict)  # for _load_from_state_dict to change as it likes
        if metadata is not None:
            entries._metadata = metadata
        keys = _IncompatibleKeys([], [])
        errors: list[str] = []
        _load(self, entries, "", metadata or {}, assign, keys, errors)
        if strict:
            for kind, names in (("Unexpected", keys.unexpected_keys), ("Missing", keys.missing_keys)):
                if names:
                    quoted = ", ".join(f'"{name}"' for name in names)
                    errors.insert(0, f"{kind} key(s) in state_dict: {quoted}. ")
        if errors:
            listed = "\n\t".join(errors)
            raise with_notes(
                RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{listed}"),
                page="state-dict",
            )
        return keys

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Copy this module's own entries, not those of its children, out of ``state_dict``.

        Args:
            state_dict: the entries whose names begin with ``prefix``; it may be changed.
            local_metadata: what was saved about this module: ``{"version": ...}``, or nothing.
            strict: whether to note names that only one side has.
            missing_keys, unexpected_keys, error_msgs: lists to append to.
        """
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        own = self._own_state()
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, target in own.items():
            key = prefix + name
            if key in state_dict:
                error = self._load_entry(name, key, target, state_dict[key], assign)
                if error is not None:
                    error_msgs.append(error)
            elif strict:
                missing_keys.append(key)

        extra = prefix + _EXTRA_STATE_KEY_SUFFIX
        if type(self).set_extra_state is not Stateful.set_extra_state:
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)

        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra:
                    name, *below = key[len(prefix) :].split(".", 1)
                    if name not in (self._modules if below else own):
                        unexpected_keys.append(key)

    def _load_entry(self, name: str, key: str, target: Tensor, value: Any, assign: bool) -> str | None:
        """Load one parameter or buffer. Returns what is wrong with it, if anything."""
        if not isinstance(value, Tensor):
            return (
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object '
                f"from checkpoint but received {type(value)}"
            )
        if target.shape == () and value.shape == (1,):  # PyTorch 0.3 had no 0-d tensors
            value = value.reshape(())
        if value.shape != target.shape:
            return (
                f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, "
                f"the shape in current model is {target.shape}."
            )
        try:
            with no_grad():
                if not assign:
                    if target.is_meta and not value.is_meta:
                        warnings.warn(
                            f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in "
                            "the current model, which is a no-op. (Did you mean to pass `assign=True` to assign items "
                            "in the state dictionary to their corresponding key in the module instead of copying them "
                            "in place?)",
                            stacklevel=2,
                        )
                    target.copy_(value)
                    return None
                if isinstance(target, Parameter):
                    if isinstance(value, Parameter):
                        value.requires_grad_(target.requires_grad)
                    else:
                        value = Parameter(value, requires_grad=target.requires_grad)
                setattr(self, name, value)
        except Exception as error:
            return (
                f'While copying the parameter named "{key}", whose dimensions in the model are '
                f"{target.shape} and whose dimensions in the checkpoint are {value.shape}, "
                f"an exception occurred : {error.args}."
            )
        return None

    def register_load_state_dict_pre_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call a hook before this module's part is loaded, which may change the dictionary and the lists.

        It gets ``(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
        error_msgs)``.
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., None], with_module: bool = False
    ) -> RemovableHandle:
        return _add(self._load_state_dict_pre_hooks, WrappedHook(hook, self if with_module else None))  # type: ignore[arg-type]

    def register_load_state_dict_post_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call ``hook(module, incompatible_keys)`` after this module and all below it were loaded.

        The hook may change the two lists, which changes what ``strict`` refuses, and must return None.
        """
        return _add(self._load_state_dict_post_hooks, hook)


def _load(
    module: Any,
    entries: dict[str, Any],
    prefix: str,
    metadata: Mapping[str, Any],
    assign: bool,
    keys: _IncompatibleKeys,
    errors: list[str],
) -> None:
    """Hand each module of the tree the entries that begin with its prefix."""
    local_metadata = dict(metadata.get(prefix[:-1], {}))
    if assign:
        local_metadata["assign_to_params_buffers"] = True
    module._load_from_state_dict(entries, prefix, local_metadata, True, *keys, errors)
    for name, child in module._modules.items():
        if child is not None:
            below = f"{prefix}{name}."
            part = {k: v for k, v in entries.items() if k.startswith(below)}
            _load(child, part, below, metadata, assign, keys, errors)
    for hook in module._load_state_dict_post_hooks.values():
        if hook(module, keys) is not None:
            raise AssertionError(
                "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new "
                "values, if incompatible_keys need to be modified, it should be done inplace."
            )
