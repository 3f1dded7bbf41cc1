"""Tensors that a module owns: parameters, which are trained, and buffers, which are only state."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor, empty

__all__ = ["Buffer", "Parameter"]


class _ParameterType(type(Tensor)):  # type: ignore[misc]
    def __instancecheck__(cls, instance: Any) -> bool:
        """A tensor of a user's own class counts as a parameter once ``Parameter(...)`` has marked it."""
        if cls is Parameter and isinstance(instance, Tensor) and getattr(instance, "_is_param", False):
            return True
        return super().__instancecheck__(instance)


class Parameter(Tensor, metaclass=_ParameterType):
    """A tensor that a :class:`~pullback.nn.Module` registers, and trains, when it is assigned as an attribute.

    Args:
        data: the initial value, of any shape; its memory is shared, its history is not. Empty if left out.
        requires_grad: whether gradients accumulate in ``.grad``, also when made inside ``no_grad``.

    Returns:
        a leaf. For ``data`` of a subclass of Tensor, a tensor of that same subclass which ``isinstance`` calls a
        Parameter.

    Raises:
        RuntimeError: where gradients are asked for of a type that has none (integers, bool).

    >>> import pullback as torch
    >>> torch.nn.Parameter(torch.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Any:
        if data is None:
            data = empty(0)
        if type(data) is Tensor or type(data) is Parameter:
            return Tensor._make_subclass(cls, data, requires_grad)
        t = data.detach().requires_grad_(requires_grad)
        if type(t) is not type(data):
            raise RuntimeError(
                f"Creating a Parameter from an instance of type {type(data).__name__} requires that detach() returns an "
                f"instance of the same type, but return type {type(t).__name__} was found instead.\n"
                f"  Make {type(data).__name__}.detach return a {type(data).__name__}, or pass a plain Tensor."
            )
        t._is_param = True
        return t

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        if id(self) not in memo:
            copy = type(self)(self.data.clone(), self.requires_grad)
            memo[id(self)] = copy
        return memo[id(self)]

    def __repr__(self, **options: Any) -> str:
        return "Parameter containing:\n" + super().__repr__(**options)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.data, self.requires_grad), self.__dict__ or None


def _rebuild(cls: type[Parameter], data: Tensor, requires_grad: bool) -> Parameter:
    return cls(data, requires_grad)


class _BufferType(type(Tensor)):  # type: ignore[misc]
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)


class Buffer(Tensor, metaclass=_BufferType):
    """A tensor that a :class:`~pullback.nn.Module` registers as a buffer when it is assigned as an attribute.

    Calling it returns an ordinary tensor with a mark on it, which ``isinstance(t, Buffer)`` looks for, as in PyTorch.

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
        if data is None:
            data = empty(0)
        t = data.detach().requires_grad_(data.requires_grad)
        t.persistent, t._is_buffer = persistent, True
        return t
