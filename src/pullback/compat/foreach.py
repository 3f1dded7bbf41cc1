"""``torch._foreach_*``: an operation on each tensor of a list, as multi-tensor optimizers call them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.tensor import Tensor
from ..ops import arithmetic, inplace_functions  # noqa: F401  # they give Tensor the methods

_UNARY = """
    abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round
    rsqrt sigmoid sign sin sinh sqrt tan tanh trunc
""".split()
_BINARY = "add sub mul div clamp_max clamp_min pow lerp addcdiv addcmul".split()


def _foreach(name: str) -> Callable[..., Any]:
    inplace = name.endswith("_")

    def call(self: Any, *others: Any, **options: Any) -> list[Tensor] | None:
        method = getattr(Tensor, name)
        columns = [other if isinstance(other, list | tuple) else [other] * len(self) for other in others]
        if any(len(column) != len(self) for column in columns):
            raise RuntimeError(
                f"Tensor lists must have the same number of tensors, got {len(self)} and {max(map(len, columns))}"
            )
        results = [method(x, *row, **options) for x, *row in zip(self, *columns)]
        return None if inplace else results

    call.__name__ = call.__qualname__ = f"_foreach_{name}"
    call.__doc__ = f"``x.{name}(...)`` for every tensor of a list, and the like number of others or one for all."
    return call


def _valued(name: str) -> Callable[..., Any]:
    """For ``addcdiv`` and ``addcmul``, whose last positional argument is the factor, or one for each."""
    inplace, plain = name.endswith("_"), _foreach(name)

    def call(self: Any, tensor1: Any, tensor2: Any, value: Any = 1) -> Any:
        values = (
            value
            if isinstance(value, list | tuple)
            else value.tolist()
            if isinstance(value, Tensor)
            else [value] * len(self)
        )
        results = [plain([x], [a], [b], value=v) for x, a, b, v in zip(self, tensor1, tensor2, values)]
        return None if inplace else [r[0] for r in results]

    call.__name__ = call.__qualname__ = plain.__name__
    call.__doc__ = plain.__doc__
    return call


for _name in [*_UNARY, *_BINARY]:
    for _form in (_name, _name + "_"):
        if not hasattr(Tensor, _form):
            raise NameError(f"Tensor has no method {_form!r} that _foreach_{_form} could call")
        globals()[f"_foreach_{_form}"] = (_valued if _name.startswith("addc") else _foreach)(_form)
_foreach_maximum, _foreach_minimum = globals()["_foreach_clamp_min"], globals()["_foreach_clamp_max"]
_foreach_maximum_, _foreach_minimum_ = globals()["_foreach_clamp_min_"], globals()["_foreach_clamp_max_"]


def _foreach_zero_(self: Any) -> None:
    """Fill every tensor of a list with zeros."""
    for x in self:
        x.zero_()


def _foreach_norm(self: Any, ord: float = 2, dtype: Any = None) -> list[Tensor]:
    """The norm of every tensor of a list."""
    return [x.norm(ord, dtype=dtype) for x in self]


def _foreach_copy_(self: Any, src: Any, non_blocking: bool = False) -> None:
    """Copy the values of every tensor of one list into that of another."""
    for x, y in zip(self, src):
        x.copy_(y)


def _foreach_max(self: Any) -> list[Tensor]:
    """The greatest element of every tensor of a list."""
    return [x.max() for x in self]
