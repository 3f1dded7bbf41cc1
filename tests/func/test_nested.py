"""Transforms inside of transforms: what each asks for, for operations whose rules look at values, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pullback as torch
from pullback.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap


def double(*values: Any) -> Any:
    return torch.tensor(values, dtype=torch.float64)


X, Y, U = double([1.0, 2.0, 3.0, 4.0], [0.0, 5.0, 6.0, 7.0]), double(1.0, -1.0, 2.0, 0.5), double(0.7, -0.3, 0.2, 0.5)
INDEX = torch.tensor([0, 0, 0, 1])

FUNCTIONS: dict[str, Callable] = {
    "squares": lambda z: (z**2).sum() ** 2,
    "prod": lambda z: z.prod(),
    "cumprod": lambda z: z.cumprod(0).sum(),
    "median": lambda z: z.median() ** 3,
    "det": lambda z: torch.det(z.reshape(2, 2) + 1),
    "scatter_reduce": lambda z: double(1.0, 1.0).scatter_reduce(0, INDEX, z, "prod", include_self=False).sum(),
    "solve_triangular": lambda z: torch.linalg.solve_triangular(
        z.reshape(2, 2) + 4, double([1.0, 2.0], [3.0, 4.0]), upper=True
    ).sum(),
    "index_reduce": lambda z: double(1.0, 2.0).index_reduce(0, INDEX, z, "amax").prod(),
}
SECOND: dict[str, Callable] = {
    "hessian": hessian,
    "reverse over reverse": lambda f: jacrev(jacrev(f)),
    "forward over forward": lambda f: jacfwd(jacfwd(f)),
    "reverse over forward": lambda f: jacrev(jacfwd(f)),
    "a direction of the gradient": lambda f: lambda x: jvp(grad(f), (x,), (U,))[1],
    "the gradient of a direction": lambda f: grad(lambda x: jvp(f, (x,), (U,))[1]),
}


@pytest.mark.parametrize("second", SECOND)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_second_derivatives_of_a_batch(function: str, second: str) -> None:
    """Those of each example, in reverse alone, and so are their derivatives, by the batch and by what all examples
    share.
    """
    f = FUNCTIONS[function]

    def by_reverse(x: Any, y: Any) -> Any:
        h = torch.stack([jacrev(jacrev(lambda z: f(z * y)))(row) for row in x])
        return h @ U if "direction" in second else h

    def each(x: Any, y: Any) -> Any:
        return torch.stack([SECOND[second](lambda z: f(z * y))(row) for row in x])

    def batch(x: Any, y: Any) -> Any:
        return vmap(SECOND[second](lambda z: f(z * y)))(x)

    for derivative in (
        lambda h: h(X, Y),
        lambda h: torch.cat([g.flatten() for g in grad(lambda x, y: (h(x, y) ** 2).sum(), (0, 1))(X, Y)]),
    ):
        expected = derivative(by_reverse)
        for h in (each, batch):
            torch.testing.assert_close(derivative(h), expected)


@pytest.mark.parametrize(
    "inner", [grad, jacrev, lambda f: lambda x: vjp(f, x)[1](torch.tensor(1.0, dtype=torch.float64))[0], jacfwd]
)
@pytest.mark.parametrize(
    "outer", [grad, jacrev, lambda f: lambda y: vjp(f, y)[1](torch.tensor(1.0, dtype=torch.float64))[0], jacfwd]
)
def test_a_gradient_by_one_input_differentiated_by_another(inner: Callable, outer: Callable) -> None:
    """Where nothing but the outer transform asks for it: no tensor requires a gradient."""
    x = X[0]
    got = outer(lambda y: (inner(lambda z: ((z * y) ** 2).sum())(x) ** 2).sum())(Y)
    torch.testing.assert_close(got, 16 * x**2 * Y**3)  # of 4 x² y⁴


def test_results_of_inner_transforms_are_closed() -> None:
    """Outside of all transforms nobody can ask for their gradient."""
    value, pull = vjp(lambda y: grad(lambda z: ((z * y) ** 2).sum())(X[0]), Y)
    assert not value.requires_grad and not pull(Y)[0].requires_grad
