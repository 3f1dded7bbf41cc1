"""Kernels of margin losses against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pullback as torch

pytest.importorskip("pullback.kernels.codegen.jit", exc_type=ImportError)

from pullback.ops.margin import _multi_margin, _multilabel_margin  # noqa: E402

from . import using  # noqa: E402
from .test_written import compare  # noqa: E402

F = torch.nn.functional
TYPES = (torch.float32, torch.float64)
SHAPES = [(1, 1), (2, 4), (7, 3), (3, 70), (600, 5)]


def labels(rows: int, classes: int) -> np.ndarray:
    """Some targets in each row, of which one may come twice, then -1, then what does not count."""
    return np.random.default_rng(rows).integers(-1, classes, (rows, classes))


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES)
def test_losses_and_gradients(shape: tuple[int, int], dtype: Any) -> None:
    several = torch.tensor(labels(*shape))
    one = torch.clamp(several[:, 0], min=0)
    compare(
        lambda x: F.multilabel_margin_loss(x, several, reduction="none"),
        shape,
        dtype=dtype,
        uses="margin.multilabel_margin",
    )
    for p in (1, 2):
        compare(
            lambda x, p=p: F.multi_margin_loss(x, one, p, 0.7, reduction="none"),
            shape,
            dtype=dtype,
            uses="margin.multi_margin",
        )
    compare(lambda x: F.multilabel_margin_loss(x.mT, several), shape[::-1], dtype=dtype)
    compare(lambda x: F.multi_margin_loss(x.mT, one), shape[::-1], dtype=dtype)


@pytest.mark.parametrize("shape", [(0, 3), *SHAPES])
def test_no_number_and_no_end(shape: tuple[int, int]) -> None:
    several = labels(*shape)
    x = np.random.default_rng(1).choice([0.0, -0.0, 1.0, np.nan, np.inf, -np.inf, 0.5], shape, p=[0.2] * 3 + [0.1] * 4)
    found = []
    for mode in ("off", "always"):
        with using(mode), np.errstate(invalid="ignore"):
            found.append(
                [*_multilabel_margin.op.impl(x, several), *_multi_margin.op.impl(x, several[:, 0].clip(0), 2, 1.0)]
            )
    for plain, fast in zip(*found):
        np.testing.assert_array_equal(plain, fast)


@pytest.mark.parametrize("mode", ["off", "always"])
def test_targets_that_are_no_class(mode: str) -> None:
    x = torch.zeros(2, 3)
    with using(mode):
        for target in ([[0, 3, -1]] * 2, [[0, -2, -1]] * 2):
            with pytest.raises(RuntimeError, match="is out of range"):
                F.multilabel_margin_loss(x, torch.tensor(target))
        for target in ([0, 3], [-1, 0]):
            with pytest.raises(RuntimeError, match="target out of range"):
                F.multi_margin_loss(x, torch.tensor(target))
