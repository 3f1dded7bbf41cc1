"""How results lie in memory: as PyTorch says, since a later ``view`` and random numbers depend on it."""

import numpy as np
import pytest

import pullback as torch
import pullback.nn.functional as F

SWAPPED = (2, 3, 4)  # a transposed tensor's shape, strides (12, 1, 3)

ROW_MAJOR = {
    "softmax": lambda x: x.softmax(1),
    "log_softmax": lambda x: x.log_softmax(-1),
    "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:]),
    "masked_fill": lambda x: x.masked_fill(x > 0, 1.0),
    "cumsum": lambda x: x.cumsum(1),
    "cat": lambda x: torch.cat([x, x], 1),
    "stack": lambda x: torch.stack([x, x], 1),
    "roll": lambda x: x.roll(1, 0),
    "tril": lambda x: x.tril(),
    "sum": lambda x: x.sum(0),
    "mean": lambda x: x.mean(0),
    "amax": lambda x: x.amax(0),
    "max": lambda x: x.max(0)[0],
    "std": lambda x: x.std(0),
    "norm": lambda x: x.norm(dim=0),
    "prod": lambda x: x.prod(0),
    "all": lambda x: x.bool().all(0),
    "logsumexp": lambda x: x.logsumexp(0),
    "index": lambda x: x[:, torch.tensor([2, 0])],
    "mask": lambda x: x[:, torch.tensor([True, False, True])],
    "two indices": lambda x: x[:, torch.tensor([[0], [1]]), torch.tensor([1, 0])],
    "clone of an expanded one": lambda x: x[:, :1].expand(2, 3, 4).clone(),
    "cast of an expanded one": lambda x: x[:, :1].expand(2, 3, 4).double(),
}
AS_THE_INPUT = {
    "clone": lambda x: x.clone(),
    "cast": lambda x: x.double(),
    "zeros_like": torch.zeros_like,
    "ones_like": torch.ones_like,
    "full_like": lambda x: torch.full_like(x, 2.0),
    "rand_like": torch.rand_like,
    "randn_like": torch.randn_like,
    "flip": lambda x: x.flip(0),
    "relu": lambda x: x.relu(),
    "dropout": F.dropout,
}


def swapped():
    return torch.arange(24.0).reshape(2, 4, 3).transpose(1, 2)


@pytest.mark.parametrize("name", ROW_MAJOR)
def test_results_that_can_be_viewed(name):
    result = ROW_MAJOR[name](swapped())
    assert result.is_contiguous()
    assert torch.equal(result, ROW_MAJOR[name](swapped().contiguous()))


@pytest.mark.parametrize("name", AS_THE_INPUT)
def test_results_that_lie_as_their_input(name):
    assert AS_THE_INPUT[name](swapped()).stride() == swapped().stride() == (12, 1, 3)


@pytest.mark.parametrize("name", ["full_like", "flip", "clone"])
def test_lying_otherwise_changes_no_value(name):
    assert torch.equal(AS_THE_INPUT[name](swapped()), AS_THE_INPUT[name](swapped().contiguous()))


def test_random_numbers_fill_memory_in_its_order():
    torch.manual_seed(0)
    plain = torch.rand_like(torch.empty(2, 4, 3))
    torch.manual_seed(0)
    assert torch.equal(torch.rand_like(swapped()), plain.transpose(1, 2))


def test_memory_formats():
    x = torch.empty(2, 3, 4, 5, memory_format=torch.channels_last)
    assert x.stride() == (60, 1, 15, 3) == torch.zeros(2, 3, 4, 5).to(memory_format=torch.channels_last).stride()
    assert torch.cat([x, x], 1).is_contiguous(memory_format=torch.channels_last)
    layer = torch.nn.Conv2d(3, 2, 3).to(memory_format=torch.channels_last)
    assert layer.weight.is_contiguous(memory_format=torch.channels_last)
    assert x.to(memory_format=torch.contiguous_format).is_contiguous()


@pytest.mark.torch
@pytest.mark.parametrize("p", [(0, 2, 1, 3), (3, 0, 2, 1)])
def test_dropout_and_layouts_as_in_pytorch(p):
    reference = pytest.importorskip("torch")
    for f in (lambda t: t.nn.functional.dropout(t.ones(3, 4, 5, 6).permute(p).softmax(-1)),
              lambda t: t.nn.functional.dropout(t.ones(3, 4, 5, 6).permute(p)),
              lambda t: t.randn_like(t.ones(3, 4, 5, 6).permute(p))):  # fmt: skip
        reference.manual_seed(1)
        torch.manual_seed(1)
        theirs, ours = f(reference), f(torch)
        assert ours.stride() == theirs.stride()
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-6)


def test_legacy_name_of_the_type():
    assert torch.tensor([True]).type(torch.Tensor).dtype is torch.float32
