"""The ``meta`` device: tensors with shape, strides and dtype, but no data.

Large models are built there in no time, and get their memory when their weights are known: ``to_empty``, or
``load_state_dict(assign=True)``.

    >>> import pullback as torch
    >>> with torch.device("meta"): net = torch.nn.Linear(10_000, 10_000)
    >>> net.weight.t()[:2]
    tensor(..., device='meta', size=(2, 10000), grad_fn=<SliceBackward0>)

Such a tensor holds a :class:`pullback.core.level.LevelValue` of a level that is always live. Its operations compute
with zeros, of which only shape, strides and dtype are kept. Where that would take memory and time, the rules of
:mod:`pullback.ops.shapes` say what the result is. An operation whose result depends on values refuses.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NoReturn

import numpy as np

from ... import ops
from ...base import thread_state
from ...base.device import device as Device
from ...base.dtypes import OF_NUMPY, get_default_dtype
from ...base.errors import with_notes
from ...base.printing import format_meta
from ...core.level import Level, StandingValue, wrap_value
from ...core.tensor import Tensor

META = Device("meta")
LARGE = 1 << 16  # elements from which nothing is computed


def on_meta(device: Any) -> bool:
    """Whether a tensor that is asked for on a device (None: where this thread makes tensors) is to have no values."""
    return (thread_state.local.devices[-1] if device is None else Device(device)) == META


def no_data() -> NotImplementedError:
    """The error of whoever asks for values."""
    return with_notes(
        NotImplementedError("Cannot copy out of meta tensor; no data!"),
        "Give a module memory by module.to_empty(device='cpu') or load_state_dict(..., assign=True).",
    )


class Hollow(Level):
    """The level of all tensors without values."""

    start, live = 0, True

    def compute(self, op: Any, values: Sequence[Any], outer: bool) -> Any:
        masked = (
            any([isinstance(w, Meta) and w.dtype.kind == "b" for v in values if v.__class__ is list for w in v])
            and not op.takes_tensor_list
        )
        if masked or op.shape_depends_on_values:
            raise with_notes(
                NotImplementedError(
                    f"{op.name}: the shape of the result depends on values, which meta tensors have not"
                ),
                "Use torch.where instead of masks, or compute on the CPU.",
            )
        result = ops.shapes.described(op, values)
        if result is not None:
            return result
        args = [[real(w) for w in v] if v.__class__ is list else real(v) for v in values]
        if op.takes_tensor_list:
            args[0] = [wrap_value(a) for a in args[0]]
        with thread_state.no_grad():
            result = op.call(
                *[wrap_value(a) if i in op.tensors and isinstance(a, np.ndarray) else a for i, a in enumerate(args)]
            )
        return [Meta.of(r._array) for r in result] if isinstance(result, (tuple, list)) else Meta.of(result._array)

    def track(self, x: Tensor) -> Tensor:
        return x

    def raised(self, array: np.ndarray, in_batch: bool = False) -> NoReturn:
        raise no_data()


class Meta(StandingValue):
    """The data slot of a tensor without values.

    Attributes:
        shape, dtype, strides: its own; strides in bytes.
    """

    __slots__ = ("shape", "dtype", "strides")
    level, outer, device, base, value = Hollow(), False, META, None, None
    shape: tuple[int, ...]
    dtype: np.dtype
    strides: tuple[int, ...]

    def __init__(self, shape: Sequence[int], dtype: np.dtype, strides: Sequence[int] | None = None) -> None:
        self.shape, self.dtype = tuple(shape), np.dtype(dtype)
        steps = [prod(self.shape[d + 1 :]) * self.itemsize for d in range(len(self.shape))]
        self.strides = tuple(steps if strides is None else strides)

    def __reduce__(self) -> Any:
        return Meta, (self.shape, self.dtype, self.strides)

    @staticmethod
    def of(array: Any) -> Meta:
        """An array without its values."""
        return array if isinstance(array, Meta) else Meta(array.shape, array.dtype, array.strides)

    def blank(self) -> np.ndarray:
        """Zeros that lie as this does."""
        last = sum([(n - 1) * s for n, s in zip(self.shape, self.strides)])
        memory = np.zeros(last // self.itemsize + 1 if self.size else 0, self.dtype)
        return np.ndarray(self.shape, self.dtype, memory, 0, self.strides)

    def looked_at(self, check: bool) -> np.ndarray:
        """Zeros, if only an error would depend on the values: none are wrong.

        Raises:
            NotImplementedError: else.
        """
        if check:
            return self.blank() if self.size <= LARGE else np.zeros([min(n, 1) for n in self.shape], self.dtype)
        raise no_data()

    def hollow(self) -> np.ndarray:
        """An array that lies as this does, whose elements nobody may touch: there are none."""
        return np.lib.stride_tricks.as_strided(np.empty(1, self.dtype), self.shape, self.strides)

    @property
    def flags(self) -> Any:
        return self.hollow().flags

    def reshaped(self, shape: tuple[int, ...], strides: Sequence[int]) -> Meta:
        return Meta(shape, self.dtype, strides)

    def copy(self) -> Meta:
        return Meta(self.shape, self.dtype, self.strides)

    def __setitem__(self, key: Any, value: Any) -> None:
        """Nothing is kept."""

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(
            "can't convert meta device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
        )

    def item(self) -> NoReturn:
        raise RuntimeError("Tensor.item() cannot be called on meta tensors")

    def tolist(self) -> NoReturn:
        raise no_data()

    def shown(self, made_by: str | None, requires_grad: bool, extra: tuple[str, ...] = ()) -> str:
        return format_meta(
            self.shape,
            dtype=OF_NUMPY[self.dtype].name,
            default_dtype=get_default_dtype().name,
            requires_grad=requires_grad,
            grad_fn=made_by,
        )


def real(value: Any) -> Any:
    """Zeros for a value of this level; anything else as it is."""
    return value.blank() if isinstance(value, Meta) else value
