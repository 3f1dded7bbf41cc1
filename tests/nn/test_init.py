"""Initial values: the programs of ``golden/record_init.py``, and what holds for any draw."""

import math

import numpy as np
import pytest
from record_init import programs
from recorded import Recorded
from scipy import stats

import pullback
from pullback.nn import init


class TestPrograms(Recorded):
    tables = (programs,)


@pytest.mark.parametrize("a, b", [(-2.0, 2.0), (-0.5, 3.0), (1.5, 2.5), (2.0, 2.1), (-4.0, -1.0)])
def test_truncated_normals_are_distributed_so(a, b):
    """Both ways of rejecting, near the mean and in the tail, against the exact distribution."""
    pullback.manual_seed(0)
    draws = init.trunc_normal_(pullback.empty(4000, dtype=pullback.float64), 0.25, 1.0, a, b).numpy()
    assert draws.min() >= a and draws.max() <= b
    assert stats.kstest(draws, stats.truncnorm(a - 0.25, b - 0.25, 0.25, 1.0).cdf).pvalue > 1e-3


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4), (3, 2, 4), (1, 7)])
def test_orthogonal_rows_or_columns(shape):
    pullback.manual_seed(0)
    w = init.orthogonal_(pullback.empty(*shape, dtype=pullback.float64), gain=3.0)
    m = w.numpy().reshape(shape[0], -1)
    product = m.T @ m if m.shape[0] >= m.shape[1] else m @ m.T
    np.testing.assert_allclose(product, 9 * np.eye(len(product)), atol=1e-12)


def test_variances_are_those_of_the_papers():
    pullback.manual_seed(0)
    w = pullback.empty(300, 200)
    for fill, variance in (
        (init.xavier_uniform_, 2 / 500),
        (init.xavier_normal_, 2 / 500),
        (lambda t: init.kaiming_uniform_(t, nonlinearity="relu"), 2 / 200),
        (lambda t: init.kaiming_normal_(t, mode="fan_out", nonlinearity="tanh"), 25 / 9 / 300),
    ):
        assert math.isclose(fill(w).numpy().var(), variance, rel_tol=0.02)


def test_sparse_columns_have_their_zeros():
    pullback.manual_seed(0)
    w = init.sparse_(pullback.empty(10, 6), sparsity=0.25).numpy()
    assert ((w == 0).sum(axis=0) == 3).all()


def test_warnings_name_the_callers_line():
    for fill in (
        lambda: init.kaiming_uniform_(pullback.empty(0, 2)),
        lambda: init.trunc_normal_(pullback.empty(2), mean=9.0),
        lambda: init.uniform(pullback.empty(2)),
    ):
        with pytest.warns() as caught:
            fill()
        assert [w.filename for w in caught] == [__file__]
