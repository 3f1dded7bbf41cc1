"""``Optimizer``: the base class, with parameter groups, state, hooks, saving and loading."""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any, TypeVar

import numpy as np

from ..base import dtypes, thread_state
from ..base.errors import with_notes
from ..base.handles import RemovableHandle
from ..base.thread_state import enable_grad
from ..core.level import wrap_value
from ..core.record import wrap
from ..core.tensor import Tensor
from ..nn.modules.module import _typename, reset_grad
from ..ops.values.meta import Meta

__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]

F = TypeVar("F", bound=Callable[..., Any])
Hooks = OrderedDict[int, Callable[..., Any]]
ParamsT = Iterable[Tensor | dict[str, Any] | tuple[str, Tensor]]
StateDict = dict[str, Any]
Options = dict[str, Any]  # a group, or its options alone

# Options that groups saved by older versions lack, and what those versions did.
_LATER = {
    "momentum": 0,
    "nesterov": False,
    "centered": False,
    "amsgrad": False,
    "decoupled_weight_decay": False,
    "maximize": False,
    "foreach": None,
    "fused": None,
    "capturable": False,
    "differentiable": False,
}

_global_optimizer_pre_hooks: Hooks = OrderedDict()
_global_optimizer_post_hooks: Hooks = OrderedDict()
_HOOKS = tuple(
    f"_optimizer_{event}_{when}_hooks"
    for event in ("step", "state_dict", "load_state_dict")
    for when in ("pre", "post")
)


class _Required:
    def __repr__(self) -> str:
        return "<required parameter>"


required: Any = _Required()  # as a default: the option must be given for every group


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` before any optimizer's step; it may return both, changed."""
    return _add(_global_optimizer_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` after any optimizer's step."""
    return _add(_global_optimizer_post_hooks, hook)


def _add(hooks: Hooks, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
    handle = RemovableHandle.add(hooks, hook)
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


class Optimizer:
    """Base class of optimizers.

    A subclass gives its options with their defaults to ``super().__init__``, and defines :meth:`step`.

    Args:
        params: the parameters; or pairs of a name and a parameter; or dicts, one a group, with the parameters
            under ``"params"`` and options that differ from the defaults.
        defaults: the options and their values in groups that do not say otherwise.

    Attributes:
        param_groups: the groups, with all their options. Changing an option there takes effect at the next
            step.
        state: what the optimizer remembers, a dict for each parameter.

    >>> import pullback as torch
    >>> class Sign(torch.optim.Optimizer):
    ...     def __init__(self, params, lr):
    ...         super().__init__(params, {"lr": lr})
    ...     @torch.no_grad()
    ...     def step(self):
    ...         for group in self.param_groups:
    ...             for p in group["params"]:
    ...                 p -= group["lr"] * p.grad.sign()
    >>> w = torch.ones(2, requires_grad=True)
    >>> (w * torch.tensor([3.0, -5.0])).sum().backward()
    >>> Sign([w], lr=0.5).step(); w
    tensor([0.5000, 1.5000], requires_grad=True)
    """

    _optimizer_step_pre_hooks: Hooks
    _optimizer_step_post_hooks: Hooks
    _optimizer_state_dict_pre_hooks: Hooks
    _optimizer_state_dict_post_hooks: Hooks
    _optimizer_load_state_dict_pre_hooks: Hooks
    _optimizer_load_state_dict_post_hooks: Hooks

    def __init__(self, params: ParamsT, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        self._prepare()
        if isinstance(params, Tensor):
            raise with_notes(
                TypeError(
                    "params argument given to the optimizer should be an iterable of Tensors or dicts, "
                    f"but got {_typename(params)}"
                ),
                "Put it in a list: [param].",
            )
        groups: list[Any] = list(params)
        if len(groups) == 0:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _prepare(self) -> None:
        """Set up after construction, unpickling and loading."""
        for name in _HOOKS:
            self.__dict__.setdefault(name, OrderedDict())
        cls = type(self)
        if not getattr(cls.step, "hooked", False):
            cls.step = self.profile_hook_step(cls.step)  # type: ignore[method-assign]
            cls.step.hooked = True  # type: ignore[attr-defined]

    _patch_step_function = _prepare  # PyTorch's name, which optimizers that do not call `__init__` use

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.defaults.setdefault("differentiable", False)
        self._prepare()

    def __repr__(self) -> str:
        text = f"{type(self).__name__} ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            text += "".join(f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params")
        return text + ")"

    # --- stepping -------------------------------------------------------------------------------------------

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters by their gradients.

        Args:
            closure: computes the gradients anew and returns the loss. Optional for most optimizers.

        Returns:
            what ``closure`` returned, if it was given.
        """
        raise NotImplementedError

    @staticmethod
    def profile_hook_step(step: F) -> F:
        """Put the hooks around a ``step``; done to every class when it is first constructed."""

        @functools.wraps(step)
        def hooked(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
            if not (
                self._optimizer_step_pre_hooks
                or self._optimizer_step_post_hooks
                or _global_optimizer_pre_hooks
                or _global_optimizer_post_hooks
            ):
                return step(self, *args, **kwargs)
            given: Any = (self, *args)
            for hook in (*_global_optimizer_pre_hooks.values(), *self._optimizer_step_pre_hooks.values()):
                changed = hook(self, given, kwargs)
                if changed is not None:
                    if not (isinstance(changed, tuple) and len(changed) == 2):
                        raise RuntimeError(
                            f"{step} must return None or a tuple of (new_args, new_kwargs), but got {changed}."
                        )
                    given, kwargs = changed
            result = step(*given, **kwargs)
            for hook in (*self._optimizer_step_post_hooks.values(), *_global_optimizer_post_hooks.values()):
                hook(self, given, kwargs)
            return result

        return hooked  # type: ignore[return-value]

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop all parameters' gradients, or with ``set_to_none=False`` fill them with zeros in place."""
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none:
                    if thread_state.local.trace is not None:
                        thread_state.local.trace.clear_grad(p)
                    p._grad = None
                else:
                    reset_grad(p, set_to_none)

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` before each step; it may return both, changed.

        ``args[0]`` is the optimizer.
        """
        return _add(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` after each step."""
        return _add(self._optimizer_step_post_hooks, hook)

    # --- groups ---------------------------------------------------------------------------------------------

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters, which may differ from the defaults in any option.

        Args:
            param_group: ``{"params": parameters, **options}``.

        Raises:
            TypeError: not a dict; its parameters are a set, or are no tensors.
            ValueError: a parameter has a history or is in a group already, a required option is missing, or
                only some parameters have names.
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        given = param_group["params"]
        if isinstance(given, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of "
                "tensors in sets will change between runs. Please use a list instead."
            )
        entries = [given] if isinstance(given, Tensor) else list(given)
        params = [entry[1] if isinstance(entry, tuple) else entry for entry in entries]
        names = [entry[0] for entry in entries if isinstance(entry, tuple)]
        param_group["params"] = params
        if names:
            if len(names) != len(params):
                raise ValueError("all optimizer params should be with/without names. Some param names are missing")
            param_group["param_names"] = names

        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {_typename(p)}")
            if not self.defaults.get("differentiable") and not (p.is_leaf or p.retains_grad):
                raise with_notes(
                    ValueError("can't optimize a non-leaf Tensor"),
                    f"It was computed by {p.grad_fn}.",
                    "Pass what it was computed from, or a new leaf: p.detach().requires_grad_().",
                )
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        if len(params) != len(set(params)):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause "
                "an error; see github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=3,
            )
        for group in self.param_groups:
            if ("param_names" in param_group) != ("param_names" in group):
                kind = "with names" if "param_names" in param_group else "without names"
                raise ValueError(
                    "all optimizer param groups should be with/without names. cannot add param group "
                    f"{kind} to the optimizer"
                )
            if not set(params).isdisjoint(group["params"]):
                raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    # --- saving and loading ---------------------------------------------------------------------------------

    def state_dict(self) -> StateDict:
        """State and groups as plain data, with parameters replaced by their numbers.

        Returns:
            ``{"state": {number: {...}}, "param_groups": [{..., "params": [number, ...]}]}``; tensors are not
            copied.

        >>> import pullback as torch
        >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)
        >>> optimizer.state_dict()["param_groups"][0]["params"]
        [0]
        """
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers: dict[int, int] = {}
        start = 0
        groups = []
        for group in self.param_groups:
            # A parameter listed twice has the number of its last place.
            numbers |= {id(p): i for i, p in enumerate(group["params"], start) if id(p) not in numbers}
            start += len(group["params"])
            packed = {key: value for key, value in group.items() if key != "params"}
            groups.append(packed | {"params": [numbers[id(p)] for p in group["params"]]})
        state = {numbers[id(key)] if isinstance(key, Tensor) else key: value for key, value in self.state.items()}
        result: StateDict = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            changed = hook(self, result)
            result = result if changed is None else changed
        return result

    def load_state_dict(self, state_dict: StateDict) -> None:
        """Take over state and options; parameters are matched by their place in the groups.

        Floating-point state is cast to its parameter's type, but for counters (``step`` and kin).

        Args:
            state_dict: as :meth:`state_dict` gives it.

        Raises:
            ValueError: the groups differ in number or in size, or state has another shape than its parameter.
            KeyError: state lacks a counter.
        """
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        saved = deepcopy(state_dict["param_groups"])
        if len(saved) != len(self.param_groups):
            raise with_notes(
                ValueError("loaded state dict has a different number of parameter groups"),
                f"It has {len(saved)}, the optimizer has {len(self.param_groups)}.",
            )
        sizes = [[len(group["params"]) for group in groups] for groups in (saved, self.param_groups)]
        if sizes[0] != sizes[1]:
            raise with_notes(
                ValueError(
                    "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
                ),
                f"It has groups of {sizes[0]} parameters, the optimizer has {sizes[1]}.",
            )
        params: dict[Any, tuple[Tensor, Options]] = {}
        for group, loaded in zip(self.param_groups, saved):
            params.update((key, (p, self.defaults | loaded)) for key, p in zip(loaded["params"], group["params"]))
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in params:
                p, options = params[key]
                self._check_state(p, value, options, f"Parameter {key}")
                own_counts = not (options.get("capturable") or options.get("fused"))
                state[p] = _cast(p, value, dict.fromkeys(self.counters(options), own_counts))
            else:
                state[key] = value

        for group, loaded in zip(self.param_groups, saved):
            loaded["params"] = group["params"]
            if "param_names" in group:
                loaded.setdefault("param_names", group["param_names"])
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    def counters(self, o: Options) -> dict[str, float]:
        """Numbers kept for each parameter, with their start; ``step`` is one of them."""
        return {"step": 0.0}

    def state_shapes(self, p: Tensor, o: Options) -> dict[str, tuple[int, ...]]:
        """The shapes of a parameter's state tensors, by name, as far as a class says; () also if it has one element."""
        return {}

    def _check_state(self, p: Tensor, own: dict[str, Any], o: Options, which: str) -> None:
        """Refuse state of another shape than the parameter's, or of another method."""
        shapes = self.state_shapes(p, o)
        for name, shape in shapes.items() if own else ():
            value = own.get(name)
            if name not in own and name in self.counters(o):
                raise with_notes(
                    KeyError(name), f"{which} has no {name!r} in the state that is loaded, which has {sorted(own)}."
                )
            if name not in own and any([isinstance(v, Tensor) and n not in shapes for n, v in own.items()]):
                raise with_notes(
                    ValueError("loaded state dict contains state that doesn't match the shape of its parameter"),
                    f"{which}, of the shape {tuple(p.shape)}, wants {sorted(shapes)}, and has {sorted(own)}.",
                )
            if not isinstance(value, Tensor) or value._array.shape == shape:
                continue
            if shape != () or value._array.size != 1:
                raise with_notes(
                    ValueError("loaded state dict contains state that doesn't match the shape of its parameter"),
                    f"{which} has the shape {tuple(p.shape)}, its {name!r} has {tuple(value.shape)}.",
                    "Load the state of an optimizer of the same model; drop the entry to start this one anew.",
                )

    def register_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` before :meth:`state_dict`."""
        return _add(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` after :meth:`state_dict`; a result replaces the dict."""
        return _add(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` before :meth:`load_state_dict`; a result replaces the dict."""
        return _add(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` after :meth:`load_state_dict`."""
        return _add(self._optimizer_load_state_dict_post_hooks, hook, prepend)


def _cast(param: Tensor, value: Any, counters: dict[str, bool], key: Any = None) -> Any:
    """Loaded state in the type of its parameter, but for the counters: bfloat16 counts no further than 256.

    Args:
        counters: for each whether it keeps the type it was saved in; else it gets float32.
    """
    if isinstance(value, Tensor):
        if key in counters:
            return value if counters[key] else value.to(dtypes.float32)
        return value.to(param.dtype) if param.is_floating_point() else value
    if isinstance(value, dict):
        return {k: _cast(param, v, counters, k) for k, v in value.items()}
    if isinstance(value, (list, tuple, set)):
        return type(value)(_cast(param, v, counters) for v in value)
    return value


class Stepper(Optimizer):
    """An optimizer that deals with its groups one after the other, in :meth:`step_group`."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for name, value in _LATER.items():
            for group in self.param_groups if name in self.defaults else ():
                group.setdefault(name, value)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Take one step; see :meth:`Optimizer.step`."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        for group in self.param_groups:
            hollow = [p for p in group["params"] if p._grad is not None and p._array.__class__ is Meta]
            if not hollow:
                self.step_group(group)
                continue
            self.step_group({**group, "params": [p for p in group["params"] if p not in set(hollow)]})
            for p in hollow:
                self._step_on_meta(p, group)
        return loss

    def _step_on_meta(self, p: Tensor, group: Options) -> None:
        """Keep for a parameter without values what the method keeps, by a step of one with a single element."""
        ones, shapes, own = (1,) * p._array.ndim, self.state_shapes(p, group), self.state[p]
        small = wrap(np.zeros(ones, p._array.dtype))
        small._grad = wrap(np.zeros(ones, p._array.dtype))
        on_meta = lambda value: isinstance(value, Tensor) and value._array.__class__ is Meta  # noqa: E731
        self.state[small] = {n: wrap(np.zeros(ones, v._array.dtype)) if on_meta(v) else v for n, v in own.items()}
        self.step_group({**group, "params": [small]})
        for name, value in self.state.pop(small).items():
            if not isinstance(value, Tensor) or name in self.counters(group):
                own[name] = value
            elif not on_meta(own.get(name)):
                own[name] = wrap_value(Meta(shapes.get(name, p._array.shape), value._array.dtype))

    def step_group(self, group: Options) -> None:
        """Update the parameters of a group."""
        raise NotImplementedError


def number(value: Any) -> Any:
    """An option that may be given as a one-element tensor."""
    return value.item() if isinstance(value, Tensor) else value


def rows(gradient: Any) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """Where a sparse gradient has values, as an index, and the values there."""
    gradient = gradient.coalesce()
    return tuple(gradient.indices()._array), gradient.values()._array


def dense(p: Tensor) -> np.ndarray:
    """A parameter's gradient as an array, also if it is sparse."""
    if not p._grad.is_sparse:
        return p._grad._array
    where, values = rows(p._grad)
    array = np.zeros_like(p._array)
    array[where] = values
    return array


def check_rate(lr: float | Tensor, words: str = "Invalid learning rate:") -> None:
    """Refuse a learning rate that is negative, or several."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    if not number(lr) >= 0.0:
        raise ValueError(f"{words} {lr}")


def check_options(**options: Any) -> None:
    """Refuse options out of range, in the order given: ``betas`` that are not in [0, 1), and anything negative."""
    for name, value in options.items():
        if name == "lr":
            check_rate(value)
        elif name == "betas":
            for i, beta in enumerate(value):
                if not 0.0 <= number(beta) < 1.0:
                    raise ValueError(f"Invalid beta parameter at index {i}: {beta}")
        elif not number(value) >= 0.0:
            raise ValueError(f"Invalid {'epsilon' if name == 'eps' else name} value: {value}")


def check_switches(fused: bool | None, foreach: bool | None, differentiable: bool) -> None:
    """Refuse the combinations of switches that PyTorch refuses."""
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
