"""``torch._tensor_str``: the text of tensors, in parts."""

from __future__ import annotations

from typing import Any

from ..base.printing import PRINT_OPTS as PRINT_OPTS
from ..base.printing import _elements, printoptions, set_printoptions
from ..core.tensor import Tensor

__all__ = ["printoptions", "set_printoptions"]


def _tensor_str(self: Tensor, indent: int) -> str:
    """The elements, without what is around them; lines but the first are indented by so many columns.

    >>> import pullback as torch
    >>> torch._tensor_str._tensor_str(torch.eye(2), 0)
    '[[1., 0.],\\n [0., 1.]]'
    """
    shown = self.detach()
    return _elements(shown.numpy(), shown.dtype.name, indent)


def _str(self: Tensor, *, tensor_contents: Any = None) -> str:
    """The text of a tensor."""
    return repr(self)
