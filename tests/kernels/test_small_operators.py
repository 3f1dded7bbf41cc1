"""Compiled operators and results are those that Python makes, and no reference leaks."""

from __future__ import annotations

import contextlib
import functools
import gc
import itertools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback import nn
from pullback.base import thread_state
from pullback.core import graph, record, views
from pullback.core.op import REGISTRY, Op
from pullback.core.tensor import PLAIN_TENSOR_TYPES, Tensor
from pullback.engine import install_native
from pullback.ops import reduce

pytest.importorskip("pullback.kernels.codegen.jit", exc_type=ImportError)

from pullback.kernels.eager import cpython_objects, small_operators  # noqa: E402

RECORDING = cpython_objects.Recording(
    Tensor, graph.Node, graph.clock, graph.USER_FILES, graph.PACKAGE_FILES, graph.note_user_line
)
GIVEN = RECORDING, PLAIN_TENSOR_TYPES, graph.LEAF, thread_state, views.mark_unrecorded
OPERATORS = {
    name: small_operators.method(name, op, reflected, install_native.EXPONENTS.get(op, ()), *GIVEN)
    for name, (op, reflected) in install_native.OPERATORS.items()
}
recorded, bare = RECORDING.with_node(), RECORDING.bare()


def pythons(name: str) -> Callable:
    """The operator in Python."""
    op, reflected = install_native.OPERATORS[name]
    return op.reflected if reflected else op.operator


def described(t: Any) -> Any:
    """All there is to a result."""
    node = t._fn
    kept = (
        None
        if node is None
        else [s if s is None or isinstance(s, (float, int)) else (s.tolist(), s.dtype, s.shape) for s in node._saved]
    )
    graph_of = (
        None if node is None else (type(node), node._edges, kept, node._shape, node._dtype, node._hooks, node.location)
    )
    return type(t), t._array.tolist(), t._array.dtype, t._array.shape, t._view, t._grad, t._hooks, graph_of


def operands() -> dict[str, Any]:
    leaf = torch.tensor([[1.0, -2.0], [0.5, 3.0]], requires_grad=True)
    plain = torch.tensor([[2.0, 0.0], [-1.0, float("inf")]])
    return {
        "leaf": leaf,
        "plain": plain,
        "result": leaf.exp(),
        "parameter": nn.Parameter(plain.clone()),
        "view": leaf.exp().t(),
        "row": torch.tensor([1.0, 2.0]),
        "double": plain.double(),
        "one": torch.tensor(2.0, requires_grad=True),
        "many": torch.arange(1500.0).reshape(2, 750, 1).requires_grad_(),
        "empty": torch.ones(0, 2, requires_grad=True),
        "double leaf": plain.double().requires_grad_(),
        "integers": torch.tensor([[1, 2], [3, 4]]),
        "complex": plain + 1j,
        "gaps": torch.ones(2, 4)[:, ::2].clone(memory_format=torch.preserve_format),
        "float": 2.5,
        "int": -3,
        "two": 2,
        "three": 3.0,
        "huge": 1e300,
        "beyond": 2**70,
        "bool": True,
        "array": np.ones((2, 2), np.float32),
        "scalar": np.float64(2.0),
    }


@contextlib.contextmanager
def inside_a_function() -> Iterator[None]:
    """As in the forward of a custom Function."""
    with torch.no_grad():
        thread_state.local.made = views.INSIDE_FUNCTION
        yield
        thread_state.local.made = None


@pytest.mark.parametrize("where", [contextlib.nullcontext, torch.no_grad, torch.inference_mode, inside_a_function])
@pytest.mark.parametrize("name", install_native.OPERATORS)
def test_an_operator_gives_what_it_gives_in_python(name: str, where: Any) -> None:
    fast, slow, given = OPERATORS[name], pythons(name), operands()
    with where():
        _compare(name, fast, slow, given)


def _compare(name: str, fast: Callable, slow: Callable, given: dict[str, Any]) -> None:
    met = 0
    for (a, x), (b, y) in itertools.product(given.items(), given.items()):
        if not isinstance(x, Tensor):
            continue
        outcomes = []
        for fn in (fast, slow):
            try:
                r = fn(x, y)
            except Exception as error:
                r = error
            outcomes.append(
                (type(r), str(r)) if isinstance(r, Exception) else r if r is NotImplemented else described(r)
            )
        got, expected = outcomes
        np.testing.assert_equal(str(got), str(expected), f"{a} {name} {b}")
        met += 1
    assert met == 14 * 23


def test_what_is_unusual_is_left_to_python() -> None:
    mul = OPERATORS["__mul__"]
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        assert mul(x, x)._fn is None
    with torch.inference_mode():
        assert mul(x, x).is_inference()
    assert mul(x, object()) is NotImplemented

    class Loud(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return "heard"

    assert mul(x, torch.ones(2).as_subclass(Loud)) == "heard"
    assert torch.func.vmap(lambda v: mul(v, v))(torch.arange(3.0)).tolist() == [0, 1, 4]
    with pytest.raises(TypeError):
        mul(x)
    with pytest.raises(TypeError):
        mul(1.0, x)


def test_derivatives_through_operators() -> None:
    x = torch.tensor([1.5, 2.0], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([0.5, -3.0], dtype=torch.float64, requires_grad=True)

    def f(x: Any, y: Any) -> Any:
        add, sub, mul, div = (OPERATORS[name] for name in ("__add__", "__sub__", "__mul__", "__truediv__"))
        return div(mul(add(x, y), sub(x, 2.5)), mul(y, y))

    assert torch.autograd.gradcheck(f, (x, y)) and torch.autograd.gradgradcheck(f, (x, y))


@pytest.mark.parametrize("op", install_native.RULES, ids=lambda op: op.name)
def test_a_rule_gives_numpys_results_to_the_bit(op: Op) -> None:
    exponents = install_native.EXPONENTS.get(op, ())
    values = np.array([0.0, -0.0, 1.5, -2.25, np.inf, -np.inf, np.nan, 1e-40, 3e38])
    rng = np.random.default_rng(0)
    taken = 0
    for i, param in enumerate(op.tensors):
        rule = op.rules.get(op.params[param])
        if rule is None:
            continue
        plain, fast = op.bind_rule(rule, i), small_operators.rule(op, i, exponents)
        taken += fast.__class__ is type(len)
        for shape in [(), (0, 3), (5,), (16,), (3, 11), (7, 3, 5), (1030,)]:
            for dtype in (np.float32, np.float64, np.float16, np.complex64):
                with np.errstate(all="ignore"):
                    g, *saved = (
                        np.asarray(rng.choice(values, shape)).astype(dtype) for _ in range(1 + len(op.saved_spec))
                    )
                    for kept in (
                        tuple(saved),
                        (2.5,) * len(saved),
                        (3,) * len(saved),
                        tuple([s[::-1] if s.ndim else s for s in saved]),
                    ):
                        ours, numpys = (np.asarray(f(g, kept)) for f in (fast, plain))
                        assert ours.dtype == numpys.dtype and ours.shape == numpys.shape
                        np.testing.assert_array_equal(ours, numpys, f"{op.name} {param} {shape} {dtype}", strict=True)
                        assert (np.signbit(ours.real) == np.signbit(numpys.real))[ours == ours].all()
                    if g.size:
                        one = np.broadcast_to(g.reshape(-1)[0], shape)
                        np.testing.assert_array_equal(fast(one, saved), plain(one, saved), strict=True)
    assert taken


def test_rows_are_summed_and_added_to_as_numpy_does_to_the_bit() -> None:
    sum_rows = small_operators.sum_rows(lambda x: np.asarray(np.add.reduce(x, 0)))
    add_row = small_operators.add_row(lambda x, row: np.add(x, row, x))
    rng = np.random.default_rng(0)
    values = np.array([0.0, -0.0, 1.5, -2.25, 1e-7, 3e38, np.inf, np.nan])
    for shape in [
        (1, 1),
        (3, 1),
        (7, 1),
        (8, 1),
        (50, 1),
        (1, 5),
        (8, 32),
        (3, 17),
        (60, 16),
        (0, 4),
        (4, 0),
        (40, 40),
        (3,),
        (2, 3, 4),
    ]:
        for dtype in (np.float32, np.float64, np.complex64, np.int64):
            for x in (
                rng.normal(size=shape).astype(dtype),
                rng.choice(values[:5] if dtype is np.int64 else values, shape).astype(dtype),
            ):
                with np.errstate(all="ignore"):
                    for each in (x, x[::-1], np.asfortranarray(x)):
                        np.testing.assert_array_equal(sum_rows(each), np.add.reduce(each, 0), strict=True)
                    row = rng.normal(size=shape[-1:]).astype(dtype)
                    out = x.copy()
                    assert add_row(out, row) is out
                np.testing.assert_array_equal(out, x + row, strict=True)
    with pytest.raises(ValueError, match="broadcast"):
        add_row(np.ones((2, 3)), np.ones(2))


def test_a_line_of_the_users() -> None:
    x = torch.ones(2, requires_grad=True)
    line = sys._getframe().f_lineno + 1
    y = OPERATORS["__mul__"](x, x)
    assert y.grad_fn.location == (__file__, line)


@pytest.mark.parametrize("depth", [0, 1, 30, 90])
def test_a_line_of_the_users_from_deep_inside(depth: int) -> None:
    code = """def call(depth, record):
    return call(depth - 1, record) if depth else record(frame())"""
    inside: dict[str, Any] = {"frame": sys._getframe}
    exec(compile(code, record.__file__, "exec"), inside)  # as if it were the package's
    node_type = type((torch.ones(2, requires_grad=True) * 2)._fn)
    line = sys._getframe().f_lineno + 1
    made = inside["call"](depth, functools.partial(recorded, np.ones(2), node_type, (None,), ()))
    assert made.grad_fn.location == (__file__, line)


def held(make: Callable[[], Any], *watched: Any) -> list[int]:
    """By how much reference counts change while 100 results are made and dropped."""
    make()
    gc.collect()
    counts = [list(map(sys.getrefcount, watched))]
    for _ in range(100):
        make()
    gc.collect()
    counts.append(list(map(sys.getrefcount, watched)))
    return [after - before for before, after in zip(*counts)]


def test_references_are_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "_count", -float("inf"))  # nothing is loaded on the way
    x, y = torch.ones(3, requires_grad=True), torch.ones(3)
    dtype, node_type, array, number = np.dtype(np.float32), type((x * y)._fn), y._array, 1234.5
    frame = sys._getframe()
    rule, saved = small_operators.rule(REGISTRY["mul"], 0), (array, array)
    makes = [
        lambda: [rule(array, kept) for kept in (saved, (1.5, 1.5), (array.T, 2))],
        lambda: [fn(a, b) for fn in OPERATORS.values() for a in (x, y) for b in (x, y, number)],
        lambda: recorded(array, node_type, (x, None), (array, None, None), frame),
        lambda: bare(array),
    ]
    watched = (x, y, x._array, array, dtype, node_type, number, graph.LEAF, Tensor, frame.f_code, __file__)
    for make in makes:
        assert held(make, *watched) == [0] * len(watched)
        assert abs(held(make, None)[0]) < 50  # others count it, too


def test_python_and_machine_code_make_the_same() -> None:
    x, frame = torch.ones(3, requires_grad=True), sys._getframe()
    node_type = type((x * x)._fn)
    saved = x._array, x._array, None
    ours, pythons = (f(x._array + 1, node_type, (x, x), saved, frame) for f in (recorded, record.with_node_in_python))
    first, second = described(ours), described(pythons)
    assert str(first) == str(second) and ours._fn._edges[0] is x and pythons._fn._seq == ours._fn._seq + 1
    assert str(described(bare(x._array))) == str(described(torch.ones(3)))


def loaded(text: str) -> str:
    """What a program prints that has machine code from the first operation on."""
    program = (
        "import pullback as torch\nfrom pullback.core import record\nx = torch.ones(2, requires_grad=True)\n" + text
    )
    environment = {**os.environ, "PULLBACK_KERNELS": "always"}
    ran = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


def test_it_takes_over() -> None:
    kinds = loaded("x.exp(); print(type(torch.Tensor.__mul__).__name__, type(record.with_node).__name__)")
    assert kinds == "method_descriptor builtin_function_or_method"


def test_an_operator_that_the_user_replaced_stays() -> None:
    assert loaded("torch.Tensor.__mul__ = lambda a, b: 'mine'; x.exp(); print(x * x)") == "mine"


def test_a_new_rule_is_followed() -> None:
    text = "x.exp(); torch.mul.vjp(input=lambda g, out: g * out * 2, other=lambda g: g); (x * 3.0).sum().backward(); print(x.grad.tolist())"  # noqa: E501
    assert loaded(text) == "[6.0, 6.0]"


def test_where_it_cannot_be_had_python_goes_on() -> None:
    text = "import sys; sys.modules['pullback.kernels.eager.cpython_objects'] = None; y = (x * 3).exp(); print(type(torch.Tensor.__mul__).__name__)"  # noqa: E501
    assert loaded(text) == "function"


def test_totals_are_numpys_to_the_bit() -> None:
    taken: list[Any] = []
    total = small_operators.sum_all(lambda t: taken.append(t) or reduce.sum_all(t), reduce.SumNode, *GIVEN)
    rng = np.random.default_rng(0)
    values = np.array([0.0, -0.0, 1.5, -2.25, 1e-7, 3e38, np.inf, -np.inf, np.nan])
    for shape in [(), (0,), (3, 0), (1,), (7,), (8,), (9,), (3, 5), (4, 2, 4), (127,), (2, 64), (129,), (40, 40)]:
        for dtype in (np.float32, np.float64):
            for x in (
                rng.normal(size=shape) * 10.0 ** rng.integers(-5, 5, shape),
                rng.choice(values, shape),
                np.full(shape, -0.0),
            ):
                x = np.asarray(x, dtype)
                taken.clear()
                with np.errstate(all="ignore"):
                    ours, numpys = total(torch.from_numpy(x)), np.asarray(np.add.reduce(x, None))
                np.testing.assert_array_equal(ours.numpy(), numpys, strict=True)
                assert np.signbit(ours.numpy()) == np.signbit(numpys) or np.isnan(numpys)
                assert bool(taken) == (x.size > 128)
    for other in (
        torch.ones(3, 4).t(),
        torch.ones(4)[1:],
        torch.ones(3, dtype=torch.int64),
        torch.nn.Parameter(torch.ones(3)),
    ):
        assert total(other).item() == other.numel()


def test_a_total_is_recorded_and_pulled_back() -> None:
    total = small_operators.sum_all(reduce.sum_all, reduce.SumNode, *GIVEN)
    x = torch.tensor([[1.0, 2.0, 3.0]], requires_grad=True)
    line = sys._getframe().f_lineno + 1
    y = total(x)
    assert (
        y.grad_fn.name() == "SumBackward0"
        and y.grad_fn.location == (__file__, line)
        and y.grad_fn.next_functions[0][0].variable is x
    )
    with torch.no_grad():
        assert total(x).grad_fn is None
    assert held(lambda: total(x), x, x._array, x._array.dtype, type(y._fn)) == [0] * 4


def test_what_came_in_is_spread_over_the_shape_saved() -> None:
    op = REGISTRY["sum_all"]
    plain = op.bind_rule(op.rules["input"], 0)
    spread = small_operators.expand_sum(plain)
    for dtype in (np.float32, np.float64, np.int64, np.complex64):
        for shape in [(), (0,), (5,), (3, 7), (2, 1, 9), (40, 40), (1,) * 20]:
            for g in (np.asarray(2.5, dtype), np.arange(6).astype(dtype)[3:4].reshape(())):
                g.flags.writeable = shape != (5,)
                ours, pythons = spread(g, (shape,)), plain(g, (shape,))
                np.testing.assert_array_equal(ours, np.full(shape, g), strict=True)
                assert (ours.strides, str(ours.flags)) == (pythons.strides, str(pythons.flags)) and np.shares_memory(
                    ours, g
                ) == (ours.size > 0)
    g, saved = np.asarray(1.5, np.float32), ((2, 3),)
    assert held(lambda: spread(g, saved), g, saved, saved[0], g.dtype) == [0, 0, 0, 0]
