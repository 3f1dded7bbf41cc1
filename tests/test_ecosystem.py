"""Tensors among NumPy's functions, in DLPack's exchange, and in what prints them."""

import io
import math
import operator

import numpy as np
import pytest

import pullback as torch


@pytest.fixture
def t():
    return torch.arange(6.0).reshape(2, 3)


# --- NumPy reads tensors ----------------------------------------------------------------------------------------


def test_asarray_shares_memory(t):
    a = np.asarray(t)
    a[0, 0] = 9
    assert a.dtype == np.float32
    assert t[0, 0] == 9
    assert np.asarray(t.T).strides == (4, 12)


def test_asarray_casts_and_copies(t):
    assert np.asarray(t, dtype=np.int32).dtype == np.int32
    copy = np.array(t)
    copy[0, 0] = 9
    assert t[0, 0] == 0
    with pytest.raises(ValueError, match="copy"):
        np.asarray(t, dtype=np.float64, copy=False)


@pytest.mark.parametrize("use", [np.asarray, np.sin, lambda r: np.stack([r, r])])
def test_history_is_not_lost_silently(use):
    with pytest.raises(
        RuntimeError,
        match=r"Can't call numpy\(\) on Tensor that requires grad. Use tensor.detach\(\).numpy\(\) instead.",
    ):
        use(torch.ones(2, requires_grad=True))


def test_universal_functions_give_tensors(t):
    out = np.sin(t)
    assert isinstance(out, torch.Tensor)
    assert out.dtype is torch.float32
    np.testing.assert_allclose(out, np.sin(np.arange(6, dtype=np.float32)).reshape(2, 3), rtol=1e-6)


def test_functions_of_numpy(t):
    assert np.concatenate([t, t]).shape == (4, 3)
    assert np.allclose(t, t)
    assert np.array_equal(t, t.numpy())
    assert list(np.arange(10)[torch.tensor([1, 2])]) == [1, 2]
    assert "abcd"[torch.tensor(3)] == "d"


@pytest.mark.parametrize("left", [np.ones(3), np.float64(1)])
def test_arrays_and_numbers_on_the_left(left):
    r = torch.ones(3, requires_grad=True)
    out = left * r
    assert isinstance(out, torch.Tensor)
    out.sum().backward()
    assert r.grad.tolist() == [1, 1, 1]


# --- tensors from NumPy -----------------------------------------------------------------------------------------


def test_indices_and_numbers_of_numpy(t):
    assert t[np.array([0, 1]), np.array([1, 2])].tolist() == [1, 5]
    assert t[np.int64(1)].tolist() == [3, 4, 5]
    assert t[np.array([True, False])].tolist() == [[0, 1, 2]]
    assert torch.tensor(np.float32(3)).dtype is torch.float32
    assert torch.tensor([np.array([1, 2]), np.array([3, 4])]).tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("array", "error", "words"),
    [
        (np.arange(3)[::-1], ValueError, "At least one stride in the given numpy array is negative"),
        (np.array(["a"]), TypeError, "can't convert np.ndarray of type numpy.str_. The only supported types are"),
        (np.array([None]), TypeError, "can't convert np.ndarray of type numpy.object_"),
        (
            np.ones(2, ">f4" if np.little_endian else "<f4"),
            ValueError,
            "given numpy array has byte order different from the native byte order",
        ),
    ],
)
def test_arrays_that_are_refused(array, error, words):
    with pytest.raises(error, match=words):
        torch.from_numpy(array)


@pytest.mark.parametrize("descending", [False, True])
def test_results_can_be_written_into_by_numpy(descending):
    """No operation but a view gives an array that repeats its memory, runs backwards or is read-only."""
    in_order = torch.sort(torch.rand(4), descending=descending).values
    for out in (in_order, torch.zeros(3).repeat(2, 1), torch.eye(3).repeat(1, 1), torch.ones(1).tile(3)):
        assert min(out.stride()) > 0
        out.numpy()[...] = 5
        assert out.eq(5).all()
        assert out.copy_(torch.ones_like(out)).eq(1).all()


# --- DLPack -----------------------------------------------------------------------------------------------------


def test_dlpack_shares_memory_both_ways(t):
    np.from_dlpack(t)[1, 1] = 7
    assert t[1, 1] == 7
    a = np.arange(3.0)
    torch.from_dlpack(a)[0] = 5
    assert a[0] == 5
    assert torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(t)).data_ptr() == t.data_ptr()


class Exporter:
    """What hands out a tensor's memory, without DLPack's newer keywords."""

    def __init__(self, t):
        self.t = t

    def __dlpack__(self, stream=None):
        return self.t.__dlpack__()

    def __dlpack_device__(self):
        return self.t.__dlpack_device__()


class Lenient(Exporter):
    def __dlpack__(self, **ignored):
        return self.t.__dlpack__()


@pytest.mark.parametrize("kind", [Exporter, Lenient])
def test_what_older_exporters_share_can_be_written(t, kind):
    shared = torch.from_dlpack(kind(t))
    shared[0, 0] = 9
    assert t[0, 0] == 9 and shared.data_ptr() == t.data_ptr() == torch.asarray(kind(t)).data_ptr()
    torch.from_dlpack(kind(t), copy=True)[0, 0] = 5
    assert t[0, 0] == 9


def test_a_capsule_is_used_once(t):
    capsule = t.__dlpack__()
    torch.from_dlpack(capsule)
    with pytest.raises(RuntimeError, match="invalid capsule. Note that DLTensor capsules can be consumed only once"):
        torch.from_dlpack(capsule)


@pytest.mark.parametrize(
    "options", [{}, {"copy": True}, {"dtype": torch.float64}, {"copy": True, "dtype": torch.float64}]
)
def test_gradients_flow_through_asarray(options):
    w = torch.ones(2, requires_grad=True)
    for more in ({}, {"requires_grad": True}):
        w.grad = None
        torch.asarray(w * 2, **options, **more).sum().backward()
        assert w.grad.tolist() == [2, 2]
    assert not torch.asarray(w * 2, **options, requires_grad=False).requires_grad and w.requires_grad
    copy = torch.asarray(w.detach(), copy=True, requires_grad=True)
    assert copy.is_leaf and copy.requires_grad and copy.data_ptr() != w.data_ptr()


def test_dlpack_does_not_lose_history():
    with pytest.raises(BufferError, match="Can't export tensors that require gradient, use tensor.detach"):
        np.from_dlpack(torch.ones(2, requires_grad=True))


# --- Python and what prints -------------------------------------------------------------------------------------


def test_numbers_and_formats():
    assert math.sqrt(torch.tensor(4.0)) == 2
    assert "%s %d %.2f" % (torch.tensor(1), torch.tensor(2), torch.tensor(3.0)) == "tensor(1) 2 3.00"  # noqa: UP031
    assert f"{torch.tensor(1.23456):.3f} {torch.tensor(2):05d}" == "1.235 00002"
    assert complex(torch.tensor(1.0)) == 1
    assert sum([torch.ones(2), torch.ones(2)]).tolist() == [2, 2]
    assert max(torch.tensor(1), torch.tensor(2)) == 2


def test_rich_shows_a_tensor_as_it_prints(t):
    from rich.console import Console
    from rich.pretty import pretty_repr

    console = Console(file=io.StringIO(), width=60)
    console.print(t)
    assert console.file.getvalue() == f"{t}\n"
    assert repr(t) in pretty_repr([t])


# --- classes that stand for tensors without being any ------------------------------------------------------------


class Diagonal:
    """As in libraries of structured matrices: not a tensor, but handed to the same functions."""

    def __init__(self, values):
        self.values = values

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        assert types == (Diagonal,)
        return func, args


@pytest.mark.parametrize(
    "name",
    [
        "add",
        "sub",
        "mul",
        "div",
        "matmul",
        "clone",
        "abs",
        "linalg.eigh",
        "isclose",
        "linalg.cholesky",
        "linalg.inv",
        "inverse",
        "linalg.solve",
        "logdet",
    ],
)
def test_stand_ins_are_asked_with_the_public_function(name):
    assert torch.overrides.has_torch_function  # once it is imported, all functions ask at once
    with torch.autocast("cpu"):  # which puts functions of its own around some
        torch.ones(1, 1) @ torch.ones(1, 1)
    function = torch
    for part in name.split("."):
        function = getattr(function, part)
    d, t = Diagonal(torch.ones(2)), torch.ones(2, 2)
    pairs = [(d, t), (d, d)] if name == "linalg.solve" else [(d, t), (t, d), (d, d)]
    for args in (
        [(d,)]
        if name in ("clone", "abs", "linalg.eigh", "linalg.cholesky", "linalg.inv", "inverse", "logdet")
        else pairs
    ):
        func, given = function(*args)
        assert func is function
        assert len(given) == len(args) and all(a is b for a, b in zip(given, args))


def test_stand_ins_get_a_dimension_as_a_number():
    d = Diagonal(torch.ones(2))
    d.ndim = 2
    assert torch.sum(d, 1) == (torch.sum, (d, 1)) and torch.sum(d, (0, 1)) == (torch.sum, (d, (0, 1)))


def test_functions_of_other_libraries_are_not_taken_for_those_of_the_same_name():
    def max(x):
        return torch.overrides.handle_torch_function(max, (x,), x)

    d = Diagonal(torch.ones(2))
    assert max(d) == (max, (d,))


class Holder:
    """No tensor, but holds one, and takes the calls that it is handed to."""

    asked: list = []

    def __init__(self, held):
        self.held = held

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.asked.append(func)

        def held(x):
            return x.held if isinstance(x, cls) else type(x)(map(held, x)) if type(x) in (list, tuple) else x

        return func(*held(args), **{k: held(v) for k, v in (kwargs or {}).items()})


T = torch.tensor([[4.0, 1.0], [1.0, 3.0]])
N = torch.tensor([[4, 1], [1, 3]])
AT = torch.tensor([1, 0])


def written(index, value):
    x = T.clone()
    x[index] = value
    return x


HELD = {  # with Holder in h's place; T itself is what comes out with T there
    "hstack": lambda h: torch.hstack([h(T), T]),
    "vstack": lambda h: torch.vstack([h(T[0]), h(T[1])]),
    "dstack": lambda h: torch.dstack([T, h(T)]),
    "column_stack": lambda h: torch.column_stack((h(T), T)),
    "concat": lambda h: torch.concat((T, h(T)), 1),
    "isin": lambda h: torch.isin(h(T), torch.tensor([1.0])),
    "isin, second": lambda h: torch.isin(T, h(torch.tensor([1.0]))),
    "where": lambda h: torch.where(h(T > 1), T, 0.0),
    "where, alone": lambda h: torch.where(h(T > 1))[1],
    **{
        f"operator.{name}": lambda h, name=name: getattr(operator, name)(T, h(T))
        for name in "eq ne lt le gt ge add sub mul truediv floordiv mod pow matmul".split()
    },
    **{
        f"operator.{name}": lambda h, name=name: getattr(operator, name)(N, h(N))
        for name in "and_ or_ xor lshift rshift".split()
    },
    "+=": lambda h: operator.iadd(T.clone(), h(T)),
    "x[h]": lambda h: T[h(AT)],
    "x[:, h]": lambda h: T[:, h(AT)],
    "x[mask]": lambda h: T[h(T > 1)],
    "x[h, h]": lambda h: T[h(AT), h(AT)],
    "x[h] = 1": lambda h: written(h(AT), 1.0),
    "x[0] = h": lambda h: written(0, h(T[1])),
    "x[mask] = 0": lambda h: written(h(T > 1), 0.0),
    "out=": lambda h: getattr(torch.exp(T, out=h(torch.empty(2, 2))), "held", None) or torch.exp(T),
    "exp": lambda h: torch.exp(h(T)),
    "maximum": lambda h: torch.maximum(T, h(T)),
    "cat": lambda h: torch.cat([T, h(T)], dim=1),
}


@pytest.mark.parametrize("name", HELD)
def test_stand_ins_are_asked_wherever_a_tensor_may_stand(name):
    Holder.asked.clear()
    result, expected = HELD[name](Holder), HELD[name](lambda x: x)
    assert Holder.asked and result.dtype is expected.dtype and np.array_equal(result, expected)


def test_stand_ins_get_the_function_that_was_called():
    for function in (torch.hstack, torch.vstack, torch.dstack, torch.column_stack, torch.concat):
        Holder.asked.clear()
        function([Holder(T), T])
        assert Holder.asked == [function]
    Holder.asked.clear()
    torch.isin(Holder(T), T), torch.where(Holder(T > 1), T, T), T[Holder(AT)]
    assert Holder.asked == [torch.isin, torch.where, torch.Tensor.__getitem__]


def test_stand_ins_are_not_asked_where_that_is_turned_off():
    with torch._C.DisableTorchFunction():
        assert (T == Holder(T)) is False
        with pytest.raises(TypeError):
            T + Holder(T)
        with pytest.raises(IndexError):
            T[Holder(AT)]


def test_others_are_refused():
    with pytest.raises(TypeError, match=r"add\(\): argument 'other' \(position 2\) must be Tensor, not object"):
        torch.add(torch.ones(2), object())


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        ([torch.tensor(1.0), 1e-7], torch.float32),
        ([torch.tensor(1), 1.0], torch.float32),
        ([np.float32(2), 1.0], torch.float32),
        ([torch.tensor(1.0, dtype=torch.float64), 1.0], torch.float64),
        ([np.float64(1), 2.0], torch.float64),
        ([[torch.tensor(1.0), 2.0], [3, 4]], torch.float32),
        ([torch.tensor(1j), 1.0], torch.complex64),
    ],
)
def test_python_numbers_among_typed_ones_take_the_default_type(data, kind):
    assert torch.tensor(data).dtype is kind


# --- subclasses, as libraries declare them ----------------------------------------------------------------------


def test_a_method_is_another_function_than_that_of_its_name():
    seen = []

    class Noting(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func)
            return super().__torch_function__(func, types, args, kwargs or {})

    x = torch.ones(2, 2).as_subclass(Noting)
    calls = {
        "unbind": (lambda: torch.unbind(x), lambda: x.unbind()),
        "relu": (lambda: torch.relu(x), lambda: x.relu()),
        "add": (lambda: torch.add(x, 1), lambda: x + 1, lambda: 1 + x, lambda: torch.ones(2, 2).add(x)),
        "sum": (lambda: torch.sum(x), lambda: x.sum()),
        "split": (lambda: torch.split(x, 1), lambda: x.split(1)),
        "matmul": (lambda: torch.matmul(x, x), lambda: x.matmul(x), lambda: x @ x),
        "neg": (lambda: torch.neg(x), lambda: x.neg(), lambda: -x),
    }
    for name, (function, *methods) in calls.items():
        seen.clear()
        function()
        assert seen == [getattr(torch, name)] != [getattr(torch.Tensor, name)]
        for method in methods:
            seen.clear()
            method()
            assert seen == [getattr(torch.Tensor, name)], name


def test_properties_ask_the_class():
    seen = []

    class Noting(torch.Tensor):
        @property
        def device(self):
            return "of its own"

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func)
            if func == torch.Tensor.dtype.__get__:
                return "another"
            return super().__torch_function__(func, types, args, kwargs or {})

    x = torch.arange(4.0).view(2, 2).as_subclass(Noting)
    seen.clear()
    assert x.shape == (2, 2) and x.dtype == "another" and x.device == "of its own"
    assert type(x.T) is type(x.data) is Noting and x.T.tolist() == [[0, 2], [1, 3]]
    expected = [getattr(torch.Tensor, name).__get__ for name in ("shape", "dtype", "T", "data", "T")]
    assert [f for f in seen if f in expected] == expected
    seen.clear()
    x.requires_grad = True
    x.grad = torch.ones(2, 2)
    del x.grad
    assert seen[0] == torch.Tensor.requires_grad.__set__
    assert seen[-2:] == [torch.Tensor.grad.__set__, torch.Tensor.grad.__delete__]
    x.grad = torch.ones(2, 2)
    assert type(x.grad) is torch.Tensor and Noting.shape is torch.Tensor.shape


def test_the_mode_that_changes_nothing():
    with torch.overrides.BaseTorchFunctionMode():
        assert (torch.ones(2) + 1).tolist() == [2, 2]


def test_sums_of_two_numbers_are_tensors():
    results = [torch.add(1, 2, alpha=2), torch.sub(1, 2.5), torch.mul(2, 1j), torch.floor_divide(7, 2)]
    results += [torch.div(7, 2), torch.true_divide(7, 2), torch.div(7, 2, rounding_mode="trunc")]
    assert [r.item() for r in results] == [5, -1.5, 2j, 3, 3.5, 3.5, 3]
    assert results[0].dtype is torch.int64 and results[1].dtype is torch.float32
    with pytest.raises(TypeError):
        torch.pow(2, 3)


def test_segments_by_their_older_name():
    x = torch.arange(3.0)
    assert torch._segment_reduce(x, "max", lengths=torch.tensor([2, 1])).tolist() == [1, 2]


def test_a_subclass_becomes_a_plain_tensor_again():
    class Plain(torch.Tensor):
        pass

    assert type(torch.ones(2).as_subclass(Plain).as_subclass(torch.Tensor)) is torch.Tensor


# --- NumPy's other arrays, parts of storages --------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_a_matrix_becomes_an_ordinary_tensor():
    given = np.matrix([[1.0, 2.0], [3.0, 4.0]])
    for make in (torch.from_numpy, torch.as_tensor, torch.tensor):
        t = make(given)
        assert (t * t).tolist() == [[1, 4], [9, 16]] and t[0].shape == (2,)
    torch.from_numpy(given)[0, 0] = 7
    assert given[0, 0] == 7


def test_a_tensor_may_be_set_to_a_part_of_a_storage():
    x = torch.arange(10.0)
    assert torch.empty(0).set_(x.untyped_storage()[8:16]).tolist() == [2.0, 3.0]


def test_where_a_generator_draws_is_a_device():
    assert torch.Generator().device == torch.device("cpu")
    assert isinstance(torch.Generator().device, torch.device)


def test_single_precision_eigenvalues_are_computed_in_single_precision():
    a = torch.eye(4) * 2 + torch.ones(4, 4)
    a[0, 1] += 1e-7  # what float64 sees of a symmetric matrix
    for values in (torch.linalg.eig(torch.stack([a, a]))[0][1], torch.linalg.eigvals(a)):
        assert values.dtype is torch.complex64
        assert sorted(values.real.tolist()) == pytest.approx([2, 2, 2, 6], rel=1e-5)
    assert torch.linalg.eig(torch.zeros(0, 3, 3))[1].shape == (0, 3, 3)
    assert torch.linalg.eig(a.cfloat())[1].dtype is torch.complex64


def test_linspace_rounds_as_pytorch_does():
    assert torch.linspace(0.0, 0.99, 31)[25].item() == 0.824999988079071
    assert torch.linspace(0.0, 0.99, 31, dtype=torch.float16)[25].item() == 0.8251953125


# --- base classes that share an object with nn.Module -------------------------------------------------------------


def test_distributions_and_transforms_initialise_the_next_base_class():
    from pullback import distributions as D

    class Flow(D.Transform, torch.nn.Module):
        __hash__ = torch.nn.Module.__hash__

        def __init__(self):
            super().__init__(cache_size=1)
            self.weight = torch.nn.Parameter(torch.ones(1))

    class Scaled(D.AffineTransform, torch.nn.Module):
        __hash__ = torch.nn.Module.__hash__

        def __init__(self):
            super().__init__(0.0, 2.0)
            self.weight = torch.nn.Parameter(torch.ones(1))

    class Learned(D.Normal, torch.nn.Module):
        def __init__(self):
            super().__init__(1.0, 2.0)
            self.weight = torch.nn.Parameter(torch.ones(1))

    for kind in (Flow, Scaled, Learned):
        assert [name for name, _ in kind().named_parameters()] == ["weight"]
    assert Learned().loc == 1 and Scaled()(torch.tensor(3.0)) == 6


def test_gradients_of_what_any_iterable_holds():
    parts = {"a": torch.ones(1, requires_grad=True), "b": torch.ones(1, requires_grad=True)}
    loss = (parts["a"] * 2 + parts["b"] * 3).sum()
    assert [g.item() for g in torch.autograd.grad(loss, parts.values(), retain_graph=True)] == [2, 3]
    loss.backward(inputs=parts.values())
    assert parts["b"].grad.item() == 3


def test_sizes_are_nodes_of_pytrees():
    from pullback.utils import _pytree

    leaves, spec = _pytree.tree_flatten(torch.Size([1, 2]))
    assert leaves == [1, 2] and spec.type is torch.Size
    assert torch.ones(1).broadcast_to(3).shape == torch.ones(1).broadcast_to((3,)).shape == (3,)
    a, b = torch.ones(1), torch.ones(1)
    assert a._cdata == a._cdata != b._cdata
