"""Record small files that PyTorch writes, for tests of reading them without PyTorch. Run by hand, with PyTorch
installed.
"""

from __future__ import annotations

import copy
from collections import Counter, OrderedDict
from pathlib import Path

import torch
from record_complex_half import example

FOLDER = Path(__file__).parent / "pt"
DTYPES = (
    "bool",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
)


def nest() -> dict:
    """Everything that may be in a file, with views that share memory."""
    base = torch.arange(10.0)
    tagged = torch.ones(2)
    tagged.tag = "kept"
    return {
        "base": base,
        "part": base[2:5],
        "turned": base.view(2, 5).t(),
        "expanded": torch.ones(2, 1).expand(2, 3),
        "empty": torch.zeros(0, 3),
        "number": torch.tensor(3),
        "grad": torch.ones(2, requires_grad=True),
        "parameter": torch.nn.Parameter(torch.full((2,), 0.5)),
        "conj": torch.tensor([1 + 2j]).conj(),
        "tagged": tagged,
        "ordered": OrderedDict(z=1, a=2),
        "counter": Counter("aab"),
        3: [None, True],
        "tuple": (1, -1, 2.5, 2**70, "ü", b"\xff", 1j),
        "set": {1, "a"},
        "bytes": bytearray(b"q"),
        "size": torch.Size([1, 2]),
        "device": torch.device("cuda", 1),
        "dtype": torch.float16,
        "layout": torch.strided,
    }


def model() -> torch.nn.Module:
    torch.manual_seed(0)
    nn = torch.nn
    return nn.Sequential(nn.Conv2d(1, 2, 3, padding=1), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(8, 3))


def checkpoint() -> dict:
    net = model()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
    x = torch.arange(8.0).reshape(2, 1, 2, 2)
    for _ in range(2):
        optimizer.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()
    return {"model": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 2, "after": net.eval()(x).tolist()}


def training() -> dict:
    """Objects that go on together: a parameter, its optimizer and the scheduler of that; and where they then lead."""
    p = torch.nn.Parameter(torch.tensor([1.0, -2.0]))
    optimizer = torch.optim.Adam([p], lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, gamma=0.5)
    saved = {"p": p, "optimizer": optimizer, "scheduler": scheduler}

    def step() -> None:
        optimizer.zero_grad()
        (p * p).sum().backward()
        optimizer.step()
        scheduler.step()

    step()
    ahead = copy.deepcopy(saved)
    p, optimizer, scheduler = ahead.values()
    for _ in range(3):
        step()
    return saved | {"after": p.tolist(), "rate": scheduler.get_last_lr()}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    save = lambda what, name, **kwargs: torch.save(what, FOLDER / f"{name}.pt", **kwargs)
    dtypes = {name: torch.arange(6).to(getattr(torch, name)).reshape(2, 3).t() for name in DTYPES}
    save(dtypes, "dtypes")
    save(
        {name: t for name, t in dtypes.items() if name == "uint8" or "uint" not in name},
        "dtypes_old",
        _use_new_zipfile_serialization=False,
    )
    save(nest(), "nest")
    save(nest(), "nest_old", _use_new_zipfile_serialization=False)
    save(checkpoint(), "checkpoint")
    save(model().eval(), "model")
    save(torch.ones(3), "protocol4", pickle_protocol=4)
    save(training(), "training")
    half = example(torch)
    save({"x": half, "row": half[1]}, "complex_half")
