"""``TestCase``, the base class of PyTorch's own tests, as far as other libraries' tests use it."""

from __future__ import annotations

import unittest
from typing import Any

from ...core.tensor import Tensor
from ...ops.random import manual_seed
from ..comparison import assert_close
from ..creation import make_tensor

__all__ = ["TestCase", "make_tensor", "run_tests"]

SEED = 1234


class TestCase(unittest.TestCase):
    """A test case that begins with a seed, and compares tensors as :func:`torch.testing.assert_close` does."""

    precision: float = 0
    rel_tol: float = 0

    def setUp(self) -> None:
        manual_seed(SEED)

    def assertEqual(
        self,
        first: Any,
        second: Any,
        msg: Any = None,
        *,
        atol: float | None = None,
        rtol: float | None = None,
        equal_nan: bool = True,
        exact_dtype: bool = True,
        exact_device: bool = False,
        exact_stride: bool = False,
        **unused: Any,
    ) -> None:
        """Equal, within the precision of the type, or the tolerances given."""
        if isinstance(first, Tensor) and isinstance(second, int | float | complex | bool):
            second = first.new_full(first.shape, second)
        elif isinstance(second, Tensor) and isinstance(first, int | float | complex | bool):
            first = second.new_full(second.shape, first)
        try:
            assert_close(
                first,
                second,
                rtol=rtol,
                atol=atol,
                equal_nan=equal_nan,
                check_dtype=exact_dtype,
                check_stride=exact_stride,
                msg=msg,
            )
        except TypeError:  # neither tensors nor numbers
            super().assertEqual(first, second, msg)

    def assertNotEqual(self, first: Any, second: Any, msg: Any = None, **options: Any) -> None:
        """Not equal in the sense of :meth:`assertEqual`."""
        with self.assertRaises(AssertionError, msg=msg):
            self.assertEqual(first, second, **options)


def run_tests(argv: Any = None) -> None:
    """``unittest.main``."""
    unittest.main(argv=argv)
