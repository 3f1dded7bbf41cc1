"""The demo programs: PyTorch's very output, and the backward pass as a table."""

import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest

import pullback
from pullback.cli import demo

GOLDEN = json.loads(Path(__file__).with_name("golden").joinpath("seeds.json").read_text(encoding="utf-8"))
DEMOS = Path(demo.__file__).with_name("demos")


@pytest.fixture(autouse=True)
def without_pytorch():
    """As if no other test had imported PyTorch, and none after this one wants Pullback in its place."""
    names = [name for name in sys.modules if name.partition(".")[0] == "torch"]
    real = {name: sys.modules.pop(name) for name in names}
    yield
    pullback.uninstall()
    sys.modules.update(real)


def shown(number, seed=0, width=80):
    from rich.console import Console

    console = Console(file=io.StringIO(), width=width, color_system=None)
    demo.show(number, seed, console)
    return console.file.getvalue()


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", GOLDEN)
def test_programs_print_what_they_print_with_pytorch(name, seed):
    got = demo.perform(DEMOS / f"{name}.py", seed).output
    expected = GOLDEN[name][str(seed)]
    if name == "2_no_gradient":  # the first words of the error are PyTorch's; what follows is our advice
        got = "".join(line for line in got.splitlines(keepends=True) if not line.startswith("  "))
    assert got == expected


def test_every_program_is_listed():
    assert list(demo.PROGRAMS) == sorted(path.name for path in DEMOS.glob("*.py"))
    assert [Path(name).stem for name in demo.PROGRAMS] == list(GOLDEN)


def test_steps_are_in_the_order_of_the_visit():
    done = demo.perform(DEMOS / "1_scalar_loss.py", 0)
    steps = [(step.node.name(), step.node.location and step.node.location[1]) for step in done.steps]
    assert steps == [("MulBackward0", 10), ("MulBackward0", 7), ("torch::autograd::AccumulateGrad", None)]
    assert [[float(g) for g in step.grad_outputs] for step in done.steps] == [[1.0], [3.0], [12.0]]
    assert list(done.leaves.values()) == ["x"]


@pytest.mark.parametrize("number", range(1, 7))
def test_each_is_shown_in_80_columns(number):
    text = shown(number)
    assert max(map(len, text.splitlines())) <= 80
    code = (DEMOS / list(demo.PROGRAMS)[number - 1]).read_text(encoding="utf-8")
    squeezed = "".join(text.split())
    assert all("".join(line.split()) in squeezed for line in code.splitlines() if len(line) < 70)
    assert "after manual_seed(0)" in text


def test_the_table_of_a_seeded_vector():
    table = [" ".join(line.split()) for line in shown(3).partition("hands to each input")[2].splitlines()]
    assert table[2:] == [
        "1 MulBackward0 7 y = x * x [1, 0.5] x: [2, 1.5]",
        "x: [2, 1.5]",
        "2 AccumulateGrad [4, 3] x.grad: [4, 3]",
        "",
    ]


def test_a_refused_backward_visits_nothing():
    assert "no node was visited" in shown(2)


@pytest.mark.parametrize(
    ("gradient", "text"),
    [
        (None, "none"),
        (np.array(2.0), "2"),
        (np.array([1.0, -0.123456]), "[1, -0.1235]"),
        (np.array([[1.0], [2.0]], np.float32), "[[1], [2]]"),
        (np.array([1 + 2j, 0.5j]), "[1+2j, 0+0.5j]"),
        (np.array([1e-9, 123456.0, 1e30, -0.0]), "[1e-09, 1.235e+05, 1e+30, -0]"),
        (np.ones((2, 8)), "2x8, norm 4"),
        (np.full(7, 1j), "7, norm 2.646"),
        (np.ones((0, 3)), "0x3, norm 0"),
        (np.array([np.nan, np.inf]), "[nan, inf]"),
        (np.full(9, np.nan), "9, norm nan"),
    ],
)
def test_a_gradient_in_a_few_words(gradient, text):
    assert demo.brief(gradient) == text
