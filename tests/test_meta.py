"""The device ``meta``: shapes and types without values."""

import copy
import io
import tracemalloc

import numpy as np
import pytest

import pullback as torch
from pullback import nn
from pullback.ops import shapes
from pullback.ops.values.meta import Hollow

from .ops.samples import SAMPLES


def described(x):
    return tuple(x.shape), x.dtype, x.stride(), x.device.type


def blank(*size, dtype=None, **options):
    return torch.empty(*size, dtype=dtype, device="meta", **options)


MAKERS = {
    "zeros": lambda **where: torch.zeros(2, 3, **where),
    "full": lambda **where: torch.full((2,), 3, **where),
    "arange": lambda **where: torch.arange(3, **where),
    "linspace": lambda **where: torch.linspace(0, 1, 3, **where),
    "logspace": lambda **where: torch.logspace(0, 1, 3, **where),
    "eye": lambda **where: torch.eye(2, **where),
    "tensor": lambda **where: torch.tensor([1.0, 2.0], **where),
    "as_tensor": lambda **where: torch.as_tensor(np.ones(2), **where),
    "asarray": lambda **where: torch.asarray([1, 2], **where),
    "scalar_tensor": lambda **where: torch.scalar_tensor(1, **where),
    "empty_strided": lambda **where: torch.empty_strided((2, 3), (1, 2), **where),
    "tril_indices": lambda **where: torch.tril_indices(3, 3, **where),
    "channels last": lambda **where: torch.empty(2, 3, 4, 5, memory_format=torch.channels_last, **where),
    "rand": lambda **where: torch.rand(3, **where),
    "randn": lambda **where: torch.randn(3, dtype=torch.float64, **where),
    "randint": lambda **where: torch.randint(3, (2,), **where),
    "randperm": lambda **where: torch.randperm(4, **where),
    "normal": lambda **where: torch.normal(0.0, 1.0, (2,), **where),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_tensors_are_made_there(make):
    expected = described(make())
    assert described(make(device="meta")) == (*expected[:3], "meta")
    with torch.device("meta"):
        assert described(make()) == (*expected[:3], "meta")
        assert described(make(device="cpu")) == expected
        with torch.device("cpu"):
            assert described(make()) == expected
    assert described(make()) == expected


def test_nothing_is_drawn_there():
    torch.manual_seed(0)
    expected = torch.rand(2)
    torch.manual_seed(0)
    torch.rand(3, device="meta")
    nn.Linear(5, 5, device="meta")
    assert torch.equal(torch.rand(2), expected)


def test_new_ones_follow_their_tensor():
    x, y = blank(2, 3, dtype=torch.float64), torch.ones(2, 3)
    with torch.device("meta"):
        assert [
            f(y).is_cpu
            for f in (torch.zeros_like, torch.rand_like, lambda y: torch.full_like(y, 1), lambda y: y.new_empty(1))
        ] == [True] * 4
    for make in (
        torch.zeros_like,
        torch.rand_like,
        lambda x: torch.full_like(x, 1),
        lambda x: x.new_zeros(2, 3),
        lambda x: x.new_full((2, 3), 1),
    ):
        assert described(make(x)) == described(x)
    assert torch.zeros_like(x, device="cpu").tolist() == [[0, 0, 0], [0, 0, 0]]
    assert x.new_ones(1, device="cpu").item() == 1
    assert torch.zeros_like(y, device="meta").is_meta


def test_the_default_device():
    torch.set_default_device("meta")
    try:
        assert torch.zeros(1).is_meta
        assert torch.get_default_device() == torch.device("meta")
        with torch.device("cpu"):
            assert torch.zeros(1).is_cpu
    finally:
        torch.set_default_device(None)
    assert torch.get_default_device() == torch.device("cpu")
    assert torch.zeros(1).is_cpu


OPERATIONS = {
    "mixed types": lambda x: x.half() + torch.ones((), dtype=torch.int64, device=x.device),
    "with a number": lambda x: x * 2,
    "product": lambda x: x @ x.t(),
    "several results": lambda x: x.max(1).indices,
    "comparison": lambda x: x > 0,
    "chosen": lambda x: torch.where(x > 0, x, 0),
    "joined": lambda x: torch.cat([x, x], 1),
    "split": lambda x: x.split(2, 1)[1],
    "part": lambda x: x.t()[1:, None],
    "gathered": lambda x: x[:, torch.tensor([0, 0], device=x.device)],
    "view": lambda x: x.view(3, 2).t(),
    "expanded": lambda x: x.unsqueeze(1).expand(2, 4, 3),
    "reshaped copy": lambda x: x.t().reshape(6),
    "einsum": lambda x: torch.einsum("ij,kj->ik", x, x),
    "embedding": lambda x: nn.functional.embedding(torch.tensor([1, 0], device=x.device), x),
    "written": lambda x: x.clone().mul_(2).fill_(1).uniform_(),
    "other type": lambda x: x.to(torch.complex64),
    "layer": lambda x: nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.GELU()).to(x.device)(x).detach(),
}


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_operations_have_the_shape_and_type_of_results(operation):
    expected = described(operation(torch.zeros(2, 3)))
    assert described(operation(blank(2, 3))) == (*expected[:3], "meta")


def test_views_of_large_tensors_take_no_memory():
    x = blank(1 << 20, 1 << 20)
    assert x.nbytes == 1 << 42
    y = blank(1 << 15, 1 << 15)
    assert described(y.t()[5]) == ((1 << 15,), torch.float32, (1 << 15,), "meta")


M = 10**6
HUGE = {
    "linear": (lambda: nn.Linear(M, M, device="meta")(blank(M, M)), (M, M)),
    "conv2d": (lambda: nn.Conv2d(1000, M, 3, stride=2, device="meta")(blank(8, 1000, M, M)), (8, M, 499999, 499999)),
    "transposed": (lambda: nn.ConvTranspose1d(M, M, 3, stride=2, device="meta")(blank(1, M, M)), (1, M, 2 * M + 1)),
    "lstm": (lambda: nn.LSTM(M, 1000, 2, device="meta")(blank(100, M, M))[0], (100, M, 1000)),
    "cell": (lambda: nn.GRUCell(M, M, device="meta")(blank(M, M)), (M, M)),
    "attention": (
        lambda: nn.MultiheadAttention(10**5, 10, device="meta")(*[blank(M, 8, 10**5)] * 3)[0],
        (M, 8, 10**5),
    ),
    "transformer": (lambda: nn.TransformerEncoderLayer(1000, 10, M, device="meta")(blank(M, 8, 1000)), (M, 8, 1000)),
    "layer norm": (lambda: nn.LayerNorm(M, device="meta")(blank(M, M)), (M, M)),
    "batch norm": (lambda: nn.BatchNorm1d(M, device="meta")(blank(M, M)), (M, M)),
    "dropout": (lambda: nn.Dropout()(blank(M, M)), (M, M)),
    "embedding": (lambda: nn.Embedding(M, M, device="meta")(blank(M, 9, dtype=torch.int64)), (M, 9, M)),
    "max pool": (lambda: nn.MaxPool2d(2)(blank(8, 100, M, M)), (8, 100, M // 2, M // 2)),
    "loss": (lambda: nn.CrossEntropyLoss()(blank(M, M), blank(M, dtype=torch.int64)), ()),
    "loss of each": (lambda: nn.MSELoss(reduction="none")(blank(M, M), blank(M, M)), (M, M)),
    "product": (lambda: blank(8, M, M) @ blank(M, 3), (8, M, 3)),
    "reshaped": (lambda: blank(M, M).t().reshape(-1, 10), (M * M // 10, 10)),
    "reduced": (lambda: blank(M, M).var(1, keepdim=True), (M, 1)),
    "sorted": (lambda: blank(M, M).sort().indices, (M, M)),
    "joined": (lambda: torch.cat([blank(M, M), blank(3, M)]), (M + 3, M)),
    "chosen": (lambda: blank(M, M)[:, blank(9, dtype=torch.int64)], (M, 9)),
    "padded": (lambda: nn.functional.pad(blank(M, M), (1, 2)), (M, M + 3)),
    "full": (lambda: torch.full((M, M), 2.0, device="meta"), (M, M)),
    "eye": (lambda: torch.eye(M, device="meta"), (M, M)),
    "copied": (lambda: blank(M, M).t().contiguous().to(torch.float64), (M, M)),
    "written": (lambda: blank(M, M).add_(1).mul_(blank(M, M)).normal_(), (M, M)),
    "spectrum": (lambda: torch.fft.rfft(blank(M, M)), (M, M // 2 + 1)),
    "pairs": (lambda: torch.pdist(blank(M, M)), (M * (M - 1) // 2,)),
    "choices": (lambda: torch.cartesian_prod(blank(M), blank(M)), (M * M, 2)),
    "combinations": (lambda: torch.combinations(blank(M), 2, with_replacement=True), (M * (M + 1) // 2, 2)),
    "bags": (lambda: nn.EmbeddingBag(M, M, device="meta")(*[blank(n, dtype=torch.int64) for n in (10**9, M)]), (M, M)),
    "rows of bags": (
        lambda: nn.functional.embedding_bag(blank(M, 1000, dtype=torch.int64), blank(M, M), mode="max"),
        (M, M),
    ),
    "ATen's bags": (
        lambda: torch.embedding_bag(blank(M, M), *[blank(n, dtype=torch.int64) for n in (10**9, M)])[1],
        (10**9,),
    ),
    "sequences": (
        lambda: nn.CTCLoss(reduction="none")(blank(M, 9, M), blank(9, M, dtype=torch.int64), (M,) * 9, (M,) * 9),
        (9,),
    ),
    "stacked": (lambda: torch.stack([blank(10**9)] * 9, -1), (10**9, 9)),
    "blocks": (lambda: torch.block_diag(blank(M), blank(M, M)), (M + 1, 2 * M)),
    "grid": (
        lambda: nn.functional.affine_grid(blank(1000, 2, 3), (1000, 3, M, M), align_corners=False),
        (1000, M, M, 2),
    ),
    "decomposed": (lambda: torch.linalg.svd(blank(M, 100), full_matrices=False).S, (100,)),
}


@pytest.mark.parametrize("make, shape", HUGE.values(), ids=HUGE)
def test_huge_tensors_take_no_memory(make, shape):
    tracemalloc.start()
    try:
        assert make().shape == shape
        assert tracemalloc.get_traced_memory()[1] < 1 << 28
    finally:
        tracemalloc.stop()


def test_huge_gradients():
    net = nn.Linear(M, M, device="meta")
    net(blank(3, M)).softmax(1).sum().backward()
    assert net.weight.grad.shape == (M, M)


LOSSES = {
    "nll": lambda x: nn.functional.nll_loss(x.log_softmax(1), blank(10**9, dtype=torch.int64)),
    "cross entropy": lambda x: nn.functional.cross_entropy(x, blank(10**9, dtype=torch.int64), blank(10)),
    "pairs": lambda x: torch.pdist(x).sum(),
    "choices": lambda x: torch.cartesian_prod(x[:, 0], x[0]).sum(),
    "combinations": lambda x: torch.combinations(x[:, 0]).sum(),
    "bags": lambda x: nn.functional.embedding_bag(blank(M, 1000, dtype=torch.int64), x).sum(),
    "blocks": lambda x: torch.block_diag(x, x).sum(),
    "stacked": lambda x: torch.stack([x] * 9).sum(),
    "grid": lambda x: nn.functional.affine_grid(x[:6].view(-1, 2, 3), (10, 3, M, M), align_corners=False).sum(),
    "sequences": lambda x: nn.functional.ctc_loss(x, blank(9, dtype=torch.int64), 10**9, 9, blank=2),
}


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_huge_losses(loss):
    x = blank(10**9, 10, requires_grad=True)
    tracemalloc.start()
    try:
        loss(x).backward()
        assert tracemalloc.get_traced_memory()[1] < 1 << 28
    finally:
        tracemalloc.stop()
    assert described(x.grad) == described(x)


def test_rules_for_shapes_give_what_is_computed(monkeypatch):
    """The samples, with the rules for large tensors: shapes and types are those of zeros."""
    compared = []

    def described(op, values):
        rule = shapes.shape_rule.get(op) or (shapes.as_view if op.kind == "view" else shapes.scaled)
        try:
            with torch.no_grad():
                hollow = rule(op, *values)
        except Exception:  # then they are computed
            return None
        monkeypatch.setattr(shapes, "described", lambda op, values: None)
        try:
            computed = Hollow().compute(op, values, False)
        finally:
            monkeypatch.setattr(shapes, "described", described)
        got, right = ([(m.shape, m.dtype) for m in (r if type(r) is list else [r])] for r in (hollow, computed))
        assert got == right, (op.name, values)
        compared.append(op)
        return None

    def on_meta(x):
        if isinstance(x, np.ndarray):
            return torch.tensor(x).to("meta")
        return type(x)(map(on_meta, x)) if type(x) in (list, tuple) else x

    monkeypatch.setattr(shapes, "described", described)
    for sample in SAMPLES:
        try:
            sample.function(torch)(*map(on_meta, sample.arrays(np.float32)), **sample.kwargs)
        except (NotImplementedError, RuntimeError, TypeError, ValueError, AttributeError, IndexError):
            pass  # what depends on values
    assert len(set(compared)) > 200


def test_gradients_have_shapes():
    x = blank(3, 4, requires_grad=True)
    net = nn.Linear(4, 2, device="meta")
    (net(x).relu() ** 2).sum().backward()
    assert described(x.grad) == described(x)
    assert described(net.weight.grad) == described(net.weight)


VALUES = {
    "item": lambda x: x.sum().item(),
    "truth": lambda x: bool(x.sum()),
    "list": lambda x: x.tolist(),
    "array": lambda x: x.numpy(),
    "NumPy's": np.asarray,
    "moved": lambda x: x.to("cpu"),
    "cpu": lambda x: x.cpu(),
    "copied": lambda x: torch.zeros(2, 3).copy_(x),
    "module moved": lambda x: nn.Linear(2, 3, device="meta").to("cpu"),
    "nonzero": torch.nonzero,
    "where": lambda x: torch.where(x > 0),
    "mask": lambda x: x[x > 0],
    "unique": torch.unique,
    "bincount": lambda x: torch.bincount(x.long().view(-1)),
    "equal": lambda x: torch.equal(x, x),
}


@pytest.mark.parametrize("ask", VALUES.values(), ids=VALUES)
def test_what_depends_on_values_is_refused(ask):
    with pytest.raises((NotImplementedError, RuntimeError, TypeError), match="meta"):
        ask(blank(2, 3))


def test_text():
    x = blank(2, 3, requires_grad=True)
    assert repr(x) == "tensor(..., device='meta', size=(2, 3), requires_grad=True)"
    assert (
        repr(x.double() * 2) == "tensor(..., device='meta', size=(2, 3), dtype=torch.float64, grad_fn=<MulBackward0>)"
    )
    assert repr(x.untyped_storage()) == "...\n[torch.storage.UntypedStorage(device=meta) of size 24]"
    assert (x.type(), x.data_ptr(), x.get_device()) == ("torch.meta.FloatTensor", 0, -1)


def test_modules_get_their_memory_later():
    with torch.device("meta"):
        net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    assert all(t.is_meta for t in net.state_dict().values())
    source = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    with pytest.warns(UserWarning, match=r"copying from a non-meta parameter .* which is a no-op") as warned:
        net.load_state_dict(source.state_dict())
    assert str(warned[0].message).startswith("for 0.weight:")
    assert net[0].weight.is_meta
    net.load_state_dict(source.state_dict(), assign=True)
    x = torch.randn(4, 2)
    assert torch.equal(net(x), source(x))
    assert isinstance(net[0].weight, nn.Parameter)

    empty = nn.Linear(2, 3, device="meta").to_empty(device="cpu")
    assert (empty.weight.device.type, empty.weight.requires_grad) == ("cpu", True)
    empty(x).sum().backward()
    assert empty.weight.grad.is_cpu


def test_copies_and_files():
    x = blank(2, 3, dtype=torch.float16).t()
    for y in (copy.deepcopy(x), copy.deepcopy(nn.Parameter(x)), saved(x)):
        assert described(y) == described(x)
    layer = saved(nn.Linear(2, 3).state_dict(), map_location="meta")
    assert described(layer["weight"]) == ((3, 2), torch.float32, (2, 1), "meta")


def saved(x, **options):
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    return torch.load(file, **options)


HUGE = 10**13
MADE_HUGE = {
    "arange": lambda: torch.arange(HUGE, device="meta"),
    "arange of floats": lambda: torch.arange(0, HUGE / 2, 0.5, device="meta"),
    "linspace": lambda: torch.linspace(0, 1, HUGE, device="meta"),
    "logspace": lambda: torch.logspace(0, 1, HUGE, device="meta"),
    "hann_window": lambda: torch.hann_window(HUGE, device="meta"),
    "kaiser_window": lambda: torch.kaiser_window(HUGE, device="meta"),
    "bernoulli": lambda: torch.bernoulli(blank(HUGE)),
    "poisson": lambda: torch.poisson(blank(HUGE)),
    "normal": lambda: torch.normal(blank(HUGE), 1.0),
    "multinomial": lambda: torch.multinomial(blank(10**4), HUGE, replacement=True),
    "gumbel_softmax": lambda: nn.functional.gumbel_softmax(blank(HUGE)),
    "rrelu": lambda: nn.functional.rrelu(blank(HUGE), training=True),
    "orthogonal_": lambda: nn.init.orthogonal_(blank(10, HUGE // 10)).view(-1),
    "trunc_normal_": lambda: nn.init.trunc_normal_(blank(HUGE)),
    "diff": lambda: torch.diff(blank(HUGE + 1)),
    "unfold": lambda: (
        nn.functional.unfold(blank(1, 10**5, 10**4), (1, 10**4)).view(-1).expand(10**4, 10**9).reshape(-1)
    ),
    "fold": lambda: nn.functional.fold(blank(1, 10**5, 10**8), (10**4, 10**4), 1).view(-1),
}


@pytest.mark.parametrize("make", MADE_HUGE.values(), ids=MADE_HUGE)
def test_what_would_fill_the_memory_is_made_there(make):
    made = make()
    assert made.shape == (HUGE,) and made.is_meta and made.stride() == (1,)


def test_ranges_have_the_size_that_they_have_elsewhere():
    for args in ((5,), (5, 1, -2), (0, 1, 0.1), (3, 3), (10, 0, -3), (0, -1, -0.3)):
        assert described(torch.arange(*args, device="meta"))[:3] == described(torch.arange(*args))[:3]


def test_a_scalar_is_its_own_seed_there():
    w = blank(10**6, 10**6, requires_grad=True)
    (w * 2).sum().backward()
    assert w.grad.is_meta and w.grad.shape == w.shape
    (g,) = torch.autograd.grad((w * w).sum(), w, create_graph=True)
    assert g.is_meta and g.requires_grad


@pytest.mark.parametrize("name", ["SGD", "Adam", "NAdam", "Adagrad", "ASGD", "Rprop", "Adafactor", "Muon"])
def test_optimizers_step_there(name):
    options = {"momentum": 0.9} if name == "SGD" else {}
    huge, small = (nn.Parameter(blank(10**6, n)) for n in (10**6, 3))
    real, judge = (nn.Parameter(torch.ones(2, 2)) for _ in range(2))
    optimizer = getattr(torch.optim, name)([huge, real, small], **options)
    alone = getattr(torch.optim, name)([judge], **options)
    for _ in range(2):
        for p in (huge, real, small, judge):
            p.grad = torch.full_like(p, 0.5)
        optimizer.step(), alone.step()
    assert torch.equal(real, judge) and huge.is_meta
    for key, value in alone.state[judge].items():
        own = optimizer.state[huge][key]
        if key in alone.counters(alone.param_groups[0]):
            assert own.item() == value.item()
        else:
            assert own.is_meta and own.shape == tuple([10**6 if n == 2 else n for n in value.shape])
    assert sorted(map(id, optimizer.state)) == sorted(map(id, (huge, real, small)))
