"""Small programs about modules and containers, and the recorder of what PyTorch 2.13 says to them.

Run it where PyTorch is installed to write ``modules.json`` beside it. A program is a generator: it is given
``torch``, or what stands in for it, and yields texts, numbers and errors, one after the other.
"""

from __future__ import annotations

import builtins
import copy
import json
import math
import pickle
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).with_name("modules.json")
ERRORS = {name for name in dir(builtins) if name.endswith(("Error", "Exception"))}
PROGRAMS: dict[str, Callable[[Any], Iterator[Any]]] = {}


def program(function: Callable[[Any], Iterator[Any]]) -> Callable[[Any], Iterator[Any]]:
    """Put a program into the table."""
    PROGRAMS[function.__name__] = function
    return function


def attempt(call: Callable[..., Any], *args: Any) -> dict[str, str]:
    """The error that a call raises; an answer need only begin with the recorded message."""
    try:
        return {"no error": str(call(*args))}
    except Exception as error:
        return {type(error).__name__: str(error.args[0]) if error.args else ""}


def run(function: Callable[[Any], Iterator[Any]], torch: Any) -> list[Any]:
    """What a program yields, warnings included, as JSON has it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        answers = json.loads(json.dumps(list(function(torch))))
    return answers + [{"warning": str(w.message)} for w in caught]


def differences(ours: Any, recorded: Any, where: str = "") -> list[str]:
    """Where answers differ from recorded ones.

    Numbers may differ by rounding. Of an error or a warning the first line counts, up to a full stop, since
    more may follow that PyTorch does not say.
    """
    if isinstance(recorded, dict) and set(recorded) & {"warning", *ERRORS} and isinstance(ours, dict):
        ((kind, message),) = recorded.items()
        same = ours.get(kind, "").startswith(message.split("\n")[0].split(". ")[0])
        return [] if same else [f"{where}: {ours} instead of {recorded}"]
    if isinstance(recorded, float) and isinstance(ours, float):
        same = math.isclose(ours, recorded, rel_tol=1e-6, abs_tol=1e-12) or str(ours) == str(recorded)
        return [] if same else [f"{where}: {ours} instead of {recorded}"]
    if isinstance(recorded, list) and isinstance(ours, list) and len(ours) == len(recorded):
        return [d for i, (a, b) in enumerate(zip(ours, recorded)) for d in differences(a, b, f"{where}[{i}]")]
    if isinstance(recorded, dict) and isinstance(ours, dict) and list(ours) == list(recorded):
        return [d for key in recorded for d in differences(ours[key], recorded[key], f"{where}[{key!r}]")]
    return [] if ours == recorded else [f"{where}: {ours!r} instead of {recorded!r}"]


def lin(torch: Any, n_in: int = 2, n_out: int = 3) -> Any:
    """A layer with a weight and a bias, with values of exact arithmetic."""

    class Lin(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.arange(float(n_in * n_out)).reshape(n_out, n_in))
            self.bias = torch.nn.Parameter(torch.ones(n_out))

        def forward(self, x: Any) -> Any:
            return x @ self.weight.T + self.bias

        def extra_repr(self) -> str:
            return f"{n_in}, {n_out}"

    Lin.__module__, Lin.__qualname__ = "programs", "Lin"  # as it stands in messages
    return Lin()


def net(torch: Any) -> Any:
    """Two layers, one of them twice, and buffers."""

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = lin(torch)
            self.second = lin(torch, 3, 2)
            self.again = self.first
            self.register_buffer("kept", torch.zeros(2))
            self.register_buffer("scratch", torch.ones(1), persistent=False)
            self.register_buffer("nothing", None)
            self.register_parameter("absent", None)

        def forward(self, x: Any) -> Any:
            return self.second(self.first(x))

    return Net()


# --- members ------------------------------------------------------------------------------------------------


@program
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


@program
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


@program
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


@program
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


@program
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


@program
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


@program
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


@program
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


@program
def apply_goes_children_first(torch):
    m = net(torch)
    seen = []
    yield m.apply(lambda module: seen.append(type(module).__name__)) is m
    yield seen


@program
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


@program
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


@program
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


@program
def assigning_state(torch):
    m = net(torch)
    m.second.weight.requires_grad_(False)
    given = {k: v.double() + 1 for k, v in net(torch).state_dict().items()}
    before = m.first.weight
    yield str(m.load_state_dict(given, assign=True))
    yield [m.first.weight is before, str(m.first.weight.dtype), type(m.first.weight).__name__]
    yield [m.first.weight.requires_grad, m.second.weight.requires_grad, m.kept is given["kept"]]
    yield m.first.weight.tolist()


@program
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


@program
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


@program
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


@program
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


@program
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


@program
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


@program
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


@program
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


# --- recording ----------------------------------------------------------------------------------------------


def record(programs: dict[str, Callable[[Any], Iterator[Any]]], path: Path) -> None:
    """Run programs with PyTorch and write down what they yield."""
    import torch

    texts = []
    for name, function in programs.items():
        lines = ",\n  ".join(map(json.dumps, run(function, torch)))
        texts.append(f"{json.dumps(name)}: [\n  {lines}\n ]")
    version, answers = json.dumps(torch.__version__), ",\n ".join(texts)
    path.write_text(f'{{"torch": {version}, "answers": {{\n {answers}\n}}}}\n', encoding="utf-8")


if __name__ == "__main__":
    record(PROGRAMS, GOLDEN)
