"""Small programs about the optimizers besides SGD and Adam, and the recorder of what PyTorch 2.13 says to them.

Run it where PyTorch is installed to write ``methods.json`` beside it; see :mod:`programs`.
"""

from __future__ import annotations

import copy
from typing import Any

from record_optimizers import backward, described, numbers, parameters, trajectory

from programs import Programs, attempt

programs = Programs("methods.json")

METHODS: list[tuple[str, dict[str, Any]]] = [
    ("Adadelta", {"lr": 10.0}),
    ("Adadelta", {"rho": 0.5, "eps": 0.1, "weight_decay": 0.3, "maximize": True}),
    ("Adagrad", {"lr": 0.1, "fused": True}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.5, "weight_decay": 0.3}),
    ("Adagrad", {"lr": 0.1, "initial_accumulator_value": 0.5, "eps": 0.1, "maximize": True}),
    ("Adamax", {"lr": 0.1}),
    ("Adamax", {"lr": 0.1, "betas": (0.3, 0.5), "eps": 0.1, "weight_decay": 0.3}),
    ("ASGD", {"lr": 0.1}),
    ("ASGD", {"lr": 0.1, "lambd": 0.5, "alpha": 0.3, "t0": 2, "weight_decay": 0.3}),
    ("NAdam", {"lr": 0.1}),
    ("NAdam", {"lr": 0.1, "momentum_decay": 0.5, "weight_decay": 0.3}),
    ("NAdam", {"lr": 0.1, "betas": (0.3, 0.5), "weight_decay": 0.3, "decoupled_weight_decay": True}),
    ("RAdam", {"lr": 0.1}),
    ("RAdam", {"lr": 0.1, "betas": (0.3, 0.9), "weight_decay": 0.3}),
    ("RAdam", {"lr": 0.1, "betas": (0.9, 0.99), "weight_decay": 0.3, "decoupled_weight_decay": True}),
    ("RMSprop", {"lr": 0.1}),
    ("RMSprop", {"lr": 0.1, "alpha": 0.5, "momentum": 0.9, "weight_decay": 0.3}),
    ("RMSprop", {"lr": 0.1, "centered": True, "eps": 0.1, "maximize": True}),
    ("RMSprop", {"lr": 0.1, "centered": True, "eps": 0.1, "momentum": 0.5}),
    ("Rprop", {"lr": 0.1}),
    ("Rprop", {"lr": 0.1, "etas": (0.3, 2.0), "step_sizes": (0.01, 0.3), "maximize": True}),
    ("Adafactor", {"lr": 0.1}),
    ("Adafactor", {"lr": 0.1, "beta2_decay": -0.5, "eps": (1e-2, 0.1), "d": 2.0, "weight_decay": 0.3}),
    ("Muon", {"lr": 0.1}),
    ("Muon", {"lr": 0.1, "weight_decay": 0.3, "momentum": 0.3, "nesterov": False, "ns_steps": 2}),
    ("Muon", {"adjust_lr_fn": "match_rms_adamw", "ns_coefficients": (3.4, -4.7, 2.0), "eps": 1.0}),
]


@programs
def other_methods(torch):
    for name, options in METHODS:
        # PyTorch's Adafactor divides by the size of a parameter, and its Muon takes matrices only.
        pick = {"Adafactor": slice(3), "Muon": slice(0, 1)}.get(name, slice(None))
        yield trajectory(torch, lambda ps: getattr(torch.optim, name)(ps, **options), pick=pick)  # noqa: B023


@programs
def other_methods_in_other_types(torch):
    for name in ("Adadelta", "Adagrad", "Adamax", "ASGD", "NAdam", "RAdam", "RMSprop", "Rprop"):
        for dtype in ("float32", "complex128"):
            yield trajectory(torch, lambda ps: getattr(torch.optim, name)(ps, lr=0.01), dtype, 2)  # noqa: B023


@programs
def lbfgs(torch):
    for options in (
        {},
        {"line_search_fn": "strong_wolfe"},
        {"lr": 0.1, "max_iter": 4, "history_size": 2},
        {"max_eval": 7, "line_search_fn": "strong_wolfe"},
        {"tolerance_grad": 1.0},
        {"tolerance_change": 0.5},
        {"lr": torch.tensor([0.5])},
    ):
        for dtype in (torch.float64, torch.complex128):
            w = torch.tensor([[1.0, -2.0], [0.5, 3.0]], dtype=dtype, requires_grad=True)
            idle, b = torch.ones(2, dtype=dtype, requires_grad=True), torch.tensor(4.0, requires_grad=True)
            optimizer = torch.optim.LBFGS([w, idle, b.detach().double().requires_grad_()], **options)
            b = optimizer.param_groups[0]["params"][2]

            def closure() -> Any:
                optimizer.zero_grad()  # noqa: B023
                loss = ((w.abs() ** 2 - 1) ** 2).sum() + (w.sum() - b).abs() ** 2 + 0.1 * (b - 2) ** 4  # noqa: B023
                loss.backward()
                return loss

            losses = [float(optimizer.step(closure).detach()) for _ in range(2)]
            state = optimizer.state_dict()["state"][0]
            kinds = [[k, type(v).__name__] for k, v in sorted(state.items())]
            yield [losses, numbers(torch, w), b.item(), state["func_evals"], state["n_iter"], kinds]
    yield attempt(torch.optim.LBFGS, [{"params": [w]}, {"params": [b]}])
    yield attempt(torch.optim.LBFGS([w, b], line_search_fn="armijo").step, closure)


@programs
def other_values_out_of_range(torch):
    params, matrix = parameters(torch), parameters(torch)[:1]
    for name, given in {
        "Adadelta": [{"lr": -1}, {"rho": 1.5}, {"eps": -1}, {"weight_decay": -1}, {"lr": torch.ones(2)}],
        "Adagrad": [
            {"lr": -1},
            {"lr_decay": -1},
            {"weight_decay": -1},
            {"initial_accumulator_value": -1},
            {"eps": -1},
            {"fused": True, "foreach": True},
            {"fused": True, "differentiable": True},
        ],
        "Adamax": [{"lr": -1}, {"eps": -1}, {"betas": (1.0, 0.9)}, {"betas": (0.9, -0.1)}, {"weight_decay": -1}],
        "ASGD": [{"lr": -1}, {"weight_decay": -1}],
        "NAdam": [{"lr": -1}, {"eps": -1}, {"betas": (1.0, 0.9)}, {"weight_decay": -1}, {"momentum_decay": -1}],
        "RAdam": [{"lr": -1}, {"eps": -1}, {"betas": (0.9, 1.0)}, {"weight_decay": -1}],
        "RMSprop": [{"lr": -1}, {"eps": -1}, {"momentum": -1}, {"weight_decay": -1}, {"alpha": -1}],
        "Rprop": [{"lr": -1}, {"etas": (0.0, 1.2)}, {"etas": (0.5, 1.0)}],
        "Adafactor": [
            {"lr": -1},
            {"beta2_decay": 1},
            {"eps": (-1, 1)},
            {"eps": (None, -1)},
            {"d": 0.5},
            {"weight_decay": -1},
        ],
        "SparseAdam": [{"lr": 0.0}, {"eps": 0}, {"betas": (1.0, 0.9)}, {"betas": (0.9, 1.0)}],
        "LBFGS": [{"lr": -1}],
    }.items():
        for options in given:
            yield attempt(lambda: getattr(torch.optim, name)(params, **options))  # noqa: B023
    for options in ({"lr": -1}, {"momentum": -1}, {"weight_decay": -1}, {"adjust_lr_fn": "x"}):
        yield attempt(lambda: torch.optim.Muon(matrix, **options))  # noqa: B023
    yield attempt(torch.optim.Muon, params)
    yield attempt(torch.optim.SparseAdam, parameters(torch, "complex128"))


@programs
def steps_refused(torch):
    cases = [("Adam", {"capturable": True}), ("RMSprop", {"capturable": True}), ("SparseAdam", {})]
    cases += [("Muon", {"ns_steps": 100}), ("Muon", {"ns_coefficients": (1.0, 2.0)})]
    for name, options in cases:
        params = parameters(torch)[:1]
        optimizer = getattr(torch.optim, name)(params, **options)
        yield attempt(optimizer.step)
        backward(torch, params, 0)
        yield attempt(optimizer.step)
    for name, options in (("Adafactor", {}), ("Adam", {"fused": True}), ("Adagrad", {"fused": True}), ("Muon", {})):
        params = parameters(torch, "complex128")[:1]
        optimizer = getattr(torch.optim, name)(params, **options)
        backward(torch, params, 0)
        yield attempt(optimizer.step)


@programs
def a_parameter_listed_twice(torch):
    for name in ("SGD", "Adam", "RMSprop"):
        params = parameters(torch)[:3]
        optimizer = getattr(torch.optim, name)([params[1], *params[:2], params[1]], lr=0.1)
        for step in range(3):
            backward(torch, params, step)
            optimizer.step()
        yield [numbers(torch, p) for p in params]
        yield [[i, *described(torch, s)] for i, s in optimizer.state_dict()["state"].items()]
        yield optimizer.state_dict()["param_groups"][0]["params"]


@programs
def swapping_in(torch):
    swap = torch.optim.swap_in_optimizer_params_and_state
    for make in (lambda ps: torch.optim.Adam(ps, lr=0.1), lambda ps: torch.optim.SGD(ps, lr=0.1, momentum=0.9)):
        (p,), (other,) = parameters(torch)[:1], parameters(torch)[:1]
        optimizer = make([p])

        def use(state: Any, params: Any = None) -> None:
            with swap(optimizer, {"p": other} if params is None else params, state):  # noqa: B023
                backward(torch, [other], 2)  # noqa: B023
                optimizer.step()  # noqa: B023

        yield attempt(use, {})
        backward(torch, [p], 0)
        optimizer.step()
        state = copy.deepcopy(optimizer.state_dict())
        use(state)
        use(state)
        yield [numbers(torch, p), numbers(torch, other), described(torch, state["state"][0])]
        yield [optimizer.param_groups[0]["params"][0] is p, described(torch, optimizer.state[p])]
        group = state["param_groups"][0]
        for wrong in (
            3,
            state | {"state": 3},
            state | {"state": {0: 3}},
            state | {"state": {p: {}}},
            state | {"state": {7: {}}},
            state | {"param_groups": 3},
            state | {"param_groups": []},
            state | {"param_groups": [3]},
            state | {"param_groups": [group | {"params": 3}]},
            state | {"param_groups": [group | {"params": [0, 1]}]},
            state | {"param_groups": [group | {"more": 1}]},
        ):
            yield attempt(use, wrong)
        yield attempt(use, state, {})


if __name__ == "__main__":
    programs.record()
