"""Small programs about modules, and the recorder of what PyTorch 2.13 says to them.

Run it where PyTorch is installed to write ``modules.json`` beside it; see :mod:`programs`.
"""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from programs import Programs, attempt, lin, net

programs = Programs("modules.json")


# --- members ------------------------------------------------------------------------------------------------


@programs
def names_of_everything(torch):
    m = net(torch)
    yield [name for name, _ in m.named_parameters()]
    yield [name for name, _ in m.named_parameters("p", remove_duplicate=False)]
    yield [name for name, _ in m.named_parameters(recurse=False)]
    yield [name for name, _ in m.named_buffers()]
    yield [name for name, _ in m.named_modules()]
    yield [name for name, _ in m.named_modules(prefix="x", remove_duplicate=False)]
    yield [name for name, _ in m.named_children()]
    yield [len(list(m.parameters())), len(list(m.buffers())), len(list(m.modules())), len(list(m.children()))]
    yield [k for k in dir(m) if k in ("first", "second", "kept", "absent", "training", "forward", "_modules")]
    yield [k for k in dir(torch.nn.Sequential(lin(torch))) if k == "0"]


@programs
def members_move_between_kinds(torch):
    m = torch.nn.Module()
    m.a = torch.nn.Parameter(torch.ones(1))
    yield [list(m._parameters), list(m._buffers), list(m._modules)]
    m.a = None
    yield [m.a is None, list(m._parameters), [n for n, _ in m.named_parameters()]]
    del m.a
    m.register_buffer("a", torch.ones(2))
    m.a = torch.zeros(2)
    yield [m.a.tolist(), list(m._buffers)]
    m.a = torch.nn.Parameter(torch.ones(1))
    yield [list(m._parameters), list(m._buffers), list(m._modules)]
    yield attempt(lambda: setattr(m, "a", lin(torch)))
    m.m = lin(torch)
    m.m = torch.nn.Parameter(torch.ones(1))
    yield [list(m._parameters), list(m._buffers), list(m._modules)]
    m.n = torch.ones(1)
    m.n = lin(torch)
    yield [list(m._modules), "n" in m.__dict__]
    m.b = torch.nn.Buffer(torch.ones(1), persistent=False)
    m.c = torch.nn.Buffer(torch.ones(1))
    yield [list(m._buffers), sorted(m._non_persistent_buffers_set), list(m.state_dict())]
    m.d = 3
    m.d = torch.nn.Parameter(torch.ones(1))
    yield "d" in m._parameters
    m.e = torch.ones(1)
    yield [list(m._buffers), list(m._parameters)]
    del m.b
    yield [attempt(lambda: m.b), sorted(m._non_persistent_buffers_set)]
    yield attempt(lambda: delattr(m, "zzz"))


@programs
def members_written_behind_the_back(torch):
    m = net(torch)
    yield m.first.weight.tolist()
    m.first._parameters["weight"] = torch.nn.Parameter(torch.zeros(1))
    yield m.first.weight.tolist()
    m.first._parameters.update(weight=torch.nn.Parameter(torch.ones(1)))
    yield m.first.weight.tolist()
    del m.first._parameters["weight"]
    yield attempt(lambda: m.first.weight)
    m.first.weight = torch.tensor([5.0])
    yield [m.first.weight.tolist(), list(m.first._parameters)]
    m.second._parameters.pop("bias")
    yield attempt(lambda: m.second.bias)
    _ = m.second.weight
    m.second._parameters.clear()
    yield attempt(lambda: m.second.weight)
    m._modules["second"] = None
    yield m.second is None
    _ = m.first
    m._modules = OrderedDict(first=None)
    yield [m.first is None, attempt(lambda: m.second)]


@programs
def what_cannot_be_registered(torch):
    Parameter = torch.nn.Parameter
    m = net(torch)
    p = Parameter(torch.ones(1))
    for register, thing in (
        (m.register_parameter, p),
        (m.register_buffer, torch.ones(1)),
        (m.add_module, lin(torch)),
    ):
        for name in ("", "a.b", "forward", "training", 3):
            yield attempt(register, name, thing)
        yield attempt(register, "x", 3)
        yield attempt(register, "x", [1])
    yield attempt(lambda: m.register_parameter("kept", p))
    yield attempt(lambda: m.register_parameter("x", torch.ones(1)))
    yield attempt(lambda: m.register_parameter("x", p * 2))
    yield attempt(lambda: m.register_buffer("first", torch.ones(1)))
    yield attempt(lambda: setattr(m.first, "weight", torch.ones(1)))
    yield attempt(lambda: setattr(m.first, "weight", 3))
    yield attempt(lambda: setattr(m, "first", 3))
    yield attempt(lambda: setattr(m, "first", torch.ones(2)))
    yield attempt(lambda: setattr(m, "kept", 3))
    yield attempt(lambda: m.wrong)
    yield attempt(lambda: m(torch.ones(1, 2), 3) and None) == {}
    yield attempt(lambda: torch.nn.Module()(1))
    yield attempt(lambda: torch.nn.Module(1, 2))
    yield attempt(lambda: torch.nn.Module(a=1))

    class Early(torch.nn.Module):
        def __init__(self, value: Any) -> None:
            self.value = value
            super().__init__()

    yield attempt(lambda: Early(p))
    yield attempt(lambda: Early(lin(torch)))
    yield attempt(lambda: Early(3).value)

    class EarlyBuffer(torch.nn.Module):
        def __init__(self) -> None:
            self.register_buffer("b", torch.ones(1))

    yield attempt(EarlyBuffer)


@programs
def members_by_path(torch):
    m = net(torch)
    yield m.get_submodule("") is m
    yield m.get_submodule("first") is m.first
    yield list(m.get_parameter("second.weight").shape)
    yield m.get_buffer("kept").tolist()
    for path in ("third", "first.weight", "first.x", "kept"):
        yield attempt(m.get_submodule, path)
    for path in ("third", "kept", "first", "first.x"):
        yield attempt(m.get_parameter, path)
    for path in ("third", "first.weight", "first"):
        yield attempt(m.get_buffer, path)
    m.set_submodule("first.inner", lin(torch, 1, 1))
    yield [name for name, _ in m.named_modules()]
    m.set_submodule("first.inner", torch.nn.Module(), strict=True)
    yield len(list(m.first.inner.parameters()))
    yield attempt(lambda: m.set_submodule("", lin(torch)))
    yield attempt(lambda: m.set_submodule("first", 3) or None) == {}
    yield attempt(lambda: m.set_submodule("first.more", lin(torch), strict=True))
    yield attempt(lambda: m.set_submodule("first.weight", lin(torch)))
    yield attempt(lambda: m.set_submodule("nowhere.more", lin(torch)))


@programs
def a_class_attribute_wins(torch):
    class Shadowed(torch.nn.Module):
        child = None

        def __init__(self) -> None:
            super().__init__()
            self.child = lin(torch)

    m = Shadowed()
    yield [m.child is None, list(m._modules)]

    class Computed(torch.nn.Module):
        @property
        def weight(self) -> Any:
            return self.raw * 2

        @property
        def broken(self) -> Any:
            return self.does_not_exist

    m = Computed()
    m.raw = torch.nn.Parameter(torch.ones(1))
    yield m.weight.tolist()
    yield attempt(lambda: m.broken)


@programs
def inheritance_with_arguments(torch):
    class Other:
        def __init__(self, word: str) -> None:
            self.word = word

    class Both(torch.nn.Module, Other):
        call_super_init = True

        def __init__(self) -> None:
            super().__init__("hello")

    yield [Both().word, list(Both()._parameters)]


# --- everything at once -------------------------------------------------------------------------------------


@programs
def switches(torch):
    m = net(torch)
    yield [m.training, m.eval() is m, m.training, m.second.training, m.train().first.training]
    yield attempt(lambda: m.train("yes"))
    yield m.requires_grad_(False) is m
    yield [p.requires_grad for p in m.parameters()]
    m.requires_grad_()
    m(torch.ones(1, 2)).sum().backward()
    yield [p.grad.tolist() for p in m.parameters()]
    m.zero_grad(set_to_none=False)
    yield [p.grad.tolist() for p in m.parameters()]
    m.zero_grad()
    yield [p.grad is None for p in m.parameters()]


@programs
def apply_goes_children_first(torch):
    m = net(torch)
    seen = []
    yield m.apply(lambda module: seen.append(type(module).__name__)) is m
    yield seen


@programs
def conversions_keep_parameters(torch):
    m = net(torch)
    m.register_buffer("count", torch.tensor(3))
    before = list(m.parameters())
    m(torch.ones(1, 2)).sum().backward()
    for convert in (
        m.double,
        m.half,
        m.bfloat16,
        m.float,
        m.cpu,
        lambda: m.to(torch.float64),
        lambda: m.to("cpu"),
        lambda: m.to(torch.device("cpu"), torch.float32),
        lambda: m.to(m.first.weight.double()),
        lambda: m.to(dtype=torch.float16),
        lambda: m.to(torch.ones(1), non_blocking=True),
        lambda: m.type(torch.float64),
    ):
        yield convert() is m
        yield [str(t.dtype) for t in (*m.parameters(), *m.buffers())]
        yield [str(p.grad.dtype) for p in m.parameters()]
        yield [a is b for a, b in zip(before, m.parameters())]
    yield attempt(lambda: m.to(torch.int32))
    yield [p.requires_grad and p.is_leaf for p in m.parameters()]
    yield m.share_memory() is m


# --- saving and loading -------------------------------------------------------------------------------------


@programs
def state_dicts(torch):
    m = net(torch)
    d = m.state_dict()
    yield [type(d).__name__, list(d), list(d._metadata.items())]
    yield [d["first.weight"].requires_grad, d["first.weight"].data_ptr() == m.first.weight.data_ptr()]
    yield m.state_dict(keep_vars=True)["first.weight"] is m.first.weight
    yield list(m.state_dict(prefix="model."))
    own = {}
    yield [m.state_dict(destination=own) is own, list(own)]
    yield list(m.state_dict({}, "p.", True))
    other = net(torch)
    other.first.weight.data.zero_()
    keys = other.load_state_dict(d)
    yield [str(keys), repr(keys), list(keys), other.first.weight.tolist()]
    yield other.first.weight.requires_grad


@programs
def state_dicts_that_do_not_fit(torch):
    m = net(torch)
    good = m.state_dict()

    def load(change: Callable[[dict], Any], **options: Any) -> str:
        changed = OrderedDict(good)
        change(changed)
        try:
            return repr(m.load_state_dict(changed, **options))
        except RuntimeError as error:
            return str(error)

    yield load(lambda d: d.pop("first.weight"))
    yield load(lambda d: (d.pop("first.weight"), d.pop("kept")))
    yield load(lambda d: d.update({"new": 1, "third.weight": 2, "first.more": 3}))
    yield load(lambda d: d.update({"first.weight": torch.ones(2)}))
    yield load(lambda d: (d.update({"first.bias": torch.ones(2, 1), "x": 1}), d.pop("kept")))
    yield load(lambda d: d.update({"first.bias": 3.0}))
    yield load(lambda d: (d.update({"x": 1}), d.pop("kept")), strict=False)
    yield load(lambda d: d.update({"first.bias": torch.ones(7)}), strict=False)
    yield load(lambda d: d.update({"scratch": torch.ones(1)}))
    yield load(lambda d: d.update({"absent": torch.ones(1)}))
    yield attempt(lambda: m.load_state_dict([1, 2]))
    m.register_buffer("scalar", torch.tensor(1.0))
    yield load(lambda d: d.update({"scalar": torch.tensor([4.0])}))
    yield m.scalar.tolist()


@programs
def assigning_state(torch):
    m = net(torch)
    m.second.weight.requires_grad_(False)
    given = {k: v.double() + 1 for k, v in net(torch).state_dict().items()}
    before = m.first.weight
    yield str(m.load_state_dict(given, assign=True))
    yield [m.first.weight is before, str(m.first.weight.dtype), type(m.first.weight).__name__]
    yield [m.first.weight.requires_grad, m.second.weight.requires_grad, m.kept is given["kept"]]
    yield m.first.weight.tolist()


@programs
def extra_state(torch):
    class Extra(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.count = 7

        def get_extra_state(self) -> Any:
            return {"count": self.count}

        def set_extra_state(self, state: Any) -> None:
            self.count = state["count"]

    m = torch.nn.Sequential(Extra(), lin(torch))
    d = m.state_dict()
    yield [list(d), d["0._extra_state"]]
    d["0._extra_state"] = {"count": 9}
    m.load_state_dict(d)
    yield m[0].count
    del d["0._extra_state"]
    yield list(m.load_state_dict(d, strict=False))
    d["1._extra_state"] = 1
    yield [list(keys) for keys in m.load_state_dict(d, strict=False)]


@programs
def versions_and_overrides(torch):
    class Old(torch.nn.Module):
        _version = 3

        def __init__(self) -> None:
            super().__init__()
            self.new_name = torch.nn.Parameter(torch.zeros(1))
            self.seen: list[Any] = []

        def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
            super()._save_to_state_dict(destination, prefix, keep_vars)
            destination[prefix + "more"] = torch.ones(1)

        def _load_from_state_dict(self, state_dict: Any, prefix: str, metadata: Any, *rest: Any) -> None:
            self.seen.append([prefix, dict(metadata), rest[0]])
            state_dict.pop(prefix + "more", None)
            if prefix + "old_name" in state_dict:
                state_dict[prefix + "new_name"] = state_dict.pop(prefix + "old_name")
            super()._load_from_state_dict(state_dict, prefix, metadata, *rest)

    m = torch.nn.Sequential(Old())
    d = m.state_dict()
    yield [list(d), dict(d._metadata)]
    yield str(m.load_state_dict(d))
    yield str(m.load_state_dict({"0.old_name": torch.tensor([5.0])}))
    yield [m[0].new_name.tolist(), m[0].seen]


@programs
def state_dict_hooks(torch):
    m = torch.nn.Sequential(lin(torch))
    log: list[Any] = []
    pre = m[0].register_state_dict_pre_hook(lambda module, prefix, keep: log.append(["pre", prefix, keep]))

    def post(module: Any, state: Any, prefix: str, metadata: Any) -> None:
        log.append(["post", prefix, metadata])
        state[prefix + "extra"] = 1

    handle = m[0].register_state_dict_post_hook(post)
    yield list(m.state_dict())
    yield log
    yield attempt(lambda: m._register_state_dict_hook(post))
    pre.remove()
    handle.remove()
    log.clear()
    yield [list(m.state_dict()), log]
    m.register_state_dict_post_hook(lambda *a: 3)
    yield attempt(m.state_dict)
    m._state_dict_hooks.clear()
    m._register_state_dict_hook(lambda module, state, prefix, metadata: {"only": 1})
    yield m.state_dict()


@programs
def load_state_dict_hooks(torch):
    m = torch.nn.Sequential(lin(torch))
    d = m.state_dict()
    log: list[Any] = []

    def pre(module: Any, state: Any, prefix: str, metadata: Any, *rest: Any) -> None:
        log.append([type(module).__name__, list(state), prefix, dict(metadata), *rest])

    first = m[0].register_load_state_dict_pre_hook(pre)
    log_bare = lambda state, prefix, *rest: log.append([list(state), prefix])
    bare = m[0]._register_load_state_dict_pre_hook(log_bare)
    m.load_state_dict(d)
    yield log
    first.remove()
    bare.remove()

    def forgive(module: Any, keys: Any) -> None:
        log.append([type(module).__name__, list(keys.missing_keys)])
        keys.missing_keys.clear()

    log.clear()
    handle = m.register_load_state_dict_post_hook(forgive)
    yield str(m.load_state_dict({"0.weight": d["0.weight"]}))
    yield log
    handle.remove()
    yield attempt(lambda: m.load_state_dict({"0.weight": d["0.weight"]}))
    m.register_load_state_dict_post_hook(lambda module, keys: 1)
    yield attempt(lambda: m.load_state_dict(d))


# --- copies and texts ---------------------------------------------------------------------------------------


@programs
def deep_copies(torch):
    m = net(torch)
    m(torch.ones(1, 2)).sum().backward()
    m.first.weight.note = "kept?"
    m.eval()
    twin = copy.deepcopy(m)
    yield [twin.first is not m.first, twin.again is twin.first, twin.training, list(twin.state_dict())]
    yield [twin.first.weight.tolist() == m.first.weight.tolist(), twin.first.weight.grad is None]
    yield [type(twin.first.weight).__name__, twin.first.weight.requires_grad]
    twin.first.weight.data.zero_()
    yield m.first.weight.tolist()
    twin.first = lin(torch)
    yield [twin.first.weight.tolist() == m.first.weight.tolist(), list(twin._modules)]


@programs
def pickles(torch):
    nn = torch.nn
    m = nn.Sequential(OrderedDict(a=nn.ModuleList([nn.Sequential()]), b=nn.Sequential()))
    m.b.register_parameter("w", torch.nn.Parameter(torch.ones(2), requires_grad=False))
    m.b.register_buffer("hidden", torch.ones(1), persistent=False)
    _ = m.b.w, m.a
    twin = pickle.loads(pickle.dumps(m))
    yield repr(twin)
    yield [type(twin.b.w).__name__, twin.b.w.requires_grad, twin.b.w.tolist(), list(twin.state_dict())]
    twin.b.w = torch.nn.Parameter(torch.zeros(1))
    yield [twin.b.w.tolist(), m.b.w.tolist()]
    p = pickle.loads(pickle.dumps(torch.nn.Parameter(torch.ones(2))))
    yield [type(p).__name__, p.requires_grad, p.tolist()]


@programs
def texts(torch):
    nn = torch.nn
    yield repr(nn.Module())
    yield repr(lin(torch))
    yield repr(net(torch))
    yield repr(nn.Sequential(lin(torch), nn.Sequential(lin(torch)), nn.Sequential()))

    class Lines(nn.Module):
        def extra_repr(self) -> str:
            return "one\ntwo"

    class Both(Lines):
        def __init__(self) -> None:
            super().__init__()
            self.child = Lines()
            self.none = None
            self.register_module("nothing", None)

    yield repr(Lines())
    yield repr(Both())
    yield repr(nn.ModuleList([lin(torch), lin(torch), lin(torch, 1, 1), nn.ModuleList([Lines(), Lines()])]))
    yield repr(nn.ModuleDict({"a": lin(torch), "b": nn.ModuleList()}))
    yield repr(nn.ParameterList([torch.ones(2, 3), 5, torch.tensor(1.0), "x"]))
    yield repr(nn.ParameterDict({"a": torch.ones(2, 3), "n": 3}))
    yield repr(nn.Parameter(torch.ones(2)))
    yield repr(nn.Parameter(torch.ones(2), requires_grad=False))
    yield repr(nn.Buffer(torch.ones(2)))
    yield repr(nn.Parameter())


# --- parameters ---------------------------------------------------------------------------------------------


@programs
def parameters(torch):
    Parameter = torch.nn.Parameter
    x = torch.ones(2, requires_grad=True) * 2
    p = Parameter(x)
    yield [p.is_leaf, p.requires_grad, p.data_ptr() == x.data_ptr()]
    yield [isinstance(p, Parameter), isinstance(x, Parameter)]
    with torch.no_grad():
        yield Parameter(torch.ones(1)).requires_grad
    yield [type(p + 1).__name__, type(p.detach()).__name__, type(p.data).__name__, type(p.clone()).__name__]
    yield attempt(lambda: Parameter(torch.ones(1, dtype=torch.int64)))
    yield Parameter(torch.ones(1, dtype=torch.int64), requires_grad=False).tolist()
    p.note = 3
    yield p.note

    class Sub(torch.Tensor):
        pass

    s = Parameter(torch.ones(2).as_subclass(Sub))
    yield [type(s).__name__, isinstance(s, Parameter), s.requires_grad]
    m = torch.nn.Module()
    m.s = s
    yield list(m._parameters)
    b = torch.nn.Buffer(torch.ones(1), persistent=False)
    yield [type(b).__name__, isinstance(b, torch.nn.Buffer), isinstance(x, torch.nn.Buffer), b.persistent]


if __name__ == "__main__":
    programs.record()
