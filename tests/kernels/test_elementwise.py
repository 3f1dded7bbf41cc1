"""Every elementwise operation and rule that has a kernel gives in it what NumPy gives, in any layout and type."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import pullback as torch
from pullback import kernels
from pullback.core.op import REGISTRY
from pullback.engine import graph_task

pytest.importorskip("pullback.kernels.codegen.jit", exc_type=ImportError)

from pullback.kernels.codegen import elementwise, scalar  # noqa: E402

from . import using  # noqa: E402

FLOATS = (np.float32, np.float64)
OPS = sorted(name for name, op in REGISTRY.items() if op.kind == "elementwise")


def values(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> np.ndarray:
    """Numbers in (0.05, 0.95), where most functions are defined."""
    return np.random.default_rng(seed).uniform(0.05, 0.95, shape).astype(dtype)


def expression(function: Any, count: int) -> Any:
    return scalar.trace_scalar(function, [scalar.Scalar.argument(i, elementwise.F64) for i in range(count)])


def forward(name: str) -> Any:
    return scalar.form_of(REGISTRY[name])


TRACED = [
    name
    for name in OPS
    if expression(forward(name), len(REGISTRY[name].tensors)) is not None
    and len(REGISTRY[name].tensors) == len(REGISTRY[name].params)
]


def test_forms_on_scalars_are_those_that_operations_name() -> None:
    assert {op.scalar for op in REGISTRY.values()} - {""} == scalar.FORMS.keys()


def test_most_operations_have_kernels() -> None:
    """What is made of functions that kernels know does."""
    assert {
        "add",
        "sigmoid",
        "gelu",
        "gelu_tanh",
        "silu",
        "mish",
        "softplus",
        "log_sigmoid",
        "leaky_relu",
        "relu",
        "erf",
        "sin",
        "where",
    } <= {*TRACED, *(n for n in OPS if REGISTRY[n].name in ("softplus", "where"))}
    assert len(TRACED) > 40


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", TRACED)
def test_forward(name: str, dtype: Any) -> None:
    op = REGISTRY[name]
    arrays = [values((3, 37), dtype, i) for i in range(len(op.tensors))]
    if name == "where":
        arrays[0] = arrays[0] > 0.5
    with using("off"):
        expected = op.raw(*arrays)
    kernel = elementwise.Kernels("test_" + name, [forward(name)], refused, even_plain=True)
    try:
        got = kernel(*arrays)
    except NoKernel:
        assert expression(forward(name), len(arrays)).op == "argument"  # there was nothing to compute
        return
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=40 * np.finfo(dtype).eps, atol=4 * np.finfo(dtype).eps)


class NoKernel(Exception):
    pass


def refused(*values: Any) -> Any:
    raise NoKernel


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", OPS)
def test_rules(name: str, dtype: Any) -> None:
    """Each derivative rule as a kernel agrees with the rule on arrays."""
    op = REGISTRY[name]
    shape = (5, 29)
    saved = {n: values(shape, dtype, i) for i, n in enumerate((*op.params, "out"))}
    g = values(shape, dtype, 99)
    for param, rule in op.rules.items():
        asked = rule.__code__.co_varnames[1 : rule.__code__.co_argcount]
        if any(n not in saved for n in asked):
            continue
        if name == "where":
            saved["condition"] = values(shape, dtype) > 0.5
        arguments = [saved[n] for n in asked]
        try:
            got = elementwise.Kernels(f"test_{name}_{param}", [rule], refused, even_plain=True)(g, *arguments)
        except NoKernel:
            continue
        with using("off"), np.errstate(all="ignore"):
            expected = np.broadcast_to(np.asarray(rule(g, *arguments), dtype), shape)
        np.testing.assert_allclose(
            got, expected, rtol=100 * np.finfo(dtype).eps, atol=20 * np.finfo(dtype).eps, err_msg=param
        )


def layouts(a: np.ndarray) -> dict[str, np.ndarray]:
    """The same numbers and others, laid out in all ways."""
    return {
        "contiguous": a,
        "transposed": a.transpose(2, 0, 1),
        "every second": a[:, ::2],
        "last every second": a[..., ::2],
        "backwards": a[::-1],
        "broadcast": np.broadcast_to(a[:1, :, :1], a.shape),
        "fortran": np.asfortranarray(a),
        "one": a[:1, :1, :1],
        "column": a[:, :, :1],
        "row": a[:1, :1],
        "swapped": np.swapaxes(a, 0, 1),
        "0-d": a[0, 0, 0].reshape(()),
        "one element": a[:1, :1, :1].ravel(),
    }


@pytest.mark.parametrize("dtype", FLOATS)
def test_layouts(dtype: Any) -> None:
    """Pairs of layouts, where they broadcast, multiply as in NumPy, whose memory order the result has."""
    multiply = elementwise.Kernels("test_mul", [np.multiply], np.multiply, even_plain=True)
    a, b = values((6, 19, 21), dtype), values((6, 19, 21), dtype, 1)
    pairs = 0
    for x in layouts(a).values():
        for y in layouts(b).values():
            try:
                expected = np.multiply(x, y)
            except ValueError:
                continue
            got = multiply(x, y)
            assert got.dtype == expected.dtype and got.shape == expected.shape
            np.testing.assert_array_equal(got, expected)
            pairs += 1
        np.testing.assert_array_equal(multiply(x, 2.5), x * x.dtype.type(2.5))
    assert pairs > 60


def test_long_rows() -> None:
    """Rows longer than a segment, and more of them than threads have chunks."""
    add = elementwise.Kernels("test_add", [np.add], refused, even_plain=True)
    x, y = values((3, 2 * elementwise.SEGMENT + 5), np.float32), values((3, 1), np.float32, 1)
    np.testing.assert_array_equal(add(x, y), x + y)
    x = values((4000, 3), np.float32)
    np.testing.assert_array_equal(add(x.T, y), x.T + y)


@pytest.mark.parametrize("half", (np.float16, ml_dtypes.bfloat16))
def test_half_precision_is_rounded_once(half: Any) -> None:
    """Computed in float32, rounded to the nearest, ties to even; NaN and infinities stay."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.standard_normal(1000) * 100, [np.nan, np.inf, -np.inf, 0, 6e4, 1e-7]]).astype(half)
    y = np.roll(x, 1)
    function = lambda a, b: a * b + a  # noqa: E731
    with np.errstate(all="ignore"):
        expected = function(x.astype(np.float32), y.astype(np.float32)).astype(half)
    kernel = elementwise.Kernels("test_half", [function], refused, even_plain=True)
    for a, b in ((x, y), (x[::2], y[::2])):
        got = kernel(a, b)
        assert got.dtype == expected.dtype
        want = expected if a is x else expected[::2]
        np.testing.assert_array_equal(got.astype(np.float32), want.astype(np.float32))


def test_bools_come_and_go() -> None:
    x = values((70,), np.float32)
    greater = elementwise.Kernels("test_gt", [lambda x, y: (x > y) | (x != x)], refused, even_plain=True)
    got = greater(x, x[::-1].copy())
    assert got.dtype == np.bool_
    np.testing.assert_array_equal(got, x > x[::-1])
    choose = elementwise.Kernels("test_where", [scalar.where], refused, even_plain=True)
    np.testing.assert_array_equal(choose(got, x, x[::-1].copy()), np.where(got, x, x[::-1]))


def test_what_can_not_be_followed_is_left_to_numpy() -> None:
    """Decisions on values, shapes, complex numbers and integers."""
    x = values((70,), np.float64)
    for function in (lambda x: x if x.sum() > 0 else -x, lambda x: x.reshape(7, 10), lambda x: x * 1j, np.sort):
        assert scalar.trace_scalar(function, [scalar.Scalar.argument(0, elementwise.F64)]) is None
        got = elementwise.Kernels("test_none", [function], function)(x)
        np.testing.assert_array_equal(got, function(x))
    add = elementwise.Kernels("test_int", [np.add], np.add, even_plain=True)
    np.testing.assert_array_equal(add(np.arange(70), 2), np.arange(70) + 2)
    with pytest.raises(ValueError, match="broadcast"):
        add(values((3,), np.float32), values((4,), np.float32))


def test_numbers_are_arguments_unless_they_decide() -> None:
    """A kernel serves every number; one whose formula depends on it is made anew, not for ever."""
    x = values((70,), np.float32)
    scale = elementwise.Kernels("test_scale", [np.multiply], refused, even_plain=True)
    for k in range(100):
        np.testing.assert_array_equal(scale(x, float(k)), x * np.float32(k))
    assert len(scale._flat) == 1
    choose = lambda x, k: x * k if k > 3 else x + k  # noqa: E731
    baked = elementwise.Kernels("test_baked", [choose], choose)
    for k in range(40):
        np.testing.assert_array_equal(baked(x, k), choose(x, k))
    assert baked._specializations == elementwise.MOST_SPECIALIZED


@pytest.mark.parametrize("mode", ("always", "off"))
def test_a_chain_through_autograd(mode: str) -> None:
    """The gradients of a chain of functions, of a broadcast operand too, both ways."""
    with using(mode):
        x = torch.linspace(-2, 2, 900, dtype=torch.float64).reshape(30, 30).requires_grad_()
        b = torch.linspace(0.5, 1, 30, dtype=torch.float64).requires_grad_()
        f = lambda x, b: (torch.nn.functional.gelu(x * b) + torch.sigmoid(x) ** 2 / (1 + torch.relu(x))).tanh().sum()  # noqa: E731
        assert torch.autograd.gradcheck(f, (x[:3, :5].detach().requires_grad_(), b[:5].detach().requires_grad_()))
        f(x, b).backward()
        assert x.grad.shape == x.shape and b.grad.shape == b.shape
    if kernels.MODE == "off":
        return
    with using("off"):
        y, c = x.detach().requires_grad_(), b.detach().requires_grad_()
        f(y, c).backward()
    np.testing.assert_allclose(x.grad.numpy(), y.grad.numpy(), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(b.grad.numpy(), c.grad.numpy(), rtol=1e-12, atol=1e-14)


@pytest.mark.skipif(kernels.MODE == "off", reason="there are no kernels")
def test_what_is_one_loop_of_numpys_is_a_kernel_where_threads_can_share_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    real = elementwise.Kernels.__call__
    monkeypatch.setattr(
        elementwise.Kernels, "__call__", lambda self, *values: asked.append(self.name) or real(self, *values)
    )
    small, large = torch.rand(100), torch.rand(kernels.SHARED)
    for x in (small, large):
        for y, expected in ((x + x, np.add(x, x)), (x / 3.0, np.divide(x, np.float32(3))), (x.sin(), np.sin(x))):
            np.testing.assert_allclose(np.asarray(y), expected, rtol=1e-6)
    assert asked == ["add", "div", "sin"]


def test_the_same_bits_below_hooks_and_layers() -> None:
    """What takes the slow way through a call uses the kernels that the usual way does."""
    x = torch.linspace(-9, 9, kernels.SHARED + 1).requires_grad_()
    y = x.exp()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        hooked = x.exp()
    checkpointed = torch.utils.checkpoint.checkpoint(torch.exp, x, use_reentrant=False)
    (expected,) = torch.autograd.grad(y, x, y.detach())
    for other in (hooked, checkpointed):
        assert torch.equal(other, y) and torch.equal(torch.autograd.grad(other, x, other.detach())[0], expected)


@pytest.mark.skipif(kernels.MODE == "off", reason="there are no kernels")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gradients_that_meet_are_added_by_the_kernel_that_pulls_the_second_back(
    dtype: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the bit what adding afterwards gives; broadcast operands and what no kernel computes go the other way."""
    rng = np.random.default_rng(0)
    a, b, row = (rng.standard_normal(s).astype(dtype) for s in ((40, 50), (40, 50), (50,)))

    def gradients() -> list[np.ndarray]:
        x, y, z = (torch.from_numpy(v.copy()).requires_grad_() for v in (a, b, row))
        u = x * y
        out = u.sin() * z + (u / y.exp()).sigmoid() * x - u.pow(2.0) * y + x.cumsum(0)
        out.backward(torch.from_numpy(b))
        return [np.asarray(v.grad) for v in (x, y, z)]

    asked: list[str] = []
    real = elementwise.Kernels.__call__
    monkeypatch.setattr(
        elementwise.Kernels, "__call__", lambda self, *values: asked.append(self.name) or real(self, *values)
    )
    found = gradients()
    assert any(name.endswith("_onto") for name in asked)
    monkeypatch.setattr(graph_task, "accumulate_in_kernels", lambda node, g, edges, *rest: edges)
    for x, y in zip(found, gradients(), strict=True):
        np.testing.assert_array_equal(x, y)


def test_numbers_built_into_a_kernel_are_told_apart() -> None:
    """0 and -0 are equal, and so are 1 and True: a kernel with the one is none with the other."""
    x = torch.full((20_000,), -5.0)
    for number in (0.0, -0.0, 0.0):
        assert np.signbit(np.asarray(torch.clamp(x, number, None))).all() == np.signbit(number)
    for _ in range(2 * elementwise.MOST_SPECIALIZED):
        assert torch.clamp(x, float("nan"), None).isnan().all()


def test_small_arrays_with_gaps_and_numbers() -> None:
    """The plan of rows is kept, the numbers are not; the order of memory is that of the operand."""
    whole = np.random.default_rng(0).standard_normal((4, 6, 16)).astype(np.float32)
    x = torch.from_numpy(abs(whole)).bfloat16()
    for part in (x[..., ::2], x[:, 0, ::2].t(), x.transpose(1, 2)[::2], x[:1].expand(2, 6, 16)):
        for number in (2.0, 0.5, 2.0):
            expected = (part.float() * number).bfloat16()
            assert torch.equal(part * number, expected) and (part * number).stride() == expected.stride()
        row = part[0] + part
        assert torch.equal(row, (part[0].float() + part.float()).bfloat16())
        assert torch.equal(torch.exp(part), torch.exp(part.contiguous()))
        assert torch.exp(part).stride() == torch.exp(part.float()).stride()
        for turned in (part[0], part[0].t()):  # of what has no kernel, by way of float32
            assert torch.equal(torch.xlogy(turned, turned), torch.xlogy(turned.float(), turned.float()).bfloat16())
            assert torch.equal(torch.i0(turned), torch.i0(turned.float()).bfloat16())
