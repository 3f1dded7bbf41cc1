"""Forward and backward hooks of modules, on one module or global.

A module's hooks are in ordered dicts on the module; the global ones, which see every module, in the dicts below. The
graph nodes that backward hooks are registered on are in :mod:`.backward_hooks`.
"""

from __future__ import annotations

import functools
import sys
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ...base import thread_state
from ...base.handles import RemovableHandle
from ...core.tensor import Tensor
from .backward_hooks import BackwardHook, register_on_last_node

Hook = Callable[..., Any]
Hooks = OrderedDict[int, Hook]

_global_buffer_registration_hooks: Hooks = OrderedDict()
_global_module_registration_hooks: Hooks = OrderedDict()
_global_parameter_registration_hooks: Hooks = OrderedDict()
_global_forward_pre_hooks: Hooks = OrderedDict()
_global_forward_hooks: Hooks = OrderedDict()
_global_forward_hooks_always_called: OrderedDict[int, bool] = OrderedDict()
_global_forward_hooks_with_kwargs: OrderedDict[int, bool] = OrderedDict()
_global_backward_pre_hooks: Hooks = OrderedDict()
_global_backward_hooks: Hooks = OrderedDict()
_GLOBAL = _global_forward_hooks, _global_forward_pre_hooks, _global_backward_hooks, _global_backward_pre_hooks
_global_is_full_backward_hook: bool | None = None  # the kind in _global_backward_hooks; None before any

# Observers of every module call: ``enter(module, frame)`` and ``leave(module, result)``, with None if it raised.
watchers: list[Any] = []

_MIXED = "Cannot use both regular backward hooks and full backward hooks {}. Please use only one of them."


def _add(hooks: Hooks, hook: Hook, *marks: tuple[dict[int, bool], bool], prepend: bool = False) -> RemovableHandle:
    """Register ``hook`` last or first, and note its id in every dict of ``marks`` whose flag is set."""
    handle = RemovableHandle(hooks, extra_dict=[ids for ids, _ in marks])
    hooks[handle.id] = hook
    for ids, flag in marks:
        if flag:
            ids[handle.id] = True
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


# --- hooks on every module ----------------------------------------------------------------------------------


def register_module_buffer_registration_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, name, buffer)`` whenever a module registers a buffer; a result replaces it."""
    return _add(_global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, name, submodule)`` whenever a module registers a child; a result replaces it."""
    return _add(_global_module_registration_hooks, hook)


def register_module_parameter_registration_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, name, param)`` whenever a module registers a parameter; a result replaces it."""
    return _add(_global_parameter_registration_hooks, hook)


def register_module_forward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, args)`` before every module's forward, ahead of that module's own hooks.

    A result replaces ``args`` (a single value means a tuple of one).
    """
    return _add(_global_forward_pre_hooks, hook)


def register_module_forward_hook(
    hook: Hook, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call ``hook(module, args, output)`` after every module's forward, ahead of that module's own hooks.

    Args:
        hook: a result other than None replaces the output.
        with_kwargs: call ``hook(module, args, kwargs, output)`` instead.
        always_call: also when forward raised; ``output`` is None then.

    >>> import pullback as torch
    >>> seen = lambda module, args, output: print(type(module).__name__, tuple(output.shape))
    >>> with torch.nn.modules.module.register_module_forward_hook(seen):
    ...     _ = torch.nn.Linear(2, 3)(torch.ones(1, 2))
    Linear (1, 3)
    """
    with_kwargs_mark = (_global_forward_hooks_with_kwargs, with_kwargs)
    return _add(_global_forward_hooks, hook, with_kwargs_mark, (_global_forward_hooks_always_called, always_call))


def register_module_backward_hook(hook: Hook) -> RemovableHandle:
    """Deprecated, as in PyTorch: see :func:`register_module_full_backward_hook`."""
    _choose_global_kind(full=False)
    return _add(_global_backward_hooks, hook)


def register_module_full_backward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, grad_output)`` before every module's gradients; a result replaces them."""
    return _add(_global_backward_pre_hooks, hook)


def register_module_full_backward_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` after the gradients of every module.

    A result replaces ``grad_input``; see :meth:`pullback.nn.Module.register_full_backward_hook`.
    """
    _choose_global_kind(full=True)
    return _add(_global_backward_hooks, hook)


def _choose_global_kind(full: bool) -> None:
    global _global_is_full_backward_hook
    if _global_is_full_backward_hook is (not full):
        raise RuntimeError(_MIXED.format("as a global Module hook"))
    _global_is_full_backward_hook = full


# --- hooks on one module ------------------------------------------------------------------------------------


class Hookable:
    """Mixin of :class:`~pullback.nn.Module`: hooks on its calls."""

    forward: Hook
    _forward_hooks: Hooks
    _forward_hooks_with_kwargs: OrderedDict[int, bool]
    _forward_hooks_always_called: OrderedDict[int, bool]
    _forward_pre_hooks: Hooks
    _forward_pre_hooks_with_kwargs: OrderedDict[int, bool]
    _backward_hooks: Hooks
    _backward_pre_hooks: Hooks
    _is_full_backward_hook: bool | None

    def register_forward_pre_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args)`` before forward.

        Args:
            hook: a result other than None replaces the positional arguments (a single value stands for a
                tuple of one).
            prepend: run before the hooks that are there already.
            with_kwargs: call ``hook(module, args, kwargs)``, which returns None or both, changed.

        Returns:
            a handle whose ``remove()`` takes the hook out.

        >>> import pullback as torch
        >>> m = torch.nn.Identity()
        >>> with m.register_forward_pre_hook(lambda module, args: args[0] * 2):
        ...     m(torch.ones(2))
        tensor([2., 2.])
        """
        return _add(self._forward_pre_hooks, hook, (self._forward_pre_hooks_with_kwargs, with_kwargs), prepend=prepend)

    def register_forward_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args, output)`` after forward.

        Args:
            hook: a result other than None replaces the output.
            prepend: run before the hooks that are there already.
            with_kwargs: call ``hook(module, args, kwargs, output)`` instead.
            always_call: also when forward raised; ``output`` is None then.

        Returns:
            a handle whose ``remove()`` takes the hook out.

        >>> import pullback as torch
        >>> m = torch.nn.Identity()
        >>> with m.register_forward_hook(lambda module, args, output: output + 1):
        ...     m(torch.ones(2))
        tensor([2., 2.])
        """
        return _add(
            self._forward_hooks,
            hook,
            (self._forward_hooks_with_kwargs, with_kwargs),
            (self._forward_hooks_always_called, always_call),
            prepend=prepend,
        )

    def register_full_backward_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_output)`` before the gradients of this module are computed.

        Args:
            hook: a result other than None replaces ``grad_output``, a tuple with None for outputs that are no
                tensors.
            prepend: run before the hooks that are there already.
        """
        return _add(self._backward_pre_hooks, hook, prepend=prepend)

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` after the gradients of this module were computed.

        If no input requires grad, the hook runs when ``grad_output`` is known, with None for every input; if
        no output does, it does not run. Inputs passed by keyword are not seen.

        Args:
            hook: a result other than None replaces ``grad_input``, a tuple with None for inputs that are no
                tensors.
            prepend: run before the hooks that are there already.

        Raises:
            RuntimeError: where a hook of the deprecated kind is registered.

        >>> import pullback as torch
        >>> m = torch.nn.ReLU()
        >>> handle = m.register_full_backward_hook(lambda module, gin, gout: print(gin, gout))
        >>> x = torch.tensor([-1.0, 2.0], requires_grad=True)
        >>> m(x).backward(torch.tensor([3.0, 4.0]))
        (tensor([0., 4.]),) (tensor([3., 4.]),)
        """
        self._choose_kind(full=True)
        return _add(self._backward_hooks, hook, prepend=prepend)

    def register_backward_hook(self, hook: Hook) -> RemovableHandle:
        """Deprecated, as in PyTorch: the hook is registered on the module's last node, and sees its gradients."""
        self._choose_kind(full=False)
        return _add(self._backward_hooks, hook)

    def _choose_kind(self, full: bool) -> None:
        if self._is_full_backward_hook is (not full):
            raise RuntimeError(_MIXED.format("on a single Module"))
        self._is_full_backward_hook = full

    def _get_backward_hooks(self) -> tuple[list[Hook], list[Hook]]:
        """The full backward hooks that apply to this module, and the non-full (deprecated) ones."""
        full: list[Hook] = []
        other: list[Hook] = []
        for kind, hooks in (
            (_global_is_full_backward_hook, _global_backward_hooks),
            (self._is_full_backward_hook, self._backward_hooks),
        ):
            (full if kind else other).extend(hooks.values())
        return full, other

    def _call_watched(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        runner = thread_state.local.module_runner
        if runner is not None and all([w.__class__ is runner.__class__ for w in watchers]):
            return runner.call(self, args, kwargs)
        notified, result = tuple(watchers), None
        for watcher in notified:
            watcher.enter(self, sys._getframe(2))
        try:
            own = self._forward_hooks, self._forward_pre_hooks, self._backward_hooks, self._backward_pre_hooks
            result = self._call_with_hooks(args, kwargs) if any(own) or any(_GLOBAL) else self.forward(*args, **kwargs)
            return result
        finally:
            for watcher in notified:
                watcher.leave(self, result)

    def _call_with_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        result: Any = None
        called: set[int] = set()
        try:
            for i, hook in (*_global_forward_pre_hooks.items(), *self._forward_pre_hooks.items()):
                if i in self._forward_pre_hooks_with_kwargs:
                    changed = hook(self, args, kwargs)
                    if changed is not None:
                        if not (isinstance(changed, tuple) and len(changed) == 2):
                            raise RuntimeError(
                                "forward pre-hook must return None or a tuple of (new_args, new_kwargs), "
                                f"but got {changed}."
                            )
                        args, kwargs = changed
                else:
                    changed = hook(self, args)
                    if changed is not None:
                        args = changed if isinstance(changed, tuple) else (changed,)

            full, other = self._get_backward_hooks()
            pre = [*_global_backward_pre_hooks.values(), *self._backward_pre_hooks.values()]
            backward = BackwardHook(self, full, pre) if full or pre else None
            if backward is not None:
                args = backward.wrap_inputs(args)

            result = self.forward(*args, **kwargs)

            for i, hook in (*_global_forward_hooks.items(), *self._forward_hooks.items()):
                called.add(i)
                changed = self._run_forward_hook(i, hook, args, kwargs, result)
                if changed is not None:
                    result = changed
            if backward is not None:
                if not isinstance(result, (Tensor, tuple)):
                    warnings.warn(
                        "For backward hooks to be called, module output should be a Tensor or a tuple of "
                        f"Tensors but received {type(result)}",
                        stacklevel=3,
                    )
                result = backward.wrap_outputs(result)
            if other:
                register_on_last_node([WrappedHook(hook, self) for hook in other], args, result)
            return result
        except Exception:
            self._run_remaining_hooks(called, args, kwargs, result)
            raise

    def _run_forward_hook(self, i: int, hook: Hook, args: Any, kwargs: Any, result: Any) -> Any:
        if i in self._forward_hooks_with_kwargs or i in _global_forward_hooks_with_kwargs:
            return hook(self, args, kwargs, result)
        return hook(self, args, result)

    def _run_remaining_hooks(self, called: set[int], args: Any, kwargs: Any, result: Any) -> None:
        """After an error in a call: run the hooks that asked to be run always and have not been yet."""
        for kind, hooks, always in (
            ("global module", _global_forward_hooks, _global_forward_hooks_always_called),
            ("module", self._forward_hooks, self._forward_hooks_always_called),
        ):
            for i in [i for i in hooks if i in always and i not in called]:
                try:
                    changed = self._run_forward_hook(i, hooks[i], args, kwargs, result)
                    result = result if changed is None else changed
                except Exception as error:
                    warnings.warn(
                        f"{kind} forward hook with ``always_call=True`` raised an exception that was "
                        f"silenced as another error was raised in forward: {error}",
                        stacklevel=4,
                    )


class WrappedHook:
    """A hook that gets a module as its first argument, without keeping the module alive."""

    def __init__(self, hook: Hook, module: Hookable | None = None) -> None:
        functools.update_wrapper(self, hook)
        self.hook = hook
        self.module = None if module is None else weakref.ref(module)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.module is None:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self) -> tuple[Hook, Hookable | None]:
        return self.hook, None if self.module is None else self.module()

    def __setstate__(self, state: tuple[Hook, Hookable | None]) -> None:
        self.__init__(*state)  # type: ignore[misc]
