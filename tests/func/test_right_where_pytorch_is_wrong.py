"""Forward mode where PyTorch 2.13 gives other, wrong values."""

from __future__ import annotations

from typing import Any

import pytest

import pullback as torch
import pullback.autograd.forward_ad as fwAD


class Power(torch.autograd.Function):
    """x³, with its derivative as a second output."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Any) -> Any:
        return x**3, 3 * x**2

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0], output[1])
        ctx.save_for_forward(inputs[0], output[1])

    @staticmethod
    def backward(ctx: Any, g: Any, h: Any) -> Any:
        x, slope = ctx.saved_tensors
        return g * slope + 6 * h * x

    @staticmethod
    def jvp(ctx: Any, t: Any) -> Any:
        x, slope = ctx.saved_tensors
        return t * slope, 6 * t * x


def test_forward_mode_of_forward_mode_of_a_custom_function() -> None:
    """The second derivative of 3 x⁵; PyTorch takes what ``jvp`` saved for constants of the outer level."""
    x = torch.tensor([0.5, -1.5], dtype=torch.float64)
    f = lambda v: (Power.apply(v)[0] * Power.apply(v)[1]).sum()
    for hessian in (
        torch.func.jacfwd(torch.func.jacfwd(f)),
        torch.func.hessian(f),
        torch.func.jacrev(torch.func.jacfwd(f)),
    ):
        torch.testing.assert_close(hessian(x), torch.diag(60 * x**3))


def test_a_dual_number_times_itself_in_place() -> None:
    """The derivative of x² is 2x; PyTorch overwrites the tangent before it has used it."""
    with fwAD.dual_level():
        d = fwAD.make_dual(torch.tensor(3.0), torch.tensor(1.0))
        d *= d
        assert fwAD.unpack_dual(d) == (9.0, 6.0)


def test_results_never_hold_what_belongs_to_a_transform_that_has_ended() -> None:
    kept = []
    torch.vmap(lambda x: kept.append(x) or x)(torch.ones(2))
    with pytest.raises(RuntimeError, match="a transform .* that has ended"):
        torch.vmap(lambda x: kept[0] * x)(torch.ones(3))
