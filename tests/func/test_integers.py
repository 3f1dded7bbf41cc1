"""What has no derivative is refused where a transform is asked for one; ``aux`` may be anything."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import pullback as torch
from pullback.func import grad, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap

X, V, I = torch.tensor([1.0, 3.0, 2.0]), torch.ones(3), torch.tensor([0, 2])
INTEGRAL: dict[str, Callable] = {
    "argmax": lambda x: x.argmax(),
    "one of two": lambda x: (x * 2, x.argsort()),
    "comparison": lambda x: x > 1,
    "constant": lambda x: torch.tensor([1, 2]),
}


@pytest.mark.parametrize("name", INTEGRAL)
@pytest.mark.parametrize(
    "transform",
    [lambda f: vjp(f, X), lambda f: jacrev(f)(X), lambda f: hessian(f)(X), lambda f: vmap(jacrev(f))(X[None])],
    ids=["vjp", "jacrev", "hessian", "vmap"],
)
def test_outputs_of_reverse_mode(name: str, transform: Callable) -> None:
    with pytest.raises(RuntimeError, match="vjp.*All outputs of f must be floating-point or complex Tensors, got"):
        transform(INTEGRAL[name])


@pytest.mark.parametrize("name", INTEGRAL)
def test_aux_may_be_integers(name: str) -> None:
    f = INTEGRAL[name]
    assert grad(lambda x: (x.sum(), f(x)), has_aux=True)(X)[0].tolist() == [1.0, 1.0, 1.0]
    assert jacrev(lambda x: (x.sum(), f(x)), has_aux=True)(X)[0].tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("tangent", [0 * I, torch.zeros(2)], ids=["integers", "floats"])
def test_inputs_of_forward_mode(tangent: torch.Tensor) -> None:
    for push in (
        lambda: jvp(lambda x, i: x[i], (X, I), (V, tangent)),
        lambda: jacfwd(lambda x, i: x[i], (0, 1))(X, I),
        lambda: vmap(lambda v: jvp(lambda x, i: x[i], (X, I), (v, tangent)))(V[None]),
    ):
        with pytest.raises(ValueError, match="Expected primal to be floating point or complex, but got: torch.int64"):
            push()
    with pytest.raises(ValueError, match="Expected tangent to be floating point or complex, but got: torch.int64"):
        jvp(torch.sin, (X,), (V.long(),))
    with pytest.raises(ValueError, match="Expected primal to be"):
        linearize(lambda x, i: x[i], X, I)[1](V, 0 * I)
    assert jvp(lambda x: x[I], (X,), (V,))[1].tolist() == [1.0, 1.0]


def test_complex_tangents_of_real_numbers() -> None:
    """Their imaginary part would be lost."""
    with pytest.raises(RuntimeError, match="can't have a tangent of torch.complex64"):
        jvp(torch.sin, (X,), (V * 1j,))


def test_a_hessian_by_integers_is_refused_as_forward_mode_does() -> None:
    with pytest.raises(ValueError, match="Expected primal to be floating point or complex, but got: torch.int64"):
        hessian(lambda x: (x * x).sum())(torch.tensor([1, 2]))
