"""Anomaly mode, the first NaN, and the mode in which zero times infinity is zero."""

from __future__ import annotations

import warnings
import weakref
from typing import Any

import pytest

import pullback


def leaf(torch: Any, *values: float) -> Any:
    return torch.tensor(values, requires_grad=True)


def nan_maker(torch: Any) -> Any:
    class Maker(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any, first: bool) -> Any:
            ctx.first = first
            return (a + b).clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            g = g.clone()
            g[0] = 0
            g[0] /= 0
            return (g, None, None) if ctx.first else (None, g, None)

    return Maker


def messages(caught: list[Any]) -> list[str]:
    return [str(w.message) for w in caught]


def test_nan_is_found_and_the_line_named(torch: Any) -> None:
    Maker = nan_maker(torch)
    x = leaf(torch, 1.0, 2.0)
    Maker.apply(x, x, True).sum().backward()  # nobody looks
    out = Maker.apply(x, x, True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with (
            pytest.raises(RuntimeError, match="Function 'MakerBackward' returned nan values in its 0th output."),
            torch.autograd.detect_anomaly(),
        ):
            out.sum().backward()
        with (
            pytest.raises(RuntimeError, match="Function 'MakerBackward' returned nan values in its 1th output."),
            torch.autograd.detect_anomaly(),
        ):
            out = Maker.apply(x, x, False)
            out.sum().backward()
    said = messages(caught)
    assert said[0].startswith("Anomaly Detection has been enabled.") and "No forward pass information" in said[1]
    assert said[3].startswith("Error detected in MakerBackward. Traceback of forward call that caused the error:")
    assert "Maker.apply(x, x, False)" in said[3]


def test_failures_are_explained(torch: Any, capsys: Any) -> None:
    def fail() -> None:
        a = leaf(torch, 1.0, 2.0)
        d = a + 1
        y = d**2
        d += 1
        torch.autograd.grad(y.sum(), a)

    words = "one of the variables needed for gradient computation has been modified by an inplace operation"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(RuntimeError, match=words), torch.autograd.detect_anomaly():
            fail()
        assert "Error detected in PowBackward0" in messages(caught)[1]
        with pytest.raises(RuntimeError, match=words), torch.autograd.detect_anomaly():
            warnings.simplefilter("error")
            fail()
    assert "Error detected in PowBackward0" in capsys.readouterr().err  # a warning that raises must not hide the error


def test_a_second_backward_names_the_lines_behind_it(torch: Any) -> None:
    """A node that a recorded backward made says whose backward that was, back to forward."""
    Maker = nan_maker(torch)

    class Outer(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return Maker.apply(g * x, x, True)

    x = leaf(torch, 1.0, 2.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with torch.autograd.detect_anomaly():
            (g,) = torch.autograd.grad(Outer.apply(x).sum() * x.sum(), x, create_graph=True)
            with pytest.raises(RuntimeError, match="Function 'MakerBackward' returned nan values") as error:
                g.sum().backward()
    said = messages(caught)[-2:]
    assert said[0].startswith("Error detected in MakerBackward.")
    assert (
        said[1]
        .lstrip()
        .startswith("Previous calculation was induced by OuterBackward. Traceback of forward call that induced")
    )
    assert "torch.autograd.grad(Outer.apply(x).sum()" in said[1]
    if torch is pullback:
        assert any("in the backward of OuterBackward, made at" in note for note in error.value.__notes__)


@pytest.mark.filterwarnings("ignore")
def test_without_looking_for_nan(torch: Any) -> None:
    x = leaf(torch, 1.0, 2.0)
    with torch.autograd.detect_anomaly(check_nan=False):
        out = nan_maker(torch).apply(x, x, True).sum()
        out.backward(retain_graph=True)
        with (
            torch.autograd.detect_anomaly(check_nan=True),
            pytest.raises(RuntimeError, match="returned nan values in its 0th output"),
        ):
            out.backward(retain_graph=True)
        out.backward()
    with torch.autograd.set_detect_anomaly(True):
        assert torch.is_anomaly_enabled() and torch.is_anomaly_check_nan_enabled()
        with torch.autograd.set_detect_anomaly(False):
            assert not torch.is_anomaly_enabled()
    assert not torch.is_anomaly_enabled()


@pytest.mark.filterwarnings("ignore")
def test_nothing_is_kept_alive(torch: Any) -> None:
    class Value:
        pass

    x = leaf(torch, 1.0)
    y = x.exp()
    with torch.autograd.detect_anomaly():
        torch.autograd.grad(y.sum(), x, create_graph=True)
    value = Value()
    y.grad_fn.metadata["value"] = value
    ref = weakref.ref(value)
    del value
    assert ref() is not None
    del y
    assert ref() is None


@pytest.mark.filterwarnings("ignore")
def test_the_exception_says_more_than_pytorchs() -> None:
    torch = pullback
    x = leaf(torch, 0.0, 4.0)
    with torch.autograd.detect_anomaly(), pytest.raises(RuntimeError) as caught:
        (x.sqrt() * 0).sum().backward()
    notes = "\n".join(caught.value.__notes__)
    assert "(x.sqrt() * 0).sum().backward()" in notes and "it was given a gradient of shape [2]: 0.0, 0.0" in notes
    assert "it kept out of shape [2]: 0.0, 2.0" in notes


def test_first_nan_of_forward_and_backward() -> None:
    torch = pullback
    x = leaf(torch, 1.0, -1.0)
    with torch.autograd.detect_nan(), pytest.raises(FloatingPointError, match="NaN appeared in log") as caught:
        (x * 2).log()
    notes = "\n".join(caught.value.__notes__)
    assert "(x * 2).log()" in notes and "input is of shape [2]: 2.0, -2.0" in notes
    zero = leaf(torch, 0.0)
    with (
        torch.autograd.detect_nan(),
        pytest.raises(FloatingPointError, match="inf appeared in the backward of SqrtBackward0"),
    ):
        zero.sqrt().sum().backward()
    with (
        torch.autograd.detect_nan(),
        pytest.raises(FloatingPointError, match="NaN appeared in the backward of SqrtBackward0"),
    ):
        (zero.sqrt() * 0).sum().backward()
    with torch.autograd.detect_nan(inf=False):
        zero.sqrt().sum().backward()
        zero.log()


def test_what_was_there_before_does_not_appear() -> None:
    torch = pullback
    with torch.autograd.detect_nan():
        x = torch.zeros(3).masked_fill(torch.tensor([True, False, False]), float("-inf"))
        torch.softmax(x, 0)
        torch.tensor([float("nan")]) * 2
    with torch.autograd.detect_nan(stop=False) as found:
        torch.tensor([-1.0]).sqrt() + torch.tensor([0.0]).log()
    assert found.first.startswith("NaN appeared in sqrt\n  at ")
    torch.tensor([-1.0]).sqrt()


def test_zero_times_inf() -> None:
    torch = pullback

    def grad(create: bool) -> list[float]:
        x = leaf(torch, 0.0, 4.0)
        y = torch.where(x > 0, x.sqrt(), 0)
        (g,) = torch.autograd.grad(y.sum(), x, create_graph=create)
        return g.tolist()

    assert grad(False)[0] != grad(False)[0]  # NaN, as in PyTorch
    with torch.autograd.zero_times_inf_is_zero():
        assert grad(False) == grad(True) == [0.0, 0.25]
        x = leaf(torch, 0.0)
        x.sqrt().sum().backward()  # where it counts, infinity stays
        assert x.grad.tolist() == [float("inf")]
        y = torch.where(x.detach() > 0, x * x.log(), 0)
        assert torch.autograd.grad(y.sum(), x)[0].tolist() == [0.0]
    assert grad(False)[0] != grad(False)[0]
