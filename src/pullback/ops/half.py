"""float16 and bfloat16: :func:`general` declares an op that computes in float32 and rounds its result once.

Elementwise operations get this from :func:`op.elementwise`; operations that sum are declared here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.dtypes import FLOAT32, HALVES
from ..core import op
from ..kernels.dispatch import as_type, wide


def general(alike: bool = False, **options: Any) -> Callable[[Callable], Any]:
    """Like ``op.general``; for half precision the forward function gets float32, and its (first) result is rounded
    back.

    With ``alike`` the forward function refuses mixed dtypes itself, and gets those unconverted.
    """

    def declare(impl: Callable) -> Any:
        def computed(input: np.ndarray, *args: Any) -> Any:
            half = input.dtype
            if half is FLOAT32 or half not in HALVES:
                return impl(input, *args)
            if alike and any(isinstance(a, np.ndarray) and a.dtype == FLOAT32 for a in args):
                return impl(input, *args)
            out = impl(as_type(input, FLOAT32), *map(wide, args))
            if isinstance(out, tuple):
                return as_type(out[0], half), *out[1:]
            return as_type(np.asarray(out), half)

        return op.general(numpy_impl=computed, **options)(impl)

    return declare
