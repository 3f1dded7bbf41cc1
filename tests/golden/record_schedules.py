"""Small programs about learning rate schedules and averages of models, and the recorder of what PyTorch 2.13 says to
them.

Run it where PyTorch is installed to write ``schedules.json`` beside it; see :mod:`programs`.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from programs import Programs, attempt

programs = Programs("schedules.json")

Make = Callable[[Any, Any], Any]  # a schedule, of the module ``lr_scheduler`` and an optimizer
MEASURES = [3, 2, 2.5, 2.5, 1.9, 1.9, 1.9, 1.9, 5, 5, 5, 5, 5, 5, 4, 3, 2, 1, 1, 1]


class Power:
    """A callable object, whose attributes are saved."""

    def __init__(self, base: float = 0.9) -> None:
        self.base = base

    def __call__(self, x: float) -> float:
        return self.base**x


FACTORS: dict[str, Make] = {
    "lambda": lambda L, o: L.LambdaLR(o, lambda epoch: 1 / (epoch + 1)),
    "lambdas": lambda L, o: L.LambdaLR(o, [lambda epoch: 0.9**epoch, Power()]),
    "multiplicative": lambda L, o: L.MultiplicativeLR(o, [lambda epoch: 0.95, Power(0.99)]),
    "step": lambda L, o: L.StepLR(o, 3, 0.5),
    "milestones": lambda L, o: L.MultiStepLR(o, [3, 3, 7, 1]),
    "constant": lambda L, o: L.ConstantLR(o),
    "constant at once": lambda L, o: L.ConstantLR(o, 0.7, 0),
    "linear": lambda L, o: L.LinearLR(o),
    "linear down": lambda L, o: L.LinearLR(o, 0.9, 0.1, 7),
    "exponential": lambda L, o: L.ExponentialLR(o, 0.9),
    "polynomial": lambda L, o: L.PolynomialLR(o),
    "polynomial 2": lambda L, o: L.PolynomialLR(o, 7, 2.0),
}
COSINES: dict[str, Make] = {
    "cosine": lambda L, o: L.CosineAnnealingLR(o, 7, 0.01),
    "long cosine": lambda L, o: L.CosineAnnealingLR(o, 30),
    "short cosine": lambda L, o: L.CosineAnnealingLR(o, 1),
    "restarts": lambda L, o: L.CosineAnnealingWarmRestarts(o, 4),
    "longer restarts": lambda L, o: L.CosineAnnealingWarmRestarts(o, 3, 2, 0.001),
}
CYCLES: dict[str, Make] = {
    "cycles": lambda L, o: L.CyclicLR(o, 0.01, 0.1, 4),
    "lower cycles": lambda L, o: L.CyclicLR(o, [0.01, 0.02], [0.1, 0.3], 4, 3, "triangular2"),
    "ever lower cycles": lambda L, o: L.CyclicLR(o, 0.01, 0.1, 4, None, "exp_range", 0.99),
    "own cycles": lambda L, o: L.CyclicLR(o, 0.01, 0.1, 4, scale_fn=Power(), cycle_momentum=False),
    "own iterations": lambda L, o: L.CyclicLR(o, 0.01, 0.1, 4, scale_fn=lambda x: 0.5**x, scale_mode="iterations"),
    "one cycle": lambda L, o: L.OneCycleLR(o, 0.5, 22),
    "one cycle in three phases": lambda L, o: L.OneCycleLR(
        o, [0.5, 0.3], epochs=11, steps_per_epoch=2, three_phase=True, anneal_strategy="linear"
    ),
    "one cycle too short": lambda L, o: L.OneCycleLR(o, 0.5, 10),
}
SEVERAL: dict[str, Make] = {
    "sequence": lambda L, o: L.SequentialLR(
        o, [L.ConstantLR(o, 0.5, 3), L.ExponentialLR(o, 0.9), L.CosineAnnealingLR(o, 5)], [4, 9]
    ),
    "restarts in a sequence": lambda L, o: L.SequentialLR(o, [L.LinearLR(o), L.CosineAnnealingWarmRestarts(o, 4)], [5]),
    "sequence in a sequence": lambda L, o: L.SequentialLR(
        o, [L.SequentialLR(o, [L.LinearLR(o), L.StepLR(o, 2)], [2]), L.ExponentialLR(o, 0.5)], [6]
    ),
    "chain in a sequence": lambda L, o: L.SequentialLR(
        o, [L.ChainedScheduler([L.LinearLR(o), L.StepLR(o, 2)]), L.ExponentialLR(o, 0.5)], [6]
    ),
    "chain": lambda L, o: L.ChainedScheduler([L.CosineAnnealingLR(o, 5), L.StepLR(o, 3), L.PolynomialLR(o, 20)]),
    "chain with its optimizer": lambda L, o: L.ChainedScheduler([L.LinearLR(o), L.CosineAnnealingLR(o, 5, 0.01)], o),
}
PLATEAUS: dict[str, Make] = {
    "plateau": lambda L, o: L.ReduceLROnPlateau(o, patience=1),
    "more is better": lambda L, o: L.ReduceLROnPlateau(o, "max", 0.5, 2, 0.1, "abs", 2, [0.01, 0.02], 1e-3),
    "cooldown": lambda L, o: L.ReduceLROnPlateau(o, "max", threshold=0.5, patience=0, cooldown=3, min_lr=0.001),
    "absolute": lambda L, o: L.ReduceLROnPlateau(o, "min", threshold=0.5, threshold_mode="abs", patience=0),
}


def plain(value: Any) -> Any:
    """Tensors as numbers, and functions by their kind."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in sorted(value.items(), key=lambda item: str(item[0]))}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value.item() if hasattr(value, "item") else value


def optimizer_of(torch: Any, kind: str = "SGD", rates: Sequence[Any] = (0.1, 0.2)) -> Any:
    """An optimizer with two groups."""
    groups = [{"params": [torch.ones(2, requires_grad=True)], "lr": rate} for rate in rates]
    return getattr(torch.optim, kind)(groups, **({"momentum": 0.9} if kind == "SGD" else {}))


def course(torch: Any, make: Make, optimizer: Any, steps: int = 20) -> Any:
    """The rates and momenta step by step, and what is remembered in the end."""
    L = torch.optim.lr_scheduler
    scheduler = make(L, optimizer)
    for step in range(steps):
        yield [plain([g["lr"], g.get("momentum", g.get("betas", [0])[0])]) for g in optimizer.param_groups]
        optimizer.step()
        scheduler.step(*[MEASURES[step]] if isinstance(scheduler, L.ReduceLROnPlateau) else [])
    yield plain(scheduler.get_last_lr())
    yield plain(scheduler.state_dict())
    yield [plain({k: v for k, v in g.items() if k != "params"}) for g in optimizer.param_groups]


# --- the rates ----------------------------------------------------------------------------------------------


def all_courses(torch: Any, table: dict[str, Make], kind: str = "SGD") -> Any:
    for name, make in table.items():
        yield name
        try:
            yield from course(torch, make, optimizer_of(torch, kind))
        except ValueError as error:
            yield {"ValueError": str(error)}


programs |= {
    "factors": partial(all_courses, table=FACTORS),
    "cosines": partial(all_courses, table=COSINES),
    "cycles": partial(all_courses, table=CYCLES),
    "cycles_of_adam": partial(all_courses, table=CYCLES, kind="Adam"),
    "several": partial(all_courses, table=SEVERAL),
    "plateaus": partial(all_courses, table=PLATEAUS),
}


@programs
def rates_that_are_tensors(torch):
    """They are written into: the optimizer's own tensor changes."""
    for make in (
        FACTORS["step"],
        FACTORS["lambda"],
        COSINES["cosine"],
        CYCLES["one cycle"],
        SEVERAL["sequence"],
        PLATEAUS["plateau"],
    ):
        rates = [torch.tensor(0.1, dtype=torch.float64), torch.tensor(0.2, dtype=torch.float64)]
        optimizer = optimizer_of(torch, rates=rates)
        yield list(course(torch, make, optimizer, 8))[-4]
        yield [group["lr"] is rate for group, rate in zip(optimizer.param_groups, rates)]


@programs
def epochs_given(torch):
    """The closed form, and a word about it."""
    L = torch.optim.lr_scheduler
    for make in [*FACTORS.values(), *COSINES.values(), CYCLES["cycles"]]:
        optimizer = optimizer_of(torch)
        scheduler = make(L, optimizer)
        optimizer.step()
        for epoch in (0, 1, 5, 3, 9, 20, 7):
            scheduler.step(epoch)
            yield plain(scheduler.get_last_lr())
    scheduler = COSINES["longer restarts"](L, optimizer_of(torch))
    for epoch in (0.5, 2.75, 3.5, 11.25):
        scheduler.step(epoch)
        yield [plain(scheduler.get_last_lr()), scheduler.T_cur, scheduler.T_i, scheduler.last_epoch]
    yield attempt(scheduler.step, -1)
    PLATEAUS["plateau"](L, optimizer_of(torch)).step(1.0, 3)


@programs
def resumed(torch):
    L = torch.optim.lr_scheduler
    for make in (
        lambda o: L.StepLR(o, 2, last_epoch=4),
        lambda o: L.CosineAnnealingLR(o, 7, last_epoch=4),
        lambda o: L.ExponentialLR(o, 0.9, last_epoch=4),
        lambda o: L.LinearLR(o, last_epoch=3),
        lambda o: L.PolynomialLR(o, 9, last_epoch=4),
        lambda o: L.ConstantLR(o, last_epoch=3),
        lambda o: L.MultiplicativeLR(o, lambda epoch: 0.9, last_epoch=4),
        lambda o: L.LambdaLR(o, lambda epoch: 0.9**epoch, last_epoch=4),
        lambda o: L.CosineAnnealingWarmRestarts(o, 5, last_epoch=3),
        lambda o: L.CyclicLR(o, 0.01, 0.1, 4, cycle_momentum=False, last_epoch=4),
    ):
        yield attempt(make, optimizer_of(torch))
        optimizer = optimizer_of(torch)
        for group in optimizer.param_groups:
            group["initial_lr"] = 0.3
        scheduler = make(optimizer)
        yield plain(scheduler.get_last_lr())
        optimizer.step()
        scheduler.step()
        yield plain(scheduler.get_last_lr())


@programs
def saved_and_loaded(torch):
    L = torch.optim.lr_scheduler
    for name, make in (FACTORS | COSINES | CYCLES | SEVERAL | PLATEAUS).items():
        optimizer = optimizer_of(torch)
        scheduler = make(L, optimizer)
        step = lambda s, o: (o.step(), s.step(*[2.0] if isinstance(s, L.ReduceLROnPlateau) else []))
        for _ in range(6):
            step(scheduler, optimizer)
        saved = copy.deepcopy([scheduler.state_dict(), optimizer.state_dict()])
        other = optimizer_of(torch, rates=(1.0, 1.0))
        again = make(L, other)
        again.load_state_dict(saved[0])
        other.load_state_dict(saved[1])
        for _ in range(3):
            step(scheduler, optimizer)
            step(again, other)
        yield [name, plain(again.get_last_lr()) == plain(scheduler.get_last_lr()), plain(again.get_last_lr())]
    scheduler = L.LambdaLR(optimizer_of(torch), [Power(0.5), lambda epoch: 1.0])
    other = L.LambdaLR(optimizer_of(torch), [Power(0.9), lambda epoch: 1.0])
    other.load_state_dict(scheduler.state_dict())
    yield other.lr_lambdas[0].base
    scheduler = L.StepLR(optimizer_of(torch), 3)
    yield plain(pickle.loads(pickle.dumps(scheduler.state_dict())))
    yield plain(copy.deepcopy(scheduler).get_last_lr())


# --- refusals and warnings ----------------------------------------------------------------------------------


@programs
def refusals(torch):
    L, SWALR = torch.optim.lr_scheduler, torch.optim.swa_utils.SWALR
    o, other = optimizer_of(torch), optimizer_of(torch)
    plain_sgd = torch.optim.Rprop([torch.ones(1, requires_grad=True)])
    for make in (
        lambda: L.StepLR(3, 1),
        lambda: L.ReduceLROnPlateau(3),
        lambda: L.CyclicLR(3, 0.1, 0.2),
        lambda: L.OneCycleLR(3, 0.1, 5),
        lambda: L.LambdaLR(o, [lambda epoch: 1.0]),
        lambda: L.MultiplicativeLR(o, [lambda epoch: 1.0] * 3),
        lambda: L.MultiplicativeLR(o, 3),
        lambda: L.ConstantLR(o, 2.0),
        lambda: L.LinearLR(o, 0.0),
        lambda: L.LinearLR(o, 0.5, 2.0),
        lambda: L.CosineAnnealingWarmRestarts(o, 4.5),
        lambda: L.CosineAnnealingWarmRestarts(o, 4, 0),
        lambda: L.CosineAnnealingWarmRestarts(o, 4, 1, "x"),
        lambda: L.CyclicLR(o, 0.01, 0.1, mode="x"),
        lambda: L.CyclicLR(o, [0.01], 0.1),
        lambda: L.CyclicLR(plain_sgd, 0.01, 0.1),
        lambda: L.OneCycleLR(o, 0.5),
        lambda: L.OneCycleLR(o, 0.5, -1),
        lambda: L.OneCycleLR(o, 0.5, epochs=1.5, steps_per_epoch=3),
        lambda: L.OneCycleLR(o, 0.5, epochs=1, steps_per_epoch=0),
        lambda: L.OneCycleLR(o, 0.5, 10, pct_start=2),
        lambda: L.OneCycleLR(o, 0.5, 10, anneal_strategy="z"),
        lambda: L.OneCycleLR(plain_sgd, 0.5, 10),
        lambda: L.SequentialLR(o, [], []),
        lambda: L.SequentialLR(o, [L.LinearLR(o), L.StepLR(o, 2)], [1, 3]),
        lambda: L.SequentialLR(o, [L.LinearLR(o), 3], [1]),
        lambda: L.SequentialLR(o, [L.LinearLR(o), L.ReduceLROnPlateau(o)], [1]),
        lambda: L.SequentialLR(o, [L.LinearLR(other)], []),
        lambda: L.ChainedScheduler([]),
        lambda: L.ChainedScheduler([L.LinearLR(o), L.LinearLR(other)]),
        lambda: L.ReduceLROnPlateau(o, factor=1.0),
        lambda: L.ReduceLROnPlateau(o, "x"),
        lambda: L.ReduceLROnPlateau(o, min_lr=[1]),
        lambda: L.ReduceLROnPlateau(o, threshold_mode="z"),
        lambda: SWALR(o, 0.5, -1),
        lambda: SWALR(o, 0.5, 1, "s"),
        lambda: SWALR(o, [0.5], 1),
        lambda: L.LRScheduler(o),
    ):
        yield attempt(make)


@programs
def steps_in_the_wrong_order(torch):
    L = torch.optim.lr_scheduler
    scheduler = L.StepLR(optimizer_of(torch), 1)
    scheduler.step()
    scheduler.step()
    yield plain(scheduler.get_last_lr())
    optimizer = optimizer_of(torch)
    scheduler = L.StepLR(optimizer, 1)
    optimizer.step = lambda: None
    optimizer.step()
    scheduler.step()


@programs
def rates_asked_for_outside_of_a_step(torch):
    for make in (FACTORS["step"], FACTORS["lambda"], COSINES["restarts"], CYCLES["cycles"], CYCLES["one cycle"]):
        yield plain(make(torch.optim.lr_scheduler, optimizer_of(torch)).get_lr())


@programs
def groups_added_on_the_way(torch):
    L = torch.optim.lr_scheduler
    for make in (
        lambda o: L.ReduceLROnPlateau(o, patience=0),
        lambda o: L.ReduceLROnPlateau(o, patience=0, min_lr=[0.0, 0.0]),
    ):
        optimizer = optimizer_of(torch)
        scheduler = make(optimizer)
        optimizer.add_param_group({"params": [torch.ones(1, requires_grad=True)], "lr": 0.4})
        scheduler.step(1.0)
        yield attempt(lambda: scheduler.step(2.0) or plain(scheduler.get_last_lr()))  # noqa: B023


@programs
def a_schedule_of_ones_own(torch):
    class Inverse(torch.optim.lr_scheduler._LRScheduler):
        def get_lr(self) -> list[float]:
            return [base / (1 + self.last_epoch) for base in self.base_lrs]

    optimizer = optimizer_of(torch)
    scheduler = Inverse(optimizer)
    for _ in range(3):
        optimizer.step()
        scheduler.step()
    yield [scheduler.get_last_lr(), scheduler.last_epoch, isinstance(scheduler, torch.optim.lr_scheduler.LRScheduler)]


# --- averages -----------------------------------------------------------------------------------------------


@programs
def averages(torch):
    swa = torch.optim.swa_utils
    for options in (
        {},
        {"use_buffers": True},
        {"avg_fn": swa.get_ema_avg_fn(0.75)},
        {"avg_fn": swa.get_swa_avg_fn()},
        {"multi_avg_fn": swa.get_ema_multi_avg_fn(0.75)},
        {"multi_avg_fn": swa.get_swa_multi_avg_fn()},
        {"multi_avg_fn": swa.get_ema_multi_avg_fn(), "use_buffers": True},
    ):
        model = torch.nn.BatchNorm1d(2).double()
        averaged = swa.AveragedModel(model, **options)
        yield [name for name, _ in averaged.named_parameters()]
        for step in range(4):
            with torch.no_grad():
                for p in model.parameters():
                    p.copy_(torch.tensor([1.0, -2.0], dtype=torch.float64) * step)
            model(torch.arange(6.0, dtype=torch.float64).reshape(3, 2) * step)
            averaged.update_parameters(model)
        yield [[name, t.tolist()] for name, t in averaged.state_dict().items()]
        yield averaged(torch.ones(3, 2, dtype=torch.float64)).tolist()
    yield attempt(
        lambda: swa.AveragedModel(model, avg_fn=swa.get_swa_avg_fn(), multi_avg_fn=swa.get_swa_multi_avg_fn())
    )
    yield attempt(swa.get_ema_avg_fn, 1.5)
    yield attempt(swa.get_ema_multi_avg_fn, -0.5)


@programs
def statistics_computed_anew(torch):
    model = (
        torch.nn.Sequential(torch.nn.BatchNorm1d(2, momentum=0.3), torch.nn.BatchNorm1d(2), torch.nn.ReLU())
        .double()
        .eval()
    )
    batches = [torch.arange(6.0, dtype=torch.float64).reshape(3, 2) ** power for power in (1, 2, 3)]
    for loader in (batches, [(b, 3) for b in batches], [[b, 3] for b in batches[:2]]):
        torch.optim.swa_utils.update_bn(loader, model)
        yield [[name, t.tolist()] for name, t in model.state_dict().items()]
        yield [model.training, model[0].momentum, model[1].momentum]
    yield torch.optim.swa_utils.update_bn([], torch.nn.ReLU())


@programs
def rates_for_averages(torch):
    SWALR = torch.optim.swa_utils.SWALR
    yield from all_courses(
        torch,
        {
            "cosine": lambda L, o: SWALR(o, [0.02, 0.03], 5),
            "linear": lambda L, o: SWALR(o, 0.5, 3, "linear"),
            "at once": lambda L, o: SWALR(o, 0.5, 0),
        },
    )


if __name__ == "__main__":
    programs.record()
