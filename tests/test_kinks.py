"""``docs/kinks.md`` says which derivative is taken at kinks, ties and holes: each of its rows is evaluated."""

from __future__ import annotations

import math
import pathlib
from typing import Any

import numpy as np
import pytest

import pullback

PAGE = pathlib.Path(__file__).resolve().parents[1] / "docs" / "kinks.md"
ROWS = [
    [cell.strip().strip("`") for cell in line.strip("|").split(" | ")]
    for line in PAGE.read_text("utf-8").splitlines()
    if line.startswith("| `")
]
NUMBERS = {"nan": math.nan, "inf": math.inf}


def derivatives(torch: Any, function: str, at: str) -> list[Any]:
    """The gradients of the sum of a function, written as Python, at points such as ``x = [0.]; y = [1.]``."""
    places = dict(place.strip().split(" = ") for place in at.split(";"))
    arguments = {name: torch.tensor(eval(value, dict(NUMBERS)), requires_grad=True) for name, value in places.items()}
    result = eval(
        function,
        {name: getattr(torch, name) for name in dir(torch)}
        | {"F": torch.nn.functional, "special": torch.special, "linalg": torch.linalg}
        | NUMBERS
        | arguments,
    ).sum()
    return torch.autograd.grad(
        result.real if result.is_complex() else result, list(arguments.values()), allow_unused=True
    )


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


PIECEWISE = {
    "max_pool1d(x, 2)": (1, 2, 8),
    "max_pool2d(x, 2)": (1, 1, 4, 4),
    "max_pool3d(x, 2)": (1, 1, 2, 4, 4),
    "adaptive_max_pool1d(x, 2)": (1, 2, 8),
    "adaptive_max_pool2d(x, 2)": (1, 1, 4, 4),
    "avg_pool1d(x, 2)": (1, 2, 8),
    "avg_pool2d(x, 2)": (1, 1, 4, 4),
    "avg_pool3d(x, 2)": (1, 1, 2, 4, 4),
    "adaptive_avg_pool2d(x, 2)": (1, 1, 4, 4),
    "nll_loss(x, torch.tensor([0, 2]))": (2, 3),
    "nll_loss(x, torch.tensor([[0, 1], [1, 1]]))": (2, 2, 2),
    "pad(x, (1, 1), 'reflect')": (1, 2, 4),
    "pad(x, (1, 1), 'replicate')": (1, 2, 4),
}
MARGINS = {  # PyTorch has none
    "multi_margin_loss(x, torch.tensor([0, 2]))": (2, 3),
    "multilabel_margin_loss(x, torch.tensor([[0, -1, 1]] * 2))": (2, 3),
}


def check_flat(torch: Any, function: str, shape: tuple[int, ...]) -> None:
    """A gradient that is the same all around depends on the input, with derivative 0."""
    x = torch.arange(1.0, 1 + math.prod(shape)).sin().view(shape).requires_grad_()
    (g,) = torch.autograd.grad(
        eval(function, {"x": x, "torch": torch, **vars(torch.nn.functional)}).sum(), x, create_graph=True
    )
    assert torch.autograd.grad(g.sum(), x, retain_graph=True)[0].count_nonzero() == 0
    assert torch.equal(torch.autograd.grad((g * g * x).sum(), x)[0], g * g)


@pytest.mark.parametrize("function", {**PIECEWISE, **MARGINS})
def test_second_derivatives_of_piecewise_linear_functions_are_zero(function: str) -> None:
    check_flat(pullback, function, {**PIECEWISE, **MARGINS}[function])


@pytest.mark.torch
@pytest.mark.parametrize("function", PIECEWISE)
def test_second_derivatives_of_piecewise_linear_functions_are_zero_in_pytorch(function: str) -> None:
    check_flat(pytest.importorskip("torch"), function, PIECEWISE[function])


def second_derivatives(torch: Any, function: str) -> list[float]:
    """Of a loss by its input, where pieces meet and beside that."""
    x = torch.tensor([-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5], requires_grad=True)
    (g,) = torch.autograd.grad(
        getattr(torch.nn.functional, function)(x, torch.zeros(7), reduction="sum"), x, create_graph=True
    )
    return torch.autograd.grad(g.sum(), x)[0].tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("function", ["huber_loss", "smooth_l1_loss"])
def test_second_derivatives_where_quadratic_and_linear_pieces_meet(function: str) -> None:
    assert second_derivatives(pullback, function) == [0, 0, 1, 1, 1, 0, 0]


@pytest.mark.torch
@pytest.mark.parametrize("function", ["huber_loss", "smooth_l1_loss"])
def test_second_derivatives_where_quadratic_and_linear_pieces_meet_in_pytorch(function: str) -> None:
    assert second_derivatives(pytest.importorskip("torch"), function) == [0, 0, 1, 1, 1, 0, 0]


@pytest.mark.torch
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]} at {row[1]}")
@pytest.mark.filterwarnings("ignore")
def test_a_row_of_the_page_in_pytorch(row: list[str]) -> None:
    """PyTorch has the same derivative, or the one that the page ascribes to it."""
    check(pytest.importorskip("torch"), row[0], row[1], row[3].strip("` |") or row[2])
