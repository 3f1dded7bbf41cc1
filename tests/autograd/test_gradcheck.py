"""gradcheck finds what is wrong, in both modes, and says it in PyTorch's words."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit")
fast = pytest.mark.parametrize("fast_mode", [True, False])


def double(torch: Any, *shape: int, dtype: Any = None) -> Any:
    return torch.rand(*shape, dtype=dtype or torch.float64, requires_grad=True)


def shifted(x: Any) -> Any:
    """A function whose gradient is wrong by a constant."""
    y = x.clone()
    y.register_hook(lambda g: g + 1e-2)
    return y


@fast
def test_right_derivatives_pass(torch: Any, fast_mode: bool) -> None:
    x, y = double(torch, 3), double(torch, 3)
    z = torch.rand(2, dtype=torch.complex128, requires_grad=True)
    for f, inputs in (
        (lambda x: x.mul(5), x),
        (lambda x, y: x * x, (x, y)),
        (lambda x: (), (x,)),
        (lambda x: x.argmax(), (x,)),
        (lambda x, y: (torch.complex(x, y), x + 1), (x, y)),
        (lambda z: (z, torch.real(z)), z),
        (lambda z: (z * z).sin(), z),
        (lambda x, n: x**n, (x, 2)),
    ):
        assert torch.autograd.gradcheck(f, inputs, fast_mode=fast_mode)
    assert torch.autograd.gradgradcheck(lambda x, y: x**2 * y, (x, y), fast_mode=fast_mode)
    assert torch.autograd.gradgradcheck(lambda z: z**3, (z,), fast_mode=fast_mode)
    assert torch.autograd.gradcheck(lambda x: x**2, (x,), check_batched_grad=True, fast_mode=fast_mode)
    assert torch.autograd.gradcheck(lambda x: x**2, (x,), check_forward_ad=True, fast_mode=fast_mode)


@fast
def test_wrong_derivatives(torch: Any, fast_mode: bool) -> None:
    check = torch.autograd.gradcheck
    real, other = double(torch, 2, 2), torch.ones(2, 2, dtype=torch.complex128, requires_grad=True)
    for f, x, words in (
        (shifted, real, "^Jacobian mismatch for output 0 with respect to input 0"),
        (
            shifted,
            other,
            "While considering the imaginary part of complex outputs only, Jacobian mismatch for output 0",
        ),
        (lambda x: (x * 2, shifted(x)), real, "Jacobian mismatch for output 1 with respect to input 0"),
        (lambda z: shifted(torch.real(z)), other, "Jacobian mismatch for output 0 with respect to input 0"),
    ):
        with pytest.raises(torch.autograd.gradcheck.__globals__["GradcheckError"], match=words):
            check(f, (x,), fast_mode=fast_mode)
        assert not check(f, (x,), fast_mode=fast_mode, raise_exception=False)
    with pytest.raises(RuntimeError, match="backward not multiplied by grad_output"):
        check(shifted, (real,), atol=1e-1, fast_mode=fast_mode)


@fast
def test_inputs_are_looked_at(torch: Any, fast_mode: bool) -> None:
    check = torch.autograd.gradcheck
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        check(lambda x: x, (torch.rand(3),), raise_exception=False, fast_mode=fast_mode)
    with pytest.warns(UserWarning, match="Input #0 requires gradient and is not a double precision"):
        assert check(lambda x: x, (torch.ones(1, requires_grad=True),), atol=1e-1, fast_mode=fast_mode)
    with pytest.raises(RuntimeError, match="The 0th input has a dimension with stride 0"):
        check(lambda x: x, (double(torch, 1).expand(2, 2),), raise_exception=False, fast_mode=fast_mode)
    with pytest.raises(RuntimeError, match="mine"):  # errors of the function's own are not swallowed
        check(
            lambda x: (_ for _ in ()).throw(RuntimeError("mine")),
            (double(torch, 1),),
            raise_exception=False,
            fast_mode=fast_mode,
        )


@fast
def test_outputs_are_looked_at(torch: Any, fast_mode: bool) -> None:
    check = torch.autograd.gradcheck
    x = torch.ones(1, dtype=torch.float64, requires_grad=True)
    with pytest.raises(RuntimeError, match="Numerical gradient for function expected to be zero"):
        check(lambda x: x.detach() * 2, x, fast_mode=fast_mode)
    assert not check(lambda x: x.detach() * 2, x, fast_mode=fast_mode, raise_exception=False)
    with pytest.raises(AssertionError, match="return outputs with the same shape when inputs are perturbed"):
        check(lambda x: torch.cat([x, x]) if torch.all(x >= 1) else x, (x,), fast_mode=fast_mode)
    with pytest.raises(AssertionError, match="return outputs with the same dtype when inputs are perturbed"):
        check(lambda x: x.to(torch.float32) if torch.all(x >= 1) else x, (x,), fast_mode=fast_mode)


@fast
def test_randomness_in_backward(torch: Any, fast_mode: bool) -> None:
    class Jitter(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, jitter: float = 0.0) -> Any:
            ctx.jitter = jitter
            return x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return Jitter.apply(g, ctx.jitter) * (1 + torch.rand_like(g) * ctx.jitter), None

    x = double(torch, 3, 3)
    check, again = torch.autograd.gradcheck, torch.autograd.gradgradcheck
    assert check(lambda x: Jitter.apply(x, 0.0), x, fast_mode=fast_mode)
    with pytest.raises(RuntimeError, match="Backward is not reentrant"):
        check(lambda x: Jitter.apply(x, 1e-6), x, fast_mode=fast_mode)
    with pytest.raises(RuntimeError, match="Backward is not reentrant"):
        again(lambda x: Jitter.apply(x, 1e-12), x, fast_mode=fast_mode)
    assert check(lambda x: Jitter.apply(x, 1e-6), x, nondet_tol=1e-5, fast_mode=fast_mode)
    assert again(lambda x: Jitter.apply(x, 1e-12), x, nondet_tol=1e-5, fast_mode=fast_mode)


def test_modes_exclude_each_other(torch: Any) -> None:
    check, x = torch.autograd.gradcheck, double(torch, 2)
    with pytest.raises(AssertionError, match="Expected at least one of check_forward_ad or check_backward_ad"):
        check(lambda x: x, (x,), check_backward_ad=False)
    with pytest.raises(AssertionError, match="Setting check_batched_grad=True requires check_backward_ad to be True"):
        check(
            lambda x: x,
            (x,),
            check_backward_ad=False,
            check_forward_ad=True,
            check_batched_grad=True,
            check_undefined_grad=False,
        )

    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, forward_fails: bool, backward_fails: bool) -> Any:
            ctx.fails = forward_fails, backward_fails
            return x * 2

        @staticmethod
        def vjp(ctx: Any, g: Any) -> Any:
            if ctx.fails[1]:
                raise RuntimeError("backward failed")
            return 2 * g, None, None

        @staticmethod
        def jvp(ctx: Any, t: Any, _1: Any, _2: Any) -> Any:
            if ctx.fails[0]:
                raise RuntimeError("forward failed")
            return 2 * t

    assert check(F.apply, (x, True, False))
    with pytest.raises(RuntimeError, match="backward failed"):
        check(F.apply, (x, False, True))


@fast
def test_forward_mode_is_compared(torch: Any, fast_mode: bool) -> None:
    fwad = torch.autograd.forward_ad

    def bad(x: Any, y: Any) -> Any:
        primal, tangent = fwad.unpack_dual(y)
        return x + y, y if tangent is None else fwad.make_dual(primal, tangent * 1.1)

    for inputs in ((double(torch, 2), double(torch, 2)), (double(torch, 2, dtype=torch.complex128), double(torch, 2))):
        assert torch.autograd.gradcheck(lambda x, y: (x + y, y), inputs, check_forward_ad=True, fast_mode=fast_mode)
        with pytest.raises(
            RuntimeError, match="Jacobian computed with forward mode mismatch for output 1 with respect to input 1"
        ):
            torch.autograd.gradcheck(bad, inputs, check_forward_ad=True, fast_mode=fast_mode)


@fast
def test_in_forward_mode_every_input_has_a_tangent(torch: Any, fast_mode: bool) -> None:
    fwad = torch.autograd.forward_ad

    def doubled(x: Any, y: Any) -> Any:  # wrong: the tangent of y counts twice
        primal, tangent = fwad.unpack_dual(y) if fwad._current_level >= 0 else (y, None)
        return x + (y if tangent is None else fwad.make_dual(primal, tangent * 2))

    def must_be_there(x: Any, y: Any) -> Any:
        assert fwad._current_level < 0 or None not in (fwad.unpack_dual(x).tangent, fwad.unpack_dual(y).tangent)
        return x + y

    x, y = double(torch, 2), double(torch, 2)
    options = {"check_forward_ad": True, "check_undefined_grad": False, "fast_mode": fast_mode}
    assert torch.autograd.gradcheck(must_be_there, (x, y), **options)
    with pytest.raises(
        RuntimeError, match="Jacobian computed with forward mode mismatch for output 0 with respect to input 1"
    ):
        torch.autograd.gradcheck(doubled, (x, y), **options)


def test_an_undefined_tangent_counts_as_zero(torch: Any) -> None:
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any, right: bool) -> Any:
            ctx.set_materialize_grads(False)
            ctx.save_for_forward(x, y)
            ctx.right = right
            return x * y

        @staticmethod
        def jvp(ctx: Any, u: Any, v: Any, _: Any) -> Any:
            x, y = ctx.saved_tensors
            if v is None:
                return u * y if ctx.right else u * y + x
            return x * v if u is None else u * y + x * v

    x, y = double(torch, 2), double(torch, 2)
    only = {"check_forward_ad": True, "check_backward_ad": False}
    assert torch.autograd.gradcheck(Product.apply, (x, y, True), **only)
    assert torch.autograd.gradcheck(Product.apply, (x, y, False), check_undefined_grad=False, **only)
    with pytest.raises(RuntimeError, match="Mismatch in tangent values for output with index: "):
        torch.autograd.gradcheck(Product.apply, (x, y, False), **only)


def test_batches_of_tangents_pass_through_functions_without_a_rule_for_them(torch: Any) -> None:
    class Triple(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, noisy: bool) -> Any:
            ctx.noisy = noisy
            return x * 3

        @staticmethod
        def jvp(ctx: Any, t: Any, _: Any) -> Any:
            return t * 3 + (0 * torch.rand_like(t) if ctx.noisy else 0)

    options = {
        "check_forward_ad": True,
        "check_backward_ad": False,
        "check_undefined_grad": False,
        "check_batched_forward_grad": True,
    }
    assert torch.autograd.gradcheck(Triple.apply, (double(torch, 2), False), **options)
    with pytest.raises(RuntimeError, match="vmap: We do not yet support calling random operations inside of vmap"):
        torch.autograd.gradcheck(Triple.apply, (double(torch, 2), True), **options)


def test_old_names(torch: Any) -> None:
    import importlib

    module = importlib.import_module(f"{torch.__name__}.autograd.gradcheck")
    a, b = double(torch, 2, 2), double(torch, 2, 2)
    eye = torch.eye(4, dtype=torch.float64)
    f = lambda xs: (2 * xs[0] + xs[1], xs[0])  # noqa: E731
    with pytest.warns(FutureWarning, match="`get_numerical_jacobian` was part of PyTorch's private API"):
        first, second = module.get_numerical_jacobian(f, (a, b), eps=1e-6)
    assert torch.allclose(first, 2 * eye) and torch.allclose(second, eye)
    with pytest.warns(FutureWarning), pytest.raises(ValueError, match="Expected grad_out to be 1.0"):
        module.get_numerical_jacobian(f, (a, b), eps=1e-6, grad_out=2.0)
    with pytest.warns(FutureWarning, match="`get_analytical_jacobian` was part of PyTorch's private API"):
        jacobians, reentrant, _, _ = module.get_analytical_jacobian((a, b), f((a, b))[0])
    assert torch.allclose(jacobians[0], 2 * eye) and torch.allclose(jacobians[1], eye) and reentrant


def test_nothing_is_warned_about(torch: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.autograd.gradcheck(lambda x: x * 2, double(torch, 2), check_undefined_grad=False)


def test_inputs_are_moved_in_place(torch: Any) -> None:
    """A function may know its inputs by other ways than its arguments."""
    x = torch.rand(3, dtype=torch.float64, requires_grad=True)
    before, kept = x.detach().clone(), x * x
    assert torch.autograd.gradcheck(lambda _: x.sin(), x) and torch.autograd.gradcheck(
        lambda _: x.sin(), x, fast_mode=True
    )
    assert torch.autograd.gradcheck(lambda x, y: x * y, (x, x))
    assert torch.equal(x, before) and x._version == 0
    kept.sum().backward()
    assert torch.allclose(x.grad, 2 * before)


@fast
@pytest.mark.filterwarnings("ignore:Sparse")
def test_sparse_inputs_stay_sparse_and_may_be_masked(torch: Any, fast_mode: bool) -> None:
    x = torch.tensor([[0.0, 2.0], [3.0, 0.0]], dtype=torch.float64).to_sparse().requires_grad_()
    y = double(torch, 2, 2)
    check = lambda f, *inputs, **options: torch.autograd.gradcheck(f, inputs, fast_mode=fast_mode, **options)  # noqa: E731
    assert check(lambda y, x: y * x.coalesce().to_dense(), y, x, masked=True)
    assert check(lambda x: x.to_dense(masked_grad=False), x, masked=False)
    if not fast_mode or torch.__name__ == "pullback":  # PyTorch's projection moves only what is stored
        # elements that are not stored count, too
        assert not check(lambda x: x.to_dense(), x, masked=False, raise_exception=False)
        assert not check(lambda x: x.to_dense(masked_grad=False), x, masked=True, raise_exception=False)
    with pytest.raises(ValueError, match="Sparse output is not supported at gradcheck yet"):
        check(lambda x: x, x, masked=True)


@fast
@pytest.mark.filterwarnings("ignore:Sparse")
def test_a_gradient_of_another_layout_is_found(torch: Any, fast_mode: bool) -> None:
    class ToSparse(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g.to_sparse()

    def other_dims(x: Any) -> Any:
        y = x.clone()
        y.register_hook(lambda g: g.to_dense().to_sparse(1))
        return y.to_dense()

    with pytest.raises(RuntimeError, match="grad is incorrect layout"):
        torch.autograd.gradcheck(ToSparse.apply, (double(torch, 2),), fast_mode=fast_mode)
    x = torch.ones(2, 2, dtype=torch.float64).to_sparse().requires_grad_()
    with pytest.raises(RuntimeError, match="grad is sparse tensor, but has incorrect sparse_dim 1, expected 2"):
        torch.autograd.gradcheck(other_dims, (x,), masked=True, fast_mode=fast_mode)
