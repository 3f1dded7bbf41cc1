"""Absurd numbers are refused, in words, before memory is taken and before unchecked code of NumPy sees them."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pullback as torch

F = torch.nn.functional
HUGE, LAST = 2**62, 2**63 - 1

ABSURD = {
    "bincount": (lambda: torch.bincount(torch.tensor([LAST])), "maximum value of input overflowed"),
    "bincount, large": (lambda: torch.bincount(torch.tensor([LAST - 1])), "overflowed"),
    "counts that overflow": (lambda: torch.repeat_interleave(torch.tensor([HUGE] * 4)), "overflowed"),
    "counts of rows": (lambda: torch.repeat_interleave(torch.ones(4), torch.tensor([HUGE] * 4)), "overflowed"),
    "one count": (lambda: torch.repeat_interleave(torch.ones(4), torch.tensor([HUGE])), "overflowed"),
    "negative counts": (lambda: torch.repeat_interleave(torch.tensor([2, -1])), "repeats can not be negative"),
    "classes": (lambda: F.one_hot(torch.tensor([LAST])), "overflowed"),
    "strided places": (
        lambda: torch.as_strided_scatter(torch.zeros(3), torch.zeros(2), (10**6, 10**6), (0, 0)),
        "expected src to have a size equal to the slice",
    ),
    "negative strides": (
        lambda: torch.as_strided_scatter(torch.zeros(3), torch.zeros(2), (2,), (-1,), 2),
        "Negative strides are not supported",
    ),
    "place of a slice": (
        lambda: torch.select_scatter(torch.zeros(2, 3), torch.zeros(2), 1, 7),
        r"select\(\): index 7 out of range for tensor of size \[2, 3\] at dimension 1",
    ),
    "padding": (lambda: F.conv1d(torch.ones(1, 2, 5), torch.ones(4, 2, 3), padding=2**40), "can't allocate memory"),
    "stride": (lambda: F.conv1d(torch.ones(1, 2, 5), torch.ones(4, 2, 3), stride=2**64), "Overflow when unpacking"),
    "kernel": (lambda: F.fractional_max_pool2d(torch.ones(1, 2, 4, 4), -(2**63), 2), "must be greater than zero"),
    "size": (lambda: torch.ones(3).repeat(2**60), "overflowed"),
}


@pytest.mark.parametrize("call, words", ABSURD.values(), ids=ABSURD)
def test_absurd_numbers(call, words):
    with pytest.raises((RuntimeError, IndexError, ValueError), match=words):
        call()


def test_too_little_memory_is_a_runtime_error_and_a_memory_error():
    for error in (RuntimeError, MemoryError):
        with pytest.raises(error, match="can't allocate memory"):
            torch.ones(3).repeat(2**45)


@pytest.mark.parametrize("decimals, right", [(400, 3.3), (2**40, 3.3), (-(2**40), 0.0)])
def test_digits_that_no_float_has(decimals, right):
    assert torch.round(torch.tensor([3.3]), decimals=decimals).item() == np.float32(right)


HALF_MADE = """
import pullback as torch
x = torch.ones(3, requires_grad=True)
for _ in range({warm}):
    y = x * x + 1
def partly(**slots):
    t = object.__new__(torch.Tensor)
    for name in slots:
        setattr(t, name, getattr(x, name))
    return t
uses = [
    lambda t: t + 1, lambda t: x * t, lambda t: t * x, lambda t: -t, torch.exp, torch.sum, lambda t: t.view(3), repr,
    lambda t: t[0], lambda t: torch.cat([x, t]), lambda t: x @ t, lambda t: t.softmax(0), lambda t: t.add_(1),
    lambda t: torch.where(x > 0, t, x), lambda t: torch.ones(3).add_(t), lambda t: t.mean(0), lambda t: t.backward(),
]
for use in uses:
    for t in (partly(), partly(_array=1), partly(_array=1, _fn=1), partly(_fn=1, _view=1, _grad=1, _hooks=1)):
        try:
            use(t)
        except (AttributeError, RuntimeError, TypeError):
            pass
        del t
"""


@pytest.mark.parametrize("warm", [1, 3000])
def test_tensors_that_are_half_made_crash_nothing(warm):
    environment = {**os.environ, "PYTHONPATH": str(Path(torch.__file__).parent.parent)}
    program = [sys.executable, "-c", HALF_MADE.format(warm=warm)]
    done = subprocess.run(program, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
