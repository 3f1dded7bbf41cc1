"""Names that other people's libraries import, private ones among them: each is real, or refused with a reason."""

import io
import sys
from pathlib import Path

import numpy as np
import pytest

import pullback as torch
from pullback import nn
from pullback.explain.flop_counter import FlopCounterMode
from pullback.utils import weak
from pullback.utils._python_dispatch import TorchDispatchMode

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import library_names  # noqa: E402


def refused():
    """The prefixes of names in the table of docs/libraries.md."""
    lines = (ROOT / "docs" / "libraries.md").read_text("utf-8").splitlines()
    rows = [line.split("|")[1] for line in lines if line.startswith("| `torch.")]
    return [name.strip("` ") for row in rows for name in row.split(",")]


def test_each_name_that_several_libraries_use_is_there_or_refused():
    prefixes = tuple(f"{name}." for name in refused())
    lacking = [name for name in library_names.read() if not f"{name}.".startswith(prefixes)]
    assert [name for name in lacking if not library_names.there(name)] == []


def test_refusals_are_needed():
    """A name that is there is not listed as refused."""
    names = library_names.read()
    for prefix in refused():
        assert any(f"{name}.".startswith(f"{prefix}.") and not library_names.there(name) for name in names), prefix


def test_names_are_found_in_sources():
    source = """
import torch, torch.nn as nn
from torch.utils.data import DataLoader as Loader
def f(x):
    return nn.functional.relu(torch.ones(1)).grad, Loader.check, x.torch.y
"""
    found = set(library_names.names_in(source))
    assert {"torch.nn.functional.relu", "torch.ones", "torch.utils.data.DataLoader.check"} <= found
    assert "torch.y" not in found


# --- what they do -------------------------------------------------------------------------------------------------


def test_initialisers_are_not_recorded():
    weight = nn.Parameter(torch.empty(3))
    torch.manual_seed(0)
    expected = torch.empty(3).normal_(0, 1)
    torch.manual_seed(0)
    assert torch.equal(nn.init._no_grad_normal_(weight, 0, 1), expected)
    assert nn.init._no_grad_uniform_(weight, 2, 3).min() >= 2
    assert nn.init._no_grad_trunc_normal_(weight, 0, 1, 0.5, 1).min() >= 0.5
    assert nn.init._no_grad_fill_(weight, 7).tolist() == [7, 7, 7]
    assert nn.init._no_grad_zero_(weight).sum() == 0 and weight.is_leaf


def test_references_to_tensors_keep_nothing_alive():
    a, b = torch.ones(2), torch.ones(2)
    names = weak.WeakTensorKeyDictionary({a: "a"})
    names[b] = "b"
    assert (names[a], names[b], len(names), a in names, 3 in names) == ("a", "b", 2, True, False)
    ref, same = weak.WeakIdRef(a), weak.WeakIdRef(a)
    assert ref == same and hash(ref) == hash(same) and ref != weak.WeakIdRef(b)
    alone = weak.TensorWeakRef(a)
    assert alone() is a
    del names[b]
    del a
    assert len(names) == 0 and ref() is None and alone() is None and ref != same
    with pytest.raises(KeyError):
        names[b]


def test_helpers_of_multivariate_distributions():
    from pullback.distributions import lowrank_multivariate_normal as low_rank
    from pullback.distributions import multivariate_normal as full

    torch.manual_seed(0)
    A, W, D = torch.randn(3, 4, 4, dtype=torch.float64), torch.randn(3, 4, 2).double(), torch.rand(3, 4).double() + 1
    x, precision = torch.randn(5, 3, 4).double(), A @ A.mT + torch.eye(4)
    L = full._precision_to_scale_tril(precision)
    assert torch.allclose(L @ L.mT, precision.inverse()) and torch.equal(L, L.tril())
    lengths = (x.unsqueeze(-2) @ precision @ x.unsqueeze(-1)).squeeze(-1).squeeze(-1)
    assert torch.allclose(full._batch_mahalanobis(L, x), lengths)
    assert torch.allclose(full._batch_mv(precision, x), (precision @ x.unsqueeze(-1)).squeeze(-1))
    covariance, C = W @ W.mT + torch.diag_embed(D), low_rank._batch_capacitance_tril(W, D)
    assert torch.allclose(low_rank._batch_lowrank_logdet(W, D, C), covariance.logdet())
    lengths = (x * torch.linalg.solve(covariance, x.unsqueeze(-1)).squeeze(-1)).sum(-1)
    assert torch.allclose(low_rank._batch_lowrank_mahalanobis(W, D, x, C), lengths)


def test_dispatch_modes_see_what_pytorchs_kernels_get():
    class Noting(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            rest = [a for a in args if not isinstance(a, torch.Tensor)]
            seen.append((func.name(), *rest, *(kwargs or {}).items()))
            return func(*args, **(kwargs or {}))

    seen: list = []
    x = torch.randn(3, 4)
    calls = {
        lambda: x.softmax(1): ("aten::_softmax", 1, False),
        lambda: x.view(4, 3): ("aten::view", [4, 3]),
        lambda: x.permute(1, 0): ("aten::permute", [1, 0]),
        lambda: x.expand(2, 3, 4): ("aten::expand", [2, 3, 4]),
        lambda: x.repeat(2, 1): ("aten::repeat", [2, 1]),
        lambda: x.flip(0): ("aten::flip", [0]),
        lambda: x.roll(1, 0): ("aten::roll", [1], [0]),
        lambda: x.amax(1): ("aten::amax", [1]),
        lambda: x.logsumexp(1): ("aten::logsumexp", [1]),
        lambda: x.var(0): ("aten::var.correction", [0], ("correction", 1)),
        lambda: x.clamp(min=0): ("aten::clamp", 0),
        lambda: x.add(x, alpha=2): ("aten::add.Tensor", ("alpha", 2)),
        lambda: x.squeeze(0): ("aten::squeeze.dim", 0),
        lambda: x.clone(): ("aten::clone",),
    }
    for call, expected in calls.items():
        seen.clear()
        with Noting():
            result = call()
        assert seen == [expected] and torch.equal(result, call())
    with Noting():  # whose options are tuples, which must stay so
        result = nn.functional.layer_norm(x, (4,))
    assert torch.equal(result, nn.functional.layer_norm(x, (4,)))


def test_pickles_of_pythons_own_with_pytorchs_tensors():
    from collections import OrderedDict

    file, x = io.BytesIO(), torch.arange(6.0)
    torch.save(torch.storage.TypedStorage(wrap_storage=x.untyped_storage(), dtype=x.dtype), file, None, 2, False)
    memory = torch.storage._load_from_bytes(file.getvalue())
    assert memory.tolist() == x.tolist()
    y = torch._utils._rebuild_tensor_v2(memory, 1, (2, 2), (2, 1), False, OrderedDict())
    assert y.tolist() == [[1, 2], [3, 4]]
    weight = torch._utils._rebuild_parameter(y, True, OrderedDict())
    assert type(weight) is nn.Parameter and weight.requires_grad
    with pytest.raises(AttributeError):
        torch._utils._rebuild_nothing  # noqa: B018


def test_several_tensors_as_one():
    tensors = [torch.ones(2, 2), torch.zeros(3)]
    flat = torch._utils._flatten_dense_tensors(tensors)
    assert flat.tolist() == [1, 1, 1, 1, 0, 0, 0]
    parts = torch._utils._unflatten_dense_tensors(flat, tensors)
    assert all(torch.equal(a, b) for a, b in zip(parts, tensors))
    parts[1].fill_(5)
    assert flat[4:].tolist() == [5, 5, 5]


def test_older_addresses():
    from pullback.utils import model_zoo

    assert model_zoo.load_url is torch.hub.load_state_dict_from_url
    assert isinstance(torch.ops.aten.add.Tensor, torch._ops.OpOverload)
    assert torch.library.impl_abstract is torch.library.register_fake


def test_ranges_of_a_profiler_decorate():
    @torch.cuda.nvtx.range("step {}", 1)
    def step():
        pass

    with pytest.raises(RuntimeError, match="NVTX functions not installed"):
        step()


def test_context_managers_decorate():
    from pullback.utils._contextlib import _DecoratorContextManager, _NoParamDecoratorContextManager

    log = []

    class Noting(_DecoratorContextManager):
        def __init__(self, name):
            self.name = name

        def clone(self):
            return Noting(self.name)

        def __enter__(self):
            log.append(f"+{self.name}")

        def __exit__(self, *exc):
            log.append(f"-{self.name}")

    class Plain(Noting, _NoParamDecoratorContextManager):
        def __init__(self):
            super().__init__("p")

        clone = _DecoratorContextManager.clone

    @Noting("a")
    def double(x):
        return 2 * x

    @Plain
    def steps():
        log.append((yield 1))
        yield 2

    assert double(2) == 4 and log == ["+a", "-a"]
    log.clear()
    generator = steps()
    assert next(generator) == 1 and log == ["+p", "-p"]
    assert generator.send("sent") == 2 and log[3] == "sent"


def test_modes_batches_and_sets_of_keys():
    C = torch._C

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    assert not C._is_torch_function_mode_enabled()
    with Mode():
        assert C._is_torch_function_mode_enabled() and C._len_torch_function_stack() == 1
    seen = []
    torch.func.vmap(lambda x: seen.append(C._functorch.is_batchedtensor(x)) or x)(torch.ones(2))
    assert seen == [True] and not C._functorch.is_batchedtensor(torch.ones(1))
    assert C._disabled_torch_function_impl(torch.add, (), (torch.ones(1), 1), {}).item() == 2
    assert C._is_tracing() is False

    class Asked(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return C._disabled_torch_function_impl(func, types, args, kwargs)

    assert type(torch.ones(1).as_subclass(Asked) + 1) is torch.Tensor
    assert callable(nn.Parameter.__torch_function__)
    keys = C.DispatchKeySet(C.DispatchKey.CPU) | C.DispatchKeySet(C.DispatchKey.Autograd)
    assert keys.has(C.DispatchKey.CPU) and keys - keys == C.DispatchKeySet()


def test_small_ones(tmp_path, monkeypatch):
    from pullback.utils.data.dataloader import _DatasetKind

    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    assert torch.hub._get_torch_home() == str(tmp_path)
    with pytest.raises(OSError, match="Could not load this library"):
        torch.ops.load_library("no.so")
    assert torch._tensor_str._tensor_str(torch.eye(2), 1) == "[[1., 0.],\n  [0., 1.]]"
    assert torch.return_types.max((torch.ones(1), 0)).indices == 0
    assert [p.tolist() for p in torch.tensor_split(torch.arange(4), indices=(1,))] == [[0], [1, 2, 3]]
    assert len(torch.tensor_split(torch.arange(4), sections=2)) == 2
    assert torch.div(7, 2, rounding_mode="trunc").item() == 3 and torch.div(7, 2).item() == 3.5
    with pytest.raises(RuntimeError, match="why"):
        torch._check_tensor_all_with(RuntimeError, torch.tensor([True, False]), lambda: "why")
    with torch.backends.__allow_nonbracketed_mutation():
        pass
    assert (_DatasetKind.Map, _DatasetKind.Iterable) == (0, 1)
    members = nn.Linear(1, 1)._named_members(lambda m: m._parameters.items(), prefix="p", remove_duplicate=False)
    assert [name for name, _ in members] == ["p.weight", "p.bias"]
    with pytest.raises(NotImplementedError, match="nested tensors"):
        torch.nested.nested_tensor([])


def test_floating_point_operations_are_counted_as_pytorch_counts_them():
    """These numbers are PyTorch's."""
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 6 * 6, 5))
    with FlopCounterMode(display=False) as counter:
        model(torch.ones(2, 3, 8, 8)).sum().backward()
    counts = {name: {str(k): n for k, n in by.items()} for name, by in counter.get_flop_counts().items()}
    conv = {"aten.convolution": 15552, "aten.convolution_backward": 15552}
    linear = {"aten.addmm": 2880, "aten.mm": 5760}
    both = {**conv, **linear}
    assert counts == {"Global": both, "Sequential": both, "Sequential.0": conv, "Sequential.3": linear}
    assert counter.get_total_flops() == 39744
    assert "Sequential.3" not in counter.get_table(1) and "39,744" in counter.get_table(0)
    with FlopCounterMode(display=False) as counter:
        torch.bmm(torch.ones(2, 3, 4), torch.ones(2, 4, 5))
        torch.addmm(torch.ones(3, 5), torch.ones(3, 4), torch.ones(4, 5))
        torch.ones(3, 4) @ torch.ones(4)
    assert {str(k): n for k, n in counter.get_flop_counts()["Global"].items()} == {"aten.bmm": 240, "aten.addmm": 120}


def test_state_dicts_name_parameters():
    from pullback.distributed.checkpoint import state_dict as S

    def trained():
        torch.manual_seed(0)
        model = nn.Linear(2, 1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
        model(torch.ones(1, 2)).sum().backward()
        optimizer.step()
        return model, optimizer

    model, optimizer = trained()
    of_model, of_optimizer = S.get_state_dict(model, optimizer)
    assert set(of_optimizer["state"]) == {"weight", "bias"}
    other = nn.Linear(2, 1)
    second = torch.optim.Adam(other.parameters(), lr=0.5)
    S.set_state_dict(other, second, model_state_dict=of_model, optim_state_dict=of_optimizer)
    assert torch.equal(other.weight, model.weight) and second.param_groups[0]["lr"] == 0.1
    np.testing.assert_array_equal(second.state[other.bias]["exp_avg"], optimizer.state[model.bias]["exp_avg"])
