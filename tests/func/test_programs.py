"""Programs about forward mode, ``vmap`` and ``torch.func`` say under Pullback what they said under PyTorch 2.13."""

from __future__ import annotations

import json
import pathlib
import re
from collections.abc import Callable
from typing import Any

import pytest

import pullback

from .programs import PROGRAMS

GOLDEN = pathlib.Path(__file__).parents[1] / "golden" / "func.json"


def heard(program: Callable[..., None], torch: Any) -> list[str]:
    """The lines that a program says; a number that is nearly 0 is 0."""
    lines: list[str] = []
    torch.manual_seed(0)
    program(torch, lambda *values: lines.append(" ".join(map(str, values))))
    return [re.sub(r"-?\d\.\d+e-1[5-9]", "0", line) for line in lines]


@pytest.mark.parametrize("name", PROGRAMS)
def test_same_as_pytorch(name: str) -> None:
    """The recorded lines, one by one."""
    assert heard(PROGRAMS[name], pullback) == json.loads(GOLDEN.read_text())[name]


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
@pytest.mark.parametrize("name", PROGRAMS)
def test_recording_is_fresh(name: str) -> None:
    """The recording is what PyTorch says."""
    torch = pytest.importorskip("torch")
    assert heard(PROGRAMS[name], torch) == json.loads(GOLDEN.read_text())[name]
