"""``docs/kinks.md`` says which derivative is taken at kinks, ties and holes: each of its rows is evaluated."""

from __future__ import annotations

import math
import pathlib
from typing import Any

import numpy as np
import pytest

import pullback

PAGE = pathlib.Path(__file__).resolve().parents[1] / "docs" / "kinks.md"
ROWS = [[cell.strip().strip("`") for cell in line.strip("|").split(" | ")]
        for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| `")]  # fmt: skip
NUMBERS = {"nan": math.nan, "inf": math.inf}


def derivatives(torch: Any, function: str, at: str) -> list[Any]:
    """The gradients of the sum of a function, written as Python, at points such as ``x = [0.]; y = [1.]``."""
    places = dict(place.strip().split(" = ") for place in at.split(";"))
    arguments = {name: torch.tensor(eval(value, dict(NUMBERS)), requires_grad=True) for name, value in places.items()}
    result = eval(function, {name: getattr(torch, name) for name in dir(torch)} | {"F": torch.nn.functional,
                             "special": torch.special, "linalg": torch.linalg} | NUMBERS | arguments).sum()  # fmt: skip
    return torch.autograd.grad(result.real if result.is_complex() else result, list(arguments.values()), allow_unused=True)


def check(torch: Any, function: str, at: str, expected: str) -> None:
    for got, right in zip(derivatives(torch, function, at), expected.split(";"), strict=True):
        right = eval(right, dict(NUMBERS))
        assert (got is None) == (right is None)
        if got is not None:
            np.testing.assert_allclose(got.resolve_conj().numpy(), right, rtol=2e-4)


def test_the_page_has_rows() -> None:
    assert len(ROWS) > 100
    assert {len(row) for row in ROWS} == {4}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]} at {row[1]}")
def test_a_row_of_the_page(row: list[str]) -> None:
    check(pullback, *row[:3])


@pytest.mark.torch
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]} at {row[1]}")
@pytest.mark.filterwarnings("ignore")
def test_a_row_of_the_page_in_pytorch(row: list[str]) -> None:
    """PyTorch has the same derivative, or the one that the page ascribes to it."""
    check(pytest.importorskip("torch"), row[0], row[1], row[3].strip("` |") or row[2])
