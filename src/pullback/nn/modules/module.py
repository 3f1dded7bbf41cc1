"""``nn.Module``: the base class of models and layers.

A module holds parameters, buffers and child modules, each in a dict by name, and reads and writes them as
attributes. What moves, saves, freezes or switches the mode of a module does so for its whole tree. Calling a module
runs ``forward``, with its hooks.

Saving and loading are in :mod:`.state_dict`, hooks in :mod:`.hooks`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar

from ...base import dtypes
from ...base.device import device as Device
from ...base.thread_state import no_grad
from ...core import slots
from ...core.tensor import Tensor
from ..parameter import Buffer, Parameter
from .hooks import (
    Hookable,
    _global_backward_hooks,
    _global_backward_pre_hooks,
    _global_buffer_registration_hooks,
    _global_forward_hooks,
    _global_forward_pre_hooks,
    _global_module_registration_hooks,
    _global_parameter_registration_hooks,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
    watchers,
)
from .registry import KINDS, Members, Registry, attributes_of
from .state_dict import _EXTRA_STATE_KEY_SUFFIX as _EXTRA_STATE_KEY_SUFFIX
from .state_dict import Stateful
from .state_dict import _IncompatibleKeys as _IncompatibleKeys

__all__ = [
    "Module",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]

Self = TypeVar("Self", bound="Module")
P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)

_HOOKS = (
    "_backward_pre_hooks",
    "_backward_hooks",
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)


class Computes(Protocol[P, R_co]):
    """A module, to type checkers: calling it takes and returns what its ``forward`` does."""

    @property
    def forward(self) -> Callable[P, R_co]: ...


class Module(Registry, Hookable, Stateful):
    """Base class of models and layers.

    A subclass calls ``super().__init__()``, assigns :class:`Parameter`, :class:`Buffer` and :class:`Module`
    objects to attributes, which registers them under those names, and defines ``forward``.

    Attributes:
        training: whether the module is in training mode; see :meth:`train`.

    >>> import pullback as torch
    >>> class Scale(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = torch.nn.Parameter(torch.tensor(3.0))
    ...     def forward(self, x):
    ...         return self.factor * x
    >>> model = torch.nn.Sequential(Scale(), torch.nn.ReLU())
    >>> model(torch.tensor([1.0, -1.0]))
    tensor([3., 0.], grad_fn=<ReluBackward0>)
    >>> [name for name, _ in model.named_parameters()]
    ['0.factor']
    """

    call_super_init: bool = False  # whether __init__ hands its arguments on to the next base class
    training: bool

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init:
            init = f"{type(self).__name__}.__init__()"
            if kwargs:
                raise TypeError(f"{init} got an unexpected keyword argument '{next(iter(kwargs))}'")
            if args:
                raise TypeError(f"{init} takes 1 positional argument but {len(args) + 1} were given")
        own = attributes_of(self)
        for kind in KINDS:
            if own.get(kind).__class__ is Members:  # of an earlier __init__
                own[kind].stop_caching(self)
        own.update(
            {name: OrderedDict() for name in _HOOKS},  # ordered, for handles to refer to them weakly
            training=True,
            _parameters=Members(self),
            _buffers=Members(self),
            _modules=Members(self),
            _non_persistent_buffers_set=set(),
            _is_full_backward_hook=None,
        )
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    if TYPE_CHECKING:
        forward: Callable[..., Any]

        def __call__(self: Computes[P, R_co], *args: P.args, **kwargs: P.kwargs) -> R_co: ...

    else:

        def forward(self, *input: Any) -> Any:
            """What the module computes: every subclass defines it. Call the module instead, for hooks to run."""
            raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            if watchers:
                return self._call_watched(args, kwargs)
            if (
                self._forward_hooks
                or self._forward_pre_hooks
                or self._backward_hooks
                or self._backward_pre_hooks
                or _global_forward_hooks
                or _global_forward_pre_hooks
                or _global_backward_hooks
                or _global_backward_pre_hooks
            ):
                return self._call_with_hooks(args, kwargs)
            return self.forward(*args, **kwargs) if kwargs else self.forward(*args)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Let calls of this module run its :meth:`forward` compiled; takes what ``torch.compile`` takes.

        >>> import pullback as torch
        >>> net = torch.nn.Linear(2, 1); net.compile()
        >>> net(torch.ones(3, 2)).shape
        torch.Size([3, 1])
        """
        attributes_of(self)["forward"] = slots.namespace.compile(type(self).forward.__get__(self), *args, **kwargs)

    # --- attributes -----------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Tensor | Module:
        own = attributes_of(self)
        for kind in KINDS:
            members = own.get(kind)
            if members is not None and name in members:
                value = members[name]
                if (
                    members.__class__ is Members
                    and members.owner() is self
                    and type(self).__getattr__ is Module.__getattr__
                ):
                    own[name] = value  # a subclass that has its own wants to be asked every time
                return value
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        own, is_tensor = attributes_of(self), isinstance(value, Tensor)
        if is_tensor and isinstance(value, Parameter):
            self._remove_from_others(name, "parameters", "_parameters")
            self.register_parameter(name, value)
        elif name in own.get("_parameters", ()):
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_typename(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)"
                )
            self.register_parameter(name, None)
        elif isinstance(value, Module):
            self._remove_from_others(name, "module", "_modules")
            self._modules[name] = _run_registration_hooks(_global_module_registration_hooks, self, name, value)
        elif name in own.get("_modules", ()):
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_typename(value)}' as child module '{name}' (torch.nn.Module or None expected)"
                )
            self._modules[name] = _run_registration_hooks(_global_module_registration_hooks, self, name, None)
        elif name in own.get("_buffers", ()) or is_tensor and isinstance(value, Buffer):
            if value is not None and not is_tensor:
                raise TypeError(
                    f"cannot assign '{_typename(value)}' as buffer '{name}' "
                    "(torch.nn.Buffer, torch.Tensor or None expected)"
                )
            if isinstance(value, Buffer):
                persistent = value.persistent
            else:
                persistent = name not in self._non_persistent_buffers_set
            # A subclass's own register_buffer may know no `persistent`.
            self.register_buffer(name, value, *(() if persistent else (False,)))
        else:
            if name in KINDS and own.get(name).__class__ is Members:
                own[name].stop_caching(self)
            super().__setattr__(name, value)

    def _remove_from_others(self, name: str, what: str, kind: str) -> None:
        """Before `name` is registered as one kind, remove it from the others and from the attributes."""
        own = attributes_of(self)
        if kind not in own:
            raise AttributeError(f"cannot assign {what} before Module.__init__() call")
        own.pop(name, None)
        for other in KINDS:
            if other != kind:
                own[other].pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def __delattr__(self, name: str) -> None:
        for kind in KINDS:
            if name in (members := attributes_of(self)[kind]):
                del members[name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        names = {*dir(type(self)), *attributes_of(self), *self._parameters, *self._buffers, *self._modules}
        return sorted(name for name in names if not name[:1].isdigit())

    def __getstate__(self) -> dict[str, Any]:
        state = attributes_of(self).copy()
        for kind in KINDS:
            state[kind] = dict(state[kind])
            for name, value in state[kind].items():
                if name in state and state[name] is value:
                    del state[name]  # left there by __getattr__
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        own = attributes_of(self)
        own.update(state)
        for kind in KINDS:
            own[kind] = Members(self, own.get(kind, ()))
        for name in _HOOKS:
            own.setdefault(name, OrderedDict())
        own.setdefault("_non_persistent_buffers_set", set())
        own.setdefault("_is_full_backward_hook", None)

    # --- registration ---------------------------------------------------------------------------------------

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter, as assigning it to the attribute ``name`` does. None takes part in nothing.

        Raises:
            AttributeError: before ``Module.__init__``.
            KeyError: the name is empty, has a dot, or is taken by another attribute.
            TypeError: ``param`` is not a :class:`Parameter`.
            ValueError: it has a history, so it is no leaf.
        """
        self._check_name("parameter", name, attributes_of(self).get("_parameters"))
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{_typename(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)"
            )
        if param is not None and param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. To "
                f"express '{name}' as a function of another Tensor, compute the value in the forward() method."
            )
        if param is not None:
            param = _run_registration_hooks(_global_parameter_registration_hooks, self, name, param)
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that is state, but not trained, such as a running mean.

        Args:
            name: the attribute it can be read as.
            tensor: of any shape and type; None takes part in nothing.
            persistent: whether :meth:`state_dict` includes it.

        Raises:
            AttributeError, KeyError, TypeError: as :meth:`register_parameter` does.
        """
        self._check_name("buffer", name, attributes_of(self).get("_buffers"))
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{_typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._buffers[name] = _run_registration_hooks(_global_buffer_registration_hooks, self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a child, as assigning it to the attribute ``name`` does; the name may be ``"0"``, too.

        Raises:
            KeyError: the name is empty, has a dot, or is taken by another attribute.
            TypeError: ``module`` is not a :class:`Module`.
        """
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{_typename(module)} is not a Module subclass")
        self._check_name("module", name, attributes_of(self).get("_modules"))
        self._modules[name] = _run_registration_hooks(_global_module_registration_hooks, self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """The same as :meth:`add_module`."""
        self.add_module(name, module)

    def _check_name(self, what: str, name: Any, members: dict[str, Any] | None) -> None:
        if members is None:
            raise AttributeError(f"cannot assign {what} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{what} name should be a string. Got {_typename(name)}")
        if name not in members and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            raise KeyError(f'{what} name can\'t contain "."' + (f", got: {name}" if what == "module" else ""))
        if name == "":
            raise KeyError(f'{what} name can\'t be empty string ""')

    # --- members by path ------------------------------------------------------------------------------------

    def get_submodule(self, target: str) -> Module:
        """The module at a dotted path below this one; itself for ``""``.

        Raises:
            AttributeError: there is nothing at that path, or something that is no module.
        """
        module = self
        for name in target.split(".") if target else ():
            module = module._get(name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put a module at a dotted path below this one.

        Args:
            target: the path; all but its last name has to exist.
            module: the module to put there.
            strict: refuse to create what is not there yet.

        Raises:
            ValueError: the path is empty, or ``module`` is no module.
            AttributeError: there is nothing at that path, or something that is no module.
        """
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if (strict or hasattr(parent, name)) and not isinstance(parent._get(name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a dotted path below this module, or AttributeError."""
        path, _, name = target.rpartition(".")
        param = self.get_submodule(path)._get(name)
        if not isinstance(param, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return param

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a dotted path below this module, or AttributeError."""
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        buffer = module._get(name)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return buffer

    def _get(self, name: str) -> Any:
        if not hasattr(self, name):
            raise AttributeError(f"{self._get_name()} has no attribute `{name}`")
        return getattr(self, name)

    # --- walking --------------------------------------------------------------------------------------------

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """This module and all below it, each with its dotted path, parents first.

        Args:
            memo: modules to leave out; those met are added.
            prefix: the path of this module.
            remove_duplicate: give a module that stands in several places only once.
        """
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                path = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(memo, path, remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """This module and all below it; see :meth:`named_modules`."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The direct children with their names, each once."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        """The direct children, each once."""
        for _, module in self.named_children():
            yield module

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Parameters with their dotted names.

        Args:
            prefix: the path of this module.
            recurse: also those of the modules below.
            remove_duplicate: give a parameter that stands in several places only once.
        """
        members = lambda module: attributes_of(module)["_parameters"].items()  # noqa: E731
        yield from self._named_members(members, prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Parameters, each once: what an optimizer takes. See :meth:`named_parameters`."""
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Buffers with their dotted names; the arguments are those of :meth:`named_parameters`."""
        members = lambda module: attributes_of(module)["_buffers"].items()  # noqa: E731
        yield from self._named_members(members, prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Buffers, each once."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def _named_members(
        self,
        get_members_fn: Callable[[Module], Any],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        """The named members that a function gives of each module, with their dotted names."""
        seen = set()
        here = [(prefix, self)]
        tree = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
        for path, module in tree if recurse else here:
            for name, member in get_members_fn(module):
                if member is None or member in seen:
                    continue
                if remove_duplicate:
                    seen.add(member)
                yield f"{path}.{name}" if path else name, member

    # --- changing all of it ---------------------------------------------------------------------------------

    def apply(self: Self, fn: Callable[[Module], Any]) -> Self:
        """Call ``fn`` on every module of the tree, children first.

        >>> import pullback as torch
        >>> net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
        >>> _ = net.apply(lambda m: print(type(m).__name__))
        Linear
        ReLU
        Sequential
        """
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self: Self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replace the data of every parameter, its gradient, and every buffer by ``fn`` of it."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for param in self._parameters.values():
            if param is None:
                continue
            grad = param.grad
            with no_grad():
                param.data = fn(param)
                if grad is not None:
                    grad.data = fn(grad)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self: Self, *args: Any, **kwargs: Any) -> Self:
        """Convert floating-point and complex parameters and buffers. Parameters stay the same objects.

        Args:
            args, kwargs: ``dtype``, ``device``, both, or a ``tensor`` whose they are; ``memory_format`` for 4-d and 5-d
                ones.

        Returns:
            the module.

        Raises:
            TypeError: the type is neither floating point nor complex.

        >>> import pullback as torch
        >>> torch.nn.Linear(1, 1).to(torch.float64).weight.dtype
        torch.float64
        """
        device, dtype = kwargs.pop("device", None), kwargs.pop("dtype", None)
        tensor = kwargs.pop("tensor", None)
        for arg in (*args, tensor):
            if isinstance(arg, Tensor):
                device, dtype = arg.device, arg.dtype
            elif isinstance(arg, dtypes.dtype):
                dtype = arg
            elif arg is not None and not isinstance(arg, bool):
                device = arg
        unknown = set(kwargs) - {"non_blocking", "memory_format"}
        if unknown:
            raise TypeError(f"to() got an unexpected keyword argument '{unknown.pop()}'")
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )
        form = kwargs.get("memory_format")

        def converted(t: Tensor) -> Tensor:
            kind = dtype if t.is_floating_point() or t.is_complex() else None
            if device is not None and t.is_meta and Device(device).type != "meta":
                raise NotImplementedError(
                    "Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() instead of "
                    "torch.nn.Module.to() when moving module from meta to a different device."
                )
            if form is None or t.dim() not in (4, 5):
                return t.to(device=device, dtype=kind)
            return t.to(device=device, dtype=kind, memory_format=form)

        return self._apply(converted)

    def to_empty(self: Self, *, device: Any, recurse: bool = True) -> Self:
        """Give parameters and buffers new, uninitialised memory on ``device``."""
        return self._apply(lambda t: t.new_empty(t.shape, device=device), recurse)

    def type(self: Self, dst_type: Any) -> Self:
        """Convert all parameters and buffers, integral ones too, to one type."""
        return self._apply(lambda t: t.type(dst_type))

    def float(self: Self) -> Self:
        """Convert floating-point parameters and buffers to float32."""
        return self._apply(lambda t: t.float() if t.is_floating_point() else t)

    def double(self: Self) -> Self:
        """Convert floating-point parameters and buffers to float64."""
        return self._apply(lambda t: t.double() if t.is_floating_point() else t)

    def half(self: Self) -> Self:
        """Convert floating-point parameters and buffers to float16."""
        return self._apply(lambda t: t.half() if t.is_floating_point() else t)

    def bfloat16(self: Self) -> Self:
        """Convert floating-point parameters and buffers to bfloat16."""
        return self._apply(lambda t: t.bfloat16() if t.is_floating_point() else t)

    def cpu(self: Self) -> Self:
        """Move to the CPU, where everything is anyway."""
        return self._apply(lambda t: t.cpu())

    def cuda(self: Self, device: Any = None) -> Self:
        """Refuse, saying which devices there are, if there is anything to move."""
        return self._apply(lambda t: t.cuda(device))

    def share_memory(self: Self) -> Self:
        """Move parameters and buffers to memory that processes share; see :meth:`Tensor.share_memory_`."""
        return self._apply(lambda t: t.share_memory_())

    def train(self: Self, mode: bool = True) -> Self:
        """Set ``training`` on every module of the tree, which dropout, batch norm and the like look at."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self: Self) -> Self:
        """The same as ``train(False)``."""
        return self.train(False)

    def requires_grad_(self: Self, requires_grad: bool = True) -> Self:
        """Set ``requires_grad`` of every parameter, to freeze or thaw the module."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop all parameters' gradients, or with ``set_to_none=False`` fill them with zeros in place."""
        for param in self.parameters():
            reset_grad(param, set_to_none)

    # --- text -----------------------------------------------------------------------------------------------

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """The text between the parentheses of ``repr``; subclasses override it. May have several lines."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        if self._modules or len(lines) > 1:
            lines += [f"({name}): {_addindent(repr(module), 2)}" for name, module in self._modules.items()]
            extra = "\n  " + "\n  ".join(lines) + "\n"
        return f"{self._get_name()}({extra})"


def reset_grad(param: Tensor, set_to_none: bool) -> None:
    """Drop a gradient, or cut it off from its history and fill it with zeros."""
    grad = param.grad
    if grad is None or set_to_none:
        param.grad = None
        return
    if grad.grad_fn is not None:
        grad.detach_()
    else:
        grad.requires_grad_(False)
    grad.zero_()


def _run_registration_hooks(hooks: dict[int, Callable[..., Any]], module: Module, name: str, value: Any) -> Any:
    """The value to register, after the global registration hooks."""
    for hook in hooks.values():
        changed = hook(module, name, value)
        value = value if changed is None else changed
    return value


def _typename(x: Any) -> str:
    if isinstance(x, Tensor):
        return x.type()
    kind = type(x)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _addindent(text: str, spaces: int) -> str:
    """Indent all lines but the first and the blank ones."""
    first, *rest = text.split("\n")
    return "\n".join([first, *(" " * spaces + line if line.strip() else "" for line in rest)])
