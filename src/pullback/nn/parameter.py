"""Tensors that a module owns: parameters, which are trained, and buffers, which are only state."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor, _disabled_torch_function

__all__ = ["Buffer", "Parameter"]


class _ParameterType(type(Tensor)):  # type: ignore[misc]
    def __instancecheck__(cls, instance: Any) -> bool:
        """A tensor of a user's own class counts as a parameter once ``Parameter(...)`` has marked it."""
        if cls is Parameter and isinstance(instance, Tensor) and getattr(instance, "_is_param", False):
            return True
        return super().__instancecheck__(instance)


class Parameter(Tensor, metaclass=_ParameterType):
    """A tensor that a :class:`~pullback.nn.Module` registers, to be trained, when it becomes an attribute.

    Args:
        data: the initial value, of any shape; its memory is shared, its history is not. Empty if left out.
        requires_grad: whether gradients accumulate in ``.grad``, also when made inside ``no_grad``.

    Returns:
        a leaf. For ``data`` of a subclass of Tensor, a tensor of that same subclass which ``isinstance``
        calls a Parameter.

    Raises:
        RuntimeError: where gradients are asked for of a type that has none (integers, bool).

    >>> import pullback as torch
    >>> torch.nn.Parameter(torch.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Any:
        data = Tensor() if data is None else data
        if type(data) is Tensor or type(data) is Parameter:
            self = object.__new__(cls)
            self._array = data._array
            self._fn = self._view = self._grad = self._hooks = None
            return self.requires_grad_(requires_grad)
        t: Any = data.detach().requires_grad_(requires_grad)
        if type(t) is not type(data):
            raise RuntimeError(
                f"Creating a Parameter from an instance of type {type(data).__name__} requires that detach() "
                f"returns an instance of the same type, but return type {type(t).__name__} was found "
                "instead. To use the type as a Parameter, please correct the detach() semantics."
            )
        t._is_param = True
        return t

    __torch_function__ = _disabled_torch_function

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return memo[id(self)]

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return "Parameter containing:\n" + super().__repr__(tensor_contents=tensor_contents)


class _BufferType(type(Tensor)):  # type: ignore[misc]
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)


class Buffer(Tensor, metaclass=_BufferType):
    """A tensor that a :class:`~pullback.nn.Module` registers as a buffer when it is assigned as an attribute.

    Calling it returns an ordinary tensor with a mark on it, which ``isinstance(t, Buffer)`` looks for, as in
    PyTorch.

    Args:
        data: the value, of any shape and type; its memory is shared. Empty if left out.
        persistent: whether ``state_dict`` includes it.

    >>> import pullback as torch
    >>> m = torch.nn.Module()
    >>> m.scale = torch.nn.Buffer(torch.ones(1))
    >>> list(m.state_dict())
    ['scale']
    """

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Any:
        data = Tensor() if data is None else data
        t: Any = data.detach().requires_grad_(data.requires_grad)
        t.persistent, t._is_buffer = persistent, True
        return t

    __torch_function__ = _disabled_torch_function
