"""``torch.testing``: the same judgements and words as PyTorch's."""

import numpy as np
import pytest

import pullback as torch

NAN, INF = float("nan"), float("inf")


def verdict(torch, call):
    """What a comparison or construction says."""
    try:
        result = call(torch, torch.tensor, torch.testing)
    except Exception as error:
        return type(error).__name__, str(error).replace("pullback.", "torch.").replace(
            "torch.core.tensor.Tensor", "torch.Tensor"
        )
    return result


COMPARISONS = [
    lambda torch, t, m: m.assert_close(t([1.0, 2.0]), t([1.0, 2.0])),
    lambda torch, t, m: m.assert_close(t([1.0, 2.0]), t([1.0, 2.5])),
    lambda torch, t, m: m.assert_close(t([[1.0, 2.0], [0.0, 4.0]]), t([[1.0, 2.5], [1e-3, 3.0]]), rtol=0.0, atol=0.1),
    lambda torch, t, m: m.assert_close(t([1.0, 2.0]), t([1.0, 2.5]), rtol=0, atol=0),
    lambda torch, t, m: m.assert_close(t([1.0]), t([1.0 + 1e-6])),
    lambda torch, t, m: m.assert_close(t([1.0]).half(), t([1.0005]).half()),
    lambda torch, t, m: m.assert_close(t([1, 2]), t([1, 3])),
    lambda torch, t, m: m.assert_close(t([True, False]), t([True, True])),
    lambda torch, t, m: m.assert_close(t([1, 2], dtype=torch.uint8), t([2, 1], dtype=torch.uint8)),
    lambda torch, t, m: m.assert_close(t([1 + 1j]), t([1 + 2j])),
    lambda torch, t, m: m.assert_close(t(1.0), t(2.0)),
    lambda torch, t, m: m.assert_close(t(1.0), t(0.0)),
    lambda torch, t, m: m.assert_close(t([NAN]), t([NAN])),
    lambda torch, t, m: m.assert_close(t([NAN, 1.0]), t([NAN, 1.0]), equal_nan=True),
    lambda torch, t, m: m.assert_close(t([INF]), t([INF])),
    lambda torch, t, m: m.assert_close(t([INF, 1.0]), t([-INF, 1.0])),
    lambda torch, t, m: m.assert_close(t([1.0]), t([[1.0]])),
    lambda torch, t, m: m.assert_close(t([1.0]), t([1.0]).double()),
    lambda torch, t, m: m.assert_close(t([1.0]), t([1.0]).double(), check_dtype=False),
    lambda torch, t, m: m.assert_close(t([1.0, 3.0]), t([1, 2]), check_dtype=False),
    lambda torch, t, m: m.assert_close(torch.ones(2, 2).t(), torch.ones(2, 2), check_stride=True),
    lambda torch, t, m: m.assert_close(torch.zeros(0), torch.zeros(0)),
    lambda torch, t, m: m.assert_close(torch.zeros(2, requires_grad=True), torch.zeros(2)),
    lambda torch, t, m: m.assert_close(1.0, 1.0 + 1e-9),
    lambda torch, t, m: m.assert_close(1.0, 2.0),
    lambda torch, t, m: m.assert_close(1, 1.0),
    lambda torch, t, m: m.assert_close(1, 1.0, check_dtype=False),
    lambda torch, t, m: m.assert_close(3, 4),
    lambda torch, t, m: m.assert_close(1.0, 0.0),
    lambda torch, t, m: m.assert_close(1 + 1j, 1 + 2j),
    lambda torch, t, m: m.assert_close(NAN, NAN),
    lambda torch, t, m: m.assert_close(NAN, NAN, equal_nan=True),
    lambda torch, t, m: m.assert_close(True, True),
    lambda torch, t, m: m.assert_close(True, False),
    lambda torch, t, m: m.assert_close(None, None),
    lambda torch, t, m: m.assert_close(None, 1),
    lambda torch, t, m: m.assert_close("a", "a"),
    lambda torch, t, m: m.assert_close(np.float32(1), np.float64(2)),
    lambda torch, t, m: m.assert_close(np.ones(2), np.zeros(2)),
    lambda torch, t, m: m.assert_close(np.ones(2), t([1.0, 1.0])),
    lambda torch, t, m: m.assert_close([t([1.0]), 2.0], (t([1.0]), 3.0)),
    lambda torch, t, m: m.assert_close([1.0], [1.0, 2.0]),
    lambda torch, t, m: m.assert_close({"a": [t([1.0])]}, {"a": [t([2.0])]}),
    lambda torch, t, m: m.assert_close({"a": 1, "b": 2}, {"a": 1, "c": 2}),
    lambda torch, t, m: m.assert_close([1.0, t([1.0]), "b"], [2.0, t([3.0]), "b"]),
    lambda torch, t, m: m.assert_close(t([1.0]), t([2.0]), msg="other words"),
    lambda torch, t, m: m.assert_close(t([1.0]), t([2.0]), msg=lambda text: "before: " + text),
    lambda torch, t, m: m.assert_close(t([1.0]), t([2.0]), rtol=0.1),
    lambda torch, t, m: m.assert_close(1.0, 2.0, atol=0.1),
    lambda torch, t, m: m.assert_close(torch.nn.Parameter(t([1.0])), t([1.0])),
    lambda torch, t, m: m.assert_close(torch.nn.Parameter(t([1.0])), t([1.0]), allow_subclasses=False),
    lambda torch, t, m: m.assert_close(t([1, 2], dtype=torch.uint8), t([1, 2]), check_dtype=False),
]
VERDICTS = [
    None,
    "Tensor-likes are not close!\n\nMismatched elements: 1 / 2 (50.0%)\nGreatest absolute difference: 0.5 at index "
    "(1,) "
    "(up to 1e-05 allowed)\nGreatest relative difference: 0.20000000298023224 at index (1,) (up to 1.3e-06 allowed)",
]


def test_words():
    assert verdict(torch, COMPARISONS[0]) is VERDICTS[0]
    assert verdict(torch, COMPARISONS[1]) == ("AssertionError", VERDICTS[1])
    kind, text = verdict(torch, lambda torch, t, m: m.assert_close({"a": [1.0]}, {"a": [2.0]}))
    assert kind == "AssertionError" and text.endswith("\n\nThe failure occurred for item ['a'][0]")


@pytest.mark.torch
@pytest.mark.parametrize("call", COMPARISONS)
def test_comparisons_as_pytorch(call):
    judge = pytest.importorskip("torch")
    assert verdict(torch, call) == verdict(judge, call)


TENSORS = [
    lambda torch, t, m: m.make_tensor(2, 3, dtype=torch.float32, device="cpu"),
    lambda torch, t, m: m.make_tensor((5,), dtype=torch.float64, device="cpu", low=-1, high=1, requires_grad=True),
    lambda torch, t, m: m.make_tensor([4], dtype=torch.int64, device="cpu", low=2),
    lambda torch, t, m: m.make_tensor(4, dtype=torch.uint8, device="cpu"),
    lambda torch, t, m: m.make_tensor(4, dtype=torch.bool, device="cpu"),
    lambda torch, t, m: m.make_tensor(4, dtype=torch.complex64, device="cpu"),
    lambda torch, t, m: m.make_tensor(2, 3, dtype=torch.float32, device="cpu", noncontiguous=True),
    lambda torch, t, m: m.make_tensor(50, dtype=torch.int8, device="cpu", low=0, high=2, exclude_zero=True),
    lambda torch, t, m: m.make_tensor((), dtype=torch.float16, device="cpu"),
    lambda torch, t, m: m.make_tensor(2, 2, 2, 2, dtype=torch.float32, device="cpu", memory_format=torch.channels_last),
    lambda torch, t, m: m.make_tensor(2, dtype=torch.float32, device="cpu", low=-3e38, high=3e38),
    lambda torch, t, m: m.make_tensor(1, dtype=torch.float32, device="cpu", low=2, high=1),
    lambda torch, t, m: m.make_tensor(1, dtype=torch.float32, device="cpu", low=NAN),
    lambda torch, t, m: m.make_tensor(1, dtype=torch.uint8, device="cpu", low=-3, high=-1),
    lambda torch, t, m: m.make_tensor(1, dtype=torch.int64, device="cpu", requires_grad=True),
    lambda torch, t, m: m.make_tensor(
        1, dtype=torch.int64, device="cpu", noncontiguous=True, memory_format=torch.channels_last
    ),
]


@pytest.mark.torch
@pytest.mark.parametrize("call", TENSORS)
def test_made_tensors_as_pytorch(call):
    judge = pytest.importorskip("torch")
    made = []
    for library in (torch, judge):
        library.manual_seed(0)
        result = verdict(library, call)
        made.append(
            result
            if isinstance(result, tuple)
            else (result.tolist(), str(result.dtype), result.stride(), result.requires_grad)
        )
    assert made[0] == made[1]


def test_made_tensors():
    x = torch.testing.make_tensor(100, dtype=torch.float32, device="cpu", low=2, high=3)
    assert 2 <= x.min() and x.max() < 3
    x = torch.testing.make_tensor(3, 3, dtype=torch.int32, device="cpu", noncontiguous=True, exclude_zero=True)
    assert x.shape == (3, 3) and not x.is_contiguous() and (x != 0).all()


def test_the_older_comparison_warns():
    with pytest.warns(FutureWarning, match="assert_allclose"):
        torch.testing.assert_allclose([1.0], np.array([1.0]))
    with pytest.warns(FutureWarning), pytest.raises(AssertionError, match="not close"):
        torch.testing.assert_allclose(torch.tensor([1.0]), 2.0 * torch.ones(1))
