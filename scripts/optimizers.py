"""Compare every optimizer and every schedule with PyTorch, with options from so few values that many are equal.

    pip install torch
    python scripts/optimizers.py [number of runs] [seed]

A run is 50 steps of groups of parameters under a schedule, or of a schedule alone; in between, the program changes
options, adds a group, or saves and loads. Parameters in bfloat16 may be no further from what float64 gives than
PyTorch's are. Prints what differs, with the run, and exits with 1 if anything does.
"""

from __future__ import annotations

import io
import random
import sys
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

STEPS = 50
SHARES = (0.0, 0.5, 0.9, 0.99)  # of averages: below 1
TERMS = (0.0, 0.01, 0.5, 1.0)  # everything that may be any size
RATES = (0.01, 0.05, 0.5, 1.0)
EPS = (0.01, 0.5, 1.0, 1e-8)
FLAGS = (False, False, True)
PAIRS = tuple((a, b) for a in SHARES for b in SHARES[1:])

COMMON: dict[str, tuple] = {"weight_decay": TERMS, "maximize": FLAGS, "foreach": (None, True, False)}
ADAM = COMMON | {"betas": PAIRS, "eps": EPS}
METHODS: dict[str, dict[str, tuple]] = {
    "SGD": COMMON | {"momentum": SHARES, "dampening": SHARES, "nesterov": FLAGS, "fused": FLAGS},
    "Adam": ADAM | {"amsgrad": FLAGS, "fused": FLAGS, "decoupled_weight_decay": FLAGS},
    "AdamW": ADAM | {"amsgrad": FLAGS, "fused": FLAGS},
    "Adamax": ADAM,
    "NAdam": ADAM | {"momentum_decay": TERMS, "decoupled_weight_decay": FLAGS},
    "RAdam": ADAM | {"decoupled_weight_decay": FLAGS},
    "RMSprop": COMMON | {"alpha": SHARES[1:], "eps": EPS[:3], "momentum": SHARES, "centered": FLAGS},
    "Adadelta": COMMON | {"rho": SHARES, "eps": EPS[:3]},
    "Adagrad": COMMON | {"lr_decay": TERMS, "initial_accumulator_value": TERMS, "eps": EPS, "fused": FLAGS},
    "ASGD": COMMON | {"foreach": (None, False), "lambd": TERMS, "alpha": TERMS, "t0": (0, 1, 5, 1e6)},
    "Rprop": {
        "etas": ((0.5, 1.2), (0.01, 1.5)),
        "step_sizes": ((1e-6, 50), (0.01, 0.5), (0.5, 1.0)),
        "maximize": FLAGS,
        "foreach": (None, True, False),
    },
    "Adafactor": {
        "beta2_decay": (-0.8, -0.5, 0.0),
        "eps": ((None, 1e-3), (0.01, 0.5), (0.5, 0.5)),
        "d": (1.0, 2.0),
        "weight_decay": TERMS,
        "foreach": (None, True, False),
        "maximize": FLAGS,
    },
}


def one(rng: random.Random, choices: dict[str, tuple]) -> dict[str, Any]:
    return {name: rng.choice(values) for name, values in choices.items()}


# --- schedules --------------------------------------------------------------------------------------------------

EPOCHS = (1, 2, 3, 5, 10, 20)
FACTORS = (0.5, 0.9, 1.0, 0.01)
SIMPLE: dict[str, dict[str, tuple]] = {
    "StepLR": {"step_size": EPOCHS, "gamma": FACTORS},
    "MultiStepLR": {"milestones": ([1, 3], [5, 5, 20], [2]), "gamma": FACTORS},
    "ConstantLR": {"factor": FACTORS, "total_iters": EPOCHS},
    "LinearLR": {"start_factor": FACTORS, "end_factor": FACTORS, "total_iters": EPOCHS},
    "ExponentialLR": {"gamma": FACTORS},
    "PolynomialLR": {"total_iters": EPOCHS, "power": (0.5, 1.0, 2.0)},
    "CosineAnnealingLR": {"T_max": EPOCHS, "eta_min": (0.0, 0.01, 0.5)},
    "CosineAnnealingWarmRestarts": {"T_0": EPOCHS, "T_mult": (1, 2), "eta_min": (0.0, 0.01, 0.5)},
    "LambdaLR": {"lr_lambda": (lambda t: 1 / (1 + t), lambda t: 0.5)},
    "MultiplicativeLR": {"lr_lambda": (lambda t: 1 / (1 + t), lambda t: 0.9)},
    "CyclicLR": {
        "base_lr": RATES,
        "max_lr": RATES,
        "step_size_up": EPOCHS,
        "step_size_down": (None, *EPOCHS),
        "mode": ("triangular", "triangular2", "exp_range"),
        "gamma": FACTORS,
        "cycle_momentum": (False, True),
        "base_momentum": (0.5, 0.8),
        "max_momentum": (0.5, 0.9),
    },
    "OneCycleLR": {
        "max_lr": RATES,
        "total_steps": (STEPS + 10, 2 * STEPS),
        "pct_start": (0.3, 0.5),
        "anneal_strategy": ("cos", "linear"),
        "cycle_momentum": (False, True),
        "base_momentum": (0.5, 0.85),
        "max_momentum": (0.5, 0.95),
        "three_phase": (False, True),
    },
    "ReduceLROnPlateau": {
        "mode": ("min", "max"),
        "factor": (0.5, 0.9),
        "patience": (0, 1, 5),
        "threshold_mode": ("rel", "abs"),
        "threshold": (0.0, 0.01, 0.5),
        "cooldown": (0, 2),
        "min_lr": (0.0, 0.01, 0.5),
    },
    "SWALR": {"swa_lr": RATES, "anneal_epochs": (1, 5, 20), "anneal_strategy": ("cos", "linear")},
}
CHAINABLE = [name for name in SIMPLE if name not in ("ReduceLROnPlateau", "CyclicLR", "OneCycleLR", "SWALR")]
COMPOSITE = ["SequentialLR", "ChainedScheduler"]


class Schedule(NamedTuple):
    """A schedule: of a class with options, or made of others."""

    name: str
    options: dict[str, Any]
    parts: tuple[Schedule, ...] = ()

    def on(self, torch: Any, optimizer: Any, last_epoch: int = -1) -> Any:
        kind = getattr(torch.optim.swa_utils if self.name == "SWALR" else torch.optim.lr_scheduler, self.name)
        parts = [part.on(torch, optimizer, last_epoch) for part in self.parts]
        if self.name == "ChainedScheduler":
            return kind(parts, optimizer)
        if self.name == "SequentialLR":
            return kind(optimizer, parts, **self.options)
        resumed = {} if self.name == "ReduceLROnPlateau" else {"last_epoch": last_epoch}
        return kind(optimizer, **self.options, **resumed)

    def step(self, made: Any, measure: float) -> list[float]:
        """Step what :meth:`on` has made; the rates."""
        made.step(*[abs(measure)] * (self.name == "ReduceLROnPlateau"))
        return [float(lr) for lr in made.get_last_lr()]


def schedule(rng: random.Random, names: list[str], deep: int = 2) -> Schedule:
    """A schedule by chance."""
    name = rng.choice(names)
    if name in SIMPLE:
        return Schedule(name, one(rng, SIMPLE[name]))
    inner = CHAINABLE + COMPOSITE * (deep > 0)
    parts = tuple(schedule(rng, inner, deep - 1) for _ in range(rng.choice((1, 2, 3))))
    milestones = sorted(rng.sample(range(1, 30), len(parts) - 1))
    return Schedule(name, {"milestones": milestones} if name == "SequentialLR" else {}, parts)


class ScheduleRun(NamedTuple):
    """A schedule alone, from the start or from some epoch, whose rates the program changes, and which it saves."""

    schedule: Schedule
    resume_at: int
    rate_as_tensor: bool
    changes: dict[int, float]
    save_at: list[int]
    seed: int
    tolerance: float = 1e-9

    def on(self, torch: Any) -> Iterator[tuple[str, Any]]:
        """What is to be equal, step by step, with a name for it."""
        measures = np.random.default_rng(self.seed).normal(size=2 * STEPS)

        def rate(value: float) -> Any:
            return torch.tensor(value, dtype=torch.float64) if self.rate_as_tensor else value

        def fresh() -> Any:
            params = [torch.zeros(1, requires_grad=True) for _ in range(2)]
            return torch.optim.SGD([{"params": params[:1]}, {"params": params[1:], "lr": 1.0}], rate(0.5), 0.9)

        optimizer = fresh()
        made = self.schedule.on(torch, optimizer)
        for t in range(self.resume_at):
            optimizer.step()
            yield f"rates before {t}", self.schedule.step(made, measures[t])
        if self.resume_at:
            state, optimizer = optimizer.state_dict(), fresh()
            optimizer.load_state_dict(state)
            made = self.schedule.on(torch, optimizer, self.resume_at)
        for t in range(self.resume_at, STEPS):
            optimizer.step()
            yield f"rates {t}", self.schedule.step(made, measures[t])
            yield f"momenta {t}", [group["momentum"] for group in optimizer.param_groups]
            if t in self.changes:
                optimizer.param_groups[t % 2]["lr"] = rate(self.changes[t])
            if t in self.save_at:
                states = optimizer.state_dict(), made.state_dict()
                yield f"saved {t}", sorted(states[1])
                optimizer = fresh()
                made = self.schedule.on(torch, optimizer)
                for loading, state in zip((optimizer, made), states):
                    loading.load_state_dict(state)


def schedule_run(rng: random.Random) -> ScheduleRun:
    """A run of a schedule by chance."""
    follow = schedule(rng, [*SIMPLE, *COMPOSITE * 3])
    # In PyTorch, a sequence that is resumed has the rates of its beginning.
    can_resume = follow.name in SIMPLE or follow.name == "ChainedScheduler" and "SequentialLR" not in str(follow)
    return ScheduleRun(
        follow,
        rng.choice((0, 1, 3, 4, 7)) if can_resume and rng.random() < 0.4 else 0,
        rng.random() < 0.25,
        {rng.randrange(10, STEPS): rng.choice(RATES) for _ in range(rng.choice((0, 0, 2)))},
        [rng.randrange(10, STEPS) for _ in range(rng.choice((0, 0, 2)))],
        rng.randrange(2**32),
    )


# --- optimizers -------------------------------------------------------------------------------------------------

Shapes = list[tuple[int, ...]]
FIXED = ("nesterov", "foreach", "fused", "momentum", "dampening", "initial_accumulator_value")  # of all groups alike
LASTING = ("amsgrad", "centered", "beta2_decay", *FIXED)  # decide what state there is


class Run(NamedTuple):
    """A program: what both sides do, drawn before either does it."""

    method: str
    dtype: str
    defaults: dict[str, Any]
    groups: list[tuple[Shapes, dict[str, Any]]]
    late: tuple[int, Shapes]  # a group added after a step, if there is anything in it
    rate_as_tensor: bool
    schedule: Schedule | None
    changes: dict[int, tuple[int, str, Any]]  # after a step, an option of a group becomes this
    save_at: int | None
    seed: int

    @property
    def tolerance(self) -> float:
        return 1e-8 if self.dtype == "float64" and not self.rate_as_tensor else 3e-4

    def on(self, torch: Any, dtype: str | None = None) -> Iterator[tuple[str, Any]]:
        """What is to be equal, step by step, with a name for it; of numbers in ``dtype``, if that is another."""
        rng = np.random.default_rng(self.seed)
        drawn, used = getattr(torch, self.dtype), getattr(torch, dtype or self.dtype)

        def tensor(shape: tuple[int, ...], add: float = 0.0) -> Any:
            return torch.tensor(rng.normal(size=shape) + add, dtype=torch.float64).to(drawn).to(used)

        def group(shapes: Shapes, options: dict[str, Any]) -> dict[str, Any]:
            rate = {"lr": torch.tensor(options["lr"])} if self.rate_as_tensor and "lr" in options else {}
            return {"params": [tensor(shape).requires_grad_() for shape in shapes], **options, **rate}

        optimizer = getattr(torch.optim, self.method)([group(*g) for g in self.groups], **self.defaults)
        follow = self.schedule and self.schedule.on(torch, optimizer)
        for t in range(STEPS):
            params = [p for g in optimizer.param_groups for p in g["params"]]
            drift = rng.normal(size=3)
            for i, p in enumerate(params):
                p.grad = None if t % 7 == 3 and i % 4 == 1 else tensor(tuple(p.shape), drift[i % 3])
            optimizer.step()
            if self.schedule:
                yield f"rates {t}", self.schedule.step(follow, drift[0])
            if t in self.changes:
                i, name, value = self.changes[t]
                as_tensor = self.rate_as_tensor and name == "lr"
                optimizer.param_groups[i][name] = torch.tensor(value) if as_tensor else value
            if t == self.late[0] and self.late[1]:
                optimizer.add_param_group(group(self.late[1], {}))
            if t == self.save_at:
                file = io.BytesIO()
                torch.save(optimizer.state_dict(), file)
                file.seek(0)
                optimizer.load_state_dict(torch.load(file, weights_only=True))
            if t % 7 == 6 or t == STEPS - 1:
                for i, p in enumerate(params):
                    yield f"parameter {i} after step {t}", p.detach().to(torch.float64).numpy().copy()
        for i, own in optimizer.state_dict()["state"].items():
            for name, value in own.items():
                if hasattr(value, "detach"):
                    yield f"{name} of {i}, its type", str(value.dtype).split(".")[-1]
                    value = value.detach().to(torch.float64).numpy().copy()
                yield f"{name} of {i}", value


def run(rng: random.Random) -> Run:
    """A run of an optimizer by chance."""
    method = rng.choice(list(METHODS))
    size = rng.choice((10, 3000)) if rng.random() < 0.99 else 10**6

    def shapes() -> Shapes:
        return [rng.choice(((size,), (2, size // 2), (5,), ())) for _ in range(rng.choice((1, 1, 2, 4)))]

    def options() -> dict[str, Any]:
        return one(rng, METHODS[method]) | {"lr": rng.choice(RATES)}

    defaults, rate_as_tensor = options(), rng.random() < 0.2
    if defaults.get("nesterov"):
        defaults |= {"momentum": 0.5, "dampening": 0.0}
    if defaults.get("fused") or rate_as_tensor:
        defaults["foreach"] = None
    groups = []
    for _ in range(rng.choice((1, 1, 2, 3))):
        own = {name: value for name, value in options().items() if name not in FIXED and rng.random() < 0.3}
        groups.append((shapes(), own))
    follow = schedule(rng, [*SIMPLE, *COMPOSITE * 2]) if rng.random() < 0.8 else None
    if follow and not {"betas", "momentum"} & defaults.keys() and "cycle_momentum" in follow.options:
        follow.options["cycle_momentum"] = False
    changes = {}
    for t in rng.sample(range(STEPS), rng.choice((0, 0, 1, 3))):
        name = rng.choice([name for name in defaults if name not in LASTING])
        changes[t] = rng.randrange(len(groups)), name, rng.choice(RATES if name == "lr" else METHODS[method][name])
    late = shapes() if follow is None and rng.random() < 0.3 else []
    dtype = rng.choice(("float64", "float64", "float32", "bfloat16"))
    # PyTorch loads products and rates that an optimizer counts in its parameters' type.
    save_at = rng.randrange(STEPS) if rng.random() < 0.3 and method not in ("NAdam", "ASGD") else None
    seed = rng.randrange(2**32)
    return Run(
        method, dtype, defaults, groups, (rng.randrange(5, 40), late), rate_as_tensor, follow, changes, save_at, seed
    )


# --- comparison -------------------------------------------------------------------------------------------------


def outcome(results: Iterator[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """What a run gives, and at last its error, if it ends in one."""
    seen: list[tuple[str, Any]] = []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for result in results:
                seen.append(result)
    except Exception as error:
        seen.append(("error", f"{type(error).__name__}: {str(error)[:60]}"))
    return seen


def are_close(a: Any, b: Any, tolerance: float) -> bool:
    a, b = np.asarray(a), np.asarray(b)
    size = np.abs(b[np.isfinite(b)]).max(initial=1e-3)
    return a.shape == b.shape and np.allclose(a, b, rtol=tolerance, atol=tolerance * size, equal_nan=True)


def difference(program: Any, ours: Any, theirs: Any) -> str:
    """In what the results of a run differ, or nothing."""
    a, b = outcome(program.on(ours)), outcome(program.on(theirs))
    in_half = getattr(program, "dtype", "") == "bfloat16"
    exact = outcome(program.on(ours, "float64")) if in_half else b
    far = [np.nan_to_num(np.abs(z)).max(initial=0) for name, z in exact if name.startswith("parameter")]
    for (mine, x), (other, y), (_, z) in zip(a, b, exact):
        if mine != other:
            return f"{mine}: {x} in place of {other}: {y}"
        numbers = isinstance(y, np.ndarray) or isinstance(y, list) and y and isinstance(y[0], float)
        if in_half and isinstance(y, np.ndarray) and np.shape(x) == np.shape(z):
            errors = [np.nan_to_num(np.abs(v - z)).mean() for v in (x, y)]
            same = errors[0] <= 2 * errors[1] + 0.02 * max(
                *far, np.nan_to_num(np.abs(z)).max(initial=0)
            )  # single numbers may be lucky
        else:
            same = are_close(x, y, max(program.tolerance, 1e-9)) if numbers else x == y
        if not same:
            return f"{mine}: {x} in place of {y}"
    return "" if len(a) == len(b) else f"{len(a)} results in place of {len(b)}"


def main(count: int, seed: str) -> int:
    import torch

    import pullback

    torch.set_num_threads(1)
    wrong = 0
    for i in range(count):
        rng = random.Random(f"{seed}:{i}")
        program = schedule_run(rng) if i % 3 == 0 else run(rng)
        found = difference(program, pullback, torch)
        if found:
            wrong += 1
            print(f"{i}: {found}\n    {program}")
    print(f"{count} runs, {wrong} differ")
    return int(wrong > 0)


if __name__ == "__main__":
    given = sys.argv[1:]
    sys.exit(main(int(given[0]) if given else 300, given[1] if len(given) > 1 else "0"))
