"""``autograd.functional``: what arguments it takes, what it says of others, and strict mode."""

from __future__ import annotations

from typing import Any

import pytest

VECTOR = ("vjp", "jvp", "vhp", "hvp")


def cube(x: Any) -> Any:
    return (x**3).sum()


def seed(torch: Any, name: str, x: Any) -> Any:
    return torch.tensor(1.0) if name == "vjp" else torch.ones_like(x)


@pytest.mark.parametrize("name", VECTOR)
def test_values(torch: Any, name: str) -> None:
    x = torch.tensor([1.0, 2.0, 3.0])
    out, result = getattr(torch.autograd.functional, name)(cube, x, seed(torch, name, x))
    assert (
        out.item() == 36
        and result.tolist() == {"vjp": [3, 12, 27], "jvp": 42, "vhp": [6, 12, 18], "hvp": [6, 12, 18]}[name]
    )
    assert not out.requires_grad and not result.requires_grad
    f = lambda x, y: (x * x * y).sum()  # noqa: E731
    _, results = getattr(torch.autograd.functional, name)(f, (x, x), torch.tensor(1.0) if name == "vjp" else (x, x))
    assert isinstance(results, tuple) is (name != "jvp")
    y = x.clone().requires_grad_()
    out, result = getattr(torch.autograd.functional, name)(cube, y, seed(torch, name, x), create_graph=True)
    assert out.requires_grad and result.requires_grad and torch.autograd.grad(result.sum(), y)[0].shape == (3,)


@pytest.mark.parametrize("name", VECTOR)
def test_arguments(torch: Any, name: str) -> None:
    call = getattr(torch.autograd.functional, name)
    x = torch.ones(3)
    v = seed(torch, name, x)
    either = f"given to {name} must be either a Tensor or a tuple of Tensors but the"
    for args, error, words in (
        ((cube, (x, 2), v), TypeError, f"The inputs {either} value at index 1"),
        ((cube, 2, v), TypeError, f"The inputs {either} given inputs"),
        (
            (lambda x: (x, "bar"), x, v),
            TypeError,
            f"The outputs of the user-provided function given to {name} must be either",
        ),
        ((cube, x, 3), TypeError, f"The v given to {name} must be either a Tensor or a tuple of Tensors"),
        ((cube, x, (v, v)), RuntimeError, "The given v should contain a single Tensor"),
        ((cube, x, torch.ones(2, 2)), RuntimeError, "v has invalid size: should be torch.Size"),
    ):
        with pytest.raises(error, match=words):
            call(*args)
    with pytest.raises(RuntimeError, match="The vector v can only be None if"):
        call(lambda x: x * 2, x)
    if name in ("vhp", "hvp"):
        with pytest.raises(
            RuntimeError, match=f"The Tensor returned by the function given to {name} should contain a single element"
        ):
            call(lambda x: x * 2, x, v)
        with pytest.raises(RuntimeError, match=f"The function given to {name} should return a single Tensor"):
            call(lambda x: (x.sum(), x.sum()), x, v)


@pytest.mark.parametrize("name", VECTOR)
@pytest.mark.parametrize("create", [True, False])
def test_strict(torch: Any, name: str, create: bool) -> None:
    call = getattr(torch.autograd.functional, name)
    x = torch.tensor([1.0, 2.0])
    v = seed(torch, name, x)
    constant = torch.zeros(3, requires_grad=True)
    for f, words in (
        (lambda x: x.detach().sum(), "Output 0 of the user-provided function does not require gradients"),
        (lambda x: constant.sum(), "The output of the user-provided function is independent of input 0"),
    ):
        with pytest.raises(RuntimeError, match=words):
            call(f, x, v, strict=True, create_graph=create)
        _, result = call(f, x, v, create_graph=create)
        assert not result.any()
    with pytest.raises(RuntimeError, match="The output of the user-provided function is independent of input 1"):
        call(lambda a, b: cube(a), (x, x), v if name == "vjp" else (v, v), strict=True, create_graph=create)
    linear = lambda x: (x * 2).sum()  # noqa: E731
    if name in ("vhp", "hvp"):
        with pytest.raises(
            RuntimeError,
            match="jacobian of the user-provided function with respect to input 0 is independent of the input",
        ):
            call(linear, x, v, strict=True, create_graph=create)
    elif create:
        with pytest.raises(RuntimeError, match="jacobian of the user-provided function is independent of input 0"):
            call(linear, x, v, strict=True, create_graph=create)
    call(cube, x, v, strict=True, create_graph=create)


def test_matrices(torch: Any) -> None:
    F = torch.autograd.functional
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0])
    assert F.jacobian(lambda x: x**2, x).tolist() == [[2, 0], [0, 4]]
    jacobian = F.jacobian(lambda x, y: (x * y, x.sum()), (x, y))
    assert [[b.tolist() for b in row] for row in jacobian] == [[[[3, 0], [0, 3]], [[1], [2]]], [[1, 1], [0]]]
    assert F.hessian(cube, x).tolist() == [[6, 0], [0, 12]]
    hessian = F.hessian(lambda x, y: (x * x * y).sum(), (x, y))
    assert [[b.tolist() for b in row] for row in hessian] == [[[[6, 0], [0, 6]], [[2], [4]]], [[[2, 4]], [[0]]]]
    with torch.no_grad():
        assert F.jacobian(lambda x: x**2, x).tolist() == [[2, 0], [0, 4]]
    z = x.clone().requires_grad_()
    assert F.jacobian(lambda x: x**3, z, create_graph=True).requires_grad
    assert F.jacobian(cube, torch.tensor(2.0)).tolist() == 12 and F.hessian(cube, torch.tensor(2.0)).tolist() == 12


def test_matrices_strict(torch: Any) -> None:
    F, x = torch.autograd.functional, torch.tensor([1.0, 2.0])
    constant = torch.zeros(3, requires_grad=True)
    for call in (F.jacobian, F.hessian):
        with pytest.raises(RuntimeError, match="Output 0 of the user-provided function does not require gradients"):
            call(lambda x: x.detach().sum(), x, strict=True)
        with pytest.raises(RuntimeError, match="is independent of"):
            call(lambda x: constant.sum(), x, strict=True)
        with pytest.raises(RuntimeError, match="is independent of"):
            call(lambda a, b: cube(a), (x, x), strict=True)
        with pytest.raises(RuntimeError, match="`strict=True` and `vectorized=True` are not supported together"):
            call(cube, x, strict=True, vectorize=True)
        with pytest.raises(AssertionError, match="Expected strategy to be either"):
            call(cube, x, **{"strategy" if call is F.jacobian else "outer_jacobian_strategy": "foo"})
    with pytest.raises(
        RuntimeError, match="jacobian of the user-provided function with respect to input 0 is independent of the input"
    ):
        F.hessian(lambda x: x.sum(), x, strict=True)
    with pytest.raises(RuntimeError, match="jacobian of the user-provided function is independent of input 0"):
        F.jacobian(lambda x: x * 2, x, strict=True, create_graph=True)
    for f, words in (
        (lambda x: x * 2, "should contain a single element"),
        (lambda x: (x.sum(), x.sum()), "should return a single Tensor"),
    ):
        with pytest.raises(RuntimeError, match=words):
            F.hessian(f, x)


COMPLEX: dict[str, Any] = {
    "jacobian": lambda f, x, z: f.jacobian(lambda x: x * 1j, x),
    "hessian": lambda f, x, z: f.hessian(lambda z: (z * z).sum(), z),
    "vectorized hessian": lambda f, x, z: f.hessian(lambda z: (z * z).sum(), z, vectorize=True),
    "vjp": lambda f, x, z: f.vjp(lambda x: (x * 1j).sum(), x),
    "vhp": lambda f, x, z: f.vhp(lambda x: (x * 1j).sum(), x, x),
}


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_outputs_have_no_gradient_without_a_seed(torch: Any, name: str) -> None:
    x, z = torch.tensor([0.5, 2.0]), torch.tensor([0.5 + 1j, 2.0])
    with pytest.raises(RuntimeError, match="only for real scalar outputs but got torch.complex64"):
        COMPLEX[name](torch.autograd.functional, x, z)


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is")
def test_complex_numbers_in_forward_mode(torch: Any) -> None:
    def forward(f: Any, x: Any) -> Any:
        return torch.autograd.functional.jacobian(f, x, vectorize=True, strategy="forward-mode").tolist()

    x, z = torch.tensor([0.5, 2.0]), torch.tensor([0.5 + 1j, 2.0])
    assert forward(lambda x: torch.complex(x, x * x), x) == [[1 + 1j, 0], [0, 1 + 4j]]
    assert forward(lambda z: z * z, z) == [[1 + 2j, 0], [0, 4]]
