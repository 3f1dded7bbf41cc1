"""Parametrisations: parameters computed from others, such as a weight kept symmetric or orthogonal.

A parametrised module's class becomes a subclass of what it was, on which the parameter's name is a property:
reading it computes the value from ``module.parametrizations.NAME.original``, assigning goes the other way,
through ``right_inverse``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

from ...base.thread_state import no_grad
from ...core.tensor import Tensor
from ..modules.container import ModuleDict, ModuleList
from ..modules.module import Module
from ..parameter import Parameter

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]

_cache_enabled = 0  # how many blocks of `cached` are being executed
_cache: dict[tuple[int, str], Tensor] = {}


@contextmanager
def cached() -> Iterator[None]:
    """Inside, every parametrised tensor is computed once, at first need.

    >>> import pullback as torch
    >>> from pullback.nn.utils import parametrize
    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 2))
    >>> with parametrize.cached(): layer.weight is layer.weight
    True
    """
    global _cache_enabled
    _cache_enabled += 1
    try:
        yield
    finally:
        _cache_enabled -= 1
        if not _cache_enabled:
            _cache.clear()


class ParametrizationList(ModuleList):
    """The parametrisations of one tensor, first to last, and the tensor or tensors that they start from.

    Attributes:
        original: what is trained, or ``original0``, ``original1``, ... where the first parametrisation takes
            several tensors (its ``right_inverse`` returns them).
        unsafe: whether the result may have another shape or type than the parameter had.

    Raises:
        ValueError: a parametrisation does not return a tensor, or changes shape or type unasked.
    """

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        new: Any = original
        module: Any
        with no_grad():
            for module in reversed(self):
                if hasattr(module, "right_inverse"):
                    try:
                        new = module.right_inverse(new)
                    except NotImplementedError:
                        pass
        self.is_tensor = isinstance(new, Tensor)
        if self.is_tensor:
            if new.dtype != dtype:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                    f"original.dtype: {dtype}\nright_inverse(original).dtype: {new.dtype}"
                )
            self.ntensors = 1
            original.data = new.detach()
            _register(self, "original", original)
        else:
            _check_sequence(new)
            self.ntensors = len(new)
            for i, tensor in enumerate(new):
                if isinstance(original, Parameter):
                    tensor = Parameter(tensor, original.requires_grad)
                _register(self, f"original{i}", tensor.requires_grad_(original.requires_grad))
        if not unsafe:
            _check_result(self(), shape, dtype)

    def right_inverse(self, value: Tensor) -> None:
        """Set the originals so that the result becomes ``value``, as far as the parametrisations can.

        Raises:
            RuntimeError: a parametrisation has no ``right_inverse``.
            ValueError: what they return does not fit the originals.
        """
        new: Any = value
        module: Any
        with no_grad():
            for module in reversed(self):
                if not hasattr(module, "right_inverse"):
                    name = type(module).__name__
                    raise RuntimeError(f"parametrization {name} does not implement right_inverse.")
                new = module.right_inverse(new)
        if self.is_tensor:
            if not isinstance(new, Tensor):
                raise ValueError(f"`right_inverse` should return a tensor. Got {type(new).__name__}")
            if new.dtype != self.original.dtype:
                raise ValueError(
                    f"The tensor returned by `right_inverse` has dtype {new.dtype} "
                    f"while `original` has dtype {self.original.dtype}"
                )
            self.original.data = new.detach()
            return
        _check_sequence(new)
        if len(new) != self.ntensors:
            raise ValueError(
                "'right_inverse' must return a sequence of tensors of length "
                f"{self.ntensors}. Got a sequence of length {len(new)}."
            )
        for i, tensor in enumerate(new):
            original = getattr(self, f"original{i}")
            if original.dtype != tensor.dtype:
                raise ValueError(
                    f"Tensor {i} returned by `right_inverse` has dtype {tensor.dtype} "
                    f"while `original{i}` has dtype {original.dtype}"
                )
            original.data = tensor.detach()

    def forward(self) -> Tensor:
        first, *others = self
        names = ["original"] if self.is_tensor else [f"original{i}" for i in range(self.ntensors)]
        x = first(*(getattr(self, name) for name in names))
        for module in others:
            x = module(x)
        return x


def _register(module: Module, name: str, tensor: Tensor) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _check_sequence(new: Any) -> None:
    what = "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got "
    if not isinstance(new, Sequence):
        raise ValueError(what + type(new).__name__)
    for i, tensor in enumerate(new):
        if not isinstance(tensor, Tensor):
            raise ValueError(f"{what}element {i} of the sequence with type {type(tensor).__name__}.")


def _check_result(result: Any, shape: Any, dtype: Any, flag: str = "`unsafe` flag") -> None:
    if not isinstance(result, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(result).__name__}.")
    for what, before, after in (("dtype", dtype, result.dtype), ("shape", shape, result.shape)):
        if before != after:
            raise ValueError(
                f"Registering a parametrization may not change the {what} of the tensor, unless {flag} is "
                f"enabled.\nunparametrized {what}: {before}\nparametrized {what}: {after}"
            )


# --- the module's new class ---------------------------------------------------------------------------------


def _deepcopy(self: Module, memo: dict[int, Any]) -> Module:
    replica = memo[id(self)] = self.__new__(type(self))
    replica.__setstate__(deepcopy(Module.__getstate__(self), memo))
    return replica


def _refuse_pickling(self: Module) -> None:
    raise RuntimeError(
        "Serialization of parametrized modules is only supported through state_dict().\n"
        "  Save module.state_dict(), and load it into a module that was parametrized likewise."
    )


def _subclass(cls: type[Module]) -> type[Module]:
    """A subclass for one module, to define properties on."""
    members: dict[str, Any] = {"__getstate__": _refuse_pickling}
    if not hasattr(cls, "__deepcopy__"):
        members["__deepcopy__"] = _deepcopy
    return type(f"Parametrized{cls.__name__}", (cls,), members)


def chains_of(module: Module) -> Any:
    """The parametrisations of a module that has some, by the names of its tensors."""
    return module.parametrizations


def _property(name: str) -> property:
    def get(self: Module) -> Tensor:
        compute = chains_of(self)[name]
        if not _cache_enabled:
            return compute()
        key = (id(self), name)
        if key not in _cache:
            _cache[key] = compute()
        return _cache[key]

    def set(self: Module, value: Tensor) -> None:
        chains_of(self)[name].right_inverse(value)

    return property(get, set)


# --- registering --------------------------------------------------------------------------------------------


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Make a parameter or buffer of ``module`` what ``parametrization`` computes from it.

    Args:
        module: becomes parametrised, in place.
        tensor_name: the name of the parameter or buffer. If it is parametrised already, this one comes last.
        parametrization: its ``forward`` gets the original tensor and returns the value to use. A method
            ``right_inverse(value)``, if it has one, says which original gives a value: it initialises the
            original, and serves assignments to the parameter. It may return several tensors, which
            ``forward`` then takes.
        unsafe: let it change shape or type, and check nothing.

    Returns:
        the module.

    Raises:
        ValueError: there is no such tensor, or the shape or the type would change.

    >>> import pullback as torch
    >>> class Symmetric(torch.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).T
    >>> layer = torch.nn.Linear(3, 3)
    >>> _ = torch.nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
    >>> torch.equal(layer.weight, layer.weight.T)
    True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_addition(module, tensor_name, parametrization)
        chain = chains_of(module)[tensor_name]
        chain.append(parametrization)
        chain.unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        chain = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            module.__class__ = _subclass(type(module))
            module.parametrizations = ModuleDict()
        setattr(type(module), tensor_name, _property(tensor_name))
        chains_of(module)[tensor_name] = chain
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a "
            f"parametrized element with name '{tensor_name}'"
        )
    return module


def _check_addition(module: Module, name: str, parametrization: Any) -> None:
    """That one more parametrisation, and its inverse, keep shape and type."""
    value = getattr(module, name)
    result = parametrization(value)
    _check_result(result, value.shape, value.dtype, "the `unsafe` flag")
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        back = parametrization.right_inverse(result)
    except NotImplementedError:
        return
    if not isinstance(back, Tensor):
        raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(back).__name__}")
    for what, before, after in (("dtype", value.dtype, back.dtype), ("shape", value.shape, back.shape)):
        if before != after:
            raise ValueError(
                f"The tensor returned by parametrization.right_inverse must have the same {what} "
                f"as module.{name}, unless the `unsafe` flag is enabled.\n"
                f"module.{name}.{what}: {before}\nreturned {what}: {after}"
            )


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether the named tensor of a module, or any of them, is parametrised."""
    chains = getattr(module, "parametrizations", None)
    if not isinstance(chains, ModuleDict):
        return False
    return len(chains) > 0 if tensor_name is None else tensor_name in chains


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make a parametrised tensor an ordinary one again.

    Args:
        module: the module, changed in place.
        tensor_name: which of its tensors.
        leave_parametrized: keep the value that it has now; otherwise that of the original.

    Returns:
        the module, of its first class again once nothing of it is parametrised.

    Raises:
        ValueError: it is not parametrised, or has several originals and ``leave_parametrized`` is False.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    chain = chains_of(module)[tensor_name]
    if not chain.is_tensor and not leave_parametrized:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor "
            "that is parametrized in terms of a sequence of tensors."
        )
    if chain.is_tensor:
        tensor = chain.original
        if leave_parametrized:
            with no_grad():
                tensor.data = getattr(module, tensor_name).detach()
    else:
        value = getattr(module, tensor_name)
        tensor = Parameter(value) if value.requires_grad else value
    delattr(type(module), tensor_name)
    del chains_of(module)[tensor_name]
    _register(module, tensor_name, tensor)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class of a module, without what parametrising made of it."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Parametrise ``to_module`` as ``from_module`` is, with the same parametrisations and originals.

    Args:
        from_module: if it is not parametrised, nothing is done.
        to_module: changed in place, and returned; tensors that it lacks are created.
        tensor_name: only this tensor.
    """
    if not is_parametrized(from_module):
        return to_module
    for name in list(chains_of(from_module)) if tensor_name is None else [tensor_name]:
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        chain = chains_of(from_module)[name]
        for parametrization in chain:
            register_parametrization(to_module, name, parametrization)
        for original in ["original"] if chain.is_tensor else [f"original{i}" for i in range(chain.ntensors)]:
            setattr(chains_of(to_module)[name], original, getattr(chain, original))
    return to_module
