"""Rarely used corners of tensors and nodes."""

from __future__ import annotations

import importlib
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback


def test_set_looks_at_other_memory(torch: Any) -> None:
    x, y = torch.zeros(3), torch.arange(6.0)
    assert x.set_(y) is x and x.data_ptr() == y.data_ptr()
    assert x.set_(y, 1, (2, 2), (2, 1)).tolist() == [[1, 2], [3, 4]]
    assert x.set_().shape == (0,)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        torch.ones(3, requires_grad=True).set_(y)


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is")
def test_operations_without_a_derivative(torch: Any) -> None:
    fwad = importlib.import_module(f"{torch.__name__}.autograd.forward_ad")
    x = torch.tensor([0.5, 2.0], requires_grad=True)
    with pytest.raises(NotImplementedError, match="the derivative for .* is not implemented"):
        torch.igamma(x, x).sum().backward()
    with fwad.dual_level():
        dual = fwad.make_dual(x.detach(), torch.ones(2))
        with pytest.raises(
            NotImplementedError,
            match="Trying to use forward AD with igamma that does not support it because it has not been",
        ):
            torch.igamma(dual, dual)
        tangent = fwad.unpack_dual(torch.clamp(dual, max=torch.ones(2))).tangent  # what has a tangent has a derivative
        assert tangent.tolist() == [1, 0]


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is")
def test_a_tangent_comes_back_as_the_same_tensor(torch: Any) -> None:
    fwad = importlib.import_module(f"{torch.__name__}.autograd.forward_ad")
    x, t = torch.ones(2, 2), torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    with fwad.dual_level():
        assert fwad.unpack_dual(fwad.make_dual(x, t)).tangent is t
        assert fwad.unpack_dual(fwad.make_dual(x, t.T)).tangent is not t  # lies otherwise in memory: a copy
        dual = fwad.make_dual(x.clone(), t)
        tangent = fwad.unpack_dual((dual * 3).mul_(2)).tangent
        assert tangent is not t and torch.equal(tangent, 6 * t)
        (g,) = torch.autograd.grad(tangent.sum(), t)
        assert g.tolist() == [[6, 6], [6, 6]]
    assert fwad.unpack_dual(dual).tangent is None


def test_gradients_of_another_type(torch: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    assert x.grad_dtype is torch.float32
    x.grad_dtype = torch.float64
    (x * 2).sum().backward()
    assert x.grad.dtype is torch.float64
    with pytest.raises(RuntimeError, match="there is already a gradient with dtype 'double'"):
        x.grad_dtype = torch.float16
    with pytest.raises(RuntimeError, match="with dtype 'float' to a tensor with grad_dtype 'Double'"):
        x.grad = torch.ones(2)
    x.grad = None
    x.grad_dtype = None
    x.grad = torch.ones(2, dtype=torch.float16)
    with pytest.raises(RuntimeError, match="grad_dtype can only be accessed on leaf tensors"):
        (x * 2).grad_dtype  # noqa: B018


@pytest.mark.filterwarnings("ignore:Using backward")
@pytest.mark.parametrize("wanted", ["float32", "float16", "float64", None])
def test_leaves_take_in_gradients_of_the_type_they_ask_for(torch: Any, wanted: str | None) -> None:
    """Directly: what a Function gives in another type is not rounded to the leaf's own."""

    Wide = made(torch, lambda ctx, x: x * 2, lambda ctx, g: g.to(torch.float64) / 3)
    x = torch.ones(2, requires_grad=True)
    x.grad_dtype = None if wanted is None else getattr(torch, wanted)
    for create in (False, True):
        x.grad = None
        torch.set_warn_always(True)  # the warning that comes once in a process stays for who looks at it
        try:
            Wide.apply(x).sum().backward(create_graph=create)
        finally:
            torch.set_warn_always(False)
        assert x.grad.dtype is (torch.float64 if wanted is None else getattr(torch, wanted))
        assert x.grad.tolist() == torch.full((2,), 1 / 3, dtype=x.grad.dtype).tolist()
    x.grad = None


def test_sequence_numbers_can_be_renamed(torch: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    z = y.exp()
    y.grad_fn._set_sequence_nr(z.grad_fn._sequence_nr() + 5)
    assert y.grad_fn._sequence_nr() == z.grad_fn._sequence_nr() + 5
    z.sum().backward()
    torch.testing.assert_close(x.grad, 2 * torch.exp(torch.full((2,), 2.0)))


def test_saved_under_pytorchs_names(torch: Any) -> None:
    a, b = torch.rand(2, 3, requires_grad=True), torch.rand(3, 2, requires_grad=True)
    node = (a @ b).grad_fn
    assert node._saved_self is a and node._saved_mat2 is b
    indices = a[:, torch.tensor([0, 1])].grad_fn._saved_indices
    assert indices[0] is None and indices[1].tolist() == [0, 1]


def made(torch: Any, forward: Any, backward: Any) -> Any:
    """A custom Function."""
    return type(
        "Custom", (torch.autograd.Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    )


def custom(torch: Any, backward: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    return made(torch, forward, backward)


@pytest.mark.filterwarnings("ignore:Backwards compatibility")
def test_gradcheck_tries_undefined_gradients(torch: Any) -> None:
    def careful(ctx: Any, a: Any, b: Any) -> Any:
        return None if a is None and b is None else (0 if a is None else a * 2) + (0 if b is None else b * 3)

    def invents(ctx: Any, a: Any, b: Any) -> Any:
        return torch.ones(2, dtype=torch.float64) if a is None and b is None else careful(ctx, a, b)

    def refuses(ctx: Any, a: Any, b: Any) -> Any:
        if a is None or b is None:
            raise RuntimeError("no gradient")
        return careful(ctx, a, b)

    x = torch.ones(2, requires_grad=True, dtype=torch.float64)
    check = torch.autograd.gradcheck
    assert check(custom(torch, careful).apply, (x,))
    with pytest.raises(
        RuntimeError,
        match="Expected all input grads to be undefined or zero when all output grads are undefined or zero",
    ):
        check(custom(torch, invents).apply, (x,))
    assert check(custom(torch, invents).apply, (x,), check_undefined_grad=False)
    one = lambda x: custom(torch, refuses).apply(x)[0] + custom(torch, refuses).apply(x)[1]
    with pytest.raises(RuntimeError, match="no gradient|undefined output grads"):
        check(one, (x,))


def watching(torch: Any) -> tuple[list[str], Any]:
    """The names of the functions that a mode sees, and the mode."""
    seen: list[str] = []

    class Watch(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    return seen, Watch()


def test_operations_intercepted_under_their_public_names(torch: Any) -> None:
    seen, mode = watching(torch)

    x = torch.ones(2, 3)
    with mode:
        results = x.sum(), x.sum(0), torch.max(x), x[0], x.to(torch.float64), x.exp_()
    assert seen == ["sum", "sum", "max", "__getitem__", "to", "exp_"]
    assert [tuple(r.shape) for r in results] == [(), (3,), (), (3,), (2, 3), (2, 3)]


def test_functions_are_intercepted_whole(torch: Any) -> None:
    """Public functions made of others show themselves, not their parts: to modes and to classes, also out of
    modules.
    """
    seen, mode = watching(torch)

    class Named(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    F, layer, loss, pool = (
        torch.nn.functional,
        torch.nn.Linear(3, 2),
        torch.nn.CrossEntropyLoss(),
        torch.nn.AvgPool2d((1, 2)),
    )
    x, target = torch.arange(6.0).view(2, 3), torch.tensor([0, 2])

    def program(x: Any) -> Any:
        results = [
            F.cross_entropy(x, target),
            F.layer_norm(x, (3,)),
            torch.cov(x),
            x.reshape(3, 2),
            torch.where(x > 1, x, 0.0),
        ]
        results += [
            torch.outer(x[0], x[0]),
            torch.linalg.norm(x),
            torch.special.entr(x),
            torch.fft.rfft(x),
            layer(x),
            loss(x, target),
        ]
        results += [x.chunk(2)[0], torch.atleast_1d(x), pool(x.view(1, 2, 3))]
        return [r.tolist() for r in (*results, x.sum())], results

    names = [
        "cross_entropy",
        "layer_norm",
        "cov",
        "reshape",
        "gt",
        "where",
        "__getitem__",
        "__getitem__",
        "outer",
        "linalg_norm",
        "special_entr",
        "fft_rfft",
        "linear",
        "cross_entropy",
        "chunk",
        "atleast_1d",
        "view",
        "avg_pool2d",
        "sum",
    ]
    expected = program(x)[0]
    with mode:
        values = program(x)[0]
    assert [name for name in seen if name != "tolist"] == names and values == expected
    seen.clear()
    values, results = program(x.as_subclass(Named))
    assert [name for name in seen if name not in ("tolist", "dim")] == names and values == expected
    assert {type(r) for r in results} == {Named}
    assert all(pickle.loads(pickle.dumps(f)) is f for f in (F.gelu, F.cross_entropy, torch.outer, torch.special.entr))
    seen.clear()
    with mode:
        y = torch.ones(2, requires_grad=True)
        (torch.cat([y, torch.zeros_like(y)]) * 2).sum().backward()
        y.detach()[0] = 3
        torch.autograd.grad(y.exp(), y, torch.ones(2))
        torch.autograd.backward(y.exp(), torch.ones(2))
    assert seen == [
        "ones",
        "zeros_like",
        "cat",
        "mul",
        "sum",
        "backward",
        "detach",
        "__setitem__",
        "exp",
        "ones",
        "grad",
        "exp",
        "ones",
        "backward",
    ]


def test_what_grad_returns_can_be_written_into() -> None:
    """Its tensors do not share memory with each other, nor an element with another; a view of the seed is no copy, as
    in PyTorch.
    """
    x = pullback.arange(6.0).reshape(2, 3).requires_grad_()
    y = pullback.ones(3, requires_grad=True)
    functions = (
        lambda: x.t(),
        lambda: x.view(6),
        lambda: x.sum(),
        lambda: x.expand(2, 2, 3),
        lambda: x.t() * 2,
        lambda: x + y,
        lambda: x.sum(0),
    )
    for f in functions:
        out = f()
        seed = pullback.ones_like(out)
        leaves = [x, y] if out.grad_fn.name() == "AddBackward0" else [x]
        grads = pullback.autograd.grad(out, leaves, seed)
        before = [g.tolist() for g in grads]
        for g in grads:
            assert not any(np.shares_memory(g.numpy(), h.numpy()) for h in grads if h is not g)
            g.add_(pullback.arange(float(g.numel())).reshape(g.shape))
        for g, old in zip(grads, before):
            assert g.tolist() == (np.array(old) + np.arange(g.numel()).reshape(tuple(g.shape))).tolist()
    seed = pullback.ones(3, 2)
    assert np.shares_memory(pullback.autograd.grad(x.t(), x, seed)[0].numpy(), seed.numpy())
    (g,) = pullback.autograd.grad(x.t() * 2, x, seed)  # a view of memory of the backward pass's own is no copy
    assert g.numpy().base is not None


@pytest.mark.parametrize("name", ["max", "min", "median", "nanmedian"])
@pytest.mark.parametrize(
    "values", [[1.0, 3.0, 3.0, 2.0], [2.0] * 5, [1.0, math.nan, 3.0, math.nan], [3.0, 1.0, 1.0, 1.0, 5.0]]
)
def test_what_ties_for_the_result_of_a_full_reduction_shares_its_gradient(
    torch: Any, name: str, values: list[float]
) -> None:
    """NaN included: all that are NaN share it where NaN is the result."""
    x = torch.tensor(values, requires_grad=True)
    y = getattr(x, name)()
    y.backward(torch.tensor(6.0))
    ties = [v == y.item() or v != v and y.isnan().item() for v in values]
    assert x.grad.tolist() == pytest.approx([6 / sum(ties) if tie else 0.0 for tie in ties])


REAL_INTO_COMPLEX = {
    "mul": lambda _, x, z: x * z,
    "div": lambda _, x, z: z / x,
    "add": lambda _, x, z: x + z,
    "pow": lambda _, x, z: x**z,
    "complex": lambda torch, x, z: torch.complex(x, 2 * x) if not x.is_complex() else x + 2j * x,
    "to": lambda _, x, z: x.to(z.dtype).exp(),
    "fft": lambda torch, x, z: torch.fft.fft(x),
    "cat": lambda torch, x, z: torch.cat([x, z]),
}


@pytest.mark.parametrize("function", REAL_INTO_COMPLEX.values(), ids=REAL_INTO_COMPLEX)
def test_the_gradient_of_a_real_input_to_a_complex_operation_is_real(torch: Any, function: Callable) -> None:
    """It is the real part of what a complex input gets."""
    x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    as_complex = x.detach().to(torch.complex128).requires_grad_()
    z = torch.tensor([1 + 2j, 3 - 1j], dtype=torch.complex128)
    for leaf in (x, as_complex):
        y = function(torch, leaf, z)
        y.backward(torch.full_like(y, 2 + 1j))
    assert x.grad.dtype is torch.float64
    assert torch.allclose(x.grad, as_complex.grad.real)


def test_a_wrong_index_is_said_before_a_wrong_leaf(torch: Any) -> None:
    leaf = torch.ones(2, requires_grad=True)
    for index, words in ((5, "out of bounds for dimension 0 with size 2"), ((0, 0), "too many indices")):
        with pytest.raises(IndexError, match=words):
            leaf[index] = 1.0
    with pytest.raises(IndexError, match="invalid index of a 0-dim tensor"):
        torch.tensor(1.0, requires_grad=True)[0] = 2.0
    with pytest.raises(RuntimeError, match="^a leaf Variable that requires grad is being used in an in-place"):
        leaf[...] = 1.0


def test_gradients_that_are_zero_whatever_comes_in(torch: Any) -> None:
    """0 times infinity is not computed."""
    for f in (
        lambda x: x**0,
        lambda x: torch.div(x, 2, rounding_mode="floor"),
        lambda x: torch.div(x, 2, rounding_mode="trunc"),
        lambda x: torch.bernoulli(x),
        lambda x: torch.normal(x, 1.0),
    ):
        x = torch.full((2,), 0.5, requires_grad=True)
        f(x).backward(torch.tensor([math.inf, math.nan]))
        assert x.grad.tolist() == [0, 0]
    x, seen = torch.tensor(-1.0, requires_grad=True), []
    y = x.relu()
    y.register_hook(lambda g: seen.append(g.item()))
    (g,) = torch.autograd.grad(y.sin(), x, create_graph=True)
    g.backward(torch.tensor(math.nan))
    assert seen == [1, 0]


def test_a_retained_gradient_forgets_how_an_earlier_one_came_about(torch: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.retain_grad()
    torch.autograd.grad(y.sum(), x, create_graph=True)
    before = y.grad
    y.sum().backward()
    assert y.grad.tolist() == [2, 2] and y.grad is not before and not y.grad.requires_grad


def test_slices_added_have_as_many_dimensions(torch: Any) -> None:
    at, words = torch.tensor([0]), "source tensor shape must match self tensor shape"
    for into, source in ((torch.zeros(()), torch.ones(1)), (torch.zeros(1), torch.ones(()))):
        with pytest.raises(RuntimeError, match=words):
            into.index_add_(0, at, source)
        with pytest.raises(RuntimeError, match=words):
            torch.index_reduce(into, 0, at, source, "amax")
    assert torch.zeros(()).index_copy_(0, at, torch.ones(1)).item() == 1


def test_logspace_of_integers_lies_between_whole_powers(torch: Any) -> None:
    assert torch.logspace(0, 2.4, 5, dtype=torch.int32).tolist() == [1, 3, 10, 31, 100]
    assert torch.logspace(0.5, 1.5, 3, dtype=torch.int64).tolist() == [1, 3, 10]


@pytest.mark.parametrize("points", [1, 3000])  # so many are looked up by kernels
@pytest.mark.parametrize(
    ("mode", "padding_mode", "value"),
    [
        ("bilinear", "zeros", math.nan),
        ("bicubic", "zeros", math.nan),
        ("bilinear", "border", 1.5),
        ("bilinear", "reflection", 1.5),
        ("bicubic", "border", math.nan),
        ("nearest", "border", 1),
    ],
)
def test_what_is_sampled_at_nan(torch: Any, points: int, mode: str, padding_mode: str, value: float) -> None:
    """NaN, unless padding moves the point to the first pixel."""
    grid = torch.zeros(1, points, 1, 2)
    grid[0, 0, 0] = torch.tensor([0.0, math.nan])
    image = torch.tensor([[[[1.0, 2], [3, 4]]]])
    sampled = torch.nn.functional.grid_sample(image, grid, mode, padding_mode, False).flatten()
    assert sampled[0].item() == pytest.approx(value, nan_ok=True) and not sampled[1:].isnan().any()


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_distinct_elements_with_nan_among_them(torch: Any, dtype: str) -> None:
    x = torch.tensor([3.0, math.nan, 1.0, 3.0, math.nan, 1.0]).to(getattr(torch, dtype))
    values, inverse, counts = torch.unique(x, return_inverse=True, return_counts=True)
    assert values[:2].tolist() == [1, 3] and values[2:].isnan().all() and counts.tolist() == [2, 2, 1, 1]
    assert inverse[[0, 2, 3, 5]].tolist() == [1, 0, 1, 0]
