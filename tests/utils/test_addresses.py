"""The smaller modules under ``torch.utils``, and the exceptions that move between processes."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import pullback as torch
from pullback.base.errors import ExceptionWrapper


def test_dlpack_shares_memory():
    x = torch.zeros(3)
    y = torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(x))
    y[1] = 5
    assert x.tolist() == [0, 5, 0] and np.from_dlpack(torch.utils.dlpack.to_dlpack(x)).tolist() == [0, 5, 0]
    with pytest.raises(RuntimeError, match="Can't export tensors that require gradient"):
        torch.utils.dlpack.to_dlpack(torch.zeros(1, requires_grad=True))
    with pytest.raises(TypeError, match="__dlpack__"):
        torch.utils.dlpack.from_dlpack([1])


def test_environment(capsys):
    torch.utils.collect_env.main()
    out = capsys.readouterr().out
    assert torch.__version__ in out and np.__version__ in out


def test_modules_that_are_not_there():
    assert not hasattr(torch.utils, "nothing")


def test_wrapped_exceptions():
    try:
        {}["key"]
    except KeyError:
        wrapped = pickle.loads(pickle.dumps(ExceptionWrapper(where="in a test")))
    with pytest.raises(KeyError) as caught:
        wrapped.reraise()
    assert str(caught.value).startswith("Caught KeyError in a test.\nOriginal Traceback") and str(
        caught.value
    ).endswith("KeyError: 'key'\n")
