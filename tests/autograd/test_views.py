"""Views and writes in place: whose history moves on, what follows, and what is refused."""

from __future__ import annotations

import contextlib
import gc
from typing import Any

import pytest


def leaf(torch: Any, *values: float) -> Any:
    return torch.tensor(values, requires_grad=True)


@pytest.mark.parametrize("mode", [True, False])
@pytest.mark.parametrize("wanted", [True, False])
def test_how_views_came_to_be(torch: Any, mode: bool, wanted: bool) -> None:
    for several in (False, True):
        base = torch.ones(2, requires_grad=wanted).clone()
        with torch.set_grad_enabled(mode):
            view = base.unbind()[1] if several else base.view_as(base)
        assert view._is_view() and view._base is base and view.requires_grad == wanted
        if not wanted or mode and not several:
            view.add_(1)
        else:
            words = (
                "Output 1 of Unbind(Backward0)? is a view and is being modified inplace"
                if mode
                else "A view was created in no_grad mode"
            )
            with pytest.raises(RuntimeError, match=words):
                view.add_(1)


@pytest.mark.parametrize(
    "change", ["t_", "unsqueeze_", "squeeze_", "transpose_", "swapdims_", "swapaxes_", "as_strided_"]
)
def test_in_place_views_keep_how_they_came_to_be(torch: Any, change: str) -> None:
    args = {
        "unsqueeze_": (0,),
        "squeeze_": (0,),
        "transpose_": (0, 0),
        "swapdims_": (0, 0),
        "swapaxes_": (0, 0),
        "as_strided_": ((1, 2), (2, 1)),
    }
    for several, made, changed, words in (
        (False, True, True, None),
        (False, True, False, None),
        (True, True, False, "multiple views"),
        (True, True, True, "multiple views"),
        (False, False, False, "created in no_grad mode"),
    ):
        base = torch.ones(2, 3, requires_grad=True).clone()
        with torch.set_grad_enabled(made):
            view = base.unbind()[0] if several else base.view_as(base)
        if words is None:
            with torch.set_grad_enabled(changed):
                getattr(view, change)(*args.get(change, ()))
            view.add_(1)
        elif made is changed is True:
            with pytest.raises(RuntimeError, match=words):
                getattr(view, change)(*args.get(change, ()))
        else:
            with torch.set_grad_enabled(changed):
                getattr(view, change)(*args.get(change, ()))
            with pytest.raises(RuntimeError, match=words):
                view.add_(1)


def test_written_with_something_that_wants_gradients(torch: Any) -> None:
    b = leaf(torch, 2.0)
    with pytest.raises(RuntimeError, match="This view is the output of a function that returns multiple views"):
        torch.ones(1, 2).unbind()[0].copy_(b)
    a = torch.ones(2, 2)
    a.select(1, 0).copy_(b)
    assert a.requires_grad and type(a.grad_fn).__name__ == "CopySlices"
    a = torch.zeros(4, 4)
    a.narrow(1, 2, 2).mul_(torch.ones(4, 2, requires_grad=True))
    assert a.requires_grad


def test_views_of_views_inherit(torch: Any) -> None:
    a = torch.ones(4, requires_grad=True).clone()
    for view in (
        a.unbind()[0].view_as(a[0]),
        a.view_as(a).unbind()[0],
        a.chunk(2)[0],
        a.split(1)[0],
        a.split_with_sizes([2, 2])[1],
    ):
        with pytest.raises(RuntimeError, match="This view is the output of a function that returns multiple views"):
            view.mul_(2)
    for parts in (a.unsafe_split(2), a.unsafe_split_with_sizes((2, 2)), a.unsafe_chunk(2)):
        parts[0].mul_(parts[1]).sum().backward(retain_graph=True)


def test_unsafe_pieces_made_where_nothing_is_recorded_are_no_views(torch: Any) -> None:
    a, b = leaf(torch, 1.0, 2.0, 3.0, 4.0), leaf(torch, 5.0, 6.0)
    for split in (lambda: a.unsafe_split(2), lambda: a.unsafe_split_with_sizes((2, 2)), lambda: a.unsafe_chunk(2)):
        with torch.no_grad():
            parts = split()
        assert not any(p.requires_grad or p._is_view() for p in parts)
        parts[0].mul_(b)  # which the leaf does not notice
        assert parts[0].requires_grad and not parts[1].requires_grad and a.grad_fn is None


def test_leaves_are_refused_at_once(torch: Any) -> None:
    x = leaf(torch, 1.0)
    for write in (lambda: x.add_(1), lambda: x.mul_(2), lambda: x.relu_(), lambda: x.zero_()):
        with pytest.raises(
            RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"
        ):
            write()
    for view in (x.view_as(x), x[0], x.narrow(0, 0, 1)):
        with pytest.raises(
            RuntimeError, match="a view of a leaf Variable that requires grad is being used in an in-place operation"
        ):
            view.add_(1)
    a = torch.zeros(2)
    b = a[:]
    b.add_(5)
    a.requires_grad = True
    for t in (a, b):
        with pytest.raises(RuntimeError):
            t.add_(5)
    a.sum().backward()
    assert a.grad.tolist() == [1, 1]
    with torch.no_grad():
        x[0] = 5
    assert x.requires_grad and x.grad_fn is None and x.item() == 5


def test_invalid_history_prints(torch: Any) -> None:
    a = leaf(torch, 1.0)
    with torch.no_grad():
        b = a[:]
        b *= 2
    assert repr(b) == "tensor([2.], grad_fn=<Invalid>)"
    with torch.no_grad():
        assert (b * 2).tolist() == [4]  # without recording it may be used all the same


def test_write_through_views(torch: Any) -> None:
    def grad_of(program: Any) -> Any:
        root = torch.ones(2, 2, requires_grad=True)
        program(root.clone()).sum().backward()
        return root.grad.tolist()

    def through_base(x: Any) -> Any:
        x.narrow(0, 0, 1).mul_(2)
        return x

    def through_other_view(x: Any) -> Any:
        v, w = x.narrow(0, 0, 1), x.narrow(0, 0, 1)
        v.mul_(2)
        return w

    def view_of_view(x: Any) -> Any:
        x.narrow(0, 0, 1).narrow(1, 1, 1).mul_(2)
        return x

    def strided(x: Any) -> Any:
        y = x.as_strided((2,), (1,), 1)
        y *= 3
        return x

    assert grad_of(through_base) == [[2, 2], [1, 1]] and grad_of(through_other_view) == [[2, 2], [0, 0]]
    assert grad_of(view_of_view) == [[1, 2], [1, 1]] and grad_of(strided) == [[1, 3], [3, 1]]


def test_base_forces_its_views(torch: Any) -> None:
    r = torch.ones(1, dtype=torch.float64, requires_grad=True)

    def program(r: Any) -> Any:
        x = torch.ones(5, dtype=torch.float64)
        v = x.select(0, 1)
        assert not v.requires_grad and v.grad_fn is None
        x.add_(r)
        assert v.requires_grad
        return v * v

    assert torch.autograd.gradcheck(program, [r]) and torch.autograd.gradgradcheck(program, [r])


def test_view_of_constant_takes_the_gradient(torch: Any) -> None:
    a, b = torch.tensor([2.0, 5.0]), leaf(torch, 3.0)
    a.narrow(0, 1, 1).mul_(b).sum().backward()
    assert b.grad.tolist() == [5] and a.grad_fn is not None


def test_history_is_looked_at_without_recording(torch: Any) -> None:
    b = torch.ones(3, 1, requires_grad=True) * 2
    c = b.view_as(b)
    c[0][0] = 3
    with torch.no_grad():
        assert c.grad_fn is not None
    c.sum().backward()
    a = torch.tensor([1 + 1j], requires_grad=True).clone()
    v = a.real
    a.add_(1)
    with torch.no_grad():
        assert v.grad_fn is not None


def test_several_nodes_of_one_write(torch: Any) -> None:
    def program(root: Any, b: Any) -> Any:
        x = root.clone()
        x.narrow(1, 2, 2).narrow(0, 1, 2).mul_(b)
        x.narrow(1, 0, 2).narrow(0, 1, 2).mul_(b)
        return x

    a = torch.randn(4, 4, dtype=torch.float64, requires_grad=True)
    b = torch.randn(2, 2, dtype=torch.float64, requires_grad=True)
    seed = torch.randn(4, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(program, [a, b]) and torch.autograd.gradgradcheck(program, (a, b), (seed,))


def test_saved_output_of_a_write_through_a_view_makes_no_cycle(torch: Any) -> None:
    gone: list[int] = []

    class Hook:
        def __call__(self, *args: Any) -> None: ...

        def __del__(self) -> None:
            gone.append(1)

    gc.disable()
    try:
        copy = torch.ones(3, 3, requires_grad=True).clone()
        copy.grad_fn.register_hook(Hook())
        torch.nn.functional.relu(copy.view(9), inplace=True)
        del copy
        assert gone == [1]
    finally:
        gc.enable()


def test_only_what_is_needed_runs_after_a_write(torch: Any) -> None:
    """The node of the view itself is not on the way any more."""

    def fail(*args: Any) -> None:
        raise AssertionError("not on the way")

    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    out = x.clone().view(-1)
    out.register_hook(fail)
    b = out + y
    out += y
    gb, gy = torch.autograd.grad((out + b).sum(), (b, y))
    assert gb.tolist() == [1, 1] and gy.tolist() == [2, 2]


def test_data_and_version_counters(torch: Any) -> None:
    x = torch.ones(1, 2)
    before = x._version
    x.add_(1).add_(1)
    assert x._version == before + 2
    view = x[:]
    view.add_(1)
    assert x._version == view._version == before + 3
    x.data = torch.ones(2, 3)  # keeps the counter, which it goes on sharing with its view
    assert x._version == before + 3 and x.shape == (2, 3)
    x.add_(1)
    assert x._version == view._version == before + 4
    view.add_(1)
    assert x._version == view._version == before + 5
    with pytest.raises(TypeError, match="Variable data has to be a tensor"):
        x.data = None
    with pytest.raises(
        RuntimeError, match=r"Attempted to call `variable.set_data\(tensor\)`, but .* have incompatible tensor type"
    ):
        x.data = torch.ones(2).to_sparse()
    a = leaf(torch, 1.0)
    with pytest.raises(RuntimeError, match="must be floating point or complex dtype"):
        a.data = torch.tensor([3])
    for name in ("data", "requires_grad", "_grad_fn", "_backward_hooks"):
        with pytest.raises(RuntimeError):
            delattr(a, name)
    del a.grad
    assert a.grad is None


def test_detached_memory_is_watched(torch: Any) -> None:
    x = leaf(torch, 2.0)
    y = x**2
    x.detach().zero_()
    with pytest.raises(RuntimeError, match="has been modified by an inplace"):
        y.backward()
    view = torch.ones(4, requires_grad=True).narrow(0, 1, 2)
    with pytest.raises(RuntimeError, match="Can't detach views in-place"):
        view.detach_()
    x = torch.ones(4, requires_grad=True)
    view = x.narrow(0, 1, 2)
    x.detach_()
    assert not x.requires_grad and view.requires_grad and view.grad_fn is not None and view._base is x


def test_resize_counts_as_a_write_if_it_changes_anything(torch: Any) -> None:
    x = torch.ones(1)
    x.resize_((1, 2))
    x.resize_as_(torch.ones(3))
    assert x._version == 2
    x.resize_((3,))
    assert x._version == 2


def test_another_shape_in_place_counts_as_a_write(torch: Any) -> None:
    x = torch.ones(2, 3)
    x.t_().unsqueeze_(0).squeeze_()
    assert x._version == 3
    a = torch.arange(6.0).reshape(2, 3).requires_grad_()
    with pytest.raises(RuntimeError, match="has been modified by an inplace"):
        (a.exp().t_()).sum().backward()
    b = a.clone()
    row = b[1]
    b.t_()
    assert row.grad_fn.name() == "AsStridedBackward0" and b.shape == (3, 2)
    (row * torch.tensor([1.0, 2, 3])).sum().backward()
    assert a.grad.tolist() == [[0, 0, 0], [1, 2, 3]]
    for block, words in ((torch.no_grad, "no_grad"), (torch.inference_mode, "inference")):
        b = a.clone()
        with block():
            view = b.view(-1)
        b.transpose_(0, 1)
        with pytest.raises(
            RuntimeError, match=f"A view was created in {words} mode and its base or another view of its base has been"
        ):
            view.grad_fn  # noqa: B018
    b = a.clone()
    view = b.view(-1)
    view.unsqueeze_(0)
    assert view.grad_fn.name() == "UnsqueezeBackward1" and b.grad_fn.name() == "CloneBackward0"


def test_view_of_the_real_part(torch: Any) -> None:
    a = torch.tensor([1 + 2j], requires_grad=True)
    b = a.clone()
    b.real.mul_(3)
    (b.real + b.imag).sum().backward()
    assert a.grad.tolist() == [3 + 1j]


def test_requires_grad_by_writing(torch: Any) -> None:
    y, z = torch.ones(5, requires_grad=True), torch.ones(5, requires_grad=True)
    x = torch.zeros(5, 5)
    x[0] = y
    x[1] = 2 * z
    x.sum().backward()
    assert x.grad_fn is not None and y.grad.tolist() == [1] * 5 and z.grad.tolist() == [2] * 5
    a = torch.ones(2) + 0
    a += y[:2]
    assert a.requires_grad
    out = torch.zeros(2)
    with pytest.raises(RuntimeError, match="out="):
        torch.mul(y[:2], z[:2], out=out)
    with pytest.raises(RuntimeError, match="out="):
        torch.mul(torch.ones(2), torch.ones(2), out=torch.zeros(2, requires_grad=True))
    with torch.no_grad():
        torch.mul(y[:2], z[:2], out=out)
    assert out.tolist() == [1, 1]


def test_numpy_needs_no_history(torch: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(
        RuntimeError,
        match=r"Can't call numpy\(\) on Tensor that requires grad. Use tensor.detach\(\).numpy\(\) instead",
    ):
        x.numpy()
    with torch.no_grad():
        assert x.numpy().tolist() == [1, 1]


@pytest.mark.parametrize("warm", [False, True])
def test_an_unrecorded_view_wants_gradients_if_its_base_does(torch: Any, warm: bool) -> None:
    for _ in range(2600 * warm):  # until machine code takes over
        torch.ones((), requires_grad=True) + 1
    parameter = torch.ones(4).view(2, 2).requires_grad_()  # a leaf that is itself a view
    with torch.no_grad():
        assert not parameter[0].requires_grad and not parameter.t().requires_grad
        assert torch.ones(2, 2, requires_grad=True)[0].requires_grad


def test_a_result_of_another_shape_counts_as_one_write(torch: Any) -> None:
    for shape in ((3,), (0,), (2, 4)):
        out = torch.empty(shape)
        with pytest.warns() if out.numel() else contextlib.nullcontext():
            torch.tanh(torch.ones(2), out=out)
        assert out._version == 1, shape


def test_a_write_into_what_has_no_gradient_is_free(torch: Any) -> None:
    mask = torch.zeros(2, 3, dtype=torch.bool)
    with torch.no_grad():
        row = mask[0]
    row.copy_(torch.ones(3, requires_grad=True))
    first = mask.chunk(2)[0]
    first.copy_(torch.ones(3, requires_grad=True))
    assert mask.tolist() == [[True] * 3, [False] * 3]


def test_numbers_after_a_leaf_got_another_shape(torch: Any) -> None:
    """Gradients are then looked at more closely, of 0-d leaves too."""
    x, leaf = torch.tensor(0.5, requires_grad=True), torch.ones(3, 2, requires_grad=True)
    y = x * 2
    with torch.no_grad(), pytest.warns():
        torch.tanh(torch.ones(1), out=leaf)
    y.backward()
    assert x.grad.item() == 2


@pytest.mark.parametrize("write", ["add_", "mul_", "copy_", "fill_", "zero_", "number"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_writes_that_concern_no_gradient_are_noted(torch: Any, write: str, dtype: Any) -> None:
    """With the user's line, in the tensor and in what shares its memory; backward still sees them."""
    dtype = getattr(torch, dtype)
    base = torch.ones(3, 4, dtype=dtype)
    w = torch.ones(3, 4, dtype=dtype, requires_grad=True)
    for target in (base, base.detach(), base[1]):
        before, product = base._version, w * base
        argument = torch.ones_like(target) if write[0] in "ac" else 1
        if write == "number":
            target[0] = 2
        else:
            getattr(target, write)(*[argument] * (write != "zero_"))
        assert base._version == target._version == before + 1
        with pytest.raises(RuntimeError, match="modified by an inplace operation") as raised:
            product.sum().backward()
        assert torch.__name__ == "torch" or __file__ in "".join(raised.value.__notes__)
    with torch.no_grad():
        assert w.add_(torch.ones_like(w)) is w and w._version == 1 and w.is_leaf
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        w.add_(1)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable"):
        w[0].fill_(1)
    with pytest.raises(RuntimeError, match="single memory location"):
        torch.ones(3, 1, dtype=dtype).expand(3, 4).add_(1)
