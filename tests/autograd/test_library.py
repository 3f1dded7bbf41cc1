"""``torch.library``: operations of the user's own, their gradients, and what watches them."""

# No `from __future__ import annotations` here: PyTorch reads the annotations of custom operations.

import functools
import importlib
from typing import Any

import pytest


def cube_of(torch: Any, name: str) -> Any:
    @torch.library.custom_op(f"pullback_tests::{name}", mutates_args=())
    def cube(x: torch.Tensor, factor: float = 1.0, *, shift: int = 0) -> torch.Tensor:
        return torch.from_numpy(factor * x.numpy() ** 3 + shift)

    return cube


def test_calls(torch: Any) -> None:
    cube = cube_of(torch, "called")
    x = torch.tensor([2.0])
    packet = torch.ops.pullback_tests.called
    for call in (cube, packet, packet.default):
        assert call(x).item() == 8 and call(x, 2.0).item() == 16 and call(x, shift=1).item() == 9
    assert (
        repr(cube) == "<CustomOpDef(pullback_tests::called)>" and str(packet.default) == "pullback_tests.called.default"
    )
    with pytest.raises(AttributeError, match="has no attribute 'nowhere'"):
        torch.ops.pullback_tests.nowhere  # noqa: B018


def test_gradients(torch: Any) -> None:
    cube = cube_of(torch, "pulled")
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    y = cube(x)
    assert y.requires_grad
    with pytest.raises(
        RuntimeError,
        match="Trying to backward through pullback_tests.pulled.default but no autograd formula was registered",
    ):
        y.sum().backward()

    def keep(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0])
        ctx.factor = inputs[1]
        assert keyword_only_inputs == {"shift": 5} and output.shape == inputs[0].shape

    def pull(ctx: Any, g: Any) -> Any:
        return 3 * ctx.factor * ctx.saved_tensors[0] ** 2 * g, None

    cube.register_autograd(pull, setup_context=keep)
    y = cube(x, 2.0, shift=5)
    assert y.tolist() == [21, 59] and y.grad_fn.name() == "GeneratedBackwardFor_pullback_tests_pulled_defaultBackward"
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    assert g.tolist() == [24, 54] and torch.autograd.grad(g.sum(), x)[0].tolist() == [24, 36]
    with torch.no_grad():
        assert not cube(x, shift=5).requires_grad
    cube = cube_of(torch, "alone")
    torch.library.register_autograd("pullback_tests::alone", lambda ctx, g: g)  # nothing for the number
    assert torch.autograd.grad(cube(x).sum(), x)[0].tolist() == [1, 1]


def test_lists_and_several_results(torch: Any) -> None:
    @torch.library.triton_op("pullback_tests::scaled", mutates_args=())
    def scaled(xs: list[torch.Tensor], k: float) -> list[torch.Tensor]:
        return [k * x for x in xs]

    def keep(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.k = inputs[1]
        assert isinstance(output, list)

    scaled.register_autograd(lambda ctx, gs: ([ctx.k * g for g in gs], None), setup_context=keep)
    a, b = torch.ones(2, requires_grad=True), torch.ones(1)
    ys = scaled([a, b], 3.0)
    assert isinstance(ys, list)
    (ys[0].sum() + ys[1].sum()).backward()
    assert a.grad.tolist() == [3, 3]

    @torch.library.custom_op("pullback_tests::both", mutates_args=())
    def both(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x + y, x - y

    both.register_autograd(lambda ctx, g, h: (g + h, g - h))
    s, d = both(a, torch.ones(2, requires_grad=True))
    assert torch.autograd.grad((2 * s + d).sum(), a)[0].tolist() == [3, 3]

    @torch.library.custom_op("pullback_tests::miscounted", mutates_args=())
    def miscounted(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x * y

    miscounted.register_autograd(lambda ctx, g: g)
    with pytest.raises(RuntimeError, match="returned an incorrect number of gradients"):
        miscounted(a, a).sum().backward()


def test_writing(torch: Any) -> None:
    @torch.library.custom_op("pullback_tests::increase", mutates_args={"x"})
    def increase(x: torch.Tensor) -> None:
        x.numpy()[...] += 1

    x = torch.zeros(2)
    y = torch.ones(2, requires_grad=True) * x
    increase(x)
    assert x.tolist() == [1, 1] and x._version == 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    with pytest.raises(RuntimeError, match="Cannot register autograd formula for non-functional operator"):
        increase.register_autograd(lambda ctx, g: g)


def test_refusals(torch: Any) -> None:
    @torch.library.custom_op("pullback_tests::same", mutates_args=())
    def same(x: torch.Tensor) -> torch.Tensor:
        return x

    with pytest.raises(RuntimeError, match="may not alias any inputs"):
        same(torch.ones(1))
    with pytest.raises(ValueError, match="Parameter x must have a type annotation"):
        torch.library.custom_op("pullback_tests::bare", mutates_args=())(lambda x: x)
    with pytest.raises(ValueError):
        torch.library.custom_op("without_namespace", mutates_args=())(lambda x: x)
    with pytest.raises(AttributeError):
        torch.library.register_autograd("pullback_tests::nowhere", lambda ctx, g: g)


def test_vmap(torch: Any) -> None:
    @torch.library.custom_op("pullback_tests::swapped", mutates_args=())
    def swapped(x: torch.Tensor) -> torch.Tensor:
        return x.flip(0)

    x = torch.arange(6.0).reshape(2, 3)
    assert torch.vmap(swapped)(x).tolist() == x.flip(1).tolist()
    assert torch.vmap(swapped, in_dims=1)(x).tolist() == x.flip(0).t().tolist()
    swapped.register_vmap(lambda info, in_dims, x: (x + info.batch_size, in_dims[0]))
    assert torch.vmap(swapped)(x).tolist() == (x + 2).tolist()


def test_definitions_by_schema(torch: Any) -> None:
    library = torch.library.Library("pullback_tests_defined", "DEF")
    library.define("times(Tensor x, float k=2) -> Tensor")
    with pytest.raises(NotImplementedError):
        torch.ops.pullback_tests_defined.times(torch.ones(1))
    library.impl("times", lambda x, k=2: x * k, "CPU")
    assert torch.ops.pullback_tests_defined.times(torch.ones(1)).item() == 2
    assert torch.ops.pullback_tests_defined.times(torch.ones(1), k=4).item() == 4
    torch.library.define("pullback_tests_defined::more", "(Tensor x) -> Tensor")

    @torch.library.impl("pullback_tests_defined::more", "cpu")
    def more(x: Any) -> Any:
        return x + 5

    assert torch.ops.pullback_tests_defined.more(torch.ones(1)).item() == 6


def test_one_operation_for_checkpoints(torch: Any) -> None:
    cp = importlib.import_module(f"{torch.__name__}.utils.checkpoint")
    calls = []

    @torch.library.custom_op("pullback_tests::counted", mutates_args=())
    def counted(x: torch.Tensor) -> tuple[torch.Tensor, int]:
        calls.append(1)
        return x.sin(), 2

    def keep(ctx: Any, inputs: Any, output: Any) -> None:
        assert output[1] == 2
        ctx.save_for_backward(*inputs)

    counted.register_autograd(lambda ctx, g, _: g * ctx.saved_tensors[0].cos(), setup_context=keep)
    f = lambda x: (counted(x)[0] * x.exp()).sin()  # noqa: E731
    x = torch.rand(3, requires_grad=True)
    expected = torch.autograd.grad(f(x).sum(), x)[0]
    calls.clear()
    contexts = functools.partial(cp.create_selective_checkpoint_contexts, [torch.ops.pullback_tests.counted.default])
    out = cp.checkpoint(f, x, use_reentrant=False, context_fn=contexts)
    assert torch.allclose(torch.autograd.grad(out.sum(), x)[0], expected) and len(calls) == 1


def test_scopes_and_names_that_are_taken() -> None:
    import pullback as torch

    with torch.library._scoped_library("pullback_tests_scoped", "FRAGMENT"):
        torch.library.custom_op("pullback_tests_scoped::f", mutates_args=(), schema="(Tensor x) -> Tensor")(
            lambda x: x + 1
        )
        assert torch.ops.pullback_tests_scoped.f(torch.ones(1)).item() == 2
    with pytest.raises(AttributeError):
        torch.ops.pullback_tests_scoped.f  # noqa: B018
    with pytest.raises(ValueError, match="taken"):
        torch.library.define("view::f", "(Tensor x) -> Tensor")
