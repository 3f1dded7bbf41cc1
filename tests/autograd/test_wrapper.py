"""Wrapper subclasses: tensors whose class computes. The graph, its derivatives, writing, and what is refused."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest


@pytest.fixture
def wrapping(torch: Any) -> Any:
    """A class of wrappers; it notes in ``asked`` what it is asked to compute."""
    tree_map = importlib.import_module(f"{torch.__name__}.utils._pytree").tree_map

    class Wrapping(torch.Tensor):
        asked: list[str] = []

        @staticmethod
        def __new__(cls: type, inner: Any, requires_grad: bool = False) -> Any:
            self = torch.Tensor._make_wrapper_subclass(
                cls, inner.size(), strides=inner.stride(), dtype=inner.dtype, requires_grad=requires_grad
            )
            self.inner = inner
            return self

        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            assert types and all(issubclass(t, cls) for t in types)
            cls.asked.append(func.overloadpacket.__name__)
            inner = tree_map(lambda a: a.inner if isinstance(a, cls) else a, args)
            return tree_map(lambda r: cls(r) if isinstance(r, torch.Tensor) else r, func(*inner, **(kwargs or {})))

    return Wrapping


def test_the_class_computes_and_autograd_records(torch: Any, wrapping: Any) -> None:
    x = wrapping(torch.tensor([0.0, 1.0, 2.0]), requires_grad=True)
    y = x * 2 + x.sin()
    assert type(y) is wrapping and y.requires_grad and y.grad_fn.name() == "AddBackward0" and not y.inner.requires_grad
    assert [n for n in wrapping.asked if n in ("mul", "sin", "add")] == ["mul", "sin", "add"]
    (y * y).sum().backward()
    assert type(x.grad) is wrapping
    expected = 2 * (2 * x.inner + x.inner.sin()) * (2 + x.inner.cos())
    assert torch.allclose(x.grad.inner, expected)


def test_its_answer_counts(torch: Any) -> None:
    class Doubling(torch.Tensor):
        @staticmethod
        def __new__(cls: type, inner: Any) -> Any:
            self = torch.Tensor._make_wrapper_subclass(
                cls, inner.size(), dtype=inner.dtype, requires_grad=inner.requires_grad
            )
            self.inner = inner.detach()
            return self

        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = func(*[a.inner if isinstance(a, cls) else a for a in args], **(kwargs or {}))
            return cls(2 * result if func is torch.ops.aten.sin.default else result)

    x = Doubling(torch.tensor([1.0]).requires_grad_())
    y = x.sin()
    y.backward(torch.ones(1))
    assert y.inner.item() == pytest.approx(2 * np.sin(1)) and x.grad.inner.item() == pytest.approx(np.cos(1))


def test_results_of_every_kind(torch: Any, wrapping: Any) -> None:
    x = wrapping(torch.arange(6.0).reshape(2, 3))
    for result in (
        x + torch.ones(3),
        torch.ones(3) + x,
        2 - x,
        x @ torch.ones(3, 1),
        x[0, 1:],
        x.t(),
        x.double(),
        torch.cat([x, x]),
        torch.stack([x, x]),
        *x.split(1),
        *x.max(0),
        x > 1,
        torch.softmax(x, 1),
        x.detach(),
    ):
        assert type(result) is wrapping and result.shape == result.inner.shape and result.dtype is result.inner.dtype
    assert (x + 1).inner.tolist() == [[1, 2, 3], [4, 5, 6]] and (x[0, 2] > 1).item() is True
    assert torch.equal(x, x.clone()) and torch.allclose(x, x + 1e-9) and not torch.equal(x, x + 1)
    assert torch.equal(torch.nn.functional.linear(x, torch.ones(2, 3)).inner, torch.tensor([[3.0, 3], [12, 12]]))


def test_wrapped_wrappers(torch: Any, wrapping: Any) -> None:
    x = wrapping(wrapping(torch.tensor([1.0, 2.0])), requires_grad=True)
    y = x.exp().sum()
    y.backward()
    assert type(y.inner) is wrapping and torch.allclose(x.grad.inner.inner, x.inner.inner.exp())


def test_higher_derivatives(torch: Any, wrapping: Any) -> None:
    x = wrapping(torch.tensor([1.0, 2.0]), requires_grad=True)
    (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    assert type(g) is wrapping and g.requires_grad and g.inner.tolist() == [3, 12]
    (h,) = torch.autograd.grad(g.sum(), x)
    assert type(h) is wrapping and h.inner.tolist() == [6, 12]
    for vectorize in (False, True):
        jacobian = torch.autograd.functional.jacobian(lambda x: x**2, x.detach(), vectorize=vectorize)
        assert jacobian.shape == (2, 2) and torch.allclose(jacobian, torch.tensor([[2.0, 0], [0, 4]]))
    double = wrapping(torch.rand(3, dtype=torch.float64), requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: x.sin() * x, double) and torch.autograd.gradgradcheck(
        lambda x: x.sin() * x, double
    )


def test_custom_functions(torch: Any, wrapping: Any) -> None:
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 2 * x * g

    x = wrapping(torch.tensor([3.0]), requires_grad=True)
    y = Square.apply(x)
    y.sum().backward()
    assert type(y) is wrapping and x.grad.inner.tolist() == [6]


def test_writing_goes_through(torch: Any, wrapping: Any) -> None:
    x = wrapping(torch.tensor([1.0, 2.0]))
    x.mul_(3)
    assert x.inner.tolist() == [3, 6] and x._version == 1
    view = x.view(2, 1)
    view.add_(1)
    assert x.inner.tolist() == [4, 7] and x._version == view._version == 2
    a = wrapping(torch.tensor([1.0, 2.0]), requires_grad=True)
    b = a.clone()
    b.mul_(3)
    (b * b).sum().backward()
    assert a.grad.inner.tolist() == [18, 36]
    c = wrapping(torch.tensor([2.0]), requires_grad=True).clone()
    d = c * c
    c.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        d.sum().backward()


def test_refusals(torch: Any, wrapping: Any) -> None:
    class Declining(wrapping):
        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return NotImplemented

    with pytest.raises(TypeError):
        Declining(torch.ones(2)).exp()


def test_classes_with_slots_are_refused() -> None:
    import pullback as torch

    class Slotted(torch.Tensor):
        __slots__ = ("inner",)

        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any: ...

    with pytest.raises(TypeError, match="__slots__"):
        torch.Tensor._make_wrapper_subclass(Slotted, (2,))


def test_memory_that_nobody_hands_out_is_an_error() -> None:
    import pullback as torch

    class Hiding(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return torch.ones(2)

    x = torch.Tensor._make_wrapper_subclass(Hiding, (2,))
    assert (x + 1).tolist() == [1, 1]
    with pytest.raises(TypeError, match="no memory of its own"):
        x.tolist()


@pytest.fixture
def noting(torch: Any, wrapping: Any) -> Any:
    """A wrapper around two rows, and what each expression of it asks: overloads with arguments."""
    calls: list[Any] = []

    class Noting(wrapping):
        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func.overloadpacket is not torch.ops.aten.detach:
                calls.append((str(func), *[a for a in args if not isinstance(a, (torch.Tensor, list))], kwargs or {}))
            return super().__torch_dispatch__(func, types, args, kwargs)

    w = Noting(torch.arange(6.0).reshape(2, 3))

    def asked(program: Any) -> Any:
        calls.clear()
        result = program(w)
        inner = [r.inner for r in result] if isinstance(result, (tuple, list)) else result.inner
        expected = program(w.inner)
        for a, b in zip(inner, expected) if isinstance(expected, (tuple, list)) else [(inner, expected)]:
            assert torch.equal(a, b) and a.dtype is b.dtype
        return list(calls)

    return asked


END = 2**63 - 1
KERNELS: dict[str, tuple[Any, list[Any]]] = {
    "slice": (lambda t, w: w[:, :2], [("aten.slice.Tensor", 1, 0, 2, {})]),
    "to the end": (lambda t, w: w[..., 1:], [("aten.slice.Tensor", 1, 1, END, {})]),
    "every second": (lambda t, w: w[::2], [("aten.slice.Tensor", 0, 0, END, 2, {})]),
    "select": (lambda t, w: w[0], [("aten.select.int", 0, 0, {})]),
    "twice": (lambda t, w: w[0, 1], [("aten.select.int", 0, 0, {}), ("aten.select.int", 0, 1, {})]),
    "mixed": (
        lambda t, w: w[1:, None, 0],
        [
            ("aten.slice.Tensor", 0, 1, END, {}),
            ("aten.unsqueeze.default", 1, {}),
            ("aten.select.int", 2, 0, {}),
        ],
    ),
    "clone": (lambda t, w: w.clone(), [("aten.clone.default", {})]),
    "sum": (lambda t, w: w.sum(), [("aten.sum.default", {})]),
    "sum along": (lambda t, w: w.sum(0, keepdim=True), [("aten.sum.dim_IntList", True, {})]),
    "mean along": (lambda t, w: w.mean(1), [("aten.mean.dim", {})]),
    "to": (lambda t, w: w.to(t.float64), [("aten._to_copy.default", {"dtype": "float64"})]),
    "add": (lambda t, w: w.add(w, alpha=2), [("aten.add.Tensor", {"alpha": 2})]),
    "power": (lambda t, w: w.pow(2), [("aten.pow.Tensor_Scalar", 2, {})]),
    "comparison": (lambda t, w: w > 1, [("aten.gt.Scalar", 1, {})]),
    "index_select": (lambda t, w: w.index_select(0, t.tensor([1])), [("aten.index_select.default", 0, {})]),
    "gather": (lambda t, w: w.gather(0, t.tensor([[1, 0, 1]])), [("aten.gather.default", 0, {})]),
    "index": (lambda t, w: w[t.tensor([1])], [("aten.index.Tensor", {})]),
    "transpose": (lambda t, w: w.transpose(0, 1), [("aten.transpose.int", 0, 1, {})]),
    "maximum": (lambda t, w: w.max(0), [("aten.max.dim", 0, {})]),
    "masked_fill": (lambda t, w: w.masked_fill(t.ones(2, 3) > 0, 7.0), [("aten.masked_fill.Scalar", 7.0, {})]),
    "split": (lambda t, w: w.split(1), [("aten.split.Tensor", 1, {})]),
    "unbind": (lambda t, w: w.unbind(), [("aten.unbind.int", {})]),
    "cat": (lambda t, w: t.cat([w, w]), [("aten.cat.default", {})]),
    "linear": (lambda t, w: t.nn.functional.linear(w, t.ones(4, 3)), [("aten.mm.default", {})]),
}


@pytest.mark.parametrize("name", KERNELS)
def test_classes_are_asked_as_pytorchs_kernels_are(torch: Any, noting: Any, name: str) -> None:
    program, expected = KERNELS[name]
    asked = noting(lambda w: program(torch, w))
    shown = [
        (*call[:-1], {k: str(v).rpartition(".")[2] if k == "dtype" else v for k, v in call[-1].items()})
        for call in asked
    ]
    assert shown == expected


def test_overloads_are_told_apart(torch: Any) -> None:
    aten = torch.ops.aten
    assert aten.add.Tensor is aten.add.Tensor and aten.add.Tensor != aten.add.Scalar
    assert aten.sum.default != aten.sum.dim_IntList and aten.add.Tensor.overloadpacket is aten.add
    x = torch.arange(6.0).reshape(2, 3)
    assert torch.equal(aten.slice.Tensor(x, 1, 0, 2), x[:, :2])
    assert aten._to_copy.default(x, dtype=torch.float64).dtype is torch.float64
    assert torch.equal(aten.index.Tensor(x, [None, torch.tensor([2])]), x[:, [2]])


def test_wrappers_are_pickled(torch: Any, wrapping: Any) -> None:
    import copy

    x = wrapping(torch.arange(2.0), requires_grad=True)
    y = copy.copy(x)
    assert type(y) is wrapping and y.inner is x.inner and y.shape == (2,)
    reduced = x.__reduce_ex__(2)
    z = reduced[0](*reduced[1])
    assert type(z) is wrapping and torch.equal(z.inner, x.inner) and z.requires_grad
