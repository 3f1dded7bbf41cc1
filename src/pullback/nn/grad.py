"""``torch.nn.grad``: gradients of convolutions for input and weight, as functions of the output's gradient.

>>> import pullback as torch
>>> x, w = torch.ones(1, 1, 3), torch.tensor([[[1.0, 2.0]]])
>>> torch.nn.grad.conv1d_input(x.shape, w, torch.ones(1, 1, 2))
tensor([[[1., 3., 2.]]])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autograd import enable_grad
from ..autograd import grad as gradient
from ..core.tensor import Tensor
from ..ops.create import zeros
from . import functional as F

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]


def _gradients(conv: Callable[..., Tensor]) -> tuple[Callable[..., Tensor], Callable[..., Tensor]]:
    def of_input(
        input_size: Any,
        weight: Tensor,
        grad_output: Tensor,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        with enable_grad():
            x = zeros(tuple(input_size), dtype=grad_output.dtype, requires_grad=True)
            out = conv(x, weight, None, stride, padding, dilation, groups)
        return gradient(out, x, grad_output)[0]

    def of_weight(
        input: Tensor,
        weight_size: Any,
        grad_output: Tensor,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        with enable_grad():
            w = zeros(tuple(weight_size), dtype=grad_output.dtype, requires_grad=True)
            out = conv(input, w, None, stride, padding, dilation, groups)
        return gradient(out, w, grad_output)[0]

    name = conv.__name__
    of_input.__name__, of_weight.__name__ = f"{name}_input", f"{name}_weight"
    of_input.__doc__ = (
        f"The gradient of ``{name}`` with respect to its input of size ``input_size``, for ``grad_output``."
    )
    of_weight.__doc__ = (
        f"The gradient of ``{name}`` with respect to its weight of size ``weight_size``, for ``grad_output``."
    )
    return of_input, of_weight


conv1d_input, conv1d_weight = _gradients(F.conv1d)
conv2d_input, conv2d_weight = _gradients(F.conv2d)
conv3d_input, conv3d_weight = _gradients(F.conv3d)
