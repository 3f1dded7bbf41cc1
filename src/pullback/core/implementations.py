"""``Implementations``: the forward function of an operation, and the kernels that compute it for large arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import kernels
from ..kernels import dispatch


class Implementations:
    """What computes an operation on arrays.

    Attributes:
        impl: the forward function; of elementwise operations, it chooses by size between a kernel and NumPy.
        impl_large, impl_small: for arrays of at least ``kernels.SHARED`` elements; for smaller ones of floats.
        impl_any: for arrays of any size.
        refuses: the kinds of dtypes that ``impl`` alone refuses.
        half_kernel: the operation as a kernel of half precision, which gives None where there is none.
        tensors: the places of tensor arguments.
        scalar: the name of its form on scalars (:mod:`pullback.kernels.codegen.scalar`), where NumPy's can't be traced.
        at_any_size: whether it takes so many steps that a kernel wins at any size.
    """

    def __init__(
        self, impl: Callable, name: str, kind: str, arity: int, first_only: bool, scalar: str, at_any_size: bool
    ) -> None:
        self.scalar, self.at_any_size = scalar, at_any_size
        self.impl = self.impl_large = self.impl_any = impl
        self.impl_small = getattr(impl, "of_floats", impl)
        self.refuses = getattr(impl, "refuses", "")
        if kind != "elementwise":
            return
        if (
            isinstance(impl, np.ufunc) and impl not in dispatch.SLOW_UFUNCS
        ):  # one loop of NumPy's is hard to beat but by several threads
            self.impl_large = dispatch.elementwise_kernel(name, [impl], impl, scalar=scalar)
            self.impl_any = self.impl_by_size
        else:
            self.impl = self.impl_large = self.impl_any = dispatch.kernel_if_large(
                name, impl, arity, first_only=first_only, at_any_size=at_any_size, scalar=scalar
            )
            self.impl_small = self.impl if at_any_size else self.impl_small
        self.half_kernel = dispatch.elementwise_kernel(
            name, [self.impl], lambda *values: None, scalar=scalar, even_plain=True
        )

    def compute_half(self, *values: Any) -> Any:
        """The forward function of half precision: by a kernel, or by way of float32; either rounds once."""
        made = self.half_kernel(*values)
        return dispatch.compute_in_float32(self, values) if made is None else made

    def impl_by_size(self, *values: Any) -> Any:
        """The forward function, by a kernel where an array is large."""
        most = max([v.size for v in values if v.__class__ is np.ndarray], default=0)
        return (self.impl if most < kernels.SHARED else self.impl_large)(*values)
