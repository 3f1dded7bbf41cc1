"""Every option of every optimizer beside PyTorch: ten steps in double precision, and state that changes sides."""

import itertools

import numpy as np
import pytest

import pullback

pytestmark = pytest.mark.torch

OPTIONS = {
    "SGD": [{}, {"momentum": 0.9}, {"momentum": 0.9, "dampening": 0.3}, {"momentum": 0.9, "nesterov": True}],
    "Adam": [{}, {"amsgrad": True}, {"betas": (0.3, 0.5)}, {"eps": 0.1}, {"decoupled_weight_decay": True}],
    "AdamW": [{}, {"amsgrad": True}, {"betas": (0.3, 0.5)}],
    "Adadelta": [{}, {"rho": 0.5}, {"eps": 0.1}],
    "Adagrad": [{}, {"lr_decay": 0.1, "initial_accumulator_value": 0.5}, {"eps": 0.1}],
    "Adamax": [{}, {"betas": (0.3, 0.5)}, {"eps": 0.1}],
    "ASGD": [{}, {"t0": 3, "lambd": 0.1}, {"alpha": 0.2, "lambd": 0.3}],
    "NAdam": [{}, {"momentum_decay": 0.1}, {"decoupled_weight_decay": True}, {"betas": (0.3, 0.5)}],
    "RAdam": [{}, {"decoupled_weight_decay": True}, {"betas": (0.3, 0.5)}, {"betas": (0.9, 0.9)}],
    "RMSprop": [{}, {"centered": True}, {"momentum": 0.9}, {"momentum": 0.9, "centered": True, "alpha": 0.5}],
    "Rprop": [{}, {"etas": (0.3, 2.0)}, {"step_sizes": (1e-3, 0.06)}],
    "Adafactor": [{}, {"beta2_decay": -0.3}, {"eps": (1e-3, 0.1)}, {"d": 2.0}],
    "Muon": [
        {},
        {"nesterov": False},
        {"momentum": 0.3},
        {"adjust_lr_fn": "match_rms_adamw"},
        {"ns_steps": 3, "eps": 0.1},
    ],
}
CASES = [
    pytest.param(name, options, id=f"{name}-{i}") for name, all in OPTIONS.items() for i, options in enumerate(all)
]
SHAPES = {"Muon": [(4, 3), (3, 5), (2, 2)], "Adafactor": [(4, 3), (5,), (), (2, 3, 4)]}


def variants(name):
    """Options that (nearly) all methods have."""
    yield {}
    if name != "Muon":
        yield {"maximize": True}
    if name != "Rprop":
        yield {"weight_decay": 0.3}
    if name not in ("Muon", "Adafactor"):
        yield {"differentiable": True}


class Run:
    """Random parameters, and random gradients for every step, the same on both sides."""

    def __init__(self, name, options, dtype="float64"):
        self.name, self.options = name, options
        rng = np.random.default_rng(0)
        real = lambda shape: rng.normal(size=shape)
        draw = real if dtype == "float64" else lambda shape: real(shape) + 1j * real(shape)
        shapes = SHAPES.get(name, [(4, 3), (5,), (), (2, 3, 4), (0, 2)])
        self.starts, *self.gradients = [[draw(shape) for shape in shapes] for _ in range(11)]

    def on(self, torch, starts, steps, state=None):
        params = [torch.tensor(start, requires_grad=True) for start in starts]
        recorded = self.options.get("differentiable", False)
        params = [p.clone() for p in params] if recorded else params  # a step is not recorded on leaves
        optimizer = getattr(torch.optim, self.name)(params, lr=0.05, **self.options)
        if state is not None:
            optimizer.load_state_dict(moved(state, torch))
        for step in steps:
            for p, g in zip(params, self.gradients[step]):
                p.grad = torch.tensor(g)
            if step % 5 == 3:
                params[1].grad = None
            optimizer.step()
        return [p.detach().numpy() for p in params], optimizer.state_dict()


def moved(state, torch):
    """A state dict with its tensors of the other side."""
    if isinstance(state, dict):
        return {key: moved(value, torch) for key, value in state.items()}
    if isinstance(state, (list, tuple)):
        return type(state)(moved(value, torch) for value in state)
    if hasattr(state, "detach"):
        return torch.tensor(state.detach().numpy(), dtype=getattr(torch, str(state.dtype).split(".")[-1]))
    return state


def close(ours, theirs):
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-12, atol=1e-300)


@pytest.fixture
def double():
    """Step counts in double precision: PyTorch's recorded steps compute with them."""
    torch = pytest.importorskip("torch")
    for side in (torch, pullback):
        side.set_default_dtype(side.float64)
    yield torch
    for side in (torch, pullback):
        side.set_default_dtype(side.float32)


@pytest.mark.filterwarnings("ignore:The .grad attribute")
@pytest.mark.parametrize("name, options", CASES)
def test_parameters_and_state_after_ten_steps(double, name, options):
    for variant, dtype in itertools.product(variants(name), ("float64", "complex128")):
        if name in ("Muon", "Adafactor") and dtype != "float64":
            continue
        run = Run(name, options | variant, dtype)
        theirs, their_state = run.on(double, run.starts, range(10))
        ours, our_state = run.on(pullback, run.starts, range(10))
        close(ours, theirs)
        assert list(our_state["state"]) == list(their_state["state"])
        for number, state in their_state["state"].items():
            assert list(our_state["state"][number]) == list(state)
            close(*([t.detach().numpy() for t in s.values()] for s in (our_state["state"][number], state)))
        mine, other = our_state["param_groups"][0], their_state["param_groups"][0]
        assert list(mine.items()) == list(other.items())


@pytest.mark.parametrize("name, options", CASES)
def test_state_changes_sides(name, options):
    torch = pytest.importorskip("torch")
    run = Run(name, options)
    first, state = run.on(torch, run.starts, range(5))
    # here a loaded state goes on as if nothing had been; PyTorch goes on with NAdam's product in double precision
    expected = {torch: run.on(torch, first, range(5, 10), state)[0], pullback: run.on(torch, run.starts, range(10))[0]}
    for before, after in ((torch, pullback), (pullback, torch), (pullback, pullback)):
        middle, state = run.on(before, run.starts, range(5))
        close(run.on(after, middle, range(5, 10), state)[0], expected[after])
