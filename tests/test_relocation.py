"""Storages that grow or move: the tensors on them follow, or nothing moves."""

import io

import numpy as np
import pytest

import pullback as torch


def test_tensors_follow_memory_that_grows():
    x = torch.arange(3.0)
    y, memory = x[1:], x.untyped_storage()
    memory.kept = 1
    assert memory.resize_(20) is memory and memory.nbytes() == 20
    y[0] = 9
    assert x.tolist() == [0, 9, 2] and y.storage_offset() == 1
    assert x.untyped_storage() is y.untyped_storage() is memory and memory.kept == 1
    whole = torch.empty(0).set_(memory, 0, (5,))
    whole[0] = 7
    assert x[0] == 7 and whole[3:].tolist() == [0, 0]


def test_storages_that_nobody_looks_at_grow():
    memory = torch.UntypedStorage(0).resize_(3)
    memory[2] = 5
    assert memory.resize_(4).tolist() == [0, 0, 5, 0]
    assert torch.FloatStorage([1, 2]).resize_(3).tolist() == [1, 2, 0]


def test_histories_follow():
    """A view that has not caught up with a write into its base still does so."""
    x = torch.ones(3, requires_grad=True) + 0
    v, w = x[:2], x[1:]
    w.mul_(3)
    x.untyped_storage().resize_(64)
    (v.sum() + w.sum()).backward(torch.tensor(1.0))
    assert v.tolist() == [1, 3] and v._version == x._version == 1


@pytest.mark.parametrize("look", ["numpy", "graph", "optimizer", "conjugate", "file"])
def test_memory_stays_if_anything_else_looks(look, tmp_path):
    x = torch.ones(4, dtype=torch.complex64 if look == "conjugate" else torch.float32)
    kept = []
    if look == "numpy":
        kept = [x.numpy()[1:]]
    elif look == "graph":
        kept = [x * torch.ones(4, requires_grad=True)]
    elif look == "optimizer":
        p = torch.nn.Parameter(x)
        p.grad = torch.ones(4)
        kept = [torch.optim.Adam([p])]
        kept[0].step()
        x = kept[0].state[p]["exp_avg"]
    elif look == "conjugate":
        kept = [x.conj()]
    else:
        (tmp_path / "memory").write_bytes(bytes(16))
        x = torch.from_file(str(tmp_path / "memory"), shared=True, size=4)
    at = x.data_ptr()
    with pytest.raises(RuntimeError, match="Trying to resize storage that is not resizable"):
        x.untyped_storage().resize_(1000)
    assert x.data_ptr() == at and x.untyped_storage().nbytes() < 1000
    del kept


def test_tensors_follow_to_shared_memory():
    x = torch.ones(3)
    y = x[1:]
    assert x.untyped_storage().share_memory_().is_shared() and x.is_shared() and y.is_shared()
    y[0] = 5
    assert x.tolist() == [1, 5, 1]


def test_memory_is_seen_in_its_order():
    """Also of tensors whose order of dimensions is neither C's nor Fortran's."""
    x = torch.arange(24.0).reshape(2, 3, 4).permute(1, 2, 0).clone()
    assert x.stride() == (4, 1, 12)
    assert x.storage().tolist() == list(range(24))
    x.storage()[1] = 99
    assert x[0, 1, 0] == 99
    assert torch.empty(0).set_(x.untyped_storage(), 0, (3,)).tolist() == [0, 99, 2]
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    back = torch.load(file)
    assert back.stride() == x.stride() and torch.equal(back, x)
    x.untyped_storage().resize_(200)
    assert x.stride() == (4, 1, 12) and torch.equal(back, x)
    assert x.resize_(60)[:24].tolist() == [0, 99, *range(2, 24)]
    np.testing.assert_array_equal(back.untyped_storage().clone().tolist(), back.untyped_storage().tolist())
