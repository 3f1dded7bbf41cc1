"""Optimizers and schedulers as objects in files, which ``load(weights_only=False)`` reads."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

import pullback as torch
from pullback.serialization import LoadError

GOLDEN = Path(__file__).parent / "golden" / "pt"
OPTIMIZERS = """SGD Adam AdamW LBFGS Adagrad RMSprop Adadelta Rprop NAdam RAdam Adamax ASGD Adafactor Muon""".split()


def through(obj):
    file = io.BytesIO()
    torch.save(obj, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


def steps(p, optimizer, count=2):
    def closure():
        optimizer.zero_grad()
        loss = (p * p * p).sum()
        loss.backward()
        return loss

    for _ in range(count):
        optimizer.step(closure)
    return p.tolist()


def test_what_pytorch_wrote_goes_on():
    saved = torch.load(GOLDEN / "training.pt", weights_only=False)
    p, optimizer, scheduler = saved["p"], saved["optimizer"], saved["scheduler"]
    assert optimizer.param_groups[0]["params"][0] is p and scheduler.optimizer is optimizer
    for _ in range(3):
        optimizer.zero_grad()
        (p * p).sum().backward()
        optimizer.step()
        scheduler.step()
    assert p.tolist() == pytest.approx(saved["after"], rel=1e-6) and scheduler.get_last_lr() == saved["rate"]
    with pytest.raises(LoadError, match="torch.optim.adam.Adam was not an allowed global"):
        torch.load(GOLDEN / "training.pt")


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_optimizer_goes_on(name):
    p = torch.nn.Parameter(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    optimizer = getattr(torch.optim, name)([p], lr=0.01)
    steps(p, optimizer)
    back = through({"p": p, "optimizer": optimizer})
    assert back["optimizer"].param_groups[0]["params"][0] is back["p"]
    assert steps(back["p"], back["optimizer"]) == steps(p, optimizer)


@pytest.mark.filterwarnings("ignore:Seems like")  # as in PyTorch: the optimizer that comes back was never stepped
def test_schedulers_go_on():
    kinds = torch.optim.lr_scheduler
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1, momentum=0.9)
    for make in (
        lambda o: kinds.ExponentialLR(o, 0.5),
        lambda o: kinds.OneCycleLR(o, 0.1, 10),
        lambda o: kinds.ReduceLROnPlateau(o, patience=0),
        lambda o: kinds.SequentialLR(o, [kinds.ConstantLR(o), kinds.ExponentialLR(o, 0.9)], [2]),
    ):
        scheduler = make(optimizer)
        loss = (1.0,) if isinstance(scheduler, kinds.ReduceLROnPlateau) else ()
        optimizer.step()
        scheduler.step(*loss)
        back = through(scheduler)
        for each in (scheduler, back):
            each.step(*loss)
            each.step(*loss)
        assert back.get_last_lr() == scheduler.get_last_lr()


class Sign(torch.optim.Optimizer):
    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                p -= group["lr"] * p.grad.sign()


def test_optimizers_of_the_program():
    p = torch.nn.Parameter(torch.ones(2))
    back = through({"p": p, "optimizer": Sign([p], lr=0.5)})
    back["p"].grad = torch.tensor([3.0, -3.0])
    back["optimizer"].step()
    assert back["p"].tolist() == [0.5, 1.5]


@pytest.mark.parametrize(
    "change",
    [
        {"param_groups": {}},
        {"param_groups": [{"params": [1]}]},
        {"param_groups": [{"lr": 1}]},
        {"state": {}},
        {"defaults": None},
        {"state": 3},
    ],
)
def test_damaged_states_are_refused(change):
    class Damaged(torch.optim.SGD):
        def __getstate__(self):
            return super().__getstate__() | change

    Damaged.__module__, Damaged.__qualname__ = "torch.optim.sgd", "SGD"
    with pytest.raises(LoadError, match="damaged"):
        through(Damaged([torch.nn.Parameter(torch.ones(1))], lr=1.0))


@pytest.mark.torch
@pytest.mark.parametrize("name", [name for name in OPTIMIZERS if name != "LBFGS"])  # whose own it can't read, either
def test_pytorch_reads_optimizers(name, tmp_path):
    theirs = pytest.importorskip("torch")
    p = torch.nn.Parameter(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    optimizer = getattr(torch.optim, name)([p], lr=0.01)
    steps(p, optimizer)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    torch.save({"p": p, "optimizer": optimizer, "scheduler": scheduler}, tmp_path / "a.pt")
    back = theirs.load(tmp_path / "a.pt", weights_only=False)
    assert type(back["optimizer"]) is getattr(theirs.optim, name)
    assert back["scheduler"].optimizer is back["optimizer"]
    ours = sum(steps(p, optimizer), [])
    assert sum(steps(back["p"], back["optimizer"]), []) == pytest.approx(ours, rel=1e-4)
