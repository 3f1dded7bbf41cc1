"""Modules: the programs of ``record_modules.py`` and ``record_hooks.py``, and what PyTorch leaves open."""

import copy
import gc
import inspect
import pickle
import warnings
import weakref

import pytest
import record_hooks
import record_modules
from recorded import Recorded

import pullback
from programs import lin, net
from pullback import nn
from pullback.nn.modules.registry import Members, attributes_of


class TestPrograms(Recorded):
    tables = record_modules.programs, record_hooks.programs


# --- reading members without __getattr__ --------------------------------------------------------------------


def test_a_member_read_once_is_found_at_once():
    """After the first read a member is an attribute of the instance, until it changes."""
    m = net(pullback)
    own = attributes_of(m)
    assert "second" not in own
    assert m.second is m._modules["second"]
    assert own["second"] is m.second
    m.second = lin(pullback)
    assert "second" not in own
    assert m.second is m._modules["second"]


def test_public_functions_are_no_methods_of_the_classes_they_are_put_in():
    class Layer:
        conv, relu, add, cat = pullback.conv2d, nn.functional.relu, pullback.add, pullback.cat
        inv, fft, zeros = pullback.linalg.inv, pullback.fft.fft, pullback.zeros

    layer, x = Layer(), pullback.ones(1, 1, 2, 2)
    assert layer.conv(x, x).item() == 4
    assert layer.relu(-x).sum() == 0 and layer.add(x, x).sum() == 8 and layer.cat([x, x]).shape == (2, 1, 2, 2)
    assert layer.inv(pullback.eye(2)).sum() == 2 and layer.fft(x).sum() == 4 and layer.zeros(2).shape == (2,)
    for function in (pullback.relu, pullback.cat, nn.functional.softmax, pullback.linalg.inv, pullback.split):
        assert pickle.loads(pickle.dumps(function)) is function
        assert {function: 1}[function] == 1 and "<function" in repr(function)
        assert callable(function) and function.__doc__ and inspect.signature(function).parameters
    assert pullback.tanh is nn.functional.tanh and pullback.relu.op.call == pullback.relu


def test_no_program_sees_a_member_that_was_read_among_the_attributes():
    m = net(pullback)
    _ = m.first, m.kept
    assert not {"first", "kept"} & set(vars(m))
    seen = vars(m)
    for name in list(seen):  # once it has the dict, a program may go through it
        _ = name, m.first
    assert "first" not in seen
    m.__dict__["_modules"] = {"first": lin(pullback)}
    assert m.first is m._modules["first"]


def test_a_second_init_empties_the_module():
    m = net(pullback)
    _ = m.first, m.kept
    pullback.nn.Module.__init__(m)
    assert not (hasattr(m, "first") or hasattr(m, "kept"))
    m.add_module("first", lin(pullback))
    _ = m.first
    m.add_module("first", lin(pullback))
    assert m.first is m._modules["first"]


def test_a_base_class_with_its_own_dict_sees_no_members():
    class Plain:
        pass

    class Both(Plain, pullback.nn.Module):
        pass

    m = Both()
    m.first = lin(pullback)
    _ = m.first
    assert "first" not in vars(m)


@pytest.mark.parametrize(
    "change",
    [
        lambda members, new: members.__setitem__("first", new),
        lambda members, new: members.update(first=new),
        lambda members, new: members.update([("first", new)]),
        lambda members, new: members.__ior__({"first": new}),
        lambda members, new: (members.pop("first"), members.setdefault("first", new)),
        lambda members, new: ([members.popitem() for _ in list(members)], members.update(first=new)),
        lambda members, new: (members.clear(), members.update(first=new)),
        lambda members, new: (members.__delitem__("first"), members.__setitem__("first", new)),
    ],
)
def test_whatever_changes_a_member_shows(change):
    m, new = net(pullback), lin(pullback)
    assert m.first is not new
    change(m._modules, new)
    assert m.first is new
    assert m._modules["first"] is new


def test_a_member_that_is_gone_is_gone():
    for remove in (lambda d: d.pop("first"), lambda d: d.clear(), lambda d: d.__delitem__("first")):
        m = net(pullback)
        assert m.first is not None
        remove(m._modules)
        with pytest.raises(AttributeError, match="object has no attribute 'first'"):
            _ = m.first
    assert Members(m).pop("nothing", 3) == 3
    with pytest.raises(KeyError):
        Members(m).pop("nothing")


def test_a_member_that_is_replaced_is_seen():
    m = lin(pullback)
    before, other = m.weight, nn.Parameter(pullback.zeros(1, 2))
    m._parameters["weight"] = other
    assert m.weight is other
    m._parameters["weight"] = None
    assert m.weight is None
    m._parameters.update(weight=before)
    assert m.weight is before
    given = {"weight": pullback.ones_like(before)}
    inside = []
    m.register_forward_hook(lambda m, *_: inside.append(m.weight))
    pullback.func.functional_call(m, given, pullback.ones(1, 2))
    assert inside[0] is given["weight"] and m.weight is before


def test_functional_calls_that_fail_leave_a_module_as_it_was():
    m, x = nn.Sequential(lin(pullback), nn.BatchNorm1d(1)), pullback.ones(2, 2)
    before = dict(m.named_parameters())
    refused = (
        ({"0.weight": x[:1], "0.bias": 3}, TypeError),
        ({"0.weight": x[:, :1]}, RuntimeError),
        ({"0.weight": x[:1], "2.w": x}, AttributeError),
    )
    for given, error in refused:
        with pytest.raises(error):
            pullback.func.functional_call(m, given, x)
        assert all(p is before[name] for name, p in m.named_parameters())


def test_shallow_copies_share_their_members():
    m = net(pullback)
    _ = m.first
    twin = copy.copy(m)
    assert twin.first is m.first
    twin.other = lin(pullback)
    assert "other" not in m.__dict__


def test_a_replica_made_by_hand_has_its_own_members():
    """What data-parallel code does: copy the instance's dict, then put other dicts of members in."""
    m = net(pullback)
    _ = m.first, m.kept
    replica = m.__new__(type(m))
    replica.__dict__ = m.__dict__.copy()
    replica._modules = {"first": lin(pullback)}
    replica._buffers = dict(replica._buffers)
    replica._buffers["kept"] = pullback.ones(1)
    assert replica.first is not m.first
    assert replica.kept.tolist() == [1.0]
    assert m.kept.tolist() == [0.0, 0.0]


def test_plain_attributes_do_not_move():
    m = nn.Module()
    m.x = [1]
    m._modules["x"] = lin(pullback)
    del m._modules["x"]
    assert not hasattr(m, "x") or m.x == [1]


# --- memory -------------------------------------------------------------------------------------------------


def test_modules_are_freed_without_the_garbage_collector():
    gc.collect()
    gc.disable()
    try:
        m = nn.Sequential(lin(pullback), net(pullback))
        _ = m[1].first.weight, list(m.parameters()), m.state_dict(), repr(m)
        handle = m.register_forward_hook(lambda *a: None)
        m[0](pullback.ones(1, 2)).sum().backward()
        refs = [weakref.ref(module) for module in m.modules()]
        del m
        assert [ref() for ref in refs] == [None] * len(refs)
        handle.remove()
    finally:
        gc.enable()


def test_backward_hooks_leave_nothing_behind():
    gc.collect()
    gc.disable()
    try:
        m = lin(pullback)
        m.register_full_backward_hook(lambda *a: None)
        x = pullback.ones(1, 2, requires_grad=True)
        out = m(x)
        out.sum().backward()
        ref = weakref.ref(out)
        module = weakref.ref(m)
        del out, m
        assert ref() is None
        assert module() is None
    finally:
        gc.enable()


# --- beyond PyTorch -----------------------------------------------------------------------------------------


def test_a_hook_may_return_its_one_gradient_bare():
    class Double(nn.Module):
        def forward(self, x):
            return 2 * x

    m, x = Double(), pullback.ones(1, requires_grad=True)
    m.register_full_backward_hook(lambda module, gin, gout: gin[0] * 5)
    m(x).backward()
    assert x.grad.tolist() == [10.0]


def test_full_backward_hook_without_inputs_that_require_grad():
    m = lin(pullback)
    seen = []
    m.register_full_backward_hook(lambda module, gin, gout: seen.append((gin, gout[0].tolist())))
    with pytest.warns(UserWarning, match="Full backward hook is firing"):
        m(pullback.ones(1, 2)).sum().backward()
    assert seen == [((None,), [[1.0, 1.0, 1.0]])]
    m.register_full_backward_hook(lambda module, gin, gout: (gout[0],))
    with pytest.warns(UserWarning), pytest.raises(RuntimeError, match="where no input requires gradient"):
        m(pullback.ones(1, 2)).sum().backward()


def test_backward_hooks_keep_named_tuples():
    from collections import namedtuple

    Pair = namedtuple("Pair", "a b")

    class Split(nn.Module):
        def forward(self, x):
            return Pair(x * 1, x * 2)

    m = Split()
    m.register_full_backward_hook(lambda *a: None)
    out = m(pullback.ones(1, requires_grad=True))
    assert type(out) is Pair
    assert out.b.requires_grad


def test_backward_hooks_and_results_that_are_no_tensors():
    class Dict(nn.Module):
        def forward(self, x):
            return {"y": x * 1}

    m = Dict()
    m.register_full_backward_hook(lambda *a: None)
    with pytest.warns(UserWarning, match="module output should be a Tensor or a tuple of Tensors"):
        assert m(pullback.ones(1, requires_grad=True))["y"].requires_grad


def test_hooks_are_pickled_with_a_live_module():
    import pickle

    m = lin_in_this_module()
    m.register_load_state_dict_pre_hook(note)
    twin = pickle.loads(pickle.dumps(m))
    NOTED.clear()
    twin.load_state_dict(m.state_dict())
    assert NOTED == [twin]
    dead = next(iter(twin._load_state_dict_pre_hooks.values()))
    del twin
    NOTED.clear()
    with pytest.raises(RuntimeError, match="hook of a dead Module"):
        dead({}, "", {}, True, [], [], [])


NOTED = []


def note(module, *args):
    NOTED.append(module)


def lin_in_this_module():
    m = nn.Module()
    m.weight = nn.Parameter(pullback.ones(1))
    return m


def test_cuda_is_refused_by_name():
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        lin(pullback).cuda()
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        lin(pullback).to("cuda")
    m = nn.Module()
    assert m.cuda() is m


def test_loading_leaves_saved_metadata_alone():
    a = nn.Sequential(lin(pullback))
    state = a.state_dict()
    before = copy.deepcopy(state._metadata)
    a.load_state_dict(state, assign=True)
    assert state._metadata == before


def test_a_state_dict_shares_memory_and_not_history():
    m = lin(pullback)
    state = m.state_dict()
    with pullback.no_grad():
        m.weight.fill_(7.0)
    assert state["weight"].tolist() == m.weight.tolist()
    assert state["weight"].grad_fn is None


def test_every_public_member_is_documented():
    for kind in ("Module", "Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict"):
        module = getattr(nn, kind)
        for name, member in inspect.getmembers(module, inspect.isfunction):
            if not name.startswith("_") and name not in ("forward", "extra_repr"):
                assert member.__doc__, f"{module.__name__}.{name}"


def test_warnings_name_the_callers_line():
    m = lin(pullback)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        m.state_dict({})
    assert [w.filename for w in caught] == [__file__]


@pytest.mark.parametrize(
    "wrap",
    [
        nn.utils.weight_norm,
        nn.utils.spectral_norm,
        lambda m: nn.utils.prune.random_unstructured(m, "weight", 0.5),
        nn.utils.parametrizations.weight_norm,
    ],
    ids=["weight_norm", "spectral_norm", "prune", "parametrization"],
)
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_copy_of_a_module_that_computes_its_weight(wrap):
    """It computes its own, from parameters of its own; PyTorch refuses to copy most of these."""
    m, x = wrap(pullback.nn.Linear(3, 2)), pullback.ones(1, 3)
    m(x)
    other = copy.deepcopy(copy.deepcopy(m.eval()))
    assert pullback.equal(m(x), other(x))
    other(x).sum().backward()
    assert all(p.grad is not None for p in other.parameters()) and all(p.grad is None for p in m.parameters())


@pytest.mark.parametrize("shape", [(0, 3, 5), (4, 0, 5), (4, 3, 0)])
def test_a_copy_of_nothing(shape):
    t = pullback.rand(*shape)
    for view in (
        pullback.stack([t, t], 1).select(1, 1),
        t[1:, :, ::2],
        t[:, 2:],
        t.expand(2, *shape),
        t.transpose(0, 2),
    ):
        assert copy.deepcopy(view).shape == view.shape
