"""Recurrent layers by kernels against NumPy: values, states and all gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as torch
from pullback import kernels
from pullback.nn.utils.rnn import pack_padded_sequence

pytest.importorskip("pullback.kernels.codegen.jit", exc_type=ImportError)

from . import using  # noqa: E402

KINDS: dict[str, Callable[..., Any]] = {
    "lstm": torch.nn.LSTM,
    "gru": torch.nn.GRU,
    "tanh": torch.nn.RNN,
    "relu": lambda *args, **options: torch.nn.RNN(*args, nonlinearity="relu", **options),
}
both_types = pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
every_kind = pytest.mark.parametrize("kind", KINDS)


def results(layer: Any, x: Any, lengths: Any = None, given: bool = True) -> list[np.ndarray]:
    """Outputs, last states and all gradients, of a function of all of them; ``given``: from first states that are not
    zero.
    """
    layer.zero_grad()
    rng = np.random.default_rng(0)
    x = x.clone().requires_grad_()
    states = 1 + isinstance(layer, torch.nn.LSTM)
    shape = (len(layer.all_weights), x.shape[1], layer.hidden_size)
    hx = [torch.from_numpy(rng.standard_normal(shape)).to(x.dtype).requires_grad_() for _ in range(states)]
    sequence = x if lengths is None else pack_padded_sequence(x, lengths, enforce_sorted=False)
    output, last = layer(sequence, (tuple(hx) if states == 2 else hx[0]) if given else None)
    found = [output if lengths is None else output.data, *(last if states == 2 else [last])]
    by = [torch.from_numpy(rng.standard_normal(tuple(f.shape))).to(x.dtype) for f in found]
    sum([(f * b).sum() for f, b in zip(found, by)]).backward()
    gradients = [x.grad, *[h.grad for h in hx if h.grad is not None], *[p.grad for p in layer.parameters()]]
    return [t.detach().numpy().copy() for t in found + gradients]


def compare(make: Callable[[], Any]) -> None:
    """What a function returns with and without kernels, which have to take part."""
    ran, plain = set(), kernels.run

    def noting(kind: str, name: str, size: int, *args: Any) -> Any:
        out = plain(kind, name, size, *args)
        if out is not None:
            ran.add(f"{kind}.{name}")
        return out

    with using("off"):
        expected = make()
    with using("always"), pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "run", noting)
        found = make()
    assert {"recurrent.forward", "recurrent.backward"} <= ran
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(
            a, b, rtol=0, atol=(1e-11 if a.dtype == np.float64 else 5e-5) * max(1, float(np.abs(b).max()))
        )


@both_types
@every_kind
@pytest.mark.parametrize("steps, batch, size, inputs", [(1, 1, 1, 1), (3, 9, 21, 5), (4, 17, 32, 2)])
def test_as_without_kernels(kind: str, steps: int, batch: int, size: int, inputs: int, dtype: Any) -> None:
    torch.manual_seed(0)
    x = torch.randn(steps, batch, inputs, dtype=dtype)
    alone, several = (
        KINDS[kind](inputs, size, bias=False, dtype=dtype),
        KINDS[kind](inputs, size, 2, bidirectional=True, dtype=dtype),
    )
    compare(lambda: results(alone, x, given=False))
    compare(lambda: results(several, x))


@both_types
@every_kind
@pytest.mark.parametrize("lengths", [[3, 7, 1, 7, 4], [*range(1, 24)]])
def test_sequences_of_several_lengths(kind: str, lengths: list[int], dtype: Any) -> None:
    torch.manual_seed(1)
    x = torch.randn(max(lengths), len(lengths), 3, dtype=dtype)
    layer = KINDS[kind](3, 18, bidirectional=True, dtype=dtype)
    compare(lambda: results(layer, x, lengths))


@every_kind
def test_results_do_not_depend_on_the_number_of_threads(kind: str) -> None:
    torch.manual_seed(2)
    x, layer, before = torch.randn(6, 13, 3), KINDS[kind](3, 20), kernels.get_num_threads()
    found = []
    with using("always"):
        for n in (1, 2, 16):
            try:
                kernels.set_num_threads(n)
                found.append(results(layer, x)[:5])
            finally:
                kernels.set_num_threads(before)
    for other in found[1:]:
        for a, b in zip(other, found[0], strict=True):
            np.testing.assert_array_equal(a, b)


@every_kind
def test_arrays_that_do_not_lie_in_rows(kind: str) -> None:
    torch.manual_seed(3)
    layer = KINDS[kind](4, 9, dtype=torch.float64)
    for p in layer.parameters():
        p.data = p.data.repeat_interleave(2, 0)[::2] if p.dim() == 1 else p.data.T.contiguous().T
    x = torch.randn(4, 6, 5, dtype=torch.float64).transpose(0, 2)
    compare(lambda: results(layer, x))


@every_kind
def test_a_sequence_with_nan_spoils_no_other(kind: str) -> None:
    torch.manual_seed(4)
    layer, x = KINDS[kind](2, 17), torch.randn(5, 7, 2)
    with using("always"):
        good = layer(x)[0]
        x[2, 3] = torch.nan
        out = layer(x)[0]
    assert out[2:, 3].isnan().all() and not out[:2, 3].isnan().any()
    others = [0, 1, 2, 4, 5, 6]
    assert (out[:, others] == good[:, others]).all()


@pytest.mark.parametrize("value", [1e4, -1e4, torch.inf, -torch.inf])
@every_kind
def test_inputs_beyond_all_bounds(kind: str, value: float) -> None:
    torch.manual_seed(5)
    layer = KINDS[kind](1, 16, bias=False)
    with torch.no_grad():
        for w in layer.parameters():
            w.copy_(w.sign() * 0.25)
    found = []
    for mode in ("off", "always"):
        with using(mode), np.errstate(all="ignore"):
            found.append(layer(torch.full((2, 2, 1), value))[0].detach().numpy())
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6)


@every_kind
def test_second_derivatives_go_through_first_ones_by_kernels(kind: str) -> None:
    torch.manual_seed(6)
    layer = KINDS[kind](2, 3, dtype=torch.float64)
    with using("always"):
        x = torch.randn(3, 2, 2, dtype=torch.float64, requires_grad=True)
        assert torch.autograd.gradcheck(lambda x: layer(x)[0], (x,))
        assert torch.autograd.gradgradcheck(lambda x: layer(x)[0], (x,))


@every_kind
def test_backward_twice_over_what_was_kept(kind: str) -> None:
    torch.manual_seed(7)
    layer, x = KINDS[kind](3, 8), torch.randn(4, 2, 3, requires_grad=True)
    with using("always"):
        loss = layer(x)[0].square().sum()
        first, again = (torch.autograd.grad(loss, x, retain_graph=True)[0] for _ in range(2))
    assert (first == again).all()


@every_kind
def test_cells_take_one_step(kind: str) -> None:
    torch.manual_seed(8)
    cells = {"lstm": torch.nn.LSTMCell, "gru": torch.nn.GRUCell}
    cell = cells[kind](3, 5) if kind in cells else torch.nn.RNNCell(3, 5, nonlinearity=kind)
    x, found = torch.randn(4, 3), []
    for mode in ("off", "always"):
        with using(mode):
            cell.zero_grad()
            out = cell(x)
            (out[0] if kind == "lstm" else out).square().sum().backward()
            found.append([p.grad.numpy().copy() for p in cell.parameters()])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


@pytest.mark.torch
@every_kind
def test_as_pytorch(kind: str) -> None:
    judge = pytest.importorskip("torch")
    name, options = {"lstm": ("LSTM", {}), "gru": ("GRU", {})}.get(kind, ("RNN", {"nonlinearity": kind}))
    theirs = getattr(judge.nn, name)(6, 33, num_layers=2, bidirectional=True, **options)
    ours = getattr(torch.nn, name)(6, 33, num_layers=2, bidirectional=True, **options)
    ours.load_state_dict({k: torch.from_numpy(v.numpy()) for k, v in theirs.state_dict().items()})
    x = np.random.default_rng(0).standard_normal((9, 5, 6)).astype(np.float32)
    with using("always"):
        ours(torch.from_numpy(x))[0].square().sum().backward()
    theirs(judge.from_numpy(x))[0].square().sum().backward()
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-4, atol=2e-4)
