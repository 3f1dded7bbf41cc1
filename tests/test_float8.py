"""float8: numbers of one byte are stored, converted and moved; the bits are PyTorch's."""

import copy
import io
import pickle

import numpy as np
import pytest

import pullback as torch

FORMS = (torch.float8_e4m3fn, torch.float8_e4m3fnuz, torch.float8_e5m2, torch.float8_e5m2fnuz)
NUMBERS = [0.0, 1.0, -2.0, 3.3, 448.0, 500.0, 1e6, 1e-3, -1e-9, float("inf"), float("nan"), 57344.0, 240.0, 250.0]
BITS = {  # what PyTorch 2.13 makes of them
    torch.float8_e4m3fn: [0, 56, 192, 69, 126, 126, 126, 1, 128, 126, 127, 126, 119, 120],
    torch.float8_e4m3fnuz: [0, 64, 200, 77, 128, 128, 128, 1, 0, 128, 128, 128, 127, 128],
    torch.float8_e5m2: [0, 60, 192, 67, 95, 96, 124, 20, 128, 124, 127, 123, 92, 92],
    torch.float8_e5m2fnuz: [0, 64, 196, 71, 99, 100, 128, 24, 0, 128, 128, 127, 96, 96],
}


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_conversions_have_pytorchs_bits(form):
    assert torch.tensor(NUMBERS).to(form).view(torch.uint8).tolist() == BITS[form]
    assert torch.tensor(NUMBERS, dtype=form).view(torch.uint8).tolist() == BITS[form]
    assert torch.tensor(NUMBERS, dtype=torch.float64).to(form).view(torch.uint8).tolist() == BITS[form]
    assert torch.zeros(14, dtype=form).copy_(torch.tensor(NUMBERS)).view(torch.uint8).tolist() == BITS[form]
    codes = torch.arange(256).to(torch.uint8).view(form)
    back = codes.float()
    assert torch.equal(back[~back.isnan()].to(form).float(), back[~back.isnan()])
    assert torch.equal(codes.double().float().nan_to_num(), back.nan_to_num())


def test_powers_of_two():
    x = torch.tensor([1.0, 2.0, 3.0, 0.3, 0.0, -4.0]).to(torch.float8_e8m0fnu)
    assert x.view(torch.uint8).tolist() == [127, 128, 129, 125, 0, 129]


def eight(*numbers):
    return torch.tensor(numbers).to(torch.float8_e4m3fn)


def test_they_look_like_other_numbers():
    x = eight(1.0, 2.5)
    assert repr(x) == "tensor([1.0000, 2.5000], dtype=torch.float8_e4m3fn)"
    assert x.tolist() == [1.0, 2.5] and x[1].item() == 2.5 and x.element_size() == 1
    assert x.type() == "torch.Float8_e4m3fnTensor" and x.is_floating_point()
    assert torch.finfo(torch.float8_e5m2).max == 57344
    with pytest.raises(TypeError, match="Got unsupported ScalarType Float8_e4m3fn"):
        x.numpy()


@pytest.mark.parametrize("warm", [False, True])
def test_they_are_moved(warm):
    for _ in range(3000 if warm else 1):
        x = eight(1.0, 2.5, 3.0, 4.0).view(2, 2)
    assert x.t().contiguous().tolist() == [[1, 3], [2.5, 4]]
    assert torch.cat([x, x]).shape == (4, 2) and torch.stack([x, x]).dtype is torch.float8_e4m3fn
    assert x.index_select(0, torch.tensor([1])).tolist() == x[1:].tolist() == [[3, 4]]
    assert x[x.float() > 2].tolist() == [2.5, 3, 4]
    assert (x == x).all() and x.to(torch.int32).tolist() == [[1, 2], [3, 4]]
    assert x.fill_(1.0).tolist() == torch.ones_like(x).tolist() == [[1, 1], [1, 1]]
    assert torch.nn.Linear(2, 2).to(torch.float8_e5m2).weight.dtype is torch.float8_e5m2


@pytest.mark.parametrize(
    "compute",
    [
        lambda x: x + x,
        lambda x: x * 2,
        lambda x: x.sum(),
        lambda x: x @ x,
        lambda x: x.clamp(0, 1),
        lambda x: -x,
        lambda x: x.uniform_(),
        lambda x: torch.arange(3, dtype=x.dtype),
    ],
)
def test_they_are_not_computed_with(compute):
    with pytest.raises(NotImplementedError, match="not implemented for 'Float8_e4m3fn'"):
        compute(eight(1.0, 2.0, 3.0, 4.0).view(2, 2))


def test_they_are_not_promoted():
    with pytest.raises(RuntimeError, match="attempted to promote Float8_e4m3fn and Float"):
        torch.promote_types(torch.float8_e4m3fn, torch.float32)
    with pytest.raises(RuntimeError, match="Promotion for Float8 Types is not supported"):
        eight(1.0) + torch.ones(1)


def test_gradients_pass_through_a_conversion():
    x = torch.tensor([1.1, 2.0], requires_grad=True)
    (x.to(torch.float8_e4m3fn).float() * 3).sum().backward()
    assert x.grad.tolist() == [3, 3]


def test_files_and_copies():
    x, file = eight(1.0, 2.5), io.BytesIO()
    torch.save({"x": x, "form": torch.float8_e5m2}, file)
    file.seek(0)
    loaded = torch.load(file)
    assert loaded["x"].tolist() == [1.0, 2.5] and loaded["x"].dtype is x.dtype
    assert loaded["form"] is torch.float8_e5m2
    assert copy.deepcopy(x).tolist() == pickle.loads(pickle.dumps(x)).tolist() == [1.0, 2.5]
    assert np.array_equal(x.view(torch.uint8).numpy(), [56, 66])
