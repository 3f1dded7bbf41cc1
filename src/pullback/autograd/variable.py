"""PyTorch's old address of ``Variable``, which is :class:`pullback.Tensor`."""

from . import Variable

__all__ = ["Variable"]
