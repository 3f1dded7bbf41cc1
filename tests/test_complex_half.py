"""complex32: what PyTorch does with it (``golden/record_complex_half.py``), and that nothing else computes in it."""

import io
from pathlib import Path

import numpy as np
import pytest
from record_complex_half import REFUSED, example, expressions, programs
from recorded import Recorded

import pullback as torch
from tests.ops.samples import SAMPLES


class TestAsRecorded(Recorded):
    tables = (programs,)


def outcome(sample, dtype):
    """The results of a sample in a complex type, and the gradients of their sum, as complex64 arrays; None if it
    refuses.
    """
    torch.manual_seed(0)
    made = []

    def given(a):
        if isinstance(a, list):
            return [given(v) for v in a]
        if not isinstance(a, np.ndarray):
            return a
        t = torch.tensor(a)
        if a.dtype == np.complex64:
            t = t.to(torch.complex32).to(dtype).requires_grad_()
            made.append(t)
        return t

    try:
        kwargs = {name: given(value) for name, value in sample.kwargs.items()}
        out = sample.function()(*map(given, sample.arrays(np.complex64)), **kwargs)
        flat = [t for t in torch.utils._pytree.tree_leaves(out) if isinstance(t, torch.Tensor)]
        recorded = [t for t in flat if t.requires_grad]
        seeds = [torch.full_like(t, 1 + 1j if t.is_complex() else 1) for t in recorded]
        g = torch.autograd.grad(recorded, made, seeds, allow_unused=True) if recorded else ()
    except (RuntimeError, TypeError, ValueError):
        return None
    dense = [t.to_dense() if t.is_sparse else t for t in (*flat, *(t for t in g if t is not None))]
    return [np.asarray(t.detach().resolve_conj().to(torch.complex64)) for t in dense]


def test_samples_agree_with_complex64_or_are_refused():
    """Of all operations: what an operation without a rule for complex32 would give is never seen."""
    agreeing = 0
    for sample in SAMPLES:
        half = outcome(sample, torch.complex32)
        if half is not None:
            single = outcome(sample, torch.complex64)
            assert single is not None, sample
            for a, b in zip(half, single, strict=True):
                np.testing.assert_allclose(a, b, rtol=2e-2, atol=2e-2, err_msg=str(sample))
            agreeing += 1
    assert agreeing > 500


@pytest.mark.parametrize("expression", expressions(REFUSED))
def test_refusals_name_the_type(expression):
    with pytest.raises(RuntimeError, match="'(Complex)?Half'|complex types|supports only|bounds"):
        eval(expression, {"torch": torch, "x": example(torch)})


def test_large_tensors_have_the_numbers_of_small_ones():
    """Kernels of half precision know real numbers only."""
    torch.manual_seed(0)
    x, y = torch.randn(2, 40_000, dtype=torch.complex32).unbind()
    for f in (torch.add, torch.mul, torch.eq, lambda x, y: x.abs(), lambda x, y: x.sgn(), lambda x, y: x * 2.5):
        large = f(x, y)
        assert large[:5].tolist() == f(x[:5], y[:5]).tolist()
        if large.dtype is not torch.bool:
            wide = f(x.to(torch.complex64), y.to(torch.complex64))
            assert large.tolist() == wide.to(large.dtype).tolist()
    for f in (torch.abs, torch.sgn, lambda x: x * y, lambda x: x.index_select(0, torch.arange(40_000) // 2)):
        grads = []
        for dtype in (torch.complex32, torch.complex64):
            z = x.to(dtype).requires_grad_()
            out = f(z)
            (g,) = torch.autograd.grad(out, z, torch.ones_like(out))
            grads.append(g.to(torch.complex64))
        assert torch.isclose(*grads, rtol=2e-2, atol=4e-3).all()


@pytest.mark.parametrize("warm", [False, True])
def test_no_fast_path_computes(warm):
    w = torch.ones(2, requires_grad=True)
    for _ in range(2600 * warm):  # until machine code takes over
        w * 2
    x = example(torch)
    for f in (
        torch.sum,
        torch.exp,
        torch.mean,
        torch.nn.functional.silu,
        lambda x: x < x,
        lambda x: torch.dot(x[0], x[0]),
    ):
        with pytest.raises(NotImplementedError, match="not implemented for 'ComplexHalf'"):
            f(x)
    with pytest.raises(NotImplementedError, match="not implemented for 'ComplexHalf'"):
        x.real.sum(dtype=torch.complex32)
    assert torch.cat([x, x])[2].tolist() == x[0].tolist() and x.t()[0].tolist() == x[:, 0].tolist()


def test_files():
    """Written, read, and read as PyTorch wrote them."""
    x = example(torch)
    file = io.BytesIO()
    torch.save({"x": x, "row": x[1]}, file)
    file.seek(0)
    back = torch.load(file)
    assert back["x"].dtype is torch.complex32 and back["x"].tolist() == x.tolist()
    back["x"][1, 0] = 9
    assert back["row"][0].item() == 9
    theirs = torch.load(Path(__file__).parent / "golden" / "pt" / "complex_half.pt")
    assert theirs["x"].tolist() == x.tolist() and theirs["row"].dtype is torch.complex32
    assert theirs["row"].untyped_storage() is theirs["x"].untyped_storage()


def test_conversion_to_numpy_is_refused():
    with pytest.raises(TypeError, match="Got unsupported ScalarType ComplexHalf"):
        example(torch).numpy()


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "Adagrad", "RMSprop", "NAdam", "Adamax", "Rprop"])
def test_optimizers_step_in_complex64(name):
    steps = []
    for dtype in (torch.complex32, torch.complex64):
        p = torch.nn.Parameter(torch.tensor([1 + 2j, 3j]).to(dtype))
        options = {"momentum": 0.5, "weight_decay": 0.25} if name == "SGD" else {}
        optimizer = getattr(torch.optim, name)([p], lr=0.25, **options)
        for _ in range(3):
            optimizer.zero_grad()
            p.to(torch.complex64).abs().pow(2).sum().backward()
            optimizer.step()
        steps.append(p.detach().to(torch.complex64))
    assert torch.isclose(*steps, rtol=4e-3, atol=4e-3).all()
