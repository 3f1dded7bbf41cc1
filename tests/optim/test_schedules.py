"""Learning rate schedules and averages of models: the programs of ``golden/record_schedules.py``, and mathematics."""

import gc
import math
import weakref

import pytest
from record_schedules import programs
from recorded import Recorded

import pullback
from pullback.optim import lr_scheduler as schedules
from pullback.optim import swa_utils


class TestPrograms(Recorded):
    tables = (programs,)


@pytest.mark.torch
def test_the_same_names_as_pytorch():
    torch = pytest.importorskip("torch")
    assert sorted(schedules.__all__) == sorted(torch.optim.lr_scheduler.__all__)
    assert sorted(swa_utils.__all__) == sorted(torch.optim.swa_utils.__all__)
    assert sorted(pullback.optim.__all__) == sorted(torch.optim.__all__)


def rates(make, steps):
    optimizer = pullback.optim.SGD([pullback.ones(1, requires_grad=True)], lr=1.0)
    scheduler = make(optimizer)
    seen = []
    for _ in range(steps):
        seen += scheduler.get_last_lr()
        optimizer.step()
        scheduler.step()
    return seen


@pytest.mark.parametrize(
    "make, formula",
    [
        (lambda o: schedules.CosineAnnealingLR(o, 5, 0.1), lambda t: 0.1 + 0.9 * (1 + math.cos(math.pi * t / 5)) / 2),
        (lambda o: schedules.LinearLR(o, 0.2, 0.8, 4), lambda t: 0.2 + 0.6 * min(t, 4) / 4),
        (lambda o: schedules.PolynomialLR(o, 6, 3.0), lambda t: (1 - min(t, 6) / 6) ** 3),
        (lambda o: schedules.ExponentialLR(o, 0.7), lambda t: 0.7**t),
        (lambda o: schedules.StepLR(o, 4, 0.5), lambda t: 0.5 ** (t // 4)),
        (lambda o: schedules.MultiStepLR(o, [5, 2], 0.5), lambda t: 0.5 ** ((t >= 2) + (t >= 5))),
    ],
    ids=["cosine", "linear", "polynomial", "exponential", "steps", "milestones"],
)
def test_step_by_step_the_formula_comes_out(make, formula):
    """Also past the end, where the ratio of two steps would be 0 / 0."""
    assert rates(make, 17) == pytest.approx([formula(t) for t in range(17)], abs=1e-12)


def test_an_optimizer_with_a_schedule_is_freed_without_the_garbage_collector():
    gc.collect()
    gc.disable()
    try:
        optimizer = pullback.optim.SGD([pullback.ones(1, requires_grad=True)])
        scheduler = schedules.StepLR(optimizer, 1)
        ref = weakref.ref(optimizer)
        del optimizer, scheduler
        assert ref() is None
    finally:
        gc.enable()


def test_hooks_run_also_under_a_schedule():
    optimizer = pullback.optim.SGD([pullback.ones(1, requires_grad=True)])
    schedules.StepLR(optimizer, 1)
    seen = []
    optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append(o is optimizer))
    assert optimizer.step(lambda: 7) == 7
    assert seen == [True]


def test_the_mean_of_models_is_the_mean():
    pullback.manual_seed(0)
    model = pullback.nn.Linear(2, 1)
    averaged = swa_utils.AveragedModel(model)
    seen = []
    for _ in range(5):
        pullback.nn.init.normal_(model.weight)
        seen.append(model.weight.detach().numpy().copy())
        averaged.update_parameters(model)
    assert averaged.module.weight.detach().numpy() == pytest.approx(sum(seen) / 5, rel=1e-6)


@pytest.mark.parametrize("resumed_parts", [False, True])
def test_a_sequence_that_is_resumed_goes_on_where_it_was(resumed_parts):
    """Also if its milestones are past, and whatever rate the optimizer comes with."""

    def made(optimizer, last_epoch):
        of_parts = last_epoch if resumed_parts else -1
        parts = [
            schedules.ConstantLR(optimizer, 0.1, total_iters=2, last_epoch=of_parts),
            schedules.ExponentialLR(optimizer, 0.9, last_epoch=of_parts),
            schedules.StepLR(optimizer, 2, 0.5, last_epoch=of_parts),
        ]
        return schedules.SequentialLR(optimizer, parts, milestones=[3, 7], last_epoch=last_epoch)

    whole = rates(lambda o: made(o, -1), 14)
    assert whole == pytest.approx([0.1, 0.1, 1, 1, 0.9, 0.81, 0.729, 1, 1, 0.5, 0.5, 0.25, 0.25, 0.125])
    for epoch in range(12):
        optimizer = pullback.optim.SGD([pullback.ones(1, requires_grad=True)], lr=whole[epoch])
        optimizer.param_groups[0]["initial_lr"] = 1.0
        scheduler = made(optimizer, epoch)
        seen = []
        for _ in range(2):
            seen += scheduler.get_last_lr()
            assert optimizer.param_groups[0]["lr"] == seen[-1]
            optimizer.step()
            scheduler.step()
        assert seen == whole[epoch : epoch + 2]
