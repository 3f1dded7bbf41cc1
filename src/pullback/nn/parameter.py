"""``Parameter`` and ``Buffer``, and their uninitialised forms for lazy modules."""

from __future__ import annotations

from typing import Any, Self

from ..base import thread_state
from ..base.errors import with_notes
from ..core import versions
from ..core.graph import LEAF
from ..core.tensor import Tensor, _disabled_torch_function
from ..ops.create import as_tensor, empty

__all__ = [
    "Buffer",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "UninitializedTensorMixin",
    "is_lazy",
]


class _ParameterType(type):
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

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Self:
        data = Tensor() if data is None else data
        if requires_grad and not (data.is_floating_point() or data.is_complex()):
            raise with_notes(
                RuntimeError("Only Tensors of floating point and complex dtype can require gradients"),
                f"This one is of {data.dtype}: pass requires_grad=False.",
                page="integer-grad",
            )
        if type(data) is Tensor or type(data) is Parameter:
            self = object.__new__(cls)
            self._array = data._array
            self._fn = self._view = self._grad = self._hooks = None
            if thread_state.slow_path_reasons:
                versions.note_alias(data)
                versions.note_alias(self)
            self.requires_grad = requires_grad
            return self
        t: Any = data.detach()
        t = t if type(t) is type(data) else t.as_subclass(type(data))
        t.requires_grad = requires_grad
        t._is_param = True
        return t

    __torch_function__ = _disabled_torch_function

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return memo[id(self)]

    # mypy forgets the names of a special method's parameters
    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return "Parameter containing:\n" + super().__repr__(tensor_contents=tensor_contents)  # type: ignore[call-arg]


class _BufferType(type):
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

    persistent: bool

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Self:
        data = Tensor() if data is None else data
        t: Any = data.detach().requires_grad_(data.requires_grad)
        t.persistent, t._is_buffer = persistent, True
        return t

    __torch_function__ = _disabled_torch_function


# --- of a shape not known yet -------------------------------------------------------------------------------


class UninitializedTensorMixin(Tensor):
    """A tensor with a type but no shape: it can be converted and materialised, and nothing else."""

    cls_to_become: type[Tensor] = Tensor
    __torch_function__ = _disabled_torch_function

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        self = object.__new__(cls)
        self._array = empty(0, device=device, dtype=dtype)._array
        self._fn = self._view = self._grad = self._hooks = None
        self.requires_grad = requires_grad
        return self

    @property
    def _array(self) -> Any:
        raise ValueError(
            "Attempted to use an uninitialized parameter in an operation. This error happens when you are using a "
            f"`LazyModule` or explicitly manipulating `torch.nn.parameter.{type(self).__name__}` objects. When using "
            "LazyModules Call `forward` with a dummy batch to initialize the parameters before calling torch functions"
        )

    @_array.setter
    def _array(self, value: Any) -> None:
        Tensor._array.__set__(self, value)

    @property
    def data(self) -> Tensor:
        """An empty tensor of the type."""
        return as_tensor(Tensor._array.__get__(self))

    @data.setter
    def data(self, value: Tensor) -> None:
        self._array = Tensor._array.__get__(value)

    @property
    def dtype(self) -> Any:
        """The type that the elements will have."""
        return self.data.dtype

    @property
    def shape(self) -> Any:
        """Refused: there is none yet."""
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
            "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. Call "
            "`forward` to initialize the parameters before accessing their attributes."
        )

    @property
    def requires_grad(self) -> bool:
        """Whether the tensor to come requires a gradient."""
        return self._fn is not None

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self._fn = LEAF if value else None

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Become an ordinary tensor of that shape, of any values."""
        data = empty(shape, device=device, dtype=dtype or self.dtype)
        self.__class__ = self.cls_to_become  # type: ignore[assignment]
        self._array = data._array

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return memo.setdefault(id(self), type(self)(self.requires_grad, dtype=self.dtype))

    def __reduce_ex__(self, protocol: Any) -> Any:
        return type(self), (self.requires_grad, None, self.dtype)

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return f"<{type(self).__name__}>"


def _of_data(name: str) -> Any:
    """A method that does what it does for the empty tensor: it answers, or gives a tensor to be of another type."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = getattr(self.data, name)(*args, **kwargs)
        return type(self)(self.requires_grad, dtype=result.dtype) if isinstance(result, Tensor) else result

    return method


for _name in ("to", "type", "half", "float", "double", "bfloat16", "cpu", "cuda", "is_floating_point", "is_complex"):
    setattr(UninitializedTensorMixin, _name, _of_data(_name))


class UninitializedParameter(UninitializedTensorMixin, Parameter):  # type: ignore[misc]
    """A :class:`Parameter` to be, in a module that learns its shape from the first input.

    >>> import pullback as torch
    >>> p = torch.nn.UninitializedParameter()
    >>> p.materialize((2, 3)); p.shape
    torch.Size([2, 3])
    """

    cls_to_become = Parameter


class UninitializedBuffer(UninitializedTensorMixin):
    """A buffer to be; see :class:`UninitializedParameter`."""

    def __new__(
        cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> Any:
        self = super().__new__(cls, requires_grad, device, dtype)
        self.persistent, self._is_buffer = persistent, True
        return self


def is_lazy(param: Any) -> bool:
    """Whether a parameter or buffer has no shape yet."""
    return isinstance(param, UninitializedTensorMixin)
