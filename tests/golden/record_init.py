"""Small programs about initial values, and the recorder of what PyTorch 2.13 draws.

Run it where PyTorch is installed to write ``init.json`` beside it; see :mod:`programs`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from programs import Programs, attempt

programs = Programs("init.json")

SHAPES = ((3, 2), (4, 5), (2, 3, 2), (20, 30))  # normals come in blocks from 16 elements on


def drawn(torch: Any, fill: Callable[[Any], Any], dtype: str = "float32", shapes: Any = SHAPES) -> list[Any]:
    """Values after ``manual_seed(0)`` in several shapes; of large ones, some."""
    torch.manual_seed(0)
    answers = []
    for shape in shapes:
        t = torch.full(shape, 7.0, dtype=getattr(torch, dtype), requires_grad=True)
        filled = fill(t)
        values = t.detach().double().flatten().tolist()
        some = values if len(values) < 30 else values[::37]
        answers.append([filled is t, t.requires_grad and t.is_leaf, some])
    return answers


@programs
def plain_draws(torch):
    init = torch.nn.init
    for dtype in ("float32", "float64", "float16", "bfloat16"):
        yield drawn(torch, lambda t: init.uniform_(t), dtype)
        yield drawn(torch, lambda t: init.uniform_(t, -2.0, 5.0), dtype)
        yield drawn(torch, lambda t: init.normal_(t), dtype)
        yield drawn(torch, lambda t: init.normal_(t, mean=3.0, std=0.1), dtype)


@programs
def truncated_draws(torch):
    init = torch.nn.init
    for dtype in ("float32", "float64"):
        yield drawn(torch, lambda t: init.trunc_normal_(t), dtype)
        yield drawn(torch, lambda t: init.trunc_normal_(t, std=0.02), dtype)
        yield drawn(torch, lambda t: init.trunc_normal_(t, 1.0, 2.0, 0.5, 2.5), dtype)
        yield drawn(torch, lambda t: init.trunc_normal_(t, a=1.5, b=2.5), dtype)
        yield drawn(torch, lambda t: init.trunc_normal_(t, mean=3.0, std=0.5, a=-1.0, b=1.0), dtype)


@programs
def scaled_draws(torch):
    init = torch.nn.init
    for dtype in ("float32", "float64"):
        yield drawn(torch, lambda t: init.xavier_uniform_(t), dtype)
        yield drawn(torch, lambda t: init.xavier_uniform_(t, gain=2.0), dtype)
        yield drawn(torch, lambda t: init.xavier_normal_(t, 0.5), dtype)
        yield drawn(torch, lambda t: init.kaiming_uniform_(t), dtype)
        yield drawn(torch, lambda t: init.kaiming_uniform_(t, a=5**0.5), dtype)
        yield drawn(torch, lambda t: init.kaiming_uniform_(t, mode="fan_out", nonlinearity="relu"), dtype)
        yield drawn(torch, lambda t: init.kaiming_normal_(t), dtype)
        yield drawn(torch, lambda t: init.kaiming_normal_(t, 0.2, "fan_out"), dtype)
    yield [list(init._calculate_fan_in_and_fan_out(torch.ones(s))) for s in SHAPES]


@programs
def structured(torch):
    init = torch.nn.init
    yield drawn(torch, lambda t: init.constant_(t, 3))
    yield drawn(torch, init.ones_)
    yield drawn(torch, init.zeros_)
    yield drawn(torch, init.eye_, shapes=((3, 2), (2, 4), (1, 1)))
    yield drawn(torch, init.dirac_, shapes=((3, 2, 3), (2, 3, 2, 3), (2, 2, 1, 2, 3)))
    yield drawn(torch, lambda t: init.dirac_(t, 2), shapes=((4, 2, 3), (6, 2, 3)))
    yield drawn(torch, lambda t: init.sparse_(t, 0.3), shapes=((3, 2), (4, 5), (10, 3)))
    yield drawn(torch, lambda t: init.sparse_(t, sparsity=0.9, std=1.0), shapes=((3, 2), (4, 5)))


@programs
def orthogonal_matrices(torch):
    init = torch.nn.init
    yield drawn(torch, init.orthogonal_, "float64")
    yield drawn(torch, lambda t: init.orthogonal_(t, gain=2.0), "float64")
    yield drawn(torch, init.orthogonal_, "float64", ((0, 3), (1, 1), (5, 5)))


@programs
def generators(torch):
    init = torch.nn.init
    for fill in (
        init.uniform_,
        init.normal_,
        init.trunc_normal_,
        init.xavier_uniform_,
        init.xavier_normal_,
        init.kaiming_uniform_,
        init.kaiming_normal_,
    ):
        g = torch.Generator().manual_seed(5)
        yield [fill(torch.empty(2, 3), generator=g).tolist(), torch.rand(1, generator=g).tolist()]
    g = torch.Generator().manual_seed(5)
    yield init.orthogonal_(torch.empty(2, 3, dtype=torch.float64), generator=g).tolist()


@programs
def gains(torch):
    gain = torch.nn.init.calculate_gain
    names = ["linear", "conv1d", "conv_transpose3d", "sigmoid", "tanh", "relu", "leaky_relu", "selu"]
    yield [[name, gain(name)] for name in names]
    yield [gain("leaky_relu", 0.2), gain("leaky_relu", 1)]
    yield [attempt(gain, "leaky_relu", "x"), attempt(gain, "leaky_relu", True), attempt(gain, "gelu")]


@programs
def what_is_refused(torch):
    init, empty = torch.nn.init, torch.empty
    for fill in (init.xavier_uniform_, init.xavier_normal_, init.kaiming_uniform_, init.kaiming_normal_):
        yield attempt(fill, empty(3))
    yield attempt(lambda: init.kaiming_uniform_(empty(2, 2), mode="fan"))
    yield attempt(lambda: init.kaiming_normal_(empty(2, 2), nonlinearity="gelu"))
    for fill in (init.eye_, init.dirac_, init.orthogonal_, lambda t: init.sparse_(t, 0.1)):
        yield attempt(fill, empty(3))
    yield attempt(init.dirac_, empty(3, 2, 2), 2)


@programs
def warned_about(torch):
    init = torch.nn.init
    torch.manual_seed(1)
    yield init.kaiming_uniform_(torch.empty(0, 3)).tolist()
    yield init.kaiming_normal_(torch.empty(3, 0)).tolist()
    yield init.xavier_uniform_(torch.empty(0, 3)).tolist()
    for name in ("uniform", "normal", "xavier_uniform", "xavier_normal", "kaiming_uniform", "kaiming_normal"):
        yield [name, getattr(init, name)(torch.empty(2, 2)).tolist()]
    yield [init.constant(torch.empty(1), 2).tolist(), init.eye(torch.empty(2, 2)).tolist()]
    yield [init.dirac(torch.empty(2, 2, 2)).tolist(), init.orthogonal.__name__, init.sparse.__name__]


@programs
def applied_to_a_module(torch):
    m = torch.nn.Module()
    m.weight = torch.nn.Parameter(torch.empty(2, 3))
    torch.manual_seed(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.nn.init.xavier_normal_(m.weight)
    yield m.weight.tolist()
    torch.nn.init.ones_(m.weight[0])
    yield [m.weight.tolist(), m.weight.requires_grad, m.weight.is_leaf]
    torch.nn.init.normal_(m.weight.T)
    yield m.weight.tolist()


if __name__ == "__main__":
    programs.record()
