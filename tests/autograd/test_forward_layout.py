"""Forward mode: tangents lie in memory as their values do; ``out=`` and the switch of a thread."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback.autograd import forward_ad as fwAD
from pullback.func import jacfwd, jacrev, jvp


def transposed() -> Any:
    return torch.arange(6.0, dtype=torch.float64).view(2, 3).t()


WINDOWS = {
    "input": lambda x: x.as_strided((4,), (1,), 1),
    "elementwise": lambda x: (x * x + x).as_strided((4,), (1,), 1),
    "reduction": lambda x: torch.softmax(x, 0).as_strided((4,), (1,), 1),
    "several": lambda x: torch.cat([x, x]).as_strided((4,), (2,), 1),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_windows_pick_the_same_elements_of_value_and_tangent(name: str) -> None:
    """Whatever the order of the tangent's elements in memory."""
    f, x = WINDOWS[name], transposed()
    jacobian = jacrev(f)(x)
    assert torch.allclose(jacfwd(f)(x), jacobian)
    v = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], dtype=torch.float64)
    for tangent in (v, v.t().contiguous().t(), v.repeat_interleave(2, 0)[::2], v[:1, :1].expand(3, 2)):
        assert torch.allclose(jvp(f, (x,), (tangent,))[1], (jacobian * tangent).sum((1, 2)))


def test_writes_through_a_view_reach_tangents_of_another_order() -> None:
    def doubled(x: Any) -> Any:
        y = x.clone()
        y.view(-1).mul_(2)
        return y

    x, v = transposed().contiguous(), torch.arange(6.0, dtype=torch.float64).view(2, 3).t()
    assert jvp(doubled, (x,), (v,))[1].tolist() == (2 * v).tolist()
    assert torch.vmap(lambda v: jvp(doubled, (x,), (v,))[1])(torch.stack([v, v]))[1].tolist() == (2 * v).tolist()


def test_what_lies_around_the_primal_has_tangent_zero() -> None:
    """A tangent without surroundings is copied, so ``as_strided`` has something to look at."""
    tangent = torch.tensor([10.0, 20.0, 30.0])
    with fwAD.dual_level():
        dual = fwAD.make_dual(torch.arange(5.0)[1:4], tangent)
        assert fwAD.unpack_dual(dual.as_strided((3,), (1,), 2)).tangent.tolist() == [20, 30, 0]
        fwAD.unpack_dual(dual).tangent.mul_(2)
    assert tangent.tolist() == [10, 20, 30]


@pytest.mark.parametrize(
    "call",
    [
        lambda dual, plain: torch.add(dual, plain, out=plain),
        lambda dual, plain: torch.add(plain, plain, out=dual),
        lambda dual, plain: torch.max(dual, 0, out=(torch.empty(()), torch.empty((), dtype=torch.int64))),
    ],
)
def test_out_has_no_tangents(call: Any) -> None:
    with fwAD.dual_level():
        dual = fwAD.make_dual(torch.ones(2), torch.ones(2))
        with pytest.raises(
            NotImplementedError,
            match="Trying to use forward AD with .*_out that does not support it because it is an out=",
        ):
            call(dual, torch.zeros(2))


def test_out_names_the_operation_that_wants_a_gradient() -> None:
    x = torch.ones(2, requires_grad=True)
    places = torch.empty(2, dtype=torch.int64)
    calls = {
        "add": lambda: torch.add(x, 1, out=torch.empty(2)),
        "sort": lambda: torch.sort(x, out=(torch.empty(2), places)),
    }
    for name, call in calls.items():
        with pytest.raises(
            RuntimeError,
            match=rf"^{name}\(\): functions with out=... arguments don't support automatic differentiation",
        ):
            call()


def test_tangents_of_a_thread_can_be_switched_off() -> None:
    assert torch._C._is_fwd_grad_enabled()
    torch._C._set_fwd_grad_enabled(False)
    try:
        assert not torch._C._is_fwd_grad_enabled()
        with fwAD.dual_level():
            assert fwAD.unpack_dual(fwAD.make_dual(torch.ones(1), torch.ones(1)) * 2).tangent is None
    finally:
        torch._C._set_fwd_grad_enabled(True)


def test_typed_storage() -> None:
    x = torch.arange(6.0)
    memory = x[2:4].storage()
    assert (len(memory), memory.size(), memory.element_size(), memory.nbytes(), memory.dtype) == (
        6,
        6,
        4,
        24,
        torch.float32,
    )
    assert memory.data_ptr() == x.data_ptr() and memory.tolist() == [0, 1, 2, 3, 4, 5] and memory[3] == 3.0
    memory[0] = 7
    assert x[0] == 7 and x._version == 1 and len(memory.untyped()) == 24
    assert np.shares_memory(torch.empty(0).set_(memory).numpy(), x.numpy())
