"""Guards: programs that change what a compiled function reads give the same results as uncompiled."""

from __future__ import annotations

import copy
import pickle
import random
import sys
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import pullback
from pullback import nn
from pullback.compiler import CannotCompile

from ..kernels import using
from . import compile

F = nn.functional
SCALE: Any = 2.0
x, row = pullback.tensor([1.0, -2.0, 3.0]), pullback.ones(1, 3)


def helper(x: Any) -> Any:
    return x * SCALE


class Scaled(nn.Module):
    factor = 2.0

    def __init__(self) -> None:
        super().__init__()
        self.fc, self.drop, self.act, self.powers = nn.Linear(3, 3), nn.Dropout(0.5), pullback.relu, [1.0, 2.0]
        self.options = types.SimpleNamespace(shift=1.0)

    def through(self, x: Any) -> Any:
        return helper(x) * self.factor

    def forward(self, x: Any) -> Any:
        x = self.act(self.drop(self.fc(x))) + self.options.shift
        return self.through(sum(x**p for p in self.powers))


CHANGES: dict[str, Callable[[Any], Any]] = {
    "parameter": lambda net: setattr(net.fc, "weight", nn.Parameter(pullback.ones(3, 3))),
    "no parameter": lambda net: setattr(net.fc, "bias", None),
    "submodule": lambda net: setattr(net, "fc", nn.Linear(3, 3)),
    "option of a layer": lambda net: setattr(net.drop, "p", 0.0),
    "function": lambda net: setattr(net, "act", pullback.tanh),
    "item": lambda net: net.powers.__setitem__(0, 3.0),
    "one more item": lambda net: net.powers.append(3.0),
    "object": lambda net: setattr(net, "options", types.SimpleNamespace(shift=2.0)),
    "attribute of an object": lambda net: setattr(net.options, "shift", 2.0),
    "attribute of the class": lambda net: setattr(type(net), "factor", 3.0),
    "variable of a method's function": lambda net: globals().update(SCALE=5.0),
    "type of a number": lambda net: globals().update(SCALE=2),
    "sign of zero": lambda net: globals().update(SCALE=-0.0),
    "function of the module": lambda net: globals().update(helper=lambda x: x - 7),
    "hook": lambda net: net.fc.register_forward_hook(lambda module, args, out: out * 10),
    "state assigned": lambda net: net.load_state_dict({k: v * 2 for k, v in net.state_dict().items()}, assign=True),
    "default type": lambda net: pullback.set_default_dtype(pullback.float64),
}


@pytest.fixture
def put_back() -> Iterator[None]:
    before = SCALE, helper, Scaled.factor
    yield
    globals().update(SCALE=before[0], helper=before[1])
    Scaled.factor = before[2]
    pullback.set_default_dtype(pullback.float32)


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_rebound_is_seen(change: str, put_back: None) -> None:
    pullback.manual_seed(0)
    net = Scaled()
    fast = compile(lambda x: 1 / net(x))
    for _ in range(2):
        for _ in range(2):
            pullback.manual_seed(1)
            expected = (1 / net(row)).detach().numpy()
            pullback.manual_seed(1)
            np.testing.assert_allclose(fast(row).detach().numpy(), expected, rtol=1e-6)
        CHANGES[change](net)


def several(f: Any, *calls: tuple[Any, ...]) -> list[Any]:
    return [f(*args) for args in calls]


def items(wrap: Any) -> list[Any]:
    options, weights, array = {"scale": 2.0, "act": pullback.relu}, [pullback.ones(3)], np.array([2.0])
    f = wrap(lambda x: options["act"](x) * options["scale"] * sum(weights) * float(array[0]))
    found = [f(x)]
    for change in (
        lambda: options.update(scale=3.0),
        lambda: options.update(act=pullback.tanh),
        lambda: weights.append(x),
        lambda: weights.__setitem__(0, x),
        lambda: array.fill(4),
    ):
        change()
        found.append(f(x))
    return found


def arguments(wrap: Any) -> list[Any]:
    """Modules, optimizers and other things that are handed over."""
    net = nn.Linear(3, 2)
    optimizer = pullback.optim.SGD(net.parameters(), lr=0.1)

    def step(net: Any, optimizer: Any, box: Any) -> Any:
        optimizer.zero_grad()
        loss = net(box.row).pow(2).sum() * box.factor
        loss.backward()
        optimizer.step()
        return loss.detach()

    f, box = wrap(step), types.SimpleNamespace(row=row, factor=1.0)
    found = [f(net, optimizer, box) for _ in range(2)]
    net.weight = nn.Parameter(pullback.ones(2, 3))
    optimizer = pullback.optim.SGD(net.parameters(), lr=0.1)
    found += [f(net, optimizer, box) for _ in range(2)]
    box.row, box.factor = row * 2, 3.0
    return [*found, f(net, optimizer, box), net.weight]


def zeros(wrap: Any) -> list[Any]:
    return several(wrap(lambda x, s: 1 / (x * s)), (x, 0.0), (x, -0.0), (x, 0))


def aliases(wrap: Any) -> list[Any]:
    """One tensor as two arguments, and as an argument and a variable, where something is written."""
    w = pullback.ones(3)

    def both(a: Any, b: Any) -> Any:
        a.add_(1)
        return a + b

    def outside(a: Any) -> Any:
        w.add_(1)
        return a * 2

    f, g, a = wrap(both), wrap(outside), pullback.ones(3)
    return [
        *several(f, (pullback.ones(3), a), (a, a), (pullback.ones(3), a)),
        *several(g, (a,), (a,), (w,), (a,), (w,)),
    ]


def layouts(wrap: Any) -> list[Any]:
    """Nothing is drawn for a version that turns out not to serve; and views are refused where they were."""

    def f(x: Any) -> Any:
        x.mul_(pullback.rand(2, 3))
        return x.clone()

    def flat(x: Any) -> Any:
        return x.view(-1)

    f, flat = wrap(f), wrap(flat)
    found = several(
        f, (pullback.ones(2, 3),), (pullback.ones(2, 3),), (pullback.ones(3, 2).T,), (pullback.ones(3, 2).T,)
    ) + [pullback.rand(2)]
    flat(pullback.ones(2, 3))
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        flat(pullback.ones(3, 2).T)
    return found


def gradients(wrap: Any) -> list[Any]:
    """Of arguments, and those that somebody else replaced."""
    w = pullback.ones(3, requires_grad=True)

    def total(w: Any) -> Any:
        (w * x).sum().backward()
        return w.grad

    def outside() -> Any:
        (w * x).sum().backward()
        return w.grad

    f, g = wrap(total), wrap(outside)
    found = [
        f(v).clone() for v in (pullback.ones(3, requires_grad=True), w, w, pullback.zeros(3, requires_grad=True), w)
    ]
    found += [g().clone(), g().clone()]
    w.grad = pullback.full((3,), 100.0)
    return [*found, g().clone(), w.grad]


def groups(wrap: Any) -> list[Any]:
    """Frozen and thawed parameters, groups that are added, options that the function reads itself."""
    first, second, third = (nn.Parameter(pullback.ones(3) * k) for k in (1, 2, 3))
    optimizer = pullback.optim.Adam([first, second], lr=0.1)

    def step() -> Any:
        optimizer.zero_grad()
        loss = (first * second * third * x).sum()
        loss.backward()
        optimizer.step()
        return loss.detach() * optimizer.param_groups[0]["lr"]

    f, found = wrap(step), []
    for change in (
        lambda: None,
        lambda: first.requires_grad_(False),
        lambda: first.requires_grad_(True),
        lambda: optimizer.add_param_group({"params": [third], "lr": 0.5}),
        lambda: optimizer.param_groups[0].update(lr=0.01),
    ):
        change()
        found += [f() for _ in range(3)]
    return [*found, first, second, third]


def only_the_step(wrap: Any) -> list[Any]:
    """Of an optimizer, and by hand; gradients are there or not as they come."""
    a, b, c = (nn.Parameter(pullback.ones(3)) for _ in range(3))
    optimizer = pullback.optim.SGD([a, b], lr=0.1)

    def by_hand() -> None:
        with pullback.no_grad():
            for p in (b, c):
                if p.grad is not None:
                    p.sub_(0.1 * p.grad)

    f, g, found = wrap(lambda: optimizer.step()), wrap(by_hand), []
    for k in range(6):
        a.grad = b.grad = c.grad = None
        (a.sum() + (b * c).sum() * (k % 3 == 2)).backward() if k % 3 else (a * 3).sum().backward()
        f(), g()
        found += [a.clone(), b.clone(), c.clone()]
    return found


def hooks(wrap: Any) -> list[Any]:
    w = pullback.ones(3, requires_grad=True)

    def step() -> None:
        w.grad = None
        (w * x).sum().backward()

    f, found = wrap(step), []
    for make in (None, lambda: w.register_hook(lambda g: g * 5), None):
        handle = make and make()
        for _ in range(2):
            f()
            found.append(w.grad)
        if handle:
            handle.remove()
    return found


def inside_another(wrap: Any) -> list[Any]:
    w = pullback.ones(3, requires_grad=True)
    scale = 2.0
    inner = wrap(lambda x: x * w * scale)
    outer = wrap(lambda x: inner(x) + 1)
    found = [outer(x)]
    scale = 3.0
    found.append(outer(x))
    outer(x).sum().backward()
    return [*found, w.grad]


def inside_of_a_network(wrap: Any) -> list[Any]:
    """Gradients go on into what is behind an argument, first and second, through views and twice the same argument."""
    w = pullback.ones(3, requires_grad=True)
    f, g, found = wrap(lambda x: (x, x.sin().pow(3))), wrap(lambda x, y: x * y), []
    for _ in range(2):
        for z in (w, w * 3, (w * 2).view(3, 1), w.detach()):
            y = sum(v.sum() for v in f(z))
            found.append(y)
            if y.requires_grad:
                (first,) = pullback.autograd.grad(y, w, create_graph=True)
                found += [first, *pullback.autograd.grad((first**2).sum(), w)]
        z = w * 3
        found += pullback.autograd.grad(g(z, z).sum(), w)
        with pullback.no_grad():
            found.append(g(z, w))
    return found


def mean_of_nothing(wrap: Any) -> list[Any]:
    logits = pullback.arange(12.0).reshape(4, 3)
    f = wrap(lambda t: (F.cross_entropy(logits, t, ignore_index=1), F.nll_loss(logits, t, ignore_index=1)))
    return several(f, *[(pullback.tensor(t),) for t in ([0, 1, 2, 1], [1, 1, 1, 1], [2, 2, 1, 0])])


def copies(wrap: Any) -> list[Any]:
    net = wrap(nn.Linear(3, 2))
    net(row)
    twin, read = copy.deepcopy(net), pickle.loads(pickle.dumps(net))
    with pullback.no_grad():
        next(twin.parameters()).fill_(7)
    return [net(row), twin(row), read(row)]


@pytest.mark.parametrize(
    "program",
    [
        items,
        arguments,
        zeros,
        aliases,
        layouts,
        gradients,
        groups,
        only_the_step,
        hooks,
        inside_another,
        inside_of_a_network,
        mean_of_nothing,
        copies,
    ],
    ids=lambda f: f.__name__,
)
def test_programs(program: Callable) -> None:
    runs = []
    for wrap in (lambda f: f, compile):
        pullback.manual_seed(0)
        runs.append([np.asarray(v.detach()) for v in pullback.utils._pytree.tree_flatten(program(wrap))[0]])
    for a, b in zip(*runs, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(b, a, rtol=2e-6)


def appending(wrap: Any) -> Any:
    seen: list[Any] = []

    def f(x: Any) -> Any:
        seen.append(x)
        return x + len(seen)

    f = wrap(f)
    return [f(x), f(x), pullback.tensor(len(seen))]


def counting(wrap: Any) -> Any:
    count = {"calls": 0}

    def f(x: Any) -> Any:
        count["calls"] += 1
        return x * count["calls"]

    f = wrap(f)
    return [f(x), f(x)]


def going_on(wrap: Any) -> Any:
    numbers = iter([1.0, 2.0])
    f = wrap(lambda x: x * next(numbers))
    return [f(x), f(x)]


def drawing(wrap: Any) -> Any:
    random.seed(0)
    f = wrap(lambda x: x * random.random() + pullback.rand(3))
    return [f(x), f(x)]


def seeding(wrap: Any) -> Any:
    def f(x: Any) -> Any:
        pullback.manual_seed(3)
        return x * pullback.rand(3)

    f = wrap(f)
    return [f(x), f(x)]


def scheduling(wrap: Any) -> Any:
    w = nn.Parameter(pullback.ones(3))
    optimizer = pullback.optim.SGD([w], lr=1.0, momentum=0.9)
    scheduler = pullback.optim.lr_scheduler.StepLR(optimizer, 2)

    def step() -> None:
        optimizer.zero_grad()
        (w * w * x).sum().backward()
        optimizer.step()
        scheduler.step()

    step = wrap(step)
    step(), step(), step()
    return [w]


def looking(wrap: Any) -> Any:
    w = nn.Parameter(pullback.ones(3))
    optimizer = pullback.optim.SGD([w], lr=0.1, momentum=0.9)
    losses: list[float] = []

    def step() -> None:
        optimizer.zero_grad()
        loss = F.dropout(w * x).sum()
        loss.backward()
        optimizer.step()
        losses.append(0.0)
        losses[-1] = loss.item()

    step = wrap(step)
    step(), step(), step()
    return [w, pullback.tensor(losses)]


def overlapping(wrap: Any) -> Any:
    def f(a: Any, b: Any) -> Any:
        a.add_(1)
        return a.sum() + b

    a = pullback.ones(3)
    return several(wrap(f), (a, a[0]), (a, a[1]))


def writing(wrap: Any) -> Any:
    w = pullback.tensor([1.0, -2.0, 3.0], requires_grad=True)
    f = wrap(lambda x: pullback.relu_(x) * 2)
    return [*pullback.autograd.grad(f(w * 3).sum(), w), w]


def going_behind(wrap: Any) -> Any:
    w = pullback.ones(3, requires_grad=True)
    wrap(lambda x: x.sum().backward())(w * 3)
    return [w.grad]


@pytest.mark.parametrize(
    "program",
    [appending, counting, going_on, drawing, seeding, scheduling, looking, overlapping, writing, going_behind],
    ids=lambda f: f.__name__,
)
def test_what_a_plan_would_not_do_again_is_refused_and_put_back(program: Callable) -> None:
    """So that the program as it is gives then what it gives at all."""
    with pytest.raises(CannotCompile, match=r"test_guards.py:\d+"):
        program(compile)
    runs = []
    for wrap in (lambda f: f, lambda f: pullback.compile(f)):
        pullback.manual_seed(0)
        runs.append([np.asarray(v.detach()) for v in program(wrap)])
    for a, b in zip(*runs, strict=True):
        np.testing.assert_array_equal(b, a)


def test_what_is_not_mentioned_compiles_no_versions() -> None:
    """Attributes of an object that the function does not use, and globals that only share an attribute's name."""

    class Trainer:
        def __init__(self) -> None:
            self.w, self.losses, self.epoch = pullback.ones(3), [], 0

        def update(self, x: Any) -> Any:
            return (self.w * x).sum()

        def fit(self) -> None:
            step = compile(self.update)
            for _ in range(12):
                self.losses.append(step(x).item())
                self.epoch += 1
            assert len(step.versions) == 1

    Trainer().fit()
    plan = compile(lambda x: x.sum().row if False else x.sum())
    for k in range(12):
        globals()["row"] = pullback.ones(1, 3) * k
        plan(x)
    globals()["row"] = pullback.ones(1, 3)
    assert len(plan.versions) == 1


def test_classes_are_looked_at_at_each_call() -> None:
    fast = compile(lambda t: F.one_hot(t, 5))
    fast(pullback.tensor([1, 2]))
    with pytest.raises(RuntimeError, match="smaller than num_classes"):
        fast(pullback.tensor([1, 7]))


def test_several_threads() -> None:
    """One plan has one memory for what lies between its steps."""
    pullback.manual_seed(0)
    net = nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.LayerNorm(64), nn.Linear(64, 32)).requires_grad_(False)
    fast = compile(lambda x: F.softmax(net(x).sin() * 3 + net(x).cos(), -1).cumsum(0))
    given = [pullback.randn(200, 32) for _ in range(4)]
    fast(given[0])
    expected, wrong = [fast(x).numpy() for x in given], []

    def run(k: int) -> None:
        for _ in range(100):
            if not np.array_equal(fast(given[k]).numpy(), expected[k]):
                wrong.append(k)

    threads, interval = [threading.Thread(target=run, args=(k,)) for k in range(4)], sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        sys.setswitchinterval(interval)
    assert not wrong and len(fast.versions) == 1


def test_operations_may_come_to_be_machine_code():
    exp, y = pullback.exp, pullback.ones(2, requires_grad=True)
    step = compile(lambda: (exp(y) * 2).sum())
    step()
    with using("on"):  # in Python
        step()
    step()
    assert len(step.versions) == 1


def test_the_call_filter_hands_on_what_is_not_ignored() -> None:
    """Calls, and calls of functions in C; an exception is raised by the call, after which nothing is handed on."""
    pytest.importorskip("llvmlite")
    from pullback.compiler.call_filter import CallFilter

    def ignored() -> int:
        return len(seen)

    def called(stop: bool) -> int:
        return ignored() + len([stop])

    def note(frame: types.FrameType, event: str, function: Any) -> None:
        seen.append((frame.f_code.co_name, event, function if event == "c_call" else None))
        if frame.f_code is called.__code__ and frame.f_locals["stop"]:
            raise KeyError("stopped")

    seen: list[Any] = []
    calls = CallFilter(note)
    for code in (ignored.__code__, note.__code__, sys._getframe().f_code):
        calls.ignore(code)
    before = sys.getprofile()
    try:
        calls.start()
        assert called(False) == 2
        assert sys.getprofile() is not None
        with pytest.raises(KeyError, match="stopped"):
            called(True)
        assert sys.getprofile() is None
        called(False)
    finally:
        sys.setprofile(before)
    ours = [s for s in seen if s[0] in ("called", "ignored")]
    assert ours == [("called", "call", None), ("called", "c_call", len), ("called", "call", None)]


def test_many_ignored_functions_are_no_more_than_slow() -> None:
    """Where more functions are ignored than there is room for, some are handed on."""
    pytest.importorskip("llvmlite")
    from pullback.compiler import call_filter

    calls = call_filter.CallFilter(lambda *args: None)
    namespace: dict[str, Any] = {}
    exec("\n".join([f"def f{i}(): pass" for i in range(200)]), namespace)
    codes = [namespace[f"f{i}"].__code__ for i in range(200)]
    for code in codes * 200:
        calls.ignore(code)
    places = calls._places
    assert places.any(axis=1).sum() > 150  # spread over the sets
    assert {id(code) for code in codes} >= set(places[places != 0].tolist())
