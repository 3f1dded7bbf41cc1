"""Views: what shares memory, what it remembers, and what writing through it does to gradients."""

from __future__ import annotations

import gc
import re
from typing import Any

import numpy as np
import pytest

import pullback
from pullback.autograd import gradcheck, gradgradcheck
from pullback.core.geometry import Positions, Window, strided
from pullback.core.versions import owner_of
from pullback.ops.slices import part_of_view, read_part, write_part

from .programs_inplace import OURS_ALONE, PROGRAMS, run

# Name of the node as PyTorch has it, and whether the result is a view. x is a (2, 3, 4) non-leaf.
NODES = {
    "x.reshape(6, 4)": ("ViewBackward0", True),
    "x.reshape(2, 3, 4)": ("ViewBackward0", True),
    "x.transpose(0, 1).reshape(6, 4)": ("UnsafeViewBackward0", False),
    "x.transpose(0, 1).reshape(3, 2, 2, 2)": ("ReshapeAliasBackward0", True),
    "x.view(6, 4)": ("ViewBackward0", True),
    "x.flatten(0, 1)": ("ViewBackward0", True),
    "x.transpose(0, 1).ravel()": ("ViewBackward0", True),
    "x.unflatten(2, (2, 2))": ("ViewBackward0", True),
    "x.squeeze()": ("SqueezeBackward0", True),
    "x.squeeze(0)": ("SqueezeBackward1", True),
    "x.squeeze((0, 1))": ("SqueezeBackward2", True),
    "x.unsqueeze(0)": ("UnsqueezeBackward0", True),
    "x.swapaxes(0, 1)": ("TransposeBackward0", True),
    "x[0].T": ("PermuteBackward0", True),
    "x[0].t()": ("TBackward0", True),
    "x.mT": ("TransposeBackward0", True),
    "x.mH": ("TransposeBackward0", True),
    "x.permute(2, 0, 1)": ("PermuteBackward0", True),
    "x.movedim(0, 1)": ("PermuteBackward0", True),
    "x.expand(5, 2, 3, 4)": ("ExpandBackward0", True),
    "x.expand_as(x)": ("ExpandBackward0", True),
    "x.select(0, 1)": ("SelectBackward0", True),
    "x.narrow(1, 0, 2)": ("SliceBackward0", True),
    "x.split(1)[0]": ("SplitBackward0", True),
    "x.split([1, 1])[0]": ("SplitWithSizesBackward0", True),
    "x.chunk(2)[0]": ("SplitBackward0", True),
    "x.tensor_split(2)[0]": ("SliceBackward0", True),
    "x.unbind()[0]": ("UnbindBackward0", True),
    "x.unfold(2, 2, 1)": ("UnfoldBackward0", True),
    "x.diagonal()": ("DiagonalBackward0", True),
    "x.as_strided((2, 2), (1, 1))": ("AsStridedBackward0", True),
    "x.transpose(0, 1).contiguous()": ("CloneBackward0", False),
    "x.clone()": ("CloneBackward0", False),
    "torch.atleast_3d(x[0])": ("UnsqueezeBackward0", True),
    "torch.narrow_copy(x, 0, 0, 1)": ("NarrowCopyBackward0", False),
    "torch.permute_copy(x, (2, 0, 1))": ("PermuteBackward0_copy", False),
    "torch.unbind_copy(x)[1]": ("UnbindBackward0_copy", False),
    "x.t_() if x.ndim == 2 else x.transpose_(0, 1)": ("TransposeBackward1", False),
    "x.unsqueeze_(0)": ("UnsqueezeBackward1", False),
    "x.squeeze_(0)": ("SqueezeBackward4", False),
}


def leaves(torch: Any) -> tuple[Any, Any]:
    x = torch.tensor(np.arange(1.0, 13.0).reshape(3, 4) / 7, requires_grad=True)
    return x, torch.tensor([0.3, -1.2, 2.5, 0.7], dtype=torch.float64, requires_grad=True)


def non_leaf(torch: Any) -> Any:
    return torch.tensor(np.sin(np.arange(24.0)).reshape(2, 3, 4), requires_grad=True) * 1


@pytest.mark.parametrize("expression", ["narrow_copy(x, 0, 0, 1)", "unbind_copy(x)[1]"])
def test_a_copy_of_a_view_is_one_node(expression: str) -> None:
    gc.collect()  # levels that tests before this one left: while there are any, it is two
    x = non_leaf(pullback)
    y = eval(f"torch.{expression}", {"torch": pullback, "x": x})
    assert y.grad_fn.next_functions == ((x.grad_fn, 0),)


@pytest.mark.parametrize("expression", NODES)
def test_nodes_have_pytorchs_names(expression: str) -> None:
    y = eval(expression, {"torch": pullback, "x": non_leaf(pullback)})
    assert (type(y.grad_fn).__name__, y._is_view()) == NODES[expression]


@pytest.mark.torch
@pytest.mark.parametrize("expression", NODES)
def test_names_are_those_of_the_installed_pytorch(expression: str) -> None:
    torch = pytest.importorskip("torch")
    y = eval(expression, {"torch": torch, "x": non_leaf(torch)})
    assert (type(y.grad_fn).__name__, y._is_view()) == NODES[expression]


@pytest.mark.parametrize("expression", [e for e in NODES if "split" not in e])
def test_views_share_memory_and_copies_do_not(expression: str) -> None:
    x = non_leaf(pullback)
    y = eval(expression, {"torch": pullback, "x": x})
    shared = owner_of(y._array) is owner_of(x._array)
    assert shared is (NODES[expression][1] and "ravel" not in expression or expression.partition("(")[0].endswith("_"))
    assert y._base is (x if NODES[expression][1] and shared else y._base)


# --- writing through views --------------------------------------------------------------------------------------


@pytest.mark.parametrize("program", PROGRAMS)
def test_gradients_of_programs_against_differences(program: str) -> None:
    """Whatever was written through whatever view, first and second derivatives are those of the function computed."""
    x, v = leaves(pullback)
    assert gradcheck(lambda x, v: run(program, pullback, x, v)[0], (x, v))
    if run(program, pullback, x, v)[0].requires_grad:
        assert gradgradcheck(lambda x, v: (run(program, pullback, x, v)[0] ** 3).sum(), (x, v), fast_mode=True)


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_other_tensors_of_programs_have_gradients_too(program: str) -> None:
    """Views that were taken before a write know what they show now."""
    x, v = leaves(pullback)

    def others(x: Any, v: Any) -> Any:
        return tuple(t * t for t in run(program, pullback, x, v)[1].values())

    if any(t.requires_grad for t in others(x, v)):
        assert gradcheck(others, (x, v))


@pytest.mark.torch
@pytest.mark.parametrize("program", [p for p in PROGRAMS if p not in OURS_ALONE])
def test_programs_against_pytorch(program: str) -> None:
    """Values, gradients and second gradients of the result and of every view."""
    torch = pytest.importorskip("torch")
    results = []
    for root in (torch, pullback):
        x, v = leaves(root)
        y, others = run(program, root, x, v)
        seen: list[Any] = [y, *others.values()]
        for t in (y, *others.values()):
            if t.requires_grad:
                first = root.autograd.grad((t * t * t).sum(), (x, v), create_graph=True, allow_unused=True)
                moving = [(g * g).sum() for g in first if g is not None and g.requires_grad]
                second = root.autograd.grad(sum(moving), (x, v), allow_unused=True, retain_graph=True) if moving else ()
                seen += [*first, *(second or (None, None))]
        results.append([None if t is None else t.detach().numpy() for t in seen])
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(0 if b is None else b, 0 if a is None else a, rtol=1e-9, atol=1e-9)


def test_a_saved_value_overwritten_through_another_view_is_noticed() -> None:
    x, v = leaves(pullback)
    y = x * 1
    z = y[0]
    squares = z * z
    y[:, 1].add_(1)
    with pytest.raises(RuntimeError, match="has been modified by an inplace operation") as caught:
        squares.sum().backward()
    assert any("y[:, 1].add_(1)" in note for note in caught.value.__notes__)


def test_views_of_one_node_and_of_no_grad_are_not_written_into() -> None:
    x, v = leaves(pullback)
    y = x * 1
    for view in (y.unbind(0)[0], y.split(1)[0], y.chunk(3)[0]):
        with pytest.raises(RuntimeError, match="output of a function that returns multiple views"):
            view.mul_(2)
    with pullback.no_grad():
        z = y[0]
    with pytest.raises(
        RuntimeError, match="A view was created in no_grad mode and is being modified inplace with grad mode enabled"
    ):
        z.mul_(2)
    with pullback.no_grad():
        z.mul_(2)
    pullback.unsafe_split(y, 1)[0].mul_(2)


def test_leaves_that_require_grad_are_not_written_into() -> None:
    x, v = leaves(pullback)
    before = x.detach().clone()
    for write_into in (lambda: x[0].mul_(2), lambda: x.view(-1)[3:].zero_(), lambda: x.diagonal().fill_(0)):
        with pytest.raises(
            RuntimeError, match="a view of a leaf Variable that requires grad is being used in an in-place operation"
        ):
            write_into()
    for change in (lambda: x.t_(), lambda: x.unsqueeze_(0), lambda: x.squeeze_(0)):
        with pytest.raises(
            RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"
        ):
            change()
    assert pullback.equal(x.detach(), before)
    assert x.shape == (3, 4)
    with pullback.no_grad():
        x[0] = 5
        x.view(-1)[-1] = 7
    assert x[0, 0] == 5 and x[2, 3] == 7


def test_expanded_tensors_are_read_only_but_for_one_number_and_their_distinct_parts() -> None:
    x = pullback.arange(3.0)
    e = x.expand(2, 3)
    for write_into in (
        lambda: e.add_(1),
        lambda: e.copy_(x),
        lambda: e.fill_(pullback.tensor(1.0)),
        lambda: e.__setitem__((slice(None), 0), 1),
    ):
        with pytest.raises(
            RuntimeError, match="more than one element of the written-to tensor refers to a single memory location"
        ):
            write_into()
    assert x.tolist() == [0, 1, 2]
    e[0].add_(1)
    e[1, 0] = 9
    assert x.tolist() == [9, 2, 3] and e.tolist() == [[9, 2, 3]] * 2
    assert e.fill_(4).tolist() == [[4, 4, 4]] * 2 and e.zero_().sum() == 0


def test_in_place_changes_of_shape_keep_memory_and_history() -> None:
    x, v = leaves(pullback)
    y = x * 1
    z = y[1]
    assert y.unsqueeze_(0).squeeze_(0).t_().transpose_(0, 1) is y
    y[1] = v
    assert z.tolist() == v.tolist()
    (y * z).sum().backward()
    np.testing.assert_allclose(v.grad.numpy(), (x.detach().numpy()[[0, 2]].sum(0) + 2 * v.detach().numpy()), rtol=1e-12)


def test_reshape_of_a_contiguous_tensor_is_a_view_and_of_another_a_copy() -> None:
    x = pullback.zeros(2, 3)
    x.reshape(3, 2)[0] = 1
    assert x.tolist() == [[1, 1, 0], [0, 0, 0]]
    y = x.t().reshape(-1)
    y.zero_()
    assert x.sum() == 2
    with pytest.raises(RuntimeError, match="view size is not compatible with input tensor's size and stride"):
        x.t().view(-1)
    assert x.t().view(3, 2, 1).shape == (3, 2, 1)


# --- windows ----------------------------------------------------------------------------------------------------


def layouts(rng: np.random.Generator) -> np.ndarray:
    """An array in one of many memory layouts."""
    a = np.arange(60.0).reshape(3, 4, 5).copy()
    a = a.transpose(rng.permutation(3))
    kind = rng.integers(5)
    if kind == 0:
        return np.ascontiguousarray(a)
    if kind == 1:
        return a  # dense, in another order
    if kind == 2:
        return a[::2, :, 1:]  # gaps
    if kind == 3:
        return np.broadcast_to(a[:, :1], a.shape)  # repeats
    return a[1:, 1]


def cut(rng: np.random.Generator, a: np.ndarray) -> np.ndarray:
    """A random view."""
    for _ in range(rng.integers(1, 4)):
        kind = rng.integers(5)
        if kind == 0 and a.ndim:
            a = a[rng.integers(a.shape[0]) if a.shape[0] else slice(None), ...]
        elif kind == 1 and a.ndim:
            a = a[..., rng.integers(0, 2) :: rng.integers(1, 3)]
        elif kind == 2:
            a = a.transpose(rng.permutation(a.ndim))
        elif kind == 3:
            a = a[None]
        else:
            a = np.broadcast_to(a, (2, *a.shape))  # shows everything twice
    return a


@pytest.mark.parametrize("seed", range(120))
def test_a_window_shows_what_the_view_shows(seed: int) -> None:
    """Reading the window of an array with the base's values gives the view; placing is the transpose of reading."""
    rng = np.random.default_rng(seed)
    base = layouts(rng)
    view = cut(rng, base)
    w = part_of_view(base, view)
    np.testing.assert_array_equal(w.read(base), view)
    values, g = rng.standard_normal(base.shape), rng.standard_normal(view.shape)
    repeats = 0 in base.strides and any(n > 1 for n, s in zip(base.shape, base.strides) if s == 0)
    if not repeats:
        np.testing.assert_allclose(
            (w.read(values) * g).sum(), (values * w.place(g, base.shape)).sum(), rtol=1e-10, atol=1e-10
        )
        inside = w.place(np.ones(view.shape), base.shape) > 0
        np.testing.assert_array_equal(w.overwritten(values, -1.0), np.where(inside, -1.0, values))
    if base.flags.c_contiguous and np.unique(view).size == view.size:
        assert isinstance(w, Window)  # no index arrays
    else:
        assert isinstance(w, (Window, Positions))


def test_a_window_may_reach_beyond_its_base() -> None:
    """as_strided of a part sees the whole memory; what lies outside of the part has no gradient."""
    memory = pullback.arange(6.0)
    x = memory[2:4].detach().requires_grad_()
    y = x.as_strided((4,), (1,), 0)
    assert y.tolist() == [0, 1, 2, 3]
    (y * y).sum().backward()
    assert x.grad.tolist() == [4, 6]


def test_of_an_element_written_twice_the_last_write_counts() -> None:
    memory = np.zeros(2)
    part = part_of_view(memory, strided(memory, (3, 2), (0, 8), 0))
    x, value = (
        pullback.zeros(2, dtype=pullback.float64),
        pullback.arange(6.0, dtype=pullback.float64).view(3, 2).requires_grad_(),
    )
    y = write_part(x, value, part)
    assert y.tolist() == [4, 5]
    y.sum().backward()
    assert value.grad.tolist() == [[0, 0], [0, 0], [1, 1]]
    assert read_part(y, part).tolist() == [[4, 5]] * 3


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "complex64"])
def test_all_types_have_views(dtype: str) -> None:
    x = pullback.ones(3, 4, dtype=getattr(pullback, dtype), requires_grad=True)
    y = x * 1
    y[0].mul_(2)
    y.t()[1].add_(1)
    y.diagonal().mul_(3)
    assert y.expand(2, 3, 4).unfold(2, 2, 1).as_strided((2, 2), (4, 1)).to(pullback.complex64).real.tolist() == [
        [6, 3],
        [1, 6],
    ]
    y.sum().backward(gradient=pullback.ones((), dtype=y.dtype))
    assert x.grad.dtype is x.dtype
    assert x.grad.to(pullback.complex64).real.tolist() == [[6, 2, 2, 2], [1, 3, 1, 1], [1, 1, 3, 1]]


# --- memory -----------------------------------------------------------------------------------------------------


def test_where_elements_lie() -> None:
    x = pullback.zeros(3, 4)
    y = x[1:, 2]
    assert (x.stride(), x.stride(-1), y.stride(), y.storage_offset()) == ((4, 1), 1, (4,), 6)
    assert (
        y.data_ptr() - x.data_ptr() == 24
        and y.untyped_storage().data_ptr() == x.data_ptr()
        and y.untyped_storage().nbytes() == 48
    )
    assert (x.size(), x.size(1), x.dim(), x.ndimension(), x.numel(), x.nelement(), x.element_size()) == (
        (3, 4),
        4,
        2,
        2,
        12,
        12,
        4,
    )
    assert x.expand(2, 3, 4).stride() == (0, 4, 1) and x.t().stride() == (1, 4) and x[:, None].stride() == (4, 4, 1)
    assert pullback.zeros(3, 0, 2).stride() == (2, 2, 1)
    assert x.is_set_to(x.view(3, 4)) and not x.is_set_to(x.t()) and x.is_same_size(x * 2)
    with pytest.raises(IndexError, match="Dimension specified as 0 but tensor has no dimensions"):
        pullback.zeros(()).size(0)


def test_copies_keep_the_order_of_dimensions_unless_told() -> None:
    x = pullback.zeros(2, 3, 4).transpose(0, 1)
    assert x.clone().stride() == x.stride()
    assert x.contiguous().stride() == x.clone(memory_format=pullback.contiguous_format).stride() == (8, 4, 1)
    image = pullback.arange(120.0).view(2, 3, 4, 5)
    last = image.contiguous(memory_format=pullback.channels_last)
    assert last.stride() == (60, 1, 15, 3) and pullback.equal(last, image)
    assert last.is_contiguous(memory_format=pullback.channels_last) and not last.is_contiguous()
    assert last.contiguous(memory_format=pullback.channels_last) is last
    with pytest.raises(RuntimeError, match="required rank 4 tensor to use channels_last format"):
        x.contiguous(memory_format=pullback.channels_last)


def test_memory_read_as_another_type() -> None:
    x = pullback.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = x.view(pullback.int32)
    assert not y.requires_grad and owner_of(y._array) is owner_of(x._array)
    assert x.view(dtype=pullback.int16).shape == (2, 4) and x.view(pullback.float64).shape == (2, 1)
    for wrong, words in (
        (x.t(), r"self.stride\(-1\) must be 1 to view Float as Short"),
        (pullback.zeros(()), r"self.dim\(\) cannot be 0 to view Float as Short"),
    ):
        with pytest.raises(RuntimeError, match=words):
            wrong.view(pullback.int16)
    with pytest.raises(RuntimeError, match=r"self.size\(-1\) must be divisible by 2 to view Float as Double"):
        pullback.zeros(3).view(pullback.float64)


def test_resize() -> None:
    x = pullback.arange(6.0)
    y = x.resize_(2, 2)
    assert y is x and x.tolist() == [[0, 1], [2, 3]]
    assert x.resize_((3, 2)).tolist()[:2] == [[0, 1], [2, 3]] and x.resize_as_(pullback.zeros(9)).shape == (9,)
    with pytest.raises(RuntimeError, match="cannot resize variables that require grad"):
        pullback.zeros(2, requires_grad=True).resize_(3)


def test_broadcast_shapes() -> None:
    assert pullback.broadcast_shapes((2, 1), (3,), ()) == (2, 3)
    assert pullback.broadcast_shapes((0, 1), 4) == (0, 4)
    with pytest.raises(RuntimeError, match="Attempting to broadcast a dimension of length 3 at -1!"):
        pullback.broadcast_shapes((2,), (3,))
    a, b = pullback.broadcast_tensors(x := pullback.zeros(2, 3), pullback.zeros(3))
    assert a is x and b.shape == (2, 3)


def test_transposes_of_other_than_matrices() -> None:
    with pytest.warns(UserWarning, match="The use of `x.T` on tensors of dimension other than 2"):
        assert pullback.zeros(2, 3, 4).T.shape == (4, 3, 2)
    with pytest.raises(RuntimeError, match="tensor.H is only supported on matrices"):
        pullback.zeros(3).H  # noqa: B018
    with pytest.raises(
        RuntimeError, match="tensor.mT is only supported on matrices or batches of matrices. Got 1-D tensor"
    ):
        pullback.zeros(3).mT  # noqa: B018
    z = pullback.tensor([[1 + 2j, 3j]])
    assert z.H.tolist() == [[1 - 2j], [-3j]] and z.mH.shape == (2, 1)


@pytest.mark.parametrize("dtype", (np.float32, np.complex128, np.uint8, bool))
@pytest.mark.parametrize("dim", (1, 2, -1))
def test_many_short_pieces_are_joined_as_few_are(dtype: Any, dim: int) -> None:
    """What lies side by side in small pieces, in pieces of different sizes, in other layouts, and empty."""
    arrays = [np.arange(n * 5000 * 3).reshape(5000, n, 3).astype(dtype) for n in (1, 2, 1)]
    if dim != 1:
        arrays = [a.swapaxes(1, 2) if k == 1 else a.swapaxes(1, 2).copy() for k, a in enumerate(arrays)]
    for given in (arrays, arrays[::2], [arrays[0][:, :, :0] if dim != 1 else arrays[0][:, :0], *arrays]):
        joined = pullback.cat([pullback.from_numpy(a) for a in given], dim)
        np.testing.assert_array_equal(joined.numpy(), np.concatenate(given, dim))
    stacked = pullback.stack([pullback.from_numpy(arrays[k]) for k in (0, 2)], dim)
    np.testing.assert_array_equal(stacked.numpy(), np.stack([arrays[0], arrays[2]], dim))
    assert joined.is_contiguous() and stacked.is_contiguous() and stacked.dtype is pullback.from_numpy(arrays[0]).dtype


def test_joining_many_pieces_that_do_not_fit_is_refused() -> None:
    with pytest.raises(
        RuntimeError, match="Sizes of tensors must match except in dimension 1. Expected size 5000 but got size 5001"
    ):
        pullback.cat([pullback.zeros(5000, 1), pullback.zeros(5001, 1)], 1)


@pytest.mark.parametrize("n", (3, 70))
def test_small_and_large_tensors_are_rolled_as_numpy_does(n: int) -> None:
    x = np.arange(n * n * 2.0).reshape(n, 2, n)
    for shifts, dims in (((1,), ()), ((-2, 1, 5), (0, 1, -1)), ((1, 1), (2, 2)), ((n,), (0,))):
        rolled = pullback.roll(pullback.from_numpy(x.swapaxes(0, 2)), shifts, dims)
        np.testing.assert_array_equal(
            rolled.numpy(), np.roll(x.swapaxes(0, 2), shifts if dims else shifts[0], dims or None)
        )
        assert rolled.is_contiguous()


def test_choices_of_three_and_of_none() -> None:
    a, b, c = (
        pullback.tensor([1.0, 2.0], requires_grad=True),
        pullback.tensor([3.0, 4.0, 5.0]),
        pullback.tensor([6.0, 7.0], requires_grad=True),
    )
    rows = pullback.cartesian_prod(a, b, c)
    assert rows.tolist() == [[x, y, z] for x in a.tolist() for y in b.tolist() for z in c.tolist()]
    weights = pullback.arange(36.0).reshape(12, 3)
    (rows * weights).sum().backward()
    assert a.grad.tolist() == [sum(range(0, 18, 3)), sum(range(18, 36, 3))] and c.grad.tolist() == [
        sum(range(2, 36, 6)),
        sum(range(5, 36, 6)),
    ]
    assert pullback.cartesian_prod(a, b[:0]).shape == (0, 2)
    with pytest.raises(RuntimeError, match="meshgrid expects all tensors to have the same dtype"):
        pullback.cartesian_prod(a, b.double())
    for several in (pullback.cartesian_prod, lambda: pullback.meshgrid(indexing="ij")):
        with pytest.raises(RuntimeError, match="meshgrid expects a non-empty TensorList"):
            several()


def test_sizes_that_change_are_looked_at_each_time() -> None:
    x, n = pullback.zeros(3, 1), pullback.tensor(2)
    assert x.expand(3, n).shape == (3, 2)
    n += 1
    assert x.expand(3, n).shape == (3, 3)


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda x: x[1:], "self.storage_offset() must be divisible by 2 to view Float as Double"),
        (lambda x: x[:15].reshape(5, 3)[:, :2], "self.stride(0) must be divisible by 2 to view Float as Double"),
        (lambda x: x[:16:2], "self.stride(-1) must be 1 to view Float as Double"),
        (lambda x: x[:3], "self.size(-1) must be divisible by 2 to view Float as Double"),
    ],
)
def test_larger_elements_begin_and_step_at_whole_ones(make: Any, words: str) -> None:
    x = pullback.arange(17, dtype=pullback.float32)
    with pytest.raises(RuntimeError, match=re.escape(words)):
        make(x).view(pullback.float64)
    assert x[2:].view(pullback.int16).stride() == (1,)
    assert x[2:16].view(2, 7)[:, 1:5].view(pullback.int16).stride() == (14, 1)


@pytest.mark.parametrize(
    "layout", (lambda x: x.t(), lambda x: x[::2], lambda x: x[:, 1::3]), ids=("t", "rows", "columns")
)
def test_few_elements_are_read_from_memory_with_gaps(layout: Any) -> None:
    """Where a copy of all of it would take longest."""
    x = layout(pullback.arange(50.0 * 61).reshape(50, 61))
    for offset in (0, 3, -7, 100):
        assert pullback.equal(pullback.diag(x, offset), pullback.diag(x.contiguous(), offset))
        y = x.clone(memory_format=pullback.preserve_format).requires_grad_()
        (g,) = pullback.autograd.grad(pullback.diag(y, offset).sum(), y)
        assert pullback.equal(
            g, pullback.diagonal_scatter(pullback.zeros(x.shape), pullback.ones_like(pullback.diag(x, offset)), offset)
        )
