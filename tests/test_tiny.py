"""``docs/tiny.py``, the idea in one file, differentiates as the package does; ``docs/tiny.md`` prints it."""

from __future__ import annotations

import doctest
import gc
import importlib.util
import pathlib
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback

DOCS = pathlib.Path(__file__).resolve().parents[1] / "docs"
SOURCE, PAGE = DOCS / "tiny.py", DOCS / "tiny.md"
FENCE = "```python\n"

spec = importlib.util.spec_from_file_location("tiny", SOURCE)
assert spec is not None and spec.loader is not None
tiny: Any = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tiny)
Tensor, grad = tiny.Tensor, tiny.grad

# Programs in what the two have in common, and the shapes of their arguments.
PROGRAMS: dict[str, tuple[Callable, tuple[tuple[int, ...], ...]]] = {
    "add": (lambda m, x, y: x + y + 2, ((2, 3), (2, 3))),
    "sub": (lambda m, x, y: 3 - x - y, ((2, 3), (2, 3))),
    "mul": (lambda m, x, y: 2 * x * y, ((2, 3), (2, 3))),
    "div": (lambda m, x, y: 1 / x + x / y + y / 3, ((2, 3), (2, 3))),
    "neg": (lambda m, x: -x, ((4,),)),
    "pow": (lambda m, x: x**3 + x**0.5 + x**-2, ((4,),)),
    "exp, log, tanh": (lambda m, x: m.exp(m.tanh(x)) * m.log(x), ((4,),)),
    "matmul": (lambda m, x, y: x @ y, ((2, 3), (3, 4))),
    "matmul of a stack": (lambda m, x, y: x @ y, ((5, 2, 3), (3, 4))),
    "transpose": (lambda m, x: x.mT @ x, ((5, 2, 3),)),
    "reshape": (lambda m, x, y: x.reshape((3, 2)) * y, ((2, 3), (2,))),
    "sum": (lambda m, x: x.sum() * x.sum(0) ** 2 + x.sum(-2) * x.sum(-1).sum(), ((2, 3),)),
    "sum of the middle": (lambda m, x: x.sum(1) ** 2, ((2, 3, 4),)),
    "broadcasting in front": (lambda m, x, y: x * y + y, ((2, 3), (3,))),
    "broadcasting both ways": (lambda m, x, y: x / y, ((4, 1, 3), (2, 1))),
    "broadcasting a number": (lambda m, x, y: m.exp(x * y), ((), (2, 3))),
    "diamond": (lambda m, x: (lambda y: y * y + m.exp(y) * y)(m.tanh(x)), ((4,),)),
    "network": (
        lambda m, x, w, b, v: (m.tanh(x @ w + b) @ v).sum(1) ** 2,
        ((5, 3), (3, 4), (4,), (4, 2)),
    ),
}
PROGRAM = pytest.mark.parametrize(("program", "shapes"), PROGRAMS.values(), ids=PROGRAMS)


def numbers(shapes: tuple[tuple[int, ...], ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.uniform(0.5, 1.5, shape) for shape in shapes]


def leaves(arrays: list[np.ndarray]) -> list[Any]:
    return [Tensor(a, requires_grad=True) for a in arrays]


def leaves_of_the_package(arrays: list[np.ndarray]) -> list[Any]:
    return [pullback.tensor(a, requires_grad=True) for a in arrays]


def close(got: Any, expected: Any, rtol: float = 1e-12) -> None:
    np.testing.assert_allclose(getattr(got, "array", got), getattr(expected, "array", expected), rtol=rtol, atol=rtol)


def test_it_is_short() -> None:
    assert len(SOURCE.read_text("utf-8").splitlines()) <= 180


def test_its_examples() -> None:
    results = doctest.testmod(tiny)
    assert results.attempted > 5 and results.failed == 0


@PROGRAM
def test_gradients_are_slopes(program: Callable, shapes: tuple[tuple[int, ...], ...]) -> None:
    arrays, h = numbers(shapes), 1e-6
    out = program(tiny, *leaves(arrays))
    seed = np.random.default_rng(1).normal(size=out.shape)
    along = [np.random.default_rng(2).normal(size=shape) for shape in shapes]
    inputs = leaves(arrays)
    gradients = grad([program(tiny, *inputs)], inputs, [seed])

    def moved(step: float) -> np.ndarray:
        return program(tiny, *[Tensor(a + step * d) for a, d in zip(arrays, along)]).array

    slope = (seed * (moved(h) - moved(-h))).sum() / (2 * h)
    close(sum((g.array * d).sum() for g, d in zip(gradients, along)), slope, 1e-7)


@PROGRAM
def test_gradients_and_theirs_are_those_of_the_package(program: Callable, shapes: tuple[tuple[int, ...], ...]) -> None:
    arrays = numbers(shapes)
    ours, theirs = leaves(arrays), leaves_of_the_package(arrays)
    out, expected = program(tiny, *ours), program(pullback, *theirs)
    close(out, expected.detach())
    seed = np.random.default_rng(1).normal(size=out.shape)
    out.backward(seed)
    expected.backward(pullback.tensor(seed), retain_graph=True)
    for x, y in zip(ours, theirs):
        assert x.grad.shape == x.shape
        close(x.grad, y.grad)
    # the same rules on tensors: second derivatives
    first = grad([out], ours, [seed], create_graph=True)
    first_expected = pullback.autograd.grad(expected, theirs, pullback.tensor(seed), create_graph=True)
    for x, y in zip(ours, first):
        close(x.grad, y)
    squares, squares_expected = sum((g * g).sum() for g in first), sum((g * g).sum() for g in first_expected)
    if squares.node is None or not any(g.requires_grad for g in first_expected):
        assert squares.node is None and not any(g.requires_grad for g in first_expected)
        return
    second = grad([squares], ours)
    for got, right in zip(second, pullback.autograd.grad(squares_expected, theirs, allow_unused=True)):
        close(0 if got is None else got, 0 if right is None else right)


def test_arrays_are_computed_with_and_constants_record_nothing() -> None:
    assert type(tiny.tanh(np.ones(2))) is np.ndarray
    assert tiny.tanh(Tensor(np.ones(2))).node is None
    for number in (2, 2.0, np.float64(2), np.array(2.0)):
        x = Tensor([1.0, 3.0], requires_grad=True)
        for y in (number * x, x * number):
            close(grad([y.sum()], [x])[0], [2, 2])
        close(grad([(number / x + (number - x)).sum()], [x])[0], [-3, -1 - 2 / 9])
    x = Tensor(np.eye(2), requires_grad=True)
    close(grad([(np.ones((3, 2)) @ x).sum()], [x])[0], np.full((2, 2), 3))


def test_nodes_save_what_their_formulas_name() -> None:
    x, y = leaves([np.ones(2), np.ones(2)])
    assert set((x + y).node.saved) == set()
    assert set((x * y).node.saved) == {"x", "y"}
    assert set((x * 3).node.saved) == set((x * Tensor(3.0)).node.saved) == {"y"}
    assert set(tiny.exp(x).node.saved) == {"out"}
    assert tiny.total(x, None).node.saved == {"x_shape": (2,)}


def test_leaves_accumulate() -> None:
    x = Tensor([1.0, 2.0], requires_grad=True)
    seed = np.array([1.0, 10.0])
    x.backward(seed)
    (x * 2).backward(seed)
    close(x.grad, [3, 30])
    close(seed, [1, 10])
    x.grad = None
    (x * x).sum().backward()
    close(x.grad, [2, 4])


@pytest.mark.parametrize("order", [2, 3, 4])
def test_derivatives_of_higher_order(order: int) -> None:
    def derivative(module: Any, x: Any, differentiate: Callable) -> Any:
        y = module.exp(module.tanh(x)) * x**3 / module.log(x + 2)
        for _ in range(order):
            (y,) = differentiate([y.sum()], [x], create_graph=True)
        return y

    points = [np.array([0.3, 1.0, 2.5])]
    got = derivative(tiny, *leaves(points), grad)
    close(got, derivative(pullback, *leaves_of_the_package(points), pullback.autograd.grad).detach())


def test_a_polynomials_derivatives_end_at_zero() -> None:
    x = Tensor(0.0, requires_grad=True)
    y, values = x**2, []
    for _ in range(4):
        (y,) = grad([y], [x], create_graph=True)
        values.append(y.array.item())
    assert values == [0, 2, 0, 0]


def test_seeds_have_derivatives() -> None:
    """The transposed product of a transposed product is the product: forward mode."""
    x, seed = leaves([np.array([2.0, 3.0]), np.zeros(2)])
    (pulled,) = grad([x * x], [x], [seed], create_graph=True)
    close(grad([pulled], [seed], [[1.0, 10.0]])[0], [4, 60])


def test_several_outputs_and_inputs() -> None:
    x, y, z = leaves([np.ones(2), np.full(2, 2.0), np.ones(1)])
    a, b, c = grad([x * y, (x + y).sum()], [x, y, z], [[1.0, 2.0], None])
    close(a, [3, 5])
    close(b, [2, 3])
    assert c is None
    inner = x * y
    close(grad([(inner * inner).sum()], [inner])[0], [4, 4])


def test_a_long_chain() -> None:
    y = x = Tensor(1.0, requires_grad=True)
    for _ in range(20_000):
        y = y * 1.0001 + 0.0
    y.backward()
    close(x.grad, 1.0001**20_000, 1e-9)
    (first,) = grad([y * y], [x], create_graph=True)
    close(grad([first], [x])[0], 2 * 1.0001**40_000, 1e-9)


def test_graphs_are_freed_without_the_garbage_collector() -> None:
    x = Tensor([1.0, 2.0], requires_grad=True)
    y = tiny.exp(x * x)
    node = weakref.ref(y.node)
    gc.disable()
    try:
        y.backward([1.0, 1.0])
        (g,) = grad([y.sum()], [x], create_graph=True)
        del y, g
        assert node() is None
    finally:
        gc.enable()


def test_a_seed_is_asked_for_where_only_the_caller_knows_it() -> None:
    x = Tensor([2.0, 3.0], requires_grad=True)
    message = "^grad can be implicitly created only for scalar outputs$"
    with pytest.raises(RuntimeError, match=message):
        (x * x).backward()
    with pytest.raises(RuntimeError, match=message):
        grad([x * x], [x])
    assert x.grad is None
    (x * x).sum().backward()
    (x * x).sum(0).reshape((1, 1)).backward()
    close(x.grad, [8, 12])


@pytest.mark.parametrize("seed", [1.0, [1.0], [1.0, 1.0, 1.0], [[1.0, 1.0]]])
def test_a_wrong_seed_is_refused(seed: Any) -> None:
    x = Tensor([2.0, 3.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="seed"):
        (x * x).backward(seed)
    assert x.grad is None


def test_a_constant_has_no_gradient() -> None:
    with pytest.raises(RuntimeError, match="does not require grad"):
        Tensor(1.0).backward()


@pytest.mark.parametrize("shapes", [((3,), (3, 2)), ((2, 3), (3,)), ((3,), (2, 3, 4))])
def test_matmul_refuses_vectors(shapes: tuple[tuple[int, ...], ...]) -> None:
    x, y = leaves(numbers(shapes))
    with pytest.raises(ValueError, match="matmul"):
        x @ y


def page() -> str:
    """The page as it should be: what stands before the code, and the code."""
    before, _, _ = PAGE.read_text("utf-8").partition(FENCE)
    return before + FENCE + SOURCE.read_text("utf-8") + "```\n"


def test_the_page_prints_the_file() -> None:
    assert PAGE.read_text("utf-8") == page(), "run python tests/test_tiny.py"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8", newline="\n")
