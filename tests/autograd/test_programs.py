"""Programs about autograd say under Pullback what they said under PyTorch 2.13."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Callable
from typing import Any

import pytest

import pullback

from .programs import PROGRAMS

GOLDEN = pathlib.Path(__file__).parents[1] / "golden" / "autograd.json"


def heard(program: Callable[..., None], torch: Any) -> list[str]:
    """The lines that a program says."""
    lines: list[str] = []
    program(torch, lambda *values: lines.append(" ".join(map(str, values))))
    return lines


@pytest.mark.parametrize("name", PROGRAMS)
def test_same_as_pytorch(name: str) -> None:
    """The recorded lines, one by one."""
    assert heard(PROGRAMS[name], pullback) == json.loads(GOLDEN.read_text())[name]


@pytest.mark.torch
@pytest.mark.parametrize("name", PROGRAMS)
def test_recording_is_fresh(name: str) -> None:
    """The recording is what PyTorch says."""
    torch = pytest.importorskip("torch")
    torch.set_warn_always(True)  # what another test has made it say, too
    try:
        found = heard(PROGRAMS[name], torch)
    finally:
        torch.set_warn_always(False)
    assert found == json.loads(GOLDEN.read_text())[name]
