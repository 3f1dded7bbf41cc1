"""Small programs about optimizers, and the recorder of what PyTorch 2.13 says to them.

Run it where PyTorch is installed to write ``optimizers.json`` beside it; see :mod:`programs`.
"""

from __future__ import annotations

import copy
import inspect
import itertools
import pickle
import sys
from collections.abc import Callable
from typing import Any

from programs import Programs, attempt, lin

programs = Programs("optimizers.json")

SGD_OPTIONS: list[dict[str, Any]] = [
    {"lr": 0.1},
    {"lr": 0.1, "weight_decay": 0.3},
    {"lr": 0.1, "maximize": True},
    {"lr": 0.1, "momentum": 0.9},
    {"lr": 0.1, "momentum": 0.9, "dampening": 0.4},
    {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.3},
    {"lr": 0.1, "momentum": 0.9, "dampening": 0.4, "maximize": True, "weight_decay": 0.3},
    {"lr": 0.1, "momentum": 0.5, "foreach": False},
    {},
]
ADAM_OPTIONS: list[dict[str, Any]] = [
    {},
    {"lr": 0.1},
    {"lr": 0.1, "betas": (0.5, 0.9)},
    {"lr": 0.1, "betas": (0.0, 0.9)},
    {"lr": 0.1, "betas": (0.3, 0.5), "eps": 1e-2},
    {"lr": 0.1, "amsgrad": True},
    {"lr": 0.1, "weight_decay": 0.3},
    {"lr": 0.1, "weight_decay": 0.3, "maximize": True, "amsgrad": True},
    {"lr": 0.1, "fused": True},
    {"lr": 0.1, "foreach": False},
]
OTHERS = (
    "ASGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adamax",
    "LBFGS",
    "Muon",
    "NAdam",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SparseAdam",
)


def base(torch: Any) -> Any:
    """The module ``torch.optim.optimizer``, which PyTorch does not give as an attribute."""
    return sys.modules[f"{torch.__name__}.optim.optimizer"]


def parameters(torch: Any, dtype: str = "float64") -> list[Any]:
    """Parameters of several shapes: a matrix, a vector, 0-d, empty, transposed."""
    kind = getattr(torch, dtype)
    starts = [
        torch.arange(6.0).reshape(2, 3) - 2,
        torch.arange(4.0) / 4,
        torch.tensor(1.5),
        torch.ones(0, 2),
        (torch.arange(6.0) / 2).reshape(2, 3).T,
    ]
    leaves = [t.to(kind) for t in starts]
    if kind.is_complex:
        leaves = [t + 1j * t.flip(0) if t.dim() else t * (1 + 2j) for t in leaves]
    return [t.detach().requires_grad_() for t in leaves]


def backward(torch: Any, params: list[Any], step: int) -> None:
    """Gradients that depend on the step, with large, small and zero entries."""
    for i, p in enumerate(params):
        if p.is_complex():
            p.grad = p.detach() * (step - 1 + 1j * i)
        else:
            p.grad = (p.detach() - i) * (step % 3 - 1) * 10.0 ** (i - step % 2)


def trajectory(
    torch: Any, make: Callable[..., Any], dtype: str = "float64", steps: int = 5, pick: slice = slice(None)
) -> list[Any]:
    """The parameters after some steps, and the state."""
    params = parameters(torch, dtype)[pick]
    optimizer = make(params)
    for step in range(steps):
        backward(torch, params, step)
        optimizer.step()
    state = optimizer.state_dict()["state"]
    return [[numbers(torch, p) for p in params], [[i, *described(torch, s)] for i, s in state.items()]]


def numbers(torch: Any, t: Any) -> Any:
    """A tensor as (nested) lists of real numbers."""
    t = t.detach()
    return (torch.view_as_real(t) if t.is_complex() else t).double().tolist()


def described(torch: Any, state: dict[str, Any]) -> list[Any]:
    """A parameter's state, in the order of its dict."""
    tensor = lambda v: [str(v.dtype), numbers(torch, v)]
    return [[key, *tensor(v)] if hasattr(v, "dtype") else [key, v] for key, v in state.items()]


# --- numbers ------------------------------------------------------------------------------------------------


@programs
def sgd(torch):
    for options in SGD_OPTIONS:
        yield trajectory(torch, lambda ps: torch.optim.SGD(ps, **options))  # noqa: B023


@programs
def adam(torch):
    for options in ADAM_OPTIONS:
        yield trajectory(torch, lambda ps: torch.optim.Adam(ps, **options))  # noqa: B023


@programs
def adamw(torch):
    for options in ADAM_OPTIONS:
        yield trajectory(torch, lambda ps: torch.optim.AdamW(ps, **options))  # noqa: B023


@programs
def other_types(torch):
    for dtype, options in itertools.product(
        ("float32", "complex64", "complex128"), ({}, {"weight_decay": 0.3, "maximize": True})
    ):
        for make in (
            lambda ps, o: torch.optim.SGD(ps, lr=0.01, momentum=0.5, **o),
            lambda ps, o: torch.optim.Adam(ps, lr=0.01, amsgrad=True, **o),
            lambda ps, o: torch.optim.AdamW(ps, lr=0.01, **o),
        ):
            yield trajectory(torch, lambda ps: make(ps, options), dtype, 3)  # noqa: B023


@programs
def types_mixed_in_a_group(torch):
    params = [*parameters(torch, "float32"), *parameters(torch), *parameters(torch, "complex64")]
    for make in (torch.optim.SGD, torch.optim.Adam):
        optimizer = make(params, lr=0.1)
        for step in range(3):
            backward(torch, params, step)
            optimizer.step()
        yield [[str(p.dtype), numbers(torch, p)] for p in params]


@programs
def tensors_as_options(torch):
    rate = torch.tensor(0.1)
    yield trajectory(torch, lambda ps: torch.optim.SGD(ps, lr=rate, momentum=0.9))
    yield trajectory(torch, lambda ps: torch.optim.SGD(ps, lr=torch.tensor([0.1])))
    yield trajectory(torch, lambda ps: torch.optim.Adam(ps, lr=torch.tensor([0.1]), foreach=False))
    betas = (torch.tensor(0.5), torch.tensor([0.75]))
    yield trajectory(torch, lambda ps: torch.optim.Adam(ps, lr=rate, betas=betas, foreach=False))


@programs
def gradients_that_come_and_go(torch):
    """A parameter without gradient keeps its value, its state and its own step count."""
    for make in (
        lambda ps: torch.optim.SGD(ps, lr=0.1, momentum=0.9),
        lambda ps: torch.optim.Adam(ps, lr=0.1),
        lambda ps: torch.optim.AdamW(ps, lr=0.1, amsgrad=True),
    ):
        params = parameters(torch)
        optimizer = make(params)
        for step in range(8):
            backward(torch, params, step)
            for i, p in enumerate(params):
                if step % (i + 2) == 0:
                    p.grad = None
            optimizer.step()
            yield [numbers(torch, p) for p in params]
        yield [[i, *described(torch, s)] for i, s in optimizer.state_dict()["state"].items()]


@programs
def options_changed_on_the_way(torch):
    for make in (
        lambda ps: torch.optim.SGD(ps, lr=0.1, momentum=0.9),
        lambda ps: torch.optim.Adam(ps, lr=0.1),
    ):
        params = parameters(torch)
        optimizer = make([{"params": params[:2]}, {"params": params[2:], "lr": 0.5}])
        for step in range(6):
            backward(torch, params, step)
            for group in optimizer.param_groups:
                group["lr"] *= 0.5
                group["weight_decay"] = 0.1 * (step % 2)
                group["maximize"] = step == 3
            optimizer.step()
        yield [numbers(torch, p) for p in params]


@programs
def state_changed_on_the_way(torch):
    """By hand: a tensor replaced, one written into, an entry reset, everything forgotten."""
    params = parameters(torch)
    optimizer = torch.optim.Adam(params, lr=0.1)
    for step in range(8):
        backward(torch, params, step)
        optimizer.step()
        first = optimizer.state[params[0]]
        if step == 1:
            first["exp_avg"] = torch.ones(2, 3, dtype=torch.float64)
        if step == 2:
            first["exp_avg_sq"].fill_(4.0)
        if step == 3:
            first["step"].fill_(1.0)
        if step == 4:
            optimizer.state[params[1]] = {}
        if step == 5:
            optimizer.state[params[4]]["step"] = torch.tensor(40.0)
        if step == 6:
            optimizer.state.clear()
        yield [numbers(torch, p) for p in params]


@programs
def data_replaced_on_the_way(torch):
    params = parameters(torch)
    for make in (torch.optim.SGD, torch.optim.Adam):
        optimizer = make(params, lr=0.1)
        for step in range(4):
            backward(torch, params, step)
            optimizer.step()
            for p in params:
                p.data = p.data * 2
        yield [numbers(torch, p) for p in params]


@programs
def a_closure(torch):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    for make in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW):
        optimizer = make([w], lr=0.1)
        enabled = []

        def closure() -> Any:
            enabled.append(torch.is_grad_enabled())  # noqa: B023
            optimizer.zero_grad()  # noqa: B023
            loss = (w * w).sum()
            loss.backward()
            return loss

        with torch.no_grad():
            yield [optimizer.step(closure).item(), enabled, w.tolist()]
        yield optimizer.step() is None


@programs
def a_recorded_step(torch):
    """``differentiable=True``: gradients through the update, with respect to the start and the gradient.

    In double precision by default: otherwise PyTorch counts steps, and corrects for them, in single precision here.
    """
    torch.set_default_dtype(torch.float64)
    SGD, Adam, AdamW = torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW
    for steps, kind, options in (
        (3, SGD, {"momentum": 0.9, "weight_decay": 0.5}),
        (3, SGD, {"maximize": True}),
        (3, Adam, {"weight_decay": 0.5}),
        (1, Adam, {"amsgrad": True}),  # PyTorch's own second step overwrites what backward needs of the first
        (3, AdamW, {}),
        (1, torch.optim.Adadelta, {"weight_decay": 0.5}),
        (1, torch.optim.Adagrad, {"weight_decay": 0.5}),
        (1, torch.optim.Adamax, {"weight_decay": 0.5}),
        (2, torch.optim.ASGD, {"weight_decay": 0.5}),
        (1, torch.optim.NAdam, {"weight_decay": 0.5}),
        (1, torch.optim.RAdam, {"weight_decay": 0.5, "betas": (0.9, 0.99)}),
        (1, torch.optim.RMSprop, {"momentum": 0.9, "centered": True}),
        (1, torch.optim.Rprop, {}),
    ):
        start = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
        scale = torch.tensor(3.0, dtype=torch.float64, requires_grad=True)
        p = start.clone()
        optimizer = kind([p], lr=0.1, differentiable=True, **options)
        for _ in range(steps):
            p.grad = scale * p.detach().clone()
            optimizer.step()
        (p * p).sum().backward()
        yield [p.tolist(), start.grad.tolist(), scale.grad.item()]
    torch.set_default_dtype(torch.float32)


# --- groups, state, texts -----------------------------------------------------------------------------------


@programs
def texts(torch):
    params = parameters(torch)
    yield repr(torch.optim.SGD(params))
    yield repr(torch.optim.Adam([{"params": params[:1], "lr": 0.5, "extra": "x"}, {"params": params[1:]}]))
    yield repr(torch.optim.AdamW(params, betas=(0.5, 0.6)))
    yield repr(torch.optim.SGD([("a", params[0])]))
    for name in ("SGD", "Adam", "AdamW", *OTHERS):
        kind = getattr(torch.optim, name)
        arguments = list(inspect.signature(kind).parameters.values())[1:]
        yield [[p.name, str(p.kind), p.default] for p in arguments]


@programs
def groups(torch):
    a, b, c = params = parameters(torch)[:3]
    SGD = torch.optim.SGD
    optimizer = SGD([{"params": a}, {"params": (p for p in (b,)), "lr": 0.5}], lr=0.1)
    optimizer.add_param_group({"params": [c], "momentum": 0.9})
    yield [{k: v for k, v in group.items() if k != "params"} for group in optimizer.param_groups]
    yield [len(group["params"]) for group in optimizer.param_groups]
    yield [optimizer.defaults, len(optimizer.state), type(optimizer.state).__name__]
    named = SGD([("a", a), ("b", b)])
    yield [named.param_groups[0]["param_names"], named.state_dict()["param_groups"]]
    yield attempt(named.add_param_group, {"params": [c]})
    yield attempt(optimizer.add_param_group, {"params": [("c", c)]})
    yield attempt(SGD, [("a", a), b])
    yield attempt(SGD, a)
    yield attempt(SGD, [])
    yield attempt(SGD, [3])
    yield attempt(SGD, [{"params": {a, b}}])
    yield attempt(SGD, [{"params": ["a", "b"]}])
    yield attempt(SGD, [a * 2])
    yield attempt(SGD, [a.detach()]) == {"no error": repr(SGD([a.detach()]))}
    yield attempt(SGD, [{"params": [a]}, {"params": [b, a]}])
    yield attempt(optimizer.add_param_group, {"params": [a]})
    yield attempt(optimizer.add_param_group, [a])
    yield len(SGD([a, a]).param_groups[0]["params"])

    class Needs(torch.optim.Optimizer):
        def __init__(self, params: Any) -> None:
            super().__init__(params, {"lr": base(torch).required, "k": 3})

    yield [repr(base(torch).required), attempt(Needs, params)]
    yield Needs([{"params": params, "lr": 1}]).param_groups[0]["k"]
    yield attempt(Needs([{"params": params, "lr": 1}]).step)


@programs
def values_out_of_range(torch):
    params = parameters(torch)
    for options in (
        {"lr": -1},
        {"momentum": -1},
        {"weight_decay": -1},
        {"nesterov": True},
        {"nesterov": True, "momentum": 0.9, "dampening": 0.1},
        {"lr": torch.ones(2)},
        {"fused": True, "foreach": True},
        {"fused": True, "differentiable": True},
    ):
        yield attempt(lambda: torch.optim.SGD(params, **options))  # noqa: B023
    for options in (
        {"lr": -1},
        {"eps": -1},
        {"betas": (1.0, 0.9)},
        {"betas": (0.9, -0.1)},
        {"betas": (1, 0.9)},
        {"betas": (0, 0.9)},
        {"betas": (0.9, torch.tensor(0.9))},
        {"betas": (torch.tensor(0.5), torch.tensor(0.5)), "foreach": True},
        {"weight_decay": -1},
        {"lr": torch.ones(2)},
        {"lr": torch.tensor(1.0), "foreach": True},
        {"fused": True, "foreach": True},
        {"fused": True, "differentiable": True},
    ):
        for kind in (torch.optim.Adam, torch.optim.AdamW):
            yield attempt(lambda: kind(params, **options))  # noqa: B023


@programs
def zeroing_gradients(torch):
    params = parameters(torch)[:2]
    optimizer = torch.optim.SGD(params)
    backward(torch, params, 0)
    grad = params[0].grad
    optimizer.zero_grad(set_to_none=False)
    yield [[p.grad.tolist() for p in params], params[0].grad is grad]
    optimizer.zero_grad()
    yield [p.grad is None for p in params]
    optimizer.zero_grad(set_to_none=False)
    yield [p.grad is None for p in params]


@programs
def saving_and_loading(torch):
    halves = lambda ps: [{"params": ps[:2]}, {"params": ps[2:], "lr": 0.5}]
    for make in (
        lambda ps: torch.optim.SGD(halves(ps), lr=0.1, momentum=0.9),
        lambda ps: torch.optim.Adam(halves(ps), lr=0.1),
        lambda ps: torch.optim.AdamW(halves(ps), lr=0.1, amsgrad=True),
    ):
        params = parameters(torch)
        optimizer = make(params)
        yield optimizer.state_dict()
        for step in range(3):
            backward(torch, params, step)
            optimizer.step()
        saved = pickle.loads(pickle.dumps(optimizer.state_dict()))
        yield [list(saved), saved["param_groups"]]
        yield [[i, *described(torch, s)] for i, s in saved["state"].items()]
        twins = [p.detach().clone().requires_grad_() for p in params]
        other = make(twins)
        other.param_groups[0]["lr"] = 77
        other.load_state_dict(saved)
        for step in range(3, 6):
            for ps, o in ((params, optimizer), (twins, other)):
                backward(torch, ps, step)
                o.step()
        yield [[numbers(torch, p) for p in ps] for ps in (params, twins)]
        yield [group["lr"] for group in other.param_groups]


@programs
def loading_into_another_type(torch):
    params = parameters(torch)
    optimizer = torch.optim.Adam(params)
    backward(torch, params, 0)
    optimizer.step()
    for dtype in ("float32", "bfloat16", "float16"):
        other = torch.optim.Adam(parameters(torch, dtype))
        other.load_state_dict(optimizer.state_dict())
        yield [[key, str(v.dtype)] for key, v in other.state_dict()["state"][0].items()]


@programs
def loading_what_does_not_fit(torch):
    params = parameters(torch)
    optimizer = torch.optim.SGD(params)
    saved = optimizer.state_dict()
    yield attempt(torch.optim.SGD(params[:2]).load_state_dict, saved)
    yield attempt(torch.optim.SGD([{"params": params[:2]}, {"params": params[2:]}]).load_state_dict, saved)
    old = torch.optim.Adam(params[:1])
    state = {"step": 3, "exp_avg": torch.ones(2, 3), "exp_avg_sq": torch.ones(2, 3)}
    group = {"lr": 0.1, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0, "params": [10]}
    old.load_state_dict({"state": {10: state, "global": 5}, "param_groups": [group]})
    yield described(torch, old.state[params[0]])
    yield [old.state["global"], {k: v for k, v in old.param_groups[0].items() if k != "params"}]
    decoupled = torch.optim.AdamW(params[:1])
    decoupled.load_state_dict(old.state_dict())
    yield decoupled.param_groups[0]["decoupled_weight_decay"]


@programs
def copies(torch):
    for make in (lambda ps: torch.optim.SGD(ps, momentum=0.9), torch.optim.Adam):
        params = parameters(torch)
        optimizer = make(params)
        backward(torch, params, 0)
        optimizer.step()
        twins, twin = copy.deepcopy((params, optimizer))
        yield twin.param_groups[0]["params"][0] is twins[0]
        backward(torch, params, 1)
        optimizer.step()
        yield [numbers(torch, p) for p in twins]
        backward(torch, twins, 1)
        twin.step()
        yield [numbers(torch, p) for p in twins] == [numbers(torch, p) for p in params]


@programs
def hooks(torch):
    params = parameters(torch)[:1]
    log: list[Any] = []
    optimizer = torch.optim.SGD(params, lr=0.1)
    everyone = base(torch)
    note = lambda when: lambda o, args, kw: log.append([when, args[0] is o, len(args), list(kw)])
    handles = [
        optimizer.register_step_pre_hook(note("before")),
        optimizer.register_step_post_hook(note("after")),
        everyone.register_optimizer_step_pre_hook(note("before any")),
        everyone.register_optimizer_step_post_hook(note("after any")),
    ]
    optimizer.step()
    optimizer.step(lambda: 3)
    optimizer.step(closure=lambda: 3)
    yield log
    for handle in handles:
        handle.remove()
    with optimizer.register_step_pre_hook(lambda o, args, kw: ((o, lambda: 7), {})):
        yield optimizer.step()
    with optimizer.register_step_pre_hook(lambda o, args, kw: 7):
        yield attempt(optimizer.step) != {}
    log.clear()
    with optimizer.register_state_dict_pre_hook(lambda o: log.append("save pre")):
        with optimizer.register_state_dict_post_hook(lambda o, d: log.append(list(d))):
            with optimizer.register_state_dict_post_hook(lambda o, d: d | {"more": 1}, prepend=True):
                yield list(optimizer.state_dict())
    yield log
    log.clear()
    saved = optimizer.state_dict()
    forget = lambda o, d: d | {"state": {0: {"momentum_buffer": None}}}
    with optimizer.register_load_state_dict_pre_hook(forget):
        with optimizer.register_load_state_dict_post_hook(lambda o: log.append(dict(o.state[params[0]]))):
            optimizer.load_state_dict(saved)
    yield [log, saved["state"]]


@programs
def an_optimizer_of_ones_own(torch):
    class Sign(torch.optim.Optimizer):
        def __init__(self, params: Any, lr: float) -> None:
            super().__init__(params, {"lr": lr})

        @torch.no_grad()
        def step(self, closure: Any = None) -> None:
            for group in self.param_groups:
                for p in group["params"]:
                    state = self.state[p]
                    state["count"] = state.get("count", 0) + 1
                    p.add_(p.grad.sign(), alpha=-group["lr"])

    m = lin(torch)
    optimizer = Sign(m.parameters(), lr=0.5)
    log: list[Any] = []
    optimizer.register_step_post_hook(lambda o, args, kw: log.append("stepped"))
    for _ in range(2):
        optimizer.zero_grad()
        (m(torch.ones(1, 2)) * torch.tensor([1.0, -1.0, 0.0])).sum().backward()
        optimizer.step()
    yield [[p.tolist() for p in m.parameters()], log, repr(optimizer), optimizer.state_dict()]


if __name__ == "__main__":
    programs.record()
